//! The general multiply by columns.
//!
//! A column is the states with one high part; they follow each other. What a term asks of the high part, what it does to it and its
//! sign there are the same for a whole column. So a block first lists the terms that act on its column, each with the column that
//! it comes from, then sums the states: the listed terms ask only the low part, and where they leave the low part alone they add
//! one column to another, without a test. Terms within the low part are written out.
//!
//! ```text
//! terms ── within the low part ────────────────── written out
//!       └─ the rest, asked once a column ─┬─ leave the low part alone:  sum += a · x[from + row]
//!                                         └─ test or change it:         sum += ± a · x[from + low_index[low ^ flip]]
//! ```

use super::coefficients::CoefficientWriter;
use super::general::hex;
use super::{FlipGroup, GeneralPlan, MaskedTerm};
use crate::files;
use crate::prototype::{Declarations, filled};
use crate::text::part;
use serde::Serialize;

/// Most characters of a line of a table.
const LINE: usize = 110;

/// Bits of the low and of the high part.
fn split(bits: u64, low_bits: u32) -> [u64; 2] {
    [bits & ((1 << low_bits) - 1), bits >> low_bits]
}

/// Whether a group neither asks nor changes the high part.
fn is_low(group: &FlipGroup, low_bits: u32) -> bool {
    let high = |bits: u64| split(bits, low_bits)[1];
    high(group.flip) == 0 && group.terms.iter().all(|term| high(term.care) == 0 && high(term.sign) == 0)
}

#[derive(Serialize)]
struct LowTerm {
    care: String,
    pattern: String,
    sign: Option<String>,
    plus: String,
    minus: String,
}

#[derive(Serialize)]
struct LowGroup {
    flip: String,
    terms: Vec<LowTerm>,
}

impl GeneralPlan {
    /// The kernel.
    pub(super) fn columns_text(
        &self,
        rows: u32,
        kernels: &Declarations,
        coefficients: &CoefficientWriter<'_>,
    ) -> String {
        #[derive(Serialize)]
        struct View<'a> {
            kernels: &'a Declarations,
            passed: String,
            parts: u64,
            rows: u32,
            /// Threads of a multiprocessor, and how many registers that leaves to each.
            resident: u32,
            registers: u32,
            low_groups: Vec<LowGroup>,
            /// How many terms there are beside those, and how many of them leave the low part alone: these come first.
            terms: usize,
            whole: usize,
            /// care, pattern, sign and flip of the high part, one line a term.
            high: String,
            /// The same of the low part.
            low: String,
            /// Where the amplitudes are, if they are arguments.
            amplitudes: Option<String>,
            amplitude_values: String,
        }
        let bits = self.low_bits;
        // A long text keeps more numbers at hand.
        let resident = if self.is_short() { 1024 } else { 512 };
        let low_hex = |word: u64| format!("{:#x}u", split(word, bits)[0]);
        let (low, rest): (Vec<&FlipGroup>, Vec<&FlipGroup>) = self.groups.iter().partition(|group| is_low(group, bits));
        let low_term = |term: &MaskedTerm| LowTerm {
            care: low_hex(term.care),
            pattern: low_hex(term.pattern),
            sign: (term.sign != 0).then(|| low_hex(term.sign)),
            plus: coefficients.number(term.amplitude),
            minus: coefficients.number(-term.amplitude),
        };
        let low_group = |group: &&FlipGroup| LowGroup {
            flip: low_hex(group.flip),
            terms: group.terms.iter().map(low_term).collect(),
        };
        let low_groups = low.iter().map(low_group).collect();
        let of_group =
            |group: &&FlipGroup| group.terms.iter().map(|term| (term.clone(), group.flip)).collect::<Vec<_>>();
        let leaves_low = |(term, flip): &(MaskedTerm, u64)| split(term.care | term.sign | flip, bits)[0] == 0;
        let (whole, both): (Vec<_>, Vec<_>) = rest.iter().flat_map(of_group).partition(leaves_low);
        let (wholes, terms) = (whole.len(), [whole, both].concat());
        let words = |(term, flip): &(MaskedTerm, u64)| [term.care, term.pattern, term.sign, *flip];
        let table = |part: usize, show: &dyn Fn(u64) -> String| {
            let entry = |term| words(term).map(|word| show(split(word, bits)[part])).join(", ");
            filled(terms.iter().map(|term| format!("{{{}}},", entry(term))), 4, LINE)
        };
        let amplitudes: Vec<f64> = terms.iter().map(|(term, _)| term.amplitude).collect();
        let view = View {
            kernels,
            passed: coefficients.passed(),
            parts: self.parts,
            rows,
            resident,
            registers: (1 << 16) / resident,
            low_groups,
            terms: terms.len(),
            whole: wholes,
            high: table(1, &hex),
            low: table(0, &|word| format!("{word:#x}u")),
            amplitudes: coefficients.table(&amplitudes),
            amplitude_values: filled(amplitudes.iter().map(|value| format!("{value:?},")), 4, LINE),
        };
        part(files::GENERAL_COLUMNS, &view)
    }
}
