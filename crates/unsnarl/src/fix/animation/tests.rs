use super::carry::Axes;
use super::*;
use crate::analysis::Assembly;
use crate::geometry::TriMesh;
use crate::geometry::math::DQuat;
use crate::model::{Cloth, Model};
use std::sync::Arc;

/// A sheet in the plane of x and z, and a strip that stands on it, with its lower edge at a height.
fn frame_mesh(height: f64) -> TriMesh {
    let (count, row) = (12_u32, 13_u32);
    let mut positions: Vec<DVec3> =
        (0..row * row).map(|k| DVec3::new(f64::from(k % row) * 0.1, 0.0, f64::from(k / row) * 0.1)).collect();
    let mut triangles = Vec::new();
    for cell in 0..count * count {
        let a = cell / count * row + cell % count;
        triangles.extend([[a, a + row, a + 1], [a + 1, a + row, a + row + 1]]);
    }
    let first = positions.len() as u32;
    for column in 0..4 {
        for level in 0..3 {
            positions.push(DVec3::new(0.43 + 0.1 * f64::from(column), height + 0.11 * f64::from(level), 0.557));
        }
    }
    for column in 0..3 {
        for level in 0..2 {
            let a = first + column * 3 + level;
            triangles.extend([[a, a + 3, a + 1], [a + 1, a + 3, a + 4]]);
        }
    }
    TriMesh { positions, triangles }
}

fn patient(mesh: &TriMesh) -> Patient {
    let assembly = Assembly::of_cloth("cloth", mesh).unwrap();
    let (model, state) = Model::build(&[Cloth::new("cloth", mesh.clone())]).unwrap();
    Patient { model, state, assembly, body_positions: Vec::new() }
}

/// The strip dips into the sheet in the middle of 24 frames, while everything turns.
fn frames() -> Vec<Patient> {
    let depth = |at: usize| if (9..15).contains(&at) { -0.012 } else { 0.02 };
    let turned = |at: usize| {
        let mut mesh = frame_mesh(depth(at));
        let turn = DQuat::from_axis_angle(DVec3::new(1.0, 2.0, 0.5).normalize(), 0.07 * at as f64);
        mesh.positions.iter_mut().for_each(|point| *point = turn * *point + DVec3::X * 0.03 * at as f64);
        patient(&mesh)
    };
    (0..24).map(turned).collect()
}

fn same(positions: &[DVec3]) -> Vec<DVec3> {
    positions.to_vec()
}

#[test]
fn offsets_turn_with_the_cloth() {
    let mesh = frame_mesh(0.05);
    let topology = Topology::new(mesh.positions.len(), &mesh.triangles).unwrap();
    let turn = DQuat::from_axis_angle(DVec3::new(0.3, 1.0, -0.4).normalize(), 1.3);
    let turned: Vec<DVec3> = mesh.positions.iter().map(|&point| turn * point + DVec3::new(3.0, 1.0, 2.0)).collect();
    let [before, after] = [&mesh.positions, &turned].map(|positions| Axes::of(&topology, positions));
    for vertex in 0..mesh.positions.len() {
        let offset = DVec3::new(0.01, -0.02, 0.005 * vertex as f64);
        let carried = before.carry(&after, vertex, offset);
        assert!((carried - turn * offset).length() < 1e-12, "{vertex}: {carried}");
        assert!((after.carry(&before, vertex, carried) - offset).length() < 1e-12);
    }
}

#[test]
fn a_dip_is_mended_without_a_jump_and_far_frames_come_back_bit_for_bit() {
    let (frames, fade) = (frames(), 4);
    let settings = FixSettings::default();
    let stop: Stop = Arc::new(|| false);
    let mut follower = Follower::new(fade);
    let view = |at: usize| Frame { patient: &frames[at], settings: &settings, gap: None, stored: &same };
    let followed: Vec<Followed> = (0..frames.len()).map(|at| follower.next(&view(at), &stop)).collect();
    assert!(followed[9].pairs_before > 0 && followed[8].pairs_before == 0 && followed[15].pairs_before == 0);
    assert!(followed.iter().all(Followed::is_done));
    let corrections: Vec<Correction> = followed.iter().map(Followed::correction).collect();
    let written: Vec<Vec<DVec3>> = (0..frames.len())
        .map(|at| {
            let later = (at + 1..frames.len().min(at + 1 + fade as usize)).map(|other| blend::Neighbour {
                positions: &frames[other].state.positions,
                correction: &corrections[other],
            });
            let later: Vec<_> = later.collect();
            Blend { fade }.resolve(&view(at), &corrections[at], &corrections[at], &later)
        })
        .collect();
    let largest = corrections[10].values().map(|offset| offset.length()).fold(0.0, f64::max);
    let mut worst = 0.0_f64;
    for at in 0..frames.len() {
        let (verdict, _) = view(at).judge(&written[at]);
        assert!(verdict.is_clean(), "frame {at}");
        let input = &frames[at].state.positions;
        if !(9 - fade as usize..15 + fade as usize).contains(&at) {
            assert_eq!(&written[at], input, "frame {at} is far from the dip");
        }
        if at > 0 {
            let topology = &frames[at].model.topology;
            let [before, now] = [at - 1, at].map(|at| Axes::of(topology, &frames[at].state.positions));
            for vertex in 0..input.len() {
                let was = written[at - 1][vertex] - frames[at - 1].state.positions[vertex];
                let is = written[at][vertex] - input[vertex];
                worst = worst.max((is - before.carry(&now, vertex, was)).length());
            }
        }
    }
    assert!(worst < 0.4 * largest, "corrections of up to {largest} m change by {worst} m from frame to frame");
    assert!(worst > 0.0);
}

/// How much corrections change from frame to frame, carried along with the cloth.
fn largest_change(frames: &[Patient], corrections: &[Correction]) -> f64 {
    let axes = |at: usize| Axes::of(&frames[at].model.topology, &frames[at].state.positions);
    let change = |at: usize| {
        let (before, now) = (axes(at - 1), axes(at));
        let of = |at: usize, vertex: u32| corrections[at].get(&vertex).copied().unwrap_or_default();
        let vertices = corrections[at - 1].keys().chain(corrections[at].keys());
        let differs =
            |&vertex: &u32| (of(at, vertex) - before.carry(&now, vertex as usize, of(at - 1, vertex))).length();
        vertices.map(differs).fold(0.0, f64::max)
    };
    (1..frames.len()).map(change).fold(0.0, f64::max)
}

#[test]
fn a_jump_becomes_a_ramp_of_the_asked_pace_and_all_frames_stay_clean() {
    let frames = frames();
    let settings = FixSettings::default();
    let stop: Stop = Arc::new(|| false);
    let view = |at: usize| Frame { patient: &frames[at], settings: &settings, gap: None, stored: &same };
    // No fading: every tangled frame by itself, so that corrections begin and end at once.
    let mut corrections: Vec<Correction> =
        (0..frames.len()).map(|at| Follower::new(0).next(&view(at), &stop).correction()).collect();
    let most = 0.002;
    let before = largest_change(&frames, &corrections);
    assert!(before > 3.0 * most, "nothing to mend: {before}");
    let pace = Pace::new(frames[0].assembly.clone(), most);
    let mut rounds = 0;
    let mut has_changed = true;
    while has_changed && rounds < 12 {
        has_changed = false;
        for gives_way in [GivesWay::Larger, GivesWay::Smaller] {
            for (at, other) in pace::visits(0..frames.len(), frames.len()) {
                let positions = &frames[other].state.positions;
                let neighbour = blend::Neighbour { positions, correction: &corrections[other] };
                if let Some(better) = pace.drawn(&view(at), &corrections[at], &neighbour, gives_way) {
                    corrections[at] = better;
                    has_changed = true;
                }
            }
        }
        rounds += 1;
    }
    assert!(!has_changed, "nothing is left to do after some rounds");
    let after = largest_change(&frames, &corrections);
    assert!(after < 1.02 * most, "corrections change by {after} m, {before} m before");
    for at in 0..frames.len() {
        assert!(view(at).keeps(&corrections[at]), "frame {at}");
    }
    assert!(corrections[0].is_empty(), "a ramp is no longer than it has to be");
}

#[test]
fn going_on_from_a_record_gives_the_same_bits() {
    let frames = frames();
    let settings = FixSettings::default();
    let stop: Stop = Arc::new(|| false);
    let view = |at: usize| Frame { patient: &frames[at], settings: &settings, gap: None, stored: &same };
    let mut whole = Follower::new(4);
    let all: Vec<Followed> = (6..14).map(|at| whole.next(&view(at), &stop)).collect();
    let frame = &frames[10];
    let mut broken = Follower::resume(4, &frame.model.topology, &frame.state.positions, all[4].traces.clone());
    for at in 11..14 {
        assert_eq!(broken.next(&view(at), &stop), all[at - 6], "frame {at}");
    }
}
