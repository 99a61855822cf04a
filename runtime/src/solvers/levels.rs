//! Which energies are one level.
//!
//! In: energies with their residual norms. Out: a bound of each energy's error, and the energies in groups. An energy is at most its
//! residual norm r away from an eigenvalue. Energies that this bound does not tell apart are a cluster; with R² = Σ r² of the cluster and
//! δ its distance to all other eigenvalues, they are at most R²/δ off (Kato 1949; Temple 1928; for clusters Parlett 1980, chapter 11).
//! Two energies are one level if they agree to rounding, two levels if they are further apart than their errors, and undecided between.

use crate::scalar::Scalar;

/// What rounding may leave between equal eigenvalues of an operator of this norm, with vectors of T: 100 roundings of the norm.
pub fn rounding<T: Scalar>(norm: f64) -> f64 {
    100.0 * T::EPSILON * norm
}

/// An energy, how far it may be off, and how far rounding may move it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundedEnergy {
    /// The energy.
    pub energy: f64,
    /// A bound of its error.
    pub error: f64,
    /// What rounding may leave between equal energies.
    pub rounding: f64,
}

/// Neighbouring energies of which nothing says whether they are one level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UndecidedGap {
    /// The lower energy.
    pub energy: f64,
    /// The distance to its neighbour.
    pub gap: f64,
    /// The distance that their errors allow.
    pub allowed: f64,
}

impl UndecidedGap {
    /// A warning with what would help.
    pub fn warning(&self) -> String {
        let UndecidedGap { gap, allowed, .. } = self;
        format!(
            "energies {gap:.1e} apart count as one level, because their errors, up to {allowed:.1e} together, do not tell them \
             apart: multiplicities and averages join them; lower `tolerance` to have levels of their own"
        )
    }
}

/// Energies in groups, ascending.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LevelGroups {
    /// Members of each level.
    pub sizes: Vec<usize>,
    /// The widest gap inside a level that nothing decides.
    pub undecided: Option<UndecidedGap>,
}

/// Groups ascending energies into levels.
pub fn group_levels(found: &[BoundedEnergy]) -> LevelGroups {
    let mut groups = LevelGroups::default();
    for (place, one) in found.iter().enumerate() {
        let before = place.checked_sub(1).map(|before| &found[before]);
        let joined = before.is_some_and(|before| {
            let (gap, rounding) = (one.energy - before.energy, one.rounding.max(before.rounding));
            let allowed = one.error + before.error + rounding;
            if gap > rounding && gap <= allowed && groups.undecided.is_none_or(|known| known.gap < gap) {
                groups.undecided = Some(UndecidedGap { energy: before.energy, gap, allowed });
            }
            gap <= allowed
        });
        match groups.sizes.last_mut() {
            Some(size) if joined => *size += 1,
            _ => groups.sizes.push(1),
        }
    }
    groups
}

/// Bounds of the errors of ascending energies with these residual norms. `next` is a lower bound of all eigenvalues that are not among
/// them, if that is known.
pub(super) fn error_bounds(energies: &[f64], residuals: &[f64], next: Option<f64>, rounding: f64) -> Vec<f64> {
    let mut bounds = residuals.to_vec();
    let apart = |i: usize| energies[i + 1] - energies[i] > residuals[i] + residuals[i + 1] + rounding;
    let mut first = 0;
    while first < energies.len() {
        let last = (first..energies.len() - 1).find(|i| apart(*i)).unwrap_or(energies.len() - 1);
        let below = first.checked_sub(1).map(|below| energies[first] - energies[below] - residuals[below]);
        let above = match energies.get(last + 1) {
            Some(above) => Some(above - residuals[last + 1] - energies[last]),
            None => next.map(|next| next - energies[last]),
        };
        let square: f64 = residuals[first..=last].iter().map(|residual| residual * residual).sum();
        if let Some(above) = above {
            // The cluster's own eigenvalues may be R away from its energies.
            let distance = below.map_or(above, |below| below.min(above)) - square.sqrt();
            if distance > 0.0 {
                bounds[first..=last].iter_mut().for_each(|bound| *bound = bound.min(square / distance));
            }
        }
        first = last + 1;
    }
    bounds
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grouped(energies: &[f64], errors: &[f64], rounding: f64) -> LevelGroups {
        let found = energies.iter().zip(errors).map(|(e, error)| BoundedEnergy { energy: *e, error: *error, rounding });
        group_levels(&found.collect::<Vec<_>>())
    }

    #[test]
    fn energies_are_joined_by_rounding_and_told_apart_by_their_errors() {
        let groups = grouped(&[-1.0, -1.0 + 1e-14, -0.5], &[1e-12; 3], 1e-13);
        assert_eq!((groups.sizes, groups.undecided), (vec![2, 1], None));
        let groups = grouped(&[-1.0, -1.0 + 6e-11, 0.0], &[1e-14; 3], 1e-13);
        assert_eq!((groups.sizes, groups.undecided), (vec![1, 1, 1], None), "resolved, however close");
        let groups = grouped(&[-1.0, -1.0 + 6e-11, 0.0], &[1e-10; 3], 1e-13);
        assert_eq!(groups.sizes, [2, 1]);
        let said = groups.undecided.unwrap().warning();
        assert!(said.contains("6.0e-11 apart") && said.contains("lower `tolerance`"), "{said}");
        assert_eq!(grouped(&[], &[], 0.0), LevelGroups::default());
    }

    #[test]
    fn errors_are_of_second_order_where_the_rest_of_the_spectrum_is_known_to_be_far() {
        let far = error_bounds(&[-1.0, -1.0], &[1e-8, 1e-8], Some(0.0), 1e-14);
        assert!(far.iter().all(|bound| (bound / 2e-16 - 1.0).abs() < 1e-6), "{far:?}");
        assert_eq!(error_bounds(&[-1.0], &[1e-8], None, 1e-14), [1e-8], "nothing is known of the rest");
        let near = error_bounds(&[-1.0, -0.9], &[1e-8, 1e-6], Some(0.0), 1e-14);
        assert!(near[0] < 1.1e-15 && near[1] < 2e-11, "{near:?}");
        // A neighbour inside the residual proves nothing.
        assert_eq!(error_bounds(&[-1.0], &[1e-3], Some(-0.9995), 1e-14), [1e-3]);
    }
}
