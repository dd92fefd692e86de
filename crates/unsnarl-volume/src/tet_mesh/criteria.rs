//! Where the lattice is refined. (Bridson 2003, 5.3)
//!
//! Only tetrahedra that the surface may meet are refined, unless a sizing function wants more: a distance changes by
//! no more than the way, so a tetrahedron whose corners are all farther from the surface than its circumradius is
//! passed over. The interior stays coarse.

use super::EDGES;
use super::lattice::{Lattice, NodeKey, RedTet, midpoint};
use super::red_green::Forest;
use crate::field::Field;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use unsnarl_geometry::DVec3;

/// What makes a tetrahedron at the surface too coarse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Criterion {
    /// Being coarser than the finest level.
    Uniform,
    /// The distance differs from its linear interpolant by more than this fraction of the finest edge.
    Error(f64),
    /// Longest edge times `|k1| + |k2|` exceeds this.
    Curvature(f64),
}

/// The longest edge that is wanted at a point, metres, inside the body too; infinite where anything will do.
pub type Sizing<'a> = &'a (dyn Fn(DVec3) -> f64 + Sync);

/// Where to refine: down to a level where the surface asks for it, and where the user does.
#[derive(Clone, Copy)]
pub struct Wish<'a> {
    /// At the surface.
    pub criterion: Criterion,
    /// Everywhere.
    pub sizing: Option<Sizing<'a>>,
    /// The finest level.
    pub levels: u8,
}

impl Criterion {
    /// A tenth of the finest edge.
    pub const DEFAULT_ERROR: f64 = 0.1;
    /// A quarter turn over two edges or so.
    pub const DEFAULT_CURVATURE: f64 = 0.5;
}

/// A circumradius of lattice tetrahedra is sqrt(5)/4 of the longest edge.
const CIRCUMRADIUS: f64 = 0.5591;
/// Children that lie farther outside than this many of their longest edges are let go. Repairs reach two edges out.
const OUTSIDE_EDGES: f64 = 2.5;
/// Coarser tetrahedra than this many finest edges are sampled in their interior too.
const COARSE: f64 = 3.0;

/// Points within a tetrahedron in quarters of its barycentric coordinates: its centre, the centres between that and the
/// corners, and points of the faces.
const QUARTERS: [[u8; 4]; 11] = [
    [1, 1, 1, 1],
    [2, 1, 1, 0],
    [0, 2, 1, 1],
    [1, 0, 2, 1],
    [1, 1, 0, 2],
    [3, 1, 0, 0],
    [1, 3, 0, 0],
    [0, 0, 3, 1],
    [0, 0, 1, 3],
    [2, 0, 1, 1],
    [1, 2, 0, 1],
];

/// Distances at nodes, each computed once.
#[derive(Clone, Default)]
pub struct NodeValues {
    numbers: FxHashMap<NodeKey, u32>,
    keys: Vec<NodeKey>,
    values: Vec<f64>,
}

impl NodeValues {
    /// The distance at a node that was asked for before.
    #[inline]
    pub fn at(&self, node: NodeKey) -> f64 {
        self.numbers.get(&node).map_or(f64::INFINITY, |&number| self.values[number as usize])
    }

    /// The number of a node that was asked for before, counted in the order of asking.
    #[inline]
    pub fn number(&self, node: NodeKey) -> Option<u32> {
        self.numbers.get(&node).copied()
    }

    /// The nodes by number.
    pub fn keys(&self) -> &[NodeKey] {
        &self.keys
    }

    /// The distances by number.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Computes what is not known yet, in parallel.
    pub fn ensure(&mut self, lattice: &Lattice, field: &dyn Field, nodes: impl ParallelIterator<Item = NodeKey>) {
        let mut unknown: Vec<NodeKey> = nodes.filter(|node| !self.numbers.contains_key(node)).collect();
        unknown.par_sort_unstable();
        unknown.dedup();
        let values = unknown.par_chunks(ROW).flat_map_iter(|nodes| values_along(lattice, field, nodes));
        self.values.par_extend(values);
        let first = self.keys.len() as u32;
        self.numbers.extend(unknown.iter().zip(first..).map(|(&node, number)| (node, number)));
        self.keys.extend(unknown);
    }
}

/// Nodes whose distances are computed one after the other.
const ROW: usize = 64;

/// Distances at nodes in a row: each bounds the next, since a distance changes by no more than the way.
fn values_along(lattice: &Lattice, field: &dyn Field, nodes: &[NodeKey]) -> Vec<f64> {
    let mut last: Option<(DVec3, f64)> = None;
    let value = |node: &NodeKey| {
        let point = lattice.position(*node);
        let value = match last {
            Some((before, value)) => field.value_within(point, value.abs() + point.distance(before)),
            None => field.value(point),
        };
        last = Some((point, value));
        value
    };
    nodes.iter().map(value).collect()
}

/// A refined lattice with the distances at its nodes.
pub struct Refined {
    /// The lattice.
    pub lattice: Lattice,
    /// Red leaves and split edges, closed.
    pub forest: Forest,
    /// Distances, those of all leaves' corners among them.
    pub values: NodeValues,
}

/// Leaves from which on a sample is refined first, to see how many there would be in the end.
const MANY_LEAVES: usize = 200_000;
/// ... and tetrahedra of level 0, of which most are let go.
const MANY_ROOTS: f64 = 2e6;
/// One leaf in so many is in the sample: two to this power.
const SAMPLE_BITS: u32 = 6;

/// Refines a lattice around the surface of a field.
///
/// Ends with an estimate of the leaves, before they are made, where they would be more than `most`.
pub fn refine(lattice: Lattice, field: &dyn Field, wish: &Wish<'_>, most: usize) -> Result<Refined, usize> {
    if lattice.root_count() > most as f64 {
        return Err(lattice.root_count() as usize);
    }
    let mut is_estimated = lattice.root_count() > MANY_ROOTS;
    if is_estimated {
        Refined::of_roots(lattice, field, is_sampled).check_sample(field, wish, 0, most)?;
    }
    let mut refined = Refined::of_roots(lattice, field, |_| true);
    for level in 0..wish.levels {
        let leaves = refined.forest.leaf_count();
        if !is_estimated && leaves > MANY_LEAVES && leaves << (3 * (wish.levels - level)) > most {
            refined.sample().check_sample(field, wish, level, most)?;
            is_estimated = true;
        }
        refined.refine_level(field, wish, level, most)?;
    }
    Ok(refined)
}

/// Whether a tetrahedron is in the sample: by its corners, so that samples are spread over space.
fn is_sampled(tet: &RedTet) -> bool {
    let mixed = tet.nodes.iter().fold(0_u64, |mixed, node| (mixed.rotate_left(5) ^ node).wrapping_mul(SPREAD));
    mixed >> (u64::BITS - SAMPLE_BITS) == 0
}

/// Two to the 64 over the golden ratio: products with it spread over the upper bits.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// Whether a tetrahedron is not far outside.
fn is_near(tet: &RedTet, lattice: &Lattice, values: &NodeValues) -> bool {
    let far = OUTSIDE_EDGES * lattice.edge_length(tet.level);
    tet.nodes.iter().any(|&node| values.at(node) < far)
}

impl Refined {
    /// The tetrahedra of level 0 that are wanted and not far outside.
    fn of_roots(lattice: Lattice, field: &dyn Field, is_wanted: impl Fn(&RedTet) -> bool) -> Self {
        let mut values = NodeValues::default();
        let roots = lattice.roots(is_wanted);
        values.ensure(&lattice, field, roots.par_iter().with_min_len(256).flat_map_iter(|tet| tet.nodes));
        let mut forest = Forest::new(roots);
        forest.retain_new(|tet| is_near(tet, &lattice, &values));
        Self { lattice, forest, values }
    }

    /// A few of the leaves.
    fn sample(&self) -> Self {
        Self { lattice: self.lattice, forest: self.forest.sample(is_sampled), values: self.values.clone() }
    }

    /// Refines a sample from a level on; an estimate of the leaves of the whole where they would be more than `most`.
    fn check_sample(mut self, field: &dyn Field, wish: &Wish<'_>, from: u8, most: usize) -> Result<(), usize> {
        for level in from..wish.levels {
            self.refine_level(field, wish, level, most >> SAMPLE_BITS).map_err(|leaves| leaves << SAMPLE_BITS)?;
        }
        let leaves = self.forest.leaf_count() << SAMPLE_BITS;
        if leaves > most { Err(leaves) } else { Ok(()) }
    }

    /// Splits the tetrahedra of a level that are too coarse, closes, and lets go of what is far outside.
    fn refine_level(&mut self, field: &dyn Field, wish: &Wish<'_>, level: u8, most: usize) -> Result<(), usize> {
        let (lattice, values) = (&self.lattice, &mut self.values);
        let reach = CIRCUMRADIUS * lattice.edge_length(level);
        let meets = |tet: &RedTet| tet.nodes.iter().any(|&node| values.at(node).abs() <= reach);
        let (mut near, far): (Vec<RedTet>, Vec<RedTet>) =
            self.forest.leaves(level.into()).iter().copied().partition(meets);
        if let Criterion::Error(_) = wish.criterion {
            let middles = |tet: &RedTet| {
                let nodes = tet.nodes;
                EDGES.into_iter().map(move |[i, j]| midpoint(nodes[i], nodes[j]))
            };
            values.ensure(lattice, field, near.par_iter().with_min_len(256).flat_map_iter(middles));
        }
        let judge = Judge { lattice, field, values, finest: lattice.edge_length(wish.levels) };
        let is_large = |tet: &RedTet| judge.is_large(tet, wish.sizing);
        let is_coarse = |tet: &RedTet| is_large(tet) || judge.is_coarse(tet, wish.criterion);
        let mut coarse: Vec<bool> = near.par_iter().with_min_len(64).map(is_coarse).collect();
        if wish.sizing.is_some() {
            near.extend(far.into_iter().filter(is_large));
            coarse.resize(near.len(), true);
        }
        let estimate = self.forest.leaf_count() + 7 * coarse.iter().filter(|coarse| **coarse).count();
        if estimate > most {
            return Err(estimate);
        }
        for (tet, _) in near.iter().zip(&coarse).filter(|(_, coarse)| **coarse) {
            self.forest.split_red(tet);
        }
        self.close(field);
        Ok(())
    }

    /// Closes the forest, computes distances at new corners, lets go of what is far outside.
    pub fn close(&mut self, field: &dyn Field) {
        self.forest.close();
        self.values.ensure(&self.lattice, field, self.forest.take_fresh().into_par_iter());
        self.forest.retain_new(|tet| is_near(tet, &self.lattice, &self.values));
    }
}

struct Judge<'a> {
    lattice: &'a Lattice,
    field: &'a dyn Field,
    values: &'a NodeValues,
    finest: f64,
}

impl Judge<'_> {
    /// Whether a tetrahedron is larger than the user wants it anywhere in it.
    fn is_large(&self, tet: &RedTet, sizing: Option<Sizing<'_>>) -> bool {
        let Some(size) = sizing else { return false };
        let edge = self.lattice.edge_length(tet.level);
        edge > size(self.center(tet)) || tet.nodes.iter().any(|&node| edge > size(self.lattice.position(node)))
    }

    fn is_coarse(&self, tet: &RedTet, criterion: Criterion) -> bool {
        let edge = self.lattice.edge_length(tet.level);
        match criterion {
            Criterion::Uniform => true,
            Criterion::Error(tolerance) => self.has_error_above(tet, edge, tolerance * self.finest),
            Criterion::Curvature(limit) => edge * self.curvature(tet, edge) > limit,
        }
    }

    fn center(&self, tet: &RedTet) -> DVec3 {
        tet.nodes.iter().map(|&node| self.lattice.position(node)).sum::<DVec3>() * 0.25
    }

    /// Whether the distance differs from its linear interpolant by more than a tolerance at the midpoints of edges,
    /// or, in tetrahedra that are much larger than the finest, at the quarter points within.
    fn has_error_above(&self, tet: &RedTet, edge: f64, tolerance: f64) -> bool {
        let corner = tet.nodes.map(|node| self.values.at(node));
        let at_middle = |&[i, j]: &[usize; 2]| {
            let value = self.values.at(midpoint(tet.nodes[i], tet.nodes[j]));
            (value - 0.5 * (corner[i] + corner[j])).abs() > tolerance
        };
        if EDGES.iter().any(at_middle) || edge < COARSE * self.finest {
            return EDGES.iter().any(at_middle);
        }
        let points = tet.nodes.map(|node| self.lattice.position(node));
        QUARTERS.iter().any(|quarters| {
            let weights = quarters.map(|quarter| 0.25 * f64::from(quarter));
            let point: DVec3 = (0..4).map(|at| weights[at] * points[at]).sum();
            let linear: f64 = (0..4).map(|at| weights[at] * corner[at]).sum();
            let bound = corner.map(f64::abs).into_iter().fold(f64::INFINITY, f64::min) + edge;
            (self.field.value_within(point, bound) - linear).abs() > tolerance
        })
    }

    /// `|k1| + |k2|` of the surface nearest to the centre: the slope of the normal along two tangents by least squares over
    /// an edge, so that the facets of a mesh count by their mean and not as steps.
    ///
    /// With the tangential Hessian `H`: `k1 + k2 = tr H`, `k1^2 + k2^2 = |H|^2`.
    fn curvature(&self, tet: &RedTet, edge: f64) -> f64 {
        let center = self.center(tet);
        let (value, gradient) = self.field.value_and_gradient(center);
        let Some(normal) = gradient.try_normalize() else { return 0.0 };
        let point = center - value * normal;
        let step = edge / 6.0;
        let along = normal.any_orthonormal_vector();
        let across = normal.cross(along);
        let normal_at = |point: DVec3| self.field.gradient(point).normalize_or_zero();
        let change = |direction: DVec3| {
            let rise = |x: f64| x * (normal_at(point + x * step * direction) - normal_at(point - x * step * direction));
            // Twice the sum of 1, 4 and 9.
            [1.0, 2.0, 3.0].map(rise).into_iter().sum::<DVec3>() / (28.0 * step)
        };
        let (first, second) = (change(along), change(across));
        let (a, b, c) = (first.dot(along), 0.5 * (first.dot(across) + second.dot(along)), second.dot(across));
        let (trace, squares) = (a + c, a * a + 2.0 * b * b + c * c);
        let product = 0.5 * (trace * trace - squares);
        (squares + 2.0 * product.abs()).max(0.0).sqrt()
    }
}
