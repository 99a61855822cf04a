//! Many matrices of one shape side by side, each a sum of matrices of a block: operators of a block and a site from those of the block.
//!
//! K matrices of R × C stand as elements (row, k, column), rows together: at once R·K × C, one below the other, and
//! R × K·C, beside each other in the order k + K·column. A product of all of them with one matrix is then one product of
//! matrices, and so is a sum over k and columns.
//!
//! An [`AssembledPart`] is a rectangle of rows and columns of all K. Each of them is a sum of multiples of as large
//! matrices of the source and of the identity; which ones says a [term](AssemblyTerm) by a list that many parts share.

use rayon::prelude::*;
use std::sync::Arc;

/// The number of a source matrix that means the identity.
pub const IDENTITY: u32 = u32::MAX;

/// A rectangle of `count` matrices in the output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AssembledPart {
    /// Its first element in the output.
    pub first: usize,
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// Rows of the whole matrices: elements from one of them to the next.
    pub height: usize,
    /// How many matrices stand side by side.
    pub count: usize,
    /// The first of its terms, and how many it has.
    pub terms: (usize, usize),
}

/// Source matrices that a part adds up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AssemblyTerm {
    /// The first element of the source's matrices, which have the rows and columns of the part.
    pub first: usize,
    /// How many stand side by side there.
    pub count: usize,
    /// Number of the list: matrix k of the part is Σ coefficient · source over the entries of `starts[list + k] .. starts[list + k + 1]`.
    pub list: usize,
}

/// Lists of source matrices, the same for blocks of all sizes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AssemblyLists {
    /// First entries of the matrices of all lists.
    pub starts: Vec<u32>,
    /// Number of a source matrix, or [`IDENTITY`], and its coefficient.
    pub entries: Vec<(u32, f64)>,
}

/// Blocks of matrices side by side, one behind the other in one buffer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Assembly {
    /// First part and first element of each block, ascending; a block ends where the next begins.
    pub blocks: Vec<(usize, usize)>,
    /// The parts, which cover all blocks.
    pub parts: Vec<AssembledPart>,
    /// Their terms.
    pub terms: Vec<AssemblyTerm>,
    /// What the terms' lists say.
    pub lists: Arc<AssemblyLists>,
    /// Elements of the output.
    pub length: usize,
}

impl Assembly {
    /// Fills the output on this machine's cores; every element is set.
    pub fn run(&self, source: &[f64], output: &mut [f64]) {
        let mut rest = output;
        let mut tasks = Vec::with_capacity(self.blocks.len());
        let ends = self.blocks.iter().skip(1).copied().chain([(self.parts.len(), self.length)]);
        for ((part, first), (next_part, next)) in self.blocks.iter().zip(ends) {
            let (own, behind) = rest.split_at_mut(next - first);
            tasks.push((&self.parts[*part..next_part], *first, own));
            rest = behind;
        }
        // Some blocks have a few elements.
        tasks.into_par_iter().with_min_len(16).for_each(|(parts, first, own)| {
            parts.iter().for_each(|part| self.fill(part, source, &mut own[part.first - first..]));
        });
    }

    fn fill(&self, part: &AssembledPart, source: &[f64], output: &mut [f64]) {
        let AssembledPart { rows, columns, height, count, terms: (first, terms), .. } = *part;
        for column in 0..columns {
            for k in 0..count {
                output[height * (k + count * column)..][..rows].fill(0.0);
            }
        }
        for term in &self.terms[first..first + terms] {
            for k in 0..count {
                let [from, to] = [0, 1].map(|next| self.lists.starts[term.list + k + next] as usize);
                for (matrix, coefficient) in &self.lists.entries[from..to] {
                    for column in 0..columns {
                        let to = &mut output[height * (k + count * column)..][..rows];
                        if *matrix == IDENTITY {
                            to[column] += coefficient;
                            continue;
                        }
                        let from = &source[term.first + rows * (*matrix as usize + term.count * column)..][..rows];
                        to.iter_mut().zip(from).for_each(|(to, from)| *to += coefficient * from);
                    }
                }
            }
        }
    }
}
