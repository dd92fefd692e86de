//! The broad phase between two frames: from positions to the list of pairs, with the tree built and with it refitted.

use super::{Outcome, number, say};
use serde_json::json;
use std::path::Path;
use std::time::Instant;
use unsnarl_benches::timing::measure;
use unsnarl_geometry::Topology;
use unsnarl_geometry::bvh::Groups;
use unsnarl_geometry::ccd::{ElementPair, ElementTree, Motion, Ownership};
use unsnarl_io::mesh::{ReadOptions, read};

const ROUNDS: usize = 15;

/// Times listing all candidate pairs between two meshes.
pub fn run(from: &Path, to: &Path, threads: &str) -> Outcome<usize> {
    rayon::ThreadPoolBuilder::new().num_threads(number("THREADS", threads)?).build_global()?;
    let (start, end) = (read(from, &ReadOptions::default())?.mesh, read(to, &ReadOptions::default())?.mesh);
    if start.triangles != end.triangles || start.positions.len() != end.positions.len() {
        return Err(format!("{} and {} have other triangles", from.display(), to.display()).into());
    }
    let topology = Topology::new(start.positions.len(), &start.triangles)?;
    let ownership = Ownership::new(&topology);
    let motion = Motion { start: &start.positions, end: &end.positions };
    let list = |tree: &ElementTree| -> Vec<Vec<ElementPair>> {
        tree.candidate_lists(&Groups::default(), |pair, out| out.push(pair))
    };
    let built = measure(ROUNDS, || list(&ElementTree::build(&topology, &ownership, motion, 0.0))).best;
    let mut tree = ElementTree::build(&topology, &ownership, motion, 0.0);
    let refitted = measure(ROUNDS, || {
        tree.refit(motion, 0.0);
        list(&tree)
    });
    let refitted = refitted.best;
    let pairs: Vec<ElementPair> = list(&tree).concat();
    let clock = Instant::now();
    let contacts = pairs.iter().filter(|pair| pair.first_contact(&topology, motion, 0.0).is_some()).count();
    let narrow = clock.elapsed().as_secs_f64();
    say(format!(
        "{} pairs: {:.2} ms with building the tree, {:.2} ms refitted; {contacts} contacts found in {:.2} ms on one thread",
        pairs.len(),
        1e3 * built,
        1e3 * refitted,
        1e3 * narrow
    ));
    say(json!({ "schema": "unsnarl.bench.ccd/1", "pairs": pairs.len(), "built_seconds": built,
            "refitted_seconds": refitted, "contacts": contacts, "narrow_seconds": narrow }));
    Ok(0)
}
