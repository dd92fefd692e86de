//! Dynamics and contact together, on small versions of the classic scenes: what starts clean is clean after every step.

#![allow(clippy::unwrap_used)]

use unsnarl::contact::{
    ContactReport, ContactScene, ContactSettings, ObstacleMesh, OrdinaryRules, Proposal, Workspace,
};
use unsnarl::dynamics::{self, Guidance, Hold, Start};
use unsnarl::geometry::ccd::Motion;
use unsnarl::geometry::intersection::{find_intersecting_pairs, triangle_tree};
use unsnarl::geometry::{DMat3, DVec3, TriMesh, VertexId};
use unsnarl::model::{Cloth, Model};
use unsnarl::scene::environment::Environment;
use unsnarl::settings::DynamicsSettings;
use unsnarl::state::State;

const STEP: f64 = 1.0 / 120.0;

/// A grid of triangles over [0, 1] x [0, 1], laid out by a function.
fn grid(columns: usize, rows: usize, place: impl Fn(f64, f64) -> DVec3) -> TriMesh {
    let mut mesh = TriMesh::default();
    for row in 0..=rows {
        for column in 0..=columns {
            mesh.positions.push(place(column as f64 / columns as f64, row as f64 / rows as f64));
        }
    }
    let width = columns as u32 + 1;
    for row in 0..rows as u32 {
        for column in 0..columns as u32 {
            let corner = row * width + column;
            mesh.triangles
                .extend([[corner, corner + 1, corner + width], [corner + 1, corner + width + 1, corner + width]]);
        }
    }
    mesh
}

struct Stage {
    model: Model,
    state: State,
    scene: ContactScene,
    obstacle_positions: Vec<DVec3>,
    environment: Environment,
    dynamics: dynamics::Workspace,
    contact: Workspace,
    collisions: usize,
}

impl Stage {
    fn new(cloths: &[Cloth], obstacles: &[ObstacleMesh]) -> Self {
        let (model, state) = Model::build(cloths).unwrap();
        let scene = ContactScene::new(&model, obstacles).unwrap();
        let obstacle_positions = obstacles.iter().flat_map(|obstacle| obstacle.mesh.positions.clone()).collect();
        Self {
            model,
            state,
            scene,
            obstacle_positions,
            environment: Environment { gravity: DVec3::new(0.0, -9.81, 0.0), ..Environment::NOTHING },
            dynamics: dynamics::Workspace::default(),
            contact: Workspace::default(),
            collisions: 0,
        }
    }

    /// One step of the algorithm: propose, keep apart, finish. Panics where anything intersects.
    fn step(&mut self, holds: Vec<(VertexId, Hold)>, obstacles: Vec<DVec3>) -> ContactReport {
        let held: Vec<VertexId> = holds.iter().map(|hold| hold.0).collect();
        let guidance = Guidance { holds, ..Guidance::default() };
        let settings = DynamicsSettings::default();
        let start = Start { model: &self.model, state: &self.state, environment: &self.environment, step: STEP };
        let mut proposed = dynamics::propose(&start, &guidance, &settings, &mut self.dynamics);
        let proposal = Proposal {
            cloth: Motion { start: &self.state.positions, end: &proposed.positions },
            obstacles: Motion { start: &self.obstacle_positions, end: &obstacles },
            step: STEP,
            held: &held,
            rules: &OrdinaryRules,
        };
        let resolved = self.scene.resolve(&proposal, &ContactSettings::default(), &mut self.contact);
        for vertex in &resolved.changed {
            proposed.velocities[vertex.index()] = resolved.velocities[vertex.index()];
        }
        proposed.positions = resolved.positions;
        self.state = dynamics::finish(&start, proposed, &settings, &mut self.dynamics);
        self.obstacle_positions = obstacles;
        self.collisions += resolved.report.collisions;
        assert_eq!(self.intersections(), 0, "at {} s: {:?}", self.state.time, resolved.report);
        resolved.report
    }

    fn intersections(&self) -> usize {
        let topology = self.scene.mesh().topology();
        let positions = [self.state.positions.as_slice(), &self.obstacle_positions].concat();
        find_intersecting_pairs(topology, &positions, &triangle_tree(topology, &positions), |_, _| true).len()
    }
}

#[test]
fn a_sheet_twisted_by_its_ends_never_crosses_itself() {
    let (columns, rows) = (8, 16);
    let mesh = grid(columns, rows, |x, y| DVec3::new(0.2 * (x - 0.5), 0.4 * (y - 0.5), 0.0));
    let mut stage = Stage::new(&[Cloth::new("sheet", mesh.clone())], &[]);
    stage.environment = Environment::NOTHING;
    for step in 1..=70 {
        let angle = 0.09 * f64::from(step);
        let holds = (0..mesh.positions.len())
            .filter(|at| at / (columns + 1) == 0 || at / (columns + 1) == rows)
            .map(|at| {
                let home = mesh.positions[at];
                let turned = DMat3::from_rotation_y(angle * home.y.signum()) * (home * DVec3::new(1.0, 0.9, 1.0));
                (VertexId::new(at), Hold::At(turned))
            })
            .collect();
        stage.step(holds, Vec::new());
    }
    assert!(stage.collisions > 0);
}

#[test]
fn cloth_hangs_over_a_plate_of_no_thickness() {
    let cloth = grid(10, 10, |x, z| DVec3::new(0.3 * (x - 0.5), 0.02, 0.3 * (z - 0.5)));
    let plate = grid(4, 4, |z, y| DVec3::new(0.003, -0.5 * y, z - 0.5));
    let obstacle = ObstacleMesh { mesh: plate.clone(), thickness: 1e-3, friction: 0.6 };
    let mut stage = Stage::new(&[Cloth::new("cloth", cloth)], &[obstacle]);
    for _ in 0..50 {
        let report = stage.step(Vec::new(), plate.positions.clone());
        assert_eq!(report.unresolved, 0);
    }
    let lowest = stage.state.positions.iter().map(|p| p.y).fold(f64::INFINITY, f64::min);
    let highest = stage.state.positions.iter().map(|p| p.y).fold(f64::NEG_INFINITY, f64::max);
    assert!(lowest < -0.03 && highest > -0.01, "from {lowest} to {highest}");
}

#[test]
fn a_ribbon_falls_into_a_pile_on_a_moving_floor() {
    let ribbon = grid(2, 50, |x, y| DVec3::new(0.03 * (x - 0.5) + 0.004 * (9.0 * y).sin(), 0.05 + 0.5 * y, 0.01 * y));
    let floor = grid(2, 2, |x, z| DVec3::new(x - 0.5, 0.0, 0.5 - z));
    let obstacle = ObstacleMesh { mesh: floor.clone(), thickness: 1e-3, friction: 0.5 };
    let mut stage = Stage::new(&[Cloth::new("ribbon", ribbon)], &[obstacle]);
    let mut here = floor.positions;
    for step in 0..60 {
        let shove = DVec3::new(0.002 * f64::from(step).sin(), 0.0, 0.001);
        here = here.iter().map(|p| *p + shove).collect();
        stage.step(Vec::new(), here.clone());
    }
    assert!(stage.collisions > 0);
    assert!(stage.state.positions.iter().all(|p| p.y > 0.0));
}
