//! When are four moving points coplanar? The cubic of Bridson 2003, 2.4, in Bernstein form.
//!
//! Guarantees: an interval that [`Coplanarity::clip`] removes holds no time at which the elements are within the
//! separation, rounding included.
//! Does not: find roots; what is left is smaller, and for a simple root shrinks quadratically.

use crate::math::DVec3;

/// `p(t) = det(a(t), b(t), c(t))` for vectors that move linearly; contact needs `|p(t)| <= separation |a(t) x b(t)|`.
pub(super) struct Coplanarity {
    /// Bernstein coefficients of `p` on [0, 1].
    coefficients: [f64; 4],
    /// Bernstein coefficients of `a x b` on [0, 1].
    normals: [DVec3; 3],
    separation: f64,
    /// All rounding of `p`.
    rounding: f64,
    /// All rounding of the normal.
    normal_rounding: f64,
}

/// Rounding of the coefficients, of restricting them to an interval and of the interval's ends, in units of the
/// product of the columns' largest coordinates.
const ROUNDING: f64 = 512.0 * (0.5 * f64::EPSILON);
/// Products below this lose relative precision to underflow.
const UNDERFLOW: f64 = 1e-250;

impl Coplanarity {
    /// The first two columns span the plane (two sides of the triangle, or the two edges), the third leads to it.
    pub(super) fn new(start: [DVec3; 3], end: [DVec3; 3], separation: f64) -> Self {
        let [a, b, c] = start;
        let [x, y, z] = end;
        let first = a.cross(b);
        let twice_middle = a.cross(y) + x.cross(b);
        let last = x.cross(y);
        let coefficients = [
            first.dot(c),
            (twice_middle.dot(c) + first.dot(z)) / 3.0,
            (last.dot(c) + twice_middle.dot(z)) / 3.0,
            last.dot(z),
        ];
        let size = |k: usize| start[k].abs().max(end[k].abs()).max_element();
        let product = size(0) * size(1) * size(2);
        let usable = product > UNDERFLOW && coefficients.iter().all(|coefficient| coefficient.is_finite());
        Self {
            coefficients,
            normals: [first, 0.5 * twice_middle, last],
            separation,
            rounding: if usable { ROUNDING * product } else { f64::INFINITY },
            normal_rounding: ROUNDING * size(0) * size(1),
        }
    }

    /// The part of [from, to] where the elements may meet; `None` if there is none.
    pub(super) fn clip(&self, from: f64, to: f64) -> Option<(f64, f64)> {
        let values = self.restricted(from, to);
        let band = self.band(from, to);
        let sign = match (values[0] > band, values[0] < -band) {
            (true, _) => 1.0,
            (_, true) => -1.0,
            _ => 0.0,
        };
        let mut low = 0.0;
        if sign != 0.0 {
            low = earliest(values.map(|value| sign * value), band);
            if low > 1.0 {
                return None;
            }
        }
        let mut high = 1.0;
        if values[3].abs() > band {
            let sign = values[3].signum();
            let reversed = [values[3], values[2], values[1], values[0]].map(|value| sign * value);
            high = 1.0 - earliest(reversed, band);
        }
        let width = to - from;
        let clipped = ((from + low * width) - 1e-16, (to - (1.0 - high) * width) + 1e-16);
        Some((clipped.0.max(from), clipped.1.min(to)))
    }

    /// Whether the points are provably on one side at the first time and on the other at the second.
    pub(super) fn changes_sign_between(&self, from: f64, to: f64) -> bool {
        let [first, .., last] = self.restricted(from, to);
        let band = self.rounding;
        (first > band && last < -band) || (first < -band && last > band)
    }

    /// Contact within [from, to] needs `|p| <= band`: the separation times the longest normal, plus all rounding.
    fn band(&self, from: f64, to: f64) -> f64 {
        if self.separation <= 0.0 {
            return self.rounding;
        }
        let mix = |x: DVec3, y: DVec3, t: f64| x * (1.0 - t) + y * t;
        let [a, b, c] = self.normals;
        let (at_from, at_to) = ([mix(a, b, from), mix(b, c, from)], [mix(a, b, to), mix(b, c, to)]);
        let restricted =
            [mix(at_from[0], at_from[1], from), mix(at_from[0], at_from[1], to), mix(at_to[0], at_to[1], to)];
        let length_squared = restricted.iter().fold(0.0, |longest: f64, normal| longest.max(normal.length_squared()));
        self.separation * (length_squared.sqrt() * (1.0 + 1e-12) + self.normal_rounding) + self.rounding
    }

    /// Bernstein coefficients on [from, to], by blossoming.
    fn restricted(&self, from: f64, to: f64) -> [f64; 4] {
        if from == 0.0 && to == 1.0 {
            return self.coefficients;
        }
        let [a, b, c, d] = self.coefficients;
        let mix = |x: f64, y: f64, t: f64| (1.0 - t) * x + t * y;
        let at_from = [mix(a, b, from), mix(b, c, from), mix(c, d, from)];
        let at_to = [mix(a, b, to), mix(b, c, to), mix(c, d, to)];
        let from_from = [mix(at_from[0], at_from[1], from), mix(at_from[1], at_from[2], from)];
        let to_to = [mix(at_to[0], at_to[1], to), mix(at_to[1], at_to[2], to)];
        [
            mix(from_from[0], from_from[1], from),
            mix(from_from[0], from_from[1], to),
            mix(to_to[0], to_to[1], from),
            mix(to_to[0], to_to[1], to),
        ]
    }
}

/// Where the hull of a control polygon that starts above the band first touches it; above 1 if it never does.
///
/// The side of the hull that crosses leads from a point above to a later one that is not.
fn earliest(values: [f64; 4], band: f64) -> f64 {
    let mut first: f64 = 2.0;
    for after in (1..4).filter(|&k| values[k] <= band) {
        for before in (0..after).filter(|&k| values[k] > band) {
            let across = (values[before] - band) / (values[before] - values[after]);
            first = first.min((before as f64 + across * (after - before) as f64) / 3.0);
        }
    }
    first
}
