//! The main component: the largest connected part of a sheet. Edge shortening colours red all that is cut off from it.
//!
//! The source colours red what each contour cuts off alone, and proves that red never grows, because contact lets nothing cross green
//! elements. (Cha 2022, 3.1 and 4.4) Two cases escape that proof. What several contours cut off *together* stays green until they join.
//! And a contour may come to end in a green vertex: it then lies on the contour, and what hung together through it does so no more.
//!
//! Here two vertices hang together if an edge joins them that no cut crosses, and neither is a loop vertex. A loop vertex belongs to the
//! main component if such an edge leads there, but leads nowhere itself. Edges of the main component are green, so
//! contact keeps them uncrossed. If no vertex of it becomes a loop vertex either, which [`crate::untangle::LoopGuard`]
//! sees to where
//! `fix` asks for it, what hangs together still does after the step: the main component becomes no smaller, and red,
//! which is all else, does not
//! grow. Contours that the source does not let cut (BIBI, BLI, the inner trace of BBII, OTHER) do not cut here either,
//! and the theorem is
//! silent when one of them becomes one that does.
//!
//! Guarantees: red is what cuts between cloth cut off from the main component, and what is inside bodies. Where less
//! than half of a sheet is red, that is at least what the source colours red.

use crate::analysis::region::CutTraces;
use crate::analysis::{Colours, Tangle, TangledContour};
use unsnarl_geometry::{EdgeId, Topology, VertexId};

/// Colours a tangle by what is cut off from the main component. Vertices from `cloth_vertex_count` on are of bodies.
pub fn recolour(topology: &Topology, cloth_vertex_count: usize, tangle: &mut Tangle) {
    if tangle.is_empty() {
        return;
    }
    let is_of_body = |vertex: &VertexId| vertex.index() >= cloth_vertex_count;
    let is_with_body = |tangled: &&TangledContour| {
        tangled.contour.segments[0].iter().any(|&triangle| is_of_body(&topology.triangle(triangle)[0]))
    };
    let (with_bodies, of_cloth): (Vec<_>, Vec<_>) = tangle.contours.iter().partition(is_with_body);
    let in_bodies = with_bodies.iter().flat_map(|tangled| &tangled.regions.cuts).flat_map(|cut| &cut.smaller_by_count);
    let mut red: Vec<VertexId> = in_bodies.copied().collect();
    red.extend(Islands::between(topology, cloth_vertex_count, &of_cloth).all_but_main(topology));
    red.sort_unstable();
    red.dedup();
    let gia = std::mem::take(&mut tangle.colours.gia);
    tangle.colours = Colours { gia, ..Colours::around(topology, red, &tangle.contours) };
}

/// Parts of sheets that hang together.
struct Islands {
    /// The island of each vertex of cloth; `None` for loop vertices.
    of_vertex: Vec<Option<usize>>,
    /// How many vertices each has, with the loop vertices on its shores.
    sizes: Vec<usize>,
    /// The loop vertices of cloth, and the islands on whose shore each lies.
    shores: Vec<(VertexId, Vec<usize>)>,
}

impl Islands {
    /// What is left between cuts.
    fn between(topology: &Topology, vertex_count: usize, contours: &[&TangledContour]) -> Self {
        let mut is_crossed = vec![false; topology.edge_count()];
        let mut loop_vertices: Vec<VertexId> = Vec::new();
        for TangledContour { contour, regions, .. } in contours {
            for cut in &regions.cuts {
                let is_cutting = |trace| cut.traces == CutTraces::Both || cut.traces == CutTraces::One(trace);
                for point in contour.points.iter().filter(|point| is_cutting(point.edge_trace)) {
                    is_crossed[point.edge.index()] = true;
                }
                loop_vertices.extend(contour.loop_vertices());
            }
        }
        loop_vertices.sort_unstable();
        loop_vertices.dedup();
        let ways = |vertex: VertexId| {
            let is_open = |edge: &&EdgeId| !is_crossed[edge.index()];
            topology.vertex_edges(vertex).iter().filter(is_open).map(move |&edge| topology.other_end(edge, vertex))
        };
        let mut islands = Self { of_vertex: vec![None; vertex_count], sizes: Vec::new(), shores: Vec::new() };
        let is_loop = |vertex: VertexId| loop_vertices.binary_search(&vertex).is_ok();
        for first in (0..vertex_count).map(VertexId::new) {
            if !is_loop(first) && islands.of_vertex[first.index()].is_none() {
                islands.spread(first, |vertex| ways(vertex).filter(|&other| !is_loop(other)));
            }
        }
        for &vertex in &loop_vertices {
            let mut shores: Vec<usize> = ways(vertex).filter_map(|other| islands.of_vertex[other.index()]).collect();
            shores.sort_unstable();
            shores.dedup();
            shores.iter().for_each(|&island| islands.sizes[island] += 1);
            islands.shores.push((vertex, shores));
        }
        islands
    }

    /// Adds the island of a vertex.
    fn spread<I: Iterator<Item = VertexId>>(&mut self, first: VertexId, ways: impl Fn(VertexId) -> I) {
        let island = self.sizes.len();
        self.of_vertex[first.index()] = Some(island);
        let mut reached = vec![first];
        let mut next = 0;
        while next < reached.len() {
            for other in ways(reached[next]) {
                if self.of_vertex[other.index()].is_none() {
                    self.of_vertex[other.index()] = Some(island);
                    reached.push(other);
                }
            }
            next += 1;
        }
        self.sizes.push(reached.len());
    }

    /// The vertices that are cut off from the largest island of their sheet; of two as large, the first.
    fn all_but_main(&self, topology: &Topology) -> Vec<VertexId> {
        let mut main_of: Vec<Option<usize>> = vec![None; topology.component_count()];
        for (vertex, island) in self.of_vertex.iter().enumerate() {
            let main = &mut main_of[topology.component(VertexId::new(vertex))];
            let is_larger = |island: usize| main.is_none_or(|other| self.sizes[island] > self.sizes[other]);
            *main = island.filter(|&island| is_larger(island)).or(*main);
        }
        let is_cut_off = |vertex: &VertexId| {
            let main = main_of[topology.component(*vertex)];
            match self.of_vertex[vertex.index()] {
                Some(island) => main != Some(island),
                None => {
                    let at = self.shores.partition_point(|(other, _)| other < vertex);
                    !main.is_some_and(|main| self.shores[at].1.contains(&main))
                }
            }
        };
        (0..self.of_vertex.len()).map(VertexId::new).filter(is_cut_off).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{Assembly, PartKind, Workspace, analyze};
    use crate::samples::{self, Cut, Recipe};

    fn tangled(name: &str, seed: u64) -> (Assembly, Tangle) {
        let case = samples::find(name).unwrap();
        let resolution = case.smallest_resolution.max(14);
        let mesh = case.make(&Recipe { resolution, cut: Cut::Regular, seed }).mesh;
        let part = (name.to_owned(), PartKind::Cloth, mesh.positions.len(), mesh.triangles.as_slice());
        let assembly = Assembly::new([part]).unwrap();
        let tangle = analyze(&assembly, &mesh.positions, &mut Workspace::default());
        (assembly, tangle)
    }

    fn recoloured(assembly: &Assembly, tangle: &Tangle) -> Tangle {
        let mut tangle = tangle.clone();
        recolour(assembly.topology(), assembly.topology().vertex_count(), &mut tangle);
        tangle
    }

    #[test]
    fn the_types_have_the_colours_of_the_source() {
        for name in ["closed", "eight", "cross", "ll", "bbii", "bibi", "bli"] {
            let (assembly, tangle) = tangled(name, 5);
            let ours = recoloured(&assembly, &tangle).colours;
            assert_eq!(ours.red_vertices, tangle.colours.red_vertices, "{name}");
            assert_eq!(ours.red_triangles, tangle.colours.red_triangles, "{name}");
        }
    }

    #[test]
    fn only_cut_edges_and_loop_vertices_lead_to_red() {
        for seed in 0..5 {
            let (assembly, tangle) = tangled("exploded-central", seed);
            let topology = assembly.topology();
            let red = recoloured(&assembly, &tangle).colours.red_vertices;
            let is_red = |vertex: &VertexId| red.binary_search(vertex).is_ok();
            let points = tangle.contours.iter().flat_map(|tangled| &tangled.contour.points);
            let crossed: Vec<EdgeId> = points.map(|point| point.edge).collect();
            let loops = tangle.loop_vertices();
            for (edge, ends) in topology.edges().iter().enumerate() {
                let [a, b] = ends.map(|end| is_red(&end));
                let is_open = !crossed.contains(&EdgeId::new(edge)) && !ends.iter().any(|end| loops.contains(end));
                assert!(a == b || !is_open, "seed {seed}: edge {edge}");
            }
            let published = &tangle.colours.red_vertices;
            assert!(published.iter().all(is_red), "seed {seed}: what one contour cuts off, all do");
        }
    }
}
