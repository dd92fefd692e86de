//! A drag of a sculpting tool: from pointer events at any rate to strokes that do not depend on the rate.
//!
//! Between events the pointer's ray is interpolated in time by a parabola through the last three. Strokes are made at
//! sixty a second, and more where the pointer moves by over a quarter of the radius between two; each casts a ray of its
//! own. Strength is per second, so each stroke has its share of the time. (Bridson 2003, 6.2: motion while the button
//! is held; the source does not say how strokes depend on the frame rate.)
//!
//! Guarantees: the same pointer path gives the same strokes at any number of events a second, to the error of the
//! parabola; the same events give the same bits.

use super::LevelSet;
use super::history::{History, Journal};
use super::sculpt::{Falloff, Stroke, StrokeError, Tool};
use crate::grid::{BlockCoordinates, BlockState, Domain};
use unsnarl_geometry::{Aabb, DVec3};

/// Strokes a second while the button is down.
pub const STROKES_PER_SECOND: f64 = 60.0;

/// The longest time between two events that counts, seconds: a pause of the page is no pressure of the hand.
pub const LONGEST_BREAK: f64 = 0.25;

/// The least strength that a sample of 32 bits feels, in samples; less is kept for the next stroke.
const LEAST_STRENGTH: f64 = 1e-3;

/// A tool as it is held during a drag.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Brush {
    /// What to do. A pull's vector is not used: it follows the pointer.
    pub tool: Tool,
    /// How far the tool reaches, metres.
    pub radius: f64,
    /// Raise, lower and flatten: metres a second. Smooth and roughen: the size of the features that go or grow in a second.
    pub strength: f64,
    /// How the strength falls from the centre.
    pub falloff: Falloff,
    /// Whether strokes are made on the other side of a plane as well.
    pub mirror: Option<Mirror>,
    /// Which surface rays meet.
    pub picking: Picking,
}

/// A plane across an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mirror {
    /// The axis: 0, 1 or 2 for x, y or z.
    pub axis: usize,
    /// Where the plane crosses it, metres.
    pub at: f64,
}

impl Mirror {
    fn point(self, mut point: DVec3) -> DVec3 {
        point[self.axis] = 2.0 * self.at - point[self.axis];
        point
    }

    /// The same stroke on the other side.
    pub fn stroke(self, stroke: &Stroke) -> Stroke {
        let tool = match stroke.tool {
            Tool::Pull(mut by) => {
                by[self.axis] = -by[self.axis];
                Tool::Pull(by)
            }
            same => same,
        };
        Stroke { tool, center: self.point(stroke.center), ..*stroke }
    }
}

/// Which surface the rays of a drag meet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Picking {
    /// The one before the drag; else the tool would climb towards the eye on what it has raised.
    #[default]
    Before,
    /// The one that the drag has made so far.
    Now,
}

/// Where a pointer points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Aim {
    /// Along a ray.
    Ray {
        /// Where it starts.
        origin: DVec3,
        /// Where it goes.
        direction: DVec3,
    },
    /// At a point.
    Point(DVec3),
}

impl Aim {
    fn is_finite(self) -> bool {
        match self {
            Self::Ray { origin, direction } => origin.is_finite() && direction.is_finite(),
            Self::Point(point) => point.is_finite(),
        }
    }

    /// The parabola through three aims: the chord from `b` to `c` at a share of it, and a bulge.
    fn between([a, b, c]: [Self; 3], times: [f64; 3], share: f64) -> Self {
        match (a, b, c) {
            (Self::Point(a), Self::Point(b), Self::Point(c)) => Self::Point(parabola([a, b, c], times, share)),
            (
                Self::Ray { origin: oa, direction: da },
                Self::Ray { origin: ob, direction: db },
                Self::Ray { origin: oc, direction: dc },
            ) => Self::Ray {
                origin: parabola([oa, ob, oc], times, share),
                direction: parabola([da, db, dc], times, share),
            },
            _ => c,
        }
    }
}

/// A point between the second and the third of three, as if a smooth motion went through all.
///
/// Lagrange's parabola is the chord plus `s (1 - s)` times a bulge; the bulge is kept below half the chord, so that uneven
/// times cannot throw the pointer off its way.
fn parabola([a, b, c]: [DVec3; 3], [ta, tb, tc]: [f64; 3], share: f64) -> DVec3 {
    let chord = c - b;
    let [before, after] = [tb - ta, tc - tb];
    let mut bulge = DVec3::ZERO;
    if before > 0.0 && after > 0.0 {
        let turn = (chord / after - (b - a) / before) / (before + after);
        bulge = -turn * (after * after);
        let most = 0.5 * chord.length();
        let length = bulge.length();
        if length > most {
            bulge *= most / length.max(f64::MIN_POSITIVE);
        }
    }
    b + share * chord + share * (1.0 - share) * bulge
}

/// The pointer at a moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointerEvent {
    /// Seconds since any moment; they never fall within a drag.
    pub time: f64,
    /// Where it points.
    pub aim: Aim,
    /// How hard it is pressed, 0 to 1; 1 for a mouse.
    pub pressure: f64,
}

/// A drag under way; see the module.
#[derive(Clone, Debug)]
pub struct Drag {
    brush: Brush,
    /// The last events, with times that leave out long breaks: those since the last stroke, and two before.
    events: Vec<PointerEvent>,
    /// The clock of the last event.
    clock: f64,
    /// Where the first ray went, for pulls.
    facing: DVec3,
    /// When the last stroke was made, and where the pointer was.
    last_stroke: f64,
    /// Where the last stroke fell, on each side of the mirror.
    last_place: Option<DVec3>,
    /// Strength (or flow time, for smooth and roughen) that was too small to be felt.
    kept: f64,
}

impl Drag {
    /// Puts the tool down: the first stroke is made at once. Gives the blocks that changed.
    pub fn begin(
        brush: Brush,
        event: PointerEvent,
        level_set: &mut LevelSet,
        history: &mut History,
    ) -> Result<(Self, Vec<BlockCoordinates>), StrokeError> {
        let number = |name, value: f64, expected| StrokeError::Number { name, value, expected };
        if !brush.strength.is_finite() || brush.strength < 0.0 {
            return Err(number("the strength", brush.strength, "a positive number"));
        }
        check(&event)?;
        history.begin();
        let event = PointerEvent { time: 0.0, ..event };
        let facing = match event.aim {
            Aim::Ray { direction, .. } => direction,
            Aim::Point(_) => DVec3::ZERO,
        };
        let events = vec![event];
        let mut drag = Self { brush, events, clock: 0.0, facing, last_stroke: 0.0, last_place: None, kept: 0.0 };
        let changed = drag.stroke(event.aim, event.pressure, 1.0 / STROKES_PER_SECOND, level_set, history)?;
        Ok((drag, changed))
    }

    /// Follows the pointer to its next event; `time` counts from the first. Gives the blocks that changed.
    pub fn follow(
        &mut self,
        event: PointerEvent,
        level_set: &mut LevelSet,
        history: &mut History,
    ) -> Result<Vec<BlockCoordinates>, StrokeError> {
        check(&event)?;
        let passed = (event.time - self.clock).clamp(0.0, LONGEST_BREAK);
        self.clock = event.time.max(self.clock);
        let last = self.events.last().map_or(0.0, |last| last.time);
        let now = last + passed;
        self.events.push(PointerEvent { time: now, ..event });
        let mut changed = Vec::new();
        // Whole ticks of the clock, each cut further where the pointer has gone too far.
        let tick = 1.0 / STROKES_PER_SECOND;
        let mut next = (self.last_stroke / tick).round() * tick + tick;
        while next <= now + 1e-9 {
            changed.extend(self.advance(next, level_set, history)?);
            next += tick;
        }
        let done = self.events.iter().rposition(|event| event.time <= self.last_stroke).unwrap_or(0);
        self.events.drain(..done.saturating_sub(2));
        changed.sort_unstable();
        changed.dedup();
        Ok(changed)
    }

    /// Makes the strokes from the last one up to a moment.
    fn advance(
        &mut self,
        until: f64,
        level_set: &mut LevelSet,
        history: &mut History,
    ) -> Result<Vec<BlockCoordinates>, StrokeError> {
        let since = self.last_stroke;
        let way = match (self.place(self.at(until).aim, level_set, history), self.last_place) {
            (Some(place), Some(last)) if place.is_finite() => place.distance(last),
            _ => 0.0,
        };
        let parts = (way / (0.25 * self.brush.radius)).ceil().clamp(1.0, 64.0) as usize;
        let duration = (until - since) / parts as f64;
        let mut changed = Vec::new();
        for part in 1..=parts {
            let PointerEvent { aim, pressure, .. } = self.at(since + part as f64 * duration);
            changed.extend(self.stroke(aim, pressure, duration, level_set, history)?);
        }
        self.last_stroke = until;
        Ok(changed)
    }

    /// The pointer at a moment since the first event that is kept.
    fn at(&self, time: f64) -> PointerEvent {
        let after = self.events.partition_point(|event| event.time < time).clamp(1, self.events.len().max(2) - 1);
        let [Some(b), Some(c)] = [after - 1, after].map(|number| self.events.get(number)) else {
            return self.events[0];
        };
        let a = self.events[after.saturating_sub(2)];
        let span = c.time - b.time;
        let share = if span > 0.0 { ((time - b.time) / span).clamp(0.0, 1.0) } else { 1.0 };
        let aim = Aim::between([a.aim, b.aim, c.aim], [a.time, b.time, c.time], share);
        PointerEvent { time, aim, pressure: b.pressure + share * (c.pressure - b.pressure) }
    }

    /// Where an aim meets the surface.
    fn place(&self, aim: Aim, level_set: &LevelSet, history: &History) -> Option<DVec3> {
        let (origin, direction) = match aim {
            Aim::Point(point) => return Some(point),
            Aim::Ray { origin, direction } => (origin, direction.try_normalize()?),
        };
        if let (Tool::Pull(_), Some(last)) = (self.brush.tool, self.last_place) {
            // What is held follows the pointer in the plane across the first ray.
            let across = direction.dot(self.facing);
            let along = (last - origin).dot(self.facing) / across;
            return along.is_finite().then(|| origin + along * direction);
        }
        level_set.pick(origin, direction, history.current().filter(|_| self.brush.picking == Picking::Before))
    }

    fn stroke(
        &mut self,
        aim: Aim,
        pressure: f64,
        duration: f64,
        level_set: &mut LevelSet,
        history: &mut History,
    ) -> Result<Vec<BlockCoordinates>, StrokeError> {
        let Some(center) = self.place(aim, level_set, history) else {
            self.last_place = None;
            return Ok(Vec::new());
        };
        let last = self.last_place.replace(center);
        let brush = self.brush;
        let spacing = level_set.frame.spacing;
        let (tool, center, strength) = match brush.tool {
            Tool::Pull(_) => match last {
                Some(last) => (Tool::Pull((center - last) * pressure), last, 0.0),
                None => return Ok(Vec::new()),
            },
            // One stamp for each press of the button.
            Tool::Stamp(_) if last.is_some() || self.last_stroke > 0.0 => return Ok(Vec::new()),
            Tool::Stamp(_) => (brush.tool, center, 0.0),
            tool => {
                // Flow times add up; the size of features is twice the root of the flow time.
                let flows = matches!(tool, Tool::Smooth | Tool::Roughen);
                let per_second = if flows { 0.25 * brush.strength * brush.strength } else { brush.strength };
                let amount = self.kept + per_second * pressure * duration;
                let strength = if flows { 2.0 * amount.sqrt() } else { amount };
                if strength < LEAST_STRENGTH * spacing {
                    self.kept = amount;
                    return Ok(Vec::new());
                }
                self.kept = 0.0;
                (tool, center, strength)
            }
        };
        let stroke = Stroke { tool, center, radius: brush.radius, strength, falloff: brush.falloff };
        let mut changed = made(&stroke, level_set, history)?;
        if let Some(mirror) = brush.mirror {
            changed.extend(made(&mirror.stroke(&stroke), level_set, history)?);
        }
        Ok(changed)
    }
}

fn made(
    stroke: &Stroke,
    level_set: &mut LevelSet,
    history: &mut History,
) -> Result<Vec<BlockCoordinates>, StrokeError> {
    let journal = level_set.sculpt(stroke)?;
    let changed = journal.changed(level_set);
    history.record(journal);
    Ok(changed)
}

fn check(event: &PointerEvent) -> Result<(), StrokeError> {
    if !event.aim.is_finite() || !event.time.is_finite() {
        let expected = "finite numbers";
        return Err(StrokeError::Number { name: "the pointer", value: f64::NAN, expected });
    }
    if !(0.0..=1.0).contains(&event.pressure) {
        return Err(StrokeError::Number { name: "the pressure", value: event.pressure, expected: "0 to 1" });
    }
    Ok(())
}

impl LevelSet {
    /// Where a ray, however far it starts, first meets the surface from outside.
    pub fn aim_at(&self, origin: DVec3, direction: DVec3) -> Option<DVec3> {
        self.pick(origin, direction.try_normalize()?, None)
    }

    /// Where a ray first goes in, on the surface before an edit if one is given. The direction has length one.
    pub(super) fn pick(&self, origin: DVec3, direction: DVec3, before: Option<&Journal>) -> Option<DVec3> {
        let [enter, leave] = self.span_of(origin, direction)?;
        let start = origin + enter * direction;
        let along = match before {
            None => self.ray(start, direction, leave - enter)?.along,
            Some(journal) => {
                let value = |point: DVec3| self.value_before(journal, point);
                self.first_entry(value, start, direction, leave - enter)?
            }
        };
        Some(start + along * direction)
    }

    /// Where a ray enters and leaves a box around the stored blocks, in lengths of its direction.
    pub(super) fn span_of(&self, origin: DVec3, direction: DVec3) -> Option<[f64; 2]> {
        let side = self.grid.width().samples() as i32;
        let bounds = match self.grid.domain() {
            Domain::Bounded { first, extent } => {
                let last = [0, 1, 2].map(|axis| first[axis] + extent[axis] as i32);
                let [min, max] = [first, last].map(|corner| self.frame.position(corner.map(|c| c * side)));
                Aabb { min, max }
            }
            Domain::Unbounded => self.band_bounds()?,
        };
        ray_span(bounds, origin, direction)
    }

    /// A box around the band, a little larger; `None` if there is no surface.
    pub fn band_bounds(&self) -> Option<Aabb> {
        let mut bounds: Option<[BlockCoordinates; 2]> = None;
        for block in self.grid.blocks() {
            let [low, high] = bounds.get_or_insert([*block; 2]);
            for axis in 0..3 {
                low[axis] = low[axis].min(block[axis]);
                high[axis] = high[axis].max(block[axis]);
            }
        }
        let side = self.grid.width().samples() as i32;
        let [low, high] = bounds?;
        let [min, max] = [low, high.map(|c| c + 1)].map(|corner| self.frame.position(corner.map(|c| c * side)));
        Some(Aabb { min, max })
    }

    /// The value at a point before an edit.
    fn value_before(&self, journal: &Journal, point: DVec3) -> f64 {
        let limit = DVec3::splat(f64::from(crate::grid::COORDINATE_LIMIT) - 2.0);
        let at = self.frame.in_samples(point).clamp(-limit, limit);
        let floor = at.floor();
        let base = floor.to_array().map(|c| c as i32);
        let mut corners = [0.0_f32; 8];
        for (corner, value) in corners.iter_mut().enumerate() {
            let sample = [0, 1, 2].map(|axis| base[axis] + (corner >> axis & 1) as i32);
            let (block, local) = self.grid.split(sample);
            *value = match (journal.before(block), journal.side_before(block), self.grid.state(block)) {
                (_, Some(side), _) => self.grid.background().on(side),
                (Some(samples), None, _) => samples[self.grid.width().place(local)],
                (None, None, BlockState::Uniform(side)) => self.grid.background().on(side),
                (None, None, BlockState::Stored(slot)) => self.grid.block(slot)[self.grid.width().place(local)],
            };
        }
        super::query::trilinear(&corners, at - floor).0
    }
}

/// Where a ray enters and leaves a box, in lengths of its direction.
pub(super) fn ray_span(bounds: Aabb, origin: DVec3, direction: DVec3) -> Option<[f64; 2]> {
    let (mut enter, mut leave) = (0.0_f64, f64::INFINITY);
    for axis in 0..3 {
        let [low, high] = [bounds.min[axis], bounds.max[axis]];
        if direction[axis] == 0.0 {
            if !(low..=high).contains(&origin[axis]) {
                return None;
            }
            continue;
        }
        let [a, b] = [low, high].map(|plane| (plane - origin[axis]) / direction[axis]);
        (enter, leave) = (enter.max(a.min(b)), leave.min(a.max(b)));
    }
    (enter < leave && leave.is_finite()).then_some([enter, leave])
}
