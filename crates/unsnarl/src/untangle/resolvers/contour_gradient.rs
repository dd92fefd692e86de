//! The length of a contour as a function of the vertices, and its gradient.
//!
//! A point of a contour lies where an edge passes through a triangle. Its *pull* is the sum of the unit vectors along the
//! contour away from it: moving the point along its pull shortens the contour fastest. With edge `E`, unit normal `N` of
//! the triangle and pull `R`, let `tau = (E . R) / (E . N)`. Then length falls fastest when the edge moves along
//! `R - tau N` while the triangle stands still, and along `R - 2 tau N` when the triangle moves just as far the other way.
//! (Volino and Magnenat-Thalmann 2006, as cited by Cha 2022, 2.1; Cha 2022, equations 3.1 and 3.2)
//!
//! Guarantees: [`length_gradient`] is the derivative of the length of the contour with the pairs of triangles held fixed,
//! in every vertex (checked by finite differences). Its sum over all vertices is 0.
//! Does not: foresee pairs of triangles that begin or cease to cross.

use crate::analysis::{Contour, ContourEnd, ContourPoint};
use unsnarl_geometry::{DVec3, Topology, VertexId};

/// A point of a contour and what moves it.
#[derive(Clone, Copy, Debug)]
pub struct PulledCrossing {
    /// The crossing.
    pub point: ContourPoint,
    /// The ends of the edge.
    pub ends: [VertexId; 2],
    /// How far along the edge the point lies, 0 to 1.
    pub along: f64,
    /// The corners of the triangle.
    pub corners: [VertexId; 3],
    /// Barycentric coordinates of the point in the triangle.
    pub barycentric: [f64; 3],
    /// From the first end of the edge to the second.
    pub edge: DVec3,
    /// Unit normal of the triangle.
    pub normal: DVec3,
    /// The sum of the unit vectors along the contour, away from the point: two inside a contour, one at an end.
    pub pull: DVec3,
    /// How many segments meet here: 2, or 1 where a contour ends.
    pub segments: usize,
}

/// A contour whose points have their pulls.
#[derive(Clone, Debug, Default)]
pub struct PulledContour {
    /// The crossings in walking order, except those in triangles without area.
    pub crossings: Vec<PulledCrossing>,
    /// The loop vertices at the ends and their pulls.
    pub loop_vertices: Vec<(VertexId, DVec3)>,
}

impl PulledCrossing {
    /// `(E . R) / (E . N)`; `None` where the edge grazes the triangle and the quotient means nothing.
    pub fn slope(&self) -> Option<f64> {
        const GRAZING: f64 = 1e-9;
        let across = self.edge.dot(self.normal);
        (across.abs() > GRAZING * self.edge.length()).then(|| self.edge.dot(self.pull) / across)
    }
}

/// Where an edge meets the plane of a triangle, and how far along the edge that is.
fn meeting_point([start, end]: [DVec3; 2], [a, b, c]: [DVec3; 3]) -> (DVec3, f64) {
    let normal = (b - a).cross(c - a);
    let (below, above) = (normal.dot(start - a), normal.dot(end - a));
    let along = (below / (below - above)).clamp(0.0, 1.0);
    let along = if along.is_finite() { along } else { 0.5 };
    (start.lerp(end, along), along)
}

/// The curve of a contour at any positions near those where it was found: from end to end, closed ones repeat a point.
pub fn polyline_at(topology: &Topology, positions: &[DVec3], contour: &Contour) -> Vec<DVec3> {
    let at = |vertex: VertexId| positions[vertex.index()];
    let mut line: Vec<DVec3> = contour
        .points
        .iter()
        .map(|point| meeting_point(topology.edge(point.edge).map(at), topology.triangle(point.triangle).map(at)).0)
        .collect();
    match contour.ends {
        None => line.extend(line.first().copied()),
        Some(ends) => {
            if let ContourEnd::Loop(vertex) = ends[0] {
                line.insert(0, at(vertex));
            }
            if let ContourEnd::Loop(vertex) = ends[1] {
                line.push(at(vertex));
            }
        }
    }
    line
}

/// The points of a contour with their pulls.
pub fn pulled(topology: &Topology, positions: &[DVec3], contour: &Contour) -> PulledContour {
    let line = polyline_at(topology, positions, contour);
    let mut pulls = vec![(DVec3::ZERO, 0); line.len()];
    for segment in 1..line.len() {
        let direction = (line[segment] - line[segment - 1]).normalize_or_zero();
        pulls[segment - 1].0 += direction;
        pulls[segment - 1].1 += 1;
        pulls[segment].0 -= direction;
        pulls[segment].1 += 1;
    }
    if contour.ends.is_none()
        && let Some((pull, count)) = pulls.pop()
    {
        pulls[0].0 += pull;
        pulls[0].1 += count;
    }
    let mut shift = 0;
    let mut result = PulledContour::default();
    for (which, end) in contour.ends.iter().flatten().enumerate() {
        if let ContourEnd::Loop(vertex) = *end {
            let at = if which == 0 { 0 } else { pulls.len() - 1 };
            shift += usize::from(which == 0);
            result.loop_vertices.push((vertex, pulls[at].0));
        }
    }
    let points = contour.points.iter().zip(pulls.iter().skip(shift));
    result.crossings = points.filter_map(|(&point, &pull)| pulled_crossing(topology, positions, point, pull)).collect();
    result
}

fn pulled_crossing(
    topology: &Topology,
    positions: &[DVec3],
    point: ContourPoint,
    (pull, segments): (DVec3, usize),
) -> Option<PulledCrossing> {
    let at = |vertex: VertexId| positions[vertex.index()];
    let (ends, corners) = (topology.edge(point.edge), topology.triangle(point.triangle));
    let [a, b, c] = corners.map(at);
    let full = (b - a).cross(c - a);
    let normal = full.try_normalize()?;
    let (place, along) = meeting_point(ends.map(at), [a, b, c]);
    let share = |p: DVec3, q: DVec3| ((p - place).cross(q - place).dot(full) / full.length_squared()).clamp(0.0, 1.0);
    let raw = [share(b, c), share(c, a), share(a, b)];
    let sum = ((raw[0] + raw[1]) + raw[2]).max(f64::MIN_POSITIVE);
    let barycentric = raw.map(|weight| weight / sum);
    Some(PulledCrossing {
        point,
        ends,
        along,
        corners,
        barycentric,
        edge: at(ends[1]) - at(ends[0]),
        normal,
        pull,
        segments,
    })
}

/// The gradient of the length of a contour: vertices, each possibly several times, with their parts of it.
pub fn length_gradient(topology: &Topology, positions: &[DVec3], contour: &Contour) -> Vec<(VertexId, DVec3)> {
    let pulled = pulled(topology, positions, contour);
    let mut gradient: Vec<(VertexId, DVec3)> =
        pulled.loop_vertices.iter().map(|&(vertex, pull)| (vertex, -pull)).collect();
    for crossing in &pulled.crossings {
        let Some(slope) = crossing.slope() else { continue };
        let of_triangle = crossing.normal * slope;
        let of_edge = crossing.pull - of_triangle;
        let [start, end] = crossing.ends;
        gradient.push((start, -of_edge * (1.0 - crossing.along)));
        gradient.push((end, -of_edge * crossing.along));
        let corners = crossing.corners.into_iter().zip(crossing.barycentric);
        gradient.extend(corners.map(|(corner, weight)| (corner, -of_triangle * weight)));
    }
    gradient
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{self, Assembly, ContourKind, Tangle};
    use crate::samples::{self, Cut, Recipe};
    use unsnarl_geometry::TriMesh;

    fn length(line: &[DVec3]) -> f64 {
        line.windows(2).map(|pair| pair[0].distance(pair[1])).sum()
    }

    fn analyzed(name: &str) -> (TriMesh, Assembly, Tangle) {
        let recipe = Recipe { resolution: 12, cut: Cut::Irregular, seed: 5 };
        let mesh = samples::find(name).unwrap().make(&recipe).mesh;
        let assembly = Assembly::of_cloth(name, &mesh).unwrap();
        let tangle = analysis::analyze(&assembly, &mesh.positions, &mut analysis::Workspace::default());
        (mesh, assembly, tangle)
    }

    #[test]
    fn the_gradient_of_length_is_that_of_finite_differences() {
        for name in ["closed", "ll", "bbii", "bibi", "bli"] {
            let (mesh, assembly, tangle) = analyzed(name);
            let topology = assembly.topology();
            for tangled in &tangle.contours {
                let mut gradient = vec![DVec3::ZERO; mesh.positions.len()];
                for (vertex, part) in length_gradient(topology, &mesh.positions, &tangled.contour) {
                    gradient[vertex.index()] += part;
                }
                let sum: DVec3 = gradient.iter().sum();
                assert!(sum.length() < 1e-9, "{name}: moving everything changes nothing, not {sum}");
                let scale = gradient.iter().map(|part| part.length()).fold(0.0, f64::max);
                for (vertex, part) in gradient.iter().enumerate().filter(|(_, part)| **part != DVec3::ZERO) {
                    for axis in [DVec3::X, DVec3::Y, DVec3::Z] {
                        let step = 1e-7;
                        let moved = |amount: f64| {
                            let mut positions = mesh.positions.clone();
                            positions[vertex] += axis * amount;
                            length(&polyline_at(topology, &positions, &tangled.contour))
                        };
                        let difference = (moved(step) - moved(-step)) / (2.0 * step);
                        assert!(
                            (difference - part.dot(axis)).abs() < 2e-4 * scale,
                            "{name}, vertex {vertex} along {axis}: {difference} instead of {}",
                            part.dot(axis)
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn moving_edge_and_triangle_apart_has_twice_the_normal_part() {
        let (mesh, assembly, tangle) = analyzed("closed");
        let topology = assembly.topology();
        let contour = &tangle.contours[0].contour;
        assert_eq!(tangle.contours[0].kind, ContourKind::Closed);
        for crossing in pulled(topology, &mesh.positions, contour).crossings {
            let slope = crossing.slope().unwrap();
            let wanted = crossing.pull - 2.0 * slope * crossing.normal;
            let at = |vertex: VertexId| mesh.positions[vertex.index()];
            let point = |push: DVec3| {
                meeting_point(crossing.ends.map(|end| at(end) + push), crossing.corners.map(|corner| at(corner) - push))
                    .0
            };
            for axis in [DVec3::X, DVec3::Y, DVec3::Z] {
                let step = 1e-7;
                let moved = (point(axis * step) - point(-axis * step)) / (2.0 * step);
                let (found, expected) = (crossing.pull.dot(moved), wanted.dot(axis));
                assert!((found - expected).abs() < 1e-4 * wanted.length().max(1.0), "{found} instead of {expected}");
            }
        }
    }
}
