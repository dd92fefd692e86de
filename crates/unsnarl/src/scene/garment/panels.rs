//! Panels, seams and darts, from the uv coordinates of a garment.
//!
//! A panel is a connected piece of the uv mesh. A world vertex with several uv vertices lies on a seam; an edge whose
//! two triangles give it different uv vertices is a seam edge; a seam edge that keeps one uv vertex at an end has the
//! apex of a dart there (in uv, two seam edges share that vertex).
//!
//! Guarantees: panels are numbered by their smallest triangle. Uv vertices with equal coordinates at one world vertex
//! count as one, because exporters repeat them.
//! Does not: need uv; without it every connected piece of the mesh is a panel, and there are no seams.

use crate::geometry::{EdgeId, Topology, TriangleId, UvMap, VertexId};

/// The index of a panel in its garment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PanelId(pub u32);

impl PanelId {
    /// As an array index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The point where a dart ends inside its panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dart {
    /// The vertex where both sides of the dart meet.
    pub apex: VertexId,
    /// The first edge of the sewn dart, at the apex.
    pub edge: EdgeId,
}

/// How a garment is cut.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Panels {
    /// The panel of every triangle.
    pub of_triangle: Vec<PanelId>,
    /// How many panels there are.
    pub count: usize,
    /// Edges between two triangles where the cloth is sewn, in index order.
    pub seam_edges: Vec<EdgeId>,
    /// Ends of darts, in the order of their edges.
    pub darts: Vec<Dart>,
    /// Three uv vertices per triangle, with repeated ones joined; empty without uv.
    pub uv_triangles: Vec<[u32; 3]>,
}

impl Panels {
    /// From uv coordinates that fit the mesh: as many triangles, every index in range.
    pub fn from_uv(topology: &Topology, uv: &UvMap) -> Self {
        let uv_triangles = join_repeated(topology, uv);
        let (of_triangle, count) = number_panels(topology.triangle_count(), uv.coordinates.len(), &uv_triangles);
        let mut seam_edges = Vec::new();
        let mut darts = Vec::new();
        for (edge, triangles) in topology.hinges() {
            let ends = topology.edge(edge);
            let [left, right] =
                triangles.map(|triangle| ends.map(|end| corner(topology, &uv_triangles, triangle, end)));
            if left == right {
                continue;
            }
            seam_edges.push(edge);
            darts.extend((0..2).filter(|&end| left[end] == right[end]).map(|end| Dart { apex: ends[end], edge }));
        }
        Self { of_triangle, count, seam_edges, darts, uv_triangles }
    }

    /// Every connected piece is a panel.
    pub fn from_pieces(topology: &Topology) -> Self {
        let triangles: Vec<[u32; 3]> =
            topology.triangles().iter().map(|corners| corners.map(|corner| corner.0)).collect();
        let (of_triangle, count) = number_panels(triangles.len(), topology.vertex_count(), &triangles);
        Self { of_triangle, count, ..Self::default() }
    }

    /// The triangles of a panel, in index order.
    pub fn triangles(&self, panel: PanelId) -> impl Iterator<Item = TriangleId> + '_ {
        (0..self.of_triangle.len()).filter(move |&triangle| self.of_triangle[triangle] == panel).map(TriangleId::new)
    }

    /// The edges that join one panel to another, in index order.
    pub fn edges_between(&self, topology: &Topology, one: PanelId, other: PanelId) -> Vec<EdgeId> {
        topology
            .hinges()
            .filter(|(_, triangles)| {
                let panels = triangles.map(|triangle| self.of_triangle[triangle.index()]);
                panels == [one, other] || panels == [other, one]
            })
            .map(|(edge, _)| edge)
            .filter(|edge| one != other || self.seam_edges.binary_search(edge).is_ok())
            .collect()
    }
}

fn corner(topology: &Topology, uv_triangles: &[[u32; 3]], triangle: TriangleId, vertex: VertexId) -> u32 {
    let corners = topology.triangle(triangle);
    let at = corners.iter().position(|&corner| corner == vertex).expect("an edge's end is a corner of its triangle");
    uv_triangles[triangle.index()][at]
}

/// Uv vertices with equal coordinates at one world vertex become the smallest of them.
fn join_repeated(topology: &Topology, uv: &UvMap) -> Vec<[u32; 3]> {
    let mut joined = uv.triangles.clone();
    let mut at_vertex: Vec<(u32, TriangleId, usize)> = Vec::new();
    for vertex in (0..topology.vertex_count()).map(VertexId::new) {
        at_vertex.clear();
        for &triangle in topology.vertex_triangles(vertex) {
            let at = topology.triangle(triangle).iter().position(|&corner| corner == vertex);
            let at = at.expect("a triangle of a vertex has it as a corner");
            at_vertex.push((uv.triangles[triangle.index()][at], triangle, at));
        }
        at_vertex.sort_unstable();
        for index in 0..at_vertex.len() {
            let (own, triangle, at) = at_vertex[index];
            let place = uv.coordinates[own as usize];
            let first = at_vertex[..index].iter().find(|(other, ..)| uv.coordinates[*other as usize] == place);
            joined[triangle.index()][at] = first.map_or(own, |&(first, ..)| first);
        }
    }
    joined
}

/// Connected pieces of triangles, numbered by their smallest triangle.
fn number_panels(triangle_count: usize, vertex_count: usize, triangles: &[[u32; 3]]) -> (Vec<PanelId>, usize) {
    let mut parent: Vec<u32> = (0..vertex_count as u32).collect();
    fn root(parent: &mut [u32], mut vertex: u32) -> u32 {
        while parent[vertex as usize] != vertex {
            parent[vertex as usize] = parent[parent[vertex as usize] as usize];
            vertex = parent[vertex as usize];
        }
        vertex
    }
    for &[a, b, c] in triangles {
        for (one, other) in [(a, b), (b, c)] {
            let (one, other) = (root(&mut parent, one), root(&mut parent, other));
            parent[one.max(other) as usize] = one.min(other);
        }
    }
    let mut number_of_root = vec![u32::MAX; vertex_count];
    let mut count = 0;
    let of_triangle = (0..triangle_count)
        .map(|triangle| {
            let number = &mut number_of_root[root(&mut parent, triangles[triangle][0]) as usize];
            if *number == u32::MAX {
                *number = count;
                count += 1;
            }
            PanelId(*number)
        })
        .collect();
    (of_triangle, count as usize)
}
