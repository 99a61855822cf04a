//! Hops within columns of a vector as a matrix, on a rank's cores or its card.

use super::{KroneckerMultiply, SpeciesMatrix};
use crate::cpu::Blocks;
use eigenforge_product::ranks::{Kept, get_or_make};
use eigenforge_product::{HostRows, PrepareError, ProductKernels};
use eigenforge_runtime::{Device, DeviceError, Scalar, Vector};
use eigenforge_templates::exact::{DiagonalPlan, KroneckerPlan};
use std::sync::{Arc, Mutex, PoisonError};

/// What each column does by itself: hops among its rows, and the diagonal.
pub(super) enum Columns {
    Host(Box<Blocks>),
    Card(Box<CardColumns>),
    /// There are none.
    None,
}

/// The kernels of a card for it, and memory for columns that come from elsewhere.
pub(super) struct CardColumns {
    card: Device,
    kernels: ProductKernels,
    room: Mutex<Kept>,
}

impl Columns {
    /// For columns of these high words, with the diagonal of the plan or without.
    pub(super) fn new(
        whole: &KroneckerMultiply,
        low: &Arc<SpeciesMatrix>,
        highs: &[u64],
        diagonal: &DiagonalPlan,
        device: &Device,
    ) -> Result<Columns, PrepareError> {
        if highs.is_empty() {
            return Ok(Columns::None);
        }
        if !device.runs_kernels() {
            return Ok(Columns::Host(Box::new(Blocks::within_columns(low, highs, diagonal))));
        }
        let plan = &whole.plan;
        let high = SpeciesMatrix::new(plan.sites as usize, highs[0].count_ones() as usize, highs, &[]);
        let mut own = KroneckerPlan::new(
            plan.name.clone(),
            plan.scalar,
            plan.sites,
            low.plan(),
            high.plan(),
            diagonal.clone(),
            plan.sources.clone(),
        );
        own.warp = plan.warp;
        let (own, card) = (whole.within_columns(low, high, own), device.of_this_rank());
        let kernels = ProductKernels::compiled(&own, &own.plan.text()?, &card)?;
        Ok(Columns::Card(Box::new(CardColumns { card, kernels, room: Mutex::default() })))
    }

    /// y = A x of this rank's share; returns its part of xᵀy.
    pub(super) fn of_share<T: Scalar>(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<f64, DeviceError> {
        match self {
            Columns::None => Ok(0.0),
            Columns::Host(host) => match (x.local(), y.local_mut()) {
                (Some(x), Some(y)) => Ok(host.rows(x, 0, y)),
                _ => Err(elsewhere()),
            },
            Columns::Card(card) => card.apply(x, y),
        }
    }

    /// y = A x of columns on the card; returns xᵀy.
    pub(super) fn of_vectors<T: Scalar>(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<f64, DeviceError> {
        match self {
            Columns::None => Ok(0.0),
            Columns::Host(_) => Err(elsewhere()),
            Columns::Card(card) => card.apply(x, y),
        }
    }

    /// y = A x of columns on the host; returns xᵀy.
    pub(super) fn of_columns<T: Scalar>(&self, x: &[T], y: &mut [T]) -> Result<f64, DeviceError> {
        match self {
            Columns::None => Ok(0.0),
            Columns::Host(host) => Ok(host.rows(x, 0, y)),
            Columns::Card(card) => {
                let mut room = card.room.lock().unwrap_or_else(PoisonError::into_inner);
                let make = || Ok([card.card.zeros::<T>(x.len())?, card.card.zeros::<T>(x.len())?]);
                let [from, to] = get_or_make(&mut room, make)?;
                from.write(x)?;
                let dot = card.apply(from, to)?;
                to.read_here(y)?;
                Ok(dot)
            }
        }
    }
}

impl CardColumns {
    fn apply<T: Scalar>(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<f64, DeviceError> {
        self.kernels.apply(x, y, true)
    }
}

fn elsewhere() -> DeviceError {
    let what = "multiply by H over ranks".into();
    DeviceError::WrongDevice { what, expected: "CPUs".into(), found: "device memory".into() }
}
