//! Values of a crate file: 64 bits that hold a small value or the place of a large one.

use super::container::{Container, Cursor};
use super::damaged;
use crate::mesh::error::Flaw;
use crate::mesh::text::name;

const IS_ARRAY: u64 = 1 << 63;
const IS_INLINED: u64 = 1 << 62;
const IS_COMPRESSED: u64 = 1 << 61;
const PAYLOAD: u64 = (1 << 48) - 1;
/// Arrays shorter than this are never compressed.
const SHORTEST_COMPRESSED: usize = 16;
/// The most numbers of one array.
const MOST_NUMBERS: usize = 1 << 31;

/// A kind of value that is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number { scalar: Scalar, count: usize },
    Quaternion(Scalar),
    Token,
    String,
    PathListOp,
    TokenVector,
    TimeSamples,
    DoubleVector,
    Other,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scalar {
    Byte,
    Int,
    UInt,
    Int64,
    UInt64,
    Half,
    Float,
    Double,
}

impl Scalar {
    fn width(self) -> usize {
        match self {
            Self::Byte => 1,
            Self::Half => 2,
            Self::Int | Self::UInt | Self::Float => 4,
            Self::Int64 | Self::UInt64 | Self::Double => 8,
        }
    }

    fn is_integer(self) -> bool {
        matches!(self, Self::Byte | Self::Int | Self::UInt | Self::Int64 | Self::UInt64)
    }

    fn read(self, bytes: &[u8]) -> f64 {
        let bits = bytes.iter().rev().fold(0u64, |number, &byte| number << 8 | u64::from(byte));
        match self {
            Self::Byte => bits as f64,
            Self::Int => f64::from(bits as u32 as i32),
            Self::UInt => f64::from(bits as u32),
            Self::Int64 => bits as i64 as f64,
            Self::UInt64 => bits as f64,
            Self::Half => half(bits as u16),
            Self::Float => f64::from(f32::from_bits(bits as u32)),
            Self::Double => f64::from_bits(bits),
        }
    }
}

/// A number of 16 bits.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    sign * match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction / 1024.0) * 2f64.powi(exponent - 15),
    }
}

/// The kinds by their numbers in the format.
fn kind_of(number: u64) -> Kind {
    use Scalar::*;
    let of = |scalar, count| Kind::Number { scalar, count };
    match number {
        1 | 2 => of(Byte, 1),
        3 => of(Int, 1),
        4 => of(UInt, 1),
        5 => of(Int64, 1),
        6 => of(UInt64, 1),
        7 => of(Half, 1),
        8 => of(Float, 1),
        9 | 56 => of(Double, 1),
        10 => Kind::String,
        11 => Kind::Token,
        13 => of(Double, 4),
        14 => of(Double, 9),
        15 => of(Double, 16),
        16 => Kind::Quaternion(Double),
        17 => Kind::Quaternion(Float),
        18 => Kind::Quaternion(Half),
        19..=30 => {
            let scalar = [Double, Float, Half, Int][(number - 19) as usize % 4];
            of(scalar, 2 + (number - 19) as usize / 4)
        }
        34 => Kind::PathListOp,
        41 => Kind::TokenVector,
        46 => Kind::TimeSamples,
        48 => Kind::DoubleVector,
        _ => Kind::Other,
    }
}

/// A value as the file represents it.
#[derive(Clone, Copy)]
pub(super) struct Value<'a> {
    container: &'a Container<'a>,
    bits: u64,
}

impl<'a> Value<'a> {
    pub fn new(container: &'a Container<'a>, bits: u64) -> Self {
        Self { container, bits }
    }

    fn kind(&self) -> Kind {
        kind_of(self.bits >> 48 & 0xff)
    }

    fn has(&self, flag: u64) -> bool {
        self.bits & flag != 0
    }

    fn payload(&self) -> usize {
        (self.bits & PAYLOAD) as usize
    }

    fn cursor(&self) -> Cursor<'a> {
        Cursor { bytes: self.container.bytes, at: self.payload() }
    }

    /// Whether it says that there is no value.
    pub fn is_block(&self) -> bool {
        self.bits >> 48 & 0xff == 51
    }

    /// All numbers, row by row; a quaternion has its real part first, as text has it.
    pub fn numbers(&self) -> Result<Vec<f64>, Flaw> {
        match self.kind() {
            Kind::Number { scalar, count } if self.has(IS_ARRAY) => self.array(scalar, count),
            Kind::Number { scalar, count } if self.has(IS_INLINED) => Ok(self.inlined(scalar, count)),
            Kind::Number { scalar, count } => self.plain(&mut self.cursor(), scalar, count),
            Kind::Quaternion(scalar) if !self.has(IS_INLINED) => {
                let mut numbers = if self.has(IS_ARRAY) {
                    self.array(scalar, 4)?
                } else {
                    self.plain(&mut self.cursor(), scalar, 4)?
                };
                numbers.chunks_exact_mut(4).for_each(|own| own.rotate_right(1));
                Ok(numbers)
            }
            _ => Err(damaged(self.payload(), "a value that is not numbers")),
        }
    }

    /// Whole numbers.
    pub fn integers(&self) -> Result<Vec<i64>, Flaw> {
        Ok(self.numbers()?.into_iter().map(|number| number as i64).collect())
    }

    /// A small value within the 48 bits: the bits of a scalar, bytes of a vector, or the diagonal of a matrix.
    fn inlined(&self, scalar: Scalar, count: usize) -> Vec<f64> {
        let bits = self.bits as u32;
        let small = |at: usize| f64::from((self.bits >> (8 * at)) as u8 as i8);
        match (scalar, count) {
            (Scalar::Double | Scalar::Float, 1) => vec![f64::from(f32::from_bits(bits))],
            (Scalar::Int | Scalar::Int64, 1) => vec![f64::from(bits as i32)],
            (scalar, 1) => vec![scalar.read(&bits.to_le_bytes()[..scalar.width().min(4)])],
            (Scalar::Double, 4 | 9 | 16) if !self.is_vector() => {
                let side = count.isqrt();
                let entry = |at: usize| if at / side == at % side { small(at / side) } else { 0.0 };
                (0..count).map(entry).collect()
            }
            (_, count) => (0..count).map(small).collect(),
        }
    }

    fn is_vector(&self) -> bool {
        (19..=30).contains(&(self.bits >> 48 & 0xff))
    }

    fn plain(&self, cursor: &mut Cursor<'_>, scalar: Scalar, count: usize) -> Result<Vec<f64>, Flaw> {
        let bytes = count.checked_mul(scalar.width()).ok_or_else(|| damaged(cursor.at, "an array beyond the file"))?;
        Ok(cursor.take(bytes)?.chunks_exact(scalar.width()).map(|own| scalar.read(own)).collect())
    }

    fn array(&self, scalar: Scalar, count: usize) -> Result<Vec<f64>, Flaw> {
        let mut cursor = self.cursor();
        let at = cursor.at;
        if at == 0 {
            return Ok(Vec::new());
        }
        let length = self.length(&mut cursor)?;
        let total = length.checked_mul(count).filter(|&total| total <= MOST_NUMBERS);
        let total = total.ok_or_else(|| damaged(at, "an array beyond the file"))?;
        if !self.has(IS_COMPRESSED) || count != 1 || length < SHORTEST_COMPRESSED {
            return self.plain(&mut cursor, scalar, total);
        }
        let from_integers = |integers: Vec<i32>| integers.into_iter().map(f64::from).collect();
        if scalar == Scalar::UInt {
            return Ok(cursor.packed(length)?.into_iter().map(|value| f64::from(value as u32)).collect());
        }
        if scalar.is_integer() {
            if scalar.width() != 4 {
                return Err(damaged(at, "packed integers of another width than 32 bits"));
            }
            return cursor.packed(length).map(from_integers);
        }
        match cursor.array::<1>()? {
            [b'i'] => cursor.packed(length).map(from_integers),
            [b't'] => {
                let entries = cursor.u32()? as usize;
                let table = self.plain(&mut cursor, scalar, entries)?;
                let indices = cursor.packed(length)?.into_iter();
                let found =
                    indices.map(|index| usize::try_from(index).ok().and_then(|index| table.get(index)).copied());
                found.collect::<Option<_>>().ok_or_else(|| damaged(at, "a table without the entry that is named"))
            }
            _ => Err(damaged(at, "numbers packed in a way that is not known")),
        }
    }

    /// The length of an array, as this version of the format writes it.
    fn length(&self, cursor: &mut Cursor<'_>) -> Result<usize, Flaw> {
        let minor = self.container.version[1];
        if minor < 5 {
            cursor.u32()?;
        }
        if minor < 7 { Ok(cursor.u32()? as usize) } else { Ok(usize::try_from(cursor.u64()?).unwrap_or(usize::MAX)) }
    }

    /// A word: a token or a string.
    pub fn word(&self) -> Result<String, Flaw> {
        let index = self.bits as u32;
        let token = match self.kind() {
            Kind::Token if !self.has(IS_ARRAY) => index,
            Kind::String if !self.has(IS_ARRAY) => {
                let token = self.container.strings.get(index as usize);
                *token.ok_or_else(|| damaged(0, "a string that is not there"))?
            }
            _ => return Err(damaged(self.payload(), "a value that is not a word")),
        };
        self.container.token(token).map(|word| name(word.as_bytes()))
    }

    /// Words of an array or a vector, by their tokens.
    pub fn tokens(&self) -> Result<Vec<u32>, Flaw> {
        let mut cursor = self.cursor();
        let length = match self.kind() {
            Kind::TokenVector => cursor.count(4)?,
            Kind::Token if self.has(IS_ARRAY) && cursor.at == 0 => 0,
            Kind::Token if self.has(IS_ARRAY) => self.length(&mut cursor)?,
            _ => return Err(damaged(cursor.at, "a value that is not a list of words")),
        };
        let bytes = length.checked_mul(4).ok_or_else(|| damaged(cursor.at, "an array beyond the file"))?;
        let own = cursor.take(bytes)?;
        Ok(own.as_chunks::<4>().0.iter().map(|own| u32::from_le_bytes(*own)).collect())
    }

    /// The first path that a list of targets sets.
    pub fn first_path(&self) -> Result<Option<u32>, Flaw> {
        if self.kind() != Kind::PathListOp {
            return Ok(None);
        }
        let mut cursor = self.cursor();
        let [parts] = cursor.array::<1>()?;
        // Explicit, added, prepended and appended items set targets; deleted and ordered ones do not.
        for (flag, sets) in [(2, true), (4, true), (32, true), (64, true), (8, false), (16, false)] {
            if parts & flag == 0 {
                continue;
            }
            let count = cursor.count(4)?;
            let first = cursor.take(4 * count)?.first_chunk::<4>().map(|own| u32::from_le_bytes(*own));
            if sets && first.is_some() {
                return Ok(first);
            }
        }
        Ok(None)
    }

    /// Times and values of time samples.
    pub fn samples(&self) -> Result<Vec<(f64, Self)>, Flaw> {
        if self.kind() != Kind::TimeSamples {
            return Err(damaged(self.payload(), "a value that is not time samples"));
        }
        let mut cursor = self.cursor();
        jump(&mut cursor)?;
        let times = Self::new(self.container, cursor.u64()?).times()?;
        jump(&mut cursor)?;
        let count = cursor.count(8)?;
        if count != times.len() {
            return Err(damaged(cursor.at, "time samples with another number of times than values"));
        }
        times.into_iter().map(|time| Ok((time, Self::new(self.container, cursor.u64()?)))).collect()
    }

    fn times(&self) -> Result<Vec<f64>, Flaw> {
        if self.kind() != Kind::DoubleVector {
            return self.numbers();
        }
        let mut cursor = self.cursor();
        let count = cursor.count(8)?;
        self.plain(&mut cursor, Scalar::Double, count)
    }
}

/// Goes where a distance leads.
fn jump(cursor: &mut Cursor<'_>) -> Result<(), Flaw> {
    let start = cursor.at;
    let distance = cursor.i64()?;
    let target = i64::try_from(start).ok().and_then(|start| start.checked_add(distance));
    cursor.at = target
        .and_then(|target| usize::try_from(target).ok())
        .ok_or_else(|| damaged(start, "a distance that leads out of the file"))?;
    Ok(())
}
