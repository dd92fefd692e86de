//! The stop rule of refinement: vertices move from where they are to their targets, and what would collide stops
//! before it.
//!
//! Every vertex has a share of its way, at first all of it. Pairs without a common vertex that would come nearer than
//! the separation have the shares of their vertices lowered to a part of the time of contact, and what has changed is
//! looked at again, until nothing collides. What was stopped then slides on along what stopped it ([`super::slide`]),
//! by the same rule, and at last what surrounds stopped vertices follows them ([`super::ease`]). (Bridson 2003, 3.2:
//! "as if they had inelastically collided")
//!
//! Motions are looked at beyond their end ([`Room::reach`]), and a vertex whose motion would collide there keeps that
//! part of its gap for later levels, which go on in the same direction.
//!
//! Guarantees: no pair that was apart at the start meets on the way; vertices of no such pair reach their target bit
//! for bit, but where they surround stopped ones. It ends: shares only fall, at most nine times each, and with all
//! shares at 0 everything is at its start. The same on any number of threads: a vertex takes the least share that a
//! pair asks for. Bodies are pairs like any other, but do not move.
//! Does not: part pairs that meet at the start; they are left out and counted.
//! Departs: a pair that starts nearer than twice the separation keeps half of its distance instead, which is what
//! halving the separation at every level comes to; so neither the smallest gap nor the shortest altitude has to be
//! known. The look beyond the end is ours.

use super::ease::eased;
use super::ladder::Rung;
use super::slide::slid;
use crate::geometry::ccd::{self, ElementPair, LeanElementTree, Motion};
use crate::geometry::{DVec3, Topology, TriangleId, VertexId};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Stopped vertices keep this part of the time until contact.
const SAFETY: f64 = 0.9;
/// A vertex that was stopped more often stays at its start.
const HALVINGS: u8 = 8;
/// How often stopped vertices slide on.
const SLIDES: usize = 3;
/// Gaps below this part of the elements' size are too small to be halved; crossing itself is then decided exactly.
const SMALLEST_GAP: f64 = 1e-11;

/// The room that a level leaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Room {
    /// Distance that no pair goes below, metres; pairs that start nearer than twice that keep half of theirs.
    pub separation: f64,
    /// How far ahead motions are looked at, as a multiple of their length: what goes beyond 1 is left to later levels.
    pub reach: f64,
}

/// What vertices around stopped ones do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Surroundings {
    /// They go a part of the way with them ([`super::ease`]).
    Follow,
    /// They reach their targets.
    Stay,
}

/// Where everything stops.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stopped {
    /// Positions at the end; `None` where everything reaches its target.
    pub end: Option<Vec<DVec3>>,
    /// Vertices that other cloth stopped, or their own.
    pub by_cloth: usize,
    /// Vertices that a body stopped.
    pub by_bodies: usize,
    /// Vertices that went with stopped ones.
    pub eased: usize,
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

impl Finding {
    fn pair(&self) -> Option<ElementPair> {
        if let Self::Collides(pair, _) = *self { Some(pair) } else { None }
    }
}

/// What stopped a vertex last. A body outranks cloth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    Cloth,
    Body,
}

/// Moves all vertices of a level from `start` towards `targets`. Vertices of bodies have their place as target.
///
/// Positions are most of what it needs memory for: starts are let go as soon as nothing is there any more, and what
/// slides on or follows is listed vertex by vertex.
pub(crate) fn stop_before_contact(
    rung: &Rung,
    (start, targets): (Vec<DVec3>, &[DVec3]),
    room: Room,
    surroundings: Surroundings,
) -> Stopped {
    let topology = rung.assembly.topology();
    let mut scene = Scene { rung, topology, cloth_count: rung.cloth_count(), room, tree: None };
    let is_cloth = |triangle: TriangleId| topology.triangle(triangle)[0].index() < rung.cloth_count();
    let first = scene.sweep(&start, Goals::Of(targets), is_cloth);
    let mut stopped =
        Stopped { rounds: first.rounds, contacts: first.pairs.len(), left_out: first.left_out, ..Stopped::default() };
    if first.ways.is_empty() {
        return stopped;
    }
    let mut pairs = first.pairs;
    let mut causes: BTreeMap<VertexId, Cause> = first.ways.causes().collect();
    let mut end = start;
    first.ways.go(&mut end, Goals::Of(targets));
    for _ in 0..SLIDES {
        pairs.sort_unstable();
        pairs.dedup();
        let goals = slid(topology, scene.cloth_count, &pairs, Motion { start: &end, end: targets });
        if goals.is_empty() {
            break;
        }
        let sweep = scene.sweep_some(&end, &goals);
        stopped.rounds += sweep.rounds;
        stopped.contacts += sweep.pairs.len();
        pairs.extend(sweep.pairs);
        for (vertex, cause) in sweep.ways.causes() {
            let own = causes.entry(vertex).or_insert(cause);
            *own = cause.max(*own);
        }
        sweep.ways.go(&mut end, Goals::Some(&goals));
    }
    for (&vertex, &cause) in &causes {
        if end[vertex.index()] != targets[vertex.index()] {
            stopped.by_cloth += usize::from(cause == Cause::Cloth);
            stopped.by_bodies += usize::from(cause == Cause::Body);
        }
    }
    if surroundings == Surroundings::Follow {
        let goals = eased(topology, scene.cloth_count, &end, targets);
        if !goals.is_empty() {
            let sweep = scene.sweep_some(&end, &goals);
            stopped.rounds += sweep.rounds;
            sweep.ways.go(&mut end, Goals::Some(&goals));
            let is_off = |vertex: &usize| end[*vertex] != targets[*vertex];
            stopped.eased =
                (0..scene.cloth_count).filter(is_off).count().saturating_sub(stopped.by_cloth + stopped.by_bodies);
        }
    }
    Stopped { end: Some(end), ..stopped }
}

/// Where vertices want to go.
#[derive(Clone, Copy)]
enum Goals<'a> {
    /// Every vertex to its own place.
    Of(&'a [DVec3]),
    /// These, sorted; all others stay.
    Some(&'a [(VertexId, DVec3)]),
}

impl Goals<'_> {
    /// The goal of a vertex that has one.
    fn of(&self, vertex: VertexId) -> Option<DVec3> {
        match self {
            Self::Of(all) => Some(all[vertex.index()]),
            Self::Some(few) => few.binary_search_by_key(&vertex, |&(own, _)| own).ok().map(|at| few[at].1),
        }
    }
}

/// One level, and the tree that is fitted to one motion after the other.
struct Scene<'a> {
    rung: &'a Rung,
    topology: &'a Topology,
    cloth_count: usize,
    room: Room,
    tree: Option<LeanElementTree<'a>>,
}

/// One motion, stopped where it has to be.
struct Sweep {
    /// What was stopped; empty where everything reaches its goal.
    ways: Ways,
    /// What collided, round after round.
    pairs: Vec<ElementPair>,
    rounds: usize,
    left_out: usize,
}

impl<'a> Scene<'a> {
    /// As [`Scene::sweep`], for the triangles around some vertices.
    fn sweep_some(&mut self, start: &[DVec3], goals: &[(VertexId, DVec3)]) -> Sweep {
        let mut may_move = vec![false; self.topology.triangle_count()];
        for &(vertex, _) in goals {
            self.topology.vertex_triangles(vertex).iter().for_each(|triangle| may_move[triangle.index()] = true);
        }
        self.sweep(start, Goals::Some(goals), |triangle| may_move[triangle.index()])
    }

    /// Follows a motion as far as nothing collides, and keeps room to go on: the motion is looked at as far as `reach`
    /// times its length, and vertices go as large a part of their own way as they could of that. Only triangles that
    /// may move are active.
    fn sweep(&mut self, start: &[DVec3], goals: Goals, may_move: impl Fn(TriangleId) -> bool) -> Sweep {
        let (topology, reach) = (self.topology, self.room.reach);
        let beyond = |start: DVec3, goal: DVec3| start + reach * (goal - start);
        let mut far: Vec<DVec3> = match goals {
            Goals::Of(all) => start.par_iter().zip(all).map(|(&start, &goal)| beyond(start, goal)).collect(),
            Goals::Some(few) => {
                let mut far = start.to_vec();
                few.iter().for_each(|&(vertex, goal)| far[vertex.index()] = beyond(start[vertex.index()], goal));
                far
            }
        };
        let margin = 0.5 * self.room.separation;
        let whole = Motion { start, end: &far };
        match &mut self.tree {
            Some(tree) => tree.refit(whole, margin),
            None => self.tree = Some(LeanElementTree::build(topology, &self.rung.ownership, whole, margin)),
        }
        let mut sweep = Sweep { ways: Ways::default(), pairs: Vec::new(), rounds: 1, left_out: 0 };
        let Some(tree) = &self.tree else { return sweep };
        let mut found = tree.candidates_of(may_move, |pair, out| self.examine(pair, whole, out));
        sweep.left_out = found.iter().filter(|finding| matches!(finding, Finding::LeftOut)).count();
        found.retain(|finding| matches!(finding, Finding::Collides(..)));
        while !found.is_empty() {
            let changed = sweep.ways.lower(self, &found);
            sweep.pairs.extend(found.iter().filter_map(Finding::pair));
            if changed.is_empty() {
                break;
            }
            let mut is_changed = vec![false; self.cloth_count];
            let mut is_active = vec![false; topology.triangle_count()];
            for &vertex in &changed {
                let at = vertex.index();
                let goal = goals.of(vertex).unwrap_or(start[at]);
                far[at] = start[at] + (reach * sweep.ways.share(vertex)) * (goal - start[at]);
                is_changed[at] = true;
                topology.vertex_triangles(vertex).iter().for_each(|triangle| is_active[triangle.index()] = true);
            }
            let moves = |vertex: &VertexId| is_changed.get(vertex.index()).is_some_and(|&is| is);
            let shorter = Motion { start, end: &far };
            // Ways only get shorter: the boxes of the whole ways still hold them.
            found = tree.candidates_of(
                |triangle| is_active[triangle.index()],
                |pair, out| {
                    if pair.vertices(topology).iter().any(moves) {
                        self.examine(pair, shorter, out);
                    }
                },
            );
            found.retain(|finding| matches!(finding, Finding::Collides(..)));
            sweep.rounds += 1;
        }
        sweep
    }

    /// Looks at one pair on its way.
    fn examine(&self, pair: ElementPair, motion: Motion, out: &mut Vec<Finding>) {
        let vertices = pair.vertices(self.topology);
        if vertices.iter().all(|vertex| vertex.index() >= self.cloth_count) {
            return;
        }
        let Some(mut time) = pair.first_contact(self.topology, motion, self.room.separation) else { return };
        let points = vertices.map(|vertex| motion.start[vertex.index()]);
        let gap = match pair {
            ElementPair::VertexTriangle(..) => ccd::vertex_triangle_gap(points).offset.length(),
            ElementPair::EdgeEdge(..) => ccd::edge_edge_gap(points).offset.length(),
        };
        if 0.5 * gap < self.room.separation {
            let size = (points[1] - points[0]).length().max((points[2] - points[0]).length());
            let separation = if gap < SMALLEST_GAP * size { 0.0 } else { 0.5 * gap };
            let at_rest = Motion::at_rest(motion.start);
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

/// How far the vertices go that something stopped.
#[derive(Default)]
struct Ways {
    stopped: BTreeMap<VertexId, Way>,
}

/// The way of one vertex.
struct Way {
    /// The part of it that is left.
    share: f64,
    /// How often it was lowered.
    lowered: u8,
    cause: Cause,
    /// In this round: the least part of its share that a pair leaves to it.
    least: f64,
}

impl Ways {
    /// Lowers the shares of what collides; the vertices whose share has changed, sorted.
    fn lower(&mut self, scene: &Scene, found: &[Finding]) -> Vec<VertexId> {
        let mut changed: Vec<VertexId> = Vec::new();
        for finding in found {
            let &Finding::Collides(pair, time) = finding else { continue };
            let vertices = pair.vertices(scene.topology);
            let is_cloth = |vertex: &&VertexId| vertex.index() < scene.cloth_count;
            let cause = if vertices.iter().all(|vertex| is_cloth(&vertex)) { Cause::Cloth } else { Cause::Body };
            for &vertex in vertices.iter().filter(is_cloth) {
                let new = Way { share: 1.0, lowered: 0, cause, least: 1.0 };
                let way = self.stopped.entry(vertex).or_insert(new);
                if way.share > 0.0 {
                    way.least = way.least.min(SAFETY * time);
                    way.cause = way.cause.max(cause);
                    changed.push(vertex);
                }
            }
        }
        changed.sort_unstable();
        changed.dedup();
        for vertex in &changed {
            if let Some(way) = self.stopped.get_mut(vertex) {
                way.lowered += 1;
                way.share = if way.lowered > HALVINGS { 0.0 } else { way.share * way.least };
                way.least = 1.0;
            }
        }
        changed
    }

    fn share(&self, vertex: VertexId) -> f64 {
        self.stopped.get(&vertex).map_or(1.0, |way| way.share)
    }

    fn is_empty(&self) -> bool {
        self.stopped.is_empty()
    }

    fn causes(&self) -> impl Iterator<Item = (VertexId, Cause)> + '_ {
        self.stopped.iter().map(|(&vertex, way)| (vertex, way.cause))
    }

    /// Takes vertices from where they are to their goals, or as far as their ways are free.
    fn go(&self, positions: &mut [DVec3], goals: Goals) {
        let stopped = self.stopped.iter().filter_map(|(&vertex, way)| {
            let (start, goal) = (positions[vertex.index()], goals.of(vertex)?);
            Some((vertex, start + way.share * (goal - start)))
        });
        let stopped: Vec<(VertexId, DVec3)> = stopped.collect();
        match goals {
            Goals::Of(all) => positions.copy_from_slice(all),
            Goals::Some(few) => few.iter().for_each(|&(vertex, goal)| positions[vertex.index()] = goal),
        }
        stopped.into_iter().for_each(|(vertex, position)| positions[vertex.index()] = position);
    }
}
