//! What `unsnarl dress` reads of a scene file, and the scene file that it leaves for `unsnarl sim`.
//!
//! Guarantees: an error names the line; garments keep everything that their files hold; the scene that is left names
//! the dressed meshes and the bodies from its own folder, with its clock at the time of the dressing.
//! Does not: take sewing patterns: their panels are no garment before they are sewn.

use super::build::{Place, Problem, fabric, plain, read_options, turn};
use super::format::{ClothTable, SceneFile};
use super::{SceneError, at_its_line, body, changed_table, read_text, tables};
use crate::garment_file;
use crate::mesh::{self, KeepSource, MeshFile, ReadOptions};
use std::path::{Component, Path, PathBuf};
use unsnarl::bodies::{Body, Moment, Surfaces};
use unsnarl::dress::{DressSettings, Front, GarmentWish};
use unsnarl::scene::fabric::Fabric;
use unsnarl::scene::garment::Garment;
use unsnarl_geometry::{DVec3, Topology, TriMesh};

/// The thinnest layer unless the scene says otherwise, metres.
const THINNEST: f64 = 1e-3;

/// A scene to be dressed.
#[derive(Debug)]
pub struct DressScene {
    /// How.
    pub settings: DressSettings,
    /// The garments.
    pub cloths: Vec<DressCloth>,
    /// The bodies as they stand, by name.
    pub bodies: Vec<(String, TriMesh)>,
    /// Where the bodies' vertices were when garments fitted them, one body after the other.
    pub carried_from: Option<Vec<DVec3>>,
    /// The largest thickness of a body, metres.
    pub body_thickness: f64,
    table: toml::Table,
    folder: PathBuf,
}

/// A garment of the scene.
#[derive(Debug)]
pub struct DressCloth {
    /// The file that it comes from, if it comes from one.
    pub path: Option<PathBuf>,
    /// The mesh, where the scene puts it.
    pub file: MeshFile,
    /// Rest shapes, creases, layer.
    pub garment: Garment,
    /// What the scene asks of it.
    pub wish: GarmentWish,
}

/// Reads what is to be dressed. `changes` are `path=value` as `--set` takes them.
pub fn read(path: &Path, changes: &[String]) -> Result<DressScene, SceneError> {
    let (name, text, folder) = read_text(path)?;
    let file = tables(&name, &text, changes)?;
    let table = changed_table(&text, changes)?;
    build(&file, table, &folder).map_err(|problem| at_its_line(&name, &text, &problem))
}

fn build(file: &SceneFile, table: toml::Table, folder: &Path) -> Result<DressScene, Problem> {
    let root = Place(Vec::new());
    check(&file.dress, &root.at("dress"))?;
    if file.cloth.is_empty() {
        return root.at("cloth").fail("the scene has no cloth; add a [[cloth]] table");
    }
    let mut cloths: Vec<DressCloth> = Vec::new();
    for (index, table) in file.cloth.iter().enumerate() {
        let place = root.at("cloth").at(index);
        let cloth = cloth(file, table, index, folder, &place)?;
        if cloths.iter().any(|other| other.wish.name == cloth.wish.name) {
            return place.at("name").fail(format!("{}: another cloth has this name", cloth.wish.name));
        }
        cloths.push(cloth);
    }
    let mut bodies = Vec::new();
    for (index, table) in file.body.iter().enumerate() {
        let place = root.at("body").at(index);
        let body = body::body(table, index, folder, &place)?;
        if table.mesh.is_some() || table.sequence.is_some() {
            check_closed(&body, &place)?;
        }
        bodies.push(body);
    }
    let edge = mean_edge(&cloths);
    let surfaces = Surfaces::new(&bodies, edge);
    let stand = surfaces.positions_at(&bodies, Moment::at(file.dress.time));
    let carried_from = file.dress.carry_from.map(|time| surfaces.positions_at(&bodies, Moment::at(time)));
    let mut first = 0;
    let mut standing = Vec::new();
    for (body, mesh) in bodies.iter().zip(surfaces.meshes()) {
        let positions = stand[first..first + mesh.positions.len()].to_vec();
        first += positions.len();
        standing.push((body.name.clone(), TriMesh { positions, triangles: mesh.triangles.clone() }));
    }
    let body_thickness = bodies.iter().map(|body| body.thickness).fold(0.0, f64::max);
    let settings = file.dress.clone();
    Ok(DressScene {
        settings,
        cloths,
        bodies: standing,
        carried_from,
        body_thickness,
        table,
        folder: folder.to_owned(),
    })
}

fn check(settings: &DressSettings, place: &Place) -> Result<(), Problem> {
    place.at("time").finite(&[settings.time])?;
    place.at("carry-from").finite(&[settings.carry_from.unwrap_or(0.0)])?;
    place.at("reach").positive(settings.reach)?;
    place.at("fade").not_negative(settings.fade)?;
    if !(settings.step > 0.0 && settings.step <= 1.0) {
        return place.at("step").fail(format!("{}; expected a number above 0 and at most 1", settings.step));
    }
    for (key, rounds, most) in [("rounds", settings.rounds, 1000), ("settle-rounds", settings.settle_rounds, 10_000)] {
        if rounds > most {
            return place.at(key).fail(format!("{rounds}; expected 0 to {most}"));
        }
    }
    Ok(())
}

fn cloth(
    file: &SceneFile,
    table: &ClothTable,
    index: usize,
    folder: &Path,
    place: &Place,
) -> Result<DressCloth, Problem> {
    if table.copies.is_some() {
        return place.at("copies").fail("copies are for unsnarl sim; give each garment a table");
    }
    if table.pattern.is_some() {
        return place.at("pattern").fail("panels are no garment yet; sew them with unsnarl sim, then dress the result");
    }
    let given = [table.mesh.is_some(), table.sheet.is_some(), table.disc.is_some()];
    if given.iter().filter(|&&given| given).count() != 1 {
        return place.fail("expected exactly one of mesh, sheet and disc");
    }
    place.at("position").finite(&table.position)?;
    place.at("rotation").finite(&table.rotation)?;
    let (path, mut mesh) = match &table.mesh {
        Some(name) => {
            let options =
                ReadOptions { keep_source: KeepSource::ForWriting, ..read_options(table.units.as_deref(), place)? };
            let path = folder.join(name);
            let wrong = |text: String| Problem { path: place.at("mesh").0, text };
            let mesh = mesh::read(&path, &options).map_err(|error| wrong(error.to_string()))?;
            let refusal =
                mesh::inspect(&mesh).into_iter().find(|finding| finding.severity() == mesh::Severity::Refusal);
            if let Some(finding) = refusal {
                return Err(wrong(format!("{}: {finding}", path.display())));
            }
            (Some(path), mesh)
        }
        None => {
            let (mesh, uv) = plain(table, place)?;
            (None, MeshFile::new(mesh, Some(uv)))
        }
    };
    let stem = || path.as_deref().and_then(Path::file_stem).map(|stem| stem.to_string_lossy().into_owned());
    let name = table.name.clone().or_else(stem).unwrap_or_else(|| format!("cloth-{index}"));
    let sidecar = path.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.obj")));
    let garment =
        garment_file::build_garment(&sidecar, &mesh).or_else(|error| place.at("mesh").fail(error.to_string()))?;
    let (turn, shift) = (turn(table.rotation), DVec3::from_array(table.position));
    if table.position != [0.0; 3] || table.rotation != [0.0; 3] {
        mesh.mesh.positions.iter_mut().for_each(|point| *point = turn * *point + shift);
    }
    let fabric = fabric(file, table.fabric.as_deref().unwrap_or("cotton"), &place.at("fabric"))?;
    let weight = match table.weight {
        Some(weight) => place.at("weight").positive(weight)?,
        None => (fabric.bend / Fabric::default().bend).sqrt().clamp(0.1, 10.0),
    };
    let thickness = match table.thickness {
        Some(thickness) => place.at("thickness").not_negative(thickness)?,
        None => fabric.thickness.max(THINNEST),
    };
    let layer = table.layer.unwrap_or(garment.layer);
    let front = if table.flip { Front::Turned } else { Front::AsGiven };
    Ok(DressCloth { path, file: mesh, garment, wish: GarmentWish { name, layer, weight, thickness, front } })
}

/// A rigid layer has an inside.
fn check_closed(body: &Body, place: &Place) -> Result<(), Problem> {
    let surfaces = Surfaces::new(std::slice::from_ref(body), 1.0);
    let Some(mesh) = surfaces.meshes().first() else { return Ok(()) };
    let topology = Topology::new(mesh.positions.len(), &mesh.triangles)
        .or_else(|error| place.at("mesh").fail(error.to_string()))?;
    let open = topology.triangles().is_empty() || topology.boundary_loops().iter().any(|border| !border.is_empty());
    if open { place.at("mesh").fail("the body is open; a rigid layer has an inside: close its holes") } else { Ok(()) }
}

fn mean_edge(cloths: &[DressCloth]) -> f64 {
    let (mut sum, mut count) = (0.0, 0_usize);
    for cloth in cloths {
        for corners in &cloth.file.mesh.triangles {
            let [a, b] = [corners[0], corners[1]].map(|corner| cloth.file.mesh.positions[corner as usize]);
            sum += a.distance(b);
            count += 1;
        }
    }
    (sum / count.max(1) as f64).max(1e-6)
}

impl DressScene {
    /// The scene to simulate from here, as text: these meshes in place of the garments, from the folder of the new
    /// file.
    pub fn dressed(&self, folder: &Path, targets: &[PathBuf]) -> String {
        let mut table = self.table.clone();
        table.remove("dress");
        if let Some(toml::Value::Array(cloths)) = table.get_mut("cloth") {
            for ((cloth, target), own) in cloths.iter_mut().zip(targets).zip(&self.cloths) {
                let toml::Value::Table(cloth) = cloth else { continue };
                for key in ["sheet", "disc", "position", "rotation"] {
                    cloth.remove(key);
                }
                let name = target.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
                cloth.insert("mesh".to_owned(), toml::Value::String(name));
                cloth.insert("name".to_owned(), toml::Value::String(own.wish.name.clone()));
            }
        }
        if let Some(toml::Value::Array(bodies)) = table.get_mut("body") {
            for body in bodies.iter_mut().filter_map(toml::Value::as_table_mut) {
                self.move_body(body, folder);
            }
        }
        toml::to_string(&table).unwrap_or_default()
    }

    /// A body in the new file: its paths from there, its clock from the time of the dressing.
    fn move_body(&self, body: &mut toml::Table, folder: &Path) {
        let time = self.settings.time;
        let path_of = |name: &str| between(folder, &self.folder.join(name));
        if let Some(toml::Value::String(name)) = body.get_mut("mesh") {
            *name = path_of(name);
        }
        if time != 0.0 && body.contains_key("clip") {
            let start = body.get("clip-start").and_then(as_number).unwrap_or(0.0);
            body.insert("clip-start".to_owned(), toml::Value::Float(start - time));
        }
        if let Some(toml::Value::Table(sequence)) = body.get_mut("sequence") {
            if let Some(toml::Value::String(name)) = sequence.get_mut("files") {
                *name = path_of(name);
            }
            let start = sequence.get("start").and_then(as_number).unwrap_or(0.0);
            sequence.insert("start".to_owned(), toml::Value::Float(start - time));
        }
        if let Some(toml::Value::Array(keys)) = body.get_mut("keys") {
            for key in keys.iter_mut().filter_map(toml::Value::as_table_mut) {
                let at = key.get("time").and_then(as_number).unwrap_or(0.0);
                key.insert("time".to_owned(), toml::Value::Float(at - time));
            }
        }
    }
}

fn as_number(value: &toml::Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|number| number as f64))
}

/// The way from a folder to a file, with slashes.
fn between(folder: &Path, file: &Path) -> String {
    let whole =
        |path: &Path| std::path::absolute(path).map(|path| plain_path(&path)).unwrap_or_else(|_| path.to_owned());
    let (folder, file) = (whole(folder), whole(file));
    let common = folder.components().zip(file.components()).take_while(|(a, b)| a == b).count();
    let up = folder.components().skip(common).map(|_| "..".to_owned());
    let down = file.components().skip(common).map(|part| part.as_os_str().to_string_lossy().into_owned());
    up.chain(down).collect::<Vec<_>>().join("/")
}

/// A path without `.` and `..`.
fn plain_path(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_found_from_another_folder() {
        assert_eq!(between(Path::new("/a/b/out"), Path::new("/a/b/../c/body.obj")), "../../c/body.obj");
        assert_eq!(between(Path::new("/a/b"), Path::new("/a/b/c.obj")), "c.obj");
    }
}
