//! Random and adversarial queries against exact arithmetic.
//!
//! Families: loose motion; small integer lattices full of coplanarities; motion within one plane; ends that touch up to
//! rounding; points that graze an edge or a corner; slivers; coordinates of 1e-12 and 1e9 together; far from the origin.

use super::{Outcome, number, say};
use rayon::prelude::*;
use serde_json::json;
use std::time::Instant;
use unsnarl::samples::random::Random;
use unsnarl_geometry::{DVec3, ccd};

const FAMILIES: [&str; 8] = ["loose", "lattice", "flat", "touching", "grazing", "sliver", "scales", "far"];
const BLOCK: usize = 10_000;

/// Compares `count` queries; returns the number of misses.
pub fn run(count: &str, seed: &str) -> Outcome<usize> {
    let (count, seed): (usize, u64) = (number("COUNT", count)?, number("SEED", seed)?);
    let clock = Instant::now();
    let blocks: Vec<[[usize; 3]; 8]> = (0..count.div_ceil(BLOCK))
        .into_par_iter()
        .map(|block| {
            let mut random = Random::new(seed.wrapping_mul(1_000_003).wrapping_add(block as u64));
            let mut rows = [[0usize; 3]; 8];
            for query in 0..BLOCK.min(count - block * BLOCK) {
                let family = query % FAMILIES.len();
                let (start, end) = motion(family, &mut random);
                let (answer, truth) = if (query / FAMILIES.len()).is_multiple_of(2) {
                    (ccd::vertex_triangle(start, end, 0.0), ccd::exact::vertex_triangle(&start, &end))
                } else {
                    (ccd::edge_edge(start, end, 0.0), ccd::exact::edge_edge(&start, &end))
                };
                rows[family][0] += 1;
                rows[family][1] += usize::from(truth);
                rows[family][2] += usize::from(truth && answer.is_none());
            }
            rows
        })
        .collect();
    let mut misses = 0;
    let mut sets = Vec::new();
    for (family, name) in FAMILIES.iter().enumerate() {
        let [queries, contacts, missed] =
            std::array::from_fn(|column| blocks.iter().map(|rows| rows[family][column]).sum::<usize>());
        say(format!("{name}: {queries} queries, {contacts} contacts, {missed} misses"));
        sets.push(json!({ "family": name, "queries": queries, "contacts": contacts, "misses": missed }));
        misses += missed;
    }
    say(json!({ "schema": "unsnarl.bench.ccd/1", "sets": sets, "seconds": clock.elapsed().as_secs_f64() }));
    Ok(misses)
}

fn motion(family: usize, random: &mut Random) -> ([DVec3; 4], [DVec3; 4]) {
    let mut point = || DVec3::new(random.unit() - 0.5, random.unit() - 0.5, random.unit() - 0.5);
    let mut start: [DVec3; 4] = std::array::from_fn(|_| point());
    let mut end: [DVec3; 4] = std::array::from_fn(|k| start[k] + point());
    let mut each = |change: &dyn Fn(DVec3) -> DVec3| {
        start = start.map(change);
        end = end.map(change);
    };
    match FAMILIES[family] {
        "lattice" => each(&|p| (4.0 * p).round()),
        "flat" => each(&|p| (6.0 * p * DVec3::new(1.0, 1.0, 0.0)).round()),
        "touching" => end[0] = (end[1] + end[2] + end[3]) / 3.0 + 1e-15 * point(),
        "grazing" => {
            let (from, to) = (start[1].lerp(start[2], 0.25), end[1].lerp(end[2], 0.25));
            let passing = point();
            start[0] = from + passing;
            end[0] = to - passing;
        }
        "sliver" => {
            start[3] = start[1].lerp(start[2], 0.3) + 1e-13 * start[3];
            end[3] = end[1].lerp(end[2], 0.3) + 1e-13 * end[3];
        }
        "scales" => each(&|p| p * DVec3::new(1e9, 1.0, 1e-12)),
        "far" => each(&|p| p * 1e-6 + DVec3::splat(1000.0)),
        _ => {}
    }
    (start, end)
}
