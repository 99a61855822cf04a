//! Copies of matrices to even strides, which the tensor memory accelerator can read.
//!
//! In: where matrices are and where their copies go. Out: one launch, with one block of threads per part.

use super::arguments_of_spaces;
use crate::device::{Buffer, Device, Kernel, Vector};
use crate::error::DeviceError;
use crate::records::SPACES;
use eigenforge_templates::dmrg::{CopiedPart, MatrixCopiesPlan, StageSizes};

/// Approximate number of elements that one block of threads copies.
const PART: usize = 1 << 14;

/// The compiled kernel.
#[derive(Clone)]
pub(super) struct Copying {
    kernel: Kernel,
    plan: MatrixCopiesPlan,
}

/// Matrices to be copied.
#[derive(Clone, Debug, Default)]
pub(super) struct Copies {
    parts: Vec<CopiedPart>,
    /// Elements of all copies.
    pub length: usize,
}

impl Copies {
    /// Cuts the copy of a `rows` × `columns` matrix into parts; returns its first element and stride. `from` is its
    /// space, first element, stride, and whether it is stored transposed.
    pub(super) fn add(
        &mut self,
        (space, first, stride, transposed): (usize, usize, usize, bool),
        [rows, columns]: [usize; 2],
        before: usize,
    ) -> (usize, usize) {
        let (start, even) = (self.length, (before + rows).next_multiple_of(2));
        let at_once = if transposed { CopiedPart::TURNED } else { (PART / rows.max(1)).max(1) };
        for column in (0..columns).step_by(at_once) {
            let from = first + if transposed { column } else { column * stride };
            self.parts.push(CopiedPart {
                space: space as u32,
                transposed,
                size: [rows as u32, (columns - column).min(at_once) as u32],
                strides: [stride as u32, even as u32],
                before: before as u32,
                firsts: [from as u64, (start + column * even) as u64],
            });
        }
        self.length += even * columns;
        (start, even)
    }

    /// The parts as the kernel reads them.
    pub(super) fn table(&self) -> Vec<u64> {
        self.parts.iter().flat_map(CopiedPart::words).collect()
    }
}

impl Copying {
    /// # Errors
    /// The compiler is missing.
    pub(super) fn new(device: &Device, name: &str) -> Result<Copying, DeviceError> {
        let plan = MatrixCopiesPlan::new(name);
        Ok(Copying { kernel: device.compile(&plan.text()?)?, plan })
    }

    /// Queues the copies. Up to `read` elements of each vector are read, from its first one on.
    ///
    /// # Errors
    /// A vector is too short.
    pub(super) fn run(
        &self,
        copies: &Copies,
        table: &Buffer<u64>,
        given: &[(&Vector<f64>, usize); SPACES],
        read: [usize; SPACES],
        to: &mut Vector<f64>,
    ) -> Result<(), DeviceError> {
        let ends = std::array::from_fn(|k| if read[k] == 0 { 0 } else { (given[k].1 + read[k]) as u64 });
        let sizes = StageSizes { spaces: ends, output: copies.length as u64, ..StageSizes::default() };
        let arguments = arguments_of_spaces(given).write("output", to).read("table", table);
        self.kernel.launch(&self.plan.launch(&sizes, copies.parts.len())?, arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeded::vector;
    use crate::simulate::Schedule;

    /// The name has compute-sanitizer run it.
    #[test]
    fn memcheck_copies_are_even_turned_and_preceded_by_zeros() {
        let Some(device) = crate::testing::card_or_simulated(Schedule::Reverse) else { return };
        let copying = Copying::new(&device, "test").unwrap();
        let (data, first) = (vector(40_000, 3), 7);
        let whole = device.upload(&[&vec![f64::NAN; first][..], &data].concat()).unwrap();
        let nothing = device.zeros(1).unwrap();
        let (mut copies, mut expected) = (Copies::default(), Vec::new());
        for (rows, columns, before) in [(1, 1, 0), (5, 70, 1), (131, 3, 0), (33, 65, 1), (300, 100, 0), (64, 32, 1)] {
            for transposed in [false, true] {
                let stride = if transposed { columns } else { rows } + 3;
                let from = 11 * rows;
                let (start, even) = copies.add((4, from, stride, transposed), [rows, columns], before);
                assert!(start % 2 == 0 && even % 2 == 0);
                expected.resize(copies.length, None);
                for (r, c) in (0..rows).flat_map(|r| (0..columns).map(move |c| (r, c))) {
                    let element = if transposed { c + r * stride } else { r + c * stride };
                    expected[start + before + r + c * even] = Some(data[from + element]);
                    (0..before).for_each(|row| expected[start + row + c * even] = Some(0.0));
                }
            }
        }
        let mut to = device.upload(&vec![-7.5; copies.length]).unwrap();
        let given = [(&nothing, 0), (&nothing, 0), (&nothing, 0), (&nothing, 0), (&whole, first), (&nothing, 0)];
        let table = device.buffer(&copies.table()).unwrap();
        copying.run(&copies, &table, &given, [0, 0, 0, 0, data.len(), 0], &mut to).unwrap();
        for (at, (found, expected)) in to.download().unwrap().iter().zip(expected).enumerate() {
            // What lies between columns stays.
            assert_eq!(*found, expected.unwrap_or(-7.5), "element {at}");
        }
    }
}
