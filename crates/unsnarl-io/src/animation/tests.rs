use super::body::BodyMotion;
use super::output::Output;
use super::sequence::{Pattern, find};
use super::*;

const FRAME: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 4 3\n";

fn options(mesh: Option<PathBuf>) -> OpenOptions {
    OpenOptions { read: ReadOptions::default(), mesh, frame_rate: 24.0 }
}

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn refusal(path: &Path, options: &OpenOptions) -> String {
    Animation::open(path, options).unwrap_err().to_string()
}

/// A point cache of two frames.
fn points(count: i32, frames: i32, values: usize) -> Vec<u8> {
    let mut bytes = b"POINTCACHE2\0".to_vec();
    bytes.extend(1_i32.to_le_bytes());
    bytes.extend(count.to_le_bytes());
    bytes.extend(0_f32.to_le_bytes());
    bytes.extend(1_f32.to_le_bytes());
    bytes.extend(frames.to_le_bytes());
    (0..values).for_each(|value| bytes.extend((value as f32 * 0.1).to_le_bytes()));
    bytes
}

#[test]
fn names_with_a_place_for_a_number_are_patterns() {
    for (name, number, expected) in [
        ("walk_####.obj", 7, "walk_0007.obj"),
        ("a#.ply", 123, "a123.ply"),
        ("w_{}.obj", 5, "w_5.obj"),
        ("*.obj", 9, "9.obj"),
    ] {
        assert_eq!(Pattern::of(name).unwrap().name(number), expected);
    }
    assert_eq!(Pattern::of("walk_0001.obj"), None);
    assert!(Pattern::of("é##.obj").is_some());
}

#[test]
fn frames_come_in_the_order_of_their_numbers_and_a_missing_one_is_named() {
    let folder = folder(&[("w_9.obj", FRAME), ("w_10.obj", FRAME), ("w_11.obj", FRAME), ("other.obj", FRAME)]);
    for path in [folder.path().join("w_*.obj"), folder.path().to_path_buf()] {
        let numbers: Vec<u32> = find(&path).unwrap().files.iter().map(|file| file.0).collect();
        assert_eq!(numbers, [9, 10, 11]);
    }
    std::fs::write(folder.path().join("w_13.obj"), FRAME).unwrap();
    let line = refusal(folder.path(), &options(None));
    assert!(line.contains("frame 12 is missing between") && line.contains("w_11.obj"), "{line}");
    let none = refusal(&folder.path().join("x_##.obj"), &options(None));
    assert!(none.contains("no file has such a name"), "{none}");
}

#[test]
fn a_frame_with_other_triangles_is_named() {
    let (few, others) = (FRAME.replace("f 2 4 3\n", ""), FRAME.replace("f 2 4 3", "f 2 3 4"));
    for (frame, words) in [(few, "1 triangles, but"), (others, "other triangles than")] {
        let folder = folder(&[("w_1.obj", FRAME), ("w_2.obj", &frame), ("w_3.obj", FRAME)]);
        let line = refusal(folder.path(), &options(None));
        assert!(line.contains("w_2.obj") && line.contains(words), "{line}");
    }
}

#[test]
fn a_point_cache_that_does_not_fit_is_refused_before_it_is_read() {
    let folder = folder(&[("m.obj", FRAME)]);
    let path = folder.path().join("c.pc2");
    let with_mesh = options(Some(folder.path().join("m.obj")));
    let rows = [
        (points(4, 2, 24), ""),
        (points(4, 2, 23), "cut short"),
        (points(5, 2, 30), "5 points in a frame"),
        (points(i32::MAX, i32::MAX, 3), "cut short"),
        (points(-1, 2, 3), "expected numbers above 0"),
        (b"POINTCACHE2\0".to_vec(), "a header of 32"),
        (vec![b'x'; 64], "not a point cache"),
    ];
    for (bytes, words) in rows {
        std::fs::write(&path, bytes).unwrap();
        match Animation::open(&path, &with_mesh) {
            Ok(animation) => assert_eq!((words, animation.frames.len()), ("", 2)),
            Err(error) => assert!(!words.is_empty() && error.to_string().contains(words), "{error}"),
        }
    }
    assert!(refusal(&path, &options(None)).contains("give its mesh with --mesh"));
}

#[test]
fn a_point_cache_comes_back_byte_for_byte() {
    let folder = folder(&[("m.obj", FRAME)]);
    let (path, target) = (folder.path().join("c.pc2"), folder.path().join("d.pc2"));
    std::fs::write(&path, points(4, 2, 24)).unwrap();
    let animation = Animation::open(&path, &options(Some(folder.path().join("m.obj")))).unwrap();
    let output = Output::plan(&animation, &target).unwrap();
    output.finish(&animation, &|at| animation.positions(at)).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), std::fs::read(&target).unwrap());
    assert!(Output::plan(&animation, &folder.path().join("d.obj")).is_err());
}

#[test]
fn time_samples_are_written_so_that_they_read_back() {
    let usd = "#usda 1.0\n(\n    upAxis = \"Z\"\n    timeCodesPerSecond = 30\n    metersPerUnit = 0.01\n)\ndef Mesh \"m\"\n{\n    int[] faceVertexCounts = [3]\n    \
               int[] faceVertexIndices = [0, 1, 2]\n    point3f[] points.timeSamples = {\n        3: [(0, 0, 0), (1, 0, 0), (0, 1, 0.1)],\n        \
               4: [(0, 0, 1), (1, 0, 1), (0, 1, 1.3)],\n    }\n}\n";
    let folder = folder(&[("a.usda", usd)]);
    let (path, target) = (folder.path().join("a.usda"), folder.path().join("b.usda"));
    assert!(Animation::is_one(&path, &ReadOptions::default()));
    let animation = Animation::open(&path, &options(None)).unwrap();
    let output = Output::plan(&animation, &target).unwrap();
    output.finish(&animation, &|at| animation.positions(at)).unwrap();
    let again = Animation::open(&target, &options(None)).unwrap();
    assert_eq!(again.frames, animation.frames);
    for at in 0..2 {
        let files = animation.files(at).unwrap();
        let positions = animation.positions(at).unwrap();
        assert_eq!(output.stored(at, &files, &positions), again.positions(at).unwrap());
    }
    let body = BodyMotion::open(&path, None, &options(None)).unwrap();
    let half = body.positions(0, 0.5 / 30.0).unwrap();
    let mean = 0.5 * (animation.positions(0).unwrap()[2] + animation.positions(1).unwrap()[2]);
    assert!((half[2] - mean).length() < 1e-15);
}

#[test]
fn frames_of_the_input_are_not_written_over() {
    let folder = folder(&[("w_1.obj", FRAME), ("w_2.obj", FRAME)]);
    let animation = Animation::open(folder.path(), &options(None)).unwrap();
    for target in ["w_#.obj", "."] {
        let line = Output::plan(&animation, &folder.path().join(target)).unwrap_err().to_string();
        assert!(line.contains("would be written over"), "{line}");
    }
    let one = Output::plan(&animation, &folder.path().join("out.obj")).unwrap_err().to_string();
    assert!(one.contains("one file for many frames"), "{one}");
    assert!(Output::plan(&animation, &folder.path().join("out_##.obj")).is_ok());
}
