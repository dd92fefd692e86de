//! The picture of `unsnarl tet`: a mesh of tetrahedra whole and cut open.

use unsnarl_geometry::{Aabb, DVec3};
use unsnarl_io::picture::{Colour, MeshStyle, Paint, Picture, View, Wireframe};
use unsnarl_volume::tet_mesh::TetMesh;

/// The whole boundary, and the mesh cut open through its middle, elements coloured by level.
pub fn picture(mesh: &TetMesh) -> Picture {
    let bounds = Aabb::of_points(mesh.positions.iter().copied());
    let toward = View::best_direction(bounds);
    let center = bounds.center();
    let behind = |tet: &[u32; 4]| {
        let middle: DVec3 = tet.iter().map(|&node| mesh.positions[node as usize]).sum::<DVec3>() * 0.25;
        (middle - center).dot(toward) < 0.0
    };
    let kept: Vec<usize> = (0..mesh.tets.len()).filter(|&tet| behind(&mesh.tets[tet])).collect();
    let cut = TetMesh {
        positions: mesh.positions.clone(),
        tets: kept.iter().map(|&tet| mesh.tets[tet]).collect(),
        levels: Vec::new(),
    };
    let mut on_boundary = vec![false; mesh.positions.len()];
    let whole = mesh.boundary();
    for node in whole.iter().flatten() {
        on_boundary[*node as usize] = true;
    }
    let cut_faces = cut.boundary();
    let is_surface = |triangle: &[u32; 3]| triangle.iter().all(|&node| on_boundary[node as usize]);
    let colour = |triangle: &[u32; 3]| if is_surface(triangle) { Colour::CLOTH_FRONT } else { CUT };
    let colours: Vec<Colour> = cut_faces.iter().map(colour).collect();
    let mut picture = Picture::new(1280, 800);
    picture.title(&format!("{} tetrahedra, {} nodes; right: cut open", mesh.tets.len(), mesh.positions.len()));
    let wireframe = Wireframe::Lines(Colour::INK, 1.0);
    let area = picture.area();
    let paint = Paint::TwoSided { front: Colour::CLOTH_FRONT, back: CUT };
    let view = View::framing(bounds, toward, area.column(0, 2));
    picture.draw_mesh(&view, &mesh.positions, &whole, &MeshStyle { paint, wireframe });
    let view = View::framing(bounds, toward, area.column(1, 2));
    let style = MeshStyle { paint: Paint::PerTriangle(&colours), wireframe };
    picture.draw_mesh(&view, &mesh.positions, &cut_faces, &style);
    picture
}

/// Faces that a cut lays open.
const CUT: Colour = Colour::new(236, 176, 90);
