//! Sweeps of DMRG on the CPU and on a card of the same machine: where which is quicker.
//!
//! In: chains with their numbers of states, a time for each. Out: seconds a sweep, and the share of planning, Davidson's
//! method, truncation and carrying over. A state is grown over an eighth, a half and all of the states, then sweeps go on
//! until the time is over; a sweep that was cut short is extrapolated by its part of the bonds and marked.

use super::DmrgBenchError;
use eigenforge::basis::Sector;
use eigenforge::dmrg::{BondRecord, Chain, DmrgError, Engine, Forecast, Options, START_STATES, Sweeper, UpdateChoice};
use eigenforge::lattice::{Boundary, Lattice};
use eigenforge::models;
use eigenforge_runtime::Device;
use eigenforge_runtime::backend::{DeviceBackend, HostBackend};
use eigenforge_runtime::machine::Machine;
use eigenforge_runtime::records::{CpuShare, Strategy};
use std::fmt;
use std::io::Write;
use std::str::FromStr;
use std::time::Instant;

/// A chain and how many states it keeps.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Whether electrons hop (Hubbard, U = 4, half filled), or moments of spin 1/2 couple (Heisenberg).
    electrons: bool,
    sites: usize,
    /// Sites around a cylinder; 1 for a chain.
    width: usize,
    states: usize,
}

impl FromStr for Case {
    type Err = String;

    fn from_str(text: &str) -> Result<Case, String> {
        let parts: Vec<&str> = text.split(':').collect();
        let wrong = || {
            format!(
                "expected heisenberg:SITES:STATES or hubbard:SITES:STATES, of a cylinder AROUNDxALONG for SITES; found {text}"
            )
        };
        let [model, sites, states] = parts.as_slice() else { return Err(wrong()) };
        let electrons = match *model {
            "heisenberg" => false,
            "hubbard" => true,
            _ => return Err(wrong()),
        };
        let number = |text: &str| text.parse().map_err(|_| wrong());
        let (around, along) = sites.split_once('x').unwrap_or(("1", sites));
        let (width, along): (usize, usize) = (number(around)?, number(along)?);
        let (sites, states) = (width.saturating_mul(along), number(states)?);
        if sites < 4 || sites % 2 == 1 || states == 0 || width == 2 {
            return Err(
                "an even number of 4 or more sites, of a cylinder 3 or more around, and at least one state".into()
            );
        }
        Ok(Case { electrons, sites, width, states })
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let model = if self.electrons { "Hubbard" } else { "Heisenberg" };
        match self.width {
            1 => write!(f, "{model} {} | {}", self.sites, self.states),
            width => write!(f, "{model} {width} x {} | {}", self.sites / width, self.states),
        }
    }
}

impl Case {
    /// States kept at most.
    pub(crate) fn states(&self) -> usize {
        self.states
    }

    /// The model.
    ///
    /// # Errors
    /// The chain is refused; no case that was read is.
    pub(crate) fn chain(&self) -> Result<Chain, DmrgError> {
        let lattice = match self.width {
            1 => Lattice::chain(self.sites).open(),
            width => Lattice::square([width, self.sites / width]).boundary([Boundary::Periodic, Boundary::Open]),
        };
        let (n, one) = (self.sites, vec![1.0; lattice.bonds().len()]);
        let none = vec![0.0; n];
        if self.electrons {
            let operator = models::hubbard(&lattice, &one, &vec![4.0; n], &none, 0.0, &vec![0.0; one.len()]);
            Chain::new(&operator, Sector::Fermions { up: n / 2, down: n / 2 }, None)
        } else {
            Chain::new(&models::xxz(&lattice, &one, &one, &none, &none), Sector::Spins { two_sz: 0 }, None)
        }
    }
}

/// What the last sweep at all states came to.
struct Measured {
    /// Of a whole sweep.
    seconds: f64,
    /// The part of it that ran.
    part: f64,
    /// Of planning, Davidson, truncation, carrying over.
    shares: [f64; 4],
    kept: usize,
    dimension: usize,
    products: usize,
    flops: f64,
    /// The lowest of a kept state.
    energy: f64,
}

fn measured(bonds: &[BondRecord], all: usize) -> Measured {
    let sum = |of: fn(&BondRecord) -> f64| bonds.iter().map(of).sum::<f64>();
    let phases =
        [sum(|b| b.seconds.plan), sum(|b| b.seconds.solve), sum(|b| b.seconds.truncate), sum(|b| b.seconds.carry)];
    let total: f64 = phases.iter().sum();
    let part = bonds.len() as f64 / all as f64;
    Measured {
        seconds: total / part,
        part,
        shares: phases.map(|phase| phase / total),
        kept: bonds.iter().map(|b| b.kept).max().unwrap_or(0),
        dimension: bonds.iter().map(|b| b.dimension).max().unwrap_or(0),
        products: bonds.iter().map(|b| b.products).sum(),
        flops: sum(|b| b.flops * b.products as f64),
        energy: bonds.iter().filter_map(|b| b.before).fold(f64::INFINITY, f64::min),
    }
}

/// Sweeps until the time is over, at least a few bonds of the last size.
fn sweeps<E: Engine>(engine: E, case: &Case, update: UpdateChoice, seconds: f64) -> Result<Measured, DmrgError> {
    let (chain, m) = (case.chain()?, case.states);
    let options = Options {
        states: vec![(m / 8).max(START_STATES), (m / 2).max(START_STATES), m],
        noise: Some(vec![1e-5]),
        update,
        ..Options::default()
    };
    let options = options.in_units(&chain.units);
    let mut sweeper = Sweeper::random(engine, &chain, START_STATES, options.seed)?;
    let bonds: Vec<_> = Sweeper::<E>::path(chain.sites).collect();
    let (begun, mut last, mut sweep) = (Instant::now(), None, 0);
    loop {
        let plan = options.plan(sweep.min(6));
        let over = || begun.elapsed().as_secs_f64() > seconds;
        let mut records = Vec::with_capacity(bonds.len());
        for (p, grows) in &bonds {
            records.push(sweeper.update(*p, *grows, &plan)?);
            if sweep > 2 && over() {
                break;
            }
        }
        // The sweep that first has all states grows into them: the next one counts, if there is time for most of it.
        if sweep == 2 || records.len() > bonds.len() / 2 {
            let found = measured(&records, bonds.len());
            last = Some(Measured { energy: chain.units.energy(found.energy), ..found });
        }
        if sweep >= 2
            && over()
            && let Some(last) = last.take()
        {
            return Ok(last);
        }
        sweep += 1;
    }
}

/// Runs the cases on the CPU and on the device if it is a card, there with each of the CPU's shares.
///
/// # Errors
/// A device that fails.
pub fn command(
    cases: &[Case],
    shares: &[CpuShare],
    (update, seconds): (UpdateChoice, f64),
    device: &Device,
    out: &mut dyn Write,
) -> Result<(), DmrgBenchError> {
    writeln!(
        out,
        "| chain | m | device | kept | psi | s a sweep | plan | Davidson | truncation | carry | products | TFLOP/s of Davidson | \
         energy after the cut | ms a bond, predicted |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")?;
    for case in cases {
        let forecast = Forecast::new(&case.chain()?, case.states, &Machine::new(device))?;
        let mut line = |name: &str, predicted: f64, found: Measured| {
            let Measured { part, shares, kept, dimension, products, flops, energy, .. } = found;
            let [plan, solve, truncate, carry] = shares.map(|share| 100.0 * share);
            let mark = if part < 1.0 { "~" } else { "" };
            let speed = 1e-12 * flops / (shares[1] * found.seconds * part);
            writeln!(
                out,
                "| {case} | {name} | {kept} | {dimension} | {mark}{:.3} | {plan:.0} % | {solve:.0} % | {truncate:.0} % | \
                 {carry:.0} % | {products} | {speed:.2} | {energy:.9} | {:.2} |",
                found.seconds,
                1e3 * predicted
            )?;
            out.flush()
        };
        if device.runs_kernels() {
            let none = [CpuShare::default()];
            for share in if shares.is_empty() { &none } else { shares } {
                let mut engine = DeviceBackend::new(device).map_err(DmrgError::from)?;
                engine.set_paper_product(Strategy::Planned, *share).map_err(DmrgError::from)?;
                let name = if shares.is_empty() { "card".into() } else { format!("card, cpu_share {share}") };
                line(&name, forecast.card.unwrap_or(f64::NAN), sweeps(engine, case, update, seconds)?)?;
            }
        }
        line("cpu", forecast.cpu, sweeps(HostBackend::default(), case, update, seconds)?)?;
    }
    Ok(())
}
