//! USD text files: what is read, what survives writing, what is refused.

use std::path::Path;
use unsnarl_geometry::{DVec2, DVec3, TriMesh, UvMap};
use unsnarl_io::mesh::{self, Conversion, FindingKind, Format, Labels, LengthUnit, MeshFile, ReadOptions, UpAxis};

fn read(text: impl Into<Vec<u8>>) -> Result<MeshFile, mesh::MeshFileError> {
    mesh::read_bytes(Format::Usda, "shirt.usda", text.into(), &ReadOptions::default())
}

const LAYER: &str = r#"#usda 1.0
(
    defaultPrim = "World"
    doc = """a shirt, "quoted" (with brackets"""
    metersPerUnit = 0.01
    upAxis = "Z"
)

class "_defaults"
{
    def Mesh "NotThis" { point3f[] points = [(9, 9, 9)] }
}

def Xform "World" (
    customData = { string note = "x" }
)
{
    double3 xformOp:translate = (100, 0, 0)
    float3 xformOp:scale = (2, 2, 2)
    uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:scale"]

    def Mesh "Front" (
        prepend apiSchemas = ["MaterialBindingAPI"]
    )
    {
        uniform bool doubleSided = 1
        float3[] extent = [(0, 0, 0), (1, 1, 0)]
        int[] faceVertexCounts = [4, 3]
        int[] faceVertexIndices = [0, 1, 2, 3,
            1, 4, 2] # two faces
        rel material:binding = </World/Looks/Denim>
        normal3f[] normals = [(0, 0, 1)] (
            interpolation = "constant"
        )
        point3f[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (2, 0.1, 0)]
        texCoord2f[] primvars:st = [(0, 0), (1, 0), (1, 1), (0, 1), (0.5, 0.5)] (
            interpolation = "faceVarying"
        )
        int[] primvars:st:indices = [0, 1, 2, 3, 0, 4, 2]

        def GeomSubset "cuff"
        {
            uniform token elementType = "face"
            int[] indices = [1]
        }
    }
}
"#;

#[test]
fn meshes_are_read_with_transforms_units_uv_and_labels() {
    let file = read(LAYER).unwrap();
    assert_eq!(file.conversion, Conversion { unit: LengthUnit::Centimetre, up_axis: UpAxis::Z });
    assert_eq!(file.mesh.triangles, [[0, 1, 2], [0, 2, 3], [1, 4, 2]]);
    // In the file's world vertex 4 is (104, 0.2, 0) centimetres with Z up.
    let expected = DVec3::new(1.04, 0.0, -0.002);
    assert!((file.mesh.positions[4] - expected).length() < 1e-9, "{}", file.mesh.positions[4]);
    assert_eq!(file.uv.as_ref().unwrap().triangles, [[0, 1, 2], [0, 2, 3], [0, 4, 2]]);
    assert_eq!(file.objects.name(0), "Front");
    assert_eq!(file.materials.name(0), "Denim");
    assert_eq!([0, 1, 2].map(|triangle| file.groups.name(triangle)), ["", "", "cuff"]);
    assert!(mesh::encode(Format::Usda, &file) == LAYER.as_bytes(), "unchanged");
}

#[test]
fn only_moved_points_and_the_extent_change() {
    let file = read(LAYER).unwrap();
    let mut positions = file.mesh.positions.clone();
    positions[1] = DVec3::new(1.0 + 0.02 * 3.0, 0.02 * 0.5, 0.0);
    let moved = file.with_positions(positions);
    let text = String::from_utf8(mesh::encode(Format::Usda, &moved)).unwrap();
    let expected = LAYER
        .replace("[(0, 0, 0), (1, 0, 0), (1, 1, 0), (0", "[(0, 0, 0), (3, 0, 0.5), (1, 1, 0), (0")
        .replace("[(0, 0, 0), (1, 1, 0)]", "[(0, 0, 0), (3, 1, 0.5)]");
    assert_eq!(text.replace("-0,", "0,"), expected);
    assert_eq!(read(text).unwrap().mesh.positions, moved.stored_positions(Format::Usda));
}

#[test]
fn a_frame_that_swallows_digits_reads_back_as_told() {
    for far in ["(1e17, 3e16, -7e16)", "(123456789012345680, 1, 0.3)", "(1e25, 0, 0.7)"] {
        let file = read(LAYER.replace("(100, 0, 0)", far)).unwrap();
        let positions: Vec<DVec3> = file.mesh.positions.iter().map(|&position| position * 0.75).collect();
        let moved = file.with_positions(positions);
        let again = read(String::from_utf8(mesh::encode(Format::Usda, &moved)).unwrap()).unwrap();
        assert_eq!(again.mesh.positions, moved.stored_positions(Format::Usda), "moved by {far}");
    }
}

#[test]
fn uv_beyond_all_floats_reads_back() {
    let text = "#usda 1.0\ndef Mesh \"m\"\n{\n    int[] faceVertexCounts = [3]\n    int[] faceVertexIndices = [0, 1, 2]\n    \
        point3d[] points.timeSamples = { 0: [(0, 0, 0), (1, 0, 0), (0, 1, 0)] }\n    \
        float2[] primvars:st = [(-3721e39, 0), (1, 0), (1, 1)] ( interpolation = \"vertex\" )\n}\n";
    let file = read(text).unwrap();
    let moved = file.with_positions(file.mesh.positions.iter().map(|&position| position * 0.75).collect());
    let again = read(String::from_utf8(mesh::encode(Format::Usda, &moved)).unwrap());
    assert!(again.is_ok(), "{:?}", again.err());
}

#[test]
fn a_mesh_without_a_file_survives() {
    let mesh = TriMesh {
        positions: vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::new(1.0, 1.0, 0.25)],
        triangles: vec![[0, 1, 2], [1, 3, 2]],
    };
    let coordinates =
        [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.5, 0.0], [0.75, 1.0], [0.5, 1.0]].map(DVec2::from).to_vec();
    let uv = UvMap { coordinates, triangles: vec![[0, 1, 2], [3, 4, 5]] };
    let mut file = MeshFile::new(mesh, Some(uv));
    file.groups = Labels { names: vec!["left cuff".into(), "right".into()], of_triangle: vec![0, 1] };
    let again = read(mesh::encode(Format::Usda, &file)).unwrap();
    assert_eq!((&again.mesh, &again.uv), (&file.mesh, &file.uv));
    assert_eq!(again.conversion, Conversion::IDENTITY);
    assert_eq!(again.groups.names, ["left_cuff", "right"]);
}

#[test]
fn separate_objects_stay_separate_meshes() {
    let triangle = [DVec3::ZERO, DVec3::X, DVec3::Y];
    let mesh = TriMesh { positions: [triangle, triangle].concat(), triangles: vec![[0, 1, 2], [3, 4, 5]] };
    let mut file = MeshFile::new(mesh, None);
    file.objects = Labels { names: vec!["shirt".into(), "shirt 2".into()], of_triangle: vec![0, 1] };
    let text = String::from_utf8(mesh::encode(Format::Usda, &file)).unwrap();
    assert_eq!(text.matches("def Mesh").count(), 2);
    let again = read(text).unwrap();
    assert_eq!(again.mesh, file.mesh);
    assert_eq!(again.objects.names, ["shirt", "shirt_2"]);
}

/// A mesh under one transform; the expected image of the point (1, 2, 3) is worked out by hand.
#[test]
fn transforms_follow_usd_conventions() {
    let rows: [(&str, &str, [f64; 3]); 7] = [
        ("double3 xformOp:translate = (1, 1, 1)", r#""xformOp:translate""#, [2.0, 3.0, 4.0]),
        ("float xformOp:rotateZ = 90", r#""xformOp:rotateZ""#, [-2.0, 1.0, 3.0]),
        // About X by 90: (1, -3, 2); then about Z by 90: (3, 1, 2).
        ("float3 xformOp:rotateXYZ = (90, 0, 90)", r#""xformOp:rotateXYZ""#, [3.0, 1.0, 2.0]),
        // The last turn first: about Z by 90: (-2, 1, 3); then about X by 90: (-2, -3, 1).
        ("float3 xformOp:rotateZYX = (90, 0, 90)", r#""xformOp:rotateZYX""#, [-2.0, -3.0, 1.0]),
        (
            "matrix4d xformOp:transform = ((0, 1, 0, 0), (-1, 0, 0, 0), (0, 0, 1, 0), (10, 0, 0, 1))",
            r#""xformOp:transform""#,
            [8.0, 1.0, 3.0],
        ),
        (
            "quatf xformOp:orient = (0.7071067811865476, 0, 0, 0.7071067811865476)",
            r#""xformOp:orient""#,
            [-2.0, 1.0, 3.0],
        ),
        (
            "double3 xformOp:translate:pivot = (1, 0, 0)\n float3 xformOp:scale = (2, 2, 2)",
            r#""xformOp:translate:pivot", "xformOp:scale", "!invert!xformOp:translate:pivot""#,
            [1.0, 4.0, 6.0],
        ),
    ];
    for (operations, order, expected) in rows {
        let text = format!(
            "#usda 1.0\n(\n metersPerUnit = 1\n)\ndef Mesh \"m\"\n{{\n {operations}\n uniform token[] xformOpOrder = [{order}]\n \
             int[] faceVertexCounts = [3]\n int[] faceVertexIndices = [0, 1, 2]\n \
             point3d[] points = [(1, 2, 3), (0, 1, 0), (0, 0, 1)]\n}}\n"
        );
        let position = read(text).unwrap().mesh.positions[0];
        assert!((position - DVec3::from_array(expected)).length() < 1e-7, "{order}: {position}");
    }
}

#[test]
fn left_handed_meshes_are_turned_and_time_samples_told() {
    let text = LAYER
        .replace("uniform bool doubleSided = 1", "uniform token orientation = \"leftHanded\"")
        .replace("point3f[] points = [(0", "point3f[] points.timeSamples = { 0: [(0")
        .replace("(2, 0.1, 0)]", "(2, 0.1, 0)], 1: [(7, 7, 7)] }");
    let file = read(text).unwrap();
    assert_eq!(file.mesh.triangles[2], [2, 4, 1]);
    assert!(mesh::inspect(&file).iter().any(|finding| finding.kind == FindingKind::LeftOut));
}

#[test]
fn bad_files_are_refused() {
    let rows = [
        (LAYER.replace("#usda", "#usdx"), FindingKind::Syntax),
        ("PXR-USDC\0\0".into(), FindingKind::Syntax),
        (LAYER[..LAYER.len() - 3].into(), FindingKind::Truncated),
        (LAYER.replace("[4, 3]", "[4, 4]"), FindingKind::Syntax),
        (LAYER.replace("1, 4, 2]", "1, 5, 2]"), FindingKind::IndexOutOfRange),
        (LAYER.replace("0, 4, 2]", "0, 9, 2]"), FindingKind::IndexOutOfRange),
        (LAYER.replace("(2, 0.1, 0)", "(2, inf, 0)"), FindingKind::NotFinite),
        (LAYER.replace("(2, 0.1, 0)", "(2, x, 0)"), FindingKind::Syntax),
        // A point that ended outside its brackets was once taken, and could not be written back.
        (LAYER.replace("(2, 0.1, 0)", "(2, 0.1) 0"), FindingKind::Syntax),
        (LAYER.replace("(2, 0.1, 0)]", "(2, 0.1, 0]"), FindingKind::Syntax),
        (LAYER.replace("metersPerUnit = 0.01", "metersPerUnit = -1"), FindingKind::Syntax),
        (LAYER.replace("\"xformOp:scale\"", "\"xformOp:shear\""), FindingKind::Syntax),
        ("#usda 1.0\n".into(), FindingKind::Empty),
    ];
    for (text, kind) in rows {
        let error = read(text).unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
        assert!(!error.to_string().contains('\n'));
    }
    assert_eq!(Format::from_path(Path::new("shirt.USDA")), Some(Format::Usda));
    assert_eq!(Format::from_path(Path::new("shirt.usdc")), Some(Format::Usda));
}

#[test]
fn colours_of_vertices_and_corners_are_read_and_written() {
    let with = |colours: &str| {
        LAYER.replace("        int[] primvars:st:indices", &format!("{colours}\n        int[] primvars:st:indices"))
    };
    let own = |values: &str, interpolation: &str| {
        with(&format!("color3f[] primvars:displayColor = {values} (\n interpolation = \"{interpolation}\"\n)"))
    };
    let five = "[(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0.5, 0.25, 1)]";
    let colours = read(own(five, "vertex")).unwrap().colours.unwrap();
    assert_eq!((colours.len(), colours[1], colours[4]), (5, DVec3::X, DVec3::new(0.5, 0.25, 1.0)));
    // Seven corners; vertices 1 and 2 have two each.
    let seven = "[(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, 0), (1, 1, 1), (0, 1, 0)]";
    let colours = read(own(seven, "faceVarying")).unwrap().colours.unwrap();
    assert_eq!((colours[1], colours[2], colours[4]), (DVec3::new(0.5, 0.0, 0.0), DVec3::Y, DVec3::ONE));
    let indexed = own("[(1, 0, 0), (0, 0, 1)]", "vertex").replace(
        "        int[] primvars:st:indices",
        "int[] primvars:displayColor:indices = [0, 1, 0, 1, 1]\n        int[] primvars:st:indices",
    );
    assert_eq!(read(indexed).unwrap().colours.unwrap()[4], DVec3::Z);
    // Of a whole mesh, too few, or over time: no colours of vertices, and the mesh is read as ever.
    for text in [
        own("[(1, 0, 0)]", "constant"),
        own("[(1, 0, 0)]", "vertex"),
        with("color3f[] primvars:displayColor.timeSamples = { 0: [(1, 0, 0)] }"),
    ] {
        assert_eq!(read(text).unwrap().colours, None);
    }
    let file = read(own(five, "vertex")).unwrap();
    let mut plain = MeshFile::new(file.mesh.clone(), None);
    plain.colours = file.colours.clone();
    let again = read(mesh::encode(Format::Usda, &plain)).unwrap();
    assert_eq!(again.colours, file.colours);
}
