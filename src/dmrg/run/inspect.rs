//! A chain and its plans as text: what `eigenforge inspect` prints.

use super::ceilings;
use crate::dmrg::block::blocks::Side;
use crate::dmrg::block::bond::TwoSiteBond;
use crate::dmrg::chain::Chain;
use crate::dmrg::chain::operator_sum::Entry;
use crate::dmrg::error::DmrgError;
use crate::dmrg::memory;
use crate::dmrg::memory::MemoryRequest;
use crate::dmrg::memory::forecast::Forecast;
use crate::dmrg::options::{Options, START_STATES};
use crate::dmrg::sweep::sweeper::Sweeper;
use eigenforge_runtime::backend::HostBackend;
use eigenforge_runtime::machine::Machine;
use eigenforge_runtime::records::RecordStage;
use eigenforge_runtime::residency::{Budget, ProcessorKind};
use std::fmt::{self, Write};

/// The operator sum, site by site: `from to coefficient operator`. Repeated tables are marked as such.
pub(crate) fn operator_sum(chain: &Chain) -> String {
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
    for ((charge, value), mu) in chain.numbers.0.iter().zip(&chain.units.shared).filter(|(_, mu)| **mu != 0.0) {
        let _ = writeln!(out, "constant in the sector {:+} ({mu:+} times {charge}, {value})", mu * *value as f64);
    }
    out
}

/// The middle bond of a random state with the run's final number of states: the real shapes, but not the values.
pub(crate) struct MiddleBond {
    /// Its two sites.
    sites: [usize; 2],
    /// States kept on both sides.
    kept: [usize; 2],
    /// Operators at the cut.
    operators: usize,
    /// Elements of ψ.
    dimension: usize,
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

/// The middle bond of a chain; seconds are those of the machine, which need not be present.
///
/// # Errors
/// A number is not finite.
pub(crate) fn middle_bond(chain: &Chain, options: &Options, machine: &Machine) -> Result<MiddleBond, DmrgError> {
    let states = options.states.last().copied().unwrap_or(START_STATES);
    let middle = (chain.sites - 2) / 2;
    let mut sweeper = Sweeper::random(HostBackend::default(), chain, states, options.seed)?;
    let mut plan = options.plan(options.sweeps);
    (plan.limits.most, plan.davidson.products) = (states, 1);
    for p in 0..middle {
        sweeper.step(p, Side::Left, &plan)?;
    }
    let (left, right) = sweeper.environments(middle);
    let bond = TwoSiteBond::new(sweeper.engine(), chain, &chain.sum, middle, left, right)?;
    let superblock = bond.superblock();
    let flops = superblock.flops();
    let sectors = &bond.frame.layout.sectors;
    let everything = Budget { processor: ProcessorKind::Host, memory: u64::MAX, host: u64::MAX };
    let asked = MemoryRequest::first(options, states, options.first_whole(), options.sweeps);
    Ok(MiddleBond {
        sites: [middle, middle + 1].map(|position| chain.lattice_site(position).unwrap_or(chain.order[0])),
        kept: [left.sectors.total(), right.sectors.total()],
        operators: chain.sum.cuts[middle + 1].width(),
        dimension: bond.frame.layout.length,
        sectors: sectors.len(),
        largest: sectors.iter().map(|s| s.rows.max(s.columns)).max().unwrap_or(0),
        stages: [superblock.first, superblock.second],
        summed: bond.left_operators.forming.groups.len() + bond.right_operators.forming.groups.len(),
        flops,
        forecast: Forecast::of(chain, states, machine)?,
        memory: memory::plan_memory(chain, asked, everything)?.items(),
    })
}

impl fmt::Display for MiddleBond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MiddleBond { sites, kept, operators, dimension, sectors, largest, stages, summed, flops, .. } = self;
        let ([left, right], [first, second]) = (kept, sites);
        writeln!(f, "bond between sites {first} and {second} of a random state, {left} and {right} states kept")?;
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
        writeln!(f, "one product: {flops:.3e} flop; at the peak rates of devices:")?;
        f.write_str(&ceilings::table(*flops))?;
        writeln!(f, "{}", self.forecast.describe())?;
        for (name, bytes) in &self.memory {
            writeln!(f, "about {:.3} GiB: {name}", *bytes as f64 / (1u64 << 30) as f64)?;
        }
        Ok(())
    }
}

impl MiddleBond {
    /// All records of a product, a line each.
    pub(crate) fn records(&self) -> String {
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
