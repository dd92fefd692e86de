//! Closed tubes that run through themselves and each other: knots, woven rings, and bodies as cloth.
//!
//! A tube follows a closed curve. Its radius is chosen so that strands overlap by a share of its diameter where they
//! are nearest: `2 r (1 - overlap)` is the least distance of two strands. Curves are long enough for the thickest
//! tube: their length over the diameter exceeds the ropelength of the ideal knot (trefoil 16.4, figure eight 21.0,
//! (2,5) 23.5, (3,4) 30.5, (2,7) 30.7), so an embedding with that radius exists.
//!
//! Guarantees: closed and oriented; the rest shape is the shape itself. Panels are tubes cut open and rolled out.

use super::random::Random;
use super::{Case, Cut, Family, Part, Recipe, Sample};
use crate::analysis::ContourKind::Closed;
use crate::scene::garment::RestChoice;
use std::f64::consts::TAU;
use unsnarl_geometry::math::DQuat;
use unsnarl_geometry::{DVec2, DVec3};

/// Length of a torus circle of the knots, metres.
const RADIUS: f64 = 0.2;

macro_rules! knots {
    ($($name:literal, $about:literal, $curve:expr;)*) => { &[$(
        knot!($name, $about, $curve, "20", 0.2),
        knot!($name, $about, $curve, "40", 0.4),
        knot!($name, $about, $curve, "60", 0.6),
    )*] };
}

macro_rules! knot {
    ($name:literal, $about:literal, $curve:expr, $percent:literal, $overlap:literal) => {
        Case {
            name: concat!($name, "-", $percent),
            about: concat!($about, ", strands ", $percent, " % into each other"),
            family: Family::Knots,
            promises: &[(Closed, 1)],
            default_resolution: 10,
            smallest_resolution: 8,
            make: |recipe| tubes(recipe, &$curve, $overlap),
        }
    };
}

pub(super) const CASES: &[Case] = knots! {
    "knot-2-3", "a trefoil knot", [Curve::Torus { turns: 2, windings: 3, depth: 0.25 }];
    "knot-2-5", "a torus knot (2,5)", [Curve::Torus { turns: 2, windings: 5, depth: 0.17 }];
    "knot-2-7", "a torus knot (2,7)", [Curve::Torus { turns: 2, windings: 7, depth: 0.13 }];
    "knot-3-4", "a torus knot (3,4)", [Curve::Torus { turns: 3, windings: 4, depth: 0.25 }];
    "knot-figure-eight", "a figure-eight knot", [Curve::FigureEight { height: 0.33 }];
    "woven-rings", "a chain of three rings", [Curve::Ring(0), Curve::Ring(1), Curve::Ring(2)];
};

/// A closed curve over one turn of its parameter.
enum Curve {
    /// On a torus: so often around its axis, so often around its tube, whose radius is a share of half the torus'
    /// radius.
    Torus { turns: u32, windings: u32, depth: f64 },
    /// The figure-eight knot, with its height as a share of half its radius.
    FigureEight { height: f64 },
    /// A ring of a chain, each turned by a right angle against the one before.
    Ring(u32),
}

/// The tube of a ring, as a share of the ring's radius.
const RING_TUBE: f64 = 0.22;

impl Curve {
    fn at(&self, share: f64, overlap: f64) -> DVec3 {
        let angle = TAU * share;
        let around = |turn: f64, radius: f64, height: f64| {
            0.5 * RADIUS * DVec3::new(radius * turn.cos(), height, radius * turn.sin())
        };
        match *self {
            Self::Torus { turns, windings, depth } => {
                let wind = f64::from(windings) * angle;
                around(f64::from(turns) * angle, 2.0 + depth * wind.cos(), depth * wind.sin())
            }
            Self::FigureEight { height } => {
                around(3.0 * angle, 2.0 + (2.0 * angle).cos(), height * (4.0 * angle).sin())
            }
            Self::Ring(index) => {
                // Each ring reaches into the one before, so far that their tubes overlap at one place.
                let radius = 0.5 * RADIUS;
                let reach = 2.0 * radius * (1.0 - RING_TUBE * (1.0 - overlap));
                let (along, across) = (radius * angle.cos() + f64::from(index) * reach, radius * angle.sin());
                if index % 2 == 0 { DVec3::new(along, across, 0.0) } else { DVec3::new(along, 0.0, across) }
            }
        }
    }
}

/// Two rings of a chain, whose tubes overlap so far.
pub(super) fn linked_rings(recipe: &Recipe, overlap: f64) -> Sample {
    tubes(recipe, &[Curve::Ring(0), Curve::Ring(1)], overlap)
}

/// Tubes along curves, of the radius at which strands overlap so far.
fn tubes(recipe: &Recipe, curves: &[Curve], overlap: f64) -> Sample {
    const SAMPLES: usize = 2000;
    let mut sample = Sample::new();
    sample.description.rest = RestChoice::ShapeAtLoad;
    let mut random = Random::new(recipe.seed.wrapping_add(71));
    for (piece, curve) in curves.iter().enumerate() {
        let line: Vec<DVec3> = (0..SAMPLES).map(|at| curve.at(at as f64 / SAMPLES as f64, overlap)).collect();
        let radius = match curve {
            Curve::Ring(_) => 0.5 * RADIUS * RING_TUBE,
            _ => strand_distance(&line) / (2.0 * (1.0 - overlap)),
        };
        add_tube(&mut sample, piece, &line, radius, recipe, &mut random);
    }
    sample
}

/// The least distance of two strands of a closed line: of two points between which the line leads away and back again.
fn strand_distance(line: &[DVec3]) -> f64 {
    let count = line.len();
    let mut least = f64::INFINITY;
    for (at, place) in line.iter().enumerate() {
        let distance = |step: usize| place.distance(line[(at + step) % count]);
        let mut first = 1;
        while first + 1 < count && distance(first + 1) >= distance(first) {
            first += 1;
        }
        let mut last = count - 1;
        while last > first && distance(last - 1) >= distance(last) {
            last -= 1;
        }
        least = (first..last).map(distance).fold(least, f64::min);
    }
    least
}

/// A tube around a closed line, with frames that turn as little as a closed tube allows.
fn add_tube(sample: &mut Sample, piece: usize, line: &[DVec3], radius: f64, recipe: &Recipe, random: &mut Random) {
    let sectors = recipe.resolution;
    let length: f64 = (0..line.len()).map(|at| line[at].distance(line[(at + 1) % line.len()])).sum();
    let rows = ((length / (TAU * radius / sectors as f64)).round() as usize).max(3);
    let stations = stations(line, length, rows);
    let frames = closed_frames(&stations);
    let (first, first_triangle) = (sample.mesh.positions.len() as u32, sample.mesh.triangles.len());
    let step = length / rows as f64;
    let size = DVec2::new(length, step * sectors as f64);
    let right = sample.uv.coordinates.iter().fold(-0.1 * size.x, |right, point| right.max(point.x));
    let (corner, first_point) = (DVec2::new(right + 0.1 * size.x, 0.0), sample.uv.coordinates.len() as u32);
    let is_jittered = recipe.cut == Cut::Irregular;
    let mut jitter = || if is_jittered { random.between(-0.25, 0.25) } else { 0.0 };
    let jitters: Vec<DVec2> = (0..rows * sectors).map(|_| DVec2::new(jitter(), jitter())).collect();
    for row in 0..rows {
        let (here, next) = (stations[row], stations[(row + 1) % rows]);
        let [right, up] = frames[row];
        for sector in 0..sectors {
            let shift = jitters[row * sectors + sector];
            let angle = TAU * (sector as f64 + shift.y) / sectors as f64;
            let across = radius * (angle.cos() * right + angle.sin() * up);
            sample.mesh.positions.push(here + shift.x * (next - here) + across);
        }
    }
    for (row, sector) in (0..=rows).flat_map(|row| (0..=sectors).map(move |sector| (row, sector))) {
        let place = DVec2::new(row as f64, sector as f64) + jitters[(row % rows) * sectors + sector % sectors];
        sample.uv.coordinates.push(corner + step * place);
    }
    let at = |row: usize, sector: usize| first + ((row % rows) * sectors + sector % sectors) as u32;
    let point = |row: usize, sector: usize| first_point + (row * (sectors + 1) + sector) as u32;
    for (row, sector) in (0..rows).flat_map(|row| (0..sectors).map(move |sector| (row, sector))) {
        let corners = [[row, sector], [row, sector + 1], [row + 1, sector + 1], [row + 1, sector]];
        let is_other = match recipe.cut {
            Cut::Regular => false,
            Cut::Alternating => (row + sector) % 2 == 1,
            Cut::Irregular => random.between(0.0, 1.0) < 0.5,
        };
        let halves = if is_other { [[0, 1, 3], [1, 2, 3]] } else { [[0, 1, 2], [0, 2, 3]] };
        for half in halves {
            sample.mesh.triangles.push(half.map(|k: usize| at(corners[k][0], corners[k][1])));
            sample.uv.triangles.push(half.map(|k: usize| point(corners[k][0], corners[k][1])));
        }
    }
    let triangles = first_triangle..sample.mesh.triangles.len();
    sample.parts.push(Part { name: format!("tube_{}", piece + 1), triangles, piece, layer: None });
}

/// Points at equal distances along a closed line.
fn stations(line: &[DVec3], length: f64, count: usize) -> Vec<DVec3> {
    let mut stations = Vec::with_capacity(count);
    let mut walked = 0.0;
    for at in 0..line.len() {
        let (from, to) = (line[at], line[(at + 1) % line.len()]);
        let step = from.distance(to);
        while stations.len() < count && stations.len() as f64 * length / count as f64 <= walked + step {
            let share = (stations.len() as f64 * length / count as f64 - walked) / step;
            stations.push(from.lerp(to, share));
        }
        walked += step;
    }
    stations.resize(count, line[0]);
    stations
}

/// Two directions across the line at each station, carried along without turning, and turned back evenly so that they
/// close.
fn closed_frames(stations: &[DVec3]) -> Vec<[DVec3; 2]> {
    let count = stations.len();
    let tangent = |at: usize| {
        let (before, after) = (stations[(at + count - 1) % count], stations[(at + 1) % count]);
        (after - before).normalize_or(DVec3::X)
    };
    let mut right = tangent(0).any_orthonormal_vector();
    let mut frames = Vec::with_capacity(count + 1);
    for at in 0..=count {
        let along = tangent(at % count);
        if at > 0 {
            right = DQuat::from_rotation_arc(tangent(at - 1), along) * right;
        }
        right = right.reject_from_normalized(along).normalize_or(along.any_orthonormal_vector());
        frames.push([right, along.cross(right)]);
    }
    let (start, end) = (frames[0], frames[count]);
    let twist = end[0].dot(start[1]).atan2(end[0].dot(start[0]));
    frames.truncate(count);
    for (at, frame) in frames.iter_mut().enumerate() {
        let turn = DQuat::from_axis_angle(frame[0].cross(frame[1]), -twist * at as f64 / count as f64);
        *frame = frame.map(|axis| turn * axis);
    }
    frames
}
