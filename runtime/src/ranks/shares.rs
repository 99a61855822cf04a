//! Where a vector is cut: bounds of one contiguous share per rank, the first 0 and the last the length.

/// Shares whose lengths differ by one at most.
pub fn equal(length: usize, ranks: usize) -> Vec<usize> {
    (0..=ranks).map(|rank| (length as u128 * rank as u128 / ranks.max(1) as u128) as usize).collect()
}

/// Shares that begin at given places only, which ascend from 0 to the length: each bound is the place nearest to that of equal shares.
/// With fewer places than ranks some shares are empty.
pub fn nearest(places: &[usize], ranks: usize) -> Vec<usize> {
    let length = places.last().copied().unwrap_or(0);
    let place = |wanted: usize| {
        let after = places.partition_point(|place| *place < wanted).min(places.len().saturating_sub(1));
        let before = after.saturating_sub(1);
        let [low, high] = [before, after].map(|at| places.get(at).copied().unwrap_or(0));
        if wanted - low.min(wanted) < high.saturating_sub(wanted) { low } else { high }
    };
    let mut bounds: Vec<usize> = equal(length, ranks).into_iter().map(place).collect();
    (bounds[0], bounds[ranks]) = (0, length);
    bounds
}
