//! Surface nets: one vertex for each loop of each cell, one polygon around each crossed edge.
//!
//! Where two cells share a face that the surface crosses twice, with both crossings on one loop in either cell, the
//! edge between the two vertices would be used by four polygons; such polygons get a further vertex on the face.

use super::cases::{CASES, face_has_one_loop, face_is_crossed_twice};
use super::cells::{ActiveCell, ActiveCells};
use crate::grid::SampleCoordinates;
use crate::level_set::LevelSet;
use rayon::prelude::*;
use std::collections::BTreeMap;
use unsnarl_geometry::{DVec3, TriMesh};

/// A crossing of a face: the face's normal axis and first sample, and the inside corner it goes around.
pub(super) type FaceCrossing = (usize, SampleCoordinates, SampleCoordinates);

pub(super) enum Polygon {
    Quad([u32; 4]),
    /// A polygon with vertices on faces, around the crossing of an edge.
    Split {
        corners: Vec<Corner>,
        middle: DVec3,
    },
}

pub(super) enum Corner {
    Vertex(u32),
    OnFace(FaceCrossing, DVec3),
}

/// Where polygons find the cells around an edge.
pub(super) trait Cells {
    /// The first vertex and the pattern of the cell whose first corner is a sample.
    fn find(&self, sample: SampleCoordinates) -> (u32, u8);
}

struct Nets<'a> {
    level_set: &'a LevelSet,
    cells: &'a ActiveCells,
    /// For each block and cell, its first vertex.
    first_vertex: Vec<Vec<u32>>,
}

impl Cells for Nets<'_> {
    fn find(&self, sample: SampleCoordinates) -> (u32, u8) {
        let (block, cell) =
            self.cells.locate(self.level_set, sample).expect("all cells around a crossed edge are active");
        (self.first_vertex[block][cell], self.cells.cells[block][cell].pattern)
    }
}

pub(super) fn mesh(level_set: &LevelSet, cells: &ActiveCells) -> TriMesh {
    let mut count = 0_u32;
    let mut number = |pattern: u8| {
        let first = count;
        count += CASES[pattern as usize].loops.len() as u32;
        first
    };
    let first_vertex: Vec<Vec<u32>> =
        cells.cells.iter().map(|block| block.iter().map(|cell| number(cell.pattern)).collect()).collect();
    let nets = Nets { level_set, cells, first_vertex };
    let blocks = 0..cells.blocks.len();
    let mut positions: Vec<DVec3> =
        blocks.clone().into_par_iter().flat_map_iter(|block| nets.vertices(block)).collect();
    let polygons: Vec<Polygon> = blocks.into_par_iter().flat_map_iter(|block| nets.polygons(block)).collect();
    let triangles = triangulate(polygons, &mut positions);
    TriMesh { positions, triangles }
}

impl Nets<'_> {
    fn vertices(&self, block: usize) -> Vec<DVec3> {
        let mut positions = Vec::new();
        for cell in &self.cells.cells[block] {
            let sample = self.cells.sample(self.level_set, block, cell);
            positions.extend(cell_vertices(self.level_set, sample, cell));
        }
        positions
    }

    fn polygons(&self, block: usize) -> Vec<Polygon> {
        let mut polygons = Vec::new();
        for cell in &self.cells.cells[block] {
            let sample = self.cells.sample(self.level_set, block, cell);
            cell_polygons(self.level_set, self, sample, cell, &mut polygons);
        }
        polygons
    }
}

/// The vertices of a cell, one for each loop.
pub(super) fn cell_vertices(
    level_set: &LevelSet,
    sample: SampleCoordinates,
    cell: &ActiveCell,
) -> impl Iterator<Item = DVec3> {
    let (corner, spacing) = (level_set.frame.position(sample), level_set.frame.spacing);
    CASES[cell.pattern as usize].loops.iter().map(move |edges| {
        let sum: DVec3 = edges.iter().map(|&edge| cell.crossing(edge as usize)).sum();
        corner + spacing * (sum / edges.len() as f64)
    })
}

/// The polygons around the edges that start at the first corner of a cell.
pub(super) fn cell_polygons(
    level_set: &LevelSet,
    cells: &impl Cells,
    sample: SampleCoordinates,
    cell: &ActiveCell,
    polygons: &mut Vec<Polygon>,
) {
    for axis in 0..3 {
        if (cell.pattern & 1) != (cell.pattern >> (1 << axis) & 1) {
            let inside_first = cell.pattern & 1 == 1;
            polygons.push(polygon(level_set, cells, sample, axis, inside_first, cell.crossing(4 * axis)));
        }
    }
}

fn polygon(
    level_set: &LevelSet,
    cells: &impl Cells,
    sample: SampleCoordinates,
    axis: usize,
    inside_first: bool,
    crossing: DVec3,
) -> Polygon {
    let [next, last] = [(axis + 1) % 3, (axis + 2) % 3];
    let shifted = |by_next: i32, by_last: i32| {
        let mut at = sample;
        at[next] -= by_next;
        at[last] -= by_last;
        at
    };
    // Around the edge, counter-clockwise about its axis: where the cell starts, and the edge's number in it.
    let around = [(0, 0), (1, 0), (1, 1), (0, 1)];
    let found = around.map(|(p, q)| {
        let (first_vertex, pattern) = cells.find(shifted(p, q));
        let own_loop = CASES[pattern as usize].loop_of_edge[4 * axis + p as usize + 2 * q as usize];
        (first_vertex + u32::from(own_loop), pattern)
    });
    // The face between each cell and the one after it: its normal, its first sample, its side of the former cell.
    let faces = [(next, (0, 0), 0), (last, (1, 0), 0), (next, (0, 1), 1), (last, (0, 0), 1)];
    let doubled = [0, 1, 2, 3].map(|i| {
        let (normal, _, high) = faces[i];
        let (here, there) = (found[i].1, found[(i + 1) % 4].1);
        face_is_crossed_twice(here, normal, high)
            && face_has_one_loop(here, normal, high)
            && face_has_one_loop(there, normal, 1 - high)
    });
    if doubled == [false; 4] {
        let [a, b, c, d] = found.map(|(vertex, _)| vertex);
        return Polygon::Quad(if inside_first { [a, b, c, d] } else { [d, c, b, a] });
    }
    let mut inside_corner = sample;
    inside_corner[axis] += i32::from(!inside_first);
    let mut corners = Vec::new();
    for i in 0..4 {
        corners.push(Corner::Vertex(found[i].0));
        if doubled[i] {
            let (normal, (p, q), _) = faces[i];
            let at = on_face(level_set, normal, shifted(p, q), inside_corner);
            corners.push(Corner::OnFace((normal, shifted(p, q), inside_corner), at));
        }
    }
    if !inside_first {
        corners.reverse();
    }
    let frame = level_set.frame;
    Polygon::Split { corners, middle: frame.position(sample) + frame.spacing * crossing }
}

/// The middle of the two crossings around an inside corner of a face.
fn on_face(level_set: &LevelSet, normal: usize, first: SampleCoordinates, inside: SampleCoordinates) -> DVec3 {
    let frame = level_set.frame;
    let inside_value = f64::from(level_set.grid.sample(inside));
    let crossing = |axis: usize| {
        let mut other = inside;
        other[axis] = 2 * first[axis] + 1 - inside[axis];
        let value = f64::from(level_set.grid.sample(other));
        let along = (inside_value / (inside_value - value)).clamp(1e-3, 1.0 - 1e-3);
        frame.position(inside).lerp(frame.position(other), along)
    };
    0.5 * (crossing((normal + 1) % 3) + crossing((normal + 2) % 3))
}

pub(super) fn triangulate(polygons: Vec<Polygon>, positions: &mut Vec<DVec3>) -> Vec<[u32; 3]> {
    let mut triangles = Vec::with_capacity(2 * polygons.len());
    let mut on_faces: BTreeMap<FaceCrossing, u32> = BTreeMap::new();
    for polygon in polygons {
        match polygon {
            Polygon::Quad([a, b, c, d]) => {
                let at = |vertex: u32| positions[vertex as usize];
                if at(a).distance_squared(at(c)) <= at(b).distance_squared(at(d)) {
                    triangles.extend([[a, b, c], [a, c, d]]);
                } else {
                    triangles.extend([[a, b, d], [b, c, d]]);
                }
            }
            Polygon::Split { corners, middle } => {
                let ring: Vec<u32> = corners
                    .into_iter()
                    .map(|corner| match corner {
                        Corner::Vertex(vertex) => vertex,
                        Corner::OnFace(crossing, at) => *on_faces.entry(crossing).or_insert_with(|| {
                            positions.push(at);
                            positions.len() as u32 - 1
                        }),
                    })
                    .collect();
                let center = positions.len() as u32;
                positions.push(middle);
                triangles.extend((0..ring.len()).map(|i| [ring[i], ring[(i + 1) % ring.len()], center]));
            }
        }
    }
    triangles
}
