//! What became of a fold: whether its flap lies on the front or the back of the cloth, or is unfolded.

use unsnarl::fix::FoldStyle;
use unsnarl::geometry::distance::point_triangle;
use unsnarl::geometry::{DVec2, DVec3};
use unsnarl::samples::Sample;

/// Where the fold of a made case is.
pub struct FoldPlace {
    pub case: &'static str,
    /// The part that folds.
    part: &'static str,
    /// From the fold to the free border, in the panel.
    toward_border: DVec2,
    /// Length of the flap with its bend, and of the bend, metres.
    flap: f64,
    bend: f64,
}

const HALF_TURN: f64 = std::f64::consts::PI;

/// The four made cases with a fold. Lengths are those of the samples.
pub const FOLDS: [FoldPlace; 4] = [
    FoldPlace { case: "collar", part: "collar", toward_border: DVec2::Y, flap: 0.045, bend: HALF_TURN * 0.006 },
    FoldPlace { case: "lapel", part: "front", toward_border: DVec2::X, flap: 0.08, bend: 0.0 },
    FoldPlace { case: "sleeve", part: "sleeve", toward_border: DVec2::NEG_Y, flap: 0.07, bend: HALF_TURN * 0.006 },
    FoldPlace { case: "skirt", part: "skirt", toward_border: DVec2::NEG_Y, flap: 0.14, bend: HALF_TURN * 0.012 },
];

/// Where a style wants the flap.
#[derive(Clone, Copy)]
pub enum Asked {
    Out,
    Inward,
    Unfolded,
}

/// Shares of the flap.
pub struct FoldOutcome {
    /// Turned over, on the front of the cloth that it lies on.
    pub out: f64,
    /// Turned over, on the back.
    pub inward: f64,
    /// Facing as the cloth that it hangs on.
    pub unfolded: f64,
}

impl FoldOutcome {
    /// Whether nine tenths of the flap are where they are asked to be.
    pub fn is(&self, asked: Asked) -> bool {
        let share = match asked {
            Asked::Out => self.out,
            Asked::Inward => self.inward,
            Asked::Unfolded => self.unfolded,
        };
        share >= 0.9
    }
}

impl FoldPlace {
    /// What a style asks for, or the design of the garment where there is none.
    pub fn asked_by(&self, style: Option<FoldStyle>) -> Asked {
        match style {
            Some(FoldStyle::FoldOut) => Asked::Out,
            Some(FoldStyle::FoldIn) => Asked::Inward,
            Some(FoldStyle::Unfold) => Asked::Unfolded,
            Some(FoldStyle::Crease) | None if matches!(self.case, "collar" | "lapel") => Asked::Out,
            Some(FoldStyle::Crease) | None => Asked::Unfolded,
        }
    }

    /// Looks from every vertex of the outer half of the flap at the nearest point of the cloth before the fold.
    pub fn look(&self, sample: &Sample, positions: &[DVec3]) -> FoldOutcome {
        let points = self.panel_points(sample);
        let along = |point: DVec2| point.dot(self.toward_border);
        let border = points.iter().flatten().map(|&point| along(point)).fold(f64::NEG_INFINITY, f64::max);
        let beyond = |vertex: usize| points[vertex].map(|point| self.flap - (border - along(point)));
        let is_ground = |corner: &u32| beyond(*corner as usize).is_none_or(|beyond| beyond <= 0.5 * self.bend);
        let ground: Vec<[u32; 3]> =
            sample.mesh.triangles.iter().filter(|corners| corners.iter().all(is_ground)).copied().collect();
        let normals = normals(sample, positions);
        let (mut counts, mut all) = ([0.0; 3], 0.0);
        for (vertex, place) in positions.iter().enumerate() {
            // Half of the flap, from its border: the bend is as wide as it likes to be.
            if beyond(vertex).is_none_or(|beyond| beyond < self.bend + 0.5 * (self.flap - self.bend)) {
                continue;
            }
            let seen = ground.iter().map(|&corners| {
                let closest = point_triangle(*place, corners.map(|corner| positions[corner as usize]));
                let parts = corners.iter().zip(closest.weights);
                let normal: DVec3 = parts.map(|(&corner, weight)| weight * normals[corner as usize]).sum();
                (closest.distance_squared(), closest.offset.dot(normal), normal)
            });
            let Some((_, height, normal)) = seen.min_by(|a, b| a.0.total_cmp(&b.0)) else { continue };
            let what = match normals[vertex].dot(normal) {
                facing if facing > 0.0 => 2,
                _ => usize::from(height < 0.0),
            };
            counts[what] += 1.0;
            all += 1.0;
        }
        let [out, inward, unfolded] = counts.map(|count: f64| count / f64::max(all, 1.0));
        FoldOutcome { out, inward, unfolded }
    }

    /// The panel point of every vertex of the part.
    fn panel_points(&self, sample: &Sample) -> Vec<Option<DVec2>> {
        let mut points = vec![None; sample.mesh.positions.len()];
        for part in sample.parts.iter().filter(|part| part.name == self.part) {
            for triangle in part.triangles.clone() {
                for (corner, point) in sample.mesh.triangles[triangle].iter().zip(sample.uv.triangles[triangle]) {
                    points[*corner as usize] = Some(sample.uv.coordinates[point as usize]);
                }
            }
        }
        points
    }
}

/// The normal of every vertex, by area.
fn normals(sample: &Sample, positions: &[DVec3]) -> Vec<DVec3> {
    let mut normals = vec![DVec3::ZERO; positions.len()];
    for corners in &sample.mesh.triangles {
        let [a, b, c] = corners.map(|corner| positions[corner as usize]);
        corners.iter().for_each(|&corner| normals[corner as usize] += (b - a).cross(c - a));
    }
    normals.into_iter().map(DVec3::normalize_or_zero).collect()
}
