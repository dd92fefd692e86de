//! `unsnarl make` as a user meets it: files, sidecars, folders, reports, and what it says to bad flags.

mod running;

use running::Folder;
use serde_json::Value;

#[test]
fn the_list_names_every_kind_of_tangle() {
    let run = Folder::new().run(&["make", "--list"]);
    assert_eq!(run.status, 0);
    for name in
        ["closed", "eight", "cross", "ll", "bbii", "bibi", "bli", "exploded-whole", "collar", "tortured-dropped"]
    {
        assert!(run.out.contains(&format!("\n  {name} ")), "{name} is not in {}", run.out);
    }
}

#[test]
fn the_list_can_be_drawn() {
    let folder = Folder::new();
    assert_eq!(folder.run(&["-q", "make", "--list", "--picture", "all.png"]).status, 0);
    assert!(std::fs::read(folder.path("all.png")).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn a_made_tangle_is_found_by_check() {
    let folder = Folder::new();
    for triangulation in ["regular", "alternating", "irregular"] {
        let run = folder.run(&["make", "bli", "-o", "bli.obj", "--resolution", "16", "--triangulation", triangulation]);
        assert_eq!((run.status, run.err.as_str()), (0, ""));
        assert!(run.out.contains("wrote bli.obj\nwrote bli.garment.toml\n289 vertices, 512 triangles"), "{}", run.out);
        let check = folder.run(&["check", "bli.obj"]);
        assert_eq!(check.status, 1);
        assert!(check.out.contains("contours: 1 BLI\n"), "{}", check.out);
    }
}

#[test]
fn the_report_says_what_was_made_and_promised() {
    let folder = Folder::new();
    let run = folder.run(&["make", "eight", "-o", "eight.obj", "--seed", "5", "--json", "-"]);
    let report: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(report["schema"], "unsnarl.make/1");
    assert_eq!(report["promises"], serde_json::json!({"EIGHT": 1, "LL": 1}));
    assert_eq!(report["seed"], 5);
    assert_eq!(report["triangles"], 2 * 2 * 28 * 28);
}

#[test]
fn a_folder_takes_one_file_per_piece_and_the_order_of_layers() {
    let folder = Folder::new();
    let run = folder.run(&["make", "nested-tubes", "-o", "tubes/"]);
    assert_eq!(run.status, 0, "{}", run.err);
    for (name, layer) in [("inner", None), ("outer", Some("layer = 1\n"))] {
        let sidecar = std::fs::read_to_string(folder.path(&format!("tubes/{name}.garment.toml"))).unwrap();
        assert_eq!(sidecar.lines().find(|line| line.starts_with("layer")), layer.map(str::trim_end));
    }
    let check = folder.run(&["check", "tubes/inner.obj", "tubes/outer.obj"]);
    assert_eq!(check.status, 1);
    assert!(check.out.contains("CLOSED"));
    assert_eq!(folder.run(&["check", "tubes/inner.obj"]).status, 0, "each piece alone is clean");
}

#[test]
fn a_lapel_has_its_label_and_its_crease_beside_it() {
    let folder = Folder::new();
    assert_eq!(folder.run(&["make", "lapel", "-o", "lapel.obj"]).status, 0);
    let sidecar = std::fs::read_to_string(folder.path("lapel.garment.toml")).unwrap();
    for expected in ["rest = \"panels\"", "label = \"lapel\"", "[[crease]]", "angle_degrees = -167."] {
        assert!(sidecar.contains(expected), "{expected:?} is not in {sidecar}");
    }
}

#[test]
fn a_tortured_garment_keeps_its_vertices_and_crosses_itself() {
    let folder = Folder::new();
    assert_eq!(folder.run(&["make", "hanky", "-o", "hanky.obj", "--resolution", "24"]).status, 0);
    assert_eq!(folder.run(&["check", "hanky.obj"]).status, 0);
    let run = folder.run(&["make", "tortured-scrunched", "--garment", "hanky.obj", "-o", "scrunched.obj"]);
    assert_eq!(run.status, 0, "{}", run.err);
    assert!(run.out.contains("625 vertices, 1152 triangles"));
    assert_eq!(folder.run(&["check", "scrunched.obj"]).status, 1);
}

#[test]
fn bad_flags_are_one_line_and_status_2() {
    let folder = Folder::new().with("bad.obj", "v 0 0 zero\n").with("flat.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    for (flags, expected) in [
        (vec!["make", "knot", "-o", "a.obj"], "there is no sample `knot`; `unsnarl make --list` names them"),
        (vec!["make", "cross", "-o", "a.obj", "--resolution", "3"], "--resolution 3: `cross` takes 18 to 2000"),
        (vec!["make", "ll", "-o", "a.obj", "--resolution", "2001"], "takes 12 to 2000"),
        (vec!["make", "tortured-twisted", "-o", "a.obj"], "needs a garment: add --garment MESH"),
        (vec!["make", "ll", "-o", "a.obj", "--garment", "b.obj"], "only `tortured-` samples take one"),
        (vec!["make", "ll", "-o", "a.xyz"], "a.xyz"),
        (
            vec!["make", "tortured-sleeve", "--garment", "flat.obj", "-o", "a.obj"],
            "flat.obj: `tortured-sleeve` leaves no BLI",
        ),
        (vec!["make", "tortured-twisted", "--garment", "none.obj", "-o", "a.obj"], "none.obj: cannot read"),
        (vec!["make", "tortured-twisted", "--garment", "bad.obj", "-o", "a.obj"], "bad.obj:1"),
    ] {
        let run = folder.run(&flags);
        assert_eq!(run.status, 2, "{flags:?}");
        assert!(run.err.contains(expected) && run.err.trim_end().lines().count() == 1, "{flags:?} says {}", run.err);
        assert!(!folder.path("a.obj").exists());
    }
}
