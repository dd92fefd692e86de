//! What becomes of folds that bite into themselves: the design of the garments, and what the user says instead.
//!
//! `STYLE` is for everything, `WHERE=STYLE` for a garment (its name, with or without what follows the last dot), a
//! panel (its label) or a contour (its number in the report, from 0). What comes later counts.

use super::{Workpiece, WorkpieceError};
use crate::analysis::Examination;
use crate::fix::FoldStyle;
use crate::geometry::{Topology, VertexId};
use std::str::FromStr;

/// A wish of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StyleWish {
    place: Option<String>,
    style: FoldStyle,
}

impl FromStr for StyleWish {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (place, style) = match text.rsplit_once('=') {
            Some((place, style)) => (Some(place.to_owned()), style),
            None => (None, text),
        };
        Ok(Self { place, style: style.parse()? })
    }
}

impl Workpiece {
    /// The style of every vertex of cloth: what the garments' designs say, then what the user says of the garments as
    /// they were examined.
    pub fn styles(&self, wishes: &[StyleWish], before: &Examination) -> Result<Vec<Option<FoldStyle>>, WorkpieceError> {
        let mut styles: Vec<Option<FoldStyle>> = self.garments.iter().flat_map(FoldStyle::chart).collect();
        for StyleWish { place, style } in wishes {
            let meant = match place {
                None => vec![true; styles.len()],
                Some(place) => self.vertices_at(place, before).map_err(WorkpieceError::Style)?,
            };
            for (own, _) in styles.iter_mut().zip(meant).filter(|(_, meant)| *meant) {
                *own = Some(*style);
            }
        }
        Ok(styles)
    }

    /// Which vertices of cloth a place means.
    fn vertices_at(&self, place: &str, before: &Examination) -> Result<Vec<bool>, String> {
        let mut meant = vec![false; self.cloth_count()];
        if let Ok(number) = place.parse::<usize>() {
            let contours = &before.report.contours;
            let loops = contours.get(number).map(|contour| contour.loop_vertices.clone()).unwrap_or_default();
            if loops.is_empty() {
                return Err(format!(
                    "{number}=…: contour {number} is not one with a loop vertex; the report lists {} contours from 0",
                    contours.len()
                ));
            }
            let all = before.tangle.loop_vertices();
            let is_meant = |vertex: VertexId| loops.contains(&vertex.0);
            let own = nearest_to(self.assembly.topology(), &all, is_meant);
            meant.iter_mut().zip(own).for_each(|(meant, own)| *meant = own);
            return Ok(meant);
        }
        for (part, garment) in self.assembly.parts().iter().zip(&self.garments) {
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
        Err(format!("{place}=…: no garment or labelled panel is called `{place}`"))
    }
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
