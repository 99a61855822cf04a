//! Converts integrals to an operator, and an operator to integrals.
//!
//! In and out: [`Operator`], as `#[gpu_operator]` makes it, and [`Integrals`]. In normal order
//!
//! | term | coefficient |
//! |---|---|
//! | 1 | E_core |
//! | c†_pσ c_qσ | h_pq |
//! | c†_p↑ c†_r↓ c_s↓ c_q↑ | (pq\|rs) |
//! | c†_pσ c†_rσ c_sσ c_qσ, p < r, q < s | (pq\|rs) − (ps\|rq) |
//!
//! (Helgaker, Jørgensen and Olsen 2000, section 1.4.) The second and third line give the integrals; that both spins
//! agree, that (pq|rs) has the eightfold symmetry of real orbitals, and that the fourth line follows from the third is
//! checked to 1e-10 of the largest coefficient. An operator that passes can be used by every CI solver; others can still
//! be diagonalised exactly, up to 32 orbitals, and up to 64 in small sectors: `operator.sector(Up(…), Down(…))`.

use super::Integrals;
use super::integrals::{pair, triangle};
use super::orbital_number::OrbitalNumber;
use eigenforge_core::basis::{Down, Up};
use eigenforge_core::operator::Factor::{Annihilate, Create};
use eigenforge_core::operator::{Charge, Content, Factor, Operator, OperatorError, Spin, product_text};
use eigenforge_macros::gpu_operator;
use eigenforge_runtime::{Device, DeviceError};

/// Allowed difference between copies of one integral, relative to the largest coefficient; the same as in FCIDUMP files.
const AGREEMENT: f64 = 1e-10;

/// H = E_core + Σ h_pq c†_pσ c_qσ + ½ Σ (pq|rs) c†_pσ c†_rτ c_sτ c_qσ, to which terms can be added. Where each spin has its own orbitals,
/// h_pq and (pq|rs) are those of the spins, and a site is an orbital of either.
///
/// There is one term for every (pq|rs) of opposite spins and for every pair of pairs of one spin, about 1.5 N⁴ of 130
/// bytes: 0.2 GB and 5 s for 30 orbitals, 1.4 GB and 40 s for 50 (one core). Beyond that change the integrals themselves:
/// [`one`](field@Integrals::one) and [`two`](field@Integrals::two) are public.
pub fn electrons(integrals: &Integrals) -> Operator {
    if integrals.is_unrestricted() { term_by_term(integrals) } else { restricted_electrons(integrals) }
}

/// That of one set of orbitals for both spins.
#[gpu_operator(conserves(Up, Down))]
fn restricted_electrons(integrals: &Integrals) -> Operator {
    let n = integrals.orbitals;
    sum!(p in 0..n, q in 0..n, s in [Up, Down]; integrals.one(p, q) * cdag(p, s) * c(q, s))
        + sum!(p in 0..n, q in 0..n, r in 0..n, t in 0..n, s in [Up, Down], u in [Up, Down];
            0.5 * integrals.two(p, q, r, t) * cdag(p, s) * cdag(r, u) * c(t, u) * c(q, s))
        + integrals.core
}

/// That of any integrals, in normal order.
pub(super) fn term_by_term<T: OrbitalNumber>(integrals: &Integrals<T>) -> Operator {
    let n = integrals.orbitals;
    let pairs = || (0..n).flat_map(|p| (0..n).map(move |q| (p, q)));
    let below = || pairs().filter(|(p, r)| p < r);
    let mut sum = Operator::zero();
    let mut add = |factors: &[Factor], value: T| {
        let mut parts = Vec::new();
        value.push(&mut parts);
        for (part, unit) in parts.into_iter().zip([None, Some(Factor::ImaginaryUnit)]) {
            if part != 0.0 {
                sum.add_terms(Operator::product(&factors.iter().copied().chain(unit).collect::<Vec<_>>()), part);
            }
        }
    };
    add(&[], integrals.core.into());
    for spin in [Spin::Up, Spin::Down] {
        let own = integrals.of_spin(spin);
        for (p, q) in pairs() {
            add(&[Create(spin, p), Annihilate(spin, q)], own.one(p, q));
        }
        for ((p, r), (q, s)) in below().flat_map(|left| below().map(move |right| (left, right))) {
            add(&same_spin([p, q, r, s], spin), own.two(p, q, r, s) - own.two(p, s, r, q));
        }
    }
    for ((p, q), (r, s)) in pairs().flat_map(|left| pairs().map(move |right| (left, right))) {
        add(&opposite([p, q, r, s]), integrals.between(T::pair(n, p, q), T::pair(n, r, s)));
    }
    sum
}

/// Why an operator has no integrals.
#[derive(Debug, thiserror::Error)]
pub enum LoweringError {
    /// Not finite, not Hermitian, or not conserving the electrons of each spin.
    #[error(transparent)]
    Operator(#[from] OperatorError),
    /// Not enough memory for the integrals.
    #[error(transparent)]
    Memory(#[from] DeviceError),
    /// S operators, which belong to local moments.
    #[error(
        "integrals are of electrons, and this operator is made of local moments: use c, cdag and n, or diagonalise it \
         with `.two_sz(…)`"
    )]
    LocalMoments,
    /// More electrons than fit.
    #[error("{up} up and {down} down electrons do not fit {orbitals} orbitals: each holds one of each spin")]
    Electrons {
        /// Requested up electrons.
        up: usize,
        /// Requested down electrons.
        down: usize,
        /// Orbitals of the operator.
        orbitals: usize,
    },
    /// More than two electrons in one term.
    #[error(
        "{term} (coefficient {value}) acts on {electrons} electrons at once, and integrals hold one- and two-electron \
         terms: drop it, or diagonalise exactly with `.sector(Up(…), Down(…))`"
    )]
    Body {
        /// The term.
        term: String,
        /// Its coefficient.
        value: f64,
        /// Electrons that it acts on.
        electrons: usize,
    },
    /// The coefficients of both spins differ.
    #[error(
        "{term} has coefficient {found}, but {partner}, the same with the spins exchanged, has {other}: integrals are \
         the same for both spins; sum over `s in [Up, Down]`, or diagonalise exactly with `.sector(Up(…), Down(…))`"
    )]
    SpinDependent {
        /// The term.
        term: String,
        /// Its coefficient.
        found: f64,
        /// The term with its spins exchanged.
        partner: String,
        /// The coefficient found there.
        other: f64,
    },
    /// (pq|rs) ≠ (qp|rs).
    #[error(
        "{term} has coefficient {found}, but {partner} has {other}: over real orbitals (pq|rs) = (qp|rs), so both must \
         be the same (a pair that hops needs the exchange of the same strength); add the missing term, or diagonalise \
         exactly with `.sector(Up(…), Down(…))`"
    )]
    NotReal {
        /// The term.
        term: String,
        /// Its coefficient.
        found: f64,
        /// The term of the exchanged orbitals.
        partner: String,
        /// The coefficient found there.
        other: f64,
    },
    /// The interaction of equal spins differs from that of opposite spins.
    #[error(
        "{term} has coefficient {found}, where the terms of opposite spins ask for (pq|rs) - (ps|rq) = {expected}: write \
         the interaction for all pairs of spins, `s in [Up, Down], u in [Up, Down]`, or diagonalise exactly with \
         `.sector(Up(…), Down(…))`"
    )]
    SameSpin {
        /// The term.
        term: String,
        /// Its coefficient.
        found: f64,
        /// What a spin-free interaction would have.
        expected: f64,
    },
}

impl Integrals {
    /// The integrals of an operator, for these electrons: the path from `#[gpu_operator]` to configuration interaction.
    ///
    /// Orbitals are the operator's sites. Irreps are empty; [`irreps`](field@Integrals::irreps) may be set if every added
    /// term conserves the symmetry.
    ///
    /// # Errors
    /// An operator that is not a real, Hermitian, spin-free sum of one- and two-electron terms, with its first term that
    /// does not fit; electrons that the orbitals cannot hold; too little memory.
    pub fn from_operator(operator: &Operator, Up(up): Up, Down(down): Down) -> Result<Integrals, LoweringError> {
        if operator.content() == Content::Spins {
            return Err(LoweringError::LocalMoments);
        }
        operator.refuse_other_sites("configuration interaction")?;
        operator.check_terms(&[Charge::Up, Charge::Down])?;
        let orbitals = operator.sites();
        if up.max(down) > orbitals {
            return Err(LoweringError::Electrons { up, down, orbitals });
        }
        let two = triangle(triangle(orbitals)) as u64;
        Device::cpu().check_memory(&format!("integrals over {orbitals} orbitals"), 9 * two)?;
        let found = Lowering::new(operator, orbitals).run();
        // Otherwise a missing conjugate would be reported as another asymmetry.
        let integrals = found.or_else(|error| operator.check_hermitian().map_err(Into::into).and(Err(error)))?;
        Ok(Integrals { electrons: up + down, two_sz: up as i64 - down as i64, ..integrals })
    }
}

/// Orbitals p, q, r, s of c†_pσ c†_rτ c_sτ c_qσ.
type Quartet = [usize; 4];

/// c†_p↑ c†_r↓ c_s↓ c_q↑, already in normal order.
fn opposite([p, q, r, s]: Quartet) -> [Factor; 4] {
    [Create(Spin::Up, p), Create(Spin::Down, r), Annihilate(Spin::Down, s), Annihilate(Spin::Up, q)]
}

/// c†_pσ c†_rσ c_sσ c_qσ, in normal order for p < r and q < s.
fn same_spin([p, q, r, s]: Quartet, spin: Spin) -> [Factor; 4] {
    [Create(spin, p), Create(spin, r), Annihilate(spin, s), Annihilate(spin, q)]
}

/// Integrals being read off an operator.
struct Lowering<'o> {
    operator: &'o Operator,
    integrals: Integrals,
    tolerance: f64,
    /// Terms seen for each (pq|rs), by its index.
    copies: Vec<u8>,
}

impl<'o> Lowering<'o> {
    fn new(operator: &'o Operator, orbitals: usize) -> Lowering<'o> {
        let integrals = Integrals::zero(orbitals);
        let values = operator.terms().filter(|(product, _)| !product.is_empty());
        let largest = values.fold(0.0f64, |largest, (_, value)| largest.max(value.abs()));
        let copies = vec![0; integrals.two.len()];
        Lowering { operator, integrals, tolerance: AGREEMENT * largest, copies }
    }

    fn run(mut self) -> Result<Integrals, LoweringError> {
        self.integrals.core = self.operator.coefficient(&[]);
        self.one_electron()?;
        self.opposite_spins()?;
        self.no_copy_is_missing()?;
        for spin in [Spin::Up, Spin::Down] {
            self.equal_spins(spin)?;
        }
        Ok(self.integrals)
    }

    fn agree(&self, left: f64, right: f64) -> bool {
        (left - right).abs() <= self.tolerance
    }

    fn one_electron(&mut self) -> Result<(), LoweringError> {
        for (product, found) in self.operator.terms() {
            let [Create(spin, p), Annihilate(_, q)] = *product else { continue };
            let other_spin = if spin == Spin::Up { Spin::Down } else { Spin::Up };
            let partner = [Create(other_spin, p), Annihilate(other_spin, q)];
            let other = self.operator.coefficient(&partner);
            if !self.agree(found, other) {
                return Err(spin_dependent(product, found, &partner, other));
            }
            if !self.agree(found, self.operator.coefficient(&[Create(spin, q), Annihilate(spin, p)])) {
                self.operator.check_hermitian()?;
            }
            if p >= q {
                self.integrals.one[pair(p, q)] = found;
            }
        }
        Ok(())
    }

    /// Reads (pq|rs), and counts its copies.
    fn opposite_spins(&mut self) -> Result<(), LoweringError> {
        for (product, value) in self.operator.terms() {
            match *product {
                [Create(Spin::Up, p), Create(Spin::Down, r), Annihilate(Spin::Down, s), Annihilate(Spin::Up, q)] => {
                    let at = pair(pair(p, q), pair(r, s));
                    if self.copies[at] > 0 && !self.agree(self.integrals.two[at], value) {
                        return Err(self.broken_symmetry([p, q, r, s]));
                    }
                    if self.copies[at] == 0 {
                        self.integrals.two[at] = value;
                    }
                    self.copies[at] += 1;
                }
                _ if product.len() > 4 => {
                    let (term, electrons) = (product_text(product), product.len() / 2);
                    return Err(LoweringError::Body { term, value, electrons });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Checks that every non-zero (pq|rs) was seen for all exchanges of its orbitals.
    fn no_copy_is_missing(&self) -> Result<(), LoweringError> {
        let n = self.integrals.orbitals;
        let pairs = || (0..n).flat_map(|p| (0..=p).map(move |q| (p, q)));
        for (left, (p, q)) in pairs().enumerate() {
            for (right, (r, s)) in pairs().take(left + 1).enumerate() {
                let at = pair(left, right);
                let twice = |differ: bool| if differ { 2 } else { 1 };
                let expected = twice(p != q) * twice(r != s) * twice(left != right);
                if self.copies[at] != expected && !self.agree(self.integrals.two[at], 0.0) {
                    return Err(self.broken_symmetry([p, q, r, s]));
                }
            }
        }
        Ok(())
    }

    /// The first of the eight copies of (pq|rs) that differs from its neighbour.
    fn broken_symmetry(&self, [p, q, r, s]: Quartet) -> LoweringError {
        let coefficient = |quartet| self.operator.coefficient(&opposite(quartet));
        let mut copies = Vec::new();
        for [p, q] in [[p, q], [q, p]] {
            for [r, s] in [[r, s], [s, r]] {
                copies.extend([[p, q, r, s], [r, s, p, q]]);
            }
        }
        let mut faults = copies.iter().flat_map(|&[p, q, r, s]| {
            let neighbours = [([r, s, p, q], true), ([q, p, r, s], false)];
            neighbours.map(|(neighbour, exchanged)| ([p, q, r, s], neighbour, exchanged))
        });
        let fault = faults.find(|(copy, neighbour, _)| {
            let (found, other) = (coefficient(*copy), coefficient(*neighbour));
            found != 0.0 && !self.agree(found, other)
        });
        let (copy, neighbour, exchanged) = fault.unwrap_or(([p, q, r, s], [q, p, r, s], false));
        let (found, other) = (coefficient(copy), coefficient(neighbour));
        if exchanged {
            return spin_dependent(&opposite(copy), found, &opposite(neighbour), other);
        }
        let [term, partner] = [copy, neighbour].map(|quartet| product_text(&opposite(quartet)));
        LoweringError::NotReal { term, found, partner, other }
    }

    /// (pq|rs) − (ps|rq).
    fn antisymmetrised(&self, [p, q, r, s]: Quartet) -> f64 {
        self.integrals.two(p, q, r, s) - self.integrals.two(p, s, r, q)
    }

    /// Checks that the equal-spin terms follow from the opposite-spin ones.
    fn equal_spins(&self, spin: Spin) -> Result<(), LoweringError> {
        let refuse = |quartet, found| {
            let (term, expected) = (product_text(&same_spin(quartet, spin)), self.antisymmetrised(quartet));
            Err(LoweringError::SameSpin { term, found, expected })
        };
        let mut present = 0u64;
        for (product, found) in self.operator.terms() {
            match *product {
                [Create(left, p), Create(right, r), Annihilate(_, s), Annihilate(_, q)]
                    if (left, right) == (spin, spin) =>
                {
                    let expected = self.antisymmetrised([p, q, r, s]);
                    if !self.agree(found, expected) {
                        return refuse([p, q, r, s], found);
                    }
                    present += u64::from(!self.agree(expected, 0.0));
                }
                _ => {}
            }
        }
        let n = self.integrals.orbitals;
        let pairs = || (1..n).flat_map(|high| (0..high).map(move |low| (low, high)));
        let quartets = || pairs().flat_map(|(p, r)| pairs().map(move |(q, s)| [p, q, r, s]));
        let needed = |quartet: &Quartet| !self.agree(self.antisymmetrised(*quartet), 0.0);
        if quartets().filter(needed).count() as u64 == present {
            return Ok(());
        }
        let missing =
            quartets().filter(needed).find(|quartet| self.operator.coefficient(&same_spin(*quartet, spin)) == 0.0);
        missing.map_or(Ok(()), |quartet| refuse(quartet, 0.0))
    }
}

fn spin_dependent(product: &[Factor], found: f64, partner: &[Factor], other: f64) -> LoweringError {
    LoweringError::SpinDependent { term: product_text(product), found, partner: product_text(partner), other }
}
