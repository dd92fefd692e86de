//! Layers: every connected component of every garment, from the inside out, over the bodies.
//!
//! Components of one file share its number and are ordered among themselves by the majority of the vertices that see
//! the other one. (Buffet 2021, 2.1.1: the body is a layer of infinite weight)
//!
//! Guarantees: the order depends on positions and numbers alone; a garment whose fronts look inward is named.
//! Does not: order components that do not see each other; they keep the order of the file.

use super::settings::Weights;
use crate::scene::workpiece::Workpiece;
use std::collections::BTreeMap;
use thiserror::Error;
use unsnarl_geometry::{DVec3, Topology, TriangleId, VertexId};
use unsnarl_volume::{SheetField, SheetQuery, SheetSight};

/// What is asked of a garment.
#[derive(Clone, Debug, PartialEq)]
pub struct GarmentWish {
    /// What reports call it.
    pub name: String,
    /// Its place in the order, from the inside out.
    pub layer: i32,
    /// How much it resists, beside the others.
    pub weight: f64,
    /// Its thickness, metres.
    pub thickness: f64,
    /// Which side of its triangles is out.
    pub front: Front,
}

/// Which side of triangles is out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Front {
    /// The side from which corners go round to the left.
    #[default]
    AsGiven,
    /// The other one.
    Turned,
}

/// A layer.
pub struct Layer {
    /// What reports call it.
    pub name: String,
    /// The garment, by its number in the outfit; none for bodies.
    pub garment: Option<usize>,
    /// Its number in the order.
    pub number: i32,
    /// How much it resists; infinite for bodies.
    pub weight: f64,
    /// Its thickness, metres.
    pub thickness: f64,
    /// Its vertices, by their numbers in the assembly, rising.
    pub vertices: Vec<u32>,
    /// Its triangles in space.
    pub field: SheetField,
}

impl Layer {
    /// Whether it stays where it is.
    pub fn is_rigid(&self) -> bool {
        self.garment.is_none()
    }

    /// The corners of one of its triangles, by their numbers in the assembly.
    pub fn corners(&self, triangle: TriangleId) -> [u32; 3] {
        self.field.topology().triangle(triangle).map(|corner| self.vertices[corner.index()])
    }

    /// The place with these weights in one of its triangles.
    pub fn foot(&self, triangle: TriangleId, weights: [f64; 3]) -> DVec3 {
        let corners = self.field.topology().triangle(triangle);
        (0..3).map(|k| weights[k] * self.field.positions()[corners[k].index()]).sum()
    }

    /// How it is seen.
    pub fn sight(&self, point: DVec3, query: &SheetQuery) -> Option<SheetSight> {
        self.field.sight(point, query)
    }

    /// Moves it to where its vertices are.
    pub fn place(&mut self, positions: &[DVec3]) {
        self.field.place(self.vertices.iter().map(|&vertex| positions[vertex as usize]).collect());
    }
}

/// All layers, from the inside out; bodies first, as one.
pub struct Stack {
    /// The layers.
    pub layers: Vec<Layer>,
    /// The layer of each vertex of cloth.
    pub layer_of: Vec<u32>,
    /// The number of each vertex of cloth in its layer.
    pub place_in_layer: Vec<u32>,
    /// Which way each vertex of cloth faced when the layers were made: its normal, smoothed over its surroundings, so
    /// that a hem that is turned in faces as what it is sewn to.
    pub facings: Vec<DVec3>,
}

/// Why garments cannot be put in order.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum LayersError {
    /// Most fronts look inward.
    #[error("{name}: {share:.0} % of its fronts look toward the body; give it flip = true, or turn its triangles")]
    Inward {
        /// The garment.
        name: String,
        /// How many of them, percent.
        share: f64,
    },
    /// Two garments with one number that lie over each other.
    #[error("{first} and {second} both have layer {layer} and lie over each other; give them different numbers")]
    SameLayer {
        /// One of them.
        first: String,
        /// The other.
        second: String,
        /// Their number.
        layer: i32,
    },
    /// A mesh whose triangles do not agree on a front.
    #[error("{name}: its triangles do not agree on which side is out near vertex {vertex}; orient it consistently")]
    Orientation {
        /// The garment.
        name: String,
        /// A vertex, from 0.
        vertex: usize,
    },
}

impl Stack {
    /// Puts the components of all garments in order. `all` is where everything is, cloth first.
    pub fn new(
        workpiece: &Workpiece,
        wishes: &[GarmentWish],
        (all, body_thickness): (&[DVec3], f64),
        (reach, weights): (f64, Weights),
    ) -> Result<Self, LayersError> {
        let topology = workpiece.assembly.topology();
        let cloth_count = workpiece.cloth_count();
        check_orientation(workpiece, wishes)?;
        let mut layers = Vec::new();
        layers.extend(bodies(workpiece, all, body_thickness));
        let mut cloth = components(workpiece, wishes, topology, all);
        check_fronts(&cloth, layers.first(), reach)?;
        check_numbers(&cloth, reach)?;
        order(&mut cloth, reach);
        layers.extend(cloth);
        if weights == Weights::InsideFirst {
            let mut weight = 1e3_f64.powi(layers.len() as i32);
            for layer in layers.iter_mut().filter(|layer| !layer.is_rigid()) {
                layer.weight = weight;
                weight *= 1e-3;
            }
        }
        let (mut layer_of, mut place_in_layer) = (vec![u32::MAX; cloth_count], vec![0; cloth_count]);
        for (number, layer) in layers.iter().enumerate().filter(|(_, layer)| !layer.is_rigid()) {
            for (place, &vertex) in layer.vertices.iter().enumerate() {
                layer_of[vertex as usize] = number as u32;
                place_in_layer[vertex as usize] = place as u32;
            }
        }
        let mut stack = Self { layers, layer_of, place_in_layer, facings: Vec::new() };
        stack.facings = stack.smooth_normals(&workpiece.model.topology);
        Ok(stack)
    }

    /// Lets vertices face as their layers stand.
    pub fn face_anew(&mut self, topology: &Topology) {
        self.facings = self.smooth_normals(topology);
    }

    fn smooth_normals(&self, topology: &Topology) -> Vec<DVec3> {
        const ROUNDS: usize = 20;
        let mut normals: Vec<DVec3> = (0..self.layer_of.len()).map(|vertex| self.normal(vertex)).collect();
        for _ in 0..ROUNDS {
            let mean = |vertex: usize| {
                let around = topology.ring(VertexId::new(vertex));
                let (sum, count) =
                    around.fold((DVec3::ZERO, 0.0), |(sum, count), next| (sum + normals[next.index()], count + 1.0));
                0.5 * (normals[vertex] + sum / f64::max(count, 1.0))
            };
            normals = (0..normals.len()).map(mean).collect();
        }
        normals.into_iter().map(DVec3::normalize_or_zero).collect()
    }

    /// The layer of a vertex of cloth; none for one without triangles.
    pub fn layer_of(&self, vertex: usize) -> Option<usize> {
        self.layer_of.get(vertex).filter(|layer| **layer != u32::MAX).map(|layer| *layer as usize)
    }

    /// The unit normal of a vertex of cloth as its layer stands.
    pub fn normal(&self, vertex: usize) -> DVec3 {
        let Some(layer) = self.layer_of(vertex) else { return DVec3::ZERO };
        self.layers[layer].field.vertex_normal(VertexId::new(self.place_in_layer[vertex] as usize))
    }

    /// The layer of bodies.
    pub fn bodies(&self) -> Option<&Layer> {
        self.layers.first().filter(|layer| layer.is_rigid())
    }

    /// Moves all cloth to where it is.
    pub fn place(&mut self, positions: &[DVec3]) {
        use rayon::prelude::*;
        self.layers.par_iter_mut().filter(|layer| !layer.is_rigid()).for_each(|layer| layer.place(positions));
    }

    /// The rank of each vertex of cloth, as `fix` takes layers.
    pub fn ranks(&self) -> Vec<i32> {
        self.layer_of.iter().map(|&layer| if layer == u32::MAX { 0 } else { layer as i32 }).collect()
    }
}

fn check_orientation(workpiece: &Workpiece, wishes: &[GarmentWish]) -> Result<(), LayersError> {
    let topology = workpiece.assembly.topology();
    for (part, wish) in workpiece.assembly.parts().iter().zip(wishes) {
        let mut wrong = part.vertices.clone().filter(|&vertex| !topology.is_oriented(VertexId::new(vertex)));
        let first = wrong.next();
        // A few bad edges are left to those who see them; a mesh that is turned piece by piece has no inside.
        if let Some(vertex) = first.filter(|_| 20 * (wrong.count() + 1) > part.vertices.len()) {
            return Err(LayersError::Orientation { name: wish.name.clone(), vertex: vertex - part.vertices.start });
        }
    }
    Ok(())
}

/// A sheet of some triangles of the assembly.
fn sheet(topology: &Topology, all: &[DVec3], triangles: &[TriangleId], front: Front) -> Option<(Vec<u32>, SheetField)> {
    let mut vertices: Vec<u32> =
        triangles.iter().flat_map(|&triangle| topology.triangle(triangle)).map(|vertex| vertex.0).collect();
    vertices.sort_unstable();
    vertices.dedup();
    let own = |vertex: VertexId| vertices.binary_search(&vertex.0).unwrap_or(0) as u32;
    let corners: Vec<[u32; 3]> = triangles
        .iter()
        .map(|&triangle| match (topology.triangle(triangle).map(own), front) {
            (corners, Front::AsGiven) => corners,
            ([a, b, c], Front::Turned) => [a, c, b],
        })
        .collect();
    let places = vertices.iter().map(|&vertex| all[vertex as usize]).collect();
    let field = SheetField::new(places, &corners).ok()?;
    Some((vertices, field))
}

fn bodies(workpiece: &Workpiece, all: &[DVec3], thickness: f64) -> Option<Layer> {
    let parts = &workpiece.assembly.parts()[workpiece.garments.len()..];
    let triangles: Vec<TriangleId> =
        parts.iter().flat_map(|part| part.triangles.clone()).map(TriangleId::new).collect();
    if triangles.is_empty() {
        return None;
    }
    let (vertices, field) = sheet(workpiece.assembly.topology(), all, &triangles, Front::AsGiven)?;
    let name = "body".to_owned();
    Some(Layer { name, garment: None, number: i32::MIN, weight: f64::INFINITY, thickness, vertices, field })
}

fn components(workpiece: &Workpiece, wishes: &[GarmentWish], topology: &Topology, all: &[DVec3]) -> Vec<Layer> {
    let mut layers = Vec::new();
    for (garment, (part, wish)) in workpiece.assembly.parts().iter().zip(wishes).enumerate() {
        let mut pieces: BTreeMap<usize, Vec<TriangleId>> = BTreeMap::new();
        for triangle in part.triangles.clone().map(TriangleId::new) {
            pieces.entry(topology.component(topology.triangle(triangle)[0])).or_default().push(triangle);
        }
        let count = pieces.len();
        for (piece, triangles) in pieces.into_values().enumerate() {
            let Some((vertices, field)) = sheet(topology, all, &triangles, wish.front) else { continue };
            let name = if count == 1 { wish.name.clone() } else { format!("{}:{}", wish.name, piece + 1) };
            layers.push(Layer {
                name,
                garment: Some(garment),
                number: wish.layer,
                weight: wish.weight,
                thickness: wish.thickness,
                vertices,
                field,
            });
        }
    }
    layers
}

/// How many vertices of one sheet see another from its front and from its back, away from its border.
fn sides(above: &Layer, below: &Layer, reach: f64) -> [usize; 2] {
    use rayon::prelude::*;
    let look = |local: usize| -> Option<bool> {
        let normal = above.field.vertex_normal(VertexId::new(local));
        let query = SheetQuery { reach, facing: Some(normal), hint: None };
        let sight = below.sight(above.field.positions()[local], &query)?;
        (sight.past_border <= 0.0).then_some(sight.value > 0.0)
    };
    let looks: Vec<Option<bool>> = (0..above.vertices.len()).into_par_iter().map(look).collect();
    [true, false].map(|side| looks.iter().filter(|look| **look == Some(side)).count())
}

/// Fronts that look toward the body although they are outside of it, or near it, are turned wrongly.
fn check_fronts(cloth: &[Layer], body: Option<&Layer>, reach: f64) -> Result<(), LayersError> {
    let Some(body) = body else { return Ok(()) };
    for layer in cloth {
        let query = SheetQuery { reach, facing: None, hint: None };
        let (mut seen, mut inward) = (0_usize, 0_usize);
        for local in 0..layer.vertices.len() {
            let Some(sight) = body.sight(layer.field.positions()[local], &query) else { continue };
            seen += 1;
            inward += usize::from(layer.field.vertex_normal(VertexId::new(local)).dot(sight.gradient) < 0.0);
        }
        if 2 * inward > seen && 4 * seen > layer.vertices.len() {
            let share = 100.0 * inward as f64 / seen as f64;
            return Err(LayersError::Inward { name: layer.name.clone(), share });
        }
    }
    Ok(())
}

/// Garments with one number may not lie over each other.
fn check_numbers(cloth: &[Layer], reach: f64) -> Result<(), LayersError> {
    for (at, first) in cloth.iter().enumerate() {
        for second in
            cloth[at + 1..].iter().filter(|second| second.number == first.number && second.garment != first.garment)
        {
            let seen: usize = sides(second, first, 0.25 * reach).iter().sum();
            if 20 * seen > second.vertices.len() {
                let [first, second] = [first, second].map(|layer| layer.name.clone());
                let layer = cloth[at].number;
                return Err(LayersError::SameLayer { first, second, layer });
            }
        }
    }
    Ok(())
}

/// Sorts by number; components of one garment by how many of the others they lie over.
fn order(cloth: &mut Vec<Layer>, reach: f64) {
    let over = |layer: &Layer, other: &Layer| {
        let [front, back] = sides(layer, other, reach);
        let [other_front, other_back] = sides(other, layer, reach);
        front + other_back > back + other_front
    };
    let height = |at: usize| {
        let own = &cloth[at];
        let others = cloth.iter().enumerate().filter(|(index, other)| *index != at && other.garment == own.garment);
        others.filter(|(_, other)| over(own, other)).count()
    };
    let heights: Vec<usize> = (0..cloth.len()).map(height).collect();
    let mut keyed: Vec<(usize, usize, Layer)> =
        heights.into_iter().zip(cloth.drain(..)).enumerate().map(|(at, (height, layer))| (height, at, layer)).collect();
    keyed.sort_by_key(|(height, at, layer)| (layer.number, layer.garment, *height, *at));
    cloth.extend(keyed.into_iter().map(|(_, _, layer)| layer));
}
