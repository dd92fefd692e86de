//! From the tables of a scene file to a world.

use super::format::{
    ClothTable, DiagonalsChoice, FabricTable, KeyTable, PatternTable, PinTable, RestAnglesChoice, SceneFile,
    SettingsTable, SewingChoice,
};
use super::lines::Key;
use super::{Scene, body, copies, field, flypaper, folds, rest_fields, rigid};
use crate::garment_file;
use crate::mesh::{self, KeepSource, LengthUnit, MeshFile, ReadOptions};
use crate::pattern_file;
use std::path::Path;
use unsnarl::bodies::keyframes::{Keyframe, Keyframes};
use unsnarl::model::{Cloth, Model, ModelError, Rest, RestAngles, Stitch};
use unsnarl::scene::environment::{Environment, Wind};
use unsnarl::scene::fabric::Fabric;
use unsnarl::scene::garment::{Garment, RestChoice};
use unsnarl::scene::pattern::PatternMesh;
use unsnarl::scene::sheet::{Diagonals, disc, sheet};
use unsnarl::settings::Settings;
use unsnarl::simulation::{Handle, World};
use unsnarl_geometry::math::{DQuat, DVec2, DVec3};
use unsnarl_geometry::{TriangleId, UvMap, VertexId};

/// The largest size of a body, metres.
const LARGEST: f64 = 1e6;
/// The most vertices that a plain sheet may ask for.
const LARGEST_SHEET: u64 = 4_000_000;

/// What is wrong, and where.
pub struct Problem {
    pub path: Vec<Key>,
    pub text: String,
}

/// Where we are in the file.
#[derive(Clone)]
pub(super) struct Place(pub(super) Vec<Key>);

impl Place {
    pub(super) fn at(&self, key: impl Into<Key>) -> Self {
        let mut path = self.0.clone();
        path.push(key.into());
        Self(path)
    }

    pub(super) fn fail<T>(&self, text: impl Into<String>) -> Result<T, Problem> {
        Err(Problem { path: self.0.clone(), text: text.into() })
    }

    pub(super) fn positive(&self, value: f64) -> Result<f64, Problem> {
        if value.is_finite() && value > 0.0 {
            Ok(value)
        } else {
            self.fail(format!("{value}; expected a number above 0"))
        }
    }

    /// A size of a body, metres: products of such sizes are ordinary numbers.
    pub(super) fn size(&self, value: f64) -> Result<f64, Problem> {
        if self.positive(value)? <= LARGEST {
            Ok(value)
        } else {
            self.fail(format!("{value}; expected at most {LARGEST} metres"))
        }
    }

    pub(super) fn not_negative(&self, value: f64) -> Result<f64, Problem> {
        if value.is_finite() && value >= 0.0 {
            Ok(value)
        } else {
            self.fail(format!("{value}; expected a number of at least 0"))
        }
    }

    pub(super) fn finite(&self, values: &[f64]) -> Result<(), Problem> {
        if values.iter().all(|value| value.is_finite()) { Ok(()) } else { self.fail("expected ordinary numbers") }
    }
}

/// Builds everything.
pub fn build(file: &SceneFile, folder: &Path, words: String) -> Result<Scene, Problem> {
    check_settings(file, &Place(Vec::new()))?;
    let (expanded, origins) = copies::expand(file)?;
    build_expanded(&expanded, folder, words).map_err(|problem| copies::at_origin(problem, &origins))
}

/// The same for a scene without copies.
fn build_expanded(file: &SceneFile, folder: &Path, words: String) -> Result<Scene, Problem> {
    let root = Place(Vec::new());
    let mut remarks = Vec::new();
    let environment = environment(file, &root)?;
    if file.cloth.is_empty() && file.rigid.is_empty() {
        return root.at("cloth").fail("the scene has no cloth; add a [[cloth]] table, or [[rigid]] bodies");
    }
    let mut cloths = Vec::new();
    let mut panels = Vec::new();
    let mut garments = Vec::new();
    for (index, table) in file.cloth.iter().enumerate() {
        let place = root.at("cloth").at(index);
        let (cloth, uv, garment) = cloth(file, table, index, folder, &place, &mut remarks)?;
        cloths.push(cloth);
        panels.push(uv);
        garments.push(garment);
    }
    let mut handles = Vec::new();
    let mut first_vertex = 0;
    for (index, table) in file.cloth.iter().enumerate() {
        for (number, pin) in table.pin.iter().enumerate() {
            let place = root.at("cloth").at(index).at("pin").at(number);
            handles.extend(pins(pin, &mut cloths[index], first_vertex, &place)?);
        }
        first_vertex += cloths[index].mesh.positions.len();
    }
    let mut bodies = (file.body.iter().enumerate())
        .map(|(index, table)| body::body(table, index, folder, &root.at("body").at(index)))
        .collect::<Result<Vec<_>, _>>()?;
    let (model, mut state) = Model::build(&cloths).map_err(|error| Problem {
        path: match &error {
            ModelError::Fabric { fabric, .. } => vec![Key::from("fabric"), Key::from(fabric.as_str())],
            _ => vec![Key::from("cloth")],
        },
        text: error.to_string(),
    })?;
    let rigid::RigidParts { world: rigid, state: rigid_state, groups } =
        rigid::rigid(file, folder, &mut bodies, &root, &mut remarks)?;
    state.rigid = rigid_state;
    let mut world = World::with_rigid(model, environment, bodies, handles, rigid)
        .map_err(|error| Problem { path: vec![Key::from("body")], text: error.to_string() })?;
    world.design = folds::design(file, &cloths, &garments, &root.at("untangle"))?;
    world.flypaper_weights = flypaper::weights(file, &world, &state.positions, &root)?;
    field::check_size(file, &world, &state.positions, &root, &mut remarks)?;
    Ok(Scene {
        title: file.scene.title.clone(),
        world,
        state,
        settings: settings(file),
        frames: file.scene.frames,
        frame_rate: file.scene.frame_rate,
        refine: file.output.refine,
        panels,
        rigid: groups,
        words,
        remarks,
    })
}

fn settings(file: &SceneFile) -> Settings {
    let SettingsTable { time, dynamics, rigid, coupling } = file.settings.clone();
    let (collision, untangle) = (file.collision.clone(), file.untangle.clone());
    Settings { time, dynamics, collision, untangle, rigid, coupling }
}

fn check_settings(file: &SceneFile, root: &Place) -> Result<(), Problem> {
    let scene = root.at("scene");
    scene.at("frame-rate").positive(file.scene.frame_rate)?;
    if file.scene.frames == 0 || file.scene.frames > 1_000_000 {
        return scene.at("frames").fail(format!("{}; expected 1 to 1000000", file.scene.frames));
    }
    if file.output.refine > 6 {
        return root.at("output").at("refine").fail(format!("{}; expected 0 to 6 levels", file.output.refine));
    }
    let time = root.at("settings").at("time");
    time.at("step").positive(file.settings.time.step)?;
    if file.settings.time.step < 1e-7 {
        return time.at("step").fail(format!("{}; expected at least 1e-7 seconds", file.settings.time.step));
    }
    time.at("stretch-change").positive(file.settings.time.stretch_change)?;
    let own = &file.settings.time;
    for (key, halvings) in [("halvings", own.halvings), ("collision-halvings", own.collision_halvings)] {
        if halvings > 20 {
            return time.at(key).fail(format!("{halvings}; expected 0 to 20"));
        }
    }
    let dynamics = root.at("settings").at("dynamics");
    dynamics.at("tolerance").positive(file.settings.dynamics.tolerance)?;
    dynamics.at("sewing").not_negative(file.settings.dynamics.sewing)?;
    dynamics.at("sewing-time").not_negative(file.settings.dynamics.sewing_time)?;
    let springs = dynamics.at("mass-spring");
    let own = &file.settings.dynamics.mass_spring;
    springs.at("strain-rate").positive(own.strain_rate)?;
    if !(own.step.is_finite() && own.step >= 0.0) {
        return springs.at("step").fail(format!("{}; expected a number of at least 0", own.step));
    }
    rigid::check_settings(&file.settings, &root.at("settings"))?;
    check_collision(file, &root.at("collision"))?;
    check_untangling(file, &root.at("untangle"))
}

fn check_collision(file: &SceneFile, place: &Place) -> Result<(), Problem> {
    let settings = &file.collision;
    place.at("separation").positive(settings.separation)?;
    let numbers =
        [("stiffness", settings.stiffness), ("recovery", settings.recovery), ("tip-radius", settings.tip_radius)];
    for (key, value) in numbers {
        place.at(key).not_negative(value)?;
    }
    field::check_settings(&settings.field, &place.at("field"))
}

fn check_untangling(file: &SceneFile, place: &Place) -> Result<(), Problem> {
    let settings = &file.untangle;
    let gamma = place.at("gamma").positive(settings.gamma)?;
    if gamma >= 1.0 {
        return place.at("gamma").fail(format!("{gamma}; expected a number below 1"));
    }
    place.at("red-green-separation").not_negative(settings.red_green_separation)?;
    place.at("tear-stiffening").positive(settings.tear_stiffening)?;
    let strip = place.at("tear").at("strip-stiffness");
    if !(0.0..=1.0).contains(&settings.tear.strip_stiffness) {
        return strip.fail(format!("{}; expected 0 to 1", settings.tear.strip_stiffness));
    }
    Ok(())
}

fn environment(file: &SceneFile, root: &Place) -> Result<Environment, Problem> {
    let (scene, place) = (&file.scene, root.at("scene"));
    place.at("gravity").finite(&scene.gravity)?;
    if !(scene.air_density.is_finite() && scene.air_density >= 0.0) {
        return place.at("air-density").fail(format!("{}; expected a number of at least 0", scene.air_density));
    }
    let wind = place.at("wind");
    wind.at("velocity").finite(&scene.wind.velocity)?;
    wind.at("gust-period").positive(scene.wind.gust_period)?;
    if !(0.0..=1.0).contains(&scene.wind.gusts) {
        return wind.at("gusts").fail(format!("{}; expected 0 to 1", scene.wind.gusts));
    }
    Ok(Environment {
        gravity: DVec3::from_array(scene.gravity),
        air_density: scene.air_density,
        wind: Wind {
            velocity: DVec3::from_array(scene.wind.velocity),
            gusts: scene.wind.gusts,
            gust_period: scene.wind.gust_period,
        },
    })
}

fn cloth(
    file: &SceneFile,
    table: &ClothTable,
    index: usize,
    folder: &Path,
    place: &Place,
    remarks: &mut Vec<String>,
) -> Result<(Cloth, Option<UvMap>, Option<Garment>), Problem> {
    let name = table.name.clone().unwrap_or_else(|| format!("cloth {index}"));
    let given = [table.mesh.is_some(), table.sheet.is_some(), table.disc.is_some(), table.pattern.is_some()];
    if given.iter().filter(|&&given| given).count() != 1 {
        return place.fail("expected exactly one of mesh, sheet, disc and pattern");
    }
    let fabric = fabric(file, table.fabric.as_deref().unwrap_or("cotton"), &place.at("fabric"))?;
    let (mut cloth, uv, garment) = if let Some(path) = &table.mesh {
        mesh_cloth(file, table, &name, &folder.join(path), place, remarks)?
    } else if let Some(pattern) = &table.pattern {
        let (cloth, uv) = pattern_cloth(table, pattern, name, folder, &place.at("pattern"), remarks)?;
        (cloth, uv, None)
    } else {
        let (mesh, uv) = plain(table, place)?;
        (Cloth { rest: Rest::Panels(uv.clone()), ..Cloth::new(name, mesh) }, Some(uv), None)
    };
    cloth.fabric = fabric;
    if table.rest_angles == RestAnglesChoice::AsLoaded {
        cloth.rest_angles = RestAngles::AsLoaded;
    }
    place.at("position").finite(&table.position)?;
    place.at("rotation").finite(&table.rotation)?;
    let (turn, shift) = (turn(table.rotation), DVec3::from_array(table.position));
    for point in &mut cloth.mesh.positions {
        *point = turn * *point + shift;
    }
    Ok((cloth, uv, garment))
}

pub(super) fn plain(table: &ClothTable, place: &Place) -> Result<(unsnarl_geometry::TriMesh, UvMap), Problem> {
    if let Some(round) = &table.disc {
        let place = place.at("disc");
        place.at("radius").positive(round.radius)?;
        if round.rings == 0 || u64::from(round.rings) * u64::from(round.rings) * 3 > LARGEST_SHEET {
            return place.at("rings").fail(format!("{}; expected 1 to 1100", round.rings));
        }
        return Ok(disc(round.radius, round.rings as usize));
    }
    let Some(plain) = &table.sheet else { return place.fail("expected a sheet") };
    let place = place.at("sheet");
    for size in plain.size {
        place.at("size").positive(size)?;
    }
    let [columns, rows] = plain.cells;
    if columns == 0 || rows == 0 || u64::from(columns) * u64::from(rows) > LARGEST_SHEET {
        return place.at("cells").fail(format!("{columns} x {rows}; expected 1 x 1 to {LARGEST_SHEET} squares"));
    }
    let diagonals = match plain.diagonals {
        DiagonalsChoice::Alternating => Diagonals::Alternating,
        DiagonalsChoice::OneWay => Diagonals::OneWay,
        DiagonalsChoice::Equilateral => Diagonals::Equilateral,
    };
    let size = DVec2::from_array(plain.size);
    let (mut mesh, uv) = sheet(size, columns as usize, rows as usize, diagonals);
    for point in &mut mesh.positions {
        *point -= DVec3::new(0.5 * size.x, 0.5 * size.y, 0.0);
    }
    Ok((mesh, uv))
}

/// The panels of a sewing pattern, where it places them, and threads along its seams.
fn pattern_cloth(
    table: &ClothTable,
    pattern: &PatternTable,
    name: String,
    folder: &Path,
    place: &Place,
    remarks: &mut Vec<String>,
) -> Result<(Cloth, Option<UvMap>), Problem> {
    let spacing = place.at("edge-length").positive(pattern.edge_length)?;
    let path = folder.join(&pattern.file);
    let wrong = |text: String| Problem { path: place.at("file").0, text };
    let sewing = pattern_file::read(&path).map_err(|error| wrong(error.to_string()))?;
    let made = sewing.mesh(spacing).map_err(|error| wrong(format!("{}: {error}", path.display())))?;
    let PatternMesh { mesh, panels, stitches } = made;
    remarks.push(format!(
        "{name}: {} panels, {} vertices, {} sewing threads",
        sewing.panels.len(),
        mesh.positions.len(),
        stitches.len()
    ));
    let stitches = if table.sewing == SewingChoice::On { stitches } else { Vec::new() };
    let cloth = Cloth { rest: Rest::Panels(panels.clone()), stitches, ..Cloth::new(name, mesh) };
    Ok((cloth, Some(panels)))
}

fn mesh_cloth(
    file: &SceneFile,
    table: &ClothTable,
    name: &str,
    path: &Path,
    place: &Place,
    remarks: &mut Vec<String>,
) -> Result<(Cloth, Option<UvMap>, Option<Garment>), Problem> {
    let options = read_options(table.units.as_deref(), place)?;
    let wrong = |error: String| Problem { path: place.at("mesh").0, text: error };
    let mesh = mesh::read(path, &options).map_err(|error| wrong(error.to_string()))?;
    let garment = garment_file::build_garment(path, &mesh).map_err(|error| wrong(error.to_string()))?;
    remarks.push(format!("{name}: {} vertices, rest shape: {:?}", mesh.mesh.positions.len(), garment.rest_source));
    let edges = garment.topology.edges();
    let own_choice = garment_file::read_beside(path)
        .map_err(|error| wrong(error.to_string()))?
        .is_some_and(|sidecar| sidecar.description.rest != RestChoice::Auto);
    let (rest_shapes, mut creases) = match mesh.rest.as_ref().filter(|_| !own_choice) {
        Some(rest) => rest_fields::apply(rest, &garment),
        None => (garment.rest_shapes.clone(), Vec::new()),
    };
    let of_sidecar = garment.creases.iter().map(|crease| (edges[crease.edge.index()], crease.rest_angle));
    creases.extend(of_sidecar);
    let mut panel_fabrics = Vec::new();
    for (panel, fabric_name) in garment.panel_fabrics.iter().enumerate() {
        let Some(fabric_name) = fabric_name else { continue };
        let triangles: Vec<TriangleId> = (0..mesh.mesh.triangles.len())
            .map(TriangleId::new)
            .filter(|triangle| garment.panels.of_triangle[triangle.index()].index() == panel)
            .collect();
        panel_fabrics.push((triangles, fabric(file, fabric_name, &place.at("mesh"))?));
    }
    let stitches = if table.sewing == SewingChoice::On { stitches(&mesh) } else { Vec::new() };
    let uv = mesh.uv.clone();
    let cloth = Cloth {
        rest: Rest::Shapes(rest_shapes),
        rest_angles: RestAngles::Creases(creases),
        panel_fabrics,
        pins: garment.pins.clone(),
        stitches,
        ..Cloth::new(name, mesh.mesh)
    };
    Ok((cloth, uv, Some(garment)))
}

pub(super) fn read_options(units: Option<&str>, place: &Place) -> Result<ReadOptions, Problem> {
    let units = match units {
        None => None,
        Some(word) => match LengthUnit::from_name(word) {
            Some(unit) => Some(unit),
            None => return place.at("units").fail(format!("{word}; expected mm, cm, dm or m")),
        },
    };
    Ok(ReadOptions { units, keep_source: KeepSource::Forget, ..ReadOptions::default() })
}

/// Stitch lines, and line segments between vertices that no triangle joins.
fn stitches(mesh: &MeshFile) -> Vec<Stitch> {
    let lines = mesh.lines.iter().map(|&[a, b]| Stitch::pair(VertexId(a), VertexId(b)));
    let sewn = mesh.stitches.iter().map(|stitch| Stitch {
        vertices: [stitch.vertex, stitch.edge[0], stitch.edge[1]].map(VertexId),
        weight: stitch.weight,
    });
    sewn.chain(lines).filter(|stitch| stitch.vertices[0] != stitch.vertices[1]).collect()
}

pub(super) fn fabric(file: &SceneFile, name: &str, place: &Place) -> Result<Fabric, Problem> {
    let known = |name: &str| {
        let presets: Vec<&str> = Fabric::preset_names().collect();
        format!("no fabric {name}; expected a [fabric.{name}] table or one of {}", presets.join(", "))
    };
    let Some(table) = file.fabric.get(name) else {
        return Fabric::preset(name).map_or_else(|| place.fail(known(name)), Ok);
    };
    let like = table.like.as_deref().unwrap_or("cotton");
    let own = Place(vec![Key::from("fabric"), Key::from(name)]);
    let Some(base) = Fabric::preset(like) else { return own.at("like").fail(known(like)) };
    if table.density.is_some() && table.grams_per_square_metre.is_some() {
        return own.at("density").fail("give density or grams-per-square-metre, not both");
    }
    Ok(changed(base, name, table))
}

fn changed(base: Fabric, name: &str, table: &FabricTable) -> Fabric {
    Fabric {
        name: name.to_owned(),
        density: table.density.or(table.grams_per_square_metre.map(|grams| grams * 1e-3)).unwrap_or(base.density),
        stretch_warp: table.stretch_warp.unwrap_or(base.stretch_warp),
        stretch_weft: table.stretch_weft.unwrap_or(base.stretch_weft),
        shear: table.shear.unwrap_or(base.shear),
        bend: table.bend.unwrap_or(base.bend),
        stretch_damping: table.stretch_damping.unwrap_or(base.stretch_damping),
        bend_damping: table.bend_damping.unwrap_or(base.bend_damping),
        thickness: table.thickness.unwrap_or(base.thickness),
        friction: table.friction.unwrap_or(base.friction),
        stretch_limit: table.stretch_limit.unwrap_or(base.stretch_limit),
        compression_limit: table.compression_limit.unwrap_or(base.compression_limit),
    }
}

/// Vertices without a motion or an end become pins of the cloth; the others a handle.
fn pins(table: &PinTable, cloth: &mut Cloth, first_vertex: usize, place: &Place) -> Result<Option<Handle>, Problem> {
    let positions = &cloth.mesh.positions;
    let vertices = chosen(&table.vertices, table.region, positions, &cloth.name, place)?;
    if table.keys.is_empty() && table.release.is_none() {
        cloth.pins.extend(vertices.iter().map(|&vertex| VertexId::new(vertex)));
        return Ok(None);
    }
    let motion = keyframes(&table.keys, &place.at("keys"))?;
    let middle = vertices.iter().map(|&vertex| positions[vertex]).sum::<DVec3>() / vertices.len() as f64;
    let keys = motion.keys().iter().map(|key| Keyframe { position: key.position + middle, ..*key }).collect();
    Ok(Some(Handle {
        home: vertices.iter().map(|&vertex| positions[vertex] - middle).collect(),
        vertices: vertices.iter().map(|&vertex| VertexId::new(vertex + first_vertex)).collect(),
        motion: Keyframes::new(keys),
        release: table.release.unwrap_or(f64::INFINITY),
    }))
}

/// The vertices that are listed and those in a box, sorted; at least one.
pub(super) fn chosen(
    listed: &[u32],
    region: Option<[[f64; 3]; 2]>,
    positions: &[DVec3],
    name: &str,
    place: &Place,
) -> Result<Vec<usize>, Problem> {
    let mut vertices = Vec::new();
    for (index, &vertex) in listed.iter().enumerate() {
        if vertex as usize >= positions.len() {
            let text = format!("vertex {vertex}; {name} has {}", positions.len());
            return place.at("vertices").at(index).fail(text);
        }
        vertices.push(vertex as usize);
    }
    if let Some([a, b]) = region.map(|corners| corners.map(DVec3::from_array)) {
        let (low, high) = (a.min(b), a.max(b));
        let inside = |point: DVec3| low.cmple(point).all() && point.cmple(high).all();
        vertices.extend((0..positions.len()).filter(|&vertex| inside(positions[vertex])));
    }
    vertices.sort_unstable();
    vertices.dedup();
    if vertices.is_empty() {
        return place.fail("takes no vertex; give vertices, or a box around some of them at the start");
    }
    Ok(vertices)
}

pub(super) fn keyframes(keys: &[KeyTable], place: &Place) -> Result<Keyframes, Problem> {
    for (index, key) in keys.iter().enumerate() {
        let place = place.at(index);
        place.at("time").finite(&[key.time])?;
        place.at("position").finite(&key.position)?;
        place.at("rotation").finite(&key.rotation)?;
    }
    Ok(Keyframes::new(
        keys.iter()
            .map(|key| Keyframe {
                time: key.time,
                position: DVec3::from_array(key.position),
                rotation: turn(key.rotation),
            })
            .collect(),
    ))
}

/// Turns about x, then y, then z.
pub(super) fn turn(degrees: [f64; 3]) -> DQuat {
    let [x, y, z] = degrees.map(f64::to_radians);
    DQuat::from_rotation_z(z) * DQuat::from_rotation_y(y) * DQuat::from_rotation_x(x)
}
