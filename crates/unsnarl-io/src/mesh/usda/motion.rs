//! Meshes that move by time samples: of their points, and of the transforms of any prim above them.
//!
//! Guarantees: vertices are those of the same file read as a static mesh, in the same order; at a sample's time points are the
//! sample's, between samples they go straight, as USD has it.
//! Does not: follow triangles that change.

use super::super::error::{Flaw, Place};
use super::super::findings::FindingKind;
use super::super::{MeshFile, MeshMotion, ReadOptions};
use super::parser::{Layer, PrimKind, Sample, Samples};
use super::{layer_of, place_of, point_precision, unit, unpacked, up_axis, worlds};
use unsnarl_geometry::DVec3;
use unsnarl_geometry::math::is_finite;

/// The most moments at which anything has a sample.
const MOST_MOMENTS: usize = 20_000;
/// Time codes per second where the file does not say.
const USUAL_RATE: f64 = 24.0;

/// Reads a file with all its time samples; a file without any has no frame.
pub(in super::super) fn read_motion(bytes: Vec<u8>, options: &ReadOptions) -> Result<MeshMotion, Flaw> {
    let bytes = unpacked(bytes)?;
    let mut layer = layer_of(&bytes, Samples::All)?;
    let rate = layer.time_codes_per_second.unwrap_or(USUAL_RATE);
    if !(rate.is_finite() && rate > 0.0) {
        return Err(Flaw::syntax(Place::Whole, format!("timeCodesPerSecond is {rate}; expected a number above 0")));
    }
    let mut codes: Vec<f64> = Vec::new();
    for prim in &mut layer.prims {
        for (_, samples) in &mut prim.samples {
            samples.sort_by(|a, b| a.0.total_cmp(&b.0));
            codes.extend(samples.iter().map(|sample| sample.0));
        }
    }
    codes.sort_by(f64::total_cmp);
    codes.dedup();
    if codes.len() > MOST_MOMENTS || codes.iter().any(|code| !code.is_finite()) {
        let detail = format!("time samples at {} moments; expected at most {MOST_MOMENTS} finite ones", codes.len());
        return Err(Flaw::new(Place::Whole, FindingKind::TooMany, detail));
    }
    let conversion = options.conversion(unit(&layer)?, up_axis(&layer)?);
    let file: MeshFile = super::read(bytes, options)?;
    let mut frames = Vec::with_capacity(codes.len());
    for code in codes {
        freeze(&mut layer, code)?;
        let positions: Vec<DVec3> = positions(&layer)?.into_iter().map(|point| conversion.from_file(point)).collect();
        if positions.len() != file.mesh.positions.len() || !positions.iter().all(|&point| is_finite(point)) {
            let detail =
                format!("at time {code} there are other points than at the first, or points that are not finite");
            return Err(Flaw::new(Place::Whole, FindingKind::IndexOutOfRange, detail));
        }
        frames.push((code / rate, positions));
    }
    Ok(MeshMotion { file, frames, rate })
}

/// Gives every sampled property its value at a time.
fn freeze(layer: &mut Layer, code: f64) -> Result<(), Flaw> {
    for prim in &mut layer.prims {
        for (property, samples) in &prim.samples {
            let Some(values) = at(samples, code) else { continue };
            if property == "points" {
                if !values.len().is_multiple_of(3) {
                    return Err(Flaw::syntax(place_of(prim), "expected three numbers for every point"));
                }
                prim.mesh.points = values.chunks_exact(3).map(|point| [point[0], point[1], point[2]]).collect();
            } else {
                prim.xform.values.retain(|(name, _)| name != property);
                prim.xform.values.push((property.clone(), values));
            }
        }
    }
    Ok(())
}

/// The numbers at a time: straight between samples, held outside; the earlier sample where counts differ.
fn at(samples: &[Sample], code: f64) -> Option<Vec<f64>> {
    let after = samples.partition_point(|sample| sample.0 <= code);
    let before = samples.get(after.saturating_sub(1))?;
    match samples.get(after).filter(|next| after > 0 && next.1.len() == before.1.len()) {
        None => Some(before.1.clone()),
        Some(next) => {
            let share = (code - before.0) / (next.0 - before.0);
            Some(before.1.iter().zip(&next.1).map(|(from, to)| from + (to - from) * share).collect())
        }
    }
}

/// All points of all meshes in the world of the file.
fn positions(layer: &Layer) -> Result<Vec<DVec3>, Flaw> {
    let worlds = worlds(layer);
    let mut out = Vec::new();
    for (prim, world) in layer.prims.iter().zip(worlds).filter(|(prim, _)| prim.kind == PrimKind::Mesh) {
        let world = world.map_err(|operation| {
            Flaw::syntax(place_of(prim), format!("expected known transforms with their values, found `{operation}`"))
        })?;
        let precision = point_precision(&prim.mesh);
        out.extend(prim.mesh.points.iter().map(|&point| {
            let point = precision.round_point(DVec3::from_array(point));
            world.map_or(point, |world| world.transform_point3(point))
        }));
    }
    Ok(out)
}
