//! States that an evolution begins with: products of local states, and states of another model carried over.
//!
//! In: local states by number, or a [`LevelStates`]. Out: amplitudes in the order of the model's basis, of length 1, or why there are none.

use super::super::model::Model;
use super::super::response::{LevelStates, ResponseTarget, layout_of};
use eigenforge_core::operator::{OperatorError, SiteKind, Spin, build};
use num_complex::Complex64;

/// Lengths that differ by less are equal.
const SAME: f64 = 1e-8;

/// Why a state is no start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Not one local state a site.
    #[error("{found} local states are given for {sites} sites: give one for each site")]
    Count {
        /// How many are given.
        found: usize,
        /// How many there should be.
        sites: usize,
    },
    /// A local state that the site has not.
    #[error("site {site} is of kind \"{kind}\", whose local states are 0 to {last}, found {found}")]
    LocalState {
        /// The site.
        site: usize,
        /// Its kind.
        kind: SiteKind,
        /// Its last local state.
        last: u64,
        /// The number that is given.
        found: u64,
    },
    /// A product state of other charges.
    #[error(
        "the state has {found}, which is not in the sector {sector}: choose another state, or the sector of this one"
    )]
    OutsideSector {
        /// Its charges.
        found: String,
        /// The sector.
        sector: String,
    },
    /// Sites of other kinds.
    #[error(
        "the start is a state of other sites than this model's: both need the same number of sites of the same kinds"
    )]
    OtherSites,
    /// A state that is not in the sector, or only a part of it.
    #[error(
        "a part {outside:.1e} of the start's length is not in the sector {sector}: start in the same sector, or leave [symmetry] out of \
         this file"
    )]
    OutsidePart {
        /// The length of what is left.
        outside: f64,
        /// The sector.
        sector: String,
    },
    /// The model's.
    #[error(transparent)]
    Operator(#[from] OperatorError),
}

/// The charges of a configuration of digits, in words.
fn charges_text(kinds: &[SiteKind], digits: &[u32]) -> String {
    let (mut fermions, mut two_sz, mut bosons) = (std::collections::BTreeMap::new(), None, None);
    let mut rest = digits;
    for kind in kinds {
        let modes = kind.modes();
        let (own, others) = rest.split_at(modes.len().max(1));
        rest = others;
        for (mode, digit) in modes.iter().zip(own) {
            *fermions.entry(*mode).or_insert(0) += digit;
        }
        match kind {
            SiteKind::Moments { two_s } => *two_sz.get_or_insert(0) += 2 * i64::from(own[0]) - i64::from(*two_s),
            SiteKind::Bosons { .. } => *bosons.get_or_insert(0) += i64::from(own[0]),
            SiteKind::Qubits => *bosons.get_or_insert(0) += i64::from(own[0]),
            SiteKind::Electrons | SiteKind::Tj | SiteKind::Flavours(_) => {}
        }
    }
    let mode = |(mode, count): (Spin, u32)| match mode {
        Spin::Up => format!("{count} up"),
        Spin::Down => format!("{count} down"),
        Spin::Flavour(number) => format!("{count} of flavour {number}"),
    };
    let mut words: Vec<String> = fermions.into_iter().map(mode).collect();
    words.extend(two_sz.map(|two_sz| format!("2Sz = {two_sz}")));
    words.extend(bosons.map(|count| format!("{count} bosons or ones")));
    words.join(", ")
}

impl Model {
    /// The amplitudes of the product of these local states, numbered as [`SiteKind::states`] has them: of a moment m + S, of electrons 0 for empty, 1
    /// for up, 2 for down, 3 for both, of bosons how many. Fermions stand as |n⟩ = Π c†_i↑ Π c†_j↓ |0⟩, sites ascending.
    ///
    /// # Errors
    /// No local state of a site; a state that is not in the sector.
    pub fn product_state(&self, levels: &[u64]) -> Result<Vec<Complex64>, StartError> {
        let kinds = self.site_kinds();
        if levels.len() != kinds.len() {
            return Err(StartError::Count { found: levels.len(), sites: kinds.len() });
        }
        let mut digits = Vec::new();
        for (site, (kind, level)) in kinds.iter().zip(levels).enumerate() {
            if !kind.states().contains(level) {
                let (kind, last, found) = (*kind, *kind.states().end(), *level);
                return Err(StartError::LocalState { site, kind, last, found });
            }
            match kind.modes().len() {
                0 => digits.push(*level as u32),
                modes => digits.extend((0..modes).map(|mode| (level >> mode & 1) as u32)),
            }
        }
        let outside = || {
            let (found, sector) = (charges_text(&kinds, &digits), self.sector_text());
            StartError::OutsideSector { found, sector }
        };
        let plain = self.plain()?;
        let place = plain.basis().index(layout_of(&plain).word(&digits)).ok_or_else(outside)?;
        let mut amplitudes = vec![Complex64::ZERO; plain.states() as usize];
        amplitudes[place as usize] = Complex64::ONE;
        if self.symmetric().is_none() {
            return Ok(amplitudes);
        }
        LevelStates::new(plain, vec![amplitudes]).carried(0, self)
    }

    /// The same sector without its symmetry.
    pub(in super::super) fn plain(&self) -> Result<Model, OperatorError> {
        if self.symmetric().is_some() { self.without_symmetry() } else { Ok(self.clone()) }
    }
}

impl LevelStates {
    /// States of a model that need not be its eigenstates: energies are not known.
    pub fn new(model: Model, states: Vec<Vec<Complex64>>) -> LevelStates {
        let unknown = f64::NAN;
        LevelStates {
            model,
            energy: unknown,
            constant: 0.0,
            energy_without_constant: unknown,
            states,
            last: std::sync::Mutex::default(),
        }
    }

    /// One of the states, of length 1, in the basis of another model of the same sites.
    ///
    /// # Errors
    /// Other sites; a state that is not wholly in the other's sector; no room for a list of representatives.
    pub fn carried(&self, state: usize, model: &Model) -> Result<Vec<Complex64>, StartError> {
        if self.model.site_kinds() != model.site_kinds() {
            return Err(StartError::OtherSites);
        }
        let target = |model: &Model| ResponseTarget { model: model.clone(), operator: build::scalar(1.0) };
        let length = |vector: &[Complex64]| vector.iter().map(Complex64::norm_sqr).sum::<f64>().sqrt();
        let whole = length(&self.states[state]);
        let mut made = self.excited(state, &target(model))?;
        let back = LevelStates::new(model.clone(), vec![made.clone()]).excited(0, &target(&self.model))?;
        // A symmetry sector has amplitudes of representatives alone: only the way back shows what it leaves out.
        let lost = back.iter().zip(&self.states[state]).map(|(back, own)| (back - own).norm_sqr()).sum::<f64>().sqrt();
        let outside = lost / whole;
        if outside.is_nan() || outside > SAME {
            return Err(StartError::OutsidePart { outside, sector: model.sector_text() });
        }
        let length = length(&made);
        made.iter_mut().for_each(|amplitude| *amplitude /= length);
        Ok(made)
    }
}
