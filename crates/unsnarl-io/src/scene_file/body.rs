//! From the `[[body]]` tables of a scene file to bodies: solids, meshes, sequences of meshes, characters with a clip.
//!
//! Guarantees: all frames of a body have the same vertices; a file that does not fit is named.
//! Departs: a clip is sampled 60 times a second, and vertices go straight between samples.

use super::build::{Place, Problem, keyframes, read_options, turn};
use super::format::{BodyTable, CollideChoice, SequenceTable};
use crate::mesh::{self, MeshMotion, ReadOptions};
use std::path::Path;
use unsnarl::bodies::Body;
use unsnarl::bodies::keyframes::{Keyframe, Keyframes};
use unsnarl::bodies::moving_mesh::{MeshKey, MovingMesh};
use unsnarl::bodies::shape::Shape;
use unsnarl_geometry::{DVec3, TriMesh};

/// Samples of a clip per second.
const CLIP_RATE: f64 = 60.0;
/// The most frames of a moving body.
const MOST_FRAMES: f64 = 20_000.0;

/// One body.
pub(super) fn body(table: &BodyTable, index: usize, folder: &Path, place: &Place) -> Result<Body, Problem> {
    let solids = solids(table, place)?;
    let given = solids.len() + usize::from(table.mesh.is_some()) + usize::from(table.sequence.is_some());
    if given != 1 {
        return place.fail("expected exactly one of plane, sphere, box, capsule, cylinder, mesh and sequence");
    }
    place.at("friction").not_negative(table.friction)?;
    place.at("thickness").not_negative(table.thickness)?;
    place.at("position").finite(&table.position)?;
    place.at("rotation").finite(&table.rotation)?;
    let motion = if table.keys.is_empty() {
        let position = DVec3::from_array(table.position);
        Keyframes::new(vec![Keyframe { time: 0.0, position, rotation: turn(table.rotation) }])
    } else {
        keyframes(&table.keys, &place.at("keys"))?
    };
    let name = table.name.clone().unwrap_or_else(|| format!("body {index}"));
    if let Some(&shape) = solids.first() {
        if table.collide == CollideChoice::LevelSet {
            return place.at("collide").fail("level-set is for meshes; other solids know their distance");
        }
        return Ok(Body::solid(name, shape, motion, table.friction));
    }
    let options = read_options(table.units.as_deref(), place)?;
    let moving = match (&table.mesh, &table.sequence) {
        (Some(path), _) => mesh_body(table, &folder.join(path), &options, motion, place)?,
        (None, Some(sequence)) => sequence_body(sequence, folder, &options, motion, &place.at("sequence"))?,
        (None, None) => return place.fail("expected a mesh"),
    };
    let body = Body::mesh(name, moving, table.friction, table.thickness);
    match table.collide {
        CollideChoice::Triangles => Ok(body),
        CollideChoice::LevelSet => {
            let spacing = table.spacing.map(|spacing| place.at("spacing").positive(spacing)).transpose()?;
            body.with_level_set(spacing).or_else(|error| place.at("collide").fail(error.to_string()))
        }
    }
}

fn solids(table: &BodyTable, place: &Place) -> Result<Vec<Shape>, Problem> {
    let mut shapes = Vec::new();
    if table.plane.is_some() {
        shapes.push(Shape::Plane);
    }
    if let Some(sphere) = table.sphere {
        shapes.push(Shape::Sphere { radius: place.at("sphere").at("radius").size(sphere.radius)? });
    }
    if let Some(cuboid) = table.cuboid {
        for size in cuboid.size {
            place.at("box").at("size").size(size)?;
        }
        shapes.push(Shape::Box { half: DVec3::from_array(cuboid.size) * 0.5 });
    }
    if let Some(rod) = table.capsule {
        let place = place.at("capsule");
        let half_length = 0.5 * place.at("height").size(rod.height)?;
        shapes.push(Shape::Capsule { radius: place.at("radius").size(rod.radius)?, half_length });
    }
    if let Some(rod) = table.cylinder {
        let place = place.at("cylinder");
        let half_height = 0.5 * place.at("height").size(rod.height)?;
        shapes.push(Shape::Cylinder { radius: place.at("radius").size(rod.radius)?, half_height });
    }
    Ok(shapes)
}

/// A mesh that keeps its shape, or a character that plays a clip.
fn mesh_body(
    table: &BodyTable,
    path: &Path,
    options: &ReadOptions,
    motion: Keyframes,
    place: &Place,
) -> Result<MovingMesh, Problem> {
    let is_usd = mesh::Format::from_path(path) == Some(mesh::Format::Usda);
    let Some(name) = &table.clip else {
        if is_usd {
            return sampled_body(table, path, options, motion, place);
        }
        let TriMesh { positions, triangles } = read(path, options, &place.at("mesh"))?;
        return Ok(MovingMesh::rigid(triangles, positions, motion));
    };
    place.at("clip-start").finite(&[table.clip_start])?;
    let speed = place.at("clip-speed").positive(table.clip_speed)?;
    let character = match mesh::read_character(path, options) {
        Ok(character) => character,
        Err(error) => return place.at("mesh").fail(error.to_string()),
    };
    let Some(clip) = character.clip(name) else {
        let names: Vec<&str> = character.clips.iter().map(|clip| clip.name.as_str()).collect();
        return place.at("clip").fail(format!("no clip {name}; the file has {}", names.join(", ")));
    };
    let duration = clip.seconds / speed;
    if duration * CLIP_RATE > MOST_FRAMES {
        return place.at("clip").fail(format!("{duration} s; expected at most {} s", MOST_FRAMES / CLIP_RATE));
    }
    let count = (duration * CLIP_RATE).ceil().max(1.0) as u32;
    let keys = (0..=count)
        .map(|at| {
            let since = duration * f64::from(at) / f64::from(count);
            MeshKey { time: table.clip_start + since, positions: character.positions_at(clip, since * speed) }
        })
        .collect();
    MovingMesh::new(character.file.mesh.triangles.clone(), keys, motion)
        .or_else(|error| place.at("clip").fail(error.to_string()))
}

/// A USD file: its time samples from `clip-start` on, or its shape where it has none.
fn sampled_body(
    table: &BodyTable,
    path: &Path,
    options: &ReadOptions,
    motion: Keyframes,
    place: &Place,
) -> Result<MovingMesh, Problem> {
    place.at("clip-start").finite(&[table.clip_start])?;
    let speed = place.at("clip-speed").positive(table.clip_speed)?;
    let MeshMotion { file, frames, .. } =
        mesh::read_motion(path, options).or_else(|error| place.at("mesh").fail(error.to_string()))?;
    let TriMesh { positions, triangles } = file.mesh;
    let Some(first) = frames.first().map(|frame| frame.0) else {
        return Ok(MovingMesh::rigid(triangles, positions, motion));
    };
    let keys = frames
        .into_iter()
        .map(|(time, positions)| MeshKey { time: table.clip_start + (time - first) / speed, positions })
        .collect();
    MovingMesh::new(triangles, keys, motion).or_else(|error| place.at("mesh").fail(error.to_string()))
}

/// One mesh file per frame; `{}` in the name stands for the number.
fn sequence_body(
    sequence: &SequenceTable,
    folder: &Path,
    options: &ReadOptions,
    motion: Keyframes,
    place: &Place,
) -> Result<MovingMesh, Problem> {
    place.at("frame-rate").positive(sequence.frame_rate)?;
    place.at("start").finite(&[sequence.start])?;
    if !sequence.files.contains("{}") {
        return place.at("files").fail(format!("{}; expected a name with {{}} for the number", sequence.files));
    }
    if sequence.last < sequence.first || f64::from(sequence.last - sequence.first) > MOST_FRAMES {
        return place.at("last").fail(format!("{}; expected {} or a little more", sequence.last, sequence.first));
    }
    let mut triangles: Option<Vec<[u32; 3]>> = None;
    let mut keys = Vec::new();
    for number in sequence.first..=sequence.last {
        let file = folder.join(sequence.files.replace("{}", &number.to_string()));
        let mesh = read(&file, options, &place.at("files"))?;
        if triangles.get_or_insert_with(|| mesh.triangles.clone()) != &mesh.triangles {
            return place.at("files").fail(format!("{}: has other triangles than the first", file.display()));
        }
        let time = sequence.start + f64::from(number - sequence.first) / sequence.frame_rate;
        keys.push(MeshKey { time, positions: mesh.positions });
    }
    MovingMesh::new(triangles.unwrap_or_default(), keys, motion)
        .or_else(|error| place.at("files").fail(error.to_string()))
}

fn read(path: &Path, options: &ReadOptions, place: &Place) -> Result<TriMesh, Problem> {
    mesh::read(path, options).map(|file| file.mesh).or_else(|error| place.fail(error.to_string()))
}
