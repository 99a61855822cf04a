//! `name = "terms"`: any operator on sites of any kind, written in the file.
//!
//! In: `[model]` with `site`, `H` and the operators of other programs, the lists `[[term]]` and `[[forbid]]`, and `[parameters]`; then the lattice. Out: a
//! [`TermsSpec`] with the operator. What is wrong with a term is said at its place.

use super::ci::symmetry_keys;
use super::imports::{ImportKeys, Imported, Program};
use super::observables::ObservablesSpec;
use super::problem::Wrong;
use super::section::{Placed, Problems, Section, Source};
use super::sector::check_charges;
use super::site_sums::{self, ChargeDraft};
use crate::ci::{Integrals, OrbitalSymmetry, SymmetryKeys};
use crate::lattice::Lattice;
use crate::observable::{Names, ParameterValue, read_operator};
use crate::operator::{Charge, MOST_TERMS, Operator, OperatorError, SITE_WORDS, SiteKind, SiteSum};
use eigenforge_grammar::vocabulary;
use num_complex::Complex64;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

/// A Hamiltonian of the user's own.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TermsSpec {
    /// What each site carries.
    #[serde(serialize_with = "names")]
    pub sites: Vec<SiteKind>,
    /// `H`, if it is given.
    #[serde(rename = "H")]
    pub text: Option<String>,
    /// `[parameters]`.
    pub parameters: BTreeMap<String, ParameterValue>,
    /// The operators of other programs and the lists `[[term]]`, a line each.
    pub terms: Vec<String>,
    /// The sector that a file of integrals names.
    #[serde(skip)]
    pub(super) sector: Vec<(Charge, i64)>,
    /// The charges that `[[charge]]` and files declare, for `charges` in `[sector]`.
    #[serde(skip)]
    pub(super) charges: Vec<SiteSum>,
    /// The integrals, where H is those of a file and nothing else.
    #[serde(skip)]
    pub(super) integrals: Option<Box<ImportedIntegrals>>,
    /// The sum of all.
    #[serde(skip)]
    pub operator: Operator,
}

/// Integrals of `fcidump`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ImportedIntegrals {
    /// The file.
    pub path: PathBuf,
    /// What the model file says of ORBSYM.
    pub keys: SymmetryKeys,
    /// The irreps of the orbitals.
    pub symmetry: OrbitalSymmetry,
    /// The integrals.
    pub integrals: Integrals,
}

fn names<S: Serializer>(kinds: &[SiteKind], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(kinds.iter().map(SiteKind::to_string))
}

impl TermsSpec {
    /// Whether these sites have these charges, H conserves them, and a state has them.
    pub(super) fn check_sector(&self, charges: &[(Charge, i64)]) -> Result<(), Wrong> {
        let found = charges.iter().filter(|(charge, _)| matches!(charge, Charge::Flavour(_))).count();
        let flavours = |kind: &SiteKind| if let SiteKind::Flavours(flavours) = kind { *flavours } else { 0 };
        let expected = self.sites.iter().map(flavours).max().unwrap_or(0);
        if found > 0 && found != expected {
            let (key, order) = ("flavours".into(), format!("flavour 0 to {}", expected.saturating_sub(1)));
            return Err(Wrong::WrongLength { key, item: "flavour", expected, found, order });
        }
        check_charges(&self.operator, charges)
    }
}

/// The sections as read, before the lattice is known.
pub(super) struct Draft {
    sites: Placed<Vec<Placed<SiteKind>>>,
    one_kind: bool,
    text: Option<Placed<String>>,
    imports: Vec<(Program, Placed<String>)>,
    import_keys: ImportKeys,
    parameters: Vec<(String, Placed<ParameterValue>)>,
    terms: Vec<TermDraft>,
    forbidden: Vec<ForbidDraft>,
    charges: Vec<ChargeDraft>,
}

/// One `[[term]]`.
struct TermDraft {
    words: Placed<Vec<String>>,
    on: Placed<On>,
    coefficient: Option<Placed<Coefficient>>,
    conjugate: bool,
}

/// One `[[forbid]]`.
struct ForbidDraft {
    levels: Placed<Vec<usize>>,
    on: Placed<On>,
}

/// Where a term acts.
enum On {
    Bonds,
    Sites,
    Shell(usize),
    Kind(String),
    Lists(Vec<Placed<Vec<usize>>>),
}

/// Real and imaginary part: of all entries, or of each.
enum Coefficient {
    One(Complex64),
    Each(Vec<Complex64>),
}

/// Whether `on` may be given in another way, for messages.
const ON: &str =
    "\"bonds\", \"sites\", { shell = 2 }, { kind = \"x\" }, or a list of lists of sites such as [[0, 1], [1, 2]]";

/// Reads `[model]` of such a file and the sections beside it.
pub(super) fn read(section: &Section<'_>, file: &Section<'_>, problems: &Problems) -> Option<Draft> {
    section.require("site", "what a site carries: site = \"spin 1/2\", or a list of one a site");
    let words = section.words("site", &format!("one of {SITE_WORDS}, or a list of one a site"));
    let one_kind = !section.is_list("site");
    let sites = words.and_then(|Placed { value, span }| {
        let kind = |word: Placed<&str>| match word.value.parse() {
            Ok(kind) => Some(Placed { value: kind, span: word.span }),
            Err(()) => {
                let (key, found) = ("site".into(), format!("\"{}\"", word.value));
                problems.add(word.span, Wrong::OutOfRange { key, expected: format!("one of {SITE_WORDS}"), found });
                None
            }
        };
        let kinds: Vec<Option<Placed<SiteKind>>> = value.into_iter().map(kind).collect();
        Some(Placed { value: kinds.into_iter().collect::<Option<Vec<_>>>()?, span })
    });
    let text = section.word("H", "the text of an operator, such as \"sum(<i, j> in bonds; sdots(i, j))\"");
    let text = text.map(|text| Placed { value: text.value.to_string(), span: text.span });
    let import = |(program, key, expected): (Program, &'static str, &str)| {
        let text = section.word(key, expected)?;
        Some((program, Placed { value: text.value.to_string(), span: text.span }))
    };
    let imports: Vec<(Program, Placed<String>)> = Program::ALL.into_iter().filter_map(import).collect();
    let symmetry = if section.has("fcidump") { symmetry_keys(section) } else { SymmetryKeys::default() };
    let oscillator = if section.has("me2j") { section.number("oscillator") } else { None };
    let import_keys = ImportKeys { symmetry, oscillator: oscillator.map_or(0.0, |number| number.value) };
    let parameters = file.open("parameters").map_or_else(Vec::new, |section| read_parameters(&section, problems));
    let before = problems.len();
    let terms: Vec<Option<TermDraft>> =
        file.open_list("term").into_iter().map(|term| read_term(term, problems)).collect();
    let forbidden: Vec<Option<ForbidDraft>> =
        file.open_list("forbid").into_iter().map(|forbid| read_forbidden(forbid, problems)).collect();
    let charges: Vec<Option<ChargeDraft>> =
        file.open_list("charge").into_iter().map(|charge| site_sums::read(charge, problems)).collect();
    if text.is_none() && imports.is_empty() && terms.is_empty() && problems.len() == before {
        let meaning = "the Hamiltonian: H = \"sum(<i, j> in bonds; sdots(i, j))\", or sections [[term]] with `operators` and `on`";
        problems.add(section.span.clone(), Wrong::MissingKey { table: "model".into(), key: "H", meaning });
    }
    let terms = terms.into_iter().collect::<Option<Vec<_>>>()?;
    let forbidden = forbidden.into_iter().collect::<Option<Vec<_>>>()?;
    let charges = charges.into_iter().collect::<Option<Vec<_>>>()?;
    Some(Draft { sites: sites?, one_kind, text, imports, import_keys, parameters, terms, forbidden, charges })
}

/// `[parameters]`, without names that texts have for something else.
fn read_parameters(section: &Section<'_>, problems: &Problems) -> Vec<(String, Placed<ParameterValue>)> {
    let parameters = section.other_parameters();
    for (name, parameter) in &parameters {
        let plain = name.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
            && !name.starts_with(|first: char| first.is_ascii_digit());
        let keyword = syn::parse_str::<syn::Ident>(name).is_err();
        if BUILT_IN.contains(&name.as_str()) || vocabulary::function(name).is_some() || !plain || keyword {
            let expected =
                "another name, of letters, digits and `_`: texts have this one for something else".to_string();
            let (key, found) = (format!("parameters.{name}"), format!("`{name}`"));
            problems.add(parameter.span.clone(), Wrong::OutOfRange { key, expected, found });
        }
    }
    parameters
}

/// Names that a text has without a parameter.
const BUILT_IN: [&str; 10] = ["sites", "bonds", "lattice", "PI", "I", "Up", "Down", "Flavour", "sum", "prod"];

fn read_term(section: Section<'_>, problems: &Problems) -> Option<TermDraft> {
    section.require("operators", "the operators of the term: operators = \"S+ S-\"");
    section.require("on", "where it acts: on = \"bonds\", \"sites\", or a list such as [[0, 1], [1, 2]]");
    let words = section.word("operators", "operators with spaces between them, such as \"S+ S-\"");
    let on = read_on(&section, problems);
    let coefficient = read_coefficient(&section);
    let conjugate = section.flag("conjugate").unwrap_or(false);
    section.finish("key", |_| None);
    let words = words.and_then(|Placed { value, span }| {
        let list: Vec<String> = value.split_whitespace().map(String::from).collect();
        if list.is_empty() {
            let (key, expected) = ("operators".into(), "operators, such as \"S+ S-\"".into());
            problems.add(span.clone(), Wrong::OutOfRange { key, expected, found: "none".into() });
            return None;
        }
        Some(Placed { value: list, span })
    });
    Some(TermDraft { words: words?, on: on?, coefficient: coefficient?, conjugate })
}

fn read_forbidden(section: Section<'_>, problems: &Problems) -> Option<ForbidDraft> {
    section.require("levels", "the local states that do not occur together: levels = [1, 1]");
    section.require("on", "where: on = \"bonds\", \"sites\", or a list such as [[0, 1], [1, 2]]");
    let (levels, on) = (section.counts("levels", 0), read_on(&section, problems));
    section.finish("key", |_| None);
    Some(ForbidDraft { levels: levels?, on: on? })
}

fn read_on(section: &Section<'_>, problems: &Problems) -> Option<Placed<On>> {
    let span = section.place("on");
    if section.is_table("on") {
        let table = section.open("on")?;
        let (shell, kind) = (table.count("shell", 1), table.word("kind", "the name of a kind of bonds"));
        table.finish("key", |_| None);
        let value = match (shell, kind) {
            (Some(shell), None) => On::Shell(shell.value),
            (None, Some(kind)) => On::Kind(kind.value.into()),
            _ => {
                let (expected, found) = (ON.into(), "another table".into());
                problems.add(span, Wrong::OutOfRange { key: "on".into(), expected, found });
                return None;
            }
        };
        return Some(Placed { value, span });
    }
    if section.is_list("on") {
        let lists = section.lists_of_counts("on")?;
        if lists.is_empty() {
            let (expected, found) = ("at least one list of sites, such as [[0, 1]]".into(), "[]".into());
            problems.add(span, Wrong::OutOfRange { key: "on".into(), expected, found });
            return None;
        }
        return Some(Placed { value: On::Lists(lists), span });
    }
    let word = section.word("on", ON)?;
    let value = match word.value {
        "bonds" => On::Bonds,
        "sites" => On::Sites,
        other => {
            let (expected, found) = (ON.into(), format!("\"{other}\""));
            problems.add(word.span, Wrong::OutOfRange { key: "on".into(), expected, found });
            return None;
        }
    };
    Some(Placed { value, span })
}

/// `Some(None)` where there is none; `None` where it cannot be read.
#[expect(clippy::option_option, reason = "a coefficient that is not there is 1, one that cannot be read is a problem")]
fn read_coefficient(section: &Section<'_>) -> Option<Option<Placed<Coefficient>>> {
    if !section.has("coefficient") {
        return Some(None);
    }
    let span = section.place("coefficient");
    let value = match section.is_list("coefficient") {
        true => Coefficient::Each(section.complex_numbers("coefficient")?),
        false => Coefficient::One(section.complex_number("coefficient")?),
    };
    Some(Some(Placed { value, span }))
}

impl Draft {
    /// Bits of the smallest site, which is what is known without a lattice.
    pub(super) fn bits_a_site(&self) -> u32 {
        self.sites.value.iter().map(|kind| kind.value.bits()).min().unwrap_or(1)
    }

    /// The operator, now that there is a lattice; `None` (and problems) where something does not fit.
    pub(super) fn resolve(
        self,
        lattice: &Lattice,
        source: Source<'_>,
        observables: &ObservablesSpec,
        problems: &Problems,
    ) -> Option<TermsSpec> {
        let sites = lattice.sites().len();
        let kinds: Vec<SiteKind> = match (&self.sites.value[..], self.one_kind) {
            ([kind], true) => vec![kind.value; sites],
            (kinds, _) if kinds.len() == sites => kinds.iter().map(|kind| kind.value).collect(),
            (kinds, _) => {
                let (key, order) = ("site".into(), format!("site 0 to site {}", sites - 1));
                let wrong = Wrong::WrongLength { key, item: "site", expected: sites, found: kinds.len(), order };
                problems.add(self.sites.span.clone(), wrong);
                return None;
            }
        };
        let before = problems.len();
        let parameters: BTreeMap<String, ParameterValue> =
            self.parameters.iter().map(|(name, parameter)| (name.clone(), parameter.value.clone())).collect();
        let list = parameters.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        let names = Names::new(kinds.clone(), Some(lattice), list);
        let mut operator = Operator::zero().on_kinds(&kinds);
        if let Some(text) = &self.text {
            match read_operator(&text.value, &names) {
                Ok(found) => operator.add_terms(found, 1.0),
                Err(error) => problems.add(text.part(&error.at, source.text), Wrong::Hamiltonian(error.message)),
            }
        }
        let mut lines = Vec::new();
        let (mut sector, mut integrals, mut charges) = (Vec::new(), None, Vec::new());
        let is_alone =
            self.text.is_none() && self.terms.is_empty() && self.forbidden.is_empty() && self.imports.len() == 1;
        for (program, text) in &self.imports {
            match program.read(&text.value, &kinds, &names, source.folder, self.import_keys) {
                Ok(Imported { operator: found, line, sector: named, molecule, charges: of_file }) => {
                    charges.extend(of_file);
                    integrals = molecule.filter(|_| is_alone).map(|(integrals, symmetry)| {
                        let path = source.folder.join(&text.value);
                        Box::new(ImportedIntegrals { path, keys: self.import_keys.symmetry, symmetry, integrals })
                    });
                    lines.push(line);
                    sector.extend(named);
                    operator.add_terms(found, 1.0);
                }
                Err(message) => problems.add(text.span.clone(), Wrong::Hamiltonian(message)),
            }
        }
        self.charges.iter().for_each(|charge| charge.declare(sites, &mut charges, problems));
        for term in &self.terms {
            lines.push(term.line());
            if let Some(found) = term.operator(lattice, &kinds, problems) {
                operator.add_terms(found, 1.0);
            }
        }
        for forbidden in &self.forbidden {
            for (states, _) in forbidden.on.places(lattice, (forbidden.levels.value.len(), "level"), problems)? {
                if let Some(site) = (0..states.len()).find(|k| states[..*k].contains(&states[*k])) {
                    let (expected, found) = ("different sites".into(), format!("site {} twice", states[site]));
                    let wrong = Wrong::OutOfRange { key: "forbid.on".into(), expected, found };
                    problems.add(forbidden.on.span.clone(), wrong);
                    return None;
                }
                let states = states.into_iter().zip(&forbidden.levels.value);
                operator = operator.forbid(&states.map(|(site, level)| (site, *level as u64)).collect::<Vec<_>>());
            }
        }
        if problems.len() > before {
            return None;
        }
        for (name, Placed { value, span }) in &self.parameters {
            if let Some(message) =
                unread(name, value, &names, self.text.as_ref().map_or("", |text| &text.value), observables)
            {
                problems.add(span.clone(), Wrong::Parameter { name: name.clone(), message });
            }
        }
        if problems.len() > before {
            return None;
        }
        // Without products that have cancelled.
        operator = operator + Operator::zero();
        let place = self
            .text
            .as_ref()
            .or(self.imports.first().map(|(_, text)| text))
            .map(|text| &text.span)
            .or(self.terms.first().map(|term| &term.words.span));
        if let Err(error) = operator.reduced().check(&[]) {
            problems.add(place.cloned().unwrap_or(self.sites.span), Wrong::Operator(error));
            return None;
        }
        let text = self.text.map(|text| text.value);
        Some(TermsSpec { sites: kinds, text, parameters, terms: lines, sector, charges, integrals, operator })
    }
}

/// What is wrong with a parameter that no text reads, or not to its end.
fn unread(
    name: &str,
    value: &ParameterValue,
    names: &Names<'_>,
    text: &str,
    observables: &ObservablesSpec,
) -> Option<String> {
    if observables.texts.iter().any(|observable| has_word(&observable.text, name)) {
        return None;
    }
    let Some([read, columns]) = names.elements_read(name) else {
        // A sum without members reads nothing of what it names.
        if has_word(text, name) {
            return None;
        }
        return Some("no text of this file reads it: expected its name in `H`, in [observables], or among the couplings of `xdiag`".into());
    };
    let (length, item) = match value {
        ParameterValue::One(_) => return None,
        ParameterValue::List(values) => (values.len(), "numbers"),
        ParameterValue::Rows(rows) => (rows.len(), "lists"),
    };
    if let ParameterValue::Rows(rows) = value {
        let longest = rows.iter().map(Vec::len).max().unwrap_or(0);
        if columns < longest && longest != names.kinds.len() {
            return Some(format!(
                "its longest list has {longest} numbers, of which `H` reads the first {columns}: expected {columns}, or one for each of the {} sites",
                names.kinds.len()
            ));
        }
    }
    let lattice = names.lattice.map_or(0, |lattice| lattice.bonds().len());
    let fits = read >= length || length == names.kinds.len() || length == lattice;
    (!fits).then(|| {
        format!(
            "it has {length} {item}, of which `H` reads the first {read}: expected {read}, or one for each of the {} sites or {lattice} bonds",
            names.kinds.len()
        )
    })
}

/// Whether a name stands in a text as a word of its own.
fn has_word(text: &str, name: &str) -> bool {
    text.split(|letter: char| !(letter.is_alphanumeric() || letter == '_')).any(|word| word == name)
}

/// Sites of each entry, and what the entry is multiplied by.
type Places = Vec<(Vec<usize>, f64)>;

impl Placed<On> {
    /// The entries for so many operators or levels.
    fn places(&self, lattice: &Lattice, (words, what): (usize, &str), problems: &Problems) -> Option<Places> {
        let wrong = |span: Range<usize>, expected: String, found: String| {
            problems.add(span, Wrong::OutOfRange { key: "on".into(), expected, found });
            None
        };
        let of_bonds = |bonds: Vec<crate::lattice::Bond>| -> Option<Places> {
            if words != 2 {
                let expected = format!("two {what}s on a bond, or a list of lists with one site for each {what}");
                return wrong(
                    self.span.clone(),
                    expected,
                    format!("{words} {what}{}", if words == 1 { "" } else { "s" }),
                );
            }
            Some(bonds.iter().map(|bond| (vec![bond.i, bond.j], bond.weight)).collect())
        };
        match &self.value {
            On::Bonds => of_bonds(lattice.bonds().to_vec()),
            On::Shell(shell) => {
                let bonds = lattice.bonds_at(*shell);
                if bonds.is_empty() {
                    let expected = "a shell of neighbours that this lattice has".into();
                    return wrong(self.span.clone(), expected, format!("shell {shell}, in which there is no bond"));
                }
                of_bonds(bonds)
            }
            On::Kind(name) => {
                let kinds = lattice.kind().bond_kinds();
                let Some(kind) = kinds.iter().position(|kind| kind == name) else {
                    let expected = match kinds {
                        [] => "another place: this lattice has no kinds of bonds".into(),
                        _ => format!("one of \"{}\"", kinds.join("\", \"")),
                    };
                    return wrong(self.span.clone(), expected, format!("\"{name}\""));
                };
                let bonds: Vec<_> = lattice.bonds().iter().filter(|bond| bond.kind == kind).copied().collect();
                if bonds.is_empty() {
                    let expected = "a kind of which this lattice has bonds".into();
                    return wrong(self.span.clone(), expected, format!("\"{name}\", of which there is none"));
                }
                of_bonds(bonds)
            }
            On::Sites => Some(lattice.sites().map(|site| (vec![site; words], 1.0)).collect()),
            On::Lists(lists) => {
                let sites = lattice.sites().len();
                let entry = |Placed { value, span }: &Placed<Vec<usize>>| {
                    if let Some(site) = value.iter().find(|site| **site >= sites) {
                        return wrong(span.clone(), format!("sites from 0 to {}", sites - 1), format!("site {site}"));
                    }
                    match value[..] {
                        [site] => Some(vec![(vec![site; words], 1.0)]),
                        _ if value.len() == words => Some(vec![(value.clone(), 1.0)]),
                        _ => {
                            let expected = format!("{words} sites, one for each {what}, or one for all");
                            wrong(span.clone(), expected, format!("{} sites", value.len()))
                        }
                    }
                };
                let entries: Vec<Option<Places>> = lists.iter().map(entry).collect();
                Some(entries.into_iter().collect::<Option<Vec<_>>>()?.concat())
            }
        }
    }
}

impl TermDraft {
    /// The term as one line.
    fn line(&self) -> String {
        let on = match &self.on.value {
            On::Bonds => "bonds".into(),
            On::Sites => "sites".into(),
            On::Shell(shell) => format!("shell {shell}"),
            On::Kind(kind) => format!("bonds of kind {kind}"),
            On::Lists(lists) => format!("{} entries", lists.len()),
        };
        let coefficient = match self.coefficient.as_ref().map(|coefficient| &coefficient.value) {
            None => String::new(),
            Some(Coefficient::One(value)) if value.im == 0.0 => format!("{} ", value.re),
            Some(Coefficient::One(value)) => {
                format!("({} {} {} i) ", value.re, if value.im < 0.0 { '-' } else { '+' }, value.im.abs())
            }
            Some(Coefficient::Each(_)) => "a_k ".into(),
        };
        let conjugate = if self.conjugate { " + h.c." } else { "" };
        format!("{coefficient}{}{conjugate} on {on}", self.words.value.join(" "))
    }

    fn operator(&self, lattice: &Lattice, kinds: &[SiteKind], problems: &Problems) -> Option<Operator> {
        let words = &self.words.value;
        let places = self.on.places(lattice, (words.len(), "operator"), problems)?;
        if let Some(Placed { value: Coefficient::Each(values), span }) = &self.coefficient
            && values.len() != places.len()
        {
            let (key, order) = ("coefficient".into(), "of the entries of `on`".into());
            let (expected, found) = (places.len(), values.len());
            problems.add(span.clone(), Wrong::WrongLength { key, item: "entry", expected, found, order });
            return None;
        }
        let mut sum = Operator::zero();
        for (k, (sites, weight)) in places.iter().enumerate() {
            let mut product = crate::operator::build::scalar(1.0);
            for (word, site) in words.iter().zip(sites) {
                let Some(factor) = kinds[*site].operator(word, *site) else {
                    let (site, kind) = (*site, kinds[*site]);
                    let error = OperatorError::WrongSite {
                        term: format!("\"{}\"", words.join(" ")),
                        factor: format!("`{word}`"),
                        site,
                        kind,
                        words: kind.words(),
                    };
                    problems.add(self.words.span.clone(), Wrong::Operator(error));
                    return None;
                };
                product = match product.checked_product(factor, kinds) {
                    Ok(product) => product,
                    Err(error) => {
                        problems.add(self.words.span.clone(), Wrong::Hamiltonian(error.to_string()));
                        return None;
                    }
                };
            }
            let value = match self.coefficient.as_ref().map(|coefficient| &coefficient.value) {
                None => Complex64::ONE,
                Some(Coefficient::One(value)) => *value,
                Some(Coefficient::Each(values)) => values[k],
            };
            let mut term = (value.re * weight) * product.clone();
            term.add_terms((value.im * weight) * product.times_i(), 1.0);
            if self.conjugate {
                let adjoint = term.adjoint();
                term.add_terms(adjoint, 1.0);
            }
            sum.add_terms(term, 1.0);
            if sum.length() > MOST_TERMS {
                let message = format!("expected at most {MOST_TERMS} terms, found more");
                problems.add(self.words.span.clone(), Wrong::Hamiltonian(message));
                return None;
            }
        }
        Some(sum)
    }
}
