//! The bars of untangling, one command:
//! `cargo run --release -p unsnarl-benches --bin fix -- [types|exploded|methods|folds|real|hard]... [--long] [--only NAME] [--seconds S] [--seeds N] [--from SEED]`.
//!
//! `types`: the seven types, cut regularly (seeds turn them in space) and irregularly, 4 resolutions, 10 seeds (100 with `--long`). `exploded`:
//! handkerchiefs of 392 triangles, thrown centrally, but for a rim and as a whole, 100 seeds, and of 1,568, 20 seeds (1,000 with `--long`), and sewn ones with a dart. `methods`:
//! 20 of them by the methods without history. `folds`: collar, lapel, sleeve and skirt in every style. `real`: garments of `../shared/data`. `hard`: tangles on which local methods stall, two
//! resolutions, both cuts. Printed: how many came out clean, median of steps until nothing crosses and with relaxation, whether red ever grew, the
//! worst 1st and 99th percentile of edge length over rest, time, pulls by where they were. A trial may take `S` seconds of processor time, 60 unless told; seeds begin
//! with `SEED`, 0 unless told.

mod styles;
mod subject;
mod trial;

use std::path::Path;
use styles::FOLDS;
use subject::Subject;
use trial::{Trial, print_pulls, print_row};
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
}

impl Options {
    /// The seeds to run, of which there are so many unless told.
    fn seeds(&self, usual: u64) -> std::ops::Range<u64> {
        self.first_seed..self.first_seed + self.seeds.unwrap_or(usual)
    }
}

type Suite = fn(&Options);

const CUTS: [(Cut, &str); 2] = [(Cut::Regular, "regular"), (Cut::Irregular, "irregular")];

fn main() {
    let options = options();
    let suites: [(&str, Suite); 6] = [
        ("types", types),
        ("exploded", exploded),
        ("methods", methods),
        ("folds", folds),
        ("real", real),
        ("hard", hard),
    ];
    for (name, run) in suites {
        if options.suites.is_empty() || options.suites.iter().any(|suite| suite == name) {
            run(&options);
        }
    }
}

fn options() -> Options {
    let mut options =
        Options { suites: Vec::new(), is_long: false, only: String::new(), seconds: 60.0, seeds: None, first_seed: 0 };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().expect("an option has a value");
        match argument.as_str() {
            "--long" => options.is_long = true,
            "--only" => options.only = value(),
            "--seconds" => options.seconds = value().parse().expect("--seconds has a number"),
            "--seeds" => options.seeds = Some(value().parse().expect("--seeds has a number")),
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
        let subject = Subject::made(case, &Recipe { resolution, cut, seed });
        Trial::run(format!("{label} seed {seed}"), subject, options.seconds)
    };
    let trials: Vec<Trial> = options.seeds(seeds).map(trial).collect();
    print_row(&label, &trials);
    trials
}

fn types(options: &Options) {
    for name in ["closed", "eight", "cross", "ll", "bbii", "bibi", "bli"] {
        let coarsest = samples::find(name).expect("the case is there").smallest_resolution.max(10);
        for cut in CUTS {
            for finer in [0, 4, 10, 18] {
                row(options, (name, coarsest + finer), cut, if options.is_long { 100 } else { 10 });
            }
        }
    }
}

fn exploded(options: &Options) {
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
        if name == "exploded-sewn" && !trials.is_empty() {
            print_pulls(&trials);
        }
    }
}

/// The methods without history and edge shortening alone on 20 exploded handkerchiefs, for the table.
fn methods(options: &Options) {
    for name in ["exploded-central", "exploded-inner", "exploded-whole"] {
        for method in [Method::Gia, Method::Icm, Method::RepulsiveIcm, Method::SimPrev, Method::Esef, Method::Auto] {
            let label = format!("{name} 14 {}", method.name());
            if !label.contains(&options.only) {
                continue;
            }
            let case = samples::find(name).expect("the case is there");
            let trial = |seed| {
                let mut subject = Subject::made(case, &Recipe { resolution: 14, cut: Cut::Regular, seed });
                subject.settings.method = method;
                Trial::run(format!("{label} seed {seed}"), subject, options.seconds)
            };
            let trials: Vec<Trial> = options.seeds(20).map(trial).collect();
            print_row(&label, &trials);
        }
    }
}

/// Every style on every fold, and what became of it.
fn folds(options: &Options) {
    let mut trials = Vec::new();
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
                        subject.settings.styles.fill(style);
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
                    trials.push(trial);
                }
            }
        }
    }
    print_pulls(&trials);
}

fn hard(options: &Options) {
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
                        println!("{}", Trial::run(label, subject, options.seconds).line());
                    }
                }
            }
        }
    }
}

fn real(options: &Options) {
    let data = Path::new("../shared/data");
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
}
