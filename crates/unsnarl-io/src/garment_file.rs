//! The sidecar of a garment: `NAME.garment.toml` beside `NAME.obj`.
//!
//! Everything in it is optional: where rest shapes come from, labels and fabrics of panels, creases, pins, the layer.
//! Vertices and panels are counted from 0, angles are degrees. `docs/meshes.md` describes every key.
//!
//! Guarantees: unknown keys are refused; every error names the file, the line and what was expected.
//! Does not: know fabrics; their names are passed on.

use crate::mesh::MeshFile;
use serde::Deserialize;
use std::fmt::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use thiserror::Error;
use toml::Spanned;
use unsnarl::scene::garment::{
    CreaseDescription, CreasePath, Entry, Garment, GarmentDescription, GarmentError, GarmentInput, PanelChoice,
    PanelDescription, RestChoice, TriangleGroups,
};
use unsnarl_geometry::subdivision::Split;
use unsnarl_geometry::{Topology, TopologyError, TriMesh, VertexId};

/// The largest sidecar that is read, bytes.
const LARGEST_FILE: u64 = 16 << 20;

/// Why a garment or its sidecar cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum GarmentFileError {
    /// The sidecar cannot be read.
    #[error("{path}: cannot read: {reason}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
    /// A line of the sidecar is wrong.
    #[error("{path}:{line}: {problem}")]
    Line {
        /// The file.
        path: String,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong and what was expected.
        problem: String,
    },
    /// The mesh does not make a garment.
    #[error("{path}: {problem}")]
    Mesh {
        /// The mesh file.
        path: String,
        /// What is wrong.
        problem: String,
    },
}

/// A sidecar, read, with the lines of its entries.
#[derive(Clone, Debug)]
pub struct GarmentFile {
    /// What it says.
    pub description: GarmentDescription,
    path: String,
    rest_line: usize,
    panel_lines: Vec<usize>,
    crease_lines: Vec<usize>,
    pin_lines: Vec<usize>,
}

/// The place of the sidecar of a mesh file.
pub fn sidecar_path(mesh: &Path) -> PathBuf {
    mesh.with_extension("garment.toml")
}

/// What a garment is built from, out of a mesh file.
pub fn garment_input(file: &MeshFile) -> GarmentInput<'_> {
    let parts = file.parts();
    GarmentInput {
        mesh: &file.mesh,
        uv: file.uv.as_ref(),
        groups: TriangleGroups { names: &parts.names, of_triangle: &parts.of_triangle },
        length_unit: file.conversion.unit.in_metres(),
    }
}

/// The garment of a mesh file, with its sidecar where there is one.
pub fn build_garment(mesh: &Path, file: &MeshFile) -> Result<Garment, GarmentFileError> {
    match read_beside(mesh)? {
        Some(sidecar) => sidecar.build(mesh, file),
        None => Garment::build(&garment_input(file), &GarmentDescription::default())
            .map_err(|error| GarmentFileError::Mesh { path: mesh.display().to_string(), problem: error.to_string() }),
    }
}

/// The sidecar of a mesh file, if there is one.
pub fn read_beside(mesh: &Path) -> Result<Option<GarmentFile>, GarmentFileError> {
    let path = sidecar_path(mesh);
    if !path.exists() {
        return Ok(None);
    }
    read(&path).map(Some)
}

/// Reads a sidecar.
pub fn read(path: &Path) -> Result<GarmentFile, GarmentFileError> {
    let fail = |reason: String| GarmentFileError::Read { path: path.display().to_string(), reason };
    let size = std::fs::metadata(path).map_err(|error| fail(error.to_string()))?.len();
    if size > LARGEST_FILE {
        return Err(fail(format!("{size} bytes; expected at most {LARGEST_FILE}")));
    }
    let text = std::fs::read_to_string(path).map_err(|error| fail(error.to_string()))?;
    parse(&path.display().to_string(), &text)
}

/// Reads a sidecar from its text; `path` is for messages.
pub fn parse(path: &str, text: &str) -> Result<GarmentFile, GarmentFileError> {
    let line_of = |span: &Range<usize>| {
        1 + text.as_bytes()[..span.start.min(text.len())].iter().filter(|&&byte| byte == b'\n').count()
    };
    let wrong = |line: usize, problem: String| GarmentFileError::Line { path: path.to_owned(), line, problem };
    let words: Words = toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(&span));
        wrong(line, one_line(error.message()))
    })?;
    let lines = |spans: &mut dyn Iterator<Item = Range<usize>>| spans.map(|span| line_of(&span)).collect::<Vec<_>>();
    let panel_lines = lines(&mut words.panel.iter().map(Spanned::span));
    let crease_lines = lines(&mut words.crease.iter().map(Spanned::span));
    let pin_lines = lines(&mut words.pin.iter().map(Spanned::span));
    let rest_line = words.rest.as_ref().map_or(1, |rest| line_of(&rest.span()));
    let scale_line = words.panel_scale.as_ref().map_or(rest_line, |scale| line_of(&scale.span()));
    let scale = words.panel_scale.map(Spanned::into_inner);
    let rest = match (words.rest.map(Spanned::into_inner), scale) {
        (None | Some(RestWord::Panels), Some(scale)) => RestChoice::Panels { scale },
        (Some(RestWord::Panels), None) => RestChoice::Panels { scale: 1.0 },
        (None | Some(RestWord::Auto), None) => RestChoice::Auto,
        (Some(RestWord::Shape), None) => RestChoice::ShapeAtLoad,
        (Some(_), Some(_)) => {
            return Err(wrong(scale_line, "panel_scale goes with rest = \"panels\" only; remove one of them".into()));
        }
    };
    let mut description = GarmentDescription { rest, layer: words.layer, ..GarmentDescription::default() };
    for (panel, &line) in words.panel.into_iter().zip(&panel_lines) {
        description.panels.push(panel.into_inner().describe().map_err(|problem| wrong(line, problem))?);
    }
    for (crease, &line) in words.crease.into_iter().zip(&crease_lines) {
        description.creases.push(crease.into_inner().describe().map_err(|problem| wrong(line, problem))?);
    }
    description.pins = words.pin.into_iter().map(|pin| pin.into_inner().vertices).collect();
    Ok(GarmentFile { description, path: path.to_owned(), rest_line: scale_line, panel_lines, crease_lines, pin_lines })
}

impl GarmentFile {
    /// The garment that this sidecar makes of a mesh file.
    pub fn build(&self, mesh: &Path, file: &MeshFile) -> Result<Garment, GarmentFileError> {
        Garment::build(&garment_input(file), &self.description).map_err(|error| match error {
            GarmentError::Description { entry, problem } => {
                GarmentFileError::Line { path: self.path.clone(), line: self.line(entry), problem }
            }
            other => GarmentFileError::Mesh { path: mesh.display().to_string(), problem: other.to_string() },
        })
    }

    fn line(&self, entry: Entry) -> usize {
        let line = match entry {
            Entry::Panel(index) => self.panel_lines.get(index),
            Entry::Crease(index) => self.crease_lines.get(index),
            Entry::Pin(index) => self.pin_lines.get(index),
            Entry::Rest => Some(&self.rest_line),
        };
        line.copied().unwrap_or(1)
    }
}

/// The text of a sidecar that says what the description does.
pub fn encode(description: &GarmentDescription) -> String {
    let mut out = String::new();
    let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
    let rest = match description.rest {
        RestChoice::Auto => None,
        RestChoice::Panels { scale } => Some(format!("rest = \"panels\"\npanel_scale = {scale:?}")),
        RestChoice::ShapeAtLoad => Some("rest = \"shape\"".to_owned()),
    };
    let layer = (description.layer != 0).then(|| format!("layer = {}", description.layer));
    for line in rest.into_iter().chain(layer) {
        out.push_str(&line);
        out.push('\n');
    }
    let mut entry = |heading: &str, lines: Vec<String>| {
        let gap = if out.is_empty() { "" } else { "\n" };
        let _ = writeln!(out, "{gap}[[{heading}]]\n{}", lines.join("\n"));
    };
    for panel in &description.panels {
        let which = match &panel.which {
            PanelChoice::Index(index) => format!("index = {index}"),
            PanelChoice::Group(group) => format!("group = {}", quoted(group)),
            PanelChoice::Vertex(vertex) => format!("vertex = {vertex}"),
        };
        let label = panel.label.iter().map(|label| format!("label = {}", quoted(label)));
        let fabric = panel.fabric.iter().map(|fabric| format!("fabric = {}", quoted(fabric)));
        entry("panel", [which].into_iter().chain(label).chain(fabric).collect());
    }
    for crease in &description.creases {
        let path = match &crease.path {
            CreasePath::Edges(edges) => {
                let pairs: Vec<String> = edges.iter().map(|[a, b]| format!("[{a}, {b}]")).collect();
                format!("edges = [{}]", pairs.join(", "))
            }
            CreasePath::Border([one, other]) => format!("between = [{}, {}]", quoted(one), quoted(other)),
        };
        entry("crease", vec![path, format!("angle_degrees = {:?}", crease.rest_angle.to_degrees())]);
    }
    for pin in &description.pins {
        let vertices: Vec<String> = pin.iter().map(u32::to_string).collect();
        entry("pin", vec![format!("vertices = [{}]", vertices.join(", "))]);
    }
    out
}

/// What a description says of a mesh after some levels of subdivision. Old vertices keep their numbers, so pins and
/// panels stay; creases run along the halves of their edges.
pub fn refined_description(
    description: &GarmentDescription,
    mesh: &TriMesh,
    levels: u32,
) -> Result<GarmentDescription, TopologyError> {
    let mut refined = description.clone();
    let has_edges = |crease: &CreaseDescription| matches!(crease.path, CreasePath::Edges(_));
    if !refined.creases.iter().any(has_edges) {
        return Ok(refined);
    }
    let mut topology = Topology::new(mesh.positions.len(), &mesh.triangles)?;
    for _ in 0..levels {
        let split = Split::new(&topology, std::slice::from_ref(&(0..topology.vertex_count())));
        for crease in &mut refined.creases {
            if let CreasePath::Edges(edges) = &mut crease.path {
                let pairs: Vec<[VertexId; 2]> = edges.iter().map(|edge| edge.map(VertexId)).collect();
                *edges = split.halves(&topology, &pairs).into_iter().map(|half| half.map(|end| end.0)).collect();
            }
        }
        topology = Topology::new(split.vertex_count(), &split.triangles(&topology))?;
    }
    Ok(refined)
}

fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    rest: Option<Spanned<RestWord>>,
    panel_scale: Option<Spanned<f64>>,
    #[serde(default)]
    layer: i32,
    #[serde(default)]
    panel: Vec<Spanned<PanelWords>>,
    #[serde(default)]
    crease: Vec<Spanned<CreaseWords>>,
    #[serde(default)]
    pin: Vec<Spanned<PinWords>>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum RestWord {
    Auto,
    Panels,
    Shape,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PanelWords {
    index: Option<u32>,
    group: Option<String>,
    vertex: Option<u32>,
    label: Option<String>,
    fabric: Option<String>,
}

impl PanelWords {
    fn describe(self) -> Result<PanelDescription, String> {
        let which = match (self.index, self.group, self.vertex) {
            (Some(index), None, None) => PanelChoice::Index(index),
            (None, Some(group), None) => PanelChoice::Group(group),
            (None, None, Some(vertex)) => PanelChoice::Vertex(vertex),
            _ => return Err("expected one of `index`, `group` and `vertex` to say which panel".into()),
        };
        Ok(PanelDescription { which, label: self.label, fabric: self.fabric })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CreaseWords {
    edges: Option<Vec<[u32; 2]>>,
    between: Option<[String; 2]>,
    angle_degrees: f64,
}

impl CreaseWords {
    fn describe(self) -> Result<CreaseDescription, String> {
        let path = match (self.edges, self.between) {
            (Some(edges), None) => CreasePath::Edges(edges),
            (None, Some(labels)) => CreasePath::Border(labels),
            _ => return Err("expected one of `edges` and `between` to say where the crease runs".into()),
        };
        if !(-180.0..=180.0).contains(&self.angle_degrees) {
            return Err(format!("angle_degrees is {}; expected a number from -180 to 180", self.angle_degrees));
        }
        Ok(CreaseDescription { path, rest_angle: self.angle_degrees.to_radians() })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PinWords {
    vertices: Vec<u32>,
}
