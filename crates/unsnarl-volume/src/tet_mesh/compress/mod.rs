//! Compression: the candidate's boundary is moved to the surface while elements stay good. (Bridson 2003, 5.5)
//!
//! Boundary nodes move along the normal of the mesh, never of the field, so that jags are smoothed and not folded.
//!
//! Guarantees: no element is ever inverted, after every sweep the mesh is valid; the same bits on any number of
//! threads, since nodes that move at the same time share no element.
//! Departs: the text has no guard; here a move is halved until its elements keep their sign and a part of their
//! quality.

pub mod finite_elements;
mod optimise;
mod part;
pub mod pattern_search;
mod physics;
mod polish;
mod retreat;
pub mod springs;

pub use optimise::{improve_interior, limits, optimise};
pub use part::{Part, widen};
pub use polish::{LOWEST, YIELDED, yield_to_fit};
pub use retreat::{Crossings, retreat};

use super::boundary::ByNode;
use super::envelope::rings;
use super::quality::{Limits, shape_of, sixfold_volume, tet_quality};
use super::{OUTWARD_FACES, TetMesh};
use crate::field::Field;
use pattern_search::Face;
use rayon::prelude::*;
use std::ops::ControlFlow;
use unsnarl_geometry::DVec3;

/// Which way to compress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Sweeps of pattern search, node by node.
    Optimise,
    /// Masses and springs: edges and altitudes.
    Springs,
    /// Finite elements.
    Elements,
}

/// What a sweep did, or a hundred steps of a simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sweep {
    /// The share of nodes that were optimised; 1 for simulations.
    pub share: f64,
    /// The least quality of an element after it.
    pub worst_quality: f64,
    /// A bound of the distance of boundary nodes from the surface after it, metres.
    pub largest_distance: f64,
}

/// What compression did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompressReport {
    /// Sweep by sweep.
    pub sweeps: Vec<Sweep>,
    /// Moves that the guard shortened.
    pub guarded_moves: usize,
}

/// Hears of every sweep and may end the work: the mesh is valid at any time.
pub type Observer<'a> = &'a mut dyn FnMut(&Sweep) -> ControlFlow<()>;

/// A mesh under compression.
pub struct Workpiece<'a> {
    /// The surface.
    pub field: &'a dyn Field,
    /// Where nodes are.
    pub positions: Vec<DVec3>,
    /// The elements.
    pub tets: &'a [[u32; 4]],
    /// Outward boundary triangles.
    pub boundary: &'a [[u32; 3]],
    node_tets: ByNode,
    node_triangles: ByNode,
    /// Rings from the boundary inward, each as sets of nodes that share no element.
    pub rings: Vec<Vec<Vec<u32>>>,
    /// Nodes that stay where they are; empty where none does.
    is_fixed: Vec<bool>,
}

impl<'a> Workpiece<'a> {
    /// Prepares a mesh.
    pub fn new(field: &'a dyn Field, mesh: &'a TetMesh, boundary: &'a [[u32; 3]]) -> Self {
        let node_count = mesh.positions.len();
        let node_tets = ByNode::of(node_count, &mesh.tets);
        let colours = |ring: Vec<u32>| colours_of(&ring, node_count, &mesh.tets, &node_tets);
        let rings = rings(node_count, &mesh.tets, boundary).into_iter().map(colours).collect();
        Self {
            field,
            positions: mesh.positions.clone(),
            tets: &mesh.tets,
            boundary,
            node_triangles: ByNode::of(node_count, boundary),
            node_tets,
            rings,
            is_fixed: Vec::new(),
        }
    }

    /// Whether a node stays where it is.
    #[inline]
    pub fn is_fixed(&self, node: u32) -> bool {
        self.is_fixed.get(node as usize).is_some_and(|fixed| *fixed)
    }

    /// Whether a node lies on the boundary.
    #[inline]
    pub fn is_boundary(&self, node: u32) -> bool {
        !self.node_triangles.at(node).is_empty()
    }

    /// The nodes of the boundary that may move, colour by colour.
    pub fn boundary_nodes(&self) -> impl Iterator<Item = u32> + '_ {
        self.rings.first().into_iter().flatten().flatten().copied().filter(|&node| !self.is_fixed(node))
    }

    /// The faces opposite a node in its elements: with the node in front each is positive.
    pub fn star(&self, node: u32, faces: &mut Vec<Face>) {
        faces.clear();
        faces.extend(self.node_tets.at(node).iter().map(|&tet| {
            let tet = self.tets[tet as usize];
            let at = tet.iter().position(|&corner| corner == node).unwrap_or(0);
            Face::new(OUTWARD_FACES[at].map(|corner| self.positions[tet[corner] as usize]))
        }));
    }

    /// The sides opposite a node in its boundary triangles: with the node in front each faces outward.
    pub fn fan(&self, node: u32, sides: &mut Vec<[DVec3; 2]>) {
        sides.clear();
        sides.extend(self.node_triangles.at(node).iter().map(|&triangle| {
            let corners = self.boundary[triangle as usize];
            let at = corners.iter().position(|&corner| corner == node).unwrap_or(0);
            [1, 2].map(|step| self.positions[corners[(at + step) % 3] as usize])
        }));
    }

    /// The qualities of all elements.
    pub fn qualities(&self) -> Vec<f64> {
        let quality = |tet: &[u32; 4]| tet_quality(tet.map(|node| self.positions[node as usize]));
        self.tets.par_iter().with_min_len(512).map(quality).collect()
    }

    /// The grades of all elements.
    pub fn grades(&self, limits: &Limits) -> Vec<f64> {
        let grade = |tet: &[u32; 4]| shape_of(tet.map(|node| self.positions[node as usize])).grade(limits);
        self.tets.par_iter().with_min_len(512).map(grade).collect()
    }

    /// The least quality of an element.
    pub fn worst_quality(&self) -> f64 {
        self.qualities().into_iter().fold(f64::INFINITY, f64::min)
    }

    /// The largest distance of a boundary node from the surface.
    pub fn largest_distance(&self) -> f64 {
        let nodes: Vec<u32> = self.boundary_nodes().collect();
        let distances: Vec<f64> = (nodes.par_iter().with_min_len(64))
            .map(|&node| self.field.value(self.positions[node as usize]).abs())
            .collect();
        distances.into_iter().fold(0.0, f64::max)
    }

    /// Whether every element is positive in floats.
    pub fn is_positive(&self, positions: &[DVec3]) -> bool {
        let positive = |tet: &[u32; 4]| sixfold_volume(tet.map(|node| positions[node as usize])) > 0.0;
        self.tets.par_iter().with_min_len(512).all(positive)
    }
}

/// The mean normal of the triangles around a point, weighted by area; none where they cancel.
pub fn mean_normal(point: DVec3, sides: &[[DVec3; 2]]) -> Option<DVec3> {
    sides.iter().map(|&[a, b]| (a - point).cross(b - point)).sum::<DVec3>().try_normalize()
}

/// Splits nodes into sets of which no two share an element, each node into the first that takes it.
fn colours_of(nodes: &[u32], node_count: usize, tets: &[[u32; 4]], node_tets: &ByNode) -> Vec<Vec<u32>> {
    let mut colour = vec![u8::MAX; node_count];
    let mut sets: Vec<Vec<u32>> = Vec::new();
    for &node in nodes {
        let mut taken = [false; 256];
        for &tet in node_tets.at(node) {
            for other in tets[tet as usize] {
                taken[usize::from(colour[other as usize])] = true;
            }
        }
        let free = (0..255).find(|&c| !taken[c]).unwrap_or(254);
        colour[node as usize] = free as u8;
        if sets.len() <= free {
            sets.resize(free + 1, Vec::new());
        }
        sets[free].push(node);
    }
    sets
}
