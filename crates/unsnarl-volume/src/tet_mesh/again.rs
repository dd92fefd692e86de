//! Places that lag once more: they are refined, chosen anew and compressed from where the mesh was.
//!
//! A boundary node stays off the surface where its elements have no shape left to give: in tips, necks and gaps of
//! about an element. There elements of half the size have room. Nodes that were there before keep their places, new
//! ones follow their neighbours, and only what is near new nodes is swept.
//!
//! Guarantees: what is carried over has no element below [`LOWEST`]: where one would be, its nodes go back toward
//! their places in the lattice.
//! Departs: the text has one choice of elements and one compression.

use super::OUTWARD_FACES;
use super::compress::{LOWEST, limits, widen};
use super::criteria::Refined;
use super::envelope::{Candidate, Exceptions};
use super::fit::{Far, Lies};
use super::lattice::{NodeKey, RedTet};
use super::quality::shape_of;
use crate::field::Field;
use rayon::prelude::*;
use unsnarl_geometry::DVec3;

/// How often new nodes look at their neighbours: a family of new nodes is that deep.
const SPREADING: usize = 3;
/// How often a node comes back by half before it goes back all the way.
const HALVINGS: u8 = 3;
/// Rounds after which everything goes back.
const ROUNDS: usize = 40;
/// Rings around new nodes that are swept again.
const RINGS: usize = 3;

/// What refining may do.
#[derive(Clone, Copy)]
pub struct Allowed {
    /// The finest level whose tetrahedra are split.
    pub finest: u8,
    /// How many are, at most.
    pub splits: usize,
}

/// Splits the red tetrahedra at some nodes, or at as many of the first of them as is allowed; how many.
pub fn refine_at(
    refined: &mut Refined,
    field: &dyn Field,
    chosen: &Candidate,
    nodes: &[u32],
    allowed: Allowed,
) -> usize {
    let mut count = nodes.len();
    let mut split = leaves_at(refined, chosen, nodes, allowed.finest);
    while split.len() > allowed.splits {
        count = (count * allowed.splits / split.len()).min(count.saturating_sub(1));
        split = leaves_at(refined, chosen, &nodes[..count], allowed.finest);
    }
    for leaf in &split {
        refined.forest.split_red(leaf);
    }
    if !split.is_empty() {
        refined.close(field);
    }
    split.len()
}

/// The red tetrahedra at some nodes of levels up to `finest`, those whose green parts meet there among them.
fn leaves_at(refined: &Refined, chosen: &Candidate, nodes: &[u32], finest: u8) -> Vec<RedTet> {
    if nodes.is_empty() {
        return Vec::new();
    }
    let mut nodes = nodes.to_vec();
    nodes.sort_unstable();
    let keys: Vec<NodeKey> = nodes.iter().map(|&node| chosen.keys[node as usize]).collect();
    let is_wanted = |key: &NodeKey| keys.binary_search(key).is_ok();
    let mut split: Vec<RedTet> =
        refined.forest.all_leaves().filter(|leaf| leaf.nodes.iter().any(is_wanted)).copied().collect();
    for (element, tet) in chosen.mesh.tets.iter().enumerate() {
        if tet.iter().any(|node| nodes.binary_search(node).is_ok()) {
            let level = usize::from(chosen.mesh.levels[element]);
            split.extend(refined.forest.leaves(level).get(chosen.leaves[element] as usize));
        }
    }
    split.retain(|leaf| leaf.level <= finest);
    split.sort_unstable();
    split.dedup();
    split
}

/// Inner nodes deeper than this many mean edges at a lagging node are not to blame for it.
const SHALLOW: f64 = 0.5;

/// What is chosen against the rule where finer elements did not help: the shallow inner neighbours of nodes that stay
/// outside are dropped, so that the boundary comes in; nodes that stay inside are kept as inner nodes, so that it goes
/// out. Whether there is anything new.
pub fn except(exceptions: &mut Exceptions, field: &dyn Field, chosen: &Candidate, found: &Lagging<'_>) -> bool {
    let before = (exceptions.dropped.len(), exceptions.kept.len());
    let mut is_inner = vec![true; found.places.len()];
    found.boundary.iter().flatten().for_each(|&node| is_inner[node as usize] = false);
    let key = |node: u32| chosen.keys[node as usize];
    let neighbours = neighbours_of(found.nodes, &chosen.mesh.tets);
    for (&node, around) in found.nodes.iter().zip(neighbours) {
        let place = found.places[node as usize];
        if field.value(place) <= 0.0 {
            exceptions.kept.push(key(node));
            continue;
        }
        let mean = |nodes: &[u32]| {
            let sum: f64 = nodes.iter().map(|&other| place.distance(found.places[other as usize])).sum();
            sum / nodes.len().max(1) as f64
        };
        let edge = mean(&around);
        let depth = |node: u32| -field.value(chosen.mesh.positions[node as usize]);
        let inner = around.into_iter().filter(|&other| is_inner[other as usize]);
        let mut by_depth: Vec<(f64, u32)> = inner.map(|other| (depth(other), other)).collect();
        by_depth.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let shallow = by_depth.iter().take_while(|(depth, _)| *depth < SHALLOW * edge).count().max(1);
        exceptions.dropped.extend(by_depth.iter().take(shallow).map(|&(_, other)| key(other)));
    }
    blame_far(exceptions, field, chosen, found.far);
    for list in [&mut exceptions.dropped, &mut exceptions.kept] {
        list.sort_unstable();
        list.dedup();
    }
    before != (exceptions.dropped.len(), exceptions.kept.len())
}

/// What far triangles blame: the inner node below a triangle that bridges a gap, and the nodes of a triangle that cuts
/// off a thin part of the body, where they lay inside.
fn blame_far(exceptions: &mut Exceptions, field: &dyn Field, chosen: &Candidate, far: &[Far]) {
    let sorted = |mut triangle: [u32; 3]| {
        triangle.sort_unstable();
        triangle
    };
    let mut bridges: Vec<[u32; 3]> = Vec::new();
    for &Far { triangle, lies } in far {
        match lies {
            Lies::Outside => bridges.push(sorted(triangle)),
            Lies::Inside => {
                let lay_inside = |&node: &u32| field.value(chosen.mesh.positions[node as usize]) < 0.0;
                let nodes = triangle.into_iter().filter(lay_inside);
                exceptions.kept.extend(nodes.map(|node| chosen.keys[node as usize]));
            }
        }
    }
    bridges.sort_unstable();
    if bridges.is_empty() {
        return;
    }
    for tet in &chosen.mesh.tets {
        for (apex, face) in OUTWARD_FACES.iter().enumerate() {
            if bridges.binary_search(&sorted(face.map(|corner| tet[corner]))).is_ok() {
                exceptions.dropped.push(chosen.keys[tet[apex] as usize]);
            }
        }
    }
}

/// A mesh whose boundary does not lie on the surface everywhere.
pub struct Lagging<'a> {
    /// Where nodes are.
    pub places: &'a [DVec3],
    /// The boundary's triangles.
    pub boundary: &'a [[u32; 3]],
    /// The nodes that lag, ascending.
    pub nodes: &'a [u32],
    /// Triangles far from the surface.
    pub far: &'a [Far],
}

/// The nodes that share an element with each of some nodes, ascending.
fn neighbours_of(nodes: &[u32], tets: &[[u32; 4]]) -> Vec<Vec<u32>> {
    let mut around = vec![Vec::new(); nodes.len()];
    for tet in tets {
        for node in tet {
            if let Ok(at) = nodes.binary_search(node) {
                around[at].extend(tet.iter().filter(|other| *other != node));
            }
        }
    }
    for list in &mut around {
        list.sort_unstable();
        list.dedup();
    }
    around
}

/// Where nodes of a new choice start, and which are to be swept.
pub struct Carried {
    /// Where the new nodes start.
    pub positions: Vec<DVec3>,
    /// New nodes, nodes that went back, and those around.
    pub is_at_work: Vec<bool>,
}

/// Takes the places of nodes over to another choice of elements.
pub fn carry_over(old: &Candidate, places: &[DVec3], new: &Candidate) -> Carried {
    let known = |key: &NodeKey| old.keys.binary_search(key).ok().map(|at| places[at] - old.mesh.positions[at]);
    let shifts: Vec<Option<DVec3>> = new.keys.par_iter().with_min_len(1024).map(known).collect();
    let mut is_at_work: Vec<bool> = shifts.iter().map(Option::is_none).collect();
    let shifts = spread(shifts, &new.mesh.tets);
    let mut strikes = vec![0_u8; shifts.len()];
    let (lattice, tets) = (&new.mesh.positions, &new.mesh.tets);
    let mut positions = lattice.clone();
    for round in 0..=ROUNDS {
        if round == ROUNDS {
            strikes.fill(HALVINGS);
        }
        for (node, position) in positions.iter_mut().enumerate() {
            let share = if strikes[node] < HALVINGS { 0.5_f64.powi(strikes[node].into()) } else { 0.0 };
            *position = lattice[node] + share * shifts[node];
        }
        let grade = |tet: &[u32; 4]| shape_of(tet.map(|node| positions[node as usize])).grade(&limits());
        let bad: Vec<&[u32; 4]> = tets.par_iter().with_min_len(512).filter(|tet| grade(tet) < LOWEST).collect();
        if bad.is_empty() {
            break;
        }
        let mut nodes: Vec<u32> = bad.into_iter().flatten().copied().collect();
        nodes.sort_unstable();
        nodes.dedup();
        for node in nodes {
            strikes[node as usize] = (strikes[node as usize] + 1).min(HALVINGS);
        }
    }
    for (is_at_work, strikes) in is_at_work.iter_mut().zip(&strikes) {
        *is_at_work |= *strikes > 0;
    }
    for _ in 0..RINGS {
        widen(&mut is_at_work, tets);
    }
    Carried { positions, is_at_work }
}

/// Gives nodes without a shift the mean of their neighbours'; nothing to those that are far from any.
fn spread(mut shifts: Vec<Option<DVec3>>, tets: &[[u32; 4]]) -> Vec<DVec3> {
    for _ in 0..SPREADING {
        let mut sums = vec![(DVec3::ZERO, 0_u32); shifts.len()];
        for tet in tets {
            for node in tet.iter().filter(|&&node| shifts[node as usize].is_none()) {
                for shift in tet.iter().filter_map(|&other| shifts[other as usize]) {
                    let sum = &mut sums[*node as usize];
                    *sum = (sum.0 + shift, sum.1 + 1);
                }
            }
        }
        for (shift, (sum, count)) in shifts.iter_mut().zip(sums).filter(|(_, (_, count))| *count > 0) {
            *shift = Some(sum / f64::from(count));
        }
    }
    shifts.into_iter().map(Option::unwrap_or_default).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tet_mesh::criteria::{Criterion, Wish, refine};
    use crate::tet_mesh::envelope::candidate;
    use crate::tet_mesh::lattice::Lattice;
    use unsnarl_geometry::Aabb;

    struct Ball;

    impl Field for Ball {
        fn value(&self, point: DVec3) -> f64 {
            point.length() - 1.0
        }

        fn gradient(&self, point: DVec3) -> DVec3 {
            point.normalize_or_zero()
        }
    }

    const LEVELS: u8 = 2;
    const EVERYTHING: Allowed = Allowed { finest: LEVELS, splits: usize::MAX };

    fn chosen() -> (Refined, Candidate) {
        let bounds = Aabb { min: DVec3::NEG_ONE, max: DVec3::ONE };
        let lattice = Lattice::covering(&bounds, 0.2, LEVELS).expect("a small lattice");
        let wish = Wish { criterion: Criterion::Uniform, sizing: None, levels: LEVELS };
        let mut refined = refine(lattice, &Ball, &wish, 1_000_000).expect("few leaves");
        let chosen = candidate(&mut refined, &Ball, LEVELS, &Exceptions::default()).expect("a ball");
        (refined, chosen)
    }

    fn worst_grade(positions: &[DVec3], tets: &[[u32; 4]]) -> f64 {
        let grade = |tet: &[u32; 4]| shape_of(tet.map(|node| positions[node as usize])).grade(&limits());
        tets.iter().map(grade).fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn the_same_choice_keeps_all_places_and_nothing_is_at_work() {
        let (_, chosen) = chosen();
        let places: Vec<DVec3> = chosen.mesh.positions.iter().map(|p| *p * 1.01 + DVec3::new(0.1, 0.0, 0.2)).collect();
        let carried = carry_over(&chosen, &places, &chosen);
        assert!(carried.positions.iter().zip(&places).all(|(a, b)| a.distance(*b) < 1e-12));
        assert!(!carried.is_at_work.contains(&true));
    }

    #[test]
    fn around_one_node_elements_are_refined_and_nodes_far_from_it_stay() {
        let (mut refined, old) = chosen();
        let node = (0..old.keys.len() as u32)
            .max_by(|&a, &b| old.mesh.positions[a as usize].x.total_cmp(&old.mesh.positions[b as usize].x))
            .expect("nodes");
        let center = old.mesh.positions[node as usize];
        let places: Vec<DVec3> = old.mesh.positions.iter().map(|p| *p * 0.98).collect();
        assert!(refine_at(&mut refined, &Ball, &old, &[node], EVERYTHING) > 0);
        let new = candidate(&mut refined, &Ball, LEVELS + 1, &Exceptions::default()).expect("a ball");
        let is_finer = |at: usize| new.mesh.levels[at] > LEVELS;
        let finer: Vec<usize> = (0..new.mesh.tets.len()).filter(|&at| is_finer(at)).collect();
        let reach = |at: usize| new.mesh.corners(at).map(|p| p.distance(center)).into_iter().fold(0.0, f64::max);
        assert!(!finer.is_empty() && finer.iter().all(|&at| reach(at) < 0.5));
        let carried = carry_over(&old, &places, &new);
        assert!(worst_grade(&carried.positions, &new.mesh.tets) >= LOWEST);
        for (at, place) in carried.positions.iter().enumerate().filter(|(_, place)| place.distance(center) > 1.2) {
            assert!(place.distance(new.mesh.positions[at] * 0.98) < 1e-12);
        }
        assert!(carried.is_at_work.contains(&true));
    }

    #[test]
    fn no_more_is_split_than_is_allowed_and_the_first_nodes_come_first() {
        let (refined, old) = chosen();
        let nodes: Vec<u32> = old.mesh.boundary().iter().map(|triangle| triangle[0]).step_by(7).collect();
        let all = leaves_at(&refined, &old, &nodes, LEVELS).len();
        let first = leaves_at(&refined, &old, &nodes[..1], LEVELS).len();
        assert!(first > 0 && all > 4 * first);
        for splits in [0, first, all / 2] {
            let (mut refined, _) = chosen();
            let split = refine_at(&mut refined, &Ball, &old, &nodes, Allowed { finest: LEVELS, splits });
            assert!(split <= splits && (splits < all / 2 || split > 0), "{split} of {splits}");
        }
        let (mut refined, _) = chosen();
        assert_eq!(refine_at(&mut refined, &Ball, &old, &nodes, EVERYTHING), all);
    }

    #[test]
    fn places_that_would_turn_elements_over_go_back_to_the_lattice() {
        let (_, chosen) = chosen();
        let scatter =
            |(at, p): (usize, &DVec3)| *p + 0.4 * DVec3::new((at as f64 * 1.7).sin(), (at as f64 * 2.3).sin(), 0.0);
        let places: Vec<DVec3> = chosen.mesh.positions.iter().enumerate().map(scatter).collect();
        assert!(worst_grade(&places, &chosen.mesh.tets) < LOWEST);
        let carried = carry_over(&chosen, &places, &chosen);
        assert!(worst_grade(&carried.positions, &chosen.mesh.tets) >= LOWEST);
    }

    #[test]
    fn nodes_outside_drop_what_is_shallow_below_them_and_nodes_inside_are_kept() {
        let (mut refined, chosen) = chosen();
        let boundary = chosen.mesh.boundary();
        let mut places = chosen.mesh.positions.clone();
        let [out, within] = [boundary[0][0], boundary[boundary.len() / 2][0]];
        places[out as usize] = 1.1 * places[out as usize].normalize_or_zero();
        places[within as usize] = 0.9 * places[within as usize].normalize_or_zero();
        let mut nodes = [out, within];
        nodes.sort_unstable();
        let mut exceptions = Exceptions::default();
        except(
            &mut exceptions,
            &Ball,
            &chosen,
            &Lagging { places: &places, boundary: &boundary, nodes: &nodes, far: &[] },
        );
        assert_eq!(exceptions.kept, [chosen.keys[within as usize]]);
        assert!(!exceptions.dropped.is_empty());
        let new = candidate(&mut refined, &Ball, LEVELS, &exceptions).expect("a ball");
        let boundary = new.mesh.boundary();
        let is_inner = |key: &NodeKey| {
            new.keys
                .binary_search(key)
                .is_ok_and(|node| !boundary.iter().flatten().any(|&other| other as usize == node))
        };
        assert!(!exceptions.dropped.iter().any(is_inner) && exceptions.kept.iter().all(is_inner));
        assert!(crate::tet_mesh::boundary::Conditions::of(new.keys.len(), &new.mesh.tets, &boundary).hold());
    }
}
