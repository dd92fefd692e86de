//! Global intersection analysis as a response: what passed through each other is attracted and let through.
//!
//! Three rules for a vertex and a triangle near it: black and white of one contour attract each other; red of one
//! contour is left alone and may pass through itself; everything else repels, which is contact's ordinary work.
//! (Baraff,
//! Witkin and Kass 2003, section 6)
//!
//! Contours between cloth and a body are another matter (`bodies::depenetration`).
//!
//! Does not: act on contours of cloth with cloth that end on a boundary, which cut nothing off or only on one side.
//! Departs: every coloured vertex is attracted by the one nearest triangle of the other colour, however far. A
//! triangle counts as white where all corners are white, as in the source, or where the contour runs through it: a tip
//! that
//! pokes through a single triangle leaves no all-white one.

use crate::analysis::{ContourKind, TangledContour, Trace};
use crate::untangle::bodies::depenetration::depenetrate;
use crate::untangle::method::{Draft, Scope, crossing_triangles, cut_off_by, cut_off_by_both, triangles_at};
use crate::untangle::nearest::NearestTriangle;
use unsnarl_geometry::{TriangleId, VertexId};

/// Attracts and lets through what one contour has coloured.
pub(in crate::untangle) fn treat(draft: &mut Draft, index: usize) -> Scope {
    let tangled = draft.contour(index);
    if Trace::BOTH.into_iter().any(|trace| draft.is_on_body(tangled, trace)) {
        return depenetrate(draft, index);
    }
    match tangled.kind {
        ContourKind::Ll => free_red(draft, index),
        ContourKind::Closed | ContourKind::Eight | ContourKind::Cross => attract_regions(draft, index),
        _ => Scope::Out,
    }
}

/// Red: neither attraction nor repulsion.
pub(in crate::untangle) fn free_red(draft: &mut Draft, index: usize) -> Scope {
    // The last of a loop may cut off no vertex at all; what crosses there is free none the less.
    let red = cut_off_by_both(draft.contour(index)).unwrap_or(&[]);
    let triangles = triangles_at(draft.topology(), red);
    draft.let_through(index, [&triangles, &triangles]);
    Scope::Treated
}

/// Black and white attract each other.
pub(in crate::untangle) fn attract_regions(draft: &mut Draft, index: usize) -> Scope {
    let tangled = draft.contour(index);
    let topology = draft.topology();
    let regions = Trace::BOTH.map(|trace| cut_off_by(tangled, trace));
    let [Some(first), Some(second)] = regions else { return Scope::Out };
    let triangles = [(Trace::First, first), (Trace::Second, second)]
        .map(|(trace, region)| own_triangles(draft, tangled, trace, region));
    attract(draft, first, &triangles[1]);
    attract(draft, second, &triangles[0]);
    let more = [first, second].map(|region| triangles_at(topology, region));
    draft.let_through(index, [&more[0], &more[1]]);
    Scope::Treated
}

/// The triangles that attract for a coloured region: all of whose corners are in it, and those along the trace.
fn own_triangles(draft: &Draft, tangled: &TangledContour, trace: Trace, region: &[VertexId]) -> Vec<TriangleId> {
    let topology = draft.topology();
    let is_inside = |vertex: &VertexId| region.binary_search(vertex).is_ok();
    let mut triangles = triangles_at(topology, region);
    triangles.retain(|&triangle| topology.triangle(triangle).iter().all(is_inside));
    triangles.extend(crossing_triangles(tangled, trace));
    triangles.sort_unstable();
    triangles.dedup();
    triangles
}

/// Every vertex of a region goes to the nearest of some triangles, and beyond it by the distance that cloth keeps.
pub(in crate::untangle) fn attract(draft: &mut Draft, region: &[VertexId], triangles: &[TriangleId]) {
    let topology = draft.topology();
    let Some(nearest) = NearestTriangle::among(topology, draft.situation.positions, triangles) else { return };
    for &vertex in region {
        let Some(found) = nearest.to(draft.position(vertex), draft.situation.local_size[vertex.index()]) else {
            continue;
        };
        let corners = topology.triangle(found.triangle);
        if corners.contains(&vertex) {
            continue;
        }
        let [a, b, c] = corners.map(|corner| draft.position(corner));
        let direction = (-found.offset).try_normalize().or_else(|| (b - a).cross(c - a).try_normalize());
        let Some(direction) = direction else { continue };
        let gap = found.offset.length() + 2.0 * draft.situation.separation;
        let wish = direction * gap.min(2.0 * draft.reach(vertex));
        let theirs: [(VertexId, f64); 3] = std::array::from_fn(|k| (corners[k], found.barycentric[k]));
        draft.moves.add_relative(&[(vertex, 1.0)], &theirs, wish);
        draft.report.attracted += 1;
    }
}

#[cfg(test)]
mod tests {
    use crate::analysis::{Assembly, Tangle, Trace, Workspace, analyze};
    use crate::contact::{PairRules, Rule};
    use crate::samples::{self, Cut, Recipe};
    use crate::untangle::method::{cut_off_by, cut_off_by_both};
    use crate::untangle::{ClassicSettings, Method, Plan, Situation, plan};
    use unsnarl_geometry::ccd::ElementPair;
    use unsnarl_geometry::{DVec3, TriangleId, VertexId};

    struct Case {
        assembly: Assembly,
        positions: Vec<DVec3>,
        tangle: Tangle,
    }

    impl Case {
        fn made(name: &str) -> Self {
            let recipe = Recipe { resolution: 14, cut: Cut::Irregular, seed: 2 };
            let mesh = samples::find(name).unwrap().make(&recipe).mesh;
            let assembly = Assembly::of_cloth(name, &mesh).unwrap();
            let tangle = analyze(&assembly, &mesh.positions, &mut Workspace::default());
            Self { assembly, positions: mesh.positions, tangle }
        }

        fn plan(&self) -> Plan {
            let count = self.positions.len();
            let situation = Situation {
                assembly: &self.assembly,
                positions: &self.positions,
                tangle: &self.tangle,
                local_size: &vec![0.02; count],
                masses: &vec![1e-4; count],
                step: 0.02,
                separation: 1e-4,
                bodies_at_end: &[],
                pinched: &[],
            };
            plan(Method::Gia, &situation, &ClassicSettings::default())
        }

        /// A triangle with a corner among some vertices.
        fn triangle_at(&self, vertices: &[VertexId]) -> TriangleId {
            self.assembly.topology().vertex_triangles(vertices[0])[0]
        }
    }

    #[test]
    fn black_and_white_of_one_contour_attract_each_other_and_may_cross() {
        let case = Case::made("closed");
        let tangled = &case.tangle.contours[0];
        let [black, white] = Trace::BOTH.map(|trace| cut_off_by(tangled, trace).unwrap());
        let Plan { remedy, report } = case.plan();
        assert_eq!((report.treated, report.attracted), (1, black.len() + white.len()));
        for vertex in black.iter().chain(white) {
            assert!(remedy.guidance.stiffness[vertex.index()] > 0.0, "{vertex:?} is led");
        }
        // Each side is led against its mean offset from the other: they come together.
        let mean = |side: &[VertexId], values: &dyn Fn(VertexId) -> DVec3| {
            side.iter().map(|&vertex| values(vertex)).sum::<DVec3>() / side.len() as f64
        };
        let place = |vertex: VertexId| case.positions[vertex.index()];
        let force = |vertex: VertexId| remedy.guidance.forces[vertex.index()];
        let offset = mean(black, &place) - mean(white, &place);
        assert!(mean(black, &force).dot(offset) < 0.0 && mean(white, &force).dot(offset) > 0.0);
        let pair = ElementPair::VertexTriangle(black[0], case.triangle_at(white));
        assert_eq!(remedy.rules.rule(pair), Rule::MayCross);
    }

    #[test]
    fn red_of_one_contour_is_left_alone_and_may_pass_through_itself() {
        let case = Case::made("ll");
        let tangled = &case.tangle.contours[0];
        let Plan { remedy, report } = case.plan();
        assert_eq!((report.treated, report.attracted), (case.tangle.contours.len(), 0));
        assert!(remedy.guidance.forces.iter().all(|force| *force == DVec3::ZERO));
        let [first, second] = tangled.contour.segments[0];
        let corner = case.assembly.topology().triangle(first)[0];
        assert_eq!(remedy.rules.rule(ElementPair::VertexTriangle(corner, second)), Rule::MayCross);
        if let Some(red) = cut_off_by_both(tangled).filter(|red| !red.is_empty()) {
            let own = ElementPair::VertexTriangle(red[0], case.triangle_at(red));
            assert_eq!(remedy.rules.rule(own), Rule::MayCross);
        }
    }

    #[test]
    fn everything_else_repels_as_usual() {
        let case = Case::made("closed");
        let rules = case.plan().remedy.rules;
        let topology = case.assembly.topology();
        let tangled = &case.tangle.contours[0];
        let near: Vec<VertexId> =
            tangled.contour.segments.iter().flatten().flat_map(|&at| topology.triangle(at)).collect();
        let is_far = |vertex: &VertexId| {
            let is_cut_off = Trace::BOTH.iter().any(|&trace| cut_off_by(tangled, trace).unwrap().contains(vertex));
            !is_cut_off && !near.contains(vertex)
        };
        let far: Vec<VertexId> = (0..topology.vertex_count()).map(VertexId::new).filter(is_far).collect();
        assert!(!far.is_empty());
        for &vertex in &far {
            let triangle = topology.vertex_triangles(far[0])[0];
            assert_eq!(rules.rule(ElementPair::VertexTriangle(vertex, triangle)), Rule::Ordinary);
        }
        let open = Case::made("bbii").plan();
        assert_eq!(
            (open.report.treated, open.report.attracted),
            (0, 0),
            "contours that end on a boundary are out of scope"
        );
    }
}
