//! Smoothing of a quantity over a mesh: `(I + lambda L) u = x`, with `L` the graph Laplacian, by conjugate gradients.
//!
//! Guarantees: vertices that are not free keep their value; the same bits on any number of threads.
//! Does not: weigh edges by their length.

use unsnarl_geometry::{DVec3, Topology, VertexId};

/// Smooths a quantity given per vertex on the free vertices, from a first guess. `free` may end before the mesh does.
pub fn smooth(topology: &Topology, positions: &[DVec3], free: &[bool], lambda: f64, guess: Vec<DVec3>) -> Vec<DVec3> {
    const TOLERANCE: f64 = 1e-10;
    const MOST_ITERATIONS: usize = 2000;
    let vertices: Vec<usize> = (0..free.len()).filter(|&vertex| free[vertex]).collect();
    let ring_of = |vertex: usize| topology.ring(VertexId::new(vertex)).map(|other| other.index());
    let rings: Vec<Vec<usize>> = vertices.iter().map(|&vertex| ring_of(vertex).collect()).collect();
    let apply = |field: &[DVec3]| -> Vec<DVec3> {
        let row = |(at, ring): (usize, &Vec<usize>)| {
            let here = field[vertices[at]];
            here + lambda * ring.iter().map(|&other| here - field[other]).sum::<DVec3>()
        };
        rings.iter().enumerate().map(row).collect()
    };
    let mut solution = guess;
    let mut residual: Vec<DVec3> =
        vertices.iter().zip(apply(&solution)).map(|(&vertex, image)| positions[vertex] - image).collect();
    let scaled = |residual: &[DVec3]| -> Vec<DVec3> {
        residual.iter().zip(&rings).map(|(r, ring)| *r / (1.0 + lambda * ring.len() as f64)).collect()
    };
    let mut direction = vec![DVec3::ZERO; free.len()];
    let mut preconditioned = scaled(&residual);
    for (&vertex, step) in vertices.iter().zip(&preconditioned) {
        direction[vertex] = *step;
    }
    let mut product = dot(&residual, &preconditioned);
    let enough = TOLERANCE * TOLERANCE * vertices.iter().map(|&v| positions[v].length_squared()).sum::<f64>();
    for _ in 0..MOST_ITERATIONS {
        if dot(&residual, &residual) <= enough {
            break;
        }
        let image = apply(&direction);
        let along: f64 = vertices.iter().zip(&image).map(|(&vertex, image)| direction[vertex].dot(*image)).sum();
        if along <= 0.0 {
            break;
        }
        let length = product / along;
        for (at, &vertex) in vertices.iter().enumerate() {
            solution[vertex] += length * direction[vertex];
            residual[at] -= length * image[at];
        }
        preconditioned = scaled(&residual);
        let next = dot(&residual, &preconditioned);
        for (&vertex, step) in vertices.iter().zip(&preconditioned) {
            direction[vertex] = *step + next / product * direction[vertex];
        }
        product = next;
    }
    solution
}

fn dot(a: &[DVec3], b: &[DVec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.dot(*b)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{self, Cut, Recipe};

    #[test]
    fn the_answer_fulfils_the_equation_and_held_vertices_keep_their_value() {
        let sample = samples::find("hanky").unwrap().make(&Recipe { resolution: 6, cut: Cut::Irregular, seed: 1 });
        let (mesh, count) = (&sample.mesh, sample.mesh.positions.len());
        let topology = Topology::new(count, &mesh.triangles).unwrap();
        let free: Vec<bool> = (0..count).map(|vertex| vertex % 5 != 0).collect();
        let lambda = 3.0;
        let answer = smooth(&topology, &mesh.positions, &free, lambda, mesh.positions.clone());
        for vertex in 0..count {
            let here = answer[vertex];
            let around = topology.ring(VertexId::new(vertex)).map(|other| here - answer[other.index()]);
            let image = here + lambda * around.sum::<DVec3>();
            let wanted = if free[vertex] { image } else { here };
            assert!((wanted - mesh.positions[vertex]).length() < 1e-9, "vertex {vertex}");
        }
    }
}
