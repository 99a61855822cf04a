//! Numbers of a model that are functions of time.
//!
//! In: a file with `[evolve]` in which keys of `[model]` or `[parameters]` have texts of `time`. Out: H(t) = H₀ + Σ_k p_k(t) G_k with the functions
//! p_k of these keys. H is read with numbers in their places: G_k is what H gains where p_k goes from 1 to 2. That H is linear in them all is checked
//! with other numbers.

use super::section::{ParsedText, Problems, Source};
use super::time_function::TimeFunction;
use super::{DmrgFile, InputError, ModelFile, Wrong, checked};
use crate::operator::Operator;
use std::ops::Range;
use toml::de::DeValue;

/// Keys of `[model]` that have numbers.
const NUMBERS: [&str; 10] = ["t", "u", "potential", "mu", "v", "j", "jxy", "jz", "field", "single_ion"];
/// Times at which texts are looked at.
const LOOKS: usize = 1000;
/// Coefficients that differ by less of the largest are equal.
const SAME: f64 = 1e-10;

/// A number of the model that depends on time.
#[derive(Debug, Clone, PartialEq)]
pub struct Drive {
    /// Its key.
    pub key: String,
    /// Its value at a time.
    pub function: TimeFunction,
    /// What it multiplies.
    pub operator: Operator,
}

/// H(t) = H₀ + Σ_k p_k(t) G_k.
#[derive(Debug, Clone, PartialEq)]
pub struct DrivenOperator {
    /// H₀.
    pub constant: Operator,
    /// The p_k and G_k.
    pub drives: Vec<Drive>,
}

/// A text in place of a number.
struct Text {
    key: String,
    text: String,
    span: Range<usize>,
}

fn texts(parsed: &ParsedText<'_>) -> Vec<Text> {
    let table = parsed.any_table();
    let is_there = |name: &str| table.get(name).is_some();
    if !is_there("evolve") || ["ci", "su3"].into_iter().any(is_there) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for section in ["model", "parameters"] {
        let Some(DeValue::Table(keys)) = table.get(section).map(|value| value.get_ref()) else { continue };
        for (key, value) in keys {
            let name = key.get_ref().as_ref();
            let DeValue::String(text) = value.get_ref() else { continue };
            if section == "parameters" || NUMBERS.contains(&name) {
                found.push(Text { key: name.into(), text: text.as_ref().into(), span: value.span() });
            }
        }
    }
    found.sort_by_key(|text| text.span.start);
    found
}

/// The text of a file with numbers in the places of texts, each as long as the text was where it fits, so that places stay what they are.
fn with_numbers(whole: &str, texts: &[Text], values: &[f64]) -> String {
    let (mut out, mut end) = (String::new(), 0);
    for (text, value) in texts.iter().zip(values) {
        out += &whole[end..text.span.start];
        out += &format!("{:<width$}", format!("{value:?}"), width = text.span.len());
        end = text.span.end;
    }
    out + &whole[end..]
}

/// The largest |coefficient|.
fn largest(operator: &Operator) -> f64 {
    operator.terms().map(|(_, coefficient)| coefficient.abs()).fold(0.0, f64::max)
}

impl ModelFile {
    /// Reads a file in which numbers of the model are functions of time; `None` where none is.
    ///
    /// # Errors
    /// Everything that is wrong with it; a text that is no function of time, or not finite; H that is not linear in them.
    pub(super) fn read_driven(name: &str, parsed: &ParsedText<'_>) -> Option<Result<ModelFile, InputError>> {
        fn model(file: &mut ModelFile) -> &mut ModelFile {
            file
        }
        let texts = texts(parsed);
        let read = |parsed: &ParsedText<'_>| ModelFile::read_parsed(name, parsed);
        (!texts.is_empty()).then(|| driven(name, parsed.source, &texts, (read, model)))
    }
}

impl DmrgFile {
    /// The same of a file with `[dmrg]`.
    ///
    /// # Errors
    /// As of [`ModelFile::read_driven`].
    pub(super) fn read_driven(name: &str, parsed: &ParsedText<'_>) -> Option<Result<DmrgFile, InputError>> {
        fn model(file: &mut DmrgFile) -> &mut ModelFile {
            &mut file.model
        }
        let texts = texts(parsed);
        let read = |parsed: &ParsedText<'_>| DmrgFile::read(name, parsed);
        (!texts.is_empty()).then(|| driven(name, parsed.source, &texts, (read, model)))
    }
}

/// Refuses a file whose model depends on time, for what takes a constant one.
pub(super) fn refuse(name: &str, parsed: &ParsedText<'_>) -> Result<(), InputError> {
    let texts = texts(parsed);
    checked(name, parsed.source.text, |problems| {
        for text in texts {
            let message = "it is a text, a function of `time` for `eigenforge evolve`: this takes a number, and so does the start of an evolution";
            problems.add(text.span, Wrong::Parameter { name: text.key, message: message.into() });
        }
        Some(())
    })
}

/// The file that `read` reads, whose model is `model`, with numbers in the places of texts.
fn driven<F>(
    name: &str,
    source: Source<'_>,
    texts: &[Text],
    (read_file, model): (impl Fn(&ParsedText<'_>) -> Result<F, InputError>, fn(&mut F) -> &mut ModelFile),
) -> Result<F, InputError> {
    let read = |values: &[f64]| {
        let text = with_numbers(source.text, texts, values);
        read_file(&ParsedText::new(Source { text: &text, ..source }))
    };
    let operator = |values: &[f64]| Ok::<_, InputError>(model(&mut read(values)?).operator());
    let ones = vec![1.0; texts.len()];
    let mut whole_file = read(&ones)?;
    let file = model(&mut whole_file);
    file.text = source.text.into();
    let refused = |text: &Text, message: String| {
        checked(name, source.text, |problems: &Problems| -> Option<()> {
            problems.add(text.span.clone(), Wrong::Parameter { name: text.key.clone(), message });
            None
        })
    };
    let until = file.evolve.as_ref().and_then(|evolve| evolve.times.last().copied()).unwrap_or(0.0);
    let mut functions = Vec::new();
    for text in texts {
        let function = match TimeFunction::new(&text.text) {
            Ok(function) => function,
            Err(message) => {
                refused(text, format!("a text is a function of `time`: {message}"))?;
                continue;
            }
        };
        let times = (0..=LOOKS).map(|look| until * look as f64 / LOOKS as f64);
        if let Some(time) = times.into_iter().find(|time| !function.value(*time).is_finite()) {
            let value = function.value(time);
            refused(text, format!("it is {value} at time = {time}: it must be finite from 0 to `until`, {until}"))?;
        }
        functions.push(function);
    }
    let whole = file.operator().reduced();
    let mut parts = Vec::new();
    for number in 0..texts.len() {
        let mut values = ones.clone();
        values[number] = 2.0;
        parts.push((operator(&values)? - whole.clone()).reduced());
    }
    let constant = parts.iter().fold(whole.clone(), |sum, part| sum - part.clone()).reduced();
    // Numbers that no product of two of them gives.
    let others: Vec<f64> = (0..texts.len()).map(|number| 0.31 + 0.47 * number as f64).collect();
    let linear = parts.iter().zip(&others).fold(constant.clone(), |sum, (part, value)| sum + *value * part.clone());
    let difference = (operator(&others)? - linear).reduced();
    if largest(&difference) > SAME * largest(&whole).max(1.0) {
        let message =
            "H is not linear in the numbers that depend on time: give each product of them a parameter of its own";
        refused(&texts[0], message.into())?;
    }
    let drives = texts.iter().zip(functions).zip(parts);
    let drives: Vec<Drive> =
        drives.map(|((text, function), operator)| Drive { key: text.key.clone(), function, operator }).collect();
    let first: Vec<f64> = drives.iter().map(|drive| drive.function.value(0.0)).collect();
    file.model = model(&mut read(&first)?).model.clone();
    file.driven = Some(DrivenOperator { constant, drives });
    Ok(whole_file)
}
