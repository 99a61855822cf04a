//! The baseline of `bench hubbard`: the same problem by cuSPARSE and cuBLAS, as the paper has it
//! (Yamada, Machida, Imamura 2020, section 2.2 and Figures 3 and 5), on the same card in the same run.
//!
//! In: the Kronecker form of H (sparse A_up, A_dn and the diagonal), a seed, a tolerance.
//! Out: copy bandwidth, time of the multiply and its parts, time of a LOBPCG iteration, energy, residual.
//! It is meant to be hard to beat: no transposes, the fastest SpMM algorithm of each product by measurement,
//! results of inner products fetched ten at once. Shares no code with the generated kernels.

mod belt;
mod blas;
mod combination;
mod device;
mod lobpcg;
mod multiply;
mod products;
mod sparse;
mod spmv;

pub use belt::belt;
pub use combination::{combination, matrix_vector};
pub use products::{VendorProducts, VendorStrategy, products};
pub use spmv::spmv;

use serde::Serialize;

use self::blas::Blas;
use self::device::{Buffer, Context};
use self::multiply::VendorMultiply;
use self::sparse::Sparse;
use super::kronecker::KroneckerProblem;
use super::{Fingerprint, median, seeded};

/// Why the baseline could not be timed.
#[derive(Debug, thiserror::Error)]
pub enum VendorError {
    /// One of the vendor's libraries is not on this machine.
    #[error(
        "{library} was not found by the dynamic loader; install the CUDA toolkit, or add the folder that holds it \
         to LD_LIBRARY_PATH (pip's wheels keep it in site-packages/nvidia/cu13/lib)"
    )]
    LibraryMissing {
        /// Which library.
        library: &'static str,
    },
    /// The device asked for is not there.
    #[error("device cuda:{ordinal} was asked for and {count} CUDA device(s) are present; ordinals start at 0")]
    NoSuchDevice {
        /// The device asked for.
        ordinal: usize,
        /// Devices present.
        count: usize,
    },
    /// A call of the CUDA driver failed.
    #[error("the CUDA driver's {call} failed")]
    Driver {
        /// Which call.
        call: &'static str,
        /// What it said.
        source: cudarc::driver::result::DriverError,
    },
    /// A call of cuBLAS failed.
    #[error("{call} failed")]
    CuBlas {
        /// Which call.
        call: &'static str,
        /// What it said.
        source: cudarc::cublas::result::CublasError,
    },
    /// A call of cuSPARSE failed.
    #[error("{call} failed with {status}")]
    CuSparse {
        /// Which call.
        call: &'static str,
        /// What it said.
        status: String,
    },
    /// The vectors do not fit.
    #[error(
        "the cuSPARSE and cuBLAS baseline needs {:.1} GB (six vectors, the diagonal, workspace), {:.1} of {:.1} GB \
         are free; take a smaller case or leave the baseline out with --no-vendor",
        *.needed as f64 / 1e9, *.free as f64 / 1e9, *.total as f64 / 1e9
    )]
    TooLarge {
        /// Bytes needed.
        needed: usize,
        /// Bytes free.
        free: usize,
        /// Bytes of the card.
        total: usize,
    },
    /// A record that it has no routine for.
    #[error("cuBLAS has no routine for {what}; leave this list of records to ours")]
    Unsupported {
        /// What it is.
        what: &'static str,
    },
    /// Longer than cuBLAS's 32-bit interface allows.
    #[error(
        "a vector of {length} values is longer than the 2^31 - 1 of cuBLAS's common interface; take a smaller case"
    )]
    TooLong {
        /// Values of one vector.
        length: usize,
    },
}

/// One of the three products of the multiply.
#[derive(Clone, Debug, Serialize)]
pub struct Part {
    /// `D * V`, `A_up V` or `V A_dn^T`.
    pub name: String,
    /// The algorithm in use.
    pub choice: String,
    /// Its time.
    pub milliseconds: f64,
    /// Everything tried, with its time.
    pub tried: Vec<(String, f64)>,
}

/// How long to run, and from where.
#[derive(Clone, Debug)]
pub struct VendorOptions {
    /// Seed of the start vector.
    pub seed: u64,
    /// Bound of ‖X − λ x‖.
    pub tolerance: f64,
    /// Bound of the iterations.
    pub max_iterations: usize,
    /// Timed multiplies.
    pub repeats: usize,
    /// Whether to run LOBPCG as well.
    pub solve: bool,
}

/// What the baseline came to.
#[derive(Clone, Debug, Serialize)]
pub struct VendorReport {
    /// Version of cuSPARSE as it tells it.
    pub cusparse: i32,
    /// Version of cuBLAS as it tells it.
    pub cublas: i32,
    /// Bytes read and written per second by a device-to-device copy of one vector, in GB (1e9).
    pub copy_gb_per_second: f64,
    /// Median time of y = H x.
    pub multiply_milliseconds: f64,
    /// The parts of the multiply.
    pub parts: Vec<Part>,
    /// x·x, x·Hx and the rest for the seeded vectors, to hold against ours.
    pub check: Fingerprint,
    /// The LOBPCG run, if asked for.
    pub lobpcg: Option<VendorLobpcg>,
}

/// The LOBPCG of Figures 3 and 5 with cuSPARSE and cuBLAS.
#[derive(Clone, Debug, Serialize)]
pub struct VendorLobpcg {
    /// Mean wall time of one iteration.
    pub iteration_milliseconds: f64,
    /// Wall time of all iterations.
    pub seconds: f64,
    /// Iterations done.
    pub iterations: usize,
    /// Whether the tolerance was met.
    pub converged: bool,
    /// The ground state's energy.
    pub energy: f64,
    /// ‖A x − E x‖ with A x computed again.
    pub residual: f64,
}

/// Times the baseline on device `ordinal`.
pub fn run(problem: &KroneckerProblem, ordinal: usize, options: &VendorOptions) -> Result<VendorReport, VendorError> {
    let context = Context::open(ordinal)?;
    let vectors = if options.solve { 6 } else { 2 };
    context.must_hold(problem.bytes(vectors) + (256 << 20))?;
    let (blas, sparse) = (Blas::new()?, Sparse::new()?);

    let n = problem.dimension();
    let host = seeded::vector(n, seeded::SEED_X);
    let mut x = Buffer::upload(&host)?;
    let mut y = Buffer::zeros(n)?;
    let copies = context.time(options.repeats, || y.copy_from(&x))?;
    let copy_gb_per_second = 16e-6 * n as f64 / median(&copies);

    let multiply = VendorMultiply::fastest(&context, &sparse, &blas, problem, &x, &mut y)?;
    let multiply_milliseconds = median(&context.time(options.repeats, || multiply.run(&x, &mut y))?);
    let mut result = vec![0.0; n];
    y.read(&mut result)?;
    let check = Fingerprint::new(&host, &result);
    drop((host, result));

    let lobpcg = if options.solve {
        x = Buffer::upload(&seeded::vector(n, options.seed))?;
        let run = lobpcg::run(&context, &blas, &multiply, x, y, options.tolerance, options.max_iterations)?;
        Some(VendorLobpcg {
            iteration_milliseconds: 1e3 * run.seconds / run.iterations.max(1) as f64,
            seconds: run.seconds,
            iterations: run.iterations,
            converged: run.converged,
            energy: run.energy,
            residual: run.residual,
        })
    } else {
        None
    };
    Ok(VendorReport {
        cusparse: sparse.version(),
        cublas: blas.version(),
        copy_gb_per_second,
        multiply_milliseconds,
        parts: multiply.parts.clone(),
        check,
        lobpcg,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kronecker::Hubbard;

    /// Without the libraries or a card it is an error that says what is missing, never a panic.
    #[test]
    fn a_machine_without_cuda_gets_an_error() {
        let problem = KroneckerProblem::new(Hubbard {
            hopping: vec![(0, 1, -1.0)],
            interaction: vec![4.0; 2],
            potential: vec![0.0; 2],
            up: 1,
            down: 1,
            ..Hubbard::default()
        });
        let options = VendorOptions { seed: 1, tolerance: 1e-10, max_iterations: 50, repeats: 2, solve: true };
        match run(&problem, 0, &options) {
            // with a card: the dimer's exact energy U/2 - sqrt(U²/4 + 4 t²)
            Ok(report) => {
                let lobpcg = report.lobpcg.expect("asked for");
                assert!((lobpcg.energy - (2.0 - 8f64.sqrt())).abs() < 1e-10, "{lobpcg:?}");
            }
            Err(error) => {
                assert!(error.to_string().contains("libcuda") || error.to_string().contains("CUDA"), "{error}")
            }
        }
    }
}
