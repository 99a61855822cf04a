//! Whole lines of y, written past the caches.
//!
//! An ordinary store reads the line of 64 bytes that it changes: a sixth pass over a vector, which lines written whole can
//! do without. That takes columns that begin at the same place in a line, so rows in eights, and numbers of 8 bytes; other
//! vectors are stored the ordinary way.

use super::runs::LANES;

/// Numbers of y from which its lines go past the caches: 32 MiB. A shorter y is still in the third-level cache when the
/// down half adds to it.
pub(super) const LONG: usize = 1 << 22;

/// How many rows of each column stand before its first whole line, where a y of columns of `rows` numbers is to go past
/// the caches, being of `long` numbers or more; `None`: it is not.
pub(super) fn rows_before_lines<T>(y: &[T], rows: usize, long: usize) -> Option<usize> {
    let pays = y.len() >= long && rows.is_multiple_of(LANES) && size_of::<T>() == 8 && cfg!(target_arch = "x86_64");
    let past = y.as_ptr().addr() / 8 % LANES;
    pays.then_some((LANES - past) % LANES)
}

/// Eight numbers of 8 bytes → a line, past the caches. Other numbers, elsewhere: an ordinary store.
#[inline(always)]
pub(super) fn write_line<T: Copy>(line: &[T; LANES], out: &mut [T]) {
    #[cfg(target_arch = "x86_64")]
    if size_of_val(line) == 64 && size_of_val(out) == 64 && out.as_ptr().addr().is_multiple_of(64) {
        use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
        for part in 0..4 {
            // SAFETY: both have 64 bytes, `out` begins at a multiple of 16, and SSE2 is part of x86_64.
            unsafe {
                let bytes = _mm_loadu_si128(line.as_ptr().cast::<__m128i>().add(part));
                _mm_stream_si128(out.as_mut_ptr().cast::<__m128i>().add(part), bytes);
            }
        }
        return;
    }
    out.copy_from_slice(line);
}

/// Lines past the caches may be seen late by other threads: not later than this.
pub(super) fn finish_lines() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of x86_64.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}
