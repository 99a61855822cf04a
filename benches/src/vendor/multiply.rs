//! y = H x by the vendor's libraries: y = d ∘ x, then y += A_up V and Yᵀ += A_dn Vᵀ (paper, section 2.2,
//! without the transposes that its older cuSPARSE needed).
//!
//! In: the Kronecker form of H. Out: the multiply, and the time of each of its three parts.

use eigenforge_runtime::jit::{Arch, Jit};
use eigenforge_templates::KernelText;

use super::blas::Blas;
use super::device::{Buffer, Context, ElementwiseProduct, PRODUCT_ENTRY};
use super::sparse::{Layout, Sparse, SparseTimesDense, quickest};
use super::{Part, VendorError};
use crate::kronecker::KroneckerProblem;
use eigenforge_runtime::timing::median;

/// The way d ∘ x is taken.
enum DiagonalBy {
    Dgmm,
    Kernel(ElementwiseProduct),
}

/// H on the device as the libraries want it.
pub struct VendorMultiply<'a> {
    blas: &'a Blas,
    diagonal: Buffer<f64>,
    diagonal_by: DiagonalBy,
    up: SparseTimesDense<'a>,
    down: SparseTimesDense<'a>,
    /// d ∘ x, A_up V, V A_dnᵀ with the fastest way of each and what else was tried.
    pub parts: Vec<Part>,
}

impl<'a> VendorMultiply<'a> {
    /// Uploads H and picks the fastest way of each product on `x` and `y`; y is overwritten.
    pub fn fastest(
        context: &Context,
        sparse: &'a Sparse,
        blas: &'a Blas,
        problem: &KroneckerProblem,
        x: &Buffer<f64>,
        y: &mut Buffer<f64>,
    ) -> Result<VendorMultiply<'a>, VendorError> {
        let diagonal = Buffer::upload(&problem.diagonal())?;
        let (diagonal_by, diagonal_part) = fastest_diagonal(context, blas, &diagonal, x, y)?;
        let up = SparseTimesDense::fastest(context, sparse, &problem.up, problem.n_down(), Layout::ByColumns, (x, y))?;
        let down = SparseTimesDense::fastest(context, sparse, &problem.down, problem.n_up(), Layout::ByRows, (x, y))?;
        let part = |name: &str, product: &SparseTimesDense| {
            let (choice, milliseconds) = product.choice();
            Part { name: name.to_string(), choice, milliseconds, tried: product.tried.clone() }
        };
        let parts = vec![diagonal_part, part("A_up V", &up), part("V A_dn^T", &down)];
        Ok(VendorMultiply { blas, diagonal, diagonal_by, up, down, parts })
    }

    /// Queues y = H x.
    pub fn run(&self, x: &Buffer<f64>, y: &mut Buffer<f64>) -> Result<(), VendorError> {
        match &self.diagonal_by {
            DiagonalBy::Dgmm => self.blas.diagonal(&self.diagonal, x, y)?,
            DiagonalBy::Kernel(kernel) => kernel.run(&self.diagonal, x, y)?,
        }
        self.up.run(x, y)?;
        self.down.run(x, y)
    }
}

/// Times `cublasDdgmm` and, where NVRTC is at hand, a plain kernel, and takes the faster.
fn fastest_diagonal(
    context: &Context,
    blas: &Blas,
    diagonal: &Buffer<f64>,
    x: &Buffer<f64>,
    y: &mut Buffer<f64>,
) -> Result<(DiagonalBy, Part), VendorError> {
    let mut tried = vec![("cublasDdgmm".to_string(), median(&context.time(5, || blas.diagonal(diagonal, x, y))?))];
    let compiled = Jit::new().and_then(|jit| jit.compile(&product_text(), Arch(context.architecture)));
    let mut by = DiagonalBy::Dgmm;
    if let Ok(cubin) = compiled {
        let kernel = ElementwiseProduct::load(context, &cubin)?;
        tried.push(("kernel".to_string(), median(&context.time(5, || kernel.run(diagonal, x, y))?)));
        if quickest(&tried) == Some(1) {
            by = DiagonalBy::Kernel(kernel);
        }
    }
    let best = &tried[matches!(by, DiagonalBy::Kernel(_)) as usize];
    let part = Part { name: "D * V".to_string(), choice: best.0.clone(), milliseconds: best.1, tried: tried.clone() };
    Ok((by, part))
}

/// The text of y_i = d_i x_i, two doubles a step as cuBLAS would.
fn product_text() -> KernelText {
    let text = format!(
        r#"// {PRODUCT_ENTRY}: y_i = d_i x_i for the cuSPARSE baseline of `bench hubbard`; n doubles, any n.
extern "C" __global__ void {PRODUCT_ENTRY}(long long n, const double* __restrict__ d,
                                           const double* __restrict__ x, double* __restrict__ y)
{{
    const long long step = (long long)gridDim.x * blockDim.x, first = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const double2* d2 = (const double2*)d;
    const double2* x2 = (const double2*)x;
    double2* y2 = (double2*)y;
    for (long long i = first; i < n / 2; i += step) {{
        const double2 a = d2[i], b = x2[i];
        double2 product;
        product.x = a.x * b.x;
        product.y = a.y * b.y;
        y2[i] = product;
    }}
    if (first == 0 && n % 2 == 1) y[n - 1] = d[n - 1] * x[n - 1];
}}
"#
    );
    KernelText {
        name: "baseline_elementwise_product".to_string(),
        text,
        plan: "(elementwise_product: f64)".to_string(),
        entries: vec![PRODUCT_ENTRY.to_string()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eigenforge_runtime::jit::{CacheFolder, Settings};

    /// The one kernel of the baseline compiles for every architecture that the generated ones are compiled for.
    #[test]
    fn the_elementwise_product_compiles() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut settings = Settings::from_env().expect("settings");
        settings.cache = CacheFolder::At(folder.path().into());
        let Some(jit) = Jit::for_tests(&settings) else { return };
        for arch in [80, 90, 100] {
            let cubin = jit.compile(&product_text(), Arch(arch)).expect("valid CUDA");
            assert!(!cubin.image.is_empty());
        }
    }
}
