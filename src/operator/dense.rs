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
    pub(crate) fn apply_on(&self, layout: &SiteLayout, state: &[u32]) -> Vec<(Configuration, f64)> {
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
    let s = 0.5 * f64::from(two_s);
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
        Factor::Sz(site) => f64::from(occupation[site]) - s,
        Factor::Raise(site) => {
            let m = f64::from(occupation[site]) - s;
            occupation[site] += 1;
            if occupation[site] > two_s { 0.0 } else { (s * (s + 1.0) - m * (m + 1.0)).sqrt() }
        }
        Factor::Lower(site) => {
            let m = f64::from(occupation[site]) - s;
            let element = if occupation[site] == 0 { 0.0 } else { (s * (s + 1.0) - m * (m - 1.0)).sqrt() };
            occupation[site] = occupation[site].saturating_sub(1);
            element
        }
        Factor::CreateBoson(_) | Factor::AnnihilateBoson(_) | Factor::ImaginaryUnit => {
            unreachable!("these have a layout")
        }
    }
}
