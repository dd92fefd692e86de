//! Accessors: typed numbers in the buffers of a glTF file.
//!
//! Guarantees: every range is checked before memory is taken; strides, sparse entries and normalised integers are read.

use super::super::error::{Flaw, Place};
use super::super::findings::FindingKind;
use super::container::BufferBytes;
use super::document::{Accessor, BufferView, Document};
use std::ops::Range;

/// A document with the bytes that it speaks of.
pub(super) struct Data<'a> {
    pub document: &'a Document,
    pub buffers: &'a [BufferBytes],
    pub file: &'a [u8],
}

/// Where the values of a plain accessor are in its buffer.
pub(super) struct Layout {
    pub buffer: usize,
    pub start: usize,
    pub stride: usize,
}

impl Data<'_> {
    fn accessor(&self, index: usize) -> Result<&Accessor, Flaw> {
        self.document.accessors.get(index).ok_or_else(|| missing("accessor", index, self.document.accessors.len()))
    }

    /// The bytes of the file and of its buffers.
    pub fn byte_count(&self) -> usize {
        self.file.len() + self.buffers.iter().map(|buffer| buffer.slice(self.file).len()).sum::<usize>()
    }

    /// The number of values of an accessor.
    pub fn count(&self, index: usize) -> Result<usize, Flaw> {
        Ok(self.accessor(index)?.count)
    }

    /// The layout of an accessor that holds nothing but plain 32-bit floating vectors.
    pub fn plain_floats(&self, index: usize) -> Option<Layout> {
        let accessor = self.accessor(index).ok()?;
        if accessor.component_type != 5126 || accessor.sparse.is_some() {
            return None;
        }
        let view = self.document.buffer_views.get(accessor.buffer_view?)?;
        let stride = view.byte_stride.unwrap_or(4 * component_count(&accessor.kind)?);
        Some(Layout { buffer: view.buffer, start: view.byte_offset + accessor.byte_offset, stride })
    }

    /// Whether no other accessor or view uses the bytes of a plain accessor, so that they can be replaced.
    pub fn is_alone(&self, index: usize) -> bool {
        let Some((own, own_view)) = self.footprint(index) else { return false };
        let mut in_accessor = vec![false; self.document.buffer_views.len()];
        for other in 0..self.document.accessors.len() {
            let Some((footprint, view)) = self.footprint(other) else { return false };
            in_accessor[view] = true;
            if other != index && own.meets(&footprint) {
                return false;
            }
        }
        in_accessor[own_view] = true;
        self.document.buffer_views.iter().zip(in_accessor).all(|(view, in_accessor)| {
            let whole = Footprint::whole(view);
            in_accessor || !own.meets(&whole)
        })
    }

    /// The bytes of an accessor and its view; `None` for sparse ones and those without a view.
    fn footprint(&self, index: usize) -> Option<(Footprint, usize)> {
        let accessor = self.document.accessors.get(index).filter(|accessor| accessor.sparse.is_none())?;
        let view_index = accessor.buffer_view?;
        let view = self.document.buffer_views.get(view_index)?;
        let component = match accessor.component_type {
            5125 => 4,
            code => Component::new(code)?.width(),
        };
        let width = component * component_count(&accessor.kind).unwrap_or(16);
        let stride = view.byte_stride.unwrap_or(width);
        let start = view.byte_offset.checked_add(accessor.byte_offset)?;
        let end = accessor.count.checked_mul(stride)?.checked_add(start)?;
        Some((Footprint { buffer: view.buffer, start, end, stride, width }, view_index))
    }

    /// All values of an accessor of vectors, `N` numbers each.
    pub fn vectors<const N: usize>(&self, index: usize) -> Result<Vec<[f64; N]>, Flaw> {
        let accessor = self.accessor(index)?;
        if component_count(&accessor.kind) != Some(N) {
            let detail = format!("expected accessor {index} to hold {N} numbers each, found `{}`", accessor.kind);
            return Err(Flaw::syntax(Place::Whole, detail));
        }
        let Some(component) = Component::new(accessor.component_type) else {
            return Err(unknown_component(accessor.component_type));
        };
        self.check_count(index, accessor.count)?;
        let mut out = match accessor.buffer_view {
            None => vec![[0.0; N]; accessor.count],
            Some(view) => {
                let packed = N * component.width();
                let (bytes, stride) = self.view(view, accessor.byte_offset, accessor.count, packed)?;
                let value = |at: usize| component.vector::<N>(&bytes[at * stride..], accessor.normalized);
                (0..accessor.count).map(value).collect()
            }
        };
        if let Some(sparse) = &accessor.sparse {
            let (indices, values) = (&sparse.indices, &sparse.values);
            let places =
                self.integers(indices.buffer_view, indices.byte_offset, indices.component_type, sparse.count)?;
            let (bytes, stride) =
                self.view(values.buffer_view, values.byte_offset, sparse.count, N * component.width())?;
            for (at, place) in places.into_iter().enumerate() {
                let Some(value) = out.get_mut(place as usize) else {
                    return Err(missing("sparse value", place as usize, accessor.count));
                };
                *value = component.vector(&bytes[at * stride..], accessor.normalized);
            }
        }
        Ok(out)
    }

    /// All values of an accessor of indices.
    pub fn indices(&self, index: usize) -> Result<Vec<u32>, Flaw> {
        let accessor = self.accessor(index)?;
        let Some(view) = accessor.buffer_view.filter(|_| accessor.kind == "SCALAR" && accessor.sparse.is_none()) else {
            return Err(Flaw::syntax(Place::Whole, format!("expected plain whole numbers in accessor {index}")));
        };
        self.check_count(index, accessor.count)?;
        self.integers(view, accessor.byte_offset, accessor.component_type, accessor.count)
    }

    fn integers(&self, view: usize, offset: usize, component: u32, count: usize) -> Result<Vec<u32>, Flaw> {
        let width = match component {
            5121 => 1,
            5123 => 2,
            5125 => 4,
            other => return Err(unknown_component(other)),
        };
        let (bytes, stride) = self.view(view, offset, count, width)?;
        let value = |at: usize| {
            let mut raw = [0; 4];
            raw[..width].copy_from_slice(&bytes[at * stride..at * stride + width]);
            u32::from_le_bytes(raw)
        };
        Ok((0..count).map(value).collect())
    }

    /// No accessor can have more values than there are bytes.
    fn check_count(&self, index: usize, count: usize) -> Result<(), Flaw> {
        let total = self.byte_count();
        if count <= total {
            return Ok(());
        }
        let detail = format!("accessor {index} promises {count} values, the file has {total} bytes");
        Err(Flaw::new(Place::Whole, FindingKind::PromisesTooMuch, detail))
    }

    /// The bytes of a view from an offset on, long enough for `count` values of `packed` bytes, and their stride.
    fn view(&self, view: usize, offset: usize, count: usize, packed: usize) -> Result<(&[u8], usize), Flaw> {
        let Some(own) = self.document.buffer_views.get(view) else {
            return Err(missing("buffer view", view, self.document.buffer_views.len()));
        };
        let Some(buffer) = self.buffers.get(own.buffer) else {
            return Err(missing("buffer", own.buffer, self.buffers.len()));
        };
        let bytes = buffer.slice(self.file);
        let stride = own.byte_stride.unwrap_or(packed);
        let too_much = || {
            let detail = format!("buffer view {view} promises more than its buffer of {} bytes holds", bytes.len());
            Flaw::new(Place::Whole, FindingKind::PromisesTooMuch, detail)
        };
        let end =
            own.byte_offset.checked_add(own.byte_length).filter(|&end| end <= bytes.len()).ok_or_else(too_much)?;
        let start = own.byte_offset.checked_add(offset).filter(|&start| start <= end).ok_or_else(too_much)?;
        if count == 0 {
            return Ok((&[], packed));
        }
        if stride < packed {
            return Err(Flaw::syntax(
                Place::Whole,
                format!("buffer view {view} has a stride of {stride}, under {packed}"),
            ));
        }
        let needed = (count - 1).checked_mul(stride).and_then(|bytes| bytes.checked_add(packed));
        if needed.is_none_or(|needed| needed > end - start) {
            return Err(too_much());
        }
        Ok((&bytes[start..end], stride))
    }
}

/// Bytes of a buffer at regular distances.
struct Footprint {
    buffer: usize,
    start: usize,
    end: usize,
    stride: usize,
    width: usize,
}

impl Footprint {
    fn whole(view: &BufferView) -> Self {
        let (start, width) = (view.byte_offset, view.byte_length);
        Self { buffer: view.buffer, start, end: start.saturating_add(width), stride: width.max(1), width }
    }

    /// Whether two footprints may share a byte; interleaved ones of one stride do not.
    fn meets(&self, other: &Self) -> bool {
        if self.buffer != other.buffer || self.end <= other.start || other.end <= self.start {
            return false;
        }
        if self.stride != other.stride || self.stride == 0 {
            return true;
        }
        let stride = self.stride;
        let ahead = (other.start % stride + stride - self.start % stride) % stride;
        !(ahead >= self.width && ahead + other.width <= stride)
    }
}

/// The bytes that a plain accessor's value takes in a file.
pub(super) fn value_range(layout: &Layout, buffer: &BufferBytes, at: usize) -> Option<Range<usize>> {
    let BufferBytes::InFile(range) = buffer else { return None };
    let start = range.start + layout.start + at * layout.stride;
    Some(start..start + 12)
}

fn component_count(kind: &str) -> Option<usize> {
    match kind {
        "SCALAR" => Some(1),
        "VEC2" => Some(2),
        "VEC3" => Some(3),
        "VEC4" => Some(4),
        "MAT4" => Some(16),
        _ => None,
    }
}

fn missing(what: &str, index: usize, count: usize) -> Flaw {
    let detail = format!("names {what} {index}, the file has {count}");
    Flaw::new(Place::Whole, FindingKind::IndexOutOfRange, detail)
}

fn unknown_component(component: u32) -> Flaw {
    Flaw::syntax(Place::Whole, format!("accessor component type {component} does not serve here"))
}

#[derive(Clone, Copy)]
enum Component {
    Int8,
    Uint8,
    Int16,
    Uint16,
    Float32,
}

impl Component {
    fn new(code: u32) -> Option<Self> {
        Some(match code {
            5120 => Self::Int8,
            5121 => Self::Uint8,
            5122 => Self::Int16,
            5123 => Self::Uint16,
            5126 => Self::Float32,
            _ => return None,
        })
    }

    fn width(self) -> usize {
        match self {
            Self::Int8 | Self::Uint8 => 1,
            Self::Int16 | Self::Uint16 => 2,
            Self::Float32 => 4,
        }
    }

    fn vector<const N: usize>(self, bytes: &[u8], normalized: bool) -> [f64; N] {
        let width = self.width();
        std::array::from_fn(|at| {
            let value = self.value(&bytes[at * width..(at + 1) * width]);
            let largest = match self {
                Self::Int8 => 127.0,
                Self::Uint8 => 255.0,
                Self::Int16 => 32767.0,
                Self::Uint16 => 65535.0,
                Self::Float32 => return value,
            };
            if normalized { (value / largest).max(-1.0) } else { value }
        })
    }

    fn value(self, bytes: &[u8]) -> f64 {
        match (self, bytes) {
            (Self::Int8, &[a]) => f64::from(a as i8),
            (Self::Uint8, &[a]) => f64::from(a),
            (Self::Int16, &[a, b]) => f64::from(i16::from_le_bytes([a, b])),
            (Self::Uint16, &[a, b]) => f64::from(u16::from_le_bytes([a, b])),
            (Self::Float32, &[a, b, c, d]) => f64::from(f32::from_le_bytes([a, b, c, d])),
            _ => f64::NAN,
        }
    }
}
