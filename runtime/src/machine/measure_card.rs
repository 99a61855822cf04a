//! The rates of a card, measured in a second or two by copies and by three small kernels (`rates.cu`).
//!
//! In: a card and what its driver reports. Out: a [`Card`]. Each rate is the best of several, because other programs on the card can
//! only slow it down.

use super::Card;
use crate::device::{Arguments, Buffer, CardAttributes, Device, Kernel, Vector};
use crate::error::{DeviceError, Result};
use eigenforge_templates::launch::{Access, Element, Launch, Number, Parameter};
use eigenforge_templates::{KernelText, LaunchError};
use std::time::Instant;

/// The kernels.
const TEXT: &str = include_str!("rates.cu");
/// Threads of a block.
const THREADS: u32 = 1024;
/// Blocks on each multiprocessor.
const BLOCKS: u32 = 2;
/// Number of repetitions; the quickest counts.
const REPEATS: usize = 7;
/// Most elements of a copied vector: 512 MiB, ten times the largest L2.
const COPIED: usize = 1 << 26;
/// Elements of the table that atomics add to: the sums of two million rows.
const COUNTS: usize = 1 << 21;
/// Bytes of a sector of L2.
const SECTOR: u64 = 32;
/// Launches in the timed queue.
const LAUNCHES: usize = 500;
/// Timed launches that the host waits for.
const WAITS: usize = 100;

/// The amount of work of the kernels.
#[derive(Clone, Copy)]
struct Sizes {
    blocks: u32,
    threads: u32,
    /// Number of sectors to gather from, a power of two.
    sectors: usize,
    /// Number of elements to add to, a power of two.
    counts: usize,
    rounds: i64,
}

/// Measures a card.
///
/// # Errors
/// The card fails, or has no room for a vector and its copy.
pub(super) fn measure(device: &Device, attributes: &CardAttributes) -> Result<Card> {
    // A quarter of L2 or less stays in L2.
    let sectors = ((attributes.l2_bytes / 4 / SECTOR).max(1 << 14) as usize + 1).next_power_of_two() / 2;
    let sizes =
        Sizes { blocks: BLOCKS * attributes.multiprocessors, threads: THREADS, sectors, counts: COUNTS, rounds: 2048 };
    let mut kernels = Kernels::new(device, sizes)?;
    let threads = f64::from(sizes.blocks) * f64::from(sizes.threads) * sizes.rounds as f64;
    let l2_rate = SECTOR as f64 * threads / seconds(device, || kernels.gather())?;
    let atomic_rate = threads / seconds(device, || kernels.add())?;
    let fp64_rate = 16.0 * threads / seconds(device, || kernels.multiply())?;
    let memory_rate = copies(device, attributes.l2_bytes)?;
    let launch_seconds = queue(device, &mut kernels)?;
    let round_trip_seconds = waits(&mut kernels)?;
    Ok(Card {
        memory_rate,
        l2_rate,
        atomic_rate,
        fp64_rate,
        launch_seconds,
        round_trip_seconds,
        ..Card::estimated(attributes)
    })
}

/// The kernels and their buffers.
struct Kernels {
    kernel: Kernel,
    sizes: Sizes,
    x: Vector<f64>,
    sums: Vector<f64>,
    counts: Buffer<u64>,
}

impl Kernels {
    fn new(device: &Device, sizes: Sizes) -> Result<Kernels> {
        let entries = ["gather_all", "add_all", "multiply_and_add"].map(String::from).to_vec();
        let text = KernelText { name: "rates".into(), text: TEXT.into(), plan: String::new(), entries };
        let sums = sizes.blocks as usize * sizes.threads as usize;
        Ok(Kernels {
            kernel: device.compile(&text)?,
            sizes,
            x: device.random(4 * sizes.sectors, 1)?,
            sums: device.zeros(sums)?,
            counts: device.buffer(&vec![0; sizes.counts])?,
        })
    }

    fn launch(&self, entry: &str, blocks: u32, parameters: Vec<Parameter>) -> Result<Launch, LaunchError> {
        Launch::new(entry, blocks.into(), self.sizes.threads, 0, parameters)
    }

    fn gather(&mut self) -> Result<()> {
        let Sizes { blocks, sectors, rounds, .. } = self.sizes;
        let parameters = vec![
            Parameter::table("x", Element::F64, 4 * sectors as u64),
            Parameter::memory("sums", Element::F64, Access::Out, self.sums.len() as u64),
            Parameter::number("n", Number::I64),
            Parameter::number("rounds", Number::I64),
        ];
        let launch = self.launch("gather_all", blocks, parameters)?;
        let arguments = Arguments::new().read("x", &self.x).write("sums", &mut self.sums);
        self.kernel.launch(&launch, arguments.i64("n", sectors as i64).i64("rounds", rounds))
    }

    fn add(&mut self) -> Result<()> {
        let Sizes { blocks, counts, rounds, .. } = self.sizes;
        let parameters = vec![
            Parameter::memory("counts", Element::U64, Access::InOut, counts as u64),
            Parameter::number("n", Number::I64),
            Parameter::number("rounds", Number::I64),
        ];
        let launch = self.launch("add_all", blocks, parameters)?;
        let arguments = Arguments::new().write("counts", &mut self.counts);
        self.kernel.launch(&launch, arguments.i64("n", counts as i64).i64("rounds", rounds))
    }

    fn multiply(&mut self) -> Result<()> {
        self.chains(self.sizes.blocks, self.sizes.rounds)
    }

    /// One block with almost no work.
    fn nothing(&mut self) -> Result<()> {
        self.chains(1, 1)
    }

    fn chains(&mut self, blocks: u32, rounds: i64) -> Result<()> {
        let parameters = vec![
            Parameter::memory("sums", Element::F64, Access::Out, self.sums.len() as u64),
            Parameter::number("rounds", Number::I64),
            Parameter::number("factor", Number::F64),
            Parameter::number("shift", Number::F64),
        ];
        let launch = self.launch("multiply_and_add", blocks, parameters)?;
        let arguments = Arguments::new().write("sums", &mut self.sums);
        self.kernel.launch(&launch, arguments.i64("rounds", rounds).f64("factor", 0.5).f64("shift", 1.0))
    }
}

/// Seconds of the quickest of several runs, without the first, which warms up.
fn seconds(device: &Device, mut run: impl FnMut() -> Result<()>) -> Result<f64> {
    run()?;
    let mut best = f64::INFINITY;
    for _ in 0..REPEATS {
        let (done, milliseconds) = device.time(&mut run)?;
        done?;
        best = best.min(1e-3 * milliseconds);
    }
    Ok(best)
}

/// Bytes per second that a copy reads and writes.
fn copies(device: &Device, l2_bytes: u64) -> Result<f64> {
    let room = device.memory().free / 4 / 8;
    let length = COPIED.min(usize::try_from(room).unwrap_or(COPIED)).max(1);
    let needed = 8 * l2_bytes;
    if 16 * (length as u64) < needed {
        let crate::Memory { free, total } = device.memory();
        return Err(DeviceError::Memory {
            what: "vectors that no cache holds, to measure the memory's rate".into(),
            device: device.name(),
            needed: 2 * needed,
            free,
            total,
            fits: "measure while nothing else is on the card".into(),
        });
    }
    let (from, mut to) = (device.zeros::<f64>(length)?, device.zeros::<f64>(length)?);
    Ok(16.0 * length as f64 / seconds(device, || to.copy_from(&from))?)
}

/// Seconds per launch in a queue.
fn queue(device: &Device, kernels: &mut Kernels) -> Result<f64> {
    let of_all = seconds(device, || (0..LAUNCHES).try_for_each(|_| kernels.nothing()))?;
    Ok(of_all / LAUNCHES as f64)
}

/// Seconds of a launch that the host waits for: the median, which a suspended thread does not change.
fn waits(kernels: &mut Kernels) -> Result<f64> {
    let mut all = Vec::with_capacity(WAITS);
    for _ in 0..WAITS {
        let start = Instant::now();
        kernels.nothing()?;
        kernels.sums.download_first(1)?;
        all.push(start.elapsed().as_secs_f64());
    }
    all.sort_by(f64::total_cmp);
    Ok(all[WAITS / 2])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Checks;
    use crate::simulate::Schedule;
    use crate::testing;

    /// The kernels do the work that is counted; run in the simulator, which checks every access.
    #[test]
    fn the_kernels_do_what_is_counted() {
        let Some(device) = testing::simulated(Schedule::Reverse, Checks::Every) else { return };
        let sizes = Sizes { blocks: 2, threads: 64, sectors: 64, counts: 128, rounds: 3 };
        let mut kernels = Kernels::new(&device, sizes).unwrap();
        kernels.gather().unwrap();
        let (x, sums) = (kernels.x.download().unwrap(), kernels.sums.download().unwrap());
        for (thread, sum) in sums.iter().enumerate() {
            let mut place = (thread as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let gathered = (0..3).map(|_| {
                place = place.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                x[4 * ((place >> 32) as usize % 64)]
            });
            assert!((sum - gathered.sum::<f64>()).abs() < 1e-12, "thread {thread}");
        }
        kernels.add().unwrap();
        assert_eq!(kernels.counts.download().unwrap().iter().sum::<u64>(), 2 * 64 * 3);
        kernels.multiply().unwrap();
        let chain = |start: f64| (0..3).fold(start, |value, _| 0.5 * value + 1.0);
        let expected = |lane: usize| (0..8).map(|j| chain((j + lane) as f64)).sum::<f64>();
        let sums = kernels.sums.download().unwrap();
        assert!(sums.iter().enumerate().all(|(thread, sum)| (sum - expected(thread % 64)).abs() < 1e-12));
    }
}
