//! The stop rule of refinement: vertices move from where they are to their targets, and what would collide stops
//! before it.
//!
//! Every vertex has a share of its way, at first all of it. Pairs without a common vertex that would come nearer than
//! the separation have the shares of their vertices lowered to a part of the time of contact, and what has changed is
//! looked at again, until nothing collides. (Bridson 2003, 3.2: "as if they had inelastically collided")
//!
//! Guarantees: no pair that was apart at the start meets on the way; vertices of no such pair reach their target bit
//! for bit. It ends: shares only fall, at most nine times each, and with all shares at 0 everything is at its start.
//! The same on any number of threads: a vertex takes the least share that a pair asks for. Bodies are pairs like any
//! other, but do not move.
//! Does not: part pairs that meet at the start; they are left out and counted.
//! Departs: a pair that starts nearer than twice the separation keeps half of its distance instead, which is what
//! halving the separation at every level comes to; so neither the smallest gap nor the shortest altitude has to be
//! known.

use super::ladder::Rung;
use crate::geometry::ccd::{self, ElementPair, ElementTree, Motion};
use crate::geometry::{DVec3, Topology, TriangleId, VertexId};

/// Stopped vertices keep this part of the time until contact.
const SAFETY: f64 = 0.9;
/// A vertex that was stopped more often stays at its start.
const HALVINGS: u8 = 8;
/// Gaps below this part of the elements' size are too small to be halved; crossing itself is then decided exactly.
const SMALLEST_GAP: f64 = 1e-11;

/// Where everything stops.
#[derive(Clone, Debug, Default)]
pub(super) struct Stopped {
    /// Positions at the end; `None` where everything reaches its target.
    pub end: Option<Vec<DVec3>>,
    /// Vertices that other cloth stopped, or their own.
    pub by_cloth: usize,
    /// Vertices that a body stopped.
    pub by_bodies: usize,
    /// Looks at what collides.
    pub rounds: usize,
    /// Pairs that collided, over all rounds.
    pub contacts: usize,
    /// Pairs that met at the start.
    pub left_out: usize,
}

/// A pair that collides, with no contact before the time.
#[derive(Clone, Copy, Debug)]
enum Finding {
    Collides(ElementPair, f64),
    LeftOut,
}

/// What stopped a vertex last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Nothing,
    Cloth,
    Body,
}

/// Moves all vertices of a level from `start` towards `targets`. Vertices of bodies have their place as target.
pub(super) fn stop_before_contact(rung: &Rung, start: &[DVec3], targets: &[DVec3], separation: f64) -> Stopped {
    let topology = rung.assembly.topology();
    let cloth_count = rung.cloth_count();
    let tree = ElementTree::build(topology, &rung.ownership, Motion { start, end: targets }, 0.5 * separation);
    let scene = Scene { topology, cloth_count, start, separation };
    let is_cloth = |triangle: TriangleId| topology.triangle(triangle)[0].index() < cloth_count;
    let mut found = tree.candidates_of(is_cloth, |pair, out| scene.examine(pair, targets, out));
    let mut stopped = Stopped { rounds: 1, ..Stopped::default() };
    stopped.left_out = found.iter().filter(|finding| matches!(finding, Finding::LeftOut)).count();
    found.retain(|finding| matches!(finding, Finding::Collides(..)));
    if found.is_empty() {
        return stopped;
    }
    let mut end = targets.to_vec();
    let mut ways = Ways::new(cloth_count);
    while !found.is_empty() {
        let changed = ways.lower(&scene, &found);
        stopped.contacts += found.len();
        if changed.is_empty() {
            break;
        }
        let mut is_changed = vec![false; cloth_count];
        let mut is_active = vec![false; topology.triangle_count()];
        for &vertex in &changed {
            let at = vertex.index();
            end[at] = start[at] + ways.shares[at] * (targets[at] - start[at]);
            is_changed[at] = true;
            topology.vertex_triangles(vertex).iter().for_each(|triangle| is_active[triangle.index()] = true);
        }
        let moves = |vertex: &VertexId| is_changed.get(vertex.index()).is_some_and(|&is| is);
        // Ways only get shorter: the boxes of the whole ways still hold them.
        found = tree.candidates_of(
            |triangle| is_active[triangle.index()],
            |pair, out| {
                if pair.vertices(topology).iter().any(moves) {
                    scene.examine(pair, &end, out);
                }
            },
        );
        found.retain(|finding| matches!(finding, Finding::Collides(..)));
        stopped.rounds += 1;
    }
    let by = |cause: Cause| ways.causes.iter().filter(|&&own| own == cause).count();
    Stopped { by_cloth: by(Cause::Cloth), by_bodies: by(Cause::Body), end: Some(end), ..stopped }
}

/// What does not change from round to round.
struct Scene<'a> {
    topology: &'a Topology,
    cloth_count: usize,
    start: &'a [DVec3],
    separation: f64,
}

impl Scene<'_> {
    /// Looks at one pair on the way to `end`.
    fn examine(&self, pair: ElementPair, end: &[DVec3], out: &mut Vec<Finding>) {
        let vertices = pair.vertices(self.topology);
        if vertices.iter().all(|vertex| vertex.index() >= self.cloth_count) {
            return;
        }
        let motion = Motion { start: self.start, end };
        let Some(mut time) = pair.first_contact(self.topology, motion, self.separation) else { return };
        let points = vertices.map(|vertex| self.start[vertex.index()]);
        let gap = match pair {
            ElementPair::VertexTriangle(..) => ccd::vertex_triangle_gap(points).offset.length(),
            ElementPair::EdgeEdge(..) => ccd::edge_edge_gap(points).offset.length(),
        };
        if 0.5 * gap < self.separation {
            let size = (points[1] - points[0]).length().max((points[2] - points[0]).length());
            let separation = if gap < SMALLEST_GAP * size { 0.0 } else { 0.5 * gap };
            let at_rest = Motion::at_rest(self.start);
            if separation == 0.0 && pair.first_contact(self.topology, at_rest, 0.0).is_some() {
                out.push(Finding::LeftOut);
                return;
            }
            match pair.first_contact(self.topology, motion, separation) {
                None => return,
                Some(later) => time = later,
            }
        }
        out.push(Finding::Collides(pair, time));
    }
}

/// How far vertices of cloth go.
struct Ways {
    /// The part of the way that is left.
    shares: Vec<f64>,
    /// How often it was lowered.
    lowered: Vec<u8>,
    causes: Vec<Cause>,
    /// In this round: the least part of its share that a pair leaves to a vertex.
    least: Vec<f64>,
}

impl Ways {
    fn new(cloth_count: usize) -> Self {
        Self {
            shares: vec![1.0; cloth_count],
            lowered: vec![0; cloth_count],
            causes: vec![Cause::Nothing; cloth_count],
            least: vec![1.0; cloth_count],
        }
    }

    /// Lowers the shares of what collides; the vertices whose share has changed, sorted.
    fn lower(&mut self, scene: &Scene, found: &[Finding]) -> Vec<VertexId> {
        let mut changed: Vec<VertexId> = Vec::new();
        for finding in found {
            let &Finding::Collides(pair, time) = finding else { continue };
            let vertices = pair.vertices(scene.topology);
            let is_cloth = |vertex: &&VertexId| vertex.index() < scene.cloth_count;
            let cause = if vertices.iter().all(|vertex| is_cloth(&vertex)) { Cause::Cloth } else { Cause::Body };
            for &vertex in vertices.iter().filter(is_cloth) {
                let at = vertex.index();
                if self.shares[at] > 0.0 {
                    self.least[at] = self.least[at].min(SAFETY * time);
                    // A body outranks cloth, so that the count does not depend on the order of pairs.
                    if self.causes[at] != Cause::Body {
                        self.causes[at] = cause;
                    }
                    changed.push(vertex);
                }
            }
        }
        changed.sort_unstable();
        changed.dedup();
        for vertex in &changed {
            let at = vertex.index();
            self.lowered[at] += 1;
            self.shares[at] = if self.lowered[at] > HALVINGS { 0.0 } else { self.shares[at] * self.least[at] };
            self.least[at] = 1.0;
        }
        changed
    }
}
