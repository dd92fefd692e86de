//! Measures that take whole pieces of cloth away from where they tangle, to come home with contact on: pieces are
//! parted, laid flat as they are at rest, or made anew from their rest mesh or rest shapes.
//!
//! They are for what no local method undoes: pieces that stand through each other, cloth that was smoothed and did
//! not grow back to its size. Of all clean states since cloth came home the least strained one counts where the last
//! is strained.

use super::report::Spread;
use super::{FixMethod, Untangling};
use crate::analysis::Tangle;
use crate::dynamics::hinge::angle;
use crate::fix::Pose;
use crate::fix::score::{UNSTRAINED, WORN};
use crate::model::Model;
use crate::rest_shape::principal_stretches;
use crate::untangle::layout::{lay_flat, lay_spread};
use crate::untangle::parting::{self, Parting};
use crate::untangle::rest_pose;
use unsnarl_geometry::{DVec3, VertexId};

/// Below this factor relaxation may end; below the second one if the input was more strained than the first.
const SETTLED: [f64; 2] = [1.02, 1.05];
/// Relaxation may also end where cloth is not strained and has not become less so for as many steps.
pub(super) const QUIET_STEPS: usize = 8;

impl Untangling {
    /// Parts pieces that stand through each other so far that a good share of one is on the wrong side.
    pub(super) fn part_at_large(&mut self, tangle: &Tangle) -> bool {
        const LARGE: f64 = 0.3;
        const LARGE_IN_ORDER: f64 = 0.1;
        if self.settings.method != FixMethod::Auto || self.is_parted || self.segments_between_pieces(tangle) == 0 {
            return false;
        }
        let topology = self.assembly.topology();
        let mut counts = vec![[0, 0]; topology.component_count()];
        (0..self.state.positions.len()).for_each(|vertex| counts[topology.component(VertexId::new(vertex))][0] += 1);
        tangle.colours.red_vertices.iter().for_each(|&vertex| counts[topology.component(vertex)][1] += 1);
        let crossing = parting::crossing_components(topology, self.state.positions.len(), tangle);
        // Pieces that were put in order and still cross at large lie on each other, so that there is a way.
        let large = if self.has_been_ordered { LARGE_IN_ORDER } else { LARGE };
        let is_large = |component: &usize| counts[*component][1] as f64 > large * counts[*component][0] as f64;
        crossing.iter().flatten().any(is_large) && self.part(tangle)
    }

    /// Moves pieces that cross each other apart as they are, to come home once everything is clean; `false` if none
    /// do, if there is no way, or if it has been done.
    pub(super) fn part(&mut self, tangle: &Tangle) -> bool {
        const GAP: f64 = 0.5;
        if self.is_parted {
            return false;
        }
        self.is_parted = true;
        let size = self.local_size[..self.state.positions.len()].iter().sum::<f64>() / self.active.len() as f64;
        let free = self.free();
        let layers = &self.settings.layers;
        let parting = Parting { assembly: &self.assembly, free: &free, layers, gap: GAP * size };
        let Some(places) = parting.part(tangle, &self.all_positions()) else { return false };
        if self.steps == 0 && self.homes.is_empty() {
            self.settle(tangle);
        }
        self.resolvers.parting += 1;
        self.send_home_from(&places);
        true
    }

    /// Lays pieces out that came out clean but strained, once; `false` if there are none that can be, or if their
    /// folds were put right.
    pub(super) fn lay_out_strained(&mut self) -> bool {
        if self.settings.method != FixMethod::Auto
            || self.is_laid_out
            || self.folding.turns > 0
            || !self.is_strained(&self.state.positions.clone())
        {
            return false;
        }
        let topology = &self.model.topology;
        let mut counts = vec![[0, 0]; topology.component_count()];
        for (vertex, place) in self.state.positions.iter().enumerate() {
            let count = &mut counts[topology.component(VertexId::new(vertex))];
            count[0] += 1;
            count[1] += usize::from(*place != self.input_positions[vertex]);
        }
        let has_moved = |component: &usize| 2 * counts[*component][1] > counts[*component][0];
        let moved = (0..counts.len()).filter(has_moved);
        let pieces: Vec<_> = moved.map(|component| (component, self.way_to_lay_out(component))).collect();
        self.lay_out(&pieces)
    }

    /// Lays pieces out that have no shape to keep and still cross something, each once; `false` if there are none
    /// that can be.
    pub(super) fn lay_out_shapeless(&mut self, tangle: &Tangle) -> bool {
        let mut components = self.red_components(tangle);
        components.retain(|&component| self.is_shapeless(component));
        let pieces: Vec<_> = components.iter().map(|&component| (component, self.way_to_lay_out(component))).collect();
        self.settings.method == FixMethod::Auto && self.lay_out(&pieces)
    }

    /// Lays pieces that still cross something out however that is possible, each once; `false` if it is for none.
    pub(super) fn lay_out_tangled(&mut self, tangle: &Tangle) -> bool {
        let components = self.red_components(tangle).into_iter();
        let pieces: Vec<_> = components.map(|component| (component, LayOut::Anyhow)).collect();
        self.settings.method == FixMethod::Auto && self.lay_out(&pieces)
    }

    /// Lays pieces flat where that is possible and makes others anew; `false` where that is possible for none, or has
    /// been tried. They begin anew: nothing leads back to where they were.
    fn lay_out(&mut self, pieces: &[(usize, LayOut)]) -> bool {
        if self.settings.pose == Pose::Kept {
            return false;
        }
        let free = self.free();
        let mut places = self.all_positions();
        let mut count = 0;
        self.lay_out_tries.resize(self.model.topology.component_count(), None);
        for &(component, way) in pieces {
            if (self.stop)() {
                break;
            }
            if self.lay_out_tries[component] >= Some(way) {
                continue;
            }
            self.lay_out_tries[component] = Some(way);
            let flat = lay_flat(&self.model, component, &self.input_positions);
            let is_flat = flat.is_some();
            let laid = if is_flat || way == LayOut::Flat { flat } else { self.made_anew(component) };
            let is_free = |laid: &Vec<(VertexId, DVec3)>| laid.iter().all(|(vertex, _)| free[vertex.index()]);
            let Some(laid) = laid.filter(is_free) else { continue };
            for (vertex, place) in laid {
                places[vertex.index()] = place;
                self.first_positions[vertex.index()] = place;
            }
            if !is_flat {
                self.bend_as(component, &places);
            }
            self.lay_out_tries[component] = Some(LayOut::Anyhow);
            count += 1;
        }
        self.resolvers.laying_out += count;
        if count > 0 {
            self.is_laid_out = true;
            self.is_parted = false;
            self.send_home_from(&places);
        }
        count > 0
    }

    /// A piece that has lost its shape: as its rest mesh, or spread.
    fn made_anew(&self, component: usize) -> Option<Vec<(VertexId, DVec3)>> {
        let (rest, here) = (&self.settings.rest_pose, &self.input_positions);
        let posed = (rest.len() == here.len()).then(|| rest_pose::place(&self.model, component, rest, here)).flatten();
        posed.or_else(|| lay_spread(&self.model, component, here, &*self.stop))
    }

    /// A piece that was made anew is bent at rest as it then is: what it was bent like before is lost.
    fn bend_as(&mut self, component: usize, places: &[DVec3]) {
        for (hinge, rest_angle) in self.model.hinges.iter().zip(&mut self.state.rest_angles) {
            if self.model.topology.component(hinge.vertices[0]) == component {
                *rest_angle = angle(hinge.vertices.map(|vertex| places[vertex.index()])).unwrap_or(*rest_angle);
            }
        }
    }

    /// Moves cloth away, to come home once everything is clean.
    fn send_home_from(&mut self, places: &[DVec3]) {
        self.pulls.clear();
        self.move_to(places);
        self.set_out();
        self.watch.reset();
    }

    /// Looks at clean cloth that is where it belongs. Where it is not strained and has not become less so for
    /// [`QUIET_STEPS`] it is as good as it gets; `quiet_steps` are enough where it is hardly strained.
    pub(super) fn ease(&mut self, quiet_steps: usize) -> Ease {
        const LESS: f64 = 0.99;
        let strain = self.strain(&self.state.positions);
        let least = self.calmest.as_ref().map_or(f64::INFINITY, |calmest| calmest.strain);
        if strain < LESS * least {
            self.calmest = Some(Calm { strain, cloth: self.state.positions.clone(), step: self.steps });
        }
        let since = self.calmest.as_ref().map_or(self.steps, |calmest| calmest.step);
        let (input, bearable) = (self.input_stretch(), self.bearable_strain());
        let quiet_steps = if strain < SETTLED[1] { quiet_steps } else { QUIET_STEPS };
        let is_as_good_as_it_gets = strain <= UNSTRAINED && self.steps > since + quiet_steps;
        if strain < input.clamp(SETTLED[0], SETTLED[1]) || is_as_good_as_it_gets {
            Ease::Settled
        } else if self.steps > since + self.settings.patience && strain > bearable {
            Ease::Stuck
        } else {
            Ease::Uneasy
        }
    }

    /// Whether measures alone have undone the tangle, before any step, and cloth is not strained: then nothing was
    /// dragged along that would have to come home.
    pub(super) fn is_unstrained_at_once(&self) -> bool {
        const STRETCHED: f64 = 1.3;
        let largest = |positions: &[DVec3]| Spread::of_stretch(&self.model, positions).max;
        let has_left = self.is_parted || self.is_laid_out;
        self.steps == 0
            && !has_left
            && self.is_unstrained(&self.state.positions)
            && largest(&self.state.positions) < STRETCHED.max(largest(&self.input_positions))
    }

    /// Goes back to the least strained clean state where the present one crosses or is strained.
    pub(super) fn calm_down(&mut self) {
        let Some(calmest) = self.calmest.take() else { return };
        let positions = self.state.positions.clone();
        let is_worse = self.strain(&positions) > calmest.strain && self.is_strained(&positions);
        if is_worse || !self.analyze_unpinched().is_empty() {
            self.state.positions = calmest.cloth;
        }
    }

    /// Whether cloth has about its size, whatever it had before.
    pub(super) fn is_unstrained(&self, positions: &[DVec3]) -> bool {
        self.strain(positions) <= UNSTRAINED
    }

    /// Whether cloth is stretched or compressed more than cloth should be, and more than it was.
    fn is_strained(&mut self, positions: &[DVec3]) -> bool {
        self.strain(positions) > self.bearable_strain()
    }

    /// How strained cloth may stay: as the input was, unless some of that had no shape that could be kept.
    fn bearable_strain(&mut self) -> f64 {
        let input = self.input_stretch();
        if input > WORN { UNSTRAINED } else { UNSTRAINED.max(input) }
    }

    /// Whether more than a tenth of a piece was stretched as no worn garment is: crumpled at random, or exploded.
    /// Where it is less, a place has lost its shape, and the rest of the piece is worth keeping.
    pub(super) fn is_shapeless(&mut self, component: usize) -> bool {
        const SHARE: f64 = 0.1;
        self.input_strain().shapeless_shares[component] > SHARE
    }

    /// How a piece may be laid out that is strained or has no shape to keep. One that is not flat at rest loses more,
    /// so that more of it has to be lost already.
    fn way_to_lay_out(&mut self, component: usize) -> LayOut {
        const SHARE: f64 = 0.4;
        if self.input_strain().shapeless_shares[component] > SHARE { LayOut::Anyhow } else { LayOut::Flat }
    }

    /// Whether steps do harm: contours become longer and longer and cloth far more strained than it may stay, or
    /// after a while cloth is stretched many times as much as that and as it was.
    pub(super) fn is_thrown_about(&mut self) -> bool {
        const HARM: f64 = 2.0;
        const RUIN: f64 = 4.0;
        let (is_spreading, is_late) = (self.watch.is_spreading(), self.steps > self.settings.patience);
        if self.settings.method != FixMethod::Auto || !(is_spreading || is_late) {
            return false;
        }
        let (bearable, input) = (self.bearable_strain(), self.input_stretch());
        // Pulled edges become short: only stretch tells of ruin.
        let stretch = Spread::of_stretch(&self.model, &self.state.positions).p99;
        stretch > RUIN * bearable.max(input) || (is_spreading && self.strain(&self.state.positions) > HARM * bearable)
    }

    /// Whether the input was stretched, so that more than a neighbourhood has to change its size.
    pub(super) fn was_strained(&mut self) -> bool {
        self.input_stretch() > UNSTRAINED
    }

    /// The 99th percentile of stretch in the input.
    fn input_stretch(&mut self) -> f64 {
        self.input_strain().stretch
    }

    fn input_strain(&mut self) -> &InputStrain {
        let (model, positions) = (&self.model, &self.input_positions);
        self.input_strain.get_or_insert_with(|| InputStrain::of(model, positions))
    }

    /// How strained cloth is, but for one triangle or edge in a hundred: the larger of how far triangles are
    /// stretched and edges compressed.
    pub(super) fn strain(&self, positions: &[DVec3]) -> f64 {
        let (stretch, edges) = (Spread::of_stretch(&self.model, positions), Spread::of_edges(&self.model, positions));
        stretch.p99.max(1.0 / edges.p01.max(f64::MIN_POSITIVE))
    }
}

/// How a piece may be laid out; the second includes the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LayOut {
    /// Flat, if it is at rest. Else it would lose a shape that is worth more than what strain is left.
    Flat,
    /// Flat or made anew.
    Anyhow,
}

/// How strained the input was.
pub(super) struct InputStrain {
    /// The 99th percentile of stretch.
    stretch: f64,
    /// The share of the triangles of each piece that were stretched as no worn garment is.
    shapeless_shares: Vec<f64>,
}

impl InputStrain {
    fn of(model: &Model, positions: &[DVec3]) -> Self {
        let topology = &model.topology;
        let mut counts = vec![[0.0, 0.0]; topology.component_count()];
        for (corners, shape) in topology.triangles().iter().zip(&model.rest_shapes) {
            let stretches = principal_stretches(shape, corners.map(|corner| positions[corner.index()]));
            let [all, stretched] = &mut counts[topology.component(corners[0])];
            *all += 1.0;
            *stretched += f64::from(stretches.is_some_and(|[largest, _]| largest > WORN));
        }
        let shapeless_shares = counts.iter().map(|[all, stretched]| stretched / f64::max(*all, 1.0)).collect();
        Self { stretch: Spread::of_stretch(model, positions).p99, shapeless_shares }
    }
}

/// How clean cloth is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ease {
    /// It has about its size: more relaxation changes nothing worth the time.
    Settled,
    /// It may still become less strained.
    Uneasy,
    /// It is strained and has not become less so for a while.
    Stuck,
}

/// Clean cloth and how strained it is.
pub(super) struct Calm {
    pub strain: f64,
    pub cloth: Vec<DVec3>,
    step: usize,
}
