//! The kernels of a multiply: the parameters of each for y = H x and x·y, how many elements it may access, and its launch.
//!
//! In: the plan, and for a Kronecker sum the number of packed neighbours. Out: the prototypes for the text, and one
//! [`Launch`] per kernel, in order; the last is `multiply_finish`, which adds the partial sums of x·y.

use super::exchange::Exchange;
use super::runs::Runs;
use super::{GeneralPlan, GeneralStrategy, IndexWord, KroneckerPlan};
use crate::launch::{Access, Element, FINISH_THREADS, Launch, LaunchError, Number, Parameter, multiply_finish};
use crate::prototype::Prototype;

/// Multiplies that may be started before the first x·y is fetched: each result has its own place.
pub const AT_ONCE: usize = 8;

/// Packed neighbours of both species, in words, including padding. They depend on the rows of the hopping matrices and,
/// for the down kernel, on the tile: the code that packs the tables knows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeighbourWords {
    /// Of the up kernel: four words per lane of a warp and group.
    pub up: u64,
    /// Of the down kernel: 4 words per group; none if it works by runs.
    pub down: u64,
}

impl IndexWord {
    /// The type as a table element.
    pub fn element(self) -> Element {
        match self {
            IndexWord::U16 => Element::U16,
            IndexWord::U32 => Element::U32,
            IndexWord::U64 => Element::U64,
        }
    }
}

fn finish(partials: u64) -> Prototype {
    multiply_finish(1, partials, AT_ONCE as u64)
}

impl KroneckerPlan {
    /// `multiply_up`, `multiply_down` where a down electron can hop, `multiply_finish`.
    pub(super) fn kernels(&self, words: NeighbourWords) -> Vec<Prototype> {
        let n = self.dimension();
        let vectors = |y| {
            vec![
                Parameter::values("x", self.scalar, Access::In, n),
                Parameter::values("y", self.scalar, y, n),
                Parameter::memory("partials", Element::F64, Access::Out, self.partials()),
            ]
        };
        let exchange = self.exchange();
        let cards = u64::from(self.cards);
        let across = |access| exchange.map(|e| Parameter::values("across", self.scalar, access, cards * e.across));
        let mut up = vectors(Access::Out);
        up.extend(across(Access::In));
        up.extend([
            Parameter::table("slice_start", Element::U32, self.up.states.div_ceil(self.warp.lanes().into()) + 1),
            Parameter::table("neighbours", self.up.word.element(), words.up),
        ]);
        up.extend(self.state_tables());
        up.extend(self.coefficient_table());
        let mut kernels = vec![Prototype::new("multiply_up", up)];
        if self.has_down() {
            let mut down = match exchange {
                None => vectors(Access::InOut),
                Some(Exchange { staged, .. }) => vec![
                    Parameter::values("x", self.scalar, Access::In, n),
                    Parameter::values("staged", self.scalar, Access::InOut, cards * staged),
                ],
            };
            down.extend(across(Access::Out));
            down.extend(match self.runs() {
                Some(runs) => runs.parameters(),
                None => vec![
                    Parameter::table("down_start", Element::U32, 2 * self.down.states + 1),
                    Parameter::table("down_neighbours", self.down.word.element(), words.down),
                ],
            });
            down.extend(self.coefficient_table());
            if exchange.is_some() {
                down.push(Parameter::number("chunk", Number::I32));
            }
            kernels.push(Prototype::new("multiply_down", down));
        }
        kernels.push(finish(self.partials()));
        kernels
    }

    /// The state words of both species.
    pub(super) fn state_tables(&self) -> [Parameter; 2] {
        let words = if self.wide_states() { Element::U64 } else { Element::U32 };
        [("up_states", self.up.states), ("dn_states", self.down.states)]
            .map(|(name, states)| Parameter::table(name, words, states))
    }

    /// The launches of one multiply, in order; where cards [exchange](KroneckerPlan::exchange) rows that of `multiply_down` once for each
    /// chunk, and once before, for chunk −1.
    pub fn launches(&self, words: NeighbourWords) -> Result<Vec<Launch>, LaunchError> {
        let up = (self.up_blocks(), self.shape.up_threads, self.up_shared());
        let down = self.has_down().then(|| (self.down_blocks(), self.down_threads(), self.down_shared()));
        let shapes = [up].into_iter().chain(down).chain([(1, FINISH_THREADS, 0)]);
        let launch = |(kernel, (blocks, threads, shared)): (Prototype, _)| kernel.launch(blocks, threads, shared);
        let mut launches = self.kernels(words).into_iter().zip(shapes).map(launch).collect::<Result<Vec<_>, _>>()?;
        if self.exchange().is_some() {
            // What cards exchange is there before the up hops collect it.
            launches.swap(0, 1);
        }
        Ok(launches)
    }
}

impl Runs {
    /// The tables of [`super::RunTables`] as parameters.
    pub(super) fn parameters(&self) -> Vec<Parameter> {
        let table = |name, len| Parameter::table(name, Element::U32, len);
        vec![
            table("task_part", self.task_count()),
            table("task_run", self.task_count()),
            table("run_column", self.run_count()),
            table("run_steps", self.run_count() + 1),
            table("step_column", self.step_count()),
            table("step_case", self.step_count()),
            Parameter::table("step_coefficient", Element::F64, self.step_count()),
        ]
    }
}

impl GeneralPlan {
    /// Lin's tables as parameters of the functions that compute the state of a row.
    pub(super) fn state_tables(&self) -> [Parameter; 4] {
        self.sizes().state_tables()
    }

    /// Partial sums of x·y: one per block and vector.
    pub fn partials(&self) -> u64 {
        u64::from(self.shape.blocks) * u64::from(self.vectors)
    }

    /// `multiply` and `multiply_finish`.
    pub(super) fn kernels(&self) -> [Prototype; 2] {
        let blocks = self.partials();
        if let (Some(lists), GeneralStrategy::Staged { columns }) = (&self.lists, self.shape.strategy) {
            return [self.staged_kernel(lists, columns), finish(blocks)];
        }
        let mut parameters = vec![
            Parameter::values("x", self.scalar, Access::In, self.dimension),
            Parameter::values("y", self.scalar, Access::Out, self.dimension),
            Parameter::memory("partials", Element::F64, Access::Out, blocks),
        ];
        parameters.extend(self.state_tables());
        parameters.extend(self.sizes().direct_tables().into_iter().flatten());
        if self.shape.strategy == GeneralStrategy::Table {
            let groups = self.groups.len() as u64;
            let terms = self.groups.iter().map(|group| group.terms.len() as u64).sum();
            parameters.extend([
                Parameter::table("group_flip", Element::U64, groups),
                Parameter::table("group_start", Element::U32, groups + 1),
                Parameter::table("term_care", Element::U64, terms),
                Parameter::table("term_pattern", Element::U64, terms),
                Parameter::table("term_sign", Element::U64, terms),
                Parameter::table("term_amplitude", Element::F64, terms),
            ]);
        }
        parameters.extend(self.coefficient_table());
        [Prototype::new("multiply", parameters), finish(blocks)]
    }

    /// The launches of one multiply, in order.
    pub fn launches(&self) -> Result<Vec<Launch>, LaunchError> {
        let [multiply, finish] = self.kernels();
        let shared = match (&self.lists, self.shape.strategy) {
            (Some(lists), GeneralStrategy::Staged { columns }) => {
                lists.shared_bytes(columns * self.vectors, self.scalar.bytes() as u64)
            }
            _ => 0,
        };
        let multiply = multiply.launch(self.shape.blocks.into(), self.shape.threads, shared)?;
        Ok(vec![multiply, finish.launch(self.vectors.into(), FINISH_THREADS, 0)?])
    }
}
