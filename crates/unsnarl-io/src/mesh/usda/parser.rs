//! From the text of a USD layer to its prims: transforms, and the attributes of meshes.
//!
//! Recursion is kept on a stack of its own, so that deep nesting costs memory in proportion and nothing more.

use super::super::error::Flaw;
use super::super::text::{name, parse_integer, parse_number, shown};
use super::colours::{COLOURS, ColourData, is_colour};
use super::lexer::{Kind, Lexer, Token};
use super::xform::Xform;
use std::ops::Range;

/// What a file says, in the order of its prims.
#[derive(Default)]
pub(super) struct Layer {
    pub metres_per_unit: Option<f64>,
    pub up_axis: Option<String>,
    pub time_codes_per_second: Option<f64>,
    pub prims: Vec<Prim>,
    /// Variants, references and payloads, which are not followed.
    pub not_followed: usize,
    /// Attributes with time samples, of which the first is read.
    pub time_sampled: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PrimKind {
    Mesh,
    Subset,
    /// Anything else that is defined.
    Other,
    /// Not defined here (`over`, `class`), with all that is inside.
    Ignored,
}

pub(super) struct Prim {
    pub kind: PrimKind,
    pub name: String,
    pub parent: Option<usize>,
    pub line: usize,
    pub xform: Xform,
    pub mesh: MeshData,
    /// Time samples of points and transforms, where they are asked for: property, then time and numbers.
    pub samples: Vec<(String, Vec<Sample>)>,
}

/// The numbers of a property at a time.
pub(super) type Sample = (f64, Vec<f64>);

/// The attributes of a mesh or of a subset of its faces.
#[derive(Default)]
pub(super) struct MeshData {
    pub points: Vec<[f64; 3]>,
    /// Where each point is in the text: from its first number to its last.
    pub point_ranges: Vec<Range<usize>>,
    pub point_type: String,
    pub face_counts: Vec<i64>,
    pub face_indices: Vec<i64>,
    pub uv: Vec<f64>,
    pub uv_indices: Option<Vec<i64>>,
    pub uv_interpolation: String,
    pub uv_name: String,
    pub colours: ColourData,
    pub left_handed: bool,
    pub extent: Option<Range<usize>>,
    /// The faces of a subset.
    pub subset: Vec<i64>,
    pub rest: RestData,
    pub material: Option<String>,
}

/// The rest shape of a mesh, as the draft of deformable bodies writes it.
#[derive(Default)]
pub(super) struct RestData {
    pub points: Vec<f64>,
    pub triangles: Vec<i64>,
    pub pairs: Vec<i64>,
    pub angles_degrees: Vec<f64>,
    pub default_angles: String,
}

/// Which time samples are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Samples {
    First,
    All,
}

pub(super) fn parse(bytes: &[u8], samples: Samples) -> Result<Layer, Flaw> {
    let lexer = Lexer::new(bytes);
    let mut parser = Parser { lexer, layer: Layer::default(), open: Vec::new(), counted: 0, line: 1, samples };
    parser.layer_metadata()?;
    while parser.statement()? {}
    Ok(parser.layer)
}

/// Points, and where each is in the text.
type PlacedPoints = (Vec<[f64; 3]>, Vec<Range<usize>>);

struct Parser<'a> {
    lexer: Lexer<'a>,
    layer: Layer,
    open: Vec<usize>,
    /// The byte up to which lines were counted, and its line.
    counted: usize,
    line: usize,
    samples: Samples,
}

impl Parser<'_> {
    fn layer_metadata(&mut self) -> Result<(), Flaw> {
        while self.lexer.peek()?.is_some_and(|token| token.kind == Kind::Newline) {
            self.lexer.next()?;
        }
        if !self.take_mark(b'(')? {
            return Ok(());
        }
        loop {
            let token = self.lexer.next_solid()?;
            match token.kind {
                Kind::Mark(b')') => return Ok(()),
                Kind::Mark(b'(' | b'[' | b'{') => self.lexer.skip_balanced()?,
                Kind::Word if self.take_mark(b'=')? => match self.lexer.text(&token) {
                    b"metersPerUnit" => {
                        let value = self.lexer.next_solid()?;
                        self.layer.metres_per_unit = Some(self.number(&value)?);
                    }
                    b"timeCodesPerSecond" => {
                        let value = self.lexer.next_solid()?;
                        self.layer.time_codes_per_second = Some(self.number(&value)?);
                    }
                    b"upAxis" => {
                        let value = self.lexer.next_solid()?;
                        self.layer.up_axis = Some(name(self.lexer.text(&value)));
                    }
                    _ => {}
                },
                _ => {}
            }
        }
    }

    /// Reads one statement; `false` at the end of the file.
    fn statement(&mut self) -> Result<bool, Flaw> {
        let Some(token) = self.lexer.next()? else {
            return if self.open.is_empty() { Ok(false) } else { Err(self.lexer.truncated()) };
        };
        match token.kind {
            Kind::Newline | Kind::Mark(b';') => {}
            Kind::Mark(b'}') if self.open.pop().is_some() => {}
            Kind::Mark(b'(' | b'[' | b'{') => self.lexer.skip_balanced()?,
            Kind::Word => match self.lexer.text(&token) {
                keyword @ (b"def" | b"over" | b"class") => self.open_prim(keyword)?,
                b"variantSet" => {
                    self.layer.not_followed += 1;
                    self.skip_statement()?;
                }
                _ if self.open.is_empty() => self.skip_statement()?,
                _ => self.property(token)?,
            },
            _ => {
                let detail = format!("expected a prim or a property, found `{}`", shown(self.lexer.text(&token)));
                return Err(Flaw::syntax(self.lexer.place(token.range.start), detail));
            }
        }
        Ok(true)
    }

    fn open_prim(&mut self, keyword: &[u8]) -> Result<(), Flaw> {
        let at = self.lexer.at();
        self.line += self.lexer.bytes[self.counted..at].iter().filter(|&&byte| byte == b'\n').count();
        self.counted = at;
        let line = self.line;
        let mut token = self.lexer.next_solid()?;
        let mut prim_type = &b""[..];
        if token.kind == Kind::Word {
            prim_type = self.lexer.text(&token);
            token = self.lexer.next_solid()?;
        }
        if token.kind != Kind::Text {
            return Err(Flaw::syntax(self.lexer.place(token.range.start), "expected the name of a prim in quotes"));
        }
        let parent = self.open.last().copied();
        let inside_ignored = parent.is_some_and(|parent| self.layer.prims[parent].kind == PrimKind::Ignored);
        let kind = match prim_type {
            _ if keyword != b"def" || inside_ignored => PrimKind::Ignored,
            b"Mesh" => PrimKind::Mesh,
            b"GeomSubset" => PrimKind::Subset,
            _ => PrimKind::Other,
        };
        let name = name(self.lexer.text(&token));
        token = self.lexer.next_solid()?;
        if token.kind == Kind::Mark(b'(') {
            self.prim_metadata()?;
            token = self.lexer.next_solid()?;
        }
        if token.kind != Kind::Mark(b'{') {
            return Err(Flaw::syntax(self.lexer.place(token.range.start), "expected `{` after the name of a prim"));
        }
        self.open.push(self.layer.prims.len());
        let (xform, mesh, samples) = (Xform::default(), MeshData::default(), Vec::new());
        self.layer.prims.push(Prim { kind, name, parent, line, xform, mesh, samples });
        Ok(())
    }

    fn prim_metadata(&mut self) -> Result<(), Flaw> {
        let mut depth = 1usize;
        while depth > 0 {
            let token = self.lexer.next_solid()?;
            match token.kind {
                Kind::Mark(b'(' | b'[' | b'{') => depth += 1,
                Kind::Mark(b')' | b']' | b'}') => depth -= 1,
                Kind::Word if matches!(self.lexer.text(&token), b"references" | b"payload") => {
                    self.layer.not_followed += 1;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A property of the innermost prim; `first` is its first word.
    fn property(&mut self, first: Token) -> Result<(), Flaw> {
        let prim = *self.open.last().expect("properties are read inside prims only");
        let (mut property_type, mut name_token) = (first.clone(), first);
        loop {
            match self.lexer.peek()? {
                Some(token) if token.kind == Kind::Word => {
                    (property_type, name_token) = (name_token, token);
                    self.lexer.next()?;
                }
                Some(token) if matches!(token.kind, Kind::Mark(b'[' | b']')) => {
                    self.lexer.next()?;
                }
                Some(token) if token.kind == Kind::Mark(b'=') => {
                    self.lexer.next()?;
                    break;
                }
                _ => return self.skip_statement(),
            }
        }
        let kind = self.layer.prims[prim].kind;
        let property = name(self.lexer.text(&name_token));
        let property_type = name(self.lexer.text(&property_type));
        let (base, sampled) = match property.strip_suffix(".timeSamples") {
            Some(base) => (base.to_owned(), true),
            None => (property, false),
        };
        if kind == PrimKind::Ignored || !is_read(kind, &base, &property_type) || sampled && is_colour(&base) {
            return self.skip_statement();
        }
        if sampled {
            self.layer.time_sampled += 1;
            if self.samples == Samples::All && (base == "points" || base.starts_with("xformOp:")) {
                let samples = self.all_samples()?;
                self.layer.prims[prim].samples.push((base, samples));
                return self.skip_statement();
            }
            if self.layer.prims[prim].has(&base) || !self.enter_first_sample()? {
                return self.skip_statement();
            }
            self.value(prim, &base, &property_type)?;
            return self.lexer.skip_balanced();
        }
        let next = self.lexer.peek_solid()?;
        if next.kind == Kind::Word && self.lexer.text(&next) == b"None" {
            return self.skip_statement();
        }
        self.value(prim, &base, &property_type)?;
        let interpolation = self.property_metadata()?;
        let mesh = &mut self.layer.prims[prim].mesh;
        if base == mesh.uv_name && !interpolation.is_empty() {
            mesh.uv_interpolation = interpolation;
        } else if base == COLOURS {
            mesh.colours.interpolation = interpolation;
        }
        Ok(())
    }

    /// Goes to the value of the first sample in `{ time: value, ... }`; `false` when there is none.
    fn enter_first_sample(&mut self) -> Result<bool, Flaw> {
        let open = self.lexer.next_solid()?;
        if open.kind != Kind::Mark(b'{') {
            return Err(Flaw::syntax(self.lexer.place(open.range.start), "expected `{` before time samples"));
        }
        let time = self.lexer.next_solid()?;
        if time.kind == Kind::Mark(b'}') {
            return Ok(false);
        }
        let colon = self.lexer.next_solid()?;
        if time.kind != Kind::Word || colon.kind != Kind::Mark(b':') {
            return Err(Flaw::syntax(self.lexer.place(time.range.start), "expected `time: value` in time samples"));
        }
        Ok(true)
    }

    /// All of `{ time: value, ... }`; a value of `None` is left out.
    fn all_samples(&mut self) -> Result<Vec<Sample>, Flaw> {
        let mut samples = Vec::new();
        self.expect_mark(b'{')?;
        loop {
            let token = self.lexer.next_solid()?;
            if token.kind == Kind::Mark(b'}') {
                return Ok(samples);
            }
            let time = self.number(&token)?;
            self.expect_mark(b':')?;
            let next = self.lexer.peek_solid()?;
            if next.kind == Kind::Word && self.lexer.text(&next) == b"None" {
                self.lexer.next_solid()?;
            } else {
                samples.push((time, self.numbers()?));
            }
            if self.lexer.peek_solid()?.kind == Kind::Mark(b',') {
                self.lexer.next_solid()?;
            }
        }
    }

    fn value(&mut self, prim: usize, property: &str, property_type: &str) -> Result<(), Flaw> {
        match property {
            "points" => {
                let (points, ranges) = self.points()?;
                let mesh = &mut self.layer.prims[prim].mesh;
                (mesh.points, mesh.point_ranges) = (points, ranges);
                mesh.point_type = property_type.to_owned();
            }
            "faceVertexCounts" => self.layer.prims[prim].mesh.face_counts = self.integers()?,
            "faceVertexIndices" => self.layer.prims[prim].mesh.face_indices = self.integers()?,
            "indices" => self.layer.prims[prim].mesh.subset = self.integers()?,
            "orientation" => {
                let token = self.lexer.next_solid()?;
                self.layer.prims[prim].mesh.left_handed = self.lexer.text(&token) == b"leftHanded";
            }
            "extent" => {
                let start = self.lexer.peek_solid()?.range.start;
                self.numbers()?;
                self.layer.prims[prim].mesh.extent = Some(start..self.lexer.at());
            }
            "material:binding" => {
                let token = self.lexer.next_solid()?;
                let path = name(self.lexer.text(&token));
                self.layer.prims[prim].mesh.material = path.rsplit('/').next().map(str::to_owned);
            }
            _ if rest_field(property).is_some() => {
                return self.rest_value(prim, rest_field(property).unwrap_or_default());
            }
            "xformOpOrder" => self.layer.prims[prim].xform.order = self.strings()?,
            _ if property.starts_with("xformOp:") => {
                let values = self.numbers()?;
                self.layer.prims[prim].xform.values.push((property.to_owned(), values));
            }
            COLOURS => self.layer.prims[prim].mesh.colours.values = self.numbers()?,
            _ => match property.strip_suffix(":indices") {
                Some(COLOURS) => self.layer.prims[prim].mesh.colours.indices = Some(self.integers()?),
                Some(base) => {
                    let indices = self.integers()?;
                    let mesh = &mut self.layer.prims[prim].mesh;
                    if base == mesh.uv_name {
                        mesh.uv_indices = Some(indices);
                    }
                }
                None => {
                    let values = self.numbers()?;
                    let mesh = &mut self.layer.prims[prim].mesh;
                    if mesh.uv_name.is_empty() || property == "primvars:st" {
                        (mesh.uv, mesh.uv_name, mesh.uv_indices) = (values, property.to_owned(), None);
                    }
                }
            },
        }
        Ok(())
    }

    fn rest_value(&mut self, prim: usize, field: &str) -> Result<(), Flaw> {
        match field {
            "restShapePoints" => self.layer.prims[prim].mesh.rest.points = self.numbers()?,
            "restTriVtxIndices" => self.layer.prims[prim].mesh.rest.triangles = self.integers()?,
            "restAdjTriPairs" => self.layer.prims[prim].mesh.rest.pairs = self.integers()?,
            "restBendAngles" => self.layer.prims[prim].mesh.rest.angles_degrees = self.numbers()?,
            _ => {
                let token = self.lexer.next_solid()?;
                self.layer.prims[prim].mesh.rest.default_angles = name(self.lexer.text(&token));
            }
        }
        Ok(())
    }

    /// What may follow a value on its line: metadata, of which the interpolation is told.
    fn property_metadata(&mut self) -> Result<String, Flaw> {
        let mut interpolation = String::new();
        if self.take_mark(b'(')? {
            let mut depth = 1usize;
            while depth > 0 {
                let token = self.lexer.next_solid()?;
                match token.kind {
                    Kind::Mark(b'(' | b'[' | b'{') => depth += 1,
                    Kind::Mark(b')' | b']' | b'}') => depth -= 1,
                    Kind::Word if self.lexer.text(&token) == b"interpolation" && self.take_mark(b'=')? => {
                        let value = self.lexer.next_solid()?;
                        interpolation = name(self.lexer.text(&value));
                    }
                    _ => {}
                }
            }
        }
        self.skip_statement()?;
        Ok(interpolation)
    }

    /// Steps over the rest of a statement: to the end of its line, not counting lines inside brackets.
    fn skip_statement(&mut self) -> Result<(), Flaw> {
        loop {
            match self.lexer.peek()?.map(|token| token.kind) {
                None | Some(Kind::Newline | Kind::Mark(b';' | b'}')) => return Ok(()),
                Some(Kind::Mark(b'(' | b'[' | b'{')) => {
                    self.lexer.next()?;
                    self.lexer.skip_balanced()?;
                }
                Some(_) => {
                    self.lexer.next()?;
                }
            }
        }
    }

    fn take_mark(&mut self, mark: u8) -> Result<bool, Flaw> {
        let found = self.lexer.peek()?.is_some_and(|token| token.kind == Kind::Mark(mark));
        if found {
            self.lexer.next()?;
        }
        Ok(found)
    }

    fn number(&self, token: &Token) -> Result<f64, Flaw> {
        let text = self.lexer.text(token);
        parse_number(text).filter(|_| token.kind == Kind::Word).ok_or_else(|| {
            let detail = format!("expected a number, found `{}`", shown(text));
            Flaw::syntax(self.lexer.place(token.range.start), detail)
        })
    }

    /// All numbers of a value, whatever its brackets; a lone number is a value too.
    fn numbers(&mut self) -> Result<Vec<f64>, Flaw> {
        let mut out = Vec::new();
        self.each_item(|parser, token| {
            out.push(parser.number(&token)?);
            Ok(())
        })?;
        Ok(out)
    }

    fn integers(&mut self) -> Result<Vec<i64>, Flaw> {
        let mut out = Vec::new();
        self.each_item(|parser, token| {
            let text = parser.lexer.text(&token);
            out.push(parse_integer(text).ok_or_else(|| {
                let detail = format!("expected a whole number, found `{}`", shown(text));
                Flaw::syntax(parser.lexer.place(token.range.start), detail)
            })?);
            Ok(())
        })?;
        Ok(out)
    }

    fn strings(&mut self) -> Result<Vec<String>, Flaw> {
        let mut out = Vec::new();
        self.each_item(|parser, token| {
            out.push(name(parser.lexer.text(&token)));
            Ok(())
        })?;
        Ok(out)
    }

    /// An array of points, each three numbers in brackets.
    fn points(&mut self) -> Result<PlacedPoints, Flaw> {
        let (mut points, mut ranges) = (Vec::new(), Vec::new());
        self.expect_mark(b'[')?;
        loop {
            let token = self.lexer.next_solid()?;
            match token.kind {
                Kind::Mark(b']') => return Ok((points, ranges)),
                Kind::Mark(b'(') => {}
                _ => return Err(self.unexpected(&token, "a point in brackets")),
            }
            let mut point = [0.0; 3];
            let mut range = 0..0;
            for (at, value) in point.iter_mut().enumerate() {
                if at > 0 {
                    self.expect_mark(b',')?;
                }
                let token = self.lexer.next_solid()?;
                *value = self.number(&token)?;
                range = if at == 0 { token.range } else { range.start..token.range.end };
            }
            self.expect_mark(b')')?;
            points.push(point);
            ranges.push(range);
            if self.lexer.peek_solid()?.kind == Kind::Mark(b',') {
                self.lexer.next_solid()?;
            }
        }
    }

    fn expect_mark(&mut self, mark: u8) -> Result<(), Flaw> {
        let token = self.lexer.next_solid()?;
        if token.kind == Kind::Mark(mark) {
            return Ok(());
        }
        Err(self.unexpected(&token, &format!("`{}`", char::from(mark))))
    }

    fn unexpected(&self, token: &Token, expected: &str) -> Flaw {
        let detail = format!("expected {expected}, found `{}`", shown(self.lexer.text(token)));
        Flaw::syntax(self.lexer.place(token.range.start), detail)
    }

    /// Hands out the words of a value, whatever its brackets, as long as they close in order.
    fn each_item(&mut self, mut take: impl FnMut(&Self, Token) -> Result<(), Flaw>) -> Result<(), Flaw> {
        let mut open = Vec::new();
        loop {
            let token = self.lexer.next_solid()?;
            match token.kind {
                Kind::Mark(b'(') => open.push(b')'),
                Kind::Mark(b'[') => open.push(b']'),
                Kind::Mark(mark) if open.last() == Some(&mark) => drop(open.pop()),
                Kind::Mark(b',') if !open.is_empty() => {}
                Kind::Word | Kind::Text => take(self, token)?,
                _ => return Err(self.unexpected(&token, "a value")),
            }
            if open.is_empty() {
                return Ok(());
            }
        }
    }
}

impl Prim {
    fn has(&self, property: &str) -> bool {
        match property {
            "points" => !self.mesh.points.is_empty(),
            _ => self.xform.values.iter().any(|(name, _)| name == property),
        }
    }
}

/// Whether a property of a prim is read at all.
pub(super) fn is_read(kind: PrimKind, property: &str, property_type: &str) -> bool {
    let transform = property.starts_with("xformOp");
    match kind {
        PrimKind::Mesh => {
            transform
                || matches!(
                    property,
                    "points" | "faceVertexCounts" | "faceVertexIndices" | "orientation" | "extent" | "material:binding"
                )
                || is_uv(property, property_type)
                || is_colour(property)
                || rest_field(property).is_some()
        }
        PrimKind::Subset => matches!(property, "indices" | "material:binding"),
        PrimKind::Other => transform,
        PrimKind::Ignored => false,
    }
}

/// The name of a rest field without the namespace, which drafts spell differently.
pub(super) fn rest_field(property: &str) -> Option<&str> {
    let field = property.rsplit(':').next()?;
    let known = ["restShapePoints", "restTriVtxIndices", "restAdjTriPairs", "restBendAngles", "restBendAnglesDefault"];
    let space = &property[..property.len() - field.len()];
    (matches!(space, "" | "physics:" | "omniphysics:") && known.contains(&field)).then_some(field)
}

fn is_uv(property: &str, property_type: &str) -> bool {
    let base = property.strip_suffix(":indices").unwrap_or(property);
    base == "primvars:st"
        || base.starts_with("primvars:") && (property_type.starts_with("texCoord2") || base != property)
}
