//! Chooses between a stored matrix and products straight from the integrals, by cost.
//!
//! In: integrals, a space, the solver's own memory, a device, and the requested [`Storage`]. Out: a [`StoragePlan`], made
//! from counts alone ([`Census`]), before anything large is built. The seconds are a model: bytes and operations over
//! the rates of a [`Machine`], for a solve of [`PRODUCTS`] products; the fraction of a rate that a product reaches was
//! fitted on an H200 and the Xeon cores beside it. On a card, building a stored matrix on the host is nearly all of that,
//! so products are direct there unless the tables do not fit or too few α strings keep the card busy. On the CPU only
//! full CI is direct by default: rows of other spaces take long to compute, and are recomputed in each product only
//! where a matrix does not fit.

use super::strings::binomial;
use super::{Census, Integrals, Space, Strings};
pub use eigenforge_core::operator::MatrixStorage as Storage;
use eigenforge_product::sparse::{FormatName, Target, add_seconds};
use eigenforge_runtime::machine::{Card, Machine, Processor};
use eigenforge_runtime::{Device, Memory};
use eigenforge_templates::Warp;
use eigenforge_templates::ci::{SlabShape, StringCounts};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ptr;
use std::sync::OnceLock;

/// The two ways of multiplying by H.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProductKind {
    /// A sparse matrix.
    Stored,
    /// From the integrals.
    Direct,
}

impl fmt::Display for ProductKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ProductKind::Stored => "stored",
            ProductKind::Direct => "direct",
        })
    }
}

/// Products of a certified solve of one state, over which the set-up is amortised.
pub const PRODUCTS: f64 = 100.0;

/// Bytes of a stored element: its value and its column.
const ELEMENT: u128 = 12;
/// Seconds of one core to compute one element: full CI of water in 6-31G, 99.6 million in 1.1 s on the 16 cores beside an
/// H200. No rate of a processor measures this integer work: the Xeon's time is used for all of them.
const SECONDS_AN_ELEMENT: f64 = 1.8e-7;
/// Seconds of one core to list one move; the Xeon's, as above.
const SECONDS_A_MOVE: f64 = 1.5e-7;
/// Fraction of a card's memory rate that a stored multiply reaches: 3.5 TB/s of an H200's copies.
const OF_MEMORY: f64 = 3.5e12 / Card::H200.memory_rate;
/// Bytes of L2 per operation of a direct product: full CI of water in 6-31G, all irreps and one irrep, 4.5 TFLOP/s on an
/// H200. A card of low double-precision rate is bound by that rate instead.
const L2_BYTES_AN_OPERATION: f64 = Card::H200.l2_rate / 4.5e12;
/// Bytes of L2 per element of a product row by row: a sector of the vector and the moves (one H200: 0.8 to 2.0e11
/// elements per second).
const L2_BYTES_AN_ELEMENT: f64 = Card::H200.l2_rate / 1e11;
/// Overhead of any product on a card, in launches: its launches, and barriers of blocks with little work; 20 µs on an
/// H200.
const LAUNCHES: f64 = 2e-5 / Card::H200.launch_seconds;
/// Fraction of a card's rate without tensor cores that a product by slabs reaches: 14 electrons in 15 orbitals without irreps, 18 TFLOP/s on an
/// H200 (docs/notes/configuration-interaction.md); with irreps less, since gathering counts there.
const OF_CARD: f64 = 18e12 / Card::H200.fp64_rate;
/// Fraction of a core's rate that a direct product reaches: 15 GFLOP/s of the Xeon's 72.
const OF_CORE: f64 = 1.5e10 / Processor::XEON.core_rate;
/// Operations of a core in the time of one element of a product row by row (water in 6-31G up to triples, 1.8e6 elements:
/// 54 products in 0.45 s on two).
const OPERATIONS_AN_ELEMENT: f64 = Processor::XEON.core_rate / 1e8;

/// The cost of one way.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// The way.
    pub way: ProductKind,
    /// What it stores on the device, in words.
    pub what: String,
    /// Bytes on the device; of several ranks, on all of them.
    pub bytes: u64,
    /// Bytes on the devices of several ranks for what they send each other.
    pub exchanged: u64,
    /// Bytes on the host while it is set up.
    pub host_bytes: u64,
    /// Seconds to set it up.
    pub set_up: f64,
    /// Seconds of a product.
    pub product: f64,
}

impl Estimate {
    /// Seconds of a whole solve.
    pub fn seconds(&self) -> f64 {
        self.set_up + PRODUCTS * self.product
    }
}

/// The cost of both ways, and the choice.
#[derive(Clone, Debug)]
pub struct StoragePlan {
    /// Each possible way; the stored matrix first.
    pub ways: Vec<Estimate>,
    /// The chosen way.
    pub way: ProductKind,
    /// The reason for the choice.
    pub reason: String,
}

/// Neither way fits, or the requested one does not exist.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// A product straight from the integrals was requested where it does not exist.
    #[error(
        "storage = \"direct\" with a list of {rows} determinants on {device}: there only rows of full CI and of spaces up to \
         a level of excitation can be recomputed; use storage = \"stored\" or --device cpu"
    )]
    NotDirect {
        /// Determinants of the list.
        rows: u64,
        /// The device.
        device: String,
    },
    /// Too little memory.
    #[error("{plan}\nneither fits {device} with {free:.2} GiB free: {nearest}")]
    Memory {
        /// What each item would take.
        plan: String,
        /// The device.
        device: String,
        /// The device's memory in GiB.
        free: f64,
        /// Advice on what would fit.
        nearest: String,
    },
}

fn gib(bytes: u64) -> f64 {
    bytes as f64 / (1u64 << 30) as f64
}

/// The problem whose storage is planned.
pub(super) struct StorageRequest<'a> {
    pub integrals: &'a Integrals,
    pub space: &'a Space,
    /// Minimum bytes of the solver with a description, for a given number of determinants.
    pub solver: &'a dyn Fn(u64) -> (String, u64),
    pub storage: Storage,
    /// Format of a stored matrix, if one is requested.
    pub format: Option<FormatName>,
    /// Of this space, once it is counted.
    pub(super) census: &'a OnceLock<Census>,
}

/// The properties of the device that matter here.
#[derive(Clone, Copy)]
pub(super) struct StorageTarget {
    pub processor: Processor,
    /// The card, if generated kernels run there.
    pub card: Option<Card>,
    pub free: u64,
    pub host_free: u64,
    /// Of processes that solve together: how many there are, and on this machine.
    pub ranks: Option<[u64; 2]>,
}

impl StorageTarget {
    pub(super) fn from_device(device: &Device) -> StorageTarget {
        let (Memory { free, .. }, host) = (device.memory(), Device::cpu().memory());
        let place = StorageTarget { free, host_free: host.free, ..StorageTarget::from_machine(&Machine::new(device)) };
        let Some(ranks) = device.ranks() else { return place };
        // What all of them see alike; a rank that failed is heard of at the next step.
        let least =
            |free: u64| ranks.largest("free memory of the hosts", -(free as f64)).map_or(free, |least| -least as u64);
        let of_ranks = [ranks.count(), ranks.on_this_machine()].map(|count| count as u64);
        StorageTarget { host_free: least(host.free), ranks: Some(of_ranks), ..place }
    }

    /// A machine, which need not be present: all of a card's memory, or without a card the free memory of this computer.
    pub(super) fn from_machine(machine: &Machine) -> StorageTarget {
        let processor = machine.processor.values;
        let Some(card) = machine.card.as_ref().map(|card| card.values) else {
            let Memory { free, .. } = Device::cpu().memory();
            return StorageTarget { processor, card: None, free, host_free: free, ranks: None };
        };
        let free = Target::all_of(card).free_bytes;
        StorageTarget { processor, card: Some(card), free, host_free: u64::MAX, ranks: None }
    }

    /// Whether a way fits beside so many bytes of vectors.
    fn holds(&self, way: &Estimate, vectors: u64) -> bool {
        way.bytes.saturating_add(way.exchanged).saturating_add(vectors) <= self.free && way.host_bytes <= self.host_free
    }

    /// What a way takes of so many rows if ranks share them: each has all tables, and a whole x or a piece of it; of a stored matrix its
    /// own rows, on the host, where its cores multiply them, with where all rows begin.
    fn shared(&self, way: Estimate, rows: u64) -> Estimate {
        let Some([ranks, here]) = self.ranks else { return way };
        let (vector, share) = (8 * rows, 8 * rows.div_ceil(ranks));
        match (way.way, self.card.is_some()) {
            (ProductKind::Direct, on_cards) => {
                let whole = vector + if on_cards { share } else { 0 };
                let each = if way.exchanged > 0 { way.exchanged } else { whole };
                Estimate {
                    bytes: way.bytes.saturating_mul(ranks),
                    exchanged: each.saturating_mul(ranks),
                    host_bytes: way.host_bytes.saturating_mul(here),
                    ..way
                }
            }
            (ProductKind::Stored, on_cards) => {
                let on_hosts = (way.bytes / ranks).saturating_add(2 * vector);
                let (bytes, exchanged) =
                    if on_cards { (0, 0) } else { (way.bytes + vector * (ranks - 1), vector * ranks) };
                let what = if on_cards { format!("{} on the hosts", way.what) } else { way.what };
                Estimate { what, bytes, exchanged, host_bytes: on_hosts.saturating_mul(here), ..way }
            }
        }
    }

    fn cores(&self) -> f64 {
        self.processor.cores as f64
    }

    /// Operations per second of a direct product on all cores.
    fn core_flops(&self) -> f64 {
        OF_CORE * self.processor.core_rate * self.cores()
    }
}

impl StorageRequest<'_> {
    /// The plan for a device of this name.
    ///
    /// # Errors
    /// `storage = "direct"` where it does not exist; nothing fits.
    pub(super) fn plan(&self, place: StorageTarget, device: &str) -> Result<StoragePlan, StorageError> {
        self.choice(place).map_err(|ways| {
            if self.storage == Storage::Direct && ways.iter().all(|way| way.way != ProductKind::Direct) {
                return StorageError::NotDirect { rows: self.space.len(), device: device.into() };
            }
            self.refusal(&ways, place, device)
        })
    }

    /// The same; of what does not exist or fit the ways.
    pub(super) fn choice(&self, place: StorageTarget) -> Result<StoragePlan, Vec<Estimate>> {
        let ways = self.ways(self.space, place);
        let direct = ways.iter().find(|way| way.way == ProductKind::Direct);
        let vectors = (self.solver)(self.space.len()).1;
        let fits = |way: &&Estimate| place.holds(way, vectors);
        let by_cores = place.ranks.is_some() && place.card.is_some() && direct.is_some();
        let wished = |way: &&Estimate| match self.storage {
            // Of several ranks the cores multiply a stored matrix.
            Storage::Auto if by_cores => (way.way == ProductKind::Stored) == self.format.is_some(),
            // A format implies a stored matrix.
            Storage::Auto => self.format.is_none() || way.way == ProductKind::Stored,
            Storage::Stored => way.way == ProductKind::Stored,
            // Model files of molecules have no word for a table.
            Storage::Direct | Storage::Table => way.way == ProductKind::Direct,
        };
        // On the CPU the direct product of full CI is faster at every measured size.
        let by_model =
            |way: &Estimate| place.card.is_some() || way.way == ProductKind::Stored || !self.space.is_complete();
        let preferred = |way: &&Estimate| if by_model(way) { way.seconds() } else { 0.0 };
        let candidates = ways.iter().filter(wished).filter(fits);
        let Some(chosen) = candidates.min_by(|a, b| preferred(a).total_cmp(&preferred(b))) else {
            return Err(ways);
        };
        let reason = match (self.storage, self.format) {
            (Storage::Auto, None) if by_cores => {
                format!("{}, since cores would multiply the rows of a stored matrix", chosen.way)
            }
            _ => self.reason(&ways, chosen.way, fits),
        };
        let way = chosen.way;
        Ok(StoragePlan { ways, way, reason })
    }

    fn reason(&self, ways: &[Estimate], way: ProductKind, fits: impl Fn(&&Estimate) -> bool) -> String {
        let seconds =
            |way: &Estimate| format!("{} {:.2} s + {:.3} ms a product", way.way, way.set_up, 1e3 * way.product);
        match (self.storage, ways) {
            (Storage::Auto, _) if self.format.is_some() => format!("{way}, because a format was requested"),
            (Storage::Auto, [only]) => format!("{}, the only way for a list of determinants here", only.way),
            (Storage::Auto, ways) if ways.iter().all(|way| fits(&way)) => {
                format!("{way}, by model: {}", ways.iter().map(seconds).collect::<Vec<_>>().join(", "))
            }
            (Storage::Auto, _) => format!("{way}, because the other does not fit"),
            _ => format!("{way}, as requested"),
        }
    }

    fn refusal(&self, ways: &[Estimate], place: StorageTarget, device: &str) -> StorageError {
        let (solver, vectors) = (self.solver)(self.space.len());
        let mut plan = format!("{} determinants take {solver}: {:.2} GiB", self.space.len(), gib(vectors));
        for way in ways {
            plan += &format!("\n  {}: {}, {:.2} GiB", way.way, way.what, gib(way.bytes));
            if let Some([ranks, _]) = place.ranks {
                plan += &format!(" on {ranks} ranks, and {:.2} GiB that they exchange", gib(way.exchanged));
            }
            if way.host_bytes > place.host_free {
                let (needed, free) = (gib(way.host_bytes), gib(place.host_free));
                plan += &format!("; {needed:.2} GiB on the host, which has {free:.2} GiB free");
            }
        }
        let nearest = self.nearest(place);
        StorageError::Memory { plan, device: device.into(), free: gib(place.free), nearest }
    }

    /// The largest space of lower excitation level that fits.
    fn nearest(&self, place: StorageTarget) -> String {
        let (up, down) = (self.space.alpha().electrons(), self.space.beta().electrons());
        let orbitals = self.space.orbitals();
        let nothing = "take fewer orbitals (frozen, orbitals) or one irrep";
        if self.space.is_list() {
            return format!("list fewer determinants, or {nothing}");
        }
        let most = self.space.level().unwrap_or((up + down).min(8)).min(up + down);
        for level in (1..most).rev() {
            let Ok(space) = Space::excitations(orbitals, up, down, level) else { continue };
            let space = match self.space.irreps() {
                Some(irreps) => {
                    let irrep = super::space::irrep_of(irreps, self.space.determinant(0));
                    match space.in_irrep(irreps, irrep) {
                        Ok(space) => space,
                        Err(_) => continue,
                    }
                }
                None => space,
            };
            let vectors = (self.solver)(space.len()).1;
            if let Some(way) = self.ways(&space, place).iter().find(|way| place.holds(way, vectors)) {
                let total = gib(way.bytes + way.exchanged + vectors);
                let rows = space.len();
                return format!(
                    "space = {{ excitations = {level} }} would ({rows} determinants, {total:.2} GiB), or {nothing}"
                );
            }
        }
        nothing.into()
    }

    /// Whether moves are separated by irrep in a space of all irreps.
    fn keep_irreps(&self, space: &Space) -> bool {
        let integrals = self.integrals;
        integrals.is_whole() && integrals.orbitals == space.orbitals() && integrals.obey_irreps()
    }

    /// The estimates of both ways; the direct one if it is possible.
    fn ways(&self, space: &Space, place: StorageTarget) -> Vec<Estimate> {
        let irreps = self.irreps(space);
        let census = || Census::new(space, &irreps);
        let census = if ptr::eq(space, self.space) { self.census.get_or_init(census) } else { &census() };
        let mut ways = vec![self.stored(census, space.len(), place)];
        let different = u64::from(irreps.iter().fold(0u8, |all, irrep| all | irrep) + 1).next_power_of_two();
        if space.is_complete() {
            ways.push(direct(census, space, different, place));
        } else if !(space.is_list() && place.card.is_some()) {
            ways.push(row_by_row(census, space, different, place));
        }
        ways.into_iter().map(|way| place.shared(way, space.len())).collect()
    }

    /// A matrix on the host, and on a card again in its format: whole, or half of it if requested or if the whole does
    /// not fit.
    fn stored(&self, census: &Census, rows: u64, place: StorageTarget) -> Estimate {
        let whole = stored(census, rows, place);
        let room = place.free.saturating_sub((self.solver)(rows).1);
        match self.format {
            Some(FormatName::Symmetric) => half_of(whole, census, rows, place),
            None if place.card.is_some() && whole.bytes > room => half_of(whole, census, rows, place),
            _ => whole,
        }
    }

    /// Irreps of the orbitals, from 0; all 0 if the integrals do not obey them.
    fn irreps(&self, space: &Space) -> Vec<u8> {
        let from_0 = |irreps: &[u8]| irreps.iter().map(|irrep| irrep - 1).collect();
        match space.irreps() {
            Some(irreps) => from_0(irreps),
            None if self.keep_irreps(space) => from_0(&self.integrals.irreps),
            None => vec![0; space.orbitals()],
        }
    }
}

fn bytes(exact: u128) -> u64 {
    u64::try_from(exact).unwrap_or(u64::MAX)
}

/// The upper triangle instead of the whole matrix.
fn half_of(whole: Estimate, census: &Census, rows: u64, place: StorageTarget) -> Estimate {
    let upper = (census.non_zeros + u128::from(rows)) / 2;
    // Starts, diagonal, and the integer sums.
    let total = ELEMENT.saturating_mul(upper).saturating_add(24 * u128::from(rows));
    let atomics = place.card.map_or(0.0, |card| add_seconds(&card, bytes(upper)));
    Estimate {
        what: format!("half of {}, which would take {:.2} GiB", whole.what, gib(whole.bytes)),
        bytes: bytes(total),
        // The whole, its triangle, and the tables of that.
        host_bytes: whole.bytes.saturating_mul(2),
        product: whole.product + atomics,
        ..whole
    }
}

/// A matrix on the host, and on a card again in its format.
fn stored(census: &Census, rows: u64, place: StorageTarget) -> Estimate {
    let non_zeros = census.non_zeros;
    let total = ELEMENT.saturating_mul(non_zeros).saturating_add(16 * u128::from(rows));
    let host = if place.card.is_some() { total.saturating_mul(2) } else { total };
    let (latency, rate) = match place.card {
        Some(card) => (LAUNCHES * card.launch_seconds, OF_MEMORY * card.memory_rate),
        None => (0.0, place.processor.stream_rate()),
    };
    Estimate {
        way: ProductKind::Stored,
        what: format!("a matrix of at most {non_zeros} non-zeros"),
        bytes: bytes(total),
        exchanged: 0,
        host_bytes: bytes(host),
        set_up: SECONDS_AN_ELEMENT * non_zeros as f64 / place.cores(),
        product: latency + total as f64 / rate,
    }
}

/// A full-CI product by slabs of β strings: moves and links, strings of two electrons fewer, panels of turned rows, the diagonal.
fn by_slabs(
    card: Card,
    space: &Space,
    irreps: u64,
    (moves, widest): ([u64; 2], u64),
    place: StorageTarget,
) -> Estimate {
    let (orbitals, rows) = (space.orbitals(), space.len());
    let pairs = (orbitals * (orbitals + 1) / 2) as u64;
    let of = |spin: &Strings| {
        let fewer = spin.electrons().checked_sub(2);
        let cores = fewer.and_then(|fewer| binomial(orbitals, fewer)).unwrap_or(0) as f64;
        let above = fewer.and_then(|fewer| binomial(orbitals - fewer, 2)).unwrap_or(0) as f64;
        // Strings above all, and operations of one column over the strings.
        (cores * above, 2.0 * cores * above * above / irreps as f64 / spin.words().len().max(1) as f64)
    };
    let spins = [of(space.alpha()), of(space.beta())];
    let strings = [space.alpha(), space.beta()].map(|strings| strings.words().len() as u64);
    let counts = StringCounts {
        alpha: strings[0] as u32,
        classes: vec![widest as u32],
        electrons: [space.alpha(), space.beta()].map(|spin| spin.electrons() as u32),
        pairs: vec![pairs.div_ceil(irreps) as u32],
        shared_bytes: card.shared_bytes.into(),
        multiprocessors: card.multiprocessors,
        warp: Warp::default(),
    };
    let shape = SlabShape::choose(&counts);
    let panels = shape.panel_bytes(&counts);
    let additions = spins.iter().map(|spin| 10.0 * spin.0).sum::<f64>() as u64;
    let tables = 6 * moves[0] + 4 * moves[1] + additions + 40 * (strings[0] + strings[1]) + 16 * pairs * pairs;
    let tables = tables + of_diagonal(space, strings);
    let up = moves[0] as f64 / strings[0].max(1) as f64;
    let both = 2.0 * up * (pairs as f64 + 1.0) / irreps as f64;
    let flops = rows as f64 * (both + spins.iter().map(|spin| spin.1).sum::<f64>());
    let busy = (strings[0] as f64 / f64::from(card.multiprocessors.max(1))).min(1.0);
    let listed = moves[0] + moves[1] + additions / 10;
    let total = tables.saturating_add(panels);
    Estimate {
        way: ProductKind::Direct,
        what: "tables of strings and integrals".into(),
        bytes: total,
        exchanged: if place.ranks.is_some_and(|[ranks, _]| ranks > 1) {
            8 * strings[0] * u64::from(shape.piece)
        } else {
            0
        },
        host_bytes: tables + 40 * listed,
        set_up: SECONDS_A_MOVE * listed as f64 / place.cores(),
        product: LAUNCHES * card.launch_seconds + flops / (OF_CARD * card.fp64_rate * busy),
    }
}

/// What a card computes the diagonal from: the occupied orbitals of each α string, the field of each orbital at each β string.
fn of_diagonal(space: &Space, [alpha, beta]: [u64; 2]) -> u64 {
    2 * alpha * space.alpha().electrons() as u64 + 8 * (space.orbitals() as u64 + 1) * beta
}

/// Tables of strings and integrals.
fn direct(census: &Census, space: &Space, irreps: u64, place: StorageTarget) -> Estimate {
    let orbitals = space.orbitals() as u64;
    let pairs = orbitals * (orbitals + 1) / 2;
    let strings = [space.alpha(), space.beta()].map(|strings| strings.words().len() as u64);
    let electrons = [space.alpha(), space.beta()].map(|strings| strings.electrons() as u64);
    let rows = space.len();
    let moves = [0, 1].map(|spin| census.singles[spin] + strings[spin] * electrons[spin]);
    let widest = if space.irreps().is_some() { strings[1].div_ceil(irreps) } else { strings[1] };
    // Where the fields of a tile of pairs exceed shared memory the product goes by slabs.
    if let Some(card) = place.card.filter(|card| 8 * 12 * widest > u64::from(card.shared_bytes)) {
        return by_slabs(card, space, irreps, (moves, widest), place);
    }
    // Links and elements of slices are padded to the longest string's.
    let tables = match place.card.is_some() {
        true => 6 * moves[0] + 12 * census.same[0] + 6 * moves[1] + 14 * census.same[1] + of_diagonal(space, strings),
        false => 48 * moves[0] + 16 * census.same[0] + 8 * moves[1] + 16 * census.same[1] + 8 * pairs * strings[1],
    };
    let total = tables + 40 * (strings[0] + strings[1]) + 9 * pairs * pairs;
    let listed = moves[0] + moves[1] + census.same[0] + census.same[1];
    let a_row = |table: u64, strings: u64| table as f64 / strings.max(1) as f64;
    let (up, down) = (a_row(moves[0], strings[0]), a_row(moves[1], strings[1]));
    let alone = a_row(census.same[0], strings[0]) + a_row(census.same[1], strings[1]) + 2.0;
    // The card multiplies moves by pairs, the CPU moves by moves.
    let both =
        if place.card.is_some() { up * (pairs as f64 / irreps as f64) + down } else { up * down / irreps as f64 };
    let flops = 2.0 * rows as f64 * (alone + both);
    let product = match place.card {
        Some(card) => {
            let busy = (strings[0] as f64 / f64::from(card.multiprocessors.max(1))).min(1.0);
            let rate = (card.l2_rate / L2_BYTES_AN_OPERATION).min(card.fp64_rate);
            LAUNCHES * card.launch_seconds + flops / (rate * busy)
        }
        None => flops / place.core_flops(),
    };
    Estimate {
        way: ProductKind::Direct,
        what: "tables of strings and integrals".into(),
        bytes: total,
        exchanged: 0,
        host_bytes: if place.card.is_some() { total + 40 * listed } else { total },
        set_up: SECONDS_A_MOVE * listed as f64 / place.cores(),
        product,
    }
}

/// Tables of moves, with their targets and values, integrals, the diagonal, and on a card the strings of each row.
fn row_by_row(census: &Census, space: &Space, irreps: u64, place: StorageTarget) -> Estimate {
    let orbitals = space.orbitals() as u64;
    let pairs = orbitals * (orbitals + 1) / 2;
    let strings = [space.alpha(), space.beta()].map(|strings| strings.words().len() as u64);
    let (singles, same) = (census.singles.iter().sum::<u64>(), census.same.iter().sum::<u64>());
    let slots = space.product_tables().map_or(1, |tables| tables.slots as u64);
    let tables = 14 * singles + 12 * same + strings[0] * (30 + 8 * slots) + strings[1] * (30 + 8 * irreps + 10 * 8);
    let rows = if place.card.is_some() { 16 * space.len() } else { 8 * space.len() };
    let elements = census.non_zeros as f64;
    let product = match place.card {
        Some(card) => LAUNCHES * card.launch_seconds + elements * L2_BYTES_AN_ELEMENT / card.l2_rate,
        None => elements * OPERATIONS_AN_ELEMENT / (place.processor.core_rate * place.cores()),
    };
    let total = tables.saturating_add(rows).saturating_add(8 * pairs * (pairs + orbitals));
    Estimate {
        way: ProductKind::Direct,
        what: "moves of the strings, integrals, the diagonal".into(),
        bytes: total,
        exchanged: 0,
        // The tables as listed, and again as uploaded.
        host_bytes: if place.card.is_some() { total.saturating_mul(2) } else { total },
        set_up: SECONDS_A_MOVE * (singles + same) as f64 / place.cores() + product,
        product,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(storage: Storage, space: &Space, place: StorageTarget) -> Result<StoragePlan, StorageError> {
        plan_of(storage, None, space, place)
    }

    fn plan_of(
        storage: Storage,
        format: Option<FormatName>,
        space: &Space,
        place: StorageTarget,
    ) -> Result<StoragePlan, StorageError> {
        let integrals = Integrals::zero(space.orbitals());
        let solver = |rows: u64| ("20 vectors".to_string(), 160 * rows);
        let census = &OnceLock::new();
        StorageRequest { integrals: &integrals, space, solver: &solver, storage, format, census }.plan(place, "a card")
    }

    fn h200() -> StorageTarget {
        StorageTarget::from_machine(&Machine::h200())
    }

    /// The seconds of an H200 and of 16 Xeon cores are the fitted ones: the card's rates as they were in this file before
    /// they became a machine's (710e192).
    #[test]
    fn the_rates_of_an_h200_are_those_that_were_fitted() {
        let place = StorageTarget { processor: Processor::XEON, ..h200() };
        let full = Space::full(12, 6, 6).unwrap();
        let part = Space::excitations(12, 6, 6, 3).unwrap();
        let close =
            |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-12, "{found:e} {expected:e}");
        for space in [&full, &part] {
            let census = Census::new(space, &[0; 12]);
            let (rows, elements) = (space.len(), census.non_zeros as f64);
            let all = stored(&census, rows, place);
            close(all.set_up, 1.8e-7 * elements / 16.0);
            close(all.product, 2e-5 + (12.0 * elements + 16.0 * rows as f64) / 3.5e12);
            let by_row = row_by_row(&census, space, 1, place);
            close(by_row.product, 2e-5 + elements / 1e11);
            let upper = (census.non_zeros + u128::from(rows)) / 2;
            close(half_of(all.clone(), &census, rows, place).product, all.product + upper as f64 / 8e10);
            let cpu = StorageTarget { card: None, ..place };
            close(row_by_row(&census, space, 1, cpu).product, elements / 1.6e9);
        }
        let census = Census::new(&full, &[0; 12]);
        let (card, cpu) =
            (direct(&census, &full, 1, place), direct(&census, &full, 1, StorageTarget { card: None, ..place }));
        // The CPU multiplies moves by moves, the card moves by pairs: operations of either from its own seconds.
        assert!(card.product > 2e-5 && cpu.product > 0.0);
        let twice = Card { l2_rate: 2.0 * Card::H200.l2_rate, ..Card::H200 };
        let sooner = direct(&census, &full, 1, StorageTarget { card: Some(twice), ..place });
        close(sooner.product - 2e-5, (card.product - 2e-5) / 2.0);
    }

    /// A space that is stored with fast memory is direct on a card with slower memory and the same cache.
    #[test]
    fn another_card_decides_otherwise_where_its_rates_do() {
        // On this many cores the time to build a matrix is negligible.
        let many = Processor { cores: 1 << 14, ..Processor::XEON };
        let part = Space::excitations(12, 6, 6, 3).unwrap();
        let way = |card: Card| {
            let place = StorageTarget { processor: many, card: Some(card), ..h200() };
            plan(Storage::Auto, &part, place).unwrap().way
        };
        let quick_memory = Card { memory_rate: 4.0 * Card::H200.memory_rate, ..Card::H200 };
        let slow_memory = Card { memory_rate: Card::H200.memory_rate / 8.0, ..Card::H200 };
        assert_eq!((way(quick_memory), way(slow_memory)), (ProductKind::Stored, ProductKind::Direct));
    }

    #[test]
    fn on_a_card_spaces_of_strings_go_direct_and_on_the_cpu_full_ci_alone() {
        let full = Space::full(10, 5, 5).unwrap();
        let part = Space::excitations(10, 5, 5, 2).unwrap();
        let list: Vec<_> = (0..part.len()).map(|row| part.determinant(row)).collect();
        let list = Space::from_determinants(10, &list).unwrap();
        for place in [h200(), StorageTarget { card: None, ..h200() }] {
            for (space, way) in [
                (&full, ProductKind::Direct),
                (&part, if place.card.is_some() { ProductKind::Direct } else { ProductKind::Stored }),
            ] {
                assert_eq!(plan(Storage::Auto, space, place).unwrap().way, way);
                assert_eq!(plan(Storage::Stored, space, place).unwrap().way, ProductKind::Stored);
                assert_eq!(plan(Storage::Direct, space, place).unwrap().way, ProductKind::Direct);
            }
            assert_eq!(plan(Storage::Auto, &list, place).unwrap().way, ProductKind::Stored);
        }
        let error = plan(Storage::Direct, &list, h200()).unwrap_err().to_string();
        assert!(error.contains("storage = \"direct\" with a list of 876 determinants on a card"), "{error}");
        // If a matrix does not fit on a CPU, its rows are recomputed.
        let host = StorageTarget { card: None, ..h200() };
        for space in [&part, &list] {
            let ways = plan(Storage::Auto, space, host).unwrap().ways;
            let vectors = 160 * space.len();
            let tight = StorageTarget { free: vectors + ways[1].bytes, ..host };
            assert!(ways[1].bytes < ways[0].bytes, "{ways:?}");
            assert_eq!(plan(Storage::Auto, space, tight).unwrap().way, ProductKind::Direct);
        }
    }

    #[test]
    fn what_does_not_fit_gives_way_and_is_refused_with_numbers_and_what_would() {
        let full = Space::full(10, 5, 5).unwrap();
        let all = plan(Storage::Stored, &full, h200()).unwrap();
        let (stored, vectors) = (all.ways[0].bytes, 160 * full.len());
        // Half of the matrix, if only that fits; no other format may be requested then.
        let tight = StorageTarget { free: vectors + stored - 1, ..h200() };
        let half = plan(Storage::Stored, &full, tight).unwrap();
        assert_eq!(half.way, ProductKind::Stored);
        assert!(half.ways[0].what.contains("half of a matrix of at most"), "{}", half.ways[0].what);
        assert!(plan_of(Storage::Stored, Some(FormatName::Csr), &full, tight).is_err());
        let wished = plan_of(Storage::Stored, Some(FormatName::Symmetric), &full, h200()).unwrap();
        assert_eq!(wished.ways[0].bytes, half.ways[0].bytes);
        assert!((0.5..0.52).contains(&(wished.ways[0].bytes as f64 / stored as f64)));
        let stored = wished.ways[0].bytes;
        let small = StorageTarget { free: vectors + stored - 1, ..h200() };
        let forced = plan(Storage::Stored, &full, small).unwrap_err().to_string();
        assert!(
            forced.contains("63504 determinants take 20 vectors") && forced.contains("stored: half of a matrix of"),
            "{forced}"
        );
        assert!(forced.contains("space = { excitations = "), "{forced}");
        let auto = plan(Storage::Auto, &full, small).unwrap();
        assert_eq!(auto.way, ProductKind::Direct);
        assert!(auto.reason.contains("does not fit"), "{}", auto.reason);
        // A host without memory for the matrix is another reason.
        let host = StorageTarget { host_free: stored, ..h200() };
        assert!(plan(Storage::Stored, &full, host).unwrap_err().to_string().contains("on the host, which has"));
        // Nothing at all.
        let none = plan(Storage::Auto, &full, StorageTarget { free: 1000, ..h200() }).unwrap_err().to_string();
        assert!(none.contains("direct: tables of strings") && none.contains("fewer orbitals"), "{none}");
    }
}
