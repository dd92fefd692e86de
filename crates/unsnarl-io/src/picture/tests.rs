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
