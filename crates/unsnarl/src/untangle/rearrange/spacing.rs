//! Opens the gap between parts of cloth that are clean but too near, by small moves.
//!
//! In rounds: every pair of elements within reach is measured. Pairs below the target are pushed apart along the line
//! between their nearest points, and edges beyond their bounds are brought back, one after the other in a fixed
//! order, some times over (position based dynamics, Müller et al. 2007). Then every vertex goes toward where that led,
//! but less than half of the way to what it is nearest to. Two elements whose vertices all move less than half of their
//! distance do not meet, so that nothing crosses on the way (the bound of offset geometric contact, Chen et al. 2025).
//!
//! Guarantees: positions that cross nothing end crossing nothing; vertices that may not move, and all cloth away from
//! narrow places, stay where they are, bit for bit; the same bits on any number of threads.
//! Does not: promise the gap. What is exempt, held or in want of room stays as it is, and the caller measures the
//! result.

use crate::analysis::gap::Exemption;
use crate::analysis::{Assembly, PartKind};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use unsnarl_geometry::ccd::{self, ElementPair, ElementTree, Motion, Ownership};
use unsnarl_geometry::predicates::{IndexedPoint, Side, side_of_plane};
use unsnarl_geometry::{DVec3, EdgeId, Stencil, VertexId};

/// Cloth that is to keep a gap.
pub struct Spacing<'a> {
    /// Cloth and bodies.
    pub assembly: &'a Assembly,
    /// The gap to open, metres: a little more than what is asked for.
    pub target: f64,
    /// Who need not keep it.
    pub exemption: Exemption<'a>,
    /// By vertex: whether it may move. Bodies and pins may not.
    pub is_free: Vec<bool>,
    /// The rest length of every edge, metres.
    pub rest_lengths: Vec<f64>,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpacingOutcome {
    /// Rounds of moves.
    pub rounds: usize,
    /// Pairs that are left below the target.
    pub left: usize,
}

/// How far edges may be stretched and compressed, one after the other: more only where less does not do.
const STRAIN: [[f64; 2]; 3] = [[0.985, 1.015], [0.96, 1.04], [0.91, 1.09]];
/// Rounds without progress before the next strain is tried.
const PATIENCE: usize = 30;
/// Rounds at most, for each strain.
const ROUNDS: usize = 400;
/// Times that all constraints are visited in a round.
const VISITS: usize = 12;
/// Pairs are looked for within this many targets.
const REACH: f64 = 2.5;
/// Less than half, so that what is near stays apart.
const SHARE: f64 = 0.45;
/// Rings around narrow places whose edges keep their lengths.
const RINGS: usize = 8;

/// A pair within reach.
struct Neighbours {
    pair: ElementPair,
    vertices: [VertexId; 4],
    duty: Duty,
}

/// What a pair has to do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Duty {
    /// Keep the gap.
    KeepGap,
    /// Not cross: it is exempt, or cannot move.
    NotCross,
}

/// Where two elements are nearest.
#[derive(Clone, Copy)]
struct Measure {
    stencil: Stencil,
    distance: f64,
    /// From the second element to the first, length 1.
    normal: DVec3,
}

/// What each pair that was ever looked at has to do.
type Duties = FxHashMap<ElementPair, Duty>;

/// Pairs, and the edges around them, as they were seen from some positions.
struct Look {
    near: Vec<Neighbours>,
    edges: Vec<EdgeId>,
    from: Vec<DVec3>,
}

impl Spacing<'_> {
    /// Moves vertices until all pairs keep the target, or nothing more can be done, or `stop` says so.
    pub fn open(&self, positions: &mut [DVec3], stop: &(dyn Fn() -> bool + Sync)) -> SpacingOutcome {
        let mut outcome = SpacingOutcome::default();
        let start = positions.to_vec();
        let mut duties = Duties::default();
        for strain in STRAIN {
            let bounds = self.bounds(strain, &start);
            outcome.left = self.open_within(&bounds, positions, &mut duties, (&mut outcome.rounds, stop));
            if outcome.left == 0 || stop() {
                break;
            }
        }
        outcome
    }

    /// Rounds with edges within bounds, until nothing is left or nothing helps; how many pairs are left.
    fn open_within(
        &self,
        bounds: &[[f64; 2]],
        positions: &mut [DVec3],
        duties: &mut Duties,
        (rounds, stop): (&mut usize, &(dyn Fn() -> bool + Sync)),
    ) -> usize {
        let (mut best, mut since_best) = (f64::INFINITY, 0);
        let mut look = self.look(positions, duties);
        let mut left = usize::MAX;
        for _ in 0..ROUNDS {
            if self.unseen(&look, positions) < 1.4 * self.target {
                look = self.look(positions, duties);
            }
            let measured = |near: &Neighbours| self.measure(near, positions);
            let measures: Vec<Option<Measure>> = look.near.par_iter().with_min_len(256).map(measured).collect();
            let lack = |(near, measure): (&Neighbours, &Option<Measure>)| match measure {
                Some(measure) if near.duty == Duty::KeepGap => (self.target - measure.distance).max(0.0),
                _ => 0.0,
            };
            let lacks: Vec<f64> = look.near.iter().zip(&measures).map(lack).collect();
            left = lacks.iter().filter(|lack| **lack > 0.0).count();
            let lacking: f64 = lacks.iter().sum();
            since_best += 1;
            if lacking < 0.98 * best {
                (best, since_best) = (lacking, 0);
            }
            if left == 0 || since_best > PATIENCE || stop() {
                return left;
            }
            self.round(positions, (&look, &measures), bounds);
            *rounds += 1;
        }
        left
    }

    /// How far apart pairs are at least that were not within reach.
    fn unseen(&self, look: &Look, positions: &[DVec3]) -> f64 {
        REACH * self.target - 2.0 * farthest_move(&look.from, positions)
    }

    /// One round of moves.
    fn round(&self, positions: &mut [DVec3], (look, measures): (&Look, &[Option<Measure>]), bounds: &[[f64; 2]]) {
        let mut wished = positions.to_vec();
        for visit in 0..VISITS {
            for (near, measure) in look.near.iter().zip(measures) {
                if let (Some(measure), Duty::KeepGap) = (measure, near.duty) {
                    self.part(measure, &mut wished);
                }
            }
            // The gap has the last word.
            if visit + 1 < VISITS {
                look.edges.iter().for_each(|&edge| self.restore(edge, bounds[edge.index()], &mut wished));
            }
        }
        let unseen = self.unseen(look, positions);
        let room = self.room(positions.len(), (&look.near, measures), unseen);
        for ((place, wish), room) in positions.iter_mut().zip(&wished).zip(&room) {
            if place != wish {
                *place += (*wish - *place).clamp_length_max(SHARE * room);
            }
        }
    }

    /// How near each vertex's elements are to others.
    fn room(&self, count: usize, (near, measures): (&[Neighbours], &[Option<Measure>]), unseen: f64) -> Vec<f64> {
        let mut room = vec![unseen; count];
        for (near, measure) in near.iter().zip(measures) {
            let distance = measure.map_or(0.0, |measure| measure.distance);
            for vertex in near.vertices {
                let room = &mut room[vertex.index()];
                *room = room.min(distance);
            }
        }
        room
    }

    /// Moves the vertices of a pair so that it keeps the target along its normal.
    fn part(&self, measure: &Measure, wished: &mut [DVec3]) {
        let Measure { stencil, normal, .. } = measure;
        let lack = self.target - stencil.apply(wished).dot(*normal);
        if lack <= 0.0 {
            return;
        }
        let free = |k: usize| self.is_free[stencil.vertices[k].index()];
        let compliance: f64 = (0..4).filter(|&k| free(k)).map(|k| stencil.weights[k] * stencil.weights[k]).sum();
        if compliance < 1e-6 {
            return;
        }
        for k in (0..4).filter(|&k| free(k)) {
            wished[stencil.vertices[k].index()] += (lack / compliance * stencil.weights[k]) * *normal;
        }
    }

    /// The lengths that edges may have: near those at rest, or as at the start.
    fn bounds(&self, strain: [f64; 2], start: &[DVec3]) -> Vec<[f64; 2]> {
        let of_edge = |([a, b], rest): (&[VertexId; 2], &f64)| {
            let before = start[a.index()].distance(start[b.index()]);
            [before.min(strain[0] * rest), before.max(strain[1] * rest)]
        };
        self.assembly.topology().edges().iter().zip(&self.rest_lengths).map(of_edge).collect()
    }

    /// Brings an edge back within its bounds.
    fn restore(&self, edge: EdgeId, bounds: [f64; 2], wished: &mut [DVec3]) {
        let [a, b] = self.assembly.topology().edge(edge).map(VertexId::index);
        let along = wished[b] - wished[a];
        let length = along.length();
        let wanted = length.clamp(bounds[0], bounds[1]);
        let free = [a, b].map(|end| f64::from(u8::from(self.is_free[end])));
        if wanted == length || length <= 0.0 || free[0] + free[1] == 0.0 {
            return;
        }
        let change = along * ((wanted / length - 1.0) / (free[0] + free[1]));
        wished[a] -= free[0] * change;
        wished[b] += free[1] * change;
    }

    /// All pairs within reach, in order, and the edges around those that are too near.
    fn look(&self, positions: &[DVec3], duties: &mut Duties) -> Look {
        let topology = self.assembly.topology();
        let reach = REACH * self.target;
        let motion = Motion::at_rest(positions);
        let tree = ElementTree::build(topology, &Ownership::new(topology), motion, 0.5 * reach);
        let is_cloth =
            |triangle| self.assembly.parts()[self.assembly.part_of_triangle(triangle)].kind == PartKind::Cloth;
        let mut found: Vec<(ElementPair, f64)> = tree.candidates_of(is_cloth, |pair, out| {
            let vertices = pair.vertices(topology);
            if !vertices.iter().any(|vertex| self.is_free[vertex.index()]) {
                return;
            }
            let distance = measured(pair, vertices, positions).1.length();
            if distance < reach {
                out.push((pair, distance));
            }
        });
        found.sort_unstable_by_key(|found| found.0);
        let known: &Duties = duties;
        let duty_of = |&(pair, _): &(ElementPair, f64)| match known.get(&pair) {
            Some(&duty) => duty,
            None if self.exemption.of(pair, self.target).is_some() => Duty::NotCross,
            None => Duty::KeepGap,
        };
        let of_found: Vec<Duty> = found.par_iter().with_min_len(64).map(duty_of).collect();
        let mut narrow: Vec<VertexId> = Vec::new();
        let mut near = Vec::with_capacity(found.len());
        for (&(pair, distance), duty) in found.iter().zip(of_found) {
            let vertices = pair.vertices(topology);
            if duty == Duty::KeepGap && distance < 1.2 * self.target {
                narrow.extend(vertices);
            }
            duties.insert(pair, duty);
            near.push(Neighbours { pair, vertices, duty });
        }
        Look { near, edges: self.around(narrow), from: positions.to_vec() }
    }

    /// The edges around some vertices that can move.
    fn around(&self, mut front: Vec<VertexId>) -> Vec<EdgeId> {
        let topology = self.assembly.topology();
        let mut is_near = vec![false; topology.vertex_count()];
        for _ in 0..=RINGS {
            front.retain(|vertex| !std::mem::replace(&mut is_near[vertex.index()], true));
            front = front.iter().flat_map(|&vertex| topology.ring(vertex)).collect();
        }
        let may_move = |end: &VertexId| is_near[end.index()] && self.is_free[end.index()];
        (0..topology.edge_count()).map(EdgeId::new).filter(|&edge| topology.edge(edge).iter().any(may_move)).collect()
    }

    fn measure(&self, near: &Neighbours, positions: &[DVec3]) -> Option<Measure> {
        let (stencil, offset) = measured(near.pair, near.vertices, positions);
        let distance = offset.length();
        let normal = if distance > self.target * 1e-6 { offset / distance } else { hidden_normal(near, positions)? };
        Some(Measure { stencil, distance, normal })
    }
}

fn farthest_move(from: &[DVec3], to: &[DVec3]) -> f64 {
    let squared = from.iter().zip(to).map(|(from, to)| from.distance_squared(*to)).fold(0.0, f64::max);
    // A little more, for what was rounded.
    1.000_001 * squared.sqrt()
}

/// The nearest points of two elements as weights, and from that of the second to that of the first.
fn measured(pair: ElementPair, vertices: [VertexId; 4], positions: &[DVec3]) -> (Stencil, DVec3) {
    let points = vertices.map(|vertex| positions[vertex.index()]);
    let [a, b, c, d] = vertices;
    match pair {
        ElementPair::VertexTriangle(..) => {
            let closest = ccd::vertex_triangle_gap(points);
            (Stencil::vertex_triangle(a, [b, c, d], closest.weights), closest.offset)
        }
        ElementPair::EdgeEdge(..) => {
            let closest = ccd::edge_edge_gap(points);
            (Stencil::edge_edge([a, b], [c, d], closest.along), closest.offset)
        }
    }
}

/// The direction of a gap that is too small to be computed: the normal of the triangle, or of both edges, to the exact
/// side.
fn hidden_normal(near: &Neighbours, positions: &[DVec3]) -> Option<DVec3> {
    let indexed = near.vertices.map(|vertex| IndexedPoint { vertex, position: positions[vertex.index()] });
    let [a, b, c, d] = indexed;
    let (normal, side) = match near.pair {
        ElementPair::VertexTriangle(..) => {
            ((c.position - b.position).cross(d.position - b.position), side_of_plane(b, c, d, a))
        }
        ElementPair::EdgeEdge(..) => {
            ((b.position - a.position).cross(d.position - c.position), side_of_plane(a, b, c, d))
        }
    };
    // A point below a plane has positive orientation.
    let sign = if side == Side::Positive { -1.0 } else { 1.0 };
    normal.try_normalize().map(|normal| sign * normal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::gap::examine;
    use crate::analysis::{RestDistances, Verdict, Workspace, verdict};
    use crate::rest_shape::RestShape;
    use unsnarl_geometry::TriMesh;

    /// Sheets of squares over each other, each a little rotated, at these heights.
    fn sheets(heights: &[f64], count: u32) -> TriMesh {
        let mut mesh = TriMesh { positions: Vec::new(), triangles: Vec::new() };
        for (layer, height) in heights.iter().enumerate() {
            let first = mesh.positions.len() as u32;
            let turn = DVec3::new((0.1 * layer as f64).cos(), 0.0, (0.1 * layer as f64).sin());
            for at in 0..(count + 1) * (count + 1) {
                let (x, z) = (f64::from(at % (count + 1)) * 0.02, f64::from(at / (count + 1)) * 0.02);
                mesh.positions.push(DVec3::new(x * turn.x - z * turn.z, *height, x * turn.z + z * turn.x));
            }
            for at in 0..count * count {
                let corner = first + at / count * (count + 1) + at % count;
                let [a, b, c, d] = [corner, corner + 1, corner + count + 1, corner + count + 2];
                mesh.triangles.extend([[a, b, d], [a, d, c]]);
            }
        }
        mesh
    }

    fn opened(mesh: &TriMesh, target: f64, pins: &[usize]) -> (Assembly, Vec<DVec3>, SpacingOutcome) {
        let assembly = Assembly::of_cloth("sheets", mesh).unwrap();
        let topology = assembly.topology();
        let shape = |corners: &[u32; 3]| RestShape::from_world(corners.map(|at| mesh.positions[at as usize]));
        let shapes: Vec<RestShape> = mesh.triangles.iter().map(shape).collect();
        let rest = RestDistances::new(topology, &shapes, target);
        let length = |ends: &[VertexId; 2]| mesh.positions[ends[0].index()].distance(mesh.positions[ends[1].index()]);
        let spacing = Spacing {
            assembly: &assembly,
            target,
            exemption: Exemption::AtRest(&rest),
            is_free: (0..mesh.positions.len()).map(|vertex| !pins.contains(&vertex)).collect(),
            rest_lengths: topology.edges().iter().map(length).collect(),
        };
        let mut positions = mesh.positions.clone();
        let outcome = spacing.open(&mut positions, &|| false);
        // What is opened is a little more than what is asked for.
        let asked = (target / 1.0001, Exemption::AtRest(&rest));
        let left = examine(&assembly, &positions, asked, &Verdict::default()).below.len();
        assert!(outcome.left > 0 || left == 0, "{left} pairs are left");
        (assembly, positions, outcome)
    }

    #[test]
    fn sheets_that_nearly_touch_are_parted_by_half_of_the_gap_each_and_stay_clean() {
        let mesh = sheets(&[0.0, 1e-5], 8);
        let (assembly, positions, outcome) = opened(&mesh, 0.002, &[]);
        assert_eq!(outcome.left, 0);
        assert!(verdict(&assembly, &positions, &mut Workspace::default()).is_clean());
        let moves = mesh.positions.iter().zip(&positions).map(|(from, to)| from.distance(*to));
        let farthest = moves.fold(0.0, f64::max);
        assert!(farthest < 0.0016, "{farthest}");
        let edges = assembly.topology().edges().iter().map(|ends| ends.map(VertexId::index));
        for [a, b] in edges {
            let ratio = positions[a].distance(positions[b]) / mesh.positions[a].distance(mesh.positions[b]);
            assert!((0.96..1.04).contains(&ratio), "{ratio}");
        }
    }

    #[test]
    fn a_pinned_sheet_stays_under_a_stack_and_nothing_crosses() {
        let mesh = sheets(&[0.0, 1e-4, 2e-4, 3e-4], 5);
        let pins: Vec<usize> = (0..36).collect();
        let (assembly, positions, outcome) = opened(&mesh, 0.002, &pins);
        assert!(outcome.rounds > 0);
        assert_eq!(positions[..36], mesh.positions[..36]);
        assert!(verdict(&assembly, &positions, &mut Workspace::default()).is_clean());
    }

    #[test]
    fn cloth_with_the_gap_stays_where_it_is() {
        let mesh = sheets(&[0.0, 0.003], 5);
        let (_, positions, outcome) = opened(&mesh, 0.002, &[]);
        assert_eq!((positions, outcome), (mesh.positions, SpacingOutcome::default()));
    }

    #[test]
    fn only_cloth_near_the_narrow_place_moves() {
        let mut mesh = sheets(&[0.0, 0.01], 30);
        // A dent of one vertex.
        mesh.positions[961 + 31 * 15 + 15].y = 1e-4;
        let (_, positions, outcome) = opened(&mesh, 0.002, &[]);
        assert_eq!(outcome.left, 0);
        let moved = mesh.positions.iter().zip(&positions).filter(|(from, to)| from != to).count();
        assert!((1..60).contains(&moved), "{moved}");
    }
}
