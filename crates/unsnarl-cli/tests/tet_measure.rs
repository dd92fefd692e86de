//! `unsnarl tet measure` as a user meets it: the table, the report, damaged files.

#![allow(clippy::unwrap_used)]

mod running;

use running::Folder;
use serde_json::Value;

fn report(folder: &Folder, arguments: &[&str]) -> Value {
    let arguments: Vec<&str> = arguments.iter().chain(&["--json", "-"]).copied().collect();
    let run = folder.run(&arguments);
    assert_eq!(run.status, 0, "{arguments:?}: {}", run.err);
    serde_json::from_str(&run.out).unwrap()
}

const MSH: &str = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n5\n1 1 1 1\n2 -1 1 -1\n3 1 -1 -1\n4 -1 -1 1\n5 3 -3 3\n\
                   $EndNodes\n$Elements\n2\n1 4 2 0 0 1 2 3 4\n2 4 2 0 0 1 3 4 5\n$EndElements\n";

#[test]
fn a_regular_tetrahedron_measures_as_one_and_an_inverted_one_is_named() {
    let folder = Folder::new().with("bad.msh", MSH).with("good.msh", &MSH.replace("1 3 4 5", "1 4 3 5"));
    let found = report(&folder, &["tet", "measure", "bad.msh"]);
    assert_eq!(found["schema"], "unsnarl.tet-measure/1");
    assert_eq!(
        (&found["tets"], &found["valid"], &found["kind"]),
        (&2.into(), &false.into(), &"Gmsh text, version 2.2".into())
    );
    let found = report(&folder, &["tet", "measure", "good.msh"]);
    assert_eq!((&found["valid"], &found["inverted"]), (&true.into(), &0.into()));
    assert!((found["aspect"]["min"].as_f64().unwrap() - 1.5_f64.sqrt()).abs() < 1e-12, "{found}");
    assert_eq!(found["boundary"]["genus"], 0);
    let table = folder.run(&["tet", "measure", "bad.msh"]);
    assert!(table.out.contains("NOT VALID: 1 inverted, 0 flat"), "{}", table.out);
}

#[test]
fn damaged_tetrahedral_files_are_refused_in_one_line() {
    let folder = Folder::new().with("cut.msh", &MSH[..90]).with("a.txt", "").with("lone.node", "1 3\n1 0 0 0\n");
    for (name, expected) in [
        ("cut.msh", "cut.msh:"),
        ("a.txt", "expected .msh, .vtk, .node, .ele or .mesh"),
        ("gone.vtk", "gone.vtk: cannot read"),
        ("lone.node", "lone.ele: cannot read"),
    ] {
        let run = folder.run(&["tet", "measure", name]);
        assert_eq!(run.status, 2, "{name}");
        assert!(run.err.contains(expected) && run.err.trim_end().lines().count() == 1, "{name}: {}", run.err);
    }
}
