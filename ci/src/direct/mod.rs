//! Full configuration interaction without a stored matrix: σ = H C on the CPU, or by a generated kernel.
//!
//! In: integrals and a full space, of all irreps or of one, C its coefficients with one row per α string (Hartree,
//! without the core energy). Out: a [`Multiply`] with σ, the diagonal, a bound of the norm. With E_pq the
//! one-electron move q → p of one spin, including its sign (Olsen, Roos, Jørgensen and Jensen 1988, eqs. 7 to 20),
//!
//! | part of σ(I, K) | |
//! |---|---|
//! | diagonal | [E(I) + E(K) + Σ_{p in I, r in K} (pp\|rr)] C(I, K) |
//! | α strings alone | Σ_J H_αα(I, J) C(J, K) |
//! | β strings alone, in the field of α | Σ_L [H_ββ(K, L) + Σ_{p in I} Σ_rs (pp\|rs) ⟨K\|E_rs\|L⟩] C(I, L) |
//! | both | Σ_{p<q} ⟨I\|E_pq + E_qp\|J⟩ Σ_L G_pq(K, L) C(J, L), G_pq(K, L) = Σ_rs (pq\|rs) ⟨K\|E_rs\|L⟩ |
//!
//! The last is nearly all of the work: (α moves of a string) × (β moves) × determinants, divided by the number of irreps
//! if the integrals obey them, since (pq|rs) = 0 unless pq and rs have the same irrep. For one pair pq each I has at most
//! one J, so those of a group of α strings are lanes: with their rows J packed side by side, one number G_pq(K, L)
//! multiplies a contiguous run of C. A group owns its rows of σ.
//!
//! Full CI of H2O in 6-31G, cores frozen (245,025 determinants), takes 7.1 ms on two cores of an EPYC of AVX-512 (Zen 5),
//! 11.5 ms without its irreps, 1.9 ms in one irrep (61,441); 43 % of it in the sums, 30 % in packing and unpacking lanes.
//!
//! Over complex orbitals the same code multiplies complex numbers on cores. Pairs pq are ordered there, E_pq stands alone, and an element takes
//! 8 flops in place of 2, as vectors have 16 bytes a number, the integrals 32 n⁴ bytes, and the field of the β strings 16 n² a string. (H as a
//! real and an imaginary matrix, each multiplied with both parts of a vector, has the same operations, reads all tables four times, and needs
//! ordered pairs too: Re (pq|rs) is not Re (qp|rs).) Cards make rows of H in each product (`on_the_fly`), since the fields of ordered pairs would
//! be twice as many, each of twice the bytes.
//!
//! On devices that run kernels, [`eigenforge_templates::ci::FullCiPlan`] describes the phases: the moves of an α string
//! are first multiplied into a *field* of each pair kl, a dense product over contiguous rows, and the β strings gather
//! from it: (pairs) × (α moves) coalesced operations and (β links) gathered ones per determinant. Where the fields of a class of
//! β strings do not fit in shared memory, [`eigenforge_templates::ci::SlabPlan`] goes through them slab by slab (`slabs/`).
//!
//! | file | question it answers |
//! |---|---|
//! | `beta` | what are the targets of the β strings of a row? |
//! | `alpha` | CPU: which α strings are processed together, and what does each batch read? |
//! | `classes` | which strings are paired in a space of one irrep? |
//! | `product` | CPU: which passes does a group make over its rows? |
//! | `lanes` | CPU: what do the inner loops do? |
//! | `bound` | how large can an eigenvalue be? |
//! | `cores` | the way of the CPU |
//! | `device_tables` | what does the generated kernel read? |
//! | `fields` | the way of whole fields on a card |
//! | `slabs/` | the way of a card where strings are long |
//! | `estimate` | what would each take? |

mod alpha;
mod beta;
mod bound;
mod classes;
mod cores;
mod device_tables;
mod error;
pub(super) mod estimate;
mod fields;
mod lanes;
mod product;
mod slabs;
mod transpose;

use super::error::CiError;
use super::integrals::Integrals;
use super::matrix::{FORBIDDEN, THRESHOLD};
use super::space::Space;
use super::string_table::{Rules, StringTable};
use super::vector_number::VectorNumber;
use super::way::{NamedPlan, Request};
use alpha::Alpha;
use beta::Beta;
use classes::Classes;
pub(super) use cores::CoresWay;
use device_tables::Sources;
use eigenforge_core::operator::Spin;
use eigenforge_product::sparse::Target;
use eigenforge_product::{Fit, Multiply, MultiplyPlan};
use eigenforge_runtime::{Device, trace};
use eigenforge_templates::ci::{FullCiShape, StringCounts};
pub use error::DirectError;
pub(super) use fields::FieldsWay;
pub(super) use slabs::SlabsWay;
use std::ops::Range;
use std::sync::Arc;

/// The multiply of full CI on a device, in a shape or in the rule's; cores have none.
///
/// # Errors
/// Integrals that do not fit the space, or a space that is not complete; a shape that cannot be; too little memory.
pub fn full_ci(
    integrals: &Integrals,
    space: &Space,
    shape: Option<FullCiShape>,
    device: &Device,
) -> Result<MultiplyPlan, DirectError> {
    let request = Request::on_device(integrals, space, None, device);
    let rule = rule(&request)?;
    Ok(MultiplyPlan(in_shape(&request, rule.and_then(|rule| shape.or(Some(rule))))?))
}

/// The shape of full CI on this kind of card.
///
/// # Errors
/// As of [`full_ci`].
pub fn full_ci_shape(integrals: &Integrals, space: &Space, target: Target) -> Result<FullCiShape, DirectError> {
    Ok(FullCiShape::choose(&counts(integrals, space, target)?))
}

/// The model's shape where kernels multiply: each of several ranks takes an α string at least.
fn rule(request: &Request<'_>) -> Result<Option<FullCiShape>, DirectError> {
    let ranks = request.place.ranks.map_or(0, |[ranks, _]| ranks as usize);
    if !request.is_on_card() || request.space.alpha().words().len() < ranks {
        return Ok(None);
    }
    full_ci_shape(request.integrals, request.space, request.target()).map(Some)
}

/// The shape that is asked for, or the model's. Of what is refused when it is planned that of no card.
fn wanted_shape(request: &Request<'_>) -> Option<FullCiShape> {
    if request.complex.is_some() {
        return None;
    }
    let rule = rule(request).ok()??;
    let Some(name) = &request.shape else { return Some(rule) };
    let strings = counts(request.integrals, request.space, request.target()).ok()?;
    Some(rule.candidates(&strings).into_iter().find(|shape| shape.to_string() == *name).unwrap_or(rule))
}

/// Whether a way is for the shape of a space.
fn shape_fit(request: &Request<'_>, is_own: impl Fn(&FullCiShape) -> bool) -> Fit {
    if !request.space.is_complete() {
        return Fit::Foreign;
    }
    match wanted_shape(request) {
        Some(shape) if is_own(&shape) => Fit::Takes,
        Some(_) => Fit::Refuses("the other shape is quicker by the model".into()),
        None if request.is_on_card() && request.complex.is_some() => {
            Fit::Refuses("over complex orbitals a card makes rows".into())
        }
        None if request.is_on_card() => Fit::Refuses("more ranks than α strings".into()),
        None => Fit::Refuses("for a card".into()),
    }
}

/// The multiply in a shape of a card, or by cores.
fn in_shape(request: &Request<'_>, shape: Option<FullCiShape>) -> Result<Arc<dyn Multiply>, DirectError> {
    let _listing = trace::span("set up", "moves of the strings");
    match shape {
        None => cores::plan(request),
        Some(FullCiShape::Fields(shape)) => fields::plan(request, shape),
        Some(FullCiShape::Slabs(shape)) => slabs::plan(request, shape),
    }
}

/// The shapes that are worth timing.
fn shapes<'r>(request: &'r Request<'r>) -> Result<Vec<NamedPlan<'r>>, CiError> {
    let strings = counts(request.integrals, request.space, request.target())?;
    let of = |shape: FullCiShape| -> NamedPlan<'r> {
        (shape.to_string(), Box::new(move || Ok(in_shape(request, Some(shape))?)))
    };
    Ok(FullCiShape::choose(&strings).candidates(&strings).into_iter().map(of).collect())
}

/// Everything that a product reads.
struct Tables<T = f64> {
    alpha: Alpha<T>,
    beta: Beta<T>,
    /// (pq|rs) and −(pq|rs) at [pq][2 rs] and [pq][2 rs + 1], pq of an α and rs of a β electron.
    coulomb: Vec<T>,
    /// Pairs of orbitals.
    pairs: usize,
}

impl<T: VectorNumber> Tables<T> {
    /// ± (pq|rs) of one pq.
    fn coulomb(&self, pair: usize) -> &[T] {
        &self.coulomb[pair * 2 * self.pairs..][..2 * self.pairs]
    }
}

/// Irreps of the orbitals from 0: moves are separated by irrep if no integral couples two.
fn irreps_of<T: VectorNumber>(integrals: &Integrals<T>, space: &Space) -> Vec<u8> {
    match space.irreps() {
        Some(irreps) => irreps.iter().map(|irrep| irrep - 1).collect(),
        None if integrals.obey_irreps() => integrals.irreps.iter().map(|irrep| irrep - 1).collect(),
        None => vec![0; integrals.orbitals],
    }
}

/// The strings and pairs, for the choice of a shape.
fn counts(integrals: &Integrals, space: &Space, target: Target) -> Result<StringCounts, DirectError> {
    check(integrals, space)?;
    let classes = Classes::new(space);
    let mut members = vec![0; classes.count()];
    space.beta().words().iter().for_each(|word| members[classes.class(*word)] += 1);
    let electrons = [space.alpha(), space.beta()].map(|strings| strings.electrons() as u32);
    let alpha = space.alpha().words().len() as u32;
    Ok(device_tables::counts(&irreps_of(integrals, space), (alpha, members), electrons, target))
}

/// Moves of the strings of both spins, from which the tables of CPU and card are made.
struct Moves<'a, T = f64> {
    integrals: &'a Integrals<T>,
    space: &'a Space,
    /// Irreps of the orbitals from 0: moves are separated by irrep if no integral couples two.
    irreps: Vec<u8>,
    classes: Classes,
    up: StringTable<T>,
    beta: Beta<T>,
}

impl<'a, T: VectorNumber> Moves<'a, T> {
    fn new(integrals: &'a Integrals<T>, space: &'a Space, threshold: f64) -> Result<Moves<'a, T>, DirectError> {
        check(integrals, space)?;
        let irreps = irreps_of(integrals, space);
        let threshold = threshold * integrals.unit();
        let rules =
            |spin| Rules { integrals: integrals.of_spin(spin), irreps: &irreps, level: None, listed: false, threshold };
        let classes = Classes::new(space);
        let up = StringTable::new(space.alpha(), &rules(Spin::Up), |_| 0)?;
        let down = StringTable::new(space.beta(), &rules(Spin::Down), |_| 0)?;
        let beta = Beta::new(integrals, space.beta().words(), &classes, &down)?;
        Ok(Moves { integrals, space, irreps, classes, up, beta })
    }

    /// For the rows of these α strings.
    fn into_cpu_tables(self, own: Range<usize>) -> Result<Tables<T>, DirectError> {
        let pairs = T::pairs(self.integrals.orbitals);
        let bytes = 2 * size_of::<T>() as u64 * (pairs * pairs) as u64;
        Device::cpu().check_memory("integrals as a square matrix", bytes)?;
        let words = self.space.alpha().words();
        let alpha = Alpha::new(&self.irreps, words, &self.classes, &self.beta, &self.up, own)?;
        let coulomb = (0..pairs * pairs).flat_map(|k| {
            let value = self.integrals.between(k / pairs, k % pairs);
            [value, -value]
        });
        Ok(Tables { alpha, beta: self.beta, coulomb: coulomb.collect(), pairs })
    }
}

impl Moves<'_> {
    fn sources(&self) -> Sources<'_> {
        let words = self.space.beta().words();
        // The order of `Beta`: class by class, ascending in each.
        let of_class = |class: usize| words.iter().copied().filter(move |word| self.classes.class(*word) == class);
        Sources {
            integrals: self.integrals,
            irreps: &self.irreps,
            classes: &self.classes,
            up: &self.up,
            alpha: self.space.alpha().words(),
            beta: &self.beta,
            down: (0..self.classes.count()).flat_map(of_class).collect(),
            rows: self.space.len(),
        }
    }
}

/// Checks that these integrals allow a product in this space.
fn check<T: VectorNumber>(integrals: &Integrals<T>, space: &Space) -> Result<(), DirectError> {
    let orbitals = integrals.orbitals;
    if orbitals != space.orbitals() {
        return Err(DirectError::Orbitals { integrals: orbitals, space: space.orbitals() });
    }
    let infinite = integrals.values().filter(|value| !value.size().is_finite()).count();
    if !integrals.is_whole() || infinite > 0 {
        let found = [integrals.one.len(), integrals.two.len(), integrals.irreps.len()];
        return Err(DirectError::Integrals { orbitals, found, infinite });
    }
    if !space.is_complete() {
        return Err(DirectError::Incomplete { rows: space.len() });
    }
    let largest = space.irreps().map_or(0.0, |irreps| integrals.largest_forbidden(irreps));
    if largest > FORBIDDEN * integrals.unit() {
        return Err(DirectError::Irreps { largest });
    }
    Ok(())
}
