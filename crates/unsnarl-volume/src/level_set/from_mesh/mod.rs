//! Signed distance from a triangle mesh, exact in a band around it.
//!
//! Blocks that a triangle comes near are listed with their triangles; each block measures the distance of its samples
//! to them; the winding number along rows gives the side; blocks that ended up empty are let go. Sources: Bridson 2003,
//! 2.1, 4.3 and 6.1. Self-intersecting and slightly open bodies are accepted: see [`closing`] and [`winding`].
//!
//! Guarantees: distances below the half width are exact to 1e-4 of a sample; the side is exact; the result does not
//! depend on the number of threads; a request that would need more than the memory limit is refused before it starts.
//! Does not: keep the last digits inside overlaps: there distances are swept, to about a third of a sample.

pub(crate) mod closing;
mod distance;
mod extend;
mod inner_sheets;
mod winding;
mod winding_number;

pub(super) use extend::extend;
pub use winding_number::winding_number;

use super::far_field::FarField;
use super::{Frame, LevelSet};
use crate::grid::{Background, BlockCoordinates, BlockGrid, BlockWidth, COORDINATE_LIMIT, Domain, Side};
use distance::{BlockKernel, PlanarTriangle};
use rayon::prelude::*;
use thiserror::Error;
use unsnarl_geometry::{Aabb, DVec3, TriMesh};
use winding::{Layer, LayerSides};

/// How a mesh becomes a level set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeshSettings {
    /// Distance between samples, metres. Halving it costs four times the memory and time.
    pub spacing: f64,
    /// Half the width of the band of exact distances, in samples. 3 serves every operator; more costs memory.
    pub half_width: f64,
    /// Width of the blocks.
    pub block_width: BlockWidth,
    /// Whether blocks lie in a box around the mesh (faster) or anywhere.
    pub extent: Extent,
    /// What becomes of triangles inside the body, where it overlaps itself.
    pub inner_sheets: InnerSheets,
    /// What is known beyond the band.
    pub beyond: Beyond,
    /// Bytes that the result may need; a larger request is refused.
    pub memory_limit: u64,
}

/// How the coarse level is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// As an array over the box around the mesh.
    Bounded,
    /// As a map, for domains without limits.
    Unbounded,
}

/// What becomes of triangles that separate inside from inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InnerSheets {
    /// They are no surface: distances go past them.
    Remove,
    /// Distances are to the nearest triangle, whichever it is.
    Keep,
}

/// What a level set knows beyond its band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// The side only.
    Side,
    /// The distance at the centre of each block, swept outward: good to about a tenth.
    Distance,
}

impl MeshSettings {
    /// The usual settings for a spacing.
    pub fn with_spacing(spacing: f64) -> Self {
        Self {
            spacing,
            half_width: 3.0,
            block_width: BlockWidth::DEFAULT,
            extent: Extent::Bounded,
            inner_sheets: InnerSheets::Remove,
            beyond: Beyond::Distance,
            memory_limit: 16 << 30,
        }
    }

    /// The usual settings, for so many samples across the longest side of a mesh.
    pub fn with_resolution(mesh: &TriMesh, samples_across: u32) -> Self {
        let extent = Aabb::of_points(mesh.positions.iter().copied()).extent();
        Self::with_spacing(extent.max_element() / f64::from(samples_across))
    }
}

/// Why a mesh cannot become a level set.
#[derive(Debug, Error, PartialEq)]
pub enum MeshError {
    /// No triangle.
    #[error("the mesh has no triangles: a level set needs a closed surface")]
    Empty,
    /// A triangle names a vertex that is not there.
    #[error("triangle {triangle} names vertex {vertex}, the mesh has {vertex_count}")]
    Vertex {
        /// The triangle.
        triangle: usize,
        /// The vertex it names.
        vertex: u32,
        /// The number of vertices.
        vertex_count: usize,
    },
    /// A coordinate is not a number.
    #[error("vertex {vertex} has a coordinate that is not a finite number")]
    NotFinite {
        /// The vertex.
        vertex: usize,
    },
    /// The spacing or the half width makes no sense.
    #[error("{name} is {value}: expected {expected}")]
    Setting {
        /// The setting.
        name: &'static str,
        /// Its value.
        value: f64,
        /// What would do.
        expected: &'static str,
    },
    /// The samples are too many to number.
    #[error(
        "at a spacing of {spacing} the mesh reaches {reach:.0} samples from the origin, at most {COORDINATE_LIMIT} can be numbered: use a larger spacing or move the mesh to the origin"
    )]
    TooFar {
        /// The spacing.
        spacing: f64,
        /// The largest coordinate, in samples.
        reach: f64,
    },
    /// The samples are too many to hold.
    #[error(
        "at a spacing of {spacing} the level set would need about {gigabytes:.1} GB, the limit is {limit:.1} GB: use a larger spacing"
    )]
    TooLarge {
        /// The spacing.
        spacing: f64,
        /// The estimate.
        gigabytes: f64,
        /// The limit.
        limit: f64,
    },
}

impl LevelSet {
    /// The signed distance to a mesh; see the module.
    pub fn from_mesh(mesh: &TriMesh, settings: &MeshSettings) -> Result<Self, MeshError> {
        check(mesh, settings)?;
        let body = Body::new(mesh, settings);
        let near = body.near_pairs();
        let (blocks, mut samples, centers) = body.measure(&near);
        drop(near);
        let sides = body.apply_sides(&blocks, &mut samples);
        let overlapping = overlapping_blocks(&blocks, &sides);
        let outside = (settings.half_width * settings.spacing) as f32;
        let domain = match settings.extent {
            Extent::Bounded if body.domain_volume() <= 1 << 27 => {
                Domain::Bounded { first: body.first, extent: body.extent }
            }
            _ => Domain::Unbounded,
        };
        let background = Background { outside, inside: -outside };
        let mut grid = BlockGrid::from_blocks(settings.block_width, domain, background, blocks, samples);
        for block in sides.iter().flat_map(|layer| &layer.inside) {
            grid.set_side(*block, Side::Inside);
        }
        let frame = Frame { origin: DVec3::ZERO, spacing: settings.spacing };
        let mut level_set = Self { grid, frame, half_width: settings.half_width * settings.spacing, far: None };
        let clean = overlapping.is_empty() || settings.inner_sheets == InnerSheets::Keep;
        if !clean {
            inner_sheets::remove(&mut level_set, &overlapping);
        }
        level_set.far = match settings.beyond {
            Beyond::Distance if clean => FarField::new(&level_set.grid, settings.spacing, &centers),
            Beyond::Distance => FarField::from_band(&level_set.grid, settings.spacing),
            Beyond::Side => None,
        };
        Ok(level_set)
    }
}

/// The blocks where the mesh winds more than once, or backwards.
fn overlapping_blocks(blocks: &[BlockCoordinates], layers: &[LayerSides]) -> Vec<BlockCoordinates> {
    let mut found = Vec::new();
    let mut layer_start = 0;
    for layer in layers {
        found.extend(layer.overlapping.iter().map(|&number| blocks[layer_start + number as usize]));
        layer_start += layer.block_count;
    }
    found
}

fn check(mesh: &TriMesh, settings: &MeshSettings) -> Result<(), MeshError> {
    let setting = |name, value, expected| MeshError::Setting { name, value, expected };
    if !(settings.spacing.is_finite() && settings.spacing > 0.0) {
        return Err(setting("the spacing", settings.spacing, "a positive number of metres"));
    }
    if !(1.5..=100.0).contains(&settings.half_width) {
        return Err(setting("the half width", settings.half_width, "1.5 to 100 samples"));
    }
    if mesh.triangles.is_empty() {
        return Err(MeshError::Empty);
    }
    let vertex_count = mesh.positions.len();
    for (triangle, corners) in mesh.triangles.iter().enumerate() {
        if let Some(&vertex) = corners.iter().find(|&&vertex| vertex as usize >= vertex_count) {
            return Err(MeshError::Vertex { triangle, vertex, vertex_count });
        }
    }
    if let Some(vertex) = mesh.positions.iter().position(|p| !p.is_finite()) {
        return Err(MeshError::NotFinite { vertex });
    }
    let farthest = mesh.positions.iter().fold(0.0_f64, |far, p| far.max(p.abs().max_element()));
    let reach = farthest / settings.spacing + settings.half_width;
    if reach > f64::from(COORDINATE_LIMIT) - 100.0 {
        return Err(MeshError::TooFar { spacing: settings.spacing, reach });
    }
    let corner = |vertex: u32| mesh.positions[vertex as usize];
    let area: f64 = mesh
        .triangles
        .iter()
        .map(|t| 0.5 * (corner(t[1]) - corner(t[0])).cross(corner(t[2]) - corner(t[0])).length())
        .sum();
    let layers = 2.0 * settings.half_width + 1.5 * settings.block_width.samples() as f64;
    let bytes = 4.0 * layers * area / (settings.spacing * settings.spacing);
    if bytes > settings.memory_limit as f64 {
        let (gigabytes, limit) = (bytes * 1e-9, settings.memory_limit as f64 * 1e-9);
        return Err(MeshError::TooLarge { spacing: settings.spacing, gigabytes, limit });
    }
    Ok(())
}

/// The mesh in sample coordinates, closed, and the box of blocks around it.
struct Body<'a> {
    settings: &'a MeshSettings,
    corners: Vec<[DVec3; 3]>,
    planar: Vec<PlanarTriangle>,
    first: BlockCoordinates,
    extent: [u32; 3],
}

/// The triangles near each block: blocks by their place in the box, each with a run of triangles.
struct NearPairs {
    pairs: Vec<(u64, u32)>,
    /// Where the run of each block starts in `pairs`, and the end of the last.
    starts: Vec<usize>,
}

impl NearPairs {
    /// The pairs of a block.
    fn of_block(&self, place: u64) -> &[(u64, u32)] {
        let from = self.pairs.partition_point(|pair| pair.0 < place);
        let to = self.pairs.partition_point(|pair| pair.0 <= place);
        &self.pairs[from..to]
    }
}

impl<'a> Body<'a> {
    fn new(mesh: &TriMesh, settings: &'a MeshSettings) -> Self {
        let lids = closing::close(&mesh.positions, &mesh.triangles);
        let positions: Vec<DVec3> = mesh.positions.iter().chain(&lids.middles).map(|&p| p / settings.spacing).collect();
        let corners: Vec<[DVec3; 3]> = mesh
            .triangles
            .iter()
            .chain(&lids.triangles)
            .map(|triangle| triangle.map(|vertex| positions[vertex as usize]))
            .collect();
        let planar = corners.par_iter().map(|&corners| PlanarTriangle::new(corners)).collect();
        let bounds = Aabb::of_points(corners.iter().flatten().copied()).inflated(settings.half_width + 1.0);
        let block_of = |sample: f64| settings.block_width.split(sample.floor() as i32).0;
        let first = bounds.min.to_array().map(block_of);
        let last = bounds.max.to_array().map(block_of);
        let extent = [0, 1, 2].map(|axis| (last[axis] - first[axis] + 1) as u32);
        Self { settings, corners, planar, first, extent }
    }

    fn width(&self) -> usize {
        self.settings.block_width.samples()
    }

    fn domain_volume(&self) -> u64 {
        self.extent.iter().map(|&n| u64::from(n)).product()
    }

    fn place(&self, block: BlockCoordinates) -> u64 {
        let [x, y, z] = [0, 1, 2].map(|axis| (block[axis] - self.first[axis]) as u64);
        x + u64::from(self.extent[0]) * (y + u64::from(self.extent[1]) * z)
    }

    fn block_at(&self, place: u64) -> BlockCoordinates {
        let [nx, ny] = [u64::from(self.extent[0]), u64::from(self.extent[1])];
        let steps = [place % nx, place / nx % ny, place / (nx * ny)];
        [0, 1, 2].map(|axis| self.first[axis] + steps[axis] as i32)
    }

    fn first_sample(&self, block: BlockCoordinates) -> DVec3 {
        let [x, y, z] = block.map(|b| f64::from(self.settings.block_width.first_sample(b)));
        DVec3::new(x, y, z)
    }

    fn block_center(&self, block: BlockCoordinates) -> DVec3 {
        self.first_sample(block) + DVec3::splat(0.5 * (self.width() - 1) as f64)
    }

    /// Pairs of a block and a triangle that may lie within the half width of one of its samples.
    fn near_pairs(&self) -> NearPairs {
        let radius = 0.5 * 3_f64.sqrt() * (self.width() - 1) as f64;
        let reach = self.settings.half_width;
        let block_of = |sample: f64| self.settings.block_width.split(sample.floor() as i32).0;
        let near_of = |triangle: usize| {
            let bounds = Aabb::of_points(self.corners[triangle]).inflated(reach);
            let low = bounds.min.to_array().map(block_of);
            let high = bounds.max.to_array().map(block_of);
            let limit = (reach + radius) * (reach + radius);
            let planar = &self.planar[triangle];
            (low[2]..=high[2]).flat_map(move |z| {
                (low[1]..=high[1]).flat_map(move |y| {
                    (low[0]..=high[0])
                        .map(move |x| [x, y, z])
                        .filter(move |&block| planar.distance_squared(self.block_center(block)) <= limit)
                        .map(move |block| (self.place(block), triangle as u32))
                })
            })
        };
        let mut pairs: Vec<(u64, u32)> = (0..self.corners.len()).into_par_iter().flat_map_iter(near_of).collect();
        pairs.par_sort_unstable();
        let mut starts: Vec<usize> = vec![0];
        starts.extend((1..pairs.len()).filter(|&i| pairs[i - 1].0 != pairs[i].0));
        starts.push(pairs.len());
        NearPairs { pairs, starts }
    }

    /// The blocks with a sample in the band, by z, y, x; their unsigned distances; and those of their centres.
    fn measure(&self, near: &NearPairs) -> (Vec<BlockCoordinates>, Vec<f32>, Vec<f32>) {
        let volume = self.settings.block_width.volume();
        let spacing = self.settings.spacing;
        let block_count = near.starts.len() - 1;
        let mut samples = vec![0.0_f32; block_count * volume];
        let measured: Vec<Option<f32>> = samples
            .par_chunks_mut(volume)
            .enumerate()
            .map_init(
                || BlockKernel::new(self.width(), self.settings.half_width as f32, spacing as f32),
                |kernel, (number, samples)| {
                    let run = &near.pairs[near.starts[number]..near.starts[number + 1]];
                    let block = self.block_at(run[0].0);
                    let triangles = run.iter().map(|&(_, triangle)| triangle as usize);
                    kernel.fill(self.first_sample(block), &self.planar, triangles.clone(), samples).then(|| {
                        let center = self.block_center(block);
                        let squared = triangles.map(|t| self.planar[t].distance_squared(center));
                        (squared.fold(f64::INFINITY, f64::min).sqrt() * spacing) as f32
                    })
                },
            )
            .collect();
        let mut blocks = Vec::with_capacity(block_count);
        let mut centers = Vec::with_capacity(block_count);
        for (number, center) in measured.into_iter().enumerate() {
            if let Some(center) = center {
                let to = blocks.len() * volume;
                samples.copy_within(number * volume..(number + 1) * volume, to);
                blocks.push(self.block_at(near.pairs[near.starts[number]].0));
                centers.push(center);
            }
        }
        samples.truncate(blocks.len() * volume);
        samples.shrink_to_fit();
        (blocks, samples, centers)
    }

    /// Gives the samples their signs, one layer of blocks at a time.
    fn apply_sides(&self, blocks: &[BlockCoordinates], samples: &mut [f32]) -> Vec<LayerSides> {
        let volume = self.settings.block_width.volume();
        let turn = if winding::signed_volume(&self.corners) < 0.0 { -1 } else { 1 };
        let layer_triangles = self.triangles_by_layer();
        let mut tasks = Vec::new();
        let (mut rest_blocks, mut rest_samples) = (blocks, samples);
        for (layer, triangles) in layer_triangles.into_iter().enumerate() {
            let z = self.first[2] + layer as i32;
            let count = rest_blocks.iter().take_while(|block| block[2] == z).count();
            let (layer_blocks, other_blocks) = rest_blocks.split_at(count);
            let (layer_samples, other_samples) = rest_samples.split_at_mut(count * volume);
            (rest_blocks, rest_samples) = (other_blocks, other_samples);
            tasks.push((z, triangles, layer_blocks, layer_samples));
        }
        tasks
            .into_par_iter()
            .map(|(z, triangles, blocks, samples)| {
                let triangles: Vec<[DVec3; 3]> = triangles.iter().map(|&t| self.corners[t as usize]).collect();
                let extent = [self.extent[0], self.extent[1]];
                let layer =
                    Layer { width: self.width(), first: self.first, extent, z, triangles: &triangles, turn, blocks };
                layer.apply_sides(samples)
            })
            .collect()
    }

    fn triangles_by_layer(&self) -> Vec<Vec<u32>> {
        let mut layers = vec![Vec::new(); self.extent[2] as usize];
        let width = self.settings.block_width;
        for (triangle, corners) in self.corners.iter().enumerate() {
            let bounds = Aabb::of_points(*corners);
            let low = width.split(bounds.min.z.floor() as i32).0 - self.first[2];
            let high = width.split(bounds.max.z.ceil() as i32).0 - self.first[2];
            for layer in low..=high.min(self.extent[2] as i32 - 1) {
                layers[layer as usize].push(triangle as u32);
            }
        }
        layers
    }
}
