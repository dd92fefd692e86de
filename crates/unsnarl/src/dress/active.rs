//! Which layers act at a point, and what they ask there.
//!
//! A layer is seen at its nearest triangle that looks the same way as the point's own cloth: within a sleeve that lies
//! beside the torso of another layer the torso does not count, and cloth between two limbs stays with its own. It acts
//! fully where the foot lies within its border, and less and less past it (Buffet 2021, 2.4.1, with a fade in place of
//! the step at the border), and near the reach. What is farther away may belong to another limb: it acts only where
//! both lie over the same place of the bodies.
//!
//! Guarantees: shares are between 0 and 1, and continuous where the foot is.
//! Departs: thickness counts with the same share, so that the fit is continuous.

use super::layers::{Layer, Stack};
use super::operator::{Block, Entry, block_of, fit};
use unsnarl_geometry::{DVec3, TriangleId};
use unsnarl_volume::SheetQuery;

/// How far layers are seen, metres.
#[derive(Clone, Copy, Debug)]
pub struct Scope {
    /// As far as this.
    pub reach: f64,
    /// Past a border the share goes to 0 over this.
    pub fade: f64,
}

/// A layer as a point sees it.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Its number in the stack.
    pub layer: usize,
    /// Signed distance, metres.
    pub value: f64,
    /// Its gradient, of length 1.
    pub gradient: DVec3,
    /// How much it acts, above 0 and at most 1.
    pub share: f64,
    /// The triangle with the foot.
    pub triangle: TriangleId,
    /// Where in it the foot is.
    pub weights: [f64; 3],
    /// The depth of its middle over the innermost layer that acts, metres.
    pub depth: f64,
}

impl Seen {
    /// A layer as seen from a point of its own.
    pub fn at_home(layer: usize, gradient: DVec3) -> Self {
        let (triangle, weights) = (TriangleId(0), [0.0; 3]);
        Self { layer, value: 0.0, gradient, share: 1.0, triangle, weights, depth: 0.0 }
    }
}

/// Layers nearer than this are taken to be of the same limb without a look at bodies, metres.
const NEAR: f64 = 0.015;
/// Two points are of one limb where their feet on the bodies are nearer to each other than this share of their
/// distance.
const TOGETHER: f64 = 0.7;

/// How a point sees a layer; `None` where it does not act.
pub fn see(stack: &Stack, layer: usize, point: DVec3, query: &SheetQuery, scope: Scope) -> Option<Seen> {
    let own = &stack.layers[layer];
    let sight = own.sight(point, query)?;
    let mut share = 1.0;
    if sight.past_border > 0.0 {
        share *= falling(sight.past_border / scope.fade.max(f64::MIN_POSITIVE));
    }
    share *= falling((sight.value.abs() / scope.reach - 0.75) / 0.25);
    if share <= 0.0 {
        return None;
    }
    if let Some(bodies) = stack.bodies().filter(|_| !own.is_rigid() && sight.value.abs() > NEAR)
        && !are_of_one_limb(bodies, [point, point - sight.value * sight.gradient], scope.reach)
    {
        return None;
    }
    let (value, gradient) = (sight.value, sight.gradient);
    Some(Seen { layer, value, gradient, share, triangle: sight.triangle, weights: sight.weights, depth: 0.0 })
}

/// Whether two points lie over the same place of the bodies: their feet there are nearer to each other than they are
/// themselves.
fn are_of_one_limb(bodies: &Layer, [point, other]: [DVec3; 2], reach: f64) -> bool {
    let query = SheetQuery { reach: 2.0 * reach, facing: None, hint: None };
    let foot = |point: DVec3| bodies.sight(point, &query).map(|sight| bodies.foot(sight.triangle, sight.weights));
    match (foot(point), foot(other)) {
        (Some(first), Some(second)) => first.distance(second) < TOGETHER * point.distance(other),
        _ => true,
    }
}

/// What a point last saw of a layer.
#[derive(Clone, Copy, Debug, Default)]
pub enum Glance {
    /// It has not looked yet.
    #[default]
    Never,
    /// Nothing acted, seen from here.
    Nothing(DVec3),
    /// It saw this from the first place, with the foot at the second one.
    Something(Seen, [DVec3; 2]),
}

/// As [`see`], from what was seen last where neither the point nor the foot has moved farther than a share of the
/// reach: then the value goes with the gradient.
pub fn see_again(
    stack: &Stack,
    layer: usize,
    (point, facing): (DVec3, DVec3),
    scope: Scope,
    glance: &mut Glance,
) -> Option<Seen> {
    const STILL: f64 = 0.0125;
    const FAR: f64 = 0.05;
    let own = &stack.layers[layer];
    let mut hint = None;
    match *glance {
        Glance::Nothing(from) if from.distance(point) < FAR * scope.reach => return None,
        Glance::Something(seen, [from, foot]) => {
            let now = own.foot(seen.triangle, seen.weights);
            let (way, foot_way) = (point - from, now - foot);
            if way.length().max(foot_way.length()) < STILL * scope.reach {
                return Some(Seen { value: seen.value + seen.gradient.dot(way - foot_way), ..seen });
            }
            hint = Some(seen.triangle);
        }
        _ => {}
    }
    let query = SheetQuery { reach: scope.reach, facing: Some(facing), hint };
    let found = see(stack, layer, point, &query, scope);
    *glance = match found {
        Some(seen) => Glance::Something(seen, [point, own.foot(seen.triangle, seen.weights)]),
        None => Glance::Nothing(point),
    };
    found
}

/// From 1 at 0 to 0 at 1, with flat ends.
fn falling(at: f64) -> f64 {
    let at = at.clamp(0.0, 1.0);
    1.0 - at * at * (3.0 - 2.0 * at)
}

/// Gives layers that act at a point their depths: half of both thicknesses from one to the next, each as far as it
/// acts.
pub fn find_depths(stack: &Stack, seen: &mut [Seen]) {
    let mut depth = 0.0;
    let mut last: Option<f64> = None;
    for entry in seen {
        let half = 0.5 * entry.share * stack.layers[entry.layer].thickness;
        if let Some(last) = last {
            depth += last + half;
        }
        entry.depth = depth;
        last = Some(half);
    }
}

/// The deformed field of a layer at a point.
#[derive(Clone, Copy, Debug)]
pub struct Deformed {
    /// Its value, metres.
    pub value: f64,
    /// Its gradient.
    pub gradient: DVec3,
    /// How many layers are pooled.
    pub pooled: usize,
}

/// The field of `layer` once all layers that act here are in order; `None` where it is not seen itself.
pub fn deformed(stack: &Stack, layer: usize, seen: &mut [Seen], memory: &mut Memory) -> Option<Deformed> {
    find_depths(stack, seen);
    let own = seen.iter().position(|entry| entry.layer == layer)?;
    let weight = |entry: &Seen| match stack.layers[entry.layer].weight {
        weight if weight.is_infinite() => weight,
        weight => weight * entry.share.max(1e-6),
    };
    memory.entries.clear();
    memory.entries.extend(seen.iter().map(|entry| Entry { level: entry.value + entry.depth, weight: weight(entry) }));
    fit(&memory.entries, &mut memory.blocks);
    let block = block_of(&memory.blocks, own)?;
    let value = block.value - seen[own].depth;
    let gradient = match block.rigid {
        Some(rigid) => seen[rigid].gradient,
        None => {
            let run = &seen[block.first..block.end];
            let total: f64 = run.iter().map(weight).sum();
            run.iter().map(|entry| weight(entry) / total * entry.gradient).sum()
        }
    };
    Some(Deformed { value, gradient, pooled: block.len() })
}

/// Memory that is used again from point to point.
#[derive(Default)]
pub struct Memory {
    entries: Vec<Entry>,
    blocks: Vec<Block>,
}
