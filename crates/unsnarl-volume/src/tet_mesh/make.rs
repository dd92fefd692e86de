//! From a body to a mesh: the stages in order, and the search for an edge that gives a wanted number of elements.

use super::TetMesh;
use super::again::{Allowed, Lagging, carry_over, except, refine_at};
use super::boundary::{Conditions, inverted_tets, surface_numbers};
use super::compress::{self, CompressReport, Crossings, Method, Part, Sweep, Workpiece, widen};
use super::criteria::{Criterion, Refined, Sizing, Wish, refine};
use super::envelope::{Candidate, EnvelopeReport, Exceptions, candidate};
use super::fit::{Far, Fit};
use super::lattice::{Lattice, LatticeError, REPAIR_LEVELS};
use crate::field::Field;
use std::ops::ControlFlow;
use thiserror::Error;
use unsnarl_geometry::{Aabb, DVec3};

/// What is filled: a distance and the box around its surface.
#[derive(Clone, Copy)]
pub struct Body<'a> {
    /// Negative inside; a true distance, or nearly.
    pub field: &'a dyn Field,
    /// Around the surface.
    pub bounds: Aabb,
    /// The area of the surface, about: a search for the edge starts from it.
    pub area: f64,
    /// The volume within, about: a search for the edge ends with elements that fill most of it. Zero where it is not
    /// known.
    pub volume: f64,
}

impl Body<'_> {
    /// The mean thickness: twice the volume over the area, as of a plate.
    fn thickness(&self) -> Option<f64> {
        let thickness = 2.0 * self.volume / self.area;
        (thickness.is_finite() && thickness > 0.0).then_some(thickness)
    }
}

/// How fine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    /// The longest edge of the finest lattice elements, metres.
    Edge(f64),
    /// About so many elements.
    Count(usize),
}

/// How a body is meshed.
#[derive(Clone, Copy)]
pub struct Settings<'a> {
    /// How fine.
    pub size: Size,
    /// How often the coarsest elements may be halved: the ratio of sizes is two to this power.
    pub levels: u8,
    /// Where to refine at the surface.
    pub criterion: Criterion,
    /// Where to refine beyond that, down to the finest level.
    pub sizing: Option<Sizing<'a>>,
    /// How the boundary is moved to the surface.
    pub method: Method,
    /// Elements at most, before anything large is made.
    pub most_elements: usize,
}

impl Settings<'_> {
    /// The usual settings.
    pub fn with_size(size: Size) -> Self {
        let criterion = Criterion::Error(Criterion::DEFAULT_ERROR);
        Self { size, levels: 6, criterion, sizing: None, method: Method::Optimise, most_elements: 20_000_000 }
    }
}

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stage<'a> {
    /// A lattice was refined and elements were chosen, so many; more than one while an edge is searched for.
    Chosen(usize),
    /// A sweep of compression ended.
    Swept(&'a Sweep),
    /// So many boundary nodes lagged or crossed; elements were refined there and chosen anew, so many in all.
    Again(usize, usize),
}

/// Why a body has no mesh.
#[derive(Debug, Error, PartialEq)]
pub enum TetError {
    /// The lattice cannot be made.
    #[error(transparent)]
    Lattice(#[from] LatticeError),
    /// No node is enveloped.
    #[error("no element fits inside the body at this size: use a smaller --edge or a larger --count")]
    NothingInside,
    /// The conditions could not be met.
    #[error(
        "{faults} places of the boundary cannot be resolved at this size: use a smaller --edge or a larger --count"
    )]
    Unresolved {
        /// How many.
        faults: usize,
    },
    /// Too many elements.
    #[error(
        "{estimate} elements or more would be needed, {most} are allowed: use an --edge of about {edge:.2e} m or larger"
    )]
    TooMany {
        /// The estimate, from below.
        estimate: usize,
        /// The limit.
        most: usize,
        /// The edge that gives so many, about.
        edge: f64,
    },
    /// The observer ended the work before there was a mesh.
    #[error("stopped before there was a mesh")]
    Stopped,
    /// An element is not positive.
    #[error("{0} elements ended without volume: the body is too far from the origin for its size; move it there")]
    Inverted(usize),
}

/// What making the mesh took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TetReport {
    /// The edge of the finest lattice elements, metres.
    pub edge: f64,
    /// Lattices that were tried.
    pub tries: usize,
    /// The least edge with which too little of the body is filled, where a search for a number of elements met one.
    pub coarsest_edge: Option<f64>,
    /// The edge that would fill the body, where it is thinner than the elements and a part of it is lost.
    pub filling_edge: Option<f64>,
    /// How the elements were chosen at first.
    pub envelope: EnvelopeReport,
    /// How they were compressed.
    pub compress: CompressReport,
    /// Inner triangles with three boundary nodes.
    pub trapped_triangles: usize,
    /// The Euler characteristic of the boundary.
    pub euler: i64,
    /// The closed surfaces of the boundary.
    pub surfaces: usize,
    /// Boundary nodes farther from the surface than a hundredth of their mean edge.
    pub lagging: usize,
    /// Boundary triangles farther from the surface somewhere than half their mean edge.
    pub far: usize,
    /// Boundary nodes that reached the surface since elements around them were let become worse than elsewhere.
    pub yielded: usize,
    /// Times that places with lagging or crossing nodes were refined and compressed again.
    pub rounds_again: usize,
    /// Red tetrahedra split for that.
    pub refined_again: usize,
    /// Pairs of boundary triangles that meet although they are no neighbours: a gap is thinner than an element.
    pub crossings: usize,
}

/// How often places with lagging or crossing nodes are refined and compressed again.
const ROUNDS_AGAIN: usize = 5;
/// ... and in how many of these elements are chosen by the rule alone.
const ROUNDS_BY_RULE: usize = 1;

/// Elements may become so many times as many by that.
const MOST_GROWTH: f64 = 1.5;
/// Elements may become worse where so many times fewer nodes lag then.
const WORTH_YIELDING: usize = 2;
/// Rings around nodes that lag in the end whose elements may become worse.
const YIELDING_RINGS: usize = 3;
/// Elements that a red split adds, with the families that close it.
const ELEMENTS_PER_SPLIT: usize = 12;

/// Fills a body.
pub fn make(
    body: Body<'_>,
    settings: &Settings<'_>,
    observer: &mut dyn FnMut(Stage<'_>) -> ControlFlow<()>,
) -> Result<(TetMesh, TetReport), TetError> {
    let mut report = TetReport::default();
    let (mut edge, (mut refined, chosen)) = match settings.size {
        Size::Edge(edge) => (edge, candidate_at(body, settings, edge, &mut report, observer)?),
        Size::Count(count) => search_edge(body, settings, count.max(1), &mut report, observer)?,
    };
    report.envelope = chosen.report;
    let mut hear = Hearing { observer, stopped: false };
    let mut last = Pressed::of(body, chosen, settings.method, &mut report, &mut hear);
    report.filling_edge = filling_edge(body, edge, &last);
    if let (Size::Count(count), Some(finer), false) = (settings.size, report.filling_edge, hear.stopped) {
        let most = settings.most_elements.min(most_for(count as f64) as usize);
        let settings = Settings { most_elements: most, ..*settings };
        if let Ok((forest, chosen)) = candidate_at(body, &settings, finer, &mut report, hear.observer) {
            report.envelope = chosen.report;
            report.coarsest_edge = Some(report.coarsest_edge.map_or(edge, |coarsest| coarsest.min(edge)));
            (edge, refined) = (finer, forest);
            last = Pressed::of(body, chosen, settings.method, &mut report, &mut hear);
            report.filling_edge = filling_edge(body, edge, &last);
        }
    }
    report.edge = edge;
    let most = settings.most_elements.min((MOST_GROWTH * last.chosen.mesh.tets.len() as f64) as usize);
    let mut best = last.clone();
    let mut exceptions = Exceptions::default();
    for round in 0..ROUNDS_AGAIN {
        let (crossings, lagging, far) = last.faults();
        if crossings + lagging + far == 0 || hear.stopped {
            break;
        }
        let nodes = last.trouble(body.field);
        let finest = settings.levels + REPAIR_LEVELS - 1;
        let room = most.saturating_sub(last.chosen.mesh.tets.len()) / ELEMENTS_PER_SPLIT;
        let split = refine_at(&mut refined, body.field, &last.chosen, &nodes, Allowed { finest, splits: room });
        report.refined_again += split;
        let is_new =
            (round >= ROUNDS_BY_RULE || split == 0) && except(&mut exceptions, body.field, &last.chosen, &last.found());
        if split == 0 && !is_new {
            break;
        }
        let Ok(chosen) = candidate(&mut refined, body.field, finest, &exceptions) else { break };
        if chosen.mesh.tets.len() > most {
            break;
        }
        report.rounds_again = round + 1;
        if hear.hear(Stage::Again(nodes.len(), chosen.mesh.tets.len())).is_break() {
            break;
        }
        last = last.again(body, chosen, &mut report, &mut hear);
        if last.faults() < best.faults() {
            best = last.clone();
        }
    }
    if !best.lagging.is_empty() && !hear.stopped {
        let yielded = best.yielded(body, &mut report, &mut hear);
        let is_worth_it = WORTH_YIELDING * yielded.lagging.len() <= best.lagging.len();
        if yielded.faults() < best.faults() && is_worth_it {
            report.yielded = best.lagging.len() - yielded.lagging.len();
            best = yielded;
        }
    }
    best.finish(report)
}

/// A mesh with less of the body's volume has holes where the body is thin; a coarse one only rounds edges off.
const FILLED: f64 = 0.95;
/// Edges of this share of its thickness fill a plate however it is turned.
const EDGE_PER_THICKNESS: f64 = 0.8;
/// So many elements may be made of a thin body although fewer were asked for, or so many times as many.
const MOST_UNASKED: f64 = 500_000.0;
const MOST_EXCESS: f64 = 10.0;

/// The most elements for a body that is too thin for the wanted number.
fn most_for(wanted: f64) -> f64 {
    MOST_UNASKED.max(MOST_EXCESS * wanted)
}

/// The edge that would fill a body, where a part of it is lost and elements are larger than it is thick.
fn filling_edge(body: Body<'_>, edge: f64, pressed: &Pressed) -> Option<f64> {
    let finer = EDGE_PER_THICKNESS * body.thickness()?;
    (edge > finer && pressed.volume() < FILLED * body.volume).then_some(finer)
}

/// An observer, and whether it ended the work.
struct Hearing<'a> {
    observer: &'a mut dyn FnMut(Stage<'_>) -> ControlFlow<()>,
    stopped: bool,
}

impl Hearing<'_> {
    fn hear(&mut self, stage: Stage<'_>) -> ControlFlow<()> {
        let flow = (self.observer)(stage);
        self.stopped |= flow.is_break();
        flow
    }
}

/// A candidate whose boundary was moved to the surface.
#[derive(Clone)]
struct Pressed {
    chosen: Candidate,
    boundary: Vec<[u32; 3]>,
    places: Vec<DVec3>,
    lagging: Vec<u32>,
    far: Vec<Far>,
    crossings: Crossings,
}

impl Pressed {
    /// Compresses a candidate from its places in the lattice.
    fn of(
        body: Body<'_>,
        chosen: Candidate,
        method: Method,
        report: &mut TetReport,
        hearing: &mut Hearing<'_>,
    ) -> Self {
        let boundary = chosen.mesh.boundary();
        let mut piece = Workpiece::new(body.field, &chosen.mesh, &boundary);
        let mut hear = |sweep: &Sweep| hearing.hear(Stage::Swept(sweep));
        report.compress = match method {
            Method::Optimise => compress::optimise(&mut piece, &mut hear),
            Method::Springs => compress::springs::compress(&mut piece, &mut hear),
            Method::Elements => compress::finite_elements::compress(&mut piece, &mut hear),
        };
        let places = piece.positions;
        Self::ended(body, chosen, boundary, places)
    }

    /// Takes the places over to another choice of elements and compresses what is new there.
    fn again(&self, body: Body<'_>, chosen: Candidate, report: &mut TetReport, hearing: &mut Hearing<'_>) -> Self {
        let boundary = chosen.mesh.boundary();
        let carried = carry_over(&self.chosen, &self.places, &chosen);
        let mut places = carried.positions;
        let part = Part::of(&places, &chosen.mesh.tets, &boundary, &carried.is_at_work);
        let mut piece = part.piece(body.field);
        let done = compress::optimise(&mut piece, &mut |sweep: &Sweep| hearing.hear(Stage::Swept(sweep)));
        part.put_back(&piece.positions, &mut places);
        report.compress.sweeps.extend(done.sweeps);
        report.compress.guarded_moves += done.guarded_moves;
        Self::ended(body, chosen, boundary, places)
    }

    /// Lets elements around nodes that lag become worse than elsewhere, so that the nodes arrive.
    fn yielded(&self, body: Body<'_>, report: &mut TetReport, hearing: &mut Hearing<'_>) -> Self {
        let (boundary, mut places) = (self.boundary.clone(), self.places.clone());
        let mut is_at_work = vec![false; places.len()];
        self.lagging.iter().for_each(|&node| is_at_work[node as usize] = true);
        for _ in 0..YIELDING_RINGS {
            widen(&mut is_at_work, &self.chosen.mesh.tets);
        }
        let part = Part::of(&places, &self.chosen.mesh.tets, &boundary, &is_at_work);
        let mut piece = part.piece(body.field);
        let mut hear = |sweep: &Sweep| hearing.hear(Stage::Swept(sweep));
        compress::yield_to_fit(&mut piece, &mut hear, &mut report.compress);
        part.put_back(&piece.positions, &mut places);
        Self::ended(body, self.chosen.clone(), boundary, places)
    }

    fn ended(body: Body<'_>, chosen: Candidate, boundary: Vec<[u32; 3]>, mut places: Vec<DVec3>) -> Self {
        let crossings = compress::retreat(body.field, &mut places, &chosen.mesh.tets, &boundary);
        let Fit { lagging, far, .. } = Fit::of(body.field, &places, &boundary);
        Self { chosen, boundary, places, lagging, far, crossings }
    }

    /// The volume of the elements, cubic metres.
    fn volume(&self) -> f64 {
        let sixfold = |tet: &[u32; 4]| {
            let [a, b, c, d] = tet.map(|node| self.places[node as usize]);
            (b - a).cross(c - a).dot(d - a)
        };
        self.chosen.mesh.tets.iter().map(sixfold).sum::<f64>() / 6.0
    }

    /// Nodes that lag, were drawn apart from what they crossed or have a triangle far from the surface, the farthest
    /// first.
    fn trouble(&self, field: &dyn Field) -> Vec<u32> {
        let far = self.far.iter().flat_map(|far| far.triangle);
        let mut nodes: Vec<u32> = self.lagging.iter().chain(&self.crossings.nodes).copied().chain(far).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let distance = |node: u32| (field.value(self.places[node as usize]).abs(), node);
        let mut ranked: Vec<(f64, u32)> = nodes.into_iter().map(distance).collect();
        ranked.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        ranked.into_iter().map(|(_, node)| node).collect()
    }

    fn found(&self) -> Lagging<'_> {
        Lagging { places: &self.places, boundary: &self.boundary, nodes: &self.lagging, far: &self.far }
    }

    /// What is better the smaller it is: crossing pairs, nodes that lag, triangles far from the surface.
    fn faults(&self) -> (usize, usize, usize) {
        (self.crossings.pairs, self.lagging.len(), self.far.len())
    }

    fn finish(self, mut report: TetReport) -> Result<(TetMesh, TetReport), TetError> {
        let mesh = TetMesh { positions: self.places, ..self.chosen.mesh };
        let boundary = self.boundary;
        let conditions = Conditions::of(mesh.positions.len(), &mesh.tets, &boundary);
        report.trapped_triangles = conditions.trapped_triangles;
        (report.euler, report.surfaces) = surface_numbers(mesh.positions.len(), &boundary);
        (report.lagging, report.far, report.crossings) = (self.lagging.len(), self.far.len(), self.crossings.pairs);
        let inverted = inverted_tets(&mesh);
        if inverted.is_empty() { Ok((mesh, report)) } else { Err(TetError::Inverted(inverted.len())) }
    }
}

fn candidate_at(
    body: Body<'_>,
    settings: &Settings<'_>,
    edge: f64,
    report: &mut TetReport,
    observer: &mut dyn FnMut(Stage<'_>) -> ControlFlow<()>,
) -> Result<(Refined, Candidate), TetError> {
    let lattice = Lattice::covering(&body.bounds, edge, settings.levels)?;
    let most = settings.most_elements;
    let too_many = |leaves| TetError::too_many(body, leaves / LEAVES_PER_ELEMENT, most);
    let wish = Wish { criterion: settings.criterion, sizing: settings.sizing, levels: settings.levels };
    let mut refined = refine(lattice, body.field, &wish, LEAVES_PER_ELEMENT * most).map_err(too_many)?;
    let found = candidate(&mut refined, body.field, settings.levels, &Exceptions::default())?;
    report.tries += 1;
    match observer(Stage::Chosen(found.mesh.tets.len())) {
        ControlFlow::Continue(()) => Ok((refined, found)),
        ControlFlow::Break(()) => Err(TetError::Stopped),
    }
}

/// Leaves of the lattice to an element, those outside among them.
const LEAVES_PER_ELEMENT: usize = 3;
/// How far from the wanted number of elements is near enough.
const COUNT_TOLERANCE: f64 = 0.095;
/// Lattices tried at most.
const MOST_TRIES: usize = 10;
/// Elements on a square of the finest edge of the surface, and how fast their number grows as the edge shrinks: what
/// the usual criterion gives on bones, animals, hands and knots.
const ELEMENTS_PER_SQUARE: f64 = 20.0;
const USUAL_SLOPE: f64 = -2.2;
/// The first lattice has the wanted number of elements over this.
const FIRST_SHARE: f64 = 4.0;

/// A lattice whose elements fill less than this share of the body's volume is too coarse for it.
const LEAST_COVER: f64 = 0.6;
/// The first edge is at most so many times the mean thickness: twice the volume over the area.
const FIRST_THICKNESS: f64 = 4.0;
/// What an edge that is too coarse is multiplied with as long as nothing else is known.
const FINER: f64 = 0.6;
/// An edge that fills the body and one that does not end the search when they are this near.
const NEAR_COARSEST: f64 = 1.08;

type Found = (f64, (Refined, Candidate));

impl TetError {
    fn too_many(body: Body<'_>, estimate: usize, most: usize) -> Self {
        Self::TooMany { estimate, most, edge: usual_edge(body, most as f64) }
    }
}

/// The edge that usually gives a number of elements.
fn usual_edge(body: Body<'_>, count: f64) -> f64 {
    let area = if body.area.is_finite() && body.area > 0.0 { body.area } else { body.bounds.extent().length_squared() };
    (area * ELEMENTS_PER_SQUARE / count).sqrt()
}

/// Looks for the edge that gives a number of elements: a small lattice first, which is cheap, then by a power law.
fn search_edge(
    body: Body<'_>,
    settings: &Settings<'_>,
    count: usize,
    report: &mut TetReport,
    observer: &mut dyn FnMut(Stage<'_>) -> ControlFlow<()>,
) -> Result<Found, TetError> {
    if count > settings.most_elements {
        return Err(TetError::too_many(body, count, settings.most_elements));
    }
    let mut search = Search::new(count as f64);
    let mut edge = search.first_edge(body);
    for _ in 0..MOST_TRIES {
        match candidate_at(body, settings, edge, report, observer) {
            Err(TetError::NothingInside | TetError::Unresolved { .. }) => search.fails_at(edge),
            Err(TetError::TooMany { .. }) if search.has_any() => break,
            made => search.add(edge, made?, body.volume),
        }
        match search.next_edge() {
            Some(next) => edge = next,
            None => break,
        }
    }
    report.coarsest_edge = Some(search.too_coarse).filter(|edge| edge.is_finite());
    search.best().ok_or(TetError::NothingInside)
}

/// What is known about edges and numbers of elements.
struct Search {
    wanted: f64,
    /// Logarithms of edges that fill the body and of the numbers of elements.
    samples: Vec<(f64, f64)>,
    /// The least edge that does not fill the body.
    too_coarse: f64,
    /// What fills the body with the number of elements nearest to the wanted one, and by how much it misses that.
    full: Option<(f64, Found)>,
    /// The same of what fills a part of it.
    partial: Option<(f64, Found)>,
}

impl Search {
    fn new(wanted: f64) -> Self {
        Self { wanted, samples: Vec::new(), too_coarse: f64::INFINITY, full: None, partial: None }
    }

    fn first_edge(&self, body: Body<'_>) -> f64 {
        let goal = (self.wanted / FIRST_SHARE).max(self.wanted.min(2000.0));
        let edge = usual_edge(body, goal).min(0.5 * body.bounds.extent().max_element());
        body.thickness().map_or(edge, |thickness| edge.min(FIRST_THICKNESS * thickness))
    }

    fn fails_at(&mut self, edge: f64) {
        self.too_coarse = self.too_coarse.min(edge);
    }

    fn add(&mut self, edge: f64, made: (Refined, Candidate), volume: f64) {
        let found = made.1.mesh.tets.len() as f64;
        let miss = (found / self.wanted).ln().abs();
        let is_full = made.1.covered >= LEAST_COVER * volume;
        if is_full {
            self.samples.push((edge.ln(), found.ln()));
        } else {
            self.fails_at(edge);
        }
        let best = if is_full { &mut self.full } else { &mut self.partial };
        if best.as_ref().is_none_or(|(least, _)| miss < *least) {
            *best = Some((miss, (edge, made)));
        }
    }

    /// The next edge to try; none where the last one is near enough or no larger one fills the body.
    fn next_edge(&self) -> Option<f64> {
        if self.full.as_ref().is_some_and(|(miss, _)| *miss < COUNT_TOLERANCE) {
            return None;
        }
        let coarsest = self.samples.iter().map(|sample| sample.0).reduce(f64::max).map(f64::exp);
        let Some(coarsest) = coarsest else { return Some(FINER * self.too_coarse) };
        let edge = edge_by_power_law(&self.samples, self.wanted);
        if edge <= coarsest || edge < self.too_coarse {
            return Some(edge);
        }
        (self.too_coarse > NEAR_COARSEST * coarsest).then(|| (coarsest * self.too_coarse).sqrt())
    }

    fn has_any(&self) -> bool {
        self.full.is_some() || self.partial.is_some()
    }

    fn best(self) -> Option<Found> {
        let most = most_for(self.wanted);
        let is_within_reason = |(_, (_, made)): &(f64, Found)| made.1.mesh.tets.len() as f64 <= most;
        match (self.full, self.partial) {
            (Some(full), Some(partial)) => Some(if is_within_reason(&full) { full.1 } else { partial.1 }),
            (full, partial) => full.or(partial).map(|(_, found)| found),
        }
    }
}

/// The edge for a number of elements by the power law through the two samples nearest to it. A step is no larger than
/// to eight times the elements, so that an odd first sample costs little.
fn edge_by_power_law(samples: &[(f64, f64)], wanted: f64) -> f64 {
    let mut near = samples.to_vec();
    near.sort_by(|a, b| (a.1 - wanted.ln()).abs().total_cmp(&(b.1 - wanted.ln()).abs()));
    let (edge, found) = near[0];
    let slope = match near.get(1) {
        Some(&(other_edge, other)) if (other_edge - edge).abs() > 1e-6 => {
            ((other - found) / (other_edge - edge)).clamp(-3.2, -1.2)
        }
        _ => USUAL_SLOPE,
    };
    let most = 8.0_f64.ln();
    (edge + (wanted.ln() - found).clamp(-most, most) / slope).exp()
}
