//! The paper's own multiplies of section 2, part by part: the conventional one with transposes (Figure 1) and the tuned one with the
//! matrix in shared memory (Figure 2); as kernels, and as loops over the same arrays on the CPU.
//!
//! In: the Hamiltonian in Kronecker form. Out: [`PaperMultiply`] on a device.

use super::super::baseline::{Baseline, Loaded, Step, Table, integers, real};
use crate::kronecker::{Csr, KroneckerProblem};
use eigenforge_runtime::{Device, DeviceError, Vector};
use eigenforge_templates::launch::Access;
use rayon::prelude::*;

/// Sides of a block of threads.
const TILE: u32 = 16;

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Variant {
    Conventional,
    Tuned,
}

/// A part of a multiply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Diagonal,
    Down,
    Up,
    Transpose,
}

impl Variant {
    /// The parts in the order they run; the tuned one's `Down` has the diagonal in it.
    pub(super) fn parts(self) -> &'static [Part] {
        match self {
            Variant::Conventional => &[Part::Diagonal, Part::Transpose, Part::Up, Part::Down],
            Variant::Tuned => &[Part::Down, Part::Transpose, Part::Up],
        }
    }
}

fn csr(matrix: &Csr) -> [Table; 3] {
    let unsigned = |numbers: &[i32]| Table::U32(numbers.iter().map(|number| *number as u32).collect());
    [unsigned(&matrix.offsets), unsigned(&matrix.columns), Table::F64(matrix.values.clone())]
}

/// Arrays and kernels of the paper's multiply.
pub(super) fn baseline(problem: &KroneckerProblem, variant: Variant) -> Baseline {
    let (n_up, n_down) = (problem.n_up() as u64, problem.n_down() as u64);
    let most = |matrix: &Csr| {
        let ends = (0..matrix.rows()).step_by(TILE as usize).map(|first| {
            let last = (first + TILE as usize).min(matrix.rows());
            (matrix.offsets[last] - matrix.offsets[first]) as u64
        });
        ends.max().unwrap_or(0)
    };
    let constants = [
        ("N_UP", n_up),
        ("N_DOWN", n_down),
        ("TILE", u64::from(TILE)),
        ("THREADS", u64::from(TILE * TILE)),
        ("ENTRIES", most(&problem.up).max(most(&problem.down)).max(1)),
    ];
    let tiles = n_up.div_ceil(u64::from(TILE)) * n_down.div_ceil(u64::from(TILE));
    let step = |part: &Part| {
        let (entry, blocks, parameters, writes): (_, _, &'static [&'static str], &'static [_]) = match (part, variant) {
            (Part::Diagonal, _) => (
                "product",
                (n_up * n_down).div_ceil(u64::from(TILE * TILE)),
                &["diagonal", "x", "y"],
                &[("y", Access::Out)],
            ),
            (Part::Transpose, _) => ("transpose", tiles, &["x", "by_rows"], &[("by_rows", Access::Out)]),
            (Part::Up, Variant::Conventional) => (
                "conventional_up",
                tiles,
                &["up_start", "up_column", "up_value", "by_rows", "y"],
                &[("y", Access::InOut)],
            ),
            (Part::Up, Variant::Tuned) => {
                ("tuned_up", tiles, &["up_start", "up_column", "up_value", "by_rows", "y"], &[("y", Access::InOut)])
            }
            (Part::Down, Variant::Conventional) => (
                "conventional_down",
                tiles,
                &["down_start", "down_column", "down_value", "x", "y"],
                &[("y", Access::InOut)],
            ),
            (Part::Down, Variant::Tuned) => (
                "tuned_down",
                tiles,
                &["diagonal", "down_start", "down_column", "down_value", "x", "y"],
                &[("y", Access::Out)],
            ),
        };
        Step { entry, blocks, threads: TILE * TILE, parameters, writes }
    };
    let [up_start, up_column, up_value] = csr(&problem.up);
    let [down_start, down_column, down_value] = csr(&problem.down);
    Baseline {
        name: match variant {
            Variant::Conventional => "the conventional multiply",
            Variant::Tuned => "the paper's tuned multiply",
        }
        .into(),
        rows: problem.dimension(),
        tables: vec![
            ("diagonal", Table::F64(problem.diagonal())),
            ("up_start", up_start),
            ("up_column", up_column),
            ("up_value", up_value),
            ("down_start", down_start),
            ("down_column", down_column),
            ("down_value", down_value),
            ("by_rows", Table::F64(vec![0.0; problem.dimension()])),
        ],
        text: Baseline::text(
            "conventional",
            include_str!("../../../cuda/conventional.cu"),
            &constants,
            &["product", "transpose", "conventional_up", "conventional_down", "tuned_up", "tuned_down"],
        ),
        steps: variant.parts().iter().map(step).collect(),
        on_host: Box::new(move |tables, x, y| {
            let mut by_rows = vec![0.0; x.len()];
            for part in variant.parts() {
                host_part(tables, (*part, variant), x, y, (&mut by_rows, n_up as usize));
            }
        }),
    }
}

/// The paper's multiply on a device.
pub(super) struct PaperMultiply {
    variant: Variant,
    engine: Engine,
}

enum Engine {
    Kernels(Loaded),
    /// Arrays, and V by rows.
    Host(Baseline, Vec<f64>, usize),
}

impl PaperMultiply {
    pub(super) fn new(
        problem: &KroneckerProblem,
        variant: Variant,
        device: &Device,
    ) -> Result<PaperMultiply, DeviceError> {
        let baseline = baseline(problem, variant);
        let engine = if device.runs_kernels() {
            Engine::Kernels(baseline.load(device)?)
        } else {
            Engine::Host(baseline, vec![0.0; problem.dimension()], problem.n_up())
        };
        Ok(PaperMultiply { variant, engine })
    }

    /// y = H x.
    pub(super) fn run(&mut self, x: &Vector<f64>, y: &mut Vector<f64>) -> Result<(), DeviceError> {
        (0..self.variant.parts().len()).try_for_each(|part| self.part(part, x, y))
    }

    /// One part, by its place in [`Variant::parts`].
    pub(super) fn part(&mut self, part: usize, x: &Vector<f64>, y: &mut Vector<f64>) -> Result<(), DeviceError> {
        match &mut self.engine {
            Engine::Kernels(loaded) => loaded.step(part, x, y),
            Engine::Host(baseline, by_rows, n_up) => {
                let (x, y) = Vector::both_on_host("the paper's multiply", x, y)?;
                let which = self.variant.parts()[part];
                host_part(&baseline.tables, (which, self.variant), x, y, (by_rows, *n_up));
                Ok(())
            }
        }
    }
}

/// A part on the cores of this machine.
fn host_part(
    tables: &[(&'static str, Table)],
    (part, variant): (Part, Variant),
    x: &[f64],
    y: &mut [f64],
    (by_rows, n_up): (&mut Vec<f64>, usize),
) {
    let (diagonal, n_down) = (real(tables, "diagonal"), x.len() / n_up);
    let (up_start, up_column, up_value) =
        (integers(tables, "up_start"), integers(tables, "up_column"), real(tables, "up_value"));
    let (down_start, down_column, down_value) =
        (integers(tables, "down_start"), integers(tables, "down_column"), real(tables, "down_value"));
    let row = |start: &[u32], row: usize| start[row] as usize..start[row + 1] as usize;
    match part {
        Part::Diagonal => y.par_iter_mut().enumerate().for_each(|(at, y)| *y = diagonal[at] * x[at]),
        Part::Transpose => by_rows.par_chunks_mut(n_down).enumerate().for_each(|(i, line)| {
            line.iter_mut().enumerate().for_each(|(j, to)| *to = x[i + n_up * j]);
        }),
        Part::Up => {
            let by_rows: &[f64] = by_rows;
            y.par_chunks_mut(n_up).enumerate().for_each(|(j, column)| {
                for (i, y) in column.iter_mut().enumerate() {
                    let terms = row(up_start, i).map(|k| up_value[k] * by_rows[n_down * up_column[k] as usize + j]);
                    *y += terms.sum::<f64>();
                }
            });
        }
        Part::Down => y.par_chunks_mut(n_up).enumerate().for_each(|(j, column)| {
            if variant == Variant::Tuned {
                let own = n_up * j..n_up * (j + 1);
                column.iter_mut().zip(&diagonal[own.clone()]).zip(&x[own]).for_each(|((y, d), x)| *y = d * x);
            }
            for k in row(down_start, j) {
                let other = &x[n_up * down_column[k] as usize..][..n_up];
                column.iter_mut().zip(other).for_each(|(y, x)| *y += down_value[k] * x);
            }
        }),
    }
}
