//! A part of a mesh as a mesh of its own, so that work on a few nodes costs no more than they do.
//!
//! Guarantees: a node that may move has all its elements and boundary triangles in the part; all others are fixed.

use super::Workpiece;
use crate::field::Field;
use crate::tet_mesh::TetMesh;
use unsnarl_geometry::DVec3;

/// The elements at some nodes.
pub struct Part {
    mesh: TetMesh,
    boundary: Vec<[u32; 3]>,
    /// The node of the whole for each of the part.
    nodes: Vec<u32>,
    is_fixed: Vec<bool>,
}

impl Part {
    /// The elements and boundary triangles at the nodes that may move.
    pub fn of(positions: &[DVec3], tets: &[[u32; 4]], boundary: &[[u32; 3]], may_move: &[bool]) -> Self {
        let mut number = vec![u32::MAX; positions.len()];
        let mut nodes = Vec::new();
        let mut place = |node: u32| {
            let number = &mut number[node as usize];
            if *number == u32::MAX {
                *number = nodes.len() as u32;
                nodes.push(node);
            }
            *number
        };
        let moves = |node: &u32| may_move[*node as usize];
        let own = |tet: &[u32; 4]| tet.map(&mut place);
        let tets: Vec<[u32; 4]> = tets.iter().filter(|tet| tet.iter().any(moves)).map(own).collect();
        let boundary = boundary.iter().filter(|triangle| triangle.iter().any(moves));
        let boundary = boundary.map(|triangle| triangle.map(&mut place)).collect();
        Self {
            mesh: TetMesh {
                positions: nodes.iter().map(|&node| positions[node as usize]).collect(),
                tets,
                levels: Vec::new(),
            },
            boundary,
            is_fixed: nodes.iter().map(|&node| !may_move[node as usize]).collect(),
            nodes,
        }
    }

    /// Ready for work.
    pub fn piece<'a>(&'a self, field: &'a dyn Field) -> Workpiece<'a> {
        Workpiece { is_fixed: self.is_fixed.clone(), ..Workpiece::new(field, &self.mesh, &self.boundary) }
    }

    /// Puts the places of the part's nodes into the whole.
    pub fn put_back(&self, worked: &[DVec3], positions: &mut [DVec3]) {
        for (&node, &place) in self.nodes.iter().zip(worked) {
            positions[node as usize] = place;
        }
    }
}

/// Adds the neighbours of flagged nodes.
pub fn widen(flags: &mut [bool], tets: &[[u32; 4]]) {
    let before = flags.to_vec();
    for tet in tets {
        if tet.iter().any(|&node| before[node as usize]) {
            tet.iter().for_each(|&node| flags[node as usize] = true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two tetrahedra with a common face, and a third that shares a node with the second only.
    fn three() -> (Vec<DVec3>, Vec<[u32; 4]>) {
        let positions = vec![
            DVec3::ZERO,
            DVec3::X,
            DVec3::Y,
            DVec3::Z,
            DVec3::ONE,
            2.0 * DVec3::ONE,
            DVec3::ONE + DVec3::X,
            DVec3::ONE + DVec3::Y,
        ];
        (positions, vec![[0, 1, 2, 3], [1, 2, 3, 4], [4, 6, 7, 5]])
    }

    #[test]
    fn a_part_has_every_element_of_its_nodes_and_only_they_may_move() {
        let (mut positions, tets) = three();
        let boundary = crate::tet_mesh::boundary::boundary_of(positions.len(), &tets);
        let may_move: Vec<bool> = (0..8).map(|node| node == 0).collect();
        let part = Part::of(&positions, &tets, &boundary, &may_move);
        assert_eq!((part.mesh.tets.len(), part.boundary.len(), part.nodes.len()), (1, 3, 4));
        assert_eq!(part.is_fixed.iter().filter(|fixed| !**fixed).count(), 1);
        let mut worked = part.mesh.positions.clone();
        worked.iter_mut().zip(&part.is_fixed).filter(|(_, fixed)| !**fixed).for_each(|(place, _)| place.x -= 1.0);
        let before = positions.clone();
        part.put_back(&worked, &mut positions);
        assert_eq!(positions[0], before[0] - DVec3::X);
        assert_eq!(positions[1..], before[1..]);
    }

    #[test]
    fn flags_spread_by_one_element() {
        let (_, tets) = three();
        let mut flags = vec![false; 8];
        flags[0] = true;
        widen(&mut flags, &tets);
        assert_eq!(flags, [true, true, true, true, false, false, false, false]);
        widen(&mut flags, &tets);
        assert_eq!(flags, [true, true, true, true, true, false, false, false]);
    }
}
