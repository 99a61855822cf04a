//! Sums of products of operators at sites, as other programs and the Python package write them.
//!
//! In: a text such as `-1.0 [cdag_up(0) c_up(1)] + (0.5-2j) [S+(0) S-(1)] +`. The words are those of `[[term]]`, the rightmost acts first, and
//! a number is written as Python prints it; `[]` is the identity. Out: the operator, or what is wrong with the text.

use super::pauli::sum_of_products;
use crate::operator::{Operator, OperatorError, SiteKind};

/// The operator of a text on sites of these kinds.
///
/// # Errors
/// What was expected and what was found.
pub(super) fn read(text: &str, kinds: &[SiteKind]) -> Result<Operator, String> {
    sum_of_products(text, kinds, |word| {
        let (name, site) = word
            .strip_suffix(')')
            .and_then(|word| word.split_once('('))
            .ok_or_else(|| format!("expected an operator at a site, such as `cdag_up(0)`, found `{word}`"))?;
        let site = site.parse::<usize>().ok().filter(|site| *site < kinds.len());
        let site = site.ok_or_else(|| format!("expected a site from 0 to {}, found `{word}`", kinds.len() - 1))?;
        kinds[site].operator(name, site).ok_or_else(|| {
            let (kind, words) = (kinds[site], kinds[site].words());
            let (term, factor) = (format!("`{word}`"), format!("`{name}`"));
            OperatorError::WrongSite { term, factor, site, kind, words }.to_string()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::operator::{SiteKind, Spin, build};

    #[test]
    fn products_keep_their_order_and_their_numbers() {
        let electrons = [SiteKind::Electrons; 2];
        let hop = build::cdag(0, Spin::Up) * build::c(1, Spin::Up);
        assert_eq!(read("-1.0 [cdag_up(0) c_up(1)] +", &electrons).unwrap(), -1.0 * hop.clone());
        assert_eq!(read("[c_up(1) cdag_up(0)]", &electrons).unwrap(), -1.0 * hop.clone());
        let complex = read("(0.5-2j) [cdag_up(0) c_up(1)] +\n1.5 []", &electrons).unwrap();
        assert_eq!(complex, 0.5 * hop.clone() + (-2.0 * hop).times_i() + build::scalar(1.5));
        assert_eq!(read("", &electrons).unwrap().len(), 0);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for (text, part) in [
            ("1.0 [cdag_up(2)]", "a site from 0 to 1"),
            ("1.0 [cdag_up]", "an operator at a site"),
            ("1.0 [bdag(0)]", "`bdag`"),
            ("half [n(0)]", "a number such as"),
            ("1.0 n(0)", "expected `[…]`"),
        ] {
            let error = read(text, &[SiteKind::Electrons; 2]).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
