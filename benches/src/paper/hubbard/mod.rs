//! Tables 1 and 3 of Yamada, Machida, Imamura (2020): the multiply by parts, and LOBPCG with each multiply and both ways of its
//! other operations.
//!
//! In: a table of the paper and a [`Setup`]. Out: [`PaperTable`]: the paper's conventional and tuned multiplies, ours, and on a
//! card cuSPARSE and cuBLAS. Products are compared by four numbers of H x, runs by their energies, before a time is printed.

mod lobpcg;
mod multiply;
#[cfg(test)]
mod tests;

use super::published::PublishedTable;
use super::{MeasuredColumn, PaperError, PaperTable, Setup, not_redrawn};
use crate::Fingerprint;
use crate::case::Case;
use crate::hubbard::{BenchError, agree};
use crate::kronecker::{Hubbard, KroneckerProblem};
use crate::vendor::{self, VendorOptions, VendorReport};
use eigenforge::exact::Hamiltonian;
use eigenforge_runtime::timing::median;
use eigenforge_runtime::{Device, DeviceError, LinearOperator, Vector, say, seeded};
use eigenforge_templates::ScalarType;
use lobpcg::{LobpcgError, Multiply, OPERATIONS, Operations, Others};
use multiply::{PaperMultiply, Part, Variant};

/// Electrons of each spin on 4 × 4 sites at scale 1; each scale takes one of each away.
const ELECTRONS: u32 = 7;
/// Iterations of a run: the paper's; with the simulator fewer.
const ITERATIONS: usize = 164;
const SIMULATED_ITERATIONS: usize = 6;
/// Largest relative difference of two runs' energies after as many iterations.
const SAME_ENERGY: f64 = 1e-6;

/// Measures one table.
///
/// # Errors
/// A table that is not redrawn, a device that fails, a wrong result.
pub(super) fn measure(table: &PublishedTable, setup: &Setup) -> Result<PaperTable, PaperError> {
    match table.number {
        1 => Problem::new(setup)?.parts(table),
        3 => Problem::new(setup)?.runs(table),
        _ => Err(not_redrawn(table, "it describes the authors' machine; `eigenforge doctor` describes this one")),
    }
}

struct Problem<'a> {
    setup: &'a Setup,
    kronecker: KroneckerProblem,
    ours: Hamiltonian<'static>,
    note: String,
}

impl<'a> Problem<'a> {
    fn new(setup: &'a Setup) -> Result<Problem<'a>, PaperError> {
        let by_device = match setup.device {
            Device::Cuda(_) => 1,
            Device::Cpu(_) => 5,
            Device::Sim(_) => 7,
        };
        let scale = setup.scale.unwrap_or(by_device).min(ELECTRONS);
        let electrons = ELECTRONS + 1 - scale;
        let case = Case::Rectangle { length_x: 4, length_y: 4, up: electrons as usize, down: electrons as usize };
        let file = case.model_file().map_err(BenchError::from)?;
        let hubbard = Hubbard::from_file(&file)
            .ok_or_else(|| BenchError::NotHubbard { name: file.name.clone(), model: file.model.name() })?;
        let kronecker = KroneckerProblem::new(hubbard);
        let model = file.to_model().map_err(BenchError::from)?;
        let multiply = model.multiply(ScalarType::F64).map_err(BenchError::from)?;
        let ours = model.hamiltonian(multiply, &setup.device).map_err(BenchError::from)?;
        let dimension = eigenforge::words::grouped(kronecker.dimension() as u128);
        let note = match scale {
            1 => format!("open 4 x 4, 7 + 7, t = 1, U = 4, dimension {dimension}"),
            _ => format!(
                "scale {scale}: {electrons} + {electrons} electrons instead of 7 + 7, dimension {dimension} instead \
                 of 130,873,600; \
                 U = 4"
            ),
        };
        Ok(Problem { setup, kronecker, ours, note })
    }

    fn device(&self) -> &Device {
        &self.setup.device
    }

    /// Median milliseconds of what `work` does.
    fn time(&self, mut work: impl FnMut() -> Result<(), DeviceError>) -> Result<f64, DeviceError> {
        work()?;
        let mut times = Vec::with_capacity(self.setup.repeats);
        for _ in 0..self.setup.repeats {
            let (done, milliseconds) = self.device().time(&mut work)?;
            done?;
            times.push(milliseconds);
        }
        Ok(median(&times))
    }

    /// Compares a multiply with the plain loop; returns its fingerprint.
    fn check(&self, what: &'static str, multiply: &mut Multiply<'_>, expected: &Fingerprint) -> Result<(), PaperError> {
        let n = self.kronecker.dimension();
        let host = seeded::vector(n, seeded::SEED_X);
        let x = self.device().upload(&host)?;
        let mut y = self.device().upload(&vec![f64::NAN; n])?;
        multiply(&x, &mut y)?;
        Ok(agree("x·Hx", what, &Fingerprint::new(&host, &y.download()?), expected)?)
    }

    fn plain(&self) -> Fingerprint {
        let n = self.kronecker.dimension();
        let (x, mut y) = (seeded::vector(n, seeded::SEED_X), vec![0.0; n]);
        self.kronecker.multiply(&self.kronecker.diagonal(), &x, &mut y);
        Fingerprint::new(&x, &y)
    }

    /// cuSPARSE and cuBLAS on a card; `iterations` of LOBPCG, or none.
    fn vendor(&self, iterations: usize, notes: &mut Vec<String>) -> Option<VendorReport> {
        if !self.device().is_cuda() {
            notes.push("cuSPARSE and cuBLAS run on a card only".into());
            return None;
        }
        let options = VendorOptions {
            seed: 1,
            tolerance: 0.0,
            max_iterations: iterations,
            repeats: self.setup.repeats,
            solve: iterations > 0,
        };
        match vendor::run(&self.kronecker, self.setup.ordinal, &options) {
            Ok(report) => Some(report),
            Err(error) => {
                notes.push(format!("no cuSPARSE and cuBLAS: {}", crate::hubbard::chain(&error)));
                None
            }
        }
    }

    /// Table 1.
    fn parts(&self, table: &PublishedTable) -> Result<PaperTable, PaperError> {
        let mut notes = vec![self.note.clone()];
        let expected = self.plain();
        let n = self.kronecker.dimension();
        let x = self.device().upload(&seeded::vector(n, seeded::SEED_X))?;
        let mut y = self.device().zeros(n)?;
        let mut measured = vec![];
        let rows = [Part::Diagonal, Part::Down, Part::Up, Part::Transpose];
        for (name, variant) in [("conventional", Variant::Conventional), ("the paper's tuned", Variant::Tuned)] {
            let mut multiply = PaperMultiply::new(&self.kronecker, variant, self.device())?;
            self.check(name, &mut |x, y| multiply.run(x, y), &expected)?;
            let mut cells = vec![None; rows.len()];
            for (k, part) in variant.parts().iter().enumerate() {
                let row = rows.iter().position(|row| row == part).unwrap_or(0);
                cells[row] = Some(self.time(|| multiply.part(k, &x, &mut y))?);
            }
            cells.push(Some(self.time(|| multiply.run(&x, &mut y))?));
            measured.push(MeasuredColumn::new(name, "ms", 3, cells));
            say!("Table 1: {name} done");
        }
        if let Some(report) = self.vendor(0, &mut notes) {
            agree("x·Hx", "cuSPARSE", &report.check, &expected)?;
            let part = |name: &str| report.parts.iter().find(|part| part.name == name).map(|part| part.milliseconds);
            let cells = vec![part("D * V"), part("V A_dn^T"), part("A_up V"), None, Some(report.multiply_milliseconds)];
            measured.insert(1, MeasuredColumn::new("cuSPARSE", "ms", 3, cells));
            notes.push("cuSPARSE reads V by rows where it has to, so nothing is transposed".into());
        }
        self.check("eigenforge", &mut |x, y| self.ours.multiply(x, y), &expected)?;
        let total = self.time(|| self.ours.multiply(&x, &mut y))?;
        measured.push(MeasuredColumn::new("eigenforge", "ms", 3, vec![None, None, None, None, Some(total)]));
        notes.push("tuned: V A_dn^T has D * V in it; eigenforge: two kernels, D * V with A_up V".into());
        notes.push("total: all parts in one go; every H x compared with a plain loop".into());
        let operations = self.multiply_operations() * n as f64;
        notes.push(format!(
            "{operations:.3e} operations a multiply: eigenforge {:.3} GFLOP/s",
            1e-6 * operations / total
        ));
        self.table(table, measured, notes)
    }

    /// Operations of a multiply per state: the diagonal, and two for every non-zero of both factors.
    fn multiply_operations(&self) -> f64 {
        let of = |matrix: &crate::kronecker::Csr| matrix.nonzeros() as f64 / matrix.rows() as f64;
        1.0 + 2.0 * (of(&self.kronecker.up) + of(&self.kronecker.down))
    }

    /// Table 3.
    fn runs(&self, table: &PublishedTable) -> Result<PaperTable, PaperError> {
        let mut notes = vec![self.note.clone()];
        let iterations = match self.device() {
            Device::Sim(_) => SIMULATED_ITERATIONS,
            Device::Cpu(_) | Device::Cuda(_) => ITERATIONS,
        };
        let n = self.kronecker.dimension();
        let operations = Operations::new(self.device()).map_err(lobpcg_error)?;
        let start = || self.device().upload(&seeded::vector(n, 1));
        let per_state = self.multiply_operations() + OPERATIONS;
        let column = |name: &str, seconds: f64| {
            let gflops = 1e-9 * per_state * n as f64 * iterations as f64 / seconds;
            let cells = vec![Some(iterations as f64), Some(seconds), Some(gflops)];
            MeasuredColumn::new(name, "", 2, cells)
        };
        let mut conventional = PaperMultiply::new(&self.kronecker, Variant::Conventional, self.device())?;
        let mut measured = vec![];
        let mut energy = None::<f64>;
        let mut run = |name: &'static str, multiply: &mut Multiply<'_>, others| -> Result<MeasuredColumn, PaperError> {
            operations.run(multiply, start()?, others, 1)?;
            let run = operations.run(multiply, start()?, others, iterations)?;
            let first = *energy.get_or_insert(run.energy);
            same_energy(name, first, run.energy)?;
            say!("Table 3: {name} done");
            Ok(column(name, run.seconds))
        };
        measured.push(run("conventional, others one by one", &mut |x, y| conventional.run(x, y), Others::OneByOne)?);
        drop(conventional);
        let mut tuned = PaperMultiply::new(&self.kronecker, Variant::Tuned, self.device())?;
        measured.push(run("tuned, others one by one", &mut |x, y| tuned.run(x, y), Others::OneByOne)?);
        measured.push(run("tuned, others fused", &mut |x, y| tuned.run(x, y), Others::Fused)?);
        drop(tuned);
        let ours = &mut |x: &Vector<f64>, y: &mut Vector<f64>| self.ours.multiply(x, y);
        measured.push(run("eigenforge, others one by one", ours, Others::OneByOne)?);
        measured.push(run("eigenforge, others fused", ours, Others::Fused)?);
        let mut v = operations.start(ours, start()?)?;
        let [one_by_one, fused] = [Others::OneByOne, Others::Fused]
            .map(|others| self.time(|| operations.inner_products(&mut v, others).map(|_| ())));
        notes.push(format!(
            "the ten inner products alone: one by one {:.3} ms, fused {:.3} ms (paper: 33.29 ms and 25.53 ms)",
            one_by_one?, fused?
        ));
        drop(v);
        if let Some(report) = self.vendor(iterations, &mut notes)
            && let Some(run) = &report.lobpcg
        {
            agree("x·Hx", "cuSPARSE", &report.check, &self.plain())?;
            if run.iterations == iterations {
                same_energy("cuSPARSE + cuBLAS", energy.unwrap_or(f64::NAN), run.energy)?;
            }
            measured.insert(1, column("cuSPARSE + cuBLAS", run.seconds * iterations as f64 / run.iterations as f64));
        }
        notes.push(format!("{iterations} iterations of each from one random start; the energies agree"));
        notes.push(
            "one by one: a launch for every dot, scaling, addition and norm, as cuBLAS has them; fused: Figures 4 \
             and 6"
                .into(),
        );
        notes.push(format!("{per_state:.1} operations a state and iteration are counted (paper: 97 by its GFLOPS)"));
        self.table(table, measured, notes)
    }

    fn table(
        &self,
        table: &PublishedTable,
        measured: Vec<MeasuredColumn>,
        mut notes: Vec<String>,
    ) -> Result<PaperTable, PaperError> {
        if matches!(self.device(), Device::Sim(_)) {
            notes.push("the simulator checks the kernels; its times say nothing of a card".into());
        }
        Ok(PaperTable { published: table.clone(), measured, device: Some(self.device().name()), notes })
    }
}

fn lobpcg_error(error: LobpcgError) -> PaperError {
    match error {
        LobpcgError::Device(error) => error.into(),
        LobpcgError::Program(error) => PaperError::Program(error),
    }
}

fn same_energy(name: &'static str, first: f64, energy: f64) -> Result<(), PaperError> {
    if (energy - first).abs() <= SAME_ENERGY * first.abs() {
        return Ok(());
    }
    let (ours, theirs) = (format!("{first:.12}"), format!("{energy:.12}"));
    Err(BenchError::Disagree { what: "energy", other: name, ours, theirs }.into())
}
