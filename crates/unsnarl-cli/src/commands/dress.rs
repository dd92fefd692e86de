//! `unsnarl dress`: garments in layers on a body, put in order a chosen distance apart, and the proof.

use crate::drawing;
use crate::inputs::Inputs;
use crate::session::{Failure, Session};
use clap::Args;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;
use unsnarl::analysis::{self, Examination, SmallestGap, Workspace};
use unsnarl::dress::carry::{Poses, carry};
use unsnarl::dress::report::DressReport;
use unsnarl::dress::{self, Certify, GarmentWish, Outfit, Stage};
use unsnarl::model::RestAngles;
use unsnarl::scene::workpiece::{Setup, Workpiece};
use unsnarl_geometry::{DVec3, Topology};
use unsnarl_io::mesh::{self, Format, MeshFile};
use unsnarl_io::scene_file::dress::{self as dress_file, DressScene};

/// Put garments in layers on a body in order, a chosen distance apart, and certify the result.
///
/// Exit status: 0 clean and certified, 1 something is left (also where only a body that crosses itself pinches cloth), 2 unusable input.
#[derive(Args)]
#[command(after_help = "Example:\n  unsnarl dress scenes/dress_two_suits.toml -o dressed --picture dressed.png")]
pub struct Flags {
    /// The scene: a TOML file with the body and the garments
    #[arg(value_name = "SCENE")]
    scene: PathBuf,
    /// The folder to write: garments, dress.json, and scene.toml for `unsnarl sim`
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// The order of the garments by name, from the inside out, in place of the scene's numbers
    #[arg(long, value_name = "A,B,...", value_delimiter = ',', conflicts_with = "swap")]
    order: Vec<String>,
    /// Two garments by name that change places
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    swap: Vec<String>,
    /// Change the scene: a path such as dress.reach or cloth.0.thickness, `=`, and a TOML value
    #[arg(long = "set", value_name = "PATH=VALUE")]
    changes: Vec<String>,
    /// Leave out the untangling of what is left
    #[arg(long)]
    no_fix: bool,
    /// Stop after this many seconds with the best so far
    #[arg(long, default_value_t = 300.0, value_name = "S")]
    max_seconds: f64,
    /// Write the result even if something is left
    #[arg(long)]
    keep_partial: bool,
    /// Draw before and after into this PNG
    #[arg(long, value_name = "PNG")]
    picture: Option<PathBuf>,
}

/// Runs the command.
pub fn run(flags: &Flags, session: &Session) -> Result<ExitCode, Failure> {
    let start = Instant::now();
    let mut scene = dress_file::read(&flags.scene, &flags.changes).map_err(Failure::input)?;
    put_in_order(flags, &mut scene)?;
    if flags.no_fix {
        scene.settings.certify = Certify::Check;
    }
    carry_garments(&mut scene)?;
    let targets = targets(flags, &scene)?;
    let inputs = inputs(&scene)?;
    let workpiece = workpiece(&scene, &inputs)?;
    let mut clock = Clock { seconds: BTreeMap::new(), stage: "read", since: start };
    clock.begin("check");
    let mut memory = Workspace::default();
    let before = examine(&inputs, &inputs.positions, start, &mut memory);
    let wishes: Vec<GarmentWish> = scene.cloths.iter().map(|cloth| cloth.wish.clone()).collect();
    let outfit = Outfit { workpiece: &workpiece, wishes: &wishes, body_thickness: scene.body_thickness };
    let most_seconds = flags.max_seconds;
    let stop: unsnarl::fix::Stop = Arc::new(move || start.elapsed().as_secs_f64() > most_seconds);
    let bar = session.progress(5, "dressing");
    let mut observe = |stage: Stage| {
        bar.inc(1);
        clock.begin(stage_name(stage));
        session.note(format!("{} at {:.2} s", stage_name(stage), start.elapsed().as_secs_f64()));
    };
    let outcome = dress::dress(&outfit, &scene.settings, &stop, &mut observe)
        .map_err(|error| Failure::input(format!("{}: {error}", flags.scene.display())))?;
    bar.finish_and_clear();
    let files = stored(&inputs, &outcome.positions, &targets);
    let cloth: Vec<DVec3> = files.iter().flat_map(|file| file.mesh.positions.iter().copied()).collect();
    let all = workpiece.with_bodies(&cloth);
    let after = examine(&inputs, &all, start, &mut memory);
    let tangled = (before.tangle.clone(), before.verdict.clone());
    let mut report = DressReport::new(&outfit, &scene.settings, &outcome, (before, &after), &all);
    clock.begin("end");
    report.seconds = clock.seconds;
    report.seconds.insert("total", start.elapsed().as_secs_f64());
    if report.clean || flags.keep_partial || report.pairs_not_pinched == 0 {
        write_all(flags, &scene, (&targets, &files), &report)?;
    }
    if let Some(path) = &flags.picture {
        let picture =
            drawing::before_and_after(&inputs, (&tangled.0, &tangled.1), &all, (&after.tangle, &after.verdict));
        unsnarl_io::write_atomically(path, &picture.encode_png()).map_err(Failure::input)?;
    }
    session.say(text(&report, flags).trim_end());
    session.report(&report)?;
    Ok(ExitCode::from(u8::from(!report.clean)))
}

/// Time by stage.
struct Clock {
    seconds: BTreeMap<&'static str, f64>,
    stage: &'static str,
    since: Instant,
}

impl Clock {
    fn begin(&mut self, stage: &'static str) {
        *self.seconds.entry(self.stage).or_default() += self.since.elapsed().as_secs_f64();
        self.stage = stage;
        self.since = Instant::now();
    }
}

fn stage_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Fields => "fields",
        Stage::Project => "project",
        Stage::Settle => "settle",
        Stage::Fix => "fix",
        Stage::Done => "certify",
    }
}

/// Gives garments the numbers that the flags ask for.
fn put_in_order(flags: &Flags, scene: &mut DressScene) -> Result<(), Failure> {
    let names: Vec<String> = scene.cloths.iter().map(|cloth| cloth.wish.name.clone()).collect();
    let find = |flag: &str, name: &String| {
        names.iter().position(|known| known == name).ok_or_else(|| {
            Failure::usage(format!("--{flag} {name}: no such garment; the scene has {}", names.join(", ")))
        })
    };
    if !flags.order.is_empty() {
        let mut given = vec![None; names.len()];
        for (number, name) in flags.order.iter().enumerate() {
            let at = find("order", name)?;
            if given[at].replace(number as i32 + 1).is_some() {
                return Err(Failure::usage(format!("--order {name}: named twice")));
            }
        }
        if let Some(missing) = given.iter().position(Option::is_none) {
            return Err(Failure::usage(format!("--order: {} is missing; name every garment", names[missing])));
        }
        for (cloth, number) in scene.cloths.iter_mut().zip(given) {
            cloth.wish.layer = number.unwrap_or(0);
        }
    }
    if !flags.swap.is_empty() {
        let [a, b] = &flags.swap[..] else {
            return Err(Failure::usage("--swap takes two names, such as shirt,jacket"));
        };
        let (a, b) = (find("swap", a)?, find("swap", b)?);
        let layer = scene.cloths[a].wish.layer;
        scene.cloths[a].wish.layer = scene.cloths[b].wish.layer;
        scene.cloths[b].wish.layer = layer;
    }
    Ok(())
}

/// Moves garments from the pose that they fit to the pose of the bodies.
fn carry_garments(scene: &mut DressScene) -> Result<(), Failure> {
    let Some(from) = scene.carried_from.take() else { return Ok(()) };
    let mut triangles = Vec::new();
    let mut to = Vec::new();
    for (_, mesh) in &scene.bodies {
        let first = to.len() as u32;
        triangles.extend(mesh.triangles.iter().map(|corners| corners.map(|corner| corner + first)));
        to.extend(mesh.positions.iter().copied());
    }
    if triangles.is_empty() {
        return Err(Failure::input("dress.carry-from: there is no body to carry garments with; add a [[body]]"));
    }
    let poses = Poses { triangles: &triangles, from: &from, to: &to };
    for cloth in &mut scene.cloths {
        let mesh = &cloth.file.mesh;
        let topology = Topology::new(mesh.positions.len(), &mesh.triangles).map_err(Failure::input)?;
        let carried = carry(&poses, &topology, &mesh.positions).map_err(Failure::input)?;
        cloth.file = cloth.file.with_positions(carried);
    }
    Ok(())
}

/// The file to write for every garment.
fn targets(flags: &Flags, scene: &DressScene) -> Result<Vec<PathBuf>, Failure> {
    let mut targets = Vec::new();
    for cloth in &scene.cloths {
        let name: String =
            cloth.wish.name.chars().map(|letter| if "/\\:".contains(letter) { '_' } else { letter }).collect();
        let kind = cloth.path.as_deref().filter(|path| Format::for_output(path).is_some()).and_then(Path::extension);
        let fallback = if cloth.path.is_some() { "usda" } else { "obj" };
        let kind = kind.map_or_else(|| fallback.to_owned(), |kind| kind.to_string_lossy().into_owned());
        let target = flags.output.join(format!("{name}.{kind}"));
        if targets.contains(&target) {
            return Err(Failure::usage(format!(
                "{}: two garments would be written here; rename one",
                target.display()
            )));
        }
        if cloth.path.as_deref().is_some_and(|path| is_same_file(path, &target)) {
            let what = "the folder holds the garment itself; give another one";
            return Err(Failure::usage(format!("{}: {what}", flags.output.display())));
        }
        targets.push(target);
    }
    Ok(targets)
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}

fn inputs(scene: &DressScene) -> Result<Inputs, Failure> {
    let garments = scene.cloths.iter().map(|cloth| (cloth.file.clone(), cloth.wish.name.clone(), cloth.path.clone()));
    let bodies =
        scene.bodies.iter().map(|(name, mesh)| (MeshFile::new(mesh.clone(), None), name.clone(), None::<PathBuf>));
    let (mut files, mut names, mut paths) = (Vec::new(), Vec::new(), Vec::new());
    for (file, name, path) in garments.chain(bodies) {
        files.push(file);
        paths.push(path.unwrap_or_else(|| PathBuf::from(&name)));
        names.push(name);
    }
    Inputs::join(files, paths, names, scene.cloths.len())
}

fn workpiece(scene: &DressScene, inputs: &Inputs) -> Result<Workpiece, Failure> {
    let setup = Setup {
        assembly: inputs.assembly.clone(),
        positions: &inputs.positions,
        garments: scene.cloths.iter().map(|cloth| cloth.garment.clone()).collect(),
        rest: Vec::new(),
        rest_angles: RestAngles::AsLoaded,
    };
    Workpiece::build(setup).map_err(Failure::input)
}

fn examine(inputs: &Inputs, positions: &[DVec3], start: Instant, memory: &mut Workspace) -> Examination {
    let name_of = |triangle| inputs.sheet_name(triangle);
    let mut found = analysis::examine(&inputs.assembly, positions, SmallestGap::Measured, name_of, memory);
    found.report.seconds = start.elapsed().as_secs_f64();
    found
}

/// The garments as their files will hold them: what is certified is what is written.
fn stored(inputs: &Inputs, positions: &[DVec3], targets: &[PathBuf]) -> Vec<MeshFile> {
    let garments = inputs.assembly.parts().iter().zip(&inputs.files).take(inputs.garment_count);
    garments
        .zip(targets)
        .map(|((part, file), target)| {
            let moved = file.with_positions(positions[part.vertices.clone()].to_vec());
            match Format::for_output(target) {
                Some(format) => moved.with_positions(moved.stored_positions(format)),
                None => moved,
            }
        })
        .collect()
}

fn write_all(
    flags: &Flags,
    scene: &DressScene,
    (targets, files): (&[PathBuf], &[MeshFile]),
    report: &DressReport,
) -> Result<(), Failure> {
    let folder = &flags.output;
    std::fs::create_dir_all(folder)
        .map_err(|error| Failure::input(format!("{}: cannot make this folder: {error}", folder.display())))?;
    for ((target, file), cloth) in targets.iter().zip(files).zip(&scene.cloths) {
        mesh::write(target, file).map_err(Failure::input)?;
        let sidecar = cloth.path.as_deref().map(unsnarl_io::garment_file::sidecar_path);
        if let Some(bytes) = sidecar.and_then(|path| std::fs::read(path).ok()) {
            let beside = unsnarl_io::garment_file::sidecar_path(target);
            unsnarl_io::write_atomically(&beside, &bytes).map_err(Failure::input)?;
        }
    }
    let mut words = serde_json::to_string_pretty(report).map_err(|error| Failure::usage(error.to_string()))?;
    words.push('\n');
    unsnarl_io::write_atomically(&folder.join("dress.json"), words.as_bytes()).map_err(Failure::input)?;
    let scene = scene.dressed(folder, targets);
    unsnarl_io::write_atomically(&folder.join("scene.toml"), scene.as_bytes()).map_err(Failure::input)
}

fn text(report: &DressReport, flags: &Flags) -> String {
    let pairs = report.after.intersecting_triangle_pairs;
    let seconds = report.seconds.get("total").copied().unwrap_or(0.0);
    let mut lines = vec![format!(
        "before: {} triangle pairs meet; {} were left to fix",
        report.before.intersecting_triangle_pairs, report.left_before_fix.pairs
    )];
    lines.push(match (report.clean, report.pairs_not_pinched) {
        (true, _) => format!("CLEAN in {seconds:.1} s"),
        (false, 0) => {
            format!("NOT CLEAN in {seconds:.1} s: {pairs} pairs where the body crosses itself, none elsewhere")
        }
        (false, left) => {
            format!("NOT CLEAN in {seconds:.1} s: {pairs} triangle pairs meet, {left} of them not pinched by the body")
        }
    });
    for layer in &report.layers {
        lines.push(format!(
            "  {:>3}  {:<28} moved {:6.1} mm at most, stretch p99 {:.3}",
            layer.layer,
            layer.name,
            1e3 * layer.displacement.max,
            layer.stretch.p99
        ));
    }
    for gap in &report.gaps {
        lines.push(format!(
            "  {} over {}: {:.2} mm asked, least {:.2} mm, {:.1} % of {} vertices below",
            gap.outer,
            gap.inner,
            1e3 * gap.asked,
            1e3 * gap.least,
            100.0 * gap.share_below,
            gap.vertices
        ));
    }
    if report.clean || flags.keep_partial || report.pairs_not_pinched == 0 {
        lines.push(format!("written to {}", flags.output.display()));
    } else {
        lines.push("nothing is written; --keep-partial writes it all the same".to_owned());
    }
    lines.join("\n")
}
