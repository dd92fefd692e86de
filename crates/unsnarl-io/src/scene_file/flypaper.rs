//! From the flypaper weights of a scene file to a weight per vertex of the bodies, and lists of their own for some
//! vertices of cloth.
//!
//! Guarantees: nothing is made where the file says nothing; names and vertices that do not exist are refused.

use super::build::{Place, Problem, chosen};
use super::format::{BodyTable, SceneFile};
use std::ops::Range;
use std::sync::Arc;
use unsnarl::bodies::Moment;
use unsnarl::simulation::World;
use unsnarl::untangle::bodies::flypaper::FlypaperWeights;
use unsnarl_geometry::{DVec3, VertexId};

/// The weights of a scene whose cloth is at `cloth` at the start.
pub(super) fn weights(
    file: &SceneFile,
    world: &World,
    cloth: &[DVec3],
    root: &Place,
) -> Result<FlypaperWeights, Problem> {
    let of_bodies = of_bodies(file, world, root)?;
    let ranges = vertex_ranges(world);
    let mut of_vertices: Vec<(VertexId, Arc<[f64]>)> = Vec::new();
    for (index, (table, piece)) in file.cloth.iter().zip(&world.model.pieces).enumerate() {
        for (number, own) in table.flypaper.iter().enumerate() {
            let place = root.at("cloth").at(index).at("flypaper").at(number);
            let positions = &cloth[piece.vertices.clone()];
            let vertices = chosen(&own.vertices, own.region, positions, &piece.name, &place)?;
            let mut list = of_bodies.clone();
            list.resize(ranges.last().map_or(0, |range| range.end), 1.0);
            for (name, &weight) in &own.weights {
                let place = place.at("weights").at(name.as_str());
                place.not_negative(weight)?;
                let Some(body) = world.bodies.iter().position(|body| body.name == *name) else {
                    let names: Vec<&str> = world.bodies.iter().map(|body| body.name.as_str()).collect();
                    return place.fail(format!("no body {name}; the scene has {}", names.join(", ")));
                };
                list[ranges[body].clone()].fill(weight);
            }
            let list: Arc<[f64]> = list.into();
            let first = piece.vertices.start;
            of_vertices.extend(vertices.iter().map(|&vertex| (VertexId::new(first + vertex), Arc::clone(&list))));
        }
    }
    // Of several lists for one vertex the last counts.
    of_vertices.reverse();
    of_vertices.sort_by_key(|entry| entry.0);
    of_vertices.dedup_by_key(|entry| entry.0);
    Ok(FlypaperWeights { of_bodies, of_vertices })
}

/// A weight per vertex of all bodies; none where all count the same.
fn of_bodies(file: &SceneFile, world: &World, root: &Place) -> Result<Vec<f64>, Problem> {
    let is_plain = |table: &BodyTable| table.flypaper_weight == 1.0 && table.flypaper.is_empty();
    if file.body.iter().all(is_plain) {
        return Ok(Vec::new());
    }
    let start = world.surfaces.positions_at(&world.bodies, Moment::at(0.0));
    let mut weights = Vec::with_capacity(start.len());
    for (index, (table, range)) in file.body.iter().zip(vertex_ranges(world)).enumerate() {
        let place = root.at("body").at(index);
        place.at("flypaper-weight").not_negative(table.flypaper_weight)?;
        let first = weights.len();
        weights.resize(first + range.len(), table.flypaper_weight);
        for (number, region) in table.flypaper.iter().enumerate() {
            let place = place.at("flypaper").at(number);
            place.at("weight").not_negative(region.weight)?;
            let name = &world.bodies[index].name;
            for vertex in chosen(&region.vertices, region.region, &start[range.clone()], name, &place)? {
                weights[first + vertex] = region.weight;
            }
        }
    }
    Ok(weights)
}

/// The vertices of every body, by their numbers one body after the other.
fn vertex_ranges(world: &World) -> Vec<Range<usize>> {
    let mut first = 0;
    let own = |count: usize| {
        first += count;
        first - count..first
    };
    world.surfaces.meshes().iter().map(|mesh| mesh.positions.len()).map(own).collect()
}
