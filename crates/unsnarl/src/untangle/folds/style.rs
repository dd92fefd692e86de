//! How a fold that bites into itself (a BLI) is put right, and who decides.
//!
//! Such a tangle does not say what the garment is meant to look like: a collar is to stay folded, a sleeve that was dragged
//! up is to come down. A crease along the fold says that it stays, and to which side; so do labels of panels that are worn
//! folded; everything else unfolds. (Cha 2022, 5.5 and figure 5.7)
//!
//! Departs: the label decides about folding out, where the source also asks whether its pair of contours can fold out: a
//! flap is turned as a whole here, so it always can.

use crate::scene::garment::Garment;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::str::FromStr;
use unsnarl_geometry::VertexId;

/// Rings around a crease in which a fold is the crease's.
const CREASE_RINGS: usize = 3;

/// What becomes of a fold that bites into itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FoldStyle {
    /// The fold slides out (mesh tearing).
    Unfold,
    /// It stays, and its flap comes to lie on the front of the cloth (regional flip).
    FoldOut,
    /// It stays, and its flap comes to lie on the back of the cloth (regional flip).
    FoldIn,
    /// It stays as the crease along it is bent at rest (crease flip).
    Crease,
}

impl FoldStyle {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Unfold, Self::FoldOut, Self::FoldIn, Self::Crease];

    /// Its name on the command line and in the studio.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unfold => "unfold",
            Self::FoldOut => "fold-out",
            Self::FoldIn => "fold-in",
            Self::Crease => "crease",
        }
    }

    /// What a label of a panel says about its folds.
    pub fn of_label(label: &str) -> Option<Self> {
        let is_worn_folded = ["collar", "lapel", "cuff", "turn-up"].contains(&label.to_ascii_lowercase().as_str());
        is_worn_folded.then_some(Self::FoldOut)
    }

    /// The decision chart: the style of every vertex of a garment, `None` where its design says nothing. A crease counts
    /// within some rings, before labels.
    pub fn chart(garment: &Garment) -> Vec<Option<Self>> {
        let mut styles = vec![None; garment.topology.vertex_count()];
        for (triangle, corners) in garment.topology.triangles().iter().enumerate() {
            let panel = garment.panels.of_triangle[triangle].0 as usize;
            if let Some(style) = garment.panel_labels[panel].as_deref().and_then(Self::of_label) {
                corners.iter().for_each(|corner| styles[corner.index()] = Some(style));
            }
        }
        let mut front: Vec<VertexId> =
            garment.creases.iter().flat_map(|crease| garment.topology.edge(crease.edge)).collect();
        for _ in 0..=CREASE_RINGS {
            front.sort_unstable();
            front.dedup();
            front.retain(|vertex| styles[vertex.index()] != Some(Self::Crease));
            front.iter().for_each(|vertex| styles[vertex.index()] = Some(Self::Crease));
            front = front.iter().flat_map(|&vertex| garment.topology.ring(vertex)).collect();
        }
        styles
    }
}

impl FromStr for FoldStyle {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = Self::ALL.map(Self::name).join(", ");
        Self::ALL.into_iter().find(|style| style.name() == text).ok_or_else(|| format!("`{text}` is none of {names}"))
    }
}
