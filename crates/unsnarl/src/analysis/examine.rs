//! A whole look at some positions: the exact verdict, the contours if anything meets, and the report on both.

use super::assembly::Assembly;
use super::report::{CheckReport, Findings};
use super::verdict::{Verdict, smallest_gap, verdict};
use super::{Tangle, Workspace};
use unsnarl_geometry::{DVec3, TriangleId};

/// What was found at some positions.
#[derive(Clone, Debug)]
pub struct Examination {
    /// Every pair that meets.
    pub verdict: Verdict,
    /// The contours; empty where nothing meets.
    pub tangle: Tangle,
    /// All of it for others to read. Whoever has a clock sets its seconds.
    pub report: CheckReport,
}

/// Whether to look for the smallest gap between parts that do not meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SmallestGap {
    /// Yes.
    Measured,
    /// No: the report has none.
    LeftOut,
}

/// Looks at everything. `name_of` gives the name of the sheet that a triangle belongs to.
pub fn examine(
    assembly: &Assembly,
    positions: &[DVec3],
    gap: SmallestGap,
    name_of: impl Fn(TriangleId) -> String,
    workspace: &mut Workspace,
) -> Examination {
    let verdict = verdict(assembly, positions, workspace);
    let tangle = if verdict.is_clean() { Tangle::default() } else { super::analyze(assembly, positions, workspace) };
    let smallest_gap = match gap {
        SmallestGap::Measured => smallest_gap(assembly, positions, &verdict, workspace),
        SmallestGap::LeftOut => None,
    };
    let findings = Findings { assembly, positions, tangle: &tangle, verdict: &verdict, smallest_gap, seconds: 0.0 };
    let report = CheckReport::new(&findings, name_of);
    Examination { verdict, tangle, report }
}
