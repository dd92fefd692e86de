//! Transform operations of a USD prim.

use unsnarl_geometry::DVec3;
use unsnarl_geometry::math::{DAffine3, DMat3, DQuat};

/// The operations of a prim, and the order in which they apply: the last acts on points first.
#[derive(Default)]
pub(super) struct Xform {
    pub values: Vec<(String, Vec<f64>)>,
    pub order: Vec<String>,
}

/// Most operations of one prim; real ones have a handful.
const MOST_OPERATIONS: usize = 1000;

/// A prim's own transform.
pub(super) struct Local {
    /// From the prim to its parent; `None` when they are the same.
    pub transform: Option<DAffine3>,
    /// Whether the parents' transforms count.
    pub inherits: bool,
}

impl Xform {
    /// Puts the operations together; an operation that is not known is told by its name.
    pub fn local(&self) -> Result<Local, String> {
        let mut local = Local { transform: None, inherits: true };
        if self.order.len() > MOST_OPERATIONS {
            return Err(format!("an xformOpOrder of {} entries", self.order.len()));
        }
        for entry in &self.order {
            if entry == "!resetXformStack!" {
                local = Local { transform: None, inherits: false };
                continue;
            }
            let (operation, inverted) = match entry.strip_prefix("!invert!") {
                Some(operation) => (operation, true),
                None => (entry.as_str(), false),
            };
            let values = self.values.iter().find(|(name, _)| name == operation).map(|(_, values)| values.as_slice());
            let Some(one) = values.and_then(|values| operation_transform(operation, values)) else {
                return Err(entry.clone());
            };
            let one = if inverted { one.inverse() } else { one };
            local.transform = Some(local.transform.map_or(one, |before| before * one));
        }
        Ok(local)
    }
}

fn operation_transform(operation: &str, values: &[f64]) -> Option<DAffine3> {
    let kind = operation.strip_prefix("xformOp:")?.split(':').next()?;
    let vector = || Some(DVec3::new(*values.first()?, *values.get(1)?, *values.get(2)?));
    let turn = |axis: u8, degrees: f64| match axis {
        b'X' => DQuat::from_rotation_x(degrees.to_radians()),
        b'Y' => DQuat::from_rotation_y(degrees.to_radians()),
        _ => DQuat::from_rotation_z(degrees.to_radians()),
    };
    Some(match kind {
        "translate" => DAffine3::from_translation(vector()?),
        "scale" => DAffine3::from_scale(vector()?),
        "orient" => {
            let [w, x, y, z] = *values.first_chunk::<4>()?;
            DAffine3::from_quat(DQuat::from_xyzw(x, y, z, w).normalize())
        }
        "transform" => {
            let rows = values.first_chunk::<16>()?;
            let row = |at: usize| DVec3::new(rows[4 * at], rows[4 * at + 1], rows[4 * at + 2]);
            DAffine3 { matrix3: DMat3::from_cols(row(0), row(1), row(2)), translation: row(3) }
        }
        "rotateX" | "rotateY" | "rotateZ" => DAffine3::from_quat(turn(*kind.as_bytes().last()?, *values.first()?)),
        _ => {
            let axes: [u8; 3] = kind.strip_prefix("rotate")?.as_bytes().try_into().ok()?;
            let angles = vector()?;
            let known = axes.iter().all(|axis| matches!(axis, b'X' | b'Y' | b'Z'));
            let rotation = (0..3).fold(DQuat::IDENTITY, |before, at| {
                // The named order is the order in which the turns act on a point.
                turn(axes[at], angles[usize::from(axes[at].saturating_sub(b'X')).min(2)]) * before
            });
            known.then(|| DAffine3::from_quat(rotation))?
        }
    })
}
