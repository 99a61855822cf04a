//! Operators as Python expressions: sums of products of words at sites, in the order in which they are written.
//!
//! What a word means depends on what its site carries, which the model says; so nothing is reordered here, and the text that
//! [`Operator::text`] gives is what `products` of `[model]` reads.

use crate::errors::input_error;
use crate::words::Word;
use num_complex::Complex64;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyIterator;
use std::fmt::Write;

/// Terms up to which an expression is multiplied out, as many as the library takes.
const MOST_TERMS: usize = 1 << 20;
/// Terms that `repr` shows.
const SHOWN: usize = 8;

#[derive(Clone)]
struct Term {
    coefficient: Complex64,
    /// The leftmost first.
    factors: Vec<(Word, u32)>,
}

/// A term of Python's: its coefficient, its words and their sites.
type TermRow = (Complex64, Vec<(&'static str, u32)>);

/// A sum of products of operators at sites.
#[pyclass(frozen, module = "eigenforge")]
pub(crate) struct Operator {
    terms: Vec<Term>,
}

/// The Hermitian conjugate of what it is added to.
#[pyclass(frozen, module = "eigenforge")]
pub(crate) struct HermitianConjugate;

impl Operator {
    fn one(factors: Vec<(Word, u32)>) -> Operator {
        Operator { terms: vec![Term { coefficient: Complex64::ONE, factors }] }
    }

    fn scaled(&self, by: Complex64) -> Operator {
        let scaled = |term: &Term| Term { coefficient: term.coefficient * by, factors: term.factors.clone() };
        Operator { terms: self.terms.iter().map(scaled).collect() }
    }

    fn plus(&self, other: &Operator) -> Operator {
        Operator { terms: self.terms.iter().chain(&other.terms).cloned().collect() }
    }

    fn times(&self, other: &Operator) -> PyResult<Operator> {
        let (left, right) = (self.terms.len(), other.terms.len());
        if left.saturating_mul(right) > MOST_TERMS {
            let help = "write it with fewer factors that are sums";
            return Err(input_error(
                &format!("expected a product of at most {MOST_TERMS} terms, found one of {left} by {right}"),
                help,
            ));
        }
        let mut terms = Vec::with_capacity(left * right);
        for a in &self.terms {
            for b in &other.terms {
                let factors = a.factors.iter().chain(&b.factors).copied().collect();
                terms.push(Term { coefficient: a.coefficient * b.coefficient, factors });
            }
        }
        Ok(Operator { terms })
    }

    fn adjoint(&self) -> Operator {
        let adjoint = |term: &Term| Term {
            coefficient: term.coefficient.conj(),
            factors: term.factors.iter().rev().map(|(word, site)| (word.adjoint(), *site)).collect(),
        };
        Operator { terms: self.terms.iter().map(adjoint).collect() }
    }
}

/// A number of Python's or NumPy's.
fn number(value: &Bound<'_, PyAny>) -> Option<PyResult<Complex64>> {
    let number = value.extract::<Complex64>().ok()?;
    Some(match number.re.is_finite() && number.im.is_finite() {
        true => Ok(number),
        false => Err(input_error(&format!("expected a finite number, found {number}"), "")),
    })
}

/// What an operator is added to or multiplied by.
enum Other<'py> {
    Operator(Bound<'py, Operator>),
    Number(Complex64),
    Conjugate,
    Unknown,
}

impl<'py> Other<'py> {
    fn read(value: &Bound<'py, PyAny>) -> PyResult<Other<'py>> {
        if let Ok(operator) = value.cast::<Operator>() {
            return Ok(Other::Operator(operator.clone()));
        }
        if value.cast::<HermitianConjugate>().is_ok() {
            return Ok(Other::Conjugate);
        }
        number(value).map_or(Ok(Other::Unknown), |number| number.map(Other::Number))
    }
}

fn scalar(value: Complex64) -> Operator {
    Operator { terms: vec![Term { coefficient: value, factors: Vec::new() }] }
}

/// An operator, or what tells Python to ask the other operand.
fn answer(py: Python<'_>, operator: Operator) -> PyResult<Py<PyAny>> {
    Ok(Py::new(py, operator)?.into_any())
}

#[pymethods]
impl Operator {
    fn __add__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let py = other.py();
        match Other::read(other)? {
            Other::Operator(other) => answer(py, self.plus(other.get())),
            Other::Number(value) => answer(py, self.plus(&scalar(value))),
            Other::Conjugate => answer(py, self.plus(&self.adjoint())),
            Other::Unknown => Ok(py.NotImplemented()),
        }
    }

    fn __radd__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.__add__(other)
    }

    fn __sub__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let py = other.py();
        match Other::read(other)? {
            Other::Operator(other) => answer(py, self.plus(&other.get().scaled(-Complex64::ONE))),
            Other::Number(value) => answer(py, self.plus(&scalar(-value))),
            Other::Conjugate => answer(py, self.plus(&self.adjoint().scaled(-Complex64::ONE))),
            Other::Unknown => Ok(py.NotImplemented()),
        }
    }

    fn __rsub__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.scaled(-Complex64::ONE).__add__(other)
    }

    fn __mul__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let py = other.py();
        match Other::read(other)? {
            Other::Operator(other) => answer(py, self.times(other.get())?),
            Other::Number(value) => answer(py, self.scaled(value)),
            Other::Conjugate => Err(PyTypeError::new_err("hc is added, as in A + hc; A.dag() is the conjugate itself")),
            Other::Unknown => Ok(py.NotImplemented()),
        }
    }

    fn __rmul__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.__mul__(other)
    }

    fn __truediv__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        match number(other) {
            Some(value) => {
                let inverse = Complex64::ONE / value?;
                if !inverse.is_finite() {
                    return Err(input_error("expected a number other than 0 to divide by", ""));
                }
                answer(other.py(), self.scaled(inverse))
            }
            None => Ok(other.py().NotImplemented()),
        }
    }

    fn __neg__(&self) -> Operator {
        self.scaled(-Complex64::ONE)
    }

    fn __pos__(&self) -> Operator {
        self.scaled(Complex64::ONE)
    }

    fn __pow__(&self, exponent: u32, _modulo: Option<u32>) -> PyResult<Operator> {
        if exponent > 64 {
            return Err(input_error(&format!("expected an exponent up to 64, found {exponent}"), ""));
        }
        (0..exponent).try_fold(scalar(Complex64::ONE), |power, _| power.times(self))
    }

    fn __xor__(&self, _other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Err(PyTypeError::new_err("write ** for a power: Python binds ^ looser than + and *"))
    }

    fn __len__(&self) -> usize {
        self.terms.len()
    }

    fn __repr__(&self) -> String {
        let mut text = String::new();
        for (place, term) in self.terms.iter().take(SHOWN).enumerate() {
            let number = match (term.coefficient.re, term.coefficient.im) {
                (re, 0.0) => format!("{re}"),
                (re, im) => format!("({re}{im:+}j)"),
            };
            let _ = write!(text, "{}{number}", if place > 0 { " + " } else { "" });
            for (word, site) in &term.factors {
                let _ = write!(text, " {}({site})", word.name());
            }
        }
        match self.terms.len() {
            0 => "0".into(),
            terms if terms > SHOWN => format!("{text} + … ({terms} terms)"),
            _ => text,
        }
    }

    /// The Hermitian conjugate.
    fn dag(&self) -> Operator {
        self.adjoint()
    }

    /// The products: (coefficient, [(word, site), …]), the leftmost factor first.
    #[getter]
    fn terms(&self) -> Vec<TermRow> {
        let names = |term: &Term| term.factors.iter().map(|(word, site)| (word.name(), *site)).collect();
        self.terms.iter().map(|term| (term.coefficient, names(term))).collect()
    }

    /// The text of `products` in a model file.
    fn text(&self) -> String {
        let mut text = String::with_capacity(40 * self.terms.len());
        for term in &self.terms {
            let _ = match (term.coefficient.re, term.coefficient.im) {
                (re, 0.0) => write!(text, "{re:?} ["),
                (re, im) => write!(text, "({re:?}{im:+?}j) ["),
            };
            for (place, (word, site)) in term.factors.iter().enumerate() {
                let _ = write!(text, "{}{}({site})", if place > 0 { " " } else { "" }, word.name());
            }
            text.push_str("] +\n");
        }
        text
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Vec<TermRow>,))> {
        let again = slf.py().import("eigenforge")?.getattr("products")?;
        Ok((again, (slf.get().terms(),)))
    }

    /// The same in the language of texts, as observables have it.
    fn expression(&self) -> String {
        let mut text = String::new();
        for (place, term) in self.terms.iter().enumerate() {
            let Complex64 { re, im } = term.coefficient;
            let _ = write!(text, "{}({re:?} + {im:?} * I)", if place > 0 { " + " } else { "" });
            for (word, site) in &term.factors {
                let _ = write!(text, " * {}", word.call(*site));
            }
        }
        if text.is_empty() { "0.0".into() } else { text }
    }

    /// What the words say of a site: (its kind, the word that says so); two kinds at one site are an error of the model.
    fn site_kinds(&self) -> Vec<(u32, &'static str)> {
        let mut kinds: Vec<(u32, &'static str)> = Vec::new();
        for (word, site) in self.terms.iter().flat_map(|term| &term.factors) {
            if let Some(kind) = word.site()
                && !kinds.contains(&(*site, kind))
            {
                kinds.push((*site, kind));
            }
        }
        kinds.sort_unstable();
        kinds
    }

    /// One more than the largest site mentioned.
    fn sites(&self) -> u32 {
        self.terms.iter().flat_map(|term| &term.factors).map(|(_, site)| site + 1).max().unwrap_or(0)
    }
}

#[pymethods]
impl HermitianConjugate {
    #[new]
    fn new() -> HermitianConjugate {
        HermitianConjugate
    }

    fn __repr__(&self) -> &'static str {
        "hc"
    }

    fn __add__(&self, _other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Err(PyTypeError::new_err("hc comes last: A + B + hc is A + B and the conjugates of both"))
    }
}

/// A site, if a model can have it.
fn placed(site: i64) -> PyResult<u32> {
    const MOST: i64 = 1 << 20;
    match (0..MOST).contains(&site) {
        true => Ok(site as u32),
        false => Err(input_error(&format!("expected a site from 0 on, found {site}"), "")),
    }
}

/// The operator of a word of `[[term]]` at a site.
#[pyfunction]
pub(crate) fn operator(word: &str, site: i64) -> PyResult<Operator> {
    let site = placed(site)?;
    let found = Word::named(word).ok_or_else(|| {
        input_error(&format!("expected a word of [[term]], such as \"cdag_up\" or \"S+\", found \"{word}\""), "")
    })?;
    Ok(Operator::one(vec![(found, site)]))
}

/// The word of a fermion operator with its spin or flavour.
fn of_mode(base: &str, site: i64, spin: Option<&Bound<'_, PyAny>>) -> PyResult<Operator> {
    let wrong = |found: String| {
        input_error(&format!("expected up, down or a flavour from 0 to 5, found {found}"), "write cdag(i, up)")
    };
    let Some(spin) = spin else { return operator(base, site) };
    let mode = match spin.extract::<u32>() {
        Ok(flavour) => flavour.to_string(),
        Err(_) => spin.extract::<String>().map_err(|_| wrong(format!("{spin:?}")))?,
    };
    let mode = if mode == "down" { "dn" } else { &mode };
    let word = Word::named(&format!("{base}_{mode}")).ok_or_else(|| wrong(format!("{mode:?}")))?;
    Ok(Operator::one(vec![(word, placed(site)?)]))
}

/// c† of a site: of an electron with its spin (up, down), of a fermion with its flavour, of a spinless one alone.
#[pyfunction]
#[pyo3(signature = (site, spin=None))]
pub(crate) fn cdag(site: i64, spin: Option<&Bound<'_, PyAny>>) -> PyResult<Operator> {
    of_mode("cdag", site, spin)
}

/// c of a site, as of [`cdag`].
#[pyfunction]
#[pyo3(signature = (site, spin=None))]
pub(crate) fn c(site: i64, spin: Option<&Bound<'_, PyAny>>) -> PyResult<Operator> {
    of_mode("c", site, spin)
}

/// The number of fermions of a mode, or of all fermions or bosons of a site.
#[pyfunction]
#[pyo3(signature = (site, spin=None))]
pub(crate) fn n(site: i64, spin: Option<&Bound<'_, PyAny>>) -> PyResult<Operator> {
    of_mode("n", site, spin)
}

/// S_i · S_j.
#[pyfunction]
pub(crate) fn sdots(i: i64, j: i64) -> PyResult<Operator> {
    let pair = |a: &str, b: &str| operator(a, i)?.times(&operator(b, j)?);
    let flips = pair("S+", "S-")?.plus(&pair("S-", "S+")?).scaled(Complex64::new(0.5, 0.0));
    Ok(pair("Sz", "Sz")?.plus(&flips))
}

/// S_i · (S_j × S_k).
#[pyfunction]
pub(crate) fn chirality(i: i64, j: i64, k: i64) -> PyResult<Operator> {
    let mut sum = Operator { terms: Vec::new() };
    for ([a, b, c], sign) in [
        (["Sx", "Sy", "Sz"], 1.0),
        (["Sy", "Sz", "Sx"], 1.0),
        (["Sz", "Sx", "Sy"], 1.0),
        (["Sx", "Sz", "Sy"], -1.0),
        (["Sy", "Sx", "Sz"], -1.0),
        (["Sz", "Sy", "Sx"], -1.0),
    ] {
        let product = operator(a, i)?.times(&operator(b, j)?)?.times(&operator(c, k)?)?;
        sum.terms.extend(product.scaled(Complex64::new(sign, 0.0)).terms);
    }
    Ok(sum)
}

/// The sum of operators and numbers that an iterator gives.
#[pyfunction]
pub(crate) fn sum(operators: &Bound<'_, PyAny>) -> PyResult<Operator> {
    let mut sum = Operator { terms: Vec::new() };
    for item in PyIterator::from_object(operators)? {
        let item = item?;
        match Other::read(&item)? {
            Other::Operator(operator) => sum.terms.extend(operator.get().terms.iter().cloned()),
            Other::Number(value) => sum.terms.extend(scalar(value).terms),
            Other::Conjugate | Other::Unknown => {
                let found = item.get_type().name()?;
                return Err(PyTypeError::new_err(format!("expected operators to add up, found one of type {found}")));
            }
        }
    }
    Ok(sum)
}

/// An operator from its products: [(coefficient, [(word, site), …]), …].
#[pyfunction]
pub(crate) fn products(terms: Vec<(Complex64, Vec<(String, i64)>)>) -> PyResult<Operator> {
    let mut sum = Operator { terms: Vec::with_capacity(terms.len()) };
    for (coefficient, words) in terms {
        if !coefficient.is_finite() {
            return Err(input_error(&format!("expected a finite number, found {coefficient}"), ""));
        }
        let mut factors = Vec::with_capacity(words.len());
        for (word, site) in words {
            factors.extend(operator(&word, site)?.terms.remove(0).factors);
        }
        sum.terms.push(Term { coefficient, factors });
    }
    Ok(sum)
}
