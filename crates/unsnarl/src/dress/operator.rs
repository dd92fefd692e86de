//! The operator of layers as weighted isotonic regression.
//!
//! At a point every layer `j`, from the inside out, has a signed distance `f_j`, a weight `w_j` and the depth `tau_j`
//! of its middle below the outermost one's, counted from the body. With `g_j = f_j + tau_j`, let `x` be the
//! non-increasing sequence nearest to `g`:
//!
//! ```text
//! least of sum w_j (x_j - g_j)^2   subject to   x_1 >= x_2 >= ... >= x_N
//! ```
//!
//! Then `x_i - tau_i` is the deformed field of layer i: it has the zero set of the N-ary operator with thickness of
//! Buffet 2021, 2.3 (re-derived: its cells say where prefix sums of `w f` are largest), and the fields are in order at
//! every point. Adjacent violators are pooled, which is linear in the number of layers.
//!
//! Guarantees: `x` is in order; it changes by at most what the largest of the `g` changes by; layers that are in order
//! keep their values to the last bit.
//! Departs: the value is in metres, not the distance in the space of all `f`; that one is [`super::operator_distance`].

/// A layer as a point sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// `f + tau`, metres.
    pub level: f64,
    /// How much it resists; infinite for a rigid layer.
    pub weight: f64,
}

/// Layers that were pooled: a run of entries with one value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block {
    /// The first of them.
    pub first: usize,
    /// One behind the last.
    pub end: usize,
    /// Their value, metres.
    pub value: f64,
    /// The rigid layer among them that gives them its value.
    pub rigid: Option<usize>,
    weight: f64,
    moment: f64,
}

impl Block {
    fn of(index: usize, entry: Entry) -> Self {
        let rigid = entry.weight.is_infinite().then_some(index);
        Self {
            first: index,
            end: index + 1,
            value: entry.level,
            rigid,
            weight: entry.weight,
            moment: if rigid.is_some() { 0.0 } else { entry.weight * entry.level },
        }
    }

    /// Pools with the block that follows. Of two rigid layers the inner one decides.
    fn joined(self, next: Self) -> Self {
        let rigid = self.rigid.or(next.rigid);
        let (weight, moment) = (self.weight + next.weight, self.moment + next.moment);
        let value = match (self.rigid, next.rigid) {
            (Some(_), _) => self.value,
            (None, Some(_)) => next.value,
            (None, None) => moment / weight,
        };
        Self { first: self.first, end: next.end, value, rigid, weight, moment }
    }

    /// How many layers it has.
    pub fn len(&self) -> usize {
        self.end - self.first
    }

    /// Whether it has no layers; none has.
    pub fn is_empty(&self) -> bool {
        self.end == self.first
    }
}

/// The non-increasing fit, as blocks from the inside out. Weights are positive.
pub fn fit(entries: &[Entry], blocks: &mut Vec<Block>) {
    blocks.clear();
    for (index, &entry) in entries.iter().enumerate() {
        let mut block = Block::of(index, entry);
        while let Some(last) = blocks.last().copied().filter(|last| last.value < block.value) {
            blocks.pop();
            block = last.joined(block);
        }
        blocks.push(block);
    }
}

/// The block of a layer.
pub fn block_of(blocks: &[Block], layer: usize) -> Option<&Block> {
    blocks.get(blocks.partition_point(|block| block.end <= layer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::random::Random;

    fn values(entries: &[Entry]) -> Vec<f64> {
        let mut blocks = Vec::new();
        fit(entries, &mut blocks);
        blocks.iter().flat_map(|block| std::iter::repeat_n(block.value, block.len())).collect()
    }

    fn entries(levels: &[f64], weights: &[f64]) -> Vec<Entry> {
        levels.iter().zip(weights).map(|(&level, &weight)| Entry { level, weight }).collect()
    }

    /// All ways to cut the layers into runs; the best one whose means do not increase is the fit.
    fn brute_force(entries: &[Entry]) -> Vec<f64> {
        let count = entries.len();
        let mut best: Option<(f64, Vec<f64>)> = None;
        for cuts in 0..1_u32 << (count - 1) {
            let (mut fitted, mut first) = (Vec::new(), 0);
            for end in 1..=count {
                if end < count && cuts >> (end - 1) & 1 == 0 {
                    continue;
                }
                let run = &entries[first..end];
                let weight: f64 = run.iter().map(|entry| entry.weight).sum();
                let mean = run.iter().map(|entry| entry.weight * entry.level).sum::<f64>() / weight;
                fitted.extend(std::iter::repeat_n(mean, run.len()));
                first = end;
            }
            if fitted.windows(2).any(|pair| pair[0] < pair[1]) {
                continue;
            }
            let cost = fitted.iter().zip(entries).map(|(x, entry)| entry.weight * (x - entry.level).powi(2)).sum();
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, fitted));
            }
        }
        best.unwrap().1
    }

    #[test]
    fn rows_with_known_values() {
        let half = [1.0, 1.0];
        assert_eq!(values(&entries(&[0.0, 1.0], &half)), [0.5, 0.5]);
        assert_eq!(values(&entries(&[1.0, 2.0], &half)), [1.5, 1.5]);
        assert_eq!(values(&entries(&[-1.0, -2.0], &half)), [-1.0, -2.0]);
        let third = values(&entries(&[0.0, -1.0, 2.0], &[1.0; 3]));
        assert!(third.iter().all(|value| (value - 1.0 / 3.0).abs() < 1e-15), "{third:?}");
    }

    #[test]
    fn two_layers_share_the_way_as_their_weights_say() {
        let fitted = values(&entries(&[0.0, 1.0], &[2.5, 1.0]));
        assert!((fitted[0] / (1.0 - fitted[1]) - 1.0 / 2.5).abs() < 1e-12, "{fitted:?}");
    }

    #[test]
    fn a_rigid_layer_keeps_its_value_and_gives_it_to_those_that_pool_with_it() {
        let fitted = values(&entries(&[0.0, 1.0, 0.5, -3.0], &[f64::INFINITY, 1.0, 1.0, 1.0]));
        assert_eq!(fitted, [0.0, 0.0, 0.0, -3.0]);
    }

    #[test]
    fn the_fit_is_that_of_brute_force_over_all_runs_for_up_to_nine_layers() {
        let mut random = Random::new(7);
        for count in 1..=9_usize {
            for _ in 0..200 {
                let levels: Vec<f64> = (0..count).map(|_| random.between(-1.0, 1.0)).collect();
                let weights: Vec<f64> = (0..count).map(|_| random.between(0.1, 5.0)).collect();
                let given = entries(&levels, &weights);
                for (fast, slow) in values(&given).iter().zip(brute_force(&given)) {
                    assert!((fast - slow).abs() < 1e-9, "{levels:?} {weights:?}");
                }
            }
        }
    }

    #[test]
    fn a_point_is_inside_layer_i_exactly_when_the_largest_prefix_sum_is_before_it() {
        let mut random = Random::new(11);
        for _ in 0..5000 {
            let count = 2 + (random.between(0.0, 7.99) as usize);
            let levels: Vec<f64> = (0..count).map(|_| random.between(-1.0, 1.0)).collect();
            let weights: Vec<f64> = (0..count).map(|_| random.between(0.1, 5.0)).collect();
            let mut sums = vec![0.0];
            for (level, weight) in levels.iter().zip(&weights) {
                sums.push(sums[sums.len() - 1] + level * weight);
            }
            let top = (0..sums.len()).fold(0, |best, at| if sums[at] > sums[best] { at } else { best });
            for (layer, value) in values(&entries(&levels, &weights)).into_iter().enumerate() {
                assert_eq!(value < 0.0, top < layer + 1, "{levels:?} {weights:?} {layer}");
            }
        }
    }

    #[test]
    fn the_fit_keeps_order_moves_no_more_than_its_input_and_forgets_layers_without_weight() {
        let mut random = Random::new(3);
        for _ in 0..5000 {
            let count = 2 + (random.between(0.0, 7.99) as usize);
            let levels: Vec<f64> = (0..count).map(|_| random.between(-1.0, 1.0)).collect();
            let weights: Vec<f64> = (0..count).map(|_| random.between(0.1, 5.0)).collect();
            let fitted = values(&entries(&levels, &weights));
            assert!(fitted.windows(2).all(|pair| pair[0] >= pair[1]));
            let moved: Vec<f64> = levels.iter().map(|level| level + random.between(-0.1, 0.1)).collect();
            let others = values(&entries(&moved, &weights));
            let most = levels.iter().zip(&moved).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(fitted.iter().zip(&others).all(|(a, b)| (a - b).abs() <= most + 1e-12));
            let mut faint = weights.clone();
            faint[count / 2] = 1e-12;
            let with = values(&entries(&levels, &faint));
            let drop = |list: &[f64]| -> Vec<f64> {
                list.iter().enumerate().filter(|(at, _)| *at != count / 2).map(|(_, value)| *value).collect()
            };
            let without = values(&entries(&drop(&levels), &drop(&weights)));
            assert!(drop(&with).iter().zip(&without).all(|(a, b)| (a - b).abs() < 1e-9));
        }
    }

    /// Concentric spheres in any order of radii come out in order, at least the gap apart, at the weighted means.
    #[test]
    fn nine_shells_of_random_radii_are_nested_a_gap_apart() {
        let mut random = Random::new(5);
        for _ in 0..500 {
            let radii: Vec<f64> = (0..9).map(|_| random.between(1.0, 2.0)).collect();
            let weights: Vec<f64> = (0..9).map(|_| random.between(0.2, 5.0)).collect();
            let gap = 0.01;
            let depth = |layer: usize| gap * layer as f64;
            // f = r - R on a ray: the root of x_i(r) - tau_i = 0 is found by moving down the fit, which is linear in r.
            let levels: Vec<f64> = radii.iter().enumerate().map(|(at, radius)| depth(at) - radius).collect();
            let roots: Vec<f64> =
                values(&entries(&levels, &weights)).iter().enumerate().map(|(at, x)| depth(at) - x).collect();
            assert!(roots.windows(2).all(|pair| pair[1] - pair[0] >= gap - 1e-14), "{roots:?}");
        }
    }
}
