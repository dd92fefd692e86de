//! The measures of the table, a file each.

pub mod contour_minimisation;
pub mod previous_methods;
pub mod steps;
