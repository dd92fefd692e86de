//! Parting: pieces of cloth that stand through each other are moved apart as they are, to come back with contact on.
//!
//! Two sheets that cross through their middles, or a sleeve through a torso, have no small region that is wrong: one piece
//! has to go to one side as a whole. The pieces are taken one by one, from the inside out or the largest first; each goes
//! straight to the nearest place where a plane divides it from the pieces before it that it crosses. Where layers are given
//! it goes to the front of the inner piece, if that has one front.
//!
//! Guarantees: shapes stay as they are; what was parted crosses no other piece and no body by the exact check.
//! Does not: undo what crosses within a piece; turn pieces; find a way where every plane is barred.

use crate::analysis::{self, Assembly, Tangle, Workspace};
use unsnarl_geometry::{DVec3, Topology, TriangleId, VertexId};

/// What is to be parted.
pub struct Parting<'a> {
    /// Cloth and bodies.
    pub assembly: &'a Assembly,
    /// Which vertices of cloth may move.
    pub free: &'a [bool],
    /// The layer of each vertex of cloth, from the inside out; empty where no order is given.
    pub layers: &'a [i32],
    /// The gap that is left between pieces, metres.
    pub gap: f64,
}

/// Directions that are tried.
const DIRECTIONS: usize = 200;
/// Of these, the nearest that are looked at exactly.
const LOOKS: usize = 24;
/// A mean normal longer than this says that a piece has one front.
const ONE_FRONT: f64 = 0.5;
/// Outer pieces go at least this much to the front of inner ones: the cosine of the angle.
const FRONTWARD: f64 = 0.5;

struct Piece {
    component: usize,
    vertices: Vec<VertexId>,
    layer: i32,
    is_free: bool,
    /// The mean of its triangles' normals by area.
    front: DVec3,
}

impl Parting<'_> {
    /// Positions with all pieces parted that cross each other; `None` where none do, or no way is found.
    pub fn part(&self, tangle: &Tangle, positions: &[DVec3]) -> Option<Vec<DVec3>> {
        let crossing = crossing_components(self.assembly.topology(), self.free.len(), tangle);
        let mut components: Vec<usize> = crossing.iter().flatten().copied().collect();
        components.sort_unstable();
        components.dedup();
        if components.is_empty() {
            return None;
        }
        let mut pieces: Vec<Piece> = components.iter().map(|&component| self.piece(component, positions)).collect();
        pieces.sort_by_key(|piece| (piece.is_free, piece.layer, usize::MAX - piece.vertices.len(), piece.component));
        let mut places = positions.to_vec();
        let mut workspace = Workspace::default();
        for at in 1..pieces.len() {
            let crosses = |other: &&Piece| {
                let pair = [pieces[at].component, other.component];
                crossing.contains(&[pair[0].min(pair[1]), pair[0].max(pair[1])])
            };
            let partners: Vec<&Piece> = pieces[..at].iter().filter(crosses).collect();
            let all: Vec<&Piece> = pieces[..at].iter().collect();
            let later: Vec<usize> = pieces[at + 1..].iter().map(|piece| piece.component).collect();
            let mut is_apart = |places: &[DVec3]| self.is_apart(&pieces[at], &later, places, &mut workspace);
            if is_apart(&places) {
                continue;
            }
            places = [partners, all]
                .into_iter()
                .filter(|others| !others.is_empty())
                .find_map(|others| self.move_apart(&pieces[at], &others, &places, &mut is_apart))?;
        }
        Some(places)
    }

    fn piece(&self, component: usize, positions: &[DVec3]) -> Piece {
        let topology = self.assembly.topology();
        let is_own = |vertex: &VertexId| topology.component(*vertex) == component;
        let vertices: Vec<VertexId> = (0..self.free.len()).map(VertexId::new).filter(is_own).collect();
        let (mut front, mut area) = (DVec3::ZERO, 0.0);
        for corners in topology.triangles().iter().filter(|corners| is_own(&corners[0])) {
            let [a, b, c] = corners.map(|corner| positions[corner.index()]);
            let normal = (b - a).cross(c - a);
            front += normal;
            area += normal.length();
        }
        Piece {
            component,
            layer: self.layers.get(vertices[0].index()).copied().unwrap_or(0),
            is_free: vertices.iter().all(|vertex| self.free[vertex.index()]),
            vertices,
            front: if area > 0.0 { front / area } else { DVec3::ZERO },
        }
    }

    /// The shortest way of a piece to where a plane divides it from others and nothing else is in its place.
    fn move_apart(
        &self,
        piece: &Piece,
        others: &[&Piece],
        positions: &[DVec3],
        is_apart: &mut dyn FnMut(&[DVec3]) -> bool,
    ) -> Option<Vec<DVec3>> {
        if !piece.is_free {
            return None;
        }
        let mut ways: Vec<DVec3> = directions(others)
            .filter(|way| others.iter().all(|other| is_to_the_front(*way, piece, other)))
            .map(|way| way * self.way_out(way, piece, others, positions))
            .collect();
        ways.sort_by(|a, b| a.length_squared().total_cmp(&b.length_squared()));
        ways.into_iter().take(LOOKS).find_map(|way| {
            let mut moved = positions.to_vec();
            for vertex in &piece.vertices {
                moved[vertex.index()] += way;
            }
            is_apart(&moved).then_some(moved)
        })
    }

    /// How far a piece has to go in a direction until a plane across it divides it from others, metres.
    fn way_out(&self, way: DVec3, piece: &Piece, others: &[&Piece], positions: &[DVec3]) -> f64 {
        let along = |vertex: &VertexId| way.dot(positions[vertex.index()]);
        let farthest = others.iter().flat_map(|other| &other.vertices).map(along).fold(f64::NEG_INFINITY, f64::max);
        let nearest = piece.vertices.iter().map(along).fold(f64::INFINITY, f64::min);
        (farthest - nearest + self.gap).max(0.0)
    }

    /// Whether a piece meets no other piece and no body, but for pieces that are to move later.
    fn is_apart(&self, piece: &Piece, later: &[usize], positions: &[DVec3], workspace: &mut Workspace) -> bool {
        let verdict = analysis::verdict(self.assembly, positions, workspace);
        let matters = |other: usize| other != piece.component && !later.contains(&other);
        !verdict.pairs.iter().any(|pair| {
            let [a, b] = [pair.first, pair.second].map(|triangle| component_of(self.assembly.topology(), triangle));
            (a == piece.component && matters(b)) || (b == piece.component && matters(a))
        })
    }
}

/// Whether a way leads to the front of an inner piece; any does where no order is given or there is no one front.
fn is_to_the_front(way: DVec3, piece: &Piece, other: &Piece) -> bool {
    piece.layer == other.layer
        || other.front.length() < ONE_FRONT
        || way.dot(other.front) > FRONTWARD * other.front.length()
}

/// Directions evenly over the sphere (a spiral of golden angles), after the fronts and backs of the pieces.
fn directions<'a>(pieces: &'a [&Piece]) -> impl Iterator<Item = DVec3> + 'a {
    let golden = std::f64::consts::PI * (3.0 - 5f64.sqrt());
    let fronts = pieces.iter().filter_map(|piece| piece.front.try_normalize()).flat_map(|front| [front, -front]);
    fronts.chain((0..DIRECTIONS).map(move |at| {
        let height = 1.0 - (2 * at + 1) as f64 / DIRECTIONS as f64;
        let angle = golden * at as f64;
        let width = (1.0 - height * height).sqrt();
        DVec3::new(width * angle.cos(), height, width * angle.sin())
    }))
}

/// The component of a triangle.
pub(in crate::untangle) fn component_of(topology: &Topology, triangle: TriangleId) -> usize {
    topology.component(topology.triangle(triangle)[0])
}

/// Pairs of different components of cloth that cross, sorted.
pub fn crossing_components(topology: &Topology, cloth_vertex_count: usize, tangle: &Tangle) -> Vec<[usize; 2]> {
    let is_cloth = |triangle: TriangleId| topology.triangle(triangle)[0].index() < cloth_vertex_count;
    let mut pairs: Vec<[usize; 2]> = tangle
        .contours
        .iter()
        .map(|tangled| tangled.contour.segments[0])
        .filter(|pair| pair.iter().all(|&triangle| is_cloth(triangle)))
        .map(|pair| pair.map(|triangle| component_of(topology, triangle)))
        .filter(|[a, b]| a != b)
        .map(|[a, b]| [a.min(b), a.max(b)])
        .collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::PartKind;
    use crate::samples::{self, Cut, Recipe};

    #[test]
    fn the_outer_of_two_sheets_goes_to_the_front_of_the_inner_one_as_it_is() {
        let sample =
            samples::find("crossing-sheets").unwrap().make(&Recipe { resolution: 8, cut: Cut::Irregular, seed: 1 });
        let mesh = &sample.mesh;
        let count = mesh.positions.len();
        let part = ("sheets".to_owned(), PartKind::Cloth, count, mesh.triangles.as_slice());
        let assembly = Assembly::new([part]).unwrap();
        let tangle = analysis::analyze(&assembly, &mesh.positions, &mut Workspace::default());
        let is_second = |vertex: usize| assembly.topology().component(VertexId::new(vertex)) == 1;
        for (outer, is_outer) in [(1, [false, true]), (0, [true, false])] {
            let layers: Vec<i32> =
                (0..count).map(|vertex| i32::from(is_outer[usize::from(is_second(vertex))])).collect();
            let parting = Parting { assembly: &assembly, free: &vec![true; count], layers: &layers, gap: 0.01 };
            let places = parting.part(&tangle, &mesh.positions).unwrap();
            assert!(analysis::verdict(&assembly, &places, &mut Workspace::default()).is_clean());
            let inner = mesh.triangles.iter().find(|corners| layers[corners[0] as usize] == 0).unwrap();
            let [a, b, c] = inner.map(|corner| mesh.positions[corner as usize]);
            let front = (b - a).cross(c - a).normalize();
            let first = (0..count).find(|&vertex| layers[vertex] == 1).unwrap();
            let way = places[first] - mesh.positions[first];
            assert!(way.dot(front) > 0.0, "outer sheet {outer}");
            for vertex in 0..count {
                let moved = places[vertex] - mesh.positions[vertex];
                let wanted = if layers[vertex] == 1 { way } else { DVec3::ZERO };
                assert!(moved.distance(wanted) < 1e-12);
            }
        }
    }
}
