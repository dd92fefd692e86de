//! What every reader fills while it goes through a file, and what turns that into a [`MeshFile`].
//!
//! Guarantees: positions are finite and within [`LARGEST_COORDINATE`]; every index is in range; no triangle names a
//! vertex twice.

use super::error::{Flaw, Place};
use super::faces::{Faces, triangulate};
use super::findings::{Finding, FindingKind, LARGEST_COORDINATE};
use super::labels::LabelDraft;
use super::source::{Patches, PositionPlace, Source, Spelling, position_fingerprint, triangle_fingerprint};
use super::units::Conversion;
use super::{Format, KeepSource, MeshFile, RestFields, Stitch};
use std::sync::Arc;
use unsnarl_geometry::math::is_finite;
use unsnarl_geometry::{DVec2, DVec3, TriMesh, UvMap};

/// Most vertices, faces or corners of a mesh; three times this is still below 2^32.
pub(super) const MOST_ELEMENTS: usize = 1_400_000_000;

/// Marks a corner without uv coordinates.
pub(super) const NO_UV: u32 = u32::MAX;

pub(super) struct Draft {
    pub conversion: Conversion,
    pub positions: Vec<DVec3>,
    /// Of every vertex, or not used.
    pub colours: Vec<DVec3>,
    pub uv_coordinates: Vec<DVec2>,
    starts: Vec<u32>,
    corners: Vec<u32>,
    uv_corners: Vec<u32>,
    pub objects: LabelDraft,
    pub groups: LabelDraft,
    pub materials: LabelDraft,
    pub smoothing: LabelDraft,
    pub material_libraries: Vec<String>,
    pub stitches: Vec<Stitch>,
    pub lines: Vec<[u32; 2]>,
    pub rest: RestDraft,
    pub findings: Vec<Finding>,
    pub places: Vec<PositionPlace>,
}

/// Rest fields by face.
#[derive(Default)]
pub(super) struct RestDraft {
    pub corners: Vec<Option<[DVec3; 3]>>,
    pub bends: Vec<([u32; 2], f64)>,
    pub bent_as_shape: Vec<bool>,
}

impl RestDraft {
    /// By triangle; `None` where there are none, or where triangles are not the faces.
    fn finish(mut self, triangle_count: usize, faces_are_triangles: bool) -> Option<RestFields> {
        let has_any = !(self.corners.is_empty() && self.bends.is_empty());
        self.corners.resize(triangle_count, None);
        self.bent_as_shape.resize(triangle_count, false);
        let Self { corners, bends, bent_as_shape } = self;
        (has_any && faces_are_triangles).then_some(RestFields { corners, bends, bent_as_shape })
    }
}

impl Draft {
    pub fn new(conversion: Conversion) -> Self {
        Self {
            conversion,
            positions: Vec::new(),
            colours: Vec::new(),
            uv_coordinates: Vec::new(),
            starts: vec![0],
            corners: Vec::new(),
            uv_corners: Vec::new(),
            objects: LabelDraft::default(),
            groups: LabelDraft::default(),
            materials: LabelDraft::default(),
            smoothing: LabelDraft::default(),
            material_libraries: Vec::new(),
            stitches: Vec::new(),
            lines: Vec::new(),
            rest: RestDraft::default(),
            findings: Vec::new(),
            places: Vec::new(),
        }
    }

    pub fn face_count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Takes a point of the file, checks it and converts it.
    pub fn push_position(&mut self, point: DVec3, place: Place) -> Result<(), Flaw> {
        let position = checked_position(self.conversion.from_file(point), self.positions.len(), place)?;
        if self.positions.len() >= MOST_ELEMENTS {
            return Err(Flaw::new(place, FindingKind::TooMany, "more vertices than can be numbered"));
        }
        self.positions.push(position);
        Ok(())
    }

    /// Takes a face; `uv` has one entry per corner, or none. Indices are checked by the reader or by [`Draft::finish`].
    pub fn push_face(&mut self, corners: &[u32], uv: &[u32], place: Place) -> Result<(), Flaw> {
        if self.corners.len() + corners.len() > MOST_ELEMENTS {
            return Err(Flaw::new(place, FindingKind::TooMany, "more corners of faces than can be numbered"));
        }
        if !uv.is_empty() && self.uv_corners.is_empty() {
            self.uv_corners.resize(self.corners.len(), NO_UV);
        }
        self.corners.extend_from_slice(corners);
        if !uv.is_empty() {
            self.uv_corners.extend_from_slice(uv);
        } else if !self.uv_corners.is_empty() {
            self.uv_corners.resize(self.corners.len(), NO_UV);
        }
        self.starts.push(self.corners.len() as u32);
        for labels in [&mut self.objects, &mut self.groups, &mut self.materials, &mut self.smoothing] {
            labels.push_face();
        }
        Ok(())
    }

    /// Joins vertices at the very same position; the first of them stays.
    pub fn weld(&mut self) -> Vec<u32> {
        self.weld_within(&[])
    }

    /// Joins vertices at the very same position that also have the same label; without labels, all of them.
    /// Hands out the former number of every vertex that stays.
    pub fn weld_within(&mut self, labels: &[u32]) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.positions.len() as u32).collect();
        let key = |vertex: &u32| {
            let bits = self.positions[*vertex as usize].to_array().map(|value| (value + 0.0).to_bits());
            (labels.get(*vertex as usize).copied().unwrap_or(0), bits)
        };
        order.sort_by_cached_key(key);
        let mut first = vec![0u32; self.positions.len()];
        for run in order.chunk_by(|left, right| key(left) == key(right)) {
            run.iter().for_each(|&vertex| first[vertex as usize] = run[0]);
        }
        let mut renumbered = vec![0u32; self.positions.len()];
        let mut kept = Vec::new();
        let mut former = Vec::new();
        for vertex in 0..self.positions.len() {
            if first[vertex] as usize == vertex {
                renumbered[vertex] = kept.len() as u32;
                kept.push(self.positions[vertex]);
                former.push(vertex as u32);
            } else {
                renumbered[vertex] = renumbered[first[vertex] as usize];
            }
        }
        let lost = self.positions.len() - kept.len();
        if lost > 0 {
            self.findings.push(Finding::new(FindingKind::Welded, lost, "one vertex"));
        }
        if self.colours.len() == self.positions.len() {
            self.colours = former.iter().map(|&vertex| self.colours[vertex as usize]).collect();
        }
        self.positions = kept;
        self.corners.iter_mut().for_each(|corner| *corner = renumbered[*corner as usize]);
        self.places.iter_mut().for_each(|place| place.vertex = renumbered[place.vertex as usize]);
        former
    }

    /// Hands out the collected places of positions.
    pub fn take_patches(&mut self, spelling: Spelling) -> Patches {
        Patches { places: std::mem::take(&mut self.places), spelling, frames: Vec::new(), widening: Vec::new() }
    }

    /// Makes triangles of the faces and hands out the mesh. The file's bytes are kept for writing it again.
    pub fn finish(
        mut self,
        format: Format,
        keep: KeepSource,
        bytes: Vec<u8>,
        patches: Option<Patches>,
    ) -> Result<MeshFile, Flaw> {
        if let Some(&corner) = self.corners.iter().find(|&&corner| corner as usize >= self.positions.len()) {
            let detail =
                format!("a face names vertex {corner} (counted from 0), the file has {}", self.positions.len());
            return Err(Flaw::new(Place::Whole, FindingKind::IndexOutOfRange, detail));
        }
        let uv_is_whole = self.check_uv()?;
        let (triangles, uv_triangles, triangle_face) = self.make_triangles(uv_is_whole);
        if triangles.is_empty() {
            let detail = format!("{} vertices, {} faces, no usable triangle", self.positions.len(), self.face_count());
            return Err(Flaw::new(Place::Whole, FindingKind::Empty, detail));
        }
        let plain = self.corners.len() == 3 * triangles.len() && self.face_count() == triangles.len();
        let rest = std::mem::take(&mut self.rest).finish(triangles.len(), plain);
        let face_of = |labels: LabelDraft| labels.finish(triangle_face.iter().map(|&face| face as usize));
        let objects = face_of(self.objects);
        let groups = face_of(self.groups);
        let materials = face_of(self.materials);
        let smoothing = face_of(self.smoothing);
        let uv = uv_is_whole
            .then(|| UvMap { coordinates: std::mem::take(&mut self.uv_coordinates), triangles: uv_triangles });
        let faces = (!plain).then(|| Faces {
            starts: self.starts,
            corners: self.corners,
            uv_corners: if uv_is_whole { self.uv_corners } else { Vec::new() },
            triangle_face,
        });
        let source = (keep == KeepSource::ForWriting).then(|| {
            Arc::new(Source {
                bytes,
                patches,
                vertex_count: self.positions.len(),
                triangles_at_load: triangle_fingerprint(&triangles),
                positions_at_load: position_fingerprint(&self.positions),
            })
        });
        let has_colours = self.colours.len() == self.positions.len();
        Ok(MeshFile {
            mesh: TriMesh { positions: self.positions, triangles },
            uv,
            faces,
            objects,
            groups,
            materials,
            smoothing,
            material_libraries: self.material_libraries,
            stitches: self.stitches,
            lines: self.lines,
            rest,
            colours: has_colours.then_some(self.colours),
            normals: None,
            format,
            conversion: self.conversion,
            reader_findings: self.findings,
            source,
        })
    }

    /// Whether every corner has uv coordinates.
    fn check_uv(&mut self) -> Result<bool, Flaw> {
        if self.uv_corners.is_empty() {
            return Ok(false);
        }
        let missing = self.uv_corners.iter().filter(|&&uv| uv == NO_UV).count();
        if missing > 0 {
            let first = self.uv_corners.iter().position(|&uv| uv == NO_UV).unwrap_or_default();
            let face = self.starts.partition_point(|&start| start as usize <= first) - 1;
            self.findings.push(Finding::new(FindingKind::PartialUv, missing, format!("face {face}")));
            return Ok(false);
        }
        match self.uv_corners.iter().find(|&&uv| uv as usize >= self.uv_coordinates.len()) {
            None => Ok(true),
            Some(uv) => {
                let count = self.uv_coordinates.len();
                let detail = format!("a face names uv vertex {uv} (counted from 0), the file has {count}");
                Err(Flaw::new(Place::Whole, FindingKind::IndexOutOfRange, detail))
            }
        }
    }

    fn make_triangles(&mut self, uv_is_whole: bool) -> (Vec<[u32; 3]>, Vec<[u32; 3]>, Vec<u32>) {
        let mut triangles = Vec::with_capacity(self.face_count());
        let mut uv_triangles = Vec::with_capacity(if uv_is_whole { self.face_count() } else { 0 });
        let mut triangle_face = Vec::with_capacity(self.face_count());
        let mut of_face = Vec::new();
        let (mut dropped, mut first_dropped) = (0, 0);
        for face in 0..self.face_count() {
            let range = self.starts[face] as usize..self.starts[face + 1] as usize;
            let corners = &self.corners[range.clone()];
            triangulate(corners, &self.positions, &mut of_face);
            if of_face.len() + 2 < corners.len() {
                if dropped == 0 {
                    first_dropped = face;
                }
                dropped += 1;
            }
            for triangle in &of_face {
                triangles.push(triangle.map(|at| corners[at]));
                triangle_face.push(face as u32);
                if uv_is_whole {
                    uv_triangles.push(triangle.map(|at| self.uv_corners[range.start + at]));
                }
            }
        }
        if dropped > 0 {
            self.findings.push(Finding::new(FindingKind::RepeatedVertex, dropped, format!("face {first_dropped}")));
        }
        (triangles, uv_triangles, triangle_face)
    }
}

fn checked_position(position: DVec3, vertex: usize, place: Place) -> Result<DVec3, Flaw> {
    if !is_finite(position) {
        let detail = format!("vertex {vertex} has a coordinate that is not a finite number");
        return Err(Flaw::new(place, FindingKind::NotFinite, detail));
    }
    let largest = position.abs().max_element();
    if largest > LARGEST_COORDINATE {
        let detail = format!("vertex {vertex} has a coordinate of {largest:e} m");
        return Err(Flaw::new(place, FindingKind::HugeCoordinate, detail));
    }
    Ok(position)
}
