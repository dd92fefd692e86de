//! Where a resolver wants vertices to go in one step, gathered and turned into forces for the implicit solve.
//!
//! Every wish has a weight; a vertex goes to the weighted mean of its wishes. A move `d` of a vertex of mass `m` becomes a
//! spring to the wanted place: force `k d` that fades with stiffness `k = gain m / step^2`, so a free vertex goes
//! `gain / (1 + gain)` of the way and no force can throw it farther than its wish.

use crate::dynamics::Guidance;
use unsnarl_geometry::{DVec3, VertexId};

/// Wishes for the vertices of cloth. Vertices beyond belong to bodies and are not moved.
#[derive(Clone, Debug)]
pub struct Moves {
    sums: Vec<DVec3>,
    weights: Vec<f64>,
}

impl Moves {
    /// No wishes yet.
    pub fn none(cloth_vertex_count: usize) -> Self {
        Self { sums: vec![DVec3::ZERO; cloth_vertex_count], weights: vec![0.0; cloth_vertex_count] }
    }

    /// Whether a vertex may be moved at all.
    pub fn is_cloth(&self, vertex: VertexId) -> bool {
        vertex.index() < self.sums.len()
    }

    /// Wishes a move, metres.
    pub fn add(&mut self, vertex: VertexId, weight: f64, displacement: DVec3) {
        if weight > 0.0 && self.is_cloth(vertex) {
            self.sums[vertex.index()] += displacement * weight;
            self.weights[vertex.index()] += weight;
        }
    }

    /// Wishes that two sides move apart by `displacement`: each takes half, or one takes all where the other is a body.
    pub fn add_relative(&mut self, first: &[(VertexId, f64)], second: &[(VertexId, f64)], displacement: DVec3) {
        let moves = |side: &[(VertexId, f64)]| side.iter().all(|&(vertex, _)| self.is_cloth(vertex));
        let share = if moves(first) && moves(second) { 0.5 } else { 1.0 };
        for &(vertex, weight) in first {
            self.add(vertex, weight, displacement * share);
        }
        for &(vertex, weight) in second {
            self.add(vertex, weight, -displacement * share);
        }
    }

    /// The wanted move of every vertex, metres.
    pub fn means(&self) -> Vec<DVec3> {
        let mean = |(sum, weight): (&DVec3, &f64)| if *weight > 0.0 { *sum / *weight } else { DVec3::ZERO };
        self.sums.iter().zip(&self.weights).map(mean).collect()
    }

    /// The wishes as forces for a step of this length, seconds; nothing where nothing is wished.
    pub fn guidance(&self, masses: &[f64], step: f64, gain: f64) -> Guidance {
        if self.weights.iter().all(|&weight| weight == 0.0) {
            return Guidance::default();
        }
        let stiffness: Vec<f64> = masses
            .iter()
            .zip(&self.weights)
            .map(|(mass, &weight)| if weight > 0.0 { gain * mass / (step * step) } else { 0.0 })
            .collect();
        let forces = self.means().into_iter().zip(&stiffness).map(|(wanted, &stiffness)| wanted * stiffness).collect();
        Guidance { forces, stiffness, ..Guidance::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wish_of_two_sides_keeps_momentum_and_bodies_stand_still() {
        let mut moves = Moves::none(3);
        let push = DVec3::new(0.0, 0.0, 2.0);
        moves.add_relative(&[(VertexId(0), 1.0)], &[(VertexId(1), 0.5), (VertexId(2), 0.5)], push);
        assert_eq!(moves.means(), [push / 2.0, -push / 2.0, -push / 2.0]);
        let mut against_a_body = Moves::none(1);
        against_a_body.add_relative(&[(VertexId(0), 1.0)], &[(VertexId(7), 1.0)], push);
        assert_eq!(against_a_body.means(), [push]);
    }

    #[test]
    fn a_free_vertex_goes_nearly_all_the_way() {
        let mut moves = Moves::none(1);
        moves.add(VertexId(0), 3.0, DVec3::X);
        let (mass, step, gain) = (0.25, 0.02, 9.0);
        let guidance = moves.guidance(&[mass], step, gain);
        let reach = step * step;
        let moved = guidance.forces[0].x * reach / (mass + guidance.stiffness[0] * reach);
        assert!((moved - 0.9).abs() < 1e-12, "{moved}");
    }
}
