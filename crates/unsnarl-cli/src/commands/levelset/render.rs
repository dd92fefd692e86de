//! `unsnarl levelset render`: a ray-traced picture of a level set.

use super::read;
use crate::session::{Failure, Session};
use clap::Args;
use std::path::PathBuf;
use std::time::Instant;
use unsnarl_geometry::DVec3;
use unsnarl_io::{photo, write_atomically};
use unsnarl_volume::LevelSet;
use unsnarl_volume::level_set::trace::{Lookout, TraceSettings, Tracer};

#[derive(Args)]
#[command(
    after_help = "Example:\n  unsnarl levelset render body.level -o body.png --gloss 0.02 --background desk.png --shadow-plane 0\n\nWithout --background the picture is transparent where nothing is hit."
)]
pub(super) struct Render {
    /// The level set
    level_set: PathBuf,
    /// The PNG picture to write
    #[arg(short, long, value_name = "PNG")]
    output: PathBuf,
    /// Width and height, pixels [default: 1600x1200, or that of the background]
    #[arg(long, value_name = "WxH")]
    size: Option<String>,
    /// Where the eye is, metres [default: in front of the body, from above]
    #[arg(long, value_name = "X,Y,Z", allow_hyphen_values = true)]
    eye: Option<String>,
    /// What it looks at, metres [default: the middle of the body]
    #[arg(long, value_name = "X,Y,Z", allow_hyphen_values = true)]
    at: Option<String>,
    /// Angle between the lower and the upper edge of the picture, degrees
    #[arg(long, value_name = "DEGREES", default_value_t = 40.0)]
    fov: f64,
    /// Rays in a pixel where the picture is not even
    #[arg(long, value_name = "N", default_value_t = 16)]
    samples: u32,
    /// Slope of a noise finer than a pixel that makes the surface shine; 0 for a matt one
    #[arg(long, value_name = "SLOPE", default_value_t = 0.0)]
    gloss: f64,
    /// Where the light comes from
    #[arg(long, value_name = "X,Y,Z", default_value = "0.5,0.8,0.6", allow_hyphen_values = true)]
    light: String,
    /// Colour of the surface: red, green and blue from 0 to 1, linear
    #[arg(long, value_name = "R,G,B", default_value = "0.62,0.58,0.52")]
    colour: String,
    /// A photograph to lay the picture over
    #[arg(long, value_name = "PNG")]
    background: Option<PathBuf>,
    /// Height of a plane that catches the shadow, metres
    #[arg(long, value_name = "Y", allow_negative_numbers = true)]
    shadow_plane: Option<f64>,
}

pub(super) fn render(flags: &Render, session: &Session) -> Result<LevelSet, Failure> {
    let light = vector("--light", &flags.light)?;
    let colour = vector("--colour", &flags.colour)?;
    if !(1.0..=170.0).contains(&flags.fov) {
        return Err(Failure::usage("--fov takes 1 to 170 degrees"));
    }
    if !(1..=1024).contains(&flags.samples) {
        return Err(Failure::usage("--samples takes a number from 1 to 1024"));
    }
    if !(0.0..=1.0).contains(&flags.gloss) {
        return Err(Failure::usage("--gloss takes a slope from 0 to 1"));
    }
    if light == DVec3::ZERO || colour.min_element() < 0.0 || colour.max_element() > 1.0 {
        return Err(Failure::usage("--light takes a direction, --colour three numbers from 0 to 1"));
    }
    if flags.shadow_plane.is_some_and(|height| !height.is_finite()) {
        return Err(Failure::usage("--shadow-plane takes a height in metres"));
    }
    let asked = flags.size.as_deref().map(size).transpose()?;
    let given = [flags.eye.as_deref(), flags.at.as_deref()].map(|text| text.map(|text| vector("--eye and --at", text)));
    let [eye, at] = given.map(Option::transpose);
    let background = flags.background.as_deref().map(photo::read).transpose().map_err(Failure::input)?;
    let size = asked.or(background.as_ref().map(|photo| photo.size)).unwrap_or([1600, 1200]);
    let mut level_set = read(&flags.level_set)?;
    let start = Instant::now();
    level_set.extend_far();
    let Some(lookout) = lookout(&level_set, eye?, at?, flags.fov, size) else {
        return Err(Failure::input(format!("{}: the level set has no surface to see", flags.level_set.display())));
    };
    let settings = TraceSettings {
        size,
        samples: flags.samples,
        light,
        colour: colour.to_array(),
        gloss: flags.gloss,
        shadow_plane: flags.shadow_plane,
    };
    let tracer = Tracer::new(&level_set);
    let prepared = start.elapsed().as_secs_f64();
    let Some(picture) = tracer.picture(&lookout, &settings) else {
        return Err(Failure::usage("--eye and --at are the same place, or the eye looks straight up or down"));
    };
    drop(tracer);
    session.note(format!("spline {prepared:.2} s, rays {:.2} s", start.elapsed().as_secs_f64() - prepared));
    let developed = photo::develop(&picture, background.as_ref());
    let bytes = photo::encode(&developed).map_err(Failure::input)?;
    write_atomically(&flags.output, &bytes).map_err(Failure::input)?;
    Ok(level_set)
}

/// The eye that was asked for, or one that sees the whole body.
fn lookout(level_set: &LevelSet, eye: Option<DVec3>, at: Option<DVec3>, fov: f64, size: [u32; 2]) -> Option<Lookout> {
    let bounds = level_set.band_bounds()?;
    let at = at.unwrap_or_else(|| bounds.center());
    let field_of_view = fov.to_radians();
    let narrow = (f64::from(size[0]) / f64::from(size[1])).min(1.0);
    let away = 0.5 * bounds.extent().length() / ((0.5 * field_of_view).sin() * narrow);
    let eye = eye.unwrap_or_else(|| at + away * DVec3::new(0.4, 0.32, 0.9).normalize());
    Some(Lookout { eye, at, up: DVec3::Y, field_of_view })
}

/// Three numbers with commas between.
fn vector(name: &str, text: &str) -> Result<DVec3, Failure> {
    let numbers: Vec<f64> = text.split(',').filter_map(|word| word.trim().parse().ok()).collect();
    match numbers[..] {
        [x, y, z] if text.split(',').count() == 3 && DVec3::new(x, y, z).is_finite() => Ok(DVec3::new(x, y, z)),
        _ => Err(Failure::usage(format!("{name}: {text:.60}: expected three numbers, as in 0.1,2,-3"))),
    }
}

/// Two numbers with an x between.
fn size(text: &str) -> Result<[u32; 2], Failure> {
    let sides: Option<[u32; 2]> =
        text.split_once('x').and_then(|(width, height)| Some([width.parse().ok()?, height.parse().ok()?]));
    match sides {
        Some(sides) if sides.iter().all(|side| (1..=16_384).contains(side)) => Ok(sides),
        _ => Err(Failure::usage(format!("--size: {text:.40}: expected pixels as in 1600x1200, each side up to 16384"))),
    }
}
