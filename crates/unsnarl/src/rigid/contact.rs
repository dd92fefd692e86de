//! Contact: impulses on the new velocities that end approach, level by level, little by little.
//!
//! Points are watched from their predicted gaps; velocities that change move those gaps to first order, and where
//! bodies leave what was foreseen points are looked for again. Groups of bodies that touch (islands) do not know of
//! each other and go in parallel; within one, the order of the list decides. (Bridson 2003, 4.8)
//!
//! Guarantees: impulses press and stay in the cone of friction, in sum over the step. The same bits on any number of
//! threads.
//! Departs: a point may take back what it gave in this step, so that a block with four corners comes to rest exactly;
//! points that only ever push leave it rocking.

use super::Kind;
use super::broad::Broad;
use super::collide::Collided;
use super::contact_graph::Levels;
use super::interference::{Near, Point, View, points};
use super::motion::{Frame, Moving, Step};
use super::response::{compliance, widest};
use super::rolling::{CoupleCompliance, CoupleLengths};
use super::settings::{Stopping, Switch};
use crate::geometry::DVec3;
use crate::geometry::math::DMat3;
use rayon::prelude::*;

/// Points of a pair that contact watches at most.
const POINTS: usize = 16;

/// A sweep that changes velocities by less than this share of the largest change is the last.
const SETTLED: f64 = 1e-3;

/// A point and what it has done so far.
#[derive(Clone, Debug)]
pub(super) struct Contact {
    pub point: Point,
    /// The sum of impulses on the first body.
    impulse: DVec3,
    couple: DVec3,
    k: DMat3,
    k_inverse: DMat3,
    k_normal: f64,
    k_widest: f64,
    couples: Option<CoupleCompliance>,
}

/// Two bodies that touch; numbers are those of the island once it is there.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub global: [usize; 2],
    pub local: [usize; 2],
    pub level: u32,
    pub contacts: Vec<Contact>,
    friction: f64,
    lengths: CoupleLengths,
    /// When it was looked at last, and whether that changed anything.
    seen: u64,
    has_changed: bool,
    /// Whether the first body would fall into the second, and the other way round.
    falls: [bool; 2],
}

/// The velocity and spin for which points of a body were looked for, and how far it may end from there.
#[derive(Clone, Copy, Debug)]
struct Expected {
    velocity: DVec3,
    spin: DVec3,
    slack: f64,
}

/// Bodies that touch each other, with all they touch.
#[derive(Debug, Default)]
pub(super) struct Island {
    pub bodies: Vec<usize>,
    pub moving: Vec<Moving>,
    /// What points were looked for with.
    expected: Vec<Expected>,
    /// In the order of levels, then of the list.
    pub pairs: Vec<Pair>,
    changed_at: Vec<u64>,
    clock: u64,
    largest_change: f64,
    /// The largest change of velocity in this sweep.
    change: f64,
    pub impulses: usize,
}

/// All islands of a step.
pub(super) struct Contacts {
    pub islands: Vec<Island>,
    pub levels: Levels,
    /// Impulses of islands that are no more.
    impulses: usize,
}

impl Contacts {
    /// Finds points, levels and islands for the velocities of the step.
    ///
    /// What collisions found is used again for bodies that did not change since.
    pub(super) fn find(step: &Step<'_>, broad: &mut Broad, collided: Option<Collided>) -> Self {
        let pairs = find_pairs(step, broad, Source::Collisions(collided));
        let count = step.moving.len();
        let is_fixed = |body: usize| step.bodies.bodies[body].kind != Kind::Simulated;
        let levels = match step.settings.contact_graph {
            Switch::Off => Levels::flat(count, is_fixed),
            Switch::On => {
                let edge = |pair: &Pair| {
                    let [a, b] = pair.global;
                    let [first, second] = pair.falls;
                    [(first && !is_fixed(a)).then_some([b, a]), (second && !is_fixed(b)).then_some([a, b])]
                };
                let edges: Vec<[usize; 2]> = pairs.iter().flat_map(edge).flatten().collect();
                Levels::of(count, &edges, is_fixed)
            }
        };
        Self { islands: islands(step, pairs, &levels), levels, impulses: 0 }
    }

    /// All sweeps; velocities of the step are those afterwards. Returns the impulses.
    pub(super) fn sweep(&mut self, step: &mut Step<'_>, broad: &mut Broad) -> usize {
        let sweeps = step.settings.contact_sweeps;
        let all = if sweeps == 0 { 0 } else { sweeps + step.settings.settling_sweeps };
        for sweep in 1..=all {
            let share = match step.settings.stopping {
                Stopping::Gradual => (sweep as f64 / sweeps as f64).min(1.0),
                Stopping::AtOnce => 1.0,
            };
            let (look, settings) = (step.look, step.settings);
            self.islands.par_iter_mut().for_each(|island| {
                if sweep > sweeps && island.is_settled() {
                    return;
                }
                island.start_sweep(look);
                for range in island.level_ranges() {
                    island.passes(range, share, look, settings.passes, settings.tolerance);
                }
            });
            self.store(step);
            if sweep >= sweeps && self.islands.iter().all(Island::is_settled) {
                break;
            }
            if sweep < all {
                self.look_again(step, broad);
            }
        }
        self.impulses + self.islands.iter().map(|island| island.impulses).sum::<usize>()
    }

    /// Copies velocities out of the islands.
    pub(super) fn store(&self, step: &mut Step<'_>) {
        for island in &self.islands {
            for (&body, moving) in island.bodies.iter().zip(&island.moving) {
                let kept = &mut step.moving[body];
                (kept.velocity, kept.spin, kept.momentum) = (moving.velocity, moving.spin, moving.momentum);
            }
        }
    }

    /// Looks for points again where bodies moved off what was expected.
    fn look_again(&mut self, step: &Step<'_>, broad: &mut Broad) {
        let is_off = |body: usize, moving: &Moving, expected: &Expected| {
            let shape = step.bodies.shape(body);
            let reach = if shape.is_unbounded() { 0.0 } else { shape.radius() };
            let turn = (moving.spin - expected.spin).length() * reach;
            let change = (moving.velocity - expected.velocity).length() + turn;
            change * step.look > expected.slack
        };
        let mut off = vec![false; step.moving.len()];
        let mut before: Vec<Option<Expected>> = vec![None; step.moving.len()];
        for island in &self.islands {
            for ((&body, moving), expected) in island.bodies.iter().zip(&island.moving).zip(&island.expected) {
                off[body] = moving.inverse_mass > 0.0 && is_off(body, moving, expected);
                before[body] = (!off[body]).then_some(*expected);
            }
        }
        if !off.contains(&true) {
            return;
        }
        self.impulses += self.islands.iter().map(|island| island.impulses).sum::<usize>();
        let mut known: Vec<Pair> = self.islands.drain(..).flat_map(|island| island.pairs).collect();
        known.sort_unstable_by_key(|pair| pair.global.map(|body| step.rank[body]));
        let pairs = find_pairs(step, broad, Source::Known(known, off));
        self.islands = islands(step, pairs, &self.levels);
        // Points of the others were not looked for again.
        for island in &mut self.islands {
            for (&body, expected) in island.bodies.iter().zip(&mut island.expected) {
                *expected = before[body].unwrap_or(*expected);
            }
        }
    }
}

/// What is known of points before they are looked for.
enum Source {
    /// What collisions found, if they looked.
    Collisions(Option<Collided>),
    /// Pairs of this stage in the order of the list, and the bodies that moved off what was expected.
    Known(Vec<Pair>, Vec<bool>),
}

/// Points of all pairs. Those of bodies that did as expected are kept.
fn find_pairs(step: &Step<'_>, broad: &mut Broad, source: Source) -> Vec<Pair> {
    let then: Vec<Frame> = (0..step.moving.len()).map(|body| step.ahead(body, (DVec3::ZERO, DVec3::ZERO))).collect();
    let is_new = broad.ensure(step, &then);
    let key = |pair: [usize; 2]| pair.map(|body| step.rank[body]);
    let of = |at: usize, [a, b]: [usize; 2], near: &mut Near| {
        let old = match &source {
            Source::Collisions(_) => None,
            Source::Known(known, _) => {
                known.binary_search_by_key(&key([a, b]), |pair| key(pair.global)).ok().map(|at| &known[at])
            }
        };
        let kept = match &source {
            Source::Known(_, off) if !off[a] && !off[b] => return old.cloned(),
            Source::Collisions(Some(found)) if !is_new && !found.is_off[a] && !found.is_off[b] => {
                Some(&found.points[at])
            }
            _ => None,
        };
        let moving = [&step.moving[a], &step.moving[b]];
        let look = |near| {
            let margin = step.slack(a) + step.slack(b);
            points(step, [View::of(step, &then, a), View::of(step, &then, b)], margin, near)
        };
        let mut found = kept.cloned().unwrap_or_else(|| look(near));
        let falls = [0, 1].map(|side| found.iter().any(|point| point.falls[side]));
        thin_out(&mut found);
        let lengths = couple_lengths(step, [a, b]);
        let mut contacts: Vec<Contact> = found.into_iter().map(|point| Contact::new(point, moving, lengths)).collect();
        for contact in old.iter().flat_map(|pair| &pair.contacts).filter(|contact| contact.impulse != DVec3::ZERO) {
            match contacts.iter_mut().find(|new| new.point.key == contact.point.key) {
                Some(new) => (new.impulse, new.couple) = (contact.impulse, contact.couple),
                None => contacts.push(contact.clone()),
            }
        }
        (!contacts.is_empty()).then(|| Pair { falls, ..Pair::new(step, [a, b], contacts) })
    };
    let (pairs, near) = broad.with_near();
    let all = pairs.par_iter().zip(near).enumerate().with_min_len(16);
    all.filter_map(|(at, (&pair, near))| of(at, pair, near)).collect()
}

/// Keeps the deepest point and those farthest from each other, in place and direction.
fn thin_out(points: &mut Vec<Point>) {
    if points.len() <= POINTS {
        return;
    }
    let size_squared = points.iter().map(|point| point.arms[0].distance_squared(points[0].arms[0])).fold(0.0, f64::max);
    let apart = |k: &Point, l: &Point| {
        let way = k.arms[0].distance_squared(l.arms[0]) / size_squared.max(f64::MIN_POSITIVE);
        // Points that only come near count less than those that meet.
        (way + k.normal.distance_squared(l.normal)) * if k.gap < 0.0 { 1.0 } else { 0.1 }
    };
    let first = (0..points.len()).min_by(|&k, &l| points[k].gap.total_cmp(&points[l].gap)).unwrap_or(0);
    let mut least: Vec<f64> = points.iter().map(|point| apart(point, &points[first])).collect();
    let mut chosen = vec![first];
    while chosen.len() < POINTS {
        let next = (0..points.len()).max_by(|&k, &l| least[k].total_cmp(&least[l])).unwrap_or(0);
        chosen.push(next);
        for (least, point) in least.iter_mut().zip(points.iter()) {
            *least = least.min(apart(point, &points[next]));
        }
    }
    chosen.sort_unstable();
    chosen.dedup();
    *points = chosen.into_iter().map(|at| points[at]).collect();
}

/// Groups pairs by the bodies that they connect; what does not move connects nothing.
fn islands(step: &Step<'_>, pairs: Vec<Pair>, levels: &Levels) -> Vec<Island> {
    let count = step.moving.len();
    let moves = |body: usize| step.moving[body].inverse_mass > 0.0;
    let mut root: Vec<usize> = (0..count).collect();
    fn find(root: &mut [usize], mut body: usize) -> usize {
        while root[body] != body {
            root[body] = root[root[body]];
            body = root[body];
        }
        body
    }
    for [a, b] in pairs.iter().map(|pair| pair.global).filter(|&[a, b]| moves(a) && moves(b)) {
        let [a, b] = [find(&mut root, a), find(&mut root, b)];
        root[a.max(b)] = a.min(b);
    }
    let mut place = vec![usize::MAX; count];
    let mut islands: Vec<Island> = Vec::new();
    let mut members: Vec<Vec<Pair>> = Vec::new();
    for pair in pairs {
        let mover = if moves(pair.global[0]) { pair.global[0] } else { pair.global[1] };
        let root = find(&mut root, mover);
        if place[root] == usize::MAX {
            place[root] = members.len();
            members.push(Vec::new());
        }
        members[place[root]].push(pair);
    }
    let mut local = vec![usize::MAX; count];
    for mut pairs in members {
        let mut island = Island::default();
        for pair in &mut pairs {
            pair.level = pair.global.map(|body| levels.level[body]).into_iter().max().unwrap_or(1);
            pair.local = pair.global.map(|body| {
                if local[body] == usize::MAX {
                    local[body] = island.bodies.len();
                    island.bodies.push(body);
                }
                local[body]
            });
        }
        pairs.sort_by_key(|pair| pair.level);
        island.bodies.iter().for_each(|&body| local[body] = usize::MAX);
        island.moving = island.bodies.iter().map(|&body| step.moving[body]).collect();
        let expected = |&body: &usize| {
            let Moving { velocity, spin, .. } = step.moving[body];
            Expected { velocity, spin, slack: step.slack(body) }
        };
        island.expected = island.bodies.iter().map(expected).collect();
        island.changed_at = vec![0; island.bodies.len()];
        // Nothing is settled before a sweep.
        island.change = f64::INFINITY;
        island.pairs = pairs;
        islands.push(island);
    }
    islands
}

impl Pair {
    fn new(step: &Step<'_>, global: [usize; 2], contacts: Vec<Contact>) -> Self {
        let [a, b] = global.map(|body| &step.bodies.bodies[body]);
        let lengths = couple_lengths(step, global);
        let friction = a.friction.max(b.friction);
        Self {
            global,
            local: global,
            level: 1,
            contacts,
            friction,
            lengths,
            seen: 0,
            has_changed: true,
            falls: [false; 2],
        }
    }
}

fn couple_lengths(step: &Step<'_>, pair: [usize; 2]) -> CoupleLengths {
    let [a, b] = pair.map(|body| &step.bodies.bodies[body]);
    CoupleLengths { rolling: a.rolling.max(b.rolling), spinning: a.spinning.max(b.spinning) }
}

impl Island {
    /// Takes the masses of the bodies of a pair as they are now.
    pub(super) fn prepare(&mut self, pair: usize) {
        let pair = &mut self.pairs[pair];
        let moving = pair.local.map(|body| &self.moving[body]);
        pair.contacts.iter_mut().for_each(|contact| contact.prepare(moving, pair.lengths));
    }

    /// Ranges of pairs of one level each.
    pub(super) fn level_ranges(&self) -> Vec<std::ops::Range<usize>> {
        let mut first = 0;
        self.pairs
            .chunk_by(|a, b| a.level == b.level)
            .map(|chunk| {
                first += chunk.len();
                first - chunk.len()..first
            })
            .collect()
    }

    /// Whether the last sweep changed little; the rest is left to shock propagation.
    fn is_settled(&self) -> bool {
        self.change <= SETTLED * self.largest_change
    }

    /// Points in the order of depth, and everything is to be looked at.
    pub(super) fn start_sweep(&mut self, look: f64) {
        self.change = 0.0;
        for pair in &mut self.pairs {
            pair.has_changed = true;
            let [a, b] = pair.local.map(|body| &self.moving[body]);
            let gap = |contact: &Contact| contact.gap(contact.relative([a, b]).dot(contact.point.normal), look);
            pair.contacts.sort_by(|k, l| gap(k).total_cmp(&gap(l)));
        }
    }

    /// Passes over the pairs of a level until nothing changes any more.
    pub(super) fn passes(
        &mut self,
        range: std::ops::Range<usize>,
        share: f64,
        look: f64,
        passes: usize,
        tolerance: f64,
    ) {
        for _ in 0..passes {
            let mut is_done = true;
            for pair in &mut self.pairs[range.clone()] {
                let [a, b] = pair.local;
                if !pair.has_changed && self.changed_at[a].max(self.changed_at[b]) <= pair.seen {
                    continue;
                }
                self.clock += 1;
                pair.seen = self.clock;
                let mut moving = [self.moving[a], self.moving[b]];
                let mut change = 0.0f64;
                for contact in &mut pair.contacts {
                    let changed = contact.act(&mut moving, share, look, pair.friction, pair.lengths);
                    self.impulses += usize::from(changed > 0.0);
                    change = change.max(changed);
                }
                [self.moving[a], self.moving[b]] = moving;
                self.largest_change = self.largest_change.max(change);
                self.change = self.change.max(change);
                pair.has_changed = change > tolerance * self.largest_change;
                if pair.has_changed {
                    (self.changed_at[a], self.changed_at[b]) = (self.clock, self.clock);
                    is_done = false;
                }
            }
            if is_done {
                return;
            }
        }
    }
}

impl Contact {
    fn new(mut point: Point, moving: [&Moving; 2], lengths: CoupleLengths) -> Self {
        point.speed = (moving[0].at(point.arms[0]) - moving[1].at(point.arms[1])).dot(point.normal);
        let (impulse, couple, k) = (DVec3::ZERO, DVec3::ZERO, DMat3::ZERO);
        let mut new = Self { point, impulse, couple, k, k_inverse: k, k_normal: 0.0, k_widest: 0.0, couples: None };
        new.prepare(moving, lengths);
        new
    }

    /// Takes the masses of the bodies as they are now.
    fn prepare(&mut self, moving: [&Moving; 2], lengths: CoupleLengths) {
        self.k = compliance(moving, self.point.arms);
        self.k_inverse = self.k.inverse();
        self.k_normal = self.k.mul_vec3(self.point.normal).dot(self.point.normal);
        self.k_widest = widest(&self.k);
        self.couples = (!lengths.is_none()).then(|| CoupleCompliance::of(moving, self.point.arms, &self.k_inverse));
    }

    pub(super) fn relative(&self, [a, b]: [&Moving; 2]) -> DVec3 {
        a.at(self.point.arms[0]) - b.at(self.point.arms[1])
    }

    /// The gap at the end of the step, at an approach.
    pub(super) fn gap(&self, speed: f64, look: f64) -> f64 {
        self.point.gap + look * (speed - self.point.speed)
    }

    /// One impulse, if it is needed: ends a share of the approach. Returns the change of velocity at the point.
    fn act(&mut self, moving: &mut [Moving; 2], share: f64, look: f64, friction: f64, lengths: CoupleLengths) -> f64 {
        let normal = self.point.normal;
        let velocity = self.relative([&moving[0], &moving[1]]);
        let speed = velocity.dot(normal);
        let pressing = self.impulse.dot(normal);
        let is_idle = pressing <= 0.0 && (speed >= 0.0 || self.gap(speed, look) >= 0.0);
        if is_idle || self.k_normal <= 0.0 {
            return 0.0;
        }
        let (total, sticks) = self.total_impulse(velocity, share, friction);
        let change = total - self.impulse;
        if !change.is_finite() {
            return 0.0;
        }
        self.impulse = total;
        push(moving, &self.point.arms, change);
        let mut moved = (self.k * change).length();
        if sticks && !lengths.is_none() {
            moved = moved.max(self.resist_turning(moving, lengths));
        }
        moved
    }

    /// What the point should have given in all: sticking if that lies in the cone, else sliding.
    fn total_impulse(&self, velocity: DVec3, share: f64, friction: f64) -> (DVec3, bool) {
        let normal = self.point.normal;
        let speed = velocity.dot(normal);
        let stick = self.impulse + self.k_inverse * ((1.0 - share) * speed * normal - velocity);
        let along = stick.dot(normal);
        if along >= 0.0 && (stick - along * normal).length() <= friction * along {
            return (stick, true);
        }
        let pressing = self.impulse.dot(normal);
        let pressed = (pressing - share * speed / self.k_normal).max(0.0);
        let after = velocity + self.k * ((pressed - pressing) * normal);
        let sliding = after - after.dot(normal) * normal;
        let rubbing = self.impulse - pressing * normal - sliding / self.k_widest;
        let rubbing = rubbing - rubbing.dot(normal) * normal;
        (pressed * normal + rubbing.clamp_length_max(friction * pressed), false)
    }

    /// Rolling and spinning friction.
    fn resist_turning(&mut self, moving: &mut [Moving; 2], lengths: CoupleLengths) -> f64 {
        let Some(couples) = self.couples else { return 0.0 };
        let normal = self.point.normal;
        let spin = moving[0].spin - moving[1].spin;
        let total = couples.couple(self.couple, spin, normal, self.impulse.dot(normal).max(0.0), lengths);
        let change = total - self.couple;
        let holding = couples.holding_impulse(change, &self.k_inverse);
        if !(change.is_finite() && holding.is_finite()) || change == DVec3::ZERO {
            return 0.0;
        }
        self.couple = total;
        self.impulse += holding;
        moving[0].turn(change);
        moving[1].turn(-change);
        push(moving, &self.point.arms, holding);
        let reach = self.point.arms[0].length().min(self.point.arms[1].length());
        couples.turn_by(change) * reach
    }
}

fn push(moving: &mut [Moving; 2], arms: &[DVec3; 2], impulse: DVec3) {
    moving[0].push(arms[0], impulse);
    moving[1].push(arms[1], -impulse);
}
