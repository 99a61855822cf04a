//! The launches of a sparse multiply: the arguments of each kernel, and how many elements it may access.
//!
//! `interleave` for more than one vector, `multiply`, and `multiply_finish`, which adds the partial sums of x·y of each
//! vector, one block per vector.

use super::{ColumnWord, PartPlan, SparsePlan, Storage};
use crate::launch::{Access, Element, Launch, LaunchError, Number, Parameter, multiply_finish};

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

    /// The kernels of one multiply, in order.
    pub fn launches(&self) -> Result<Vec<Launch>, LaunchError> {
        if self.is_half() {
            return self.symmetric_launches();
        }
        let (real, vectors) = (self.scalar.element(), u64::from(self.vectors));
        let mut launches = vec![];
        if vectors > 1 {
            let mut parameters: Vec<Parameter> =
                (0..vectors).map(|v| Parameter::table(format!("x_{v}"), real, self.rows)).collect();
            parameters.push(Parameter::memory("x", real, Access::Out, u64::from(self.width()) * self.rows));
            let blocks = (self.rows * u64::from(self.pairs())).div_ceil(u64::from(INTERLEAVE_THREADS));
            launches.push(Launch::new("interleave", blocks, INTERLEAVE_THREADS, 0, parameters)?);
        }
        let mut parameters = vec![Parameter::table("x", real, u64::from(self.width()) * self.rows)];
        parameters.extend((0..vectors).map(|v| Parameter::memory(format!("y_{v}"), real, Access::Out, self.rows)));
        parameters.push(Parameter::memory("partials", Element::F64, Access::Out, self.partials()));
        parameters.push(Parameter::number("with_x_dot_y", Number::I64));
        parameters.extend(self.tables());
        let (blocks, shared) = (u64::from(self.blocks), self.shared_bytes());
        launches.push(Launch::new("multiply", blocks, self.threads, shared, parameters)?);
        launches.push(self.dot_launch()?);
        Ok(launches)
    }

    /// The kernel that adds the partial sums of x·y.
    pub(super) fn dot_launch(&self) -> Result<Launch, LaunchError> {
        let vectors = u64::from(self.vectors);
        multiply_finish(vectors, self.partials(), vectors)
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
        if part.storage == Storage::SlicedEll {
            tables.push(Parameter::table(name("order"), Element::U16, self.slots()));
        }
        tables
    }
}
