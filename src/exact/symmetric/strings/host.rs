//! The multiply by strings on all cores of the host, with the tables of the device.
//!
//! A task takes one row and consecutive strings D; hops of U come one after the other, each with all strings of the task, so that a
//! row of x is read at a time. Tasks have sizes of their own, so that the number of threads changes no bit.

use super::{SIGN, Strings};
use eigenforge_runtime::Scalar;
use eigenforge_templates::exact::DiagonalPlan;
use num_complex::Complex64;
use rayon::prelude::*;
use std::sync::Arc;

/// Strings of a task.
const STRINGS: usize = 1 << 12;

/// H on the host.
#[derive(Clone)]
pub(in crate::exact) struct HostStrings {
    pub(super) strings: Arc<Strings>,
    pub(super) diagonal: DiagonalPlan,
}

/// A part of a row, and where its results go: real parts, and imaginary ones of complex vectors.
struct Task<'a, T> {
    row: usize,
    first: usize,
    re: &'a mut [T],
    im: &'a mut [T],
}

/// A vector by its real and imaginary parts.
#[derive(Clone, Copy)]
struct Parts<'a, T> {
    re: &'a [T],
    im: &'a [T],
}

impl<T: Scalar> Parts<'_, T> {
    /// Adds factor · an element to a sum.
    #[inline]
    fn add<const COMPLEX: bool>(&self, sum: &mut Complex64, factor: Complex64, at: usize) {
        if COMPLEX {
            *sum += factor * Complex64::new(self.re[at].to_f64(), self.im[at].to_f64());
        } else {
            sum.re += factor.re * self.re[at].to_f64();
        }
    }
}

impl HostStrings {
    /// y = H x; returns xᵀy.
    pub(in crate::exact) fn apply<T: Scalar>(&self, x: &[T], y: &mut [T]) -> f64 {
        let strings = &*self.strings;
        let states = strings.states as usize;
        let (re, im) = x.split_at(states);
        let x = Parts { re, im };
        let (mut re, mut im) = y.split_at_mut(states);
        let mut tasks = Vec::new();
        for (number, row) in strings.rows.iter().enumerate() {
            let length = strings.length(row);
            for first in (0..length).step_by(STRINGS) {
                let count = STRINGS.min(length - first);
                let (own, rest) = re.split_at_mut(count);
                re = rest;
                let (own_im, rest) = im.split_at_mut(if x.im.is_empty() { 0 } else { count });
                im = rest;
                tasks.push(Task { row: number, first, re: own, im: own_im });
            }
        }
        let dots: Vec<f64> = match x.im.is_empty() {
            true => tasks.into_par_iter().map(|task| self.run::<T, false>(x, task)).collect(),
            false => tasks.into_par_iter().map(|task| self.run::<T, true>(x, task)).collect(),
        };
        dots.iter().sum()
    }

    /// A task; returns its part of xᵀy.
    fn run<T: Scalar, const COMPLEX: bool>(&self, x: Parts<'_, T>, task: Task<'_, T>) -> f64 {
        let strings = &*self.strings;
        let (row, mask) = (&strings.rows[task.row], (1u32 << strings.index_bits) - 1);
        let start = row.start as usize;
        let mut sums = vec![Complex64::ZERO; task.re.len()];
        let factors = &strings.inner.factors;
        for (place, sum) in (task.first..).zip(&mut sums) {
            for word in strings.inner.row(strings.string(row, place)) {
                let (to, factor) = ((word & mask) as usize, factors[(word >> strings.index_bits) as usize]);
                match row.class {
                    0 => x.add::<COMPLEX>(sum, factor, start + to),
                    _ => {
                        if let Some((to, own)) = strings.stands_for(row, to) {
                            x.add::<COMPLEX>(sum, factor * own, start + to);
                        }
                    }
                }
            }
        }
        for hop in strings.hops_of(task.row) {
            let (there, images) = (&strings.rows[hop.row as usize], strings.images_by(hop.element));
            let start = there.start as usize;
            let add = |sum: &mut Complex64, image: u32| {
                let (to, factor) = ((image & !SIGN) as usize, if image & SIGN == 0 { hop.factor } else { -hop.factor });
                match there.class {
                    0 => x.add::<COMPLEX>(sum, factor, start + to),
                    _ => {
                        if let Some((to, own)) = strings.stands_for(there, to) {
                            x.add::<COMPLEX>(sum, factor * own, start + to);
                        }
                    }
                }
            };
            match row.class {
                0 => sums.iter_mut().zip(&images[task.first..]).for_each(|(sum, image)| add(sum, *image)),
                _ => {
                    (task.first..).zip(&mut sums).for_each(|(place, sum)| add(sum, images[strings.string(row, place)]))
                }
            }
        }
        let mut dot = 0.0;
        for (k, sum) in sums.into_iter().enumerate() {
            let (place, string) = (task.first + k, strings.string(row, task.first + k));
            let scale = if row.class == 0 { 1.0 } else { 1.0 / strings.root(row, string) };
            let diagonal = self.diagonal.of_state(row.word << strings.sites | strings.numbers.words[string]);
            let x_re = x.re[start + place].to_f64();
            let re = scale * sum.re + diagonal * x_re;
            task.re[k] = T::from_f64(re);
            dot += x_re * re;
            if COMPLEX {
                let x_im = x.im[start + place].to_f64();
                let im = scale * sum.im + diagonal * x_im;
                task.im[k] = T::from_f64(im);
                dot += x_im * im;
            }
        }
        dot
    }

    /// The diagonal element of an index.
    pub(in crate::exact) fn diagonal(&self, index: usize) -> f64 {
        self.diagonal.of_state(self.strings.word_of(index % self.strings.states as usize))
    }
}
