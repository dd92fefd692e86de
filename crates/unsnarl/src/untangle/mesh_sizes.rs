//! The size of the mesh at every vertex, by which distances and moves are measured.

use crate::model::Model;
use unsnarl_geometry::VertexId;

/// The size of the mesh at each vertex of cloth: the mean of the edges of its triangles at rest, but at most twice
/// their least height, so that slivers are not asked to keep a distance that they do not have. Vertices of bodies,
/// which
/// follow, get the largest.
pub fn mesh_sizes(model: &Model, vertex_count: usize) -> Vec<f64> {
    let size_at = |vertex: usize| {
        let triangles = model.topology.vertex_triangles(VertexId::new(vertex));
        let (mut edges, mut least) = (0.0, f64::INFINITY);
        for triangle in triangles {
            let shape = &model.rest_shapes[triangle.index()];
            let lengths = shape.lengths();
            edges += lengths.iter().sum::<f64>() / 3.0;
            let longest = lengths.into_iter().fold(f64::MIN_POSITIVE, f64::max);
            least = least.min(2.0 * shape.area() / longest);
        }
        if triangles.is_empty() { 0.0 } else { (edges / triangles.len() as f64).min(2.0 * least) }
    };
    let mut sizes: Vec<f64> = (0..model.topology.vertex_count()).map(size_at).collect();
    let largest = sizes.iter().copied().fold(0.0, f64::max);
    sizes.resize(vertex_count, largest);
    sizes
}
