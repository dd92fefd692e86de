//! Whether a closed polygon in the plane is surely simple: only neighbouring edges meet, and only in their common point.

use crate::math::DVec2;

/// A closed polygon.
pub(super) struct Polygon {
    points: Vec<DVec2>,
    /// The box around each edge; edge `k` joins point `k` to the next.
    boxes: Vec<Box2>,
    /// The rounding of areas spanned by differences of points.
    error: f64,
}

/// Edges are tested in runs of this many.
const RUN: usize = 8;

impl Polygon {
    pub(super) fn new(mut points: Vec<DVec2>, error: f64) -> Self {
        points.extend_from_within(..points.len().min(2));
        let boxes = points.windows(2).map(|ends| Box2 { min: ends[0].min(ends[1]), max: ends[0].max(ends[1]) });
        let boxes = boxes.take(points.len().saturating_sub(2)).collect();
        Self { points, boxes, error }
    }

    pub(super) fn is_surely_simple(&self) -> bool {
        if self.boxes.len() < 3 || !(0..self.boxes.len()).all(|edge| self.goes_on(edge)) {
            return false;
        }
        let runs: Vec<Box2> =
            self.boxes.chunks(RUN).map(|run| run.iter().copied().fold(Box2::EMPTY, Box2::union)).collect();
        (0..runs.len()).all(|first| {
            (first..runs.len()).all(|second| runs[first].misses(&runs[second]) || self.runs_are_apart(first, second))
        })
    }

    fn runs_are_apart(&self, first: usize, second: usize) -> bool {
        let last = self.boxes.len() - 1;
        let edges = |run: usize| run * RUN..self.boxes.len().min((run + 1) * RUN);
        edges(first).all(|one| {
            let others = edges(second).start.max(one + 2)..edges(second).end;
            let mut others = others.filter(|&other| !self.boxes[one].misses(&self.boxes[other]));
            others.all(|other| (one, other) == (0, last) || self.beside(one, other) || self.beside(other, one))
        })
    }

    /// Whether the edge after an edge surely does not turn back on it.
    fn goes_on(&self, edge: usize) -> bool {
        let [a, b, c] = [0, 1, 2].map(|more| self.points[edge + more]);
        (b - a).perp_dot(c - b).abs() > self.error || (b - a).dot(c - b) > self.error
    }

    /// Whether an edge surely lies on one side of the line through another.
    fn beside(&self, edge: usize, other: usize) -> bool {
        let (origin, along) = (self.points[edge], self.points[edge + 1] - self.points[edge]);
        let [a, b] = [other, other + 1].map(|at| along.perp_dot(self.points[at] - origin));
        (a > self.error && b > self.error) || (a < -self.error && b < -self.error)
    }
}

/// A closed box in the plane.
#[derive(Clone, Copy)]
struct Box2 {
    min: DVec2,
    max: DVec2,
}

impl Box2 {
    const EMPTY: Self = Self { min: DVec2::INFINITY, max: DVec2::NEG_INFINITY };

    fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// Whether two boxes have no point in common.
    #[inline(always)]
    fn misses(&self, other: &Self) -> bool {
        (self.max.x < other.min.x)
            | (other.max.x < self.min.x)
            | (self.max.y < other.min.y)
            | (other.max.y < self.min.y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Point = (i64, i64);

    fn side(a: Point, b: Point, c: Point) -> i64 {
        ((b.0 - a.0) * (c.1 - a.1) - (b.1 - a.1) * (c.0 - a.0)).signum()
    }

    fn on_segment(a: Point, b: Point, p: Point) -> bool {
        let within = |low: i64, high: i64, at: i64| low.min(high) <= at && at <= low.max(high);
        side(a, b, p) == 0 && within(a.0, b.0, p.0) && within(a.1, b.1, p.1)
    }

    fn meet([a, b]: [Point; 2], [c, d]: [Point; 2]) -> bool {
        let across = side(a, b, c) * side(a, b, d) < 0 && side(c, d, a) * side(c, d, b) < 0;
        across || [c, d].iter().any(|&p| on_segment(a, b, p)) || [a, b].iter().any(|&p| on_segment(c, d, p))
    }

    /// Every pair of edges in whole numbers.
    fn is_simple(points: &[Point]) -> bool {
        let count = points.len();
        let edge = |at: usize| [points[at % count], points[(at + 1) % count]];
        let turns_back = |at: usize| {
            let ([a, b], [_, c]) = (edge(at), edge(at + 1));
            a == b || on_segment(a, b, c) || on_segment(b, c, a)
        };
        let apart = |one: usize, other: usize| (other + 1) % count == one || !meet(edge(one), edge(other));
        !(0..count).any(turns_back) && (0..count).all(|one| (one + 2..count).all(|other| apart(one, other)))
    }

    fn is_surely_simple(points: &[Point]) -> bool {
        let points = points.iter().map(|&(x, y)| DVec2::new(x as f64, y as f64)).collect();
        Polygon::new(points, 0.5).is_surely_simple()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn only_simple_polygons_are_said_to_be(points in prop::collection::vec((0i64..9, 0i64..9), 3..8)) {
            prop_assert!(!is_surely_simple(&points) || is_simple(&points), "{points:?}");
        }

        #[test]
        fn stars_around_a_point_are_simple(radii in prop::collection::vec(1000i64..5000, 12..60)) {
            let place = |(at, &radius): (usize, &i64)| {
                let angle = std::f64::consts::TAU * at as f64 / radii.len() as f64;
                ((radius as f64 * angle.cos()) as i64, (radius as f64 * angle.sin()) as i64)
            };
            let points: Vec<Point> = radii.iter().enumerate().map(place).collect();
            prop_assert!(is_simple(&points) == is_surely_simple(&points));
            let mut crossed = points;
            crossed.swap(2, 7);
            prop_assert!(!is_surely_simple(&crossed) || is_simple(&crossed));
        }
    }
}
