//! Wide angles once more, after the border has settled.
//!
//! First the nodes of wide triangles are searched for better places and may slide even where the surface bends; edges
//! are swapped. What is still wide then has its longest edge split below the wide angle: two triangles with about right
//! angles there, for each of the two that shared the edge.
//!
//! Guarantees: a split lowers the largest angle around it, turns no triangle over, and makes no inner edge between two
//! border nodes.

use super::{Kind, Work};
use crate::trim::quality::{angles_degrees, quality};
use crate::trim::surface::Foot;
use unsnarl_geometry::{DVec3, EdgeId, Topology, TriangleId, VertexId};

/// Angles above this are worked on, so many rounds.
const WIDE_DEGREES: f64 = 127.0;
const ROUNDS: usize = 12;
/// Rounds of splits, and of searches after each.
const SPLITTING_ROUNDS: usize = 4;
const SEARCHES: usize = 2;
/// Where a longest edge may be split, as shares of it.
const SHARES: [f64; 7] = [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8];
/// What a split must gain, degrees.
const GAIN_DEGREES: f64 = 3.0;

/// A split of an edge: where, and the triangles it makes with the new node as `u32::MAX`.
struct Split {
    foot: Foot,
    is_border: bool,
    gone: Vec<TriangleId>,
    made: Vec<[u32; 3]>,
}

impl Work<'_> {
    /// Works on what is left of wide angles in triangles that have changed.
    pub(super) fn relieve(&mut self) {
        for _ in 0..ROUNDS {
            if !self.relieve_once() {
                return;
            }
        }
        for _ in 0..SPLITTING_ROUNDS {
            if !self.split_wide() {
                return;
            }
            for _ in 0..SEARCHES {
                self.relieve_once();
            }
        }
    }

    /// Swaps edges, searches at the nodes of wide triangles and pulls the border back; whether there were any.
    fn relieve_once(&mut self) -> bool {
        let nodes = self.nodes_of_wide_triangles();
        for &node in &nodes {
            let is_held = self.kinds[node as usize] == Kind::Held;
            if is_held && self.border_degrees(VertexId(node)) == [0, 0] {
                self.kinds[node as usize] = Kind::Inner;
                self.order.push(node);
            }
        }
        if nodes.is_empty() {
            return false;
        }
        self.flip();
        for &node in &nodes {
            let node = node as usize;
            if matches!(self.kinds[node], Kind::Inner | Kind::Border) {
                self.search(node, self.worst_at(node, self.feet[node]));
            }
        }
        self.pull_border(super::Pace::Full, 0.0);
        true
    }

    fn largest_angle(&self, corners: [DVec3; 3]) -> f64 {
        angles_degrees(corners).into_iter().fold(0.0, f64::max)
    }

    fn positions_of(&self, corners: [VertexId; 3]) -> [DVec3; 3] {
        corners.map(|corner| self.feet[corner.index()].position)
    }

    /// Triangles with a wide angle and a node that has moved, the widest first.
    fn wide_triangles(&self) -> Vec<TriangleId> {
        let has_moved = |node: &VertexId| {
            let foot = self.feet[node.index()].position;
            let is_new = |vertex: usize| vertex >= self.surface.input || self.surface.positions[vertex] != foot;
            self.origin[node.index()].is_none_or(|vertex| is_new(vertex as usize))
        };
        let width = |at: usize| {
            let corners = self.topology.triangle(TriangleId::new(at));
            let angle = self.largest_angle(self.positions_of(corners));
            (angle > WIDE_DEGREES && corners.iter().any(has_moved)).then_some((angle, at))
        };
        let mut found: Vec<(f64, usize)> = (0..self.topology.triangle_count()).filter_map(width).collect();
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        found.into_iter().map(|(_, at)| TriangleId::new(at)).collect()
    }

    /// Their nodes, ascending.
    fn nodes_of_wide_triangles(&self) -> Vec<u32> {
        let corners = |triangle: TriangleId| self.topology.triangle(triangle).map(|corner| corner.0);
        let mut nodes: Vec<u32> = self.wide_triangles().into_iter().flat_map(corners).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// Splits the longest edges of wide triangles, no triangle twice; whether any was split.
    fn split_wide(&mut self) -> bool {
        let mut is_gone = vec![false; self.topology.triangle_count()];
        let mut splits: Vec<Split> = Vec::new();
        for triangle in self.wide_triangles() {
            let Some(split) = self.best_split(triangle) else { continue };
            if split.gone.iter().all(|triangle| !is_gone[triangle.index()]) {
                split.gone.iter().for_each(|triangle| is_gone[triangle.index()] = true);
                splits.push(split);
            }
        }
        let kept = (0..is_gone.len()).filter(|&at| !is_gone[at]).map(TriangleId::new);
        let mut triangles: Vec<[u32; 3]> =
            kept.map(|triangle| self.topology.triangle(triangle).map(|corner| corner.0)).collect();
        for split in &splits {
            let number = self.feet.len() as u32;
            triangles.extend(split.made.iter().map(|corners| corners.map(|c| if c == u32::MAX { number } else { c })));
            self.feet.push(split.foot);
            self.origin.push(None);
            self.kinds.push(if split.is_border { Kind::Border } else { Kind::Inner });
            self.rails.push(None);
            self.order.push(number);
            self.split_edges += 1;
        }
        if !splits.is_empty() {
            self.topology = Topology::new(self.feet.len(), &triangles).expect("split edges leave a mesh a mesh");
            self.look_over();
        }
        !splits.is_empty()
    }

    /// The split of the longest edge of a triangle that leaves the smallest largest angle, if that is a gain.
    fn best_split(&self, triangle: TriangleId) -> Option<Split> {
        let corners = self.topology.triangle(triangle);
        let angles = angles_degrees(self.positions_of(corners));
        let at = (0..3).max_by(|&a, &b| angles[a].total_cmp(&angles[b]))?;
        let [apex, from, to] = [0, 1, 2].map(|step| corners[(at + step) % 3]);
        let edge = self.topology.find_edge(from, to)?;
        let other = self.other_side(triangle, edge, [from, to])?;
        let is_border = other.is_none();
        if is_border && (self.is_old(edge) || self.topology.is_boundary_vertex(apex)) {
            return None;
        }
        let mut made = vec![[apex.0, from.0, u32::MAX], [apex.0, u32::MAX, to.0]];
        let mut gone = vec![triangle];
        let mut before = angles[at];
        if let Some((across, beyond)) = other {
            made.extend([[beyond.0, to.0, u32::MAX], [beyond.0, u32::MAX, from.0]]);
            before = before.max(self.largest_angle(self.positions_of(self.topology.triangle(across))));
            gone.push(across);
        }
        let [start, end] = [from, to].map(|node| self.feet[node.index()].position);
        let normals: Vec<DVec3> = gone.iter().map(|&gone| self.face_normal(self.topology.triangle(gone))).collect();
        let trial = |share: &f64| {
            let target = start + *share * (end - start);
            let foot = self.surface.closest_from(target, self.feet[from.index()].triangle);
            let angle = |(at, corners): (usize, &[u32; 3])| self.angle_with(*corners, foot, normals[at / 2]);
            let largest = made.iter().enumerate().map(angle).fold(0.0, f64::max);
            (largest, foot)
        };
        let (largest, foot) = SHARES.iter().map(trial).min_by(|a, b| a.0.total_cmp(&b.0))?;
        (largest + GAIN_DEGREES < before).then_some(Split { foot, is_border, gone, made })
    }

    /// The triangle across an edge and its corner there, where the two run along the edge in opposite directions; an
    /// inner nothing where the edge is a border, an outer one where it is neither.
    fn other_side(
        &self,
        triangle: TriangleId,
        edge: EdgeId,
        [from, to]: [VertexId; 2],
    ) -> Option<Option<(TriangleId, VertexId)>> {
        match *self.topology.edge_triangles(edge) {
            [_] => Some(None),
            [a, b] => {
                let across = if a == triangle { b } else { a };
                let corners = self.topology.triangle(across);
                let runs = (0..3).any(|at| corners[at] == to && corners[(at + 1) % 3] == from);
                runs.then(|| Some((across, self.topology.opposite_vertex(across, edge))))
            }
            _ => None,
        }
    }

    /// The largest angle of a triangle with the new node at a place; 180 degrees where it faces away from a normal.
    fn angle_with(&self, corners: [u32; 3], foot: Foot, normal: DVec3) -> f64 {
        let place = |corner: u32| if corner == u32::MAX { foot } else { self.feet[corner as usize] }.position;
        let positions = corners.map(place);
        if quality(positions, normal) > 0.0 { self.largest_angle(positions) } else { 180.0 }
    }
}
