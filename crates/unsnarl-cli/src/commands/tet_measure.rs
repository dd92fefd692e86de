//! `unsnarl tet measure`: the quality table of any tetrahedral file.

use crate::session::{Failure, Session};
use clap::Args;
use serde::Serialize;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;
use unsnarl_io::tet_file;
use unsnarl_volume::tet_mesh::measure::{self, TetMeasures};

/// Measure the quality of a tetrahedral mesh, and say whether it is valid.
///
/// Exit status: 0 measured, 2 unusable input.
#[derive(Args)]
#[command(after_help = "Example:\n  unsnarl tet measure body.msh --json -")]
pub struct MeasureArgs {
    /// A tetrahedral mesh: .msh (Gmsh 2.2 or 4.1), .vtk (legacy), .node or .ele (TetGen), .mesh (Medit)
    file: PathBuf,
}

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    file: String,
    kind: String,
    left_out: usize,
    #[serde(flatten)]
    quality: Quality,
    seconds: f64,
}

/// What is measured of a tetrahedral mesh, for reports.
#[derive(Serialize)]
pub struct Quality {
    valid: bool,
    tets: usize,
    nodes: usize,
    unused_nodes: usize,
    edges: usize,
    components: usize,
    inverted: usize,
    degenerate: usize,
    overfull_faces: usize,
    volume: f64,
    aspect: Spread,
    dihedral_degrees: [f64; 2],
    edge: Spread,
    edge_ratio: f64,
    boundary: Boundary,
    conditions: Conditions,
    aspect_histogram: Histogram,
    dihedral_histogram: Histogram,
}

#[derive(Serialize)]
struct Spread {
    min: f64,
    mean: f64,
    max: f64,
}

#[derive(Serialize)]
struct Boundary {
    triangles: usize,
    nodes: usize,
    components: usize,
    genus: Option<usize>,
    non_manifold_edges: usize,
    non_manifold_nodes: usize,
}

/// The conditions of the thesis, 5.4, and how often they fail.
#[derive(Serialize)]
struct Conditions {
    manifold_boundary: bool,
    tets_with_four_boundary_nodes: usize,
    inner_edges_between_boundary_nodes: usize,
    inner_triangles_between_boundary_nodes: usize,
}

/// Counts of bins of one width.
#[derive(Serialize)]
struct Histogram {
    from: f64,
    width: f64,
    counts: Vec<u64>,
}

impl Quality {
    /// Puts measures into the words of a report.
    pub fn new(found: &TetMeasures) -> Self {
        let (shapes, boundary) = (&found.shapes, &found.boundary);
        Self {
            valid: found.is_valid(),
            tets: found.tets,
            nodes: found.nodes,
            unused_nodes: found.unused_nodes,
            edges: found.edges,
            components: found.components,
            inverted: found.inverted,
            degenerate: found.degenerate,
            overfull_faces: found.overfull_faces,
            volume: shapes.volume,
            aspect: Spread { min: shapes.smallest_aspect, mean: shapes.mean_aspect, max: shapes.largest_aspect },
            dihedral_degrees: [shapes.smallest_dihedral_degrees, shapes.largest_dihedral_degrees],
            edge: Spread { min: found.shortest_edge, mean: found.mean_edge, max: found.longest_edge },
            edge_ratio: if found.shortest_edge > 0.0 { found.longest_edge / found.shortest_edge } else { 0.0 },
            boundary: Boundary {
                triangles: boundary.triangles,
                nodes: boundary.nodes,
                components: boundary.components,
                genus: boundary.genus,
                non_manifold_edges: boundary.non_manifold_edges,
                non_manifold_nodes: boundary.non_manifold_nodes,
            },
            conditions: Conditions {
                manifold_boundary: boundary.is_manifold(),
                tets_with_four_boundary_nodes: found.tets_on_boundary,
                inner_edges_between_boundary_nodes: found.chords,
                inner_triangles_between_boundary_nodes: found.inner_triangles_on_boundary,
            },
            aspect_histogram: Histogram { from: 1.0, width: 0.5, counts: shapes.aspect_histogram.to_vec() },
            dihedral_histogram: Histogram { from: 0.0, width: 10.0, counts: shapes.dihedral_histogram.to_vec() },
        }
    }
}

/// Runs the command.
pub fn run(arguments: &MeasureArgs, session: &Session) -> Result<ExitCode, Failure> {
    let start = Instant::now();
    let file = tet_file::read(&arguments.file).map_err(Failure::input)?;
    session.note(format!("{}: {}", arguments.file.display(), file.kind));
    if file.left_out > 0 {
        let line = format!("{} elements are no tetrahedra and are left out", file.left_out);
        session.warn(format!("{}: {line}", arguments.file.display()));
    }
    let found = measure::measure(&file.mesh);
    session.say(table(&found).trim_end());
    session.report(&Report {
        schema: "unsnarl.tet-measure/1",
        file: arguments.file.display().to_string(),
        kind: file.kind,
        left_out: file.left_out,
        quality: Quality::new(&found),
        seconds: start.elapsed().as_secs_f64(),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The quality table for people.
pub fn table(found: &TetMeasures) -> String {
    let mut out = String::new();
    let (shapes, boundary) = (&found.shapes, &found.boundary);
    let mut row = |name: &str, value: String| {
        let _ = writeln!(out, "{name:<26} {value}");
    };
    row("tetrahedra", format!("{} ({} nodes, {} pieces)", found.tets, found.nodes, found.components));
    row("aspect (longest edge over shortest altitude)", String::new());
    row("  mean, largest", format!("{:.3}, {:.3}", shapes.mean_aspect, shapes.largest_aspect));
    let (least, most) = (shapes.smallest_dihedral_degrees, shapes.largest_dihedral_degrees);
    row("dihedral angles", format!("{least:.2} to {most:.2} degrees"));
    let ratio = if found.shortest_edge > 0.0 { found.longest_edge / found.shortest_edge } else { 0.0 };
    row("edges", format!("{:.3e} to {:.3e} m, ratio {ratio:.1}", found.shortest_edge, found.longest_edge));
    row("volume", format!("{:.6e} m3", shapes.volume));
    let genus = boundary.genus.map_or_else(|| "not a manifold".to_owned(), |genus| format!("genus {genus}"));
    row("boundary", format!("{} triangles, {} pieces, {genus}", boundary.triangles, boundary.components));
    let yes = |holds: bool| if holds { "yes" } else { "NO" };
    let [manifold, no_four, no_chord] = found.conditions();
    row("(A) manifold boundary", yes(manifold).to_owned());
    let count = |holds: bool, count: usize, what: &str| {
        if holds { yes(true).to_owned() } else { format!("{}: {count} {what}", yes(false)) }
    };
    row("(B) no four on boundary", count(no_four, found.tets_on_boundary, "tetrahedra"));
    row("(C) no inner chord", count(no_chord, found.chords, "edges"));
    let validity = if found.is_valid() {
        "VALID: every tetrahedron is positive".to_owned()
    } else {
        let first = found.first_bad.map_or_else(String::new, |tet| format!(", the first is tetrahedron {tet}"));
        format!(
            "NOT VALID: {} inverted, {} flat, {} faces of three or more{first}",
            found.inverted, found.degenerate, found.overfull_faces
        )
    };
    let _ = writeln!(out, "{validity}");
    out
}
