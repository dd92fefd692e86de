//! The parts of a glTF document that make a static mesh. Everything else in it is passed over.

use serde::Deserialize;
use std::collections::HashMap;
use unsnarl_geometry::DVec3;
use unsnarl_geometry::math::{DAffine3, DMat3, DMat4, DQuat};

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Document {
    pub scene: Option<usize>,
    pub scenes: Vec<Scene>,
    pub nodes: Vec<Node>,
    pub meshes: Vec<Mesh>,
    pub materials: Vec<Named>,
    pub accessors: Vec<Accessor>,
    pub buffer_views: Vec<BufferView>,
    pub buffers: Vec<Buffer>,
    pub extensions_required: Vec<String>,
    pub skins: Vec<Skin>,
    pub animations: Vec<Animation>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Skin {
    pub joints: Vec<usize>,
    pub inverse_bind_matrices: Option<usize>,
}

#[derive(Deserialize)]
pub(super) struct Animation {
    #[serde(default)]
    pub name: String,
    pub channels: Vec<Channel>,
    pub samplers: Vec<Sampler>,
}

#[derive(Deserialize)]
pub(super) struct Channel {
    pub sampler: usize,
    pub target: Target,
}

#[derive(Deserialize)]
pub(super) struct Target {
    pub node: Option<usize>,
    pub path: String,
}

#[derive(Deserialize)]
pub(super) struct Sampler {
    pub input: usize,
    pub output: usize,
    #[serde(default)]
    pub interpolation: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Named {
    pub name: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Scene {
    pub nodes: Vec<usize>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Node {
    pub name: String,
    pub mesh: Option<usize>,
    pub skin: Option<usize>,
    pub children: Vec<usize>,
    matrix: Option<[f64; 16]>,
    translation: Option<[f64; 3]>,
    rotation: Option<[f64; 4]>,
    scale: Option<[f64; 3]>,
}

/// A node's own transform, in parts that animation can replace.
#[derive(Clone, Copy)]
pub(super) struct Pose {
    pub translation: DVec3,
    pub rotation: DQuat,
    pub scale: DVec3,
}

impl Pose {
    pub fn transform(&self) -> DAffine3 {
        let length_squared = self.rotation.length_squared();
        let rotation = if length_squared > 0.0 { self.rotation.normalize() } else { DQuat::IDENTITY };
        DAffine3::from_scale_rotation_translation(self.scale, rotation, self.translation)
    }
}

impl Node {
    /// From the node's coordinates to its parent's; `None` when they are the same.
    pub fn transform(&self) -> Option<DAffine3> {
        if self.matrix.is_some() {
            return self.matrix_transform();
        }
        if self.translation.is_none() && self.rotation.is_none() && self.scale.is_none() {
            return None;
        }
        Some(self.pose().transform())
    }

    /// The transform of a node that is given as a matrix.
    pub fn matrix_transform(&self) -> Option<DAffine3> {
        let matrix = DMat4::from_cols_array(&self.matrix?);
        Some(DAffine3 { matrix3: DMat3::from_mat4(matrix), translation: matrix.w_axis.truncate() })
    }

    /// The transform in parts; a matrix has none, and animation does not act on it.
    pub fn pose(&self) -> Pose {
        Pose {
            translation: DVec3::from_array(self.translation.unwrap_or([0.0; 3])),
            rotation: DQuat::from_array(self.rotation.unwrap_or([0.0, 0.0, 0.0, 1.0])),
            scale: DVec3::from_array(self.scale.unwrap_or([1.0; 3])),
        }
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Mesh {
    pub name: String,
    pub primitives: Vec<Primitive>,
}

#[derive(Deserialize)]
pub(super) struct Primitive {
    #[serde(default)]
    pub attributes: HashMap<String, usize>,
    pub indices: Option<usize>,
    pub material: Option<usize>,
    #[serde(default = "triangles")]
    pub mode: u32,
    #[serde(default)]
    pub targets: Vec<serde::de::IgnoredAny>,
}

fn triangles() -> u32 {
    4
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Accessor {
    pub buffer_view: Option<usize>,
    #[serde(default)]
    pub byte_offset: usize,
    pub component_type: u32,
    #[serde(default)]
    pub normalized: bool,
    pub count: usize,
    #[serde(rename = "type")]
    pub kind: String,
    pub sparse: Option<Sparse>,
}

#[derive(Deserialize)]
pub(super) struct Sparse {
    pub count: usize,
    pub indices: SparseIndices,
    pub values: SparseValues,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SparseIndices {
    pub buffer_view: usize,
    #[serde(default)]
    pub byte_offset: usize,
    pub component_type: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SparseValues {
    pub buffer_view: usize,
    #[serde(default)]
    pub byte_offset: usize,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BufferView {
    pub buffer: usize,
    #[serde(default)]
    pub byte_offset: usize,
    pub byte_length: usize,
    pub byte_stride: Option<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Buffer {
    pub uri: Option<String>,
    pub byte_length: usize,
}
