//! Pieces of cloth are laid flat as they are at rest, or rebuilt from their rest mesh or rest shapes: for cloth whose
//! shape is lost, or of which nothing else can be made. Nothing leads back to where they were.

use super::{Rung, RungName};
use crate::analysis::Tangle;
use crate::dynamics::hinge::angle;
use crate::fix::Pose;
use crate::fix::stepwise::Untangling;
use crate::fix::stepwise::ledger::LayOut;
use crate::fix::stepwise::watch::Advance;
use crate::untangle::rearrange::layout::{lay_flat, lay_spread};
use crate::untangle::rearrange::rest_pose;
use unsnarl_geometry::{DVec3, VertexId};

/// The rung before steps: what crosses has no shape that could be kept, and its colours do not tell which side of
/// most of it is wrong, so that steps would only move cloth about.
pub struct AtOnce;

impl Rung for AtOnce {
    fn name(&self) -> RungName {
        RungName::LayingOutAtOnce
    }

    fn applies(&self, run: &Untangling, tangle: &Tangle) -> bool {
        let is_told = tangle.colours.majority_failures.is_empty();
        run.folding.turns == 0 && !is_told && run.is_largely_red(tangle) && run.has_shapeless(tangle)
    }

    fn act(&self, run: &mut Untangling, tangle: &Tangle) -> Option<Advance> {
        run.relaxation.clean_steps = 0;
        run.lay_out_shapeless(tangle)
    }
}

/// The rung where steps stall and a piece has no shape to keep.
pub struct Shapeless;

impl Rung for Shapeless {
    fn name(&self) -> RungName {
        RungName::LayingOutShapeless
    }

    fn applies(&self, run: &Untangling, tangle: &Tangle) -> bool {
        run.is_auto() && run.folding.turns == 0 && run.has_shapeless(tangle)
    }

    fn act(&self, run: &mut Untangling, tangle: &Tangle) -> Option<Advance> {
        run.lay_out_shapeless(tangle)
    }
}

/// The rung where steps stall and most of the cloth is red.
pub struct Red;

impl Rung for Red {
    fn name(&self) -> RungName {
        RungName::LayingOutRed
    }

    fn applies(&self, run: &Untangling, tangle: &Tangle) -> bool {
        run.folding.turns == 0 && run.is_largely_red(tangle)
    }

    fn act(&self, run: &mut Untangling, tangle: &Tangle) -> Option<Advance> {
        run.lay_out_tangled(tangle)
    }
}

/// The rung where everything else has failed.
pub struct Tangled;

impl Rung for Tangled {
    fn name(&self) -> RungName {
        RungName::LayingOutTangled
    }

    fn applies(&self, run: &Untangling, _: &Tangle) -> bool {
        run.is_auto()
    }

    fn act(&self, run: &mut Untangling, tangle: &Tangle) -> Option<Advance> {
        run.lay_out_tangled(tangle)
    }
}

/// The rung for cloth that came out clean but strained, once, unless its folds were put right.
pub struct Strained;

impl Rung for Strained {
    fn name(&self) -> RungName {
        RungName::LayingOutStrained
    }

    fn applies(&self, run: &Untangling, _: &Tangle) -> bool {
        run.is_auto() && !run.ledger.is_laid_out && run.folding.turns == 0 && run.is_strained()
    }

    /// Lays those pieces out of which more than half has moved.
    fn act(&self, run: &mut Untangling, _: &Tangle) -> Option<Advance> {
        let topology = &run.model.topology;
        let mut counts = vec![[0, 0]; topology.component_count()];
        for (vertex, place) in run.state.positions.iter().enumerate() {
            let count = &mut counts[topology.component(VertexId::new(vertex))];
            count[0] += 1;
            count[1] += usize::from(*place != run.reference.input[vertex]);
        }
        let has_moved = |component: &usize| 2 * counts[*component][1] > counts[*component][0];
        let moved = (0..counts.len()).filter(has_moved);
        let pieces: Vec<_> = moved.map(|component| (component, run.reference.way_to_lay_out(component))).collect();
        run.lay_out(&pieces)
    }
}

impl Untangling {
    /// Lays pieces out that have no shape to keep and still cross something, each once.
    fn lay_out_shapeless(&mut self, tangle: &Tangle) -> Option<Advance> {
        let mut components = self.red_components(tangle);
        components.retain(|&component| self.reference.is_shapeless(component));
        let way = |component: usize| (component, self.reference.way_to_lay_out(component));
        let pieces: Vec<_> = components.into_iter().map(way).collect();
        self.lay_out(&pieces)
    }

    /// Lays pieces that still cross something out however that is possible, each once.
    fn lay_out_tangled(&mut self, tangle: &Tangle) -> Option<Advance> {
        let components = self.red_components(tangle).into_iter();
        let pieces: Vec<_> = components.map(|component| (component, LayOut::Anyhow)).collect();
        self.lay_out(&pieces)
    }

    /// Lays pieces flat where that is possible and rebuilds others; `None` where that is possible for none, or has
    /// been tried.
    fn lay_out(&mut self, pieces: &[(usize, LayOut)]) -> Option<Advance> {
        if self.settings.pose == Pose::Kept {
            return None;
        }
        let free = self.free();
        let mut places = self.all_positions();
        let mut count = 0;
        self.ledger.lay_out_tries.resize(self.model.topology.component_count(), None);
        for &(component, way) in pieces {
            if (self.stop)() {
                break;
            }
            if self.ledger.lay_out_tries[component] >= Some(way) {
                continue;
            }
            self.ledger.lay_out_tries[component] = Some(way);
            let flat = lay_flat(&self.model, component, &self.reference.input);
            let is_flat = flat.is_some();
            let laid = if is_flat || way == LayOut::Flat { flat } else { self.rebuilt(component) };
            let is_free = |laid: &Vec<(VertexId, DVec3)>| laid.iter().all(|(vertex, _)| free[vertex.index()]);
            let Some(laid) = laid.filter(is_free) else { continue };
            for (vertex, place) in laid {
                places[vertex.index()] = place;
                self.reference.start[vertex.index()] = place;
            }
            if !is_flat {
                self.bend_as(component, &places);
            }
            self.ledger.lay_out_tries[component] = Some(LayOut::Anyhow);
            count += 1;
        }
        self.ledger.resolvers.laying_out += count;
        if count == 0 {
            return None;
        }
        self.ledger.is_laid_out = true;
        self.ledger.is_parted = false;
        self.return_from(&places);
        Some(Advance::LookAgain)
    }

    /// A piece that has lost its shape: as its rest mesh, or from its rest shapes alone.
    fn rebuilt(&self, component: usize) -> Option<Vec<(VertexId, DVec3)>> {
        let (rest, here) = (&self.settings.vertices.rest_pose, &self.reference.input);
        let posed = (rest.len() == here.len()).then(|| rest_pose::place(&self.model, component, rest, here)).flatten();
        posed.or_else(|| lay_spread(&self.model, component, here, &*self.stop))
    }

    /// A piece that was rebuilt is bent at rest as it then is: what it was bent like before is lost.
    fn bend_as(&mut self, component: usize, places: &[DVec3]) {
        for (hinge, rest_angle) in self.model.hinges.iter().zip(&mut self.state.rest_angles) {
            if self.model.topology.component(hinge.vertices[0]) == component {
                *rest_angle = angle(hinge.vertices.map(|vertex| places[vertex.index()])).unwrap_or(*rest_angle);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{made, made_of_panels};
    use super::*;
    use crate::fix::FixSettings;

    #[test]
    fn a_handkerchief_thrown_about_is_laid_flat() {
        let (mut run, tangle) = made_of_panels("exploded-whole", FixSettings::default());
        assert!(Shapeless.applies(&run, &tangle) && Tangled.applies(&run, &tangle));
        assert_eq!(Shapeless.act(&mut run, &tangle), Some(Advance::LookAgain));
        assert_eq!(run.segments_at(&run.all_positions()), 0);
        assert!(run.strain(&run.state.positions) < 1.001, "as at rest");
        assert_eq!(Shapeless.act(&mut run, &tangle), None, "once");
    }

    #[test]
    fn cloth_with_a_shape_is_not_laid_out_before_all_else_has_failed() {
        let (run, tangle) = made("bbii", FixSettings::default());
        for rung in [&AtOnce as &dyn Rung, &Shapeless, &Red, &Strained] {
            assert!(!rung.applies(&run, &tangle), "{:?}", rung.name());
        }
        let kept = FixSettings { pose: Pose::Kept, ..FixSettings::default() };
        let (mut run, tangle) = made_of_panels("exploded-whole", kept);
        assert_eq!(Tangled.act(&mut run, &tangle), None, "the pose is to be kept");
    }

    #[test]
    fn clean_cloth_that_came_out_strained_is_laid_out_once() {
        let (mut run, _) = made("hanky", FixSettings::default());
        let drawn_out: Vec<DVec3> = run.state.positions.iter().map(|place| 1.3 * *place).collect();
        run.adopt(&drawn_out);
        assert!(Strained.applies(&run, &Tangle::default()));
        assert_eq!(Strained.act(&mut run, &Tangle::default()), Some(Advance::LookAgain));
        assert!(!Strained.applies(&run, &Tangle::default()));
    }
}
