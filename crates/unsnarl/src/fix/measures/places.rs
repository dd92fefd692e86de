//! Every place by itself: crossings whose surroundings do not touch are untangled each in a part of the cloth, at the
//! same time, and what comes clean is kept.
//!
//! A place is a patient of its own: the same driver, with the measures that keep the pose; the cloth around it is
//! pinned. Places that fail are tried again with more cloth around them, then left to the measures for everything.
//! Where cloth lies on cloth two places may come to cross each other: the later one is taken back and tried again.
//!
//! Guarantees: what is given back crosses in fewer pairs; places do not depend on the number of threads.

use crate::analysis::{self, Workspace};
use crate::fix::driver::{self, Log};
use crate::fix::look::Look;
use crate::fix::measure::{Candidate, LeftOut, Measure, MeasureName, Reason};
use crate::fix::places::{Place, PlacePatient, Surroundings, group};
use crate::fix::tools::Tools;
use crate::fix::{Continue, FixSettings, Outcome, Patient, Pose};
use rayon::prelude::*;
use unsnarl_geometry::intersection::IntersectingPair;
use unsnarl_geometry::{DVec3, VertexId};

/// Rings of vertices around crossings that may move, from one try to the next.
const RINGS: [usize; 5] = [2, 5, 8, 12, 20];
/// Tries with the same rings, as long as they help.
const TRIES: usize = 4;
/// A place with more than this part of the cloth is no place.
const LARGE: f64 = 0.6;
/// Steps at most in a place.
const MOST_STEPS: usize = 400;
/// Smaller cloth is gone through as a whole in less time, unless another measure has left only places of it.
const SMALL: usize = 4000;

/// Measures for all of the cloth.
const NOT_IN_A_PLACE: [MeasureName; 3] = [MeasureName::Places, MeasureName::PreviousMethods, MeasureName::LayingOut];

/// The measure.
pub struct Places;

impl Measure for Places {
    fn name(&self) -> MeasureName {
        MeasureName::Places
    }

    fn budget(&self) -> usize {
        2
    }

    fn applies(&self, look: &Look, _: &[MeasureName]) -> Option<Reason> {
        let is_worth_it = look.positions.len() > SMALL || !look.is_input;
        (look.is_tangled() && is_worth_it).then_some(Reason::Tangled)
    }

    fn attempt(&self, patient: &Patient, look: &Look, tools: &mut Tools) -> Option<Candidate> {
        let mut work = Work { patient, positions: look.positions.clone(), pairs: Vec::new() };
        work.look();
        let first = work.pairs.len();
        for rings in RINGS {
            for _ in 0..TRIES {
                let before = work.pairs.len();
                if before == 0 || tools.must_stop() || !work.round(rings, tools) || work.pairs.len() >= before {
                    break;
                }
            }
        }
        (work.pairs.len() < first).then_some(Candidate { positions: work.positions })
    }
}

/// Cloth on its way.
struct Work<'a> {
    patient: &'a Patient,
    positions: Vec<DVec3>,
    pairs: Vec<IntersectingPair>,
}

/// What came of a place.
struct Solved {
    place: PlacePatient,
    outcome: Outcome,
}

impl Work<'_> {
    fn look(&mut self) {
        let all = self.patient.all_positions(&self.positions);
        self.pairs = analysis::verdict(&self.patient.assembly, &all, &mut Workspace::default()).pairs;
    }

    /// Tries all places; `false` if there are none.
    fn round(&mut self, rings: usize, tools: &mut Tools) -> bool {
        let all = self.patient.all_positions(&self.positions);
        let cloth = &self.patient.model.topology;
        let most = (LARGE * cloth.vertex_count() as f64) as usize;
        let mut places = group(cloth, self.patient.assembly.topology(), &self.pairs, rings);
        places.retain(|place| place.vertices.len() <= most && !place.vertices.is_empty());
        if places.is_empty() {
            return false;
        }
        let surroundings = Surroundings::new(self.patient, &all, tools.local_size, &self.pairs);
        let settings = FixSettings {
            pose: Pose::Kept,
            largest_step_count: MOST_STEPS.min(tools.settings.largest_step_count),
            without: tools.settings.without.iter().copied().chain(NOT_IN_A_PLACE.map(LeftOut::Measure)).collect(),
            ..tools.settings.clone()
        };
        let stop = &tools.stop;
        let solve = |place: &Place| {
            let place = surroundings.patient(place, &settings)?;
            let watch = (stop.clone(), Log::Nothing);
            let outcome = driver::untangle(place.patient.clone(), &place.settings, watch, &mut |_| match stop() {
                true => Continue::No,
                false => Continue::Yes,
            });
            Some(Solved { place, outcome })
        };
        let solved: Vec<Option<Solved>> = places.par_iter().map(solve).collect();
        let mut moved_by: Vec<Option<usize>> = vec![None; self.positions.len()];
        let before = self.positions.clone();
        for (at, solved) in solved.into_iter().enumerate() {
            let Some(Solved { place, outcome }) = solved else { continue };
            if outcome.verdict.pairs.len() < places[at].pairs.len() {
                for (vertex, position) in place.vertices.iter().zip(&outcome.positions) {
                    if self.positions[vertex.index()] != *position {
                        self.positions[vertex.index()] = *position;
                        moved_by[vertex.index()] = Some(at);
                    }
                }
            }
            tools.account.join(outcome);
        }
        let pairs_before = std::mem::take(&mut self.pairs);
        self.take_back_conflicts(&before, &moved_by, &places);
        if self.pairs.len() >= pairs_before.len() {
            (self.positions, self.pairs) = (before, pairs_before);
        }
        true
    }

    /// Places that have come to cross what is not theirs are taken back, the later one of two that both moved, until
    /// what is left crosses only within places.
    fn take_back_conflicts(&mut self, before: &[DVec3], moved_by: &[Option<usize>], places: &[Place]) {
        let mut is_back = vec![false; places.len()];
        loop {
            self.look();
            let topology = self.patient.assembly.topology();
            let mut has_new = false;
            for pair in &self.pairs {
                let both = [pair.first, pair.second].map(|triangle| topology.triangle(triangle));
                let mover = |vertex: VertexId| moved_by.get(vertex.index()).copied().flatten();
                let movers = both.iter().flatten().filter_map(|&corner| mover(corner)).filter(|&at| !is_back[at]);
                let Some(last) = movers.max() else { continue };
                let own = &places[last].vertices;
                let is_own = |corners: &[VertexId; 3]| corners.iter().any(|corner| own.binary_search(corner).is_ok());
                // Pairs within one place are what it has left.
                if !both.iter().all(is_own) {
                    is_back[last] = true;
                    has_new = true;
                }
            }
            if !has_new {
                return;
            }
            for (vertex, mover) in moved_by.iter().enumerate() {
                if mover.is_some_and(|at| is_back[at]) {
                    self.positions[vertex] = before[vertex];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fix::measures::tests::look;

    #[test]
    fn they_are_for_large_cloth_that_crosses() {
        let input = Look { is_input: true, ..look(3, SMALL + 1) };
        assert_eq!(Places.applies(&input, &[]), Some(Reason::Tangled));
        assert_eq!(Places.applies(&look(3, 100), &[]), Some(Reason::Tangled), "what another measure has left");
    }

    #[test]
    fn small_or_clean_cloth_is_left_to_the_others() {
        let input = Look { is_input: true, ..look(3, SMALL) };
        assert_eq!(Places.applies(&input, &[]), None);
        assert_eq!(Places.applies(&look(0, SMALL + 1), &[]), None);
    }
}
