//! Which output blocks of a stage cuBLAS computes in a planned run.
//!
//! In: a [`RecordStage`]. Out: a [`Division`]. Products of large matrices run up to 20 % quicker in cuBLAS on four streams than in the
//! generated kernel, and about as quick at sizes that the kernel's tiles divide well (docs/papers.md, Figure 14); small ones run
//! several times quicker in the generated one. The rule is fixed, so that a run's bits do not depend on times.

use crate::records::{Action, Operand, Record, RecordStage};

/// Rows, columns and terms of a sum from which cuBLAS is as quick or quicker.
const LEAST_SIDE: usize = 768;
/// Operations that are worth the way between streams.
const LEAST_FLOPS: f64 = 1e10;

/// How the blocks of a stage are computed.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Division {
    /// All by the generated kernel.
    Own,
    /// All by cuBLAS.
    Vendor,
    /// The first stage by the generated kernel, then the second one by cuBLAS, added to zeros.
    Both([RecordStage; 2]),
}

impl Division {
    pub(super) fn new(stage: &RecordStage) -> Division {
        let part = |of_vendor: bool| {
            let groups = stage.groups.iter().filter(|group| is_large(&group.records) == of_vendor);
            RecordStage { groups: groups.cloned().collect(), length: stage.length }
        };
        let [own, vendor] = [part(false), part(true)];
        if vendor.flops() < LEAST_FLOPS {
            return Division::Own;
        }
        if own.groups.is_empty() { Division::Vendor } else { Division::Both([own, vendor]) }
    }
}

/// Whether a block is the sum of products of large matrices only, at even places: cuBLAS reads pairs of numbers.
fn is_large(records: &[Record]) -> bool {
    let is_even = |operand: &Operand| operand.offset.is_multiple_of(2) && operand.stride.is_multiple_of(2);
    let is_large = |record: &Record| match &record.action {
        Action::Product { a, b, inner } => {
            record.rows.min(record.columns).min(*inner) >= LEAST_SIDE
                && is_even(a)
                && is_even(b)
                && record.first.is_multiple_of(2)
                && record.stride.is_multiple_of(2)
        }
        Action::Copy { .. } | Action::Diagonal => false,
    };
    !records.is_empty() && records.iter().all(is_large)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::records::{OperandSpace, RecordGroup};

    /// Two blocks that are sums of as many products of `side` × `side` matrices, and a block of 40 × 50 between them.
    pub(in super::super) fn mixed(side: usize, products: usize, has_small: bool) -> RecordStage {
        let operand = |space, offset: usize, stride| Operand { space, offset, stride, transposed: false };
        let product = |[rows, columns, inner]: [usize; 3], at: usize, coefficient: f64| Record {
            action: Action::Product {
                a: operand(OperandSpace::Left, at, side.max(rows)),
                b: operand(OperandSpace::Input, 2 * at, side.max(inner)),
                inner,
            },
            coefficient,
            first: 0,
            stride: rows,
            rows,
            columns,
        };
        let large = |k: usize| (0..products).map(|p| product([side; 3], 2 * p + k, 0.3 - 0.1 * p as f64)).collect();
        let mut stage = RecordStage::default();
        stage.push(side * side, large(0));
        if has_small {
            stage.push(40 * 50, vec![product([40, 50, 30], 3, 0.7)]);
        }
        stage.push(side * side, large(6));
        stage
    }

    #[test]
    fn large_products_go_to_the_vendor() {
        let products = 1 + (LEAST_FLOPS / (4.0 * (LEAST_SIDE as f64).powi(3))) as usize;
        assert_eq!(Division::new(&RecordStage::default()), Division::Own);
        assert_eq!(Division::new(&mixed(LEAST_SIDE, products - 1, false)), Division::Own, "too few");
        assert_eq!(Division::new(&mixed(LEAST_SIDE - 2, 2 * products, false)), Division::Own, "too small");
        assert_eq!(Division::new(&mixed(LEAST_SIDE, products, false)), Division::Vendor);
        let stage = mixed(LEAST_SIDE, products, true);
        let Division::Both([small, large]) = Division::new(&stage) else { panic!("both have work") };
        let offsets = |stage: &RecordStage| stage.groups.iter().map(|group| group.offset).collect::<Vec<_>>();
        let middle = LEAST_SIDE * LEAST_SIDE;
        assert_eq!((offsets(&small), offsets(&large)), (vec![middle], vec![0, middle + 2_000]));
        assert_eq!([small.length, large.length], [stage.length; 2]);
    }

    #[test]
    fn a_block_with_anything_else_is_not_divided() {
        let products = 1 + (LEAST_FLOPS / (2.0 * (LEAST_SIDE as f64).powi(3))) as usize;
        let with = |change: &dyn Fn(&mut RecordGroup)| {
            let mut stage = mixed(LEAST_SIDE, products, false);
            stage.groups.iter_mut().for_each(change);
            Division::new(&stage)
        };
        assert_eq!(with(&|_| {}), Division::Vendor);
        assert_eq!(with(&|group| group.records[1].action = Action::Diagonal), Division::Own);
        assert_eq!(with(&|group| group.records[1].stride += 1), Division::Own, "odd");
        assert_eq!(with(&|group| group.records.clear()), Division::Own);
    }
}
