//! Exact numbers of the oracle: points with integer coordinates over one common power of two, and the side of a plane
//! computed as a polynomial of the perturbation.

use num_bigint::BigInt;
use num_traits::{Signed, Zero};
use std::collections::BTreeMap;

pub type Point = [BigInt; 3];

/// All coordinates times one power of two that makes them whole.
pub fn whole_points(positions: &[[f64; 3]]) -> Vec<Point> {
    let parts = |x: f64| {
        let bits = x.to_bits();
        let stored = ((bits >> 52) & 0x7ff) as i64;
        let mantissa = (bits & ((1 << 52) - 1)) as i64 + if stored > 0 { 1 << 52 } else { 0 };
        let zeros = if mantissa == 0 { 0 } else { i64::from(mantissa.trailing_zeros()) };
        let sign = if x < 0.0 { -1 } else { 1 };
        (sign * (mantissa >> zeros), stored.max(1) - 1075 + zeros)
    };
    let smallest = positions.iter().flatten().filter(|x| **x != 0.0).map(|&x| parts(x).1).min().unwrap_or(0);
    let whole = |x: f64| match parts(x) {
        (0, _) => BigInt::zero(),
        (mantissa, exponent) => BigInt::from(mantissa) << (exponent - smallest) as usize,
    };
    positions.iter().map(|position| position.map(whole)).collect()
}

pub fn sub(a: &Point, b: &Point) -> Point {
    [&a[0] - &b[0], &a[1] - &b[1], &a[2] - &b[2]]
}

pub fn cross(a: &Point, b: &Point) -> Point {
    [&a[1] * &b[2] - &a[2] * &b[1], &a[2] * &b[0] - &a[0] * &b[2], &a[0] * &b[1] - &a[1] * &b[0]]
}

pub fn dot(a: &Point, b: &Point) -> BigInt {
    &a[0] * &b[0] + &a[1] * &b[1] + &a[2] * &b[2]
}

/// Six times the volume of `a b c d`: positive when `d` is below the plane of `a b c`.
pub fn volume(a: &Point, b: &Point, c: &Point, d: &Point) -> BigInt {
    dot(&sub(a, d), &cross(&sub(b, d), &sub(c, d)))
}

pub fn sign(value: &BigInt) -> i32 {
    if value.is_positive() {
        1
    } else if value.is_negative() {
        -1
    } else {
        0
    }
}

/// The side of a plane for vertices moved by `(e^4, e^2, e)` of the smallest vertex, `(e^32, e^16, e^8)` of the next,
/// and so on, for `e` so small that the lowest power decides.
pub fn side(points: &[Point], vertices: [usize; 4]) -> i32 {
    let [a, b, c, d] = vertices.map(|vertex| &points[vertex]);
    let plain = sign(&volume(a, b, c, d));
    if plain != 0 {
        return plain;
    }
    let rank = |vertex: usize| vertices.iter().filter(|&&other| other < vertex).count();
    let rows = vertices.map(|vertex| {
        [0, 1, 2].map(|axis| {
            let power = 1u64 << (3 * rank(vertex) + 2 - axis);
            Polynomial::new([(0, points[vertex][axis].clone()), (power, BigInt::from(1))])
        })
    });
    let edge = |row: usize| [0, 1, 2].map(|axis| rows[row][axis].minus(&rows[3][axis]));
    let (a, b, c) = (edge(0), edge(1), edge(2));
    let minor = |x: usize, y: usize| b[x].times(&c[y]).minus(&b[y].times(&c[x]));
    let determinant = a[0].times(&minor(1, 2)).minus(&a[1].times(&minor(0, 2))).minus(&a[2].times(&minor(1, 0)));
    let lowest = determinant.0.values().next().expect("vertices in general position");
    sign(lowest)
}

/// Coefficients by power, none of them zero.
struct Polynomial(BTreeMap<u64, BigInt>);

impl Polynomial {
    fn new(terms: impl IntoIterator<Item = (u64, BigInt)>) -> Self {
        let mut sum: BTreeMap<u64, BigInt> = BTreeMap::new();
        for (power, coefficient) in terms {
            *sum.entry(power).or_default() += coefficient;
        }
        sum.retain(|_, coefficient| !coefficient.is_zero());
        Self(sum)
    }

    fn minus(&self, other: &Self) -> Self {
        let minuend = self.0.iter().map(|(&power, x)| (power, x.clone()));
        Self::new(minuend.chain(other.0.iter().map(|(&power, x)| (power, -x))))
    }

    fn times(&self, other: &Self) -> Self {
        Self::new(self.0.iter().flat_map(|(p, x)| other.0.iter().map(move |(q, y)| (p + q, x * y))))
    }
}

/// A point in space with a common denominator: where a contour passes an edge, or a vertex.
#[derive(Clone)]
pub struct Place {
    pub numerators: Point,
    pub denominator: BigInt,
}

impl Place {
    pub fn of_vertex(point: &Point) -> Self {
        Self { numerators: point.clone(), denominator: BigInt::from(1) }
    }

    /// Where the line `p q` meets the plane of `a b c`.
    pub fn on_plane([p, q]: [&Point; 2], [a, b, c]: [&Point; 3]) -> Self {
        let (below, above) = (volume(a, b, c, p), volume(a, b, c, q));
        let denominator = &below - &above;
        let numerators = [0, 1, 2].map(|axis| &below * &q[axis] - &above * &p[axis]);
        Self { numerators, denominator }
    }
}

/// Whether two segments of one plane cross inside both, seen along an axis in which the plane does not vanish.
pub fn segments_cross(first: [&Place; 2], second: [&Place; 2], along: usize) -> bool {
    let (x, y) = ((along + 1) % 3, (along + 2) % 3);
    let turn = |a: &Place, b: &Place, c: &Place| {
        let minor = |p: &Place, q: &Place| &p.numerators[x] * &q.numerators[y] - &p.numerators[y] * &q.numerators[x];
        let determinant = minor(b, c) * &a.denominator - minor(a, c) * &b.denominator + minor(a, b) * &c.denominator;
        sign(&determinant) * sign(&a.denominator) * sign(&b.denominator) * sign(&c.denominator)
    };
    let separates =
        |line: [&Place; 2], ends: [&Place; 2]| turn(line[0], line[1], ends[0]) * turn(line[0], line[1], ends[1]) < 0;
    separates(first, second) && separates(second, first)
}
