//! Legacy VTK, `DATASET UNSTRUCTURED_GRID`, text or binary (big-endian), up to version 5.1.
//!
//! Cells of type 10 (and the corners of type 24) are read, with the cell scalars `level` where there are any in text
//! files written here. Written: version 3.0, text; boundary triangles (type 5) first, then the tetrahedra; cell scalars
//! `region` (1 boundary, 2 volume), `aspect` (0 for triangles) and, where known, `level`.

use super::scan::{Endian, Flaw, Place, Scanner, float, parse, push_number, push_point, push_wholes, shown, whole};
use super::{BOUNDARY_TAG, Cells, TetFile, VOLUME_TAG, checked, finished};
use unsnarl_geometry::DVec3;
use unsnarl_volume::tet_mesh::TetMesh;

const TETRAHEDRON: u64 = 10;
const TEN_NODE_TETRAHEDRON: u64 = 24;
const TRIANGLE: u64 = 5;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Text,
    Binary,
}

#[derive(Default)]
struct Draft {
    positions: Vec<DVec3>,
    /// Where the nodes of each cell begin in `corners`, and the end of the last.
    starts: Vec<usize>,
    corners: Vec<u64>,
    kinds: Vec<u64>,
    levels: Vec<f64>,
}

pub(super) fn read(bytes: &[u8]) -> Result<TetFile, Flaw> {
    let mut scanner = Scanner::new(bytes, None);
    let first = scanner.line().unwrap_or_default();
    let Some(version) = first.strip_prefix(b"# vtk DataFile Version ") else {
        return Err(Flaw::new(
            Place::Line(1),
            format!("expected `# vtk DataFile Version`, found {}", shown(Some(first))),
        ));
    };
    let version = String::from_utf8_lossy(version).into_owned();
    scanner.line();
    let encoding = match scanner.line().unwrap_or_default() {
        b"ASCII" => Encoding::Text,
        b"BINARY" => Encoding::Binary,
        other => {
            let what = format!("expected `ASCII` or `BINARY`, found {}", shown(Some(other)));
            return Err(Flaw::new(Place::Line(3), what));
        }
    };
    if encoding == Encoding::Binary {
        scanner.has_binary();
    }
    let mut draft = Draft::default();
    while let Some(word) = scanner.word() {
        match word.to_ascii_uppercase().as_slice() {
            b"DATASET" => {
                let kind = scanner.word();
                if !kind.is_some_and(|kind| kind.eq_ignore_ascii_case(b"UNSTRUCTURED_GRID")) {
                    return Err(scanner.flaw(format!("dataset {}, expected `UNSTRUCTURED_GRID`", shown(kind))));
                }
            }
            b"POINTS" => read_points(&mut scanner, encoding, &mut draft)?,
            b"CELLS" => read_cells(&mut scanner, encoding, &mut draft)?,
            b"CELL_TYPES" => {
                let count = scanner.count("cell types", 1)?;
                end_line(&mut scanner);
                draft.kinds = wholes(&mut scanner, encoding, count, 4, "cell types")?;
            }
            b"FIELD" => skip_fields(&mut scanner, encoding)?,
            b"METADATA" => {
                scanner.line();
                while scanner.line().is_some_and(|line| !line.is_empty()) {}
            }
            b"CELL_DATA" | b"POINT_DATA" => {
                if encoding == Encoding::Text {
                    read_levels(&mut scanner, &mut draft);
                }
                break;
            }
            other => {
                let what = format!("expected POINTS, CELLS or CELL_TYPES, found {}", shown(Some(other)));
                return Err(scanner.flaw(what));
            }
        }
    }
    let words = if encoding == Encoding::Text { "text" } else { "binary" };
    finish(draft, format!("VTK {words}, version {version}"))
}

/// To the end of a row of counts, where binary numbers begin.
fn end_line(scanner: &mut Scanner<'_>) {
    scanner.line();
}

/// The bytes of a number by the name of its type, and whether it is a float.
fn type_of(scanner: &Scanner<'_>, name: Option<&[u8]>) -> Result<(usize, bool), Flaw> {
    let lower = name.map(<[u8]>::to_ascii_lowercase).unwrap_or_default();
    match lower.as_slice() {
        b"double" => Ok((8, true)),
        b"float" => Ok((4, true)),
        b"int" | b"unsigned_int" | b"vtktypeint32" => Ok((4, false)),
        b"long" | b"unsigned_long" | b"vtktypeint64" | b"vtkidtype" => Ok((8, false)),
        b"short" | b"unsigned_short" => Ok((2, false)),
        b"char" | b"unsigned_char" => Ok((1, false)),
        _ => Err(scanner.flaw(format!("type {} is not known here; expected float, double or int", shown(name)))),
    }
}

fn read_points(scanner: &mut Scanner<'_>, encoding: Encoding, draft: &mut Draft) -> Result<(), Flaw> {
    let count = scanner.count("points", 6)?;
    let name = scanner.word();
    let (width, is_float) = type_of(scanner, name)?;
    if !is_float {
        return Err(scanner.flaw(format!("points of type {}, expected float or double", shown(name))));
    }
    end_line(scanner);
    draft.positions = Vec::with_capacity(count);
    match encoding {
        Encoding::Text => {
            for point in 0..count {
                let at = [scanner.number("x")?, scanner.number("y")?, scanner.number("z")?];
                draft.positions.push(checked(DVec3::from_array(at), point, scanner.place())?);
            }
        }
        Encoding::Binary => {
            let place = scanner.place();
            let bytes = scanner.take(3 * width * count, "points")?;
            for (point, row) in bytes.chunks_exact(3 * width).enumerate() {
                let at = [0, 1, 2].map(|axis| float(&row[axis * width..(axis + 1) * width], Endian::Big));
                draft.positions.push(checked(DVec3::from_array(at), point, place)?);
            }
        }
    }
    Ok(())
}

/// Rows of a count and nodes; from version 5.1 on offsets and nodes in two lists.
fn read_cells(scanner: &mut Scanner<'_>, encoding: Encoding, draft: &mut Draft) -> Result<(), Flaw> {
    let count = scanner.count("cells", 2)?;
    let size = scanner.count("numbers of cells", 1)?;
    end_line(scanner);
    if scanner.peek() == Some(b"OFFSETS") {
        scanner.word();
        let name = scanner.word();
        let (width, _) = type_of(scanner, name)?;
        end_line(scanner);
        let offsets = wholes(scanner, encoding, count, width, "offsets of cells")?;
        let word = scanner.word();
        if word != Some(b"CONNECTIVITY") {
            return Err(scanner.flaw(format!("expected `CONNECTIVITY`, found {}", shown(word))));
        }
        let name = scanner.word();
        let (width, _) = type_of(scanner, name)?;
        end_line(scanner);
        draft.corners = wholes(scanner, encoding, size, width, "nodes of cells")?;
        draft.starts = offsets.iter().map(|&offset| offset.min(usize::MAX as u64) as usize).collect();
        let rises = draft.starts.windows(2).all(|pair| pair[0] <= pair[1]);
        if !rises || draft.starts.last().is_some_and(|&last| last > draft.corners.len()) {
            return Err(scanner.flaw("the offsets of cells do not rise to the number of nodes: the file was edited"));
        }
        return Ok(());
    }
    let numbers = wholes(scanner, encoding, size, 4, "nodes of cells")?;
    draft.starts = Vec::with_capacity(count + 1);
    draft.starts.push(0);
    let mut at = 0;
    while at < numbers.len() {
        let end = usize::try_from(numbers[at]).ok().and_then(|length| (at + 1).checked_add(length));
        let Some(end) = end.filter(|&end| end <= numbers.len()) else {
            let what = format!("cell {} has {} nodes, more than are left", draft.starts.len() - 1, numbers[at]);
            return Err(scanner.flaw(what));
        };
        draft.corners.extend_from_slice(&numbers[at + 1..end]);
        draft.starts.push(draft.corners.len());
        at = end;
    }
    if draft.starts.len() != count + 1 {
        return Err(scanner.flaw(format!("{} cells, {count} were promised", draft.starts.len() - 1)));
    }
    Ok(())
}

fn wholes(
    scanner: &mut Scanner<'_>,
    encoding: Encoding,
    count: usize,
    width: usize,
    of: &str,
) -> Result<Vec<u64>, Flaw> {
    match encoding {
        Encoding::Text => {
            scanner.believe(count as u64, of, 2)?;
            let mut numbers = Vec::with_capacity(count);
            for _ in 0..count {
                numbers.push(scanner.integer(of)?);
            }
            Ok(numbers)
        }
        Encoding::Binary => {
            let bytes = scanner.take(count.saturating_mul(width), of)?;
            Ok(bytes.chunks_exact(width.max(1)).map(|number| whole(number, Endian::Big)).collect())
        }
    }
}

/// Passes over `FIELD name arrays`.
fn skip_fields(scanner: &mut Scanner<'_>, encoding: Encoding) -> Result<(), Flaw> {
    scanner.word();
    for _ in 0..scanner.count("field arrays", 4)? {
        scanner.word();
        let components = scanner.integer("components of a field")?;
        let tuples = scanner.integer("tuples of a field")?;
        let name = scanner.word();
        let count = components.saturating_mul(tuples);
        let count = scanner.believe(count, "numbers of a field", 1)?;
        if encoding == Encoding::Text {
            (0..count).for_each(|_| {
                scanner.word();
            });
            continue;
        }
        let (width, _) = type_of(scanner, name)?;
        end_line(scanner);
        scanner.take(count.saturating_mul(width), "a field")?;
    }
    Ok(())
}

/// The cell scalars `level` of a text file, where they are as written here.
fn read_levels(scanner: &mut Scanner<'_>, draft: &mut Draft) {
    if !scanner.find(b"SCALARS level int 1\nLOOKUP_TABLE default\n") {
        return;
    }
    for _ in 0..draft.kinds.len() {
        let Some(level) = parse::<f64>(scanner.word()) else { break };
        draft.levels.push(level);
    }
}

fn finish(draft: Draft, kind: String) -> Result<TetFile, Flaw> {
    let cell_count = draft.starts.len().saturating_sub(1);
    if draft.kinds.len() != cell_count {
        let what = format!("{cell_count} cells and {} types of cells, expected as many", draft.kinds.len());
        return Err(Flaw::whole(what));
    }
    let node_count = draft.positions.len() as u64;
    let mut mesh = TetMesh { positions: draft.positions, tets: Vec::new(), levels: Vec::new() };
    let mut left_out = 0;
    for (cell, &cell_kind) in draft.kinds.iter().enumerate() {
        if cell_kind != TETRAHEDRON && cell_kind != TEN_NODE_TETRAHEDRON {
            // Points, lines and triangles belong to the boundary or to nothing.
            left_out += usize::from(cell_kind > TRIANGLE);
            continue;
        }
        let nodes = &draft.corners[draft.starts[cell]..draft.starts[cell + 1]];
        let &[a, b, c, d, ..] = nodes else {
            return Err(Flaw::whole(format!("cell {cell} is a tetrahedron of {} nodes, expected 4", nodes.len())));
        };
        let tet = [a, b, c, d];
        if let Some(node) = tet.iter().find(|&&node| node >= node_count) {
            return Err(Flaw::whole(format!("cell {cell} names point {node}, the file has {node_count}")));
        }
        mesh.tets.push(tet.map(|node| node as u32));
        let level = draft.levels.get(cell).filter(|level| (0.0..256.0).contains(*level));
        mesh.levels.extend(level.map(|&level| level as u8));
    }
    if mesh.levels.len() != mesh.tets.len() {
        mesh.levels.clear();
    }
    finished(mesh, left_out, kind)
}

pub(super) fn encode(cells: &Cells<'_>) -> Vec<u8> {
    let (mesh, boundary) = (cells.mesh, &cells.boundary);
    let cell_count = boundary.len() + mesh.tets.len();
    let mut out = Vec::with_capacity(60 * mesh.positions.len() + 64 * cell_count + 1024);
    out.extend(b"# vtk DataFile Version 3.0\ntetrahedra and their boundary\nASCII\nDATASET UNSTRUCTURED_GRID\n");
    out.extend(format!("POINTS {} double\n", mesh.positions.len()).bytes());
    for &position in &mesh.positions {
        push_point(&mut out, position);
        out.push(b'\n');
    }
    out.extend(format!("CELLS {cell_count} {}\n", 4 * boundary.len() + 5 * mesh.tets.len()).bytes());
    for triangle in boundary {
        out.push(b'3');
        push_wholes(&mut out, triangle.map(u64::from));
        out.push(b'\n');
    }
    for tet in &mesh.tets {
        out.push(b'4');
        push_wholes(&mut out, tet.map(u64::from));
        out.push(b'\n');
    }
    out.extend(format!("CELL_TYPES {cell_count}\n").bytes());
    out.extend(std::iter::repeat_n(&b"5\n"[..], boundary.len()).flatten());
    out.extend(std::iter::repeat_n(&b"10\n"[..], mesh.tets.len()).flatten());
    out.extend(format!("CELL_DATA {cell_count}\nSCALARS region int 1\nLOOKUP_TABLE default\n").bytes());
    out.extend(std::iter::repeat_n(format!("{BOUNDARY_TAG}\n"), boundary.len()).flat_map(String::into_bytes));
    out.extend(std::iter::repeat_n(format!("{VOLUME_TAG}\n"), mesh.tets.len()).flat_map(String::into_bytes));
    out.extend(b"SCALARS aspect double 1\nLOOKUP_TABLE default\n");
    out.extend(std::iter::repeat_n(&b"0\n"[..], boundary.len()).flatten());
    for tet in 0..mesh.tets.len() {
        push_number(&mut out, cells.aspect(tet));
        out.push(b'\n');
    }
    if let Some(levels) = cells.levels() {
        out.extend(b"SCALARS level int 1\nLOOKUP_TABLE default\n");
        out.extend(std::iter::repeat_n(&b"0\n"[..], boundary.len()).flatten());
        levels.iter().for_each(|level| out.extend(format!("{level}\n").bytes()));
    }
    out
}
