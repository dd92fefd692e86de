#![allow(clippy::unwrap_used)]

use super::*;
use crate::analysis::{self, SmallestGap, Workspace};
use crate::fix::{self, Continue};
use crate::samples::{self, Cut, Recipe, Sample};
use crate::scene::garment::{GarmentInput, TriangleGroups};

fn sample(name: &str) -> Sample {
    let case = samples::find(name).unwrap();
    case.make(&Recipe { resolution: case.smallest_resolution, cut: Cut::Regular, seed: 1 })
}

fn workpiece(sample: &Sample, copies: usize, rest: Vec<RestWish<'_>>) -> Result<Workpiece, WorkpieceError> {
    let names: Vec<String> = sample.parts.iter().map(|part| part.name.clone()).collect();
    let groups = TriangleGroups { names: &names, of_triangle: &sample.part_of_triangle() };
    let input = GarmentInput { groups, ..GarmentInput::new(&sample.mesh, Some(&sample.uv)) };
    let garment = Garment::build(&input, &sample.description).unwrap();
    let part = |index: usize| {
        (format!("{index}.obj"), PartKind::Cloth, sample.mesh.positions.len(), sample.mesh.triangles.as_slice())
    };
    Workpiece::build(Setup {
        assembly: Assembly::new((0..copies).map(part)).unwrap(),
        positions: &sample.mesh.positions.repeat(copies),
        garments: vec![garment; copies],
        rest,
        rest_angles: RestAngles::AsLoaded,
    })
}

/// The page once built cloth without the angles of its creases.
#[test]
fn creases_of_every_garment_have_their_angle_at_rest() {
    let lapel = sample("lapel");
    let two = workpiece(&lapel, 2, Vec::new()).unwrap();
    let creases = &two.garments[0].creases;
    assert!(!creases.is_empty());
    for copy in 0..2 {
        let first = two.assembly.parts()[copy].vertices.start;
        for crease in creases {
            let ends = two.garments[0].topology.edge(crease.edge);
            let [a, b] = ends.map(|end| VertexId::new(end.index() + first));
            let hinge = two.model.hinge_at(two.model.topology.find_edge(a, b).unwrap()).unwrap();
            assert_eq!(two.state.rest_angles[hinge], crease.rest_angle);
        }
    }
}

#[test]
fn a_rest_mesh_gives_shapes_and_a_pose_to_fall_back_to() {
    let bbii = sample("bbii");
    let twice =
        TriMesh { positions: bbii.mesh.positions.iter().map(|place| 2.0 * place).collect(), ..bbii.mesh.clone() };
    let plain = workpiece(&bbii, 1, vec![RestWish::AsLoaded]).unwrap();
    let large = workpiece(&bbii, 1, vec![RestWish::Mesh(&twice)]).unwrap();
    assert!((large.model.mean_rest_edge() / plain.model.mean_rest_edge() - 2.0).abs() < 1e-12);
    assert_eq!((plain.rest_pose.len(), &large.rest_pose), (0, &twice.positions));
    assert_eq!(large.settings().vertices.rest_pose, twice.positions);
    let other = TriMesh { triangles: bbii.mesh.triangles[1..].to_vec(), ..bbii.mesh.clone() };
    let error = workpiece(&bbii, 1, vec![RestWish::Mesh(&other)]).unwrap_err();
    assert!(matches!(error, WorkpieceError::RestTriangles { .. }));
    let short = TriMesh { positions: Vec::new(), ..bbii.mesh.clone() };
    assert!(workpiece(&bbii, 1, vec![RestWish::Mesh(&short)]).is_err());
}

#[test]
fn counts_that_do_not_fit_are_named() {
    let bbii = sample("bbii");
    let error = workpiece(&bbii, 2, vec![RestWish::Garment]).unwrap_err();
    assert_eq!(error.to_string(), "rest shapes: 1 for 2 garments; give one for each");
    let two = workpiece(&bbii, 2, Vec::new()).unwrap();
    assert_eq!(two.layers(&[1]).unwrap_err().to_string(), "layers: 1 for 2 garments; give one for each");
    let layers = two.layers(&[4, -1]).unwrap();
    assert_eq!((layers.len(), layers[0], layers[layers.len() - 1]), (two.cloth_count(), 4, -1));
}

#[test]
fn a_style_reaches_the_garment_that_it_names() {
    let bbii = sample("bbii");
    let two = workpiece(&bbii, 2, Vec::new()).unwrap();
    let before = examine(&two);
    let wish = |text: &str| two.styles(&[text.parse().unwrap()], &before);
    let half = bbii.mesh.positions.len();
    let styles = wish("1=fold-in").unwrap_err();
    assert!(styles.to_string().starts_with("style 1=…: contour 1 is not"), "{styles}");
    let styles = wish("1.obj=fold-in").unwrap();
    assert!(styles[..half].iter().all(Option::is_none));
    assert!(styles[half..].iter().all(|style| *style == Some(FoldStyle::FoldIn)));
    assert!(wish("sleeve=crease").unwrap_err().to_string().ends_with("is called `sleeve`"));
}

fn examine(workpiece: &Workpiece) -> Examination {
    let mut workspace = Workspace::default();
    let name = |triangle| workpiece.assembly.parts()[workpiece.assembly.part_of_triangle(triangle)].name.clone();
    analysis::examine(&workpiece.assembly, &workpiece.positions(), SmallestGap::Measured, name, &mut workspace)
}

use crate::analysis::Examination;

/// Whoever calls: the shortcut is the library's.
#[test]
fn clean_cloth_comes_back_bit_for_bit() {
    let flat = samples::find("closed").unwrap().make(&Recipe { resolution: 8, cut: Cut::Regular, seed: 1 });
    let sheet = flat.parts[0].triangles.clone();
    let mesh = TriMesh { positions: flat.mesh.positions.clone(), triangles: flat.mesh.triangles[sheet].to_vec() };
    let garment = Garment::build(&GarmentInput::new(&mesh, None), &Default::default()).unwrap();
    let workpiece = Workpiece::build(Setup {
        assembly: Assembly::of_cloth("sheet", &mesh).unwrap(),
        positions: &mesh.positions,
        garments: vec![garment],
        rest: Vec::new(),
        // Bent cloth that is flat at rest would relax.
        rest_angles: RestAngles::Flat,
    })
    .unwrap();
    let before = examine(&workpiece);
    assert!(before.report.clean);
    let outcome = fix::untangle(workpiece.patient(), &workpiece.settings(), &mut |_| Continue::Yes);
    assert_eq!(outcome.positions, mesh.positions);
    let report = workpiece.report(before.clone(), &before, &outcome, &workpiece.positions());
    assert_eq!((report.clean, report.moved_vertices, report.effort.steps), (true, 0, 0));
}
