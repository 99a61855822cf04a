//! `[[charge]]`: charges with a number for each site, and `charges` in `[sector]`, which fixes them by name.
//!
//! In: the sections, then the number of sites. Out: a [`SiteSum`] for each, checked to have one number per site and a name of its own.

use super::problem::Wrong;
use super::section::{Placed, Problems, Section};
use crate::observable::ParameterValue;
use crate::operator::{Charge, SiteSum};

/// One `[[charge]]`.
pub(super) struct ChargeDraft {
    name: Placed<String>,
    values: Placed<Vec<i64>>,
    modulo: Option<i64>,
}

/// Values of charges by their names, as `[sector]` has them.
pub(super) type NamedCharges = Vec<(String, Placed<i64>)>;

/// Reads one `[[charge]]`.
pub(super) fn read(section: Section<'_>, problems: &Problems) -> Option<ChargeDraft> {
    let before = problems.len();
    section.require("name", "the name that `charges` in [sector] has: name = \"momentum\"");
    section.require("values", "the number of each site: values = [0, 1, 2, 3]");
    let name = section.word("name", "the name of the charge");
    let name = name.map(|name| Placed { value: name.value.to_string(), span: name.span });
    let values = section.integers("values").map(|value| Placed { value, span: section.place("values") });
    let modulo = section.integer("modulo").map(|modulo| modulo.value);
    let out_of_range = |key: &'static str, expected: String, found: String| {
        section.problem(key, Wrong::OutOfRange { key: key.into(), expected, found });
    };
    let is_plain = |name: &str| name.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
    if let Some(name) = name.as_ref().filter(|name| name.value.is_empty() || !is_plain(&name.value)) {
        out_of_range("name", "a name of letters, digits and `_`".into(), format!("\"{}\"", name.value));
    }
    let most = SiteSum::LARGEST;
    if let Some(found) =
        values.iter().flat_map(|values| &values.value).find(|value| value.unsigned_abs() > most.unsigned_abs())
    {
        out_of_range("values", format!("numbers from -{most} to {most}"), found.to_string());
    }
    if let Some(found) = modulo.filter(|modulo| !(2..=most).contains(modulo)) {
        out_of_range("modulo", format!("a number from 2 to {most}"), found.to_string());
    }
    section.finish("key", |_| None);
    Some(ChargeDraft { name: name?, values: values?, modulo }).filter(|_| problems.len() == before)
}

impl ChargeDraft {
    /// Adds the charge to those that are declared.
    pub(super) fn declare(&self, sites: usize, declared: &mut Vec<SiteSum>, problems: &Problems) {
        let ChargeDraft { name, values, modulo } = self;
        let (span, key, expected, found) = if values.value.len() != sites {
            let found = values.value.len().to_string();
            (&values.span, "values", format!("{sites} numbers, one per site"), found)
        } else if values.value.iter().all(|value| *value == 0) {
            (&values.span, "values", "a number that is not zero".into(), format!("{:?}", values.value))
        } else if declared.iter().any(|known| known.name() == name.value) {
            let found = format!("\"{}\"", name.value);
            (&name.span, "name", "a name that no other charge has".into(), found)
        } else {
            declared.push(SiteSum::new(&name.value, &values.value, *modulo));
            return;
        };
        problems.add(span.clone(), Wrong::OutOfRange { key: key.into(), expected, found });
    }
}

/// `charges` of `[sector]`.
pub(super) fn named(sector: &Section<'_>) -> NamedCharges {
    let Some(table) = sector.open("charges") else { return Vec::new() };
    let whole = |(name, Placed { value, span }): (String, Placed<ParameterValue>)| match value {
        ParameterValue::One(value) if value.fract() == 0.0 && value.abs() < 1e15 => {
            Some((name, Placed { value: value as i64, span }))
        }
        _ => {
            let (key, expected) = (format!("charges.{name}"), "a whole number".into());
            sector.problem("charges", Wrong::OutOfRange { key, expected, found: "another value".into() });
            None
        }
    };
    table.other_parameters().into_iter().filter_map(whole).collect()
}

/// The charges of these names; `None` and a problem where one is not declared.
pub(super) fn resolve(named: NamedCharges, declared: &[SiteSum], problems: &Problems) -> Option<Vec<(Charge, i64)>> {
    let charge = |(name, Placed { value, span }): (String, Placed<i64>)| {
        let Some(sum) = declared.iter().find(|sum| sum.name() == name) else {
            let names: Vec<String> = declared.iter().map(|sum| format!("`{}`", sum.name())).collect();
            let expected = match names.is_empty() {
                true => "a charge that a section [[charge]] or the file of `me2j` declares".into(),
                false => format!("one of {}", names.join(", ")),
            };
            problems.add(span, Wrong::OutOfRange { key: "charges".into(), expected, found: format!("`{name}`") });
            return None;
        };
        let charge = Charge::OfSites(*sum);
        Some((charge, charge.folded(value)))
    };
    named.into_iter().map(charge).collect()
}
