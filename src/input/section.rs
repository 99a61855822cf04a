//! A strict reader for one section of a model file.
//!
//! In: a parsed TOML table with the byte range of every key and value. Out: typed values with their places, and a list of
//! problems. A key that no reader requested is a problem, with the nearest known key.

use super::nearest::nearest;
use super::problem::{InputProblem, Wrong};
use crate::observable::ParameterValue;
use num_complex::Complex64;
use std::cell::RefCell;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The text of a file, and the folder where its paths begin.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<'a> {
    pub text: &'a str,
    pub folder: &'a Path,
}

/// A text, parsed once.
pub(super) struct ParsedText<'a> {
    pub source: Source<'a>,
    table: Spanned<DeTable<'a>>,
    errors: Vec<toml::de::Error>,
}

impl<'a> ParsedText<'a> {
    /// Parses a text, which need not be TOML.
    pub(super) fn new(source: Source<'a>) -> ParsedText<'a> {
        let (table, errors) = DeTable::parse_recoverable(source.text);
        ParsedText { source, table, errors }
    }

    /// Whether all of it is TOML.
    pub(super) fn is_toml(&self) -> bool {
        self.errors.is_empty()
    }

    /// What of it is TOML.
    pub(super) fn any_table(&self) -> &DeTable<'a> {
        self.table.get_ref()
    }

    /// Whether it has a section.
    pub(super) fn has_section(&self, name: &str) -> bool {
        self.any_table().get(name).is_some()
    }

    /// The table, if all of it is TOML and there is something.
    pub(super) fn table(&self, problems: &Problems) -> Option<&DeTable<'a>> {
        if self.source.text.trim().is_empty() {
            problems.add(0..0, Wrong::Empty);
            return None;
        }
        for error in &self.errors {
            problems.add(error.span().unwrap_or(0..0), Wrong::Syntax { message: error.message().into() });
        }
        self.is_toml().then(|| self.any_table())
    }
}

/// Collects the problems of a file.
#[derive(Debug, Default)]
pub(crate) struct Problems(RefCell<Vec<InputProblem>>);

impl Problems {
    pub(super) fn add(&self, span: Range<usize>, what: Wrong) {
        self.0.borrow_mut().push(InputProblem { what, span });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.0.borrow().len()
    }

    pub(super) fn into_sorted(self) -> Vec<InputProblem> {
        let mut problems = self.0.into_inner();
        // A misspelt key is also a missing one: once is enough.
        let meant: Vec<&'static str> = problems
            .iter()
            .filter_map(|problem| match &problem.what {
                Wrong::Unknown { nearest, .. } => *nearest,
                _ => None,
            })
            .collect();
        problems.retain(|problem| match &problem.what {
            Wrong::MissingKey { key, .. } => !meant.contains(key),
            Wrong::MissingTable { table, .. } => !meant.contains(table),
            _ => true,
        });
        problems.sort_by_key(|problem| problem.span.start);
        problems
    }
}

/// A value and its place in the text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Placed<T> {
    pub value: T,
    pub span: Range<usize>,
}

impl Placed<String> {
    /// The place in the file of a part of this text: between plain quotes the bytes of the file are those of the text. The whole
    /// text where they are not.
    pub(crate) fn part(&self, at: &Range<usize>, file: &str) -> Range<usize> {
        let inside = self.span.start + 1..self.span.end.saturating_sub(1);
        match file.get(inside.clone()) {
            Some(found) if found == self.value && at.start < at.end => inside.start + at.start..inside.start + at.end,
            _ => self.span.clone(),
        }
    }
}

/// (i, j, weight).
pub(crate) type Edge = (usize, usize, f64);

/// One number for every item, or one an item.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Amount {
    One(f64),
    Each(Vec<f64>),
}

/// A number, or a word in its place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum NumberOrWord<'a> {
    Number(f64),
    Word(&'a str),
}

/// A table of the file that is being read key by key.
pub(crate) struct Section<'a> {
    name: String,
    table: &'a DeTable<'a>,
    /// The header, `[name]`.
    pub span: Range<usize>,
    problems: &'a Problems,
    known: RefCell<Vec<&'static str>>,
}

impl<'a> Section<'a> {
    pub(super) fn new(name: &str, table: &'a DeTable<'a>, span: Range<usize>, problems: &'a Problems) -> Section<'a> {
        Section { name: name.into(), table, span, problems, known: RefCell::default() }
    }

    /// The section `name` of the file; a problem if it is not a table.
    pub(super) fn open(&self, name: &'static str) -> Option<Section<'a>> {
        let value = self.get(name)?;
        match value.get_ref() {
            DeValue::Table(table) => Some(Section::new(name, table, value.span(), self.problems)),
            other => {
                let (key, found) = (name.into(), show(other));
                let expected = format!("a section [{name}]");
                self.problems.add(value.span(), Wrong::WrongType { key, expected, found });
                None
            }
        }
    }

    pub(super) fn has(&self, key: &'static str) -> bool {
        self.table.get(key).is_some()
    }

    /// Whether a value is a table, `{ … }` or a section of its own.
    pub(super) fn is_table(&self, key: &'static str) -> bool {
        self.table.get(key).is_some_and(|value| matches!(value.get_ref(), DeValue::Table(_)))
    }

    /// Whether a value is a text.
    pub(super) fn is_word(&self, key: &'static str) -> bool {
        self.table.get(key).is_some_and(|value| matches!(value.get_ref(), DeValue::String(_)))
    }

    /// Whether a value is a list.
    pub(super) fn is_list(&self, key: &'static str) -> bool {
        self.table.get(key).is_some_and(|value| matches!(value.get_ref(), DeValue::Array(_)))
    }

    /// Whether a value is a list that holds a list.
    pub(super) fn is_list_of_lists(&self, key: &'static str) -> bool {
        let items = self.table.get(key).and_then(|value| value.get_ref().as_array());
        items.is_some_and(|items| items.iter().any(|item| item.get_ref().as_array().is_some()))
    }

    /// Whether a value is this word.
    pub(super) fn word_is(&self, key: &'static str, word: &str) -> bool {
        self.table.get(key).is_some_and(|value| value.get_ref().as_str() == Some(word))
    }

    /// The sections `[[name]]` of the file; a problem if it is not a list of tables.
    pub(super) fn open_list(&self, name: &'static str) -> Vec<Section<'a>> {
        let Some(value) = self.get(name) else { return Vec::new() };
        let expected = format!("sections [[{name}]]");
        let DeValue::Array(items) = value.get_ref() else {
            self.wrong_type(name, &expected, value);
            return Vec::new();
        };
        let mut sections = Vec::new();
        for item in items {
            match item.get_ref() {
                DeValue::Table(table) => sections.push(Section::new(name, table, item.span(), self.problems)),
                _ => self.wrong_type(name, &expected, item),
            }
        }
        sections
    }

    /// Every key: a number, a list of numbers, or a list of lists.
    pub(super) fn other_parameters(&self) -> Vec<(String, Placed<ParameterValue>)> {
        let mut found = Vec::new();
        for (key, value) in self.table {
            let name = key.get_ref().as_ref();
            let parameter = match value.get_ref() {
                DeValue::Array(items) if items.iter().any(|item| matches!(item.get_ref(), DeValue::Array(_))) => {
                    let rows =
                        items.iter().enumerate().map(|(index, row)| self.as_numbers(&format!("{name}[{index}]"), row));
                    rows.collect::<Vec<_>>().into_iter().collect::<Option<_>>().map(ParameterValue::Rows)
                }
                DeValue::Array(_) => self.as_numbers(name, value).map(ParameterValue::List),
                _ => self
                    .as_number(name, "a number, a list of numbers or a list of lists", value)
                    .map(ParameterValue::One),
            };
            found
                .extend(parameter.map(|parameter| (name.to_string(), Placed { value: parameter, span: value.span() })));
        }
        found
    }

    /// A list of lists of whole numbers, each with its place.
    pub(super) fn lists_of_counts(&self, key: &'static str) -> Option<Vec<Placed<Vec<usize>>>> {
        let value = self.get(key)?;
        let expected = "a list of lists of sites, such as [[0, 1], [1, 2]]";
        let Some(items) = value.get_ref().as_array() else {
            self.wrong_type(key, expected, value);
            return None;
        };
        let list = |(index, item): (usize, &Spanned<DeValue<'_>>)| {
            let name = format!("{key}[{index}]");
            let Some(numbers) = item.get_ref().as_array().filter(|numbers| !numbers.is_empty()) else {
                self.wrong_type(&name, "a list of one site or more", item);
                return None;
            };
            let number = |(place, number)| self.as_count(&format!("{name}[{place}]"), 0, number);
            let numbers: Vec<Option<usize>> = numbers.iter().enumerate().map(number).collect();
            Some(Placed { value: numbers.into_iter().collect::<Option<Vec<_>>>()?, span: item.span() })
        };
        let lists: Vec<Option<_>> = items.iter().enumerate().map(list).collect();
        lists.into_iter().collect()
    }

    /// The place of a value that is there (else of the section).
    pub(super) fn place(&self, key: &'static str) -> Range<usize> {
        self.table.get(key).map_or(self.span.clone(), Spanned::span)
    }

    /// A problem at the place of a key.
    pub(super) fn problem(&self, key: &'static str, what: Wrong) {
        self.problems.add(self.place(key), what);
    }

    /// A value of any type, with its place.
    pub(super) fn raw(&self, key: &'static str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.get(key)
    }

    fn get(&self, key: &'static str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.known.borrow_mut().push(key);
        self.table.get(key)
    }

    /// Refuses each of `others` that is there, for `key` stands without them.
    pub(super) fn refuse_others(&self, key: &'static str, others: &[&'static str], why: &'static str) {
        for other in others.iter().copied().filter(|other| self.has(other)) {
            self.problem(other, Wrong::Conflict { key: other, other: key, why });
            self.open(other);
        }
    }

    /// Says that a key is missing if it is.
    pub(super) fn require(&self, key: &'static str, meaning: &'static str) {
        if !self.has(key) {
            self.problems.add(self.span.clone(), Wrong::MissingKey { table: self.name.clone(), key, meaning });
        }
    }

    fn wrong_type(&self, key: &str, expected: &str, value: &Spanned<DeValue<'_>>) {
        let (key, expected, found) = (key.into(), expected.into(), show(value.get_ref()));
        self.problems.add(value.span(), Wrong::WrongType { key, expected, found });
    }

    /// A word.
    pub(super) fn word(&self, key: &'static str, expected: &str) -> Option<Placed<&'a str>> {
        let value = self.get(key)?;
        match value.get_ref() {
            DeValue::String(word) => Some(Placed { value: word.as_ref(), span: value.span() }),
            _ => {
                self.wrong_type(key, expected, value);
                None
            }
        }
    }

    /// Every key that was not read so far.
    pub(super) fn other_words(&self, expected: &str) -> Vec<(String, Placed<&'a str>)> {
        let mut found = Vec::new();
        for (key, value) in self.table {
            let name = key.get_ref().as_ref();
            if self.known.borrow().contains(&name) {
                continue;
            }
            match value.get_ref() {
                DeValue::String(word) => found.push((name.into(), Placed { value: word.as_ref(), span: value.span() })),
                _ => self.wrong_type(name, expected, value),
            }
        }
        found.sort_by_key(|(_, word)| word.span.start);
        found
    }

    /// One of a few words, with what it stands for.
    pub(super) fn choice<T: Copy>(&self, key: &'static str, words: &[(&'static str, T)]) -> Option<Placed<T>> {
        let known: Vec<&'static str> = words.iter().map(|(word, _)| *word).collect();
        let word = self.word(key, &format!("one of \"{}\"", known.join("\", \"")))?;
        self.chosen(key, word, words)
    }

    /// Looks a word up; a problem if it is not known.
    pub(super) fn chosen<T: Copy>(
        &self,
        key: &'static str,
        word: Placed<&str>,
        words: &[(&'static str, T)],
    ) -> Option<Placed<T>> {
        if let Some((_, value)) = words.iter().find(|(known, _)| *known == word.value) {
            return Some(Placed { value: *value, span: word.span });
        }
        let known: Vec<&'static str> = words.iter().map(|(word, _)| *word).collect();
        let near = nearest(word.value, &known);
        let (found, within) = (word.value.to_string(), Some(self.name.clone()));
        let what = match key {
            "name" => "model",
            "kind" => "lattice",
            _ => key,
        };
        self.problems.add(word.span, Wrong::Unknown { what, found, within, nearest: near, known, note: None });
        None
    }

    /// true or false.
    pub(super) fn flag(&self, key: &'static str) -> Option<bool> {
        let value = self.get(key)?;
        let flag = value.get_ref().as_bool();
        if flag.is_none() {
            self.wrong_type(key, "true or false", value);
        }
        flag
    }

    /// A whole number at least `least`.
    pub(super) fn count(&self, key: &'static str, least: usize) -> Option<Placed<usize>> {
        let value = self.get(key)?;
        self.as_count(key, least, value).map(|count| Placed { value: count, span: value.span() })
    }

    fn as_count(&self, key: &str, least: usize, value: &Spanned<DeValue<'_>>) -> Option<usize> {
        let expected =
            if least == 0 { "a whole number, 0 or more".into() } else { format!("a whole number, {least} or more") };
        let DeValue::Integer(integer) = value.get_ref() else {
            self.wrong_type(key, &expected, value);
            return None;
        };
        let count = usize::from_str_radix(integer.as_str(), integer.radix()).ok().filter(|count| *count >= least);
        if count.is_none() {
            let (key, found) = (key.into(), integer.to_string());
            self.problems.add(value.span(), Wrong::OutOfRange { key, expected, found });
        }
        count
    }

    /// A whole number of either sign.
    pub(super) fn integer(&self, key: &'static str) -> Option<Placed<i64>> {
        let value = self.get(key)?;
        Some(Placed { value: self.as_integer(key, value)?, span: value.span() })
    }

    fn as_integer(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Option<i64> {
        let integer = match value.get_ref() {
            DeValue::Integer(integer) => i64::from_str_radix(integer.as_str(), integer.radix()).ok(),
            _ => None,
        };
        if integer.is_none() {
            self.wrong_type(key, "a whole number", value);
        }
        integer
    }

    /// Two rows of two whole numbers.
    pub(super) fn two_rows(&self, key: &'static str) -> Option<Placed<[[i64; 2]; 2]>> {
        let value = self.get(key)?;
        let row = |name: &str, item: &Spanned<DeValue<'_>>| {
            let Some([first, second]) = item.get_ref().as_array().map(|row| &row[..]) else {
                self.wrong_type(name, "two whole numbers, such as [4, -2]", item);
                return None;
            };
            let (first, second) =
                (self.as_integer(&format!("{name}[0]"), first), self.as_integer(&format!("{name}[1]"), second));
            Some([first?, second?])
        };
        let Some([first, second]) = value.get_ref().as_array().map(|rows| &rows[..]) else {
            self.wrong_type(key, "two rows of two whole numbers, such as [[4, -2], [2, 2]]", value);
            return None;
        };
        let (first, second) = (row(&format!("{key}[0]"), first), row(&format!("{key}[1]"), second));
        Some(Placed { value: [first?, second?], span: value.span() })
    }

    /// A list of whole numbers of either sign.
    pub(super) fn integers(&self, key: &'static str) -> Option<Vec<i64>> {
        let value = self.get(key)?;
        let whole = |item: &Spanned<DeValue<'_>>| match item.get_ref() {
            DeValue::Integer(integer) => i64::from_str_radix(integer.as_str(), integer.radix()).ok(),
            _ => None,
        };
        let integers = value.get_ref().as_array().and_then(|items| items.iter().map(whole).collect());
        if integers.is_none() {
            self.wrong_type(key, "a list of whole numbers", value);
        }
        integers
    }

    /// A finite number.
    pub(super) fn number(&self, key: &'static str) -> Option<Placed<f64>> {
        let value = self.get(key)?;
        Some(Placed { value: self.as_number(key, "a number", value)?, span: value.span() })
    }

    fn as_number(&self, key: &str, expected: &str, value: &Spanned<DeValue<'_>>) -> Option<f64> {
        let text = match value.get_ref() {
            DeValue::Float(float) => float.as_str().to_string(),
            DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str().to_string(),
            _ => {
                self.wrong_type(key, expected, value);
                return None;
            }
        };
        let number = text.parse().ok().filter(|number: &f64| number.is_finite());
        if number.is_none() {
            self.problems.add(value.span(), Wrong::NotFinite { key: key.into(), found: text });
        }
        number
    }

    /// A number, or a word in its place.
    pub(super) fn number_or_word(&self, key: &'static str, expected: &str) -> Option<Placed<NumberOrWord<'a>>> {
        let value = self.get(key)?;
        let found = match value.get_ref() {
            DeValue::String(word) => NumberOrWord::Word(word.as_ref()),
            _ => NumberOrWord::Number(self.as_number(key, expected, value)?),
        };
        Some(Placed { value: found, span: value.span() })
    }

    /// A finite number, or a list of them.
    pub(super) fn amount(&self, key: &'static str) -> Option<Placed<Amount>> {
        let value = self.get(key)?;
        let amount = match value.get_ref() {
            DeValue::Array(_) => Amount::Each(self.as_numbers(key, value)?),
            _ => Amount::One(self.as_number(key, "a number or a list of numbers", value)?),
        };
        Some(Placed { value: amount, span: value.span() })
    }

    /// A number, or `{ re, im }`.
    pub(super) fn complex_number(&self, key: &'static str) -> Option<Complex64> {
        self.as_complex(key, self.get(key)?)
    }

    /// A list of numbers, each of which may be `{ re, im }`.
    pub(super) fn complex_numbers(&self, key: &'static str) -> Option<Vec<Complex64>> {
        let items = self.get(key)?.get_ref().as_array()?;
        let numbers: Vec<Option<Complex64>> =
            items.iter().enumerate().map(|(index, item)| self.as_complex(&format!("{key}[{index}]"), item)).collect();
        numbers.into_iter().collect()
    }

    fn as_complex(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Option<Complex64> {
        const EXPECTED: &str = "a number, or `{ re = 0.5, im = 1.0 }`";
        let DeValue::Table(parts) = value.get_ref() else {
            return self.as_number(key, EXPECTED, value).map(|re| Complex64::new(re, 0.0));
        };
        let wrong = |found: String| {
            let hint =
                if found == "`sweep`" { "; what is swept stands in [parameters] and has its name in `H`" } else { "" };
            self.problems
                .add(value.span(), Wrong::OutOfRange { key: key.into(), expected: format!("{EXPECTED}{hint}"), found });
            None
        };
        if let Some((part, _)) = parts.iter().find(|(part, _)| !["re", "im"].contains(&part.get_ref().as_ref())) {
            return wrong(format!("`{}`", part.get_ref()));
        }
        if parts.is_empty() {
            return wrong("`{}`".into());
        }
        let part = |name: &str| match parts.get(name) {
            Some(number) => self.as_number(&format!("{key}.{name}"), "a number", number),
            None => Some(0.0),
        };
        Some(Complex64::new(part("re")?, part("im")?))
    }

    /// A list of finite numbers; a number alone is a list of one.
    pub(super) fn one_or_more(&self, key: &'static str) -> Option<Placed<Vec<f64>>> {
        let Placed { value, span } = self.amount(key)?;
        let value = match value {
            Amount::One(value) => vec![value],
            Amount::Each(values) => values,
        };
        Some(Placed { value, span })
    }

    /// A list of finite numbers.
    pub(super) fn numbers(&self, key: &'static str) -> Option<Placed<Vec<f64>>> {
        let value = self.get(key)?;
        Some(Placed { value: self.as_numbers(key, value)?, span: value.span() })
    }

    fn as_numbers(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Option<Vec<f64>> {
        let Some(items) = value.get_ref().as_array() else {
            self.wrong_type(key, "a list of numbers", value);
            return None;
        };
        let item = |(index, item)| self.as_number(&format!("{key}[{index}]"), "a number", item);
        // Every bad item is reported, then the list as a whole is given up.
        let numbers: Vec<Option<f64>> = items.iter().enumerate().map(item).collect();
        numbers.into_iter().collect()
    }

    /// A list of whole numbers at least `least`; one number alone is a list of one.
    pub(super) fn counts(&self, key: &'static str, least: usize) -> Option<Placed<Vec<usize>>> {
        self.as_counts(key, least, self.get(key)?)
    }

    fn as_counts(
        &self,
        key: &'static str,
        least: usize,
        value: &'a Spanned<DeValue<'a>>,
    ) -> Option<Placed<Vec<usize>>> {
        let counts = match value.get_ref() {
            DeValue::Array(items) => {
                let item = |(index, item)| self.as_count(&format!("{key}[{index}]"), least, item);
                let counts: Vec<Option<usize>> = items.iter().enumerate().map(item).collect();
                counts.into_iter().collect::<Option<Vec<usize>>>()?
            }
            DeValue::Integer(_) => vec![self.as_count(key, least, value)?],
            _ => {
                self.wrong_type(key, "a list of whole numbers", value);
                return None;
            }
        };
        Some(Placed { value: counts, span: value.span() })
    }

    /// A list of whole numbers at least `least`, where one number alone would be read as how many.
    pub(super) fn listed_counts(&self, key: &'static str, least: usize, expected: &str) -> Option<Placed<Vec<usize>>> {
        let value = self.get(key)?;
        if matches!(value.get_ref(), DeValue::Integer(_)) {
            self.wrong_type(key, expected, value);
            return None;
        }
        self.as_counts(key, least, value)
    }

    /// A word, or a list of words.
    pub(super) fn words(&self, key: &'static str, expected: &str) -> Option<Placed<Vec<Placed<&'a str>>>> {
        let value = self.get(key)?;
        let as_word = |value: &'a Spanned<DeValue<'a>>| match value.get_ref() {
            DeValue::String(word) => Some(Placed { value: word.as_ref(), span: value.span() }),
            _ => {
                self.wrong_type(key, expected, value);
                None
            }
        };
        let words = match value.get_ref() {
            DeValue::Array(items) => items.iter().map(as_word).collect::<Option<Vec<_>>>()?,
            _ => vec![as_word(value)?],
        };
        Some(Placed { value: words, span: value.span() })
    }

    /// A list of edges `[i, j]` or `[i, j, weight]` (weight 1 if left out), each with its place.
    pub(super) fn edges(&self, key: &'static str) -> Option<Placed<Vec<Placed<Edge>>>> {
        let value = self.get(key)?;
        let expected = "a list of edges [i, j] or [i, j, weight]";
        let Some(items) = value.get_ref().as_array() else {
            self.wrong_type(key, expected, value);
            return None;
        };
        let edge = |(index, item): (usize, &Spanned<DeValue<'_>>)| {
            let name = format!("{key}[{index}]");
            let Some(parts) = item.get_ref().as_array().filter(|parts| matches!(parts.len(), 2 | 3)) else {
                self.wrong_type(&name, "[i, j] or [i, j, weight]", item);
                return None;
            };
            let i = self.as_count(&format!("{name}[0]"), 0, parts.first()?);
            let j = self.as_count(&format!("{name}[1]"), 0, parts.get(1)?);
            let weight = match parts.get(2) {
                Some(weight) => self.as_number(&format!("{name}[2]"), "a number", weight),
                None => Some(1.0),
            };
            Some(Placed { value: (i?, j?, weight?), span: item.span() })
        };
        let edges: Vec<Option<_>> = items.iter().enumerate().map(edge).collect();
        Some(Placed { value: edges.into_iter().collect::<Option<Vec<_>>>()?, span: value.span() })
    }

    /// Bytes, by a size such as "8GiB" or "500 MB".
    pub(super) fn bytes(&self, key: &'static str) -> Option<u64> {
        let word = self.word(key, "a size such as \"8GiB\"")?.value;
        let found = eigenforge_runtime::jit::parse_bytes(word).filter(|bytes| *bytes > 0);
        if found.is_none() {
            let (expected, found) = ("a size such as \"8GiB\" or \"500M\"".into(), format!("{word:?}"));
            self.problem(key, Wrong::OutOfRange { key: key.into(), expected, found });
        }
        found
    }

    /// Every key that was not read is a problem. `note` adds a line for keys that belong elsewhere.
    pub(super) fn finish(self, what: &'static str, note: impl Fn(&str) -> Option<String>) {
        let known = self.known.into_inner();
        for key in self.table.keys() {
            let word = key.get_ref().as_ref();
            if known.contains(&word) {
                continue;
            }
            let within = Some(self.name.clone()).filter(|name| !name.is_empty());
            let found = word.to_string();
            let (nearest, note) = (nearest(word, &known), note(word));
            self.problems.add(key.span(), Wrong::Unknown { what, found, within, nearest, known: known.clone(), note });
        }
    }
}

/// A value as an error message shows it: its type, and itself if short.
pub(crate) fn show(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) if text.chars().count() <= 40 => format!("the text \"{text}\""),
        DeValue::String(_) => "a long text".into(),
        DeValue::Integer(number) => format!("the whole number {number}"),
        DeValue::Float(number) => format!("the number {number}"),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Datetime(_) => "a date or time".into(),
        DeValue::Array(items) => format!("a list of {}", items.len()),
        DeValue::Table(_) => "a table".into(),
    }
}
