//! Stage 3: where cloth crosses. Positions in, a [`Tangle`] out.
//!
//! Edge-triangle crossings are joined into contours ([`contour`]), each contour gets its kind ([`kind`]), the sides of
//! its two traces are filled ([`region`]), and the fills become colours ([`colour`]). (Baraff, Witkin and Kass 2003,
//! section 5; Cha 2022, chapters 2 and 3)
//!
//! Guarantees: every decision that shapes a contour is exact and symbolic, so degenerate input gives contours as
//! consistent as any other, and the result depends neither on threads nor on history.
//! Does not: say whether touching counts as tangled; [`verdict`] does, for closed triangles.
//! Departs: general position comes from vertex order instead of random noise, and no vertex is moved.

pub mod assembly;
pub mod colour;
pub mod contour;
mod examine;
mod flood;
pub mod gap;
pub mod inside;
pub mod kind;
pub mod region;
pub mod report;
pub mod rest_distance;
pub mod verdict;

pub use assembly::{Assembly, Part, PartKind};
pub use colour::{Colours, GiaColour, GiaRegion};
pub use contour::{Contour, ContourEnd, ContourPoint, Trace};
pub use examine::{Examination, SmallestGap, examine, examine_unless};
pub use gap::{Exemption, GapFindings, GapReport};
pub use kind::ContourKind;
pub use rest_distance::RestDistances;
pub use verdict::{Verdict, smallest_gap, verdict};

use unsnarl_geometry::bvh::Bvh;
use unsnarl_geometry::intersection::{
    CrossingPair, Habit, LastSearch, SMALL_MESH, find_crossing_pairs, find_crossing_pairs_again, triangle_tree,
};
use unsnarl_geometry::{DVec3, Topology, VertexId};

/// Memory that is kept between analyses of one assembly. Dropping it changes no result.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    tree: Option<Bvh>,
    habit: Habit,
    /// What crossed in the last analysis.
    last: LastSearch,
    floods: flood::FloodMemory,
}

impl Workspace {
    /// The tree over the triangles at these positions: built at first, refitted afterwards.
    pub fn tree(&mut self, topology: &Topology, positions: &[DVec3]) -> &Bvh {
        self.fit(topology, positions).0
    }

    fn fit(&mut self, topology: &Topology, positions: &[DVec3]) -> (&Bvh, &mut Habit, &mut LastSearch) {
        let fits =
            |tree: &&mut Bvh| (tree.item_count(), tree.point_count()) == (topology.triangle_count(), positions.len());
        if let Some(tree) = self.tree.as_mut().filter(fits) {
            tree.refit_on_points(positions);
        } else {
            (self.tree, self.habit, self.last) = (None, Habit::default(), LastSearch::default());
        }
        (self.tree.get_or_insert_with(|| triangle_tree(topology, positions)), &mut self.habit, &mut self.last)
    }

    /// The pairs of triangles that cross at these positions and count, looked for only where something has moved
    /// since the last analysis or search of this kind.
    pub(crate) fn crossing_pairs_again(&mut self, assembly: &Assembly, positions: &[DVec3]) -> Vec<CrossingPair> {
        self.crossing_pairs_unless(assembly, positions, &|| false)
    }

    /// The same; once `stop` says so, pairs are passed over, and neither the result nor this workspace means anything.
    fn crossing_pairs_unless(
        &mut self,
        assembly: &Assembly,
        positions: &[DVec3],
        stop: &(impl Fn() -> bool + Sync),
    ) -> Vec<CrossingPair> {
        let (tree, habit, last) = self.fit(assembly.topology(), positions);
        let counts = |a, b| !stop() && assembly.counts(a, b);
        find_crossing_pairs_again(assembly.topology(), positions, tree, (habit, last), counts)
    }

    /// The pairs of triangles that cross at these positions, of those that are wanted.
    pub(crate) fn crossing_pairs(
        &mut self,
        topology: &Topology,
        positions: &[DVec3],
        wanted: impl Fn(usize, usize) -> bool + Sync,
    ) -> Vec<CrossingPair> {
        let (tree, habit, _) = self.fit(topology, positions);
        find_crossing_pairs(topology, positions, tree, habit, wanted)
    }
}

/// Everything that crosses: contours, their kinds, their regions, and the colours of all together.
#[derive(Clone, Debug, Default)]
pub struct Tangle {
    /// The contours, ordered by their smallest triangle pair.
    pub contours: Vec<TangledContour>,
    /// The colours over all contours together.
    pub colours: Colours,
}

/// A contour with what was found out about it.
#[derive(Clone, Debug)]
pub struct TangledContour {
    /// The curve and its two traces.
    pub contour: Contour,
    /// One of the seven kinds, or [`ContourKind::Other`].
    pub kind: ContourKind,
    /// What its traces cut off.
    pub regions: region::ContourRegions,
}

/// Finds everything that crosses.
pub fn analyze(assembly: &Assembly, positions: &[DVec3], workspace: &mut Workspace) -> Tangle {
    analyze_unless(assembly, positions, workspace, &|| false)
}

/// As [`analyze`]; once `stop` says so, what comes out means nothing, and neither does the workspace.
fn analyze_unless(
    assembly: &Assembly,
    positions: &[DVec3],
    workspace: &mut Workspace,
    stop: &(impl Fn() -> bool + Sync),
) -> Tangle {
    in_pool(assembly.topology(), || analyze_in_pool(assembly, positions, workspace, stop))
}

/// One entry into the thread pool instead of one for each parallel loop, and none where there is nothing to share out.
fn in_pool<R: Send>(topology: &Topology, work: impl FnOnce() -> R + Send) -> R {
    if topology.triangle_count() < SMALL_MESH { work() } else { rayon::scope(|_| work()) }
}

fn analyze_in_pool(
    assembly: &Assembly,
    positions: &[DVec3],
    workspace: &mut Workspace,
    stop: &(impl Fn() -> bool + Sync),
) -> Tangle {
    let topology = assembly.topology();
    let pairs = workspace.crossing_pairs_unless(assembly, positions, stop);
    if pairs.is_empty() || stop() {
        return Tangle::default();
    }
    let contours = contour::trace(topology, positions, &pairs);
    let insides = inside::BodyInsides::new(assembly, positions, &contours);
    let memory = &mut workspace.floods;
    let mut around = region::Surroundings { assembly, positions, insides: &insides, memory };
    let contours: Vec<TangledContour> = contours
        .into_iter()
        .take_while(|_| !stop())
        .map(|contour| {
            let crossings = kind::TraceCrossings::find(topology, positions, &contour);
            let kind = kind::classify(&contour, crossings);
            let regions = region::regions(&mut around, &contour, kind, crossings);
            TangledContour { contour, kind, regions }
        })
        .collect();
    let colours = colour::colour(topology, &contours);
    Tangle { contours, colours }
}

impl Tangle {
    /// Whether nothing crosses.
    pub fn is_empty(&self) -> bool {
        self.contours.is_empty()
    }

    /// How many contours of a kind there are.
    pub fn count(&self, kind: ContourKind) -> usize {
        self.contours.iter().filter(|contour| contour.kind == kind).count()
    }

    /// All loop vertices, sorted.
    pub fn loop_vertices(&self) -> Vec<VertexId> {
        let mut vertices: Vec<VertexId> =
            self.contours.iter().flat_map(|tangled| tangled.contour.loop_vertices()).collect();
        vertices.sort_unstable();
        vertices.dedup();
        vertices
    }
}
