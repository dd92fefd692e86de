//! Medit `.mesh`, text: key words, each with a count and so many rows.
//!
//! Vertices, triangles and tetrahedra are read, everything else is passed over. Written: version 2 (double precision),
//! references 1 for boundary triangles and 2 for tetrahedra; the format has no room for more.

use super::scan::{Flaw, Scanner, parse, push_point, push_wholes, shown};
use super::{BOUNDARY_TAG, Cells, TetFile, VOLUME_TAG, checked, finished};
use unsnarl_geometry::DVec3;
use unsnarl_volume::tet_mesh::TetMesh;

pub(super) fn read(bytes: &[u8]) -> Result<TetFile, Flaw> {
    let mut scanner = Scanner::new(bytes, Some(b'#'));
    let first = scanner.word();
    if !first.is_some_and(|word| word.eq_ignore_ascii_case(b"MeshVersionFormatted")) {
        return Err(scanner.flaw(format!("expected `MeshVersionFormatted`, found {}: not a Medit file", shown(first))));
    }
    let version = scanner.integer("the version")?;
    let mut mesh = TetMesh::default();
    let mut corners: Vec<[u64; 4]> = Vec::new();
    let mut left_out = 0;
    while let Some(word) = scanner.word() {
        match word.to_ascii_lowercase().as_slice() {
            b"dimension" => {
                let dimension = scanner.integer("the dimension")?;
                if dimension != 3 {
                    return Err(scanner.flaw(format!("dimension {dimension}, expected 3")));
                }
            }
            b"vertices" => {
                if !mesh.positions.is_empty() {
                    return Err(scanner.flaw("a second list of vertices, expected one"));
                }
                let count = scanner.count("vertices", 8)?;
                mesh.positions.reserve_exact(count);
                for vertex in 0..count {
                    let point = [scanner.number("x")?, scanner.number("y")?, scanner.number("z")?];
                    skip_reference(&mut scanner)?;
                    mesh.positions.push(checked(DVec3::from_array(point), vertex, scanner.place())?);
                }
            }
            b"tetrahedra" => {
                let count = scanner.count("tetrahedra", 10)?;
                corners.reserve_exact(count);
                for _ in 0..count {
                    let mut tet = [0; 4];
                    for node in &mut tet {
                        *node = scanner.integer("a node of a tetrahedron")?;
                    }
                    skip_reference(&mut scanner)?;
                    corners.push(tet);
                }
            }
            b"end" => break,
            other => left_out += pass_over(&mut scanner, other),
        }
    }
    mesh.tets.reserve_exact(corners.len());
    let node_count = mesh.positions.len() as u64;
    for (number, tet) in corners.iter().enumerate() {
        if let Some(node) = tet.iter().find(|&&node| node == 0 || node > node_count) {
            let what = format!("tetrahedron {} names vertex {node}, the file has {node_count}", number + 1);
            return Err(Flaw::whole(what));
        }
        mesh.tets.push(tet.map(|node| (node - 1) as u32));
    }
    finished(mesh, left_out, format!("Medit text, version {version}"))
}

fn skip_reference(scanner: &mut Scanner<'_>) -> Result<(), Flaw> {
    let word = scanner.word();
    match parse::<f64>(word) {
        Some(_) => Ok(()),
        None => Err(scanner.flaw(format!("expected a reference (a number), found {}", shown(word)))),
    }
}

/// Passes over the numbers of a list that is not read; how many volume elements it held.
fn pass_over(scanner: &mut Scanner<'_>, keyword: &[u8]) -> usize {
    let counts = matches!(keyword, b"hexahedra" | b"prisms" | b"pyramids" | b"quadrilaterals" | b"tetrahedrap2");
    let count = parse::<usize>(scanner.peek()).unwrap_or(0);
    while scanner.peek().is_some_and(|word| !word[0].is_ascii_alphabetic()) {
        scanner.word();
    }
    if counts { count } else { 0 }
}

pub(super) fn encode(cells: &Cells<'_>) -> Vec<u8> {
    let mesh = cells.mesh;
    let mut out = Vec::with_capacity(60 * mesh.positions.len() + 32 * mesh.tets.len() + 1024);
    out.extend(b"MeshVersionFormatted 2\nDimension 3\n# references: 1 boundary, 2 volume\nVertices\n");
    out.extend(format!("{}\n", mesh.positions.len()).bytes());
    for &position in &mesh.positions {
        push_point(&mut out, position);
        out.extend(b" 0\n");
    }
    out.extend(format!("Triangles\n{}\n", cells.boundary.len()).bytes());
    let row = |out: &mut Vec<u8>, nodes: &[u32], tag: u32| {
        push_wholes(out, nodes.iter().map(|&node| u64::from(node) + 1).chain([u64::from(tag)]));
        out.push(b'\n');
    };
    cells.boundary.iter().for_each(|triangle| row(&mut out, triangle, BOUNDARY_TAG));
    out.extend(format!("Tetrahedra\n{}\n", mesh.tets.len()).bytes());
    mesh.tets.iter().for_each(|tet| row(&mut out, tet, VOLUME_TAG));
    out.extend(b"End\n");
    out
}
