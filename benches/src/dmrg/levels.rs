//! The lowest levels of a small sector to the last digit of its smallest coupling, independent of every solver.
//!
//! In: an operator on declared sites, the charges of a sector. Out: its lowest eigenvalues. Configurations are lists of the states of the
//! sites, terms act factor by factor with textbook matrix elements, and all arithmetic is of [double doubles](super::double_double): a
//! dense matrix in Householder's tridiagonal form, whose eigenvalues are counted by Sturm's sequence and bisected (Wilkinson 1965, ch. 5).
//! x + iy of a complex H is the pair (x, y), in which each level occurs twice.

use super::double_double::DoubleDouble;
use eigenforge::operator::{Charge, Factor, Operator, SiteKind};
use std::collections::HashMap;

/// The largest matrix.
pub const LARGEST: usize = 260;

/// The `count` lowest levels, fewer if the sector has fewer; `None` if it is empty or larger than [`LARGEST`].
pub fn lowest(operator: &Operator, kinds: &[SiteKind], charges: &[(Charge, i64)], count: usize) -> Option<Vec<f64>> {
    let is_complex = operator.terms().any(|(product, _)| product.contains(&Factor::ImaginaryUnit));
    let copies = if is_complex { 2 } else { 1 };
    let states = configurations(kinds, charges, LARGEST / copies)?;
    if states.is_empty() {
        return None;
    }
    let n = states.len();
    let (diagonal, beside) = tridiagonal(matrix(operator, kinds, &states, copies), copies * n);
    Some((0..count.min(n)).map(|level| bisected(&diagonal, &beside, copies * level)).collect())
}

/// All configurations with these charges; `None` if there are more than `most`.
fn configurations(kinds: &[SiteKind], charges: &[(Charge, i64)], most: usize) -> Option<Vec<Vec<u64>>> {
    let mut list: Vec<Vec<u64>> = vec![Vec::new()];
    for (site, kind) in kinds.iter().enumerate() {
        let later = |charge: Charge| {
            kinds[site + 1..].iter().fold((0, 0), |(least, largest), kind| {
                let of = || kind.states().map(|state| kind.charge(charge, 0, state));
                (least + of().min().unwrap_or(0), largest + of().max().unwrap_or(0))
            })
        };
        let rest: Vec<(i64, i64)> = charges.iter().map(|(charge, _)| later(*charge)).collect();
        let is_possible = |state: &[u64]| {
            charges.iter().zip(&rest).all(|((charge, wanted), (least, largest))| {
                let here: i64 = kinds.iter().zip(state).map(|(kind, state)| kind.charge(*charge, 0, *state)).sum();
                (here + least..=here + largest).contains(wanted)
            })
        };
        let next = list.iter().flat_map(|before| kind.states().map(move |state| [&before[..], &[state]].concat()));
        list = next.filter(|state| is_possible(state)).collect();
        if list.len() > 50 * most {
            return None;
        }
    }
    (list.len() <= most).then_some(list)
}

/// H over these configurations, real parts before imaginary ones, column by column.
fn matrix(operator: &Operator, kinds: &[SiteKind], states: &[Vec<u64>], copies: usize) -> Vec<DoubleDouble> {
    let n = copies * states.len();
    let number: HashMap<&[u64], usize> = states.iter().enumerate().map(|(k, state)| (&state[..], k)).collect();
    let mut matrix = vec![DoubleDouble::default(); n * n];
    for (column, state) in (0..copies).flat_map(|_| states).enumerate() {
        for (product, coefficient) in operator.terms() {
            let (mut reached, mut amplitude) = (state.clone(), DoubleDouble::from(coefficient));
            let mut is_imaginary = column >= states.len();
            for factor in product.iter().rev() {
                if *factor == Factor::ImaginaryUnit {
                    amplitude = if is_imaginary { -amplitude } else { amplitude };
                    is_imaginary = !is_imaginary;
                } else {
                    amplitude = amplitude * apply(*factor, kinds, &mut reached);
                }
                if amplitude.high == 0.0 {
                    break;
                }
            }
            if let Some(row) = number.get(&reached[..]).filter(|_| amplitude.high != 0.0) {
                let row = row + if is_imaginary { states.len() } else { 0 };
                matrix[row + column * n] = matrix[row + column * n] + amplitude;
            }
        }
    }
    matrix
}

/// Applies a factor; returns the matrix element, 0 where there is none.
fn apply(factor: Factor, kinds: &[SiteKind], state: &mut [u64]) -> DoubleDouble {
    let (site, zero, one) = (factor.site(), DoubleDouble::default(), DoubleDouble::from(1.0));
    let level = state[site];
    match factor {
        Factor::Create(spin, _) | Factor::Annihilate(spin, _) => {
            let Some(bit) = kinds[site].modes().iter().position(|mode| *mode == spin) else { return zero };
            let creates = matches!(factor, Factor::Create(..));
            if (level >> bit & 1 == 1) == creates {
                return zero;
            }
            let fermions = |site: usize| if kinds[site].modes().is_empty() { 0 } else { state[site].count_ones() };
            let passed = (0..site).map(fermions).sum::<u32>() + (level & ((1 << bit) - 1)).count_ones();
            state[site] ^= 1 << bit;
            if passed % 2 == 1 { -one } else { one }
        }
        Factor::Sz(_) => DoubleDouble::from(level as f64 - 0.5 * f64::from(kinds[site].two_s())),
        Factor::Raise(_) | Factor::Lower(_) => {
            let (s, m) = (0.5 * f64::from(kinds[site].two_s()), level as f64 - 0.5 * f64::from(kinds[site].two_s()));
            let step = if matches!(factor, Factor::Raise(_)) { 1.0 } else { -1.0 };
            state[site] = (level as i64 + step as i64) as u64;
            DoubleDouble::from(s * (s + 1.0) - m * (m + step)).sqrt()
        }
        Factor::CreateBoson(_) if level >= *kinds[site].states().end() => zero,
        Factor::CreateBoson(_) => {
            state[site] = level + 1;
            DoubleDouble::from((level + 1) as f64).sqrt()
        }
        Factor::AnnihilateBoson(_) => {
            state[site] = level.saturating_sub(1);
            DoubleDouble::from(level as f64).sqrt()
        }
        Factor::ImaginaryUnit => zero,
    }
}

/// Householder's tridiagonal form of a symmetric matrix: its diagonal, and the squares beside it.
fn tridiagonal(mut a: Vec<DoubleDouble>, n: usize) -> (Vec<DoubleDouble>, Vec<DoubleDouble>) {
    let mut beside = vec![DoubleDouble::default(); n.saturating_sub(1)];
    for k in 0..n.saturating_sub(1) {
        let column: Vec<DoubleDouble> = (k + 1..n).map(|i| a[i + k * n]).collect();
        let square = column.iter().fold(DoubleDouble::default(), |sum, x| sum + *x * *x);
        beside[k] = square;
        if column[1..].iter().all(|x| x.high == 0.0) {
            continue;
        }
        let norm = square.sqrt();
        let mut v = column;
        v[0] = if v[0].high > 0.0 { v[0] + norm } else { v[0] - norm };
        let length = v.iter().fold(DoubleDouble::default(), |sum, x| sum + *x * *x);
        let two = DoubleDouble::from(2.0) / length;
        // p = 2 A v / vᵀv, w = p − v (vᵀp) / vᵀv, A ← A − v wᵀ − w vᵀ.
        let m = n - k - 1;
        let at = |i: usize, j: usize| (i + k + 1) + (j + k + 1) * n;
        let mut w: Vec<DoubleDouble> =
            (0..m).map(|i| two * (0..m).fold(DoubleDouble::default(), |sum, j| sum + a[at(j, i)] * v[j])).collect();
        let overlap = v.iter().zip(&w).fold(DoubleDouble::default(), |sum, (v, w)| sum + *v * *w) / length;
        w.iter_mut().zip(&v).for_each(|(w, v)| *w = *w - overlap * *v);
        for j in 0..m {
            for i in 0..m {
                a[at(i, j)] = a[at(i, j)] - v[i] * w[j] - w[i] * v[j];
            }
        }
    }
    ((0..n).map(|i| a[i * (n + 1)]).collect(), beside)
}

/// Eigenvalue number `level`, ascending.
fn bisected(diagonal: &[DoubleDouble], beside: &[DoubleDouble], level: usize) -> f64 {
    let radius = |k: usize| {
        let of = |k: Option<usize>| k.and_then(|k| beside.get(k)).map_or(0.0, |square| square.high.sqrt());
        of(k.checked_sub(1)) + of(Some(k))
    };
    let bound = |sign: f64| (0..diagonal.len()).map(|k| sign * diagonal[k].high + radius(k)).fold(f64::MIN, f64::max);
    let (mut low, mut high) = (DoubleDouble::from(-bound(-1.0)), DoubleDouble::from(bound(1.0)));
    let widest = (high - low).abs().high.max(f64::MIN_POSITIVE);
    low = low - DoubleDouble::from(1e-10 * widest);
    high = high + DoubleDouble::from(1e-10 * widest);
    for _ in 0..110 {
        let middle = (low + high) * DoubleDouble::from(0.5);
        if below(diagonal, beside, middle, 1e-60 * widest) > level { high = middle } else { low = middle }
    }
    high.high
}

/// How many eigenvalues are below x: negative pivots of T − x.
fn below(diagonal: &[DoubleDouble], beside: &[DoubleDouble], x: DoubleDouble, tiny: f64) -> usize {
    let (mut count, mut pivot) = (0, DoubleDouble::from(1.0));
    for (k, d) in diagonal.iter().enumerate() {
        pivot = *d - x - if k > 0 { beside[k - 1] / pivot } else { DoubleDouble::default() };
        if pivot.high == 0.0 {
            pivot = DoubleDouble::from(-tiny.max(f64::MIN_POSITIVE));
        }
        count += usize::from(pivot.high < 0.0);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use eigenforge::operator::Spin;

    /// Two electrons on two sites: E = U/2 − √(U²/4 + 4t²), −4t²/U to first order; here to 1e-8 of it at U = 1e10 t.
    #[test]
    fn superexchange_beside_ten_orders() {
        let hop = |spin| Operator::product(&[Factor::Create(spin, 0), Factor::Annihilate(spin, 1)]) * -1.0;
        let hops = hop(Spin::Up) + hop(Spin::Down);
        let double = |site| {
            let number = |spin| [Factor::Create(spin, site), Factor::Annihilate(spin, site)];
            Operator::product(&[number(Spin::Up), number(Spin::Down)].concat()) * 1e10
        };
        let operator = hops.adjoint() + hops + double(0) + double(1);
        let charges = [(Charge::Up, 1), (Charge::Down, 1)];
        let found = lowest(&operator, &[SiteKind::Electrons; 2], &charges, 4).unwrap();
        assert!((found[0] / -4e-10 - 1.0).abs() < 1e-8, "{found:?}");
        assert!(found[1].abs() < 1e-18 && (found[2] - 1e10).abs() < 1e-5, "{found:?}");
    }
}
