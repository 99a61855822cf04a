//! From what solvers and devices say to the parts of a report.

use super::RunContext;
use crate::exact::{RankPlan, Received};
use crate::report::{
    CostRecord, FamilyRecord, HistoryPoint, KernelRecord, LevelAverages, LevelRecord, LevelSpinRecord, MemoryItem,
    MemoryRecord, Method, ModelRecord, Outcome, SCHEMA, Seconds, ShapeRecord, Spectrum, Stop,
};
use eigenforge_runtime::solvers::{Eigenpairs, SpectrumPart, levels};
use eigenforge_runtime::tune::ShapeSource;
use eigenforge_runtime::{Device, Scalar, jit};
use eigenforge_templates::ScalarType;
use std::collections::BTreeMap;

impl RunContext {
    /// What every outcome says of its device, or of several that worked side by side: kernels, versions, warnings, the seconds of compiling and of the whole run.
    /// `notes` are the family's own warnings, `solver` and `stop` what found the result and why it ended. The family fills in the rest; until then there are no energies.
    pub(super) fn outcome(
        &self,
        devices: &[Device],
        model: ModelRecord,
        memory: MemoryRecord,
        notes: Vec<String>,
        (solver, stop): (Method, Stop),
        family: FamilyRecord,
    ) -> Outcome {
        Outcome {
            schema: SCHEMA,
            model,
            energies: Vec::new(),
            stop,
            solver,
            solver_reason: None,
            observables: LevelAverages::default(),
            state_observables: Vec::new(),
            device: names_of(devices),
            kernels: devices.iter().flat_map(KernelRecord::list).collect(),
            seconds: Seconds {
                compile: devices.iter().map(compile_seconds).fold(0.0, f64::max),
                total: self.start.elapsed().as_secs_f64(),
                ..Seconds::default()
            },
            versions: devices.first().map_or_else(BTreeMap::new, versions),
            seed: 0,
            tolerance: 0.0,
            norm: 1.0,
            warnings: devices.iter().fold(notes, warnings_of),
            memory,
            cost: CostRecord::default(),
            family,
        }
    }
}

/// Certificates of a solve whose energies have `constant` added; the spins of its levels, as far as they are known.
pub(super) fn spectrum<T: Scalar>(
    (pairs, which): (&Eigenpairs<T>, SpectrumPart),
    constant: f64,
    spins: &[LevelSpinRecord],
) -> Spectrum {
    let level = |(place, level): (usize, &eigenforge_runtime::solvers::Level)| LevelRecord {
        energy: level.value + constant,
        multiplicity: level.multiplicity,
        returned: level.returned,
        complete: level.complete,
        spin: spins.get(place).cloned(),
    };
    let point = |&(iteration, energy, residual): &(usize, f64, f64)| HistoryPoint {
        iteration,
        energy: energy + constant,
        residual,
    };
    let levels: Vec<LevelRecord> = pairs.levels.iter().enumerate().map(level).collect();
    Spectrum {
        which,
        level_statistics: None,
        residuals: pairs.residuals.clone(),
        uncertainties: pairs.uncertainties(),
        rounding: levels::rounding::<T>(pairs.norm),
        constant,
        energies_without_constant: pairs.values.clone(),
        multiplicities: Spectrum::multiplicities_of(&levels),
        levels,
        iterations: pairs.iterations,
        multiplies: pairs.multiplies,
        advice: pairs.advice.clone(),
        start: pairs.start,
        history: pairs.history.iter().map(point).collect(),
    }
}

/// The shape of a generated product, and where it comes from.
pub(super) fn shape_record(shape: &str, source: &ShapeSource) -> ShapeRecord {
    let (tuned, times) = match source {
        ShapeSource::Rule => (false, None),
        ShapeSource::Tuned(choice) => (true, Some((choice.milliseconds, choice.rule_milliseconds))),
    };
    let (milliseconds, rule_milliseconds) = times.unzip();
    ShapeRecord { shape: shape.into(), tuned, milliseconds, rule_milliseconds }
}

/// Their names, one for all that have the same.
fn names_of(devices: &[Device]) -> String {
    let mut names: Vec<String> = devices.iter().map(Device::name).collect();
    names.dedup();
    match (&names[..], devices.len()) {
        ([one], count) if count > 1 => format!("{count} x {one}"),
        _ => names.join(", "),
    }
}

/// Seconds from texts to loaded kernels.
fn compile_seconds(device: &Device) -> f64 {
    device.kernels_used().iter().fold(0.0, |sum, kernel| sum + kernel.seconds)
}

/// Notes of a solver, and what there is to say of the kernels that ran.
fn warnings_of(mut notes: Vec<String>, device: &Device) -> Vec<String> {
    let kernels = device.kernels_used();
    notes.extend(kernels.iter().filter_map(|kernel| kernel.note.clone()));
    notes.dedup(); // a cache that cannot be written says so for every kernel
    notes.extend(device.unused_overrides());
    notes.extend(kernels.iter().filter_map(overridden));
    notes
}

/// What must be known of numbers that came out of an edited kernel.
fn overridden(kernel: &eigenforge_runtime::LoadedKernel) -> Option<String> {
    let file = kernel.overridden.as_ref()?;
    Some(format!("kernel {} was overridden: {} ran in place of the generated text", kernel.name, file.display()))
}

/// eigenforge, and on a GPU the compiler and the CUDA version of the driver.
fn versions(device: &Device) -> BTreeMap<String, String> {
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

/// What will be resident, against what is free.
pub(super) fn memory_record(device: &Device, plan: Vec<(String, u64)>) -> MemoryRecord {
    memory_of(plan, device.memory().free)
}

/// What will be resident by item, against what is available; in bytes.
pub(super) fn memory_of(plan: Vec<(String, u64)>, available_bytes: u64) -> MemoryRecord {
    let items: Vec<MemoryItem> = plan.into_iter().map(|(name, bytes)| MemoryItem { name, bytes }).collect();
    let planned_bytes = items.iter().fold(0u64, |sum, item| sum.saturating_add(item.bytes));
    MemoryRecord { items, planned_bytes, available_bytes }
}

/// What several cards that work as one device hold, and what each receives in a multiply where that is known before; empty for one.
pub(super) fn cards_line(device: &Device, received: Option<Received>) -> String {
    match device.cards_at_work() {
        1 => String::new(),
        cards => {
            let received = received.map_or(String::new(), |received| format!("links    {received}\n"));
            format!(
                "device   {}: each has 1/{cards} of every long vector, and a copy of the tables\n{received}",
                device.name()
            )
        }
    }
}

/// What several ranks hold and send; empty for one.
pub(super) fn ranks_line(plan: Option<RankPlan>, device: &Device, scalar: ScalarType) -> String {
    let Some(ranks) = device.ranks() else { return String::new() };
    let count = ranks.count();
    let Some(plan) = plan else { return format!("ranks    {count}: {}", RankPlan::ALONE) };
    format!("ranks    {count}, {} on this machine: {}", ranks.on_this_machine(), plan.describe(scalar))
}

/// The same for people.
pub(super) fn memory_lines(memory: &MemoryRecord) -> String {
    let gib = |bytes: u64| format!("{:.2} GiB", bytes as f64 / (1u64 << 30) as f64);
    let items: Vec<String> = memory.items.iter().map(|item| format!("{} ({})", item.name, gib(item.bytes))).collect();
    format!("memory   {}; {} free\n\n", items.join(", "), gib(memory.available_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_an_edited_kernel_come_with_a_warning() {
        let generated = eigenforge_runtime::LoadedKernel {
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
            eigenforge_runtime::LoadedKernel { overridden: Some("edits/lobpcg_update.cu".into()), ..generated };
        let warning = "kernel lobpcg_update was overridden: edits/lobpcg_update.cu ran in place of the generated text";
        assert_eq!(overridden(&edited).as_deref(), Some(warning));
    }
}
