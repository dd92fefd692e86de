//! Stroke files: what was done to a level set with the sculpting tools, in JSON, to be done again.
//!
//! A file has a list of steps: drags with all their pointer events, single strokes, refinements, undos and redos. The
//! sculpting page records its sessions in it; `unsnarl levelset sculpt` replays them. `docs/sculpting.md` has the table.
//!
//! Guarantees: numbers are written so that they are read back bit for bit; the same steps on the same level set give the
//! same bits; unknown keys are refused; an error is one line with the file and the step.

use crate::{WriteError, level_set_file, write_atomically};
use serde::{Deserialize, Serialize};
use std::path::Path;
use thiserror::Error;
use unsnarl_geometry::DVec3;
use unsnarl_volume::LevelSet;
use unsnarl_volume::level_set::{
    Aim, Brush, Csg, Doubling, Drag, Falloff, History, Mirror, Picking, PointerEvent, Stamp, StampShape, Stroke,
    StrokeError, Tool,
};

/// What the first key of a file says.
pub const FORMAT: &str = "unsnarl-strokes/1";

/// The largest file that is read, bytes.
const LARGEST_FILE: u64 = 256 << 20;

/// A stroke file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StrokeFile {
    /// [`FORMAT`].
    pub format: String,
    /// What was done, in order.
    pub steps: Vec<Step>,
}

impl Default for StrokeFile {
    fn default() -> Self {
        Self { format: FORMAT.to_owned(), steps: Vec::new() }
    }
}

/// One thing that was done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Step {
    /// The tool was put down, moved and lifted.
    Drag {
        /// The tool.
        brush: BrushRecord,
        /// The pointer, from the first event on; times are seconds since it.
        events: Vec<EventRecord>,
    },
    /// One stroke of a strength in metres.
    Stroke {
        /// The tool.
        brush: BrushRecord,
        /// Where.
        #[serde(flatten)]
        aim: AimRecord,
        /// For `pull`: the way, metres.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<[f64; 3]>,
    },
    /// The spacing was halved.
    Refine {},
    /// The last step was taken back.
    Undo {},
    /// It was made again.
    Redo {},
}

/// A tool as the page and files write it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BrushRecord {
    /// What to do.
    pub tool: ToolName,
    /// Metres.
    pub radius: f64,
    /// In a drag: metres a second, or the size of the features that go in a second; not used by `pull` and `stamp`.
    #[serde(default)]
    pub strength: f64,
    /// How the strength falls from the centre.
    #[serde(default)]
    pub falloff: FalloffName,
    /// Whether the other side of a plane gets the same strokes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mirror: Option<MirrorRecord>,
    /// Which surface rays meet.
    #[serde(default)]
    pub picking: PickingName,
    /// For `stamp`: `ball`, `box`, or in a single stroke the path of a level set file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<String>,
    /// For `stamp`: add or take away.
    #[serde(default)]
    pub operation: OperationName,
    /// For `stamp`: radius of rounding, metres.
    #[serde(default)]
    pub blend: f64,
}

/// Tools by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum ToolName {
    Raise,
    Lower,
    Smooth,
    Roughen,
    Flatten,
    Pull,
    Stamp,
}

/// Falloffs by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum FalloffName {
    Tent,
    #[default]
    Smooth,
    Flat,
}

/// Picking by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum PickingName {
    #[default]
    Before,
    Now,
}

/// What a stamp does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum OperationName {
    #[default]
    Union,
    Difference,
}

/// A mirror plane.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MirrorRecord {
    /// The axis that it crosses.
    pub axis: Axis,
    /// Where, metres.
    pub at: f64,
}

/// Axes by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Axis {
    X,
    Y,
    Z,
}

/// Where a pointer points: `ray` (origin and direction) or `point`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AimRecord {
    /// Origin and direction.
    Ray([f64; 6]),
    /// A point.
    Point([f64; 3]),
}

/// The pointer at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EventRecord {
    /// Seconds since the first event.
    pub time: f64,
    /// 0 to 1.
    #[serde(default = "full_pressure")]
    pub pressure: f64,
    /// Where.
    #[serde(flatten)]
    pub aim: AimRecord,
}

fn full_pressure() -> f64 {
    1.0
}

/// Why a stroke file cannot be read or replayed.
#[derive(Debug, Error)]
pub enum StrokeFileError {
    /// The file cannot be read.
    #[error("{path}: cannot read: {reason}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
    /// The file is not what it should be.
    #[error("{path}: {what}")]
    Content {
        /// The file.
        path: String,
        /// What was found, what was expected.
        what: String,
    },
    /// A step cannot be made.
    #[error("{path}: step {step}: {what}")]
    Step {
        /// The file.
        path: String,
        /// The step, counted from 1.
        step: usize,
        /// Why.
        what: String,
    },
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Reads a stroke file.
pub fn read(path: &Path) -> Result<StrokeFile, StrokeFileError> {
    let name = path.display().to_string();
    let fail = |reason: String| StrokeFileError::Read { path: name.clone(), reason };
    let length = std::fs::metadata(path).map_err(|error| fail(error.to_string()))?.len();
    if length > LARGEST_FILE {
        return Err(fail(format!("{} MB; at most {} MB are read", length >> 20, LARGEST_FILE >> 20)));
    }
    let text = std::fs::read_to_string(path).map_err(|error| fail(error.to_string()))?;
    parse(&text, &name)
}

/// Reads a stroke file from its text; `name` is for messages.
pub fn parse(text: &str, name: &str) -> Result<StrokeFile, StrokeFileError> {
    let content = |what: String| StrokeFileError::Content { path: name.to_owned(), what };
    let file: StrokeFile =
        serde_json::from_str(text).map_err(|error| content(format!("not a stroke file: {error}")))?;
    if file.format != FORMAT {
        return Err(content(format!("format {:.40}: expected {FORMAT}", file.format)));
    }
    Ok(file)
}

/// The text of a stroke file.
pub fn encode(file: &StrokeFile) -> String {
    let mut text = String::from("{\n");
    text += &format!("  \"format\": \"{}\",\n  \"steps\": [", file.format);
    for (number, step) in file.steps.iter().enumerate() {
        text += if number == 0 { "\n    " } else { ",\n    " };
        // A step holds numbers and names only, which always have a text.
        text += &serde_json::to_string(step).unwrap_or_default();
    }
    text += "\n  ]\n}\n";
    text
}

/// Writes a stroke file.
pub fn write(path: &Path, file: &StrokeFile) -> Result<(), StrokeFileError> {
    Ok(write_atomically(path, encode(file).as_bytes())?)
}

impl BrushRecord {
    /// The tool for the engine.
    pub fn brush(&self) -> Result<Brush, String> {
        let tool = match self.tool {
            ToolName::Raise => Tool::Raise,
            ToolName::Lower => Tool::Lower,
            ToolName::Smooth => Tool::Smooth,
            ToolName::Roughen => Tool::Roughen,
            ToolName::Flatten => Tool::Flatten,
            ToolName::Pull => Tool::Pull(DVec3::ZERO),
            ToolName::Stamp => {
                let shape = match self.shape.as_deref() {
                    None | Some("ball") => StampShape::Ball,
                    Some("box") => StampShape::Box,
                    Some(other) => return Err(format!("shape {other:.60}: a drag stamps `ball` or `box`")),
                };
                Tool::Stamp(Stamp { shape, operation: self.csg(), blend: self.blend })
            }
        };
        let mirror = match self.mirror {
            Some(MirrorRecord { at, .. }) if !at.is_finite() => return Err("the mirror is nowhere".to_owned()),
            Some(MirrorRecord { axis, at }) => Some(Mirror { axis: axis as usize, at }),
            None => None,
        };
        let falloff = match self.falloff {
            FalloffName::Tent => Falloff::Tent,
            FalloffName::Smooth => Falloff::Smooth,
            FalloffName::Flat => Falloff::Flat,
        };
        let picking = match self.picking {
            PickingName::Before => Picking::Before,
            PickingName::Now => Picking::Now,
        };
        Ok(Brush { tool, radius: self.radius, strength: self.strength, falloff, mirror, picking })
    }

    fn csg(&self) -> Csg {
        match self.operation {
            OperationName::Union => Csg::Union,
            OperationName::Difference => Csg::Difference,
        }
    }
}

impl AimRecord {
    /// For the engine.
    pub fn aim(self) -> Aim {
        match self {
            Self::Ray([ox, oy, oz, dx, dy, dz]) => {
                Aim::Ray { origin: DVec3::new(ox, oy, oz), direction: DVec3::new(dx, dy, dz) }
            }
            Self::Point(point) => Aim::Point(DVec3::from_array(point)),
        }
    }
}

impl EventRecord {
    /// For the engine.
    pub fn event(self) -> PointerEvent {
        PointerEvent { time: self.time, aim: self.aim.aim(), pressure: self.pressure }
    }
}

/// Does all steps of a file to a level set. Paths of stamped level sets are relative to `folder`.
pub fn replay(
    file: &StrokeFile,
    name: &str,
    folder: &Path,
    level_set: &mut LevelSet,
    memory_limit: usize,
) -> Result<(), StrokeFileError> {
    let mut history = History::new(History::CAP);
    for (number, step) in file.steps.iter().enumerate() {
        make(step, folder, level_set, &mut history, memory_limit).map_err(|what| StrokeFileError::Step {
            path: name.to_owned(),
            step: number + 1,
            what,
        })?;
    }
    Ok(())
}

fn make(
    step: &Step,
    folder: &Path,
    level_set: &mut LevelSet,
    history: &mut History,
    memory_limit: usize,
) -> Result<(), String> {
    let line = |error: StrokeError| error.to_string();
    match step {
        Step::Drag { brush, events } => {
            let Some((first, rest)) = events.split_first() else { return Err("a drag without events".to_owned()) };
            let (mut drag, _) = Drag::begin(brush.brush()?, first.event(), level_set, history).map_err(line)?;
            for event in rest {
                drag.follow(event.event(), level_set, history).map_err(line)?;
            }
        }
        Step::Stroke { brush, aim, by } => {
            history.begin();
            let center = match aim.aim() {
                Aim::Point(point) => point,
                Aim::Ray { origin, direction } => match level_set.aim_at(origin, direction) {
                    Some(point) => point,
                    None => return Err("the ray does not meet the surface".to_owned()),
                },
            };
            single(brush, center, *by, folder, level_set, history)?;
        }
        Step::Refine {} => {
            refine(level_set, memory_limit)?;
            history.clear();
        }
        Step::Undo {} => {
            history.undo(level_set).ok_or("there is nothing to take back")?;
        }
        Step::Redo {} => {
            history.redo(level_set).ok_or("there is nothing to make again")?;
        }
    }
    Ok(())
}

fn single(
    record: &BrushRecord,
    center: DVec3,
    by: Option<[f64; 3]>,
    folder: &Path,
    level_set: &mut LevelSet,
    history: &mut History,
) -> Result<(), String> {
    let loaded = match record.shape.as_deref() {
        Some(path) if record.tool == ToolName::Stamp && path != "ball" && path != "box" => {
            Some(level_set_file::read(&folder.join(path)).map_err(|error| error.to_string())?)
        }
        _ => None,
    };
    let brush = match &loaded {
        Some(_) => BrushRecord { shape: None, ..record.clone() }.brush()?,
        None => record.brush()?,
    };
    let tool = match brush.tool {
        Tool::Pull(_) => Tool::Pull(DVec3::from_array(by.ok_or("a pull needs `by`, the way in metres")?)),
        tool => tool,
    };
    let stroke = Stroke { tool, center, radius: brush.radius, strength: brush.strength, falloff: brush.falloff };
    let mut strokes = vec![stroke];
    strokes.extend(brush.mirror.map(|mirror| mirror.stroke(&stroke)));
    for stroke in strokes {
        let journal = match &loaded {
            Some(body) => level_set.stamp_body(body, &stroke, record.csg(), record.blend),
            None => level_set.sculpt(&stroke),
        };
        history.record(journal.map_err(|error| error.to_string())?);
    }
    Ok(())
}

/// Halves the spacing, unless the result would need more memory than the limit.
pub fn refine(level_set: &mut LevelSet, memory_limit: usize) -> Result<(), String> {
    let needed = level_set.refined_bytes();
    if needed > memory_limit {
        let [needed, limit] = [needed, memory_limit].map(|bytes| bytes as f64 * 1e-9);
        return Err(format!("refined, it would need about {needed:.2} GB, the limit is {limit:.2} GB"));
    }
    *level_set = level_set.refined(Doubling::Automatic);
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use unsnarl_geometry::Aabb;
    use unsnarl_volume::{BlockWidth, Frame};

    fn ball() -> LevelSet {
        let frame = Frame { origin: DVec3::ZERO, spacing: 0.05 };
        let bounds = Aabb { min: DVec3::splat(-1.3), max: DVec3::splat(1.3) };
        LevelSet::from_distance(|p| p.length() - 1.0, bounds, frame, BlockWidth::DEFAULT, 0.15)
    }

    const STEPS: &str = r#"{
        "format": "unsnarl-strokes/1",
        "steps": [
            {"do":"drag","brush":{"tool":"raise","radius":0.3,"strength":0.6,"mirror":{"axis":"x","at":0}},
             "events":[{"time":0,"ray":[0.4,0,3,0,0,-1]},{"time":0.1,"ray":[0.4,0.1,3,0,0,-1],"pressure":0.7},
                       {"time":0.25,"ray":[0.45,0.3,3,0.012345678901234567,0,-1]}]},
            {"do":"stroke","brush":{"tool":"stamp","radius":0.2,"shape":"box","operation":"difference"},"ray":[0,0,3,0,0,-1]},
            {"do":"stroke","brush":{"tool":"pull","radius":0.4},"point":[0,1,0],"by":[0.1,0.1,0]},
            {"do":"undo"},{"do":"redo"},
            {"do":"stroke","brush":{"tool":"smooth","radius":0.4,"strength":0.1,"falloff":"tent"},"point":[0,1,0]}
        ]}"#;

    fn bits(body: &LevelSet) -> Vec<u32> {
        body.grid().samples().iter().map(|value| value.to_bits()).collect()
    }

    #[test]
    fn a_file_is_read_written_and_replayed_to_the_same_bits() {
        let file = parse(STEPS, "a.json").unwrap();
        let again = parse(&encode(&file), "b.json").unwrap();
        assert_eq!(file, again);
        let [mut first, mut second] = [ball(), ball()];
        let start = bits(&first);
        replay(&file, "a.json", Path::new("."), &mut first, 1 << 30).unwrap();
        replay(&again, "b.json", Path::new("."), &mut second, 1 << 30).unwrap();
        assert_ne!(bits(&first), start);
        assert_eq!(bits(&first), bits(&second));
    }

    #[test]
    fn bad_files_and_steps_are_refused_in_one_line() {
        let step = |text: &str| format!(r#"{{"format":"unsnarl-strokes/1","steps":[{text}]}}"#);
        for bad in [
            "".to_owned(),
            "{}".to_owned(),
            r#"{"format":"unsnarl-strokes/9","steps":[]}"#.to_owned(),
            step(r#"{"do":"dance"}"#),
            step(r#"{"do":"refine","often":3}"#),
            step(r#"{"do":"drag","brush":{"tool":"hammer","radius":1},"events":[]}"#),
            step(r#"{"do":"drag","brush":{"tool":"raise","radius":1e999},"events":[]}"#),
            step(r#"{"do":"stroke","brush":{"tool":"raise","radius":1}}"#),
        ] {
            let error = parse(&bad, "a.json").unwrap_err().to_string();
            assert!(error.starts_with("a.json: ") && !error.contains('\n'), "{error}");
        }
        for (bad, expected) in [
            (r#"{"do":"drag","brush":{"tool":"raise","radius":1,"strength":1},"events":[]}"#, "without events"),
            (r#"{"do":"stroke","brush":{"tool":"raise","radius":0,"strength":1},"point":[0,0,1]}"#, "radius"),
            (
                r#"{"do":"stroke","brush":{"tool":"raise","radius":1,"strength":1},"ray":[9,9,9,0,0,1]}"#,
                "does not meet",
            ),
            (r#"{"do":"stroke","brush":{"tool":"pull","radius":1},"point":[0,0,1]}"#, "`by`"),
            (
                r#"{"do":"stroke","brush":{"tool":"stamp","radius":1,"shape":"none.level"},"point":[0,0,1]}"#,
                "none.level",
            ),
            (r#"{"do":"undo"}"#, "nothing"),
            (r#"{"do":"refine"}"#, "the limit is"),
        ] {
            let file = parse(&step(bad), "a.json").unwrap();
            let error = replay(&file, "a.json", Path::new("."), &mut ball(), 1000).unwrap_err().to_string();
            assert!(error.starts_with("a.json: step 1: ") && error.contains(expected), "{bad}: {error}");
        }
    }
}
