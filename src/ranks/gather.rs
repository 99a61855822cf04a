//! All of x on the host of every rank.

use super::room::Room;
use eigenforge_runtime::ranks::Ranks;
use eigenforge_runtime::{DeviceError, Scalar};

/// All of x, of the shares that the bounds cut it into; this rank has `x`.
///
/// # Errors
/// A rank that failed.
pub(crate) fn gather<'r, T: Scalar>(
    ranks: &Ranks,
    bounds: &[usize],
    x: &[T],
    room: &'r mut Room,
) -> Result<&'r [T], DeviceError> {
    let length = bounds.last().copied().unwrap_or(0);
    let [whole, _] = room.of::<T>([length, 0]);
    let mut parts = split(whole, bounds.windows(2).map(|pair| pair[1] - pair[0]));
    ranks.exchange("gather x", &vec![x; ranks.count()], &mut parts)?;
    Ok(whole)
}

/// Parts of these lengths, one after the other.
pub(crate) fn split<T>(mut values: &mut [T], lengths: impl Iterator<Item = usize>) -> Vec<&mut [T]> {
    let part = |length: usize| {
        let (own, rest) = std::mem::take(&mut values).split_at_mut(length);
        values = rest;
        own
    };
    lengths.map(part).collect()
}
