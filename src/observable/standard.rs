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
    /// Fermions with this number of flavours.
    Flavours(usize),
    /// Local moments of 2S.
    Moments {
        /// 2S
        two_s: u32,
    },
}

impl SiteKind {
    /// 2S of the moments; 1 if there are none.
    pub fn two_s(self) -> u32 {
        match self {
            SiteKind::Moments { two_s } => two_s,
            _ => 1,
        }
    }

    /// The fermion modes of a site; none of a moment.
    pub fn modes(self) -> Vec<Spin> {
        match self {
            SiteKind::Electrons => vec![Spin::Up, Spin::Down],
            SiteKind::Flavours(flavours) => (0..flavours).map(Spin::flavour).collect(),
            SiteKind::Moments { .. } => Vec::new(),
        }
    }

    /// n_i, of all modes.
    pub fn number(self, site: usize) -> Operator {
        self.modes().into_iter().map(|mode| build::n(site, mode)).sum()
    }

    /// Sᶻ_i.
    pub fn sz(self, site: usize) -> Operator {
        let modes = self.modes();
        let f = 0.5 * (modes.len() as f64 - 1.0);
        match modes.is_empty() {
            true => build::sz(site),
            false => {
                let weighted = modes.into_iter().enumerate();
                weighted.map(|(k, mode)| (f - k as f64) * build::n(site, mode)).sum()
            }
        }
    }
}

/// What a mode is called in names of observables.
fn name(mode: Spin) -> String {
    match mode {
        Spin::Up => "up".into(),
        Spin::Down => "dn".into(),
        Spin::Flavour(number) => number.to_string(),
    }
}

/// One value per site.
pub fn sites(kind: SiteKind, sites: usize) -> Vec<Observable> {
    let modes = kind.modes();
    let density = |mode: &Spin| Observable::by_site(&format!("n_{}", name(*mode)), sites, |i| build::n(i, *mode));
    let mut list: Vec<Observable> = modes.iter().map(density).collect();
    if !modes.is_empty() {
        let pairs = |i: usize| -> Operator {
            let both = |k: usize| modes[..k].iter().map(move |below| (k, below));
            let pairs = (0..modes.len()).flat_map(both);
            pairs.map(|(k, below)| build::n(i, *below) * build::n(i, modes[k])).sum()
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
    let of = |mode: Spin| {
        let name = format!("cdag_c_{}", name(mode));
        Observable::by_pair(&name, sites, move |i, j| build::cdag(i, mode) * build::c(j, mode))
    };
    kind.modes().into_iter().map(of).collect()
}
