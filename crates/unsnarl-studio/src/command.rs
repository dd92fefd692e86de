//! What the page may ask for. Text messages are commands in JSON; a binary message is an uploaded file.

use crate::folder::Existing;
use serde::Deserialize;
use unsnarl_io::stroke_file::{BrushRecord, EventRecord};

/// The longest command in bytes.
pub const LONGEST_COMMAND: usize = 64 << 10;

/// The largest upload in bytes.
pub const LARGEST_UPLOAD: usize = 64 << 20;

/// A command of the page.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Command {
    /// Say which files, samples and methods there are.
    Welcome {},
    /// Open a mesh file or a simulation cache of the folder.
    Open {
        /// Path within the folder.
        path: String,
        /// A body beside it, as an obstacle.
        #[serde(default)]
        body: Option<String>,
    },
    /// Open a made sample.
    Sample {
        /// Its name.
        name: String,
        /// Cells along the shorter side.
        #[serde(default)]
        resolution: Option<usize>,
    },
    /// Untangle until nothing crosses.
    Untangle {
        /// A method of the welcome message.
        #[serde(default)]
        method: Option<String>,
        /// A style of the welcome message.
        #[serde(default)]
        style: Option<String>,
    },
    /// Stop where it is.
    Pause {},
    /// One step.
    Step {},
    /// One stage of a step.
    Stage {},
    /// Back to before the last action.
    Undo {},
    /// Forward again.
    Redo {},
    /// Take hold of cloth around a vertex.
    Grab {
        /// The vertex.
        vertex: u32,
        /// How far along the cloth the hold reaches, metres.
        radius: f64,
    },
    /// Move what is held by a vector from where it was grabbed.
    Drag {
        /// Metres.
        by: [f64; 3],
    },
    /// Let go.
    Release {},
    /// Hold a vertex where it is.
    Pin {
        /// The vertex.
        vertex: u32,
    },
    /// Let a vertex go.
    Unpin {
        /// The vertex.
        vertex: u32,
    },
    /// Write the garment into the folder; the name says the kind of file.
    Save {
        /// Path within the folder.
        path: String,
        /// What happens to a file that is there.
        #[serde(default)]
        existing: Existing,
    },
    /// Send the garment as the bytes of a file.
    Download {
        /// An extension: `obj`, `glb`, ..., or `json` for the report.
        format: String,
    },
    /// Open a level set, or a closed mesh as one, to sculpt.
    OpenVolume {
        /// Path within the folder.
        path: String,
        /// Samples across the longest side of a mesh.
        #[serde(default)]
        resolution: Option<u32>,
    },
    /// Put the sculpting tool down, move it, lift it.
    Stroke {
        /// The tool, when it is put down.
        #[serde(default)]
        brush: Option<BrushRecord>,
        /// Where the pointer was; times are seconds since it was put down.
        events: Vec<EventRecord>,
        /// Whether it is lifted now.
        #[serde(default)]
        lift: bool,
        /// A number that comes back with the blocks that the strokes changed.
        sequence: u32,
    },
    /// Say where a ray meets the volume.
    Aim {
        /// Origin and direction.
        ray: [f64; 6],
    },
    /// Look at a volume from another place.
    Camera {
        /// Where the eye is, metres.
        eye: [f64; 3],
        /// Where it looks.
        forward: [f64; 3],
        /// What is up.
        up: [f64; 3],
        /// Angle between the lower and the upper edge of the view, radians.
        field_of_view: f64,
        /// Width and height, pixels.
        pixels: [f64; 2],
    },
    /// Count what takes a while: the volume, and the memory after refining.
    Figures {},
    /// Halve the spacing of the volume.
    Refine {},
    /// Write the volume, its surface, its strokes or a picture into the folder; the name says the kind of file.
    SaveVolume {
        /// Path within the folder.
        path: String,
        /// What happens to a file that is there.
        #[serde(default)]
        existing: Existing,
    },
    /// Show a frame of the cache.
    Frame {
        /// Its number.
        number: u32,
    },
}

/// What comes from the page.
#[derive(Debug)]
pub enum Message {
    /// A command.
    Command(Command),
    /// A mesh file.
    Upload {
        /// Its name.
        name: String,
        /// Its bytes.
        bytes: Vec<u8>,
    },
    /// Something that is neither; says why.
    Malformed(String),
}

impl Message {
    /// From the text of a message.
    pub fn from_text(text: &str) -> Self {
        if text.len() > LONGEST_COMMAND {
            return Self::Malformed(format!("a command of {} bytes; at most {LONGEST_COMMAND} are read", text.len()));
        }
        match serde_json::from_str(text) {
            Ok(command) => Self::Command(command),
            Err(error) => Self::Malformed(format!("not a command: {error}")),
        }
    }

    /// From the bytes of a message: the length of the name (u32, little-endian), the name, the file.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let parts = || {
            let (length, rest) = bytes.split_first_chunk::<4>()?;
            let length = u32::from_le_bytes(*length) as usize;
            let name = std::str::from_utf8(rest.get(..length.min(256))?).ok()?;
            (length == name.len()).then(|| (name.to_owned(), rest[length..].to_vec()))
        };
        match parts() {
            Some((name, bytes)) => Self::Upload { name, bytes },
            None => Self::Malformed("a binary message that is not an upload".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_and_anything_else_is_malformed() {
        let read = |text: &str| match Message::from_text(text) {
            Message::Command(command) => Some(command),
            _ => None,
        };
        assert_eq!(read(r#"{"do":"pin","vertex":7}"#), Some(Command::Pin { vertex: 7 }));
        assert_eq!(read(r#"{"do":"untangle"}"#), Some(Command::Untangle { method: None, style: None }));
        let event = r#"{"time":0,"ray":[0,0,1,0,0,-1]}"#;
        let stroke = format!(r#"{{"do":"stroke","events":[{event}],"sequence":1}}"#);
        assert!(matches!(read(&stroke), Some(Command::Stroke { brush: None, lift: false, sequence: 1, .. })));
        for bad in [
            r#"{"do":"stroke","events":[{"time":0}],"sequence":1}"#,
            r#"{"do":"stroke","events":[{"time":1e999,"point":[0,0,0]}],"sequence":1}"#,
            r#"{"do":"camera","eye":[0,0],"forward":[0,0,1],"up":[0,1,0],"field_of_view":1,"pixels":[1,1]}"#,
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
        for bad in ["", "{}", "[]", r#"{"do":"format-disk"}"#, r#"{"do":"pin","vertex":-1}"#, r#"{"do":"pause","x":1}"#]
        {
            assert_eq!(read(bad), None, "{bad}");
        }
        assert_eq!(read(&format!(r#"{{"do":"open","path":"{}"}}"#, "a".repeat(LONGEST_COMMAND))), None);
    }

    #[test]
    fn uploads_carry_name_and_bytes() {
        let mut message = 5u32.to_le_bytes().to_vec();
        message.extend(b"a.objv 0 0 0");
        assert!(
            matches!(Message::from_bytes(&message), Message::Upload { name, bytes } if name == "a.obj" && bytes == b"v 0 0 0")
        );
        for bad in [&b""[..], b"\x01", b"\xff\xff\xff\xffab", b"\x02\0\0\0\xff\xfe"] {
            assert!(matches!(Message::from_bytes(bad), Message::Malformed(_)), "{bad:?}");
        }
    }
}
