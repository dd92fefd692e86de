//! The winding number of a mesh at many points: a tree of dipoles.
//!
//! Triangles near a point count with their solid angle, groups of triangles far away with the dipole of their area
//! vectors (the first order of the fast winding number of Barill et al. 2018). Holes are closed first, so that away
//! from the surface the number is a whole one, up to the error of the dipoles.
//!
//! Guarantees: the same bits on any number of threads; within 0.1 of the plain sum on closed meshes (measured in the
//! tests).
//! Does not: say anything on the surface itself, or near a hole that is far from flat.

use crate::level_set::from_mesh::closing;
use std::f64::consts::PI;
use unsnarl_geometry::DVec3;

/// A closed mesh, ready to be asked.
#[derive(Clone, Debug)]
pub struct WindingTree {
    corners: Vec<[DVec3; 3]>,
    nodes: Vec<Node>,
}

/// A group of triangles: their dipole, and either two groups or a run of triangles.
#[derive(Clone, Copy, Debug)]
struct Node {
    center: DVec3,
    area: DVec3,
    radius: f64,
    first: u32,
    count: u32,
    children: Option<[u32; 2]>,
}

/// Triangles in a group that is not split.
const LEAF: usize = 8;
/// A group counts as a dipole from this many radii on.
const FAR: f64 = 2.5;

impl WindingTree {
    /// Builds the tree, with lids on the holes of the mesh.
    pub fn new(positions: &[DVec3], triangles: &[[u32; 3]]) -> Self {
        let lids = closing::close(positions, triangles);
        let at = |vertex: u32| match positions.get(vertex as usize) {
            Some(place) => *place,
            None => lids.middles[vertex as usize - positions.len()],
        };
        let mut corners: Vec<[DVec3; 3]> =
            triangles.iter().chain(&lids.triangles).map(|triangle| triangle.map(at)).collect();
        let mut nodes = Vec::new();
        if !corners.is_empty() {
            let count = corners.len();
            build(&mut corners, 0..count, &mut nodes);
        }
        Self { corners, nodes }
    }

    /// The winding number of a point: about 1 inside, about 0 outside.
    pub fn at(&self, point: DVec3) -> f64 {
        let mut sum = 0.0;
        let mut stack = vec![0_u32];
        while let Some(at) = stack.pop() {
            let Some(node) = self.nodes.get(at as usize) else { break };
            let way = node.center - point;
            let distance = way.length();
            if distance > FAR * node.radius {
                sum += way.dot(node.area) / (distance * distance * distance);
                continue;
            }
            match node.children {
                Some(children) => stack.extend(children),
                None => {
                    let run = node.first as usize..(node.first + node.count) as usize;
                    sum += self.corners[run].iter().map(|corners| solid_angle(*corners, point)).sum::<f64>();
                }
            }
        }
        sum / (4.0 * PI)
    }
}

/// The solid angle of a triangle as seen from a point, positive from behind.
fn solid_angle(corners: [DVec3; 3], point: DVec3) -> f64 {
    let [a, b, c] = corners.map(|corner| corner - point);
    let [la, lb, lc] = [a.length(), b.length(), c.length()];
    let denominator = la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb;
    2.0 * a.dot(b.cross(c)).atan2(denominator)
}

/// Builds the group of a run of triangles, sorting them in place; returns its number.
fn build(corners: &mut [[DVec3; 3]], run: std::ops::Range<usize>, nodes: &mut Vec<Node>) -> u32 {
    let own = &corners[run.clone()];
    let middle = |triangle: &[DVec3; 3]| (triangle[0] + triangle[1] + triangle[2]) / 3.0;
    let twice_area = |triangle: &[DVec3; 3]| (triangle[1] - triangle[0]).cross(triangle[2] - triangle[0]);
    let (mut area, mut weight, mut sum) = (DVec3::ZERO, 0.0, DVec3::ZERO);
    for triangle in own {
        let vector = 0.5 * twice_area(triangle);
        area += vector;
        weight += vector.length();
        sum += vector.length() * middle(triangle);
    }
    let center = if weight > 0.0 { sum / weight } else { middle(&own[0]) };
    let reach = |triangle: &[DVec3; 3]| triangle.iter().map(|corner| corner.distance(center)).fold(0.0, f64::max);
    let radius = own.iter().map(reach).fold(0.0, f64::max);
    let index = nodes.len();
    let (first, count) = (run.start as u32, run.len() as u32);
    nodes.push(Node { center, area, radius, first, count, children: None });
    if run.len() > LEAF {
        let (low, high) = own
            .iter()
            .map(middle)
            .fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(low, high), place| (low.min(place), high.max(place)));
        let extent = (high - low).to_array();
        let axis = (0..3).fold(0, |best, axis| if extent[axis] > extent[best] { axis } else { best });
        let half = run.len() / 2;
        corners[run.clone()].sort_by(|a, b| middle(a).to_array()[axis].total_cmp(&middle(b).to_array()[axis]));
        let left = build(corners, run.start..run.start + half, nodes);
        let right = build(corners, run.start + half..run.end, nodes);
        nodes[index].children = Some([left, right]);
    }
    index as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level_set::winding_number;
    use unsnarl_geometry::TriMesh;

    /// A bumpy ball with a hole at the top.
    fn bowl(rows: u32, columns: u32) -> TriMesh {
        let mut positions = Vec::new();
        for row in 0..=rows {
            let polar = PI * (0.1 + 0.9 * f64::from(row) / f64::from(rows));
            for column in 0..columns {
                let turn = 2.0 * PI * f64::from(column) / f64::from(columns);
                let radius = 1.0 + 0.1 * (5.0 * turn).sin() * polar.sin();
                positions.push(radius * DVec3::new(polar.sin() * turn.cos(), polar.cos(), polar.sin() * turn.sin()));
            }
        }
        let mut triangles = Vec::new();
        for row in 0..rows {
            for column in 0..columns {
                let next = (column + 1) % columns;
                let [a, b] = [row * columns + column, row * columns + next];
                let [c, d] = [a + columns, b + columns];
                triangles.extend([[a, b, d], [a, d, c]]);
            }
        }
        TriMesh { positions, triangles }
    }

    #[test]
    fn the_tree_agrees_with_the_plain_sum_and_tells_inside_from_outside() {
        let open = bowl(24, 30);
        let lids = closing::close(&open.positions, &open.triangles);
        let mut closed = open.clone();
        closed.positions.extend(&lids.middles);
        closed.triangles.extend(&lids.triangles);
        let tree = WindingTree::new(&open.positions, &open.triangles);
        let mut farthest: f64 = 0.0;
        for step in 0..400 {
            let t = f64::from(step);
            let point = DVec3::new((0.7 * t).sin(), (1.3 * t).sin(), (2.1 * t).sin()) * 1.4;
            let exact = winding_number(&closed, point);
            farthest = farthest.max((tree.at(point) - exact).abs());
            if (point.length() - 1.0).abs() > 0.2 {
                assert_eq!(tree.at(point) > 0.5, point.length() < 1.0, "{point}");
            }
        }
        assert!(farthest < 0.1, "{farthest}");
    }
}
