//! Springs between layers of cloth that lie within their thickness, as part of the implicit solve. (Between cloth and bodies the same springs are
//! supports with a stiffness of their own.)
//!
//! Repulsion after the solve cannot carry a load through a stack of layers or against the pull of stretched cloth: every contact
//! answers for its own vertices only. As part of the matrix the same spring acts on all of them at once. With `d` the gap and `h` the thickness the force is
//! `k (h - d) h / d`, so that it grows without bound as the gap closes; its tangent at the start of the step is the
//! stiffness, which asks for at most twice the gap within one step. (The repulsions of Bridson 2003, 2.6; that they are implicit is ours)
//!
//! Does not: know when to let go; the step leaves out cushions that would pull.

use super::pattern::Pattern;
use crate::geometry::{DMat3, DVec3, Stencil};
use rayon::prelude::*;

/// A spring along the normal of two points of the cloth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cushion {
    /// The two points.
    pub stencil: Stencil,
    /// From the second to the first, length 1.
    pub normal: DVec3,
    /// The gap at which the spring is at rest, metres.
    pub rest_gap: f64,
    /// N/m.
    pub stiffness: f64,
}

/// Gaps below this part of the thickness are as stiff as there.
const SMALLEST_PART: f64 = 0.05;

impl Cushion {
    /// Between points that are `gap` apart and should be `thickness` apart, metres; `stiffness` is that of the first contact, N/m.
    pub fn new(stencil: Stencil, normal: DVec3, gap: f64, thickness: f64, stiffness: f64) -> Self {
        let ratio = thickness / gap.max(SMALLEST_PART * thickness);
        Self { stencil, normal, rest_gap: gap + (thickness - gap) / ratio, stiffness: stiffness * ratio * ratio }
    }

    /// How far the spring is compressed, metres; negative where it pulls.
    pub fn compression(&self, positions: &[DVec3]) -> f64 {
        self.rest_gap - self.normal.dot(self.stencil.apply(positions))
    }
}

/// Cushions as products `b b^T` for the rows of a system.
#[derive(Clone, Debug, Default)]
pub struct Ties {
    ties: Vec<Tie>,
    /// Where the entries of each row begin; one more at the end. Empty if there are no ties.
    row_starts: Vec<u32>,
    entries: Vec<Entry>,
    sums: Vec<f64>,
}

#[derive(Clone, Copy, Debug)]
struct Tie {
    rows: [u32; 4],
    vectors: [DVec3; 4],
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    tie: u32,
    vector: DVec3,
}

/// All pairs of the four rows of a tie.
pub const PAIRS_OF_TIE: [[usize; 2]; 6] = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];

/// Fewer ties than this are not worth another thread.
const TIES_PER_TASK: usize = 2048;

impl Ties {
    /// Takes over the cushions of a step in which a change of velocity moves by `reach`.
    pub fn set(&mut self, cushions: &[Cushion], pattern: &Pattern, reach: f64) {
        let tie = |cushion: &Cushion| {
            let scale = cushion.stiffness.sqrt() * reach;
            Tie {
                rows: cushion.stencil.vertices.map(|vertex| pattern.row(vertex) as u32),
                vectors: cushion.stencil.weights.map(|weight| cushion.normal * (scale * weight)),
            }
        };
        self.ties.clear();
        self.ties.extend(cushions.iter().map(tie));
        self.row_starts.clear();
        self.entries.clear();
        if self.ties.is_empty() {
            return;
        }
        self.row_starts.resize(pattern.row_count() + 1, 0);
        for row in self.ties.iter().flat_map(|tie| tie.rows) {
            self.row_starts[row as usize + 1] += 1;
        }
        for row in 0..pattern.row_count() {
            self.row_starts[row + 1] += self.row_starts[row];
        }
        self.entries.resize(4 * self.ties.len(), Entry { tie: 0, vector: DVec3::ZERO });
        let mut next = self.row_starts.clone();
        for (at, tie) in self.ties.iter().enumerate() {
            for (row, vector) in tie.rows.into_iter().zip(tie.vectors) {
                self.entries[next[row as usize] as usize] = Entry { tie: at as u32, vector };
                next[row as usize] += 1;
            }
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ties.is_empty()
    }

    /// What they add to the diagonal block of a row.
    pub fn diagonal(&self, row: usize) -> DMat3 {
        let outer = |b: DVec3| DMat3::from_cols(b * b.x, b * b.y, b * b.z);
        self.of_row(row).iter().fold(DMat3::ZERO, |sum, entry| sum + outer(entry.vector))
    }

    /// The first half of a product with a vector: one number per tie, for [`Ties::product_at`].
    pub fn begin_product(&mut self, vector: &[DVec3]) {
        let along = |tie: &Tie| {
            let [a, b, c, d]: [f64; 4] = std::array::from_fn(|k| tie.vectors[k].dot(vector[tie.rows[k] as usize]));
            (a + b) + (c + d)
        };
        self.ties.par_iter().with_min_len(TIES_PER_TASK).map(along).collect_into_vec(&mut self.sums);
    }

    /// The second half: what the product has in a row.
    pub fn product_at(&self, row: usize) -> DVec3 {
        self.of_row(row).iter().fold(DVec3::ZERO, |sum, entry| sum + entry.vector * self.sums[entry.tie as usize])
    }

    /// What they add right of the diagonal: for every tie and each of [`PAIRS_OF_TIE`] the block at the smaller row and the larger.
    pub fn products(&self) -> impl Iterator<Item = DMat3> + '_ {
        self.ties.iter().flat_map(|tie| PAIRS_OF_TIE.map(|pair| (tie, pair))).map(|(tie, [i, j])| {
            let [row, column] = if tie.rows[i] < tie.rows[j] { [i, j] } else { [j, i] };
            let (left, right) = (tie.vectors[row], tie.vectors[column]);
            DMat3::from_cols(left * right.x, left * right.y, left * right.z)
        })
    }

    fn of_row(&self, row: usize) -> &[Entry] {
        match self.row_starts.get(row + 1) {
            Some(&end) => &self.entries[self.row_starts[row] as usize..end as usize],
            None => &[],
        }
    }
}

/// Adds what cushions push to the right-hand side of an implicit step.
pub(super) fn add_pushes(
    cushions: &[Cushion],
    pattern: &Pattern,
    positions: &[DVec3],
    reach: f64,
    right: &mut [DVec3],
) {
    for cushion in cushions {
        let push = cushion.normal * (cushion.stiffness * cushion.compression(positions) * reach);
        for (&vertex, weight) in cushion.stencil.vertices.iter().zip(cushion.stencil.weights) {
            right[pattern.row(vertex)] += push * weight;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{Topology, VertexId};

    fn edge_pair(ids: [u32; 4], along: [f64; 2]) -> Stencil {
        let [a, b, c, d] = ids.map(VertexId);
        Stencil::edge_edge([a, b], [c, d], along)
    }

    #[test]
    fn the_force_is_the_one_above_and_the_stiffness_its_tangent() {
        let (thickness, stiffness) = (2e-3, 50.0);
        let law = |gap: f64| stiffness * (thickness - gap) * thickness / gap;
        for gap in [0.2e-3, 0.9e-3, 1.9e-3] {
            let positions = [DVec3::ZERO, DVec3::X, DVec3::new(0.5, -1.0, -gap), DVec3::new(0.5, 1.0, -gap)];
            let cushion = Cushion::new(edge_pair([0, 1, 2, 3], [0.5; 2]), DVec3::Z, gap, thickness, stiffness);
            let force = cushion.stiffness * cushion.compression(&positions);
            assert!((force - law(gap)).abs() < 1e-9 * law(gap), "{force} for {}", law(gap));
            let tangent = (law(gap - 1e-9) - law(gap + 1e-9)) / 2e-9;
            assert!((cushion.stiffness - tangent).abs() < 1e-5 * tangent);
        }
        // Far below the law is cut off, and one step still asks for a gap within the thickness.
        let cushion = Cushion::new(edge_pair([0, 1, 2, 3], [0.5; 2]), DVec3::Z, 1e-6, thickness, stiffness);
        assert!(cushion.rest_gap < 0.1 * thickness && cushion.stiffness < 1.001 * stiffness / SMALLEST_PART.powi(2));
    }

    #[test]
    fn products_are_those_of_the_sum_over_all_cushions() {
        let triangles = [[0, 1, 2], [1, 2, 3], [4, 5, 6], [5, 6, 7]];
        let pattern = Pattern::new(&Topology::new(8, &triangles).unwrap(), &[], &[]);
        let cushions = [
            Cushion::new(edge_pair([0, 1, 4, 5], [0.3, 0.6]), DVec3::Z, 1e-3, 2e-3, 50.0),
            Cushion::new(edge_pair([1, 2, 6, 7], [0.2, 0.9]), DVec3::new(0.6, 0.0, 0.8), 0.5e-3, 2e-3, 50.0),
        ];
        let reach = 0.01;
        let mut ties = Ties::default();
        ties.set(&cushions, &pattern, reach);
        let values: Vec<DVec3> = (0..8).map(|k| DVec3::new(f64::from(k), 1.0, -0.5 * f64::from(k * k))).collect();
        let by_row: Vec<DVec3> = pattern.vertex_of.iter().map(|&vertex| values[vertex as usize]).collect();
        ties.begin_product(&by_row);
        for vertex in (0..8).map(VertexId) {
            let share = |cushion: &Cushion| {
                let weight: f64 =
                    (0..4).filter(|&k| cushion.stencil.vertices[k] == vertex).map(|k| cushion.stencil.weights[k]).sum();
                let along = cushion.normal.dot(cushion.stencil.apply(&values));
                cushion.normal * (cushion.stiffness * reach * reach * weight * along)
            };
            let expected: DVec3 = cushions.iter().map(share).sum();
            let row = pattern.row(vertex);
            assert!((ties.product_at(row) - expected).length() < 1e-12 * (1.0 + expected.length()));
            let own = ties.diagonal(row);
            assert!(own.is_finite() && own.x_axis.x >= 0.0 && own.z_axis.z >= 0.0);
        }
    }
}
