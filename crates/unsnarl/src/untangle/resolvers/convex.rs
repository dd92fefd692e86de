//! Convexification: a fan that is dented is made convex, so that its vertex can be pulled without turning a triangle over.
//!
//! Neighbours that lie within the convex hull of the unfolded fan go straight out from its middle until they lie on the hull
//! and a little beyond. It is for the rare case that no fan at all passes the inversion test. (Cha 2022, appendix C)
//!
//! Does not: help vertices on a boundary, whose fans are open; promise that the triangles beyond stay upright, which the
//! inversion test of the whole pull decides.

use crate::model::Model;
use crate::untangle::resolvers::fan::Fan;
use unsnarl_geometry::VertexId;
use unsnarl_geometry::math::DVec2;

/// How far beyond the hull a dent is moved, as a share of its distance from the middle.
const BEYOND: f64 = 0.02;

/// The neighbours that dent a fan, and by which share of their distance from the middle they have to go out.
pub(in crate::untangle) fn dents(model: &Model, center: VertexId) -> Vec<(VertexId, f64)> {
    let Some(fan) = Fan::around(&model.topology, &model.rest_shapes, center).filter(Fan::is_closed) else {
        return Vec::new();
    };
    let places = fan.places(&model.topology, &model.rest_shapes);
    let out = |spoke: usize| {
        let length = places[spoke].length();
        let reach = hull_reach(&places, spoke);
        (reach > (1.0 + 1e-9) * length).then(|| (fan.spokes[spoke], (1.0 + BEYOND) * reach / length - 1.0))
    };
    (0..places.len()).filter_map(out).collect()
}

/// How far the convex hull reaches in the direction of one of its points, from the origin.
fn hull_reach(places: &[DVec2], spoke: usize) -> f64 {
    let ray = places[spoke].normalize_or_zero();
    let mut reach: f64 = 0.0;
    for &a in places {
        for &b in places {
            // From `a` on the right of the ray to `b` on its left, in front of the origin.
            let (right, left) = (-ray.perp_dot(a), ray.perp_dot(b));
            if right > 0.0 && left > 0.0 {
                let share = right / (right + left);
                reach = reach.max(ray.dot(a + share * (b - a)));
            }
        }
    }
    reach
}
