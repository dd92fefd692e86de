//! `unsnarl check`: find every intersection, trace its contours, name their types.

use crate::drawing;
use crate::inputs::{Inputs, MeshFlags};
use crate::session::{Failure, Session};
use clap::Args;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;
use unsnarl::analysis::report::CheckReport;
use unsnarl::analysis::{self, Examination, SmallestGap, Verdict, Workspace};
use unsnarl_geometry::intersection::Relation;
use unsnarl_geometry::{Aabb, DVec3, TriangleId};
use unsnarl_io::mesh::KeepSource;

/// Find every intersection, trace its contours and name their types.
///
/// Exit status: 0 clean, 1 intersections found, 2 unusable input.
#[derive(Args)]
#[command(after_help = "Example:\n  unsnarl check samples/hanky_bli.obj --picture hanky.png --json -")]
pub struct Flags {
    /// Garments: OBJ, PLY, STL, OFF, glTF/GLB or USDA files, checked together
    #[arg(required = true, value_name = "MESH")]
    meshes: Vec<PathBuf>,
    /// A body: cloth against it counts, its own intersections do not
    #[arg(long, value_name = "MESH")]
    body: Vec<PathBuf>,
    #[command(flatten)]
    mesh: MeshFlags,
    /// Also find the smallest gap between parts that do not meet
    #[arg(long)]
    gap: bool,
    /// Draw the meshes and what crosses into this PNG
    #[arg(long, value_name = "PNG")]
    picture: Option<PathBuf>,
    /// Draw the panels with the traces of the contours and the colours into this PNG
    #[arg(long, value_name = "PNG")]
    uv_picture: Option<PathBuf>,
}

/// Runs the command.
pub fn run(flags: &Flags, session: &Session) -> Result<ExitCode, Failure> {
    let inputs = Inputs::read(&flags.meshes, &flags.body, &flags.mesh, KeepSource::Forget, session)?;
    let start = Instant::now();
    let gap = if flags.gap { SmallestGap::Measured } else { SmallestGap::LeftOut };
    let name_of = |triangle| inputs.sheet_name(triangle);
    let workspace = &mut Workspace::default();
    let Examination { verdict, tangle, mut report } =
        analysis::examine(&inputs.assembly, &inputs.positions, gap, name_of, workspace);
    report.seconds = start.elapsed().as_secs_f64();
    if let Some(path) = &flags.picture {
        let picture = drawing::check_picture(&inputs, &tangle, &verdict);
        unsnarl_io::write_atomically(path, &picture.encode_png()).map_err(Failure::input)?;
    }
    if let Some(path) = &flags.uv_picture {
        let picture = drawing::panel_picture(&inputs, &tangle)
            .ok_or_else(|| Failure::usage("--uv-picture: no garment has uv coordinates to draw panels from"))?;
        unsnarl_io::write_atomically(path, &picture.encode_png()).map_err(Failure::input)?;
    }
    session.say(text(&report, &inputs, &verdict).trim_end());
    session.report(&report)?;
    Ok(ExitCode::from(u8::from(!report.clean)))
}

/// The report for people.
fn text(report: &CheckReport, inputs: &Inputs, verdict: &Verdict) -> String {
    let mut out = String::new();
    for (part, file) in inputs.assembly.parts().iter().zip(&inputs.files) {
        let size = Aabb::of_points(file.mesh.positions.iter().copied()).extent().max(DVec3::ZERO);
        let (vertices, triangles) = (part.vertices.len(), part.triangles.len());
        let _ = writeln!(
            out,
            "{}: {vertices} vertices, {triangles} triangles, {:.3} x {:.3} x {:.3} m",
            part.name, size.x, size.y, size.z
        );
    }
    if report.clean {
        let _ = writeln!(out, "CLEAN: no two triangles meet");
    } else {
        let touching = report.touching_triangle_pairs;
        let crossing = report.intersecting_triangle_pairs - touching;
        let _ = writeln!(out, "NOT CLEAN: {crossing} triangle pairs cross, {touching} touch");
        describe_contours(&mut out, report);
        describe_touching(&mut out, inputs, verdict);
        describe_parts(&mut out, report);
    }
    if report.majority_failures > 0 {
        let _ = writeln!(
            out,
            "on {} of the sheets more than half is cut off: which side is wrong is a guess there",
            report.majority_failures
        );
    }
    if let Some(gap) = report.smallest_gap {
        let _ = writeln!(out, "smallest gap: {gap:.3e} m");
    }
    out
}

const PLACES_SHOWN: usize = 10;

fn describe_contours(out: &mut String, report: &CheckReport) {
    let types = &report.types;
    let named = [
        ("CLOSED", types.closed),
        ("EIGHT", types.eight),
        ("CROSS", types.cross),
        ("LL", types.ll),
        ("BBII", types.bbii),
        ("BIBI", types.bibi),
        ("BLI", types.bli),
        ("OTHER", types.other),
    ];
    let counts: Vec<String> =
        named.iter().filter(|(_, count)| *count > 0).map(|(name, count)| format!("{count} {name}")).collect();
    if !counts.is_empty() {
        let _ = writeln!(out, "contours: {}", counts.join(", "));
    }
    for (index, contour) in report.contours.iter().take(PLACES_SHOWN).enumerate() {
        let [x, y, z] = contour.center;
        let sheets = match &contour.sheets {
            [a, b] if a == b => a.clone(),
            [a, b] => format!("{a} through {b}"),
        };
        let _ = writeln!(
            out,
            "  {:>2}. {:<6} {:.4} m long, {} pairs, near ({x:.3}, {y:.3}, {z:.3}), {sheets}",
            index + 1,
            contour.kind.name(),
            contour.length,
            contour.segments
        );
    }
    if report.contours.len() > PLACES_SHOWN {
        let _ = writeln!(out, "  and {} shorter ones", report.contours.len() - PLACES_SHOWN);
    }
}

fn describe_touching(out: &mut String, inputs: &Inputs, verdict: &Verdict) {
    let touching: Vec<_> = verdict.pairs.iter().filter(|pair| pair.relation == Relation::Touching).collect();
    for pair in touching.iter().take(3) {
        let corners = inputs.assembly.topology().triangle(pair.first);
        let place = corners.map(|corner| inputs.positions[corner.index()]).iter().sum::<DVec3>() / 3.0;
        let local = |triangle: TriangleId| {
            let part = &inputs.assembly.parts()[inputs.assembly.part_of_triangle(triangle)];
            format!("{} triangle {}", part.name, triangle.index() - part.triangles.start)
        };
        let _ = writeln!(
            out,
            "  touching: {} and {}, near ({:.3}, {:.3}, {:.3})",
            local(pair.first),
            local(pair.second),
            place.x,
            place.y,
            place.z
        );
    }
    if touching.len() > 3 {
        let _ = writeln!(out, "  and {} more that touch", touching.len() - 3);
    }
}

fn describe_parts(out: &mut String, report: &CheckReport) {
    if report.parts.len() < 2 && report.parts.iter().all(|pair| pair.names[0] == pair.names[1]) {
        return;
    }
    let _ = writeln!(out, "parts that meet:");
    for pair in report.parts.iter().take(PLACES_SHOWN) {
        let _ = match &pair.names {
            [a, b] if a == b => writeln!(out, "  {a} with itself: {} pairs", pair.pairs),
            [a, b] => writeln!(out, "  {a} with {b}: {} pairs", pair.pairs),
        };
    }
}
