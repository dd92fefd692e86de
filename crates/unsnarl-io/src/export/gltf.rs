//! glTF binary: one mesh per piece, one morph target per frame, weights that walk from one to the next. Rigid bodies
//! of a group share a mesh; each is a node that moves and turns.

use super::{ExportError, Source};
use crate::write_atomically;
use serde_json::{Value, json};
use std::path::Path;
use unsnarl::rigid::Placement;
use unsnarl_geometry::DVec3;

const FLOAT: u32 = 5126;
const UNSIGNED_INT: u32 = 5125;

/// The binary chunk and what describes it.
#[derive(Default)]
struct Buffer {
    bytes: Vec<u8>,
    views: Vec<Value>,
    accessors: Vec<Value>,
}

impl Buffer {
    fn push(
        &mut self,
        bytes: &[u8],
        count: usize,
        component: u32,
        kind: &str,
        bounds: Option<(Vec<f32>, Vec<f32>)>,
    ) -> usize {
        self.views.push(json!({"buffer": 0, "byteOffset": self.bytes.len(), "byteLength": bytes.len()}));
        self.bytes.extend_from_slice(bytes);
        let mut accessor = json!({
            "bufferView": self.views.len() - 1, "componentType": component, "count": count, "type": kind
        });
        if let Some((min, max)) = bounds {
            accessor["min"] = json!(min);
            accessor["max"] = json!(max);
        }
        self.accessors.push(accessor);
        self.accessors.len() - 1
    }

    fn floats(&mut self, values: &[f32], width: usize, kind: &str) -> usize {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let fold = |start: f32, pick: fn(f32, f32) -> f32| -> Vec<f32> {
            (0..width).map(|k| values.iter().skip(k).step_by(width).copied().fold(start, pick)).collect()
        };
        let bounds = (fold(f32::INFINITY, f32::min), fold(f32::NEG_INFINITY, f32::max));
        self.push(&bytes, values.len() / width, FLOAT, kind, Some(bounds))
    }
}

/// glTF shares uv with positions, so a piece's vertices are split at its seams: for every vertex written, the vertex
/// of the piece and its uv.
struct Split {
    vertices: Vec<(u32, Option<u32>)>,
    triangles: Vec<u32>,
}

fn split(source: &Source<'_>, piece: usize) -> Split {
    let Some(uv) = &source.mesh.panels[piece] else {
        let count = source.cache.info.pieces[piece].vertices[1] as u32;
        let triangles = source.piece_triangles(piece).flatten().collect();
        return Split { vertices: (0..count).map(|vertex| (vertex, None)).collect(), triangles };
    };
    let corners: Vec<(u32, Option<u32>)> = (source.piece_triangles(piece).flatten())
        .zip(uv.triangles.iter().flatten())
        .map(|(vertex, &uv)| (vertex, Some(uv)))
        .collect();
    let mut vertices = corners.clone();
    vertices.sort_unstable();
    vertices.dedup();
    let place = |corner| vertices.binary_search(corner).expect("every corner is in the list") as u32;
    let triangles = corners.iter().map(place).collect();
    Split { vertices, triangles }
}

pub(super) fn write(source: &Source<'_>, target: &Path) -> Result<(), ExportError> {
    let info = &source.cache.info;
    let path = || target.display().to_string();
    let size = 12 * info.vertices as u64 * source.frames.len() as u64;
    if size > 2_000_000_000 {
        let reason = format!("{size} bytes of points; give --every or --last, or write .usda");
        return Err(ExportError::TooLarge { path: path(), reason });
    }
    let all: Vec<Vec<DVec3>> = source.frames.iter().map(|&frame| source.positions(frame)).collect::<Result<_, _>>()?;
    let mut buffer = Buffer::default();
    let times: Vec<f32> =
        source.frames.iter().map(|&frame| ((f64::from(frame - source.frames[0])) / info.frame_rate) as f32).collect();
    let times_accessor = buffer.floats(&times, 1, "SCALAR");
    let weights_accessor = weights(&mut buffer, all.len());
    let (mut meshes, mut nodes, mut samplers, mut channels) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (piece, piece_info) in info.pieces.iter().enumerate() {
        meshes.push(mesh(source, piece, &all, &mut buffer));
        nodes.push(json!({"mesh": piece, "name": piece_info.name}));
        if all.len() > 1 {
            samplers.push(json!({"input": times_accessor, "output": weights_accessor, "interpolation": "LINEAR"}));
            channels.push(json!({"sampler": piece, "target": {"node": piece, "path": "weights"}}));
        }
    }
    let mut rigid = Rigid { meshes, nodes, samplers, channels };
    rigid.add(source, times_accessor, &mut buffer)?;
    let Rigid { meshes, nodes, samplers, channels } = rigid;
    let mut document = json!({
        "asset": {"version": "2.0", "generator": "unsnarl"},
        "scene": 0,
        "scenes": [{"nodes": (0..nodes.len()).collect::<Vec<_>>()}],
        "nodes": nodes,
        "meshes": meshes,
        "materials": [{"doubleSided": true, "pbrMetallicRoughness": {"metallicFactor": 0.0}}],
        "accessors": buffer.accessors,
        "bufferViews": buffer.views,
        "buffers": [{"byteLength": buffer.bytes.len()}],
    });
    if !channels.is_empty() {
        document["animations"] = json!([{"samplers": samplers, "channels": channels}]);
    }
    write_atomically(target, &glb(&document, &buffer.bytes))
        .map_err(|error| ExportError::Write { path: path(), reason: error.to_string() })
}

/// The lists of a document that rigid bodies are added to.
struct Rigid {
    meshes: Vec<Value>,
    nodes: Vec<Value>,
    samplers: Vec<Value>,
    channels: Vec<Value>,
}

impl Rigid {
    fn add(&mut self, source: &Source<'_>, times: usize, buffer: &mut Buffer) -> Result<(), ExportError> {
        let frames = source.placements()?;
        for (group, (info, shape)) in source.cache.info.rigid.iter().zip(&source.shapes).enumerate() {
            let points: Vec<f32> =
                shape.positions.iter().flat_map(|point| point.to_array().map(|value| value as f32)).collect();
            let position = buffer.floats(&points, 3, "VEC3");
            let bytes: Vec<u8> = shape.triangles.iter().flatten().flat_map(|index| index.to_le_bytes()).collect();
            let indices = buffer.push(&bytes, 3 * shape.triangles.len(), UNSIGNED_INT, "SCALAR", None);
            self.meshes.push(json!({"name": info.name, "primitives": [
                {"attributes": {"POSITION": position}, "indices": indices, "material": 0}
            ]}));
            for body in 0..info.bodies[1] {
                let path: Vec<Placement> = frames.iter().map(|placements| placements[group][body]).collect();
                self.add_body(format!("{} {body}", info.name), &path, times, buffer);
            }
        }
        Ok(())
    }

    /// A node of the last mesh. Where it turns, neighbours in time are on the same side of the sphere of quaternions,
    /// so that the shorter way is taken.
    fn add_body(&mut self, name: String, path: &[Placement], times: usize, buffer: &mut Buffer) {
        let mut turns: Vec<[f64; 4]> = path.iter().map(|placement| placement.rotation.to_array()).collect();
        for at in 1..turns.len() {
            if (0..4).map(|k| turns[at][k] * turns[at - 1][k]).sum::<f64>() < 0.0 {
                turns[at] = turns[at].map(|value| -value);
            }
        }
        let shifts: Vec<[f64; 3]> = path.iter().map(|placement| placement.position.to_array()).collect();
        let node = self.nodes.len();
        self.nodes.push(json!({
            "mesh": self.meshes.len() - 1, "name": name, "translation": shifts[0], "rotation": turns[0]
        }));
        if path.len() < 2 {
            return;
        }
        let single = |value: &f64| *value as f32;
        let shifts: Vec<f32> = shifts.iter().flatten().map(single).collect();
        let turns: Vec<f32> = turns.iter().flatten().map(single).collect();
        for (path, values, width, kind) in [("translation", shifts, 3, "VEC3"), ("rotation", turns, 4, "VEC4")] {
            let output = buffer.floats(&values, width, kind);
            self.channels.push(json!({"sampler": self.samplers.len(), "target": {"node": node, "path": path}}));
            self.samplers.push(json!({"input": times, "output": output, "interpolation": "LINEAR"}));
        }
    }
}

/// At frame `n` the weight of target `n` is 1; frame 0 is the mesh itself.
fn weights(buffer: &mut Buffer, frames: usize) -> usize {
    let targets = frames.saturating_sub(1).max(1);
    let mut values = vec![0.0f32; frames * targets];
    for frame in 1..frames {
        values[frame * targets + frame - 1] = 1.0;
    }
    buffer.floats(&values, 1, "SCALAR")
}

fn mesh(source: &Source<'_>, piece: usize, all: &[Vec<DVec3>], buffer: &mut Buffer) -> Value {
    let first = source.cache.info.pieces[piece].vertices[0];
    let split = split(source, piece);
    let gather = |positions: &[DVec3], base: Option<&[DVec3]>| -> Vec<f32> {
        let point = |&(vertex, _): &(u32, Option<u32>)| {
            let at = first + vertex as usize;
            positions[at] - base.map_or(DVec3::ZERO, |base| base[at])
        };
        split.vertices.iter().flat_map(|vertex| point(vertex).to_array().map(|value| value as f32)).collect()
    };
    let position = buffer.floats(&gather(&all[0], None), 3, "VEC3");
    let targets: Vec<Value> = (all[1..].iter())
        .map(|positions| json!({"POSITION": buffer.floats(&gather(positions, Some(&all[0])), 3, "VEC3")}))
        .collect();
    let bytes: Vec<u8> = split.triangles.iter().flat_map(|index| index.to_le_bytes()).collect();
    let indices = buffer.push(&bytes, split.triangles.len(), UNSIGNED_INT, "SCALAR", None);
    let mut attributes = json!({"POSITION": position});
    if let Some(uv) = &source.mesh.panels[piece] {
        let coordinates: Vec<f32> = (split.vertices.iter())
            .filter_map(|vertex| vertex.1)
            .flat_map(|index| uv.coordinates[index as usize].to_array().map(|value| value as f32))
            .collect();
        attributes["TEXCOORD_0"] = json!(buffer.floats(&coordinates, 2, "VEC2"));
    }
    let mut primitive = json!({"attributes": attributes, "indices": indices, "material": 0});
    let mut mesh = json!({"name": source.cache.info.pieces[piece].name});
    if !targets.is_empty() {
        mesh["weights"] = json!(vec![0.0; targets.len()]);
        primitive["targets"] = json!(targets);
    }
    mesh["primitives"] = json!([primitive]);
    mesh
}

/// Header, JSON chunk, binary chunk; chunks are padded to four bytes.
fn glb(document: &Value, binary: &[u8]) -> Vec<u8> {
    let mut text = document.to_string().into_bytes();
    text.resize(text.len().next_multiple_of(4), b' ');
    let padded = binary.len().next_multiple_of(4);
    let total = 12 + 8 + text.len() + 8 + padded;
    let mut out = Vec::with_capacity(total);
    for word in [0x4654_6C67u32, 2, total as u32, text.len() as u32, 0x4E4F_534A] {
        out.extend_from_slice(&word.to_le_bytes());
    }
    out.extend_from_slice(&text);
    for word in [padded as u32, 0x004E_4942] {
        out.extend_from_slice(&word.to_le_bytes());
    }
    out.extend_from_slice(binary);
    out.resize(total, 0);
    out
}
