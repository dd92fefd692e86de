//! Rearrangements: positions in, positions out, without a step.
//!
//! | file | what it does |
//! |---|---|
//! | `layering`, `ordering` | puts crossing surfaces over each other |
//! | `parting` | carries pieces apart |
//! | `layout`, `tutte_layout`, `rest_pose` | lays pieces flat, or rebuilds them |
//! | `contour_minimisation`, `contour_links`, `overlap` | makes contours and overlaps smaller |
//! | `sliding`, `flatness`, `strain_bounds`, `smoothing`, `piercing` | elastic solves, bounds and pushes that they share |
//! | `spacing` | opens gaps |

pub(in crate::untangle) mod contour_links;
pub mod contour_minimisation;
mod flatness;
pub mod layering;
pub mod layout;
pub mod ordering;
pub mod overlap;
pub mod parting;
pub(crate) mod piercing;
pub mod rest_pose;
pub mod sliding;
pub mod smoothing;
pub mod spacing;
pub mod strain_bounds;
pub mod tutte_layout;
