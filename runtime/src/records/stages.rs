//! y = H x as two stages of records.
//!
//! The intermediates of a large H are longer than the vectors by a hundred times, and writing and reading them takes most of the
//! time of cores. Most are read by the records of one block of y alone. Such a product is *chained*: each intermediate is made
//! where it is used, while it is in the cache.

use super::{Action, Buffers, Operand, OperandSpace, Record, RecordGroup, RecordStage, each_block, run};
use rayon::prelude::*;

/// Two stages, of which the second reads what the first writes.
#[derive(Clone, Debug, PartialEq)]
pub struct TwoStages {
    /// Intermediates.
    pub first: RecordStage,
    /// The product.
    pub second: RecordStage,
}

/// Elements of intermediates above which they do not stay in the caches.
const CACHED: usize = 1 << 17;

impl TwoStages {
    /// y = H x on the CPU; `between` is scratch.
    pub fn multiply(&self, buffers: Buffers<'_>, x: &[f64], between: &mut Vec<f64>, y: &mut [f64]) {
        self.run(buffers.set(OperandSpace::Input, x), between, y);
    }

    /// Runs both stages; `between` is scratch, and every element of the output is set.
    pub(crate) fn run(&self, buffers: Buffers<'_>, between: &mut Vec<f64>, output: &mut [f64]) {
        if self.first.length > CACHED && self.is_chained() {
            return self.run_chained(buffers, output);
        }
        between.resize(self.first.length, 0.0);
        run(&self.first, buffers, between);
        run(&self.second, buffers.set(OperandSpace::Between, between), output);
    }

    /// Elements of intermediates that a run keeps all at once.
    pub(crate) fn scratch(&self) -> usize {
        if self.first.length > CACHED && self.is_chained() { 0 } else { self.first.length }
    }

    /// Floating-point operations of a product.
    pub fn flops(&self) -> f64 {
        self.first.flops() + self.second.flops()
    }

    /// The group of the first stage that wrote an element; most often it is that behind the last one.
    fn group_of(&self, element: usize, last: Option<usize>) -> usize {
        let groups = &self.first.groups;
        let begins_before = |index: usize| groups.get(index).is_none_or(|group| group.offset <= element);
        let next = last.map_or(0, |last| last + 1);
        if next < groups.len() && begins_before(next) && !(next + 1 < groups.len() && begins_before(next + 1)) {
            return next;
        }
        groups.partition_point(|group| group.offset <= element) - 1
    }

    /// The group of the first stage that a record reads, if it reads one; `last` is that of the record before.
    fn read_by(&self, record: &Record, last: Option<usize>) -> Option<usize> {
        let between = |operand: &Operand| (operand.space == OperandSpace::Between).then_some(operand.offset);
        let offset = match &record.action {
            Action::Product { a, b, .. } => between(a).or(between(b)),
            Action::Copy { a } => between(a),
            Action::Diagonal => None,
        };
        offset.map(|offset| self.group_of(offset, last))
    }

    /// Whether each intermediate is read by records of one block that follow each other.
    fn is_chained(&self) -> bool {
        let mut is_read = vec![false; self.first.groups.len()];
        self.second.groups.iter().all(|group| {
            let mut last = None;
            group.records.iter().all(|record| {
                let Some(read) = self.read_by(record, last) else { return true };
                last.replace(read) == Some(read) || !std::mem::replace(&mut is_read[read], true)
            })
        })
    }

    fn run_chained(&self, buffers: Buffers<'_>, output: &mut [f64]) {
        let mut tasks = Vec::with_capacity(self.second.groups.len());
        each_block(&self.second, output, |group, block| tasks.push((group, block)));
        let add = |made: &mut Vec<f64>, (group, block): (&RecordGroup, &mut [f64])| {
            block.fill(0.0);
            let mut here = None;
            for record in &group.records {
                let Some(read) = self.read_by(record, here) else {
                    record.add(buffers, block);
                    continue;
                };
                let of = &self.first.groups[read];
                if here != Some(read) {
                    here = Some(read);
                    made.clear();
                    made.resize(of.length, 0.0);
                    of.records.iter().for_each(|record| record.add(buffers, made));
                }
                behind(record, of.offset).add(buffers.set(OperandSpace::Between, made), block);
            }
        };
        tasks.into_par_iter().with_max_len(1).for_each_init(Vec::new, add);
    }
}

/// The record for intermediates that begin at this element.
fn behind(record: &Record, first: usize) -> Record {
    let moved = |operand: Operand| match operand.space {
        OperandSpace::Between => Operand { offset: operand.offset - first, ..operand },
        _ => operand,
    };
    let action = match record.action {
        Action::Product { a, b, inner } => Action::Product { a: moved(a), b: moved(b), inner },
        Action::Copy { a } => Action::Copy { a: moved(a) },
        Action::Diagonal => Action::Diagonal,
    };
    Record { action, ..*record }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeded::vector;

    /// y_t = Σ_k B_k (A_k x_k), of which the intermediates are some of those of other blocks where `shared`.
    fn product(blocks: usize, rows: usize, shared: bool) -> TwoStages {
        let operand = |space, offset| Operand { space, offset, stride: rows, transposed: false };
        let record = |a, b| Record {
            action: Action::Product { a, b, inner: rows },
            coefficient: 0.5,
            first: 0,
            stride: rows,
            rows,
            columns: rows,
        };
        let area = rows * rows;
        let (mut first, mut second) = (RecordStage::default(), RecordStage::default());
        for block in 0..blocks {
            let mut records = Vec::new();
            for k in 0..3 {
                let (a, x) =
                    (operand(OperandSpace::Left, k * area), operand(OperandSpace::Input, (block + k) % blocks * area));
                let z = first.push(area, vec![record(a, x)]);
                let z = if shared && k == 1 && block > 0 { z - 3 * area } else { z };
                for b in 0..2 {
                    let b = operand(OperandSpace::Right, (k + b) * area);
                    records.push(record(operand(OperandSpace::Between, z), b));
                }
                records.push(record(a, x));
            }
            second.push(area, records);
        }
        TwoStages { first, second }
    }

    #[test]
    fn a_chained_product_gives_the_numbers_of_two_stages() {
        let (blocks, rows) = (40, 36);
        let area = rows * rows;
        let (left, right, x) = (vector(3 * area, 1), vector(4 * area, 2), vector(blocks * area, 3));
        let buffers = Buffers::default()
            .set(OperandSpace::Left, &left)
            .set(OperandSpace::Right, &right)
            .set(OperandSpace::Input, &x);
        for shared in [false, true] {
            let product = product(blocks, rows, shared);
            assert!(product.first.length > CACHED);
            assert_eq!(product.is_chained(), !shared);
            let (mut between, mut expected) = (vec![f64::NAN; product.first.length], vec![f64::NAN; x.len()]);
            run(&product.first, buffers, &mut between);
            run(&product.second, buffers.set(OperandSpace::Between, &between), &mut expected);
            let mut found = vec![f64::NAN; x.len()];
            product.multiply(buffers, &x, &mut Vec::new(), &mut found);
            assert_eq!(found, expected, "shared: {shared}");
        }
    }
}
