//! Random numbers of a generated case: the same for the same seed and number, on every machine.

use eigenforge_runtime::seeded::element;

/// Random numbers, one after the other.
pub(crate) struct Dice {
    seed: u64,
    next: u64,
}

impl Dice {
    /// Those of a seed.
    pub(crate) fn new(seed: u64) -> Dice {
        Dice { seed, next: 0 }
    }

    /// Those of a case of a generator.
    pub(crate) fn of_case(seed: u64, case: u64) -> Dice {
        Dice::new(seed.wrapping_mul(0x9E37_79B9).wrapping_add(case))
    }

    /// In [−1, 1).
    pub(crate) fn value(&mut self) -> f64 {
        self.next += 1;
        element(self.seed, self.next)
    }

    /// In [0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        0.5 * (self.value() + 1.0)
    }

    /// A whole number from 0 to below a bound.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((self.unit() * bound as f64) as usize).min(bound - 1)
    }

    /// A whole number from `least` to `most`.
    pub(crate) fn between(&mut self, least: usize, most: usize) -> usize {
        least + self.below(most - least + 1)
    }

    /// True once in so many times.
    pub(crate) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }
}
