//! Cloth dynamics measured: the hanging sheet beside its peers, growth with size, and the Cusick drape test.
//!
//! ```text
//! dynamics sheet SIDE SECONDS [THREADS [TOLERANCE [STEPS [bdf2|euler [direct]]]]]   wall time per simulated second and stretch of the
//!                                         implicit model with so many steps per frame of 1/24 s, as a JSON line; STEPS 0: mass-spring
//! dynamics scaling                        cost per vertex and solver iteration from 50,000 to 300,000 vertices
//! dynamics drape PICTURE.png [FABRIC...]  drape coefficients of the presets with both models, and a picture
//! ```
//! `benches/python/dynamics.py` runs the sheet here and in the peers, one after the other.

use rayon::prelude::*;
use std::process::ExitCode;
use std::time::Instant;
use unsnarl::contact::{CollisionMethod, ContactSettings};
use unsnarl::dynamics::{Guidance, Start, Workspace, propose};
use unsnarl::geometry::{DVec2, DVec3, VertexId};
use unsnarl::model::{Cloth, Model, Rest};
use unsnarl::scene::environment::Environment;
use unsnarl::scene::fabric::Fabric;
use unsnarl::scene::sheet::{Diagonals, disc, sheet};
use unsnarl::settings::{ClothModel, DynamicsSettings, Integration, LinearSolver, Newmark, Settings, TimeSettings};
use unsnarl::simulation::{Flow, Simulation, World};
use unsnarl::state::State;
use unsnarl_geometry::Aabb;
use unsnarl_io::picture::{MeshStyle, Picture, View, Wireframe};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<f64>().ok());
    match words.first().map(String::as_str) {
        Some("sheet") => {
            if let Some(threads) = number(3) {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads as usize);
                pool.build_global().expect("the pool is not built yet");
            }
            let (side, seconds) = (number(1).unwrap_or(100.0) as usize, number(2).unwrap_or(1.0));
            let has = |word: &str| words.iter().any(|own| own == word);
            let settings = DynamicsSettings {
                tolerance: number(4).unwrap_or(0.01),
                integration: if has("euler") { Integration::BackwardEuler } else { Integration::Bdf2 },
                solver: if has("direct") { LinearSolver::Direct } else { LinearSolver::ConjugateGradients },
                ..DynamicsSettings::default()
            };
            println!("{}", hanging_sheet(side, seconds, settings, number(5).unwrap_or(2.0)));
        }
        Some("scaling") => scaling(),
        Some("drape") => drape(words.get(1).map_or("drape.png", String::as_str), words.get(2..).unwrap_or(&[])),
        _ => {
            eprintln!(
                "expected: sheet SIDE SECONDS [THREADS [TOLERANCE [STEPS [bdf2|euler [direct]]]]], scaling, or drape PICTURE.png [FABRIC...]"
            );
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

fn world(cloth: Cloth, environment: Environment) -> (World, State) {
    let (model, state) = Model::build(&[cloth]).expect("the bench's cloth is sound");
    (World::new(model, environment, Vec::new(), Vec::new()).expect("there is no body"), state)
}

/// One metre square, level, held by one edge, for some simulated time.
fn hanging_sheet(side: usize, seconds: f64, dynamics: DynamicsSettings, steps_per_frame: f64) -> String {
    let model = if steps_per_frame > 0.0 { ClothModel::BaraffWitkin } else { ClothModel::MassSpring };
    let (mesh, uv) = sheet(DVec2::ONE, side - 1, side - 1, Diagonals::Alternating);
    let mut cloth = Cloth { rest: Rest::Panels(uv), ..Cloth::new("sheet", mesh) };
    for point in &mut cloth.mesh.positions {
        *point = DVec3::new(point.x, 0.0, -point.y);
    }
    cloth.pins = (0..side).map(|row| VertexId::new(row * side)).collect();
    cloth.fabric = Fabric { stretch_limit: 0.01, ..Fabric::default() };
    let rest = cloth.mesh.positions.clone();
    let vacuum = Environment { air_density: 0.0, ..Environment::default() };
    let (world, state) = world(cloth, vacuum);
    let settings = Settings {
        time: TimeSettings { step: 1.0 / 24.0 / steps_per_frame.max(1.0), ..TimeSettings::default() },
        dynamics: DynamicsSettings { model, ..dynamics },
        collision: ContactSettings { method: CollisionMethod::Solids, ..ContactSettings::default() },
        ..Settings::default()
    };
    let mut simulation = Simulation::new(world, state, settings);
    let (mut steps, mut iterations) = (0, 0);
    let frames = (24.0 * seconds).round().max(1.0) as usize;
    let (mut wall, mut mean, mut p99, mut max) = (0.0, 0.0f64, 0.0f64, 0.0f64);
    for _ in 0..frames {
        let begun = Instant::now();
        let report = simulation.advance(1.0 / 24.0, &mut |_| Flow::GoOn).expect("nothing stops the bench");
        steps += report.steps;
        iterations += report.solver_iterations;
        wall += begun.elapsed().as_secs_f64() * 24.0 / frames as f64;
        let now = stretch(side, &rest, &simulation.state.positions);
        (mean, p99, max) = (mean.max(now.0), p99.max(now.1), max.max(now.2));
    }
    let lowest = simulation.state.positions.iter().map(|point| point.y).fold(0.0, f64::min);
    format!(
        "{{\"program\": \"unsnarl {model:?}\", \"vertices\": {}, \"threads\": {}, \"seconds_per_simulated_second\": {wall:.3}, \
         \"stretch_mean\": {mean:.5}, \"stretch_p99\": {p99:.5}, \"stretch_max\": {max:.5}, \"lowest\": {lowest:.4}, \
         \"steps\": {steps}, \"solver_iterations\": {iterations}}}",
        side * side,
        rayon::current_num_threads(),
    )
}

/// Mean, 99th percentile and largest ratio of the grid's edges to their rest length.
fn stretch(side: usize, rest: &[DVec3], now: &[DVec3]) -> (f64, f64, f64) {
    let mut ratios = Vec::new();
    for row in 0..side {
        for column in 0..side {
            let here = row * side + column;
            let next = [(column + 1 < side).then_some(here + 1), (row + 1 < side).then_some(here + side)];
            for there in next.into_iter().flatten() {
                ratios.push((now[there] - now[here]).length() / (rest[there] - rest[here]).length());
            }
        }
    }
    ratios.sort_by(f64::total_cmp);
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    (mean, ratios[ratios.len() * 99 / 100], ratios[ratios.len() - 1])
}

/// Sheets of one edge length and growing size: time of one step per vertex and iteration.
fn scaling() {
    println!("vertices  iterations  ms per step  ns per vertex and iteration");
    let mut first = None;
    for side in [224usize, 316, 388, 548] {
        let size = DVec2::splat((side - 1) as f64 * 0.005);
        let (mesh, uv) = sheet(size, side - 1, side - 1, Diagonals::Alternating);
        let mut cloth = Cloth { rest: Rest::Panels(uv), ..Cloth::new("sheet", mesh) };
        cloth.pins = (0..side).map(VertexId::new).collect();
        let (world, state) = world(cloth, Environment::default());
        let settings = DynamicsSettings { tolerance: 1e-12, iterations: 100, ..DynamicsSettings::default() };
        let start = Start { model: &world.model, state: &state, environment: &world.environment, step: 0.01 };
        let mut workspace = Workspace::default();
        propose(&start, &Guidance::default(), &settings, &mut workspace);
        let begun = Instant::now();
        let rounds = 3;
        let mut iterations = 0;
        for _ in 0..rounds {
            iterations += propose(&start, &Guidance::default(), &settings, &mut workspace).report.iterations;
        }
        let seconds = begun.elapsed().as_secs_f64();
        let cost = 1e9 * seconds / (f64::from(iterations) * (side * side) as f64);
        let growth = cost / *first.get_or_insert(cost);
        let per_step = 1e3 * seconds / f64::from(rounds);
        println!(
            "{:8}  {:10}  {per_step:11.1}  {cost:8.2}  ({growth:.2} of the smallest)",
            side * side,
            iterations / rounds as u32
        );
    }
}

/// A disc of 30 cm held between two discs of 18 cm: the share of the ring that its shadow still covers.
fn drape(picture_path: &str, only: &[String]) {
    let published = [
        ("silk", 20.0, 40.0),
        ("cotton", 60.0, 76.0),
        ("wool", 40.0, 70.0),
        ("leather", 47.0, 70.0),
        ("denim", 70.0, 90.0),
    ];
    let chosen: Vec<_> =
        published.into_iter().filter(|row| only.is_empty() || only.iter().any(|name| name == row.0)).collect();
    let mut picture = Picture::new(320 * chosen.len().max(2), 700);
    picture.title("Cusick drape, 30 cm on 18 cm: Baraff-Witkin above, mass-spring below");
    println!("fabric    model          coefficient  published");
    let models = [ClothModel::BaraffWitkin, ClothModel::MassSpring];
    let tests: Vec<_> = chosen.iter().flat_map(|&(name, ..)| models.map(|model| (name, model))).collect();
    let mut shapes =
        tests.into_par_iter().with_max_len(1).map(|(name, model)| draped(name, model)).collect::<Vec<_>>().into_iter();
    for (column, &(name, low, high)) in chosen.iter().enumerate() {
        for (row, model) in models.into_iter().enumerate() {
            let Some((positions, triangles)) = shapes.next() else { return };
            let coefficient = 100.0 * shadow_share(&positions, &triangles);
            let verdict = if (low..=high).contains(&coefficient) { "inside" } else { "OUTSIDE" };
            println!("{name:8}  {:13}  {coefficient:9.1} %  {low:.0}-{high:.0} %  {verdict}", format!("{model:?}"));
            let area = picture.area().column(column, chosen.len()).row(row, 2);
            let bounds = Aabb { min: DVec3::new(-0.15, -0.12, -0.15), max: DVec3::new(0.15, 0.02, 0.15) };
            let view = View::framing(bounds, DVec3::new(0.3, 1.0, 0.6), area);
            let style = MeshStyle { wireframe: Wireframe::Off, ..MeshStyle::CLOTH };
            picture.draw_mesh(&view, &positions, &triangles, &style);
            picture.text(
                DVec2::new(area.left + 20.0, area.top + 20.0),
                &format!("{name} {coefficient:.0} %"),
                unsnarl_io::picture::Colour::INK,
            );
        }
    }
    match unsnarl_io::write_atomically(std::path::Path::new(picture_path), &picture.encode_png()) {
        Ok(()) => println!("{picture_path}"),
        Err(error) => eprintln!("{error}"),
    }
}

fn draped(name: &str, model: ClothModel) -> (Vec<DVec3>, Vec<[u32; 3]>) {
    let (mesh, uv) = disc(0.15, if model == ClothModel::MassSpring { 20 } else { 30 });
    let triangles = mesh.triangles.clone();
    let mut cloth = Cloth { rest: Rest::Panels(uv), ..Cloth::new(name, mesh) };
    // Damping lets the disc settle; where it settles does not depend on it.
    let bend_damping = if model == ClothModel::MassSpring { 0.2 } else { 0.02 };
    cloth.fabric = Fabric { stretch_damping: 0.01, bend_damping, ..Fabric::preset(name).unwrap_or_default() };
    for point in &mut cloth.mesh.positions {
        let angle = point.y.atan2(point.x);
        let rise = 2e-4 * ((3.0 * angle).sin() + (7.0 * angle).cos()) * (point.length() / 0.15).powi(4);
        *point = DVec3::new(point.x, rise, -point.y);
    }
    let held = |point: &DVec3| point.x.hypot(point.z) < 0.09 + 1e-9;
    let vertices = (0..cloth.mesh.positions.len()).filter(|&vertex| held(&cloth.mesh.positions[vertex]));
    cloth.pins = vertices.map(VertexId::new).collect();
    let (world, state) = world(cloth, Environment::default());
    let mut settings =
        Settings { dynamics: DynamicsSettings { model, ..DynamicsSettings::default() }, ..Settings::default() };
    settings.collision.method = CollisionMethod::Solids;
    // Springs that are softened for the sake of longer steps let the rim stretch, and the disc hangs as if it bent more easily.
    settings.dynamics.mass_spring.step = 0.00002;
    settings.dynamics.mass_spring.strain_passes = 2;
    // Damping this strong wants the variant that begins with an implicit half step, and a solve that does not feed errors back into it.
    settings.dynamics.mass_spring.newmark = Newmark::Monotone;
    if model == ClothModel::MassSpring {
        settings.dynamics.tolerance = 1e-4;
    }
    let mut simulation = Simulation::new(world, state, settings);
    let mut before = f64::INFINITY;
    for quarter in 0..16 {
        for _ in 0..6 {
            let _ = simulation.advance(1.0 / 24.0, &mut |_| Flow::GoOn);
        }
        let now = shadow_share(&simulation.state.positions, &triangles);
        let settled = (now - before).abs() < SETTLED;
        before = now;
        if settled && quarter >= 5 {
            break;
        }
    }
    (simulation.state.positions, triangles)
}

/// A disc whose coefficient changes by less than this in a quarter of a second has settled.
const SETTLED: f64 = 0.004;

/// Shadow from above, less the support, over the flat disc, less the support: counted on a raster of half millimetres.
fn shadow_share(positions: &[DVec3], triangles: &[[u32; 3]]) -> f64 {
    let (cell, half) = (0.0005, 0.16);
    let count = (2.0 * half / cell) as usize;
    let mut covered = vec![false; count * count];
    for triangle in triangles {
        let corners = triangle.map(|vertex| DVec2::new(positions[vertex as usize].x, positions[vertex as usize].z));
        let low = ((corners[0].min(corners[1]).min(corners[2]) + half) / cell).floor().max(DVec2::ZERO);
        let high =
            ((corners[0].max(corners[1]).max(corners[2]) + half) / cell).ceil().min(DVec2::splat(count as f64 - 1.0));
        for row in low.y as usize..=high.y as usize {
            for column in low.x as usize..=high.x as usize {
                let point = DVec2::new(column as f64 + 0.5, row as f64 + 0.5) * cell - half;
                let side = |k: usize| (corners[(k + 1) % 3] - corners[k]).perp_dot(point - corners[k]);
                let sides = [side(0), side(1), side(2)];
                if sides.iter().all(|&side| side >= 0.0) || sides.iter().all(|&side| side <= 0.0) {
                    covered[row * count + column] = true;
                }
            }
        }
    }
    let shadow = covered.iter().filter(|&&covered| covered).count() as f64 * cell * cell;
    let support = std::f64::consts::PI * 0.09 * 0.09;
    (shadow - support) / (std::f64::consts::PI * 0.15 * 0.15 - support)
}
