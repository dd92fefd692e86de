//! Strain evened out: triangles that a push has stretched or compressed too far go back to their size, round by round.
//!
//! In a round every triangle beyond its bounds finds the nearest shape within them: the singular values of its deformation
//! gradient are clamped and its middle is kept. A vertex follows the mean of what its triangles want. Between rounds the push is
//! repeated, so cloth slides along what it was pushed out of instead of standing taut. (strain limiting by singular
//! values as in Wang, O'Brien and Ramamoorthi 2010, with means instead of a sequence)
//!
//! Guarantees: only free vertices move; triangles within their bounds move nothing; the same bits on any number of threads.
//! Does not: keep cloth from crossing anything, nor its bends.

use crate::rest_shape::{RestShape, principal_stretches};
use rayon::prelude::*;
use unsnarl_geometry::math::{DMat2, DVec2};
use unsnarl_geometry::{DVec3, Topology, VertexId};

/// How far triangles may be stretched and compressed.
pub struct Bounds<'a> {
    shapes: &'a [RestShape],
    /// The least and greatest stretch of every triangle: a little off its rest shape, or what it had before.
    of_triangle: Vec<[f64; 2]>,
}

impl<'a> Bounds<'a> {
    /// Cloth about as large as at rest.
    pub const TIGHT: [f64; 2] = [0.95, 1.02];
    /// Cloth that is strained but acceptable: what has to be stretched is shared by more of it.
    pub const LOOSE: [f64; 2] = [0.9, 1.08];

    /// For triangles of these rest shapes, the first ones of the mesh, that were there before.
    pub fn new(topology: &Topology, shapes: &'a [RestShape], before: &[DVec3], around_rest: [f64; 2]) -> Self {
        let of_triangle = |(corners, shape): (&[VertexId; 3], &RestShape)| {
            let stretches = principal_stretches(shape, corners.map(|corner| before[corner.index()]));
            stretches
                .map_or([0.0, f64::INFINITY], |[most, least]| [least.min(around_rest[0]), most.max(around_rest[1])])
        };
        Self { shapes, of_triangle: topology.triangles().iter().zip(shapes).map(of_triangle).collect() }
    }

    /// What the corners of a triangle want; `None` if it is within its bounds or has no area at rest.
    fn wishes(&self, triangle: usize, corners: [DVec3; 3]) -> Option<[DVec3; 3]> {
        let (shape, [least, greatest]) = (&self.shapes[triangle], self.of_triangle[triangle]);
        let [most, fewest] = principal_stretches(shape, corners)?;
        if (most <= greatest && fewest >= least) || fewest <= 1e-9 {
            return None;
        }
        let inverse = shape.inverse()?;
        let sides = [corners[1] - corners[0], corners[2] - corners[0]];
        let [warp, weft] =
            [inverse.col(0), inverse.col(1)].map(|column: DVec2| sides[0] * column.x + sides[1] * column.y);
        let angle = 0.5 * (2.0 * warp.dot(weft)).atan2(warp.length_squared() - weft.length_squared());
        let axes = DMat2::from_cols(DVec2::from_angle(angle), DVec2::from_angle(angle).perp());
        let factor = |stretch: f64| stretch.clamp(least, greatest) / stretch;
        let change = axes * DMat2::from_diagonal(DVec2::new(factor(most), factor(fewest))) * axes.transpose();
        let [first, second] = shape.sides.map(|side| {
            let changed = change * side;
            warp * changed.x + weft * changed.y
        });
        let middle = (sides[0] + sides[1]) / 3.0;
        let corner = middle - (first + second) / 3.0;
        Some([corner, corner + first - sides[0], corner + second - sides[1]])
    }
}

/// One round; returns what each vertex has moved, or nothing if no triangle is beyond its bounds.
pub fn even_out(topology: &Topology, bounds: &Bounds, positions: &mut [DVec3], free: &[bool]) -> Option<Vec<f64>> {
    /// Means are too careful: this many times as far converges faster and is still stable.
    const STRIDE: f64 = 1.5;
    let at = |vertex: VertexId| positions[vertex.index()];
    let of_triangle = |triangle: usize| {
        let corners = topology.triangles()[triangle];
        let moves = corners.iter().any(|corner| free.get(corner.index()) == Some(&true));
        if moves { bounds.wishes(triangle, corners.map(at)) } else { None }
    };
    let wishes: Vec<Option<[DVec3; 3]>> = (0..bounds.of_triangle.len()).into_par_iter().map(of_triangle).collect();
    if wishes.iter().all(Option::is_none) {
        return None;
    }
    let step = |vertex: usize| {
        let (mut sum, mut count) = (DVec3::ZERO, 0);
        for triangle in topology.vertex_triangles(VertexId::new(vertex)).iter().filter(|_| free[vertex]) {
            let Some(Some(wish)) = wishes.get(triangle.index()) else { continue };
            let corners = topology.triangle(*triangle);
            let corner = corners.iter().position(|corner| corner.index() == vertex).unwrap_or(0);
            (sum, count) = (sum + wish[corner], count + 1);
        }
        if count == 0 { DVec3::ZERO } else { STRIDE / f64::from(count) * sum }
    };
    let steps: Vec<DVec3> = (0..free.len()).into_par_iter().map(step).collect();
    positions.iter_mut().zip(&steps).for_each(|(place, step)| *place += *step);
    Some(steps.iter().map(|step| step.length()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{self, Cut, Recipe};

    #[test]
    fn a_vertex_that_was_pulled_out_comes_back_and_the_rest_stays() {
        let sample = samples::find("hanky").unwrap().make(&Recipe { resolution: 12, cut: Cut::Irregular, seed: 1 });
        let before = &sample.mesh.positions;
        let topology = Topology::new(before.len(), &sample.mesh.triangles).unwrap();
        let places = |corners: &[VertexId; 3], at: &[DVec3]| corners.map(|corner| at[corner.index()]);
        let shapes: Vec<RestShape> =
            topology.triangles().iter().map(|corners| RestShape::from_world(places(corners, before))).collect();
        let bounds = Bounds::new(&topology, &shapes, before, Bounds::TIGHT);
        let mut positions = before.clone();
        let free = vec![true; before.len()];
        assert!(even_out(&topology, &bounds, &mut positions, &free).is_none(), "unstrained cloth stays");
        let middle = before.len() / 2;
        positions[middle].y += 2.0 * shapes[0].lengths()[0];
        let worst = |at: &[DVec3]| {
            let stretches =
                topology.triangles().iter().zip(&shapes).filter_map(|(corners, shape)| {
                    principal_stretches(shape, places(corners, at)).map(|[most, _]| most)
                });
            stretches.fold(0.0, f64::max)
        };
        let first = worst(&positions);
        for _ in 0..60 {
            even_out(&topology, &bounds, &mut positions, &free);
        }
        assert!(first > 1.8 && worst(&positions) < 1.06, "{first} to {}", worst(&positions));
        let corner = before.len() - 1;
        assert_eq!(positions[corner], before[corner], "far away nothing moves");
    }
}
