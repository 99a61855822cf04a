//! What every multiply over ranks does: checks shares, brings a rank all of x, and adds up x·y.

use super::room::{Room, here, written};
use super::rows::RowKernels;
use eigenforge_runtime::ranks::Ranks;
use eigenforge_runtime::{CardLinks, Device, DeviceError, Scalar, Vector};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Vectors cut into a share of each rank, as one of them has it.
pub struct RankShares {
    ranks: Arc<Ranks>,
    /// Where vectors are cut.
    bounds: Vec<usize>,
    /// From card to card; without, messages go by way of the host.
    links: Option<Arc<CardLinks>>,
    room: Mutex<Room>,
}

impl RankShares {
    /// The shares that begin and end at `bounds`.
    pub fn new(ranks: &Arc<Ranks>, bounds: Vec<usize>, device: &Device) -> RankShares {
        RankShares { ranks: ranks.clone(), bounds, links: device.card_links().cloned(), room: Mutex::default() }
    }

    /// Where vectors are cut.
    pub fn bounds(&self) -> &[usize] {
        &self.bounds
    }

    /// This rank's elements.
    pub(crate) fn own_range(&self) -> Range<usize> {
        self.bounds[self.ranks.rank()]..self.bounds[self.ranks.rank() + 1]
    }

    /// Memory for exchanges.
    pub fn room(&self) -> MutexGuard<'_, Room> {
        self.room.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses vectors that are cut elsewhere.
    ///
    /// # Errors
    /// Their shares.
    pub fn check<T: Scalar>(&self, x: &Vector<T>, y: &Vector<T>) -> Result<(), DeviceError> {
        let own = self.own_range();
        if x.here() == own && y.here() == own {
            return Ok(());
        }
        let (expected, found) = (format!("the shares {own:?}"), format!("{:?} and {:?}", x.here(), y.here()));
        Err(DeviceError::Arguments { what: "multiply by H over ranks".into(), expected, found })
    }

    /// This rank's share of y by its card's kernels; returns the part of xᵀy of the rows that they make.
    ///
    /// # Errors
    /// A rank that failed; the card's.
    pub fn by_kernels<T: Scalar>(
        &self,
        rows: &RowKernels,
        x: &Vector<T>,
        y: &mut Vector<T>,
    ) -> Result<f64, DeviceError> {
        if let Some(links) = &self.links {
            return rows.apply(&self.ranks, |whole| links.gather(x, whole), y);
        }
        let mut room = self.room();
        let gathered = self.gather(&here(x)?, &mut room)?;
        rows.apply(&self.ranks, |whole| whole.write_first(gathered), y)
    }

    /// The same by what its cores make of all of x.
    ///
    /// # Errors
    /// A rank that failed.
    pub fn by_cores<T: Scalar>(
        &self,
        make: impl FnOnce(&[T], &mut [T]) -> f64,
        x: &Vector<T>,
        y: &mut Vector<T>,
    ) -> Result<f64, DeviceError> {
        let mut room = self.room();
        let whole = self.gather(&here(x)?, &mut room)?;
        written(y, |y| make(whole, y))
    }

    /// x·y of all ranks, from the part of each.
    ///
    /// # Errors
    /// A rank that failed.
    pub fn added_up(&self, part: f64) -> Result<f64, DeviceError> {
        let mut sum = [part];
        self.ranks.add_up("x·y of a multiply", 0, &mut sum)?;
        Ok(sum[0])
    }

    /// What every rank has made, or nothing.
    pub fn of_all<V, E>(&self, what: &str, made: Result<V, E>) -> Option<V> {
        let failed = self.ranks.any(what, made.is_err()).unwrap_or(true);
        made.ok().filter(|_| !failed)
    }

    /// All of x, of which this rank has `x`.
    fn gather<'r, T: Scalar>(&self, x: &[T], room: &'r mut Room) -> Result<&'r [T], DeviceError> {
        let length = self.bounds.last().copied().unwrap_or(0);
        let [whole, _] = room.numbers::<T>([length, 0]);
        let mut parts = split(whole, self.bounds.windows(2).map(|pair| pair[1] - pair[0]));
        self.ranks.exchange("gather x", &vec![x; self.ranks.count()], &mut parts)?;
        Ok(whole)
    }
}

/// Parts of these lengths, one after the other.
pub fn split<T>(mut values: &mut [T], lengths: impl Iterator<Item = usize>) -> Vec<&mut [T]> {
    let part = |length: usize| {
        let (own, rest) = std::mem::take(&mut values).split_at_mut(length);
        values = rest;
        own
    };
    lengths.map(part).collect()
}
