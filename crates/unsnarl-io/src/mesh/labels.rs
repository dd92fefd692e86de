//! Names on triangles: groups, objects, materials, smoothing groups.

use std::collections::HashMap;

/// One name per triangle, or none at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    /// The names, in the order in which the file first uses them.
    pub names: Vec<String>,
    /// For every triangle the index of its name; empty when the file names nothing.
    pub of_triangle: Vec<u32>,
}

impl Labels {
    /// The name of a triangle; empty before the first name of a file.
    pub fn name(&self, triangle: usize) -> &str {
        self.of_triangle.get(triangle).map_or("", |&label| self.names[label as usize].as_str())
    }

    /// Whether the file names nothing.
    pub fn is_empty(&self) -> bool {
        self.of_triangle.is_empty()
    }
}

/// Collects one name per face while a file is read.
#[derive(Default)]
pub(super) struct LabelDraft {
    names: Vec<String>,
    index_of: HashMap<String, u32>,
    current: u32,
    of_face: Vec<u32>,
}

impl LabelDraft {
    /// From now on faces have this name. `faces` is the number of faces that came before.
    pub fn set(&mut self, name: String, faces: usize) {
        if self.names.is_empty() {
            self.of_face = vec![0; faces];
            if faces > 0 {
                self.number(String::new());
            }
        }
        self.current = self.number(name);
    }

    fn number(&mut self, name: String) -> u32 {
        if let Some(&index) = self.index_of.get(&name) {
            return index;
        }
        let index = self.names.len() as u32;
        self.index_of.insert(name.clone(), index);
        self.names.push(name);
        index
    }

    /// Whether any face has a name.
    pub fn is_used(&self) -> bool {
        !self.names.is_empty()
    }

    /// A face was read.
    pub fn push_face(&mut self) {
        if !self.names.is_empty() {
            self.of_face.push(self.current);
        }
    }

    /// The labels of triangles, given the face of each.
    pub fn finish(self, triangle_face: impl Iterator<Item = usize>) -> Labels {
        if self.of_face.is_empty() {
            return Labels::default();
        }
        Labels { of_triangle: triangle_face.map(|face| self.of_face[face]).collect(), names: self.names }
    }
}
