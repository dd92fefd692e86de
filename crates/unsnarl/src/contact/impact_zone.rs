//! Impact zones: the third stage. Vertices whose collisions impulses could not stop move together.
//!
//! A zone moves as a rigid body that keeps linear and angular momentum about its centre at the start of the step, or as
//! the affine motion nearest to what its vertices did, which keeps both too. (Bridson 2003, 2.9)
//!
//! Guarantees: no pair inside a zone of free vertices comes nearer in a rigid motion, or crosses in an affine one.
//! Does not: keep zones small; chained contacts may merge into one.
//! Departs: zones merge in pair order, so that the result does not depend on threads. Affine motion leaves out the
//! direction in which a zone is thin, where it would flatten it, and its strain is limited to half per step. A zone
//! with prescribed vertices moves rigidly and follows them as if they were a million times heavier.

use super::detect::{Collision, Moved, collisions};
use super::report::ContactReport;
use super::settings::{ContactSettings, ZoneMotion};
use super::symmetric::Eigen;
use super::{ContactInput, Path, Workspace};
use crate::geometry::{DMat3, DVec3, VertexId};

/// Prescribed vertices weigh this much more than the whole rest of their zone.
const PRESCRIBED_WEIGHT: f64 = 1e6;
/// Directions with less inertia than this part of the largest do not turn.
const NO_INERTIA: f64 = 1e-13;
/// Directions in which a zone is thinner than this, squared, are not strained.
const THIN: f64 = 1e-4;
/// Largest strain of an affine zone in one step.
const LARGEST_STRAIN: f64 = 0.5;

/// Merges colliding vertices into zones until nothing collides; returns what zones could not stop.
pub(super) fn merge(
    input: &ContactInput,
    settings: &ContactSettings,
    path: &mut Path,
    mut found: Vec<Collision>,
    workspace: &mut Workspace,
    report: &mut ContactReport,
) -> Vec<Collision> {
    let before = path.velocities.clone();
    let mut zones = Zones::new(path.end.len(), settings.zones);
    for _ in 0..settings.zone_rounds {
        found.sort_unstable_by_key(|collision| collision.pair);
        let mut progress = Progress::None;
        for collision in &found {
            progress = progress.max(zones.join(collision.stencil.vertices, report));
        }
        if progress == Progress::None || path.asks_to_stop() {
            break;
        }
        report.zone_rounds += 1;
        let mut moved = vec![false; path.end.len()];
        let members = zones.members();
        for zone in &members {
            move_zone(input, zones.motion_of(zone[0]), zone, &before, &mut path.velocities);
            let free = zone.iter().copied().filter(|vertex| input.inverse_mass[vertex.index()] > 0.0);
            let free: Vec<VertexId> = free.collect();
            path.follow(&free);
            for vertex in free {
                moved[vertex.index()] = true;
            }
        }
        report.zones = members.iter().map(Vec::len).collect();
        found = collisions(input, settings, path, Moved::Marked(&moved), workspace, report);
        if found.is_empty() {
            break;
        }
    }
    for zone in zones.members() {
        let prescribed: Vec<VertexId> =
            zone.iter().copied().filter(|vertex| input.inverse_mass[vertex.index()] == 0.0).collect();
        let share = 1.0 / prescribed.len().max(1) as f64;
        let bearers: Vec<(VertexId, f64)> = prescribed.into_iter().map(|vertex| (vertex, share)).collect();
        path.taken.note_change(input, &zone, (&before, &path.velocities), &bearers);
    }
    found
}

/// What joining four vertices changed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Progress {
    None,
    Some,
}

/// A forest of vertices; a zone is a tree, named by its smallest vertex.
struct Zones {
    parent: Vec<u32>,
    motion: Vec<ZoneMotion>,
}

impl Zones {
    fn new(vertex_count: usize, motion: ZoneMotion) -> Self {
        Self { parent: (0..vertex_count as u32).collect(), motion: vec![motion; vertex_count] }
    }

    fn root(&mut self, vertex: VertexId) -> usize {
        let mut at = vertex.index();
        while self.parent[at] as usize != at {
            self.parent[at] = self.parent[self.parent[at] as usize];
            at = self.parent[at] as usize;
        }
        at
    }

    fn motion_of(&mut self, vertex: VertexId) -> ZoneMotion {
        let root = self.root(vertex);
        self.motion[root]
    }

    /// Puts four vertices into one zone. If they were together already, the zone is made rigid.
    fn join(&mut self, vertices: [VertexId; 4], report: &mut ContactReport) -> Progress {
        let roots = vertices.map(|vertex| self.root(vertex));
        let smallest = roots.into_iter().min().expect("four roots have a smallest");
        if roots.iter().all(|&root| root == smallest) {
            if self.motion[smallest] == ZoneMotion::Rigid {
                return Progress::None;
            }
            self.motion[smallest] = ZoneMotion::Rigid;
            report.rigid_fallbacks += 1;
            return Progress::Some;
        }
        for root in roots {
            self.parent[root] = smallest as u32;
            if self.motion[root] == ZoneMotion::Rigid {
                self.motion[smallest] = ZoneMotion::Rigid;
            }
        }
        Progress::Some
    }

    /// The vertices of every zone of more than one, in order.
    fn members(&mut self) -> Vec<Vec<VertexId>> {
        let mut lists: Vec<Vec<VertexId>> = vec![Vec::new(); self.parent.len()];
        for vertex in (0..self.parent.len()).map(VertexId::new) {
            let root = self.root(vertex);
            lists[root].push(vertex);
        }
        lists.retain(|list| list.len() > 1);
        lists
    }
}

/// Gives a zone the motion nearest to the velocities its vertices had before any zone.
fn move_zone(input: &ContactInput, motion: ZoneMotion, zone: &[VertexId], before: &[DVec3], velocities: &mut [DVec3]) {
    let inverse_mass = |vertex: &VertexId| input.inverse_mass[vertex.index()];
    let free_mass: f64 = zone.iter().map(inverse_mass).filter(|&inverse| inverse > 0.0).map(f64::recip).sum();
    let prescribed_mass = PRESCRIBED_WEIGHT * free_mass;
    let mass = |vertex: &VertexId| match inverse_mass(vertex) {
        0.0 => prescribed_mass,
        inverse => 1.0 / inverse,
    };
    let total: f64 = zone.iter().map(mass).sum();
    let mean = |values: &[DVec3]| zone.iter().map(|v| values[v.index()] * mass(v)).sum::<DVec3>() / total;
    let (center, drift) = (mean(input.start), mean(before));
    let arm = |vertex: &VertexId| input.start[vertex.index()] - center;
    let mut momentum = DVec3::ZERO;
    let mut spread = DMat3::ZERO;
    for vertex in zone {
        let arm = arm(vertex);
        momentum += arm.cross(before[vertex.index()] - drift) * mass(vertex);
        spread += outer(arm, arm) * mass(vertex);
    }
    let trace = spread.x_axis.x + spread.y_axis.y + spread.z_axis.z;
    let inertia = Eigen::of(DMat3::from_diagonal(DVec3::splat(trace)) - spread);
    let turn = inertia.pseudo_inverse(NO_INERTIA).0 * momentum;
    let has_prescribed = zone.iter().any(|vertex| inverse_mass(vertex) == 0.0);
    let strain_rate = match motion {
        ZoneMotion::Affine if !has_prescribed => {
            let (inverse, projection) = Eigen::of(spread).pseudo_inverse(THIN);
            let mut rest = DMat3::ZERO;
            for vertex in zone {
                let left_over = before[vertex.index()] - drift - turn.cross(arm(vertex));
                rest += outer(left_over, arm(vertex)) * mass(vertex);
            }
            let rate = projection * rest * inverse;
            let strain = input.step * frobenius(rate);
            if strain > LARGEST_STRAIN { rate * (LARGEST_STRAIN / strain) } else { rate }
        }
        _ => DMat3::ZERO,
    };
    for vertex in zone.iter().filter(|vertex| inverse_mass(vertex) > 0.0) {
        velocities[vertex.index()] = drift + turn.cross(arm(vertex)) + strain_rate * arm(vertex);
    }
}

/// The matrix `a b^T`.
fn outer(a: DVec3, b: DVec3) -> DMat3 {
    DMat3::from_cols(a * b.x, a * b.y, a * b.z)
}

fn frobenius(matrix: DMat3) -> f64 {
    (matrix.x_axis.length_squared() + matrix.y_axis.length_squared() + matrix.z_axis.length_squared()).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::{ContactMesh, OrdinaryRules};
    use crate::geometry::Topology;

    /// Six vertices that move at random, as one zone.
    fn moved(motion: ZoneMotion, inverse_mass: &[f64]) -> (Vec<DVec3>, Vec<DVec3>, Vec<DVec3>) {
        let start: Vec<DVec3> = (0..6)
            .map(|k| {
                let k = f64::from(k);
                DVec3::new((2.3 * k).sin(), (1.7 * k).cos(), (0.9 * k + 1.0).sin())
            })
            .collect();
        let before: Vec<DVec3> = start.iter().map(|p| DVec3::new(p.y * p.z, 1.0 - p.x, p.z * p.z + p.x)).collect();
        let topology = Topology::new(6, &[[0, 1, 2], [3, 4, 5]]).unwrap();
        let mesh = ContactMesh::new(topology, &[1.0; 6], &[1e-3; 6]);
        let input = ContactInput {
            mesh: &mesh,
            start: &start,
            end: &start,
            step: 0.01,
            inverse_mass,
            thickness: &[1e-3; 6],
            friction: &[0.3; 6],
            rules: &OrdinaryRules,
        };
        let zone: Vec<VertexId> = (0..6).map(VertexId::new).collect();
        let mut velocities = before.clone();
        move_zone(&input, motion, &zone, &before, &mut velocities);
        (start, before, velocities)
    }

    const INVERSE_MASS: [f64; 6] = [1.0, 2.0, 0.5, 4.0, 1.5, 3.0];

    #[test]
    fn both_kinds_keep_linear_and_angular_momentum_and_lose_energy() {
        for motion in [ZoneMotion::Rigid, ZoneMotion::Affine] {
            let (start, before, after) = moved(motion, &INVERSE_MASS);
            let sum = |values: &dyn Fn(usize) -> DVec3| -> DVec3 { (0..6).map(|k| values(k) / INVERSE_MASS[k]).sum() };
            assert!((sum(&|k| before[k]) - sum(&|k| after[k])).length() < 1e-13);
            assert!((sum(&|k| start[k].cross(before[k])) - sum(&|k| start[k].cross(after[k]))).length() < 1e-12);
            let energy = |v: &[DVec3]| (0..6).map(|k| v[k].length_squared() / INVERSE_MASS[k]).sum::<f64>();
            assert!(energy(&after) < energy(&before));
        }
    }

    #[test]
    fn affine_motion_keeps_more_energy_than_rigid() {
        let energy = |v: &[DVec3]| (0..6).map(|k| v[k].length_squared() / INVERSE_MASS[k]).sum::<f64>();
        let rigid = energy(&moved(ZoneMotion::Rigid, &INVERSE_MASS).2);
        let affine = energy(&moved(ZoneMotion::Affine, &INVERSE_MASS).2);
        assert!(affine > rigid);
    }

    #[test]
    fn rigid_motion_brings_no_two_vertices_nearer() {
        let (start, _, velocities) = moved(ZoneMotion::Rigid, &INVERSE_MASS);
        for time in [0.1, 0.5, 3.0] {
            for a in 0..6 {
                for b in 0..a {
                    let then = start[a] + velocities[a] * time - start[b] - velocities[b] * time;
                    assert!(then.length() > (start[a] - start[b]).length() - 1e-12);
                }
            }
        }
    }

    #[test]
    fn a_zone_follows_its_prescribed_vertex() {
        let inverse_mass = [0.0, 2.0, 0.5, 4.0, 1.5, 3.0];
        let (start, before, after) = moved(ZoneMotion::Affine, &inverse_mass);
        assert_eq!(after[0], before[0]);
        // A rigid motion whose fixed point is the prescribed vertex: relative velocities are square to the arms.
        for k in 1..6 {
            let turning = (after[k] - before[0]).dot((start[k] - start[0]).normalize());
            assert!(turning.abs() < 1e-5, "{turning}");
        }
    }
}
