//! y = A x on a device: the sparse operator used by solvers.
//!
//! On the CPU the compressed rows are divided by non-zeros and multiplied directly; on devices that run kernels, the
//! matrix is stored in its layout and multiplied by the text generated for it. Both multiply several vectors in one pass
//! over the matrix. Sums are in f64 and in a fixed order. Half of a symmetric matrix is the exception:
//! [`super::symmetric`] multiplies one vector at a time, with integer sums.

use super::Csr;
use super::choose::{FormatName, FormatRanking, FormatRequest};
use super::halo::Halo;
use super::host::CoreRows;
use super::hybrid::{LayoutError, Stored};
use super::kernels::Kernels;
use super::layout::{Layout, Target};
use super::statistics::RowStatistics;
use super::symmetric::Half;
use eigenforge_core::path::FamilyError;
use eigenforge_runtime::{Device, DeviceError, ElementFunction, LinearOperator, Scalar, Vector, trace};
use eigenforge_templates::sparse::SparsePlan;
use eigenforge_templates::{Cost, TextError};
use rayon::prelude::*;
use std::sync::Arc;

/// Most vectors in one pass over the matrix.
pub(super) const MOST_VECTORS: usize = 8;

/// Why a matrix could not be put on a device.
#[derive(Debug, thiserror::Error)]
pub enum SparseError {
    /// The layout does not fit the matrix.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The text could not be made.
    #[error(transparent)]
    Text(#[from] TextError),
    /// A device error.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// A sparse matrix on one device. A vector has the real parts of its numbers side by side.
pub struct SparseOperator {
    device: Device,
    /// Elements of a vector.
    length: usize,
    norm_bound: f64,
    cost: Cost,
    diagonal: Arc<Vec<f64>>,
    engine: Engine,
}

enum Engine {
    Cpu(CoreRows),
    Kernels(Box<Kernels>),
    Half(Box<Half>),
}

impl SparseOperator {
    /// The matrix in the layout that the model ranks first for this device and request.
    ///
    /// # Errors
    /// Device errors: too little memory, kernels that do not compile.
    pub fn new(
        name: &str,
        matrix: Arc<Csr>,
        wish: FormatRequest,
        device: &Device,
    ) -> Result<SparseOperator, SparseError> {
        if !device.runs_kernels() && wish.format != Some(FormatName::Symmetric) {
            return Ok(SparseOperator::on_cpu(matrix, device));
        }
        let statistics = RowStatistics::new(&matrix);
        let choice = FormatRanking::new(&matrix, &statistics, Target::new(device), wish);
        SparseOperator::with_layout(name, matrix, &choice.best().layout, wish, device)
    }

    /// The matrix in a given layout. The CPU uses it only for a symmetric half; otherwise it multiplies the compressed
    /// rows.
    ///
    /// # Errors
    /// The layout does not fit the matrix; device errors.
    pub fn with_layout(
        name: &str,
        matrix: Arc<Csr>,
        layout: &Layout,
        wish: FormatRequest,
        device: &Device,
    ) -> Result<SparseOperator, SparseError> {
        if !device.runs_kernels() {
            device.check_overrides()?;
            if !layout.is_half() {
                return Ok(SparseOperator::on_cpu(matrix, device));
            }
        }
        let stored = {
            let _storing = trace::span("set up", "matrix to its format");
            // A vector that is too short to be spread stays on the first card, and so does the multiply.
            let cards = device.cards_for((matrix.vector_length() * wish.scalar.bytes()) as u64)?;
            Stored::on_cards(name, &matrix, layout, wish.scalar, wish.values, cards)?
        };
        SparseOperator::with_stored(&matrix, stored, device)
    }

    /// A matrix that is already stored, on a device that runs kernels; half of a symmetric one on any device.
    ///
    /// # Errors
    /// Device errors.
    pub fn with_stored(matrix: &Csr, stored: Stored, device: &Device) -> Result<SparseOperator, SparseError> {
        device.check_work(&format!("one multiply of {}", stored.plan.name), stored.plan.cost().flops)?;
        let (length, diagonal) = (matrix.vector_length(), diagonal(matrix));
        let (cost, norm_bound) = (stored.plan.cost(), matrix.largest_row_sum(0..matrix.rows()));
        let engine = if stored.plan.is_half() {
            Engine::Half(Box::new(Half::new(stored, &diagonal, norm_bound, device)?))
        } else {
            Engine::Kernels(Box::new(Kernels::new(stored, &diagonal, device)?))
        };
        Ok(SparseOperator { device: device.clone(), length, norm_bound, cost, diagonal: Arc::new(diagonal), engine })
    }

    /// On the cores, coded where values are few.
    fn on_cpu(matrix: Arc<Csr>, device: &Device) -> SparseOperator {
        let (rows, norm_bound) = (matrix.rows(), matrix.largest_row_sum(0..matrix.rows()));
        let length = matrix.vector_length();
        let diagonal = Arc::new(diagonal(&matrix));
        let own = CoreRows::new(matrix, 0..rows, true);
        SparseOperator {
            device: device.clone(),
            length,
            norm_bound,
            cost: own.cost(),
            diagonal,
            engine: Engine::Cpu(own),
        }
    }

    /// y_j = A x_j without x_j·y_j: need not wait for the device.
    ///
    /// # Errors
    /// Vectors of another length or device.
    pub fn multiply_block<T: Scalar>(&self, x: &[&Vector<T>], y: &mut [Vector<T>]) -> Result<(), DeviceError> {
        self.run(x, y, false).map(drop)
    }

    /// How the cards of the device get x, where each collects what its rows use.
    pub fn halo(&self) -> Option<&Halo> {
        match &self.engine {
            Engine::Kernels(kernels) => kernels.halo.as_deref(),
            Engine::Cpu(_) | Engine::Half(_) => None,
        }
    }

    /// The plan, on devices that run kernels; for a symmetric half on any device.
    pub fn plan(&self) -> Option<&SparsePlan> {
        match &self.engine {
            Engine::Half(half) => Some(&half.plan),
            Engine::Cpu(_) => None,
            Engine::Kernels(kernels) => Some(&kernels.plan),
        }
    }

    /// y_j = A x_j, and all x_j·y_j if `summed` (on the CPU in any case).
    fn run<T: Scalar>(&self, x: &[&Vector<T>], y: &mut [Vector<T>], summed: bool) -> Result<Vec<f64>, DeviceError> {
        let wrong = |expected: String, found: String| {
            Err(DeviceError::Arguments { what: "multiply by a sparse matrix".into(), expected, found })
        };
        if x.len() != y.len() {
            return wrong("as many results as vectors".into(), format!("{} and {}", y.len(), x.len()));
        }
        let lengths = x.iter().map(|x| x.len()).chain(y.iter().map(|y| y.len()));
        if let Some(length) = lengths.into_iter().find(|length| *length != self.length) {
            return wrong(format!("vectors of {} elements", self.length), length.to_string());
        }
        if self.length == 0 {
            return Ok(vec![0.0; x.len()]);
        }
        let mut dots = Vec::with_capacity(x.len());
        match &self.engine {
            Engine::Kernels(kernels) => {
                let most = kernels.most_vectors();
                for (x, y) in x.chunks(most).zip(y.chunks_mut(most)) {
                    dots.extend(kernels.apply(x, y, summed)?);
                }
            }
            Engine::Half(half) => {
                for (x, y) in x.iter().zip(y) {
                    dots.push(half.apply(x, y, summed)?);
                }
            }
            Engine::Cpu(rows) => {
                let both = x.iter().zip(y).map(|(x, y)| Vector::both_on_host("multiply by a sparse matrix", x, y));
                let (x, mut y): (Vec<_>, Vec<_>) = both.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
                dots = rows.multiply(&x, 0, &mut y);
            }
        }
        Ok(dots)
    }
}

/// A(i, i) for all i, once for each part of a number; its real part, which is all of it in a Hermitian matrix.
fn diagonal(matrix: &Csr) -> Vec<f64> {
    let element = |row: usize| std::iter::repeat_n(matrix.element(row, row as u32), matrix.parts());
    (0..matrix.rows()).into_par_iter().flat_map_iter(element).collect()
}

impl<T: Scalar> LinearOperator<T> for SparseOperator {
    fn dimension(&self) -> usize {
        self.length
    }

    fn device(&self) -> &Device {
        &self.device
    }

    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<f64, DeviceError> {
        Ok(self.run(&[x], std::slice::from_mut(y), true)?[0])
    }

    fn multiply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<(), DeviceError> {
        self.run(&[x], std::slice::from_mut(y), false).map(drop)
    }

    fn apply_block(&self, x: &[&Vector<T>], y: &mut [Vector<T>]) -> Result<Vec<f64>, DeviceError> {
        self.run(x, y, true)
    }

    fn multiply_block(&self, x: &[&Vector<T>], y: &mut [Vector<T>]) -> Result<(), DeviceError> {
        self.run(x, y, false).map(drop)
    }

    fn diagonal(&self) -> Option<ElementFunction> {
        let on_device = match &self.engine {
            Engine::Kernels(kernels) => Some(&kernels.diagonal),
            Engine::Half(half) => half.diagonal.as_ref(),
            Engine::Cpu(_) => None,
        };
        let host = self.diagonal.clone();
        let fill = move |start: usize, out: &mut [f64]| out.copy_from_slice(&host[start..start + out.len()]);
        Some(match on_device {
            None => ElementFunction::host_diagonal(fill),
            // The host has it too, so nothing is copied back.
            Some(diagonal) => {
                ElementFunction { host: Arc::new(fill), ..ElementFunction::stored_diagonal(diagonal.clone()) }
            }
        })
    }

    fn norm_bound(&self) -> f64 {
        self.norm_bound
    }

    fn cost(&self) -> Cost {
        self.cost
    }
}

impl FamilyError for SparseError {
    fn is_of_the_input(&self) -> bool {
        matches!(self, SparseError::Layout(LayoutError::Asymmetric(_) | LayoutError::HalfOfNumbers(_)))
    }

    fn device(&self) -> Option<&DeviceError> {
        if let SparseError::Device(error) = self { Some(error) } else { None }
    }
}
