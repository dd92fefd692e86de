//! A level set on the desk: the volume, its undo, what the page sees of it, and the strokes that were made.
//!
//! The volume stays here; the page holds the blocks in its view. A block travels as positions in 16 bits on a lattice that
//! all blocks share, so that neighbours stay closed, and normals in two bytes. (Bridson 2003, 6.2)
//!
//! Guarantees: the recorded strokes replay to the same bits; a drag that is refused is taken back whole.

use crate::packet::Packet;
use rayon::prelude::*;
use std::path::Path;
use std::time::Instant;
use unsnarl_geometry::DVec3;
use unsnarl_io::mesh::{self, Format, MeshFile};
use unsnarl_io::stroke_file::{self, BrushRecord, EventRecord, Step, StrokeFile};
use unsnarl_io::{level_set_file, photo};
use unsnarl_volume::LevelSet;
use unsnarl_volume::grid::BlockCoordinates;
use unsnarl_volume::level_set::trace::{Lookout, TraceSettings, Tracer};
use unsnarl_volume::level_set::view_set::{Camera, Difference, Form, ViewRules, ViewSet};
use unsnarl_volume::level_set::{Drag, Extraction, History};

/// The most memory of a volume, bytes.
pub const MOST_MEMORY: usize = 6 << 30;

/// Blocks in a packet that answers a stroke or a camera.
const BLOCKS_PER_PACKET: usize = 3000;

/// A volume under the tool; see the module.
pub struct Sculpture {
    name: String,
    level_set: LevelSet,
    history: History,
    view: ViewSet,
    camera: Option<Camera>,
    drag: Option<Drag>,
    strokes: StrokeFile,
    /// The last message of strokes that was made, for the page to know its own.
    sequence: u32,
    stroke_milliseconds: f64,
}

impl Sculpture {
    /// Lays a volume out.
    pub fn new(name: String, level_set: LevelSet) -> Self {
        Self {
            name,
            level_set,
            history: History::new(History::CAP),
            view: ViewSet::new(ViewRules::default()),
            camera: None,
            drag: None,
            strokes: StrokeFile::default(),
            sequence: 0,
            stroke_milliseconds: 0.0,
        }
    }

    /// What the page needs to know of the whole.
    pub fn portrait(&self) -> Packet {
        let frame = self.level_set.frame();
        let width = self.level_set.grid().width().samples();
        let bounds = self.level_set.band_bounds();
        self.with_status(Packet::new("sculpture"))
            .field("name", &self.name)
            .field("spacing", frame.spacing)
            .field("origin", frame.origin.to_array())
            .field("block_width", width)
            .field("units", units(width))
            .field("bounds", bounds.map(|bounds| [bounds.min.to_array(), bounds.max.to_array()]))
    }

    fn with_status(&self, packet: Packet) -> Packet {
        let extent = self.level_set.band_bounds().map_or(0.0, |bounds| bounds.extent().max_element());
        packet
            .field("resolution", (extent / self.level_set.frame().spacing).round())
            .field("stored_blocks", self.level_set.grid().blocks().len())
            .field("bytes", self.level_set.memory_bytes())
            .field("undo_depth", self.history.depth())
            .field("undo_bytes", self.history.memory_bytes())
            .field("strokes", self.strokes.steps.len())
    }

    /// What changes from drag to drag: memory, undo.
    pub fn status(&self) -> Packet {
        self.with_status(Packet::new("sculpt-status")).field("sequence", self.sequence)
    }

    /// What takes a while to count: the volume, and the memory after refining.
    pub fn figures(&self) -> Packet {
        Packet::new("sculpt-figures")
            .field("volume", volume(&self.level_set))
            .field("bytes", self.level_set.memory_bytes())
            .field("refined_bytes", self.level_set.refined_bytes())
    }

    /// Puts the tool down.
    pub fn begin(&mut self, brush: BrushRecord, event: EventRecord) -> Result<(), String> {
        let start = Instant::now();
        self.drag = None;
        let begun = Drag::begin(brush.brush()?, event.event(), &mut self.level_set, &mut self.history);
        let (drag, changed) = begun.map_err(|error| error.to_string())?;
        self.strokes.steps.push(Step::Drag { brush, events: vec![event] });
        self.drag = Some(drag);
        self.view.touch(&self.level_set, &changed);
        self.note(start)
    }

    /// Moves the tool. Without one put down, nothing happens.
    pub fn follow(&mut self, events: &[EventRecord]) -> Result<(), String> {
        let start = Instant::now();
        let Some(drag) = &mut self.drag else { return Ok(()) };
        for event in events {
            match drag.follow(event.event(), &mut self.level_set, &mut self.history) {
                Ok(changed) => self.view.touch(&self.level_set, &changed),
                Err(error) => {
                    self.take_back();
                    return Err(error.to_string());
                }
            }
            if let Some(Step::Drag { events, .. }) = self.strokes.steps.last_mut() {
                events.push(*event);
            }
        }
        self.note(start)
    }

    /// Lifts the tool.
    pub fn lift(&mut self) {
        self.drag = None;
    }

    /// Says which message of strokes was the last.
    pub fn acknowledge(&mut self, sequence: u32) {
        self.sequence = sequence;
    }

    fn note(&mut self, start: Instant) -> Result<(), String> {
        self.stroke_milliseconds = 1e3 * start.elapsed().as_secs_f64();
        if self.level_set.memory_bytes() > MOST_MEMORY {
            self.take_back();
            return Err(format!("the volume would need more than {} GB", MOST_MEMORY >> 30));
        }
        Ok(())
    }

    /// Takes back a drag that was refused on its way.
    fn take_back(&mut self) {
        self.drag = None;
        self.strokes.steps.pop();
        let changed = self.history.discard(&mut self.level_set);
        self.view.touch(&self.level_set, &changed);
    }

    /// Takes back or makes again; says whether there was anything.
    pub fn undo(&mut self, step: &Step) -> bool {
        self.drag = None;
        let changed = match step {
            Step::Undo {} => self.history.undo(&mut self.level_set),
            _ => self.history.redo(&mut self.level_set),
        };
        let Some(changed) = changed else { return false };
        self.strokes.steps.push(step.clone());
        self.view.touch(&self.level_set, &changed);
        true
    }

    /// Halves the spacing.
    pub fn refine(&mut self) -> Result<(), String> {
        self.drag = None;
        stroke_file::refine(&mut self.level_set, MOST_MEMORY)?;
        self.history.clear();
        self.strokes.steps.push(Step::Refine {});
        self.view.clear();
        if let Some(camera) = self.camera {
            self.view.look(&self.level_set, camera);
        }
        Ok(())
    }

    /// Where a ray meets the surface, and the normal there.
    pub fn aim(&self, [ox, oy, oz, dx, dy, dz]: [f64; 6]) -> Packet {
        let point = self.level_set.aim_at(DVec3::new(ox, oy, oz), DVec3::new(dx, dy, dz));
        let normal = point.and_then(|point| self.level_set.normal(point)).unwrap_or(DVec3::Y);
        Packet::new("aim").field("point", point.map(|point| point.to_array())).field("normal", normal.to_array())
    }

    /// Looks from another place.
    pub fn look(&mut self, camera: Camera) {
        self.camera = Some(camera);
        self.view.look(&self.level_set, camera);
    }

    /// The next blocks for the page, if it has not been told all.
    pub fn next_packet(&mut self) -> Option<Packet> {
        if self.view.is_settled() {
            return None;
        }
        let difference = self.view.next(&self.level_set, BLOCKS_PER_PACKET);
        Some(self.encode_blocks(difference))
    }

    #[cfg(test)]
    pub fn is_large_or_empty(&self) -> bool {
        let count = self.level_set.grid().blocks().len();
        count == 0 || count > 20_000
    }

    /// Whether the page has been told all.
    pub fn is_settled(&self) -> bool {
        self.view.is_settled()
    }

    fn encode_blocks(&self, difference: Difference) -> Packet {
        let frame = self.level_set.frame();
        let width = self.level_set.grid().width();
        let scale = units(width.samples());
        let mut table = Vec::with_capacity(6 * difference.shown.len());
        let (mut positions, mut normals, mut indices) = (Vec::new(), Vec::new(), Vec::new());
        let mut radii = Vec::with_capacity(difference.shown.len());
        for shown in &difference.shown {
            let first = shown.block.map(|b| width.first_sample(b) - 1);
            let corner = frame.position(first);
            let small = shown.mesh.positions.len() <= usize::from(u16::MAX);
            let triangles = if small { shown.mesh.triangles.as_slice() } else { &[] };
            table.extend(shown.block.map(|c| c as u32));
            table.extend([form_number(shown.form), shown.mesh.positions.len() as u32, triangles.len() as u32]);
            radii.push(shown.radius as f32);
            for &position in &shown.mesh.positions {
                let at =
                    ((position - corner) / frame.spacing * scale).round().clamp(DVec3::ZERO, DVec3::splat(65_535.0));
                positions.extend(at.to_array().map(|c| c as u16).map(u16::to_le_bytes).as_flattened());
            }
            normals.extend(shown.mesh.normals.iter().flat_map(|&normal| octahedral(normal)));
            indices.extend(triangles.iter().flatten().flat_map(|&vertex| (vertex as u16).to_le_bytes()));
        }
        let gone = difference.gone.iter().flat_map(|block: &BlockCoordinates| block.map(|c| c as u32));
        Packet::new("blocks")
            .field("settled", self.view.is_settled())
            .field("sequence", self.sequence)
            .field("stroke_milliseconds", self.stroke_milliseconds)
            .field("undo_depth", self.history.depth())
            .indices("table", table)
            .indices("gone", gone)
            .reals("radii", radii)
            .bytes("positions", positions)
            .bytes("normals", normals)
            .bytes("indices", indices)
    }

    /// The volume, its surface, its strokes or a picture of it as the bytes of a file.
    pub fn encode(&mut self, path: &Path) -> Result<Vec<u8>, String> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("level") => Ok(level_set_file::encode(&self.level_set)),
            Some("json") => Ok(stroke_file::encode(&self.strokes).into_bytes()),
            Some("png") => self.picture(),
            _ => {
                let Some(format) = Format::for_output(path) else {
                    let kinds =
                        "expected .level, .obj, .ply, .stl, .off, .gltf, .glb, .usda, .png or .json for the strokes";
                    return Err(format!("{}: not a kind of file to save; {kinds}", path.display()));
                };
                let surface = self.level_set.to_mesh(Extraction::SurfaceNets);
                if surface.triangles.is_empty() {
                    return Err("the volume has no surface to save".to_owned());
                }
                Ok(mesh::encode(format, &MeshFile::new(surface, None)))
            }
        }
    }

    /// A ray-traced picture from where the page looks.
    fn picture(&mut self) -> Result<Vec<u8>, String> {
        let camera = self.camera.ok_or("nothing has been looked at yet")?;
        if self.level_set.far_field().is_none() {
            self.level_set.extend_far();
        }
        let lookout = Lookout {
            eye: camera.eye,
            at: camera.eye + camera.forward,
            up: camera.up,
            field_of_view: camera.field_of_view,
        };
        let size = camera.pixels.map(|side| side.clamp(16.0, 4096.0) as u32);
        let settings = TraceSettings { size, samples: 16, gloss: 0.02, ..TraceSettings::default() };
        let picture = Tracer::new(&self.level_set).picture(&lookout, &settings);
        let picture = picture.ok_or("the eye looks nowhere")?;
        photo::encode(&photo::develop(&picture, None)).map_err(|error| error.to_string())
    }
}

/// Steps of a vertex between two samples; the same for all blocks of a width, so that neighbours round alike.
fn units(width: usize) -> f64 {
    if width <= 14 { 4096.0 } else { 1024.0 }
}

fn form_number(form: Form) -> u32 {
    match form {
        Form::Splat => 0,
        Form::Cells => 1,
        Form::Triangles => 2,
    }
}

/// A direction in two bytes: the octahedron unfolded onto a square.
fn octahedral(normal: DVec3) -> [u8; 2] {
    let sum = normal.abs().element_sum();
    if !(sum > 0.0 && sum.is_finite()) {
        return [128, 255];
    }
    let DVec3 { x, y, z } = normal / sum;
    let sign = |c: f64| if c >= 0.0 { 1.0 } else { -1.0 };
    let (u, v) = if z >= 0.0 { (x, y) } else { ((1.0 - y.abs()) * sign(x), (1.0 - x.abs()) * sign(y)) };
    [u, v].map(|c| (127.5 + 127.5 * c).round().clamp(0.0, 255.0) as u8)
}

/// The volume within: every sample counts by how much of its cell lies inside, `1/2 - value / spacing` between 0 and 1.
fn volume(level_set: &LevelSet) -> f64 {
    let spacing = level_set.frame().spacing;
    let grid = level_set.grid();
    let per_sample = (1.0 / spacing) as f32;
    let in_block =
        |samples: &[f32]| samples.iter().map(|value| (0.5 - value * per_sample).clamp(0.0, 1.0)).sum::<f32>();
    // Sums of blocks are gathered in order, so that the figure does not depend on threads.
    let stored: Vec<f32> = grid.par_blocks().map(|(_, samples)| in_block(samples)).collect();
    let stored: f64 = stored.into_iter().map(f64::from).sum();
    (stored + (grid.inside_blocks().len() * grid.width().volume()) as f64) * spacing.powi(3)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use unsnarl_geometry::Aabb;
    use unsnarl_io::stroke_file::AimRecord;
    use unsnarl_volume::{BlockWidth, Frame};

    fn ball() -> LevelSet {
        let frame = Frame { origin: DVec3::ZERO, spacing: 0.04 };
        let bounds = Aabb { min: DVec3::splat(-1.3), max: DVec3::splat(1.3) };
        LevelSet::from_distance(|p| p.length() - 1.0, bounds, frame, BlockWidth::DEFAULT, 0.12)
    }

    fn event(time: f64, x: f64) -> EventRecord {
        EventRecord { time, pressure: 1.0, aim: AimRecord::Ray([x, 0.0, 3.0, 0.0, 0.0, -1.0]) }
    }

    fn brush(text: &str) -> BrushRecord {
        serde_json::from_str(text).unwrap()
    }

    fn camera() -> Camera {
        let (eye, forward, up) = (DVec3::new(0.0, 0.0, 3.0), -DVec3::Z, DVec3::Y);
        Camera { eye, forward, up, field_of_view: 0.7, pixels: [640.0, 480.0] }
    }

    #[test]
    fn the_volume_of_a_ball_is_that_of_a_ball() {
        let exact = 4.0 / 3.0 * std::f64::consts::PI;
        assert!((volume(&ball()) / exact - 1.0).abs() < 1e-3, "{}", volume(&ball()) / exact);
    }

    #[test]
    fn directions_in_two_bytes_are_within_a_degree() {
        for number in 0..500 {
            let (a, b) = (f64::from(number) * 0.7, f64::from(number) * 0.31);
            let normal = DVec3::new(a.cos() * b.sin(), a.sin() * b.sin(), b.cos());
            let [u, v] = octahedral(normal).map(|c| f64::from(c) / 127.5 - 1.0);
            let mut back = DVec3::new(u, v, 1.0 - u.abs() - v.abs());
            if back.z < 0.0 {
                let sign = |c: f64| if c >= 0.0 { 1.0 } else { -1.0 };
                (back.x, back.y) = ((1.0 - v.abs()) * sign(u), (1.0 - u.abs()) * sign(v));
            }
            assert!(back.normalize().dot(normal) > 0.9998, "{normal}");
        }
    }

    #[test]
    fn recorded_strokes_replay_to_the_same_bits_and_a_refused_drag_leaves_nothing() {
        let mut sculpture = Sculpture::new("ball".to_owned(), ball());
        sculpture.look(camera());
        while sculpture.next_packet().is_some() {}
        let raise = brush(r#"{"tool":"raise","radius":0.3,"strength":0.5,"mirror":{"axis":"x","at":0}}"#);
        sculpture.begin(raise.clone(), event(0.0, 0.1)).unwrap();
        sculpture.follow(&[event(0.1, 0.2), event(0.2, 0.35)]).unwrap();
        sculpture.lift();
        assert!(sculpture.undo(&Step::Undo {}) && sculpture.undo(&Step::Redo {}));
        sculpture.begin(brush(r#"{"tool":"smooth","radius":0.3,"strength":0.2}"#), event(0.0, 0.1)).unwrap();
        let before = level_set_file::encode(&sculpture.level_set);
        let depth = sculpture.history.depth();
        sculpture.begin(raise.clone(), event(0.0, 0.1)).unwrap();
        assert!(sculpture.follow(&[event(0.1, 0.2), event(0.2, f64::NAN)]).is_err());
        assert!(sculpture.begin(BrushRecord { radius: f64::NAN, ..raise.clone() }, event(0.0, 0.1)).is_err());
        assert!(sculpture.begin(BrushRecord { radius: 1e300, ..raise }, event(0.0, 0.1)).is_err());
        assert_eq!(level_set_file::encode(&sculpture.level_set), before);
        assert_eq!(sculpture.history.depth()[0], depth[0]);
        let text = String::from_utf8(sculpture.encode(Path::new("a.json")).unwrap()).unwrap();
        let file = stroke_file::parse(&text, "a.json").unwrap();
        let mut again = ball();
        stroke_file::replay(&file, "a.json", Path::new("."), &mut again, MOST_MEMORY).unwrap();
        assert_eq!(level_set_file::encode(&again), before);
    }

    #[test]
    fn a_stroke_tells_a_small_part_of_what_is_seen() {
        let mut sculpture = Sculpture::new("ball".to_owned(), ball());
        sculpture.look(camera());
        let mut whole = 0;
        while let Some(packet) = sculpture.next_packet() {
            whole += packet.encode().len();
        }
        sculpture.begin(brush(r#"{"tool":"raise","radius":0.1,"strength":0.5}"#), event(0.0, 0.1)).unwrap();
        let mut told = 0;
        while let Some(packet) = sculpture.next_packet() {
            told += packet.encode().len();
        }
        // A few blocks of a coarse ball; `tests/studio/sculpt_bars` measures fine ones.
        assert!(told > 500 && told * 6 < whole, "{told} of {whole}");
    }
}
