//! A small motion after contact: it is followed as far as it crosses nothing.
//!
//! What would come too near goes half of its way, then a quarter, then stays. Where nothing moves nothing crosses, so
//! this ends, and cloth is never worse off than before. (The check after strain limiting; Bridson 2003, 2.3 leaves it
//! to the next step)
//!
//! Guarantees: as [`super::resolve`], between `start` and the returned positions.
//! Does not: push anything.

use super::detect::{Moved, collisions};
use super::report::ContactReport;
use super::settings::ContactSettings;
use super::{ContactInput, Path, Workspace};
use crate::geometry::{DVec3, VertexId};

/// Times that the way of a vertex is halved before it stays.
const HALVINGS: u32 = 2;

/// Where a motion ends that crosses nothing.
pub(super) fn admit(input: &ContactInput, settings: &ContactSettings, workspace: &mut Workspace) -> Vec<DVec3> {
    let mut path = Path::new(input, &|| false);
    let mut report = ContactReport::default();
    let mut halvings = vec![0; path.end.len()];
    let mut found = collisions(input, settings, &path, Moved::All, workspace, &mut report);
    while !found.is_empty() {
        let mut moved = vec![false; path.end.len()];
        for vertex in found.iter().flat_map(|collision| collision.stencil.vertices).map(VertexId::index) {
            if input.inverse_mass[vertex] == 0.0 || halvings[vertex] > HALVINGS || moved[vertex] {
                continue;
            }
            moved[vertex] = true;
            halvings[vertex] += 1;
            let (from, to) = (input.start[vertex], path.end[vertex]);
            path.end[vertex] = if halvings[vertex] > HALVINGS { from } else { from + (to - from) * 0.5 };
        }
        if !moved.contains(&true) {
            break;
        }
        found.retain(|collision| !collision.stencil.vertices.iter().any(|vertex| moved[vertex.index()]));
        found.extend(collisions(input, settings, &path, Moved::Marked(&moved), workspace, &mut report));
    }
    path.end
}
