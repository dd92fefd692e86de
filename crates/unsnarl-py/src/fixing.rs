//! `unsnarl.fix`.

use crate::arrays::{self, NamedArrays, wrong};
use crate::checking::{exempt, with_gap};
use crate::garments::{self, GarmentArrays, Wardrobe, examine};
use crate::working::{self, Line, Stop, Word};
use numpy::PyArray2;
use pyo3::prelude::*;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Instant;
use unsnarl::analysis::{GapReport, Workspace};
use unsnarl::fix::report::FixReport;
use unsnarl::fix::{Continue, GapWish, Progress, examine_gap, gap_fits, open_gap, untangle_unless};
use unsnarl::scene::workpiece::StyleWish;
use unsnarl::untangle::Method;
use unsnarl_geometry::DVec3;

/// Positions of every garment, and the report as JSON.
type Fixed<'py> = (Vec<Bound<'py, PyArray2<f64>>>, String);

/// What is told of a step: its number, contours, red vertices, and where cloth is.
type News = (usize, usize, usize, Vec<DVec3>);

/// How to untangle.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Wishes {
    layers: Vec<i32>,
    style: Vec<String>,
    method: String,
    max_seconds: f64,
    /// The gap to open and certify, metres.
    gap: Option<f64>,
    /// Whether no pair is exempt from it.
    gap_strict: bool,
}

/// Everything that untangling needs, free of Python's memory.
struct Task {
    wardrobe: Wardrobe,
    layers: Vec<i32>,
    styles: Vec<StyleWish>,
    method: Method,
    max_seconds: f64,
    gap: Option<GapWish>,
    has_listener: bool,
}

/// Untangles garments.
#[pyfunction]
#[pyo3(signature = (garments, bodies, wishes, on_step, threads))]
pub fn fix<'py>(
    py: Python<'py>,
    garments: Vec<GarmentArrays<'py>>,
    bodies: Vec<NamedArrays<'py>>,
    wishes: Wishes,
    on_step: Option<Py<PyAny>>,
    threads: Option<usize>,
) -> PyResult<Fixed<'py>> {
    let Wishes { layers, style, method, max_seconds, gap, gap_strict } = wishes;
    let wish = |text: &String| text.parse().map_err(|problem| wrong(format!("style: {problem}")));
    let task = Task {
        wardrobe: Wardrobe::copy(&garments, &bodies)?,
        layers,
        styles: style.iter().map(wish).collect::<PyResult<_>>()?,
        method: method.parse().map_err(|problem| wrong(format!("method: {problem}")))?,
        max_seconds,
        gap: gap.map(|gap| GapWish { gap, exempt: exempt(gap_strict) }),
        has_listener: on_step.is_some(),
    };
    let stop = Stop::default();
    let own = stop.clone();
    let (parts, report, gap) = working::run(
        py,
        threads,
        &stop,
        move |line: &Line<News, _>| untangle(task, &own, line),
        |py, (step, contours, red_vertices, positions)| {
            let Some(listener) = &on_step else { return Ok(true) };
            let positions = arrays::array_of_points(py, &positions)?;
            let answer = listener.bind(py).call1((step, contours, red_vertices, positions))?;
            // Only `False` itself stops: most callbacks return nothing.
            Ok(!answer.is(pyo3::types::PyBool::new(py, false)))
        },
    )?
    .map_err(wrong)?;
    let arrays = parts.iter().map(|points| arrays::array_of_points(py, points)).collect::<PyResult<_>>()?;
    Ok((arrays, with_gap(serde_json::to_value(&report), gap).map_err(wrong)?))
}

/// The work itself, as the command does it.
fn untangle(task: Task, stop: &Stop, line: &Line<News, Result<Done, String>>) -> Result<Done, String> {
    let start = Instant::now();
    let workspace = &mut Workspace::default();
    let workpiece = task.wardrobe.workpiece()?;
    task.gap.map_or(Ok(()), |wish| {
        let fits = gap_fits(wish.gap, workpiece.assembly.topology(), &workpiece.state.positions);
        fits.map_err(|error| format!("gap: {error}"))
    })?;
    let before = examine(&workpiece, &workpiece.positions(), start, workspace);
    let mut settings = workpiece.settings().using(task.method);
    settings.vertices.styles = workpiece.styles(&task.styles, &before).map_err(|error| error.to_string())?;
    settings.vertices.layers = workpiece.layers(&task.layers).map_err(|error| error.to_string())?;
    let (limit, asked) = (task.max_seconds, stop.clone());
    let is_over = move || asked.is_set() || start.elapsed().as_secs_f64() > limit;
    let cloth_count = workpiece.cloth_count();
    let is_late = Arc::new(is_over.clone());
    let outcome = untangle_unless(workpiece.patient(), &settings, is_late, &mut |progress: &Progress| {
        let goes_on = !task.has_listener || tell(line, progress, cloth_count);
        if goes_on && !is_over() { Continue::Yes } else { Continue::No }
    });
    let outcome = match task.gap {
        None => outcome,
        Some(wish) => open_gap(&workpiece.patient(), outcome, wish, &<[DVec3]>::to_vec, &is_over),
    };
    let all = workpiece.with_bodies(&outcome.positions);
    let after = examine(&workpiece, &all, start, workspace);
    let mut report = workpiece.report(before, &after, &outcome, &all);
    report.effort.seconds = start.elapsed().as_secs_f64();
    let gap = task.gap.map(|wish| {
        let findings = examine_gap(&workpiece.patient(), &all, wish, &after.verdict);
        let assembly = &workpiece.assembly;
        GapReport::new(&findings, (assembly, &all), |triangle| arrays::name_of(assembly, triangle))
    });
    Ok((garments::parts(&workpiece, &all), report, gap))
}

/// Positions of every garment, the report, and the gap if one was asked for.
type Done = (Vec<Vec<DVec3>>, FixReport, Option<GapReport>);

/// Tells the caller of a step and waits for the answer: whether to go on.
fn tell<R>(line: &Line<News, R>, progress: &Progress<'_>, cloth_count: usize) -> bool {
    let (answer, heard) = mpsc::sync_channel(1);
    let (contours, red) = (progress.tangle.contours.len(), progress.tangle.colours.red_vertices.len());
    let news = (progress.step, contours, red, progress.positions[..cloth_count].to_vec());
    line.send(Word::Step(news, answer)).is_ok() && heard.recv().unwrap_or(false)
}
