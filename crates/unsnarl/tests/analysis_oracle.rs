//! The intersection analysis against a slow oracle in exact arithmetic: crossings, contours, kinds, regions, colours.
//!
//! `UNSNARL_TANGLES=10000` sets how many random tangles are compared.

mod oracle;
#[path = "../../../tests/rust/real_data.rs"]
mod real;

use oracle::regions::{self, Vertices};
use oracle::tangles::{Piece, TWO_CLEAN_SHEETS, degenerate_tangle, tangle};
use oracle::{End, Mesh, Part};
use rayon::prelude::*;
use real::real_data;
use std::collections::{BTreeMap, BTreeSet};
use unsnarl::analysis::region::{Cut, Separation};
use unsnarl::analysis::{self, Assembly, Contour, ContourEnd, PartKind, Tangle, TangledContour, Trace};
use unsnarl::geometry::{DVec3, TriMesh, VertexId};
use unsnarl::samples::torture::{CASES, torture};
use unsnarl::samples::{self, Recipe};

const TANGLE_COUNT: u64 = 1000;

fn set(vertices: &[VertexId]) -> Vertices {
    vertices.iter().map(|vertex| vertex.index()).collect()
}

fn analyzed(pieces: &[Piece]) -> (Assembly, Tangle) {
    let assembly = Assembly::new(pieces.iter().enumerate().map(|(number, (part, positions, triangles))| {
        let kind = if *part == Part::Cloth { PartKind::Cloth } else { PartKind::Body };
        (format!("part {number}"), kind, positions.len(), triangles.as_slice())
    }))
    .expect("a valid mesh");
    let positions: Vec<DVec3> = pieces.iter().flat_map(|piece| &piece.1).map(|&position| position.into()).collect();
    let tangle = analysis::analyze(&assembly, &positions, &mut analysis::Workspace::default());
    (assembly, tangle)
}

/// What the library and the oracle found about one case.
struct Comparison {
    mesh: Mesh,
    assembly: Assembly,
    tangle: Tangle,
    ours: Vec<oracle::Contour>,
}

impl Comparison {
    fn new(pieces: &[Piece]) -> Self {
        let mesh = Mesh::new(pieces);
        let (assembly, tangle) = analyzed(pieces);
        let ours = mesh.contours();
        Self { mesh, assembly, tangle, ours }
    }

    /// The first difference.
    fn check(&self) -> Result<(), String> {
        let mut red = Vertices::new();
        for (tangled, ours) in self.matched()? {
            if tangled.kind.name() != ours.kind {
                return Err(format!("{} is {} for the oracle", tangled.kind.name(), ours.kind));
            }
            let about = |error: String| format!("a {} through {:?}: {error}", ours.kind, ours.segments[0]);
            red.extend(self.check_regions(tangled, ours).map_err(about)?);
        }
        red.extend(self.check_bodies()?);
        self.check_colours(&red)
    }

    /// The contours of both, side by side, after comparing their segments, crossings and ends.
    fn matched(&self) -> Result<Vec<(&TangledContour, &oracle::Contour)>, String> {
        let theirs = &self.tangle.contours;
        if theirs.len() != self.ours.len() {
            return Err(format!("{} contours, the oracle has {}", theirs.len(), self.ours.len()));
        }
        let place: BTreeMap<[usize; 2], usize> = self
            .ours
            .iter()
            .enumerate()
            .flat_map(|(at, contour)| contour.segments.iter().map(move |&pair| (sorted_pair(pair), at)))
            .collect();
        let mut matched = Vec::new();
        for tangled in theirs {
            let first = tangled.contour.segments[0].map(|triangle| triangle.index());
            let at = place.get(&sorted_pair(first)).ok_or(format!("no segment {first:?} in the oracle"))?;
            let ours = &self.ours[*at];
            let about = |error: String| format!("a {} through {first:?}: {error}", ours.kind);
            self.check_contour(&tangled.contour, ours).map_err(about)?;
            matched.push((tangled, ours));
        }
        Ok(matched)
    }

    fn check_contour(&self, theirs: &Contour, ours: &oracle::Contour) -> Result<(), String> {
        let topology = self.assembly.topology();
        let pairs: Vec<[usize; 2]> = theirs.segments.iter().map(|pair| pair.map(|triangle| triangle.index())).collect();
        let as_given: BTreeSet<[usize; 2]> = pairs.iter().copied().collect();
        let swapped: BTreeSet<[usize; 2]> = pairs.iter().map(|[a, b]| [*b, *a]).collect();
        let expected: BTreeSet<[usize; 2]> = ours.segments.iter().copied().collect();
        if pairs.len() != expected.len() || (as_given != expected && swapped != expected) {
            return Err(format!("segments {as_given:?}, the oracle has {expected:?}"));
        }
        let trace_zero = if as_given == expected { Trace::First } else { Trace::Second };
        let mut nodes = BTreeSet::new();
        for point in &theirs.points {
            let edge = topology.edge(point.edge).map(|vertex| vertex.index());
            let trace = usize::from(point.edge_trace != trace_zero);
            if !ours.crossings[trace].contains_key(&edge) || !nodes.insert((edge, point.triangle.index())) {
                return Err(format!("trace {trace} does not cross {edge:?}, or twice in one triangle"));
            }
        }
        if nodes != ours.nodes {
            return Err("other crossings".to_owned());
        }
        let mut ends: Vec<End> = theirs
            .ends
            .iter()
            .flatten()
            .map(|end| match *end {
                ContourEnd::Boundary(trace) => End::Boundary(usize::from(trace != trace_zero)),
                ContourEnd::Loop(vertex) => End::Loop(vertex.index()),
                ContourEnd::NonManifold(edge) => End::NonManifold(topology.edge(edge).map(|vertex| vertex.index())),
            })
            .collect();
        ends.sort_unstable();
        let mut expected = ours.ends.clone();
        expected.sort_unstable();
        if ends == expected { Ok(()) } else { Err(format!("ends {ends:?}, the oracle has {expected:?}")) }
    }

    fn meets_body(&self, ours: &oracle::Contour) -> Option<usize> {
        let part = |trace: usize| self.mesh.part_of[ours.segments[0][trace]];
        (0..2).map(part).find(|part| part.0 == Part::Body).map(|part| part.1)
    }

    /// What a contour cuts off, after comparing it; contours with bodies are compared all together.
    fn check_regions(&self, theirs: &TangledContour, ours: &oracle::Contour) -> Result<Vertices, String> {
        let cuts: Vec<&Cut> = theirs.regions.cuts.iter().collect();
        if self.meets_body(ours).is_some() {
            return Ok(Vertices::new());
        }
        let sides = regions::sides_of(&self.mesh, ours);
        if cuts.len() != sides.len() {
            return Err(format!("{} cuts, the oracle has {}", cuts.len(), sides.len()));
        }
        let agrees = |cut: &Cut, sides: &regions::Sides| {
            let divides = cut.separation == Separation::Divides;
            divides == (sides.divides || sides.groups.is_empty() && divides && cut.smaller_by_count.is_empty())
                && sides.cut_off(|_| 1.0).contains(&set(&cut.smaller_by_count))
                && sides.cut_off(|vertex| regions::vertex_area(&self.mesh, vertex)).contains(&set(&cut.smaller_by_area))
        };
        let in_order = cuts.iter().zip(&sides).all(|(cut, sides)| agrees(cut, sides));
        let swapped = cuts.iter().zip(sides.iter().rev()).all(|(cut, sides)| agrees(cut, sides));
        if !in_order && !swapped {
            let found: Vec<_> = cuts.iter().map(|cut| (cut.separation, set(&cut.smaller_by_count))).collect();
            let expected: Vec<_> = sides.iter().map(|sides| (sides.divides, sides.cut_off(|_| 1.0))).collect();
            return Err(format!(
                "cut off {found:?}, the oracle has {expected:?}, ends {:?}, {:?}",
                ours.ends, ours.crosses
            ));
        }
        Ok(cuts.iter().flat_map(|cut| set(&cut.smaller_by_count)).collect())
    }

    /// Cloth that crosses a body: what is inside is cut off, by the body's own sign.
    fn check_bodies(&self) -> Result<Vertices, String> {
        let mut expected = Vertices::new();
        for contour in &self.ours {
            let Some(body) = self.meets_body(contour) else { continue };
            let cloth = self.mesh.part_of[contour.segments[0][0]].1.min(self.mesh.part_of[contour.segments[0][1]].1);
            let triangles = (0..self.mesh.triangles.len()).filter(|&triangle| self.mesh.part_of[triangle].1 == cloth);
            let vertices: Vertices = triangles.flat_map(|triangle| self.mesh.triangles[triangle]).collect();
            expected.extend(vertices.into_iter().filter(|&vertex| regions::is_inside(&self.mesh, body, vertex)));
        }
        let found: Vertices = self
            .tangle
            .contours
            .iter()
            .filter(|tangled| {
                let kind = |triangle| self.assembly.parts()[self.assembly.part_of_triangle(triangle)].kind;
                tangled.contour.segments[0].iter().any(|&triangle| kind(triangle) == PartKind::Body)
            })
            .flat_map(|tangled| &tangled.regions.cuts)
            .flat_map(|cut| set(&cut.smaller_by_count))
            .collect();
        if found == expected {
            Ok(found)
        } else {
            Err(format!("{found:?} is inside the body, the oracle has {expected:?}"))
        }
    }

    fn check_colours(&self, red: &Vertices) -> Result<(), String> {
        let topology = self.assembly.topology();
        let found = &self.tangle.colours;
        let ours = regions::colours(&self.mesh, &self.ours, red);
        let ends = |edge| topology.edge(edge).map(|vertex| vertex.index());
        let edges: BTreeSet<[usize; 2]> = found.red_edges.iter().map(|&edge| ends(edge)).collect();
        let triangles: BTreeSet<usize> = found.red_triangles.iter().map(|triangle| triangle.index()).collect();
        let stars: BTreeSet<(usize, [usize; 2])> =
            found.red_star_triangles.iter().map(|&(triangle, edge)| (triangle.index(), ends(edge))).collect();
        let smallest = |component: usize| {
            (0..topology.vertex_count()).find(|&vertex| topology.component(VertexId::new(vertex)) == component)
        };
        let failures: BTreeSet<(usize, usize, usize)> = found
            .majority_failures
            .iter()
            .map(|failure| {
                (smallest(failure.component).expect("a component has a vertex"), failure.red_vertices, failure.vertices)
            })
            .collect();
        let differences = [
            ("red vertices", set(&found.red_vertices) != *red),
            ("red edges", edges != ours.edges),
            ("red triangles", triangles != ours.triangles),
            ("outermost red vertices", set(&found.outermost_red_vertices) != ours.outermost),
            ("red* triangles", stars != ours.stars),
            ("majority failures", failures != ours.majority_failures),
        ];
        match differences.iter().find(|(_, differs)| *differs) {
            Some((what, _)) => Err(format!("{what} differ")),
            None => self.check_pairs_of_regions(),
        }
    }

    /// Black and white regions belong to the two traces of a contour, red ones to loops.
    fn check_pairs_of_regions(&self) -> Result<(), String> {
        let dividing: usize = self
            .tangle
            .contours
            .iter()
            .flat_map(|tangled| &tangled.regions.cuts)
            .filter(|cut| cut.separation == Separation::Divides)
            .count();
        let gia = &self.tangle.colours.gia;
        let fits = gia.iter().all(|region| {
            let is_loop = self.tangle.contours[region.contour].kind.name() == "LL";
            let cuts = &self.tangle.contours[region.contour].regions.cuts;
            is_loop == (region.colour == analysis::GiaColour::Red)
                && cuts.iter().any(|cut| cut.smaller_by_area == region.vertices)
        });
        if fits && gia.len() == dividing { Ok(()) } else { Err("black and white do not fit the contours".to_owned()) }
    }
}

fn sorted_pair([a, b]: [usize; 2]) -> [usize; 2] {
    [a.min(b), a.max(b)]
}

/// What the random tangles contain.
fn features(comparison: &Comparison) -> Vec<&'static str> {
    let mut features: Vec<&'static str> = comparison.ours.iter().map(|contour| contour.kind).collect();
    let bodies = comparison.ours.iter().filter(|contour| comparison.meets_body(contour).is_some()).count();
    if bodies > 1 {
        features.push("a body crossed in several contours");
    }
    for contour in &comparison.ours {
        let has_common_edge = contour.crossings[0].keys().any(|edge| contour.crossings[1].contains_key(edge));
        match contour.kind {
            "LL" if contour.ends[0] == contour.ends[1] => features.push("LL from a vertex to itself"),
            "LL" if contour.crosses.any() => features.push("LL with traces that cross"),
            "LL" if has_common_edge => features.push("LL with both traces over one edge"),
            "BBII" if contour.crosses.any() => features.push("BBII with traces that cross"),
            _ => {}
        }
    }
    features
}

#[test]
fn between_components_cross_never_occurs_and_clean_ones_have_three_types() {
    let mut contours = 0;
    for seed in 0..2000 {
        let (about, pieces) = tangle(seed);
        let (assembly, tangle) = analyzed(&pieces);
        let topology = assembly.topology();
        for tangled in &tangle.contours {
            let of_triangle = |triangle| topology.component(topology.triangle(triangle)[0]);
            let [first, second] = tangled.contour.segments[0].map(of_triangle);
            if first == second {
                continue;
            }
            contours += 1;
            let possible: &[&str] = match about {
                TWO_CLEAN_SHEETS => &["CLOSED", "BBII", "BIBI"],
                _ => &["CLOSED", "EIGHT", "BBII", "BIBI"],
            };
            assert!(possible.contains(&tangled.kind.name()), "tangle {seed}, {about}: {}", tangled.kind.name());
        }
    }
    assert!(contours > 1000);
}

#[test]
fn random_tangles_agree_with_the_oracle() {
    let count = std::env::var("UNSNARL_TANGLES").ok().and_then(|count| count.parse().ok()).unwrap_or(TANGLE_COUNT);
    let outcomes: Vec<(Vec<&'static str>, Option<String>)> = (0..count)
        .into_par_iter()
        .map(|seed| {
            let (about, pieces) = tangle(seed);
            let comparison = Comparison::new(&pieces);
            let error = comparison.check().err();
            (features(&comparison), error.map(|error| format!("tangle {seed}, {about}: {error}")))
        })
        .collect();
    let mut seen: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (seed, outcome) in outcomes.iter().enumerate() {
        for feature in &outcome.0 {
            seen.entry(feature).or_default().push(seed);
        }
    }
    for (feature, seeds) in &seen {
        println!("{feature}: {}, first in tangle {}", seeds.len(), seeds[0]);
    }
    let wrong: Vec<&String> = outcomes.iter().filter_map(|outcome| outcome.1.as_ref()).collect();
    for error in wrong.iter().take(10) {
        println!("{error}");
    }
    assert!(wrong.is_empty(), "{} of {count} tangles differ, the first: {}", wrong.len(), wrong[0]);
    for feature in [
        "CLOSED",
        "EIGHT",
        "CROSS",
        "LL",
        "BBII",
        "BIBI",
        "BLI",
        "a body crossed in several contours",
        "LL from a vertex to itself",
        "LL with traces that cross",
        "BBII with traces that cross",
    ] {
        assert!(seen.contains_key(feature), "no {feature} among the random tangles");
    }
}

/// Tangles in which other rules than those of today gave wrong regions.
#[test]
fn regions_of_unusual_curves_agree_with_the_oracle() {
    let rows = [
        (3657, "LL with both traces over one edge"),
        (3, "LL from a vertex to itself"),
        (14, "LL with traces that cross"),
        (14, "BBII with traces that cross"),
        (61, "a body crossed in several contours"),
    ];
    for (seed, feature) in rows {
        let comparison = Comparison::new(&tangle(seed).1);
        assert!(features(&comparison).contains(&feature), "tangle {seed} has {feature}");
        assert_eq!(comparison.check(), Ok(()), "tangle {seed}, {feature}");
    }
}

#[test]
fn degenerate_tangles_have_the_contours_of_a_mesh_moved_by_infinitely_little() {
    let closed = ["CLOSED", "EIGHT", "CROSS"];
    for seed in 0..400 {
        let pieces = degenerate_tangle(seed);
        let comparison = Comparison::new(&pieces);
        let matched = comparison.matched().unwrap_or_else(|error| panic!("degenerate tangle {seed}: {error}"));
        for (tangled, ours) in matched {
            let found = tangled.kind.name();
            assert!(
                found == ours.kind || (closed.contains(&found) && closed.contains(&ours.kind)),
                "degenerate tangle {seed}: {found} is {} for the oracle",
                ours.kind
            );
        }
    }
}

#[test]
fn made_cases_agree_with_the_oracle() {
    let cuts = [samples::Cut::Regular, samples::Cut::Irregular];
    let jobs: Vec<(&samples::Case, samples::Cut)> =
        samples::cases().flat_map(|case| cuts.map(|cut| (case, cut))).collect();
    jobs.into_par_iter().for_each(|(case, cut)| {
        let recipe = Recipe { resolution: case.smallest_resolution, cut, seed: 1 };
        let mesh = case.make(&recipe).mesh;
        let positions = mesh.positions.iter().map(|position| position.to_array()).collect();
        let comparison = Comparison::new(&[(Part::Cloth, positions, mesh.triangles)]);
        if let Err(error) = comparison.check() {
            panic!("{} {cut:?}: {error}", case.name);
        }
    });
}

/// A real garment, if it is there.
fn real_garment(path: &str) -> Option<TriMesh> {
    let text = std::fs::read_to_string(real_data(path)?).expect("a garment that is there can be read");
    let mut mesh = TriMesh::default();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("v") => {
                let numbers: Vec<f64> = words.map(|word| word.parse().expect("a number")).collect();
                mesh.positions.push(DVec3::new(numbers[0], numbers[1], numbers[2]));
            }
            Some("f") => {
                let corners: Vec<u32> = words
                    .map(|word| word.split('/').next().and_then(|word| word.parse::<u32>().ok()).expect("an index") - 1)
                    .collect();
                mesh.triangles.push([corners[0], corners[1], corners[2]]);
            }
            _ => {}
        }
    }
    Some(mesh)
}

fn compare_cloth(name: &str, positions: &[DVec3], triangles: &[[u32; 3]]) -> usize {
    let floats = positions.iter().map(|position| position.to_array()).collect();
    let comparison = Comparison::new(&[(Part::Cloth, floats, triangles.to_vec())]);
    if let Err(error) = comparison.check() {
        panic!("{name}: {error}");
    }
    comparison.ours.len()
}

#[test]
fn tortured_garments_agree_with_the_oracle() {
    let Some(sock) = real_garment("diffcloth_mit/sock482.obj") else { return };
    for case in CASES {
        let positions = torture(&sock, case.kind, 1).unwrap();
        compare_cloth(case.name, &positions, &sock.triangles);
    }
}

#[test]
fn tortured_garments_contain_the_type_they_promise() {
    let Some(shirt) = real_garment("diffcloth_mit/tshirt1900.obj") else { return };
    let assembly = Assembly::of_cloth("shirt", &shirt).unwrap();
    for case in CASES {
        for seed in 1..=3 {
            let positions = torture(&shirt, case.kind, seed).unwrap();
            let tangle = analysis::analyze(&assembly, &positions, &mut analysis::Workspace::default());
            assert!(tangle.count(case.promise) > 0, "{} seed {seed}: no {:?}", case.name, case.promise);
        }
    }
}

/// The number of contours was counted by another program.
#[test]
fn a_folded_shirt_agrees_with_the_oracle() {
    let Some(shirt) = real_garment("diffcloth_mit/tshirt1900-folding-biFolded.obj") else { return };
    assert_eq!(compare_cloth("shirt", &shirt.positions, &shirt.triangles), 7);
}
