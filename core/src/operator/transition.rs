//! Terms as elementary transitions of state words, from which every multiply is generated.
//!
//! A normal-ordered product T takes |s⟩ to amplitude · |s ⊕ flip⟩ when (s & care) == pattern, and to zero otherwise; the
//! fermion sign is (−1)^popcount(s & sign). A spin product with S > ½ becomes one transition for each set of local
//! levels. Diagonal products become [`DiagonalTerm`]s.

use super::{Factor, Operator, SiteLayout, Spin};
use eigenforge_templates::exact::DigitFactor;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Where each degree of freedom sits in a state word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// Up electron of site i at bit i, down electron at bit sites + i.
    Fermions {
        /// Number of sites.
        sites: usize,
    },
    /// Level m = Sᶻ + S of site i (0 … 2S) in bits i·width … (i+1)·width.
    Spins {
        /// Number of sites.
        sites: usize,
        /// 2S.
        two_s: u32,
        /// Bits per site.
        width: u32,
    },
    /// Sites of any kind.
    Sites(Arc<SiteLayout>),
}

impl Word {
    /// Bits of a whole state; for fermions those of both species.
    pub fn bits(&self) -> u32 {
        match self {
            Word::Fermions { sites } => 2 * *sites as u32,
            Word::Spins { sites, width, .. } => *sites as u32 * width,
            Word::Sites(layout) => layout.bits(),
        }
    }
}

/// An off-diagonal elementary transition of words of 64 bits, or of 128 where the states are listed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Transition<W = u64> {
    /// Bits to compare.
    pub care: W,
    /// Their required values.
    pub pattern: W,
    /// Bits that flip.
    pub flip: W,
    /// Bits whose parity is the fermion sign.
    pub sign: W,
    /// Amplitude, including constant signs.
    pub amplitude: f64,
}

impl Transition<u128> {
    /// What leaves every word as it is.
    const IDENTITY: Transition<u128> = Transition { care: 0, pattern: 0, flip: 0, sign: 0, amplitude: 1.0 };

    /// The same of words of at most 64 bits.
    #[inline]
    pub fn narrow(self) -> Transition {
        let Transition { care, pattern, flip, sign, amplitude } = self;
        Transition { care: care as u64, pattern: pattern as u64, flip: flip as u64, sign: sign as u64, amplitude }
    }

    /// The amplitude in a state; `None` where it vanishes.
    #[inline]
    pub fn amplitude_in(&self, state: u128) -> Option<f64> {
        let odd = (state & self.sign).count_ones() % 2 == 1;
        (state & self.care == self.pattern).then_some(if odd { -self.amplitude } else { self.amplitude })
    }
}

impl Transition {
    /// The same of words of at most 128 bits, among which these begin at bit `shift`.
    #[inline]
    pub fn wide(self, shift: u32) -> Transition<u128> {
        let bits = |word: u64| u128::from(word) << shift;
        let Transition { care, pattern, flip, sign, amplitude } = self;
        Transition { care: bits(care), pattern: bits(pattern), flip: bits(flip), sign: bits(sign), amplitude }
    }
}

/// A diagonal product as a function of the state word.
#[derive(Clone, Debug, PartialEq)]
pub enum DiagonalTerm<W = u64> {
    /// coefficient · [all bits of both masks are set]: Π n.
    Occupied {
        /// Bits of the up word: bit i is site i.
        up: u64,
        /// Bits of the down word.
        down: u64,
        /// The coefficient.
        coefficient: f64,
    },
    /// coefficient · (−1)^(number of clear bits of `mask`): Π 2Sᶻ of spins ½, the halves in the coefficient.
    Parity {
        /// The bits.
        mask: W,
        /// The coefficient, (½)ᵏ included.
        coefficient: f64,
    },
    /// coefficient · Π (Sᶻ_site)^power.
    Levels {
        /// (site, power) pairs.
        factors: Vec<(usize, u32)>,
        /// The coefficient.
        coefficient: f64,
    },
    /// coefficient · [all bits of the mask are set], of sites of any kind.
    Word {
        /// Bits of the state word.
        mask: W,
        /// The coefficient.
        coefficient: f64,
    },
    /// coefficient · Π of functions of digits, of sites of any kind.
    Digits {
        /// The functions.
        factors: Vec<DigitFactor>,
        /// The coefficient.
        coefficient: f64,
    },
}

impl DiagonalTerm<u128> {
    /// The same of words of at most 64 bits.
    #[inline]
    pub fn narrow(self) -> DiagonalTerm {
        match self {
            DiagonalTerm::Occupied { up, down, coefficient } => DiagonalTerm::Occupied { up, down, coefficient },
            DiagonalTerm::Parity { mask, coefficient } => DiagonalTerm::Parity { mask: mask as u64, coefficient },
            DiagonalTerm::Levels { factors, coefficient } => DiagonalTerm::Levels { factors, coefficient },
            DiagonalTerm::Word { mask, coefficient } => DiagonalTerm::Word { mask: mask as u64, coefficient },
            DiagonalTerm::Digits { factors, coefficient } => DiagonalTerm::Digits { factors, coefficient },
        }
    }
}

impl DiagonalTerm {
    /// The same of words of at most 128 bits.
    #[inline]
    pub fn wide(self) -> DiagonalTerm<u128> {
        match self {
            DiagonalTerm::Occupied { up, down, coefficient } => DiagonalTerm::Occupied { up, down, coefficient },
            DiagonalTerm::Parity { mask, coefficient } => DiagonalTerm::Parity { mask: mask.into(), coefficient },
            DiagonalTerm::Levels { factors, coefficient } => DiagonalTerm::Levels { factors, coefficient },
            DiagonalTerm::Word { mask, coefficient } => DiagonalTerm::Word { mask: mask.into(), coefficient },
            DiagonalTerm::Digits { factors, coefficient } => DiagonalTerm::Digits { factors, coefficient },
        }
    }
}

impl DiagonalTerm<u128> {
    /// The value in a state whose word has this layout.
    #[inline]
    pub fn value(&self, state: u128, word: &Word) -> f64 {
        match self {
            DiagonalTerm::Occupied { up, down, coefficient } => {
                let Word::Fermions { sites } = word else { unreachable!("a term of electrons") };
                let mask = u128::from(*up) | u128::from(*down) << *sites;
                if state & mask == mask { *coefficient } else { 0.0 }
            }
            DiagonalTerm::Parity { mask, coefficient } => {
                let clear = (!state & mask).count_ones();
                if clear % 2 == 1 { -coefficient } else { *coefficient }
            }
            DiagonalTerm::Levels { factors, coefficient } => {
                let Word::Spins { two_s, width, .. } = word else { unreachable!("a term of local moments") };
                let m = |site: usize| {
                    let level = state >> (site as u32 * width) & ((1 << width) - 1);
                    level as f64 - 0.5 * f64::from(*two_s)
                };
                factors.iter().fold(*coefficient, |product, (site, power)| product * m(*site).powi(*power as i32))
            }
            DiagonalTerm::Word { mask, coefficient } => {
                if state & mask == *mask {
                    *coefficient
                } else {
                    0.0
                }
            }
            DiagonalTerm::Digits { factors, coefficient } => {
                let digit =
                    |factor: &DigitFactor| DigitFactor { shift: 0, ..*factor }.value((state >> factor.shift) as u64);
                factors.iter().fold(*coefficient, |product, factor| product * digit(factor))
            }
        }
    }
}

/// Whether a normal-ordered product is diagonal in the occupation basis.
pub(super) fn is_diagonal(product: &[Factor]) -> bool {
    let count = |factor: Factor| product.iter().filter(|other| **other == factor).count();
    let stays = |factor: &Factor| *factor != Factor::ImaginaryUnit && count(*factor) == count(factor.adjoint());
    product.iter().all(stays)
}

/// The diagonal terms of a reduced operator.
pub fn diagonal_terms(operator: &Operator, word: &Word) -> Vec<DiagonalTerm> {
    if let Word::Sites(layout) = word {
        return layout.diagonal_terms(operator).into_iter().map(DiagonalTerm::narrow).collect();
    }
    let diagonal = operator.terms().filter(|(product, _)| is_diagonal(product));
    diagonal
        .map(|(product, coefficient)| match word {
            Word::Spins { two_s, .. } => spin_diagonal(product, coefficient, *two_s),
            _ => occupied(product, coefficient),
        })
        .collect()
}

/// The off-diagonal terms of a reduced operator as transitions of whole state words of at most 64 bits.
pub fn moves(operator: &Operator, word: &Word) -> Vec<Transition> {
    let mut moves = Vec::new();
    for (product, coefficient) in operator.terms().filter(|(product, _)| !is_diagonal(product)) {
        match word {
            Word::Fermions { sites } => {
                let bit = |spin: Spin, site: usize| (spin.index() * sites + site) as u32;
                moves.push(fermion_transition(product, coefficient, bit));
            }
            Word::Spins { two_s, width, .. } => spin_transitions(product, coefficient, *two_s, *width, &mut moves),
            Word::Sites(layout) => return layout.moves(operator).into_iter().map(Transition::narrow).collect(),
        }
    }
    moves
}

/// The off-diagonal terms of a reduced operator that conserves both numbers of electrons, as transitions of the up words
/// and of the down words.
///
/// # Errors
/// The first term that touches both species.
pub fn species_moves(operator: &Operator) -> Result<[Vec<Transition>; 2], &[Factor]> {
    let mut moves = [Vec::new(), Vec::new()];
    for (product, coefficient) in operator.terms().filter(|(product, _)| !is_diagonal(product)) {
        let is_down =
            |factor: &Factor| matches!(factor, Factor::Create(Spin::Down, _) | Factor::Annihilate(Spin::Down, _));
        let down = product.iter().filter(|factor| is_down(factor)).count();
        if down != 0 && down != product.len() {
            return Err(product);
        }
        // An even number of operators of one species passes all modes of the other without a sign.
        let transition = fermion_transition(product, coefficient, |_, site| site as u32);
        moves[usize::from(down != 0)].push(transition);
    }
    Ok(moves)
}

fn occupied(product: &[Factor], coefficient: f64) -> DiagonalTerm {
    // c†₁ c†₂ c₂ c₁ = n₁ n₂: creators ascending and annihilators descending cancel every sign.
    let mask = |species: Spin| {
        let creators = product.iter().filter_map(|factor| match factor {
            Factor::Create(spin, site) if *spin == species => Some(1u64 << site),
            _ => None,
        });
        creators.fold(0, |mask, bit| mask | bit)
    };
    DiagonalTerm::Occupied { up: mask(Spin::Up), down: mask(Spin::Down), coefficient }
}

/// One product of fermion operators as a transition; `mode` gives the bit of a spin and site, before which are the modes of all
/// lower bits.
pub fn fermion_transition(product: &[Factor], coefficient: f64, mode: impl Fn(Spin, usize) -> u32) -> Transition {
    fermion_transition_of(product, coefficient, |spin, site| {
        let bit = 1u128 << mode(spin, site);
        (bit, bit - 1)
    })
    .narrow()
}

/// The same with the bits of the modes before each.
pub(super) fn fermion_transition_of(
    product: &[Factor],
    coefficient: f64,
    mode: impl Fn(Spin, usize) -> (u128, u128),
) -> Transition<u128> {
    let (mut care, mut pattern, mut flipped, mut sign, mut odd) = (0u128, 0u128, 0u128, 0u128, false);
    for factor in product.iter().rev() {
        let ((bit, below), needed) = match factor {
            Factor::Create(spin, site) => (mode(*spin, *site), false),
            Factor::Annihilate(spin, site) => (mode(*spin, *site), true),
            _ => unreachable!("checked: fermions only"),
        };
        if care & bit == 0 {
            care |= bit;
            pattern |= if needed { bit } else { 0 };
        }
        // The state encountered here is s ⊕ flipped, so its sign splits into that of s and a constant.
        sign ^= below;
        odd ^= (flipped & below).count_ones() % 2 == 1;
        flipped ^= bit;
    }
    // Bits fixed by the pattern also give a constant sign.
    odd ^= (pattern & sign & care).count_ones() % 2 == 1;
    sign &= !care;
    Transition { care, pattern, flip: flipped, sign, amplitude: if odd { -coefficient } else { coefficient } }
}

fn spin_diagonal(product: &[Factor], coefficient: f64, two_s: u32) -> DiagonalTerm {
    let mut factors: Vec<(usize, u32)> = Vec::new();
    for factor in product {
        let Factor::Sz(site) = factor else { unreachable!("reduced diagonal spin products hold Sz only") };
        match factors.last_mut().filter(|(last, _)| last == site) {
            Some((_, power)) => *power += 1,
            None => factors.push((*site, 1)),
        }
    }
    if two_s == 1 {
        let mask = factors.iter().fold(0u64, |mask, (site, _)| mask | 1 << site);
        DiagonalTerm::Parity { mask, coefficient: coefficient * 0.5f64.powi(factors.len() as i32) }
    } else {
        DiagonalTerm::Levels { factors, coefficient }
    }
}

/// One transition for each choice of levels at the sites that a spin product touches.
fn spin_transitions(product: &[Factor], coefficient: f64, two_s: u32, width: u32, moves: &mut Vec<Transition>) {
    let mut partial = vec![Transition { amplitude: coefficient, ..Transition::IDENTITY }];
    let mut sites: Vec<usize> = product.iter().map(|factor| factor.site()).collect();
    sites.dedup();
    for site in sites {
        let local: Vec<Factor> = product.iter().copied().filter(|factor| factor.site() == site).collect();
        partial = by_levels(&partial, (site as u32 * width, width, two_s), &local);
    }
    moves.extend(partial.into_iter().filter(|transition| transition.amplitude != 0.0).map(Transition::narrow));
}

/// Transitions with what a product of one site's operators does to a digit (lowest bit, bits, largest value): one for each value.
pub(super) fn by_levels(
    partial: &[Transition<u128>],
    (shift, width, top): (u32, u32, u32),
    local: &[Factor],
) -> Vec<Transition<u128>> {
    let mut all = Vec::new();
    for level in 0..=top {
        let Some((reached, amplitude)) = local_element(local, level, top) else { continue };
        all.extend(partial.iter().map(|transition| Transition {
            care: transition.care | u128::from(super::low_mask(width)) << shift,
            pattern: transition.pattern | u128::from(level) << shift,
            flip: transition.flip | u128::from(level ^ reached) << shift,
            sign: transition.sign,
            amplitude: transition.amplitude * amplitude,
        }));
    }
    all
}

/// Applies a product of one site's operators, of a spin of 2S or of bosons with that cut, to a level: (new level, amplitude),
/// `None` if it vanishes.
pub fn local_element(local: &[Factor], level: u32, two_s: u32) -> Option<(u32, f64)> {
    let s = 0.5 * f64::from(two_s);
    let (mut level, mut amplitude) = (level, 1.0);
    for factor in local.iter().rev() {
        let z = f64::from(level) - s;
        match factor {
            Factor::Raise(_) if level < two_s => {
                amplitude *= (s * (s + 1.0) - z * (z + 1.0)).sqrt();
                level += 1;
            }
            Factor::Lower(_) if level > 0 => {
                amplitude *= (s * (s + 1.0) - z * (z - 1.0)).sqrt();
                level -= 1;
            }
            Factor::Sz(_) => amplitude *= z,
            Factor::CreateBoson(_) if level < two_s => {
                level += 1;
                amplitude *= f64::from(level).sqrt();
            }
            // (Re, Im) → (−Im, Re)
            Factor::ImaginaryUnit => {
                amplitude *= if level == 0 { 1.0 } else { -1.0 };
                level ^= 1;
            }
            Factor::AnnihilateBoson(_) if level > 0 => {
                amplitude *= f64::from(level).sqrt();
                level -= 1;
            }
            _ => return None,
        }
    }
    Some((level, amplitude))
}
