//! The remedy: what the untangler asks of dynamics and contact for one step. They carry it out and never ask which
//! resolver made it.

use crate::analysis::Colours;
use crate::contact::{PairRules, Rule};
use crate::dynamics::Guidance;
use crate::rest_shape::RestShape;
use unsnarl_geometry::ccd::ElementPair;
use unsnarl_geometry::{Topology, TriangleId};

/// Everything that the untangler wants of one step. The default wants nothing.
#[derive(Clone, Debug, Default)]
pub struct Remedy {
    /// Forces to add and vertices to hold.
    pub guidance: Guidance,
    /// Rest shapes to use instead of the state's, one per triangle; or empty.
    pub rest_shapes: Vec<RestShape>,
    /// Rest angles to use instead of the state's, one per hinge, radians; or empty.
    pub rest_angles: Vec<f64>,
    /// Factors on the bending stiffness, one per hinge; or empty.
    pub hinge_stiffness: Vec<f64>,
    /// Which pairs may cross, and which keep another distance.
    pub rules: ColourRules,
}

/// Rules for pairs of cloth elements, by the colours of the elements. The default has the usual rule for all.
#[derive(Clone, Debug, Default)]
pub struct ColourRules {
    red_vertices: Vec<bool>,
    red_edges: Vec<bool>,
    red_triangles: Vec<bool>,
    /// Triangles that contact does not see.
    omitted_triangles: Vec<bool>,
    omitted_edges: Vec<bool>,
    omitted_vertices: Vec<bool>,
    red_green_separation: f64,
}

impl ColourRules {
    /// Red may cross red; red and green keep a separation; green and green are as usual.
    pub fn from_colours(topology: &Topology, colours: &Colours, red_green_separation: f64) -> Self {
        let mut rules = Self {
            red_vertices: vec![false; topology.vertex_count()],
            red_edges: vec![false; topology.edge_count()],
            red_triangles: vec![false; topology.triangle_count()],
            red_green_separation,
            ..Self::default()
        };
        colours.red_vertices.iter().for_each(|vertex| rules.red_vertices[vertex.index()] = true);
        colours.red_edges.iter().for_each(|edge| rules.red_edges[edge.index()] = true);
        colours.red_triangles.iter().for_each(|triangle| rules.red_triangles[triangle.index()] = true);
        rules
    }

    /// Leaves triangles out of contact, with the edges and vertices that belong to no other triangle.
    pub fn omit(&mut self, topology: &Topology, triangles: &[TriangleId]) {
        self.omitted_triangles.resize(topology.triangle_count(), false);
        self.omitted_edges.resize(topology.edge_count(), false);
        self.omitted_vertices.resize(topology.vertex_count(), false);
        for triangle in triangles {
            self.omitted_triangles[triangle.index()] = true;
        }
        let all_omitted = |around: &[TriangleId], omitted: &[bool]| around.iter().all(|other| omitted[other.index()]);
        for &triangle in triangles {
            for edge in topology.triangle_edges(triangle) {
                self.omitted_edges[edge.index()] = all_omitted(topology.edge_triangles(edge), &self.omitted_triangles);
            }
            for vertex in topology.triangle(triangle) {
                self.omitted_vertices[vertex.index()] =
                    all_omitted(topology.vertex_triangles(vertex), &self.omitted_triangles);
            }
        }
    }

    /// Whether every pair has the usual rule.
    pub fn are_usual(&self) -> bool {
        self.red_vertices.is_empty() && self.omitted_triangles.is_empty()
    }

    fn of(&self, omitted: bool, red: [bool; 2]) -> Rule {
        match red {
            _ if omitted => Rule::MayCross,
            [true, true] => Rule::MayCross,
            [false, false] => Rule::Ordinary,
            _ => Rule::Separation(self.red_green_separation),
        }
    }
}

impl PairRules for ColourRules {
    fn rule(&self, pair: ElementPair) -> Rule {
        match pair {
            ElementPair::VertexTriangle(vertex, triangle) => {
                let omitted =
                    is_set(&self.omitted_vertices, vertex.index()) || is_set(&self.omitted_triangles, triangle.index());
                let red = [is_set(&self.red_vertices, vertex.index()), is_set(&self.red_triangles, triangle.index())];
                self.of(omitted, red)
            }
            ElementPair::EdgeEdge(first, second) => {
                let both = [first, second];
                let omitted = both.iter().any(|edge| is_set(&self.omitted_edges, edge.index()));
                self.of(omitted, both.map(|edge| is_set(&self.red_edges, edge.index())))
            }
        }
    }

    fn largest_separation(&self) -> f64 {
        self.red_green_separation
    }
}

fn is_set(flags: &[bool], index: usize) -> bool {
    flags.get(index).copied().unwrap_or(false)
}
