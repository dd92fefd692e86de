//! All that never changes while cloth moves: connectivity, undisturbed rest shapes, hinges, masses, fabrics, pins.
//!
//! All cloth of a scene lies in one topology, piece after piece, so that every stage sees one set of vertices. Masses
//! are a third of each triangle's mass at each corner (Bridson 2003, 1.2).
//!
//! Guarantees: every index is in range and every mass is positive; a vertex without area gets the mean mass, so that
//! no stage divides by zero. Building fails with an error that names the piece and the place.

mod part;

pub use part::ModelPart;

use crate::dynamics::hinge;
use crate::dynamics::pattern::Pattern;
use crate::geometry::math::{DVec3, is_finite};
use crate::geometry::{EdgeId, Topology, TopologyError, TriMesh, TriangleId, UvMap, VertexId};
use crate::rest_shape::RestShape;
use crate::scene::fabric::Fabric;
use crate::state::State;
use std::ops::Range;
use thiserror::Error;

/// One piece of cloth as a scene gives it.
#[derive(Clone, Debug)]
pub struct Cloth {
    /// What errors and reports call it.
    pub name: String,
    /// Where it is at the start.
    pub mesh: TriMesh,
    /// What its triangles are like at rest.
    pub rest: Rest,
    /// How its edges are bent at rest.
    pub rest_angles: RestAngles,
    /// What it is made of.
    pub fabric: Fabric,
    /// Triangles of another fabric.
    pub panel_fabrics: Vec<(Vec<TriangleId>, Fabric)>,
    /// Vertices that stay where they are.
    pub pins: Vec<VertexId>,
    /// Vertices that sewing threads pull to edges.
    pub stitches: Vec<Stitch>,
}

/// A sewing thread from a vertex to a point of an edge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stitch {
    /// The vertex, then the ends of the edge.
    pub vertices: [VertexId; 3],
    /// Where on the edge: 0 at its first end, 1 at its second.
    pub weight: f64,
}

impl Stitch {
    /// A thread between two vertices.
    pub fn pair(a: VertexId, b: VertexId) -> Self {
        Self { vertices: [a, b, b], weight: 0.0 }
    }

    /// The factors of the three vertices whose weighted sum is the gap.
    pub fn factors(&self) -> [f64; 3] {
        [-1.0, 1.0 - self.weight, self.weight]
    }

    /// From the vertex to the point of the edge.
    pub fn gap(&self, positions: &[DVec3]) -> DVec3 {
        let terms = self.vertices.iter().zip(self.factors());
        terms.map(|(vertex, factor)| positions[vertex.index()] * factor).sum()
    }
}

/// Where rest shapes come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Rest {
    /// Each triangle's own shape at load.
    AsLoaded,
    /// The panels: metres, x is warp.
    Panels(UvMap),
    /// One shape per triangle.
    Shapes(Vec<RestShape>),
}

/// Where rest angles come from.
#[derive(Clone, Debug, PartialEq)]
pub enum RestAngles {
    /// Cloth lies flat at rest.
    Flat,
    /// The angles at load: sculpted folds.
    AsLoaded,
    /// Flat, but for some edges with an angle in radians: creases.
    Creases(Vec<([VertexId; 2], f64)>),
}

impl Cloth {
    /// Flat cotton with the shape that the mesh has.
    pub fn new(name: impl Into<String>, mesh: TriMesh) -> Self {
        Self {
            name: name.into(),
            mesh,
            rest: Rest::AsLoaded,
            rest_angles: RestAngles::Flat,
            fabric: Fabric::default(),
            panel_fabrics: Vec::new(),
            pins: Vec::new(),
            stitches: Vec::new(),
        }
    }
}

/// Why cloth cannot be simulated.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ModelError {
    /// The triangles do not make a mesh.
    #[error("{piece}: {source}")]
    Topology {
        /// The piece.
        piece: String,
        /// What is wrong.
        source: TopologyError,
    },
    /// A coordinate is not a number, or too large to compute with.
    #[error("{piece}: vertex {vertex} has no usable position; expected finite numbers below 1e6 metres")]
    Position {
        /// The piece.
        piece: String,
        /// Index of the vertex in the piece.
        vertex: usize,
    },
    /// Something that is given once per triangle has another count.
    #[error("{piece}: {what} are given for {given} triangles, the mesh has {expected}")]
    Count {
        /// The piece.
        piece: String,
        /// What was given.
        what: &'static str,
        /// How many.
        given: usize,
        /// How many triangles there are.
        expected: usize,
    },
    /// A pin, crease, stitch or uv names an element that does not exist.
    #[error("{piece}: {what} names {index}, the mesh has {count}")]
    OutOfRange {
        /// The piece.
        piece: String,
        /// What names it.
        what: &'static str,
        /// The index.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// A crease names two vertices without an edge between two triangles.
    #[error("{piece}: no inner edge joins vertices {a} and {b}; a crease needs one")]
    NoSuchEdge {
        /// The piece.
        piece: String,
        /// One vertex.
        a: u32,
        /// The other.
        b: u32,
    },
    /// A fabric number makes no sense.
    #[error("fabric {fabric}: {what} is {value}; expected {expected}")]
    Fabric {
        /// The fabric.
        fabric: String,
        /// Which number.
        what: &'static str,
        /// Its value.
        value: f64,
        /// What would do.
        expected: &'static str,
    },
}

/// A part of the model that came from one [`Cloth`].
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// Its name.
    pub name: String,
    /// Its vertices.
    pub vertices: Range<usize>,
    /// Its triangles.
    pub triangles: Range<usize>,
}

/// Two triangles at an inner edge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hinge {
    /// The edge.
    pub edge: EdgeId,
    /// The two triangles.
    pub triangles: [TriangleId; 2],
    /// The corner of each triangle off the edge, then the edge in the direction of the first triangle.
    pub vertices: [VertexId; 4],
    /// Bending stiffness at rest: flexural rigidity times edge length squared over area, N·m.
    pub stiffness: f64,
    /// Bending damping, seconds.
    pub damping: f64,
}

/// Cloth, fixed. See the module's text.
#[derive(Clone, Debug)]
pub struct Model {
    /// All pieces in one.
    pub topology: Topology,
    /// Where each piece lies in it.
    pub pieces: Vec<Piece>,
    /// The fabrics in use.
    pub fabrics: Vec<Fabric>,
    /// The fabric of every triangle: an index into `fabrics`.
    pub triangle_fabric: Vec<u32>,
    /// Undisturbed rest shapes; the state holds those in force.
    pub rest_shapes: Vec<RestShape>,
    /// All hinges, in the order of their edges.
    pub hinges: Vec<Hinge>,
    /// Undisturbed rest angles of the hinges, radians.
    pub rest_angles: Vec<f64>,
    /// Mass of every vertex, kg.
    pub masses: Vec<f64>,
    /// Pinned vertices, sorted.
    pub pins: Vec<VertexId>,
    /// Sewing threads.
    pub stitches: Vec<Stitch>,
    /// How long each thread is at the start, metres.
    pub stitch_gaps: Vec<f64>,
    pub(crate) pattern: Pattern,
}

impl Model {
    /// Puts the pieces together. The state starts at rest, where the meshes are.
    pub fn build(cloths: &[Cloth]) -> Result<(Self, State), ModelError> {
        let mut whole = TriMesh::default();
        let mut pieces = Vec::new();
        for cloth in cloths {
            check_cloth(cloth)?;
            let (first_vertex, first_triangle) = whole.append(&cloth.mesh);
            pieces.push(Piece {
                name: cloth.name.clone(),
                vertices: first_vertex..whole.positions.len(),
                triangles: first_triangle..whole.triangles.len(),
            });
        }
        let topology = Topology::new(whole.positions.len(), &whole.triangles)
            .map_err(|source| ModelError::Topology { piece: "cloth".into(), source })?;
        let mut rest_shapes = Vec::with_capacity(whole.triangles.len());
        let (mut fabrics, mut triangle_fabric) = (Vec::new(), Vec::new());
        let (mut pins, mut stitches) = (Vec::new(), Vec::new());
        for (cloth, piece) in cloths.iter().zip(&pieces) {
            rest_shapes.extend(rest_shapes_of(cloth)?);
            triangle_fabric.extend(fabrics_of(cloth, &mut fabrics)?);
            let moved = |vertex: VertexId| VertexId::new(vertex.index() + piece.vertices.start);
            pins.extend(cloth.pins.iter().map(|&pin| moved(pin)));
            let moved_stitch = |stitch: &Stitch| Stitch { vertices: stitch.vertices.map(moved), ..*stitch };
            stitches.extend(cloth.stitches.iter().map(moved_stitch));
        }
        pins.sort_unstable();
        pins.dedup();
        let masses = masses(&topology, &rest_shapes, &fabrics, &triangle_fabric);
        let hinges = hinges(&topology, &rest_shapes, &fabrics, &triangle_fabric);
        let rest_angles = rest_angles(cloths, &pieces, &topology, &hinges, &whole.positions)?;
        let pattern = Pattern::new(&topology, &hinges, &stitches);
        let stitch_gaps = stitches.iter().map(|stitch| stitch.gap(&whole.positions).length()).collect();
        let state = State::at_rest(whole.positions, rest_shapes.clone(), rest_angles.clone());
        let model = Self {
            topology,
            pieces,
            fabrics,
            triangle_fabric,
            rest_shapes,
            hinges,
            rest_angles,
            masses,
            pins,
            stitches,
            stitch_gaps,
            pattern,
        };
        Ok((model, state))
    }

    /// The fabric of a triangle.
    pub fn fabric(&self, triangle: TriangleId) -> &Fabric {
        &self.fabrics[self.triangle_fabric[triangle.index()] as usize]
    }

    /// The index of the hinge at an edge, if the edge has just two triangles.
    pub fn hinge_at(&self, edge: EdgeId) -> Option<usize> {
        self.hinges.binary_search_by_key(&edge, |hinge| hinge.edge).ok()
    }

    /// The mean length of all edges at rest, metres.
    pub fn mean_rest_edge(&self) -> f64 {
        let total: f64 = self.rest_shapes.iter().flat_map(RestShape::lengths).sum();
        total / (3 * self.rest_shapes.len()).max(1) as f64
    }
}

fn check_cloth(cloth: &Cloth) -> Result<(), ModelError> {
    let piece = || cloth.name.clone();
    let vertex_count = cloth.mesh.positions.len();
    let usable = |point: DVec3| is_finite(point) && point.abs().max_element() < 1e6;
    if let Some(vertex) = cloth.mesh.positions.iter().position(|&point| !usable(point)) {
        return Err(ModelError::Position { piece: piece(), vertex });
    }
    Topology::new(vertex_count, &cloth.mesh.triangles)
        .map_err(|source| ModelError::Topology { piece: piece(), source })?;
    let named = [
        ("a pin", cloth.pins.clone()),
        ("a stitch", cloth.stitches.iter().flat_map(|stitch| stitch.vertices).collect()),
    ];
    for (what, vertices) in named {
        if let Some(vertex) = vertices.iter().find(|vertex| vertex.index() >= vertex_count) {
            return Err(ModelError::OutOfRange { piece: piece(), what, index: vertex.index(), count: vertex_count });
        }
    }
    for (triangles, _) in &cloth.panel_fabrics {
        let count = cloth.mesh.triangles.len();
        if let Some(triangle) = triangles.iter().find(|triangle| triangle.index() >= count) {
            return Err(ModelError::OutOfRange {
                piece: piece(),
                what: "a panel's fabric",
                index: triangle.index(),
                count,
            });
        }
    }
    Ok(())
}

fn rest_shapes_of(cloth: &Cloth) -> Result<Vec<RestShape>, ModelError> {
    let piece = || cloth.name.clone();
    let expected = cloth.mesh.triangles.len();
    let same_count = |what, given| {
        if given == expected { Ok(()) } else { Err(ModelError::Count { piece: piece(), what, given, expected }) }
    };
    match &cloth.rest {
        Rest::AsLoaded => Ok(cloth
            .mesh
            .triangles
            .iter()
            .map(|corners| RestShape::from_world(corners.map(|corner| cloth.mesh.positions[corner as usize])))
            .collect()),
        Rest::Shapes(shapes) => {
            same_count("rest shapes", shapes.len())?;
            Ok(shapes.clone())
        }
        Rest::Panels(uv) => {
            same_count("panel coordinates", uv.triangles.len())?;
            let count = uv.coordinates.len();
            if let Some(&index) = uv.triangles.iter().flatten().find(|&&index| index as usize >= count) {
                let index = index as usize;
                return Err(ModelError::OutOfRange { piece: piece(), what: "a panel triangle", index, count });
            }
            let corner = |index: u32| uv.coordinates[index as usize];
            Ok(uv.triangles.iter().map(|corners| RestShape::from_panel(corners.map(corner))).collect())
        }
    }
}

fn fabrics_of(cloth: &Cloth, fabrics: &mut Vec<Fabric>) -> Result<Vec<u32>, ModelError> {
    let mut number = |fabric: &Fabric| -> Result<u32, ModelError> {
        check_fabric(fabric)?;
        let known = fabrics.iter().position(|other| other == fabric);
        Ok(known.unwrap_or_else(|| {
            fabrics.push(fabric.clone());
            fabrics.len() - 1
        }) as u32)
    };
    let mut out = vec![number(&cloth.fabric)?; cloth.mesh.triangles.len()];
    for (triangles, fabric) in &cloth.panel_fabrics {
        let index = number(fabric)?;
        for triangle in triangles {
            out[triangle.index()] = index;
        }
    }
    Ok(out)
}

fn check_fabric(fabric: &Fabric) -> Result<(), ModelError> {
    let fail = |what, value, expected| Err(ModelError::Fabric { fabric: fabric.name.clone(), what, value, expected });
    let positive =
        [("density", fabric.density), ("stretch_warp", fabric.stretch_warp), ("stretch_weft", fabric.stretch_weft)];
    for (what, value) in positive {
        if !(value.is_finite() && value > 0.0) {
            return fail(what, value, "a number above 0");
        }
    }
    let others = [
        ("shear", fabric.shear),
        ("bend", fabric.bend),
        ("stretch_damping", fabric.stretch_damping),
        ("bend_damping", fabric.bend_damping),
        ("thickness", fabric.thickness),
        ("friction", fabric.friction),
        ("stretch_limit", fabric.stretch_limit),
        ("compression_limit", fabric.compression_limit),
    ];
    for (what, value) in others {
        if !(value.is_finite() && value >= 0.0) {
            return fail(what, value, "a number of at least 0");
        }
    }
    Ok(())
}

fn masses(topology: &Topology, shapes: &[RestShape], fabrics: &[Fabric], triangle_fabric: &[u32]) -> Vec<f64> {
    let mut masses = vec![0.0; topology.vertex_count()];
    for ((corners, shape), &fabric) in topology.triangles().iter().zip(shapes).zip(triangle_fabric) {
        let share = shape.area() * fabrics[fabric as usize].density / 3.0;
        for corner in corners {
            masses[corner.index()] += share;
        }
    }
    let heavy = masses.iter().filter(|&&mass| mass > 0.0).count();
    let mean = if heavy == 0 { 1.0 } else { masses.iter().sum::<f64>() / heavy as f64 };
    for mass in &mut masses {
        *mass = if *mass > 1e-6 * mean { *mass } else { mean };
    }
    masses
}

/// Bending stiffness `B |e|^2 / (A1 + A2)`: with energy `stiffness/2 (angle - rest)^2` per hinge, a cylinder on an
/// equilateral mesh has the energy `B/2 curvature^2` per area whatever the mesh's direction.
fn hinges(topology: &Topology, shapes: &[RestShape], fabrics: &[Fabric], triangle_fabric: &[u32]) -> Vec<Hinge> {
    topology
        .hinges()
        .map(|(edge, triangles)| {
            let [a, b] = topology.edge(edge);
            let corners = topology.triangle(triangles[0]);
            let at = |vertex| corners.iter().position(|&corner| corner == vertex).expect("the edge is a side");
            let (start, end) = if (at(a) + 1) % 3 == at(b) { (a, b) } else { (b, a) };
            let off = triangles.map(|triangle| topology.opposite_vertex(triangle, edge));
            let length_squared = 0.5
                * triangles.iter().map(|&triangle| rest_side_squared(topology, shapes, triangle, edge)).sum::<f64>();
            let area: f64 = triangles.iter().map(|triangle| shapes[triangle.index()].area()).sum();
            let fabric = |triangle: TriangleId| &fabrics[triangle_fabric[triangle.index()] as usize];
            let mean = |number: fn(&Fabric) -> f64| 0.5 * (number(fabric(triangles[0])) + number(fabric(triangles[1])));
            let stiffness = if area > 1e-12 * length_squared { mean(|f| f.bend) * length_squared / area } else { 0.0 };
            Hinge {
                edge,
                triangles,
                vertices: [off[0], off[1], start, end],
                stiffness,
                damping: mean(|f| f.bend_damping),
            }
        })
        .collect()
}

fn rest_side_squared(topology: &Topology, shapes: &[RestShape], triangle: TriangleId, edge: EdgeId) -> f64 {
    let side = topology.triangle_edges(triangle).iter().position(|&other| other == edge).expect("the edge is a side");
    shapes[triangle.index()].side(side, (side + 1) % 3).length_squared()
}

fn rest_angles(
    cloths: &[Cloth],
    pieces: &[Piece],
    topology: &Topology,
    hinges: &[Hinge],
    positions: &[DVec3],
) -> Result<Vec<f64>, ModelError> {
    let mut angles = vec![0.0; hinges.len()];
    for (cloth, piece) in cloths.iter().zip(pieces) {
        match &cloth.rest_angles {
            RestAngles::Flat => {}
            RestAngles::AsLoaded => {
                for (hinge, angle) in hinges.iter().zip(&mut angles) {
                    if piece.vertices.contains(&hinge.vertices[0].index()) {
                        *angle = hinge::angle(hinge.vertices.map(|vertex| positions[vertex.index()])).unwrap_or(0.0);
                    }
                }
            }
            RestAngles::Creases(creases) => {
                for &([a, b], angle) in creases {
                    let missing = || ModelError::NoSuchEdge { piece: cloth.name.clone(), a: a.0, b: b.0 };
                    if a.index().max(b.index()) >= piece.vertices.len() {
                        return Err(missing());
                    }
                    let moved = |vertex: VertexId| VertexId::new(vertex.index() + piece.vertices.start);
                    let edge = topology.find_edge(moved(a), moved(b)).ok_or_else(missing)?;
                    let index = hinges.binary_search_by_key(&edge, |hinge| hinge.edge).map_err(|_| missing())?;
                    angles[index] = angle;
                }
            }
        }
    }
    Ok(angles)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn square() -> TriMesh {
        TriMesh {
            positions: vec![DVec3::ZERO, DVec3::X, DVec3::new(1.0, 1.0, 0.0), DVec3::Y],
            triangles: vec![[0, 1, 2], [0, 2, 3]],
        }
    }

    #[test]
    fn masses_add_up_to_density_times_area() {
        let (model, state) = Model::build(&[Cloth::new("a", square()), Cloth::new("b", square())]).unwrap();
        assert!((model.masses.iter().sum::<f64>() - 2.0 * 0.15).abs() < 1e-15);
        assert_eq!(model.pieces[1].vertices, 4..8);
        assert_eq!(model.hinges.len(), 2);
        assert_eq!(state.positions.len(), 8);
        assert_eq!(model.hinge_at(model.hinges[1].edge), Some(1));
    }

    #[test]
    fn creases_set_the_angle_of_their_edge() {
        let mut cloth = Cloth::new("a", square());
        cloth.rest_angles = RestAngles::Creases(vec![([VertexId(2), VertexId(0)], 1.0)]);
        let (model, _) = Model::build(&[cloth.clone()]).unwrap();
        assert_eq!(model.rest_angles, [1.0]);
        cloth.rest_angles = RestAngles::Creases(vec![([VertexId(1), VertexId(3)], 1.0)]);
        let error = Model::build(&[cloth]).unwrap_err();
        assert_eq!(error.to_string(), "a: no inner edge joins vertices 1 and 3; a crease needs one");
    }

    #[test]
    fn what_cannot_be_simulated_is_named() {
        let mut cloth = Cloth::new("shirt", square());
        cloth.pins = vec![VertexId(9)];
        assert_eq!(Model::build(&[cloth]).unwrap_err().to_string(), "shirt: a pin names 9, the mesh has 4");
        let mut cloth = Cloth::new("shirt", square());
        cloth.mesh.positions[2].y = f64::NAN;
        assert!(Model::build(&[cloth]).unwrap_err().to_string().starts_with("shirt: vertex 2 has no usable position"));
        let mut cloth = Cloth::new("shirt", square());
        cloth.fabric.density = 0.0;
        let text = Model::build(&[cloth]).unwrap_err().to_string();
        assert_eq!(text, "fabric cotton: density is 0; expected a number above 0");
    }
}
