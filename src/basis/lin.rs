//! Lin's two tables: index = high_offset[high] + low_index[low] (H. Q. Lin, Phys. Rev. B 42, 6561 (1990)).

use super::low_mask;
use crate::operator::OperatorError;

/// Bits of one half beyond which the tables would no longer be small.
const LARGEST_HALF: u32 = 28;

/// One high part with the low parts that complete it to the sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HighPart {
    /// The high bits.
    pub high: u64,
    /// Index of its first state.
    pub start: u64,
    /// Where its low parts begin in [`LinTables::low_states`].
    pub first_low: u64,
    /// How many there are.
    pub count: u64,
}

/// The tables of a sector.
#[derive(Clone, Debug)]
pub struct LinTables {
    /// Bits of the low part.
    pub low_bits: u32,
    /// Index of the first state of each high part; `u64::MAX` where the sector has none.
    pub high_offset: Vec<u64>,
    /// Position of each low part among those of its charge; `u32::MAX` for words that are no state.
    pub low_index: Vec<u32>,
    /// Low parts by charge, ascending within one.
    pub low_states: Vec<u64>,
    /// High parts that hold states, ascending.
    pub parts: Vec<HighPart>,
}

impl LinTables {
    /// Fermions: the low part is the up word, the high part the down word, so the index is the Kronecker one.
    pub fn fermions(sites: usize, up: &[u64], down: &[u64]) -> Result<LinTables, OperatorError> {
        let dimension = up.len() as f64 * down.len() as f64;
        if sites as u32 > LARGEST_HALF {
            return Err(OperatorError::TooLarge { dimension });
        }
        let mut low_index = vec![u32::MAX; 1 << sites];
        up.iter().enumerate().for_each(|(i, word)| low_index[*word as usize] = i as u32);
        let mut high_offset = vec![u64::MAX; 1 << sites];
        let n_up = up.len() as u64;
        let part =
            |(j, high): (usize, &u64)| HighPart { high: *high, start: j as u64 * n_up, first_low: 0, count: n_up };
        let parts: Vec<HighPart> = down.iter().enumerate().map(part).collect();
        parts.iter().for_each(|part| high_offset[part.high as usize] = part.start);
        Ok(LinTables { low_bits: sites as u32, high_offset, low_index, low_states: up.to_vec(), parts })
    }

    /// Local moments of `width` bits a site whose levels add up to `levels`.
    pub fn spins(sites: usize, two_s: u32, width: u32, levels: u32) -> Result<LinTables, OperatorError> {
        let low_sites = sites / 2;
        let (low_bits, high_bits) = (low_sites as u32 * width, (sites - low_sites) as u32 * width);
        if high_bits > LARGEST_HALF {
            return Err(OperatorError::TooLarge { dimension: f64::from(two_s + 1).powi(sites as i32) });
        }
        let charge = |word: u64, count: usize| -> Option<u32> {
            let digits = (0..count as u32).map(|site| (word >> (site * width) & low_mask(width)) as u32);
            digits.clone().all(|level| level <= two_s).then(|| digits.sum())
        };
        let mut classes: Vec<Vec<u64>> = vec![Vec::new(); two_s as usize * low_sites + 1];
        let mut low_index = vec![u32::MAX; 1 << low_bits];
        for word in 0..1u64 << low_bits {
            if let Some(q) = charge(word, low_sites) {
                low_index[word as usize] = classes[q as usize].len() as u32;
                classes[q as usize].push(word);
            }
        }
        let mut first_of_class = Vec::with_capacity(classes.len());
        let mut low_states = Vec::new();
        for class in &classes {
            first_of_class.push(low_states.len() as u64);
            low_states.extend(class);
        }
        let mut high_offset = vec![u64::MAX; 1 << high_bits];
        let (mut parts, mut start) = (Vec::new(), 0u64);
        for high in 0..1u64 << high_bits {
            let Some(rest) = charge(high, sites - low_sites).and_then(|q| levels.checked_sub(q)) else { continue };
            let Some(class) = classes.get(rest as usize).filter(|class| !class.is_empty()) else { continue };
            high_offset[high as usize] = start;
            let count = class.len() as u64;
            parts.push(HighPart { high, start, first_low: first_of_class[rest as usize], count });
            start += count;
        }
        Ok(LinTables { low_bits, high_offset, low_index, low_states, parts })
    }

    /// Number of states.
    pub fn dimension(&self) -> u64 {
        self.parts.last().map_or(0, |part| part.start + part.count)
    }

    /// The high part that holds an index below the dimension.
    pub fn part_of(&self, index: u64) -> usize {
        self.parts.partition_point(|part| part.start <= index) - 1
    }

    /// The state word of an index below the dimension.
    pub fn state(&self, index: u64) -> u64 {
        let part = &self.parts[self.part_of(index)];
        self.low_states[(part.first_low + index - part.start) as usize] | part.high << self.low_bits
    }

    /// The index of a word that is known to be in the sector.
    pub fn index(&self, state: u64) -> u64 {
        let (low, high) = (state & low_mask(self.low_bits), state >> self.low_bits);
        self.high_offset[high as usize] + u64::from(self.low_index[low as usize])
    }

    /// The index of any word, `None` when it is not in the sector.
    pub fn checked_index(&self, state: u64) -> Option<u64> {
        let offset = *self.high_offset.get((state >> self.low_bits) as usize)?;
        let low = self.low_index[(state & low_mask(self.low_bits)) as usize];
        if offset == u64::MAX || low == u32::MAX {
            return None;
        }
        let index = offset + u64::from(low);
        (index < self.dimension() && self.state(index) == state).then_some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_and_state_are_inverse_and_ascending() {
        for (sites, two_s, width, levels) in [(1, 1, 1, 1), (6, 1, 1, 3), (5, 2, 2, 4), (4, 3, 2, 7), (7, 1, 1, 0)] {
            let tables = LinTables::spins(sites, two_s, width, levels).unwrap();
            let states: Vec<u64> = (0..tables.dimension()).map(|index| tables.state(index)).collect();
            assert!(states.windows(2).all(|pair| pair[0] < pair[1]));
            for (index, state) in states.iter().enumerate() {
                assert_eq!(tables.index(*state), index as u64);
                assert_eq!(tables.checked_index(*state), Some(index as u64));
            }
            let brute = (0..1u64 << (sites as u32 * width)).filter(|word| {
                let digits = (0..sites as u32).map(|site| (word >> (site * width)) as u32 & ((1 << width) - 1));
                digits.clone().all(|level| level <= two_s) && digits.sum::<u32>() == levels
            });
            assert_eq!(brute.count() as u64, tables.dimension());
        }
    }
}
