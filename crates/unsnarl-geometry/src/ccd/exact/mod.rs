//! The last word on touching: does contact happen at all, decided in integers.
//!
//! Doubles are integers after a common power of two, so the coplanarity cubic and every sign that places the origin
//! inside the hull are integer polynomials in time. The decision is a handful of their signs at the cubic's roots.
//!
//! Guarantees: the answer is right for closed elements and the closed interval [0, 1], degenerate elements and motions
//! within one plane included.
//! Does not: tell when, nor know a separation. It takes tens of microseconds, so the proofs of [`super::hull`] go first.

mod polynomial;
mod root;

use crate::math::DVec3;
use num_bigint::BigInt;
use polynomial::Polynomial;
use root::Root;

type Vector = [Polynomial; 3];

/// Whether a moving vertex meets a moving triangle; points as in [`super::vertex_triangle`].
pub fn vertex_triangle(start: &[DVec3; 4], end: &[DVec3; 4]) -> bool {
    if is_apart_along_an_axis(start, end, 1) {
        return false;
    }
    let [vertex, a, b, c] = paths(start, end);
    let hull = [subtract(&vertex, &a), subtract(&vertex, &b), subtract(&vertex, &c)];
    let normal = cross(&subtract(&hull[1], &hull[0]), &subtract(&hull[2], &hull[0]));
    let sides: [Vector; 3] = std::array::from_fn(|k| cross(&hull[k], &hull[(k + 1) % 3]));
    let dots: [Polynomial; 3] = std::array::from_fn(|k| dot(&hull[k], &hull[(k + 1) % 3]));
    let weights: [Polynomial; 3] = std::array::from_fn(|k| dot(&normal, &sides[k]));
    let coplanarity = dot(&hull[0], &normal);
    let touches = |root: &mut Root| {
        if vanishes(root, &normal) {
            return (0..3).any(|k| vanishes(root, &sides[k]) && root.sign_of(&dots[k]) <= 0);
        }
        root.sign_of(&coplanarity) == 0 && weights.iter().all(|weight| root.sign_of(weight) >= 0)
    };
    let turning_points = normal.iter().chain(&weights).chain(&dots).chain(sides.iter().flatten());
    candidates(&coplanarity, turning_points).iter_mut().any(touches)
}

/// Whether two moving edges meet; points as in [`super::edge_edge`].
pub fn edge_edge(start: &[DVec3; 4], end: &[DVec3; 4]) -> bool {
    if is_apart_along_an_axis(start, end, 2) {
        return false;
    }
    let [a, b, c, d] = paths(start, end);
    let (u, v, gap) = (subtract(&b, &a), subtract(&d, &c), subtract(&c, &a));
    let normal = cross(&u, &v);
    let coplanarity = dot(&normal, &gap);
    let area_squared = dot(&normal, &normal);
    let (s, t) = (dot(&normal, &cross(&gap, &v)), dot(&normal, &cross(&gap, &u)));
    let insides = [&area_squared - &s, s, &area_squared - &t, t];
    // Where the edges are parallel they meet when an end of one lies on the other.
    let on_other: [(Vector, Polynomial); 4] =
        [(&a, &c, &d), (&b, &c, &d), (&c, &a, &b), (&d, &a, &b)].map(|(point, from, to)| {
            let (x, y) = (subtract(from, point), subtract(to, point));
            (cross(&x, &y), dot(&x, &y))
        });
    let touches = |root: &mut Root| {
        if vanishes(root, &normal) {
            return on_other.iter().any(|(aside, between)| vanishes(root, aside) && root.sign_of(between) <= 0);
        }
        root.sign_of(&coplanarity) == 0 && insides.iter().all(|inside| root.sign_of(inside) >= 0)
    };
    let turning_points = normal
        .iter()
        .chain(&insides)
        .chain(on_other.iter().flat_map(|(aside, between)| aside.iter().chain(std::iter::once(between))));
    candidates(&coplanarity, turning_points).iter_mut().any(touches)
}

/// The times at which contact must show if there is any.
///
/// Usually the roots of the cubic. If the motion stays in one plane the contact times are closed intervals, each of
/// which ends at 0, at 1 or where one of the other polynomials changes sign.
fn candidates<'a>(coplanarity: &Polynomial, turning_points: impl Iterator<Item = &'a Polynomial>) -> Vec<Root> {
    if !coplanarity.is_zero() {
        return Root::all_of(coplanarity);
    }
    [Root::at(0), Root::at(1)].into_iter().chain(turning_points.flat_map(Root::all_of)).collect()
}

/// Whether along some axis the first points stay on one side of the others: at the start and at the end, so always.
fn is_apart_along_an_axis(start: &[DVec3; 4], end: &[DVec3; 4], first_count: usize) -> bool {
    let below = |points: &[DVec3; 4], axis: usize| {
        let (first, second) = points.split_at(first_count);
        first.iter().all(|p| second.iter().all(|q| p[axis] < q[axis]))
    };
    let above = |points: &[DVec3; 4], axis: usize| {
        let (first, second) = points.split_at(first_count);
        first.iter().all(|p| second.iter().all(|q| p[axis] > q[axis]))
    };
    (0..3).any(|axis| (below(start, axis) && below(end, axis)) || (above(start, axis) && above(end, axis)))
}

fn vanishes(root: &mut Root, vector: &Vector) -> bool {
    vector.iter().all(|component| root.sign_of(component) == 0)
}

/// The four paths as polynomials of degree one, all scaled by one power of two that makes them integers.
fn paths(start: &[DVec3; 4], end: &[DVec3; 4]) -> [Vector; 4] {
    let lowest = start
        .iter()
        .chain(end)
        .flat_map(|point| point.to_array())
        .filter(|&x| x != 0.0)
        .map(|x| decompose(x).1)
        .min()
        .unwrap_or(0);
    let integer = |x: f64| {
        let (mantissa, exponent) = decompose(x);
        BigInt::from(mantissa) << ((exponent - lowest).max(0) as usize)
    };
    std::array::from_fn(|k| {
        std::array::from_fn(|axis| {
            let (from, to) = (integer(start[k][axis]), integer(end[k][axis]));
            let change = &to - &from;
            Polynomial::new(vec![from, change])
        })
    })
}

/// A finite double as `mantissa * 2^exponent`, the mantissa odd or zero.
fn decompose(x: f64) -> (i64, i32) {
    let bits = x.to_bits();
    let biased = ((bits >> 52) & 0x7ff) as i32;
    let fraction = (bits & ((1 << 52) - 1)) as i64;
    let (mantissa, exponent) = if biased == 0 { (fraction, -1074) } else { (fraction | (1 << 52), biased - 1075) };
    if mantissa == 0 {
        return (0, 0);
    }
    let zeros = mantissa.trailing_zeros();
    let odd = mantissa >> zeros;
    (if x < 0.0 { -odd } else { odd }, exponent + zeros as i32)
}

fn subtract(a: &Vector, b: &Vector) -> Vector {
    std::array::from_fn(|k| &a[k] - &b[k])
}

fn cross(a: &Vector, b: &Vector) -> Vector {
    std::array::from_fn(|k| {
        let (next, last) = ((k + 1) % 3, (k + 2) % 3);
        &(&a[next] * &b[last]) - &(&a[last] * &b[next])
    })
}

fn dot(a: &Vector, b: &Vector) -> Polynomial {
    &(&(&a[0] * &b[0]) + &(&a[1] * &b[1])) + &(&a[2] * &b[2])
}
