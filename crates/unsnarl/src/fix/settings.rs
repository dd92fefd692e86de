//! The settings of `fix`.

use super::LeftOut;
use crate::settings::UntangleSettings;
use crate::untangle::resolvers::tally::SeamPlace;
use crate::untangle::{FoldStyle, Method};
use unsnarl_geometry::{DVec3, VertexId};

/// What becomes of the pose of pieces of which nothing else can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pose {
    /// They are laid flat or rebuilt.
    MayBeLost,
    /// They keep it, tangled or strained.
    Kept,
}

/// How to untangle.
#[derive(Clone, Debug, PartialEq)]
pub struct FixSettings {
    /// The resolver and what it has in common with a simulation.
    pub untangle: UntangleSettings,
    /// Length of a step, seconds. It scales how far forces move cloth, and `gamma`.
    pub step: f64,
    /// Distance that cloth keeps in the end, metres.
    pub separation: f64,
    /// Distance that cloth keeps from bodies when it is pushed out of them, metres.
    pub body_separation: f64,
    /// Rings around a tangle that may move.
    pub rings: usize,
    /// Longest move of a vertex in one step, as a share of the mean edge.
    pub largest_move: f64,
    /// Steps of relaxation once everything is clean.
    pub relaxation_steps: usize,
    /// Steps in which cloth grows back after a retreat, at most.
    pub growth_steps: usize,
    /// Cloth is at rest when nothing moves farther than this in a step, as a share of the mean edge.
    pub stillness: f64,
    /// Steps without progress before a stronger measure is taken.
    pub patience: usize,
    /// Steps at most.
    pub largest_step_count: usize,
    /// What is known of the vertices of cloth.
    pub vertices: VertexSettings,
    /// Whether pieces may be laid flat or rebuilt where nothing else helps.
    pub pose: Pose,
    /// Measures and rungs that are not taken, to see what they are for.
    pub without: Vec<LeftOut>,
}

/// What is known of each vertex of cloth.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VertexSettings {
    /// The layer of each vertex of cloth, from the inside out: where pieces of different layers cross, the outer one comes
    /// to lie on the front of the inner one. Empty, or equal: the majority decides.
    pub layers: Vec<i32>,
    /// What becomes of a fold that bites into itself, by vertex of cloth. Empty, or `None`: it is unfolded.
    pub styles: Vec<Option<FoldStyle>>,
    /// The edges of creases with their angles at rest, radians.
    pub creases: Vec<([VertexId; 2], f64)>,
    /// Where cloth is in a mesh that gave it its rest shapes: a start for cloth of which nothing else can be made. Of another length: there is none.
    pub rest_pose: Vec<DVec3>,
    /// Where each vertex of cloth lies in its pattern, for the report. Empty: within a panel.
    pub seam_places: Vec<SeamPlace>,
}

impl FixSettings {
    /// The defaults with another resolver.
    pub fn with_method(method: Method) -> Self {
        Self { untangle: UntangleSettings { method, ..UntangleSettings::default() }, ..Self::default() }
    }

    /// The same with another resolver.
    pub fn using(self, method: Method) -> Self {
        Self { untangle: UntangleSettings { method, ..self.untangle }, ..self }
    }

    /// The same for a part of the cloth with these vertices.
    pub(super) fn of_part(&self, vertices: &[VertexId]) -> Self {
        let of = &self.vertices;
        let vertices = VertexSettings {
            layers: part(&of.layers, vertices),
            styles: part(&of.styles, vertices),
            creases: of.creases.iter().filter_map(|(ends, angle)| Some((own_ends(*ends, vertices)?, *angle))).collect(),
            rest_pose: part(&of.rest_pose, vertices),
            seam_places: part(&of.seam_places, vertices),
        };
        Self { vertices, untangle: self.untangle.clone(), without: self.without.clone(), ..*self }
    }
}

/// An edge as numbered among some vertices.
fn own_ends(ends: [VertexId; 2], vertices: &[VertexId]) -> Option<[VertexId; 2]> {
    let number = |end: VertexId| vertices.iter().position(|vertex| *vertex == end).map(VertexId::new);
    Some([number(ends[0])?, number(ends[1])?])
}

/// Values of some vertices; none where not every vertex has one.
fn part<T: Clone>(values: &[T], vertices: &[VertexId]) -> Vec<T> {
    vertices.iter().map(|vertex| values.get(vertex.index()).cloned()).collect::<Option<_>>().unwrap_or_default()
}

impl Default for FixSettings {
    fn default() -> Self {
        Self {
            untangle: UntangleSettings::default(),
            step: 0.02,
            separation: 1e-4,
            body_separation: 5e-4,
            rings: 4,
            largest_move: 0.5,
            relaxation_steps: 80,
            growth_steps: 200,
            stillness: 1e-3,
            patience: 25,
            largest_step_count: 2000,
            vertices: VertexSettings::default(),
            pose: Pose::MayBeLost,
            without: Vec::new(),
        }
    }
}
