//! Contours and overlaps made smaller inside an elastic solve, until nothing crosses.
//!
//! In each round every edge that passes through a triangle is pushed against it along the direction in which the
//! contour shortens fastest, `G = R - 2 (E . R) / (E . N) N` (see [`crate::untangle::resolvers::contour_gradient`]),
//! by a share of the local edge length: partly its own direction, partly the one that its whole contour agrees on.
//! Closed surfaces have
//! an inside, so their vertices are also pushed out of what they overlap ([`crate::untangle::rearrange::overlap`]):
//! that has a direction where contours are straight and their length says nothing. What the pushes ask for is the
//! constraint of
//! [`Sliding`]: strain is bounded in every round, and surroundings are carried along, so that strands and layers move
//! as wholes. Open contours that end within cloth (LL, BLI) are straight and have no pull there: around these loop
//! vertices open cloth is drawn flat, so that the pinch slides along the contour until it meets the other end. Nothing
//! blocks a contour on its way: there is no contact here. (Volino and Magnenat-Thalmann 2006, as
//! cited by Cha 2022, 2.1)
//!
//! Guarantees: only free vertices move; the result crosses in no more pairs than the start; the same bits on any number
//! of threads.
//! Does not: know the sides of open cloth. There a contour may shrink by going on as well as by going back.

use crate::analysis::contour::crossing_point;
use crate::analysis::{Assembly, Workspace};
use crate::untangle::rearrange::contour_links::{ContourLinks, crossing_key};
use crate::untangle::rearrange::overlap::{self, ClosedComponents};
use crate::untangle::rearrange::sliding::{Sliding, Ties};
use crate::untangle::rearrange::strain_bounds::StrainBounds;
use rayon::prelude::*;
use unsnarl_geometry::intersection::CrossingPair;
use unsnarl_geometry::{DVec3, EdgeId, Topology, TriangleId, VertexId};

/// How far a crossing pushes in a round, as a share of the local edge length.
const CONTOUR_PUSH: f64 = 0.2;
/// Where contours that end within cloth are left when it does not get on any more, it pushes so many times as far.
const HARDER: f64 = 2.0;
/// The share of the direction that all of a contour agrees on; the rest is each crossing's own.
const COMMON_SHARE: f64 = 0.7;
/// Directions well below this move cloth in proportion; longer ones by the whole push. A pull is at most 2 long.
const SOFT: f64 = 0.05;
/// How far a vertex is pushed out of what it overlaps in a round, likewise.
const OVERLAP_PUSH: f64 = 0.1;
/// What such a push weighs against those of crossings at the same vertex.
const OVERLAP_WEIGHT: f64 = 4.0;
/// How strongly neighbours are carried along.
const CARRYING: f64 = 0.05;
/// How strongly open cloth around loop vertices is drawn flat, beside its stiffness.
const FLATNESS: f64 = 3.0;
/// So many rings around them.
const FLAT_RINGS: usize = 4;
/// After as many rounds the shape of that moment is what is kept, so that cloth may turn as it moves.
const ROUNDS_PER_SHAPE: usize = 10;
/// After as many rounds only what is near a crossing moves on.
const ROUNDS_PER_PLACES: usize = 50;
/// So many rings around a crossing are near it.
const RINGS: usize = 12;
/// Without a tenth fewer pairs for as many rounds it ends.
const PATIENCE: usize = 150;
/// The normal part of a direction is at most this many times as long as its pull can be.
const STEEPEST: f64 = 4.0;
/// Edges that meet a plane at a smaller sine graze it.
const GRAZING: f64 = 1e-9;

/// What is minimised, and how far it may go.
pub struct ContourMinimisation<'a> {
    /// Cloth, then bodies.
    pub assembly: &'a Assembly,
    /// How far triangles may be stretched.
    pub bounds: &'a StrainBounds<'a>,
    /// Which vertices of cloth may move.
    pub free: &'a [bool],
    /// The size of the mesh at each vertex, metres.
    pub local_size: &'a [f64],
    /// Rounds at most.
    pub most_rounds: usize,
    /// Asked between rounds whether to stop.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Minimised {
    /// Where everything is: the state with the fewest crossing pairs.
    pub positions: Vec<DVec3>,
    /// How many pairs of triangles still cross there.
    pub pairs: usize,
    /// Rounds taken.
    pub rounds: usize,
}

/// An edge through a triangle, and the sum of the unit vectors along the contour away from there.
struct PulledCrossing {
    edge: EdgeId,
    triangle: TriangleId,
    pull: DVec3,
}

/// A vertex is to move, with a weight.
struct Wish {
    vertex: usize,
    weight: f64,
    way: DVec3,
}

impl ContourMinimisation<'_> {
    /// From positions of cloth and bodies. Where nothing can be solved for, nothing moves.
    pub fn run(&self, start: &[DVec3]) -> Minimised {
        let topology = self.assembly.topology();
        let closed = ClosedComponents::new(topology, self.free.len(), start);
        let mut sliding: Option<Sliding> = None;
        let (mut near, mut flatness, mut effort) = (Vec::new(), Vec::new(), 1.0);
        let mut memory = Workspace::default();
        let mut positions = start.to_vec();
        let mut best = Minimised { positions: start.to_vec(), pairs: usize::MAX, rounds: 0 };
        // Pairs when they last were a tenth fewer, and in which round.
        let mut mark = (usize::MAX >> 8, 0);
        for round in 0..=self.most_rounds {
            let pairs = memory.crossing_pairs_again(self.assembly, &positions);
            if pairs.len() < best.pairs {
                best = Minimised { positions: positions.clone(), pairs: pairs.len(), rounds: round };
            }
            if 10 * (pairs.len() as u64) < 9 * mark.0 as u64 {
                mark = (pairs.len(), round);
            }
            if round > mark.1 + PATIENCE && effort < HARDER && !flatness.is_empty() {
                (effort, mark) = (HARDER, (pairs.len(), round));
            }
            if pairs.is_empty() || round > mark.1 + PATIENCE || (self.stop)() {
                break;
            }
            if round % ROUNDS_PER_SHAPE == 0 {
                let before = std::mem::replace(&mut flatness, self.flatness(&pairs, &closed));
                let is_other = !(before.is_empty() && flatness.is_empty());
                if round % ROUNDS_PER_PLACES == 0 {
                    near = self.near(&pairs);
                }
                if is_other || round % ROUNDS_PER_PLACES == 0 {
                    let ties = Ties { carrying: CARRYING, flatness: &flatness };
                    sliding = Sliding::tied(topology, self.bounds, &near, ties, &positions);
                }
                sliding.iter_mut().for_each(|sliding| sliding.begin_again(&positions));
            }
            let Some(sliding) = &mut sliding else { break };
            let pushes = self.pushes(&pairs, &closed, (effort, &positions));
            sliding.round(self.bounds, &mut positions, &mut |places| {
                pushes.iter().for_each(|&(vertex, push)| places[vertex] += push);
            });
        }
        best
    }

    /// Which vertices are free and near something that crosses.
    fn near(&self, pairs: &[CrossingPair]) -> Vec<bool> {
        let topology = self.assembly.topology();
        let corners = pairs.iter().flat_map(|pair| [pair.0, pair.1]).flat_map(|triangle| topology.triangle(triangle));
        let near = within_rings(topology, corners.collect(), RINGS);
        self.free.iter().zip(&near).map(|(&free, &near)| free && near).collect()
    }

    /// How strongly each vertex of cloth is to be flat; empty where none is.
    fn flatness(&self, pairs: &[CrossingPair], closed: &ClosedComponents) -> Vec<f64> {
        let topology = self.assembly.topology();
        let ends: Vec<VertexId> =
            loop_vertices(topology, pairs).into_iter().filter(|&vertex| !closed.has(topology, vertex)).collect();
        if ends.is_empty() {
            return Vec::new();
        }
        let flat = within_rings(topology, ends, FLAT_RINGS);
        flat[..self.free.len()].iter().map(|&flat| if flat { FLATNESS } else { 0.0 }).collect()
    }

    /// How far vertices are pushed, metres.
    fn pushes(
        &self,
        pairs: &[CrossingPair],
        closed: &ClosedComponents,
        (effort, positions): (f64, &[DVec3]),
    ) -> Vec<(usize, DVec3)> {
        let crossings = self.pulled(pairs, positions);
        let own: Vec<DVec3> = crossings.par_iter().map(|crossing| self.direction(crossing, positions)).collect();
        let common = ContourLinks::new(self.assembly.topology(), pairs).common_directions(&own);
        let blend = |own: DVec3, common: DVec3| {
            effort * ((1.0 - COMMON_SHARE) * softened(own) + COMMON_SHARE * softened(common))
        };
        let of_contours: Vec<[Wish; 5]> = (crossings.par_iter().zip(own.par_iter().zip(&common)))
            .map(|(crossing, (own, common))| self.wishes(crossing, blend(*own, *common), positions))
            .collect();
        let mut wishes: Vec<Wish> = of_contours.into_iter().flatten().collect();
        wishes.extend(self.overlap_wishes(pairs, &crossings, closed, positions));
        wishes.retain(|wish| wish.weight > 0.0 && self.free.get(wish.vertex) == Some(&true));
        wishes.par_sort_by_key(|wish| wish.vertex);
        let mean = |group: &[Wish]| {
            let weight: f64 = group.iter().map(|wish| wish.weight).sum();
            (group[0].vertex, group.iter().map(|wish| wish.way * wish.weight).sum::<DVec3>() / weight)
        };
        wishes.chunk_by(|a, b| a.vertex == b.vertex).map(mean).collect()
    }

    /// The crossings with their pulls, in the order of edges and triangles.
    fn pulled(&self, pairs: &[CrossingPair], positions: &[DVec3]) -> Vec<PulledCrossing> {
        let mut halves: Vec<((EdgeId, TriangleId), DVec3)> = pairs
            .par_iter()
            .flat_map_iter(|pair| self.ends_of_segment(pair, positions).into_iter().flatten())
            .collect();
        halves.par_sort_by_key(|half| half.0);
        let join = |group: &[((EdgeId, TriangleId), DVec3)]| {
            let (edge, triangle) = group[0].0;
            PulledCrossing { edge, triangle, pull: group.iter().map(|half| half.1).sum() }
        };
        halves.chunk_by(|a, b| a.0 == b.0).map(join).collect()
    }

    /// The crossings at the ends of the segment in which two triangles meet, with the unit vectors from each to the
    /// other end.
    fn ends_of_segment(
        &self,
        (first, second, crossings): &CrossingPair,
        positions: &[DVec3],
    ) -> [Option<((EdgeId, TriangleId), DVec3)>; 2] {
        let topology = self.assembly.topology();
        let place = |(edge, triangle)| crossing_point(topology, positions, edge, triangle).1;
        let keys =
            crossings.map(|crossing| crossing.map(|crossing| crossing_key(topology, [*first, *second], crossing)));
        match keys {
            [Some(from), Some(to)] => {
                let direction = (place(to) - place(from)).normalize_or_zero();
                [Some((from, direction)), Some((to, -direction))]
            }
            [Some(one), None] | [None, Some(one)] => {
                let shared = shared_vertex(topology.triangle(*first), topology.triangle(*second));
                let way = shared.map(|vertex| (positions[vertex.index()] - place(one)).normalize_or_zero());
                [way.map(|way| (one, way)), None]
            }
            [None, None] => [None, None],
        }
    }

    /// The way of a crossing's edge against its triangle along which the contour shortens fastest.
    fn direction(&self, crossing: &PulledCrossing, positions: &[DVec3]) -> DVec3 {
        let topology = self.assembly.topology();
        let [a, b, c] = topology.triangle(crossing.triangle).map(|corner| positions[corner.index()]);
        let [from, to] = topology.edge(crossing.edge).map(|end| positions[end.index()]);
        let (normal, edge) = ((b - a).cross(c - a).normalize_or_zero(), to - from);
        let across = edge.dot(normal);
        let slope = if across.abs() > GRAZING * edge.length() { edge.dot(crossing.pull) / across } else { 0.0 };
        crossing.pull - normal * (2.0 * slope.clamp(-STEEPEST, STEEPEST))
    }

    /// What a crossing asks of its five vertices.
    fn wishes(&self, crossing: &PulledCrossing, direction: DVec3, positions: &[DVec3]) -> [Wish; 5] {
        let topology = self.assembly.topology();
        let (ends, corners) = (topology.edge(crossing.edge), topology.triangle(crossing.triangle));
        let [a, b, c] = corners.map(|corner| positions[corner.index()]);
        let full = (b - a).cross(c - a);
        let (along, place) = crossing_point(topology, positions, crossing.edge, crossing.triangle);
        let size = ends.iter().chain(&corners).map(|vertex| self.local_size[vertex.index()]).fold(0.0, f64::max);
        let push = direction * (CONTOUR_PUSH * size);
        let area = full.length_squared().max(f64::MIN_POSITIVE);
        let share = |p: DVec3, q: DVec3| ((p - place).cross(q - place).dot(full) / area).clamp(0.0, 1.0);
        let wish = |vertex: VertexId, weight: f64, way: DVec3| Wish { vertex: vertex.index(), weight, way };
        [
            wish(ends[0], 1.0 - along, push),
            wish(ends[1], along, push),
            wish(corners[0], share(b, c), -push),
            wish(corners[1], share(c, a), -push),
            wish(corners[2], share(a, b), -push),
        ]
    }

    /// Vertices of closed surfaces go out of what they overlap.
    fn overlap_wishes(
        &self,
        pairs: &[CrossingPair],
        crossings: &[PulledCrossing],
        closed: &ClosedComponents,
        positions: &[DVec3],
    ) -> Vec<Wish> {
        if closed.is_empty() {
            return Vec::new();
        }
        let topology = self.assembly.topology();
        let keys: Vec<(EdgeId, TriangleId)> = crossings.iter().map(|at| (at.edge, at.triangle)).collect();
        let coverings = overlap::coverings(topology, positions, closed, &keys, &loop_vertices(topology, pairs));
        let wish = |vertex: usize| {
            let inward = -closed.outward(topology, positions, VertexId::new(vertex))?;
            let push = OVERLAP_PUSH * self.local_size[vertex] * f64::from(coverings[vertex].clamp(-2, 2));
            Some(Wish { vertex, weight: OVERLAP_WEIGHT, way: inward * push })
        };
        (0..self.free.len()).filter(|&vertex| coverings[vertex] != 0).filter_map(wish).collect()
    }
}

fn softened(direction: DVec3) -> DVec3 {
    direction / (direction.length_squared() + SOFT * SOFT).sqrt()
}

/// The vertices at which contours end within cloth: where triangles cross that share one; rising.
fn loop_vertices(topology: &Topology, pairs: &[CrossingPair]) -> Vec<VertexId> {
    let shared = |pair: &CrossingPair| shared_vertex(topology.triangle(pair.0), topology.triangle(pair.1));
    let mut vertices: Vec<VertexId> = pairs.iter().filter_map(shared).collect();
    vertices.sort_unstable();
    vertices.dedup();
    vertices
}

/// The vertices within so many rings of these.
fn within_rings(topology: &Topology, mut front: Vec<VertexId>, rings: usize) -> Vec<bool> {
    let mut within = vec![false; topology.vertex_count()];
    front.iter().for_each(|vertex| within[vertex.index()] = true);
    for _ in 0..rings {
        let ring = front.iter().flat_map(|&vertex| topology.ring(vertex));
        let next: Vec<VertexId> = ring.filter(|vertex| !std::mem::replace(&mut within[vertex.index()], true)).collect();
        front = next;
    }
    within
}

/// A vertex that two triangles have in common.
fn shared_vertex(first: [VertexId; 3], second: [VertexId; 3]) -> Option<VertexId> {
    first.into_iter().find(|vertex| second.contains(vertex))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::analyze;
    use crate::model::{Cloth, Model};
    use crate::samples::{self, Cut, Recipe};
    use unsnarl_geometry::TriMesh;

    struct Subject {
        mesh: TriMesh,
        assembly: Assembly,
        model: Model,
        local_size: Vec<f64>,
    }

    impl Subject {
        fn new(name: &str, resolution: usize) -> Self {
            let recipe = Recipe { resolution, cut: Cut::Irregular, seed: 1 };
            let mesh = samples::find(name).unwrap().make(&recipe).mesh;
            let assembly = Assembly::of_cloth(name, &mesh).unwrap();
            let (model, _) = Model::build(&[Cloth::new(name, mesh.clone())]).unwrap();
            let edge =
                model.rest_shapes.iter().map(|shape| shape.lengths()[0]).sum::<f64>() / model.rest_shapes.len() as f64;
            let local_size = vec![edge; mesh.positions.len()];
            Self { mesh, assembly, model, local_size }
        }

        fn minimised(&self, free: &[bool], most_rounds: usize) -> Minimised {
            let (topology, shapes) = (&self.model.topology, &self.model.rest_shapes);
            let bounds = StrainBounds::around_rest(topology, shapes, [0.95, 1.05]);
            self.minimisation((&bounds, free), most_rounds).run(&self.mesh.positions)
        }

        fn minimisation<'a>(
            &'a self,
            (bounds, free): (&'a StrainBounds<'a>, &'a [bool]),
            most_rounds: usize,
        ) -> ContourMinimisation<'a> {
            let (assembly, local_size) = (&self.assembly, self.local_size.as_slice());
            ContourMinimisation { assembly, bounds, free, local_size, most_rounds, stop: &|| false }
        }
    }

    #[test]
    fn strands_that_overlap_all_along_are_parted() {
        let subject = Subject::new("knot-2-5-40", 10);
        let minimised = subject.minimised(&vec![true; subject.mesh.positions.len()], 300);
        assert_eq!(minimised.pairs, 0);
        let farthest = minimised.positions.iter().zip(&subject.mesh.positions).map(|(a, b)| a.distance(*b));
        assert!(farthest.fold(0.0, f64::max) < 2.0 * subject.local_size[0]);
    }

    #[test]
    fn a_crumple_loses_nearly_all_of_its_crossings_and_keeps_its_pose() {
        let subject = Subject::new("crumpled", 40);
        let before = Workspace::default().crossing_pairs_again(&subject.assembly, &subject.mesh.positions).len();
        let minimised = subject.minimised(&vec![true; subject.mesh.positions.len()], 400);
        assert!(8 * minimised.pairs < before, "{before} became {}", minimised.pairs);
        let moved = minimised.positions.iter().zip(&subject.mesh.positions).map(|(a, b)| a.distance(*b));
        let mut moved: Vec<f64> = moved.collect();
        moved.sort_by(f64::total_cmp);
        assert!(moved[moved.len() * 9 / 10] < 5.0 * subject.local_size[0]);
    }

    #[test]
    fn cloth_is_drawn_flat_around_the_ends_of_contours_within_it_and_nowhere_else() {
        for (name, resolution) in [("ll", 20), ("bli", 20), ("closed", 20), ("knot-2-3-20", 8)] {
            let subject = Subject::new(name, resolution);
            let topology = subject.assembly.topology();
            let positions = &subject.mesh.positions;
            let tangle = analyze(&subject.assembly, positions, &mut Workspace::default());
            let pairs = Workspace::default().crossing_pairs_again(&subject.assembly, positions);
            let found = loop_vertices(topology, &pairs);
            assert_eq!(found, tangle.loop_vertices(), "{name}");
            let bounds = StrainBounds::around_rest(topology, &subject.model.rest_shapes, [0.95, 1.05]);
            let free = vec![true; positions.len()];
            let minimisation = subject.minimisation((&bounds, &free), 1);
            let closed = ClosedComponents::new(topology, free.len(), positions);
            let flat = minimisation.flatness(&pairs, &closed);
            let has_ends = ["ll", "bli"].contains(&name);
            assert_eq!(flat.iter().any(|&flat| flat > 0.0), has_ends, "{name}");
            assert!(!has_ends || found.iter().all(|vertex| flat[vertex.index()] > 0.0), "{name}");
            assert!(flat.iter().filter(|&&flat| flat > 0.0).count() < flat.len() / 2 + 1, "{name}");
        }
    }

    #[test]
    fn what_is_held_stays_and_pairs_never_become_more() {
        let subject = Subject::new("knot-2-3-20", 8);
        let count = subject.mesh.positions.len();
        let free: Vec<bool> = (0..count).map(|vertex| vertex >= count / 2).collect();
        let before = Workspace::default().crossing_pairs_again(&subject.assembly, &subject.mesh.positions).len();
        let minimised = subject.minimised(&free, 40);
        assert!(minimised.pairs <= before);
        assert_eq!(minimised.positions[..count / 2], subject.mesh.positions[..count / 2]);
        assert_eq!(subject.minimised(&vec![false; count], 4).positions, subject.mesh.positions);
    }
}
