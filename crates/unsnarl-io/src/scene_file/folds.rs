//! What folds that bite into themselves are to become in a scene: the sidecars' labels and creases, then `[untangle]`.
//!
//! `style` is for everything, `styles` for a cloth (its name) or a panel (its label); what comes later counts.

use super::build::{Place, Problem};
use super::format::SceneFile;
use unsnarl::model::{Cloth, RestAngles};
use unsnarl::scene::garment::Garment;
use unsnarl::simulation::FoldDesign;
use unsnarl::untangle::FoldStyle;
use unsnarl_geometry::VertexId;

pub(super) fn design(
    file: &SceneFile,
    cloths: &[Cloth],
    garments: &[Option<Garment>],
    place: &Place,
) -> Result<FoldDesign, Problem> {
    let mut design = FoldDesign::default();
    let (mut names, mut labels): (Vec<&str>, Vec<Option<&str>>) = (Vec::new(), Vec::new());
    for (cloth, garment) in cloths.iter().zip(garments) {
        let (first, count) = (design.styles.len(), cloth.mesh.positions.len());
        names.extend(std::iter::repeat_n(cloth.name.as_str(), count));
        labels.resize(first + count, None);
        let Some(garment) = garment else {
            design.styles.resize(first + count, None);
            continue;
        };
        design.styles.extend(FoldStyle::chart(garment));
        for (triangle, corners) in garment.topology.triangles().iter().enumerate() {
            let label = garment.panel_labels[garment.panels.of_triangle[triangle].index()].as_deref();
            corners.iter().for_each(|corner| labels[first + corner.index()] = label);
        }
        if let RestAngles::Creases(creases) = &cloth.rest_angles {
            let own = |end: VertexId| VertexId::new(first + end.index());
            design.creases.extend(creases.iter().map(|(ends, angle)| (ends.map(own), *angle)));
        }
    }
    if let Some(style) = file.untangle.style.of_all() {
        design.styles.fill(Some(style));
    }
    for (number, wish) in file.untangle.styles.iter().enumerate() {
        let is_meant = |at: &usize| names[*at] == wish.place || labels[*at] == Some(wish.place.as_str());
        let meant: Vec<usize> = (0..design.styles.len()).filter(is_meant).collect();
        if meant.is_empty() {
            let place = place.at("styles").at(number).at("where");
            return place.fail(format!("{}; no cloth and no label of a panel is called so", wish.place));
        }
        meant.into_iter().for_each(|at| design.styles[at] = Some(wish.style));
    }
    Ok(design)
}
