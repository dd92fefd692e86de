//! The mainland: what of a sheet hangs together over edges that nothing crosses, and how much is cut off from it.
//!
//! The source colours red what a contour cuts off, contour by contour, and proves that a green vertex never becomes red
//! because contact keeps green elements from being crossed. Two kinds of green vertices escape that proof: those that lie on
//! a contour (loop vertices), and those that several contours cut off together. Both become red as soon as contours move or
//! join, although nothing green was crossed. What the proof does show is this: edges between vertices of the mainland are
//! green, contact lets nothing cross them, so the mainland of a step is part of the mainland of the next, and what is cut off
//! from it never grows. (Cha 2022, 3.1 and 4.4)
//!
//! Guarantees: the above, while contact keeps its promise, nothing red hangs together with the mainland (over a loop vertex, or
//! because red is the majority), no BLI is torn and cloth moves by steps alone.

use crate::analysis::Tangle;
use unsnarl_geometry::{EdgeId, Topology, VertexId};

/// Remembers one vertex of the mainland of every sheet from step to step.
#[derive(Clone, Debug, Default)]
pub struct Mainland {
    anchors: Vec<Option<VertexId>>,
}

impl Mainland {
    /// Forgets the mainland: cloth was moved otherwise than by a step.
    pub fn forget(&mut self) {
        self.anchors.clear();
    }

    /// The vertices of cloth, the first `cloth_vertex_count`, that are cut off from the mainland of their sheet; in order.
    pub fn cut_off(&mut self, topology: &Topology, cloth_vertex_count: usize, tangle: &Tangle) -> Vec<VertexId> {
        if tangle.is_empty() {
            return Vec::new();
        }
        let mut is_crossed = vec![false; topology.edge_count()];
        for point in tangle.contours.iter().flat_map(|tangled| &tangled.contour.points) {
            is_crossed[point.edge.index()] = true;
        }
        let islands = Islands::find(topology, cloth_vertex_count, &is_crossed);
        let mainland = self.choose(topology, &islands);
        let is_off =
            |vertex: &VertexId| mainland[topology.component(*vertex)] != Some(islands.of_vertex[vertex.index()]);
        (0..cloth_vertex_count).map(VertexId::new).filter(is_off).collect()
    }

    /// The mainland of every sheet: the island of its anchor, or the largest where there is none.
    fn choose(&mut self, topology: &Topology, islands: &Islands) -> Vec<Option<usize>> {
        self.anchors.resize(topology.component_count(), None);
        let mut largest: Vec<Option<usize>> = vec![None; topology.component_count()];
        for (island, &(first, size)) in islands.first_and_size.iter().enumerate() {
            let largest = &mut largest[topology.component(first)];
            if largest.is_none_or(|other| size > islands.first_and_size[other].1) {
                *largest = Some(island);
            }
        }
        for (anchor, chosen) in self.anchors.iter_mut().zip(&mut largest) {
            if let Some(vertex) = *anchor {
                *chosen = Some(islands.of_vertex[vertex.index()]);
            }
            *anchor = chosen.map(|island| islands.first_and_size[island].0);
        }
        largest
    }
}

/// Vertices that hang together over edges that nothing crosses.
struct Islands {
    of_vertex: Vec<usize>,
    /// The smallest vertex of each, and how many there are.
    first_and_size: Vec<(VertexId, usize)>,
}

impl Islands {
    fn find(topology: &Topology, vertex_count: usize, is_crossed: &[bool]) -> Self {
        const NONE: usize = usize::MAX;
        let mut islands = Self { of_vertex: vec![NONE; vertex_count], first_and_size: Vec::new() };
        for first in 0..vertex_count {
            if islands.of_vertex[first] != NONE {
                continue;
            }
            let island = islands.first_and_size.len();
            islands.of_vertex[first] = island;
            let mut front = vec![VertexId::new(first)];
            let mut size = 0;
            while let Some(vertex) = front.pop() {
                size += 1;
                for &edge in topology.vertex_edges(vertex).iter().filter(|edge: &&EdgeId| !is_crossed[edge.index()]) {
                    let other = topology.other_end(edge, vertex);
                    if islands.of_vertex[other.index()] == NONE {
                        islands.of_vertex[other.index()] = island;
                        front.push(other);
                    }
                }
            }
            islands.first_and_size.push((VertexId::new(first), size));
        }
        islands
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{Assembly, PartKind, Workspace, analyze};
    use crate::samples::{self, Cut, Recipe};

    #[test]
    fn only_crossed_edges_lead_to_what_is_cut_off() {
        for name in ["closed", "eight", "cross", "ll", "bbii", "exploded-central"] {
            let case = samples::find(name).unwrap();
            let mesh = case.make(&Recipe { resolution: 14, cut: Cut::Irregular, seed: 5 }).mesh;
            let count = mesh.positions.len();
            let part = (name.to_owned(), PartKind::Cloth, count, mesh.triangles.as_slice());
            let assembly = Assembly::new([part]).unwrap();
            let tangle = analyze(&assembly, &mesh.positions, &mut Workspace::default());
            let topology = assembly.topology();
            let off = Mainland::default().cut_off(topology, count, &tangle);
            let is_off = |vertex: &VertexId| off.binary_search(vertex).is_ok();
            let points = tangle.contours.iter().flat_map(|tangled| &tangled.contour.points);
            let crossed: Vec<EdgeId> = points.map(|point| point.edge).collect();
            for (edge, ends) in topology.edges().iter().enumerate() {
                let [a, b] = ends.map(|end| is_off(&end));
                assert!(a == b || crossed.contains(&EdgeId::new(edge)), "{name}: edge {edge}");
            }
        }
    }
}
