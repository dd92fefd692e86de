//! Scenes in, errors with lines out.

use super::*;
use crate::real_data::real_data;
use unsnarl::bodies::Moment;
use unsnarl::untangle::FoldStyle;

const SHEET: &str = "[scene]\nframes = 5\n\n[[cloth]]\nsheet = { size = [1.0, 0.5], cells = [4, 2] }\n";

fn error(text: &str, changes: &[&str]) -> String {
    let changes: Vec<String> = changes.iter().map(|&change| change.to_owned()).collect();
    parse("s.toml", text, Path::new("."), &changes).unwrap_err().to_string()
}

#[test]
fn a_small_scene_becomes_a_world() {
    let text = format!(
        "{SHEET}fabric = \"silk\"\nposition = [0, 2, 0]\npin = [{{ vertices = [0] }}]\n[[body]]\nplane = {{}}\n"
    );
    let scene = parse("s.toml", &text, Path::new("."), &[]).unwrap();
    assert_eq!(scene.state.positions.len(), 15);
    assert_eq!(scene.state.positions[0], unsnarl_geometry::DVec3::new(-0.5, 1.75, 0.0));
    assert_eq!(scene.world.model.fabrics[0].name, "silk");
    assert_eq!(scene.world.model.pins.len(), 1);
    assert_eq!(scene.world.bodies.len(), 1);
    assert_eq!((scene.frames, scene.frame_rate), (5, 24.0));
}

#[test]
fn errors_name_the_line_and_what_was_expected() {
    let unknown = error("[scene]\nframes = 5\ncolour = 3\n", &[]);
    assert!(unknown.starts_with("s.toml:3: unknown field `colour`"), "{unknown}");
    let broken = error("[scene]\nframes = = 5\n", &[]);
    assert!(broken.starts_with("s.toml:2: "), "{broken}");
    let typed = error("[scene]\nframes = \"many\"\n", &[]);
    assert!(typed.starts_with("s.toml:2: invalid type"), "{typed}");
    assert_eq!(
        error(&format!("{SHEET}fabric = \"steel\"\n"), &[]),
        "s.toml:6: cloth.0.fabric: no fabric steel; expected a [fabric.steel] table or one of \
         cotton, silk, denim, leather, wool, spandex"
    );
    let both = error(&format!("{SHEET}disc = {{ radius = 1.0, rings = 2 }}\n"), &[]);
    assert_eq!(both, "s.toml:4: cloth.0: expected exactly one of mesh, sheet, disc and pattern");
    let missing = error("[[cloth]]\nmesh = \"nowhere.obj\"\n", &[]);
    assert!(missing.starts_with("s.toml:2: cloth.0.mesh: ./nowhere.obj"), "{missing}");
    assert!(error("[scene]\nframes = 3\n", &[]).contains("the scene has no cloth"));
    let far = error(&format!("{SHEET}pin = [{{ vertices = [99] }}]\n"), &[]);
    assert_eq!(far, "s.toml:6: cloth.0.pin.0.vertices.0: vertex 99; cloth 0 has 15");
    let huge = error("[[cloth]]\nsheet = { size = [1, 1], cells = [4000000000, 4000000000] }\n", &[]);
    assert!(huge.contains("expected 1 x 1 to 4000000 squares"), "{huge}");
    let thin = error(&format!("{SHEET}fabric = \"thin\"\n[fabric.thin]\ndensity = -1\n"), &[]);
    assert!(thin.starts_with("s.toml:7: fabric.thin: fabric thin: density is -1"), "{thin}");
    assert!(!error("[scene]\nframes = \"a\\nb\"\n", &[]).contains('\n'));
}

#[test]
fn changes_reach_every_place_and_are_checked() {
    let changes =
        ["scene.frames=9", "cloth.0.fabric=denim", "settings.dynamics.model=mass-spring", "scene.gravity=[0,0,0]"];
    let changes: Vec<String> = changes.iter().map(|&change| change.to_owned()).collect();
    let scene = parse("s.toml", SHEET, Path::new("."), &changes).unwrap();
    assert_eq!(scene.frames, 9);
    assert_eq!(scene.world.model.fabrics[0].name, "denim");
    assert_eq!(scene.settings.dynamics.model, unsnarl::settings::ClothModel::MassSpring);
    assert_ne!(scene.words, parse("s.toml", SHEET, Path::new("."), &[]).unwrap().words);
    assert!(error(SHEET, &["scene.fames=9"]).starts_with("--set scene.fames=9: unknown field `fames`"));
    assert!(error(SHEET, &["frames"]).starts_with("--set frames: expected path=value"));
    assert!(error(SHEET, &["cloth.7.fabric=silk"]).contains("there is no entry 7, the list has 1"));
}

#[test]
fn pins_with_keys_or_an_end_are_handles() {
    let text = format!(
        "{SHEET}pin = [{{ box = [[-9, 0.2, -1], [9, 9, 1]], keys = [{{ time = 1, position = [0, 1, 0] }}], release = 2 }}]\n"
    );
    let scene = parse("s.toml", &text, Path::new("."), &[]).unwrap();
    let handle = &scene.world.handles[0];
    assert_eq!(handle.vertices.len(), 5);
    assert_eq!(handle.release, 2.0);
    assert!(scene.world.model.pins.is_empty());
    let (place, _) = handle.motion.at(5.0);
    assert_eq!(place + handle.home[0], scene.state.positions[10] + unsnarl_geometry::DVec3::Y);
}

#[test]
fn the_bundled_scenes_and_the_published_schema_are_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut count = 0;
    for entry in std::fs::read_dir(root.join("scenes")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(!text.contains("../.."), "{} needs files outside the project", path.display());
            read(&path, &[]).unwrap_or_else(|error| panic!("{error}"));
            count += 1;
        }
    }
    assert!(count >= 31);
    let published = std::fs::read_to_string(root.join("docs/scene.schema.json")).unwrap();
    assert!(published == schema(), "write it anew with: unsnarl sim --schema > docs/scene.schema.json");
}

#[test]
fn rigid_bodies_and_their_copies_become_part_of_the_state() {
    let text = "[[body]]\nplane = {}\n[[rigid]]\nbox = { size = [0.2, 0.4, 0.6] }\nmass = 3\nposition = [1, 2, 3]\nspin = [0, 2, 0]\n\
                velocity = [0, 0, 4]\n[[rigid]]\nname = \"ring\"\nring = { radius = 0.2, tube = 0.05 }\ndensity = 2\n\
                copies = { count = [2, 3, 1], spacing = [0.5, 0.25, 0] }\n";
    let scene = parse("s.toml", text, Path::new("."), &[]).unwrap();
    let (world, state) = (&scene.world, &scene.state);
    assert_eq!((world.model.masses.len(), world.bodies.len(), state.rigid.placements.len()), (0, 8, 8));
    assert_eq!(state.rigid.placements[1].position, unsnarl_geometry::DVec3::new(1.0, 2.0, 3.0));
    assert_eq!(state.rigid.velocities[1].z, 4.0);
    // A box about its y axis: m (x^2 + z^2) / 12.
    assert!((state.rigid.angular_momenta[1].y - 2.0 * 3.0 * (0.04 + 0.36) / 12.0).abs() < 1e-12);
    let volume = 2.0 * std::f64::consts::PI.powi(2) * 0.2 * 0.05 * 0.05;
    assert!((world.rigid.bodies.bodies[2].mass - 2.0 * volume).abs() < 1e-12);
    assert_eq!(state.rigid.placements[7].position, unsnarl_geometry::DVec3::new(0.5, 0.5, 0.0));
    assert_eq!((scene.rigid[1].name.as_str(), scene.rigid[1].bodies.clone()), ("ring", 2..8));
    assert!(state.rigid.is_valid(&world.rigid.bodies));
}

#[test]
fn what_cannot_be_a_rigid_body_is_named_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("open.obj"), "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 2 3 4\n")
        .unwrap();
    let flat = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n";
    std::fs::write(folder.path().join("flat.obj"), flat).unwrap();
    let error = |rest: &str| {
        let text = format!("[scene]\nframes = 2\n[[rigid]]\n{rest}\n");
        parse("s.toml", &text, folder.path(), &[]).unwrap_err().to_string()
    };
    let open = error("mesh = \"open.obj\"");
    assert!(
        open.starts_with("s.toml:4: rigid.0.mesh: ") && open.contains("a rigid body needs a closed mesh"),
        "{open}"
    );
    let flat = error("mesh = \"flat.obj\"");
    assert!(flat.contains("it encloses no volume"), "{flat}");
    for (rest, expected) in [
        ("sphere = { radius = 0.1 }\ndensity = -2", "s.toml:5: rigid.0.density: -2; expected a number above 0"),
        ("sphere = { radius = 0.1 }\nmass = 0", "s.toml:5: rigid.0.mass: 0; expected a number above 0"),
        ("sphere = { radius = 0.1 }\nmass = 1\ndensity = 1", "s.toml:5: rigid.0.mass: give density or mass, not both"),
        ("sphere = { radius = -1 }", "s.toml:4: rigid.0.sphere: the radius is -1; a positive, finite length is needed"),
        ("box = { size = [1, 0, 1] }", "s.toml:4: rigid.0.box: half a side is 0; a positive, finite length is needed"),
        (
            "box = { size = [1e30, 0.1, 0.1] }",
            "s.toml:4: rigid.0.box: 500000000000000000000000000000; expected at most 1000000 metres",
        ),
        (
            "sphere = { radius = 1 }\n[[body]]\nbox = { size = [1, 1e30, 1] }",
            "s.toml:6: body.0.box.size: 1000000000000000000000000000000; expected at most 1000000 metres",
        ),
        (
            "ring = { radius = 1, tube = 2 }",
            "s.toml:4: rigid.0.ring: the hole's radius is -1; a positive, finite length is needed",
        ),
        ("restitution = 2\nsphere = { radius = 1 }", "s.toml:4: rigid.0.restitution: 2; expected 0 to 1"),
        (
            "sphere = { radius = 1 }\nvelocity = [1e9, 0, 0]",
            "s.toml:5: rigid.0.velocity: [1000000000.0, 0.0, 0.0]; expected numbers up to 10000",
        ),
        (
            "sphere = { radius = 1 }\ncopies = { count = [4000000000, 4000000000, 2] }",
            "s.toml:5: rigid.0.copies.count: [4000000000, 4000000000, 2]; expected 1 to 100000 bodies",
        ),
        (
            "name = \"nothing\"",
            "s.toml:3: rigid.0: expected exactly one of sphere, box, capsule, cylinder, ring and mesh",
        ),
        (
            "sphere = { radius = 1 }\n[settings.coupling]\nrounds = 0",
            "s.toml:6: settings.coupling.rounds: 0; expected 1 to 100",
        ),
    ] {
        assert_eq!(error(rest), expected);
    }
    let unknown = error("sphere = { radius = 1 }\nbounce = 1");
    assert!(unknown.starts_with("s.toml:5: unknown field `bounce`"), "{unknown}");
}

/// A real pattern: panels with stitch lines.
#[test]
fn stitch_lines_of_a_real_pattern_become_threads() {
    let Some(folder) = real_data("codim_ipc_apache2/dress_knife") else { return };
    let scene = parse("s.toml", "[[cloth]]\nmesh = \"stage.obj\"\n", &folder, &[]).unwrap();
    assert_eq!(scene.world.model.stitches.len(), 851);
    assert_eq!(scene.state.positions.len(), 15_656);
}

/// A mesh, a sequence and a character as bodies; what does not fit is named.
#[test]
fn meshes_sequences_and_characters_are_bodies() {
    let folder = tempfile::tempdir().unwrap();
    for (number, height) in [(1, 0.0), (2, 0.5)] {
        let text = format!("v 0 {height} 0\nv 1 {height} 0\nv 0 {height} 1\nf 1 2 3\n");
        std::fs::write(folder.path().join(format!("m{number}.obj")), text).unwrap();
    }
    std::fs::write(folder.path().join("m3.obj"), "v 0 0 0\nv 1 0 0\nv 0 0 1\nv 1 1 1\nf 1 2 3\n").unwrap();
    let with = |body: &str| parse("s.toml", &format!("{SHEET}[[body]]\n{body}\n"), folder.path(), &[]);
    let scene = with("mesh = \"m1.obj\"\nposition = [0, 2, 0]").unwrap();
    let at = |scene: &Scene, time: f64| scene.world.surfaces.positions_at(&scene.world.bodies, Moment::at(time))[0].y;
    assert_eq!(at(&scene, 0.0), 2.0);
    let scene = with("sequence = { files = \"m{}.obj\", first = 1, last = 2, frame-rate = 10 }").unwrap();
    assert!((at(&scene, 0.05) - 0.25).abs() < 1e-15 && at(&scene, 9.0) == 0.5);
    let problem = |body: &str| with(body).unwrap_err().to_string();
    let sequence = problem("sequence = { files = \"m{}.obj\", first = 1, last = 3, frame-rate = 10 }");
    assert!(sequence.contains("frame 2 has 4 vertices, the first has 3"), "{sequence}");
    assert!(problem("mesh = \"none.obj\"").contains("none.obj"));
    assert!(problem("mesh = \"m1.obj\"\nplane = {}").contains("expected exactly one of plane, sphere"));
    assert!(problem("mesh = \"m1.obj\"\nclip = \"walk\"").contains("expected a .gltf or .glb file"));
    let Some(glb) = real_data("character_cc0/body.glb") else { return };
    let glb = glb.display();
    let scene = with(&format!("mesh = \"{glb}\"\nclip = \"sit01\"\nclip-start = 0.5")).unwrap();
    let still = scene.world.surfaces.positions_at(&scene.world.bodies, Moment::at(0.25));
    assert_eq!(still.len(), 13_380);
    assert_eq!(still, scene.world.surfaces.positions_at(&scene.world.bodies, Moment::at(0.5)));
    assert_ne!(still, scene.world.surfaces.positions_at(&scene.world.bodies, Moment::at(1.0)));
    assert!(problem(&format!("mesh = \"{glb}\"\nclip = \"hop\"")).contains("no clip hop; the file has fight01"));
}

const MOVING: &str = r#"#usda 1.0
(
    metersPerUnit = 1
    upAxis = "Y"
    timeCodesPerSecond = 10
)
def Xform "root"
{
    double3 xformOp:translate.timeSamples = { 0: (0, 0, 0), 20: (0, 0, 4), }
    uniform token[] xformOpOrder = ["xformOp:translate"]
    def Mesh "tri"
    {
        int[] faceVertexCounts = [3]
        int[] faceVertexIndices = [0, 1, 2]
        point3f[] points.timeSamples = {
            0: [(0, 0, 0), (1, 0, 0), (0, 1, 0)],
            10: [(0, 2, 0), (1, 2, 0), (0, 3, 0)],
        }
    }
}
"#;

/// Points and a transform above them move at their own times; USD has straight lines between samples.
#[test]
fn usd_time_samples_move_a_body() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("m.usda"), MOVING).unwrap();
    let with = |body: &str| parse("s.toml", &format!("{SHEET}[[body]]\n{body}\n"), folder.path(), &[]);
    let scene = with("mesh = \"m.usda\"\nclip-start = 1\nclip-speed = 2").unwrap();
    let at = |time: f64| scene.world.surfaces.positions_at(&scene.world.bodies, Moment::at(time))[0];
    // Twice as fast: the points arrive after half a second, the transform after one.
    for (time, y, z) in
        [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.25, 1.0, 1.0), (1.5, 2.0, 2.0), (2.0, 2.0, 4.0), (9.0, 2.0, 4.0)]
    {
        assert!((at(time) - unsnarl_geometry::DVec3::new(0.0, y, z)).length() < 1e-12, "{time}: {}", at(time));
    }
    let changed = MOVING.replace("10: [(0, 2, 0), (1, 2, 0), (0, 3, 0)]", "10: [(0, 2, 0), (1, 2, 0)]");
    std::fs::write(folder.path().join("m.usda"), changed).unwrap();
    let problem = with("mesh = \"m.usda\"").unwrap_err().to_string();
    assert!(problem.contains("at time 10 there are other points than at the first"), "{problem}");
    std::fs::write(folder.path().join("m.usda"), MOVING.replace("= 10\n", "= 0\n")).unwrap();
    let problem = with("mesh = \"m.usda\"").unwrap_err().to_string();
    assert!(problem.contains("timeCodesPerSecond is 0; expected a number above 0"), "{problem}");
    std::fs::write(folder.path().join("m.usda"), MOVING.replace("20: (0, 0, 4)", "20 (0, 0, 4)")).unwrap();
    assert!(with("mesh = \"m.usda\"").unwrap_err().to_string().contains("m.usda:9: "));
}

const RESTING: &str = r#"#usda 1.0
(
    metersPerUnit = 0.01
)
def Mesh "square"
{
    int[] faceVertexCounts = [3, 3]
    int[] faceVertexIndices = [0, 1, 2, 0, 2, 3]
    point3f[] points = [(0, 0, 0), (10, 0, 0), (10, 10, 0), (0, 10, 0)]
    point3f[] omniphysics:restShapePoints = [(0, 0, 0), (20, 0, 0), (20, 10, 0), (0, 10, 0)]
    int2[] physics:restAdjTriPairs = [(0, 1)]
    float[] physics:restBendAngles = [30]
}
"#;

#[test]
fn usd_rest_fields_are_the_rest_shape_and_its_creases() {
    let folder = tempfile::tempdir().unwrap();
    let write = |text: &str| std::fs::write(folder.path().join("c.usda"), text).unwrap();
    let read = || parse("s.toml", "[[cloth]]\nmesh = \"c.usda\"\n", folder.path(), &[]);
    write(RESTING);
    let model = read().unwrap().world.model;
    let area: f64 = model.rest_shapes.iter().map(unsnarl::rest_shape::RestShape::area).sum();
    assert!((area - 0.02).abs() < 1e-12);
    assert!((model.rest_angles[0] - 30f64.to_radians()).abs() < 1e-12);
    // A rest shape that is folded itself, its ridge toward the front.
    let folded = RESTING.replace("(20, 10, 0), (0, 10, 0)]\n    int2", "(20, 10, 0), (0, 10, -5)]\n    int2");
    write(&folded.replace("    float[] physics:restBendAngles = [30]\n", "").replace(
        "    int2[] physics:restAdjTriPairs = [(0, 1)]\n",
        "    uniform token physics:restBendAnglesDefault = \"restShapeDefault\"\n",
    ));
    let model = read().unwrap().world.model;
    let normal = unsnarl_geometry::DVec3::new(0.2, 0.1, 0.0).cross(unsnarl_geometry::DVec3::new(0.0, 0.1, -0.05));
    let expected = (normal.z / normal.length()).acos();
    assert!((model.rest_angles[0] - expected).abs() < 1e-9, "{} {expected}", model.rest_angles[0]);
    // A sidecar that chooses goes before the fields.
    write(RESTING);
    std::fs::write(folder.path().join("c.garment.toml"), "rest = \"shape\"\n").unwrap();
    let model = read().unwrap().world.model;
    assert!((model.rest_shapes[0].area() - 0.005).abs() < 1e-12 && model.rest_angles == [0.0]);
    std::fs::remove_file(folder.path().join("c.garment.toml")).unwrap();
    for (from, to, words) in [
        ("[(0, 1)]", "[(0, 7)]", "restAdjTriPairs names a triangle that is not there"),
        ("Angles = [30]", "Angles = [30, 31]", "one finite angle for every pair"),
        ("(20, 10, 0), (0, 10, 0)]\n    int2", "(20, 10, 0)]\n    int2", "restShapePoints do not have three"),
    ] {
        write(&RESTING.replace(from, to));
        let problem = read().unwrap_err().to_string();
        assert!(problem.contains(words) && !problem.contains('\n'), "{problem}");
    }
}

#[test]
fn a_sewing_pattern_is_cloth_with_threads() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../samples");
    let text = "[[cloth]]\npattern = { file = \"skirt_pattern.json\", edge-length = 0.03 }\n";
    let scene = parse("s.toml", text, &folder, &[]).unwrap();
    let model = &scene.world.model;
    assert!(model.stitches.len() > 30 && model.masses.len() > 300);
    assert!(scene.panels[0].is_some());
    let open = parse("s.toml", &format!("{text}sewing = \"off\"\n"), &folder, &[]).unwrap();
    assert!(open.world.model.stitches.is_empty());
    let missing = error("[[cloth]]\npattern = { file = \"none.json\" }\n", &[]);
    assert!(missing.starts_with("s.toml:2: cloth.0.pattern.file: ./none.json: cannot read"), "{missing}");
    let fine = error("[[cloth]]\npattern = { file = \"none.json\", edge-length = 0 }\n", &[]);
    assert!(fine.starts_with("s.toml:2: cloth.0.pattern.edge-length: 0; expected a number above 0"), "{fine}");
}

#[test]
fn flypaper_weights_are_per_body_per_part_of_it_and_per_vertex_of_cloth() {
    let bodies = "[[body]]\nname = \"floor\"\nbox = { size = [1, 1, 1] }\nflypaper-weight = 0.9\n\
                  [[body]]\nname = \"hand\"\nbox = { size = [1, 1, 1] }\nposition = [0, 3, 0]\nflypaper-weight = 0.1\n\
                  flypaper = [{ box = [[-9, 3.4, -9], [9, 9, 9]], weight = 0.5 }]\n";
    let glove = "flypaper = [{ vertices = [3], weights = { floor = 0 } }]\n";
    let text = format!("{SHEET}{glove}{bodies}");
    let scene = parse("s.toml", &text, Path::new("."), &[]).unwrap();
    let weights = &scene.world.flypaper_weights;
    let count = scene.world.surfaces.meshes()[0].positions.len();
    assert_eq!(weights.of_bodies.len(), 2 * count);
    assert!(weights.of_bodies[..count].iter().all(|&weight| weight == 0.9));
    let hand = scene.world.surfaces.positions_at(&scene.world.bodies, Moment::at(0.0)).split_off(count);
    for (place, &weight) in hand.iter().zip(&weights.of_bodies[count..]) {
        assert_eq!(weight, if place.y > 3.4 { 0.5 } else { 0.1 });
    }
    let [(vertex, own)] = weights.of_vertices.as_slice() else { panic!("one vertex has its own") };
    assert_eq!(vertex.0, 3);
    assert!(own[..count].iter().all(|&weight| weight == 0.0));
    assert_eq!(own[count..], weights.of_bodies[count..], "bodies that are not named keep theirs");
    let plain = parse("s.toml", &format!("{SHEET}[[body]]\nplane = {{}}\n"), Path::new("."), &[]).unwrap();
    assert_eq!(plain.world.flypaper_weights, Default::default());

    let nobody = error(&format!("{SHEET}flypaper = [{{ vertices = [3], weights = {{ foot = 0 }} }}]\n{bodies}"), &[]);
    assert_eq!(nobody, "s.toml:6: cloth.0.flypaper.0.weights.foot: no body foot; the scene has floor, hand");
    let empty = error(&format!("{SHEET}[[body]]\nplane = {{}}\nflypaper = [{{ weight = 1 }}]\n"), &[]);
    assert!(empty.contains("body.0.flypaper.0: takes no vertex"), "{empty}");
    let negative = error(&format!("{SHEET}[[body]]\nplane = {{}}\nflypaper-weight = -1\n"), &[]);
    assert_eq!(negative, "s.toml:8: body.0.flypaper-weight: -1; expected a number of at least 0");
}

#[test]
fn styles_of_folds_come_from_sidecars_and_the_scene_overrules_them() {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../samples");
    let text = "[scene]\nframes = 1\n[[cloth]]\nname = \"front\"\nmesh = \"lapel.obj\"\n";
    let styles = |untangle: &str| {
        parse("s.toml", &format!("{text}[untangle]\n{untangle}"), &samples, &[]).unwrap().world.design.styles
    };
    let is = |style: FoldStyle| move |found: &Option<FoldStyle>| *found == Some(style);
    let by_design = styles("");
    assert!(by_design.iter().any(is(FoldStyle::Crease)) && by_design.iter().any(is(FoldStyle::FoldOut)));
    assert!(styles("style = \"unfold\"\n").iter().all(is(FoldStyle::Unfold)));
    let label = "styles = [{ where = \"front\", style = \"unfold\" }, { where = \"lapel\", style = \"fold-in\" }]\n";
    assert!(styles(label).iter().all(is(FoldStyle::FoldIn)), "what comes later counts");
    let creases = parse("s.toml", text, &samples, &[]).unwrap().world.design.creases;
    assert_eq!(creases.len(), 33);
    let unknown = error(&format!("{SHEET}[untangle]\nstyles = [{{ where = \"hood\", style = \"unfold\" }}]\n"), &[]);
    assert!(unknown.contains("untangle.styles.0.where: hood; no cloth and no label"), "{unknown}");
    let strip = error(&format!("{SHEET}[untangle]\ntear.strip-stiffness = 2.0\n"), &[]);
    assert!(strip.contains("strip-stiffness: 2; expected 0 to 1"), "{strip}");
}

#[test]
fn copies_of_cloth_are_turned_shifted_and_held_one_after_the_other() {
    let text = format!(
        "{SHEET}name = \"flag\"\nposition = [1, 0, 0]\ncopies = {{ count = 3, step = [0, 2, 0], turn = [0, 90, 0], release-step = 0.5 }}\n\
         [[cloth]]\nsheet = {{ size = [1, 1], cells = [1, 1] }}\nfabric = \"silk\"\n"
    );
    let scene = parse("s.toml", &text, Path::new("."), &[]).unwrap();
    let names: Vec<&str> = scene.world.model.pieces.iter().map(|piece| piece.name.as_str()).collect();
    assert_eq!(names, ["flag 1", "flag 2", "flag 3", "cloth 1"]);
    let first = scene.state.positions[0];
    assert_eq!(first, unsnarl_geometry::DVec3::new(0.5, -0.25, 0.0));
    // Turned about the origin, then shifted.
    for (copy, expected) in [(1, [0.0, 1.75, -0.5]), (2, [-0.5, 3.75, 0.0])] {
        let place = scene.state.positions[15 * copy];
        assert!(place.distance(unsnarl_geometry::DVec3::from_array(expected)) < 1e-12, "{place}");
    }
    let holds: Vec<(usize, usize, f64)> =
        scene.world.handles.iter().map(|hold| (hold.vertices[0].index(), hold.vertices.len(), hold.release)).collect();
    assert_eq!(holds, [(15, 15, 0.5), (30, 15, 1.0)]);
    // An error behind copies names the table that the file has.
    let wrong = error(&text.replace("\"silk\"", "\"steel\""), &[]);
    assert!(wrong.starts_with("s.toml:11: cloth.1.fabric: no fabric steel"), "{wrong}");
    for (count, told) in [("0", "0; expected 1 to 10000"), ("10001", "10001; expected 1 to 10000")] {
        let many = error(&text.replace("count = 3", &format!("count = {count}")), &[]);
        assert!(many.starts_with("s.toml:8: cloth.0.copies") && many.ends_with(told), "{many}");
    }
}

#[test]
fn a_field_that_cannot_be_is_refused_with_its_line() {
    let with = |key: &str| format!("{SHEET}[collision]\nmethod = \"field\"\n[collision.field]\n{key}\n");
    let rows = [
        ("voxel = 0", "s.toml:9: collision.field.voxel: 0; expected a number above 0"),
        ("size = -1.5", "s.toml:9: collision.field.size: -1.5; expected a number above 0"),
        ("voxel = 1\nsize = 0.1", "s.toml:10: collision.field.size: give voxel or size, not both"),
        ("substeps = 0", "s.toml:9: collision.field.substeps: 0; expected 1 to 1000"),
        ("source = -1", "s.toml:9: collision.field.source: -1; expected a number of at least 0"),
        (
            "size = 0.0001",
            "s.toml:9: collision.field.size: 1.000e-4 m would need about 200000000 voxels; most-voxels is 20000000",
        ),
    ];
    for (key, expected) in rows {
        assert_eq!(error(&with(key), &[]), expected);
    }
    for key in ["tangential = \"off\"", "solve = \"magic\"", "raster = \"samples\""] {
        assert!(error(&with(key), &[]).starts_with("s.toml:9: unknown"), "{key}");
    }
    let remarks = parse("s.toml", &with("voxel = 4"), Path::new("."), &[]).unwrap().remarks;
    assert!(remarks.iter().any(|remark| remark.contains("voxels are 4.00 mean edges")), "{remarks:?}");
    assert!(remarks.iter().any(|remark| remark.contains("three quarters of a voxel")), "{remarks:?}");
    let change = ["collision.method=field".to_owned(), "collision.field.certify=off".to_owned()];
    let scene = parse("s.toml", SHEET, Path::new("."), &change).unwrap();
    assert!(!scene.settings.collision.is_proved());
}
