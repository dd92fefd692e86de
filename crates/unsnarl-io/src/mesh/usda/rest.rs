//! Rest fields of a mesh: `restShapePoints`, `restTriVtxIndices`, `restAdjTriPairs`, `restBendAngles` and
//! `restBendAnglesDefault` of the draft of deformable bodies, with or without its namespace.
//!
//! Guarantees: every index is checked; rest points go through the transforms and units that points go through.
//! Does not: read them of meshes with other faces than triangles.

use super::super::draft::Draft;
use super::super::error::{Flaw, Place};
use super::super::findings::{Finding, FindingKind};
use super::parser::MeshData;
use unsnarl_geometry::DVec3;
use unsnarl_geometry::math::{DAffine3, is_finite};

/// Adds the rest fields of the mesh whose faces were pushed last.
pub(super) fn take(draft: &mut Draft, mesh: &MeshData, world: Option<DAffine3>, place: Place) -> Result<(), Flaw> {
    let rest = &mesh.rest;
    if rest.points.is_empty() && rest.pairs.is_empty() {
        return Ok(());
    }
    let count = mesh.face_counts.len();
    let first = draft.face_count() - count;
    if mesh.face_counts.iter().any(|&corners| corners != 3) {
        draft.findings.push(Finding::new(
            FindingKind::LeftOut,
            1,
            "rest fields of a mesh with other faces than triangles",
        ));
        return Ok(());
    }
    let wrong = |detail: &str| Flaw::new(place, FindingKind::IndexOutOfRange, detail);
    if !rest.points.is_empty() {
        let corners = corners(mesh, world, draft).ok_or_else(|| {
            wrong("restShapePoints do not have three finite numbers for every corner of every triangle")
        })?;
        draft.rest.corners.resize(first, None);
        draft.rest.corners.extend(corners.into_iter().map(Some));
    }
    if rest.pairs.len() != 2 * rest.angles_degrees.len() || !rest.angles_degrees.iter().all(|angle| angle.is_finite()) {
        return Err(wrong("restAdjTriPairs and restBendAngles do not have one finite angle for every pair"));
    }
    for (pair, angle) in rest.pairs.chunks_exact(2).zip(&rest.angles_degrees) {
        let [Some(a), Some(b)] = [pair[0], pair[1]].map(|face| usize::try_from(face).ok().filter(|&face| face < count))
        else {
            return Err(wrong("restAdjTriPairs names a triangle that is not there"));
        };
        let faces = [a, b].map(|face| (first + face) as u32);
        draft.rest.bends.push((faces, angle.to_radians()));
    }
    if rest.default_angles == "restShapeDefault" {
        draft.rest.bent_as_shape.resize(first, false);
        draft.rest.bent_as_shape.resize(first + count, true);
    }
    Ok(())
}

fn corners(mesh: &MeshData, world: Option<DAffine3>, draft: &Draft) -> Option<Vec<[DVec3; 3]>> {
    let indices = if mesh.rest.triangles.is_empty() { &mesh.face_indices } else { &mesh.rest.triangles };
    if indices.len() != mesh.face_indices.len() || !mesh.rest.points.len().is_multiple_of(3) {
        return None;
    }
    let point = |index: i64| {
        let at = usize::try_from(index).ok()?.checked_mul(3)?;
        let point = DVec3::from_slice(mesh.rest.points.get(at..at + 3)?);
        let placed = draft.conversion.from_file(world.map_or(point, |world| world.transform_point3(point)));
        is_finite(placed).then_some(placed)
    };
    let triangle = |corners: &[i64]| {
        let mut points = [point(corners[0])?, point(corners[1])?, point(corners[2])?];
        if mesh.left_handed {
            points.reverse();
        }
        Some(points)
    };
    indices.chunks_exact(3).map(triangle).collect()
}
