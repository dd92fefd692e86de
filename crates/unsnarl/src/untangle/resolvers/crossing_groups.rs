//! Which elements may pass through which: the two sides of every contour that a resolver works on.
//!
//! Each group has two sides, given by triangles with their edges and corners, or element by element. A pair may cross when
//! one of its elements is on the first side of a group and the other on the second side of the same group.

use unsnarl_geometry::ccd::ElementPair;
use unsnarl_geometry::{EdgeId, Topology, TriangleId, VertexId};

/// A side of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    First,
    Second,
}

/// The groups. The default has none.
#[derive(Clone, Debug, Default)]
pub struct CrossingGroups {
    count: u32,
    vertices: Vec<(VertexId, u32, Side)>,
    edges: Vec<(EdgeId, u32, Side)>,
    triangles: Vec<(TriangleId, u32, Side)>,
}

/// The elements on one side of a group.
#[derive(Clone, Debug, Default)]
pub struct Elements {
    vertices: Vec<VertexId>,
    edges: Vec<EdgeId>,
    triangles: Vec<TriangleId>,
}

impl Elements {
    /// Triangles with all their edges and corners.
    pub fn of_triangles(topology: &Topology, triangles: &[TriangleId]) -> Self {
        Self {
            vertices: triangles.iter().flat_map(|&triangle| topology.triangle(triangle)).collect(),
            edges: triangles.iter().flat_map(|&triangle| topology.triangle_edges(triangle)).collect(),
            triangles: triangles.to_vec(),
        }
    }

    /// Vertices with all edges and triangles that have one of them, but not the other corners of these.
    pub fn around(topology: &Topology, vertices: &[VertexId]) -> Self {
        Self {
            vertices: vertices.to_vec(),
            edges: vertices.iter().flat_map(|&vertex| topology.vertex_edges(vertex)).copied().collect(),
            triangles: vertices.iter().flat_map(|&vertex| topology.vertex_triangles(vertex)).copied().collect(),
        }
    }

    /// Just these.
    pub fn given(
        vertices: &[VertexId],
        edges: impl IntoIterator<Item = EdgeId>,
        triangles: impl IntoIterator<Item = TriangleId>,
    ) -> Self {
        let (edges, triangles) = (edges.into_iter().collect(), triangles.into_iter().collect());
        Self { vertices: vertices.to_vec(), edges, triangles }
    }
}

impl CrossingGroups {
    /// Adds a group; the same triangles may be on both sides.
    pub fn add(&mut self, topology: &Topology, first: &[TriangleId], second: &[TriangleId]) {
        self.add_elements([first, second].map(|triangles| Elements::of_triangles(topology, triangles)));
    }

    /// Adds a group of just these elements.
    pub fn add_elements(&mut self, [first, second]: [Elements; 2]) {
        let group = self.count;
        self.count += 1;
        for (side, elements) in [(Side::First, first), (Side::Second, second)] {
            self.vertices.extend(elements.vertices.into_iter().map(|vertex| (vertex, group, side)));
            self.edges.extend(elements.edges.into_iter().map(|edge| (edge, group, side)));
            self.triangles.extend(elements.triangles.into_iter().map(|triangle| (triangle, group, side)));
        }
    }

    /// The groups of both, each finished.
    pub fn join(mut self, other: Self) -> Self {
        let first = self.count;
        self.count += other.count;
        self.vertices.extend(other.vertices.into_iter().map(|(vertex, group, side)| (vertex, first + group, side)));
        self.edges.extend(other.edges.into_iter().map(|(edge, group, side)| (edge, first + group, side)));
        self.triangles.extend(other.triangles.into_iter().map(|(at, group, side)| (at, first + group, side)));
        self.finish()
    }

    /// Sorts what was added. Call it once, after the last group.
    pub fn finish(mut self) -> Self {
        sort(&mut self.vertices);
        sort(&mut self.edges);
        sort(&mut self.triangles);
        self
    }

    /// Whether there is no group.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether a pair may cross.
    pub fn lets_through(&self, pair: ElementPair) -> bool {
        if self.is_empty() {
            return false;
        }
        match pair {
            ElementPair::VertexTriangle(vertex, triangle) => {
                face_each_other(entries(&self.vertices, vertex), entries(&self.triangles, triangle))
            }
            ElementPair::EdgeEdge(first, second) => {
                face_each_other(entries(&self.edges, first), entries(&self.edges, second))
            }
        }
    }
}

fn sort<T: Ord>(entries: &mut Vec<T>) {
    entries.sort_unstable();
    entries.dedup();
}

fn entries<T: Ord + Copy>(sorted: &[(T, u32, Side)], element: T) -> &[(T, u32, Side)] {
    let start = sorted.partition_point(|entry| entry.0 < element);
    let length = sorted[start..].iter().take_while(|entry| entry.0 == element).count();
    &sorted[start..start + length]
}

fn face_each_other<A, B>(ours: &[(A, u32, Side)], theirs: &[(B, u32, Side)]) -> bool {
    ours.iter().any(|our| theirs.iter().any(|their| our.1 == their.1 && our.2 != their.2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_two_sides_of_one_group_pass_through_each_other() {
        let topology = Topology::new(9, &[[0, 1, 2], [3, 4, 5], [6, 7, 8]]).unwrap();
        let [a, b, c] = [0, 1, 2].map(TriangleId);
        let mut groups = CrossingGroups::default();
        groups.add(&topology, &[a], &[b]);
        groups.add(&topology, &[c], &[c]);
        let groups = groups.finish();
        let passes = |vertex, triangle| groups.lets_through(ElementPair::VertexTriangle(VertexId(vertex), triangle));
        assert!(passes(0, b) && passes(3, a), "the sides of the first group");
        assert!(!passes(1, c) && !passes(6, b), "sides of different groups");
        assert!(passes(6, c), "a group may face itself");
        let mut sunk = CrossingGroups::default();
        let body = Elements::of_triangles(&topology, &[b]);
        sunk.add_elements([Elements::around(&topology, &[VertexId(0)]), body]);
        let sunk = sunk.finish();
        let passes = |vertex, triangle| sunk.lets_through(ElementPair::VertexTriangle(VertexId(vertex), triangle));
        assert!(passes(0, b) && passes(3, a), "a vertex and what is at it");
        assert!(!passes(1, b), "but not its neighbours");
        let edge = |triangle: TriangleId| topology.triangle_edges(triangle)[0];
        assert!(groups.lets_through(ElementPair::EdgeEdge(edge(a), edge(b))));
        assert!(!groups.lets_through(ElementPair::EdgeEdge(edge(a), edge(c))));
    }
}
