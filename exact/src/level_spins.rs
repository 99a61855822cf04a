//! The total spins of each level of a solution, where H conserves the total spin.
//!
//! In: the vectors of a level. Out: ⟨S²⟩, the mean over the level, and 2S of each of its states: the eigenvalues of S² within the level,
//! which do not depend on the vectors that a solver happened to return. Averages are quadratic forms q(x) = ⟨x|S²|x⟩, so
//! ⟨a|S²|b⟩ = q((a + b)/√2) − (q(a) + q(b))/2. A level of one spin is known by fewer of them: S² is a multiple of 1 within it if the mean
//! is the least spin that the sector allows, or if q is the mean in two directions that no symmetry prefers.

use super::Model;
use super::observables::PreparedAverages;
use super::solve::{RunError, Solution};
use eigenforge_core::observable::Observable;
use eigenforge_core::operator::{Carrier, Charge, SiteKind, total_spin_squared};
use eigenforge_runtime::solvers::symmetric_eigen;
use eigenforge_runtime::{Device, DeviceError, Scalar, SolveError, Vector, trace};

/// Vectors of a level of several spins that is taken apart in any sector: 48 take 1,176 averages.
const MOST_VECTORS: usize = 48;

/// The same in a small sector, and how many averages, times its states, that may take: a few seconds.
const MOST_IN_SMALL: usize = 160;
const SMALL_WORK: u64 = 20_000_000;

/// Whether a level of so many vectors is taken apart.
fn is_taken_apart(count: usize, dimension: u64) -> bool {
    let averages = (count * (count + 1) / 2) as u64;
    count <= MOST_VECTORS || count <= MOST_IN_SMALL && averages.saturating_mul(dimension) <= SMALL_WORK
}

/// ⟨S²⟩ this far from S (S + 1) still is that of a definite spin: the vectors are those of a solver, and have a weight of (residual/gap)²
/// in the states of other levels.
const SHARP: f64 = 1e-3;

/// The same of quadratic forms in two directions, of which one may be close to the mean by chance.
const SAME: f64 = 1e-6;

/// The total spin of a level.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelSpin {
    /// ⟨S²⟩, the mean over the states that were found.
    pub s_squared: f64,
    /// 2S of each of these states, ascending; empty where they have no definite spins, as vectors have that mix levels closer to each
    /// other than their residuals. `None` of a level of several spins that is too large to be taken apart.
    pub two_s: Option<Vec<u32>>,
}

/// 2S of an eigenvalue of S², if it is one.
fn two_s(square: f64) -> Option<u32> {
    let doubled = ((4.0 * square.max(0.0) + 1.0).sqrt() - 1.0).round();
    let s = 0.5 * doubled;
    ((square - s * (s + 1.0)).abs() <= SHARP).then_some(doubled as u32)
}

/// Unit coefficients in a direction that has nothing to do with how vectors were found.
fn direction(count: usize, number: usize) -> Vec<f64> {
    let angle = |k: usize| (1.0 + 2.399_963 * k as f64 + 0.7 * (number * k * k) as f64 + number as f64).cos();
    let plain: Vec<f64> = (0..count).map(angle).collect();
    let norm = plain.iter().map(|c| c * c).sum::<f64>().sqrt();
    plain.into_iter().map(|c| c / norm).collect()
}

/// Σ c_k x_k.
fn combined<T: Scalar>(device: &Device, vectors: &[&Vector<T>], c: &[f64]) -> Result<Vector<T>, DeviceError> {
    let mut sum = vec![0.0; vectors.first().map_or(0, |vector| vector.len())];
    for (vector, c) in vectors.iter().zip(c).filter(|(_, c)| **c != 0.0) {
        sum.iter_mut().zip(vector.download()?).for_each(|(sum, x)| *sum += c * x.to_f64());
    }
    device.upload(&sum.into_iter().map(T::from_f64).collect::<Vec<T>>())
}

/// 2S of each of a level's states from the quadratic form of S² in coefficients of its vectors: one for each state, of a complex H two.
fn spins_within<E: From<SolveError>>(
    [states, count]: [usize; 2],
    (mean, least): (f64, f64),
    dimension: u64,
    mut form: impl FnMut(&[f64]) -> Result<f64, E>,
) -> Result<Option<Vec<u32>>, E> {
    let is_mean = |value: f64| (value - mean).abs() <= SAME * mean.abs().max(1.0);
    if let Some(spin) = two_s(mean) {
        let alike = states == 1
            || mean - least <= SAME
            || is_mean(form(&direction(count, 1))?) && is_mean(form(&direction(count, 2))?);
        if alike {
            return Ok(Some(vec![spin; states]));
        }
    }
    if !is_taken_apart(count, dimension) {
        return Ok(None);
    }
    let mut matrix = vec![0.0; count * count];
    let unit = |a: usize, b: usize| -> Vec<f64> {
        let share = if a == b { 1.0 } else { 0.5f64.sqrt() };
        (0..count).map(|k| if k == a || k == b { share } else { 0.0 }).collect()
    };
    for a in 0..count {
        matrix[a * count + a] = form(&unit(a, a))?;
    }
    for (a, b) in (0..count).flat_map(|a| (0..a).map(move |b| (a, b))) {
        let element = form(&unit(a, b))? - 0.5 * (matrix[a * count + a] + matrix[b * count + b]);
        (matrix[a * count + b], matrix[b * count + a]) = (element, element);
    }
    let (values, _) = symmetric_eigen(count, &matrix)?;
    // Of a complex H every state has two vectors as long as all of them were found.
    let copies = if count == 2 * states { 2 } else { 1 };
    let spins: Option<Vec<u32>> = values.into_iter().step_by(copies).map(two_s).collect();
    Ok(Some(spins.filter(|spins| spins.len() == states).unwrap_or_default()))
}

impl Model {
    /// |2Sᶻ| of the sites that have a spin, where the sector says it; the least 2S of its states.
    fn least_two_s(&self) -> u64 {
        let charges = self.sector().charge_values();
        let value = |wanted: Charge| charges.iter().find(|(charge, _)| *charge == wanted).map(|(_, value)| *value);
        let kinds = self.site_kinds();
        let is_moment = |kind: &SiteKind| kind.carrier() == Carrier::Spin && kind.has_sz();
        let has_other_spin = |kind: &SiteKind| match kind.carrier() {
            Carrier::Spin => !kind.has_sz(),
            Carrier::Flavours => kind.has_sz(),
            Carrier::Electrons | Carrier::Bosons => false,
        };
        match (value(Charge::TwoSz), value(Charge::Up).zip(value(Charge::Down))) {
            (Some(two_sz), _) if !kinds.iter().any(has_other_spin) => two_sz.unsigned_abs(),
            (None, Some((up, down))) if !kinds.iter().any(is_moment) => up.abs_diff(down),
            _ => 0,
        }
    }
}

impl<T: Scalar> Solution<'_, T> {
    /// The total spins of each level, in the order of [`levels`](eigenforge_product::Eigenstates::levels); none where H does not conserve the total spin. `lowest` is
    /// ⟨S²⟩ of the lowest level where it is known already. Of several ranks the first has them; every rank asks.
    ///
    /// # Errors
    /// The device's.
    pub fn level_spins(&self, lowest: Option<f64>) -> Result<Vec<LevelSpin>, RunError> {
        let model = self.model();
        let square = total_spin_squared(&model.site_kinds()).filter(|_| model.operator().conserves_total_spin());
        let Some(square) = square else { return Ok(Vec::new()) };
        let _spins = trace::span("observables", "spins of levels");
        let square = [Observable::scalar("S²", square)];
        let working = model.working_observables(&square)?;
        let prepared = match self.device().runs_kernels() {
            true => Some(PreparedAverages::new(model.averaged(), &working)?),
            false => None,
        };
        let least = 0.5 * model.least_two_s() as f64;
        let least = least * (least + 1.0);
        let mut found = Vec::new();
        for level in 0..self.levels().len() {
            let known = lowest.filter(|_| level == 0);
            let of_level = |device: &Device, vectors: &[&Vector<T>]| {
                let prepared = prepared.as_ref().filter(|_| self.device().ranks().is_none());
                let form = |vectors: &[&Vector<T>]| -> Result<f64, RunError> {
                    let averages = self.averages_on(device, vectors, &square, prepared)?;
                    Ok(averages.scalar("S²").unwrap_or(f64::NAN))
                };
                let mean = known.map_or_else(|| form(vectors), Ok)?;
                let counts = [self.levels()[level].multiplicity, vectors.len()];
                let two_s = spins_within(counts, (mean, least), model.dimension(), |c| {
                    form(&[&combined(device, vectors, c)?])
                })?;
                Ok(LevelSpin { s_squared: mean, two_s })
            };
            // Where it fails on rank 0 the others still send what they have.
            found.extend(
                self.with_whole(&self.level_vectors(level), |device, vectors| Ok(Some(of_level(device, vectors))))?,
            );
        }
        found.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Levels of any spins in any basis: their matrix is U diag(S (S + 1)) Uᵀ.
    #[test]
    fn spins_are_found_in_any_basis() {
        let of = |spins: &[u32]| {
            let count = spins.len();
            // A reflection mixes all vectors.
            let u = direction(count, 3);
            let mut asked = 0;
            let square = |spin: u32| 0.25 * f64::from(spin * (spin + 2));
            let mean = spins.iter().map(|spin| square(*spin)).sum::<f64>() / count as f64;
            let found = spins_within([count, count], (mean, 0.0), 1_000_000, |c| {
                asked += 1;
                let overlap: f64 = u.iter().zip(c).map(|(u, c)| u * c).sum();
                let turned = c.iter().zip(&u).map(|(c, u)| c - 2.0 * overlap * u);
                Ok::<_, RunError>(turned.zip(spins).map(|(c, spin)| square(*spin) * c * c).sum())
            });
            (found.unwrap(), asked)
        };
        assert_eq!(of(&[2]), (Some(vec![2]), 0));
        assert_eq!(of(&[0, 0, 0]), (Some(vec![0; 3]), 0));
        assert_eq!(of(&[3; 4]), (Some(vec![3; 4]), 2));
        assert_eq!(of(&[4, 0, 2, 2]).0, Some(vec![0, 2, 2, 4]));
        // The mean is that of S = 1.
        assert_eq!(of(&[0, 4, 0]).0, Some(vec![0, 0, 4]));
        assert_eq!(of(&[1; 60]).0, Some(vec![1; 60]));
        let mut mixed = [1; 60];
        mixed[7] = 3;
        assert_eq!(of(&mixed).0, None);
    }
}
