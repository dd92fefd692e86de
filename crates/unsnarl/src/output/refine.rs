//! Collision-aware subdivision: from a clean coarse mesh a fine smooth one that is clean too.
//!
//! Every level splits each triangle into four, takes the midpoints as start and the smooth positions as targets, and
//! moves vertices there as far as nothing collides ([`super::stop`]); bodies take part as they are. The separation is
//! halved at every level. (Bridson 2003, 3.2)
//!
//! Guarantees: where nothing is near, positions are those of plain subdivision, bit for bit. A coarse mesh that is
//! not clean is refused, or the pairs that meet are left out and counted. The same bits on any number of threads.
//! Does not: promise a clean result by itself: midpoints are rounded. Certify the numbers that are written with
//! [`crate::analysis::verdict`].
//! Departs: bodies are part of the detection, which the text does not say: smoothing shrinks cloth into what it lies
//! on. [`refine_once`] keeps one coarse and one fine mesh at a time; [`refine`] shares all levels among frames. The
//! test that skips detection where displacements are smaller than all gaps is left out: neighbours on a fine mesh are
//! that near, and detection costs no more than finding the smallest gap.

use super::ladder::{Ladder, LadderError, Rung};
use super::stop::{Room, Surroundings, stop_before_contact};
use crate::analysis::{self, Assembly, Verdict};
use crate::geometry::subdivision::{OldVertices, Smoothing, Split, check_size};
use crate::geometry::{DVec3, VertexId};
use serde::Serialize;
use thiserror::Error;

/// Whether anything stops vertices on their way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Collisions {
    /// They stop before they collide.
    #[default]
    StopBefore,
    /// Plain subdivision: nothing is looked at.
    Ignore,
}

/// What to do about pairs that meet at the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StartPairs {
    /// Refuse.
    #[default]
    Refuse,
    /// Leave them out and count them.
    LeaveOut,
}

/// How a mesh is refined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RefineSettings {
    /// The masks, and whether old vertices move.
    pub smoothing: Smoothing,
    /// Distance that no pair goes below at the first level, metres; half of it at the next, and so on. It is at most a
    /// thousandth of the mean edge. Pairs that start nearer than twice the distance keep half of theirs.
    pub separation: f64,
    /// Whether anything stops vertices.
    pub collisions: Collisions,
    /// What to do about pairs that meet at the start.
    pub start_pairs: StartPairs,
}

impl Default for RefineSettings {
    fn default() -> Self {
        Self {
            smoothing: Smoothing::default(),
            separation: 1e-6,
            collisions: Collisions::default(),
            start_pairs: StartPairs::default(),
        }
    }
}

/// How fine a mesh becomes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Depth {
    /// This many levels.
    Levels(u32),
    /// Levels until smoothing moves no vertex of cloth by as much as a length, metres, any more; at most as many.
    Until {
        /// The length.
        displacement: f64,
        /// The most levels.
        most: u32,
    },
}

/// The mesh of the last level.
#[derive(Clone, Debug)]
pub struct Finest {
    /// Connectivity, bodies included.
    pub assembly: Assembly,
    /// Edges that stay sharp.
    pub creases: Vec<[VertexId; 2]>,
    /// How often it was split.
    pub levels: u32,
}

/// Why a mesh was not refined.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RefineError {
    /// The coarse mesh is not clean.
    #[error("{pairs} triangle pairs meet before refinement, {touching} of them touching")]
    NotClean {
        /// Pairs of triangles that meet.
        pairs: usize,
        /// Those of them that touch.
        touching: usize,
    },
    /// There are not as many positions as vertices.
    #[error("{positions} positions for {vertices} vertices")]
    Positions {
        /// Positions that were given.
        positions: usize,
        /// Vertices of the mesh.
        vertices: usize,
    },
    /// A level cannot be made.
    #[error(transparent)]
    Split(#[from] LadderError),
}

/// What happened at one level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LevelReport {
    /// The level, from 1.
    pub level: usize,
    /// Vertices of cloth.
    pub vertices: usize,
    /// Triangles of cloth.
    pub triangles: usize,
    /// How far targets are from midpoints, metres.
    pub displacement: Spread,
    /// Vertices that cloth stopped.
    pub stopped_by_cloth: usize,
    /// Vertices that bodies stopped.
    pub stopped_by_bodies: usize,
    /// Vertices that went a part of the way with those that were stopped.
    pub eased: usize,
    /// Rounds of detection.
    pub rounds: usize,
    /// Pairs that would have collided, over all rounds.
    pub contacts: usize,
    /// Pairs that met at the start and were left out.
    pub left_out_pairs: usize,
    /// How far vertices end from their targets, over all vertices, metres.
    pub distance_to_smooth: Spread,
}

/// Largest and mean of something over all vertices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// The largest.
    pub max: f64,
    /// The mean.
    pub mean: f64,
}

impl Spread {
    fn of_distances(a: &[DVec3], b: &[DVec3]) -> Self {
        let (mut max, mut sum) = (0.0_f64, 0.0);
        for (a, b) in a.iter().zip(b) {
            let distance = a.distance(*b);
            max = max.max(distance);
            sum += distance;
        }
        Self { max, mean: if a.is_empty() { 0.0 } else { sum / a.len() as f64 } }
    }
}

/// A refined frame.
#[derive(Clone, Debug)]
pub struct Refined {
    /// Positions of the finest mesh, bodies included.
    pub positions: Vec<DVec3>,
    /// What met at the start.
    pub start: Verdict,
    /// Vertices that are not where plain subdivision of the same mesh would have put them, with the offset from there.
    pub offsets: Vec<(u32, DVec3)>,
}

/// Refines one frame. `positions` are those of the coarse mesh, bodies included; `on_level`
/// hears of every level as it ends, with its mesh and positions.
pub fn refine(
    ladder: &Ladder,
    positions: &[DVec3],
    settings: &RefineSettings,
    on_level: &mut dyn FnMut(LevelReport, &Assembly, &[DVec3]),
) -> Result<Refined, RefineError> {
    let mut climb = Climb::begin(ladder.coarsest(), positions, settings)?;
    for level in 0..ladder.levels() {
        let fine = ladder.rung(level + 1);
        let aim = climb.aim(ladder.rung(level), ladder.split(level));
        let report = climb.go(fine, aim);
        on_level(report, &fine.assembly, &climb.here);
    }
    Ok(climb.end())
}

/// As [`refine`], for a mesh that has one frame only: a level is let go as soon as the next is there.
pub fn refine_once(
    assembly: Assembly,
    creases: &[[VertexId; 2]],
    positions: &[DVec3],
    depth: Depth,
    settings: &RefineSettings,
    on_level: &mut dyn FnMut(LevelReport, &Assembly, &[DVec3]),
) -> Result<(Refined, Finest), RefineError> {
    let (most, enough) = match depth {
        Depth::Levels(levels) => (levels, None),
        Depth::Until { displacement, most } => (most, Some(displacement)),
    };
    if enough.is_none() {
        check_size(assembly.topology().triangle_count(), most).map_err(LadderError::from)?;
    }
    let mut climb = Climb::begin(&assembly, positions, settings)?;
    let mut coarse = Rung::new(assembly, creases.to_vec());
    let mut levels = 0;
    while levels < most {
        check_size(coarse.assembly.topology().triangle_count(), 1).map_err(LadderError::from)?;
        let (split, fine) = coarse.split().map_err(LadderError::from)?;
        let aim = climb.aim(&coarse, &split);
        coarse = fine;
        let report = climb.go(&coarse, aim);
        levels += 1;
        on_level(report, &coarse.assembly, &climb.here);
        if enough.is_some_and(|enough| report.displacement.max < enough) {
            break;
        }
    }
    Ok((climb.end(), Finest { assembly: coarse.assembly, creases: coarse.creases, levels }))
}

/// How far beyond its end a motion is looked at, as a part of its length. Displacements fall to about a third from
/// level to level (a quarter for smooth surfaces, some more where something was stopped), so that this holds all that
/// later levels add, `1/3 + 1/9 + ...`.
const LATER: f64 = 0.5;

/// The largest separation of the first level, as a part of the mean edge of cloth: where a mesh is smaller than the
/// separation, everything would be near everything.
const SEPARATION_IN_EDGES: f64 = 1e-3;

/// A frame on its way from level to level.
struct Climb<'a> {
    settings: &'a RefineSettings,
    /// That of the first level.
    separation: f64,
    start: Verdict,
    here: Vec<DVec3>,
    /// What plain subdivision gives, where that is not here. Nearly all vertices are, so that it is a list, in order.
    plain: Vec<(u32, DVec3)>,
    level: i32,
}

/// Where the vertices of a level start, and where they want to go.
struct Aim {
    midpoints: Vec<DVec3>,
    targets: Vec<DVec3>,
    /// What plain subdivision gives, where that is not the target, in order.
    plain: Vec<(u32, DVec3)>,
}

impl<'a> Climb<'a> {
    fn begin(assembly: &Assembly, positions: &[DVec3], settings: &'a RefineSettings) -> Result<Self, RefineError> {
        let vertices = assembly.topology().vertex_count();
        if positions.len() != vertices {
            return Err(RefineError::Positions { positions: positions.len(), vertices });
        }
        let start = match settings.collisions {
            Collisions::Ignore => Verdict::default(),
            Collisions::StopBefore => analysis::verdict(assembly, positions, &mut analysis::Workspace::default()),
        };
        if settings.start_pairs == StartPairs::Refuse && !start.is_clean() {
            return Err(RefineError::NotClean { pairs: start.pairs.len(), touching: start.touching_count() });
        }
        let separation = settings.separation.min(SEPARATION_IN_EDGES * mean_edge(assembly, positions));
        Ok(Self { settings, separation, start, here: positions.to_vec(), plain: Vec::new(), level: 0 })
    }

    /// Midpoints and smooth targets of the next level.
    fn aim(&mut self, coarse: &Rung, split: &Split) -> Aim {
        let topology = coarse.assembly.topology();
        let targets_of =
            |positions: &[DVec3]| split.targets(topology, positions, &coarse.creases, self.settings.smoothing);
        let mut here = std::mem::take(&mut self.here);
        let targets = targets_of(&here);
        let midpoints = split.midpoints(topology, &here);
        let mut plain = Vec::new();
        if !self.plain.is_empty() {
            std::mem::take(&mut self.plain).into_iter().for_each(|(vertex, plain)| here[vertex as usize] = plain);
            plain = differing(&targets_of(&here), &targets);
        }
        Aim { midpoints, targets, plain }
    }

    /// Goes to the next level.
    fn go(&mut self, fine: &Rung, Aim { midpoints, targets, plain }: Aim) -> LevelReport {
        let cloth = fine.cloth_count();
        let mut report = LevelReport {
            level: self.level as usize + 1,
            vertices: cloth,
            triangles: cloth_triangles(&fine.assembly),
            displacement: Spread::of_distances(&midpoints[..cloth], &targets[..cloth]),
            stopped_by_cloth: 0,
            stopped_by_bodies: 0,
            eased: 0,
            rounds: 0,
            contacts: 0,
            left_out_pairs: 0,
            distance_to_smooth: Spread::default(),
        };
        self.here = match self.settings.collisions {
            Collisions::Ignore => targets,
            Collisions::StopBefore => {
                let separation = self.separation * 0.5_f64.powi(self.level);
                let room = Room { separation, reach: 1.0 + LATER };
                // Vertices that are kept cannot follow, and a bump with holes is no smoother than none.
                let surroundings = match self.settings.smoothing.old_vertices {
                    OldVertices::Smoothed => Surroundings::Follow,
                    OldVertices::Kept => Surroundings::Stay,
                };
                let stopped = stop_before_contact(fine, (midpoints, &targets), room, surroundings);
                report.stopped_by_cloth = stopped.by_cloth;
                report.stopped_by_bodies = stopped.by_bodies;
                report.eased = stopped.eased;
                report.rounds = stopped.rounds;
                report.contacts = stopped.contacts;
                report.left_out_pairs = stopped.left_out;
                if let Some(end) = stopped.end {
                    report.distance_to_smooth = Spread::of_distances(&end[..cloth], &targets[..cloth]);
                    let mut known = plain.into_iter().peekable();
                    let aims = targets.iter().enumerate().map(|(vertex, &target)| {
                        known.next_if(|&(own, _)| own as usize == vertex).map_or(target, |(_, plain)| plain)
                    });
                    let pairs = aims.zip(&end).enumerate().filter(|(_, (plain, here))| plain != *here);
                    self.plain = pairs.map(|(vertex, (plain, _))| (vertex as u32, plain)).collect();
                    end
                } else {
                    self.plain = plain;
                    targets
                }
            }
        };
        self.level += 1;
        report
    }

    fn end(self) -> Refined {
        let offset = |&(vertex, plain): &(u32, DVec3)| (vertex, self.here[vertex as usize] - plain);
        let offsets = self.plain.iter().map(offset).collect();
        Refined { positions: self.here, start: self.start, offsets }
    }
}

/// Those of some positions that are not the same as others, with their vertices.
fn differing(positions: &[DVec3], others: &[DVec3]) -> Vec<(u32, DVec3)> {
    let different = positions.iter().zip(others).enumerate().filter(|(_, (own, other))| own != other);
    different.map(|(vertex, (&own, _))| (vertex as u32, own)).collect()
}

/// Triangles of cloth.
fn cloth_triangles(assembly: &Assembly) -> usize {
    let parts = assembly.parts().iter();
    parts.filter(|part| part.kind == analysis::PartKind::Cloth).map(|part| part.triangles.len()).sum()
}

/// The mean length of the edges of cloth; infinite where there is none.
fn mean_edge(assembly: &Assembly, positions: &[DVec3]) -> f64 {
    let is_cloth = |part: &&analysis::Part| part.kind == analysis::PartKind::Cloth;
    let end = assembly.parts().iter().filter(is_cloth).map(|part| part.vertices.end).max().unwrap_or(0);
    let own = assembly.topology().edges().iter().take_while(|[first, _]| first.index() < end);
    let (mut sum, mut count) = (0.0, 0_usize);
    for &[a, b] in own {
        sum += positions[a.index()].distance(positions[b.index()]);
        count += 1;
    }
    if count == 0 { f64::INFINITY } else { sum / count as f64 }
}
