//! What a body measures: bounds, volume, area, components, of its extracted surface.

use super::{Extraction, LevelSet};
use unsnarl_geometry::{Aabb, DVec3};

/// Measures of the surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measures {
    /// The box around the surface; empty if there is none.
    pub bounds: Aabb,
    /// The volume within, cubic metres.
    pub volume: f64,
    /// The area of the surface, square metres.
    pub area: f64,
    /// The number of separate closed surfaces; a hollow counts as one, and so does a pocket of a tunnel that is narrower
    /// than a sample elsewhere.
    pub components: usize,
}

impl LevelSet {
    /// Measures the marching surface: second order in the spacing.
    pub fn measures(&self) -> Measures {
        let mesh = self.to_mesh(Extraction::Marching);
        let corner = |vertex: u32| mesh.positions[vertex as usize];
        let (mut doubled_area, mut sixfold_volume) = (0.0, 0.0);
        let center = if mesh.positions.is_empty() { DVec3::ZERO } else { mesh.bounds().center() };
        let mut parent: Vec<u32> = (0..mesh.positions.len() as u32).collect();
        for triangle in &mesh.triangles {
            let [a, b, c] = triangle.map(|vertex| corner(vertex) - center);
            doubled_area += (b - a).cross(c - a).length();
            sixfold_volume += a.dot(b.cross(c));
            for vertex in &triangle[1..] {
                let (p, q) = (root(&mut parent, triangle[0]), root(&mut parent, *vertex));
                parent[p.max(q) as usize] = p.min(q);
            }
        }
        let components = parent.iter().enumerate().filter(|&(vertex, &up)| vertex as u32 == up).count();
        Measures { bounds: mesh.bounds(), volume: sixfold_volume / 6.0, area: 0.5 * doubled_area, components }
    }
}

fn root(parent: &mut [u32], vertex: u32) -> u32 {
    let mut at = vertex;
    while parent[at as usize] != at {
        parent[at as usize] = parent[parent[at as usize] as usize];
        at = parent[at as usize];
    }
    at
}

#[cfg(test)]
mod tests {
    use crate::{BlockWidth, Frame, LevelSet};
    use std::f64::consts::PI;
    use unsnarl_geometry::{Aabb, DVec3};

    #[test]
    fn two_balls_have_the_volume_area_and_number_of_two_balls() {
        let frame = Frame { origin: DVec3::ZERO, spacing: 0.04 };
        let bounds = Aabb { min: DVec3::splat(-1.2), max: DVec3::new(3.2, 1.2, 1.2) };
        let distance = |p: DVec3| (p.length() - 1.0).min(p.distance(DVec3::new(2.5, 0.0, 0.0)) - 0.5);
        let measures = LevelSet::from_distance(distance, bounds, frame, BlockWidth::DEFAULT, 0.12).measures();
        assert_eq!(measures.components, 2);
        assert!((measures.volume / (4.0 / 3.0 * PI * 1.125) - 1.0).abs() < 0.01);
        assert!((measures.area / (4.0 * PI * 1.25) - 1.0).abs() < 0.01);
        assert!((measures.bounds.max.x - 3.0).abs() < 0.01 && (measures.bounds.min.x + 1.0).abs() < 0.01);
    }
}
