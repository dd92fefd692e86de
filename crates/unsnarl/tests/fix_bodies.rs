//! Cloth in bodies: it comes out by the body's own sign, unstrained and only where it has to; where a body crosses itself cloth
//! is pinched, and said to be.

#![allow(clippy::unwrap_used)]

use std::f64::consts::{PI, TAU};
use unsnarl::analysis::{Assembly, PartKind};
use unsnarl::fix::report::{Spread, pinched_places};
use unsnarl::fix::{self, Continue, FixSettings, Patient};
use unsnarl::geometry::{DVec3, TriMesh};
use unsnarl::model::{Cloth, Model, Rest};
use unsnarl::samples::{self, Cut, Recipe};

/// A closed ball.
fn ball(center: DVec3, radius: f64) -> TriMesh {
    let (rings, sectors) = (14, 24);
    let mut positions = vec![center + radius * DVec3::Y];
    for ring in 1..rings {
        let polar = PI * f64::from(ring) / f64::from(rings);
        for sector in 0..sectors {
            let angle = TAU * f64::from(sector) / f64::from(sectors);
            let direction = DVec3::new(polar.sin() * angle.cos(), polar.cos(), polar.sin() * angle.sin());
            positions.push(center + radius * direction);
        }
    }
    positions.push(center - radius * DVec3::Y);
    let last = positions.len() as u32 - 1;
    let at = |ring: u32, sector: u32| 1 + (ring - 1) * sectors as u32 + sector % sectors as u32;
    let mut triangles = Vec::new();
    for sector in 0..sectors as u32 {
        triangles.push([0, at(1, sector + 1), at(1, sector)]);
        triangles.push([last, at(rings as u32 - 1, sector), at(rings as u32 - 1, sector + 1)]);
        for ring in 1..rings as u32 - 1 {
            let [a, b] = [at(ring, sector), at(ring, sector + 1)];
            let [c, d] = [at(ring + 1, sector), at(ring + 1, sector + 1)];
            triangles.extend([[a, b, d], [a, d, c]]);
        }
    }
    TriMesh { positions, triangles }
}

fn joined(first: TriMesh, second: TriMesh) -> TriMesh {
    let offset = first.positions.len() as u32;
    let shifted = second.triangles.iter().map(|corners| corners.map(|corner| corner + offset));
    let triangles = first.triangles.iter().copied().chain(shifted).collect();
    TriMesh { positions: [first.positions, second.positions].concat(), triangles }
}

/// A flat sheet, one metre wide, in the plane y = 0 around the origin.
fn sheet(resolution: usize) -> TriMesh {
    let sample = samples::find("hanky").unwrap().make(&Recipe { resolution, cut: Cut::Irregular, seed: 2 });
    let (mut mesh, bounds) = (sample.mesh.clone(), sample.mesh.bounds());
    let extent = bounds.extent();
    let flat = (0..3).min_by(|&a, &b| extent[a].total_cmp(&extent[b])).unwrap();
    let others: Vec<usize> = (0..3).filter(|&axis| axis != flat).collect();
    for place in &mut mesh.positions {
        let relative = (*place - bounds.center()) / extent.max_element();
        *place = DVec3::new(relative[others[0]], 0.0, relative[others[1]]);
    }
    mesh
}

fn patient(cloth: &TriMesh, body: &TriMesh) -> Patient {
    let mut piece = Cloth::new("sheet", cloth.clone());
    piece.rest = Rest::AsLoaded;
    let (model, state) = Model::build(&[piece]).unwrap();
    let part = |name: &str, kind, mesh: &TriMesh| (name.to_owned(), kind, mesh.positions.len(), mesh.triangles.clone());
    let parts = [part("sheet", PartKind::Cloth, cloth), part("body", PartKind::Body, body)];
    let parts = parts.iter().map(|(name, kind, count, triangles)| (name.clone(), *kind, *count, triangles.as_slice()));
    let assembly = Assembly::new(parts).unwrap();
    Patient { model, state, assembly, body_positions: body.positions.clone() }
}

#[test]
fn cloth_leaves_a_ball_unstrained_and_only_around_it() {
    let cloth = sheet(30);
    let body = ball(DVec3::new(0.1, -0.1, 0.05), 0.12);
    let patient = patient(&cloth, &body);
    let model = patient.model.clone();
    let outcome = fix::untangle(patient, &FixSettings::default(), &mut |_| Continue::Yes);
    assert!(outcome.verdict.is_clean(), "{} pairs", outcome.verdict.pairs.len());
    assert!(outcome.pinched.is_empty());
    let stretch = Spread::of_stretch(&model, &outcome.positions);
    assert!(stretch.p99 < 1.1, "{stretch:?}");
    let moved: Vec<usize> =
        (0..cloth.positions.len()).filter(|&at| outcome.positions[at] != cloth.positions[at]).collect();
    assert!(!moved.is_empty() && 2 * moved.len() < cloth.positions.len(), "{} moved", moved.len());
    let far = |at: &&usize| cloth.positions[**at].distance(DVec3::new(0.1, 0.0, 0.05)) > 0.6;
    assert_eq!(moved.iter().filter(far).count(), 0, "far from the ball nothing moves");
}

#[test]
fn where_a_body_crosses_itself_cloth_is_pinched_and_nothing_else_is_left() {
    let cloth = sheet(30);
    let balls = [-0.11, 0.11].map(|x| ball(DVec3::new(x, -0.1, 0.0), 0.18));
    let [first, second] = balls;
    let body = joined(first, second);
    let patient = patient(&cloth, &body);
    let assembly = patient.assembly.clone();
    let outcome = fix::untangle(patient, &FixSettings::default(), &mut |_| Continue::Yes);
    assert!(!outcome.verdict.is_clean() && !outcome.pinched.is_empty());
    let all: Vec<DVec3> = outcome.positions.iter().chain(&body.positions).copied().collect();
    let (places, elsewhere) = pinched_places(&assembly, &all, &outcome.verdict, &outcome.pinched);
    assert_eq!((places.len(), elsewhere), (1, 0), "{places:?}");
    assert!(DVec3::from_array(places[0].center).length() < 0.15, "between the balls: {places:?}");
    for vertex in &outcome.pinched {
        assert_eq!(outcome.positions[vertex.index()], cloth.positions[vertex.index()], "what is pinched stays");
    }
}

/// The sheet between two balls that cross each other, with a second sheet through a far corner of it.
#[test]
fn cloth_against_cloth_is_clean_beside_a_pinch() {
    let upright = |place: &DVec3| DVec3::new(0.35, place.x * 0.3, place.z * 0.3 + 0.42);
    let (first, mut second) = (sheet(24), sheet(8));
    second.positions.iter_mut().for_each(|place| *place = upright(place));
    let cloth = joined(first, second);
    let [left, right] = [-0.11, 0.11].map(|x| ball(DVec3::new(x, -0.1, 0.0), 0.18));
    let body = joined(left, right);
    let patient = patient(&cloth, &body);
    let assembly = patient.assembly.clone();
    let outcome = fix::untangle(patient, &FixSettings::default(), &mut |_| Continue::Yes);
    let all: Vec<DVec3> = outcome.positions.iter().chain(&body.positions).copied().collect();
    let (places, elsewhere) = pinched_places(&assembly, &all, &outcome.verdict, &outcome.pinched);
    assert!(places.len() == 1 && elsewhere == 0, "{places:?}, {elsewhere} pairs elsewhere");
}

#[test]
fn what_leaves_a_body_does_not_depend_on_threads() {
    let (cloth, body) = (sheet(16), ball(DVec3::new(0.1, -0.1, 0.05), 0.12));
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let run = || fix::untangle(patient(&cloth, &body), &FixSettings::default(), &mut |_| Continue::Yes).positions;
        pool.install(run)
    };
    assert_eq!(on(1), on(3));
}
