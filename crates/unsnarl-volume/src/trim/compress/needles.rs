//! Needles near the cut: the short edge of a triangle with a tiny angle is closed up to one node.
//!
//! They come from corners that slide next to a node of an old border, from halved edges, and from the input. An inner
//! node gives way to any other, a border node to one on the same side of the mesh. On an old border the node of the
//! input stays and takes the place of the corner beside it, so that the old border keeps its edges.
//!
//! Guarantees: a closing raises the smallest angle around it, makes no wide angle, turns no triangle over, and leaves
//! borders simple and without inner edges between their nodes. Nodes that are held for a crease stay.

use super::relief::WIDE_DEGREES;
use super::{Kind, Work};
use crate::trim::quality::{angles_degrees, quality};
use crate::trim::surface::Foot;
use unsnarl_geometry::distance::point_segment;
use unsnarl_geometry::{DVec3, Topology, TriangleId, VertexId};

/// A triangle with a smaller angle is a needle: about one to twelve.
const NEEDLE_DEGREES: f64 = 5.0;
/// A border of the input may be cut short by this share of an edge.
const BORDER_BEND: f64 = 0.01;
/// Rounds of closings.
const ROUNDS: usize = 4;

/// Two nodes that become one.
struct Closing {
    gone: VertexId,
    kept: VertexId,
    place: Placed,
}

/// Where the node that is kept goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Placed {
    Stays,
    AtOther,
}

/// The smallest and the largest angle of some triangles, degrees.
#[derive(Clone, Copy)]
struct Spread {
    smallest: f64,
    largest: f64,
}

impl Spread {
    fn of(triangles: impl Iterator<Item = [DVec3; 3]>) -> Self {
        let none = Self { smallest: 180.0, largest: 0.0 };
        triangles.flat_map(angles_degrees).fold(none, |found, angle| Self {
            smallest: found.smallest.min(angle),
            largest: found.largest.max(angle),
        })
    }
}

impl Work<'_> {
    /// Closes the short edges of needles with a node that has moved; whether there were any that could be.
    pub(super) fn close_needles(&mut self) -> bool {
        let mut any = false;
        for _ in 0..ROUNDS {
            let mut is_touched = vec![false; self.feet.len()];
            let mut closings = Vec::new();
            for triangle in self.needles() {
                let Some(closing) = self.closing(triangle) else { continue };
                let ends = [closing.gone, closing.kept];
                let around: Vec<VertexId> = ends.into_iter().flat_map(|end| self.topology.ring(end)).collect();
                if around.iter().any(|node| is_touched[node.index()]) {
                    continue;
                }
                around.iter().for_each(|node| is_touched[node.index()] = true);
                closings.push(closing);
            }
            if closings.is_empty() {
                break;
            }
            self.close(&closings);
            any = true;
        }
        any
    }

    /// The sharpest first.
    fn needles(&self) -> Vec<TriangleId> {
        let sharp = |at: usize| {
            let corners = self.topology.triangle(TriangleId::new(at));
            let smallest = Spread::of([self.positions_of(corners)].into_iter()).smallest;
            let is_needle = smallest < NEEDLE_DEGREES && corners.iter().any(|corner| self.has_moved(*corner));
            is_needle.then_some((smallest, at))
        };
        let mut found: Vec<(f64, usize)> = (0..self.topology.triangle_count()).filter_map(sharp).collect();
        found.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        found.into_iter().map(|(_, at)| TriangleId::new(at)).collect()
    }

    /// How the shortest edge of a triangle is best closed, if it may be.
    fn closing(&self, triangle: TriangleId) -> Option<Closing> {
        let corners = self.topology.triangle(triangle);
        let at = |corner: usize| self.feet[corners[corner].index()].position;
        let length = |side: usize| at(side).distance_squared(at((side + 1) % 3));
        let side = (0..3).min_by(|&a, &b| length(a).total_cmp(&length(b)))?;
        let ends = [corners[side], corners[(side + 1) % 3]];
        let ways = [ends, [ends[1], ends[0]]].into_iter().filter_map(|[gone, kept]| {
            let closing = Closing { gone, kept, place: self.may_close(gone, kept)? };
            Some((self.gain(&closing)?, closing))
        });
        ways.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, closing)| closing)
    }

    /// Whether a node may give way to another by what borders they lie on, and where the other goes then.
    fn may_close(&self, gone: VertexId, kept: VertexId) -> Option<Placed> {
        let topology = &self.topology;
        let edge = topology.find_edge(gone, kept)?;
        let is_border = topology.is_boundary(edge);
        let common: Vec<VertexId> =
            topology.ring(gone).filter(|&node| topology.ring(kept).any(|other| other == node)).collect();
        let manifold = topology.edge_triangles(edge).len() <= 2 && common.len() == topology.edge_triangles(edge).len();
        // An inner edge that a border node would get to another border node.
        let is_chord = |node: VertexId| {
            topology.is_boundary_vertex(node)
                && topology.find_edge(gone, node).is_some_and(|edge| !topology.is_boundary(edge))
        };
        let makes_chord = topology.is_boundary_vertex(kept)
            && topology.ring(gone).any(|node| node != kept && !common.contains(&node) && is_chord(node));
        if !manifold || makes_chord {
            return None;
        }
        match (self.kinds[gone.index()], self.border_degrees(gone), self.border_degrees(kept)) {
            (Kind::Inner, [0, 0], _) => Some(Placed::Stays),
            (Kind::Border, _, _) if is_border && !self.is_old(edge) => Some(Placed::Stays),
            (Kind::Corner, _, [0, 2]) if is_border && self.is_old(edge) && self.is_straight(gone, kept) => {
                Some(Placed::AtOther)
            }
            _ => None,
        }
    }

    /// Whether an old border stays where it was, nearly, when a node of it goes to a corner beside it.
    fn is_straight(&self, corner: VertexId, node: VertexId) -> bool {
        let at = |node: VertexId| self.feet[node.index()].position;
        let is_next = |&other: &VertexId| {
            let edge = self.topology.find_edge(node, other);
            other != corner && edge.is_some_and(|edge| self.topology.is_boundary(edge))
        };
        let Some(next) = self.topology.ring(node).find(is_next) else { return false };
        let along = point_segment(at(node), at(corner), at(next));
        let chord = at(next) - at(corner);
        at(node).distance(at(corner) + chord * along) <= BORDER_BEND * chord.length()
    }

    /// By how much a closing raises the smallest angle around; none where it makes a triangle wide or turns one over.
    fn gain(&self, closing: &Closing) -> Option<f64> {
        let ends = [closing.gone, closing.kept];
        let mut around: Vec<TriangleId> =
            ends.into_iter().flat_map(|end| self.topology.vertex_triangles(end)).copied().collect();
        around.sort_unstable();
        around.dedup();
        let before = Spread::of(around.iter().map(|&at| self.positions_of(self.topology.triangle(at))));
        let foot = self.place_of(closing);
        let mut left = Vec::new();
        for corners in around.into_iter().map(|at| self.topology.triangle(at)) {
            if ends.iter().all(|end| corners.contains(end)) {
                continue;
            }
            let positions = corners
                .map(|corner| if ends.contains(&corner) { foot } else { self.feet[corner.index()] }.position);
            if quality(positions, self.face_normal(corners)) <= 0.0 {
                return None;
            }
            left.push(positions);
        }
        let after = Spread::of(left.into_iter());
        let is_better = after.smallest > before.smallest && after.largest <= before.largest.max(WIDE_DEGREES);
        is_better.then_some(after.smallest - before.smallest)
    }

    fn place_of(&self, closing: &Closing) -> Foot {
        match closing.place {
            Placed::Stays => self.feet[closing.kept.index()],
            Placed::AtOther => self.feet[closing.gone.index()],
        }
    }

    /// Closes edges whose neighbourhoods have no node in common, and numbers what is left.
    fn close(&mut self, closings: &[Closing]) {
        let mut stands_for: Vec<u32> = (0..self.feet.len() as u32).collect();
        for closing in closings {
            let (gone, kept) = (closing.gone.index(), closing.kept.index());
            stands_for[gone] = closing.kept.0;
            if closing.place == Placed::AtOther {
                self.feet[kept] = self.feet[gone];
                self.rails[kept] = self.rails[gone];
                self.kinds[kept] = Kind::Corner;
                self.order.push(closing.kept.0);
            }
        }
        let is_left: Vec<bool> = stands_for.iter().zip(0..).map(|(&other, node)| other == node).collect();
        let mut count = 0;
        let number: Vec<u32> = is_left.iter().map(|&is| std::mem::replace(&mut count, count + u32::from(is))).collect();
        let renamed = |corner: VertexId| number[stands_for[corner.index()] as usize];
        let triangles: Vec<[u32; 3]> = (self.topology.triangles().iter())
            .map(|corners| corners.map(renamed))
            .filter(|[a, b, c]| a != b && b != c && c != a)
            .collect();
        keep(&mut self.feet, &is_left);
        keep(&mut self.origin, &is_left);
        keep(&mut self.kinds, &is_left);
        keep(&mut self.rails, &is_left);
        self.order.retain(|&node| is_left[node as usize]);
        self.order.iter_mut().for_each(|node| *node = number[*node as usize]);
        self.closed_edges += closings.len();
        self.topology = Topology::new(self.feet.len(), &triangles).expect("closed edges leave a mesh a mesh");
        self.look_over();
    }
}

fn keep<T: Copy>(list: &mut Vec<T>, is_left: &[bool]) {
    *list = list.iter().zip(is_left).filter(|(_, is_left)| **is_left).map(|(item, _)| *item).collect();
}
