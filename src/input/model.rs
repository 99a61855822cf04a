//! `[model]`: which Hamiltonian, with which amplitudes.
//!
//! In: the section and the lattice. Out: a [`ModelSpec`] with one value per bond or site.

use super::observables::ObservablesSpec;
use super::problem::Wrong;
use super::section::{Amount, Placed, Problems, Section, Source};
use super::terms::{self, TermsSpec};
use crate::lattice::Lattice;
use crate::operator::kind_names;
use serde::Serialize;

/// The Hamiltonian and its amplitudes, one per bond in the order of [`Lattice::bonds`] or one per site. Bond amplitudes are
/// **as written, without the bond's weight**: the term of bond b is amplitude\[b\] · `bonds()[b].weight`
/// ([`ModelSpec::weighted`] multiplies).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "name", rename_all = "snake_case")]
pub enum ModelSpec {
    /// H = −Σ_{⟨ij⟩σ} t_ij w_ij (c†_iσ c_jσ + h.c.) + Σ_i U_i n_i↑ n_i↓ + Σ_i (ε_i − μ) n_i + Σ_{⟨ij⟩} V_ij n_i n_j,
    /// n_i = n_i↑ + n_i↓. The weight w multiplies t only.
    Hubbard {
        /// t, one per bond; the minus sign is inside the Hamiltonian.
        t: Vec<f64>,
        /// U, one per site.
        u: Vec<f64>,
        /// ε, one per site (default 0).
        potential: Vec<f64>,
        /// μ (default 0).
        mu: f64,
        /// V, one per bond (default 0), not multiplied by the bond's weight.
        v: Vec<f64>,
    },
    /// H = −Σ_{⟨ij⟩σ} t_ij w_ij (c†_iσ c_jσ + h.c.) + Σ_i (U_i/2) Σ_{σ≠σ'} n_iσ n_iσ' + Σ_iσ (ε_i − μ) n_iσ with 2F + 1
    /// flavours σ (Nemes et al. 2014, equation 4). For DMRG.
    SpinHubbard {
        /// 2F: one less than the number of flavours.
        two_f: u32,
        /// t, one per bond; the minus sign is inside the Hamiltonian.
        t: Vec<f64>,
        /// U, one per site.
        u: Vec<f64>,
        /// ε, one per site (default 0).
        potential: Vec<f64>,
        /// μ (default 0).
        mu: f64,
    },
    /// H = Σ_{⟨ij⟩} w_ij [Jxy_ij (Sx_i Sx_j + Sy_i Sy_j) + Jz_ij Sz_i Sz_j] + Σ_i h_i Sz_i + Σ_i D_i (Sz_i)².
    /// Spin operators, not Pauli matrices; J > 0 is antiferromagnetic.
    Xxz {
        /// Twice the spin of a site (1 for spin ½).
        two_s: u32,
        /// Jxy, one per bond.
        jxy: Vec<f64>,
        /// Jz, one per bond.
        jz: Vec<f64>,
        /// h, one per site (default 0).
        field: Vec<f64>,
        /// D, one per site (default 0).
        single_ion: Vec<f64>,
    },
    /// Any operator on sites of any kind.
    Terms(Box<TermsSpec>),
}

impl ModelSpec {
    /// Its name in a model file.
    pub fn name(&self) -> &'static str {
        match self {
            ModelSpec::Hubbard { .. } => "hubbard",
            ModelSpec::SpinHubbard { .. } => "spin_hubbard",
            ModelSpec::Xxz { .. } => "xxz",
            ModelSpec::Terms(_) => "terms",
        }
    }

    /// Bond amplitudes times the weights of the bonds.
    pub fn weighted(amplitudes: &[f64], lattice: &Lattice) -> Vec<f64> {
        amplitudes.iter().zip(lattice.bonds()).map(|(amplitude, bond)| amplitude * bond.weight).collect()
    }

    /// The Hamiltonian as it is printed before a run; terms that vanish are left out.
    pub fn formula(&self) -> String {
        let any = |values: &[f64]| values.iter().any(|value| *value != 0.0);
        match self {
            ModelSpec::Hubbard { potential, mu, v, .. } => {
                let mut text = "H = -t Σ_<ij>σ w_ij (c†_iσ c_jσ + h.c.) + U Σ_i n_i↑ n_i↓".to_string();
                text += if any(potential) { " + Σ_i ε_i n_i" } else { "" };
                text += if *mu != 0.0 { " - μ Σ_i n_i" } else { "" };
                text += if any(v) { " + V Σ_<ij> n_i n_j" } else { "" };
                text
            }
            ModelSpec::SpinHubbard { potential, mu, .. } => {
                let mut text = "H = -t Σ_<ij>σ w_ij (c†_iσ c_jσ + h.c.) + U/2 Σ_i Σ_{σ≠σ'} n_iσ n_iσ'".to_string();
                text += if any(potential) { " + Σ_iσ ε_i n_iσ" } else { "" };
                text += if *mu != 0.0 { " - μ Σ_iσ n_iσ" } else { "" };
                text
            }
            ModelSpec::Xxz { field, single_ion, .. } => {
                let mut text = "H = Σ_<ij> w_ij [Jxy (Sx_i Sx_j + Sy_i Sy_j) + Jz Sz_i Sz_j]".to_string();
                text += if any(field) { " + Σ_i h_i Sz_i" } else { "" };
                text += if any(single_ion) { " + Σ_i D_i (Sz_i)²" } else { "" };
                text
            }
            ModelSpec::Terms(spec) => {
                let TermsSpec { text, terms, .. } = &**spec;
                let one_line = |line: &String| line.split_whitespace().collect::<Vec<_>>().join(" ");
                let lines: Vec<String> = text.iter().chain(terms).map(one_line).collect();
                format!("H = {}", lines.join("\n             + "))
            }
        }
    }

    /// The amplitudes in a line: a number where all are equal, else their range.
    pub fn amplitudes(&self) -> String {
        let all = |name: &str, values: &[f64]| format!("{name} {}", range(values));
        let shown = |values: &[f64]| values.iter().any(|value| *value != 0.0);
        let mut parts = vec![];
        match self {
            ModelSpec::Hubbard { t, u, potential, mu, v } => {
                parts.extend([all("t", t), all("U", u)]);
                parts.extend(shown(potential).then(|| all("ε", potential)));
                parts.extend((*mu != 0.0).then(|| format!("μ = {mu}")));
                parts.extend(shown(v).then(|| all("V", v)));
            }
            ModelSpec::SpinHubbard { two_f, t, u, potential, mu } => {
                parts.extend([format!("F = {}", spin_name(*two_f)), all("t", t), all("U", u)]);
                parts.extend(shown(potential).then(|| all("ε", potential)));
                parts.extend((*mu != 0.0).then(|| format!("μ = {mu}")));
            }
            ModelSpec::Xxz { two_s, jxy, jz, field, single_ion } => {
                parts.extend([format!("S = {}", spin_name(*two_s)), all("Jxy", jxy), all("Jz", jz)]);
                parts.extend(shown(field).then(|| all("h", field)));
                parts.extend(shown(single_ion).then(|| all("D", single_ion)));
            }
            ModelSpec::Terms(spec) => {
                let TermsSpec { sites, parameters, operator, .. } = &**spec;
                parts.push(format!("sites of kind {}", kind_names(sites)));
                let numbers = if operator.is_complex() { "complex" } else { "real" };
                parts.push(format!("{} products, {numbers}", operator.len()));
                parts.extend(parameters.iter().map(|(name, value)| all(name, &value.numbers())));
                let forbidden = operator.forbidden().len();
                parts.extend((forbidden > 0).then(|| format!("{forbidden} forbidden patterns")));
            }
        }
        parts.join(", ")
    }
}

fn range(values: &[f64]) -> String {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    match values {
        [] => "has no bond".into(),
        _ if least == most => format!("= {least}"),
        _ => format!("from {least} to {most}"),
    }
}

/// 1 → "1/2", 2 → "1".
pub(crate) fn spin_name(two_s: u32) -> String {
    if two_s.is_multiple_of(2) { (two_s / 2).to_string() } else { format!("{two_s}/2") }
}

/// The section as read, before the lattice is known.
pub(super) enum Draft {
    Hubbard { t: Given, u: Given, potential: Given, mu: f64, v: Given },
    SpinHubbard { two_f: u32, t: Given, u: Given, potential: Given, mu: f64 },
    Xxz { two_s: u32, jxy: Given, jz: Given, field: Given, single_ion: Given },
    Terms(Box<terms::Draft>),
}

/// An amplitude that may have been given, and its key.
#[derive(Clone)]
pub(super) struct Given {
    key: &'static str,
    amount: Option<Placed<Amount>>,
}

/// Which sector keys the model has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ModelKind {
    Hubbard,
    SpinHubbard,
    Xxz,
    Terms,
}

/// Reads the section; problems go to the list, and `None` comes back if the model cannot be named. The family is known
/// as soon as the name is, so that the sector can be checked although an amplitude is wrong.
pub(super) fn read(
    section: Section<'_>,
    file: &Section<'_>,
    problems: &Problems,
) -> Option<(ModelKind, Option<Draft>)> {
    section.require(
        "name",
        "name = \"hubbard\", name = \"heisenberg\", name = \"xxz\", name = \"terms\" for any other, or for DMRG name = \"spin_hubbard\"",
    );
    let families = [
        ("hubbard", (ModelKind::Hubbard, false)),
        ("xxz", (ModelKind::Xxz, false)),
        // XXZ with one coupling.
        ("heisenberg", (ModelKind::Xxz, true)),
        ("spin_hubbard", (ModelKind::SpinHubbard, false)),
        ("terms", (ModelKind::Terms, false)),
    ];
    let family = section.choice("name", &families);
    let Some(Placed { value: (family, isotropic), .. }) = family else {
        return None; // without a name no other key can be judged
    };
    let before = problems.len();
    let given = |key| Given { key, amount: section.amount(key) };
    let draft = match family {
        ModelKind::Hubbard => {
            section.require("t", "the hopping: t = 1.0, or a list with one value per bond");
            section.require("u", "the repulsion on a site: u = 4.0, or a list with one value per site");
            let (t, u, potential, v) = (given("t"), given("u"), given("potential"), given("v"));
            Draft::Hubbard { t, u, potential, mu: section.number("mu").map_or(0.0, |mu| mu.value), v }
        }
        ModelKind::SpinHubbard => {
            section.require("spin", "the spin F of the fermions: spin = 1.5 for four flavours");
            section.require("t", "the hopping: t = 1.0, or a list with one value per bond");
            section.require(
                "u",
                "the repulsion between two flavours on a site: u = 4.0, or a list with one value per site",
            );
            let two_f = read_spin(&section, problems, MOST_TWO_F);
            let (t, u, potential) = (given("t"), given("u"), given("potential"));
            Draft::SpinHubbard { two_f, t, u, potential, mu: section.number("mu").map_or(0.0, |mu| mu.value) }
        }
        ModelKind::Xxz if isotropic => {
            section.require("j", "the coupling of S·S: j = 1.0, or a list with one value per bond");
            let (j, field, single_ion) = (given("j"), given("field"), given("single_ion"));
            let two_s = read_spin(&section, problems, MOST_TWO_S);
            Draft::Xxz { two_s, jxy: j.clone(), jz: j, field, single_ion }
        }
        ModelKind::Xxz => {
            section.require("jxy", "the coupling of Sx and Sy: jxy = 1.0, or a list with one value per bond");
            section.require("jz", "the coupling of Sz: jz = 1.0, or a list with one value per bond");
            let (jxy, jz, field, single_ion) = (given("jxy"), given("jz"), given("field"), given("single_ion"));
            Draft::Xxz { two_s: read_spin(&section, problems, MOST_TWO_S), jxy, jz, field, single_ion }
        }
        ModelKind::Terms => {
            let draft = terms::read(&section, file, problems);
            section.finish("key", |key| match key {
                "t" | "u" | "jxy" | "jz" | "mu" | "v" => Some("numbers of H stand in a section [parameters]".into()),
                _ => None,
            });
            let draft = draft.filter(|_| problems.len() == before);
            return Some((family, draft.map(|draft| Draft::Terms(Box::new(draft)))));
        }
    };
    section.finish("key", |key| match (family, key) {
        (ModelKind::Hubbard, "spin") => Some("electrons have spin 1/2; `spin` belongs to xxz and spin_hubbard".into()),
        (ModelKind::Hubbard | ModelKind::SpinHubbard, "jxy" | "jz" | "field" | "single_ion") => {
            Some(format!("`{key}` belongs to the model xxz"))
        }
        (ModelKind::SpinHubbard, "v") => Some("`v` belongs to the model hubbard".into()),
        (ModelKind::Xxz, "jxy" | "jz") => Some("`heisenberg` has one coupling, `j`; `xxz` has these two".into()),
        (ModelKind::Xxz, "j") => {
            Some("`xxz` has `jxy` and `jz`; one coupling for both is `j` of the model heisenberg".into())
        }
        (ModelKind::Xxz, "t" | "u" | "mu" | "v" | "potential") => Some(format!("`{key}` belongs to the model hubbard")),
        _ => None,
    });
    Some((family, (problems.len() == before).then_some(draft)))
}

/// 2S of the largest local moment, and 2F of the most flavours.
const MOST_TWO_S: u32 = crate::operator::MOST_LEVELS;
const MOST_TWO_F: u32 = crate::operator::Spin::MOST_FLAVOURS as u32 - 1;

/// Twice the spin; ½ if there is none.
fn read_spin(section: &Section<'_>, problems: &Problems, most: u32) -> u32 {
    let Some(spin) = section.number("spin") else { return 1 };
    let two_s = 2.0 * spin.value;
    if (1.0..=f64::from(most)).contains(&two_s) && two_s.fract() == 0.0 {
        return two_s as u32;
    }
    let (expected, found) = (format!("one of 0.5, 1, 1.5, … up to {}", spin_name(most)), spin.value.to_string());
    problems.add(spin.span, Wrong::OutOfRange { key: "spin".into(), expected, found });
    1
}

impl Draft {
    /// One value a bond or site, now that there is a lattice; `None` (and problems) where a list has another length.
    pub(super) fn resolve(
        self,
        lattice: &Lattice,
        source: Source<'_>,
        observables: &ObservablesSpec,
        problems: &Problems,
    ) -> Option<ModelSpec> {
        let (sites, bonds) = (lattice.sites().len(), lattice.bonds().len());
        let bond = |given: Given| given.spread(bonds, "bond", || bond_order(lattice), problems);
        let site = |given: Given| given.spread(sites, "site", || format!("site 0 to site {}", sites - 1), problems);
        Some(match self {
            Draft::Terms(draft) => ModelSpec::Terms(Box::new(draft.resolve(lattice, source, observables, problems)?)),
            Draft::Hubbard { t, u, potential, mu, v } => {
                let (t, u, potential, v) = (bond(t), site(u), site(potential), bond(v));
                ModelSpec::Hubbard { t: t?, u: u?, potential: potential?, mu, v: v? }
            }
            Draft::SpinHubbard { two_f, t, u, potential, mu } => {
                let (t, u, potential) = (bond(t), site(u), site(potential));
                ModelSpec::SpinHubbard { two_f, t: t?, u: u?, potential: potential?, mu }
            }
            Draft::Xxz { two_s, jxy, jz, field, single_ion } => {
                // `j` is both, and what is wrong with it is said once.
                let both = (jxy.key == jz.key).then(|| bond(jxy.clone()));
                let jxy = both.clone().unwrap_or_else(|| bond(jxy));
                let jz = both.unwrap_or_else(|| bond(jz));
                let (field, single_ion) = (site(field), site(single_ion));
                ModelSpec::Xxz { two_s, jxy: jxy?, jz: jz?, field: field?, single_ion: single_ion? }
            }
        })
    }
}

impl Given {
    fn spread(
        self,
        expected: usize,
        item: &'static str,
        order: impl FnOnce() -> String,
        problems: &Problems,
    ) -> Option<Vec<f64>> {
        let Some(Placed { value, span }) = self.amount else { return Some(vec![0.0; expected]) };
        match value {
            Amount::One(value) => Some(vec![value; expected]),
            Amount::Each(values) if values.len() == expected => Some(values),
            Amount::Each(values) => {
                let (key, found) = (self.key.into(), values.len());
                problems.add(span, Wrong::WrongLength { key, item, expected, found, order: order() });
                None
            }
        }
    }
}

/// "0–1, 0–4, 1–2, …": the order of a list of one value per bond.
fn bond_order(lattice: &Lattice) -> String {
    const SHOWN: usize = 60;
    let mut pairs: Vec<String> =
        lattice.bonds().iter().take(SHOWN).map(|bond| format!("{}-{}", bond.i, bond.j)).collect();
    if lattice.bonds().len() > SHOWN {
        pairs.push(format!("… ({} bonds, by their two sites, the lower one first)", lattice.bonds().len()));
    }
    if pairs.is_empty() { "there is no bond".into() } else { format!("bonds {}", pairs.join(", ")) }
}
