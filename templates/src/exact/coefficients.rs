//! How a text writes the coefficients of H: as numbers, or as arguments where they differ between the points of a sweep.
//!
//! In: the texts of several problems that are alike but for their coefficients. Out: one text for all of them, in which every
//! coefficient that differs is an element of the array `coefficients`, an argument of the kernels; the others stay numbers, which the
//! compiler folds.
//!
//! ```text
//! value += 4.0 * __popc(up & dn);          u = 1, 2, 4       value += coefficients[0] * __popc(up & dn);
//! sum *= -1.0;                             t = 1 at all      sum *= -1.0;
//! ```
//!
//! Coefficients are counted in the order in which the text writes them, so nothing needs to know what they mean: texts without their
//! coefficients are compared, and where these are equal so are the problems' structures. What is not the same for all points
//! (a term that vanishes, couplings that coincide) gives another text.

use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Range;

/// Name of the array in the kernels.
pub(super) const NAME: &str = "coefficients";

/// An element of the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Argument {
    /// Its index.
    index: usize,
    /// Whether the coefficient is its negative.
    minus: bool,
}

/// Which coefficients of a text are arguments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CoefficientArguments {
    /// How many coefficients the text has.
    all: usize,
    /// Those that are arguments, by their place in the text.
    varying: BTreeMap<usize, Argument>,
    /// One of the texts that they are of.
    #[serde(skip)]
    like: CollectedCoefficients,
}

/// The coefficients of a text in its order, and the text without them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CollectedCoefficients {
    /// The text, with a mark in place of each coefficient.
    skeleton: String,
    /// The coefficients.
    values: Vec<f64>,
    /// Tables among them, which are arguments as a whole.
    tables: Vec<Range<usize>>,
    /// Where those of the second text begin.
    second: usize,
}

impl CollectedCoefficients {
    /// Whether two texts are equal but for their coefficients.
    pub fn is_alike(&self, other: &CollectedCoefficients) -> bool {
        self.skeleton == other.skeleton
            && self.values.len() == other.values.len()
            && self.tables == other.tables
            && self.second == other.second
    }

    /// Both texts, one after the other.
    pub(super) fn followed_by(mut self, other: CollectedCoefficients) -> CollectedCoefficients {
        let before = self.values.len();
        self.second = before;
        self.skeleton += &other.skeleton;
        self.values.extend(other.values);
        self.tables.extend(other.tables.into_iter().map(|table| table.start + before..table.end + before));
        self
    }
}

impl CoefficientArguments {
    /// The arguments of texts that are equal but for their coefficients; `None` of texts that differ otherwise.
    pub fn new(texts: &[CollectedCoefficients]) -> Option<CoefficientArguments> {
        let first = texts.first()?;
        if !texts.iter().all(|text| text.is_alike(first)) {
            return None;
        }
        let column = |place: usize| texts.iter().map(|text| text.values[place].to_bits()).collect::<Vec<u64>>();
        let negated =
            |column: &[u64]| column.iter().map(|bits| (-f64::from_bits(*bits)).to_bits()).collect::<Vec<u64>>();
        let varies = |place: usize| column(place).iter().any(|bits| *bits != first.values[place].to_bits());
        let mut varying = BTreeMap::new();
        let mut next = 0;
        for table in first.tables.iter().filter(|table| (*table).clone().any(varies)) {
            for place in table.clone() {
                varying.insert(place, Argument { index: next, minus: false });
                next += 1;
            }
        }
        let mut known: BTreeMap<Vec<u64>, usize> = BTreeMap::new();
        for place in (0..first.values.len()).filter(|place| varies(*place)) {
            if varying.contains_key(&place) {
                continue;
            }
            let own = column(place);
            let argument = match (known.get(&own), known.get(&negated(&own))) {
                (Some(index), _) => Argument { index: *index, minus: false },
                (None, Some(index)) => Argument { index: *index, minus: true },
                (None, None) => {
                    known.insert(own, next);
                    next += 1;
                    Argument { index: next - 1, minus: false }
                }
            };
            varying.insert(place, argument);
        }
        Some(CoefficientArguments { all: first.values.len(), varying, like: first.clone() })
    }

    /// Elements of the array.
    pub fn len(&self) -> usize {
        self.varying.values().map(|argument| argument.index + 1).max().unwrap_or(0)
    }

    /// Whether no coefficient is an argument.
    pub fn is_empty(&self) -> bool {
        self.varying.is_empty()
    }

    /// Coefficients that are numbers in the text.
    pub fn constants(&self) -> usize {
        self.all - self.varying.len()
    }

    /// Whether a text is the one that they are of.
    pub(super) fn fit(&self, text: &CollectedCoefficients) -> bool {
        self.like.is_alike(text)
    }

    /// The same for another text of the problem, if its coefficients are those of the first text, one after the other.
    pub(super) fn of_text(
        &self,
        first: &CollectedCoefficients,
        other: CollectedCoefficients,
    ) -> Option<CoefficientArguments> {
        let bits = |text: &CollectedCoefficients| text.values.iter().map(|value| value.to_bits()).collect::<Vec<u64>>();
        let same = bits(first) == bits(&other) && first.tables == other.tables && first.second == other.second;
        (same && self.fit(first)).then(|| CoefficientArguments { like: other, ..self.clone() })
    }

    /// The array of one of the problems; `None` of a problem with another text.
    pub fn values(&self, text: &CollectedCoefficients) -> Option<Vec<f64>> {
        let mut values = vec![0.0; self.len()];
        for (place, argument) in &self.varying {
            let value = *text.values.get(*place)?;
            values[argument.index] = if argument.minus { -value } else { value };
        }
        self.fit(text).then_some(values)
    }
}

/// Writes the coefficients of one text.
pub(super) struct CoefficientWriter<'a> {
    mode: Mode<'a>,
    /// The place of the next coefficient.
    next: Cell<usize>,
    found: RefCell<CollectedCoefficients>,
}

#[derive(Clone, Copy)]
enum Mode<'a> {
    /// All are numbers.
    Numbers,
    /// Some are arguments.
    Arguments(&'a CoefficientArguments),
    /// Marks, to find out which are to be arguments.
    Collect,
}

impl<'a> CoefficientWriter<'a> {
    /// Numbers, or arguments where a plan has them.
    pub fn first(arguments: Option<&'a CoefficientArguments>) -> CoefficientWriter<'a> {
        let mode = arguments.map_or(Mode::Numbers, Mode::Arguments);
        CoefficientWriter { mode, next: Cell::new(0), found: RefCell::default() }
    }

    /// The same for the second text.
    pub fn second(arguments: Option<&'a CoefficientArguments>) -> CoefficientWriter<'a> {
        let writer = CoefficientWriter::first(arguments);
        writer.next.set(arguments.map_or(0, |arguments| arguments.like.second));
        writer
    }

    /// Collects the coefficients of a text.
    pub fn collector() -> CoefficientWriter<'static> {
        CoefficientWriter { mode: Mode::Collect, next: Cell::new(0), found: RefCell::default() }
    }

    /// What was collected while `skeleton` was written.
    pub fn collected(self, skeleton: String) -> CollectedCoefficients {
        CollectedCoefficients { skeleton, ..self.found.into_inner() }
    }

    /// Whether there may be arguments.
    pub fn has_arguments(&self) -> bool {
        !matches!(self.mode, Mode::Numbers)
    }

    /// The array as a further argument of a call: ", coefficients", or nothing.
    pub fn passed(&self) -> String {
        if self.has_arguments() { format!(", {NAME}") } else { String::new() }
    }

    /// The array as a further parameter of a function.
    pub fn declared(&self) -> String {
        if self.has_arguments() { format!(", const double* __restrict__ {NAME}") } else { String::new() }
    }

    /// One coefficient.
    pub fn number(&self, value: f64) -> String {
        let place = self.take(&[value]);
        match self.mode {
            Mode::Numbers => format!("{value:?}"),
            Mode::Collect => "?".into(),
            Mode::Arguments(arguments) => match arguments.varying.get(&place) {
                Some(Argument { index, minus: false }) => format!("{NAME}[{index}]"),
                Some(Argument { index, minus: true }) => format!("-{NAME}[{index}]"),
                None => format!("{value:?}"),
            },
        }
    }

    /// One coefficient where a text has another form for a constant; `None` if it is one.
    pub fn argument(&self, value: f64) -> Option<String> {
        let text = self.number(value);
        (text.contains(NAME) || matches!(self.mode, Mode::Collect)).then_some(text)
    }

    /// A pointer to the values of a table, if they are arguments.
    pub fn table(&self, values: &[f64]) -> Option<String> {
        let place = self.take(values);
        if self.has_arguments() && !values.is_empty() {
            self.found.borrow_mut().tables.push(place..place + values.len());
        }
        match self.mode {
            Mode::Numbers => None,
            Mode::Collect => Some("?".into()),
            Mode::Arguments(arguments) => {
                arguments.varying.get(&place).map(|first| format!("{NAME} + {}", first.index))
            }
        }
    }

    /// The place of values that are written now.
    fn take(&self, values: &[f64]) -> usize {
        let place = self.next.get();
        self.next.set(place + values.len());
        self.found.borrow_mut().values.extend(values);
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text of three coefficients and a table.
    fn text(writer: &CoefficientWriter<'_>, [t, u, v]: [f64; 3], table: &[f64]) -> String {
        let pointer = writer.table(table).unwrap_or_else(|| format!("{table:?}"));
        format!("{} {} {} {} {pointer}", writer.number(t), writer.number(u), writer.number(-u), writer.number(v))
    }

    fn collected(numbers: [f64; 3], table: &[f64]) -> CollectedCoefficients {
        let writer = CoefficientWriter::collector();
        let skeleton = text(&writer, numbers, table);
        writer.collected(skeleton)
    }

    #[test]
    fn what_differs_is_an_argument_once() {
        let points = [[1.0, 2.0, 2.0], [1.0, 3.0, 3.0]].map(|numbers| collected(numbers, &[5.0, 6.0]));
        let arguments = CoefficientArguments::new(&points).unwrap();
        let writer = CoefficientWriter::first(Some(&arguments));
        assert_eq!(
            text(&writer, [1.0, 2.0, 2.0], &[5.0, 6.0]),
            "1.0 coefficients[0] -coefficients[0] coefficients[0] [5.0, 6.0]"
        );
        assert_eq!((arguments.len(), arguments.constants()), (1, 3));
        assert_eq!(arguments.values(&points[1]), Some(vec![3.0]));
        assert_eq!(arguments.values(&CollectedCoefficients::default()), None);
    }

    #[test]
    fn tables_are_arguments_as_a_whole() {
        let points = [6.0, 7.0].map(|last| collected([1.0, 2.0, 3.0], &[5.0, last]));
        let arguments = CoefficientArguments::new(&points).unwrap();
        let writer = CoefficientWriter::first(Some(&arguments));
        assert_eq!(text(&writer, [1.0, 2.0, 3.0], &[5.0, 6.0]), "1.0 2.0 -2.0 3.0 coefficients + 0");
        assert_eq!(arguments.values(&points[1]), Some(vec![5.0, 7.0]));
    }

    #[test]
    fn texts_that_differ_are_not_one() {
        let points = [collected([1.0, 2.0, 3.0], &[]), collected([1.0, 2.0, 3.0], &[5.0])];
        assert_eq!(CoefficientArguments::new(&points), None);
        assert!(CoefficientArguments::new(&points[..1]).unwrap().is_empty());
        assert_eq!(CoefficientArguments::new(&[]), None);
    }
}
