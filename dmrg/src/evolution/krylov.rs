//! Vectors of a Krylov space, on this machine's cores or where an engine has them.
//!
//! In: ψ of a bond or a site, a product with H. Out: inner products and sums of such vectors. Complex ones lie as pairs (re, im), and H commutes
//! with i.

use crate::engine::Engine;
use crate::error::DmrgError;
use eigenforge_runtime::backend::Operands;
use eigenforge_runtime::records::{Action, Operand, OperandSpace, Record, RecordStage, TwoStages};
use faer::c64;

/// Vectors, and a product with H.
pub(super) trait KrylovVectors {
    /// One of them.
    type Vector;

    /// H x.
    fn multiply(&mut self, x: &Self::Vector) -> Result<Self::Vector, DmrgError>;

    /// x · y, the real part of ⟨x|y⟩.
    fn dot(&self, x: &Self::Vector, y: &Self::Vector) -> Result<f64, DmrgError>;

    /// y + Σ_k c_k x_k.
    fn sum(&self, y: Self::Vector, terms: &[(c64, &Self::Vector)]) -> Result<Self::Vector, DmrgError>;

    /// factor · x.
    fn scaled(&self, x: Self::Vector, factor: f64) -> Result<Self::Vector, DmrgError>;

    /// Σ_k c_k x_k.
    fn combination(&self, terms: &[(c64, &Self::Vector)]) -> Result<Self::Vector, DmrgError>;

    /// x without its parts along orthonormal vectors to which it is nearly orthogonal.
    fn orthogonal_part(&self, x: Self::Vector, basis: &[Self::Vector]) -> Result<Self::Vector, DmrgError>;

    /// ‖x‖.
    fn length(&self, x: &Self::Vector) -> Result<f64, DmrgError> {
        Ok(self.dot(x, x)?.sqrt())
    }
}

/// Vectors as slices, and a product with H.
pub(super) struct HostVectors<F> {
    pub(super) multiply: F,
    pub(super) is_complex: bool,
}

/// Numbers that are summed beside each other, in vectors of the processor.
const LANES: usize = 8;

/// x · y; of complex vectors ⟨x|y⟩.
pub(super) fn overlap(x: &[f64], y: &[f64], is_complex: bool) -> c64 {
    let (mut re, mut im) = ([0.0; LANES], [0.0; LANES]);
    let (chunks, rest) = (x.chunks_exact(LANES), x.chunks_exact(LANES).remainder());
    let of_y = y.chunks_exact(LANES);
    let last = of_y.remainder();
    for (a, b) in chunks.zip(of_y) {
        for lane in 0..LANES {
            re[lane] += a[lane] * b[lane];
        }
        if is_complex {
            for lane in 0..LANES {
                im[lane] += a[lane] * b[lane ^ 1];
            }
        }
    }
    let mut sum = c64::new(re.iter().sum(), 0.0);
    sum.re += rest.iter().zip(last).map(|(a, b)| a * b).sum::<f64>();
    if is_complex {
        sum.im = im.chunks_exact(2).map(|pair| pair[0] - pair[1]).sum();
        let pairs = rest.chunks_exact(2).zip(last.chunks_exact(2));
        sum.im += pairs.map(|(a, b)| a[0] * b[1] - a[1] * b[0]).sum::<f64>();
    }
    sum
}

/// y += factor · x.
pub(super) fn add(y: &mut [f64], factor: c64, x: &[f64], is_complex: bool) {
    if !is_complex || factor.im == 0.0 {
        return y.iter_mut().zip(x).for_each(|(y, x)| *y += factor.re * x);
    }
    // By lanes (re, im): y += re x + im (−Im x, Re x).
    let signs: [f64; LANES] = std::array::from_fn(|lane| if lane % 2 == 0 { -factor.im } else { factor.im });
    let mut chunks = y.chunks_exact_mut(LANES);
    let of_x = x.chunks_exact(LANES);
    let last = of_x.remainder();
    for (y, x) in chunks.by_ref().zip(of_x) {
        for lane in 0..LANES {
            y[lane] += factor.re * x[lane] + signs[lane] * x[lane ^ 1];
        }
    }
    for (y, x) in chunks.into_remainder().chunks_exact_mut(2).zip(last.chunks_exact(2)) {
        let (re, im) = (factor.re * x[0] - factor.im * x[1], factor.re * x[1] + factor.im * x[0]);
        (y[0], y[1]) = (y[0] + re, y[1] + im);
    }
}

pub(super) fn length(x: &[f64]) -> f64 {
    overlap(x, x, false).re.sqrt()
}

impl<F: FnMut(&[f64]) -> Vec<f64>> KrylovVectors for HostVectors<F> {
    type Vector = Vec<f64>;

    fn multiply(&mut self, x: &Vec<f64>) -> Result<Vec<f64>, DmrgError> {
        Ok((self.multiply)(x))
    }

    fn dot(&self, x: &Vec<f64>, y: &Vec<f64>) -> Result<f64, DmrgError> {
        Ok(overlap(x, y, false).re)
    }

    fn sum(&self, mut y: Vec<f64>, terms: &[(c64, &Vec<f64>)]) -> Result<Vec<f64>, DmrgError> {
        terms.iter().for_each(|(factor, x)| add(&mut y, *factor, x, self.is_complex));
        Ok(y)
    }

    fn scaled(&self, mut x: Vec<f64>, factor: f64) -> Result<Vec<f64>, DmrgError> {
        x.iter_mut().for_each(|x| *x *= factor);
        Ok(x)
    }

    fn combination(&self, terms: &[(c64, &Vec<f64>)]) -> Result<Vec<f64>, DmrgError> {
        self.sum(vec![0.0; terms.first().map_or(0, |(_, x)| x.len())], terms)
    }

    fn orthogonal_part(&self, mut x: Vec<f64>, basis: &[Vec<f64>]) -> Result<Vec<f64>, DmrgError> {
        for own in basis {
            let part = overlap(own, &x, self.is_complex);
            add(&mut x, -part, own, self.is_complex);
        }
        Ok(x)
    }
}

/// Vectors in the memory of an engine, and H as records.
pub(super) struct EngineVectors<'a, E: Engine> {
    pub(super) engine: &'a E,
    pub(super) product: &'a TwoStages,
    pub(super) operands: Operands<'a, E::Buffer>,
    pub(super) is_complex: bool,
    /// Elements of a vector.
    pub(super) length: usize,
}

/// Elements that one task sums; even.
const PART: usize = 1 << 12;
/// Spaces beside that of the vector to which others are added.
const OTHERS: [OperandSpace; 5] =
    [OperandSpace::Left, OperandSpace::LeftSum, OperandSpace::Right, OperandSpace::RightSum, OperandSpace::Between];

impl<E: Engine> EngineVectors<'_, E> {
    /// Σ_k c_k x_k of vectors in different spaces; c_k are real of real vectors.
    fn combined(&self, terms: &[(c64, &E::Buffer, OperandSpace)]) -> Result<E::Buffer, DmrgError> {
        let mut stage = RecordStage::default();
        for first in (0..self.length).step_by(PART) {
            let count = PART.min(self.length - first);
            // Pairs are columns of two rows.
            let stride = if self.is_complex { 2 } else { count };
            let mut records = Vec::new();
            for (factor, _, space) in terms {
                let from = |offset: usize, stride: usize| Action::Copy {
                    a: Operand { space: *space, offset: first + offset, stride, transposed: false },
                };
                let (action, coefficient) = (from(0, stride), factor.re);
                let whole = Record { action, coefficient, first: 0, stride, rows: stride, columns: count / stride };
                if coefficient != 0.0 {
                    records.push(whole);
                }
                if factor.im != 0.0 {
                    // i (x, y) = (−y, x), pair by pair.
                    let every_other = Record { rows: 1, ..whole };
                    records.push(Record { action: from(1, 2), coefficient: -factor.im, ..every_other });
                    records.push(Record { action: from(0, 2), coefficient: factor.im, first: 1, ..every_other });
                }
            }
            stage.push(count, records);
        }
        let operands = terms.iter().fold(Operands::default(), |operands, (_, x, space)| operands.set(*space, *x));
        Ok(self.engine.run(&stage, operands)?)
    }

    /// i x.
    fn turned(&self, x: &E::Buffer) -> Result<E::Buffer, DmrgError> {
        self.combined(&[(c64::new(0.0, 1.0), x, OperandSpace::Input)])
    }
}

impl<E: Engine> KrylovVectors for EngineVectors<'_, E> {
    type Vector = E::Buffer;

    fn multiply(&mut self, x: &E::Buffer) -> Result<E::Buffer, DmrgError> {
        let operands = self.operands.set(OperandSpace::Input, x);
        let between = self.engine.run(&self.product.first, operands)?;
        Ok(self.engine.run(&self.product.second, operands.set(OperandSpace::Between, &between))?)
    }

    fn dot(&self, x: &E::Buffer, y: &E::Buffer) -> Result<f64, DmrgError> {
        Ok(self.engine.dot(x, y)?)
    }

    fn sum(&self, mut y: E::Buffer, terms: &[(c64, &E::Buffer)]) -> Result<E::Buffer, DmrgError> {
        for terms in terms.chunks(OTHERS.len()) {
            let others = terms.iter().zip(OTHERS).map(|((factor, x), space)| (*factor, *x, space));
            let all: Vec<_> = std::iter::once((c64::new(1.0, 0.0), &y, OperandSpace::Input)).chain(others).collect();
            y = self.combined(&all)?;
        }
        Ok(y)
    }

    fn scaled(&self, x: E::Buffer, factor: f64) -> Result<E::Buffer, DmrgError> {
        self.combined(&[(c64::new(factor, 0.0), &x, OperandSpace::Input)])
    }

    fn orthogonal_part(&self, x: E::Buffer, basis: &[E::Buffer]) -> Result<E::Buffer, DmrgError> {
        let turned = if self.is_complex { Some(self.turned(&x)?) } else { None };
        let part = |own: &E::Buffer| -> Result<c64, DmrgError> {
            // ⟨own|x⟩ = own · x − i own · ix.
            let im = turned.as_ref().map_or(Ok(0.0), |turned| self.engine.dot(own, turned))?;
            Ok(c64::new(-self.engine.dot(own, &x)?, im))
        };
        let parts = basis.iter().map(|own| Ok((part(own)?, own))).collect::<Result<Vec<_>, DmrgError>>()?;
        self.sum(x, &parts)
    }

    fn combination(&self, terms: &[(c64, &E::Buffer)]) -> Result<E::Buffer, DmrgError> {
        let (first, rest) = terms.split_at(terms.len().min(OTHERS.len()));
        let first: Vec<_> = first.iter().zip(OTHERS).map(|((factor, x), space)| (*factor, *x, space)).collect();
        self.sum(self.combined(&first)?, rest)
    }
}
