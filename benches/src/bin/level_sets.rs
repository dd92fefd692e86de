//! Level sets beside OpenVDB: building from meshes, memory, queries, growth of memory, a sculpting stroke.
//!
//! Run by `benches/level_sets/run.sh`, which builds the peer. Both sides get the same mesh (in `f32`), the same voxel
//! size, a half width of three voxels and two threads, in turns; the best of the runs counts. Distance errors are
//! against brute force over all triangles at random samples of the band.

use rayon::prelude::*;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use unsnarl_geometry::{DVec3, TriMesh};
use unsnarl_volume::LevelSet;
use unsnarl_volume::level_set::{Beyond, MeshSettings, Stroke, Tool};

const USAGE: &str = "usage: level_sets [build] [growth] [stroke]   (all of them by default)";
const BODIES: [(&str, &str); 3] = [
    ("bunny", "quartet_isc/bunny_watertight.ply"),
    ("femur", "cgal_cc0/femur.off"),
    ("body", "character_cc0/body_rest.obj"),
];
const RUNS: usize = 3;
const QUERY_RUNS: usize = 7;
const THREADS: usize = 2;
const STROKE_COUNT: usize = 100;
const QUERY_COUNT: usize = 2_000_000;
const ERROR_SAMPLES: usize = 3_000;

fn main() {
    let parts: Vec<String> = std::env::args().skip(1).collect();
    if let [one, path, spacing] = parts.as_slice()
        && one == "one"
    {
        return build_once(path, spacing);
    }
    if parts.iter().any(|part| !["build", "growth", "stroke"].contains(&part.as_str())) {
        eprintln!("{USAGE}");
        std::process::exit(2);
    }
    let wants = |part: &str| parts.is_empty() || parts.iter().any(|p| p == part);
    rayon::ThreadPoolBuilder::new().num_threads(THREADS).build_global().expect("first use of the pool");
    if wants("build") {
        beside_openvdb();
    }
    if wants("growth") {
        memory_growth();
    }
    if wants("stroke") {
        stroke();
    }
}

/// A body, rounded to `f32` as the peer holds it; ends the bench with one line if the data is not there.
fn load(name: &str) -> TriMesh {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let places = [root.join("assets").join(name), root.join("../shared/data").join(name)];
    let path = places.iter().find(|path| path.exists()).unwrap_or(&places[0]);
    let read = unsnarl_io::mesh::read(path, &unsnarl_io::mesh::ReadOptions::default());
    match read {
        Ok(file) => {
            let mut mesh = file.mesh;
            mesh.positions.iter_mut().for_each(|p| *p = p.as_vec3().as_dvec3());
            mesh
        }
        Err(error) => {
            eprintln!("error: {error}");
            std::process::exit(2);
        }
    }
}

fn settings(mesh: &TriMesh, samples_across: u32) -> MeshSettings {
    MeshSettings { beyond: Beyond::Side, ..MeshSettings::with_resolution(mesh, samples_across) }
}

fn beside_openvdb() {
    println!("Mesh to narrow band (half width 3), best of {RUNS}, {THREADS} threads; queries with gradient, ns each");
    println!(
        "{:<6} {:>5} | {:>8} {:>8} {:>6} | {:>8} {:>8} {:>6} | {:>8} {:>8} | {:>9} | {:>7} {:>7} {:>6} | {:>7} {:>7} {:>6}",
        "mesh",
        "n",
        "ours s",
        "vdb s",
        "ratio",
        "ours MB",
        "vdb MB",
        "ratio",
        "peak MB",
        "vdb peak",
        "max error",
        "random",
        "vdb",
        "ratio",
        "coher.",
        "vdb",
        "ratio"
    );
    for (name, file) in BODIES {
        let mesh = load(file);
        for across in [512, 1024] {
            compare(name, &mesh, across);
        }
    }
}

fn compare(name: &str, mesh: &TriMesh, across: u32) {
    let settings = settings(mesh, across);
    let (random, coherent) = query_points(mesh, settings.spacing);
    let file = std::env::temp_dir().join(format!("unsnarl_level_sets_{}_{name}_{across}.bin", std::process::id()));
    write_peer_file(&file, mesh, &random, &coherent);
    let peer = run_peer(&file, settings.spacing);
    let (seconds, level_set) = best_build(mesh, &settings);
    let peak = peak_of_own_build(&file, settings.spacing);
    let random_ns = query_nanoseconds(&level_set, &random);
    let coherent_ns = query_nanoseconds(&level_set, &coherent);
    let error = largest_error(mesh, &level_set, ERROR_SAMPLES);
    let megabytes = level_set.memory_bytes() as f64 * 1e-6;
    let ns = |seconds: f64| seconds * 1e9 / QUERY_COUNT as f64;
    println!(
        "{name:<6} {across:>5} | {seconds:>8.3} {:>8.3} {:>6.2} | {megabytes:>8.1} {:>8.1} {:>6.2} | {peak:>8.1} {:>8.1} | {error:>9.5} | {random_ns:>7.1} {:>7.1} {:>6.2} | {coherent_ns:>7.1} {:>7.1} {:>6.2}",
        peer.build,
        peer.build / seconds,
        peer.bytes * 1e-6,
        megabytes / (peer.bytes * 1e-6),
        peer.peak_kilobytes * 1.024e-3,
        ns(peer.random),
        ns(peer.random) / random_ns,
        ns(peer.coherent),
        ns(peer.coherent) / coherent_ns,
    );
    let _ = std::fs::remove_file(&file);
}

fn best_build(mesh: &TriMesh, settings: &MeshSettings) -> (f64, LevelSet) {
    let mut best: Option<(f64, LevelSet)> = None;
    for _ in 0..RUNS {
        let start = Instant::now();
        let level_set = LevelSet::from_mesh(mesh, settings).expect("the shared bodies are usable");
        let seconds = start.elapsed().as_secs_f64();
        if best.as_ref().is_none_or(|(least, _)| seconds < *least) {
            best = Some((seconds, level_set));
        }
    }
    best.expect("at least one run")
}

fn query_nanoseconds(level_set: &LevelSet, points: &[DVec3]) -> f64 {
    let mut best = f64::INFINITY;
    let mut answers = vec![(0.0, DVec3::ZERO); points.len()];
    for _ in 0..QUERY_RUNS {
        let start = Instant::now();
        level_set.write_values_and_gradients(points, &mut answers);
        best = best.min(start.elapsed().as_secs_f64());
    }
    best * 1e9 / points.len() as f64
}

/// Points within two voxels of the surface, in random order and along a space-filling curve.
fn query_points(mesh: &TriMesh, spacing: f64) -> (Vec<DVec3>, Vec<DVec3>) {
    let mut random = Random(1);
    let mut areas = Vec::with_capacity(mesh.triangles.len());
    let mut total = 0.0;
    let corner = |vertex: u32| mesh.positions[vertex as usize];
    for t in &mesh.triangles {
        total += (corner(t[1]) - corner(t[0])).cross(corner(t[2]) - corner(t[0])).length();
        areas.push(total);
    }
    let mut point = || {
        let pick = random.next() * total;
        let t = mesh.triangles[areas.partition_point(|&sum| sum < pick).min(areas.len() - 1)];
        let (mut u, mut v) = (random.next(), random.next());
        if u + v > 1.0 {
            (u, v) = (1.0 - u, 1.0 - v);
        }
        let jitter = DVec3::new(random.next(), random.next(), random.next()) - DVec3::splat(0.5);
        corner(t[0]) + u * (corner(t[1]) - corner(t[0])) + v * (corner(t[2]) - corner(t[0])) + 2.0 * spacing * jitter
    };
    let points: Vec<DVec3> = (0..QUERY_COUNT).map(|_| point()).collect();
    let low = mesh.bounds().min - DVec3::splat(4.0 * spacing);
    let mut sorted = points.clone();
    sorted.sort_by_cached_key(|&p| {
        let at = (p - low) / spacing;
        [at.x, at.y, at.z].iter().enumerate().fold(0_u64, |code, (axis, &c)| code | spread(c as u64) << axis)
    });
    (points, sorted)
}

/// Puts two zero bits before each of the lowest 21 bits.
fn spread(value: u64) -> u64 {
    (0..21).fold(0, |code, bit| code | (value >> bit & 1) << (3 * bit))
}

fn largest_error(mesh: &TriMesh, level_set: &LevelSet, count: usize) -> f64 {
    let grid = level_set.grid();
    let volume = grid.width().volume();
    let mut random = Random(2);
    let mut numbers = Vec::with_capacity(count);
    while numbers.len() < count {
        let number = (random.next() * grid.samples().len() as f64) as usize;
        if grid.samples()[number].abs() < grid.background().outside {
            numbers.push(number);
        }
    }
    let error = |&number: &usize| {
        let block = grid.blocks()[number / volume];
        let local = grid.width().local(number % volume);
        let sample = [0, 1, 2].map(|axis| grid.width().first_sample(block[axis]) + local[axis] as i32);
        let point = level_set.frame().position(sample);
        let exact = mesh
            .triangles
            .iter()
            .map(|t| distance_squared(point, t.map(|vertex| mesh.positions[vertex as usize])))
            .fold(f64::INFINITY, f64::min)
            .sqrt();
        (f64::from(grid.samples()[number]).abs() - exact).abs() / level_set.frame().spacing
    };
    let errors: Vec<f64> = numbers.par_iter().map(error).collect();
    errors.into_iter().fold(0.0, f64::max)
}

/// By edges and foot of the perpendicular: another road than the library's.
fn distance_squared(point: DVec3, [a, b, c]: [DVec3; 3]) -> f64 {
    let segment = |from: DVec3, to: DVec3| {
        let squared = from.distance_squared(to);
        let along = if squared > 0.0 { ((point - from).dot(to - from) / squared).clamp(0.0, 1.0) } else { 0.0 };
        point.distance_squared(from.lerp(to, along))
    };
    let normal = (b - a).cross(c - a);
    let within = |p: DVec3, q: DVec3| (q - p).cross(point - p).dot(normal) > 0.0;
    if within(a, b) && within(b, c) && within(c, a) {
        return (point - a).dot(normal).powi(2) / normal.length_squared();
    }
    segment(a, b).min(segment(b, c)).min(segment(c, a))
}

fn memory_growth() {
    println!("\nMemory from 128 to 2048 voxels across (bunny)");
    let mesh = load(BODIES[0].1);
    let mut points = Vec::new();
    for across in [128_u32, 256, 512, 1024, 2048] {
        let level_set = LevelSet::from_mesh(&mesh, &settings(&mesh, across)).expect("the bunny is usable");
        let bytes = level_set.memory_bytes() as f64;
        println!("{across:>5} {:>10.2} MB {:>9} blocks", bytes * 1e-6, level_set.grid().blocks().len());
        points.push((f64::from(across).ln(), bytes.ln()));
    }
    let count = points.len() as f64;
    let mean = points.iter().fold((0.0, 0.0), |sum, p| (sum.0 + p.0 / count, sum.1 + p.1 / count));
    let slope = points.iter().map(|p| (p.0 - mean.0) * (p.1 - mean.1)).sum::<f64>()
        / points.iter().map(|p| (p.0 - mean.0).powi(2)).sum::<f64>();
    println!("memory grows as n^{slope:.3}");
}

/// Strokes of radius 20 voxels on a model 2,000 voxels across, against building the model.
fn stroke() {
    println!("\nA sculpting stroke of radius 20 voxels on the bunny at 2000 voxels across, distances restored");
    let mesh = load(BODIES[0].1);
    let settings = settings(&mesh, 2000);
    let (build, mut level_set) = best_build(&mesh, &settings);
    let mut milliseconds = Vec::new();
    for number in 0..STROKE_COUNT {
        let Some(center) = level_set.closest_point(mesh.positions[number * 12_961 % mesh.positions.len()]) else {
            continue;
        };
        let tool = if number % 2 == 0 { Tool::Raise } else { Tool::Lower };
        let radius = 20.0 * settings.spacing;
        let start = Instant::now();
        level_set.sculpt(&Stroke::new(tool, center, radius, settings.spacing)).expect("a stroke on the body");
        milliseconds.push(start.elapsed().as_secs_f64() * 1e3);
    }
    milliseconds.sort_by(f64::total_cmp);
    let median = milliseconds[milliseconds.len() / 2];
    println!(
        "build {:.0} ms; stroke: median {median:.2} ms, best {:.2} ms, worst {:.2} ms; build over median stroke {:.0}",
        build * 1e3,
        milliseconds[0],
        milliseconds[milliseconds.len() - 1],
        build * 1e3 / median
    );
    println!(
        "one frame at 60 Hz is 16.7 ms: {} of {} strokes fit",
        milliseconds.iter().filter(|ms| **ms < 16.7).count(),
        milliseconds.len()
    );
}

struct Peer {
    build: f64,
    bytes: f64,
    peak_kilobytes: f64,
    random: f64,
    coherent: f64,
}

fn run_peer(file: &Path, spacing: f64) -> Peer {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/openvdb_peer");
    let output =
        Command::new(program).arg(file).args([spacing.to_string(), RUNS.to_string(), THREADS.to_string()]).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let number = |place: usize| numbers.get(place).copied().unwrap_or(f64::NAN);
    Peer { build: number(0), bytes: number(1), peak_kilobytes: number(2), random: number(3), coherent: number(4) }
}

fn write_peer_file(path: &Path, mesh: &TriMesh, random: &[DVec3], coherent: &[DVec3]) {
    let mut bytes = Vec::new();
    for count in [mesh.positions.len(), mesh.triangles.len(), random.len()] {
        bytes.extend((count as u64).to_le_bytes());
    }
    mesh.positions.iter().flat_map(|p| p.as_vec3().to_array()).for_each(|c| bytes.extend(c.to_le_bytes()));
    mesh.triangles.iter().flatten().for_each(|v| bytes.extend(v.to_le_bytes()));
    random.iter().chain(coherent).flat_map(|p| p.to_array()).for_each(|c| bytes.extend(c.to_le_bytes()));
    std::fs::File::create(path)
        .and_then(|mut file| file.write_all(&bytes))
        .expect("the temporary folder can be written");
}

/// Builds in a process of its own, so that its peak is that of the build.
fn peak_of_own_build(file: &Path, spacing: f64) -> f64 {
    let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("level_sets"));
    let output = Command::new(program).arg("one").arg(file).arg(spacing.to_string()).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.trim().parse::<f64>().map_or(f64::NAN, |kilobytes| kilobytes * 1.024e-3)
}

fn build_once(path: &str, spacing: &str) {
    rayon::ThreadPoolBuilder::new().num_threads(THREADS).build_global().expect("first use of the pool");
    let bytes = std::fs::read(path).expect("the bench wrote this file");
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes")) as usize;
    let (vertex_count, triangle_count) = (word(0), word(8));
    let four = |at: usize| -> [u8; 4] { bytes[at..at + 4].try_into().expect("four bytes") };
    let coordinate = |i: usize| f64::from(f32::from_le_bytes(four(24 + 4 * i)));
    let positions = (0..vertex_count)
        .map(|v| DVec3::new(coordinate(3 * v), coordinate(3 * v + 1), coordinate(3 * v + 2)))
        .collect();
    let index = |i: usize| u32::from_le_bytes(four(24 + 12 * vertex_count + 4 * i));
    let triangles = (0..triangle_count).map(|t| [0, 1, 2].map(|i| index(3 * t + i))).collect();
    let mesh = TriMesh { positions, triangles };
    drop(bytes);
    let spacing = spacing.parse().expect("the bench wrote this number");
    let settings = MeshSettings { beyond: Beyond::Side, ..MeshSettings::with_spacing(spacing) };
    let level_set = LevelSet::from_mesh(&mesh, &settings).expect("the shared bodies are usable");
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")).and_then(|rest| rest.split_whitespace().next());
    println!("{}", peak.unwrap_or("nan"));
    drop(level_set);
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}
