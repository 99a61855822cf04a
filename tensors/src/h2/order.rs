//! The order of the elements in an H2 file, which Fortran records do not state.
//!
//! In: a header. Out: for each sector J = 0, 1, …; for each J positive, then negative parity; then the upper triangle
//! (a b) ≤ (c d) of the states in lexicographic order, row by row.

use super::super::channel::Channel;
use super::header::Header;

/// Calls `visit(a b c d, J)` for all elements of a channel; stops at an error.
pub(super) fn for_each<E>(
    header: &Header,
    channel: Channel,
    mut visit: impl FnMut([usize; 4], u32) -> Result<(), E>,
) -> Result<(), E> {
    for (j, by_parity) in (0..).zip(header.states(channel)) {
        for states in by_parity {
            for (at, [a, b]) in states.iter().enumerate() {
                for [c, d] in &states[at..] {
                    visit([*a, *b, *c, *d], j)?;
                }
            }
        }
    }
    Ok(())
}
