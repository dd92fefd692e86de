//! A garment: a mesh with its panels, rest shapes, creases, pins and layer.
//!
//! Built from a mesh, its uv coordinates and a [`GarmentDescription`] (what the sidecar file `NAME.garment.toml` says).
//!
//! Guarantees: everything is in range and fits the mesh; an error names the entry of the description that is wrong.
//! Does not: know fabrics; it carries their names.

pub mod panels;
pub mod rest;

pub use panels::{Dart, PanelId, Panels};
pub use rest::{RestChoice, RestSource, UvLengths};

use crate::geometry::math::{DVec3, is_finite};
use crate::geometry::{EdgeId, Topology, TopologyError, TriMesh, UvMap, VertexId};
use crate::rest_shape::RestShape;
use std::fmt;
use thiserror::Error;

/// A garment, checked.
#[derive(Clone, Debug)]
pub struct Garment {
    /// Its connectivity.
    pub topology: Topology,
    /// Its shape at load, metres.
    pub positions: Vec<DVec3>,
    /// How it is cut.
    pub panels: Panels,
    /// Labels of panels (`collar`, `cuff`, ...), by panel.
    pub panel_labels: Vec<Option<String>>,
    /// Names of fabrics, by panel.
    pub panel_fabrics: Vec<Option<String>>,
    /// One rest shape per triangle.
    pub rest_shapes: Vec<RestShape>,
    /// Where the rest shapes come from.
    pub rest_source: RestSource,
    /// Edges that are bent at rest, in index order.
    pub creases: Vec<Crease>,
    /// Vertices that are held, in index order.
    pub pins: Vec<VertexId>,
    /// The place in the order of layers, from the body outwards.
    pub layer: i32,
}

/// An edge that is bent at rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crease {
    /// The edge.
    pub edge: EdgeId,
    /// The dihedral angle at rest, radians; 0 is flat.
    pub rest_angle: f64,
}

/// What a user says of a garment; everything is optional.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GarmentDescription {
    /// Where rest shapes come from.
    pub rest: RestChoice,
    /// Labels and fabrics of panels.
    pub panels: Vec<PanelDescription>,
    /// Creases.
    pub creases: Vec<CreaseDescription>,
    /// Lists of vertices that are held.
    pub pins: Vec<Vec<u32>>,
    /// The place in the order of layers.
    pub layer: i32,
}

/// What a user says of a panel.
#[derive(Clone, Debug, PartialEq)]
pub struct PanelDescription {
    /// Which panels are meant.
    pub which: PanelChoice,
    /// Their label.
    pub label: Option<String>,
    /// The name of their fabric.
    pub fabric: Option<String>,
}

/// How a description points at panels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PanelChoice {
    /// By number: panels are counted from 0 by their smallest triangle.
    Index(u32),
    /// All panels with a triangle in this named group of the mesh file.
    Group(String),
    /// The panels at this vertex.
    Vertex(u32),
}

/// What a user says of a crease.
#[derive(Clone, Debug, PartialEq)]
pub struct CreaseDescription {
    /// Where it runs.
    pub path: CreasePath,
    /// The dihedral angle at rest, radians.
    pub rest_angle: f64,
}

/// Where a crease runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CreasePath {
    /// Along edges, each by its two vertices.
    Edges(Vec<[u32; 2]>),
    /// Along every edge between panels with the one and panels with the other label.
    Border([String; 2]),
}

/// An entry of a description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A panel, counted from 0.
    Panel(usize),
    /// A crease, counted from 0.
    Crease(usize),
    /// A list of pins, counted from 0.
    Pin(usize),
    /// The choice of rest shapes.
    Rest,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panel(index) => write!(f, "panel entry {index}"),
            Self::Crease(index) => write!(f, "crease entry {index}"),
            Self::Pin(index) => write!(f, "pin entry {index}"),
            Self::Rest => write!(f, "rest"),
        }
    }
}

/// Why a garment cannot be built.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum GarmentError {
    /// The triangles do not make a mesh.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// A position is not finite.
    #[error("vertex {vertex} has a coordinate that is not a finite number")]
    NotFinite {
        /// The vertex.
        vertex: usize,
    },
    /// The uv triangles do not fit the mesh.
    #[error(
        "the uv map has {uv_triangles} triangles, the mesh has {triangles}; expected as many, with indices in range"
    )]
    UvMismatch {
        /// Triangles of the uv map.
        uv_triangles: usize,
        /// Triangles of the mesh.
        triangles: usize,
    },
    /// An entry of the description does not fit the mesh.
    #[error("{entry}: {problem}")]
    Description {
        /// The entry.
        entry: Entry,
        /// What is wrong and what was expected.
        problem: String,
    },
}

/// Names on triangles, such as the groups of an OBJ file.
#[derive(Clone, Copy, Debug, Default)]
pub struct TriangleGroups<'a> {
    /// The names.
    pub names: &'a [String],
    /// For every triangle the index of its name; empty when there are none.
    pub of_triangle: &'a [u32],
}

/// What a garment is built from.
#[derive(Clone, Copy, Debug)]
pub struct GarmentInput<'a> {
    /// The mesh, metres.
    pub mesh: &'a TriMesh,
    /// Its panels, in the file's own numbers.
    pub uv: Option<&'a UvMap>,
    /// Its named groups.
    pub groups: TriangleGroups<'a>,
    /// The length unit of the mesh's file, in metres: uv coordinates may be in it.
    pub length_unit: f64,
}

impl<'a> GarmentInput<'a> {
    /// A mesh in metres, without groups.
    pub fn new(mesh: &'a TriMesh, uv: Option<&'a UvMap>) -> Self {
        Self { mesh, uv, groups: TriangleGroups::default(), length_unit: 1.0 }
    }
}

impl Garment {
    /// Checks everything and puts it together.
    pub fn build(input: &GarmentInput<'_>, description: &GarmentDescription) -> Result<Self, GarmentError> {
        let mesh = input.mesh;
        if let Some(vertex) = mesh.positions.iter().position(|&position| !is_finite(position)) {
            return Err(GarmentError::NotFinite { vertex });
        }
        let topology = Topology::new(mesh.positions.len(), &mesh.triangles)?;
        if let Some(uv) = input.uv {
            check_uv(&topology, uv)?;
        }
        if let RestChoice::Panels { scale } = description.rest {
            check_scale(scale, input.uv)?;
        }
        let panels = match input.uv {
            Some(uv) => Panels::from_uv(&topology, uv),
            None => Panels::from_pieces(&topology),
        };
        let (rest_shapes, rest_source) = rest::rest_shapes(mesh, input.uv, description.rest, input.length_unit);
        let mut garment = Self {
            panel_labels: vec![None; panels.count],
            panel_fabrics: vec![None; panels.count],
            topology,
            positions: mesh.positions.clone(),
            panels,
            rest_shapes,
            rest_source,
            creases: Vec::new(),
            pins: Vec::new(),
            layer: description.layer,
        };
        garment.name_panels(&description.panels, &input.groups)?;
        garment.set_creases(&description.creases)?;
        garment.set_pins(&description.pins)?;
        Ok(garment)
    }

    /// The panels with a label.
    pub fn panels_labelled(&self, label: &str) -> impl Iterator<Item = PanelId> + '_ {
        let label = label.to_owned();
        let labels = self.panel_labels.iter().enumerate();
        labels.filter(move |(_, own)| own.as_deref() == Some(&label)).map(|(index, _)| PanelId(index as u32))
    }

    fn name_panels(
        &mut self,
        descriptions: &[PanelDescription],
        groups: &TriangleGroups<'_>,
    ) -> Result<(), GarmentError> {
        for (index, description) in descriptions.iter().enumerate() {
            let fail = |problem| GarmentError::Description { entry: Entry::Panel(index), problem };
            for panel in self.chosen_panels(&description.which, groups).map_err(fail)? {
                if let Some(label) = &description.label {
                    self.panel_labels[panel.index()] = Some(label.clone());
                }
                if let Some(fabric) = &description.fabric {
                    self.panel_fabrics[panel.index()] = Some(fabric.clone());
                }
            }
        }
        Ok(())
    }

    fn chosen_panels(&self, which: &PanelChoice, groups: &TriangleGroups<'_>) -> Result<Vec<PanelId>, String> {
        let mut chosen: Vec<PanelId> = match which {
            PanelChoice::Index(index) if (*index as usize) < self.panels.count => vec![PanelId(*index)],
            PanelChoice::Index(index) => {
                return Err(format!("there is no panel {index}, the garment has {}", self.panels.count));
            }
            PanelChoice::Vertex(vertex) => {
                let vertex = self.vertex(*vertex)?;
                let at_vertex = self.topology.vertex_triangles(vertex).iter();
                at_vertex.map(|triangle| self.panels.of_triangle[triangle.index()]).collect()
            }
            PanelChoice::Group(name) => {
                let Some(group) = groups.names.iter().position(|known| known == name) else {
                    return Err(format!("there is no group `{name}` in the mesh file"));
                };
                let members = groups.of_triangle.iter().zip(&self.panels.of_triangle);
                members.filter(|(own, _)| **own as usize == group).map(|(_, panel)| *panel).collect()
            }
        };
        chosen.sort_unstable();
        chosen.dedup();
        Ok(chosen)
    }

    fn set_creases(&mut self, descriptions: &[CreaseDescription]) -> Result<(), GarmentError> {
        for (index, description) in descriptions.iter().enumerate() {
            let fail = |problem| GarmentError::Description { entry: Entry::Crease(index), problem };
            if !description.rest_angle.is_finite() {
                return Err(fail("the rest angle is not a finite number".into()));
            }
            let edges = self.crease_edges(&description.path).map_err(fail)?;
            self.creases.extend(edges.into_iter().map(|edge| Crease { edge, rest_angle: description.rest_angle }));
        }
        // A later entry overrides an earlier one; the sort is stable.
        self.creases.reverse();
        self.creases.sort_by_key(|crease| crease.edge);
        self.creases.dedup_by_key(|crease| crease.edge);
        Ok(())
    }

    fn crease_edges(&self, path: &CreasePath) -> Result<Vec<EdgeId>, String> {
        match path {
            CreasePath::Edges(pairs) => pairs
                .iter()
                .map(|&[a, b]| {
                    let edge = self.topology.find_edge(self.vertex(a)?, self.vertex(b)?);
                    let edge = edge.ok_or_else(|| format!("no edge joins vertex {a} and vertex {b}"))?;
                    match self.topology.edge_triangles(edge).len() {
                        2 => Ok(edge),
                        count => Err(format!("edge {a}-{b} has {count} triangles, a crease needs two")),
                    }
                })
                .collect(),
            CreasePath::Border([one, other]) => {
                for label in [one, other] {
                    if self.panels_labelled(label).next().is_none() {
                        return Err(format!("no panel is labelled `{label}`"));
                    }
                }
                let mut edges = Vec::new();
                for left in self.panels_labelled(one) {
                    for right in self.panels_labelled(other) {
                        edges.extend(self.panels.edges_between(&self.topology, left, right));
                    }
                }
                if edges.is_empty() {
                    return Err(format!("panels `{one}` and `{other}` share no edge"));
                }
                Ok(edges)
            }
        }
    }

    fn set_pins(&mut self, descriptions: &[Vec<u32>]) -> Result<(), GarmentError> {
        for (index, vertices) in descriptions.iter().enumerate() {
            for &vertex in vertices {
                let fail = |problem| GarmentError::Description { entry: Entry::Pin(index), problem };
                self.pins.push(self.vertex(vertex).map_err(fail)?);
            }
        }
        self.pins.sort_unstable();
        self.pins.dedup();
        Ok(())
    }

    fn vertex(&self, index: u32) -> Result<VertexId, String> {
        if (index as usize) < self.topology.vertex_count() {
            return Ok(VertexId(index));
        }
        Err(format!("there is no vertex {index}, the mesh has {} (counted from 0)", self.topology.vertex_count()))
    }
}

fn check_uv(topology: &Topology, uv: &UvMap) -> Result<(), GarmentError> {
    let in_range = uv.triangles.iter().flatten().all(|&index| (index as usize) < uv.coordinates.len());
    if uv.triangles.len() == topology.triangle_count() && in_range {
        return Ok(());
    }
    Err(GarmentError::UvMismatch { uv_triangles: uv.triangles.len(), triangles: topology.triangle_count() })
}

fn check_scale(scale: f64, uv: Option<&UvMap>) -> Result<(), GarmentError> {
    let fail = |problem: &str| Err(GarmentError::Description { entry: Entry::Rest, problem: problem.into() });
    if uv.is_none() {
        return fail("rest shapes from panels need uv coordinates on every face, the mesh has none");
    }
    if !(scale.is_finite() && scale > 0.0) {
        return fail("the panel scale must be a number of metres greater than 0");
    }
    Ok(())
}

#[cfg(test)]
mod tests;
