//! The CPU's part of H x, done while the card does the rest.
//!
//! In: the CPU's records of y = H x ([`Split`]), operators and x on the card. Out: its blocks of y, in their places on the
//! card. The operators that its records read are copied to host memory once per H, and x in each product, on a stream
//! beside the kernels; its blocks are copied back when the card has finished the others.

use super::super::{Buffers, OperandSpace, SPACE_LIST, SPACES, Split, TwoStages};
use super::DeviceBuffers;
use crate::device::{Device, PendingCopy, Pinned, SideCopies, Vector};
use crate::error::DeviceError;
use crate::residency::Spare;
use crate::trace;
use std::ops::Range;
use std::time::Instant;

/// Memory and copy streams for the CPU's part, kept from one H to the next.
pub(super) struct CpuPartMemory {
    device: Device,
    copies: SideCopies,
    /// Host memory kept for reuse: pinning its pages takes longer than a copy.
    spare: Spare<Pinned>,
}

/// The CPU's part of one H.
pub(super) struct CpuPart<'a> {
    memory: &'a CpuPartMemory,
    records: TwoStages,
    stretches: Vec<[usize; 3]>,
    /// Ranges of x that it reads.
    input: Vec<Range<usize>>,
    operators: [Option<Pinned>; SPACES],
    between: Vec<f64>,
    /// Present between products.
    x: Option<Pinned>,
    y: Option<Pinned>,
    /// Seconds of copying the operators, and of the last product's copies and records.
    pub seconds: Seconds,
}

/// Where the time of the CPU's part goes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seconds {
    pub operators: f64,
    pub copies: f64,
    pub records: f64,
}

impl CpuPartMemory {
    pub(super) fn new(device: &Device) -> Result<CpuPartMemory, DeviceError> {
        Ok(CpuPartMemory { device: device.clone(), copies: SideCopies::new(device)?, spare: Spare::default() })
    }

    /// Host memory for `length` numbers.
    fn host(&self, length: usize) -> Result<Pinned, DeviceError> {
        let kept = self.spare.take(length, |pinned| pinned.len());
        kept.map_or_else(|| self.device.pinned(length.next_power_of_two()), Ok)
    }

    /// Fills host memory for buffers with NaN that must not be read.
    #[cfg(test)]
    pub(super) fn poison(&self, length: usize) {
        for _ in 0..8 {
            let mut buffer = self.device.pinned(length).unwrap();
            buffer.fill(f64::NAN);
            self.spare.give_back([buffer]);
        }
    }

    /// Copies the operators that the CPU's records read; `None` if it has no records.
    pub(super) fn prepare(
        &self,
        split: Split,
        buffers: &DeviceBuffers<'_>,
    ) -> Result<Option<CpuPart<'_>>, DeviceError> {
        let Split { cpu: records, stretches, mut reads, .. } = split;
        if stretches.is_empty() {
            return Ok(None);
        }
        let begun = Instant::now();
        let input = std::mem::take(&mut reads[OperandSpace::Input as usize]);
        let mut operators: [Option<Pinned>; SPACES] = Default::default();
        for ((space, ranges), operators) in SPACE_LIST.into_iter().zip(&reads).zip(&mut operators) {
            if let (Some((vector, first)), false) = (buffers.get(space), ranges.is_empty()) {
                let to = self.host(ranges.iter().map(Range::len).sum())?;
                *operators = Some(self.copies.begin(vector, first, ranges, to)?.wait()?);
            }
        }
        let x = Some(self.host(input.iter().map(Range::len).sum())?);
        let y = Some(self.host(records.second.length)?);
        let seconds = Seconds { operators: begun.elapsed().as_secs_f64(), ..Seconds::default() };
        let (between, memory) = (Vec::new(), self);
        Ok(Some(CpuPart { memory, records, stretches, input, operators, x, between, y, seconds }))
    }
}

impl<'a> CpuPart<'a> {
    /// Starts to copy x, which begins at element `from` of `v`.
    pub(super) fn begin<'v>(&mut self, v: &'v Vector<f64>, from: usize) -> Result<PendingCopy<'v>, DeviceError>
    where
        'a: 'v,
    {
        // Replaces memory lost by a failed product.
        let lost = || self.memory.host(self.input.iter().map(Range::len).sum());
        let x = self.x.take().map_or_else(lost, Ok)?;
        self.memory.copies.begin(v, from, &self.input, x)
    }

    /// Runs the records on x and copies the blocks of y to `w`, where y begins at element `to`. Waits for everything
    /// queued for `w` before.
    pub(super) fn finish(&mut self, x: PendingCopy<'_>, w: &mut Vector<f64>, to: usize) -> Result<(), DeviceError> {
        let begun = Instant::now();
        let x = x.wait()?;
        let there = begun.elapsed().as_secs_f64();
        let running = trace::span("dmrg", "H x on the CPU");
        let mut buffers = Buffers::default();
        for (space, data) in SPACE_LIST.into_iter().zip(&self.operators) {
            buffers = data.as_deref().map_or(buffers, |data| buffers.set(space, data));
        }
        let mut y = self.y.take().map_or_else(|| self.memory.host(self.records.second.length), Ok)?;
        self.records.multiply(buffers, &x, &mut self.between, &mut y[..self.records.second.length]);
        self.x = Some(x);
        drop(running);
        let made = begun.elapsed().as_secs_f64();
        let parts: Vec<(usize, &[f64])> =
            self.stretches.iter().map(|[first, at, length]| (to + at, &y[*first..][..*length])).collect();
        w.write_parts(&parts)?;
        self.y = Some(y);
        let copies = there + begun.elapsed().as_secs_f64() - made;
        self.seconds = Seconds { copies, records: made - there, ..self.seconds };
        Ok(())
    }
}

impl Drop for CpuPart<'_> {
    fn drop(&mut self) {
        let held = self.operators.iter_mut().chain([&mut self.x, &mut self.y]).filter_map(Option::take);
        self.memory.spare.give_back(held);
    }
}
