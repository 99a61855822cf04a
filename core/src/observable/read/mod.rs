//! The text of an observable, as a model file has it, on the lattice and with the parameters of that file.
//!
//! | file | question it answers |
//! |---|---|
//! | `foreign` | which words and signs are of other languages? |
//! | `nesting` | how deep is it? |
//! | `names` | which sites, lattice and parameters may it speak of, and which did it? |
//! | `text` | which sums, products and quotients does it have? |
//! | `scope` | what stands for a name at a place, and what has an expression to be there? |
//! | `number` | what is the value of an expression without operators? |
//! | `operator` | which operator is it on these sites? |

mod foreign;
mod names;
mod nesting;
mod number;
mod operator;
mod scope;
mod text;

pub use names::{Names, ParameterValue};

use super::{Observable, Shape};
use crate::operator::Operator;
use scope::{FREE, Scope};
use std::cell::Cell;
use std::ops::Range;

/// Why a text cannot be read as an observable, and where.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ReadError {
    /// What was expected, what was found, what to write.
    pub message: String,
    /// Bytes of the text.
    pub at: Range<usize>,
}

impl ReadError {
    fn new(error: &syn::Error, text: &str) -> ReadError {
        let at = error.span().byte_range();
        let end = at.end.min(text.len());
        ReadError { message: error.to_string(), at: at.start.min(end)..end }
    }
}

/// The observable that `text` describes.
///
/// ```text
/// current  = "sum(<i, j> in bonds; cdag(i, Up) * c(j, Up))"        one value
/// stagger  = "sum(i in sites; (PI * i).cos() * sz(i))"
/// pairing  = "cdag(i, Up) * cdag(i, Down) * c(j, Down) * c(j, Up)"  free i and j: one value per pair of sites
/// doubles  = "n(i, Up) * n(i, Down)"                               free i: one value per site
/// energy_u = "sum(i in sites; u[i] * n(i, Up) * n(i, Down))"        u is a parameter of the model
/// ```
///
/// The language is that of `sum!` in `#[gpu_operator]` ([`eigenforge_grammar`]), read at run time. `sum(…)`, and `prod(…)` from left to
/// right, may stand anywhere in it, inside each other too; `h.c.` is the Hermitian conjugate of the other terms of its sum; `^` and `**`
/// are powers, of operators as well. A name `i`, or `i` and `j`, that no sum binds makes one value per site or per pair; a condition
/// behind the text, `n(i) * n(i + 1) if i + 1 < 8`, leaves places out. Coefficients are real numbers: literals, `PI`, loop variables,
/// parameters of the model (`u[i]`, `j[p][q]`), arithmetic, comparisons, `if`, functions such as `cos(x)`, and `lattice.x(i)`,
/// `lattice.y(i)`, `lattice.distance(i, j)`; `I` and `exp(I * x)` make them complex. Sums run over `sites`, `bonds`,
/// `lattice.bonds_at(2)`, `lattice.neighbors(i)`, ranges, lists, and pairs such as `[[0, 1], [1, 2]]`. Integers become real numbers
/// where they meet one.
///
/// # Errors
/// Text outside the grammar, names that are not known here, sites that are not there, operators that these sites do not have.
pub fn read_observable(name: &str, text: &str, names: &Names<'_>) -> Result<Observable, ReadError> {
    let wrong = |error: syn::Error| ReadError::new(&error, text);
    let whole = |message: String| ReadError { message, at: 0..text.len() };
    let read = text::parse(text).map_err(wrong)?;
    let mut free = text::free_names(&read.node);
    free.extend(read.filter.as_ref().map_or_else(Default::default, text::names_of));
    let sites = names.kinds.len();
    let (shape, places): (Shape, Vec<Vec<usize>>) = match FREE.map(|name| free.contains(name)) {
        [true, true] => (Shape::Pairs, (0..sites).flat_map(|i| (0..sites).map(move |j| vec![i, j])).collect()),
        [true, false] => (Shape::Sites, (0..sites).map(|i| vec![i]).collect()),
        // A free `j` alone is an unknown name, which says so.
        [false, _] => (Shape::Whole, vec![vec![]]),
    };
    let count = places.first().map_or(0, Vec::len);
    if let Some(name) = FREE[..count].iter().find(|name| names.parameter(name).is_some()) {
        return Err(whole(format!(
            "`{name}` is a free site of an observable, and a parameter of the model: give the parameter another name"
        )));
    }
    if let (Some(filter), Shape::Whole) = (&read.filter, shape) {
        return Err(wrong(syn::Error::new_spanned(
            filter,
            "expected a condition on free sites `i` or `j`, found none of them in the text: `if` leaves places out of a list",
        )));
    }
    let members = Cell::new(0);
    let (mut operators, mut left_out) = (Vec::with_capacity(places.len()), Vec::new());
    for (number, place) in places.iter().enumerate() {
        let mut scope = Scope::new(names, place, &members);
        let kept = read.filter.as_ref().map_or(Ok(true), |filter| scope.condition(filter)).map_err(wrong)?;
        if !kept {
            left_out.push(number);
        }
        let operator = if kept { operator::evaluate(&read.node, &mut scope).map_err(wrong)? } else { Operator::zero() };
        operators.push(operator);
    }
    if left_out.len() == operators.len() && !operators.is_empty() {
        return Err(whole("the condition behind `if` leaves out every place: nothing is measured".into()));
    }
    let observable = Observable { name: name.into(), shape, operators, left_out };
    match observable.reduced(&names.kinds) {
        Ok(_) => Ok(observable),
        Err(error) => Err(whole(error.to_string())),
    }
}

/// The operator that `text` describes, in the language of [`read_observable`], every site of it bound by a sum or a number.
///
/// # Errors
/// Text outside the grammar, names that are not known here, sites that are not there.
pub fn read_operator(text: &str, names: &Names<'_>) -> Result<Operator, ReadError> {
    let wrong = |error: syn::Error| ReadError::new(&error, text);
    let read = text::parse(text).map_err(wrong)?;
    if let Some(filter) = &read.filter {
        let message = "expected the condition behind what a sum runs over, as in `sum(i in sites if i < 4; …)`, found it behind the text";
        return Err(wrong(syn::Error::new_spanned(filter, message)));
    }
    operator::evaluate(&read.node, &mut Scope::new(names, &[], &Cell::new(0))).map_err(wrong)
}
