//! Pinches: cloth vertices caught between surfaces of bodies, and where on those surfaces.
//!
//! Two surfaces pinch a vertex when they face each other, the vertex is behind both (or within reach of both), and the
//! analysis of the bodies' own meshes says that they have passed through each other there. So a finger or a bump, which
//! has near surfaces with opposite normals as well, pinches nothing. And no other part of the bodies may be much nearer than these
//! two, or have the vertex in front of it: the top of a shoulder is behind both sides of the armpit, but not between them.
//! Different bodies pinch as soon as both are within reach, crossing or not. (Baraff, Witkin and Kass 2003, 4.4)
//!
//! Bodies are looked at where they are and where they are at the end of the step: what they begin to pinch during the step has to
//! be led through it, too, for contact cannot satisfy both sides any more. While a vertex is pinched, the elements around it
//! pass through bodies and through other pinched elements ([`PinchRules`]). What of a body is within the body itself ([`Covered`])
//! keeps no cloth out either: edges and triangles that reach between surfaces with no vertex there would be squeezed as well.
//!
//! Guarantees: the result depends on the positions alone, in vertex order.
//! Does not: tell apart more than two portions of one body per contour; other contours and other bodies add theirs.
//! Departs: which side of a surface a vertex is on is told by the normal of the nearest triangle.

use crate::analysis::colour::colour;
use crate::analysis::{Assembly, PartKind, Tangle, TangledContour, Trace};
use crate::contact::{PairRules, Rule};
use crate::untangle::bodies::flypaper::carried_by;
use crate::untangle::method::{crossing_triangles, cut_off_by, cut_off_by_both, triangles_at};
use crate::untangle::nearest::{NearestPoint, NearestTriangle};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::ops::Range;
use unsnarl_geometry::ccd::ElementPair;
use unsnarl_geometry::intersection::triangle_box;
use unsnarl_geometry::{Aabb, DVec3, Topology, TopologyError, TriMesh, TriangleId, VertexId};

/// When cloth counts as pinched.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PinchSettings {
    /// Distance within which a surface holds cloth that is not behind it, metres. Larger: cloth sticks earlier.
    pub reach: f64,
    /// Greatest depth behind a surface at which it still holds cloth, metres.
    pub depth: f64,
    /// Two surfaces face each other when the cosine between their normals is below this.
    pub facing: f64,
    /// How much faster than the body next to it cloth beside a pinch may go, m/s. Smaller: calmer; cloth that was strained takes longer to
    /// find its place.
    pub calm_speed: f64,
}

impl Default for PinchSettings {
    fn default() -> Self {
        Self { reach: 0.003, depth: 0.15, facing: -0.2, calm_speed: 0.05 }
    }
}

/// A point is behind a surface when it is this far below it, as a share of its distance from the nearest point. Else it is
/// beyond the border of the piece of surface looked at: the front of a knee is below the folds at its back, but not behind them.
const BEHIND: f64 = 0.5;

/// A vertex and the places of bodies that hold it: two or more, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Pinch {
    /// The vertex of cloth.
    pub vertex: VertexId,
    /// Triangles of [`BodyMeshes`].
    pub triangles: Vec<TriangleId>,
}

/// All bodies as one mesh that may cross itself. Connectivity only.
#[derive(Clone, Debug)]
pub struct BodyMeshes {
    assembly: Assembly,
    /// Whether no body can cross itself.
    are_convex: bool,
}

impl BodyMeshes {
    /// Joins bodies, in order.
    pub fn new<'a>(bodies: impl IntoIterator<Item = (&'a str, &'a TriMesh)>) -> Result<Self, TopologyError> {
        let parts = bodies
            .into_iter()
            .map(|(name, mesh)| (name.to_owned(), PartKind::Cloth, mesh.positions.len(), mesh.triangles.as_slice()));
        Ok(Self { assembly: Assembly::new(parts)?, are_convex: false })
    }

    /// Says that every single body is convex for all times: only two of them can pinch.
    pub fn of_convex_bodies(mut self) -> Self {
        self.are_convex = true;
        self
    }

    /// Whether anything can be pinched while the bodies go from start to end: a body that may cross itself does it alone, others
    /// need one within twice the reach.
    pub fn may_pinch(&self, ends: [&[DVec3]; 2], reach: f64) -> bool {
        if !self.are_convex {
            return !ends[0].is_empty();
        }
        let swept = |vertices: Range<usize>| {
            Aabb::of_points(ends.into_iter().flat_map(|positions| positions[vertices.clone()].iter().copied()))
        };
        let boxes: Vec<Aabb> =
            self.assembly.parts().iter().map(|part| swept(part.vertices.clone()).inflated(reach)).collect();
        (1..boxes.len()).any(|second| (0..second).any(|first| boxes[first].overlaps(&boxes[second])))
    }

    /// The connectivity of all bodies together.
    pub fn topology(&self) -> &Topology {
        self.assembly.topology()
    }

    /// The bodies as an analysis sees them: what it finds is where they cross each other and themselves.
    pub fn assembly(&self) -> &Assembly {
        &self.assembly
    }
}

/// All pinched vertices, in order. `bodies` are the positions of the bodies' vertices, `tangle` is their own.
pub fn find(
    meshes: &BodyMeshes,
    bodies: &[DVec3],
    tangle: &Tangle,
    cloth: &[DVec3],
    settings: &PinchSettings,
) -> Vec<Pinch> {
    grouped(Search { meshes, bodies: [bodies, bodies], cloth, settings }.held(tangle))
}

/// All vertices that are pinched at the start of a step or would be at its end, in order. `tangles` are those of the bodies
/// at both ends. Cloth is thought to be carried by the nearer surface until then.
pub fn find_during(
    meshes: &BodyMeshes,
    [start, end]: [&[DVec3]; 2],
    [at_start, at_end]: [&Tangle; 2],
    cloth: &[DVec3],
    settings: &PinchSettings,
) -> Vec<Pinch> {
    let mut held = Search { meshes, bodies: [start, start], cloth, settings }.held(at_start);
    held.sort_unstable();
    if start != end {
        // A vertex that is held already keeps the places that hold it.
        let is_new = |entry: &(VertexId, TriangleId)| held.binary_search_by_key(&entry.0, |held| held.0).is_err();
        let mut later = Search { meshes, bodies: [start, end], cloth, settings }.held(at_end);
        later.retain(is_new);
        held.extend(later);
    }
    grouped(held)
}

/// Vertices with all the places that hold them.
fn grouped(mut held: Vec<(VertexId, TriangleId)>) -> Vec<Pinch> {
    held.sort_unstable();
    held.dedup();
    let triangles = |group: &[(VertexId, TriangleId)]| group.iter().map(|entry| entry.1).collect();
    held.chunk_by(|a, b| a.0 == b.0).map(|group| Pinch { vertex: group[0].0, triangles: triangles(group) }).collect()
}

/// Which contours of pinched cloth nobody treats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excused {
    /// Those with cloth: bodies carry it through itself, and let go of it again.
    WithCloth,
    /// Those with bodies, in which it is caught.
    WithBodies,
}

/// A tangle without the contours that pinched cloth is excused from: those in which it crosses, and those that cut it off.
pub fn without_pinched<'a>(
    assembly: &Assembly,
    tangle: &'a Tangle,
    is_pinched: impl Fn(VertexId) -> bool,
    excused: Excused,
) -> Cow<'a, Tangle> {
    let topology = assembly.topology();
    let is_of_body = |triangle: TriangleId| !assembly.is_cloth(topology.triangle(triangle)[0]);
    let is_treated = |tangled: &TangledContour| {
        let is_with_body = tangled.contour.segments[0].into_iter().any(is_of_body);
        if is_with_body != (excused == Excused::WithBodies) {
            return true;
        }
        let crossing = tangled.contour.segments.iter().flatten().flat_map(|&triangle| topology.triangle(triangle));
        let cut_off = tangled.regions.cuts.iter().flat_map(|cut| cut.smaller_by_count.iter().copied());
        !crossing.chain(cut_off).any(&is_pinched)
    };
    if tangle.contours.iter().all(is_treated) {
        return Cow::Borrowed(tangle);
    }
    let contours: Vec<TangledContour> = tangle.contours.iter().filter(|&it| is_treated(it)).cloned().collect();
    let colours = colour(topology, &contours);
    Cow::Owned(Tangle { contours, colours })
}

/// The triangles on one side of a contour: what it cuts off there, and what it runs through.
fn side(topology: &Topology, tangled: &TangledContour, trace: Trace) -> Vec<TriangleId> {
    let region = cut_off_by(tangled, trace).or_else(|| cut_off_by_both(tangled)).unwrap_or(&[]);
    let mut triangles = triangles_at(topology, region);
    triangles.extend(crossing_triangles(tangled, trace));
    triangles.sort_unstable();
    triangles.dedup();
    triangles
}

/// Other parts of the bodies may be this much nearer than the surfaces between which a vertex is.
const MUCH_NEARER: f64 = 2.0;

/// A vertex between two surfaces.
struct Caught {
    vertex: VertexId,
    /// Where it is at the moment looked at.
    place: DVec3,
    triangles: [TriangleId; 2],
    /// To the nearer and to the farther of the two, metres.
    distances: [f64; 2],
}

/// Looks for pinched vertices at one moment.
struct Search<'a> {
    meshes: &'a BodyMeshes,
    /// The bodies where the step begins, with the cloth, and at the moment looked at.
    bodies: [&'a [DVec3]; 2],
    cloth: &'a [DVec3],
    settings: &'a PinchSettings,
}

impl Search<'_> {
    /// Vertices and places that hold them; `tangle` is the bodies' own at the moment.
    fn held(&self, tangle: &Tangle) -> Vec<(VertexId, TriangleId)> {
        let topology = self.meshes.topology();
        let mut held: Vec<Caught> = Vec::new();
        for tangled in &tangle.contours {
            let sides = Trace::BOTH.map(|trace| side(topology, tangled, trace));
            held.extend(self.held_by([&sides[0], &sides[1]], self.settings.depth));
        }
        self.retain_between(&mut held);
        let parts = self.meshes.assembly.parts();
        let triangles =
            |part: usize| -> Vec<TriangleId> { parts[part].triangles.clone().map(TriangleId::new).collect() };
        let own: Vec<Vec<TriangleId>> =
            if parts.len() > 1 { (0..parts.len()).map(triangles).collect() } else { vec![] };
        for second in 1..own.len() {
            for first in 0..second {
                held.extend(self.held_by([&own[first], &own[second]], self.settings.reach));
            }
        }
        held.iter().flat_map(|caught| caught.triangles.map(|triangle| (caught.vertex, triangle))).collect()
    }

    /// Keeps what is within reach of both surfaces, or in the bodies with one of the two about as near as any other.
    fn retain_between(&self, held: &mut Vec<Caught>) {
        if held.iter().all(|caught| caught.distances[1] <= self.settings.reach) {
            return;
        }
        let (topology, now, reach) = (self.meshes.topology(), self.bodies[1], self.settings.reach);
        // The nearest of all triangles is no farther than the nearer of the two that hold a vertex.
        let farthest = held.iter().map(|caught| caught.distances[0]).fold(0.0, f64::max);
        let places = Aabb::of_points(held.iter().map(|caught| caught.place)).inflated(farthest * (1.0 + 1e-9) + reach);
        let may_be_nearest = |triangle: &TriangleId| triangle_box(topology, now, triangle.index()).overlaps(&places);
        let around: Vec<TriangleId> =
            (0..topology.triangle_count()).map(TriangleId::new).filter(may_be_nearest).collect();
        let Some(nearest) = NearestTriangle::among(topology, now, &around) else { return };
        let is_between = |caught: &Caught| {
            let [near, far] = caught.distances;
            let Some(found) = nearest.to(caught.place, near) else { return false };
            let distance = found.offset.length();
            let is_inside = || distance <= reach || found.offset.dot(normal_at(topology, now, &found)) < 0.0;
            far <= reach || (near <= MUCH_NEARER * distance + reach && is_inside())
        };
        let keep: Vec<bool> = held.par_iter().map(is_between).collect();
        let mut keep = keep.into_iter();
        held.retain(|_| keep.next().unwrap_or(false));
    }

    /// The vertices that two sets of triangles hold between them, with the two triangles nearest to each.
    fn held_by(&self, sides: [&[TriangleId]; 2], depth: f64) -> Vec<Caught> {
        let (topology, [start, now]) = (self.meshes.topology(), self.bodies);
        let settings = self.settings;
        let moves = start != now;
        let margin = depth.max(settings.reach);
        let reached = |side: &[TriangleId]| {
            let at_start = bounds(topology, start, side);
            let both = if moves { at_start.union(bounds(topology, now, side)) } else { at_start };
            both.inflated(margin)
        };
        let [mine, theirs] = sides.map(reached);
        let cloth = self.cloth;
        let near_both: Vec<usize> =
            (0..cloth.len()).filter(|&at| mine.contains(cloth[at]) && theirs.contains(cloth[at])).collect();
        if near_both.is_empty() {
            return Vec::new();
        }
        let nearest = |bodies| sides.map(|side| NearestTriangle::among(topology, bodies, side));
        let [Some(first), Some(second)] = nearest(now) else { return Vec::new() };
        let carriers = if moves { nearest(start) } else { [None, None] };
        let place = |point: DVec3| {
            let near = carriers.iter().flatten().filter_map(|side| side.to(point, settings.reach));
            let near = near.min_by(|a, b| a.offset.length_squared().total_cmp(&b.offset.length_squared()));
            near.map_or(point, |near| point + carried_by(topology, [start, now], near.triangle, point))
        };
        let normal = |triangle: TriangleId| normal(topology, now, triangle);
        let holds = |found: &NearestPoint| {
            let height = found.offset.dot(normal(found.triangle));
            let distance = found.offset.length();
            distance <= settings.reach || (height <= -BEHIND * distance && distance <= depth)
        };
        let held: Vec<Option<Caught>> = near_both
            .par_iter()
            .map(|&at| {
                let (vertex, place) = (VertexId::new(at), place(cloth[at]));
                let near = first.to(place, settings.reach).filter(holds)?;
                let direction = normal(near.triangle);
                let faces = |triangle: TriangleId| normal(triangle).dot(direction) < settings.facing;
                let other = second.to_any_of(place, settings.reach, faces).filter(holds)?;
                let (a, b) = (near.offset.length(), other.offset.length());
                let (triangles, distances) = ([near.triangle, other.triangle], [a.min(b), a.max(b)]);
                Some(Caught { vertex, place, triangles, distances })
            })
            .collect();
        held.into_iter().flatten().collect()
    }
}

/// What of a body lies within a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cover {
    /// Nothing of it.
    #[default]
    Open,
    /// A corner of a triangle that crosses a body.
    AtEdge,
    /// Cut off by such triangles.
    Within,
}

/// The vertices of bodies that lie within bodies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Covered {
    of_vertices: Vec<Cover>,
}

/// More than this share of the bodies' vertices is not taken for a part within: it may be a limb that goes in and out again.
const LARGEST_COVERED: f64 = 0.1;

impl Covered {
    /// By the bodies' own tangles, at one or several moments.
    pub fn new<'a>(meshes: &BodyMeshes, tangles: impl IntoIterator<Item = &'a Tangle>) -> Self {
        let topology = meshes.topology();
        let count = topology.vertex_count();
        let mut covered = Self::default();
        let mut cover = |vertex: VertexId, cover: Cover| {
            covered.of_vertices.resize(count, Cover::Open);
            let place = &mut covered.of_vertices[vertex.index()];
            *place = cover.max(*place);
        };
        for tangled in tangles.into_iter().flat_map(|tangle| &tangle.contours) {
            let crossing = tangled.contour.segments.iter().flatten();
            crossing.flat_map(|&triangle| topology.triangle(triangle)).for_each(|vertex| cover(vertex, Cover::AtEdge));
            let cut =
                Trace::BOTH.into_iter().filter_map(|trace| cut_off_by(tangled, trace)).chain(cut_off_by_both(tangled));
            let small = cut.filter(|region| (region.len() as f64) < LARGEST_COVERED * count as f64);
            small.flatten().for_each(|&vertex| cover(vertex, Cover::Within));
        }
        covered
    }

    fn of(&self, body_vertex: usize) -> Cover {
        self.of_vertices.get(body_vertex).copied().unwrap_or_default()
    }
}

/// Rules under which elements around pinched vertices pass through bodies and through each other; all else is as another set of
/// rules says.
pub struct PinchRules<'a> {
    rules: &'a dyn PairRules,
    topology: &'a Topology,
    /// Vertices from here on belong to bodies.
    cloth_count: usize,
    is_pinched: Vec<bool>,
    covered: Covered,
}

impl<'a> PinchRules<'a> {
    /// `topology` is that of all cloth, then all bodies; `pinched` are vertices of cloth.
    pub fn new(
        rules: &'a dyn PairRules,
        topology: &'a Topology,
        cloth_count: usize,
        pinched: &[VertexId],
        covered: Covered,
    ) -> Self {
        let mut is_pinched = vec![false; if pinched.is_empty() { 0 } else { cloth_count }];
        pinched.iter().for_each(|vertex| is_pinched[vertex.index()] = true);
        Self { rules, topology, cloth_count, is_pinched, covered }
    }

    fn cover(&self, vertex: VertexId) -> Option<Cover> {
        vertex.index().checked_sub(self.cloth_count).map(|at| self.covered.of(at))
    }

    /// Whether a body's element is too far within a body to keep a vertex, an edge or a triangle of cloth out. Vertices are kept out
    /// longest: those that cannot be are pinched.
    fn is_within(&self, pair: ElementPair) -> bool {
        let reaches = |vertex: VertexId, least: Cover| self.cover(vertex).is_some_and(|cover| cover >= least);
        match pair {
            ElementPair::VertexTriangle(vertex, triangle) => {
                let corners = self.topology.triangle(triangle);
                reaches(vertex, Cover::AtEdge) || corners.into_iter().all(|corner| reaches(corner, Cover::Within))
            }
            ElementPair::EdgeEdge(first, second) => [first, second].into_iter().any(|edge| {
                let ends = self.topology.edge(edge);
                ends.into_iter().all(|end| reaches(end, Cover::AtEdge))
            }),
        }
    }

    fn passes(&self, first: &[VertexId], second: &[VertexId]) -> bool {
        let is_pinched = |vertex: &VertexId| self.is_pinched.get(vertex.index()).copied().unwrap_or(false);
        let is_of_body = |element: &[VertexId]| element[0].index() >= self.cloth_count;
        let [ours, theirs] = [first, second].map(|element| element.iter().any(is_pinched));
        (ours && (theirs || is_of_body(second))) || (theirs && is_of_body(first))
    }
}

impl PairRules for PinchRules<'_> {
    fn rule(&self, pair: ElementPair) -> Rule {
        let passes = || match pair {
            ElementPair::VertexTriangle(vertex, triangle) => self.passes(&[vertex], &self.topology.triangle(triangle)),
            ElementPair::EdgeEdge(first, second) => {
                self.passes(&self.topology.edge(first), &self.topology.edge(second))
            }
        };
        let is_within = || !self.covered.of_vertices.is_empty() && self.is_within(pair);
        if is_within() || (!self.is_pinched.is_empty() && passes()) { Rule::MayCross } else { self.rules.rule(pair) }
    }

    fn largest_separation(&self) -> f64 {
        self.rules.largest_separation()
    }
}

fn bounds(topology: &Topology, positions: &[DVec3], triangles: &[TriangleId]) -> Aabb {
    let corners = triangles.iter().flat_map(|&triangle| topology.triangle(triangle));
    Aabb::of_points(corners.map(|corner| positions[corner.index()]))
}

/// The normal at a point of a surface: of its face, or the mean of the faces at its edge or corner, by their angles there.
fn normal_at(topology: &Topology, positions: &[DVec3], found: &NearestPoint) -> DVec3 {
    const NONE: f64 = 1e-9;
    let corners = topology.triangle(found.triangle);
    let inside: Vec<VertexId> = (0..3).filter(|&k| found.barycentric[k] > NONE).map(|k| corners[k]).collect();
    let face = |triangle: &TriangleId| normal(topology, positions, *triangle);
    match inside[..] {
        [vertex] => {
            topology.vertex_triangles(vertex).iter().map(|t| face(t) * angle_at(topology, positions, *t, vertex)).sum()
        }
        [a, b] => match topology.find_edge(a, b) {
            Some(edge) => topology.edge_triangles(edge).iter().map(face).sum(),
            None => face(&found.triangle),
        },
        _ => face(&found.triangle),
    }
}

/// The angle of a triangle at one of its corners, radians.
fn angle_at(topology: &Topology, positions: &[DVec3], triangle: TriangleId, corner: VertexId) -> f64 {
    let here = positions[corner.index()];
    let others = topology.triangle(triangle).into_iter().filter(|&other| other != corner);
    let mut arms = others.map(|other| (positions[other.index()] - here).normalize_or_zero());
    let (first, second) = (arms.next().unwrap_or_default(), arms.next().unwrap_or_default());
    first.dot(second).clamp(-1.0, 1.0).acos()
}

fn normal(topology: &Topology, positions: &[DVec3], triangle: TriangleId) -> DVec3 {
    let [a, b, c] = topology.triangle(triangle).map(|corner| positions[corner.index()]);
    (b - a).cross(c - a).normalize_or_zero()
}
