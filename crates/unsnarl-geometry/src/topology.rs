//! Validated, immutable connectivity: edges once, edge to triangles, vertex rings, boundary loops, components.
//!
//! Guarantees: every index is in range, every triangle names three different vertices; edges are sorted by their vertex
//! pair, so numbering depends on the triangles alone and not on threads.
//! Does not: ask for a manifold. An edge may have any number of triangles; see [`Topology::is_boundary`] and
//! [`Topology::is_non_manifold`].

use crate::ids::{EdgeId, TriangleId, VertexId};
use rayon::prelude::*;
use thiserror::Error;

/// Why triangles cannot become a [`Topology`].
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TopologyError {
    /// A triangle names a vertex that does not exist.
    #[error("triangle {triangle} names vertex {vertex}, the mesh has {vertex_count}")]
    OutOfRange {
        /// Index of the triangle.
        triangle: usize,
        /// The index it names.
        vertex: u32,
        /// How many vertices there are.
        vertex_count: usize,
    },
    /// A triangle names one vertex twice.
    #[error("triangle {triangle} names vertex {vertex} twice")]
    Repeated {
        /// Index of the triangle.
        triangle: usize,
        /// The vertex it repeats.
        vertex: u32,
    },
}

/// Connectivity of a triangle mesh. It never changes; positions are given beside it.
#[derive(Clone, Debug)]
pub struct Topology {
    triangles: Vec<[VertexId; 3]>,
    triangle_edges: Vec<[EdgeId; 3]>,
    edges: Vec<[VertexId; 2]>,
    edge_triangles: Rows<TriangleId>,
    vertex_triangles: Rows<TriangleId>,
    vertex_edges: Rows<EdgeId>,
    vertex_component: Vec<u32>,
    component_count: usize,
    /// Whether all edges of a vertex have one triangle, or two that run along them in opposite directions.
    vertex_is_oriented: Vec<bool>,
}

impl Topology {
    /// Checks the triangles and derives the rest.
    pub fn new(vertex_count: usize, triangles: &[[u32; 3]]) -> Result<Self, TopologyError> {
        Self::of_triangles(vertex_count, triangles.to_vec())
    }

    /// As [`Topology::new`], of triangles that need not be kept: large meshes are not copied.
    pub fn of_triangles(vertex_count: usize, triangles: Vec<[u32; 3]>) -> Result<Self, TopologyError> {
        for (index, &[a, b, c]) in triangles.iter().enumerate() {
            if let Some(&vertex) = [a, b, c].iter().find(|&&vertex| vertex as usize >= vertex_count) {
                return Err(TopologyError::OutOfRange { triangle: index, vertex, vertex_count });
            }
            if a == b || b == c || a == c {
                let vertex = if b == c { b } else { a };
                return Err(TopologyError::Repeated { triangle: index, vertex });
            }
        }
        let triangles: Vec<[VertexId; 3]> = triangles.into_iter().map(|triangle| triangle.map(VertexId)).collect();
        let (edges, triangle_edges) = number_edges(vertex_count, &triangles);
        let rows_of_triangles = || {
            (
                Rows::invert(edges.len(), &triangle_edges, EdgeId::index, TriangleId::new),
                Rows::invert(vertex_count, &triangles, VertexId::index, TriangleId::new),
            )
        };
        let rest = || {
            (
                Rows::invert(vertex_count, &edges, VertexId::index, EdgeId::new),
                number_components(vertex_count, &edges),
                oriented_vertices(vertex_count, &triangles, &triangle_edges, &edges),
            )
        };
        let is_large = triangles.len() >= WORTH_ANOTHER_THREAD;
        let ((edge_triangles, vertex_triangles), (vertex_edges, components, vertex_is_oriented)) =
            if is_large { rayon::join(rows_of_triangles, rest) } else { (rows_of_triangles(), rest()) };
        let (vertex_component, component_count) = components;
        Ok(Self {
            triangles,
            triangle_edges,
            edges,
            edge_triangles,
            vertex_triangles,
            vertex_edges,
            vertex_component,
            component_count,
            vertex_is_oriented,
        })
    }

    /// Number of vertices, used by a triangle or not.
    pub fn vertex_count(&self) -> usize {
        self.vertex_component.len()
    }

    /// Number of edges.
    pub fn edge_count(&self) -> usize {
        self.edges.len()
    }

    /// Number of triangles.
    pub fn triangle_count(&self) -> usize {
        self.triangles.len()
    }

    /// Number of connected components; a vertex without triangles is a component of its own.
    pub fn component_count(&self) -> usize {
        self.component_count
    }

    /// All triangles, by index.
    pub fn triangles(&self) -> &[[VertexId; 3]] {
        &self.triangles
    }

    /// All edges, by index, sorted; the smaller vertex first.
    pub fn edges(&self) -> &[[VertexId; 2]] {
        &self.edges
    }

    /// The corners of a triangle.
    pub fn triangle(&self, triangle: TriangleId) -> [VertexId; 3] {
        self.triangles[triangle.index()]
    }

    /// Some triangles of a part whose vertices begin at `first_vertex`, by the part's own numbering.
    pub fn own_triangles(&self, triangles: std::ops::Range<usize>, first_vertex: usize) -> Vec<[u32; 3]> {
        self.triangles[triangles].iter().map(|corners| corners.map(|corner| corner.0 - first_vertex as u32)).collect()
    }

    /// The edges of a triangle: edge `k` joins corner `k` to corner `k + 1`.
    pub fn triangle_edges(&self, triangle: TriangleId) -> [EdgeId; 3] {
        self.triangle_edges[triangle.index()]
    }

    /// The vertices of an edge, the smaller first.
    pub fn edge(&self, edge: EdgeId) -> [VertexId; 2] {
        self.edges[edge.index()]
    }

    /// The triangles at an edge, in index order: one on a boundary, two inside, more where the mesh is not a manifold.
    pub fn edge_triangles(&self, edge: EdgeId) -> &[TriangleId] {
        self.edge_triangles.row(edge.index())
    }

    /// The triangles at a vertex, in index order.
    pub fn vertex_triangles(&self, vertex: VertexId) -> &[TriangleId] {
        self.vertex_triangles.row(vertex.index())
    }

    /// The edges at a vertex, in index order.
    pub fn vertex_edges(&self, vertex: VertexId) -> &[EdgeId] {
        self.vertex_edges.row(vertex.index())
    }

    /// The vertices joined to a vertex by an edge, in the order of the edges.
    pub fn ring(&self, vertex: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        self.vertex_edges(vertex).iter().map(move |&edge| self.other_end(edge, vertex))
    }

    /// The end of an edge that is not `vertex`.
    pub fn other_end(&self, edge: EdgeId, vertex: VertexId) -> VertexId {
        let [a, b] = self.edge(edge);
        if a == vertex { b } else { a }
    }

    /// The corner of a triangle that does not lie on one of its edges.
    pub fn opposite_vertex(&self, triangle: TriangleId, edge: EdgeId) -> VertexId {
        let ends = self.edge(edge);
        let corners = self.triangle(triangle);
        *corners.iter().find(|corner| !ends.contains(corner)).expect("an edge of a triangle leaves one corner out")
    }

    /// The edge between two vertices, if there is one.
    pub fn find_edge(&self, a: VertexId, b: VertexId) -> Option<EdgeId> {
        let pair = if a < b { [a, b] } else { [b, a] };
        self.edges.binary_search(&pair).ok().map(EdgeId::new)
    }

    /// Whether just one triangle has this edge.
    pub fn is_boundary(&self, edge: EdgeId) -> bool {
        self.edge_triangles(edge).len() == 1
    }

    /// Whether three or more triangles have this edge.
    pub fn is_non_manifold(&self, edge: EdgeId) -> bool {
        self.edge_triangles(edge).len() > 2
    }

    /// Whether a vertex lies on a boundary edge.
    pub fn is_boundary_vertex(&self, vertex: VertexId) -> bool {
        self.vertex_edges(vertex).iter().any(|&edge| self.is_boundary(edge))
    }

    /// Whether every edge of a vertex has one triangle, or two that run along it in opposite directions.
    pub fn is_oriented(&self, vertex: VertexId) -> bool {
        self.vertex_is_oriented[vertex.index()]
    }

    /// How many of the fans into which the triangles at a vertex fall are open, or `None` where an edge of the vertex
    /// has three triangles or two of different orientation.
    pub fn open_fans(&self, vertex: VertexId) -> Option<usize> {
        self.is_oriented(vertex).then(|| self.vertex_edges(vertex).len() - self.vertex_triangles(vertex).len())
    }

    /// The component of a vertex; components are numbered by their smallest vertex.
    pub fn component(&self, vertex: VertexId) -> usize {
        self.vertex_component[vertex.index()] as usize
    }

    /// The two triangles of every inner manifold edge.
    pub fn hinges(&self) -> impl Iterator<Item = (EdgeId, [TriangleId; 2])> + '_ {
        (0..self.edge_count()).map(EdgeId::new).filter_map(|edge| match self.edge_triangles(edge) {
            &[left, right] => Some((edge, [left, right])),
            _ => None,
        })
    }

    /// Whether no edge is a boundary and every edge has exactly two triangles.
    pub fn is_closed_manifold(&self) -> bool {
        (0..self.edge_count()).all(|edge| self.edge_triangles.row(edge).len() == 2)
    }

    /// Boundary edges chained into loops of vertices, each in the direction of its triangles, from its smallest vertex.
    ///
    /// Where several boundaries meet in one vertex the walk takes the smallest unused edge, so chains there may be
    /// open.
    pub fn boundary_loops(&self) -> Vec<Vec<VertexId>> {
        let mut next: Vec<(VertexId, VertexId)> = Vec::new();
        for (triangle, corners) in self.triangles.iter().enumerate() {
            for side in 0..3 {
                if self.is_boundary(self.triangle_edges[triangle][side]) {
                    next.push((corners[side], corners[(side + 1) % 3]));
                }
            }
        }
        next.sort_unstable();
        let mut used = vec![false; next.len()];
        let mut loops = Vec::new();
        for first in 0..next.len() {
            if used[first] {
                continue;
            }
            let mut chain = Vec::new();
            let mut here = first;
            loop {
                used[here] = true;
                chain.push(next[here].0);
                let end = next[here].1;
                let start = next.partition_point(|pair| pair.0 < end);
                match (start..next.len()).take_while(|&at| next[at].0 == end).find(|&at| !used[at]) {
                    Some(at) => here = at,
                    None => {
                        if end != chain[0] {
                            chain.push(end);
                        }
                        break;
                    }
                }
            }
            loops.push(chain);
        }
        loops
    }
}

/// Fewer vertices are not worth a task.
const VERTICES_PER_TASK: usize = 4096;
/// Meshes with fewer triangles are derived on one thread.
const WORTH_ANOTHER_THREAD: usize = 1 << 14;

/// Lists of different lengths, one after the other in one array.
#[derive(Clone, Debug)]
struct Rows<T> {
    starts: Vec<u32>,
    items: Vec<T>,
}

impl<T: Copy> Rows<T> {
    fn row(&self, index: usize) -> &[T] {
        &self.items[self.starts[index] as usize..self.starts[index + 1] as usize]
    }

    /// From "item names rows" to "row lists items", items in index order.
    fn invert<R: Copy, const N: usize>(
        row_count: usize,
        items: &[[R; N]],
        row_of: impl Fn(R) -> usize,
        item_of: impl Fn(usize) -> T,
    ) -> Self {
        let mut starts = vec![0u32; row_count + 1];
        for &row in items.iter().flatten() {
            starts[row_of(row) + 1] += 1;
        }
        for row in 0..row_count {
            starts[row + 1] += starts[row];
        }
        let mut fill = starts.clone();
        let mut out = vec![item_of(0); items.len() * N];
        for (item, rows) in items.iter().enumerate() {
            for &row in rows {
                let slot = &mut fill[row_of(row)];
                out[*slot as usize] = item_of(item);
                *slot += 1;
            }
        }
        Self { starts, items: out }
    }
}

/// Every edge once, sorted by its vertex pair, and the three edges of every triangle.
fn number_edges(vertex_count: usize, triangles: &[[VertexId; 3]]) -> (Vec<[VertexId; 2]>, Vec<[EdgeId; 3]>) {
    let mut sides = Sides::by_first_vertex(vertex_count, triangles);
    sides.sort_each();
    let mut edges = Vec::with_capacity(sides.different_count());
    let mut triangle_edges = vec![[EdgeId(0); 3]; triangles.len()];
    for first in 0..vertex_count {
        let mut last = None;
        for &Side { end, at } in sides.of(first) {
            if last != Some(end) {
                edges.push([VertexId::new(first), VertexId(end)]);
                last = Some(end);
            }
            triangle_edges[at as usize / 3][at as usize % 3] = EdgeId::new(edges.len() - 1);
        }
    }
    (edges, triangle_edges)
}

/// A side of a triangle beside its smaller vertex: the larger one, and which side of all it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Side {
    end: u32,
    at: u32,
}

/// All sides of all triangles, by their smaller vertex.
struct Sides {
    starts: Vec<u32>,
    sides: Vec<Side>,
}

impl Sides {
    fn by_first_vertex(vertex_count: usize, triangles: &[[VertexId; 3]]) -> Self {
        let ends = |[a, b, c]: [VertexId; 3]| [[a, b], [b, c], [c, a]].map(|[a, b]| [a.min(b), a.max(b)]);
        let mut starts = vec![0_u32; vertex_count + 1];
        for [first, _] in triangles.iter().flat_map(|&corners| ends(corners)) {
            starts[first.index() + 1] += 1;
        }
        for vertex in 0..vertex_count {
            starts[vertex + 1] += starts[vertex];
        }
        let mut fill = starts.clone();
        let mut sides = vec![Side { end: 0, at: 0 }; 3 * triangles.len()];
        for (at, [first, end]) in triangles.iter().flat_map(|&corners| ends(corners)).enumerate() {
            let slot = &mut fill[first.index()];
            sides[*slot as usize] = Side { end: end.0, at: at as u32 };
            *slot += 1;
        }
        Self { starts, sides }
    }

    fn of(&self, first: usize) -> &[Side] {
        &self.sides[self.starts[first] as usize..self.starts[first + 1] as usize]
    }

    /// Sorts the sides of every vertex by their other end.
    fn sort_each(&mut self) {
        let Self { starts, sides } = self;
        let mut rest = sides.as_mut_slice();
        let mut tasks = Vec::new();
        for first in (0..starts.len() - 1).step_by(VERTICES_PER_TASK) {
            let rows = &starts[first..starts.len().min(first + VERTICES_PER_TASK + 1)];
            let (own, after) = rest.split_at_mut((rows[rows.len() - 1] - rows[0]) as usize);
            rest = after;
            tasks.push((own, rows));
        }
        tasks.into_par_iter().for_each(|(own, rows)| {
            for row in rows.windows(2) {
                own[(row[0] - rows[0]) as usize..(row[1] - rows[0]) as usize].sort_unstable();
            }
        });
    }

    /// How many edges there are, once sides are sorted.
    fn different_count(&self) -> usize {
        let of_vertex = |first: usize| {
            let row = self.of(first);
            row.len() - row.windows(2).filter(|pair| pair[0].end == pair[1].end).count()
        };
        (0..self.starts.len() - 1).map(of_vertex).sum()
    }
}

/// Which vertices have only edges along which at most one triangle runs in either direction.
fn oriented_vertices(
    vertex_count: usize,
    triangles: &[[VertexId; 3]],
    triangle_edges: &[[EdgeId; 3]],
    edges: &[[VertexId; 2]],
) -> Vec<bool> {
    let mut runs = vec![[false; 2]; edges.len()];
    let mut oriented = vec![true; vertex_count];
    for (corners, sides) in triangles.iter().zip(triangle_edges) {
        for side in 0..3 {
            let (from, to) = (corners[side], corners[(side + 1) % 3]);
            let run = &mut runs[sides[side].index()][usize::from(from < to)];
            if *run {
                oriented[from.index()] = false;
                oriented[to.index()] = false;
            }
            *run = true;
        }
    }
    oriented
}

/// The component of every vertex, numbered by smallest vertex, and how many there are.
fn number_components(vertex_count: usize, edges: &[[VertexId; 2]]) -> (Vec<u32>, usize) {
    let mut parent: Vec<u32> = (0..vertex_count as u32).collect();
    fn root(parent: &mut [u32], mut vertex: u32) -> u32 {
        while parent[vertex as usize] != vertex {
            parent[vertex as usize] = parent[parent[vertex as usize] as usize];
            vertex = parent[vertex as usize];
        }
        vertex
    }
    for [a, b] in edges {
        let (a, b) = (root(&mut parent, a.0), root(&mut parent, b.0));
        parent[a.max(b) as usize] = a.min(b);
    }
    let mut component = vec![0u32; vertex_count];
    let mut count = 0;
    for vertex in 0..vertex_count {
        let top = root(&mut parent, vertex as u32) as usize;
        if top == vertex {
            component[vertex] = count;
            count += 1;
        } else {
            component[vertex] = component[top];
        }
    }
    (component, count as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A strip of two triangles and a separate triangle.
    fn two_parts() -> Topology {
        Topology::new(8, &[[0, 1, 2], [2, 1, 3], [4, 5, 6]]).unwrap()
    }

    #[test]
    fn edges_are_listed_once_and_sorted() {
        let topology = two_parts();
        assert_eq!(topology.edge_count(), 8);
        assert!(topology.edges().windows(2).all(|pair| pair[0] < pair[1]));
        let inner = topology.find_edge(VertexId(2), VertexId(1)).unwrap();
        assert_eq!(topology.edge_triangles(inner), &[TriangleId(0), TriangleId(1)]);
        assert_eq!(topology.opposite_vertex(TriangleId(1), inner), VertexId(3));
        assert_eq!(topology.hinges().count(), 1);
    }

    #[test]
    fn components_count_lone_vertices() {
        let topology = two_parts();
        assert_eq!(topology.component_count(), 3);
        assert_eq!(topology.component(VertexId(3)), 0);
        assert_eq!(topology.component(VertexId(6)), 1);
        assert_eq!(topology.component(VertexId(7)), 2);
    }

    #[test]
    fn boundary_loops_follow_the_triangles() {
        let loops = two_parts().boundary_loops();
        assert_eq!(loops.len(), 2);
        assert_eq!(loops[0], [0, 1, 3, 2].map(VertexId));
        assert_eq!(loops[1], [4, 5, 6].map(VertexId));
    }

    #[test]
    fn rings_and_non_manifold_edges() {
        let topology = Topology::new(5, &[[0, 1, 2], [0, 1, 3], [0, 1, 4]]).unwrap();
        let edge = topology.find_edge(VertexId(0), VertexId(1)).unwrap();
        assert!(topology.is_non_manifold(edge));
        assert_eq!(topology.open_fans(VertexId(0)), None);
        assert_eq!(topology.open_fans(VertexId(2)), Some(1));
        assert_eq!(topology.ring(VertexId(0)).collect::<Vec<_>>(), [1, 2, 3, 4].map(VertexId));
    }

    #[test]
    fn bad_triangles_are_named() {
        assert_eq!(
            Topology::new(3, &[[0, 1, 9]]).unwrap_err().to_string(),
            "triangle 0 names vertex 9, the mesh has 3"
        );
        assert_eq!(
            Topology::new(3, &[[0, 1, 2], [0, 2, 2]]).unwrap_err().to_string(),
            "triangle 1 names vertex 2 twice"
        );
    }
}
