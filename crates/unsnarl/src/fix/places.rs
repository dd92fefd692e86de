//! Places: what crosses, in groups that do not touch each other, each with the cloth around it.
//!
//! Every crossing pair has its surroundings, some rings of vertices. Pairs whose surroundings meet are one place, so
//! that the vertices of different places can move at the same time. What a place could meet elsewhere is shown to it
//! and stands still ([`Places::patient`]).
//!
//! Guarantees: each crossing pair of cloth is in one place, no vertex in two; places come in the order of their first
//! pair. Does not: keep places apart in space, where cloth lies on cloth.

use super::{FixSettings, Patient};
use crate::analysis::{Assembly, PartKind};
use crate::model::ModelPart;
use crate::state::State;
use unsnarl_geometry::bvh::Bvh;
use unsnarl_geometry::intersection::{IntersectingPair, triangle_tree};
use unsnarl_geometry::{Aabb, DVec3, Topology, TriangleId, VertexId};

/// Cloth nearer than this to what may move is shown, in sizes of the mesh.
const NEAR: f64 = 1.5;

/// A group of crossings, with what may move to undo them.
pub struct Place {
    /// The vertices of cloth that may move, rising.
    pub vertices: Vec<VertexId>,
    /// The pairs that meet, by their position in the list they come from.
    pub pairs: Vec<usize>,
}

/// Groups crossing pairs whose surroundings of so many rings meet.
pub fn group(cloth: &Topology, all: &Topology, pairs: &[IntersectingPair], rings: usize) -> Vec<Place> {
    let mut groups = Groups::new(pairs.len());
    let mut group_of: Vec<Option<usize>> = vec![None; cloth.vertex_count()];
    let mut front: Vec<VertexId> = Vec::new();
    for (at, pair) in pairs.iter().enumerate() {
        let corners = [pair.first, pair.second].into_iter().flat_map(|triangle| all.triangle(triangle));
        for corner in corners.filter(|corner| corner.index() < cloth.vertex_count()) {
            match group_of[corner.index()] {
                Some(other) => groups.join(at, other),
                None => {
                    group_of[corner.index()] = Some(at);
                    front.push(corner);
                }
            }
        }
    }
    for ring in 0..=rings {
        if front.is_empty() {
            break;
        }
        let mut next = Vec::new();
        for &vertex in &front {
            let Some(own) = group_of[vertex.index()] else { continue };
            for other in cloth.ring(vertex) {
                match group_of[other.index()] {
                    Some(group) => groups.join(own, group),
                    // The last ring only asks whose its neighbours are.
                    None if ring == rings => {}
                    None => {
                        group_of[other.index()] = Some(own);
                        next.push(other);
                    }
                }
            }
        }
        front = next;
    }
    let mut places: Vec<Place> = Vec::new();
    let mut place_of: Vec<Option<usize>> = vec![None; pairs.len()];
    for at in 0..pairs.len() {
        let root = groups.root(at);
        let place = *place_of[root].get_or_insert_with(|| {
            places.push(Place { vertices: Vec::new(), pairs: Vec::new() });
            places.len() - 1
        });
        places[place].pairs.push(at);
    }
    for (vertex, group) in group_of.iter().enumerate() {
        if let Some(place) = group.and_then(|group| place_of[groups.root(group)]) {
            places[place].vertices.push(VertexId::new(vertex));
        }
    }
    places
}

/// Cloth in which there are places.
pub struct Surroundings<'a> {
    patient: &'a Patient,
    positions: &'a [DVec3],
    local_size: &'a [f64],
    /// The cloth at these positions.
    here: State,
    tree: Bvh,
    /// For every triangle of cloth and bodies, the last of the pairs in which it meets another.
    pair_of: Vec<Option<usize>>,
}

/// A place as a patient of its own.
pub struct PlacePatient {
    pub patient: Patient,
    pub settings: FixSettings,
    /// The number of each of its vertices in the whole.
    pub vertices: Vec<VertexId>,
}

impl<'a> Surroundings<'a> {
    /// Cloth that is here, with the pairs that meet. `positions` are those of cloth, then of bodies.
    pub fn new(
        patient: &'a Patient,
        positions: &'a [DVec3],
        local_size: &'a [f64],
        pairs: &[IntersectingPair],
    ) -> Self {
        let topology = patient.assembly.topology();
        let mut pair_of = vec![None; topology.triangle_count()];
        for (at, pair) in pairs.iter().enumerate() {
            [pair.first, pair.second].iter().for_each(|triangle| pair_of[triangle.index()] = Some(at));
        }
        let cloth = positions[..patient.state.positions.len()].to_vec();
        let here = State { positions: cloth, ..patient.state.clone() };
        Self { patient, positions, local_size, here, tree: triangle_tree(topology, positions), pair_of }
    }

    /// The place with all it could meet, but for what is tangled elsewhere. What does not belong to it is pinned.
    pub fn patient(&self, place: &Place, settings: &FixSettings) -> Option<PlacePatient> {
        let Patient { model, assembly, .. } = self.patient;
        let topology = assembly.topology();
        let is_own = |vertex: VertexId| place.vertices.binary_search(&vertex).is_ok();
        let mut shown: Vec<usize> = Vec::new();
        for &vertex in &place.vertices {
            for &triangle in model.topology.vertex_triangles(vertex) {
                shown.push(triangle.index());
                let corners = topology.triangle(triangle);
                let size = corners.iter().map(|corner| self.local_size[corner.index()]).fold(0.0, f64::max);
                let around = Aabb::of_points(corners.iter().map(|corner| self.positions[corner.index()]));
                self.tree.query(&around.inflated(NEAR * size), |other| shown.push(other));
            }
        }
        shown.sort_unstable();
        shown.dedup();
        let is_tangled_elsewhere = |triangle: &usize| {
            let pair = self.pair_of[*triangle];
            pair.is_some_and(|pair| place.pairs.binary_search(&pair).is_err())
        };
        shown.retain(|triangle| !is_tangled_elsewhere(triangle));
        let cloth_count = model.topology.triangle_count();
        let meets_body = shown.last().is_some_and(|&last| last >= cloth_count);
        let triangles: Vec<TriangleId> =
            shown.into_iter().filter(|&at| at < cloth_count).map(TriangleId::new).collect();
        let ModelPart { mut model, state, vertices } = model.part(&self.here, &triangles)?;
        let held = vertices.iter().enumerate().filter(|&(_, &vertex)| !is_own(vertex));
        model.pins.extend(held.map(|(own, _)| VertexId::new(own)));
        model.pins.sort_unstable();
        model.pins.dedup();
        let bodies = assembly.parts().iter().filter(|part| meets_body && part.kind == PartKind::Body);
        let mut parts: Vec<(String, PartKind, usize, Vec<[u32; 3]>)> = Vec::new();
        for piece in &model.pieces {
            let own = model.topology.own_triangles(piece.triangles.clone(), piece.vertices.start);
            parts.push((piece.name.clone(), PartKind::Cloth, piece.vertices.len(), own));
        }
        for body in bodies {
            let own = topology.own_triangles(body.triangles.clone(), body.vertices.start);
            parts.push((body.name.clone(), PartKind::Body, body.vertices.len(), own));
        }
        let parts = parts.iter().map(|(name, kind, count, own)| (name.clone(), *kind, *count, own.as_slice()));
        let assembly = Assembly::new(parts).ok()?;
        let body_positions = if meets_body { self.patient.body_positions.clone() } else { Vec::new() };
        let settings = settings.of_part(&vertices);
        Some(PlacePatient { patient: Patient { model, state, assembly, body_positions }, settings, vertices })
    }
}

/// Groups that are joined two by two. The least member stands for a group.
struct Groups {
    parents: Vec<usize>,
}

impl Groups {
    fn new(count: usize) -> Self {
        Self { parents: (0..count).collect() }
    }

    fn root(&mut self, mut member: usize) -> usize {
        while self.parents[member] != member {
            self.parents[member] = self.parents[self.parents[member]];
            member = self.parents[member];
        }
        member
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.parents[a.max(b)] = a.min(b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{self, Workspace};
    use crate::model::{Cloth, Model};
    use crate::samples::{self, Cut, Recipe};

    /// Two tangled handkerchiefs, far from each other, as one garment.
    fn two_tangles() -> Patient {
        let recipe = Recipe { resolution: 16, cut: Cut::Irregular, seed: 1 };
        let one = samples::find("closed").unwrap().make(&recipe).mesh;
        let mut both = one.clone();
        let mut far = one;
        far.positions.iter_mut().for_each(|place| *place += DVec3::X * 10.0);
        both.append(&far);
        let assembly = Assembly::of_cloth("both", &both).unwrap();
        let (model, state) = Model::build(&[Cloth::new("both", both)]).unwrap();
        Patient { model, state, assembly, body_positions: Vec::new() }
    }

    #[test]
    fn tangles_that_are_far_apart_are_places_of_their_own_and_share_no_vertex() {
        let patient = two_tangles();
        let topology = patient.assembly.topology();
        let positions = &patient.state.positions;
        let pairs = analysis::verdict(&patient.assembly, positions, &mut Workspace::default()).pairs;
        let places = group(&patient.model.topology, topology, &pairs, 2);
        assert_eq!(places.len(), 2);
        let mut grouped: Vec<usize> = places.iter().flat_map(|place| place.pairs.clone()).collect();
        grouped.sort_unstable();
        assert_eq!(grouped, (0..pairs.len()).collect::<Vec<_>>());
        assert!(places[0].vertices.iter().all(|vertex| !places[1].vertices.contains(vertex)));
        assert_eq!(
            group(&patient.model.topology, topology, &pairs, usize::MAX >> 1).len(),
            2,
            "they do not hang together"
        );
    }

    #[test]
    fn a_place_shows_its_own_tangle_alone_and_pins_what_is_around_it() {
        let patient = two_tangles();
        let positions = &patient.state.positions;
        let pairs = analysis::verdict(&patient.assembly, positions, &mut Workspace::default()).pairs;
        let places = group(&patient.model.topology, patient.assembly.topology(), &pairs, 2);
        let sizes = vec![0.02; positions.len()];
        let surroundings = Surroundings::new(&patient, positions, &sizes, &pairs);
        for place in &places {
            let own = surroundings.patient(place, &FixSettings::default()).unwrap();
            let here = &own.patient.state.positions;
            let verdict = analysis::verdict(&own.patient.assembly, here, &mut Workspace::default());
            assert_eq!(verdict.pairs.len(), place.pairs.len());
            assert_eq!(own.patient.model.pins.len() + place.vertices.len(), own.vertices.len());
        }
    }
}
