use super::*;
use crate::analysis::{Assembly, Tangle, Workspace, analyze};

fn tangle_of(sample: &Sample) -> Tangle {
    let assembly = Assembly::of_cloth("sample", &sample.mesh).unwrap();
    analyze(&assembly, &sample.mesh.positions, &mut Workspace::default())
}

fn summary(tangle: &Tangle) -> String {
    let counts = ContourKind::ALL.map(|kind| (kind.name(), tangle.count(kind)));
    let present = counts.into_iter().filter(|&(_, count)| count > 0);
    present.map(|(name, count)| format!("{count} {name}")).collect::<Vec<_>>().join(", ")
}

fn recipes(case: &Case) -> Vec<Recipe> {
    let mut recipes = Vec::new();
    for resolution in [case.smallest_resolution, case.default_resolution, case.default_resolution * 3 / 2] {
        for (cut, seed) in [(Cut::Regular, 1), (Cut::Alternating, 2), (Cut::Irregular, 3), (Cut::Irregular, 4)] {
            recipes.push(Recipe { resolution, cut, seed });
        }
    }
    recipes
}

#[test]
fn every_case_contains_the_types_it_promises_at_every_resolution_and_cut() {
    let mut broken = Vec::new();
    for case in cases() {
        for recipe in recipes(case) {
            let tangle = tangle_of(&case.make(&recipe));
            let kept = case.promises.iter().all(|&(kind, count)| tangle.count(kind) >= count);
            if !kept || tangle.is_empty() != (case.family == Family::Plain) {
                broken.push(format!("{} {recipe:?}: {}", case.name, summary(&tangle)));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn a_rudimentary_tangle_is_what_it_promises_and_nothing_else() {
    let mut broken = Vec::new();
    for case in cases().filter(|case| case.family == Family::Rudimentary && case.name != "cross") {
        for seed in 0..25 {
            let resolution = case.smallest_resolution + (seed as usize % 5) * 3;
            let recipe = Recipe { resolution, cut: Cut::Irregular, seed };
            let tangle = tangle_of(&case.make(&recipe));
            let promised: usize = case.promises.iter().map(|&(_, count)| count).sum();
            let kept = case.promises.iter().all(|&(kind, count)| tangle.count(kind) == count);
            if !kept || tangle.contours.len() != promised {
                broken.push(format!("{} {recipe:?}: {}", case.name, summary(&tangle)));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn a_central_explosion_has_no_contour_that_ends_at_the_border() {
    let case = find("exploded-central").unwrap();
    for seed in 0..6 {
        let tangle = tangle_of(&case.make(&Recipe { resolution: 14, cut: Cut::Irregular, seed }));
        for kind in [ContourKind::Bli, ContourKind::Bbii, ContourKind::Bibi] {
            assert_eq!(tangle.count(kind), 0);
        }
    }
}

#[test]
fn names_are_unique_and_found() {
    let mut names: Vec<&str> = cases().map(|case| case.name).collect();
    assert!(names.iter().all(|name| find(name).is_some()));
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
    assert!(find("no-such-case").is_none());
}

#[test]
fn every_triangle_has_a_part_and_a_panel_of_its_own_size() {
    for case in cases().filter(|case| case.family != Family::Exploded) {
        let sample = case.make(&Recipe { resolution: case.default_resolution, cut: Cut::Irregular, seed: 9 });
        assert_eq!(sample.part_of_triangle().len(), sample.mesh.triangles.len(), "{}", case.name);
        assert_eq!(sample.uv.triangles.len(), sample.mesh.triangles.len());
        let mut stretches: Vec<f64> = Vec::new();
        for (corners, panel) in sample.mesh.triangles.iter().zip(&sample.uv.triangles) {
            for side in 0..3 {
                let next = (side + 1) % 3;
                let [from, to] = [side, next].map(|at| sample.mesh.positions[corners[at] as usize]);
                let [rest_from, rest_to] = [side, next].map(|at| sample.uv.coordinates[panel[at] as usize]);
                stretches.push(from.distance(to) / rest_from.distance(rest_to));
            }
        }
        stretches.sort_by(f64::total_cmp);
        let median = stretches[stretches.len() / 2];
        let high = stretches[stretches.len() * 99 / 100];
        assert!((0.7..1.1).contains(&median) && high < 2.6, "{}: median {median}, 99 % {high}", case.name);
    }
}

#[test]
fn the_same_recipe_gives_the_same_sample() {
    for case in cases() {
        let recipe = Recipe { resolution: case.smallest_resolution, cut: Cut::Irregular, seed: 11 };
        assert!(case.make(&recipe) == case.make(&recipe), "{}", case.name);
    }
}

#[test]
fn pieces_put_together_again_are_the_sample() {
    for case in cases() {
        let sample = case.make(&Recipe { resolution: case.smallest_resolution, cut: Cut::Regular, seed: 1 });
        let pieces = sample.pieces();
        let mut joined = TriMesh::default();
        for piece in &pieces {
            joined.append(&piece.mesh);
            assert!(piece.uv.triangles.iter().flatten().all(|&at| (at as usize) < piece.uv.coordinates.len()));
        }
        assert_eq!(joined, sample.mesh, "{}", case.name);
        let creases: usize = pieces.iter().map(|piece| piece.description.creases.len()).sum();
        assert_eq!(creases, sample.description.creases.len());
        let labels: usize = pieces.iter().map(|piece| piece.description.panels.len()).sum();
        assert_eq!(labels, sample.description.panels.len());
    }
}
