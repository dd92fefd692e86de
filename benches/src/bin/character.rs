//! Suits on a character that moves and squeezes itself: strain, collisions, iterations and time of every frame.
//!
//! `cargo run --release -p unsnarl-benches --bin character -- [--frames N] [--every K] [--set PATH=VALUE]... CLIP/SUIT...`,
//! from the root of the project, with clips of `assets/character_cc0/body.glb` and suits of its `clothes_fitted`;
//! `all` runs every clip with every suit. A suit is first fixed on the body at rest (the first frame of every clip) by
//! `unsnarl fix`, into `target/character`, and is at rest as fixed. 84 frames are the whole clip (2.5 s) and a second
//! after it. Scene values can be changed by `--set`, as in `unsnarl sim`.
//!
//! Prints per frame how far triangles are stretched (99 %, 99.9 %, largest; each in its longest direction), repulsions
//! and collisions, iterations, halved steps, closed triangle pairs that meet, and seconds; then a line for the run.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use unsnarl::contact::Part;
use unsnarl::simulation::{Flow, Simulation};
use unsnarl::step::{self, Stage};
use unsnarl_benches as _;
use unsnarl_io::scene_file;

type Failure = Box<dyn std::error::Error + Send + Sync>;

const CLIPS: [&str; 7] = ["fight01", "fly01", "run01", "sit01", "standing01", "standing03", "standing06"];
const SUITS: [&str; 5] =
    ["female_casualsuit01", "female_sportsuit01", "male_casualsuit02", "male_casualsuit04", "male_casualsuit05"];
const FRAME_RATE: f64 = 24.0;

fn main() -> Result<(), Failure> {
    let wanted = Wanted::from_arguments()?;
    println!(
        "{:>5} {:>6} {:>6} {:>7} {:>9} {:>9} {:>6} {:>5} {:>6} {:>6} {:>7}",
        "frame", "99 %", "99.9 %", "largest", "repelled", "collided", "iter.", "halv.", "zones", "pairs", "seconds"
    );
    for (clip, suit) in &wanted.runs {
        run(clip, suit, &wanted)?;
    }
    Ok(())
}

/// What the command line asks for.
struct Wanted {
    frames: u32,
    /// Every so many frames are printed.
    every: u32,
    changes: Vec<String>,
    /// Clips with suits.
    runs: Vec<(String, String)>,
}

impl Wanted {
    fn from_arguments() -> Result<Self, Failure> {
        let mut wanted = Self { frames: 84, every: 6, changes: Vec::new(), runs: Vec::new() };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word}: expected a value"));
            match word.as_str() {
                "--frames" => wanted.frames = value()?.parse()?,
                "--every" => wanted.every = value()?.parse::<u32>()?.max(1),
                "--set" => wanted.changes.push(value()?),
                "all" => {
                    let pairs = CLIPS.iter().flat_map(|clip| SUITS.map(|suit| ((*clip).to_owned(), suit.to_owned())));
                    wanted.runs.extend(pairs);
                }
                pair => {
                    let (clip, suit) = pair.split_once('/').ok_or_else(|| format!("{pair}: expected CLIP/SUIT"))?;
                    wanted.runs.push((clip.to_owned(), suit.to_owned()));
                }
            }
        }
        Ok(wanted)
    }
}

/// The suit, fixed on the body at rest.
fn fixed(suit: &str) -> Result<PathBuf, Failure> {
    let folder = Path::new("target/character");
    std::fs::create_dir_all(folder)?;
    let out = folder.join(suit).with_extension("obj");
    if !out.exists() {
        let command = std::env::current_exe()?.with_file_name("unsnarl");
        let status = Command::new(&command)
            .args(["fix", &format!("assets/character_cc0/clothes_fitted/{suit}.obj")])
            .args(["--body", "assets/character_cc0/body_rest.obj", "-q", "-o"])
            .arg(&out)
            .status()
            .map_err(|error| format!("{}: {error}", command.display()))?;
        if !status.success() {
            return Err(format!("{suit} was not fixed: {status}").into());
        }
    }
    Ok(out)
}

/// The most of everything, and what a run ended with.
#[derive(Default)]
struct Total {
    stretch: [f64; 3],
    at_end: [f64; 3],
    collisions: usize,
    repulsions: usize,
    iterations: u32,
    steps: u32,
    dirty: u32,
    dirty_at_end: usize,
    seconds: f64,
    parts: Parts,
}

fn run(clip: &str, suit: &str, wanted: &Wanted) -> Result<(), Failure> {
    let mesh = fixed(suit)?;
    let scene = format!(
        "[[cloth]]\nname = \"suit\"\nmesh = \"{}\"\nfabric = \"suit\"\nrest-angles = \"as-loaded\"\n\
         [fabric.suit]\nlike = \"cotton\"\nthickness = 0.0005\n\
         [[body]]\nname = \"body\"\nmesh = \"assets/character_cc0/body.glb\"\nclip = \"{clip}\"\nfriction = 0.3\n",
        mesh.display()
    );
    let scene = scene_file::parse("character", &scene, Path::new("."), &wanted.changes)?;
    let mut simulation = Simulation::new(scene.world, scene.state, scene.settings);
    println!("{clip}/{suit}: {} vertices", simulation.state.positions.len());
    let mut total = Total::default();
    for frame in 1..=wanted.frames {
        let (start, mut clock) = (Instant::now(), Clock::new());
        let report = simulation.advance(1.0 / FRAME_RATE, &mut |stage| clock.hear(stage))?;
        let seconds = start.elapsed().as_secs_f64();
        let largest = step::stretches(&simulation.world.model, &simulation.state).into_iter().fold(0.0, f64::max);
        let stretch = [report.stretch_99, report.stretch_99_9, largest];
        let contact = report.collision;
        total.at_end = stretch;
        total.stretch = std::array::from_fn(|at| total.stretch[at].max(stretch[at]));
        total.collisions += contact.collisions;
        total.repulsions += contact.repulsions;
        total.iterations += report.solver_iterations;
        total.steps += report.steps + report.halved_steps;
        total.dirty += u32::from(report.intersecting_triangle_pairs > 0);
        total.dirty_at_end = report.intersecting_triangle_pairs;
        total.seconds += seconds;
        total.parts.add(&clock.parts);
        if frame.is_multiple_of(wanted.every) || frame == wanted.frames {
            println!(
                "{frame:>5} {:>6.3} {:>6.3} {:>7.3} {:>9} {:>9} {:>6} {:>5} {:>6} {:>6} {seconds:>7.3}",
                stretch[0],
                stretch[1],
                stretch[2],
                contact.repulsions,
                contact.collisions,
                report.solver_iterations,
                report.halved_steps,
                contact.zones,
                report.intersecting_triangle_pairs
            );
        }
    }
    total.print(&format!("{clip}/{suit}"), wanted.frames);
    Ok(())
}

impl Total {
    fn print(&self, name: &str, frames: u32) {
        let each = |sum: f64| sum / f64::from(frames.max(1));
        let [p99, p999, largest] = self.stretch;
        let Parts { propose, repulsion, impulses, zones, other } = self.parts;
        println!(
            "{name}: stretch {p99:.3} {p999:.3} {largest:.3}, at the end {:.3} {:.3} {:.3}; a frame: {:.0} repulsions, \
             {:.0} collisions, {:.0} iterations, {:.2} steps, {:.3} s (propose {:.3}, repulsion {:.3}, impulses {:.3}, \
             zones {:.3}, other {:.3}); {} frames dirty, {} pairs at the end",
            self.at_end[0],
            self.at_end[1],
            self.at_end[2],
            each(self.repulsions as f64),
            each(self.collisions as f64),
            each(f64::from(self.iterations)),
            each(f64::from(self.steps)),
            each(self.seconds),
            each(propose),
            each(repulsion),
            each(impulses),
            each(zones),
            each(other),
            self.dirty,
            self.dirty_at_end
        );
    }
}

/// Seconds by stage.
#[derive(Clone, Copy, Default)]
struct Parts {
    propose: f64,
    repulsion: f64,
    impulses: f64,
    zones: f64,
    other: f64,
}

impl Parts {
    fn add(&mut self, more: &Self) {
        self.propose += more.propose;
        self.repulsion += more.repulsion;
        self.impulses += more.impulses;
        self.zones += more.zones;
        self.other += more.other;
    }
}

struct Clock {
    last: Instant,
    parts: Parts,
}

impl Clock {
    fn new() -> Self {
        Self { last: Instant::now(), parts: Parts::default() }
    }

    fn hear(&mut self, stage: Stage) -> Flow {
        let spent = self.last.elapsed().as_secs_f64();
        self.last = Instant::now();
        match stage {
            Stage::Propose => self.parts.propose += spent,
            Stage::Contact(Part::Repulsion) => self.parts.repulsion += spent,
            Stage::Contact(Part::Impulses) => self.parts.impulses += spent,
            Stage::Contact(Part::Zones) => self.parts.zones += spent,
            _ => self.parts.other += spent,
        }
        Flow::GoOn
    }
}
