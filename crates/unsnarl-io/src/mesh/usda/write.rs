//! A USD text file from scratch: a `Mesh` prim for every object that shares no vertex with another, subsets for groups.

use super::super::text::{Precision, push_number, push_point};
use super::super::units::Conversion;
use super::super::{FaceView, Labels, MeshFile, UpAxis};
use std::collections::BTreeMap;
use std::ops::Range;
use unsnarl_geometry::DVec3;

/// A mesh that stands still.
pub(in super::super) fn encode(file: &MeshFile, conversion: &Conversion) -> Vec<u8> {
    encode_with(file, conversion, None)
}

/// A mesh that moves: seconds and positions, and time codes in a second.
pub(in super::super) fn encode_motion(
    file: &MeshFile,
    conversion: &Conversion,
    samples: &[(f64, Vec<DVec3>)],
    rate: f64,
) -> Vec<u8> {
    let code = |seconds: f64| (seconds * rate * 1e9).round() / 1e9;
    let samples: Vec<(f64, &[DVec3])> = samples.iter().map(|(seconds, points)| (code(*seconds), &points[..])).collect();
    encode_with(file, conversion, Some(&Samples { samples, rate }))
}

/// Points at time codes.
struct Samples<'a> {
    samples: Vec<(f64, &'a [DVec3])>,
    rate: f64,
}

impl Samples<'_> {
    fn push_header(&self, out: &mut Vec<u8>) {
        let ends = [self.samples.first(), self.samples.last()].map(|sample| sample.map_or(0.0, |sample| sample.0));
        let rows = [("startTimeCode", ends[0]), ("endTimeCode", ends[1]), ("timeCodesPerSecond", self.rate)];
        for (name, value) in rows {
            out.extend(format!("\n    {name} = ").into_bytes());
            push_number(out, value, Precision::Double);
        }
    }
}

fn encode_with(file: &MeshFile, conversion: &Conversion, samples: Option<&Samples<'_>>) -> Vec<u8> {
    let mut out = b"#usda 1.0\n(\n    defaultPrim = \"Garment\"\n    metersPerUnit = ".to_vec();
    push_number(&mut out, conversion.unit.in_metres(), Precision::Double);
    let axis = match conversion.up_axis {
        UpAxis::Y => "Y",
        UpAxis::Z => "Z",
    };
    if let Some(samples) = samples {
        samples.push_header(&mut out);
    }
    out.extend(format!("\n    upAxis = \"{axis}\"\n)\n\ndef Xform \"Garment\"\n{{\n").into_bytes());
    let mut faces: Vec<FaceView<'_>> = Vec::new();
    file.for_each_face(|face| faces.push(face));
    let mut names = Names::default();
    match separate_objects(file, &faces) {
        Some(ranges) => {
            for (label, (vertices, own_faces)) in ranges {
                let name = names.unique(&file.objects.names[label]);
                push_mesh(&mut out, (file, samples), conversion, &name, &faces[own_faces], vertices);
            }
        }
        None => {
            let name = file.objects.names.first().map_or("mesh", |name| name.as_str());
            let name = names.unique(name);
            push_mesh(&mut out, (file, samples), conversion, &name, &faces, 0..file.mesh.positions.len());
        }
    }
    out.extend_from_slice(b"}\n");
    out
}

/// The vertices and the faces of objects, by label.
type ObjectRanges = BTreeMap<usize, (Range<usize>, Range<usize>)>;

/// The vertices and the faces of every object, if objects follow each other and share nothing.
fn separate_objects(file: &MeshFile, faces: &[FaceView<'_>]) -> Option<ObjectRanges> {
    if file.objects.names.len() < 2 {
        return None;
    }
    let mut ranges = ObjectRanges::new();
    let mut last = 0;
    for (index, face) in faces.iter().enumerate() {
        let label = *file.objects.of_triangle.get(face.triangle?)? as usize;
        if label < last {
            return None;
        }
        last = label;
        let (low, high) = (*face.corners.iter().min()? as usize, *face.corners.iter().max()? as usize + 1);
        let (vertices, own) = ranges.entry(label).or_insert((low..high, index..index + 1));
        *vertices = vertices.start.min(low)..vertices.end.max(high);
        *own = own.start..index + 1;
    }
    // Unused vertices go to the object before them.
    let mut previous_end = 0;
    let labels: Vec<usize> = ranges.keys().copied().collect();
    for (at, label) in labels.iter().enumerate() {
        let next = labels.get(at + 1).map_or(file.mesh.positions.len(), |next| ranges[next].0.start);
        let vertices = &mut ranges.get_mut(label)?.0;
        if vertices.start < previous_end || vertices.end > next {
            return None;
        }
        *vertices = previous_end..next;
        previous_end = next;
    }
    Some(ranges)
}

fn push_mesh(
    out: &mut Vec<u8>,
    (file, samples): (&MeshFile, Option<&Samples<'_>>),
    conversion: &Conversion,
    name: &str,
    faces: &[FaceView<'_>],
    vertices: Range<usize>,
) {
    let mut line = |text: String| out.extend(format!("        {text}\n").into_bytes());
    line(format!("def Mesh \"{name}\""));
    line("{".into());
    line("    uniform token subdivisionScheme = \"none\"".into());
    let counts: Vec<String> = faces.iter().map(|face| face.corners.len().to_string()).collect();
    line(format!("    int[] faceVertexCounts = [{}]", counts.join(", ")));
    let indices: Vec<String> = faces
        .iter()
        .flat_map(|face| face.corners)
        .map(|&corner| (corner as usize - vertices.start).to_string())
        .collect();
    line(format!("    int[] faceVertexIndices = [{}]", indices.join(", ")));
    if file.normals.is_some() {
        let normals: Vec<DVec3> =
            vertices.clone().filter_map(|vertex| file.normal_in(conversion, vertex as u32)).collect();
        line(format!("    normal3f[] normals = [{}] (", tuples(&normals)));
        line("        interpolation = \"vertex\"".into());
        line("    )".into());
    }
    if let Some(colours) = file.single_colours() {
        line(format!("    color3f[] primvars:displayColor = [{}] (", tuples(&colours[vertices.clone()])));
        line("        interpolation = \"vertex\"".into());
        line("    )".into());
    }
    let rounded = |positions: &[DVec3]| -> Vec<DVec3> {
        let own = positions[vertices.clone()].iter();
        own.map(|&position| Precision::Single.round_point(conversion.to_file(position))).collect()
    };
    match samples {
        None => {
            let points = rounded(&file.mesh.positions);
            line(format!("    point3f[] points = [{}]", tuples(&points)));
            line(format!("    float3[] extent = [{}]", tuples(&extent(&points))));
        }
        Some(samples) => {
            line("    point3f[] points.timeSamples = {".into());
            for (code, positions) in &samples.samples {
                line(format!("        {code}: [{}],", tuples(&rounded(positions))));
            }
            line("    }".into());
            line("    float3[] extent.timeSamples = {".into());
            for (code, positions) in &samples.samples {
                line(format!("        {code}: [{}],", tuples(&extent(&rounded(positions)))));
            }
            line("    }".into());
        }
    }
    if file.uv.is_some() {
        push_uv(&mut line, file, faces);
    }
    push_subsets(&mut line, &file.groups, faces);
    line("}".into());
}

/// The corners of the box around some points.
fn extent(points: &[DVec3]) -> [DVec3; 2] {
    let of = |start: DVec3, choose: fn(DVec3, DVec3) -> DVec3| points.iter().copied().fold(start, choose);
    [of(DVec3::INFINITY, DVec3::min), of(DVec3::NEG_INFINITY, DVec3::max)]
}

fn push_uv(line: &mut impl FnMut(String), file: &MeshFile, faces: &[FaceView<'_>]) {
    let Some(uv) = &file.uv else { return };
    let mut number_of: BTreeMap<u32, usize> =
        faces.iter().flat_map(|face| face.uv_corners).map(|&corner| (corner, 0)).collect();
    let mut values = Vec::with_capacity(number_of.len());
    for (number, (&corner, own)) in number_of.iter_mut().enumerate() {
        *own = number;
        let mut text = b"(".to_vec();
        // Beyond all 32-bit floats there is only infinity, which no reader takes.
        let largest = f64::from(f32::MAX);
        let [u, v] = uv.coordinates[corner as usize].to_array().map(|value| value.clamp(-largest, largest));
        push_number(&mut text, u, Precision::Single);
        text.extend_from_slice(b", ");
        push_number(&mut text, v, Precision::Single);
        text.push(b')');
        values.push(String::from_utf8_lossy(&text).into_owned());
    }
    let indices: Vec<String> =
        faces.iter().flat_map(|face| face.uv_corners).map(|corner| number_of[corner].to_string()).collect();
    line(format!("    texCoord2f[] primvars:st = [{}] (", values.join(", ")));
    line("        interpolation = \"faceVarying\"".into());
    line("    )".into());
    line(format!("    int[] primvars:st:indices = [{}]", indices.join(", ")));
}

fn push_subsets(line: &mut impl FnMut(String), groups: &Labels, faces: &[FaceView<'_>]) {
    let mut by_group: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for (index, face) in faces.iter().enumerate() {
        if let Some(&group) = face.triangle.and_then(|triangle| groups.of_triangle.get(triangle)) {
            by_group.entry(group).or_default().push(index.to_string());
        }
    }
    let mut names = Names::default();
    for (group, members) in by_group {
        let name = &groups.names[group as usize];
        if name.is_empty() {
            continue;
        }
        line(format!("    def GeomSubset \"{}\"", names.unique(name)));
        line("    {".into());
        line("        uniform token elementType = \"face\"".into());
        line(format!("        int[] indices = [{}]", members.join(", ")));
        line("    }".into());
    }
}

fn tuples(points: &[DVec3]) -> String {
    let mut out = Vec::with_capacity(32 * points.len());
    for (at, &point) in points.iter().enumerate() {
        out.extend_from_slice(if at == 0 { b"(" } else { b", (" });
        push_point(&mut out, point, ", ", Precision::Single);
        out.push(b')');
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Names that USD takes, each once.
#[derive(Default)]
struct Names {
    used: std::collections::BTreeSet<String>,
}

impl Names {
    fn unique(&mut self, wanted: &str) -> String {
        let letter = |character: char| if character.is_ascii_alphanumeric() { character } else { '_' };
        let mut base: String = wanted.chars().map(letter).collect();
        if base.is_empty() || base.starts_with(|first: char| first.is_ascii_digit()) {
            base.insert(0, '_');
        }
        let mut name = base.clone();
        let mut number = 1;
        while !self.used.insert(name.clone()) {
            number += 1;
            name = format!("{base}_{number}");
        }
        name
    }
}
