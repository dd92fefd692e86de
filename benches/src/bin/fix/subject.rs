//! What is untangled: made cases with their layers, styles and creases, and real garments with their bodies.

use std::path::{Path, PathBuf};
use unsnarl::analysis::{Assembly, PartKind};
use unsnarl::fix::{FixSettings, Patient};
use unsnarl::model::RestAngles;
use unsnarl::rest_shape::RestShape;
use unsnarl::samples::random::Random;
use unsnarl::samples::{Case, Cut, Family, Recipe};
use unsnarl::scene::garment::{Garment, GarmentInput, TriangleGroups};
use unsnarl::scene::workpiece::{Setup, Workpiece};
use unsnarl_geometry::math::DQuat;
use unsnarl_geometry::{DVec3, TriMesh};
use unsnarl_io::garment_file;
use unsnarl_io::mesh::{self, MeshFile, ReadOptions};

/// A tangled garment, ready to be untangled as the command would.
pub struct Subject {
    /// Cloth, bodies and their state.
    pub patient: Patient,
    /// With layers and styles.
    pub settings: FixSettings,
}

impl Subject {
    /// A made case. Exploded handkerchiefs are flat at rest, all others keep the angles that they are made with.
    pub fn made(case: &Case, recipe: &Recipe) -> Self {
        let mut sample = case.make(recipe);
        if recipe.cut == Cut::Regular && case.family != Family::Exploded {
            // Seeds change nothing else here.
            let turn = DQuat::from_axis_angle(DVec3::new(1.0, 2.0, 3.0).normalize(), recipe.seed as f64);
            sample.mesh.positions.iter_mut().for_each(|place| *place = turn * *place);
        }
        let names: Vec<String> = sample.parts.iter().map(|part| part.name.clone()).collect();
        let groups = TriangleGroups { names: &names, of_triangle: &sample.part_of_triangle() };
        let input = GarmentInput { groups, ..GarmentInput::new(&sample.mesh, Some(&sample.uv)) };
        let garment = Garment::build(&input, &sample.description).expect("samples are sound");
        let mut layers = vec![0; sample.mesh.positions.len()];
        for part in &sample.parts {
            for corner in sample.mesh.triangles[part.triangles.clone()].iter().flatten() {
                layers[*corner as usize] = part.layer.map_or(0, |layer| layer as i32);
            }
        }
        let angles = match case.family {
            Family::Exploded => RestAngles::Flat,
            _ => RestAngles::AsLoaded,
        };
        let mut subject = Self::of_garment((case.name, &sample.mesh), garment, angles, &[]);
        subject.settings.vertices.layers = layers;
        subject
    }

    /// A garment from a file, with bodies and, if it is not its own, the mesh that it is at rest.
    pub fn read(garment: &Path, bodies: &[&Path], rest: Option<&Path>) -> Result<Self, String> {
        let file = read(garment)?;
        let mut built = garment_file::build_garment(garment, &file).map_err(|error| error.to_string())?;
        if let Some(rest) = rest {
            let rest = read(rest)?.mesh;
            let shape =
                |corners: &[u32; 3]| RestShape::from_world(corners.map(|corner| rest.positions[corner as usize]));
            built.rest_shapes = rest.triangles.iter().map(shape).collect();
        }
        let bodies: Vec<TriMesh> =
            bodies.iter().map(|body| read(body).map(|file| file.mesh)).collect::<Result<_, String>>()?;
        let name = garment.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        Ok(Self::of_garment((&name, &file.mesh), built, RestAngles::AsLoaded, &bodies))
    }

    /// Garments from files over each other, the first one innermost.
    pub fn read_layers(garments: &[PathBuf]) -> Result<Self, String> {
        let files: Vec<MeshFile> = garments.iter().map(|path| read(path)).collect::<Result<_, String>>()?;
        let build = |(path, file): (&PathBuf, &MeshFile)| garment_file::build_garment(path, file);
        let built = garments.iter().zip(&files).map(build).collect::<Result<Vec<Garment>, _>>();
        let built = built.map_err(|error| error.to_string())?;
        let part = |(at, file): (usize, &MeshFile)| (format!("layer {at}"), PartKind::Cloth, file.mesh.positions.len());
        let parts = files.iter().enumerate().map(part).zip(&files);
        let parts = parts.map(|((name, kind, count), file)| (name, kind, count, file.mesh.triangles.as_slice()));
        let assembly = Assembly::new(parts).map_err(|error| error.to_string())?;
        let positions: Vec<DVec3> = files.iter().flat_map(|file| file.mesh.positions.iter().copied()).collect();
        let rest_angles = RestAngles::AsLoaded;
        let setup = Setup { assembly, positions: &positions, garments: built, rest: Vec::new(), rest_angles };
        let workpiece = Workpiece::build(setup).map_err(|error| error.to_string())?;
        let mut settings = workpiece.settings();
        let layer = |(at, file): (usize, &MeshFile)| vec![at as i32; file.mesh.positions.len()];
        settings.vertices.layers = files.iter().enumerate().flat_map(layer).collect();
        Ok(Self { patient: workpiece.patient(), settings })
    }

    /// The same garment with one place exploded: vertices within six mean edges of a random one are thrown by up to three.
    pub fn with_exploded_place(mut self, seed: u64) -> Self {
        const REACH: f64 = 6.0;
        const THROW: f64 = 3.0;
        let mut random = Random::new(seed);
        let positions = &mut self.patient.state.positions;
        let topology = &self.patient.model.topology;
        let lengths = topology.edges().iter().map(|[from, to]| positions[from.index()].distance(positions[to.index()]));
        let edge = lengths.sum::<f64>() / topology.edge_count() as f64;
        let middle = positions[(random.unit() * positions.len() as f64) as usize];
        for place in positions.iter_mut().filter(|place| place.distance(middle) < REACH * edge) {
            *place += THROW * edge * random.between(0.0, 1.0) * random.direction();
        }
        self
    }

    fn of_garment(
        (name, mesh): (&str, &TriMesh),
        garment: Garment,
        rest_angles: RestAngles,
        bodies: &[TriMesh],
    ) -> Self {
        let part = |mesh: &TriMesh, kind| (name.to_owned(), kind, mesh.positions.len(), mesh.triangles.clone());
        let parts: Vec<_> = std::iter::once(part(mesh, PartKind::Cloth))
            .chain(bodies.iter().map(|body| part(body, PartKind::Body)))
            .collect();
        let parts =
            parts.iter().map(|(name, kind, count, triangles)| (name.clone(), *kind, *count, triangles.as_slice()));
        let assembly = Assembly::new(parts).expect("the garment is sound");
        let meshes = std::iter::once(mesh).chain(bodies);
        let positions: Vec<DVec3> = meshes.flat_map(|mesh| mesh.positions.iter().copied()).collect();
        let garments = vec![garment];
        let setup = Setup { assembly, positions: &positions, garments, rest: Vec::new(), rest_angles };
        let workpiece = Workpiece::build(setup).expect("the garment is sound");
        let mut settings = workpiece.settings();
        settings.vertices.layers = vec![0; mesh.positions.len()];
        Self { patient: workpiece.patient(), settings }
    }
}

fn read(path: &Path) -> Result<MeshFile, String> {
    mesh::read(path, &ReadOptions::default()).map_err(|error| error.to_string())
}
