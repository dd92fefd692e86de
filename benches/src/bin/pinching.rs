//! What global intersection analysis and flypapering cost: the frame time of an 18,000-vertex garment with both and with neither.
//!
//! `cargo run --release -p unsnarl-benches --bin pinching -- [FRAMES]`, from the root of the project, needs `../shared/data`. A cape of
//! 18,225 vertices falls on a character whose limbs cross its own body. Both simulations are one thread's and take turns frame by
//! frame; where nothing of the cloth crosses they do the same work but for the analysis and the search for pinches. (The 2003 paper
//! reports less than half a second a frame for such a garment)

use std::path::Path;
use std::time::Instant;
use unsnarl::simulation::{Flow, Simulation};
use unsnarl_io::scene_file;

type Failure = Box<dyn std::error::Error + Send + Sync>;

const SCENE: &str = r#"
[scene]
frame-rate = 24

[[cloth]]
sheet = { size = [0.9, 0.9], cells = [134, 134] }
rotation = [-90, 0, 0]
position = [0.0, 0.88, 0.05]

[[body]]
name = "body"
mesh = "../shared/data/character_cc0/body.glb"
clip = "standing06"
clip-start = -0.8
friction = 0.3
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
        "{} vertices of cloth, {} of the body",
        with.state.positions.len(),
        with.world.surfaces.meshes()[0].positions.len()
    );
    println!("{:>5} {:>10} {:>10} {:>8} {:>8} {:>7}", "frame", "with, ms", "without", "ratio", "pinched", "tangled");
    let mut totals = [0.0; 2];
    for frame in 1..=frames {
        let (first, report) = advance(&mut with)?;
        let (second, _) = advance(&mut without)?;
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
    Ok(())
}

fn advance(simulation: &mut Simulation) -> Result<(f64, unsnarl::report::FrameReport), Failure> {
    let start = Instant::now();
    let report = simulation.advance(1.0 / 24.0, &mut |_| Flow::GoOn)?;
    Ok((start.elapsed().as_secs_f64(), report))
}
