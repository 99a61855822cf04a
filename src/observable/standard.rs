//! The observables that every run reports: densities and spins of each site, and correlations of each pair.
//!
//! | name | electrons | flavours | moments |
//! |---|---|---|---|
//! | `n_up`, `n_dn` | ⟨n_i↑⟩, ⟨n_i↓⟩ | | |
//! | `n_0`, `n_1`, … | | ⟨n_if⟩ of flavour f | |
//! | `double_occupancy` | ⟨n_i↑ n_i↓⟩ | Σ_{f<g} ⟨n_if n_ig⟩ | |
//! | `sz` | ⟨(n_i↑ − n_i↓)/2⟩ | ⟨Σ_f (F − f) n_if⟩ | ⟨Sᶻ_i⟩ |
//! | `szsz`, `sdots` | ⟨Sᶻ_i Sᶻ_j⟩, ⟨S_i·S_j⟩ | | the same |
//! | `nn` | ⟨n_i n_j⟩, n = n↑ + n↓ | the same, n = Σ_f n_f | |
//! | `cdag_c_up`, `cdag_c_dn`; `cdag_c_0`, … | ⟨c†_iσ c_jσ⟩ | the same by flavour | |

use super::Observable;
use crate::operator::{Operator, Spin, build};

/// What the sites of a model carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiteKind {
    /// Electrons, ↑ and ↓.
    Electrons,
    /// Fermions of so many flavours.
    Flavours(usize),
    /// Local moments of 2S.
    Moments {
        /// 2S
        two_s: u32,
    },
}

impl SiteKind {
    /// 2S of the moments; 1 where there are none.
    pub fn two_s(self) -> u32 {
        match self {
            SiteKind::Moments { two_s } => two_s,
            _ => 1,
        }
    }

    /// The modes of a site and what they are called; none of a moment.
    fn modes(self) -> Vec<(String, Spin)> {
        match self {
            SiteKind::Electrons => vec![("up".into(), Spin::Up), ("dn".into(), Spin::Down)],
            SiteKind::Flavours(flavours) => (0..flavours).map(|f| (f.to_string(), Spin::flavour(f))).collect(),
            SiteKind::Moments { .. } => Vec::new(),
        }
    }

    /// n_i, of all modes.
    pub fn number(self, site: usize) -> Operator {
        self.modes().into_iter().map(|(_, mode)| build::n(site, mode)).sum()
    }

    /// Sᶻ_i.
    pub fn sz(self, site: usize) -> Operator {
        let modes = self.modes();
        let f = 0.5 * (modes.len() as f64 - 1.0);
        match modes.is_empty() {
            true => build::sz(site),
            false => {
                let weighted = modes.into_iter().enumerate();
                weighted.map(|(k, (_, mode))| (f - k as f64) * build::n(site, mode)).sum()
            }
        }
    }
}

/// One value per site.
pub fn sites(kind: SiteKind, sites: usize) -> Vec<Observable> {
    let modes = kind.modes();
    let density =
        |(name, mode): &(String, Spin)| Observable::by_site(&format!("n_{name}"), sites, |i| build::n(i, *mode));
    let mut list: Vec<Observable> = modes.iter().map(density).collect();
    if !modes.is_empty() {
        let pairs = |i: usize| -> Operator {
            let both = |k: usize| modes[..k].iter().map(move |below| (k, below));
            let pairs = (0..modes.len()).flat_map(both);
            pairs.map(|(k, (_, below))| build::n(i, *below) * build::n(i, modes[k].1)).sum()
        };
        list.push(Observable::by_site("double_occupancy", sites, pairs));
    }
    list.push(Observable::by_site("sz", sites, |i| kind.sz(i)));
    list
}

/// One value per pair of sites: SᶻSᶻ and S·S of electrons and moments, n n of fermions.
pub fn pairs(kind: SiteKind, sites: usize) -> Vec<Observable> {
    let mut list = Vec::new();
    if !matches!(kind, SiteKind::Flavours(_)) {
        let sdots = if kind == SiteKind::Electrons { build::electron_sdots } else { build::sdots };
        list.push(Observable::by_pair("szsz", sites, |i, j| kind.sz(i) * kind.sz(j)));
        list.push(Observable::by_pair("sdots", sites, sdots));
    }
    if !matches!(kind, SiteKind::Moments { .. }) {
        list.push(Observable::by_pair("nn", sites, |i, j| kind.number(i) * kind.number(j)));
    }
    list
}

/// The one-particle density matrix of each mode, ⟨c†_iσ c_jσ⟩.
pub fn one_body(kind: SiteKind, sites: usize) -> Vec<Observable> {
    let of = |(name, mode): (String, Spin)| {
        Observable::by_pair(&format!("cdag_c_{name}"), sites, move |i, j| build::cdag(i, mode) * build::c(j, mode))
    };
    kind.modes().into_iter().map(of).collect()
}
