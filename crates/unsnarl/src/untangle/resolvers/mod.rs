//! Resolvers: a [`crate::analysis::Tangle`] in, wishes, rest shapes and rules for one step out.
//!
//! | file | resolver |
//! |---|---|
//! | `gia`, `icm`, `repulsive_icm`, `uir`, `sim_prev` | the methods without history, contour by contour |
//! | `esef`, `fan`, `convex`, `tally` | edge shortening with epsilon finessing, and the account of its pulls |
//! | `main_component`, `loop_guard` | which vertices are red for edge shortening, and contact that keeps it so |
//! | `contour_gradient`, `goals`, `crossing_groups` | what they share |

pub mod contour_gradient;
pub(in crate::untangle) mod convex;
pub(in crate::untangle) mod crossing_groups;
pub mod esef;
pub mod fan;
pub(in crate::untangle) mod gia;
pub(in crate::untangle) mod goals;
pub(in crate::untangle) mod icm;
pub(in crate::untangle) mod loop_guard;
pub mod main_component;
pub(in crate::untangle) mod repulsive_icm;
pub(in crate::untangle) mod sim_prev;
pub mod tally;
pub(in crate::untangle) mod uir;
