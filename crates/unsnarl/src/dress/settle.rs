//! Layers settle against each other as they are, triangles and all.
//!
//! After the projection layers are in order but for triangles that are coarser than the gap. In rounds: every vertex,
//! and every point of a triangle that something has stood through, is kept on its side of all layers that act there, as
//! far from each as their thicknesses say; the way is shared by weights; cloth slides meanwhile, so that strain is
//! spread ([`crate::untangle::rearrange::sliding`]).
//!
//! Guarantees: bodies stay; the same bits on any number of threads.
//! Does not: promise that nothing crosses in the end; the exact check says that.

use super::active::{Glance, Scope, Seen, find_depths, see_again};
use super::layers::Stack;
use super::project::{CARRYING, STRAIN};
use crate::analysis::{Assembly, Workspace};
use crate::model::Model;
use crate::untangle::rearrange::piercing::{Hole, holes, mean_pushes};
use crate::untangle::rearrange::sliding::Sliding;
use crate::untangle::rearrange::strain_bounds::StrainBounds;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use unsnarl_geometry::{DVec3, TriangleId, VertexId};

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Settled {
    /// Rounds taken.
    pub rounds: usize,
    /// Triangles that another layer stood through at the last look.
    pub holes: usize,
    /// What the worst point lacks of its distance, metres.
    pub lacking: f64,
}

/// Cloth that settles.
pub struct Settling<'a> {
    /// The layers; their fields move along.
    pub stack: &'a mut Stack,
    /// The cloth.
    pub model: &'a Model,
    /// Cloth and bodies.
    pub assembly: &'a Assembly,
    /// How far layers are seen.
    pub scope: Scope,
    /// Which layers act.
    pub against: Against,
    /// Rounds at most.
    pub rounds: usize,
}

/// Which layers act while cloth settles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    /// All of them.
    All,
    /// Bodies alone.
    Bodies,
}

/// A point that is kept in order: a vertex, or a place in a triangle.
#[derive(Clone, Copy, Debug)]
struct Point {
    corners: [u32; 3],
    weights: [f64; 3],
    layer: u32,
}

impl Point {
    fn vertex(vertex: usize, layer: usize) -> Self {
        Self { corners: [vertex as u32; 3], weights: [1.0, 0.0, 0.0], layer: layer as u32 }
    }

    fn sum(&self, of: impl Fn(usize) -> DVec3) -> DVec3 {
        (0..3).filter(|&k| self.weights[k] != 0.0).map(|k| self.weights[k] * of(self.corners[k] as usize)).sum()
    }

    /// A move of the point, shared by its corners.
    fn pushes(&self, step: DVec3, into: &mut Vec<(usize, DVec3)>) {
        let squares: f64 = self.weights.iter().map(|weight| weight * weight).sum();
        let own = (0..3).filter(|&k| self.weights[k] != 0.0);
        into.extend(own.map(|k| (self.corners[k] as usize, self.weights[k] / squares * step)));
    }
}

/// The thickness of the thinnest layer, at most a millimetre.
pub fn thinnest(stack: &Stack) -> f64 {
    stack.layers.iter().map(|layer| layer.thickness).filter(|thickness| *thickness > 0.0).fold(1e-3, f64::min)
}

/// The points that are kept within a triangle.
type Known = FxHashMap<TriangleId, Vec<usize>>;

/// Rounds between two looks for triangles that cross.
const BETWEEN_LOOKS: usize = 5;
/// What lacks less than this share of the thinnest layer is at rest.
const STILL: f64 = 0.02;

impl Settling<'_> {
    /// Settles. `all` is where everything is, cloth first.
    pub fn run(&mut self, stop: &dyn Fn() -> bool, all: &mut [DVec3]) -> Settled {
        let cloth_count = self.stack.layer_of.len();
        let mut bounds = StrainBounds::around_rest(&self.model.topology, &self.model.rest_shapes, STRAIN);
        let free = vec![true; cloth_count];
        let mut points: Vec<Point> =
            (0..cloth_count).filter_map(|vertex| Some(Point::vertex(vertex, self.stack.layer_of(vertex)?))).collect();
        let layer_count = self.stack.layers.len();
        let mut glances = vec![Glance::Never; points.len() * layer_count];
        let thin = thinnest(self.stack);
        let mut report = Settled::default();
        let (mut memory, mut known) = (Workspace::default(), Known::default());
        self.pushes(&points, &mut glances, all, &mut report.lacking);
        if self.against == Against::All && report.lacking == 0.0 && self.holes(all, &mut memory).is_empty() {
            return report;
        }
        let Some(mut sliding) = Sliding::new(&self.model.topology, &bounds, &free, CARRYING, all) else {
            return report;
        };
        for round in 0..self.rounds {
            if stop() {
                break;
            }
            report.rounds = round + 1;
            if round % BETWEEN_LOOKS == 0 {
                let found = self.holes(all, &mut memory);
                report.holes = found.len();
                if round > 0 && self.against == Against::All && found.is_empty() && report.lacking < STILL * thin {
                    break;
                }
                for hole in &found {
                    self.remember(hole, all, &mut points, &mut known);
                }
                glances.resize(points.len() * layer_count, Glance::Never);
                if round > 0 {
                    bounds.spare(&self.model.topology, all);
                }
            }
            let mut lacking = 0.0;
            sliding.round(&bounds, all, &mut |all| {
                let pushes = self.pushes(&points, &mut glances, all, &mut lacking);
                for (vertex, step) in mean_pushes(pushes) {
                    if vertex < cloth_count {
                        all[vertex] += step;
                    }
                }
            });
            report.lacking = lacking;
        }
        report
    }

    /// Pushes alone, without cloth taking its shape, until nothing is lacking or pushes become no less.
    pub fn push(&mut self, stop: &dyn Fn() -> bool, all: &mut [DVec3]) -> Settled {
        const PATIENCE: usize = 10;
        let cloth_count = self.stack.layer_of.len();
        let mut points: Vec<Point> = Vec::new();
        let layer_count = self.stack.layers.len();
        let mut glances = Vec::new();
        let (mut memory, mut known) = (Workspace::default(), Known::default());
        let mut report = Settled::default();
        let (mut best, mut best_round, mut best_places) = (usize::MAX, 0, Vec::new());
        for round in 0..self.rounds {
            let found = self.holes(all, &mut memory);
            report = Settled { rounds: round, holes: found.len(), lacking: 0.0 };
            if found.len() < best {
                (best, best_round, best_places) = (found.len(), round, all[..cloth_count].to_vec());
            }
            if found.is_empty() || round > best_round + PATIENCE || stop() {
                break;
            }
            for hole in &found {
                self.remember(hole, all, &mut points, &mut known);
            }
            glances.resize(points.len() * layer_count, Glance::Never);
            let mut lacking = 0.0;
            for (vertex, step) in mean_pushes(self.pushes(&points, &mut glances, all, &mut lacking)) {
                if vertex < cloth_count {
                    all[vertex] += step;
                }
            }
        }
        if report.holes > best {
            all[..cloth_count].copy_from_slice(&best_places);
            report.holes = best;
        }
        self.stack.place(all);
        report
    }

    /// Triangles of cloth that another layer, or a body, stands through.
    fn holes(&self, all: &[DVec3], memory: &mut Workspace) -> Vec<Hole> {
        let topology = self.assembly.topology();
        let layer = |triangle: TriangleId| self.stack.layer_of(topology.triangle(triangle)[0].index());
        let wanted = |triangle: TriangleId, other: TriangleId| {
            let (own, other) = (layer(triangle), layer(other));
            own.is_some() && own != other && (self.against == Against::All || other.is_none())
        };
        holes(topology, all, memory, &wanted)
    }

    /// Keeps the middle of a hole in order from now on; one close to it in the same triangle makes way.
    fn remember(&self, hole: &Hole, all: &[DVec3], points: &mut Vec<Point>, known: &mut Known) {
        const SAME: f64 = 0.2;
        let corners = self.assembly.topology().triangle(hole.triangle);
        let weights = hole.weights_in(corners.map(|corner| all[corner.index()]));
        let corners = corners.map(|corner: VertexId| corner.0);
        let Some(layer) = self.stack.layer_of(corners[0] as usize) else { return };
        let own = known.entry(hole.triangle).or_default();
        let is_close = |at: &&usize| (0..3).all(|k| (points[**at].weights[k] - weights[k]).abs() < SAME);
        match own.iter().find(is_close).copied() {
            Some(at) => points[at].weights = weights,
            None => {
                own.push(points.len());
                points.push(Point { corners, weights, layer: layer as u32 });
            }
        }
    }

    /// What moves points to their right places beside all layers, and layers away from them.
    fn pushes(
        &mut self,
        points: &[Point],
        glances: &mut [Glance],
        all: &[DVec3],
        lacking: &mut f64,
    ) -> Vec<(usize, DVec3)> {
        self.stack.place(all);
        let layer_count = self.stack.layers.len();
        let found: Vec<(Vec<(usize, DVec3)>, f64)> = points
            .par_iter()
            .zip(glances.par_chunks_mut(layer_count))
            .with_min_len(64)
            .map(|(point, glances)| self.pushes_of(point, glances, all))
            .collect();
        *lacking = found.iter().map(|(_, lacking)| *lacking).fold(0.0, f64::max);
        found.into_iter().flat_map(|(pushes, _)| pushes).collect()
    }

    fn pushes_of(&self, point: &Point, glances: &mut [Glance], all: &[DVec3]) -> (Vec<(usize, DVec3)>, f64) {
        let stack = &*self.stack;
        let own = point.layer as usize;
        let mut pushes = Vec::new();
        let place = point.sum(|vertex| all[vertex]);
        let Some(facing) = point.sum(|vertex| stack.facings[vertex]).try_normalize() else { return (pushes, 0.0) };
        let mut seen: Vec<Seen> = Vec::with_capacity(glances.len());
        for (other, glance) in glances.iter_mut().enumerate() {
            if other == own {
                seen.push(Seen::at_home(own, facing));
            } else if self.against == Against::All || stack.layers[other].is_rigid() {
                seen.extend(see_again(stack, other, (place, facing), self.scope, glance));
            }
        }
        find_depths(stack, &mut seen);
        let own_depth = seen.iter().find(|entry| entry.layer == own).map_or(0.0, |entry| entry.depth);
        let mut most = 0.0_f64;
        for entry in seen.iter().filter(|entry| entry.layer != own) {
            // Inner layers have to be below, outer ones above.
            let side = if entry.layer < own { 1.0 } else { -1.0 };
            let lacking = ((own_depth - entry.depth).abs() - side * entry.value) * entry.share;
            if lacking <= 0.0 {
                continue;
            }
            most = most.max(lacking);
            let other = &stack.layers[entry.layer];
            let share = match other.is_rigid() {
                true => 1.0,
                false => other.weight / (other.weight + stack.layers[own].weight),
            };
            let step = lacking * side * entry.gradient;
            point.pushes(share * step, &mut pushes);
            if share < 1.0 {
                let foot = Point { corners: other.corners(entry.triangle), weights: entry.weights, layer: 0 };
                foot.pushes(-(1.0 - share) * step, &mut pushes);
            }
        }
        (pushes, most)
    }
}
