//! The tally of edge shortening: how many pulls there were off seams, on seams and at darts, and how many steps each took.
//! (Cha 2022, table 6.1)
//!
//! A pull counts when it is let go for the first time, that is when what it pulled is no longer red; pulls that are given up
//! with everything else (because cloth was moved otherwise) do not count.
//!
//! Departs: a vertex on a seam counts as on the seam even where the sewn panels would lie flat beside each other.

use crate::scene::garment::Garment;
use crate::untangle::resolvers::esef::Pull;
use rustc_hash::FxHashMap;
use serde::Serialize;
use unsnarl_geometry::VertexId;

/// Where a vertex lies in the pattern of its garment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SeamPlace {
    /// Within a panel, or on its border.
    #[default]
    OffSeam,
    /// Where two panels are sewn, or one to itself.
    OnSeam,
    /// On a seam that ends within its panel.
    AtDart,
}

impl SeamPlace {
    /// The place of every vertex of a garment.
    pub fn chart(garment: &Garment) -> Vec<Self> {
        let (topology, panels) = (&garment.topology, &garment.panels);
        let mut places = vec![Self::OffSeam; topology.vertex_count()];
        for &edge in &panels.seam_edges {
            topology.edge(edge).iter().for_each(|end| places[end.index()] = Self::OnSeam);
        }
        let is_within_a_panel = |edge| {
            let mut panels = topology.edge_triangles(edge).iter().map(|triangle| panels.of_triangle[triangle.index()]);
            panels.next() == panels.next()
        };
        let mut front: Vec<VertexId> = panels.darts.iter().map(|dart| dart.apex).collect();
        while let Some(vertex) = front.pop() {
            if std::mem::replace(&mut places[vertex.index()], Self::AtDart) == Self::AtDart {
                continue;
            }
            let sewn = topology.vertex_edges(vertex).iter().copied();
            let sewn = sewn.filter(|edge| panels.seam_edges.binary_search(edge).is_ok() && is_within_a_panel(*edge));
            front.extend(sewn.map(|edge| topology.other_end(edge, vertex)));
        }
        places
    }
}

/// How many pulls there were in one kind of place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PullCount {
    /// Pulls that came to their end.
    pub count: usize,
    /// Steps in which they pulled, together.
    pub steps: usize,
}

impl std::ops::AddAssign for PullCount {
    fn add_assign(&mut self, other: Self) {
        self.count += other.count;
        self.steps += other.steps;
    }
}

/// Pulls by place: a shrinkage counts where the worse of its two vertices lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PullCounts {
    /// Within panels.
    pub off_seam: PullCount,
    /// On seams.
    pub on_seam: PullCount,
    /// At darts.
    pub at_dart: PullCount,
}

impl std::ops::AddAssign for PullCounts {
    fn add_assign(&mut self, other: Self) {
        self.off_seam += other.off_seam;
        self.on_seam += other.on_seam;
        self.at_dart += other.at_dart;
    }
}

impl PullCounts {
    /// All together.
    pub fn all(&self) -> PullCount {
        let each = [self.off_seam, self.on_seam, self.at_dart];
        PullCount { count: each.iter().map(|one| one.count).sum(), steps: each.iter().map(|one| one.steps).sum() }
    }
}

/// Counts pulls as they go on and end.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    places: Vec<SeamPlace>,
    steps: FxHashMap<VertexId, usize>,
    counts: PullCounts,
}

impl Tally {
    /// For vertices at these places; off seams where none is given.
    pub fn new(places: Vec<SeamPlace>) -> Self {
        Self { places, ..Self::default() }
    }

    /// What came to its end so far.
    pub fn counts(&self) -> PullCounts {
        self.counts
    }

    /// A pull goes on for a step.
    pub(in crate::untangle) fn pulled(&mut self, pull: &Pull) {
        *self.steps.entry(pull.subjects[0]).or_default() += 1;
    }

    /// A pull is being given back.
    pub(in crate::untangle) fn let_go(&mut self, pull: &Pull) {
        let Some(steps) = self.steps.remove(&pull.subjects[0]) else { return };
        let place = |vertex: &VertexId| self.places.get(vertex.index()).copied().unwrap_or_default();
        let worst = pull.subjects.iter().map(place).max_by_key(|place| *place as u8).unwrap_or_default();
        let count = match worst {
            SeamPlace::OffSeam => &mut self.counts.off_seam,
            SeamPlace::OnSeam => &mut self.counts.on_seam,
            SeamPlace::AtDart => &mut self.counts.at_dart,
        };
        count.count += 1;
        count.steps += steps;
    }

    /// All pulls were dropped.
    pub fn forget_open(&mut self) {
        self.steps.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::garment::{GarmentDescription, GarmentInput};
    use unsnarl_geometry::math::{DVec2, DVec3};
    use unsnarl_geometry::{TriMesh, UvMap};

    /// A cone of four triangles, closed along the edge from vertex 0 to vertex 1: a dart.
    fn cone() -> Garment {
        let point = |step: f64| DVec2::from_angle(step * 80.0_f64.to_radians());
        let uv = UvMap {
            coordinates: vec![DVec2::ZERO, point(0.0), point(1.0), point(2.0), point(3.0), point(4.0)],
            triangles: vec![[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5]],
        };
        let ring = |step: f64| {
            let flat = DVec2::from_angle(step * std::f64::consts::FRAC_PI_2) * 0.9;
            DVec3::new(flat.x, flat.y, -0.43)
        };
        let mesh = TriMesh {
            positions: vec![DVec3::ZERO, ring(0.0), ring(1.0), ring(2.0), ring(3.0)],
            triangles: vec![[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 1]],
        };
        Garment::build(&GarmentInput::new(&mesh, Some(&uv)), &GarmentDescription::default()).unwrap()
    }

    #[test]
    fn a_dart_is_told_from_cloth_around_it() {
        let places = SeamPlace::chart(&cone());
        assert_eq!(places[..2], [SeamPlace::AtDart; 2]);
        assert_eq!(places[2..], [SeamPlace::OffSeam; 3]);
    }

    #[test]
    fn a_pull_counts_once_with_all_its_steps_where_it_was() {
        let mut tally = Tally::new(SeamPlace::chart(&cone()));
        let pull = |subjects: &[u32]| Pull {
            subjects: subjects.iter().copied().map(VertexId).collect(),
            target: VertexId(4),
            remaining: 0.5,
        };
        (0..5).for_each(|_| tally.pulled(&pull(&[3])));
        (0..2).for_each(|_| tally.let_go(&pull(&[3])));
        tally.pulled(&pull(&[2, 1]));
        tally.let_go(&pull(&[2, 1]));
        let counts = tally.counts();
        assert_eq!(counts.off_seam, PullCount { count: 1, steps: 5 });
        assert_eq!(counts.at_dart, PullCount { count: 1, steps: 1 }, "the worse of the two vertices counts");
        assert_eq!(counts.all(), PullCount { count: 2, steps: 6 });
    }
}
