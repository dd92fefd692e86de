//! Packets from the server to the page: a JSON header and typed arrays in one binary message.
//!
//! Layout, little-endian: the header's length in bytes (u32, a multiple of 4), the header (JSON, padded with spaces),
//! then the arrays one after the other, each padded to 4 bytes. The header's `arrays` lists name, element type, byte
//! offset after the header, and element count, so that the page makes views without copying.

use serde::Serialize;
use serde_json::{Map, Value};

/// A packet under construction.
pub struct Packet {
    header: Map<String, Value>,
    arrays: Map<String, Value>,
    body: Vec<u8>,
}

impl Packet {
    /// A packet of a kind.
    pub fn new(kind: &str) -> Self {
        let mut header = Map::new();
        header.insert("type".into(), kind.into());
        Self { header, arrays: Map::new(), body: Vec::new() }
    }

    /// Adds a field to the header.
    pub fn field(mut self, name: &str, value: impl Serialize) -> Self {
        self.header.insert(name.into(), serde_json::to_value(value).unwrap_or(Value::Null));
        self
    }

    /// Adds an array of 32-bit reals.
    pub fn reals(self, name: &str, values: impl IntoIterator<Item = f32>) -> Self {
        self.array(name, "f32", values.into_iter().map(f32::to_le_bytes))
    }

    /// Adds an array of indices.
    pub fn indices(self, name: &str, values: impl IntoIterator<Item = u32>) -> Self {
        self.array(name, "u32", values.into_iter().map(u32::to_le_bytes))
    }

    /// Adds an array of bytes.
    pub fn bytes(self, name: &str, values: impl IntoIterator<Item = u8>) -> Self {
        self.array(name, "u8", values.into_iter().map(|byte| [byte]))
    }

    fn array<const N: usize>(mut self, name: &str, kind: &str, values: impl Iterator<Item = [u8; N]>) -> Self {
        let offset = self.body.len();
        self.body.extend(values.flatten());
        let count = (self.body.len() - offset) / N;
        self.body.resize(self.body.len().next_multiple_of(4), 0);
        self.arrays.insert(name.into(), serde_json::json!([kind, offset, count]));
        self
    }

    /// The message.
    pub fn encode(mut self) -> Vec<u8> {
        self.header.insert("arrays".into(), Value::Object(self.arrays));
        let mut header = serde_json::to_vec(&self.header).unwrap_or_default();
        header.resize(header.len().next_multiple_of(4), b' ');
        let mut message = Vec::with_capacity(4 + header.len() + self.body.len());
        message.extend((header.len() as u32).to_le_bytes());
        message.extend(header);
        message.extend(self.body);
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_start_at_multiples_of_four_and_are_listed() {
        let message =
            Packet::new("frame").field("step", 3).bytes("flags", [1, 2, 3]).reals("positions", [1.5, -2.0]).encode();
        let length = u32::from_le_bytes(message[..4].try_into().unwrap()) as usize;
        let header: Value = serde_json::from_slice(&message[4..4 + length]).unwrap();
        assert_eq!(length % 4, 0);
        assert_eq!(header["type"], "frame");
        assert_eq!(header["step"], 3);
        assert_eq!(header["arrays"]["flags"], serde_json::json!(["u8", 0, 3]));
        assert_eq!(header["arrays"]["positions"], serde_json::json!(["f32", 4, 2]));
        let body = &message[4 + length..];
        assert_eq!(&body[..3], &[1, 2, 3]);
        assert_eq!(f32::from_le_bytes(body[4..8].try_into().unwrap()), 1.5);
        assert_eq!(body.len(), 12);
    }
}
