//! A GLB file whose positions were replaced: its accessors' bounds are brought up to date.

use super::container::{chunks, glb};
use super::document::Document;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::ops::Range;

#[derive(Deserialize)]
struct Bounded<'a> {
    #[serde(borrow, default)]
    min: Option<&'a RawValue>,
    #[serde(borrow, default)]
    max: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct BoundedDocument<'a> {
    #[serde(borrow, default)]
    accessors: Vec<Bounded<'a>>,
}

/// Replaces the `min` and `max` of every accessor of positions by those of the data, and nothing else of the text.
///
/// `None` when the file is not a GLB file that this module can take apart.
pub(in super::super) fn renew_bounds(bytes: &[u8]) -> Option<Vec<u8>> {
    let parts = chunks(bytes).ok()?;
    let binary = &bytes[parts.binary.clone()?];
    let json = std::str::from_utf8(&bytes[parts.json]).ok()?.trim_end();
    let document: Document = serde_json::from_str(json).ok()?;
    let bounded: BoundedDocument<'_> = serde_json::from_str(json).ok()?;
    let of_positions: BTreeSet<usize> = document
        .meshes
        .iter()
        .flat_map(|mesh| &mesh.primitives)
        .filter_map(|primitive| primitive.attributes.get("POSITION").copied())
        .collect();
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for index in of_positions {
        let (min, max) = bounds(&document, binary, index)?;
        let own = bounded.accessors.get(index)?;
        for (raw, values) in [(own.min, min), (own.max, max)] {
            let Some(raw) = raw else { continue };
            let start = raw.get().as_ptr() as usize - json.as_ptr() as usize;
            edits.push((start..start + raw.get().len(), format!("[{},{},{}]", values[0], values[1], values[2])));
        }
    }
    edits.sort_by_key(|(range, _)| range.start);
    let mut text = String::with_capacity(json.len() + 64);
    let mut copied = 0;
    for (range, values) in edits {
        text.push_str(json.get(copied..range.start)?);
        text.push_str(&values);
        copied = range.end;
    }
    text.push_str(json.get(copied..)?);
    Some(glb(text.as_bytes(), binary))
}

fn bounds(document: &Document, binary: &[u8], index: usize) -> Option<([f32; 3], [f32; 3])> {
    let accessor = document.accessors.get(index)?;
    let view = document.buffer_views.get(accessor.buffer_view?)?;
    let stride = view.byte_stride.unwrap_or(12);
    let (mut min, mut max) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
    for at in 0..accessor.count {
        let start = view.byte_offset + accessor.byte_offset + at * stride;
        let (values, _) = binary.get(start..start + 12)?.as_chunks::<4>();
        for (axis, value) in values.iter().enumerate() {
            let value = f32::from_le_bytes(*value);
            min[axis] = min[axis].min(value);
            max[axis] = max[axis].max(value);
        }
    }
    (accessor.count > 0).then_some((min, max))
}
