//! Edge shortening and tearing as one remedy: what a simulation asks for at every step.
//!
//! The tangle of the step begins, continues and gives back pulls; the rest shapes that they leave, the rules by colour and the
//! stiffened hinges of torn folds are the remedy. (Cha 2022, chapters 4 and 5; figure 2.2)
//!
//! Guarantees: with nothing tangled and no pull under way it asks for nothing. The pulls are all that it remembers.
//! Does not: promise an end while bodies press cloth into a tangle again and again.

use super::esef::{self, EsefSettings, Pull};
use super::{ColourRules, Remedy, tearing};
use crate::analysis::Tangle;
use crate::model::Model;
use crate::settings::UntangleSettings;
use unsnarl_geometry::{Topology, VertexId};

/// What to do in a step, and what to remember for the next.
#[derive(Clone, Debug, Default)]
pub struct Shortening {
    /// For this step.
    pub remedy: Remedy,
    /// For the next.
    pub pulls: Vec<Pull>,
}

/// Plans one step of the given length from the pulls so far. `topology` is that of cloth, then bodies; `sizes` holds the size of the mesh at each of its
/// vertices, metres.
pub fn shorten(
    model: &Model,
    (topology, sizes): (&Topology, &[f64]),
    pulls: &[Pull],
    tangle: &Tangle,
    step: f64,
    settings: &UntangleSettings,
) -> Shortening {
    if tangle.is_empty() && pulls.is_empty() {
        return Shortening::default();
    }
    let mut pulls = pulls.to_vec();
    let shortening = EsefSettings { gamma: settings.gamma, ..EsefSettings::default() };
    esef::update(model, &mut pulls, &tangle.colours, step, &shortening);
    let mut remedy = Remedy { rest_shapes: esef::rest_shapes(model, &pulls), ..Remedy::default() };
    if !tangle.is_empty() {
        let tear = tearing::tear(model, tangle);
        if !tear.stiffened_hinges.is_empty() {
            remedy.hinge_stiffness = vec![1.0; model.hinges.len()];
            for &hinge in &tear.stiffened_hinges {
                remedy.hinge_stiffness[hinge] = settings.tear_stiffening;
            }
        }
        let separation = sizes.iter().map(|size| settings.red_green_separation * size).collect();
        remedy.rules = ColourRules::from_colours(topology, &tangle.colours, separation);
        remedy.rules.omit(topology, &tear.omitted);
    }
    Shortening { remedy, pulls }
}

/// The size of the mesh at each vertex of cloth: the mean of the edges of its triangles at rest, but at most twice their
/// least height, so that slivers are not asked to keep a distance that they do not have. Vertices of bodies, which follow,
/// get the largest.
pub fn mesh_sizes(model: &Model, vertex_count: usize) -> Vec<f64> {
    let size_at = |vertex: usize| {
        let triangles = model.topology.vertex_triangles(VertexId::new(vertex));
        let (mut edges, mut least) = (0.0, f64::INFINITY);
        for triangle in triangles {
            let shape = &model.rest_shapes[triangle.index()];
            let lengths = shape.lengths();
            edges += lengths.iter().sum::<f64>() / 3.0;
            let longest = lengths.into_iter().fold(f64::MIN_POSITIVE, f64::max);
            least = least.min(2.0 * shape.area() / longest);
        }
        if triangles.is_empty() { 0.0 } else { (edges / triangles.len() as f64).min(2.0 * least) }
    };
    let mut sizes: Vec<f64> = (0..model.topology.vertex_count()).map(size_at).collect();
    let largest = sizes.iter().copied().fold(0.0, f64::max);
    sizes.resize(vertex_count, largest);
    sizes
}
