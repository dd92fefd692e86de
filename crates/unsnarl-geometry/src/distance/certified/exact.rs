//! Distances in integers, rounded down.
//!
//! Doubles are integers after a common power of two. The nearest points of two elements lie inside both, or on a side
//! or corner of one; each such candidate has a squared distance that is a quotient of integers, and the least of those
//! that lie in their elements is the true one.
//!
//! Guarantees: the true distance, rounded down by less than three units in the last place, for finite coordinates.
//! Does not: run fast. It takes tens of microseconds.

use crate::math::DVec3;
use num_bigint::{BigInt, BigUint, Sign};
use num_traits::{Signed, ToPrimitive, Zero};

type Vector = [BigInt; 3];

/// A squared distance: numerator and positive denominator, in squared units of the common power of two.
struct Quotient {
    over: BigInt,
    under: BigInt,
}

/// The distance of a point from a triangle; 0 where something is not finite.
pub fn point_triangle(point: DVec3, triangle: [DVec3; 3]) -> f64 {
    let Some((unit, [p, a, b, c])) = integers([point, triangle[0], triangle[1], triangle[2]]) else { return 0.0 };
    let mut candidates = vec![to_segment(&p, &a, &b), to_segment(&p, &b, &c), to_segment(&p, &c, &a)];
    let normal = cross(&subtract(&b, &a), &subtract(&c, &a));
    let to_corners = [&a, &b, &c].map(|corner| subtract(corner, &p));
    let is_inside = |k: usize| !dot(&normal, &cross(&to_corners[k], &to_corners[(k + 1) % 3])).is_negative();
    let under = dot(&normal, &normal);
    if !under.is_zero() && (0..3).all(is_inside) {
        let height = dot(&normal, &to_corners[0]);
        candidates.push(Quotient { over: &height * &height, under });
    }
    least(candidates, unit)
}

/// The distance of two edges; 0 where something is not finite.
pub fn edge_edge(first: [DVec3; 2], second: [DVec3; 2]) -> f64 {
    let Some((unit, [a, b, c, d])) = integers([first[0], first[1], second[0], second[1]]) else { return 0.0 };
    let mut candidates =
        vec![to_segment(&a, &c, &d), to_segment(&b, &c, &d), to_segment(&c, &a, &b), to_segment(&d, &a, &b)];
    let (u, v, gap) = (subtract(&b, &a), subtract(&d, &c), subtract(&c, &a));
    let normal = cross(&u, &v);
    let under = dot(&normal, &normal);
    let (s, t) = (dot(&normal, &cross(&gap, &v)), dot(&normal, &cross(&gap, &u)));
    let is_share = |part: &BigInt| !part.is_negative() && *part <= under;
    if !under.is_zero() && is_share(&s) && is_share(&t) {
        let height = dot(&normal, &gap);
        candidates.push(Quotient { over: &height * &height, under });
    }
    least(candidates, unit)
}

fn to_segment(point: &Vector, from: &Vector, to: &Vector) -> Quotient {
    let (u, r) = (subtract(to, from), subtract(point, from));
    let (along, length) = (dot(&u, &r), dot(&u, &u));
    let one = BigInt::from(1);
    if !along.is_positive() {
        Quotient { over: dot(&r, &r), under: one }
    } else if along >= length {
        let r = subtract(point, to);
        Quotient { over: dot(&r, &r), under: one }
    } else {
        let area = cross(&u, &r);
        Quotient { over: dot(&area, &area), under: length }
    }
}

/// The root of the least candidate, in metres, rounded down.
fn least(candidates: Vec<Quotient>, unit: i32) -> f64 {
    let is_less = |a: &Quotient, b: &Quotient| &a.over * &b.under < &b.over * &a.under;
    let best = candidates.into_iter().reduce(|best, other| if is_less(&other, &best) { other } else { best });
    best.map_or(0.0, |best| root_below(best.over.magnitude(), best.under.magnitude(), unit))
}

/// `sqrt(over / under) 2^unit`, rounded down to at least 53 bits.
fn root_below(over: &BigUint, under: &BigUint, unit: i32) -> f64 {
    const BITS: u64 = 128;
    if over.is_zero() {
        return 0.0;
    }
    // The quotient gets some 128 bits, by an even power of two, so that its root has 64.
    let shift = (BITS + under.bits()).saturating_sub(over.bits()).next_multiple_of(2);
    let root = ((over << shift) / under).sqrt();
    let spare = root.bits().saturating_sub(53);
    let mantissa = (root >> spare).to_u64().unwrap_or(0) as f64;
    let exponent = i64::from(unit) + spare as i64 - (shift / 2) as i64;
    scaled(mantissa, exponent)
}

/// `mantissa 2^exponent`, rounded down; in two factors, so that neither leaves the range of doubles before the product
/// does.
fn scaled(mantissa: f64, exponent: i64) -> f64 {
    let exponent = exponent.clamp(-1500, 1500) as i32;
    let half = exponent / 2;
    let value = mantissa * 2.0_f64.powi(half) * 2.0_f64.powi(exponent - half);
    if value.is_infinite() {
        f64::MAX
    } else if value < f64::MIN_POSITIVE {
        0.0
    } else {
        value
    }
}

/// The points as integers times two to the power of the first answer.
fn integers(points: [DVec3; 4]) -> Option<(i32, [Vector; 4])> {
    let numbers = points.iter().flat_map(|point| point.to_array());
    let mut unit = i32::MAX;
    for number in numbers {
        if !number.is_finite() {
            return None;
        }
        if number != 0.0 {
            unit = unit.min(parts(number).1);
        }
    }
    let whole = |number: f64| {
        let (mantissa, exponent) = parts(number);
        if mantissa == 0 { BigInt::zero() } else { BigInt::from(mantissa) << (exponent - unit) as usize }
    };
    let vectors = points.map(|point| point.to_array().map(whole));
    Some((if unit == i32::MAX { 0 } else { unit }, vectors))
}

/// A double as a whole number times a power of two.
fn parts(number: f64) -> (i64, i32) {
    let bits = number.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32;
    let fraction = (bits & 0xf_ffff_ffff_ffff) as i64;
    let (mantissa, exponent) = if exponent == 0 { (fraction, -1074) } else { (fraction | 1 << 52, exponent - 1075) };
    (if number < 0.0 { -mantissa } else { mantissa }, exponent)
}

fn subtract(a: &Vector, b: &Vector) -> Vector {
    std::array::from_fn(|k| &a[k] - &b[k])
}

fn dot(a: &Vector, b: &Vector) -> BigInt {
    (0..3).map(|k| &a[k] * &b[k]).fold(BigInt::new(Sign::NoSign, Vec::new()), |sum, term| sum + term)
}

fn cross(a: &Vector, b: &Vector) -> Vector {
    std::array::from_fn(|k| {
        let (next, last) = ((k + 1) % 3, (k + 2) % 3);
        &a[next] * &b[last] - &a[last] * &b[next]
    })
}
