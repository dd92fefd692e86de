use super::*;
use proptest::prelude::*;
use unsnarl_geometry::{DMat3, DVec3};

const H: f64 = 0.02;

/// All nodes of a box of cells, and the rows of its cells.
fn block(cells: [i32; 3], directions: DMat3) -> (NodeSet, Vec<Row>) {
    let mut wanted = Vec::new();
    for z in 0..=cells[2] {
        for y in 0..=cells[1] {
            wanted.extend((0..=cells[0]).map(|x| [x - 3, y - 3, z - 3]));
        }
    }
    let nodes = NodeSet::new(H, &wanted);
    let is_low = |node: &&[i32; 3]| (0..3).all(|axis| node[axis] + 3 < cells[axis]);
    let rows = nodes.nodes().iter().filter(is_low);
    let rows = rows.map(|&cell| cell_row(nodes.corners_of(cell).map(Option::unwrap), directions, H)).collect();
    (nodes, rows)
}

fn field(nodes: &NodeSet, velocity: impl Fn(DVec3) -> DVec3) -> Vec<DVec3> {
    nodes.nodes().iter().map(|&node| velocity(nodes.position(node))).collect()
}

fn vector() -> impl Strategy<Value = DVec3> {
    [-1.0..1.0, -1.0..1.0, -1.0..1.0_f64].prop_map(DVec3::from_array)
}

/// `Q` of a few normals, with trace 1.
fn directions() -> impl Strategy<Value = DMat3> {
    prop::collection::vec(vector(), 1..4).prop_filter_map("normals have a length", |normals| {
        let units: Option<Vec<DVec3>> = normals.iter().map(|normal| normal.try_normalize()).collect();
        let units = units?;
        let add = |sum: DMat3, n: &DVec3| sum + DMat3::from_cols(*n * n.x, *n * n.y, *n * n.z);
        Some(units.iter().fold(DMat3::ZERO, add) * (units.len() as f64).recip())
    })
}

proptest! {
    #[test]
    fn rows_of_affine_fields_are_exact_and_rigid_motions_are_free(
        a in [vector(), vector(), vector()], spin in vector(), shift in vector(), q in directions(),
    ) {
        let a = DMat3::from_cols_array_2d(&a.map(|column| column.to_array()));
        let trace_of_product: f64 = (0..3).map(|i| q.row(i).dot(a.row(i))).sum();
        for (q, expected) in [(DMat3::IDENTITY, a.col(0).x + a.col(1).y + a.col(2).z), (q, trace_of_product)] {
            let (nodes, rows) = block([3, 2, 2], q);
            let affine = field(&nodes, |x| a * x + shift);
            let rigid = field(&nodes, |x| spin.cross(x) + shift);
            for row in &rows {
                prop_assert!((row.apply(&affine) - expected).abs() < 1e-12);
                prop_assert!(row.apply(&rigid).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn a_projection_keeps_momentum_and_reaches_its_sources(
        seed in prop::collection::vec(vector(), 4 * 4 * 5), masses in prop::collection::vec(0.1..3.0_f64, 4 * 4 * 5),
        q in directions(),
    ) {
        let (nodes, rows) = block([3, 3, 4], q);
        let inverse_masses: Vec<f64> = masses.iter().map(|mass| mass.recip()).collect();
        let sources: Vec<f64> = (0..rows.len()).map(|at| if at % 7 == 0 { 0.5 } else { 0.0 }).collect();
        let effort = Effort { tolerance: 1e-11, iterations: 3000 };
        let mut after = seed.clone();
        let asked =
            Projection { rows: &rows, sources: &sources, inverse_masses: &inverse_masses, sense: Sense::AtLeast, effort };
        let done = project(&asked, &mut after);
        let (mut linear, mut angular) = (DVec3::ZERO, DVec3::ZERO);
        for (at, &node) in nodes.nodes().iter().enumerate() {
            let push = (after[at] - seed[at]) * masses[at];
            linear += push;
            angular += nodes.position(node).cross(push);
        }
        prop_assert!(linear.length() < 1e-12 * masses.iter().sum::<f64>(), "{linear}");
        prop_assert!(angular.length() < 1e-12 * masses.iter().sum::<f64>(), "{angular}");
        for (at, row) in rows.iter().enumerate() {
            prop_assert!(row.apply(&after) >= sources[at] - 1e-6, "row {at}: {}", row.apply(&after));
            prop_assert!(done.pressures[at] >= 0.0);
            // What pushes is not exceeded: complementary.
            let exceeds = row.apply(&after) > sources[at] + 1e-6;
            prop_assert!(!exceeds || done.pressures[at] < 1e-7, "row {at} pushes too far");
        }
    }

    #[test]
    fn pressures_are_spread_by_the_transpose(
        values in prop::collection::vec(-1.0..1.0_f64, 8), seed in prop::collection::vec(vector(), 27), q in directions(),
    ) {
        let (_, rows) = block([2, 2, 2], q);
        let inverse_masses = vec![1.0; 27];
        let effort = Effort { tolerance: 0.0, iterations: 40 };
        let asked = Projection {
            rows: &rows, sources: &values, inverse_masses: &inverse_masses, sense: Sense::Equal, effort,
        };
        let mut pushed = vec![DVec3::ZERO; 27];
        let done = project(&asked, &mut pushed);
        let of_rows: f64 = rows.iter().zip(&done.pressures).map(|(row, p)| row.apply(&seed) * p).sum();
        let of_nodes: f64 = seed.iter().zip(&pushed).map(|(seed, pushed)| seed.dot(*pushed)).sum();
        prop_assert!((of_rows - of_nodes).abs() < 1e-9 * (1.0 + of_rows.abs()), "{of_rows} {of_nodes}");
    }
}

/// Two plates one cell apart, of `n` by `n` cells, moving along z at the given speeds; masses as trilinear weights
/// give.
struct Plates {
    nodes: NodeSet,
    rows: Vec<Row>,
    masses: Vec<f64>,
    velocities: Vec<DVec3>,
}

fn plates(n: i32, masses: [f64; 2], speeds: [f64; 2]) -> Plates {
    // Across the plates: sideways air may go, which isotropic rows would use at the open ends.
    let (nodes, rows) = block([n, n, 1], DMat3::from_diagonal(DVec3::Z));
    let side = |node: &[i32; 3]| usize::from(node[2] + 3 == 1);
    let share = |at: i32| if at + 3 == 0 || at + 3 == n { 0.5 } else { 1.0 };
    let mass = |node: &[i32; 3]| masses[side(node)] * share(node[0]) * share(node[1]);
    let masses = nodes.nodes().iter().map(mass).collect();
    let velocities = nodes.nodes().iter().map(|node| DVec3::Z * speeds[side(node)]).collect();
    Plates { nodes, rows, masses, velocities }
}

fn projected(plates: &Plates) -> (Vec<DVec3>, Projected) {
    let inverse_masses: Vec<f64> = plates.masses.iter().map(|mass| mass.recip()).collect();
    let sources = vec![0.0; plates.rows.len()];
    let effort = Effort { tolerance: 1e-9, iterations: 500 };
    let (rows, sense) = (plates.rows.as_slice(), Sense::AtLeast);
    let asked = Projection { rows, sources: &sources, inverse_masses: &inverse_masses, sense, effort };
    let mut velocities = plates.velocities.clone();
    let done = project(&asked, &mut velocities);
    (velocities, done)
}

#[test]
fn two_plates_that_meet_stop_at_the_velocity_of_their_centre_of_mass() {
    for (masses, common) in [([1.0, 1.0], 0.0), ([1.0, 3.0], (2.0 - 3.0 * 2.0) / 4.0)] {
        let plates = plates(9, masses, [2.0, -2.0]);
        let (after, _) = projected(&plates);
        for velocity in &after {
            assert!((velocity.z - common).abs() < 1e-6 * 2.0, "{velocity} for {masses:?}");
            assert!(velocity.x.abs() + velocity.y.abs() < 1e-6, "{velocity}");
        }
    }
}

#[test]
fn plates_that_part_keep_every_bit() {
    let mut plates = plates(6, [1.0, 3.0], [-2.0, 1.0]);
    for (at, velocity) in plates.velocities.iter_mut().enumerate() {
        *velocity += DVec3::new(-0.0, 1e-3 * at as f64, 0.0);
    }
    // Rows that slide apart along y as well still part.
    plates.velocities.iter_mut().for_each(|velocity| velocity.y = -0.0);
    let (after, done) = projected(&plates);
    let bits = |list: &[DVec3]| list.iter().flat_map(|v| v.to_array().map(f64::to_bits)).collect::<Vec<_>>();
    assert_eq!(bits(&after), bits(&plates.velocities));
    assert_eq!(done.iterations, 0);
}

#[test]
fn least_squares_of_weight_one_leave_a_third_of_the_closing_speed_and_central_ones_two_thirds() {
    let plates = plates(40, [1.0, 1.0], [1.0, -1.0]);
    let at = |x, z| plates.nodes.number([x, 17, z]).unwrap() as usize;
    let solve = |rows: &[Row], count: usize, velocities: &mut Vec<DVec3>| {
        let (sources, anchors) = (vec![0.0; rows.len()], vec![1.0; count]);
        let effort = Effort { tolerance: 1e-12, iterations: 1000 };
        let asked = LeastSquares { rows, sources: &sources, anchors: &anchors, weight: 1.0, spacing: H, effort };
        least_squares(&asked, velocities);
    };
    let mut after = plates.velocities.clone();
    solve(&plates.rows, after.len(), &mut after);
    let left = (after[at(17, -3)].z - after[at(17, -2)].z) / 2.0;
    assert!((left - 1.0 / 3.0).abs() < 1e-8, "{left}");
    // One central row at a node between two plates that are two cells apart.
    let line = NodeSet::new(H, &[[0, 0, -1], [0, 0, 1], [-1, 0, 0], [1, 0, 0], [0, -1, 0], [0, 1, 0]]);
    let node = |at| line.number(at).unwrap();
    let around = [[-1, 0, 0], [1, 0, 0], [0, -1, 0], [0, 1, 0], [0, 0, -1], [0, 0, 1]].map(node);
    let mut velocities = vec![DVec3::ZERO; 6];
    velocities[around[4] as usize] = DVec3::Z;
    velocities[around[5] as usize] = -DVec3::Z;
    let row = central_row(around, DMat3::from_diagonal(DVec3::Z), H);
    solve(&[row], 6, &mut velocities);
    let left = (velocities[around[4] as usize].z - velocities[around[5] as usize].z) / 2.0;
    assert!((left - 2.0 / 3.0).abs() < 1e-8, "{left}");
}

#[test]
fn central_rows_are_exact_for_affine_fields_too() {
    let q = DMat3::from_diagonal(DVec3::new(0.5, 0.25, 0.25));
    let (nodes, _) = block([2, 2, 2], q);
    let node = |at| nodes.number(at).unwrap();
    let around = [[-3, -2, -2], [-1, -2, -2], [-2, -3, -2], [-2, -1, -2], [-2, -2, -3], [-2, -2, -1]].map(node);
    let a = DMat3::from_cols(DVec3::new(1.0, 2.0, 3.0), DVec3::new(-4.0, 5.0, 6.0), DVec3::new(7.0, -8.0, 9.0));
    let affine = field(&nodes, |x| a * x + DVec3::ONE);
    assert!((central_row(around, q, H).apply(&affine) - (0.5 + 5.0 / 4.0 + 9.0 / 4.0)).abs() < 1e-12);
}

#[test]
fn given_motions_that_ask_for_opposite_things_end_the_solve() {
    let (_, rows) = block([1, 1, 2], DMat3::IDENTITY);
    // Both outer layers are given and close in; the one between is free.
    let mut velocities: Vec<DVec3> = (0..12).map(|at| DVec3::Z * [1.0, 0.0, -1.0][at / 4]).collect();
    let inverse_masses: Vec<f64> = (0..12).map(|at| if at / 4 == 1 { 1.0 } else { 0.0 }).collect();
    let effort = Effort { tolerance: 1e-9, iterations: 200 };
    let sources = [0.0; 2];
    let asked =
        Projection { rows: &rows, sources: &sources, inverse_masses: &inverse_masses, sense: Sense::AtLeast, effort };
    let done = project(&asked, &mut velocities);
    assert!(velocities.iter().all(|velocity| velocity.is_finite()), "{done:?}");
    assert_eq!(velocities[0], DVec3::Z);
}

#[test]
fn what_reaches_a_block_comes_in_order_and_without_holes() {
    let boxes = [[[-9, 0, 0], [7, 3, 3]], [[0, 0, 0], [0, 0, 0]], [[8, 8, 8], [9, 9, 9]], [[-1, 0, 0], [0, 0, 0]]];
    let reached = Reached::new(boxes.len(), |item| boxes[item]);
    assert_eq!(reached.blocks(), [[-2, 0, 0], [-1, 0, 0], [0, 0, 0], [1, 1, 1]]);
    assert_eq!(reached.items_at([-1, 0, 0]), [0, 3]);
    assert_eq!(reached.items_at([0, 0, 0]), [0, 1, 3]);
    assert!(reached.items_at([5, 5, 5]).is_empty());
}
