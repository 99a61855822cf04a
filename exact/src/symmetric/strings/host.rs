//! The multiply by strings on all cores of the host, with the tables of the device.
//!
//! A task takes one row and consecutive strings D; hops of U come one after the other, each with all strings of the task, so that a
//! row of x is read at a time. Tasks have sizes of their own, so that the number of threads changes no bit.

use super::{SIGN, Strings};
use eigenforge_product::HostRows;
use eigenforge_runtime::Scalar;
use eigenforge_templates::exact::DiagonalPlan;
use num_complex::Complex64;
use rayon::prelude::*;
use std::sync::Arc;

/// Strings of a task.
const STRINGS: usize = 1 << 12;

/// H on the host.
#[derive(Clone)]
pub(super) struct HostStrings {
    pub(super) strings: Arc<Strings>,
    pub(super) diagonal: DiagonalPlan,
    /// Whether vectors hold real and imaginary parts.
    pub(super) complex: bool,
}

/// A part of a row, and where its results go: real parts, and imaginary ones of complex vectors.
struct Task<'a, T> {
    row: usize,
    first: usize,
    re: &'a mut [T],
    im: &'a mut [T],
    /// Which parts count in xᵀy.
    wanted: [bool; 2],
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

/// A piece of a row: its number, the first place in it, and the elements of y.
type Piece<'a, T> = (usize, usize, &'a mut [T]);

impl HostStrings {
    /// The states from `first` on by rows, in pieces of one task.
    fn pieces<'a, T>(&self, first: usize, mut y: &'a mut [T]) -> Vec<Piece<'a, T>> {
        let (strings, end) = (&*self.strings, first + y.len());
        let mut pieces = Vec::new();
        for (number, row) in strings.rows.iter().enumerate() {
            let start = row.start as usize;
            let (low, high) = (first.max(start), end.min(start + strings.length(row)));
            for at in (low..high.max(low)).step_by(STRINGS) {
                let (own, rest) = y.split_at_mut(STRINGS.min(high - at));
                y = rest;
                pieces.push((number, at - start, own));
            }
        }
        pieces
    }

    /// A task; returns the part of xᵀy of the parts that are wanted.
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
            if task.wanted[0] {
                dot += x_re * re;
            }
            if COMPLEX {
                let x_im = own.im[place].to_f64();
                let im = scale * sums.im[k] + diagonal * x_im;
                task.im[k] = T::from_f64(im);
                if task.wanted[1] {
                    dot += x_im * im;
                }
            }
        }
        dot
    }
}

impl HostRows for HostStrings {
    fn dimension(&self) -> usize {
        let states = self.strings.states as usize;
        if self.complex { 2 * states } else { states }
    }

    /// Of a complex vector's parts one that is not asked for is computed and left.
    fn rows<T: Scalar>(&self, x: &[T], first: usize, y: &mut [T]) -> f64 {
        let states = self.strings.states as usize;
        let (re, im) = x.split_at(states);
        let (whole, parts) = (y.len() == x.len(), Parts { re, im });
        let (of_re, of_im) = y.split_at_mut(states.saturating_sub(first).min(y.len()));
        let re_pieces = self.pieces(first.min(states), of_re);
        let im_pieces = self.pieces(first.max(states) - states, of_im);
        let dots: Vec<f64> = if im.is_empty() {
            let task = |(row, first, re)| Task { row, first, re, im: &mut [], wanted: [true, false] };
            re_pieces.into_par_iter().map(|piece| self.run::<T, false>(parts, task(piece))).collect()
        } else if whole {
            let pieces = re_pieces.into_par_iter().zip(im_pieces);
            let task = |((row, first, re), (_, _, im)): (Piece<'_, T>, Piece<'_, T>)| {
                self.run::<T, true>(parts, Task { row, first, re, im, wanted: [true; 2] })
            };
            pieces.map(task).collect()
        } else {
            let one = |imaginary: bool| {
                move |(row, first, own): Piece<'_, T>| {
                    let mut other = vec![T::default(); own.len()];
                    let (re, im) = if imaginary { (&mut other[..], own) } else { (own, &mut other[..]) };
                    self.run::<T, true>(parts, Task { row, first, re, im, wanted: [!imaginary, imaginary] })
                }
            };
            let of_re = re_pieces.into_par_iter().map(one(false));
            of_re.chain(im_pieces.into_par_iter().map(one(true))).collect()
        };
        dots.iter().sum()
    }

    fn diagonal(&self, index: usize) -> f64 {
        self.diagonal.of_state(self.strings.word_of(index % self.strings.states as usize))
    }
}
