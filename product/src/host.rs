//! y = H x on the cores of the host: rows of y, of a whole x, by one code for all rows and for a share of them.

use eigenforge_runtime::ranks::equal;
use eigenforge_runtime::{Device, DeviceError, ElementFunction, LinearOperator, PerScalar, Scalar, Vector};
use eigenforge_templates::Cost;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

/// Rows of H on the host.
pub trait HostRows: Send + Sync + Sized + 'static {
    /// Rows of the matrix.
    fn dimension(&self) -> usize;

    /// The elements of y from `first` on, of a whole x; returns their part of xᵀy. The bits of an element do not depend on which others
    /// are asked for.
    fn rows<T: Scalar>(&self, x: &[T], first: usize, y: &mut [T]) -> f64;

    /// y_j = H x_j; returns all x_jᵀy_j, each with the bits of a multiply of its own.
    fn block<T: Scalar>(&self, x: &[&[T]], y: &mut [&mut [T]]) -> Vec<f64> {
        x.iter().zip(y).map(|(x, y)| self.rows(x, 0, y)).collect()
    }

    /// The diagonal element of an index.
    fn diagonal(&self, index: usize) -> f64;

    /// The diagonal elements from `first` on.
    fn diagonals(&self, first: usize, out: &mut [f64]) {
        out.iter_mut().enumerate().for_each(|(k, out)| *out = self.diagonal(first + k));
    }

    /// Where rows are cut into so many shares.
    fn cut(&self, shares: usize) -> Vec<usize> {
        equal(self.dimension(), shares)
    }

    /// The same for one of these shares alone, if that takes fewer tables.
    fn only(self, _share: Range<usize>) -> Self {
        self
    }
}

/// [`HostRows`] of one type of number.
pub trait HostProductOf<T: Scalar>: Send + Sync {
    /// As [`HostRows::rows`].
    fn rows(&self, x: &[T], first: usize, y: &mut [T]) -> f64;
    /// As [`HostRows::block`].
    fn block(&self, x: &[&[T]], y: &mut [&mut [T]]) -> Vec<f64>;
}

/// [`HostRows`] of any way to multiply.
pub trait HostProduct: HostProductOf<f64> + HostProductOf<f32> {
    /// As [`HostRows::diagonal`].
    fn diagonal(&self, index: usize) -> f64;
    /// As [`HostRows::diagonals`].
    fn diagonals(&self, first: usize, out: &mut [f64]);
    /// As [`HostRows::cut`].
    fn cut(&self, shares: usize) -> Vec<usize>;
    /// As [`HostRows::only`].
    fn only(self: Box<Self>, share: Range<usize>) -> Box<dyn HostProduct>;
}

impl<R: HostRows, T: Scalar> HostProductOf<T> for R {
    fn rows(&self, x: &[T], first: usize, y: &mut [T]) -> f64 {
        HostRows::rows(self, x, first, y)
    }
    fn block(&self, x: &[&[T]], y: &mut [&mut [T]]) -> Vec<f64> {
        HostRows::block(self, x, y)
    }
}

impl<R: HostRows> HostProduct for R {
    fn diagonal(&self, index: usize) -> f64 {
        HostRows::diagonal(self, index)
    }
    fn diagonals(&self, first: usize, out: &mut [f64]) {
        HostRows::diagonals(self, first, out);
    }
    fn cut(&self, shares: usize) -> Vec<usize> {
        HostRows::cut(self, shares)
    }
    fn only(self: Box<Self>, share: Range<usize>) -> Box<dyn HostProduct> {
        Box::new(HostRows::only(*self, share))
    }
}

struct ProductOfType<'a>(PhantomData<&'a ()>);

impl<'a> PerScalar for ProductOfType<'a> {
    type Of<T: Scalar> = &'a dyn HostProductOf<T>;
}

impl dyn HostProduct {
    /// The multiply of vectors of one type.
    pub fn typed<T: Scalar>(&self) -> &dyn HostProductOf<T> {
        T::choose::<ProductOfType<'_>>(self, self)
    }
}

/// H on the cores of the host.
pub(super) struct HostEngine {
    device: Device,
    host: Arc<dyn HostProduct>,
    dimension: usize,
    norm_bound: f64,
    cost: Cost,
}

impl HostEngine {
    pub(super) fn new(
        device: &Device,
        host: Box<dyn HostProduct>,
        (dimension, norm_bound, cost): (usize, f64, Cost),
    ) -> HostEngine {
        HostEngine { device: device.clone(), host: host.into(), dimension, norm_bound, cost }
    }
}

impl<T: Scalar> LinearOperator<T> for HostEngine {
    fn dimension(&self) -> usize {
        self.dimension
    }

    fn device(&self) -> &Device {
        &self.device
    }

    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<f64, DeviceError> {
        let (x, y) = Vector::both_on_host("multiply by H", x, y)?;
        Ok(self.host.typed().rows(x, 0, y))
    }

    fn apply_block(&self, x: &[&Vector<T>], y: &mut [Vector<T>]) -> Result<Vec<f64>, DeviceError> {
        let both = x.iter().zip(y).map(|(x, y)| Vector::both_on_host("multiply by H", x, y));
        let (x, mut y): (Vec<&[T]>, Vec<&mut [T]>) = both.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
        Ok(self.host.typed().block(&x, &mut y))
    }

    fn diagonal(&self) -> Option<ElementFunction> {
        let host = self.host.clone();
        Some(ElementFunction::host_diagonal(move |first, out| host.diagonals(first, out)))
    }

    fn norm_bound(&self) -> f64 {
        self.norm_bound
    }

    fn cost(&self) -> Cost {
        self.cost
    }
}
