//! Limits of an operator: how many terms it may have while it is put together, and how large its coefficients may be.
//!
//! In: operators, or one that is complete. Out: their product, or an error that names the limit. A product of k words of two terms
//! each has 2ᵏ terms; solvers square numbers of the size of H, which must not overflow. (Where squares vanish, a search refuses.)

use super::{Operator, OperatorError, product_text};

/// Most terms of a product or a sum; longest products have some 600 bytes each.
pub(crate) const MOST_TERMS: usize = 1 << 20;

/// The sum of all magnitudes: its square is no overflow.
const LARGEST: f64 = 1e150;

/// More terms than [`MOST_TERMS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected at most {MOST_TERMS} terms, found a product of {left} by {right}: write it with fewer factors that are sums, as Sx = (S+ + S-)/2 is"
)]
pub(crate) struct TooManyTerms {
    left: usize,
    right: usize,
}

impl Operator {
    /// The product, if it is not too long.
    pub(crate) fn checked_product(self, other: Operator) -> Result<Operator, TooManyTerms> {
        let (left, right) = (self.terms.len(), other.terms.len());
        if left.saturating_mul(right) > MOST_TERMS {
            return Err(TooManyTerms { left, right });
        }
        Ok(self * other)
    }

    /// How many terms it has.
    pub(crate) fn length(&self) -> usize {
        self.terms.len()
    }

    /// Refuses coefficients whose squares overflow.
    pub(super) fn check_magnitudes(&self) -> Result<(), OperatorError> {
        let sum: f64 = self.terms().map(|(_, value)| value.abs()).sum();
        let largest = self.terms().max_by(|(_, a), (_, b)| a.abs().total_cmp(&b.abs()));
        match largest.filter(|_| sum > LARGEST) {
            Some((product, value)) => {
                Err(OperatorError::Magnitude { term: product_text(product), value, sum, most: LARGEST })
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Spin;
    use super::super::build::{cdag, n, scalar, sx};
    use super::*;

    #[test]
    fn products_of_many_sums_are_refused_before_they_are_made() {
        let product = (0..40).try_fold(scalar(1.0), |product, site| product.checked_product(sx(site)));
        assert_eq!(product.unwrap_err(), TooManyTerms { left: MOST_TERMS, right: 2 });
        let same = (0..40).try_fold(scalar(1.0), |product, _| product.checked_product(n(0, Spin::Up))).unwrap();
        assert_eq!(same.length(), 1);
    }

    #[test]
    fn coefficients_whose_squares_overflow_are_refused() {
        let hop = |value: f64| {
            let hop = value * (cdag(0, Spin::Up) * super::super::build::c(1, Spin::Up));
            hop.clone() + hop.adjoint()
        };
        for value in [1e308, 1e200, 1e151] {
            let error = hop(value).check(&[]).unwrap_err();
            assert!(matches!(error, OperatorError::Magnitude { .. }), "{value}: {error}");
        }
        for value in [0.0, 1e-300, 1.0, 1e140] {
            hop(value).check(&[]).unwrap();
        }
        assert!((hop(1.0) + 1e200).check(&[]).is_err(), "a constant is a term");
    }
}
