//! The velocities nearest to given ones, by mass, whose rows are not below their sources.
//!
//! least `1/2 sum M_k |v_k - u_k|^2` with `D v >= s`: `v = u + M^-1 D^T p`, where `p >= 0` minimises
//! `1/2 p^T A p - b^T p` with `A = D M^-1 D^T`, `b = s - D u`. Conjugate gradients on the rows that push, with
//! projected steps where a pressure would turn negative, and with steps towards rows that are violated where these
//! lead. (Dostál and Schöberl 2005, modified proportioning with reduced gradient projections; rows are scaled to
//! diagonal 1.)
//!
//! Guarantees: nodes of no row that pushes keep their bits; pressures are not negative where the sense is one-sided,
//! also when iterations run out; sums have a fixed order.
//! Departs: Buffet 2021 takes a fixed set and an equality. A set that is found during the iterations needs no rounds
//! and does not bind what separates.

use super::Effort;
use super::stencil::Row;
use super::sums::{dot, largest, sum};
use rayon::prelude::*;
use unsnarl_geometry::DVec3;

/// Whether rows only push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sense {
    /// `row(u) >= source`: what separates is let go.
    AtLeast,
    /// `row(u) = source`.
    Equal,
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Projection<'a> {
    /// The conditions.
    pub rows: &'a [Row],
    /// What each row is to reach, 1/s.
    pub sources: &'a [f64],
    /// One over the mass of each node, 1/kg; 0 for nodes whose motion is given.
    pub inverse_masses: &'a [f64],
    /// Whether rows only push.
    pub sense: Sense,
    /// How far to go.
    pub effort: Effort,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Projected {
    /// The impulse of each row per unit of its weights, kg m^2/s.
    pub pressures: Vec<f64>,
    /// Applications of the matrix.
    pub iterations: u32,
    /// How often the set of rows that push was changed by a step of its own.
    pub rounds: u32,
    /// What is left of the residual, as a share.
    pub residual: f64,
}

/// Changes velocities so that they satisfy the rows.
pub fn project(asked: &Projection, velocities: &mut [DVec3]) -> Projected {
    let system = System::new(asked);
    let aim = |row: usize| (asked.sources[row] - asked.rows[row].apply(velocities)) * system.scales[row];
    let wanted: Vec<f64> = (0..asked.rows.len()).into_par_iter().map(aim).collect();
    let mut done = minimise(&system, &wanted, asked);
    done.pressures.par_iter_mut().zip(&system.scales).for_each(|(pressure, scale)| *pressure *= scale);
    let pressures = &done.pressures;
    velocities.par_iter_mut().enumerate().for_each(|(node, velocity)| {
        let pushes = system.of_node(node).iter().any(|&(row, _)| pressures[row as usize] != 0.0);
        if pushes {
            *velocity += system.push(node, |row| pressures[row]);
        }
    });
    done
}

/// The rows and where each node occurs in them.
struct System<'a> {
    asked: &'a Projection<'a>,
    starts: Vec<u32>,
    /// Row and place in it, node after node.
    uses: Vec<(u32, u8)>,
    /// Factors that make the diagonal 1; 0 for rows that nothing can change.
    scales: Vec<f64>,
}

impl<'a> System<'a> {
    fn new(asked: &'a Projection<'a>) -> Self {
        let uses_of = |row: &Row| -> Vec<(usize, u8)> {
            let used = (0..8).filter(|&at| row.weights[at] != DVec3::ZERO);
            used.map(|at| (row.nodes[at] as usize, at as u8)).collect()
        };
        let mut starts = vec![0_u32; asked.inverse_masses.len() + 1];
        for row in asked.rows {
            for (node, _) in uses_of(row) {
                starts[node + 1] += 1;
            }
        }
        for node in 1..starts.len() {
            starts[node] += starts[node - 1];
        }
        let mut next = starts.clone();
        let mut uses = vec![(0, 0); starts.last().copied().unwrap_or(0) as usize];
        for (number, row) in asked.rows.iter().enumerate() {
            for (node, at) in uses_of(row) {
                uses[next[node] as usize] = (number as u32, at);
                next[node] += 1;
            }
        }
        let diagonal = |row: &Row| -> f64 {
            let terms = row.nodes.iter().zip(&row.weights);
            terms.map(|(&node, weight)| asked.inverse_masses[node as usize] * weight.length_squared()).sum()
        };
        let scale = |row: &Row| {
            let diagonal = diagonal(row);
            if diagonal > 0.0 { diagonal.sqrt().recip() } else { 0.0 }
        };
        let scales = asked.rows.par_iter().map(scale).collect();
        Self { asked, starts, uses, scales }
    }

    fn of_node(&self, node: usize) -> &[(u32, u8)] {
        &self.uses[self.starts[node] as usize..self.starts[node + 1] as usize]
    }

    /// The change of a node's velocity by pressures.
    fn push(&self, node: usize, pressure: impl Fn(usize) -> f64) -> DVec3 {
        let used = self.of_node(node).iter();
        let term = |&(row, at): &(u32, u8)| self.asked.rows[row as usize].weights[at as usize] * pressure(row as usize);
        used.map(term).sum::<DVec3>() * self.asked.inverse_masses[node]
    }

    /// The scaled matrix times a vector.
    fn times(&self, vector: &[f64], pushes: &mut [DVec3], out: &mut [f64]) {
        pushes.par_iter_mut().with_min_len(256).enumerate().for_each(|(node, push)| {
            *push = if self.starts[node] == self.starts[node + 1] {
                DVec3::ZERO
            } else {
                self.push(node, |row| vector[row] * self.scales[row])
            };
        });
        let pushes = &*pushes;
        out.par_iter_mut().with_min_len(256).enumerate().for_each(|(row, out)| {
            *out = self.asked.rows[row].apply(pushes) * self.scales[row];
        });
    }
}

/// Steps of the power iteration for the largest eigenvalue, and the projected step as a share of its inverse. Anything
/// below 2 converges; the estimate may be a little low.
const POWER_STEPS: usize = 8;
const STEP: f64 = 1.5;

/// The state of the iteration: `x >= 0` and the gradient `A x - b`.
struct Descent<'a> {
    x: Vec<f64>,
    gradient: Vec<f64>,
    sense: Sense,
    wanted: &'a [f64],
    step: f64,
}

impl Descent<'_> {
    fn is_free(&self, at: usize) -> bool {
        self.sense == Sense::Equal || self.x[at] > 0.0
    }

    /// The gradient on rows that push.
    fn free(&self, at: usize) -> f64 {
        if self.is_free(at) { self.gradient[at] } else { 0.0 }
    }

    /// The gradient on rows that ought to push and do not.
    fn chopped(&self, at: usize) -> f64 {
        if self.is_free(at) { 0.0 } else { self.gradient[at].min(0.0) }
    }

    /// Free gradient times what a projected step could use of it.
    fn reduced(&self, at: usize) -> f64 {
        let free = self.free(at);
        let usable = if self.sense == Sense::AtLeast && free > 0.0 { free.min(self.x[at] / self.step) } else { free };
        free * usable
    }

    fn directions(&self) -> Vec<f64> {
        (0..self.x.len()).into_par_iter().with_min_len(1024).map(|at| self.free(at)).collect()
    }

    fn moved(&mut self, by: f64, direction: &[f64], image: &[f64]) {
        let sense = self.sense;
        self.x.par_iter_mut().with_min_len(1024).zip(direction).for_each(|(x, d)| {
            let end = *x - by * d;
            *x = if sense == Sense::AtLeast { end.max(0.0) } else { end };
        });
        self.gradient.par_iter_mut().with_min_len(1024).zip(image).for_each(|(g, a)| *g -= by * a);
    }
}

fn minimise(system: &System, wanted: &[f64], asked: &Projection) -> Projected {
    let (count, sense) = (wanted.len(), asked.sense);
    let gradient: Vec<f64> = wanted.par_iter().map(|wanted| -wanted).collect();
    let mut state = Descent { x: vec![0.0; count], gradient, sense, wanted, step: 0.0 };
    let missing = |state: &Descent| sum(count, |at| (state.free(at) + state.chopped(at)).powi(2)).sqrt();
    let first = missing(&state);
    let mut done = Projected::default();
    if first == 0.0 {
        return Projected { pressures: state.x, ..done };
    }
    let mut pushes = vec![DVec3::ZERO; asked.inverse_masses.len()];
    let mut image = vec![0.0; count];
    state.step = STEP / largest_eigenvalue(system, &mut pushes, &mut image);
    let mut direction = state.directions();
    loop {
        done.residual = missing(&state) / first;
        if done.residual <= asked.effort.tolerance || done.iterations >= asked.effort.iterations {
            break;
        }
        done.iterations += 1;
        let is_proportional = sum(count, |at| state.chopped(at).powi(2)) <= sum(count, |at| state.reduced(at));
        if !is_proportional {
            direction = (0..count).map(|at| state.chopped(at)).collect();
        }
        system.times(&direction, &mut pushes, &mut image);
        let curvature = dot(&direction, &image);
        if curvature.is_nan() || curvature <= f64::EPSILON * dot(&direction, &direction) {
            break; // Nothing can move this way: two given motions ask for opposite things.
        }
        let length = dot(&state.gradient, &direction) / curvature;
        if !is_proportional {
            state.moved(length, &direction, &image);
            direction = state.directions();
            done.rounds += 1;
            continue;
        }
        let furthest = if sense == Sense::Equal { f64::INFINITY } else { furthest(&state.x, &direction) };
        if length <= furthest {
            state.moved(length, &direction, &image);
            let mix = sum(count, |at| state.free(at) * image[at]) / curvature;
            let free = |(at, d): (usize, &mut f64)| *d = state.free(at) - mix * *d;
            direction.par_iter_mut().with_min_len(1024).enumerate().for_each(free);
            continue;
        }
        state.moved(furthest, &direction, &image);
        let step = state.step;
        state.x = (0..count).into_par_iter().map(|at| (state.x[at] - step * state.free(at)).max(0.0)).collect();
        system.times(&state.x, &mut pushes, &mut image);
        state.gradient = image.par_iter().zip(state.wanted).map(|(image, wanted)| image - wanted).collect();
        direction = state.directions();
        done.iterations += 1;
        done.rounds += 1;
    }
    done.pressures = state.x;
    done
}

/// How far one may go against a direction before a value turns negative.
fn furthest(x: &[f64], direction: &[f64]) -> f64 {
    let way = |(x, d): (&f64, &f64)| if *d > 0.0 { x / d } else { f64::INFINITY };
    x.par_iter().with_min_len(1024).zip(direction).map(way).reduce(|| f64::INFINITY, f64::min)
}

/// An estimate from below of the largest eigenvalue, by the power method from alternating signs.
fn largest_eigenvalue(system: &System, pushes: &mut [DVec3], image: &mut [f64]) -> f64 {
    let sign = |at: usize| if (at.wrapping_mul(0x9E37_79B9) >> 16) & 1 == 0 { 1.0 } else { -1.0 };
    let mut vector: Vec<f64> = (0..image.len()).map(sign).collect();
    let mut value = 1.0;
    for _ in 0..POWER_STEPS {
        system.times(&vector, pushes, image);
        let scale = largest(image.len(), |at| image[at].abs());
        let size = dot(&vector, &vector);
        if scale <= 0.0 || size <= 0.0 {
            break;
        }
        value = dot(&vector, image) / size;
        vector.iter_mut().zip(image.iter()).for_each(|(vector, image)| *vector = image / scale);
    }
    value.max(1.0)
}
