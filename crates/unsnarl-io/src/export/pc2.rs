//! PC2 point caches: a short header and 32-bit points, frame after frame; in the order of the OBJ files.

use super::{ExportError, Failed, Source};
use std::io::Write;

pub(super) fn write(source: &Source<'_>, out: &mut dyn Write) -> Result<(), Failed> {
    let points = source.point_count();
    let count = i32::try_from(points).map_err(|_| ExportError::TooLarge {
        path: "pc2".into(),
        reason: format!("{points} vertices; PC2 holds 2147483647 at most"),
    })?;
    let rate = source.frames.get(1).map_or(1, |second| second - source.frames[0]);
    out.write_all(b"POINTCACHE2\0")?;
    out.write_all(&1i32.to_le_bytes())?;
    out.write_all(&count.to_le_bytes())?;
    out.write_all(&(source.frames[0] as f32).to_le_bytes())?;
    out.write_all(&(rate as f32).to_le_bytes())?;
    out.write_all(&(source.frames.len() as i32).to_le_bytes())?;
    for &frame in &source.frames {
        for point in source.all_positions(frame)? {
            for coordinate in point.to_array() {
                out.write_all(&(coordinate as f32).to_le_bytes())?;
            }
        }
    }
    Ok(())
}
