//! Full configuration interaction without a stored matrix: σ = H C on the CPU, or by a generated kernel.
//!
//! In: integrals and a full space, of all irreps or of one, C its coefficients with one row per α string (Hartree,
//! without the core energy). Out: σ, the diagonal, a bound of the norm, as a [`LinearOperator`]. With E_pq the
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
//! | `device_tables` | what does the generated kernel read? |
//! | `kernels` | σ on a device that runs kernels |
//! | `diagonal` | its diagonal |
//! | `rank` | σ by one of several ranks |
//! | `slabs/` | the same where strings are long |

mod alpha;
mod beta;
mod bound;
mod classes;
mod device_tables;
mod diagonal;
mod error;
mod kernels;
mod lanes;
mod product;
mod rank;
mod slabs;

use super::integrals::{Integrals, triangle};
use super::matrix::{FORBIDDEN, THRESHOLD};
use super::space::Space;
use super::string_table::{Rules, StringTable};
use alpha::Alpha;
use beta::Beta;
use classes::Classes;
use device_tables::Sources;
use eigenforge_product::ProductKernels;
use eigenforge_product::sparse::Target;
use eigenforge_runtime::{Device, DeviceError, ElementFunction, LinearOperator, Vector};
use eigenforge_templates::ci::{FullCiProduct, FullCiShape, StringCounts};
use eigenforge_templates::{Cost, ElementFunctionText};
pub use error::DirectError;
use kernels::kernels;
pub(super) use rank::RankFullCi;
use slabs::SlabKernels;
use std::ops::Range;
use std::sync::Arc;

/// H of a full space, as an operator.
pub struct DirectFullCi {
    device: Device,
    rows: usize,
    engine: Engine,
    norm_bound: f64,
    cost: Cost,
}

enum Engine {
    Cpu(Arc<Tables>),
    Kernels(Box<ProductKernels>, ElementFunction),
    Slabs(Box<SlabKernels>),
}

/// Everything that a product reads.
struct Tables {
    alpha: Alpha,
    beta: Beta,
    /// (pq|rs) and −(pq|rs) at [pq][2 rs] and [pq][2 rs + 1].
    coulomb: Vec<f64>,
    /// Pairs of orbitals.
    pairs: usize,
}

impl Tables {
    /// ± (pq|rs) of one pq.
    fn coulomb(&self, pair: usize) -> &[f64] {
        &self.coulomb[pair * 2 * self.pairs..][..2 * self.pairs]
    }
}

impl DirectFullCi {
    /// Lists the moves of the space's strings.
    pub fn new(integrals: &Integrals, space: &Space, device: &Device) -> Result<DirectFullCi, DirectError> {
        DirectFullCi::with_shape(integrals, space, None, device)
    }

    /// The product in a given shape, which the CPU ignores.
    pub fn with_shape(
        integrals: &Integrals,
        space: &Space,
        shape: Option<FullCiShape>,
        device: &Device,
    ) -> Result<DirectFullCi, DirectError> {
        let pick = |strings: &StringCounts| shape.unwrap_or_else(|| FullCiShape::choose(strings));
        Ok(DirectFullCi::picked(integrals, space, pick, device)?.0)
    }

    /// The product in the shape that `pick` chooses for its strings, and that shape; the CPU has none.
    pub(super) fn picked(
        integrals: &Integrals,
        space: &Space,
        pick: impl FnOnce(&StringCounts) -> FullCiShape,
        device: &Device,
    ) -> Result<(DirectFullCi, Option<FullCiShape>), DirectError> {
        let rows = space.len() as usize;
        if device.runs_kernels() {
            let target = Target::new(device);
            let shape = pick(&counts(integrals, space, target)?);
            let (engine, norm_bound, cost) = on_kernels(integrals, space, target, shape, device)?;
            return Ok((DirectFullCi { device: device.clone(), rows, engine, norm_bound, cost }, Some(shape)));
        }
        let moves = Moves::new(integrals, space, THRESHOLD)?;
        let strings = space.alpha().words().len();
        let tables = moves.into_cpu_tables(0..strings)?;
        let norm_bound = tables.norm_bound();
        let cost = Cost { flops: 2.0 * tables.elements(), bytes: 16.0 * rows as f64 };
        let engine = Engine::Cpu(Arc::new(tables));
        Ok((DirectFullCi { device: device.clone(), rows, engine, norm_bound, cost }, None))
    }

    /// The shapes worth timing on this kind of card, the rule's first.
    pub(super) fn shapes(
        integrals: &Integrals,
        space: &Space,
        target: Target,
    ) -> Result<Vec<FullCiShape>, DirectError> {
        let strings = counts(integrals, space, target)?;
        Ok(FullCiShape::choose(&strings).candidates(&strings))
    }

    /// Bytes that a product by slabs takes on several cards beyond those of one; `None` where it is not by slabs.
    pub(super) fn of_more_cards(integrals: &Integrals, space: &Space, device: &Device) -> Option<u64> {
        if !device.runs_kernels() || !space.is_complete() {
            return None;
        }
        let strings = counts(integrals, space, Target::new(device)).ok()?;
        let FullCiShape::Slabs(shape) = FullCiShape::choose(&strings) else { return None };
        let cards = u64::from(device.cards_for(8 * space.len()).ok()?);
        let panel = shape.panel_bytes(&strings);
        let piece = if cards > 1 { 8 * u64::from(strings.alpha) * u64::from(shape.piece) } else { 0 };
        Some((cards - 1) * panel + cards * piece)
    }

    /// Whether the product on this kind of card goes by slabs.
    pub fn is_by_slabs(integrals: &Integrals, space: &Space, device: &Device) -> bool {
        let strings = if space.is_complete() { counts(integrals, space, Target::new(device)).ok() } else { None };
        strings.is_some_and(|strings| matches!(FullCiShape::choose(&strings), FullCiShape::Slabs(_)))
    }

    /// The plan of the generated kernels for this kind of card, without a device.
    pub fn plan(
        integrals: &Integrals,
        space: &Space,
        target: Target,
    ) -> Result<(FullCiProduct, ElementFunctionText), DirectError> {
        let shape = FullCiShape::choose(&counts(integrals, space, target)?);
        let moves = Moves::new(integrals, space, threshold(&shape))?;
        Ok(match shape {
            FullCiShape::Fields(shape) => {
                let tables = moves.sources().tables("ci", target, shape)?;
                (FullCiProduct::Fields(Box::new(tables.plan)), tables.diagonal.plan.text())
            }
            FullCiShape::Slabs(shape) => {
                let tables = moves.sources().slab_tables("ci", target, shape, (1, false))?;
                (FullCiProduct::Slabs(Box::new(tables.plan)), tables.diagonal.plan.text())
            }
        })
    }

    /// y = H x, and x·y if `summed` (on the CPU in any case).
    fn run(&self, x: &Vector<f64>, y: &mut Vector<f64>, summed: bool) -> Result<f64, DeviceError> {
        let n = self.rows;
        if x.len() != n || y.len() != n {
            let (expected, found) = (format!("vectors of {n} elements"), format!("{} and {}", x.len(), y.len()));
            return Err(DeviceError::Arguments { what: "multiply by H".into(), expected, found });
        }
        let tables = match &self.engine {
            Engine::Kernels(kernels, _) => return kernels.apply(x, y, summed),
            Engine::Slabs(kernels) => return kernels.apply(x, y, summed),
            Engine::Cpu(tables) => tables,
        };
        let (x, y) = Vector::both_on_host("multiply by H", x, y)?;
        Ok(tables.multiply(x, y))
    }
}

/// Double moves whose elements are not above this are not listed: by slabs none is.
fn threshold(shape: &FullCiShape) -> f64 {
    match shape {
        FullCiShape::Fields(_) => THRESHOLD,
        FullCiShape::Slabs(_) => f64::INFINITY,
    }
}

/// The product by generated kernels in a shape, a bound of the norm, and what a product costs.
fn on_kernels(
    integrals: &Integrals,
    space: &Space,
    target: Target,
    shape: FullCiShape,
    device: &Device,
) -> Result<(Engine, f64, Cost), DirectError> {
    let moves = Moves::new(integrals, space, threshold(&shape))?;
    let sources = moves.sources();
    Ok(match shape {
        FullCiShape::Fields(shape) => {
            let tables = sources.tables("ci", target, shape)?;
            let (norm_bound, cost) = (sources.norm_bound(), tables.plan.cost());
            {
                let (kernels, diagonal) = kernels(tables, device)?;
                (Engine::Kernels(Box::new(kernels), diagonal), norm_bound, cost)
            }
        }
        FullCiShape::Slabs(shape) => {
            let cards = device.cards_for(8 * space.len())?;
            let tables = sources.slab_tables("ci", target, shape, (cards, false))?;
            let (norm_bound, cost) = (tables.norm_bound, tables.plan.cost());
            (Engine::Slabs(Box::new(SlabKernels::new(tables, device)?)), norm_bound, cost)
        }
    })
}

/// Irreps of the orbitals from 0: moves are separated by irrep if no integral couples two.
fn irreps_of(integrals: &Integrals, space: &Space) -> Vec<u8> {
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
struct Moves<'a> {
    integrals: &'a Integrals,
    space: &'a Space,
    /// Irreps of the orbitals from 0: moves are separated by irrep if no integral couples two.
    irreps: Vec<u8>,
    classes: Classes,
    up: StringTable,
    beta: Beta,
}

impl<'a> Moves<'a> {
    fn new(integrals: &'a Integrals, space: &'a Space, threshold: f64) -> Result<Moves<'a>, DirectError> {
        check(integrals, space)?;
        let irreps = irreps_of(integrals, space);
        let rules =
            Rules { integrals, irreps: &irreps, level: None, listed: false, threshold: threshold * integrals.unit() };
        let classes = Classes::new(space);
        let up = StringTable::new(space.alpha(), &rules, |_| 0)?;
        let down = StringTable::new(space.beta(), &rules, |_| 0)?;
        let beta = Beta::new(integrals, space.beta().words(), &classes, &down)?;
        Ok(Moves { integrals, space, irreps, classes, up, beta })
    }

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

    /// For the rows of these α strings.
    fn into_cpu_tables(self, own: Range<usize>) -> Result<Tables, DirectError> {
        let pairs = triangle(self.integrals.orbitals);
        Device::cpu().check_memory("integrals as a square matrix", 16 * (pairs * pairs) as u64)?;
        let words = self.space.alpha().words();
        let alpha = Alpha::new(&self.irreps, words, &self.classes, &self.beta, &self.up, own)?;
        let coulomb = (0..pairs * pairs).flat_map(|k| {
            let value = self.integrals.two[super::integrals::pair(k / pairs, k % pairs)];
            [value, -value]
        });
        Ok(Tables { alpha, beta: self.beta, coulomb: coulomb.collect(), pairs })
    }
}

/// Checks that these integrals allow a product in this space.
fn check(integrals: &Integrals, space: &Space) -> Result<(), DirectError> {
    let orbitals = integrals.orbitals;
    if orbitals != space.orbitals() {
        return Err(DirectError::Orbitals { integrals: orbitals, space: space.orbitals() });
    }
    let infinite = integrals.one.iter().chain(&integrals.two).filter(|value| !value.is_finite()).count();
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

impl LinearOperator<f64> for DirectFullCi {
    fn dimension(&self) -> usize {
        self.rows
    }

    fn device(&self) -> &Device {
        &self.device
    }

    fn apply(&self, x: &Vector<f64>, y: &mut Vector<f64>) -> Result<f64, DeviceError> {
        self.run(x, y, true)
    }

    fn multiply(&self, x: &Vector<f64>, y: &mut Vector<f64>) -> Result<(), DeviceError> {
        self.run(x, y, false).map(drop)
    }

    fn diagonal(&self) -> Option<ElementFunction> {
        let tables = match &self.engine {
            Engine::Kernels(_, diagonal) => return Some(diagonal.clone()),
            Engine::Slabs(kernels) => return Some(kernels.diagonal()),
            Engine::Cpu(tables) => tables.clone(),
        };
        Some(ElementFunction::host_diagonal(move |start, out| tables.diagonal(start, out)))
    }

    fn norm_bound(&self) -> f64 {
        self.norm_bound
    }

    fn cost(&self) -> Cost {
        self.cost
    }
}
