//! The text of an observable, as a model file has it, on the lattice and with the parameters of that file.
//!
//! | file | question it answers |
//! |---|---|
//! | `tree` | which sums, products and quotients does the text have? |
//! | `number` | what is a coefficient, an index, a domain here? |
//! | `operator` | which operator is it on these sites? |

mod number;
mod operator;
mod tree;

use super::{Observable, Shape};
use crate::lattice::Lattice;
use crate::operator::{Operator, SiteKind};
use number::{FREE, Scope};
use std::ops::Range;

/// What a text may speak of.
#[derive(Clone, Debug)]
pub struct Names<'a> {
    /// What each site carries; of a molecule each orbital.
    pub kinds: Vec<SiteKind>,
    /// The lattice; none of a molecule.
    pub lattice: Option<&'a Lattice>,
    /// Parameters of the model: one value, or one per site or bond.
    pub parameters: Vec<(String, Vec<f64>)>,
}

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
/// The language is that of `sum!` in `#[gpu_operator]` ([`eigenforge_grammar`]), read at run time: `sum(…)` may stand anywhere in
/// a sum, product or quotient, not in another `sum(…)`; `h.c.` is the Hermitian conjugate of the other terms of its sum. A name `i`,
/// or `i` and `j`, that no sum binds makes one value per site or per pair. Coefficients are real numbers: literals, `PI`, loop
/// variables, parameters of the model by site or bond (`u[i]`), arithmetic, comparisons, `if`, methods such as `.cos()`, and
/// `lattice.x(i)`, `lattice.y(i)`, `lattice.distance(i, j)`. Sums run over `sites`, `bonds`, `lattice.bonds_at(2)`,
/// `lattice.neighbors(i)`, ranges and lists. Integers become real numbers where they meet one.
///
/// # Errors
/// Text outside the grammar, names that are not known here, sites that are not there, operators that these sites do not have.
pub fn read_observable(name: &str, text: &str, names: &Names<'_>) -> Result<Observable, ReadError> {
    let wrong = |error: syn::Error| ReadError::new(&error, text);
    let tree = tree::parse(text).map_err(wrong)?;
    let of = |free: &[usize]| operator::evaluate(&tree, &mut Scope::new(names, free));
    let (free, sites) = (tree::free_names(&tree), names.kinds.len());
    let (shape, operators) = match FREE.map(|name| free.contains(name)) {
        [true, true] => {
            let pairs = (0..sites).flat_map(|i| (0..sites).map(move |j| [i, j]));
            (Shape::Pairs, pairs.map(|pair| of(&pair)).collect::<Result<_, _>>())
        }
        [true, false] => (Shape::Sites, (0..sites).map(|i| of(&[i])).collect()),
        // A free `j` alone is an unknown name, which says so.
        [false, _] => (Shape::Whole, of(&[]).map(|operator| vec![operator])),
    };
    let observable = Observable { name: name.into(), shape, operators: operators.map_err(wrong)? };
    match observable.reduced(&names.kinds) {
        Ok(_) => Ok(observable),
        Err(error) => Err(ReadError { message: error.to_string(), at: 0..text.len() }),
    }
}

/// The operator that `text` describes, in the language of [`read_observable`], every site of it bound by a sum or a number.
///
/// # Errors
/// Text outside the grammar, names that are not known here, sites that are not there.
pub fn read_operator(text: &str, names: &Names<'_>) -> Result<Operator, ReadError> {
    let wrong = |error: syn::Error| ReadError::new(&error, text);
    let tree = tree::parse(text).map_err(wrong)?;
    operator::evaluate(&tree, &mut Scope::new(names, &[])).map_err(wrong)
}
