//! The scene file as it is written: TOML tables, one struct each. The published JSON schema is derived from these.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use unsnarl::contact::ContactSettings;
use unsnarl::dress::DressSettings;
use unsnarl::rigid;
use unsnarl::settings::{CouplingSettings, DynamicsSettings, TimeSettings, UntangleSettings};

/// A scene: cloth, bodies, forces and how long to simulate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SceneFile {
    /// Time and forces.
    #[serde(default)]
    pub scene: SceneTable,
    /// Pieces of cloth.
    #[serde(default)]
    pub cloth: Vec<ClothTable>,
    /// Obstacles.
    #[serde(default)]
    pub body: Vec<BodyTable>,
    /// Rigid bodies that move by themselves.
    #[serde(default)]
    pub rigid: Vec<RigidTable>,
    /// Fabrics by name, besides the presets.
    #[serde(default)]
    pub fabric: BTreeMap<String, FabricTable>,
    /// How cloth keeps apart.
    #[serde(default)]
    pub collision: ContactSettings,
    /// What is done about cloth that crosses.
    #[serde(default)]
    pub untangle: UntangleSettings,
    /// Settings of the engine.
    #[serde(default)]
    pub settings: SettingsTable,
    /// What is written besides the simulated frames.
    #[serde(default)]
    pub output: OutputTable,
    /// How `unsnarl dress` puts garments in order; a simulation does not look at it.
    #[serde(default)]
    pub dress: DressSettings,
}

/// What is written besides the simulated frames.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct OutputTable {
    /// Levels of subdivision that does not intersect: every frame is refined as it is written, into the folder `refined` of the cache. 0: none.
    #[schemars(range(max = 6))]
    pub refine: u32,
}

/// Settings of time, dynamics and rigid bodies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct SettingsTable {
    /// How time is cut into steps.
    pub time: TimeSettings,
    /// How cloth moves.
    pub dynamics: DynamicsSettings,
    /// How rigid bodies move and touch.
    pub rigid: rigid::Settings,
    /// How cloth and rigid bodies agree on what they give each other.
    pub coupling: CouplingSettings,
}

/// Time and forces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct SceneTable {
    /// What the scene shows, for people.
    pub title: String,
    /// The last frame; frame 0 is the start.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub frames: u32,
    /// Frames per second.
    #[schemars(range(min = 1.0, max = 10_000.0))]
    pub frame_rate: f64,
    /// Acceleration of free fall, m/s².
    pub gravity: [f64; 3],
    /// Density of the air, kg/m³; 0 switches drag, lift and wind off.
    #[schemars(range(min = 0.0))]
    pub air_density: f64,
    /// The moving air.
    pub wind: WindTable,
}

impl Default for SceneTable {
    fn default() -> Self {
        Self {
            title: String::new(),
            frames: 48,
            frame_rate: 24.0,
            gravity: [0.0, -9.81, 0.0],
            air_density: 1.2,
            wind: WindTable::default(),
        }
    }
}

/// Wind with gusts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct WindTable {
    /// Mean velocity, m/s.
    pub velocity: [f64; 3],
    /// How much of the mean speed the gusts add and take away.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub gusts: f64,
    /// Length of the slowest gust, seconds.
    #[schemars(range(min = 0.001))]
    pub gust_period: f64,
}

impl Default for WindTable {
    fn default() -> Self {
        Self { velocity: [0.0; 3], gusts: 0.0, gust_period: 2.0 }
    }
}

/// A piece of cloth: exactly one of `mesh`, `sheet`, `disc` and `pattern`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ClothTable {
    /// What reports call it.
    pub name: Option<String>,
    /// A mesh file, relative to the scene file.
    pub mesh: Option<String>,
    /// Length unit of the mesh file: mm, cm, dm or m.
    pub units: Option<String>,
    /// A plain sheet.
    pub sheet: Option<SheetTable>,
    /// A plain disc.
    pub disc: Option<DiscTable>,
    /// A sewing pattern.
    pub pattern: Option<PatternTable>,
    /// A fabric of this file or a preset.
    pub fabric: Option<String>,
    /// Where to move it, metres.
    pub position: [f64; 3],
    /// Turns about x, then y, then z, degrees; before it is moved.
    pub rotation: [f64; 3],
    /// Where the bends at rest come from.
    pub rest_angles: RestAnglesChoice,
    /// More of the same.
    pub copies: Option<ClothCopiesTable>,
    /// Vertices that are held or led.
    pub pin: Vec<PinTable>,
    /// Whether `stitch` lines and sewing edges of the mesh pull together.
    pub sewing: SewingChoice,
    /// Vertices that follow bodies which pinch them with weights of their own.
    pub flypaper: Vec<ClothFlypaperTable>,
    /// For `unsnarl dress`: its place in the order, from the inside out; by default the sidecar's.
    pub layer: Option<i32>,
    /// For `unsnarl dress`: how much it resists, beside the others; by default the root of its fabric's bending stiffness over cotton's, 0.1 to 10.
    #[schemars(range(min = 0.0))]
    pub weight: Option<f64>,
    /// For `unsnarl dress`: its thickness, metres; by default its fabric's, but at least 1 mm.
    #[schemars(range(min = 0.0))]
    pub thickness: Option<f64>,
    /// For `unsnarl dress`: whether the other side of its triangles is out.
    pub flip: bool,
}

/// Vertices of cloth, those listed and those in the box, and how much they follow each body while pinched.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ClothFlypaperTable {
    /// Vertices of the piece, from 0.
    pub vertices: Vec<u32>,
    /// Two corners of a box in the world; vertices inside at the start are taken.
    #[serde(rename = "box")]
    pub region: Option<[[f64; 3]; 2]>,
    /// The weight of a body, by its name; bodies that are not named keep their own.
    pub weights: BTreeMap<String, f64>,
}

/// Vertices of a body, those listed and those in the box, and how much cloth follows them while pinched.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct BodyFlypaperTable {
    /// Vertices of the body, from 0.
    pub vertices: Vec<u32>,
    /// Two corners of a box in the world; vertices inside at the start are taken.
    #[serde(rename = "box")]
    pub region: Option<[[f64; 3]; 2]>,
    /// Their weight, instead of the body's.
    #[schemars(range(min = 0.0))]
    pub weight: f64,
}

/// Copies of a piece of cloth, in a row; the first is where the piece is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ClothCopiesTable {
    /// How many, with the first.
    #[schemars(range(min = 1, max = 10_000))]
    pub count: u32,
    /// From one to the next, metres.
    #[serde(default)]
    pub step: [f64; 3],
    /// By how much each is turned about the world's origin beyond the one before, about x, then y, then z, degrees; after it
    /// has its place, and before the step.
    #[serde(default)]
    pub turn: [f64; 3],
    /// Each is held this much longer than the one before, seconds; the first is not held.
    #[serde(default)]
    #[schemars(range(min = 0.0))]
    pub release_step: f64,
}

/// A rectangular sheet in its own x-y plane, centred on the origin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SheetTable {
    /// Width (warp) and height, metres.
    pub size: [f64; 2],
    /// Squares across and up.
    pub cells: [u32; 2],
    /// How squares are cut.
    #[serde(default)]
    pub diagonals: DiagonalsChoice,
}

/// A sewing pattern, triangulated, its panels where the file places them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PatternTable {
    /// A GarmentCode JSON file, relative to the scene file.
    pub file: String,
    /// Length of the triangles' edges, metres.
    #[serde(default = "usual_edge_length")]
    pub edge_length: f64,
}

fn usual_edge_length() -> f64 {
    0.02
}

/// A round sheet in its own x-y plane.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DiscTable {
    /// Metres.
    pub radius: f64,
    /// Rings of triangles.
    pub rings: u32,
}

/// How squares are cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DiagonalsChoice {
    /// The diagonal changes from square to square.
    #[default]
    Alternating,
    /// The same diagonal everywhere.
    OneWay,
    /// Equilateral triangles; the second number of cells is ignored.
    Equilateral,
}

/// Where the bends at rest come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RestAnglesChoice {
    /// Flat, but for creases.
    #[default]
    Flat,
    /// As the mesh is bent.
    AsLoaded,
}

/// Whether seams of the mesh are sewn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SewingChoice {
    /// Stitches and sewing edges of the mesh pull together.
    #[default]
    On,
    /// They are ignored.
    Off,
}

/// Vertices that are held or led: those listed, and those in the box.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PinTable {
    /// Vertices of the piece, from 0.
    pub vertices: Vec<u32>,
    /// Two corners of a box in the world; vertices inside at the start are taken.
    #[serde(rename = "box")]
    pub region: Option<[[f64; 3]; 2]>,
    /// A motion from where they are.
    pub keys: Vec<KeyTable>,
    /// After this many seconds they are let go.
    pub release: Option<f64>,
}

/// A place at a time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct KeyTable {
    /// Seconds.
    pub time: f64,
    /// Metres.
    pub position: [f64; 3],
    /// Turns about x, then y, then z, degrees.
    pub rotation: [f64; 3],
}

/// An obstacle: exactly one of `plane`, `sphere`, `box`, `capsule`, `cylinder`, `mesh` and `sequence`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct BodyTable {
    /// What reports call it.
    pub name: Option<String>,
    /// Everything below its own y = 0.
    pub plane: Option<PlaneTable>,
    /// A ball.
    pub sphere: Option<SphereTable>,
    /// A box.
    #[serde(rename = "box")]
    pub cuboid: Option<BoxTable>,
    /// A round rod along its own y.
    pub capsule: Option<RodTable>,
    /// A cylinder along its own y with flat ends.
    pub cylinder: Option<RodTable>,
    /// A mesh file, relative to the scene file; open or closed.
    pub mesh: Option<String>,
    /// A clip of animation of the mesh file, which must be a glTF character.
    pub clip: Option<String>,
    /// When the clip begins, seconds of the scene.
    pub clip_start: f64,
    /// How fast it plays.
    pub clip_speed: f64,
    /// A mesh file per frame.
    pub sequence: Option<SequenceTable>,
    /// Length unit of the mesh files: mm, cm, dm or m.
    pub units: Option<String>,
    /// How cloth feels a mesh: by its triangles, or by a level set of its inside as well.
    pub collide: CollideChoice,
    /// Distance between the samples of the level set, metres; by default the longest side of the mesh over 160.
    #[schemars(range(min = 0.0))]
    pub spacing: Option<f64>,
    /// Distance that a mesh asks for, metres; cloth keeps the mean of this and its own thickness.
    #[schemars(range(min = 0.0))]
    pub thickness: f64,
    /// Where it is.
    pub position: [f64; 3],
    /// Turns about x, then y, then z, degrees.
    pub rotation: [f64; 3],
    /// Where it goes; goes before `position` and `rotation`.
    pub keys: Vec<KeyTable>,
    /// Coulomb friction.
    #[schemars(range(min = 0.0))]
    pub friction: f64,
    /// For rigid bodies: speed after a collision as a share of that before; of a pair, the smaller counts.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub restitution: f64,
    /// How much cloth that is pinched between this and another surface follows this one; shares count, not sizes.
    #[schemars(range(min = 0.0))]
    pub flypaper_weight: f64,
    /// Parts of the body with a weight of their own.
    pub flypaper: Vec<BodyFlypaperTable>,
}

impl Default for BodyTable {
    fn default() -> Self {
        Self {
            name: None,
            plane: None,
            sphere: None,
            cuboid: None,
            capsule: None,
            cylinder: None,
            mesh: None,
            clip: None,
            clip_start: 0.0,
            clip_speed: 1.0,
            sequence: None,
            units: None,
            collide: CollideChoice::default(),
            spacing: None,
            thickness: 0.001,
            position: [0.0; 3],
            rotation: [0.0; 3],
            keys: Vec::new(),
            friction: 0.5,
            restitution: 1.0,
            flypaper_weight: 1.0,
            flypaper: Vec::new(),
        }
    }
}

/// How cloth feels a mesh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CollideChoice {
    /// By its triangles alone: for thin and open meshes.
    #[default]
    Triangles,
    /// Vertices are first kept out of the inside by its distance; then the triangles prove the step. For closed meshes.
    LevelSet,
}

/// Mesh files that follow each other, all with the same triangles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SequenceTable {
    /// Their names, relative to the scene file, with `{}` for the number.
    pub files: String,
    /// The first number.
    pub first: u32,
    /// The last number.
    pub last: u32,
    /// Files per second.
    pub frame_rate: f64,
    /// When the first one is reached, seconds of the scene.
    #[serde(default)]
    pub start: f64,
}

/// A half space has no numbers of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlaneTable {}

/// A ball.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SphereTable {
    /// Metres.
    pub radius: f64,
}

/// A box.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoxTable {
    /// Its sides, metres.
    pub size: [f64; 3],
}

/// A rod.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RodTable {
    /// Metres.
    pub radius: f64,
    /// Height of a cylinder; distance of the centres of the ends of a capsule. Metres.
    pub height: f64,
}

/// Rigid bodies of one shape: exactly one of `sphere`, `box`, `capsule`, `cylinder`, `ring` and `mesh`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct RigidTable {
    /// What reports call it; copies get a number behind it.
    pub name: Option<String>,
    /// A ball.
    pub sphere: Option<SphereTable>,
    /// A box.
    #[serde(rename = "box")]
    pub cuboid: Option<BoxTable>,
    /// A round rod along its own y.
    pub capsule: Option<RodTable>,
    /// A cylinder along its own y with flat ends.
    pub cylinder: Option<RodTable>,
    /// A ring around its own y.
    pub ring: Option<RingTable>,
    /// A closed mesh, relative to the scene file.
    pub mesh: Option<String>,
    /// Length unit of the mesh file: mm, cm, dm or m.
    pub units: Option<String>,
    /// Distance between the samples of the level set of a mesh, metres; by default a small part of its size.
    #[schemars(range(min = 0.0))]
    pub spacing: Option<f64>,
    /// Mass per volume, kg/m³; 1000 unless `mass` is given.
    #[schemars(range(min = 0.0))]
    pub density: Option<f64>,
    /// Mass of each body, kg, instead of a density.
    #[schemars(range(min = 0.0))]
    pub mass: Option<f64>,
    /// Speed after a collision as a share of that before; of a pair, the smaller counts.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub restitution: f64,
    /// Coulomb friction; between rigid bodies the larger of a pair counts, against cloth the mean.
    #[schemars(range(min = 0.0))]
    pub friction: f64,
    /// Rolling friction: a length, metres.
    #[schemars(range(min = 0.0))]
    pub rolling: f64,
    /// Spinning friction: a length, metres.
    #[schemars(range(min = 0.0))]
    pub spinning: f64,
    /// Distance that its surface asks of cloth, metres; cloth keeps the mean of this and its own thickness.
    #[schemars(range(min = 0.0))]
    pub thickness: f64,
    /// Where its own origin is at the start, metres.
    pub position: [f64; 3],
    /// Turns about x, then y, then z, degrees.
    pub rotation: [f64; 3],
    /// Velocity of the centre of mass at the start, m/s.
    pub velocity: [f64; 3],
    /// Angular velocity at the start, rad/s.
    pub spin: [f64; 3],
    /// More of the same.
    pub copies: Option<CopiesTable>,
}

impl Default for RigidTable {
    fn default() -> Self {
        Self {
            name: None,
            sphere: None,
            cuboid: None,
            capsule: None,
            cylinder: None,
            ring: None,
            mesh: None,
            units: None,
            spacing: None,
            density: None,
            mass: None,
            restitution: 0.0,
            friction: 0.5,
            rolling: 0.0,
            spinning: 0.0,
            thickness: 0.001,
            position: [0.0; 3],
            rotation: [0.0; 3],
            velocity: [0.0; 3],
            spin: [0.0; 3],
            copies: None,
        }
    }
}

/// A ring: a torus.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RingTable {
    /// From its centre to the middle of the tube, metres.
    pub radius: f64,
    /// Radius of the tube, metres; less than the ring's.
    pub tube: f64,
}

/// Copies on a grid, or around the vertical through the origin.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CopiesTable {
    /// How many along x, y and z.
    pub count: [u32; 3],
    /// From one to the next along x, y and z, metres.
    #[serde(default)]
    pub spacing: [f64; 3],
    /// By how much each is turned about the world's y axis beyond the one before, degrees; after it is moved.
    #[serde(default)]
    pub turn: f64,
}

/// A fabric: a preset to start from, and numbers to change. See `docs/dynamics.md` for what they mean.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct FabricTable {
    /// A preset; cotton unless given.
    pub like: Option<String>,
    /// Mass per area, kg/m².
    pub density: Option<f64>,
    /// Mass per area, g/m².
    pub grams_per_square_metre: Option<f64>,
    /// Tension per strain along warp, N/m.
    pub stretch_warp: Option<f64>,
    /// Tension per strain along weft, N/m.
    pub stretch_weft: Option<f64>,
    /// Resistance to shear, N/m.
    pub shear: Option<f64>,
    /// Flexural rigidity, N·m.
    pub bend: Option<f64>,
    /// Damping of stretch, seconds.
    pub stretch_damping: Option<f64>,
    /// Damping of bending, seconds.
    pub bend_damping: Option<f64>,
    /// Metres.
    pub thickness: Option<f64>,
    /// Coulomb friction.
    pub friction: Option<f64>,
    /// Largest extension that strain limiting allows.
    pub stretch_limit: Option<f64>,
    /// Largest compression that strain limiting allows.
    pub compression_limit: Option<f64>,
}
