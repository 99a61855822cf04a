//! `[observables]`: observables of the user's own, and whether the standard ones are measured.
//!
//! In: the section, and later the sites that its texts are about. Out: [`ObservablesSpec`]; [`Observable`]s. The language of the
//! texts is that of [`crate::observable::read_observable`].

use super::problem::Wrong;
use super::section::{Placed, Problems, Section};
use super::{ModelFile, ModelSpec};
use crate::observable::{Names, Observable, ParameterValue, ReadError, most_electrons, read_observable};
use crate::operator::SiteKind;
use std::ops::Range;

/// What to measure. [`ObservablesSpec::default`] holds the defaults.
#[derive(Debug, Clone, PartialEq)]
pub struct ObservablesSpec {
    /// `standard`: densities, spins and correlations, averaged over the lowest level; true unless given.
    pub standard: bool,
    /// Every other key: the name of an observable, and its text.
    pub texts: Vec<ObservableText>,
}

/// One observable as written.
#[derive(Debug, Clone, PartialEq)]
pub struct ObservableText {
    /// Its name in the report.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Where the text is in the file, quotes included.
    pub span: Range<usize>,
}

impl Default for ObservablesSpec {
    fn default() -> ObservablesSpec {
        ObservablesSpec { standard: true, texts: Vec::new() }
    }
}

/// Names of the standard observables and of what stands beside them in a report.
const RESERVED: [&str; 11] = [
    "averaged_over",
    "n_up",
    "n_dn",
    "double_occupancy",
    "sz",
    "szsz",
    "sdots",
    "nn",
    "cdag_c_up",
    "cdag_c_dn",
    "standard",
];

/// Reads the section, without the meaning of its texts.
pub(super) fn collect(section: Section<'_>, problems: &Problems) -> ObservablesSpec {
    let standard = section.flag("standard").unwrap_or(true);
    let mut texts = Vec::new();
    for (name, text) in section.other_words("the text of an operator, such as \"n(i, Up) * n(i, Down)\"") {
        let Placed { value, span } = text;
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
        let numbered = |prefix: &str| name.strip_prefix(prefix).is_some_and(|rest| rest.parse::<u8>().is_ok());
        if RESERVED.contains(&name.as_str()) || numbered("n_") || numbered("cdag_c_") {
            let (key, found) = (format!("observables.{name}"), "a name that reports use themselves".into());
            problems.add(span, Wrong::OutOfRange { key, expected: "another name".into(), found });
        } else if name.is_empty() || !name.chars().all(is_plain) {
            let (key, found) = ("observables".into(), format!("`{name}`"));
            let expected = "names of letters, digits, `_` and `-`".into();
            problems.add(span, Wrong::OutOfRange { key, expected, found });
        } else {
            texts.push(ObservableText { name, text: value.into(), span });
        }
    }
    ObservablesSpec { standard, texts }
}

impl ObservablesSpec {
    /// The observables that the texts describe; `file` is the text of the whole file. Problems go to the list.
    pub(super) fn read(&self, names: &Names<'_>, file: &str, problems: &Problems) -> Vec<Observable> {
        let of = |entry: &ObservableText| match read_observable(&entry.name, &entry.text, names) {
            Ok(observable) => Some(observable),
            Err(ReadError { message, at }) => {
                let text = Placed { value: entry.text.clone(), span: entry.span.clone() };
                let span = text.part(&at, file);
                problems.add(span, Wrong::Observable { name: entry.name.clone(), message });
                None
            }
        };
        self.texts.iter().filter_map(of).collect()
    }
}

impl ObservablesSpec {
    /// Refuses what density matrices of two electrons do not hold.
    pub(super) fn check_electrons(&self, observables: &[Observable], problems: &Problems) {
        for observable in observables.iter().filter(|observable| most_electrons(observable) > 2) {
            let span =
                self.texts.iter().find(|text| text.name == observable.name).map_or(0..0, |text| text.span.clone());
            let message = "a term annihilates more than two electrons; averages of molecules come from one- and two-body density \
                           matrices: use at most two creators and two annihilators in each term";
            problems.add(span, Wrong::Observable { name: observable.name.clone(), message: message.into() });
        }
    }
}

impl ModelSpec {
    /// What each of so many sites carries.
    pub fn site_kinds(&self, sites: usize) -> Vec<SiteKind> {
        let kind = match self {
            ModelSpec::Hubbard { .. } => SiteKind::Electrons,
            ModelSpec::SpinHubbard { two_f, .. } => SiteKind::Flavours(*two_f as usize + 1),
            ModelSpec::Xxz { two_s, .. } => SiteKind::Moments { two_s: *two_s },
            ModelSpec::Terms(terms) => return terms.sites.clone(),
        };
        vec![kind; sites]
    }

    /// Its parameters by name: one value, one per bond in the order of the lattice, or one per site.
    pub fn parameters(&self) -> Vec<(String, ParameterValue)> {
        let named = match self {
            ModelSpec::Terms(terms) => return terms.parameters.clone().into_iter().collect(),
            ModelSpec::Hubbard { t, u, potential, mu, v } => vec![
                ("t", t.clone()),
                ("u", u.clone()),
                ("potential", potential.clone()),
                ("mu", vec![*mu]),
                ("v", v.clone()),
            ],
            ModelSpec::SpinHubbard { t, u, potential, mu, .. } => {
                vec![("t", t.clone()), ("u", u.clone()), ("potential", potential.clone()), ("mu", vec![*mu])]
            }
            ModelSpec::Xxz { jxy, jz, field, single_ion, .. } => vec![
                ("jxy", jxy.clone()),
                ("jz", jz.clone()),
                ("field", field.clone()),
                ("single_ion", single_ion.clone()),
            ],
        };
        let parameter = |values: Vec<f64>| match values[..] {
            [value] => ParameterValue::One(value),
            _ => ParameterValue::List(values),
        };
        named.into_iter().map(|(name, values): (&str, _)| (name.to_string(), parameter(values))).collect()
    }
}

impl ModelFile {
    /// What the texts of its observables may speak of.
    pub fn names(&self) -> Names<'_> {
        let kinds = self.model.site_kinds(self.lattice.sites().len());
        Names::new(kinds, Some(&self.lattice), self.model.parameters())
    }
}
