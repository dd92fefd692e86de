use super::*;
use crate::geometry::DVec2;

/// A tube of two panels, front and back: four columns of vertices around, three rows; sewn along two sides.
fn tube() -> (TriMesh, UvMap) {
    let mut mesh = TriMesh::default();
    let mut uv = UvMap::default();
    for row in 0..3 {
        for (x, z) in [(0.0, 0.0), (0.1, 0.05), (0.2, 0.0), (0.1, -0.05)] {
            mesh.positions.push(DVec3::new(x, 0.1 * f64::from(row), z));
        }
    }
    let side = (0.1f64.powi(2) + 0.05f64.powi(2)).sqrt();
    for panel in 0..2 {
        let first = uv.coordinates.len() as u32;
        for row in 0..3 {
            for column in 0..3 {
                let along = f64::from(panel) + side * f64::from(column);
                uv.coordinates.push(DVec2::new(along, 0.1 * f64::from(row)));
            }
        }
        for row in 0..2u32 {
            for column in 0..2u32 {
                let world = |r: u32, c: u32| 4 * (row + r) + (2 * panel as u32 + column + c) % 4;
                let flat = |r: u32, c: u32| first + 3 * (row + r) + column + c;
                mesh.triangles.push([world(0, 0), world(0, 1), world(1, 1)]);
                uv.triangles.push([flat(0, 0), flat(0, 1), flat(1, 1)]);
                mesh.triangles.push([world(0, 0), world(1, 1), world(1, 0)]);
                uv.triangles.push([flat(0, 0), flat(1, 1), flat(1, 0)]);
            }
        }
    }
    (mesh, uv)
}

fn build(mesh: &TriMesh, uv: Option<&UvMap>, description: &GarmentDescription) -> Result<Garment, GarmentError> {
    Garment::build(&GarmentInput::new(mesh, uv), description)
}

fn labelled_tube() -> GarmentDescription {
    let panel = |index, label: &str| PanelDescription {
        which: PanelChoice::Index(index),
        label: Some(label.into()),
        fabric: Some("denim".into()),
    };
    GarmentDescription { panels: vec![panel(0, "front"), panel(1, "back")], ..GarmentDescription::default() }
}

#[test]
fn a_tube_of_two_panels_has_two_seams_of_two_edges() {
    let (mesh, uv) = tube();
    let garment = build(&mesh, Some(&uv), &GarmentDescription::default()).unwrap();
    assert_eq!(garment.panels.count, 2);
    assert_eq!(garment.panels.triangles(PanelId(1)).count(), 8);
    let seams: Vec<_> =
        garment.panels.seam_edges.iter().map(|&edge| garment.topology.edge(edge).map(|v| v.0)).collect();
    assert_eq!(seams, [[0, 4], [2, 6], [4, 8], [6, 10]]);
    assert_eq!(garment.panels.darts, []);
    assert_eq!(garment.panels.edges_between(&garment.topology, PanelId(0), PanelId(1)), garment.panels.seam_edges);
}

#[test]
fn uv_vertices_that_an_exporter_repeats_make_no_seam() {
    let (mesh, uv) = tube();
    let mut repeated = UvMap::default();
    for triangle in &uv.triangles {
        let first = repeated.coordinates.len() as u32;
        repeated.coordinates.extend(triangle.map(|corner| uv.coordinates[corner as usize]));
        repeated.triangles.push([first, first + 1, first + 2]);
    }
    let plain = build(&mesh, Some(&uv), &GarmentDescription::default()).unwrap();
    let garment = build(&mesh, Some(&repeated), &GarmentDescription::default()).unwrap();
    assert_eq!(garment.panels.seam_edges, plain.panels.seam_edges);
    assert_eq!(garment.panels.of_triangle, plain.panels.of_triangle);
}

/// Four triangles around a vertex, the cone closed along one edge: in uv a wedge is missing there.
#[test]
fn a_dart_ends_where_two_seam_edges_share_a_uv_vertex() {
    let angle = |step: f64| DVec2::from_angle(step * 80.0_f64.to_radians());
    let uv = UvMap {
        coordinates: vec![DVec2::ZERO, angle(0.0), angle(1.0), angle(2.0), angle(3.0), angle(4.0)],
        triangles: vec![[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5]],
    };
    let ring = |step: f64| {
        let flat = DVec2::from_angle(step * std::f64::consts::FRAC_PI_2) * 0.9;
        DVec3::new(flat.x, flat.y, -0.43)
    };
    let mesh = TriMesh {
        positions: vec![DVec3::ZERO, ring(0.0), ring(1.0), ring(2.0), ring(3.0)],
        triangles: vec![[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 1]],
    };
    let garment = build(&mesh, Some(&uv), &GarmentDescription::default()).unwrap();
    assert_eq!(garment.panels.count, 1);
    let edge = garment.topology.find_edge(VertexId(0), VertexId(1)).unwrap();
    assert_eq!(garment.panels.seam_edges, [edge]);
    assert_eq!(garment.panels.darts, [Dart { apex: VertexId(0), edge }]);
}

#[test]
fn without_uv_each_piece_is_a_panel_with_its_shape_at_load() {
    let (mut mesh, _) = tube();
    let other = mesh.clone();
    mesh.append(&other);
    let garment = build(&mesh, None, &GarmentDescription::default()).unwrap();
    assert_eq!(garment.panels.count, 2);
    assert!(garment.panels.seam_edges.is_empty());
    assert_eq!(garment.rest_source, RestSource::ShapeAtLoad);
    let [a, b, c] = mesh.triangles[5].map(|vertex| mesh.positions[vertex as usize]);
    assert!((garment.rest_shapes[5].area() - 0.5 * (b - a).cross(c - a).length()).abs() < 1e-15);
}

#[test]
fn panels_in_true_size_are_the_rest_shape_and_charts_are_not() {
    let (mesh, uv) = tube();
    let garment = build(&mesh, Some(&uv), &GarmentDescription::default()).unwrap();
    assert_eq!(garment.rest_source, RestSource::Panels { scale: 1.0 });
    let scaled = |factor: f64| UvMap {
        coordinates: uv.coordinates.iter().map(|&point| point * factor).collect(),
        triangles: uv.triangles.clone(),
    };
    let chart = build(&mesh, Some(&scaled(0.1)), &GarmentDescription::default()).unwrap();
    assert!(matches!(chart.rest_source, RestSource::NotPanels(lengths) if (lengths.median - 0.1).abs() < 1e-6));
    let centimetres = scaled(100.0);
    let input = GarmentInput { length_unit: 0.01, ..GarmentInput::new(&mesh, Some(&centimetres)) };
    let garment = Garment::build(&input, &GarmentDescription::default()).unwrap();
    assert_eq!(garment.rest_source, RestSource::Panels { scale: 0.01 });
    let area: f64 = garment.rest_shapes.iter().map(RestShape::area).sum();
    assert!((area - 4.0 * 0.2 * (0.1f64.powi(2) + 0.05f64.powi(2)).sqrt()).abs() < 1e-12);
    let told = GarmentDescription { rest: RestChoice::Panels { scale: 10.0 }, ..GarmentDescription::default() };
    let garment = build(&mesh, Some(&scaled(0.1)), &told).unwrap();
    assert_eq!(garment.rest_source, RestSource::Panels { scale: 10.0 });
}

#[test]
fn descriptions_label_panels_and_set_creases_and_pins() {
    let (mesh, uv) = tube();
    let mut description = labelled_tube();
    let crease = |path, rest_angle| CreaseDescription { path, rest_angle };
    description.creases = vec![
        crease(CreasePath::Border(["front".into(), "back".into()]), 1.0),
        crease(CreasePath::Edges(vec![[4, 0], [1, 5]]), 2.0),
    ];
    description.pins = vec![vec![3, 1], vec![1]];
    description.layer = 2;
    let garment = build(&mesh, Some(&uv), &description).unwrap();
    assert_eq!(garment.panel_labels, [Some("front".to_owned()), Some("back".to_owned())]);
    assert_eq!(garment.panel_fabrics[1].as_deref(), Some("denim"));
    let creases: Vec<_> = garment
        .creases
        .iter()
        .map(|crease| (garment.topology.edge(crease.edge).map(|v| v.0), crease.rest_angle))
        .collect();
    assert_eq!(creases, [([0, 4], 2.0), ([1, 5], 2.0), ([2, 6], 1.0), ([4, 8], 1.0), ([6, 10], 1.0)]);
    assert_eq!(garment.pins, [VertexId(1), VertexId(3)]);
    assert_eq!(garment.layer, 2);
}

#[test]
fn entries_that_do_not_fit_are_named() {
    let (mesh, uv) = tube();
    let crease =
        |path| GarmentDescription { creases: vec![CreaseDescription { path, rest_angle: 1.0 }], ..labelled_tube() };
    let panel = |which| GarmentDescription {
        panels: vec![PanelDescription { which, label: None, fabric: None }],
        ..GarmentDescription::default()
    };
    let rows = [
        (crease(CreasePath::Edges(vec![[0, 2]])), "crease entry 0: no edge joins vertex 0 and vertex 2"),
        (crease(CreasePath::Edges(vec![[0, 1]])), "crease entry 0: edge 0-1 has 1 triangles, a crease needs two"),
        (
            crease(CreasePath::Edges(vec![[0, 99]])),
            "crease entry 0: there is no vertex 99, the mesh has 12 (counted from 0)",
        ),
        (crease(CreasePath::Border(["front".into(), "hood".into()])), "crease entry 0: no panel is labelled `hood`"),
        (panel(PanelChoice::Index(2)), "panel entry 0: there is no panel 2, the garment has 2"),
        (panel(PanelChoice::Group("hood".into())), "panel entry 0: there is no group `hood` in the mesh file"),
        (
            GarmentDescription { pins: vec![vec![12]], ..GarmentDescription::default() },
            "pin entry 0: there is no vertex 12, the mesh has 12 (counted from 0)",
        ),
        (
            GarmentDescription { rest: RestChoice::Panels { scale: 0.0 }, ..GarmentDescription::default() },
            "rest: the panel scale must be a number of metres greater than 0",
        ),
    ];
    for (description, message) in rows {
        assert_eq!(build(&mesh, Some(&uv), &description).unwrap_err().to_string(), message);
    }
}
