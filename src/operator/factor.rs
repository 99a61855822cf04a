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
}

impl Factor {
    /// The site it acts on.
    pub fn site(self) -> usize {
        match self {
            Factor::Create(_, site) | Factor::Annihilate(_, site) => site,
            Factor::Raise(site) | Factor::Sz(site) | Factor::Lower(site) => site,
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

    /// The Hermitian conjugate.
    pub fn adjoint(self) -> Factor {
        match self {
            Factor::Create(spin, site) => Factor::Annihilate(spin, site),
            Factor::Annihilate(spin, site) => Factor::Create(spin, site),
            Factor::Raise(site) => Factor::Lower(site),
            Factor::Lower(site) => Factor::Raise(site),
            Factor::Sz(site) => Factor::Sz(site),
        }
    }

    /// Rank within a site of spin operators: S⁺ before Sᶻ before S⁻.
    pub(super) fn spin_rank(self) -> u8 {
        match self {
            Factor::Raise(_) => 0,
            Factor::Sz(_) => 1,
            Factor::Lower(_) => 2,
            _ => unreachable!("fermion operators have no spin rank"),
        }
    }
}
