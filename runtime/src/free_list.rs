//! A free list: free ranges of a line, such as a card's memory or a file.
//!
//! In: lengths that are taken and given back. Out: where they begin. The first free range that is long enough is taken,
//! or the last; adjacent free ranges are merged.

use std::collections::BTreeMap;

/// The free ranges below `end`.
#[derive(Clone, Debug, Default)]
pub struct FreeList {
    /// First place → length.
    free: BTreeMap<u64, u64>,
    end: u64,
}

impl FreeList {
    /// Total places, taken and free.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Places that are taken.
    pub fn taken(&self) -> u64 {
        self.end - self.free.values().sum::<u64>()
    }

    /// Adds free places at the end.
    pub fn grow(&mut self, length: u64) {
        let first = self.end;
        self.end += length;
        self.give_back(first, length);
    }

    /// Takes `length` places from the first free range that is long enough; returns their beginning.
    pub fn take(&mut self, length: u64) -> Option<u64> {
        if length == 0 {
            return Some(0);
        }
        let fits = self.free.iter().find(|(_, free)| **free >= length);
        let (first, free) = fits.map(|(first, free)| (*first, *free))?;
        self.free.remove(&first);
        if free > length {
            self.free.insert(first + length, free - length);
        }
        Some(first)
    }

    /// The same from the end of the last free range that is long enough: placing long pieces at the end and short ones at
    /// the beginning leaves longer free ranges.
    pub fn take_last(&mut self, length: u64) -> Option<u64> {
        let fits = self.free.iter().rev().find(|(_, free)| **free >= length);
        let (first, free) = fits.map(|(first, free)| (*first, *free))?;
        match free - length {
            0 => self.free.remove(&first),
            left => self.free.insert(first, left),
        };
        Some(first + free - length)
    }

    /// Frees a range.
    pub fn give_back(&mut self, mut first: u64, mut length: u64) {
        if length == 0 {
            return;
        }
        if let Some((before, free)) = self.free.range(..first).next_back().map(|(f, l)| (*f, *l))
            && before + free == first
        {
            self.free.remove(&before);
            (first, length) = (before, length + free);
        }
        if let Some(free) = self.free.remove(&(first + length)) {
            length += free;
        }
        self.free.insert(first, length);
    }

    /// Removes the free range at the end.
    pub fn shrink(&mut self) {
        if let Some((first, length)) = self.free.last_key_value().map(|(f, l)| (*f, *l))
            && first + length == self.end
        {
            self.free.remove(&first);
            self.end = first;
        }
    }

    /// Places by which [`FreeList::grow`] must grow so that `length` places can be taken.
    pub fn missing(&self, length: u64) -> u64 {
        let last = self.free.last_key_value().filter(|(first, free)| *first + *free == self.end);
        length - length.min(last.map_or(0, |(_, free)| *free))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_never_overlap_and_all_of_them_come_back() {
        let mut line = FreeList::default();
        assert_eq!(line.take(1), None);
        line.grow(10_000);
        let (mut held, mut state): (Vec<(u64, u64)>, u64) = (Vec::new(), 7);
        for _ in 0..5000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let number = state >> 33;
            if number.is_multiple_of(3) && !held.is_empty() {
                let (first, length) = held.swap_remove(number as usize % held.len());
                line.give_back(first, length);
            } else if let length = 1 + number % 700
                && let Some(first) = if number.is_multiple_of(2) { line.take(length) } else { line.take_last(length) }
            {
                assert!(first + length <= line.end());
                assert!(held.iter().all(|(f, l)| first + length <= *f || f + l <= first), "{first} {length} {held:?}");
                held.push((first, length));
            }
            assert_eq!(line.taken(), held.iter().map(|(_, length)| length).sum::<u64>());
        }
        held.into_iter().for_each(|(first, length)| line.give_back(first, length));
        assert_eq!((line.taken(), line.take(10_000)), (0, Some(0)));
    }

    #[test]
    fn a_line_grows_by_what_is_missing_and_loses_its_free_end() {
        let mut line = FreeList::default();
        line.grow(100);
        let first = line.take(60).unwrap();
        assert_eq!((line.missing(40), line.missing(100)), (0, 60));
        line.grow(line.missing(100));
        assert_eq!((line.take_last(30), line.take_last(70)), (Some(130), Some(60)));
        line.give_back(60, 100);
        line.shrink();
        assert_eq!(line.end(), 60);
        line.give_back(first, 60);
        line.shrink();
        assert_eq!((line.end(), line.taken()), (0, 0));
    }
}
