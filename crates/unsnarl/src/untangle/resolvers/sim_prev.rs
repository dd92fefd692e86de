//! The earlier methods together, each where it claims most: the control for everything newer.
//!
//! CLOSED and EIGHT: global intersection analysis and contour minimisation. BBII, BIBI and LL: the unified resolver.
//! CROSS: contour minimisation. BLI: contour minimisation with repulsive normals. (Cha 2022, 6.1: a simulator with the
//! methods of its references 2, 64, 75 and 74; how they are combined is not said there, this is our choice, by figure
//! 2.1)

use crate::analysis::ContourKind;
use crate::untangle::bodies::depenetration;
use crate::untangle::method::{Draft, Scope};
use crate::untangle::resolvers::gia;
use crate::untangle::resolvers::icm;
use crate::untangle::resolvers::repulsive_icm;
use crate::untangle::resolvers::uir;

/// Undoes one contour.
pub(in crate::untangle) fn treat(draft: &mut Draft, index: usize) -> Scope {
    if depenetration::depenetrate(draft, index) == Scope::Treated {
        return Scope::Treated;
    }
    match draft.contour(index).kind {
        ContourKind::Closed | ContourKind::Eight => {
            let attracted = gia::attract_regions(draft, index);
            let shortened = repulsive_icm::treat(draft, index);
            if attracted == Scope::Treated { attracted } else { shortened }
        }
        ContourKind::Bbii | ContourKind::Bibi | ContourKind::Ll => match uir::treat(draft, index) {
            Scope::Treated => Scope::Treated,
            Scope::Out => repulsive_icm::treat(draft, index),
        },
        ContourKind::Cross | ContourKind::Other => icm::treat(draft, index),
        ContourKind::Bli => repulsive_icm::treat(draft, index),
    }
}
