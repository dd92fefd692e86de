//! Sewing patterns in the JSON format of GarmentCode and of the garment pattern generator before it.
//!
//! Read: panels (vertices, edges with `curvature`, translation, rotation), stitches, `units_in_meter`. Curvature is a control point
//! relative to the edge, or `quadratic`, `cubic` and `circle` with their `params`.
//!
//! Guarantees: an error is one line that names the file, the line where JSON itself is wrong, else the panel and the edge; a file's
//! numbers never decide how much memory is taken before they are checked.
//! Does not: apply `parameters` (the file's numbers are taken as they are), nor read absolute curvature coordinates.

use serde::Deserialize;
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;
use thiserror::Error;
use unsnarl::scene::pattern::{Curve, PanelEdge, PatternEdge, PatternPanel, SewingPattern};
use unsnarl_geometry::math::{DQuat, DVec2, DVec3};

/// The largest file that is read, bytes.
const LARGEST_FILE: u64 = 64 << 20;
/// Coordinates are read up to this size, metres.
const LARGEST_COORDINATE: f64 = 1e4;

/// Why a pattern cannot be read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{path}{place}: {problem}")]
pub struct PatternFileError {
    /// The file.
    pub path: String,
    /// Nothing, or a colon and the line.
    pub place: String,
    /// What is wrong, what was expected.
    pub problem: String,
}

#[derive(Deserialize)]
struct File {
    pattern: PatternTable,
    #[serde(default)]
    properties: Properties,
}

#[derive(Deserialize)]
struct PatternTable {
    panels: serde_json::Map<String, Value>,
    #[serde(default)]
    stitches: Vec<Vec<Value>>,
}

#[derive(Deserialize, Default)]
struct Properties {
    units_in_meter: Option<f64>,
    curvature_coords: Option<String>,
}

#[derive(Deserialize)]
struct PanelTable {
    vertices: Vec<[f64; 2]>,
    edges: Vec<EdgeTable>,
    #[serde(default)]
    translation: [f64; 3],
    #[serde(default)]
    rotation: [f64; 3],
}

#[derive(Deserialize)]
struct EdgeTable {
    endpoints: [usize; 2],
    #[serde(default)]
    curvature: Option<Value>,
}

#[derive(Deserialize)]
struct SideTable {
    panel: String,
    edge: usize,
}

/// Reads a pattern, in metres.
pub fn read(path: &Path) -> Result<SewingPattern, PatternFileError> {
    let name = path.display().to_string();
    let fail = |problem: String| PatternFileError { path: name.clone(), place: String::new(), problem };
    let size = std::fs::metadata(path).map_err(|error| fail(format!("cannot read: {error}")))?.len();
    if size > LARGEST_FILE {
        return Err(fail(format!("{size} bytes; a pattern has {LARGEST_FILE} at most")));
    }
    let bytes = std::fs::read(path).map_err(|error| fail(format!("cannot read: {error}")))?;
    parse(&name, &bytes)
}

/// The same for the bytes of a file.
pub fn parse(name: &str, bytes: &[u8]) -> Result<SewingPattern, PatternFileError> {
    let fail = |place: String, problem: String| PatternFileError { path: name.to_owned(), place, problem };
    let file: File = serde_json::from_slice(bytes).map_err(|error| {
        let place = if error.line() > 0 { format!(":{}", error.line()) } else { String::new() };
        fail(place, format!("expected a GarmentCode pattern: {}", plain(&error)))
    })?;
    pattern(file).map_err(|problem| fail(String::new(), problem))
}

/// The parser's words without the place, which stands before them.
fn plain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().replace('\n', " ")
}

fn pattern(file: File) -> Result<SewingPattern, String> {
    let units = file.properties.units_in_meter.unwrap_or(100.0);
    if !(units.is_finite() && units > 0.0) {
        return Err(format!("units_in_meter is {units}; expected a number above 0"));
    }
    if let Some(kind) = file.properties.curvature_coords.filter(|kind| kind != "relative") {
        return Err(format!("curvature_coords is {kind:?}; expected \"relative\""));
    }
    if file.pattern.panels.is_empty() {
        return Err("the pattern has no panels".to_owned());
    }
    let mut panels = Vec::new();
    let mut numbers = HashMap::new();
    for (name, value) in file.pattern.panels {
        let table: PanelTable =
            serde_json::from_value(value).map_err(|error| format!("panel {name}: {}", plain(&error)))?;
        numbers.insert(name.clone(), panels.len());
        panels.push(panel(name, table, units)?);
    }
    let mut seams = Vec::new();
    for (index, stitch) in file.pattern.stitches.into_iter().enumerate() {
        seams.push(seam(index, stitch, &numbers, &panels)?);
    }
    Ok(SewingPattern { panels, seams })
}

fn panel(name: String, table: PanelTable, units: f64) -> Result<PatternPanel, String> {
    let usable = |value: &f64| (*value / units).abs() <= LARGEST_COORDINATE;
    if !table.vertices.iter().flatten().chain(&table.translation).all(usable) {
        return Err(format!("panel {name}: expected coordinates of at most {LARGEST_COORDINATE} metres"));
    }
    if !table.rotation.iter().all(|angle| angle.is_finite()) {
        return Err(format!("panel {name}: expected a rotation of three finite angles"));
    }
    if let Some(edge) = table.edges.iter().position(|edge| edge.endpoints.iter().any(|&e| e >= table.vertices.len())) {
        return Err(format!("panel {name}: edge {edge} names a vertex that is not there"));
    }
    let mut edges = Vec::with_capacity(table.edges.len());
    for (index, edge) in table.edges.iter().enumerate() {
        let curve = match &edge.curvature {
            None | Some(Value::Null) => Curve::Line,
            Some(value) => curve(value, units).ok_or_else(|| {
                format!(
                    "panel {name}: edge {index}: expected a curvature [x, y] or quadratic, cubic or circle with params"
                )
            })?,
        };
        edges.push(PatternEdge { ends: edge.endpoints, curve });
    }
    let [x, y, z] = table.rotation.map(f64::to_radians);
    Ok(PatternPanel {
        name,
        corners: table.vertices.iter().map(|&vertex| DVec2::from_array(vertex) / units).collect(),
        edges,
        rotation: DQuat::from_rotation_z(z) * DQuat::from_rotation_y(y) * DQuat::from_rotation_x(x),
        translation: DVec3::from_array(table.translation) / units,
    })
}

/// A control point alone, or a kind and its parameters.
fn curve(value: &Value, units: f64) -> Option<Curve> {
    let point = |value: &Value| {
        let [x, y] = serde_json::from_value::<[f64; 2]>(value.clone()).ok()?;
        (x.abs().max(y.abs()) <= LARGEST_COORDINATE).then_some(DVec2::new(x, y))
    };
    if value.is_array() {
        return point(value).map(Curve::Quadratic);
    }
    let params = value.get("params")?.as_array()?;
    match (value.get("type")?.as_str()?, params.as_slice()) {
        ("quadratic", [control]) => point(control).map(Curve::Quadratic),
        ("cubic", [first, second]) => Some(Curve::Cubic([point(first)?, point(second)?])),
        ("circle", [radius, is_long, is_right]) => {
            let radius = radius.as_f64()? / units;
            let flag = |value: &Value| value.as_bool().or_else(|| value.as_f64().map(|number| number != 0.0));
            let (is_long, is_right) = (flag(is_long)?, flag(is_right)?);
            (radius > 0.0 && radius <= LARGEST_COORDINATE).then_some(Curve::Arc { radius, is_long, is_right })
        }
        _ => None,
    }
}

/// Two sides; a third entry says which face of the cloth is outside, which a mesh does not need.
fn seam(
    index: usize,
    stitch: Vec<Value>,
    numbers: &HashMap<String, usize>,
    panels: &[PatternPanel],
) -> Result<[PanelEdge; 2], String> {
    let wrong = || format!("stitch {index}: expected two sides, each with a panel and the number of its edge");
    let mut sides = stitch.into_iter();
    let mut side = || -> Result<PanelEdge, String> {
        let table: SideTable = serde_json::from_value(sides.next().ok_or_else(wrong)?).map_err(|_| wrong())?;
        let panel = *numbers.get(&table.panel).ok_or_else(|| format!("stitch {index}: no panel {:?}", table.panel))?;
        if table.edge >= panels[panel].edges.len() {
            return Err(format!("stitch {index}: panel {} has no edge {}", table.panel, table.edge));
        }
        Ok(PanelEdge { panel, edge: table.edge })
    };
    Ok([side()?, side()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    const SQUARE: &str = r#"{"vertices": [[0, 0], [30, 0], [30, 30], [0, 30]], "translation": [0, 10, 5], "rotation": [0, 90, 0],
        "edges": [{"endpoints": [0, 1]}, {"endpoints": [1, 2], "curvature": [0.5, 0.1]},
                  {"endpoints": [2, 3], "curvature": {"type": "cubic", "params": [[0.3, 0.1], [0.7, 0.1]]}},
                  {"endpoints": [3, 0], "curvature": {"type": "circle", "params": [40, 0, 1]}}]}"#;

    fn file(panel: &str, stitches: &str) -> String {
        format!(
            r#"{{"pattern": {{"panels": {{"a": {SQUARE}, "b": {panel}}}, "stitches": [{stitches}]}},
                    "properties": {{"curvature_coords": "relative", "units_in_meter": 100}}}}"#
        )
    }

    fn problem(text: &str) -> String {
        parse("p.json", text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn panels_curves_and_stitches_are_read_in_metres() {
        let sewn = r#"[{"panel": "a", "edge": 1}, {"panel": "b", "edge": 3}, "right_wrong"]"#;
        let pattern = parse("p.json", file(SQUARE, sewn).as_bytes()).unwrap();
        assert_eq!(pattern.panels[0].corners[2], DVec2::splat(0.3));
        assert_eq!(pattern.panels[1].translation, DVec3::new(0.0, 0.1, 0.05));
        assert!((pattern.panels[1].rotation * DVec3::X + DVec3::Z).length() < 1e-12);
        assert_eq!(pattern.panels[0].edges[1].curve, Curve::Quadratic(DVec2::new(0.5, 0.1)));
        assert_eq!(pattern.panels[0].edges[3].curve, Curve::Arc { radius: 0.4, is_long: false, is_right: true });
        assert_eq!(pattern.seams, [[PanelEdge { panel: 0, edge: 1 }, PanelEdge { panel: 1, edge: 3 }]]);
        assert!(pattern.mesh(0.03).is_ok());
    }

    #[test]
    fn bad_patterns_get_one_line() {
        let broken = problem("{\"pattern\": {\n\"panels\": [}");
        assert!(broken.starts_with("p.json:2: expected a GarmentCode pattern: "), "{broken}");
        assert!(problem("[]").contains("expected a GarmentCode pattern"));
        assert!(problem("").starts_with("p.json:1: "));
        assert_eq!(problem("{\"pattern\": {\"panels\": {}}}"), "p.json: the pattern has no panels");
        let text = problem(&file(&SQUARE.replace("[1, 2]", "[1, 9]"), ""));
        assert_eq!(text, "p.json: panel b: edge 1 names a vertex that is not there");
        let text = problem(&file(&SQUARE.replace("cubic", "quintic"), ""));
        assert!(text.starts_with("p.json: panel b: edge 2: expected a curvature"), "{text}");
        let text = problem(&file(&SQUARE.replace("30, 30", "30, 1e300"), ""));
        assert!(text.starts_with("p.json: panel b: expected coordinates"), "{text}");
        let text = problem(&file("{\"vertices\": 3}", ""));
        assert!(text.starts_with("p.json: panel b: invalid type"), "{text}");
        let text = problem(&file(SQUARE, r#"[{"panel": "c", "edge": 1}, {"panel": "b", "edge": 3}]"#));
        assert_eq!(text, "p.json: stitch 0: no panel \"c\"");
        let text = problem(&file(SQUARE, r#"[{"panel": "a", "edge": 7}, {"panel": "b", "edge": 3}]"#));
        assert_eq!(text, "p.json: stitch 0: panel a has no edge 7");
        assert!(problem(&file(SQUARE, "[3]")).starts_with("p.json: stitch 0: expected two sides"));
        let text = problem(&file(SQUARE, "").replace("\"units_in_meter\": 100", "\"units_in_meter\": 0"));
        assert_eq!(text, "p.json: units_in_meter is 0; expected a number above 0");
    }

    /// Bytes changed, left out and doubled: a pattern or one line, never a panic.
    #[test]
    fn damaged_patterns_give_a_pattern_or_one_line() {
        let whole = file(SQUARE, r#"[{"panel": "a", "edge": 1}, {"panel": "b", "edge": 3}]"#).into_bytes();
        let mut seed = 7u64;
        let mut number = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % below
        };
        let mut read = 0;
        for _ in 0..4000 {
            let mut bytes = whole.clone();
            for _ in 0..1 + number(3) {
                let at = number(bytes.len());
                match number(4) {
                    0 => bytes[at] = b"0123456789-.eE[]{},:\"ax "[number(24)],
                    1 => drop(bytes.remove(at)),
                    2 => bytes.insert(at, bytes[at]),
                    _ => bytes[at] = number(256) as u8,
                }
            }
            match parse("p.json", &bytes) {
                Ok(pattern) => {
                    read += 1;
                    if let Err(error) = pattern.mesh(0.3) {
                        assert!(!error.to_string().contains('\n'));
                    }
                }
                Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
            }
        }
        assert!(read > 100, "{read}");
    }

    /// Real patterns: all panels fill, all stitches join.
    #[test]
    fn real_patterns_become_meshes() {
        let Some(folder) = crate::real_data::real_data("garment_patterns_mit") else { return };
        let rows = [
            ("dress_pencil_specification.json", 6, 23),
            ("pants_straight_sides.json", 4, 6),
            ("shirt_mean_specification.json", 8, 18),
            ("skirt_4_panels.json", 4, 8),
            ("tee.json", 6, 12),
        ];
        for (name, panels, seams) in rows {
            let pattern = read(&folder.join(name)).unwrap();
            assert_eq!((pattern.panels.len(), pattern.seams.len()), (panels, seams), "{name}");
            let made = pattern.mesh(0.02).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(!made.stitches.is_empty() && made.mesh.triangles.len() > 500, "{name}");
            println!("{name}: {} vertices, {} threads", made.mesh.positions.len(), made.stitches.len());
        }
    }
}
