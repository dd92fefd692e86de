//! The sculpting tool on the bunny: strokes, refinement, what travels to a viewer, pictures.
//!
//! Usage: sculpting [strokes] [refine] [view] [picture]   (all of them by default). Two threads.

use std::time::Instant;
use unsnarl_geometry::{DVec3, TriMesh};
use unsnarl_io::mesh::{self, ReadOptions};
use unsnarl_volume::LevelSet;
use unsnarl_volume::level_set::trace::{Lookout, TraceSettings, Tracer};
use unsnarl_volume::level_set::view_set::{Camera, ViewRules, ViewSet};
use unsnarl_volume::level_set::{Beyond, Doubling, Extraction, History, MeshSettings, Stroke, Tool};

const USAGE: &str = "usage: sculpting [strokes] [refine] [view] [picture]   (all of them by default)";
const PARTS: [&str; 4] = ["strokes", "refine", "view", "picture"];
const BODY: &str = "quartet_isc/bunny_watertight.ply";

fn main() {
    let parts: Vec<String> = std::env::args().skip(1).collect();
    if parts.iter().any(|part| !PARTS.contains(&part.as_str())) {
        eprintln!("{USAGE}");
        std::process::exit(2);
    }
    let wants = |part: &str| parts.is_empty() || parts.iter().any(|own| own == part);
    rayon::ThreadPoolBuilder::new().num_threads(2).build_global().expect("first use of the pool");
    let data = std::env::var("UNSNARL_DATA").unwrap_or_else(|_| "../shared/data".to_owned());
    let path = std::path::Path::new(&data).join(BODY);
    let mesh = mesh::read(&path, &ReadOptions::default()).expect("the bunny is there").mesh;
    if wants("strokes") {
        strokes(&mesh);
    }
    if wants("refine") {
        refine(&mesh);
    }
    if wants("view") {
        view(&mesh);
    }
    if wants("picture") {
        picture(&mesh);
    }
}

fn volume(mesh: &TriMesh, across: u32) -> LevelSet {
    let settings = MeshSettings { beyond: Beyond::Side, ..MeshSettings::with_resolution(mesh, across) };
    LevelSet::from_mesh(mesh, &settings).expect("a closed body")
}

/// A point of the surface near a vertex of the mesh.
fn place(mesh: &TriMesh, body: &LevelSet, number: usize) -> Option<DVec3> {
    body.closest_point(mesh.positions[number * 12_961 % mesh.positions.len()])
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

fn strokes(mesh: &TriMesh) {
    let mut body = volume(mesh, 2000);
    let spacing = body.frame().spacing;
    println!(
        "bunny at 2000 across: {} blocks, {:.0} MB",
        body.grid().blocks().len(),
        body.memory_bytes() as f64 * 1e-6
    );
    for (name, tools) in [
        ("raise and lower", vec![Tool::Raise, Tool::Lower]),
        ("smooth, one sample", vec![Tool::Smooth]),
        ("roughen, one sample", vec![Tool::Roughen]),
        ("flatten", vec![Tool::Flatten]),
        ("pull, two samples", vec![Tool::Pull(2.0 * spacing * DVec3::X)]),
    ] {
        let mut history = History::new(History::CAP);
        let mut times = Vec::new();
        for number in 0..1000 {
            let Some(center) = place(mesh, &body, number) else { continue };
            let stroke = Stroke::new(tools[number % tools.len()], center, 20.0 * spacing, spacing);
            let start = Instant::now();
            let journal = body.sculpt(&stroke).expect("a stroke on the body");
            history.begin();
            history.record(journal);
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
        let times = sorted(times);
        println!(
            "{name}: {} strokes of radius 20, median {:.2} ms, 99 % {:.2} ms, worst {:.2} ms, {} under 16.7 ms; undo {:.0} MB",
            times.len(),
            times[times.len() / 2],
            times[times.len() * 99 / 100],
            times[times.len() - 1],
            times.iter().filter(|ms| **ms < 16.7).count(),
            history.memory_bytes() as f64 * 1e-6,
        );
    }
}

fn refine(mesh: &TriMesh) {
    let first = volume(mesh, 240);
    let spacing = first.frame().spacing;
    let spline = first.spline();
    let mut body = first.clone();
    for _ in 0..2 {
        let [coarse, blocks] =
            [Doubling::Coarse, Doubling::Blocks].map(|doubling| body.refined(doubling).memory_bytes());
        let start = Instant::now();
        let estimate = body.refined_bytes();
        let counted = start.elapsed().as_secs_f64() * 1e3;
        let fine = body.refined(Doubling::Automatic);
        let chosen = fine.memory_bytes();
        let smaller = coarse.min(blocks);
        println!(
            "refined to {:.0}: coarse {:.1} MB, blocks {:.1} MB, estimate {:.1} MB in {counted:.1} ms, chosen {:.1} MB ({})",
            240.0 * spacing / fine.frame().spacing,
            coarse as f64 * 1e-6,
            blocks as f64 * 1e-6,
            estimate as f64 * 1e-6,
            chosen as f64 * 1e-6,
            if chosen == smaller { "the smaller" } else { "NOT the smaller" },
        );
        body = fine;
    }
    // How far the surface moved, and what theory allows for the curvature there.
    let points = first.to_mesh(Extraction::Marching).positions;
    let (mut within, mut count, mut worst) = (0, 0, 0.0_f64);
    for point in points.iter().step_by(7) {
        let second = spline.second_order(*point);
        let Some(curvature) = second.curvature() else { continue };
        let sum = curvature.largest.abs() + curvature.smallest.abs();
        // Where the radius is below two samples there is no smooth surface for the rule to be compared on.
        if sum > 1.0 / spacing {
            continue;
        }
        let moved = (body.value(*point) - second.value).abs();
        let allowed = spacing * spacing * sum / 6.0 + 0.05 * spacing;
        count += 1;
        within += usize::from(moved <= allowed);
        worst = worst.max(moved / spacing);
    }
    println!(
        "from 240 to 960: {:.2} % of {count} points within h^2 (|k1| + |k2|) / 6 and a twentieth of a sample; worst {worst:.3} samples",
        100.0 * f64::from(within as u32) / f64::from(count as u32)
    );
}

fn view(mesh: &TriMesh) {
    for across in [240, 2000] {
        let mut body = volume(mesh, across);
        let bounds = body.band_bounds().expect("a surface");
        let away = 1.5 * bounds.extent().length();
        let forward = -DVec3::new(0.35, 0.28, 0.9).normalize();
        let up = (DVec3::Y - DVec3::Y.dot(forward) * forward).normalize();
        let camera =
            Camera { eye: bounds.center() - away * forward, forward, up, field_of_view: 0.66, pixels: [640.0, 480.0] };
        let mut view = ViewSet::new(ViewRules::default());
        let start = Instant::now();
        view.look(&body, camera);
        let mut vertices = 0;
        while !view.is_settled() {
            let told = view.next(&body, 3000);
            vertices += told.shown.iter().map(|shown| shown.mesh.positions.len()).sum::<usize>();
        }
        let opened = start.elapsed().as_secs_f64() * 1e3;
        let start = Instant::now();
        view.look(&body, Camera { eye: camera.eye + 0.01 * away * up, ..camera });
        let turned = start.elapsed().as_secs_f64() * 1e3;
        while !view.is_settled() {
            view.next(&body, 3000);
        }
        let spacing = body.frame().spacing;
        let (mut times, mut shares) = (Vec::new(), Vec::new());
        for number in 0..200 {
            let Some(center) = place(mesh, &body, number) else { continue };
            let journal = body.sculpt(&Stroke::new(Tool::Raise, center, 20.0 * spacing, spacing)).expect("a stroke");
            let start = Instant::now();
            view.touch(&body, &journal.changed(&body));
            let mut told = 0;
            while !view.is_settled() {
                let difference = view.next(&body, 3000);
                told += difference.shown.iter().map(|shown| shown.mesh.positions.len()).sum::<usize>();
            }
            times.push(start.elapsed().as_secs_f64() * 1e3);
            shares.push(100.0 * told as f64 / view.vertex_count() as f64);
        }
        let (times, shares) = (sorted(times), sorted(shares));
        println!(
            "view at {across}: {vertices} vertices and splats told in {opened:.0} ms, forms {:?}; a turn {turned:.1} ms; a stroke of \
radius 20: {:.2} ms median, {:.2} worst, share of the view {:.2} % median, {:.2} % worst",
            view.forms(),
            times[times.len() / 2],
            times[times.len() - 1],
            shares[shares.len() / 2],
            shares[shares.len() - 1],
        );
    }
}

fn picture(mesh: &TriMesh) {
    let mut body = volume(mesh, 2000);
    let start = Instant::now();
    body.extend_far();
    let far = start.elapsed().as_secs_f64();
    let tracer = Tracer::new(&body);
    let spline = start.elapsed().as_secs_f64() - far;
    let bounds = body.band_bounds().expect("a surface");
    let eye = bounds.center() + 1.3 * bounds.extent().length() * DVec3::new(0.35, 0.28, 0.9).normalize();
    let lookout = Lookout { eye, at: bounds.center(), up: DVec3::Y, field_of_view: 0.7 };
    for samples in [1, 16] {
        let settings = TraceSettings { samples, ..TraceSettings::default() };
        let start = Instant::now();
        let picture = tracer.picture(&lookout, &settings).expect("the eye looks somewhere");
        let covered = picture.pixels.iter().filter(|pixel| pixel[3] > 0.0).count();
        println!(
            "1600 x 1200 at 2000 across, {samples} rays where uneven: far field {far:.2} s, spline {spline:.2} s, rays {:.2} s, {covered} pixels covered",
            start.elapsed().as_secs_f64()
        );
    }
}
