//! Contact: impulses on the new velocities that end approach, level by level, little by little.
//!
//! Points are watched from their predicted gaps; velocities that change move those gaps to first order, and where
//! bodies leave what was foreseen points are looked for again. Groups of bodies that touch (islands) do not know of
//! each other and go in parallel; within one, the order of the list decides. (Bridson 2003, 4.8)
//!
//! Guarantees: impulses press and stay in the cone of friction, in sum over the step. The same bits on any number of
//! threads.
//! Departs: contact begins with the forces of the step before, so that what is at rest needs few sweeps. A point may
//! take back what it gave in this step, so that a block with four corners comes to rest exactly; points that only ever
//! push leave it rocking.

use super::Kind;
use super::broad::Broad;
use super::collide::Collided;
use super::contact_graph::Levels;
use super::contact_point::{Contact, push, thin_out};
use super::groups::Groups;
use super::interference::{Near, Point, View, points};
use super::motion::{Moving, Seen, Step};
use super::rolling::CoupleLengths;
use super::settings::{Stopping, Switch};
use super::state::Pressing;
use crate::geometry::DVec3;
use rayon::prelude::*;

/// A sweep that changes velocities by less than this share of the largest change is the last.
const SETTLED: f64 = 1e-3;

/// Two bodies that touch; numbers are those of the island once it is there.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub global: [usize; 2],
    pub local: [usize; 2],
    pub level: u32,
    pub contacts: Vec<Contact>,
    /// Contacts in the order in which they are treated, with their gaps.
    order: Vec<(f64, usize)>,
    friction: f64,
    lengths: CoupleLengths,
    /// When it was looked at last, and whether that changed anything.
    seen: u64,
    has_changed: bool,
    /// Whether the first body would fall into the second, and the other way round.
    falls: [bool; 2],
}

/// Bodies that touch each other, with all they touch.
#[derive(Debug, Default)]
pub(super) struct Island {
    pub bodies: Vec<usize>,
    pub moving: Vec<Moving>,
    /// In the order of levels, then of the list.
    pub pairs: Vec<Pair>,
    changed_at: Vec<u64>,
    clock: u64,
    /// The largest change of velocity at a point so far, by what it presses with at the start or by one impulse.
    largest_change: f64,
    /// The largest change of velocity in this sweep.
    change: f64,
    /// Whether sweeps have nothing to do any more.
    is_settled: bool,
    /// Whether shock propagation has nothing to do, either.
    pub is_at_rest: bool,
    pub impulses: usize,
}

/// All islands of a step.
pub(super) struct Contacts {
    pub islands: Vec<Island>,
    pub levels: Levels,
    /// With what velocities points were found.
    seen: Vec<Seen>,
    /// Impulses of islands that are no more.
    impulses: usize,
}

impl Contacts {
    /// Finds points, levels and islands for the velocities of the step, and begins with what pressed before.
    ///
    /// What collisions found is used again for bodies that did not change since.
    pub(super) fn find(step: &Step<'_>, broad: &mut Broad, collided: Option<Collided>, pressing: &[Pressing]) -> Self {
        let count = step.moving.len();
        let still = (DVec3::ZERO, DVec3::ZERO);
        let (points, mut seen) = match collided {
            Some(collided) => (Some(collided.points), collided.seen),
            None => (None, (0..count).map(|body| step.ahead(body, still)).collect()),
        };
        let mut off = vec![points.is_none(); count];
        for body in 0..count {
            let Moving { velocity, spin, .. } = step.moving[body];
            if step.is_off(body, velocity, spin, &seen[body]) {
                (off[body], seen[body]) = (true, step.ahead(body, still));
            }
        }
        let pairs = find_pairs(step, broad, &seen, &off, Source::Collisions(points, pressing));
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
        let mut islands = islands(step, pairs, &levels);
        islands.par_iter_mut().for_each(|island| island.begin(step));
        Self { islands, levels, seen, impulses: 0 }
    }

    /// All sweeps; velocities of the step are those afterwards. Returns the impulses.
    pub(super) fn sweep(&mut self, step: &mut Step<'_>, broad: &mut Broad) -> usize {
        let sweeps = step.settings.contact_sweeps;
        let all = if sweeps == 0 { 0 } else { sweeps + step.settings.settling_sweeps };
        for sweep in 1..=all {
            let gradual = match step.settings.stopping {
                Stopping::Gradual => (sweep as f64 / sweeps as f64).min(1.0),
                Stopping::AtOnce => 1.0,
            };
            let (look, settings) = (step.look, step.settings);
            self.islands.par_iter_mut().filter(|island| !island.is_settled).for_each(|island| {
                // What is left of little is taken at once.
                let share = if island.change <= SETTLED * island.largest_change { 1.0 } else { gradual };
                island.start_sweep(look);
                for range in island.level_ranges() {
                    island.passes(range, share, look, settings.passes, settings.tolerance);
                }
                island.is_settled = island.change <= SETTLED * share * island.largest_change;
            });
            self.store(step);
            if self.islands.iter().all(|island| island.is_settled) {
                break;
            }
            if sweep < all {
                self.look_again(step, broad);
            }
        }
        self.impulses + self.islands.iter().map(|island| island.impulses).sum::<usize>()
    }

    /// What presses at the end of a step, for the next one.
    pub(super) fn pressing(&self, step: &Step<'_>) -> Vec<Pressing> {
        let of = |pair: &Pair| -> Vec<Pressing> {
            let per_second = step.duration.recip();
            let pressing = |contact: &Contact| Pressing {
                bodies: sorted(pair.global),
                key: lasting_key(pair.global, contact.point.key),
                force: along_first(pair.global, contact.impulse) * per_second,
                couple: along_first(pair.global, contact.couple) * per_second,
            };
            pair.contacts.iter().filter(|contact| contact.impulse != DVec3::ZERO).map(pressing).collect()
        };
        let mut list: Vec<Pressing> = self.islands.iter().flat_map(|island| &island.pairs).flat_map(of).collect();
        list.sort_unstable_by_key(Pressing::order);
        list.dedup_by_key(|pressing| pressing.order());
        list
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
        let mut off = vec![false; step.moving.len()];
        for island in &self.islands {
            for (&body, moving) in island.bodies.iter().zip(&island.moving) {
                off[body] = step.is_off(body, moving.velocity, moving.spin, &self.seen[body]);
            }
        }
        if !off.contains(&true) {
            return;
        }
        for body in (0..off.len()).filter(|&body| off[body]) {
            self.seen[body] = step.ahead(body, (DVec3::ZERO, DVec3::ZERO));
        }
        let is_open = |island: &Island| island.bodies.iter().any(|&body| off[body]);
        let (open, kept): (Vec<Island>, Vec<Island>) = self.islands.drain(..).partition(is_open);
        self.impulses += open.iter().map(|island| island.impulses).sum::<usize>();
        let mut known: Vec<Pair> = open.into_iter().flat_map(|island| island.pairs).collect();
        let place = |pair: &Pair| pair.global.map(|body| step.rank[body]);
        known.sort_unstable_by_key(place);
        let mut pairs = find_pairs(step, broad, &self.seen, &off, Source::Known(known));
        // An island that is met for the first time comes along.
        let mut is_met = vec![false; off.len()];
        for body in pairs.iter().flat_map(|pair| pair.global).filter(|&body| step.moving[body].inverse_mass > 0.0) {
            is_met[body] = true;
        }
        let (met, kept): (Vec<Island>, Vec<Island>) =
            kept.into_iter().partition(|island| island.bodies.iter().any(|&body| is_met[body]));
        self.impulses += met.iter().map(|island| island.impulses).sum::<usize>();
        pairs.extend(met.into_iter().flat_map(|island| island.pairs));
        pairs.sort_unstable_by_key(place);
        self.islands = kept;
        self.islands.extend(islands(step, pairs, &self.levels));
    }
}

/// What is known of points before they are looked for.
enum Source<'a> {
    /// What collisions found, if they looked, and what pressed in the step before.
    Collisions(Option<Vec<Vec<Point>>>, &'a [Pressing]),
    /// Pairs of this stage in the order of the list.
    Known(Vec<Pair>),
}

fn sorted([a, b]: [usize; 2]) -> [u32; 2] {
    [a.min(b) as u32, a.max(b) as u32]
}

/// The key of a point, whatever the order of the pair: one bit says which body the sample belongs to.
fn lasting_key([a, b]: [usize; 2], key: u64) -> u64 {
    if a < b { key } else { key ^ Point::OF_SECOND }
}

/// What acts on the body with the lower number.
fn along_first([a, b]: [usize; 2], on_first: DVec3) -> DVec3 {
    if a < b { on_first } else { -on_first }
}

/// What pressed between the bodies of a pair, of a sorted list.
fn own_pressing(pressing: &[Pressing], pair: [usize; 2]) -> &[Pressing] {
    let bodies = sorted(pair);
    let own = &pressing[pressing.partition_point(|known| known.bodies < bodies)..];
    &own[..own.partition_point(|known| known.bodies == bodies)]
}

/// Points of all pairs. Those of bodies that did as expected are kept.
fn find_pairs(step: &Step<'_>, broad: &mut Broad, seen: &[Seen], off: &[bool], source: Source<'_>) -> Vec<Pair> {
    let is_new = broad.ensure(step, seen);
    let key = |pair: [usize; 2]| pair.map(|body| step.rank[body]);
    let look = |[a, b]: [usize; 2], near: &mut Near| {
        points(step, [View::of(step, seen, a), View::of(step, seen, b)], step.slack(a) + step.slack(b), near)
    };
    let of = |at: usize, pair: [usize; 2], near: &mut Near| {
        let is_off = off[pair[0]] || off[pair[1]];
        match &source {
            Source::Collisions(points, pressing) => {
                let kept = points.as_ref().filter(|_| !is_new && !is_off);
                let found = kept.map_or_else(|| look(pair, near), |points| points[at].clone());
                let own = own_pressing(pressing, pair);
                let mut pair = Pair::of(step, pair, found, seen, own)?;
                pair.start_from(own, step);
                Some(pair)
            }
            Source::Known(known) => {
                let old = known.binary_search_by_key(&key(pair), |pair| key(pair.global)).ok().map(|at| &known[at]);
                if !is_off {
                    return old.cloned();
                }
                let mut new = Pair::of(step, pair, look(pair, near), seen, &[]);
                if let Some(old) = old {
                    new.get_or_insert_with(|| Pair::new(step, pair, Vec::new())).take_over(old);
                }
                new.filter(|pair| !pair.contacts.is_empty())
            }
        }
    };
    let (pairs, near) = broad.with_near();
    let all = pairs.par_iter().zip(near).enumerate().with_min_len(16);
    all.filter_map(|(at, (&pair, near))| of(at, pair, near)).collect()
}

/// Groups pairs by the bodies that they connect; what does not move connects nothing.
fn islands(step: &Step<'_>, pairs: Vec<Pair>, levels: &Levels) -> Vec<Island> {
    let count = step.moving.len();
    let moves = |body: usize| step.moving[body].inverse_mass > 0.0;
    let mut groups = Groups::new(count);
    for pair in pairs.iter().map(|pair| pair.global).filter(|&[a, b]| moves(a) && moves(b)) {
        groups.join(pair);
    }
    let mut place = vec![usize::MAX; count];
    let mut islands: Vec<Island> = Vec::new();
    let mut members: Vec<Vec<Pair>> = Vec::new();
    for pair in pairs {
        let mover = if moves(pair.global[0]) { pair.global[0] } else { pair.global[1] };
        let root = groups.find(mover);
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
        island.changed_at = vec![0; island.bodies.len()];
        // Nothing is settled before a sweep.
        island.change = f64::INFINITY;
        let contacts = pairs.iter().flat_map(|pair| &pair.contacts);
        island.largest_change = contacts.map(|contact| (contact.k * contact.impulse).length()).fold(0.0, f64::max);
        island.pairs = pairs;
        islands.push(island);
    }
    islands
}

impl Pair {
    /// The pair with points that were found; `None` if there are none.
    fn of(step: &Step<'_>, global: [usize; 2], mut found: Vec<Point>, seen: &[Seen], own: &[Pressing]) -> Option<Self> {
        let falls = [0, 1].map(|side| found.iter().any(|point| point.falls[side]));
        let key = |point: &Point| lasting_key(global, point.key);
        thin_out(&mut found, |point| own.binary_search_by_key(&key(point), |known| known.key).is_ok());
        let lengths = couple_lengths(step, global);
        let moving = global.map(|body| &step.moving[body]);
        let seen = global.map(|body| &seen[body]);
        let contacts: Vec<Contact> =
            found.into_iter().map(|point| Contact::new(point, step, moving, seen, lengths)).collect();
        (!contacts.is_empty()).then(|| Self { falls, ..Self::new(step, global, contacts) })
    }

    fn new(step: &Step<'_>, global: [usize; 2], contacts: Vec<Contact>) -> Self {
        let [a, b] = global.map(|body| &step.bodies.bodies[body]);
        Self {
            global,
            local: global,
            level: 1,
            order: (0..contacts.len()).map(|at| (0.0, at)).collect(),
            contacts,
            friction: a.friction.max(b.friction),
            lengths: couple_lengths(step, global),
            seen: 0,
            has_changed: true,
            falls: [false; 2],
        }
    }

    /// Begins with what pressed in the step before, as far as points would meet and impulses press.
    fn start_from(&mut self, own: &[Pressing], step: &Step<'_>) {
        if own.is_empty() || step.settings.starting_guess == Switch::Off || step.settings.contact_sweeps == 0 {
            return;
        }
        // Bodies that fall together keep their gap: those that touch now count, too.
        let touches = |contact: &&mut Contact| contact.point.gap.min(contact.point.gap_now - step.fall.length()) < 0.0;
        for contact in self.contacts.iter_mut().filter(touches) {
            let key = lasting_key(self.global, contact.point.key);
            let Ok(at) = own.binary_search_by_key(&key, |known| known.key) else { continue };
            let normal = contact.point.normal;
            let impulse = along_first(self.global, own[at].force) * step.duration;
            let along = impulse.dot(normal);
            if along > 0.0 {
                let across = (impulse - along * normal).clamp_length_max(self.friction * along);
                contact.impulse = along * normal + across;
                contact.couple = along_first(self.global, own[at].couple) * step.duration;
            }
        }
    }

    /// Goes on with the impulses of the same pair, whose points were looked for again.
    fn take_over(&mut self, old: &Self) {
        for contact in old.contacts.iter().filter(|contact| contact.impulse != DVec3::ZERO) {
            match self.contacts.iter_mut().find(|new| new.point.key == contact.point.key) {
                Some(new) => (new.impulse, new.couple) = (contact.impulse, contact.couple),
                None => self.contacts.push(contact.clone()),
            }
        }
        self.order = (0..self.contacts.len()).map(|at| (0.0, at)).collect();
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

    /// Velocities take what points press with from the start; says if nothing is left to do.
    fn begin(&mut self, step: &Step<'_>) {
        if self.largest_change == 0.0 {
            return;
        }
        for pair in &self.pairs {
            let Ok([a, b]) = self.moving.get_disjoint_mut(pair.local) else { continue };
            for contact in &pair.contacts {
                push([&mut *a, &mut *b], &contact.point.arms, contact.impulse);
                a.turn(contact.couple);
                b.turn(-contact.couple);
            }
        }
        let mut change = 0.0f64;
        for pair in &self.pairs {
            let moving = pair.local.map(|body| &self.moving[body]);
            let pending = |contact: &Contact| contact.pending(moving, step.look, pair.friction, pair.lengths);
            change = pair.contacts.iter().map(pending).fold(change, f64::max);
        }
        self.change = change;
        self.is_at_rest = change <= step.settings.tolerance * self.largest_change;
        self.is_settled = self.is_at_rest;
    }

    /// Points in the order of depth, and everything is to be looked at.
    pub(super) fn start_sweep(&mut self, look: f64) {
        self.change = 0.0;
        for pair in &mut self.pairs {
            pair.has_changed = true;
            let moving = pair.local.map(|body| &self.moving[body]);
            for (gap, at) in &mut pair.order {
                let contact = &pair.contacts[*at];
                *gap = contact.gap(contact.relative(moving).dot(contact.point.normal), look);
            }
            pair.order.sort_unstable_by(|k, l| k.0.total_cmp(&l.0).then(k.1.cmp(&l.1)));
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
                let Ok([first, second]) = self.moving.get_disjoint_mut([a, b]) else { continue };
                let mut change = 0.0f64;
                for &(_, at) in &pair.order {
                    let contact = &mut pair.contacts[at];
                    let changed = contact.act([&mut *first, &mut *second], share, look, pair.friction, pair.lengths);
                    self.impulses += usize::from(changed > 0.0);
                    change = change.max(changed);
                }
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
