//! Which measure solved which place of the input: what the report lists.
//!
//! Places are those of [`super::places`] at the start. One is solved by the first measure after which nothing meets
//! its vertices, and open again if something does later.
//!
//! Does not: know of time, which the engine has no clock for; steps stand for it.

use super::measure::MeasureName;
use super::places::{Place, group};
use super::{Attempt, Patient};
use crate::analysis::report::TypeCounts;
use crate::analysis::{self, Tangle, TangledContour, Verdict, Workspace};
use crate::model::Model;
use crate::rest_shape::principal_stretches;
use serde::Serialize;
use std::collections::BTreeMap;
use unsnarl_geometry::{DVec3, Topology, TriangleId};

/// Rings of vertices around crossings that make a place.
const RINGS: usize = 2;

/// A place of the input and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlaceReport {
    /// The middle of its vertices in the input, metres.
    pub center: [f64; 3],
    /// Vertices of cloth within two rings of what crosses.
    pub vertices: usize,
    /// Pairs that met in the input.
    pub pairs: usize,
    /// Contours of the input, by type.
    pub types: TypeCounts,
    /// The measure that solved it.
    pub solved_by: Option<MeasureName>,
    /// Steps taken until then, or in all.
    pub steps: usize,
    /// Pairs that meet its vertices in the result.
    pub pairs_left: usize,
    /// The largest stretch of its triangles over their rest shapes in the result.
    pub stretch: f64,
    /// Why it was not solved.
    pub why_not: Option<WhyNot>,
}

/// Why a place was not solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhyNot {
    /// Time was up, or somebody asked to stop.
    Stopped,
    /// Every measure that applies was tried.
    NoMeasureLeft,
}

/// How many places each measure solved, by its name.
pub fn solved_by_measure(places: &[PlaceReport]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for measure in places.iter().filter_map(|place| place.solved_by) {
        *counts.entry(measure.name()).or_insert(0) += 1;
    }
    counts
}

/// The places of the input while measures work on them.
pub(super) struct PlaceLog {
    /// The place of each vertex of cloth.
    place_of: Vec<Option<usize>>,
    reports: Vec<PlaceReport>,
}

impl PlaceLog {
    /// The places of the input, at which these pairs meet.
    pub fn new(patient: &Patient, verdict: &Verdict) -> Self {
        let (cloth, all) = (&patient.model.topology, patient.assembly.topology());
        let positions = &patient.state.positions;
        let places = group(cloth, all, &verdict.pairs, RINGS);
        let tangle = analysis::analyze(&patient.assembly, &patient.all_positions(positions), &mut Workspace::default());
        let mut place_of = vec![None; positions.len()];
        for (index, place) in places.iter().enumerate() {
            place.vertices.iter().for_each(|vertex| place_of[vertex.index()] = Some(index));
        }
        let mut contours: Vec<Vec<TangledContour>> = vec![Vec::new(); places.len()];
        for tangled in &tangle.contours {
            if let Some(place) = place_at(&place_of, all, tangled.contour.segments[0]) {
                contours[place].push(tangled.clone());
            }
        }
        let of_place = |(place, contours): (&Place, Vec<TangledContour>)| {
            let sum: DVec3 = place.vertices.iter().map(|vertex| positions[vertex.index()]).sum();
            PlaceReport {
                center: (sum / place.vertices.len().max(1) as f64).to_array(),
                vertices: place.vertices.len(),
                pairs: place.pairs.len(),
                types: TypeCounts::new(&Tangle { contours, ..Tangle::default() }),
                solved_by: None,
                steps: 0,
                pairs_left: place.pairs.len(),
                stretch: 1.0,
                why_not: None,
            }
        };
        let reports = places.iter().zip(contours).map(of_place).collect();
        Self { place_of, reports }
    }

    /// A measure was taken, and left these pairs.
    pub fn note(&mut self, attempt: &Attempt, topology: &Topology, verdict: &Verdict) {
        self.reports.iter_mut().for_each(|place| place.pairs_left = 0);
        for pair in &verdict.pairs {
            if let Some(place) = place_at(&self.place_of, topology, [pair.first, pair.second]) {
                self.reports[place].pairs_left += 1;
            }
        }
        for place in &mut self.reports {
            let is_new = place.solved_by.is_none();
            place.steps += if is_new { attempt.steps } else { 0 };
            place.solved_by = match place.pairs_left {
                0 => place.solved_by.or(Some(attempt.measure)),
                _ => None,
            };
        }
    }

    /// What became of all places in the result.
    pub fn finish(mut self, model: &Model, positions: &[DVec3], is_stopped: bool) -> Vec<PlaceReport> {
        for (corners, shape) in model.topology.triangles().iter().zip(&model.rest_shapes) {
            let Some(place) = corners.iter().find_map(|corner| self.place_of[corner.index()]) else { continue };
            if let Some([largest, _]) = principal_stretches(shape, corners.map(|corner| positions[corner.index()])) {
                let stretch = &mut self.reports[place].stretch;
                *stretch = stretch.max(largest);
            }
        }
        let why_not = if is_stopped { WhyNot::Stopped } else { WhyNot::NoMeasureLeft };
        for place in self.reports.iter_mut().filter(|place| place.solved_by.is_none()) {
            place.why_not = Some(why_not);
        }
        self.reports
    }
}

/// The place that a pair of triangles is in.
fn place_at(place_of: &[Option<usize>], topology: &Topology, pair: [TriangleId; 2]) -> Option<usize> {
    let mut corners = pair.into_iter().flat_map(|triangle| topology.triangle(triangle));
    corners.find_map(|corner| place_of.get(corner.index()).copied().flatten())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Assembly;
    use crate::fix::{Continue, FixSettings, LeftOut, untangle};
    use crate::model::Cloth;
    use crate::samples::{self, Cut, Recipe};
    use unsnarl_geometry::TriMesh;

    /// Two made cases far apart, as one patient.
    fn two_places() -> Patient {
        let recipe = Recipe { resolution: 10, cut: Cut::Irregular, seed: 3 };
        let meshes = ["bibi", "ll"].map(|name| samples::find(name).unwrap().make(&recipe).mesh);
        let count = meshes[0].positions.len() as u32;
        let shifted = meshes[1].positions.iter().map(|place| *place + DVec3::X * 10.0);
        let positions = meshes[0].positions.iter().copied().chain(shifted).collect();
        let moved = meshes[1].triangles.iter().map(|corners| corners.map(|corner| corner + count));
        let mesh = TriMesh { positions, triangles: meshes[0].triangles.iter().copied().chain(moved).collect() };
        let assembly = Assembly::of_cloth("two", &mesh).unwrap();
        let (model, state) = Model::build(&[Cloth::new("two", mesh)]).unwrap();
        Patient { model, state, assembly, body_positions: Vec::new() }
    }

    #[test]
    fn every_place_says_what_it_was_and_who_solved_it() {
        let outcome = untangle(two_places(), &FixSettings::default(), &mut |_| Continue::Yes);
        assert!(outcome.verdict.is_clean());
        let [bibi, ll] = outcome.places.as_slice() else { panic!("{:?}", outcome.places) };
        assert!(bibi.types.bibi > 0 && ll.types.ll > 0 && ll.center[0] > 5.0);
        for place in [bibi, ll] {
            assert_eq!((place.solved_by, place.pairs_left), (Some(MeasureName::Steps), 0));
            assert!(place.pairs > 0 && place.steps > 0 && place.stretch > 0.9 && place.why_not.is_none());
        }
        assert_eq!(solved_by_measure(&outcome.places), BTreeMap::from([("steps", 2)]));
    }

    #[test]
    fn a_place_that_nothing_was_tried_on_says_why() {
        let without = MeasureName::ALL.map(LeftOut::Measure).to_vec();
        let settings = FixSettings { without, ..FixSettings::default() };
        let outcome = untangle(two_places(), &settings, &mut |_| Continue::Yes);
        for place in &outcome.places {
            assert_eq!((place.solved_by, place.why_not), (None, Some(WhyNot::NoMeasureLeft)));
            assert_eq!(place.pairs_left, place.pairs);
        }
        assert!(!outcome.places.is_empty());
    }
}
