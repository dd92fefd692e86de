//! The measures of the table, a file each.

pub mod contour_minimisation;
pub mod laying_out;
pub mod places;
pub mod previous_methods;
pub mod steps;

#[cfg(test)]
mod tests {
    use crate::analysis::Verdict;
    use crate::fix::look::Look;
    use crate::fix::score::Score;
    use unsnarl_geometry::DVec3;

    /// Unstrained open cloth that is not the input.
    pub fn look(pairs: usize, vertex_count: usize) -> Look {
        Look {
            positions: vec![DVec3::ZERO; vertex_count],
            verdict: Verdict::default(),
            score: Score { pairs, stretch: 1.0, strain: 1.0, displacement: 0.0 },
            self_pairs: pairs,
            closed_crosses: false,
            is_input: false,
            has_shape: true,
            is_strained: false,
        }
    }
}
