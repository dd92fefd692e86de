//! Which pairs of vertices act on each other: the fixed sparsity of every linear system of cloth dynamics.
//!
//! Rows are numbered by reverse Cuthill-McKee, so that neighbours in the cloth are neighbours in memory whatever order a
//! file lists its vertices in. Only blocks right of the diagonal are kept. For every block there is a list of the
//! elements that add to it, so that a matrix is gathered in parallel in a fixed order.
//!
//! Guarantees: depends on the connectivity alone.

use crate::geometry::{Topology, VertexId};
use crate::model::{Hinge, Stitch};

/// See the module's text.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// Row of every vertex.
    pub row_of: Vec<u32>,
    /// Vertex of every row.
    pub vertex_of: Vec<u32>,
    /// The connected piece of every row, counted from 0.
    pub pieces: Vec<u32>,
    /// For every row, where its blocks begin in `columns`; one more entry at the end.
    pub row_starts: Vec<u32>,
    /// Columns right of the diagonal, increasing within a row.
    pub columns: Vec<u32>,
    /// Triangle contributions to every slot; see [`Gather`].
    pub triangles: Gather,
    /// Hinge contributions to every slot.
    pub hinges: Gather,
    /// Edge contributions to every slot.
    pub edges: Gather,
    /// Edges in groups without a common vertex; the last groups hold one edge each where a vertex has very many.
    pub spring_colours: Vec<Vec<u32>>,
    /// Stitch contributions to every slot.
    pub stitches: Gather,
}

/// For every slot the elements that add to it. Slots are the rows' diagonals, then the blocks in the order of `columns`.
#[derive(Clone, Debug)]
pub struct Gather {
    starts: Vec<u32>,
    items: Vec<Contribution>,
}

/// Corner `row` against corner `column` of an element.
#[derive(Clone, Copy, Debug)]
pub struct Contribution {
    /// Triangle or hinge.
    pub element: u32,
    /// Its corner that belongs to the slot's row.
    pub row: u8,
    /// Its corner that belongs to the slot's column.
    pub column: u8,
}

impl Gather {
    /// What adds to a slot, in element order.
    pub fn at(&self, slot: usize) -> &[Contribution] {
        &self.items[self.starts[slot] as usize..self.starts[slot + 1] as usize]
    }
}

impl Pattern {
    /// Derives the pattern.
    pub fn new(topology: &Topology, hinges: &[Hinge], stitches: &[Stitch]) -> Self {
        let vertex_count = topology.vertex_count();
        let mut pairs: Vec<[u32; 2]> = topology.edges().iter().map(|edge| edge.map(|vertex| vertex.0)).collect();
        pairs.extend(hinges.iter().map(|hinge| [hinge.vertices[0].0, hinge.vertices[1].0]));
        for stitch in stitches {
            let [vertex, a, b] = stitch.vertices.map(|vertex| vertex.0);
            pairs.extend([[vertex, a], [vertex, b], [a, b]]);
        }
        pairs.retain(|[a, b]| a != b);
        let vertex_of = reverse_cuthill_mckee(vertex_count, &pairs);
        let mut row_of = vec![0u32; vertex_count];
        for (row, &vertex) in vertex_of.iter().enumerate() {
            row_of[vertex as usize] = row as u32;
        }
        let sorted = |a: u32, b: u32| {
            let (a, b) = (row_of[a as usize], row_of[b as usize]);
            (a.min(b), a.max(b))
        };
        let mut blocks: Vec<(u32, u32)> = pairs.iter().map(|&[a, b]| sorted(a, b)).collect();
        blocks.sort_unstable();
        blocks.dedup();
        let mut row_starts = vec![0u32; vertex_count + 1];
        for &(row, _) in &blocks {
            row_starts[row as usize + 1] += 1;
        }
        for row in 0..vertex_count {
            row_starts[row + 1] += row_starts[row];
        }
        let columns = blocks.iter().map(|block| block.1).collect();
        let pieces = connected_pieces(vertex_count, &blocks);
        let mut pattern = Self {
            row_of,
            vertex_of,
            pieces,
            row_starts,
            columns,
            triangles: Gather { starts: Vec::new(), items: Vec::new() },
            hinges: Gather { starts: Vec::new(), items: Vec::new() },
            edges: Gather { starts: Vec::new(), items: Vec::new() },
            spring_colours: colour_edges(topology),
            stitches: Gather { starts: Vec::new(), items: Vec::new() },
        };
        pattern.triangles = pattern.gather(topology.triangles().iter().copied());
        pattern.hinges = pattern.gather(hinges.iter().map(|hinge| hinge.vertices));
        pattern.edges = pattern.gather(topology.edges().iter().copied());
        pattern.stitches = pattern.gather(stitches.iter().map(|stitch| stitch.vertices));
        pattern
    }

    /// Number of rows.
    pub fn row_count(&self) -> usize {
        self.vertex_of.len()
    }

    /// The row of a vertex.
    pub fn row(&self, vertex: VertexId) -> usize {
        self.row_of[vertex.index()] as usize
    }

    /// The slot of a pair of vertices, and whether the first one is its row.
    fn slot(&self, a: VertexId, b: VertexId) -> (usize, Side) {
        let (row_a, row_b) = (self.row(a), self.row(b));
        if row_a == row_b {
            return (row_a, Side::FirstIsRow);
        }
        let (row, column) = (row_a.min(row_b), row_a.max(row_b));
        let range = self.row_starts[row] as usize..self.row_starts[row + 1] as usize;
        let at = self.columns[range.clone()].binary_search(&(column as u32)).expect("the pattern holds all pairs");
        (self.row_count() + range.start + at, if row_a < row_b { Side::FirstIsRow } else { Side::SecondIsRow })
    }

    /// Where [`Pattern::columns`] holds the block of two different vertices that act on each other.
    pub fn upper(&self, a: VertexId, b: VertexId) -> usize {
        self.slot(a, b).0 - self.row_count()
    }

    /// Lists the elements by slot; a counting sort keeps them in element order.
    fn gather<const N: usize>(&self, elements: impl Iterator<Item = [VertexId; N]>) -> Gather {
        let mut found: Vec<(u32, Contribution)> = Vec::new();
        for (element, corners) in elements.enumerate() {
            for first in 0..N {
                for second in first..N {
                    let (slot, side) = self.slot(corners[first], corners[second]);
                    let (row, column) = if side == Side::FirstIsRow { (first, second) } else { (second, first) };
                    let item = Contribution { element: element as u32, row: row as u8, column: column as u8 };
                    found.push((slot as u32, item));
                }
            }
        }
        let mut starts = vec![0u32; self.row_count() + self.columns.len() + 1];
        for (slot, _) in &found {
            starts[*slot as usize + 1] += 1;
        }
        for slot in 1..starts.len() {
            starts[slot] += starts[slot - 1];
        }
        let mut fill = starts.clone();
        let mut items = vec![Contribution { element: 0, row: 0, column: 0 }; found.len()];
        for (slot, item) in found {
            items[fill[slot as usize] as usize] = item;
            fill[slot as usize] += 1;
        }
        Gather { starts, items }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Side {
    FirstIsRow,
    SecondIsRow,
}

/// The connected piece of every row, in the order of their first rows.
fn connected_pieces(row_count: usize, blocks: &[(u32, u32)]) -> Vec<u32> {
    let mut parent: Vec<u32> = (0..row_count as u32).collect();
    fn root(parent: &mut [u32], mut at: u32) -> u32 {
        while parent[at as usize] != at {
            parent[at as usize] = parent[parent[at as usize] as usize];
            at = parent[at as usize];
        }
        at
    }
    for &(a, b) in blocks {
        let (a, b) = (root(&mut parent, a), root(&mut parent, b));
        parent[a.max(b) as usize] = a.min(b);
    }
    let mut count = 0;
    let mut pieces = vec![0; row_count];
    for row in 0..row_count as u32 {
        let first = root(&mut parent, row);
        if first == row {
            pieces[row as usize] = count;
            count += 1;
        } else {
            pieces[row as usize] = pieces[first as usize];
        }
    }
    pieces
}

/// Greedy colouring of the edges, in the order of the edges.
fn colour_edges(topology: &Topology) -> Vec<Vec<u32>> {
    let mut taken = vec![0u128; topology.vertex_count()];
    let mut colours: Vec<Vec<u32>> = Vec::new();
    let mut alone = Vec::new();
    for (edge, [a, b]) in topology.edges().iter().enumerate() {
        let colour = (taken[a.index()] | taken[b.index()]).trailing_ones() as usize;
        if colour == 128 {
            alone.push(vec![edge as u32]);
            continue;
        }
        if colour >= colours.len() {
            colours.resize_with(colour + 1, Vec::new);
        }
        colours[colour].push(edge as u32);
        taken[a.index()] |= 1 << colour;
        taken[b.index()] |= 1 << colour;
    }
    colours.extend(alone);
    colours
}

/// Vertices in an order that keeps joined ones close: breadth first from a vertex of low degree, neighbours by degree,
/// then reversed.
pub(super) fn reverse_cuthill_mckee(vertex_count: usize, pairs: &[[u32; 2]]) -> Vec<u32> {
    let mut starts = vec![0u32; vertex_count + 1];
    for &vertex in pairs.iter().flatten() {
        starts[vertex as usize + 1] += 1;
    }
    for vertex in 0..vertex_count {
        starts[vertex + 1] += starts[vertex];
    }
    let mut fill = starts.clone();
    let mut neighbours = vec![0u32; 2 * pairs.len()];
    for &[a, b] in pairs {
        for (from, to) in [(a, b), (b, a)] {
            neighbours[fill[from as usize] as usize] = to;
            fill[from as usize] += 1;
        }
    }
    let degree = |vertex: u32| starts[vertex as usize + 1] - starts[vertex as usize];
    let mut seeds: Vec<u32> = (0..vertex_count as u32).collect();
    seeds.sort_unstable_by_key(|&vertex| (degree(vertex), vertex));
    let mut seen = vec![false; vertex_count];
    let mut order: Vec<u32> = Vec::with_capacity(vertex_count);
    let mut ring = Vec::new();
    for seed in seeds {
        if seen[seed as usize] {
            continue;
        }
        seen[seed as usize] = true;
        let mut next = order.len();
        order.push(seed);
        while next < order.len() {
            let vertex = order[next] as usize;
            next += 1;
            ring.clear();
            for &neighbour in &neighbours[starts[vertex] as usize..starts[vertex + 1] as usize] {
                if !seen[neighbour as usize] {
                    seen[neighbour as usize] = true;
                    ring.push(neighbour);
                }
            }
            ring.sort_unstable_by_key(|&vertex| (degree(vertex), vertex));
            order.extend_from_slice(&ring);
        }
    }
    order.reverse();
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strip_listed_in_any_order_gets_a_narrow_band() {
        let scrambled = |vertex: u32| (vertex * 37) % 101;
        let triangles: Vec<[u32; 3]> = (0..99).map(|i| [i, i + 1, i + 2].map(scrambled)).collect();
        let topology = Topology::new(101, &triangles).unwrap();
        let pattern = Pattern::new(&topology, &[], &[]);
        for row in 0..101 {
            let range = pattern.row_starts[row] as usize..pattern.row_starts[row + 1] as usize;
            assert!(pattern.columns[range].iter().all(|&column| column as usize > row && column as usize <= row + 4));
        }
        assert_eq!(pattern.columns.len(), topology.edge_count());
        let total: usize = (0..101 + topology.edge_count()).map(|slot| pattern.triangles.at(slot).len()).sum();
        assert_eq!(total, 99 * 6);
    }
}
