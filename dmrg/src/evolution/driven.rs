//! H(t) = Σ_k f_k(t) H_k of a chain.
//!
//! In: the H_k, the f_k, a sector, an order of the sites. Out: the chain of H at a time, and that of its mean over a step, with which a step is
//! of second order (W. Magnus, Commun. Pure Appl. Math. 7, 649 (1954), first term). The H_k are laid out anew for each step, which costs
//! little beside it. A step in which some f_k has a pulse that a few values do not show is divided before it is made
//! ([`hides_between`]).

use crate::chain::Chain;
use crate::chain::charges::chain_sector;
use crate::error::DmrgError;
use eigenforge_core::basis::Sector;
use eigenforge_core::operator::{Operator, SiteKind};
use eigenforge_runtime::solvers::{TimeCoefficients, hides_between};

/// Nodes of Gauss and Legendre between −1 and 1, with weights whose sum is 1.
const NODES: [(f64, f64); 3] =
    [(-0.774_596_669_241_483_4, 5.0 / 18.0), (0.0, 8.0 / 18.0), (0.774_596_669_241_483_4, 5.0 / 18.0)];
/// Parts of a span that a mean begins with, and how often each may be halved.
const PARTS: usize = 4;
const DEEPEST: u32 = 30;
/// Relative error of a mean.
const MEAN: f64 = 1e-12;
/// Steps are divided down to this part of the time until the last.
const SHORTEST: f64 = 1e-12;
/// Times at which the size of H is looked at.
const LOOKS: usize = 32;
/// A change of H that is worth another trial of the length of steps, as a part of it.
const CHANGE: f64 = 0.25;

/// H(t) = Σ_k f_k(t) H_k.
pub struct DrivenChain<'f> {
    parts: Vec<Operator>,
    coefficients: Box<dyn TimeCoefficients + Send + Sync + 'f>,
    kinds: Vec<SiteKind>,
    sector: Sector,
    order: Option<Vec<usize>>,
    /// Bounds of ‖H_k‖ without its constants.
    norms: Vec<f64>,
}

impl<'f> DrivenChain<'f> {
    /// Of operators on sites of these kinds and their coefficients; all states are complex.
    ///
    /// # Errors
    /// As of [`Chain::new`], for each H_k.
    pub fn new(
        parts: Vec<Operator>,
        coefficients: impl TimeCoefficients + Send + Sync + 'f,
        kinds: &[SiteKind],
        sector: Sector,
        order: Option<Vec<usize>>,
    ) -> Result<DrivenChain<'f>, DmrgError> {
        let parts: Vec<Operator> = parts.into_iter().map(|part| part.on_kinds(kinds)).collect();
        let whole =
            parts.iter().zip(1..).fold(Operator::zero(), |sum, (part, k)| sum + f64::from(k).sqrt() * part.clone());
        // The names of charges depend on what H speaks of, and where some f_k is 0 that is less.
        let sector = chain_sector(&sector, &whole.on_kinds(kinds));
        let norm = |part: &Operator| -> Result<f64, DmrgError> {
            let chain = Chain::with_phases(part, sector.clone(), order.clone())?;
            Ok(chain.units.norm * chain.units.scale)
        };
        let norms = parts.iter().map(norm).collect::<Result<_, _>>()?;
        Ok(DrivenChain { parts, coefficients: Box::new(coefficients), kinds: kinds.to_vec(), sector, order, norms })
    }

    /// Σ_k c_k H_k.
    fn chain(&self, values: &[f64]) -> Result<Chain, DmrgError> {
        let terms = self.parts.iter().zip(values).filter(|(_, value)| **value != 0.0);
        let whole = terms.fold(Operator::zero(), |sum, (part, value)| sum + *value * part.clone());
        Chain::with_phases(&whole.on_kinds(&self.kinds), self.sector.clone(), self.order.clone())
    }

    fn finite(&self, values: Vec<f64>, time: f64) -> Result<Vec<f64>, DmrgError> {
        if values.len() == self.parts.len() && values.iter().all(|value| value.is_finite()) {
            return Ok(values);
        }
        let found = format!("{values:?} at t = {time}");
        Err(DmrgError::Option { option: "time", expected: "in functions that are finite from 0 to `until`", found })
    }

    /// The chain of H at a time.
    ///
    /// # Errors
    /// Coefficients that are not finite.
    pub fn at_time(&self, time: f64) -> Result<Chain, DmrgError> {
        self.chain(&self.finite(self.coefficients.values(time), time)?)
    }

    /// The chain of H at the one of some times until `until` at which it has the largest term.
    ///
    /// # Errors
    /// Coefficients that are not finite.
    pub fn strongest(&self, until: f64) -> Result<Chain, DmrgError> {
        let mut best = self.at_time(0.0)?;
        for look in 1..=LOOKS {
            let chain = self.at_time(until * look as f64 / LOOKS as f64)?;
            let largest = |chain: &Chain| chain.units.scale * chain.units.largest;
            if largest(&chain) > largest(&best) {
                best = chain;
            }
        }
        Ok(best)
    }

    /// The chain of the mean of H over a span.
    ///
    /// # Errors
    /// Coefficients that are not finite.
    pub(super) fn averaged(&self, from: f64, to: f64) -> Result<Chain, DmrgError> {
        self.chain(&self.mean(from, to)?)
    }

    /// The means of the f_k over a span.
    fn mean(&self, from: f64, to: f64) -> Result<Vec<f64>, DmrgError> {
        let edge = |part: usize| from + (to - from) * part as f64 / PARTS as f64;
        let parts = (0..PARTS).map(|part| self.gauss(edge(part), edge(part + 1))).collect::<Result<Vec<_>, _>>()?;
        let largest = |k: usize| parts.iter().map(|values| values[k].abs()).fold(f64::MIN_POSITIVE, f64::max);
        let sizes: Vec<f64> = (0..self.parts.len()).map(largest).collect();
        let mut sum = vec![0.0; self.parts.len()];
        for (part, whole) in parts.into_iter().enumerate() {
            let found = self.refined((edge(part), edge(part + 1)), whole, &sizes, 0)?;
            sum.iter_mut().zip(found).for_each(|(sum, value)| *sum += value / PARTS as f64);
        }
        Ok(sum)
    }

    fn gauss(&self, from: f64, to: f64) -> Result<Vec<f64>, DmrgError> {
        let (middle, half) = (0.5 * (from + to), 0.5 * (to - from));
        let mut sum = vec![0.0; self.parts.len()];
        for (node, weight) in NODES {
            let time = middle + half * node;
            let values = self.finite(self.coefficients.values(time), time)?;
            sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value);
        }
        Ok(sum)
    }

    /// The mean of a part by those of its halves, where they differ from `whole` by more than rounding of `sizes`.
    fn refined(
        &self,
        (from, to): (f64, f64),
        whole: Vec<f64>,
        sizes: &[f64],
        depth: u32,
    ) -> Result<Vec<f64>, DmrgError> {
        let middle = 0.5 * (from + to);
        let [first, second] = [self.gauss(from, middle)?, self.gauss(middle, to)?];
        let both = |first: &[f64], second: &[f64]| -> Vec<f64> {
            first.iter().zip(second).map(|(a, b)| 0.5 * (a + b)).collect()
        };
        let halves = both(&first, &second);
        // A shorter part counts less.
        let allowed = MEAN * f64::from(depth).exp2();
        let is_same =
            halves.iter().zip(&whole).zip(sizes).all(|((a, b), size)| (a - b).abs() <= allowed * size.max(a.abs()));
        if is_same || depth >= DEEPEST {
            return Ok(halves);
        }
        let first = self.refined((from, middle), first, sizes, depth + 1)?;
        let second = self.refined((middle, to), second, sizes, depth + 1)?;
        Ok(both(&first, &second))
    }

    /// A step as spans in which nothing is hidden from its ends and its middle by which ψ could move by more than `amplitude` until `last`.
    pub(super) fn spans(&self, (from, to): (f64, f64), amplitude: f64, last: f64) -> Vec<(f64, f64)> {
        let slack = |norm: &f64| amplitude / (norm.max(f64::MIN_POSITIVE) * last * self.parts.len() as f64);
        let slack: Vec<f64> = self.norms.iter().map(slack).collect();
        let (mut left, mut found) = (vec![(from, to)], Vec::new());
        while let Some((from, to)) = left.pop() {
            let middle = 0.5 * (from + to);
            let is_hidden = || hides_between(&*self.coefficients, (from, to - from), &[from, middle, to], &slack);
            if to - from > SHORTEST * last && is_hidden() {
                left.extend([(middle, to), (from, middle)]);
            } else {
                found.push((from, to));
            }
        }
        found
    }

    /// The f_k in a span, if H differs there from what it is with `before` by so much that the length of steps is to be tried again.
    pub(super) fn changed(&self, before: &[f64], from: f64, to: f64) -> Result<Option<Vec<f64>>, DmrgError> {
        let now = self.mean(from, to)?;
        let size = |values: &mut dyn Iterator<Item = f64>| -> f64 {
            values.zip(&self.norms).map(|(value, norm)| value.abs() * norm).sum()
        };
        let is_first = before.len() != now.len();
        let change = size(&mut now.iter().zip(before).map(|(now, before)| now - before));
        let is_changed =
            is_first || change > CHANGE * size(&mut before.iter().copied()).max(size(&mut now.iter().copied()));
        Ok(is_changed.then_some(now))
    }

    /// What tells it apart: that of each H_k.
    pub(super) fn identity(&self) -> Result<String, DmrgError> {
        let mut hasher = blake3::Hasher::new();
        for part in &self.parts {
            let chain = Chain::with_phases(part, self.sector.clone(), self.order.clone())?;
            hasher.update(crate::run::saved_numbers::identity(&chain).as_bytes());
        }
        Ok(hasher.finalize().to_hex().to_string())
    }
}
