//! How much of H x the CPU does: as requested, or from times measured in the run (the performance ratio of Nemes et al.
//! 2014, section 7, Algorithm 5; theirs is read from a file for each matrix size).
//!
//! In: the records of y = H x; for the first product of each size, the card's seconds for all of it and the CPU's for a
//! part. Out: the CPU's fraction s. Both end together where s t + c = (1 − s) T, with T and t their seconds for a whole
//! product and c those of the copies; a tiny s becomes 0. Sizes are octaves of operations.

use super::super::{CpuShare, TwoStages};
use super::cpu_part::Seconds;
use crate::residency::locked;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// The CPU's fraction in a timed product.
pub(super) const TRIAL: f64 = 1.0 / 16.0;
/// Products with one H over which the copy of its operators is amortised.
const PRODUCTS: f64 = 8.0;
/// A smaller fraction is not worth planning.
const LEAST: f64 = 0.01;
/// The card finishes smaller products before a copy ends.
const FEW_FLOPS: f64 = 1e6;

/// What to do with one H.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Decision {
    /// The CPU's fraction.
    Part(f64),
    /// The first product is timed: this octave of operations has no timing yet.
    Trial(i32),
}

/// The CPU's fractions in a run.
pub(super) struct Balance {
    asked: CpuShare,
    measured: Mutex<BTreeMap<i32, f64>>,
}

impl Balance {
    pub(super) fn new(asked: CpuShare) -> Balance {
        Balance { asked, measured: Mutex::default() }
    }

    /// Whether the CPU may take part at all.
    pub(super) fn any(&self) -> bool {
        self.asked != CpuShare::Part(0.0)
    }

    pub(super) fn decide(&self, product: &TwoStages) -> Decision {
        let part = match self.asked {
            CpuShare::Part(part) => part,
            CpuShare::Auto => {
                let flops = product.flops();
                if flops < FEW_FLOPS {
                    return Decision::Part(0.0);
                }
                let octave = flops.log2() as i32;
                let measured = locked(&self.measured);
                match measured.get(&octave) {
                    Some(part) => *part,
                    None => return Decision::Trial(octave),
                }
            }
        };
        Decision::Part(part)
    }

    /// Records a trial: the card's seconds for all of a product, and the CPU's for `part`.
    pub(super) fn note(&self, octave: i32, card: f64, part: f64, cpu: Seconds) {
        let share = balanced(card, part, cpu);
        tracing::info!(octave, card, part, cpu = cpu.records, copies = cpu.copies, share, "the CPU's share of H x");
        locked(&self.measured).insert(octave, share);
    }
}

/// The CPU's fraction for which both end together.
fn balanced(card: f64, part: f64, cpu: Seconds) -> f64 {
    let copies = cpu.copies + cpu.operators / PRODUCTS;
    let share = (card - copies) / (card + cpu.records / part);
    if share >= LEAST { share } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::super::super::{Action, Operand, OperandSpace, Record, RecordGroup, RecordStage};
    use super::*;

    fn product(n: usize) -> TwoStages {
        let operand = |space| Operand { space, offset: 0, stride: n, transposed: false };
        let action = Action::Product { a: operand(OperandSpace::Left), b: operand(OperandSpace::Input), inner: n };
        let record = Record { action, coefficient: 1.0, first: 0, stride: n, rows: n, columns: n };
        let group = RecordGroup { offset: 0, length: n * n, records: vec![record] };
        TwoStages { first: RecordStage::default(), second: RecordStage { groups: vec![group], length: n * n } }
    }

    #[test]
    fn both_end_together_or_the_card_does_it_all() {
        let seconds = |records, copies| Seconds { operators: 8.0 * copies, copies, records };
        // A CPU as fast as the card without copies gets half. A sixteenth takes a sixteenth of the time.
        assert!((balanced(1.0, TRIAL, seconds(TRIAL, 0.0)) - 0.5).abs() < 1e-12);
        let (card, whole, copies) = (3.0, 5.0, 0.4);
        let share = balanced(card, TRIAL, seconds(TRIAL * whole, copies));
        assert!((share * whole + 2.0 * copies - (1.0 - share) * card).abs() < 1e-12, "{share}");
        assert_eq!(balanced(1.0, TRIAL, seconds(TRIAL, 0.6)), 0.0);
        assert_eq!(balanced(1.0, TRIAL, seconds(200.0 * TRIAL, 0.0)), 0.0);
    }

    #[test]
    fn a_size_is_timed_once_and_small_products_are_the_cards() {
        let balance = Balance::new(CpuShare::Auto);
        assert_eq!(balance.decide(&product(10)), Decision::Part(0.0));
        let Decision::Trial(octave) = balance.decide(&product(100)) else { panic!("2e6 operations are timed") };
        balance.note(octave, 1.0, 0.5, Seconds { records: 0.5, ..Seconds::default() });
        assert_eq!(balance.decide(&product(100)), Decision::Part(0.5));
        assert!(matches!(balance.decide(&product(200)), Decision::Trial(next) if next == octave + 3));
        assert_eq!(Balance::new(CpuShare::Part(0.25)).decide(&product(10)), Decision::Part(0.25));
        assert!(!Balance::new(CpuShare::default()).any());
    }
}
