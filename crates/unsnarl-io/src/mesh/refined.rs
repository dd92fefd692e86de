//! A mesh file after subdivision: everything that its triangles carry goes to their children.

use super::{Labels, MeshFile};
use unsnarl::output::attributes::{inherited, split_uv};
use unsnarl_geometry::{DVec3, TriMesh};

impl MeshFile {
    /// The file with another mesh, whose triangle `t` was split into four children, and those again, as often as
    /// `levels` says, in the order of [`unsnarl_geometry::subdivision::Split`]. Panels are split at the midpoints of
    /// their edges; labels are inherited; lines and stitches keep their vertices, which keep their numbers; faces
    /// become triangles; rest fields are dropped.
    pub fn refined(&self, mesh: TriMesh, normals: Vec<DVec3>, levels: u32) -> Self {
        let labels = |labels: &Labels| Labels {
            names: labels.names.clone(),
            of_triangle: inherited(&labels.of_triangle, levels),
        };
        let mut uv = self.uv.clone();
        for _ in 0..levels {
            uv = uv.map(|uv| split_uv(&uv));
        }
        Self {
            mesh,
            uv,
            faces: None,
            objects: labels(&self.objects),
            groups: labels(&self.groups),
            materials: labels(&self.materials),
            smoothing: labels(&self.smoothing),
            material_libraries: self.material_libraries.clone(),
            stitches: self.stitches.clone(),
            lines: self.lines.clone(),
            rest: None,
            colours: None,
            normals: Some(normals),
            format: self.format,
            conversion: self.conversion,
            reader_findings: Vec::new(),
            source: None,
        }
    }
}
