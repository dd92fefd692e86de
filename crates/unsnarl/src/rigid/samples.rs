//! Where a shape touches first: its vertices and sharp edges, or the balls and rods that span a round solid, in a
//! tree.
//!
//! A sample is a segment with a radius: a vertex is one without length or radius, an edge one without radius, a ball
//! one without length. Nodes of the tree are spheres, so that one distance to another body prunes a subtree. (Bridson
//! 2003, 4.4)
//!
//! Departs: faces of coarse meshes get points a little inside their corners. Where two boxes of one size stand exactly
//! on each other, corners lie on edges, and the distance there is to the wrong face.

use crate::geometry::{DVec3, EdgeId, Topology, TopologyError, TriMesh, VertexId};

/// How far points inside the corners of a face are from them, as a share of the face's edges.
pub(super) const INSET: f64 = 1.0 / 64.0;
/// Samples in a leaf.
const LEAF: usize = 4;
/// Edges that bend by less than this (the cosine) are not sharp.
const FLAT: f64 = 0.996;
/// Faces at a vertex that all differ by more than this (the cosine) make a corner.
const CORNER: f64 = 0.87;
/// Edges longer than this many samples of the level set are samples of their own.
const LONG: f64 = 3.0;

/// A segment with a radius.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    pub start: DVec3,
    pub end: DVec3,
    pub radius: f64,
}

impl Sample {
    pub(super) fn is_point(&self) -> bool {
        self.start == self.end
    }
}

/// A sphere around samples.
#[derive(Clone, Copy, Debug)]
struct Node {
    center: DVec3,
    radius: f64,
    /// The samples of a leaf, or none; then the children are the next node and `right`.
    samples: (u32, u32),
    right: u32,
}

/// Samples with spheres around them.
#[derive(Clone, Debug, Default)]
pub(super) struct SampleTree {
    samples: Vec<Sample>,
    nodes: Vec<Node>,
}

/// Samples on their way into a tree.
#[derive(Debug, Default)]
pub(super) struct Builder {
    samples: Vec<Sample>,
}

impl Builder {
    pub(super) fn ball(&mut self, center: DVec3, radius: f64) {
        self.samples.push(Sample { start: center, end: center, radius });
    }

    pub(super) fn rod(&mut self, start: DVec3, end: DVec3, radius: f64) {
        self.samples.push(Sample { start, end, radius });
    }

    pub(super) fn build(mut self) -> SampleTree {
        let mut nodes = Vec::new();
        let count = self.samples.len();
        if count > 0 {
            split(&mut self.samples, 0, &mut nodes);
        }
        SampleTree { samples: self.samples, nodes }
    }
}

impl SampleTree {
    pub(super) fn builder() -> Builder {
        Builder::default()
    }

    pub(super) fn get(&self, index: u32) -> &Sample {
        &self.samples[index as usize]
    }

    /// Visits the samples of every leaf whose sphere, and those above it, are wanted.
    pub(super) fn visit(&self, mut wanted: impl FnMut(DVec3, f64) -> bool, mut visit: impl FnMut(u32, &Sample)) {
        let mut pending = if self.nodes.is_empty() { Vec::new() } else { vec![0usize] };
        while let Some(at) = pending.pop() {
            let node = &self.nodes[at];
            if !wanted(node.center, node.radius) {
                continue;
            }
            let (first, end) = node.samples;
            if first < end {
                (first..end).for_each(|index| visit(index, &self.samples[index as usize]));
            } else {
                pending.push(node.right as usize);
                pending.push(at + 1);
            }
        }
    }
}

fn middle(sample: &Sample) -> DVec3 {
    0.5 * (sample.start + sample.end)
}

/// Adds the node of some samples and those below it.
fn split(samples: &mut [Sample], first: usize, nodes: &mut Vec<Node>) {
    let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    for sample in samples.iter() {
        low = low.min(sample.start.min(sample.end));
        high = high.max(sample.start.max(sample.end));
    }
    let center = 0.5 * (low + high);
    let reach = |sample: &Sample| sample.start.distance(center).max(sample.end.distance(center)) + sample.radius;
    let radius = samples.iter().map(reach).fold(0.0, f64::max);
    let at = nodes.len();
    nodes.push(Node { center, radius, samples: (first as u32, (first + samples.len()) as u32), right: 0 });
    if samples.len() <= LEAF {
        return;
    }
    let extent = high - low;
    let axis = if extent.x >= extent.y.max(extent.z) {
        0
    } else if extent.y >= extent.z {
        1
    } else {
        2
    };
    let half = samples.len() / 2;
    samples.sort_by(|a, b| middle(a)[axis].total_cmp(&middle(b)[axis]));
    let (left, right) = samples.split_at_mut(half);
    nodes[at].samples = (0, 0);
    split(left, first, nodes);
    nodes[at].right = nodes.len() as u32;
    split(right, first + half, nodes);
}

/// The samples of a closed mesh whose level set has a spacing; 0 stands for an exact distance.
pub(super) fn of_mesh(mesh: &TriMesh, spacing: f64) -> Result<SampleTree, TopologyError> {
    let topology = Topology::new(mesh.positions.len(), &mesh.triangles)?;
    let mut samples = SampleTree::builder();
    let long = LONG * spacing;
    for vertex in 0..mesh.positions.len() {
        let id = VertexId::new(vertex);
        if !topology.vertex_triangles(id).is_empty() {
            samples.ball(mesh.positions[vertex], 0.0);
            inset_points(mesh, &topology, id, spacing, &mut samples);
        }
    }
    for edge in (0..topology.edge_count()).map(EdgeId::new) {
        let [start, end] = topology.edge(edge).map(|vertex| mesh.positions[vertex.index()]);
        if start.distance(end) > long && is_sharp(mesh, &topology, edge) {
            samples.rod(start, end, 0.0);
        }
    }
    Ok(samples.build())
}

fn normal(mesh: &TriMesh, [a, b, c]: [VertexId; 3]) -> Option<DVec3> {
    let [a, b, c] = [a, b, c].map(|vertex| mesh.positions[vertex.index()]);
    (b - a).cross(c - a).try_normalize()
}

/// Whether an edge is convex and bends.
fn is_sharp(mesh: &TriMesh, topology: &Topology, edge: EdgeId) -> bool {
    let &[first, second] = topology.edge_triangles(edge) else { return true };
    let normals = [first, second].map(|triangle| normal(mesh, topology.triangle(triangle)));
    let [Some(n0), Some(n1)] = normals else { return false };
    let across = mesh.positions[topology.opposite_vertex(second, edge).index()];
    let on_edge = mesh.positions[topology.edge(edge)[0].index()];
    n0.dot(n1) < FLAT && n0.dot(across - on_edge) < 0.0
}

/// A point inside the corner of each flat face at a vertex, where the face is large.
fn inset_points(mesh: &TriMesh, topology: &Topology, vertex: VertexId, spacing: f64, samples: &mut Builder) {
    let corner = mesh.positions[vertex.index()];
    let mut faces: Vec<(DVec3, DVec3, f64)> = Vec::new();
    for &triangle in topology.vertex_triangles(vertex) {
        let corners = topology.triangle(triangle);
        let Some(normal) = normal(mesh, corners) else { continue };
        let others: Vec<DVec3> = corners
            .iter()
            .filter(|&&other| other != vertex)
            .map(|other| mesh.positions[other.index()] - corner)
            .collect();
        let shortest = others.iter().map(|arm| arm.length()).fold(f64::INFINITY, f64::min);
        let inward = others.iter().map(|arm| arm.normalize_or_zero()).sum::<DVec3>();
        match faces.iter_mut().find(|(known, ..)| known.dot(normal) > FLAT) {
            Some((_, sum, length)) => (*sum, *length) = (*sum + inward, length.min(shortest)),
            None => faces.push((normal, inward, shortest)),
        }
    }
    for (at, &(normal, inward, length)) in faces.iter().enumerate() {
        let is_corner = faces.iter().enumerate().all(|(other, face)| other == at || face.0.dot(normal) < CORNER);
        if let Some(inward) = inward.try_normalize().filter(|_| is_corner && length > LONG * spacing) {
            // Clear of the samples in which a level set blurs the edge.
            let inset = (INSET * length).max(2.0 * spacing).min(0.25 * length);
            samples.ball(corner + inward * inset, 0.0);
        }
    }
}
