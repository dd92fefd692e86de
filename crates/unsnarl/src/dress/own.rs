//! Garments that cross themselves are untangled alone, before they have to do with others.
//!
//! A sheet that crosses itself has no side there, and what is in its way later makes it harder to untangle. (Buffet
//! 2021, 2.5.4, leaves them out)
//!
//! Guarantees: a component that does not cross itself stays as it is.
//! Does not: promise that nothing of it is left; then the last step sees it again.

use super::layers::Stack;
use crate::analysis::{self, Assembly, Workspace};
use crate::fix::{self, Continue, FixSettings, Patient, Pose, Progress, Stop};
use crate::model::{Cloth, Model, Rest, RestAngles};
use unsnarl_geometry::{DVec3, TriMesh, VertexId};

/// Untangles components that cross themselves; returns how many there were.
pub fn untangle_alone(stack: &Stack, model: &Model, stop: &Stop, positions: &mut [DVec3]) -> usize {
    let mut count = 0;
    for layer in stack.layers.iter().filter(|layer| !layer.is_rigid()) {
        let own = |vertex: VertexId| layer.vertices.binary_search(&vertex.0).ok().map(|at| at as u32);
        let (mut triangles, mut shapes) = (Vec::new(), Vec::new());
        for (corners, shape) in model.topology.triangles().iter().zip(&model.rest_shapes) {
            if let [Some(a), Some(b), Some(c)] = corners.map(own) {
                triangles.push([a, b, c]);
                shapes.push(*shape);
            }
        }
        let places: Vec<DVec3> = layer.vertices.iter().map(|&vertex| positions[vertex as usize]).collect();
        let mesh = TriMesh { positions: places, triangles };
        let Ok(assembly) = Assembly::of_cloth(&layer.name, &mesh) else { continue };
        if analysis::verdict(&assembly, &mesh.positions, &mut Workspace::default()).is_clean() {
            continue;
        }
        count += 1;
        let cloth = Cloth {
            rest: Rest::Shapes(shapes),
            rest_angles: RestAngles::AsLoaded,
            ..Cloth::new(layer.name.clone(), mesh)
        };
        let Ok((model, state)) = Model::build(&[cloth]) else { continue };
        let patient = Patient { model, state, assembly, body_positions: Vec::new() };
        let settings = FixSettings { pose: Pose::Kept, ..FixSettings::default() };
        let late = stop.clone();
        let outcome = fix::untangle_unless(patient, &settings, stop.clone(), &mut |_: &Progress| {
            if late() { Continue::No } else { Continue::Yes }
        });
        for (&vertex, place) in layer.vertices.iter().zip(&outcome.positions) {
            positions[vertex as usize] = *place;
        }
    }
    count
}
