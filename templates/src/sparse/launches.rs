//! The kernels of a sparse multiply: the parameters of each, how many elements it may access, and its launch.
//!
//! `interleave` for more than one vector, `multiply`, and `multiply_finish`, which adds the partial sums of x·y of each
//! vector, one block per vector.

use super::{ColumnWord, PartPlan, RowStorage, SparsePlan};
use crate::launch::{Access, Element, FINISH_THREADS, Launch, LaunchError, Number, Parameter, multiply_finish};
use crate::prototype::Prototype;

/// Threads of the kernel that interleaves vectors.
const INTERLEAVE_THREADS: u32 = 256;

impl SparsePlan {
    /// Partial sums of all x·y: one per block and vector, for the blocks that write y.
    pub fn partials(&self) -> u64 {
        if self.is_half() {
            return self.symmetric_partials();
        }
        u64::from(self.blocks) * u64::from(self.vectors)
    }

    /// The launches of one multiply, in order.
    pub fn launches(&self) -> Result<Vec<Launch>, LaunchError> {
        let shapes = if self.is_half() { self.symmetric_shapes().to_vec() } else { self.shapes() };
        let launch = |(kernel, (blocks, threads, shared)): (Prototype, _)| kernel.launch(blocks, threads, shared);
        self.kernels().into_iter().zip(shapes).map(launch).collect()
    }

    /// `interleave` for more than one vector, `multiply`, `multiply_finish`; or those of the upper triangle.
    pub(super) fn kernels(&self) -> Vec<Prototype> {
        if self.is_half() {
            return self.symmetric_kernels().into();
        }
        let (scalar, vectors) = (self.scalar, u64::from(self.vectors));
        let interleaved = |access| Parameter::values("x", scalar, access, u64::from(self.width()) * self.rows);
        let each = |name, access| {
            let vector = move |v| Parameter::values(format!("{name}_{v}"), scalar, access, self.rows);
            (0..vectors).map(vector)
        };
        let mut kernels = vec![];
        if vectors > 1 {
            let parameters = each("x", Access::In).chain([interleaved(Access::Out)]).collect();
            kernels.push(Prototype::new("interleave", parameters));
        }
        let sums = [
            Parameter::memory("partials", Element::F64, Access::Out, self.partials()),
            Parameter::number("with_x_dot_y", Number::I64),
        ];
        let x = [interleaved(Access::In)].into_iter();
        let parameters = x.chain(each("y", Access::Out)).chain(sums).chain(self.tables()).collect();
        kernels.extend([Prototype::new("multiply", parameters), self.dot_kernel()]);
        kernels
    }

    /// Blocks, threads and dynamic shared memory of each kernel.
    fn shapes(&self) -> Vec<(u64, u32, u64)> {
        let interleave = (self.rows * u64::from(self.pairs())).div_ceil(u64::from(INTERLEAVE_THREADS));
        let interleave = (self.vectors > 1).then_some((interleave, INTERLEAVE_THREADS, 0));
        let multiply = (u64::from(self.blocks), self.threads, self.shared_bytes());
        interleave.into_iter().chain([multiply, self.dot_shape()]).collect()
    }

    /// The kernel that adds the partial sums of x·y.
    pub(super) fn dot_kernel(&self) -> Prototype {
        let vectors = u64::from(self.vectors);
        multiply_finish(vectors, self.partials(), vectors)
    }

    pub(super) fn dot_shape(&self) -> (u64, u32, u64) {
        (u64::from(self.vectors), FINISH_THREADS, 0)
    }

    /// The tables of the multiply as parameters, in order.
    pub fn tables(&self) -> Vec<Parameter> {
        let mut tables = vec![Parameter::table("block_start", Element::U32, u64::from(self.blocks) + 1)];
        tables.extend(self.parts.iter().enumerate().flat_map(|(number, part)| self.part_tables(number, part)));
        tables
    }

    /// The tables of one part: values, columns, and those required by its storage and columns.
    fn part_tables(&self, number: usize, part: &PartPlan) -> Vec<Parameter> {
        let name = |table: &str| format!("{table}_{number}");
        let column = match part.columns {
            ColumnWord::Absolute16 | ColumnWord::Delta16 => Element::U16,
            ColumnWord::Absolute32 => Element::U32,
        };
        let mut tables = vec![
            Parameter::table(name("values"), self.values.element(), part.stored()),
            Parameter::table(name("columns"), column, part.stored()),
        ];
        if part.columns == ColumnWord::Delta16 {
            tables.push(Parameter::table(name("base"), Element::U32, part.bases(self.slots())));
        }
        if self.start_count(part) > 0 {
            tables.push(Parameter::table(name("start"), self.starts.element(), self.start_count(part)));
        }
        if part.storage == RowStorage::SlicedEll {
            tables.push(Parameter::table(name("order"), Element::U16, self.slots()));
        }
        tables
    }
}
