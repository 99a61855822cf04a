//! The models that model files name, written the way a user would write them.

use crate::basis::Sector;
use crate::exact::Model;
use crate::gpu_operator;
use crate::input::{ModelFile, ModelSpec, SectorSpec};
use crate::lattice::Lattice;
use crate::operator::{Operator, OperatorError};

/// Hubbard model, extended and disordered:
/// H = −Σ_⟨ij⟩σ t_ij w_ij (c†_iσ c_jσ + h.c.) + Σ_i U_i n_i↑ n_i↓ + Σ_i (ε_i − μ) n_i + Σ_⟨ij⟩ V_ij n_i n_j.
///
/// `t` and `v` hold one value a bond, in the order of [`Lattice::bonds`]; `u` and `potential` one a site. The weight of a
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
/// `t` holds one value a bond, in the order of [`Lattice::bonds`]; `u` and `potential` one a site.
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
/// `jxy` and `jz` hold one value a bond, in the order of [`Lattice::bonds`]; `field` and `single_ion` one a site. The
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

impl ModelFile {
    /// The operator of the file's model on its lattice.
    pub fn operator(&self) -> Operator {
        let operator = match &self.model {
            ModelSpec::Hubbard { t, u, potential, mu, v } => hubbard(&self.lattice, t, u, potential, *mu, v),
            ModelSpec::SpinHubbard { two_f, t, u, potential, mu } => {
                spin_hubbard(&self.lattice, *two_f as usize + 1, t, u, potential, *mu)
            }
            ModelSpec::Xxz { two_s, jxy, jz, field, single_ion } => {
                xxz(&self.lattice, jxy, jz, field, single_ion).spin(*two_s)
            }
        };
        operator.built_in(self.model.name())
    }

    /// Model, lattice and sector in letters, digits and underscores.
    pub fn problem_name(&self) -> String {
        let size: Vec<String> = self.lattice.size().iter().map(usize::to_string).collect();
        let place = match size.is_empty() {
            true => format!("{}sites", self.lattice.sites().len()),
            false => format!("{}_{}", self.lattice.kind().name(), size.join("x")),
        };
        let sector = match &self.sector {
            SectorSpec::Flavours { flavours } => {
                let numbers: Vec<String> = flavours.iter().map(usize::to_string).collect();
                format!("flavours_{}", numbers.join("_"))
            }
            SectorSpec::Fermions { up, down } => format!("{up}up_{down}dn"),
            SectorSpec::Spins { two_sz } => format!("2sz_{two_sz}").replace('-', "m"),
        };
        format!("{}_{place}_{sector}", self.model.name())
    }

    /// The model in its sector.
    ///
    /// # Errors
    /// An operator that cannot be diagonalised there: flavours, words of more than 64 bits.
    pub fn to_model(&self) -> Result<Model, OperatorError> {
        let sector = match self.sector {
            SectorSpec::Flavours { .. } => {
                let term = "the hopping of flavour 0".into();
                return Err(OperatorError::Flavours { term });
            }
            SectorSpec::Fermions { up, down } => Sector::Fermions { up, down },
            SectorSpec::Spins { two_sz } => Sector::Spins { two_sz },
        };
        Ok(Model::new(self.operator(), sector)?.named(&self.problem_name()))
    }
}
