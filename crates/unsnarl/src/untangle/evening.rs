//! Strain evened out: edges that a push has made too long or too short go back to their length, step by step.
//!
//! In a round every edge beyond its bounds wants its ends nearer or farther, and a vertex follows the mean of what its edges
//! want. Between rounds the push is repeated, so cloth slides along what it was pushed out of instead of standing taut.
//! (position-based constraint projection, Mueller 2007, 3.3, with means instead of a sequence)
//!
//! Guarantees: only free vertices move; edges within their bounds move nothing; the same bits on any number of threads.
//! Does not: keep cloth from crossing anything, nor its angles.

use rayon::prelude::*;
use unsnarl_geometry::{DVec3, EdgeId, Topology, VertexId};

/// The least and greatest length of every edge, metres: a little off its rest length, or what it had before.
pub fn bounds(topology: &Topology, rest_lengths: &[f64], before: &[DVec3]) -> Vec<[f64; 2]> {
    const SLACK: f64 = 0.02;
    let of_edge = |(ends, rest): (&[VertexId; 2], &f64)| {
        let length = before[ends[0].index()].distance(before[ends[1].index()]);
        [length.min((1.0 - SLACK) * rest), length.max((1.0 + SLACK) * rest)]
    };
    topology.edges().iter().zip(rest_lengths).map(of_edge).collect()
}

/// One round; returns what each vertex has moved, or nothing if no edge is beyond its bounds.
pub fn even_out(topology: &Topology, bounds: &[[f64; 2]], positions: &mut [DVec3], free: &[bool]) -> Option<Vec<f64>> {
    /// Means are too careful: this many times as far converges faster and is still stable.
    const STRIDE: f64 = 1.5;
    let is_free = |vertex: VertexId| free.get(vertex.index()) == Some(&true);
    let wish = |vertex: VertexId, edge: EdgeId| {
        let other = topology.other_end(edge, vertex);
        let way = positions[other.index()] - positions[vertex.index()];
        let length = way.length();
        let excess = length - length.clamp(bounds[edge.index()][0], bounds[edge.index()][1]);
        let share = if is_free(other) { 0.5 } else { 1.0 };
        (excess != 0.0 && length > 0.0).then(|| share * excess / length * way)
    };
    let step = |vertex: usize| {
        let vertex = VertexId::new(vertex);
        let wishes = topology.vertex_edges(vertex).iter().filter_map(|&edge| wish(vertex, edge));
        let (sum, count) = wishes.fold((DVec3::ZERO, 0), |(sum, count), wish| (sum + wish, count + 1));
        if count == 0 || !is_free(vertex) { DVec3::ZERO } else { STRIDE / count as f64 * sum }
    };
    let steps: Vec<DVec3> = (0..free.len()).into_par_iter().map(step).collect();
    if steps.iter().all(|step| *step == DVec3::ZERO) {
        return None;
    }
    positions.iter_mut().zip(&steps).for_each(|(place, step)| *place += *step);
    Some(steps.iter().map(|step| step.length()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{self, Cut, Recipe};

    #[test]
    fn a_vertex_that_was_pulled_out_comes_back_and_the_rest_stays() {
        let sample = samples::find("hanky").unwrap().make(&Recipe { resolution: 12, cut: Cut::Irregular, seed: 1 });
        let before = &sample.mesh.positions;
        let topology = Topology::new(before.len(), &sample.mesh.triangles).unwrap();
        let length = |ends: &[VertexId; 2], at: &[DVec3]| at[ends[0].index()].distance(at[ends[1].index()]);
        let rest: Vec<f64> = topology.edges().iter().map(|ends| length(ends, before)).collect();
        let bounds = bounds(&topology, &rest, before);
        let mut positions = before.clone();
        let free = vec![true; before.len()];
        assert!(even_out(&topology, &bounds, &mut positions, &free).is_none(), "unstrained cloth stays");
        let middle = before.len() / 2;
        positions[middle].y += 2.0 * rest[0];
        let worst = |at: &[DVec3]| {
            let ratios = topology.edges().iter().zip(&rest).map(|(ends, rest)| length(ends, at) / rest);
            ratios.fold(0.0, f64::max)
        };
        let first = worst(&positions);
        for _ in 0..60 {
            even_out(&topology, &bounds, &mut positions, &free);
        }
        assert!(first > 1.8 && worst(&positions) < 1.05, "{first} to {}", worst(&positions));
        let corner = before.len() - 1;
        assert_eq!(positions[corner], before[corner], "far away nothing moves");
    }
}
