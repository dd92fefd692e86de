//! Cloth on a spike: where it snagged, it slides off.

#![allow(clippy::unwrap_used)]

use unsnarl::bodies::Body;
use unsnarl::bodies::keyframes::Keyframes;
use unsnarl::bodies::moving_mesh::MovingMesh;
use unsnarl::geometry::{DVec2, DVec3, TriMesh};
use unsnarl::model::{Cloth, Model, Rest};
use unsnarl::scene::environment::Environment;
use unsnarl::scene::sheet::{Diagonals, sheet};
use unsnarl::settings::Settings;
use unsnarl::simulation::{Flow, Simulation, World};

/// A narrow open cone, its tip in the origin.
fn spike() -> TriMesh {
    let around = |k: u32| {
        let angle = std::f64::consts::TAU * f64::from(k) / 8.0;
        DVec3::new(0.02 * angle.cos(), -0.4, 0.02 * angle.sin())
    };
    let mut mesh = TriMesh { positions: vec![DVec3::ZERO], triangles: Vec::new() };
    mesh.positions.extend((0..8).map(around));
    mesh.triangles.extend((0..8).map(|k| [0, 1 + (k + 1) % 8, 1 + k]));
    mesh
}

/// The highest point of a frictionless square that fell on the spike off its middle, at every frame.
fn tops(tip_radius: f64) -> Vec<f64> {
    let size = DVec2::splat(0.3);
    let (mut mesh, uv) = sheet(size, 12, 12, Diagonals::Alternating);
    for point in &mut mesh.positions {
        *point = DVec3::new(point.x - 0.15 + 0.043, 0.01, 0.15 - point.y + 0.021);
    }
    let mut cloth = Cloth { rest: Rest::Panels(uv), ..Cloth::new("cloth", mesh) };
    cloth.fabric.friction = 0.0;
    let mesh = spike();
    let body = MovingMesh::rigid(mesh.triangles, mesh.positions, Keyframes::fixed(DVec3::ZERO));
    let bodies = vec![Body::mesh("spike", body, 0.0, 1e-3)];
    let (model, state) = Model::build(&[cloth]).unwrap();
    let environment = Environment { gravity: DVec3::new(0.0, -9.81, 0.0), ..Environment::NOTHING };
    let mut settings = Settings::default();
    settings.collision.tip_radius = tip_radius;
    let mut simulation = Simulation::new(World::new(model, environment, bodies, Vec::new()).unwrap(), state, settings);
    let frame = |_| {
        let report = simulation.advance(1.0 / 48.0, &mut |_| Flow::GoOn).unwrap();
        assert_eq!(report.intersecting_triangle_pairs, 0);
        simulation.state.positions.iter().map(|point| point.y).fold(f64::MIN, f64::max)
    };
    (0..90).map(frame).collect()
}

#[test]
fn cloth_slides_off_a_spike_on_which_it_snagged() {
    let snagged = tops(0.0);
    assert!(snagged[89] > -0.05, "without rounding it hangs on the tip to the end: {}", snagged[89]);
    let slid = tops(Settings::default().collision.tip_radius);
    assert!(slid[89] < -0.1, "it hangs on the tip: {slid:?}");
}
