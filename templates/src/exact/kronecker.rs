//! H = D + I ⊗ A↑ + A↓ ⊗ I (Yamada, Machida, Imamura 2020, eq. 2–3): the plan of a multiply for one sector.
//!
//! Two launches. The up kernel takes a column of V (all up states of one down state) into shared memory, applies D and
//! A↑, and writes y. The down kernel adds A↓: a block takes a tile of V, some rows of a run of columns, into shared
//! memory. Words ascend, so hops among the low sites stay within the run (two thirds of all hops in the paper's problem)
//! and are served from there; the rest are contiguous loads from L2, where the rows of all columns stay while the blocks
//! of one tile of rows run. The floor is five passes over a vector: x twice, y three times.

use super::DiagonalPlan;
use crate::ScalarType;
use crate::text::{Cost, ElementFunctionText, KernelText, PRELUDE, TextError, render};
use serde::{Deserialize, Serialize};

/// Width of a packed neighbour: index in the low bits, number of the amplitude above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IndexWord {
    /// 16 bits.
    U16,
    /// 32 bits.
    U32,
    /// 64 bits.
    U64,
}

impl IndexWord {
    /// The narrowest word of at least `bits` bits.
    pub fn of(bits: u32) -> IndexWord {
        match bits {
            0..=16 => IndexWord::U16,
            17..=32 => IndexWord::U32,
            _ => IndexWord::U64,
        }
    }

    /// Its bytes.
    pub fn bytes(self) -> usize {
        match self {
            IndexWord::U16 => 2,
            IndexWord::U32 => 4,
            IndexWord::U64 => 8,
        }
    }

    fn cuda(self) -> &'static str {
        match self {
            IndexWord::U16 => "u16",
            IndexWord::U32 => "u32",
            IndexWord::U64 => "u64",
        }
    }
}

/// The distinct matrix elements of one species; a neighbour carries the number of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Amplitudes {
    /// All equal.
    One(f64),
    /// ±a: the bit above the index is the fermion sign.
    Signed(f64),
    /// A table.
    Table(Vec<f64>),
}

impl Amplitudes {
    /// From the distinct values; the numbers that neighbours carry index [`Amplitudes::values`].
    pub fn of(mut distinct: Vec<f64>) -> Amplitudes {
        distinct.sort_by(f64::total_cmp);
        match distinct[..] {
            [] => Amplitudes::One(0.0),
            [a] => Amplitudes::One(a),
            [a, b] if a == -b => Amplitudes::Signed(a),
            _ => Amplitudes::Table(distinct),
        }
    }

    /// Value by number.
    pub fn values(&self) -> Vec<f64> {
        match self {
            Amplitudes::One(a) => vec![*a],
            Amplitudes::Signed(a) => vec![*a, -a],
            Amplitudes::Table(values) => values.clone(),
        }
    }

    /// Bits of the number.
    pub fn bits(&self) -> u32 {
        let count = self.values().len().max(1);
        usize::BITS - (count - 1).leading_zeros()
    }
}

/// One species' hopping matrix, as far as the text depends on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpeciesPlan {
    /// Electrons of this species.
    pub particles: u32,
    /// Its states: rows of the matrix.
    pub states: u64,
    /// Off-diagonal elements.
    pub elements: u64,
    /// Longest row.
    pub widest_row: u32,
    /// Bits of the packed index.
    pub index_bits: u32,
    /// The packed word.
    pub word: IndexWord,
    /// Matrix elements.
    pub amplitudes: Amplitudes,
}

impl SpeciesPlan {
    /// Where the number of the amplitude stands in a packed word: a sign at the top, where it costs one operation, any
    /// other number above the index.
    pub fn number_shift(&self) -> u32 {
        match self.amplitudes {
            Amplitudes::Signed(_) => 8 * self.word.bytes() as u32 - 1,
            _ => self.index_bits,
        }
    }
}

/// Where the up kernel gathers from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Staging {
    /// The column is copied to shared memory first.
    Shared,
    /// The column is too long for that: from L2 and memory.
    Global,
}

/// Every number of the Kronecker multiply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KroneckerPlan {
    /// Name of the model and sector, for people.
    pub name: String,
    /// Number type of the vectors.
    pub scalar: ScalarType,
    /// Lattice sites.
    pub sites: u32,
    /// Up electrons.
    pub up: SpeciesPlan,
    /// Down electrons.
    pub down: SpeciesPlan,
    /// The diagonal.
    pub diagonal: DiagonalPlan,
    /// Where the model came from: one line a `sum!`.
    pub sources: Vec<String>,
    /// Up kernel: where it gathers from.
    pub staging: Staging,
    /// Up kernel: threads a block.
    pub up_threads: u32,
    /// Up kernel: columns a block.
    pub up_columns: u32,
    /// Down kernel: rows of a block's tile; as many threads run along the up index.
    pub down_rows: u32,
    /// Down kernel: columns of a block's tile that are worked on at once (down_rows · down_lanes threads).
    pub down_lanes: u32,
    /// Down kernel: columns of a block's tile.
    pub down_columns: u32,
}

/// Shared memory of a block on every supported architecture, with what the runtime itself takes left out: sm_80 has
/// 163 KiB, sm_90 and sm_100 have 227 KiB.
const SHARED_BYTES: u64 = 160 * 1024;
/// Threads of the up kernel where a column fills them.
const UP_THREADS: u64 = 1024;
/// Rows of the down kernel's tile: 128 bytes of f64, one full line of memory for each column.
const DOWN_ROWS: u64 = 16;
/// Threads of the down kernel: full occupancy needs 32 registers, which wider neighbours exceed (40 with three quarters).
const DOWN_THREADS: u64 = 1024;
const DOWN_THREADS_WIDE: u64 = 768;
/// Shared memory of the down kernel's tile: two blocks fit a multiprocessor of sm_90, one of sm_80.
const DOWN_TILE_BYTES: u64 = 111 * 1024;

impl KroneckerPlan {
    /// Fixes the shapes of a problem: see the fields. `scalar` is the vectors' number type.
    pub fn new(
        name: String,
        scalar: ScalarType,
        sites: u32,
        up: SpeciesPlan,
        down: SpeciesPlan,
        diagonal: DiagonalPlan,
        sources: Vec<String>,
    ) -> KroneckerPlan {
        let column = (up.states + 1) * scalar.bytes() as u64;
        let staging = if column <= SHARED_BYTES { Staging::Shared } else { Staging::Global };
        // Short columns share a block until it has some 1,024 rows to work on.
        let up_columns = (UP_THREADS / up.states.max(1)).clamp(1, 32).min(down.states.max(1)) as u32;
        let rows = (up.states * u64::from(up_columns)).next_multiple_of(32);
        let up_threads = rows.min(UP_THREADS) as u32;
        let down_rows = up.states.next_power_of_two().min(DOWN_ROWS);
        let most = (DOWN_TILE_BYTES / (down_rows * scalar.bytes() as u64)).max(1);
        let blocks = down.states.div_ceil(most).max(1);
        let down_columns = down.states.div_ceil(blocks).max(1) as u32;
        let threads = if down.word == IndexWord::U16 { DOWN_THREADS } else { DOWN_THREADS_WIDE };
        let (down_rows, down_lanes) = (down_rows as u32, (threads / down_rows) as u32);
        KroneckerPlan {
            name,
            scalar,
            sites,
            up,
            down,
            diagonal,
            sources,
            staging,
            up_threads,
            up_columns,
            down_rows,
            down_lanes,
            down_columns,
        }
    }

    /// Blocks of the up kernel.
    pub fn up_blocks(&self) -> u64 {
        self.down.states.div_ceil(u64::from(self.up_columns))
    }

    /// Dynamic shared memory of the up kernel, bytes.
    pub fn up_shared(&self) -> u64 {
        match self.staging {
            Staging::Shared => (self.up.states + 1) * u64::from(self.up_columns) * self.scalar.bytes() as u64,
            Staging::Global => 0,
        }
    }

    /// Dynamic shared memory of the down kernel, bytes.
    pub fn down_shared(&self) -> u64 {
        u64::from(self.down_rows * (self.down_columns + 1)) * self.scalar.bytes() as u64
    }

    /// Whether there is a down kernel at all.
    pub fn has_down(&self) -> bool {
        self.down.elements > 0
    }

    /// Blocks of the down kernel.
    pub fn down_blocks(&self) -> u64 {
        self.up.states.div_ceil(u64::from(self.down_rows)) * self.down_groups()
    }

    fn down_groups(&self) -> u64 {
        self.down.states.div_ceil(u64::from(self.down_columns))
    }

    /// Partial sums of xᵀy that the last kernel leaves, one a block.
    pub fn partials(&self) -> u64 {
        if self.has_down() { self.down_blocks() } else { self.up_blocks() }
    }

    /// States.
    pub fn dimension(&self) -> u64 {
        self.up.states * self.down.states
    }

    /// Five passes over a vector (three where no down electron can hop), and two operations an element of H.
    pub fn cost(&self) -> Cost {
        let n = self.dimension() as f64;
        let elements =
            self.up.elements as f64 * self.down.states as f64 + self.down.elements as f64 * self.up.states as f64;
        let passes = if self.has_down() { 5.0 } else { 2.0 };
        Cost {
            flops: 2.0 * elements + n * (2.0 + self.diagonal.flops()),
            bytes: passes * n * self.scalar.bytes() as f64,
        }
    }

    /// The CUDA text.
    pub fn text(&self) -> Result<KernelText, TextError> {
        #[derive(Serialize)]
        struct View<'a> {
            plan: &'a KroneckerPlan,
            prelude: &'a str,
            real: &'a str,
            shared: bool,
            up: SpeciesView,
            down: SpeciesView,
            row_tiles: u64,
            down_groups: u64,
            has_down: bool,
            diagonal: String,
            cost: Cost,
        }
        let view = View {
            plan: self,
            prelude: PRELUDE,
            real: self.scalar.cuda(),
            shared: self.staging == Staging::Shared,
            up: SpeciesView::new(&self.up, "UP"),
            down: SpeciesView::new(&self.down, "DN"),
            row_tiles: self.up.states.div_ceil(u64::from(self.down_rows)),
            down_groups: self.down_groups(),
            has_down: self.has_down(),
            diagonal: self.diagonal_function(),
            cost: self.cost(),
        };
        let text = render("kronecker.cu.jinja", include_str!("../../cuda/kronecker.cu.jinja"), &view)?;
        let mut entries = vec!["multiply_up".to_string()];
        if self.has_down() {
            entries.push("multiply_down".into());
        }
        entries.push("multiply_finish".into());
        Ok(KernelText { name: format!("{}_multiply", self.name), text, plan: crate::text::ron(self), entries })
    }

    /// `double diagonal_of(words)` and what it needs, for the multiply and for vector programs.
    pub fn diagonal_function(&self) -> String {
        let declarations = self.diagonal.declarations("u32");
        let statements = self.diagonal.statements(false).join("\n    ");
        let parameters = self.diagonal.word_parameters("u32");
        format!(
            "{declarations}// The diagonal of H, computed wherever it is needed and never stored.\n\
             __device__ __forceinline__ double diagonal_of({parameters})\n{{\n    {statements}\n    return value;\n}}\n"
        )
    }
}

impl KroneckerPlan {
    /// The diagonal as an element function of vector programs: `diagonal(i, up_states, dn_states)`.
    pub fn diagonal_element(&self) -> ElementFunctionText {
        let pointer = "const u32* __restrict__";
        let parameters = ["up_states", "dn_states"].map(|name| (pointer.to_string(), name.to_string()));
        let source = format!(
            "{}__device__ __forceinline__ double diagonal(i64 i, {pointer} up_states, {pointer} dn_states)\n{{\n    return \
             diagonal_of(up_states[i % {n}], dn_states[i / {n}]);\n}}\n",
            self.diagonal_function(),
            n = self.up.states
        );
        ElementFunctionText { name: "diagonal".into(), source, parameters: parameters.into() }
    }
}

#[derive(Serialize)]
struct SpeciesView {
    word: &'static str,
    /// Unsigned type that holds an index.
    index_type: &'static str,
    signed: bool,
    index_mask: String,
    padding: u64,
    /// Statement that adds the element `value` of the neighbour `word` to `sum`.
    accumulate: String,
    /// Factor of the whole sum.
    factor: Option<String>,
    table: Option<String>,
}

impl SpeciesView {
    fn new(species: &SpeciesPlan, label: &str) -> SpeciesView {
        let bits = species.index_bits;
        let (accumulate, factor, table) = match &species.amplitudes {
            Amplitudes::One(a) => ("sum += value;".to_string(), Some(format!("{a:?}")), None),
            Amplitudes::Signed(a) => {
                let sign = match species.word {
                    IndexWord::U16 => "(u32)word << 16",
                    IndexWord::U32 => "word",
                    IndexWord::U64 => "(u32)(word >> 32)",
                };
                (format!("sum += negated_by_top_bit(value, {sign});"), Some(format!("{a:?}")), None)
            }
            Amplitudes::Table(values) => {
                let list: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
                let table =
                    format!("__device__ const double AMPLITUDE_{label}[{}] = {{ {} }};", values.len(), list.join(", "));
                (format!("sum += AMPLITUDE_{label}[word >> {bits}] * value;"), None, Some(table))
            }
        };
        SpeciesView {
            word: species.word.cuda(),
            index_type: if bits <= 32 { "u32" } else { "u64" },
            signed: matches!(species.amplitudes, Amplitudes::Signed(_)),
            index_mask: format!("{:#x}", (1u64 << bits) - 1),
            padding: species.states,
            accumulate,
            factor,
            table,
        }
    }
}
