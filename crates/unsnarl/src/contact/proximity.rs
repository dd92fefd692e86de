//! Pairs of elements that are within thickness of each other at the start of the step. (Bridson 2003, 2.4)
//!
//! Guarantees: every such pair without a common vertex is listed once, in the order of [`ElementPair`], except those that
//! the rules let cross, those without a free vertex, and edge pairs whose nearest points are an end of an edge: the
//! vertex-triangle pairs there say the same.
//! Departs: distances are true distances, not distances to the triangle's plane with a widened border.

use super::rules::Rule;
use super::{ContactInput, Workspace};
use crate::geometry::ccd::{self, ElementPair, Motion};
use crate::geometry::{DVec3, Stencil, VertexId};

/// Two elements within thickness.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Proximity {
    /// Which.
    pub pair: ElementPair,
    /// The nearest points, as weights.
    pub stencil: Stencil,
    /// From the second element to the first, length 1.
    pub normal: DVec3,
    /// Their distance, metres.
    pub distance: f64,
    /// The thickness that they should keep, metres.
    pub thickness: f64,
}

/// All pairs within thickness at the start, in order.
pub fn find_proximities(input: &ContactInput, workspace: &mut Workspace) -> Vec<Proximity> {
    let motion = Motion::at_rest(input.start);
    let thickest =
        input.thickness.iter().fold(input.rules.largest_separation(), |most, &thickness| most.max(thickness));
    let tree = workspace.fitted(input.mesh, motion, 0.5 * thickest);
    let mut found = tree.candidates(|pair, out| out.extend(proximity(input, pair)));
    found.sort_unstable_by_key(|proximity| proximity.pair);
    found
}

fn proximity(input: &ContactInput, pair: ElementPair) -> Option<Proximity> {
    let vertices = pair.vertices(input.mesh.topology());
    if vertices.iter().all(|vertex| input.inverse_mass[vertex.index()] == 0.0) {
        return None;
    }
    let points = vertices.map(|vertex| input.start[vertex.index()]);
    let (stencil, offset, first_count) = match pair {
        ElementPair::VertexTriangle(..) => {
            let closest = ccd::vertex_triangle_gap(points);
            let [vertex, corners @ ..] = vertices;
            (Stencil::vertex_triangle(vertex, corners, closest.weights), closest.offset, 1)
        }
        ElementPair::EdgeEdge(..) => {
            let closest = ccd::edge_edge_gap(points);
            if closest.along.iter().any(|&along| along <= 0.0 || along >= 1.0) {
                return None;
            }
            let [a, b, c, d] = vertices;
            (Stencil::edge_edge([a, b], [c, d], closest.along), closest.offset, 2)
        }
    };
    let (first, second) = vertices.split_at(first_count);
    let full = side_mean(&stencil, input.thickness);
    let thickness = match input.rules.rule(pair) {
        Rule::MayCross => return None,
        Rule::Ordinary => input.mesh.thickness_between(first, second, full),
        Rule::Separation(separation) => input.mesh.thickness_between(first, second, full.max(separation)),
    };
    let distance = offset.length();
    if distance >= thickness {
        return None;
    }
    let normal = offset.try_normalize()?;
    Some(Proximity { pair, stencil, normal, distance, thickness })
}

/// The mean over the two sides of a quantity of the vertices, each side at its point.
pub(super) fn side_mean(stencil: &Stencil, values: &[f64]) -> f64 {
    let weighted = |k: usize| stencil.weights[k].abs() * values[VertexId::index(stencil.vertices[k])];
    0.5 * ((weighted(0) + weighted(1)) + (weighted(2) + weighted(3)))
}
