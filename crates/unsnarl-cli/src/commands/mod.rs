//! One file per subcommand: its flags, and the conversion from them to a call.

pub mod batch;
pub mod check;
pub mod dress;
pub mod export;
pub mod fix;
pub mod levelset;
pub mod make;
pub mod refine;
pub mod sim;
pub mod studio;
pub mod tet;
pub mod tet_measure;
mod tet_picture;
pub mod trim;
