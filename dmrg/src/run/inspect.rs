//! A chain and its plans as text: what `eigenforge inspect` prints.

use crate::chain::Chain;
use crate::chain::operator_sum::Entry;
use crate::error::DmrgError;
use crate::memory;
use crate::memory::MemoryRequest;
use crate::memory::forecast::{Forecast, PlannedBond};
use crate::options::{Options, START_STATES};
use eigenforge_runtime::machine::Machine;
use eigenforge_runtime::records::RecordStage;
use eigenforge_runtime::residency::{Budget, ProcessorKind};
use std::fmt::{self, Write};

/// The operator sum, site by site: `from to coefficient operator`. Repeated tables are marked as such.
pub fn operator_sum(chain: &Chain) -> String {
    let mut out = String::new();
    let mut before: Option<&Vec<Entry>> = None;
    // Writing to a String cannot fail.
    for (position, table) in chain.sum.sites.iter().enumerate() {
        let (left, right) = (chain.sum.cuts[position].width(), chain.sum.cuts[position + 1].width());
        let _ = match chain.lattice_site(position) {
            Some(site) => write!(out, "site {site} (position {position}): {left} x {right} operators"),
            None => write!(out, "auxiliary site of the phases (position {position}): {left} x {right} operators"),
        };
        if before == Some(table) {
            let _ = writeln!(out, ", the same as at the last site");
            continue;
        }
        let _ = writeln!(out);
        for entry in table {
            let name = &chain.sum.operators.get(entry.operator).name;
            let _ = writeln!(
                out,
                "  {:>4} {:>4}  {:>+18.12}  {name}",
                entry.from,
                entry.to,
                chain.units.scale * entry.coefficient
            );
        }
        before = Some(table);
    }
    let _ = writeln!(out, "constant {:+}", chain.units.constant);
    for ((charge, value), mu) in chain.numbers.iter().zip(&chain.units.shared).filter(|(_, mu)| **mu != 0.0) {
        let _ = writeln!(out, "constant in the sector {:+} ({mu:+} times {charge}, {value})", mu * *value as f64);
    }
    out
}

/// The middle bond with the run's final number of states, shared by the sectors as before a run.
pub struct MiddleBond {
    /// Its two sites.
    sites: [usize; 2],
    /// States kept on both sides.
    kept: [usize; 2],
    /// Operators at the cut.
    operators: usize,
    /// Elements of ψ.
    pub dimension: usize,
    /// Sectors of ψ, and rows or columns of the largest.
    sectors: usize,
    largest: usize,
    /// The records of a product with H: intermediates, then the product.
    stages: [RecordStage; 2],
    /// Blocks of operators that are summed before.
    summed: usize,
    /// Operations of a product with H.
    pub flops: f64,
    /// Seconds by the rates of the machine.
    pub forecast: Forecast,
    /// Memory of a run in which everything is resident.
    pub memory: Vec<(String, u64)>,
}

/// What the stages of a product are.
const STAGES: [&str; 2] = ["intermediates", "product"];

/// Elements of ψ at the middle bond with the run's final number of states, shared by the sectors as before a run.
///
/// # Errors
/// Errors of the engine; the counting engine has none today.
pub fn middle_elements(chain: &Chain, options: &Options) -> Result<usize, DmrgError> {
    let states = options.states.last().copied().unwrap_or(START_STATES);
    Ok(PlannedBond::middle(chain, states)?.bond.frame.layout.length)
}

/// The middle bond of a chain; seconds are those of the machine, which need not be present. Nothing is computed: blocks have
/// sizes only, so that the answer for thousands of states takes seconds.
///
/// # Errors
/// Errors of the engine; the counting engine has none today.
pub fn middle_bond(chain: &Chain, options: &Options, machine: &Machine) -> Result<MiddleBond, DmrgError> {
    let states = options.states.last().copied().unwrap_or(START_STATES);
    let planned = PlannedBond::middle(chain, states)?;
    let forecast = Forecast::of_bond(&planned, machine);
    let PlannedBond { position, kept, bond, product } = planned;
    let sectors = &bond.frame.layout.sectors;
    let (memory, host) = (u64::MAX, u64::MAX);
    let everything = Budget { processor: ProcessorKind::Host, cards: 1, memory, other_cards: 0, host };
    let asked = MemoryRequest::first(options, states, options.first_whole(), options.sweeps);
    Ok(MiddleBond {
        sites: [position, position + 1].map(|position| chain.lattice_site(position).unwrap_or(chain.order[0])),
        kept,
        operators: chain.sum.cuts[position + 1].width(),
        dimension: bond.frame.layout.length,
        sectors: sectors.len(),
        largest: sectors.iter().map(|s| s.rows.max(s.columns)).max().unwrap_or(0),
        flops: product.flops(),
        stages: [product.first, product.second],
        summed: bond.left_operators.summed + bond.right_operators.summed,
        forecast,
        memory: memory::plan_memory(chain, asked, everything)?.items(),
    })
}

impl fmt::Display for MiddleBond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MiddleBond { sites, kept, operators, dimension, sectors, largest, stages, summed, flops, .. } = self;
        let ([left, right], [first, second]) = (kept, sites);
        writeln!(
            f,
            "bond between sites {first} and {second} with {left} and {right} states kept in sectors as estimated"
        )?;
        writeln!(
            f,
            "{operators} operators at the cut; superblock of {dimension} in {sectors} sectors, the largest {largest}"
        )?;
        for (name, stage) in STAGES.iter().zip(stages) {
            let (products, copies) = stage.counts();
            let groups = stage.groups.len();
            writeln!(
                f,
                "{name}: {products} products and {copies} copies in {groups} groups, {:.3e} flop",
                stage.flops()
            )?;
        }
        writeln!(
            f,
            "{summed} blocks of operators are summed first (LR), all others are multiplied in pieces (l-1-1-r)"
        )?;
        writeln!(f, "one product: {flops:.3e} flop")?;
        writeln!(f, "{}", self.forecast.describe())?;
        for (name, bytes) in &self.memory {
            writeln!(f, "about {:.3} GiB: {name}", *bytes as f64 / (1u64 << 30) as f64)?;
        }
        Ok(())
    }
}

impl MiddleBond {
    /// All records of a product, a line each.
    pub fn records(&self) -> String {
        let mut out = String::new();
        for (name, stage) in STAGES.iter().zip(&self.stages) {
            for group in &stage.groups {
                // Writing to a String cannot fail.
                let _ = writeln!(out, "{name} at {} ({} elements)", group.offset, group.length);
                group.records.iter().for_each(|record| {
                    let _ = writeln!(out, "  {record:?}");
                });
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eigenforge_core::basis::Sector;
    use eigenforge_core::lattice::{Boundary, Lattice};
    use eigenforge_core::models::xxz;
    use std::time::Instant;

    fn chain(lattice: &Lattice) -> Chain {
        let (bonds, none) = (vec![1.0; lattice.bonds().len()], vec![0.0; lattice.sites().len()]);
        Chain::new(&xxz(lattice, &bonds, &bonds, &none, &none), Sector::Spins { two_sz: 0 }, None).unwrap()
    }

    fn middle(chain: &Chain, states: usize) -> MiddleBond {
        middle_bond(chain, &Options { states: vec![states], ..Options::default() }, &Machine::h200()).unwrap()
    }

    /// Nothing is computed, so that 4,096 states on 72 sites take no longer to plan than to print.
    #[test]
    fn a_bond_of_thousands_of_states_is_planned_in_seconds() {
        let cylinder = chain(&Lattice::square([12, 6]).boundary([Boundary::Open, Boundary::Periodic]));
        let begun = Instant::now();
        let bond = middle(&cylinder, 4096);
        let seconds = begun.elapsed().as_secs_f64();
        assert!(seconds < 5.0, "{seconds} s");
        assert!(bond.kept.iter().all(|kept| kept.abs_diff(4096) < 16), "{:?}", bond.kept);
        assert!(bond.flops > 1e11 && bond.dimension > 10_000_000, "{bond}");
        assert_eq!(bond.forecast.work.flops, bond.flops);
    }

    /// Blocks that keep everything have the shapes of the whole sector.
    #[test]
    fn a_bond_of_whole_blocks_is_the_whole_sector() {
        let bond = middle(&chain(&Lattice::chain(14).open()), 1 << 10);
        assert_eq!((bond.dimension, bond.kept), (3432, [64, 64]));
        assert!(bond.to_string().contains("64 and 64 states kept"), "{bond}");
    }
}
