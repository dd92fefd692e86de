//! Values of the surface carried off it: each sample of the band gets the value of the nearest point of the mesh.

use super::{Body, MeshSettings};
use crate::grid::{Background, BlockGrid};
use crate::level_set::LevelSet;
use unsnarl_geometry::{DVec3, TriMesh};

/// Vertex vectors of a mesh on the samples of its level set, constant along the way to the surface.
///
/// `settings` are those the level set was made with. A sample with no triangle in reach gets zero; it lies beyond the
/// band.
pub(in crate::level_set) fn extend(
    mesh: &TriMesh,
    settings: &MeshSettings,
    level_set: &LevelSet,
    vectors: &[DVec3],
) -> BlockGrid<[f32; 3]> {
    let body = Body::new(mesh, settings);
    let near = body.near_pairs();
    let zero = Background { outside: [0.0; 3], inside: [0.0; 3] };
    let grid = &level_set.grid;
    let width = grid.width();
    grid.map(zero, |slot, _, extended| {
        let block = grid.blocks()[slot.index()];
        let run = near.of_block(body.place(block));
        for place in 0..width.volume() {
            let local = width.local(place);
            let point = body.first_sample(block) + DVec3::from_array(local.map(|c| c as f64));
            let nearest = run
                .iter()
                .map(|&(_, triangle)| (body.planar[triangle as usize].distance_squared(point), triangle as usize))
                .min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let vector = nearest.map_or(DVec3::ZERO, |(_, triangle)| {
                let weights = nearest_weights(point, body.corners[triangle]);
                let corner = |i: usize| mesh.triangles.get(triangle).map_or(DVec3::ZERO, |t| vectors[t[i] as usize]);
                (0..3).map(|i| weights[i] * corner(i)).sum()
            });
            extended.push(vector.as_vec3().to_array());
        }
    })
}

/// The weights of a triangle's corners at its point nearest to another.
fn nearest_weights(point: DVec3, corners: [DVec3; 3]) -> [f64; 3] {
    let [a, b, c] = corners;
    let normal = (b - a).cross(c - a);
    let doubled = normal.length_squared();
    let area_weights = [(b, c), (c, a), (a, b)].map(|(p, q)| (q - p).cross(point - p).dot(normal) / doubled);
    if doubled > 0.0 && area_weights.iter().all(|&w| w >= 0.0) {
        return area_weights;
    }
    let mut best = (f64::INFINITY, [1.0, 0.0, 0.0]);
    for (i, j) in [(0, 1), (1, 2), (2, 0)] {
        let (p, q) = (corners[i], corners[j]);
        let squared = p.distance_squared(q);
        let along = if squared > 0.0 { ((point - p).dot(q - p) / squared).clamp(0.0, 1.0) } else { 0.0 };
        let distance = point.distance_squared(p.lerp(q, along));
        if distance < best.0 {
            let mut weights = [0.0; 3];
            (weights[i], weights[j]) = (1.0 - along, along);
            best = (distance, weights);
        }
    }
    best.1
}
