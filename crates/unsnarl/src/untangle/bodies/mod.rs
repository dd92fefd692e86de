//! Cloth and bodies: pushed out of them, led out in steps, held where they pinch it.

pub mod damping;
pub(in crate::untangle) mod depenetration;
pub mod flypaper;
pub mod pinch;
pub mod push_out;
pub mod surface;
