//! What becomes of folds that bite into themselves: the design of the garments, and what the user says instead.
//!
//! `--style STYLE` is for everything, `--style WHERE=STYLE` for a garment (its file's name), a panel (its label) or a contour
//! (its number in the report, from 0). What comes later counts.

use crate::inputs::Inputs;
use crate::session::Failure;
use unsnarl::analysis::Tangle;
use unsnarl::analysis::report::CheckReport;
use unsnarl::fix::FoldStyle;
use unsnarl::scene::garment::Garment;
use unsnarl_geometry::{Topology, VertexId};

/// A wish of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StyleWish {
    place: Option<String>,
    style: FoldStyle,
}

impl std::str::FromStr for StyleWish {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (place, style) = match text.rsplit_once('=') {
            Some((place, style)) => (Some(place.to_owned()), style),
            None => (None, text),
        };
        Ok(Self { place, style: style.parse()? })
    }
}

/// The style of every vertex of cloth: what the garments' designs say, then what the user says.
pub fn styles(
    wishes: &[StyleWish],
    (inputs, garments): (&Inputs, &[Garment]),
    before: &CheckReport,
    tangle: &Tangle,
) -> Result<Vec<Option<FoldStyle>>, Failure> {
    let mut styles: Vec<Option<FoldStyle>> = garments.iter().flat_map(FoldStyle::chart).collect();
    for StyleWish { place, style } in wishes {
        let meant = match place {
            None => vec![true; styles.len()],
            Some(place) => vertices_at(place, inputs, garments, before, tangle)?,
        };
        for (own, _) in styles.iter_mut().zip(meant).filter(|(_, meant)| *meant) {
            *own = Some(*style);
        }
    }
    Ok(styles)
}

/// Which vertices of cloth a place means.
fn vertices_at(
    place: &str,
    inputs: &Inputs,
    garments: &[Garment],
    before: &CheckReport,
    tangle: &Tangle,
) -> Result<Vec<bool>, Failure> {
    let count = garments.iter().map(|garment| garment.topology.vertex_count()).sum();
    let mut meant = vec![false; count];
    let parts = &inputs.assembly.parts()[..garments.len()];
    if let Ok(number) = place.parse::<usize>() {
        let loops = before.contours.get(number).map(|contour| contour.loop_vertices.clone()).unwrap_or_default();
        if loops.is_empty() {
            return Err(Failure::usage(format!(
                "--style {number}=…: contour {number} is not one with a loop vertex; the report lists {} contours from 0",
                before.contours.len()
            )));
        }
        let all = tangle.loop_vertices();
        let is_meant = |vertex: VertexId| loops.contains(&vertex.0);
        let own = nearest_to(inputs.assembly.topology(), &all, is_meant);
        own.into_iter().take(count).enumerate().for_each(|(vertex, own)| meant[vertex] = own);
        return Ok(meant);
    }
    for (part, garment) in parts.iter().zip(garments) {
        let stem = part.name.rsplit_once('.').map_or(part.name.as_str(), |(stem, _)| stem);
        let is_whole = part.name == place || stem == place;
        for (triangle, corners) in garment.topology.triangles().iter().enumerate() {
            let label = &garment.panel_labels[garment.panels.of_triangle[triangle].0 as usize];
            if is_whole || label.as_deref() == Some(place) {
                corners.iter().for_each(|corner| meant[part.vertices.start + corner.index()] = true);
            }
        }
    }
    if meant.contains(&true) {
        return Ok(meant);
    }
    Err(Failure::usage(format!("--style {place}=…: no garment or labelled panel is called `{place}`")))
}

/// For every vertex whether the nearest of the sources, edge by edge, is one that counts.
fn nearest_to(topology: &Topology, sources: &[VertexId], counts: impl Fn(VertexId) -> bool) -> Vec<bool> {
    let mut owner: Vec<Option<bool>> = vec![None; topology.vertex_count()];
    let mut front: Vec<VertexId> = sources.to_vec();
    for &source in sources {
        owner[source.index()] = Some(counts(source));
    }
    while !front.is_empty() {
        let mut next = Vec::new();
        for vertex in front {
            let own = owner[vertex.index()];
            for other in topology.ring(vertex) {
                if owner[other.index()].is_none() {
                    owner[other.index()] = own;
                    next.push(other);
                }
            }
        }
        front = next;
    }
    owner.into_iter().map(|own| own.unwrap_or(false)).collect()
}
