//! The last resort: vertices that still collide are slowed down and then stopped, with more and more of their
//! surroundings: at once, or only when that alone has not helped for a while.
//!
//! Slow means slow against what is prescribed there: cloth near a moving body is carried along by the place of it that
//! is nearest, as it would stick to it (one velocity for a whole neighbourhood would drive a garment into the limb
//! that it is worn on), and cloth among cloth stands still. Cloth that does not move cannot cross itself, so this ends
//! with
//! a clear motion of all free vertices among themselves wherever the surroundings move alike.
//!
//! Guarantees: it ends; collisions that are left have only stopped and prescribed vertices, and are counted. Where
//! prescribed vertices squeeze cloth, only cloth around that place is stopped.
//! Does not: keep momentum, but where a body is near, what was taken from cloth is told as the body's.

use super::detect::{Collision, Moved, collisions};
use super::report::ContactReport;
use super::settings::{ContactSettings, LastResort};
use super::{ContactInput, Path, Workspace};
use crate::geometry::bvh::Bvh;
use crate::geometry::distance::point_triangle;
use crate::geometry::intersection::triangle_box;
use crate::geometry::{DVec3, TriangleId, VertexId};

/// Times that the motion of a vertex is halved before it is stopped.
const HALVINGS: u32 = 4;
/// Rounds in which vertices are slowed down alone.
const ALONE_ROUNDS: u32 = 40;
/// After every so many rounds the surroundings reach twice as far.
const ROUNDS_PER_DOUBLING: u32 = 3;

/// Slows colliding vertices until nothing collides that could be helped.
pub(super) fn slow_down(
    input: &ContactInput,
    settings: &ContactSettings,
    path: &mut Path,
    mut left: Vec<Collision>,
    workspace: &mut Workspace,
    report: &mut ContactReport,
) {
    let surfaces = Surfaces::new(input);
    let before = path.velocities.clone();
    let mut slowed = vec![false; path.end.len()];
    let mut stopped = vec![false; path.end.len()];
    let mut halvings = vec![0; path.end.len()];
    let alone = match settings.last_resort {
        LastResort::Surroundings => 0,
        LastResort::Vertices => ALONE_ROUNDS,
    };
    for round in 0u32.. {
        let mut reached = Reached::around(input, path, &left);
        let rings = |round: u32| 1u32 << (round / ROUNDS_PER_DOUBLING).min(20);
        for _ in 0..round.checked_sub(alone).map_or(0, rings) {
            if !reached.grow(input) {
                break;
            }
        }
        let mut moved = vec![false; path.end.len()];
        let mut vertices: Vec<VertexId> = Vec::new();
        for at in 0..path.end.len() {
            let Some(carrier) = reached.carriers[at] else { continue };
            if input.inverse_mass[at] == 0.0 || stopped[at] {
                continue;
            }
            let carrier = surfaces.velocity_near(input, &path.velocities, input.start[at]).unwrap_or(carrier);
            if halvings[at] < HALVINGS && round < alone + HALVINGS {
                halvings[at] += 1;
                path.velocities[at] = carrier + (path.velocities[at] - carrier) * 0.5;
            } else {
                path.velocities[at] = carrier;
                stopped[at] = true;
            }
            slowed[at] = true;
            moved[at] = true;
            vertices.push(VertexId::new(at));
        }
        if vertices.is_empty() || path.asks_to_stop() {
            break;
        }
        path.follow(&vertices);
        let is_settled = |collision: &Collision| {
            collision.stencil.vertices.iter().all(|vertex| {
                let at = vertex.index();
                input.inverse_mass[at] == 0.0 || stopped[at]
            })
        };
        // What did not move in this round was reported before and is kept.
        left.retain(|collision| !collision.stencil.vertices.iter().any(|vertex| moved[vertex.index()]));
        left.extend(collisions(input, settings, path, Moved::Marked(&moved), workspace, report));
        // Nothing moves a settled pair any more, so its surroundings need not be stopped for it.
        let before = left.len();
        left.retain(|collision| !is_settled(collision));
        report.unresolved += before - left.len();
        if left.is_empty() {
            break;
        }
    }
    for vertex in (0..slowed.len()).filter(|&at| slowed[at]).map(VertexId::new) {
        if let Some(bearers) = surfaces.nearest(input, input.start[vertex.index()]) {
            path.taken.note_change(input, &[vertex], (&before, &path.velocities), &bearers);
        }
    }
    report.slowed_vertices = slowed.iter().filter(|&&slowed| slowed).count();
}

/// The triangles all of whose corners are prescribed.
struct Surfaces {
    triangles: Vec<TriangleId>,
    tree: Bvh,
}

/// Cloth nearer to a prescribed surface than this, metres, is carried by its nearest place.
const CARRYING: f64 = 0.03;

impl Surfaces {
    fn new(input: &ContactInput) -> Self {
        let topology = input.mesh.topology();
        let is_prescribed = |vertex: VertexId| input.inverse_mass[vertex.index()] == 0.0;
        let all = (0..topology.triangle_count()).map(TriangleId::new);
        let triangles: Vec<TriangleId> =
            all.filter(|&triangle| topology.triangle(triangle).into_iter().all(is_prescribed)).collect();
        let tree = Bvh::build_from(triangles.len(), |at| triangle_box(topology, input.start, triangles[at].index()));
        Self { triangles, tree }
    }

    /// The velocity of the nearest place, if that is near.
    fn velocity_near(&self, input: &ContactInput, velocities: &[DVec3], point: DVec3) -> Option<DVec3> {
        let nearest = self.nearest(input, point)?;
        Some(nearest.into_iter().map(|(corner, weight)| velocities[corner.index()] * weight).sum())
    }

    /// The nearest place as weights of vertices, if that is near.
    fn nearest(&self, input: &ContactInput, point: DVec3) -> Option<[(VertexId, f64); 3]> {
        let corners = |at: usize| input.mesh.topology().triangle(self.triangles[at]);
        let closest = |at: usize| point_triangle(point, corners(at).map(|corner| input.start[corner.index()]));
        let (_, nearest) = self.tree.closest_to(point, CARRYING * CARRYING, |at| closest(at).distance_squared())?;
        let weights = closest(nearest).weights;
        Some([0, 1, 2].map(|k| (corners(nearest)[k], weights[k])))
    }
}

/// Vertices around collisions, and the velocity with which what is prescribed there would carry each of them.
struct Reached {
    carriers: Vec<Option<DVec3>>,
}

impl Reached {
    /// The vertices of some collisions.
    fn around(input: &ContactInput, path: &Path, collisions: &[Collision]) -> Self {
        let mut sums = vec![(DVec3::ZERO, 0.0); path.end.len()];
        let mut is_reached = vec![false; path.end.len()];
        for collision in collisions {
            let vertices = collision.stencil.vertices;
            let prescribed = vertices.iter().filter(|vertex| input.inverse_mass[vertex.index()] == 0.0);
            let (sum, count) = prescribed
                .fold((DVec3::ZERO, 0.0), |(sum, count), vertex| (sum + path.velocities[vertex.index()], count + 1.0));
            for vertex in vertices {
                is_reached[vertex.index()] = true;
                sums[vertex.index()].0 += sum;
                sums[vertex.index()].1 += count;
            }
        }
        let carrier = |(sum, count): (DVec3, f64)| if count > 0.0 { sum / count } else { DVec3::ZERO };
        let carriers = sums.into_iter().zip(is_reached).map(|(sum, reached)| reached.then(|| carrier(sum)));
        Self { carriers: carriers.collect() }
    }

    /// Adds every neighbour, carried like the mean of those it is reached from; says whether there was any to add.
    fn grow(&mut self, input: &ContactInput) -> bool {
        let mut added: Vec<(VertexId, DVec3)> = (input.mesh.topology().edges().iter())
            .filter_map(|&[a, b]| match (self.carriers[a.index()], self.carriers[b.index()]) {
                (Some(carrier), None) => Some((b, carrier)),
                (None, Some(carrier)) => Some((a, carrier)),
                _ => None,
            })
            .collect();
        added.sort_by_key(|entry| entry.0);
        for group in added.chunk_by(|a, b| a.0 == b.0) {
            let sum: DVec3 = group.iter().map(|entry| entry.1).sum();
            self.carriers[group[0].0.index()] = Some(sum / group.len() as f64);
        }
        !added.is_empty()
    }
}
