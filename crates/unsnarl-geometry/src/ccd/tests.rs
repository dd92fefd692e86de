//! The answers against exact arithmetic, against published truth and against sampling.

#[path = "../../../../tests/rust/real_data.rs"]
mod real;

use super::*;

fn random_numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let mixed = (state ^ (state >> 33)).wrapping_mul(0xff51afd7ed558ccd);
        (mixed >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// One motion of a family: loose, lattice, flat, nearly touching at the end, grazing, tiny beside huge.
fn motion(family: usize, random: &mut impl FnMut() -> f64) -> ([DVec3; 4], [DVec3; 4]) {
    let mut point = |scale: f64| scale * DVec3::new(random() - 0.5, random() - 0.5, random() - 0.5);
    let mut start = [point(1.0), point(1.0), point(1.0), point(1.0)];
    let mut end = start.map(|from| from + point(1.0));
    match family {
        1 => {
            start = start.map(|p| (4.0 * p).round());
            end = end.map(|p| (4.0 * p).round());
        }
        2 => {
            start = start.map(|p| (6.0 * p * DVec3::new(1.0, 1.0, 0.0)).round());
            end = end.map(|p| (6.0 * p * DVec3::new(1.0, 1.0, 0.0)).round());
        }
        3 => end[0] = (end[1] + end[2] + end[3]) / 3.0 + point(1e-15),
        4 => {
            let shift = point(1.0);
            start[0] = start[1] + shift;
            end = start.map(|p| p + shift);
            end[1] = start[1] + 2.0 * shift;
        }
        5 => {
            start = start.map(|p| p * DVec3::new(1e9, 1.0, 1e-12));
            end = end.map(|p| p * DVec3::new(1e9, 1.0, 1e-12));
        }
        _ => {}
    }
    (start, end)
}

#[test]
fn no_miss_and_no_false_alarm_against_integers() {
    let mut random = random_numbers(5);
    let mut contacts = 0;
    for case in 0..6000 {
        let (start, end) = motion(case % 6, &mut random);
        let truth = exact::vertex_triangle(&start, &end);
        assert_eq!(vertex_triangle(start, end, 0.0).is_some(), truth, "vertex-triangle {start:?} {end:?}");
        if let Some(Doubt::Certain(_)) = vertex_triangle_filtered(&start, &end, 0.0, &mut no_hint()) {
            assert!(truth, "vertex-triangle {start:?} {end:?}");
        }
        contacts += usize::from(truth);
        let truth = exact::edge_edge(&start, &end);
        assert_eq!(edge_edge(start, end, 0.0).is_some(), truth, "edge-edge {start:?} {end:?}");
        if let Some(Doubt::Certain(_)) = edge_edge_filtered(&start, &end, 0.0, &mut no_hint()) {
            assert!(truth, "edge-edge {start:?} {end:?}");
        }
        contacts += usize::from(truth);
    }
    assert!(contacts > 1000, "only {contacts} contacts");
}

#[test]
fn published_queries_are_answered_as_their_truth_says() {
    let Some(folder) = real::real_data("ccd_sample_queries_mit") else { return };
    let mut query_count = 0;
    for scene in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()) {
        for (name, detect) in [("vertex-face", vertex_triangle as Detect), ("edge-edge", edge_edge)] {
            for file in std::fs::read_dir(scene.join(name)).unwrap() {
                let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
                let rows: Vec<[f64; 7]> = text.lines().map(row).collect();
                for query in rows.chunks_exact(8) {
                    let point = |k: usize| DVec3::from_slice(&query[k]);
                    let (start, end) = ([0, 1, 2, 3].map(point), [4, 5, 6, 7].map(point));
                    assert_eq!(detect(start, end, 0.0).is_some(), query[0][6] == 1.0, "{start:?} {end:?}");
                    query_count += 1;
                }
            }
        }
    }
    assert_eq!(query_count, 4779);
}

type Detect = fn([DVec3; 4], [DVec3; 4], f64) -> Option<f64>;

/// Three coordinates and the truth at the end; all numerators and denominators of the set are doubles.
fn row(line: &str) -> [f64; 7] {
    let cells: Vec<f64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
    [cells[0] / cells[1], cells[2] / cells[3], cells[4] / cells[5], 0.0, 0.0, 0.0, cells[6]]
}

#[test]
fn the_separation_is_kept_at_every_sampled_time() {
    let mut random = random_numbers(6);
    let (mut reported, mut clear) = (0, 0);
    for case in 0..3000 {
        let (start, end) = motion([0, 0, 1, 4][case % 4], &mut random);
        let separation = [0.003, 0.05, 0.3][case % 3];
        let gaps: [&dyn Fn(f64) -> f64; 2] =
            [&|time| vertex_triangle_gap(positions_at(start, end, time)).distance_squared().sqrt(), &|time| {
                edge_edge_gap(positions_at(start, end, time)).distance_squared().sqrt()
            }];
        let times = [vertex_triangle(start, end, separation), edge_edge(start, end, separation)];
        for (gap, time) in gaps.iter().zip(times) {
            let samples = (0..=200).map(|k| f64::from(k) / 200.0).filter(|&sample| sample < time.unwrap_or(2.0));
            for sample in samples {
                assert!(gap(sample) > separation, "{} at {sample}, {time:?}: {start:?} {end:?}", gap(sample));
            }
            match time {
                Some(time) => {
                    reported += 1;
                    assert!(gap(time) < separation * (1.0 + 1e-6) + 1e-13, "{} at {time}", gap(time));
                }
                None => clear += 1,
            }
        }
    }
    assert!(reported > 500 && clear > 500);
}

#[test]
fn a_head_on_contact_is_found_at_its_time() {
    let triangle = [DVec3::new(-1.0, -1.0, 0.0), DVec3::new(1.0, -1.0, 0.0), DVec3::new(0.0, 1.0, 0.0)];
    let points = |z: f64| [DVec3::new(0.0, 0.0, z), triangle[0], triangle[1], triangle[2]];
    let time = vertex_triangle(points(1.0), points(-3.0), 0.0).unwrap();
    assert!((0.25 - 1e-12..=0.25).contains(&time), "{time}");
    let time = vertex_triangle(points(1.0), points(-3.0), 0.2).unwrap();
    assert!((0.2 - 1e-12..=0.2).contains(&time), "{time}");
    assert_eq!(vertex_triangle(points(1.0), points(0.1), 0.0), None);
    assert_eq!(vertex_triangle(points(1.0), points(0.0), 0.0).map(|time| time > 0.999), Some(true));
}

#[test]
fn numbers_that_are_not_finite_are_reported_at_once() {
    let corners = [DVec3::X, DVec3::Y, DVec3::Z];
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let start = [DVec3::new(5.0, bad, 5.0), corners[0], corners[1], corners[2]];
        let end = [DVec3::splat(5.0), corners[0], corners[1], corners[2]];
        assert_eq!(vertex_triangle(start, end, 0.0), Some(0.0));
        assert_eq!(edge_edge(end, start, 0.01), Some(0.0));
    }
}

#[test]
fn elements_that_never_move_touch_only_if_they_touch_at_rest() {
    let square = [DVec3::ZERO, DVec3::X, DVec3::new(0.5, -1.0, 0.0), DVec3::new(0.5, 1.0, 0.0)];
    assert_eq!(edge_edge(square, square, 0.0), Some(0.0));
    let lifted = [DVec3::ZERO, DVec3::X, DVec3::new(0.5, -1.0, 1e-9), DVec3::new(0.5, 1.0, 1e-9)];
    assert_eq!(edge_edge(lifted, lifted, 0.0), None);
    assert_eq!(edge_edge(lifted, lifted, 1e-8), Some(0.0));
}
