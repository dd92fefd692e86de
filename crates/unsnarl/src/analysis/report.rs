//! The check report: what others read of an analysis. The fields are fixed by the schema `unsnarl.check/1`.

use super::contour::{ContourEnd, Trace};
use super::{Assembly, ContourKind, Tangle, TangledContour, Verdict};
use serde::Serialize;
use unsnarl_geometry::intersection::Relation;
use unsnarl_geometry::{Aabb, DVec3, TriangleId};

/// A machine-readable check.
#[derive(Clone, Debug, Serialize)]
pub struct CheckReport {
    /// `unsnarl.check/1`.
    pub schema: &'static str,
    /// No two closed triangles meet beyond what they share.
    pub clean: bool,
    /// Vertices of all parts.
    pub vertices: usize,
    /// Triangles of all parts.
    pub triangles: usize,
    /// Pairs of closed triangles that meet, touching ones included.
    pub intersecting_triangle_pairs: usize,
    /// Those that touch without crossing.
    pub touching_triangle_pairs: usize,
    /// Contours by type.
    pub types: TypeCounts,
    /// Every contour, the longest first.
    pub contours: Vec<ContourReport>,
    /// Which named parts meet, and in how many pairs.
    pub parts: Vec<PartPair>,
    /// Connected sheets of which more than half is on the wrong side.
    pub majority_failures: usize,
    /// Smallest and largest corner of everything, in metres.
    pub bounds: [[f64; 3]; 2],
    /// The smallest gap in metres, if it was asked for.
    pub smallest_gap: Option<f64>,
    /// Time taken.
    pub seconds: f64,
}

/// Contours by type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
#[allow(missing_docs)]
pub struct TypeCounts {
    pub closed: usize,
    pub eight: usize,
    pub cross: usize,
    pub ll: usize,
    pub bbii: usize,
    pub bibi: usize,
    pub bli: usize,
    pub other: usize,
}

/// One contour.
#[derive(Clone, Debug, Serialize)]
pub struct ContourReport {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: ContourKind,
    /// Length in metres.
    pub length: f64,
    /// Number of triangle pairs along it.
    pub segments: usize,
    /// The names of the two sheets.
    pub sheets: [String; 2],
    /// Its ends; none when it closes.
    pub ends: Vec<EndReport>,
    /// Loop vertices.
    pub loop_vertices: Vec<u32>,
    /// How many vertices each of its traces cuts off; a trace that cuts nothing off has 0.
    pub region_vertices: [usize; 2],
    /// The middle of the curve, in metres.
    pub center: [f64; 3],
}

/// One end of a contour.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct EndReport {
    /// `boundary`, `loop` or `non-manifold`.
    pub at: &'static str,
    /// The sheet (0 or 1) that has the boundary, where it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sheet: Option<usize>,
    /// Where, in metres.
    pub position: [f64; 3],
}

/// Two named parts that meet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct PartPair {
    /// Their names, in order.
    pub names: [String; 2],
    /// In how many triangle pairs.
    pub pairs: usize,
}

/// What a report is made of.
pub struct Findings<'a> {
    /// All meshes.
    pub assembly: &'a Assembly,
    /// Where they are.
    pub positions: &'a [DVec3],
    /// The contours.
    pub tangle: &'a Tangle,
    /// The pairs.
    pub verdict: &'a Verdict,
    /// The gap, if it was asked for.
    pub smallest_gap: Option<f64>,
    /// The time it took.
    pub seconds: f64,
}

impl CheckReport {
    /// Writes up what was found. `name_of` gives the name of the sheet that a triangle belongs to.
    pub fn new(findings: &Findings<'_>, name_of: impl Fn(TriangleId) -> String) -> Self {
        let Findings { assembly, positions, tangle, verdict, .. } = findings;
        let bounds = Aabb::of_points(positions.iter().copied());
        let mut contours: Vec<ContourReport> =
            tangle.contours.iter().map(|tangled| ContourReport::new(tangled, positions, &name_of)).collect();
        contours.sort_by(|a, b| b.length.total_cmp(&a.length));
        Self {
            schema: "unsnarl.check/1",
            clean: verdict.is_clean(),
            vertices: assembly.topology().vertex_count(),
            triangles: assembly.topology().triangle_count(),
            intersecting_triangle_pairs: verdict.pairs.len(),
            touching_triangle_pairs: verdict.touching_count(),
            types: TypeCounts::new(tangle),
            contours,
            parts: part_pairs(verdict, name_of),
            majority_failures: tangle.colours.majority_failures.len(),
            bounds: if bounds.is_empty() { [[0.0; 3]; 2] } else { [bounds.min.to_array(), bounds.max.to_array()] },
            smallest_gap: findings.smallest_gap,
            seconds: findings.seconds,
        }
    }
}

impl TypeCounts {
    /// Counts the contours of a tangle.
    pub fn new(tangle: &Tangle) -> Self {
        let count = |kind| tangle.count(kind);
        Self {
            closed: count(ContourKind::Closed),
            eight: count(ContourKind::Eight),
            cross: count(ContourKind::Cross),
            ll: count(ContourKind::Ll),
            bbii: count(ContourKind::Bbii),
            bibi: count(ContourKind::Bibi),
            bli: count(ContourKind::Bli),
            other: count(ContourKind::Other),
        }
    }
}

impl ContourReport {
    fn new(tangled: &TangledContour, positions: &[DVec3], name_of: impl Fn(TriangleId) -> String) -> Self {
        let contour = &tangled.contour;
        let line = contour.polyline(positions);
        let ends = contour.ends.iter().flatten().zip([line.first(), line.last()]);
        Self {
            kind: tangled.kind,
            length: contour.length(positions),
            segments: contour.segments.len(),
            sheets: contour.segments[0].map(name_of),
            ends: ends
                .map(|(end, place)| EndReport {
                    at: match end {
                        ContourEnd::Boundary(_) => "boundary",
                        ContourEnd::Loop(_) => "loop",
                        ContourEnd::NonManifold(_) => "non-manifold",
                    },
                    sheet: match end {
                        ContourEnd::Boundary(trace) => Some(trace.index()),
                        _ => None,
                    },
                    position: place.copied().unwrap_or_default().to_array(),
                })
                .collect(),
            loop_vertices: contour.loop_vertices().map(|vertex| vertex.0).collect(),
            region_vertices: Trace::BOTH.map(|trace| tangled.regions.vertices_cut_off_by(trace)),
            center: line.get(line.len() / 2).copied().unwrap_or_default().to_array(),
        }
    }
}

fn part_pairs(verdict: &Verdict, name_of: impl Fn(TriangleId) -> String) -> Vec<PartPair> {
    let mut names: Vec<[String; 2]> = verdict
        .pairs
        .iter()
        .filter(|pair| pair.relation != Relation::Apart)
        .map(|pair| {
            let mut names = [name_of(pair.first), name_of(pair.second)];
            names.sort();
            names
        })
        .collect();
    names.sort();
    let mut pairs: Vec<PartPair> =
        names.chunk_by(|a, b| a == b).map(|group| PartPair { names: group[0].clone(), pairs: group.len() }).collect();
    pairs.sort_by(|a, b| b.pairs.cmp(&a.pairs).then_with(|| a.names.cmp(&b.names)));
    pairs
}
