//! Cloth between the arms of one body that closes through itself, waits and opens again.

#![allow(clippy::unwrap_used)]

use unsnarl::analysis;
use unsnarl::bodies::Body;
use unsnarl::bodies::keyframes::Keyframes;
use unsnarl::bodies::moving_mesh::{MeshKey, MovingMesh};
use unsnarl::geometry::{DVec3, TriMesh, VertexId};
use unsnarl::model::{Cloth, Model};
use unsnarl::scene::environment::Environment;
use unsnarl::settings::{Flypaper, Settings};
use unsnarl::simulation::{Flow, Simulation, World};
use unsnarl::untangle::Method;
use unsnarl::untangle::bodies::pinch::{self, BodyMeshes, PinchSettings};

const FRAME: f64 = 1.0 / 24.0;
/// Closing until here, seconds, then at rest.
const CLOSED: f64 = 0.5;
/// At rest until here, then opening for half a second.
const OPENING: f64 = 1.0;

/// A closed tube with eight-sided sections around a polyline in the plane z = 0.
fn tube(line: &[DVec3], radius: f64) -> TriMesh {
    const SIDES: u32 = 8;
    let last = line.len() - 1;
    let mut mesh = TriMesh::default();
    for at in 0..=last {
        let along = (line[(at + 1).min(last)] - line[at.max(1) - 1]).normalize();
        let side = along.cross(DVec3::Z);
        for corner in 0..SIDES {
            let angle = (f64::from(corner) + 0.3) / f64::from(SIDES) * std::f64::consts::TAU;
            mesh.positions.push(line[at] + (side * angle.cos() + DVec3::Z * angle.sin()) * radius);
        }
    }
    for at in 0..last as u32 {
        for corner in 0..SIDES {
            let [a, b] = [SIDES * at + corner, SIDES * at + (corner + 1) % SIDES];
            mesh.triangles.extend([[a, a + SIDES, b + SIDES], [a, b + SIDES, b]]);
        }
    }
    let end = SIDES * last as u32;
    mesh.triangles.extend((1..SIDES - 1).map(|corner| [0, corner, corner + 1]));
    mesh.triangles.extend((1..SIDES - 1).map(|corner| [end, end + corner + 1, end + corner]));
    mesh
}

/// Two arms on a common foot; at 0 they stand apart, at 1 their upper parts have passed through each other.
fn tweezers(closed: f64) -> TriMesh {
    let arm = |side: f64| {
        (0..16).map(move |at| {
            let up = f64::from(at) / 15.0;
            DVec3::new(side * (0.2 - closed * 0.17 * up), up, 0.0113 * side * up)
        })
    };
    let mut line: Vec<DVec3> = arm(-1.0).collect();
    line.reverse();
    line.extend((1..8).map(|at| {
        let angle = std::f64::consts::PI * f64::from(at) / 8.0;
        DVec3::new(-0.2 * angle.cos(), -0.2 * angle.sin(), 0.0)
    }));
    line.extend(arm(1.0));
    tube(&line, 0.06)
}

fn body() -> Body {
    let key = |time: f64, closed: f64| MeshKey { time, positions: tweezers(closed).positions };
    let keys = vec![key(0.0, 0.0), key(CLOSED, 1.0), key(OPENING, 1.0), key(OPENING + 0.5, 0.0)];
    let mesh = MovingMesh::new(tweezers(0.0).triangles, keys, Keyframes::fixed(DVec3::ZERO)).unwrap();
    Body::mesh("tweezers", mesh, 0.3, 1e-3)
}

/// A curtain that hangs between the arms.
fn curtain() -> Cloth {
    let (columns, rows) = (10, 18);
    let mut mesh = TriMesh::default();
    for row in 0..=rows {
        for column in 0..=columns {
            let (x, y) = (f64::from(column) / f64::from(columns), f64::from(row) / f64::from(rows));
            mesh.positions.push(DVec3::new(0.011 * (7.0 * x).sin(), 0.35 + 0.85 * y, 0.4 * x - 0.2));
        }
    }
    for row in 0..rows {
        for column in 0..columns {
            let corner = row * (columns + 1) + column;
            let above = corner + columns + 1;
            mesh.triangles.extend([[corner, corner + 1, above], [corner + 1, above + 1, above]]);
        }
    }
    let mut cloth = Cloth::new("curtain", mesh);
    cloth.pins = (rows * (columns + 1)..(rows + 1) * (columns + 1)).map(VertexId).collect();
    cloth
}

/// What a whole run showed.
#[derive(Debug, Default)]
struct Run {
    /// Most pinched vertices at a time.
    most_pinched: usize,
    /// Greatest speed of a pinched vertex while the body rests, m/s.
    fastest_at_rest: f64,
    /// Greatest speed of any vertex from the start of closing to the start of opening, m/s.
    fastest: f64,
    /// Pairs of triangles that meet at the end.
    pairs_at_end: usize,
}

fn run(flypaper: Flypaper, method: Method) -> Run {
    let (model, state) = Model::build(&[curtain()]).unwrap();
    let environment = Environment { gravity: DVec3::new(0.0, -9.81, 0.0), ..Environment::NOTHING };
    let world = World::new(model, environment, vec![body()], Vec::new()).unwrap();
    let mut settings = Settings::default();
    settings.untangle.method = method;
    settings.untangle.flypaper = flypaper;
    let mut simulation = Simulation::new(world, state, settings);
    let meshes = BodyMeshes::new([("tweezers", &tweezers(0.0))]).unwrap();
    let mut workspace = analysis::Workspace::default();
    let mut seen = Run::default();
    for _ in 0..(2.5 / FRAME) as usize {
        let start = simulation.state.positions.clone();
        let surface = simulation.world.surfaces.positions_at(&simulation.world.bodies, simulation.state.moment());
        let tangle = analysis::analyze(meshes.assembly(), &surface, &mut workspace);
        let pinches = pinch::find(&meshes, &surface, &tangle, &start, &PinchSettings::default());
        let rests = simulation.state.time > CLOSED && simulation.state.time + FRAME < OPENING;
        let closing = simulation.state.time < OPENING;
        let report = simulation.advance(FRAME, &mut |_| Flow::GoOn).unwrap();
        let speed = |vertex: usize| simulation.state.positions[vertex].distance(start[vertex]) / FRAME;
        seen.most_pinched = seen.most_pinched.max(pinches.len());
        if rests {
            let fastest = pinches.iter().map(|pinch| speed(pinch.vertex.index())).fold(0.0, f64::max);
            seen.fastest_at_rest = seen.fastest_at_rest.max(fastest);
        }
        if closing {
            seen.fastest = seen.fastest.max((0..start.len()).map(speed).fold(0.0, f64::max));
        }
        seen.pairs_at_end = report.intersecting_triangle_pairs;
    }
    seen
}

#[test]
fn pinched_cloth_rests_with_the_body_and_is_clean_after_release() {
    let seen = run(Flypaper::On, Method::Auto);
    assert!(seen.most_pinched > 3, "{seen:?}");
    assert_eq!(seen.fastest_at_rest, 0.0, "{seen:?}");
    assert!(seen.fastest < 2.0 * 0.34 + 0.1, "twice the body's speed and a little: {seen:?}");
    assert_eq!(seen.pairs_at_end, 0, "{seen:?}");
}

/// The control: what flypapering and untangling are for.
#[test]
fn without_flypaper_and_untangling_pinched_cloth_flutters_while_the_body_rests() {
    let seen = run(Flypaper::Off, Method::Off);
    assert!(seen.fastest_at_rest > 1e-3, "{seen:?}");
}

/// A closed box with a sheet whose border is sunk into its top: a contour that ends on the border of the cloth.
#[test]
fn cloth_sunk_into_a_body_goes_out_whatever_its_contour() {
    let corner = |k: u32| {
        let sign = |bit: u32| if k & bit == 0 { -1.0 } else { 1.0 };
        DVec3::new(0.5 * sign(1), 0.1 * sign(2) - 0.1, 0.5 * sign(4))
    };
    let quads: [[u32; 4]; 6] = [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
    let triangles: Vec<[u32; 3]> = quads.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
    let positions: Vec<DVec3> = (0..8).map(corner).collect();
    let volume: f64 = (triangles.iter())
        .map(|t| positions[t[0] as usize].dot(positions[t[1] as usize].cross(positions[t[2] as usize])))
        .sum();
    assert!(volume > 0.0, "the box faces outward");
    let mesh = MovingMesh::rigid(triangles, positions, Keyframes::fixed(DVec3::ZERO));
    let block = Body::mesh("block", mesh, 0.3, 1e-3);

    let cells = 8_u32;
    let mut mesh = TriMesh::default();
    for row in 0..=cells {
        for column in 0..=cells {
            let (x, z) = (f64::from(column) / f64::from(cells), f64::from(row) / f64::from(cells));
            mesh.positions.push(DVec3::new(0.4 * x - 0.213, 0.05 - 0.09 * z, 0.4 * z - 0.187));
        }
    }
    for row in 0..cells {
        for column in 0..cells {
            let corner = row * (cells + 1) + column;
            let above = corner + cells + 1;
            mesh.triangles.extend([[corner, above, corner + 1], [corner + 1, above, above + 1]]);
        }
    }
    for method in [Method::Gia, Method::Uir, Method::SimPrev] {
        let (model, state) = Model::build(&[Cloth::new("sheet", mesh.clone())]).unwrap();
        let world = World::new(model, Environment::NOTHING, vec![block.clone()], Vec::new()).unwrap();
        let mut settings = Settings::default();
        settings.untangle.method = method;
        let mut simulation = Simulation::new(world, state, settings);
        let first = simulation.advance(FRAME, &mut |_| Flow::GoOn).unwrap();
        let last = (0..23).map(|_| simulation.advance(FRAME, &mut |_| Flow::GoOn).unwrap()).last().unwrap();
        assert!(first.tangled_steps > 0, "{method:?}");
        assert_eq!(last.intersecting_triangle_pairs, 0, "{method:?}");
        let lowest = simulation.state.positions.iter().map(|place| place.y).fold(f64::INFINITY, f64::min);
        assert!(lowest > 0.0, "{method:?}: out through the top, not at {lowest}");
    }
}

/// A sheet of squares with a given height at every place.
fn sheet(cells: u32, size: f64, height: impl Fn(f64, f64) -> f64) -> TriMesh {
    let mut mesh = TriMesh::default();
    for row in 0..=cells {
        for column in 0..=cells {
            let [x, z] = [column, row].map(|at| size * (f64::from(at) / f64::from(cells) - 0.5));
            mesh.positions.push(DVec3::new(x, height(x, z), z));
        }
    }
    for row in 0..cells {
        for column in 0..cells {
            let corner = row * (cells + 1) + column;
            let above = corner + cells + 1;
            mesh.triangles.extend([[corner, above, corner + 1], [corner + 1, above, above + 1]]);
        }
    }
    mesh
}

/// The ridge of a roof stands through a sheet: every crossing edge goes in and out again, so both of its ends are
/// outside, though each is behind one side of the roof. Neither may be drawn in.
#[test]
fn a_ridge_through_cloth_draws_no_vertex_into_the_body() {
    let positions: Vec<DVec3> = [-0.5, 0.5]
        .into_iter()
        .flat_map(|z| [DVec3::new(0.0, 0.0, z), DVec3::new(-0.4, -0.4, z), DVec3::new(0.4, -0.4, z)])
        .collect();
    let triangles = vec![[0, 1, 2], [3, 5, 4], [0, 3, 4], [0, 4, 1], [0, 2, 5], [0, 5, 3], [1, 4, 5], [1, 5, 2]];
    let flipped: Vec<[u32; 3]> = triangles.iter().map(|&[a, b, c]: &[u32; 3]| [a, c, b]).collect();
    let at = |corner: u32| positions[corner as usize];
    let volume: f64 = triangles.iter().map(|&[a, b, c]| at(a).dot(at(b).cross(at(c)))).sum();
    let outward = if volume > 0.0 { triangles } else { flipped };
    let roof = Body::mesh("roof", MovingMesh::rigid(outward, positions, Keyframes::fixed(DVec3::ZERO)), 0.3, 1e-3);
    // Columns at 2.5 cm and more from the ridge; the sheet is 1 cm below it.
    let mesh = sheet(9, 0.45, |_, _| -0.01);
    let is_inside = |place: &DVec3| place.y < -place.x.abs() && place.y > -0.4;
    for method in [Method::Gia, Method::Auto] {
        let (model, state) = Model::build(&[Cloth::new("sheet", mesh.clone())]).unwrap();
        let world = World::new(model, Environment::NOTHING, vec![roof.clone()], Vec::new()).unwrap();
        let mut settings = Settings::default();
        settings.untangle.method = method;
        let mut simulation = Simulation::new(world, state, settings);
        let mut pairs = Vec::new();
        for _ in 0..24 {
            let report = simulation.advance(FRAME, &mut |_| Flow::GoOn).unwrap();
            pairs.push(report.intersecting_triangle_pairs);
            let inside = simulation.state.positions.iter().filter(|place| is_inside(place)).count();
            assert_eq!(inside, 0, "{method:?}: {pairs:?}");
        }
        assert!(pairs[0] > 0, "{method:?}: it begins in the sheet");
        assert_eq!(pairs[23], 0, "{method:?}: {pairs:?}");
    }
}
