//! Lists of matrix elements: the words that hold them, the distinct amplitudes, and how a text reads both.

use super::coefficients::CoefficientWriter;
use serde::{Deserialize, Serialize};

/// Zeros after a column in shared memory, for rows with fewer elements than their slice is wide: one in each of the 16
/// banks of 8 bytes.
pub const UP_ZEROS: u64 = 16;

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
    pub fn narrowest(bits: u32) -> IndexWord {
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

    pub(super) fn cuda(self) -> &'static str {
        match self {
            IndexWord::U16 => "u16",
            IndexWord::U32 => "u32",
            IndexWord::U64 => "u64",
        }
    }
}

/// The distinct matrix elements of a list of neighbours, that of one species or of the whole state; each neighbour stores the number of its element.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Amplitudes {
    /// All equal.
    One(f64),
    /// ±a: the bit above the index is the fermion sign.
    Signed(f64),
    /// A table.
    Table(Vec<f64>),
    /// a, its conjugate, and the same with a minus, of which there are some if `signs`: the top bit is the sign, the one below
    /// it conjugates.
    Phase {
        /// Real and imaginary part of a.
        amplitude: [f64; 2],
        /// Whether there are both signs.
        signs: bool,
    },
    /// A table of real and imaginary parts.
    Complex(Vec<[f64; 2]>),
}

impl Amplitudes {
    /// From the distinct real values; neighbours' numbers index [`Amplitudes::values`].
    pub fn new(mut distinct: Vec<f64>) -> Amplitudes {
        distinct.sort_by(f64::total_cmp);
        match distinct[..] {
            [] => Amplitudes::One(0.0),
            [a] => Amplitudes::One(a),
            [a, b] if a == -b => Amplitudes::Signed(a),
            _ => Amplitudes::Table(distinct),
        }
    }

    /// From the distinct values, real and imaginary part of each; real ones if all are.
    pub fn of_complex(mut distinct: Vec<[f64; 2]>) -> Amplitudes {
        if distinct.iter().all(|[_, im]| *im == 0.0) {
            return Amplitudes::new(distinct.into_iter().map(|[re, _]| re).collect());
        }
        distinct.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
        let first = distinct[distinct.len() - 1];
        let turned = Amplitudes::Phase { amplitude: first, signs: true };
        let of_first = turned.values();
        if distinct.iter().all(|value| of_first.contains(value)) {
            let signs = distinct.iter().any(|value| !of_first[..2].contains(value));
            return Amplitudes::Phase { amplitude: first, signs };
        }
        Amplitudes::Complex(distinct)
    }

    /// Real and imaginary part by number.
    pub fn values(&self) -> Vec<[f64; 2]> {
        match self {
            Amplitudes::One(a) => vec![[*a, 0.0]],
            Amplitudes::Signed(a) => vec![[*a, 0.0], [-a, 0.0]],
            Amplitudes::Table(values) => values.iter().map(|a| [*a, 0.0]).collect(),
            Amplitudes::Phase { amplitude: [re, im], .. } => {
                vec![[*re, *im], [*re, -im], [-re, -im], [-re, *im]]
            }
            Amplitudes::Complex(values) => values.clone(),
        }
    }

    /// Real parts by number.
    pub fn reals(&self) -> Vec<f64> {
        self.values().into_iter().map(|[re, _]| re).collect()
    }

    /// Where the number of an amplitude stands in a word with an index of this many bits below: signs are in the top bits.
    pub(super) fn number_shift(&self, index_bits: u32, word: IndexWord) -> u32 {
        let bits = 8 * word.bytes() as u32;
        match self {
            Amplitudes::Signed(_) => bits - 1,
            Amplitudes::Phase { .. } => bits - 2,
            _ => index_bits,
        }
    }

    /// Bits of the number.
    pub fn bits(&self) -> u32 {
        let count = self.values().len().max(1);
        usize::BITS - (count - 1).leading_zeros()
    }
}

/// A list of matrix elements: where x is read, and the number of the amplitude.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ElementList {
    /// Words of the list, padding included; 0 if there is none.
    pub words: u64,
    /// Bits of the place.
    pub index_bits: u32,
    /// Their type.
    pub word: IndexWord,
    /// The distinct amplitudes.
    pub amplitudes: Amplitudes,
}

impl ElementList {
    /// Where the number of the amplitude stands in a word.
    pub fn number_shift(&self) -> u32 {
        self.amplitudes.number_shift(self.index_bits, self.word)
    }
}

/// A list of elements as its text reads them.
#[derive(Serialize)]
pub(super) struct ElementView {
    word: &'static str,
    index_bits: u32,
    /// Unsigned type that holds an index.
    index_type: &'static str,
    index_mask: String,
    /// The index in the neighbour `word`, in its type.
    place: String,
    /// `one`, `signed`, `table`, `phase` or `complex`.
    amplitudes: &'static str,
    /// The sign of the neighbour `word` in the top bit of 32; of turned amplitudes none if all have one.
    sign: Option<&'static str>,
    /// The bit below it, moved there.
    conjugate: String,
    /// Factor of the whole sum.
    factor: Option<String>,
    /// Real and imaginary part of turned amplitudes.
    parts: Vec<String>,
    /// The table of amplitudes: its name and, unless it is an argument, its values.
    table: String,
    values: Vec<String>,
}

impl ElementView {
    /// A list with indices in the low bits of its words.
    pub(super) fn new(
        word: IndexWord,
        index_bits: u32,
        amplitudes: &Amplitudes,
        label: &'static str,
        coefficients: &CoefficientWriter<'_>,
    ) -> ElementView {
        let (mut table, mut values) = (format!("AMPLITUDE_{label}"), Vec::new());
        let mut tabulate = |list: &[f64]| match coefficients.table(list) {
            Some(pointer) => table = format!("({pointer})"),
            None => values = list.iter().map(|value| format!("{value:?}")).collect(),
        };
        let sign = match word {
            IndexWord::U16 => "(u32)word << 16",
            IndexWord::U32 => "word",
            IndexWord::U64 => "(u32)(word >> 32)",
        };
        let (mut factor, mut parts, mut signs) = (None, Vec::new(), true);
        let amplitudes = match amplitudes {
            Amplitudes::One(a) => {
                factor = Some(coefficients.number(*a));
                "one"
            }
            Amplitudes::Signed(a) => {
                factor = Some(coefficients.number(*a));
                "signed"
            }
            Amplitudes::Table(list) => {
                tabulate(list);
                "table"
            }
            Amplitudes::Phase { amplitude, signs: both } => {
                parts = amplitude.iter().map(|part| coefficients.number(*part)).collect();
                signs = *both;
                "phase"
            }
            Amplitudes::Complex(list) => {
                tabulate(list.as_flattened());
                "complex"
            }
        };
        ElementView {
            word: word.cuda(),
            index_bits,
            index_type: if index_bits <= 32 { "u32" } else { "u64" },
            index_mask: format!("{:#x}", (1u64 << index_bits) - 1),
            place: match amplitudes {
                "one" => "word".into(),
                _ => format!("(word & {:#x})", (1u64 << index_bits) - 1),
            },
            amplitudes,
            sign: signs.then_some(sign),
            conjugate: match word {
                IndexWord::U16 => "(u32)word << 17".into(),
                _ => format!("({sign}) << 1"),
            },
            factor,
            parts,
            table,
            values,
        }
    }
}
