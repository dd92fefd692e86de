//! Stage 4: what to do about what crosses. A [`crate::analysis::Tangle`] in, a [`Remedy`] out.

pub mod body_push;
pub mod body_surface;
pub mod contour_gradient;
mod convex;
mod crossing_groups;
mod ejection;
pub mod esef;
pub mod evening;
pub mod fan;
pub mod flip;
pub mod flypaper;
mod gia;
mod holes;
mod icm;
pub mod layering;
pub mod layout;
pub mod mainland;
pub mod method;
mod moves;
mod nearest;
pub mod ordering;
pub mod parting;
pub mod pinch;
mod remedy;
mod repulsive_icm;
pub mod shortening;
mod sim_prev;
pub mod smoothing;
pub mod style;
pub mod tally;
pub mod tearing;
mod uir;

pub use crossing_groups::CrossingGroups;
pub use method::{ClassicReport, ClassicSettings, Method, Plan, Situation, plan, plan_for_bodies};
pub use remedy::{ColourRules, Remedy};
pub use style::FoldStyle;
