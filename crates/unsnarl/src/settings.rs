//! Every setting of the engine, defined once: unit, default, consequence.
//!
//! Scene files, `--set path=value` and the published schema are derived from these types.

use crate::contact::ContactSettings;
use crate::rigid;
use crate::untangle::bodies::pinch::PinchSettings;
use crate::untangle::{ClassicSettings, FoldStyle, Method};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// All settings, one group per stage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// How time is cut into steps.
    pub time: TimeSettings,
    /// How cloth moves.
    pub dynamics: DynamicsSettings,
    /// How cloth keeps apart.
    pub collision: ContactSettings,
    /// What is done about cloth that crosses.
    pub untangle: UntangleSettings,
    /// How rigid bodies move and touch.
    pub rigid: rigid::Settings,
    /// How cloth and rigid bodies agree on what they give each other.
    pub coupling: CouplingSettings,
}

/// How cloth and rigid bodies agree on what they give each other in a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct CouplingSettings {
    /// Times at most that bodies and cloth are moved in one step. 1: bodies feel cloth one step late, and light bodies
    /// under heavy cloth are thrown off.
    pub rounds: u32,
    /// A body may be given this change of velocity, m/s, after a step without another round. Smaller: more rounds.
    pub tolerance: f64,
}

impl Default for CouplingSettings {
    fn default() -> Self {
        Self { rounds: 4, tolerance: 0.01 }
    }
}

/// What is done about cloth that crosses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct UntangleSettings {
    /// The untangler. `off`: crossings are not looked for between frames, and what crosses stays as it is.
    pub method: Method,
    /// What 0.02 s leave of an edge that is shortened. Smaller: faster, less stable.
    pub gamma: f64,
    /// Distance that red and green keep, as a share of the mesh's own size. Larger: faster, more jerks; stable up to 0.3.
    pub red_green_separation: f64,
    /// Factor on bending stiffness around the loop vertex of a torn fold whose strip stays elastic, as `auto` of `fix`
    /// tries first.
    pub tear_stiffening: f64,
    /// How folds are torn.
    pub tear: TearSettings,
    /// What becomes of folds that bite into themselves. `design`: labels of panels and creases decide.
    pub style: StyleChoice,
    /// The same for a cloth or a panel; later entries win.
    pub styles: Vec<StyleAt>,
    /// What only the methods without history have.
    pub classic: ClassicSettings,
    /// Whether cloth that bodies pinch sticks to them.
    pub flypaper: Flypaper,
    /// When cloth counts as pinched.
    pub pinch: PinchSettings,
}

impl Default for UntangleSettings {
    fn default() -> Self {
        Self {
            method: Method::Auto,
            gamma: 0.8,
            red_green_separation: 0.1,
            tear_stiffening: 30.0,
            tear: TearSettings::default(),
            style: StyleChoice::Design,
            styles: Vec::new(),
            classic: ClassicSettings::default(),
            flypaper: Flypaper::On,
            pinch: PinchSettings::default(),
        }
    }
}

/// What becomes of all folds that bite into themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StyleChoice {
    /// What labels of panels and creases say; without them they are torn, and unfold.
    #[default]
    Design,
    /// They are torn, and unfold.
    Unfold,
    /// They stay folded, to the front.
    FoldOut,
    /// They stay folded, to the back.
    FoldIn,
    /// They stay folded as their creases are.
    Crease,
}

impl StyleChoice {
    /// The style of every fold; none where the design decides.
    pub fn of_all(self) -> Option<FoldStyle> {
        match self {
            Self::Design => None,
            Self::Unfold => Some(FoldStyle::Unfold),
            Self::FoldOut => Some(FoldStyle::FoldOut),
            Self::FoldIn => Some(FoldStyle::FoldIn),
            Self::Crease => Some(FoldStyle::Crease),
        }
    }
}

/// What becomes of the folds of a cloth or a panel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct StyleAt {
    /// The name of a cloth, or the label of a panel.
    #[serde(rename = "where")]
    pub place: String,
    /// The style.
    pub style: FoldStyle,
}

/// How folds that bite into themselves are torn.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct TearSettings {
    /// What is left of the stiffness of torn triangles, 0 to 1; they are at rest in the shape that they have. Larger: the
    /// fold opens more slowly.
    pub strip_stiffness: f64,
}

impl Default for TearSettings {
    fn default() -> Self {
        Self { strip_stiffness: 0.0 }
    }
}

/// Whether cloth that bodies pinch sticks to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Flypaper {
    /// It does: it rests when they rest, and moves by the mean of their motions.
    #[default]
    On,
    /// It is left to contact, which cannot satisfy both sides.
    Off,
}

/// How time is cut into steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct TimeSettings {
    /// Longest step, seconds. A frame takes as many equal steps as it needs. Shorter: livelier and slower.
    pub step: f64,
    /// A step in which a triangle's stretch changes by more than this share is tried again at half the length.
    pub stretch_change: f64,
    /// How often a step may be halved before it is taken as it is, and reported.
    pub halvings: u32,
    /// How often a step may be halved because contact could resolve it only by slowing cloth down. More: livelier cloth in
    /// violent contact, and more time.
    pub collision_halvings: u32,
}

impl Default for TimeSettings {
    fn default() -> Self {
        Self { step: 0.01, stretch_change: 0.5, halvings: 4, collision_halvings: 2 }
    }
}

/// How cloth moves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct DynamicsSettings {
    /// The model of cloth.
    pub model: ClothModel,
    /// How the implicit model steps through time.
    pub integration: Integration,
    /// How the linear systems of the implicit model are solved.
    pub solver: LinearSolver,
    /// Residual at which the linear solver stops, relative to the right-hand side. Smaller: stiffer cloth, more time.
    pub tolerance: f64,
    /// Iterations of the linear solver at most.
    pub iterations: u32,
    /// Newton iterations per implicit step. More: less error where cloth moves far in one step.
    pub newton: u32,
    /// Tension of sewing threads between sewn vertices, N/m.
    pub sewing: f64,
    /// Over how long threads are drawn in, seconds of the scene. Shorter: seams close faster and jerk.
    pub sewing_time: f64,
    /// Rounds of strain limiting after contact. More: less strain where bodies squeeze cloth. 0: none.
    pub strain_rounds: u32,
    /// What only the mass-spring model has.
    pub mass_spring: MassSpringSettings,
}

/// What only the mass-spring model has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct MassSpringSettings {
    /// The order of the half steps.
    pub newmark: Newmark,
    /// Springs too stiff for a step of this length, seconds, are softened, and strain limits hold them. Shorter: stiffer and
    /// slower. 0: true stiffness, and steps as short as it asks for.
    pub step: f64,
    /// Rounds of strain limiting. More: cloth that stretches less.
    pub strain_passes: u32,
    /// Largest change of a spring per step, as a share of its length.
    pub strain_rate: f64,
}

impl Default for MassSpringSettings {
    fn default() -> Self {
        Self { newmark: Newmark::Central, step: 0.001, strain_passes: 8, strain_rate: 0.1 }
    }
}

/// The order of the half steps of the mass-spring model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Newmark {
    /// Explicit half step, then an implicit one: second order.
    Central,
    /// Implicit half step, then an explicit one: no overshoot under strong damping; for steps of constant length.
    Monotone,
    /// Positions by an implicit half step, velocities by the central scheme: two solves, no overshoot, any step.
    VariableStep,
}

impl Default for DynamicsSettings {
    fn default() -> Self {
        Self {
            model: ClothModel::BaraffWitkin,
            integration: Integration::BackwardEuler,
            solver: LinearSolver::ConjugateGradients,
            tolerance: 1e-3,
            iterations: 300,
            newton: 1,
            sewing: 50.0,
            sewing_time: 1.0,
            strain_rounds: 2,
            mass_spring: MassSpringSettings::default(),
        }
    }
}

/// The model of cloth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClothModel {
    /// Stretch and shear per triangle, bend per edge, implicit.
    BaraffWitkin,
    /// Springs along edges and bending modes, explicit elasticity, strain limits.
    MassSpring,
}

/// How the linear systems of the implicit model are solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LinearSolver {
    /// By iterations, up to a tolerance.
    ConjugateGradients,
    /// By a sparse factorisation, to the last digits; on one thread, and with much more memory.
    Direct,
}

/// How the implicit model steps through time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Integration {
    /// First order, strongly damped, the most robust.
    BackwardEuler,
    /// Second order: folds live longer.
    Bdf2,
    /// No inertia: velocity is forgotten after every step, so cloth creeps to where forces balance.
    QuasiStatic,
}
