//! What an operator must satisfy before it is planned: finite, Hermitian, on its sites, conserving the sector's charges.

use super::{Content, Factor, Operator, Product, SiteKind, SiteSum, Spin, display::product_text};
use crate::words::size;
use serde::{Deserialize, Serialize};

/// A quantity that a sector fixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Charge {
    /// Number of up electrons.
    Up,
    /// Number of down electrons.
    Down,
    /// Number of fermions of one flavour.
    Flavour(u8),
    /// Number of fermions of all kinds.
    Particles,
    /// N↑ − N↓, twice the total Sᶻ of electrons.
    Polarisation,
    /// Twice the total Sᶻ of local moments; on declared sites that of electrons and qubits as well.
    TwoSz,
    /// Number of bosons.
    Bosons,
    /// The parity of all numbers of particles and levels m + S together: 0 if it is even, 1 if odd.
    Parity,
    /// A sum over sites with a number for each.
    OfSites(SiteSum),
}

impl std::fmt::Display for Charge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Charge::Up => f.write_str("the number of up electrons"),
            Charge::Down => f.write_str("the number of down electrons"),
            Charge::Flavour(number) => write!(f, "the number of fermions of flavour {number}"),
            Charge::Particles => f.write_str("the number of fermions"),
            Charge::Polarisation => f.write_str("N_up - N_down"),
            Charge::TwoSz => f.write_str("the total Sz"),
            Charge::Bosons => f.write_str("the number of bosons"),
            Charge::Parity => f.write_str("the parity"),
            Charge::OfSites(sum) => write!(f, "the charge \"{}\"", sum.name()),
        }
    }
}

impl Charge {
    /// How much a product changes the charge.
    pub fn change(self, product: &[Factor]) -> i64 {
        let of = |factor: &Factor| match (self, *factor) {
            (Charge::OfSites(sum), factor) => {
                let number = sum.values().get(factor.site()).copied().unwrap_or(0);
                match factor {
                    Factor::Create(..) | Factor::Raise(_) | Factor::CreateBoson(_) => number,
                    Factor::Annihilate(..) | Factor::Lower(_) | Factor::AnnihilateBoson(_) => -number,
                    Factor::Sz(_) | Factor::ImaginaryUnit => 0,
                }
            }
            (charge, Factor::Create(spin, _)) => charge.of_fermion(spin),
            (charge, Factor::Annihilate(spin, _)) => -charge.of_fermion(spin),
            (Charge::TwoSz, Factor::Raise(_)) => 2,
            (Charge::TwoSz, Factor::Lower(_)) => -2,
            _ => 0,
        };
        self.folded(product.iter().map(of).sum())
    }

    /// The same on declared sites.
    pub fn change_on(self, product: &[Factor], kinds: &[SiteKind]) -> i64 {
        let of = |factor: &Factor| {
            let site = factor.site();
            let Some(kind) = kinds.get(site) else { return 0 };
            let value = |state: u64| kind.charge(self, site, state);
            let mode = |spin: Spin| kind.modes().iter().position(|mode| *mode == spin).map_or(0, |bit| 1u64 << bit);
            match *factor {
                Factor::Create(spin, _) => value(mode(spin)) - value(0),
                Factor::Annihilate(spin, _) => value(0) - value(mode(spin)),
                Factor::Raise(_) | Factor::CreateBoson(_) => value(1) - value(0),
                Factor::Lower(_) | Factor::AnnihilateBoson(_) => value(0) - value(1),
                Factor::Sz(_) | Factor::ImaginaryUnit => 0,
            }
        };
        self.folded(product.iter().map(of).sum())
    }

    /// A value, of a charge that has a modulus modulo that: of a parity modulo 2.
    pub fn folded(self, value: i64) -> i64 {
        self.modulo().map_or(value, |modulo| value.rem_euclid(modulo))
    }

    /// What its values are taken modulo.
    pub fn modulo(self) -> Option<i64> {
        match self {
            Charge::Parity => Some(2),
            Charge::OfSites(sum) => sum.modulo(),
            _ => None,
        }
    }

    /// The charge with its value, as sectors are printed.
    pub fn valued(self, value: i64) -> String {
        match self {
            Charge::Up => format!("{value} up"),
            Charge::Down => format!("{value} down"),
            Charge::Flavour(number) => format!("{value} of flavour {number}"),
            Charge::Particles => format!("{value} fermions"),
            Charge::Polarisation => format!("N_up - N_down = {value}"),
            Charge::TwoSz => format!("2Sz = {value}"),
            Charge::Bosons => format!("{value} bosons"),
            Charge::Parity => format!("parity {}", if value == 0 { "+1" } else { "-1" }),
            Charge::OfSites(sum) => match sum.modulo() {
                Some(modulo) => format!("{} = {value} modulo {modulo}", sum.name()),
                None => format!("{} = {value}", sum.name()),
            },
        }
    }

    /// The charge of a fermion.
    pub fn of_fermion(self, spin: Spin) -> i64 {
        let carries = match self {
            Charge::Up => spin == Spin::Up,
            Charge::Down => spin == Spin::Down,
            Charge::Flavour(number) => spin == Spin::Flavour(number),
            Charge::Particles => true,
            Charge::Polarisation => return i64::from(spin == Spin::Up) - i64::from(spin == Spin::Down),
            Charge::TwoSz | Charge::Bosons | Charge::Parity | Charge::OfSites(_) => false,
        };
        i64::from(carries)
    }
}

/// Why an operator, or an operator in a sector, was refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OperatorError {
    /// A coefficient is NaN or infinite.
    #[error(
        "the coefficient of {term} is {value}; every coefficient must be finite: check the parameters of the model"
    )]
    NotFinite {
        /// The term.
        term: String,
        /// Its coefficient.
        value: f64,
    },
    /// H ≠ H†.
    #[error(
        "the operator is not Hermitian: {}, its conjugate {}; add `+ h.c.` to the sum that contains it, or `conjugate = true` to its [[term]]",
        with_coefficient(term, "has coefficient", *found), with_coefficient(conjugate, "has", *other)
    )]
    NotHermitian {
        /// A term without its conjugate.
        term: String,
        /// Its coefficient.
        found: f64,
        /// The conjugate product.
        conjugate: String,
        /// The coefficient found there.
        other: f64,
    },
    /// A term changes a charge of the sector.
    #[error(
        "{term}, at site {sites}, changes {charge} by {change}, but the sector fixes it; drop the term, or leave this out of the sector{conserved}"
    )]
    NotConserved {
        /// The term.
        term: String,
        /// Its sites, as a list.
        sites: String,
        /// The charge.
        charge: Charge,
        /// By how much.
        change: i64,
        /// Which charges the operator conserves, if its sites are declared.
        conserved: String,
    },
    /// Imaginary coefficients.
    #[error(
        "{term} has an imaginary coefficient; {method} has real numbers only: diagonalise exactly, or choose spin axes or a gauge in which every coefficient is real"
    )]
    Complex {
        /// The first such term.
        term: String,
        /// What has real numbers only.
        method: &'static str,
    },
    /// A word of another kind of site.
    #[error("{term} has {factor}, but site {site} is of kind \"{kind}\", which has {words}")]
    WrongSite {
        /// The term.
        term: String,
        /// The factor.
        factor: String,
        /// Its site.
        site: usize,
        /// What the site carries.
        kind: SiteKind,
        /// What it has.
        words: &'static str,
    },
    /// A charge that no site has.
    #[error("the sector fixes {charge}, but no site has it: the sites are of kind {kinds}")]
    NoSuchCharge {
        /// The charge.
        charge: Charge,
        /// The kinds of site.
        kinds: String,
    },
    /// Kinds of site that a method does not have.
    #[error(
        "{method} takes lattices of electrons, of fermions with flavours, or of local moments; sites of kind {kinds} are diagonalised exactly: leave that section out"
    )]
    OtherSites {
        /// The method.
        method: &'static str,
        /// The kinds of site.
        kinds: String,
    },
    /// States that a method cannot leave out.
    #[error(
        "{method} has product states of all sites, and [[forbid]] leaves some of them out: diagonalise exactly (leave that section out), or replace [[forbid]] by a large energy of these states in `H`"
    )]
    Projected {
        /// The method.
        method: &'static str,
    },
    /// A sum over sites in a sector of DMRG.
    #[error(
        "DMRG has no charges with a number for each site, as {charge}: leave it out of `charges` in [sector], or diagonalise exactly \
         (leave [dmrg] out)"
    )]
    SiteSumInDmrg {
        /// The charge.
        charge: Charge,
    },
    /// A parity in a sector of DMRG.
    #[error(
        "DMRG fixes charges that add up over the sites, and a parity does not: leave `parity` out of the sector (the lowest state of both parities is found), or diagonalise exactly (leave [dmrg] out)"
    )]
    ParityInDmrg,
    /// A forbidden state that is no state of its site.
    #[error(
        "a forbidden state names local state {state} of site {site}; {kind} has the states 0 to {most}, and the sites are 0 to {last}"
    )]
    NoSuchState {
        /// The state.
        state: u64,
        /// The site.
        site: usize,
        /// What it carries.
        kind: String,
        /// Its last state.
        most: u64,
        /// The last site.
        last: usize,
    },
    /// A factor at a site that does not exist.
    #[error(
        "the operator acts on site {site}, but the lattice has {sites} sites (0 to {last}); check the bonds and sums"
    )]
    SiteOutside {
        /// The largest site mentioned.
        site: usize,
        /// Number of sites.
        sites: usize,
        /// The last valid one.
        last: usize,
    },
    /// Fermions and local moments in one operator.
    #[error(
        "the operator mixes fermions, as in {fermion}, with local moments, as in {moment} at site {site} (sp, sm, sz built outside `#[gpu_operator]`); a site has one or the other: use electron_sp, electron_sz, … for the spin of electrons, or declare what each site carries with `.on_kinds(…)`"
    )]
    Mixed {
        /// A term of fermions.
        fermion: String,
        /// A term with a local moment.
        moment: String,
        /// Its sites, as a list.
        site: String,
    },
    /// Bonds with weights in a sum that does not use them.
    #[error(
        "{sum} ignores the weights of its bonds, such as {weight} of the bond from {i} to {j}; write `<i, j, w>` and multiply by `w`, or `<i, j, _>` if no weight is meant"
    )]
    WeightsLeftOut {
        /// File, line and text of the sum.
        sum: String,
        /// First site of the first such bond.
        i: usize,
        /// Its second site.
        j: usize,
        /// Its weight.
        weight: f64,
    },
    /// Electron spins at a site without electrons: a local moment was meant.
    #[error(
        "{sum} has spin operators at site {site}, where no sum has c, cdag or n; beside electrons spin operators stand for the spin of electrons, and a local moment beside electrons (as in a Kondo lattice) is built from `eigenforge::operator::build`, with `.on_kinds(…)`, or in a file with name = \"terms\"; if electrons are meant, add `0.0 * n(i)` over these sites"
    )]
    MomentBesideElectrons {
        /// File, line and text of the sum.
        sum: String,
        /// The site.
        site: usize,
    },
    /// Flavours in a model of electrons.
    #[error(
        "{term} has fermions of flavours, where this takes electrons (Up, Down) or local moments; a model of flavours takes a sector by `.charges(…)` (name = \"terms\" in a file), or DMRG: eigenforge::dmrg, a section [dmrg]"
    )]
    Flavours {
        /// The term.
        term: String,
    },
    /// ↑ or ↓ beside flavours.
    #[error("{term} and other terms name fermions in two ways: give all of them flavours, or all of them Up and Down")]
    MixedFlavours {
        /// A term with flavours.
        term: String,
    },
    /// An odd number of fermion factors in a product.
    #[error("{term} has an odd number of fermion operators; a Hamiltonian has an even number in every term")]
    OddParity {
        /// The term.
        term: String,
    },
    /// The sector belongs to another kind of operator.
    #[error("the model is made of {found}, but the sector is for {expected}; {advice}")]
    WrongSector {
        /// The operator's kind.
        found: &'static str,
        /// The sector's kind.
        expected: &'static str,
        /// Which call to use.
        advice: &'static str,
    },
    /// The sector has no states.
    #[error("{sector} has no state on {sites} sites: {reason}")]
    EmptySector {
        /// The sector in words.
        sector: String,
        /// Number of sites.
        sites: usize,
        /// The reason.
        reason: String,
    },
    /// The state word is too long.
    #[error(
        "{sites} sites need {bits} bits per state; exact diagonalisation has {limit}: use a smaller lattice, or DMRG (a section [dmrg] in a model file, eigenforge::dmrg in Rust)"
    )]
    TooManySites {
        /// Number of sites.
        sites: usize,
        /// Bits needed: one per site for each electron species, those of the levels 0 … 2S for local moments.
        bits: u128,
        /// Available bits.
        limit: u32,
    },
    /// A sector of long state words that has too many of them.
    #[error(
        "{sites} sites need {bits} bits per state, and beyond 64 bits the states are listed one by one, {most} at most; this sector has {}: choose one with fewer particles or fix more charges, use a smaller lattice, or DMRG (a section [dmrg] in a model file, eigenforge::dmrg in Rust)",
        states.map_or("more".into(), |states| if states < 1_000_000_000_000 { states.to_string() } else { format!("about {:.3e}", states as f64) })
    )]
    TooManyToList {
        /// Number of sites.
        sites: usize,
        /// Bits of a state.
        bits: u32,
        /// Number of states, if it was counted.
        states: Option<u128>,
        /// Longest list.
        most: u64,
    },
    /// Charges with too many combinations of values.
    #[error(
        "{charges} charges on {sites} sites have too many combinations of values to count the states of one; fix fewer charges in \
         [sector], use a smaller lattice, or DMRG (a section [dmrg] in a model file, eigenforge::dmrg in Rust)"
    )]
    TooManyCharges {
        /// Number of sites.
        sites: usize,
        /// Number of charges.
        charges: usize,
    },
    /// Coefficients that are too large for double precision.
    #[error(
        "the largest coefficient is {value:e}, of the term {term}, and all magnitudes together are {sum:e}: solvers square them, so \
         expected at most {most:e}; choose another unit of energy"
    )]
    Magnitude {
        /// The term.
        term: String,
        /// Its coefficient.
        value: f64,
        /// The sum of all magnitudes.
        sum: f64,
        /// The most of the sum.
        most: f64,
    },
    /// Terms of a long product cancel until their roundings are left.
    #[error(
        "a product of {factors} spin operators such as {term} has large terms that cancel, and their roundings are left: expected at most some \
         12 on a site; write the power that is meant, as Sx^2 = 1/4 for spin 1/2, or a model file, which knows the spin as it multiplies"
    )]
    Cancellation {
        /// The longest product.
        term: String,
        /// Its operators.
        factors: usize,
    },
    /// The stored matrix of listed states does not fit in memory.
    #[error(
        "listed states (those of more than 64 bits, and those of a symmetry sector) need H as a stored matrix: on {states} states it has about {elements} elements, which take {}, and {} are free; choose a smaller sector",
        size(*needed), size(*free)
    )]
    NoRoomForMatrix {
        /// Number of states.
        states: u64,
        /// Elements that are not zero, about.
        elements: u64,
        /// Bytes of them.
        needed: u64,
        /// Free bytes of host memory.
        free: u64,
    },
    /// Elements of listed states in a multiply without a matrix.
    #[error(
        "storage = \"direct\" makes the elements of H from state words of 64 bits at most, and these have {bits}; there are \"auto\", \"stored\" and \"table\""
    )]
    DirectNeedsShortWords {
        /// Bits of a state word.
        bits: u32,
    },
    /// Elements with more values than a table has codes.
    #[error(
        "storage = \"table\" keeps the column of each element of H with a code of its value, in 32 bits together: for {rows} columns at most {most} distinct values beside the diagonal, and H has more; there are \"auto\" and \"stored\""
    )]
    TooManyValues {
        /// Rows of the matrix.
        rows: usize,
        /// Most distinct values.
        most: usize,
    },
    /// The dimension overflows 64 bits, or its tables would not fit.
    #[error(
        "the sector has about {dimension:.3e} states, more than can be indexed here; fix more charges, use a smaller lattice, or DMRG (a section [dmrg] in a model file, eigenforge::dmrg in Rust)"
    )]
    TooLarge {
        /// Number of states.
        dimension: f64,
    },
    /// A dense matrix that would be too large.
    #[error(
        "a dense matrix of dimension {dimension} was requested; dense matrices are for small sectors, up to {limit}: use lobpcg or lanczos"
    )]
    TooLargeForDense {
        /// Dimension of the sector.
        dimension: u64,
        /// The largest allowed.
        limit: u64,
    },
    /// The symmetry was refused.
    #[error(transparent)]
    Symmetry(Box<super::SymmetryError>),
    /// The lattice was impossible.
    #[error(transparent)]
    Lattice(Box<crate::lattice::LatticeError>),
}

impl From<crate::lattice::LatticeError> for OperatorError {
    fn from(error: crate::lattice::LatticeError) -> OperatorError {
        OperatorError::Lattice(Box::new(error))
    }
}

impl From<super::SymmetryError> for OperatorError {
    fn from(error: super::SymmetryError) -> OperatorError {
        OperatorError::Symmetry(Box::new(error))
    }
}

/// "S+(0) has coefficient -0.7 i": a factor i of a term belongs to its coefficient.
fn with_coefficient(term: &str, has: &str, value: f64) -> String {
    match term.strip_prefix("i ").or((term == "i").then_some("1")) {
        Some(rest) if value != 0.0 => format!("{rest} {has} {value} i"),
        Some(rest) => format!("{rest} {has} {value}"),
        None => format!("{term} {has} {value}"),
    }
}

/// The sites of a product, "1, 2".
fn sites_of(product: &[Factor]) -> String {
    let sites: std::collections::BTreeSet<usize> =
        product.iter().filter(|factor| **factor != Factor::ImaginaryUnit).map(|factor| factor.site()).collect();
    sites.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}

impl Operator {
    /// Checks that every coefficient is finite, every site exists, every product has even fermion parity, the operator is
    /// Hermitian, and each of `charges` is conserved. Works on the reduced operator.
    pub fn check(&self, charges: &[Charge]) -> Result<(), OperatorError> {
        if let Some((term, factors)) = self.lost_digits.clone() {
            return Err(OperatorError::Cancellation { term, factors });
        }
        self.check_terms(charges)?;
        self.check_magnitudes()?;
        self.check_hermitian()
    }

    /// The same without Hermiticity: each term separately.
    pub fn check_terms(&self, charges: &[Charge]) -> Result<(), OperatorError> {
        self.check_notes()?;
        if self.is_complex() || self.kinds.is_some() || self.content() == Content::Mixed {
            return self.check_kinds(charges);
        }
        let sites = self.sites();
        if let Some(site) = self.largest_site().filter(|site| *site >= sites) {
            return Err(OperatorError::SiteOutside { site, sites, last: sites.saturating_sub(1) });
        }
        let fermionic = |f: &Factor| f.is_fermion();
        let (mut fermions, mut spins): (Option<&[Factor]>, Option<&[Factor]>) = (None, None);
        let (mut electrons, mut flavours) = (false, None);
        for (product, value) in self.terms() {
            let term = || product_text(product);
            if !value.is_finite() {
                return Err(OperatorError::NotFinite { term: term(), value });
            }
            fermions = fermions.or(product.iter().any(fermionic).then_some(product));
            spins = spins.or(product.iter().any(|f| !f.is_fermion()).then_some(product));
            if product.iter().filter(|f| f.is_fermion()).count() % 2 == 1 {
                return Err(OperatorError::OddParity { term: term() });
            }
            let flavoured = product.iter().filter(|f| f.flavour().is_some()).count();
            electrons |= flavoured < product.iter().filter(|f| f.is_fermion()).count();
            if flavoured > 0 {
                if charges.iter().any(|charge| matches!(charge, Charge::Up | Charge::Down)) {
                    return Err(OperatorError::Flavours { term: term() });
                }
                flavours = flavours.or(Some(product));
            }
            for charge in charges {
                let change = charge.change(product);
                if change != 0 {
                    return Err(OperatorError::NotConserved {
                        term: term(),
                        sites: sites_of(product),
                        charge: *charge,
                        change,
                        conserved: String::new(),
                    });
                }
            }
        }
        if let (Some(product), true) = (flavours, electrons) {
            return Err(OperatorError::MixedFlavours { term: product_text(product) });
        }
        if let (Some(fermion), Some(moment)) = (fermions, spins) {
            let (fermion, site) = (product_text(fermion), sites_of(moment));
            return Err(OperatorError::Mixed { fermion, moment: product_text(moment), site });
        }
        Ok(())
    }

    /// [`Operator::check_terms`] on declared sites.
    fn check_kinds(&self, charges: &[Charge]) -> Result<(), OperatorError> {
        let (kinds, sites) = (self.kinds_or_implied(), self.sites());
        let last = kinds.len().saturating_sub(1);
        if let Some(site) = self.largest_site().filter(|site| *site >= kinds.len().min(sites)) {
            return Err(OperatorError::SiteOutside { site, sites: kinds.len(), last });
        }
        for (site, state) in self.forbidden.iter().flatten().copied() {
            let kind = kinds.get(site);
            if kind.is_none_or(|kind| !kind.states().contains(&state)) {
                let most = kind.map_or(0, |kind| *kind.states().end());
                let kind = kind.map_or("it".into(), |kind| format!("a site of kind \"{kind}\""));
                return Err(OperatorError::NoSuchState { state, site, kind, most, last });
            }
        }
        for charge in charges {
            if !kinds.iter().enumerate().any(|(site, kind)| kind.has_charge(*charge, site)) {
                return Err(OperatorError::NoSuchCharge { charge: *charge, kinds: kind_names(&kinds) });
            }
        }
        for (product, value) in self.terms() {
            let term = || product_text(product);
            if !value.is_finite() {
                return Err(OperatorError::NotFinite { term: term(), value });
            }
            let is_wrong = |factor: &&Factor| **factor != Factor::ImaginaryUnit && !kinds[factor.site()].has(**factor);
            if let Some(factor) = product.iter().find(is_wrong) {
                let (site, kind) = (factor.site(), kinds[factor.site()]);
                return Err(match self.kinds {
                    None => OperatorError::Mixed {
                        fermion: product_text(product),
                        moment: factor.to_string(),
                        site: site.to_string(),
                    },
                    Some(_) => {
                        let (factor, words) = (factor.to_string(), kind.words());
                        OperatorError::WrongSite { term: term(), factor, site, kind, words }
                    }
                });
            }
            if product.iter().filter(|factor| factor.is_fermion()).count() % 2 == 1 {
                return Err(OperatorError::OddParity { term: term() });
            }
            for charge in charges {
                let change = charge.change_on(product, &kinds);
                if change != 0 {
                    let kept: Vec<String> = self.conserved_on(&kinds).iter().map(Charge::to_string).collect();
                    let conserved = match kept.is_empty() {
                        true => " (the operator conserves none)".into(),
                        false => format!(" (the operator conserves {})", kept.join(", ")),
                    };
                    let (sites, charge) = (sites_of(product), *charge);
                    return Err(OperatorError::NotConserved { term: term(), sites, charge, change, conserved });
                }
            }
        }
        Ok(())
    }

    /// The charges that these sites have and the operator conserves.
    pub fn conserved_on(&self, kinds: &[SiteKind]) -> Vec<Charge> {
        let single = [Charge::Up, Charge::Down].into_iter();
        let flavours = (0..Spin::MOST_FLAVOURS as u8).map(Charge::Flavour);
        let sums = [Charge::Particles, Charge::TwoSz, Charge::Bosons, Charge::Parity].into_iter();
        // None of these depends on the site.
        let has = |charge: &Charge| kinds.iter().any(|kind| kind.has_charge(*charge, 0));
        let keeps = |charge: &Charge| self.terms().all(|(product, _)| charge.change_on(product, kinds) == 0);
        single.chain(flavours).chain(sums).filter(has).filter(keeps).collect()
    }

    /// H = H†, to 1e-12 of the largest coefficient.
    pub fn check_hermitian(&self) -> Result<(), OperatorError> {
        let adjoint = self.adjoint().reduced();
        match self.difference_from(&adjoint) {
            None => Ok(()),
            // Polynomials in Sᶻ with the same values at the levels of a site are one operator.
            Some(_) => self.shortest().difference_from(&adjoint.shortest()).map_or(Ok(()), Err),
        }
    }

    /// The same with polynomials in Sᶻ of the lowest degrees.
    fn shortest(&self) -> Operator {
        self.reduced_for(|site| self.two_s_of(site), true)
    }

    /// The first term that an adjoint has otherwise.
    fn difference_from(&self, adjoint: &Operator) -> Option<OperatorError> {
        let scale = self.terms().fold(0.0f64, |scale, (_, c)| scale.max(c.abs()));
        let numbers = |product: &Product| (self.coefficient(product), adjoint.coefficient(product));
        // Coefficients are sums of a few user numbers, so rounding errors are far below 1e-12 of the largest.
        let differs = |product: &&Product| {
            let (found, other) = numbers(product);
            (found - other).abs() > 1e-12 * scale
        };
        let product = self.terms.keys().chain(adjoint.terms.keys()).find(differs)?;
        let (found, other) = numbers(product);
        let conjugate: Vec<Factor> = product.iter().rev().map(|factor| factor.adjoint()).collect();
        let (term, conjugate) = (product_text(product), product_text(&conjugate));
        Some(OperatorError::NotHermitian { term, found, conjugate, other })
    }

    /// Names the kind of an operator for an error.
    pub fn content_name(&self) -> &'static str {
        match self.content() {
            Content::Nothing => "no operators at all",
            Content::Fermions => "fermions",
            Content::Flavours => "fermions of flavours",
            Content::Spins => "local moments",
            Content::Mixed => "sites of declared kinds",
        }
    }

    /// Refuses states that [`Operator::forbid`] left out.
    pub fn refuse_projections(&self, method: &'static str) -> Result<(), OperatorError> {
        if self.forbidden.is_empty() { Ok(()) } else { Err(OperatorError::Projected { method }) }
    }

    /// Refuses kinds of site that a method does not have.
    pub fn refuse_other_sites(&self, method: &'static str) -> Result<(), OperatorError> {
        let mut terms = self.terms();
        if let Some((product, _)) = terms.find(|(product, _)| product.last() == Some(&Factor::ImaginaryUnit)) {
            return Err(OperatorError::Complex { term: product_text(product), method });
        }
        if self.content() != Content::Mixed && self.forbidden.is_empty() {
            return Ok(());
        }
        Err(OperatorError::OtherSites { method, kinds: kind_names(&self.kinds_or_implied()) })
    }
}

/// Each kind once, in the order of the sites.
pub fn kind_names(kinds: &[SiteKind]) -> String {
    let mut names: Vec<String> = Vec::new();
    for kind in kinds {
        let name = format!("\"{kind}\"");
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(", ")
}
