//! TetGen's `.node`, `.ele` and `.face`: a row of counts, then numbered rows. `#` begins a comment.
//!
//! Numbering is from 0 or from 1, as the first node of the file says; written from 1, and a comment says so.
//! Attributes of written tetrahedra, whole numbers for readers like meshio: region and, where known, level. Faces carry
//! the marker 1 and point outward.

use super::scan::{Flaw, Scanner, parse, push_point, push_wholes, shown};
use super::{BOUNDARY_TAG, Cells, Nodes, TagMap, TetFile, VOLUME_TAG, finished};
use unsnarl_geometry::DVec3;
use unsnarl_volume::tet_mesh::TetMesh;

/// The comment by which a file tells that its second attribute is the level.
const WITH_LEVEL: &[u8] = b"attributes: region, level";

/// How the nodes of a `.node` file are numbered.
pub(super) struct Numbering {
    map: TagMap,
    first: u64,
}

pub(super) fn read_nodes(bytes: &[u8]) -> Result<(Vec<DVec3>, Numbering), Flaw> {
    let mut scanner = Scanner::new(bytes, Some(b'#'));
    let header = header(&mut scanner, ["nodes", "dimension", "attributes", "markers"])?;
    if header[1] != 3 {
        return Err(scanner.flaw(format!("dimension {}, expected 3", header[1])));
    }
    let count = scanner.believe(header[0], "nodes", 8)?;
    let mut nodes = Nodes::with_capacity(count);
    for _ in 0..count {
        let place = scanner.place();
        let Some(words) = scanner.words_of_line() else {
            return Err(scanner.flaw(format!("{} of {count} nodes: the file was cut", nodes.tags.len())));
        };
        let row: Vec<&[u8]> = words.take(4).collect();
        let tag = parse::<u64>(row.first().copied());
        let point: Vec<f64> = row.iter().skip(1).filter_map(|word| parse(Some(word))).collect();
        let (Some(tag), &[x, y, z]) = (tag, point.as_slice()) else {
            let what =
                format!("expected the number of a node and three coordinates, found {}", shown(row.first().copied()));
            return Err(Flaw::new(place, what));
        };
        nodes.push(tag, DVec3::new(x, y, z), place)?;
    }
    let numbering = Numbering { map: nodes.numbering()?, first: nodes.tags.first().copied().unwrap_or(0) };
    Ok((nodes.positions, numbering))
}

/// The counts of the first row; those that are left out are 0.
fn header(scanner: &mut Scanner<'_>, names: [&str; 4]) -> Result<[u64; 4], Flaw> {
    let mut counts = [0; 4];
    let Some(words) = scanner.words_of_line() else { return Err(scanner.flaw("the file is empty")) };
    let mut found = 0;
    for (word, (count, name)) in words.zip(counts.iter_mut().zip(names)) {
        *count = parse(Some(word))
            .ok_or_else(|| scanner.flaw(format!("expected the number of {name}, found {}", shown(Some(word)))))?;
        found += 1;
    }
    if found == 0 {
        return Err(scanner.flaw(format!("expected the number of {}, found nothing", names[0])));
    }
    Ok(counts)
}

pub(super) fn read_elements(bytes: &[u8], positions: Vec<DVec3>, numbering: Numbering) -> Result<TetFile, Flaw> {
    let has_levels = bytes.windows(WITH_LEVEL.len()).take(256).any(|window| window == WITH_LEVEL);
    let mut scanner = Scanner::new(bytes, Some(b'#'));
    let header = header(&mut scanner, ["tetrahedra", "nodes of each", "attributes", "extras"])?;
    if header[1] != 4 && header[1] != 10 {
        let what =
            format!("{} nodes in each tetrahedron, expected 4 (or 10, of which the corners are read)", header[1]);
        return Err(scanner.flaw(what));
    }
    let count = scanner.believe(header[0], "tetrahedra", 10)?;
    let mut mesh = TetMesh { positions, tets: Vec::with_capacity(count), levels: Vec::new() };
    for _ in 0..count {
        let place = scanner.place();
        let Some(mut words) = scanner.words_of_line() else {
            return Err(scanner.flaw(format!("{} of {count} tetrahedra: the file was cut", mesh.tets.len())));
        };
        words.next();
        let mut tet = [0; 4];
        for node in &mut tet {
            let word = words.next();
            let tag = parse::<u64>(word);
            let tag = tag.ok_or_else(|| Flaw::new(place, format!("expected four nodes, found {}", shown_or(word))))?;
            *node = numbering.map.find(tag, place)?;
        }
        mesh.tets.push(tet);
        if has_levels {
            let level = words.nth(header[1] as usize - 3).and_then(|word| parse::<f64>(Some(word)));
            mesh.levels.extend(level.filter(|level| (0.0..256.0).contains(level)).map(|level| level as u8));
        }
    }
    if mesh.levels.len() != mesh.tets.len() {
        mesh.levels.clear();
    }
    finished(mesh, 0, format!("TetGen text, numbered from {}", numbering.first))
}

fn shown_or(word: Option<&[u8]>) -> String {
    word.map_or_else(|| "the end of the row".to_owned(), |word| shown(Some(word)))
}

/// The three files: extension and bytes, the elements last.
pub(super) fn encode(cells: &Cells<'_>) -> [(&'static str, Vec<u8>); 3] {
    let mesh = cells.mesh;
    let mut nodes = format!("# numbered from 1\n{} 3 0 0\n", mesh.positions.len()).into_bytes();
    for (number, &position) in mesh.positions.iter().enumerate() {
        nodes.extend(format!("{} ", number + 1).bytes());
        push_point(&mut nodes, position);
        nodes.push(b'\n');
    }
    let mut faces = format!("# boundary, outward; numbered from 1\n{} 1\n", cells.boundary.len()).into_bytes();
    for (number, triangle) in cells.boundary.iter().enumerate() {
        let row = triangle.iter().map(|&node| u64::from(node) + 1).chain([u64::from(BOUNDARY_TAG)]);
        faces.extend(format!("{}", number + 1).bytes());
        push_wholes(&mut faces, row);
        faces.push(b'\n');
    }
    let levels = cells.levels();
    let names: &[u8] = if levels.is_some() { WITH_LEVEL } else { b"attributes: region" };
    let mut elements = b"# numbered from 1; ".to_vec();
    elements.extend(names);
    elements.extend(format!("\n{} 4 {}\n", mesh.tets.len(), 1 + usize::from(levels.is_some())).bytes());
    for (number, tet) in mesh.tets.iter().enumerate() {
        elements.extend(format!("{}", number + 1).bytes());
        push_wholes(&mut elements, tet.iter().map(|&node| u64::from(node) + 1).chain([u64::from(VOLUME_TAG)]));
        if let Some(levels) = levels {
            push_wholes(&mut elements, [u64::from(levels[number])]);
        }
        elements.push(b'\n');
    }
    [("node", nodes), ("face", faces), ("ele", elements)]
}
