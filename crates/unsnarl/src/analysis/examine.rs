//! A whole look at some positions: the exact verdict, the contours if anything meets, and the report on both.

use super::assembly::Assembly;
use super::report::{CheckReport, Findings};
use super::verdict::{Verdict, smallest_gap, verdict_unless};
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
    look(assembly, positions, (gap, workspace), name_of, &|| false)
}

/// As [`examine`], unless `stop` says so meanwhile; once it does, it has to go on doing so. It is asked at every pair
/// of triangles and at every contour, but not while the smallest gap is looked for.
pub fn examine_unless(
    assembly: &Assembly,
    positions: &[DVec3],
    gap: SmallestGap,
    name_of: impl Fn(TriangleId) -> String,
    stop: &(impl Fn() -> bool + Sync),
) -> Option<Examination> {
    // What a search that was stopped remembers is wrong, so that nobody else may have the workspace.
    let found = look(assembly, positions, (gap, &mut Workspace::default()), name_of, stop);
    (!stop()).then_some(found)
}

fn look(
    assembly: &Assembly,
    positions: &[DVec3],
    (gap, workspace): (SmallestGap, &mut Workspace),
    name_of: impl Fn(TriangleId) -> String,
    stop: &(impl Fn() -> bool + Sync),
) -> Examination {
    let verdict = verdict_unless(assembly, positions, workspace, stop);
    let tangle = if verdict.is_clean() || stop() {
        Tangle::default()
    } else {
        super::analyze_unless(assembly, positions, workspace, stop)
    };
    let smallest_gap = match gap {
        SmallestGap::Measured if !stop() => smallest_gap(assembly, positions, &verdict, workspace),
        SmallestGap::Measured | SmallestGap::LeftOut => None,
    };
    let findings = Findings { assembly, positions, tangle: &tangle, verdict: &verdict, smallest_gap, seconds: 0.0 };
    let report = CheckReport::new(&findings, name_of);
    Examination { verdict, tangle, report }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{self, Cut, Recipe};
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn a_look_that_is_stopped_gives_nothing_and_one_that_is_not_gives_the_same() {
        let mesh = samples::find("bbii").unwrap().make(&Recipe { resolution: 40, cut: Cut::Irregular, seed: 1 }).mesh;
        let assembly = Assembly::of_cloth("cloth", &mesh).unwrap();
        let name_of = |_| String::new();
        let whole =
            examine(&assembly, &mesh.positions, SmallestGap::Measured, name_of, &mut Workspace::default()).report;
        assert!(!whole.clean);
        let asked = AtomicUsize::new(0);
        let until = |count: usize| {
            asked.store(0, Ordering::SeqCst);
            let stop = || asked.fetch_add(1, Ordering::SeqCst) >= count;
            examine_unless(&assembly, &mesh.positions, SmallestGap::Measured, name_of, &stop)
        };
        let same = until(usize::MAX).map(|found| format!("{:?}", found.report));
        assert_eq!(same, Some(format!("{whole:?}")));
        let most = asked.load(Ordering::SeqCst);
        assert!(most > 1000, "asked {most} times only");
        for count in [0, 1, most / 2, most - 2] {
            assert!(until(count).is_none(), "stopped at {count} of {most}");
        }
    }
}
