//! What refinement is measured by beside the command itself: plain subdivision as control, adversarial cases,
//! curvature of the two schemes, and the picture of the docs. `benches/refine` calls it.
//!
//!     refine control CACHE LEVELS [EVERY]      frames in which plain subdivision intersects
//!     refine adversarial LEVELS                stacks, folds, a rope and clean samples
//!     refine curvature                         Gaussian curvature at saddles of valence 3 to 12
//!     refine inelastic CACHE FRAME             the stop rule beside collision impulses at the first level
//!     refine levels CACHE FRAME LEVELS [SEP]   stopped vertices and their distance to the target, level by level
//!     refine ratios CACHE LEVELS [EVERY]       how displacements of plain subdivision fall, all and along normals
//!     refine picture CACHE FRAME OUT.png       before, after one and after three levels

use std::path::Path;
use std::time::Instant;
use unsnarl::analysis::{self, Assembly, PartKind, Workspace};
use unsnarl::contact::{self, ContactScene, ContactSettings, ObstacleMesh, OrdinaryRules, Proposal};
use unsnarl::model::{Cloth, Model};
use unsnarl::output::{Collisions, Depth, Ladder, LevelReport, RefineSettings, refine, refine_once};
use unsnarl::samples::{self, Cut, Recipe};
use unsnarl_geometry::ccd::Motion;
use unsnarl_geometry::subdivision::limit::normals;
use unsnarl_geometry::subdivision::{Scheme, Smoothing};
use unsnarl_geometry::{Aabb, DVec3, Topology, TriMesh, TriangleId, VertexId};
use unsnarl_io::cache::Cache;
use unsnarl_io::picture::{Colour, MeshStyle, Paint, Picture, View, Wireframe};

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["control", cache, levels] => control(Path::new(cache), levels.parse()?, 1),
        ["control", cache, levels, every] => control(Path::new(cache), levels.parse()?, every.parse()?),
        ["adversarial", levels] => adversarial(levels.parse()?),
        ["curvature"] => curvature(),
        ["inelastic", cache, frame] => inelastic(Path::new(cache), frame.parse()?),
        ["levels", cache, frame, levels] => by_level(Path::new(cache), frame.parse()?, levels.parse()?, 1e-6),
        ["levels", cache, frame, levels, separation] => {
            by_level(Path::new(cache), frame.parse()?, levels.parse()?, separation.parse()?)
        }
        ["ratios", cache, levels, every] => ratios(Path::new(cache), levels.parse()?, every.parse()?),
        ["picture", cache, frame, target] => picture(Path::new(cache), frame.parse()?, Path::new(target)),
        _ => {
            Err("expected control, adversarial, curvature, inelastic, levels, ratios or picture; see the head of the source"
                .into())
        }
    }
}

fn plain() -> RefineSettings {
    RefineSettings { collisions: Collisions::Ignore, ..RefineSettings::default() }
}

/// Cloth and bodies of a cache.
fn assembly_of(cache: &Cache) -> Result<Assembly, Failure> {
    let mesh = cache.mesh()?;
    let pieces = cache.pieces(&mesh)?;
    let bodies = cache.body_triangles()?;
    let cloth =
        pieces.iter().map(|piece| (piece.name.clone(), PartKind::Cloth, piece.vertex_count, &piece.triangles[..]));
    let count = if bodies.is_empty() { 0 } else { cache.read_bodies(cache.info.first_frame)?.len() };
    let solid = (!bodies.is_empty()).then(|| ("bodies".to_owned(), PartKind::Body, count, &bodies[..]));
    Ok(Assembly::new(cloth.chain(solid))?)
}

fn positions_of(cache: &Cache, frame: u32) -> Result<Vec<DVec3>, Failure> {
    let (_, mut positions) = cache.read_positions(frame)?;
    if !cache.body_triangles()?.is_empty() {
        positions.extend(cache.read_bodies(frame)?);
    }
    Ok(positions)
}

fn control(folder: &Path, levels: u32, every: usize) -> Result<(), Failure> {
    let cache = Cache::open(folder)?;
    let ladder = Ladder::build(assembly_of(&cache)?, &[], levels)?;
    let (mut frames, mut crossing, mut pairs) = (0, 0, 0);
    for frame in (cache.info.first_frame..=cache.last_frame().ok_or("no frame")?).step_by(every) {
        let refined = refine(&ladder, &positions_of(&cache, frame)?, &plain(), &mut |_, _, _| {})?;
        let own = analysis::verdict(ladder.finest(), &refined.positions, &mut Workspace::default()).pairs.len();
        frames += 1;
        crossing += u32::from(own > 0);
        pairs += own;
    }
    println!("{{\"frames\": {frames}, \"crossing_frames\": {crossing}, \"pairs\": {pairs}}}");
    Ok(())
}

/// A grid over the unit square, mapped; with `alternating` every other cell is cut along its other diagonal.
fn sheet(count: u32, alternating: u32, map: impl Fn(f64, f64) -> DVec3) -> TriMesh {
    let row = count + 1;
    let at = |k: u32| map(f64::from(k % row) / f64::from(count), f64::from(k / row) / f64::from(count));
    let cell = |k: u32| {
        let a = k / count * row + k % count;
        let [a, b, c, d] = [a, a + 1, a + row + 1, a + row];
        if alternating * (k / count + k % count) % 2 == 1 { [[a, b, c], [a, c, d]] } else { [[a, b, d], [b, c, d]] }
    };
    TriMesh { positions: (0..row * row).map(at).collect(), triangles: (0..count * count).flat_map(cell).collect() }
}

fn adversarial(levels: u32) -> Result<(), Failure> {
    let mut cases: Vec<(String, Vec<TriMesh>)> = Vec::new();
    for gap in [1e-6, 1e-5, 1e-4] {
        let pleat = |u: f64| 0.08 * (4.0 * u - (4.0 * u).floor() - 0.5).abs();
        let layer = |layer: u32| sheet(8, layer % 2, move |u, v| DVec3::new(u, pleat(u) + gap * f64::from(layer), v));
        cases.push((format!("stack of 5, gap {gap:e}"), (0..5).map(layer).collect()));
    }
    for gap in [1e-6, 1e-5] {
        let fold = move |u: f64, v: f64| {
            let lift = if u < 0.5 { 0.0 } else { gap * (1.0 + 4.0 * (u - 0.5)) };
            DVec3::new(if u < 0.5 { u } else { 1.0 - u }, lift, v)
        };
        cases.push((format!("flat fold, gap {gap:e}"), vec![sheet(12, 0, fold)]));
    }
    let rope = |u: f64, v: f64| {
        let (turn, radius) = (6.0 * v * std::f64::consts::TAU, 0.02 * (u - 0.5));
        DVec3::new(radius * turn.cos(), 0.3 * v, radius * turn.sin())
    };
    cases.push(("twisted rope, six turns".to_owned(), vec![sheet(16, 1, rope)]));
    for name in ["spiral-roll", "hanky", "tshirt", "skirt"] {
        let Some(case) = samples::find(name) else { continue };
        let mesh = case.make(&Recipe { resolution: 16, cut: Cut::Irregular, seed: 5 }).mesh;
        cases.push((format!("sample {name}"), vec![mesh]));
    }
    for (name, meshes) in cases {
        let parts =
            meshes.iter().map(|mesh| (name.clone(), PartKind::Cloth, mesh.positions.len(), &mesh.triangles[..]));
        let assembly = Assembly::new(parts)?;
        let positions: Vec<DVec3> = meshes.iter().flat_map(|mesh| mesh.positions.iter().copied()).collect();
        let ladder = Ladder::build(assembly, &[], levels)?;
        let mut stops = Vec::new();
        let mut hear = |level: LevelReport, _: &Assembly, _: &[DVec3]| stops.push(level.stopped_by_cloth);
        let Ok(refined) = refine(&ladder, &positions, &RefineSettings::default(), &mut hear) else {
            println!("{{\"case\": \"{name}\", \"skipped\": \"not clean before\"}}");
            continue;
        };
        let count =
            |positions: &[DVec3]| analysis::verdict(ladder.finest(), positions, &mut Workspace::default()).pairs.len();
        let ours = count(&refined.positions);
        let control = count(&refine(&ladder, &positions, &plain(), &mut |_, _, _| {})?.positions);
        println!("{{\"case\": \"{name}\", \"pairs\": {ours}, \"plain_pairs\": {control}, \"stopped\": {stops:?}}}");
    }
    Ok(())
}

/// Largest Gaussian curvature by angle deficit within two rings of a vertex, where the surface began as a saddle.
fn curvature() -> Result<(), Failure> {
    for valence in 3..=12_u32 {
        let mut row = Vec::new();
        for scheme in [Scheme::Loop, Scheme::BoundedCurvature] {
            for levels in [3, 6] {
                let mesh = saddle(valence);
                let ladder = Ladder::build(Assembly::of_cloth("saddle", &mesh)?, &[], levels)?;
                let smoothing = Smoothing { scheme, ..Smoothing::default() };
                let settings = RefineSettings { smoothing, ..plain() };
                let refined = refine(&ladder, &mesh.positions, &settings, &mut |_, _, _| {})?;
                row.push(largest_curvature(ladder.finest().topology(), &refined.positions));
            }
        }
        println!(
            "{{\"valence\": {valence}, \"loop\": [{:.4}, {:.4}], \"bounded\": [{:.4}, {:.4}]}}",
            row[0], row[1], row[2], row[3]
        );
    }
    Ok(())
}

/// Three rings around a vertex, bent to a saddle.
fn saddle(valence: u32) -> TriMesh {
    let mut positions = vec![DVec3::ZERO];
    for ring in 1..=3 {
        for k in 0..valence {
            let turn = std::f64::consts::TAU * f64::from(k) / f64::from(valence);
            let (x, y) = (f64::from(ring) * turn.cos(), f64::from(ring) * turn.sin());
            positions.push(DVec3::new(x, y, 0.2 * (x * x - y * y)));
        }
    }
    let mut triangles: Vec<[u32; 3]> = (0..valence).map(|k| [0, 1 + k, 1 + (k + 1) % valence]).collect();
    for ring in 0..2 {
        let (inner, outer) = (1 + ring * valence, 1 + (ring + 1) * valence);
        for k in 0..valence {
            let next = (k + 1) % valence;
            triangles.extend([[inner + k, outer + k, inner + next], [inner + next, outer + k, outer + next]]);
        }
    }
    TriMesh { positions, triangles }
}

fn largest_curvature(topology: &Topology, positions: &[DVec3]) -> f64 {
    let mut near: Vec<VertexId> = vec![VertexId(0)];
    for _ in 0..2 {
        near = near.iter().flat_map(|&vertex| topology.ring(vertex)).chain(near.iter().copied()).collect();
        near.sort_unstable();
        near.dedup();
    }
    let curvature = |&vertex: &VertexId| {
        let (mut deficit, mut area) = (std::f64::consts::TAU, 0.0);
        for &triangle in topology.vertex_triangles(vertex) {
            let corners = topology.triangle(triangle);
            let at = corners.iter().position(|&corner| corner == vertex).unwrap_or(0);
            let [a, b, c] = [0, 1, 2].map(|k| positions[corners[(at + k) % 3].index()]);
            deficit -= (b - a).angle_between(c - a);
            area += (b - a).cross(c - a).length() / 6.0;
        }
        (deficit / area).abs()
    };
    near.iter().map(curvature).fold(0.0, f64::max)
}

fn by_level(folder: &Path, frame: u32, levels: u32, separation: f64) -> Result<(), Failure> {
    let cache = Cache::open(folder)?;
    let settings = RefineSettings { separation, ..RefineSettings::default() };
    let mut hear = |level: LevelReport, _: &Assembly, _: &[DVec3]| {
        let (far, off) = (level.distance_to_smooth, level.stopped_by_cloth + level.stopped_by_bodies + level.eased);
        let stopped = level.stopped_by_cloth + level.stopped_by_bodies;
        println!(
            "{{\"level\": {}, \"stopped\": {stopped}, \"of\": {}, \"eased\": {}, \"mean_of_both\": {:e}, \"max\": {:e}, \"rounds\": {}}}",
            level.level,
            level.vertices,
            level.eased,
            far.mean * level.vertices as f64 / off.max(1) as f64,
            far.max,
            level.rounds
        );
    };
    let (assembly, positions) = (assembly_of(&cache)?, positions_of(&cache, frame)?);
    let depth = Depth::Levels(levels);
    let (refined, finest) = refine_once(assembly, &[], &positions, depth, &settings, &mut hear)?;
    let pairs = analysis::verdict(&finest.assembly, &refined.positions, &mut Workspace::default()).pairs.len();
    println!("{{\"pairs\": {pairs}}}");
    Ok(())
}

/// Mean displacement of a level against the level before, over some frames: the whole of it, and the part along the
/// normals. The rest is vertices that slide in the surface, which they do where valences differ, flat cloth included.
fn ratios(folder: &Path, levels: u32, every: usize) -> Result<(), Failure> {
    let cache = Cache::open(folder)?;
    let ladder = Ladder::build(assembly_of(&cache)?, &[], levels)?;
    let mut ranges = vec![[[f64::INFINITY, 0.0_f64]; 2]; levels as usize - 1];
    for frame in (cache.info.first_frame..=cache.last_frame().ok_or("no frame")?).step_by(every) {
        let mut positions = positions_of(&cache, frame)?;
        let mut last: Option<[f64; 2]> = None;
        for level in 0..levels as usize {
            let (coarse, split) = (ladder.topology(level), ladder.split(level));
            let start = split.midpoints(coarse, &positions);
            positions = split.targets(coarse, &positions, &[], Smoothing::default());
            let normals = normals(ladder.topology(level + 1), &positions, &[]);
            let mut sums = [0.0; 2];
            for vertex in 0..split.split_vertex_count() {
                let way = positions[vertex] - start[vertex];
                sums[0] += way.length();
                sums[1] += way.dot(normals[vertex]).abs();
            }
            let means = sums.map(|sum| sum / split.split_vertex_count() as f64);
            if let Some(last) = last {
                // Flat cloth has no displacement along its normals, but for rounding.
                for part in (0..2).filter(|&part| last[part] > 1e-9) {
                    let (range, ratio) = (&mut ranges[level - 1][part], means[part] / last[part]);
                    *range = [range[0].min(ratio), range[1].max(ratio)];
                }
            }
            last = Some(means);
        }
    }
    for (level, [all, along]) in ranges.iter().enumerate() {
        println!("{{\"level\": {}, \"all\": {all:?}, \"along_normals\": {along:?}}}", level + 2);
    }
    Ok(())
}

/// The first level by the stop rule and by the engine's own contact (inelastic impulses, impact zones, last resort;
/// equal masses, no friction, no repulsion): how far vertices that do not reach their target end from it.
fn inelastic(folder: &Path, frame: u32) -> Result<(), Failure> {
    let cache = Cache::open(folder)?;
    let (assembly, positions) = (assembly_of(&cache)?, positions_of(&cache, frame)?);
    let ladder = Ladder::build(assembly, &[], 1)?;
    let (coarse, split) = (ladder.topology(0), ladder.split(0));
    let (start, targets) =
        (split.midpoints(coarse, &positions), split.targets(coarse, &positions, &[], Smoothing::default()));
    let count = split.split_vertex_count();
    let begun = Instant::now();
    let ours = refine(&ladder, &positions, &RefineSettings::default(), &mut |_, _, _| {})?.positions;
    let our_seconds = begun.elapsed().as_secs_f64();
    let fine = ladder.finest();
    let of_cloth =
        |triangle: &usize| fine.parts()[fine.part_of_triangle(TriangleId::new(*triangle))].kind == PartKind::Cloth;
    let cloth_triangles = (0..fine.topology().triangle_count()).take_while(of_cloth).count();
    let triangles = fine.topology().own_triangles(0..cloth_triangles, 0);
    let mut cloth = Cloth::new("cloth", TriMesh { positions: start[..count].to_vec(), triangles });
    (cloth.fabric.thickness, cloth.fabric.friction) = (0.0, 0.0);
    let (mut model, _) = Model::build(&[cloth])?;
    model.masses.fill(1.0);
    let body_triangles = fine.topology().own_triangles(cloth_triangles..fine.topology().triangle_count(), count);
    let body = ObstacleMesh {
        mesh: TriMesh { positions: start[count..].to_vec(), triangles: body_triangles },
        thickness: 0.0,
        friction: 0.0,
    };
    let scene =
        ContactScene::new(&model, if body.mesh.triangles.is_empty() { &[] } else { std::slice::from_ref(&body) })?;
    let proposal = Proposal {
        cloth: Motion { start: &start[..count], end: &targets[..count] },
        obstacles: Motion::at_rest(&start[count..]),
        step: 1.0,
        held: &[],
        rules: &OrdinaryRules,
    };
    let settings = ContactSettings { repulsion_passes: 0, ..ContactSettings::default() };
    let begun = Instant::now();
    let theirs = scene.resolve(&proposal, &settings, &mut contact::Workspace::default()).positions;
    for (name, end, seconds) in
        [("stop rule", &ours[..count], our_seconds), ("impulses", &theirs[..], begun.elapsed().as_secs_f64())]
    {
        let far: Vec<f64> = end.iter().zip(&targets).map(|(a, b)| a.distance(*b)).filter(|&far| far > 1e-12).collect();
        let all = [end, &start[count..]].concat();
        let pairs = analysis::verdict(fine, &all, &mut Workspace::default()).pairs.len();
        println!(
            "{{\"rule\": \"{name}\", \"affected\": {}, \"mean\": {:e}, \"max\": {:e}, \"pairs\": {pairs}, \"seconds\": {seconds:.3}}}",
            far.len(),
            far.iter().sum::<f64>() / far.len().max(1) as f64,
            far.iter().copied().fold(0.0, f64::max)
        );
    }
    Ok(())
}

fn picture(folder: &Path, frame: u32, target: &Path) -> Result<(), Failure> {
    let cache = Cache::open(folder)?;
    let positions = positions_of(&cache, frame)?;
    let assembly = assembly_of(&cache)?;
    let mut picture = Picture::new(1500, 900);
    picture.title(&format!("{}, frame {frame}: as simulated, after 1 and after 3 levels", cache.info.title));
    let cloth_end = assembly.parts().iter().filter(|part| part.kind == PartKind::Cloth).map(|part| part.vertices.end);
    let bounds = Aabb::of_points(positions[..cloth_end.max().unwrap_or(0)].iter().copied());
    for (column, levels) in [0, 1, 3].into_iter().enumerate() {
        let ladder = Ladder::build(assembly.clone(), &[], levels)?;
        let refined = refine(&ladder, &positions, &RefineSettings::default(), &mut |_, _, _| {})?;
        let view = View::framing(bounds, DVec3::new(0.4, 0.35, 1.0), picture.area().column(column, 3));
        for part in ladder.finest().parts() {
            let triangles = ladder.finest().topology().own_triangles(part.triangles.clone(), 0);
            let paint = match part.kind {
                PartKind::Cloth => MeshStyle::CLOTH.paint,
                PartKind::Body => Paint::TwoSided { front: Colour::BODY, back: Colour::BODY },
            };
            picture.draw_mesh(&view, &refined.positions, &triangles, &MeshStyle { paint, wireframe: Wireframe::Off });
        }
    }
    std::fs::write(target, picture.encode_png())?;
    Ok(())
}
