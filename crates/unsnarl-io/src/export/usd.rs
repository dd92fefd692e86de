//! USD as text: one `Mesh` per piece, points as time samples.

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
    writeln!(out, "}}")?;
    Ok(())
}

fn write_piece(source: &Source<'_>, piece: usize, out: &mut dyn Write) -> Result<(), Failed> {
    let info = &source.cache.info.pieces[piece];
    let range = info.vertices[0]..info.vertices[0] + info.vertices[1];
    writeln!(out, "    def Mesh \"{}\"\n    {{", identifier(&info.name, piece))?;
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
            let text = |point: &DVec3| format!("({}, {}, {})", point.x as f32, point.y as f32, point.z as f32);
            match what {
                Sample::Points => list(out, positions[range.clone()].iter().map(text))?,
                Sample::Extent => {
                    let bounds = Aabb::of_points(positions[range.clone()].iter().copied());
                    list(out, [bounds.min, bounds.max].iter().map(text))?;
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

/// A name that USD allows, different for every piece.
fn identifier(name: &str, piece: usize) -> String {
    let clean: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    format!("piece{piece}_{clean}")
}
