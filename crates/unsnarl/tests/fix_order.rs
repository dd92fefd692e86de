//! Order: pieces over each other, and folds to their side, as the design or the user says.

#![allow(clippy::unwrap_used)]

use unsnarl::analysis::{self, Assembly, ContourKind, PartKind};
use unsnarl::fix::report::Spread;
use unsnarl::fix::{self, Continue, FixSettings, FoldStyle, Outcome, Patient, VertexSettings};
use unsnarl::geometry::{DVec2, DVec3, TriMesh, VertexId};
use unsnarl::model::{Cloth, Model, Rest, RestAngles};
use unsnarl::samples::{self, Cut, Recipe, Sample};
use unsnarl::scene::garment::{CreasePath, Garment, GarmentInput, TriangleGroups};
use unsnarl::untangle::folds::reflect::fold::style_at;

fn made(name: &str, resolution: usize, cut: Cut) -> Sample {
    samples::find(name).unwrap().make(&Recipe { resolution, cut, seed: 3 })
}

fn garment(sample: &Sample) -> Garment {
    let names: Vec<String> = sample.parts.iter().map(|part| part.name.clone()).collect();
    let groups = TriangleGroups { names: &names, of_triangle: &sample.part_of_triangle() };
    let input = GarmentInput { groups, ..GarmentInput::new(&sample.mesh, Some(&sample.uv)) };
    Garment::build(&input, &sample.description).unwrap()
}

fn untangle(sample: &Sample, settings: &FixSettings) -> (Model, Outcome) {
    let mesh = &sample.mesh;
    let mut cloth = Cloth::new("sample", mesh.clone());
    cloth.rest = Rest::Panels(sample.uv.clone());
    cloth.rest_angles = RestAngles::AsLoaded;
    let (model, mut state) = Model::build(&[cloth]).unwrap();
    for crease in garment(sample).creases {
        state.rest_angles[model.hinge_at(crease.edge).unwrap()] = crease.rest_angle;
    }
    let part = ("sample".to_owned(), PartKind::Cloth, mesh.positions.len(), mesh.triangles.as_slice());
    let assembly = Assembly::new([part]).unwrap();
    let patient = Patient { model: model.clone(), state, assembly, body_positions: Vec::new() };
    (model, fix::untangle(patient, settings, &mut |_| Continue::Yes))
}

/// The panel point of every vertex.
fn panel_points(sample: &Sample) -> Vec<DVec2> {
    let mut points = vec![DVec2::ZERO; sample.mesh.positions.len()];
    for (corners, uv) in sample.mesh.triangles.iter().zip(&sample.uv.triangles) {
        for (corner, point) in corners.iter().zip(uv) {
            points[*corner as usize] = sample.uv.coordinates[*point as usize];
        }
    }
    points
}

/// The layer of every vertex.
fn layers(sample: &Sample) -> Vec<i32> {
    let mut layers = vec![0; sample.mesh.positions.len()];
    for part in &sample.parts {
        for corner in sample.mesh.triangles[part.triangles.clone()].iter().flatten() {
            layers[*corner as usize] = part.layer.unwrap() as i32;
        }
    }
    layers
}

fn nearest(place: DVec3, others: impl Iterator<Item = DVec3>) -> DVec3 {
    others.min_by(|a, b| a.distance_squared(place).total_cmp(&b.distance_squared(place))).unwrap()
}

/// Edge shortening made ever more of what layering had left here, for minutes.
/// Default settings for cloth of whose vertices this is known.
fn known(vertices: VertexSettings) -> FixSettings {
    FixSettings { vertices, ..FixSettings::default() }
}

#[test]
fn wavy_sheets_that_layering_does_not_part_are_parted_as_wholes() {
    let recipe = Recipe { resolution: 30, cut: Cut::Irregular, seed: 1 };
    let sample = samples::find("wavy-sheets").unwrap().make(&recipe);
    let (_, outcome) = untangle(&sample, &FixSettings::default());
    assert!(outcome.verdict.is_clean());
    assert!(
        outcome.resolvers.layering > 0 && outcome.resolvers.parting == 1 && outcome.steps < 60,
        "{}",
        outcome.steps
    );
}

#[test]
fn nested_tubes_come_apart_in_the_given_order_and_keep_their_size() {
    for cut in [Cut::Regular, Cut::Irregular] {
        let sample = made("nested-tubes", 14, cut);
        let layers = layers(&sample);
        let (model, outcome) =
            untangle(&sample, &known(VertexSettings { layers: layers.clone(), ..VertexSettings::default() }));
        assert!(outcome.verdict.is_clean(), "{cut:?}");
        assert!(outcome.resolvers.layering > 0);
        let edges = Spread::of_edges(&model, &outcome.positions);
        assert!(edges.p01 > 0.9 && edges.p99 < 1.1, "{cut:?}: {edges:?}");
        let inner: Vec<[DVec3; 3]> = sample
            .mesh
            .triangles
            .iter()
            .filter(|corners| layers[corners[0] as usize] == 0)
            .map(|corners| corners.map(|corner| outcome.positions[corner as usize]))
            .collect();
        let outer = outcome.positions.iter().zip(&layers).filter(|(_, layer)| **layer == 1).map(|(place, _)| *place);
        let inside = outer.filter(|&place| {
            let out = DVec3::new(place.x, 0.0, place.z);
            inner.iter().any(|&triangle| meets_ray(triangle, place, out))
        });
        assert_eq!(inside.count(), 0, "{cut:?}: vertices of the outer tube that the inner one surrounds");
    }
}

#[test]
fn pieces_that_stand_through_each_other_part_and_keep_their_size() {
    for (name, resolution) in [("crossing-sheets", 10), ("sleeve-through-torso", 12)] {
        for cut in [Cut::Regular, Cut::Irregular] {
            let sample = made(name, resolution, cut);
            let (model, outcome) = untangle(&sample, &FixSettings::default());
            assert!(outcome.verdict.is_clean(), "{name} {cut:?}");
            assert_eq!(outcome.resolvers.parting, 1, "{name} {cut:?}");
            let edges = Spread::of_edges(&model, &outcome.positions);
            assert!(edges.p01 > 0.95 && edges.p99 < 1.05, "{name} {cut:?}: {edges:?}");
            let moved =
                outcome.positions.iter().zip(&sample.mesh.positions).map(|(after, before)| after.distance(*before));
            assert!(moved.fold(0.0, f64::max) < 0.4, "{name} {cut:?} stays near");
        }
    }
}

/// Whether a ray meets a triangle. (Moeller and Trumbore 1997)
/// A strip bent back over itself whose upper flap dips through the border of the lower one: a BIBI within one piece.
fn hairpin() -> TriMesh {
    const LONG: usize = 44;
    const WIDE: usize = 16;
    let place = |along: usize, across: usize| {
        let (step, y) = (0.05 * (along as f64 - 22.0), across as f64 / WIDE as f64 - 0.5);
        let x = step.abs();
        let height = 0.05 - 0.4 * (x - 0.4).max(0.0) * y.max(0.0);
        match along {
            ..=20 => DVec3::new(x, 1.03 * y, 0.0),
            21..=23 => DVec3::new(-0.02, y + 0.01, 0.025 + 0.5 * step),
            _ => DVec3::new(0.9 * x, y + 0.04, height),
        }
    };
    let positions = (0..=LONG).flat_map(|along| (0..=WIDE).map(move |across| place(along, across))).collect();
    let mut triangles = Vec::new();
    for along in 0..LONG as u32 {
        for across in 0..WIDE as u32 {
            let corner = along * (WIDE as u32 + 1) + across;
            let next = corner + WIDE as u32 + 1;
            triangles.extend([[corner, next, corner + 1], [corner + 1, next, next + 1]]);
        }
    }
    TriMesh { positions, triangles }
}

/// Edge shortening has no vertex to pull in a BIBI and takes dozens of steps: flaps of one piece are put in order as pieces are.
#[test]
fn two_flaps_of_one_piece_are_put_in_order() {
    let mesh = hairpin();
    let (model, state) = Model::build(&[Cloth::new("hairpin", mesh.clone())]).unwrap();
    let part = ("hairpin".to_owned(), PartKind::Cloth, mesh.positions.len(), mesh.triangles.as_slice());
    let assembly = Assembly::new([part]).unwrap();
    let tangle = analysis::analyze(&assembly, &mesh.positions, &mut analysis::Workspace::default());
    let kinds: Vec<ContourKind> = tangle.contours.iter().map(|tangled| tangled.kind).collect();
    assert_eq!(kinds, [ContourKind::Bibi]);
    let patient = Patient { model: model.clone(), state, assembly, body_positions: Vec::new() };
    let outcome = fix::untangle(patient, &FixSettings::default(), &mut |_| Continue::Yes);
    assert!(outcome.verdict.is_clean());
    assert!(outcome.resolvers.layering > 0 && outcome.resolvers.esef == 0, "{:?}", outcome.resolvers);
    assert!(Spread::of_stretch(&model, &outcome.positions).p99 < 1.1);
    let upper = |vertex: &usize| vertex / 17 > 26 && mesh.positions[*vertex].y < 0.4;
    let above = (0..mesh.positions.len()).filter(upper).all(|vertex| outcome.positions[vertex].z > 0.0);
    assert!(above, "most of the flap was above, so all of it is");
}

fn meets_ray([a, b, c]: [DVec3; 3], from: DVec3, direction: DVec3) -> bool {
    let (u, v) = (b - a, c - a);
    let across = direction.cross(v);
    let size = u.dot(across);
    let along_u = (from - a).dot(across) / size;
    let turned = (from - a).cross(u);
    let along_v = direction.dot(turned) / size;
    along_u >= 0.0 && along_v >= 0.0 && along_u + along_v <= 1.0 && v.dot(turned) / size > 0.0
}

/// The flap of a lapel and the cloth that it lies on, by vertex.
fn lapel_parts(sample: &Sample) -> (Vec<usize>, Vec<usize>) {
    let CreasePath::Edges(edges) = &sample.description.creases[0].path else { panic!("the crease is edges") };
    let points = panel_points(sample);
    let crease = points[edges[0][0] as usize].x;
    let margin = 0.012;
    let flap = (0..points.len()).filter(|&at| points[at].x > crease + margin).collect();
    (flap, (0..points.len()).filter(|&at| points[at].x < crease - margin).collect())
}

#[test]
fn a_lapel_comes_out_in_each_style() {
    let sample = made("lapel", 10, Cut::Regular);
    let (flap, ground) = lapel_parts(&sample);
    let count = sample.mesh.positions.len();
    let in_style = |style: FoldStyle| {
        let settings = known(VertexSettings { styles: vec![Some(style); count], ..VertexSettings::default() });
        let (_, outcome) = untangle(&sample, &settings);
        assert!(outcome.verdict.is_clean(), "{}", style.name());
        outcome
    };
    // How far the flap is in front of the cloth that it lies on.
    let heights = |outcome: &Outcome| -> Vec<f64> {
        let places = &outcome.positions;
        flap.iter().map(|&at| places[at].z - nearest(places[at], ground.iter().map(|&other| places[other])).z).collect()
    };
    let creased = in_style(FoldStyle::Crease);
    assert!(creased.resolvers.reflected > 0 && heights(&creased).iter().all(|&height| height > 0.0), "in front");
    let out = in_style(FoldStyle::FoldOut);
    assert!(out.resolvers.reflected > 0 && heights(&out).iter().all(|&height| height > 0.0), "in front");
    let turned_in = in_style(FoldStyle::FoldIn);
    assert!(heights(&turned_in).iter().all(|&height| height < 0.0), "behind");
}

#[test]
fn a_sleeve_is_unfolded_by_default_and_folded_out_when_asked() {
    let sample = made("sleeve", 16, Cut::Regular);
    let points = panel_points(&sample);
    let (hem, fold) = (0.03, 0.1);
    let of = |wanted: &dyn Fn(f64) -> bool| (0..points.len()).filter(|&at| wanted(points[at].y)).collect::<Vec<_>>();
    let (flap, ground) = (of(&|y| y < hem), of(&|y| y > fold));
    let design = FoldStyle::chart(&garment(&sample));
    assert!(design.iter().all(Option::is_none), "a sleeve is not worn folded");
    let (_, unfolded) = untangle(&sample, &known(VertexSettings { styles: design, ..VertexSettings::default() }));
    assert!(unfolded.verdict.is_clean());
    let lowest = ground.iter().map(|&at| unfolded.positions[at].y).fold(f64::INFINITY, f64::min);
    let below = flap.iter().filter(|&&at| unfolded.positions[at].y < lowest + 0.01).count();
    assert!(10 * below >= 9 * flap.len(), "{below} of {} vertices of the hem hang below", flap.len());
    let wish = vec![Some(FoldStyle::FoldOut); points.len()];
    let (_, out) = untangle(&sample, &known(VertexSettings { styles: wish, ..VertexSettings::default() }));
    assert!(out.verdict.is_clean() && out.resolvers.reflected > 0);
    let radius = |place: DVec3| DVec2::new(place.x, place.z).length();
    let outside = |&&at: &&usize| {
        let place = out.positions[at];
        radius(place) > radius(nearest(place, ground.iter().map(|&other| out.positions[other])))
    };
    let outside = flap.iter().filter(outside).count();
    assert!(10 * outside >= 9 * flap.len(), "{outside} of {} vertices of the hem lie outside", flap.len());
}

#[test]
fn a_style_that_is_given_beside_a_crease_counts() {
    let sample = made("lapel", 10, Cut::Regular);
    let CreasePath::Edges(edges) = &sample.description.creases[0].path else { panic!("the crease is edges") };
    let crease = edges[0][0] as usize;
    let garment = garment(&sample);
    let mut styles = FoldStyle::chart(&garment);
    for vertex in garment.topology.ring(VertexId::new(crease)) {
        assert_eq!(style_at(&styles, vertex), FoldStyle::Crease, "near a crease, whatever the label says");
        styles[vertex.index()] = Some(FoldStyle::FoldOut);
        assert_eq!(style_at(&styles, vertex), FoldStyle::FoldOut);
    }
}

#[test]
fn the_chart_reads_labels_and_creases() {
    let count = |name: &str, style: FoldStyle| {
        let styles = FoldStyle::chart(&garment(&made(name, 10, Cut::Regular)));
        (styles.iter().filter(|own| **own == Some(style)).count(), styles.len())
    };
    let (collar, all) = count("collar", FoldStyle::FoldOut);
    assert!(collar > 0 && collar < all, "the bodice is not worn folded");
    assert!(count("lapel", FoldStyle::Crease).0 > 0);
    for style in FoldStyle::ALL {
        assert_eq!(count("skirt", style).0, 0);
        assert_eq!(style.name().parse(), Ok(style));
    }
}
