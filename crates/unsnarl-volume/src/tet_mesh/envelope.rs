//! The candidate: the elements of the refined lattice at enveloped nodes, repaired until the conditions hold.
//! (Bridson 2003, 5.4)
//!
//! A node is enveloped when it lies inside and at least a quarter of each of its edges does. Where the conditions of
//! [`super::boundary`] fail, the first pass refines, later ones envelope more nodes.
//!
//! Guarantees: (A), (B) and (C) hold for what is returned; enveloped nodes are inner nodes.
//! Does not: keep gaps apart that are thinner than an element; the report compares the topology.

use super::boundary::{ByNode, Conditions, boundary_of};
use super::criteria::Refined;
use super::lattice::{NodeKey, sixfold_volume};
use super::red_green::Element;
use super::{EDGES, TetError, TetMesh};
use crate::field::Field;
use rayon::prelude::*;

/// The share of every edge that lies inside at an enveloped node.
const INSIDE_SHARE: f64 = 0.25;
/// Passes after which the body counts as unresolved.
const MOST_PASSES: usize = 40;

/// What choosing elements took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EnvelopeReport {
    /// Passes until the conditions held, the first choice included.
    pub passes: usize,
    /// Red tetrahedra split by the first pass.
    pub refined: usize,
    /// Nodes enveloped or dropped by later passes.
    pub enveloped: usize,
}

/// The chosen elements, and where each comes from in the lattice.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The elements, at their places in the lattice.
    pub mesh: TetMesh,
    /// The lattice node of each node, ascending.
    pub keys: Vec<NodeKey>,
    /// For each element the place of its red tetrahedron among the leaves of its level.
    pub leaves: Vec<u32>,
    /// The volume of the body within the elements, cubic metres, by distances linear in each element of the lattice.
    pub covered: f64,
    /// What choosing took.
    pub report: EnvelopeReport,
}

/// Nodes that are chosen against the rule, each list ascending.
#[derive(Clone, Debug, Default)]
pub struct Exceptions {
    /// Never enveloped.
    pub dropped: Vec<NodeKey>,
    /// Enveloped, unless dropped.
    pub kept: Vec<NodeKey>,
}

/// All elements of the refined lattice, with nodes numbered.
struct Background {
    elements: Vec<Element>,
    tets: Vec<[u32; 4]>,
    keys: Vec<NodeKey>,
    values: Vec<f64>,
}

/// The candidate of a refined lattice. Repairs split elements of levels up to `finest`.
pub fn candidate(
    refined: &mut Refined,
    field: &dyn Field,
    finest: u8,
    exceptions: &Exceptions,
) -> Result<Candidate, TetError> {
    let mut report = EnvelopeReport { passes: 1, ..EnvelopeReport::default() };
    let mut background = Background::of(refined);
    let mut enveloped = background.enveloped(exceptions);
    let (mut chosen, mut faults) = background.choose(&enveloped);
    if !faults.hold() {
        report.refined = refine_faults(refined, &background, &chosen, &faults, finest);
        if report.refined > 0 {
            refined.close(field);
            background = Background::of(refined);
            enveloped = background.enveloped(exceptions);
            (chosen, faults) = background.choose(&enveloped);
        }
        report.passes += 1;
    }
    let mut repair = None;
    while !faults.hold() {
        if report.passes >= MOST_PASSES {
            return Err(TetError::Unresolved { faults: faults.pinched_nodes.len() + faults.chords.len() });
        }
        let repair = repair.get_or_insert_with(|| background.repair(exceptions));
        report.enveloped += repair.mend(&faults, &chosen, &mut enveloped)?;
        (chosen, faults) = background.choose(&enveloped);
        report.passes += 1;
    }
    if chosen.is_empty() {
        return Err(TetError::NothingInside);
    }
    Ok(background.candidate(refined, &chosen, report))
}

impl Background {
    fn of(refined: &Refined) -> Self {
        let elements = refined.forest.elements();
        let known = &refined.values;
        let number = |key: NodeKey| known.number(key).expect("distances are known at all nodes of a closed forest");
        let mut tets: Vec<[u32; 4]> =
            elements.par_iter().with_min_len(1024).map(|element| element.nodes.map(number)).collect();
        let mut is_used = vec![false; known.keys().len()];
        tets.iter().flatten().for_each(|&node| is_used[node as usize] = true);
        let mut order: Vec<(NodeKey, u32)> = (known.keys().iter().zip(0..))
            .filter(|(_, number)| is_used[*number as usize])
            .map(|(&key, number)| (key, number))
            .collect();
        order.par_sort_unstable();
        let mut rank = vec![0; is_used.len()];
        order.iter().zip(0..).for_each(|(&(_, number), at)| rank[number as usize] = at);
        tets.par_iter_mut().with_min_len(4096).for_each(|tet| *tet = tet.map(|node| rank[node as usize]));
        let values = order.iter().map(|&(_, number)| known.values()[number as usize]).collect();
        Self { elements, tets, keys: order.into_iter().map(|(key, _)| key).collect(), values }
    }

    fn enveloped(&self, exceptions: &Exceptions) -> Vec<bool> {
        let mut enveloped: Vec<bool> = self.values.iter().map(|&value| value < 0.0).collect();
        let is_cut = |tet: &&[u32; 4]| {
            let inside = tet.map(|node| self.values[node as usize] < 0.0);
            inside.contains(&true) && inside.contains(&false)
        };
        for tet in self.tets.iter().filter(is_cut) {
            for [i, j] in EDGES {
                for [inside, outside] in [[tet[i], tet[j]], [tet[j], tet[i]]] {
                    let (low, high) = (self.values[inside as usize], self.values[outside as usize]);
                    if low < 0.0 && high > 0.0 && low / (low - high) < INSIDE_SHARE {
                        enveloped[inside as usize] = false;
                    }
                }
            }
        }
        let number = |key: &NodeKey| self.keys.binary_search(key).ok();
        if !exceptions.kept.is_empty() {
            let complete = self.complete_nodes();
            for node in exceptions.kept.iter().filter_map(number) {
                enveloped[node] |= complete[node];
            }
        }
        for node in exceptions.dropped.iter().filter_map(number) {
            enveloped[node] = false;
        }
        enveloped
    }

    fn repair(&self, exceptions: &Exceptions) -> Repair<'_> {
        let mut dropped = vec![false; self.keys.len()];
        for node in exceptions.dropped.iter().filter_map(|key| self.keys.binary_search(key).ok()) {
            dropped[node] = true;
        }
        Repair { background: self, complete: self.complete_nodes(), dropped }
    }

    /// The elements at enveloped nodes, and what is wrong with them.
    fn choose(&self, enveloped: &[bool]) -> (Vec<u32>, Conditions) {
        let wanted = |tet: &u32| self.tets[*tet as usize].iter().any(|&node| enveloped[node as usize]);
        let chosen: Vec<u32> = (0..self.tets.len() as u32).into_par_iter().filter(wanted).collect();
        let tets: Vec<[u32; 4]> = chosen.iter().map(|&tet| self.tets[tet as usize]).collect();
        let boundary = boundary_of(self.keys.len(), &tets);
        (chosen, Conditions::of(self.keys.len(), &tets, &boundary))
    }

    /// Nodes whose elements are all there: not on the border of the background.
    fn complete_nodes(&self) -> Vec<bool> {
        let mut complete = vec![true; self.keys.len()];
        for node in boundary_of(self.keys.len(), &self.tets).iter().flatten() {
            complete[*node as usize] = false;
        }
        complete
    }

    /// The chosen elements with their own numbering of nodes, which keeps the order.
    fn candidate(&self, refined: &Refined, chosen: &[u32], report: EnvelopeReport) -> Candidate {
        let mut number = vec![u32::MAX; self.keys.len()];
        for &tet in chosen {
            for node in self.tets[tet as usize] {
                number[node as usize] = 0;
            }
        }
        let (mut positions, mut keys) = (Vec::new(), Vec::new());
        for (node, number) in number.iter_mut().enumerate().filter(|(_, number)| **number == 0) {
            *number = positions.len() as u32;
            positions.push(refined.lattice.position(self.keys[node]));
            keys.push(self.keys[node]);
        }
        let tets = chosen.iter().map(|&tet| self.tets[tet as usize].map(|node| number[node as usize])).collect();
        let levels = chosen.iter().map(|&tet| self.elements[tet as usize].level).collect();
        let leaves = chosen.iter().map(|&tet| self.elements[tet as usize].leaf).collect();
        let covered = self.covered(refined, chosen);
        Candidate { mesh: TetMesh { positions, tets, levels }, keys, leaves, covered, report }
    }

    fn covered(&self, refined: &Refined, chosen: &[u32]) -> f64 {
        let sixfold = |&tet: &u32| {
            let values = self.tets[tet as usize].map(|node| self.values[node as usize]);
            inside_share(values) * sixfold_volume(self.elements[tet as usize].nodes) as f64
        };
        let volumes: Vec<f64> = chosen.par_iter().with_min_len(4096).map(sixfold).collect();
        volumes.iter().sum::<f64>() * refined.lattice.unit.powi(3) / 6.0
    }
}

/// The share of a tetrahedron where a linear function with these values at the corners is negative.
fn inside_share(mut values: [f64; 4]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let [a, b, c, d] = values;
    // How far from one corner to another the function is negative.
    let along = |from: f64, to: f64| from / (from - to);
    match values.iter().filter(|value| **value < 0.0).count() {
        0 => 0.0,
        1 => along(a, b) * along(a, c) * along(a, d),
        2 => {
            // The prism between the corners inside and the cut, as three tetrahedra.
            let [ac, ad, bc, bd] = [along(a, c), along(a, d), along(b, c), along(b, d)];
            ac * ad + (1.0 - ac) * ad * bc + (1.0 - ad) * bc * bd
        }
        3 => 1.0 - along(d, a) * along(d, b) * along(d, c),
        _ => 1.0,
    }
}

/// Splits what meets at faults: red leaves at pinched nodes, chords that are edges of red leaves, and leaves whose
/// green children have other chords. The number of leaves touched.
fn refine_faults(
    refined: &mut Refined,
    background: &Background,
    chosen: &[u32],
    faults: &Conditions,
    finest: u8,
) -> usize {
    let mut touched = 0;
    for &tet in chosen {
        let (nodes, element) = (background.tets[tet as usize], background.elements[tet as usize]);
        if element.level > finest {
            continue;
        }
        let leaf = refined.forest.leaves(element.level.into())[element.leaf as usize];
        if nodes.iter().any(|node| faults.pinched_nodes.binary_search(node).is_ok()) {
            refined.forest.split_red(&leaf);
            touched += 1;
            continue;
        }
        for [i, j] in EDGES {
            let ends = [nodes[i].min(nodes[j]), nodes[i].max(nodes[j])];
            if faults.chords.binary_search(&ends).is_err() {
                continue;
            }
            touched += 1;
            let keys = ends.map(|node| background.keys[node as usize]);
            if keys.iter().all(|key| leaf.nodes.contains(key)) {
                refined.forest.split_edge(&leaf, keys);
            } else {
                refined.forest.split_red(&leaf);
            }
        }
    }
    touched
}

/// What repairs change: which nodes are enveloped, and which may not be.
struct Repair<'a> {
    background: &'a Background,
    /// Nodes with all their elements.
    complete: Vec<bool>,
    dropped: Vec<bool>,
}

impl Repair<'_> {
    /// Envelopes pinched nodes and, of each chord, the end that lies deeper; where that is a dropped node the enveloped
    /// nodes that make the fault are dropped too. How many nodes changed: a dropped node never comes back, so this ends.
    fn mend(&mut self, faults: &Conditions, chosen: &[u32], enveloped: &mut [bool]) -> Result<usize, TetError> {
        let unresolved = || TetError::Unresolved { faults: faults.pinched_nodes.len() + faults.chords.len() };
        let values = &self.background.values;
        let (mut added, mut blocked) = (Vec::new(), Vec::new());
        for &node in &faults.pinched_nodes {
            if self.dropped[node as usize] { blocked.push([node, node]) } else { added.push(node) }
        }
        for &[a, b] in &faults.chords {
            let [deep, shallow] = if values[a as usize] <= values[b as usize] { [a, b] } else { [b, a] };
            match [deep, shallow].into_iter().find(|&node| !self.dropped[node as usize]) {
                Some(node) => added.push(node),
                None => blocked.push([a, b]),
            }
        }
        if added.iter().any(|&node| !self.complete[node as usize]) {
            return Err(unresolved());
        }
        let mut changed = 0;
        for node in added {
            changed += usize::from(!enveloped[node as usize]);
            enveloped[node as usize] = true;
        }
        changed += self.drop_around(&blocked, chosen, enveloped);
        if changed == 0 { Err(unresolved()) } else { Ok(changed) }
    }

    /// Drops the enveloped nodes of all elements that hold both nodes of a pair.
    fn drop_around(&mut self, pairs: &[[u32; 2]], chosen: &[u32], enveloped: &mut [bool]) -> usize {
        if pairs.is_empty() {
            return 0;
        }
        let background = self.background;
        let holds = |tet: &[u32; 4]| pairs.iter().any(|pair| pair.iter().all(|node| tet.contains(node)));
        let mut changed = 0;
        for tet in chosen.iter().map(|&tet| background.tets[tet as usize]).filter(holds) {
            for node in tet.map(|node| node as usize) {
                changed += usize::from(enveloped[node]);
                self.dropped[node] |= enveloped[node];
                enveloped[node] = false;
            }
        }
        changed
    }
}

/// The rings of nodes around the boundary: the boundary itself, its neighbours, and so on inward; in the last ring the
/// nodes that no path joins to it.
pub fn rings(node_count: usize, tets: &[[u32; 4]], boundary: &[[u32; 3]]) -> Vec<Vec<u32>> {
    let by_node = ByNode::of(node_count, tets);
    let mut seen = vec![false; node_count];
    let mut ring: Vec<u32> = boundary.iter().flatten().copied().collect();
    ring.sort_unstable();
    ring.dedup();
    let mut all = Vec::new();
    while !ring.is_empty() {
        for &node in &ring {
            seen[node as usize] = true;
        }
        let neighbours = ring.iter().flat_map(|&node| by_node.at(node)).flat_map(|&tet| tets[tet as usize]);
        let mut next: Vec<u32> = neighbours.filter(|&node| !seen[node as usize]).collect();
        next.sort_unstable();
        next.dedup();
        all.push(std::mem::replace(&mut ring, next));
    }
    let rest: Vec<u32> = (0..node_count as u32).filter(|&node| !seen[node as usize]).collect();
    if !rest.is_empty() {
        all.resize(all.len().max(1), Vec::new());
        all.push(rest);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_inside_is_that_of_points_counted_on_a_grid() {
        const CUTS: i32 = 40;
        for values in [
            [-1.0, 2.0, 0.5, 3.0],
            [-1.0, -0.3, 0.5, 2.0],
            [-1.0, -2.0, -0.1, 0.7],
            [1.0, 1.0, 2.0, 3.0],
            [-1.0, -1.0, -2.0, -3.0],
            [0.4, -1.5, 0.2, -0.6],
        ] {
            let (mut inside, mut all) = (0, 0);
            for (i, j, k) in (0..CUTS.pow(3)).map(|at| (at / (CUTS * CUTS), at / CUTS % CUTS, at % CUTS)) {
                if i + j + k >= CUTS - 1 {
                    continue;
                }
                let weights = [i, j, k].map(|n| (f64::from(n) + 0.5) / f64::from(CUTS));
                let value: f64 = (0..3).map(|at| weights[at] * values[at]).sum::<f64>()
                    + (1.0 - weights.iter().sum::<f64>()) * values[3];
                (inside, all) = (inside + i32::from(value < 0.0), all + 1);
            }
            let share = f64::from(inside) / f64::from(all);
            assert!((inside_share(values) - share).abs() < 0.03, "{values:?}: {} {share}", inside_share(values));
        }
    }
}
