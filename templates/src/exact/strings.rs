//! The multiply of electrons in a symmetry sector, by strings: rows are strings of one spin, least under the group, and hold all strings
//! of the other.
//!
//! A state is a pair (U, D) of strings, the places of the electrons of each spin. With U above D in a word, the least word of an orbit
//! has the least U under the group, and the least D under the elements S_U that leave this U as it is; most U have S_U = {1}, and their
//! rows hold all D. A hop moves electrons of one spin only, and elements of the group act on U and D apart,
//!
//! y[U, D] = d(U, D) x[U, D] + Σ_D' t(D, D') x[U, D'] + Σ_U'' t(U, U'') σ_g(U'') χ(g) σ_g(D) x[g U'', g D],
//!
//! with g an element for which g U'' is least: a table has g D and σ_g(D) for all g and D, and each row has a list of its U'' with all of
//! the other factors. No word is searched for its orbit, and no list of states is needed.
//!
//! **Rows that are cut.** A row with S_U ≠ {1} has the representatives (U, D) alone. Its *class* is S_U with σ_h(U) of its elements; a
//! table of the class takes each D to the place of its representative h D and the factor χ(h) σ_h(U) σ_h(D) √S of it, S the number of
//! elements that leave (U, h D) as it is, or tells that the orbit has no state. Sums over such a row are divided by its own √S.
//!
//! | kernel | does |
//! |---|---|
//! | `multiply` | a block takes one row and consecutive strings D: its list of U'' is that of all threads |
//!
//! **Order.** Strings D of one orbit of the group have consecutive numbers, with signs that make U_g of the orbit's first the g-th of them. So
//! an element, and each hop with its images, take consecutive strings to strings of one orbit, 8 bytes of x each instead of 32.
//!
//! **What it costs.** Half-filled 4 × 5 sites with 40 elements have 8.5e8 states with 21 hops of each spin, and a hop reads 8 to 11 bytes of
//! x and 4 of a table: 4.3e11 to 5.4e11 bytes of L2, 0.08 to 0.1 s at 5.5 TB/s. A row, 1.5 MB, stays in L2 for the hops of D; those of U read
//! each element of 21 other rows once, from memory where these are not in L2 any more: up to 2e11 bytes, 0.05 s beside it.
//!
//! Sizes and factors are arguments: the text is that of the diagonal, and whether vectors are complex.

use super::DiagonalPlan;
use super::coefficients::CoefficientWriter;
use super::diagonal::Words;
use super::launches::AT_ONCE;
use crate::files;
use crate::launch::{Access, Element, FINISH_THREADS, Launch, LaunchError, Number, Parameter, multiply_finish};
use crate::prototype::{Declarations, Prototype, declared, entries};
use crate::text::{Cost, ElementFunctionText, KernelText, TextError, part, render};
use crate::{ScalarType, Warp};
use serde::{Deserialize, Serialize};

/// Threads of `multiply`: strings of a row that a block takes.
const THREADS: u32 = 256;

/// Every number of the multiply by strings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StringsPlan {
    /// Name of the model and sector, for display.
    pub name: String,
    /// Number type of the vectors.
    pub scalar: ScalarType,
    /// The width of a warp.
    pub warp: Warp,
    /// Lattice sites.
    pub sites: u32,
    /// Spin of the rows, "up" or "down".
    pub outer: String,
    /// Elements of the group.
    pub elements: u64,
    /// Rows: strings U that are least under the group.
    pub rows: u64,
    /// Strings D.
    pub strings: u64,
    /// Bits of a string's number in a packed word; a number of a factor is above.
    pub index_bits: u32,
    /// Hops of all rows to other strings U.
    pub hops: u64,
    /// Packed words of the hops among the strings D, padded to slices of a warp.
    pub inner_words: u64,
    /// Their different factors.
    pub inner_factors: u64,
    /// Classes of cut rows.
    pub classes: u64,
    /// Representatives of all classes.
    pub class_strings: u64,
    /// Different factors of them.
    pub class_factors: u64,
    /// States.
    pub states: u64,
    /// States of the sector without symmetry.
    pub words: u64,
    /// Elements of H beside its diagonal, as they are added up.
    pub moves: u64,
    /// Whether vectors hold all real parts and after them all imaginary parts.
    pub complex: bool,
    /// The diagonal.
    pub diagonal: DiagonalPlan,
    /// Origin of the model: one line per `sum!`.
    pub sources: Vec<String>,
}

impl StringsPlan {
    /// Elements of a vector.
    pub fn dimension(&self) -> u64 {
        self.numbers() * self.states
    }

    /// Real numbers of an element.
    fn numbers(&self) -> u64 {
        if self.complex { 2 } else { 1 }
    }

    /// Slices of the strings D, a warp each.
    fn slices(&self) -> u64 {
        self.strings.div_ceil(self.warp.lanes().into())
    }

    /// Partial sums of x·y: one per block, of which each row has as many as a row with all strings needs.
    pub fn partials(&self) -> u64 {
        self.rows * self.strings.div_ceil(THREADS.into())
    }

    /// Bytes of what stays on the device beside vectors.
    pub fn device_bytes(&self) -> u64 {
        let tables = self.multiply_parameters().into_iter().skip(3);
        let bytes = |parameter: Parameter| match parameter.kind {
            crate::launch::ParameterKind::Memory { element, len, .. } => element.bytes() as u64 * len,
            crate::launch::ParameterKind::Number(_) => 0,
        };
        tables.map(bytes).sum::<u64>() + 8 * self.partials()
    }

    /// Reads x and writes y once, with the tables. Reads of x beyond the first are those of L2.
    pub fn cost(&self) -> Cost {
        let (numbers, states) = (self.numbers() as f64, self.states as f64);
        let of_element = if self.complex { 8.0 } else { 2.0 };
        Cost {
            flops: of_element * self.moves as f64 + states * numbers * (self.diagonal.flops() + 2.0),
            bytes: 2.0 * self.dimension() as f64 * self.scalar.bytes() as f64 + self.device_bytes() as f64,
        }
    }

    /// Tables of rows and strings, from which the word of a state is made.
    fn state_tables(&self) -> [Parameter; 6] {
        [
            Parameter::table("row_word", Element::U64, self.rows),
            Parameter::table("row_start", Element::U32, self.rows),
            Parameter::table("row_class", Element::U32, self.rows),
            Parameter::table("string_word", Element::U32, self.strings),
            Parameter::table("class_start", Element::U32, self.classes + 1),
            Parameter::table("class_strings", Element::U32, self.class_strings),
        ]
    }

    fn multiply_parameters(&self) -> Vec<Parameter> {
        let (dimension, numbers) = (self.dimension(), self.numbers());
        let mut parameters = vec![
            Parameter::values("x", self.scalar, Access::In, dimension),
            Parameter::values("y", self.scalar, Access::Out, dimension),
            Parameter::memory("partials", Element::F64, Access::Out, self.partials()),
        ];
        parameters.extend(self.complex.then(|| Parameter::number("states", Number::I64)));
        parameters.extend(["strings", "index_bits"].map(|name| Parameter::number(name, Number::U32)));
        parameters.extend(self.state_tables());
        parameters.extend([
            Parameter::table("hop_start", Element::U32, self.rows + 1),
            Parameter::table("hop_cut", Element::U32, self.rows),
            Parameter::table("hop_first", Element::U32, self.hops),
            Parameter::table("hop_class", Element::U32, self.hops),
            Parameter::table("hop_element", Element::U32, self.hops),
            Parameter::table("hop_factor", Element::F64, numbers * self.hops),
            Parameter::table("images", Element::U32, self.elements * self.strings),
            Parameter::table("inner_start", Element::U32, self.slices() + 1),
            Parameter::table("inner_words", Element::U32, self.inner_words),
            Parameter::table("inner_factor", Element::F64, numbers * self.inner_factors),
            Parameter::table("class_words", Element::U32, self.classes * self.strings),
            Parameter::table("class_factor", Element::F64, numbers * self.class_factors),
        ]);
        parameters
    }

    fn kernels(&self) -> [Prototype; 2] {
        let multiply = Prototype::new("multiply", self.multiply_parameters());
        [multiply, multiply_finish(1, self.partials(), AT_ONCE as u64)]
    }

    /// The launches of one multiply, in order.
    pub fn launches(&self) -> Result<Vec<Launch>, LaunchError> {
        let [multiply, finish] = self.kernels();
        Ok(vec![multiply.launch(self.partials(), THREADS, 0)?, finish.launch(1, FINISH_THREADS, 0)?])
    }

    /// In words.
    pub fn shape(&self) -> String {
        let StringsPlan { outer, elements, rows, strings, classes, .. } = self;
        let cut = match classes {
            0 => String::new(),
            1 => ", those of 1 class cut by a stabiliser".into(),
            _ => format!(", those of {classes} classes cut by a stabiliser"),
        };
        format!(
            "by strings: {rows} of the {outer} electrons, least under a group of {elements} elements, with {strings} of the others each{cut}"
        )
    }

    /// The CUDA text.
    pub fn text(&self) -> Result<KernelText, TextError> {
        #[derive(Serialize)]
        struct View<'a> {
            plan: &'a StringsPlan,
            prelude: String,
            value_type: &'a str,
            kernels: Declarations,
            diagonal: String,
            threads: u32,
        }
        let kernels = self.kernels();
        let view = View {
            plan: self,
            prelude: self.warp.prelude(),
            value_type: self.scalar.cuda(),
            kernels: kernels.iter().collect(),
            diagonal: self.diagonal_function(),
            threads: THREADS,
        };
        let text = render(files::SYMMETRY_STRINGS, &view)?;
        // Of other sectors, too.
        let name = format!("symmetry_strings_{}_sites_multiply", self.sites);
        Ok(KernelText { name, text, plan: crate::text::ron(self), entries: entries(&kernels) })
    }

    fn diagonal_function(&self) -> String {
        self.diagonal.function(Words::Whole, &CoefficientWriter::first(None))
    }

    /// The diagonal as an element function of vector programs: `diagonal(i, rows, row_word, …)`.
    pub fn diagonal_element(&self) -> ElementFunctionText {
        #[derive(Serialize)]
        struct View {
            parameters: String,
        }
        let rows = Parameter::number("rows", Number::U32);
        let tables: Vec<Parameter> = std::iter::once(rows).chain(self.state_tables()).collect();
        let parameters = declared(&tables, "__device__ __forceinline__ u64 word_of(".len());
        let words = part(files::STRINGS_WORD, &View { parameters });
        let names = tables.iter().map(|table| table.name.as_str()).collect::<Vec<_>>().join(", ");
        let place = if self.complex { "i % states" } else { "i" };
        let value = format!("diagonal_of(word_of((u32)({place}), {names}))");
        let states = self.complex.then(|| Parameter::number("states", Number::I64));
        let parameters = tables.into_iter().chain(states).collect();
        let head = self.diagonal_function() + &words;
        ElementFunctionText::new(&head, "double", "diagonal", parameters, &value)
    }
}
