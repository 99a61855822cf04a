//! y = H x on a card, by the [strategy](Strategy) of the run, with the CPU's share if it has one.
//!
//! In: the two stages of records, the operators' buffers. Out: a product from one basis vector into another.
//! With a CPU [share](CpuShare) the card's launches are queued first, then the CPU runs its records, then its blocks are
//! copied to the card. Without a share, no vector crosses.

use super::super::{CpuShare, OperandSpace, RecordStage, Split, Strategy, TwoStages};
use super::balance::{Balance, Decision, TRIAL};
use super::cpu_part::{CpuPart, CpuPartMemory};
use super::vendor::Division;
use super::{DeviceBuffers, LibraryProducts, LibraryStage, PreparedStage, Products};
use crate::device::{Device, Vector};
use crate::error::DeviceError;
use crate::residency::{Pool, PoolBuffer};
use std::sync::{Arc, OnceLock};

/// What computes H x in solves.
pub struct Multiplier {
    device: Device,
    by: By,
    balance: Balance,
    /// Memory for the CPU's part, if it may have one.
    cpu_memory: Option<CpuPartMemory>,
}

enum By {
    /// The generated kernel, with cuBLAS for blocks of large matrices where the machine has it.
    Planned { own: Box<Products>, vendor: OnceLock<Option<LibraryProducts>> },
    /// cuBLAS.
    Library(LibraryProducts),
}

/// A stage with the implementation that runs it.
enum Stage<'a> {
    Own(&'a Products, Box<PreparedStage>),
    Library(&'a LibraryProducts, LibraryStage),
    /// The generated kernel, then cuBLAS where that left zeros.
    Both(&'a Products, Box<PreparedStage>, &'a LibraryProducts, LibraryStage),
}

/// The card's part of one H.
struct CardPart<'a> {
    stages: [Stage<'a>; 2],
    buffers: DeviceBuffers<'a>,
    between: PoolBuffer,
    /// Elements of the first stage's output.
    made: usize,
}

/// One H.
pub struct RecordsMultiply<'a> {
    device: &'a Device,
    /// Operations of a product.
    flops: f64,
    card: CardPart<'a>,
    cpu: Option<CpuPart<'a>>,
    trial: Option<Trial<'a>>,
    part: f64,
}

/// A timed trial: the CPU computes a part that the card computes too.
struct Trial<'a> {
    cpu: CpuPart<'a>,
    part: f64,
    octave: i32,
    balance: &'a Balance,
}

impl Multiplier {
    /// For a device that runs kernels.
    ///
    /// # Errors
    /// A library is missing; the device fails.
    pub fn new(
        device: &Device,
        products: &Products,
        strategy: Strategy,
        share: CpuShare,
    ) -> Result<Multiplier, DeviceError> {
        let by = match strategy {
            Strategy::Planned => By::Planned { own: Box::new(products.clone()), vendor: OnceLock::new() },
            _ => By::Library(LibraryProducts::new(device, strategy)?),
        };
        let balance = Balance::new(share);
        let cpu_memory = if balance.any() { Some(CpuPartMemory::new(device)?) } else { None };
        Ok(Multiplier { device: device.clone(), by, balance, cpu_memory })
    }

    /// Prepares the records of one H.
    ///
    /// # Errors
    /// Not enough memory; records that the strategy does not support.
    pub fn prepare<'a>(
        &'a self,
        product: &TwoStages,
        buffers: DeviceBuffers<'a>,
        pool: &Arc<Pool>,
    ) -> Result<RecordsMultiply<'a>, DeviceError> {
        let device = &self.device;
        let card = |records: &TwoStages| self.by.card_part(device, records, buffers, pool);
        let flops = product.flops();
        let alone = |card| RecordsMultiply { device, flops, card, cpu: None, trial: None, part: 0.0 };
        let Some(cpu_memory) = &self.cpu_memory else { return Ok(alone(card(product)?)) };
        match self.balance.decide(product) {
            Decision::Part(0.0) => Ok(alone(card(product)?)),
            Decision::Part(part) => {
                let split = Split::new(product, part);
                let part = split.part;
                let card = card(&split.card)?;
                Ok(RecordsMultiply {
                    device,
                    flops,
                    card,
                    cpu: cpu_memory.prepare(split, &buffers)?,
                    trial: None,
                    part,
                })
            }
            Decision::Trial(octave) => {
                let split = Split::new(product, TRIAL);
                let (part, balance) = (split.part, &self.balance);
                let trial = cpu_memory.prepare(split, &buffers)?.map(|cpu| Trial { cpu, part, octave, balance });
                Ok(RecordsMultiply { trial, ..alone(card(product)?) })
            }
        }
    }
}

impl By {
    fn card_part<'a>(
        &'a self,
        device: &Device,
        product: &TwoStages,
        buffers: DeviceBuffers<'a>,
        pool: &Arc<Pool>,
    ) -> Result<CardPart<'a>, DeviceError> {
        let stages =
            [self.prepare(device, &product.first, &buffers)?, self.prepare(device, &product.second, &buffers)?];
        Ok(CardPart { stages, buffers, between: pool.take(product.first.length)?, made: product.first.length })
    }

    fn prepare(
        &self,
        device: &Device,
        stage: &RecordStage,
        buffers: &DeviceBuffers<'_>,
    ) -> Result<Stage<'_>, DeviceError> {
        let (own, vendor) = match self {
            By::Library(by) => return Ok(Stage::Library(by, by.prepare(stage, buffers)?)),
            By::Planned { own, vendor } => (own, vendor),
        };
        let division = if device.is_cuda() { Division::new(stage) } else { Division::Own };
        // Where the library is missing, the generated kernel does everything.
        let vendor = match division {
            Division::Own => None,
            _ => vendor.get_or_init(|| LibraryProducts::new(device, Strategy::FourStreams).ok()).as_ref(),
        };
        Ok(match (division, vendor) {
            (Division::Own, _) | (_, None) => Stage::Own(own, Box::new(own.prepare(stage)?)),
            (Division::Vendor, Some(by)) => Stage::Library(by, by.prepare(stage, buffers)?),
            (Division::Both([small, large]), Some(by)) => {
                Stage::Both(own, Box::new(own.prepare(&small)?), by, by.prepare(&large, buffers)?.over_zeros())
            }
        })
    }
}

impl Stage<'_> {
    /// Queues the stage into `output` from element `first` on; it is zero where there are no records.
    fn run(&self, buffers: &DeviceBuffers<'_>, output: &mut Vector<f64>, first: usize) -> Result<(), DeviceError> {
        match self {
            Stage::Own(by, stage) => by.run_into(stage, buffers, output, first),
            Stage::Library(by, stage) => by.run_into(stage, buffers, output, first),
            Stage::Both(own, small, by, large) => {
                own.run_into(small, buffers, output, first)?;
                by.run_into(large, buffers, output, first)
            }
        }
    }
}

impl CardPart<'_> {
    /// Queues y into `w` from element `to` on; it is zero where the card has no records.
    fn run(&mut self, v: &Vector<f64>, from: usize, w: &mut Vector<f64>, to: usize) -> Result<(), DeviceError> {
        let input = self.buffers.with_from(OperandSpace::Input, v, from);
        let [first, second] = &self.stages;
        if self.made > 0 {
            first.run(&input, self.between.vector_mut(), 0)?;
        }
        second.run(&input.set(OperandSpace::Between, self.between.vector()), w, to)
    }
}

impl RecordsMultiply<'_> {
    /// Operations of a product.
    pub(crate) fn flops(&self) -> f64 {
        self.flops
    }

    /// The fraction of the operations that the CPU does.
    pub fn cpu_part(&self) -> f64 {
        self.part
    }

    /// Queues `w` from element `to` on = H times `v` from element `from` on; waits if the CPU takes part.
    ///
    /// # Errors
    /// A vector is too short; the device fails.
    pub fn run(&mut self, v: &PoolBuffer, from: usize, w: &mut PoolBuffer, to: usize) -> Result<(), DeviceError> {
        self.run_into(v.vector(), from, w.vector_mut(), to)
    }

    /// The same for vectors of no pool.
    ///
    /// # Errors
    /// See [`RecordsMultiply::run`].
    pub(crate) fn run_into(
        &mut self,
        v: &Vector<f64>,
        from: usize,
        w: &mut Vector<f64>,
        to: usize,
    ) -> Result<(), DeviceError> {
        if let Some(trial) = self.trial.take() {
            return trial.run(self.device, &mut self.card, (v, from), (w, to));
        }
        let Some(cpu) = &mut self.cpu else { return self.card.run(v, from, w, to) };
        let x = cpu.begin(v, from)?;
        self.card.run(v, from, w, to)?;
        cpu.finish(x, w, to)
    }
}

impl Trial<'_> {
    /// Runs the product on the card and then a part of it on the CPU, each once before it is timed.
    fn run(
        mut self,
        device: &Device,
        card: &mut CardPart<'_>,
        (v, from): (&Vector<f64>, usize),
        (w, to): (&mut Vector<f64>, usize),
    ) -> Result<(), DeviceError> {
        card.run(v, from, w, to)?;
        let (done, milliseconds) = device.time(|| card.run(v, from, w, to))?;
        done?;
        for _ in 0..2 {
            let x = self.cpu.begin(v, from)?;
            self.cpu.finish(x, w, to)?;
        }
        self.balance.note(self.octave, 1e-3 * milliseconds, self.part, self.cpu.seconds);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::sample::{buffers, difference, sample};
    use super::super::vendor::tests::mixed;
    use super::*;
    use crate::backend::test_device;
    use crate::records;
    use crate::residency::MemoryLimits;
    use crate::seeded::vector;

    /// H x into the middle of a poisoned vector, twice; returns the CPU's fraction, and whether it took part at all.
    fn product(
        share: CpuShare,
        records: &TwoStages,
        operators: &[(OperandSpace, Vec<f64>)],
        x: &[f64],
    ) -> (Vec<f64>, f64) {
        let device = test_device().expect("tests ask before");
        let pool = Pool::new(&device, MemoryLimits::tiny(1 << 30)).unwrap();
        let products = Products::new(&device).unwrap();
        let multiplier = Multiplier::new(&device, &products, Strategy::Planned, share).unwrap();
        assert_eq!(multiplier.cpu_memory.is_some(), share != CpuShare::Part(0.0), "no memory, no stream, no copy");
        let held: Vec<(OperandSpace, PoolBuffer)> =
            operators.iter().map(|(space, data)| (*space, pool.upload(data).unwrap())).collect();
        let buffers = held.iter().fold(DeviceBuffers::default(), |b, (space, held)| b.set(*space, held.vector()));
        if let Some(cpu_memory) = &multiplier.cpu_memory {
            cpu_memory.poison(1 << 16);
        }
        let n = records.second.length;
        let (from, to) = (13, 64);
        let v = pool.upload(&[&vec![f64::NAN; from][..], x, &[f64::NAN; 9]].concat()).unwrap();
        let mut w = pool.upload(&vec![-7.5; to + n + 5]).unwrap();
        let mut multiply = multiplier.prepare(records, buffers, &pool).unwrap();
        for _ in 0..2 {
            multiply.run(&v, from, &mut w, to).unwrap();
        }
        let found = w.download().unwrap();
        assert!(found[..to].iter().chain(&found[to + n..]).all(|x| *x == -7.5), "beside y");
        (found[to..to + n].to_vec(), multiply.cpu_part())
    }

    /// The name has compute-sanitizer run it. Without the library, or without a card, the generated kernel does it all.
    #[test]
    fn memcheck_large_products_beside_small_ones() {
        if test_device().is_none_or(|device| !device.is_cuda()) {
            return;
        }
        for has_small in [false, true] {
            let (first, second) = (RecordStage::default(), mixed(768, 12, has_small));
            assert_ne!(Division::new(&second), Division::Own);
            let data = [(OperandSpace::Left, vector(768 * 768 + 100, 51))];
            let x = vector(768 * 768 + 100, 52);
            let mut expected = vec![f64::NAN; second.length];
            records::run(&second, buffers(&data).set(OperandSpace::Input, &x), &mut expected);
            let (found, _) = product(CpuShare::default(), &TwoStages { first, second }, &data, &x);
            assert!(difference(&found, &expected) < 1e-13, "{}", difference(&found, &expected));
        }
    }

    /// The name has compute-sanitizer run it.
    #[test]
    fn memcheck_a_share_of_the_cpu_changes_nothing() {
        if test_device().is_none() {
            return;
        }
        for (sectors, seed) in [(5, 21), (12, 22)] {
            let (records, operators) = sample(sectors, 20, seed);
            let x = vector(records.second.length, seed + 10);
            let (expected, none) = product(CpuShare::default(), &records, &operators, &x);
            assert_eq!(none, 0.0);
            for part in [0.3, 1.0] {
                let (found, done) = product(CpuShare::Part(part), &records, &operators, &x);
                assert!(difference(&found, &expected) < 1e-13, "{part}: {}", difference(&found, &expected));
                assert!(done > 0.0 && done == Split::new(&records, part).part, "{done} of {part}");
            }
        }
    }
}
