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

/// Whether it is worth while to look for patches: what one search of a moving mesh tells the next. Results do not depend
/// on it.
#[derive(Clone, Debug)]
pub struct Habit {
    /// Searches before patches are looked for.
    wait: u32,
    /// Searches to wait when they are found in vain.
    pause: u32,
}

impl Default for Habit {
    /// Not in the first search: a mesh that is looked at once is searched sooner without.
    fn default() -> Self {
        Self { wait: 1, pause: 4 }
    }
}

impl Habit {
    /// The patches that are graphs, where this is the time to look for them and they cover enough of the mesh.
    pub(super) fn graphs(
        &mut self,
        topology: &Topology,
        positions: &[DVec3],
        tree: &Bvh,
        reach: Reach,
    ) -> Option<Graphs> {
        if self.wait > 0 {
            self.wait -= 1;
            return None;
        }
        let found = graphs(topology, positions, tree, reach);
        if found.is_none() {
            self.wait = self.pause;
            self.pause = (2 * self.pause).min(LONGEST_PAUSE);
        }
        found
    }
}

/// Searches of a rough mesh from one look for patches to the next, at most.
const LONGEST_PAUSE: u32 = 64;

/// What is proved of a mesh.
#[derive(Default)]
pub(super) struct Graphs {
    /// Patches none of whose pairs meet beyond what they share.
    pub(super) groups: Groups,
    /// For each vertex, whether all its triangles lie in one of them; empty if none do.
    pub(super) is_inner: Vec<bool>,
}

fn graphs(topology: &Topology, positions: &[DVec3], tree: &Bvh, reach: Reach) -> Option<Graphs> {
    let view = |corners: &[VertexId; 3]| views(corners.map(|corner| positions[corner.index()]), reach);
    let views: Vec<u8> = topology.triangles().par_iter().with_min_len(TRIANGLES_PER_TASK).map(view).collect();
    let across = |triangle: usize| (views[triangle] | views[triangle] >> 1) & EVEN_BITS;
    let subtrees = tree.agreements(across, LEAST_LEAVES);
    if tree.share_of(&subtrees) < LEAST_SHARE {
        return None;
    }
    let mut patches = Patches { topology, positions, reach, of_triangle: vec![NONE; views.len()] };
    patches.try_all(tree, &views, &subtrees);
    let of_triangle = patches.of_triangle;
    let proved = of_triangle.iter().filter(|patch| **patch != NONE).count();
    if (proved as f64) < LEAST_SHARE * of_triangle.len() as f64 {
        return None;
    }
    let groups = tree.groups(|triangle| of_triangle[triangle]);
    Some(Graphs { groups, is_inner: inner_vertices(topology, &of_triangle) })
}

/// The bits of the positive ends of all axes.
const EVEN_BITS: u8 = 0b01_0101;

struct Patches<'a> {
    topology: &'a Topology,
    positions: &'a [DVec3],
    reach: Reach,
    /// The patch of each triangle.
    of_triangle: Vec<u32>,
}

impl Patches<'_> {
    /// Makes two patches of every subtree and keeps those that are graphs.
    fn try_all(&mut self, tree: &Bvh, views: &[u8], subtrees: &[Agreement]) {
        let mut axes = Vec::with_capacity(2 * subtrees.len());
        for (subtree, number) in subtrees.iter().zip(0..) {
            let axis = flattest_axis(tree, subtree);
            for triangle in tree.items_of(subtree) {
                self.of_triangle[triangle] = 2 * number + u32::from(views[triangle] >> (2 * axis + 1) & 1);
            }
            axes.extend([axis; 2]);
        }
        let is_graph: Vec<bool> = self
            .rims(axes.len())
            .par_iter()
            .zip(&axes)
            .map_init(
                || Chainer::new(self.positions.len()),
                |chainer, (rim, &axis)| chainer.chain(rim).is_some_and(|chain| self.is_simple(&chain, axis)),
            )
            .collect();
        for patch in self.of_triangle.iter_mut().filter(|patch| **patch != NONE) {
            if !is_graph[*patch as usize] {
                *patch = NONE;
            }
        }
    }

    /// For each patch, the edges of its triangles that do not cancel, in the direction of the triangle.
    fn rims(&self, patch_count: usize) -> Vec<Vec<[VertexId; 2]>> {
        let mut rims = vec![Vec::new(); patch_count];
        for edge in (0..self.topology.edge_count()).map(EdgeId::new) {
            let triangles = self.topology.edge_triangles(edge);
            if let [one, other] = triangles
                && self.of_triangle[one.index()] == self.of_triangle[other.index()]
                && self.topology.is_oriented(self.topology.edge(edge)[0])
            {
                continue;
            }
            let ends = self.topology.edge(edge);
            for &triangle in triangles {
                let Some(rim) = rims.get_mut(self.of_triangle[triangle.index()] as usize) else { continue };
                let [a, b, c] = self.topology.triangle(triangle);
                let runs_along = [[a, b], [b, c], [c, a]].contains(&ends);
                rim.push(if runs_along { ends } else { [ends[1], ends[0]] });
            }
        }
        rims
    }

    /// Whether a closed chain of vertices is surely a simple polygon, seen along an axis.
    fn is_simple(&self, chain: &[VertexId], axis: usize) -> bool {
        let flat = |vertex: &VertexId| {
            let point = self.positions[vertex.index()].to_array();
            DVec2::new(point[(axis + 1) % 3], point[(axis + 2) % 3])
        };
        Polygon::new(chain.iter().map(flat).collect(), self.reach.planar_error()).is_surely_simple()
    }
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

/// A closed polygon.
struct Polygon {
    points: Vec<DVec2>,
    /// The box around each edge; edge `k` joins point `k` to the next.
    boxes: Vec<Box2>,
    /// The rounding of areas spanned by differences of points.
    error: f64,
}

/// Edges are tested in runs of this many.
const RUN: usize = 8;

impl Polygon {
    fn new(mut points: Vec<DVec2>, error: f64) -> Self {
        let first: Vec<DVec2> = points.iter().take(2).copied().collect();
        points.extend(first);
        let boxes = points.windows(2).map(|ends| Box2 { min: ends[0].min(ends[1]), max: ends[0].max(ends[1]) });
        let boxes = boxes.take(points.len() - 2).collect();
        Self { points, boxes, error }
    }

    fn is_surely_simple(&self) -> bool {
        if self.boxes.len() < 3 || !(0..self.boxes.len()).all(|edge| self.goes_on(edge)) {
            return false;
        }
        let runs: Vec<Box2> =
            self.boxes.chunks(RUN).map(|run| run.iter().copied().fold(Box2::EMPTY, Box2::union)).collect();
        (0..runs.len()).all(|first| {
            (first..runs.len()).all(|second| runs[first].misses(&runs[second]) || self.runs_are_apart(first, second))
        })
    }

    fn runs_are_apart(&self, first: usize, second: usize) -> bool {
        let last = self.boxes.len() - 1;
        let edges = |run: usize| run * RUN..self.boxes.len().min((run + 1) * RUN);
        edges(first).all(|one| {
            let others = edges(second).start.max(one + 2)..edges(second).end;
            let mut others = others.filter(|&other| !self.boxes[one].misses(&self.boxes[other]));
            others.all(|other| (one, other) == (0, last) || self.beside(one, other) || self.beside(other, one))
        })
    }

    /// Whether the edge after an edge surely does not turn back on it.
    fn goes_on(&self, edge: usize) -> bool {
        let [a, b, c] = [0, 1, 2].map(|more| self.points[edge + more]);
        (b - a).perp_dot(c - b).abs() > self.error || (b - a).dot(c - b) > self.error
    }

    /// Whether an edge surely lies on one side of the line through another.
    fn beside(&self, edge: usize, other: usize) -> bool {
        let (origin, along) = (self.points[edge], self.points[edge + 1] - self.points[edge]);
        let [a, b] = [other, other + 1].map(|at| along.perp_dot(self.points[at] - origin));
        (a > self.error && b > self.error) || (a < -self.error && b < -self.error)
    }
}

/// A closed box in the plane.
#[derive(Clone, Copy)]
struct Box2 {
    min: DVec2,
    max: DVec2,
}

impl Box2 {
    const EMPTY: Self = Self { min: DVec2::INFINITY, max: DVec2::NEG_INFINITY };

    fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// Whether two boxes have no point in common.
    #[inline(always)]
    fn misses(&self, other: &Self) -> bool {
        (self.max.x < other.min.x)
            | (other.max.x < self.min.x)
            | (self.max.y < other.min.y)
            | (other.max.y < self.min.y)
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
    use proptest::prelude::*;

    type Point = (i64, i64);

    fn side(a: Point, b: Point, c: Point) -> i64 {
        ((b.0 - a.0) * (c.1 - a.1) - (b.1 - a.1) * (c.0 - a.0)).signum()
    }

    fn on_segment(a: Point, b: Point, p: Point) -> bool {
        let within = |low: i64, high: i64, at: i64| low.min(high) <= at && at <= low.max(high);
        side(a, b, p) == 0 && within(a.0, b.0, p.0) && within(a.1, b.1, p.1)
    }

    fn meet([a, b]: [Point; 2], [c, d]: [Point; 2]) -> bool {
        let across = side(a, b, c) * side(a, b, d) < 0 && side(c, d, a) * side(c, d, b) < 0;
        across || [c, d].iter().any(|&p| on_segment(a, b, p)) || [a, b].iter().any(|&p| on_segment(c, d, p))
    }

    /// Every pair of edges in whole numbers.
    fn is_simple(points: &[Point]) -> bool {
        let count = points.len();
        let edge = |at: usize| [points[at % count], points[(at + 1) % count]];
        let turns_back = |at: usize| {
            let ([a, b], [_, c]) = (edge(at), edge(at + 1));
            a == b || on_segment(a, b, c) || on_segment(b, c, a)
        };
        let apart = |one: usize, other: usize| (other + 1) % count == one || !meet(edge(one), edge(other));
        !(0..count).any(turns_back) && (0..count).all(|one| (one + 2..count).all(|other| apart(one, other)))
    }

    fn is_surely_simple(points: &[Point]) -> bool {
        let points = points.iter().map(|&(x, y)| DVec2::new(x as f64, y as f64)).collect();
        Polygon::new(points, 0.5).is_surely_simple()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn only_simple_polygons_are_said_to_be(points in prop::collection::vec((0i64..9, 0i64..9), 3..8)) {
            prop_assert!(!is_surely_simple(&points) || is_simple(&points), "{points:?}");
        }

        #[test]
        fn stars_around_a_point_are_simple(radii in prop::collection::vec(1000i64..5000, 12..60)) {
            let place = |(at, &radius): (usize, &i64)| {
                let angle = std::f64::consts::TAU * at as f64 / radii.len() as f64;
                ((radius as f64 * angle.cos()) as i64, (radius as f64 * angle.sin()) as i64)
            };
            let points: Vec<Point> = radii.iter().enumerate().map(place).collect();
            prop_assert!(is_simple(&points) == is_surely_simple(&points));
            let mut crossed = points;
            crossed.swap(2, 7);
            prop_assert!(!is_surely_simple(&crossed) || is_simple(&crossed));
        }
    }

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
