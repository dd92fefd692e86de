//! Which pairs collide during the motion as it stands. (Bridson 2003, 2.4)
//!
//! Guarantees: no miss; see [`crate::geometry::ccd`]. Asked about changed vertices only, it reports the collisions that
//! have one of them; all others were found clear before and have not moved since. Pairs are looked for again only where
//! an end leaves the box in which they were looked for.
//! Departs: a pair that starts nearer than its separation may come down to half of its distance, so that the step
//! remains possible; a pair that touches at the start is left out and counted.

use super::report::ContactReport;
use super::rules::Rule;
use super::settings::ContactSettings;
use super::{ContactInput, Path, Workspace};
use crate::geometry::ccd::{self, ElementPair, EndBoxes, Motion};
use crate::geometry::{Aabb, DVec3, Stencil, TriangleId, VertexId};
use rayon::prelude::*;

/// A pair that would come too near.
#[derive(Clone, Copy, Debug)]
pub(super) struct Collision {
    pub pair: ElementPair,
    /// No contact before this part of the step.
    pub time: f64,
    /// The nearest points at that time.
    pub stencil: Stencil,
    /// From the second element to the first at that time, length 1.
    pub normal: DVec3,
    /// The distance to keep.
    pub separation: f64,
}

/// Which vertices may have moved since the last look.
#[derive(Clone, Copy)]
pub(super) enum Moved<'a> {
    /// All of them.
    All,
    /// Those marked.
    Marked(&'a [bool]),
}

/// What became of one candidate pair.
enum Finding {
    Clear,
    Touching,
    Collides(Collision),
}

/// What became of some candidates.
#[derive(Default)]
struct Tally {
    tested: usize,
    touching: usize,
    collisions: Vec<Collision>,
}

/// Pairs that may meet while every vertex stays in its box, kept from round to round.
#[derive(Clone, Debug, Default)]
pub(super) struct Candidates {
    pairs: Vec<Candidate>,
    /// What they were listed for.
    start: Vec<DVec3>,
    inverse_mass: Vec<f64>,
    margin: f64,
    /// Where each vertex may be during the motion, as far as the pairs are concerned.
    boxes: Vec<Aabb>,
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    pair: ElementPair,
    /// A direction that proved the pair clear before, and may again; or zero.
    hint: DVec3,
}

/// Pairs that one task tests.
const PAIRS_PER_TASK: usize = 1024;
/// How far ends may leave the boxes in which pairs were looked for before they are looked for again, in thicknesses.
const SLACK: f64 = 0.5;

impl Candidates {
    /// Lists all pairs with a free vertex whose boxes, grown by some slack, meet during the motion as it stands.
    fn list(input: &ContactInput, settings: &ContactSettings, path: &Path, workspace: &mut Workspace) -> Self {
        let (motion, margin) = (path.motion(), margin(input, settings));
        let slack = SLACK * input.thickness.iter().copied().fold(0.0, f64::max);
        let tree = workspace.fitted(input.mesh, motion, margin + slack);
        let pairs = input.free_pairs(tree, |pair, out| out.push(Candidate { pair, hint: DVec3::ZERO }));
        let around = |(&start, &end): (&DVec3, &DVec3)| Aabb::EMPTY.with_point(start).with_point(end).inflated(slack);
        let boxes = motion.start.iter().zip(motion.end).map(around).collect();
        Self { pairs, start: input.start.to_vec(), inverse_mass: input.inverse_mass.to_vec(), margin, boxes }
    }

    /// Makes sure that they hold all that may meet in the motion as it stands. A step is resolved more than once where
    /// bodies support cloth, and most vertices stay in their boxes from round to round: only what left its box is
    /// looked for again.
    fn keep_up(
        &mut self,
        input: &ContactInput,
        settings: &ContactSettings,
        path: &Path,
        moved: Moved,
        workspace: &mut Workspace,
    ) {
        let is_same_step = match moved {
            Moved::Marked(_) => !self.boxes.is_empty(),
            Moved::All => {
                self.margin == margin(input, settings)
                    && self.start == input.start
                    && self.inverse_mass == input.inverse_mass
            }
        };
        let left_box = |at: usize| {
            let looked_at = match moved {
                Moved::Marked(marked) => marked[at],
                Moved::All => true,
            };
            looked_at && !self.boxes[at].contains(path.end[at])
        };
        let left: Vec<usize> =
            if is_same_step { (0..path.end.len()).filter(|&at| left_box(at)).collect() } else { Vec::new() };
        let free = || input.inverse_mass.iter().filter(|mass| **mass > 0.0).count();
        if !is_same_step || left.len() as f64 > FEW_LEFT * free() as f64 {
            *self = Self::list(input, settings, path, workspace);
        } else if !left.is_empty() {
            self.list_again(input, path, &left, workspace);
        }
    }

    /// Lists the pairs of vertices that left their boxes anew, in larger ones.
    fn list_again(&mut self, input: &ContactInput, path: &Path, left: &[usize], workspace: &mut Workspace) {
        let slack = 2.0 * SLACK * input.thickness.iter().copied().fold(0.0, f64::max);
        let mut has_left = vec![false; self.boxes.len()];
        for &at in left {
            has_left[at] = true;
            let way = Aabb::EMPTY.with_point(input.start[at]).with_point(path.end[at]);
            self.boxes[at] = way.inflated(slack);
        }
        let topology = input.mesh.topology();
        let is_among = |vertex: &VertexId| has_left[vertex.index()];
        self.pairs.retain(|candidate| !candidate.pair.vertices(topology).iter().any(is_among));
        // What a box holds is what moves from one of its corners to the other.
        let (lowest, highest): (Vec<DVec3>, Vec<DVec3>) =
            self.boxes.iter().map(|around| (around.min, around.max)).unzip();
        let tree = workspace.fitted(input.mesh, Motion { start: &lowest, end: &highest }, self.margin);
        let has_one = |triangle: TriangleId| topology.triangle(triangle).iter().any(is_among);
        let is_free = |vertex: &VertexId| input.inverse_mass[vertex.index()] > 0.0;
        self.pairs.extend(tree.candidates_of(has_one, |pair, out: &mut Vec<Candidate>| {
            let vertices = pair.vertices(topology);
            if vertices.iter().any(is_among) && vertices.iter().any(is_free) {
                out.push(Candidate { pair, hint: DVec3::ZERO });
            }
        }));
    }
}

/// If more than this part of the free vertices left their boxes, all pairs are listed anew.
const FEW_LEFT: f64 = 0.3;

/// How far boxes are grown so that pairs that come nearer than they may are among those that meet.
fn margin(input: &ContactInput, settings: &ContactSettings) -> f64 {
    0.5 * settings.separation.max(input.rules.largest_separation())
}

/// All collisions, by time and then by pair.
pub(super) fn collisions(
    input: &ContactInput,
    settings: &ContactSettings,
    path: &Path,
    moved: Moved,
    workspace: &mut Workspace,
    report: &mut ContactReport,
) -> Vec<Collision> {
    let mut candidates = std::mem::take(&mut workspace.candidates);
    candidates.keep_up(input, settings, path, moved, workspace);
    workspace.candidates = candidates;
    let motion = path.motion();
    let interest = Interest::new(input, settings, motion, moved);
    let examine = |chunk: &mut [Candidate]| {
        let mut tally = Tally::default();
        for candidate in chunk.iter_mut().filter(|candidate| interest.is_in(input, candidate.pair)) {
            tally.tested += 1;
            match examine_pair(input, settings, motion, candidate) {
                Finding::Clear => {}
                Finding::Touching => tally.touching += 1,
                Finding::Collides(collision) => tally.collisions.push(collision),
            }
        }
        tally
    };
    let pairs = workspace.candidates.pairs.par_chunks_mut(PAIRS_PER_TASK);
    let tallies: Vec<Tally> = pairs.map(examine).collect();
    report.tested_pairs += tallies.iter().map(|tally| tally.tested).sum::<usize>();
    let touching = tallies.iter().map(|tally| tally.touching).sum();
    report.touching_at_start = report.touching_at_start.max(touching);
    let mut found: Vec<Collision> = tallies.into_iter().flat_map(|tally| tally.collisions).collect();
    found.sort_unstable_by(|a, b| a.time.total_cmp(&b.time).then(a.pair.cmp(&b.pair)));
    found
}

/// Which candidates to look at.
enum Interest<'a> {
    /// All that boxes do not prove apart.
    Near(EndBoxes),
    /// Those with a marked vertex.
    Moved(&'a [bool]),
}

impl<'a> Interest<'a> {
    fn new(input: &ContactInput, settings: &ContactSettings, motion: Motion, moved: Moved<'a>) -> Self {
        match moved {
            Moved::All => Self::Near(EndBoxes::new(input.mesh.topology(), motion, margin(input, settings))),
            Moved::Marked(marked) => Self::Moved(marked),
        }
    }

    fn is_in(&self, input: &ContactInput, pair: ElementPair) -> bool {
        match self {
            Self::Near(boxes) => !boxes.prove_apart(pair),
            Self::Moved(marked) => pair.vertices(input.mesh.topology()).iter().any(|vertex| marked[vertex.index()]),
        }
    }
}

/// Gaps below this part of the elements' size are too small to be halved; crossing itself is then decided exactly.
const SMALLEST_GAP: f64 = 1e-11;

fn examine_pair(
    input: &ContactInput,
    settings: &ContactSettings,
    motion: Motion,
    candidate: &mut Candidate,
) -> Finding {
    let Candidate { pair, hint } = candidate;
    let (pair, topology) = (*pair, input.mesh.topology());
    let mut separation = match input.rules.rule(pair) {
        Rule::MayCross => return Finding::Clear,
        Rule::Ordinary => settings.separation,
        Rule::Separation(separation) => separation,
    };
    let Some(mut time) = pair.first_contact_hinted(topology, motion, separation, hint) else { return Finding::Clear };
    if time <= 0.0 {
        let (start, _) = motion.of(pair.vertices(topology));
        let gap = gap_and_stencil(pair, pair.vertices(topology), start).0.length();
        let size = (start[1] - start[0]).length().max((start[2] - start[0]).length());
        separation = if gap < SMALLEST_GAP * size { 0.0 } else { separation.min(0.5 * gap) };
        let at_rest = Motion::at_rest(input.start);
        if separation == 0.0 && pair.first_contact(topology, at_rest, 0.0).is_some() {
            return Finding::Touching;
        }
        match pair.first_contact(topology, motion, separation) {
            None => return Finding::Clear,
            Some(later) => time = later,
        }
    }
    Finding::Collides(collision_at(input, motion, pair, time, separation))
}

fn collision_at(input: &ContactInput, motion: Motion, pair: ElementPair, time: f64, separation: f64) -> Collision {
    let vertices = pair.vertices(input.mesh.topology());
    let (start, end) = motion.of(vertices);
    let points = ccd::positions_at(start, end, time);
    let (offset, stencil) = gap_and_stencil(pair, vertices, points);
    let (u, v) = match pair {
        ElementPair::VertexTriangle(..) => (points[2] - points[1], points[3] - points[1]),
        ElementPair::EdgeEdge(..) => (points[1] - points[0], points[3] - points[2]),
    };
    let size = u.length().max(v.length());
    let normal = match offset.try_normalize() {
        Some(normal) if offset.length() > SMALLEST_GAP * size => normal,
        _ => {
            // The points coincide: square to both elements, on the side where the pair started.
            let across = u.cross(v).try_normalize().unwrap_or(DVec3::Z);
            if stencil.apply(input.start).dot(across) < 0.0 { -across } else { across }
        }
    };
    Collision { pair, time, stencil, normal, separation }
}

/// The gap between the nearest points of two elements, and their weights.
fn gap_and_stencil(pair: ElementPair, vertices: [VertexId; 4], points: [DVec3; 4]) -> (DVec3, Stencil) {
    let [a, b, c, d] = vertices;
    match pair {
        ElementPair::VertexTriangle(..) => {
            let closest = ccd::vertex_triangle_gap(points);
            (closest.offset, Stencil::vertex_triangle(a, [b, c, d], closest.weights))
        }
        ElementPair::EdgeEdge(..) => {
            let closest = ccd::edge_edge_gap(points);
            (closest.offset, Stencil::edge_edge([a, b], [c, d], closest.along))
        }
    }
}
