//! One untangling, measured; and a row that sums up several.

use crate::subject::Subject;
use std::cmp::Ordering;
use std::sync::Arc;
use std::time::Instant;
use unsnarl::analysis::{self, Workspace};
use unsnarl::fix::report::{Displacement, Spread, mean_rest_edge};
use unsnarl::fix::{self, Assumptions, Continue, PullCount, PullCounts, Score, Standard};
use unsnarl_geometry::DVec3;

/// What came of one untangling.
pub struct Trial {
    /// What it was: the seed, usually.
    pub name: String,
    /// Pairs of triangles that still meet.
    pub pairs_left: usize,
    pub steps: usize,
    /// Steps in which something crossed, and what the theorem assumes.
    pub assumptions: Assumptions,
    /// Pulls off seams, on seams and at darts.
    pub pulls: PullCounts,
    /// Where cloth came to lie.
    pub positions: Vec<DVec3>,
    /// Edge lengths over their rest.
    pub edges: Spread,
    /// Largest stretch of triangles, and the same in the input.
    pub stretch: Spread,
    pub stretch_before: Spread,
    pub moved_vertices: usize,
    /// How far they went.
    pub displacement: Displacement,
    pub vertex_count: usize,
    /// Processor time, so that other work on the machine changes nothing.
    pub seconds: f64,
    /// Time on the clock.
    pub wall_seconds: f64,
    /// Whether the result is no worse than the input by the score.
    pub is_no_worse: bool,
    /// Resolvers other than edge shortening and tearing that acted.
    pub measures: String,
}

impl Trial {
    /// Untangles for at most so many seconds of processor time.
    pub fn run(name: String, subject: Subject, most_seconds: f64) -> Self {
        let start = processor_seconds();
        Self::run_unless(name, subject, move || processor_seconds() - start > most_seconds)
    }

    /// Untangles for at most so many seconds on the clock.
    pub fn run_on_the_clock(name: String, subject: Subject, most_seconds: f64) -> Self {
        let begun = Instant::now();
        Self::run_unless(name, subject, move || begun.elapsed().as_secs_f64() > most_seconds)
    }

    fn run_unless(name: String, subject: Subject, is_late: impl Fn() -> bool + Copy + Send + Sync + 'static) -> Self {
        let Subject { patient, settings } = subject;
        let model = patient.model.clone();
        let before = patient.state.positions.clone();
        let pairs_before = analysis::verdict(&patient.assembly, &before, &mut Workspace::default()).pairs.len();
        let (start, begun) = (processor_seconds(), Instant::now());
        let outcome = fix::untangle_unless(patient, &settings, Arc::new(is_late), &mut |_| {
            if is_late() { Continue::No } else { Continue::Yes }
        });
        let (seconds, wall_seconds) = (processor_seconds() - start, begun.elapsed().as_secs_f64());
        let resolvers = &outcome.resolvers;
        let measures = [
            ("minimised", resolvers.contour_minimisation),
            ("bodies", resolvers.body_push),
            ("layering", resolvers.layering),
            ("reflected", resolvers.reflected),
            ("unfolded", resolvers.unfolding),
            ("parting", resolvers.parting),
            ("laid flat", resolvers.laying_out),
            ("retreat", resolvers.retreat),
        ];
        let (moved_vertices, displacement) = Displacement::between(&before, &outcome.positions, mean_rest_edge(&model));
        let acted = measures.iter().filter(|(_, count)| *count > 0).map(|(name, count)| format!("{name} {count}"));
        let input = Score::of(&model, &before, &before, pairs_before);
        let result = Score::of(&model, &outcome.positions, &before, outcome.verdict.pairs.len());
        let is_no_worse = Standard::new(&model, &before).compare(&result, &input) != Ordering::Greater;
        Self {
            name,
            pairs_left: outcome.verdict.pairs.len(),
            steps: outcome.steps,
            assumptions: outcome.assumptions,
            pulls: outcome.pulls,
            edges: Spread::of_edges(&model, &outcome.positions),
            stretch: Spread::of_stretch(&model, &outcome.positions),
            stretch_before: Spread::of_stretch(&model, &before),
            moved_vertices,
            displacement,
            vertex_count: before.len(),
            seconds,
            wall_seconds,
            is_no_worse,
            measures: acted.collect::<Vec<_>>().join(", "),
            positions: outcome.positions,
        }
    }

    pub fn is_clean(&self) -> bool {
        self.pairs_left == 0
    }

    /// One line about this trial alone.
    pub fn line(&self) -> String {
        format!(
            "{:<34} {:<8} {:>4} steps {:>6.1} s  edges {:.3} {:.3}  stretch p99 {:.3} (input {:.3})  moved {} of {}  {}",
            self.name,
            if self.is_clean() { "clean".to_owned() } else { format!("LEFT {}", self.pairs_left) },
            self.steps,
            self.seconds,
            self.edges.p01,
            self.edges.p99,
            self.stretch.p99,
            self.stretch_before.p99,
            self.moved_vertices,
            self.vertex_count,
            self.measures
        )
    }
}

/// One line about several trials of a case, and one about each that did not come out clean.
pub fn print_row(name: &str, trials: &[Trial]) {
    let clean = trials.iter().filter(|trial| trial.is_clean()).count();
    let sum = |of: fn(&Assumptions) -> usize| trials.iter().map(|trial| of(&trial.assumptions)).sum::<usize>();
    let extreme = |of: fn(&Trial) -> f64, pick: fn(f64, f64) -> f64| {
        trials.iter().filter(|trial| trial.is_clean()).map(of).reduce(pick).unwrap_or(f64::NAN)
    };
    println!(
        "{name:<34} clean {clean} of {}  steps {} until nothing crosses, {} with relaxation  red grew in {} of {} steps ({} taken again)  edges {:.3} to {:.3}  {:.2} s, at most {:.1}",
        trials.len(),
        median(trials.iter().map(|trial| trial.assumptions.tangled_steps as f64)),
        median(trials.iter().map(|trial| trial.steps as f64)),
        sum(|counts| counts.growths),
        sum(|counts| counts.tangled_steps),
        sum(|counts| counts.retaken_steps),
        extreme(|trial| trial.edges.p01, f64::min),
        extreme(|trial| trial.edges.p99, f64::max),
        median(trials.iter().map(|trial| trial.seconds)),
        trials.iter().map(|trial| trial.seconds).fold(0.0, f64::max),
    );
    println!(
        "  assumptions that failed, in steps: hindered {}, no fan {}, red majority {}; made convex {}; measures: {}",
        sum(|counts| counts.hindered_steps),
        sum(|counts| counts.blocked_steps),
        sum(|counts| counts.majority_steps),
        sum(|counts| counts.convexified),
        measures(trials),
    );
    for trial in trials.iter().filter(|trial| !trial.is_clean()) {
        println!("  not clean: {}", trial.line());
    }
}

/// In how many trials each measure was taken.
fn measures(trials: &[Trial]) -> String {
    let mut names: Vec<&str> = trials.iter().flat_map(|trial| trial.measures.split(", ")).collect();
    names.iter_mut().for_each(|name| *name = name.rsplit_once(' ').map_or(*name, |(name, _)| name));
    names.retain(|name| !name.is_empty());
    names.sort_unstable();
    let counted = names.chunk_by(|a, b| a == b).map(|same| format!("{} in {}", same[0], same.len()));
    let counted: Vec<String> = counted.collect();
    if counted.is_empty() { "none".to_owned() } else { counted.join(", ") }
}

/// Pulls by where they were, as in table 6.1 of Cha 2022.
pub fn print_pulls(trials: &[Trial]) {
    let all: usize = trials.iter().map(|trial| trial.pulls.all().count).sum();
    let row = |name: &str, of: fn(&PullCounts) -> PullCount| {
        let count: usize = trials.iter().map(|trial| of(&trial.pulls).count).sum();
        let steps: usize = trials.iter().map(|trial| of(&trial.pulls).steps).sum();
        let share = 100.0 * count as f64 / all.max(1) as f64;
        println!(
            "  {name:<10} {count:>6} pulls  {share:>5.1} %  {:>5.2} steps each",
            steps as f64 / count.max(1) as f64
        );
    };
    row("off seam", |pulls| pulls.off_seam);
    row("on seam", |pulls| pulls.on_seam);
    row("at darts", |pulls| pulls.at_dart);
}

/// Processor time of this process so far, all threads together, in hundredths of a second.
fn processor_seconds() -> f64 {
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").expect("this bench needs Linux");
    // The name of the process may hold anything but ends with the last bracket; fields are counted from there.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / TICKS_PER_SECOND
}

/// The middle one of some values.
pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
