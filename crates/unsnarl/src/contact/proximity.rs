//! Pairs of elements that are within thickness of each other at the start of the step. (Bridson 2003, 2.4)
//!
//! Guarantees: every such pair without a common vertex is listed once, in the order of [`ElementPair`], except those
//! that the rules let cross, those without a free vertex, and edge pairs whose nearest points are an end of an edge:
//! the vertex-triangle pairs there say the same.
//! Departs: distances are true distances, not distances to the triangle's plane with a widened border.

use super::response::Contact;
use super::rules::Rule;
use super::{ContactInput, Workspace};
use crate::dynamics::strain::Near;
use crate::dynamics::{Cushion, Support};
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

/// All pairs within thickness at the start of a step, and what cushions of the implicit solve did to them.
#[derive(Clone, Debug, Default)]
pub struct Nearby {
    /// The pairs, in order.
    pub(super) proximities: Vec<Proximity>,
    /// The impulse along the normal that each has received already, N s; `None` where it had no cushion.
    pub(super) cushioned: Vec<Option<f64>>,
    /// Planes at the distance of their body, one for every pair of cloth with a body, with the numbers of the pairs.
    planes: Vec<(usize, Support)>,
}

impl Nearby {
    pub(super) fn find(input: &ContactInput, workspace: &mut Workspace) -> Self {
        let proximities = find_proximities(input, workspace);
        let plane = |(at, proximity): (usize, &Proximity)| {
            Some((at, proximity.contact(input).support(input, proximity.pair, 0.0)?))
        };
        let planes = proximities.iter().enumerate().filter_map(plane).collect();
        Self { cushioned: vec![None; proximities.len()], planes, proximities }
    }

    /// Springs between layers of cloth that are not already parting fast enough, with the numbers of their pairs. Cloth
    /// vertices are those for which there is a velocity.
    pub fn cushions(&self, velocities: &[DVec3], step: f64, stiffness: f64) -> Vec<(usize, Cushion)> {
        let is_cloth = |stencil: &Stencil| stencil.vertices.iter().all(|vertex| vertex.index() < velocities.len());
        (self.proximities.iter().enumerate())
            .filter(|(_, proximity)| is_cloth(&proximity.stencil))
            .filter_map(|(at, proximity)| {
                let Proximity { stencil, normal, distance, thickness, .. } = *proximity;
                let cushion = Cushion::new(stencil, normal, distance, thickness, stiffness);
                let parting = stencil.apply(velocities).dot(normal) * step;
                (distance + parting < cushion.rest_gap).then_some((at, cushion))
            })
            .collect()
    }

    /// The same springs between cloth and bodies: supports that yield.
    pub fn pads(&self, velocities: &[DVec3], step: f64, stiffness: f64) -> Vec<(usize, Support)> {
        let pad = |&(at, plane): &(usize, Support)| {
            let Proximity { stencil, normal, distance, thickness, .. } = self.proximities[at];
            let cushion = Cushion::new(stencil, normal, distance, thickness, stiffness);
            let parting = plane.normal.dot(plane.apply(velocities) * step - plane.carried);
            let offset = plane.offset + cushion.rest_gap;
            let pad = Support { offset, stiffness: Some(cushion.stiffness), ..plane };
            (distance + parting < cushion.rest_gap).then_some((at, pad))
        };
        self.planes.iter().filter_map(pad).collect()
    }

    /// What strain limits have to mind: near pairs may approach while more than half of their thickness is left.
    pub fn slack(&self) -> Vec<Near> {
        let near = |proximity: &Proximity| {
            let Proximity { stencil, normal, distance, thickness, .. } = *proximity;
            Near { stencil, normal, slack: (distance - 0.5 * thickness).max(0.0), given: 0.0 }
        };
        self.proximities.iter().map(near).collect()
    }

    /// Notes the forces of the cushions and pads of a step, N, with the numbers of their pairs.
    pub fn note(&mut self, forces: &[(usize, f64)], step: f64) {
        self.cushioned.fill(None);
        for &(at, force) in forces {
            self.cushioned[at] = Some(force.max(0.0) * step);
        }
    }
}

impl Proximity {
    /// The contact between its nearest points.
    pub(super) fn contact(&self, input: &ContactInput) -> Contact {
        Contact { stencil: self.stencil, normal: self.normal, friction: side_mean(&self.stencil, input.friction) }
    }
}

/// All pairs within thickness at the start, in order.
pub fn find_proximities(input: &ContactInput, workspace: &mut Workspace) -> Vec<Proximity> {
    let motion = Motion::at_rest(input.start);
    let thickest =
        input.thickness.iter().fold(input.rules.largest_separation(), |most, &thickness| most.max(thickness));
    let tree = workspace.fitted(input.mesh, motion, 0.5 * thickest);
    let mut found = input.free_pairs(tree, |pair, out| out.extend(proximity(input, pair, thickest)));
    found.sort_unstable_by_key(|proximity| proximity.pair);
    found
}

/// Whether the direction between the middles of two elements proves them farther apart than `reach`.
fn are_far(first: &[DVec3], second: &[DVec3], reach: f64) -> bool {
    let middle = |points: &[DVec3]| points.iter().copied().sum::<DVec3>() / points.len() as f64;
    let across = middle(first) - middle(second);
    let lowest = first.iter().map(|point| across.dot(*point)).fold(f64::INFINITY, f64::min);
    let highest = second.iter().map(|point| across.dot(*point)).fold(f64::NEG_INFINITY, f64::max);
    lowest - highest > reach * across.length() * (1.0 + 1e-9)
}

fn proximity(input: &ContactInput, pair: ElementPair, thickest: f64) -> Option<Proximity> {
    let vertices = pair.vertices(input.mesh.topology());
    let points = vertices.map(|vertex| input.start[vertex.index()]);
    let first_count = pair.first_count();
    if are_far(&points[..first_count], &points[first_count..], thickest) {
        return None;
    }
    let (stencil, offset) = match pair {
        ElementPair::VertexTriangle(..) => {
            let closest = ccd::vertex_triangle_gap(points);
            let [vertex, corners @ ..] = vertices;
            (Stencil::vertex_triangle(vertex, corners, closest.weights), closest.offset)
        }
        ElementPair::EdgeEdge(..) => {
            let closest = ccd::edge_edge_gap(points);
            if closest.along.iter().any(|&along| along <= 0.0 || along >= 1.0) {
                return None;
            }
            let [a, b, c, d] = vertices;
            (Stencil::edge_edge([a, b], [c, d], closest.along), closest.offset)
        }
    };
    let distance = offset.length();
    if distance >= thickest {
        return None;
    }
    let (first, second) = vertices.split_at(first_count);
    let full = side_mean(&stencil, input.thickness);
    let thickness = match input.rules.rule(pair) {
        Rule::MayCross => return None,
        Rule::Ordinary => input.mesh.thickness_between(first, second, full),
        Rule::Separation(separation) => input.mesh.thickness_between(first, second, full.max(separation)),
    };
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
