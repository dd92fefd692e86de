//! What of `[collision.field]` cannot be right, and what is worth knowing about it.

use super::build::{Place, Problem};
use super::format::SceneFile;
use unsnarl::contact::CollisionMethod;
use unsnarl::contact::field::FieldSettings;
use unsnarl::simulation::World;
use unsnarl_geometry::DVec3;

/// Nodes that cloth has around it, per square of the lattice.
const LAYERS: f64 = 4.0;
/// The same as the field uses: cloth counts as at least this thick, in distances between nodes.
const LEAST_THICKNESS: f64 = 0.75;
/// Distances between nodes in mean edges that the method was tried with, both ways.
const FARTHEST_FROM_EDGE: f64 = 2.8;

pub(super) fn check_settings(settings: &FieldSettings, place: &Place) -> Result<(), Problem> {
    if settings.voxel.is_some() && settings.size.is_some() {
        return place.at("size").fail("give voxel or size, not both");
    }
    settings.voxel.map(|voxel| place.at("voxel").positive(voxel)).transpose()?;
    settings.size.map(|size| place.at("size").positive(size)).transpose()?;
    settings.source.map(|source| place.at("source").not_negative(source)).transpose()?;
    place.at("divergence-weight").not_negative(settings.divergence_weight)?;
    place.at("kinematic-weight").positive(settings.kinematic_weight)?;
    place.at("tolerance").not_negative(settings.tolerance)?;
    if !(1..=1000).contains(&settings.substeps) {
        return place.at("substeps").fail(format!("{}; expected 1 to 1000", settings.substeps));
    }
    if settings.length_passes > 1000 {
        return place.at("length-passes").fail(format!("{}; expected 0 to 1000", settings.length_passes));
    }
    Ok(())
}

/// Refuses a lattice that is too fine for the cloth, and remarks on one that is unusual.
pub(super) fn check_size(
    file: &SceneFile,
    world: &World,
    positions: &[DVec3],
    root: &Place,
    remarks: &mut Vec<String>,
) -> Result<(), Problem> {
    let settings = &file.collision.field;
    if file.collision.method != CollisionMethod::Field || positions.is_empty() {
        return Ok(());
    }
    let edge = world.model.mean_rest_edge();
    let spacing = settings.spacing(edge);
    let area: f64 = world.model.rest_shapes.iter().map(|shape| shape.area()).sum();
    let nodes = LAYERS * area / (spacing * spacing);
    let key = if settings.size.is_some() { "size" } else { "voxel" };
    let place = root.at("collision").at("field");
    if nodes.is_nan() || nodes > f64::from(settings.most_voxels) {
        let most = settings.most_voxels;
        let text = format!("{spacing:.3e} m would need about {nodes:.0} voxels; most-voxels is {most}");
        return place.at(key).fail(text);
    }
    let ratio = spacing / edge;
    if !(FARTHEST_FROM_EDGE.recip()..=FARTHEST_FROM_EDGE).contains(&ratio) {
        remarks.push(format!("field: voxels are {ratio:.2} mean edges of the cloth; 0.36 to 2.8 are usual"));
    }
    let used = LEAST_THICKNESS * spacing;
    let thinnest = world.model.fabrics.iter().map(|fabric| fabric.thickness).fold(f64::INFINITY, f64::min);
    if thinnest < used {
        remarks
            .push(format!("field: cloth of {thinnest:.1e} m counts as {used:.1e} m thick, three quarters of a voxel"));
    }
    Ok(())
}
