//! The distinct values of a matrix that has few of them: cards read the code of a value beside its column, in one word, in place of the value.
//!
//! In: a matrix. Out: its values by their codes. The code 0 is that of zero, which padding has.

use super::Csr;
use eigenforge_templates::sparse::DictionaryPlan;
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};

/// Most distinct values: a dictionary that stays in L1.
const MOST_VALUES: usize = 1 << 10;
/// Elements whose values one core collects at a time.
const PIECE: usize = 1 << 15;

/// A number by the bits of its parts.
type Bits = [u64; 4];

/// The distinct values of a matrix.
#[derive(Clone, Debug)]
pub(super) struct Dictionary {
    /// The parts of each by their codes, side by side.
    pub values: Vec<f64>,
    code_of: HashMap<Bits, u32>,
    parts: usize,
    column_bits: u32,
}

fn bits(number: &[f64]) -> Bits {
    let mut bits = [0; 4];
    // -0 is zero.
    bits.iter_mut().zip(number).for_each(|(bits, part)| *bits = (part + 0.0).to_bits());
    bits
}

impl Dictionary {
    /// The values of a matrix; `None` where there are too many, or no bits left for codes beside columns.
    pub(super) fn new(matrix: &Csr) -> Option<Dictionary> {
        let column_bits = usize::BITS - matrix.rows().saturating_sub(1).leading_zeros();
        let most = MOST_VALUES.min(1usize.checked_shl(u32::BITS.checked_sub(column_bits.max(1))?)?);
        let parts = matrix.parts();
        let pieces = matrix.values().par_chunks(PIECE * parts).map(|piece| {
            let mut found = HashSet::new();
            for number in piece.chunks_exact(parts) {
                if found.insert(bits(number)) && found.len() > most {
                    return None;
                }
            }
            Some(found)
        });
        let join = |mut all: HashSet<Bits>, piece: HashSet<Bits>| {
            all.extend(piece);
            (all.len() <= most).then_some(all)
        };
        let found = pieces.try_reduce(HashSet::new, join)?;
        let zero = bits(&[]);
        // In one order, whatever core found them first.
        let mut others: Vec<Bits> = found.into_iter().filter(|number| *number != zero).collect();
        others.sort_unstable();
        let all: Vec<Bits> = std::iter::once(zero).chain(others).collect();
        let values = all.iter().flat_map(|number| number[..parts].iter().map(|part| f64::from_bits(*part))).collect();
        let code_of = all.iter().zip(0..).map(|(number, code)| (*number, code)).collect();
        (all.len() <= most).then_some(Dictionary { values, code_of, parts, column_bits: column_bits.max(1) })
    }

    /// A word of a column and of the code of one of the values.
    pub(super) fn word(&self, column: u32, number: &[f64]) -> u32 {
        let code = self.code_of.get(&bits(number)).copied().unwrap_or_else(|| unreachable!("a value of this matrix"));
        column | code << self.column_bits
    }

    pub(super) fn plan(&self) -> DictionaryPlan {
        DictionaryPlan { numbers: (self.values.len() / self.parts) as u32, column_bits: self.column_bits }
    }
}

#[cfg(test)]
mod tests {
    use super::super::NumberKind;
    use super::*;

    #[test]
    fn values_have_one_code_each_and_zero_the_first() {
        let values = vec![1.0, -1.0, 0.0, 2.0, 1.0, -1.0, -0.0, 0.0];
        let matrix = Csr::of_numbers(NumberKind::Complex, vec![0, 2, 4], vec![0, 1, 0, 1], values).unwrap();
        let dictionary = Dictionary::new(&matrix).unwrap();
        assert_eq!(dictionary.plan(), DictionaryPlan { numbers: 3, column_bits: 1 });
        assert_eq!(dictionary.values[..2], [0.0, 0.0]);
        for number in [[1.0, -1.0], [0.0, 2.0], [-0.0, 0.0]] {
            let word = dictionary.word(1, &number);
            let code = (word >> 1) as usize;
            assert_eq!((word & 1, &dictionary.values[2 * code..2 * code + 2]), (1, &number.map(|part| part + 0.0)[..]));
        }
        let many = Csr::new(vec![0, 1200], (0..1200).collect(), (0..1200).map(f64::from).collect());
        assert!(many.is_err(), "columns past the last");
        let starts = (0..=1200).collect();
        let diagonal = Csr::new(starts, (0..1200).collect(), (0..1200).map(f64::from).collect()).unwrap();
        assert!(Dictionary::new(&diagonal).is_none());
    }
}
