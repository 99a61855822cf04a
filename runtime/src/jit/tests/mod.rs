//! Tests of the run-time compiler. Those that need NVRTC are skipped with a printed line where there is none; none needs a
//! GPU but the last of `compile`, which runs when `EIGENFORGE_TEST_DEVICE=cuda`.

mod cache;
mod compile;
mod diagnostics;
mod elf;
mod options;
mod overrides;
#[cfg(target_os = "linux")]
mod torture;

use super::{CacheFolder, Jit, Settings};
use eigenforge_templates::KernelText;
use std::path::Path;

/// The environment's settings with a cache of the test's own.
fn settings(cache: &Path) -> Settings {
    let environment = Settings::from_env().expect("the environment's settings are sound");
    Settings {
        cache: CacheFolder::At(cache.to_path_buf()),
        cache_readonly: vec![],
        cache_limit: super::DEFAULT_CACHE_LIMIT,
        retry_failed: false,
        fmad: true,
        ..environment
    }
}

/// A compiler with a cache of the test's own, unless this machine has none.
fn jit(cache: &Path) -> Option<Jit> {
    Jit::for_tests(&settings(cache))
}

/// y = a x + y, the block sums of y, and something that spills nothing.
fn axpy() -> KernelText {
    let body = r#"
extern "C" __global__ void __launch_bounds__(256)
axpy(double* __restrict__ y, const double* __restrict__ x, double a, long long n)
{
    for (long long i = 256ll * blockIdx.x + threadIdx.x; i < n; i += 256ll * gridDim.x) y[i] = fma(a, x[i], y[i]);
}

extern "C" __global__ void __launch_bounds__(256)
block_sums(double* __restrict__ sums, const double* __restrict__ y, long long n)
{
    __shared__ double scratch[8];
    const long long i = 256ll * blockIdx.x + threadIdx.x;
    double value = i < n ? y[i] : 0.0;
    for (int offset = 16; offset > 0; offset >>= 1) value += __shfl_xor_sync(0xffffffffu, value, offset);
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int warp = 1; warp < 8; ++warp) value += scratch[warp];
        sums[blockIdx.x] = value;
    }
}
"#;
    KernelText {
        name: "axpy".into(),
        text: body.into(),
        plan: "(threads: 256)".into(),
        entries: vec!["axpy".into(), "block_sums".into()],
    }
}

/// A text of that name and body, without promised kernels.
fn text(name: &str, body: &str) -> KernelText {
    KernelText { name: name.into(), text: body.into(), plan: "()".into(), entries: vec![] }
}
