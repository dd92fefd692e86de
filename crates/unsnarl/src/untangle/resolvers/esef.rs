//! Edge shortening with epsilon finessing: rest shapes that pull red vertices back through the cloth they crossed.
//!
//! Every step, red* triangles shrink toward their green corner and outermost red vertices are pulled toward a green
//! neighbour, each by the factor `gamma`; what is no longer needed is given back by `1 / gamma`. Only rest shapes change:
//! dynamics moves the cloth, and contact lets red pass through red and holds the rest apart. (Cha 2022, chapter 4,
//! Algorithm 2)
//!
//! Where nothing can be pulled because every fan is dented, one fan is made convex first. (appendix C)
//!
//! Departs: red* triangles in whose green corner an LL ends shrink only where nothing else can be done, and those of a BLI never.
//! The source argues that contact keeps contours away from that corner, which does not hold for one that begins in it.
//!
//! Guarantees: no two pulls share a triangle unless they belong to one shrinkage, so no rest triangle is turned over; the
//! order is that of the indices.
//! Does not: act on BLI, which leaves no side to pull to.

use crate::analysis::Colours;
use crate::model::Model;
use crate::rest_shape::RestShape;
use crate::untangle::resolvers::convex::dents;
use crate::untangle::resolvers::fan::{Fan, corner_of};
use crate::untangle::resolvers::tally::Tally;
use rustc_hash::FxHashMap;
use unsnarl_geometry::math::DVec2;
use unsnarl_geometry::{EdgeId, TriangleId, VertexId};

/// A pull under way: one vertex, or the two of a shrinking red* triangle, toward a target.
#[derive(Clone, Debug, PartialEq)]
pub struct Pull {
    /// The vertices that are pulled: one or two.
    pub subjects: Vec<VertexId>,
    /// The vertex that they are pulled to.
    pub target: VertexId,
    /// What is left of the distance, 1 down to nearly 0.
    pub remaining: f64,
}

/// How edges are shortened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EsefSettings {
    /// What one step of 0.02 s leaves of a pulled edge. Smaller: faster, less stable.
    pub gamma: f64,
    /// Shortest rest length of a pulled edge, as a share of its own. A pull that reaches it is hindered.
    pub shortest: f64,
}

impl Default for EsefSettings {
    fn default() -> Self {
        Self { gamma: 0.8, shortest: 0.01 }
    }
}

/// What an update did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EsefReport {
    /// Pulls begun or gone on with.
    pub pulling: usize,
    /// Pulls being given back.
    pub restoring: usize,
    /// Red vertices and red* triangles whose fan passes no inversion test.
    pub blocked: usize,
    /// Pulls that have reached the shortest length and still are red.
    pub hindered: usize,
    /// Fans made convex because none passed the inversion test.
    pub convexified: usize,
}

/// Goes on with pulls, begins new ones and gives back old ones, for the colours of this step.
///
/// The colours may go beyond the model: elements after its own belong to bodies and are never pulled.
pub fn update(
    model: &Model,
    pulls: &mut Vec<Pull>,
    colours: &Colours,
    step: f64,
    settings: &EsefSettings,
) -> EsefReport {
    update_counting(model, pulls, colours, (step, settings), &mut Tally::default())
}

/// As [`update`], and counts what becomes of each pull.
pub fn update_counting(
    model: &Model,
    pulls: &mut Vec<Pull>,
    colours: &Colours,
    (step, settings): (f64, &EsefSettings),
    tally: &mut Tally,
) -> EsefReport {
    let gamma = settings.gamma.powf(step / 0.02);
    let mut work = Update {
        model,
        colours,
        pull_of: FxHashMap::default(),
        wanted: vec![false; pulls.len()],
        report: EsefReport::default(),
    };
    for (index, pull) in pulls.iter().enumerate() {
        work.occupy(pull, index);
    }
    let is_cloth = |triangle: TriangleId| triangle.index() < model.topology.triangle_count();
    // A contour that ends in the target of a shrinkage stays in the triangle however small that becomes.
    let ends_in_target = |corners: &[(TriangleId, VertexId)], &(triangle, edge): &(TriangleId, EdgeId)| {
        corners.binary_search(&(triangle, model.topology.opposite_vertex(triangle, edge))).is_ok()
    };
    let shrinkages = colours.red_star_triangles.iter().filter(|(triangle, _)| is_cloth(*triangle));
    let shrinkages = shrinkages.filter(|shrinkage| !ends_in_target(&colours.bli_corners, shrinkage));
    let (vain, promising): (Vec<_>, Vec<_>) =
        shrinkages.partition(|shrinkage| ends_in_target(&colours.ll_corners, shrinkage));
    for &(triangle, edge) in promising {
        work.shrink(pulls, triangle, edge);
    }
    for &vertex in &colours.outermost_red_vertices {
        work.pull(pulls, vertex);
    }
    if !work.wanted.contains(&true) {
        for &(triangle, edge) in vain {
            work.shrink(pulls, triangle, edge);
        }
    }
    if !work.wanted.contains(&true) && work.report.blocked > 0 {
        work.make_one_convex(pulls);
    }
    let Update { wanted, mut report, .. } = work;
    for (pull, wanted) in pulls.iter_mut().zip(wanted) {
        if wanted {
            tally.pulled(pull);
            report.pulling += 1;
            report.hindered += usize::from(pull.remaining <= settings.shortest);
            pull.remaining = (pull.remaining * gamma).max(settings.shortest);
        } else {
            tally.let_go(pull);
            report.restoring += 1;
            pull.remaining = (pull.remaining / gamma).min(1.0);
        }
    }
    pulls.retain(|pull| pull.remaining < 1.0);
    report
}

struct Update<'a> {
    model: &'a Model,
    colours: &'a Colours,
    pull_of: FxHashMap<VertexId, usize>,
    wanted: Vec<bool>,
    report: EsefReport,
}

impl Update<'_> {
    /// A red* triangle: its red edge is pulled to its third corner.
    fn shrink(&mut self, pulls: &mut Vec<Pull>, triangle: TriangleId, edge: EdgeId) {
        let topology = &self.model.topology;
        let (subjects, target) = (topology.edge(edge), topology.opposite_vertex(triangle, edge));
        if let Some(&index) = self.pull_of.get(&subjects[0]) {
            if pulls[index].subjects == subjects && pulls[index].target == target {
                self.wanted[index] = true;
            }
            return;
        }
        let around = subjects.iter().flat_map(|&subject| topology.ring(subject));
        let moved = around.chain(subjects).any(|vertex| self.pull_of.contains_key(&vertex));
        if moved || self.is_pinned(&subjects) {
            return;
        }
        if !passes_inversion_test(self.model, &subjects, target) {
            self.report.blocked += 1;
            return;
        }
        self.begin(pulls, subjects.to_vec(), target);
    }

    /// An outermost red vertex: it is pulled to the nearest green neighbour that turns no triangle over.
    fn pull(&mut self, pulls: &mut Vec<Pull>, subject: VertexId) {
        let is_green = |vertex: VertexId| self.colours.red_vertices.binary_search(&vertex).is_err();
        if let Some(&index) = self.pull_of.get(&subject) {
            if pulls[index].subjects == [subject] && is_green(pulls[index].target) {
                self.wanted[index] = true;
            }
            return;
        }
        let topology = &self.model.topology;
        if topology.ring(subject).any(|vertex| self.pull_of.contains_key(&vertex)) || self.is_pinned(&[subject]) {
            return;
        }
        let mut targets: Vec<(f64, VertexId)> = topology
            .ring(subject)
            .filter(|&vertex| is_green(vertex))
            .map(|vertex| (rest_distance(self.model, subject, vertex), vertex))
            .collect();
        targets.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        match targets.into_iter().find(|&(_, target)| passes_inversion_test(self.model, &[subject], target)) {
            Some((_, target)) => self.begin(pulls, vec![subject], target),
            None => self.report.blocked += 1,
        }
    }

    /// No fan passes: the first outermost red vertex whose fan can be made convex is pulled in it.
    fn make_one_convex(&mut self, pulls: &mut Vec<Pull>) {
        let is_green = |vertex: VertexId| self.colours.red_vertices.binary_search(&vertex).is_err();
        let topology = &self.model.topology;
        for &subject in &self.colours.outermost_red_vertices {
            if subject.index() >= topology.vertex_count() || self.is_pinned(&[subject]) {
                continue;
            }
            let outs = dents(self.model, subject);
            let around = outs.iter().map(|(vertex, _)| *vertex).chain([subject]).flat_map(|at| topology.ring(at));
            if outs.is_empty() || around.chain([subject]).any(|vertex| self.pull_of.contains_key(&vertex)) {
                continue;
            }
            let passes = |target: &VertexId| {
                let pull = Pull { subjects: vec![subject], target: *target, remaining: 0.0 };
                keeps_upright(self.model, &pull, &dents_of(self.model, &[subject], *target))
            };
            if let Some(target) = topology.ring(subject).filter(|&vertex| is_green(vertex)).find(passes) {
                self.report.convexified += 1;
                return self.begin(pulls, vec![subject], target);
            }
        }
    }

    fn begin(&mut self, pulls: &mut Vec<Pull>, subjects: Vec<VertexId>, target: VertexId) {
        let pull = Pull { subjects, target, remaining: 1.0 };
        self.occupy(&pull, pulls.len());
        pulls.push(pull);
        self.wanted.push(true);
    }

    /// Notes which vertices a pull moves.
    fn occupy(&mut self, pull: &Pull, index: usize) {
        let dents = dents_of(self.model, &pull.subjects, pull.target);
        for vertex in pull.subjects.iter().copied().chain(dents.into_iter().map(|(vertex, _)| vertex)) {
            self.pull_of.insert(vertex, index);
        }
    }

    fn is_pinned(&self, vertices: &[VertexId]) -> bool {
        vertices.iter().any(|vertex| self.model.pins.binary_search(vertex).is_ok())
    }
}

fn rest_distance(model: &Model, a: VertexId, b: VertexId) -> f64 {
    let Some(edge) = model.topology.find_edge(a, b) else { return f64::INFINITY };
    let triangle = model.topology.edge_triangles(edge)[0];
    let corner = |vertex| corner_of(&model.topology, triangle, vertex);
    model.rest_shapes[triangle.index()].side(corner(a), corner(b)).length()
}

/// Whether no triangle around the subjects turns over when they come all the way to the target.
pub fn passes_inversion_test(model: &Model, subjects: &[VertexId], target: VertexId) -> bool {
    keeps_upright(model, &Pull { subjects: subjects.to_vec(), target, remaining: 0.0 }, &[])
}

/// The neighbours that go out of the way of a pull: none where it passes the inversion test without.
fn dents_of(model: &Model, subjects: &[VertexId], target: VertexId) -> Vec<(VertexId, f64)> {
    match subjects {
        &[subject] => {
            let mut dents = dents(model, subject);
            if !dents.is_empty() && passes_inversion_test(model, subjects, target) {
                dents.clear();
            }
            dents
        }
        _ => Vec::new(),
    }
}

/// Whether no triangle turns over under a pull, with neighbours out of its way.
fn keeps_upright(model: &Model, pull: &Pull, dents: &[(VertexId, f64)]) -> bool {
    let joined = |vertex: &VertexId| *vertex == pull.target || pull.subjects.contains(vertex);
    let Some(shapes) = pulled_shapes(model, pull, dents) else { return false };
    shapes.iter().all(|(triangle, shape)| {
        let collapses = model.topology.triangle(*triangle).iter().filter(|corner| joined(corner)).count() > 1;
        let before = &model.rest_shapes[triangle.index()];
        collapses || signed_area(shape) * signed_area(before).signum() > 1e-6 * before.area()
    })
}

fn signed_area(shape: &RestShape) -> f64 {
    0.5 * shape.sides[0].perp_dot(shape.sides[1])
}

/// The rest shapes that the pulls leave.
pub fn rest_shapes(model: &Model, pulls: &[Pull]) -> Vec<RestShape> {
    let mut shapes = model.rest_shapes.clone();
    for pull in pulls {
        let dents = dents_of(model, &pull.subjects, pull.target);
        for (triangle, shape) in pulled_shapes(model, pull, &dents).into_iter().flatten() {
            shapes[triangle.index()] = shape;
        }
    }
    shapes
}

/// The rest shapes that one pull changes, with neighbours out of its way; `None` where a subject has no fan or no edge to
/// the target.
fn pulled_shapes(model: &Model, pull: &Pull, dents: &[(VertexId, f64)]) -> Option<Vec<(TriangleId, RestShape)>> {
    let (topology, rest) = (&model.topology, model.rest_shapes.as_slice());
    let pulled = 1.0 - pull.remaining;
    // Dents are out before the pull is half way, and come back with it.
    let out = (2.0 * pulled).min(1.0);
    let subjects = pull.subjects.iter().map(|&subject| (subject, pull.target, pulled));
    let moves = subjects.chain(dents.iter().map(|&(dent, share)| (dent, pull.subjects[0], -share * out)));
    let mut corners: FxHashMap<TriangleId, [DVec2; 3]> = FxHashMap::default();
    let mut order = Vec::new();
    for (vertex, toward, share) in moves {
        let fan = Fan::around(topology, rest, vertex)?;
        let target = fan.spokes.iter().position(|&spoke| spoke == toward)?;
        for (index, &triangle) in fan.triangles.iter().enumerate() {
            let places = corners.entry(triangle).or_insert_with(|| {
                order.push(triangle);
                [DVec2::ZERO, rest[triangle.index()].sides[0], rest[triangle.index()].sides[1]]
            });
            let corner = corner_of(topology, triangle, vertex);
            places[corner] += fan.step_toward(topology, rest, index, target, share);
        }
    }
    Some(order.into_iter().map(|triangle| (triangle, RestShape::from_panel(corners[&triangle]))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Cloth, Rest};
    use unsnarl_geometry::{DVec3, TriMesh, UvMap};

    /// A fan of triangles around vertex 0 with its ring at the given panel points.
    fn fan_model(ring: &[DVec2]) -> Model {
        let count = ring.len() as u32;
        let panel: Vec<DVec2> = std::iter::once(DVec2::ZERO).chain(ring.iter().copied()).collect();
        let triangles: Vec<[u32; 3]> = (0..count).map(|at| [0, at + 1, (at + 1) % count + 1]).collect();
        let positions = panel.iter().map(|point| DVec3::new(point.x, point.y, 0.0)).collect();
        let mut cloth = Cloth::new("fan", TriMesh { positions, triangles: triangles.clone() });
        cloth.rest = Rest::Panels(UvMap { coordinates: panel, triangles });
        Model::build(&[cloth]).unwrap().0
    }

    fn hexagon() -> Vec<DVec2> {
        (0..6)
            .map(|at| DVec2::from_angle(f64::from(at) * std::f64::consts::TAU / 6.0) * (1.0 + 0.1 * f64::from(at)))
            .collect()
    }

    #[test]
    fn on_a_flat_fan_a_pull_is_the_planar_rule() {
        let ring = hexagon();
        let model = fan_model(&ring);
        for target in 1..=6u32 {
            let pull = Pull { subjects: vec![VertexId(0)], target: VertexId(target), remaining: 0.3 };
            let shapes = rest_shapes(&model, &[pull]);
            let moved = ring[target as usize - 1] * 0.7;
            for (at, shape) in shapes.iter().enumerate() {
                let expected = RestShape::from_panel([moved, ring[at], ring[(at + 1) % 6]]);
                for (found, wanted) in shape.lengths().iter().zip(expected.lengths()) {
                    assert!((found - wanted).abs() < 1e-12, "triangle {at} to {target}: {found} instead of {wanted}");
                }
            }
        }
    }

    #[test]
    fn a_concave_fan_has_targets_that_turn_a_triangle_over() {
        let mut ring = hexagon();
        ring[0] *= 0.2;
        let model = fan_model(&ring);
        assert!(passes_inversion_test(&model, &[VertexId(0)], VertexId(1)));
        assert!(!passes_inversion_test(&model, &[VertexId(0)], VertexId(2)), "vertex 1 dents the way to vertex 2");
    }

    /// The middle of a fan alone is red.
    fn red_center() -> Colours {
        let center = vec![VertexId(0)];
        Colours { red_vertices: center.clone(), outermost_red_vertices: center, ..Colours::default() }
    }

    #[test]
    fn pulls_shorten_by_gamma_and_are_given_back() {
        let model = fan_model(&hexagon());
        let red = red_center();
        let mut pulls = Vec::new();
        let settings = EsefSettings::default();
        for _ in 0..3 {
            update(&model, &mut pulls, &red, 0.02, &settings);
        }
        assert_eq!(pulls.len(), 1);
        assert_eq!(pulls[0].target, VertexId(1), "the nearest green neighbour");
        assert!((pulls[0].remaining - 0.8f64.powi(3)).abs() < 1e-12);
        for _ in 0..4 {
            update(&model, &mut pulls, &Colours::default(), 0.02, &settings);
        }
        assert!(pulls.is_empty());
        assert_eq!(rest_shapes(&model, &pulls), model.rest_shapes);
    }

    /// A star of five points: no neighbour can be reached without turning a triangle over. (Cha 2022, figure C.1)
    fn star() -> Vec<DVec2> {
        let radius = |at: u32| if at.is_multiple_of(2) { 1.0 } else { 0.3 };
        (0..10).map(|at| DVec2::from_angle(f64::from(at) * std::f64::consts::TAU / 10.0) * radius(at)).collect()
    }

    #[test]
    fn where_no_fan_passes_one_is_made_convex_and_given_back() {
        let model = fan_model(&star());
        assert!((1..=10).all(|target| !passes_inversion_test(&model, &[VertexId(0)], VertexId(target))));
        let (mut pulls, settings) = (Vec::new(), EsefSettings::default());
        for step in 0..25 {
            let report = update(&model, &mut pulls, &red_center(), 0.02, &settings);
            assert_eq!((report.convexified, report.pulling), (usize::from(step == 0), 1));
            for (shape, before) in rest_shapes(&model, &pulls).iter().zip(&model.rest_shapes) {
                assert!(signed_area(shape) * signed_area(before) > 0.0, "step {step}");
            }
        }
        assert!((pulls[0].remaining - settings.shortest).abs() < 1e-12);
        for _ in 0..25 {
            update(&model, &mut pulls, &Colours::default(), 0.02, &settings);
        }
        assert_eq!(rest_shapes(&model, &pulls), model.rest_shapes);
    }

    /// Two red* triangles share their red edge; a contour ends in the corner opposite to it of the first. (An LL of three
    /// segments, whose first triangle could shrink for ever.)
    #[test]
    fn a_triangle_with_a_contour_up_to_its_green_corner_shrinks_only_where_nothing_else_can() {
        let model = fan_model(&hexagon());
        let edge = model.topology.find_edge(VertexId(0), VertexId(1)).unwrap();
        let stars: Vec<(TriangleId, EdgeId)> =
            model.topology.edge_triangles(edge).iter().map(|&triangle| (triangle, edge)).collect();
        let corner = |at: usize| model.topology.opposite_vertex(stars[at].0, edge);
        let colours = Colours {
            red_star_triangles: stars.clone(),
            ll_corners: vec![(stars[0].0, corner(0))],
            ..Colours::default()
        };
        let mut pulls = Vec::new();
        update(&model, &mut pulls, &colours, 0.02, &EsefSettings::default());
        assert_eq!(pulls.iter().map(|pull| pull.target).collect::<Vec<_>>(), [corner(1)]);
        let colours = Colours { red_star_triangles: stars[..1].to_vec(), ..colours };
        let mut pulls = Vec::new();
        update(&model, &mut pulls, &colours, 0.02, &EsefSettings::default());
        assert_eq!(pulls.iter().map(|pull| pull.target).collect::<Vec<_>>(), [corner(0)]);
        let colours = Colours { bli_corners: colours.ll_corners.clone(), ..colours };
        let mut pulls = Vec::new();
        update(&model, &mut pulls, &colours, 0.02, &EsefSettings::default());
        assert!(pulls.is_empty(), "a BLI is not for edge shortening");
    }

    /// A row of hexagons, all of their middles red: pulls are begun in the order of indices, and none next to another.
    #[test]
    fn no_two_pulls_that_begin_share_a_triangle() {
        let size = 8u32;
        let at = |x: u32, y: u32| y * size + x;
        let points: Vec<DVec2> = (0..size * size)
            .map(|index| DVec2::new(f64::from(index % size) + 0.5 * f64::from(index / size), f64::from(index / size)))
            .collect();
        let cells = (0..size - 1).flat_map(|y| (0..size - 1).map(move |x| (x, y)));
        let halves = |(x, y): (u32, u32)| {
            [[at(x, y), at(x + 1, y), at(x, y + 1)], [at(x + 1, y), at(x + 1, y + 1), at(x, y + 1)]]
        };
        let triangles: Vec<[u32; 3]> = cells.flat_map(halves).collect();
        let positions = points.iter().map(|point| DVec3::new(point.x, point.y, 0.0)).collect();
        let (model, _) = Model::build(&[Cloth::new("grid", TriMesh { positions, triangles })]).unwrap();
        // Every second column is red.
        let red: Vec<VertexId> =
            (0..size * size).filter(|index| index % size % 2 == 1 && index % size < size - 1).map(VertexId).collect();
        let colours = Colours { red_vertices: red.clone(), outermost_red_vertices: red.clone(), ..Colours::default() };
        let mut pulls = Vec::new();
        for _ in 0..10 {
            update(&model, &mut pulls, &colours, 0.02, &EsefSettings::default());
            let mut owner = FxHashMap::default();
            for (index, pull) in pulls.iter().enumerate() {
                assert!(red.contains(&pull.subjects[0]) && !red.contains(&pull.target));
                for &triangle in model.topology.vertex_triangles(pull.subjects[0]) {
                    assert_eq!(*owner.entry(triangle).or_insert(index), index, "{triangle:?} has two pulls");
                }
            }
        }
        assert_eq!(pulls[0].subjects, [red[0]], "the first index comes first");
        assert!(pulls.len() > 4, "{}", pulls.len());
    }

    #[test]
    fn half_steps_shorten_as_much_as_one_step() {
        let model = fan_model(&hexagon());
        let red = red_center();
        let mut pulls = Vec::new();
        for _ in 0..2 {
            update(&model, &mut pulls, &red, 0.01, &EsefSettings::default());
        }
        assert!((pulls[0].remaining - 0.8).abs() < 1e-12);
    }
}
