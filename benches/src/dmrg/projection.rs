//! H x of a bond by its operation records: the generated kernel beside cuBLAS in the ways of the paper.
//!
//! In: lists of records with their matrices. Out: milliseconds and TFLOP/s of one product by each strategy, all compared
//! with each other first. The lists are those of superblocks of the paper's size (Nemes et al. 2014: Heisenberg chain of
//! 26 sites, Hubbard chain of 14, blocks that keep 4,096 states), as the paper has them and planned by structure; the products among them whose blocks are below 512; and products of one size.

use super::DmrgBenchError;
use super::full_block::{FullBond, Projection};
use crate::vendor::{self, VendorStrategy};
use crate::{median, seeded};
use eigenforge::basis::Sector;
use eigenforge::dmrg::{Chain, SuperblockForm};
use eigenforge::lattice::Lattice;
use eigenforge::models;
use eigenforge_runtime::records::card::{DeviceBuffers, LibraryProducts, Loads, Products};
use eigenforge_runtime::records::{
    Action, Buffers, Operand, OperandSpace, Record, RecordGroup, RecordStage, Strategy, run,
};
use eigenforge_runtime::{Device, DeviceError, Vector};
use std::io::Write;
use std::time::Instant;

/// A list of records and what they read.
pub struct Case {
    /// For people.
    pub name: String,
    /// One stage, or two of which the second reads what the first writes.
    pub stages: Vec<RecordStage>,
    /// Matrices by space.
    pub data: Vec<(OperandSpace, Vec<f64>)>,
    /// What the paper's run of this case did, if it is one.
    pub paper: Option<PaperRun>,
}

/// Operations and seconds of one of the paper's runs at 4,096 states on a Xeon E5 and a K20 (Nemes et al. 2014, Tables 3 to 5).
#[derive(Clone, Copy, Debug)]
pub struct PaperRun {
    /// Floating-point operations.
    pub flops: f64,
    /// Seconds.
    pub seconds: f64,
}

/// The Heisenberg chain's run.
const HEISENBERG: PaperRun = PaperRun { flops: 1.22e14, seconds: 227.33 };
/// The Hubbard chain's run.
const HUBBARD: PaperRun = PaperRun { flops: 4.89e14, seconds: 1012.56 };
/// Blocks below this are the small ones.
const SMALL: usize = 512;
/// Elements of all output blocks of one size together.
const UNIFORM: usize = 10_000_000;

impl Case {
    /// Operations of a pass.
    pub fn flops(&self) -> f64 {
        self.stages.iter().map(RecordStage::flops).sum()
    }

    /// The paper's superblock of a Heisenberg chain of `sites`.
    ///
    /// # Errors
    /// An error of the CPU's engine.
    pub fn heisenberg(sites: usize, form: SuperblockForm) -> Result<Case, DmrgBenchError> {
        let (bonds, zero) = (vec![1.0; sites - 1], vec![0.0; sites]);
        let model = models::xxz(&Lattice::chain(sites).open(), &bonds, &bonds, &zero, &zero);
        let chain = Chain::new(&model, Sector::Spins { two_sz: 0 }, None)?;
        Case::new(format!("Heisenberg, {sites} sites"), chain, form, HEISENBERG)
    }

    /// The paper's superblock of a Hubbard chain of `sites`, U = 4.
    ///
    /// # Errors
    /// An error of the CPU's engine.
    pub fn hubbard(sites: usize, form: SuperblockForm) -> Result<Case, DmrgBenchError> {
        let lattice = Lattice::chain(sites).open();
        let (t, u, zero) = (vec![1.0; sites - 1], vec![4.0; sites], vec![0.0; sites]);
        let model = models::hubbard(&lattice, &t, &u, &zero, 0.0, &[]);
        let chain = Chain::new(&model, Sector::Fermions { up: sites / 2, down: sites / 2 }, None)?;
        Case::new(format!("Hubbard, {sites} sites"), chain, form, HUBBARD)
    }

    fn new(name: String, chain: Chain, form: SuperblockForm, run: PaperRun) -> Result<Case, DmrgBenchError> {
        let (how, paper) = match form {
            SuperblockForm::Planned => ("planned", None),
            SuperblockForm::LeftRight => ("the paper's records", Some(run)),
            SuperblockForm::FourParts => ("l-1-1-r", None),
            SuperblockForm::Bundled => ("side by side", None),
        };
        let Projection { superblock, operators } = FullBond::new(&chain.with_superblock(form))?.projection()?;
        let mut data: Vec<(OperandSpace, Vec<f64>)> = Projection::SPACES.into_iter().zip(operators).collect();
        data.push((OperandSpace::Input, seeded::vector(superblock.second.length, seeded::SEED_X)));
        data.retain(|(_, data)| !data.is_empty());
        Ok(Case { name: format!("{name}, {how}"), stages: vec![superblock.first, superblock.second], data, paper })
    }

    /// Its products of blocks below [`SMALL`]; they read intermediates as they would be.
    fn small(&self) -> Case {
        let small = |record: &&Record| match record.action {
            Action::Product { inner, .. } => record.rows.max(record.columns).max(inner) < SMALL,
            _ => false,
        };
        let part = |stage: &RecordStage| {
            let kept = |group: &RecordGroup| RecordGroup {
                records: group.records.iter().filter(small).copied().collect(),
                ..*group
            };
            let mut groups: Vec<RecordGroup> = stage.groups.iter().map(kept).collect();
            groups.retain(|group| !group.records.is_empty());
            RecordStage { groups, length: stage.length }
        };
        let stages = self.stages.iter().map(part).collect();
        Case { name: format!("{}, blocks below {SMALL}", self.name), stages, data: self.data.clone(), paper: None }
    }

    /// Output blocks of n × n with so many elements together, each the sum of four products.
    pub fn uniform_of(n: usize, elements: usize) -> Case {
        let (area, count) = (n * n, (elements / (n * n)).max(1));
        let operand = |space, which: usize| Operand { space, offset: which * area, stride: n, transposed: false };
        let record = |which: usize| Record {
            action: Action::Product {
                a: operand(OperandSpace::Left, which % count),
                b: operand(OperandSpace::Input, which / 4),
                inner: n,
            },
            coefficient: 1.0,
            first: 0,
            stride: n,
            rows: n,
            columns: n,
        };
        let group = |g: usize| RecordGroup {
            offset: g * area,
            length: area,
            records: (0..4).map(|k| record(4 * g + k)).collect(),
        };
        let stage = RecordStage { groups: (0..count).map(group).collect(), length: count * area };
        let data = [(OperandSpace::Left, 3), (OperandSpace::Input, 4)]
            .map(|(space, seed)| (space, seeded::vector(count * area, seed)));
        Case {
            name: format!("{count} blocks of {n}, four products each"),
            stages: vec![stage],
            data: data.into(),
            paper: None,
        }
    }
}

/// Median milliseconds of one pass by a strategy of a solve, and the last stage's output; operands of ours come by `loads`.
fn timed(
    case: &Case,
    strategy: Strategy,
    loads: Option<Loads>,
    device: &Device,
    repeats: usize,
) -> Result<(f64, Vec<f64>), DmrgBenchError> {
    let vectors = case.data.iter().map(|(space, data)| Ok((*space, device.upload(data)?)));
    let vectors = vectors.collect::<Result<Vec<_>, DmrgBenchError>>()?;
    let buffers = vectors.iter().fold(DeviceBuffers::default(), |buffers, (space, v)| buffers.set(*space, v));
    let mut outputs =
        case.stages.iter().map(|s| device.zeros::<f64>(s.length.max(1))).collect::<Result<Vec<_>, _>>()?;
    let stages = case.stages.iter();
    let times = if strategy == Strategy::Planned {
        let products = Products::new(device)?;
        let products = if let Some(loads) = loads { products.always(loads)? } else { products };
        let prepared = stages.map(|stage| products.prepare(stage)).collect::<Result<Vec<_>, _>>()?;
        times(&prepared, &buffers, &mut outputs, device, repeats, |stage, buffers, output| {
            products.run(stage, buffers, output)
        })?
    } else {
        let library = LibraryProducts::new(device, strategy)?;
        let prepared = stages.map(|stage| library.prepare(stage, &buffers)).collect::<Result<Vec<_>, _>>()?;
        times(&prepared, &buffers, &mut outputs, device, repeats, |stage, buffers, output| {
            library.run_into(stage, buffers, output, 0)
        })?
    };
    let output = outputs.last().map(|output| output.download()).transpose()?.unwrap_or_default();
    Ok((median(&times), output))
}

/// Milliseconds of each pass over one stage, or two of which the second reads what the first writes.
fn times<S>(
    prepared: &[S],
    buffers: &DeviceBuffers<'_>,
    outputs: &mut [Vector<f64>],
    device: &Device,
    repeats: usize,
    run: impl Fn(&S, &DeviceBuffers<'_>, &mut Vector<f64>) -> Result<(), DeviceError>,
) -> Result<Vec<f64>, DeviceError> {
    let mut pass = || match (&mut *outputs, prepared) {
        ([between, y], [first, second]) => {
            run(first, buffers, between)?;
            run(second, &buffers.set(OperandSpace::Between, between), y)
        }
        ([y, ..], [only, ..]) => run(only, buffers, y),
        _ => Ok(()),
    };
    pass()?;
    let mut times = Vec::with_capacity(repeats);
    for _ in 0..repeats {
        let (done, milliseconds) = device.time(&mut pass)?;
        done?;
        times.push(milliseconds);
    }
    Ok(times)
}

/// Times a case by every strategy: name and median milliseconds of each, ours first. All products are compared.
///
/// # Errors
/// A device that fails, products that disagree.
pub fn measured(
    case: &Case,
    device: &Device,
    ordinal: usize,
    repeats: usize,
) -> Result<Vec<(String, f64)>, DmrgBenchError> {
    let (milliseconds, expected) = timed(case, Strategy::Planned, None, device, repeats)?;
    let size = expected.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
    let mut rows = vec![("ours, a launch a stage".to_string(), milliseconds)];
    for (loads, name) in [(Loads::Carried, "ours, operands carried"), (Loads::Streamed, "ours, operands streamed")] {
        if device.is_cuda() {
            let (time, found) = timed(case, Strategy::Planned, Some(loads), device, repeats)?;
            agree(case, name, &found, &expected, size)?;
            rows.push((name.into(), time));
        }
    }
    for strategy in Strategy::ALL.into_iter().filter(|s| *s != Strategy::Planned && device.is_cuda()) {
        let (time, found) = timed(case, strategy, None, device, repeats)?;
        agree(case, strategy.name(), &found, &expected, size)?;
        rows.push((strategy.name().into(), time));
    }
    let stages: Vec<&RecordStage> = case.stages.iter().collect();
    let data: Vec<(OperandSpace, &[f64])> = case.data.iter().map(|(space, data)| (*space, data.as_slice())).collect();
    for strategy in VendorStrategy::ALL.into_iter().filter(|_| device.is_cuda()) {
        let found = match vendor::products(&stages, &data, strategy, ordinal, repeats) {
            Ok(found) => found,
            Err(error @ vendor::VendorError::Unsupported { .. }) => {
                tracing::info!(%error, strategy = strategy.name(), "left out");
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        agree(case, strategy.name(), &found.output, &expected, size)?;
        rows.push((strategy.name().into(), found.milliseconds));
    }
    Ok(rows)
}

/// Seconds of one pass over a case of two stages on this machine's cores.
pub fn on_host(case: &Case, repeats: usize) -> f64 {
    let buffers = case.data.iter().fold(Buffers::default(), |buffers, (space, data)| buffers.set(*space, data));
    let mut outputs: Vec<Vec<f64>> = case.stages.iter().map(|stage| vec![0.0; stage.length]).collect();
    let mut pass = || {
        let begun = Instant::now();
        match (&mut outputs[..], &case.stages[..]) {
            ([between, y], [first, second]) => {
                run(first, buffers, between);
                run(second, buffers.set(OperandSpace::Between, between), y);
            }
            ([y, ..], [only, ..]) => run(only, buffers, y),
            _ => {}
        }
        begun.elapsed().as_secs_f64()
    };
    pass();
    median(&(0..repeats.max(1)).map(|_| pass()).collect::<Vec<_>>())
}

/// Times a case by every strategy and writes its rows.
///
/// # Errors
/// A device that fails, products that disagree.
pub fn table(
    case: &Case,
    device: &Device,
    ordinal: usize,
    repeats: usize,
    out: &mut dyn Write,
) -> Result<(), DmrgBenchError> {
    let (flops, rows) = (case.flops(), measured(case, device, ordinal, repeats)?);
    let ours = rows.first().map_or(f64::NAN, |row| row.1);
    writeln!(out, "\n{}: {flops:.3e} flop", case.name)?;
    writeln!(out, "| strategy | ms | TFLOP/s | ours, times faster |\n|---|---|---|---|")?;
    for (name, time) in &rows {
        writeln!(out, "| {name} | {time:.3} | {:.2} | {:.2} x |", 1e-9 * flops / time, time / ours)?;
    }
    if let Some(PaperRun { flops: whole, seconds }) = case.paper {
        let here = 1e-3 * ours * whole / flops;
        writeln!(out, "the paper's run: {whole:.3e} flop, {seconds} s there, {here:.2} s at this rate")?;
    }
    Ok(())
}

/// Compares a product with another of the size of its largest element.
pub(super) fn agree(
    case: &Case,
    strategy: &'static str,
    found: &[f64],
    expected: &[f64],
    size: f64,
) -> Result<(), DmrgBenchError> {
    for (element, (&found, &expected)) in found.iter().zip(expected).enumerate() {
        let close = (found - expected).abs() <= 1e-11 * size;
        if !close {
            return Err(DmrgBenchError::Differs { case: case.name.clone(), strategy, element, found, expected });
        }
    }
    Ok(())
}

/// All cases, written as they come.
///
/// # Errors
/// The errors of [`table`].
pub fn tables(
    sizes: &[usize],
    device: &Device,
    ordinal: usize,
    repeats: usize,
    out: &mut dyn Write,
) -> Result<(), DmrgBenchError> {
    for form in [SuperblockForm::LeftRight, SuperblockForm::FourParts, SuperblockForm::Planned] {
        for case in [Case::heisenberg(26, form)?, Case::hubbard(14, form)?] {
            table(&case, device, ordinal, repeats, out)?;
            if form == SuperblockForm::LeftRight {
                table(&case.small(), device, ordinal, repeats, out)?;
            }
        }
    }
    sizes.iter().try_for_each(|n| table(&Case::uniform_of(*n, UNIFORM), device, ordinal, repeats, out))
}
