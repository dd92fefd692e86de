//! The bars of untangling, one command: `cargo run --release -p unsnarl-benches --bin fix --
//! [types|exploded|methods|folds|places|real|hard|knots|crumples|closed-bodies|tangles|layers|never-worse]... [--long] [--only NAME] [--seconds S] [--seeds N]
//! [--from SEED] [--gamma G]`.
//!
//! `types`: the seven types, cut regularly (seeds turn them in space) and irregularly, 4 resolutions, 10 seeds (100
//! with `--long`). `exploded`: handkerchiefs of 392 triangles, thrown centrally, but for a rim and as a whole, 100
//! seeds, and of 1,568, 20 seeds (1,000 with `--long`), and sewn ones with a dart. `methods`: 20 of them by the
//! methods without history. `folds`: collar, lapel, sleeve and skirt in every style. `places`: clean garments of
//! `assets` of which one place was exploded, 10 seeds each. `real`: garments of `assets`. `hard`: tangles on which
//! local methods stall, two resolutions, both cuts. `knots`: closed tubes through themselves. `crumples`: sheets with
//! a crossing pair per vertex. `closed-bodies`: balls, tori and a character as cloth. `tangles`: 10 and 1,000 small
//! ones on 100,000 vertices. `layers`: suits over each other. `never-worse`: all made cases, stopped after two seconds. Printed: how many came out clean, median of steps until nothing crosses and with
//! relaxation, whether red ever grew, the worst 1st and 99th percentile of edge length over rest, time, pulls by
//! where they were; then every bar, met or missed (status 1 if one is). A trial may take `S` seconds of processor
//! time, 60 unless told; seeds begin with `SEED`, 0 unless told. Types and exploded handkerchiefs are pulled by the
//! factor `G` per 0.02 s, 0.8 unless told.

mod bars;
mod closed;
mod large;
mod styles;
mod subject;
mod trial;

use bars::Bars;
use std::path::Path;
use std::process::ExitCode;
use styles::FOLDS;
use subject::Subject;
use trial::{Trial, median, print_pulls, print_row};
use unsnarl::fix::FoldStyle;
use unsnarl::samples::{self, Cut, Recipe};
use unsnarl::untangle::Method;

struct Options {
    suites: Vec<String>,
    is_long: bool,
    only: String,
    seconds: f64,
    seeds: Option<u64>,
    first_seed: u64,
    gamma: Option<f64>,
}

impl Options {
    /// The seeds to run, of which there are so many unless told.
    fn seeds(&self, usual: u64) -> std::ops::Range<u64> {
        self.first_seed..self.first_seed + self.seeds.unwrap_or(usual)
    }
}

type Suite = fn(&Options, &mut Bars);

const CUTS: [(Cut, &str); 2] = [(Cut::Regular, "regular"), (Cut::Irregular, "irregular")];

fn main() -> ExitCode {
    let options = options();
    let mut bars = Bars::default();
    let suites: [(&str, Suite); 13] = [
        ("types", types),
        ("exploded", exploded),
        ("methods", methods),
        ("folds", folds),
        ("places", places),
        ("real", real),
        ("hard", hard),
        ("knots", closed::knots),
        ("crumples", closed::crumples),
        ("closed-bodies", closed::bodies),
        ("tangles", large::tangles),
        ("layers", large::layers),
        ("never-worse", large::never_worse),
    ];
    for (name, run) in suites {
        if options.suites.is_empty() || options.suites.iter().any(|suite| suite == name) {
            run(&options, &mut bars);
        }
    }
    if bars.missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn options() -> Options {
    let mut options = Options {
        suites: Vec::new(),
        is_long: false,
        only: String::new(),
        seconds: 60.0,
        seeds: None,
        first_seed: 0,
        gamma: None,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().expect("an option has a value");
        match argument.as_str() {
            "--long" => options.is_long = true,
            "--only" => options.only = value(),
            "--seconds" => options.seconds = value().parse().expect("--seconds has a number"),
            "--seeds" => options.seeds = Some(value().parse().expect("--seeds has a number")),
            "--gamma" => options.gamma = Some(value().parse().expect("--gamma has a number")),
            "--from" => options.first_seed = value().parse().expect("--from has a number"),
            _ => options.suites.push(argument),
        }
    }
    options
}

/// Untangles a made case with several seeds and prints a row.
fn row(options: &Options, (name, resolution): (&str, usize), (cut, cut_name): (Cut, &str), seeds: u64) -> Vec<Trial> {
    let label = format!("{name} {resolution} {cut_name}");
    if !label.contains(&options.only) {
        return Vec::new();
    }
    let case = samples::find(name).expect("the case is there");
    let trial = |seed| {
        let mut subject = Subject::made(case, &Recipe { resolution, cut, seed });
        subject.settings.untangle.gamma = options.gamma.unwrap_or(subject.settings.untangle.gamma);
        Trial::run(format!("{label} seed {seed}"), subject, options.seconds)
    };
    let trials: Vec<Trial> = options.seeds(seeds).map(trial).collect();
    print_row(&label, &trials);
    trials
}

fn types(options: &Options, bars: &mut Bars) {
    let mut trials = Vec::new();
    for name in ["closed", "eight", "cross", "ll", "bbii", "bibi", "bli"] {
        let coarsest = samples::find(name).expect("the case is there").smallest_resolution.max(10);
        for cut in CUTS {
            for finer in [0, 4, 10, 18] {
                let seeds = if options.is_long { 100 } else { 10 };
                trials.extend(row(options, (name, coarsest + finer), cut, seeds));
            }
        }
    }
    bars.hold_clean("the seven types", &trials);
    bars.hold_red("the seven types", &trials);
}

fn exploded(options: &Options, bars: &mut Bars) {
    const MOST_STEPS: f64 = 75.0;
    for (name, resolution, seeds) in [
        ("exploded-central", 14, 100),
        ("exploded-inner", 14, 100),
        ("exploded-whole", 14, 100),
        ("exploded-sewn", 14, 100),
        ("exploded-central", 28, 20),
        ("exploded-inner", 28, 20),
        ("exploded-whole", 28, 20),
    ] {
        let trials = row(options, (name, resolution), CUTS[0], if options.is_long { 1000 } else { seeds });
        if trials.is_empty() {
            continue;
        }
        if name == "exploded-sewn" {
            print_pulls(&trials);
        }
        let label = format!("{name} {resolution}");
        bars.hold_clean(&label, &trials);
        bars.hold_red(&label, &trials);
        if label == "exploded-central 14" {
            let steps = median(trials.iter().map(|trial| trial.assumptions.tangled_steps as f64));
            let bound = format!("{MOST_STEPS}, the source's");
            bars.hold("exploded-central 14, median of steps until nothing crosses", steps, &bound, steps <= MOST_STEPS);
        }
    }
}

/// The methods without history and edge shortening alone on 20 exploded handkerchiefs, for the table.
fn methods(options: &Options, _: &mut Bars) {
    for name in ["exploded-central", "exploded-inner", "exploded-whole"] {
        for method in [Method::Gia, Method::Icm, Method::RepulsiveIcm, Method::SimPrev, Method::Esef, Method::Auto] {
            let label = format!("{name} 14 {}", method.name());
            if !label.contains(&options.only) {
                continue;
            }
            let case = samples::find(name).expect("the case is there");
            let trial = |seed| {
                let mut subject = Subject::made(case, &Recipe { resolution: 14, cut: Cut::Regular, seed });
                subject.settings.untangle.method = method;
                Trial::run(format!("{label} seed {seed}"), subject, options.seconds)
            };
            let trials: Vec<Trial> = options.seeds(20).map(trial).collect();
            print_row(&label, &trials);
        }
    }
}

/// Every style on every fold, and what became of it.
fn folds(options: &Options, bars: &mut Bars) {
    let (mut trials, mut as_asked) = (Vec::new(), 0);
    for fold in &FOLDS {
        let case = samples::find(fold.case).expect("the case is there");
        for (cut, cut_name) in CUTS {
            for seed in options.seeds(3) {
                for style in [None].into_iter().chain(FoldStyle::ALL.map(Some)) {
                    let name = style.map_or("by design", FoldStyle::name);
                    let label = format!("{} {cut_name} {seed} {name}", fold.case);
                    if !label.contains(&options.only) || (style == Some(FoldStyle::Crease) && fold.case != "lapel") {
                        continue;
                    }
                    let recipe = Recipe { resolution: case.default_resolution, cut, seed };
                    let mut subject = Subject::made(case, &recipe);
                    if style.is_some() {
                        subject.settings.vertices.styles.fill(style);
                    }
                    let trial = Trial::run(label, subject, options.seconds);
                    let outcome = fold.look(&case.make(&recipe), &trial.positions);
                    println!(
                        "{}  flap out {:.2} in {:.2} unfolded {:.2}",
                        trial.line(),
                        outcome.out,
                        outcome.inward,
                        outcome.unfolded
                    );
                    as_asked += usize::from(outcome.is(fold.asked_by(style)));
                    trials.push(trial);
                }
            }
        }
    }
    print_pulls(&trials);
    bars.hold_clean("folds", &trials);
    bars.hold_edges("folds", &trials);
    bars.hold(
        "folds whose flap is where its style asks for it",
        format!("{as_asked} of {}", trials.len()),
        "all",
        as_asked == trials.len(),
    );
}

/// Garments that are clean but for one exploded place: only its neighbourhood has to change.
fn places(options: &Options, bars: &mut Bars) {
    const GARMENTS: [&str; 4] = [
        "diffcloth_mit/tshirt1900.obj",
        "diffcloth_mit/skirt3448.obj",
        "character_cc0/clothes_fitted/male_casualsuit02.obj",
        "character_cc0/clothes_fitted/male_casualsuit04.obj",
    ];
    let mut run = Vec::new();
    for path in GARMENTS.map(|garment| Path::new("assets").join(garment)) {
        let name = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        for seed in options.seeds(10).filter(|_| name.contains(&options.only)) {
            match Subject::read(&path, &[], None) {
                Ok(subject) => {
                    let subject = subject.with_exploded_place(seed);
                    let trial = Trial::run(format!("{name}, place {seed}"), subject, options.seconds);
                    println!("{}", trial.line());
                    run.push(trial);
                }
                Err(reason) => println!("{name}: not run: {reason}"),
            }
        }
    }
    bars.hold_clean("garments with an exploded place", &run);
}

fn hard(options: &Options, bars: &mut Bars) {
    let mut trials = Vec::new();
    let names =
        ["wavy-sheets", "crossing-sheets", "sleeve-through-torso", "nested-tubes", "scrunched-sheet", "spiral-roll"];
    for name in names {
        let usual = samples::find(name).expect("the case is there").default_resolution;
        for resolution in [usual, usual * 3 / 2] {
            for (cut, cut_name) in CUTS {
                for seed in options.seeds(1) {
                    let label = format!("{name} {resolution} {cut_name} {seed}");
                    if label.contains(&options.only) {
                        let case = samples::find(name).expect("the case is there");
                        let subject = Subject::made(case, &Recipe { resolution, cut, seed });
                        let trial = Trial::run(label, subject, options.seconds);
                        println!("{}", trial.line());
                        trials.push(trial);
                    }
                }
            }
        }
    }
    bars.hold_clean("hard tangles", &trials);
    bars.hold_edges("hard tangles", &trials);
}

fn real(options: &Options, bars: &mut Bars) {
    const STRETCH: f64 = 1.10;
    let data = Path::new("assets");
    let cloth = data.join("diffcloth_mit");
    let suits = data.join("character_cc0/clothes_fitted");
    let (body, rest) = (data.join("character_cc0/body_rest.obj"), cloth.join("tshirt1900.obj"));
    let mut trials = vec![
        (cloth.join("tshirt1900-folding-biFolded.obj"), vec![], Some(rest.as_path())),
        (cloth.join("dress-v5k-f10k.obj"), vec![], None),
    ];
    for suit in
        ["female_casualsuit01", "female_sportsuit01", "male_casualsuit02", "male_casualsuit04", "male_casualsuit05"]
    {
        let path = suits.join(format!("{suit}.obj"));
        trials.push((path.clone(), vec![], None));
        trials.push((path, vec![body.as_path()], None));
    }
    let mut run = Vec::new();
    for (path, bodies, rest) in trials {
        let stem = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        let label = if bodies.is_empty() { stem } else { format!("{stem} with body") };
        if !label.contains(&options.only) {
            continue;
        }
        match Subject::read(&path, &bodies, rest) {
            Ok(subject) => {
                let trial = Trial::run(label, subject, options.seconds);
                println!("{}", trial.line());
                run.push(trial);
            }
            Err(reason) => println!("{label}: not run: {reason}"),
        }
    }
    print_pulls(&run);
    if !run.is_empty() {
        bars.hold_clean("real garments", &run);
        let excess =
            run.iter().map(|trial| trial.stretch.p99 / trial.stretch_before.p99.max(STRETCH)).fold(0.0, f64::max);
        let bound = format!("1: that of the input, or {STRETCH}");
        bars.hold(
            "real garments, 99th percentile of stretch over what it may be",
            format!("{excess:.3}"),
            &bound,
            excess <= 1.0,
        );
    }
}
