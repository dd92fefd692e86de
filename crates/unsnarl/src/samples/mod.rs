//! Sample garments and tangles: what `unsnarl make` writes, and what tests and benches run on.
//!
//! Every sample is a map of flat cloth into space, so its panels are known and its rest shape is the cloth itself. The
//! seven rudimentary cases follow the definitions of Cha 2022, 2.1 and 6.2; exploded handkerchiefs follow 6.3 and 6.8;
//! the folds of collars, lapels, sleeves and skirts follow 5.3 to 5.5 and 6.5 to 6.7.
//!
//! Guarantees: pure functions of [`Recipe`], the same on every machine with the same mathematical functions; each
//! [`Case`] says which types of contours it contains, and a test holds it to that.
//! Does not: read files; the tortures of real garments take positions and give positions.

mod closed_bodies;
mod crumpled;
mod exploded;
mod folds;
mod knots;
mod layers;
pub mod random;
mod rudimentary;
pub mod sheet;
mod tangles;
pub mod torture;

pub use exploded::{Explosion, explode};
pub use sheet::{Shape, Sheet, Triangulation};

use crate::analysis::ContourKind;
use crate::geometry::{DVec2, DVec3, TriMesh, UvMap};
use crate::scene::garment::{
    CreaseDescription, CreasePath, GarmentDescription, PanelChoice, PanelDescription, RestChoice,
};
use std::ops::Range;

/// What a user may choose about a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// Cells along the shorter side of a sheet.
    pub resolution: usize,
    /// How sheets are cut.
    pub cut: Cut,
    /// Determines everything random.
    pub seed: u64,
}

/// How the sheets of a sample are cut into triangles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// [`Triangulation::Regular`].
    Regular,
    /// [`Triangulation::Alternating`].
    Alternating,
    /// [`Triangulation::Irregular`] with the recipe's seed.
    Irregular,
}

impl Recipe {
    /// The triangulation of the sample's sheet number `sheet`.
    pub fn triangulation(&self, sheet: u64) -> Triangulation {
        match self.cut {
            Cut::Regular => Triangulation::Regular,
            Cut::Alternating => Triangulation::Alternating,
            Cut::Irregular => Triangulation::Irregular { seed: self.seed.wrapping_mul(1009).wrapping_add(sheet) },
        }
    }
}

/// A piece of a sample: consecutive triangles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// The triangles that belong to it.
    pub triangles: Range<usize>,
    /// The piece of cloth that it belongs to: parts of one piece are sewn together.
    pub piece: usize,
    /// Its place from the inside out, where layers are ordered.
    pub layer: Option<u32>,
}

/// A made sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The cloth as it lies in space.
    pub mesh: TriMesh,
    /// The panels, in metres, side by side.
    pub uv: UvMap,
    /// The pieces, in the order of their triangles; together they are all triangles.
    pub parts: Vec<Part>,
    /// Labels and creases of the design, and that the panels are the rest shape. Panels are chosen by parts' names.
    pub description: GarmentDescription,
}

impl Sample {
    fn new() -> Self {
        let rest = RestChoice::Panels { scale: 1.0 };
        Self {
            mesh: TriMesh::default(),
            uv: UvMap::default(),
            parts: Vec::new(),
            description: GarmentDescription { rest, ..GarmentDescription::default() },
        }
    }

    /// Adds a sheet as one part, placed in space by a map from its panel.
    ///
    /// On a seam the map is called with the panel vertex that comes first.
    fn add(&mut self, name: impl Into<String>, sheet: &Sheet, place: impl Fn(DVec2) -> DVec3) {
        let name = name.into();
        self.add_bands(&[(&name, sheet.cells[1])], sheet, place);
    }

    /// Adds a sheet that consists of several panels, sewn along its rows: from the bottom, names and numbers of rows.
    fn add_bands(&mut self, bands: &[(&str, usize)], sheet: &Sheet, place: impl Fn(DVec2) -> DVec3) {
        let first = self.mesh.positions.len() as u32;
        let mut placed = vec![None; sheet.vertex_count];
        for (&vertex, &coordinate) in sheet.vertex_of.iter().zip(&sheet.coordinates) {
            placed[vertex as usize].get_or_insert_with(|| place(coordinate));
        }
        self.mesh.positions.extend(placed.into_iter().flatten());
        let corner = self.free_corner(sheet);
        let piece = self.parts.last().map_or(0, |part| part.piece + 1);
        let mut row = 0;
        for (band, &(name, rows)) in bands.iter().enumerate() {
            let triangles = &sheet.triangles[2 * sheet.cells[0] * row..2 * sheet.cells[0] * (row + rows)];
            let points = sheet.at(0, row)..sheet.at(0, row + rows + 1);
            let first_triangle = self.mesh.triangles.len();
            let world = |at: u32| first + sheet.vertex_of[at as usize];
            self.mesh.triangles.extend(triangles.iter().map(|corners| corners.map(world)));
            let shift = self.uv.coordinates.len() as u32;
            let panel = |at: u32| at - points.start as u32 + shift;
            self.uv.triangles.extend(triangles.iter().map(|corners| corners.map(panel)));
            let lift = corner + DVec2::new(0.0, 0.1 * band as f64 * sheet.size.y);
            self.uv.coordinates.extend(sheet.coordinates[points].iter().map(|&point| point + lift));
            let triangles = first_triangle..self.mesh.triangles.len();
            self.parts.push(Part { name: name.to_owned(), triangles, piece, layer: None });
            row += rows;
        }
    }

    /// Where the middle of a sheet's panel goes, to the right of the panels already there.
    fn free_corner(&self, sheet: &Sheet) -> DVec2 {
        let right = self.uv.coordinates.iter().fold(f64::NEG_INFINITY, |right, point| right.max(point.x));
        let left = if right.is_finite() { right + 0.1 * sheet.size.max_element() } else { 0.0 };
        DVec2::new(left, 0.0) + 0.5 * sheet.size
    }

    fn label(&mut self, part: &str, label: &str) {
        let which = PanelChoice::Group(part.to_owned());
        self.description.panels.push(PanelDescription { which, label: Some(label.to_owned()), fabric: None });
    }

    /// The pieces of cloth as samples of their own: they share no vertex. A piece has the layer of its first part.
    pub fn pieces(&self) -> Vec<Sample> {
        self.parts.chunk_by(|a, b| a.piece == b.piece).map(|parts| self.piece(parts)).collect()
    }

    fn piece(&self, parts: &[Part]) -> Sample {
        let triangles = parts[0].triangles.start..parts[parts.len() - 1].triangles.end;
        let vertices = range_of(&self.mesh.triangles[triangles.clone()]);
        let points = range_of(&self.uv.triangles[triangles.clone()]);
        let shifted = |list: &[[u32; 3]], by: usize| -> Vec<[u32; 3]> {
            list[triangles.clone()].iter().map(|corners| corners.map(|at| at - by as u32)).collect()
        };
        let named = |choice: &PanelChoice| parts.iter().any(|part| *choice == PanelChoice::Group(part.name.clone()));
        let here = |vertex: u32| vertices.contains(&(vertex as usize));
        let creases = self.description.creases.iter().filter_map(|crease| match &crease.path {
            CreasePath::Edges(edges) if edges.iter().flatten().all(|&vertex| here(vertex)) => {
                let edges = edges.iter().map(|edge| edge.map(|vertex| vertex - vertices.start as u32)).collect();
                Some(CreaseDescription { path: CreasePath::Edges(edges), rest_angle: crease.rest_angle })
            }
            _ => None,
        });
        Sample {
            mesh: TriMesh {
                positions: self.mesh.positions[vertices.clone()].to_vec(),
                triangles: shifted(&self.mesh.triangles, vertices.start),
            },
            uv: UvMap {
                coordinates: self.uv.coordinates[points.clone()].to_vec(),
                triangles: shifted(&self.uv.triangles, points.start),
            },
            parts: parts
                .iter()
                .map(|part| Part {
                    triangles: part.triangles.start - triangles.start..part.triangles.end - triangles.start,
                    piece: 0,
                    ..part.clone()
                })
                .collect(),
            description: GarmentDescription {
                rest: self.description.rest,
                panels: self.description.panels.iter().filter(|panel| named(&panel.which)).cloned().collect(),
                creases: creases.collect(),
                layer: parts[0].layer.unwrap_or(0) as i32,
                ..GarmentDescription::default()
            },
        }
    }

    /// For every triangle the number of its part.
    pub fn part_of_triangle(&self) -> Vec<u32> {
        let parts = self.parts.iter().enumerate();
        parts.flat_map(|(index, part)| part.triangles.clone().map(move |_| index as u32)).collect()
    }
}

/// The smallest range around all indices.
fn range_of(triangles: &[[u32; 3]]) -> Range<usize> {
    let indices = || triangles.iter().flatten().map(|&index| index as usize);
    indices().min().unwrap_or(0)..indices().max().map_or(0, |last| last + 1)
}

/// A family of cases, for the list that `unsnarl make --list` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Clean cloth to start from.
    Plain,
    /// The seven rudimentary tangles.
    Rudimentary,
    /// Handkerchiefs with their vertices thrown about.
    Exploded,
    /// Folds that pass through themselves, with labels and creases.
    Folds,
    /// Several pieces through each other.
    Layers,
    /// Tangles on which local methods stall.
    Hard,
    /// Closed tubes through themselves and each other.
    Knots,
    /// Closed bodies as cloth, through themselves and each other.
    ClosedBodies,
}

impl Family {
    /// The heading of the family.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Plain => "clean cloth",
            Self::Rudimentary => "the seven rudimentary tangles",
            Self::Exploded => "exploded handkerchiefs",
            Self::Folds => "folds through themselves, with labels and creases",
            Self::Layers => "pieces through each other",
            Self::Hard => "hard tangles",
            Self::Knots => "closed tubes through themselves",
            Self::ClosedBodies => "closed bodies through themselves and each other",
        }
    }
}

/// A kind of sample that can be made.
pub struct Case {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// Where it belongs.
    pub family: Family,
    /// The types of contours that it contains, with their numbers; other contours may come with them.
    pub promises: &'static [(ContourKind, usize)],
    /// The resolution when none is asked for.
    pub default_resolution: usize,
    /// The coarsest resolution that keeps the promise.
    pub smallest_resolution: usize,
    make: fn(&Recipe) -> Sample,
}

/// The finest resolution of a sample: beyond it a sheet has more than eight million triangles.
pub const LARGEST_RESOLUTION: usize = 2000;

impl Case {
    /// Makes the sample. The resolution is kept between the case's smallest and [`LARGEST_RESOLUTION`].
    pub fn make(&self, recipe: &Recipe) -> Sample {
        let resolution = recipe.resolution.clamp(self.smallest_resolution, LARGEST_RESOLUTION);
        (self.make)(&Recipe { resolution, ..*recipe })
    }
}

/// All cases, family by family.
pub fn cases() -> impl Iterator<Item = &'static Case> {
    let families = [
        rudimentary::CASES,
        exploded::CASES,
        folds::CASES,
        layers::CASES,
        crumpled::CASES,
        tangles::CASES,
        knots::CASES,
        closed_bodies::CASES,
    ];
    families.into_iter().flatten()
}

/// The case with a name.
pub fn find(name: &str) -> Option<&'static Case> {
    cases().find(|case| case.name == name)
}

#[cfg(test)]
mod tests;
