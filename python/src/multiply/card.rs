//! H times columns of a card's memory: where they are if they lie as vectors of the device do, else by vectors of its own.

use super::card_array::{CardArray, Columns};
use super::number::Part;
use super::{BLOCK, Layout, Multiply, Vectors};
use crate::errors::input_error;
use eigenforge::runtime::{ArrayPlace, Bind, CallerStream, DeviceError, Program, Vector};
use eigenforge_templates::ScalarType;
use eigenforge_templates::vector_program::VectorProgram;
use pyo3::prelude::*;
use std::sync::PoisonError;

/// Kernels read and write several numbers at once, at such addresses.
const ALIGNED: u64 = 256;

const ADD_CONSTANT: &str = "\
program add_constant
vectors x : in
vectors y : inout
scalars constant
y = y + constant * x
";

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
        [x, y].into_iter().try_for_each(|array| caller.check(array.address))?;
        let work = || match self.scalar {
            ScalarType::F64 => self.queue::<f64>(caller, x, y),
            ScalarType::F32 => self.queue::<f32>(caller, x, y),
        };
        // SAFETY: Python vouches for its stream, the default one is always there.
        unsafe { caller.order(stream.unwrap_or(0), work) }?;
        if stream.is_none() { self.operator::<f64>().device().synchronize() } else { Ok(()) }
    }

    fn queue<P: Part>(&self, caller: &CallerStream, x: &Columns, y: &Columns) -> Result<(), DeviceError> {
        let operator = self.operator::<P>();
        let mut vectors = P::vectors(self).lock().unwrap_or_else(PoisonError::into_inner);
        let each = self.layout.vectors(x.parts);
        let columns: Vec<usize> = (0..x.shape[1]).collect();
        for block in columns.chunks((BLOCK / each).max(1)) {
            let places: Vec<(usize, usize)> =
                block.iter().flat_map(|c| (0..each).map(move |part| (*c, part))).collect();
            let input = |array: &Columns, kept: &mut Vec<Vector<P>>, is_read: bool| {
                let take = |(column, part): &(usize, usize)| {
                    let numbers = self.parts(array, *column, *part);
                    if let [(place, _)] = numbers[..]
                        && place.step == 1
                        && place.address.is_multiple_of(ALIGNED)
                    {
                        // SAFETY: `check` found the first number on this card, and Python holds the array, whose last use is ordered before
                        // what follows on the caller's stream.
                        return Ok((unsafe { caller.vector(place.address, place.count) }, true));
                    }
                    let mut vector = kept.pop().map_or_else(|| operator.device().zeros(operator.dimension()), Ok)?;
                    if is_read {
                        for (place, own) in numbers {
                            // SAFETY: as above.
                            unsafe { caller.gather(place, &mut vector, own) }?;
                        }
                    }
                    Ok((vector, false))
                };
                places.iter().map(take).collect::<Result<(Vec<_>, Vec<bool>), DeviceError>>()
            };
            let Vectors { x: kept_x, y: kept_y, .. } = &mut *vectors;
            let (inputs, x_is_theirs) = input(x, kept_x, true)?;
            let (mut outputs, y_is_theirs) = input(y, kept_y, false)?;
            match (&inputs[..], &mut outputs[..]) {
                ([x], [y]) => operator.multiply(x, y)?,
                (_, outputs) => operator.multiply_block(&inputs.iter().collect::<Vec<_>>(), outputs)?,
            }
            if self.constant != 0.0 {
                for (x, y) in inputs.iter().zip(&mut outputs) {
                    self.add_constant::<P>()?.queue(&mut [Bind::In(x), Bind::Out(y)], &[self.constant])?;
                }
            }
            for ((vector, is_theirs), (column, part)) in outputs.into_iter().zip(y_is_theirs).zip(&places) {
                if is_theirs {
                    continue;
                }
                for (place, own) in self.parts(y, *column, *part) {
                    // SAFETY: as above.
                    unsafe { caller.scatter(&vector, own, place) }?;
                }
                kept_y.push(vector);
            }
            kept_x.extend(inputs.into_iter().zip(x_is_theirs).filter(|(_, is_theirs)| !is_theirs).map(|(own, _)| own));
        }
        Ok(())
    }

    fn add_constant<P: Part>(&self) -> Result<&Program, DeviceError> {
        if let Some(program) = self.add_constant.get() {
            return Ok(program);
        }
        let program = VectorProgram::parse(ADD_CONSTANT).unwrap_or_else(|error| unreachable!("it parses: {error}"));
        let program = self.operator::<P>().device().program(&program, P::TYPE, &[])?;
        Ok(self.add_constant.get_or_init(|| program))
    }

    /// Where the numbers of a vector of a column are in the array, and in the vector: its first element of them and the step between them.
    fn parts(&self, array: &Columns, column: usize, part: usize) -> Vec<(ArrayPlace, (usize, usize))> {
        let first = array.address + (column * array.strides[1] * array.parts * array.bytes) as u64;
        let (count, step) = (array.shape[0], array.strides[0] * array.parts);
        let place = |part: usize| ArrayPlace { address: first + (part * array.bytes) as u64, count, step };
        match self.layout {
            Layout::Numbers if array.strides[0] == 1 => {
                vec![(ArrayPlace { address: first, count: array.parts * count, step: 1 }, (0, 1))]
            }
            Layout::Numbers => vec![(place(0), (0, 2)), (place(1), (1, 2))],
            Layout::Halves => vec![(place(0), (0, 1)), (place(1), (count, 1))],
            Layout::Real => vec![(place(part), (0, 1))],
        }
    }
}
