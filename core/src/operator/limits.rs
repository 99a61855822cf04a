//! Limits of an operator: how many terms it may have while it is put together, and how large its coefficients may be.
//!
//! In: operators, or one that is complete. Out: their product, or an error that names the limit. A product of k words of two terms
//! each has 2ᵏ terms; solvers square numbers of the size of H, which must not overflow. (Where squares vanish, a search refuses.)

use super::{Factor, Operator, OperatorError, Product, SiteKind, product_text};

/// Most terms of a product or a sum; longest products have some 600 bytes each.
pub const MOST_TERMS: usize = 1 << 20;

/// Most pairs of terms of two factors.
const MOST_PAIRS: usize = 1 << 18;

/// Products with more factors of a site are reduced for its spin at once: as long words in S⁺, Sᶻ and S⁻ they would have large terms that
/// cancel.
const LONG: usize = 6;

/// The part of the largest coefficient that roundings of terms which cancel may reach.
const TOLERANCE: f64 = 1e-10;

/// The sum of all magnitudes: its square is no overflow.
const LARGEST: f64 = 1e150;

/// More terms than [`MOST_TERMS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected products of at most {MOST_PAIRS} terms, found one of {left} by {right}: write it with fewer factors that are sums, as Sx = (S+ + S-)/2 is"
)]
pub struct TooManyTerms {
    left: usize,
    right: usize,
}

/// The most factors of one site, of a product in normal order.
fn longest_run(product: &[Factor]) -> usize {
    let runs = product.chunk_by(|a, b| a.has_level() && b.has_level() && a.site() == b.site());
    runs.map(<[Factor]>::len).max().unwrap_or(0)
}

impl Operator {
    /// The product on sites of these kinds, if it is not too long.
    pub fn checked_product(self, other: Operator, kinds: &[SiteKind]) -> Result<Operator, TooManyTerms> {
        let (left, right) = (self.terms.len(), other.terms.len());
        if left.saturating_mul(right) > MOST_PAIRS {
            return Err(TooManyTerms { left, right });
        }
        let product = self * other;
        match product.terms.keys().any(|factors| longest_run(factors) > LONG) {
            true => Ok(product.reduced_for(|site| kinds.get(site).map_or(0, |kind| kind.two_s()), true)),
            false => Ok(product),
        }
    }

    /// How many terms it has.
    pub fn length(&self) -> usize {
        self.terms.len()
    }

    /// Refuses coefficients whose squares overflow.
    pub fn check_magnitudes(&self) -> Result<(), OperatorError> {
        let sum: f64 = self.terms().map(|(_, value)| value.abs()).sum();
        let largest = self.terms().max_by(|(_, a), (_, b)| a.abs().total_cmp(&b.abs()));
        match largest.filter(|_| sum > LARGEST) {
            Some((product, value)) => {
                Err(OperatorError::Magnitude { term: product_text(product), value, sum, most: LARGEST })
            }
            None => Ok(()),
        }
    }

    /// A long product of spin operators and its length, if terms of such products cancel so far in `reduced` that their roundings are
    /// left: S⁺ + S⁻ to the 24th power, as words in S⁺, Sᶻ and S⁻, has coefficients up to 10¹⁸.
    pub(super) fn lost_digits(&self, reduced: &Operator) -> Option<(String, usize)> {
        let is_long = |product: &&Product| longest_run(product) > LONG;
        let longest = self.terms.keys().filter(is_long).max_by_key(|product| product.len())?;
        let norm = |product: &Product| -> f64 {
            let spin = |site: usize| 0.5 * f64::from(self.two_s_of(site));
            let of_factor = |factor: &Factor| match factor {
                Factor::Sz(site) => spin(*site),
                Factor::Raise(site) | Factor::Lower(site) => spin(*site) + 0.5,
                _ => 1.0,
            };
            product.iter().map(of_factor).product()
        };
        let sizes = |operator: &Operator| {
            operator.terms.iter().map(|(product, value)| value.abs() * norm(product)).sum::<f64>()
        };
        let kept = f64::EPSILON * sizes(self) <= TOLERANCE * sizes(reduced);
        (!kept).then(|| (product_text(longest), longest.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Spin;
    use super::super::build::{cdag, n, scalar, sx, sz};
    use super::*;

    #[test]
    fn products_of_many_sums_are_refused_before_they_are_made() {
        let spins = [SiteKind::Moments { two_s: 1 }; 40];
        let product = (0..40).try_fold(scalar(1.0), |product, site| product.checked_product(sx(site), &spins));
        assert_eq!(product.unwrap_err(), TooManyTerms { left: MOST_PAIRS, right: 2 });
        let electrons = [SiteKind::Electrons];
        let same =
            (0..40).try_fold(scalar(1.0), |product, _| product.checked_product(n(0, Spin::Up), &electrons)).unwrap();
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
    /// (2 Sx)^k is 1 or 2 Sx for spin ½; of any spin, powers are those of the matrix.
    #[test]
    fn powers_of_spin_operators_keep_their_digits() {
        for two_s in 1..=6u32 {
            let kinds = [SiteKind::Moments { two_s }];
            let power = |count: usize| {
                let factor = 2.0 / f64::from(two_s) * sx(0);
                (0..count).try_fold(scalar(1.0), |power, _| power.checked_product(factor.clone(), &kinds)).unwrap()
            };
            for count in [1, 7, 22, 23, 40, 64] {
                let dense = |operator: Operator| {
                    let operator = operator.spin(two_s).reduced();
                    let mut matrix = ndarray::Array2::<f64>::zeros([two_s as usize + 1; 2]);
                    for level in 0..=two_s {
                        let reached = operator.apply(1, &[level]);
                        reached.iter().for_each(|(to, value)| matrix[[to[0] as usize, level as usize]] += value);
                    }
                    matrix
                };
                let (found, one) = (dense(power(count)), dense(power(1)));
                let mut expected = ndarray::Array2::<f64>::eye(two_s as usize + 1);
                (0..count).for_each(|_| expected = expected.dot(&one));
                let far = (&found - &expected).iter().fold(0.0f64, |most, value| most.max(value.abs()));
                assert!(far < 1e-9, "2S = {two_s}, power {count}: {far:e}");
            }
        }
    }

    /// Without the kinds of the sites, as in a Rust definition, the same is refused where its digits are lost.
    #[test]
    fn products_that_lost_their_digits_are_refused() {
        let power = |count: usize| (0..count).fold(scalar(1.0), |power, _| power * (2.0 * sx(0))) + 0.5 * sz(0);
        power(6).reduced().check(&[]).unwrap();
        let error = power(24).reduced().check(&[]).unwrap_err();
        assert!(matches!(error, OperatorError::Cancellation { .. }), "{error}");
    }
}
