//! Trimmed surfaces against closed forms: where the border lies, what stays, what shape triangles have.

#![allow(clippy::unwrap_used)]

mod shapes;

use shapes::{brute_force_distance, shared, sphere, torus};
use unsnarl_geometry::{DVec3, Topology, TriMesh, VertexId};
use unsnarl_volume::Field;
use unsnarl_volume::level_set::{Extraction, MeshSettings};
use unsnarl_volume::trim::{Keep, TrimError, TrimSettings, Trimmed, trim};

/// A function of space, its gradient by central differences.
struct Function<F>(F);

impl<F: Fn(DVec3) -> f64 + Sync> Field for Function<F> {
    fn value(&self, point: DVec3) -> f64 {
        (self.0)(point)
    }

    fn gradient(&self, point: DVec3) -> DVec3 {
        let slope = |axis: DVec3| ((self.0)(point + 1e-6 * axis) - (self.0)(point - 1e-6 * axis)) / 2e-6;
        DVec3::new(slope(DVec3::X), slope(DVec3::Y), slope(DVec3::Z))
    }
}

fn cut(mesh: &TriMesh, psi: impl Fn(DVec3) -> f64 + Sync) -> Trimmed {
    trim(mesh, &Function(psi), &TrimSettings::default(), |_| {}).unwrap()
}

/// A sheet of `n` x `n` quads over the unit square, every second diagonal turned.
fn sheet(n: u32) -> TriMesh {
    let mut mesh = TriMesh::default();
    for at in 0..(n + 1) * (n + 1) {
        mesh.positions.push(DVec3::new(f64::from(at % (n + 1)), f64::from(at / (n + 1)), 0.0) / f64::from(n));
    }
    for (x, y) in (0..n * n).map(|at| (at % n, at / n)) {
        let a = x + (n + 1) * y;
        let (b, c, d) = (a + 1, a + n + 2, a + n + 1);
        let pair = if (x + y) % 2 == 0 { [[a, b, c], [a, c, d]] } else { [[a, b, d], [b, c, d]] };
        mesh.triangles.extend(pair);
    }
    mesh
}

/// What must hold of every result: checked from its triangles, not from its report.
fn assert_sound(mesh: &TriMesh, psi: impl Fn(DVec3) -> f64, trimmed: &Trimmed) {
    let result = &trimmed.mesh;
    let topology = Topology::new(result.positions.len(), &result.triangles).unwrap();
    let mut ends = vec![0; result.positions.len()];
    for &[a, b] in &trimmed.border {
        ends[a as usize] += 1;
        ends[b as usize] += 1;
        let edge = topology.find_edge(VertexId(a), VertexId(b)).unwrap();
        assert!(topology.is_boundary(edge));
    }
    for (node, &ends) in ends.iter().enumerate() {
        let node = VertexId::new(node);
        let borders = topology.vertex_edges(node).iter().filter(|&&edge| topology.is_boundary(edge)).count();
        assert!(ends == 0 || borders == 2, "the border is not simple at {node:?}");
        let at = result.positions[node.index()];
        if ends > 0 {
            let ring: Vec<f64> =
                topology.ring(node).map(|other| at.distance(result.positions[other.index()])).collect();
            let edge = ring.iter().sum::<f64>() / ring.len() as f64;
            assert!(psi(at).abs() <= 0.01 * edge, "{node:?} is {} from the cut, its edges are {edge}", psi(at));
        }
    }
    let report = &trimmed.report;
    assert_eq!((report.border.chords, report.border.triangles_on_border), (0, 0));
    assert_eq!((report.border.tangled_nodes, report.border.lagging_nodes), (0, 0));
    let size = mesh.bounds().extent().max_element();
    let stride = 1 + result.positions.len() / 200;
    for at in result.positions.iter().step_by(stride) {
        assert!(brute_force_distance(mesh, *at) < 1e-12 * size, "a node left the surface");
    }
    for (node, origin) in trimmed.origin.iter().enumerate() {
        let far = origin.is_some_and(|vertex| psi(mesh.positions[vertex as usize]) < -0.5 * size);
        assert!(!far || result.positions[node] == mesh.positions[origin.unwrap() as usize]);
    }
}

#[test]
fn half_a_sphere_ends_in_a_circle_on_the_plane() {
    let mesh = sphere(DVec3::ZERO, 1.0, 40);
    let psi = |p: DVec3| p.dot(DVec3::new(0.6, 0.0, 0.8)) - 0.313;
    let trimmed = cut(&mesh, psi);
    assert_sound(&mesh, psi, &trimmed);
    assert_eq!((trimmed.report.border.curves, trimmed.report.components), (1, 1));
    assert!(trimmed.report.changed.largest <= 130.0, "{:?}", trimmed.report.changed);
    // The length of the circle, and the area of the cap below it, of the sphere with chords of a fortieth of pi.
    let at = |node: u32| trimmed.mesh.positions[node as usize];
    let length: f64 = trimmed.border.iter().map(|&[a, b]| at(a).distance(at(b))).sum();
    let circle = std::f64::consts::TAU * (1.0_f64 - 0.313 * 0.313).sqrt();
    assert!((length / circle - 1.0).abs() < 0.01, "{length} for {circle}");
    let area: f64 = trimmed.mesh.triangles.iter().map(|t| 0.5 * area_twice(t.map(at))).sum();
    let cap = std::f64::consts::TAU * 1.313;
    assert!((area / cap - 1.0).abs() < 0.01, "{area} for {cap}");
}

fn area_twice([a, b, c]: [DVec3; 3]) -> f64 {
    (b - a).cross(c - a).length()
}

#[test]
fn both_sides_of_a_cut_add_up_to_the_surface() {
    let mesh = torus(1.0, 0.4, 96, 40);
    let psi = |p: DVec3| 0.7 * (p - DVec3::new(1.0, 0.2, 0.1)).length() - 0.4;
    let area = |mesh: &TriMesh| -> f64 {
        mesh.triangles.iter().map(|t| area_twice(t.map(|vertex| mesh.positions[vertex as usize]))).sum()
    };
    let inside = cut(&mesh, psi);
    let settings = TrimSettings { keep: Keep::Outside, ..TrimSettings::default() };
    let outside = trim(&mesh, &Function(psi), &settings, |_| {}).unwrap();
    assert_sound(&mesh, psi, &inside);
    assert_sound(&mesh, |p| -psi(p), &outside);
    let sum = area(&inside.mesh) + area(&outside.mesh);
    assert!((sum / area(&mesh) - 1.0).abs() < 0.003, "{sum} for {}", area(&mesh));
    for trimmed in [&inside, &outside] {
        assert!(trimmed.report.changed.largest <= 130.0, "{:?}", trimmed.report.changed);
    }
}

#[test]
fn a_cut_through_an_open_sheet_ends_on_its_border_and_leaves_the_rest_of_it() {
    let mesh = sheet(30);
    for (name, psi) in [
        ("oblique", (|p: DVec3| 0.8 * p.x + 0.6 * p.y - 0.61) as fn(DVec3) -> f64),
        ("upright", |p: DVec3| p.x - 0.5),
        ("corner", |p: DVec3| 0.35 - p.length()),
        ("hole", |p: DVec3| 0.3 - (p - DVec3::new(0.5, 0.5, 0.0)).length()),
    ] {
        let trimmed = cut(&mesh, psi);
        assert_sound(&mesh, psi, &trimmed);
        assert_eq!(trimmed.report.border.curves, 1, "{name}");
        assert!(trimmed.report.changed.largest <= 130.0, "{name}: {:?}", trimmed.report.changed);
        // Every corner of the square that is kept is still one, bit for bit.
        for corner in [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::new(1.0, 1.0, 0.0)] {
            assert_eq!(trimmed.mesh.positions.contains(&corner), psi(corner) < 0.0, "{name}: {corner}");
        }
        let expected = (0..1_000_000)
            .filter(|at| psi(DVec3::new(f64::from(at % 1000) + 0.5, f64::from(at / 1000) + 0.5, 0.0) / 1000.0) < 0.0)
            .count();
        let area: f64 = trimmed
            .mesh
            .triangles
            .iter()
            .map(|t| 0.5 * area_twice(t.map(|v| trimmed.mesh.positions[v as usize])))
            .sum();
        assert!((area - expected as f64 * 1e-6).abs() < 0.002, "{name}: {area} for {expected}");
    }
}

/// A sheet folded by right angles along every fourth column of nodes, its rows uneven.
fn pleated(n: u32) -> TriMesh {
    let mut mesh = sheet(n);
    let pleat = 4.0 / f64::from(n);
    for (at, place) in mesh.positions.iter_mut().enumerate() {
        let along = (place.x / pleat).rem_euclid(2.0);
        place.z = pleat * (1.0 - (along - 1.0).abs());
        let is_free = place.y > 0.0 && place.y < 1.0;
        place.y += if is_free { 0.35 / f64::from(n) * (at as f64 * 2.7).sin() } else { 0.0 };
    }
    mesh
}

#[test]
fn where_creases_hold_nodes_the_border_still_arrives_and_no_angle_is_wide() {
    let mesh = pleated(32);
    for (center, radius) in [([0.47, 0.52], 0.33), ([0.3, 0.61], 0.21), ([0.55, 0.4], 0.17), ([0.62, 0.55], 0.28)] {
        let center = DVec3::new(center[0], center[1], 0.05);
        for side in [1.0, -1.0] {
            let psi = |p: DVec3| side * ((p - center).length() - radius);
            let trimmed = cut(&mesh, psi);
            assert_sound(&mesh, psi, &trimmed);
            assert_eq!(trimmed.report.changed.obtuse, 0, "{center} {radius} {side}: {:?}", trimmed.report.changed);
        }
    }
}

#[test]
fn nodes_far_from_the_cut_keep_their_bits_and_a_cut_that_misses_changes_nothing() {
    let mesh = sphere(DVec3::ZERO, 1.0, 24);
    let trimmed = cut(&mesh, |p| p.z - 5.0);
    assert_eq!(trimmed.mesh.triangles, mesh.triangles);
    assert_eq!(trimmed.mesh.positions, mesh.positions);
    let trimmed = cut(&mesh, |p| p.z - 0.3);
    let moved = |node: usize| trimmed.mesh.positions[node] != mesh.positions[trimmed.origin[node].unwrap() as usize];
    let far = (0..trimmed.mesh.positions.len()).filter(|&node| trimmed.mesh.positions[node].z < -0.6);
    assert!(far.into_iter().all(|node| !moved(node)));
    assert!(trimmed.report.moved > 0);
}

#[test]
fn nothing_inside_is_refused_with_a_reason() {
    let mesh = sphere(DVec3::ZERO, 1.0, 8);
    let error = trim(&mesh, &Function(|p: DVec3| p.z + 5.0), &TrimSettings::default(), |_| {}).unwrap_err();
    assert_eq!(error, TrimError::Nothing { inside: 0, vertices: mesh.positions.len() });
    let mut broken = mesh.clone();
    broken.positions[3].x = f64::NAN;
    let error = trim(&broken, &Function(|p: DVec3| p.z), &TrimSettings::default(), |_| {}).unwrap_err();
    assert_eq!(error, TrimError::NotFinite { vertex: 3 });
}

#[test]
fn two_sheets_that_lie_close_are_cut_each_for_itself() {
    let mut mesh = sheet(20);
    let mut upper = sheet(20);
    upper.positions.iter_mut().for_each(|p| p.z = 1e-4);
    mesh.append(&upper);
    let psi = |p: DVec3| (p - DVec3::new(0.4, 0.5, 0.0)).length() - 0.27;
    let trimmed = cut(&mesh, psi);
    assert_sound(&mesh, psi, &trimmed);
    assert_eq!((trimmed.report.components, trimmed.report.border.curves), (2, 2));
    let lower = trimmed.origin.iter().zip(&trimmed.mesh.positions).filter(|(o, _)| o.is_some_and(|v| v < 441));
    assert!(lower.into_iter().all(|(_, p)| p.z == 0.0), "a node changed sheets");
}

/// A shell around a point that waves: positive inside the shell, which goes.
fn wavy_shell(center: DVec3, size: f64) -> impl Fn(DVec3) -> f64 + Sync {
    move |p: DVec3| {
        let d = (p - center) / size;
        let angle = d.z.atan2(d.x);
        let radius = 0.36 + 0.05 * (6.0 * angle).sin() + 0.04 * (9.0 * d.y).sin();
        0.6 * size * (0.07 - (d.length() - radius).abs())
    }
}

#[test]
fn a_bunny_loses_a_wavy_shell() {
    let Some(bunny) = shared("quartet_isc/bunny_watertight.obj") else { return };
    let bounds = bunny.bounds();
    let (center, size) = (bounds.center(), bounds.extent().max_element());
    let psi = wavy_shell(center, size);
    // The input's triangles are a mixed lot; those of surface nets are even, as the source's were after smoothing.
    let settings = MeshSettings::with_resolution(&bunny, 90);
    let even = unsnarl_volume::LevelSet::from_mesh(&bunny, &settings).unwrap().to_mesh(Extraction::SurfaceNets);
    for (name, mesh) in [("as it is", &bunny), ("even", &even)] {
        let trimmed = cut(mesh, &psi);
        println!("{name}: {:#?}", trimmed.report);
        let border = &trimmed.report.border;
        assert_eq!((border.tangled_nodes, border.chords, border.triangles_on_border), (0, 0, 0), "{name}");
        // Slivers of the input hold a few nodes back; without them all reach the cut.
        assert!(border.lagging_nodes * 200 <= border.nodes, "{name}: {border:?}");
        assert!(trimmed.report.surface_gap < 1e-12 * size, "{name}");
        assert!(trimmed.report.border.curves > 3, "{name}");
        assert!(trimmed.report.before.largest > 130.0, "{name}: {:?}", trimmed.report.before);
        assert!(trimmed.report.changed.largest <= 130.0, "{name}: {:?}", trimmed.report.changed);
        let again = cut(mesh, &psi);
        assert_eq!(again.mesh, trimmed.mesh, "{name}");
    }
}
