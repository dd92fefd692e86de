//! One OBJ per frame: `cloth.obj` becomes `cloth_000000.obj`, `cloth_000001.obj`, and so on.

use super::{ExportError, Source};
use crate::write_atomically;
use std::fmt::Write;
use std::path::Path;

pub(super) fn write(source: &Source<'_>, target: &Path) -> Result<(), ExportError> {
    let stem = target.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let faces = faces(source);
    for &frame in &source.frames {
        let mut text = String::new();
        for point in source.all_positions(frame)? {
            let _ = writeln!(text, "v {} {} {}", point.x, point.y, point.z);
        }
        text.push_str(&faces);
        let path = target.with_file_name(format!("{stem}_{frame:06}.obj"));
        write_atomically(&path, text.as_bytes())
            .map_err(|error| ExportError::Write { path: path.display().to_string(), reason: error.to_string() })?;
    }
    Ok(())
}

/// Everything after the vertices: the same in every frame.
fn faces(source: &Source<'_>) -> String {
    let mut text = String::new();
    for uv in source.mesh.panels.iter().flatten() {
        for coordinate in &uv.coordinates {
            let _ = writeln!(text, "vt {} {}", coordinate.x, coordinate.y);
        }
    }
    let mut first_uv = 1;
    for (piece, info) in source.cache.info.pieces.iter().enumerate() {
        let _ = writeln!(text, "o {}", info.name.replace(char::is_whitespace, "_"));
        let first = info.vertices[0] as u32 + 1;
        let uv = source.mesh.panels[piece].as_ref();
        for (index, corners) in source.piece_triangles(piece).enumerate() {
            text.push('f');
            for (side, corner) in corners.iter().enumerate() {
                let _ = match uv {
                    Some(uv) => write!(text, " {}/{}", corner + first, uv.triangles[index][side] + first_uv),
                    None => write!(text, " {}", corner + first),
                };
            }
            text.push('\n');
        }
        first_uv += uv.map_or(0, |uv| uv.coordinates.len() as u32);
    }
    let mut first = source.cache.info.vertices as u32 + 1;
    for (group, shape) in source.cache.info.rigid.iter().zip(&source.shapes) {
        for body in 0..group.bodies[1] {
            let _ = writeln!(text, "o {}_{body}", group.name.replace(char::is_whitespace, "_"));
            for [a, b, c] in shape.triangles.iter().map(|corners| corners.map(|corner| corner + first)) {
                let _ = writeln!(text, "f {a} {b} {c}");
            }
            first += shape.positions.len() as u32;
        }
    }
    text
}
