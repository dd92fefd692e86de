//! Pair lists between two frames of a mesh: `boxes/Nvf.json` and `boxes/Nee.json` name pairs, `mma_bool` their truth,
//! `frames/N.ply` and `frames/N+1.ply` the motion. Ids are global: vertices, then edges (each once, sorted
//! by the larger vertex and then by the smaller), then faces.
//!
//! Also asks whether the broad phase lists every pair that is true.

use super::verdict::{Elements, Query, tally};
use super::{Outcome, say};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use unsnarl_geometry::ccd::{ElementPair, ElementTree, Motion, Ownership};
use unsnarl_geometry::{EdgeId, Topology, TriMesh, TriangleId, VertexId};
use unsnarl_io::mesh::{ReadOptions, read};

/// Runs all lists of some scenes; returns the number of misses, of the broad phase too.
pub fn run(scenes: &[&str]) -> Outcome<usize> {
    let mut rows = Vec::new();
    let mut misses = 0;
    for scene in scenes {
        for (list, frame, elements) in lists(Path::new(scene))? {
            let set = format!("{scene} {frame}");
            let (topology, start, end) = frames(Path::new(scene), frame)?;
            let pairs = pairs(&topology, &list, elements)?;
            let suffix = if elements == Elements::EdgeEdge { "ee" } else { "vf" };
            let truth = load(&Path::new(scene).join(format!("mma_bool/{frame}{suffix}_mma_bool.json")))?;
            let as_truth = |value: &Value| value.as_bool().ok_or_else(|| format!("{set}: {value} is no truth"));
            let truth: Vec<bool> = truth.iter().map(as_truth).collect::<Result<_, _>>()?;
            if truth.len() != pairs.len() {
                return Err(format!("{}: {} pairs, {} truths", list.display(), pairs.len(), truth.len()).into());
            }
            let motion = Motion { start: &start.positions, end: &end.positions };
            let queries: Vec<Query> = (pairs.iter().zip(&truth))
                .map(|(pair, &truth)| {
                    let (start, end) = motion.of(pair.vertices(&topology));
                    Query { start, end, truth }
                })
                .collect();
            let tally = tally(elements, &queries);
            tally.print(&set, elements);
            let listed = broad_phase(&topology, motion);
            let lost = pairs.iter().zip(&truth).filter(|(pair, truth)| **truth && !listed.contains(pair)).count();
            say(format!("{set} {}: broad phase lists {} pairs, loses {lost}", elements.name(), listed.len()));
            misses += tally.misses + lost;
            rows.push(tally.json(&set, elements));
        }
    }
    say(json!({ "schema": "unsnarl.bench.ccd/1", "sets": rows }));
    Ok(misses)
}

/// The lists of a scene, with the number of their frame.
fn lists(scene: &Path) -> Outcome<Vec<(PathBuf, u32, Elements)>> {
    let folder = scene.join("boxes");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))? {
        let path = entry?.path();
        let Some(stem) = path.file_stem().and_then(|stem| stem.to_str()) else { continue };
        for (suffix, elements) in [("vf", Elements::VertexTriangle), ("ee", Elements::EdgeEdge)] {
            if let Some(frame) = stem.strip_suffix(suffix).and_then(|frame| frame.parse().ok()) {
                found.push((path.clone(), frame, elements));
            }
        }
    }
    if found.is_empty() {
        return Err(format!("{}: no list such as 12vf.json or 12ee.json", folder.display()).into());
    }
    found.sort_by_key(|(path, frame, _)| (*frame, path.clone()));
    Ok(found)
}

fn frames(scene: &Path, frame: u32) -> Outcome<(Topology, TriMesh, TriMesh)> {
    let load = |frame: u32| read(&scene.join(format!("frames/{frame}.ply")), &ReadOptions::default());
    let next = frame.saturating_add(1);
    let (start, end) = (load(frame)?.mesh, load(next)?.mesh);
    if start.triangles != end.triangles || start.positions.len() != end.positions.len() {
        return Err(format!("{}: frames {frame} and {next} are different meshes", scene.display()).into());
    }
    Ok((Topology::new(start.positions.len(), &start.triangles)?, start, end))
}

fn load(path: &Path) -> Outcome<Vec<Value>> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?)
}

fn pairs(topology: &Topology, list: &Path, elements: Elements) -> Outcome<Vec<ElementPair>> {
    let ids = load(list)?;
    let (vertices, edges) = (topology.vertex_count(), topology.edge_count());
    let mut edge_order: Vec<EdgeId> = (0..edges).map(EdgeId::new).collect();
    edge_order.sort_unstable_by_key(|&edge| (topology.edge(edge)[1], topology.edge(edge)[0]));
    let bad = |pair: &Value| format!("{}: {pair} is not the ids of a {} pair", list.display(), elements.name());
    ids.iter()
        .map(|pair| {
            let id = |side: usize| pair[side].as_u64().map(|id| id as usize).ok_or_else(|| bad(pair));
            let (first, second) = (id(0)?, id(1)?);
            let (a, b) = (first.min(second), first.max(second));
            let face = b.checked_sub(vertices + edges).filter(|&face| face < topology.triangle_count());
            let is_edge = |id: usize| (vertices..vertices + edges).contains(&id);
            match (elements, face) {
                (Elements::VertexTriangle, Some(face)) if a < vertices => {
                    Ok(ElementPair::VertexTriangle(VertexId::new(a), TriangleId::new(face)))
                }
                (Elements::EdgeEdge, None) if is_edge(a) && is_edge(b) => {
                    let (first, second) = (edge_order[a - vertices], edge_order[b - vertices]);
                    Ok(ElementPair::EdgeEdge(first.min(second), first.max(second)))
                }
                _ => Err(bad(pair).into()),
            }
        })
        .collect()
}

fn broad_phase(topology: &Topology, motion: Motion) -> BTreeSet<ElementPair> {
    ElementTree::build(topology, &Ownership::new(topology), motion, 0.0)
        .candidates(|pair, out| out.push(pair))
        .into_iter()
        .collect()
}
