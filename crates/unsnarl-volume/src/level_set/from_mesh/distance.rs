//! Distances from the samples of a block to the triangles near it.
//!
//! Each triangle is laid into its own plane once; then a distance is one height and three distances in two dimensions,
//! for a fixed number of samples at a time, without a branch. Cubes of 4 x 4 x 4 samples are tried against a triangle
//! only where the distance at their centre allows it to matter.
//!
//! Guarantees: every distance below the reach is the exact one up to `f32` rounding of coordinates relative to the
//! block (below 1e-4 of a sample for triangles under 2,000 samples wide).

use unsnarl_geometry::DVec3;

/// A triangle in coordinates of its own plane: `a` at the origin, its longest edge along the first axis, `c` above it.
#[derive(Clone, Debug)]
pub(super) struct PlanarTriangle {
    origin: DVec3,
    axes: [DVec3; 3],
    length: f64,
    apex: [f64; 2],
}

impl PlanarTriangle {
    /// Lays a triangle into its plane. A triangle without area becomes its longest edge.
    pub(super) fn new(corners: [DVec3; 3]) -> Self {
        let lengths = [0, 1, 2].map(|i| corners[i].distance_squared(corners[(i + 1) % 3]));
        let longest = (0..3).max_by(|&i, &j| lengths[i].total_cmp(&lengths[j])).unwrap_or(0);
        let [a, b, c] = [0, 1, 2].map(|i| corners[(longest + i) % 3]);
        let along = (b - a).try_normalize().unwrap_or(DVec3::X);
        let rise = (c - a) - along * (c - a).dot(along);
        let (up, height) = match rise.try_normalize() {
            Some(up) if rise.length_squared() > 1e-24 * lengths[longest] => (up, rise.length()),
            _ => (along.any_orthonormal_vector(), 0.0),
        };
        Self {
            origin: a,
            axes: [along, up, along.cross(up)],
            length: lengths[longest].sqrt(),
            apex: [(c - a).dot(along), height],
        }
    }

    /// The same triangle for samples given relative to a centre.
    pub(super) fn around(&self, center: DVec3) -> LocalTriangle {
        let offset = center - self.origin;
        let [apex_u, apex_v] = self.apex;
        let inverse = |squared: f64| if squared > 0.0 { 1.0 / squared } else { 0.0 };
        let back_u = apex_u - self.length;
        LocalTriangle {
            start: self.axes.map(|axis| axis.dot(offset) as f32),
            axes: self.axes.map(|axis| [axis.x as f32, axis.y as f32, axis.z as f32]),
            length: self.length as f32,
            apex: [apex_u as f32, apex_v as f32],
            back_u: back_u as f32,
            inverse_left: inverse(apex_u * apex_u + apex_v * apex_v) as f32,
            inverse_right: inverse(back_u * back_u + apex_v * apex_v) as f32,
        }
    }

    /// The squared distance from one point, in full precision.
    pub(super) fn distance_squared(&self, point: DVec3) -> f64 {
        let offset = point - self.origin;
        let [u, v, height] = self.axes.map(|axis| axis.dot(offset));
        let [apex_u, apex_v] = self.apex;
        let back_u = apex_u - self.length;
        if v > 0.0 && apex_u * v - apex_v * u < 0.0 && back_u * v - apex_v * (u - self.length) > 0.0 {
            return height * height;
        }
        let along_base = u - u.clamp(0.0, self.length);
        let base = along_base * along_base + v * v;
        let left = segment_squared([u, v], self.apex);
        let right = segment_squared([u - self.length, v], [back_u, apex_v]);
        height * height + base.min(left).min(right)
    }
}

fn segment_squared(point: [f64; 2], end: [f64; 2]) -> f64 {
    let squared = end[0] * end[0] + end[1] * end[1];
    let along = if squared > 0.0 { ((point[0] * end[0] + point[1] * end[1]) / squared).clamp(0.0, 1.0) } else { 0.0 };
    let [du, dv] = [point[0] - along * end[0], point[1] - along * end[1]];
    du * du + dv * dv
}

/// A planar triangle seen from a centre, in single precision.
pub(super) struct LocalTriangle {
    start: [f32; 3],
    axes: [[f32; 3]; 3],
    length: f32,
    apex: [f32; 2],
    back_u: f32,
    inverse_left: f32,
    inverse_right: f32,
}

impl LocalTriangle {
    /// Lowers `nearest` to the squared distances from `N` points, given relative to the centre.
    #[inline]
    pub(super) fn lower_squared<const N: usize>(&self, points: &[[f32; N]; 3], nearest: &mut [f32; N]) {
        let [[ux, uy, uz], [vx, vy, vz], [hx, hy, hz]] = self.axes;
        let [u0, v0, h0] = self.start;
        let [au, av] = self.apex;
        for i in 0..N {
            let [x, y, z] = [points[0][i], points[1][i], points[2][i]];
            let u = u0 + ux * x + uy * y + uz * z;
            let v = v0 + vx * x + vy * y + vz * z;
            let height = h0 + hx * x + hy * y + hz * z;
            let w = u - self.length;

            let base_u = u - at_most(at_least(u, 0.0), self.length);
            let base = base_u * base_u + v * v;
            let left_t = at_most(at_least((u * au + v * av) * self.inverse_left, 0.0), 1.0);
            let [left_u, left_v] = [u - left_t * au, v - left_t * av];
            let left = left_u * left_u + left_v * left_v;
            let right_t = at_most(at_least((w * self.back_u + v * av) * self.inverse_right, 0.0), 1.0);
            let [right_u, right_v] = [w - right_t * self.back_u, v - right_t * av];
            let right = right_u * right_u + right_v * right_v;

            let outline = at_most(at_most(base, left), right);
            let within = at_most(at_most(v, av * u - au * v), self.back_u * v - av * w);
            let beside = if within > 0.0 { 0.0 } else { outline };
            nearest[i] = at_most(nearest[i], height * height + beside);
        }
    }
}

#[inline]
fn at_most(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

#[inline]
fn at_least(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

const CUBE: usize = 4;
const CUBE_VOLUME: usize = CUBE * CUBE * CUBE;
/// Cube centres are tried eight at a time.
const GROUP: usize = 8;

/// What one thread needs to fill blocks; nothing in it outlives a block.
pub(super) struct BlockKernel {
    width: usize,
    reach: f32,
    spacing: f32,
    points: [[f32; CUBE_VOLUME]; 3],
    /// Centres of the cubes relative to the block's first sample, in groups of eight.
    centers: Vec<[[f32; GROUP]; 3]>,
    /// For each group, then for each triangle: distances of the centres.
    center_distances: Vec<[f32; GROUP]>,
    nearby: Vec<(f32, u32)>,
}

impl BlockKernel {
    /// For blocks of a width; distances stop at `reach` samples and are given in units of `spacing`.
    pub(super) fn new(width: usize, reach: f32, spacing: f32) -> Self {
        let mut points = [[0.0; CUBE_VOLUME]; 3];
        for place in 0..CUBE_VOLUME {
            let local = [place % CUBE, place / CUBE % CUBE, place / (CUBE * CUBE)];
            for axis in 0..3 {
                points[axis][place] = local[axis] as f32 - 0.5 * (CUBE - 1) as f32;
            }
        }
        let cubes = width.div_ceil(CUBE);
        let middle = 0.5 * (CUBE - 1) as f32;
        let all: Vec<[f32; 3]> = (0..cubes * cubes * cubes)
            .map(|cube| [cube % cubes, cube / cubes % cubes, cube / (cubes * cubes)])
            .map(|cube| cube.map(|c| (c * CUBE) as f32 + middle))
            .collect();
        let centers = all
            .chunks(GROUP)
            .map(|group| {
                let mut lanes = [[0.0; GROUP]; 3];
                for (lane, center) in group.iter().enumerate() {
                    for axis in 0..3 {
                        lanes[axis][lane] = center[axis];
                    }
                }
                lanes
            })
            .collect();
        Self { width, reach, spacing, points, centers, center_distances: Vec::new(), nearby: Vec::new() }
    }

    /// Fills a block with distances, at most `reach`, to the given triangles. Returns whether any lies below it.
    pub(super) fn fill(
        &mut self,
        first_sample: DVec3,
        triangles: &[PlanarTriangle],
        near: impl Iterator<Item = usize> + Clone,
        samples: &mut [f32],
    ) -> bool {
        samples.fill(self.reach * self.spacing);
        let mut any = false;
        self.center_distances.clear();
        for id in near.clone() {
            let local = triangles[id].around(first_sample);
            for group in &self.centers {
                let mut squared = [f32::INFINITY; GROUP];
                local.lower_squared(group, &mut squared);
                self.center_distances.push(squared.map(f32::sqrt));
            }
        }
        let cubes = self.width.div_ceil(CUBE);
        let radius = 0.5 * 3_f32.sqrt() * (CUBE - 1) as f32;
        for cube in 0..cubes * cubes * cubes {
            let (group, lane) = (cube / GROUP, cube % GROUP);
            let of_triangle = self.center_distances.iter().skip(group).step_by(self.centers.len());
            let smallest = of_triangle.clone().fold(f32::INFINITY, |least, distances| at_most(least, distances[lane]));
            if smallest > self.reach + radius {
                continue;
            }
            let limit = at_most(smallest, self.reach - radius) + 2.0 * radius + 1e-3;
            self.nearby.clear();
            self.nearby.extend(
                of_triangle
                    .zip(near.clone())
                    .filter(|(distances, _)| distances[lane] <= limit)
                    .map(|(distances, id)| (distances[lane], id as u32)),
            );
            any |= self.fill_cube(first_sample, triangles, cube, samples);
        }
        any
    }

    fn fill_cube(&self, first_sample: DVec3, triangles: &[PlanarTriangle], cube: usize, samples: &mut [f32]) -> bool {
        let cubes = self.width.div_ceil(CUBE);
        let start = [cube % cubes, cube / cubes % cubes, cube / (cubes * cubes)].map(|c| c * CUBE);
        let offset = DVec3::new(start[0] as f64, start[1] as f64, start[2] as f64);
        let center = first_sample + offset + DVec3::splat(0.5 * (CUBE - 1) as f64);
        let mut nearest = [self.reach * self.reach; CUBE_VOLUME];
        for &(_, id) in &self.nearby {
            triangles[id as usize].around(center).lower_squared(&self.points, &mut nearest);
        }
        let mut any = false;
        let rows = [1, 2].map(|axis| CUBE.min(self.width - start[axis]));
        let row_length = CUBE.min(self.width - start[0]);
        for z in 0..rows[1] {
            for y in 0..rows[0] {
                let to = start[0] + self.width * (start[1] + y + self.width * (start[2] + z));
                let from = CUBE * (y + CUBE * z);
                for (sample, squared) in samples[to..to + row_length].iter_mut().zip(&nearest[from..]) {
                    *sample = squared.sqrt() * self.spacing;
                    any |= *squared < self.reach * self.reach;
                }
            }
        }
        any
    }
}
