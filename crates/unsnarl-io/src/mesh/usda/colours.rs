//! Colours of the vertices of a USD mesh: `primvars:displayColor`, per vertex or per corner, indexed or not.
//!
//! Guarantees: a mesh whose colours are damaged is read without them.
//! Does not: read colours of faces or of a whole mesh, nor those that change over time. A vertex whose corners have
//! different colours gets their mean.

use super::parser::MeshData;
use unsnarl_geometry::DVec3;

/// The property that holds colours.
pub(super) const COLOURS: &str = "primvars:displayColor";

/// Colours as a file has them.
#[derive(Default)]
pub(super) struct ColourData {
    pub values: Vec<f64>,
    pub indices: Option<Vec<i64>>,
    pub interpolation: String,
}

/// Whether a property holds colours or their indices.
pub(super) fn is_colour(property: &str) -> bool {
    property.strip_suffix(":indices").unwrap_or(property) == COLOURS
}

/// The colours of the points of a mesh, if every one has a colour.
pub(super) fn of_points(mesh: &MeshData) -> Option<Vec<DVec3>> {
    let (values, rest) = mesh.colours.values.as_chunks::<3>();
    let colour = |at: usize| -> Option<DVec3> {
        let value = match &mesh.colours.indices {
            None => at,
            Some(indices) => usize::try_from(*indices.get(at)?).ok()?,
        };
        values.get(value).map(|&value| DVec3::from_array(value)).filter(|value| value.is_finite())
    };
    match mesh.colours.interpolation.as_str() {
        _ if values.is_empty() || !rest.is_empty() => None,
        "vertex" | "varying" => (0..mesh.points.len()).map(colour).collect(),
        "faceVarying" => {
            let mut sums = vec![(DVec3::ZERO, 0.0); mesh.points.len()];
            for (corner, &point) in mesh.face_indices.iter().enumerate() {
                let (sum, count) = sums.get_mut(usize::try_from(point).ok()?)?;
                *sum += colour(corner)?;
                *count += 1.0;
            }
            Some(sums.into_iter().map(|(sum, count)| if count > 0.0 { sum / count } else { DVec3::ONE }).collect())
        }
        _ => None,
    }
}
