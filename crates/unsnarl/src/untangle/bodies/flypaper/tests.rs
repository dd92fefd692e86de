use super::*;
use crate::analysis;
use crate::untangle::bodies::pinch::{self, PinchSettings};
use unsnarl_geometry::TriMesh;
use unsnarl_geometry::math::DQuat;

/// A closed tube with square sections of a half width, around a polyline in the plane z = 0.
fn tube(line: &[DVec3], half: f64) -> TriMesh {
    let last = line.len() - 1;
    let mut mesh = TriMesh::default();
    for at in 0..=last {
        let along = (line[(at + 1).min(last)] - line[at.max(1) - 1]).normalize();
        let side = along.cross(DVec3::Z);
        for (across, out) in [(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)] {
            mesh.positions.push(line[at] + side * (half * across) + DVec3::Z * (half * out));
        }
    }
    for at in 0..last as u32 {
        for corner in 0..4 {
            let [a, b] = [4 * at + corner, 4 * at + (corner + 1) % 4];
            mesh.triangles.extend([[a, b, b + 4], [a, b + 4, a + 4]]);
        }
    }
    let end = 4 * last as u32;
    mesh.triangles.extend([[0, 2, 1], [0, 3, 2], [end, end + 1, end + 2], [end, end + 2, end + 3]]);
    if signed_volume(&mesh) < 0.0 {
        mesh.triangles.iter_mut().for_each(|corners| corners.swap(1, 2));
    }
    mesh
}

fn signed_volume(mesh: &TriMesh) -> f64 {
    let corner = |at: u32| mesh.positions[at as usize];
    mesh.triangles.iter().map(|&[a, b, c]| corner(a).dot(corner(b).cross(corner(c)))).sum::<f64>() / 6.0
}

/// One body like tweezers: two arms from a common foot; at 0 they stand apart, at 1 their tips have passed through each
/// other by half their width.
fn tweezers(closed: f64) -> TriMesh {
    let arm = |side: f64| {
        (0..12).map(move |at| {
            let up = f64::from(at) / 11.0;
            let lean = 0.35 - closed * 0.33 * up;
            DVec3::new(side * lean, up, 0.013 * side * up)
        })
    };
    let mut line: Vec<DVec3> = arm(-1.0).collect();
    line.reverse();
    line.extend((1..8).map(|at| {
        let angle = std::f64::consts::PI * f64::from(at) / 8.0;
        DVec3::new(-0.35 * angle.cos(), -0.35 * angle.sin(), 0.0)
    }));
    line.extend(arm(1.0));
    tube(&line, 0.05)
}

fn find(mesh: &TriMesh, cloth: &[DVec3]) -> (BodyMeshes, Vec<Pinch>) {
    let meshes = BodyMeshes::new([("tweezers", mesh)]).unwrap();
    let tangle = analysis::analyze(meshes.assembly(), &mesh.positions, &mut analysis::Workspace::default());
    let pinches = pinch::find(&meshes, &mesh.positions, &tangle, cloth, &PinchSettings::default());
    (meshes, pinches)
}

fn goal(hold: &(VertexId, Hold)) -> DVec3 {
    match hold.1 {
        Hold::At(point) => point,
        Hold::OnPlane { .. } => unreachable!("flypaper holds points"),
    }
}

/// A sheet of points in the middle between the arms.
fn sheet() -> Vec<DVec3> {
    (0..9)
        .flat_map(|up| (0..5).map(move |out| DVec3::new(1e-4, 0.1 * f64::from(up) + 0.15, 0.015 * f64::from(out))))
        .collect()
}

#[test]
fn a_body_that_passed_through_itself_pinches_what_is_between() {
    let (_, pinches) = find(&tweezers(1.0), &sheet());
    assert!(!pinches.is_empty());
    for pinch in &pinches {
        assert_eq!(pinch.triangles.len(), 2, "one place on each arm");
        let point = sheet()[pinch.vertex.index()];
        assert!(point.y > 0.8, "only near the tips, not at {point}");
    }
}

/// Figure 3 of the source: behind both sides of a thin feature that does not cross anything.
#[test]
fn a_thin_feature_and_arms_apart_pinch_nothing() {
    let inside_an_arm: Vec<DVec3> = (0..9).map(|up| DVec3::new(0.35, 0.1 * f64::from(up), 0.001)).collect();
    for (closed, cloth) in [(0.0, inside_an_arm), (0.0, sheet()), (0.7, sheet())] {
        assert_eq!(find(&tweezers(closed), &cloth).1, []);
    }
}

#[test]
fn two_bodies_pinch_within_reach_and_one_does_not() {
    let block = |low: f64| tube(&[DVec3::new(0.0, low, 0.0), DVec3::new(0.0, low + 0.5, 0.0)], 0.4);
    let (floor, press) = (block(-0.502), block(0.002));
    let positions = [floor.positions.clone(), press.positions.clone()].concat();
    let meshes = BodyMeshes::new([("floor", &floor), ("press", &press)]).unwrap();
    let tangle = analysis::analyze(meshes.assembly(), &positions, &mut analysis::Workspace::default());
    assert!(tangle.is_empty());
    let cloth = [DVec3::ZERO, DVec3::new(0.1, 0.0005, 0.2), DVec3::new(0.6, 0.0, 0.0), DVec3::new(0.0, 0.502, 0.0)];
    let pinches = pinch::find(&meshes, &positions, &tangle, &cloth, &PinchSettings::default());
    let vertices: Vec<u32> = pinches.iter().map(|pinch| pinch.vertex.0).collect();
    assert_eq!(vertices, [0, 1], "between them; not beside them, not on top of one");
}

#[test]
fn motionless_bodies_leave_pinched_cloth_exactly_where_it_is() {
    let mesh = tweezers(1.0);
    let (meshes, pinches) = find(&mesh, &sheet());
    let cloth = sheet();
    let still = [mesh.positions.as_slice(), mesh.positions.as_slice()];
    for hold in goals(&meshes, still, &cloth, &pinches, &FlypaperWeights::default()) {
        assert_eq!(goal(&hold), cloth[hold.0.index()]);
    }
}

#[test]
fn a_rigid_motion_carries_pinched_cloth_rigidly() {
    let mesh = tweezers(1.0);
    let (meshes, pinches) = find(&mesh, &sheet());
    let (turn, shift) =
        (DQuat::from_axis_angle(DVec3::new(1.0, 2.0, -1.0).normalize(), 0.7), DVec3::new(0.3, -0.1, 0.2));
    let moved: Vec<DVec3> = mesh.positions.iter().map(|&point| turn * point + shift).collect();
    let cloth = sheet();
    for hold in goals(&meshes, [&mesh.positions, &moved], &cloth, &pinches, &FlypaperWeights::default()) {
        assert!(goal(&hold).distance(turn * cloth[hold.0.index()] + shift) < 1e-12);
    }
}

/// A floor and a press that come toward each other, and a vertex between them.
fn pressed(weights: &FlypaperWeights) -> DVec3 {
    let plate = |height: f64, turned: bool| {
        let mut triangle = [0, 1, 2];
        if turned {
            triangle.swap(1, 2);
        }
        let corners = [DVec3::new(-1.0, height, 1.0), DVec3::new(1.0, height, 1.0), DVec3::new(0.0, height, -1.0)];
        TriMesh { positions: corners.to_vec(), triangles: vec![triangle] }
    };
    let (floor, press) = (plate(-0.001, false), plate(0.001, true));
    let meshes = BodyMeshes::new([("floor", &floor), ("press", &press)]).unwrap();
    let start = [floor.positions, press.positions].concat();
    let end: Vec<DVec3> =
        start.iter().map(|&p| if p.y > 0.0 { p + DVec3::new(0.01, -0.002, 0.0) } else { p }).collect();
    let cloth = [DVec3::ZERO];
    let tangle = analysis::analyze(meshes.assembly(), &start, &mut analysis::Workspace::default());
    let pinches = pinch::find(&meshes, &start, &tangle, &cloth, &PinchSettings::default());
    goal(&goals(&meshes, [&start, &end], &cloth, &pinches, weights)[0])
}

#[test]
fn a_pinched_vertex_inherits_the_weighted_mean_of_the_motions() {
    let whole = DVec3::new(0.01, -0.002, 0.0);
    let of_press = |weight: f64| [vec![1.0 - weight; 3], vec![weight; 3]].concat();
    for weight in [0.1, 0.5, 1.0] {
        let weights = FlypaperWeights { of_bodies: of_press(weight), ..FlypaperWeights::default() };
        assert!(pressed(&weights).distance(whole * weight) < 1e-15, "at {weight}");
    }
    assert!(pressed(&FlypaperWeights::default()).distance(whole * 0.5) < 1e-15, "equal by default");
    let own = FlypaperWeights { of_bodies: of_press(0.0), of_vertices: vec![(VertexId(0), of_press(1.0).into())] };
    assert!(pressed(&own).distance(whole) < 1e-15, "a vertex may have its own weights");
    let none = FlypaperWeights { of_bodies: vec![0.0; 6], ..FlypaperWeights::default() };
    assert!(pressed(&none).distance(whole * 0.5) < 1e-15, "weights of 0 count the same");
}

/// While arms close and open again, no vertex ever moves farther in a step than the body does.
#[test]
fn there_is_no_jump_when_a_pinch_begins_changes_or_ends() {
    let mut cloth = sheet();
    let states: Vec<TriMesh> = (0..40).map(|at| tweezers(1.0 - (f64::from(at) / 20.0 - 1.0).abs() * 0.4)).collect();
    let mut counts = Vec::new();
    for pair in states.windows(2) {
        let (meshes, pinches) = find(&pair[0], &cloth);
        let ends = [pair[0].positions.as_slice(), pair[1].positions.as_slice()];
        let farthest = ends[0].iter().zip(ends[1]).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
        for hold in goals(&meshes, ends, &cloth, &pinches, &FlypaperWeights::default()) {
            let place = &mut cloth[hold.0.index()];
            assert!(goal(&hold).distance(*place) <= 1.5 * farthest, "a jump");
            *place = goal(&hold);
        }
        counts.push(pinches.len());
    }
    assert!(counts.first() == Some(&0) && counts.last() == Some(&0), "free before and after: {counts:?}");
    assert!(counts.iter().any(|&count| count > 0));
    let drift = cloth.iter().zip(sheet()).map(|(now, before)| now.x.abs().max(before.x)).fold(0.0, f64::max);
    assert!(drift < 0.02, "it stays midway between the arms, not {drift} m off");
}

/// A triangle far larger than the reach, `gap` from the origin, that faces it from an angle around z.
fn plate(angle: f64, gap: f64) -> TriMesh {
    let turn = DQuat::from_rotation_z(angle);
    let corners = [DVec3::new(-1.0, -gap, 1.0), DVec3::new(1.0, -gap, 1.0), DVec3::new(0.0, -gap, -1.0)];
    TriMesh { positions: corners.map(|corner| turn * corner).to_vec(), triangles: vec![[0, 1, 2]] }
}

/// Three bodies close in one after the other and leave again: with two, three and two places a vertex moves by their mean, rests
/// when they rest, and never moves farther than the body that moves farthest.
#[test]
fn the_number_of_surfaces_may_change_without_a_jump() {
    let third = std::f64::consts::TAU / 3.0;
    let gap = |body: usize, step: usize| match body {
        0 => 0.001,
        1 => 0.0055 - 0.0004 * step.min(9) as f64,
        _ => 0.0075 - 0.0004 * step.min(15) as f64 + 0.0004 * step.saturating_sub(20) as f64,
    };
    let at = |step: usize| -> Vec<TriMesh> { (0..3).map(|body| plate(third * body as f64, gap(body, step))).collect() };
    let meshes = BodyMeshes::new(at(0).iter().map(|mesh| ("plate", mesh))).unwrap();
    let positions = |step: usize| at(step).into_iter().flat_map(|mesh| mesh.positions).collect::<Vec<DVec3>>();
    let (mut cloth, mut counts) = ([DVec3::ZERO], Vec::new());
    let nothing = analysis::Tangle::default();
    for step in 0..32 {
        let (start, end) = (positions(step), positions(step + 1));
        let pinches = pinch::find(&meshes, &start, &nothing, &cloth, &PinchSettings::default());
        counts.push(pinches.first().map_or(0, |pinch| pinch.triangles.len()));
        let Some(hold) = goals(&meshes, [&start, &end], &cloth, &pinches, &FlypaperWeights::default()).pop() else {
            continue;
        };
        let motions =
            pinches[0].triangles.iter().map(|triangle| end[3 * triangle.index()] - start[3 * triangle.index()]);
        let mean = motions.sum::<DVec3>() / pinches[0].triangles.len() as f64;
        assert!(goal(&hold).distance(cloth[0] + mean) < 1e-14, "step {step}");
        cloth[0] = goal(&hold);
    }
    assert!(counts.first() == Some(&0) && counts.contains(&2) && counts.contains(&3), "{counts:?}");
    assert_eq!(counts.last(), Some(&2), "the third has left: {counts:?}");
}

/// What bodies will pinch at the end of a step is led through it already.
#[test]
fn a_pinch_that_begins_during_a_step_is_found_at_its_start() {
    // The tips are 4 mm apart at first.
    let (before, after) = (tweezers(0.91), tweezers(1.0));
    let meshes = BodyMeshes::new([("tweezers", &before)]).unwrap();
    let tangles = [&before, &after]
        .map(|mesh| analysis::analyze(meshes.assembly(), &mesh.positions, &mut analysis::Workspace::default()));
    let ends = [before.positions.as_slice(), after.positions.as_slice()];
    let cloth: Vec<DVec3> =
        (0..6).map(|at| DVec3::new(1e-4, 0.98 + 0.001 * f64::from(at), 0.005 * f64::from(at))).collect();
    let settings = PinchSettings::default();
    let now = pinch::find(&meshes, ends[0], &tangles[0], &cloth, &settings);
    let during = pinch::find_during(&meshes, ends, [&tangles[0], &tangles[1]], &cloth, &settings);
    assert!(during.len() > now.len(), "{} and {}", during.len(), now.len());
    assert!(now.iter().all(|pinch| during.contains(pinch)), "what is held keeps its places");
    let still = pinch::find_during(&meshes, [ends[0]; 2], [&tangles[0]; 2], &cloth, &settings);
    assert_eq!(still, now);
}

/// The outer side of what is pressed together is below the surfaces within, but not between them.
#[test]
fn the_outside_of_crossed_limbs_is_not_pinched() {
    let beside = |up: f64| DVec3::new(0.35 - 0.33 * up + 0.0535, up, 0.02);
    let outside: Vec<DVec3> = (0..8).map(|at| beside(0.9 + 0.0125 * f64::from(at))).collect();
    assert_eq!(find(&tweezers(1.0), &outside).1, []);
}

/// Above the tips, outside the body, but below both of the surfaces that crossed: so is the top of a shoulder above an armpit.
#[test]
fn cloth_beyond_the_end_of_crossed_limbs_is_not_pinched() {
    let beyond: Vec<DVec3> = (1..8).map(|at| DVec3::new(1e-4, 1.0 + 0.004 * f64::from(at), 0.01)).collect();
    assert_eq!(find(&tweezers(1.0), &beyond).1, []);
}

#[test]
fn only_elements_at_pinched_vertices_pass_through_bodies_and_each_other() {
    use crate::contact::{OrdinaryRules, PairRules, Rule};
    use crate::untangle::bodies::pinch::{Covered, PinchRules};
    use unsnarl_geometry::ccd::ElementPair;
    // Two triangles of cloth, and one of a body.
    let topology = Topology::new(9, &[[0, 1, 2], [3, 4, 5], [6, 7, 8]]).unwrap();
    let rule = |pinched: &[u32], vertex: u32, triangle: u32| {
        let pinched: Vec<VertexId> = pinched.iter().copied().map(VertexId).collect();
        let rules = PinchRules::new(&OrdinaryRules, &topology, 6, &pinched, Covered::default());
        rules.rule(ElementPair::VertexTriangle(VertexId(vertex), TriangleId(triangle)))
    };
    assert_eq!(rule(&[], 0, 2), Rule::Ordinary);
    assert_eq!(rule(&[0], 0, 2), Rule::MayCross, "a pinched vertex and a body");
    assert_eq!(rule(&[0], 1, 2), Rule::Ordinary, "its neighbour is still kept out");
    assert_eq!(rule(&[0], 6, 0), Rule::MayCross, "a body's corner and a triangle at the pinched vertex");
    assert_eq!(rule(&[0], 0, 1), Rule::Ordinary, "cloth that is not pinched is kept apart");
    assert_eq!(rule(&[0, 4], 0, 1), Rule::MayCross, "pinched cloth on pinched cloth");
}

/// Edges of cloth that reach between surfaces with no vertex there would be squeezed for ever: what is within the body lets them in.
#[test]
fn what_of_a_body_is_within_the_body_keeps_no_cloth_out() {
    use crate::contact::{OrdinaryRules, PairRules, Rule};
    use crate::untangle::bodies::pinch::{Covered, PinchRules};
    use unsnarl_geometry::ccd::ElementPair;
    let rules_of = |closed: f64| {
        let mesh = tweezers(closed);
        let meshes = BodyMeshes::new([("tweezers", &mesh)]).unwrap();
        let tangle = analysis::analyze(meshes.assembly(), &mesh.positions, &mut analysis::Workspace::default());
        let covered = Covered::new(&meshes, [&tangle]);
        // One triangle of cloth before the body.
        let shifted = mesh.triangles.iter().map(|corners| corners.map(|corner| corner + 3));
        let triangles: Vec<[u32; 3]> = std::iter::once([0, 1, 2]).chain(shifted).collect();
        let topology = Topology::new(mesh.positions.len() + 3, &triangles).unwrap();
        let rules = PinchRules::new(&OrdinaryRules, &topology, 3, &[], covered);
        let crossing = |at: usize| {
            let pair = ElementPair::VertexTriangle(VertexId::new(at + 3), TriangleId(0));
            rules.rule(pair) == Rule::MayCross
        };
        let through: Vec<DVec3> =
            (0..mesh.positions.len()).filter(|&at| crossing(at)).map(|at| mesh.positions[at]).collect();
        through
    };
    assert_eq!(rules_of(0.0), [], "arms that stand apart");
    let through = rules_of(1.0);
    assert!(!through.is_empty() && through.iter().all(|place| place.y > 0.8), "only near the tips: {through:?}");
}

#[test]
fn convex_bodies_pinch_only_near_each_other() {
    let (left, right) = (plate(0.0, 0.0), plate(0.0, 0.5));
    let near = plate(0.0, 0.004);
    let may = |other: &TriMesh| {
        let meshes = BodyMeshes::new([("left", &left), ("other", other)]).unwrap().of_convex_bodies();
        let positions = [left.positions.clone(), other.positions.clone()].concat();
        meshes.may_pinch([&positions, &positions], 0.003)
    };
    assert!(may(&near) && !may(&right));
}
