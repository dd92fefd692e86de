//! Characters: glTF meshes that follow joints through clips of animation (linear blend skinning).
//!
//! A vertex at time `t` is `sum of weight * joint(t) * inverse bind * position`, over any number of `JOINTS_n` and
//! `WEIGHTS_n` sets; weights are made to add up to 1. A mesh without a skin follows its node.
//!
//! Guarantees: vertices are those of the same file read as a static mesh, in the same order. Sampling outside a clip
//! holds its first or last key.
//! Does not: read morph targets; animate nodes that are given as matrices.

use super::super::error::{Flaw, Place};
use super::super::findings::FindingKind;
use super::super::{Format, KeepSource, MeshFile, MeshFileError, ReadOptions};
use super::accessor::Data;
use super::document::{Animation, Document, Node, Pose, Sampler};
use super::{MOST_PER_BYTE, Reader, Run};
use std::path::Path;
use unsnarl_geometry::DVec3;
use unsnarl_geometry::math::{DAffine3, DMat3, DQuat};

/// A mesh that moves with joints.
#[derive(Clone, Debug)]
pub struct Character {
    /// The mesh in the pose that the file's nodes have without animation.
    pub file: MeshFile,
    /// The clips, in the order of the file.
    pub clips: Vec<Clip>,
    nodes: Vec<Joint>,
    /// Nodes in an order in which parents come first.
    order: Vec<usize>,
    slots: Vec<Slot>,
    bind_positions: Vec<DVec3>,
    /// Where the influences of each vertex start; one more entry than vertices.
    starts: Vec<u32>,
    influences: Vec<(u32, f64)>,
}

/// A named stretch of animation.
#[derive(Clone, Debug)]
pub struct Clip {
    /// Its name; may be empty.
    pub name: String,
    /// Time of the last key, seconds.
    pub seconds: f64,
    channels: Vec<Curve>,
}

#[derive(Clone, Debug)]
struct Joint {
    parent: Option<usize>,
    rest: Rest,
}

#[derive(Clone, Debug)]
enum Rest {
    Parts { translation: DVec3, rotation: DQuat, scale: DVec3 },
    Matrix(DAffine3),
}

/// A node that vertices follow, with the way from the mesh to the node when it was bound.
#[derive(Clone, Debug)]
struct Slot {
    node: usize,
    inverse_bind: DAffine3,
}

#[derive(Clone, Debug)]
struct Curve {
    node: usize,
    path: CurvePath,
    interpolation: Interpolation,
    times: Vec<f64>,
    values: Vec<[f64; 4]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CurvePath {
    Translation,
    Rotation,
    Scale,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interpolation {
    Step,
    Linear,
    Cubic,
}

impl Character {
    /// Reads a character from the bytes of a file; `name` is for messages.
    pub fn from_bytes(format: Format, name: &str, bytes: &[u8], options: &ReadOptions) -> Result<Self, MeshFileError> {
        read(bytes, format, options, None).map_err(|flaw| flaw.in_file(name))
    }

    /// The clip with a name.
    pub fn clip(&self, name: &str) -> Option<&Clip> {
        self.clips.iter().find(|clip| clip.name == name)
    }

    /// Positions without animation, metres with Y up.
    pub fn rest_positions(&self) -> Vec<DVec3> {
        self.pose(&[], 0.0)
    }

    /// Positions at a time of a clip, metres with Y up.
    pub fn positions_at(&self, clip: &Clip, seconds: f64) -> Vec<DVec3> {
        self.pose(&clip.channels, seconds)
    }

    fn pose(&self, channels: &[Curve], seconds: f64) -> Vec<DVec3> {
        let worlds = self.worlds(channels, seconds);
        let matrices: Vec<DAffine3> = self.slots.iter().map(|slot| worlds[slot.node] * slot.inverse_bind).collect();
        let position = |(vertex, &bind): (usize, &DVec3)| {
            let range = self.starts[vertex] as usize..self.starts[vertex + 1] as usize;
            let sum = self.influences[range].iter().fold(DVec3::ZERO, |sum, &(slot, weight)| {
                sum + matrices[slot as usize].transform_point3(bind) * weight
            });
            self.file.conversion.from_file(sum)
        };
        self.bind_positions.iter().enumerate().map(position).collect()
    }

    /// From every node to the world.
    fn worlds(&self, channels: &[Curve], seconds: f64) -> Vec<DAffine3> {
        let mut rests: Vec<Rest> = self.nodes.iter().map(|node| node.rest.clone()).collect();
        for curve in channels {
            let Rest::Parts { translation, rotation, scale } = &mut rests[curve.node] else { continue };
            let value = curve.sample(seconds);
            let vector = DVec3::new(value[0], value[1], value[2]);
            match curve.path {
                CurvePath::Translation => *translation = vector,
                CurvePath::Rotation => *rotation = DQuat::from_array(value),
                CurvePath::Scale => *scale = vector,
            }
        }
        let mut worlds = vec![DAffine3::IDENTITY; self.nodes.len()];
        for &node in &self.order {
            let own = match rests[node] {
                Rest::Parts { translation, rotation, scale } => Pose { translation, rotation, scale }.transform(),
                Rest::Matrix(matrix) => matrix,
            };
            worlds[node] = self.nodes[node].parent.map_or(own, |parent| worlds[parent] * own);
        }
        worlds
    }
}

impl Curve {
    fn sample(&self, seconds: f64) -> [f64; 4] {
        let key = |at: usize| match self.interpolation {
            Interpolation::Cubic => self.values[3 * at + 1],
            _ => self.values[at],
        };
        let after = self.times.partition_point(|&time| time <= seconds);
        if after == 0 {
            return key(0);
        }
        if after == self.times.len() {
            return key(after - 1);
        }
        let (from, to) = (after - 1, after);
        let span = self.times[to] - self.times[from];
        let part = (seconds - self.times[from]) / span;
        match self.interpolation {
            Interpolation::Step => key(from),
            Interpolation::Linear if self.path == CurvePath::Rotation => {
                let ends = [key(from), key(to)].map(|value| DQuat::from_array(value).normalize());
                // Between equal keys nothing moves, not even in the last bit.
                if ends[0] == ends[1] { ends[0].to_array() } else { ends[0].slerp(ends[1], part).to_array() }
            }
            Interpolation::Linear => onward(key(from), [(difference(key(to), key(from)), part)]),
            Interpolation::Cubic => {
                let (square, cube) = (part * part, part * part * part);
                let steps = [
                    (self.values[3 * from + 2], span * (cube - 2.0 * square + part)),
                    (difference(key(to), key(from)), 3.0 * square - 2.0 * cube),
                    (self.values[3 * to], span * (cube - square)),
                ];
                onward(key(from), steps)
            }
        }
    }
}

/// From a value by weighted steps; steps of 0 leave it as it is, to the last bit.
fn onward<const N: usize>(from: [f64; 4], steps: [([f64; 4], f64); N]) -> [f64; 4] {
    std::array::from_fn(|at| from[at] + steps.iter().map(|(step, weight)| step[at] * weight).sum::<f64>())
}

fn difference(to: [f64; 4], from: [f64; 4]) -> [f64; 4] {
    std::array::from_fn(|at| to[at] - from[at])
}

pub(in super::super) fn read(
    bytes: &[u8],
    format: Format,
    options: &ReadOptions,
    folder: Option<&Path>,
) -> Result<Character, Flaw> {
    let (document, buffers) = super::open(bytes, folder)?;
    let data = Data { document: &document, buffers: &buffers, file: bytes };
    let mut reader = Reader::new(data, options);
    reader.scene()?;
    let (slots, starts, influences) = bindings(&reader)?;
    let raw = raw_positions(&reader)?;
    let clips = clips(&reader.data)?;
    let Reader { mut draft, vertex_node, .. } = reader;
    let former = super::weld(&mut draft, options.weld, &vertex_node);
    let (nodes, order) = skeleton(&document)?;
    let mut character = Character {
        file: draft.finish(format, KeepSource::Forget, Vec::new(), None)?,
        clips,
        nodes,
        order,
        slots,
        bind_positions: former.iter().map(|&vertex| raw[vertex as usize]).collect(),
        starts: vec![0],
        influences: Vec::new(),
    };
    for &vertex in &former {
        let range = starts[vertex as usize] as usize..starts[vertex as usize + 1] as usize;
        character.influences.extend_from_slice(&influences[range]);
        character.starts.push(character.influences.len() as u32);
    }
    character.file.mesh.positions = character.rest_positions();
    check_positions(&character.file.mesh.positions)?;
    Ok(character)
}

fn check_positions(positions: &[DVec3]) -> Result<(), Flaw> {
    match positions.iter().position(|position| !position.is_finite()) {
        None => Ok(()),
        Some(vertex) => {
            let detail = format!("joints put vertex {vertex} at a place that is not finite");
            Err(Flaw::new(Place::Whole, FindingKind::NotFinite, detail))
        }
    }
}

/// Positions as the accessors hold them, run after run.
fn raw_positions(reader: &Reader<'_>) -> Result<Vec<DVec3>, Flaw> {
    let mut raw = Vec::with_capacity(reader.draft.positions.len());
    for run in &reader.runs {
        let positions = run.primitive.attributes.get("POSITION").copied().unwrap_or_default();
        raw.extend(reader.data.vectors::<3>(positions)?.into_iter().map(DVec3::from_array));
    }
    Ok(raw)
}

type Bindings = (Vec<Slot>, Vec<u32>, Vec<(u32, f64)>);

/// The nodes that vertices follow, and the influences of each vertex.
fn bindings(reader: &Reader<'_>) -> Result<Bindings, Flaw> {
    let (mut slots, mut starts, mut influences) = (Vec::new(), vec![0u32], Vec::new());
    let mut first_slot_of_skin: Vec<Option<usize>> = vec![None; reader.data.document.skins.len()];
    for run in &reader.runs {
        debug_assert_eq!(run.first + 1, starts.len());
        let Some(skin) = reader.data.document.nodes[run.node].skin else {
            let slot = slots.len() as u32;
            slots.push(Slot { node: run.node, inverse_bind: DAffine3::IDENTITY });
            for _ in 0..run.count {
                influences.push((slot, 1.0));
                starts.push(influences.len() as u32);
            }
            continue;
        };
        let Some(first_slot) = first_slot_of_skin.get_mut(skin) else {
            return Err(Flaw::new(
                Place::Whole,
                FindingKind::IndexOutOfRange,
                format!("names skin {skin}, which is not there"),
            ));
        };
        let first = match *first_slot {
            Some(first) => first,
            None => {
                let first = slots.len();
                slots.extend(skin_slots(&reader.data, skin)?);
                *first_slot = Some(first);
                first
            }
        };
        let joint_count = reader.data.document.skins[skin].joints.len();
        skin_influences(reader, run, first as u32, joint_count, &mut starts, &mut influences)?;
    }
    Ok((slots, starts, influences))
}

fn skin_slots(data: &Data<'_>, skin: usize) -> Result<Vec<Slot>, Flaw> {
    let skin = &data.document.skins[skin];
    let node_count = data.document.nodes.len();
    if skin.joints.is_empty() || skin.joints.iter().any(|&joint| joint >= node_count) {
        let detail = format!("expected joints of a skin among the {node_count} nodes");
        return Err(Flaw::new(Place::Whole, FindingKind::IndexOutOfRange, detail));
    }
    let matrices = match skin.inverse_bind_matrices {
        None => vec![DAffine3::IDENTITY; skin.joints.len()],
        Some(accessor) => data.vectors::<16>(accessor)?.iter().map(affine).collect(),
    };
    if matrices.len() < skin.joints.len() {
        let detail = format!("{} inverse bind matrices for {} joints", matrices.len(), skin.joints.len());
        return Err(Flaw::new(Place::Whole, FindingKind::IndexOutOfRange, detail));
    }
    Ok(skin.joints.iter().zip(matrices).map(|(&node, inverse_bind)| Slot { node, inverse_bind }).collect())
}

/// A matrix given by columns, its last row (0, 0, 0, 1).
fn affine(columns: &[f64; 16]) -> DAffine3 {
    let column = |at: usize| DVec3::new(columns[4 * at], columns[4 * at + 1], columns[4 * at + 2]);
    DAffine3 { matrix3: DMat3::from_cols(column(0), column(1), column(2)), translation: column(3) }
}

fn skin_influences(
    reader: &Reader<'_>,
    run: &Run<'_>,
    first_slot: u32,
    joint_count: usize,
    starts: &mut Vec<u32>,
    influences: &mut Vec<(u32, f64)>,
) -> Result<(), Flaw> {
    let mut sets = Vec::new();
    for set in 0.. {
        let attribute = |name: &str| run.primitive.attributes.get(&format!("{name}_{set}")).copied();
        let Some((joints, weights)) = attribute("JOINTS").zip(attribute("WEIGHTS")) else { break };
        sets.push((reader.data.vectors::<4>(joints)?, reader.data.vectors::<4>(weights)?));
    }
    if sets.iter().any(|(joints, weights)| joints.len() < run.count || weights.len() < run.count) {
        return Err(Flaw::syntax(Place::Whole, "expected joints and weights for every vertex of a skinned mesh"));
    }
    for vertex in 0..run.count {
        let own = influences.len();
        for (joint, weight) in sets.iter().flat_map(|(joints, weights)| joints[vertex].into_iter().zip(weights[vertex]))
        {
            if !(weight.is_finite() && weight >= 0.0) || joint as usize >= joint_count {
                let detail = format!(
                    "vertex {vertex} follows joint {joint} with weight {weight}; the skin has {joint_count} joints"
                );
                return Err(Flaw::new(Place::Whole, FindingKind::IndexOutOfRange, detail));
            }
            if weight > 0.0 {
                influences.push((first_slot + joint as u32, weight));
            }
        }
        let total: f64 = influences[own..].iter().map(|(_, weight)| weight).sum();
        if total > 0.0 {
            influences[own..].iter_mut().for_each(|(_, weight)| *weight /= total);
        } else {
            influences.push((first_slot, 1.0));
        }
        starts.push(influences.len() as u32);
    }
    Ok(())
}

/// Every node with its parent, and an order in which parents come first.
fn skeleton(document: &Document) -> Result<(Vec<Joint>, Vec<usize>), Flaw> {
    let joint = |node: &Node| Joint {
        parent: None,
        rest: match node.matrix_transform() {
            Some(matrix) => Rest::Matrix(matrix),
            None => {
                let Pose { translation, rotation, scale } = node.pose();
                Rest::Parts { translation, rotation, scale }
            }
        },
    };
    let mut nodes: Vec<Joint> = document.nodes.iter().map(joint).collect();
    for (parent, node) in document.nodes.iter().enumerate() {
        for &child in &node.children {
            match nodes.get_mut(child) {
                Some(own) if own.parent.is_none() => own.parent = Some(parent),
                _ => return Err(Flaw::syntax(Place::Whole, format!("node {child} is missing or has two parents"))),
            }
        }
    }
    let mut order: Vec<usize> = (0..nodes.len()).filter(|&node| nodes[node].parent.is_none()).collect();
    let mut next = 0;
    while next < order.len() {
        order.extend_from_slice(&document.nodes[order[next]].children);
        next += 1;
    }
    if order.len() != nodes.len() {
        return Err(Flaw::syntax(Place::Whole, "the nodes form a ring"));
    }
    Ok((nodes, order))
}

fn clips(data: &Data<'_>) -> Result<Vec<Clip>, Flaw> {
    let mut room = MOST_PER_BYTE * data.byte_count();
    data.document.animations.iter().map(|animation| clip(data, animation, &mut room)).collect()
}

fn clip(data: &Data<'_>, animation: &Animation, room: &mut usize) -> Result<Clip, Flaw> {
    let mut channels = Vec::new();
    for channel in &animation.channels {
        let path = match channel.target.path.as_str() {
            "translation" => CurvePath::Translation,
            "rotation" => CurvePath::Rotation,
            "scale" => CurvePath::Scale,
            _ => continue,
        };
        let Some(node) = channel.target.node else { continue };
        let Some(sampler) = animation.samplers.get(channel.sampler).filter(|_| node < data.document.nodes.len()) else {
            let detail = format!("an animation names node {node} or sampler {}, which is not there", channel.sampler);
            return Err(Flaw::new(Place::Whole, FindingKind::IndexOutOfRange, detail));
        };
        channels.push(curve(data, sampler, node, path, room)?);
    }
    let seconds = channels.iter().filter_map(|curve| curve.times.last()).fold(0.0, |last: f64, &time| last.max(time));
    Ok(Clip { name: animation.name.clone(), seconds, channels })
}

fn curve(data: &Data<'_>, sampler: &Sampler, node: usize, path: CurvePath, room: &mut usize) -> Result<Curve, Flaw> {
    let interpolation = match sampler.interpolation.as_str() {
        "STEP" => Interpolation::Step,
        "CUBICSPLINE" => Interpolation::Cubic,
        _ => Interpolation::Linear,
    };
    let needed = data.count(sampler.input)?.saturating_add(data.count(sampler.output)?);
    *room = room.checked_sub(needed).ok_or_else(|| {
        Flaw::new(Place::Whole, FindingKind::PromisesTooMuch, "animations use the same keys over and over")
    })?;
    let times: Vec<f64> = data.vectors::<1>(sampler.input)?.into_iter().map(|[time]| time).collect();
    let values: Vec<[f64; 4]> = if path == CurvePath::Rotation {
        data.vectors::<4>(sampler.output)?
    } else {
        data.vectors::<3>(sampler.output)?.into_iter().map(|[x, y, z]| [x, y, z, 0.0]).collect()
    };
    let needed = if interpolation == Interpolation::Cubic { 3 * times.len() } else { times.len() };
    let in_order = times.windows(2).all(|pair| pair[0] < pair[1]) && times.iter().all(|time| time.is_finite());
    if times.is_empty() || !in_order || values.len() < needed || values.iter().flatten().any(|value| !value.is_finite())
    {
        return Err(Flaw::syntax(
            Place::Whole,
            "expected keys of an animation in order of time, with a finite value each",
        ));
    }
    Ok(Curve { node, path, interpolation, times, values })
}
