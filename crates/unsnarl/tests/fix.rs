//! Untangling made cases: what comes out is clean by the exact check, and only what had to move has moved.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use unsnarl::analysis::{self, Assembly, ContourKind, PartKind, Tangle, Workspace};
use unsnarl::fix::report::Spread;
use unsnarl::fix::{self, Advance, Continue, FixSettings, Outcome, Patient, Untangling, VertexSettings};
use unsnarl::geometry::intersection::IntersectingPair;
use unsnarl::geometry::{DVec3, EdgeId, TriMesh, VertexId};
use unsnarl::model::{Cloth, Model, Rest};
use unsnarl::samples::{self, Cut, Recipe, Sample};
use unsnarl::untangle::Method;

fn patient(name: &str, mesh: &TriMesh, rest: Rest) -> Patient {
    let mut cloth = Cloth::new(name, mesh.clone());
    cloth.rest = rest;
    let (model, state) = Model::build(&[cloth]).unwrap();
    let part = (name.to_owned(), PartKind::Cloth, mesh.positions.len(), mesh.triangles.as_slice());
    Patient { model, state, assembly: Assembly::new([part]).unwrap(), body_positions: Vec::new() }
}

fn untangle(patient: Patient) -> Outcome {
    fix::untangle(patient, &FixSettings::default(), &mut |_| Continue::Yes)
}

fn made(name: &str, cut: Cut) -> Sample {
    samples::find(name).unwrap().make(&Recipe { resolution: 10, cut, seed: 3 })
}

/// The handkerchief of Cha 2022, 6.3, with 392 triangles, flat at rest.
fn exploded_handkerchief(seed: u64) -> Patient {
    let recipe = Recipe { resolution: 14, cut: Cut::Regular, seed };
    let sample = samples::find("exploded-central").unwrap().make(&recipe);
    let mut patient = patient("exploded", &sample.mesh, Rest::Panels(sample.uv));
    patient.state.rest_angles.fill(0.0);
    patient
}

#[test]
fn the_seven_types_come_out_clean() {
    for name in ["closed", "eight", "cross", "ll", "bbii", "bibi", "bli"] {
        for cut in [Cut::Regular, Cut::Irregular] {
            let sample = made(name, cut);
            let outcome = untangle(patient(name, &sample.mesh, Rest::Panels(sample.uv.clone())));
            assert!(outcome.verdict.is_clean(), "{name} {cut:?}: {} pairs are left", outcome.verdict.pairs.len());
            assert!(outcome.steps > 0, "{name} {cut:?} was tangled");
        }
    }
}

/// The theorem of Cha 2022, 4.4, with the colours of `untangle::resolvers::main_component`. Its conditions are
/// counted.
#[test]
fn an_exploded_middle_comes_out_clean_and_red_never_grows() {
    let sample = made("exploded-central", Cut::Regular);
    let outcome = untangle(patient("exploded", &sample.mesh, Rest::Panels(sample.uv.clone())));
    assert!(outcome.verdict.is_clean());
    let counts = outcome.assumptions;
    assert!(counts.tangled_steps > 0 && counts.tangled_steps <= outcome.steps);
    assert_eq!((counts.bli_steps, counts.growths), (0, 0));
    assert!(outcome.red_history.is_sorted_by(|before, after| before >= after), "{:?}", outcome.red_history);
    assert!(outcome.pulls.off_seam.count > 0 && outcome.pulls.off_seam == outcome.pulls.all());
}

/// The handkerchief of Cha 2022, 6.3: two fifths of it are red, and edge shortening alone undoes it within 75 steps. Before
/// contact slowed colliding vertices down alone, seeds 0, 14 and 15 stood still; 7 and 12 kept an LL of three segments.
#[test]
fn edge_shortening_alone_undoes_the_exploded_handkerchief_of_the_source() {
    for seed in [0, 7, 12, 14, 15] {
        let patient = exploded_handkerchief(seed);
        let model = patient.model.clone();
        let settings = FixSettings::with_method(Method::Esef);
        let outcome = fix::untangle(patient, &settings, &mut |_| Continue::Yes);
        assert!(outcome.verdict.is_clean(), "seed {seed}: {} pairs are left", outcome.verdict.pairs.len());
        let counts = outcome.assumptions;
        assert!(counts.tangled_steps <= 75, "seed {seed}: {} steps", counts.tangled_steps);
        assert_eq!((counts.bli_steps, counts.growths), (0, 0), "seed {seed}");
        let edges = Spread::of_edges(&model, &outcome.positions);
        assert!(edges.p01 > 0.9 && edges.p99 < 1.1, "seed {seed}: {edges:?}");
    }
}

/// In seed 11 a loop would come to end in green vertices twice, so that more would be cut off than before.
#[test]
fn a_step_after_which_red_would_grow_is_taken_again() {
    let outcome = untangle(exploded_handkerchief(11));
    let counts = outcome.assumptions;
    assert!(outcome.verdict.is_clean() && counts.bli_steps == 0);
    assert!(counts.retaken_steps > 0 && counts.growths == 0, "{counts:?}");
    assert!(outcome.red_history.is_sorted_by(|before, after| before >= after), "{:?}", outcome.red_history);
}

/// The one thing that the theorem of Cha 2022, 4.4, takes for granted.
#[test]
fn contact_lets_nothing_cross_an_edge_between_green_vertices() {
    let mut looked_at = 0;
    for seed in 0..4 {
        let patient = exploded_handkerchief(seed);
        let edges = patient.assembly.topology().edges().to_vec();
        let mut untangling = Untangling::new(patient, FixSettings::with_method(Method::Esef));
        let mut tangle = untangling.analyze();
        while !tangle.is_empty() && untangling.judge(&tangle) == Advance::Step {
            assert_eq!(tangle.count(ContourKind::Bli), 0);
            let red = tangle.colours.red_vertices.clone();
            let crossed = crossed_edges(&tangle);
            untangling.step(&tangle);
            tangle = untangling.analyze();
            let breaks_in = |edge: &&EdgeId| {
                let is_green = edges[edge.index()].iter().all(|end| red.binary_search(end).is_err());
                is_green && crossed.binary_search(edge).is_err()
            };
            assert_eq!(crossed_edges(&tangle).iter().find(breaks_in), None, "seed {seed}");
            looked_at += 1;
        }
    }
    assert!(looked_at > 60, "{looked_at} steps");
}

fn crossed_edges(tangle: &Tangle) -> Vec<EdgeId> {
    let points = tangle.contours.iter().flat_map(|tangled| &tangled.contour.points);
    let mut edges: Vec<EdgeId> = points.map(|point| point.edge).collect();
    edges.sort_unstable();
    edges
}

/// Cloth that is stretched as no worn garment is has no shape to keep, so it may not stay strained.
#[test]
fn cloth_without_a_shape_to_keep_comes_out_at_its_size() {
    let sample = made("exploded-whole", Cut::Irregular);
    let mut patient = patient("exploded", &sample.mesh, Rest::Panels(sample.uv.clone()));
    patient.state.rest_angles.fill(0.0);
    let model = patient.model.clone();
    assert!(Spread::of_stretch(&model, &sample.mesh.positions).p99 > 1.5);
    let outcome = untangle(patient);
    assert!(outcome.verdict.is_clean());
    let edges = Spread::of_edges(&model, &outcome.positions);
    assert!(edges.p01 > 0.9 && edges.p99 < 1.1, "{edges:?}");
}

#[test]
fn clean_cloth_comes_back_bit_for_bit() {
    let sample = made("hanky", Cut::Irregular);
    let outcome = untangle(patient("hanky", &sample.mesh, Rest::AsLoaded));
    assert_eq!(outcome.positions, sample.mesh.positions);
    assert_eq!(outcome.steps, 0);
}

/// Layers slide with eight rings around what changes sides, and four more may relax.
#[test]
fn beyond_twelve_rings_of_a_tangle_nothing_moves() {
    let sample = samples::find("closed").unwrap().make(&Recipe { resolution: 48, cut: Cut::Regular, seed: 0 });
    let patient = patient("closed", &sample.mesh, Rest::Panels(sample.uv.clone()));
    let topology = patient.assembly.topology().clone();
    let tangle = analysis::analyze(&patient.assembly, &sample.mesh.positions, &mut Workspace::default());
    let mut near: Vec<bool> = vec![false; topology.vertex_count()];
    let crossing = tangle.colours.red_triangles.iter().flat_map(|&triangle| topology.triangle(triangle));
    crossing.for_each(|vertex| near[vertex.index()] = true);
    for _ in 0..12 {
        let reached: Vec<VertexId> = (0..near.len()).map(VertexId::new).filter(|at| near[at.index()]).collect();
        reached.iter().flat_map(|&at| topology.ring(at)).for_each(|other| near[other.index()] = true);
    }
    let outcome = untangle(patient);
    assert!(outcome.verdict.is_clean());
    let far = (0..near.len()).filter(|&vertex| !near[vertex]);
    let (all, moved) = far.fold((0, 0), |(all, moved), vertex| {
        (all + 1, moved + usize::from(outcome.positions[vertex] != sample.mesh.positions[vertex]))
    });
    assert!(all > 500 && moved == 0, "{moved} of {all} moved");
}

#[test]
fn what_merely_touches_is_moved_apart() {
    let mesh = TriMesh {
        positions: vec![
            DVec3::new(0.0, 0.0, 0.0),
            DVec3::new(1.0, 0.0, 0.0),
            DVec3::new(0.0, 1.0, 0.0),
            DVec3::new(0.25, 0.25, 0.0),
            DVec3::new(0.25, 0.25, 1.0),
            DVec3::new(0.9, 0.9, 1.0),
        ],
        triangles: vec![[0, 1, 2], [3, 4, 5]],
    };
    let before = patient("touching", &mesh, Rest::AsLoaded);
    let verdict = analysis::verdict(&before.assembly, &mesh.positions, &mut Workspace::default());
    assert_eq!((verdict.pairs.len(), verdict.touching_count()), (1, 1));
    let outcome = untangle(before);
    assert!(outcome.verdict.is_clean());
    let farthest = outcome.positions.iter().zip(&mesh.positions).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
    assert!(farthest < 0.01, "moved {farthest} m");
}

/// Regression: the colours of an analysis with a body name elements that the cloth does not have, which ended in a
/// panic. A tip that stands through a single triangle leaves nothing to pull: the body's own sign brings cloth out.
#[test]
fn cloth_comes_off_the_tip_of_a_body() {
    let sample = samples::find("hanky").unwrap().make(&Recipe { resolution: 12, cut: Cut::Regular, seed: 0 });
    let (center, up) = (middle(&sample.mesh), normal(&sample.mesh));
    let size = sample.mesh.bounds().extent().max_element();
    // A tetrahedron whose tip stands through the middle of the cloth.
    let (side, tip) = (up.any_orthonormal_vector(), 0.04 * size);
    let across = up.cross(side);
    let base = center - 0.3 * size * up;
    let body = TriMesh {
        positions: vec![
            center + tip * up,
            base + 0.3 * size * side,
            base + 0.3 * size * (-0.5 * side + 0.866 * across),
            base + 0.3 * size * (-0.5 * side - 0.866 * across),
        ],
        triangles: vec![[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]],
    };
    let mut patient = patient("hanky", &sample.mesh, Rest::Panels(sample.uv.clone()));
    let cloth = ("hanky".to_owned(), PartKind::Cloth, sample.mesh.positions.len(), sample.mesh.triangles.as_slice());
    let obstacle = ("body".to_owned(), PartKind::Body, body.positions.len(), body.triangles.as_slice());
    patient.assembly = Assembly::new([cloth, obstacle]).unwrap();
    patient.body_positions = body.positions;
    let outcome = untangle(patient);
    assert!(outcome.resolvers.body_push > 0 && outcome.verdict.is_clean());
}

#[test]
fn cloth_that_retreats_grows_back_to_its_size() {
    for name in ["crossing-sheets", "bli"] {
        let sample = made(name, Cut::Irregular);
        let patient = patient(name, &sample.mesh, Rest::Panels(sample.uv.clone()));
        let model = patient.model.clone();
        let settings = FixSettings::with_method(Method::Retreat);
        let outcome = fix::untangle(patient, &settings, &mut |_| Continue::Yes);
        assert!(outcome.verdict.is_clean(), "{name}");
        assert_eq!((outcome.resolvers.retreat, outcome.resolvers.esef), (1, 0), "{name}");
        let edges = Spread::of_edges(&model, &outcome.positions);
        assert!(edges.p01 > 0.9 && edges.p99 < 1.1, "{name}: {edges:?}");
    }
}

/// Edge shortening stalls in this one, and cloth with a dart is not flat at rest: before it was spread in a plane, the retreat left
/// edges of 0.27 to 2.3 of their rest.
#[test]
fn cloth_with_a_dart_and_no_shape_to_keep_comes_out_at_its_size() {
    let recipe = Recipe { resolution: 14, cut: Cut::Regular, seed: 57 };
    let sample = samples::find("exploded-sewn").unwrap().make(&recipe);
    let mut patient = patient("sewn", &sample.mesh, Rest::Panels(sample.uv.clone()));
    patient.state.rest_angles.fill(0.0);
    let model = patient.model.clone();
    let outcome = untangle(patient);
    assert!(outcome.verdict.is_clean() && outcome.resolvers.laying_out == 1, "{:?}", outcome.resolvers);
    let edges = Spread::of_edges(&model, &outcome.positions);
    assert!(edges.p01 > 0.95 && edges.p99 < 1.05, "{edges:?}");
}

/// A tube of a tenth of a metre, of so many squares around and along.
fn tube(around: u32, along: u32) -> TriMesh {
    let place = |at: u32| {
        let (sine, cosine) = (std::f64::consts::TAU * f64::from(at % around) / f64::from(around)).sin_cos();
        DVec3::new(0.1 * cosine, 0.05 * f64::from(at / around), 0.1 * sine)
    };
    let square = |at: u32| {
        let (here, next) = (at, at / around * around + (at + 1) % around);
        [[here, here + around, next], [next, here + around, next + around]]
    };
    TriMesh {
        positions: (0..around * (along + 1)).map(place).collect(),
        triangles: (0..around * along).flat_map(square).collect(),
    }
}

/// A tube can neither be laid flat nor smoothed out of a knot; it starts again from its rest mesh, or from its rest shapes alone.
#[test]
fn a_tube_that_was_crumpled_is_a_tube_again() {
    let whole = tube(12, 8);
    let mut crumpled = whole.clone();
    for (at, place) in crumpled.positions.iter_mut().enumerate() {
        *place = 0.1 * DVec3::new((7 * at) as f64, (11 * at) as f64, (13 * at) as f64).map(f64::sin);
    }
    let (rest_model, _) = Model::build(&[Cloth::new("rest", whole.clone())]).unwrap();
    let of_pose = |rest_pose: Vec<DVec3>| {
        let patient = patient("tubes", &crumpled, Rest::Shapes(rest_model.rest_shapes.clone()));
        let vertices = VertexSettings { rest_pose, ..VertexSettings::default() };
        let settings = FixSettings { vertices, ..FixSettings::default() };
        fix::untangle(patient, &settings, &mut |_| Continue::Yes)
    };
    for rest_pose in [whole.positions, Vec::new()] {
        let outcome = of_pose(rest_pose);
        assert!(outcome.verdict.is_clean() && outcome.resolvers.laying_out == 1);
        let edges = Spread::of_edges(&rest_model, &outcome.positions);
        assert!(edges.p01 > 0.95 && edges.p99 < 1.05, "{edges:?}");
    }
}

/// Colours tell nothing about cloth that is thrown about as a whole, so no step is wasted on it.
#[test]
fn cloth_beyond_recognition_is_laid_flat_at_once() {
    let sample = samples::find("exploded-whole").unwrap().make(&Recipe { resolution: 14, cut: Cut::Regular, seed: 5 });
    let mut patient = patient("exploded", &sample.mesh, Rest::Panels(sample.uv.clone()));
    patient.state.rest_angles.fill(0.0);
    let outcome = untangle(patient);
    assert!(outcome.verdict.is_clean());
    assert_eq!((outcome.assumptions.tangled_steps, outcome.resolvers.laying_out), (0, 1));
}

/// The rim of a sleeve is exploded in one place, and edge shortening stalls there. All of the sleeve was made anew for it.
#[test]
fn a_place_that_lost_its_shape_does_not_cost_the_rest_of_the_garment() {
    let whole = tube(48, 40);
    let (rest_model, _) = Model::build(&[Cloth::new("rest", whole.clone())]).unwrap();
    for seed in [1, 5, 7] {
        let mut thrown = whole.clone();
        for (at, place) in thrown.positions.iter_mut().enumerate() {
            if whole.positions[at].distance(whole.positions[48]) < 0.1 {
                let random = [7, 11, 13].map(|factor: usize| ((factor * at + seed) as f64).sin());
                *place += 0.06 * DVec3::from(random);
            }
        }
        let outcome = untangle(patient("sleeve", &thrown, Rest::Shapes(rest_model.rest_shapes.clone())));
        assert!(outcome.verdict.is_clean(), "{seed}");
        assert!(outcome.resolvers.retreat <= 1 && outcome.resolvers.laying_out == 0, "{seed}");
        let moved = outcome.positions.iter().zip(&thrown.positions).filter(|(after, before)| after != before).count();
        assert!(moved < thrown.positions.len() / 4, "{seed}: {moved} of {}", thrown.positions.len());
        let edges = Spread::of_edges(&rest_model, &outcome.positions);
        assert!(edges.p01 > 0.95 && edges.p99 < 1.05, "{seed}: {edges:?}");
    }
}

/// A handkerchief is thrown about as a whole, a sleeve beside it is not and only crossed by it. Both were made anew.
#[test]
fn a_garment_in_shape_keeps_it_beside_one_that_has_none() {
    let sample = samples::find("exploded-whole").unwrap().make(&Recipe { resolution: 14, cut: Cut::Regular, seed: 5 });
    let sleeve = tube(12, 4);
    let (first_vertex, first_triangle) = (sample.mesh.positions.len(), sample.mesh.triangles.len());
    let mut both = sample.mesh.clone();
    let shift = middle(&sample.mesh) - middle(&sleeve) + 0.1 * DVec3::X;
    both.positions.extend(sleeve.positions.iter().map(|place| *place + shift));
    both.triangles.extend(sleeve.triangles.iter().map(|corners| corners.map(|corner| corner + first_vertex as u32)));
    let model = |mesh: &TriMesh, rest: Rest| patient("alone", mesh, rest).model;
    let (sheet_model, sleeve_model) = (model(&sample.mesh, Rest::Panels(sample.uv)), model(&sleeve, Rest::AsLoaded));
    let shapes = [sheet_model.rest_shapes, sleeve_model.rest_shapes.clone()].concat();
    let patient = patient("both", &both, Rest::Shapes(shapes));
    let before = analysis::verdict(&patient.assembly, &both.positions, &mut Workspace::default());
    let of_both =
        |pair: &&IntersectingPair| pair.first.index() < first_triangle && pair.second.index() >= first_triangle;
    let crossed = before.pairs.iter().filter(of_both).count();
    assert!(crossed > 20, "{crossed}");
    let outcome = untangle(patient);
    assert!(outcome.verdict.is_clean() && outcome.resolvers.laying_out == 1, "{:?}", outcome.resolvers);
    let edges = Spread::of_edges(&sleeve_model, &outcome.positions[first_vertex..]);
    assert!(edges.p01 > 0.9 && edges.p99 < 1.1, "{edges:?}");
}

#[test]
fn a_run_that_is_told_to_stop_within_a_step_moves_nothing_in_it() {
    let patient = exploded_handkerchief(3);
    let before = patient.state.positions.clone();
    let mut steps = 0;
    let outcome = fix::untangle_unless(patient, &FixSettings::default(), Arc::new(|| true), &mut |_| {
        steps += 1;
        if steps > 1 { Continue::No } else { Continue::Yes }
    });
    assert!(!outcome.verdict.is_clean());
    assert_eq!(outcome.positions, before);
}

/// Pulls stretched this cloth to 18 times its size, with contours that became no longer, and a minute did not end it.
#[test]
fn cloth_that_pulls_ruin_is_given_a_stronger_measure() {
    let sample = samples::find("cross").unwrap().make(&Recipe { resolution: 22, cut: Cut::Irregular, seed: 9 });
    let patient = patient("cross", &sample.mesh, Rest::Panels(sample.uv.clone()));
    let model = patient.model.clone();
    let outcome = untangle(patient);
    assert!(outcome.verdict.is_clean());
    let edges = Spread::of_edges(&model, &outcome.positions);
    assert!(outcome.steps < 500 && edges.p01 > 0.9 && edges.p99 < 1.1, "{} steps, {edges:?}", outcome.steps);
}

#[test]
fn places_that_are_not_numbers_are_never_certified() {
    let patient = exploded_handkerchief(3);
    let before = patient.state.positions.clone();
    let mut untangling = Untangling::new(patient, FixSettings::default());
    untangling.state.positions.fill(DVec3::NAN);
    let outcome = untangling.finish();
    assert_eq!(outcome.positions, before);
    assert!(!outcome.verdict.is_clean());
}

fn middle(mesh: &TriMesh) -> DVec3 {
    mesh.positions.iter().sum::<DVec3>() / mesh.positions.len() as f64
}

fn normal(mesh: &TriMesh) -> DVec3 {
    let [a, b, c] = mesh.triangles[0].map(|corner| mesh.positions[corner as usize]);
    (b - a).cross(c - a).normalize()
}

#[test]
fn the_result_does_not_depend_on_threads() {
    let sample = made("bbii", Cut::Irregular);
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| untangle(patient("bbii", &sample.mesh, Rest::Panels(sample.uv.clone()))).positions)
    };
    assert_eq!(on(1), on(3));
}

#[test]
fn a_stopped_run_says_what_is_left() {
    let sample = made("bli", Cut::Regular);
    let outcome = fix::untangle(
        patient("bli", &sample.mesh, Rest::Panels(sample.uv.clone())),
        &FixSettings::default(),
        &mut |progress| if progress.step < 2 { Continue::Yes } else { Continue::No },
    );
    assert!(!outcome.verdict.is_clean());
    assert!(outcome.tangle.count(ContourKind::Bli) > 0);
}

/// What each method without history can do, on one made case per type. The whole table, over many seeds:
/// `cargo run --release -p unsnarl-benches --bin methods`.
#[test]
fn methods_without_history_undo_what_they_claim() {
    let claims: [(Method, &[&str]); 5] = [
        (Method::Gia, &["closed"]),
        (Method::Icm, &["closed", "bibi"]),
        (Method::RepulsiveIcm, &["closed", "bbii", "bibi"]),
        (Method::Uir, &["closed", "bbii", "bibi"]),
        (Method::SimPrev, &["closed", "bbii", "bibi"]),
    ];
    for (method, names) in claims {
        for name in names {
            let outcome = untangle_by(method, name, 400);
            assert!(outcome.verdict.is_clean(), "{} leaves {name}", method.name());
        }
    }
}

#[test]
fn what_is_out_of_a_methods_scope_is_left_and_said_to_be() {
    for (method, name) in [(Method::Gia, "bbii"), (Method::Gia, "bibi"), (Method::Off, "closed")] {
        let outcome = untangle_by(method, name, 20);
        assert!(!outcome.verdict.is_clean() && !outcome.tangle.is_empty(), "{} on {name}", method.name());
    }
}

fn untangle_by(method: Method, name: &str, steps: usize) -> Outcome {
    let sample = made(name, Cut::Irregular);
    let settings = FixSettings { largest_step_count: steps, ..FixSettings::with_method(method) };
    let patient = patient(name, &sample.mesh, Rest::Panels(sample.uv.clone()));
    fix::untangle(patient, &settings, &mut |_| Continue::Yes)
}
