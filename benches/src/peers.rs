//! What a sparse product is timed beside: cuSPARSE on a card, a plain loop over compressed rows elsewhere.
//!
//! In: a device and samples to take. Out: a function that `eigenforge::spmv::run` calls with its matrix and vector.

use crate::hubbard::chain;
use crate::vendor;
use eigenforge::sparse::{Csr, NumberKind, Quaternion};
use eigenforge::spmv::PeerProduct;
use eigenforge_runtime::Device;
use eigenforge_runtime::timing::median;
use rayon::prelude::*;
use std::time::Instant;

/// The peers of a device; `ordinal` is the card that cuSPARSE runs on.
pub fn device_peers(
    device: &Device,
    ordinal: usize,
    repeats: usize,
) -> impl Fn(&Csr, &[f64]) -> Vec<PeerProduct> + use<> {
    let on_card = device.is_cuda();
    move |matrix, x| if on_card { cusparse(matrix, x, ordinal, repeats) } else { vec![plain_loop(matrix, x, repeats)] }
}

fn cusparse(matrix: &Csr, x: &[f64], ordinal: usize, repeats: usize) -> Vec<PeerProduct> {
    vendor::spmv(matrix, x, ordinal, repeats).unwrap_or_else(|error| {
        vec![PeerProduct { name: "cuSPARSE".into(), outcome: Err(chain(&error)), y: Vec::new() }]
    })
}

/// A row of a product, as one would write it down.
fn plain_row(matrix: &Csr, row: usize, x: &[f64], y: &mut [f64]) {
    let (columns, values) = matrix.row(row);
    match matrix.kind() {
        NumberKind::Real => y[0] = columns.iter().zip(values).map(|(column, a)| a * x[*column as usize]).sum(),
        NumberKind::Complex => {
            let (values, x) = (values.as_chunks::<2>().0, x.as_chunks::<2>().0);
            let terms = columns.iter().zip(values).map(|(column, a)| (a, x[*column as usize]));
            let add =
                |[re, im]: [f64; 2], ([a, b], [c, d]): (&[f64; 2], [f64; 2])| [re + a * c - b * d, im + a * d + b * c];
            y.copy_from_slice(&terms.fold([0.0; 2], add));
        }
        NumberKind::Quaternion => {
            let (values, x) = (values.as_chunks::<4>().0, x.as_chunks::<4>().0);
            let terms = columns.iter().zip(values).map(|(column, a)| (a, x[*column as usize]));
            let add = |sum: Quaternion, ([a, b, c, d], [e, f, g, h]): (&Quaternion, Quaternion)| {
                [
                    sum[0] + a * e - b * f - c * g - d * h,
                    sum[1] + a * f + b * e + c * h - d * g,
                    sum[2] + a * g - b * h + c * e + d * f,
                    sum[3] + a * h + b * g - c * f + d * e,
                ]
            };
            y.copy_from_slice(&terms.fold([0.0; 4], add));
        }
    }
}

fn plain_loop(matrix: &Csr, x: &[f64], repeats: usize) -> PeerProduct {
    let mut y = vec![f64::NAN; matrix.vector_length()];
    let mut once = || {
        let started = Instant::now();
        y.par_chunks_exact_mut(matrix.parts()).enumerate().for_each(|(row, y)| plain_row(matrix, row, x, y));
        started.elapsed().as_secs_f64() * 1e3
    };
    once();
    let times: Vec<f64> = (0..repeats).map(|_| once()).collect();
    PeerProduct { name: "plain loop over compressed rows".into(), outcome: Ok(median(&times)), y }
}
