//! How many states each sector keeps at each cut: a guess before a run, and a prediction from a state with fewer states.
//!
//! In: a chain and a number of states m; or the blocks of a sweep. Out: states by charge of the left part, for each cut.
//! No sector has more states than its Schmidt decomposition can have, min(left, right) configurations.
//!
//! * Before a run, a sector's share is the square of its share at infinite temperature.
//! * The sweeps with m₂ states decompose ψ of two sites. If that gives enough more weights than the requested m, or all
//!   of them, the best m are chosen as in a truncation.
//! * Elsewhere shares measured at m₁ and m₂ states are extrapolated to m: the spread of the charges grows equally for
//!   each factor in m (ln m counts the levels below a cut-off). With n ∝ exp(−q²/2σ²), σ₁²/σ₂² is the slope of ln n(m₂)
//!   over ln n(m₁), fitted over all cuts and weighted by n; n(m) ∝ n(m₂)^(σ₂²/σ²).

use crate::block::blocks::Side;
use crate::chain::Chain;
use crate::chain::charges::Charges;
use crate::chain::site::Site;
use crate::engine::Engine;
use crate::sweep::sweeper::Sweeper;
use std::collections::{BTreeMap, BTreeSet};

type Counts = BTreeMap<Charges, f64>;

/// States by charge of the left part, cuts 0 … N.
#[derive(Clone, Debug, PartialEq)]
pub struct Shares {
    cuts: Vec<Counts>,
    /// Largest number of states allowed.
    states: usize,
    /// The states that would stay at each cut if more were allowed, where the weights show it.
    foreseen: Vec<Option<Counts>>,
}

/// A cut that keeps less than this fraction of the allowed states has no more states to keep.
const SATURATED: f64 = 0.8;

/// The rank that a Schmidt decomposition can have in each sector of each cut.
fn capacity(chain: &Chain) -> Vec<Counts> {
    let n = chain.sites;
    let mut left = vec![Counts::from([(Charges::default(), 1.0)])];
    let mut right = vec![Counts::from([(chain.total, 1.0)])];
    for p in 0..n {
        let grow = |from: &Counts, cut: usize, back: bool| {
            let mut grown = Counts::new();
            for (q, states) in from {
                for charge in chain.site(if back { cut } else { cut - 1 }).charges() {
                    let to = if back { *q - *charge } else { *q + *charge };
                    if chain.reachable.allows(cut, to) {
                        *grown.entry(to).or_insert(0.0) += states;
                    }
                }
            }
            grown
        };
        left.push(grow(&left[p], p + 1, false));
        right.push(grow(&right[p], n - 1 - p, true));
    }
    let both = |p: usize| {
        let rank = |(q, states): (&Charges, &f64)| Some((*q, states.min(*right[n - p].get(q)?)));
        left[p].iter().filter_map(rank).collect()
    };
    (0..=n).map(both).collect()
}

/// f · shape, limited by the capacity, adding up to `wanted` as far as the capacity allows.
fn filled(shape: &Counts, capacity: &Counts, wanted: f64) -> Counts {
    let mut counts: Counts = shape.keys().map(|q| (*q, 0.0)).collect();
    let mut open: Vec<Charges> = shape.keys().copied().collect();
    let mut left = wanted;
    while left > 1e-9 && !open.is_empty() {
        let sum: f64 = open.iter().map(|q| shape[q]).sum();
        if sum <= 0.0 {
            break;
        }
        let factor = left / sum;
        let room = |q: &Charges| capacity.get(q).copied().unwrap_or(0.0);
        let (full, others): (Vec<Charges>, Vec<Charges>) = open.iter().partition(|q| factor * shape[*q] >= room(q));
        if full.is_empty() {
            counts.extend(others.iter().map(|q| (*q, factor * shape[q])));
            break;
        }
        for q in &full {
            left -= room(q);
            counts.insert(*q, room(q));
        }
        open = others;
    }
    counts
}

/// The differences between the charges of two states of a site, of every kind of site.
fn steps(chain: &Chain) -> BTreeSet<Charges> {
    let between = |site: &Site| -> Vec<Charges> {
        site.charges().iter().flat_map(|a| site.charges().iter().map(move |b| *a - *b)).collect()
    };
    let all = chain.local.counted().flat_map(|(site, _)| between(site));
    all.filter(|step| *step != Charges::default()).collect()
}

/// Adds sectors that do not yet have a whole state: ln n is continued with its curvature, averaged over the paths that
/// lead there.
fn extended(counts: &Counts, capacity: &Counts, steps: &BTreeSet<Charges>) -> Counts {
    let mut all = counts.clone();
    for q in capacity.keys().filter(|q| !counts.contains_key(q)) {
        let along = |step: &Charges| {
            let (a, b) = (*q - *step, *q - *step - *step);
            let (a, b, c) = (counts.get(&a)?, counts.get(&b)?, counts.get(&(b - *step))?);
            Some((a.powi(3) * c / b.powi(3)).min(*a))
        };
        let found: Vec<f64> = steps.iter().filter_map(along).collect();
        if !found.is_empty() {
            all.insert(*q, found.iter().sum::<f64>() / found.len() as f64);
        }
    }
    all
}

impl Shares {
    /// The guess before a run.
    pub fn estimated(chain: &Chain, states: usize) -> Shares {
        let capacity = capacity(chain);
        let cut = |p: usize| {
            let squares: Counts = chain.reachable.cut(p).iter().map(|(q, f)| (*q, f * f)).collect();
            filled(&squares, &capacity[p], states as f64)
        };
        Shares { cuts: (0..=chain.sites).map(cut).collect(), states, foreseen: Vec::new() }
    }

    /// The shares of a sweeper with ψ at the first bond, swept with `states` states.
    pub(crate) fn measured<E: Engine>(sweeper: &Sweeper<'_, E>, states: usize) -> Shares {
        let chain = sweeper.chain;
        let mut cuts = capacity(chain);
        for (p, cut) in cuts.iter_mut().enumerate().take(chain.sites).skip(2) {
            let sectors = &sweeper.block(Side::Right, p).sectors;
            *cut =
                (0..sectors.len()).map(|q| (chain.total - sectors.charges(q), sectors.dimension(q) as f64)).collect();
        }
        Shares { cuts, states, foreseen: sweeper.foreseen.clone() }
    }

    /// Largest number of states allowed.
    pub(crate) fn states(&self) -> usize {
        self.states
    }

    /// The shares at cut `p`.
    pub(crate) fn cut(&self, p: usize) -> &Counts {
        &self.cuts[p]
    }

    /// The prediction for more states; `before` was measured with fewer.
    pub(crate) fn grown(&self, chain: &Chain, before: Option<&Shares>, states: usize) -> Shares {
        let exponent = before.and_then(|before| self.flattening(before, states)).unwrap_or(1.0);
        let (capacity, steps) = (capacity(chain), steps(chain));
        let cut = |p: usize| {
            let counts = &self.cuts[p];
            let (sum, room): (f64, f64) = (counts.values().sum(), capacity[p].values().sum());
            let allowed = room.min(self.states as f64);
            if sum < SATURATED * allowed {
                return counts.clone();
            }
            if let Some(Some(foreseen)) = self.foreseen.get(p) {
                return foreseen.clone();
            }
            let shape: Counts =
                extended(counts, &capacity[p], &steps).into_iter().map(|(q, n)| (q, n.powf(exponent))).collect();
            // Because a multiplet at the limit stays or goes as a whole.
            let wanted = if sum < allowed { states as f64 * sum / allowed } else { states as f64 };
            filled(&shape, &capacity[p], wanted.min(room))
        };
        Shares { cuts: (0..=chain.sites).map(cut).collect(), states, foreseen: Vec::new() }
    }

    /// σ² at these shares over σ² with more states.
    fn flattening(&self, before: &Shares, states: usize) -> Option<f64> {
        let step = (self.states as f64 / before.states as f64).ln();
        if step <= 0.0 {
            return None;
        }
        let (mut xx, mut yy) = (0.0, 0.0);
        for (now, then) in self.cuts.iter().zip(&before.cuts) {
            let pairs: Vec<(f64, f64, f64)> =
                then.iter().filter_map(|(q, n)| Some((*n, n.ln(), now.get(q)?.ln()))).collect();
            let weight: f64 = pairs.iter().map(|(n, ..)| n).sum();
            let mean = |value: &dyn Fn(&(f64, f64, f64)) -> f64| {
                pairs.iter().map(|pair| pair.0 * value(pair)).sum::<f64>() / weight
            };
            let (x, y) = (mean(&|pair| pair.1), mean(&|pair| pair.2));
            xx += pairs.iter().map(|(n, a, _)| n * (a - x) * (a - x)).sum::<f64>();
            yy += pairs.iter().map(|(n, _, b)| n * (b - y) * (b - y)).sum::<f64>();
        }
        // Both are counts with errors: use the slope of standard deviations, not of a regression.
        let slope = (yy / xx).sqrt();
        let steps = (states as f64 / self.states as f64).ln() / step;
        let exponent = 1.0 / (1.0 + (1.0 - slope) * steps);
        // Counts of a few states overestimate it; half of it is observed in chains of moments and electrons at 64 to 256
        // states.
        let exponent = exponent.sqrt();
        (exponent.is_finite() && (0.3..=1.0).contains(&exponent)).then_some(exponent)
    }
}
