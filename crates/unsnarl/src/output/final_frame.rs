//! Frames as they are shown: cloth is taken out of bodies without losing its wrinkles. The state does not change.
//!
//! Near a body with an inside, the distances of vertices are mapped by a rising function from what they are, inside
//! included, to a band outside: deep stays nearer than shallow. Then cloth is moved there as if in a step, so that
//! collision impulses keep it from crossing itself, and it is looked at; where triangles still cut a body the band is
//! moved outward and cloth moved on. (Bridson 2003, 3.1 and 3.2)
//!
//! Guarantees: a frame in which no cloth meets a body is left as it is. The order of depths is kept wherever cloth
//! reaches its goal. What is shown meets bodies in fewer triangles than the state, and itself in no more. Pins and
//! what bodies pinch stay where they are: between two surfaces there is no outside.
//! Does not: reach vertices deeper than a few edges (a tangle, for the untangler), or bodies without an inside.
//! Departs: one band per body and frame; the thesis does not say how its map is made.

use crate::analysis::{self, PartKind};
use crate::bodies::{self, Obstacle};
use crate::contact::{self, ContactScene, ContactSettings, OrdinaryRules, Proposal};
use crate::geometry::ccd::Motion;
use crate::geometry::{DVec3, VertexId};
use crate::settings::Settings;
use crate::simulation::World;
use crate::state::State;
use rayon::prelude::*;

/// A frame whose cloth was taken out of bodies.
#[derive(Clone, Debug, PartialEq)]
pub struct FinalFrame {
    /// Where cloth is shown.
    pub positions: Vec<DVec3>,
    /// Pairs of triangles that meet where it is shown.
    pub intersecting_triangle_pairs: usize,
}

/// Times that the band is moved outward.
const ROUNDS: usize = 8;
/// How much farther out each time.
const WIDENING: f64 = 1.6;
/// The band begins nowhere farther out than this part of an edge.
const FARTHEST: f64 = 0.5;
/// Vertices deeper than this many edges are not taken out.
const DEEPEST: f64 = 2.0;
/// The band begins at least this far out, metres.
const NEAREST: f64 = 1e-4;

/// Rounds without a better frame after which no more are tried.
const PATIENCE: usize = 2;

/// The frame as it is shown, where it differs from the state.
pub fn final_frame(
    world: &World,
    state: &State,
    pinched: &[VertexId],
    settings: &Settings,
    memory: &mut analysis::Workspace,
) -> Option<FinalFrame> {
    let surfaces = world.surfaces.positions_at(&world.bodies, state.moment());
    let mut met = |cloth: &[DVec3]| Met::of(world, cloth, &surfaces, memory);
    let before = met(&state.positions);
    if before.with_bodies == 0 {
        return None;
    }
    let obstacles = bodies::place_insides(&world.bodies, state.time, settings.time.step);
    if obstacles.is_empty() {
        return None;
    }
    let scene = ContactScene::new(&world.model, &[]).ok()?;
    let edge = world.model.mean_rest_edge();
    let mut kept = [&world.model.pins, pinched].concat();
    kept.sort_unstable();
    let mut shown = state.positions.clone();
    let mut best: Option<(Met, Vec<DVec3>)> = None;
    let mut in_vain = 0;
    for round in 0..ROUNDS {
        let farther = WIDENING.powi(round as i32);
        let goals = goals(world, &obstacles, &state.positions, &kept, Widening { farther, edge });
        shown = moved(&scene, &shown, &goals, &kept, settings);
        let now = met(&shown);
        let better = now.apart <= before.apart
            && now.with_bodies < best.as_ref().map_or(before.with_bodies, |(best, _)| best.with_bodies);
        if better {
            best = Some((now, shown.clone()));
        }
        in_vain = if better { 0 } else { in_vain + 1 };
        if now.with_bodies == 0 || in_vain > PATIENCE {
            break;
        }
    }
    best.map(|(met, positions)| FinalFrame { positions, intersecting_triangle_pairs: met.with_bodies + met.apart })
}

/// How many pairs of triangles meet.
#[derive(Clone, Copy)]
struct Met {
    /// Cloth with a body.
    with_bodies: usize,
    /// Cloth with cloth.
    apart: usize,
}

impl Met {
    fn of(world: &World, cloth: &[DVec3], surfaces: &[DVec3], memory: &mut analysis::Workspace) -> Self {
        let assembly = world.assembly();
        let verdict = analysis::verdict(assembly, &[cloth, surfaces].concat(), memory);
        let is_body = |triangle| assembly.parts()[assembly.part_of_triangle(triangle)].kind == PartKind::Body;
        let with_bodies = verdict.pairs.iter().filter(|pair| is_body(pair.first) || is_body(pair.second)).count();
        Self { with_bodies, apart: verdict.pairs.len() - with_bodies }
    }
}

/// How far out the band of a round begins.
#[derive(Clone, Copy)]
struct Widening {
    farther: f64,
    /// A typical edge of cloth, metres.
    edge: f64,
}

/// Where vertices near bodies would like to be shown. The vertices in `kept`, in order, stay.
fn goals(
    world: &World,
    obstacles: &[Obstacle],
    positions: &[DVec3],
    kept: &[VertexId],
    Widening { farther, edge }: Widening,
) -> Vec<DVec3> {
    let model = &world.model;
    let mut goals = positions.to_vec();
    for obstacle in obstacles {
        let thickness = |vertex: usize| {
            let triangle = model.topology.vertex_triangles(VertexId::new(vertex)).first();
            triangle.map_or(0.0, |&triangle| model.fabric(triangle).thickness)
        };
        let near: Vec<Option<(f64, DVec3)>> = (0..goals.len())
            .into_par_iter()
            .map(|vertex| {
                let stays = kept.binary_search(&VertexId::new(vertex)).is_ok();
                let found = obstacle.distance(goals[vertex]);
                (!stays && found.0 >= -DEEPEST * edge).then_some(found)
            })
            .collect();
        let lowest = near.iter().flatten().map(|found| found.0).fold(0.0, f64::min);
        for (vertex, found) in near.into_iter().enumerate() {
            let Some((distance, normal)) = found else { continue };
            let nearest = obstacle.margin(thickness(vertex)).max(NEAREST) * farther;
            let band = Band { lowest, nearest: nearest.min(FARTHEST * edge) };
            goals[vertex] += normal * (band.map(distance) - distance);
        }
    }
    goals
}

/// Maps distances from a lowest one, which is inside, to at least a nearest one, which is outside.
struct Band {
    lowest: f64,
    nearest: f64,
}

impl Band {
    /// Rises by half where it moves anything, and meets the identity where it ends.
    fn map(&self, distance: f64) -> f64 {
        let end = 2.0 * self.nearest - self.lowest;
        if distance >= end { distance } else { self.nearest + 0.5 * (distance - self.lowest) }
    }
}

/// Moves cloth towards goals without crossing itself.
fn moved(scene: &ContactScene, from: &[DVec3], goals: &[DVec3], kept: &[VertexId], settings: &Settings) -> Vec<DVec3> {
    let proposal = Proposal {
        cloth: Motion { start: from, end: goals },
        obstacles: Motion { start: &[], end: &[] },
        step: 1.0,
        held: kept,
        rules: &OrdinaryRules,
    };
    // Cloth that lay within its thickness in the state may lie so when shown.
    let settings = ContactSettings { repulsion_passes: 0, ..settings.collision.clone() };
    scene.resolve(&proposal, &settings, &mut contact::Workspace::default()).positions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bodies::Body;
    use crate::bodies::keyframes::Keyframes;
    use crate::bodies::moving_mesh::MovingMesh;
    use crate::bodies::shape::Shape;
    use crate::geometry::TriMesh;
    use crate::model::{Cloth, Model};
    use crate::output::{Collisions, Depth, RefineSettings, refine_once};
    use crate::scene::environment::Environment;

    const RADIUS: f64 = 0.3;

    /// A patch over the top of a ball, with wrinkles 4 mm deep of which `sunk` metres lie inside.
    fn wrinkled(body: Body, sunk: f64) -> (World, State) {
        let count = 24;
        let mut mesh = TriMesh::default();
        for row in 0..=count {
            for column in 0..=count {
                let [u, v] = [row, column].map(|at| 0.4 * (f64::from(at) / f64::from(count) - 0.5));
                let out = DVec3::new(u, 0.35, v).normalize();
                let wrinkle = 0.002 * (1.0 + (60.0 * u).sin() * (50.0 * v).cos());
                mesh.positions.push(out * (RADIUS - sunk + wrinkle));
                if row > 0 && column > 0 {
                    let at = (row * (count + 1) + column) as u32;
                    let across = at - (count + 1) as u32;
                    mesh.triangles.extend([[across - 1, at - 1, at], [across - 1, at, across]]);
                }
            }
        }
        let mut cloth = Cloth::new("patch", mesh);
        cloth.fabric.thickness = 1e-3;
        let (model, state) = Model::build(&[cloth]).unwrap();
        (World::new(model, Environment::default(), vec![body], Vec::new()).unwrap(), state)
    }

    fn ball() -> Body {
        Body::solid("ball", Shape::Sphere { radius: RADIUS }, Keyframes::fixed(DVec3::ZERO), 0.3)
    }

    /// From the deepest vertex to the highest.
    fn heights(points: &[DVec3]) -> f64 {
        let all = points.iter().map(|point| point.length());
        all.clone().fold(f64::MIN, f64::max) - all.fold(f64::MAX, f64::min)
    }

    /// Depths of pairs of vertices keep their order, apart from `slack` metres.
    fn assert_in_order(before: &[DVec3], after: &[DVec3], slack: f64) {
        let mut order: Vec<usize> = (0..before.len()).collect();
        order.sort_by(|&a, &b| before[a].length().total_cmp(&before[b].length()));
        let mut highest = f64::NEG_INFINITY;
        for at in order {
            let height = after[at].length();
            assert!(height >= highest - slack, "vertex {at} at {height}, one that was deeper at {highest}");
            highest = highest.max(height);
        }
    }

    #[test]
    fn wrinkles_inside_a_ball_come_out_in_order_and_the_frame_is_clean() {
        let (world, state) = wrinkled(ball(), 0.003);
        let settings = Settings::default();
        let shown = final_frame(&world, &state, &[], &settings, &mut analysis::Workspace::default()).unwrap();
        assert_eq!(shown.intersecting_triangle_pairs, 0);
        assert_in_order(&state.positions, &shown.positions, 1e-12);
        // Pushed to the surface, wrinkles would be gone where they were inside; here at least half of their height is
        // left.
        assert!(heights(&shown.positions) >= 0.499 * heights(&state.positions));
    }

    #[test]
    fn wrinkles_outlive_the_way_out_and_two_levels_of_refinement() {
        let (world, state) = wrinkled(ball(), 0.003);
        let mut memory = analysis::Workspace::default();
        let shown = final_frame(&world, &state, &[], &Settings::default(), &mut memory).unwrap();
        let surfaces = world.surfaces.positions_at(&world.bodies, state.moment());
        let mut refined = |cloth: &[DVec3], collisions: Collisions| {
            let settings = RefineSettings { collisions, ..RefineSettings::default() };
            let positions = [cloth, &surfaces[..]].concat();
            let assembly = world.assembly().clone();
            let (refined, finest) =
                refine_once(assembly, &[], &positions, Depth::Levels(2), &settings, &mut |_, _, _| {}).unwrap();
            let pairs = analysis::verdict(&finest.assembly, &refined.positions, &mut memory).pairs.len();
            (heights(&refined.positions[..refined.positions.len() - surfaces.len()]), pairs)
        };
        let (ours, pairs) = refined(&shown.positions, Collisions::StopBefore);
        assert_eq!(pairs, 0);
        // The way out halves wrinkles; what the masks smooth away they would have lost anyway.
        let (inside, _) = refined(&state.positions, Collisions::Ignore);
        assert!(ours >= 0.45 * inside, "{ours} of {inside}");
    }

    #[test]
    fn a_closed_mesh_is_left_by_its_level_set() {
        let ball = bodies::Surfaces::new(&[ball()], 0.02).meshes()[0].clone();
        let mesh = MovingMesh::rigid(ball.triangles, ball.positions, Keyframes::fixed(DVec3::ZERO));
        let (world, state) = wrinkled(Body::mesh("ball", mesh, 0.3, 1e-3), 0.003);
        let shown =
            final_frame(&world, &state, &[], &Settings::default(), &mut analysis::Workspace::default()).unwrap();
        assert_eq!(shown.intersecting_triangle_pairs, 0);
        // The samples of the level set are 4 mm apart, and the facets of the ball are flat.
        assert_in_order(&state.positions, &shown.positions, 5e-4);
    }

    #[test]
    fn pinched_vertices_are_shown_where_they_are() {
        let (world, state) = wrinkled(ball(), 0.003);
        let pinched: Vec<VertexId> = (100..110).map(VertexId).collect();
        let settings = Settings::default();
        let shown = final_frame(&world, &state, &pinched, &settings, &mut analysis::Workspace::default()).unwrap();
        let moved = |vertex: usize| shown.positions[vertex] != state.positions[vertex];
        assert!((100..110).all(|vertex| !moved(vertex)));
        assert!((0..state.positions.len()).filter(|&vertex| moved(vertex)).count() > 100);
    }

    #[test]
    fn a_clean_frame_is_shown_as_it_is() {
        let (world, state) = wrinkled(ball(), -0.01);
        assert_eq!(final_frame(&world, &state, &[], &Settings::default(), &mut analysis::Workspace::default()), None);
    }
}
