//! Python: the extension module of the package `unsnarl`. It converts and calls.
//!
//! The package's Python side brings arrays into one form (C-contiguous float64 and int32, see `_meshes.py`); here they are
//! borrowed, the interpreter lock is let go, and the engine is called as the command calls it.
//!
//! Guarantees: no state of its own; every call has threads of its own, so calls from several threads or after a fork do not
//! meet; bad input is an exception of one line; Ctrl-C is heard while the engine works (`working`).
//! Does not: hold an algorithm.

mod arrays;
mod checking;
mod command;
mod dressing;
mod fixing;
mod garments;
mod level_set;
mod refining;
mod scene;
mod volumes;
mod working;

use pyo3::pymodule;

/// The engine of Unsnarl.
#[pymodule]
mod _unsnarl {
    #[pymodule_export]
    use super::checking::{addresses, check};
    #[pymodule_export]
    use super::command::command;
    #[pymodule_export]
    use super::dressing::dress;
    #[pymodule_export]
    use super::fixing::fix;
    #[pymodule_export]
    use super::level_set::Levels;
    #[pymodule_export]
    use super::refining::refine;
    #[pymodule_export]
    use super::scene::Simulated;
    #[pymodule_export]
    use super::volumes::{tetrahedralize, trim};
}
