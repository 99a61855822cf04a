//! y = H x of a bond on the card, by the [strategy](Strategy) of the run, with the CPU's share if it has one.
//!
//! In: the superblock's two stages of records, the operators' buffers. Out: a product from one basis vector into another.
//! With a CPU [share](CpuShare) the card's launches are queued first, then the CPU runs its records, then its blocks are
//! copied to the card. Without a share, no vector crosses.

use super::super::cpu_share::{CpuShare, Split};
use super::super::device::{DeviceBuffers, LibraryProducts, LibraryStage, PreparedStage, Products};
use super::super::records::OperandSpace;
use super::super::strategy::Strategy;
use super::super::superblock::Superblock;
use super::balance::{Balance, Decision, TRIAL};
use super::cpu_part::{CpuPart, CpuPartMemory};
use super::{Pool, ResidentBuffer};
use eigenforge_runtime::{Device, DeviceError, Vector};
use std::sync::Arc;

/// What computes H x in solves.
pub struct Multiplier {
    device: Device,
    by: By,
    balance: Balance,
    /// Memory for the CPU's part, if it may have one.
    cpu_memory: Option<CpuPartMemory>,
}

enum By {
    /// The generated kernel.
    Planned(Products),
    /// cuBLAS.
    Library(LibraryProducts),
}

/// Both stages of one bond, with the implementation that runs them.
enum Stages<'a> {
    Planned(&'a Products, Box<[PreparedStage; 2]>),
    Library(&'a LibraryProducts, [LibraryStage; 2]),
}

/// The card's part of H of one bond.
struct CardPart<'a> {
    stages: Stages<'a>,
    buffers: DeviceBuffers<'a>,
    between: ResidentBuffer,
    /// Elements of the first stage's output.
    made: usize,
}

/// H of one bond.
pub struct Multiply<'a> {
    device: &'a Device,
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
            Strategy::Planned => By::Planned(products.clone()),
            _ => By::Library(LibraryProducts::new(device, strategy)?),
        };
        let balance = Balance::new(share);
        let cpu_memory = if balance.any() { Some(CpuPartMemory::new(device)?) } else { None };
        Ok(Multiplier { device: device.clone(), by, balance, cpu_memory })
    }

    /// Prepares the records of a superblock.
    ///
    /// # Errors
    /// Not enough memory; records that the strategy does not support.
    pub fn prepare<'a>(
        &'a self,
        superblock: &Superblock,
        buffers: DeviceBuffers<'a>,
        pool: &Arc<Pool>,
    ) -> Result<Multiply<'a>, DeviceError> {
        let card = |records: &Superblock| self.by.prepare(records, buffers, pool);
        let device = &self.device;
        let alone = |card| Multiply { device, card, cpu: None, trial: None, part: 0.0 };
        let Some(cpu_memory) = &self.cpu_memory else { return Ok(alone(card(superblock)?)) };
        match self.balance.of(superblock) {
            Decision::Part(0.0) => Ok(alone(card(superblock)?)),
            Decision::Part(part) => {
                let split = Split::new(superblock, part);
                let part = split.part;
                let card = card(&split.card)?;
                Ok(Multiply { device, card, cpu: cpu_memory.prepare(split, &buffers)?, trial: None, part })
            }
            Decision::Trial(octave) => {
                let split = Split::new(superblock, TRIAL);
                let (part, balance) = (split.part, &self.balance);
                let trial = cpu_memory.prepare(split, &buffers)?.map(|cpu| Trial { cpu, part, octave, balance });
                Ok(Multiply { trial, ..alone(card(superblock)?) })
            }
        }
    }
}

impl By {
    fn prepare<'a>(
        &'a self,
        superblock: &Superblock,
        buffers: DeviceBuffers<'a>,
        pool: &Arc<Pool>,
    ) -> Result<CardPart<'a>, DeviceError> {
        let (first, second) = (&superblock.first, &superblock.second);
        let stages = match self {
            By::Planned(by) => Stages::Planned(by, Box::new([by.prepare(first)?, by.prepare(second)?])),
            By::Library(by) => Stages::Library(by, [by.prepare(first, &buffers)?, by.prepare(second, &buffers)?]),
        };
        Ok(CardPart { stages, buffers, between: pool.take(first.length)?, made: first.length })
    }
}

impl CardPart<'_> {
    /// Queues y into `w` from element `to` on; it is zero where the card has no records.
    fn run(&mut self, v: &Vector<f64>, from: usize, w: &mut Vector<f64>, to: usize) -> Result<(), DeviceError> {
        let input = self.buffers.with_from(OperandSpace::Input, v, from);
        match &self.stages {
            Stages::Planned(by, stages) => {
                let [first, second] = &**stages;
                if self.made > 0 {
                    by.run(first, &input, self.between.vector_mut())?;
                }
                by.run_into(second, &input.with(OperandSpace::Between, self.between.vector()), w, to)
            }
            Stages::Library(by, [first, second]) => {
                if self.made > 0 {
                    by.run_into(first, &input, self.between.vector_mut(), 0)?;
                }
                by.run_into(second, &input.with(OperandSpace::Between, self.between.vector()), w, to)
            }
        }
    }
}

impl Multiply<'_> {
    /// The fraction of the operations that the CPU does.
    pub fn cpu_part(&self) -> f64 {
        self.part
    }

    /// Queues `w` from element `to` on = H times `v` from element `from` on; waits if the CPU takes part.
    ///
    /// # Errors
    /// A vector is too short; the device fails.
    pub fn run(
        &mut self,
        v: &ResidentBuffer,
        from: usize,
        w: &mut ResidentBuffer,
        to: usize,
    ) -> Result<(), DeviceError> {
        let (v, w) = (v.vector(), w.vector_mut());
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
    use super::super::super::cpu_share::tests::{bond, chain, difference};
    use super::super::{MemoryLimits, test_device};
    use super::*;
    use eigenforge_runtime::seeded::vector;

    /// H x into the middle of a poisoned vector, twice; returns the CPU's fraction, and whether it took part at all.
    fn product(
        share: CpuShare,
        superblock: &Superblock,
        operators: &[(OperandSpace, Vec<f64>)],
        x: &[f64],
    ) -> (Vec<f64>, f64) {
        let device = test_device().expect("tests ask before");
        let pool = Pool::new(&device, MemoryLimits::tiny(1 << 30)).unwrap();
        let products = Products::new(&device).unwrap();
        let multiplier = Multiplier::new(&device, &products, Strategy::Planned, share).unwrap();
        assert_eq!(multiplier.cpu_memory.is_some(), share != CpuShare::Part(0.0), "no memory, no stream, no copy");
        let held: Vec<(OperandSpace, ResidentBuffer)> =
            operators.iter().map(|(space, data)| (*space, pool.upload(data).unwrap())).collect();
        let buffers = held.iter().fold(DeviceBuffers::default(), |b, (space, held)| b.with(*space, held.vector()));
        if let Some(cpu_memory) = &multiplier.cpu_memory {
            cpu_memory.poison(1 << 16);
        }
        let n = superblock.second.length;
        let (from, to) = (13, 64);
        let v = pool.upload(&[&vec![f64::NAN; from][..], x, &[f64::NAN; 9]].concat()).unwrap();
        let mut w = pool.upload(&vec![-7.5; to + n + 5]).unwrap();
        let mut multiply = multiplier.prepare(superblock, buffers, &pool).unwrap();
        for _ in 0..2 {
            multiply.run(&v, from, &mut w, to).unwrap();
        }
        let found = w.download().unwrap();
        assert!(found[..to].iter().chain(&found[to + n..]).all(|x| *x == -7.5), "beside y");
        (found[to..to + n].to_vec(), multiply.cpu_part())
    }

    /// The name has compute-sanitizer run it.
    #[test]
    fn memcheck_a_share_of_the_cpu_changes_nothing() {
        if test_device().is_none() {
            return;
        }
        for (electrons, sites, seed) in [(false, 10, 21), (true, 6, 22)] {
            let (superblock, operators) = bond(&chain(electrons, sites, seed), 20);
            let x = vector(superblock.second.length, seed + 10);
            let (expected, none) = product(CpuShare::default(), &superblock, &operators, &x);
            assert_eq!(none, 0.0);
            for part in [0.3, 1.0] {
                let (found, done) = product(CpuShare::Part(part), &superblock, &operators, &x);
                assert!(difference(&found, &expected) < 1e-13, "{part}: {}", difference(&found, &expected));
                assert!(done > 0.0 && done == Split::new(&superblock, part).part, "{done} of {part}");
            }
        }
    }
}
