//! Cloth is carried by the field, in substeps that keep lengths. (Buffet 2021, 3.3.3)
//!
//! A vertex keeps its own velocity and adds the change `u~ - u` of the field where it is; in a cell that pushes it
//! takes the field's own velocity across the layers, so that no two of them can cross there. What that misses of the
//! momentum that the solve moved is given to all vertices of the connected part alike, with the air's share: air is
//! forgotten after the step, so what it took would be lost. After every substep passes over the
//! edges that were touched give them the lengths that the proposed motion has at that time.
//!
//! Guarantees: vertices that nothing changes keep their proposal bit for bit; held ones too.
//! Departs: published, cloth takes the field everywhere, which smooths motion and glues layers (`transfer = "field"`).

use super::localise::{NO_PART, NO_ROW, Rows, cell_number};
use super::rasterise::Raster;
use super::settings::{FieldDivergence, FieldSettings, FieldStencil, FieldTransfer};
use crate::contact::ContactInput;
use crate::geometry::{DMat3, DVec3, VertexId};
use crate::model::Model;
use rayon::prelude::*;

/// The field before and after the solve.
pub struct Change<'a> {
    pub raster: &'a Raster,
    pub after: &'a [DVec3],
    pub rows: &'a Rows,
    /// The row that pushes in the cell of every node.
    pub pushing: &'a [u32],
}

/// Where cloth is carried, and which vertices that moves away from their proposal.
pub struct Carried {
    pub positions: Vec<DVec3>,
    pub is_changed: Vec<bool>,
}

/// Carries the cloth of a step.
pub fn carry(input: &ContactInput, model: &Model, change: &Change, settings: &FieldSettings) -> Carried {
    let count = model.masses.len();
    let own: Vec<DVec3> = (0..count).map(|at| (input.end[at] - input.start[at]) / input.step).collect();
    let differences: Vec<DVec3> =
        change.after.iter().zip(&change.raster.velocities).map(|(after, before)| *after - *before).collect();
    let mut positions = input.start[..count].to_vec();
    let mut is_changed = vec![false; count];
    let length = input.step / f64::from(settings.substeps);
    for substep in 1..=settings.substeps {
        let moved = |at: usize| {
            if input.inverse_mass[at] == 0.0 {
                return None;
            }
            let wanted = velocity(change, &differences, positions[at], own[at], settings)?;
            // Within a substep nothing is carried further than to the next node beyond its own motion.
            let most = change.raster.nodes.spacing() / length;
            Some(own[at] + (wanted - own[at]).clamp_length_max(most))
        };
        let velocities: Vec<Option<DVec3>> = (0..count).into_par_iter().with_min_len(256).map(moved).collect();
        for (at, velocity) in velocities.into_iter().enumerate() {
            is_changed[at] |= velocity.is_some();
            positions[at] += velocity.unwrap_or(own[at]) * length;
        }
        let proposed = |at: usize| input.start[at] + own[at] * (length * f64::from(substep));
        keep_lengths(input, model, settings.length_passes, proposed, (&mut positions, &mut is_changed));
    }
    for at in (0..count).filter(|&at| !is_changed[at]) {
        positions[at] = input.end[at];
    }
    if settings.transfer == FieldTransfer::Change {
        return_momentum(input, model, change, &is_changed, &mut positions);
    }
    Carried { positions, is_changed }
}

/// How a vertex moves that the field changes; `None` where it does not.
fn velocity(
    change: &Change,
    differences: &[DVec3],
    point: DVec3,
    own: DVec3,
    settings: &FieldSettings,
) -> Option<DVec3> {
    let corners = change.raster.nodes.corners(point);
    if settings.transfer == FieldTransfer::Field {
        return corners.interpolate(change.after);
    }
    let added = corners.sum(differences);
    let row = cell_number(&corners.nodes).map_or(NO_ROW, |number| change.pushing[number]);
    if row == NO_ROW {
        return (added != DVec3::ZERO).then(|| own + added);
    }
    let kept = own + added;
    let field = corners.interpolate(change.after)?;
    // Rows of nodes say nothing of the directions in a cell.
    let is_whole = settings.stencil == FieldStencil::Central || settings.divergence == FieldDivergence::Isotropic;
    let across = if is_whole { DMat3::IDENTITY } else { change.rows.across[row as usize] };
    Some(kept + across * (field - kept))
}

/// Gives edges beside changed vertices the lengths of the proposed motion, one after the other.
fn keep_lengths(
    input: &ContactInput,
    model: &Model,
    passes: u32,
    proposed: impl Fn(usize) -> DVec3 + Sync,
    (positions, is_changed): (&mut [DVec3], &mut [bool]),
) {
    if passes == 0 {
        return;
    }
    let is_near = |edge: &&[VertexId; 2]| edge.iter().any(|vertex| is_changed[vertex.index()]);
    let wanted = |edge: &[VertexId; 2]| {
        let [a, b] = edge.map(|vertex| vertex.index());
        (a, b, proposed(a).distance(proposed(b)))
    };
    let edges: Vec<(usize, usize, f64)> = model.topology.edges().par_iter().filter(is_near).map(wanted).collect();
    for _ in 0..passes {
        for &(a, b, length) in &edges {
            let [at_a, at_b] = [a, b].map(|at| input.inverse_mass[at]);
            let way = positions[b] - positions[a];
            let now = way.length();
            if at_a + at_b == 0.0 || now == 0.0 || now == length {
                continue;
            }
            let correction = way * ((now - length) / (now * (at_a + at_b)));
            positions[a] += correction * at_a;
            positions[b] -= correction * at_b;
            is_changed[a] |= at_a > 0.0;
            is_changed[b] |= at_b > 0.0;
        }
    }
}

/// Shifts the changed vertices of every part of the grid so that together they took what the solve gave to cloth and
/// air: nothing, unless bodies took part.
fn return_momentum(input: &ContactInput, model: &Model, change: &Change, is_changed: &[bool], positions: &mut [DVec3]) {
    let (raster, parts) = (change.raster, &change.rows.part_of_node);
    let mut missing = vec![DVec3::ZERO; change.rows.components];
    let mut masses = vec![0.0; change.rows.components];
    for (node, &part) in parts.iter().enumerate().filter(|(_, part)| **part != NO_PART) {
        if raster.inverse_masses[node] > 0.0 {
            missing[part as usize] += (change.after[node] - raster.velocities[node]) / raster.inverse_masses[node];
        }
    }
    let changed = (0..model.masses.len()).filter(|&at| is_changed[at]);
    // Fast cloth comes from outside of the part that stops it.
    let part = |at: usize| part_of(change, input.start[at]).or_else(|| part_of(change, positions[at]));
    let of_part: Vec<(usize, usize)> = changed.filter_map(|at| Some((at, part(at)?))).collect();
    for &(at, part) in &of_part {
        missing[part] -= (positions[at] - input.end[at]) * (model.masses[at] / input.step);
        masses[part] += model.masses[at];
    }
    for (at, part) in of_part {
        positions[at] += missing[part] * (input.step / masses[part]);
    }
}

/// The part of the corner that counts most at a point.
fn part_of(change: &Change, point: DVec3) -> Option<usize> {
    let corners = change.raster.nodes.corners(point);
    let known = corners.nodes.iter().zip(corners.weights).filter_map(|(node, weight)| Some(((*node)?, weight)));
    let of_parts = known.map(|(node, weight)| (change.rows.part_of_node[node as usize], weight));
    let heaviest = of_parts.filter(|(part, _)| *part != NO_PART).max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(heaviest.0 as usize)
}
