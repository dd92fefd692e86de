//! Shapes of rigid bodies: a surface, its signed distance, its integrals, and the places where it touches first.
//!
//! A shape lives in its own frame: the centre of mass at the origin, axes along its principal axes. Solids have their
//! analytic distance; meshes get a sparse level set, shared by all copies. (Bridson 2003, 4.3, 4.4)
//!
//! Guarantees: an open mesh or one without volume is refused, with the count of its borders.
//! Does not: see parts of a mesh thinner than about two samples of its level set.

use super::Placement;
use super::samples::{SampleTree, of_mesh};
use crate::bodies::shape::Shape as Solid;
use crate::bodies::tessellate;
use crate::geometry::{Aabb, DVec3, EdgeId, MassProperties, Topology, TopologyError, TriMesh, math};
use std::f64::consts::{PI, TAU};
use thiserror::Error;
use unsnarl_volume::level_set::{MeshError, MeshSettings};
use unsnarl_volume::{Field, LevelSet};

/// Samples of a level set along the longest side of a mesh, unless its thinnest side needs more.
const SAMPLES_ACROSS: f64 = 64.0;
/// Samples along the thinnest side of a mesh.
const SAMPLES_THROUGH: f64 = 12.0;
/// Half width of the band of a level set, in samples: the depth that is exact.
const BAND: f64 = 5.0;
/// Around a round solid.
const SEGMENTS: usize = 48;

/// How a mesh becomes a shape.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ShapeSettings {
    /// Distance between samples of the level set, metres; by default a 64th of the longest side, or a 12th of the
    /// shortest.
    pub spacing: Option<f64>,
}

/// Why a mesh cannot be a rigid body.
#[derive(Debug, PartialEq, Error)]
pub enum ShapeError {
    /// The triangles make no mesh.
    #[error("{0}")]
    Topology(#[from] TopologyError),
    /// It has borders.
    #[error("{borders} of its {edges} edges do not join exactly two triangles; a rigid body needs a closed mesh")]
    Open {
        /// Edges with one triangle, or with more than two.
        borders: usize,
        /// All edges.
        edges: usize,
    },
    /// It encloses nothing.
    #[error("it encloses no volume; a rigid body needs one")]
    NoVolume,
    /// A length is not positive and finite.
    #[error("{name} is {value}; a positive, finite length is needed")]
    Length {
        /// What it measures.
        name: &'static str,
        /// Its value.
        value: f64,
    },
    /// The level set cannot be made.
    #[error("{0}")]
    Mesh(#[from] MeshError),
}

/// A shape; see the module.
#[derive(Clone, Debug)]
pub struct Shape {
    mesh: TriMesh,
    volume: f64,
    inertia: DVec3,
    input_from_shape: Placement,
    bounds: Aabb,
    radius: f64,
    distance: Distance,
    pub(super) samples: SampleTree,
}

#[derive(Clone, Debug)]
enum Distance {
    Solid(Solid),
    /// A torus around y: radius of the core circle, radius of the tube.
    Ring(f64, f64),
    Level(Box<LevelSet>),
}

impl Shape {
    /// A ball.
    pub fn sphere(radius: f64) -> Result<Self, ShapeError> {
        positive("the radius", radius)?;
        let mesh = tessellate::surface(&Solid::Sphere { radius }, TAU * radius / SEGMENTS as f64);
        let volume = 4.0 / 3.0 * PI * radius.powi(3);
        let inertia = DVec3::splat(0.4 * volume * radius * radius);
        let mut samples = SampleTree::builder();
        samples.ball(DVec3::ZERO, radius);
        Ok(Self::solid(Solid::Sphere { radius }, mesh, (volume, inertia), samples.build()))
    }

    /// A box, by half of its sides.
    pub fn cuboid(half: DVec3) -> Result<Self, ShapeError> {
        half.to_array().iter().try_for_each(|&side| positive("half a side", side))?;
        let mesh = tessellate::surface(&Solid::Box { half }, half.max_element());
        let volume = 8.0 * half.x * half.y * half.z;
        let squares = half * half;
        let inertia = DVec3::new(squares.y + squares.z, squares.x + squares.z, squares.x + squares.y) * (volume / 3.0);
        let samples = of_mesh(&mesh, 0.0)?;
        Ok(Self::solid(Solid::Box { half }, mesh, (volume, inertia), samples))
    }

    /// A round rod along y with round ends, by half the distance of the ends' centres.
    pub fn capsule(radius: f64, half_length: f64) -> Result<Self, ShapeError> {
        positive("the radius", radius)?;
        positive("half the length", half_length)?;
        let solid = Solid::Capsule { radius, half_length };
        let mesh = tessellate::surface(&solid, TAU * radius / SEGMENTS as f64);
        let (square, rod, ball) =
            (radius * radius, PI * radius * radius * 2.0 * half_length, 4.0 / 3.0 * PI * radius.powi(3));
        let along = rod * 0.5 * square + ball * 0.4 * square;
        // The two halves of the ball sit at the ends: their centres are 3/8 of a radius beyond.
        let offset = half_length * half_length + 0.75 * half_length * radius;
        let across = rod * (0.25 * square + half_length * half_length / 3.0) + ball * (0.4 * square + offset);
        let mut samples = SampleTree::builder();
        let end = DVec3::Y * half_length;
        samples.ball(-end, radius);
        samples.ball(end, radius);
        samples.rod(-end, end, radius);
        Ok(Self::solid(solid, mesh, (rod + ball, DVec3::new(across, along, across)), samples.build()))
    }

    /// A cylinder along y with flat ends.
    pub fn cylinder(radius: f64, half_height: f64) -> Result<Self, ShapeError> {
        positive("the radius", radius)?;
        positive("half the height", half_height)?;
        let solid = Solid::Cylinder { radius, half_height };
        let mesh = tessellate::surface(&solid, TAU * radius / SEGMENTS as f64);
        let volume = PI * radius * radius * 2.0 * half_height;
        let along = 0.5 * volume * radius * radius;
        let across = volume * (0.25 * radius * radius + half_height * half_height / 3.0);
        // Rims and the lines between them; points of the side wall lie on those.
        let mut samples = SampleTree::builder();
        let at = |k: usize, out: f64, height: f64| {
            let angle = TAU * k as f64 / SEGMENTS as f64;
            DVec3::new(out * angle.cos(), height, out * angle.sin())
        };
        for k in 0..SEGMENTS {
            for height in [-half_height, half_height] {
                samples.ball(at(k, radius, height), 0.0);
                samples.ball(at(k, radius * (1.0 - super::samples::INSET), height), 0.0);
            }
            samples.rod(at(k, radius, -half_height), at(k, radius, half_height), 0.0);
        }
        Ok(Self::solid(solid, mesh, (volume, DVec3::new(across, along, across)), samples.build()))
    }

    /// A torus around y: the radius of its core circle, and the radius of its tube.
    pub fn ring(radius: f64, tube: f64) -> Result<Self, ShapeError> {
        positive("the radius", radius)?;
        positive("the tube's radius", tube)?;
        positive("the hole's radius", radius - tube)?;
        let profile: Vec<(f64, f64)> = (0..=24)
            .map(|k| TAU * f64::from(k % 24) / 24.0)
            .map(|angle| (radius - tube * angle.cos(), -tube * angle.sin()))
            .collect();
        let mesh = tessellate::revolve_closed(&profile[..24], SEGMENTS);
        let volume = 2.0 * PI * PI * radius * tube * tube;
        let along = volume * (radius * radius + 0.75 * tube * tube);
        let across = volume * (0.5 * radius * radius + 0.625 * tube * tube);
        let mut samples = SampleTree::builder();
        for k in 0..SEGMENTS {
            let angle = TAU * k as f64 / SEGMENTS as f64;
            samples.ball(DVec3::new(radius * angle.cos(), 0.0, radius * angle.sin()), tube);
        }
        let properties = (volume, DVec3::new(across, along, across));
        Ok(Self::of(Distance::Ring(radius, tube), mesh, properties, samples.build()))
    }

    /// Everything below y = 0. It has no mass: for static and kinematic bodies.
    pub fn half_space() -> Self {
        let mesh = tessellate::surface(&Solid::Plane, 1.0);
        let mut shape = Self::solid(Solid::Plane, mesh, (0.0, DVec3::ONE), SampleTree::builder().build());
        shape.radius = f64::INFINITY;
        shape
    }

    /// A closed mesh, any frame. [`Shape::input_from_shape`] says where its frame went.
    pub fn from_mesh(input: &TriMesh, settings: &ShapeSettings) -> Result<Self, ShapeError> {
        let topology = Topology::new(input.positions.len(), &input.triangles)?;
        let edges = topology.edge_count();
        let borders = (0..edges).filter(|&edge| topology.edge_triangles(EdgeId::new(edge)).len() != 2).count();
        if borders > 0 {
            return Err(ShapeError::Open { borders, edges });
        }
        let box_volume: f64 = input.bounds().extent().to_array().iter().product();
        let properties = MassProperties::of(&input.positions, &input.triangles).ok_or(ShapeError::NoVolume)?;
        let finite = math::is_finite(properties.center) && input.positions.iter().all(|&at| math::is_finite(at));
        if !(finite && properties.volume.abs() > 1e-9 * box_volume) {
            return Err(ShapeError::NoVolume);
        }
        let axes = properties.principal_axes();
        let outward = properties.volume > 0.0;
        let input_from_shape = Placement { position: properties.center, rotation: axes.rotation };
        let positions: Vec<DVec3> = input.positions.iter().map(|&at| input_from_shape.to_body(at)).collect();
        let flip = |&[a, b, c]: &[u32; 3]| if outward { [a, b, c] } else { [a, c, b] };
        let mesh = TriMesh { positions, triangles: input.triangles.iter().map(flip).collect() };
        let extent = mesh.bounds().extent();
        let usual = (extent.max_element() / SAMPLES_ACROSS).min(extent.min_element() / SAMPLES_THROUGH);
        let spacing = settings.spacing.unwrap_or(usual);
        positive("the spacing of its level set", spacing)?;
        let level =
            LevelSet::from_mesh(&mesh, &MeshSettings { half_width: BAND, ..MeshSettings::with_spacing(spacing) })?;
        let samples = of_mesh(&mesh, spacing)?;
        let integrals = (properties.volume.abs(), (axes.moments * properties.volume.signum()).max(DVec3::ZERO));
        let mut shape = Self::of(Distance::Level(Box::new(level)), mesh, integrals, samples);
        shape.input_from_shape = input_from_shape;
        Ok(shape)
    }

    fn solid(solid: Solid, mesh: TriMesh, integrals: (f64, DVec3), samples: SampleTree) -> Self {
        Self::of(Distance::Solid(solid), mesh, integrals, samples)
    }

    fn of(distance: Distance, mesh: TriMesh, (volume, inertia): (f64, DVec3), samples: SampleTree) -> Self {
        let radius = mesh.positions.iter().map(|at| at.length()).fold(0.0, f64::max);
        let input_from_shape = Placement::default();
        Self { volume, inertia, input_from_shape, bounds: mesh.bounds(), radius, distance, samples, mesh }
    }

    /// The surface, in the frame of the shape.
    pub fn mesh(&self) -> &TriMesh {
        &self.mesh
    }

    /// Volume, cubic metres.
    pub fn volume(&self) -> f64 {
        self.volume
    }

    /// Moments of inertia along the axes, for a density of 1.
    pub fn inertia(&self) -> DVec3 {
        self.inertia
    }

    /// Where the shape's frame lies in the frame of the mesh that it was made from; solids keep their frame.
    pub fn input_from_shape(&self) -> Placement {
        self.input_from_shape
    }

    /// The box around the shape, in its frame.
    pub fn bounds(&self) -> Aabb {
        self.bounds
    }

    /// The largest distance of a point from the centre; infinite for a half space.
    pub fn radius(&self) -> f64 {
        self.radius
    }

    /// Whether it reaches to infinity.
    pub fn is_unbounded(&self) -> bool {
        !self.radius.is_finite()
    }

    /// The signed distance, negative inside, and the outward direction of length 1.
    ///
    /// Within the band of a level set it is exact to its sampling; beyond, see [`Shape::least_distance`].
    pub fn distance(&self, point: DVec3) -> (f64, DVec3) {
        match &self.distance {
            Distance::Solid(solid) => solid.distance(point),
            &Distance::Ring(radius, tube) => {
                let flat = DVec3::new(point.x, 0.0, point.z);
                let core = flat.try_normalize().unwrap_or(DVec3::X) * radius;
                let away = point - core;
                let length = away.length();
                (length - tube, if length > 0.0 { away / length } else { DVec3::Y })
            }
            Distance::Level(level) => {
                let (value, gradient) = level.value_and_gradient(point);
                (value, gradient.try_normalize().or_else(|| point.try_normalize()).unwrap_or(DVec3::Y))
            }
        }
    }

    /// A lower bound of the distance outside: level sets are wrong by up to a fifth beyond their band.
    pub(super) fn least_distance(&self, point: DVec3) -> f64 {
        match &self.distance {
            Distance::Level(level) => {
                let in_box = self.bounds.distance_squared(point).sqrt();
                if in_box > level.half_width() {
                    return in_box;
                }
                let value = level.value(point);
                if value.abs() < 0.9 * level.half_width() { value } else { (0.7 * value).min(value) }
            }
            _ => self.distance(point).0,
        }
    }

    /// Distance between samples of the distance; 0 if it is exact.
    pub(super) fn resolution(&self) -> f64 {
        match &self.distance {
            Distance::Level(level) => level.frame().spacing,
            _ => 0.0,
        }
    }

    /// Whether the distance is convex, so that it has one minimum along a line.
    pub(super) fn is_convex(&self) -> bool {
        matches!(self.distance, Distance::Solid(_))
    }
}

fn positive(name: &'static str, value: f64) -> Result<(), ShapeError> {
    if value > 0.0 && value.is_finite() { Ok(()) } else { Err(ShapeError::Length { name, value }) }
}
