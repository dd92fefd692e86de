//! The window of contact: what moves, and what it could meet in a step.
//!
//! `fix` holds most of a garment where it is, and contact between things that are held has nothing to decide. The
//! window is a mesh of its own: triangles with a vertex that may move, and those that are near one of them. It is
//! kept until more may move or something has moved half the size of the mesh.
//!
//! Guarantees: numbers keep their order, so contact does in the window what it would do in the whole mesh.
//! Does not: pay where most of the cloth moves; then there is none.

use crate::contact::{self, ContactInput, ContactMesh, ContactSettings, PairRules, Rule};
use unsnarl_geometry::bvh::Bvh;
use unsnarl_geometry::ccd::ElementPair;
use unsnarl_geometry::{Aabb, DVec3, EdgeId, Topology, TriangleId, VertexId};

/// A part of the mesh for contact.
pub(super) struct Window {
    mesh: ContactMesh,
    vertices: Vec<VertexId>,
    edges: Vec<EdgeId>,
    triangles: Vec<TriangleId>,
    /// What might move when it was made.
    free: Vec<bool>,
    /// Where its vertices were then.
    places: Vec<DVec3>,
}

/// The whole mesh, of which a window shows a part.
#[derive(Clone, Copy)]
pub(super) struct Whole<'a> {
    pub topology: &'a Topology,
    pub positions: &'a [DVec3],
    /// Which vertices may move.
    pub free: &'a [bool],
    /// The size of the mesh at each vertex, metres.
    pub local_size: &'a [f64],
    /// The rest length of every edge, metres.
    pub rest_lengths: &'a [f64],
    /// Thickness of all cloth, metres.
    pub thickness: f64,
}

/// Triangles nearer than this to one that moves are in the window, in sizes of the mesh.
const NEAR: f64 = 1.5;
/// A window is opened again when something has moved farther than this, in sizes of the mesh.
const FAR: f64 = 0.5;
/// There is no window where it would hold more than this part of all triangles.
const LARGE: f64 = 0.6;

impl Window {
    /// Around what may move; `None` if that is most of the mesh. `tree` is fitted to the triangles as they are.
    pub fn open(whole: &Whole, tree: &Bvh) -> Option<Self> {
        let topology = whole.topology;
        let mut is_in = vec![false; topology.triangle_count()];
        for (triangle, corners) in topology.triangles().iter().enumerate() {
            if !corners.iter().any(|corner| whole.free[corner.index()]) {
                continue;
            }
            is_in[triangle] = true;
            let size = corners.iter().map(|corner| whole.local_size[corner.index()]).fold(0.0, f64::max);
            let around = Aabb::of_points(corners.iter().map(|corner| whole.positions[corner.index()]));
            tree.query(&around.inflated(NEAR * size), |other| is_in[other] = true);
        }
        let triangles: Vec<TriangleId> = (0..is_in.len()).filter(|&at| is_in[at]).map(TriangleId::new).collect();
        if triangles.len() as f64 > LARGE * is_in.len() as f64 {
            return None;
        }
        let mut vertices: Vec<VertexId> = triangles.iter().flat_map(|&triangle| topology.triangle(triangle)).collect();
        vertices.sort_unstable();
        vertices.dedup();
        let own = |vertex: VertexId| vertices.binary_search(&vertex).unwrap_or(0) as u32;
        let corners: Vec<[u32; 3]> = triangles.iter().map(|&triangle| topology.triangle(triangle).map(own)).collect();
        let part = Topology::new(vertices.len(), &corners).ok()?;
        let edge = |ends: &[VertexId; 2]| topology.find_edge(vertices[ends[0].index()], vertices[ends[1].index()]);
        let edges: Vec<EdgeId> = part.edges().iter().map(edge).collect::<Option<_>>()?;
        let lengths: Vec<f64> = edges.iter().map(|edge| whole.rest_lengths[edge.index()]).collect();
        let mesh = ContactMesh::new(part, &lengths, &vec![whole.thickness; vertices.len()]);
        let places = vertices.iter().map(|vertex| whole.positions[vertex.index()]).collect();
        Some(Self { mesh, vertices, edges, triangles, free: whole.free.to_vec(), places })
    }

    /// Whether it still shows all that may meet in the next step.
    pub fn is_good(&self, whole: &Whole) -> bool {
        let stayed = |(vertex, place): (&VertexId, &DVec3)| {
            whole.positions[vertex.index()].distance(*place) <= FAR * whole.local_size[vertex.index()]
        };
        self.free == whole.free && self.vertices.iter().zip(&self.places).all(stayed)
    }

    /// Contact in the window: the end positions of the whole mesh.
    pub fn resolve(
        &self,
        whole: &ContactInput,
        settings: &ContactSettings,
        workspace: &mut contact::Workspace,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Vec<DVec3> {
        let rules = RulesInWindow { window: self, rules: whole.rules };
        let input = ContactInput {
            mesh: &self.mesh,
            start: &self.of(whole.start),
            end: &self.of(whole.end),
            inverse_mass: &self.of(whole.inverse_mass),
            thickness: &self.of(whole.thickness),
            friction: &self.of(whole.friction),
            rules: &rules,
            ..*whole
        };
        let part = contact::resolve_unless(&input, settings, workspace, stop);
        let mut positions = whole.end.to_vec();
        self.give_back(&part.positions, &mut positions);
        positions
    }

    /// A quantity of the vertices, of those in the window.
    fn of<T: Copy>(&self, values: &[T]) -> Vec<T> {
        self.vertices.iter().map(|vertex| values[vertex.index()]).collect()
    }

    /// Gives a quantity of the vertices in the window back to the whole.
    fn give_back<T: Copy>(&self, values: &[T], whole: &mut [T]) {
        self.vertices.iter().zip(values).for_each(|(vertex, value)| whole[vertex.index()] = *value);
    }
}

/// The rules of the whole mesh, asked from a window.
struct RulesInWindow<'a> {
    window: &'a Window,
    rules: &'a dyn PairRules,
}

impl PairRules for RulesInWindow<'_> {
    fn rule(&self, pair: ElementPair) -> Rule {
        let window = self.window;
        self.rules.rule(match pair {
            ElementPair::VertexTriangle(vertex, triangle) => {
                ElementPair::VertexTriangle(window.vertices[vertex.index()], window.triangles[triangle.index()])
            }
            ElementPair::EdgeEdge(first, second) => {
                ElementPair::EdgeEdge(window.edges[first.index()], window.edges[second.index()])
            }
        })
    }

    fn largest_separation(&self) -> f64 {
        self.rules.largest_separation()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::OrdinaryRules;
    use crate::samples::{self, Cut, Recipe};
    use unsnarl_geometry::intersection::triangle_tree;

    /// A corner of the upper of two handkerchiefs is moved through the lower one; the rest is held.
    #[test]
    fn contact_in_a_window_is_contact_in_the_whole_mesh() {
        let sample = samples::find("hanky").unwrap().make(&Recipe { resolution: 24, cut: Cut::Irregular, seed: 1 });
        let lower = &sample.mesh.positions;
        let count = lower.len();
        let shifted = sample.mesh.triangles.iter().map(|corners| corners.map(|corner| corner + count as u32));
        let triangles: Vec<[u32; 3]> = sample.mesh.triangles.iter().copied().chain(shifted).collect();
        let [a, b, c] = sample.mesh.triangles[0].map(|corner| lower[corner as usize]);
        let (up, size) = ((b - a).cross(c - a).normalize(), a.distance(b));
        let start: Vec<DVec3> =
            lower.iter().copied().chain(lower.iter().map(|place| *place + 0.2 * size * up)).collect();
        let topology = Topology::new(start.len(), &triangles).unwrap();
        let length = |ends: &[VertexId; 2]| start[ends[0].index()].distance(start[ends[1].index()]);
        let rest_lengths: Vec<f64> = topology.edges().iter().map(length).collect();
        let corner = start[count];
        let is_free = |at: usize| at >= count && start[at].distance(corner) < 4.0 * size;
        let free: Vec<bool> = (0..start.len()).map(is_free).collect();
        let drop = |at: usize| if free[at] { 0.45 * size * up } else { DVec3::ZERO };
        let end: Vec<DVec3> = (0..start.len()).map(|at| start[at] - drop(at)).collect();
        let start = &start;
        let whole = Whole {
            topology: &topology,
            positions: start,
            free: &free,
            local_size: &vec![size; start.len()],
            rest_lengths: &rest_lengths,
            thickness: 1e-4,
        };
        let window = Window::open(&whole, &triangle_tree(&topology, start)).unwrap();
        assert!(window.is_good(&whole) && window.vertices.len() < start.len());
        let inverse_mass: Vec<f64> = free.iter().map(|&free| f64::from(u8::from(free))).collect();
        let settings = ContactSettings::default();
        let (thickness, friction) = (vec![1e-4; start.len()], vec![0.0; start.len()]);
        let mesh = ContactMesh::new(topology.clone(), &rest_lengths, &thickness);
        let input = ContactInput {
            mesh: &mesh,
            start,
            end: &end,
            step: 0.02,
            inverse_mass: &inverse_mass,
            thickness: &thickness,
            friction: &friction,
            rules: &OrdinaryRules,
        };
        let expected = contact::resolve(&input, &settings, &mut contact::Workspace::default());
        let positions = window.resolve(&input, &settings, &mut contact::Workspace::default(), &|| false);
        assert_eq!(positions, expected.positions);
        assert!(expected.positions != end, "contact had something to decide");
    }
}
