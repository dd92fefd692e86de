//! Cloth in closed bodies goes out of them, by the body's own sign, before anything else is done.
//!
//! Only what a body touches moves, and some rings around it: cloth slides over the body until strain is evened out
//! ([`crate::untangle::bodies::push_out`]). Where that makes cloth cross cloth, its surroundings are carried along as
//! well, and the way that leaves less to untangle is taken.
//!
//! Guarantees: vertices beyond the rings stay, bit for bit; pinched vertices stay.
//! Does not: keep cloth from crossing cloth; what comes to cross is untangled afterwards, with the body as an
//! obstacle.

use super::{Rung, RungName};
use crate::analysis::{PartKind, Tangle};
use crate::fix::report::Spread;
use crate::fix::rings::rings_around;
use crate::fix::stepwise::Untangling;
use crate::fix::stepwise::watch::Advance;
use crate::untangle::bodies::push_out::Pushing;
use crate::untangle::rearrange::strain_bounds::StrainBounds;
use unsnarl_geometry::{DVec3, TriangleId, VertexId};

/// Pushes at most.
const MOST_PUSHES: usize = 12;
/// Rounds of each at most.
const PUSH_ROUNDS: usize = 200;
/// Cloth that is stretched by more than this, and than the input, is strained by the push.
const STRAINED: f64 = 1.05;
/// Strain counts as less below this share of it.
const HELPS: f64 = 0.99;
/// Rings around what is touched at most.
const MOST_RINGS: usize = 16;

/// The rung.
pub struct OutOfBodies;

impl Rung for OutOfBodies {
    fn name(&self) -> RungName {
        RungName::OutOfBodies
    }

    fn applies(&self, run: &Untangling, tangle: &Tangle) -> bool {
        let assembly = &run.setup.assembly;
        let is_of_body =
            |&triangle: &TriangleId| assembly.parts()[assembly.part_of_triangle(triangle)].kind == PartKind::Body;
        let crosses_body = || tangle.contours.iter().any(|tangled| tangled.contour.segments[0].iter().any(is_of_body));
        let is_over = run.setup.bodies.is_idle() || run.ledger.body_pushes == MOST_PUSHES;
        !run.settings.untangle.method.is_classic() && !is_over && (run.ledger.body_pushes == 0 || crosses_body())
    }

    fn act(&self, run: &mut Untangling, _: &Tangle) -> Option<Advance> {
        run.ledger.body_pushes += 1;
        let (all, free) = (run.all_positions(), run.free());
        let (assembly, pinched) = (&run.setup.assembly, run.setup.pinched.flags());
        let pushing = Pushing { assembly, free: &free, pinched, rounds: PUSH_ROUNDS };
        let touched = run.setup.bodies.touched(&pushing, &all);
        if touched.is_empty() {
            return None;
        }
        let (rounds, positions) = run.push_out_around(&touched, &pushing, all);
        run.ledger.resolvers.body_push += rounds;
        run.place(&positions);
        (rounds > 0).then_some(Advance::LookAgain)
    }
}

impl Untangling {
    /// Moves cloth out of bodies, and no more of it than some rings around what is touched; twice as many, within
    /// looser bounds, where cloth is strained and that helps. Returns the rounds taken and the positions.
    fn push_out_around(&self, touched: &[VertexId], pushing: &Pushing, from: Vec<DVec3>) -> (usize, Vec<DVec3>) {
        let unstrained = STRAINED.max(self.reference.input_strain.stretch);
        let (mut tight, mut loose) = (self.bounds(StrainBounds::TIGHT), self.bounds(StrainBounds::LOOSE));
        let (mut rounds, mut rings, mut best) = (0, self.settings.rings, (f64::INFINITY, from));
        loop {
            let near = rings_around(&self.model.topology, touched.to_vec(), rings);
            let free: Vec<bool> = near.iter().zip(pushing.free).map(|(near, free)| near.is_some() && *free).collect();
            let mut positions = best.1.clone();
            let pushing = Pushing { free: &free, ..*pushing };
            let bounds = if rounds == 0 { &mut tight } else { &mut loose };
            rounds += self.setup.bodies.push_out_smoothly(&pushing, bounds, &mut positions).rounds;
            let strain = Spread::of_stretch(&self.model, &positions[..free.len()]).p99;
            let is_better = strain < HELPS * best.0;
            if is_better {
                best = (strain, positions);
            }
            if !is_better || strain <= unstrained || rings >= MOST_RINGS || (self.stop)() {
                return (rounds, best.1);
            }
            rings *= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::made;
    use super::*;
    use crate::analysis::Assembly;
    use crate::fix::{FixMethod, FixSettings, Patient};
    use crate::model::{Cloth, Model};
    use crate::samples::{self, Cut, Recipe};

    /// A flat handkerchief through the middle of a closed tube.
    fn in_body(settings: FixSettings) -> (Untangling, Tangle) {
        let recipe = Recipe { resolution: 8, cut: Cut::Regular, seed: 1 };
        let mesh = samples::find("hanky").unwrap().make(&recipe).mesh;
        let middle = mesh.positions.iter().sum::<DVec3>() / mesh.positions.len() as f64;
        let edge = mesh.positions[0].distance(mesh.positions[1]);
        let corner = |x: f64, y: f64, z: f64| middle + 1.3 * edge * DVec3::new(x, y, z);
        // A tetrahedron around the middle.
        let body = [corner(1., 1., 1.), corner(-1., -1., 1.), corner(-1., 1., -1.), corner(1., -1., -1.)].to_vec();
        let sides: [[u32; 3]; 4] = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];
        let cloth = ("cloth".to_owned(), PartKind::Cloth, mesh.positions.len(), mesh.triangles.as_slice());
        let solid = ("body".to_owned(), PartKind::Body, 4, sides.as_slice());
        let assembly = Assembly::new([cloth, solid]).unwrap();
        let (model, state) = Model::build(&[Cloth::new("cloth", mesh.clone())]).unwrap();
        let mut run = Untangling::new(Patient { model, state, assembly, body_positions: body }, settings);
        let tangle = run.analyze();
        (run, tangle)
    }

    /// How many vertices of cloth are inside the tetrahedron: on the inner side of all of its sides.
    fn inside(run: &Untangling) -> usize {
        let body = &run.setup.body_positions;
        let middle = body.iter().sum::<DVec3>() / 4.0;
        let is_inner = |place: DVec3, away: usize| {
            let [a, b, c] = [1, 2, 3].map(|k| body[(away + k) % 4]);
            let normal = (b - a).cross(c - a);
            normal.dot(place - a) * normal.dot(middle - a) > 0.0
        };
        let is_inside = |place: &&DVec3| (0..4).all(|away| is_inner(**place, away));
        run.state.positions.iter().filter(is_inside).count()
    }

    #[test]
    fn cloth_in_a_body_is_pushed_out_of_it() {
        let (mut run, tangle) = in_body(FixSettings::default());
        assert!(!tangle.is_empty() && OutOfBodies.applies(&run, &tangle));
        let before = inside(&run);
        assert_eq!(OutOfBodies.act(&mut run, &tangle), Some(Advance::LookAgain));
        assert!(before > 0 && inside(&run) < before && run.ledger.resolvers.body_push > 0, "{before}");
    }

    #[test]
    fn it_is_not_for_cloth_alone_nor_for_methods_without_history() {
        let (run, tangle) = made("bbii", FixSettings::default());
        assert!(!OutOfBodies.applies(&run, &tangle));
        let (run, tangle) = in_body(FixSettings::with_method(FixMethod::Uir));
        assert!(!OutOfBodies.applies(&run, &tangle));
    }
}
