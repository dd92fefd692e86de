//! PC2 point caches: a header of 32 bytes, then 32-bit points, frame after frame.

use super::{AnimationError, wrong};
use crate::mesh::Conversion;
use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use unsnarl_geometry::DVec3;
use unsnarl_geometry::math::is_finite;

const MAGIC: &[u8; 12] = b"POINTCACHE2\0";
const HEADER: u64 = 32;

/// A point cache that was looked over.
#[derive(Clone, Debug)]
pub struct PointCache {
    path: PathBuf,
    /// The mesh that goes with it.
    pub mesh: PathBuf,
    /// Points of a frame.
    pub point_count: usize,
    /// How many frames there are.
    pub frame_count: usize,
    /// Start and rate, as the header has them.
    clock: [u8; 8],
}

/// Whether a path has the extension of a point cache.
pub fn is_named_so(path: &Path) -> bool {
    path.extension().is_some_and(|own| own.eq_ignore_ascii_case("pc2"))
}

impl PointCache {
    /// Reads the header; the file has to be as long as it says.
    pub fn open(path: &Path, mesh: &Path) -> Result<Self, AnimationError> {
        let unreadable = |error: std::io::Error| wrong(path, format!("cannot read: {error}"));
        let mut file = File::open(path).map_err(unreadable)?;
        let size = file.metadata().map_err(unreadable)?.len();
        let mut header = [0_u8; HEADER as usize];
        let short = |_| wrong(path, format!("{size} bytes; a point cache has a header of {HEADER}"));
        file.read_exact(&mut header).map_err(short)?;
        if &header[..12] != MAGIC {
            return Err(wrong(path, "does not begin with POINTCACHE2: not a point cache"));
        }
        let number = |at: usize| i32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let (version, points, frames) = (number(12), number(16), number(28));
        if version != 1 {
            return Err(wrong(path, format!("version {version} of the point cache format; expected 1")));
        }
        let (Ok(point_count), Ok(frame_count)) = (usize::try_from(points), usize::try_from(frames)) else {
            return Err(wrong(path, format!("{points} points in {frames} frames; expected numbers above 0")));
        };
        if point_count == 0 || frame_count == 0 {
            return Err(wrong(path, format!("{points} points in {frames} frames; expected numbers above 0")));
        }
        let expected = HEADER as u128 + 12 * point_count as u128 * frame_count as u128;
        if u128::from(size) < expected {
            let reason = format!("cut short: {size} bytes of {expected} for {frames} frames of {points} points");
            return Err(wrong(path, reason));
        }
        let clock = header[20..28].try_into().unwrap_or_default();
        Ok(Self { path: path.to_path_buf(), mesh: mesh.to_path_buf(), point_count, frame_count, clock })
    }

    /// The points of a frame, metres with Y up.
    pub fn read(&self, frame: usize, conversion: &Conversion) -> Result<Vec<DVec3>, AnimationError> {
        let unreadable = |error: std::io::Error| wrong(&self.path, format!("cannot read: {error}"));
        let mut file = File::open(&self.path).map_err(unreadable)?;
        file.seek(SeekFrom::Start(HEADER + 12 * (frame * self.point_count) as u64)).map_err(unreadable)?;
        let mut bytes = vec![0_u8; 12 * self.point_count];
        file.read_exact(&mut bytes).map_err(unreadable)?;
        let coordinate = |bytes: &[u8]| f64::from(f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
        let point = |bytes: &[u8]| DVec3::new(coordinate(bytes), coordinate(&bytes[4..]), coordinate(&bytes[8..]));
        let points: Vec<DVec3> = bytes.chunks_exact(12).map(|bytes| conversion.from_file(point(bytes))).collect();
        match points.iter().position(|&point| !is_finite(point)) {
            Some(at) => Err(wrong(&self.path, format!("frame {frame}: point {at} is not finite"))),
            None => Ok(points),
        }
    }

    /// Writes a cache with the same clock beside its target, and renames it.
    pub(super) fn write(
        &self,
        target: &Path,
        conversion: &Conversion,
        frame: &dyn Fn(usize) -> Result<Vec<DVec3>, AnimationError>,
    ) -> Result<(), AnimationError> {
        let fail = |error: std::io::Error| wrong(target, format!("cannot write: {error}"));
        let file = crate::temporary_beside(target).map_err(fail)?;
        let mut out = BufWriter::with_capacity(1 << 20, file);
        out.write_all(MAGIC).map_err(fail)?;
        out.write_all(&1_i32.to_le_bytes()).map_err(fail)?;
        out.write_all(&(self.point_count as i32).to_le_bytes()).map_err(fail)?;
        out.write_all(&self.clock).map_err(fail)?;
        out.write_all(&(self.frame_count as i32).to_le_bytes()).map_err(fail)?;
        for at in 0..self.frame_count {
            for point in frame(at)? {
                for coordinate in conversion.to_file(point).to_array() {
                    out.write_all(&(coordinate as f32).to_le_bytes()).map_err(fail)?;
                }
            }
        }
        let file = out.into_inner().map_err(|error| fail(error.into_error()))?;
        file.persist(target).map_err(|error| fail(error.error))?;
        Ok(())
    }
}

/// Where a point cache has a point: rounded to 32 bits in the units of its mesh.
pub(super) fn stored(point: DVec3, conversion: &Conversion) -> DVec3 {
    let round = |point: DVec3| {
        let rounded = conversion.to_file(point).to_array().map(|coordinate| f64::from(coordinate as f32));
        conversion.from_file(DVec3::from_array(rounded))
    };
    // Where units are converted, rounding once more may move it again; after that it stays.
    let once = round(point);
    let twice = round(once);
    if twice == once { once } else { round(twice) }
}
