//! The diagonal as a part of the low word, a part of the high word, and products of both.
//!
//! In: the plan of the diagonal, whose terms count bits of whole words. Out: D(h, l) = high(h) + low(l) + Σ_k f_k(l) w_k(h), with
//! one function f_k for each set of low bits or sites that a term shares with high ones. Rows with the same values of all f_k are
//! of one pattern, so a term across costs a table of the patterns for each column and one number a row.

use super::runs::Run;
use eigenforge_templates::exact::{DiagonalPlan, DigitFactor, StateWord};
use multiversion::multiversion;
use std::collections::BTreeMap;

/// A factor of a term, as a function of one word.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Function {
    /// 1.
    One,
    /// 1 where all these bits are set, else 0.
    Set(u64),
    /// (−1)^(how many of these bits are clear).
    Parity(u64),
    /// Π (level − S)^power, by the first bit of the site.
    Levels(Vec<(u32, u32)>),
    /// Π of functions of digits.
    Digits(Vec<DigitFactor>),
}

/// The terms of a diagonal, split at a bit of the state word or between the words of two species.
pub(super) struct SplitDiagonal {
    width: u32,
    two_s: u32,
    low: Vec<(f64, Function)>,
    high: Vec<(f64, Function)>,
    across: BTreeMap<Function, Vec<(f64, Function)>>,
}

impl SplitDiagonal {
    /// Of a plan for words whose low part has `low_bits` bits; the words of two species are low and high already.
    pub(super) fn new(plan: &DiagonalPlan, low_bits: u32) -> SplitDiagonal {
        let (width, two_s) = (plan.level_width, plan.two_s);
        let mut split = SplitDiagonal { width, two_s, low: vec![], high: vec![], across: BTreeMap::new() };
        split.push(plan.constant, Function::One, Function::One);
        let low_mask = eigenforge_core::basis::low_mask(low_bits);
        // A bit of one of the plan's words as masks of the low and of the high word.
        let place = |word: StateWord, bit: u32| match word {
            StateWord::State if bit >= low_bits => [0, 1 << (bit - low_bits)],
            StateWord::State | StateWord::Up => [1u64 << bit, 0],
            StateWord::Down => [0, 1 << bit],
        };
        for group in &plan.counts {
            for bit in (0..u64::BITS).filter(|bit| group.mask >> bit & 1 == 1) {
                let own = place(group.left, bit);
                let c = group.coefficient;
                let Some((word, shift)) = group.right else {
                    split.push_set(c, own);
                    continue;
                };
                let partner = place(word, (bit as i32 + shift) as u32);
                let both = [own[0] | partner[0], own[1] | partner[1]];
                if group.differs {
                    // [a ≠ b] = a + b − 2ab
                    split.push_set(c, own);
                    split.push_set(c, partner);
                    split.push_set(-2.0 * c, both);
                } else {
                    split.push_set(c, both);
                }
            }
        }
        for term in &plan.products {
            let (low, high) = match plan.sites {
                0 => (term.mask & low_mask, term.mask.checked_shr(low_bits).unwrap_or(0)),
                _ => (term.mask, term.down_mask),
            };
            let of = |mask: u64| match (mask, term.parity) {
                (0, _) => Function::One,
                (mask, true) => Function::Parity(mask),
                (mask, false) => Function::Set(mask),
            };
            split.push(term.coefficient, of(low), of(high));
        }
        for term in &plan.levels {
            let (mut low, mut high) = (Vec::new(), Vec::new());
            for (site, power) in &term.factors {
                match (site * width).checked_sub(low_bits) {
                    Some(bit) => high.push((bit, *power)),
                    None => low.push((site * width, *power)),
                }
            }
            let of = |factors: Vec<_>| if factors.is_empty() { Function::One } else { Function::Levels(factors) };
            split.push(term.coefficient, of(low), of(high));
        }
        for term in &plan.digits {
            let (low, mut high): (Vec<_>, Vec<_>) = term.factors.iter().partition(|factor| factor.shift < low_bits);
            high.iter_mut().for_each(|factor: &mut DigitFactor| factor.shift -= low_bits);
            let of = |factors: Vec<_>| if factors.is_empty() { Function::One } else { Function::Digits(factors) };
            split.push(term.coefficient, of(low), of(high));
        }
        split
    }

    fn push_set(&mut self, coefficient: f64, [low, high]: [u64; 2]) {
        let of = |mask: u64| if mask == 0 { Function::One } else { Function::Set(mask) };
        self.push(coefficient, of(low), of(high));
    }

    fn push(&mut self, coefficient: f64, low: Function, high: Function) {
        match (low, high) {
            (low, Function::One) => self.low.push((coefficient, low)),
            (Function::One, high) => self.high.push((coefficient, high)),
            (low, high) => self.across.entry(low).or_default().push((coefficient, high)),
        }
    }

    fn value(&self, function: &Function, word: u64) -> f64 {
        match function {
            Function::One => 1.0,
            Function::Set(mask) => f64::from(u8::from(word & mask == *mask)),
            Function::Parity(mask) => 1.0 - 2.0 * f64::from((!word & mask).count_ones() & 1),
            Function::Levels(factors) => {
                let z = |bit: u32| (word >> bit & ((1 << self.width) - 1)) as f64 - 0.5 * f64::from(self.two_s);
                factors.iter().map(|(bit, power)| z(*bit).powi(*power as i32)).product()
            }
            Function::Digits(factors) => factors.iter().map(|factor| factor.value(word)).product(),
        }
    }

    fn sum(&self, terms: &[(f64, Function)], word: u64) -> f64 {
        terms.iter().map(|(coefficient, function)| coefficient * self.value(function, word)).sum()
    }

    /// Functions of the low word in products of both.
    pub(super) fn functions(&self) -> usize {
        self.across.len()
    }

    /// The diagonal of a block.
    pub(super) fn of_block(&self, lows: &[u64], highs: &[u64]) -> BlockDiagonal {
        let mut numbers: BTreeMap<Vec<u64>, u32> = BTreeMap::new();
        let mut patterns = Vec::new();
        let pattern = |word: &u64| {
            let values: Vec<f64> = self.across.keys().map(|function| self.value(function, *word)).collect();
            let next = numbers.len() as u32;
            *numbers.entry(values.iter().map(|value| value.to_bits()).collect()).or_insert_with(|| {
                patterns.extend(values);
                next
            })
        };
        let of_row: Vec<u32> = lows.iter().map(pattern).collect();
        let weights = |word: &u64| self.across.values().map(|terms| self.sum(terms, *word)).collect::<Vec<f64>>();
        BlockDiagonal {
            low: lows.iter().map(|word| self.sum(&self.low, *word)).collect(),
            high: highs.iter().map(|word| self.sum(&self.high, *word)).collect(),
            functions: self.across.len(),
            count: numbers.len(),
            patterns,
            of_row,
            weights: highs.iter().flat_map(weights).collect(),
        }
    }
}

/// The diagonal of a block: low(row) + high(column) + Σ_k f_k(row) w_k(column).
pub(super) struct BlockDiagonal {
    /// By row.
    pub low: Vec<f64>,
    /// By column.
    pub high: Vec<f64>,
    /// How many functions f_k there are.
    functions: usize,
    /// Patterns: distinct values of all f_k.
    count: usize,
    /// f_k of each pattern.
    patterns: Vec<f64>,
    /// The pattern of each row.
    pub of_row: Vec<u32>,
    /// w_k of each column.
    weights: Vec<f64>,
}

impl BlockDiagonal {
    /// Whether there are terms of both words.
    pub(super) fn is_across(&self) -> bool {
        self.functions > 0
    }

    /// Σ_k f_k w_k of each pattern in up to `W` columns from `first` on; what is past the last column means nothing.
    pub(super) fn fill<const W: usize>(&self, first: usize, table: &mut Vec<Run<W>>) {
        let (k, columns) = (self.functions, self.high.len());
        let weight = |function: usize| -> Run<W> {
            Run(std::array::from_fn(|lane| self.weights[(first + lane).min(columns - 1) * k + function]))
        };
        let weights: Vec<Run<W>> = (0..k).map(weight).collect();
        table.resize(self.count, Run([0.0; W]));
        combine(&self.patterns, &weights, table);
    }

    /// One element.
    pub(super) fn element(&self, row: usize, column: usize) -> f64 {
        let k = self.functions;
        let pattern = &self.patterns[self.of_row[row] as usize * k..][..k];
        let across: f64 = pattern.iter().zip(&self.weights[column * k..][..k]).map(|(f, w)| f * w).sum();
        self.low[row] + self.high[column] + across
    }
}

/// table\[p\] = Σ_k patterns\[p\]\[k\] · weights\[k\], lane by lane.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
fn combine<const W: usize>(patterns: &[f64], weights: &[Run<W>], table: &mut [Run<W>]) {
    for (sum, pattern) in table.iter_mut().zip(patterns.chunks_exact(weights.len())) {
        let mut lanes = [0.0; W];
        for (f, w) in pattern.iter().zip(weights) {
            lanes.iter_mut().zip(&w.0).for_each(|(sum, w)| *sum += f * w);
        }
        sum.0 = lanes;
    }
}
