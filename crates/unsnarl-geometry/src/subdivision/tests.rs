//! Masks against closed forms and against plain sums, rules of borders and creases, and normals of known surfaces.

use super::*;
use masks::{RingMask, loop_eigenvalue, loop_ring_weight};
use std::f64::consts::TAU;

fn whole(topology: &Topology) -> Split {
    let count = topology.vertex_count();
    Split::new(topology, std::slice::from_ref(&(0..count)))
}

fn smooth(topology: &Topology, positions: &[DVec3], creases: &[[VertexId; 2]], smoothing: Smoothing) -> Vec<DVec3> {
    whole(topology).targets(topology, positions, creases, smoothing)
}

fn refined(topology: &Topology, positions: &[DVec3], smoothing: Smoothing) -> (Topology, Vec<DVec3>) {
    let split = whole(topology);
    let fine = Topology::new(split.vertex_count(), &split.triangles(topology)).unwrap();
    (fine, split.targets(topology, positions, &[], smoothing))
}

/// A vertex of some valence whose ring has valence 6.
fn wheel(valence: usize) -> Topology {
    let count = valence as u32;
    let (inner, outer) = (|k: u32| 1 + k % count, |k: u32| 1 + count + k % (2 * count));
    let triangles: Vec<[u32; 3]> = (0..count)
        .flat_map(|k| {
            [
                [0, inner(k), inner(k + 1)],
                [inner(k), outer(2 * k), outer(2 * k + 1)],
                [inner(k), outer(2 * k + 1), inner(k + 1)],
                [inner(k + 1), outer(2 * k + 1), outer(2 * k + 2)],
            ]
        })
        .collect();
    Topology::new(1 + 3 * valence, &triangles).unwrap()
}

fn octahedron() -> (Topology, Vec<DVec3>) {
    let positions = vec![DVec3::X, -DVec3::X, DVec3::Y, -DVec3::Y, DVec3::Z, -DVec3::Z];
    let triangles = [[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]];
    (Topology::new(6, &triangles).unwrap(), positions)
}

/// A square of `count` by `count` cells in the plane.
fn square(count: u32) -> (Topology, Vec<DVec3>) {
    let row = count + 1;
    let at = |k: u32| DVec3::new(f64::from(k % row), f64::from(k / row), 0.0);
    let positions = (0..row * row).map(at).collect();
    let cell = |k: u32| {
        let corner = k / count * row + k % count;
        [[corner, corner + 1, corner + row], [corner + 1, corner + row + 1, corner + row]]
    };
    let triangles: Vec<[u32; 3]> = (0..count * count).flat_map(cell).collect();
    (Topology::new((row * row) as usize, &triangles).unwrap(), positions)
}

const SCHEMES: [Scheme; 2] = [Scheme::Loop, Scheme::BoundedCurvature];

#[test]
fn numbering_is_old_vertices_then_edges_and_four_triangles_for_one() {
    let (topology, positions) = octahedron();
    let split = whole(&topology);
    assert_eq!(split.vertex_count(), 6 + 12);
    let fine = Topology::new(18, &split.triangles(&topology)).unwrap();
    assert_eq!((fine.triangle_count(), fine.edge_count()), (32, 48));
    assert!(fine.is_closed_manifold());
    let points = split.midpoints(&topology, &positions);
    for (edge, &[a, b]) in topology.edges().iter().enumerate() {
        assert_eq!(split.of_edge(EdgeId::new(edge)), VertexId::new(6 + edge));
        assert_eq!(points[6 + edge], 0.5 * (positions[a.index()] + positions[b.index()]));
    }
    // The four lie in the one and run like it.
    for (triangle, corners) in topology.triangles().iter().enumerate() {
        let normal = |corners: [VertexId; 3], points: &[DVec3]| {
            let [a, b, c] = corners.map(|corner| points[corner.index()]);
            (b - a).cross(c - a)
        };
        let whole = normal(*corners, &positions);
        for child in 4 * triangle..4 * triangle + 4 {
            assert!((4.0 * normal(fine.triangles()[child], &points) - whole).length() < 1e-15);
        }
    }
}

#[test]
fn parts_stay_together_and_bodies_stay_as_they_are() {
    let (one, places) = octahedron();
    let triangles: Vec<[u32; 3]> = (0..3)
        .flat_map(|part| one.triangles().iter().map(move |corners| corners.map(|corner| corner.0 + 6 * part)))
        .collect();
    let topology = Topology::new(18, &triangles).unwrap();
    let positions: Vec<DVec3> =
        (0..3).flat_map(|part| places.iter().map(move |place| *place + 3.0 * f64::from(part) * DVec3::X)).collect();
    let split = Split::new(&topology, &[0..6, 6..12]);
    assert_eq!(split.part_vertices().collect::<Vec<_>>(), [0..18, 18..36]);
    assert_eq!(split.vertex_count(), 18 + 18 + 6);
    let fine = Topology::new(42, &split.triangles(&topology)).unwrap();
    assert_eq!(fine.triangle_count(), 32 + 32 + 8);
    let targets = split.targets(&topology, &positions, &[], Smoothing::default());
    assert_eq!(targets[36..], positions[12..]);
    // Both parts are as if alone.
    let alone = smooth(&one, &places, &[], Smoothing::default());
    for (vertex, place) in alone.iter().enumerate() {
        assert_eq!(targets[vertex], *place);
        assert!((targets[18 + vertex] - *place - 3.0 * DVec3::X).length() < 1e-15);
    }
    assert_eq!(fine.component_count(), 3);
}

#[test]
fn every_wave_on_a_ring_shrinks_by_its_eigenvalue() {
    for scheme in SCHEMES {
        for valence in 3..=12 {
            let topology = wheel(valence);
            for frequency in 1..valence {
                let mut positions = vec![DVec3::ZERO; topology.vertex_count()];
                let wave = |k: usize| {
                    let turn = TAU * (k * frequency) as f64 / valence as f64;
                    DVec3::new(turn.cos(), turn.sin(), 0.0)
                };
                for k in 0..valence {
                    positions[1 + k] = wave(k);
                }
                let targets = smooth(&topology, &positions, &[], Smoothing { scheme, ..Smoothing::default() });
                let split = whole(&topology);
                let expected = match (scheme, valence, frequency.min(valence - frequency)) {
                    (Scheme::BoundedCurvature, 4 | 5 | 7.., low) => loop_eigenvalue(valence, 1).powi(low as i32),
                    _ => loop_eigenvalue(valence, frequency),
                };
                for k in 0..valence {
                    let edge = topology.find_edge(VertexId(0), VertexId::new(1 + k)).unwrap();
                    let place = targets[split.of_edge(edge).index()];
                    assert!((place - expected * wave(k)).length() < 1e-12, "{scheme:?} {valence} {frequency}");
                }
                assert!(targets[0].length() < 1e-12);
            }
        }
    }
}

#[test]
fn a_vertex_and_its_ring_converge_to_the_known_limit() {
    // The limit of a vertex is (1 - n w) v + w sum(ring) with w = 1 / (n + 3 / (8 beta)).
    for valence in 3..=12 {
        let mask = RingMask::of_loop(valence);
        let (mut center, mut ring): (f64, Vec<f64>) = (1.0, (0..valence).map(|k| (k * k) as f64).collect());
        let weight = 1.0 / (valence as f64 + 3.0 / (8.0 * loop_ring_weight(valence)));
        let limit = (1.0 - valence as f64 * weight) * center + weight * ring.iter().sum::<f64>();
        for _ in 0..200 {
            let sum: f64 = ring.iter().sum();
            let next = (1.0 - valence as f64 * mask.ring_weight) * center + mask.ring_weight * sum;
            let edge = |k: usize| {
                let around = (0..valence).map(|j| mask.edge_ring[j] * ring[(k + j) % valence]);
                mask.edge_center * center + around.sum::<f64>()
            };
            (center, ring) = (next, (0..valence).map(edge).collect());
        }
        assert!((center - limit).abs() < 1e-12 * limit.abs().max(1.0), "{valence}: {center}, not {limit}");
    }
}

#[test]
fn masks_keep_planes_and_every_affine_map() {
    let (topology, positions) = square(6);
    let map = |point: &DVec3| DVec3::new(2.0 * point.x - point.y, point.x + 3.0, 0.5 * point.y - 1.0);
    let mapped: Vec<DVec3> = positions.iter().map(map).collect();
    for scheme in SCHEMES {
        for old_vertices in [OldVertices::Smoothed, OldVertices::Kept] {
            let smoothing = Smoothing { scheme, old_vertices };
            let flat = smooth(&topology, &positions, &[], smoothing);
            assert!(flat.iter().all(|point| point.z == 0.0));
            let also = smooth(&topology, &mapped, &[], smoothing);
            for (one, other) in flat.iter().zip(&also) {
                assert!((map(one) - *other).length() < 1e-12);
            }
        }
    }
}

#[test]
fn borders_do_not_hear_of_the_inside() {
    let (topology, positions) = square(4);
    let mut bent = positions.clone();
    for vertex in 0..bent.len() {
        if !topology.is_boundary_vertex(VertexId::new(vertex)) {
            bent[vertex].z = 1.0 + vertex as f64;
        }
    }
    let split = whole(&topology);
    let targets = smooth(&topology, &bent, &[], Smoothing::default());
    for (edge, &[a, b]) in topology.edges().iter().enumerate() {
        if topology.is_boundary(EdgeId::new(edge)) {
            let middle = 0.5 * (bent[a.index()] + bent[b.index()]);
            assert_eq!(targets[split.of_edge(EdgeId::new(edge)).index()], middle);
        }
    }
    assert_eq!(targets[2], 0.75 * bent[2] + 0.125 * (bent[1] + bent[3]));
    // A corner with one triangle stays; the other two corners have two and follow the border.
    assert_eq!(targets[0], bent[0]);
    assert_ne!(targets[4], bent[4]);
}

#[test]
fn creases_are_borders_on_both_sides_and_darts_end_smoothly() {
    let (topology, mut positions) = square(6);
    for (vertex, point) in positions.iter_mut().enumerate() {
        point.z = (vertex as f64).sin();
    }
    // Along the middle row, from the third to the fifth column.
    let at = |column: u32| VertexId(3 * 7 + column);
    let creases = [[at(1), at(2)], [at(2), at(3)], [at(3), at(4)]];
    let split = whole(&topology);
    let targets = smooth(&topology, &positions, &creases, Smoothing::default());
    let plain = smooth(&topology, &positions, &[], Smoothing::default());
    let place = |vertex: VertexId| positions[vertex.index()];
    assert_eq!(targets[at(2).index()], 0.75 * place(at(2)) + 0.125 * (place(at(1)) + place(at(3))));
    for end in [at(1), at(4)] {
        assert_eq!(targets[end.index()], plain[end.index()], "a dart");
    }
    let edge = topology.find_edge(at(2), at(3)).unwrap();
    assert_eq!(targets[split.of_edge(edge).index()], 0.5 * (place(at(2)) + place(at(3))));
    // Three creases hold a vertex.
    let third = [at(2), VertexId(at(2).0 + 7)];
    let held = smooth(&topology, &positions, &[creases.to_vec(), vec![third]].concat(), Smoothing::default());
    assert_eq!(held[at(2).index()], place(at(2)));
    let halves = split.halves(&topology, &creases[..1]);
    assert_eq!(halves.len(), 2);
    let fine = Topology::new(split.vertex_count(), &split.triangles(&topology)).unwrap();
    assert!(halves.iter().all(|&[a, b]| fine.find_edge(a, b).is_some()));
}

#[test]
fn edges_of_three_triangles_and_lone_vertices_stay() {
    let topology = Topology::new(7, &[[0, 1, 2], [0, 1, 3], [0, 1, 4]]).unwrap();
    let positions: Vec<DVec3> = (0..7).map(|k| DVec3::new(f64::from(k), f64::from(k * k), 0.0)).collect();
    let split = whole(&topology);
    let targets = smooth(&topology, &positions, &[], Smoothing::default());
    assert_eq!((targets[0], targets[1]), (positions[0], positions[1]));
    assert_eq!((targets[5], targets[6]), (positions[5], positions[6]));
    let shared = topology.find_edge(VertexId(0), VertexId(1)).unwrap();
    assert_eq!(targets[split.of_edge(shared).index()], 0.5 * (positions[0] + positions[1]));
}

#[test]
fn interpolation_keeps_old_vertices_and_reproduces_cubics_on_a_regular_mesh() {
    let (topology, mut positions) = square(8);
    let height = |x: f64, y: f64| 0.1 * x * x * x - 0.2 * x * y * y + y * y - 3.0 * x;
    for point in &mut positions {
        point.z = height(point.x, point.y);
    }
    let targets =
        smooth(&topology, &positions, &[], Smoothing { old_vertices: OldVertices::Kept, ..Smoothing::default() });
    assert_eq!(targets[..positions.len()], positions);
    let inner = |point: &&DVec3| (2.0..=6.0).contains(&point.x) && (2.0..=6.0).contains(&point.y);
    let found = targets[positions.len()..].iter().filter(inner);
    assert!(found.clone().count() > 40);
    for point in found {
        assert!((point.z - height(point.x, point.y)).abs() < 1e-12, "{point}");
    }
}

#[test]
fn what_is_smoothed_stays_in_the_convex_hull() {
    let (mut topology, mut positions) = octahedron();
    for scheme in SCHEMES {
        for _ in 0..3 {
            (topology, positions) = refined(&topology, &positions, Smoothing { scheme, ..Smoothing::default() });
            assert!(positions.iter().all(|point| point.abs().element_sum() <= 1.0 + 1e-12));
        }
        (topology, positions) = octahedron();
    }
}

#[test]
fn displacements_fall_to_a_quarter_per_level() {
    let (mut topology, mut positions) = octahedron();
    let mut last = f64::NAN;
    for level in 0..5 {
        let start = whole(&topology).midpoints(&topology, &positions);
        let (fine, targets) = refined(&topology, &positions, Smoothing::default());
        let largest = start.iter().zip(&targets).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
        // The first level rounds the corners off.
        if level > 1 {
            assert!((0.2..0.4).contains(&(largest / last)), "level {level}: {}", largest / last);
        }
        (topology, positions, last) = (fine, targets, largest);
    }
}

#[test]
fn limit_normals_of_a_smooth_ball_point_outward_and_those_of_a_plane_up() {
    let (mut topology, mut positions) = octahedron();
    for _ in 0..3 {
        (topology, positions) = refined(&topology, &positions, Smoothing::default());
    }
    for (normal, point) in limit::normals(&topology, &positions, &[]).iter().zip(&positions) {
        assert!((normal.length() - 1.0).abs() < 1e-12);
        assert!(normal.dot(point.normalize()) > 0.98, "{normal} at {point}");
    }
    // The symmetric points have exact normals.
    assert!(limit::normals(&topology, &positions, &[])[0].distance(DVec3::X) < 1e-12);
    let (topology, positions) = square(4);
    for normal in limit::normals(&topology, &positions, &[]) {
        assert!(normal.distance(DVec3::Z) < 1e-12, "{normal}");
    }
    let turned = Topology::new(4, &[[0, 1, 2], [1, 2, 3]]).unwrap();
    let flat = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::X + DVec3::Y];
    assert!(limit::normals(&turned, &flat, &[]).iter().all(|normal| (normal.length() - 1.0).abs() < 1e-12));
}

#[test]
fn a_limit_normal_is_the_normal_of_the_mesh_after_many_levels() {
    let (mut topology, mut positions) = square(3);
    for (vertex, point) in positions.iter_mut().enumerate() {
        point.z = 0.3 * (vertex as f64 * 1.7).sin();
    }
    let early = limit::normals(&topology, &positions, &[]);
    let count = positions.len();
    for _ in 0..6 {
        (topology, positions) = refined(&topology, &positions, Smoothing::default());
    }
    for vertex in 0..count {
        let mut mean = DVec3::ZERO;
        for &triangle in topology.vertex_triangles(VertexId::new(vertex)) {
            let [a, b, c] = topology.triangle(triangle).map(|corner| positions[corner.index()]);
            mean += (b - a).cross(c - a);
        }
        let angle = mean.normalize().angle_between(early[vertex]).to_degrees();
        assert!(angle < 1.5, "vertex {vertex}: {angle} degrees");
    }
}

#[test]
fn a_star_of_a_hundred_thousand_points_takes_no_square_of_time() {
    let count = 100_000_u32;
    let triangles: Vec<[u32; 3]> = (0..count).map(|k| [0, 1 + k, 1 + (k + 1) % count]).collect();
    let topology = Topology::new(1 + count as usize, &triangles).unwrap();
    let turn = |k: u32| TAU * f64::from(k) / f64::from(count);
    let ring = (0..count).map(|k| DVec3::new(turn(k).cos(), turn(k).sin(), 0.0));
    let positions: Vec<DVec3> = std::iter::once(DVec3::Z).chain(ring).collect();
    for scheme in SCHEMES {
        for old_vertices in [OldVertices::Smoothed, OldVertices::Kept] {
            let targets = smooth(&topology, &positions, &[], Smoothing { scheme, old_vertices });
            assert!(targets[0].x.abs() < 1e-9);
        }
    }
    assert!(limit::normals(&topology, &positions, &[])[0].distance(DVec3::Z) < 1e-9);
}

#[test]
fn sizes_beyond_the_numbers_are_refused() {
    assert!(check_size(1000, 4).is_ok());
    let error = check_size(1_000_000, 8).unwrap_err().to_string();
    assert_eq!(error, "65536000000 triangles after 8 levels; at most 1400000000 can be numbered");
    assert!(check_size(usize::MAX, u32::MAX).is_err());
}
