//! Gmsh `.msh`, versions 2.2 and 4.1, text or binary.
//!
//! Nodes may have any numbers. Elements of type 4 (and the corners of type 11) are read. Written: text, version 2.2
//! unless 4.1 is asked for; physical groups 1 `boundary` (triangles) and 2 `volume` (tetrahedra). No element data:
//! meshio cannot read it beside elements of two kinds.

use super::scan::{Endian, Flaw, Scanner, float, parse, push_point, push_wholes, shown, whole};
use super::{BOUNDARY_TAG, Cells, MshVersion, Nodes, TetFile, VOLUME_TAG, finished};
use std::io::Write;
use unsnarl_geometry::DVec3;
use unsnarl_volume::tet_mesh::TetMesh;

const TRIANGLE: u64 = 2;
const TETRAHEDRON: u64 = 4;
const TEN_NODE_TETRAHEDRON: u64 = 11;

/// Nodes of each element type of Gmsh, from type 1 on.
const NODES_OF_TYPE: [usize; 31] =
    [2, 3, 4, 4, 8, 6, 5, 3, 6, 9, 10, 27, 18, 14, 1, 8, 20, 15, 13, 9, 10, 12, 15, 15, 21, 4, 5, 6, 20, 35, 56];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Text,
    Binary(Endian),
}

/// What the header says, and what has been read.
struct Reader<'a> {
    scanner: Scanner<'a>,
    version: MshVersion,
    encoding: Encoding,
    /// Bytes of a `size_t` in binary files of version 4.1.
    size_bytes: usize,
    nodes: Option<Nodes>,
    tets: Vec<[u64; 4]>,
    left_out: usize,
}

pub(super) fn read(bytes: &[u8]) -> Result<TetFile, Flaw> {
    let mut reader = read_header(bytes)?;
    let mut has_elements = false;
    while let Some(word) = reader.scanner.word() {
        match word {
            b"$Nodes" => match reader.version {
                MshVersion::V2 => reader.read_nodes_2()?,
                MshVersion::V4 => reader.read_nodes_4()?,
            },
            b"$Elements" => {
                has_elements = true;
                match reader.version {
                    MshVersion::V2 => reader.read_elements_2()?,
                    MshVersion::V4 => reader.read_elements_4()?,
                }
            }
            section if section.starts_with(b"$") && !section.starts_with(b"$End") => reader.skip(section)?,
            other => {
                let what =
                    format!("expected the beginning of a section such as `$Nodes`, found {}", shown(Some(other)));
                return Err(reader.scanner.flaw(what));
            }
        }
        if has_elements && reader.nodes.is_some() {
            break;
        }
    }
    let Some(nodes) = reader.nodes else {
        return Err(Flaw::whole("no section `$Nodes`: the file was cut or is not a mesh"));
    };
    let map = nodes.numbering()?;
    let place = super::Place::Whole;
    let mut tets = Vec::with_capacity(reader.tets.len());
    for tet in &reader.tets {
        let mut places = [0; 4];
        for (node, &tag) in places.iter_mut().zip(tet) {
            *node = map.find(tag, place)?;
        }
        tets.push(places);
    }
    let version = if reader.version == MshVersion::V2 { "2.2" } else { "4.1" };
    let words = if reader.encoding == Encoding::Text { "text" } else { "binary" };
    let mesh = TetMesh { positions: nodes.positions, tets, levels: Vec::new() };
    finished(mesh, reader.left_out, format!("Gmsh {words}, version {version}"))
}

fn read_header(bytes: &[u8]) -> Result<Reader<'_>, Flaw> {
    let mut scanner = Scanner::new(bytes, None);
    let first = scanner.word();
    if first != Some(b"$MeshFormat") {
        return Err(scanner.flaw(format!("expected `$MeshFormat`, found {}: not a Gmsh file", shown(first))));
    }
    let number = scanner.word();
    let version = match number {
        Some(b"2" | b"2.0" | b"2.1" | b"2.2") => MshVersion::V2,
        Some(b"4.1") => MshVersion::V4,
        _ => {
            let what = format!(
                "version {}, expected 2.2 or 4.1: convert it with `gmsh IN.msh -save -format msh41 -o OUT.msh`",
                shown(number)
            );
            return Err(scanner.flaw(what));
        }
    };
    let kind = scanner.integer("the file type")?;
    let size = scanner.integer("the data size")?;
    if !(size == 8 || size == 4 && version == MshVersion::V4) {
        return Err(scanner.flaw(format!("data size {size}, expected 8")));
    }
    scanner.line();
    let encoding = match kind {
        0 => Encoding::Text,
        1 => {
            scanner.has_binary();
            let one = scanner.take(4, "the number one")?;
            match (whole(one, Endian::Little), whole(one, Endian::Big)) {
                (1, _) => Encoding::Binary(Endian::Little),
                (_, 1) => Encoding::Binary(Endian::Big),
                _ => return Err(scanner.flaw("the number one is neither little- nor big-endian: the file is damaged")),
            }
        }
        _ => return Err(scanner.flaw(format!("file type {kind}, expected 0 (text) or 1 (binary)"))),
    };
    let end = scanner.word();
    if end != Some(b"$EndMeshFormat") {
        return Err(scanner.flaw(format!("expected `$EndMeshFormat`, found {}", shown(end))));
    }
    let size_bytes = size as usize;
    Ok(Reader { scanner, version, encoding, size_bytes, nodes: None, tets: Vec::new(), left_out: 0 })
}

impl Reader<'_> {
    /// Passes over a section.
    fn skip(&mut self, section: &[u8]) -> Result<(), Flaw> {
        let mut end = b"$End".to_vec();
        end.extend(&section[1..]);
        if self.scanner.find(&end) {
            return Ok(());
        }
        let what = format!("section {} has no end: the file was cut", shown(Some(section)));
        Err(self.scanner.flaw(what))
    }

    fn end(&mut self, section: &str) -> Result<(), Flaw> {
        let word = self.scanner.word();
        if word == Some(section.as_bytes()) {
            return Ok(());
        }
        Err(self.scanner.flaw(format!("expected `{section}`, found {}: the counts do not fit", shown(word))))
    }

    /// One `size_t` of version 4.1.
    fn size(&mut self, of: &str) -> Result<u64, Flaw> {
        match self.encoding {
            Encoding::Text => self.scanner.integer(of),
            Encoding::Binary(endian) => Ok(whole(self.scanner.take(self.size_bytes, of)?, endian)),
        }
    }

    /// One `int`.
    fn int(&mut self, of: &str) -> Result<i64, Flaw> {
        match self.encoding {
            Encoding::Text => {
                let word = self.scanner.word();
                parse(word)
                    .ok_or_else(|| self.scanner.flaw(format!("expected {of} (a whole number), found {}", shown(word))))
            }
            Encoding::Binary(endian) => Ok(i64::from(whole(self.scanner.take(4, of)?, endian) as u32 as i32)),
        }
    }

    fn coordinates(&mut self) -> Result<DVec3, Flaw> {
        let mut point = [0.0; 3];
        for value in &mut point {
            *value = match self.encoding {
                Encoding::Text => self.scanner.number("a coordinate")?,
                Encoding::Binary(endian) => float(self.scanner.take(8, "a coordinate")?, endian),
            };
        }
        Ok(DVec3::from_array(point))
    }

    fn new_nodes(&mut self, count: usize) -> Result<Nodes, Flaw> {
        match self.nodes {
            None => Ok(Nodes::with_capacity(count)),
            Some(_) => Err(self.scanner.flaw("a second section `$Nodes`, expected one")),
        }
    }

    fn read_nodes_2(&mut self) -> Result<(), Flaw> {
        let count = self.scanner.count("nodes", 8)?;
        let mut nodes = self.new_nodes(count)?;
        self.scanner.line();
        for _ in 0..count {
            let tag = self.int("the number of a node")?;
            let position = self.coordinates()?;
            nodes.push(tag as u64, position, self.scanner.place())?;
        }
        self.nodes = Some(nodes);
        self.end("$EndNodes")
    }

    fn begin_section(&mut self) {
        if self.encoding != Encoding::Text {
            self.scanner.line();
        }
    }

    fn read_nodes_4(&mut self) -> Result<(), Flaw> {
        self.begin_section();
        let blocks = self.size("the number of blocks")?;
        let count = self.size("the number of nodes")?;
        let count = self.scanner.believe(count, "nodes", 8)?;
        let mut nodes = self.new_nodes(count)?;
        self.size("the least number")?;
        self.size("the largest number")?;
        let blocks = self.scanner.believe(blocks, "blocks of nodes", 8)?;
        let mut tags = Vec::new();
        for _ in 0..blocks {
            let dimension = self.int("the dimension of an entity")?;
            self.int("the number of an entity")?;
            let parametric = self.int("whether there are parameters")?;
            let length = self.size("the number of nodes of a block")?;
            let length = self.scanner.believe(length, "nodes of a block", 8)?;
            tags.clear();
            for _ in 0..length {
                tags.push(self.size("the number of a node")?);
            }
            let parameters = if parametric == 0 { 0 } else { dimension.clamp(0, 3) };
            for &tag in &tags {
                let position = self.coordinates()?;
                for _ in 0..parameters {
                    match self.encoding {
                        Encoding::Text => drop(self.scanner.number("a parameter")?),
                        Encoding::Binary(_) => drop(self.scanner.take(8, "a parameter")?),
                    }
                }
                nodes.push(tag, position, self.scanner.place())?;
            }
        }
        if nodes.tags.len() != count {
            let found = nodes.tags.len();
            return Err(self.scanner.flaw(format!("{found} nodes in the blocks, {count} were promised")));
        }
        self.nodes = Some(nodes);
        self.end("$EndNodes")
    }

    fn read_elements_2(&mut self) -> Result<(), Flaw> {
        let count = self.scanner.count("elements", 8)?;
        self.scanner.line();
        let mut read = 0;
        while read < count {
            if self.encoding == Encoding::Text {
                self.read_row_2()?;
                read += 1;
                continue;
            }
            let kind = self.int("the type of elements")? as u64;
            let follow = self.int("the number of elements of a type")?;
            let tag_count = self.int("the number of tags")?.clamp(0, 64) as usize;
            let follow = self.scanner.believe(follow as u64, "elements of a type", 8)?;
            if follow == 0 {
                return Err(self.scanner.flaw("a run of no elements, expected one at least: the file is damaged"));
            }
            let node_count = self.nodes_of_type(kind)?;
            for _ in 0..follow {
                for _ in 0..=tag_count {
                    self.int("a tag")?;
                }
                self.read_binary_element(kind, node_count, 4)?;
            }
            read += follow;
        }
        self.end("$EndElements")
    }

    /// `number type tag-count tags... nodes...`
    fn read_row_2(&mut self) -> Result<(), Flaw> {
        let place = self.scanner.place();
        let cut = || Flaw::new(place, "a row of an element is cut; expected number, type, tags and nodes");
        let mut words = self.scanner.words_of_line().ok_or_else(cut)?;
        words.next();
        let kind: u64 = parse(words.next()).ok_or_else(cut)?;
        let tags: usize = parse(words.next()).ok_or_else(cut)?;
        if tags > 0 {
            words.nth(tags - 1).ok_or_else(cut)?;
        }
        if kind == TETRAHEDRON || kind == TEN_NODE_TETRAHEDRON {
            let mut tet = [0; 4];
            for node in &mut tet {
                *node = parse(words.next()).ok_or_else(cut)?;
            }
            self.tets.push(tet);
        } else {
            self.pass_over(kind, 1);
        }
        Ok(())
    }

    fn read_elements_4(&mut self) -> Result<(), Flaw> {
        self.begin_section();
        let blocks = self.size("the number of blocks")?;
        let count = self.size("the number of elements")?;
        let count = self.scanner.believe(count, "elements", 4)?;
        self.size("the least number")?;
        self.size("the largest number")?;
        let blocks = self.scanner.believe(blocks, "blocks of elements", 8)?;
        let mut read = 0;
        for _ in 0..blocks {
            self.int("the dimension of an entity")?;
            self.int("the number of an entity")?;
            let kind = self.int("the type of elements")? as u64;
            let length = self.size("the number of elements of a block")?;
            let length = self.scanner.believe(length, "elements of a block", 4)?;
            let node_count = self.nodes_of_type(kind)?;
            for _ in 0..length {
                self.size("the number of an element")?;
                match self.encoding {
                    Encoding::Binary(_) => self.read_binary_element(kind, node_count, self.size_bytes)?,
                    Encoding::Text => {
                        let mut nodes = [0; 4];
                        for at in 0..node_count {
                            let node = self.scanner.integer("a node of an element")?;
                            nodes[at.min(3)] = if at < 4 { node } else { nodes[3] };
                        }
                        self.keep(kind, nodes);
                    }
                }
            }
            read += length;
        }
        if read != count {
            return Err(self.scanner.flaw(format!("{read} elements in the blocks, {count} were promised")));
        }
        self.end("$EndElements")
    }

    fn nodes_of_type(&self, kind: u64) -> Result<usize, Flaw> {
        let known = kind.checked_sub(1).and_then(|at| NODES_OF_TYPE.get(usize::try_from(at).ok()?));
        known.copied().ok_or_else(|| {
            self.scanner.flaw(format!("element type {kind} is not known here; expected 1 to {}", NODES_OF_TYPE.len()))
        })
    }

    fn read_binary_element(&mut self, kind: u64, node_count: usize, width: usize) -> Result<(), Flaw> {
        let Encoding::Binary(endian) = self.encoding else { return Ok(()) };
        let bytes = self.scanner.take(node_count * width, "nodes of an element")?;
        let mut nodes = [0; 4];
        for (node, number) in nodes.iter_mut().zip(bytes.chunks_exact(width)) {
            *node = whole(number, endian);
        }
        self.keep(kind, nodes);
        Ok(())
    }

    fn keep(&mut self, kind: u64, nodes: [u64; 4]) {
        if kind == TETRAHEDRON || kind == TEN_NODE_TETRAHEDRON {
            self.tets.push(nodes);
        } else {
            self.pass_over(kind, 1);
        }
    }

    /// Points, lines and triangles belong to the boundary or to nothing; the rest is left out.
    fn pass_over(&mut self, kind: u64, count: usize) {
        if ![1, TRIANGLE, 8, 9, 15].contains(&kind) {
            self.left_out += count;
        }
    }
}

pub(super) fn encode(cells: &Cells<'_>, version: MshVersion) -> Vec<u8> {
    let mut out = Vec::with_capacity(60 * cells.mesh.positions.len() + 64 * cells.mesh.tets.len() + 1024);
    let number = if version == MshVersion::V2 { "2.2" } else { "4.1" };
    let names = format!(
        "$MeshFormat\n{number} 0 8\n$EndMeshFormat\n$PhysicalNames\n2\n2 {BOUNDARY_TAG} \"boundary\"\n3 {VOLUME_TAG} \"volume\"\n\
         $EndPhysicalNames\n"
    );
    out.extend(names.bytes());
    match version {
        MshVersion::V2 => encode_2(&mut out, cells),
        MshVersion::V4 => encode_4(&mut out, cells),
    }
    out
}

/// Numbers of nodes in a file, from 1.
fn tags(nodes: &[u32]) -> impl Iterator<Item = u64> + '_ {
    nodes.iter().map(|&node| u64::from(node) + 1)
}

fn encode_2(out: &mut Vec<u8>, cells: &Cells<'_>) {
    let (mesh, boundary) = (cells.mesh, &cells.boundary);
    say(out, format_args!("$Nodes\n{}\n", mesh.positions.len()));
    for (number, &position) in mesh.positions.iter().enumerate() {
        say(out, format_args!("{} ", number + 1));
        push_point(out, position);
        out.push(b'\n');
    }
    say(out, format_args!("$EndNodes\n$Elements\n{}\n", boundary.len() + mesh.tets.len()));
    for (number, triangle) in boundary.iter().enumerate() {
        say(out, format_args!("{} {TRIANGLE} 2 {BOUNDARY_TAG} 1", number + 1));
        push_wholes(out, tags(triangle));
        out.push(b'\n');
    }
    for (number, tet) in mesh.tets.iter().enumerate() {
        say(out, format_args!("{} {TETRAHEDRON} 2 {VOLUME_TAG} 1", boundary.len() + number + 1));
        push_wholes(out, tags(tet));
        out.push(b'\n');
    }
    out.extend(b"$EndElements\n");
}

fn encode_4(out: &mut Vec<u8>, cells: &Cells<'_>) {
    let (mesh, boundary) = (cells.mesh, &cells.boundary);
    let bounds = unsnarl_geometry::Aabb::of_points(mesh.positions.iter().copied());
    let entity = |out: &mut Vec<u8>, tag: u32, rest: &str| {
        out.extend(b"1 ");
        push_point(out, bounds.min);
        out.push(b' ');
        push_point(out, bounds.max);
        say(out, format_args!(" 1 {tag} {rest}\n"));
    };
    out.extend(b"$Entities\n0 0 1 1\n");
    entity(out, BOUNDARY_TAG, "0");
    entity(out, VOLUME_TAG, "1 1");
    let node_count = mesh.positions.len();
    let least = usize::from(node_count > 0);
    say(out, format_args!("$EndEntities\n$Nodes\n1 {node_count} {least} {node_count}\n3 1 0 {node_count}\n"));
    for number in 1..=node_count {
        say(out, format_args!("{number}\n"));
    }
    for &position in &mesh.positions {
        push_point(out, position);
        out.push(b'\n');
    }
    let count = boundary.len() + mesh.tets.len();
    say(out, format_args!("$EndNodes\n$Elements\n2 {count} 1 {count}\n2 1 {TRIANGLE} {}\n", boundary.len()));
    for (number, triangle) in boundary.iter().enumerate() {
        say(out, format_args!("{}", number + 1));
        push_wholes(out, tags(triangle));
        out.push(b'\n');
    }
    say(out, format_args!("3 1 {TETRAHEDRON} {}\n", mesh.tets.len()));
    for (number, tet) in mesh.tets.iter().enumerate() {
        say(out, format_args!("{}", boundary.len() + number + 1));
        push_wholes(out, tags(tet));
        out.push(b'\n');
    }
    out.extend(b"$EndElements\n");
}

fn say(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("memory takes every byte");
}
