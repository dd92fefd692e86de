//! Photographs and traced pictures: PNG files of colour and cover, and laying one over the other.
//!
//! Guarantees: any PNG up to a size is read as eight bits of red, green, blue and cover; a damaged file gives one line.

use std::io::Cursor;
use std::path::Path;
use thiserror::Error;
use unsnarl_volume::level_set::trace::Picture;

/// The most pixels of a photograph that is read.
const MOST_PIXELS: u64 = 1 << 27;

/// A photograph that cannot be read.
#[derive(Debug, Error)]
#[error("{path}: {what}")]
pub struct PhotoError {
    path: String,
    what: String,
}

/// A picture of eight bits a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Photo {
    /// Width and height.
    pub size: [u32; 2],
    /// Red, green, blue and cover of each pixel, row by row from above.
    pub pixels: Vec<[u8; 4]>,
}

/// Reads a PNG file.
pub fn read(path: &Path) -> Result<Photo, PhotoError> {
    let fail = |what: String| PhotoError { path: path.display().to_string(), what };
    let bytes = std::fs::read(path).map_err(|error| fail(format!("cannot read: {error}")))?;
    let mut decoder = png::Decoder::new(Cursor::new(bytes));
    decoder.set_transformations(png::Transformations::normalize_to_color8() | png::Transformations::ALPHA);
    let broken = |error: png::DecodingError| fail(format!("not a PNG picture: {error}"));
    let mut reader = decoder.read_info().map_err(broken)?;
    let (width, height) = (reader.info().width, reader.info().height);
    if u64::from(width) * u64::from(height) > MOST_PIXELS {
        return Err(fail(format!("{width} x {height} pixels; at most {MOST_PIXELS} are read")));
    }
    let length = reader.output_buffer_size().ok_or_else(|| fail("too large".to_owned()))?;
    let mut buffer = vec![0; length];
    let frame = reader.next_frame(&mut buffer).map_err(broken)?;
    let pixels = match frame.color_type {
        png::ColorType::Rgba => buffer.chunks_exact(4).map(|p| [p[0], p[1], p[2], p[3]]).collect(),
        png::ColorType::GrayscaleAlpha => buffer.chunks_exact(2).map(|p| [p[0], p[0], p[0], p[1]]).collect(),
        other => return Err(fail(format!("colours of kind {other:?} are not read"))),
    };
    Ok(Photo { size: [width, height], pixels })
}

/// The bytes of a PNG file.
pub fn encode(photo: &Photo) -> Result<Vec<u8>, PhotoError> {
    let fail = |error: png::EncodingError| PhotoError { path: "picture".to_owned(), what: error.to_string() };
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, photo.size[0], photo.size[1]);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(fail)?;
    let data: Vec<u8> = photo.pixels.iter().flatten().copied().collect();
    writer.write_image_data(&data).map_err(fail)?;
    writer.finish().map_err(fail)?;
    Ok(bytes)
}

/// A traced picture in eight bits, over a photograph if one is given; the photograph is scaled to the picture.
pub fn develop(picture: &Picture, background: Option<&Photo>) -> Photo {
    let [width, height] = picture.size;
    let mut pixels = Vec::with_capacity(picture.pixels.len());
    for (number, &[r, g, b, cover]) in picture.pixels.iter().enumerate() {
        let (x, y) = (number as u32 % width, number as u32 / width);
        let behind =
            background.map(|photo| photo.at((x as f32 + 0.5) / width as f32, (y as f32 + 0.5) / height as f32));
        pixels.push(match behind {
            Some(behind) => {
                let mixed = [0, 1, 2].map(|c| [r, g, b][c] + (1.0 - cover) * behind[c]);
                let [r, g, b] = mixed.map(to_display);
                [r, g, b, 255]
            }
            None => {
                let whole = cover.max(1e-6);
                let [r, g, b] = [r, g, b].map(|value| to_display(value / whole));
                [r, g, b, (cover.clamp(0.0, 1.0) * 255.0).round() as u8]
            }
        });
    }
    Photo { size: picture.size, pixels }
}

impl Photo {
    /// Linear colour at a share of width and height, between the four pixels around it.
    fn at(&self, u: f32, v: f32) -> [f32; 3] {
        let [width, height] = self.size.map(|n| n as usize);
        let (x, y) = (u * width as f32 - 0.5, v * height as f32 - 0.5);
        let (left, top) = (x.floor(), y.floor());
        let pixel = |x: f32, y: f32| {
            let x = (x.max(0.0) as usize).min(width - 1);
            let y = (y.max(0.0) as usize).min(height - 1);
            self.pixels[x + width * y]
        };
        [0, 1, 2].map(|channel| {
            let linear = |x: f32, y: f32| to_linear(pixel(x, y)[channel]);
            let above = linear(left, top) + (x - left) * (linear(left + 1.0, top) - linear(left, top));
            let below =
                linear(left, top + 1.0) + (x - left) * (linear(left + 1.0, top + 1.0) - linear(left, top + 1.0));
            above + (y - top) * (below - above)
        })
    }
}

/// From linear to the display's scale (sRGB).
fn to_display(value: f32) -> u8 {
    let value = value.clamp(0.0, 1.0);
    let shown = if value <= 0.003_130_8 { 12.92 * value } else { 1.055 * value.powf(1.0 / 2.4) - 0.055 };
    (255.0 * shown).round() as u8
}

/// From the display's scale (sRGB) to linear.
fn to_linear(value: u8) -> f32 {
    let value = f32::from(value) / 255.0;
    if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_photo_is_read_as_it_was_written() {
        let pixels = (0..12).map(|n| [n * 20, 255 - n, 7, 100 + n]).collect();
        let photo = Photo { size: [4, 3], pixels };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.png");
        std::fs::write(&path, encode(&photo).unwrap()).unwrap();
        assert_eq!(read(&path).unwrap(), photo);
        std::fs::write(&path, b"no picture").unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains("not a PNG") && !error.contains('\n'), "{error}");
    }

    #[test]
    fn where_nothing_is_hit_the_photograph_shows_and_where_all_is_covered_it_does_not() {
        let photo = Photo { size: [1, 1], pixels: vec![[10, 200, 30, 255]] };
        let picture = Picture { size: [2, 1], pixels: vec![[0.0; 4], [0.0, 0.0, 1.0, 1.0]] };
        let developed = develop(&picture, Some(&photo));
        assert_eq!(developed.pixels, [[10, 200, 30, 255], [0, 0, 255, 255]]);
        assert_eq!(develop(&picture, None).pixels, [[0, 0, 0, 0], [0, 0, 255, 255]]);
    }
}
