//! What a viewer sees of a level set, block by block, and what changed since it was last told.
//!
//! Blocks outside the view are left out; a block that is small on the screen is one splat, a nearer one a splat for every
//! cell, a near one a mesh. (Bridson 2003, 6.2) The viewer is told differences: blocks that appeared, changed form or
//! shape, or left. The set keeps below a budget of vertices; the farthest blocks drop a form first.
//!
//! Guarantees: after [`ViewSet::next`] has nothing left, the viewer holds every block of the surface in view, in its
//! form and as it is; differences are the same on any number of threads.
//! Departs: the source makes all blocks anew for every frame.

use super::LevelSet;
use super::extract::{BlockMesh, BlockMesher};
use super::splats::CELL_RADIUS;
use crate::grid::BlockCoordinates;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use unsnarl_geometry::DVec3;

/// An eye.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// Where it is, metres.
    pub eye: DVec3,
    /// Where it looks; length one.
    pub forward: DVec3,
    /// What is up in the picture; length one, across `forward`.
    pub up: DVec3,
    /// The angle between the lower and the upper edge of the picture, radians.
    pub field_of_view: f64,
    /// The size of the picture, pixels.
    pub pixels: [f64; 2],
}

/// The rules by which blocks get their forms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ViewRules {
    /// A block smaller than this on the screen is one splat, pixels.
    pub splat_below: f64,
    /// A block whose cells are smaller than this is a splat for each cell, pixels.
    pub cells_below: f64,
    /// The most vertices and splats in all.
    pub budget: usize,
}

impl Default for ViewRules {
    fn default() -> Self {
        Self { splat_below: 2.0, cells_below: 1.5, budget: 1_500_000 }
    }
}

/// How a block is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// One splat.
    Splat,
    /// A splat for each cell.
    Cells,
    /// Triangles.
    Triangles,
}

/// A block as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownBlock {
    /// The block.
    pub block: BlockCoordinates,
    /// Its form.
    pub form: Form,
    /// Vertices, or the middles of splats; empty if the surface does not pass through the block.
    pub mesh: BlockMesh,
    /// The radius of the splats, metres; 0 for triangles.
    pub radius: f64,
    /// How many splats the block has as cells, whatever its form.
    pub cells: usize,
}

/// What changed since the viewer was last told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Difference {
    /// Blocks to forget.
    pub gone: Vec<BlockCoordinates>,
    /// Blocks to show, instead of what was shown of them.
    pub shown: Vec<ShownBlock>,
}

/// What the viewer holds of a block.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Held {
    form: Form,
    /// Vertices or splats; 0 where the surface does not pass.
    count: u32,
    /// Splats that it has as cells.
    cells: u32,
}

/// What a viewer sees; see the module.
#[derive(Clone, Debug, Default)]
pub struct ViewSet {
    rules: ViewRules,
    camera: Option<Camera>,
    held: FxHashMap<BlockCoordinates, Held>,
    /// Forms that were asked for and not told yet.
    wanted: FxHashMap<BlockCoordinates, Form>,
    /// The blocks of `wanted` in order, the last first.
    queue: Vec<BlockCoordinates>,
    gone: BTreeSet<BlockCoordinates>,
}

/// How far a size must pass a limit before the form changes back.
const HYSTERESIS: f64 = 1.15;

impl ViewSet {
    /// An empty view.
    pub fn new(rules: ViewRules) -> Self {
        Self { rules, ..Self::default() }
    }

    /// Forgets what the viewer holds, as after a change of resolution.
    pub fn clear(&mut self) {
        self.gone.extend(self.held.keys().copied());
        self.held.clear();
        self.wanted.clear();
        self.queue.clear();
    }

    /// Vertices and splats that the viewer holds.
    pub fn vertex_count(&self) -> usize {
        self.held.values().map(|held| held.count as usize).sum()
    }

    /// Blocks of each form that the viewer holds, those without surface left out.
    pub fn forms(&self) -> BTreeMap<Form, usize> {
        let mut forms = BTreeMap::new();
        for held in self.held.values().filter(|held| held.count > 0) {
            *forms.entry(held.form).or_insert(0) += 1;
        }
        forms
    }

    /// Whether the viewer has been told everything.
    pub fn is_settled(&self) -> bool {
        self.queue.is_empty() && self.gone.is_empty()
    }

    /// Looks from another place: decides the forms of all blocks anew. Nearest blocks are told first.
    pub fn look(&mut self, level_set: &LevelSet, camera: Camera) {
        self.camera = Some(camera);
        let lens = Lens::new(level_set, &camera);
        let blocks = level_set.grid.blocks();
        let mut seen: Vec<(f32, BlockCoordinates, Form)> = blocks
            .par_iter()
            .filter_map(|&block| {
                let depth = lens.depth(block)?;
                Some((depth as f32, block, self.form(&lens, depth, self.held.get(&block))))
            })
            .collect();
        seen.par_sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        self.keep_budget(level_set, &mut seen);
        self.wanted.clear();
        self.queue.clear();
        for &(_, block, form) in seen.iter().rev() {
            match self.held.get(&block) {
                Some(held) if held.form == form || held.count == 0 => {}
                _ => {
                    self.wanted.insert(block, form);
                    self.queue.push(block);
                }
            }
        }
        let in_view: rustc_hash::FxHashSet<BlockCoordinates> = seen.iter().map(|(_, block, _)| *block).collect();
        let left: Vec<BlockCoordinates> = self.held.keys().filter(|block| !in_view.contains(*block)).copied().collect();
        for block in left {
            self.forget(block);
        }
    }

    /// Tells the viewer of blocks that changed, and of those beside them, before anything else.
    pub fn touch(&mut self, level_set: &LevelSet, changed: &[BlockCoordinates]) {
        let Some(camera) = self.camera else { return };
        let lens = Lens::new(level_set, &camera);
        let mut around = BTreeSet::new();
        for block in changed {
            for place in 0..27 {
                let step = [place % 3 - 1, place / 3 % 3 - 1, place / 9 - 1];
                around.insert([0, 1, 2].map(|axis| block[axis] + step[axis]));
            }
        }
        for block in around.into_iter().rev() {
            if level_set.grid.slot(block).is_none() {
                self.forget(block);
                self.wanted.remove(&block);
            } else if let Some(depth) = lens.depth(block) {
                let form = match self.held.get(&block) {
                    Some(held) if held.count > 0 => held.form,
                    _ => self.form(&lens, depth, None),
                };
                self.wanted.insert(block, form);
                self.queue.push(block);
            } else {
                self.forget(block);
            }
        }
    }

    /// The next difference, of at most a number of blocks.
    pub fn next(&mut self, level_set: &LevelSet, most: usize) -> Difference {
        let mut batch = Vec::new();
        while let Some(block) = self.queue.pop() {
            // A block that was touched stands in the queue twice.
            if let Some(form) = self.wanted.remove(&block)
                && level_set.grid.slot(block).is_some()
            {
                batch.push((block, form));
                if batch.len() == most {
                    break;
                }
            }
        }
        let made: Vec<ShownBlock> = batch
            .par_iter()
            .with_min_len(16)
            .map_init(|| BlockMesher::new(level_set), |mesher, &(block, form)| show(mesher, block, form))
            .collect();
        let mut difference = Difference { gone: std::mem::take(&mut self.gone).into_iter().collect(), shown: made };
        for shown in &difference.shown {
            let (count, cells) = (shown.mesh.positions.len() as u32, shown.cells as u32);
            let held = Held { form: shown.form, count, cells };
            self.held.insert(shown.block, held);
        }
        difference.gone.retain(|block| !self.held.contains_key(block));
        difference
    }

    fn forget(&mut self, block: BlockCoordinates) {
        if let Some(held) = self.held.remove(&block)
            && held.count > 0
        {
            self.gone.insert(block);
        }
    }

    fn form(&self, lens: &Lens, depth: f64, held: Option<&Held>) -> Form {
        let cell = lens.pixels_per_metre / depth * lens.spacing;
        let block = cell * lens.block_samples;
        // A block keeps its form until its size is clearly beyond the limit.
        let stay = |form: Form, limit: f64| match held {
            Some(held) if held.count > 0 && held.form >= form => limit / HYSTERESIS,
            _ => limit,
        };
        if block < stay(Form::Cells, self.rules.splat_below) {
            Form::Splat
        } else if cell < stay(Form::Triangles, self.rules.cells_below) {
            Form::Cells
        } else {
            Form::Triangles
        }
    }

    /// Farthest blocks drop a form until the budget holds: first meshes to cells, then cells to splats.
    fn keep_budget(&self, level_set: &LevelSet, seen: &mut [(f32, BlockCoordinates, Form)]) {
        let area = level_set.grid.width().samples().pow(2);
        // In halves: of the blocks that were never looked at, about half have no surface. Borders of meshes count twice.
        let cost = |block: &BlockCoordinates, form: Form| {
            let (cells, halves) = self.held.get(block).map_or((area, 1), |held| (held.cells as usize, 2));
            match form {
                _ if cells == 0 => 0,
                Form::Splat => halves,
                Form::Cells => halves * cells,
                Form::Triangles => halves * (cells + cells.div_ceil(3)),
            }
        };
        let mut total: usize = seen.iter().map(|(_, block, form)| cost(block, *form)).sum();
        for (from, to) in [(Form::Triangles, Form::Cells), (Form::Cells, Form::Splat)] {
            for (_, block, form) in seen.iter_mut().rev().filter(|(.., form)| *form == from) {
                if total <= 2 * self.rules.budget {
                    return;
                }
                total -= cost(block, from).saturating_sub(cost(block, to)).min(total);
                *form = to;
            }
        }
    }
}

/// A block in a form.
fn show(mesher: &mut BlockMesher, block: BlockCoordinates, form: Form) -> ShownBlock {
    let level_set = mesher.level_set();
    if form == Form::Triangles {
        let mesh = mesher.mesh(block);
        let cells = mesher.own_cell_count();
        return ShownBlock { block, form, mesh, radius: 0.0, cells };
    }
    let vertices = mesher.vertices(block);
    let cells = vertices.positions.len();
    if form == Form::Cells {
        return ShownBlock { block, form, mesh: vertices, radius: CELL_RADIUS * level_set.frame.spacing, cells };
    }
    match level_set.block_splat(&vertices) {
        Some(splat) => {
            let mesh = BlockMesh { positions: vec![splat.position], normals: vec![splat.normal], triangles: vec![] };
            ShownBlock { block, form, mesh, radius: splat.radius, cells }
        }
        None => ShownBlock { block, form, mesh: BlockMesh::default(), radius: 0.0, cells: 0 },
    }
}

/// A camera, ready to be asked about blocks.
struct Lens {
    eye: DVec3,
    forward: DVec3,
    /// Inward normals of the four sides of the view.
    sides: [DVec3; 4],
    pixels_per_metre: f64,
    spacing: f64,
    block_samples: f64,
    origin: DVec3,
}

impl Lens {
    fn new(level_set: &LevelSet, camera: &Camera) -> Self {
        let slope = (0.5 * camera.field_of_view).tan();
        let aspect = camera.pixels[0] / camera.pixels[1];
        let right = camera.forward.cross(camera.up);
        let side = |across: DVec3, slope: f64| (camera.forward * slope + across).normalize_or_zero();
        Self {
            eye: camera.eye,
            forward: camera.forward,
            sides: [
                side(right, slope * aspect),
                side(-right, slope * aspect),
                side(camera.up, slope),
                side(-camera.up, slope),
            ],
            pixels_per_metre: 0.5 * camera.pixels[1] / slope,
            spacing: level_set.frame.spacing,
            block_samples: level_set.grid.width().samples() as f64,
            origin: level_set.frame.origin,
        }
    }

    /// How far in front of the eye a block lies, if it is in view.
    fn depth(&self, block: BlockCoordinates) -> Option<f64> {
        let width = self.block_samples * self.spacing;
        let middle = self.origin + DVec3::from_array(block.map(|b| f64::from(b) + 0.5)) * width;
        let away = middle - self.eye;
        let radius = 0.87 * width;
        let depth = away.dot(self.forward);
        let inside = depth > -radius && self.sides.iter().all(|side| away.dot(*side) > -radius);
        inside.then(|| depth.max(self.spacing))
    }
}
