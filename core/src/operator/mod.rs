//! The operator IR: what a many-body Hamiltonian *is* between the user's definition and the generated kernel.
//!
//! An [`Operator`] is a finite linear combination of products of elementary factors, kept **normal-ordered**, so
//! that two operators are equal exactly when their term maps are:
//!
//! * **Fermions.** Modes are (spin, site), all up modes before all down modes, sites ascending. A product is
//!   c†ₐ c†ᵦ … c_δ c_γ: creators left of annihilators, creators ascending, annihilators descending. The reference
//!   state is |n⟩ = Π c†_{i↑} Π c†_{j↓} |0⟩, so an operator of mode m passes the occupied modes before m and takes
//!   (−1) for each. In a state word the up electron of site i is bit i, the down electron bit L + i.
//!   Fermions of spin F have 2F + 1 flavours in place of ↑ and ↓ ([`Spin::Flavour`]), ordered as numbered.
//! * **Spins.** Site by site, ascending; within a site (S⁺)ᵃ (Sᶻ)ᵇ or (Sᶻ)ᵇ (S⁻)ᶜ. Products of S⁺ and S⁻ are
//!   reduced by S⁺S⁻ = S(S+1) − Sᶻ(Sᶻ−1) once the spin is known ([`Operator::spin`]); S = σ/2 for spin ½, never Pauli
//!   matrices. A qubit is a spin ½ whose |1⟩ is ↑, with X = S⁺ + S⁻, Y = i (S⁺ − S⁻), Z = −2Sᶻ.
//! * **Complex numbers.** Coefficients are real, and the imaginary unit is a factor, [`Factor::ImaginaryUnit`], that commutes with
//!   all others and comes last.
//! * **Bosons.** Site by site, in the order in which they are written: the matrices are those of a site with a cut.
//!
//! A model has one kind of site, which its factors tell, or declares what each site carries ([`Operator::on_kinds`]).
//!
//! ```text
//! user's sum!(…)  →  factors  →  normal order  →  Hermitian? conserved?  →  diagonal | one species | rest
//!    build.rs        factor.rs     normal.rs           check.rs                  structure.rs
//! ```
//!
//! Every sum records where it was written ([`SumSource`]), so generated text and errors can name the user's line. [`Operator::apply`]
//! applies the factors one by one, without any of the kernels' bit operations: it is the reference.

pub mod build;
mod check;
mod dense;
mod display;
mod factor;
mod gauge;
mod layout;
mod limits;
mod normal;
mod notes;
mod site;
mod site_sum;
mod spin;
mod storage;
mod sum;
mod symmetry;
mod transition;

use crate::lattice::Lattice;
use std::collections::BTreeMap;
use std::ops::{Add, Div, Mul, Neg, Sub};
use std::sync::Arc;

pub use check::kind_names;
pub use check::{Charge, OperatorError};
pub use dense::Configuration;
pub use display::product_text;
pub use factor::{Factor, Spin};
pub use gauge::Gauge;
pub use layout::SiteLayout;
pub use layout::low_mask;
pub use limits::MOST_TERMS;
pub use site::{Carrier, MOST_LEVELS, SITE_WORDS, SiteKind};
pub use site_sum::SiteSum;
pub use spin::total_spin_squared;
pub use storage::MatrixStorage;
pub use sum::{ModelParameter, RecordedParameter, RecordedSum, Sum, SumSource};
pub use symmetry::{GroupElement, OperatorImage, SymmetryGroup};
pub use symmetry::{Symmetry, SymmetryError};
pub use transition::Word;
pub use transition::{
    DiagonalTerm, Transition, diagonal_terms, fermion_transition, local_element, moves, species_moves,
};

/// A normal-ordered product of factors; empty for the identity.
pub type Product = Vec<Factor>;

/// The kind of sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Only the identity so far.
    Nothing,
    /// Spin-½ fermions.
    Fermions,
    /// Fermions of 2F + 1 flavours.
    Flavours,
    /// Local moments.
    Spins,
    /// Bosons, or several kinds of site.
    Mixed,
}

/// A linear combination of normal-ordered products; see the [module](self).
#[derive(Clone, Debug)]
pub struct Operator {
    terms: BTreeMap<Product, f64>,
    two_s: u32,
    sites: Option<usize>,
    /// What each site carries, if that is declared.
    kinds: Option<Arc<[SiteKind]>>,
    /// Local states, (site, state), that no state of the basis has together.
    forbidden: Vec<Vec<(usize, u64)>>,
    lattice: Option<Lattice>,
    sums: Vec<RecordedSum>,
    /// False once the operator was multiplied or scaled after its sums were recorded.
    sums_current: bool,
    /// Possible misunderstandings in its sums, which algebra does not invalidate.
    notes: Vec<notes::SumNotes>,
    /// Of a reduced operator: a product whose digits the reduction lost, and its length.
    lost_digits: Option<(String, usize)>,
}

impl Operator {
    /// The zero operator.
    pub fn zero() -> Operator {
        Operator {
            terms: BTreeMap::new(),
            two_s: 1,
            sites: None,
            kinds: None,
            forbidden: Vec::new(),
            lattice: None,
            sums: Vec::new(),
            sums_current: true,
            notes: Vec::new(),
            lost_digits: None,
        }
    }

    /// One product of factors in any order, normal-ordered here.
    pub fn product(factors: &[Factor]) -> Operator {
        let mut operator = Operator::zero();
        normal::order_into(&mut operator.terms, factors.to_vec(), 1.0);
        operator.drop_zeros();
        operator
    }

    /// An operator from its normal-ordered terms and the sums that they were written as, without checking that they
    /// agree.
    pub fn recorded(terms: &[(f64, Product)], two_s: u32, sites: usize, sums: Vec<RecordedSum>) -> Operator {
        let mut operator = Operator { two_s, sites: Some(sites), sums, ..Operator::zero() };
        for (coefficient, product) in terms {
            normal::order_into(&mut operator.terms, product.clone(), *coefficient);
        }
        operator.drop_zeros();
        operator
    }

    /// Sets the length of the local moments, 2S (1 for spin ½, the default), and reduces every product accordingly.
    pub fn spin(mut self, two_s: u32) -> Operator {
        self.two_s = two_s;
        self
    }

    /// Sets the number of sites; otherwise the largest site mentioned determines it.
    pub fn on_sites(mut self, sites: usize) -> Operator {
        self.sites = Some(sites);
        self
    }

    /// Declares what each site carries; needed for bosons, qubits, t-J electrons and sites of several kinds.
    pub fn on_kinds(mut self, kinds: &[SiteKind]) -> Operator {
        self.sites = Some(kinds.len());
        if let [SiteKind::Moments { two_s }, ..] = kinds {
            self.two_s = *two_s;
        }
        self.kinds = Some(kinds.into());
        self
    }

    /// Leaves out of the basis the states in which each of these sites has this local state ([`SiteKind`] numbers them), such as
    /// `&[(0, 1), (1, 1)]` for neighbours that are not both excited; the operator is projected onto what is left.
    pub fn forbid(mut self, states: &[(usize, u64)]) -> Operator {
        self.forbidden.push(states.to_vec());
        self
    }

    /// What [`Operator::forbid`] left out.
    pub fn forbidden(&self) -> &[Vec<(usize, u64)>] {
        &self.forbidden
    }

    /// What each site carries, if that was declared.
    pub fn kinds(&self) -> Option<&[SiteKind]> {
        self.kinds.as_deref()
    }

    /// What each site carries: as declared, else the one kind that the factors speak of.
    pub fn kinds_or_implied(&self) -> Vec<SiteKind> {
        if let Some(kinds) = &self.kinds {
            return kinds.to_vec();
        }
        let kind = match self.content() {
            Content::Fermions => SiteKind::Electrons,
            Content::Flavours => SiteKind::Flavours(self.flavours()),
            _ => SiteKind::Moments { two_s: self.two_s },
        };
        vec![kind; self.sites()]
    }

    /// i times the operator.
    pub fn times_i(self) -> Operator {
        build::imaginary_unit() * self
    }

    /// Whether a coefficient is not real.
    pub fn is_complex(&self) -> bool {
        self.terms.keys().any(|product| product.last() == Some(&Factor::ImaginaryUnit))
    }

    /// Attaches the model's lattice: its number of sites, and its name for reports.
    pub fn on_lattice(mut self, lattice: &Lattice) -> Operator {
        self.sites = Some(lattice.sites().len());
        self.lattice = Some(lattice.clone());
        self
    }

    /// The same operator with its sites at other places: site i at `place[i]`. The lattice it was written on and expressions of its
    /// sums speak of the former sites and are left behind; the text of the sums stays.
    pub fn with_sites_at(&self, place: &[usize]) -> Operator {
        let at = |site: usize| place.get(site).copied().unwrap_or(site);
        let mut terms = BTreeMap::new();
        for (product, coefficient) in &self.terms {
            let product = product.iter().map(|factor| factor.moved(at(factor.site()))).collect();
            normal::order_into(&mut terms, product, *coefficient);
        }
        let mut moved = Operator { lattice: None, ..self.with_terms(terms) };
        if let Some(kinds) = &self.kinds {
            let mut there = kinds.to_vec();
            kinds.iter().enumerate().for_each(|(site, kind)| there[at(site)] = *kind);
            moved.kinds = Some(there.into());
        }
        moved.forbidden.iter_mut().flatten().for_each(|(site, _)| *site = at(*site));
        moved
    }

    /// Other normal-ordered terms on the same sites, written as the same sums: their text stays, their expressions are left behind.
    fn with_terms(&self, terms: BTreeMap<Product, f64>) -> Operator {
        let mut other = Operator { terms, ..self.clone() };
        other.sums.iter_mut().for_each(|sum| sum.cuda = None);
        other.drop_zeros();
        other
    }

    /// The normal-ordered terms and their coefficients, in a fixed order.
    pub fn terms(&self) -> impl Iterator<Item = (&[Factor], f64)> {
        self.terms.iter().map(|(product, coefficient)| (product.as_slice(), *coefficient))
    }

    /// The coefficient of a normal-ordered product; 0 if there is no such term.
    pub fn coefficient(&self, product: &[Factor]) -> f64 {
        self.terms.get(product).copied().unwrap_or(0.0)
    }

    /// Number of normal-ordered terms.
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// Whether this is the zero operator.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// 2S of the local moments.
    pub fn two_s(&self) -> u32 {
        self.two_s
    }

    /// The lattice it was written on, if one was attached.
    pub fn lattice(&self) -> Option<&Lattice> {
        self.lattice.as_ref()
    }

    /// The sums it was written as; empty if later algebra has invalidated them.
    pub fn sums(&self) -> &[RecordedSum] {
        if self.sums_current { &self.sums } else { &[] }
    }

    /// Number of sites: as set, or one more than the largest site mentioned.
    pub fn sites(&self) -> usize {
        let mentioned = self.largest_site().map_or(0, |site| site + 1);
        self.sites.unwrap_or(mentioned)
    }

    pub(crate) fn largest_site(&self) -> Option<usize> {
        self.terms.keys().flatten().filter(|f| **f != Factor::ImaginaryUnit).map(|factor| factor.site()).max()
    }

    /// The kind of sites it acts on.
    pub fn content(&self) -> Content {
        if let Some([first, others @ ..]) = self.kinds.as_deref()
            && (others.iter().any(|kind| kind != first)
                || !matches!(first, SiteKind::Electrons | SiteKind::Flavours(2..) | SiteKind::Moments { .. }))
        {
            return Content::Mixed;
        }
        let (mut fermions, mut spins) = (false, false);
        for factor in self.terms.keys().flatten() {
            match factor {
                factor if factor.is_boson() => return Content::Mixed,
                factor if factor.flavour().is_some() => return Content::Flavours,
                factor if factor.is_fermion() => fermions = true,
                Factor::ImaginaryUnit => {}
                _ => spins = true,
            }
        }
        match (fermions, spins) {
            (true, _) => Content::Fermions,
            (false, true) => Content::Spins,
            (false, false) => Content::Nothing,
        }
    }

    /// Flavours of its fermions: one more than the largest number used; 0 without any.
    pub fn flavours(&self) -> usize {
        let numbers = self.terms.keys().flatten().filter_map(|factor| factor.flavour());
        numbers.map(|number| usize::from(number) + 1).max().unwrap_or(0)
    }

    /// The Hermitian conjugate.
    pub fn adjoint(&self) -> Operator {
        let mut adjoint = Operator { terms: BTreeMap::new(), ..self.clone() };
        for (product, coefficient) in &self.terms {
            let reversed = product.iter().rev().map(|factor| factor.adjoint()).collect();
            let is_imaginary = product.last() == Some(&Factor::ImaginaryUnit);
            normal::order_into(&mut adjoint.terms, reversed, if is_imaginary { -coefficient } else { *coefficient });
        }
        adjoint.sums_current = false;
        adjoint.drop_zeros();
        adjoint
    }

    /// The same operator with every spin product reduced for its 2S; all later stages work on it.
    pub fn reduced(&self) -> Operator {
        let mut reduced = self.reduced_for(|site| self.two_s_of(site), false);
        reduced.lost_digits = self.lost_digits.clone().or_else(|| self.lost_digits(&reduced));
        reduced
    }

    /// 2S of a site.
    fn two_s_of(&self, site: usize) -> u32 {
        self.kinds.as_ref().and_then(|kinds| kinds.get(site)).map_or(self.two_s, |kind| kind.two_s())
    }

    /// The same for sites of given 2S; `shortest` as [`normal::reduce_spin_into`] has it.
    fn reduced_for(&self, two_s: impl Fn(usize) -> u32, shortest: bool) -> Operator {
        let mut reduced = Operator { terms: BTreeMap::new(), ..self.clone() };
        for (product, coefficient) in &self.terms {
            normal::reduce_spin_into(&mut reduced.terms, product, *coefficient, &two_s, shortest);
        }
        reduced.drop_zeros();
        reduced
    }

    fn drop_zeros(&mut self) {
        self.terms.retain(|_, coefficient| *coefficient != 0.0);
    }

    /// Adds `sign` times the terms of `other`; terms that cancel stay, with coefficient 0.
    pub fn add_terms(&mut self, other: Operator, sign: f64) {
        for (product, coefficient) in other.terms {
            *self.terms.entry(product).or_insert(0.0) += sign * coefficient;
        }
        self.kinds = self.kinds.take().or(other.kinds);
        self.forbidden.extend(other.forbidden);
        self.sites = self.sites.max(other.sites);
        self.two_s = self.two_s.max(other.two_s);
        self.lattice = self.lattice.take().or(other.lattice);
        self.notes.extend(other.notes);
    }

    fn scale(mut self, factor: f64) -> Operator {
        self.terms.values_mut().for_each(|coefficient| *coefficient *= factor);
        self.sums_current = false;
        self.drop_zeros();
        self
    }
}

impl Add for Operator {
    type Output = Operator;
    fn add(mut self, other: Operator) -> Operator {
        self.sums_current &= other.sums_current && (other.sums.is_empty() == other.terms.is_empty());
        self.sums_current &= self.sums.is_empty() == self.terms.is_empty();
        self.sums.extend(other.sums.iter().cloned());
        self.add_terms(other, 1.0);
        self.drop_zeros();
        self
    }
}

impl Sub for Operator {
    type Output = Operator;
    fn sub(self, other: Operator) -> Operator {
        self + other.scale(-1.0)
    }
}

impl Neg for Operator {
    type Output = Operator;
    fn neg(self) -> Operator {
        self.scale(-1.0)
    }
}

/// H + c: c times the identity, such as E_core in a molecule's H.
impl Add<f64> for Operator {
    type Output = Operator;
    fn add(mut self, constant: f64) -> Operator {
        *self.terms.entry(Product::new()).or_insert(0.0) += constant;
        // The sums as written are no longer the whole diagonal.
        self.sums_current &= constant == 0.0;
        self.drop_zeros();
        self
    }
}

/// H − c.
impl Sub<f64> for Operator {
    type Output = Operator;
    fn sub(self, constant: f64) -> Operator {
        self + (-constant)
    }
}

impl Mul for Operator {
    type Output = Operator;
    fn mul(self, other: Operator) -> Operator {
        let mut product = Operator::zero();
        for (left, a) in &self.terms {
            for (right, b) in &other.terms {
                let factors = left.iter().chain(right).copied().collect();
                normal::order_into(&mut product.terms, factors, a * b);
            }
        }
        product.sites = self.sites.max(other.sites);
        product.two_s = self.two_s.max(other.two_s);
        product.lattice = self.lattice.or(other.lattice);
        product.notes = self.notes.into_iter().chain(other.notes).collect();
        product.kinds = self.kinds.or(other.kinds);
        product.forbidden = self.forbidden.into_iter().chain(other.forbidden).collect();
        product.sums_current = false;
        product.drop_zeros();
        product
    }
}

impl Mul<f64> for Operator {
    type Output = Operator;
    fn mul(self, factor: f64) -> Operator {
        self.scale(factor)
    }
}

impl Mul<Operator> for f64 {
    type Output = Operator;
    fn mul(self, operator: Operator) -> Operator {
        operator.scale(self)
    }
}

impl Div<f64> for Operator {
    type Output = Operator;
    fn div(self, divisor: f64) -> Operator {
        self.scale(1.0 / divisor)
    }
}

impl std::iter::Sum for Operator {
    fn sum<I: Iterator<Item = Operator>>(operators: I) -> Operator {
        operators.fold(Operator::zero(), |sum, operator| sum + operator)
    }
}

impl PartialEq for Operator {
    fn eq(&self, other: &Operator) -> bool {
        self.terms == other.terms
    }
}
