//! A coarse correction for large systems: what block-diagonal preconditioning leaves is smooth, and few unknowns describe it.
//!
//! Coarse nodes are vertices a fixed number of rings apart; every vertex takes a weighted mean of the motion of its nearest
//! nodes, weights falling with the distance in rings (hat functions that add up to one). With `P` these weights, the correction is
//! `P (P^T A P)^-1 P^T`, added to the preconditioner. Its matrix is factored once a solve, in a band.
//! (A two-level additive preconditioner; the cloth papers use the diagonal alone.)
//!
//! Guarantees: symmetric and positive, so conjugate gradients converge as without it, in fewer iterations; the same bits on any number of
//! threads; nodes depend on the connectivity alone and are found once.
//! Does not: serve small systems, which are solved as fast without it.

use super::block_matrix::BlockMatrix;
use super::conjugate_gradients::Freedom;
use super::pattern::{Pattern, reverse_cuthill_mckee};
use crate::geometry::{DMat3, DVec3};
use rayon::prelude::*;
use std::sync::Arc;

/// Systems with fewer rows that can move go without.
pub const FEWEST_ROWS: usize = 3_000;
/// Nodes of one vertex.
const FEW: usize = 4;
/// One node for so many rows, within bounds: with more, their own system costs more than it saves.
const ROWS_A_NODE: usize = 200;
const NODE_COUNTS: [usize; 2] = [200, 750];
/// Rings between nodes at least; rings join vertices across an edge's two triangles as well.
const FEWEST_RINGS: u32 = 3;

/// The nodes of a pattern.
#[derive(Debug)]
struct Nodes {
    row_starts: Vec<u32>,
    columns: Vec<u32>,
    neighbours: Neighbours,
    count: usize,
    /// Nodes that act on each other are at most so far apart in number.
    band: usize,
    /// Nodes of every row, and their weights; unused places have weight 0.
    of_row: Vec<[(u32, f64); FEW]>,
    /// Rows of every node.
    starts: Vec<u32>,
    members: Vec<(u32, f64)>,
    images: Images,
}

/// Which nodes the product of a row with `P` meets.
#[derive(Debug, Default)]
struct Images {
    /// Where the nodes of each row begin; one more at the end.
    starts: Vec<u32>,
    nodes: Vec<u32>,
    /// For a row itself, then for each of its neighbours: where among the nodes of the row its own ones are; 0 for unused ones.
    places: Vec<[u32; FEW]>,
}

/// The correction of one solve, and memory.
#[derive(Clone, Debug, Default)]
pub struct Coarse {
    nodes: Option<Arc<Nodes>>,
    /// Lower half of the factor: row `i` holds columns `i - width ..= i`.
    factor: Vec<f64>,
    /// The product of the matrix with `P`.
    product: Vec<DMat3>,
    width: usize,
    /// One over the factor's diagonal; 0 for directions in which nothing can move.
    inverse: Vec<f64>,
    solution: Vec<f64>,
}

impl Coarse {
    /// Sums up the matrix on the nodes and factors it.
    pub fn prepare(&mut self, matrix: &BlockMatrix, pattern: &Pattern, freedom: &[Freedom]) {
        let is_known = |nodes: &Arc<Nodes>| nodes.row_starts == pattern.row_starts && nodes.columns == pattern.columns;
        if !self.nodes.as_ref().is_some_and(is_known) {
            self.nodes = Some(Arc::new(Nodes::new(pattern)));
        }
        let Some(nodes) = self.nodes.clone() else { return };
        self.width = 3 * nodes.band + 2;
        let size = 3 * nodes.count;
        self.factor.clear();
        self.factor.resize(size * (self.width + 1), 0.0);
        self.sum_up(&nodes, matrix, freedom);
        self.factorise(size);
    }

    /// The lower half of `P^T A P`: every row gathers its row of `A P`, then every node those of its rows.
    fn sum_up(&mut self, nodes: &Nodes, matrix: &BlockMatrix, freedom: &[Freedom]) {
        let Images { starts, nodes: image_nodes, .. } = &nodes.images;
        let image = |row: usize| starts[row] as usize..starts[row + 1] as usize;
        self.product.clear();
        self.product.resize(image_nodes.len(), DMat3::ZERO);
        let mut rest = self.product.as_mut_slice();
        let mut parts = Vec::new();
        for first in (0..freedom.len()).step_by(ROWS_PER_TASK) {
            let rows = first..(first + ROWS_PER_TASK).min(freedom.len());
            let (part, after) = rest.split_at_mut((starts[rows.end] - starts[rows.start]) as usize);
            parts.push((rows, part));
            rest = after;
        }
        parts.into_par_iter().for_each(|(rows, part)| {
            let begin = starts[rows.start] as usize;
            for row in rows.filter(|&row| freedom[row] != Freedom::Held) {
                let own = image(row);
                nodes.multiply_row(row, matrix, freedom, &mut part[own.start - begin..own.end - begin]);
            }
        });
        let (width, product) = (self.width, &self.product);
        self.factor.par_chunks_mut(3 * (width + 1)).enumerate().for_each(|(node, own)| {
            for &(row, weight) in &nodes.members[nodes.starts[node] as usize..nodes.starts[node + 1] as usize] {
                for at in image(row as usize).filter(|&at| image_nodes[at] as usize <= node) {
                    let (other, block) = (image_nodes[at] as usize, product[at] * weight);
                    for i in 0..3 {
                        for j in 0..if other == node { i + 1 } else { 3 } {
                            own[i * (width + 1) + width + 3 * other + j - (3 * node + i)] += block.col(j)[i];
                        }
                    }
                }
            }
        });
    }

    /// Cholesky's factor within the band; directions without a pivot are left out.
    fn factorise(&mut self, size: usize) {
        let stride = self.width + 1;
        self.inverse.clear();
        for row in 0..size {
            let first = row.saturating_sub(self.width);
            let whole = self.factor[row * stride + self.width];
            let (above, own) = self.factor.split_at_mut(row * stride);
            for column in first..row {
                let from = first.max(column.saturating_sub(self.width));
                let there = &above[column * stride + self.width + from - column..column * stride + self.width];
                let here = &own[self.width + from - row..self.width + column - row];
                let value = own[self.width + column - row] - dot(there, here);
                own[self.width + column - row] = value * self.inverse[column];
            }
            let tail = &own[self.width + first - row..self.width];
            let pivot = whole - dot(tail, tail);
            let usable = pivot > NO_PIVOT * whole && pivot.is_finite();
            self.inverse.push(if usable { 1.0 / pivot.sqrt() } else { 0.0 });
        }
    }

    /// Finds the motion of the nodes for a residual, which must be filtered; returns its product with the residual's sums.
    pub fn solve(&mut self, residual: &[DVec3]) -> f64 {
        let Some(nodes) = &self.nodes else { return 0.0 };
        let sums: Vec<DVec3> = (0..nodes.count)
            .into_par_iter()
            .with_min_len(16)
            .map(|node| {
                let members = &nodes.members[nodes.starts[node] as usize..nodes.starts[node + 1] as usize];
                members.iter().map(|&(row, weight)| residual[row as usize] * weight).sum()
            })
            .collect();
        self.solution.clear();
        self.solution.extend(sums.iter().flat_map(|sum| sum.to_array()));
        let (stride, size) = (self.width + 1, self.solution.len());
        for row in 0..size {
            let first = row.saturating_sub(self.width);
            let part = &self.factor[row * stride + self.width + first - row..row * stride + self.width];
            let known = dot(part, &self.solution[first..row]);
            self.solution[row] = (self.solution[row] - known) * self.inverse[row];
        }
        let product = self.solution.iter().map(|value| value * value).sum();
        for row in (0..size).rev() {
            let first = row.saturating_sub(self.width);
            let value = self.solution[row] * self.inverse[row];
            self.solution[row] = value;
            let part = &self.factor[row * stride + self.width + first - row..row * stride + self.width];
            for (below, factor) in self.solution[first..row].iter_mut().zip(part) {
                *below -= factor * value;
            }
        }
        product
    }

    /// The motion of a row, from the last solve.
    pub fn motion(&self, row: usize) -> DVec3 {
        let Some(nodes) = &self.nodes else { return DVec3::ZERO };
        let node = |node: usize| DVec3::from_slice(&self.solution[3 * node..3 * node + 3]);
        used(&nodes.of_row[row]).map(|(at, weight)| node(at) * weight).sum()
    }
}

/// Rows whose products one task gathers.
const ROWS_PER_TASK: usize = 512;
/// A pivot below this part of the diagonal counts as none.
const NO_PIVOT: f64 = 1e-11;

fn used(nodes: &[(u32, f64); FEW]) -> impl Iterator<Item = (usize, f64)> + Clone + '_ {
    nodes.iter().filter(|(_, weight)| *weight > 0.0).map(|&(node, weight)| (node as usize, weight))
}

fn filtered(left: Freedom, block: DMat3, right: Freedom) -> DMat3 {
    if (left, right) == (Freedom::Free, Freedom::Free) {
        return block;
    }
    let columns = |block: DMat3, freedom: Freedom| {
        DMat3::from_cols(freedom.filter(block.x_axis), freedom.filter(block.y_axis), freedom.filter(block.z_axis))
    };
    columns(columns(block, left).transpose(), right).transpose()
}

/// A dot product with four sums side by side, in a fixed order.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (a_parts, b_parts) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = a_parts.remainder().iter().zip(b_parts.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a_parts.zip(b_parts) {
        for k in 0..4 {
            sums[k] += a[k] * b[k];
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

impl Nodes {
    /// One row of `A P`.
    fn multiply_row(&self, row: usize, matrix: &BlockMatrix, freedom: &[Freedom], out: &mut [DMat3]) {
        // Before the links of a row come those of earlier rows and one place for each of these rows themselves.
        let mut places = self.images.places[self.neighbours.starts[row] as usize + row..].iter();
        let mut add = |at: usize, block: DMat3| {
            let Some(places) = places.next() else { return };
            for (&place, &(_, weight)) in places.iter().zip(&self.of_row[at]) {
                out[place as usize] += block * weight;
            }
        };
        add(row, filtered(freedom[row], matrix.diagonal[row], freedom[row]));
        for link in self.neighbours.of(row) {
            let column = link.row as usize;
            let upper = matrix.upper[link.block as usize];
            let block = if column > row { upper } else { upper.transpose() };
            add(column, filtered(freedom[row], block, freedom[column]));
        }
    }

    fn new(pattern: &Pattern) -> Self {
        let neighbours = Neighbours::new(pattern);
        let mut rings = FEWEST_RINGS;
        let mut seeds = neighbours.seeds(rings);
        let most = (pattern.row_count() / ROWS_A_NODE).clamp(NODE_COUNTS[0], NODE_COUNTS[1]);
        while seeds.len() > most {
            rings += 1;
            seeds = neighbours.seeds(rings);
        }
        let of_row = neighbours.weights(&seeds, rings + rings / 2 + 1);
        let (of_row, band) = in_narrow_order(of_row, seeds.len(), &neighbours);
        let mut starts = vec![0u32; seeds.len() + 1];
        for nodes in &of_row {
            used(nodes).for_each(|(node, _)| starts[node + 1] += 1);
        }
        for node in 0..seeds.len() {
            starts[node + 1] += starts[node];
        }
        let mut fill = starts.clone();
        let mut members = vec![(0, 0.0); starts[seeds.len()] as usize];
        for (row, nodes) in of_row.iter().enumerate() {
            for (node, weight) in used(nodes) {
                members[fill[node] as usize] = (row as u32, weight);
                fill[node] += 1;
            }
        }
        let (row_starts, columns) = (pattern.row_starts.clone(), pattern.columns.clone());
        let images = Images::new(&of_row, &neighbours);
        Self { row_starts, columns, neighbours, count: seeds.len(), band, of_row, starts, members, images }
    }
}

impl Images {
    fn new(of_row: &[[(u32, f64); FEW]], neighbours: &Neighbours) -> Self {
        let mut images = Self { starts: vec![0], ..Self::default() };
        let mut met: Vec<u32> = Vec::new();
        for row in 0..of_row.len() {
            let rows = || [row as u32].into_iter().chain(neighbours.of(row).iter().map(|link| link.row));
            met.clear();
            met.extend(rows().flat_map(|other| used(&of_row[other as usize])).map(|(node, _)| node as u32));
            met.sort_unstable();
            met.dedup();
            let place = |(node, _): (u32, f64)| met.binary_search(&node).map_or(0, |at| at as u32);
            images.places.extend(rows().map(|other| of_row[other as usize].map(place)));
            images.nodes.extend(&met);
            images.starts.push(images.nodes.len() as u32);
        }
        images
    }
}

/// Numbers nodes so that those that act on each other lie close; tells how far apart they are at most.
fn in_narrow_order(
    mut of_row: Vec<[(u32, f64); FEW]>,
    count: usize,
    neighbours: &Neighbours,
) -> (Vec<[(u32, f64); FEW]>, usize) {
    let mut pairs: Vec<[u32; 2]> = Vec::new();
    for (row, nodes) in of_row.iter().enumerate() {
        for other in neighbours.of(row).iter().map(|link| link.row).chain([row as u32]) {
            for (a, _) in used(nodes) {
                let there = used(&of_row[other as usize]).filter(|(b, _)| a < *b);
                pairs.extend(there.map(|(b, _)| [a as u32, b as u32]));
            }
        }
        if pairs.len() > 1_000_000 {
            pairs.sort_unstable();
            pairs.dedup();
        }
    }
    pairs.sort_unstable();
    pairs.dedup();
    let mut number = vec![0u32; count];
    for (place, node) in reverse_cuthill_mckee(count, &pairs).into_iter().enumerate() {
        number[node as usize] = place as u32;
    }
    for (node, _) in of_row.iter_mut().flatten() {
        *node = number[*node as usize];
    }
    let apart = |pair: &[u32; 2]| number[pair[0] as usize].abs_diff(number[pair[1] as usize]) as usize;
    (of_row, pairs.iter().map(apart).max().unwrap_or(0))
}

/// The rows that act on each row.
#[derive(Debug)]
struct Neighbours {
    starts: Vec<u32>,
    links: Vec<Link>,
}

/// A row that acts on another, and the block of the matrix by which it does.
#[derive(Clone, Copy, Debug, Default)]
struct Link {
    row: u32,
    block: u32,
}

impl Neighbours {
    fn new(pattern: &Pattern) -> Self {
        let count = pattern.row_count();
        let mut starts = vec![0u32; count + 1];
        let blocks = || {
            (0..count).flat_map(|row| {
                let range = pattern.row_starts[row] as usize..pattern.row_starts[row + 1] as usize;
                range.map(move |block| (row as u32, pattern.columns[block], block as u32))
            })
        };
        for (row, column, _) in blocks() {
            starts[row as usize + 1] += 1;
            starts[column as usize + 1] += 1;
        }
        for row in 0..count {
            starts[row + 1] += starts[row];
        }
        let mut fill = starts.clone();
        let mut links = vec![Link::default(); starts[count] as usize];
        for (row, column, block) in blocks() {
            for (from, to) in [(row, column), (column, row)] {
                links[fill[from as usize] as usize] = Link { row: to, block };
                fill[from as usize] += 1;
            }
        }
        Self { starts, links }
    }

    fn of(&self, row: usize) -> &[Link] {
        &self.links[self.starts[row] as usize..self.starts[row + 1] as usize]
    }

    /// Calls `visit` with every row within some rings of a row, and its distance.
    fn around(&self, seed: u32, rings: u32, seen: &mut Seen, mut visit: impl FnMut(u32, u32)) {
        seen.round += 1;
        seen.queue.clear();
        seen.queue.push((seed, 0));
        seen.at[seed as usize] = seen.round;
        let mut next = 0;
        while let Some(&(row, distance)) = seen.queue.get(next) {
            next += 1;
            visit(row, distance);
            if distance == rings {
                continue;
            }
            for other in self.of(row as usize).iter().map(|link| link.row) {
                if seen.at[other as usize] != seen.round {
                    seen.at[other as usize] = seen.round;
                    seen.queue.push((other, distance + 1));
                }
            }
        }
    }

    /// Rows with more than `rings` rings between them, such that every row is within so many of one.
    fn seeds(&self, rings: u32) -> Vec<u32> {
        let count = self.starts.len() - 1;
        let mut covered = vec![false; count];
        let mut seen = Seen::new(count);
        let mut seeds = Vec::new();
        for row in 0..count as u32 {
            if !covered[row as usize] {
                seeds.push(row);
                self.around(row, rings, &mut seen, |other, _| covered[other as usize] = true);
            }
        }
        seeds
    }

    /// The nearest nodes of every row, by hat functions that reach so many rings, adding up to one.
    fn weights(&self, seeds: &[u32], reach: u32) -> Vec<[(u32, f64); FEW]> {
        let count = self.starts.len() - 1;
        let mut nearest: Vec<[(u32, f64); FEW]> = vec![[(0, 0.0); FEW]; count];
        let mut seen = Seen::new(count);
        for (node, &seed) in seeds.iter().enumerate() {
            self.around(seed, reach, &mut seen, |row, distance| {
                let weight = 1.0 - f64::from(distance) / f64::from(reach + 1);
                let own = &mut nearest[row as usize];
                let weakest = (0..FEW).min_by(|&a, &b| own[a].1.total_cmp(&own[b].1)).unwrap_or(0);
                if weight > own[weakest].1 {
                    own[weakest] = (node as u32, weight);
                }
            });
        }
        for own in &mut nearest {
            let total: f64 = own.iter().map(|(_, weight)| weight).sum();
            own.iter_mut().for_each(|(_, weight)| *weight /= total);
        }
        nearest
    }
}

/// Which rows a search has seen.
struct Seen {
    at: Vec<u32>,
    round: u32,
    queue: Vec<(u32, u32)>,
}

impl Seen {
    fn new(count: usize) -> Self {
        Self { at: vec![0; count], round: 0, queue: Vec::new() }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::dynamics::conjugate_gradients::{Correction, Limits, SolverMemory, solve};
    use crate::geometry::{DVec2, Topology};
    use crate::scene::sheet::{Diagonals, sheet};

    /// A sheet's graph Laplacian with a small mass, stiffer along one axis, and a row of held vertices.
    pub fn system(cells: usize) -> (Pattern, BlockMatrix, Vec<Freedom>) {
        let (mesh, _) = sheet(DVec2::ONE, cells, cells, Diagonals::Alternating);
        let topology = Topology::new(mesh.positions.len(), &mesh.triangles).unwrap();
        let pattern = Pattern::new(&topology, &[], &[]);
        let mut matrix = BlockMatrix::default();
        matrix.reshape(&pattern);
        let stiffness = DMat3::from_diagonal(DVec3::new(1.0, 0.3, 0.05));
        for row in 0..pattern.row_count() {
            matrix.diagonal[row] += DMat3::IDENTITY * 1e-5;
            for at in pattern.row_starts[row] as usize..pattern.row_starts[row + 1] as usize {
                matrix.upper[at] = -stiffness;
                matrix.diagonal[row] += stiffness;
                matrix.diagonal[pattern.columns[at] as usize] += stiffness;
            }
        }
        let freedom = pattern.vertex_of.iter().map(|&vertex| match vertex {
            0..=20 => Freedom::Held,
            30 => Freedom::Plane(DVec3::new(0.6, 0.8, 0.0)),
            _ => Freedom::Free,
        });
        let freedom = freedom.collect();
        (pattern, matrix, freedom)
    }

    #[test]
    fn weights_add_up_to_one_and_nodes_cover_everything() {
        let (pattern, ..) = system(40);
        let nodes = Nodes::new(&pattern);
        assert!(nodes.count > 10 && nodes.count < 400, "{}", nodes.count);
        for own in &nodes.of_row {
            assert!((own.iter().map(|(_, weight)| weight).sum::<f64>() - 1.0).abs() < 1e-12);
        }
        assert!((0..nodes.count).all(|node| nodes.starts[node] < nodes.starts[node + 1]));
    }

    /// The motion of the nodes fulfils `P^T A P y = P^T r`.
    #[test]
    fn the_coarse_system_is_solved() {
        let (pattern, mut matrix, freedom) = system(24);
        let mut coarse = Coarse::default();
        coarse.prepare(&matrix, &pattern, &freedom);
        let number = |seed: usize| ((seed * 2_654_435_761) % 1000) as f64 / 500.0 - 1.0;
        let residual: Vec<DVec3> = (0..pattern.row_count())
            .map(|row| freedom[row].filter(DVec3::new(number(row), number(row + 7), number(row + 13))))
            .collect();
        let product = coarse.solve(&residual);
        let motion: Vec<DVec3> = (0..pattern.row_count()).map(|row| freedom[row].filter(coarse.motion(row))).collect();
        let mut image = vec![DVec3::ZERO; motion.len()];
        matrix.multiply(&pattern, &motion, &mut image);
        let left: Vec<DVec3> = (0..motion.len()).map(|row| residual[row] - freedom[row].filter(image[row])).collect();
        let dot: f64 = residual.iter().zip(&motion).map(|(a, b)| a.dot(*b)).sum();
        assert!((product / dot - 1.0).abs() < 1e-9 && product > 0.0);
        let nodes = coarse.nodes.clone().unwrap();
        for node in 0..nodes.count {
            let members = &nodes.members[nodes.starts[node] as usize..nodes.starts[node + 1] as usize];
            let sum: DVec3 = members.iter().map(|&(row, weight)| left[row as usize] * weight).sum();
            assert!(sum.length() < 1e-9, "{node} {sum}");
        }
    }

    #[test]
    fn with_it_the_same_solution_is_found_in_a_third_of_the_iterations() {
        let (pattern, mut matrix, freedom) = system(80);
        let count = pattern.row_count();
        let right: Vec<DVec3> = (0..count).map(|row| DVec3::new(1.0, (row % 7) as f64, -2.0)).collect();
        let mut by = |correction| {
            let mut x = vec![DVec3::ZERO; count];
            let limits = Limits { tolerance: 1e-9, usual: &[], iterations: 3000, correction };
            let done = solve(&mut matrix, &pattern, &right, &freedom, &mut x, limits, &mut SolverMemory::default());
            (x, done.iterations)
        };
        let (plain, many) = by(Correction::None);
        let (corrected, few) = by(Correction::Coarse);
        let largest = plain.iter().map(|value| value.length()).fold(0.0, f64::max);
        assert!(plain.iter().zip(&corrected).all(|(a, b)| (*a - *b).length() < 1e-6 * largest));
        assert!(3 * few < many, "{many} {few}");
    }
}
