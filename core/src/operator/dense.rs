//! The dense matrix of a small sector, factor by factor: the reference that every faster multiply must agree with.
//!
//! Nothing is shared with the kernels' bit operations: occupations are a plain list, a fermion sign is counted mode by
//! mode, spins use the textbook matrix elements √(S(S+1) − m(m±1)).

use super::{Factor, Operator, SiteLayout, Spin};

/// A configuration: occupation of each fermion mode (up modes, then down modes; flavour by flavour) or level of each spin.
pub type Configuration = Vec<u32>;

impl Operator {
    /// The operator on a configuration of `sites` sites, as a list of (configuration, amplitude); equal configurations are not merged.
    pub fn apply(&self, sites: usize, state: &[u32]) -> Vec<(Configuration, f64)> {
        self.apply_by(state, |factor, occupation| apply_factor(factor, sites, self.two_s(), occupation))
    }

    /// The same on sites of any kind, whose configurations are the digits of their layout.
    pub fn apply_on(&self, layout: &SiteLayout, state: &[u32]) -> Vec<(Configuration, f64)> {
        self.apply_by(state, |factor, occupation| layout.apply_factor(factor, occupation))
    }

    fn apply_by(&self, state: &[u32], apply: impl Fn(Factor, &mut [u32]) -> f64) -> Vec<(Configuration, f64)> {
        let mut reached = Vec::new();
        for (product, coefficient) in self.terms() {
            let (mut occupation, mut amplitude) = (state.to_vec(), coefficient);
            for factor in product.iter().rev() {
                amplitude *= apply(*factor, &mut occupation);
                if amplitude == 0.0 {
                    break;
                }
            }
            if amplitude != 0.0 {
                reached.push((occupation, amplitude));
            }
        }
        reached
    }
}

fn apply_factor(factor: Factor, sites: usize, two_s: u32, occupation: &mut [u32]) -> f64 {
    let mode = |spin: Spin, site: usize| spin.index() * sites + site;
    match factor {
        Factor::Create(spin, site) | Factor::Annihilate(spin, site) => {
            let (mode, creates) = (mode(spin, site), matches!(factor, Factor::Create(..)));
            if (occupation[mode] == 1) == creates {
                return 0.0;
            }
            let passed: u32 = occupation[..mode].iter().sum();
            occupation[mode] = u32::from(creates);
            if passed % 2 == 1 { -1.0 } else { 1.0 }
        }
        Factor::Sz(site) | Factor::Raise(site) | Factor::Lower(site) => {
            let (reached, element) = level_element(factor, occupation[site], two_s);
            occupation[site] = reached;
            element
        }
        Factor::CreateBoson(_) | Factor::AnnihilateBoson(_) | Factor::ImaginaryUnit => {
            unreachable!("these have a layout")
        }
    }
}

/// The level that an operator of a spin of 2S = `top`, or of bosons with that cut, takes a level to, and its matrix element; the
/// level itself where that is zero.
pub(super) fn level_element(factor: Factor, level: u32, top: u32) -> (u32, f64) {
    let s = 0.5 * f64::from(top);
    let m = f64::from(level) - s;
    match factor {
        Factor::Raise(_) if level < top => (level + 1, (s * (s + 1.0) - m * (m + 1.0)).sqrt()),
        Factor::Lower(_) if level > 0 => (level - 1, (s * (s + 1.0) - m * (m - 1.0)).sqrt()),
        Factor::CreateBoson(_) if level < top => (level + 1, f64::from(level + 1).sqrt()),
        Factor::AnnihilateBoson(_) if level > 0 => (level - 1, f64::from(level).sqrt()),
        Factor::Sz(_) => (level, m),
        _ => (level, 0.0),
    }
}
