//! What crosses at the moments of a step, each analysed once.

use crate::analysis::{self, Assembly, Tangle};
use crate::geometry::DVec3;
use std::collections::VecDeque;
use std::sync::Arc;

/// What crossed at the last few moments, so that none is analysed twice: the end of a step or frame is the start of
/// the next.
#[derive(Clone, Debug, Default)]
pub struct Analyses {
    /// Memory of the analysis itself.
    pub workspace: analysis::Workspace,
    known: VecDeque<(Vec<DVec3>, Arc<Tangle>)>,
}

/// A step that is taken again as two halves looks at three moments.
const MOMENTS: usize = 3;

impl Analyses {
    /// What crosses at some positions.
    pub fn at(&mut self, assembly: &Assembly, positions: &[DVec3]) -> Arc<Tangle> {
        if let Some((_, tangle)) = self.known.iter().find(|known| known.0 == positions) {
            return Arc::clone(tangle);
        }
        let tangle = analysis::analyze(assembly, positions, &mut self.workspace);
        self.remember(positions.to_vec(), tangle)
    }

    /// Takes note of what crosses at some positions.
    pub fn remember(&mut self, positions: Vec<DVec3>, tangle: Tangle) -> Arc<Tangle> {
        let tangle = Arc::new(tangle);
        self.known.push_back((positions, Arc::clone(&tangle)));
        if self.known.len() > MOMENTS {
            self.known.pop_front();
        }
        tangle
    }
}
