//! The samples of cloth: points fixed on triangles, with mass, area and the patch that they are of.
//!
//! A triangle is cut into equal small ones, and their centres are the samples, so that none is further than about the
//! distance between nodes from the next. A patch is a cluster of triangles about four of these distances wide. Samples
//! are of different sheets if their patches are neither the same nor neighbours, near along the cloth or over a seam.

use crate::geometry::{DVec3, TriangleId, VertexId};
use crate::model::Model;
use std::collections::VecDeque;

/// A point of a triangle.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub triangle: u32,
    /// Barycentric.
    pub weights: [f64; 3],
    /// At rest, m^2.
    pub area: f64,
    /// kg.
    pub mass: f64,
    pub patch: u32,
}

/// All samples of a model, for one distance between nodes.
#[derive(Clone, Debug)]
pub struct Samples {
    pub spacing: f64,
    pub list: Vec<Sample>,
    /// For every patch its neighbours and itself, sorted.
    near: Vec<Vec<u32>>,
}

/// A triangle is cut so that its longest side has at most this many distances between nodes per part.
const LONGEST_PART: f64 = 1.5;
/// The most parts of a side; larger triangles have samples further apart.
const MOST_PARTS: f64 = 64.0;
/// From the middle of a patch to its border, in distances between nodes.
const PATCH_RADIUS: f64 = 2.0;
/// Patches that come this near along the cloth are neighbours, in distances between nodes: more than twice as near as
/// paths have to be to a point to pass through it, however narrow the patches between them are.
const BESIDE_EACH_OTHER: f64 = 2.0;
/// The distance between the centres of neighbouring equilateral triangles, in roots of their area.
const CENTRE_DISTANCE: f64 = 0.877;

impl Samples {
    pub fn new(model: &Model, spacing: f64) -> Self {
        let patch_of = patches(model, spacing);
        let near = neighbours(model, &patch_of, spacing);
        let mut list = Vec::new();
        for (at, shape) in model.rest_shapes.iter().enumerate() {
            let longest = shape.lengths().into_iter().fold(0.0, f64::max);
            let parts = (longest / (LONGEST_PART * spacing)).ceil().clamp(1.0, MOST_PARTS) as usize;
            let area = shape.area() / (parts * parts) as f64;
            let mass = area * model.fabric(TriangleId::new(at)).density;
            let sample = |weights| Sample { triangle: at as u32, weights, area, mass, patch: patch_of[at] };
            list.extend(centres(parts).map(sample));
        }
        Self { spacing, list, near }
    }

    /// Whether two patches are of different sheets.
    pub fn are_apart(&self, a: u32, b: u32) -> bool {
        a != b && self.near[a as usize].binary_search(&b).is_err()
    }
}

impl Sample {
    pub fn apply(&self, model: &Model, values: &[DVec3]) -> DVec3 {
        let corners = model.topology.triangle(TriangleId(self.triangle));
        corners.iter().zip(self.weights).map(|(corner, weight)| values[corner.index()] * weight).sum()
    }
}

/// The centres of the `n * n` parts of a triangle.
fn centres(n: usize) -> impl Iterator<Item = [f64; 3]> {
    let part = move |i: usize, j: usize, shift: f64| {
        let [a, b] = [i as f64 + shift, j as f64 + shift].map(|at| at / n as f64);
        [1.0 - a - b, a, b]
    };
    (0..n).flat_map(move |i| {
        let upright = (0..n - i).map(move |j| part(i, j, 1.0 / 3.0));
        let inverted = (0..(n - i).saturating_sub(1)).map(move |j| part(i, j, 2.0 / 3.0));
        upright.chain(inverted)
    })
}

/// The patch of every triangle, grown one after the other from the first triangle that has none.
fn patches(model: &Model, spacing: f64) -> Vec<u32> {
    let topology = &model.topology;
    let mut patch_of = vec![u32::MAX; topology.triangle_count()];
    let mut count = 0;
    for first in (0..topology.triangle_count()).map(TriangleId::new) {
        if patch_of[first.index()] != u32::MAX {
            continue;
        }
        patch_of[first.index()] = count;
        spread(model, vec![first], PATCH_RADIUS * spacing, |next| {
            let is_free = patch_of[next.index()] == u32::MAX;
            if is_free {
                patch_of[next.index()] = count;
            }
            is_free
        });
        count += 1;
    }
    patch_of
}

/// Spreads from triangles over edges to those within a distance along the cloth, as long as `take` takes them.
fn spread(model: &Model, from: Vec<TriangleId>, reach: f64, mut take: impl FnMut(TriangleId) -> bool) {
    let topology = &model.topology;
    let size = |triangle: TriangleId| model.rest_shapes[triangle.index()].area().sqrt();
    let mut open: VecDeque<(TriangleId, f64)> = from.into_iter().map(|triangle| (triangle, 0.0)).collect();
    while let Some((triangle, way)) = open.pop_front() {
        for edge in topology.triangle_edges(triangle) {
            for &next in topology.edge_triangles(edge) {
                let further = way + 0.5 * CENTRE_DISTANCE * (size(triangle) + size(next));
                if further <= reach && take(next) {
                    open.push_back((next, further));
                }
            }
        }
    }
}

/// For every patch the patches that are near along the cloth, or share a vertex or a seam with it, and itself, sorted.
fn neighbours(model: &Model, patch_of: &[u32], spacing: f64) -> Vec<Vec<u32>> {
    let count = patch_of.iter().max().map_or(0, |&last| last as usize + 1);
    let mut near: Vec<Vec<u32>> = (0..count).map(|patch| vec![patch as u32]).collect();
    let around = |vertices: &[VertexId]| {
        let triangles = vertices.iter().flat_map(|&vertex| model.topology.vertex_triangles(vertex));
        let mut found: Vec<u32> = triangles.map(|triangle| patch_of[triangle.index()]).collect();
        found.sort_unstable();
        found.dedup();
        found
    };
    let mut join = |together: Vec<u32>| {
        if together.len() > 1 {
            together.iter().for_each(|&patch| near[patch as usize].extend(&together));
        }
    };
    (0..model.topology.vertex_count()).for_each(|vertex| join(around(&[VertexId::new(vertex)])));
    model.stitches.iter().for_each(|stitch| join(around(&stitch.vertices)));
    let mut members: Vec<Vec<TriangleId>> = vec![Vec::new(); count];
    for (triangle, &patch) in patch_of.iter().enumerate() {
        members[patch as usize].push(TriangleId::new(triangle));
    }
    let mut seen_by = patch_of.to_vec();
    let mut beside: Vec<[u32; 2]> = Vec::new();
    for (patch, members) in members.into_iter().enumerate() {
        let patch = patch as u32;
        spread(model, members, BESIDE_EACH_OTHER * spacing, |next| {
            let is_new = patch_of[next.index()] != patch && seen_by[next.index()] != patch;
            if is_new {
                seen_by[next.index()] = patch;
                beside.push([patch, patch_of[next.index()]]);
            }
            is_new
        });
    }
    for [a, b] in beside {
        near[a as usize].push(b);
        near[b as usize].push(a);
    }
    for near in &mut near {
        near.sort_unstable();
        near.dedup();
    }
    near
}
