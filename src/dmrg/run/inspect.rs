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
use eigenforge_runtime::residency::{Budget, ProcessorKind};
use std::fmt::Write;

/// The operator sum, site by site: `from to coefficient operator`. Repeated tables are marked as such.
pub(crate) fn operator_sum(chain: &Chain) -> String {
    let mut out = String::new();
    let mut before: Option<&Vec<Entry>> = None;
    // Writing to a String cannot fail.
    for (position, table) in chain.sum.sites.iter().enumerate() {
        let (left, right) = (chain.sum.cuts[position].width(), chain.sum.cuts[position + 1].width());
        let _ = write!(out, "site {} (position {position}): {left} x {right} operators", chain.order[position]);
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

/// The records of the middle bond of a random state with the run's final number of states: the real shapes, but not the
/// values. Seconds are those of the machine, which need not be present.
///
/// # Errors
/// A number is not finite.
pub(crate) fn middle_bond(
    chain: &Chain,
    options: &Options,
    machine: &Machine,
    list_records: bool,
) -> Result<String, DmrgError> {
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
    let mut out = String::new();
    let sectors = &bond.frame.layout.sectors;
    let largest = sectors.iter().map(|s| s.rows.max(s.columns)).max().unwrap_or(0);
    let _ = writeln!(
        out,
        "bond between sites {} and {} of a random state, {} and {} states kept",
        chain.order[middle],
        chain.order[middle + 1],
        left.sectors.total(),
        right.sectors.total()
    );
    let _ = writeln!(
        out,
        "{} operators at the cut; superblock of {} in {} sectors, the largest {largest}",
        chain.sum.cuts[middle + 1].width(),
        bond.frame.layout.length,
        sectors.len()
    );
    for (name, stage) in [("intermediates", &superblock.first), ("product", &superblock.second)] {
        let (products, copies) = stage.counts();
        let _ = writeln!(
            out,
            "{name}: {products} products and {copies} copies in {} groups, {:.3e} flop",
            stage.groups.len(),
            stage.flops()
        );
    }
    let summed = bond.left_operators.forming.groups.len() + bond.right_operators.forming.groups.len();
    let _ = writeln!(
        out,
        "{summed} blocks of operators are summed first (LR), all others are multiplied in pieces (l-1-1-r)"
    );
    let _ = writeln!(out, "one product: {:.3e} flop; at the peak rates of devices:", superblock.flops());
    out += &ceilings::table(superblock.flops());
    let forecast = Forecast::of(chain, states, machine)?;
    let _ = writeln!(out, "{}", forecast.describe());
    let everything = Budget { processor: ProcessorKind::Host, memory: u64::MAX, host: u64::MAX };
    let asked = MemoryRequest::first(options, states, options.first_whole(), options.sweeps);
    for (name, bytes) in memory::plan_memory(chain, asked, everything)?.items() {
        let _ = writeln!(out, "about {:.3} GiB: {name}", bytes as f64 / (1u64 << 30) as f64);
    }
    if list_records {
        for (name, stage) in [("intermediates", &superblock.first), ("product", &superblock.second)] {
            for group in &stage.groups {
                let _ = writeln!(out, "{name} at {} ({} elements)", group.offset, group.length);
                group.records.iter().for_each(|record| {
                    let _ = writeln!(out, "  {record:?}");
                });
            }
        }
    }
    Ok(out)
}
