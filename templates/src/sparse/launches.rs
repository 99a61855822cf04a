//! The kernels of a sparse multiply: the parameters of each, how many elements it may access, and its launch.
//!
//! `interleave` for more than one vector, or `collect` where each of several cards collects what its rows need, `multiply`, and `multiply_finish`, which adds the partial sums of x·y of each
//! vector, one block per vector.

use super::{ColumnWord, DictionaryPlan, HaloPlan, PartPlan, RowStorage, SparsePlan};
use crate::launch::{Access, Element, FINISH_THREADS, Launch, LaunchError, Number, Parameter, multiply_finish};
use crate::prototype::Prototype;

/// Threads of the kernel that interleaves vectors.
const INTERLEAVE_THREADS: u32 = 256;
/// Elements of x that a thread collects, where there are many; most blocks of a card.
const COLLECTED: u64 = 4;
const MOST_COLLECTING: u64 = 2048;

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

    /// `interleave` for more than one vector, or `collect`; `multiply`, `multiply_finish`; or those of the upper triangle.
    pub(super) fn kernels(&self) -> Vec<Prototype> {
        if self.is_half() {
            return self.symmetric_kernels().into();
        }
        let (scalar, vectors) = (self.scalar, u64::from(self.vectors));
        let name = if self.halo.is_some() { "x_of_cards" } else { "x" };
        let interleaved = |access| Parameter::values(name, scalar, access, self.collected());
        let each = |name, access| {
            let vector = move |v| Parameter::values(format!("{name}_{v}"), scalar, access, self.vector_length());
            (0..vectors).map(vector)
        };
        let mut kernels = vec![];
        if vectors > 1 || self.halo.is_some() {
            let entry = if self.halo.is_some() { "collect" } else { "interleave" };
            let tables = self.halo_tables().into_iter();
            let parameters = each("x", Access::In).chain([interleaved(Access::Out)]).chain(tables).collect();
            kernels.push(Prototype::new(entry, parameters));
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
        let collect = |halo: HaloPlan| {
            let each = (halo.most * u64::from(self.pairs())).div_ceil(COLLECTED * u64::from(INTERLEAVE_THREADS));
            u64::from(halo.cards) * each.clamp(1, MOST_COLLECTING)
        };
        let interleave = self.halo.map(collect).or((self.vectors > 1).then_some(interleave));
        let interleave = interleave.map(|blocks| (blocks, INTERLEAVE_THREADS, 0));
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
        let parts = self.number_parts();
        let dictionary = |plan: DictionaryPlan| {
            Parameter::table("dictionary", self.values.element(), u64::from(plan.numbers) * parts)
        };
        tables.extend(self.dictionary.map(dictionary));
        tables.extend(self.halo.map(halo_places));
        tables
    }

    /// The tables of `collect`: places of each card's list, and the lists.
    fn halo_tables(&self) -> Vec<Parameter> {
        let Some(halo) = self.halo else { return Vec::new() };
        let lists = (halo.listed > 0).then(|| Parameter::table("halo_columns", Element::U32, halo.listed));
        [halo_places(halo)].into_iter().chain(lists).collect()
    }

    /// The tables of one part: values, columns, and those required by its storage and columns.
    fn part_tables(&self, number: usize, part: &PartPlan) -> Vec<Parameter> {
        let name = |table: &str| format!("{table}_{number}");
        let column = match part.columns {
            ColumnWord::Absolute16 | ColumnWord::Delta16 => Element::U16,
            ColumnWord::Absolute32 | ColumnWord::Coded32 => Element::U32,
        };
        let mut tables = Vec::new();
        if part.columns != ColumnWord::Coded32 {
            let length = part.stored() * self.number_parts();
            tables.push(Parameter::table(name("values"), self.values.element(), length));
        }
        tables.push(Parameter::table(name("columns"), column, part.stored()));
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

/// First of its list, length, place of its first own row there, that row: four numbers for each card.
fn halo_places(halo: HaloPlan) -> Parameter {
    Parameter::table("halo", Element::U64, 4 * u64::from(halo.cards))
}
