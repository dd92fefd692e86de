//! Cloth slides out of where it may not be, strained as little as that allows.
//!
//! Wanted are positions `x` in an allowed set (outside bodies, on the right side of other cloth) with least
//! `sum area |F(x) - T|^2`, where `F` is the deformation gradient of a triangle and `T` the nearest one whose stretches
//! are within its bounds. In rounds (alternating directions, with `u` the force of the constraint):
//!
//! ```text
//! T <- F(x) with its stretches clamped                         each triangle by itself
//! x <- least of sum area |F(x) - T|^2 + sum c |x - z + u|^2    one linear solve, factored once
//! z <- x + u, projected into the allowed set                   given by the caller
//! u <- u + x - z
//! ```
//!
//! Where cloth is to be carried along, `sum b |(x_i - x_i0) - (x_j - x_j0)|^2` over the edges is added: what was moved
//! takes its surroundings with it instead of being folded out of them. Where cloth is to be flat, bending is added
//! (`rearrange::flatness`).
//!
//! The solve carries strain across the whole of the free cloth at once, so cloth that gives way at one place comes to
//! rest within some tens of rounds; one that has to go elsewhere as a whole takes hundreds.
//! (the local and global solve of Bouaziz et al. 2014, constraints as in Overby et al. 2017)
//!
//! Guarantees: only free vertices move; where all triangles are within their bounds and all places are allowed nothing
//! moves; the same bits on any number of threads.
//! Does not: keep cloth from crossing anything that the projection does not know, nor its bends.

use crate::dynamics::block_cholesky::{Layout, UpperPattern};
use crate::dynamics::scalar_cholesky::ScalarFactor;
use crate::untangle::rearrange::flatness::Flatness;
use crate::untangle::rearrange::strain_bounds::StrainBounds;
use rayon::prelude::*;
use unsnarl_geometry::{DVec3, EdgeId, Topology, TriangleId, VertexId};

/// How strongly cloth is held to the allowed set, per triangle at a vertex and beside the stiffness of the cloth, which
/// has no unit.
const HOLD: f64 = 1.0 / 3.0;

/// Cloth on its way.
pub struct Sliding {
    /// The free vertices, rising; a row of the system each.
    vertices: Vec<usize>,
    triangles: Vec<Element>,
    /// How strongly each free vertex is held.
    holds: Vec<f64>,
    /// How strongly neighbours are carried along.
    carrying: f64,
    /// Edges with a free end: their rows, or none for an end that is not free.
    edges: Vec<[Option<usize>; 2]>,
    flatness: Flatness,
    /// Where cloth was at first, by row.
    start: Vec<DVec3>,
    layout: Layout,
    factor: ScalarFactor,
    /// Where the elastic cloth is, vertex by vertex of all cloth.
    elastic: Vec<DVec3>,
    /// What the constraint has pushed so far, by row.
    pushed: Vec<DVec3>,
}

/// What holds cloth together beside its triangles.
#[derive(Clone, Copy)]
pub struct Ties<'a> {
    /// How strongly neighbours are carried along, beside the stiffness of cloth.
    pub carrying: f64,
    /// How strongly each vertex is to be flat, likewise; may end early.
    pub flatness: &'a [f64],
}

/// A triangle with a free corner.
struct Element {
    triangle: TriangleId,
    corners: [VertexId; 3],
    rows: [Option<usize>; 3],
    area: f64,
    warp: [f64; 3],
    weft: [f64; 3],
}

impl Sliding {
    /// Cloth that is here, of which so much is free and carries its neighbours along so strongly, beside its stiffness;
    /// `None` where nothing can be solved for: without free vertices, or with rest shapes that are too thin to compute
    /// with.
    pub fn new(
        topology: &Topology,
        bounds: &StrainBounds,
        free: &[bool],
        carrying: f64,
        positions: &[DVec3],
    ) -> Option<Self> {
        Self::tied(topology, bounds, free, Ties { carrying, flatness: &[] }, positions)
    }

    /// The same with other ties.
    pub fn tied(
        topology: &Topology,
        bounds: &StrainBounds,
        free: &[bool],
        Ties { carrying, flatness }: Ties,
        positions: &[DVec3],
    ) -> Option<Self> {
        let vertices: Vec<usize> = (0..free.len()).filter(|&vertex| free[vertex]).collect();
        let mut row_of = vec![None; free.len()];
        vertices.iter().enumerate().for_each(|(row, &vertex)| row_of[vertex] = Some(row));
        let mut triangles = Vec::new();
        for (triangle, shape) in bounds.shapes().iter().enumerate() {
            let corners = topology.triangles()[triangle];
            let rows = corners.map(|corner| row_of[corner.index()]);
            let Some((warp, weft)) = shape.gradients().filter(|_| rows.iter().any(Option::is_some)) else { continue };
            triangles.push(Element {
                triangle: TriangleId::new(triangle),
                corners,
                rows,
                area: shape.area(),
                warp,
                weft,
            });
        }
        let holds: Vec<f64> = vertices
            .iter()
            .map(|&vertex| HOLD * topology.vertex_triangles(VertexId::new(vertex)).len().max(1) as f64)
            .collect();
        let row = |vertex: VertexId| row_of.get(vertex.index()).copied().flatten();
        let ends = (0..topology.edge_count()).map(|edge| topology.edge(EdgeId::new(edge)).map(row));
        let edges: Vec<[Option<usize>; 2]> = ends.filter(|rows| rows.iter().any(Option::is_some)).collect();
        let flatness = Flatness::new(topology, bounds, flatness, &row_of);
        let (layout, diagonal, upper) = system(&triangles, &holds, (&edges, carrying), &flatness)?;
        let start = vertices.iter().map(|&vertex| positions[vertex]).collect();
        let mut factor = ScalarFactor::default();
        let elastic = positions[..free.len()].to_vec();
        let pushed = vec![DVec3::ZERO; vertices.len()];
        factor.find(&layout, &diagonal, &upper).then_some(Self {
            vertices,
            triangles,
            holds,
            carrying,
            edges,
            flatness,
            start,
            layout,
            factor,
            elastic,
            pushed,
        })
    }

    /// Cloth is here now: what carries it along is how it is here, and no constraint has pushed it yet.
    pub fn begin_again(&mut self, positions: &[DVec3]) {
        let count = self.elastic.len();
        self.elastic.copy_from_slice(&positions[..count]);
        self.start.iter_mut().zip(&self.vertices).for_each(|(start, &vertex)| *start = positions[vertex]);
        self.pushed.fill(DVec3::ZERO);
    }

    /// One round from allowed positions to better ones. `project` moves positions into the allowed set; the first ones
    /// of `positions` are the cloth's.
    pub fn round(&mut self, bounds: &StrainBounds, positions: &mut [DVec3], project: &mut dyn FnMut(&mut [DVec3])) {
        let elastic = &self.elastic;
        let force = |element: &Element| {
            let wish = bounds.correction(element.triangle, element.corners.map(|corner| elastic[corner.index()]))?;
            Some([0, 1, 2].map(|k| element.area * (element.warp[k] * wish[0] + element.weft[k] * wish[1])))
        };
        let forces: Vec<Option<[DVec3; 3]>> = self.triangles.par_iter().map(force).collect();
        let held = |(row, &vertex): (usize, &usize)| {
            self.holds[row] * (positions[vertex] - self.pushed[row] - elastic[vertex])
        };
        let mut step: Vec<DVec3> = self.vertices.iter().enumerate().map(held).collect();
        for (element, force) in self.triangles.iter().zip(&forces) {
            let Some(force) = force else { continue };
            for (row, force) in element.rows.iter().zip(force) {
                row.iter().for_each(|&row| step[row] += *force);
            }
        }
        let moved = |row: Option<usize>| row.map_or(DVec3::ZERO, |row| elastic[self.vertices[row]] - self.start[row]);
        for &[a, b] in &self.edges {
            let force = self.carrying * (moved(b) - moved(a));
            a.iter().for_each(|&row| step[row] += force);
            b.iter().for_each(|&row| step[row] -= force);
        }
        self.flatness.add_forces(elastic, &mut step);
        self.factor.solve(&self.layout, &mut step);
        for ((&vertex, step), pushed) in self.vertices.iter().zip(&step).zip(&self.pushed) {
            self.elastic[vertex] += *step;
            positions[vertex] = self.elastic[vertex] + *pushed;
        }
        project(positions);
        for (&vertex, pushed) in self.vertices.iter().zip(&mut self.pushed) {
            *pushed += self.elastic[vertex] - positions[vertex];
        }
    }
}

/// Puts back what has hardly moved: the solve moves all free vertices, if only by rounding.
pub fn take_back(least: f64, before: &[DVec3], positions: &mut [DVec3]) {
    for (place, before) in positions.iter_mut().zip(before) {
        if place.distance_squared(*before) < least * least {
            *place = *before;
        }
    }
}

/// The matrix of the solve: its layout, diagonal and entries right of it.
fn system(
    triangles: &[Element],
    holds: &[f64],
    (edges, carrying): (&[[Option<usize>; 2]], f64),
    flatness: &Flatness,
) -> Option<(Layout, Vec<f64>, Vec<f64>)> {
    let mut diagonal = holds.to_vec();
    let mut entries: Vec<([usize; 2], f64)> = Vec::new();
    for element in triangles {
        let stiffness =
            |i: usize, j: usize| element.area * (element.warp[i] * element.warp[j] + element.weft[i] * element.weft[j]);
        for (i, j) in [(0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0)] {
            match [element.rows[i], element.rows[j]] {
                [Some(row), Some(other)] if row == other => diagonal[row] += stiffness(i, j),
                [Some(row), Some(other)] => entries.push(([row.min(other), row.max(other)], stiffness(i, j))),
                _ => {}
            }
        }
    }
    for rows in edges {
        rows.iter().flatten().for_each(|&row| diagonal[row] += carrying);
        if let [Some(a), Some(b)] = *rows {
            entries.push(([a.min(b), a.max(b)], -carrying));
        }
    }
    flatness.add_to_matrix(&mut diagonal, &mut entries);
    entries.sort_by_key(|entry| entry.0);
    let mut pattern = UpperPattern { row_starts: vec![0], columns: Vec::new() };
    let mut upper: Vec<f64> = Vec::new();
    let mut groups = entries.chunk_by(|a, b| a.0 == b.0).peekable();
    for row in 0..holds.len() {
        while let Some(group) = groups.next_if(|group| group[0].0[0] == row) {
            pattern.columns.push(group[0].0[1] as u32);
            upper.push(group.iter().map(|entry| entry.1).sum());
        }
        pattern.row_starts.push(pattern.columns.len() as u32);
    }
    let layout = Layout::new(pattern).filter(|_| !holds.is_empty())?;
    Some((layout, diagonal, upper))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rest_shape::{RestShape, principal_stretches};
    use crate::samples::{self, Cut, Recipe};
    use std::f64::consts::TAU;

    fn shapes(topology: &Topology, positions: &[DVec3]) -> Vec<RestShape> {
        let places = |corners: &[VertexId; 3]| corners.map(|corner| positions[corner.index()]);
        topology.triangles().iter().map(|corners| RestShape::from_world(places(corners))).collect()
    }

    fn largest_stretch(topology: &Topology, shapes: &[RestShape], positions: &[DVec3]) -> f64 {
        let places = |corners: &[VertexId; 3]| corners.map(|corner| positions[corner.index()]);
        let stretches = topology.triangles().iter().zip(shapes);
        stretches
            .filter_map(|(corners, shape)| principal_stretches(shape, places(corners)).map(|[most, _]| most))
            .fold(0.0, f64::max)
    }

    #[test]
    fn a_vertex_that_was_pulled_out_comes_back_and_what_is_held_stays() {
        let sample = samples::find("hanky").unwrap().make(&Recipe { resolution: 12, cut: Cut::Irregular, seed: 1 });
        let before = &sample.mesh.positions;
        let topology = Topology::new(before.len(), &sample.mesh.triangles).unwrap();
        let shapes = shapes(&topology, before);
        let bounds = StrainBounds::new(&topology, &shapes, before, StrainBounds::TIGHT);
        let mut free = vec![true; before.len()];
        free[0] = false;
        let mut positions = before.clone();
        let mut sliding = Sliding::new(&topology, &bounds, &free, 0.0, &positions).unwrap();
        sliding.round(&bounds, &mut positions, &mut |_| {});
        let farthest = positions.iter().zip(before).map(|(now, then)| now.distance(*then)).fold(0.0, f64::max);
        assert!(farthest < 1e-12, "unstrained cloth stays: {farthest}");
        positions[before.len() / 2].y += 2.0 * shapes[0].lengths()[0];
        let first = largest_stretch(&topology, &shapes, &positions);
        let mut sliding = Sliding::new(&topology, &bounds, &free, 0.0, &positions).unwrap();
        for _ in 0..60 {
            sliding.round(&bounds, &mut positions, &mut |_| {});
        }
        let last = largest_stretch(&topology, &shapes, &positions);
        assert!(first > 1.8 && last < 1.03, "{first} to {last}");
        assert_eq!(positions[0], before[0]);
    }

    #[test]
    fn a_pinched_vertex_is_drawn_into_the_plane_of_its_ring_where_cloth_is_to_be_flat() {
        let sample = samples::find("hanky").unwrap().make(&Recipe { resolution: 12, cut: Cut::Irregular, seed: 1 });
        let mut positions = sample.mesh.positions.clone();
        let topology = Topology::new(positions.len(), &sample.mesh.triangles).unwrap();
        let shapes = shapes(&topology, &positions);
        let bounds = StrainBounds::around_rest(&topology, &shapes, [0.0, f64::INFINITY]);
        let pinched = positions.len() / 2;
        let height = shapes[0].lengths()[0];
        positions[pinched].y += height;
        let free = vec![true; positions.len()];
        let off = |positions: &[DVec3]| {
            let ring: Vec<DVec3> =
                topology.ring(VertexId::new(pinched)).map(|vertex| positions[vertex.index()]).collect();
            (positions[pinched] - ring.iter().sum::<DVec3>() / ring.len() as f64).y.abs()
        };
        for (flatness, is_flat) in [(0.0, false), (3.0, true)] {
            let mut positions = positions.clone();
            let flatness = vec![flatness; positions.len()];
            let ties = Ties { carrying: 0.0, flatness: &flatness };
            let mut sliding = Sliding::tied(&topology, &bounds, &free, ties, &positions).unwrap();
            for _ in 0..60 {
                sliding.round(&bounds, &mut positions, &mut |_| {});
            }
            let off = off(&positions) / height;
            assert!(if is_flat { off < 0.1 } else { off > 0.9 }, "{off}");
        }
    }

    /// A tube that is a tenth too narrow for a cone slides along it to where it fits, and never into it.
    #[test]
    fn a_narrow_tube_slides_to_the_narrow_end_of_a_cone() {
        const SECTORS: u32 = 24;
        const ROWS: u32 = 4;
        let radius = |height: f64| 1.0 - height;
        let place = |radius: f64, row: u32, sector: u32| {
            let angle = TAU * f64::from(sector) / f64::from(SECTORS);
            DVec3::new(radius * angle.cos(), radius * angle.sin(), 0.2 * f64::from(row) / f64::from(ROWS - 1))
        };
        let tube = |radius: f64| -> Vec<DVec3> {
            (0..ROWS * SECTORS).map(|at| place(radius, at / SECTORS, at % SECTORS)).collect()
        };
        let at = |row: u32, sector: u32| row * SECTORS + sector % SECTORS;
        let quads = (0..(ROWS - 1) * SECTORS).map(|quad| (quad / SECTORS, quad % SECTORS));
        let triangles: Vec<[u32; 3]> = quads
            .flat_map(|(row, sector)| {
                let [a, b] = [at(row, sector), at(row, sector + 1)];
                let [c, d] = [at(row + 1, sector), at(row + 1, sector + 1)];
                [[a, b, d], [a, d, c]]
            })
            .collect();
        let rest = tube(0.9);
        let topology = Topology::new(rest.len(), &triangles).unwrap();
        let shapes = shapes(&topology, &rest);
        let bounds = StrainBounds::around_rest(&topology, &shapes, StrainBounds::RELAXED);
        let mut positions = tube(1.0);
        let first = largest_stretch(&topology, &shapes, &positions);
        let mut sliding = Sliding::new(&topology, &bounds, &vec![true; rest.len()], 0.0, &positions).unwrap();
        for _ in 0..1200 {
            sliding.round(&bounds, &mut positions, &mut |positions| {
                for place in positions.iter_mut() {
                    let out = DVec3::new(place.x, place.y, place.truncate().length()).normalize();
                    let depth = radius(place.z) - place.truncate().length();
                    if depth > 0.0 {
                        *place += depth / 2.0_f64.sqrt() * out;
                    }
                }
            });
        }
        let last = largest_stretch(&topology, &shapes, &positions);
        let lowest = positions.iter().map(|place| place.z).fold(f64::INFINITY, f64::min);
        assert!(first > 1.1 && last < 1.03, "{first} to {last}");
        assert!((0.07..0.13).contains(&lowest), "the cone has the tube's radius at a height of 0.1, not {lowest}");
        let deepest = positions.iter().map(|place| radius(place.z) - place.truncate().length()).fold(0.0, f64::max);
        assert!(deepest < 1e-3, "{deepest}");
    }
}
