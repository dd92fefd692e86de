//! Impulses between two points of the cloth, shared out to the four vertices. (Bridson 2003, 2.5 to 2.7)
//!
//! With an impulse `J` along the stencil, vertex `i` changes by `w_i J / m_i` and the relative velocity by
//! `J sum(w_i^2 / m_i)`; for equal masses these are the printed formulas with `J = 2 I / sum(w_i^2)`.
//!
//! Guarantees: linear momentum of free vertices is kept, for the weights sum to zero; prescribed vertices are not moved.

use crate::geometry::{DVec3, Stencil};

/// A contact point between two elements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contact {
    pub stencil: Stencil,
    /// From the second element to the first, length 1.
    pub normal: DVec3,
    pub friction: f64,
}

/// How strong the repelling spring is, and how far it may push.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spring {
    /// Overlap of the thickness, metres.
    pub overlap: f64,
    /// Stiffness times step, N s/m.
    pub stiffness_step: f64,
    /// The speed at which the overlap may shrink at most, m/s.
    pub speed_limit: f64,
}

impl Contact {
    /// Raises the separating speed to at least `target`, adds the spring where it is slower than the spring's limit, and
    /// lets friction follow. Returns the change of the separating speed.
    ///
    /// The spring's impulse is `min(k d dt, m (0.1 d / dt - v_N) / 2)` in the document's terms: the 1/2 makes the speed
    /// limit the speed that is reached.
    pub(super) fn push(
        &self,
        target: f64,
        spring: Option<Spring>,
        inverse_mass: &[f64],
        velocities: &mut [DVec3],
    ) -> f64 {
        let compliance = self.stencil.compliance(inverse_mass);
        if compliance <= 0.0 {
            return 0.0;
        }
        let relative = self.stencil.apply(velocities);
        let before = relative.dot(self.normal);
        let mut after = before.max(target);
        if let Some(spring) = spring.filter(|spring| after < spring.speed_limit) {
            let weight_squares: f64 = self.stencil.weights.iter().map(|weight| weight * weight).sum();
            let pushed = 2.0 * spring.stiffness_step * spring.overlap / weight_squares * compliance;
            after += pushed.min(spring.speed_limit - after);
        }
        let change = after - before;
        if change <= 0.0 {
            return 0.0;
        }
        let mut total = self.normal * change;
        let sliding = relative - self.normal * before;
        let speed = sliding.length();
        if speed > 0.0 {
            total -= sliding * ((self.friction * change).min(speed) / speed);
        }
        self.apply(total / compliance, inverse_mass, velocities);
        change
    }

    fn apply(&self, impulse: DVec3, inverse_mass: &[f64], velocities: &mut [DVec3]) {
        for (vertex, weight) in self.stencil.vertices.iter().zip(self.stencil.weights) {
            velocities[vertex.index()] += impulse * (weight * inverse_mass[vertex.index()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::VertexId;

    fn vertex_on_triangle(friction: f64) -> Contact {
        let ids = [0, 1, 2, 3].map(VertexId);
        let stencil = Stencil::vertex_triangle(ids[0], [ids[1], ids[2], ids[3]], [0.5, 0.25, 0.25]);
        Contact { stencil, normal: DVec3::Z, friction }
    }

    #[test]
    fn equal_masses_give_the_printed_velocities() {
        let mass = 0.3;
        let mut velocities = vec![DVec3::new(0.0, 0.0, -2.0), DVec3::ZERO, DVec3::ZERO, DVec3::ZERO];
        vertex_on_triangle(0.0).push(0.0, None, &[1.0 / mass; 4], &mut velocities);
        // I = m v_N / 2, I~ = 2 I / (1 + sum w^2), the vertex changes by I~ / m and corner i by w_i I~ / m.
        let adjusted = 2.0 * (mass * 2.0 / 2.0) / (1.0 + 0.375);
        let expected = [-2.0 + adjusted / mass, -0.5 * adjusted / mass, -0.25 * adjusted / mass];
        for (velocity, expected) in velocities.iter().zip(expected) {
            assert!((velocity.z - expected).abs() < 1e-15);
        }
    }

    #[test]
    fn a_prescribed_triangle_stops_the_vertex_and_keeps_still() {
        let mut velocities = vec![DVec3::new(1.0, 0.0, -2.0), DVec3::ZERO, DVec3::ZERO, DVec3::ZERO];
        vertex_on_triangle(0.0).push(0.0, None, &[4.0, 0.0, 0.0, 0.0], &mut velocities);
        assert_eq!(velocities, [DVec3::X, DVec3::ZERO, DVec3::ZERO, DVec3::ZERO]);
    }

    #[test]
    fn friction_slides_above_the_cone_and_sticks_below_it() {
        let inverse_mass = [1.0, 0.0, 0.0, 0.0];
        let mut slipping = vec![DVec3::new(3.0, 0.0, -2.0), DVec3::ZERO, DVec3::ZERO, DVec3::ZERO];
        vertex_on_triangle(0.5).push(0.0, None, &inverse_mass, &mut slipping);
        assert!((slipping[0].x - 2.0).abs() < 1e-15);
        let mut sticking = vec![DVec3::new(0.9, 0.0, -2.0), DVec3::ZERO, DVec3::ZERO, DVec3::ZERO];
        vertex_on_triangle(0.5).push(0.0, None, &inverse_mass, &mut sticking);
        assert_eq!(sticking[0], DVec3::ZERO);
    }

    #[test]
    fn the_spring_never_exceeds_its_speed_limit() {
        let mut velocities = vec![DVec3::ZERO; 4];
        let spring = Spring { overlap: 1e-3, stiffness_step: 1e6, speed_limit: 0.02 };
        vertex_on_triangle(0.0).push(0.0, Some(spring), &[1.0, 2.0, 3.0, 0.0], &mut velocities);
        assert!((vertex_on_triangle(0.0).stencil.apply(&velocities).z - 0.02).abs() < 1e-16);
    }

    #[test]
    fn momentum_is_kept_for_unequal_masses() {
        let masses = [0.1, 0.7, 0.2, 0.4];
        let mut velocities =
            vec![DVec3::new(1.0, 0.3, -2.0), DVec3::X, DVec3::new(0.0, -1.0, 0.5), DVec3::new(0.2, 0.1, 0.9)];
        let momentum = |velocities: &[DVec3]| -> DVec3 { velocities.iter().zip(masses).map(|(v, m)| *v * m).sum() };
        let before = momentum(&velocities);
        vertex_on_triangle(0.3).push(0.1, None, &masses.map(|mass| 1.0 / mass), &mut velocities);
        assert!((momentum(&velocities) - before).length() < 1e-15);
    }
}
