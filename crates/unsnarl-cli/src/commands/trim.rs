//! `unsnarl trim`: cut a surface along a level set, with good triangles and a smooth border.

use crate::inputs::MeshFlags;
use crate::session::{Failure, Session, check_folder};
use clap::{Args, ValueEnum};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;
use unsnarl_geometry::{Aabb, DVec3, TriMesh};
use unsnarl_io::level_set_file;
use unsnarl_io::mesh::{self, Format, KeepSource, MeshFile, ReadOptions};
use unsnarl_io::picture::{Colour, MeshStyle, Paint, Picture, View, Visibility, Wireframe};
use unsnarl_volume::level_set::{MeshSettings, Reinitialization};
use unsnarl_volume::trim::{self, Angles, Keep, TrimReport, TrimSettings, Trimmed};
use unsnarl_volume::{Field, LevelSet};

/// Cut a surface along a level set, with good triangles and a smooth border.
///
/// What lies inside the level set stays. Nodes near the cut slide over the surface, the others keep their place.
/// Exit status: 0 done, 2 unusable input.
#[derive(Args)]
#[command(
    after_help = "Example:\n  unsnarl trim assets/cgal_cc0/elephant.off --by assets/cgal_cc0/femur.off --keep outside -o cut.obj --picture cut.png"
)]
pub struct Flags {
    /// The surface: any triangle mesh, open or closed
    mesh: PathBuf,
    /// What to cut along: a level set (`unsnarl levelset from`), or a closed mesh, which is made into one
    #[arg(long, value_name = "LEVELSET-or-MESH")]
    by: PathBuf,
    /// The mesh to write; the extension says its kind
    #[arg(short, long, value_name = "MESH")]
    output: PathBuf,
    /// Which side stays
    #[arg(long, value_enum, default_value_t = Side::Inside)]
    keep: Side,
    /// Spacing of the level set that is made of a mesh, metres [default: a quarter of the mean edge of the surface]
    #[arg(long, value_name = "METRES", allow_negative_numbers = true)]
    spacing: Option<f64>,
    /// How many rings of nodes around the cut may move
    #[arg(long, value_name = "N", default_value_t = 5)]
    rings: usize,
    #[command(flatten)]
    mesh_flags: MeshFlags,
    /// Draw the surface before and after into this PNG
    #[arg(long, value_name = "PNG")]
    picture: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Side {
    /// What lies inside the level set
    Inside,
    /// What lies outside
    Outside,
}

/// The report of the command.
#[derive(Serialize)]
pub struct Report {
    schema: &'static str,
    vertices: [usize; 2],
    triangles: [usize; 2],
    components: usize,
    enveloped: usize,
    mended: usize,
    passes: usize,
    split_edges: usize,
    swapped_edges: usize,
    refined: usize,
    moved: usize,
    surface_gap: f64,
    nodes_beyond: usize,
    border: Border,
    angles: [AngleRow; 3],
    searched: Vec<f64>,
    seconds: f64,
}

#[derive(Serialize)]
struct Border {
    nodes: usize,
    curves: usize,
    tangled_nodes: usize,
    chords: usize,
    triangles_on_border: usize,
    largest_gap_in_edges: f64,
    mean_gap_in_edges: f64,
    lagging_nodes: usize,
}

#[derive(Serialize)]
struct AngleRow {
    of: &'static str,
    triangles: usize,
    smallest: f64,
    largest: f64,
    above_130: usize,
}

/// Runs the command.
pub fn run(flags: &Flags, session: &Session) -> Result<ExitCode, Failure> {
    let start = Instant::now();
    if Format::from_path(&flags.output).is_none() {
        let line = format!(
            "{}: not a kind of mesh file; expected .obj, .ply, .stl, .off, .glb or .usda",
            flags.output.display()
        );
        return Err(Failure::usage(line));
    }
    if !(1..=1000).contains(&flags.rings) {
        return Err(Failure::usage("--rings takes a number from 1 to 1000"));
    }
    [Some(flags.output.as_path()), flags.picture.as_deref()].into_iter().flatten().try_for_each(check_folder)?;
    let file = read(&flags.mesh, flags)?;
    let edge = mean_edge(&file.mesh);
    let by = level_set(flags, edge, session)?;
    let keep = match flags.keep {
        Side::Inside => Keep::Inside,
        Side::Outside => Keep::Outside,
    };
    let settings = TrimSettings { keep, rings: flags.rings, ..TrimSettings::default() };
    let sweeps = settings.third_sweeps + settings.full_sweeps;
    let bar = session.progress(sweeps as u64, "sweeps");
    let trimmed = trim::trim(&file.mesh, &by, &settings, |sweep| bar.set_position(sweep as u64 + 1));
    bar.finish_and_clear();
    let trimmed = trimmed.map_err(|error| Failure::input(format!("{}: {error}", flags.mesh.display())))?;
    remark(&trimmed.report, session);
    let mut output = MeshFile::new(trimmed.mesh.clone(), None);
    (output.format, output.conversion) = (file.format, file.conversion);
    mesh::write(&flags.output, &output).map_err(Failure::input)?;
    if let Some(path) = &flags.picture {
        let picture = draw(&file.mesh, &by, keep, &trimmed);
        unsnarl_io::write_atomically(path, &picture.encode_png()).map_err(Failure::input)?;
    }
    let report = report(&trimmed.report, start.elapsed().as_secs_f64());
    session.say(text(&report));
    session.report(&report)?;
    Ok(ExitCode::SUCCESS)
}

fn read(path: &Path, flags: &Flags) -> Result<MeshFile, Failure> {
    let options = ReadOptions {
        units: flags.mesh_flags.units,
        up_axis: flags.mesh_flags.up,
        keep_source: KeepSource::Forget,
        ..ReadOptions::default()
    };
    mesh::read(path, &options).map_err(Failure::input)
}

/// The mean edge of the triangles, metres.
pub fn mean_edge(mesh: &TriMesh) -> f64 {
    let at = |vertex: u32| mesh.positions[vertex as usize];
    let around = |&[a, b, c]: &[u32; 3]| at(a).distance(at(b)) + at(b).distance(at(c)) + at(c).distance(at(a));
    mesh.triangles.iter().map(around).sum::<f64>() / (3 * mesh.triangles.len()).max(1) as f64
}

/// Reads or makes what to cut along, with distances as far as an edge of the surface reaches.
fn level_set(flags: &Flags, edge: f64, session: &Session) -> Result<LevelSet, Failure> {
    let mut level_set = if Format::from_path(&flags.by).is_some() {
        let by = read(&flags.by, flags)?;
        let spacing = flags.spacing.unwrap_or(SPACING_PER_EDGE * edge);
        if !(spacing.is_finite() && spacing > 0.0) {
            return Err(Failure::usage("--spacing takes a positive number of metres"));
        }
        let settings = MeshSettings::with_spacing(spacing);
        let made = LevelSet::from_mesh(&by.mesh, &settings);
        let made = made.map_err(|error| Failure::input(format!("{}: {error}", flags.by.display())))?;
        if made.measures().volume <= 0.0 {
            let line = "has no inside at this spacing: give a closed mesh, or a smaller --spacing";
            return Err(Failure::input(format!("{}: {line}", flags.by.display())));
        }
        made
    } else if flags.spacing.is_some() {
        return Err(Failure::usage("--spacing is for a mesh after --by; a level set has its own"));
    } else {
        level_set_file::read(&flags.by).map_err(Failure::input)?
    };
    if let Some(reach) = reach_beyond(&mut level_set, edge) {
        session.note(format!("the band of the level set was widened to {reach:.4} m"));
    }
    Ok(level_set)
}

/// Lets distances reach as far as an edge of the surface; gives the width of the band if it had to be widened.
pub fn reach_beyond(level_set: &mut LevelSet, edge: f64) -> Option<f64> {
    let reach = (2.0 * edge).min(WIDEST_BAND * level_set.frame().spacing);
    let is_narrow = level_set.half_width() < reach;
    if is_narrow {
        level_set.set_half_width(reach, Reinitialization::FastSweeping);
    }
    level_set.extend_far();
    is_narrow.then_some(reach)
}

/// The spacing of a level set that is made of a mesh, in mean edges of the surface.
pub const SPACING_PER_EDGE: f64 = 0.25;

/// The widest band that is made for a coarse surface, in samples to either side.
const WIDEST_BAND: f64 = 24.0;

/// Says what a user should look at.
fn remark(report: &TrimReport, session: &Session) {
    if report.border.lagging_nodes > 0 {
        session.warn(format!(
            "{} of {} border nodes are farther than 1 % of an edge from the cut (at most {:.0} %): triangles there would \
             turn over; refine the mesh",
            report.border.lagging_nodes,
            report.border.nodes,
            100.0 * report.border.largest_gap
        ));
    }
    if report.nodes_beyond > 0 {
        let line = "inner vertices lie beyond the cut, where it is finer than an edge; refine the mesh to follow it";
        session.warn(format!("{} {line}", report.nodes_beyond));
    }
    if report.changed.obtuse > 0 {
        session.warn(format!(
            "{} angles near the cut are above 130 degrees (at most {:.0}; {:.0} in the input there): the surface is creased or \
             its triangles are slivers; refine or remesh it",
            report.changed.obtuse, report.changed.largest, report.before.largest
        ));
    }
    if report.border.tangled_nodes > 0 {
        session.warn(format!(
            "{} border nodes are not simple: the input is no manifold there",
            report.border.tangled_nodes
        ));
    }
}

/// Puts what was found into a report.
pub fn report(found: &TrimReport, seconds: f64) -> Report {
    let row = |of: &'static str, angles: &Angles| AngleRow {
        of,
        triangles: angles.triangles,
        smallest: angles.smallest,
        largest: angles.largest,
        above_130: angles.obtuse,
    };
    let border = &found.border;
    Report {
        schema: "unsnarl.trim/1",
        vertices: [found.input[0], found.output[0]],
        triangles: [found.input[1], found.output[1]],
        components: found.components,
        enveloped: found.enveloped,
        mended: found.mended,
        passes: found.passes,
        split_edges: found.split_edges,
        swapped_edges: found.flipped_edges,
        refined: found.refined,
        moved: found.moved,
        surface_gap: found.surface_gap,
        nodes_beyond: found.nodes_beyond,
        border: Border {
            nodes: border.nodes,
            curves: border.curves,
            tangled_nodes: border.tangled_nodes,
            chords: border.chords,
            triangles_on_border: border.triangles_on_border,
            largest_gap_in_edges: border.largest_gap,
            mean_gap_in_edges: border.mean_gap,
            lagging_nodes: border.lagging_nodes,
        },
        angles: [
            row("triangles near the cut", &found.changed),
            row("the input's triangles there", &found.before),
            row("triangles left as they were", &found.unchanged),
        ],
        searched: found.searched.clone(),
        seconds,
    }
}

fn text(report: &Report) -> String {
    let border = &report.border;
    if border.nodes == 0 {
        let whole = report.triangles[0] == report.triangles[1];
        let said = if whole { "the cut does not meet the surface: it stays as it is" } else { "no piece was cut" };
        return format!("{} of {} triangles left: {said}", report.triangles[1], report.triangles[0]);
    }
    let [near, before, _] = &report.angles;
    format!(
        "{} of {} triangles left, {} {}\nborder: {} nodes in {} {}, at most {:.3} % of an edge from the cut\nangles near \
         the cut: {:.1} to {:.1} degrees (the input there: {:.1} to {:.1})",
        report.triangles[1],
        report.triangles[0],
        report.components,
        if report.components == 1 { "piece" } else { "pieces" },
        border.nodes,
        border.curves,
        if border.curves == 1 { "curve" } else { "curves" },
        100.0 * border.largest_gap_in_edges,
        near.smallest,
        near.largest,
        before.smallest,
        before.largest,
    )
}

/// The surface with what goes tinted, and what is left with its border.
fn draw(mesh: &TriMesh, by: &LevelSet, keep: Keep, trimmed: &Trimmed) -> Picture {
    let mut picture = Picture::new(1280, 800);
    let border = &trimmed.report.border;
    picture.title(&format!(
        "{} of {} triangles; border of {} nodes, at most {:.2} % of an edge off",
        trimmed.mesh.triangles.len(),
        mesh.triangles.len(),
        border.nodes,
        100.0 * border.largest_gap
    ));
    let bounds = Aabb::of_points(mesh.positions.iter().copied());
    let toward = View::best_direction(bounds);
    let area = picture.area();
    let goes = |point: DVec3| (Field::value(by, point) < 0.0) != (keep == Keep::Inside);
    let tint = |triangle: &[u32; 3]| {
        let middle = triangle.iter().map(|&vertex| mesh.positions[vertex as usize]).sum::<DVec3>() / 3.0;
        if goes(middle) { Colour::RED.mix(Colour::WHITE, 0.55) } else { Colour::CLOTH_FRONT }
    };
    let colours: Vec<Colour> = mesh.triangles.iter().map(tint).collect();
    let thin = Wireframe::Lines(Colour::new(96, 108, 128), 0.7);
    let left = View::framing(bounds, toward, area.column(0, 2));
    let style = MeshStyle { paint: Paint::PerTriangle(&colours), wireframe: thin };
    picture.draw_mesh(&left, &mesh.positions, &mesh.triangles, &style);
    let right = View::framing(bounds, toward, area.column(1, 2));
    let paint = Paint::TwoSided { front: Colour::CLOTH_FRONT, back: Colour::CLOTH_BACK };
    let positions = &trimmed.mesh.positions;
    picture.draw_mesh(&right, positions, &trimmed.mesh.triangles, &MeshStyle { paint, wireframe: thin });
    let at = |vertex: u32| positions[vertex as usize];
    let segments: Vec<(DVec3, DVec3)> = trimmed.border.iter().map(|&[a, b]| (at(a), at(b))).collect();
    picture.draw_segments(&right, &segments, Colour::DISTINCT[0], 2.0, Visibility::Hidden);
    picture
}
