//! The gap that a command is asked for: lengths with units, and what solvers want.
//!
//! A preset says what a solver is told about cloth and how far apart cloth has to be for it to start. Each of its
//! values can be given by a flag instead. Where the figures come from is in `docs/solvers.md`.

use crate::session::Failure;
use clap::Args;
use serde::Serialize;
use std::path::{Path, PathBuf};
use unsnarl::fix::{self, Exempt, GapError, GapWish};
use unsnarl_geometry::{DVec3, Topology};
use unsnarl_io::mesh::LengthUnit;

/// What cloth is to keep, and for whom.
#[derive(Args, Clone)]
pub struct GapFlags {
    /// Leave no two parts nearer than this: metres, or a number with mm or cm, such as `2mm`. Pairs that are nearer at
    /// rest already are exempt
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    gap: Option<String>,
    /// Exempt no pair from the gap
    #[arg(long)]
    gap_strict: bool,
    /// Ready for a solver: `libuipc`, `ppf`, `ipctk`, `newton` or `codim-ipc`. Sets gap, thickness, units and kind of
    /// file, each unless given
    #[arg(long = "for", value_name = "SOLVER")]
    solver: Option<String>,
    /// With `--for`: the thickness that the solver is told, from which the gap follows [default: the solver's own]
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    thickness: Option<String>,
    /// Length unit of what is written: mm, cm, dm or m [default: m with `--for`, else that of the input]
    #[arg(long, value_name = "UNIT")]
    output_units: Option<String>,
}

/// What the flags come to.
pub struct GapPlan {
    /// The gap to open, if one is asked for.
    pub wish: Option<GapWish>,
    /// The unit to write in, if it is not the input's.
    pub output_unit: Option<LengthUnit>,
    /// What was set for a solver.
    pub solver: Option<SolverReport>,
}

/// What was set for a solver, for the report.
#[derive(Clone, Debug, Serialize)]
pub struct SolverReport {
    /// Its name.
    pub name: &'static str,
    /// The thickness that it is to be told, metres.
    pub thickness: f64,
    /// The name that the solver has for this thickness.
    pub thickness_name: &'static str,
    /// The gap, metres.
    pub gap: f64,
    /// The unit of the file.
    pub units: String,
    /// The kind of the file, if its name does not say one.
    pub format: &'static str,
}

/// What a solver wants.
struct Preset {
    name: &'static str,
    /// Its default thickness, metres.
    thickness: f64,
    /// What the solver calls it.
    thickness_name: &'static str,
    /// The gap for a thickness: so many thicknesses, and so much, metres.
    gap: (f64, f64),
    /// The kind of file that it reads.
    extension: &'static str,
}

const PRESETS: [Preset; 5] = [
    // Refuses what is not farther apart than the thickness of both sides; a micrometre, because equal is refused too.
    Preset { name: "libuipc", thickness: 1e-3, thickness_name: "thickness", gap: (2.0, 1e-6), extension: "obj" },
    // Offsets of both sides, and the gap from which its barrier acts.
    Preset { name: "ppf", thickness: 0.0, thickness_name: "contact-offset", gap: (2.0, 1e-3), extension: "obj" },
    // The least distance, and the distance from which the barrier acts.
    Preset { name: "ipctk", thickness: 0.0, thickness_name: "dmin", gap: (1.0, 1e-3), extension: "obj" },
    // Within this radius self-contact pushes.
    Preset {
        name: "newton",
        thickness: 2e-3,
        thickness_name: "particle_self_contact_radius",
        gap: (1.0, 0.0),
        extension: "obj",
    },
    // The offset, and the distance from which the barrier acts.
    Preset { name: "codim-ipc", thickness: 0.0, thickness_name: "thickness", gap: (1.0, 1e-3), extension: "obj" },
];

impl GapFlags {
    /// Reads the flags.
    pub fn plan(&self) -> Result<GapPlan, Failure> {
        let preset = self.solver.as_deref().map(preset).transpose()?;
        let asked = self.gap.as_deref().map(|text| length("--gap", text)).transpose()?;
        let thickness = self.thickness.as_deref().map(thickness).transpose()?;
        let unit = self.output_units.as_deref().map(unit).transpose()?;
        if thickness.is_some() && preset.is_none() {
            return Err(Failure::usage("--thickness: says what a solver is told; name the solver with --for"));
        }
        let solver = preset.map(|preset| {
            let thickness = thickness.unwrap_or(preset.thickness);
            SolverReport {
                name: preset.name,
                thickness,
                thickness_name: preset.thickness_name,
                gap: asked.unwrap_or(preset.gap.0 * thickness + preset.gap.1),
                units: self.output_units.clone().unwrap_or_else(|| "m".to_owned()),
                format: preset.extension,
            }
        });
        let gap = solver.as_ref().map(|solver| solver.gap).or(asked);
        if self.gap_strict && gap.is_none() {
            return Err(Failure::usage("--gap-strict: exempts no pair from the gap; give the gap with --gap"));
        }
        let exempt = if self.gap_strict { Exempt::Nobody } else { Exempt::NearAtRest };
        let output_unit = unit.or(solver.as_ref().map(|_| LengthUnit::Metre));
        Ok(GapPlan { wish: gap.map(|gap| GapWish { gap, exempt }), output_unit, solver })
    }
}

impl GapPlan {
    /// The path to write to: with the solver's kind of file where the name does not say one.
    pub fn target(&self, output: &Path) -> PathBuf {
        match &self.solver {
            Some(solver) if output.extension().is_none() => output.with_extension(solver.format),
            _ => output.to_owned(),
        }
    }

    /// Refuses a gap that cloth has no room for.
    pub fn fits(&self, topology: &Topology, cloth: &[DVec3]) -> Result<(), Failure> {
        self.wish.map_or(Ok(()), |wish| fits(wish.gap, topology, cloth))
    }
}

/// Refuses a gap that cloth has no room for. Cloth has the first vertices.
pub fn fits(gap: f64, topology: &Topology, cloth: &[DVec3]) -> Result<(), Failure> {
    fix::gap_fits(gap, topology, cloth).map_err(|error| match error {
        GapError::ManyEdges { .. } => Failure::usage(format!("--gap: {error}")),
        GapError::LargerThanCloth { .. } => Failure::usage(format!("--gap: {error}, or its --units")),
    })
}

/// A positive length: metres, or a number with mm, cm, dm or m.
pub fn length(flag: &str, text: &str) -> Result<f64, Failure> {
    let meters = any_length(flag, text)?;
    if meters > 0.0 { Ok(meters) } else { Err(wrong(flag, text, "a length above 0")) }
}

fn thickness(text: &str) -> Result<f64, Failure> {
    let meters = any_length("--thickness", text)?;
    if meters >= 0.0 { Ok(meters) } else { Err(wrong("--thickness", text, "a length, 0 or more")) }
}

fn any_length(flag: &str, text: &str) -> Result<f64, Failure> {
    let text = text.trim();
    let number_ends = text.find(|letter: char| letter.is_ascii_alphabetic() && !"eE".contains(letter));
    let (number, unit) = text.split_at(number_ends.unwrap_or(text.len()));
    let expected = "metres, or a number with mm, cm, dm or m, such as 2mm";
    let number: f64 = number.trim().parse().map_err(|_| wrong(flag, text, expected))?;
    let unit = match unit {
        "" => LengthUnit::Metre,
        unit => LengthUnit::from_name(unit).ok_or_else(|| wrong(flag, text, expected))?,
    };
    let meters = number * unit.in_metres();
    if meters.is_finite() { Ok(meters) } else { Err(wrong(flag, text, expected)) }
}

fn unit(text: &str) -> Result<LengthUnit, Failure> {
    LengthUnit::from_name(text).ok_or_else(|| wrong("--output-units", text, "mm, cm, dm or m"))
}

fn preset(name: &str) -> Result<&'static Preset, Failure> {
    let known = PRESETS.map(|preset| preset.name).join(", ");
    PRESETS.iter().find(|preset| preset.name == name).ok_or_else(|| wrong("--for", name, &format!("one of {known}")))
}

fn wrong(flag: &str, text: &str, expected: &str) -> Failure {
    Failure::usage(format!("{flag}: `{text}` is not {expected}"))
}

/// A length for people: millimetres below a centimetre, else metres.
pub fn shown(meters: f64) -> String {
    if meters < 0.01 { format!("{:.4} mm", 1e3 * meters) } else { format!("{meters:.4} m") }
}

/// What a report says about a gap, line by line.
pub fn lines(gap: &unsnarl::analysis::GapReport) -> Vec<String> {
    let certified = gap.certified.map_or_else(|| "no two parts".to_owned(), shown);
    let asked = shown(gap.asked);
    let mut lines = vec![match gap.pairs_below {
        0 => format!("gap: {certified} certified, {asked} asked for"),
        1 => format!("GAP NOT KEPT: 1 pair is nearer than {asked}, {certified} apart"),
        count => format!("GAP NOT KEPT: {count} pairs are nearer than {asked}, the nearest {certified} apart"),
    }];
    if gap.pairs_below > 0 {
        lines.extend(gap.nearest.iter().map(|place| {
            let [x, y, z] = place.center;
            let sheets = match &place.sheets {
                [a, b] if a == b => a.clone(),
                [a, b] => format!("{a} and {b}"),
            };
            format!("  {} near ({x:.3}, {y:.3}, {z:.3}), {sheets}", shown(place.distance))
        }));
    }
    if let Some(reachable) = gap.reachable {
        lines.push(format!(
            "exempt: {} pairs are nearer than that at rest already; a gap of {} would exempt none of them",
            gap.exempt,
            shown(reachable)
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_units_and_are_metres_without() {
        let rows =
            [("2mm", 0.002), ("0.2cm", 0.002), ("0.002", 0.002), ("2e-3", 0.002), ("1e-3m", 0.001), ("0.1 dm", 0.01)];
        for (text, meters) in rows {
            let read = length("--gap", text).unwrap_or_else(|_| panic!("{text}"));
            assert!((read - meters).abs() < 1e-15, "{text}: {read}");
        }
        for text in ["", "mm", "2 parsec", "2um", "nan", "inf", "-2mm", "0", "1e400", "2mmm", "2,5mm", "--json"] {
            assert!(length("--gap", text).is_err(), "{text}");
        }
    }
}
