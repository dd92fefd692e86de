//! Tetrahedral meshes of bodies with known distances: validity, fit, topology, grading, deformation, threads.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use unsnarl_geometry::intersection::{find_intersecting_pairs, triangle_tree};
use unsnarl_geometry::{Aabb, DVec3, Topology, TriMesh};
use unsnarl_volume::Field;
use unsnarl_volume::tet_mesh::boundary::{Conditions, boundary_of, inverted_tets};
use unsnarl_volume::tet_mesh::compress::{Method, Workpiece, improve_interior};
use unsnarl_volume::tet_mesh::exact_distance::SignedMesh;
use unsnarl_volume::tet_mesh::quality::tet_quality;
use unsnarl_volume::tet_mesh::{Body, Criterion, EDGES, Settings, Size, TetError, TetMesh, TetReport, make, measure};

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
    make(Body { field, bounds, area: 4.0 * std::f64::consts::PI * reach * reach, volume: 0.0 }, settings, &mut |_| {
        ControlFlow::Continue(())
    })
    .expect("a plain body")
}

/// Validity by other code than that which made the mesh: measures, and intersections of the boundary.
fn assert_valid(mesh: &TetMesh) {
    let found = measure::measure(mesh);
    assert!(found.is_valid(), "{} inverted", found.inverted);
    assert_eq!(found.conditions(), [true; 3]);
    assert!(inverted_tets(mesh).is_empty());
    assert_eq!(crossings(mesh), 0);
}

/// Pairs of boundary triangles that meet.
fn crossings(mesh: &TetMesh) -> usize {
    let boundary = mesh.boundary();
    let topology = Topology::new(mesh.positions.len(), &boundary).expect("a manifold");
    let tree = triangle_tree(&topology, &mesh.positions);
    find_intersecting_pairs(&topology, &mesh.positions, &tree, |_, _| true).len()
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
    let of_facets = SignedMesh::new(&torus_mesh()).expect("a clean mesh");
    let fields: [&dyn Field; 2] = [&Torus, &of_facets];
    for field in fields {
        let (mesh, report) = filled(field, 1.5, &settings);
        assert_valid(&mesh);
        assert_eq!((report.euler, report.surfaces), (0, 1));
        let means = inner_and_outer_edge(&mesh);
        assert!(means[0] < 0.7 * means[1], "{means:?}, {} elements", mesh.tets.len());
    }
}

/// The torus as quads cut in two.
fn torus_mesh() -> TriMesh {
    const STEPS: u32 = 96;
    const TURNS: u32 = 192;
    let turn = |at: u32, of: u32| f64::from(at) / f64::from(of) * std::f64::consts::TAU;
    let point = |node: u32| {
        let (small, large) = (turn(node % STEPS, STEPS), turn(node / STEPS, TURNS));
        let radius = 1.0 + 0.5 * small.cos();
        DVec3::new(radius * large.cos(), radius * large.sin(), 0.5 * small.sin())
    };
    let node = |small: u32, large: u32| large % TURNS * STEPS + small % STEPS;
    let quad = |at: u32| {
        let (small, large) = (at % STEPS, at / STEPS);
        let corners = [[0, 0], [0, 1], [1, 1], [1, 0]].map(|[s, l]| node(small + s, large + l));
        [[corners[0], corners[1], corners[2]], [corners[0], corners[2], corners[3]]]
    };
    TriMesh {
        positions: (0..STEPS * TURNS).map(point).collect(),
        triangles: (0..STEPS * TURNS).flat_map(quad).collect(),
    }
}

/// The mean lengths of boundary edges on the inner and on the outer ring.
fn inner_and_outer_edge(mesh: &TetMesh) -> [f64; 2] {
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
    [inner, outer].map(|(sum, count)| sum / f64::from(count))
}

/// Boundary nodes farther from the surface than a share of the mean length of the boundary's edges, and how many there
/// are.
fn lagging(field: &dyn Field, mesh: &TetMesh, share: f64) -> (usize, usize) {
    let boundary = mesh.boundary();
    let at = |node: u32| mesh.positions[node as usize];
    let length: f64 = boundary.iter().map(|t| at(t[0]).distance(at(t[1]))).sum::<f64>() / boundary.len() as f64;
    let nodes = boundary_nodes(mesh);
    (nodes.iter().filter(|&&node| field.value(at(node)).abs() > share * length).count(), nodes.len())
}

#[test]
fn springs_and_elements_reach_the_surface_without_inverting_and_with_better_elements_than_the_thesis() {
    for method in [Method::Springs, Method::Elements] {
        let settings = Settings { method, ..Settings::with_size(Size::Edge(0.2)) };
        let (mesh, _) = filled(&Torus, 1.5, &settings);
        assert_valid(&mesh);
        assert_eq!(lagging(&Torus, &mesh, 0.01).0, 0, "{method:?}");
        let shapes = measure::measure(&mesh).shapes;
        assert!(shapes.largest_aspect < 6.5 && shapes.mean_aspect < 2.1, "{method:?}: {shapes:?}");
        assert!(shapes.smallest_dihedral_degrees > 17.0 && shapes.largest_dihedral_degrees < 147.0, "{method:?}");
    }
}

/// A cube of side 1.2 with sharp edges, a wedge cut out of it: distances are bounds only, as fields of users may be.
struct Wedge;

impl Field for Wedge {
    fn value(&self, point: DVec3) -> f64 {
        let q = point.abs() - DVec3::splat(0.6);
        let cube = q.max(DVec3::ZERO).length() + q.max_element().min(0.0);
        let wedge = (0.9 * point.y.abs() - 0.436 * (point.x + 0.1)) / 1.0;
        cube.max(-wedge)
    }

    fn gradient(&self, point: DVec3) -> DVec3 {
        slopes(self, point)
    }
}

/// Two balls that touch: at any resolution there is a neck or a gap thinner than an element.
struct Kissing;

impl Field for Kissing {
    fn value(&self, point: DVec3) -> f64 {
        (point - 0.5 * DVec3::X).length().min((point + 0.5 * DVec3::X).length()) - 0.503
    }

    fn gradient(&self, point: DVec3) -> DVec3 {
        (point - DVec3::X * 0.5_f64.copysign(point.x)).normalize_or_zero()
    }
}

#[test]
fn no_element_is_beyond_an_aspect_of_4_5_and_19_to_143_degrees_even_at_sharp_edges_tips_and_necks() {
    let bodies: [(&str, &dyn Field, f64); 4] =
        [("ball", &Sphere, 1.0), ("torus", &Torus, 1.5), ("wedge", &Wedge, 0.6), ("kissing balls", &Kissing, 1.1)];
    for (name, field, reach) in bodies {
        for edge in [0.31, 0.12, 0.07] {
            let settings = Settings { levels: 3, ..Settings::with_size(Size::Edge(edge * reach)) };
            let (mesh, report) = filled(field, reach, &settings);
            assert_eq!(report.crossings, 0, "{name} {edge}");
            assert_valid(&mesh);
            let shapes = measure::measure(&mesh).shapes;
            // Touching balls have a neck or a gap at any resolution: there alone fit may come before shape.
            assert!(report.yielded == 0 || name == "kissing balls", "{name} {edge}");
            let [aspect, least, most] = if report.yielded == 0 { [4.5, 19.0, 143.5] } else { [5.3, 16.4, 149.0] };
            assert!(shapes.largest_aspect <= aspect && shapes.mean_aspect < 2.4, "{name} {edge}: {shapes:?}");
            let angles = [shapes.smallest_dihedral_degrees, shapes.largest_dihedral_degrees];
            assert!(angles[0] > least && angles[1] < most, "{name} {edge}: {angles:?}");
            let (far, nodes) = lagging(field, &mesh, 0.01);
            assert!(20 * far <= nodes, "{name} {edge}: {far} of {nodes} boundary nodes lag");
        }
    }
}

/// Two cubes of side 1 with a gap of 0.03 between them, and a cone of height 2 that ends in a point.
struct Gap;
struct Spike;

impl Field for Gap {
    fn value(&self, point: DVec3) -> f64 {
        let q = DVec3::new(point.x.abs() - 0.515, point.y, point.z).abs() - DVec3::splat(0.5);
        q.max(DVec3::ZERO).length() + q.max_element().min(0.0)
    }

    fn gradient(&self, point: DVec3) -> DVec3 {
        slopes(self, point)
    }
}

impl Field for Spike {
    fn value(&self, point: DVec3) -> f64 {
        let [run, rise] = [point.truncate().length(), point.z];
        // The half of a triangle with corners (0.25, -1) and (0, 1): distances to its slope and to its base.
        let along = ((run - 0.25) * -0.25 + (rise + 1.0) * 2.0) / 4.0625;
        let slope = (run - 0.25 + 0.25 * along.clamp(0.0, 1.0)).hypot(rise + 1.0 - 2.0 * along.clamp(0.0, 1.0));
        let base = (run - run.clamp(0.0, 0.25)).hypot(rise + 1.0);
        let inside = rise > -1.0 && 2.0 * (run - 0.25) + 0.25 * (rise + 1.0) < 0.0;
        if inside { -slope.min(base) } else { slope.min(base) }
    }

    fn gradient(&self, point: DVec3) -> DVec3 {
        slopes(self, point)
    }
}

fn slopes(field: &dyn Field, point: DVec3) -> DVec3 {
    let slope = |axis: DVec3| (field.value(point + 1e-6 * axis) - field.value(point - 1e-6 * axis)) / 2e-6;
    DVec3::new(slope(DVec3::X), slope(DVec3::Y), slope(DVec3::Z)).normalize_or_zero()
}

#[test]
fn the_boundary_lies_on_the_surface_at_gaps_tips_and_necks_too() {
    let bodies: [(&str, &dyn Field, f64); 3] = [("gap", &Gap, 1.1), ("spike", &Spike, 1.0), ("necks", &Kissing, 1.1)];
    for (name, field, reach) in bodies {
        for edge in [0.23, 0.14] {
            let settings = Settings { levels: 3, ..Settings::with_size(Size::Edge(edge)) };
            let (mesh, report) = filled(field, reach, &settings);
            assert_valid(&mesh);
            assert_eq!(report.lagging, 0, "{name} {edge}");
            assert!(measure::measure(&mesh).shapes.largest_aspect <= 4.5, "{name} {edge}");
        }
    }
}

#[test]
fn a_sizing_function_refines_where_it_says_inside_the_body_too_and_nowhere_else() {
    let (center, radius, wanted) = (DVec3::new(0.3, 0.0, 0.0), 0.25, 0.1);
    let size = |point: DVec3| if point.distance(center) <= radius { wanted } else { f64::INFINITY };
    let plain = Settings::with_size(Size::Edge(0.1));
    let (coarse, _) = filled(&Sphere, 1.0, &plain);
    let (mesh, _) = filled(&Sphere, 1.0, &Settings { sizing: Some(&size), ..plain });
    assert_valid(&mesh);
    let longest = |mesh: &TetMesh, tet: &[u32; 4]| {
        let at = |corner: usize| mesh.positions[tet[corner] as usize];
        (0..6)
            .map(|e| {
                let [i, j] = EDGES[e];
                at(i).distance(at(j))
            })
            .fold(0.0, f64::max)
    };
    let within = |mesh: &TetMesh, reach: f64| -> Vec<f64> {
        let center_of = |tet: &[u32; 4]| tet.iter().map(|&n| mesh.positions[n as usize]).sum::<DVec3>() * 0.25;
        mesh.tets.iter().filter(|t| center_of(t).distance(center) < reach).map(|t| longest(mesh, t)).collect()
    };
    let mean = |lengths: Vec<f64>| lengths.iter().sum::<f64>() / lengths.len() as f64;
    assert!(mean(within(&mesh, 0.8 * radius)) < 1.15 * wanted, "{}", mean(within(&mesh, 0.8 * radius)));
    assert!(mean(within(&coarse, 0.8 * radius)) > 2.0 * wanted);
    let far = |mesh: &TetMesh| mesh.positions.iter().filter(|p| p.x < -0.4).count() as f64;
    assert!((far(&mesh) / far(&coarse) - 1.0).abs() < 0.1, "{} for {}", far(&mesh), far(&coarse));
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
fn a_boundary_pressed_to_half_along_each_axis_step_by_step_is_followed_by_the_interior_alone() {
    const STEPS: i32 = 24;
    let (mesh, _) = filled(&Torus, 1.5, &Settings::with_size(Size::Edge(0.4)));
    let boundary = mesh.boundary();
    let on_boundary = boundary_nodes(&mesh);
    for axis in [DVec3::X, DVec3::Y, DVec3::Z] {
        let mut pressed = mesh.clone();
        for step in 1..=STEPS {
            let share = 1.0 - 0.5_f64.powf(f64::from(step) / f64::from(STEPS));
            for &node in &on_boundary {
                let place = mesh.positions[node as usize];
                pressed.positions[node as usize] = place - share * place.dot(axis) * axis;
            }
            let mut piece = Workpiece::new(&Torus, &pressed, &boundary);
            improve_interior(&mut piece, 2);
            pressed.positions = piece.positions;
        }
        assert!(inverted_tets(&pressed).is_empty(), "{axis}: {}", inverted_tets(&pressed).len());
    }
}

#[test]
fn bodies_that_are_too_small_and_requests_that_are_too_large_are_refused() {
    let bounds = Aabb { min: DVec3::splat(-1.0), max: DVec3::ONE };
    let refusal = |settings: Settings<'_>| {
        make(Body { field: &Sphere, bounds, area: 12.6, volume: 4.2 }, &settings, &mut |_| ControlFlow::Continue(()))
            .expect_err("refused")
    };
    assert_eq!(refusal(Settings { levels: 0, ..Settings::with_size(Size::Edge(9.0)) }), TetError::NothingInside);
    let few = Settings { most_elements: 1000, ..Settings::with_size(Size::Edge(0.02)) };
    assert!(matches!(refusal(few), TetError::TooMany { .. }));
    assert!(matches!(refusal(Settings::with_size(Size::Edge(f64::NAN))), TetError::Lattice(_)));
}

/// A ball that counts how often it is asked.
struct Counting(AtomicUsize);

impl Field for Counting {
    fn value(&self, point: DVec3) -> f64 {
        self.0.fetch_add(1, Ordering::Relaxed);
        Sphere.value(point)
    }

    fn gradient(&self, point: DVec3) -> DVec3 {
        Sphere.gradient(point)
    }
}

#[test]
fn too_fine_an_edge_is_refused_by_a_sample_long_before_the_elements_allowed_are_made() {
    let bounds = Aabb { min: DVec3::splat(-1.0), max: DVec3::ONE };
    let allowed = 4_000_000;
    for (levels, edge) in [(8, 5e-4), (6, 5e-4), (2, 1e-3)] {
        let field = Counting(AtomicUsize::new(0));
        let settings = Settings { most_elements: allowed, levels, ..Settings::with_size(Size::Edge(edge)) };
        let settings = Settings { criterion: Criterion::Uniform, ..settings };
        let body = Body { field: &field, bounds, area: 12.6, volume: 4.2 };
        let refused = make(body, &settings, &mut |_| ControlFlow::Continue(()));
        let Err(TetError::TooMany { estimate, most, edge: wanted }) = refused else { panic!("{levels} not refused") };
        assert!(estimate > most && wanted > edge, "{levels}: {estimate} {wanted}");
        let asked = field.0.load(Ordering::Relaxed);
        assert!(asked < allowed / 4, "{levels} levels: {asked} distances");
    }
}
