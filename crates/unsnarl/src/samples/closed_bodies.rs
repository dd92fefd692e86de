//! Closed bodies as cloth: balls that overlap, linked tori, a character with its arms in its trunk.
//!
//! Balls and the character are surfaces of cells: the faces between cells inside and outside, rounded. The character is
//! made with its arms spread, then these are bent into the trunk.
//!
//! Guarantees: closed and oriented; the rest shape is the shape itself. Panels are the faces of one direction and
//! depth.

use super::knots::linked_rings;
use super::random::Random;
use super::{Case, Cut, Family, Part, Recipe, Sample};
use crate::analysis::ContourKind::Closed;
use crate::scene::garment::RestChoice;
use std::collections::BTreeMap;
use std::f64::consts::PI;
use unsnarl_geometry::{DVec2, DVec3, Topology, VertexId};

#[rustfmt::skip]
pub(super) const CASES: &[Case] = &[
    Case { name: "balls", about: "two balls that overlap by 40 % of their radius", family: Family::ClosedBodies,
           promises: &[(Closed, 1)], default_resolution: 12, smallest_resolution: 6, make: balls },
    Case { name: "linked-tori", about: "two linked tori whose tubes overlap by 40 %", family: Family::ClosedBodies,
           promises: &[(Closed, 1)], default_resolution: 12, smallest_resolution: 8,
           make: |recipe| linked_rings(recipe, 0.4) },
    Case { name: "character", about: "a closed character with both arms in its trunk", family: Family::ClosedBodies,
           promises: &[(Closed, 1)], default_resolution: 3, smallest_resolution: 2, make: character },
];

/// How far vertices of irregular bodies are moved, in cells.
const JITTER: f64 = 0.2;

/// A box of cells.
type Cells = [[i32; 2]; 3];

/// The surface of cells: corners of the grid, and squares that turn counter-clockwise seen from outside.
struct Surface {
    corners: Vec<[i32; 3]>,
    /// Each with the axis, side and depth of its face.
    squares: Vec<([u32; 4], Face)>,
}

/// Which way a square looks: its axis, whether along it, and where on it.
type Face = (usize, bool, i32);

impl Surface {
    /// Of the union of boxes, which must not meet along edges alone.
    fn of(boxes: &[Cells]) -> Self {
        let is_in =
            |cell: [i32; 3]| boxes.iter().any(|cells| (0..3).all(|k| (cells[k][0]..cells[k][1]).contains(&cell[k])));
        let mut numbers: BTreeMap<[i32; 3], u32> = BTreeMap::new();
        let mut surface = Self { corners: Vec::new(), squares: Vec::new() };
        let mut seen: Vec<[i32; 3]> = boxes.iter().flat_map(|&cells| cells_of(cells)).collect();
        seen.sort_unstable();
        seen.dedup();
        for cell in seen {
            for axis in 0..3 {
                for is_along in [false, true] {
                    let mut next = cell;
                    next[axis] += if is_along { 1 } else { -1 };
                    if is_in(next) {
                        continue;
                    }
                    let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
                    let corner = |shift: [i32; 2]| {
                        let mut corner = cell;
                        corner[axis] += i32::from(is_along);
                        corner[u] += shift[0];
                        corner[v] += shift[1];
                        corner
                    };
                    let mut around = [[0, 0], [1, 0], [1, 1], [0, 1]];
                    if !is_along {
                        around.reverse();
                    }
                    let square = around.map(|shift| {
                        *numbers.entry(corner(shift)).or_insert_with(|| {
                            surface.corners.push(corner(shift));
                            surface.corners.len() as u32 - 1
                        })
                    });
                    surface.squares.push((square, (axis, is_along, corner([0, 0])[axis])));
                }
            }
        }
        surface
    }

    /// Adds it as a piece, with its corners where they are told to be.
    fn add_to(&self, sample: &mut Sample, name: &str, places: &[DVec3], (recipe, random): (&Recipe, &mut Random)) {
        let (first, first_triangle) = (sample.mesh.positions.len() as u32, sample.mesh.triangles.len());
        sample.mesh.positions.extend(places);
        let length = |&(square, _): &([u32; 4], Face)| places[square[0] as usize].distance(places[square[1] as usize]);
        let cell = self.squares.iter().map(length).sum::<f64>() / self.squares.len().max(1) as f64;
        let right = sample.uv.coordinates.iter().fold(0.0, |right: f64, point| right.max(point.x + cell));
        let mut points: BTreeMap<(Face, u32), u32> = BTreeMap::new();
        let mut panels: BTreeMap<Face, f64> = BTreeMap::new();
        let most = |axis: usize| self.corners.iter().map(|corner| corner[axis].abs()).max().unwrap_or(0);
        let width = f64::from(2 * (0..3).map(most).max().unwrap_or(0) + 2);
        for (at, &(square, face)) in self.squares.iter().enumerate() {
            let panel = panels.len() as f64;
            let left = right + cell * width * *panels.entry(face).or_insert(panel);
            let panel_corner = square.map(|corner| {
                *points.entry((face, corner)).or_insert_with(|| {
                    let place = self.corners[corner as usize];
                    let flat = DVec2::new(f64::from(place[(face.0 + 1) % 3]), f64::from(place[(face.0 + 2) % 3]));
                    // Seen from behind, left is right.
                    let flat = if face.1 { flat } else { DVec2::new(-flat.x, flat.y) };
                    sample.uv.coordinates.push(DVec2::new(left, 0.0) + cell * (flat + DVec2::splat(0.5 * width)));
                    sample.uv.coordinates.len() as u32 - 1
                })
            });
            let is_other = match recipe.cut {
                Cut::Regular => false,
                Cut::Alternating => at % 2 == 1,
                Cut::Irregular => random.between(0.0, 1.0) < 0.5,
            };
            for half in if is_other { [[0, 1, 3], [1, 2, 3]] } else { [[0, 1, 2], [0, 2, 3]] } {
                sample.mesh.triangles.push(half.map(|k: usize| first + square[k]));
                sample.uv.triangles.push(half.map(|k: usize| panel_corner[k]));
            }
        }
        let piece = sample.parts.last().map_or(0, |part| part.piece + 1);
        let triangles = first_triangle..sample.mesh.triangles.len();
        sample.parts.push(Part { name: name.to_owned(), triangles, piece, layer: None });
    }
}

fn cells_of(cells: Cells) -> impl Iterator<Item = [i32; 3]> {
    let [x, y, z] = cells.map(|[from, to]| from..to);
    x.flat_map(move |x| {
        let z = z.clone();
        y.clone().flat_map(move |y| z.clone().map(move |z| [x, y, z]))
    })
}

fn jitter(recipe: &Recipe, random: &mut Random) -> DVec3 {
    let mut shift = || if recipe.cut == Cut::Irregular { random.between(-JITTER, JITTER) } else { 0.0 };
    DVec3::new(shift(), shift(), shift())
}

/// Two balls, each a cube of cells blown up.
fn balls(recipe: &Recipe) -> Sample {
    const RADIUS: f64 = 0.1;
    const OVERLAP: f64 = 0.4;
    let count = recipe.resolution as i32;
    let surface = Surface::of(&[[[0, count]; 3]]);
    let mut random = Random::new(recipe.seed.wrapping_add(131));
    let mut sample = Sample::new();
    sample.description.rest = RestChoice::ShapeAtLoad;
    for (name, side) in [("left_ball", -1.0), ("right_ball", 1.0)] {
        let middle = DVec3::X * (side * RADIUS * (1.0 - 0.5 * OVERLAP));
        let place = |corner: &[i32; 3]| {
            let at = DVec3::from(corner.map(f64::from)) + jitter(recipe, &mut random);
            // Equal angles, so that triangles in the middle of a face are about as large as those at its corners.
            let warped = ((at * 2.0 / f64::from(count) - 1.0) * (0.25 * PI)).to_array().map(f64::tan);
            middle + RADIUS * DVec3::from(warped).normalize_or(DVec3::X)
        };
        let places: Vec<DVec3> = surface.corners.iter().map(place).collect();
        surface.add_to(&mut sample, name, &places, (recipe, &mut random));
    }
    sample
}

/// A trunk, a head, two legs and two arms, which are bent into the trunk.
fn character(recipe: &Recipe) -> Sample {
    /// In units of half a limb.
    const BOXES: [Cells; 6] = [
        [[-3, 3], [0, 6], [-2, 2]],
        [[-1, 1], [6, 9], [-1, 1]],
        [[-3, -1], [-8, 0], [-1, 1]],
        [[1, 3], [-8, 0], [-1, 1]],
        [[-13, -3], [4, 6], [-1, 1]],
        [[3, 13], [4, 6], [-1, 1]],
    ];
    /// Metres.
    const UNIT: f64 = 0.06;
    let cells = recipe.resolution as i32;
    let surface = Surface::of(&BOXES.map(|cells_of_box| cells_of_box.map(|range| range.map(|end| end * cells))));
    let mut random = Random::new(recipe.seed.wrapping_add(173));
    let unit = 1.0 / f64::from(cells);
    let squares = surface.squares.iter().flat_map(|&([a, b, c, d], _)| [[a, b, c], [a, c, d]]);
    let triangles: Vec<[u32; 3]> = squares.collect();
    let mut sample = Sample::new();
    sample.description.rest = RestChoice::ShapeAtLoad;
    let Ok(topology) = Topology::new(surface.corners.len(), &triangles) else { return sample };
    let mut places: Vec<DVec3> =
        surface.corners.iter().map(|corner| unit * DVec3::from(corner.map(f64::from))).collect();
    round_off(&topology, &mut places, 2 * recipe.resolution * recipe.resolution);
    // Cells at corners are small after rounding, and are moved less.
    let shortest = |at: usize| {
        let lengths = topology.ring(VertexId::new(at)).map(|next| places[at].distance(places[next.index()]));
        lengths.fold(f64::INFINITY, f64::min)
    };
    let sizes: Vec<f64> = (0..places.len()).map(shortest).collect();
    let bends = [random.between(3.5, 3.8), random.between(3.5, 3.8)];
    for (at, place) in places.iter_mut().enumerate() {
        let normal = normal(&topology, &surface, VertexId::new(at));
        let shift = sizes[at] * jitter(recipe, &mut random);
        *place = UNIT * bent(*place + shift - normal * shift.dot(normal), bends);
    }
    surface.add_to(&mut sample, "character", &places, (recipe, &mut random));
    sample
}

/// Every vertex goes half the way to the middle of its neighbours, so often.
fn round_off(topology: &Topology, places: &mut Vec<DVec3>, rounds: usize) {
    for _ in 0..rounds {
        let middle = |at: usize| {
            let (sum, count) = topology
                .ring(VertexId::new(at))
                .fold((DVec3::ZERO, 0.0), |(sum, count), next| (sum + places[next.index()], count + 1.0));
            0.5 * (places[at] + sum / f64::max(count, 1.0))
        };
        *places = (0..places.len()).map(middle).collect();
    }
}

/// The unit normal of the cells at a corner.
fn normal(topology: &Topology, surface: &Surface, vertex: VertexId) -> DVec3 {
    let of = |&triangle: &unsnarl_geometry::TriangleId| {
        let (axis, is_along, _) = surface.squares[triangle.index() / 2].1;
        DVec3::AXES[axis] * if is_along { 1.0 } else { -1.0 }
    };
    topology.vertex_triangles(vertex).iter().map(of).sum::<DVec3>().normalize_or_zero()
}

/// Arms bent forward by an angle each, the left one downward as well.
fn bent(place: DVec3, angles: [f64; 2]) -> DVec3 {
    const SHOULDER: f64 = 3.0;
    const BENT: f64 = 5.0;
    const DROP: f64 = 0.45;
    let (side, angle) = if place.x < 0.0 { (-1.0, angles[0]) } else { (1.0, angles[1]) };
    let along = place.x.abs() - SHOULDER;
    if along <= 0.0 {
        return place;
    }
    let radius = BENT / angle;
    let (sine, cosine) = (angle * along.min(BENT) / BENT).sin_cos();
    let rest = (along - BENT).max(0.0);
    let drop = if side < 0.0 { DROP * rest } else { 0.0 };
    let out = (radius - place.z) * sine + rest * cosine;
    let forward = radius - (radius - place.z) * cosine + rest * sine;
    DVec3::new(side * (SHOULDER + out), place.y - drop, forward)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{Assembly, Workspace};

    fn made(name: &str, resolution: usize, cut: Cut) -> Sample {
        super::super::find(name).unwrap().make(&Recipe { resolution, cut, seed: 4 })
    }

    #[test]
    fn bodies_are_closed_and_oriented_and_each_ball_is_clean_by_itself() {
        for (name, resolution) in [("balls", 6), ("linked-tori", 10), ("character", 2)] {
            for cut in [Cut::Regular, Cut::Alternating, Cut::Irregular] {
                let sample = made(name, resolution, cut);
                let topology = Topology::new(sample.mesh.positions.len(), &sample.mesh.triangles).unwrap();
                for vertex in (0..topology.vertex_count()).map(VertexId::new) {
                    assert!(topology.is_oriented(vertex) && topology.open_fans(vertex) == Some(0), "{name} {cut:?}");
                }
                let is_character = name == "character";
                for piece in sample.pieces().iter().filter(|_| !is_character) {
                    let assembly = Assembly::of_cloth(name, &piece.mesh).unwrap();
                    let pairs = Workspace::default().crossing_pairs_again(&assembly, &piece.mesh.positions);
                    assert!(pairs.is_empty(), "{name} {cut:?}: {}", pairs.len());
                }
            }
        }
    }

    /// By Archimedes: a ball has 2 / 3 of the volume of its cylinder, and cells cut off a little.
    #[test]
    fn a_ball_has_the_volume_of_a_ball() {
        let sample = made("balls", 24, Cut::Regular);
        let ball = &sample.pieces()[0].mesh;
        let cone = |corners: &[u32; 3]| {
            let [a, b, c] = corners.map(|corner| ball.positions[corner as usize]);
            a.dot(b.cross(c)) / 6.0
        };
        let volume: f64 = ball.triangles.iter().map(cone).sum();
        let expected = 4.0 / 3.0 * PI * 0.1_f64.powi(3);
        assert!((0.99..1.0).contains(&(volume / expected)), "{}", volume / expected);
    }
}
