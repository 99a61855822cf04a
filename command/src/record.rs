//! From what the solver found to the [`RunReport`].
//!
//! In: model file, solution, averages. Out: the report, but for the times that only the verb knows.

use eigenforge::exact::{Observables as Averages, ShapeSource, Solution};
use eigenforge::input::ModelFile;
use eigenforge::report::{
    CostRecord, HistoryPoint, KernelRecord, LevelRecord, MemoryRecord, ModelRecord, Observables, RunReport, Seconds,
    ShapeRecord,
};
use eigenforge_runtime::solvers::{Solver, StopReason};
use eigenforge_runtime::{Device, jit};
use ndarray::Array2;
use std::collections::BTreeMap;

/// The report without times and warnings.
pub(super) fn record(
    file: &ModelFile,
    solution: &Solution<'_>,
    solver: Solver,
    averages: Averages,
    memory: MemoryRecord,
) -> RunReport {
    let pairs = solution.eigenpairs();
    let levels: Vec<LevelRecord> = solution
        .levels()
        .iter()
        .map(|level| LevelRecord {
            energy: level.value,
            multiplicity: level.multiplicity,
            returned: level.returned,
            complete: level.complete,
        })
        .collect();
    let warnings = warnings_of(pairs.notes.clone(), solution.device());
    let constant = solution.constant();
    let history = pairs.history.iter().map(|&(iteration, energy, residual)| HistoryPoint {
        iteration,
        energy: energy + constant,
        residual,
    });
    let cost = solution.cost();
    RunReport {
        model: ModelRecord { name: file.model.name().into(), file: file.name.clone(), text: file.text.clone() },
        lattice: file.lattice.describe(),
        sector: file.sector.clone(),
        dimension: file.dimension().and_then(|dimension| u64::try_from(dimension).ok()).unwrap_or(u64::MAX),
        energies: solution.energies().to_vec(),
        residuals: pairs.residuals.clone(),
        uncertainties: pairs.uncertainties(),
        constant,
        energies_without_constant: pairs.values.clone(),
        multiplicities: RunReport::multiplicities_of(&levels),
        levels,
        observables: observables(averages, pairs.ground_multiplet().len()),
        iterations: pairs.iterations,
        multiplies: pairs.multiplies,
        stop: stop_word(pairs.stop).into(),
        solver: solver.name().into(),
        solver_reason: None,
        device: solution.device().name(),
        kernels: kernel_records(solution.device()),
        shape: solution.shape().map(|(shape, source)| shape_record(shape, source)),
        seconds: Seconds::default(),
        versions: versions(solution.device()),
        seed: file.solve.seed,
        start: pairs.start.into(),
        tolerance: file.solve.tolerance,
        norm: pairs.norm,
        warnings,
        memory,
        cost: CostRecord { multiply_flops: cost.flops, multiply_bytes: cost.bytes, ..CostRecord::default() },
        history: history.collect(),
    }
}

/// Why a solver stopped, as reports say it.
pub(super) fn stop_word(stop: StopReason) -> &'static str {
    match stop {
        StopReason::Converged => "converged",
        StopReason::MaxIterations => "max_iterations",
        StopReason::Stagnated => "stagnated",
        StopReason::Dense => "dense",
    }
}

/// The generated kernels that ran.
pub(super) fn kernel_records(device: &Device) -> Vec<KernelRecord> {
    let record = |kernel: eigenforge_runtime::KernelRecord| KernelRecord {
        name: kernel.name,
        key: kernel.key,
        cached: kernel.cached,
        overridden: kernel.overridden.is_some(),
    };
    device.kernels_used().into_iter().map(record).collect()
}

/// The solver's notes, and what there is to say of the kernels that ran.
pub(super) fn warnings_of(mut notes: Vec<String>, device: &Device) -> Vec<String> {
    let kernels = device.kernels_used();
    notes.extend(kernels.iter().filter_map(|kernel| kernel.note.clone()));
    notes.dedup(); // a cache that cannot be written says so once a kernel
    notes.extend(device.unused_overrides());
    notes.extend(kernels.iter().filter_map(overridden));
    notes
}

fn shape_record(shape: &str, source: &ShapeSource) -> ShapeRecord {
    let (tuned, times) = match source {
        ShapeSource::Rule => (false, None),
        ShapeSource::Tuned(choice) => (true, Some((choice.milliseconds, choice.rule_milliseconds))),
    };
    let (milliseconds, rule_milliseconds) = times.unzip();
    ShapeRecord { shape: shape.into(), tuned, milliseconds, rule_milliseconds }
}

/// What must be known of numbers that came out of an edited kernel.
fn overridden(kernel: &eigenforge_runtime::KernelRecord) -> Option<String> {
    let file = kernel.overridden.as_ref()?;
    Some(format!("kernel {} was overridden: {} ran in place of the generated text", kernel.name, file.display()))
}

/// eigenforge, and on a GPU the compiler and the CUDA version of the driver.
pub(super) fn versions(device: &Device) -> BTreeMap<String, String> {
    let mut versions = BTreeMap::from([("eigenforge".to_string(), env!("CARGO_PKG_VERSION").to_string())]);
    if device.is_cuda() {
        if let Ok(driver) = jit::driver_version() {
            versions.insert("driver_cuda".into(), format!("{}.{}", driver / 1000, driver % 1000 / 10));
        }
        if let Ok(nvrtc) = jit::Settings::from_env().and_then(|settings| jit::Nvrtc::find(&settings)) {
            let (major, minor) = nvrtc.version();
            versions.insert("nvrtc".into(), format!("{major}.{minor}"));
        }
    }
    versions
}

fn observables(averages: Averages, averaged_over: usize) -> Observables {
    let rows = |matrix: Array2<f64>| matrix.rows().into_iter().map(|row| row.to_vec()).collect::<Vec<_>>();
    Observables {
        averaged_over,
        n_up: averages.n_up,
        n_dn: averages.n_dn,
        double_occupancy: averages.double_occupancy,
        sz: Some(averages.sz),
        szsz: Some(rows(averages.szsz)),
        nn: averages.nn.map(rows),
        sdots: Some(rows(averages.sdots)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_an_edited_kernel_come_with_a_warning() {
        let generated = eigenforge_runtime::KernelRecord {
            name: "lobpcg_update".into(),
            key: "0123".into(),
            cached: false,
            overridden: None,
            folder: None,
            resources: vec![],
            note: None,
            seconds: 0.1,
        };
        assert_eq!(overridden(&generated), None);
        let edited =
            eigenforge_runtime::KernelRecord { overridden: Some("edits/lobpcg_update.cu".into()), ..generated };
        let warning = "kernel lobpcg_update was overridden: edits/lobpcg_update.cu ran in place of the generated text";
        assert_eq!(overridden(&edited).as_deref(), Some(warning));
    }
}
