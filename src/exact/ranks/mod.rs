//! y = H x over several ranks: each has a share of every vector, in the memory of its cores or of its card.
//!
//! A Kronecker sum is multiplied by transposes (`transposed`), with hops within columns alone (`columns`). Of any other H a rank makes its
//! own rows of y, and gathers all of x first. Its tables are those of one process, a stored matrix too ([`RankPlan`] counts what ranks
//! keep for exchanges, and send). Blocks of columns are multiplied as on one process (`cpu/`), so shares are cut where columns begin.
//!
//! On cards the hops within columns are those of a Kronecker sum without down hops, and the rows those that one of several cards makes of
//! the same plan (`made`, [`RowKernels`]). Stored matrices and pairs of strings are multiplied by the cores, of a rank that has a card too. Messages go
//! from card to card where they can ([`CardLinks`](eigenforge_runtime::CardLinks)).

mod columns;
mod made;
mod planned;
mod transposed;
mod turns;

pub use crate::ranks::RankPlan;

use super::cpu::HostMultiply;
use super::error::PrepareError;
use super::multiply::host_diagonal;
use super::prepared::Prepared;
use super::tables::kronecker_diagonal;
use crate::ranks::{RowKernels, Shares, table_of_share};
use crate::sparse::OwnRows;
use eigenforge_runtime::ranks::{Ranks, equal};
use eigenforge_runtime::{Device, DeviceError, ElementFunction, Scalar, Vector};
use made::row_kernels;
use std::sync::Arc;
use transposed::Transposed;

/// H over ranks, as one of them has it.
pub(super) struct RankMultiply {
    shares: Shares,
    engine: Engine,
}

enum Engine {
    /// A Kronecker sum.
    Transposed(Box<Transposed>),
    /// Rows of y, of a whole x, by kernels.
    Kernels { rows: Box<RowKernels>, diagonal: ElementFunction },
    /// The same on the host.
    Host(HostMultiply),
    /// The same by the rows of a stored matrix.
    Matrix(OwnRows),
}

impl RankMultiply {
    /// This rank's part of a plan.
    pub(super) fn new(prepared: &Prepared, ranks: &Arc<Ranks>, device: &Device) -> Result<RankMultiply, PrepareError> {
        let (count, rank) = (ranks.count(), ranks.rank());
        let by_kernels = match device.runs_kernels() {
            true => row_kernels(prepared, ranks, &device.of_this_rank())?,
            false => None,
        };
        let (engine, bounds) = match (by_kernels, prepared) {
            (Some((rows, diagonal)), _) => {
                let bounds = rows.bounds();
                (Engine::Kernels { rows: Box::new(rows), diagonal }, bounds)
            }
            (None, Prepared::Kronecker { plan, up, down }) => {
                let transposed = Transposed::new(plan, [up, down], ranks, device)?;
                let bounds = transposed.bounds();
                (Engine::Transposed(Box::new(transposed)), bounds)
            }
            (None, Prepared::Stored(matrix)) => {
                let bounds = equal(matrix.elements().rows(), count);
                (Engine::Matrix(OwnRows::new(matrix.shared_elements(), bounds[rank]..bounds[rank + 1])), bounds)
            }
            (None, other) => {
                let (host, bounds) = HostMultiply::new(other).of_share(prepared.dimension(), count, rank);
                (Engine::Host(host), bounds)
            }
        };
        Ok(RankMultiply { shares: Shares::new(ranks, bounds, device), engine })
    }

    /// The device whose vectors are cut as this multiply wants them.
    pub(super) fn device(&self, device: &Device) -> Result<Device, DeviceError> {
        device.cut_at(self.shares.bounds().to_vec())
    }

    /// A bound of the norm by the rows of a stored matrix; `None` without one.
    pub(super) fn norm_bound(&self) -> Result<Option<f64>, DeviceError> {
        let Engine::Matrix(rows) = &self.engine else { return Ok(None) };
        self.shares.ranks().largest("norm of the matrix", rows.norm_bound()).map(Some)
    }

    /// The diagonal; on a card a table of this rank's share where no text makes it.
    pub(super) fn diagonal(self: &Arc<Self>, prepared: &Prepared, device: &Device) -> Option<ElementFunction> {
        match (&self.engine, prepared) {
            (Engine::Kernels { diagonal, .. }, _) => Some(diagonal.clone()),
            (Engine::Transposed(_), Prepared::Kronecker { plan, up, down }) if device.runs_kernels() => {
                let values = prepared.argument_values().ok()?;
                let tables = kronecker_diagonal(plan, [up, down], values, &device.of_this_rank());
                self.of_all(tables.map(|tables| ElementFunction::of_tables(prepared.diagonal_text(), &tables)))
            }
            (Engine::Transposed(_), Prepared::Kronecker { plan, up, down }) => {
                let (up, down, sites) = (up.states.clone(), down.states.clone(), plan.sites);
                let diagonal = plan.diagonal.clone();
                Some(host_diagonal(move |index| {
                    let (column, row) = (index / up.len(), index % up.len());
                    diagonal.of_state(up[row] | down[column] << sites)
                }))
            }
            _ => self.diagonal_of_rows(device),
        }
    }

    /// The diagonal of rows that cores make.
    fn diagonal_of_rows(self: &Arc<Self>, device: &Device) -> Option<ElementFunction> {
        let own = self.shares.own();
        let (first, rows) = (own.start, self.clone());
        let element = move |index: usize| match &rows.engine {
            Engine::Host(host) => host.diagonal(index),
            Engine::Matrix(rows) => rows.diagonal(index - first),
            Engine::Transposed(_) | Engine::Kernels { .. } => f64::NAN,
        };
        if !device.runs_kernels() {
            return Some(host_diagonal(element));
        }
        // A card of no elements has one that nobody reads.
        let mut values: Vec<f64> = own.map(element).collect();
        values.resize(values.len().max(1), 0.0);
        self.of_all(table_of_share(&values, first, device))
    }

    /// What every rank has made, or nothing.
    fn of_all<V>(&self, made: Result<V, DeviceError>) -> Option<V> {
        let failed = self.shares.ranks().any("the diagonal of every rank", made.is_err()).unwrap_or(true);
        made.ok().filter(|_| !failed)
    }

    /// y = H x; returns xᵀy, the same on all ranks.
    pub(super) fn apply<T: Scalar>(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<f64, DeviceError> {
        self.shares.check(x, y)?;
        let part = match &self.engine {
            Engine::Transposed(transposed) => transposed.apply(x, y, &mut self.shares.room())?,
            Engine::Kernels { rows, .. } => self.shares.by_kernels(rows, x, y)?,
            Engine::Host(host) => {
                let first = self.shares.own().start;
                self.shares.by_cores(|whole, y| host.apply_part(whole, first, y), x, y)?
            }
            Engine::Matrix(rows) => self.shares.by_cores(|whole, y| rows.multiply(whole, y), x, y)?,
        };
        self.shares.added_up(part)
    }
}
