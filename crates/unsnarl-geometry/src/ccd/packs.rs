//! Vertices and edges of a mesh in packs, beside the leaves of a tree over its triangles.
//!
//! A leaf of eight triangles owns about twelve edges and four vertices: one pack of sixteen edges and one of eight vertices
//! hold them nearly always, and their boxes are tested together.

use crate::bvh::small_box::{LANES, Leaf, RoundedPoint, SmallBox};
use fearless_simd::{f32x8, f32x16, prelude::*, u32x16};
use rayon::prelude::*;

/// Packs that one task fills or fits at least.
const PER_TASK: usize = 256;
/// How many edges a pack holds: the lanes of one vector.
pub(super) const EDGE_LANES: usize = 16;
/// In place of a vertex or an edge, where a pack holds fewer.
const NOTHING: u32 = u32::MAX;

/// An element and its vertices, some of them more than once.
pub(super) type Labelled = (u32, [u32; 3]);

/// Some elements whose boxes are tested together.
pub(super) trait Pack: Send + Sync {
    /// How many it holds at most.
    const LANES: usize;
    /// A pack of some elements, without boxes yet.
    fn of(elements: &[Labelled]) -> Self;
    /// Whether no other element fits in.
    fn is_full(&self) -> bool;
    /// Gives every element its box and returns the box around all.
    fn refit(&mut self, points: &[RoundedPoint]) -> SmallBox;
}

/// Packs of one kind: the first of every leaf, and those that do not fit into it.
#[derive(Clone, Debug)]
pub(super) struct Packs<P> {
    /// The packs, the first of every leaf and then more.
    packs: Vec<P>,
    /// The box around each.
    boxes: Vec<SmallBox>,
    /// For leaves with more: where their further packs begin, and how many there are. Sorted by leaf.
    more: Vec<(u32, u32, u32)>,
    leaf_count: usize,
}

impl<P: Pack> Packs<P> {
    /// The elements that the triangles of each leaf own.
    pub(super) fn of(leaves: &[Leaf], push_owned: impl Fn(usize, &mut Vec<Labelled>) + Sync) -> Self {
        let gather = |owned: &mut Vec<Labelled>, leaf: &Leaf| {
            owned.clear();
            leaf.items().for_each(|(_, item)| push_owned(item, owned));
        };
        let first = |owned: &mut Vec<Labelled>, leaf: &Leaf| {
            gather(owned, leaf);
            P::of(&owned[..owned.len().min(P::LANES)])
        };
        let further = |owned: &mut Vec<Labelled>, leaf: &Leaf| {
            gather(owned, leaf);
            owned.len().saturating_sub(1) / P::LANES
        };
        // Room for all at once: a vector that grows is there twice for a while, and packs are the largest part of a
        // tree.
        let tasks = || leaves.par_iter().with_min_len(PER_TASK);
        let mut packs: Vec<P> = Vec::with_capacity(leaves.len() + tasks().map_init(Vec::new, further).sum::<usize>());
        tasks().map_init(Vec::new, first).collect_into_vec(&mut packs);
        let (mut more, mut owned) = (Vec::new(), Vec::new());
        for leaf in 0..leaves.len() {
            if !packs[leaf].is_full() {
                continue;
            }
            gather(&mut owned, &leaves[leaf]);
            if owned.len() > P::LANES {
                let start = packs.len();
                packs.extend(owned[P::LANES..].chunks(P::LANES).map(P::of));
                more.push((leaf as u32, start as u32, (packs.len() - start) as u32));
            }
        }
        Self { packs, boxes: Vec::new(), more, leaf_count: leaves.len() }
    }

    /// Fits all packs to moved points.
    pub(super) fn refit(&mut self, points: &[RoundedPoint]) {
        let fit = |pack: &mut P| pack.refit(points);
        self.packs.par_iter_mut().with_min_len(PER_TASK).map(fit).collect_into_vec(&mut self.boxes);
    }

    /// The packs of a leaf, by number.
    #[inline(always)]
    pub(super) fn of_leaf(&self, leaf: usize) -> impl Iterator<Item = usize> + Clone + use<P> {
        let further = match self.more.binary_search_by_key(&(leaf as u32), |row| row.0) {
            Ok(at) => self.more[at].1..self.more[at].1 + self.more[at].2,
            Err(_) => 0..0,
        };
        debug_assert!(leaf < self.leaf_count);
        std::iter::once(leaf).chain(further.start as usize..further.end as usize)
    }

    /// A pack and the box around it.
    #[inline(always)]
    pub(super) fn get(&self, pack: usize) -> (&P, &SmallBox) {
        (&self.packs[pack], &self.boxes[pack])
    }
}

/// Up to eight vertices and their boxes, coordinate by coordinate.
#[derive(Clone, Debug)]
#[repr(align(32))]
pub(super) struct VertexPack {
    min: [[f32; LANES]; 3],
    max: [[f32; LANES]; 3],
    vertices: [u32; LANES],
}

impl Pack for VertexPack {
    const LANES: usize = LANES;

    fn of(elements: &[Labelled]) -> Self {
        let mut pack =
            Self { min: [[f32::INFINITY; LANES]; 3], max: [[f32::NEG_INFINITY; LANES]; 3], vertices: [NOTHING; LANES] };
        for (slot, &(vertex, _)) in pack.vertices.iter_mut().zip(elements) {
            *slot = vertex;
        }
        pack
    }

    fn is_full(&self) -> bool {
        self.vertices[LANES - 1] != NOTHING
    }

    fn refit(&mut self, points: &[RoundedPoint]) -> SmallBox {
        let mut around = SmallBox::EMPTY;
        for lane in 0..LANES {
            if self.vertices[lane] == NOTHING {
                break;
            }
            let bounds = RoundedPoint::bounds(points, self.vertices[lane]);
            around = around.union(bounds);
            for axis in 0..3 {
                self.min[axis][lane] = bounds.min[axis];
                self.max[axis][lane] = bounds.max[axis];
            }
        }
        around
    }
}

impl VertexPack {
    #[inline(always)]
    pub(super) fn vertex(&self, lane: usize) -> u32 {
        self.vertices[lane]
    }

    #[inline(always)]
    pub(super) fn lane(&self, lane: usize) -> SmallBox {
        SmallBox { min: self.min.map(|row| row[lane]), max: self.max.map(|row| row[lane]) }
    }

    /// One bit for every lane whose box meets a box.
    #[inline(always)]
    pub(super) fn meeting<S: Simd>(&self, simd: S, bounds: &SmallBox) -> u32 {
        let below =
            |axis: usize| f32x8::from_slice(simd, &self.min[axis]).simd_le(f32x8::splat(simd, bounds.max[axis]));
        let above =
            |axis: usize| f32x8::from_slice(simd, &self.max[axis]).simd_ge(f32x8::splat(simd, bounds.min[axis]));
        (below(0) & above(0) & below(1) & above(1) & below(2) & above(2)).to_bitmask() as u32
    }
}

/// Up to sixteen edges and their boxes, coordinate by coordinate.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct EdgePack {
    min: [[f32; EDGE_LANES]; 3],
    max: [[f32; EDGE_LANES]; 3],
    ends: [[u32; EDGE_LANES]; 2],
    edges: [u32; EDGE_LANES],
}

impl Pack for EdgePack {
    const LANES: usize = EDGE_LANES;

    fn of(elements: &[Labelled]) -> Self {
        let mut pack = Self {
            min: [[f32::INFINITY; EDGE_LANES]; 3],
            max: [[f32::NEG_INFINITY; EDGE_LANES]; 3],
            ends: [[0; EDGE_LANES]; 2],
            edges: [NOTHING; EDGE_LANES],
        };
        for (lane, &(edge, [a, b, _])) in elements.iter().enumerate() {
            pack.edges[lane] = edge;
            pack.ends[0][lane] = a;
            pack.ends[1][lane] = b;
        }
        pack
    }

    fn is_full(&self) -> bool {
        self.edges[EDGE_LANES - 1] != NOTHING
    }

    fn refit(&mut self, points: &[RoundedPoint]) -> SmallBox {
        let mut around = SmallBox::EMPTY;
        for lane in 0..EDGE_LANES {
            if self.edges[lane] == NOTHING {
                break;
            }
            let bounds = RoundedPoint::span_of_two(points, [self.ends[0][lane], self.ends[1][lane]]);
            around = around.union(bounds);
            for axis in 0..3 {
                self.min[axis][lane] = bounds.min[axis];
                self.max[axis][lane] = bounds.max[axis];
            }
        }
        around
    }
}

impl EdgePack {
    #[inline(always)]
    pub(super) fn edge(&self, lane: usize) -> u32 {
        self.edges[lane]
    }

    #[inline(always)]
    pub(super) fn lane(&self, lane: usize) -> SmallBox {
        let (min, max) = (&self.min, &self.max);
        SmallBox { min: [min[0][lane], min[1][lane], min[2][lane]], max: [max[0][lane], max[1][lane], max[2][lane]] }
    }

    /// One bit for every lane whose box meets a box.
    #[inline(always)]
    pub(super) fn meeting<S: Simd>(&self, simd: S, bounds: &SmallBox) -> u32 {
        let below =
            |axis: usize| f32x16::from_slice(simd, &self.min[axis]).simd_le(f32x16::splat(simd, bounds.max[axis]));
        let above =
            |axis: usize| f32x16::from_slice(simd, &self.max[axis]).simd_ge(f32x16::splat(simd, bounds.min[axis]));
        (below(0) & above(0) & below(1) & above(1) & below(2) & above(2)).to_bitmask() as u32
    }

    /// One bit for every lane that has an end in common with a lane of another pack.
    #[inline(always)]
    pub(super) fn sharing<S: Simd>(&self, simd: S, other: &Self, lane: usize) -> u32 {
        let meets = |row: usize, end: usize| {
            u32x16::from_slice(simd, &self.ends[row]).simd_eq(u32x16::splat(simd, other.ends[end][lane]))
        };
        (meets(0, 0) | meets(0, 1) | meets(1, 0) | meets(1, 1)).to_bitmask() as u32
    }
}

/// The lanes of a mask, from the lowest.
#[inline(always)]
pub(super) fn edge_lanes_of(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (lane < EDGE_LANES).then_some(lane)
    })
}
