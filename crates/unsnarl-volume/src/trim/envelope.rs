//! Which triangles stay, and the repairs that make their border a set of simple curves.
//!
//! A node is enveloped when it lies inside and at least a share of each of its edges does; triangles at enveloped nodes
//! stay. Then, as for tetrahedra (Bridson 2003, 5.4, one dimension down): nodes where the border is not simple, and of
//! every inner edge between two border nodes the one that lies deeper, are enveloped too, until there are none.
//! Where a border of the input is one of the two, enveloping would creep along it, and the edge is split instead.

use super::Sided;
use super::surface::{Foot, Surface};
use rayon::prelude::*;
use unsnarl_geometry::{DVec3, EdgeId, Topology, TriangleId, VertexId};

/// Passes in which inner edges between border nodes are mended by enveloping; splits take care of the rest.
const ENVELOPING_PASSES: usize = 8;
/// Steps of the bisection that finds a crossing on an edge: a thousandth of it.
const BISECTIONS: usize = 10;

/// What stays.
pub(super) struct Selection {
    /// For each triangle.
    pub kept: Vec<bool>,
    /// Vertices inside the level set.
    pub inside: usize,
    /// Nodes enveloped by the rule.
    pub enveloped: usize,
    /// Nodes enveloped to mend the border.
    pub mended: usize,
    /// Passes that found something to mend.
    pub passes: usize,
    /// For each vertex whether it is enveloped.
    pub is_enveloped: Vec<bool>,
}

impl Selection {
    /// The enveloped neighbours of a vertex that lie less than half an edge inside, or the one that lies least inside.
    pub fn shallow_around(&self, surface: &Surface<'_>, psi: &Sided<'_>, vertex: VertexId) -> Vec<VertexId> {
        let place = |vertex: VertexId| surface.positions[vertex.index()];
        let mut ring: Vec<(f64, VertexId)> = (surface.topology.ring(vertex))
            .filter(|other| self.is_enveloped[other.index()])
            .map(|other| (-psi.value(place(other)) / place(other).distance(place(vertex)), other))
            .collect();
        ring.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let shallow = ring.iter().take_while(|(depth, _)| *depth < SHALLOW).count().max(1);
        ring.into_iter().take(shallow).map(|(_, other)| other).collect()
    }
}

/// Depths below this share of an edge are shallow.
const SHALLOW: f64 = 0.5;

/// Which triangles stay. `dropped` vertices are not enveloped unless the border needs them.
pub(super) fn select(
    topology: &Topology,
    positions: &[DVec3],
    psi: &Sided<'_>,
    share: f64,
    dropped: &[bool],
) -> Selection {
    let values: Vec<f64> = positions.par_iter().with_min_len(1024).map(|&position| psi.value(position)).collect();
    let mut enveloped = envelop(topology, positions, psi, &values, share);
    enveloped.iter_mut().zip(dropped).for_each(|(enveloped, dropped)| *enveloped &= !dropped);
    let mut selection = Selection {
        kept: vec![false; topology.triangle_count()],
        inside: values.iter().filter(|&&value| value < 0.0).count(),
        enveloped: enveloped.iter().filter(|&&is| is).count(),
        mended: 0,
        passes: 0,
        is_enveloped: Vec::new(),
    };
    for vertex in (0..enveloped.len()).filter(|&vertex| enveloped[vertex]) {
        keep_star(topology, VertexId::new(vertex), &mut selection.kept);
    }
    loop {
        let border = Border::of(topology, &selection.kept);
        let mut more: Vec<VertexId> = (0..positions.len())
            .map(VertexId::new)
            .filter(|&vertex| border.is_tangled(topology, vertex) && !enveloped[vertex.index()])
            .collect();
        if selection.passes < ENVELOPING_PASSES {
            let deeper = |[a, b]: [VertexId; 2]| if values[b.index()] < values[a.index()] { b } else { a };
            let chords = border.chords(topology).map(|edge| topology.edge(edge));
            more.extend(chords.filter(|ends| ends.iter().all(|&end| border.is_new(end))).map(deeper));
            more.retain(|vertex| !enveloped[vertex.index()]);
        }
        if more.is_empty() {
            break;
        }
        selection.passes += 1;
        for vertex in more {
            selection.mended += usize::from(!std::mem::replace(&mut enveloped[vertex.index()], true));
            keep_star(topology, vertex, &mut selection.kept);
        }
    }
    selection.is_enveloped = enveloped;
    selection
}

fn keep_star(topology: &Topology, vertex: VertexId, kept: &mut [bool]) {
    topology.vertex_triangles(vertex).iter().for_each(|triangle| kept[triangle.index()] = true);
}

/// The nodes inside with at least a share of each edge inside.
fn envelop(topology: &Topology, positions: &[DVec3], psi: &Sided<'_>, values: &[f64], share: f64) -> Vec<bool> {
    let too_short: Vec<Option<VertexId>> = topology
        .edges()
        .par_iter()
        .with_min_len(1024)
        .map(|&[a, b]| {
            let (inner, outer) = match (values[a.index()] < 0.0, values[b.index()] < 0.0) {
                (true, false) => (a, b),
                (false, true) => (b, a),
                _ => return None,
            };
            let (from, to) = (positions[inner.index()], positions[outer.index()]);
            let (mut low, mut high) = (0.0, 1.0);
            for _ in 0..BISECTIONS {
                let middle = 0.5 * (low + high);
                if psi.value(from + (to - from) * middle) < 0.0 { low = middle } else { high = middle }
            }
            (0.5 * (low + high) < share).then_some(inner)
        })
        .collect();
    let mut enveloped: Vec<bool> = values.iter().map(|&value| value < 0.0).collect();
    too_short.into_iter().flatten().for_each(|vertex| enveloped[vertex.index()] = false);
    enveloped
}

/// The border of the triangles that stay.
pub(super) struct Border {
    /// Kept triangles of every edge.
    counts: Vec<u8>,
    /// Border edges of every vertex.
    degrees: Vec<u8>,
    /// Whether one of them is not a border of the input.
    is_new: Vec<bool>,
}

impl Border {
    pub fn of(topology: &Topology, kept: &[bool]) -> Self {
        let count = |edge: usize| {
            let around = topology.edge_triangles(EdgeId::new(edge)).iter();
            around.filter(|triangle| kept[triangle.index()]).count().min(255) as u8
        };
        let counts: Vec<u8> = (0..topology.edge_count()).map(count).collect();
        let mut border =
            Self { counts, degrees: vec![0; topology.vertex_count()], is_new: vec![false; topology.vertex_count()] };
        for edge in (0..topology.edge_count()).map(EdgeId::new).filter(|edge| border.counts[edge.index()] == 1) {
            let is_new = topology.edge_triangles(edge).len() > 1;
            for vertex in topology.edge(edge) {
                border.degrees[vertex.index()] = border.degrees[vertex.index()].saturating_add(1);
                border.is_new[vertex.index()] |= is_new;
            }
        }
        border
    }

    /// Whether a vertex has a border edge that is not one of the input.
    pub fn is_new(&self, vertex: VertexId) -> bool {
        self.is_new[vertex.index()]
    }

    /// Whether the new border meets itself or an old one more than once in a vertex.
    fn is_tangled(&self, topology: &Topology, vertex: VertexId) -> bool {
        let before = topology.vertex_edges(vertex).iter().filter(|&&edge| topology.is_boundary(edge)).count();
        self.degrees[vertex.index()] > 2 && self.is_new(vertex) && before <= 2
    }

    /// Inner edges between two border vertices, one of them new.
    pub fn chords<'a>(&'a self, topology: &'a Topology) -> impl Iterator<Item = EdgeId> + 'a {
        (0..topology.edge_count()).map(EdgeId::new).filter(|&edge| {
            let [a, b] = topology.edge(edge);
            self.counts[edge.index()] > 1
                && self.degrees[a.index()] > 0
                && self.degrees[b.index()] > 0
                && (self.is_new(a) || self.is_new(b))
        })
    }
}

/// The triangles that stay, numbered anew, chords split.
pub(super) struct Patch {
    pub triangles: Vec<[u32; 3]>,
    pub feet: Vec<Foot>,
    pub origin: Vec<Option<u32>>,
    pub split_edges: usize,
}

impl Patch {
    pub fn new(surface: &Surface<'_>, selection: &Selection) -> Self {
        let topology = surface.topology;
        let border = Border::of(topology, &selection.kept);
        let mut numbers = vec![u32::MAX; topology.vertex_count()];
        let mut patch = Self { triangles: Vec::new(), feet: Vec::new(), origin: Vec::new(), split_edges: 0 };
        let kept = || (0..topology.triangle_count()).map(TriangleId::new).filter(|t| selection.kept[t.index()]);
        for corner in kept().flat_map(|triangle| topology.triangle(triangle)) {
            numbers[corner.index()] = 0;
        }
        for vertex in 0..numbers.len() {
            if numbers[vertex] == 0 {
                numbers[vertex] = patch.feet.len() as u32;
                let triangle = surface.triangle_at(VertexId::new(vertex));
                patch.feet.push(Foot { position: surface.positions[vertex], triangle });
                patch.origin.push(Some(vertex as u32));
            }
        }
        let mut middles = vec![u32::MAX; topology.edge_count()];
        for edge in border.chords(topology) {
            let [a, b] = topology.edge(edge).map(|vertex| surface.positions[vertex.index()]);
            middles[edge.index()] = patch.feet.len() as u32;
            patch.feet.push(Foot { position: 0.5 * (a + b), triangle: topology.edge_triangles(edge)[0] });
            patch.origin.push(None);
            patch.split_edges += 1;
        }
        for triangle in kept() {
            let corners = topology.triangle(triangle).map(|corner| numbers[corner.index()]);
            let middle = |at: usize| {
                let number = middles[topology.triangle_edges(triangle)[at].index()];
                (number != u32::MAX).then_some(number)
            };
            split(corners, [middle(0), middle(1), middle(2)], &mut patch.triangles);
        }
        patch
    }
}

/// A triangle with some of its edges split: edge `k` joins corner `k` to corner `k + 1`.
fn split([a, b, c]: [u32; 3], middles: [Option<u32>; 3], out: &mut Vec<[u32; 3]>) {
    match middles {
        [None, None, None] => out.push([a, b, c]),
        [Some(ab), None, None] => out.extend([[a, ab, c], [ab, b, c]]),
        [Some(ab), Some(bc), None] => out.extend([[ab, b, bc], [a, ab, bc], [a, bc, c]]),
        [Some(ab), Some(bc), Some(ca)] => out.extend([[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]),
        // Turned until the first edge is split and, of two, the second.
        [None, _, _] => split([b, c, a], [middles[1], middles[2], middles[0]], out),
        [Some(_), None, Some(_)] => split([c, a, b], [middles[2], middles[0], middles[1]], out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_triangle_covers_the_same_area_in_the_same_direction() {
        let place = [[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]];
        let area = |t: &[u32; 3]| {
            let [a, b, c] = t.map(|node| place[node as usize]);
            0.5 * ((b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1]))
        };
        for case in 0..8_u32 {
            let middle = |at: u32| (case >> at & 1 == 1).then_some(3 + at);
            let mut out = Vec::new();
            split([0, 1, 2], [middle(0), middle(1), middle(2)], &mut out);
            assert_eq!(out.len(), 1 + case.count_ones() as usize);
            assert!(out.iter().all(|t| area(t) > 0.0), "case {case}: {out:?}");
            assert!((out.iter().map(area).sum::<f64>() - 8.0).abs() < 1e-12);
        }
    }
}
