//! A glTF file from scratch: a node and a mesh for every object, a primitive for every material.

use super::super::text::Precision;
use super::super::units::Conversion;
use super::super::{Format, MeshFile};
use super::container::{encode_base64, glb};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use unsnarl_geometry::DVec3;

pub(in super::super) fn encode(file: &MeshFile, format: Format, conversion: &Conversion) -> Vec<u8> {
    let mut writer = Writer::default();
    for label in 0..file.objects.names.len().max(1) {
        writer.object(file, label, conversion);
    }
    writer.finish(format)
}

#[derive(Default)]
struct Writer {
    binary: Vec<u8>,
    views: Vec<Value>,
    accessors: Vec<Value>,
    meshes: Vec<Value>,
    nodes: Vec<Value>,
    materials: Vec<String>,
}

impl Writer {
    fn object(&mut self, file: &MeshFile, label: usize, conversion: &Conversion) {
        let is_own = |triangle: usize| file.objects.of_triangle.get(triangle).is_none_or(|&own| own as usize == label);
        let own: Vec<usize> = (0..file.mesh.triangles.len()).filter(|&triangle| is_own(triangle)).collect();
        if own.is_empty() {
            return;
        }
        // A vertex of the file for every pair of a vertex and a uv vertex.
        let mut pairs: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        let pair = |triangle: usize, corner: usize| {
            let vertex = file.mesh.triangles[triangle][corner];
            (vertex, file.uv.as_ref().map_or(0, |uv| uv.triangles[triangle][corner]))
        };
        if file.uv.is_none() && file.objects.is_empty() {
            pairs.extend((0..file.mesh.positions.len() as u32).map(|vertex| ((vertex, 0), 0)));
        }
        pairs.extend(own.iter().flat_map(|&triangle| [0, 1, 2].map(|corner| (pair(triangle, corner), 0))));
        for (number, own) in pairs.values_mut().enumerate() {
            *own = number as u32;
        }
        let mut attributes = json!({ "POSITION": self.positions(file, &pairs, conversion) });
        if file.normals.is_some() {
            let normal = |&(vertex, _): &(u32, u32)| file.normal_in(conversion, vertex).unwrap_or(DVec3::Y);
            let values: Vec<f32> = pairs.keys().flat_map(|key| normal(key).as_vec3().to_array()).collect();
            attributes["NORMAL"] = json!(self.floats(&values, "VEC3", 34962));
        }
        if let Some(colours) = file.single_colours() {
            let colour = |&(vertex, _): &(u32, u32)| colours[vertex as usize].as_vec3().to_array();
            let values: Vec<f32> = pairs.keys().flat_map(colour).collect();
            attributes["COLOR_0"] = json!(self.floats(&values, "VEC3", 34962));
        }
        if let Some(uv) = &file.uv {
            let values =
                pairs.keys().map(|&(_, at)| uv.coordinates[at as usize]).map(|uv| [uv.x as f32, (1.0 - uv.y) as f32]);
            let values: Vec<f32> = values.flatten().collect();
            attributes["TEXCOORD_0"] = json!(self.floats(&values, "VEC2", 34962));
        }
        let mut by_material: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for &triangle in &own {
            let material = file.materials.of_triangle.get(triangle).copied().unwrap_or(0);
            let corners = [0, 1, 2].map(|corner| pairs[&pair(triangle, corner)]);
            by_material.entry(material).or_default().extend(corners);
        }
        let mut primitives = Vec::new();
        for (material, indices) in by_material {
            let mut primitive = json!({ "attributes": attributes, "indices": self.indices(&indices), "mode": 4 });
            if let Some(name) = file.materials.names.get(material as usize).filter(|name| !name.is_empty()) {
                primitive["material"] = json!(self.material(name));
            }
            primitives.push(primitive);
        }
        let name = file.objects.names.get(label).filter(|name| !name.is_empty());
        let mut node = json!({ "mesh": self.meshes.len() });
        let mut mesh = json!({ "primitives": primitives });
        if let Some(name) = name {
            node["name"] = json!(name);
            mesh["name"] = json!(name);
        }
        self.nodes.push(node);
        self.meshes.push(mesh);
    }

    fn material(&mut self, name: &str) -> usize {
        self.materials.iter().position(|known| known == name).unwrap_or_else(|| {
            self.materials.push(name.to_owned());
            self.materials.len() - 1
        })
    }

    fn positions(&mut self, file: &MeshFile, pairs: &BTreeMap<(u32, u32), u32>, conversion: &Conversion) -> usize {
        let mut values: Vec<f32> = Vec::with_capacity(3 * pairs.len());
        let (mut min, mut max) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
        for &(vertex, _) in pairs.keys() {
            let point = Precision::Single.round_point(conversion.to_file(file.mesh.positions[vertex as usize]));
            for (axis, value) in point.to_array().into_iter().enumerate() {
                values.push(value as f32);
                min[axis] = min[axis].min(value as f32);
                max[axis] = max[axis].max(value as f32);
            }
        }
        let accessor = self.floats(&values, "VEC3", 34962);
        self.accessors[accessor]["min"] = json!(min);
        self.accessors[accessor]["max"] = json!(max);
        accessor
    }

    fn floats(&mut self, values: &[f32], kind: &str, target: u32) -> usize {
        let width = if kind == "VEC3" { 3 } else { 2 };
        let view = self.view(values.iter().flat_map(|value| value.to_le_bytes()), target);
        self.accessors.push(json!({
            "bufferView": view, "componentType": 5126, "count": values.len() / width, "type": kind
        }));
        self.accessors.len() - 1
    }

    fn indices(&mut self, values: &[u32]) -> usize {
        let view = self.view(values.iter().flat_map(|value| value.to_le_bytes()), 34963);
        self.accessors.push(json!({
            "bufferView": view, "componentType": 5125, "count": values.len(), "type": "SCALAR"
        }));
        self.accessors.len() - 1
    }

    fn view(&mut self, bytes: impl Iterator<Item = u8>, target: u32) -> usize {
        let start = self.binary.len();
        self.binary.extend(bytes);
        let length = self.binary.len() - start;
        self.views.push(json!({ "buffer": 0, "byteOffset": start, "byteLength": length, "target": target }));
        self.views.len() - 1
    }

    fn finish(self, format: Format) -> Vec<u8> {
        let mut buffer = json!({ "byteLength": self.binary.len() });
        if format == Format::Gltf {
            let data = encode_base64(&self.binary);
            buffer["uri"] = json!(format!("data:application/octet-stream;base64,{data}"));
        }
        let mut document = json!({
            "asset": { "version": "2.0", "generator": "Unsnarl" },
            "scene": 0,
            "scenes": [{ "nodes": (0..self.nodes.len()).collect::<Vec<_>>() }],
            "nodes": self.nodes,
            "meshes": self.meshes,
            "accessors": self.accessors,
            "bufferViews": self.views,
            "buffers": [buffer],
        });
        if !self.materials.is_empty() {
            let materials: Vec<Value> = self.materials.iter().map(|name| json!({ "name": name })).collect();
            document["materials"] = json!(materials);
        }
        let text = document.to_string();
        match format {
            Format::Gltf => text.into_bytes(),
            _ => glb(text.as_bytes(), &self.binary),
        }
    }
}
