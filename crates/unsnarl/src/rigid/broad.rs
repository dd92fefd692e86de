//! Which bodies may meet in a step: boxes around where they are and where they will be, with room to change.
//!
//! Guarantees: every pair whose boxes meet is listed while bodies stay inside the boxes; [`Broad::ensure`] looks again
//! when one does not. Pairs come in the order of the list of bodies.

use super::Kind;
use super::interference::Near;
use super::motion::{Frame, Seen, Step};
use crate::geometry::Aabb;
use crate::geometry::bvh::Bvh;
use rustc_hash::FxHashMap;

/// Room around a body, as a share of its radius.
const ROOM: f64 = 0.02;

/// Pairs of bodies that may meet.
#[derive(Clone, Debug, Default)]
pub(super) struct Broad {
    fat: Vec<Aabb>,
    pairs: Vec<[usize; 2]>,
    /// For each pair, what was near; memory only.
    near: Vec<Near>,
}

impl Broad {
    pub(super) fn pairs(&self) -> &[[usize; 2]] {
        &self.pairs
    }

    /// Pairs, each with what was near.
    pub(super) fn with_near(&mut self) -> (&[[usize; 2]], &mut [Near]) {
        (&self.pairs, &mut self.near)
    }

    /// Lets go of boxes, for a new step.
    pub(super) fn restart(&mut self) {
        self.fat.clear();
    }

    /// Lists pairs anew if a body leaves its box; whether it did so.
    pub(super) fn ensure(&mut self, step: &Step<'_>, seen: &[Seen]) -> bool {
        let bounds = |body: usize, frame: &Frame| frame.bounds(&step.bodies.shape(body).bounds());
        let is_inside = |body: usize| {
            let bounds = bounds(body, &seen[body].then);
            step.bodies.shape(body).is_unbounded()
                || (self.fat[body].contains(bounds.min) && self.fat[body].contains(bounds.max))
        };
        if self.fat.len() == seen.len() && (0..seen.len()).all(is_inside) {
            return false;
        }
        let fat = |body: usize| {
            let shape = step.bodies.shape(body);
            if shape.is_unbounded() {
                return Aabb { min: step.now[body].position, max: step.now[body].position };
            }
            let room = step.slack(body) + ROOM * shape.radius();
            bounds(body, &step.now[body]).union(bounds(body, &seen[body].then)).inflated(room)
        };
        self.fat = (0..seen.len()).map(fat).collect();
        self.list(step);
        true
    }

    fn list(&mut self, step: &Step<'_>) {
        let count = self.fat.len();
        let key = |[a, b]: [usize; 2]| [a.min(b), a.max(b)];
        let near = std::mem::take(&mut self.near).into_iter();
        // What was near belongs to the ordered pair: the order of the list may have changed.
        let kept =
            self.pairs.iter().zip(near).map(|(&[a, b], near)| (key([a, b]), if a < b { near } else { near.swapped() }));
        let mut kept: FxHashMap<[usize; 2], Near> = kept.collect();
        let moves = |body: usize| step.bodies.bodies[body].kind == Kind::Simulated;
        let unbounded = |body: usize| step.bodies.shape(body).is_unbounded();
        let tree = Bvh::build(&self.fat);
        let ordered = |a: usize, b: usize| if step.rank[a] < step.rank[b] { [a, b] } else { [b, a] };
        self.pairs = tree.self_overlaps(|a, b, found| {
            if (moves(a) || moves(b)) && !unbounded(a) && !unbounded(b) && self.fat[a].overlaps(&self.fat[b]) {
                found.push(ordered(a, b));
            }
        });
        for wide in (0..count).filter(|&body| unbounded(body)) {
            self.pairs.extend((0..count).filter(|&body| moves(body)).map(|body| ordered(wide, body)));
        }
        self.pairs.sort_unstable_by_key(|&[a, b]| (step.rank[a], step.rank[b]));
        self.pairs.dedup();
        let take = |&[a, b]: &[usize; 2]| {
            let near = kept.remove(&key([a, b])).unwrap_or_default();
            if a < b { near } else { near.swapped() }
        };
        self.near = self.pairs.iter().map(take).collect();
    }
}
