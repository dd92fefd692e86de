//! Untangles made cases and prints what came of each: `fix_cases NAME-PREFIX RESOLUTION SEEDS [regular|irregular]`.

use std::time::Instant;
use unsnarl::analysis::report::TypeCounts;
use unsnarl::analysis::{self, Assembly, PartKind};
use unsnarl::fix::{self, Continue, FixSettings, Patient};
use unsnarl::model::{Cloth, Model, Rest};
use unsnarl::samples::{self, Cut, Recipe};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let prefix = arguments.get(1).cloned().unwrap_or_default();
    let resolution: usize = arguments.get(2).and_then(|text| text.parse().ok()).unwrap_or(14);
    let seeds: u64 = arguments.get(3).and_then(|text| text.parse().ok()).unwrap_or(3);
    let cut = if arguments.get(4).is_some_and(|text| text == "irregular") { Cut::Irregular } else { Cut::Regular };
    let verbose = arguments.get(5).is_some();
    let mut clean = 0;
    let mut total = 0;
    for case in samples::cases().filter(|case| case.name.starts_with(&prefix)) {
        for seed in 0..seeds {
            let sample = case.make(&Recipe { resolution, cut, seed });
            let mut cloth = Cloth::new(case.name, sample.mesh.clone());
            cloth.rest = Rest::Panels(sample.uv.clone());
            let (model, state) = Model::build(&[cloth]).expect("samples are sound");
            let mesh = &sample.mesh;
            let assembly =
                Assembly::new([(case.name.to_owned(), PartKind::Cloth, mesh.positions.len(), &mesh.triangles[..])])
                    .expect("samples are sound");
            let before = analysis::analyze(&assembly, &mesh.positions, &mut analysis::Workspace::default());
            let start = Instant::now();
            let patient = Patient { model, state, assembly, body_positions: Vec::new() };
            let mut last = String::new();
            let outcome = fix::untangle(patient, &FixSettings::default(), &mut |progress| {
                if verbose && progress.step % 10 == 0 {
                    println!(
                        "   step {} contours {} red {} star {}  {:?}",
                        progress.step,
                        progress.tangle.contours.len(),
                        progress.tangle.colours.red_vertices.len(),
                        progress.tangle.colours.red_star_triangles.len(),
                        TypeCounts::new(progress.tangle)
                    );
                }
                last = format!("{}", progress.tangle.contours.len());
                if start.elapsed().as_secs_f64() > 30.0 { Continue::No } else { Continue::Yes }
            });
            total += 1;
            clean += usize::from(outcome.verdict.is_clean());
            println!(
                "{:<22} seed {seed} {:?} -> {} pairs {} steps {} contours left {:.2} s {:?}",
                case.name,
                counts(&before),
                if outcome.verdict.is_clean() { "CLEAN" } else { "DIRTY" },
                outcome.verdict.pairs.len(),
                outcome.steps,
                start.elapsed().as_secs_f64(),
                counts(&outcome.tangle),
            );
        }
    }
    println!("{clean} of {total} clean");
}

fn counts(tangle: &unsnarl::analysis::Tangle) -> Vec<String> {
    use unsnarl::analysis::ContourKind;
    ContourKind::ALL
        .into_iter()
        .filter(|&kind| tangle.count(kind) > 0)
        .map(|kind| format!("{} {}", tangle.count(kind), kind.name()))
        .collect()
}
