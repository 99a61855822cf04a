//! The models that model files name, written the way a user would write them.

use crate::lattice::Lattice;
use crate::operator::Operator;
use eigenforge_macros::gpu_operator;

/// Hubbard model, extended and disordered:
/// H = −Σ_⟨ij⟩σ t_ij w_ij (c†_iσ c_jσ + h.c.) + Σ_i U_i n_i↑ n_i↓ + Σ_i (ε_i − μ) n_i + Σ_⟨ij⟩ V_ij n_i n_j.
///
/// `t` and `v` hold one value per bond, in the order of [`Lattice::bonds`]; `u` and `potential` one per site. The weight of a
/// bond multiplies t only.
#[gpu_operator(conserves(Up, Down))]
pub fn hubbard(lattice: &Lattice, t: &[f64], u: &[f64], potential: &[f64], mu: f64, v: &[f64]) -> Operator {
    let (from, to, weight) = ends(lattice);
    sum!(b in 0..t.len(), s in [Up, Down]; -t[b] * weight[b] * (cdag(from[b], s) * c(to[b], s) + h.c.))
        + sum!(i in lattice.sites(); u[i] * n(i, Up) * n(i, Down))
        + sum!(i in lattice.sites(); (potential[i] - mu) * n(i))
        + sum!(b in 0..v.len(); v[b] * n(from[b]) * n(to[b]))
}

/// Spin-F Hubbard model of 2F + 1 flavours (Nemes et al. 2014, equation 4), extended and disordered:
/// H = −Σ_⟨ij⟩σ t_ij w_ij (c†_iσ c_jσ + h.c.) + Σ_i (U_i/2) Σ_{σ≠σ'} n_iσ n_iσ' + Σ_iσ (ε_i − μ) n_iσ.
///
/// `t` holds one value per bond, in the order of [`Lattice::bonds`]; `u` and `potential` one per site.
#[gpu_operator(conserves(N))]
pub fn spin_hubbard(lattice: &Lattice, flavours: usize, t: &[f64], u: &[f64], potential: &[f64], mu: f64) -> Operator {
    let (from, to, weight) = ends(lattice);
    sum!(b in 0..t.len(), f in 0..flavours;
        -t[b] * weight[b] * (cdag(from[b], Flavour(f)) * c(to[b], Flavour(f)) + h.c.))
        + sum!(i in lattice.sites(), f in 0..flavours, g in 0..f; u[i] * n(i, Flavour(f)) * n(i, Flavour(g)))
        + sum!(i in lattice.sites(), f in 0..flavours; (potential[i] - mu) * n(i, Flavour(f)))
}

/// XXZ model of local moments: H = Σ_⟨ij⟩ w_ij [Jxy_ij (SˣᵢSˣⱼ + SʸᵢSʸⱼ) + Jz_ij SᶻᵢSᶻⱼ] + Σ_i h_i Sᶻᵢ + Σ_i D_i (Sᶻᵢ)².
///
/// `jxy` and `jz` hold one value per bond, in the order of [`Lattice::bonds`]; `field` and `single_ion` one per site. The
/// weight of a bond multiplies both couplings. The spin is that of [`Operator::spin`].
#[gpu_operator(conserves(Sz))]
pub fn xxz(lattice: &Lattice, jxy: &[f64], jz: &[f64], field: &[f64], single_ion: &[f64]) -> Operator {
    let (from, to, weight) = ends(lattice);
    sum!(b in 0..jxy.len(); 0.5 * jxy[b] * weight[b] * (sp(from[b]) * sm(to[b]) + h.c.))
        + sum!(b in 0..jz.len(); jz[b] * weight[b] * sz(from[b]) * sz(to[b]))
        + sum!(i in lattice.sites(); field[i] * sz(i) + single_ion[i] * sz(i) * sz(i))
}

/// The two sites and the weight of each bond.
fn ends(lattice: &Lattice) -> (Vec<usize>, Vec<usize>, Vec<f64>) {
    let bonds = lattice.bonds();
    let column = |of: fn(&crate::lattice::Bond) -> usize| bonds.iter().map(of).collect();
    (column(|bond| bond.i), column(|bond| bond.j), bonds.iter().map(|bond| bond.weight).collect())
}
