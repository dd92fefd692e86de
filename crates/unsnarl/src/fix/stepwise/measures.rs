//! Measures that move cloth without a step: out of bodies, into its order, apart, and back when nothing else helps.

use super::retreat::Retreat;
use super::untangling::Phase;
use super::watch::Advance;
use super::{FixMethod, Untangling, touching};
use crate::analysis::{self, Tangle, TangledContour};
use crate::untangle::layering;
use crate::untangle::ordering::Ordering;
use crate::untangle::strain_bounds::StrainBounds;
use unsnarl_geometry::{DVec3, TriangleId, VertexId};

/// Retreats at most: cloth that grows back is clean, so a second one follows only cloth moved from outside.
const MOST_RETREATS: usize = 4;

/// What the upper of two crossing pieces goes of the way, in the order of trial: one of the two may have no room.
const UPPER_SHARES: [f64; 3] = [1.0, 0.5, 0.0];

/// What came of putting pieces in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// It has not been tried.
    Untried,
    /// It helped; this many segments of contours were left.
    Helped(usize),
    /// It did not help, or is finished.
    Over,
}

impl Untangling {
    /// Puts pieces that cross each other in order; `false` if none do, or if that has not helped.
    pub(super) fn put_in_order(&mut self, tangle: &Tangle) -> bool {
        let takes_part = matches!(self.settings.method, FixMethod::Auto | FixMethod::Retreat);
        if !takes_part || self.order == Order::Over {
            return false;
        }
        let among_cloth = self.among_cloth(tangle);
        let segments = self.segments_to_order(&among_cloth);
        if segments == 0 || matches!(self.order, Order::Helped(most) if segments >= most) {
            return false;
        }
        let free = self.free();
        let (topology, shapes) = (&self.model.topology, &self.model.rest_shapes);
        let bounds = StrainBounds::new(topology, shapes, &self.input_positions, StrainBounds::TIGHT);
        let others = segment_count(tangle).saturating_sub(segments);
        let mut best: Option<(usize, Vec<DVec3>)> = None;
        for upper_share in UPPER_SHARES {
            let mut positions = self.all_positions();
            // Bodies are left out: they are not ordered, and have many triangles.
            let ordering = Ordering { topology: &self.model.topology, ..self.ordering(&free, &bounds, upper_share) };
            let cloth = &mut positions[..free.len()];
            let rounds = layering::put_in_order(&ordering, &self.settings.layers, &among_cloth, cloth);
            self.resolvers.layering += rounds;
            if rounds == 0 {
                break; // nothing overlaps, whoever moves
            }
            let after = analysis::analyze(&self.assembly, &positions, &mut self.analysis_workspace);
            let left = segment_count(&after);
            let is_better = self.segments_to_order(&self.among_cloth(&after)) < segments;
            if is_better && best.as_ref().is_none_or(|(least, _)| left < *least) {
                best = Some((left, positions));
            }
            let is_good = |(left, _): &(usize, _)| 2 * left.saturating_sub(others) < segments;
            if best.as_ref().is_some_and(is_good) || (self.stop)() {
                break;
            }
        }
        let Some((_, positions)) = best else {
            self.order = Order::Over;
            return false;
        };
        self.order = Order::Helped(segments);
        self.has_been_ordered = true;
        // Cloth that slid is at ease: only what still crosses has to move on.
        if self.is_unstrained(&positions[..free.len()]) {
            self.place(&positions);
        } else {
            for (vertex, place) in self.state.positions.iter().enumerate() {
                self.active[vertex] |= *place != positions[vertex];
            }
            self.place(&positions);
            if self.was_strained() {
                self.free_pieces(tangle);
            }
        }
        true
    }

    /// Lets the whole of every crossing piece move where a good share of one is on the wrong side of another:
    /// relaxing a part of them would not help.
    fn free_pieces(&mut self, tangle: &Tangle) {
        const SHARE: f64 = 0.25;
        let topology = self.assembly.topology();
        let mut counts = vec![[0, 0]; topology.component_count()];
        (0..self.active.len()).for_each(|vertex| counts[topology.component(VertexId::new(vertex))][0] += 1);
        tangle.colours.red_vertices.iter().for_each(|&vertex| counts[topology.component(vertex)][1] += 1);
        if counts.iter().all(|&[all, red]| red as f64 <= SHARE * all as f64) {
            return;
        }
        for vertex in (0..self.active.len()).map(VertexId::new) {
            let crosses = counts[topology.component(vertex)][1] > 0;
            self.active[vertex.index()] |= crosses && !self.pinched.has(vertex);
        }
    }

    /// The contours of cloth with cloth.
    pub(super) fn among_cloth(&self, tangle: &Tangle) -> Tangle {
        let is_cloth = |triangle: &TriangleId| triangle.index() < self.model.topology.triangle_count();
        let is_own = |tangled: &&TangledContour| tangled.contour.segments.iter().flatten().all(is_cloth);
        Tangle { contours: tangle.contours.iter().filter(is_own).cloned().collect(), ..Tangle::default() }
    }

    pub(super) fn ordering<'a>(&'a self, free: &'a [bool], bounds: &'a StrainBounds, upper_share: f64) -> Ordering<'a> {
        Ordering {
            topology: self.assembly.topology(),
            local_size: &self.local_size,
            free,
            separation: self.settings.separation,
            upper_share,
            bounds,
            bodies: &self.bodies,
        }
    }

    /// How far triangles may be stretched by measures.
    pub(super) fn bounds(&self, around_rest: [f64; 2]) -> StrainBounds<'_> {
        StrainBounds::new(&self.model.topology, &self.model.rest_shapes, &self.input_positions, around_rest)
    }

    /// Which vertices of cloth measures may move.
    pub(super) fn free(&self) -> Vec<bool> {
        let mut free = vec![true; self.state.positions.len()];
        for vertex in self.model.pins.iter().chain(self.holds.iter().map(|(vertex, _)| vertex)) {
            free[vertex.index()] = false;
        }
        self.pinched.vertices().iter().for_each(|vertex| free[vertex.index()] = false);
        free
    }

    /// How long contours of cloth are that can be put in order, in segments.
    fn segments_to_order(&self, among_cloth: &Tangle) -> usize {
        let within = layering::contours_within_pieces(self.assembly.topology(), among_cloth);
        let within = within.iter().map(|tangled| tangled.contour.segments.len()).sum::<usize>();
        self.segments_between_pieces(among_cloth) + within
    }

    /// How long contours between different pieces of cloth are, in segments.
    pub(super) fn segments_between_pieces(&self, tangle: &Tangle) -> usize {
        let topology = self.assembly.topology();
        let piece = |triangle: TriangleId| {
            let first = topology.triangle(triangle)[0];
            (first.index() < self.state.positions.len()).then(|| topology.component(first))
        };
        let segments = tangle.contours.iter().flat_map(|tangled| &tangled.contour.segments);
        let is_between = |pair: &&[TriangleId; 2]| match pair.map(piece) {
            [Some(a), Some(b)] => a != b,
            _ => false,
        };
        segments.filter(is_between).count()
    }

    /// Takes over positions that a measure found; what moved, and the rings around it, may move from then on.
    pub(super) fn move_to(&mut self, positions: &[DVec3]) {
        for (vertex, place) in self.state.positions.iter().enumerate() {
            self.active[vertex] |= *place != positions[vertex];
        }
        self.place(positions);
        self.grow_active_by_rings();
    }

    /// Takes over positions that a measure found, and which need no more motion.
    pub(super) fn place(&mut self, positions: &[DVec3]) {
        let count = self.state.positions.len();
        self.state.positions.copy_from_slice(&positions[..count]);
        self.window = None;
        if self.steps == 0 {
            self.first_positions.copy_from_slice(&self.state.positions);
        }
    }

    pub(super) fn strengthen(&mut self, tangle: &Tangle) -> Advance {
        if self.settings.method == FixMethod::Auto && self.part(tangle) {
            return Advance::LookAgain;
        }
        if self.has_nothing_to_lose(tangle) {
            let is_all_red = self.is_largely_red(tangle);
            if self.lay_out_shapeless(tangle) || (is_all_red && self.lay_out_tangled(tangle)) {
                return Advance::LookAgain;
            }
        } else if self.settings.method == FixMethod::Auto && self.unfold_from_first() {
            return Advance::LookAgain;
        }
        self.strength += 1;
        let (method, is_early) = (self.settings.method, self.strength <= MOST_RETREATS);
        match method {
            FixMethod::Off | FixMethod::Esef => Advance::GaveUp,
            FixMethod::Auto | FixMethod::Retreat => {
                if (is_early && self.retreat()) || self.lay_out_tangled(tangle) {
                    Advance::LookAgain
                } else {
                    Advance::GaveUp
                }
            }
            _ if self.widen() => Advance::Step,
            _ => Advance::GaveUp,
        }
    }

    /// Whether there is no shape to keep where something crosses. Cloth whose folds were put right has one.
    pub(super) fn has_nothing_to_lose(&mut self, tangle: &Tangle) -> bool {
        if self.folding.turns > 0 {
            return false;
        }
        self.is_largely_red(tangle) || (self.settings.method == FixMethod::Auto && self.has_shapeless(tangle))
    }

    /// Whether what crosses has no shape that could be kept, and its colours do not tell which side of most of it is
    /// wrong: steps would only move cloth about before it is laid out anyway.
    pub(super) fn is_beyond_recognition(&mut self, tangle: &Tangle) -> bool {
        let is_told = tangle.colours.majority_failures.is_empty();
        self.folding.turns == 0 && !is_told && self.is_largely_red(tangle) && self.has_shapeless(tangle)
    }

    fn has_shapeless(&mut self, tangle: &Tangle) -> bool {
        self.red_components(tangle).into_iter().any(|component| self.is_shapeless(component))
    }

    /// The pieces of cloth with anything red, in order.
    pub(super) fn red_components(&self, tangle: &Tangle) -> Vec<usize> {
        let topology = self.assembly.topology();
        let corners = tangle.colours.red_triangles.iter().map(|&red| topology.triangle(red)[0]);
        let cloth = corners.filter(|vertex| vertex.index() < self.state.positions.len());
        let mut components: Vec<usize> = cloth.map(|vertex| self.model.topology.component(vertex)).collect();
        components.sort_unstable();
        components.dedup();
        components
    }

    /// Whether more than two thirds of the cloth are red.
    pub(super) fn is_largely_red(&self, tangle: &Tangle) -> bool {
        let is_cloth = |triangle: &&TriangleId| triangle.index() < self.model.topology.triangle_count();
        let red = tangle.colours.red_triangles.iter().filter(is_cloth).count();
        self.settings.method == FixMethod::Auto && 3 * red > 2 * self.model.topology.triangle_count()
    }

    /// Smooths cloth around what crosses until nothing does, from the best state or from the first one, whichever
    /// ends nearer to the first one; `false` if neither helps. From the first state flaps would have to be folded
    /// over again.
    fn retreat(&mut self) -> bool {
        let held: Vec<bool> = self.free().into_iter().map(|free| !free).collect();
        let stop = self.stop.clone();
        let mut nearest: Option<(f64, Vec<DVec3>)> = None;
        let best = self.watch.best().map(|best| best.cloth.clone());
        let first = Some(self.first_positions.clone()).filter(|_| !self.folding.is_folded);
        for start in [best, first] {
            let Some(cloth) = start else { continue };
            self.state.positions = cloth;
            let tangle = self.analyze_unpinched();
            let corners = tangle.colours.red_triangles.iter().flat_map(|&red| self.assembly.topology().triangle(red));
            let tangled: Vec<VertexId> = corners.collect();
            let positions = self.all_positions();
            let retreat = Retreat {
                assembly: &self.assembly,
                positions: &positions,
                cloth: &self.model.topology,
                held: &held,
                bodies: &self.bodies,
                pinched: &self.pinched,
                stop: &*stop,
            };
            let Some(clean) = retreat.find(&tangled, &mut self.analysis_workspace) else { continue };
            let moved = clean.iter().zip(&self.first_positions).map(|(after, before)| after.distance_squared(*before));
            let moved: f64 = moved.sum();
            if nearest.as_ref().is_none_or(|(least, _)| moved < *least) {
                nearest = Some((moved, clean));
            }
        }
        let Some((_, clean)) = nearest else { return false };
        self.resolvers.retreat += 1;
        for vertex in 0..self.state.positions.len() {
            self.active[vertex] |= clean[vertex] != self.first_positions[vertex];
        }
        self.state.positions.copy_from_slice(&clean[..self.active.len()]);
        self.window = None;
        self.grow_active_by_rings();
        self.pulls.clear();
        self.phase = Phase::GrowingBack;
        true
    }

    /// Lets the rings around everything that may move, move too.
    fn grow_active_by_rings(&mut self) {
        let active = (0..self.active.len()).filter(|&vertex| self.active[vertex]).map(VertexId::new).collect();
        self.free_rings_around(active);
    }

    /// Moves apart what touches without crossing; `false` if nothing does, or if it has been tried often enough.
    pub fn separate_touching(&mut self) -> bool {
        const MOST_ROUNDS: usize = 20;
        let positions = self.all_positions();
        let verdict = analysis::verdict(&self.assembly, &positions, &mut self.analysis_workspace);
        let verdict = self.pinched.leave_out_pairs(self.assembly.topology(), verdict);
        if verdict.touching_count() == 0 || self.touching_rounds == MOST_ROUNDS {
            return false;
        }
        self.touching_rounds += 1;
        self.resolvers.separate_touching += 1;
        let separation = self.settings.separation;
        for (vertex, step) in touching::pushes(self.assembly.topology(), &positions, &verdict, separation) {
            if let Some(position) = self.state.positions.get_mut(vertex.index()) {
                *position += step;
            }
        }
        true
    }
}

/// How long all contours are, in segments.
fn segment_count(tangle: &Tangle) -> usize {
    tangle.contours.iter().map(|tangled| tangled.contour.segments.len()).sum()
}
