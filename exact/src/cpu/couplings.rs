//! What couples columns: y(h, l) += a(h) · x(h', l'), l' the row that a move of the low word takes l to.
//!
//! A move takes rows of one block to rows of another. Rows whose low words differ only below the bits that flip stay together, so
//! a move is a list of runs (the row, the row reached, how many); where the runs are short, of single rows.

use super::split::{SplitTerms, WordMove};
use eigenforge_runtime::Scalar;

/// The couplings of the columns of one block.
pub(super) struct Couplings {
    /// Where each column's list begins, and the end of the last.
    start: Vec<u32>,
    list: Vec<ColumnCoupling>,
    moves: Vec<RowMoves>,
}

/// The column of x that one column of y gets a part of.
struct ColumnCoupling {
    /// Its first element.
    from: u64,
    /// What happens to the rows: a number in [`Couplings::moves`].
    rows: u32,
    amplitude: f64,
}

/// Rows of one block, the rows they are taken to, by sign.
struct RowMoves {
    plus: Places,
    minus: Places,
}

/// Rows and the rows they are taken to.
enum Places {
    /// (row, row reached, how many).
    Runs(Vec<[u32; 3]>),
    /// (row, row reached).
    Single(Vec<[u32; 2]>),
}

/// Runs of fewer rows on average are single rows.
const SHORT: usize = 4;

impl Places {
    /// Of pairs in ascending order of the row.
    fn new(pairs: Vec<[u32; 2]>) -> Places {
        let mut runs: Vec<[u32; 3]> = Vec::new();
        for [row, to] in &pairs {
            match runs.last_mut() {
                Some([first, reached, count]) if *first + *count == *row && *reached + *count == *to => *count += 1,
                _ => runs.push([*row, *to, 1]),
            }
        }
        if runs.len() * SHORT > pairs.len() { Places::Single(pairs) } else { Places::Runs(runs) }
    }

    /// sum += a · x along the move.
    fn add<T: Scalar>(&self, amplitude: f64, x: &[T], sum: &mut [f64]) {
        match self {
            Places::Runs(runs) => {
                for [row, to, count] in runs {
                    let from = &x[*to as usize..][..*count as usize];
                    let sum = &mut sum[*row as usize..][..*count as usize];
                    sum.iter_mut().zip(from).for_each(|(sum, x)| *sum += amplitude * x.to_f64());
                }
            }
            Places::Single(pairs) => {
                for [row, to] in pairs {
                    sum[*row as usize] += amplitude * x[*to as usize].to_f64();
                }
            }
        }
    }
}

impl RowMoves {
    /// Of a move of the low words of a block; `row_of` finds a low word in the block that is reached.
    fn new(lows: &[u64], of: WordMove, row_of: impl Fn(u64) -> Option<u32>) -> RowMoves {
        let (mut plus, mut minus) = (Vec::new(), Vec::new());
        for (row, low) in (0..).zip(lows) {
            let Some((reached, odd)) = of.image(*low) else { continue };
            let Some(to) = row_of(reached) else { continue };
            if odd { &mut minus } else { &mut plus }.push([row, to]);
        }
        RowMoves { plus: Places::new(plus), minus: Places::new(minus) }
    }
}

impl Couplings {
    /// Of the columns `highs` of a block with the rows `lows`. `column_of` finds the first element of the column of a high word;
    /// `row_of` the row of a low word in that column.
    pub(super) fn new(
        terms: &SplitTerms,
        (lows, highs): (&[u64], &[u64]),
        column_of: impl Fn(u64) -> Option<u64>,
        row_of: impl Fn(u64, u64) -> Option<u32>,
    ) -> Couplings {
        let mut couplings = Couplings { start: vec![0], list: Vec::new(), moves: Vec::new() };
        // The high word that each move was first used with: all of them leave the same charge to the low word.
        let mut numbers: Vec<Option<u32>> = vec![None; terms.low_moves.len()];
        for high in highs {
            let mut found: Vec<(u32, u64, f64)> = Vec::new();
            for coupling in &terms.both {
                let Some((reached, odd)) = coupling.high.image(*high) else { continue };
                let Some(from) = column_of(reached) else { continue };
                let number = *numbers[coupling.low].get_or_insert_with(|| {
                    let rows = RowMoves::new(lows, terms.low_moves[coupling.low], |low| row_of(reached, low));
                    couplings.moves.push(rows);
                    couplings.moves.len() as u32 - 1
                });
                found.push((number, from, if odd { -coupling.amplitude } else { coupling.amplitude }));
            }
            found.sort_by_key(|(number, from, _)| (*number, *from));
            found.dedup_by(|later, first| {
                let same = (later.0, later.1) == (first.0, first.1);
                if same {
                    first.2 += later.2;
                }
                same
            });
            let column = found.into_iter().filter(|(.., amplitude)| *amplitude != 0.0);
            couplings.list.extend(column.map(|(rows, from, amplitude)| ColumnCoupling { from, rows, amplitude }));
            couplings.start.push(couplings.list.len() as u32);
        }
        couplings
    }

    /// None at all.
    pub(super) fn none(columns: usize) -> Couplings {
        Couplings { start: vec![0; columns + 1], list: Vec::new(), moves: Vec::new() }
    }

    /// y += what couples a column to others; returns its part of xᵀy. `own` is this column of x, `sum` scratch memory.
    pub(super) fn add<T: Scalar>(&self, column: usize, x: &[T], own: &[T], y: &mut [T], sum: &mut Vec<f64>) -> f64 {
        let list = &self.list[self.start[column] as usize..self.start[column + 1] as usize];
        if list.is_empty() {
            return 0.0;
        }
        sum.clear();
        sum.resize(own.len(), 0.0);
        for ColumnCoupling { from, rows, amplitude } in list {
            let RowMoves { plus, minus } = &self.moves[*rows as usize];
            let from = &x[*from as usize..];
            plus.add(*amplitude, from, sum);
            minus.add(-amplitude, from, sum);
        }
        let mut dot = 0.0;
        for ((y, x), sum) in y.iter_mut().zip(own).zip(&*sum) {
            *y = T::from_f64(y.to_f64() + sum);
            dot += x.to_f64() * sum;
        }
        dot
    }
}
