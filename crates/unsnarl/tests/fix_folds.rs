//! Folds that bite into themselves: every style has its own outcome, on every made fold and in both cuts.

#![allow(clippy::unwrap_used)]

use unsnarl::analysis::{Assembly, PartKind};
use unsnarl::fix::report::Spread;
use unsnarl::fix::{
    self, Continue, FixMethod, FixSettings, FoldStyle, Outcome, Patient, ResolverCounts, VertexSettings,
};
use unsnarl::geometry::distance::point_triangle;
use unsnarl::geometry::{DVec2, DVec3};
use unsnarl::model::{Cloth, Model, Rest, RestAngles};
use unsnarl::samples::{self, Cut, Recipe, Sample};
use unsnarl::scene::garment::{Garment, GarmentInput, TriangleGroups};

/// Where a flap is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Flap {
    Out,
    In,
    Unfolded,
}

/// A made fold: which way in its panel its border is, and how long its flap is with its bend, metres.
struct Made {
    name: &'static str,
    resolution: usize,
    part: &'static str,
    toward_border: DVec2,
    flap: f64,
    by_design: Flap,
}

const COLLAR: Made =
    Made { name: "collar", resolution: 8, part: "collar", toward_border: DVec2::Y, flap: 0.045, by_design: Flap::Out };
const LAPEL: Made =
    Made { name: "lapel", resolution: 8, part: "front", toward_border: DVec2::X, flap: 0.08, by_design: Flap::Out };
const SLEEVE: Made = Made {
    name: "sleeve",
    resolution: 16,
    part: "sleeve",
    toward_border: DVec2::NEG_Y,
    flap: 0.07,
    by_design: Flap::Unfolded,
};
const SKIRT: Made = Made {
    name: "skirt",
    resolution: 12,
    part: "skirt",
    toward_border: DVec2::NEG_Y,
    flap: 0.14,
    by_design: Flap::Unfolded,
};

impl Made {
    fn recipe(&self, cut: Cut) -> Recipe {
        Recipe { resolution: self.resolution, cut, seed: 3 }
    }
}

#[test]
fn a_collar_comes_out_in_each_style() {
    comes_out_in_each_style(&COLLAR);
}

#[test]
fn a_lapel_comes_out_in_each_style() {
    comes_out_in_each_style(&LAPEL);
    is_as_asked(&LAPEL, &LAPEL.recipe(Cut::Regular), Some(FoldStyle::Crease), Flap::Out);
    is_as_asked(&LAPEL, &LAPEL.recipe(Cut::Irregular), Some(FoldStyle::Crease), Flap::Out);
}

#[test]
fn a_sleeve_comes_out_in_each_style() {
    comes_out_in_each_style(&SLEEVE);
}

/// What was folded over still crossed in five places, and cloth retreated to where nothing was folded yet.
#[test]
fn a_flap_that_is_stuck_once_folded_over_is_not_unfolded_again() {
    let recipe = Recipe { resolution: SLEEVE.resolution, cut: Cut::Irregular, seed: 1 };
    is_as_asked(&SLEEVE, &recipe, Some(FoldStyle::FoldOut), Flap::Out);
}

#[test]
fn a_skirt_comes_out_in_each_style() {
    comes_out_in_each_style(&SKIRT);
}

/// Edge shortening and tearing alone, without the reflection of flaps or any other fallback.
#[test]
fn tearing_alone_unfolds_every_fold() {
    for made in [COLLAR, LAPEL, SLEEVE, SKIRT] {
        for cut in [Cut::Regular, Cut::Irregular] {
            let case = samples::find(made.name).unwrap();
            let sample = case.make(&Recipe { resolution: case.default_resolution, cut, seed: 3 });
            let settings = FixSettings::with_method(FixMethod::Blir);
            let (_, outcome) = untangle_as(&sample, settings);
            let row = format!("{} {cut:?}: {:?}", made.name, outcome.resolvers);
            assert!(outcome.verdict.is_clean(), "{row}");
            let used = outcome.resolvers;
            let alone = ResolverCounts {
                esef: used.esef,
                tearing: used.tearing,
                separate_touching: used.separate_touching,
                ..ResolverCounts::default()
            };
            assert!(used == alone && used.tearing > 0, "{row}");
        }
    }
}

fn comes_out_in_each_style(made: &Made) {
    for cut in [Cut::Regular, Cut::Irregular] {
        let recipe = &made.recipe(cut);
        is_as_asked(made, recipe, None, made.by_design);
        is_as_asked(made, recipe, Some(FoldStyle::Unfold), Flap::Unfolded);
        is_as_asked(made, recipe, Some(FoldStyle::FoldOut), Flap::Out);
        is_as_asked(made, recipe, Some(FoldStyle::FoldIn), Flap::In);
    }
}

/// Clean, nine tenths of the outer half of the flap where they are asked to be, edges within a tenth of their length.
fn is_as_asked(made: &Made, recipe: &Recipe, style: Option<FoldStyle>, wanted: Flap) {
    let row = format!("{} {recipe:?} {}", made.name, style.map_or("by design", FoldStyle::name));
    let sample = samples::find(made.name).unwrap().make(recipe);
    let (model, outcome) = untangle(&sample, style);
    assert!(outcome.verdict.is_clean(), "{row}");
    let edges = Spread::of_edges(&model, &outcome.positions);
    assert!(edges.p01 > 0.9 && edges.p99 < 1.1, "{row}: {edges:?}");
    let flap = look(made, &sample, &outcome.positions);
    let right = flap.iter().filter(|&&at| at == wanted).count();
    assert!(!flap.is_empty() && 10 * right >= 9 * flap.len(), "{row}: {right} of {} are {wanted:?}", flap.len());
}

fn untangle(sample: &Sample, style: Option<FoldStyle>) -> (Model, Outcome) {
    let styles = style
        .map_or_else(|| FoldStyle::chart(&garment(sample)), |style| vec![Some(style); sample.mesh.positions.len()]);
    let vertices = VertexSettings { styles, ..VertexSettings::default() };
    untangle_as(sample, FixSettings { vertices, ..FixSettings::default() })
}

fn garment(sample: &Sample) -> Garment {
    let names: Vec<String> = sample.parts.iter().map(|part| part.name.clone()).collect();
    let groups = TriangleGroups { names: &names, of_triangle: &sample.part_of_triangle() };
    let input = GarmentInput { groups, ..GarmentInput::new(&sample.mesh, Some(&sample.uv)) };
    Garment::build(&input, &sample.description).unwrap()
}

fn untangle_as(sample: &Sample, settings: FixSettings) -> (Model, Outcome) {
    let mut cloth = Cloth::new("sample", sample.mesh.clone());
    cloth.rest = Rest::Panels(sample.uv.clone());
    cloth.rest_angles = RestAngles::AsLoaded;
    let (model, mut state) = Model::build(&[cloth]).unwrap();
    for crease in &garment(sample).creases {
        state.rest_angles[model.hinge_at(crease.edge).unwrap()] = crease.rest_angle;
    }
    let count = sample.mesh.positions.len();
    let part = ("sample".to_owned(), PartKind::Cloth, count, sample.mesh.triangles.as_slice());
    let patient =
        Patient { model: model.clone(), state, assembly: Assembly::new([part]).unwrap(), body_positions: Vec::new() };
    (model, fix::untangle(patient, &settings, &mut |_| Continue::Yes))
}

/// Where each vertex of the outer half of the flap is, by the nearest point of the cloth before the fold.
fn look(made: &Made, sample: &Sample, positions: &[DVec3]) -> Vec<Flap> {
    let mut across: Vec<Option<f64>> = vec![None; positions.len()];
    for part in sample.parts.iter().filter(|part| part.name == made.part) {
        for triangle in part.triangles.clone() {
            for (corner, uv) in sample.mesh.triangles[triangle].iter().zip(sample.uv.triangles[triangle]) {
                across[*corner as usize] = Some(sample.uv.coordinates[uv as usize].dot(made.toward_border));
            }
        }
    }
    let border = across.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut normals = vec![DVec3::ZERO; positions.len()];
    for corners in &sample.mesh.triangles {
        let [a, b, c] = corners.map(|corner| positions[corner as usize]);
        corners.iter().for_each(|&corner| normals[corner as usize] += (b - a).cross(c - a));
    }
    let is_ground = |corner: &u32| across[*corner as usize].is_none_or(|across| border - across >= made.flap);
    let ground: Vec<[u32; 3]> =
        sample.mesh.triangles.iter().filter(|corners| corners.iter().all(is_ground)).copied().collect();
    let see = |vertex: usize| {
        let seen = ground.iter().map(|&corners| {
            let closest = point_triangle(positions[vertex], corners.map(|corner| positions[corner as usize]));
            let parts = corners.iter().zip(closest.weights);
            let normal: DVec3 = parts.map(|(&corner, weight)| weight * normals[corner as usize]).sum();
            (closest.distance_squared(), closest.offset.dot(normal), normal)
        });
        let (_, height, normal) = seen.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
        match normals[vertex].dot(normal) > 0.0 {
            true => Flap::Unfolded,
            false if height > 0.0 => Flap::Out,
            false => Flap::In,
        }
    };
    let is_flap = |vertex: &usize| across[*vertex].is_some_and(|across| border - across < 0.4 * made.flap);
    (0..positions.len()).filter(is_flap).map(see).collect()
}
