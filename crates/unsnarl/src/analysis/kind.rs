//! The seven kinds of contour, by their ends and by whether their traces cross on the sheet.
//!
//! At an end one trace meets the boundary (B) and the other stops inside (I), or both meet in a loop vertex (L). Two B on
//! one trace make BBII, one on each BIBI; by their ends also LL and BLI. A contour without ends is CLOSED, unless its
//! two traces cross each other (CROSS) or one crosses itself (EIGHT). (Cha 2022, 2.1; Wicke et al. 2006)
//!
//! Traces cross where three triangles of the contour meet in one point; that decision is exact. Traces that merely touch
//! do not cross. A contour with both kinds of crossing is CROSS.

use super::contour::{Contour, ContourEnd, ContourPoint, Trace};
use num_rational::BigRational;
use num_traits::Signed;
use serde::Serialize;
use unsnarl_geometry::predicates::{IndexedPoint, Side, Sign, side_of_plane};
use unsnarl_geometry::{DVec3, Topology, TriangleId, VertexId};

/// What kind of tangle a contour is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ContourKind {
    /// Two simple closed traces.
    Closed,
    /// A closed contour whose trace crosses itself.
    Eight,
    /// A closed contour whose two traces cross each other.
    Cross,
    /// From loop vertex to loop vertex.
    #[serde(rename = "LL")]
    Ll,
    /// One trace runs from boundary to boundary.
    Bbii,
    /// Each trace meets the boundary once.
    Bibi,
    /// From the boundary to a loop vertex.
    Bli,
    /// It ends on a non-manifold edge.
    Other,
}

impl ContourKind {
    /// All kinds, in the order of reports.
    pub const ALL: [Self; 8] =
        [Self::Closed, Self::Eight, Self::Cross, Self::Ll, Self::Bbii, Self::Bibi, Self::Bli, Self::Other];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Closed => "CLOSED",
            Self::Eight => "EIGHT",
            Self::Cross => "CROSS",
            Self::Ll => "LL",
            Self::Bbii => "BBII",
            Self::Bibi => "BIBI",
            Self::Bli => "BLI",
            Self::Other => "OTHER",
        }
    }
}

/// Which traces of a contour cross on the sheet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceCrossings {
    itself: [bool; 2],
    each_other: bool,
}

impl TraceCrossings {
    /// Looks at every triangle that traces pass more than once. Neighbouring segments meet in the point between them, and
    /// so do not cross.
    pub fn find(topology: &Topology, positions: &[DVec3], contour: &Contour) -> Self {
        let mut passages: Vec<Passage> = Vec::with_capacity(2 * contour.segments.len());
        for (segment, triangles) in contour.segments.iter().enumerate() {
            for trace in Trace::BOTH {
                passages.push(Passage { triangle: triangles[trace.index()], segment, trace });
            }
        }
        passages.sort_unstable();
        let mut found = Self::default();
        for group in passages.chunk_by(|a, b| a.triangle == b.triangle) {
            for (at, &first) in group.iter().enumerate() {
                for &second in
                    group[at + 1..].iter().filter(|&&second| !contour.are_neighbours(first.segment, second.segment))
                {
                    let crossing = if first.trace == second.trace {
                        &mut found.itself[first.trace.index()]
                    } else {
                        &mut found.each_other
                    };
                    *crossing = *crossing || passages_cross(topology, positions, contour, first, second);
                }
            }
        }
        found
    }

    /// Whether a trace crosses itself.
    pub fn of_itself(self, trace: Trace) -> bool {
        self.itself[trace.index()]
    }

    /// Whether the two traces cross each other.
    pub fn of_each_other(self) -> bool {
        self.each_other
    }

    /// Whether anything crosses.
    pub fn any(self) -> bool {
        self.each_other || self.itself != [false; 2]
    }
}

/// The kind of a contour.
pub fn classify(contour: &Contour, crossings: TraceCrossings) -> ContourKind {
    use ContourEnd::{Boundary, Loop, NonManifold};
    match contour.ends {
        None if crossings.of_each_other() => ContourKind::Cross,
        None if crossings.any() => ContourKind::Eight,
        None => ContourKind::Closed,
        Some([NonManifold(_), _] | [_, NonManifold(_)]) => ContourKind::Other,
        Some([Loop(_), Loop(_)]) => ContourKind::Ll,
        Some([Loop(_), Boundary(_)] | [Boundary(_), Loop(_)]) => ContourKind::Bli,
        Some([Boundary(first), Boundary(second)]) if first == second => ContourKind::Bbii,
        Some([Boundary(_), Boundary(_)]) => ContourKind::Bibi,
    }
}

/// A segment of a trace inside a triangle.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Passage {
    triangle: TriangleId,
    segment: usize,
    trace: Trace,
}

/// Where a passage starts or ends.
#[derive(Clone, Copy)]
enum PassageEnd<'a> {
    Crossing(&'a ContourPoint),
    Loop(VertexId),
}

impl PassageEnd<'_> {
    fn is(self, other: Self) -> bool {
        match (self, other) {
            (Self::Crossing(p), Self::Crossing(q)) => p.edge == q.edge && p.triangle == q.triangle,
            (Self::Loop(p), Self::Loop(q)) => p == q,
            _ => false,
        }
    }
}

fn passage_ends(contour: &Contour, passage: Passage) -> [PassageEnd<'_>; 2] {
    let points = contour.segment_points(passage.segment);
    [0, 1].map(|at| match (points[at], contour.ends.map(|ends| ends[at])) {
        (Some(point), _) => PassageEnd::Crossing(&contour.points[point]),
        (None, Some(ContourEnd::Loop(vertex))) => PassageEnd::Loop(vertex),
        (None, _) => unreachable!("a segment without a point at one end comes from a loop vertex"),
    })
}

/// Whether two passages through one triangle cross inside it: each separates the ends of the other.
///
/// A passage lies in the plane of the other triangle of its segment, so "which side of the passage" is "which side of
/// that plane".
fn passages_cross(topology: &Topology, positions: &[DVec3], contour: &Contour, a: Passage, b: Passage) -> bool {
    let partner = |passage: Passage| contour.segments[passage.segment][passage.trace.other().index()];
    let (a_ends, b_ends) = (passage_ends(contour, a), passage_ends(contour, b));
    if a_ends.iter().any(|&p| b_ends.iter().any(|&q| p.is(q))) {
        return false;
    }
    separates(topology, positions, partner(a), b_ends) && separates(topology, positions, partner(b), a_ends)
}

/// Whether the plane of a triangle lies strictly between two ends.
fn separates(topology: &Topology, positions: &[DVec3], triangle: TriangleId, ends: [PassageEnd<'_>; 2]) -> bool {
    let [first, second] = ends.map(|end| match end {
        PassageEnd::Crossing(point) => side_of_point(topology, positions, triangle, point),
        PassageEnd::Loop(vertex) => side_of_vertex(positions, topology.triangle(triangle), vertex),
    });
    first != Sign::Zero && second == -first
}

/// Zero for a corner of the triangle.
fn side_of_vertex(positions: &[DVec3], corners: [VertexId; 3], vertex: VertexId) -> Sign {
    if corners.contains(&vertex) { Sign::Zero } else { perturbed_sign(positions, corners, vertex) }
}

/// On which side of a triangle's plane a contour point lies.
///
/// The point divides its edge `u w` in the ratio of the heights of `u` and `w` above the triangle it passes through; when
/// the ends of the edge do not settle the matter, the sign of `h(u) g(w) - h(w) g(u)` does, where `h` are heights above
/// that triangle and `g` heights above the plane in question.
fn side_of_point(topology: &Topology, positions: &[DVec3], plane: TriangleId, point: &ContourPoint) -> Sign {
    let corners = topology.triangle(plane);
    let ends = topology.edge(point.edge);
    let sides = ends.map(|end| side_of_vertex(positions, corners, end));
    match sides {
        [Sign::Zero, other] | [other, Sign::Zero] => other,
        [first, second] if first == second => first,
        _ => {
            let pierced = topology.triangle(point.triangle);
            let start_side = perturbed_sign(positions, pierced, ends[0]);
            let sign = sign_of_cross_ratio(positions, pierced, corners, ends);
            if start_side == Sign::Positive { sign } else { -sign }
        }
    }
}

fn perturbed_sign(positions: &[DVec3], [a, b, c]: [VertexId; 3], point: VertexId) -> Sign {
    let at = |vertex: VertexId| IndexedPoint { vertex, position: positions[vertex.index()] };
    match side_of_plane(at(a), at(b), at(c), at(point)) {
        Side::Positive => Sign::Positive,
        Side::Negative => Sign::Negative,
    }
}

/// The sign of `h(u) g(w) - h(w) g(u)`: in floats with an error bound, in rational arithmetic where that cannot tell.
fn sign_of_cross_ratio(positions: &[DVec3], pierced: [VertexId; 3], plane: [VertexId; 3], ends: [VertexId; 2]) -> Sign {
    let [hu, hw] = ends.map(|end| height(positions, pierced, end));
    let [gu, gw] = ends.map(|end| height(positions, plane, end));
    let difference = hu.value * gw.value - hw.value * gu.value;
    let product_error = |a: Height, b: Height| {
        a.value.abs() * b.error
            + b.value.abs() * a.error
            + a.error * b.error
            + 4.0 * f64::EPSILON * (a.value * b.value).abs()
    };
    let bound = 2.0 * (product_error(hu, gw) + product_error(hw, gu));
    if difference.abs() > bound {
        Sign::of(difference)
    } else {
        exact_sign_of_cross_ratio(positions, pierced, plane, ends)
    }
}

/// Six times a signed volume, and how far rounding may have moved it.
#[derive(Clone, Copy)]
struct Height {
    value: f64,
    error: f64,
}

fn height(positions: &[DVec3], triangle: [VertexId; 3], end: VertexId) -> Height {
    let origin = positions[end.index()];
    let [a, b, c] = triangle.map(|corner| positions[corner.index()] - origin);
    let size = a.abs().max_element() * b.abs().max_element() * c.abs().max_element();
    Height { value: a.dot(b.cross(c)), error: 64.0 * f64::EPSILON * size }
}

fn exact_sign_of_cross_ratio(
    positions: &[DVec3],
    pierced: [VertexId; 3],
    plane: [VertexId; 3],
    ends: [VertexId; 2],
) -> Sign {
    let height = |triangle: [VertexId; 3], end: VertexId| {
        let exact = |vertex: VertexId| {
            positions[vertex.index()]
                .to_array()
                .map(|x| BigRational::from_float(x).expect("positions of an analysis are finite"))
        };
        let d = exact(end);
        let [a, b, c] = triangle.map(|corner| {
            let corner = exact(corner);
            [&corner[0] - &d[0], &corner[1] - &d[1], &corner[2] - &d[2]]
        });
        &a[0] * (&b[1] * &c[2] - &b[2] * &c[1]) - &a[1] * (&b[0] * &c[2] - &b[2] * &c[0])
            + &a[2] * (&b[0] * &c[1] - &b[1] * &c[0])
    };
    let difference =
        height(pierced, ends[0]) * height(plane, ends[1]) - height(pierced, ends[1]) * height(plane, ends[0]);
    if difference.is_positive() {
        Sign::Positive
    } else if difference.is_negative() {
        Sign::Negative
    } else {
        Sign::Zero
    }
}
