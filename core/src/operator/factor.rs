//! Elementary factors of a product: fermion creators and annihilators, and spin operators of one site.

use serde::{Deserialize, Serialize};

/// Spin flavour of a fermion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Spin {
    /// ↑
    Up,
    /// ↓
    Down,
    /// One of the 2F + 1 flavours of spin-F fermions, from 0. A model has these or ↑ and ↓, not both.
    Flavour(u8),
}

impl Spin {
    /// The flavour of a number below [`Spin::MOST_FLAVOURS`]; `Flavour(f)` of a model definition.
    ///
    /// # Panics
    /// The number is too large.
    pub fn flavour(number: usize) -> Spin {
        assert!(number < Spin::MOST_FLAVOURS, "flavours go from 0 to {}, found {number}", Spin::MOST_FLAVOURS - 1);
        Spin::Flavour(number as u8)
    }

    /// The most flavours: those of F = 5/2.
    pub const MOST_FLAVOURS: usize = 6;

    /// Its number among the modes of a site: ↑ before ↓, flavours by number.
    pub fn index(self) -> usize {
        match self {
            Spin::Up => 0,
            Spin::Down => 1,
            Spin::Flavour(number) => number.into(),
        }
    }
}

/// One elementary factor. The order of the variants and fields is the normal order, except that annihilators descend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Factor {
    /// c†, of a spin at a site.
    Create(Spin, usize),
    /// c, of a spin at a site.
    Annihilate(Spin, usize),
    /// S⁺ at a site.
    Raise(usize),
    /// Sᶻ at a site.
    Sz(usize),
    /// S⁻ at a site.
    Lower(usize),
    /// b†, of a boson at a site.
    CreateBoson(usize),
    /// b, of a boson at a site.
    AnnihilateBoson(usize),
    /// The imaginary unit i, which belongs to no site.
    ImaginaryUnit,
}

impl Factor {
    /// The site it acts on; of the imaginary unit none, a number beyond all sites.
    pub fn site(self) -> usize {
        match self {
            Factor::Create(_, site) | Factor::Annihilate(_, site) => site,
            Factor::Raise(site) | Factor::Sz(site) | Factor::Lower(site) => site,
            Factor::CreateBoson(site) | Factor::AnnihilateBoson(site) => site,
            Factor::ImaginaryUnit => usize::MAX,
        }
    }

    /// The number of its flavour, if it has one.
    pub fn flavour(self) -> Option<u8> {
        match self {
            Factor::Create(Spin::Flavour(number), _) | Factor::Annihilate(Spin::Flavour(number), _) => Some(number),
            _ => None,
        }
    }

    /// Whether it is a fermion operator.
    pub fn is_fermion(self) -> bool {
        matches!(self, Factor::Create(..) | Factor::Annihilate(..))
    }

    /// Whether it is an operator of a level, of a spin or of bosons.
    pub fn has_level(self) -> bool {
        !self.is_fermion() && self != Factor::ImaginaryUnit
    }

    /// Whether it is an operator of bosons.
    pub fn is_boson(self) -> bool {
        matches!(self, Factor::CreateBoson(_) | Factor::AnnihilateBoson(_))
    }

    /// This factor at another site.
    pub fn moved(self, site: usize) -> Factor {
        match self {
            Factor::Create(spin, _) => Factor::Create(spin, site),
            Factor::Annihilate(spin, _) => Factor::Annihilate(spin, site),
            Factor::Raise(_) => Factor::Raise(site),
            Factor::Sz(_) => Factor::Sz(site),
            Factor::Lower(_) => Factor::Lower(site),
            Factor::CreateBoson(_) => Factor::CreateBoson(site),
            Factor::AnnihilateBoson(_) => Factor::AnnihilateBoson(site),
            Factor::ImaginaryUnit => Factor::ImaginaryUnit,
        }
    }

    /// The Hermitian conjugate; of the imaginary unit but for its sign.
    pub fn adjoint(self) -> Factor {
        match self {
            Factor::Create(spin, site) => Factor::Annihilate(spin, site),
            Factor::Annihilate(spin, site) => Factor::Create(spin, site),
            Factor::Raise(site) => Factor::Lower(site),
            Factor::Lower(site) => Factor::Raise(site),
            Factor::Sz(site) => Factor::Sz(site),
            Factor::CreateBoson(site) => Factor::AnnihilateBoson(site),
            Factor::AnnihilateBoson(site) => Factor::CreateBoson(site),
            Factor::ImaginaryUnit => Factor::ImaginaryUnit,
        }
    }

    /// Rank within a site of spin operators: S⁺ before Sᶻ before S⁻. Operators of bosons stay as written, because b b† of a
    /// site with a cut is not b†b + 1.
    pub(super) fn spin_rank(self) -> u8 {
        match self {
            Factor::Raise(_) => 0,
            Factor::Sz(_) => 1,
            Factor::Lower(_) => 2,
            Factor::CreateBoson(_) | Factor::AnnihilateBoson(_) => 3,
            _ => unreachable!("fermion operators have no spin rank"),
        }
    }
}
