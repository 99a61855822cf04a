//! An interaction of nucleons from an me2j file as an operator: site i is m-state i, ↑ a proton and ↓ a neutron in it.
//!
//! In: the file, ħω, and sites of kind electron. Out: H = Σ ħω (2n + l + 3/2) n_α + V, V between m-states as [`MScheme`] has it; the charges
//! `two_m` = Σ 2m and `odd_l` = Σ l modulo 2, which is 0 for positive parity. States are those of the orbits in the order of the file, m
//! ascending.

use super::Imported;
use crate::operator::Factor::{Annihilate, Create};
use crate::operator::{MOST_TERMS, Operator, Product, SiteKind, SiteSum, Spin};
use crate::su3::{Channel, MScheme, MState};
use std::path::Path;

/// Bits of a state allow as many sites.
const MOST_STATES: usize = 64;

/// Reads a file.
///
/// # Errors
/// A file that cannot be read, or whose m-states are not the sites.
pub(super) fn read(path: &Path, kinds: &[SiteKind], oscillator: f64) -> Result<Imported, String> {
    if let Some(site) = kinds.iter().position(|kind| *kind != SiteKind::Electrons) {
        let kind = kinds[site];
        return Err(format!(
            "an m-state holds a proton and a neutron, found site {site} of kind \"{kind}\": write site = \"electron\", with ↑ for protons"
        ));
    }
    let MScheme { e_max, e2_max, states, terms } =
        MScheme::read(path, MOST_STATES).map_err(|error| error.to_string())?;
    let (path, sites) = (path.display(), kinds.len());
    if states.len() != sites {
        return Err(format!(
            "{path} has {} m-states, those of e_max = {e_max}, E2max = {e2_max}, one for each site, found {sites} sites: write sites = {}, \
             edges = [] in [lattice]",
            states.len(),
            states.len()
        ));
    }
    if terms.len() > MOST_TERMS {
        return Err(format!(
            "expected at most {MOST_TERMS} terms, found {} of {path}: take a smaller e_max or E2max",
            terms.len()
        ));
    }
    let two_body = terms.into_iter().map(|(channel, [a, b, c, d], value)| {
        let [one, other] = match channel {
            Channel::Pn => [Spin::Up, Spin::Down],
            Channel::Pp => [Spin::Up; 2],
            Channel::Nn => [Spin::Down; 2],
        };
        (value, vec![Create(one, a), Create(other, b), Annihilate(other, d), Annihilate(one, c)])
    });
    let energy = |state: &MState| oscillator * (f64::from(2 * state.radial + state.l) + 1.5);
    let one_body = states.iter().enumerate().flat_map(|(site, state)| {
        [Spin::Up, Spin::Down].map(|spin| (energy(state), vec![Create(spin, site), Annihilate(spin, site)]))
    });
    let products: Vec<(f64, Product)> = one_body.chain(two_body).collect();
    let line = match oscillator {
        0.0 => format!("the interaction of {path}: e_max = {e_max}, E2max = {e2_max}"),
        _ => format!("Σ {oscillator} (2n + l + 3/2) n + the interaction of {path}: e_max = {e_max}, E2max = {e2_max}"),
    };
    let sums = |of: fn(&MState) -> i64| states.iter().map(of).collect::<Vec<_>>();
    let charges = vec![
        SiteSum::new("two_m", &sums(|state| state.two_m.into()), None),
        SiteSum::new("odd_l", &sums(|state| state.l.into()), Some(2)),
    ];
    Ok(Imported { charges, ..Imported::new(Operator::recorded(&products, 1, sites, Vec::new()), line) })
}
