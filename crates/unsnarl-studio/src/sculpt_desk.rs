//! The sculpting side of a desk: opens volumes, obeys the commands that concern them, tells blocks.
//!
//! Guarantees: whatever the page sends, the volume stays usable; numbers that make no sense are refused in one line.

use crate::command::Command;
use crate::folder::Folder;
use crate::packet::Packet;
use crate::sculpture::{MOST_MEMORY, Sculpture};
use std::path::Path;
use unsnarl_geometry::DVec3;
use unsnarl_io::level_set_file;
use unsnarl_io::mesh::{self, Format, ReadOptions};
use unsnarl_io::stroke_file::Step;
use unsnarl_volume::LevelSet;
use unsnarl_volume::level_set::view_set::Camera;
use unsnarl_volume::level_set::{Beyond, MeshSettings};

/// Samples across the longest side of a mesh, unless asked otherwise.
const RESOLUTION: u32 = 256;

/// The most pointer events of one message.
const MOST_EVENTS: usize = 512;

/// Whether a file is a level set by its name.
pub fn is_volume(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("level"))
}

/// The volume that lies on the desk, if one does.
#[derive(Default)]
pub struct SculptDesk {
    sculpture: Option<Box<Sculpture>>,
    /// A view that has not been looked at yet; a newer one takes its place.
    camera: Option<Camera>,
}

impl SculptDesk {
    /// Whether a volume is open.
    pub fn is_open(&self) -> bool {
        self.sculpture.is_some()
    }

    /// Whether a command concerns the volume.
    pub fn takes(&self, command: &Command) -> bool {
        match command {
            Command::Stroke { .. } | Command::Aim { .. } | Command::Camera { .. } => true,
            Command::Refine {} | Command::Figures {} => true,
            Command::Undo {} | Command::Redo {} => self.is_open(),
            _ => false,
        }
    }

    /// Opens a level set or a closed mesh of the folder.
    pub fn open(&mut self, folder: &Folder, path: &str, resolution: Option<u32>) -> Result<Option<Packet>, String> {
        let bytes = folder.read(path).map_err(|error| error.to_string())?;
        if is_volume(path) {
            return self.open_bytes(path, bytes);
        }
        let resolution = resolution.unwrap_or(RESOLUTION);
        if !(8..=4096).contains(&resolution) {
            return Err(format!("a resolution of {resolution}: expected 8 to 4096 samples across"));
        }
        let Some(format) = Format::from_path(Path::new(path)) else {
            return Err(format!("{path}: not a kind of file to sculpt; expected .level or a closed mesh"));
        };
        let file = mesh::read_bytes(format, path, bytes, &ReadOptions::default()).map_err(|error| error.to_string())?;
        let mut settings = MeshSettings::with_resolution(&file.mesh, resolution);
        settings.beyond = Beyond::Side;
        settings.memory_limit = MOST_MEMORY as u64;
        let level_set = LevelSet::from_mesh(&file.mesh, &settings).map_err(|error| format!("{path}: {error}"))?;
        self.lay_out(path, level_set)
    }

    /// Opens an uploaded level set.
    pub fn open_bytes(&mut self, name: &str, bytes: Vec<u8>) -> Result<Option<Packet>, String> {
        let level_set = level_set_file::read_bytes(&bytes, name).map_err(|error| error.to_string())?;
        self.lay_out(name, level_set)
    }

    fn lay_out(&mut self, name: &str, level_set: LevelSet) -> Result<Option<Packet>, String> {
        if level_set.grid().blocks().is_empty() {
            return Err(format!("{name}: there is no surface to sculpt"));
        }
        let sculpture = Sculpture::new(name.to_owned(), level_set);
        let packet = sculpture.portrait();
        *self = Self { sculpture: Some(Box::new(sculpture)), camera: None };
        Ok(Some(packet))
    }

    /// Does what the page asks of the volume.
    pub fn obey(&mut self, command: Command) -> Result<Option<Packet>, String> {
        let Some(sculpture) = &mut self.sculpture else {
            return Err("no volume is open: open a level set first".to_owned());
        };
        match command {
            Command::Camera { eye, forward, up, field_of_view, pixels } => {
                self.camera = Some(camera(eye, forward, up, field_of_view, pixels)?);
                Ok(None)
            }
            Command::Aim { ray } => Ok(Some(sculpture.aim(ray))),
            Command::Stroke { brush, events, lift, sequence } => {
                if events.len() > MOST_EVENTS {
                    return Err(format!("{} pointer events in one message; at most {MOST_EVENTS}", events.len()));
                }
                let mut rest = events.as_slice();
                if let Some(brush) = brush {
                    let Some((first, after)) = rest.split_first() else {
                        return Err("a tool put down nowhere".to_owned());
                    };
                    sculpture.begin(brush, *first)?;
                    rest = after;
                }
                sculpture.follow(rest)?;
                sculpture.acknowledge(sequence);
                if lift {
                    sculpture.lift();
                    return Ok(Some(sculpture.status()));
                }
                Ok(None)
            }
            Command::Undo {} | Command::Redo {} => {
                let step = if command == (Command::Undo {}) { Step::Undo {} } else { Step::Redo {} };
                if !sculpture.undo(&step) {
                    return Err("there is nothing more to take back or make again".to_owned());
                }
                Ok(Some(sculpture.status()))
            }
            Command::Figures {} => Ok(Some(sculpture.figures())),
            Command::Refine {} => {
                sculpture.refine()?;
                Ok(Some(sculpture.portrait()))
            }
            _ => Ok(None),
        }
    }

    /// Whether the page has been told everything.
    pub fn is_settled(&self) -> bool {
        self.camera.is_none() && self.sculpture.as_ref().is_none_or(|sculpture| sculpture.is_settled())
    }

    /// The next blocks for the page.
    pub fn next_packet(&mut self) -> Option<Packet> {
        let sculpture = self.sculpture.as_mut()?;
        if let Some(camera) = self.camera.take() {
            sculpture.look(camera);
        }
        sculpture.next_packet()
    }

    /// The volume as the bytes of a file, if one is open.
    pub fn encode(&mut self, path: &Path) -> Option<Result<Vec<u8>, String>> {
        self.sculpture.as_mut().map(|sculpture| sculpture.encode(path))
    }
}

fn camera(eye: [f64; 3], forward: [f64; 3], up: [f64; 3], angle: f64, pixels: [f64; 2]) -> Result<Camera, String> {
    let [eye, forward, up] = [eye, forward, up].map(DVec3::from_array);
    let sizes = pixels.iter().all(|side| (1.0..=16_384.0).contains(side)) && (0.001..=3.1).contains(&angle);
    let forward = forward.try_normalize();
    let up = forward.and_then(|forward| (up - up.dot(forward) * forward).try_normalize());
    match (forward, up) {
        (Some(forward), Some(up)) if sizes && eye.is_finite() => {
            Ok(Camera { eye, forward, up, field_of_view: angle, pixels })
        }
        _ => Err("a camera that looks nowhere".to_owned()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::command::Message;
    use unsnarl_geometry::Aabb;
    use unsnarl_volume::{BlockWidth, Frame};

    fn ball() -> LevelSet {
        let frame = Frame { origin: DVec3::ZERO, spacing: 0.1 };
        let bounds = Aabb { min: DVec3::splat(-1.4), max: DVec3::splat(1.4) };
        LevelSet::from_distance(|p| p.length() - 1.0, bounds, frame, BlockWidth::DEFAULT, 0.3)
    }

    struct Random(u64);

    impl Random {
        fn next(&mut self, below: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % below
        }

        /// A number as a page or an enemy might send it.
        fn number(&mut self) -> String {
            match self.next(12) {
                0 => "1e308".to_owned(),
                1 => "-1e300".to_owned(),
                2 => "0".to_owned(),
                3 => "1e-300".to_owned(),
                4 => "null".to_owned(),
                5 => "1e12".to_owned(),
                _ => format!("{}", self.next(4000) as f64 / 1000.0 - 2.0),
            }
        }

        fn numbers(&mut self, count: usize) -> String {
            let numbers: Vec<String> = (0..count).map(|_| self.number()).collect();
            format!("[{}]", numbers.join(","))
        }

        fn message(&mut self) -> String {
            match self.next(10) {
                0 => {
                    let [eye, forward, up, pixels] = [3, 3, 3, 2].map(|count| self.numbers(count));
                    let angle = self.number();
                    format!(
                        r#"{{"do":"camera","eye":{eye},"forward":{forward},"up":{up},"field_of_view":{angle},"pixels":{pixels}}}"#
                    )
                }
                1 => format!(r#"{{"do":"aim","ray":{}}}"#, self.numbers(6)),
                2 => r#"{"do":"undo"}"#.to_owned(),
                3 => r#"{"do":"redo"}"#.to_owned(),
                4 if self.next(50) == 0 => r#"{"do":"refine"}"#.to_owned(),
                5 => format!(r#"{{"do":"stroke","events":[{}],"sequence":{}}}"#, self.event(), self.number()),
                _ => {
                    let tools = ["raise", "lower", "smooth", "roughen", "flatten", "pull", "stamp"];
                    let tool = tools[self.next(7) as usize];
                    let radius = if self.next(3) > 0 { format!("0.{}", 1 + self.next(7)) } else { self.number() };
                    let strength = self.number();
                    let events: Vec<String> = (0..self.next(4)).map(|_| self.event()).collect();
                    let mirror = match self.next(3) {
                        0 => format!(r#","mirror":{{"axis":"x","at":{}}}"#, self.number()),
                        _ => String::new(),
                    };
                    format!(
                        r#"{{"do":"stroke","brush":{{"tool":"{tool}","radius":{radius},"strength":{strength}{mirror}}},"events":[{}],"lift":{},"sequence":7}}"#,
                        events.join(","),
                        self.next(2) == 0
                    )
                }
            }
        }

        fn event(&mut self) -> String {
            let time = if self.next(2) == 0 { format!("0.{}", self.next(9)) } else { self.number() };
            match self.next(3) {
                0 => format!(r#"{{"time":{time},"point":{}}}"#, self.numbers(3)),
                1 => format!(r#"{{"time":{time},"pressure":{},"ray":{}}}"#, self.number(), self.numbers(6)),
                _ => {
                    let x = self.next(2000) as f64 / 1000.0 - 1.0;
                    format!(r#"{{"time":{time},"ray":[{x},0.1,3,0,0,-1]}}"#)
                }
            }
        }
    }

    /// `UNSNARL_MESSAGES` sets how many; the default keeps the test short.
    #[test]
    fn random_messages_are_obeyed_or_refused_in_one_line() {
        let count = std::env::var("UNSNARL_MESSAGES").ok().and_then(|text| text.parse().ok()).unwrap_or(3000);
        let mut desk = SculptDesk::default();
        desk.lay_out("ball", ball()).unwrap();
        let mut random = Random(5);
        let (mut obeyed, mut refused) = (0, 0);
        for number in 0..count {
            let text = random.message();
            match Message::from_text(&text) {
                Message::Command(command) => match desk.obey(command) {
                    Ok(_) => obeyed += 1,
                    Err(line) => {
                        assert!(!line.contains('\n') && line.len() < 300, "{text}: {line}");
                        refused += 1;
                    }
                },
                Message::Malformed(_) => refused += 1,
                Message::Upload { .. } => unreachable!("a text is no upload"),
            }
            while !desk.is_settled() {
                desk.next_packet();
            }
            let sculpture = desk.sculpture.as_ref().unwrap();
            // A body that was cut away whole, or has grown large, makes place for a new one.
            if sculpture.is_large_or_empty() || number % 500 == 499 {
                desk.lay_out("ball", ball()).unwrap();
            }
        }
        println!("{obeyed} obeyed, {refused} refused");
        assert!(obeyed > count / 10 && refused > count / 10, "{obeyed} and {refused}");
    }

    #[test]
    fn without_a_volume_everything_is_refused() {
        let mut desk = SculptDesk::default();
        assert!(desk.obey(Command::Refine {}).is_err());
        assert!(desk.is_settled() && desk.next_packet().is_none() && desk.encode(Path::new("a.level")).is_none());
        assert!(desk.open_bytes("a.level", b"nothing".to_vec()).is_err());
    }
}
