//! What a sparse product is timed beside: cuSPARSE on a card, a plain loop over compressed rows elsewhere.
//!
//! In: a device and samples to take. Out: a function that `eigenforge::spmv::run` calls with its matrix and vector.

use crate::hubbard::chain;
use crate::vendor;
use eigenforge::sparse::Csr;
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

fn plain_loop(matrix: &Csr, x: &[f64], repeats: usize) -> PeerProduct {
    let mut y = vec![f64::NAN; matrix.rows()];
    let mut once = || {
        let started = Instant::now();
        y.par_iter_mut().enumerate().for_each(|(row, y)| {
            let (columns, values) = matrix.row(row);
            *y = columns.iter().zip(values).map(|(column, value)| value * x[*column as usize]).sum();
        });
        started.elapsed().as_secs_f64() * 1e3
    };
    once();
    let times: Vec<f64> = (0..repeats).map(|_| once()).collect();
    PeerProduct { name: "plain loop over compressed rows".into(), outcome: Ok(median(&times)), y }
}
