//! The shape of a multiply: the possible differences between two plans of one problem. Every shape adds the same terms in
//! the same precision; only the order in which a row's terms are added may differ, and so the last bits.
//!
//! [`KroneckerShape::choose`] chooses by rule; `candidates` are the shapes worth timing on a card.

use super::elements::{IndexWord, UP_ZEROS};
use super::lists::ColumnLists;
use super::runs::Runs;
use super::{FlipGroup, GeneralPlan, KroneckerPlan, SpeciesPlan};
use crate::{ScalarType, Warp};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Where the up kernel gathers from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Staging {
    /// The column is copied to shared memory first.
    Shared,
    /// The column is too long for that: gather from L2 and memory.
    Global,
}

/// How the down kernel traverses V.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DownShape {
    /// A block loads some rows of a run of columns into shared memory; packed neighbours are read from there or from L2.
    Tile {
        /// Rows of the tile; as many threads run along the up index.
        rows: u32,
        /// Columns processed at once (rows · lanes threads).
        lanes: u32,
        /// Columns of the tile.
        columns: u32,
    },
    /// A warp processes a row per lane of all columns that share the high part of their down state; hops among the low sites are
    /// unrolled on registers, everything else adds whole runs of columns.
    Runs {
        /// Sites of the low part.
        low_sites: u32,
        /// Most columns that one warp sums at a time, with one accumulator each.
        outputs: u32,
        /// Warps of a block.
        warps: u32,
    },
}

/// The shape of both kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KroneckerShape {
    /// Up kernel: where it gathers from.
    pub staging: Staging,
    /// Up kernel: threads per block.
    pub up_threads: u32,
    /// Up kernel: columns per block.
    pub up_columns: u32,
    /// The down kernel.
    pub down: DownShape,
}

/// Shared memory of a block available on every supported architecture, without what the runtime reserves: sm_80 has 163
/// KiB, sm_90 and sm_100 have 227 KiB.
pub(super) const SHARED_BYTES: u64 = 160 * 1024;
/// Threads of a block are a multiple of this: whole warps, whatever their width.
const WHOLE_WARPS: u64 = Warp::NVIDIA.lanes() as u64;
/// Threads of the up kernel if a column fills them.
const UP_THREADS: u64 = 1024;
/// Columns and threads of a block of the up kernel that gathers from memory.
const GLOBAL_COLUMNS: u64 = 4;
const GLOBAL_THREADS: u64 = 512;
/// The most of it on sm_90, for shapes that are tried.
const MOST_SHARED_BYTES: u64 = 224 * 1024;
/// Rows of the down kernel's tile: 128 bytes of f64, one full line of memory for each column.
const TILE_ROWS: u64 = 16;
/// Threads of the tiled down kernel: full occupancy needs 32 registers, which wider neighbours exceed (40 with three
/// quarters).
const TILE_THREADS: u64 = 1024;
const TILE_THREADS_WIDE: u64 = 768;
/// Shared memory of the down kernel's tile: two blocks fit a multiprocessor of sm_90, one of sm_80.
const TILE_BYTES: u64 = 111 * 1024;
/// Minimum rows for the down kernel to work by runs: a few warps' worth, so that the last one's idle lanes do not matter.
const RUN_ROWS: u64 = 256;
/// Accumulators and warps of the down kernel by runs; on one H200, 130,873,600 states: 24 outputs 1.09 ms, 36 1.12, 70
/// (a whole run at a time) 1.15.
const RUN_OUTPUTS: u32 = 24;
const RUN_WARPS: u32 = 8;

impl KroneckerShape {
    /// The choice by rule.
    pub fn choose(scalar: ScalarType, sites: u32, up: &SpeciesPlan, down: &SpeciesPlan) -> KroneckerShape {
        let column = (up.states + UP_ZEROS) * scalar.bytes() as u64;
        let staging = if column <= SHARED_BYTES { Staging::Shared } else { Staging::Global };
        let [most_columns, threads] = match staging {
            // Short columns share a block until it has some 1,024 rows.
            Staging::Shared => [(UP_THREADS / up.states.max(1)).clamp(1, 32), UP_THREADS],
            Staging::Global => [GLOBAL_COLUMNS, GLOBAL_THREADS],
        };
        let up_columns = most_columns.min(down.states.max(1)) as u32;
        let rows = (up.states * u64::from(up_columns)).next_multiple_of(WHOLE_WARPS);
        let up_threads = rows.min(threads) as u32;
        let runs = hops_by_runs(sites, up.states, down);
        let down = runs.unwrap_or_else(|| tile(scalar, up, down, TILE_ROWS));
        KroneckerShape { staging, up_threads, up_columns, down }
    }
}

/// Hops of a species by runs, where rows are enough and the text short.
pub(super) fn hops_by_runs(sites: u32, rows: u64, species: &SpeciesPlan) -> Option<DownShape> {
    let runs = DownShape::Runs { low_sites: low_sites(sites), outputs: RUN_OUTPUTS, warps: RUN_WARPS };
    let fits = rows >= RUN_ROWS && Runs::new(sites, species, runs).is_some_and(|runs| runs.is_short());
    fits.then_some(runs)
}

/// Half of the sites, but at most what gives 70 columns per run.
fn low_sites(sites: u32) -> u32 {
    sites.div_ceil(2).min(8)
}

/// A tile of `rows` rows that fills its share of shared memory.
fn tile(scalar: ScalarType, up: &SpeciesPlan, down: &SpeciesPlan, rows: u64) -> DownShape {
    let rows = up.states.next_power_of_two().min(rows);
    let most = (TILE_BYTES / (rows * scalar.bytes() as u64)).max(1);
    let blocks = down.states.div_ceil(most).max(1);
    let columns = down.states.div_ceil(blocks).max(1) as u32;
    let threads = if down.word == IndexWord::U16 { TILE_THREADS } else { TILE_THREADS_WIDE };
    DownShape::Tile { rows: rows as u32, lanes: (threads / rows) as u32, columns }
}

impl KroneckerPlan {
    /// Shapes worth timing, this plan's own first and without repetition. All give correct results for any problem.
    pub fn candidates(&self) -> Vec<KroneckerShape> {
        let own = self.shape;
        let mut shapes = vec![own];
        let mut add = |shape: KroneckerShape| {
            if !shapes.contains(&shape) {
                shapes.push(shape);
            }
        };
        for rows in [8, 16, 32] {
            add(KroneckerShape { down: tile(self.scalar, &self.up, &self.down, rows), ..own });
        }
        for (outputs, warps) in [(RUN_OUTPUTS, RUN_WARPS), (36, 8), (36, 4), (70, 8), (18, 8)] {
            let down = DownShape::Runs { low_sites: low_sites(self.sites), outputs, warps };
            if Runs::new(self.sites, &self.down, down).is_some_and(|runs| runs.is_short()) {
                add(KroneckerShape { down, ..own });
            }
        }
        if own.staging == Staging::Global {
            for up_columns in [1, 2, 4, 8].into_iter().filter(|columns| u64::from(*columns) <= self.down.states) {
                add(KroneckerShape { up_columns, ..own });
            }
        }
        let rows = (self.up.states * u64::from(own.up_columns)).next_multiple_of(WHOLE_WARPS);
        for up_threads in [256, 512, 768, 1024] {
            if u64::from(up_threads) <= rows {
                add(KroneckerShape { up_threads, ..own });
            }
        }
        shapes
    }
}

/// How the general multiply walks over states and terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GeneralStrategy {
    /// A block takes columns with the same low parts into shared memory; all elements are in lists.
    Staged {
        /// Columns that a block takes at a time.
        columns: u32,
    },
    /// A thread takes a state at a time; all terms are written out.
    States,
    /// The same with the terms in a table.
    Table,
}

/// The shape of the general multiply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GeneralShape {
    /// The walk.
    pub strategy: GeneralStrategy,
    /// Threads per block.
    pub threads: u32,
    /// Blocks.
    pub blocks: u32,
}

/// Most terms written out where a thread takes a state at a time, in a function that is compiled without being asked for.
const UNROLL_BUDGET: usize = 256;
/// Most terms worth trying unrolled: they take NVRTC a second or two.
const UNROLLED_TERMS: usize = 768;
/// Most blocks: more work in turn, which rows that follow each other in time do not share (a chain of 601,080,390 states 4 % slower, a ring
/// 6 % with 65,536).
const MOST_BLOCKS: u64 = 1 << 24;

/// Shared memory of a block of columns: two blocks on a multiprocessor leave half of its memory to the cache that other columns
/// are read through. On one H200, 155,117,520 states on a kagome torus: 4.8 ms with one column in a block, 5.5 with two.
pub(super) const STAGED_BYTES: u64 = 56 * 1024;
/// Most rows of a column.
pub const LONGEST_STAGED: u64 = STAGED_BYTES / 8 - UP_ZEROS;

impl GeneralShape {
    /// The choice by rule where there are no columns.
    pub(super) fn by_states(dimension: u64, groups: &[FlipGroup]) -> GeneralShape {
        let terms: usize = groups.iter().map(|group| group.terms.len()).sum();
        let strategy = if terms <= UNROLL_BUDGET { GeneralStrategy::States } else { GeneralStrategy::Table };
        GeneralShape::new(strategy, dimension, None, 256)
    }

    /// By columns in shared memory: two where they fit, else one.
    pub(super) fn staged(scalar: ScalarType, dimension: u64, lists: &ColumnLists) -> GeneralShape {
        let fits = lists.shared_bytes(2, scalar.bytes() as u64) <= STAGED_BYTES;
        let columns = if fits { 2 } else { lists.together() };
        // Two rows of a column of mean length for each thread: on one H200, 523 rows on average (t-J, 9,237,800 states) 0.49 ms
        // with 256 threads, 0.62 with 1,024. Complex numbers need twice the registers (kagome with flux: 10.0 ms with 512
        // threads, 11.0 with 1,024), and so does a column that is alone in its block (kagome: 4.64 with 768, 4.82 with 1,024).
        let half = (dimension / lists.columns().max(1) / 2).max(1);
        let most = if lists.complex { 512 } else { [1024, 768][usize::from(columns == 1)] };
        let threads = (1u64 << half.ilog2()).clamp(64, 1024).min(most) as u32;
        let strategy = GeneralStrategy::Staged { columns };
        GeneralShape::new(strategy, 0, Some(lists), threads)
    }

    /// By columns in shared memory of several vectors at once. Each takes registers, so that a block has 512 threads at most.
    pub(super) fn of_vectors(scalar: ScalarType, dimension: u64, lists: &ColumnLists, columns: u32) -> GeneralShape {
        let staged = GeneralShape::staged(scalar, dimension, lists);
        GeneralShape::new(GeneralStrategy::Staged { columns }, 0, Some(lists), staged.threads.min(512))
    }

    /// A block for some columns, or a thread for a state, as long as the blocks are not too many.
    fn new(strategy: GeneralStrategy, dimension: u64, lists: Option<&ColumnLists>, threads: u32) -> GeneralShape {
        let blocks = match strategy {
            GeneralStrategy::Staged { columns } => lists.map_or(1, |lists| lists.tasks(columns)),
            GeneralStrategy::States | GeneralStrategy::Table => dimension.div_ceil(u64::from(threads)),
        };
        GeneralShape { strategy, threads, blocks: blocks.clamp(1, MOST_BLOCKS) as u32 }
    }
}

impl GeneralPlan {
    /// The same plan by another strategy, in the blocks that go with it.
    #[must_use]
    pub fn with_strategy(&self, strategy: GeneralStrategy) -> GeneralPlan {
        self.with_shape(GeneralShape::new(strategy, self.dimension, self.lists.as_ref(), self.shape.threads))
    }

    /// Shapes worth timing, this plan's own first and without repetition.
    pub fn candidates(&self) -> Vec<GeneralShape> {
        let terms: usize = self.groups.iter().map(|group| group.terms.len()).sum();
        let mut shapes = vec![self.shape];
        let staged = [1, 2, 4].map(|columns| GeneralStrategy::Staged { columns });
        for strategy in staged.into_iter().chain([GeneralStrategy::States, GeneralStrategy::Table]) {
            let fits = match strategy {
                GeneralStrategy::Staged { columns } => self.lists.as_ref().is_some_and(|lists| {
                    let bytes = lists.shared_bytes(columns, self.scalar.bytes() as u64);
                    bytes <= MOST_SHARED_BYTES && columns.is_multiple_of(lists.together())
                }),
                GeneralStrategy::States => terms <= UNROLLED_TERMS,
                GeneralStrategy::Table => true,
            };
            let staged = matches!(strategy, GeneralStrategy::Staged { .. });
            let threads: &[u32] = if staged { &[256, 512, 768, 1024] } else { &[128, 256, 512] };
            for threads in threads {
                let lists = self.lists.as_ref();
                let shape = GeneralShape::new(strategy, self.dimension, lists, *threads);
                if fits && !shapes.contains(&shape) {
                    shapes.push(shape);
                }
            }
        }
        shapes
    }
}

impl fmt::Display for GeneralShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.strategy {
            GeneralStrategy::Staged { columns: 1 } => write!(f, "a column in shared memory")?,
            GeneralStrategy::Staged { columns } => write!(f, "{columns} columns in shared memory")?,
            GeneralStrategy::States => write!(f, "terms written out")?,
            GeneralStrategy::Table => write!(f, "terms over a table")?,
        }
        write!(f, ", {} blocks of {} threads", self.blocks, self.threads)
    }
}

impl fmt::Display for KroneckerShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let KroneckerShape { staging, up_threads, up_columns, down } = self;
        let from = if *staging == Staging::Shared { "shared" } else { "global" };
        write!(f, "up: {up_columns} columns, {up_threads} threads, {from}; down: ")?;
        match down {
            DownShape::Tile { rows, lanes, columns } => {
                write!(f, "tiles of {rows} rows x {columns} columns, {} threads", rows * lanes)
            }
            DownShape::Runs { low_sites, outputs, warps } => {
                write!(f, "runs of {low_sites} low sites, {outputs} outputs, {warps} warps")
            }
        }
    }
}
