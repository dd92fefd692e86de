//! How things look: colours, and the styles of meshes and lines.

/// A colour in sRGB with opacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour {
    /// Red, 0 to 255.
    pub red: u8,
    /// Green, 0 to 255.
    pub green: u8,
    /// Blue, 0 to 255.
    pub blue: u8,
    /// Opacity, 0 (nothing to see) to 255 (covers what is below).
    pub opacity: u8,
}

impl Colour {
    /// Paper.
    pub const WHITE: Self = Self::new(255, 255, 255);
    /// Text and outlines.
    pub const INK: Self = Self::new(34, 38, 46);
    /// The front of cloth.
    pub const CLOTH_FRONT: Self = Self::new(176, 196, 222);
    /// The back of cloth.
    pub const CLOTH_BACK: Self = Self::new(226, 204, 170);
    /// A body.
    pub const BODY: Self = Self::new(214, 198, 190);
    /// What is wrong.
    pub const RED: Self = Self::new(214, 39, 40);
    /// What is right.
    pub const GREEN: Self = Self::new(44, 140, 60);

    /// Colours that stay apart on cloth and on paper, one per kind of thing.
    pub const DISTINCT: [Self; 8] = [
        Self::new(214, 39, 40),
        Self::new(31, 90, 200),
        Self::new(150, 60, 190),
        Self::new(0, 135, 90),
        Self::new(235, 110, 0),
        Self::new(0, 150, 190),
        Self::new(220, 30, 140),
        Self::new(90, 90, 90),
    ];

    /// An opaque colour.
    pub const fn new(red: u8, green: u8, blue: u8) -> Self {
        Self { red, green, blue, opacity: 255 }
    }

    /// The same colour with another opacity.
    pub const fn with_opacity(self, opacity: u8) -> Self {
        Self { opacity, ..self }
    }

    /// The colour a share of the way to another: 0 is this one, 1 the other.
    pub fn mix(self, other: Self, share: f64) -> Self {
        let share = share.clamp(0.0, 1.0);
        let blend = |from: u8, to: u8| (f64::from(from) + share * (f64::from(to) - f64::from(from)) + 0.5) as u8;
        Self {
            red: blend(self.red, other.red),
            green: blend(self.green, other.green),
            blue: blend(self.blue, other.blue),
            opacity: blend(self.opacity, other.opacity),
        }
    }
}

/// What colours the triangles of a mesh have before shading.
#[derive(Clone, Copy, Debug)]
pub enum Paint<'a> {
    /// One colour for the front and one for the back.
    TwoSided {
        /// Seen where corners turn counter-clockwise.
        front: Colour,
        /// Seen where corners turn clockwise.
        back: Colour,
    },
    /// One colour per triangle, on both sides (the back a little darker). Missing ones are grey.
    PerTriangle(&'a [Colour]),
    /// One colour per vertex, blended inside triangles. Missing ones are grey.
    PerVertex(&'a [Colour]),
}

/// The edges of triangles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wireframe {
    /// Not drawn.
    Off,
    /// Drawn with this width in pixels; fades out where triangles are only a few pixels large.
    Lines(Colour, f64),
}

/// How a mesh is drawn.
#[derive(Clone, Copy, Debug)]
pub struct MeshStyle<'a> {
    /// The colours.
    pub paint: Paint<'a>,
    /// The edges.
    pub wireframe: Wireframe,
}

impl MeshStyle<'_> {
    /// Cloth: blue-grey front, sand-coloured back, thin edges.
    pub const CLOTH: MeshStyle<'static> = MeshStyle {
        paint: Paint::TwoSided { front: Colour::CLOTH_FRONT, back: Colour::CLOTH_BACK },
        wireframe: Wireframe::Lines(Colour::new(96, 108, 128), 0.8),
    };
}

/// What happens to lines and points behind a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// Hidden parts are not drawn.
    Hidden,
    /// Hidden parts are drawn faintly.
    Faint,
    /// Hidden parts are drawn like visible ones.
    XRay,
}
