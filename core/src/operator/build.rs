//! The vocabulary of a model definition; `#[gpu_operator]` expands to calls of these functions.
//!
//! Fermions: c†, c, n. Local moments: S⁺, S⁻, Sˣ, Sᶻ, S·S with S = σ/2 for spin ½. The `electron_*` forms are the spin
//! of the electrons at a site: S⁺ = c†_↑ c_↓, Sᶻ = (n_↑ − n_↓)/2.

use super::{Factor, Operator, Spin};

/// c†_{site, spin}
pub fn cdag(site: usize, spin: Spin) -> Operator {
    Operator::product(&[Factor::Create(spin, site)])
}

/// c_{site, spin}
pub fn c(site: usize, spin: Spin) -> Operator {
    Operator::product(&[Factor::Annihilate(spin, site)])
}

/// n_{site, spin} = c† c
pub fn n(site: usize, spin: Spin) -> Operator {
    Operator::product(&[Factor::Create(spin, site), Factor::Annihilate(spin, site)])
}

/// n_site = n_↑ + n_↓
pub fn n_total(site: usize) -> Operator {
    n(site, Spin::Up) + n(site, Spin::Down)
}

/// S⁺ of a local moment.
pub fn sp(site: usize) -> Operator {
    Operator::product(&[Factor::Raise(site)])
}

/// S⁻ of a local moment.
pub fn sm(site: usize) -> Operator {
    Operator::product(&[Factor::Lower(site)])
}

/// Sᶻ of a local moment.
pub fn sz(site: usize) -> Operator {
    Operator::product(&[Factor::Sz(site)])
}

/// Sˣ = (S⁺ + S⁻)/2 of a local moment.
pub fn sx(site: usize) -> Operator {
    0.5 * (sp(site) + sm(site))
}

/// Sʸ = (S⁺ − S⁻)/2i of a local moment.
pub fn sy(site: usize) -> Operator {
    (0.5 * (sm(site) - sp(site))).times_i()
}

/// Sᵢ·Sⱼ = ½(S⁺ᵢS⁻ⱼ + S⁻ᵢS⁺ⱼ) + SᶻᵢSᶻⱼ of local moments.
pub fn sdots(i: usize, j: usize) -> Operator {
    0.5 * (sp(i) * sm(j) + sm(i) * sp(j)) + sz(i) * sz(j)
}

/// The scalar chirality Sᵢ·(Sⱼ × S_k) of local moments.
pub fn chirality(i: usize, j: usize, k: usize) -> Operator {
    triple([i, j, k].map(|site| vector(sp(site), sz(site))))
}

/// (Sˣ, Sʸ, Sᶻ) from S⁺ and Sᶻ of a site.
pub(crate) fn vector(raising: Operator, sz: Operator) -> [Operator; 3] {
    let lowering = raising.adjoint();
    [0.5 * (raising.clone() + lowering.clone()), (0.5 * (lowering - raising)).times_i(), sz]
}

/// a·(b × c) of three vectors.
pub fn triple([a, b, c]: [[Operator; 3]; 3]) -> Operator {
    let of =
        |(p, q, r): (usize, usize, usize)| a[p].clone() * (b[q].clone() * c[r].clone() - b[r].clone() * c[q].clone());
    of((0, 1, 2)) + of((1, 2, 0)) + of((2, 0, 1))
}

/// S⁺ = c†_↑ c_↓ of the electrons at a site.
pub fn electron_sp(site: usize) -> Operator {
    Operator::product(&[Factor::Create(Spin::Up, site), Factor::Annihilate(Spin::Down, site)])
}

/// S⁻ = c†_↓ c_↑ of the electrons at a site.
pub fn electron_sm(site: usize) -> Operator {
    Operator::product(&[Factor::Create(Spin::Down, site), Factor::Annihilate(Spin::Up, site)])
}

/// Sᶻ = (n_↑ − n_↓)/2 of the electrons at a site.
pub fn electron_sz(site: usize) -> Operator {
    0.5 * (n(site, Spin::Up) - n(site, Spin::Down))
}

/// Sˣ = (S⁺ + S⁻)/2 of the electrons at a site.
pub fn electron_sx(site: usize) -> Operator {
    0.5 * (electron_sp(site) + electron_sm(site))
}

/// Sʸ = (S⁺ − S⁻)/2i of the electrons at a site.
pub fn electron_sy(site: usize) -> Operator {
    (0.5 * (electron_sm(site) - electron_sp(site))).times_i()
}

/// Sᵢ·Sⱼ of the electrons at two sites.
pub fn electron_sdots(i: usize, j: usize) -> Operator {
    0.5 * (electron_sp(i) * electron_sm(j) + electron_sm(i) * electron_sp(j)) + electron_sz(i) * electron_sz(j)
}

/// Sᵢ·(Sⱼ × S_k) of the electrons at three sites.
pub fn electron_chirality(i: usize, j: usize, k: usize) -> Operator {
    triple([i, j, k].map(|site| vector(electron_sp(site), electron_sz(site))))
}

/// A multiple of the identity.
pub fn scalar(value: f64) -> Operator {
    value * Operator::product(&[])
}

/// b† of a boson.
pub fn bdag(site: usize) -> Operator {
    Operator::product(&[Factor::CreateBoson(site)])
}

/// b of a boson.
pub fn b(site: usize) -> Operator {
    Operator::product(&[Factor::AnnihilateBoson(site)])
}

/// The imaginary unit i: `t * (phi.cos() + I * phi.sin())` of a model definition.
pub fn imaginary_unit() -> Operator {
    Operator::product(&[Factor::ImaginaryUnit])
}

/// X = |0⟩⟨1| + |1⟩⟨0| of a qubit, whose |1⟩ is the state of Sᶻ = ½.
pub fn pauli_x(site: usize) -> Operator {
    sp(site) + sm(site)
}

/// Y = i (|1⟩⟨0| − |0⟩⟨1|) of a qubit.
pub fn pauli_y(site: usize) -> Operator {
    (sp(site) - sm(site)).times_i()
}

/// Z = |0⟩⟨0| − |1⟩⟨1| of a qubit.
pub fn pauli_z(site: usize) -> Operator {
    -2.0 * sz(site)
}
