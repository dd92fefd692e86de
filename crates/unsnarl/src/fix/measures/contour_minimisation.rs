//! Contour minimisation as a measure: for closed surfaces, for dense crumples, and where steps did not get on.

use crate::fix::Patient;
use crate::fix::look::Look;
use crate::fix::measure::{Candidate, Measure, MeasureName, Reason};
use crate::fix::tools::Tools;
use crate::untangle::rearrange::contour_minimisation::ContourMinimisation;
use crate::untangle::rearrange::strain_bounds::StrainBounds;

/// With as many crossing pairs per vertex, or more, cloth is densely crumpled.
const DENSE: f64 = 0.3;
/// Steps are quick on smaller cloth, however dense.
const LARGE: usize = 2000;
/// Rounds at most.
const MOST_ROUNDS: usize = 1500;
/// How far triangles may be stretched.
const BOUNDS: [f64; 2] = [0.95, 1.05];

/// The measure.
pub struct ContourMeasure;

impl Measure for ContourMeasure {
    fn name(&self) -> MeasureName {
        MeasureName::ContourMinimisation
    }

    fn budget(&self) -> usize {
        3
    }

    fn applies(&self, look: &Look, tried: &[MeasureName]) -> Option<Reason> {
        if !look.is_tangled() {
            None
        } else if look.closed_crosses {
            Some(Reason::Closed)
        } else if look.has_shape && look.density() > DENSE && look.positions.len() > LARGE {
            Some(Reason::Dense)
        } else {
            let are_places_left = !look.is_input && tried.contains(&MeasureName::Places);
            (are_places_left || tried.contains(&MeasureName::Steps)).then_some(Reason::LastResort)
        }
    }

    fn attempt(&self, patient: &Patient, look: &Look, tools: &mut Tools) -> Option<Candidate> {
        let topology = &patient.model.topology;
        let bounds = StrainBounds::new(topology, &patient.model.rest_shapes, &patient.state.positions, BOUNDS);
        let mut free = vec![true; look.positions.len()];
        patient.model.pins.iter().chain(tools.pinched).for_each(|vertex| free[vertex.index()] = false);
        let minimisation = ContourMinimisation {
            assembly: &patient.assembly,
            bounds: &bounds,
            free: &free,
            local_size: tools.local_size,
            most_rounds: MOST_ROUNDS,
            stop: &*tools.stop,
        };
        let mut minimised = minimisation.run(&patient.all_positions(&look.positions));
        tools.account.resolvers.contour_minimisation += minimised.rounds;
        minimised.positions.truncate(look.positions.len());
        Some(Candidate { positions: minimised.positions })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fix::measures::tests::look;

    #[test]
    fn it_is_first_for_closed_surfaces_and_for_dense_crumples_with_a_shape() {
        let closed = Look { closed_crosses: true, ..look(10, 100) };
        assert_eq!(ContourMeasure.applies(&closed, &[]), Some(Reason::Closed));
        let dense = look(3000, 3000);
        assert_eq!(ContourMeasure.applies(&dense, &[]), Some(Reason::Dense));
        assert_eq!(ContourMeasure.applies(&Look { has_shape: false, ..dense }, &[]), None);
    }

    #[test]
    fn garments_with_a_few_crossings_are_left_to_steps_unless_these_failed() {
        let few = look(10, 3000);
        assert_eq!(ContourMeasure.applies(&few, &[]), None);
        assert_eq!(ContourMeasure.applies(&few, &[MeasureName::Steps]), Some(Reason::LastResort));
        assert_eq!(ContourMeasure.applies(&look(0, 3000), &[MeasureName::Steps]), None);
        assert_eq!(ContourMeasure.applies(&few, &[MeasureName::Places]), Some(Reason::LastResort));
        let input = Look { is_input: true, ..few };
        assert_eq!(
            ContourMeasure.applies(&input, &[MeasureName::Places]),
            None,
            "places gave nothing: steps come first"
        );
    }
}
