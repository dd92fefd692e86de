//! The seven types by method, measured: how many of the made cases each method brings to a clean state.
//!
//! `cargo run --release -p unsnarl-benches --bin methods -- [SEEDS] [STEPS] [CASE] [METHOD]` prints a table: of as many irregularly cut
//! handkerchiefs as there are seeds, how many are clean by the exact check, and the median of their steps. The source's claim
//! (Cha 2022, figure 2.1) stands beside each: `o` complete, `^` partial, `-` out of scope.

use rayon::prelude::*;
use unsnarl::analysis::{Assembly, PartKind};
use unsnarl::fix::{self, Continue, FixSettings, Patient};
use unsnarl::model::{Cloth, Model, Rest};
use unsnarl::samples::{self, Cut, Recipe};
use unsnarl::untangle::Method;

/// Rows: a made case, its type, the claims for GIA, ICM, Repulsive-ICM and UIR.
const ROWS: [(&str, &str, [char; 4]); 8] = [
    ("closed", "CLOSED", ['^', '^', '^', '^']),
    ("bbii", "BBII", ['-', '^', '^', 'o']),
    ("bbii-corner", "BBII corner", ['-', '^', '^', 'o']),
    ("bibi", "BIBI", ['-', '^', 'o', 'o']),
    ("eight", "EIGHT", ['^', '^', '^', '^']),
    ("cross", "CROSS", ['-', '^', '^', '-']),
    ("ll", "LL", ['-', '^', '^', '^']),
    ("bli", "BLI", ['-', '-', '^', '-']),
];

const METHODS: [Method; 7] =
    [Method::Off, Method::Gia, Method::Icm, Method::RepulsiveIcm, Method::Uir, Method::SimPrev, Method::Auto];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, usual: usize| arguments.get(at).and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (seeds, steps) = (number(0, 100), number(1, 1000));
    let wanted = |at: usize, name: &str| arguments.get(at).is_none_or(|text| text == "all" || text == name);
    println!("{seeds} seeds, at most {steps} steps: clean (median steps of the clean ones) [claim]");
    print!("{:<12}", "");
    for method in METHODS.iter().filter(|method| wanted(3, method.name())) {
        print!("{:>20}", method.name());
    }
    println!();
    for (case, kind, claims) in ROWS.iter().filter(|row| wanted(2, row.0)) {
        print!("{kind:<12}");
        for method in METHODS.iter().filter(|method| wanted(3, method.name())) {
            let runs: Vec<Option<usize>> =
                (0..seeds).into_par_iter().map(|seed| steps_to_clean(case, seed as u64, *method, steps)).collect();
            let mut clean: Vec<usize> = runs.into_iter().flatten().collect();
            clean.sort_unstable();
            let claim = Method::CLASSIC.iter().position(|classic| classic == method).and_then(|at| claims.get(at));
            let median = clean.get(clean.len() / 2).map_or("-".to_owned(), ToString::to_string);
            let text =
                format!("{} ({median}){}", clean.len(), claim.map_or(String::new(), |claim| format!(" [{claim}]")));
            print!("{text:>20}");
        }
        println!();
    }
}

/// The steps after which a case was clean, or `None`.
fn steps_to_clean(name: &str, seed: u64, method: Method, steps: usize) -> Option<usize> {
    let case = samples::find(name).expect("the cases are named above");
    let sample = case.make(&Recipe { resolution: case.smallest_resolution.max(10), cut: Cut::Irregular, seed });
    let mut cloth = Cloth::new(name, sample.mesh.clone());
    cloth.rest = Rest::Panels(sample.uv.clone());
    let (model, state) = Model::build(&[cloth]).expect("samples are sound");
    let part = (name.to_owned(), PartKind::Cloth, sample.mesh.positions.len(), sample.mesh.triangles.as_slice());
    let assembly = Assembly::new([part]).expect("samples are sound");
    let patient = Patient { model, state, assembly, body_positions: Vec::new() };
    let patience = if method.is_classic() { 30 } else { FixSettings::default().patience };
    let settings = FixSettings { patience, largest_step_count: steps, ..FixSettings::with_method(method) };
    let outcome = fix::untangle(patient, &settings, &mut |_| Continue::Yes);
    outcome.verdict.is_clean().then_some(outcome.steps)
}
