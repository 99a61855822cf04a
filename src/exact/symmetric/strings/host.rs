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

/// Sums of a task; imaginary parts of complex vectors only.
struct Sums {
    re: Vec<f64>,
    im: Vec<f64>,
}

/// x · y.
fn dot<T: Scalar>((x, y): (&[T], &[T])) -> f64 {
    x.iter().zip(y).map(|(x, y)| x.to_f64() * y.to_f64()).sum()
}

/// A factor with the sign of an image.
#[inline]
fn signed(factor: f64, image: u32) -> f64 {
    f64::from_bits(factor.to_bits() ^ u64::from(image & SIGN) << 32)
}

impl Sums {
    /// Adds factor · an element to sum k.
    #[inline]
    fn add<T: Scalar, const COMPLEX: bool>(&mut self, k: usize, factor: Complex64, x: Parts<'_, T>, at: usize) {
        if COMPLEX {
            let (re, im) = (x.re[at].to_f64(), x.im[at].to_f64());
            self.re[k] += factor.re * re - factor.im * im;
            self.im[k] += factor.re * im + factor.im * re;
        } else {
            self.re[k] += factor.re * x.re[at].to_f64();
        }
    }

    /// Adds a hop of U between rows with all strings: of each string of the task its image.
    fn add_hop<T: Scalar, const COMPLEX: bool>(&mut self, factor: Complex64, images: &[u32], x: Parts<'_, T>) {
        let at = |image: u32| (image & !SIGN) as usize;
        if COMPLEX {
            for ((re, im), image) in self.re.iter_mut().zip(&mut self.im).zip(images) {
                let factor = [signed(factor.re, *image), signed(factor.im, *image)];
                let own = [x.re[at(*image)].to_f64(), x.im[at(*image)].to_f64()];
                *re += factor[0] * own[0] - factor[1] * own[1];
                *im += factor[0] * own[1] + factor[1] * own[0];
            }
        } else {
            for (re, image) in self.re.iter_mut().zip(images) {
                *re += signed(factor.re, *image) * x.re[at(*image)].to_f64();
            }
        }
    }
}

impl<'a, T> Parts<'a, T> {
    /// The elements from `first` on.
    fn from(self, first: usize) -> Parts<'a, T> {
        Parts { re: &self.re[first..], im: self.im.get(first..).unwrap_or_default() }
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

    /// The elements of y from `first` on, of a whole x; returns their part of xᵀy. Of a complex vector's parts the one that is not
    /// asked for is computed and left.
    pub(in crate::exact) fn apply_part<T: Scalar>(&self, x: &[T], first: usize, y: &mut [T]) -> f64 {
        let states = self.strings.states as usize;
        let own = &x[first..first + y.len()];
        let (re, im) = x.split_at(states);
        let parts = Parts { re, im };
        let (of_re, of_im) = y.split_at_mut(states.saturating_sub(first).min(y.len()));
        self.part(parts, first, of_re, false);
        self.part(parts, first.max(states) - states, of_im, true);
        own.par_chunks(STRINGS).zip(y.par_chunks(STRINGS)).map(dot).collect::<Vec<f64>>().iter().sum()
    }

    /// Some states' real parts, or their imaginary ones.
    fn part<T: Scalar>(&self, x: Parts<'_, T>, first: usize, mut y: &mut [T], imaginary: bool) {
        let strings = &*self.strings;
        let (end, complex) = (first + y.len(), !x.im.is_empty());
        let mut tasks = Vec::new();
        for (number, row) in strings.rows.iter().enumerate() {
            let start = row.start as usize;
            let (low, high) = (first.max(start), end.min(start + strings.length(row)));
            for at in (low..high.max(low)).step_by(STRINGS) {
                let (own, rest) = y.split_at_mut(STRINGS.min(high - at));
                y = rest;
                tasks.push((number, at - start, own));
            }
        }
        let task = |(row, first, own): (usize, usize, &mut [T])| {
            let mut other = vec![T::default(); if complex { own.len() } else { 0 }];
            let (re, im) = if imaginary { (&mut other[..], own) } else { (own, &mut other[..]) };
            let task = Task { row, first, re, im };
            if complex {
                self.run::<T, true>(x, task)
            } else {
                self.run::<T, false>(x, task)
            };
        };
        tasks.into_par_iter().for_each(task);
    }

    /// A task; returns its part of xᵀy.
    fn run<T: Scalar, const COMPLEX: bool>(&self, x: Parts<'_, T>, task: Task<'_, T>) -> f64 {
        let strings = &*self.strings;
        let (row, bits, count) = (&strings.rows[task.row], strings.index_bits, task.re.len());
        let (start, inner, mask) = (row.start as usize, &strings.inner, (1u32 << bits) - 1);
        let mut sums = Sums { re: vec![0.0; count], im: vec![0.0; task.im.len()] };
        let own = x.from(start);
        for k in 0..count {
            for word in inner.row(strings.string(row, task.first + k)) {
                let (to, factor) = ((word & mask) as usize, inner.factors[(word >> bits) as usize]);
                if row.class == 0 {
                    sums.add::<T, COMPLEX>(k, factor, own, to);
                } else if let Some((to, of_orbit)) = strings.stands_for(row, to) {
                    sums.add::<T, COMPLEX>(k, factor * of_orbit, own, to);
                }
            }
        }
        for hop in strings.hops_of(task.row) {
            let (there, images) = (&strings.rows[hop.row as usize], strings.images_by(hop.element));
            let source = x.from(there.start as usize);
            if row.class == 0 && there.class == 0 {
                sums.add_hop::<T, COMPLEX>(hop.factor, &images[task.first..], source);
                continue;
            }
            for k in 0..count {
                let image = images[strings.string(row, task.first + k)];
                if let Some((to, of_orbit)) = strings.stands_for(there, (image & !SIGN) as usize) {
                    let sign = signed(1.0, image);
                    sums.add::<T, COMPLEX>(k, hop.factor * of_orbit * sign, source, to);
                }
            }
        }
        let mut dot = 0.0;
        for k in 0..count {
            let (place, string) = (task.first + k, strings.string(row, task.first + k));
            let scale = if row.class == 0 { 1.0 } else { 1.0 / strings.root(row, string) };
            let diagonal = self.diagonal.of_state(row.word << strings.sites | strings.numbers.words[string]);
            let x_re = own.re[place].to_f64();
            let re = scale * sums.re[k] + diagonal * x_re;
            task.re[k] = T::from_f64(re);
            dot += x_re * re;
            if COMPLEX {
                let x_im = own.im[place].to_f64();
                let im = scale * sums.im[k] + diagonal * x_im;
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
