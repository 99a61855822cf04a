//! y = H x over several ranks: each has a share of every vector, in the memory of its cores or of its card.
//!
//! A rank makes its own rows of y of a whole x, which it gathers first, by the kernels of its card or by its cores. A way that divides its work
//! otherwise brings its own [`RankRows`]. Its tables are those of one process; [`RankPlan`](crate::ranks::RankPlan) counts what ranks
//! keep for exchanges, and send.

use super::engine::ProductEngine;
use super::error::PrepareError;
use super::host::HostProduct;
use super::multiply::{Multiply, NormBounds};
use crate::ranks::{RankShares, RowKernels, table_of_share};
use eigenforge_runtime::ranks::Ranks;
use eigenforge_runtime::{Device, DeviceError, ElementFunction, LinearOperator, PerScalar, Scalar, Vector};
use eigenforge_templates::Cost;
use std::marker::PhantomData;
use std::sync::Arc;

/// One rank's part of a multiply, for vectors of one type.
pub trait RankRowsOf<T: Scalar>: Send + Sync {
    /// This rank's share of y = H x; returns its part of xᵀy.
    ///
    /// # Errors
    /// A rank that failed; the card's.
    fn apply(&self, shares: &RankShares, x: &Vector<T>, y: &mut Vector<T>) -> Result<f64, DeviceError>;
}

/// One rank's part of a multiply.
pub trait RankRows: RankRowsOf<f64> + RankRowsOf<f32> {
    /// Where vectors are cut.
    fn bounds(&self) -> Vec<usize>;

    /// The diagonal of this rank's share; `None` where a rank has none.
    fn diagonal(&self, shares: &RankShares, device: &Device) -> Option<ElementFunction>;
}

struct RowsOfType<'a>(PhantomData<&'a ()>);

impl<'a> PerScalar for RowsOfType<'a> {
    type Of<T: Scalar> = &'a dyn RankRowsOf<T>;
}

/// Rows of a whole x by the kernels of a card.
struct CardRows {
    kernels: RowKernels,
    diagonal: ElementFunction,
}

impl<T: Scalar> RankRowsOf<T> for CardRows {
    fn apply(&self, shares: &RankShares, x: &Vector<T>, y: &mut Vector<T>) -> Result<f64, DeviceError> {
        shares.by_kernels(&self.kernels, x, y)
    }
}

impl RankRows for CardRows {
    fn bounds(&self) -> Vec<usize> {
        self.kernels.bounds()
    }

    fn diagonal(&self, _: &RankShares, _: &Device) -> Option<ElementFunction> {
        Some(self.diagonal.clone())
    }
}

/// The same by the cores of the host.
struct CoreRows {
    host: Arc<dyn HostProduct>,
    bounds: Vec<usize>,
}

impl<T: Scalar> RankRowsOf<T> for CoreRows {
    fn apply(&self, shares: &RankShares, x: &Vector<T>, y: &mut Vector<T>) -> Result<f64, DeviceError> {
        let first = shares.own_range().start;
        shares.by_cores(|whole, y| self.host.typed().rows(whole, first, y), x, y)
    }
}

impl RankRows for CoreRows {
    fn bounds(&self) -> Vec<usize> {
        self.bounds.clone()
    }

    fn diagonal(&self, shares: &RankShares, device: &Device) -> Option<ElementFunction> {
        let (own, host) = (shares.own_range(), self.host.clone());
        if !device.runs_kernels() {
            return Some(ElementFunction::host_diagonal(move |first, out| host.diagonals(first, out)));
        }
        // A card of no elements has one that nobody reads.
        let mut values = vec![0.0; own.len().max(1)];
        host.diagonals(own.start, &mut values[..own.len()]);
        shares.of_all("the diagonal of every rank", table_of_share(&values, own.start, &device.of_this_rank()))
    }
}

/// The kernels of one rank that make rows of a whole x; `None` where a way has others, or no block for each rank.
fn card_rows(multiply: &dyn Multiply, ranks: &Ranks, device: &Device) -> Result<Option<CardRows>, PrepareError> {
    let Some(kernels) = multiply.kernels().filter(|_| device.runs_kernels()) else { return Ok(None) };
    let (card, rank, count) = (device.of_this_rank(), ranks.rank(), ranks.count());
    let planned = kernels.launches(&Default::default())?.into_iter().find(|launch| launch.entry == "multiply");
    let makes_rows = planned.filter(|launch| kernels.rows_of_card(launch, rank, count).is_some());
    if makes_rows.is_none_or(|launch| (launch.grid[0] as usize) < count) {
        return Ok(None);
    }
    let text = kernels.text()?;
    let kernel = card.compile(&text.for_card(rank as u32, count as u32))?;
    // Tables that kernels make are whole on every card.
    let tables = kernels.tables(&|| card.compile(&text), &card)?;
    let multiply_launch = kernels.launches(&tables)?.into_iter().find(|launch| launch.entry == "multiply");
    let Some(launch) = multiply_launch else { return Ok(None) };
    let runs = (0..count).map(|rank| kernels.rows_of_card(&launch, rank, count).unwrap_or_default()).collect();
    let diagonal = ElementFunction::of_tables(multiply.diagonal_text(), &tables);
    let (of_rank, rows) = ((kernel, launch), (runs, multiply.dimension()));
    let kernels = RowKernels::new(of_rank, tables, rows, kernels.partials(), (&card, rank))?;
    Ok(Some(CardRows { kernels, diagonal }))
}

/// H over ranks, as one of them has it.
pub(super) struct RankEngine {
    device: Device,
    shares: RankShares,
    rows: Box<dyn RankRows>,
    about: (usize, f64, Cost),
}

impl RankEngine {
    /// This rank's part of a multiply, with bounds of the norm.
    pub(super) fn new(
        multiply: &Arc<dyn Multiply>,
        ranks: &Arc<Ranks>,
        device: &Device,
    ) -> Result<(RankEngine, NormBounds), PrepareError> {
        let rows: Box<dyn RankRows> = match multiply.own_rank(ranks, device)? {
            Some(own) => own,
            None => match card_rows(&**multiply, ranks, device)? {
                Some(card) => Box::new(card),
                None => {
                    let (host, rank) = (multiply.host()?, ranks.rank());
                    let bounds = host.cut(ranks.count());
                    let host = host.only(bounds[rank]..bounds[rank + 1]).into();
                    Box::new(CoreRows { host, bounds })
                }
            },
        };
        let shares = RankShares::new(ranks, rows.bounds(), device);
        let (device, bounds) = (device.cut_at(shares.bounds().to_vec())?, multiply.norm_bounds());
        let about = (multiply.dimension(), bounds.whole, multiply.cost());
        Ok((RankEngine { device, shares, rows, about }, bounds))
    }
}

impl ProductEngine for RankEngine {}

impl RankEngine {
    /// This rank's share of y; returns its part of x·y.
    fn own_part<T: Scalar>(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<f64, DeviceError> {
        self.shares.check(x, y)?;
        T::choose::<RowsOfType<'_>>(&*self.rows, &*self.rows).apply(&self.shares, x, y)
    }
}

impl<T: Scalar> LinearOperator<T> for RankEngine {
    fn dimension(&self) -> usize {
        self.about.0
    }

    fn device(&self) -> &Device {
        &self.device
    }

    /// x·y is the same on all ranks.
    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<f64, DeviceError> {
        let part = self.own_part(x, y)?;
        self.shares.added_up(part)
    }

    fn multiply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<(), DeviceError> {
        self.own_part(x, y).map(drop)
    }

    fn diagonal(&self) -> Option<ElementFunction> {
        self.rows.diagonal(&self.shares, &self.device)
    }

    fn norm_bound(&self) -> f64 {
        self.about.1
    }

    fn cost(&self) -> Cost {
        self.about.2
    }
}
