//! Pair counts on real meshes against those found with CGAL's exact predicates (the notes beside the data), and the
//! same report on any number of threads. Most are bundled; the others are skipped, and counted, where the optional
//! set is not there.

#![allow(clippy::unwrap_used)]

mod running;

use running::{Folder, real_data};
use serde_json::Value;
use unsnarl::analysis::{self, Assembly, Workspace};
use unsnarl_io::mesh::{self, ReadOptions};

/// File and number of triangle pairs that meet.
const MESHES: [(&str, u64); 25] = [
    ("character_cc0/body_rest.obj", 0),
    ("character_cc0/body_fight01.ply", 543),
    ("character_cc0/body_fly01.ply", 761),
    ("character_cc0/body_run01.obj", 243),
    ("character_cc0/body_sit01.ply", 109),
    ("character_cc0/body_standing01.obj", 71),
    ("character_cc0/body_standing03.obj", 53),
    ("character_cc0/body_standing06.obj", 372),
    ("character_cc0/clothes_fitted/female_casualsuit01.obj", 6),
    ("character_cc0/clothes_fitted/female_sportsuit01.obj", 14),
    ("character_cc0/clothes_fitted/male_casualsuit02.obj", 0),
    ("character_cc0/clothes_fitted/male_casualsuit04.obj", 0),
    ("character_cc0/clothes_fitted/male_casualsuit05.obj", 315),
    ("makehuman_cc0/body/male_generic.obj", 0),
    ("codim_ipc_apache2/dress_knife/stage.obj", 0),
    ("diffcloth_mit/tshirt1900.obj", 0),
    ("diffcloth_mit/tshirt1900-folding-biFolded.obj", 53),
    ("diffcloth_mit/dress-v5k-f10k.obj", 319),
    ("ipc_toolkit_mit/thick-cloth/t0.ply", 0),
    ("ipc_toolkit_mit/thick-cloth/t1.ply", 46),
    ("ipc_toolkit_mit/two-cubes-far.ply", 0),
    ("ipc_toolkit_mit/two-cubes-close.ply", 0),
    ("ipc_toolkit_mit/two-cubes-intersecting.ply", 96),
    ("manifold_apache2/self_intersectA.ply", 338),
    ("cgal_cc0/femur.off", 0),
];

/// Suit fitted to the body at rest, and the number of its triangle pairs with the body.
const SUITS_ON_BODY: [(&str, u64); 5] = [
    ("female_casualsuit01.obj", 2869),
    ("female_sportsuit01.obj", 1860),
    ("male_casualsuit02.obj", 353),
    ("male_casualsuit04.obj", 345),
    ("male_casualsuit05.obj", 441),
];

fn count(report: &Value) -> u64 {
    report["intersecting_triangle_pairs"].as_u64().expect("a report has a count")
}

#[test]
fn pair_counts_equal_those_of_cgal() {
    for (name, expected) in MESHES {
        let Some(mesh) = real_data(name) else { continue };
        let (status, report) = Folder::new().check(&[mesh.to_str().unwrap()]);
        assert_eq!(count(&report), expected, "{name}");
        assert_eq!(status, i32::from(expected > 0), "{name}");
    }
}

#[test]
fn suits_cross_the_body_as_often_as_with_cgal() {
    let Some(body) = real_data("character_cc0/body_rest.obj") else { return };
    for (name, expected) in SUITS_ON_BODY {
        let suit = body.with_file_name("clothes_fitted").join(name);
        let (_, alone) = Folder::new().check(&[suit.to_str().unwrap()]);
        let (_, dressed) = Folder::new().check(&[suit.to_str().unwrap(), "--body", body.to_str().unwrap()]);
        assert_eq!(count(&dressed) - count(&alone), expected, "{name}");
    }
}

/// The kicking body is several closed pieces that overlap at rest (eyes, mouth); the count in the notes is of pairs
/// within one piece.
#[test]
fn pieces_of_the_kicking_body_cross_themselves_as_often_as_with_cgal() {
    let Some(path) = real_data("codim_ipc_apache2/Kick_unfixed/49.ply") else { return };
    let mesh = mesh::read(&path, &ReadOptions::default()).unwrap().mesh;
    let assembly = Assembly::of_cloth("body", &mesh).unwrap();
    let verdict = analysis::verdict(&assembly, &mesh.positions, &mut Workspace::default());
    let topology = assembly.topology();
    let piece_of = |triangle| topology.component(topology.triangle(triangle)[0]);
    let within = verdict.pairs.iter().filter(|pair| piece_of(pair.first) == piece_of(pair.second)).count();
    assert_eq!(within, 337);
}

#[test]
fn known_contours_are_found() {
    let Some(spheres) = real_data("cgal_cc0/spheres_intersecting.off") else { return };
    let (_, report) = Folder::new().check(&[spheres.to_str().unwrap()]);
    assert_eq!(report["types"]["CLOSED"], 1);
    assert_eq!(report["contours"].as_array().map(Vec::len), Some(1));
    let Some(folded) = real_data("diffcloth_mit/tshirt1900-folding-biFolded.obj") else { return };
    let (_, report) = Folder::new().check(&[folded.to_str().unwrap()]);
    assert_eq!(report["contours"].as_array().map(Vec::len), Some(7));
}

#[test]
fn reports_do_not_depend_on_threads() {
    for name in ["character_cc0/body_fight01.ply", "diffcloth_mit/dress-v5k-f10k.obj"] {
        let Some(mesh) = real_data(name) else { continue };
        let [one, two, five] = ["1", "2", "5"].map(|threads| {
            let (_, mut report) = Folder::new().check(&[mesh.to_str().unwrap(), "--gap", "--threads", threads]);
            report["seconds"] = Value::Null;
            report
        });
        assert!(one == two && one == five, "{name}");
    }
}
