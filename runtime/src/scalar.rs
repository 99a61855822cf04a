//! Number types on the Rust side: the elements of vectors ([`Scalar`]) and of tables ([`Pod`]).

use eigenforge_templates::ScalarType;
use eigenforge_templates::launch::Element;

/// Plain data that may be copied to a device byte by byte.
///
/// # Safety
/// The type has no padding, no pointers, and every bit pattern is a value of it.
pub unsafe trait Pod: Copy + Send + Sync + 'static {
    /// The element type that a kernel's parameter must have for this type; `None` if no kernel takes it.
    const ELEMENT: Option<Element>;
    /// Appends the bytes of each value, in the machine's order.
    fn append_bytes(values: &[Self], to: &mut Vec<u8>);
    /// The reverse, for as many values as `bytes` contains.
    fn copy_bytes(bytes: &[u8], to: &mut [Self]);
}

macro_rules! pod {
    ($($t:ty => $element:expr),* $(,)?) => {$(
        // SAFETY: a primitive number: no padding, every bit pattern is valid.
        unsafe impl Pod for $t {
            const ELEMENT: Option<Element> = $element;
            fn append_bytes(values: &[$t], to: &mut Vec<u8>) {
                to.extend(values.iter().flat_map(|value| value.to_ne_bytes()));
            }
            fn copy_bytes(bytes: &[u8], to: &mut [$t]) {
                let values = bytes.as_chunks::<{ size_of::<$t>() }>().0;
                to.iter_mut().zip(values).for_each(|(to, value)| *to = <$t>::from_ne_bytes(*value));
            }
        }
    )*};
}
pod!(
    u8 => Some(Element::U8),
    u16 => Some(Element::U16),
    u32 => Some(Element::U32),
    u64 => Some(Element::U64),
    i8 => None,
    i16 => None,
    i32 => None,
    i64 => None,
    f32 => Some(Element::F32),
    f64 => Some(Element::F64),
);

// SAFETY: an array has no padding between elements that have none.
unsafe impl<U: Pod, const N: usize> Pod for [U; N] {
    const ELEMENT: Option<Element> = None;
    fn append_bytes(values: &[[U; N]], to: &mut Vec<u8>) {
        U::append_bytes(values.as_flattened(), to);
    }
    fn copy_bytes(bytes: &[u8], to: &mut [[U; N]]) {
        U::copy_bytes(bytes, to.as_flattened_mut());
    }
}

/// The element type of a vector. Arithmetic on elements and all sums are in f64; only storage is `T`.
pub trait Scalar: Pod + Default + PartialEq + std::fmt::Debug {
    /// The type's name in plans and in CUDA.
    const TYPE: ScalarType;
    /// Distance from 1 to the next number.
    const EPSILON: f64;
    /// Widens; exact.
    fn to_f64(self) -> f64;
    /// Rounds to nearest.
    fn from_f64(value: f64) -> Self;
    /// The same slice if the type is already f64, to avoid a copy.
    fn as_f64(values: &[Self]) -> Option<&[f64]>;
    /// Rounds each number; the slices have the same length.
    fn store(values: &[f64], to: &mut [Self]);
    /// Appends the little-endian bytes of each number.
    fn write_bytes(values: &[Self], to: &mut Vec<u8>);
    /// The reverse; an incomplete number at the end is ignored.
    fn read_bytes(bytes: &[u8]) -> Vec<Self>;
    /// Of something that there is for each type, that for this one.
    fn choose<C: PerScalar>(for_f64: C::Of<f64>, for_f32: C::Of<f32>) -> C::Of<Self>;
}

/// Something that there is for each type of number, such as a reference to a trait of it.
pub trait PerScalar {
    /// That for `T`.
    type Of<T: Scalar>;
}

impl Scalar for f64 {
    const TYPE: ScalarType = ScalarType::F64;
    const EPSILON: f64 = f64::EPSILON;
    fn to_f64(self) -> f64 {
        self
    }
    fn from_f64(value: f64) -> f64 {
        value
    }
    fn as_f64(values: &[f64]) -> Option<&[f64]> {
        Some(values)
    }
    fn store(values: &[f64], to: &mut [f64]) {
        to.copy_from_slice(values);
    }
    fn write_bytes(values: &[f64], to: &mut Vec<u8>) {
        values.iter().for_each(|v| to.extend_from_slice(&v.to_le_bytes()));
    }
    fn read_bytes(bytes: &[u8]) -> Vec<f64> {
        bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect()
    }
    fn choose<C: PerScalar>(for_f64: C::Of<f64>, _: C::Of<f32>) -> C::Of<f64> {
        for_f64
    }
}

impl Scalar for f32 {
    const TYPE: ScalarType = ScalarType::F32;
    const EPSILON: f64 = f32::EPSILON as f64;
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    fn from_f64(value: f64) -> f32 {
        value as f32
    }
    fn as_f64(_: &[f32]) -> Option<&[f64]> {
        None
    }
    fn store(values: &[f64], to: &mut [f32]) {
        to.iter_mut().zip(values).for_each(|(to, v)| *to = *v as f32);
    }
    fn write_bytes(values: &[f32], to: &mut Vec<u8>) {
        values.iter().for_each(|v| to.extend_from_slice(&v.to_le_bytes()));
    }
    fn read_bytes(bytes: &[u8]) -> Vec<f32> {
        bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
    }
    fn choose<C: PerScalar>(_: C::Of<f64>, for_f32: C::Of<f32>) -> C::Of<f32> {
        for_f32
    }
}
