//! Dense solves on cores and on a simulated card, with and without vectors, against the eigensolver itself.

use super::super::{Eigenpairs, SolveOptions, Solver, SpectrumPart, resident, solve, symmetric_eigen};
use super::values::Traces;
use crate::device::{Checks, Device, Vector};
use crate::operator::LinearOperator;
use crate::simulate::Schedule;
use eigenforge_templates::Cost;

struct Matrix {
    n: usize,
    values: Vec<f64>,
    device: Device,
}

impl LinearOperator<f64> for Matrix {
    fn dimension(&self) -> usize {
        self.n
    }
    fn device(&self) -> &Device {
        &self.device
    }
    fn apply(&self, x: &Vector<f64>, y: &mut Vector<f64>) -> crate::error::Result<f64> {
        let x = x.download()?;
        let image: Vec<f64> =
            self.values.chunks(self.n).map(|row| row.iter().zip(&x).map(|(a, x)| a * x).sum()).collect();
        y.write(&image)?;
        Ok(x.iter().zip(&image).map(|(x, y)| x * y).sum())
    }
    fn norm_bound(&self) -> f64 {
        self.values.chunks(self.n).map(|row| row.iter().map(|v| v.abs()).sum::<f64>()).fold(0.0, f64::max)
    }
    fn cost(&self) -> Cost {
        Cost { flops: 1.0, bytes: 1.0 }
    }
}

fn matrix(n: usize, scale: f64, kind: usize, device: &Device) -> Matrix {
    let random = crate::seeded::vector(n * n, 3 + n as u64);
    let element = |i: usize, j: usize| match kind {
        0 => scale * random[i.min(j) * n + i.max(j)],
        // Levels of n/2 and more states.
        1 => scale * (if i == j { 1.0 } else { 0.0 } + if i / 2 == j / 2 { 0.5 } else { 0.0 }),
        _ => 0.0,
    };
    Matrix { n, values: (0..n * n).map(|k| element(k / n, k % n)).collect(), device: device.clone() }
}

fn solved(matrix: &Matrix, states: usize, part: SpectrumPart, values_above: Option<usize>) -> Eigenpairs<f64> {
    solve(matrix, Solver::Dense, &SolveOptions { states, part, values_above, ..SolveOptions::default() }).unwrap()
}

#[test]
fn cores_and_a_card_have_the_same_states_with_and_without_vectors() {
    let simulated = crate::testing::simulated(Schedule::Forward, Checks::Watched);
    for device in simulated.into_iter().chain([Device::cpu()]) {
        for (n, scale, kind) in
            [(1, 1.0, 0), (2, 1e-150, 0), (23, 1.0, 0), (24, 1e120, 0), (24, 1e-30, 1), (9, 1.0, 2), (40, 3.0, 1)]
        {
            let matrix = matrix(n, scale, kind, &device);
            let (wanted, _) = symmetric_eigen(n, &matrix.values).unwrap();
            let norm = matrix.norm_bound();
            let close = |found: &[f64], wanted: &[f64]| {
                let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-13 * norm * n as f64;
                assert!(found.len() == wanted.len() && found.iter().zip(wanted).all(near), "{n} {kind}: {found:?}");
            };
            // What a card does with larger ones.
            let options = SolveOptions { states: n, ..SolveOptions::default() };
            let run = super::Run::new(&matrix, &options);
            for vectors in [false, true] {
                let found = super::card::diagonalise(&run, &matrix, vectors).unwrap();
                close(&found.values, &wanted);
                assert_eq!((found.vectors.len(), found.refined), (if vectors { n } else { 0 }, !vectors));
                let measured = super::measured(&run, &matrix, &found.values, &found.vectors, false).unwrap();
                for ((value, residual), wanted) in measured.iter().zip(&wanted) {
                    assert!((value - wanted).abs() <= 1e-13 * norm * n as f64 && *residual <= 1e-11 * norm);
                }
            }
            let whole = solved(&matrix, n, SpectrumPart::Lowest, None);
            let alone = solved(&matrix, n, SpectrumPart::Lowest, Some(n - 1));
            close(&whole.values, &wanted);
            close(&alone.values, &wanted);
            assert!(whole.vectors.len() == n && alone.vectors.is_empty() && whole.notes.is_empty());
            assert!(alone.notes.len() == 1 && alone.notes[0].contains("without vectors"), "{:?}", alone.notes);
            assert!(whole.residuals.iter().all(|residual| *residual <= 1e-11 * norm), "{:?}", whole.residuals);
            assert!(alone.residuals.iter().all(|bound| *bound <= 1e-13 * norm));
            let sizes = |pairs: &Eigenpairs<f64>| pairs.levels.iter().map(|own| own.multiplicity).collect::<Vec<_>>();
            assert_eq!(sizes(&whole), sizes(&alone), "{n} {kind}");
            let reversed: Vec<f64> = wanted.iter().rev().copied().collect();
            close(&solved(&matrix, n, SpectrumPart::Highest, Some(0)).values, &reversed);
            let few = n.min(3);
            close(&solved(&matrix, few, SpectrumPart::Lowest, None).values, &wanted[..few]);
            close(&solved(&matrix, few, SpectrumPart::Highest, None).values, &reversed[..few]);
            let centre = wanted[n / 2] + 1e-3 * norm;
            let nearest = solved(&matrix, few, SpectrumPart::Nearest(centre), Some(0));
            let mut by_distance = wanted.clone();
            by_distance.sort_by(|a, b| (a - centre).abs().total_cmp(&(b - centre).abs()));
            // Beyond the spectrum they are those of its end.
            assert_eq!(nearest.vectors.len(), if centre.abs() <= norm { few } else { 0 }, "{n} {kind}");
            let apart = |value: f64| (value - centre).abs();
            assert!(
                nearest.values.iter().zip(&by_distance).all(|(a, b)| (apart(*a) - apart(*b)).abs() <= 1e-12 * norm)
            );
        }
    }
}

/// Values that an eigensolver got wrong do not have the traces of the matrix.
#[test]
fn wrong_values_are_refused() {
    let matrix = matrix(30, 1.0, 0, &Device::cpu());
    let options = SolveOptions::default();
    let run = super::Run::new(&matrix, &options);
    let (wanted, _) = symmetric_eigen(30, &matrix.values).unwrap();
    let traces = || {
        let mut traces = Traces::default();
        matrix.values.chunks(30).enumerate().for_each(|(column, elements)| traces.add(column, elements));
        traces
    };
    assert_eq!(traces().checked(&run, wanted.clone(), 1.0).unwrap(), wanted);
    let mut other = wanted.clone();
    other[3] += 1e-6;
    let error = traces().checked(&run, other, 1.0).unwrap_err().to_string();
    assert!(error.contains("30 x 30 matrix") && error.contains("--device cpu"), "{error}");
    // The same sum, other squares.
    let mut other = wanted.clone();
    (other[0], other[29]) = (other[0] - 1e-4, other[29] + 1e-4);
    assert!(traces().checked(&run, other, 1.0).is_err());
    let mut other = wanted;
    other[5] = f64::NAN;
    assert!(traces().checked(&run, other, 1.0).is_err());
}

#[test]
fn values_alone_take_less_memory() {
    let bytes = |values_above| resident(32_768, 8, Solver::Dense, &SolveOptions { values_above, ..Default::default() });
    let (both, alone) = (bytes(None), bytes(Some(4096)));
    assert_eq!((both.1, alone.1), (5 << 33, 2 << 33));
    assert!(both.0.contains("its eigenvectors") && alone.0.contains("eigenvalues alone"), "{both:?} {alone:?}");
    assert_eq!(bytes(Some(32_768)), both, "not above");
}
