//! The remedy: what the untangler asks of dynamics and contact for one step. They carry it out and never ask which
//! resolver made it.

use crate::analysis::Colours;
use crate::contact::{PairRules, Rule};
use crate::dynamics::Guidance;
use crate::rest_shape::RestShape;
use crate::untangle::resolvers::crossing_groups::CrossingGroups;
use crate::untangle::resolvers::esef::Pull;
use unsnarl_geometry::ccd::ElementPair;
use unsnarl_geometry::{Topology, TriangleId, VertexId};

/// Everything that the untangler wants of one step. The default wants nothing.
#[derive(Clone, Debug, Default)]
pub struct Remedy {
    /// Forces to add and vertices to hold.
    pub guidance: Guidance,
    /// Rest shapes to use instead of the state's, one per triangle; or empty.
    pub rest_shapes: Vec<RestShape>,
    /// Factors on the stiffness of triangles, one per triangle; or empty.
    pub triangle_stiffness: Vec<f64>,
    /// Rest angles to use instead of the state's, one per hinge, radians; or empty.
    pub rest_angles: Vec<f64>,
    /// Factors on the bending stiffness, one per hinge; or empty.
    pub hinge_stiffness: Vec<f64>,
    /// Vertices of cloth that are led out of bodies, so that bodies do not support them.
    pub leads: Vec<VertexId>,
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
    /// The sheet of each vertex, where triangles are omitted: other sheets and bodies still see them.
    sheets: Vec<usize>,
    triangles: Vec<[VertexId; 3]>,
    edges: Vec<[VertexId; 2]>,
    /// The separation that each vertex asks of red and green, metres. A pair keeps the smallest of its vertices.
    red_green_separation: Vec<f64>,
    largest_separation: f64,
    /// Edges that are being pulled or given back, sorted; `None` stands for all.
    pulled_edges: Option<Vec<[VertexId; 2]>>,
    /// More pairs that may cross, whatever their colours.
    groups: CrossingGroups,
    /// Vertices from here on belong to bodies: their pairs have the usual rule.
    first_body_vertex: Option<usize>,
    /// Vertices of cloth whose elements pass through bodies.
    pinched: Vec<bool>,
}

impl ColourRules {
    /// Red may cross red; red and green keep a separation, given per vertex; green and green are as usual.
    pub fn from_colours(topology: &Topology, colours: &Colours, red_green_separation: Vec<f64>) -> Self {
        let mut rules = Self {
            red_vertices: vec![false; topology.vertex_count()],
            red_edges: vec![false; topology.edge_count()],
            red_triangles: vec![false; topology.triangle_count()],
            largest_separation: red_green_separation.iter().copied().fold(0.0, f64::max),
            red_green_separation,
            triangles: topology.triangles().to_vec(),
            edges: topology.edges().to_vec(),
            ..Self::default()
        };
        colours.red_vertices.iter().for_each(|vertex| rules.red_vertices[vertex.index()] = true);
        colours.red_edges.iter().for_each(|edge| rules.red_edges[edge.index()] = true);
        colours.red_triangles.iter().for_each(|triangle| rules.red_triangles[triangle.index()] = true);
        rules
    }

    /// Leaves triangles out of contact with their own sheet, with the edges and vertices that belong to no other
    /// triangle.
    pub fn omit(&mut self, topology: &Topology, triangles: &[TriangleId]) {
        if triangles.is_empty() {
            return;
        }
        self.sheets = (0..topology.vertex_count()).map(|vertex| topology.component(VertexId::new(vertex))).collect();
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

    /// Only elements that the edge of a pull joins may come nearer than the separation. Were all neighbours let near, a red
    /// triangle could stay between a pulled vertex and its target for ever.
    pub fn let_near(&mut self, pulls: &[Pull]) {
        let edge = |subject: VertexId, target: VertexId| [subject.min(target), subject.max(target)];
        let edges = pulls.iter().flat_map(|pull| pull.subjects.iter().map(|&subject| edge(subject, pull.target)));
        let mut edges: Vec<[VertexId; 2]> = edges.collect();
        edges.sort_unstable();
        self.pulled_edges = Some(edges);
    }

    /// Lets the two sides of every group pass through each other.
    pub fn let_through(&mut self, groups: CrossingGroups) {
        self.groups = groups;
    }

    /// Lets through what other rules let through in groups, too.
    pub fn let_through_as(&mut self, other: Self) {
        self.groups = std::mem::take(&mut self.groups).join(other.groups);
    }

    /// Gives pairs with an element of a body the usual rule; bodies' vertices begin at this index.
    pub fn keep_usual_from(&mut self, first_body_vertex: usize) {
        self.first_body_vertex = Some(first_body_vertex);
    }

    /// Lets elements of cloth with one of these vertices pass through bodies.
    pub fn let_through_bodies(&mut self, pinched: &[bool]) {
        self.pinched = pinched.to_vec();
    }

    fn with_body(&self, first: &[VertexId], second: &[VertexId]) -> Rule {
        let passes = first.iter().chain(second).any(|vertex| is_set(&self.pinched, vertex.index()));
        if passes { Rule::MayCross } else { Rule::Ordinary }
    }

    fn is_of_body(&self, vertex: VertexId) -> bool {
        self.first_body_vertex.is_some_and(|first| vertex.index() >= first)
    }

    /// Whether anything is red, omitted, or let through.
    pub fn are_of_tangle(&self) -> bool {
        self.red_triangles.contains(&true) || self.omitted_triangles.contains(&true) || !self.groups.is_empty()
    }

    /// Whether every pair has the usual rule.
    pub fn are_usual(&self) -> bool {
        self.red_vertices.is_empty() && self.omitted_triangles.is_empty() && self.groups.is_empty()
    }

    /// Whether two vertices are of one sheet, so that they pass where one is of an omitted element.
    fn are_of_one_sheet(&self, first: VertexId, second: VertexId) -> bool {
        self.sheets.get(first.index()) == self.sheets.get(second.index())
    }

    fn of(&self, omitted: bool, red: [bool; 2], separation: impl Fn() -> Option<f64>) -> Rule {
        match red {
            _ if omitted => Rule::MayCross,
            [true, true] => Rule::MayCross,
            [false, false] => Rule::Ordinary,
            _ => separation().map_or(Rule::Ordinary, Rule::Separation),
        }
    }

    /// The separation of a red and a green element; `None` for elements that a pulled edge joins (or any, where pulls are not
    /// told): a pulled vertex has to come close to its target.
    fn separation_between(&self, first: &[VertexId], second: &[VertexId]) -> Option<f64> {
        let near = self.pulled_edges.as_deref().unwrap_or(&self.edges);
        let is_edge = |a: VertexId, b: VertexId| near.binary_search(&[a.min(b), a.max(b)]).is_ok();
        if first.iter().any(|&a| second.iter().any(|&b| is_edge(a, b))) {
            return None;
        }
        Some(self.separation_of(first).min(self.separation_of(second)))
    }

    fn separation_of(&self, vertices: &[VertexId]) -> f64 {
        vertices.iter().map(|vertex| self.red_green_separation[vertex.index()]).fold(f64::INFINITY, f64::min)
    }
}

impl PairRules for ColourRules {
    fn rule(&self, pair: ElementPair) -> Rule {
        if self.groups.lets_through(pair) {
            return Rule::MayCross;
        }
        match pair {
            ElementPair::VertexTriangle(vertex, triangle) => {
                if self.is_of_body(vertex)
                    || self.triangles.get(triangle.index()).is_some_and(|corners| self.is_of_body(corners[0]))
                {
                    return self.with_body(&[vertex], &self.triangles[triangle.index()]);
                }
                let omitted = (is_set(&self.omitted_vertices, vertex.index())
                    || is_set(&self.omitted_triangles, triangle.index()))
                    && self.are_of_one_sheet(vertex, self.triangles[triangle.index()][0]);
                let red = [is_set(&self.red_vertices, vertex.index()), is_set(&self.red_triangles, triangle.index())];
                self.of(omitted, red, || self.separation_between(&[vertex], &self.triangles[triangle.index()]))
            }
            ElementPair::EdgeEdge(first, second) => {
                let both = [first, second];
                if both.iter().any(|edge| self.edges.get(edge.index()).is_some_and(|ends| self.is_of_body(ends[0]))) {
                    return self.with_body(&self.edges[first.index()], &self.edges[second.index()]);
                }
                let omitted = both.iter().any(|edge| is_set(&self.omitted_edges, edge.index()))
                    && self.are_of_one_sheet(self.edges[first.index()][0], self.edges[second.index()][0]);
                self.of(omitted, both.map(|edge| is_set(&self.red_edges, edge.index())), || {
                    self.separation_between(&self.edges[first.index()], &self.edges[second.index()])
                })
            }
        }
    }

    fn largest_separation(&self) -> f64 {
        self.largest_separation
    }
}

fn is_set(flags: &[bool], index: usize) -> bool {
    flags.get(index).copied().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unsnarl_geometry::EdgeId;

    /// A strip of four triangles, then a triangle apart from it. Vertex 0 is red, with all that it is part of.
    fn strip() -> (Topology, Colours) {
        let topology = Topology::new(9, &[[0, 1, 2], [2, 1, 3], [2, 3, 4], [4, 3, 5], [6, 7, 8]]).unwrap();
        let red_edges = topology.vertex_edges(VertexId(0)).to_vec();
        let red_triangles = topology.vertex_triangles(VertexId(0)).to_vec();
        (topology, Colours { red_vertices: vec![VertexId(0)], red_edges, red_triangles, ..Colours::default() })
    }

    const SEPARATION: [f64; 9] = [0.5, 0.4, 0.3, 0.2, 0.1, 0.6, 0.7, 0.25, 0.8];

    fn vertex_triangle(vertex: u32, triangle: usize) -> ElementPair {
        ElementPair::VertexTriangle(VertexId(vertex), TriangleId::new(triangle))
    }

    fn edges(topology: &Topology, first: [u32; 2], second: [u32; 2]) -> ElementPair {
        let edge = |[a, b]: [u32; 2]| topology.find_edge(VertexId(a), VertexId(b)).unwrap();
        let (a, b): (EdgeId, EdgeId) = (edge(first), edge(second));
        ElementPair::EdgeEdge(a.min(b), a.max(b))
    }

    #[test]
    fn green_is_as_usual_and_red_keeps_the_smallest_separation_from_green() {
        let (topology, colours) = strip();
        let rules = ColourRules::from_colours(&topology, &colours, SEPARATION.to_vec());
        assert_eq!(rules.rule(vertex_triangle(5, 4)), Rule::Ordinary);
        assert_eq!(rules.rule(vertex_triangle(0, 4)), Rule::Separation(0.25), "of vertices 0, 6, 7 and 8");
        assert_eq!(rules.rule(vertex_triangle(7, 0)), Rule::Separation(0.25));
        assert_eq!(rules.rule(edges(&topology, [0, 1], [6, 8])), Rule::Separation(0.4));
        assert_eq!(rules.largest_separation(), 0.8);
    }

    #[test]
    fn red_passes_through_red_and_nobody_sees_what_is_omitted() {
        let (topology, mut colours) = strip();
        colours.red_triangles.push(TriangleId::new(4));
        colours.red_edges.extend(topology.triangle_edges(TriangleId::new(4)));
        let mut rules = ColourRules::from_colours(&topology, &colours, SEPARATION.to_vec());
        assert_eq!(rules.rule(vertex_triangle(0, 4)), Rule::MayCross);
        assert_eq!(rules.rule(edges(&topology, [0, 1], [6, 8])), Rule::MayCross);
        assert_eq!(rules.rule(vertex_triangle(5, 4)), Rule::Separation(0.25), "a green vertex does not");
        rules.omit(&topology, &[TriangleId::new(3)]);
        assert_eq!(rules.rule(vertex_triangle(1, 3)), Rule::MayCross);
        assert_eq!(rules.rule(vertex_triangle(5, 1)), Rule::MayCross, "vertex 5 belongs to no other triangle");
        assert_eq!(rules.rule(vertex_triangle(4, 1)), Rule::Ordinary, "vertex 4 does");
    }

    /// In simulations torn strips passed through bodies, and through other garments.
    #[test]
    fn other_sheets_and_bodies_see_what_is_omitted() {
        let (topology, colours) = strip();
        let mut rules = ColourRules::from_colours(&topology, &colours, SEPARATION.to_vec());
        rules.omit(&topology, &[TriangleId::new(3)]);
        assert_eq!(rules.rule(vertex_triangle(7, 3)), Rule::Ordinary);
        assert_eq!(rules.rule(vertex_triangle(5, 4)), Rule::Ordinary);
        assert_eq!(rules.rule(edges(&topology, [3, 5], [6, 8])), Rule::Ordinary);
        assert_eq!(rules.rule(edges(&topology, [4, 5], [1, 3])), Rule::MayCross, "its own sheet does not");
    }

    #[test]
    fn neighbours_may_come_near_and_only_pulled_ones_where_pulls_are_told() {
        let (topology, colours) = strip();
        let mut rules = ColourRules::from_colours(&topology, &colours, SEPARATION.to_vec());
        assert_eq!(rules.rule(vertex_triangle(0, 1)), Rule::Ordinary, "edge 0-1 joins them");
        assert_eq!(rules.rule(vertex_triangle(0, 2)), Rule::Ordinary, "edge 0-2 joins them");
        rules.let_near(&[Pull { subjects: vec![VertexId(0)], target: VertexId(1), remaining: 0.5 }]);
        assert_eq!(rules.rule(vertex_triangle(0, 1)), Rule::Ordinary);
        assert_eq!(rules.rule(vertex_triangle(0, 2)), Rule::Separation(0.1));
    }

    #[test]
    fn bodies_keep_the_usual_rule_but_for_pinched_cloth() {
        let (topology, colours) = strip();
        let mut rules = ColourRules::from_colours(&topology, &colours, SEPARATION.to_vec());
        rules.keep_usual_from(6);
        assert_eq!(rules.rule(vertex_triangle(0, 4)), Rule::Ordinary, "red against a body");
        let mut pinched = vec![false; 6];
        pinched[5] = true;
        rules.let_through_bodies(&pinched);
        assert_eq!(rules.rule(vertex_triangle(5, 4)), Rule::MayCross);
        assert_eq!(rules.rule(vertex_triangle(4, 4)), Rule::Ordinary);
    }
}
