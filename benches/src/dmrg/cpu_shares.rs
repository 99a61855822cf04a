//! H x with a share of the CPU beside the card (Nemes et al. 2014, figures 15 to 18).
//!
//! In: the superblocks of [`projection`](super::projection), shares. Out: milliseconds of a product at each, copies of x and of
//! the CPU's blocks included, operators brought before; every product is compared with the card's own first.

use super::DmrgBenchError;
use super::projection::{Case, agree};
use eigenforge::dmrg::SuperblockForm;
use eigenforge_runtime::records::card::{DeviceBuffers, Products};
use eigenforge_runtime::records::card::{Multiplier, RecordsMultiply};
use eigenforge_runtime::records::{CpuShare, OperandSpace, RecordStage, Strategy, TwoStages};
use eigenforge_runtime::residency::{MemoryLimits, Pool, PoolBuffer};
use eigenforge_runtime::timing::median;
use eigenforge_runtime::{Device, DeviceError};
use std::io::Write;
use std::sync::Arc;

/// A case on the device.
struct Loaded<'a> {
    case: &'a Case,
    device: &'a Device,
    pool: Arc<Pool>,
    superblock: TwoStages,
    operators: Vec<(OperandSpace, PoolBuffer)>,
    x: PoolBuffer,
    y: PoolBuffer,
}

/// What a share came to.
struct Shared {
    milliseconds: f64,
    part: f64,
    output: Vec<f64>,
}

impl<'a> Loaded<'a> {
    fn new(case: &'a Case, device: &'a Device) -> Result<Option<Loaded<'a>>, DmrgBenchError> {
        let [first, second] = case.stages.as_slice() else { return Ok(None) };
        let superblock = TwoStages { first: first.clone(), second: second.clone() };
        let pool = Pool::new(device, MemoryLimits::new(device, None, None, std::env::temp_dir()))?;
        let (mut operators, mut x) = (Vec::new(), None);
        for (space, data) in &case.data {
            let held = pool.upload(data)?;
            match space {
                OperandSpace::Input => x = Some(held),
                _ => operators.push((*space, held)),
            }
        }
        let y = pool.take(second.length)?;
        Ok(x.map(|x| Loaded { case, device, pool, superblock, operators, x, y }))
    }

    fn run(&mut self, products: &Products, share: CpuShare, repeats: usize) -> Result<Shared, DeviceError> {
        let Loaded { device, pool, superblock, operators, x, y, .. } = self;
        let by = Multiplier::new(device, products, Strategy::Planned, share)?;
        let buffers =
            || operators.iter().fold(DeviceBuffers::default(), |b, (space, held)| b.set(*space, held.vector()));
        let prepare = || by.prepare(superblock, buffers(), pool);
        // A share that is measured is known after the first product.
        prepare()?.run(x, 0, y, 0)?;
        let mut multiply: RecordsMultiply<'_> = prepare()?;
        multiply.run(x, 0, y, 0)?;
        let mut times = Vec::with_capacity(repeats);
        for _ in 0..repeats {
            let (done, milliseconds) = device.time(|| multiply.run(x, 0, y, 0))?;
            done?;
            times.push(milliseconds);
        }
        let part = multiply.cpu_part();
        drop(multiply);
        Ok(Shared { milliseconds: median(&times), part, output: y.download()? })
    }
}

/// Median milliseconds of a case's product at each share, all compared with the device alone.
///
/// # Errors
/// A device that fails, products that disagree.
pub fn times(case: &Case, shares: &[CpuShare], device: &Device, repeats: usize) -> Result<Vec<f64>, DmrgBenchError> {
    let products = Products::new(device)?;
    let Some(mut loaded) = Loaded::new(case, device)? else { return Ok(Vec::new()) };
    let alone = loaded.run(&products, CpuShare::default(), 1)?;
    let size = alone.output.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
    let time = |share: &CpuShare| {
        let Shared { milliseconds, output, .. } = loaded.run(&products, *share, repeats)?;
        agree(case, "a share of the CPU", &output, &alone.output, size)?;
        Ok(milliseconds)
    };
    shares.iter().map(time).collect()
}

/// Times the paper's superblocks, its records and the planned ones, at each share.
///
/// # Errors
/// A device that fails, products that disagree.
pub fn tables(shares: &[CpuShare], device: &Device, repeats: usize, out: &mut dyn Write) -> Result<(), DmrgBenchError> {
    let products = Products::new(device)?;
    let (list, planned) = (SuperblockForm::LeftRight, SuperblockForm::Planned);
    for (form, hubbard) in [(list, false), (list, true), (planned, false), (planned, true)] {
        let case = if hubbard { Case::hubbard(14, form) } else { Case::heisenberg(26, form) }?;
        let Some(mut loaded) = Loaded::new(&case, device)? else { continue };
        let flops: f64 = case.stages.iter().map(RecordStage::flops).sum();
        writeln!(out, "\n{}: {flops:.3e} flop, {} threads", case.name, rayon::current_num_threads())?;
        writeln!(
            out,
            "| cpu_share | of the operations | ms | TFLOP/s | times the card alone |\n|---|---|---|---|---|"
        )?;
        let alone = loaded.run(&products, CpuShare::default(), repeats)?;
        let size = alone.output.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
        for share in shares {
            let Shared { milliseconds, part, output } = loaded.run(&products, *share, repeats)?;
            agree(loaded.case, "a share of the CPU", &output, &alone.output, size)?;
            let (rate, times) = (1e-9 * flops / milliseconds, milliseconds / alone.milliseconds);
            writeln!(out, "| {share} | {part:.4} | {milliseconds:.3} | {rate:.2} | {times:.2} |")?;
            out.flush()?;
        }
    }
    Ok(())
}
