//! USD as text: one `Mesh` per piece, points as time samples. Every group of rigid bodies is a class with one `Mesh`,
//! and its bodies are instances of it that move.

use super::{Failed, Source};
use std::io::Write;
use unsnarl_geometry::{Aabb, DVec3};

pub(super) fn write(source: &Source<'_>, out: &mut dyn Write) -> Result<(), Failed> {
    let info = &source.cache.info;
    let (first, last) = (source.frames[0], source.frames[source.frames.len() - 1]);
    writeln!(out, "#usda 1.0\n(")?;
    writeln!(out, "    defaultPrim = \"cloth\"\n    metersPerUnit = 1\n    upAxis = \"Y\"")?;
    writeln!(out, "    startTimeCode = {first}\n    endTimeCode = {last}")?;
    writeln!(out, "    timeCodesPerSecond = {0}\n    framesPerSecond = {0}\n)\n", info.frame_rate)?;
    writeln!(out, "def Xform \"cloth\"\n{{")?;
    for piece in 0..info.pieces.len() {
        write_piece(source, piece, out)?;
    }
    write_instances(source, out)?;
    writeln!(out, "}}")?;
    write_prototypes(source, out)
}

/// The meshes of rigid bodies, outside of what is shown.
fn write_prototypes(source: &Source<'_>, out: &mut dyn Write) -> Result<(), Failed> {
    for (group, (info, shape)) in source.cache.info.rigid.iter().zip(&source.shapes).enumerate() {
        writeln!(out, "\nclass Xform \"{}\"\n{{\n    def Mesh \"mesh\"\n    {{", shape_name(&info.name, group))?;
        writeln!(out, "        uniform token subdivisionScheme = \"none\"")?;
        write!(out, "        int[] faceVertexCounts = [")?;
        list(out, shape.triangles.iter().map(|_| 3))?;
        write!(out, "]\n        int[] faceVertexIndices = [")?;
        list(out, shape.triangles.iter().flatten())?;
        let bounds = Aabb::of_points(shape.positions.iter().copied());
        write!(out, "]\n        float3[] extent = [")?;
        list(out, [bounds.min, bounds.max].iter().map(point_text))?;
        write!(out, "]\n        point3f[] points = [")?;
        list(out, shape.positions.iter().map(point_text))?;
        writeln!(out, "]\n    }}\n}}")?;
    }
    Ok(())
}

/// One instance per rigid body, with a transform per frame.
fn write_instances(source: &Source<'_>, out: &mut dyn Write) -> Result<(), Failed> {
    let frames = source.placements()?;
    for (group, info) in source.cache.info.rigid.iter().enumerate() {
        let prototype = shape_name(&info.name, group);
        for body in 0..info.bodies[1] {
            writeln!(out, "    def \"{}_{body}\" (", identifier(&info.name, "rigid", group))?;
            writeln!(out, "        instanceable = true\n        references = </{prototype}>\n    )\n    {{")?;
            writeln!(out, "        double3 xformOp:translate.timeSamples = {{")?;
            for (frame, placements) in source.frames.iter().zip(&frames) {
                let at = placements[group][body].position;
                writeln!(out, "            {frame}: ({}, {}, {}),", at.x, at.y, at.z)?;
            }
            writeln!(out, "        }}\n        quatd xformOp:orient.timeSamples = {{")?;
            for (frame, placements) in source.frames.iter().zip(&frames) {
                let turn = placements[group][body].rotation;
                writeln!(out, "            {frame}: ({}, {}, {}, {}),", turn.w, turn.x, turn.y, turn.z)?;
            }
            writeln!(out, "        }}")?;
            writeln!(
                out,
                "        uniform token[] xformOpOrder = [\"xformOp:translate\", \"xformOp:orient\"]\n    }}"
            )?;
        }
    }
    Ok(())
}

fn shape_name(name: &str, group: usize) -> String {
    identifier(name, "shape", group)
}

fn point_text(point: &DVec3) -> String {
    format!("({}, {}, {})", point.x as f32, point.y as f32, point.z as f32)
}

fn write_piece(source: &Source<'_>, piece: usize, out: &mut dyn Write) -> Result<(), Failed> {
    let info = &source.cache.info.pieces[piece];
    let range = info.vertices[0]..info.vertices[0] + info.vertices[1];
    writeln!(out, "    def Mesh \"{}\"\n    {{", identifier(&info.name, "piece", piece))?;
    writeln!(out, "        uniform token subdivisionScheme = \"none\"")?;
    write!(out, "        int[] faceVertexCounts = [")?;
    list(out, (0..info.triangles[1]).map(|_| 3))?;
    write!(out, "]\n        int[] faceVertexIndices = [")?;
    list(out, source.piece_triangles(piece).flatten())?;
    writeln!(out, "]")?;
    if let Some(uv) = &source.mesh.panels[piece] {
        write!(out, "        texCoord2f[] primvars:st = [")?;
        list(out, uv.coordinates.iter().map(|uv| format!("({}, {})", uv.x, uv.y)))?;
        writeln!(out, "] (\n            interpolation = \"faceVarying\"\n        )")?;
        write!(out, "        int[] primvars:st:indices = [")?;
        list(out, uv.triangles.iter().flatten())?;
        writeln!(out, "]")?;
    }
    for (name, what) in [("float3[] extent", Sample::Extent), ("point3f[] points", Sample::Points)] {
        writeln!(out, "        {name}.timeSamples = {{")?;
        for &frame in &source.frames {
            let positions = source.positions(frame)?;
            write!(out, "            {frame}: [")?;
            match what {
                Sample::Points => list(out, positions[range.clone()].iter().map(point_text))?,
                Sample::Extent => {
                    let bounds = Aabb::of_points(positions[range.clone()].iter().copied());
                    list(out, [bounds.min, bounds.max].iter().map(point_text))?;
                }
            }
            writeln!(out, "],")?;
        }
        writeln!(out, "        }}")?;
    }
    writeln!(out, "    }}")?;
    Ok(())
}

#[derive(Clone, Copy)]
enum Sample {
    Extent,
    Points,
}

fn list(out: &mut dyn Write, items: impl Iterator<Item = impl std::fmt::Display>) -> std::io::Result<()> {
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.write_all(b", ")?;
        }
        write!(out, "{item}")?;
    }
    Ok(())
}

/// A name that USD allows, different for everything of a kind.
fn identifier(name: &str, kind: &str, number: usize) -> String {
    let clean: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    format!("{kind}{number}_{clean}")
}
