//! Quality of a tetrahedral mesh, and whether it is one: shapes, signs, boundary, connectivity.
//!
//! Aspect is the longest edge over the shortest altitude, dihedral angles are between faces inside the tetrahedron
//! (Bridson 2003, table 5.2). Signs come from exact predicates. The three conditions are those of section 5.4: (A) the
//! boundary is a manifold, (B) no tetrahedron has four boundary nodes, (C) no interior edge joins two boundary nodes;
//! interior triangles with three boundary nodes (footnote 1 there) are counted too.
//!
//! Guarantees: the same bits on any number of threads; any mesh whose tetrahedra name existing nodes is measured.
//! Does not: look for tetrahedra that overlap without sharing a face; `unsnarl check` of the boundary finds those that
//! reach it.
//! Departs: aspects and angles cover positive tetrahedra only; inverted and flat ones are counted beside them.

use super::{EDGES, OUTWARD_FACES, TetMesh};
use rayon::prelude::*;
use unsnarl_geometry::DVec3;
use unsnarl_geometry::predicates::{Sign, orient3d};

/// Tetrahedra a task takes; sums are added task by task, in order.
const CHUNK: usize = 4096;

/// Bins of [`Shapes::dihedral_histogram`]: ten degrees each.
pub const DIHEDRAL_BINS: usize = 18;
/// Bins of [`Shapes::aspect_histogram`]: half each, from 1 on; the last takes everything from 10 on.
pub const ASPECT_BINS: usize = 19;

/// The shape of one tetrahedron.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Longest edge over shortest altitude; infinite for a flat one. Regular: 1.2247.
    pub aspect: f64,
    /// The six angles between faces, degrees, in the order of [`super::EDGES`].
    pub dihedrals_degrees: [f64; 6],
    /// The volume, positive for a positive orientation.
    pub volume: f64,
}

/// Measures one tetrahedron.
pub fn shape(corners: [DVec3; 4]) -> Shape {
    let [a, b, c, d] = corners;
    // Twice the areas times the outward normals.
    let normals = OUTWARD_FACES.map(|[i, j, k]| (corners[j] - corners[i]).cross(corners[k] - corners[i]));
    let volume = (b - a).cross(c - a).dot(d - a) / 6.0;
    let longest_squared = EDGES.iter().map(|&[i, j]| corners[i].distance_squared(corners[j])).fold(0.0, f64::max);
    let largest_face = normals.iter().map(|normal| normal.length_squared()).fold(0.0, f64::max).sqrt();
    // altitude = 3 volume / area = 6 volume / |normal|
    let aspect = longest_squared.sqrt() * largest_face / (6.0 * volume.abs());
    let dihedrals_degrees = EDGES.map(|[i, j]| {
        // The faces at edge (i, j) are those opposite the two other corners.
        let [k, l] = other_two(i, j);
        let (first, second) = (normals[k], normals[l]);
        first.cross(second).length().atan2(-first.dot(second)).to_degrees()
    });
    Shape { aspect: if aspect.is_nan() { f64::INFINITY } else { aspect }, dihedrals_degrees, volume }
}

fn other_two(i: usize, j: usize) -> [usize; 2] {
    let mut rest = (0..4).filter(|&corner| corner != i && corner != j);
    [rest.next().unwrap_or(0), rest.next().unwrap_or(0)]
}

/// The exact sign of a tetrahedron's volume, positive when `(b-a) x (c-a) . (d-a) > 0`.
pub fn orientation([a, b, c, d]: [DVec3; 4]) -> Sign {
    -orient3d(a, b, c, d)
}

/// The aspect of every tetrahedron, as files keep it.
pub fn aspects(mesh: &TetMesh) -> Vec<f64> {
    mesh.tets.par_iter().with_min_len(CHUNK).map(|tet| shape(corners(mesh, tet)).aspect).collect()
}

fn corners(mesh: &TetMesh, tet: &[u32; 4]) -> [DVec3; 4] {
    tet.map(|node| mesh.positions[node as usize])
}

/// Everything that is measured.
#[derive(Clone, Debug, PartialEq)]
pub struct TetMeasures {
    /// Tetrahedra.
    pub tets: usize,
    /// Nodes that a tetrahedron names.
    pub nodes: usize,
    /// Nodes that none names.
    pub unused_nodes: usize,
    /// Edges.
    pub edges: usize,
    /// Pieces, joined by nodes.
    pub components: usize,
    /// Tetrahedra of negative volume, exactly.
    pub inverted: usize,
    /// Tetrahedra of no volume, exactly, or that name a node twice.
    pub degenerate: usize,
    /// The first tetrahedron that is inverted or flat.
    pub first_bad: Option<usize>,
    /// Faces of three or more tetrahedra.
    pub overfull_faces: usize,
    /// Shapes of the positive tetrahedra.
    pub shapes: Shapes,
    /// The shortest edge.
    pub shortest_edge: f64,
    /// The longest edge.
    pub longest_edge: f64,
    /// The mean edge.
    pub mean_edge: f64,
    /// The surface.
    pub boundary: BoundaryMeasures,
    /// Tetrahedra with four boundary nodes: condition (B) wants none.
    pub tets_on_boundary: usize,
    /// Interior edges between two boundary nodes: condition (C) wants none.
    pub chords: usize,
    /// Interior triangles between three boundary nodes.
    pub inner_triangles_on_boundary: usize,
}

/// Statistics over the positive tetrahedra.
#[derive(Clone, Debug, PartialEq)]
pub struct Shapes {
    /// How many there are.
    pub count: usize,
    /// The best aspect; 0 without a positive tetrahedron, and so are the others.
    pub smallest_aspect: f64,
    /// The mean aspect.
    pub mean_aspect: f64,
    /// The worst aspect.
    pub largest_aspect: f64,
    /// The tetrahedron that has it.
    pub worst_tet: Option<usize>,
    /// The smallest dihedral angle, degrees.
    pub smallest_dihedral_degrees: f64,
    /// The largest dihedral angle, degrees.
    pub largest_dihedral_degrees: f64,
    /// The sum of the volumes.
    pub volume: f64,
    /// Dihedral angles in bins of ten degrees.
    pub dihedral_histogram: [u64; DIHEDRAL_BINS],
    /// Aspects in bins of a half from 1 on.
    pub aspect_histogram: [u64; ASPECT_BINS],
}

/// What the surface is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundaryMeasures {
    /// Its triangles.
    pub triangles: usize,
    /// Its nodes.
    pub nodes: usize,
    /// Its edges.
    pub edges: usize,
    /// Its pieces.
    pub components: usize,
    /// Edges with other than two of its triangles.
    pub non_manifold_edges: usize,
    /// Nodes around which its triangles are more than one ring.
    pub non_manifold_nodes: usize,
    /// The number of handles of all pieces, where the surface is a manifold.
    pub genus: Option<usize>,
}

impl BoundaryMeasures {
    /// Condition (A).
    pub fn is_manifold(&self) -> bool {
        self.non_manifold_edges == 0 && self.non_manifold_nodes == 0
    }
}

impl TetMeasures {
    /// Whether every tetrahedron is positive and no face has three of them.
    pub fn is_valid(&self) -> bool {
        self.inverted == 0 && self.degenerate == 0 && self.overfull_faces == 0
    }

    /// Conditions (A), (B) and (C).
    pub fn conditions(&self) -> [bool; 3] {
        [self.boundary.is_manifold(), self.tets_on_boundary == 0, self.chords == 0]
    }
}

/// Measures a mesh.
///
/// # Panics
/// When a tetrahedron names a node that is not there; the readers of files see to that.
pub fn measure(mesh: &TetMesh) -> TetMeasures {
    let chunks: Vec<Tally> =
        mesh.tets.par_chunks(CHUNK).enumerate().map(|(number, tets)| Tally::of(mesh, tets, number * CHUNK)).collect();
    let mut tally = Tally::default();
    chunks.iter().for_each(|chunk| tally.add(chunk));

    let faces = Faces::of(mesh);
    let on_boundary = faces.boundary_nodes(mesh.positions.len());
    let is_on = |node: u32| on_boundary[node as usize];
    let edges = edges(mesh);
    let boundary_edges = triangle_edges(&faces.boundary);
    let (mut shortest_squared, mut longest_squared, mut sum) = (f64::INFINITY, 0.0_f64, 0.0);
    let lengths: Vec<(f64, f64, f64)> = edges.par_chunks(CHUNK).map(|edges| edge_lengths(mesh, edges)).collect();
    for (shortest, longest, chunk) in lengths {
        shortest_squared = shortest_squared.min(shortest);
        longest_squared = longest_squared.max(longest);
        sum += chunk;
    }
    let between_boundary = edges.par_iter().filter(|edge| ends(**edge).iter().all(|&node| is_on(node))).count();
    let on_surface = boundary_edges.chunk_by(|a, b| a == b).count();
    let mut used = vec![false; mesh.positions.len()];
    mesh.tets.iter().flatten().for_each(|&node| used[node as usize] = true);
    let nodes = used.iter().filter(|&&used| used).count();
    TetMeasures {
        tets: mesh.tets.len(),
        nodes,
        unused_nodes: mesh.positions.len() - nodes,
        edges: edges.len(),
        components: components(mesh.positions.len(), &mesh.tets, &used),
        inverted: tally.inverted,
        degenerate: tally.degenerate,
        first_bad: tally.first_bad,
        overfull_faces: faces.overfull,
        shapes: tally.shapes(),
        shortest_edge: if edges.is_empty() { 0.0 } else { shortest_squared.sqrt() },
        longest_edge: longest_squared.sqrt(),
        mean_edge: if edges.is_empty() { 0.0 } else { sum / edges.len() as f64 },
        boundary: measure_boundary(mesh.positions.len(), &faces.boundary, &boundary_edges),
        tets_on_boundary: mesh.tets.par_iter().filter(|tet| tet.iter().all(|&node| is_on(node))).count(),
        chords: between_boundary - on_surface,
        inner_triangles_on_boundary: faces.inner.par_iter().filter(|face| face.iter().all(|&node| is_on(node))).count(),
    }
}

/// Sums over some tetrahedra.
struct Tally {
    count: usize,
    inverted: usize,
    degenerate: usize,
    first_bad: Option<usize>,
    smallest_aspect: f64,
    largest_aspect: f64,
    worst_tet: Option<usize>,
    aspect_sum: f64,
    smallest_dihedral: f64,
    largest_dihedral: f64,
    volume: f64,
    dihedral_histogram: [u64; DIHEDRAL_BINS],
    aspect_histogram: [u64; ASPECT_BINS],
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            count: 0,
            inverted: 0,
            degenerate: 0,
            first_bad: None,
            smallest_aspect: f64::INFINITY,
            largest_aspect: 0.0,
            worst_tet: None,
            aspect_sum: 0.0,
            smallest_dihedral: f64::INFINITY,
            largest_dihedral: 0.0,
            volume: 0.0,
            dihedral_histogram: [0; DIHEDRAL_BINS],
            aspect_histogram: [0; ASPECT_BINS],
        }
    }
}

impl Tally {
    fn of(mesh: &TetMesh, tets: &[[u32; 4]], first: usize) -> Self {
        let mut tally = Self::default();
        for (at, tet) in tets.iter().enumerate() {
            let corners = corners(mesh, tet);
            let sign = orientation(corners);
            if sign == Sign::Positive {
                tally.take(first + at, &shape(corners));
                continue;
            }
            match sign {
                Sign::Negative => tally.inverted += 1,
                _ => tally.degenerate += 1,
            }
            tally.first_bad = tally.first_bad.or(Some(first + at));
        }
        tally
    }

    fn take(&mut self, tet: usize, shape: &Shape) {
        self.count += 1;
        self.volume += shape.volume;
        self.aspect_sum += shape.aspect;
        self.smallest_aspect = self.smallest_aspect.min(shape.aspect);
        if shape.aspect > self.largest_aspect {
            (self.largest_aspect, self.worst_tet) = (shape.aspect, Some(tet));
        }
        self.aspect_histogram[((2.0 * (shape.aspect - 1.0)).max(0.0) as usize).min(ASPECT_BINS - 1)] += 1;
        for angle in shape.dihedrals_degrees {
            self.smallest_dihedral = self.smallest_dihedral.min(angle);
            self.largest_dihedral = self.largest_dihedral.max(angle);
            self.dihedral_histogram[((angle / 10.0) as usize).min(DIHEDRAL_BINS - 1)] += 1;
        }
    }

    fn add(&mut self, later: &Self) {
        self.count += later.count;
        self.inverted += later.inverted;
        self.degenerate += later.degenerate;
        self.first_bad = self.first_bad.or(later.first_bad);
        self.smallest_aspect = self.smallest_aspect.min(later.smallest_aspect);
        if later.largest_aspect > self.largest_aspect {
            (self.largest_aspect, self.worst_tet) = (later.largest_aspect, later.worst_tet);
        }
        self.aspect_sum += later.aspect_sum;
        self.smallest_dihedral = self.smallest_dihedral.min(later.smallest_dihedral);
        self.largest_dihedral = self.largest_dihedral.max(later.largest_dihedral);
        self.volume += later.volume;
        self.dihedral_histogram.iter_mut().zip(later.dihedral_histogram).for_each(|(bin, more)| *bin += more);
        self.aspect_histogram.iter_mut().zip(later.aspect_histogram).for_each(|(bin, more)| *bin += more);
    }

    fn shapes(&self) -> Shapes {
        let any = |value: f64| if self.count == 0 { 0.0 } else { value };
        Shapes {
            count: self.count,
            smallest_aspect: any(self.smallest_aspect),
            mean_aspect: any(self.aspect_sum / self.count as f64),
            largest_aspect: self.largest_aspect,
            worst_tet: self.worst_tet,
            smallest_dihedral_degrees: any(self.smallest_dihedral),
            largest_dihedral_degrees: self.largest_dihedral,
            volume: self.volume,
            dihedral_histogram: self.dihedral_histogram,
            aspect_histogram: self.aspect_histogram,
        }
    }
}

/// The triangles of all tetrahedra, by how many share them.
struct Faces {
    /// Of one tetrahedron, in its outward order.
    boundary: Vec<[u32; 3]>,
    /// Of two or more, nodes ascending.
    inner: Vec<[u32; 3]>,
    /// How many have three or more.
    overfull: usize,
}

impl Faces {
    fn of(mesh: &TetMesh) -> Self {
        let mut sides: Vec<([u32; 3], [u8; 3])> = mesh
            .tets
            .par_iter()
            .flat_map_iter(|tet| {
                OUTWARD_FACES.iter().map(move |face| {
                    let corners = face.map(|corner| tet[corner]);
                    let mut order = [0_u8, 1, 2];
                    order.sort_unstable_by_key(|&at| corners[at as usize]);
                    (order.map(|at| corners[at as usize]), inverse(order))
                })
            })
            .collect();
        sides.par_sort_unstable();
        let mut faces = Self { boundary: Vec::new(), inner: Vec::with_capacity(sides.len() / 2), overfull: 0 };
        for run in sides.chunk_by(|left, right| left.0 == right.0) {
            let (nodes, place) = run[0];
            if run.len() == 1 {
                faces.boundary.push(place.map(|at| nodes[at as usize]));
            } else {
                faces.inner.push(nodes);
                faces.overfull += usize::from(run.len() > 2);
            }
        }
        faces
    }

    fn boundary_nodes(&self, node_count: usize) -> Vec<bool> {
        let mut on = vec![false; node_count];
        self.boundary.iter().flatten().for_each(|&node| on[node as usize] = true);
        on
    }
}

fn inverse(order: [u8; 3]) -> [u8; 3] {
    let mut place = [0; 3];
    for (at, &corner) in order.iter().enumerate() {
        place[corner as usize] = at as u8;
    }
    place
}

fn edge_key(a: u32, b: u32) -> u64 {
    (u64::from(a.min(b)) << 32) | u64::from(a.max(b))
}

fn ends(edge: u64) -> [u32; 2] {
    [(edge >> 32) as u32, edge as u32]
}

/// Every edge once, sorted.
fn edges(mesh: &TetMesh) -> Vec<u64> {
    let mut keys: Vec<u64> =
        mesh.tets.par_iter().flat_map_iter(|tet| EDGES.iter().map(|&[i, j]| edge_key(tet[i], tet[j]))).collect();
    keys.par_sort_unstable();
    keys.dedup();
    keys
}

/// The edges of triangles, one for each triangle that has them, sorted.
fn triangle_edges(triangles: &[[u32; 3]]) -> Vec<u64> {
    let mut keys: Vec<u64> =
        triangles.iter().flat_map(|&[a, b, c]| [edge_key(a, b), edge_key(b, c), edge_key(c, a)]).collect();
    keys.par_sort_unstable();
    keys
}

fn edge_lengths(mesh: &TetMesh, edges: &[u64]) -> (f64, f64, f64) {
    edges.iter().fold((f64::INFINITY, 0.0, 0.0), |(shortest, longest, sum), &edge| {
        let [a, b] = ends(edge).map(|node| mesh.positions[node as usize]);
        let squared = a.distance_squared(b);
        (shortest.min(squared), f64::max(longest, squared), sum + squared.sqrt())
    })
}

fn root(parent: &mut [u32], mut at: u32) -> u32 {
    while parent[at as usize] != at {
        parent[at as usize] = parent[parent[at as usize] as usize];
        at = parent[at as usize];
    }
    at
}

fn join(parent: &mut [u32], a: u32, b: u32) {
    let (a, b) = (root(parent, a), root(parent, b));
    parent[a.max(b) as usize] = a.min(b);
}

/// The number of pieces of what cells join by their nodes.
fn components<const N: usize>(node_count: usize, cells: &[[u32; N]], used: &[bool]) -> usize {
    let mut parent: Vec<u32> = (0..node_count as u32).collect();
    for cell in cells {
        cell[1..].iter().for_each(|&node| join(&mut parent, cell[0], node));
    }
    (0..node_count).filter(|&node| used[node] && parent[node] as usize == node).count()
}

fn measure_boundary(node_count: usize, triangles: &[[u32; 3]], sides: &[u64]) -> BoundaryMeasures {
    let mut used = vec![false; node_count];
    triangles.iter().flatten().for_each(|&node| used[node as usize] = true);
    let nodes = used.iter().filter(|&&used| used).count();
    let runs = || sides.chunk_by(|a, b| a == b);
    let edges = runs().count();
    let non_manifold_edges = runs().filter(|run| run.len() != 2).count();
    let non_manifold_nodes = pinched_nodes(node_count, triangles);
    let components = components(node_count, triangles, &used);
    // Euler: V - E + F = 2 components - 2 genus.
    let euler = nodes as i64 - edges as i64 + triangles.len() as i64;
    let handles = usize::try_from(components as i64 - euler / 2).ok();
    let genus = handles.filter(|_| non_manifold_edges == 0 && non_manifold_nodes == 0 && euler % 2 == 0);
    BoundaryMeasures {
        triangles: triangles.len(),
        nodes,
        edges,
        components,
        non_manifold_edges,
        non_manifold_nodes,
        genus,
    }
}

/// Nodes whose triangles fall into several fans when joined across edges that exactly two of them have.
fn pinched_nodes(node_count: usize, triangles: &[[u32; 3]]) -> usize {
    let mut sides: Vec<(u64, u32)> = Vec::with_capacity(3 * triangles.len());
    for (triangle, &[a, b, c]) in triangles.iter().enumerate() {
        for (side, key) in [edge_key(a, b), edge_key(b, c), edge_key(c, a)].into_iter().enumerate() {
            sides.push((key, (3 * triangle + side) as u32));
        }
    }
    sides.par_sort_unstable();
    // Corner `3 t + k` is node `k` of triangle `t`.
    let mut parent: Vec<u32> = (0..3 * triangles.len() as u32).collect();
    let corner_of = |side: u32, node: u32| {
        let triangle = side as usize / 3;
        let corner = triangles[triangle].iter().position(|&own| own == node).unwrap_or(0);
        (3 * triangle + corner) as u32
    };
    for run in sides.chunk_by(|left, right| left.0 == right.0) {
        if let [(edge, first), (_, second)] = *run {
            for node in ends(edge) {
                join(&mut parent, corner_of(first, node), corner_of(second, node));
            }
        }
    }
    let mut fans = vec![0_u8; node_count];
    for corner in 0..parent.len() {
        if parent[corner] as usize == corner {
            let node = triangles[corner / 3][corner % 3] as usize;
            fans[node] = fans[node].saturating_add(1);
        }
    }
    fans.iter().filter(|&&fans| fans > 1).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tet(corners: [DVec3; 4]) -> TetMesh {
        TetMesh { positions: corners.to_vec(), tets: vec![[0, 1, 2, 3]], levels: Vec::new() }
    }

    fn regular() -> [DVec3; 4] {
        [DVec3::ONE, DVec3::new(-1.0, 1.0, -1.0), DVec3::new(1.0, -1.0, -1.0), DVec3::new(-1.0, -1.0, 1.0)]
    }

    /// Edges a and a sqrt(3)/2, dihedral angles 60 and 90 degrees, aspect sqrt 2.
    fn lattice() -> [DVec3; 4] {
        [DVec3::ZERO, DVec3::X, DVec3::new(0.5, 0.5, 0.5), DVec3::new(0.5, -0.5, 0.5)]
    }

    /// A cube of five tetrahedra per cell, `n` cells a side, the diagonals of neighbours matched.
    fn cube(n: usize) -> TetMesh {
        let place = |x: usize, y: usize, z: usize| (x + (n + 1) * (y + (n + 1) * z)) as u32;
        let mut mesh = TetMesh { positions: Vec::new(), tets: Vec::new(), levels: Vec::new() };
        for z in 0..=n {
            for y in 0..=n {
                for x in 0..=n {
                    mesh.positions.push(DVec3::new(x as f64, y as f64, z as f64));
                }
            }
        }
        for (x, y, z) in (0..n * n * n).map(|cell| (cell % n, cell / n % n, cell / (n * n))) {
            let flip = (x + y + z) % 2;
            let at = |corner: usize| {
                let dx = (corner & 1) ^ flip;
                place(x + dx, y + (corner >> 1 & 1), z + (corner >> 2))
            };
            for tet in [[0, 1, 2, 4], [3, 2, 1, 7], [5, 4, 7, 1], [6, 7, 4, 2], [1, 2, 4, 7]] {
                let mut tet = tet.map(at);
                if orientation(tet.map(|node| mesh.positions[node as usize])) == Sign::Negative {
                    tet.swap(0, 1);
                }
                mesh.tets.push(tet);
            }
        }
        mesh
    }

    #[test]
    fn a_regular_tetrahedron_has_the_known_aspect_and_angles() {
        let shape = shape(regular());
        assert!((shape.aspect - 1.5_f64.sqrt()).abs() < 1e-14);
        let angle = (1.0_f64 / 3.0).acos().to_degrees();
        assert!(shape.dihedrals_degrees.iter().all(|found| (found - angle).abs() < 1e-12));
    }

    #[test]
    fn a_tetrahedron_of_the_lattice_has_the_known_aspect_and_angles() {
        let shape = shape(lattice());
        assert!((shape.aspect - 2.0_f64.sqrt()).abs() < 1e-14);
        assert!((shape.volume - 1.0 / 12.0).abs() < 1e-15);
        let mut angles = shape.dihedrals_degrees;
        angles.sort_by(f64::total_cmp);
        for (angle, expected) in angles.iter().zip([60.0, 60.0, 60.0, 60.0, 90.0, 90.0]) {
            assert!((angle - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn signs_are_exact_where_floats_are_not() {
        let mut corners = regular();
        assert_eq!(measure(&tet(corners)).inverted, 0);
        corners.swap(0, 1);
        assert_eq!(measure(&tet(corners)).inverted, 1);
        // A sliver whose float volume is rounding error: the last corner is one unit in the last place off the plane.
        let [a, b, c] = [DVec3::new(0.1, 0.1, 0.1), DVec3::new(1.3, 0.1, 0.1), DVec3::new(0.1, 1.7, 0.1)];
        for (height, inverted, degenerate) in [(0.1, 0, 1), (0.1_f64.next_down(), 1, 0), (0.1_f64.next_up(), 0, 0)] {
            let found = measure(&tet([a, b, c, DVec3::new(0.4, 0.5, height)]));
            assert_eq!((found.inverted, found.degenerate), (inverted, degenerate), "height {height}");
        }
    }

    #[test]
    fn a_cube_of_cells_has_the_volume_surface_and_conditions_of_a_cube() {
        let mesh = cube(5);
        let found = measure(&mesh);
        assert!(found.is_valid());
        assert!((found.shapes.volume - 125.0).abs() < 1e-10);
        assert_eq!((found.tets, found.nodes, found.components), (625, 216, 1));
        assert_eq!(found.boundary.triangles, 6 * 25 * 2);
        assert_eq!((found.boundary.genus, found.boundary.is_manifold()), (Some(0), true));
        assert_eq!(found.shapes.dihedral_histogram.iter().sum::<u64>(), 6 * 625);
        assert_eq!(found.shapes.aspect_histogram.iter().sum::<u64>(), 625);
        // Corners and edges of the cube: tetrahedra and edges that lie on the boundary with all their nodes.
        let on = |node: &u32| mesh.positions[*node as usize].to_array().iter().any(|&c| c == 0.0 || c == 5.0);
        assert_eq!(found.tets_on_boundary, mesh.tets.iter().filter(|tet| tet.iter().all(on)).count());
        assert!(found.tets_on_boundary > 0 && found.chords > 0);
    }

    #[test]
    fn a_single_tetrahedron_breaks_condition_b_only() {
        let found = measure(&tet(regular()));
        assert_eq!(found.conditions(), [true, false, true]);
        assert_eq!(found.boundary.genus, Some(0));
    }

    #[test]
    fn tetrahedra_that_touch_in_a_node_or_an_edge_are_no_manifold() {
        let mut positions = regular().to_vec();
        let away = |p: DVec3| 2.0 * DVec3::ONE - p;
        positions.extend(regular()[1..].iter().map(|&p| away(p)));
        let node = TetMesh { positions, tets: vec![[0, 1, 2, 3], [0, 5, 4, 6]], levels: Vec::new() };
        let found = measure(&node);
        assert_eq!((found.boundary.non_manifold_nodes, found.boundary.non_manifold_edges), (1, 0));
        assert_eq!((found.boundary.genus, found.components), (None, 1));
        let edge = TetMesh { tets: vec![[0, 1, 2, 3], [0, 1, 5, 6]], ..node };
        assert_eq!(measure(&edge).boundary.non_manifold_edges, 1);
    }

    #[test]
    fn a_face_of_three_tetrahedra_is_counted() {
        let mut mesh = tet(regular());
        mesh.positions.extend([DVec3::splat(5.0), DVec3::splat(7.0)]);
        mesh.tets.extend([[0, 1, 2, 4], [0, 1, 2, 5]]);
        assert_eq!(measure(&mesh).overfull_faces, 1);
        assert!(!measure(&mesh).is_valid());
    }
}
