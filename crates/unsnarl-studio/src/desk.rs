//! The desk: what one tab works on, and the loop that listens to the page and steps the engine.
//!
//! While something runs, commands are taken between steps; otherwise the thread sleeps until one comes. Frames that the
//! page has no time for are left out, but never the last one.

use crate::command::{Command, Message};
use crate::folder::{Folder, PathError};
use crate::log::Log;
use crate::opening::{self, OpenError, Opened, Opening};
use crate::packet::Packet;
use crate::playback::{Playback, PlayedFrame};
use crate::portrait;
use crate::sculpt_desk::{SculptDesk, is_volume};
use crate::workpiece::{Advance, Pin, Workpiece};
use serde_json::json;
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::mpsc::{Receiver, Sender};
use unsnarl::fix::{FixMethod, FixSettings, FoldStyle, VertexSettings};
use unsnarl::samples;
use unsnarl_geometry::DVec3;
use unsnarl_io::mesh::{self, Format, MeshFile};

/// Frames closer than this are not sent.
const SHORTEST_BREAK: Duration = Duration::from_millis(4);

/// The methods that the page offers, with their names for people.
const METHODS: [(FixMethod, &str); 8] = [
    (FixMethod::Auto, "Automatic"),
    (FixMethod::Blir, "Edge shortening, tearing, flips (BLIR)"),
    (FixMethod::Esef, "Edge shortening (ESEF)"),
    (FixMethod::Gia, "Attraction of regions (GIA)"),
    (FixMethod::Icm, "Contour minimisation (ICM)"),
    (FixMethod::RepulsiveIcm, "Repulsive ICM"),
    (FixMethod::Uir, "Unified pipeline (UIR)"),
    (FixMethod::SimPrev, "Earlier methods together"),
];

/// What becomes of folds that bite into themselves, with names for people; `None` as the garments are designed.
const STYLES: [(Option<FoldStyle>, &str); 5] = [
    (None, "As designed"),
    (Some(FoldStyle::Unfold), "Unfold"),
    (Some(FoldStyle::FoldOut), "Fold out"),
    (Some(FoldStyle::FoldIn), "Fold in"),
    (Some(FoldStyle::Crease), "Along the crease"),
];

/// The name of a style in messages.
fn style_name(style: Option<FoldStyle>) -> &'static str {
    style.map_or("design", FoldStyle::name)
}

/// What one tab works on.
pub struct Desk {
    folder: Folder,
    log: Log,
    opening: Opening,
    workpiece: Option<Box<Workpiece>>,
    playback: Option<Playback>,
    sculpting: SculptDesk,
    activity: Activity,
    tell: Sender<Vec<u8>>,
    last_frame: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Activity {
    Idle,
    Untangling,
    /// Counting the contours of the frames of a cache.
    Counting,
}

/// The page has gone.
struct Gone;

/// What went wrong with a command.
enum Trouble {
    Gone,
    /// For a person to read.
    Refusal(String),
}

impl From<Gone> for Trouble {
    fn from(_: Gone) -> Self {
        Self::Gone
    }
}

impl Desk {
    /// An empty desk. `tell` takes packets for the page.
    pub fn new(opening: Opening, folder: Folder, log: Log, tell: Sender<Vec<u8>>) -> Self {
        Self {
            folder,
            log,
            opening,
            workpiece: None,
            playback: None,
            sculpting: SculptDesk::default(),
            activity: Activity::Idle,
            tell,
            last_frame: Instant::now(),
        }
    }

    /// Works until the page has gone.
    pub fn work(mut self, mut asked: Receiver<Message>) {
        loop {
            let message = match self.activity {
                Activity::Idle if !self.sculpting.is_settled() => match asked.try_recv() {
                    Ok(message) => Some(message),
                    Err(TryRecvError::Disconnected) => None,
                    Err(TryRecvError::Empty) => match self.tell_blocks() {
                        Ok(()) => continue,
                        Err(Gone) => None,
                    },
                },
                Activity::Idle => asked.blocking_recv(),
                Activity::Untangling | Activity::Counting => match asked.try_recv() {
                    Ok(message) => Some(message),
                    Err(TryRecvError::Disconnected) => None,
                    Err(TryRecvError::Empty) => match self.run() {
                        Ok(()) => continue,
                        Err(Gone) => None,
                    },
                },
            };
            let Some(message) = message else { return };
            let outcome = match self.handle(message) {
                Ok(()) => Ok(()),
                Err(Trouble::Gone) => Err(Gone),
                Err(Trouble::Refusal(text)) => self.send(Packet::new("error").field("text", text)),
            };
            if outcome.is_err() {
                return;
            }
        }
    }

    fn send(&self, packet: Packet) -> Result<(), Gone> {
        self.tell.blocking_send(packet.encode()).map_err(|_| Gone)
    }

    /// Tells the page the next blocks of the volume; waits while the page has packets to read.
    fn tell_blocks(&mut self) -> Result<(), Gone> {
        if self.tell.is_closed() {
            return Err(Gone);
        }
        if self.tell.capacity() == 0 {
            std::thread::sleep(Duration::from_millis(1));
            return Ok(());
        }
        match self.sculpting.next_packet() {
            Some(packet) => self.send(packet),
            None => Ok(()),
        }
    }

    /// One step of what is under way.
    fn run(&mut self) -> Result<(), Gone> {
        let Some(workpiece) = &mut self.workpiece else {
            self.activity = Activity::Idle;
            return Ok(());
        };
        if self.activity == Activity::Counting {
            let packet = self.playback.as_mut().and_then(|playback| playback.count_next(&workpiece.opened.assembly));
            match packet {
                Some(packet) => return self.send(packet),
                None => self.activity = Activity::Idle,
            }
            return Ok(());
        }
        match workpiece.step() {
            Advance::GoOn => self.send_frame_if_there_is_time(),
            Advance::Done => self.stop("done"),
            Advance::GaveUp => self.stop("gave-up"),
        }
    }

    fn stop(&mut self, why: &str) -> Result<(), Gone> {
        self.activity = Activity::Idle;
        self.send_frame(why)
    }

    fn send_frame_if_there_is_time(&mut self) -> Result<(), Gone> {
        if self.last_frame.elapsed() < SHORTEST_BREAK || self.tell.capacity() == 0 {
            return if self.tell.is_closed() { Err(Gone) } else { Ok(()) };
        }
        self.send_frame("untangling")
    }

    fn send_frame(&mut self, activity: &str) -> Result<(), Gone> {
        self.last_frame = Instant::now();
        match &self.workpiece {
            Some(workpiece) => self.send(portrait::frame(workpiece, activity)),
            None => Ok(()),
        }
    }

    fn handle(&mut self, message: Message) -> Result<(), Trouble> {
        match message {
            Message::Malformed(reason) => Err(Trouble::Refusal(reason)),
            Message::Upload { name, bytes } if is_volume(&name) => {
                let opened = self.sculpting.open_bytes(&name, bytes);
                self.answer(opened)
            }
            Message::Upload { name, bytes } => self.lay_out(opening::from_upload(&name, bytes)),
            Message::Command(command) => self.obey(command),
        }
    }

    fn obey(&mut self, command: Command) -> Result<(), Trouble> {
        match command {
            Command::Welcome {} => self.welcome(),
            Command::Open { path, .. } if is_volume(&path) => self.open_volume(&path, None),
            Command::Open { path, body } => self.open(&path, body.as_deref()),
            Command::OpenVolume { path, resolution } => self.open_volume(&path, resolution),
            Command::Sample { name, resolution } => self.lay_out(opening::from_sample(&name, resolution)),
            Command::Frame { number } => self.show_frame(number),
            Command::Save { path, existing } | Command::SaveVolume { path, existing } => self.save(&path, existing),
            Command::Download { format } => self.download(&format),
            command if self.sculpting.takes(&command) => {
                let answer = self.sculpting.obey(command);
                self.answer(answer)
            }
            other => self.work_on_garment(other),
        }
    }

    fn garment(&mut self) -> Result<&mut Workpiece, Trouble> {
        match &mut self.workpiece {
            Some(workpiece) => Ok(workpiece),
            None => Err(Trouble::Refusal("no garment is open: open a mesh file first".to_owned())),
        }
    }

    fn work_on_garment(&mut self, command: Command) -> Result<(), Trouble> {
        let workpiece = self.garment()?;
        match command {
            Command::Untangle { method, style } => {
                workpiece.set_settings(settings(method.as_deref(), style.as_deref(), workpiece.designed_styles())?);
                workpiece.remember();
                self.activity = Activity::Untangling;
                return Ok(self.send_frame("untangling")?);
            }
            Command::Pause {} => {
                workpiece.analyze();
                return Ok(self.stop("paused")?);
            }
            Command::Step {} => {
                workpiece.remember();
                let why = if workpiece.step() == Advance::Done { "done" } else { "paused" };
                return Ok(self.stop(why)?);
            }
            Command::Stage {} => {
                if !workpiece.is_within_step() {
                    workpiece.remember();
                }
                let stage = workpiece.stage();
                return Ok(self.stop(&format!("stage:{stage}"))?);
            }
            Command::Undo {} | Command::Redo {} => {
                let done = if command == (Command::Undo {}) { workpiece.undo() } else { workpiece.redo() };
                return Ok(self.stop(if done { "idle" } else { "nothing-to-undo" })?);
            }
            Command::Grab { vertex, radius } => {
                workpiece.grab(vertex, radius);
                self.activity = Activity::Untangling;
                return Ok(());
            }
            Command::Drag { by } => workpiece.drag(DVec3::from_array(by)),
            Command::Release {} => workpiece.release(),
            Command::Pin { vertex } => workpiece.set_pin(vertex, Pin::Set),
            Command::Unpin { vertex } => workpiece.set_pin(vertex, Pin::Removed),
            _ => {}
        }
        if self.activity == Activity::Idle {
            self.send_frame("idle")?;
        }
        Ok(())
    }

    fn welcome(&mut self) -> Result<(), Trouble> {
        let made: Vec<_> = samples::cases()
            .map(|case| json!({ "name": case.name, "about": case.about, "family": case.family.heading() }))
            .collect();
        let methods: Vec<_> =
            METHODS.iter().map(|(method, label)| json!({ "name": method.name(), "label": label })).collect();
        let styles: Vec<_> =
            STYLES.iter().map(|&(style, label)| json!({ "name": style_name(style), "label": label })).collect();
        self.send(
            Packet::new("welcome")
                .field("version", env!("CARGO_PKG_VERSION"))
                .field("files", self.folder.list())
                .field("samples", made)
                .field("methods", methods)
                .field("styles", styles)
                .field("opens", !matches!(self.opening, Opening::Nothing)),
        )?;
        match std::mem::replace(&mut self.opening, Opening::Nothing) {
            Opening::Nothing => Ok(()),
            Opening::File { path, .. } if is_volume(&path) => self.open_volume(&path, None),
            Opening::File { path, body } => self.open(&path, body.as_deref()),
            Opening::Volume { path, resolution } => self.open_volume(&path, resolution),
        }
    }

    fn open_volume(&mut self, path: &str, resolution: Option<u32>) -> Result<(), Trouble> {
        self.folder.existing(path).map_err(|error| self.refuse_path(&error))?;
        let opened = self.sculpting.open(&self.folder, path, resolution);
        self.answer(opened)
    }

    /// Sends what the sculpting desk answers; what lay on the desk before goes when a volume is opened.
    fn answer(&mut self, answer: Result<Option<Packet>, String>) -> Result<(), Trouble> {
        let packet = answer.map_err(Trouble::Refusal)?;
        if self.sculpting.is_open() {
            (self.workpiece, self.playback, self.activity) = (None, None, Activity::Idle);
        }
        match packet {
            Some(packet) => Ok(self.send(packet)?),
            None => Ok(()),
        }
    }

    fn open(&mut self, path: &str, body: Option<&str>) -> Result<(), Trouble> {
        let found = self.folder.existing(path).map_err(|error| self.refuse_path(&error))?;
        if !found.is_dir() {
            return self.lay_out(opening::from_folder(&self.folder, path, body));
        }
        let playback = Playback::open(&found).map_err(|error| Trouble::Refusal(relative(&error, &found, path)))?;
        let opened = opening::from_cache(path, playback.cache())
            .map_err(|error| Trouble::Refusal(relative(&error, &found, path)))?;
        self.playback = Some(playback);
        self.show(opened)?;
        self.activity = Activity::Counting;
        Ok(())
    }

    /// A path that leads out of the folder is also told in the log.
    fn refuse_path(&self, error: &PathError) -> Trouble {
        if matches!(error, PathError::Outside(_)) {
            self.log.refusal(&error.to_string());
        }
        Trouble::Refusal(error.to_string())
    }

    fn lay_out(&mut self, opened: Result<Opened, OpenError>) -> Result<(), Trouble> {
        let opened = opened.map_err(|error| Trouble::Refusal(error.to_string()))?;
        self.playback = None;
        self.show(opened)
    }

    fn show(&mut self, opened: Opened) -> Result<(), Trouble> {
        self.sculpting = SculptDesk::default();
        let workpiece = Workpiece::new(opened);
        let packet = portrait::opened(&workpiece);
        self.send(match &self.playback {
            Some(playback) => playback.describe(packet),
            None => packet,
        })?;
        self.workpiece = Some(Box::new(workpiece));
        Ok(self.stop("idle")?)
    }

    fn show_frame(&mut self, number: u32) -> Result<(), Trouble> {
        let (Some(playback), Some(workpiece)) = (&self.playback, &mut self.workpiece) else {
            return Err(Trouble::Refusal("no simulation is open".to_owned()));
        };
        let PlayedFrame { number, time, cloth, bodies } =
            playback.frame(number).map_err(|error| Trouble::Refusal(error.to_string()))?;
        workpiece.lay(cloth, bodies);
        let packet = portrait::frame(workpiece, "playing").field("number", number).field("time", time);
        let packet = portrait::with_bodies(packet, workpiece);
        Ok(self.send(packet)?)
    }

    fn save(&mut self, path: &str, existing: crate::folder::Existing) -> Result<(), Trouble> {
        let refusal = |error: &dyn std::fmt::Display| Trouble::Refusal(error.to_string());
        let target = match self.folder.target(path, existing) {
            Ok(target) => target,
            Err(error @ PathError::Exists(_)) => {
                return Ok(self.send(Packet::new("exists").field("path", path).field("text", error.to_string()))?);
            }
            Err(error) => return Err(self.refuse_path(&error)),
        };
        let (bytes, clean) = self.encode(Path::new(path))?;
        unsnarl_io::write_atomically(&target, &bytes).map_err(|error| refusal(&relative(&error, &target, path)))?;
        Ok(self.send(Packet::new("saved").field("path", path).field("clean", clean))?)
    }

    fn download(&mut self, format: &str) -> Result<(), Trouble> {
        let (bytes, clean) = self.encode(Path::new(&format!("x.{format}")))?;
        let packet = Packet::new("download").field("format", format).field("clean", clean).bytes("file", bytes);
        Ok(self.send(packet)?)
    }

    /// The garment or its report as the bytes of a file, and whether what the file holds is clean.
    fn encode(&mut self, path: &Path) -> Result<(Vec<u8>, bool), Trouble> {
        if let Some(bytes) = self.sculpting.encode(path) {
            return Ok((bytes.map_err(Trouble::Refusal)?, true));
        }
        let workpiece = self.garment()?;
        if path.extension().is_some_and(|extension| extension == "json") {
            let report = workpiece.report();
            let mut text = serde_json::to_vec_pretty(&report).map_err(|error| Trouble::Refusal(error.to_string()))?;
            text.push(b'\n');
            return Ok((text, workpiece.verdict.as_ref().is_some_and(|verdict| verdict.is_clean())));
        }
        if workpiece.opened.garment_count == 0 {
            return Err(Trouble::Refusal("there is no cloth to save; unsnarl export writes rigid bodies".to_owned()));
        }
        let first: &MeshFile = &workpiece.opened.files[0];
        let Some(format) = first.format_for(path).or_else(|| Format::for_output(path)) else {
            let kinds = "expected .obj, .ply, .stl, .off, .gltf, .glb, .usda, or .json for the report";
            return Err(Trouble::Refusal(format!("{}: not a kind of file to save; {kinds}", path.display())));
        };
        let file = first.with_positions(workpiece.positions().to_vec());
        let stored = file.stored_positions(format);
        let bytes = mesh::encode(format, &file);
        Ok((bytes, workpiece.is_clean_at(&stored)))
    }
}

/// A message that names the file as the page does, not where it is on this machine.
fn relative(error: &dyn std::fmt::Display, found: &Path, path: &str) -> String {
    error.to_string().replace(&found.display().to_string(), path)
}

fn settings(method: Option<&str>, style: Option<&str>, designed: &[Option<FoldStyle>]) -> Result<FixSettings, Trouble> {
    let name = method.unwrap_or("auto");
    let known = METHODS.iter().find(|(own, _)| own.name() == name);
    let &(method, _) = known.ok_or_else(|| Trouble::Refusal(format!("no method is called {name:.40}")))?;
    let name = style.unwrap_or(style_name(None));
    let known = STYLES.iter().find(|&&(own, _)| style_name(own) == name);
    let &(style, _) = known.ok_or_else(|| Trouble::Refusal(format!("no style is called {name:.40}")))?;
    let styles = if style.is_some() { vec![style; designed.len()] } else { designed.to_vec() };
    let vertices = VertexSettings { styles, ..VertexSettings::default() };
    Ok(FixSettings { vertices, ..FixSettings::with_method(method) })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn styles_are_the_design_or_one_for_all() {
        let designed = [None, Some(FoldStyle::Crease)];
        assert_eq!(settings(None, None, &designed).ok().unwrap().vertices.styles, designed);
        for style in FoldStyle::ALL {
            assert_eq!(settings(None, Some(style.name()), &designed).ok().unwrap().vertices.styles, [Some(style); 2]);
        }
        assert!(settings(None, Some("knot"), &designed).is_err());
    }
}
