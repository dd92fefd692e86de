//! Length units and up axes: how numbers in a file become metres with Y up.
//!
//! Guarantees: a file in metres with Y up is taken as it is, bit for bit.
//! Does not: guess. A file that says its unit (USD, glTF) is believed; any other is in metres unless the caller says so.

use unsnarl_geometry::DVec3;

/// The length of one step of a file's coordinates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LengthUnit {
    /// 0.001 m.
    Millimetre,
    /// 0.01 m.
    Centimetre,
    /// 0.1 m.
    Decimetre,
    /// The unit of Unsnarl.
    Metre,
    /// Any other length, in metres, as a USD file may say.
    Metres(f64),
}

impl LengthUnit {
    /// From the words `mm`, `cm`, `dm`, `m`.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "mm" => Some(Self::Millimetre),
            "cm" => Some(Self::Centimetre),
            "dm" => Some(Self::Decimetre),
            "m" => Some(Self::Metre),
            _ => None,
        }
    }

    /// The unit's length in metres.
    pub fn in_metres(self) -> f64 {
        match self {
            Self::Millimetre => 0.001,
            Self::Centimetre => 0.01,
            Self::Decimetre => 0.1,
            Self::Metre => 1.0,
            Self::Metres(length) => length,
        }
    }
}

/// The axis of a file that points up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpAxis {
    /// As in Unsnarl.
    Y,
    /// A quarter turn about x: a file's (x, y, z) is (x, z, -y) here.
    Z,
}

impl UpAxis {
    /// From the words `y` and `z`, in either case.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "y" | "Y" => Some(Self::Y),
            "z" | "Z" => Some(Self::Z),
            _ => None,
        }
    }
}

/// From a file's coordinates to metres with Y up, and back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conversion {
    /// The file's length unit.
    pub unit: LengthUnit,
    /// The file's up axis.
    pub up_axis: UpAxis,
}

impl Conversion {
    /// Metres with Y up.
    pub const IDENTITY: Self = Self { unit: LengthUnit::Metre, up_axis: UpAxis::Y };

    /// A point of the file, in metres with Y up.
    pub fn from_file(&self, point: DVec3) -> DVec3 {
        let turned = match self.up_axis {
            UpAxis::Y => point,
            UpAxis::Z => DVec3::new(point.x, point.z, -point.y),
        };
        match self.unit {
            LengthUnit::Metre => turned,
            unit => turned * unit.in_metres(),
        }
    }

    /// A point in metres with Y up, as the file would hold it.
    pub fn to_file(&self, point: DVec3) -> DVec3 {
        let scaled = match self.unit {
            LengthUnit::Metre => point,
            unit => point / unit.in_metres(),
        };
        match self.up_axis {
            UpAxis::Y => scaled,
            UpAxis::Z => DVec3::new(scaled.x, -scaled.z, scaled.y),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn centimetres_with_z_up_become_metres_with_y_up() {
        let conversion = Conversion { unit: LengthUnit::Centimetre, up_axis: UpAxis::Z };
        let point = conversion.from_file(DVec3::new(100.0, 200.0, 300.0));
        assert_eq!(point, DVec3::new(1.0, 3.0, -2.0));
        assert_eq!(conversion.to_file(point), DVec3::new(100.0, 200.0, 300.0));
    }

    #[test]
    fn metres_with_y_up_keep_every_bit() {
        let point = DVec3::new(-0.0, 1e-310, 0.1);
        let same = Conversion::IDENTITY.from_file(point);
        assert_eq!(same.to_array().map(f64::to_bits), point.to_array().map(f64::to_bits));
    }
}
