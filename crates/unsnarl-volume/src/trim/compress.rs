//! Compression of the border to the zero of the level set, and pattern search that keeps triangles good.
//! (Bridson 2003, 5.5, on a surface as 5.7 asks)
//!
//! A sweep moves border nodes along the mean normal of the border in the surface, a third of `-psi` and later all of
//! it, then improves nodes one at a time: five directions in the surface for inner nodes, the two along the border
//! for border nodes. Sweeps go from the border inward and back in turn. Nodes whose triangles are good against the
//! worst are left.
//!
//! Guarantees: no triangle turns over that faced the right way; a move keeps at least a fifth of the quality around it.
//! Does not: force a node that would turn a triangle over; it lags, and the report counts it.
//! Departs: full moves are Newton steps, since surfaces meet the level set at any angle; after the last sweep border
//! nodes settle on their own; edges between bad flat pairs of triangles are swapped ([`super::flips`]).

mod relief;

use super::envelope::Patch;
use super::flips;
use super::quality::{BEST, quality, slimness};
use super::report::LAGGING;
use super::surface::{Foot, Surface};
use super::{Sided, TrimSettings};
use unsnarl_geometry::{DVec3, EdgeId, Topology, TriangleId, VertexId};

/// A border node within this share of its mean edge of the zero is there.
const CLOSE: f64 = 1e-4;
/// The share of its quality that a neighbourhood keeps when a border node moves.
const KEPT_QUALITY: f64 = 0.2;
/// Below this altitude over longest edge a sweep makes no triangle slimmer: the quality alone would let edges collapse.
const SLIM: f64 = 0.12;
/// What is left of that in each quarter of the settling: the border comes first there.
const SETTLING_SLIM: [f64; 4] = [SLIM, 0.3 * SLIM, 0.1 * SLIM, 0.0];
/// Halvings of a move before it is given up for this sweep.
const HALVINGS: usize = 5;
/// Rounds without gain after which a node is left, and rounds at most.
const STRIKES: usize = 4;
const ROUNDS: usize = 40;
/// The first step of the search, as a share of the shortest altitude at the node.
const FIRST_STEP: f64 = 0.05;
/// Rounds in which border nodes settle after the last sweep.
const SETTLING: usize = 20;
/// Below this slope per metre a level set is flat, and the mesh alone gives the direction.
const FLAT: f64 = 1e-3;

/// What a node may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Stays where it is.
    Held,
    /// Slides over the surface.
    Inner,
    /// Goes to the zero, and along it.
    Border,
    /// Goes to the zero along an old border.
    Corner,
}

/// How far a border node goes in a sweep.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pace {
    Third,
    Full,
}

/// The border at a node: the nodes before and after it, and the triangles of the two edges.
#[derive(Clone, Copy)]
struct Rim {
    previous: u32,
    next: u32,
    triangles: [TriangleId; 2],
}

/// A place for a node, and for a corner the edge of the old border that it lies on.
#[derive(Clone, Copy)]
struct Candidate {
    foot: Foot,
    rail: Option<EdgeId>,
}

/// The mesh that is being compressed.
pub(super) struct Work<'a> {
    surface: &'a Surface<'a>,
    psi: &'a Sided<'a>,
    pub topology: Topology,
    pub feet: Vec<Foot>,
    pub origin: Vec<Option<u32>>,
    pub kinds: Vec<Kind>,
    pub split_edges: usize,
    pub flipped_edges: usize,
    rails: Vec<Option<EdgeId>>,
    rims: Vec<Option<Rim>>,
    /// The normal that each triangle had at first.
    references: Vec<DVec3>,
    /// Nodes that may move, the border first, ring by ring.
    order: Vec<u32>,
}

impl<'a> Work<'a> {
    pub fn new(surface: &'a Surface<'a>, psi: &'a Sided<'a>, patch: &Patch, settings: &TrimSettings) -> Self {
        let topology =
            Topology::new(patch.feet.len(), &patch.triangles).expect("triangles of a mesh, split, are a mesh");
        let mut work = Self {
            surface,
            psi,
            topology,
            feet: patch.feet.clone(),
            origin: patch.origin.clone(),
            kinds: vec![Kind::Held; patch.feet.len()],
            split_edges: patch.split_edges,
            flipped_edges: 0,
            rails: vec![None; patch.feet.len()],
            rims: Vec::new(),
            references: Vec::new(),
            order: Vec::new(),
        };
        work.look_over();
        work.sort_nodes(settings);
        work
    }

    /// What depends on the triangles alone.
    fn look_over(&mut self) {
        self.rims = rims(&self.topology);
        self.references = self.topology.triangles().iter().map(|corners| self.face_normal(*corners)).collect();
    }

    fn face_normal(&self, corners: [VertexId; 3]) -> DVec3 {
        let [a, b, c] = corners.map(|corner| self.feet[corner.index()].position);
        (b - a).cross(c - a).try_normalize().unwrap_or(DVec3::ZERO)
    }

    /// Whether a border edge of the mesh is one of the input.
    pub fn is_old(&self, edge: EdgeId) -> bool {
        let [a, b] = self.topology.edge(edge).map(|node| self.origin[node.index()]);
        let (Some(a), Some(b)) = (a, b) else { return false };
        let found = self.surface.topology.find_edge(VertexId(a), VertexId(b));
        found.is_some_and(|edge| self.surface.topology.is_boundary(edge))
    }

    /// Border edges of a node: new ones and old ones.
    pub fn border_degrees(&self, node: VertexId) -> [usize; 2] {
        let mut degrees = [0; 2];
        for &edge in self.topology.vertex_edges(node) {
            if self.topology.is_boundary(edge) {
                degrees[usize::from(self.is_old(edge))] += 1;
            }
        }
        degrees
    }

    fn sort_nodes(&mut self, settings: &TrimSettings) {
        let cosine = settings.crease_degrees.to_radians().cos();
        let mut frontier = Vec::new();
        for node in 0..self.feet.len() {
            self.kinds[node] = match self.border_degrees(VertexId::new(node)) {
                [0, 0] => Kind::Inner,
                [2, 0] if self.rims[node].is_some() => Kind::Border,
                [1, 1] => Kind::Corner,
                _ => Kind::Held,
            };
            if self.kinds[node] == Kind::Corner {
                self.rails[node] = self.origin[node].and_then(|vertex| self.surface.border_edge_at(VertexId(vertex)));
                if self.rails[node].is_none() {
                    self.kinds[node] = Kind::Held;
                }
            }
            if matches!(self.kinds[node], Kind::Border | Kind::Corner) {
                frontier.push(node as u32);
            }
        }
        let mut reached = vec![false; self.feet.len()];
        frontier.iter().for_each(|&node| reached[node as usize] = true);
        self.order = frontier.clone();
        for _ in 0..settings.rings {
            let mut next = Vec::new();
            for &node in &frontier {
                for other in self.topology.ring(VertexId(node)) {
                    if !std::mem::replace(&mut reached[other.index()], true) {
                        next.push(other.0);
                    }
                }
            }
            next.sort_unstable();
            self.order.extend(next.iter().filter(|&&node| self.kinds[node as usize] == Kind::Inner));
            frontier = next;
        }
        for node in 0..self.feet.len() {
            let bends = |vertex: u32| self.surface.bends_beyond(VertexId(vertex), cosine);
            let creased = self.kinds[node] == Kind::Inner && self.origin[node].is_some_and(bends);
            if !reached[node] || creased {
                self.kinds[node] = Kind::Held;
            }
        }
        let kinds = &self.kinds;
        self.order.retain(|&node| kinds[node as usize] != Kind::Held);
    }

    /// The vertices of the input that are border nodes and stay outside, ascending.
    pub fn lagging_outside(&self) -> Vec<VertexId> {
        let lags = |&node: &usize| {
            let is_border = matches!(self.kinds[node], Kind::Border | Kind::Corner);
            is_border && self.psi.value(self.feet[node].position) > LAGGING * self.mean_edge(node)
        };
        (0..self.feet.len()).filter(lags).filter_map(|node| self.origin[node]).map(VertexId).collect()
    }

    /// Runs all sweeps; the share of movable nodes that each searched for.
    pub fn run(&mut self, settings: &TrimSettings, observe: &mut dyn FnMut(usize)) -> Vec<f64> {
        let sweeps = settings.third_sweeps + settings.full_sweeps;
        let mut shares = Vec::with_capacity(sweeps);
        for sweep in 0..sweeps {
            let pace = if sweep < settings.third_sweeps { Pace::Third } else { Pace::Full };
            self.pull_border(pace, SLIM);
            shares.push(self.improve(sweep % 2 == 1));
            if pace == Pace::Full && sweep % 3 == 0 {
                self.flip();
            }
            observe(sweep);
        }
        for round in 0..SETTLING {
            let slim = SETTLING_SLIM[(4 * round / SETTLING).min(3)];
            if self.pull_border(Pace::Full, slim) == 0 {
                break;
            }
            if round == SETTLING / 3 {
                self.free_around_lagging();
            }
            if round + 2 < SETTLING {
                self.improve(round % 2 == 1);
                self.flip();
            }
        }
        self.relieve();
        shares
    }

    /// Lets inner nodes slide that were held for a crease, where a border node cannot reach the zero for them.
    fn free_around_lagging(&mut self) {
        for at in 0..self.order.len() {
            let node = self.order[at] as usize;
            let is_border = matches!(self.kinds[node], Kind::Border | Kind::Corner);
            let gap = self.psi.value(self.feet[node].position).abs();
            if !is_border || gap <= CLOSE * self.mean_edge(node) {
                continue;
            }
            let ring: Vec<VertexId> = self.topology.ring(VertexId::new(node)).collect();
            for other in ring {
                if self.kinds[other.index()] == Kind::Held && self.border_degrees(other) == [0, 0] {
                    self.kinds[other.index()] = Kind::Inner;
                    self.order.push(other.0);
                }
            }
        }
    }

    fn flip(&mut self) {
        let (triangles, flipped) = flips::better(&self.topology, self);
        if flipped > 0 {
            self.flipped_edges += flipped;
            self.topology = Topology::new(self.feet.len(), &triangles).expect("swapped edges leave a mesh a mesh");
            self.look_over();
        }
    }

    /// Moves every border node towards the zero; how many are not there yet.
    fn pull_border(&mut self, pace: Pace, slim: f64) -> usize {
        let mut away = 0;
        for at in 0..self.order.len() {
            let node = self.order[at] as usize;
            if matches!(self.kinds[node], Kind::Border | Kind::Corner) {
                away += usize::from(!self.pull(node, pace, slim));
            }
        }
        away
    }

    /// Moves a border node towards the zero; whether it is there.
    fn pull(&mut self, node: usize, pace: Pace, slim: f64) -> bool {
        let here = self.feet[node];
        let edge = self.mean_edge(node);
        let (value, gradient) = self.psi.value_and_gradient(here.position);
        if value.abs() <= CLOSE * edge {
            return true;
        }
        let Some(step) = self.step_to_zero(node, value, gradient, pace) else { return false };
        let step = step.clamp_length_max(0.5 * edge);
        let before = self.worst_at(node, here);
        let needed = if before > 0.0 { KEPT_QUALITY * before } else { before };
        let slim = self.slimmest_at(node, here).min(slim);
        let mut share = 1.0;
        for _ in 0..HALVINGS {
            let candidate = self.place(node, here.position + step * share);
            let value_there = self.psi.value(candidate.foot.position);
            let nearer = pace == Pace::Third || value_there.abs() < value.abs();
            let foot = candidate.foot;
            if nearer && self.worst_at(node, foot) >= needed && self.slimmest_at(node, foot) >= slim {
                self.take(node, candidate);
                return value_there.abs() <= CLOSE * edge;
            }
            share *= 0.5;
        }
        false
    }

    /// The way to the zero: along the border's normal by `-psi / 3`, or by Newton's step along it; where it runs
    /// along the level set, down the slope.
    fn step_to_zero(&self, node: usize, value: f64, gradient: DVec3, pace: Pace) -> Option<DVec3> {
        let normal = self.surface.normal(self.feet[node].triangle);
        let slope = gradient - normal * normal.dot(gradient);
        let steepness = slope.length();
        let outward = match self.kinds[node] {
            Kind::Corner => self.rails[node]
                .map(|rail| self.surface.edge_direction(rail))
                .map(|along| if along.dot(slope) < 0.0 { -along } else { along })?,
            _ => self.conormal(node).or_else(|| slope.try_normalize())?,
        };
        let along = outward.dot(slope);
        if pace == Pace::Third {
            let toward = if along < 0.0 && steepness > FLAT { slope / steepness } else { outward };
            return Some(toward * (-value / 3.0));
        }
        if along > 0.3 * steepness && along > FLAT {
            return Some(outward * (-value / along));
        }
        match self.kinds[node] {
            Kind::Corner if along > FLAT => Some(outward * (-value / along)),
            Kind::Corner => None,
            _ if steepness > FLAT => Some(slope * (-value / (steepness * steepness))),
            _ => Some(outward * -value),
        }
    }

    /// The mean of the normals of the two border edges, in the surface, away from the mesh.
    fn conormal(&self, node: usize) -> Option<DVec3> {
        let rim = self.rims[node]?;
        let at = |node: u32| self.feet[node as usize].position;
        let here = self.feet[node].position;
        let along = [here - at(rim.previous), at(rim.next) - here];
        let outward = |side: usize| {
            let normal = self.face_normal(self.topology.triangle(rim.triangles[side]));
            along[side].cross(normal).try_normalize().unwrap_or(DVec3::ZERO)
        };
        (outward(0) + outward(1)).try_normalize()
    }

    /// The mean length of the edges at a node.
    pub fn mean_edge(&self, node: usize) -> f64 {
        let here = self.feet[node].position;
        let ring =
            self.topology.ring(VertexId::new(node)).map(|other| self.feet[other.index()].position.distance(here));
        let (count, sum) = ring.fold((0_usize, 0.0), |(count, sum), length| (count + 1, sum + length));
        sum / count.max(1) as f64
    }

    fn place(&self, node: usize, target: DVec3) -> Candidate {
        if let Some(rail) = self.rails[node] {
            let (position, rail) = self.surface.closest_on_border(target, rail);
            let triangle = self.surface.topology.edge_triangles(rail)[0];
            return Candidate { foot: Foot { position, triangle }, rail: Some(rail) };
        }
        Candidate { foot: self.surface.closest_from(target, self.feet[node].triangle), rail: None }
    }

    fn take(&mut self, node: usize, candidate: Candidate) {
        self.feet[node] = candidate.foot;
        self.rails[node] = candidate.rail;
    }

    /// The worst quality around a node, were it at a place.
    fn worst_at(&self, node: usize, foot: Foot) -> f64 {
        let around = self.topology.vertex_triangles(VertexId::new(node)).iter();
        let judge = |triangle: &TriangleId| {
            let mut reference = self.references[triangle.index()];
            let corners = self.topology.triangle(*triangle).map(|corner| {
                let foot = if corner.index() == node { foot } else { self.feet[corner.index()] };
                reference += self.surface.normal(foot.triangle);
                foot.position
            });
            quality(corners, reference)
        };
        around.map(judge).fold(f64::INFINITY, f64::min)
    }

    /// The smallest altitude over longest edge around a node, were it at a place.
    fn slimmest_at(&self, node: usize, foot: Foot) -> f64 {
        let around = self.topology.vertex_triangles(VertexId::new(node)).iter();
        let judge = |triangle: &TriangleId| {
            let corners = self.topology.triangle(*triangle);
            let at = |corner: VertexId| if corner.index() == node { foot } else { self.feet[corner.index()] };
            slimness(corners.map(|corner| at(corner).position))
        };
        around.map(judge).fold(f64::INFINITY, f64::min)
    }

    /// Improves the nodes that have bad triangles; the share of movable nodes that this was tried for.
    fn improve(&mut self, backward: bool) -> f64 {
        let worst = self.order.iter().map(|&node| self.worst_at(node as usize, self.feet[node as usize]));
        let worst = worst.fold(BEST, f64::min).max(0.0);
        let enough = worst + 0.5 * (BEST - worst);
        let mut searched = 0;
        for at in 0..self.order.len() {
            let at = if backward { self.order.len() - 1 - at } else { at };
            let node = self.order[at] as usize;
            if self.kinds[node] == Kind::Corner {
                continue;
            }
            let quality = self.worst_at(node, self.feet[node]);
            if quality < enough {
                self.search(node, quality);
                searched += 1;
            }
        }
        searched as f64 / self.order.len().max(1) as f64
    }

    /// Pattern search: the first direction that gains is taken, a round without gain halves the step.
    fn search(&mut self, node: usize, quality: f64) {
        let Some((directions, count)) = self.directions(node) else { return };
        let mut best = quality;
        let slim = self.slimmest_at(node, self.feet[node]).min(SLIM);
        let mut step = FIRST_STEP * self.shortest_altitude(node);
        let mut strikes = 0;
        for _ in 0..ROUNDS {
            let gain = directions[..count].iter().find_map(|&direction| {
                let candidate = self.try_step(node, direction * step)?;
                let quality = self.worst_at(node, candidate.foot);
                (quality > best && self.slimmest_at(node, candidate.foot) >= slim).then_some((candidate, quality))
            });
            match gain {
                Some((candidate, quality)) => {
                    self.take(node, candidate);
                    best = quality;
                }
                None => {
                    strikes += 1;
                    step *= 0.5;
                }
            }
            if strikes >= STRIKES {
                break;
            }
        }
    }

    /// Where a step ends: on the surface and, for a border node, at the value it had.
    fn try_step(&self, node: usize, step: DVec3) -> Option<Candidate> {
        let here = self.feet[node].position;
        let candidate = self.place(node, here + step);
        if self.kinds[node] != Kind::Border {
            return Some(candidate);
        }
        let (value, gradient) = self.psi.value_and_gradient(candidate.foot.position);
        let normal = self.surface.normal(candidate.foot.triangle);
        let slope = gradient - normal * normal.dot(gradient);
        let squared = slope.length_squared();
        if squared < FLAT * FLAT {
            return None;
        }
        let back = slope * ((self.psi.value(here) - value) / squared);
        if back.length_squared() > step.length_squared() {
            return None;
        }
        Some(self.place(node, candidate.foot.position + back))
    }

    fn directions(&self, node: usize) -> Option<([DVec3; 5], usize)> {
        if self.kinds[node] == Kind::Border {
            let rim = self.rims[node]?;
            let along = self.feet[rim.next as usize].position - self.feet[rim.previous as usize].position;
            let along = along.try_normalize()?;
            return Some(([along, -along, DVec3::ZERO, DVec3::ZERO, DVec3::ZERO], 2));
        }
        let around = self.topology.vertex_triangles(VertexId::new(node)).iter();
        let normal: DVec3 = around.map(|&triangle| self.face_normal(self.topology.triangle(triangle))).sum();
        let normal = normal.try_normalize()?;
        let first = normal.any_orthonormal_vector();
        let second = normal.cross(first);
        let fifth = |at: usize| {
            let (sine, cosine) = (std::f64::consts::TAU * at as f64 / 5.0).sin_cos();
            first * cosine + second * sine
        };
        Some((std::array::from_fn(fifth), 5))
    }

    fn shortest_altitude(&self, node: usize) -> f64 {
        let around = self.topology.vertex_triangles(VertexId::new(node)).iter();
        let altitude = |triangle: &TriangleId| {
            let corners = self.topology.triangle(*triangle);
            let at = corners.iter().position(|corner| corner.index() == node).unwrap_or(0);
            let [a, b, c] = [0, 1, 2].map(|k| self.feet[corners[(at + k) % 3].index()].position);
            let base = b.distance(c);
            if base > 0.0 { (b - a).cross(c - a).length() / base } else { 0.0 }
        };
        around.map(altitude).fold(f64::INFINITY, f64::min)
    }
}

impl flips::Shapes for Work<'_> {
    fn is_movable(&self, node: VertexId) -> bool {
        self.kinds[node.index()] != Kind::Held
    }

    fn quality(&self, corners: [VertexId; 3]) -> f64 {
        let reference = corners.iter().map(|corner| self.surface.normal(self.feet[corner.index()].triangle)).sum();
        quality(corners.map(|corner| self.feet[corner.index()].position), reference)
    }

    fn normal(&self, corners: [VertexId; 3]) -> DVec3 {
        self.face_normal(corners)
    }
}

/// The border edges that come to a node or go from it: the node at the other end, and the triangle.
type BorderSides = Vec<(u32, TriangleId)>;

/// The border at every node that has one edge of it coming in and one going out.
fn rims(topology: &Topology) -> Vec<Option<Rim>> {
    let mut coming: Vec<BorderSides> = vec![Vec::new(); topology.vertex_count()];
    let mut going = coming.clone();
    for triangle in (0..topology.triangle_count()).map(TriangleId::new) {
        let corners = topology.triangle(triangle);
        for (side, &edge) in topology.triangle_edges(triangle).iter().enumerate() {
            if topology.is_boundary(edge) {
                let (from, to) = (corners[side], corners[(side + 1) % 3]);
                going[from.index()].push((to.0, triangle));
                coming[to.index()].push((from.0, triangle));
            }
        }
    }
    let rim = |(coming, going): (BorderSides, BorderSides)| match (&coming[..], &going[..]) {
        (&[(previous, first)], &[(next, second)]) => Some(Rim { previous, next, triangles: [first, second] }),
        _ => None,
    };
    coming.into_iter().zip(going).map(rim).collect()
}
