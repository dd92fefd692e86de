//! Copies of pieces of cloth: tables that stand for several become several tables.

use super::build::{Place, Problem, turn};
use super::format::{ClothTable, PinTable, SceneFile};
use super::lines::Key;
use unsnarl_geometry::DVec3;
use unsnarl_geometry::math::{DMat3, DQuat};

/// The most copies of a piece.
const MOST_COPIES: u32 = 10_000;
/// Larger than any scene: a box around all vertices.
const EVERYWHERE: f64 = 1e7;

/// A scene without copies, and which table each piece of it comes from.
pub(super) fn expand(file: &SceneFile) -> Result<(SceneFile, Vec<usize>), Problem> {
    let (mut cloth, mut origins) = (Vec::new(), Vec::new());
    for (index, table) in file.cloth.iter().enumerate() {
        let place = Place(vec![Key::from("cloth"), Key::from(index), Key::from("copies")]);
        let copies = copies(table, index, &place)?;
        origins.resize(origins.len() + copies.len(), index);
        cloth.extend(copies);
    }
    Ok((SceneFile { cloth, ..file.clone() }, origins))
}

/// A problem of an expanded scene where the file has it.
pub(super) fn at_origin(mut problem: Problem, origins: &[usize]) -> Problem {
    if let [Key::Name(name), Key::Index(index), ..] = problem.path.as_mut_slice()
        && name == "cloth"
    {
        *index = origins.get(*index).copied().unwrap_or(*index);
    }
    problem
}

fn copies(table: &ClothTable, index: usize, place: &Place) -> Result<Vec<ClothTable>, Problem> {
    let name = table.name.clone().unwrap_or_else(|| format!("cloth {index}"));
    let Some(asked) = table.copies else { return Ok(vec![ClothTable { name: Some(name), ..table.clone() }]) };
    if asked.count == 0 || asked.count > MOST_COPIES {
        return place.at("count").fail(format!("{}; expected 1 to {MOST_COPIES}", asked.count));
    }
    place.at("step").finite(&asked.step)?;
    place.at("turn").finite(&asked.turn)?;
    place.at("release-step").not_negative(asked.release_step)?;
    let copy = |number: u32| {
        let times = f64::from(number);
        let name = if asked.count > 1 { format!("{name} {}", number + 1) } else { name.clone() };
        let mut copy = ClothTable { name: Some(name), copies: None, ..table.clone() };
        if number > 0 {
            let further = turn(asked.turn.map(|degrees| times * degrees));
            let place = further * DVec3::from_array(table.position) + times * DVec3::from_array(asked.step);
            copy.position = place.to_array();
            copy.rotation = angles(further * turn(table.rotation));
        }
        if number > 0 && asked.release_step > 0.0 {
            let region = Some([[-EVERYWHERE; 3], [EVERYWHERE; 3]]);
            let release = Some(times * asked.release_step);
            copy.pin.push(PinTable { region, release, ..PinTable::default() });
        }
        copy
    };
    Ok((0..asked.count).map(copy).collect())
}

/// The turns about x, then y, then z that make a rotation, degrees.
fn angles(rotation: DQuat) -> [f64; 3] {
    let m = DMat3::from_quat(rotation);
    let (sine, cosine) = (-m.x_axis.z, m.x_axis.x.hypot(m.x_axis.y));
    let y = sine.atan2(cosine);
    // With y at a right angle turns about x and z do the same; x takes all of it.
    let [x, z] = if cosine > 1e-9 {
        [m.y_axis.z.atan2(m.z_axis.z), m.x_axis.y.atan2(m.x_axis.x)]
    } else {
        [(-m.z_axis.y).atan2(m.y_axis.y), 0.0]
    };
    [x, y, z].map(f64::to_degrees)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn angles_make_the_rotation_again() {
        for degrees in [[0.0; 3], [90.0, 37.0, 0.0], [10.0, -80.0, 170.0], [30.0, 90.0, 20.0], [-100.0, -90.0, 5.0]] {
            let rotation = turn(degrees);
            assert!(turn(angles(rotation)).dot(rotation).abs() > 1.0 - 1e-12, "{degrees:?}");
        }
    }
}
