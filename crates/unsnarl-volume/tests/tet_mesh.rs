//! Tetrahedral meshes of bodies with known distances: validity, fit, topology, grading, deformation, threads.

use std::ops::ControlFlow;
use unsnarl_geometry::intersection::{find_intersecting_pairs, triangle_tree};
use unsnarl_geometry::{Aabb, DVec3, Topology};
use unsnarl_volume::Field;
use unsnarl_volume::tet_mesh::boundary::{Conditions, boundary_of, inverted_tets};
use unsnarl_volume::tet_mesh::compress::{Method, Workpiece, improve_interior};
use unsnarl_volume::tet_mesh::quality::tet_quality;
use unsnarl_volume::tet_mesh::{Body, Criterion, Settings, Size, TetError, TetMesh, TetReport, make, measure};

struct Sphere;

impl Field for Sphere {
    fn value(&self, point: DVec3) -> f64 {
        point.length() - 1.0
    }

    fn gradient(&self, point: DVec3) -> DVec3 {
        point.normalize_or_zero()
    }
}

/// Radii 1 and 0.5 around z.
struct Torus;

impl Field for Torus {
    fn value(&self, point: DVec3) -> f64 {
        let around = point.truncate().length() - 1.0;
        around.hypot(point.z) - 0.5
    }

    fn gradient(&self, point: DVec3) -> DVec3 {
        let flat = point.truncate();
        let around = flat.length() - 1.0;
        let outward = flat.normalize_or_zero() * around;
        DVec3::new(outward.x, outward.y, point.z).normalize_or_zero()
    }
}

fn filled(field: &dyn Field, reach: f64, settings: &Settings<'_>) -> (TetMesh, TetReport) {
    let bounds = Aabb { min: DVec3::splat(-reach), max: DVec3::splat(reach) };
    make(Body { field, bounds }, settings, &mut |_| ControlFlow::Continue(())).expect("a plain body")
}

/// Validity by other code than that which made the mesh: measures, and intersections of the boundary.
fn assert_valid(mesh: &TetMesh) {
    let found = measure::measure(mesh);
    assert!(found.is_valid(), "{} inverted", found.inverted);
    assert_eq!(found.conditions(), [true; 3]);
    assert!(inverted_tets(mesh).is_empty());
    let boundary = mesh.boundary();
    let topology = Topology::new(mesh.positions.len(), &boundary).expect("a manifold");
    let tree = triangle_tree(&topology, &mesh.positions);
    assert!(find_intersecting_pairs(&topology, &mesh.positions, &tree, |_, _| true).is_empty());
}

fn boundary_nodes(mesh: &TetMesh) -> Vec<u32> {
    let mut nodes: Vec<u32> = mesh.boundary().into_iter().flatten().collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

#[test]
fn a_ball_of_18_000_elements_is_valid_fits_and_is_coarse_inside() {
    let settings = Settings { criterion: Criterion::Uniform, ..Settings::with_size(Size::Count(18_000)) };
    let (mesh, report) = filled(&Sphere, 1.0, &settings);
    assert_valid(&mesh);
    assert!((mesh.tets.len() as f64 / 18_000.0 - 1.0).abs() < 0.11, "{}", mesh.tets.len());
    assert_eq!((report.euler, report.surfaces), (2, 1));
    let far =
        boundary_nodes(&mesh).iter().map(|&node| Sphere.value(mesh.positions[node as usize]).abs()).fold(0.0, f64::max);
    assert!(far < 0.01 * report.edge, "{far}");
    let shapes = measure::measure(&mesh).shapes;
    assert!((shapes.volume / (4.0 / 3.0 * std::f64::consts::PI) - 1.0).abs() < 0.01);
    assert!(shapes.largest_aspect < 4.5 && shapes.smallest_dihedral_degrees > 18.0, "{shapes:?}");
    let levels = [mesh.levels.iter().min(), mesh.levels.iter().max()];
    assert!(levels[1].zip(levels[0]).is_some_and(|(fine, coarse)| fine - coarse >= 2));
}

#[test]
fn a_torus_keeps_its_hole_and_is_finer_in_the_inner_ring_by_curvature() {
    let criterion = Criterion::Curvature(Criterion::DEFAULT_CURVATURE);
    let settings = Settings { criterion, ..Settings::with_size(Size::Edge(0.0825)) };
    let (mesh, report) = filled(&Torus, 1.5, &settings);
    assert_valid(&mesh);
    assert_eq!((report.euler, report.surfaces), (0, 1));
    let (mut inner, mut outer) = ((0.0, 0), (0.0, 0));
    for triangle in mesh.boundary() {
        for i in 0..3 {
            let [a, b] = [triangle[i], triangle[(i + 1) % 3]].map(|node| mesh.positions[node as usize]);
            let radius = (0.5 * (a + b)).truncate().length();
            let sum = if radius < 0.7 { &mut inner } else { &mut outer };
            if !(0.7..1.3).contains(&radius) {
                *sum = (sum.0 + a.distance(b), sum.1 + 1);
            }
        }
    }
    let means = [inner, outer].map(|(sum, count)| sum / f64::from(count));
    assert!(means[0] < 0.75 * means[1], "{means:?}");
}

#[test]
fn springs_and_elements_reach_the_surface_without_inverting() {
    for method in [Method::Springs, Method::Elements] {
        let settings = Settings { method, ..Settings::with_size(Size::Edge(0.2)) };
        let (mesh, report) = filled(&Torus, 1.5, &settings);
        assert_valid(&mesh);
        let far = boundary_nodes(&mesh)
            .iter()
            .map(|&node| Torus.value(mesh.positions[node as usize]).abs())
            .fold(0.0, f64::max);
        assert!(far < 0.1 * report.edge, "{method:?}: {far}");
        assert!(measure::measure(&mesh).shapes.largest_aspect < 15.0);
    }
}

#[test]
fn one_and_two_threads_give_the_same_bits() {
    let settings = Settings::with_size(Size::Edge(0.2));
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| filled(&Torus, 1.5, &settings).0)
    };
    assert_eq!(on(1), on(2));
}

/// Elements whose four corners lie in the boundary star of one node: pressed flat there, they have no volume left.
fn collapsing(mesh: &TetMesh) -> usize {
    let boundary = boundary_of(mesh.positions.len(), &mesh.tets);
    let mut rings: Vec<Vec<u32>> = vec![Vec::new(); mesh.positions.len()];
    for triangle in &boundary {
        for node in triangle {
            rings[*node as usize].extend(triangle);
        }
    }
    let collapses =
        |tet: &&[u32; 4]| tet.iter().any(|&center| tet.iter().all(|node| rings[center as usize].contains(node)));
    mesh.tets.iter().filter(collapses).count()
}

#[test]
fn no_element_collapses_when_a_boundary_ring_is_pressed_flat_but_some_do_without_the_conditions() {
    let settings = Settings { criterion: Criterion::Uniform, ..Settings::with_size(Size::Edge(0.2)) };
    let (mesh, _) = filled(&Torus, 1.5, &settings);
    assert_eq!(collapsing(&mesh), 0);
    // The control: the same elements without some at the boundary, as a plain cut through the lattice would have it.
    let centroid = |tet: &[u32; 4]| tet.iter().map(|&node| mesh.positions[node as usize]).sum::<DVec3>() * 0.25;
    let tets: Vec<[u32; 4]> = mesh.tets.iter().filter(|tet| Torus.value(centroid(tet)) < -0.09).copied().collect();
    let control = TetMesh { tets, ..mesh };
    let boundary = control.boundary();
    assert!(!Conditions::of(control.positions.len(), &control.tets, &boundary).hold());
    assert!(collapsing(&control) > 0);
}

#[test]
fn squeezed_to_half_along_each_axis_and_optimised_inside_nothing_inverts() {
    let (mesh, _) = filled(&Torus, 1.5, &Settings::with_size(Size::Edge(0.25)));
    for axis in [DVec3::X, DVec3::Y, DVec3::Z] {
        let squeezed: Vec<DVec3> = mesh.positions.iter().map(|p| *p - 0.5 * p.dot(axis) * axis).collect();
        let squeezed = TetMesh { positions: squeezed, ..mesh.clone() };
        let worst = |mesh: &TetMesh| {
            (0..mesh.tets.len()).map(|tet| tet_quality(mesh.corners(tet))).fold(f64::INFINITY, f64::min)
        };
        let boundary = squeezed.boundary();
        let mut piece = Workpiece::new(&Torus, &squeezed, &boundary);
        improve_interior(&mut piece, 3);
        let optimised = TetMesh { positions: piece.positions, ..squeezed.clone() };
        assert!(inverted_tets(&optimised).is_empty());
        assert!(worst(&optimised) >= worst(&squeezed));
    }
}

#[test]
fn bodies_that_are_too_small_and_requests_that_are_too_large_are_refused() {
    let bounds = Aabb { min: DVec3::splat(-1.0), max: DVec3::ONE };
    let refusal = |settings: Settings<'_>| {
        make(Body { field: &Sphere, bounds }, &settings, &mut |_| ControlFlow::Continue(())).expect_err("refused")
    };
    assert_eq!(refusal(Settings { levels: 0, ..Settings::with_size(Size::Edge(9.0)) }), TetError::NothingInside);
    let few = Settings { most_elements: 1000, ..Settings::with_size(Size::Edge(0.02)) };
    assert!(matches!(refusal(few), TetError::TooMany { .. }));
    assert!(matches!(refusal(Settings::with_size(Size::Edge(f64::NAN))), TetError::Lattice(_)));
}
