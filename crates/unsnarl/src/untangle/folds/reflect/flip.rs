//! Regional flip and crease flip: a fold that bites into itself stays folded, its flap all on one side.
//!
//! Once the fold has been unfolded (`untangle::unfolding`) and cloth is relaxed, its flap is folded over again, around a narrow
//! bend and to the wanted side as a whole. Where it then is on the wrong side of what it lies on, or too near, it is pushed
//! through. The fold is at rest as it is then bent, or as its crease says; dynamics with contact does the rest.
//! (Cha 2022, 5.4 and 5.4.1)
//!
//! Departs: the source connects the loop vertices and the inner ends of two coupled contours and moves the region between
//! them through itself step by step. Here one contour is enough, and flaps that cross several times are turned at once.

use crate::model::Model;
use crate::untangle::folds::reflect::fold::{BENT, Fold};
use crate::untangle::folds::reflect::unfolding::{Bend, Turning};
use crate::untangle::folds::style::FoldStyle;
use crate::untangle::rearrange::ordering::{Look, Ordering, Overlap, Piece};
use rustc_hash::FxHashMap;
use unsnarl_geometry::{DVec3, VertexId};

/// How narrow the bend is made, in edges, in the order of trial; and how far the flap stands off, radians.
const RADII: [f64; 4] = [0.25, 0.4, 0.6, 0.15];
const FLARE: f64 = 0.1;

/// A fold that is to stay folded.
#[derive(Clone, Debug)]
pub struct Flip {
    /// The fold.
    pub fold: Fold,
    /// 1 if the flap belongs on the front of the ground, -1 for the back.
    side: f64,
    /// Hinges whose angle the crease gives, radians.
    creases: Vec<(usize, f64)>,
}

impl Flip {
    /// What the style of a fold asks for, while its hinges still have their own rest angles; `None` where it is to be unfolded.
    pub fn new(fold: Fold, rest_angles: &[f64]) -> Option<Self> {
        let bent = fold.hinges.iter().map(|&hinge| (hinge, rest_angles[hinge]));
        let bent: Vec<(usize, f64)> = bent.filter(|(_, angle)| angle.abs() > BENT).collect();
        let (side, creases) = match fold.style {
            FoldStyle::Unfold => return None,
            FoldStyle::FoldOut => (1.0, Vec::new()),
            FoldStyle::FoldIn => (-1.0, Vec::new()),
            FoldStyle::Crease => {
                let side = -bent.iter().map(|(_, angle)| angle).sum::<f64>().signum();
                (side, bent.into_iter().map(|(hinge, angle)| (hinge, -side * angle.abs())).collect())
            }
        };
        Some(Self { fold, side, creases })
    }

    /// The bends to try, in order.
    pub fn bends(&self) -> impl Iterator<Item = Bend> + use<> {
        let side = self.side;
        RADII.into_iter().map(move |radius| Bend { side, radius, flare: FLARE })
    }

    /// Where cloth is when the flap has been folded over; `None` where that is not possible.
    pub fn fold_over(
        &self,
        bend: &Bend,
        model: &Model,
        ordering: &Ordering,
        positions: &[DVec3],
    ) -> Option<Vec<DVec3>> {
        let mut places = Turning::new(model, &self.fold, ordering.free)?.fold_over(bend, positions)?;
        let flap = Piece::new(ordering.topology, &places, self.fold.flap.clone())?;
        let ground = Piece::new(ordering.topology, &places, self.fold.ground.clone())?;
        let looks = ordering.looks(&flap, &ground, &places);
        let sees = |(_, look): &(&VertexId, &Look)| look.height().is_some();
        let sides: FxHashMap<VertexId, f64> =
            looks.iter().filter(sees).map(|(&vertex, _)| (vertex, self.side)).collect();
        let overlap = Overlap { above: 0, below: 1, sides };
        ordering.push(&mut [flap, ground], &[overlap], &mut places);
        Some(places)
    }

    /// How the hinges of the fold and its flap are bent at rest: as they are now, or as the crease says.
    pub fn angles_at_rest(&self, model: &Model, free: &[bool], positions: &[DVec3]) -> Vec<(usize, f64)> {
        let now = Turning::new(model, &self.fold, free).map(|turning| turning.folded_angles(positions));
        now.unwrap_or_default().into_iter().chain(self.creases.iter().copied()).collect()
    }
}
