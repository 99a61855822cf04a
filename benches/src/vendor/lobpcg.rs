//! LOBPCG for one state as the paper writes it (Yamada, Machida, Imamura 2020, Figures 3 and 5), every vector
//! operation one call of cuBLAS.
//!
//! In: the multiply, a start vector, a tolerance on ‖X − λ x‖. Out: energy, true residual, iterations, times.
//! An iteration: W = A w; ten `cublasDdot`; the 3 × 3 pencil on the host; then Figure 5's updates
//!     p ← γ p, p ← p + α w, x ← β x, x ← x + p (and P, X likewise), w ← X, w ← w − λ x, ‖p‖, ‖w‖
//! and p, P, w divided by those norms ("the norms of w and p become smaller"). W needs no division: w is
//! divided before the next multiply makes W from it.

use std::time::Instant;

use super::VendorError;
use super::blas::Blas;
use super::device::{Buffer, Context};
use super::multiply::VendorMultiply;
use crate::pencil;

/// The six vectors of the method, named as in the paper: lower case, and A times it in upper case.
struct Vectors {
    w: Buffer<f64>,
    aw: Buffer<f64>,
    x: Buffer<f64>,
    ax: Buffer<f64>,
    p: Buffer<f64>,
    ap: Buffer<f64>,
}

/// What the run came to.
#[derive(Clone, Debug)]
pub struct Run {
    /// Rayleigh quotient with A x computed again at the end.
    pub energy: f64,
    /// ‖A x − energy x‖ with A x computed again at the end, x normalised.
    pub residual: f64,
    /// Iterations done.
    pub iterations: usize,
    /// Whether the tolerance was met.
    pub converged: bool,
    /// Wall time of the iterations, start and final check aside.
    pub seconds: f64,
}

/// Runs from the start vector `x`, with `spare` of the same length as room for A x, until ‖X − λ x‖ ≤ tolerance.
pub fn run(
    context: &Context,
    blas: &Blas,
    multiply: &VendorMultiply,
    x: Buffer<f64>,
    spare: Buffer<f64>,
    tolerance: f64,
    max_iterations: usize,
) -> Result<Run, VendorError> {
    let n = x.len();
    let mut v = Vectors {
        ax: spare,
        w: Buffer::zeros(n)?,
        aw: Buffer::zeros(n)?,
        p: Buffer::zeros(n)?,
        ap: Buffer::zeros(n)?,
        x,
    };
    let mut results = Buffer::zeros(10)?;
    let mut residual = start(blas, multiply, &mut v, &mut results)?;
    context.synchronize()?;

    let started = Instant::now();
    let (mut iterations, mut have_p) = (0, false);
    while residual > tolerance && iterations < max_iterations {
        iterations += 1;
        multiply.run(&v.w, &mut v.aw)?;
        let (a, b) = inner_products(blas, &v, &mut results, have_p)?;
        // an indefinite pencil: p (then w) has become dependent; go on without p, its next one is w's part
        let solved = if have_p { pencil::smallest(&a, &b, 3) } else { None };
        let order_two = || pencil::smallest(&a, &b, 2);
        let Some((value, [alpha, beta, gamma])) = solved.or_else(order_two) else { break };
        let lambda = 0.5 * (value + a[1][1] / b[1][1]);
        residual = update(blas, &mut v, &mut results, [alpha, beta, gamma, lambda])?;
        have_p = true;
    }
    context.synchronize()?;
    let seconds = started.elapsed().as_secs_f64();

    multiply.run(&v.x, &mut v.ax)?;
    blas.dots(&[(&v.x, &v.x), (&v.x, &v.ax)], &mut results)?;
    let [xx, xax] = fetch(&results)?;
    let energy = xax / xx;
    blas.copy(&v.ax, &mut v.w)?;
    blas.add(-energy, &v.x, &mut v.w)?;
    blas.norms(&[&v.w], &mut results)?;
    let [norm] = fetch(&results)?;
    let true_residual = norm / xx.sqrt();
    Ok(Run { energy, residual: true_residual, iterations, converged: residual <= tolerance, seconds })
}

/// x ← x / ‖x‖, X = A x, w = (X − μ x) / ‖X − μ x‖ with μ = (x, X); returns ‖X − μ x‖.
fn start(
    blas: &Blas,
    multiply: &VendorMultiply,
    v: &mut Vectors,
    results: &mut Buffer<f64>,
) -> Result<f64, VendorError> {
    blas.norms(&[&v.x], results)?;
    let [norm] = fetch(results)?;
    blas.scale(1.0 / norm, &mut v.x)?;
    multiply.run(&v.x, &mut v.ax)?;
    blas.dots(&[(&v.x, &v.ax)], results)?;
    let [mu] = fetch(results)?;
    blas.copy(&v.ax, &mut v.w)?;
    blas.add(-mu, &v.x, &mut v.w)?;
    blas.norms(&[&v.w], results)?;
    let [residual] = fetch(results)?;
    if residual > 0.0 {
        blas.scale(1.0 / residual, &mut v.w)?;
    }
    Ok(residual)
}

/// S_A and S_B in the order (w, x, p) from ten inner products; (w, w) and (p, p) are 1 by normalisation.
fn inner_products(
    blas: &Blas,
    v: &Vectors,
    results: &mut Buffer<f64>,
    have_p: bool,
) -> Result<(pencil::Matrix3, pencil::Matrix3), VendorError> {
    blas.dots(
        &[
            (&v.w, &v.aw),
            (&v.w, &v.ax),
            (&v.w, &v.ap),
            (&v.x, &v.ax),
            (&v.x, &v.ap),
            (&v.p, &v.ap),
            (&v.w, &v.x),
            (&v.w, &v.p),
            (&v.x, &v.x),
            (&v.x, &v.p),
        ],
        results,
    )?;
    let [waw, wax, wap, xax, xap, pap, wx, wp, xx, xp] = fetch(results)?;
    let pp = if have_p { 1.0 } else { 0.0 };
    Ok(([[waw, wax, wap], [wax, xax, xap], [wap, xap, pap]], [[1.0, wx, wp], [wx, xx, xp], [wp, xp, pp]]))
}

/// Figure 5, then the divisions by the norms; returns ‖w‖, the residual of the new x.
fn update(
    blas: &Blas,
    v: &mut Vectors,
    results: &mut Buffer<f64>,
    [alpha, beta, gamma, lambda]: [f64; 4],
) -> Result<f64, VendorError> {
    blas.scale(gamma, &mut v.p)?;
    blas.scale(gamma, &mut v.ap)?;
    blas.add(alpha, &v.w, &mut v.p)?;
    blas.add(alpha, &v.aw, &mut v.ap)?;
    blas.scale(beta, &mut v.x)?;
    blas.scale(beta, &mut v.ax)?;
    blas.add(1.0, &v.p, &mut v.x)?;
    blas.add(1.0, &v.ap, &mut v.ax)?;
    blas.copy(&v.ax, &mut v.w)?;
    blas.add(-lambda, &v.x, &mut v.w)?;
    blas.norms(&[&v.p, &v.w], results)?;
    let [p_norm, w_norm] = fetch(results)?;
    if p_norm > 0.0 {
        blas.scale(1.0 / p_norm, &mut v.p)?;
        blas.scale(1.0 / p_norm, &mut v.ap)?;
    }
    if w_norm > 0.0 {
        blas.scale(1.0 / w_norm, &mut v.w)?;
    }
    Ok(w_norm)
}

/// The first N results, waiting for them.
fn fetch<const N: usize>(results: &Buffer<f64>) -> Result<[f64; N], VendorError> {
    let mut values = [0.0; N];
    results.read(&mut values)?;
    Ok(values)
}
