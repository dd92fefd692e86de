//! The front door: a world, its state, and time going on.
//!
//! Guarantees: stepping cannot fail. A step that would distort a triangle too far, or that contact could resolve only
//! by its last resort, is taken again as two half steps, at most as often as the settings say, and reported; numbers
//! that are not finite count as too far. (The second rule is the adaptive collision step of Bridson 2003, 2.3)

use crate::analysis::report::TypeCounts;
use crate::analysis::{self, Assembly, PartKind, Tangle};
use crate::bodies::keyframes::Keyframes;
use crate::bodies::{Body, Form, Surfaces};
use crate::contact::{ContactScene, FieldGrid, FinalFrameChoice, ObstacleMesh};
use crate::coupling::{self, Rider};
use crate::dynamics::{self, Guidance, Hold};
use crate::geometry::math::is_finite;
use crate::geometry::{DVec3, Topology, TopologyError, TriMesh, VertexId};
use crate::model::{Model, Piece};
use crate::output::final_frame::final_frame;
use crate::report::FrameReport;
use crate::rigid_world::RigidWorld;
use crate::scene::environment::Environment;
use crate::settings::Settings;
use crate::state::State;
use crate::step::{Stage, Workspace, largest_stretch, step, stretches};
use crate::untangle::bodies::flypaper::FlypaperWeights;
use crate::untangle::bodies::pinch::BodyMeshes;
use crate::untangle::mesh_sizes::mesh_sizes;
use crate::untangle::{Design, FoldStyle};

/// All that does not change while time goes on.
#[derive(Clone, Debug)]
pub struct World {
    /// The cloth.
    pub model: Model,
    /// Gravity and air.
    pub environment: Environment,
    /// Obstacles.
    pub bodies: Vec<Body>,
    /// Their surfaces.
    pub surfaces: Surfaces,
    /// Vertices that are led.
    pub handles: Vec<Handle>,
    pub(crate) contact: ContactScene,
    pub(crate) assembly: Assembly,
    /// The size of the mesh at every vertex of the assembly, metres.
    pub(crate) sizes: Vec<f64>,
    /// How much each surface counts for cloth that several pinch.
    pub flypaper_weights: FlypaperWeights,
    pub(crate) body_meshes: BodyMeshes,
    /// Simulated bodies, and what they bump into.
    pub rigid: RigidWorld,
    pub(crate) riders: Vec<Rider>,
    /// What folds are designed to be.
    pub design: FoldDesign,
}

/// What folds are designed to be: by style, and by crease.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FoldDesign {
    /// The style of every vertex of cloth; empty, or `None`: it is unfolded.
    pub styles: Vec<Option<FoldStyle>>,
    /// The edges of creases with their angles at rest, radians.
    pub creases: Vec<([VertexId; 2], f64)>,
}

impl FoldDesign {
    pub(crate) fn as_ref(&self) -> Design<'_> {
        Design { styles: &self.styles, creases: &self.creases }
    }
}

/// Vertices that move together on rails.
#[derive(Clone, Debug, PartialEq)]
pub struct Handle {
    /// The vertices.
    pub vertices: Vec<VertexId>,
    /// Where each of them is while the motion stands at the origin.
    pub home: Vec<DVec3>,
    /// The motion.
    pub motion: Keyframes,
    /// After this time, seconds, the vertices are free.
    pub release: f64,
}

impl World {
    /// Puts cloth and bodies together. Fails if the triangles of a body make no mesh.
    pub fn new(
        model: Model,
        environment: Environment,
        bodies: Vec<Body>,
        handles: Vec<Handle>,
    ) -> Result<Self, TopologyError> {
        Self::with_rigid(model, environment, bodies, handles, RigidWorld::default())
    }

    /// The same with simulated bodies, whose surfaces are the last of `bodies`. Without cloth nothing is prepared that
    /// only cloth needs.
    pub fn with_rigid(
        model: Model,
        environment: Environment,
        bodies: Vec<Body>,
        handles: Vec<Handle>,
        rigid: RigidWorld,
    ) -> Result<Self, TopologyError> {
        let surfaces = Surfaces::new(&bodies, model.mean_rest_edge());
        let obstacle = |(body, mesh): (&Body, &TriMesh)| ObstacleMesh {
            mesh: mesh.clone(),
            thickness: body.thickness,
            friction: body.friction,
        };
        let met: &[Body] = if model.masses.is_empty() { &[] } else { &bodies };
        let obstacles: Vec<ObstacleMesh> = met.iter().zip(surfaces.meshes()).map(obstacle).collect();
        let contact = ContactScene::new(&model, &obstacles)?;
        let own = |piece: &Piece| model.topology.own_triangles(piece.triangles.clone(), piece.vertices.start);
        let of_cloth: Vec<Vec<[u32; 3]>> = model.pieces.iter().map(own).collect();
        let cloth = (model.pieces.iter().zip(&of_cloth))
            .map(|(piece, own)| (piece.name.clone(), PartKind::Cloth, piece.vertices.len(), own.as_slice()));
        let solid = (met.iter().zip(surfaces.meshes()))
            .map(|(body, mesh)| (body.name.clone(), PartKind::Body, mesh.positions.len(), mesh.triangles.as_slice()));
        let assembly = Assembly::new(cloth.chain(solid))?;
        let sizes = mesh_sizes(&model, assembly.topology().vertex_count());
        // Simulated bodies rest on others with a little overlap; that is no pinch.
        let obstacle_count = met.iter().take_while(|body| !matches!(body.form, Form::Simulated { .. })).count();
        let on_rails = &met[..obstacle_count];
        let mut body_meshes = BodyMeshes::new(on_rails.iter().map(|body| body.name.as_str()).zip(surfaces.meshes()))?;
        if on_rails.iter().all(|body| matches!(body.form, Form::Solid { .. })) {
            body_meshes = body_meshes.of_convex_bodies();
        }
        let riders = coupling::riders(met, &surfaces, model.masses.len());
        let flypaper_weights = FlypaperWeights::default();
        Ok(Self {
            model,
            environment,
            bodies,
            surfaces,
            handles,
            contact,
            assembly,
            sizes,
            flypaper_weights,
            body_meshes,
            rigid,
            riders,
            design: FoldDesign::default(),
        })
    }

    /// Cloth and the surfaces of all bodies, part by part; empty without cloth.
    pub fn assembly(&self) -> &Assembly {
        &self.assembly
    }

    /// The connectivity of cloth and the surfaces of all bodies, cloth first.
    pub fn topology(&self) -> &Topology {
        self.contact.mesh().topology()
    }

    /// Where everything of [`World::topology`] is in a state.
    pub fn all_positions(&self, state: &State) -> Vec<DVec3> {
        if self.model.masses.is_empty() {
            return Vec::new();
        }
        [state.positions.as_slice(), &self.surfaces.positions_at(&self.bodies, state.moment())].concat()
    }

    /// What the handles ask for at a time.
    pub(crate) fn guidance(&self, time: f64) -> Guidance {
        let mut guidance = Guidance::default();
        for handle in self.handles.iter().filter(|handle| time <= handle.release) {
            let (position, rotation) = handle.motion.at(time);
            let goals = handle.vertices.iter().zip(&handle.home);
            guidance.holds.extend(goals.map(|(&vertex, &home)| (vertex, Hold::At(position + rotation * home))));
        }
        guidance
    }
}

/// A world that moves.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// What does not change.
    pub world: World,
    /// What does.
    pub state: State,
    /// How.
    pub settings: Settings,
    /// Where cloth is shown at the end of the last frame, where that is not where it is.
    pub shown: Option<Vec<DVec3>>,
    /// The vertices that bodies pinched in the last step, in order.
    pub pinched: Vec<VertexId>,
    workspace: Workspace,
}

impl Simulation {
    /// Puts a world and a state together.
    pub fn new(world: World, state: State, settings: Settings) -> Self {
        Self { world, state, settings, shown: None, pinched: Vec::new(), workspace: Workspace::default() }
    }

    /// Keeps the grid of every step, for [`Simulation::field_grid`]; only `method = "field"` has one.
    pub fn keep_field_grid(&mut self, keeps: bool) {
        self.workspace.contact.field.keeps_grid = keeps;
    }

    /// The grid of the last step, if it was kept.
    pub fn field_grid(&self) -> Option<&FieldGrid> {
        self.workspace.contact.field.grid.as_ref()
    }

    /// Goes on by a duration, in equal steps no longer than the settings and the model allow. `observe` hears of every
    /// stage; when it says stop, the step is finished and nothing more is done.
    pub fn advance(
        &mut self,
        duration: f64,
        observe: &mut dyn FnMut(Stage) -> Flow,
    ) -> Result<FrameReport, Interrupted> {
        let bearable = dynamics::stable_step(&self.world.model, &self.state, &self.settings.dynamics);
        let count = (duration / self.settings.time.step.min(bearable) - 1e-9).ceil().clamp(1.0, 1e6);
        let mut report = FrameReport::default();
        for _ in 0..count as usize {
            self.advance_step(duration / count, 0, &mut report, observe)?;
        }
        self.look(&mut report);
        Ok(report)
    }

    /// Tells what meets at the end of a frame, and how far cloth is stretched.
    fn look(&mut self, report: &mut FrameReport) {
        let mut stretches = stretches(&self.world.model, &self.state);
        stretches.sort_unstable_by(f64::total_cmp);
        let share = |of: f64| stretches.get((of * stretches.len() as f64) as usize).copied().unwrap_or(0.0);
        (report.stretch_99, report.stretch_99_9) = (share(0.99), share(0.999));
        let positions = self.world.all_positions(&self.state);
        let memory = &mut self.workspace.analysis;
        let verdict = analysis::verdict(&self.world.assembly, &positions, &mut memory.workspace);
        report.intersecting_triangle_pairs = verdict.pairs.len();
        report.shown_triangle_pairs = report.intersecting_triangle_pairs;
        self.shown = None;
        if verdict.is_clean() {
            memory.remember(positions, Tangle::default());
        } else {
            report.intersections = TypeCounts::new(&memory.at(&self.world.assembly, &positions));
            if self.settings.collision.final_frame == FinalFrameChoice::MapOut
                && let Some(shown) =
                    final_frame(&self.world, &self.state, &self.pinched, &self.settings, &mut memory.workspace)
            {
                report.shown_triangle_pairs = shown.intersecting_triangle_pairs;
                self.shown = Some(shown.positions);
            }
        }
    }

    fn advance_step(
        &mut self,
        length: f64,
        depth: u32,
        report: &mut FrameReport,
        observe: &mut dyn FnMut(Stage) -> Flow,
    ) -> Result<(), Interrupted> {
        let mut flow = Flow::GoOn;
        let mut listen = |stage| {
            if observe(stage) == Flow::Stop {
                flow = Flow::Stop;
            }
        };
        let (next, done) = step(&self.world, &self.state, &self.settings, length, &mut self.workspace, &mut listen);
        if flow == Flow::Stop {
            return Err(Interrupted);
        }
        let before = largest_stretch(&self.world.model, &self.state).max(1.0);
        let finite = next.positions.iter().all(|&point| is_finite(point));
        let too_far = !finite || done.largest_stretch > before * (1.0 + self.settings.time.stretch_change);
        // Where something crosses already, prescribed vertices may leave no way, and shorter steps do not help.
        let has_way = done.collision.unresolved == 0 || done.contours == 0;
        let too_hard = has_way && (done.collision.slowed_vertices > 0 || done.collision.unresolved > 0);
        if (too_far && depth < self.settings.time.halvings)
            || (too_hard && depth < self.settings.time.collision_halvings)
        {
            report.halved_steps += 1;
            for _ in 0..2 {
                self.advance_step(0.5 * length, depth + 1, report, observe)?;
            }
            return Ok(());
        }
        report.forced_steps += u32::from(too_far);
        if finite {
            self.state = next;
        } else {
            self.state.velocities.fill(DVec3::ZERO);
            self.state.previous = None;
            self.state.time += length;
        }
        report.add(&done);
        self.pinched = done.pinched;
        Ok(())
    }
}

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Yes.
    GoOn,
    /// No: finish the step and stop.
    Stop,
}

/// The observer asked to stop; the state stands between two frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stopped")]
pub struct Interrupted;
