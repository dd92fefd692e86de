//! Triangles inside a closed outline in the plane, of nearly one size: the meshing of a panel.
//!
//! Ears of the outline are cut off, edges are flipped until the triangulation is Delaunay, and the points of a triangular
//! lattice inside are put in one by one, with flips after each.
//!
//! Guarantees: every side of the outline is a side of one triangle; triangles turn counter-clockwise and fill the outline without
//! overlap; the outline's points come first, in their order; every decision is exact; the same input gives the same triangles.
//! Does not: take holes; move or split the outline, so its points should lie about one spacing apart.

use crate::math::DVec2;
use crate::predicates::{Sign, orient2d};
use robust::Coord;
use thiserror::Error;

/// The most points of an outline, and the most lattice points inside it.
const MOST_POINTS: usize = 1_000_000;
/// The most points of an outline: ears are found by looking at all of them.
const LONGEST_OUTLINE: usize = 20_000;
/// Lattice points keep this share of the spacing from the outline.
const CLEARANCE: f64 = 0.6;

/// Why an outline cannot be filled.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum OutlineError {
    /// It has too few or too many points, or a coordinate or the spacing is no usable number.
    #[error("{0}")]
    Unusable(&'static str),
    /// Two of its sides meet.
    #[error("sides {0} and {1} of the outline meet; expected a simple closed curve")]
    Crossing(usize, usize),
}

/// Points and triangles in the plane.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlaneMesh {
    /// The outline's points, then those inside.
    pub points: Vec<DVec2>,
    /// Counter-clockwise triangles.
    pub triangles: Vec<[u32; 3]>,
}

/// Fills a closed outline, given in either direction, with triangles of about the given size.
pub fn triangulate(outline: &[DVec2], spacing: f64) -> Result<PlaneMesh, OutlineError> {
    if outline.len() < 3 || outline.len() > LONGEST_OUTLINE {
        return Err(OutlineError::Unusable("expected an outline of 3 to 20,000 points"));
    }
    if !(spacing.is_finite() && spacing > 0.0) || outline.iter().any(|point| !point.is_finite()) {
        return Err(OutlineError::Unusable("expected finite points and a spacing above 0"));
    }
    let (low, high) = bounds(outline);
    let size = (high - low) / spacing;
    if size.x * size.y > MOST_POINTS as f64 {
        return Err(OutlineError::Unusable("expected at most a million points inside; take a larger spacing"));
    }
    if let Some((a, b)) = crossing_sides(outline) {
        return Err(OutlineError::Crossing(a, b));
    }
    let mut order: Vec<u32> = (0..outline.len() as u32).collect();
    if signed_area(outline) < 0.0 {
        order.reverse();
    }
    let mut mesh = Flipping::new(outline.to_vec(), &cut_ears(outline, order));
    let all: Vec<[u32; 2]> = (0..mesh.triangles.len() as u32).flat_map(|t| (0..3).map(move |side| [t, side])).collect();
    mesh.flip(all);
    let mut near = 0;
    for point in lattice(outline, low, high, spacing) {
        near = mesh.insert(point, near);
    }
    Ok(PlaneMesh { points: mesh.points, triangles: mesh.triangles })
}

/// Twice the area, positive when the outline turns counter-clockwise.
fn signed_area(outline: &[DVec2]) -> f64 {
    let origin = outline[0];
    (0..outline.len()).map(|k| (outline[k] - origin).perp_dot(outline[(k + 1) % outline.len()] - origin)).sum()
}

fn bounds(points: &[DVec2]) -> (DVec2, DVec2) {
    points.iter().fold((DVec2::INFINITY, DVec2::NEG_INFINITY), |(low, high), &p| (low.min(p), high.max(p)))
}

/// The first two sides that meet anywhere but in the corner they share.
fn crossing_sides(outline: &[DVec2]) -> Option<(usize, usize)> {
    let count = outline.len();
    let side = |k: usize| [outline[k], outline[(k + 1) % count]];
    for a in 0..count {
        let [p, q] = side(a);
        let (low, high) = (p.min(q), p.max(q));
        for b in a + 1..count {
            let [r, s] = side(b);
            if r.max(s).cmplt(low).any() || r.min(s).cmpgt(high).any() {
                continue;
            }
            let neighbours = b == a + 1 || (a == 0 && b == count - 1);
            let meet = if neighbours { folds_back(p, q, r, s, b == a + 1) } else { segments_meet([p, q], [r, s]) };
            if meet {
                return Some((a, b));
            }
        }
    }
    None
}

/// Whether two sides that share a corner also lie upon each other.
fn folds_back(p: DVec2, q: DVec2, r: DVec2, s: DVec2, in_order: bool) -> bool {
    let (corner, first, second) = if in_order { (q, p, s) } else { (p, q, r) };
    corner == first
        || corner == second
        || orient2d(first, corner, second) == Sign::Zero && (first - corner).dot(second - corner) > 0.0
}

fn segments_meet([p, q]: [DVec2; 2], [r, s]: [DVec2; 2]) -> bool {
    let sides = [orient2d(p, q, r), orient2d(p, q, s), orient2d(r, s, p), orient2d(r, s, q)];
    // Boxes meet already, so collinear segments meet too.
    !(sides[0] == sides[1] && sides[0] != Sign::Zero || sides[2] == sides[3] && sides[2] != Sign::Zero)
}

/// Triangles of a simple counter-clockwise outline, without new points.
fn cut_ears(points: &[DVec2], mut order: Vec<u32>) -> Vec<[u32; 3]> {
    let mut triangles = Vec::with_capacity(order.len().saturating_sub(2));
    let at = |vertex: u32| points[vertex as usize];
    let mut from = 0;
    while order.len() > 3 {
        let count = order.len();
        let ear = (0..count).map(|k| (from + k) % count).find(|&k| {
            let [a, b, c] = [order[(k + count - 1) % count], order[k], order[(k + 1) % count]];
            is_ear([a, b, c], &order, points)
        });
        // Every simple outline has an ear; should rounding of the input ever leave none, a straight corner goes.
        let ear = ear.unwrap_or(from % count);
        let [a, b, c] = [order[(ear + count - 1) % count], order[ear], order[(ear + 1) % count]];
        if orient2d(at(a), at(b), at(c)) == Sign::Positive {
            triangles.push([a, b, c]);
        }
        order.remove(ear);
        from = ear + 1;
    }
    triangles.push([order[0], order[1], order[2]]);
    triangles
}

/// Whether a corner is convex and its triangle holds no other point of the outline.
fn is_ear(corners: [u32; 3], order: &[u32], points: &[DVec2]) -> bool {
    let [a, b, c] = corners.map(|vertex| points[vertex as usize]);
    if orient2d(a, b, c) != Sign::Positive {
        return false;
    }
    let (low, high) = (a.min(b).min(c), a.max(b).max(c));
    !order.iter().filter(|vertex| !corners.contains(vertex)).any(|&vertex| {
        let point = points[vertex as usize];
        !(point.cmplt(low).any() || point.cmpgt(high).any())
            && [[a, b], [b, c], [c, a]].iter().all(|&[p, q]| orient2d(p, q, point) != Sign::Negative)
    })
}

/// Points of a triangular lattice inside the outline and away from it, row by row, there and back.
fn lattice(outline: &[DVec2], low: DVec2, high: DVec2, spacing: f64) -> Vec<DVec2> {
    let height = spacing * 0.75f64.sqrt();
    let rows = ((high.y - low.y) / height).ceil().max(1.0) as usize;
    let clearance = CLEARANCE * spacing;
    let mut found = Vec::new();
    for row in 0..rows {
        // Rows lie in the middle of their bands, so that none falls on a straight border.
        let y = low.y + (high.y - low.y) * (row as f64 + 0.5) / rows as f64;
        let mut crossings: Vec<f64> = (0..outline.len())
            .filter_map(|k| {
                let (p, q) = (outline[k], outline[(k + 1) % outline.len()]);
                ((p.y > y) != (q.y > y)).then(|| p.x + (q.x - p.x) * (y - p.y) / (q.y - p.y))
            })
            .collect();
        crossings.sort_by(f64::total_cmp);
        let near: Vec<[DVec2; 2]> = (0..outline.len())
            .map(|k| [outline[k], outline[(k + 1) % outline.len()]])
            .filter(|[p, q]| p.y.min(q.y) < y + clearance && p.y.max(q.y) > y - clearance)
            .collect();
        let start = found.len();
        for span in crossings.chunks_exact(2) {
            let shift = if row % 2 == 0 { 0.25 } else { 0.75 };
            let mut column = ((span[0] - low.x) / spacing - shift).ceil();
            while low.x + (column + shift) * spacing < span[1] {
                let point = DVec2::new(low.x + (column + shift) * spacing, y);
                column += 1.0;
                if near.iter().all(|&side| distance_squared(point, side) > clearance * clearance) {
                    found.push(point);
                }
            }
        }
        if row % 2 == 1 {
            found[start..].reverse();
        }
    }
    found
}

fn distance_squared(point: DVec2, [p, q]: [DVec2; 2]) -> f64 {
    let side = q - p;
    let along = ((point - p).dot(side) / side.length_squared().max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
    (p + side * along - point).length_squared()
}

/// No triangle: beyond the outline.
const NONE: u32 = u32::MAX;

/// A triangulation whose edges flip. Side `k` of a triangle goes from its corner `k` to its corner `k + 1`.
struct Flipping {
    points: Vec<DVec2>,
    triangles: Vec<[u32; 3]>,
    /// The triangle across each side.
    across: Vec<[u32; 3]>,
}

impl Flipping {
    fn new(points: Vec<DVec2>, triangles: &[[u32; 3]]) -> Self {
        let mut sides: Vec<([u32; 2], u32, usize)> = Vec::with_capacity(3 * triangles.len());
        for (index, triangle) in triangles.iter().enumerate() {
            for side in 0..3 {
                let [a, b] = [triangle[side], triangle[(side + 1) % 3]];
                sides.push(([a.min(b), a.max(b)], index as u32, side));
            }
        }
        sides.sort_unstable();
        let mut across = vec![[NONE; 3]; triangles.len()];
        for pair in sides.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
            across[pair[0].1 as usize][pair[0].2] = pair[1].1;
            across[pair[1].1 as usize][pair[1].2] = pair[0].1;
        }
        Self { points, triangles: triangles.to_vec(), across }
    }

    fn corner(&self, triangle: u32, corner: u32) -> u32 {
        self.triangles[triangle as usize][corner as usize % 3]
    }

    fn point(&self, vertex: u32) -> DVec2 {
        self.points[vertex as usize]
    }

    /// The side of a triangle across which another lies.
    fn side_toward(&self, triangle: u32, other: u32) -> u32 {
        self.across[triangle as usize].iter().position(|&found| found == other).unwrap_or(0) as u32
    }

    /// Whether the far corner behind a side lies inside the circle of the triangle, or the triangle has no area.
    fn wants_flip(&self, triangle: u32, far: DVec2) -> bool {
        let [a, b, c] = self.triangles[triangle as usize].map(|vertex| self.point(vertex));
        let coord = |point: DVec2| Coord { x: point.x, y: point.y };
        orient2d(a, b, c) == Sign::Zero || robust::incircle(coord(a), coord(b), coord(c), coord(far)) > 0.0
    }

    /// Flips until every edge in question is Delaunay.
    fn flip(&mut self, mut doubtful: Vec<[u32; 2]>) {
        while let Some([triangle, side]) = doubtful.pop() {
            let other = self.across[triangle as usize][side as usize];
            if other == NONE {
                continue;
            }
            let back = self.side_toward(other, triangle);
            let far = self.corner(other, back + 2);
            let near = self.corner(triangle, side + 2);
            let (a, b) = (self.corner(triangle, side), self.corner(triangle, side + 1));
            if !self.wants_flip(triangle, self.point(far)) {
                continue;
            }
            let [pa, pb, pn, pf] = [a, b, near, far].map(|vertex| self.point(vertex));
            if orient2d(pn, pa, pf) != Sign::Positive || orient2d(pn, pf, pb) != Sign::Positive {
                continue;
            }
            let outer = [
                self.across[triangle as usize][(side as usize + 2) % 3],
                self.across[other as usize][(back as usize + 1) % 3],
                self.across[other as usize][(back as usize + 2) % 3],
                self.across[triangle as usize][(side as usize + 1) % 3],
            ];
            self.triangles[triangle as usize] = [near, a, far];
            self.across[triangle as usize] = [outer[0], outer[1], other];
            self.triangles[other as usize] = [near, far, b];
            self.across[other as usize] = [triangle, outer[2], outer[3]];
            self.turn_toward(outer[1], other, triangle);
            self.turn_toward(outer[3], triangle, other);
            doubtful.extend([[triangle, 0], [triangle, 1], [other, 1], [other, 2]]);
        }
    }

    /// A triangle learns that another now lies where `before` did.
    fn turn_toward(&mut self, triangle: u32, before: u32, now: u32) {
        if triangle != NONE {
            let side = self.side_toward(triangle, before) as usize;
            self.across[triangle as usize][side] = now;
        }
    }

    /// Puts a point into the triangle that holds it, looked for from `near` on; returns a triangle at the point.
    fn insert(&mut self, point: DVec2, near: u32) -> u32 {
        let Some(home) = self.locate(point, near) else { return near };
        let vertex = self.points.len() as u32;
        self.points.push(point);
        let [a, b, c] = self.triangles[home as usize];
        let [ab, bc, ca] = self.across[home as usize];
        let (second, third) = (self.triangles.len() as u32, self.triangles.len() as u32 + 1);
        self.triangles[home as usize] = [a, b, vertex];
        self.across[home as usize] = [ab, second, third];
        self.triangles.extend([[b, c, vertex], [c, a, vertex]]);
        self.across.extend([[bc, third, home], [ca, home, second]]);
        self.turn_toward(bc, home, second);
        self.turn_toward(ca, home, third);
        self.flip(vec![[home, 0], [second, 0], [third, 0]]);
        home
    }

    /// The triangle that holds a point: by walking toward it, or by looking at all where a border is in the way.
    fn locate(&self, point: DVec2, near: u32) -> Option<u32> {
        let outside = |triangle: u32| {
            let corners = self.triangles[triangle as usize].map(|vertex| self.point(vertex));
            (0..3).find(|&side| orient2d(corners[side], corners[(side + 1) % 3], point) == Sign::Negative)
        };
        let mut here = near;
        for _ in 0..64 {
            let Some(side) = outside(here) else { return Some(here) };
            here = self.across[here as usize][side];
            if here == NONE {
                break;
            }
        }
        (0..self.triangles.len() as u32).find(|&triangle| outside(triangle).is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(mesh: &PlaneMesh) -> f64 {
        let corner = |vertex: u32| mesh.points[vertex as usize];
        mesh.triangles.iter().map(|&[a, b, c]| 0.5 * (corner(b) - corner(a)).perp_dot(corner(c) - corner(a))).sum()
    }

    /// A star of twelve points with sides cut into pieces.
    fn star(pieces: usize) -> Vec<DVec2> {
        let corner = |k: usize| {
            let angle = k as f64 * std::f64::consts::TAU / 24.0;
            DVec2::new(angle.cos(), angle.sin()) * if k.is_multiple_of(2) { 1.0 } else { 0.6 }
        };
        let along = |k: usize, at: usize| corner(k).lerp(corner(k + 1), at as f64 / pieces as f64);
        (0..24).flat_map(|k| (0..pieces).map(move |at| along(k, at))).collect()
    }

    fn check(outline: &[DVec2], spacing: f64) -> PlaneMesh {
        let mesh = triangulate(outline, spacing).unwrap();
        assert_eq!(&mesh.points[..outline.len()], outline);
        let expected = 0.5 * signed_area(outline).abs();
        assert!((area(&mesh) / expected - 1.0).abs() < 1e-12, "{} {expected}", area(&mesh));
        let positive = |&[a, b, c]: &[u32; 3]| {
            let [a, b, c] = [a, b, c].map(|vertex| mesh.points[vertex as usize]);
            orient2d(a, b, c) == Sign::Positive
        };
        assert!(mesh.triangles.iter().all(positive));
        let topology: Vec<[u32; 3]> = mesh.triangles.clone();
        let topology = crate::Topology::new(mesh.points.len(), &topology).unwrap();
        let borders = topology.edge_count() - topology.hinges().count();
        assert_eq!(borders, outline.len());
        // Euler: one sheet without holes.
        assert_eq!(mesh.points.len() as i64 - topology.edge_count() as i64 + mesh.triangles.len() as i64, 1);
        mesh
    }

    #[test]
    fn outlines_of_any_shape_are_filled_without_gap_or_overlap() {
        let square = [DVec2::ZERO, DVec2::X, DVec2::ONE, DVec2::Y];
        assert_eq!(check(&square, 10.0).triangles.len(), 2);
        check(&square, 0.1);
        let mut turned = star(4);
        check(&turned, 0.07);
        turned.reverse();
        check(&turned, 0.07);
        // A slit as thin as a dart, and straight runs of points.
        let dart = [[0.0, 0.0], [0.4, 0.0], [0.499, 0.0], [0.5, 0.8], [0.501, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
        check(&dart.map(DVec2::from_array), 0.05);
    }

    #[test]
    fn triangles_of_a_panel_are_nearly_equilateral() {
        let side = |k: usize| (k as f64 / 20.0).clamp(0.0, 1.0);
        let mut outline: Vec<DVec2> = (0..20).map(|k| DVec2::new(side(k), 0.0)).collect();
        outline.extend((0..20).map(|k| DVec2::new(1.0, side(k))));
        outline.extend((0..20).map(|k| DVec2::new(1.0 - side(k), 1.0)));
        outline.extend((0..20).map(|k| DVec2::new(0.0, 1.0 - side(k))));
        let mesh = check(&outline, 0.05);
        let angle = |a: DVec2, b: DVec2, c: DVec2| (b - a).angle_to(c - a).abs().to_degrees();
        let smallest = |&[a, b, c]: &[u32; 3]| {
            let [a, b, c] = [a, b, c].map(|vertex| mesh.points[vertex as usize]);
            angle(a, b, c).min(angle(b, c, a)).min(angle(c, a, b))
        };
        let angles: Vec<f64> = mesh.triangles.iter().map(smallest).collect();
        let worst = angles.iter().copied().fold(f64::INFINITY, f64::min);
        let mean = angles.iter().sum::<f64>() / angles.len() as f64;
        println!("smallest angle {worst:.1} degrees, mean of the smallest {mean:.1}");
        assert!(worst > 25.0 && mean > 50.0, "{worst} {mean}");
    }

    #[test]
    fn outlines_that_meet_themselves_are_refused() {
        let bow = [[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]].map(DVec2::from_array);
        assert_eq!(triangulate(&bow, 1.0), Err(OutlineError::Crossing(0, 2)));
        let spike = [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [1.5, 0.0], [1.0, 1.0]].map(DVec2::from_array);
        assert_eq!(triangulate(&spike, 1.0), Err(OutlineError::Crossing(1, 2)));
        let twice = [[0.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]].map(DVec2::from_array);
        assert_eq!(triangulate(&twice, 1.0), Err(OutlineError::Crossing(0, 1)));
        assert!(matches!(triangulate(&bow[..2], 1.0), Err(OutlineError::Unusable(_))));
        assert!(matches!(triangulate(&bow, 0.0), Err(OutlineError::Unusable(_))));
        assert!(matches!(triangulate(&bow, 1e-9), Err(OutlineError::Unusable(_))));
    }
}
