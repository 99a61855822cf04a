//! Times the multiplies of one matrix, each after its product was compared with the plain sum.
//!
//! Milliseconds of one multiply of one vector. A sample on a card lasts at least [`SAMPLE`] milliseconds.

use super::super::baseline::Baseline;
use super::super::{PaperError, Setup};
use crate::vendor;
use eigenforge::sparse::{Csr, FormatRequest};
use eigenforge::spmv::{self, FormatRace, SpmvOptions};
use eigenforge_runtime::timing::median;
use eigenforge_runtime::{Device, DeviceError, Vector, seeded};
use rayon::prelude::*;

const SAMPLE: f64 = 2.0;
/// Largest error of an element of y, relative to the largest Σ |A x| of a row: CSR5 takes differences of sums over rows.
const SAME: f64 = 1e-12;

/// One matrix with its vector and the plain product.
pub(super) struct Timer<'a> {
    setup: &'a Setup,
    host: Vec<f64>,
    x: Option<Vector<f64>>,
    exact: Vec<f64>,
    allowed: f64,
}

impl<'a> Timer<'a> {
    pub(super) fn new(matrix: &Csr, setup: &'a Setup) -> Result<Timer<'a>, PaperError> {
        let host = seeded::vector(matrix.rows(), seeded::SEED_X);
        let row = |row: usize| {
            let (columns, values) = matrix.row(row);
            let terms = columns.iter().zip(values).map(|(column, value)| value * host[*column as usize]);
            terms.fold((0.0, 0.0), |(sum, size): (f64, f64), term| (sum + term, size + term.abs()))
        };
        let found: Vec<(f64, f64)> = (0..matrix.rows()).into_par_iter().map(row).collect();
        let allowed = SAME * found.iter().map(|row| row.1).fold(0.0, f64::max);
        let exact = found.into_iter().map(|row| row.0).collect();
        let x = setup.device.runs_kernels().then(|| setup.device.upload(&host)).transpose()?;
        Ok(Timer { setup, host, x, exact, allowed })
    }

    fn agree(&self, what: &str, y: &[f64]) -> Result<(), PaperError> {
        let wrong = |(y, exact): (&f64, &f64)| (y - exact).abs() > self.allowed || y.is_nan();
        match y.iter().zip(&self.exact).position(wrong) {
            None if y.len() == self.exact.len() => Ok(()),
            row => {
                let row = row.unwrap_or(0);
                let found = y.get(row).copied().unwrap_or(f64::NAN);
                Err(PaperError::Disagree { what: what.into(), row, found, expected: self.exact[row] })
            }
        }
    }

    /// Each sample of a baseline.
    pub(super) fn baseline(&self, baseline: &Baseline) -> Result<Vec<f64>, PaperError> {
        let mut nan = vec![f64::NAN; baseline.rows];
        let Some(x) = &self.x else {
            baseline.multiply_on_host(&self.host, &mut nan);
            self.agree(&baseline.name, &nan)?;
            return self.samples(|| {
                baseline.multiply_on_host(&self.host, &mut nan);
                Ok(())
            });
        };
        let mut loaded = baseline.load(&self.setup.device)?;
        let mut y = self.setup.device.upload(&nan)?;
        loaded.multiply(x, &mut y)?;
        self.agree(&baseline.name, &y.download()?)?;
        self.samples(|| loaded.multiply(x, &mut y))
    }

    pub(super) fn median_of(&self, baseline: &Baseline) -> Result<f64, PaperError> {
        Ok(median(&self.baseline(baseline)?))
    }

    fn samples(&self, mut once: impl FnMut() -> Result<(), DeviceError>) -> Result<Vec<f64>, PaperError> {
        let device = &self.setup.device;
        let (done, single) = device.time(&mut once)?;
        done?;
        let runs = match device {
            Device::Cuda(_) => (SAMPLE / single.max(1e-3)).ceil().clamp(1.0, 256.0) as usize,
            Device::Cpu(_) | Device::Sim(_) => 1,
        };
        let mut times = Vec::with_capacity(self.setup.repeats);
        for _ in 0..self.setup.repeats {
            let (done, milliseconds) = device.time(|| (0..runs).try_for_each(|_| once()))?;
            done?;
            times.push(milliseconds / runs as f64);
        }
        Ok(times)
    }

    /// Our multiply in the format that it takes; on a card the quickest of those it races.
    pub(super) fn eigenforge(&self, name: &str, matrix: &Csr) -> Result<f64, PaperError> {
        let options =
            SpmvOptions { wish: FormatRequest::default(), race: FormatRace::Anew, repeats: self.setup.repeats };
        Ok(spmv::run(name, matrix.clone(), &options, &self.setup.device, None)?.milliseconds)
    }

    /// cuSPARSE's CSR and sliced ELLPACK, the quickest algorithm of each; nothing without a card.
    pub(super) fn vendor(&self, matrix: &Csr) -> Result<[Option<f64>; 2], PaperError> {
        if !self.setup.device.is_cuda() {
            return Ok([None; 2]);
        }
        let peers = match vendor::spmv(matrix, &self.host, self.setup.ordinal, self.setup.repeats) {
            Ok(peers) => peers,
            Err(error) => {
                tracing::warn!("no cuSPARSE: {}", crate::hubbard::chain(&error));
                return Ok([None; 2]);
            }
        };
        let mut best = [None; 2];
        for peer in peers {
            let Ok(milliseconds) = peer.outcome else { continue };
            self.agree(&peer.name, &peer.y)?;
            let best = &mut best[usize::from(peer.name.contains("sliced"))];
            *best = Some(best.map_or(milliseconds, |other: f64| other.min(milliseconds)));
        }
        Ok(best)
    }
}
