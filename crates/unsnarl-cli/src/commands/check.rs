//! `unsnarl check`: find every intersection, trace its contours, name their types.

use crate::drawing;
use crate::gaps;
use crate::inputs::{Inputs, MeshFlags};
use crate::session::{Failure, Session};
use clap::Args;
use serde::Serialize;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;
use unsnarl::analysis::gap::NearPair;
use unsnarl::analysis::report::CheckReport;
use unsnarl::analysis::{self, Examination, GapFindings, GapReport, RestDistances, SmallestGap, Verdict, Workspace};
use unsnarl::fix::Exempt;
use unsnarl::rest_shape::RestShape;
use unsnarl_geometry::intersection::Relation;
use unsnarl_geometry::{Aabb, DVec3, TriangleId};
use unsnarl_io::mesh::{Format, KeepSource};

/// Find every intersection, trace its contours and name their types.
///
/// Exit status: 0 clean (and with the gap, if one is asked for), 1 intersections or narrow places found, 2 unusable
/// input.
#[derive(Args)]
#[command(after_help = "Example:\n  unsnarl check samples/hanky_bli.obj --picture hanky.png --json -")]
pub struct Flags {
    /// Garments: OBJ, PLY, STL, OFF, glTF/GLB or USDA files, checked together
    #[arg(required_unless_present = "gap", value_name = "MESH")]
    meshes: Vec<PathBuf>,
    /// A body: cloth against it counts, its own intersections do not
    #[arg(long, value_name = "MESH")]
    body: Vec<PathBuf>,
    #[command(flatten)]
    mesh: MeshFlags,
    /// Also find the smallest gap between parts that do not meet; with a length, such as `2mm`, exit 1 where something
    /// is nearer
    #[arg(long, value_name = "D", num_args = 0..=1, allow_negative_numbers = true)]
    gap: Option<Option<String>>,
    /// Exempt no pair from the gap, not even those that are nearer at rest
    #[arg(long, requires = "gap")]
    gap_strict: bool,
    /// Draw the meshes and what crosses into this PNG
    #[arg(long, value_name = "PNG")]
    picture: Option<PathBuf>,
    /// Draw the panels with the traces of the contours and the colours into this PNG
    #[arg(long, value_name = "PNG")]
    uv_picture: Option<PathBuf>,
}

/// Runs the command.
pub fn run(flags: &Flags, session: &Session) -> Result<ExitCode, Failure> {
    let (meshes, asked) = wish(flags)?;
    let inputs = Inputs::read(&meshes, &flags.body, &flags.mesh, KeepSource::Forget, session)?;
    let cloth_end = inputs.assembly.parts()[inputs.garment_count - 1].vertices.end;
    asked.map_or(Ok(()), |asked| gaps::fits(asked, inputs.assembly.topology(), &inputs.positions[..cloth_end]))?;
    let start = Instant::now();
    let gap = if flags.gap.is_some() { SmallestGap::Measured } else { SmallestGap::LeftOut };
    let name_of = |triangle| inputs.sheet_name(triangle);
    let workspace = &mut Workspace::default();
    let Examination { verdict, tangle, mut report } =
        analysis::examine(&inputs.assembly, &inputs.positions, gap, name_of, workspace);
    let findings = asked.map(|asked| examine_gap(flags, &inputs, asked, &verdict)).transpose()?;
    let nearest: Vec<NearPair> = findings.iter().flat_map(|findings| findings.nearest.clone()).collect();
    let place = (&inputs.assembly, &inputs.positions[..]);
    let gap = findings.map(|findings| GapReport::new(&findings, place, name_of));
    report.seconds = start.elapsed().as_secs_f64();
    if let Some(path) = &flags.picture {
        let picture = drawing::check_picture(&inputs, &tangle, &verdict, &nearest);
        unsnarl_io::write_atomically(path, &picture.encode_png()).map_err(Failure::input)?;
    }
    if let Some(path) = &flags.uv_picture {
        let picture = drawing::panel_picture(&inputs, &tangle)
            .ok_or_else(|| Failure::usage("--uv-picture: no garment has uv coordinates to draw panels from"))?;
        unsnarl_io::write_atomically(path, &picture.encode_png()).map_err(Failure::input)?;
    }
    let keeps_gap = gap.as_ref().is_none_or(|gap| gap.pairs_below == 0);
    let said = gap.iter().flat_map(gaps::lines).collect::<Vec<_>>().join("\n");
    session.say(format!("{}{said}", text(&report, &inputs, &verdict)).trim_end());
    let is_fine = report.clean && keeps_gap;
    session.report(&GappedReport { report, gap })?;
    Ok(ExitCode::from(u8::from(!is_fine)))
}

/// The report, with the gap if one was asked for.
#[derive(Serialize)]
struct GappedReport {
    #[serde(flatten)]
    report: CheckReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    gap: Option<GapReport>,
}

/// The meshes, and the gap that is asked for. What follows a bare `--gap` may be a mesh.
fn wish(flags: &Flags) -> Result<(Vec<PathBuf>, Option<f64>), Failure> {
    let mut meshes = flags.meshes.clone();
    let asked = match &flags.gap {
        Some(Some(text)) if Format::from_path(Path::new(text)).is_some() => {
            meshes.insert(0, PathBuf::from(text));
            None
        }
        Some(Some(text)) => Some(gaps::length("--gap", text)?),
        _ => None,
    };
    if flags.gap_strict && asked.is_none() {
        return Err(Failure::usage("--gap-strict: exempts no pair from the gap; give the gap with --gap"));
    }
    if meshes.is_empty() {
        return Err(Failure::usage("no mesh to check; name one, such as samples/hanky_bli.obj"));
    }
    Ok((meshes, asked))
}

/// Looks for pairs that are nearer than they should be.
fn examine_gap(flags: &Flags, inputs: &Inputs, asked: f64, verdict: &Verdict) -> Result<GapFindings, Failure> {
    let shapes: Vec<RestShape> = inputs.garments()?.into_iter().flat_map(|garment| garment.rest_shapes).collect();
    let rest = RestDistances::new(inputs.assembly.topology(), &shapes, asked);
    let exempt = if flags.gap_strict { Exempt::Nobody } else { Exempt::NearAtRest };
    Ok(analysis::gap::examine(&inputs.assembly, &inputs.positions, (asked, exempt.by(&rest)), verdict))
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
