//! H times columns of the host's memory.

use super::number::{Number, Part};
use super::{BLOCK, Multiply, Vectors};
use eigenforge::runtime::{DeviceError, Vector};
use numpy::ndarray::{ArrayView2, ArrayViewMut2};
use std::sync::PoisonError;

impl Multiply {
    /// y = H x.
    pub(super) fn multiply_host<N: Number>(
        &self,
        x: ArrayView2<'_, N>,
        mut y: ArrayViewMut2<'_, N>,
    ) -> Result<(), DeviceError> {
        let operator = self.operator::<N::Part>();
        let mut vectors = N::Part::vectors(self).lock().unwrap_or_else(PoisonError::into_inner);
        let Vectors { x: inputs, y: outputs, host } = &mut *vectors;
        let each = self.layout.vectors(N::PARTS);
        let columns: Vec<usize> = (0..x.ncols()).collect();
        for block in columns.chunks((BLOCK / each).max(1)) {
            let count = block.len() * each;
            while inputs.len() < count {
                inputs.push(operator.device().zeros(operator.dimension())?);
            }
            while outputs.len() < count {
                outputs.push(operator.device().zeros(operator.dimension())?);
            }
            for (place, input) in inputs[..count].iter_mut().enumerate() {
                let column = x.column(block[place / each]);
                match N::contiguous(&column) {
                    Some(values) => input.write(values)?,
                    None => {
                        host.clear();
                        N::split(column, place % each, self.layout, host);
                        input.write(host)?;
                    }
                }
            }
            match count {
                1 => operator.multiply(&inputs[0], &mut outputs[0])?,
                _ => {
                    let inputs: Vec<&Vector<N::Part>> = inputs[..count].iter().collect();
                    operator.multiply_block(&inputs, &mut outputs[..count])?;
                }
            }
            for (column, outputs) in block.iter().zip(outputs.chunks(each)) {
                let found = outputs.iter().map(Vector::download).collect::<Result<Vec<_>, _>>()?;
                N::join(&found, self.layout, y.column_mut(*column));
            }
        }
        Ok(())
    }
}
