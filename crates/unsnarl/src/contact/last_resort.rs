//! The last resort: vertices that still collide are slowed down, with more and more of their surroundings, and then
//! stopped.
//!
//! Cloth that does not move cannot cross itself, so this ends with a clear motion of all free vertices among themselves.
//!
//! Guarantees: it ends; collisions that are left have only stopped and prescribed vertices, and are counted.
//! Does not: keep momentum.

use super::detect::{Collision, Moved, collisions};
use super::report::ContactReport;
use super::settings::ContactSettings;
use super::{ContactInput, Path, Workspace};
use crate::geometry::{DVec3, VertexId};

/// Rounds in which the motion is halved before it is stopped.
const HALVINGS: u32 = 4;

/// Slows colliding vertices until nothing collides that could be helped.
pub(super) fn slow_down(
    input: &ContactInput,
    settings: &ContactSettings,
    path: &mut Path,
    mut left: Vec<Collision>,
    workspace: &mut Workspace,
    report: &mut ContactReport,
) {
    let mut slowed = vec![false; path.end.len()];
    let mut stopped = vec![false; path.end.len()];
    for round in 0u32.. {
        let mut reached = vec![false; path.end.len()];
        for vertex in left.iter().flat_map(|collision| collision.stencil.vertices) {
            reached[vertex.index()] = true;
        }
        for _ in 0..(1u32 << round.min(20)) {
            if !grow(input, &mut reached) {
                break;
            }
        }
        let mut moved = vec![false; path.end.len()];
        let mut vertices: Vec<VertexId> = Vec::new();
        for at in 0..reached.len() {
            if !reached[at] || input.inverse_mass[at] == 0.0 || stopped[at] {
                continue;
            }
            if round < HALVINGS {
                path.velocities[at] *= 0.5;
            } else {
                path.velocities[at] = DVec3::ZERO;
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
        let settled = |collision: &Collision| {
            collision.stencil.vertices.iter().all(|vertex| {
                let at = vertex.index();
                input.inverse_mass[at] == 0.0 || stopped[at]
            })
        };
        // What did not move in this round was reported before and is kept.
        let before = left.into_iter().filter(|c| !c.stencil.vertices.iter().any(|vertex| moved[vertex.index()]));
        let now = collisions(input, settings, path, Moved::Marked(&moved), workspace, report);
        let (hopeless, open): (Vec<_>, Vec<_>) = before.chain(now).partition(settled);
        report.unresolved = hopeless.len();
        if open.is_empty() {
            break;
        }
        left = hopeless.into_iter().chain(open).collect();
    }
    report.slowed_vertices = slowed.iter().filter(|&&slowed| slowed).count();
}

/// Adds every neighbour; says whether there was any to add.
fn grow(input: &ContactInput, reached: &mut [bool]) -> bool {
    let topology = input.mesh.topology();
    let joined: Vec<VertexId> = (topology.edges().iter())
        .filter_map(|&[a, b]| match (reached[a.index()], reached[b.index()]) {
            (true, false) => Some(b),
            (false, true) => Some(a),
            _ => None,
        })
        .collect();
    for vertex in &joined {
        reached[vertex.index()] = true;
    }
    !joined.is_empty()
}
