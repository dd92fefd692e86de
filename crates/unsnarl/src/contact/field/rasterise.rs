//! From samples to nodes: mass, momentum, and the velocity of the air around.
//!
//! A node has the mass and momentum of samples by trilinear weights, and air of `air_density * h^3` that moves with the
//! cloth nearby: the mean over samples within reach, weighted by area density and by how far within. A sample reaches
//! `l h` far, `l = 1 + ceil(dt |v| / h)`, at least 2 and at most 8. (Buffet 2021, 3.2.1, e 3.1)
//!
//! Departs: sums over mass, not triangles, so that subdividing a sheet changes nothing; cloth at rest reaches as far as
//! slow cloth, else there would be no field where it lies half way between nodes.

use super::Moving;
use crate::geometry::bvh::Bvh;
use crate::geometry::distance::point_triangle;
use crate::geometry::{Aabb, DVec3};
use rayon::prelude::*;
use unsnarl_volume::grid::BlockWidth;
use unsnarl_volume::velocity_grid::{NodeSet, Reached, corner_offset};

/// The shortest and the longest reach, in distances between nodes.
const REACH: [f64; 2] = [2.0, 8.0];
/// Nodes without cloth that are this near to a body move with it, in distances between nodes.
const AT_BODY: f64 = 1.5;

/// Velocities on nodes.
#[derive(Clone, Debug)]
pub struct Raster {
    pub nodes: NodeSet,
    /// Of cloth alone, kg.
    pub cloth_masses: Vec<f64>,
    /// One over the mass of cloth and air; 0 at bodies.
    pub inverse_masses: Vec<f64>,
    pub velocities: Vec<DVec3>,
    /// Away from the body, at nodes that move with one; else zero.
    pub away: Vec<DVec3>,
}

/// What a block gathers for a node.
#[derive(Clone, Copy, Default)]
struct Sum {
    mass: f64,
    momentum: DVec3,
    weight: f64,
    weighted: DVec3,
}

/// How far a sample reaches, metres.
pub fn reach(speed: f64, step: f64, spacing: f64) -> f64 {
    (1.0 + (step * speed / spacing).ceil()).clamp(REACH[0], REACH[1]) * spacing
}

/// The lowest and highest node of a box around a point.
pub fn box_around(point: DVec3, reach: f64, spacing: f64) -> [[i32; 3]; 2] {
    let node = |at: DVec3| [at.x as i32, at.y as i32, at.z as i32];
    [node(((point - reach) / spacing).ceil()), node(((point + reach) / spacing).floor())]
}

impl Raster {
    /// `None` if there would be more nodes than allowed.
    pub fn new(moving: &Moving, reached: &Reached, air_density: f64, most: usize) -> Option<Self> {
        let spacing = moving.spacing;
        let sums: Vec<Vec<Sum>> = (0..reached.blocks().len())
            .into_par_iter()
            .map(|slot| gather(moving, reached.blocks()[slot], reached.items(slot)))
            .collect();
        let marks: Vec<bool> = sums.iter().flatten().map(|sum| sum.weight > 0.0).collect();
        if marks.par_iter().filter(|&&mark| mark).count() > most {
            return None;
        }
        let nodes = NodeSet::from_marks(spacing, reached.blocks().to_vec(), &marks);
        let air = air_density * spacing.powi(3);
        let mut raster = Self {
            cloth_masses: Vec::with_capacity(nodes.count()),
            inverse_masses: Vec::with_capacity(nodes.count()),
            velocities: Vec::with_capacity(nodes.count()),
            away: vec![DVec3::ZERO; nodes.count()],
            nodes,
        };
        for sum in sums.iter().flatten().filter(|sum| sum.weight > 0.0) {
            let around = sum.weighted / sum.weight;
            raster.cloth_masses.push(sum.mass);
            raster.inverse_masses.push((sum.mass + air).recip());
            raster.velocities.push((sum.momentum + around * air) / (sum.mass + air));
        }
        Some(raster)
    }

    /// Lets nodes without cloth at bodies move with them: triangles, and their corners at both ends of a step.
    pub fn hold_at_bodies(&mut self, triangles: &[[usize; 3]], [start, end]: [&[DVec3]; 2], step: f64) {
        if triangles.is_empty() {
            return;
        }
        let corners = |triangle: usize| triangles[triangle].map(|corner| start[corner]);
        let tree = Bvh::build_from(triangles.len(), |triangle| Aabb::of_points(corners(triangle)));
        let limit = (AT_BODY * self.nodes.spacing()).powi(2);
        let nearest = |node: usize| {
            if self.cloth_masses[node] > 0.0 {
                return None;
            }
            let place = self.nodes.position(self.nodes.nodes()[node]);
            let distance = |triangle: usize| point_triangle(place, corners(triangle)).distance_squared();
            let (_, triangle) = tree.closest_to(place, limit, distance)?;
            let closest = point_triangle(place, corners(triangle));
            let moved = |corner: usize| (end[corner] - start[corner]) / step;
            let velocity: DVec3 =
                triangles[triangle].iter().zip(closest.weights).map(|(&corner, weight)| moved(corner) * weight).sum();
            let [a, b, c] = corners(triangle);
            let away = (b - a).cross(c - a).try_normalize().unwrap_or(DVec3::Y);
            Some((velocity, away))
        };
        let found: Vec<Option<(DVec3, DVec3)>> = (0..self.nodes.count()).into_par_iter().map(nearest).collect();
        for (node, (velocity, away)) in found.into_iter().enumerate().filter_map(|(node, found)| Some((node, found?))) {
            self.velocities[node] = velocity;
            self.inverse_masses[node] = 0.0;
            self.away[node] = away;
        }
    }
}

/// What the nodes of a block gather from samples, in the order of samples.
fn gather(moving: &Moving, block: [i32; 3], items: &[u32]) -> Vec<Sum> {
    let (spacing, width) = (moving.spacing, BlockWidth::DEFAULT);
    let mut sums = vec![Sum::default(); width.volume()];
    let first = block.map(|at| width.first_sample(at));
    let side = width.samples() as i32;
    for &item in items {
        let item = item as usize;
        let (point, velocity, sample) = (moving.points[item], moving.velocities[item], &moving.samples.list[item]);
        let reach = moving.reach(item);
        let [low, high] = box_around(point, reach, spacing);
        let span = |axis: usize| low[axis].max(first[axis])..=high[axis].min(first[axis] + side - 1);
        for z in span(2) {
            for y in span(1) {
                for x in span(0) {
                    let away = DVec3::new(f64::from(x), f64::from(y), f64::from(z)) * spacing - point;
                    let squared = away.length_squared();
                    if squared >= reach * reach {
                        continue;
                    }
                    let place = width.place([x - first[0], y - first[1], z - first[2]].map(|at| at as usize));
                    let weight = sample.mass * (reach - squared.sqrt());
                    sums[place].weight += weight;
                    sums[place].weighted += velocity * weight;
                }
            }
        }
        let (cell, inside) = NodeSet::cell_of(spacing, point);
        for corner in 0..8 {
            let offset = corner_offset(corner);
            let local = [0, 1, 2].map(|axis| cell[axis] + offset[axis] - first[axis]);
            if local.iter().all(|at| (0..side).contains(at)) {
                let along = |axis: usize| if offset[axis] == 1 { inside[axis] } else { 1.0 - inside[axis] };
                let mass = sample.mass * along(0) * along(1) * along(2);
                let sum = &mut sums[width.place(local.map(|at| at as usize))];
                sum.mass += mass;
                sum.momentum += velocity * mass;
            }
        }
    }
    sums
}
