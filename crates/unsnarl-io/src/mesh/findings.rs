//! The named answers to everything odd in a mesh file: a note, a warning or a refusal.
//!
//! One catalogue serves the readers (which refuse), [`inspect`] (which notes and warns) and the table in
//! `docs/meshes.md`. A refusal stops reading with a [`super::MeshFileError`]; notes and warnings never do.
//!
//! Guarantees: ordinary cloth (an open panel, quads, seams, several pieces) has no finding. Every kind has one fixed
//! answer about the vertex count.
//! Does not: look for intersections; that is `unsnarl check`.

use super::MeshFile;
use std::fmt;
use unsnarl_geometry::DVec3;
use unsnarl_geometry::math::is_finite;

/// Coordinates beyond this (in metres) are refused: products of them leave the range in which geometry is exact.
pub const LARGEST_COORDINATE: f64 = 1e30;

/// A garment whose largest side is smaller than this (in metres) is probably in another unit.
pub const SMALLEST_USUAL_EXTENT: f64 = 0.05;

/// A garment whose largest side is larger than this (in metres) is probably in another unit.
pub const LARGEST_USUAL_EXTENT: f64 = 10.0;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing; nothing is wrong.
    Note,
    /// Usable, but look at it.
    Warning,
    /// Not usable.
    Refusal,
}

/// What a reader or [`inspect`] does to the number of vertices when it meets a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VertexCount {
    /// As in the file.
    Kept,
    /// Vertices at the same position become one.
    Shrinks,
    /// There is no mesh.
    Refused,
}

macro_rules! catalogue {
    ($($kind:ident $name:literal $severity:ident $count:ident, $meaning:literal, $advice:literal;)*) => {
        /// Everything odd that a mesh file can be found to be.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum FindingKind {
            $(#[doc = $meaning] $kind,)*
        }

        impl FindingKind {
            /// All kinds, in the order of the table in the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$kind,)*];

            /// The name in reports and in the documentation.
            pub fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }

            /// How much it matters.
            pub fn severity(self) -> Severity {
                match self { $(Self::$kind => Severity::$severity,)* }
            }

            /// What it is.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$kind => $meaning,)* }
            }

            /// What to do about it.
            pub fn advice(self) -> &'static str {
                match self { $(Self::$kind => $advice,)* }
            }

            /// Whether the number of vertices changes.
            pub fn vertex_count(self) -> VertexCount {
                match self { $(Self::$kind => VertexCount::$count,)* }
            }
        }
    };
}

catalogue! {
    NonManifoldEdge "non-manifold-edge" Warning Kept,
        "three or more triangles share an edge",
        "split the sheet there if it should be cloth";
    DuplicateFace "duplicate-face" Warning Kept,
        "two triangles have the same three vertices",
        "delete one of them: they touch everywhere";
    ZeroAreaFace "zero-area-face" Warning Kept,
        "a triangle has no area",
        "collapse it or move a corner: it has no rest shape";
    RepeatedVertex "repeated-vertex" Warning Kept,
        "a face names a vertex twice, so it is left out (it stays in the written file of the same kind)",
        "delete the face";
    UnreferencedVertex "unreferenced-vertex" Note Kept,
        "no face uses a vertex",
        "nothing: it is kept and never moves";
    Welded "welded" Note Shrinks,
        "the format repeats a vertex for every face or seam; vertices at the very same position became one",
        "use OBJ or PLY where the count must stay";
    PartialUv "partial-uv" Warning Kept,
        "some faces have uv coordinates and some have none, so the panels are not used",
        "give every face uv coordinates, or none";
    LeftOut "left-out" Warning Kept,
        "the file holds something that is not a polygon mesh at rest, and it is not read",
        "convert it to a static polygon mesh if it is needed";
    SmallGarment "small-garment" Warning Kept,
        "the largest side is under 5 cm",
        "check the unit: --units mm|cm|dm|m";
    LargeGarment "large-garment" Warning Kept,
        "the largest side is over 10 m",
        "check the unit: --units mm|cm|dm|m";
    NotFinite "not-finite" Refusal Refused,
        "a coordinate is not a number or infinite",
        "export the mesh again from the last good frame";
    HugeCoordinate "huge-coordinate" Refusal Refused,
        "a coordinate is beyond 1e30 m",
        "check the unit, or export the mesh again";
    Empty "empty" Refusal Refused,
        "there is no usable triangle",
        "export a mesh with faces";
    IndexOutOfRange "index-out-of-range" Refusal Refused,
        "a face names a vertex that the file does not have",
        "export the mesh again; the file was cut or edited";
    Truncated "truncated" Refusal Refused,
        "the file ends before its data does",
        "copy or export the file again";
    PromisesTooMuch "promises-too-much" Refusal Refused,
        "a header promises more than the file holds",
        "copy or export the file again";
    TooMany "too-many" Refusal Refused,
        "more than 1,400,000,000 vertices, faces or corners",
        "split the mesh";
    Syntax "syntax" Refusal Refused,
        "a line or a field is not what the format asks for",
        "export the file again, or mend the place named";
    UnknownKind "unknown-kind" Refusal Refused,
        "the file is of a kind that is not read",
        "convert it to OBJ, PLY, STL, OFF, glTF, GLB or USD";
    Unreadable "unreadable" Refusal Refused,
        "the system does not hand the file out, or does not take it",
        "check the path and its permissions";
}

/// Something odd in a mesh, once for all its occurrences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is.
    pub kind: FindingKind,
    /// How often.
    pub count: usize,
    /// The first occurrence, in words: `edge 3-7`, `triangle 12`.
    pub first: String,
}

impl Finding {
    /// A finding with its number of occurrences and the first of them.
    pub fn new(kind: FindingKind, count: usize, first: impl Into<String>) -> Self {
        Self { kind, count, first: first.into() }
    }

    /// How much it matters.
    pub fn severity(&self) -> Severity {
        self.kind.severity()
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({}", self.kind.name(), self.kind.meaning(), self.first)?;
        if self.count > 1 {
            write!(f, " and {} more", self.count - 1)?;
        }
        write!(f, "); {}", self.kind.advice())
    }
}

/// Everything odd in a mesh, in the order of [`FindingKind::ALL`]; vertices and triangles are counted from 0.
pub fn inspect(file: &MeshFile) -> Vec<Finding> {
    let mut findings = file.reader_findings.clone();
    inspect_positions(file, &mut findings);
    inspect_triangles(file, &mut findings);
    findings.sort_by_key(|finding| finding.kind);
    findings
}

fn inspect_positions(file: &MeshFile, findings: &mut Vec<Finding>) {
    let positions = &file.mesh.positions;
    let mut tally = Tally::new(FindingKind::NotFinite);
    let mut huge = Tally::new(FindingKind::HugeCoordinate);
    for (vertex, &position) in positions.iter().enumerate() {
        if !is_finite(position) {
            tally.add(|| format!("vertex {vertex}"));
        } else if position.abs().max_element() > LARGEST_COORDINATE {
            huge.add(|| format!("vertex {vertex}"));
        }
    }
    let usable = tally.count == 0 && huge.count == 0;
    tally.finish(findings);
    huge.finish(findings);
    let largest = file.mesh.bounds().extent().max_element();
    if usable && !positions.is_empty() {
        if largest < SMALLEST_USUAL_EXTENT {
            findings.push(Finding::new(FindingKind::SmallGarment, 1, format!("{largest:.4} m")));
        } else if largest > LARGEST_USUAL_EXTENT {
            findings.push(Finding::new(FindingKind::LargeGarment, 1, format!("{largest:.1} m")));
        }
    }
}

fn inspect_triangles(file: &MeshFile, findings: &mut Vec<Finding>) {
    let (positions, triangles) = (&file.mesh.positions, &file.mesh.triangles);
    if triangles.is_empty() {
        findings.push(Finding::new(FindingKind::Empty, 1, "no triangle"));
    }
    let mut outside = Tally::new(FindingKind::IndexOutOfRange);
    let mut repeated = Tally::new(FindingKind::RepeatedVertex);
    let mut flat = Tally::new(FindingKind::ZeroAreaFace);
    let mut used = vec![false; positions.len()];
    let mut sides = Vec::with_capacity(3 * triangles.len());
    let mut by_corners = Vec::with_capacity(triangles.len());
    for (index, &triangle) in triangles.iter().enumerate() {
        let [a, b, c] = triangle;
        if triangle.iter().any(|&vertex| vertex as usize >= positions.len()) {
            outside.add(|| format!("triangle {index}"));
            continue;
        }
        triangle.iter().for_each(|&vertex| used[vertex as usize] = true);
        if a == b || b == c || a == c {
            repeated.add(|| format!("triangle {index}"));
            continue;
        }
        let corners = triangle.map(|vertex| positions[vertex as usize]);
        if has_no_area(corners) {
            flat.add(|| format!("triangle {index}"));
        }
        let mut sorted = triangle;
        sorted.sort_unstable();
        by_corners.push((sorted, index as u32));
        sides.extend([[a, b], [b, c], [c, a]].map(|[from, to]| [from.min(to), from.max(to)]));
    }
    for tally in [outside, repeated, flat] {
        tally.finish(findings);
    }
    inspect_duplicates(by_corners, findings);
    inspect_edges(sides, findings);
    let mut alone = Tally::new(FindingKind::UnreferencedVertex);
    for vertex in (0..used.len()).filter(|&vertex| !used[vertex]) {
        alone.add(|| format!("vertex {vertex}"));
    }
    alone.finish(findings);
}

/// Whether a triangle is so thin that its plane is rounding error: height under 1e-14 of its longest side.
fn has_no_area([a, b, c]: [DVec3; 3]) -> bool {
    let longest_squared = (b - a).length_squared().max((c - b).length_squared()).max((a - c).length_squared());
    (b - a).cross(c - a).length() <= 1e-14 * longest_squared
}

fn inspect_duplicates(mut by_corners: Vec<([u32; 3], u32)>, findings: &mut Vec<Finding>) {
    by_corners.sort_unstable();
    let mut again: Vec<u32> =
        by_corners.windows(2).filter(|pair| pair[0].0 == pair[1].0).map(|pair| pair[1].1).collect();
    again.sort_unstable();
    if let Some(first) = again.first() {
        findings.push(Finding::new(FindingKind::DuplicateFace, again.len(), format!("triangle {first}")));
    }
}

fn inspect_edges(mut sides: Vec<[u32; 2]>, findings: &mut Vec<Finding>) {
    sides.sort_unstable();
    let mut tally = Tally::new(FindingKind::NonManifoldEdge);
    for edge in sides.chunk_by(|left, right| left == right).filter(|run| run.len() > 2) {
        tally.add(|| format!("edge {}-{}", edge[0][0], edge[0][1]));
    }
    tally.finish(findings);
}

/// Counts occurrences and keeps the first.
struct Tally {
    kind: FindingKind,
    count: usize,
    first: String,
}

impl Tally {
    fn new(kind: FindingKind) -> Self {
        Self { kind, count: 0, first: String::new() }
    }

    fn add(&mut self, place: impl FnOnce() -> String) {
        if self.count == 0 {
            self.first = place();
        }
        self.count += 1;
    }

    fn finish(self, findings: &mut Vec<Finding>) {
        if self.count > 0 {
            findings.push(Finding::new(self.kind, self.count, self.first));
        }
    }
}
