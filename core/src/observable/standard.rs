//! The observables that every run reports: densities and spins of each site, and correlations of each pair.
//!
//! | name | electrons | flavours | moments | bosons |
//! |---|---|---|---|---|
//! | `n_up`, `n_dn` | ⟨n_i↑⟩, ⟨n_i↓⟩ | | | |
//! | `n_0`, `n_1`, … | | ⟨n_if⟩ of flavour f | | |
//! | `n_boson` | | | | ⟨b†_i b_i⟩ |
//! | `double_occupancy` | ⟨n_i↑ n_i↓⟩ | Σ_{f<g} ⟨n_if n_ig⟩ | | |
//! | `sz` | ⟨(n_i↑ − n_i↓)/2⟩ | ⟨Σ_f (F − f) n_if⟩ | ⟨Sᶻ_i⟩ | |
//! | `szsz`, `sdots` | ⟨Sᶻ_i Sᶻ_j⟩, ⟨S_i·S_j⟩ | | the same | |
//! | `nn` | ⟨n_i n_j⟩, n = n↑ + n↓ | the same, n = Σ_f n_f | | the same |
//! | `cdag_c_up`, `cdag_c_dn`; `cdag_c_0`, … | ⟨c†_iσ c_jσ⟩ | the same by flavour | | |
//! | `z`, `zz` | | | qubits: ⟨Z_i⟩, ⟨Z_i Z_j⟩ | |
//!
//! On sites of several kinds an observable is zero where a site does not have it.

use super::Observable;
use crate::operator::{Carrier, Operator, SiteKind, Spin, build};

/// What a mode is called in names of observables.
fn name(mode: Spin) -> String {
    match mode {
        Spin::Up => "up".into(),
        Spin::Down => "dn".into(),
        Spin::Flavour(number) => number.to_string(),
    }
}

/// Every mode that some site has, in the order of modes.
fn modes(kinds: &[SiteKind]) -> Vec<Spin> {
    let mut modes: Vec<Spin> = kinds.iter().flat_map(|kind| kind.modes()).collect();
    modes.sort_unstable();
    modes.dedup();
    modes
}

/// The operator of a site if the site has it, else zero.
fn where_there(has: bool, operator: impl FnOnce() -> Operator) -> Operator {
    if has { operator() } else { Operator::zero() }
}

fn is_boson(kind: SiteKind) -> bool {
    kind.carrier() == Carrier::Bosons
}

/// One value per site.
pub fn sites(kinds: &[SiteKind]) -> Vec<Observable> {
    let (count, all) = (kinds.len(), modes(kinds));
    let by_site = |name: &str, operator: &dyn Fn(usize) -> Operator| Observable::by_site(name, count, operator);
    let density = |mode: &Spin| {
        by_site(&format!("n_{}", name(*mode)), &|i| where_there(kinds[i].modes().contains(mode), || build::n(i, *mode)))
    };
    let mut list: Vec<Observable> = all.iter().map(density).collect();
    if all.len() > 1 {
        let pairs = |i: usize| -> Operator {
            let modes = kinds[i].modes();
            let both = |k: usize| modes[..k].iter().map(move |below| (k, below));
            let pairs = (0..modes.len()).flat_map(both);
            pairs.map(|(k, below)| build::n(i, *below) * build::n(i, modes[k])).sum()
        };
        list.push(by_site("double_occupancy", &pairs));
    }
    if kinds.iter().any(|kind| is_boson(*kind)) {
        list.push(by_site("n_boson", &|i| where_there(is_boson(kinds[i]), || kinds[i].number(i))));
    }
    let is_qubit = |i: usize| kinds[i].has_pauli_z();
    if (0..count).any(is_qubit) {
        list.push(by_site("z", &|i| where_there(is_qubit(i), || build::pauli_z(i))));
    }
    let has_spin = |i: usize| kinds[i].has_sz();
    if (0..count).any(has_spin) {
        list.push(by_site("sz", &|i| where_there(has_spin(i), || kinds[i].sz(i))));
    }
    list
}

/// One value per pair of sites: SᶻSᶻ and S·S of electrons and moments, n n of particles, ZZ of qubits.
pub fn pairs(kinds: &[SiteKind]) -> Vec<Observable> {
    let (count, mut list) = (kinds.len(), Vec::new());
    let raising = |i: usize| kinds[i].raising(i);
    if (0..count).any(|i| raising(i).is_some()) {
        let sz = |i: usize| where_there(raising(i).is_some(), || kinds[i].sz(i));
        let sdots = |i: usize, j: usize| kinds[i].dot(i, kinds[j], j).unwrap_or_else(Operator::zero);
        list.push(Observable::by_pair("szsz", count, |i, j| sz(i) * sz(j)));
        list.push(Observable::by_pair("sdots", count, sdots));
    }
    if kinds.iter().any(|kind| is_boson(*kind) || !kind.modes().is_empty()) {
        list.push(Observable::by_pair("nn", count, |i, j| kinds[i].number(i) * kinds[j].number(j)));
    }
    let is_qubit = |i: usize| kinds[i].has_pauli_z();
    if (0..count).any(is_qubit) {
        let z = |i: usize| where_there(is_qubit(i), || build::pauli_z(i));
        list.push(Observable::by_pair("zz", count, |i, j| z(i) * z(j)));
    }
    list
}

/// The one-particle density matrix of each mode, ⟨c†_iσ c_jσ⟩.
pub fn one_body(kinds: &[SiteKind]) -> Vec<Observable> {
    let of = |mode: Spin| {
        let name = format!("cdag_c_{}", name(mode));
        let has = move |i: usize| kinds[i].modes().contains(&mode);
        Observable::by_pair(&name, kinds.len(), move |i, j| {
            where_there(has(i) && has(j), || build::cdag(i, mode) * build::c(j, mode))
        })
    };
    modes(kinds).into_iter().map(of).collect()
}
