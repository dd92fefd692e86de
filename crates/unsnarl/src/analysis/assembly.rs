//! All meshes of one analysis as one: garments and bodies, one after the other.

use std::ops::Range;
use unsnarl_geometry::{Topology, TopologyError, TriMesh, TriangleId, VertexId};

/// What a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// Cloth: may cross itself and everything else.
    Cloth,
    /// A body: what matters is cloth that crosses it, not whether it crosses itself.
    Body,
}

/// One mesh of an [`Assembly`].
#[derive(Clone, Debug)]
pub struct Part {
    /// Its name, for reports.
    pub name: String,
    /// Cloth or body.
    pub kind: PartKind,
    /// Its vertices in the assembly.
    pub vertices: Range<usize>,
    /// Its triangles in the assembly.
    pub triangles: Range<usize>,
    /// Whether it is a closed manifold, whose triangles tell inside from outside.
    pub is_closed: bool,
}

/// Several meshes with one numbering. Connectivity only: positions are given beside it.
#[derive(Clone, Debug)]
pub struct Assembly {
    topology: Topology,
    parts: Vec<Part>,
}

impl Assembly {
    /// Joins meshes, in order.
    pub fn new<'a>(
        meshes: impl IntoIterator<Item = (String, PartKind, usize, &'a [[u32; 3]])>,
    ) -> Result<Self, TopologyError> {
        let mut parts: Vec<Part> = Vec::new();
        let mut triangles: Vec<[u32; 3]> = Vec::new();
        let mut vertex_count = 0;
        for (name, kind, count, part_triangles) in meshes {
            let first_triangle = triangles.len();
            let offset = vertex_count as u32;
            triangles
                .extend(part_triangles.iter().map(|triangle| triangle.map(|vertex| vertex.saturating_add(offset))));
            parts.push(Part {
                name,
                kind,
                vertices: vertex_count..vertex_count + count,
                triangles: first_triangle..triangles.len(),
                is_closed: false,
            });
            vertex_count += count;
        }
        let topology = Topology::new(vertex_count, &triangles)?;
        for part in &mut parts {
            part.is_closed = !part.triangles.is_empty()
                && part.triangles.clone().all(|triangle| {
                    let edges = topology.triangle_edges(TriangleId::new(triangle));
                    edges.iter().all(|&edge| topology.edge_triangles(edge).len() == 2)
                });
        }
        Ok(Self { topology, parts })
    }

    /// Parts whose numbering is known already.
    pub(crate) fn of_parts(topology: Topology, parts: Vec<Part>) -> Self {
        Self { topology, parts }
    }

    /// One piece of cloth alone.
    pub fn of_cloth(name: &str, mesh: &TriMesh) -> Result<Self, TopologyError> {
        Self::new([(name.to_owned(), PartKind::Cloth, mesh.positions.len(), mesh.triangles.as_slice())])
    }

    /// The connectivity of all parts together.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The parts, in order.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The part of a triangle.
    pub fn part_of_triangle(&self, triangle: TriangleId) -> usize {
        self.parts.partition_point(|part| part.triangles.end <= triangle.index())
    }

    /// The part of a vertex.
    pub fn part_of_vertex(&self, vertex: VertexId) -> usize {
        self.parts.partition_point(|part| part.vertices.end <= vertex.index())
    }

    /// Whether a vertex belongs to cloth.
    pub fn is_cloth(&self, vertex: VertexId) -> bool {
        self.parts[self.part_of_vertex(vertex)].kind == PartKind::Cloth
    }

    /// Whether a pair of triangles is of interest: not both of bodies.
    pub fn counts(&self, a: usize, b: usize) -> bool {
        let is_body = |triangle: usize| {
            self.parts.len() > 1 && self.parts[self.part_of_triangle(TriangleId::new(triangle))].kind == PartKind::Body
        };
        !(is_body(a) && is_body(b))
    }
}
