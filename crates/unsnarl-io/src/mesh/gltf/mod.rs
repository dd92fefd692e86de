//! glTF 2.0, as `.gltf` text or `.glb` binary: static meshes, with the transforms of their nodes.
//!
//! Read: triangles, strips and fans of the default scene, positions, `TEXCOORD_0` and `COLOR_0` (without its alpha) of
//! any number type, sparse accessors, buffers inside the file, in data URIs and in files beside it; names of nodes and materials.
//!
//! Guarantees: vertices that the format repeats at seams are joined again within their node (the repeated ones are the
//! uv vertices). A `.glb` with plain 32-bit positions keeps everything else when it is written; otherwise, and for
//! `.gltf`, a file is written from scratch with names, materials' names, positions, uv and triangles.
//! Does not: read skins (the mesh is read as it was bound; [`character`] reads them), morph targets or compressed
//! meshes; keep more than 32 bits of a position.
//! Departs: uv is turned upright (`v` becomes `1 - v`), so that panels look as in OBJ.

mod accessor;
pub mod character;
mod container;
mod document;
mod rewrite;
mod write;

pub(super) use rewrite::renew_bounds;
pub(super) use write::encode;

use super::draft::Draft;
use super::error::{Flaw, Place};
use super::findings::{Finding, FindingKind};
use super::source::{ByteOrder, Patches, PositionPlace, Spelling};
use super::text::{Precision, shown};
use super::{Format, LengthUnit, MeshFile, ReadOptions, UpAxis, Weld};
use accessor::{Data, value_range};
use container::BufferBytes;
use document::{Document, Primitive};
use std::path::Path;
use unsnarl_geometry::math::DAffine3;
use unsnarl_geometry::{DVec2, DVec3};

/// Most vertices or corners for each byte of a file: nodes may show one mesh many times, but not without end.
const MOST_PER_BYTE: usize = 16;

pub(super) fn read(
    bytes: Vec<u8>,
    format: Format,
    options: &ReadOptions,
    folder: Option<&Path>,
) -> Result<MeshFile, Flaw> {
    let (document, buffers) = open(&bytes, folder)?;
    let data = Data { document: &document, buffers: &buffers, file: &bytes };
    let mut reader = Reader::new(data, options);
    reader.scene()?;
    reader.fill_colours();
    let Reader { mut draft, vertex_node, patchable, frames, skinned, passed_over, with_targets, .. } = reader;
    for (count, what) in [
        (passed_over, "points or lines"),
        (skinned, "a skin: the mesh is read as it was bound"),
        (with_targets, "morph targets"),
    ] {
        if count > 0 {
            draft.findings.push(Finding::new(FindingKind::LeftOut, count, what));
        }
    }
    weld(&mut draft, options.weld, &vertex_node);
    let patches = patchable.then(|| {
        let spelling = Spelling::Binary { order: ByteOrder::Little, precision: Precision::Single };
        let mut patches = Patches { frames, ..draft.take_patches(spelling) };
        patches.places.sort_by_key(|place| place.start);
        patches
    });
    let self_contained =
        document.buffers.iter().all(|buffer| buffer.uri.as_deref().is_none_or(|uri| uri.starts_with("data:")));
    drop(document);
    let keep = if self_contained { options.keep_source } else { super::KeepSource::Forget };
    draft.finish(format, keep, bytes, patches)
}

/// Takes a file apart and fetches its buffers.
fn open(bytes: &[u8], folder: Option<&Path>) -> Result<(Document, Vec<BufferBytes>), Flaw> {
    let chunks = container::chunks(bytes)?;
    let document: Document = serde_json::from_slice(&bytes[chunks.json.clone()]).map_err(|error| {
        let place = if chunks.binary.is_some() { Place::Whole } else { Place::Line(error.line()) };
        Flaw::syntax(place, format!("not the JSON of a glTF file: {}", shown(error.to_string().as_bytes())))
    })?;
    check_extensions(&document)?;
    let buffers = container::buffers(&document, &chunks, folder)?;
    Ok((document, buffers))
}

/// Joins vertices as the caller wants; hands out the former number of every vertex that stays.
fn weld(draft: &mut Draft, weld: Weld, vertex_node: &[u32]) -> Vec<u32> {
    match weld {
        Weld::Never => (0..draft.positions.len() as u32).collect(),
        Weld::WhereTheFormatRepeats => draft.weld_within(vertex_node),
        Weld::Always => draft.weld(),
    }
}

fn check_extensions(document: &Document) -> Result<(), Flaw> {
    let compressed = ["KHR_draco_mesh_compression", "EXT_meshopt_compression", "KHR_meshopt_compression"];
    match document.extensions_required.iter().find(|name| compressed.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => {
            let detail = format!("the mesh is compressed ({name}); expected plain buffers");
            Err(Flaw::new(Place::Whole, FindingKind::UnknownKind, detail))
        }
    }
}

/// The accessors that the vertices of a primitive come from.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Attributes {
    positions: usize,
    uv: Option<usize>,
    colours: Option<usize>,
}

/// Vertices that came from one primitive.
struct Run<'a> {
    first: usize,
    count: usize,
    node: usize,
    primitive: &'a Primitive,
}

struct Reader<'a> {
    data: Data<'a>,
    draft: Draft,
    runs: Vec<Run<'a>>,
    /// The node of every vertex, before vertices are joined.
    vertex_node: Vec<u32>,
    frames: Vec<DAffine3>,
    /// Whether every position has a place of its own in the file.
    patchable: bool,
    used_accessors: Vec<bool>,
    visited: Vec<bool>,
    skinned: usize,
    passed_over: usize,
    with_targets: usize,
}

impl<'a> Reader<'a> {
    fn new(data: Data<'a>, options: &ReadOptions) -> Self {
        let (nodes, accessors) = (data.document.nodes.len(), data.document.accessors.len());
        Self {
            draft: Draft::new(options.conversion(LengthUnit::Metre, UpAxis::Y)),
            data,
            runs: Vec::new(),
            vertex_node: Vec::new(),
            frames: Vec::new(),
            patchable: true,
            used_accessors: vec![false; accessors],
            visited: vec![false; nodes],
            skinned: 0,
            passed_over: 0,
            with_targets: 0,
        }
    }

    fn scene(&mut self) -> Result<(), Flaw> {
        let document = self.data.document;
        let roots: Vec<usize> = match document.scenes.get(document.scene.unwrap_or(0)) {
            Some(scene) => scene.nodes.clone(),
            None => {
                let mut is_child = vec![false; document.nodes.len()];
                for &child in document.nodes.iter().flat_map(|node| &node.children) {
                    if let Some(is_child) = is_child.get_mut(child) {
                        *is_child = true;
                    }
                }
                (0..document.nodes.len()).filter(|&node| !is_child[node]).collect()
            }
        };
        let mut waiting: Vec<(usize, Option<DAffine3>)> = roots.into_iter().rev().map(|node| (node, None)).collect();
        while let Some((index, parent)) = waiting.pop() {
            let Some(node) = document.nodes.get(index) else {
                let detail = format!("names node {index}, the file has {}", document.nodes.len());
                return Err(Flaw::new(Place::Whole, FindingKind::IndexOutOfRange, detail));
            };
            if std::mem::replace(&mut self.visited[index], true) {
                return Err(Flaw::syntax(Place::Whole, format!("node {index} has two parents")));
            }
            let world = match (parent, node.transform()) {
                (Some(parent), Some(own)) => Some(parent * own),
                (parent, own) => parent.or(own),
            };
            if node.mesh.is_some() {
                self.mesh(index, world)?;
            }
            waiting.extend(node.children.iter().rev().map(|&child| (child, world)));
        }
        Ok(())
    }

    fn mesh(&mut self, node_index: usize, world: Option<DAffine3>) -> Result<(), Flaw> {
        let document = self.data.document;
        let node = &document.nodes[node_index];
        let mesh_index = node.mesh.unwrap_or_default();
        let Some(mesh) = document.meshes.get(mesh_index) else {
            let detail = format!("names mesh {mesh_index}, the file has {}", document.meshes.len());
            return Err(Flaw::new(Place::Whole, FindingKind::IndexOutOfRange, detail));
        };
        // A skin puts the mesh where its joints are; the node's own transform does not count then.
        let world = if node.skin.is_some() { None } else { world };
        self.skinned += usize::from(node.skin.is_some());
        let name = if node.name.is_empty() { &mesh.name } else { &node.name };
        let faces = self.draft.face_count();
        if !name.is_empty() || faces > 0 {
            self.draft.objects.set(name.clone(), faces);
        }
        let frame = self.frames.len() as u32;
        let transform = world.unwrap_or(DAffine3::IDENTITY);
        self.frames.push(transform);
        if transform.matrix3.determinant().abs().partial_cmp(&1e-30) != Some(std::cmp::Ordering::Greater) {
            self.patchable = false;
        }
        let mut shared: Vec<(Attributes, u32)> = Vec::new();
        for primitive in &mesh.primitives {
            self.with_targets += usize::from(!primitive.targets.is_empty());
            if !(4..=6).contains(&primitive.mode) {
                self.passed_over += 1;
                continue;
            }
            self.primitive(primitive, node_index as u32, frame, &mut shared)?;
        }
        Ok(())
    }

    /// Reads a primitive. `shared` remembers the first vertex of accessors that primitives of one mesh share.
    fn primitive(
        &mut self,
        primitive: &'a Primitive,
        node: u32,
        frame: u32,
        shared: &mut Vec<(Attributes, u32)>,
    ) -> Result<(), Flaw> {
        let Some(&positions) = primitive.attributes.get("POSITION") else {
            self.passed_over += 1;
            return Ok(());
        };
        let optional = |name: &str| primitive.attributes.get(name).copied();
        let own = Attributes { positions, uv: optional("TEXCOORD_0"), colours: optional("COLOR_0") };
        let known = shared.iter().find(|(known, _)| *known == own).map(|known| known.1);
        let first = match known {
            Some(first) => first,
            None => {
                let first = self.vertices(own, node, frame)?;
                let count = self.draft.positions.len() - first as usize;
                self.runs.push(Run { first: first as usize, count, node: node as usize, primitive });
                shared.push((own, first));
                first
            }
        };
        let count = self.data.count(positions)? as u32;
        let indices = match primitive.indices {
            Some(indices) => self.data.indices(indices)?,
            None => (0..count).collect(),
        };
        if let Some(index) = indices.iter().find(|&&index| index >= count) {
            let detail = format!("a triangle names vertex {index}, its primitive has {count}");
            return Err(Flaw::new(Place::Whole, FindingKind::IndexOutOfRange, detail));
        }
        self.check_room(3 * self.draft.face_count() + indices.len())?;
        let material = primitive.material.and_then(|material| self.data.document.materials.get(material));
        if material.is_some() || self.draft.face_count() > 0 {
            let name = material.map_or(String::new(), |material| material.name.clone());
            let faces = self.draft.face_count();
            self.draft.materials.set(name, faces);
        }
        for triangle in triangles(primitive.mode, &indices) {
            let corners = triangle.map(|index| first + index);
            let uv_corners: &[u32] = if own.uv.is_some() { &corners } else { &[] };
            self.draft.push_face(&corners, uv_corners, Place::Whole)?;
        }
        Ok(())
    }

    /// Takes the vertices of a primitive; the number of the first.
    fn vertices(&mut self, own: Attributes, node: u32, frame: u32) -> Result<u32, Flaw> {
        let Attributes { positions, uv, colours } = own;
        let first = self.draft.positions.len();
        let values = self.data.vectors::<3>(positions)?;
        self.check_room(first + values.len())?;
        let layout = self.data.plain_floats(positions);
        let once = !std::mem::replace(&mut self.used_accessors[positions], true);
        self.patchable &= once && layout.is_some() && self.data.is_alone(positions);
        for (at, &value) in values.iter().enumerate() {
            let mut point = DVec3::from_array(value);
            let transform = &self.frames[frame as usize];
            if *transform != DAffine3::IDENTITY {
                point = transform.transform_point3(point);
            }
            let range =
                layout.as_ref().and_then(|layout| value_range(layout, self.data.buffers.get(layout.buffer)?, at));
            match range {
                Some(range) => self.draft.places.push(PositionPlace {
                    start: range.start,
                    length: 12,
                    vertex: (first + at) as u32,
                    frame,
                }),
                None => self.patchable = false,
            }
            self.draft.push_position(point, Place::Whole)?;
            self.vertex_node.push(node);
        }
        let flat = match uv {
            None => vec![[0.0; 2]; values.len()],
            Some(uv) => self.data.vectors::<2>(uv)?,
        };
        if flat.len() < values.len() || flat.iter().flatten().any(|value| !value.is_finite()) {
            let detail = "expected a finite uv coordinate for every vertex";
            return Err(Flaw::new(Place::Whole, FindingKind::NotFinite, detail));
        }
        self.draft.uv_coordinates.extend(flat.iter().take(values.len()).map(|&[u, v]| DVec2::new(u, 1.0 - v)));
        if let Some(colours) = colours.and_then(|colours| self.colours(colours, values.len())) {
            self.draft.colours.resize(first, DVec3::ONE);
            self.draft.colours.extend(colours);
        }
        Ok(first as u32)
    }

    /// A colour for each of so many vertices; `None` where the file does not have them.
    fn colours(&self, accessor: usize, count: usize) -> Option<Vec<DVec3>> {
        let colours: Vec<DVec3> = match self.data.vectors::<3>(accessor) {
            Ok(values) => values.into_iter().map(DVec3::from_array).collect(),
            Err(_) => self.data.vectors::<4>(accessor).ok()?.iter().map(|&[r, g, b, _]| DVec3::new(r, g, b)).collect(),
        };
        (colours.len() == count && colours.iter().all(|colour| colour.is_finite())).then_some(colours)
    }

    /// Where some primitives have colours, the vertices of others are white.
    fn fill_colours(&mut self) {
        if !self.draft.colours.is_empty() {
            self.draft.colours.resize(self.draft.positions.len(), DVec3::ONE);
        }
    }

    fn check_room(&self, count: usize) -> Result<(), Flaw> {
        let most = MOST_PER_BYTE * self.data.byte_count();
        if count <= most {
            return Ok(());
        }
        let detail = format!("nodes show meshes so often that {count} vertices or corners come of them");
        Err(Flaw::new(Place::Whole, FindingKind::PromisesTooMuch, detail))
    }
}

/// The triangles of a list (4), a strip (5) or a fan (6).
fn triangles(mode: u32, indices: &[u32]) -> Vec<[u32; 3]> {
    match mode {
        5 => {
            indices
                .windows(3)
                .enumerate()
                .map(|(at, corners)| {
                    if at % 2 == 0 {
                        [corners[0], corners[1], corners[2]]
                    } else {
                        [corners[1], corners[0], corners[2]]
                    }
                })
                .collect()
        }
        6 => indices.windows(2).skip(1).map(|pair| [indices[0], pair[0], pair[1]]).collect(),
        _ => indices.chunks_exact(3).map(|corners| [corners[0], corners[1], corners[2]]).collect(),
    }
}
