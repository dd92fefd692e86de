//! Rigid bodies in caches: shapes once in `mesh.unsnarl`, placements and motion in every frame.
//!
//! Guarantees: what is read back is what was written, bit for bit. Numbers that a file claims are checked before they
//! are used.

use super::container::{Container, ContainerError};
use super::{Cache, CacheError, MESH, file, read_container};
use crate::scene_file::RigidGroup;
use serde::{Deserialize, Serialize};
use unsnarl::rigid::{Placement, Pressing, RigidState, Wrench};
use unsnarl::state::State;
use unsnarl_geometry::math::DQuat;
use unsnarl_geometry::{DVec3, TriMesh};

/// Rigid bodies of one shape.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RigidInfo {
    /// The name of the group.
    pub name: String,
    /// First row of the section `rigid_state`, and number of rows.
    pub bodies: [usize; 2],
}

pub(super) fn infos(groups: &[RigidGroup]) -> Vec<RigidInfo> {
    let info =
        |group: &RigidGroup| RigidInfo { name: group.name.clone(), bodies: [group.bodies.start, group.bodies.len()] };
    groups.iter().map(info).collect()
}

/// One surface per group.
pub(super) fn push_shapes(container: &mut Container, groups: &[RigidGroup]) {
    for (at, group) in groups.iter().enumerate() {
        container.push_reals(&format!("shape{at}"), group.surface.positions.iter().map(DVec3::to_array));
        container.push_indices(&format!("shape{at}_faces"), group.surface.triangles.iter().copied());
    }
}

/// All that changes of rigid bodies; nothing where there are none.
pub(super) fn push_state(container: &mut Container, state: &State) {
    let RigidState { placements, velocities, angular_momenta, order, random, pressing } = &state.rigid;
    if placements.is_empty() {
        return;
    }
    let row = |at: usize| {
        let (Placement { position, rotation }, velocity, momentum) =
            (placements[at], velocities[at], angular_momenta[at]);
        let mut row = [0.0; 13];
        row[..3].copy_from_slice(&position.to_array());
        row[3..7].copy_from_slice(&rotation.to_array());
        row[7..10].copy_from_slice(&velocity.to_array());
        row[10..].copy_from_slice(&momentum.to_array());
        row
    };
    container.push_reals("rigid_state", (0..placements.len()).map(row));
    container.push_indices("rigid_order", order.iter().map(|&body| [body]));
    container.push_indices("rigid_random", [[(*random >> 32) as u32, *random as u32]].into_iter());
    let of = |&Pressing { bodies: [a, b], key, .. }: &Pressing| [a, b, (key >> 32) as u32, key as u32];
    container.push_indices("rigid_pressed_by", pressing.iter().map(of));
    let force = |at: &Pressing| [at.force.x, at.force.y, at.force.z, at.couple.x, at.couple.y, at.couple.z];
    container.push_reals("rigid_pressing", pressing.iter().map(force));
    let load = |load: &Wrench| {
        let (force, moment) = (load.impulse, load.angular_impulse);
        [force.x, force.y, force.z, moment.x, moment.y, moment.z]
    };
    container.push_reals("rigid_loads", state.loads.iter().map(load));
}

/// Reads what [`push_state`] wrote.
pub(super) fn read_state(container: &Container, state: &mut State) -> Result<(), ContainerError> {
    if !container.has("rigid_state") {
        return Ok(());
    }
    let rows: Vec<[f64; 13]> = container.reals("rigid_state")?;
    let vector = |row: &[f64; 13], at: usize| DVec3::new(row[at], row[at + 1], row[at + 2]);
    let random: Vec<[u32; 2]> = container.indices("rigid_random")?;
    let [high, low] = random.first().copied().unwrap_or_default();
    state.rigid = RigidState {
        placements: rows.iter().map(placement).collect(),
        velocities: rows.iter().map(|row| vector(row, 7)).collect(),
        angular_momenta: rows.iter().map(|row| vector(row, 10)).collect(),
        order: container.indices("rigid_order")?.into_iter().map(|[body]| body).collect(),
        random: (u64::from(high) << 32) | u64::from(low),
        pressing: read_pressing(container)?,
    };
    let loads: Vec<[f64; 6]> = container.reals("rigid_loads")?;
    let wrench =
        |[a, b, c, d, e, f]: [f64; 6]| Wrench { impulse: DVec3::new(a, b, c), angular_impulse: DVec3::new(d, e, f) };
    state.loads = loads.into_iter().map(wrench).collect();
    Ok(())
}

/// What pressed in the last step; nothing in caches from before that was kept.
fn read_pressing(container: &Container) -> Result<Vec<Pressing>, ContainerError> {
    if !container.has("rigid_pressing") {
        return Ok(Vec::new());
    }
    let of: Vec<[u32; 4]> = container.indices("rigid_pressed_by")?;
    let forces: Vec<[f64; 6]> = container.reals("rigid_pressing")?;
    let pressing = |([a, b, high, low], [x, y, z, u, v, w]): ([u32; 4], [f64; 6])| Pressing {
        bodies: [a, b],
        key: (u64::from(high) << 32) | u64::from(low),
        force: DVec3::new(x, y, z),
        couple: DVec3::new(u, v, w),
    };
    Ok(of.into_iter().zip(forces).map(pressing).collect())
}

fn placement(row: &[f64; 13]) -> Placement {
    Placement {
        position: DVec3::new(row[0], row[1], row[2]),
        rotation: DQuat::from_xyzw(row[3], row[4], row[5], row[6]),
    }
}

impl Cache {
    /// The surface of every group of rigid bodies, in the frame of its bodies.
    pub fn rigid_shapes(&self) -> Result<Vec<TriMesh>, CacheError> {
        if self.info.rigid.is_empty() {
            return Ok(Vec::new());
        }
        let path = self.folder.join(MESH);
        let container = read_container(&path)?;
        let mut shapes = Vec::new();
        for at in 0..self.info.rigid.len() {
            let wrong = |error: ContainerError| file(&path, error.to_string());
            let positions: Vec<[f64; 3]> = container.reals(&format!("shape{at}")).map_err(wrong)?;
            let triangles: Vec<[u32; 3]> = container.indices(&format!("shape{at}_faces")).map_err(wrong)?;
            if triangles.iter().flatten().any(|&corner| corner as usize >= positions.len()) {
                return Err(file(&path, format!("the triangles of shape {at} do not fit its points")));
            }
            shapes.push(TriMesh { positions: positions.into_iter().map(DVec3::from_array).collect(), triangles });
        }
        Ok(shapes)
    }

    /// Where the bodies of every group are at a frame.
    pub fn rigid_placements(&self, frame: u32) -> Result<Vec<Vec<Placement>>, CacheError> {
        if self.info.rigid.is_empty() {
            return Ok(Vec::new());
        }
        let path = self.frame_path(frame);
        let container = read_container(&path)?;
        let rows: Vec<[f64; 13]> = container.reals("rigid_state").map_err(|error| file(&path, error.to_string()))?;
        let group = |info: &RigidInfo| {
            let [first, count] = info.bodies;
            let own = first.checked_add(count).and_then(|end| rows.get(first..end));
            Some(own?.iter().map(placement).collect())
        };
        let groups: Option<Vec<Vec<Placement>>> = self.info.rigid.iter().map(group).collect();
        groups.ok_or_else(|| file(&path, format!("{} rigid bodies; cache.json says more", rows.len())))
    }

    /// The vertices of all rigid bodies at a frame, group after group and body after body.
    pub fn rigid_positions(&self, frame: u32, shapes: &[TriMesh]) -> Result<Vec<DVec3>, CacheError> {
        let mut positions = Vec::new();
        for (placements, shape) in self.rigid_placements(frame)?.iter().zip(shapes) {
            for placement in placements {
                positions.extend(shape.positions.iter().map(|&point| placement.to_world(point)));
            }
        }
        Ok(positions)
    }

    /// The triangles of all rigid bodies, by the numbers of [`Cache::rigid_positions`] after a first one.
    pub fn rigid_triangles(&self, shapes: &[TriMesh], first: u32) -> Vec<[u32; 3]> {
        let mut next = first;
        let mut triangles = Vec::new();
        for (info, shape) in self.info.rigid.iter().zip(shapes) {
            for _ in 0..info.bodies[1] {
                triangles.extend(shape.triangles.iter().map(|corners| corners.map(|corner| corner + next)));
                next += shape.positions.len() as u32;
            }
        }
        triangles
    }
}
