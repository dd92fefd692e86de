//! Orientation predicates: exact, and with a symbolic perturbation under which nothing is ever degenerate.
//!
//! [`orient3d`] and [`orient2d`] give the true sign of the determinant of the coordinates as stored: a floating-point
//! filter first, adaptive exact arithmetic (the `robust` crate) when the filter cannot tell. [`BoundedOrientation`] has
//! a quicker filter for the points of one mesh.
//! [`side_of_plane`] never answers zero: where four points are coplanar it answers for the points moved by infinitely
//! small amounts that depend on the vertex index alone (Simulation of Simplicity, Edelsbrunner and Muecke 1990), so all
//! answers about one mesh fit one and the same general-position mesh and nothing is moved.
//!
//! Guarantees: exact for coordinates whose products of three neither overflow nor underflow (1e-95 to 1e95).
//! Does not: give a magnitude. Only signs are exact.

use crate::aabb::Aabb;
use crate::ids::VertexId;
use crate::math::{DVec2, DVec3};
use robust::{Coord, Coord3D};

/// The sign of an exact number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sign {
    /// Below zero.
    Negative,
    /// Exactly zero.
    Zero,
    /// Above zero.
    Positive,
}

impl Sign {
    /// The sign of a float that is exact or certain.
    pub fn of(value: f64) -> Self {
        if value > 0.0 {
            Self::Positive
        } else if value < 0.0 {
            Self::Negative
        } else {
            Self::Zero
        }
    }

    /// The sign of a float that is certain and not zero: no branch, since nobody can predict it.
    #[inline(always)]
    fn of_nonzero(value: f64) -> Self {
        if value > 0.0 { Self::Positive } else { Self::Negative }
    }
}

impl std::ops::Neg for Sign {
    type Output = Self;
    fn neg(self) -> Self {
        match self {
            Self::Negative => Self::Positive,
            Self::Zero => Self::Zero,
            Self::Positive => Self::Negative,
        }
    }
}

/// On which side of a triangle's plane, where general position leaves no third answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// [`orient3d`] of the perturbed points is negative.
    Negative,
    /// [`orient3d`] of the perturbed points is positive.
    Positive,
}

impl Side {
    fn flipped_if(self, flip: bool) -> Self {
        match (self, flip) {
            (Self::Negative, true) => Self::Positive,
            (Self::Positive, true) => Self::Negative,
            (side, false) => side,
        }
    }
}

/// A mesh vertex as predicates see it: the index orders the symbolic perturbation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IndexedPoint {
    /// Which vertex; different points of one call have different indices.
    pub vertex: VertexId,
    /// Where it is.
    pub position: DVec3,
}

/// Half the distance between 1 and the next float, the unit of rounding errors.
const ROUNDING_UNIT: f64 = 0.5 * f64::EPSILON;
/// Error of the float determinant, relative to the sum of the magnitudes of its products (Shewchuk 1997).
const ORIENT3D_ERROR: f64 = (7.0 + 56.0 * ROUNDING_UNIT) * ROUNDING_UNIT;
/// The same in two dimensions.
const ORIENT2D_ERROR: f64 = (3.0 + 16.0 * ROUNDING_UNIT) * ROUNDING_UNIT;

/// The sign of `det [a-d, b-d, c-d]`: positive when `d` lies below the plane through `a`, `b`, `c`, that is when the
/// three turn clockwise seen from `d`.
///
/// Always inlined: passing four points through memory would take as long as the filter.
#[inline(always)]
pub fn orient3d(a: DVec3, b: DVec3, c: DVec3, d: DVec3) -> Sign {
    let (ad, bd, cd) = (a - d, b - d, c - d);
    let (bxcy, cxby) = (bd.x * cd.y, cd.x * bd.y);
    let (cxay, axcy) = (cd.x * ad.y, ad.x * cd.y);
    let (axby, bxay) = (ad.x * bd.y, bd.x * ad.y);
    let determinant = ad.z * (bxcy - cxby) + bd.z * (cxay - axcy) + cd.z * (axby - bxay);
    let permanent = (bxcy.abs() + cxby.abs()) * ad.z.abs()
        + (cxay.abs() + axcy.abs()) * bd.z.abs()
        + (axby.abs() + bxay.abs()) * cd.z.abs();
    let bound = ORIENT3D_ERROR * permanent;
    if determinant.abs() > bound { Sign::of_nonzero(determinant) } else { orient3d_exact(a, b, c, d) }
}

/// Orientation of points that are known to lie in a box: the error of the float determinant is bounded once for all of
/// them, and a call computes just the determinant.
#[derive(Clone, Copy, Debug)]
pub struct BoundedOrientation {
    error: f64,
}

impl BoundedOrientation {
    /// Nothing is known of the points: every call bounds its own error.
    pub const UNBOUNDED: Self = Self { error: f64::INFINITY };

    /// For points in a box.
    pub fn within(bounds: &Aabb) -> Self {
        let extent = bounds.extent();
        let volume = extent.x * extent.y * extent.z;
        if bounds.is_empty() || !volume.is_finite() {
            return Self::UNBOUNDED;
        }
        // The determinant has six products of three differences. Twice their error makes up for rounding here, and the
        // constant for digits that products lose to underflow.
        Self { error: 12.0 * ORIENT3D_ERROR * volume + 1e-290 }
    }

    /// [`orient3d`], exact for any points, fast for points in the box.
    ///
    /// By reference: copies made for the rare exact call would take longer than the determinant.
    #[inline(always)]
    pub fn orient3d(self, a: &DVec3, b: &DVec3, c: &DVec3, d: &DVec3) -> Sign {
        let determinant = (*a - *d).cross(*b - *d).dot(*c - *d);
        if determinant.abs() > self.error { Sign::of_nonzero(determinant) } else { orient3d_unbounded(a, b, c, d) }
    }

    /// [`orient3d`] of one triangle and three points, such as the corners of another triangle: the normal is found once.
    ///
    /// In floats `(b - a) x (c - a) . (a - d)`, whose error has the same bound.
    #[inline(always)]
    pub fn orient3d_of_three(self, [a, b, c]: [&DVec3; 3], points: [&DVec3; 3]) -> [Sign; 3] {
        let normal = (*b - *a).cross(*c - *a);
        let determinants = points.map(|point| normal.dot(*a - *point));
        let [first, second, third] = determinants.map(f64::abs);
        if (first > self.error) & (second > self.error) & (third > self.error) {
            determinants.map(Sign::of_nonzero)
        } else {
            points.map(|point| orient3d_unbounded(a, b, c, point))
        }
    }

    /// [`BoundedOrientation::side_of_plane`] of one triangle and three points.
    #[inline(always)]
    pub fn sides_of_plane(self, triangle: [IndexedPoint; 3], points: [IndexedPoint; 3]) -> [Side; 3] {
        let [a, b, c] = triangle.each_ref().map(|corner| &corner.position);
        let signs = self.orient3d_of_three([a, b, c], points.each_ref().map(|point| &point.position));
        [0, 1, 2].map(|at| match signs[at] {
            Sign::Positive => Side::Positive,
            Sign::Negative => Side::Negative,
            Sign::Zero => perturbed_side([triangle[0], triangle[1], triangle[2], points[at]]),
        })
    }

    /// [`side_of_plane`], with the same consistency.
    #[inline(always)]
    pub fn side_of_plane(self, a: IndexedPoint, b: IndexedPoint, c: IndexedPoint, d: IndexedPoint) -> Side {
        match self.orient3d(&a.position, &b.position, &c.position, &d.position) {
            Sign::Positive => Side::Positive,
            Sign::Negative => Side::Negative,
            Sign::Zero => perturbed_side([a, b, c, d]),
        }
    }
}

#[cold]
#[inline(never)]
fn orient3d_unbounded(a: &DVec3, b: &DVec3, c: &DVec3, d: &DVec3) -> Sign {
    orient3d(*a, *b, *c, *d)
}

#[cold]
#[inline(never)]
fn orient3d_exact(a: DVec3, b: DVec3, c: DVec3, d: DVec3) -> Sign {
    let flat = |axis: usize| a[axis] == b[axis] && b[axis] == c[axis] && c[axis] == d[axis];
    if flat(0) || flat(1) || flat(2) {
        return Sign::Zero;
    }
    let coord = |point: DVec3| Coord3D { x: point.x, y: point.y, z: point.z };
    Sign::of(robust::orient3d(coord(a), coord(b), coord(c), coord(d)))
}

/// The sign of `det [a-c, b-c]`: positive when `a`, `b`, `c` turn counter-clockwise.
#[inline]
pub fn orient2d(a: DVec2, b: DVec2, c: DVec2) -> Sign {
    let left = (a.x - c.x) * (b.y - c.y);
    let right = (a.y - c.y) * (b.x - c.x);
    let determinant = left - right;
    let bound = ORIENT2D_ERROR * (left.abs() + right.abs());
    if determinant.abs() > bound {
        Sign::of_nonzero(determinant)
    } else {
        let coord = |point: DVec2| Coord { x: point.x, y: point.y };
        Sign::of(robust::orient2d(coord(a), coord(b), coord(c)))
    }
}

/// [`orient3d`] of the symbolically perturbed points: never zero, and consistent over all calls about one mesh.
///
/// The four vertices must be different; their positions need not be.
#[inline]
pub fn side_of_plane(a: IndexedPoint, b: IndexedPoint, c: IndexedPoint, d: IndexedPoint) -> Side {
    BoundedOrientation::UNBOUNDED.side_of_plane(a, b, c, d)
}

/// A monomial of the perturbation: the entries (row, coordinate) of the 4 x 4 matrix `[x y z 1]` that are replaced by
/// their infinitesimals. What is left of the determinant is the minor without those rows and columns.
type Monomial = &'static [(usize, usize)];

/// The monomials from the largest to the first whose minor cannot vanish. Entry (row, coordinate) has the infinitesimal
/// `e^(2^(3 row + 2 - coordinate))`, rows in index order, so the order is that of the binary numbers they add up to.
const MONOMIALS: [Monomial; 17] = [
    &[(0, 2)],
    &[(0, 1)],
    &[(0, 0)],
    &[(1, 2)],
    &[(1, 2), (0, 1)],
    &[(1, 2), (0, 0)],
    &[(1, 1)],
    &[(1, 1), (0, 2)],
    &[(1, 1), (0, 0)],
    &[(1, 0)],
    &[(1, 0), (0, 2)],
    &[(1, 0), (0, 1)],
    &[(2, 2)],
    &[(2, 2), (0, 1)],
    &[(2, 2), (0, 0)],
    &[(2, 2), (1, 1)],
    &[(2, 2), (1, 1), (0, 0)],
];

#[cold]
#[inline(never)]
fn perturbed_side(mut points: [IndexedPoint; 4]) -> Side {
    let mut odd = false;
    for end in (1..4).rev() {
        for at in 0..end {
            if points[at].vertex > points[at + 1].vertex {
                points.swap(at, at + 1);
                odd = !odd;
            }
        }
    }
    debug_assert!(points.windows(2).all(|pair| pair[0].vertex < pair[1].vertex), "the four vertices are different");
    for monomial in MONOMIALS {
        let side = match minor_sign(&points, monomial) {
            Sign::Positive => Side::Positive,
            Sign::Negative => Side::Negative,
            Sign::Zero => continue,
        };
        return side.flipped_if(odd);
    }
    unreachable!("the last minor is 1")
}

/// The signed minor that a monomial multiplies.
fn minor_sign(points: &[IndexedPoint; 4], monomial: Monomial) -> Sign {
    let rows: Vec<DVec3> =
        (0..4).filter(|row| monomial.iter().all(|entry| entry.0 != *row)).map(|row| points[row].position).collect();
    let columns: Vec<usize> = (0..3).filter(|column| monomial.iter().all(|entry| entry.1 != *column)).collect();
    let minor = match columns[..] {
        [x, y] => {
            let flat = |point: DVec3| DVec2::new(point[x], point[y]);
            orient2d(flat(rows[0]), flat(rows[1]), flat(rows[2]))
        }
        [x] => match rows[0][x].partial_cmp(&rows[1][x]) {
            Some(std::cmp::Ordering::Greater) => Sign::Positive,
            Some(std::cmp::Ordering::Less) => Sign::Negative,
            _ => Sign::Zero,
        },
        _ => Sign::Positive,
    };
    let place: usize = monomial.iter().map(|(row, column)| row + column).sum();
    let inversions = (0..monomial.len())
        .flat_map(|first| (first + 1..monomial.len()).map(move |second| (first, second)))
        .filter(|&(first, second)| (monomial[first].0 < monomial[second].0) != (monomial[first].1 < monomial[second].1))
        .count();
    if (place + inversions).is_multiple_of(2) { minor } else { -minor }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigInt;
    use num_rational::BigRational;
    use num_traits::{Signed, Zero};
    use proptest::prelude::*;

    fn exact(value: f64) -> BigRational {
        BigRational::from_float(value).expect("finite")
    }

    /// The determinant in rational arithmetic, each coordinate shifted by a given amount.
    fn rational_orient3d(points: [[BigRational; 3]; 4]) -> Sign {
        let [a, b, c, d] = points;
        let minus = |p: &[BigRational; 3]| [&p[0] - &d[0], &p[1] - &d[1], &p[2] - &d[2]];
        let (a, b, c) = (minus(&a), minus(&b), minus(&c));
        let determinant = &a[0] * (&b[1] * &c[2] - &b[2] * &c[1]) - &a[1] * (&b[0] * &c[2] - &b[2] * &c[0])
            + &a[2] * (&b[0] * &c[1] - &b[1] * &c[0]);
        if determinant.is_zero() {
            Sign::Zero
        } else if determinant.is_positive() {
            Sign::Positive
        } else {
            Sign::Negative
        }
    }

    fn rational_points(points: [DVec3; 4]) -> [[BigRational; 3]; 4] {
        points.map(|point| [exact(point.x), exact(point.y), exact(point.z)])
    }

    /// The symbolic perturbation carried out with real, very small numbers: `2^(-12 * 2^bit)` has the same order of
    /// magnitudes as long as the coordinates are small integers. All is scaled to integers, which are faster.
    fn really_perturbed(points: [IndexedPoint; 4]) -> Side {
        const SCALE: usize = 12 << 11;
        let mut order = [0, 1, 2, 3];
        order.sort_by_key(|&at: &usize| points[at].vertex);
        let mut rows = vec![Vec::new(); 4];
        for (row, &at) in order.iter().enumerate() {
            for coordinate in 0..3 {
                let exponent = 12usize << (3 * row + 2 - coordinate);
                let whole = BigInt::from(points[at].position[coordinate] as i64) << SCALE;
                rows[at].push(whole + (BigInt::from(1) << (SCALE - exponent)));
            }
        }
        let minus = |p: &[BigInt], q: &[BigInt]| [0, 1, 2].map(|at| &p[at] - &q[at]);
        let [a, b, c] = [0, 1, 2].map(|row| minus(&rows[row], &rows[3]));
        let determinant = &a[0] * (&b[1] * &c[2] - &b[2] * &c[1]) - &a[1] * (&b[0] * &c[2] - &b[2] * &c[0])
            + &a[2] * (&b[0] * &c[1] - &b[1] * &c[0]);
        assert!(!determinant.is_zero(), "perturbed points are in general position");
        if determinant.is_positive() { Side::Positive } else { Side::Negative }
    }

    fn grid_point() -> impl Strategy<Value = DVec3> {
        (-2i32..=2, -2i32..=2, -2i32..=2).prop_map(|(x, y, z)| DVec3::new(x.into(), y.into(), z.into()))
    }

    /// Coordinates of very different sizes together.
    fn wild_coordinate() -> impl Strategy<Value = f64> {
        prop_oneof![
            -1.0..1.0,
            (-1.0..1.0).prop_map(|x| x * 1e-12),
            (-1.0..1.0).prop_map(|x| x * 1e9),
            Just(0.0),
            Just(1e9)
        ]
    }

    fn wild_point() -> impl Strategy<Value = DVec3> {
        (wild_coordinate(), wild_coordinate(), wild_coordinate()).prop_map(|(x, y, z)| DVec3::new(x, y, z))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn orient3d_is_exact_on_wild_points(a in wild_point(), b in wild_point(), c in wild_point(), d in wild_point()) {
            let exact = rational_orient3d(rational_points([a, b, c, d]));
            prop_assert_eq!(orient3d(a, b, c, d), exact);
            let bounded = BoundedOrientation::within(&Aabb::of_points([a, b, c, d]));
            prop_assert_eq!(bounded.orient3d(&a, &b, &c, &d), exact);
            let middle = rational_orient3d(rational_points([a, b, c, 0.5 * d]));
            let bounded = BoundedOrientation::within(&Aabb::of_points([a, b, c, d, 0.5 * d]));
            prop_assert_eq!(bounded.orient3d_of_three([&a, &b, &c], [&d, &(0.5 * d), &b]), [exact, middle, Sign::Zero]);
        }

        #[test]
        fn orient3d_is_exact_on_nearly_coplanar_points(a in wild_point(), b in wild_point(), c in wild_point(), s in 0.0..1.0, t in 0.0..1.0) {
            let d = a + s * (b - a) + t * (c - a);
            let exact = rational_orient3d(rational_points([a, b, c, d]));
            prop_assert_eq!(orient3d(a, b, c, d), exact);
            let bounded = BoundedOrientation::within(&Aabb::of_points([a, b, c, d]));
            prop_assert_eq!(bounded.orient3d(&a, &b, &c, &d), exact);
            let middle = rational_orient3d(rational_points([a, b, c, 0.5 * d]));
            let bounded = BoundedOrientation::within(&Aabb::of_points([a, b, c, d, 0.5 * d]));
            prop_assert_eq!(bounded.orient3d_of_three([&a, &b, &c], [&d, &(0.5 * d), &b]), [exact, middle, Sign::Zero]);
        }

        #[test]
        fn side_of_plane_is_a_real_perturbation(points in prop::array::uniform4(grid_point()), order in Just([0u32, 1, 2, 3]).prop_shuffle()) {
            let points = [0, 1, 2, 3].map(|at| IndexedPoint { vertex: VertexId(order[at]), position: points[at] });
            let [a, b, c, d] = points;
            prop_assert_eq!(side_of_plane(a, b, c, d), really_perturbed(points));
            prop_assert_ne!(side_of_plane(a, b, c, d), side_of_plane(b, a, c, d));
        }
    }

    #[test]
    fn four_equal_points_still_have_a_side() {
        let points = [3, 1, 0, 2].map(|vertex| IndexedPoint { vertex: VertexId(vertex), position: DVec3::ONE });
        let [a, b, c, d] = points;
        assert_eq!(side_of_plane(a, b, c, d), really_perturbed(points));
    }
}
