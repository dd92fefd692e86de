//! Facts that hold for every intersection analysis: what does not depend on numbering, what symbolic general position
//! promises on degenerate input, what a body's own sign decides.

use std::collections::BTreeMap;
use unsnarl::analysis::{self, Assembly, ContourEnd, PartKind, Tangle, Workspace};
use unsnarl::geometry::{DVec3, TriMesh, TriangleId, VertexId};
use unsnarl::samples::random::Random;
use unsnarl::samples::{self, Cut, Recipe};

fn analyze(parts: &[(PartKind, &TriMesh)]) -> (Assembly, Vec<DVec3>, Tangle) {
    let assembly = Assembly::new(parts.iter().enumerate().map(|(number, (kind, mesh))| {
        (format!("part {number}"), *kind, mesh.positions.len(), mesh.triangles.as_slice())
    }))
    .expect("valid triangles");
    let positions: Vec<DVec3> = parts.iter().flat_map(|(_, mesh)| mesh.positions.iter().copied()).collect();
    let tangle = analysis::analyze(&assembly, &positions, &mut Workspace::default());
    check_consistency(&assembly, &tangle);
    (assembly, positions, tangle)
}

fn analyze_cloth(mesh: &TriMesh) -> (Assembly, Vec<DVec3>, Tangle) {
    analyze(&[(PartKind::Cloth, mesh)])
}

/// Every crossing has one segment per triangle at its edge, every segment is in one contour.
fn check_consistency(assembly: &Assembly, tangle: &Tangle) {
    let topology = assembly.topology();
    let mut at_crossing: BTreeMap<_, usize> = BTreeMap::new();
    let mut segments = Vec::new();
    for tangled in &tangle.contours {
        let contour = &tangled.contour;
        for (segment, triangles) in contour.segments.iter().enumerate() {
            let mut pair = triangles.map(|triangle| triangle.index());
            pair.sort_unstable();
            segments.push(pair);
            for point in contour.segment_points(segment).into_iter().flatten().map(|at| contour.points[at]) {
                assert!(triangles.contains(&point.triangle));
                let beside = topology.edge_triangles(point.edge);
                assert!(triangles.iter().any(|triangle| beside.contains(triangle)));
                *at_crossing.entry((point.edge, point.triangle)).or_default() += 1;
            }
        }
        for (end, point) in contour.ends.iter().flatten().zip([contour.points.first(), contour.points.last()]) {
            let beside = point.map(|point| topology.edge_triangles(point.edge).len());
            match end {
                ContourEnd::Boundary(_) => assert_eq!(beside, Some(1)),
                ContourEnd::NonManifold(_) => assert!(beside > Some(2)),
                ContourEnd::Loop(vertex) => assert!(vertex.index() < topology.vertex_count()),
            }
        }
    }
    for ((edge, _), count) in at_crossing {
        assert_eq!(count, topology.edge_triangles(edge).len());
    }
    let count = segments.len();
    segments.sort_unstable();
    segments.dedup();
    assert_eq!(segments.len(), count, "a pair of triangles is in one contour");
}

/// What must not depend on how a tangle is written down.
fn summary(positions: &[DVec3], tangle: &Tangle) -> (Vec<&'static str>, f64, usize) {
    let mut kinds: Vec<&'static str> = tangle.contours.iter().map(|tangled| tangled.kind.name()).collect();
    kinds.sort_unstable();
    let length = tangle.contours.iter().map(|tangled| tangled.contour.length(positions)).sum();
    (kinds, length, tangle.colours.red_triangles.len())
}

fn shuffled(count: usize, random: &mut Random) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for at in (1..count).rev() {
        order.swap(at, random.between(0.0, at as f64 + 1.0) as usize);
    }
    order
}

fn renumbered(mesh: &TriMesh, random: &mut Random) -> (TriMesh, Vec<usize>) {
    let new_number = shuffled(mesh.positions.len(), random);
    let mut positions = mesh.positions.clone();
    for (old, &new) in new_number.iter().enumerate() {
        positions[new] = mesh.positions[old];
    }
    let triangles = shuffled(mesh.triangles.len(), random)
        .into_iter()
        .map(|at| {
            let mut corners = mesh.triangles[at].map(|corner| new_number[corner as usize] as u32);
            corners.rotate_left(random.between(0.0, 3.0) as usize);
            corners
        })
        .collect();
    (TriMesh { positions, triangles }, new_number)
}

/// The rotations of a cube.
fn grid_rotations() -> Vec<[DVec3; 3]> {
    let axes = [DVec3::X, DVec3::Y, DVec3::Z];
    let mut rotations = Vec::new();
    for x in 0..3 {
        for y in (0..3).filter(|&y| y != x) {
            for signs in 0..4 {
                let sign = |bit: u32| if signs >> bit & 1 == 0 { 1.0 } else { -1.0 };
                let (x, y) = (axes[x] * sign(0), axes[y] * sign(1));
                rotations.push([x, y, x.cross(y)]);
            }
        }
    }
    rotations
}

fn tangled_samples() -> Vec<(&'static str, TriMesh)> {
    let names =
        ["closed", "eight", "cross", "ll", "bbii", "bibi", "bli", "exploded-central", "exploded-whole", "layers-3"];
    names
        .into_iter()
        .map(|name| {
            let case = samples::find(name).expect("a sample of that name");
            (name, case.make(&Recipe { resolution: case.smallest_resolution, cut: Cut::Irregular, seed: 5 }).mesh)
        })
        .collect()
}

fn assert_same(name: &str, found: (Vec<&str>, f64, usize), expected: &(Vec<&str>, f64, usize)) {
    assert_eq!(found.0, expected.0, "{name}");
    assert!((found.1 - expected.1).abs() <= 1e-9 * expected.1, "{name}: length {} and {}", found.1, expected.1);
    assert_eq!(found.2, expected.2, "{name}: red triangles");
}

#[test]
fn contours_do_not_depend_on_numbering() {
    let mut random = Random::new(3);
    for (name, mesh) in tangled_samples() {
        let (_, positions, tangle) = analyze_cloth(&mesh);
        let expected = summary(&positions, &tangle);
        for _ in 0..3 {
            let (other, new_number) = renumbered(&mesh, &mut random);
            let (_, positions, renumbered_tangle) = analyze_cloth(&other);
            assert_same(name, summary(&positions, &renumbered_tangle), &expected);
            let mut red: Vec<usize> =
                tangle.colours.red_vertices.iter().map(|vertex| new_number[vertex.index()]).collect();
            red.sort_unstable();
            let found: Vec<usize> =
                renumbered_tangle.colours.red_vertices.iter().map(|vertex| vertex.index()).collect();
            assert_eq!(found, red, "{name}");
        }
    }
}

#[test]
fn contours_turn_with_the_mesh() {
    for (name, mesh) in tangled_samples() {
        let (_, positions, tangle) = analyze_cloth(&mesh);
        let expected = summary(&positions, &tangle);
        let rotations = grid_rotations();
        assert_eq!(rotations.len(), 24);
        for [x, y, z] in rotations {
            let turned = mesh.positions.iter().map(|place| place.x * x + place.y * y + place.z * z).collect();
            let turned = TriMesh { positions: turned, triangles: mesh.triangles.clone() };
            let (_, positions, turned_tangle) = analyze_cloth(&turned);
            assert_same(name, summary(&positions, &turned_tangle), &expected);
            assert_eq!(turned_tangle.colours.red_vertices, tangle.colours.red_vertices, "{name}");
        }
    }
}

/// A rectangle in the plane `z = 0` with corner at the origin.
fn grid(columns: u32, rows: u32, cell: f64) -> TriMesh {
    let mut mesh = TriMesh::default();
    for row in 0..=rows {
        for column in 0..=columns {
            mesh.positions.push(DVec3::new(f64::from(column), f64::from(row), 0.0) * cell);
        }
    }
    for row in 0..rows {
        for column in 0..columns {
            let a = row * (columns + 1) + column;
            let (b, c, d) = (a + 1, a + columns + 2, a + columns + 1);
            mesh.triangles.extend([[a, b, c], [a, c, d]]);
        }
    }
    mesh
}

fn moved(mesh: &TriMesh, map: impl Fn(DVec3) -> DVec3) -> TriMesh {
    TriMesh { positions: mesh.positions.iter().map(|&place| map(place)).collect(), triangles: mesh.triangles.clone() }
}

#[test]
fn the_order_of_meshes_does_not_matter() {
    let flat = moved(&grid(7, 7, 1.0), |place| place + DVec3::new(0.13, 0.29, 0.0));
    let wave = moved(&grid(8, 8, 0.9), |place| {
        DVec3::new(place.x, place.y, 0.9 * (place.x * 1.1).sin() * (place.y * 0.9 + 0.2).cos() + 0.07)
    });
    let standing = moved(&grid(6, 6, 0.8), |place| DVec3::new(place.x + 0.31, 2.03 + 0.11 * place.x, place.y - 2.57));
    let meshes = [&flat, &wave, &standing];
    let summary_of = |order: [usize; 3]| {
        let (_, positions, tangle) = analyze(&order.map(|at| (PartKind::Cloth, meshes[at])));
        summary(&positions, &tangle)
    };
    let expected = summary_of([0, 1, 2]);
    assert!(expected.0.len() > 3, "{:?}", expected.0);
    assert!(expected.0.iter().all(|kind| ["CLOSED", "BBII", "BIBI"].contains(kind)), "{:?}", expected.0);
    for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        assert_same("order", summary_of(order), &expected);
    }
}

#[test]
fn a_contour_that_ends_on_an_edge_of_three_triangles_is_other() {
    let spine = [DVec3::new(0.0, 0.0, -1.0), DVec3::new(0.0, 0.0, 1.0)];
    let pages = [DVec3::new(1.0, 0.1, 0.2), DVec3::new(-0.6, 0.8, 0.1), DVec3::new(-0.5, -0.9, -0.1)];
    let book = TriMesh {
        positions: spine.into_iter().chain(pages).collect(),
        triangles: vec![[0, 1, 2], [0, 1, 3], [0, 1, 4]],
    };
    let sheet = moved(&grid(3, 3, 1.3), |place| place - DVec3::new(2.1, 1.9, 0.05));
    let (assembly, _, tangle) = analyze(&[(PartKind::Cloth, &book), (PartKind::Cloth, &sheet)]);
    let kinds: Vec<&str> = tangle.contours.iter().map(|tangled| tangled.kind.name()).collect();
    assert_eq!(kinds, ["OTHER"; 3]);
    for tangled in &tangle.contours {
        let ends: Vec<ContourEnd> = tangled.contour.ends.into_iter().flatten().collect();
        let spine = assembly.topology().find_edge(VertexId(0), VertexId(1)).unwrap();
        assert_eq!(ends.iter().filter(|end| **end == ContourEnd::NonManifold(spine)).count(), 1);
        assert!(tangled.regions.cuts.is_empty());
    }
}

#[test]
fn degenerate_input_gives_consistent_contours() {
    let flat = grid(4, 4, 1.0);
    let shifted = moved(&flat, |place| place + DVec3::new(1.0, 1.0, 0.0));
    let standing = moved(&flat, |place| DVec3::new(place.x, 2.0, place.y - 2.0));
    let folded = moved(&flat, |place| DVec3::new((place.x - 2.0).abs(), place.y, 0.0));
    let collapsed = moved(&flat, |_| DVec3::ONE);
    let on_a_line = moved(&flat, |place| DVec3::new(place.x, 0.0, 0.0));
    let meshes = [&flat, &shifted, &standing, &folded, &collapsed, &on_a_line];
    for first in meshes {
        analyze_cloth(first);
        for second in meshes {
            analyze(&[(PartKind::Cloth, first), (PartKind::Cloth, second)]);
        }
    }
}

#[test]
fn any_triangles_at_all_give_consistent_contours() {
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let vertex_count = 6 + seed as usize % 7;
        let on_grid = seed % 2 == 0;
        let coordinate = |random: &mut Random| match on_grid {
            true => random.between(-2.0, 3.0).floor(),
            false => random.between(-1.0, 1.0),
        };
        let positions = (0..vertex_count)
            .map(|_| DVec3::new(coordinate(&mut random), coordinate(&mut random), coordinate(&mut random)))
            .collect();
        let triangles = (0..2 * vertex_count)
            .map(|_| {
                let order = shuffled(vertex_count, &mut random);
                [order[0], order[1], order[2]].map(|vertex| vertex as u32)
            })
            .collect();
        analyze_cloth(&TriMesh { positions, triangles });
    }
}

#[test]
fn a_band_with_one_side_gives_consistent_contours() {
    for seed in 0..100 {
        let mut random = Random::new(seed);
        let length = 5;
        let positions = (0..2 * length).map(|_| random.direction()).collect();
        let triangles = (0..length)
            .flat_map(|at| {
                let [a, b] = [2 * at, 2 * at + 1];
                let [c, d] = if at + 1 < length { [a + 2, b + 2] } else { [1, 0] };
                [[a, b, d], [a, d, c]]
            })
            .collect();
        analyze_cloth(&TriMesh { positions, triangles });
    }
}

#[test]
fn sheets_that_lie_in_one_plane_side_by_side_do_not_cross() {
    let left = grid(3, 3, 1.0);
    let right = moved(&left, |place| place + DVec3::new(4.0, 0.0, 0.0));
    let (_, _, tangle) = analyze(&[(PartKind::Cloth, &left), (PartKind::Cloth, &right)]);
    assert!(tangle.is_empty());
}

/// A box with its triangles counter-clockwise from outside.
fn cuboid(min: DVec3, max: DVec3) -> TriMesh {
    let positions = (0..8)
        .map(|corner| {
            let pick = |bit: u32, low: f64, high: f64| if corner >> bit & 1 == 0 { low } else { high };
            DVec3::new(pick(0, min.x, max.x), pick(1, min.y, max.y), pick(2, min.z, max.z))
        })
        .collect();
    let faces = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    let triangles = faces.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
    TriMesh { positions, triangles }
}

#[test]
fn cloth_inside_a_body_is_red_even_when_it_is_the_majority() {
    let sheet = moved(&grid(9, 9, 1.0), |place| place + DVec3::new(0.03, 0.05, 0.0));
    let body = cuboid(DVec3::new(-5.0, -5.0, -3.0), DVec3::new(7.51, 20.0, 3.7));
    let (assembly, positions, tangle) = analyze(&[(PartKind::Cloth, &sheet), (PartKind::Body, &body)]);
    let inside: Vec<VertexId> =
        (0..100).map(VertexId::new).filter(|vertex| positions[vertex.index()].x < 7.51).collect();
    assert_eq!(inside.len(), 80);
    assert_eq!(tangle.colours.red_vertices, inside);
    assert_eq!(tangle.colours.majority_failures.len(), 1);
    assert_eq!(assembly.parts()[1].kind, PartKind::Body);
    let as_cloth = analyze(&[(PartKind::Cloth, &sheet), (PartKind::Cloth, &body)]).2;
    assert!(
        as_cloth.colours.red_vertices.iter().all(|vertex| !inside.contains(vertex)),
        "without a sign, majority rules"
    );
}

/// A ring around the z axis, counter-clockwise from outside.
fn ring(around: u32, section: u32) -> TriMesh {
    let mut mesh = TriMesh::default();
    for a in 0..around {
        let (sin_a, cos_a) = (std::f64::consts::TAU * f64::from(a) / f64::from(around)).sin_cos();
        for s in 0..section {
            let (sin_s, cos_s) = (std::f64::consts::TAU * (f64::from(s) + 0.3) / f64::from(section)).sin_cos();
            let distance = 3.0 + cos_s;
            mesh.positions.push(DVec3::new(distance * cos_a, distance * sin_a, sin_s));
        }
    }
    let at = |a: u32, s: u32| a % around * section + s % section;
    for a in 0..around {
        for s in 0..section {
            let [p, q, r, t] = [at(a, s), at(a + 1, s), at(a + 1, s + 1), at(a, s + 1)];
            mesh.triangles.extend([[p, q, r], [p, r, t]]);
        }
    }
    mesh
}

#[test]
fn cloth_through_a_ring_is_red_in_the_ring_and_not_in_its_hole() {
    let sheet = moved(&grid(20, 20, 0.5), |place| DVec3::new(place.x - 5.03, place.y - 5.07, 0.01 * place.x));
    let (_, positions, tangle) = analyze(&[(PartKind::Cloth, &sheet), (PartKind::Body, &ring(40, 24))]);
    assert_eq!(tangle.contours.len(), 2);
    let red: Vec<f64> =
        tangle.colours.red_vertices.iter().map(|vertex| positions[vertex.index()].truncate().length()).collect();
    assert!(!red.is_empty() && red.iter().all(|distance| (1.9..=4.1).contains(distance)), "{red:?}");
    let surely_inside = sheet.positions.iter().filter(|place| (2.1..=3.9).contains(&place.truncate().length())).count();
    assert!(red.len() >= surely_inside);
}

#[test]
fn bodies_may_cross_themselves_and_each_other() {
    let first = cuboid(DVec3::splat(-1.0), DVec3::splat(1.0));
    let second = cuboid(DVec3::splat(-0.5), DVec3::splat(1.7));
    let far_sheet = moved(&grid(1, 1, 1.0), |place| place + DVec3::splat(10.0));
    let parts = [(PartKind::Cloth, &far_sheet), (PartKind::Body, &first), (PartKind::Body, &second)];
    assert!(analyze(&parts).2.is_empty());
}

#[test]
fn a_workspace_changes_no_result() {
    let case = samples::find("exploded-central").unwrap();
    let make = |seed| case.make(&Recipe { resolution: 10, cut: Cut::Regular, seed }).mesh;
    let assembly = Assembly::of_cloth("hanky", &make(1)).unwrap();
    let mut kept = Workspace::default();
    for seed in 1..4 {
        let positions = make(seed).positions;
        let with = analysis::analyze(&assembly, &positions, &mut kept);
        let without = analysis::analyze(&assembly, &positions, &mut Workspace::default());
        assert_eq!(format!("{with:?}"), format!("{without:?}"));
    }
}

#[test]
fn the_result_does_not_depend_on_threads() {
    let case = samples::find("exploded-whole").unwrap();
    let mesh = case.make(&Recipe { resolution: 12, cut: Cut::Irregular, seed: 9 }).mesh;
    let with_threads = |count: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build().unwrap();
        pool.install(|| format!("{:?}", analyze_cloth(&mesh).2))
    };
    assert_eq!(with_threads(1), with_threads(2));
    assert_eq!(with_threads(1), with_threads(5));
}

#[test]
fn every_segment_of_a_trace_follows_the_last() {
    for (name, mesh) in tangled_samples() {
        let (assembly, _, tangle) = analyze_cloth(&mesh);
        let topology = assembly.topology();
        for tangled in &tangle.contours {
            for pair in tangled.contour.segments.windows(2) {
                let changed: Vec<[TriangleId; 2]> =
                    (0..2).map(|trace| [pair[0][trace], pair[1][trace]]).filter(|[a, b]| a != b).collect();
                assert_eq!(changed.len(), 1, "{name}: one trace passes an edge, the other stays in its triangle");
                let edges = topology.triangle_edges(changed[0][0]);
                assert!(edges.iter().any(|edge| topology.triangle_edges(changed[0][1]).contains(edge)), "{name}");
            }
        }
    }
}
