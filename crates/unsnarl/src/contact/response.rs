//! Impulses between two points of the cloth, shared out to the four vertices. (Bridson 2003, 2.5 to 2.7)
//!
//! With an impulse `J` along the stencil, vertex `i` changes by `w_i J / m_i` and the relative velocity by
//! `J sum(w_i^2 / m_i)`; for equal masses these are the printed formulas with `J = 2 I / sum(w_i^2)`.
//!
//! Guarantees: linear momentum of free vertices is kept, for the weights sum to zero; prescribed vertices are not
//! moved.

use super::ContactInput;
use crate::dynamics::Support;
use crate::geometry::ccd::ElementPair;
use crate::geometry::{DVec3, Stencil};

/// A contact point between two elements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contact {
    pub stencil: Stencil,
    /// From the second element to the first, length 1.
    pub normal: DVec3,
    pub friction: f64,
}

/// What a contact has done to the relative velocity of its points so far, m/s.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Given {
    /// Along the normal to reach a target; it is given back where it is no longer needed.
    pub pushed: f64,
    /// Along the normal by springs.
    pub sprung: f64,
    /// Square to it.
    pub rubbed: DVec3,
}

impl Given {
    /// All along the normal.
    pub(super) fn along_normal(&self) -> f64 {
        self.pushed + self.sprung
    }
}

/// How contacts take turns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Manner {
    /// Whether what was pushed too far before is given back.
    pub gives_back: bool,
    /// Changes of a relative velocity up to this are not made, m/s.
    pub negligible: f64,
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
    /// Raises the separating speed to at least `target`, gives back what was pushed too far before if it may, adds the
    /// spring where it is slower than the spring's limit, and lets friction follow: all that was rubbed stays below the
    /// friction times all that was pushed. Returns by how much the relative velocity changes.
    ///
    /// The spring's impulse is `min(k d dt, m (0.1 d / dt - v_N) / 2)` in the document's terms: the 1/2 makes the speed
    /// limit the speed that is reached.
    pub(super) fn push(
        &self,
        (target, spring): (f64, Option<Spring>),
        manner: Manner,
        given: &mut Given,
        inverse_mass: &[f64],
        velocities: &mut [DVec3],
    ) -> f64 {
        let relative = self.stencil.apply(velocities);
        let before = relative.dot(self.normal);
        if before >= target && spring.is_none() && *given == Given::default() {
            return 0.0;
        }
        let compliance = self.stencil.compliance(inverse_mass);
        if compliance <= 0.0 {
            return 0.0;
        }
        let change = (target - before).max(if manner.gives_back { -given.pushed } else { 0.0 });
        let mut sprung = 0.0;
        if let Some(spring) = spring.filter(|spring| before + change < spring.speed_limit) {
            let weight_squares: f64 = self.stencil.weights.iter().map(|weight| weight * weight).sum();
            let pushed = 2.0 * spring.stiffness_step * spring.overlap / weight_squares * compliance;
            sprung = pushed.min(spring.speed_limit - (before + change));
        }
        let mut next = Given { pushed: given.pushed + change, sprung: given.sprung + sprung, rubbed: given.rubbed };
        let wanted = given.rubbed - (relative - self.normal * before);
        next.rubbed = wanted.clamp_length_max(self.friction * next.along_normal());
        let rubbed = next.rubbed - given.rubbed;
        let size = (change + sprung).abs().max(rubbed.length());
        if size <= manner.negligible {
            return 0.0;
        }
        *given = next;
        self.apply((self.normal * (change + sprung) + rubbed) / compliance, inverse_mass, velocities);
        size
    }

    /// The support that this contact gives where one of its sides is free and the other prescribed.
    pub(super) fn support(&self, input: &ContactInput, pair: ElementPair, gap: f64) -> Option<Support> {
        let Stencil { vertices, weights } = self.stencil;
        let first_count = pair.first_count();
        let is_free = |k: usize| input.inverse_mass[vertices[k].index()] > 0.0;
        let (first, second) = ((0..first_count), (first_count..4));
        let (cloth, body, sign) = match (first.clone().all(is_free), second.clone().all(is_free)) {
            (true, false) if !second.clone().any(is_free) => (first, second, 1.0),
            (false, true) if !first.clone().any(is_free) => (second, first, -1.0),
            _ => return None,
        };
        let corner = |k: usize| cloth.clone().nth(k).unwrap_or(cloth.start);
        let share = |k: usize| if k < cloth.len() { weights[corner(k)].abs() } else { 0.0 };
        let bearer = |k: usize| body.clone().nth(k).unwrap_or(body.start);
        let of_body =
            |values: &[DVec3]| body.clone().map(|k| values[vertices[k].index()] * weights[k].abs()).sum::<DVec3>();
        let (normal, place) = (self.normal * sign, of_body(input.end));
        Some(Support {
            vertices: [0, 1, 2].map(|k| vertices[corner(k)]),
            weights: [0, 1, 2].map(share),
            normal,
            offset: normal.dot(place) + gap,
            friction: self.friction,
            carried: place - of_body(input.start),
            bearers: [0, 1, 2].map(|k| vertices[bearer(k)]),
            shares: [0, 1, 2].map(|k| if k < body.len() { weights[bearer(k)].abs() } else { 0.0 }),
            stiffness: None,
        })
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
        vertex_on_triangle(0.0).push(
            (0.0, None),
            Manner::default(),
            &mut Given::default(),
            &[1.0 / mass; 4],
            &mut velocities,
        );
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
        vertex_on_triangle(0.0).push(
            (0.0, None),
            Manner::default(),
            &mut Given::default(),
            &[4.0, 0.0, 0.0, 0.0],
            &mut velocities,
        );
        assert_eq!(velocities, [DVec3::X, DVec3::ZERO, DVec3::ZERO, DVec3::ZERO]);
    }

    #[test]
    fn friction_slides_above_the_cone_and_sticks_below_it() {
        let inverse_mass = [1.0, 0.0, 0.0, 0.0];
        let mut slipping = vec![DVec3::new(3.0, 0.0, -2.0), DVec3::ZERO, DVec3::ZERO, DVec3::ZERO];
        vertex_on_triangle(0.5).push(
            (0.0, None),
            Manner::default(),
            &mut Given::default(),
            &inverse_mass,
            &mut slipping,
        );
        assert!((slipping[0].x - 2.0).abs() < 1e-15);
        let mut sticking = vec![DVec3::new(0.9, 0.0, -2.0), DVec3::ZERO, DVec3::ZERO, DVec3::ZERO];
        vertex_on_triangle(0.5).push(
            (0.0, None),
            Manner::default(),
            &mut Given::default(),
            &inverse_mass,
            &mut sticking,
        );
        assert_eq!(sticking[0], DVec3::ZERO);
    }

    #[test]
    fn friction_of_later_passes_draws_on_what_was_pushed_before() {
        let (inverse_mass, contact) = ([1.0, 0.0, 0.0, 0.0], vertex_on_triangle(0.5));
        let mut velocities = vec![DVec3::new(0.3, 0.0, -2.0), DVec3::ZERO, DVec3::ZERO, DVec3::ZERO];
        let mut given = Given::default();
        contact.push((0.0, None), Manner::default(), &mut given, &inverse_mass, &mut velocities);
        // Something else drags the vertex along; of the strength 1, 0.3 are used up.
        for (drag, left) in [(0.5, 0.0), (0.5, 0.3)] {
            velocities[0].x += drag;
            contact.push((0.0, None), Manner::default(), &mut given, &inverse_mass, &mut velocities);
            assert!((velocities[0].x - left).abs() < 1e-15, "{velocities:?}");
        }
    }

    #[test]
    fn the_spring_never_exceeds_its_speed_limit() {
        let mut velocities = vec![DVec3::ZERO; 4];
        let spring = Spring { overlap: 1e-3, stiffness_step: 1e6, speed_limit: 0.02 };
        vertex_on_triangle(0.0).push(
            (0.0, Some(spring)),
            Manner::default(),
            &mut Given::default(),
            &[1.0, 2.0, 3.0, 0.0],
            &mut velocities,
        );
        assert!((vertex_on_triangle(0.0).stencil.apply(&velocities).z - 0.02).abs() < 1e-16);
    }

    #[test]
    fn momentum_is_kept_for_unequal_masses() {
        let masses = [0.1, 0.7, 0.2, 0.4];
        let mut velocities =
            vec![DVec3::new(1.0, 0.3, -2.0), DVec3::X, DVec3::new(0.0, -1.0, 0.5), DVec3::new(0.2, 0.1, 0.9)];
        let momentum = |velocities: &[DVec3]| -> DVec3 { velocities.iter().zip(masses).map(|(v, m)| *v * m).sum() };
        let before = momentum(&velocities);
        vertex_on_triangle(0.3).push(
            (0.1, None),
            Manner::default(),
            &mut Given::default(),
            &masses.map(|mass| 1.0 / mass),
            &mut velocities,
        );
        assert!((momentum(&velocities) - before).length() < 1e-15);
    }
}
