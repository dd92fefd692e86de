//! What cloth is made of: one set of physical numbers that both cloth models read.
//!
//! Stiffness belongs to the material, not to the mesh: stretch in N/m (tension per unit strain), bend in N·m (moment per
//! width and curvature, the flexural rigidity of ASTM D1388). Damping is a time: the strain rate that acts like a strain.
//! The sources of the presets are listed in `docs/dynamics.md`.

/// A fabric. All numbers are SI.
#[derive(Clone, Debug, PartialEq)]
pub struct Fabric {
    /// What users call it.
    pub name: String,
    /// Mass per area, kg/m².
    pub density: f64,
    /// Tension per strain along warp, N/m.
    pub stretch_warp: f64,
    /// Tension per strain along weft, N/m.
    pub stretch_weft: f64,
    /// Resistance to shear between warp and weft (stretch on the bias), N/m.
    pub shear: f64,
    /// Flexural rigidity, N·m.
    pub bend: f64,
    /// Damping of stretch and shear, seconds.
    pub stretch_damping: f64,
    /// Damping of bending, seconds.
    pub bend_damping: f64,
    /// Thickness, metres.
    pub thickness: f64,
    /// Coulomb friction.
    pub friction: f64,
    /// Largest extension that strain limiting allows (0.1 is 10 %, Bridson's; the presets say what their yarns bear).
    pub stretch_limit: f64,
    /// Largest compression that strain limiting allows.
    pub compression_limit: f64,
}

impl Default for Fabric {
    fn default() -> Self {
        PRESETS[0].fabric()
    }
}

impl Fabric {
    /// A fabric by its name; `None` for a name that is not a preset.
    pub fn preset(name: &str) -> Option<Self> {
        PRESETS.iter().find(|row| row.name == name).map(Row::fabric)
    }

    /// The names that [`Fabric::preset`] knows.
    pub fn preset_names() -> impl Iterator<Item = &'static str> {
        PRESETS.iter().map(|row| row.name)
    }

    /// Tension per strain along a direction of the panel: warp and weft by the fourth powers of the cosines, shear
    /// between them, as for an orthotropic sheet without cross contraction.
    pub fn stretch_along(&self, cosine: f64, sine: f64) -> f64 {
        let (cc, ss) = (cosine * cosine, sine * sine);
        self.stretch_warp * cc * cc + self.stretch_weft * ss * ss + 4.0 * self.shear * cc * ss
    }
}

struct Row {
    name: &'static str,
    density: f64,
    stretch: [f64; 2],
    shear: f64,
    bend: f64,
    thickness: f64,
    friction: f64,
    stretch_limit: f64,
}

impl Row {
    fn fabric(&self) -> Fabric {
        Fabric {
            name: self.name.to_owned(),
            density: self.density,
            stretch_warp: self.stretch[0],
            stretch_weft: self.stretch[1],
            shear: self.shear,
            bend: self.bend,
            stretch_damping: 0.002,
            bend_damping: 0.005,
            thickness: self.thickness,
            friction: self.friction,
            stretch_limit: self.stretch_limit,
            compression_limit: 0.0,
        }
    }
}

const PRESETS: [Row; 6] = [
    Row {
        name: "cotton",
        density: 0.150,
        stretch: [3000.0, 2400.0],
        shear: 60.0,
        bend: 1.0e-5,
        thickness: 0.4e-3,
        friction: 0.5,
        stretch_limit: 0.02,
    },
    Row {
        name: "silk",
        density: 0.060,
        stretch: [2000.0, 1600.0],
        shear: 20.0,
        bend: 7.0e-7,
        thickness: 0.15e-3,
        friction: 0.25,
        stretch_limit: 0.02,
    },
    Row {
        name: "denim",
        density: 0.400,
        stretch: [8000.0, 6000.0],
        shear: 250.0,
        bend: 5.0e-5,
        thickness: 0.9e-3,
        friction: 0.6,
        stretch_limit: 0.01,
    },
    Row {
        name: "leather",
        density: 0.800,
        stretch: [6000.0, 6000.0],
        shear: 1500.0,
        bend: 4.0e-5,
        thickness: 1.2e-3,
        friction: 0.6,
        stretch_limit: 0.05,
    },
    Row {
        name: "wool",
        density: 0.240,
        stretch: [1500.0, 1200.0],
        shear: 45.0,
        bend: 1.0e-5,
        thickness: 0.7e-3,
        friction: 0.5,
        stretch_limit: 0.05,
    },
    Row {
        name: "spandex",
        density: 0.200,
        stretch: [150.0, 120.0],
        shear: 40.0,
        bend: 2.0e-6,
        thickness: 0.5e-3,
        friction: 0.4,
        stretch_limit: 0.5,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_found_by_name() {
        assert_eq!(Fabric::preset("denim").unwrap().density, 0.4);
        assert_eq!(Fabric::preset("steel"), None);
        assert_eq!(Fabric::preset_names().count(), 6);
    }

    #[test]
    fn stretch_follows_warp_weft_and_bias() {
        let fabric = Fabric::preset("cotton").unwrap();
        let half = std::f64::consts::FRAC_1_SQRT_2;
        assert_eq!(fabric.stretch_along(1.0, 0.0), 3000.0);
        assert_eq!(fabric.stretch_along(0.0, 1.0), 2400.0);
        assert!((fabric.stretch_along(half, half) - (1350.0 + 60.0)).abs() < 1e-9);
    }
}
