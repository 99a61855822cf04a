//! A way to multiply by H of a molecule before it is planned: whom it is for, what it would take, and which shapes it has.

use super::error::CiError;
use super::estimate::{Estimate, ProductKind, StorageTarget};
use super::orbital_number::OrbitalNumber;
use super::{Census, CsfSpace, Integrals, Space};
use eigenforge_product::sparse::{FormatName, FormatRequest, Target};
use eigenforge_product::{Fit, Multiply};
use eigenforge_runtime::machine::Card;
use eigenforge_runtime::ranks::Ranks;
use eigenforge_runtime::{Device, Everywhere};
use num_complex::Complex64;
use std::sync::{Arc, Mutex, PoisonError};

/// Name of a molecule in its generated texts.
pub(super) const NAME: &str = "ci";

/// A way to multiply, before it is planned for a molecule.
pub(super) trait Way: Sync {
    /// From the integrals, or as a matrix.
    fn kind(&self) -> ProductKind {
        ProductKind::Direct
    }

    /// Its name in plans and reports.
    fn name(&self) -> &'static str;

    /// Whether it is for this space there.
    fn fit(&self, request: &Request<'_>) -> Fit;

    /// What it would take, by counts alone.
    fn estimate(&self, counted: &Counted<'_>, place: StorageTarget) -> Estimate;

    /// Plans the multiply of a space that it is for.
    ///
    /// # Errors
    /// Integrals that do not fit the space; too little memory.
    fn plan(&self, request: &Request<'_>) -> Result<Arc<dyn Multiply>, CiError>;

    /// The shapes that are worth timing, the rule's first; none where there is nothing to choose.
    ///
    /// # Errors
    /// As of [`Way::plan`].
    fn shapes<'r>(&self, _request: &'r Request<'r>) -> Result<Vec<NamedPlan<'r>>, CiError> {
        Ok(Vec::new())
    }

    /// What cards hold of each other's in a multiply, with its bytes over all of them; `None` where there is nothing of the kind.
    fn exchanged(&self, _request: &Request<'_>, _device: &Device) -> Option<(&'static str, u64)> {
        None
    }

    /// Whether ranks share vectors a piece at a time, so that no rank has all of one.
    fn is_by_pieces(&self) -> bool {
        false
    }
}

/// The name of a shape, and what plans a multiply of it.
pub(super) type NamedPlan<'r> = (String, Box<dyn FnOnce() -> Result<Arc<dyn Multiply>, CiError> + 'r>);

/// What a plan is asked for.
#[derive(Clone)]
pub(super) struct Request<'a> {
    pub(super) integrals: &'a Integrals,
    pub(super) space: &'a Space,
    /// Of a problem in configuration state functions these.
    pub(super) csfs: Option<&'a CsfSpace>,
    /// Over complex orbitals their integrals.
    pub(super) complex: Option<&'a Integrals<Complex64>>,
    pub(super) place: StorageTarget,
    /// Cards that share vectors.
    pub(super) cards: u32,
    /// Processes that share them.
    pub(super) ranks: Option<&'a Arc<Ranks>>,
    /// The format of a stored matrix.
    pub(super) wish: FormatRequest,
    /// Bytes of the solver's vectors beside a stored matrix.
    pub(super) reserved: u64,
    /// The name of a shape that was tuned.
    pub(super) shape: Option<String>,
}

impl<'a> Request<'a> {
    /// A plan for a place.
    pub(super) fn new(integrals: &'a Integrals, space: &'a Space, place: StorageTarget) -> Request<'a> {
        let wish = FormatRequest::default();
        Request {
            integrals,
            space,
            csfs: None,
            complex: None,
            place,
            cards: 1,
            ranks: None,
            wish,
            reserved: 0,
            shape: None,
        }
    }

    /// A plan for a device.
    pub(super) fn on_device(
        integrals: &'a Integrals,
        space: &'a Space,
        csfs: Option<&'a CsfSpace>,
        device: &'a Device,
    ) -> Request<'a> {
        let request = Request { csfs, ..Request::new(integrals, space, StorageTarget::from_device(device)) };
        // Without an answer of the driver all cards.
        let cards = device.cards_for(8 * request.rows()).unwrap_or(device.cards_at_work());
        Request { cards, ranks: device.ranks(), ..request }
    }

    /// Elements of a vector.
    pub(super) fn rows(&self) -> u64 {
        self.csfs.map_or_else(|| self.space.len(), CsfSpace::len)
    }

    /// What shapes and formats are chosen for: the card, or where there is none an H200.
    pub(super) fn target(&self) -> Target {
        let StorageTarget { card, warp, free, .. } = self.place;
        Target { warp, card: card.unwrap_or(Card::H200), free_bytes: free }
    }

    /// Real parts of an element of a vector.
    pub(super) fn parts(&self) -> u64 {
        self.complex.map_or(1, |_| 2)
    }

    /// Whether products go by strings, without rows: those of full spaces, but over complex orbitals on the cores alone.
    pub(super) fn is_by_strings(&self) -> bool {
        self.space.is_complete() && !(self.complex.is_some() && self.is_on_card())
    }

    /// Whether generated kernels multiply.
    pub(super) fn is_on_card(&self) -> bool {
        self.place.card.is_some()
    }

    /// A copy of x on each of several cards.
    pub(super) fn copies(&self, device: &Device) -> Option<(&'static str, u64)> {
        let vector = self.rows().saturating_mul(self.parts() * size_of::<f64>() as u64);
        Some(("a copy of x on each card", Everywhere::bytes_for(device, vector).ok()??))
    }
}

/// What is counted in a space.
#[derive(Clone, Copy)]
pub(super) struct Counted<'a> {
    /// Of the matrix that is multiplied.
    pub(super) census: &'a Census,
    /// Of the determinants, which are the same without configuration state functions.
    pub(super) determinants: &'a Census,
    pub(super) space: &'a Space,
    /// Of a problem in configuration state functions these.
    pub(super) csfs: Option<&'a CsfSpace>,
    /// Elements of a vector.
    pub(super) rows: u64,
    /// Irreps of pairs of orbitals.
    pub(super) irreps: u64,
    /// Bytes that there are beside the solver's vectors.
    pub(super) room: u64,
    /// The format of a stored matrix, if one is requested.
    pub(super) format: Option<FormatName>,
    /// Whether its elements and those of vectors are complex.
    pub(super) complex: bool,
}

impl Counted<'_> {
    /// Real parts of an element.
    pub(super) fn parts(&self) -> u64 {
        1 + u64::from(self.complex)
    }

    /// Pairs of orbitals, which over complex ones are ordered.
    pub(super) fn pairs(&self) -> u64 {
        let orbitals = self.space.orbitals();
        (if self.complex { Complex64::pairs(orbitals) } else { f64::pairs(orbitals) }) as u64
    }
}

/// The molecule of a plan, from which its tables are made.
pub(super) struct Source {
    pub(super) integrals: Integrals,
    /// Over complex orbitals their integrals.
    pub(super) complex: Option<Integrals<Complex64>>,
    pub(super) space: Space,
}

impl Source {
    pub(super) fn new(request: &Request<'_>) -> Source {
        let Request { integrals, space, complex, .. } = *request;
        Source { integrals: integrals.clone(), complex: complex.cloned(), space: space.clone() }
    }
}

/// Tables that are made with a plan, large, and needed once more, where it is put on a device; whoever does so twice makes them again.
pub(super) struct Once<V>(Mutex<Option<V>>);

impl<V> Once<V> {
    pub(super) fn new(value: V) -> Once<V> {
        Once(Mutex::new(Some(value)))
    }

    pub(super) fn take<E>(&self, again: impl FnOnce() -> Result<V, E>) -> Result<V, E> {
        let found = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        found.map_or_else(again, Ok)
    }
}
