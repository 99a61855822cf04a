//! Growth of chains at a fixed m, as in the runs of Nemes et al. (2014): all m states are kept, with weight or without.
//!
//! In: chains with their numbers of states, how solves start. Out: one line per step of full size and one for all: what ran on the
//! card, how long. The paper starts from random vectors (60.8 and 122.4 products a step) and multiplies by records that notice
//! no structure; here records are planned, and starts predicted unless random ones are asked for.

use super::DmrgBenchError;
use super::sweeps::Case;
use eigenforge::dmrg::{DmrgError, GrowthRecord, Mode, Options, StartVectors, grow};
use eigenforge_runtime::Device;
use eigenforge_runtime::backend::DeviceBackend;
use std::io::Write;

/// What steps of one size came to.
#[derive(Default)]
struct Sum {
    steps: usize,
    products: usize,
    flops: f64,
    seconds: f64,
}

impl Sum {
    fn add(&mut self, step: &GrowthRecord) {
        self.steps += 1;
        self.products += step.products;
        self.flops += step.flops;
        self.seconds += step.seconds;
    }
}

/// Grows the chains on a device that runs kernels.
///
/// # Errors
/// A device that fails.
pub fn command(
    cases: &[Case],
    start: StartVectors,
    device: &Device,
    out: &mut dyn Write,
) -> Result<(), DmrgBenchError> {
    writeln!(
        out,
        "| chain | m | sites | kept | psi | products | flop | s | energy |\n|---|---|---|---|---|---|---|---|---|"
    )?;
    for case in cases {
        let m = case.states();
        let options =
            Options { states: vec![m], least: m, mode: Mode::Infinite, start, sweeps: 0, ..Options::default() };
        let mut engine = DeviceBackend::new(device).map_err(DmrgError::from)?;
        let chain = case.chain()?;
        let grown = grow(&mut engine, &chain, &options.in_units(&chain.units), |_| {})?;
        let (mut full, mut all) = (Sum::default(), Sum::default());
        for step in &grown.records {
            all.add(step);
            if step.kept >= m {
                full.add(step);
                let GrowthRecord { sites, kept, dimension, products, flops, seconds, .. } = step;
                let energy = chain.units.energy(step.energy);
                writeln!(
                    out,
                    "| {case} | {sites} | {kept} | {dimension} | {products} | {flops:.2e} | {seconds:.3} | {energy:.9} |"
                )?;
            }
        }
        for (name, sum) in [("full size", full), ("all", all)] {
            let Sum { steps, products, flops, seconds } = sum;
            writeln!(out, "| {case} | {steps} steps, {name} | | | {products} | {flops:.2e} | {seconds:.3} | |")?;
        }
        out.flush()?;
    }
    Ok(())
}
