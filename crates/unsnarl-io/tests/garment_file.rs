//! The sidecar `NAME.garment.toml`: what it says, and how it is refused.

#[path = "../../../tests/rust/real_data.rs"]
mod real;

use real::real_data;
use std::path::Path;
use unsnarl::scene::garment::{CreasePath, PanelChoice, RestChoice, RestSource};
use unsnarl_io::garment_file;
use unsnarl_io::mesh::{self, Format, ReadOptions};

/// Two squares of 10 cm, sewn along one side; each is a panel and a group.
const SHIRT: &str = "\
v 0 0 0\nv 0.1 0 0\nv 0.1 0.1 0\nv 0 0.1 0\nv 0.2 0 0\nv 0.2 0.1 0
vt 0 0\nvt 0.1 0\nvt 0.1 0.1\nvt 0 0.1\nvt 1 0\nvt 1.1 0\nvt 1.1 0.1\nvt 1 0.1
g front\nf 1/1 2/2 3/3 4/4\ng sleeve\nf 2/5 5/6 6/7 3/8
";

const SIDECAR: &str = "\
rest = \"panels\"
layer = 2

[[panel]]
group = \"front\"
label = \"bodice\"
fabric = \"denim\"

[[panel]]
index = 1
label = \"cuff\"

[[crease]]
between = [\"bodice\", \"cuff\"]
angle_degrees = 90

[[pin]]
vertices = [0, 3]
";

fn shirt() -> mesh::MeshFile {
    mesh::read_bytes(Format::Obj, "shirt.obj", SHIRT.as_bytes().to_vec(), &ReadOptions::default())
        .expect("the shirt is well formed")
}

#[test]
fn a_sidecar_labels_creases_and_pins_a_garment() {
    let sidecar = garment_file::parse("shirt.garment.toml", SIDECAR).unwrap();
    let garment = sidecar.build(Path::new("shirt.obj"), &shirt()).unwrap();
    assert_eq!(garment.panel_labels, [Some("bodice".to_owned()), Some("cuff".to_owned())]);
    assert_eq!(garment.panel_fabrics, [Some("denim".to_owned()), None]);
    assert_eq!(garment.rest_source, RestSource::Panels { scale: 1.0 });
    assert_eq!(garment.creases.len(), 1);
    assert_eq!(garment.topology.edge(garment.creases[0].edge).map(|vertex| vertex.0), [1, 2]);
    assert!((garment.creases[0].rest_angle - std::f64::consts::FRAC_PI_2).abs() < 1e-15);
    assert_eq!(garment.pins.len(), 2);
    assert_eq!(garment.layer, 2);
}

#[test]
fn what_is_written_reads_back_the_same() {
    let mut description = garment_file::parse("x", SIDECAR).unwrap().description;
    description.panels[0].which = PanelChoice::Group("a \"quoted\" name".into());
    description.panels[1].which = PanelChoice::Vertex(7);
    description.creases[0].path = CreasePath::Edges(vec![[1, 2], [2, 3]]);
    for rest in [RestChoice::Auto, RestChoice::Panels { scale: 0.01 }, RestChoice::ShapeAtLoad] {
        description.rest = rest;
        let text = garment_file::encode(&description);
        assert_eq!(garment_file::parse("x", &text).unwrap().description, description, "{text}");
    }
}

#[test]
fn a_sidecar_lies_beside_its_mesh() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shirt.obj");
    std::fs::write(&path, SHIRT).unwrap();
    assert_eq!(garment_file::build_garment(&path, &shirt()).unwrap().layer, 0);
    std::fs::write(folder.path().join("shirt.garment.toml"), SIDECAR).unwrap();
    assert_eq!(garment_file::build_garment(&path, &shirt()).unwrap().layer, 2);
}

#[test]
fn mistakes_are_named_with_their_line() {
    let rows = [
        ("colour = 3\n", "x:1: ", "colour"),
        ("\nlayer = \"two\"\n", "x:2: ", "expected i32"),
        ("rest = \"flat\"\n", "x:1: ", "flat"),
        ("[[panel]]\nindex = 0\nlable = \"cuff\"\n", "x:3: ", "lable"),
        ("\n[[panel]]\nlabel = \"cuff\"\n", "x:2: ", "expected one of `index`, `group` and `vertex`"),
        ("[[crease]]\nedges = [[0, 1]]\nangle_degrees = 400\n", "x:1: ", "from -180 to 180"),
        ("rest = \"shape\"\npanel_scale = 2\n", "x:2: ", "panel_scale goes with"),
        ("layer = 1\n[[pin]]\nvertices = [99]\n", "x:2: ", "there is no vertex 99, the mesh has 6"),
        (
            "[[crease]]\nedges = [[0, 2]]\nangle_degrees = 1\n\n[[crease]]\nedges = [[0, 4]]\nangle_degrees = 1\n",
            "x:5: ",
            "no edge joins vertex 0 and vertex 4",
        ),
        ("[[panel]]\ngroup = \"hood\"\n", "x:1: ", "there is no group `hood`"),
        ("panel_scale = -1.0\n", "x:1: ", "greater than 0"),
    ];
    for (text, place, words) in rows {
        let outcome = garment_file::parse("x", text);
        let error =
            outcome.and_then(|sidecar| sidecar.build(Path::new("shirt.obj"), &shirt())).unwrap_err().to_string();
        assert!(error.starts_with(place) && error.contains(words) && !error.contains('\n'), "{text}: {error}");
    }
}

/// The dress is a real pattern in true size; the suits and the shirt have texture charts, as their descriptions say.
#[test]
fn real_patterns_are_told_from_texture_charts() {
    let rows = [
        ("codim_ipc_apache2/dress_knife/stage.obj", Some(14)),
        ("character_cc0/clothes_fitted/male_casualsuit02.obj", None),
        ("character_cc0/clothes_fitted/male_casualsuit04.obj", None),
        ("character_cc0/clothes_fitted/male_casualsuit05.obj", None),
        ("character_cc0/clothes_fitted/female_casualsuit01.obj", None),
        ("character_cc0/clothes_fitted/female_sportsuit01.obj", None),
        ("diffcloth_mit/tshirt1900.obj", None),
    ];
    for (path, panels) in rows {
        let Some(path) = real_data(path) else { continue };
        let file = mesh::read(&path, &ReadOptions::default()).unwrap();
        let garment = garment_file::build_garment(&path, &file).unwrap();
        match panels {
            Some(count) => {
                assert_eq!(garment.panels.count, count);
                assert_eq!(garment.rest_source, RestSource::Panels { scale: 1.0 });
                assert!(garment.panels.seam_edges.is_empty(), "its panels are not sewn yet");
            }
            None => assert!(matches!(garment.rest_source, RestSource::NotPanels(_)), "{}", path.display()),
        }
    }
}
