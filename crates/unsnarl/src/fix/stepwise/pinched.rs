//! Pinched cloth in `fix`: what lies between surfaces of bodies that have passed through each other or through
//! themselves.
//!
//! There is no place for it that is outside. It is flypapered: bodies of `fix` rest, so a pinched vertex stays where
//! it is, its triangles may pass through bodies, and contours with bodies there count as nobody's. Cloth against
//! cloth is untangled there as everywhere. Which vertices are pinched is decided once, from the input. (Baraff,
//! Witkin and Kass 2003, section 4; [`pinch`])
//!
//! Guarantees: only pairs of cloth and body whose cloth triangle has a pinched corner are excused, and the verdict
//! still lists them.
//! Does not: look at open bodies, which have no inside.

use crate::analysis::{self, Assembly, PartKind, Tangle, Verdict, Workspace};
use crate::untangle::bodies::pinch::{self, BodyMeshes, Excused, PinchSettings};
use std::borrow::Cow;
use unsnarl_geometry::{DVec3, Topology, TriMesh, TriangleId, VertexId};

/// The pinched vertices of cloth.
pub(in crate::fix) struct Pinched {
    /// In order.
    vertices: Vec<VertexId>,
    /// The same by vertex of cloth; empty where nothing is pinched.
    flags: Vec<bool>,
    cloth_count: usize,
}

impl Pinched {
    /// Looks for cloth that closed bodies pinch. `positions` are those of cloth, then of bodies.
    pub fn find(assembly: &Assembly, cloth_count: usize, positions: &[DVec3]) -> Self {
        let vertices = pinched_vertices(assembly, cloth_count, positions);
        let mut flags = vec![false; if vertices.is_empty() { 0 } else { cloth_count }];
        vertices.iter().for_each(|vertex| flags[vertex.index()] = true);
        Self { vertices, flags, cloth_count }
    }

    /// In order.
    pub fn vertices(&self) -> &[VertexId] {
        &self.vertices
    }

    /// By vertex of cloth; empty where nothing is pinched.
    pub fn flags(&self) -> &[bool] {
        &self.flags
    }

    /// Whether a vertex is pinched.
    pub fn has(&self, vertex: VertexId) -> bool {
        self.flags.get(vertex.index()).copied().unwrap_or(false)
    }

    /// Whether a pair of triangles is one of pinched cloth and a body.
    fn excuses(&self, topology: &Topology, pair: [TriangleId; 2]) -> bool {
        let corners = pair.map(|triangle| topology.triangle(triangle));
        let is_of_body = |corners: &[VertexId; 3]| corners[0].index() >= self.cloth_count;
        corners.iter().any(is_of_body) && corners.iter().flatten().any(|&corner| self.has(corner))
    }

    /// A tangle without contours of bodies with pinched cloth.
    pub fn leave_out<'a>(&self, assembly: &Assembly, tangle: &'a Tangle) -> Cow<'a, Tangle> {
        match self.flags.is_empty() {
            true => Cow::Borrowed(tangle),
            false => pinch::without_pinched(assembly, tangle, |vertex| self.has(vertex), Excused::WithBodies),
        }
    }

    /// A verdict without pairs of bodies with pinched cloth.
    pub fn leave_out_pairs(&self, topology: &Topology, mut verdict: Verdict) -> Verdict {
        if !self.flags.is_empty() {
            verdict.pairs.retain(|pair| !self.excuses(topology, [pair.first, pair.second]));
        }
        verdict
    }
}

fn pinched_vertices(assembly: &Assembly, cloth_count: usize, positions: &[DVec3]) -> Vec<VertexId> {
    let mut meshes = Vec::new();
    for part in assembly.parts().iter().filter(|part| part.kind == PartKind::Body && part.is_closed) {
        let triangles = assembly.topology().own_triangles(part.triangles.clone(), part.vertices.start);
        meshes.push((part.name.as_str(), TriMesh { positions: positions[part.vertices.clone()].to_vec(), triangles }));
    }
    let Ok(joined) = BodyMeshes::new(meshes.iter().map(|(name, mesh)| (*name, mesh))) else { return Vec::new() };
    let places: Vec<DVec3> = meshes.iter().flat_map(|(_, mesh)| mesh.positions.iter().copied()).collect();
    let tangle = analysis::analyze(joined.assembly(), &places, &mut Workspace::default());
    let pinches = pinch::find(&joined, &places, &tangle, &positions[..cloth_count], &PinchSettings::default());
    pinches.iter().map(|pinch| pinch.vertex).collect()
}
