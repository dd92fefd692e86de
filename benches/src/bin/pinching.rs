//! What global intersection analysis and flypapering cost: the frame time of an 18,000-vertex garment with both and with neither.
//!
//! `cargo run --release -p unsnarl-benches --bin pinching -- [FRAMES]`, from the root of the project. A curtain of
//! 18,225 vertices hangs between two boxes that close through each other and pinch hundreds of its vertices, beside a character whose limbs
//! cross its own body, so that there is a large mesh to analyse and to search as well. Both simulations are one thread's and take turns
//! frame by frame. Without flypapering contact fights with the boxes, so the ratio alone would flatter: the time of analysis and of the
//! untangler, with its search for pinches, is printed too, as a share of all else in the simulation that has them.
//!
//! The curtain hangs a little askew: flat between flat boxes every predicate would be degenerate. What is shown is what is simulated:
//! mapping frames out of bodies belongs to neither. (The 2003 paper reports less than half a second a frame for such a garment)

use std::path::Path;
use std::time::Instant;
use unsnarl::simulation::{Flow, Simulation};
use unsnarl::step::Stage;
use unsnarl_io::scene_file;

type Failure = Box<dyn std::error::Error + Send + Sync>;

const SCENE: &str = r#"
[scene]
frame-rate = 24

[collision]
final-frame = "as-simulated"

[[cloth]]
sheet = { size = [0.9, 0.9], cells = [134, 134] }
position = [0.0, 0.6, 0.002]
rotation = [0.3, 0.5, 0.4]
pin = [{ box = [[-1, 1.046, -0.1], [1, 1.06, 0.1]] }]

[[body]]
name = "left"
box = { size = [0.2, 0.2, 0.2] }
keys = [{ time = 0, position = [0, 0.6, -0.11] }, { time = 0.12, position = [0, 0.6, -0.09] }]

[[body]]
name = "right"
box = { size = [0.2, 0.2, 0.2] }
keys = [{ time = 0, position = [0, 0.6, 0.11] }, { time = 0.12, position = [0, 0.6, 0.09] }]

[[body]]
name = "character"
mesh = "assets/character_cc0/body.glb"
position = [2.0, 0.0, 0.0]
clip = "sit01"
clip-start = 0.8
"#;

fn main() -> Result<(), Failure> {
    let frames: u32 = std::env::args().nth(1).map_or(Ok(16), |text| text.parse())?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    pool.install(|| compare(frames))
}

fn compare(frames: u32) -> Result<(), Failure> {
    let simulation = |changes: &[&str]| -> Result<Simulation, Failure> {
        let changes: Vec<String> = changes.iter().map(|&change| change.to_owned()).collect();
        let scene = scene_file::parse("cape", SCENE, Path::new("."), &changes)?;
        Ok(Simulation::new(scene.world, scene.state, scene.settings))
    };
    let mut with = simulation(&["untangle.method=gia"])?;
    let mut without = simulation(&["untangle.method=off", "untangle.flypaper=off"])?;
    println!(
        "{} vertices of cloth, {} of bodies",
        with.state.positions.len(),
        with.world.surfaces.meshes().iter().map(|mesh| mesh.positions.len()).sum::<usize>()
    );
    println!("{:>5} {:>10} {:>10} {:>8} {:>8} {:>7}", "frame", "with, ms", "without", "ratio", "pinched", "tangled");
    let (mut totals, mut added) = ([0.0; 2], 0.0);
    for frame in 1..=frames {
        let (first, report, untangling) = advance(&mut with)?;
        let (second, ..) = advance(&mut without)?;
        added += untangling;
        totals = [totals[0] + first, totals[1] + second];
        println!(
            "{frame:>5} {:>10.1} {:>10.1} {:>8.3} {:>8} {:>7}",
            1e3 * first,
            1e3 * second,
            first / second,
            report.pinched,
            report.tangled_steps
        );
    }
    let largest = with.state.positions.iter().zip(&without.state.positions).map(|(a, b)| a.distance(*b));
    println!("largest difference of the results: {:e} m", largest.fold(0.0, f64::max));
    println!("all: {:.1} ms and {:.1} ms, {:.3} (bar 1.10)", 1e3 * totals[0], 1e3 * totals[1], totals[0] / totals[1]);
    println!(
        "analysis and untangling: {:.1} ms, {:.3} of all else that the frames with them took (bar 0.10)",
        1e3 * added,
        added / (totals[0] - added)
    );
    Ok(())
}

/// Seconds of a frame, what happened in it, and the seconds of analysis and untangling, the search for pinches included.
fn advance(simulation: &mut Simulation) -> Result<(f64, unsnarl::report::FrameReport, f64), Failure> {
    let start = Instant::now();
    let (mut last, mut untangling) = (start, 0.0);
    let report = simulation.advance(1.0 / 24.0, &mut |stage| {
        let now = Instant::now();
        if matches!(stage, Stage::Analysis | Stage::Untangle) {
            untangling += (now - last).as_secs_f64();
        }
        last = now;
        Flow::GoOn
    })?;
    Ok((start.elapsed().as_secs_f64(), report, untangling))
}
