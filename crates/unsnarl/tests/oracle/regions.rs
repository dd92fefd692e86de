//! What contours cut off, and the colours, vertex by vertex.
//!
//! A curve cuts the edges that it crosses an odd number of times. If it does not cross itself, it has two sides: edges
//! that are cut join vertices of different sides, other edges vertices of one side, and if that is contradictory it does
//! not divide the sheet. If it crosses itself, it has as many sides as pieces that are left without the cut edges. All
//! sides but the largest are cut off. A curve that passes one loop vertex twice crosses itself there. Loop vertices are on the curve and on no side; for the count of crossings, a curve
//! that does not cross itself passes between its two triangles at a loop vertex through the triangles around it.

use super::{Contour, Edge, End, Mesh, Part, exact};
use std::collections::{BTreeMap, BTreeSet};

pub type Vertices = BTreeSet<usize>;

/// The sides of a curve, as groups of which the largest stays.
pub struct Sides {
    /// Empty when the curve cuts no edge or does not divide the sheet.
    pub groups: Vec<Vertices>,
    pub divides: bool,
}

/// The cuts of a contour on cloth that does not meet a closed body there: of trace 0, of trace 1, or of both as one.
pub fn sides_of(mesh: &Mesh, contour: &Contour) -> Vec<Sides> {
    let loops: Vertices = contour
        .ends
        .iter()
        .filter_map(|end| match end {
            End::Loop(vertex) => Some(*vertex),
            _ => None,
        })
        .collect();
    let is_cloth = |trace: &usize| mesh.part_of[contour.segments[0][*trace]].0 == Part::Cloth;
    let along = |trace: usize| match contour.crosses.itself[trace] {
        true => pieces_apart(mesh, &odd(&contour.crossings[trace]), &loops),
        false => two_sides(mesh, &odd(&contour.crossings[trace]), &loops),
    };
    match (contour.kind, contour.ends.as_slice()) {
        ("CLOSED" | "EIGHT" | "CROSS", _) => (0..2).filter(is_cloth).map(along).collect(),
        ("BBII", [End::Boundary(trace), _]) => Some(*trace).filter(is_cloth).map(along).into_iter().collect(),
        ("LL", _) => {
            let mut both = contour.crossings[0].clone();
            for (&edge, count) in &contour.crossings[1] {
                *both.entry(edge).or_insert(0) += count;
            }
            if contour.crosses.any() || loops.len() == 1 {
                return vec![pieces_apart(mesh, &odd(&both), &loops)];
            }
            for &(vertex, triangles) in &contour.loop_pairs {
                let Some(edges) = edges_between(mesh, vertex, triangles) else {
                    return vec![Sides { groups: Vec::new(), divides: false }];
                };
                for edge in edges {
                    *both.entry(edge).or_insert(0) += 1;
                }
            }
            vec![two_sides(mesh, &odd(&both), &loops)]
        }
        _ => Vec::new(),
    }
}

fn odd(crossings: &BTreeMap<Edge, usize>) -> BTreeSet<Edge> {
    crossings.iter().filter(|(_, count)| *count % 2 == 1).map(|(&edge, _)| edge).collect()
}

/// The edges on a way from triangle to triangle around a vertex.
fn edges_between(mesh: &Mesh, vertex: usize, [from, to]: [usize; 2]) -> Option<Vec<Edge>> {
    let mut ways: BTreeMap<usize, Vec<Edge>> = BTreeMap::from([(from, Vec::new())]);
    loop {
        let before = ways.len();
        for (&edge, holders) in mesh.edges.iter().filter(|(edge, _)| edge.contains(&vertex)) {
            let &[a, b] = holders.as_slice() else { continue };
            for (known, new) in [(a, b), (b, a)] {
                if let (Some(way), false) = (ways.get(&known), ways.contains_key(&new)) {
                    let longer = [way.as_slice(), &[edge]].concat();
                    ways.insert(new, longer);
                }
            }
        }
        if ways.len() == before {
            return ways.remove(&to);
        }
    }
}

/// Every piece that a curve which crosses itself leaves.
fn pieces_apart(mesh: &Mesh, cut: &BTreeSet<Edge>, loops: &Vertices) -> Sides {
    let pieces = pieces(mesh, cut, loops);
    let groups: Vec<Vertices> =
        pieces.into_iter().filter(|piece| cut.iter().flatten().any(|end| piece.contains(end))).collect();
    let divides = groups.len() != 1;
    Sides { groups: if divides { groups } else { Vec::new() }, divides }
}

/// Both sides of a curve that does not cross itself: a colouring of the vertices that changes at cut edges.
fn two_sides(mesh: &Mesh, cut: &BTreeSet<Edge>, loops: &Vertices) -> Sides {
    let mut side: BTreeMap<usize, usize> = cut.iter().take(1).map(|edge| (edge[0], 0)).collect();
    loop {
        let before = side.len();
        for edge in mesh.edges.keys() {
            for [known, unknown] in [[edge[0], edge[1]], [edge[1], edge[0]]] {
                let Some(&this) = side.get(&known) else { continue };
                let expected = if cut.contains(edge) { 1 - this } else { this };
                if *side.entry(unknown).or_insert(expected) != expected {
                    return Sides { groups: Vec::new(), divides: false };
                }
            }
        }
        if side.len() == before {
            break;
        }
    }
    assert!(cut.iter().flatten().all(|end| side.contains_key(end)), "the curve is on one sheet");
    let on = |wanted: usize| {
        let vertices = side.iter().filter(|(vertex, side)| **side == wanted && !loops.contains(vertex));
        vertices.map(|(&vertex, _)| vertex).collect()
    };
    Sides { groups: vec![on(0), on(1)], divides: true }
}

/// What is connected by edges that are not cut.
fn pieces(mesh: &Mesh, cut: &BTreeSet<Edge>, loops: &Vertices) -> Vec<Vertices> {
    let mut label: Vec<usize> = (0..mesh.points.len()).collect();
    loop {
        let mut changed = false;
        for &[a, b] in mesh.edges.keys() {
            if cut.contains(&[a, b]) || loops.contains(&a) || loops.contains(&b) || label[a] == label[b] {
                continue;
            }
            let smaller = label[a].min(label[b]);
            (label[a], label[b]) = (smaller, smaller);
            changed = true;
        }
        if !changed {
            break;
        }
    }
    let mut pieces: BTreeMap<usize, Vertices> = BTreeMap::new();
    for vertex in (0..label.len()).filter(|vertex| !loops.contains(vertex)) {
        pieces.entry(label[vertex]).or_default().insert(vertex);
    }
    pieces.into_values().collect()
}

impl Sides {
    /// All choices of what is cut off; more than one where the largest sides weigh the same.
    pub fn cut_off(&self, weight: impl Fn(usize) -> f64) -> Vec<Vertices> {
        let weights: Vec<f64> =
            self.groups.iter().map(|group| group.iter().map(|&vertex| weight(vertex)).sum()).collect();
        let largest = weights.iter().copied().fold(0.0, f64::max);
        let all: Vertices = self.groups.iter().flatten().copied().collect();
        let mut choices: Vec<Vertices> = (0..self.groups.len())
            .filter(|&at| weights[at] >= largest * (1.0 - 1e-9))
            .map(|at| all.difference(&self.groups[at]).copied().collect())
            .collect();
        if choices.is_empty() {
            choices.push(Vertices::new());
        }
        choices
    }
}

/// A third of the area around a vertex.
pub fn vertex_area(mesh: &Mesh, vertex: usize) -> f64 {
    let area = |corners: &[usize; 3]| {
        let [a, b, c] = corners.map(|corner| mesh.floats[corner]);
        let (u, v) = ([0, 1, 2].map(|k| b[k] - a[k]), [0, 1, 2].map(|k| c[k] - a[k]));
        let normal = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
        normal.iter().map(|x| x * x).sum::<f64>().sqrt() / 2.0
    };
    mesh.triangles.iter().filter(|corners| corners.contains(&vertex)).map(area).sum::<f64>() / 3.0
}

/// Whether a point is inside a closed part: along a ray, the surface is left once more than it is entered.
pub fn is_inside(mesh: &Mesh, body: usize, vertex: usize) -> bool {
    let far = [100_003, 70_001, 30_011].map(|x| num_bigint::BigInt::from(x) << 220);
    let mut points = mesh.points.clone();
    points.push(far);
    let far = points.len() - 1;
    let mut winding = 0;
    for (triangle, &[a, b, c]) in mesh.triangles.iter().enumerate() {
        if mesh.part_of[triangle].1 != body {
            continue;
        }
        let side = |vertices: [usize; 4]| exact::side(&points, vertices);
        let (start, end) = (side([a, b, c, vertex]), side([a, b, c, far]));
        let turn = side([vertex, far, a, b]);
        if start != end && turn == side([vertex, far, b, c]) && turn == side([vertex, far, c, a]) {
            winding += start;
        }
    }
    winding > 0
}

/// Colours that follow from the red vertices.
pub struct Colours {
    pub edges: BTreeSet<Edge>,
    pub triangles: BTreeSet<usize>,
    pub outermost: Vertices,
    pub stars: BTreeSet<(usize, Edge)>,
    /// Sheets with a red majority: smallest vertex, red vertices, all vertices.
    pub majority_failures: BTreeSet<(usize, usize, usize)>,
}

pub fn colours(mesh: &Mesh, contours: &[Contour], red: &Vertices) -> Colours {
    let crossing_edges: BTreeSet<Edge> =
        contours.iter().flat_map(|contour| &contour.nodes).map(|node| node.0).collect();
    let crossing: BTreeSet<usize> = contours.iter().flat_map(|contour| &contour.segments).flatten().copied().collect();
    let is_red = |vertex: &usize| red.contains(vertex);
    let edges: BTreeSet<Edge> =
        mesh.edges.keys().filter(|edge| edge.iter().any(is_red) || crossing_edges.contains(*edge)).copied().collect();
    let triangles: BTreeSet<usize> = (0..mesh.triangles.len())
        .filter(|triangle| mesh.triangles[*triangle].iter().any(is_red) || crossing.contains(triangle))
        .collect();
    let outermost = mesh
        .edges
        .keys()
        .flat_map(|&[a, b]| [[a, b], [b, a]])
        .filter(|[a, b]| is_red(a) && !is_red(b))
        .map(|[a, _]| a)
        .collect();
    let mut stars = BTreeSet::new();
    for &triangle in &triangles {
        let corners = mesh.triangles[triangle];
        let red_edges: Vec<Edge> =
            super::triangle_edges(corners).into_iter().filter(|edge| edges.contains(edge)).collect();
        if let ([edge], false) = (red_edges.as_slice(), corners.iter().any(is_red)) {
            stars.insert((triangle, *edge));
        }
    }
    let majority_failures = pieces(mesh, &BTreeSet::new(), &Vertices::new())
        .into_iter()
        .map(|sheet| (sheet.first().copied().unwrap_or(0), sheet.intersection(red).count(), sheet.len()))
        .filter(|&(_, red, all)| 2 * red > all)
        .collect();
    Colours { edges, triangles, outermost, stars, majority_failures }
}
