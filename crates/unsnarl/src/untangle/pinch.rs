//! Pinches: cloth vertices caught between surfaces of bodies, and where on those surfaces.
//!
//! Two surfaces pinch a vertex when they face each other, the vertex is behind both (or within reach of both), and the
//! analysis of the bodies' own meshes says that they have passed through each other there. So a finger or a bump, which
//! has near surfaces with opposite normals as well, pinches nothing. Different bodies pinch as soon as both are within
//! reach, crossing or not. (Baraff, Witkin and Kass 2003, 4.4)
//!
//! Guarantees: the result depends on the positions alone, in vertex order.
//! Does not: tell apart more than two portions of one body per contour; other contours and other bodies add theirs.
//! Departs: which side of a surface a vertex is on is told by the normal of the nearest triangle.

use super::method::{crossing_triangles, cut_off_by, cut_off_by_both, triangles_at};
use super::nearest::{NearestPoint, NearestTriangle};
use crate::analysis::colour::colour;
use crate::analysis::{Assembly, PartKind, Tangle, TangledContour, Trace};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unsnarl_geometry::{Aabb, DVec3, Topology, TopologyError, TriMesh, TriangleId, VertexId};

/// When cloth counts as pinched.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PinchSettings {
    /// Distance within which a surface holds cloth that is not behind it, metres. Larger: cloth sticks earlier.
    pub reach: f64,
    /// Greatest depth behind a surface at which it still holds cloth, metres.
    pub depth: f64,
    /// Two surfaces face each other when the cosine between their normals is below this.
    pub facing: f64,
}

impl Default for PinchSettings {
    fn default() -> Self {
        Self { reach: 0.003, depth: 0.15, facing: -0.2 }
    }
}

/// A vertex and the places of bodies that hold it: two or more, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Pinch {
    /// The vertex of cloth.
    pub vertex: VertexId,
    /// Triangles of [`BodyMeshes`].
    pub triangles: Vec<TriangleId>,
}

/// All bodies as one mesh that may cross itself. Connectivity only.
#[derive(Clone, Debug)]
pub struct BodyMeshes {
    assembly: Assembly,
}

impl BodyMeshes {
    /// Joins bodies, in order.
    pub fn new<'a>(bodies: impl IntoIterator<Item = (&'a str, &'a TriMesh)>) -> Result<Self, TopologyError> {
        let parts = bodies
            .into_iter()
            .map(|(name, mesh)| (name.to_owned(), PartKind::Cloth, mesh.positions.len(), mesh.triangles.as_slice()));
        Ok(Self { assembly: Assembly::new(parts)? })
    }

    /// The connectivity of all bodies together.
    pub fn topology(&self) -> &Topology {
        self.assembly.topology()
    }

    /// The bodies as an analysis sees them: what it finds is where they cross each other and themselves.
    pub fn assembly(&self) -> &Assembly {
        &self.assembly
    }
}

/// All pinched vertices, in order. `bodies` are the positions of the bodies' vertices, `tangle` is their own.
pub fn find(
    meshes: &BodyMeshes,
    bodies: &[DVec3],
    tangle: &Tangle,
    cloth: &[DVec3],
    settings: &PinchSettings,
) -> Vec<Pinch> {
    let topology = meshes.topology();
    let mut held: Vec<(VertexId, TriangleId)> = Vec::new();
    for tangled in &tangle.contours {
        let sides = Trace::BOTH.map(|trace| side(topology, tangled, trace));
        held.extend(held_by(topology, bodies, [&sides[0], &sides[1]], cloth, settings, settings.depth));
    }
    let parts: Vec<Vec<TriangleId>> =
        meshes.assembly.parts().iter().map(|part| part.triangles.clone().map(TriangleId::new).collect()).collect();
    for second in 1..parts.len() {
        for first in 0..second {
            let sides = [parts[first].as_slice(), parts[second].as_slice()];
            held.extend(held_by(topology, bodies, sides, cloth, settings, settings.reach));
        }
    }
    held.sort_unstable();
    held.dedup();
    let triangles = |group: &[(VertexId, TriangleId)]| group.iter().map(|entry| entry.1).collect();
    held.chunk_by(|a, b| a.0 == b.0).map(|group| Pinch { vertex: group[0].0, triangles: triangles(group) }).collect()
}

/// A tangle without the contours that run through pinched vertices or cut them off: bodies keep making them anew, so nothing
/// can undo them before the bodies let go.
pub fn without_pinched(topology: &Topology, tangle: Tangle, pinched: &[VertexId]) -> Tangle {
    let is_pinched = |vertex: &VertexId| pinched.binary_search(vertex).is_ok();
    let is_free = |tangled: &TangledContour| {
        let crossing = tangled.contour.segments.iter().flatten().flat_map(|&triangle| topology.triangle(triangle));
        let cut_off = tangled.regions.cuts.iter().flat_map(|cut| cut.smaller_by_count.iter().copied());
        !crossing.chain(cut_off).any(|vertex| is_pinched(&vertex))
    };
    if pinched.is_empty() || tangle.contours.iter().all(is_free) {
        return tangle;
    }
    let contours: Vec<TangledContour> = tangle.contours.into_iter().filter(is_free).collect();
    let colours = colour(topology, &contours);
    Tangle { contours, colours }
}

/// The triangles on one side of a contour: what it cuts off there, and what it runs through.
fn side(topology: &Topology, tangled: &TangledContour, trace: Trace) -> Vec<TriangleId> {
    let region = cut_off_by(tangled, trace).or_else(|| cut_off_by_both(tangled)).unwrap_or(&[]);
    let mut triangles = triangles_at(topology, region);
    triangles.extend(crossing_triangles(tangled, trace));
    triangles.sort_unstable();
    triangles.dedup();
    triangles
}

/// The vertices that two sets of triangles hold between them, with the two triangles nearest to each.
fn held_by(
    topology: &Topology,
    bodies: &[DVec3],
    sides: [&[TriangleId]; 2],
    cloth: &[DVec3],
    settings: &PinchSettings,
    depth: f64,
) -> Vec<(VertexId, TriangleId)> {
    let margin = depth.max(settings.reach);
    let [mine, theirs] = sides.map(|side| bounds(topology, bodies, side).inflated(margin));
    let near_both: Vec<usize> =
        (0..cloth.len()).filter(|&at| mine.contains(cloth[at]) && theirs.contains(cloth[at])).collect();
    if near_both.is_empty() {
        return Vec::new();
    }
    let [Some(first), Some(second)] = sides.map(|side| NearestTriangle::among(topology, bodies, side)) else {
        return Vec::new();
    };
    let normal = |triangle: TriangleId| normal(topology, bodies, triangle);
    let holds = |found: &NearestPoint| {
        let height = found.offset.dot(normal(found.triangle));
        let distance = found.offset.length();
        distance <= settings.reach || (height <= 0.0 && distance <= depth)
    };
    let held: Vec<Vec<(VertexId, TriangleId)>> = near_both
        .par_iter()
        .map(|&at| {
            let (vertex, point) = (VertexId::new(at), cloth[at]);
            let Some(near) = first.to(point, settings.reach).filter(holds) else { return Vec::new() };
            let direction = normal(near.triangle);
            let faces = |triangle: TriangleId| normal(triangle).dot(direction) < settings.facing;
            let found = second.to_any_of(point, settings.reach, faces).filter(holds);
            found.map_or_else(Vec::new, |other| vec![(vertex, near.triangle), (vertex, other.triangle)])
        })
        .collect();
    held.concat()
}

fn bounds(topology: &Topology, positions: &[DVec3], triangles: &[TriangleId]) -> Aabb {
    let corners = triangles.iter().flat_map(|&triangle| topology.triangle(triangle));
    Aabb::of_points(corners.map(|corner| positions[corner.index()]))
}

fn normal(topology: &Topology, positions: &[DVec3], triangle: TriangleId) -> DVec3 {
    let [a, b, c] = topology.triangle(triangle).map(|corner| positions[corner.index()]);
    (b - a).cross(c - a).normalize_or_zero()
}
