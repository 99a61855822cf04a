//! Copies of a vector of which every rank has a share.

use super::Vector;
use super::card_links::CardLinks;
use super::memory::Contents;
use super::part::Part;
use super::place::MemoryPlace;
use crate::error::{DeviceError, Result};
use crate::scalar::Scalar;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// Elements that rank 0 handles at a time.
const SLAB: usize = 1 << 20;

/// The common part of two ranges, empty within the first where there is none.
pub(super) fn common(own: &Range<usize>, other: &Range<usize>) -> Range<usize> {
    let start = other.start.clamp(own.start, own.end);
    start..other.end.clamp(start, own.end)
}

/// The parts of `values` by the ranks that have them, as elements from `first` on.
fn by_rank<'v, T>(bounds: &[usize], first: usize, mut values: &'v mut [T]) -> Vec<&'v mut [T]> {
    let end = first + values.len();
    let mut parts = Vec::with_capacity(bounds.len() - 1);
    for pair in bounds.windows(2) {
        let part = common(&(first..end), &(pair[0]..pair[1])).len();
        let (own, rest) = values.split_at_mut(part);
        parts.push(own);
        values = rest;
    }
    parts
}

impl<T: Scalar> Vector<T> {
    /// What is here of some elements.
    fn here_of(&self, wanted: &Range<usize>) -> Result<Cow<'_, [T]>> {
        let (here, own) = (self.here(), common(&self.here(), wanted));
        let first = own.start - here.start;
        if let Some(share) = self.local() {
            return Ok(Cow::Borrowed(&share[first..first + own.len()]));
        }
        let mut values = vec![T::default(); own.len()];
        self.read_share(first, &mut values)?;
        Ok(Cow::Owned(values))
    }

    /// Copies elements to all ranks.
    pub(super) fn read_shares(&self, part: &Part, first: usize, values: &mut [T]) -> Result<()> {
        let (own, ranks) = (self.here_of(&(first..first + values.len()))?, part.ranks());
        let mut receive = by_rank(&part.bounds(self.len()), first, values);
        ranks.exchange("read a vector", &vec![&*own; ranks.count()], &mut receive)
    }

    /// Hands all elements to rank 0, slab by slab in their order; the other ranks get nothing. Without ranks, or on another device, one
    /// slab is the whole vector. An error of `each` is returned on rank 0, after all slabs have come.
    ///
    /// # Errors
    /// The device's; a rank that failed; the errors of `each`.
    pub fn to_first<E: From<crate::error::DeviceError>>(
        &self,
        mut each: impl FnMut(&[T]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let Some(part) = self.device().part() else { return each(&self.download()?) };
        let (bounds, ranks, mut result) = (part.bounds(self.len()), part.ranks(), Ok(()));
        let mut slab = Vec::new();
        for first in (0..self.len()).step_by(SLAB) {
            let wanted = first..(first + SLAB).min(self.len());
            slab.resize(if ranks.is_first() { wanted.len() } else { 0 }, T::default());
            let mut receive = match ranks.is_first() {
                true => by_rank(&bounds, first, &mut slab),
                false => (0..ranks.count()).map(|_| <&mut [T]>::default()).collect(),
            };
            let own = self.here_of(&wanted)?;
            let mut send: Vec<&[T]> = vec![&[]; ranks.count()];
            send[0] = &own;
            ranks.exchange("gather a vector", &send, &mut receive)?;
            if ranks.is_first() && result.is_ok() {
                result = each(&slab);
            }
        }
        result
    }

    /// Overwrites all elements from rank 0, where `next` fills one slab after the other, in their order. Without ranks, or on another
    /// device, there are slabs too. `next` must not fail on rank 0 without the run ending.
    ///
    /// # Errors
    /// The device's; a rank that failed; the errors of `next`.
    pub fn write_by_first<E: From<crate::error::DeviceError>>(
        &mut self,
        mut next: impl FnMut(&mut [T]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let length = self.len();
        let ranks = self.device().part().map(|part| (part.bounds(length), part.ranks().clone()));
        let mut slab = Vec::new();
        for first in (0..length).step_by(SLAB) {
            let wanted = first..(first + SLAB).min(length);
            let fills = ranks.as_ref().is_none_or(|(_, ranks)| ranks.is_first());
            slab.resize(if fills { wanted.len() } else { 0 }, T::default());
            if fills {
                next(&mut slab)?;
            }
            let Some((bounds, ranks)) = &ranks else {
                self.write_part(first, &slab)?;
                continue;
            };
            let own = common(&self.here(), &wanted);
            let mut part = vec![T::default(); own.len()];
            let mut receive: Vec<&mut [T]> = (0..ranks.count()).map(|_| <&mut [T]>::default()).collect();
            receive[0] = &mut part;
            let send: Vec<&[T]> = match fills {
                true => by_rank(bounds, first, &mut slab).into_iter().map(|part| &*part).collect(),
                false => vec![&[]; ranks.count()],
            };
            ranks.exchange("scatter a vector", &send, &mut receive)?;
            self.write_part(own.start, &part)?;
        }
        Ok(())
    }
}

/// Messages from card to card, of vectors of this rank's card.
impl CardLinks {
    /// The address of a vector of this card, which has so many elements here.
    fn place<T: Scalar>(&self, vector: &Vector<T>, elements: usize) -> Result<u64> {
        let own = matches!(vector.place(), MemoryPlace::Card(context) if Arc::ptr_eq(&context, self.context()));
        match vector.address() {
            Some(address) if own && elements <= vector.here().len() => Ok(address),
            _ => Err(DeviceError::Arguments {
                what: "a message between cards".into(),
                expected: format!("{elements} elements on {}", self.context().name()),
                found: format!("{} on {}", vector.here().len(), vector.device().name()),
            }),
        }
    }

    /// Copies the shares of all ranks into the first elements of a vector that this rank has as a whole. Shares are equally long but for the
    /// last ones, and the vector has room for as many that are as long as the first.
    ///
    /// # Errors
    /// A rank that failed; other shares, too little room; NCCL's.
    pub fn gather<T: Scalar>(&self, share: &Vector<T>, whole: &mut Vector<T>) -> Result<()> {
        self.ranks().all_of("gather x from card to card", 0.0)?;
        let (shares, size) = (share.shares(), size_of::<T>());
        let each = shares[0].len();
        let are_even = (shares.iter().enumerate()).all(|(rank, places)| places.start == (rank * each).min(share.len()));
        if !are_even {
            let (expected, found) = ("shares of one length but for the last".into(), format!("{shares:?}"));
            return Err(DeviceError::Arguments { what: "a gathered vector".into(), expected, found });
        }
        let [from, to] = [self.place(share, share.here().len())?, self.place(whole, each * shares.len())?];
        if each == 0 {
            return Ok(());
        }
        let (own, bytes) = (self.ranks().rank() * each * size, share.here().len() * size);
        if bytes > 0 {
            self.copy_runs(from, [bytes, 1], (to + own as u64, bytes))?;
        }
        self.all_gather(to, each * size)
    }

    /// Brings to every rank the elements between two bounds of each other, in a vector that each has as a whole with its own in place.
    ///
    /// # Errors
    /// A rank that failed; a vector that is too short, bounds of other ranks; NCCL's.
    pub fn gather_parts<T: Scalar>(&self, whole: &mut Vector<T>, bounds: &[usize]) -> Result<()> {
        self.ranks().all_of("share from card to card", 0.0)?;
        if bounds.len() != self.ranks().count() + 1 {
            let (expected, found) = (format!("{} bounds", self.ranks().count() + 1), format!("{bounds:?}"));
            return Err(DeviceError::Arguments { what: "parts of a vector".into(), expected, found });
        }
        let at = self.place(whole, bounds.last().copied().unwrap_or(0))?;
        self.share_bytes(at, &bounds.iter().map(|bound| bound * size_of::<T>()).collect::<Vec<_>>())
    }

    /// Sends the elements between two bounds to each rank, and receives as many as the other bounds say from each.
    ///
    /// # Errors
    /// A rank that failed; vectors that are too short; NCCL's.
    pub fn exchange<T: Scalar>(
        &self,
        (send, sent): (&Vector<T>, &[usize]),
        (receive, received): (&mut Vector<T>, &[usize]),
    ) -> Result<()> {
        self.ranks().all_of("exchange from card to card", 0.0)?;
        let end = |bounds: &[usize]| bounds.last().copied().unwrap_or(0);
        let [from, to] = [self.place(send, end(sent))?, self.place(receive, end(received))?];
        let bytes = |bounds: &[usize]| bounds.iter().map(|bound| bound * size_of::<T>()).collect::<Vec<_>>();
        self.exchange_bytes((from, &bytes(sent)), (to, &bytes(received)))
    }

    /// Writes the transpose of a matrix of so many rows and columns, column by column.
    ///
    /// # Errors
    /// Vectors that are too short; cuBLAS's.
    pub fn transpose<T: Scalar>(&self, from: &Vector<T>, shape: [usize; 2], to: &mut Vector<T>) -> Result<()> {
        let elements = shape[0] * shape[1];
        let [from, to] = [self.place(from, elements)?, self.place(to, elements)?];
        if elements == 0 { Ok(()) } else { self.transpose_at(from, shape, to, size_of::<T>()) }
    }

    /// Copies `columns` columns of `rows` elements that lie one after the other, from element `first` on, to columns of another matrix, from
    /// its element `at` on, `stride` elements apart.
    ///
    /// # Errors
    /// Vectors that are too short; the driver's.
    pub fn copy_columns<T: Scalar>(
        &self,
        (from, first): (&Vector<T>, usize),
        [rows, columns]: [usize; 2],
        (to, at, stride): (&mut Vector<T>, usize, usize),
    ) -> Result<()> {
        if rows * columns == 0 {
            return Ok(());
        }
        let size = size_of::<T>();
        let source = self.place(from, first + rows * columns)? + (first * size) as u64;
        let target = self.place(to, at + (columns - 1) * stride + rows)? + (at * size) as u64;
        self.copy_runs(source, [rows * size, columns], (target, stride * size))
    }
}
