//! Folds that are being torn or flipped, in a frame of a cache.
//!
//! Jobs are rows of numbers, their triangles, vertices and hinges one list after the other. Rows that do not fit the
//! cloth are
//! left out: a cache that was damaged may forget a tear, but never names what is not there.

use super::container::{Container, ContainerError};
use unsnarl::model::Model;
use unsnarl::rest_shape::RestShape;
use unsnarl::untangle::folds::flip::FlipJob;
use unsnarl::untangle::folds::tearing::{TearJob, Tearing};
use unsnarl_geometry::{DVec2, TriangleId, VertexId};

pub(super) fn encode(tearing: &Tearing, container: &mut Container) {
    if !tearing.jobs.is_empty() {
        let row = |job: &TearJob| [job.strip.len() as f64, job.least_depth as f64, job.waited, job.age];
        container.push_reals("tears", tearing.jobs.iter().map(row));
        let strips = tearing.jobs.iter().flat_map(|job| job.strip.iter().map(|triangle| [triangle.0]));
        container.push_indices("tear_strips", strips);
    }
    if !tearing.yielded.is_empty() {
        container.push_indices("yielded", tearing.yielded.keys().map(|triangle| [triangle.0]));
        let sides = |shape: &RestShape| [shape.sides[0].x, shape.sides[0].y, shape.sides[1].x, shape.sides[1].y];
        container.push_reals("yielded_shapes", tearing.yielded.values().map(sides));
    }
    if !tearing.angles.is_empty() {
        container.push_indices("flat_hinges", tearing.angles.iter().map(|(hinge, _)| [*hinge as u32]));
        container.push_reals("flat_angles", tearing.angles.iter().map(|(_, angle)| [*angle]));
    }
}

pub(super) fn decode(model: &Model, container: &Container) -> Result<Tearing, ContainerError> {
    let mut tearing = Tearing::default();
    let is_triangle = |at: u32| (at as usize) < model.rest_shapes.len();
    if container.has("tears") {
        let strips: Vec<[u32; 1]> = container.indices("tear_strips")?;
        let mut strips = strips.into_iter();
        for [length, least_depth, waited, age] in container.reals::<4>("tears")? {
            let strip: Vec<u32> = strips.by_ref().take(length.max(0.0) as usize).map(|[at]| at).collect();
            if strip.iter().all(|&at| is_triangle(at)) {
                let strip = strip.into_iter().map(TriangleId).collect();
                tearing.jobs.push(TearJob { strip, least_depth: least_depth.max(0.0) as usize, waited, age });
            }
        }
    }
    if container.has("yielded") {
        let triangles: Vec<[u32; 1]> = container.indices("yielded")?;
        let shapes = container.reals::<4>("yielded_shapes")?;
        let own = triangles.into_iter().zip(shapes).filter(|([at], _)| is_triangle(*at));
        let shape = |[a, b, c, d]: [f64; 4]| RestShape { sides: [DVec2::new(a, b), DVec2::new(c, d)] };
        tearing.yielded = own.map(|([at], sides)| (TriangleId(at), shape(sides))).collect();
    }
    if container.has("flat_hinges") {
        let hinges: Vec<[u32; 1]> = container.indices("flat_hinges")?;
        let angles = hinges.into_iter().zip(container.reals::<1>("flat_angles")?);
        let own = angles.filter(|([hinge], _)| (*hinge as usize) < model.hinges.len());
        tearing.angles = own.map(|([hinge], [angle])| (hinge as usize, angle)).collect();
    }
    Ok(tearing)
}

pub(super) fn encode_flips(flips: &[FlipJob], container: &mut Container) {
    if flips.is_empty() {
        return;
    }
    let row = |job: &FlipJob| {
        let lengths = [job.flap.len(), job.ground.len(), job.crest.len(), job.crease.len(), job.negated.len()];
        let [flap, ground, crest, crease, negated] = lengths.map(|length| length as f64);
        let is_stalled = f64::from(u8::from(job.is_stalled));
        [job.side, job.least_wrong as f64, job.waited, job.age, is_stalled, flap, ground, crest, crease, negated]
    };
    container.push_reals("flips", flips.iter().map(row));
    let lists = flips.iter().flat_map(|job| {
        let vertices = |list: &[VertexId]| list.iter().map(|vertex| vertex.0).collect::<Vec<_>>();
        let ground = job.ground.iter().map(|triangle| triangle.0).collect::<Vec<_>>();
        let crease = job.crease.iter().map(|(hinge, _)| *hinge as u32).collect::<Vec<_>>();
        let negated = job.negated.iter().map(|hinge| *hinge as u32).collect::<Vec<_>>();
        [vertices(&job.flap), ground, vertices(&job.crest), crease, negated].concat()
    });
    container.push_indices("flip_lists", lists.map(|number| [number]));
    let angles = flips.iter().flat_map(|job| job.crease.iter().map(|(_, angle)| [*angle]));
    container.push_reals("flip_angles", angles);
}

pub(super) fn decode_flips(model: &Model, container: &Container) -> Result<Vec<FlipJob>, ContainerError> {
    let mut flips = Vec::new();
    if !container.has("flips") {
        return Ok(flips);
    }
    let mut numbers = container.indices::<1>("flip_lists")?.into_iter().map(|[number]| number);
    let mut angles = container.reals::<1>("flip_angles")?.into_iter().map(|[angle]| angle);
    for [side, least_wrong, waited, age, is_stalled, lengths @ ..] in container.reals::<10>("flips")? {
        let mut list = |length: f64| numbers.by_ref().take(length.max(0.0) as usize).collect::<Vec<u32>>();
        let [flap, ground, crest, crease, negated] = lengths.map(&mut list);
        let fits = |list: &[u32], count: usize| list.iter().all(|&number| (number as usize) < count);
        let is_sound = fits(&flap, model.masses.len())
            && fits(&ground, model.rest_shapes.len())
            && fits(&crest, model.masses.len())
            && fits(&crease, model.hinges.len())
            && fits(&negated, model.hinges.len());
        let crease: Vec<(usize, f64)> = crease.into_iter().map(|hinge| hinge as usize).zip(angles.by_ref()).collect();
        if is_sound {
            flips.push(FlipJob {
                side,
                flap: flap.into_iter().map(VertexId).collect(),
                ground: ground.into_iter().map(TriangleId).collect(),
                crest: crest.into_iter().map(VertexId).collect(),
                crease,
                negated: negated.into_iter().map(|hinge| hinge as usize).collect(),
                least_wrong: least_wrong.max(0.0) as usize,
                waited,
                age,
                is_stalled: is_stalled != 0.0,
            });
        }
    }
    Ok(flips)
}
