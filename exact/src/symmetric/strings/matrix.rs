//! Rows of H between the states of a sector by strings, for a matrix that is stored, and vectors in the order of words.

use super::host::HostStrings;
use super::{Row, SIGN, Strings};
use eigenforge_runtime::Scalar;
use num_complex::Complex64;
use rayon::prelude::*;
use std::collections::BTreeMap;

impl HostStrings {
    /// The elements of a row, columns ascending, in place of what is in the list. Of a complex sector the rows of real parts come first.
    pub(super) fn row(&self, row: u64, complex: bool, elements: &mut Vec<(u32, f64)>) {
        let states = self.strings.states as usize;
        let (state, imaginary) = (row as usize % states, row as usize >= states);
        elements.clear();
        for (column, value) in self.complex_row(state) {
            let (left, right) = if imaginary { (value.im, value.re) } else { (value.re, -value.im) };
            for (column, value, kept) in [(column, left, true), (column + states, right, complex)] {
                if kept && (value != 0.0 || column == row as usize) {
                    elements.push((column as u32, value));
                }
            }
        }
        elements.sort_unstable_by_key(|(column, _)| *column);
    }

    fn complex_row(&self, state: usize) -> BTreeMap<usize, Complex64> {
        let strings = &*self.strings;
        let number = strings.row_of(state);
        let row = &strings.rows[number];
        let string = strings.string(row, state - row.start as usize);
        let root = strings.root(row, string);
        let mut elements = BTreeMap::from([(state, Complex64::from(self.diagonal.of_state(strings.word_of(state))))]);
        let mut add = |row: usize, to: usize, factor: Complex64| {
            let row = &strings.rows[row];
            if let Some((place, own)) = strings.stands_for(row, to) {
                *elements.entry(row.start as usize + place).or_insert(Complex64::ZERO) += factor * own / root;
            }
        };
        for word in strings.inner.row(string) {
            let to = word & ((1 << strings.index_bits) - 1);
            add(number, to as usize, strings.inner.factors[(word >> strings.index_bits) as usize]);
        }
        for hop in strings.hops_of(number) {
            let image = strings.images_by(hop.element)[string];
            let factor = if image & SIGN == 0 { hop.factor } else { -hop.factor };
            add(hop.row as usize, (image & !SIGN) as usize, factor);
        }
        elements
    }
}

impl Strings {
    /// A vector with the representatives of each row in the order of their words, each the least of its orbit, and without signs.
    pub(super) fn in_basis_order<T: Scalar>(&self, vector: &[T]) -> Vec<T> {
        let states = self.states as usize;
        let (re, im) = vector.split_at(states);
        let of_row = |row: &Row| {
            let class = self.class_of(row);
            let strings = class.map_or(&self.numbers.of_rank, |class| &class.by_word);
            let element = |string: &u32| {
                let string = *string as usize;
                let Some((place, factor)) = self.stands_for(row, string) else { unreachable!("it has a state") };
                let factor = factor * self.numbers.sign(string) / factor.norm();
                let at = row.start as usize + place;
                factor * Complex64::new(re[at].to_f64(), im.get(at).map_or(0.0, |im| im.to_f64()))
            };
            strings.iter().map(element).collect::<Vec<Complex64>>()
        };
        let parts: Vec<Vec<Complex64>> = self.rows.par_iter().map(of_row).collect();
        let all = || parts.iter().flatten();
        let mut ordered: Vec<T> = Vec::with_capacity(vector.len());
        ordered.extend(all().map(|value| T::from_f64(value.re)));
        if !im.is_empty() {
            ordered.extend(all().map(|value| T::from_f64(value.im)));
        }
        ordered
    }
}
