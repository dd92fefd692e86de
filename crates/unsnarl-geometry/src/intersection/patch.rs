//! Patches of a sheet that surely do not meet themselves.
//!
//! If some coordinate plane sees all triangles of a patch from one side, then over each point of the plane lie as many of
//! them as the patch's rim winds around that point. A rim that is one simple polygon winds once. So the patch is a graph
//! over the plane, and none of its pairs of triangles, neighbours or not, needs a look. Patches are taken from the largest
//! subtrees of the tree whose triangles all stand across the plane: those that face one way, and those that face the
//! other. (Contour tests for smooth regions: Volino and Magnenat-Thalmann 1994)
//!
//! Guarantees: a proof holds for the coordinates as stored, and strictly: the symbolically perturbed patch is a graph too.
//! Dropping a coordinate is exact, and every sign is that of a float above its error bound.
//! Does not: prove patches of several pieces or with holes, or at edges with more than two triangles. Nothing is said of
//! those.

use super::fan::views;
use super::polygon::Polygon;
use super::separation::Reach;
use crate::bvh::{Agreement, Bvh, Groups};
use crate::ids::{EdgeId, VertexId};
use crate::math::{DVec2, DVec3};
use crate::topology::Topology;
use rayon::prelude::*;

/// Smaller subtrees take as long to prove as to search.
const LEAST_LEAVES: usize = 32;
/// With a smaller share of the triangles in patches, searching all is faster.
const LEAST_SHARE: f64 = 0.7;
/// Fewer triangles than this are not worth another thread.
const TRIANGLES_PER_TASK: usize = 2048;
/// In place of a patch, for triangles of none that is proved.
const NONE: u32 = Groups::NONE;

/// What one search of a moving mesh tells the next, through the same tree: the patches that were graphs, which mostly
/// still are, or that it is not worth while to look for any. Results do not depend on it.
#[derive(Clone, Debug)]
pub struct Habit {
    known: Option<Graphs>,
    /// Searches before patches are looked for.
    wait: u32,
    /// Searches to wait when that was in vain.
    pause: u32,
}

impl Default for Habit {
    /// Not in the first search: a mesh that is looked at once is searched sooner without.
    fn default() -> Self {
        Self { known: None, wait: 1, pause: 4 }
    }
}

/// Searches of a rough mesh from one look for patches to the next, at most.
const LONGEST_PAUSE: u32 = 64;

impl Habit {
    /// Patches that are graphs, where they cover enough of the mesh and this is the time to look for them.
    pub(super) fn graphs(&mut self, place: Place<'_>, tree: &Bvh) -> Option<&Graphs> {
        if !self.known.as_ref().is_some_and(|known| known.hold(place)) {
            self.known = None;
            if self.wait > 0 {
                self.wait -= 1;
                return None;
            }
            self.known = Graphs::find(place, tree);
        }
        if self.known.is_none() {
            self.wait = self.pause;
            self.pause = (2 * self.pause).min(LONGEST_PAUSE);
        }
        self.known.as_ref()
    }
}

/// A mesh where it is.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) topology: &'a Topology,
    pub(super) positions: &'a [DVec3],
    pub(super) reach: Reach,
}

/// What is proved of a mesh.
#[derive(Clone, Debug, Default)]
pub(super) struct Graphs {
    /// Patches none of whose pairs meet beyond what they share.
    pub(super) groups: Groups,
    /// For each vertex, whether all its triangles lie in one of them; empty if none do.
    pub(super) is_inner: Vec<bool>,
    /// The patch of each triangle.
    patch_of: Vec<u32>,
    /// For each patch, how it is seen and the vertices along its rim; none, if it is not proved.
    outlines: Vec<Outline>,
}

/// A patch as it is seen: all triangles turn one way around an axis.
#[derive(Clone, Debug)]
struct Outline {
    axis: usize,
    /// Which of [`views`] all its triangles have.
    view: u8,
    rim: Vec<VertexId>,
}

/// The bits of the positive ends of all axes.
const EVEN_BITS: u8 = 0b01_0101;

impl Graphs {
    /// Triangles that need no look at each other, whatever their shape, and the vertices all of whose triangles are such.
    pub(super) fn of_one_group(tree: &Bvh, is_in_group: &[bool], is_inner: Vec<bool>) -> Self {
        let groups = tree.groups(|triangle| if is_in_group[triangle] { 0 } else { NONE });
        Self { groups, is_inner, ..Self::default() }
    }

    fn find(place: Place<'_>, tree: &Bvh) -> Option<Self> {
        let view = |corners: &[VertexId; 3]| place.views(corners);
        let triangles = place.topology.triangles().par_iter().with_min_len(TRIANGLES_PER_TASK);
        let views: Vec<u8> = triangles.map(view).collect();
        let across = |triangle: usize| (views[triangle] | views[triangle] >> 1) & EVEN_BITS;
        let subtrees = tree.agreements(across, LEAST_LEAVES);
        if tree.share_of(&subtrees) < LEAST_SHARE {
            return None;
        }
        // The triangles of a subtree that face one way are a patch, those that face the other another.
        let mut patch_of = vec![NONE; views.len()];
        let mut sights = Vec::with_capacity(2 * subtrees.len());
        for subtree in &subtrees {
            let axis = flattest_axis(tree, subtree);
            for triangle in tree.items_of(subtree) {
                patch_of[triangle] = sights.len() as u32 + u32::from(views[triangle] >> (2 * axis + 1) & 1);
            }
            sights.extend([(axis, 1 << (2 * axis)), (axis, 2 << (2 * axis))]);
        }
        let mut chainer = Chainer::new(place.positions.len());
        let rims = rims(place.topology, &patch_of, sights.len());
        let chains = rims.iter().map(|rim| chainer.chain(rim).unwrap_or_default());
        let outlines = sights.into_iter().zip(chains).map(|((axis, view), rim)| Outline { axis, view, rim });
        let mut outlines: Vec<Outline> = outlines.collect();
        let is_graph: Vec<bool> = outlines.par_iter().map(|outline| place.is_simple(outline)).collect();
        patch_of.iter_mut().filter(|patch| **patch != NONE && !is_graph[**patch as usize]).for_each(|it| *it = NONE);
        outlines.iter_mut().zip(is_graph).filter(|(_, is_graph)| !is_graph).for_each(|(it, _)| it.rim.clear());
        let proved = patch_of.iter().filter(|patch| **patch != NONE).count();
        let groups = tree.groups(|triangle| patch_of[triangle]);
        let is_inner = inner_vertices(place.topology, &patch_of);
        let enough = proved as f64 >= LEAST_SHARE * patch_of.len() as f64;
        enough.then_some(Self { groups, is_inner, patch_of, outlines })
    }

    /// Whether what was proved of a mesh elsewhere is also true here.
    fn hold(&self, place: Place<'_>) -> bool {
        let is_seen = |(corners, &patch): (&[VertexId; 3], &u32)| match self.outlines.get(patch as usize) {
            Some(outline) => place.views(corners) & outline.view != 0,
            None => true,
        };
        let triangles = place.topology.triangles().par_iter().zip(&self.patch_of);
        (self.patch_of.len(), self.is_inner.len()) == (place.topology.triangle_count(), place.positions.len())
            && self.outlines.par_iter().all(|outline| outline.rim.is_empty() || place.is_simple(outline))
            && triangles.with_min_len(TRIANGLES_PER_TASK).all(is_seen)
    }
}

impl Place<'_> {
    #[inline(always)]
    fn views(&self, corners: &[VertexId; 3]) -> u8 {
        views(corners.map(|corner| self.positions[corner.index()]), self.reach)
    }

    /// Whether an outline is surely a simple polygon.
    fn is_simple(&self, outline: &Outline) -> bool {
        let flat = |vertex: &VertexId| {
            let point = self.positions[vertex.index()].to_array();
            DVec2::new(point[(outline.axis + 1) % 3], point[(outline.axis + 2) % 3])
        };
        Polygon::new(outline.rim.iter().map(flat).collect(), self.reach.planar_error()).is_surely_simple()
    }
}

/// For each patch, the edges of its triangles that do not cancel, in the direction of the triangle.
fn rims(topology: &Topology, patch_of: &[u32], patch_count: usize) -> Vec<Vec<[VertexId; 2]>> {
    let mut rims = vec![Vec::new(); patch_count];
    for edge in (0..topology.edge_count()).map(EdgeId::new) {
        let triangles = topology.edge_triangles(edge);
        if let [one, other] = triangles
            && patch_of[one.index()] == patch_of[other.index()]
            && topology.is_oriented(topology.edge(edge)[0])
        {
            continue;
        }
        let ends = topology.edge(edge);
        for &triangle in triangles {
            let Some(rim) = rims.get_mut(patch_of[triangle.index()] as usize) else { continue };
            let [a, b, c] = topology.triangle(triangle);
            let runs_along = [[a, b], [b, c], [c, a]].contains(&ends);
            rim.push(if runs_along { ends } else { [ends[1], ends[0]] });
        }
    }
    rims
}

/// Of the axes that all triangles of a subtree stand across, the one along which it reaches least: seen from there, its
/// rim is bent least.
fn flattest_axis(tree: &Bvh, subtree: &Agreement) -> usize {
    let extent = tree.bounds_of(subtree).extent().to_array();
    let axes = (0..3).filter(|axis| subtree.bits >> (2 * axis) & 1 != 0);
    axes.min_by(|&a, &b| extent[a].total_cmp(&extent[b])).unwrap_or(0)
}

/// Puts rims in order.
struct Chainer {
    /// For each vertex, where the rim goes on; the vertex itself where it does not come by.
    next: Vec<VertexId>,
}

impl Chainer {
    fn new(vertex_count: usize) -> Self {
        Self { next: (0..vertex_count).map(VertexId::new).collect() }
    }

    /// The vertices of a rim one after the other, if it is one loop that comes through each once.
    fn chain(&mut self, rim: &[[VertexId; 2]]) -> Option<Vec<VertexId>> {
        for &[from, to] in rim {
            self.next[from.index()] = to;
        }
        let first = rim.first()?[0];
        let mut chain = Vec::with_capacity(rim.len());
        let mut at = first;
        for _ in rim {
            chain.push(at);
            at = self.next[at.index()];
            if at == first {
                break;
            }
        }
        for &[from, _] in rim {
            self.next[from.index()] = from;
        }
        // A rim that left a vertex twice, or that is several loops, has more edges than the chain.
        (at == first && chain.len() == rim.len()).then_some(chain)
    }
}

/// The vertices all of whose triangles lie in one patch that is a graph.
fn inner_vertices(topology: &Topology, patch_of: &[u32]) -> Vec<bool> {
    const UNSEEN: u32 = NONE - 1;
    let mut patch_at = vec![UNSEEN; topology.vertex_count()];
    for (corners, &patch) in topology.triangles().iter().zip(patch_of) {
        for corner in corners {
            let at = &mut patch_at[corner.index()];
            *at = if *at == UNSEEN || *at == patch { patch } else { NONE };
        }
    }
    patch_at.into_iter().map(|patch| patch < UNSEEN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_loops_or_a_vertex_passed_twice_are_no_chain() {
        let rim = |edges: &[[usize; 2]]| edges.iter().map(|edge| edge.map(VertexId::new)).collect::<Vec<_>>();
        let mut chainer = Chainer::new(9);
        assert!(chainer.chain(&rim(&[[0, 1], [3, 0], [1, 2], [2, 3]])).is_some());
        assert!(chainer.chain(&rim(&[[0, 1], [1, 2], [2, 0], [3, 4], [4, 5], [5, 3]])).is_none());
        assert!(chainer.chain(&rim(&[[0, 1], [1, 2], [2, 0], [0, 4], [4, 5], [5, 0]])).is_none());
        assert!(chainer.chain(&rim(&[[0, 1], [1, 2]])).is_none());
        assert!(chainer.chain(&[]).is_none());
        assert!(chainer.chain(&rim(&[[0, 1], [1, 2], [2, 0]])).is_some());
    }
}
