//! Which elements an me2j file has, and in which order.
//!
//! In: e_max and E2max. Out: orbits e = 2n + l = 0, …, e_max, in each l and then j ascending; quadruples a, b ≤ a, c ≤ a,
//! d ≤ (b if c = a, else c) of orbits with e_a + e_b ≤ E2max, e_c + e_d ≤ E2max and equal parity; J ascending. The file says neither
//! e_max nor E2max, but its count of numbers does: no two pairs (e_max, E2max) up to e_max = 30 have the same one.

use super::super::element::Orbital;
use super::super::plan::Plan;
use std::fmt;

/// The largest e_max that a count is compared with.
const LARGEST_E_MAX: u32 = 30;

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Truncation {
    /// The most quanta 2n + l of one nucleon.
    pub e_max: u32,
    /// The most quanta of two.
    pub e2_max: u32,
}

impl fmt::Display for Truncation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "e_max = {}, E2max = {}", self.e_max, self.e2_max)
    }
}

impl Truncation {
    /// That of a plan's space.
    pub(super) fn of_plan(plan: &Plan) -> Truncation {
        let space = plan.space();
        Truncation { e_max: space.shell_max(), e2_max: space.quanta_max() }
    }

    /// The largest N_max whose space it covers.
    pub(super) fn largest_n_max(self) -> Option<u32> {
        Some(self.e_max.checked_sub(1)?.min(self.e2_max.checked_sub(2)?))
    }

    /// The orbits in the order of the file.
    pub(super) fn orbits(self) -> Vec<Orbital> {
        (0..=self.e_max).flat_map(Orbital::of_shell).collect()
    }

    /// Calls `visit(a b c d, J)` for every element; stops at an error.
    pub(super) fn for_each<E>(self, mut visit: impl FnMut([Orbital; 4], u32) -> Result<(), E>) -> Result<(), E> {
        let orbits = self.orbits();
        let fits = |x: Orbital, y: Orbital| x.shell() + y.shell() <= self.e2_max;
        for (first, a) in orbits.iter().enumerate() {
            for (second, b) in orbits[..=first].iter().enumerate().take_while(|(_, b)| fits(*a, **b)) {
                for (third, c) in orbits[..=first].iter().enumerate() {
                    let last = if third == first { second } else { third };
                    for d in orbits[..=last].iter().take_while(|d| fits(*c, **d)) {
                        if !(a.l + b.l + c.l + d.l).is_multiple_of(2) {
                            continue;
                        }
                        let least = a.two_j.abs_diff(b.two_j).max(c.two_j.abs_diff(d.two_j)) / 2;
                        let most = (a.two_j + b.two_j).min(c.two_j + d.two_j) / 2;
                        for j in least..=most {
                            visit([*a, *b, *c, *d], j)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The truncation that has so many numbers. The error text continues after the name of a file.
    pub(super) fn of_numbers(found: u64) -> Result<Truncation, String> {
        let mut all: Vec<(u64, Truncation)> = Vec::new();
        for e_max in 0..=LARGEST_E_MAX {
            // With a smaller E2max the last shell would be empty.
            let counts = (0..).zip(counts(e_max)).skip(e_max as usize);
            all.extend(counts.map(|(e2_max, count)| (count, Truncation { e_max, e2_max })));
            if all[all.len() - 1 - e_max as usize].0 > found {
                break;
            }
        }
        if let Some((_, truncation)) = all.iter().find(|(count, _)| *count == found) {
            return Ok(*truncation);
        }
        let below = all.iter().filter(|(count, _)| *count < found).max_by_key(|(count, _)| *count);
        let above = all.iter().filter(|(count, _)| *count > found).min_by_key(|(count, _)| *count);
        let near: Vec<String> =
            below.into_iter().chain(above).map(|(count, truncation)| format!("{count} of {truncation}")).collect();
        Err(format!(
            "expected the count of numbers of some e_max and E2max, such as {}, found {found} numbers: the file is cut off, has no \
             comment in its first line, or leaves out orbits of large l, which is not read",
            near.join(" or ")
        ))
    }
}

/// The counts of numbers for E2max = 0, 1, …, 2 e_max: 4 Σ D (D + 1)/2, where D is the number of pairs a ≥ b of one J and parity.
fn counts(e_max: u32) -> Vec<u64> {
    let orbits = Truncation { e_max, e2_max: 2 * e_max }.orbits();
    // By quanta of the pair and J; quanta tell the parity.
    let mut pairs = vec![vec![0u64; 2 * e_max as usize + 2]; 2 * e_max as usize + 1];
    for (at, a) in orbits.iter().enumerate() {
        for b in &orbits[..=at] {
            let of_quanta = &mut pairs[(a.shell() + b.shell()) as usize];
            (a.two_j.abs_diff(b.two_j) / 2..=(a.two_j + b.two_j) / 2).for_each(|j| of_quanta[j as usize] += 1);
        }
    }
    let mut sums = [vec![0u64; 2 * e_max as usize + 2], vec![0; 2 * e_max as usize + 2]];
    let numbers = |sums: &[Vec<u64>; 2]| 4 * sums.iter().flatten().map(|d| d * (d + 1) / 2).sum::<u64>();
    let with = |(quanta, of_quanta): (usize, &Vec<u64>)| {
        sums[quanta % 2].iter_mut().zip(of_quanta).for_each(|(sum, count)| *sum += count);
        numbers(&sums)
    };
    pairs.iter().enumerate().map(with).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// The counts are those of the loops, and tell both numbers.
    #[test]
    fn a_count_tells_e_max_and_e2_max() {
        for e_max in 0..=4 {
            for e2_max in e_max..=2 * e_max {
                let (truncation, mut count) = (Truncation { e_max, e2_max }, 0);
                truncation
                    .for_each(|_, _| {
                        count += 4;
                        Ok::<(), ()>(())
                    })
                    .unwrap();
                assert_eq!(counts(e_max)[e2_max as usize], count, "{truncation}");
                assert_eq!(Truncation::of_numbers(count), Ok(truncation));
            }
        }
        let all: Vec<u64> = (0..=LARGEST_E_MAX).flat_map(|e_max| counts(e_max).split_off(e_max as usize)).collect();
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
    }

    #[test]
    fn another_count_is_refused_with_its_neighbours() {
        let error = Truncation::of_numbers(96).unwrap_err();
        assert!(
            error.contains("28 of e_max = 1, E2max = 1 or 100 of e_max = 1, E2max = 2, found 96 numbers"),
            "{error}"
        );
        assert!(Truncation::of_numbers(0).unwrap_err().contains("such as 8 of e_max = 0, E2max = 0, found 0"));
    }
}
