//! Copies between the columns of an array in a device's memory and vectors, by generated kernels.
//!
//! In: an array whose elements stand at strides, such as complex numbers of which vectors hold the parts. Out: the vectors, or the array.
//! What [`eigenforge_templates::column_copies`] says.

use super::{Arguments, Device, Kernel, Vector};
use crate::error::{DeviceError, Result};
use crate::operator::PartOrder;
use crate::scalar::Scalar;
use eigenforge_templates::ScalarType;
use eigenforge_templates::column_copies::{ColumnCopiesPlan, CopiedColumns, CopyDirection};

/// Names of the vectors of a launch.
const VECTORS: [&str; ColumnCopiesPlan::MOST_VECTORS as usize] = ["vector_0", "vector_1", "vector_2", "vector_3"];

/// How the numbers of an array stand, and how vectors hold their parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StridedColumns {
    /// Rows.
    pub rows: usize,
    /// Numbers from row to row and from column to column.
    pub strides: [usize; 2],
    /// Parts of a number, side by side: 1 of real, 2 of complex numbers.
    pub parts: usize,
    /// How a vector holds all parts of a column; `None` where each part has a vector of its own.
    pub together: Option<PartOrder>,
}

impl StridedColumns {
    /// Vectors of a column.
    pub fn vectors(&self) -> usize {
        if self.together.is_some() { 1 } else { self.parts }
    }

    fn copied(&self, vectors: usize) -> CopiedColumns {
        let (rows, parts) = (self.rows as u64, self.parts as u32);
        let (split, held) = if self.together.is_some() { (1, parts) } else { (parts, 1) };
        let (vector_step, vector_shift) = match self.together {
            Some(PartOrder::Numbers(_)) => (u64::from(parts), 1),
            Some(PartOrder::Halves) | None => (1, rows),
        };
        let [row_stride, column_stride] = self.strides.map(|stride| (stride * self.parts) as u64);
        let vectors = vectors as u32;
        CopiedColumns { rows, row_stride, column_stride, split, held, vector_step, vector_shift, vectors }
    }

    /// Elements from the first number to beyond the last of the columns that so many vectors hold.
    pub fn span(&self, vectors: usize) -> usize {
        self.copied(vectors).span() as usize
    }
}

/// The kernels of one type of number on a device.
pub struct ColumnCopies {
    plan: ColumnCopiesPlan,
    kernel: Kernel,
}

impl ColumnCopies {
    /// Most vectors of a call.
    pub const MOST_VECTORS: usize = ColumnCopiesPlan::MOST_VECTORS as usize;

    /// Compiles the kernels, or takes them from the device's cache.
    ///
    /// # Errors
    /// A device that runs no kernels; the compiler's.
    pub fn new(device: &Device, scalar: ScalarType) -> Result<ColumnCopies> {
        let plan = ColumnCopiesPlan { name: "column_copies".into(), scalar, warp: device.warp() };
        let kernel = device.compile(&plan.text().map_err(DeviceError::from)?)?;
        Ok(ColumnCopies { plan, kernel })
    }

    /// Copies the first columns of an array, which begins with the first number of the first, to vectors.
    ///
    /// # Errors
    /// Too many vectors; one that is too short, or of another type or device.
    pub fn gather<T: Scalar>(&self, array: &Vector<T>, columns: &StridedColumns, to: &mut [Vector<T>]) -> Result<()> {
        let copied = self.checked(columns, to.len())?;
        let launch = self.plan.launch(CopyDirection::Gather, &copied)?;
        let arguments = Arguments::new().read("array", array);
        let arguments = to.iter_mut().zip(VECTORS).fold(arguments, |all, (vector, name)| all.write(name, vector));
        self.kernel.launch(&launch, numbers(arguments, &copied))
    }

    /// Copies vectors to the first columns of an array; what stands between these numbers stays.
    ///
    /// # Errors
    /// As of [`ColumnCopies::gather`].
    pub fn scatter<T: Scalar>(
        &self,
        from: &[Vector<T>],
        array: &mut Vector<T>,
        columns: &StridedColumns,
    ) -> Result<()> {
        let copied = self.checked(columns, from.len())?;
        let launch = self.plan.launch(CopyDirection::Scatter, &copied)?;
        let arguments = Arguments::new().write("array", array);
        let arguments = from.iter().zip(VECTORS).fold(arguments, |all, (vector, name)| all.read(name, vector));
        self.kernel.launch(&launch, numbers(arguments, &copied))
    }

    fn checked(&self, columns: &StridedColumns, vectors: usize) -> Result<CopiedColumns> {
        let each = columns.vectors();
        if (1..=2).contains(&columns.parts)
            && (1..=Self::MOST_VECTORS).contains(&vectors)
            && vectors.is_multiple_of(each)
        {
            return Ok(columns.copied(vectors));
        }
        Err(DeviceError::Arguments {
            what: "copying columns of an array".into(),
            expected: format!(
                "numbers of one or two parts, and 1 to {} vectors, as many as whole columns have",
                Self::MOST_VECTORS
            ),
            found: format!("numbers of {} parts, {vectors} vectors, {each} per column", columns.parts),
        })
    }
}

fn numbers<'a>(arguments: Arguments<'a>, copied: &CopiedColumns) -> Arguments<'a> {
    let CopiedColumns { rows, row_stride, column_stride, split, held, vector_step, vector_shift, .. } = *copied;
    arguments
        .i64("rows", rows as i64)
        .i64("row_stride", row_stride as i64)
        .i64("column_stride", column_stride as i64)
        .u32("split", split)
        .u32("held", held)
        .i64("vector_step", vector_step as i64)
        .i64("vector_shift", vector_shift as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Schedule;

    /// Where each element of an array goes, written down element by element.
    fn expected<T: Scalar>(array: &[T], columns: &StridedColumns, vectors: usize) -> Vec<Vec<T>> {
        let StridedColumns { rows, strides: [row, column], parts, together } = *columns;
        let element = |i: usize, c: usize, p: usize| array[(i * row + c * column) * parts + p];
        let of_column = |c: usize| -> Vec<Vec<T>> {
            match together {
                None => (0..parts).map(|p| (0..rows).map(|i| element(i, c, p)).collect()).collect(),
                Some(PartOrder::Halves) => {
                    vec![(0..parts).flat_map(|p| (0..rows).map(move |i| element(i, c, p))).collect()]
                }
                Some(PartOrder::Numbers(_)) => {
                    vec![(0..rows).flat_map(|i| (0..parts).map(move |p| element(i, c, p))).collect()]
                }
            }
        };
        (0..vectors / columns.vectors()).flat_map(of_column).collect()
    }

    fn compare<T: Scalar>(device: &Device, rows: usize) {
        let copies = ColumnCopies::new(device, T::TYPE).unwrap();
        for (parts, together) in [(1, None), (2, None), (2, Some(PartOrder::Halves)), (2, Some(PartOrder::Numbers(2)))]
        {
            let most = ColumnCopies::MOST_VECTORS;
            // By rows, by columns, every second row, one column.
            for (row, column, vectors) in
                [(5, 1, most), (1, rows + 3, most), (14, 3, 2), (2, 1, if together.is_none() { parts } else { 1 })]
            {
                let columns = StridedColumns { rows, strides: [row, column], parts, together };
                let span = columns.span(vectors);
                let numbers: Vec<T> = (0..span + 2).map(|k| T::from_f64(1.5 * k as f64 + 1.0)).collect();
                let (array, length) = (device.upload(&numbers).unwrap(), rows * parts / columns.vectors());
                let mut to: Vec<Vector<T>> = (0..vectors).map(|_| device.zeros(length).unwrap()).collect();
                copies.gather(&array, &columns, &mut to).unwrap();
                let found: Vec<Vec<T>> = to.iter().map(|vector| vector.download().unwrap()).collect();
                assert!(found == expected(&numbers, &columns, vectors), "{columns:?}, {vectors} vectors");
                // Back, between other numbers, which stay.
                let mut back = device.upload(&vec![T::from_f64(-1.0); span + 2]).unwrap();
                copies.scatter(&to, &mut back, &columns).unwrap();
                let written = back.download().unwrap();
                assert!(expected(&written, &columns, vectors) == found, "{columns:?}, {vectors} vectors");
                let others = written.iter().filter(|number| number.to_f64() == -1.0).count();
                assert_eq!(others, span + 2 - vectors * length, "{columns:?}");
            }
        }
    }

    #[test]
    fn arrays_and_vectors_have_the_same_numbers() {
        let Some(device) = crate::testing::card_or_simulated(Schedule::Forward) else { return };
        for rows in [1, 67, 200] {
            compare::<f64>(&device, rows);
        }
        if device.is_cuda() {
            compare::<f32>(&device, 67);
        }
        let copies = ColumnCopies::new(&device, ScalarType::F64).unwrap();
        let columns = StridedColumns { rows: 3, strides: [1, 3], parts: 2, together: None };
        let array = device.zeros::<f64>(5).unwrap();
        let vectors = |count: usize| (0..count).map(|_| device.zeros::<f64>(3).unwrap()).collect::<Vec<_>>();
        for (count, words) in [(2, "6 elements or more"), (1, "2 per column"), (6, "6 vectors"), (0, "0 vectors")] {
            let refused = copies.gather(&array, &columns, &mut vectors(count)).unwrap_err().to_string();
            assert!(refused.contains(words), "{count}: {refused}");
        }
    }
}
