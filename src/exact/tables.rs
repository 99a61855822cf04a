//! The tables of a multiply in device memory, and their names in the kernels.
//!
//! In: the plan with its hopping matrices or Lin tables. Out: buffers in the types that the plan chose, passed to the
//! kernels under the names that [`eigenforge_templates::exact`]'s launches give them.

use super::lists::ListTables;
use super::prepared::Prepared;
use super::species::SpeciesMatrix;
use super::symmetric::{PairTables, StringTables, SymmetricTables};
use crate::basis::{HighPart, LinTables};
use eigenforge_runtime::{Arguments, Buffer, Device, DeviceError, ElementArgument, Kernel, OnDevice};
use eigenforge_templates::Launch;
use eigenforge_templates::exact::{
    DownShape, FlipTables, GeneralPlan, GeneralStrategy, IndexWord, KroneckerPlan, NeighbourWords,
};
use std::sync::Arc;

/// A table that is also an argument of the diagonal.
type Table = Arc<dyn OnDevice + Send + Sync>;

/// Names of the tables of state words in the kernels.
pub(super) const STATE_TABLES: [&str; 4] = ["part_start", "part_high", "part_first_low", "low_states"];

/// What each kernel reads beside the vectors.
pub(super) struct Tables {
    of: TablesOf,
    /// The coefficients that are arguments.
    coefficients: Option<Arc<Buffer<f64>>>,
}

/// The tables of each kind of multiply.
pub(super) enum TablesOf {
    Kronecker {
        up_start: Buffer<u32>,
        up_words: Words,
        down: Down,
        up_states: Table,
        down_states: Table,
    },
    General {
        /// part_start, part_high, part_first_low, low_states.
        part: [Arc<Buffer<u64>>; 4],
        /// high_offset and low_index; `None` where the lists are searched.
        direct: Option<(Buffer<u64>, Buffer<u32>)>,
        terms: Option<Box<Terms>>,
    },
    Staged {
        /// As above.
        part: [Arc<Buffer<u64>>; 4],
        lists: Box<ListBuffers>,
    },
    Symmetric(SymmetricTables),
    Strings(StringTables),
    Pairs(PairTables),
}

/// [`ListTables`] on the device.
pub(super) struct ListBuffers {
    /// By the names of the kernels' parameters.
    tables: Vec<(&'static str, Box<dyn OnDevice + Send + Sync>)>,
    /// Each kernel's parameters.
    parameters: Vec<(String, Vec<String>)>,
}

impl ListBuffers {
    fn new(plan: &GeneralPlan, lists: &ListTables, columns: u32, device: &Device) -> Result<ListBuffers, DeviceError> {
        let [low, high, _] = plan.diagonal.split(plan.low_bits);
        let tables = &lists.tables;
        let of_low: Vec<f64> = tables.low_states.iter().map(|word| low.of_state(*word)).collect();
        let of_high: Vec<f64> = tables.parts.iter().map(|part| high.of_state(part.high << tables.low_bits)).collect();
        let names = |launch: &Launch| launch.parameters.iter().map(|parameter| parameter.name.clone()).collect();
        let launches = plan.launches().map_err(DeviceError::from)?;
        let parameters = launches.iter().map(|launch| (launch.entry.clone(), names(launch))).collect();
        let mut list = ListBuffers { tables: Vec::new(), parameters };
        list.add("task_column", device.buffer(&lists.task_columns(columns))?);
        list.add("low_diagonal", device.buffer(&of_low)?);
        list.add("high_diagonal", device.buffer(&of_high)?);
        list.add("part_slice", device.buffer(&lists.part_slice())?);
        let sizes = &lists.sizes;
        list.add("low_slice_start", device.buffer(&lists.low.start)?);
        list.add_words("low_neighbours", sizes.low.word, &lists.low.words, device)?;
        list.add("whole_start", device.buffer(&lists.whole.start)?);
        list.add_words("whole_words", sizes.whole.word, &lists.whole.words, device)?;
        list.add("cross_start", device.buffer(&lists.cross.start)?);
        list.add_words("cross_words", sizes.cross.word, &lists.cross.words, device)?;
        list.add("cross_factor", device.buffer(&lists.cross_factor)?);
        list.add_words("factor_row", lists.sizes.factor_word, &lists.factor_row, device)?;
        Ok(list)
    }

    fn add(&mut self, name: &'static str, table: impl OnDevice + Send + Sync + 'static) {
        self.tables.push((name, Box::new(table)));
    }

    fn add_words(
        &mut self,
        name: &'static str,
        word: IndexWord,
        words: &[u64],
        device: &Device,
    ) -> Result<(), DeviceError> {
        match Words::new(device, word, words)? {
            Words::U16(buffer) => self.add(name, buffer),
            Words::U32(buffer) => self.add(name, buffer),
            Words::U64(buffer) => self.add(name, buffer),
        }
        Ok(())
    }

    /// Adds a kernel's tables, `states` among them, in the order of its parameters.
    fn pass<'a>(&'a self, entry: &str, states: &'a [Arc<Buffer<u64>>; 4], vectors: Arguments<'a>) -> Arguments<'a> {
        let names = self.parameters.iter().find(|(kernel, _)| kernel == entry).map(|(_, names)| names.as_slice());
        names.unwrap_or_default().iter().fold(vectors, |arguments, name| {
            let state = STATE_TABLES.iter().position(|state| state == name);
            let table = self.tables.iter().find(|(table, _)| table == name);
            match (state, table) {
                (Some(state), _) => arguments.read(name, &*states[state]),
                (None, Some((_, table))) => arguments.read(name, &**table),
                (None, None) => arguments,
            }
        })
    }
}

/// The down kernel's tables, by its strategy.
pub(super) enum Down {
    Tile { start: Buffer<u32>, words: Words },
    Runs(Box<RunBuffers>),
}

/// [`RunTables`] on the device.
pub(super) struct RunBuffers {
    task_part: Buffer<u32>,
    task_run: Buffer<u32>,
    run_column: Buffer<u32>,
    run_steps: Buffer<u32>,
    step_column: Buffer<u32>,
    step_case: Buffer<u32>,
    step_coefficient: Buffer<f64>,
}

/// Packed neighbours in the plan's word.
pub(super) enum Words {
    U16(Buffer<u16>),
    U32(Buffer<u32>),
    U64(Buffer<u64>),
}

/// The terms of an operator that is too long to be written out.
pub(super) struct Terms {
    flip: Buffer<u64>,
    start: Buffer<u32>,
    care: Buffer<u64>,
    pattern: Buffer<u64>,
    sign: Buffer<u64>,
    amplitude: Buffer<f64>,
}

impl Words {
    fn new(device: &Device, word: IndexWord, words: &[u64]) -> Result<Words, DeviceError> {
        Ok(match word {
            IndexWord::U16 => Words::U16(device.buffer(&words.iter().map(|word| *word as u16).collect::<Vec<_>>())?),
            IndexWord::U32 => Words::U32(device.buffer(&words.iter().map(|word| *word as u32).collect::<Vec<_>>())?),
            IndexWord::U64 => Words::U64(device.buffer(words)?),
        })
    }

    fn memory(&self) -> &(dyn OnDevice + 'static) {
        match self {
            Words::U16(buffer) => buffer,
            Words::U32(buffer) => buffer,
            Words::U64(buffer) => buffer,
        }
    }
}

/// State words of one species in the plan's type.
fn state_words(plan: &KroneckerPlan, device: &Device, words: &[u64]) -> Result<Table, DeviceError> {
    Ok(match plan.wide_states() {
        true => Arc::new(device.buffer(words)?),
        false => Arc::new(device.buffer(&words.iter().map(|word| *word as u32).collect::<Vec<_>>())?),
    })
}

/// The arguments of a Kronecker sum's diagonal as an element function, without the tables of its hops; `values` are the coefficients that are
/// arguments.
pub(super) fn kronecker_diagonal(
    plan: &KroneckerPlan,
    species: [&SpeciesMatrix; 2],
    values: Option<Vec<f64>>,
    device: &Device,
) -> Result<Vec<ElementArgument>, DeviceError> {
    let states = species.into_iter().map(|species| state_words(plan, device, &species.states));
    let coefficients = values.map(|values| Ok(Arc::new(device.buffer(&values)?) as Table));
    states.chain(coefficients).map(|table| table.map(ElementArgument::Memory)).collect()
}

/// The tables of state words: part_start, part_high, part_first_low, low_states.
pub(super) fn state_tables(tables: &LinTables, device: &Device) -> Result<[Arc<Buffer<u64>>; 4], DeviceError> {
    let column = |of: fn(&HighPart) -> u64| -> Result<Arc<Buffer<u64>>, DeviceError> {
        Ok(Arc::new(device.buffer(&tables.parts.iter().map(of).collect::<Vec<u64>>())?))
    };
    Ok([
        column(|part| part.start)?,
        column(|part| part.high)?,
        column(|part| part.first_low)?,
        Arc::new(device.buffer(&tables.low_states)?),
    ])
}

impl Tables {
    /// Packs and uploads, or makes with kernels of the text; also the number of packed neighbours, which the plan's launches need.
    pub(super) fn new(
        prepared: &Prepared,
        values: Option<Vec<f64>>,
        kernel: &Kernel,
        device: &Device,
    ) -> Result<(Tables, NeighbourWords), DeviceError> {
        let coefficients = values.map(|values| device.buffer(&values)).transpose()?.map(Arc::new);
        let (of, words) = TablesOf::new(prepared, kernel, device)?;
        Ok((Tables { of, coefficients }, words))
    }

    /// Adds the tables of the kernel `entry` after its vectors.
    pub(super) fn pass<'a>(&'a self, entry: &str, vectors: Arguments<'a>) -> Arguments<'a> {
        let arguments = self.of.pass(entry, vectors);
        match &self.coefficients {
            Some(coefficients) => arguments.read("coefficients", &**coefficients),
            None => arguments,
        }
    }

    /// The arguments of the diagonal as an element function, in the order of its parameters.
    pub(super) fn of_diagonal(&self) -> Vec<ElementArgument> {
        let coefficients = self.coefficients.iter().map(|table| ElementArgument::Memory(table.clone() as Arc<_>));
        self.of.of_diagonal().into_iter().chain(coefficients).collect()
    }
}

impl TablesOf {
    fn new(prepared: &Prepared, kernel: &Kernel, device: &Device) -> Result<(TablesOf, NeighbourWords), DeviceError> {
        match prepared {
            Prepared::Kronecker { plan, up, down } => {
                let down_states = state_words(plan, device, &down.states)?;
                let (up_start, up_words) = up.packed_slices(plan.warp, plan.shape.staging);
                let (down, down_words) = Down::new(plan, down, device)?;
                let words = NeighbourWords { up: up_words.len() as u64, down: down_words };
                let tables = TablesOf::Kronecker {
                    up_start: device.buffer(&up_start)?,
                    up_words: Words::new(device, plan.up.word, &up_words)?,
                    down,
                    up_states: state_words(plan, device, &up.states)?,
                    down_states,
                };
                Ok((tables, words))
            }
            Prepared::General { plan, tables, lists } => {
                let tables = TablesOf::general(plan, tables, lists.as_deref(), device)?;
                Ok((tables, NeighbourWords { up: 0, down: 0 }))
            }
            Prepared::Symmetric(rows) => {
                let tables = TablesOf::Symmetric(SymmetricTables::new(rows, kernel, device)?);
                Ok((tables, NeighbourWords { up: 0, down: 0 }))
            }
            Prepared::Strings(rows) => {
                let tables = TablesOf::Strings(StringTables::new(rows, device)?);
                Ok((tables, NeighbourWords { up: 0, down: 0 }))
            }
            Prepared::Pairs(rows) => {
                let tables = TablesOf::Pairs(PairTables::new(rows, device)?);
                Ok((tables, NeighbourWords { up: 0, down: 0 }))
            }
            Prepared::Stored(_) => unreachable!("it has tables of its own"),
        }
    }

    fn general(
        plan: &GeneralPlan,
        tables: &LinTables,
        lists: Option<&ListTables>,
        device: &Device,
    ) -> Result<TablesOf, DeviceError> {
        let tables = lists.map_or(tables, |lists| &lists.tables);
        let part = state_tables(tables, device)?;
        if let (Some(lists), GeneralStrategy::Staged { columns }) = (lists, plan.shape.strategy) {
            return Ok(TablesOf::Staged { part, lists: Box::new(ListBuffers::new(plan, lists, columns, device)?) });
        }
        let by_table = plan.shape.strategy == GeneralStrategy::Table;
        let terms = by_table.then(|| Terms::new(plan, device)).transpose()?.map(Box::new);
        Ok(TablesOf::General {
            part,
            direct: match &tables.direct {
                Some(direct) => Some((device.buffer(&direct.high_offset)?, device.buffer(&direct.low_index)?)),
                None => None,
            },
            terms,
        })
    }

    fn pass<'a>(&'a self, entry: &str, vectors: Arguments<'a>) -> Arguments<'a> {
        match self {
            TablesOf::Kronecker { up_start, up_words, down, up_states, down_states } => match entry {
                "multiply_down" => down.pass(vectors),
                _ => vectors
                    .read("slice_start", up_start)
                    .read("neighbours", up_words.memory())
                    .read("up_states", &**up_states)
                    .read("dn_states", &**down_states),
            },
            TablesOf::Staged { part, lists } => lists.pass(entry, part, vectors),
            TablesOf::Symmetric(tables) => tables.pass(vectors),
            TablesOf::Strings(tables) => tables.pass(vectors),
            TablesOf::Pairs(tables) => tables.pass(vectors),
            TablesOf::General { part: [start, high, first_low, low_states], direct, terms } => {
                let lists = vectors
                    .read("part_start", &**start)
                    .read("part_high", &**high)
                    .read("part_first_low", &**first_low)
                    .read("low_states", &**low_states);
                let arguments = match direct {
                    Some((high_offset, low_index)) => {
                        lists.read("high_offset", high_offset).read("low_index", low_index)
                    }
                    None => lists,
                };
                match terms.as_deref() {
                    None => arguments,
                    Some(Terms { flip, start, care, pattern, sign, amplitude }) => arguments
                        .read("group_flip", flip)
                        .read("group_start", start)
                        .read("term_care", care)
                        .read("term_pattern", pattern)
                        .read("term_sign", sign)
                        .read("term_amplitude", amplitude),
                }
            }
        }
    }

    fn of_diagonal(&self) -> Vec<ElementArgument> {
        match self {
            TablesOf::Kronecker { up_states, down_states, .. } => {
                vec![ElementArgument::Memory(up_states.clone()), ElementArgument::Memory(down_states.clone())]
            }
            TablesOf::General { part, .. } | TablesOf::Staged { part, .. } => {
                part.iter().map(|table| ElementArgument::Memory(table.clone() as Arc<_>)).collect()
            }
            TablesOf::Symmetric(tables) => tables.of_diagonal(),
            TablesOf::Strings(tables) => tables.of_diagonal(),
            TablesOf::Pairs(tables) => tables.of_diagonal(),
        }
    }
}

impl Down {
    /// Also the number of packed neighbours.
    fn new(plan: &KroneckerPlan, down: &SpeciesMatrix, device: &Device) -> Result<(Down, u64), DeviceError> {
        if let DownShape::Tile { columns, .. } = plan.shape.down {
            let (start, words) = down.packed_rows(columns as usize);
            let tables =
                Down::Tile { start: device.buffer(&start)?, words: Words::new(device, plan.down.word, &words)? };
            return Ok((tables, words.len() as u64));
        }
        let tables = plan.run_tables().unwrap_or_default();
        let buffers = RunBuffers {
            task_part: device.buffer(&tables.task_part)?,
            task_run: device.buffer(&tables.task_run)?,
            run_column: device.buffer(&tables.run_column)?,
            run_steps: device.buffer(&tables.run_steps)?,
            step_column: device.buffer(&tables.step_column)?,
            step_case: device.buffer(&tables.step_case)?,
            step_coefficient: device.buffer(&tables.step_coefficient)?,
        };
        Ok((Down::Runs(Box::new(buffers)), 0))
    }

    fn pass<'a>(&'a self, vectors: Arguments<'a>) -> Arguments<'a> {
        match self {
            Down::Tile { start, words } => vectors.read("start", start).read("neighbours", words.memory()),
            Down::Runs(tables) => vectors
                .read("task_part", &tables.task_part)
                .read("task_run", &tables.task_run)
                .read("run_column", &tables.run_column)
                .read("run_steps", &tables.run_steps)
                .read("step_column", &tables.step_column)
                .read("step_case", &tables.step_case)
                .read("step_coefficient", &tables.step_coefficient),
        }
    }
}

impl Terms {
    fn new(plan: &GeneralPlan, device: &Device) -> Result<Terms, DeviceError> {
        let FlipTables { flip, start, care, pattern, sign, amplitude } = FlipTables::of(&plan.groups);
        Ok(Terms {
            flip: device.buffer(&flip)?,
            start: device.buffer(&start)?,
            care: device.buffer(&care)?,
            pattern: device.buffer(&pattern)?,
            sign: device.buffer(&sign)?,
            amplitude: device.buffer(&amplitude)?,
        })
    }
}
