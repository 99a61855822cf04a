//! H times columns of a card's memory: where they are if they lie as vectors of the device do, else by vectors of its own.

use super::card_array::{CardArray, Columns};
use super::number::Part;
use super::{BLOCK, Layout, Multiply, Vectors};
use crate::errors::input_error;
use eigenforge::runtime::{CallerStream, ColumnCopies, DeviceError, StridedColumns, Vector};
use eigenforge_templates::ScalarType;
use pyo3::prelude::*;
use std::ops::Range;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

/// Kernels read and write several numbers at once, at such addresses.
const ALIGNED: u64 = 256;

impl Multiply {
    /// The stream that arrays of a card come from.
    pub(super) fn caller(&self) -> Result<&CallerStream, DeviceError> {
        if let Some(caller) = self.caller.get() {
            return Ok(caller);
        }
        let caller = CallerStream::new(self.operator::<f64>().device())?;
        Ok(self.caller.get_or_init(|| caller))
    }

    /// Refuses arrays of other shapes and numbers than H has, y that is not to be written, and x that shares its memory.
    pub(super) fn check_card(&self, x: &CardArray<'_>, y: &CardArray<'_>) -> PyResult<()> {
        let (of_x, of_y) = (&x.place, &y.place);
        let wanted = self.scalar.bytes();
        let name =
            |place: &Columns| format!("{}{}", ["float", "complex"][place.parts - 1], 8 * place.parts * place.bytes);
        if of_x.bytes != wanted || of_x.parts == 1 && self.layout.is_complex() {
            let fits = if self.layout.is_complex() { "" } else { ", or complex ones of that precision" };
            let expected = format!("expected numbers of {}{fits}, found {}", self.dtype(), name(of_x));
            return Err(input_error(&expected, "cast the array first"));
        }
        if of_x.shape[0] != self.states {
            let found = of_x.shape[0];
            return Err(input_error(&format!("expected an array of {} rows, found {found}", self.states), ""));
        }
        if (of_x.shape, of_x.bytes, of_x.parts) != (of_y.shape, of_y.bytes, of_y.parts) {
            let (shape, found) = (of_x.shape, of_y.shape);
            let expected =
                format!("expected an `out` of shape {shape:?} and {}, found {found:?} and {}", name(of_x), name(of_y));
            return Err(input_error(&expected, ""));
        }
        if let Some(place) = [of_x, of_y].into_iter().find(|place| !place.address.is_multiple_of(wanted as u64)) {
            let expected = format!("expected an address that is a multiple of {wanted}, found {:#x}", place.address);
            return Err(input_error(&expected, "copy the array first"));
        }
        let (a, b) = (of_x.range(), of_y.range());
        if y.is_read_only || a.start < b.end && b.start < a.end {
            return Err(input_error("expected an `out` that can be written and is apart from x", ""));
        }
        Ok(())
    }

    /// y = H x, queued in the order of a stream; without one it waits until y is there.
    pub(super) fn multiply_card(
        &self,
        caller: &CallerStream,
        x: &Columns,
        y: &Columns,
        stream: Option<u64>,
    ) -> Result<(), DeviceError> {
        if x.shape.contains(&0) {
            return Ok(());
        }
        for array in [x, y] {
            // What names its card need not be looked up.
            if array.card != Some(caller.ordinal() as i32) {
                caller.check(array.address)?;
            }
        }
        let work = || match self.scalar {
            ScalarType::F64 => self.queue::<f64>(caller, x, y),
            ScalarType::F32 => self.queue::<f32>(caller, x, y),
        };
        let vectors = self.blocks(x).fold(0, |bits, block| bits | 1u32 << (block.len() * self.layout.vectors(x.parts)));
        let is_ready = self.multiplied.load(Ordering::Acquire) & vectors == vectors;
        match stream {
            // SAFETY: Python vouches for its stream.
            Some(stream) if is_ready => return unsafe { caller.queue(stream, work) },
            // SAFETY: as above; the default one is always there.
            _ => unsafe { caller.order(stream.unwrap_or(0), work) }?,
        }
        self.multiplied.fetch_or(vectors, Ordering::AcqRel);
        if stream.is_none() { self.operator::<f64>().device().synchronize() } else { Ok(()) }
    }

    /// Columns that are multiplied at once.
    fn blocks(&self, array: &Columns) -> impl Iterator<Item = Range<usize>> {
        let (columns, most) = (array.shape[1], (BLOCK / self.layout.vectors(array.parts)).max(1));
        (0..columns).step_by(most).map(move |first| first..(first + most).min(columns))
    }

    fn queue<P: Part>(&self, caller: &CallerStream, x: &Columns, y: &Columns) -> Result<(), DeviceError> {
        let operator = self.operator::<P>();
        let mut vectors = P::vectors(self).lock().unwrap_or_else(PoisonError::into_inner);
        let Vectors { x: kept_x, y: kept_y, .. } = &mut *vectors;
        for block in self.blocks(x) {
            let mut inputs = self.vectors(caller, x, &block, kept_x)?;
            self.fill(caller, x, &block, &mut inputs)?;
            let mut outputs = self.vectors(caller, y, &block, kept_y)?;
            match (&inputs.vectors[..], &mut outputs.vectors[..]) {
                ([x], [y]) => operator.multiply(x, y)?,
                (inputs, outputs) => operator.multiply_block(&inputs.iter().collect::<Vec<_>>(), outputs)?,
            }
            self.hand_over(caller, y, &block, &outputs)?;
            inputs.give_back(kept_x);
            outputs.give_back(kept_y);
        }
        Ok(())
    }

    /// Vectors of the columns of a block: the array's own memory where it lies as they do, else memory of the operator.
    fn vectors<P: Part>(
        &self,
        caller: &CallerStream,
        array: &Columns,
        block: &Range<usize>,
        kept: &mut Vec<Vector<P>>,
    ) -> Result<BlockVectors<P>, DeviceError> {
        let (operator, count) = (self.operator::<P>(), block.len() * self.layout.vectors(array.parts));
        let mut found = BlockVectors { vectors: Vec::with_capacity(count), are_theirs: Vec::with_capacity(count) };
        for number in 0..count {
            let place = self.run(array, block.start + number).filter(|(address, _)| address.is_multiple_of(ALIGNED));
            found.are_theirs.push(place.is_some());
            found.vectors.push(match place {
                // SAFETY: the first number is on this card, and Python holds the array, whose last use is ordered before what follows on the
                // caller's stream.
                Some((address, len)) => unsafe { caller.vector(address, len) },
                None => kept.pop().map_or_else(|| operator.device().zeros(operator.dimension()), Ok)?,
            });
        }
        Ok(found)
    }

    /// Address and length of a column whose numbers stand as those of one vector do.
    fn run(&self, array: &Columns, column: usize) -> Option<(u64, usize)> {
        let is_vector = array.strides[0] == 1 && (array.parts == 1 || self.layout == Layout::Numbers);
        is_vector.then(|| (array.address_of(column), array.shape[0] * array.parts))
    }

    /// Copies the columns of a block to the vectors that are the operator's own.
    fn fill<P: Part>(
        &self,
        caller: &CallerStream,
        array: &Columns,
        block: &Range<usize>,
        inputs: &mut BlockVectors<P>,
    ) -> Result<(), DeviceError> {
        for number in (0..inputs.vectors.len()).filter(|number| !inputs.are_theirs[*number]) {
            let Some((address, len)) = self.run(array, block.start + number) else {
                let columns = self.strided_columns(array);
                // SAFETY: as in `vectors`.
                let array = unsafe { caller.vector(array.address_of(block.start), columns.span(inputs.vectors.len())) };
                return self.copies::<P>()?.gather(&array, &columns, &mut inputs.vectors);
            };
            // SAFETY: as in `vectors`.
            inputs.vectors[number].copy_from(&unsafe { caller.vector(address, len) })?;
        }
        Ok(())
    }

    /// Copies vectors that are the operator's own to the columns of a block.
    fn hand_over<P: Part>(
        &self,
        caller: &CallerStream,
        array: &Columns,
        block: &Range<usize>,
        outputs: &BlockVectors<P>,
    ) -> Result<(), DeviceError> {
        for number in (0..outputs.vectors.len()).filter(|number| !outputs.are_theirs[*number]) {
            let Some((address, len)) = self.run(array, block.start + number) else {
                let columns = self.strided_columns(array);
                let (address, span) = (array.address_of(block.start), columns.span(outputs.vectors.len()));
                // SAFETY: as in `vectors`; nothing else writes it meanwhile.
                let mut array = unsafe { caller.vector(address, span) };
                return self.copies::<P>()?.scatter(&outputs.vectors, &mut array, &columns);
            };
            // SAFETY: as above.
            unsafe { caller.vector(address, len) }.copy_from(&outputs.vectors[number])?;
        }
        Ok(())
    }

    /// The strides of an array, and how vectors have its numbers.
    fn strided_columns(&self, array: &Columns) -> StridedColumns {
        let Columns { shape: [rows, _], strides, parts, .. } = *array;
        StridedColumns { rows, strides, parts, together: self.layout.together() }
    }

    fn copies<P: Part>(&self) -> Result<&ColumnCopies, DeviceError> {
        if let Some(copies) = self.copies.get() {
            return Ok(copies);
        }
        let copies = ColumnCopies::new(self.operator::<P>().device(), P::TYPE)?;
        Ok(self.copies.get_or_init(|| copies))
    }
}

/// The vectors of a block of columns.
struct BlockVectors<P: Part> {
    vectors: Vec<Vector<P>>,
    /// Whether each is memory of the caller's array.
    are_theirs: Vec<bool>,
}

impl<P: Part> BlockVectors<P> {
    /// Keeps the operator's own for the next call.
    fn give_back(self, kept: &mut Vec<Vector<P>>) {
        let own = self.vectors.into_iter().zip(self.are_theirs).filter(|(_, is_theirs)| !is_theirs);
        kept.extend(own.map(|(vector, _)| vector));
    }
}
