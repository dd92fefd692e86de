//! From the specs of a crate file to the prims of a [`Layer`], in the order of their parents' lists.

use super::container::Container;
use super::damaged;
use super::value::Value;
use crate::mesh::error::Flaw;
use crate::mesh::text::name;
use crate::mesh::usda::colours::{COLOURS, is_colour};
use crate::mesh::usda::parser::{Layer, MeshData, Prim, PrimKind, Samples, is_read, rest_field};
use crate::mesh::usda::xform::Xform;
use std::collections::HashSet;

/// Reads a crate file.
pub(in super::super) fn read_layer(bytes: &[u8], samples: Samples) -> Result<Layer, Flaw> {
    let container = Container::open(bytes)?;
    let root = container.root.ok_or_else(|| damaged(0, "no paths"))?;
    let mut reader = Reader { container: &container, layer: Layer::default(), samples };
    reader.layer.metres_per_unit = reader.number(root, "metersPerUnit")?;
    reader.layer.time_codes_per_second = reader.number(root, "timeCodesPerSecond")?;
    reader.layer.up_axis = reader.word(root, "upAxis")?;
    let mut seen = HashSet::from([root]);
    let mut open: Vec<(u32, Option<usize>)> = reader.children(root, None)?;
    open.reverse();
    while let Some((path, parent)) = open.pop() {
        if !seen.insert(path) {
            return Err(damaged(0, "a prim that is inside itself"));
        }
        let index = reader.prim(path, parent)?;
        let mut below = reader.children(path, Some(index))?;
        below.reverse();
        open.extend(below);
    }
    Ok(reader.layer)
}

struct Reader<'a> {
    container: &'a Container<'a>,
    layer: Layer,
    samples: Samples,
}

impl<'a> Reader<'a> {
    fn value(&self, path: u32, field: &str) -> Option<Value<'a>> {
        self.container.field(path, field).map(|bits| Value::new(self.container, bits)).filter(|value| !value.is_block())
    }

    fn number(&self, path: u32, field: &str) -> Result<Option<f64>, Flaw> {
        let numbers = self.value(path, field).map(|value| value.numbers()).transpose()?;
        Ok(numbers.and_then(|numbers| numbers.first().copied()))
    }

    fn word(&self, path: u32, field: &str) -> Result<Option<String>, Flaw> {
        self.value(path, field).map(|value| value.word()).transpose()
    }

    /// The prims below a path, in order.
    fn children(&self, path: u32, parent: Option<usize>) -> Result<Vec<(u32, Option<usize>)>, Flaw> {
        let Some(list) = self.value(path, "primChildren") else { return Ok(Vec::new()) };
        let below = list.tokens()?.into_iter().filter_map(|token| self.container.child(path, token));
        Ok(below.map(|child| (child, parent)).collect())
    }

    fn prim(&mut self, path: u32, parent: Option<usize>) -> Result<usize, Flaw> {
        let container = self.container;
        let inside_ignored = parent.is_some_and(|parent| self.layer.prims[parent].kind == PrimKind::Ignored);
        // Specifiers: 0 def, 1 over, 2 class; without one a prim is an over.
        let is_defined = container.field(path, "specifier").is_some_and(|bits| bits as u32 == 0);
        let kind = match self.word(path, "typeName")?.as_deref() {
            _ if !is_defined || inside_ignored => PrimKind::Ignored,
            Some("Mesh") => PrimKind::Mesh,
            Some("GeomSubset") => PrimKind::Subset,
            _ => PrimKind::Other,
        };
        for field in ["references", "payload"] {
            self.layer.not_followed += usize::from(container.field(path, field).is_some());
        }
        if let Some(sets) = self.value(path, "variantSetChildren") {
            self.layer.not_followed += sets.tokens()?.len();
        }
        let own = container.path_names.get(&path).copied().unwrap_or_default();
        let index = self.layer.prims.len();
        self.layer.prims.push(Prim {
            kind,
            name: name(container.token(own)?.as_bytes()),
            parent,
            line: 0,
            xform: Xform::default(),
            mesh: MeshData::default(),
            samples: Vec::new(),
        });
        if kind != PrimKind::Ignored {
            let list = self.value(path, "properties").map(|list| list.tokens()).transpose()?;
            for token in list.unwrap_or_default() {
                if let Some(property) = container.property(path, token) {
                    self.property(index, property, container.token(token)?)?;
                }
            }
        }
        Ok(index)
    }

    fn property(&mut self, prim: usize, path: u32, property: &str) -> Result<(), Flaw> {
        let declared = self.word(path, "typeName")?.unwrap_or_default();
        let property_type = declared.trim_end_matches("[]");
        if !is_read(self.layer.prims[prim].kind, property, property_type) {
            return Ok(());
        }
        if property == "material:binding" {
            let target = self.value(path, "targetPaths").map(|targets| targets.first_path()).transpose()?.flatten();
            let token = target.and_then(|target| self.container.path_names.get(&target));
            if let Some(&token) = token {
                self.layer.prims[prim].mesh.material = Some(name(self.container.token(token)?.as_bytes()));
            }
            return Ok(());
        }
        let samples = self.value(path, "timeSamples");
        if samples.is_some() && is_colour(property) {
            return Ok(());
        }
        if let Some(samples) = samples {
            self.layer.time_sampled += 1;
            let samples = samples.samples()?;
            if self.samples == Samples::All && (property == "points" || property.starts_with("xformOp:")) {
                let own = samples.iter().filter(|(_, value)| !value.is_block());
                let own = own.map(|(time, value)| Ok((*time, value.numbers()?))).collect::<Result<_, Flaw>>()?;
                self.layer.prims[prim].samples.push((property.to_owned(), own));
            }
            let has_default = self.value(path, "default").is_some();
            if let Some((_, first)) = samples.first().filter(|(_, value)| !has_default && !value.is_block()) {
                self.set(prim, property, property_type, first)?;
            }
        }
        if let Some(value) = self.value(path, "default") {
            self.set(prim, property, property_type, &value)?;
        }
        let interpolation = self.word(path, "interpolation")?;
        let mesh = &mut self.layer.prims[prim].mesh;
        match interpolation {
            Some(interpolation) if property == mesh.uv_name => mesh.uv_interpolation = interpolation,
            Some(interpolation) if property == COLOURS => mesh.colours.interpolation = interpolation,
            _ => {}
        }
        Ok(())
    }

    /// Takes the value of a property that is read.
    fn set(&mut self, prim: usize, property: &str, property_type: &str, value: &Value<'_>) -> Result<(), Flaw> {
        let container = self.container;
        let prim = &mut self.layer.prims[prim];
        let mesh = &mut prim.mesh;
        match property {
            "points" => {
                let numbers = value.numbers()?;
                let (points, rest) = numbers.as_chunks::<3>();
                if !rest.is_empty() {
                    return Err(damaged(0, "points without three numbers each"));
                }
                mesh.points = points.to_vec();
                mesh.point_ranges = vec![0..0; mesh.points.len()];
                mesh.point_type = property_type.to_owned();
            }
            "faceVertexCounts" => mesh.face_counts = value.integers()?,
            "faceVertexIndices" => mesh.face_indices = value.integers()?,
            "indices" => mesh.subset = value.integers()?,
            "orientation" => mesh.left_handed = value.word()? == "leftHanded",
            "extent" => {}
            "xformOpOrder" => {
                let words = value.tokens()?.into_iter().map(|token| container.token(token).map(str::to_owned));
                prim.xform.order = words.collect::<Result<_, Flaw>>()?;
            }
            _ if property.starts_with("xformOp:") => {
                prim.xform.values.push((property.to_owned(), value.numbers()?));
            }
            COLOURS => mesh.colours.values = value.numbers()?,
            _ => match (rest_field(property), property.strip_suffix(":indices")) {
                (Some("restShapePoints"), _) => mesh.rest.points = value.numbers()?,
                (Some("restTriVtxIndices"), _) => mesh.rest.triangles = value.integers()?,
                (Some("restAdjTriPairs"), _) => mesh.rest.pairs = value.integers()?,
                (Some("restBendAngles"), _) => mesh.rest.angles_degrees = value.numbers()?,
                (Some(_), _) => mesh.rest.default_angles = value.word()?,
                (None, Some(COLOURS)) => mesh.colours.indices = Some(value.integers()?),
                (None, Some(base)) if base == mesh.uv_name => mesh.uv_indices = Some(value.integers()?),
                (None, Some(_)) => {}
                (None, None) if mesh.uv_name.is_empty() || property == "primvars:st" => {
                    (mesh.uv, mesh.uv_name, mesh.uv_indices) = (value.numbers()?, property.to_owned(), None);
                }
                (None, None) => {}
            },
        }
        Ok(())
    }
}
