//! Where triangles meet: two questions, two exact answers.
//!
//! *Do these closed triangles meet beyond what they share by connectivity?* [`relation`] answers for the coordinates as
//! they are; touching counts. This is the verdict of a check.
//! *Which edges pass through which triangles?* [`crossings_of_pair`] answers for the symbolically perturbed mesh, in
//! which nothing touches. This is what contours are made of.
//!
//! Guarantees: a pair with a symbolic crossing always meets; a disjoint pair has no symbolic crossing or two, a pair
//! that shares a vertex none or one, a pair that shares an edge none.

mod crossing;
mod fan;
mod find;
mod patch;
mod planar;
mod polygon;
mod separation;
mod triangle_pair;

pub use crossing::{PairCrossing, PairSide, crossings_of_pair};
pub use find::{
    CrossingPair, IntersectingPair, LastSearch, SMALL_MESH, find_crossing_pairs, find_crossing_pairs_again,
    find_intersecting_pairs, triangle_box, triangle_tree,
};
pub use patch::Habit;
pub use separation::surely_apart;
pub use triangle_pair::{Relation, relation};
