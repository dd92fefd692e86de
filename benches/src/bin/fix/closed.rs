//! Suites for what contour minimisation is for: closed tubes and bodies through themselves, and dense crumples.

use crate::bars::Bars;
use crate::large::on_threads;
use crate::subject::Subject;
use crate::trial::{Trial, median};
use crate::{CUTS, Options};
use std::f64::consts::PI;
use unsnarl::samples::{self, Case, Family, Recipe};

/// Knots and woven rings at two resolutions, both cuts.
pub fn knots(options: &Options, bars: &mut Bars) {
    const STRETCH: f64 = 1.15;
    let (mut trials, mut farthest) = (Vec::new(), 0.0_f64);
    for case in samples::cases().filter(|case| case.family == Family::Knots) {
        for resolution in [10, 16] {
            for (cut, cut_name) in CUTS {
                for seed in options.seeds(1) {
                    let label = format!("{} {resolution} {cut_name} {seed}", case.name);
                    let Some(trial) = run(options, case, label, &Recipe { resolution, cut, seed }) else { continue };
                    // An edge is the circumference of a tube over its sectors.
                    farthest = farthest.max(trial.displacement.max_edges / (resolution as f64 / PI));
                    trials.push(trial);
                }
            }
        }
    }
    if trials.is_empty() {
        return;
    }
    bars.hold_clean("knots and rings", &trials);
    let stretch = trials.iter().map(|trial| trial.stretch.p99).fold(0.0, f64::max);
    bars.hold("knots, 99th percentile of stretch", format!("{stretch:.3}"), "1.15", stretch <= STRETCH);
    bars.hold("knots, farthest move over two tube radii", format!("{farthest:.2}"), "1", farthest <= 1.0);
    println!("       median of processor time {:.2} s", median(trials.iter().map(|trial| trial.seconds)));
}

/// Balls, tori and a character through themselves and each other, two resolutions, both cuts.
pub fn bodies(options: &Options, bars: &mut Bars) {
    for case in samples::cases().filter(|case| case.family == Family::ClosedBodies) {
        let bound = if case.name == "character" { 1.25 } else { 1.15 };
        let mut trials = Vec::new();
        for resolution in [case.default_resolution, case.default_resolution * 5 / 3] {
            for (cut, cut_name) in CUTS {
                for seed in options.seeds(1) {
                    let label = format!("{} {resolution} {cut_name} {seed}", case.name);
                    trials.extend(run(options, case, label, &Recipe { resolution, cut, seed }));
                }
            }
        }
        if !trials.is_empty() {
            bars.hold_clean(case.name, &trials);
            let stretch = trials.iter().map(|trial| trial.stretch.p99).fold(0.0, f64::max);
            let what = format!("{}, 99th percentile of stretch", case.name);
            bars.hold(&what, format!("{stretch:.3}"), &bound.to_string(), stretch <= bound);
        }
    }
}

/// Crumpled sheets of 5,000 and 20,000 vertices, with `--long` of 50,000 and 100,000 too, on two threads.
pub fn crumples(options: &Options, bars: &mut Bars) {
    const NEAR: f64 = 5.0;
    const GROWTH: f64 = 1.5;
    const LARGE: usize = 223;
    const SECONDS_OF_LARGE: f64 = 120.0;
    let case = samples::find("crumpled").expect("the case is there");
    let resolutions: &[usize] = if options.is_long { &[70, 140, LARGE, 316] } else { &[70, 140] };
    let mut trials = Vec::new();
    for &resolution in resolutions {
        for seed in options.seeds(1) {
            let label = format!("crumpled {resolution} {seed}");
            if !label.contains(&options.only) {
                continue;
            }
            let subject = Subject::made(case, &Recipe { resolution, cut: CUTS[1].0, seed });
            let trial = on_threads(2, || Trial::run_on_the_clock(label, subject, options.seconds));
            print(&trial);
            if resolution == LARGE {
                let seconds = trial.wall_seconds;
                let what = format!("{}, seconds on two threads", trial.name);
                bars.hold(&what, format!("{seconds:.0}"), "120", seconds <= SECONDS_OF_LARGE);
            }
            trials.push(trial);
        }
    }
    let (Some(first), Some(last)) = (trials.first(), trials.last()) else { return };
    bars.hold_clean("crumples", &trials);
    let far = trials.iter().map(|trial| trial.displacement.p90_edges).fold(0.0, f64::max);
    bars.hold("crumples, 90th percentile of moves in mean edges", format!("{far:.1}"), "5", far <= NEAR);
    let per_vertex = |trial: &Trial| trial.wall_seconds / trial.vertex_count as f64;
    let growth = per_vertex(last) / per_vertex(first);
    bars.hold("crumples, growth of time per vertex", format!("{growth:.2}"), "1.5", growth <= GROWTH);
}

fn run(options: &Options, case: &Case, label: String, recipe: &Recipe) -> Option<Trial> {
    if !label.contains(&options.only) {
        return None;
    }
    let trial = Trial::run(label, Subject::made(case, recipe), options.seconds);
    print(&trial);
    Some(trial)
}

fn print(trial: &Trial) {
    println!(
        "{}  {:.1} s on the clock  farthest {:.1} edges, 90 % within {:.1}",
        trial.line(),
        trial.wall_seconds,
        trial.displacement.max_edges,
        trial.displacement.p90_edges
    );
}
