//! The matrix as a solver sees it: y = A x on a device, and a few numbers about A.

use crate::device::{Device, ElementFunction, Vector};
use crate::error::Result;
use crate::scalar::Scalar;
use eigenforge_templates::Cost;

/// How the vectors of a complex matrix, which stands as a real one, hold the parts of their numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PartOrder {
    /// All real parts, after them all imaginary parts.
    #[default]
    Halves,
    /// Number after number, each of so many parts: two of complex numbers, four of quaternions.
    Numbers(usize),
}

/// A real symmetric matrix that can be multiplied by a vector.
pub trait LinearOperator<T: Scalar>: Send + Sync {
    /// Number of rows and of columns.
    fn dimension(&self) -> usize;
    /// Where its vectors live.
    fn device(&self) -> &Device;
    /// y = A x; every element of y is written, whatever it held. Returns x·y, summed in f64 in a fixed order.
    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<f64>;
    /// y = A x without x·y: need not wait for the device.
    fn multiply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<()> {
        self.apply(x, y).map(drop)
    }
    /// y_j = A x_j for a block; returns all x_j·y_j. One by one unless the operator can share its reads.
    fn apply_block(&self, x: &[&Vector<T>], y: &mut [Vector<T>]) -> Result<Vec<f64>> {
        x.iter().zip(y).map(|(x, y)| self.apply(x, y)).collect()
    }
    /// The same without x_j·y_j: need not wait for the device.
    fn multiply_block(&self, x: &[&Vector<T>], y: &mut [Vector<T>]) -> Result<()> {
        self.apply_block(x, y).map(drop)
    }
    /// The diagonal as a function of the index, if the operator has it (for point Jacobi).
    fn diagonal(&self) -> Option<ElementFunction> {
        None
    }
    /// A first guess of the lowest state as a function of the index, of length close to 1, if the operator knows one.
    fn guess(&self) -> Result<Option<ElementFunction>> {
        Ok(None)
    }
    /// Whether a complex matrix, or one of quaternions, stands as a real one on the parts of numbers: then v i is an eigenvector beside v, or
    /// v j, which certification need not search for.
    fn is_complex(&self) -> bool {
        false
    }
    /// How vectors hold these parts.
    fn part_order(&self) -> PartOrder {
        PartOrder::Halves
    }
    /// An upper bound of the spectral norm of A, such as the largest row sum of |A|.
    fn norm_bound(&self) -> f64;
    /// An upper bound of the spectral norm of A without its diagonal: the part of a large diagonal that low states can see.
    fn moving_bound(&self) -> f64 {
        self.norm_bound()
    }
    /// The minimal work of one multiply.
    fn cost(&self) -> Cost;
}
