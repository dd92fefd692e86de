//! The input with smaller triangles where its own left the border no room.
//!
//! Triangles are halved at their longest edge, with all that share the edge, until no edge is halved on one side only
//! (Rivara 1984). New vertices are middles of edges, so that the surface stays what it was.
//!
//! Guarantees: a mesh without hanging nodes; vertices of the input come first and keep their bits; the same triangles
//! from run to run.

use super::surface::Surface;
use unsnarl_geometry::{EdgeId, Topology, TriMesh, TriangleId};

/// Smaller triangles near some: each halving takes the triangles with a vertex of the last choice along.
const HALVINGS: usize = 2;

/// A surface with its edges halved around some triangles.
pub(super) fn around(surface: &Surface<'_>, triangles: &[TriangleId]) -> TriMesh {
    let mut is_near = vec![false; surface.positions.len()];
    for corner in triangles.iter().flat_map(|&triangle| surface.topology.triangle(triangle)) {
        is_near[corner.index()] = true;
    }
    let old = surface.topology.triangles().iter().map(|corners| corners.map(|corner| corner.0)).collect();
    let mut mesh = TriMesh { positions: surface.positions.to_vec(), triangles: old };
    for _ in 0..HALVINGS {
        halve(&mut mesh, &mut is_near);
    }
    mesh
}

/// Halves the triangles with a near vertex at their longest edges; the new vertices are near too.
fn halve(mesh: &mut TriMesh, is_near: &mut Vec<bool>) {
    let Ok(topology) = Topology::new(mesh.positions.len(), &mesh.triangles) else { return };
    let longest = |triangle: TriangleId| {
        let length = |edge: EdgeId| {
            let [a, b] = topology.edge(edge).map(|vertex| mesh.positions[vertex.index()]);
            (a.distance_squared(b), edge)
        };
        let sides = topology.triangle_edges(triangle);
        (0..3).max_by(|&a, &b| {
            let (a, b) = (length(sides[a]), length(sides[b]));
            a.0.total_cmp(&b.0).then(b.1.cmp(&a.1))
        })
    };
    let longest: Vec<usize> =
        (0..topology.triangle_count()).map(|triangle| longest(TriangleId::new(triangle)).unwrap_or(0)).collect();
    let mut middles = vec![None; topology.edge_count()];
    let is_wanted = |triangle: &usize| mesh.triangles[*triangle].iter().any(|&corner| is_near[corner as usize]);
    let mut waiting: Vec<usize> = (0..mesh.triangles.len()).filter(is_wanted).collect();
    while let Some(triangle) = waiting.pop() {
        let edge = topology.triangle_edges(TriangleId::new(triangle))[longest[triangle]];
        if middles[edge.index()].is_none() {
            let [a, b] = topology.edge(edge).map(|vertex| mesh.positions[vertex.index()]);
            middles[edge.index()] = Some(mesh.positions.len() as u32);
            mesh.positions.push(0.5 * (a + b));
            is_near.push(true);
            waiting.extend(topology.edge_triangles(edge).iter().map(|triangle| triangle.index()));
        }
    }
    let mut triangles = Vec::with_capacity(mesh.triangles.len());
    for (at, &corners) in mesh.triangles.iter().enumerate() {
        let turn = |step: usize| (longest[at] + step) % 3;
        let middle = |step: usize| middles[topology.triangle_edges(TriangleId::new(at))[turn(step)].index()];
        let [a, b, c] = [0, 1, 2].map(|step| corners[turn(step)]);
        let Some(ab) = middle(0) else {
            triangles.push(corners);
            continue;
        };
        match middle(1) {
            Some(bc) => triangles.extend([[ab, b, bc], [ab, bc, c]]),
            None => triangles.push([ab, b, c]),
        }
        match middle(2) {
            Some(ca) => triangles.extend([[a, ab, ca], [ab, c, ca]]),
            None => triangles.push([a, ab, c]),
        }
    }
    mesh.triangles = triangles;
}

#[cfg(test)]
mod tests {
    use super::*;
    use unsnarl_geometry::DVec3;

    fn area_and_edges(mesh: &TriMesh) -> (f64, Topology) {
        let corners = |triangle: &[u32; 3]| triangle.map(|vertex| mesh.positions[vertex as usize]);
        let doubled = mesh.triangles.iter().map(corners).map(|[a, b, c]| (b - a).cross(c - a).z);
        let topology = Topology::new(mesh.positions.len(), &mesh.triangles).expect("a mesh");
        assert!(doubled.clone().all(|area| area > 0.0));
        (0.5 * doubled.sum::<f64>(), topology)
    }

    #[test]
    fn halved_triangles_cover_the_same_sheet_without_hanging_nodes() {
        let n = 8_u32;
        let wave = |x: u32, y: u32| 0.3 * f64::from(x * 7 + y * 3).sin();
        let positions = (0..(n + 1) * (n + 1)).map(|at| (at % (n + 1), at / (n + 1))).map(|(x, y)| {
            let is_border = x % n == 0 || y % n == 0;
            DVec3::new(f64::from(x), f64::from(y), 0.0) + if is_border { DVec3::ZERO } else { DVec3::X * wave(x, y) }
        });
        let corner = |x: u32, y: u32| x + (n + 1) * y;
        let quads = (0..n * n).map(|at| (at % n, at / n));
        let triangles = quads.flat_map(|(x, y)| {
            let [a, b, c, d] = [corner(x, y), corner(x + 1, y), corner(x + 1, y + 1), corner(x, y + 1)];
            [[a, b, c], [a, c, d]]
        });
        let sheet = TriMesh { positions: positions.collect(), triangles: triangles.collect() };
        let (area, topology) = area_and_edges(&sheet);
        let surface = Surface::new(&topology, &sheet.positions, sheet.positions.len());
        let finer = around(&surface, &[TriangleId::new(64)]);
        assert_eq!(finer.positions[..sheet.positions.len()], sheet.positions);
        let (finer_area, finer_topology) = area_and_edges(&finer);
        assert!((area - finer_area).abs() < 1e-12 && (area - 64.0).abs() < 1e-12);
        let count = |topology: &Topology| {
            (0..topology.edge_count()).filter(|&edge| topology.is_boundary(EdgeId::new(edge))).count()
        };
        // A hanging node would be a hole.
        assert_eq!(finer_topology.component_count(), 1);
        let euler = |topology: &Topology| {
            topology.vertex_count() as i64 - topology.edge_count() as i64 + topology.triangle_count() as i64
        };
        assert_eq!(euler(&finer_topology), 1);
        assert!(count(&finer_topology) >= count(&topology));
        assert!(finer.triangles.len() > sheet.triangles.len() + 20);
        assert!(finer.triangles.len() < 4 * sheet.triangles.len());
    }
}
