//! The broad phase between two frames: from positions to the list of pairs, with the tree built and with it refitted.

use super::Outcome;
use serde_json::json;
use std::path::Path;
use std::time::Instant;
use unsnarl_benches::timing::measure;
use unsnarl_geometry::Topology;
use unsnarl_geometry::bvh::Bvh;
use unsnarl_geometry::ccd::{ElementPair, Motion, Ownership, SweptBoxes, candidates};
use unsnarl_io::mesh::{ReadOptions, read};

const ROUNDS: usize = 15;

/// Times listing all candidate pairs between two meshes.
pub fn run(from: &Path, to: &Path, threads: &str) -> Outcome<usize> {
    rayon::ThreadPoolBuilder::new().num_threads(threads.parse()?).build_global()?;
    let (start, end) = (read(from, &ReadOptions::default())?.mesh, read(to, &ReadOptions::default())?.mesh);
    if start.triangles != end.triangles || start.positions.len() != end.positions.len() {
        return Err(format!("{} and {} have other triangles", from.display(), to.display()).into());
    }
    let topology = Topology::new(start.positions.len(), &start.triangles)?;
    let ownership = Ownership::new(&topology);
    let motion = Motion { start: &start.positions, end: &end.positions };
    let list = |tree: &Bvh, boxes: &SweptBoxes| -> Vec<ElementPair> {
        candidates::for_candidates(tree, &topology, &ownership, boxes, |pair, out| out.push(pair))
    };
    let boxes = || SweptBoxes::new(&topology, motion, 0.0);
    let built = measure(ROUNDS, || {
        let boxes = boxes();
        list(&Bvh::build(boxes.triangles()), &boxes)
    });
    let built = built.best;
    let mut tree = Bvh::build(boxes().triangles());
    let refitted = measure(ROUNDS, || {
        let boxes = boxes();
        tree.refit(|triangle| boxes.triangles()[triangle]);
        list(&tree, &boxes)
    });
    let refitted = refitted.best;
    let pairs = list(&tree, &boxes());
    let clock = Instant::now();
    let contacts = pairs.iter().filter(|pair| pair.first_contact(&topology, motion, 0.0).is_some()).count();
    let narrow = clock.elapsed().as_secs_f64();
    println!(
        "{} pairs: {:.2} ms with building the tree, {:.2} ms refitted; {contacts} contacts found in {:.2} ms on one thread",
        pairs.len(),
        1e3 * built,
        1e3 * refitted,
        1e3 * narrow
    );
    println!(
        "{}",
        json!({ "schema": "unsnarl.bench.ccd/1", "pairs": pairs.len(), "built_seconds": built,
            "refitted_seconds": refitted, "contacts": contacts, "narrow_seconds": narrow })
    );
    Ok(0)
}
