//! Sewing patterns: panels with curved edges, placed around a body, and the seams between them; and their mesh.
//!
//! Edges of one seam are cut into the same number of pieces, equal along each of them, so that a longer edge is gathered or
//! eased. A seam joins the ends of its edges that lie closer to each other where the panels are placed.
//!
//! Guarantees: panels come out in the order they are given, each with its own panel coordinates in metres, counter-clockwise
//! triangles in the panel's own plane; the same pattern gives the same mesh. Seam vertices that lie upon each other already are one vertex.
//! Does not: take panels with holes.

use crate::geometry::math::DQuat;
use crate::geometry::triangulate::{OutlineError, triangulate};
use crate::geometry::{DVec2, DVec3, TriMesh, UvMap, VertexId};
use crate::model::Stitch;
use thiserror::Error;

/// Straight pieces by which the length of a curve is measured.
const CURVE_PIECES: usize = 256;
/// The most pieces that one edge is cut into.
const MOST_PIECES: f64 = 5_000.0;
/// Seam vertices that are closer than this part of the spacing are one vertex.
const SAME_POINT: f64 = 1e-6;

/// Panels and seams. Lengths are metres.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SewingPattern {
    /// The panels.
    pub panels: Vec<PatternPanel>,
    /// Pairs of edges that are sewn together.
    pub seams: Vec<[PanelEdge; 2]>,
}

/// A piece of the pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct PatternPanel {
    /// Its name.
    pub name: String,
    /// Its corners.
    pub corners: Vec<DVec2>,
    /// Its edges, each beginning where the last one ends.
    pub edges: Vec<PatternEdge>,
    /// How it is turned before it is moved.
    pub rotation: DQuat,
    /// Where its origin goes.
    pub translation: DVec3,
}

/// An edge of a panel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PatternEdge {
    /// The corners at its ends.
    pub ends: [usize; 2],
    /// Its way between them.
    pub curve: Curve,
}

/// The way of an edge between its ends. Points are relative to the edge: x along it, y to its left, both in lengths of the straight
/// line between the ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Curve {
    /// Straight.
    Line,
    /// A Bézier curve with one control point.
    Quadratic(DVec2),
    /// A Bézier curve with two control points.
    Cubic([DVec2; 2]),
    /// Part of a circle.
    Arc {
        /// Metres.
        radius: f64,
        /// Whether it is the longer one of the two parts.
        is_long: bool,
        /// Whether it lies to the right of the straight line.
        is_right: bool,
    },
}

/// One edge of one panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PanelEdge {
    /// Index of the panel.
    pub panel: usize,
    /// Index of the edge in the panel.
    pub edge: usize,
}

/// Why a pattern makes no mesh.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum PatternError {
    /// An edge does not begin where the one before it ends, or names a corner that is not there.
    #[error("panel {panel}: edge {edge} does not go on where the one before it ends")]
    Open {
        /// The panel.
        panel: String,
        /// The edge, from 0.
        edge: usize,
    },
    /// An edge is no curve of usable length.
    #[error("panel {panel}: edge {edge} has no usable length; expected finite coordinates and at most 5,000 pieces")]
    Length {
        /// The panel.
        panel: String,
        /// The edge, from 0.
        edge: usize,
    },
    /// The outline cannot be filled.
    #[error("panel {panel}: {source}")]
    Outline {
        /// The panel.
        panel: String,
        /// Why.
        source: OutlineError,
    },
    /// A seam names an edge that is not there.
    #[error("seam {seam} names an edge that no panel has")]
    Seam {
        /// The seam, from 0.
        seam: usize,
    },
}

/// The mesh of a pattern.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PatternMesh {
    /// Panels where they are placed.
    pub mesh: TriMesh,
    /// Panel coordinates.
    pub panels: UvMap,
    /// Threads along all seams.
    pub stitches: Vec<Stitch>,
}

impl SewingPattern {
    /// Triangles with edges of about `spacing` metres.
    pub fn mesh(&self, spacing: f64) -> Result<PatternMesh, PatternError> {
        let curves = self.curves()?;
        let pieces = self.pieces(&curves, spacing)?;
        let mut out = PatternMesh::default();
        // The vertices along every edge of every panel, ends included.
        let mut along: Vec<Vec<Vec<u32>>> = Vec::new();
        for (index, panel) in self.panels.iter().enumerate() {
            let first = out.mesh.positions.len() as u32;
            let mut outline: Vec<DVec2> = Vec::new();
            let mut starts = Vec::new();
            for (curve, &count) in curves[index].iter().zip(&pieces[index]) {
                starts.push(outline.len() as u32);
                outline.extend((0..count).map(|at| at_share(curve, at as f64 / count as f64)));
            }
            let filled = triangulate(&outline, spacing)
                .map_err(|source| PatternError::Outline { panel: panel.name.clone(), source })?;
            let total = outline.len() as u32;
            let vertices = |edge: usize| {
                (0..=pieces[index][edge] as u32).map(|at| first + (starts[edge] + at) % total).collect::<Vec<u32>>()
            };
            along.push((0..panel.edges.len()).map(vertices).collect());
            let place = |point: &DVec2| panel.rotation * point.extend(0.0) + panel.translation;
            out.mesh.positions.extend(filled.points.iter().map(place));
            out.mesh.triangles.extend(filled.triangles.iter().map(|corners| corners.map(|corner| first + corner)));
            out.panels.coordinates.extend(&filled.points);
        }
        out.panels.triangles.clone_from(&out.mesh.triangles);
        for seam in &self.seams {
            let [one, other] = seam.map(|side| along[side.panel][side.edge].clone());
            out.stitches.extend(sewn(&out.mesh.positions, &one, other));
        }
        Ok(join_upon_each_other(out, SAME_POINT * spacing))
    }

    /// All edges as fine polylines.
    fn curves(&self) -> Result<Vec<Vec<Vec<DVec2>>>, PatternError> {
        let curves_of = |panel: &PatternPanel| -> Result<Vec<Vec<DVec2>>, PatternError> {
            let mut before = panel.edges.last().map_or(0, |edge| edge.ends[1]);
            let mut curves = Vec::new();
            for (index, edge) in panel.edges.iter().enumerate() {
                let open = || PatternError::Open { panel: panel.name.clone(), edge: index };
                if edge.ends[0] != before {
                    return Err(open());
                }
                before = edge.ends[1];
                let [Some(&start), Some(&end)] = edge.ends.map(|corner| panel.corners.get(corner)) else {
                    return Err(open());
                };
                curves.push(polyline(start, end, edge.curve));
            }
            Ok(curves)
        };
        self.panels.iter().map(curves_of).collect()
    }

    /// The number of pieces of every edge; the same for all that are sewn together.
    fn pieces(&self, curves: &[Vec<Vec<DVec2>>], spacing: f64) -> Result<Vec<Vec<usize>>, PatternError> {
        let mut pieces = Vec::with_capacity(curves.len());
        for (panel, curves) in self.panels.iter().zip(curves) {
            let mut counts = Vec::with_capacity(curves.len());
            for (edge, curve) in curves.iter().enumerate() {
                let count = (length(curve) / spacing).round();
                if !(count.is_finite() && count <= MOST_PIECES && length(curve) > 0.0) {
                    return Err(PatternError::Length { panel: panel.name.clone(), edge });
                }
                counts.push((count as usize).max(1));
            }
            pieces.push(counts);
        }
        // An edge may be in several seams: the larger count goes round until nothing changes.
        let mut changed = true;
        while changed {
            changed = false;
            for (seam, sides) in self.seams.iter().enumerate() {
                let missing = |side: &PanelEdge| pieces.get(side.panel).is_none_or(|counts| side.edge >= counts.len());
                if sides.iter().any(missing) {
                    return Err(PatternError::Seam { seam });
                }
                let most = sides.iter().map(|side| pieces[side.panel][side.edge]).max().unwrap_or(1);
                for side in sides {
                    let count = &mut pieces[side.panel][side.edge];
                    changed |= *count != most;
                    *count = most;
                }
            }
        }
        Ok(pieces)
    }
}

/// Points along an edge, ends included.
fn polyline(start: DVec2, end: DVec2, curve: Curve) -> Vec<DVec2> {
    let chord = end - start;
    let absolute = |relative: DVec2| start + chord * relative.x + chord.perp() * relative.y;
    let share = |at: usize| at as f64 / CURVE_PIECES as f64;
    let bezier = |controls: &[DVec2]| -> Vec<DVec2> {
        let point = |at: usize| {
            let mut points = controls.to_vec();
            while points.len() > 1 {
                points = points.windows(2).map(|pair| pair[0].lerp(pair[1], share(at))).collect();
            }
            points[0]
        };
        (0..=CURVE_PIECES).map(point).collect()
    };
    match curve {
        Curve::Line => vec![start, end],
        Curve::Quadratic(control) => bezier(&[start, absolute(control), end]),
        Curve::Cubic([first, second]) => bezier(&[start, absolute(first), absolute(second), end]),
        Curve::Arc { radius, is_long, is_right } => {
            let half = 0.5 * chord.length();
            let radius = radius.max(half);
            let beside = (radius * radius - half * half).max(0.0).sqrt();
            // The centre of a short arc lies on the other side of the chord.
            let left = chord.perp().normalize_or_zero() * if is_long == is_right { -beside } else { beside };
            let centre = start.midpoint(end) + left;
            let turn = 2.0 * (half / radius).min(1.0).asin();
            let turn = if is_long { std::f64::consts::TAU - turn } else { turn };
            let turn = if is_right { turn } else { -turn };
            let from = start - centre;
            (0..=CURVE_PIECES).map(|at| centre + DVec2::from_angle(turn * share(at)).rotate(from)).collect()
        }
    }
}

fn length(curve: &[DVec2]) -> f64 {
    curve.windows(2).map(|pair| pair[0].distance(pair[1])).sum()
}

/// The point at a share of a polyline's length.
fn at_share(curve: &[DVec2], share: f64) -> DVec2 {
    let mut left = share * length(curve);
    for pair in curve.windows(2) {
        let piece = pair[0].distance(pair[1]);
        if left <= piece && piece > 0.0 {
            return pair[0].lerp(pair[1], left / piece);
        }
        left -= piece;
    }
    curve[curve.len() - 1]
}

/// Threads between the vertices of two edges, the closer ends joined.
fn sewn(positions: &[DVec3], one: &[u32], mut other: Vec<u32>) -> Vec<Stitch> {
    let apart = |a: u32, b: u32| positions[a as usize].distance_squared(positions[b as usize]);
    let last = one.len() - 1;
    let straight = apart(one[0], other[0]) + apart(one[last], other[last]);
    let crossed = apart(one[0], other[last]) + apart(one[last], other[0]);
    if crossed < straight {
        other.reverse();
    }
    let pairs = one.iter().zip(other).filter(|(a, b)| **a != *b);
    pairs.map(|(&a, b)| Stitch::pair(VertexId(a), VertexId(b))).collect()
}

/// Makes one vertex of stitched vertices without a gap; the others keep their threads.
fn join_upon_each_other(pattern: PatternMesh, tolerance: f64) -> PatternMesh {
    let PatternMesh { mesh, panels, stitches } = pattern;
    let mut same: Vec<u32> = (0..mesh.positions.len() as u32).collect();
    let root = |same: &[u32], mut vertex: u32| {
        while same[vertex as usize] != vertex {
            vertex = same[vertex as usize];
        }
        vertex
    };
    for stitch in stitches.iter().filter(|stitch| stitch.gap(&mesh.positions).length() <= tolerance) {
        let [a, b] = [stitch.vertices[0].0, stitch.vertices[1].0].map(|vertex| root(&same, vertex));
        // Two corners of one triangle stay apart, else it would have no area.
        let shared = |corners: &&[u32; 3]| {
            let roots = corners.map(|corner| root(&same, corner));
            roots.contains(&a) && roots.contains(&b)
        };
        if a != b && mesh.triangles.iter().find(shared).is_none() {
            same[a.max(b) as usize] = a.min(b);
        }
    }
    let mut number = vec![0u32; same.len()];
    let mut positions = Vec::new();
    for vertex in 0..same.len() as u32 {
        let first = root(&same, vertex);
        if first == vertex {
            number[vertex as usize] = positions.len() as u32;
            positions.push(mesh.positions[vertex as usize]);
        } else {
            number[vertex as usize] = number[first as usize];
        }
    }
    let renamed = |vertex: u32| number[vertex as usize];
    let triangles = mesh.triangles.iter().map(|corners| corners.map(renamed)).collect();
    let mut seen = rustc_hash::FxHashSet::default();
    let stitches = stitches
        .iter()
        .map(|stitch| [stitch.vertices[0].0, stitch.vertices[1].0].map(renamed))
        .filter(|&[a, b]| a != b && seen.insert([a.min(b), a.max(b)]))
        .map(|[a, b]| Stitch::pair(VertexId(a), VertexId(b)))
        .collect();
    PatternMesh { mesh: TriMesh { positions, triangles }, panels, stitches }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two rectangles, one behind the other, with a curved top, sewn at both sides.
    fn tube(gap: f64) -> SewingPattern {
        let panel = |name: &str, depth: f64| PatternPanel {
            name: name.into(),
            corners: [[0.0, 0.0], [0.4, 0.0], [0.4, 0.3], [0.0, 0.3]].map(DVec2::from_array).to_vec(),
            edges: (0..4)
                .map(|k| PatternEdge {
                    ends: [k, (k + 1) % 4],
                    curve: if k == 2 { Curve::Quadratic(DVec2::new(0.5, 0.2)) } else { Curve::Line },
                })
                .collect(),
            rotation: DQuat::IDENTITY,
            translation: DVec3::Z * depth,
        };
        let side = |panel, edge| PanelEdge { panel, edge };
        SewingPattern {
            panels: vec![panel("front", gap), panel("back", 0.0)],
            seams: vec![[side(0, 1), side(1, 1)], [side(0, 3), side(1, 3)]],
        }
    }

    #[test]
    fn panels_are_filled_and_seams_join_the_nearer_ends() {
        let made = tube(0.1).mesh(0.03).unwrap();
        assert_eq!(made.stitches.len(), 2 * 11);
        for stitch in &made.stitches {
            assert!((stitch.gap(&made.mesh.positions).length() - 0.1).abs() < 1e-12);
        }
        // The top dips by half of the control point's height.
        let area: f64 = made
            .panels
            .triangles
            .iter()
            .map(|corners| {
                let [a, b, c] = corners.map(|corner| made.panels.coordinates[corner as usize]);
                0.5 * (b - a).perp_dot(c - a)
            })
            .sum();
        let dip = 2.0 / 3.0 * 0.4 * 0.5 * 0.2 * 0.4;
        assert!((area / (2.0 * (0.12 - dip)) - 1.0).abs() < 0.01, "{area}");
    }

    #[test]
    fn vertices_that_lie_upon_each_other_are_one() {
        let apart = tube(0.1).mesh(0.03).unwrap();
        let joined = tube(0.0).mesh(0.03).unwrap();
        assert!(joined.stitches.is_empty());
        assert_eq!(joined.mesh.positions.len() + 22, apart.mesh.positions.len());
        assert_eq!(joined.panels.coordinates.len(), apart.mesh.positions.len());
    }

    #[test]
    fn sewn_edges_of_different_length_have_the_same_number_of_pieces() {
        let mut pattern = tube(0.2);
        for corner in &mut pattern.panels[0].corners {
            corner.y *= 2.0;
        }
        assert_eq!(pattern.mesh(0.03).unwrap().stitches.len(), 2 * 21);
    }

    #[test]
    fn arcs_lie_on_the_side_and_have_the_length_that_they_say() {
        let arc = |is_long, is_right| Curve::Arc { radius: 0.5, is_long, is_right };
        let quarter = std::f64::consts::FRAC_PI_4;
        let end = DVec2::from_angle(2.0 * quarter) * 0.5;
        let start = DVec2::X * 0.5;
        for (is_long, is_right) in [(false, true), (false, false), (true, true), (true, false)] {
            let line = polyline(start, end, arc(is_long, is_right));
            let expected = 0.5 * if is_long { 6.0 * quarter } else { 2.0 * quarter };
            assert!((length(&line) / expected - 1.0).abs() < 1e-4);
            let side = (end - start).perp_dot(line[CURVE_PIECES / 2] - start);
            assert_eq!(side < 0.0, is_right, "{is_long} {is_right}");
            assert!(line[0].distance(start) < 1e-12 && line[CURVE_PIECES].distance(end) < 1e-12);
        }
    }

    #[test]
    fn what_makes_no_mesh_is_named() {
        let mut pattern = tube(0.1);
        pattern.panels[1].edges[2].ends[1] = 0;
        assert_eq!(
            pattern.mesh(0.03).unwrap_err().to_string(),
            "panel back: edge 3 does not go on where the one before it ends"
        );
        let mut pattern = tube(0.1);
        pattern.seams[1][0].edge = 9;
        assert_eq!(pattern.mesh(0.03).unwrap_err().to_string(), "seam 1 names an edge that no panel has");
        let mut pattern = tube(0.1);
        pattern.panels[0].corners.swap(1, 2);
        assert!(pattern.mesh(0.03).unwrap_err().to_string().starts_with("panel front: sides "));
        let mut pattern = tube(0.1);
        pattern.panels[0].corners[1].x = 1e9;
        assert!(pattern.mesh(0.03).unwrap_err().to_string().starts_with("panel front: edge 0 has no usable length"));
    }
}
