//! Number types on the Rust side: the elements of vectors ([`Scalar`]) and of tables ([`Pod`]).

use eigenforge_templates::ScalarType;

/// Plain data that may be copied to a device byte by byte.
///
/// # Safety
/// The type has no padding, no pointers, and every bit pattern is a value of it.
pub unsafe trait Pod: Copy + Send + Sync + 'static {}

macro_rules! pod {
    ($($t:ty),*) => {$(
        // SAFETY: a primitive number: no padding, every bit pattern is valid.
        unsafe impl Pod for $t {}
    )*};
}
pod!(u8, u16, u32, u64, i8, i16, i32, i64, f32, f64);

// SAFETY: an array has no padding between elements that have none.
unsafe impl<U: Pod, const N: usize> Pod for [U; N] {}

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
    /// The same slice when the type is f64 already, so that no copy is made.
    fn as_f64(values: &[Self]) -> Option<&[f64]>;
    /// Rounds each number; the slices have the same length.
    fn store(values: &[f64], to: &mut [Self]);
    /// Appends the little-endian bytes of each number.
    fn write_bytes(values: &[Self], to: &mut Vec<u8>);
    /// The reverse; trailing bytes that make no whole number are left out.
    fn read_bytes(bytes: &[u8]) -> Vec<Self>;
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
}
