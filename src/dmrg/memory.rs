//! What a run will keep resident, before it allocates.
//!
//! In: the chain and the number of states. Out: bytes by item, an estimate: the states of a cut are spread over the
//! sectors as the square of their share at infinite temperature, which is sharper than that; how sharply a ground state
//! spreads is not known before.

use super::chain::Chain;
use super::charges::Charges;
use super::davidson::WIDTH;
use std::collections::BTreeMap;

/// States of each sector at cut `p`.
pub(super) fn spread(chain: &Chain, p: usize, states: usize) -> BTreeMap<Charges, f64> {
    let squares: BTreeMap<Charges, f64> = chain.reachable.at(p).iter().map(|(q, f)| (*q, f * f)).collect();
    let sum: f64 = squares.values().sum();
    let ends = p.min(chain.sites - p) as f64;
    let most = (states as f64).min((chain.site.dimension() as f64).powf(ends));
    squares.into_iter().map(|(q, square)| (q, most * square / sum)).collect()
}

/// (what it is, bytes).
pub fn plan(chain: &Chain, states: usize) -> Vec<(String, u64)> {
    let (mut blocks, mut kept, mut longest) = (0.0, 0.0, 0.0f64);
    for p in 1..chain.sites {
        let here = spread(chain, p, states);
        let at = |q: Charges| here.get(&q).copied().unwrap_or(0.0);
        for change in &chain.sum.cuts[p].changes {
            blocks += here.iter().map(|(q, n)| n * at(*q + *change)).sum::<f64>();
        }
        let before = spread(chain, p - 1, states);
        let grown = |q: Charges| -> f64 {
            let states = chain.site.charges().iter();
            states.map(|charge| before.get(&(q - *charge)).copied().unwrap_or(0.0)).sum()
        };
        kept += here.iter().map(|(q, n)| n * grown(*q)).sum::<f64>();
        if p + 1 < chain.sites {
            let behind = spread(chain, p + 1, states);
            let right = |q: Charges| -> f64 {
                let states = chain.site.charges().iter();
                states.map(|charge| behind.get(&(q + *charge)).copied().unwrap_or(0.0)).sum()
            };
            longest = longest.max(here.keys().map(|q| grown(*q) * right(*q)).sum());
        }
    }
    let bytes = |elements: f64| (8.0 * elements) as u64;
    vec![
        ("operators of all blocks".into(), bytes(blocks)),
        ("kept states".into(), bytes(kept)),
        ("vectors of one bond".into(), bytes((2 * WIDTH + 8) as f64 * longest)),
    ]
}
