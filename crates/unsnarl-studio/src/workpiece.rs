//! A garment on the desk: untangling under way, what is held, and what can be undone.
//!
//! Guarantees: undo gives positions and pins back bit for bit; memory for undo is bounded.
//! Does not: decide anything about cloth; `unsnarl::fix` and `unsnarl::analysis` do.

use crate::grip::Grip;
use crate::opening::Opened;
use crate::stages::{self, StageTimes, Walk, milliseconds};
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;
use unsnarl::analysis::report::{CheckReport, Findings};
use unsnarl::analysis::{self, Tangle, Verdict};
use unsnarl::fix::{self, FixSettings, FoldStyle, Observe, Patient, Untangling};
use unsnarl::state::State;
use unsnarl_geometry::{DVec3, TriangleId, VertexId};

const MOST_UNDO_BYTES: usize = 256 << 20;
const MOST_UNDO_STEPS: usize = 200;

/// A garment that is being worked on.
pub struct Workpiece {
    /// What was opened.
    pub opened: Opened,
    /// What crosses, as last looked at.
    pub tangle: Tangle,
    /// The exact check of the positions, when nothing crosses.
    pub verdict: Option<Verdict>,
    /// Steps since it was opened.
    pub steps: usize,
    /// How long the stages of the last step took.
    pub stage_times: StageTimes,
    /// Positions of cloth and bodies that the tangle belongs to.
    pub looked_at: Vec<DVec3>,
    /// A step that is shown stage by stage.
    walk: Walk,
    untangling: Untangling,
    settings: FixSettings,
    /// Steps since the last action began, or since cloth was let go.
    run_steps: usize,
    look: Look,
    pins: BTreeMap<u32, DVec3>,
    grip: Option<Grip>,
    past: VecDeque<Snapshot>,
    future: Vec<Snapshot>,
    before: CheckReport,
    workspace: analysis::Workspace,
}

/// Whether the tangle belongs to the positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    Fresh,
    Stale,
}

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advance {
    /// There is more to do.
    GoOn,
    /// Nothing crosses and cloth is relaxed.
    Done,
    /// The most steps have been taken, and something is left.
    GaveUp,
}

struct Snapshot {
    positions: Vec<DVec3>,
    pins: BTreeMap<u32, DVec3>,
}

/// What is saved as a report.
#[derive(Serialize)]
pub struct StudioReport<'a> {
    schema: &'static str,
    name: &'a str,
    clean: bool,
    before: &'a CheckReport,
    after: CheckReport,
    steps: usize,
    moved_vertices: usize,
    largest_displacement: f64,
}

impl Workpiece {
    /// Lays what was opened on the desk and looks at it.
    pub fn new(opened: Opened) -> Self {
        let settings = FixSettings::default();
        let mut workspace = analysis::Workspace::default();
        let start = Instant::now();
        let positions: Vec<DVec3> = opened.state.positions.iter().chain(&opened.body_positions).copied().collect();
        let mut tangle = analysis::analyze(&opened.assembly, &positions, &mut workspace);
        let analysis_time = milliseconds(start);
        let verdict = analysis::verdict(&opened.assembly, &positions, &mut workspace);
        let before = check(&opened, &positions, &tangle, &verdict, start);
        let untangling = untangling(&opened, opened.state.clone(), &settings);
        untangling.recolour(&mut tangle);
        Self {
            untangling,
            verdict: tangle.is_empty().then_some(verdict),
            tangle,
            opened,
            steps: 0,
            stage_times: StageTimes { analysis: analysis_time, ..StageTimes::default() },
            looked_at: positions,
            walk: Walk::default(),
            settings,
            run_steps: 0,
            look: Look::Fresh,
            pins: BTreeMap::new(),
            grip: None,
            past: VecDeque::new(),
            future: Vec::new(),
            before,
            workspace,
        }
    }

    /// Positions of the cloth.
    pub fn positions(&self) -> &[DVec3] {
        &self.untangling.state.positions
    }

    /// Positions of the cloth as the page shows it: after a stage of a step, or as it is.
    pub fn shown_positions(&self) -> &[DVec3] {
        self.walk.shown().unwrap_or(self.positions())
    }

    /// Positions of cloth, then of bodies.
    pub fn all_positions(&self) -> Vec<DVec3> {
        self.untangling.all_positions()
    }

    /// Pinned vertices.
    pub fn pins(&self) -> impl Iterator<Item = u32> + '_ {
        self.pins.keys().copied()
    }

    /// How many actions can be taken back, and taken again.
    pub fn undo_depth(&self) -> [usize; 2] {
        [self.past.len(), self.future.len()]
    }

    /// What the garments' designs say about folds that bite into themselves, by vertex of cloth.
    pub fn designed_styles(&self) -> &[Option<FoldStyle>] {
        &self.opened.styles
    }

    /// Changes the method from the next step on.
    pub fn set_settings(&mut self, settings: FixSettings) {
        if settings != self.settings {
            self.settings = settings;
            self.restart(self.positions().to_vec());
        }
    }

    /// A fresh start of untangling from given positions: rest shapes are the model's own again.
    fn restart(&mut self, positions: Vec<DVec3>) {
        let rest = &self.opened.state;
        let state = State::at_rest(positions, rest.rest_shapes.clone(), rest.rest_angles.clone());
        self.untangling = untangling(&self.opened, state, &self.settings);
        self.walk.end();
        self.look = Look::Stale;
        self.apply_holds();
    }

    /// Lays cloth and bodies elsewhere, as a frame of a simulation does.
    pub fn lay(&mut self, positions: Vec<DVec3>, bodies: Vec<DVec3>) {
        if positions.len() == self.positions().len() && bodies.len() == self.opened.body_positions.len() {
            if bodies == self.opened.body_positions {
                self.untangling.state.positions = positions;
            } else {
                self.opened.body_positions = bodies;
                self.restart(positions);
            }
            self.look = Look::Stale;
            self.analyze();
        }
    }

    /// Looks at what crosses, unless that is known.
    pub fn analyze(&mut self) {
        self.walk.end();
        if self.look == Look::Fresh {
            return;
        }
        let start = Instant::now();
        self.tangle = self.untangling.analyze();
        self.stage_times.analysis = milliseconds(start);
        self.looked_at = self.untangling.all_positions();
        let is_empty = self.tangle.is_empty();
        self.verdict = is_empty.then(|| analysis::verdict(&self.opened.assembly, &self.looked_at, &mut self.workspace));
        self.look = Look::Fresh;
    }

    /// A whole step, with what crosses afterwards.
    pub fn step(&mut self) -> Advance {
        among_workers(|| {
            self.analyze();
            let advance = self.progress();
            if advance == Advance::GoOn {
                self.move_cloth(&mut |_, _| {});
                self.analyze();
            }
            advance
        })
    }

    /// Whether a step is walked through and not over: its next stage is not an action of its own.
    pub fn is_within_step(&self) -> bool {
        self.walk.shown().is_some() || self.look == Look::Stale
    }

    /// One stage: the next one of a step that is walked through, a look at what crosses, or the first of a new step.
    pub fn stage(&mut self) -> &'static str {
        among_workers(|| {
            if let Some(stage) = self.walk.next() {
                return stages::name(stage);
            }
            if self.look == Look::Stale {
                self.analyze();
                return "analysis";
            }
            if self.progress() != Advance::GoOn {
                return "done";
            }
            let mut walk = Walk::default();
            self.move_cloth(&mut |stage, cloth| walk.keep(stage, cloth));
            let first = walk.next();
            self.walk = walk;
            first.map_or("done", stages::name)
        })
    }

    fn progress(&mut self) -> Advance {
        if self.grip.is_some() {
            self.untangling.start_again();
            self.run_steps = 0;
            return Advance::GoOn;
        }
        if self.run_steps >= self.settings.largest_step_count {
            let is_clean = self.verdict.as_ref().is_some_and(Verdict::is_clean);
            return if is_clean { Advance::Done } else { Advance::GaveUp };
        }
        loop {
            match self.untangling.judge(&self.tangle) {
                fix::Advance::Step => return Advance::GoOn,
                fix::Advance::Done => return Advance::Done,
                fix::Advance::GaveUp => return Advance::GaveUp,
                fix::Advance::LookAgain => {
                    self.look = Look::Stale;
                    self.analyze();
                }
            }
        }
    }

    fn move_cloth(&mut self, observe: Observe) {
        let (times, mut clock) = (&mut self.stage_times, Instant::now());
        self.untangling.step_observed(&self.tangle, &mut |stage, cloth| {
            times.note(stage, &mut clock);
            observe(stage, cloth);
        });
        self.steps += 1;
        self.run_steps += 1;
        self.look = Look::Stale;
    }

    /// Remembers where everything is, as one action to take back.
    pub fn remember(&mut self) {
        self.future.clear();
        self.walk.end();
        self.run_steps = 0;
        self.untangling.start_again();
        self.past.push_back(self.snapshot());
        let size = size_of_val(self.positions()).max(1);
        while self.past.len() > MOST_UNDO_STEPS.min((MOST_UNDO_BYTES / size).max(1)) {
            self.past.pop_front();
        }
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot { positions: self.positions().to_vec(), pins: self.pins.clone() }
    }

    /// Takes the last action back. Says whether there was one.
    pub fn undo(&mut self) -> bool {
        let Some(snapshot) = self.past.pop_back() else { return false };
        self.future.push(self.snapshot());
        self.give_back(snapshot);
        true
    }

    /// Takes the last action again.
    pub fn redo(&mut self) -> bool {
        let Some(snapshot) = self.future.pop() else { return false };
        self.past.push_back(self.snapshot());
        self.give_back(snapshot);
        true
    }

    fn give_back(&mut self, snapshot: Snapshot) {
        self.grip = None;
        self.pins = snapshot.pins;
        self.restart(snapshot.positions);
        self.analyze();
    }

    /// Takes hold of the cloth around a vertex, as far as `radius` along it.
    pub fn grab(&mut self, vertex: u32, radius: f64) {
        if vertex as usize >= self.positions().len() || !radius.is_finite() {
            return;
        }
        self.remember();
        self.grip = Some(Grip::new(&self.untangling, VertexId(vertex), radius));
        self.apply_holds();
    }

    /// Moves what is held; cloth in between does not stop it, that is the point.
    pub fn drag(&mut self, by: DVec3) {
        if !by.is_finite() || by.length() > 1e3 {
            return;
        }
        let Some(grip) = &self.grip else { return };
        for &(vertex, start, share) in &grip.vertices {
            if !self.pins.contains_key(&vertex.0) {
                self.untangling.state.positions[vertex.index()] = start + share * by;
            }
        }
        self.look = Look::Stale;
        self.apply_holds();
    }

    /// Lets go.
    pub fn release(&mut self) {
        self.grip = None;
        self.apply_holds();
    }

    /// Holds a vertex where it is, or lets it go.
    pub fn set_pin(&mut self, vertex: u32, pin: Pin) {
        let Some(&position) = self.positions().get(vertex as usize) else { return };
        self.remember();
        match pin {
            Pin::Set => self.pins.insert(vertex, position),
            Pin::Removed => self.pins.remove(&vertex),
        };
        self.apply_holds();
    }

    fn apply_holds(&mut self) {
        let mut holds: BTreeMap<u32, DVec3> = self.pins.clone();
        for (vertex, _, _) in self.grip.iter().flat_map(|grip| &grip.vertices) {
            holds.entry(vertex.0).or_insert(self.untangling.state.positions[vertex.index()]);
        }
        self.untangling.holds = holds.into_iter().map(|(vertex, point)| (VertexId(vertex), point)).collect();
    }

    /// The report of what was and what is.
    pub fn report(&mut self) -> StudioReport<'_> {
        let start = Instant::now();
        self.analyze();
        let positions = self.all_positions();
        let verdict = analysis::verdict(&self.opened.assembly, &positions, &mut self.workspace);
        let after = check(&self.opened, &positions, &self.tangle, &verdict, start);
        let moves = self.opened.state.positions.iter().zip(&positions).filter(|(a, b)| a != b);
        let moved: Vec<f64> = moves.map(|(before, after)| before.distance(*after)).collect();
        StudioReport {
            schema: "unsnarl.studio/1",
            name: &self.opened.name,
            clean: after.clean,
            before: &self.before,
            after,
            steps: self.steps,
            moved_vertices: moved.len(),
            largest_displacement: moved.iter().copied().fold(0.0, f64::max),
        }
    }

    /// Whether cloth at other positions, as a file would hold them, is clean.
    pub fn is_clean_at(&mut self, cloth: &[DVec3]) -> bool {
        let positions: Vec<DVec3> = cloth.iter().chain(&self.opened.body_positions).copied().collect();
        analysis::verdict(&self.opened.assembly, &positions, &mut self.workspace).is_clean()
    }
}

/// What to do with a pin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pin {
    /// It holds.
    Set,
    /// It is gone.
    Removed,
}

/// Does work on a thread of the engine's pool: parallel parts of it then need not be handed over one by one.
fn among_workers<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    rayon::join(work, || ()).0
}

fn untangling(opened: &Opened, state: State, settings: &FixSettings) -> Untangling {
    let patient = Patient {
        model: opened.model.clone(),
        state,
        assembly: opened.assembly.clone(),
        body_positions: opened.body_positions.clone(),
    };
    Untangling::new(patient, settings.clone())
}

fn check(opened: &Opened, positions: &[DVec3], tangle: &Tangle, verdict: &Verdict, start: Instant) -> CheckReport {
    let findings = Findings {
        assembly: &opened.assembly,
        positions,
        tangle,
        verdict,
        smallest_gap: None,
        seconds: start.elapsed().as_secs_f64(),
    };
    CheckReport::new(&findings, |triangle: TriangleId| opened.sheet_name(triangle))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::opening;

    /// Cloth that was held for more steps than a run may take was said to be left tangled the moment it was let go.
    #[test]
    fn steps_while_cloth_is_held_do_not_count_against_the_run_after_it() {
        let mut workpiece = Workpiece::new(opening::from_sample("bbii", Some(6)).unwrap());
        workpiece.settings.largest_step_count = 40;
        workpiece.grab(0, 0.01);
        for _ in 0..60 {
            assert_eq!(workpiece.step(), Advance::GoOn);
        }
        workpiece.release();
        assert_eq!(workpiece.step(), Advance::GoOn);
        let end = (0..60).map(|_| workpiece.step()).find(|advance| *advance != Advance::GoOn).unwrap();
        let is_clean = workpiece.verdict.as_ref().is_some_and(Verdict::is_clean);
        assert_eq!(end == Advance::Done, is_clean, "clean cloth is done, however many steps it took");
    }
}
