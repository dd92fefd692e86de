use super::*;

fn decode(bytes: &[u8]) -> (usize, usize, Vec<u8>) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    (info.width as usize, info.height as usize, pixels)
}

fn pixel(picture: &Picture, x: usize, y: usize) -> [u8; 3] {
    let (width, _, pixels) = decode(&picture.encode_png());
    let at = (y * width + x) * 3;
    [pixels[at], pixels[at + 1], pixels[at + 2]]
}

const SQUARE: [[u32; 3]; 2] = [[0, 1, 2], [0, 2, 3]];

fn square(z: f64) -> Vec<DVec3> {
    [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)].map(|(x, y)| DVec3::new(x, y, z)).to_vec()
}

fn front_view(picture: &Picture) -> View {
    View::framing(Aabb { min: DVec3::splat(-1.0), max: DVec3::splat(1.0) }, DVec3::Z, picture.area())
}

fn plain(colours: &[Colour]) -> MeshStyle<'_> {
    MeshStyle { paint: Paint::PerTriangle(colours), wireframe: Wireframe::Off }
}

#[test]
fn an_empty_picture_is_white() {
    let (width, height, pixels) = decode(&Picture::new(7, 3).encode_png());
    assert_eq!((width, height), (7, 3));
    assert!(pixels.iter().all(|&channel| channel == 255));
}

#[test]
fn the_nearer_surface_covers_the_farther_in_any_order() {
    let (red, green) = ([Colour::new(255, 0, 0); 2], [Colour::new(0, 255, 0); 2]);
    for order in [[0, 1], [1, 0]] {
        let mut picture = Picture::new(60, 60);
        let view = front_view(&picture);
        for which in order {
            let (z, colours) = [(0.5, &red), (-0.5, &green)][which];
            picture.draw_mesh(&view, &square(z), &SQUARE, &plain(colours));
        }
        let seen = pixel(&picture, 30, 30);
        assert!(seen[0] > 60 && seen[1] == 0, "the red square is nearer, seen {seen:?}");
    }
}

#[test]
fn the_two_sides_have_their_own_colours() {
    let style = MeshStyle {
        paint: Paint::TwoSided { front: Colour::new(0, 0, 255), back: Colour::new(255, 255, 0) },
        wireframe: Wireframe::Off,
    };
    for (toward, blue_side) in [(DVec3::Z, true), (-DVec3::Z, false)] {
        let mut picture = Picture::new(60, 60);
        let bounds = Aabb { min: DVec3::splat(-1.0), max: DVec3::splat(1.0) };
        let view = View::framing(bounds, toward, picture.area());
        picture.draw_mesh(&view, &square(0.0), &SQUARE, &style);
        let seen = pixel(&picture, 30, 30);
        assert_eq!(seen[2] > seen[0], blue_side, "looking from {toward}");
    }
}

#[test]
fn lines_hide_behind_surfaces_unless_asked_not_to() {
    for (visibility, expected_red) in [(Visibility::Hidden, false), (Visibility::XRay, true)] {
        let mut picture = Picture::new(60, 60);
        let view = front_view(&picture);
        picture.draw_mesh(&view, &square(0.5), &SQUARE, &plain(&[Colour::new(0, 0, 255); 2]));
        let line = [(DVec3::new(-1.0, 0.0, -0.5), DVec3::new(1.0, 0.0, -0.5))];
        picture.draw_segments(&view, &line, Colour::new(255, 0, 0), 4.0, visibility);
        let seen = pixel(&picture, 30, 30);
        assert_eq!(seen[0] > 200, expected_red, "{visibility:?} gives {seen:?}");
    }
}

#[test]
fn a_line_on_its_surface_is_visible() {
    let mut picture = Picture::new(60, 60);
    let bounds = Aabb { min: DVec3::splat(-1.0), max: DVec3::splat(1.0) };
    let view = View::framing(bounds, DVec3::new(0.3, 0.4, 1.0), picture.area());
    picture.draw_mesh(&view, &square(0.0), &SQUARE, &plain(&[Colour::new(0, 0, 255); 2]));
    let line = [(DVec3::new(-1.0, 0.0, 0.0), DVec3::new(1.0, 0.0, 0.0))];
    picture.draw_segments(&view, &line, Colour::new(255, 0, 0), 4.0, Visibility::Hidden);
    assert!(pixel(&picture, 30, 30)[0] > 200);
}

#[test]
fn half_covered_pixels_are_half_coloured() {
    let mut picture = Picture::new(10, 10);
    picture.push_box(DVec2::new(0.0, 0.0), DVec2::new(5.0 + 1.0 / 3.0, 10.0), Colour::new(0, 0, 0), 1);
    assert_eq!(pixel(&picture, 4, 5), [0; 3]);
    assert_eq!(pixel(&picture, 5, 5), [170; 3]);
    assert_eq!(pixel(&picture, 6, 5), [255; 3]);
}

#[test]
fn titles_and_legends_take_room_from_the_top() {
    let mut picture = Picture::new(200, 200);
    let before = picture.area();
    picture.title("Title");
    picture.legend(&[(Colour::RED, "CLOSED"), (Colour::GREEN, "a long second entry")]);
    let after = picture.area();
    assert!(after.top > before.top + 40.0);
    assert_eq!(after.top + after.height, before.top + before.height);
    assert_eq!(pixel(&picture, 16, after.top as usize - 26), [44, 140, 60]);
}

#[test]
fn bad_coordinates_and_indices_are_left_out() {
    let mut picture = Picture::new(20, 20);
    let view = front_view(&picture);
    let positions = [DVec3::NAN, DVec3::splat(1e300), DVec3::ZERO, DVec3::X];
    picture.draw_mesh(&view, &positions, &[[0, 1, 2], [1, 2, 3], [2, 3, 99]], &MeshStyle::CLOTH);
    picture.draw_points(&view, &positions, Colour::RED, 3.0, Visibility::Faint);
    picture.draw_segments(&view, &[(DVec3::NAN, DVec3::X)], Colour::RED, 3.0, Visibility::Faint);
    let empty = View::framing(Aabb::EMPTY, DVec3::ZERO, picture.area());
    picture.draw_mesh(&empty, &[], &[], &MeshStyle::CLOTH);
    assert!(!picture.encode_png().is_empty());
}

#[test]
fn the_bytes_do_not_depend_on_the_number_of_threads() {
    let mut picture = Picture::new(300, 200);
    picture.title("Threads");
    let view = front_view(&picture);
    picture.draw_mesh(&view, &square(0.2), &SQUARE, &MeshStyle::CLOTH);
    picture.draw_points(&view, &square(0.0), Colour::RED, 9.0, Visibility::Faint);
    let with = |threads| {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| picture.encode_png())
    };
    assert_eq!(with(1), with(3));
}

/// Everything that is not white, as the smallest box of pixels.
fn inked(picture: &Picture) -> [usize; 4] {
    let (width, _, pixels) = decode(&picture.encode_png());
    let mut found = [usize::MAX, usize::MAX, 0, 0];
    for (at, _) in pixels.chunks_exact(3).enumerate().filter(|(_, pixel)| pixel.iter().any(|&channel| channel < 250)) {
        let (x, y) = (at % width, at / width);
        found = [found[0].min(x), found[1].min(y), found[2].max(x), found[3].max(y)];
    }
    found
}

#[test]
fn nothing_is_drawn_beside_the_area_of_its_view() {
    let mut picture = Picture::new(200, 200);
    picture.title("Title");
    let area = picture.area().column(0, 2);
    let view = View::framing(Aabb { min: DVec3::splat(-0.01), max: DVec3::splat(0.01) }, DVec3::Z, area);
    let mut bare = Picture::new(200, 200);
    bare.draw_mesh(&view, &square(0.0), &SQUARE, &MeshStyle::CLOTH);
    bare.draw_segments(&view, &[(DVec3::ZERO, DVec3::Y)], Colour::RED, 5.0, Visibility::XRay);
    bare.draw_points(&view, &[DVec3::new(0.01, 0.0, 0.0)], Colour::RED, 30.0, Visibility::XRay);
    let area = area.inset(-6.0);
    let [left, top, right, bottom] = inked(&bare).map(|pixel| pixel as f64);
    assert!(left >= area.left.floor() && top >= area.top.floor(), "{left} {top}");
    assert!(right <= area.left + area.width && bottom <= area.top + area.height, "{right} {bottom}");
    assert!(right - left > area.width - 2.0 && bottom - top > area.height - 2.0, "it fills the area");
}

#[test]
fn long_titles_are_broken_between_words_and_cut_after_three_lines() {
    let mut picture = Picture::new(200, 200);
    picture.title("a title of many words that is longer than the picture is wide");
    let before = picture.area().top;
    assert!(before > 3.0 * 32.0, "{before}");
    assert!(inked(&picture)[2] < 200 - GAP as usize);
    let lines = font::broken("one two-hundred-and-something three four five", 9, 3);
    assert_eq!(lines, ["one", "two-hundr", "ed-and..."]);
    assert_eq!(font::broken("two words", 9, 3), ["two words"]);
    assert_eq!(font::broken("", 9, 3), [""]);
}

/// A garment of one square metre, and another piece of the given size at a distance.
fn garment_and_piece(distance: f64, size: f64) -> (Vec<DVec3>, Vec<[u32; 3]>) {
    let mut positions = square(0.0);
    positions.extend(square(0.0).iter().map(|&corner| size * corner + distance * DVec3::NEG_Y));
    let mut triangles = SQUARE.to_vec();
    triangles.extend(SQUARE.map(|corners| corners.map(|corner| corner + 4)));
    (positions, triangles)
}

#[test]
fn a_piece_that_fell_far_away_does_not_shrink_the_garment() {
    let (mut positions, triangles) = garment_and_piece(50.0, 0.2);
    let frame = Frame::of_mesh(&positions, &triangles, |_| false);
    assert_eq!((frame.bounds, frame.pieces_outside), (Aabb::of_points(square(0.0)), 1));
    assert!(frame.remark().contains("1 piece"));
    // A vertex of no triangle and one that is not finite change nothing.
    positions.extend([DVec3::splat(1e9), DVec3::NAN]);
    assert_eq!(Frame::of_mesh(&positions, &triangles, |_| false), frame);
    // The piece that crosses something is what the picture is about.
    let marked = Frame::of_mesh(&positions, &triangles, |triangle| triangle >= 2);
    assert!(marked.bounds.contains(DVec3::new(0.0, -50.0, 0.0)) && !marked.bounds.contains(DVec3::ZERO));
    let near = garment_and_piece(3.0, 0.2);
    let frame = Frame::of_mesh(&near.0, &near.1, |_| false);
    assert_eq!((frame.bounds, frame.pieces_outside), (Aabb::of_points(near.0), 0));
    assert_eq!(frame.remark(), "");
}

#[test]
fn single_vertices_far_away_are_left_out_and_a_long_garment_is_not() {
    let grid = |stretch: f64| -> Vec<DVec3> {
        (0..900).map(|at| DVec3::new(f64::from(at % 30) / 29.0, stretch * f64::from(at / 30) / 29.0, 0.0)).collect()
    };
    let triangles: Vec<[u32; 3]> = (0..870).filter(|at| at % 30 < 29).map(|at| [at, at + 1, at + 30]).collect();
    let whole = |positions: &[DVec3]| Frame::of_mesh(positions, &triangles, |_| false).bounds;
    let mut positions = grid(40.0);
    assert_eq!(whole(&positions).max.y, 40.0);
    positions = grid(1.0);
    positions[435] = DVec3::new(0.5, 0.5, 1000.0);
    let bounds = whole(&positions);
    assert!(bounds.max.z < 1.0 && bounds.max.x == 1.0 && bounds.min.y == 0.0, "{bounds:?}");
}

#[test]
fn before_and_after_share_a_frame_unless_one_would_vanish() {
    let of =
        |half: f64| Frame { bounds: Aabb { min: DVec3::splat(-half), max: DVec3::splat(half) }, pieces_outside: 0 };
    assert_eq!(of(1.0).with(of(2.0)), of(2.0));
    assert_eq!(of(1.0).with(of(100.0)), of(1.0));
    assert_eq!(of(100.0).with(of(1.0)), of(100.0));
    assert_eq!(of(1.0).with_surroundings(of(1.5).bounds), of(1.5));
    assert_eq!(of(1.0).with_surroundings(of(2.0).bounds), of(1.0));
}
