//! Untangles made cases and prints what came of each:
//! `cargo run --release -p unsnarl-benches --bin fix -- [CASE-PREFIX] [RESOLUTION] [SEEDS] [regular|irregular] [METHOD]`.

use std::sync::Arc;
use std::time::Instant;
use unsnarl::analysis::{self, Assembly, ContourKind, PartKind, Tangle};
use unsnarl::fix::report::Spread;
use unsnarl::fix::{self, Continue, FixMethod, FixSettings, Patient};
use unsnarl::model::{Cloth, Model, Rest};
use unsnarl::samples::{self, Cut, Recipe};

/// A case that takes longer than this counts as not clean.
const SECONDS_PER_CASE: f64 = 30.0;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, usual: u64| arguments.get(at).and_then(|text| text.parse().ok()).unwrap_or(usual);
    let prefix = arguments.first().cloned().unwrap_or_default();
    let cut = if arguments.get(3).is_some_and(|text| text == "irregular") { Cut::Irregular } else { Cut::Regular };
    let named = |method: &FixMethod| arguments.get(4).is_some_and(|text| text == method.name());
    let method = FixMethod::ALL.into_iter().find(named).unwrap_or_default();
    let settings = FixSettings { method, ..FixSettings::default() };
    let (mut clean, mut total) = (0, 0);
    for case in samples::cases().filter(|case| case.name.starts_with(&prefix)) {
        for seed in 0..number(2, 3) {
            let recipe = Recipe { resolution: number(1, 14) as usize, cut, seed };
            total += 1;
            clean += usize::from(untangle(case, &recipe, &settings));
        }
    }
    println!("{clean} of {total} clean");
}

/// Untangles one case, prints a line, and says whether it came out clean.
fn untangle(case: &samples::Case, recipe: &Recipe, settings: &FixSettings) -> bool {
    let sample = case.make(recipe);
    let mesh = &sample.mesh;
    let mut cloth = Cloth::new(case.name, mesh.clone());
    cloth.rest = Rest::Panels(sample.uv.clone());
    let (model, state) = Model::build(&[cloth]).expect("samples are sound");
    let assembly =
        Assembly::new([(case.name.to_owned(), PartKind::Cloth, mesh.positions.len(), mesh.triangles.as_slice())])
            .expect("samples are sound");
    let before = analysis::analyze(&assembly, &mesh.positions, &mut analysis::Workspace::default());
    let start = Instant::now();
    let patient = Patient { model, state, assembly, body_positions: Vec::new() };
    let model = patient.model.clone();
    let is_late = move || start.elapsed().as_secs_f64() > SECONDS_PER_CASE;
    let outcome = fix::untangle_unless(patient, settings, Arc::new(is_late), &mut |_| {
        if is_late() { Continue::No } else { Continue::Yes }
    });
    let edges = Spread::of_edges(&model, &outcome.positions);
    let verdict = if outcome.verdict.is_clean() { "CLEAN" } else { "LEFT" };
    println!(
        "{:<22} seed {:<3} {verdict:<5} {:>4} steps {:>6.2} s  edges {:.2} {:.2}  retreats {}  {} -> {}",
        case.name,
        recipe.seed,
        outcome.steps,
        start.elapsed().as_secs_f64(),
        edges.p01,
        edges.p99,
        outcome.resolvers.retreat,
        counts(&before),
        counts(&outcome.tangle)
    );
    outcome.verdict.is_clean()
}

fn counts(tangle: &Tangle) -> String {
    let named: Vec<String> = ContourKind::ALL
        .into_iter()
        .filter(|&kind| tangle.count(kind) > 0)
        .map(|kind| format!("{} {}", tangle.count(kind), kind.name()))
        .collect();
    if named.is_empty() { "nothing".to_owned() } else { named.join(", ") }
}
