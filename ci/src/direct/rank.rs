//! σ = H C of full CI by one of several ranks: the rows of its own α strings, on its cores or its card.

use super::super::{Integrals, Space};
use super::device_tables::{DeviceTables, starts_of_rows};
use super::slabs::SlabKernels;
use super::{DirectError, Moves, Tables, counts, threshold};
use crate::matrix::THRESHOLD;
use eigenforge_product::ranks::{RowKernels, share};
use eigenforge_product::sparse::Target;
use eigenforge_runtime::ranks::Ranks;
use eigenforge_runtime::{Device, DeviceError, ElementFunction, NamedTables};
use eigenforge_templates::Cost;
use eigenforge_templates::ci::FullCiShape;
use std::iter::once;

/// How a rank makes its rows.
pub(in super::super) enum RankFullCi {
    /// By its cores, of a whole x.
    Host(Box<HostRows>),
    /// By the kernel that holds whole fields, of a whole x.
    Fields { rows: Box<RowKernels>, diagonal: ElementFunction, norm_bound: f64, cost: Cost },
    /// By slabs, of pieces of x; vectors are cut at these places.
    Slabs { kernels: Box<SlabKernels>, bounds: Vec<usize>, norm_bound: f64, cost: Cost },
}

/// Rows that the cores of a rank make.
pub(in super::super) struct HostRows {
    tables: Tables,
    /// Where vectors are cut.
    pub bounds: Vec<usize>,
}

impl HostRows {
    /// The rows of y = H x, of a whole x; returns their part of x·y.
    pub(in super::super) fn multiply(&self, x: &[f64], y: &mut [f64]) -> f64 {
        self.tables.multiply(x, y)
    }

    /// Elements of the diagonal from one on.
    pub(in super::super) fn diagonal(&self, start: usize, out: &mut [f64]) {
        self.tables.diagonal(start, out);
    }

    /// The parts of a bound of the norm that the rows of all ranks have.
    ///
    /// # Errors
    /// A rank that failed.
    pub(in super::super) fn norm_bound(&self, ranks: &Ranks) -> Result<f64, DeviceError> {
        let parts = self.tables.norm_parts().map(|part| ranks.largest("a part of the norm", part));
        parts.into_iter().sum()
    }

    /// The work of a product, of all ranks.
    ///
    /// # Errors
    /// A rank that failed.
    pub(in super::super) fn cost(&self, ranks: &Ranks) -> Result<Cost, DeviceError> {
        let mut work = [2.0 * self.tables.elements(), 16.0 * self.tables.alpha.own_elements().len() as f64];
        ranks.add_up("the work of a product", 0, &mut work)?;
        Ok(Cost { flops: work[0], bytes: work[1] })
    }
}

impl RankFullCi {
    /// The rows of this rank.
    ///
    /// # Errors
    /// Integrals that do not fit the space; too little memory; kernels that do not compile.
    pub(in super::super) fn new(
        integrals: &Integrals,
        space: &Space,
        shape: Option<FullCiShape>,
        ranks: &Ranks,
        device: &Device,
    ) -> Result<RankFullCi, DirectError> {
        let (card, strings) = (device.of_this_rank(), space.alpha().words().len());
        if !device.runs_kernels() || strings < ranks.count() {
            let own = share(strings, ranks.rank(), ranks.count());
            let tables = Moves::new(integrals, space, THRESHOLD)?.into_cpu_tables(own)?;
            let first = |rank: usize| tables.alpha.row_start(share(strings, rank, ranks.count()).start);
            let bounds = (0..ranks.count()).map(first).chain([space.len() as usize]).collect();
            return Ok(RankFullCi::Host(Box::new(HostRows { tables, bounds })));
        }
        let target = Target::new(&card);
        let shape = match shape {
            Some(shape) => shape,
            None => FullCiShape::choose(&counts(integrals, space, target)?),
        };
        let moves = Moves::new(integrals, space, threshold(&shape))?;
        let sources = moves.sources();
        match shape {
            FullCiShape::Fields(shape) => {
                let tables = sources.tables("ci", target, shape)?;
                let (norm_bound, cost) = (sources.norm_bound(), tables.plan.cost());
                let (rows, diagonal) = fields(tables, ranks, &card)?;
                Ok(RankFullCi::Fields { rows: Box::new(rows), diagonal, norm_bound, cost })
            }
            FullCiShape::Slabs(shape) => {
                let tables = sources.slab_tables("ci", target, shape, (ranks.count() as u32, true))?;
                let (norm_bound, cost) = (tables.norm_bound, tables.plan.cost());
                let (kernels, bounds) = SlabKernels::of_rank(tables, device)?;
                Ok(RankFullCi::Slabs { kernels: Box::new(kernels), bounds, norm_bound, cost })
            }
        }
    }
}

/// The kernel of one rank, of whose blocks each makes the row of an α string, and the diagonal.
fn fields(tables: DeviceTables, ranks: &Ranks, card: &Device) -> Result<(RowKernels, ElementFunction), DirectError> {
    let DeviceTables { plan, product, diagonal } = tables;
    card.check_work(&format!("one product of {}", plan.name), plan.cost().flops)?;
    card.check_memory("tables of the direct product", plan.table_bytes())?;
    let (rank, count) = (ranks.rank(), ranks.count());
    let kernel = card.compile(&plan.text()?.for_card(rank as u32, count as u32))?;
    let multiply = plan.launches().map_err(DeviceError::from)?.swap_remove(0);
    let row_start = starts_of_rows(&product);
    let tables = NamedTables::uploaded(card, product)?;
    let diagonal = diagonal.function(&tables, card)?;
    let first = |rank: usize| share(row_start.len(), rank, count).start;
    let bound = |rank: usize| row_start.get(first(rank)).copied().unwrap_or(plan.rows) as usize;
    let made = (0..count).map(|rank| once(bound(rank)..bound(rank + 1)).collect()).collect();
    let partials = u64::from(plan.alpha_strings);
    let made = (made, plan.rows as usize);
    Ok((RowKernels::new((kernel, multiply), tables, made, partials, (card, rank))?, diagonal))
}
