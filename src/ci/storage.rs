//! Chooses between a stored matrix and products straight from the integrals, by cost.
//!
//! In: integrals, a space, the solver's own memory, a device, and the requested [`Storage`]. Out: a [`StoragePlan`], made
//! from counts alone ([`Census`]), before anything large is built. The seconds are a model: bytes and operations over
//! measured rates, for a solve of [`PRODUCTS`] products. On a card, building a stored matrix on the host is nearly all of
//! that, so products are direct there unless the tables do not fit or too few α strings keep the card busy. On the CPU
//! only full CI is direct by default: rows of other spaces take long to compute, and are recomputed in each product only
//! where a matrix does not fit.

use super::{Census, Integrals, Space};
use crate::sparse::{ATOMICS, FormatName, Target};
use eigenforge_runtime::{Device, Memory};
use serde::Serialize;
use std::fmt;

/// How H is multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Storage {
    /// The way with the shorter modelled time among those that fit.
    Auto,
    /// As a sparse matrix.
    Stored,
    /// From the integrals.
    Direct,
}

impl Storage {
    /// Their names in model files.
    pub const WORDS: [(&'static str, Storage); 3] =
        [("auto", Storage::Auto), ("stored", Storage::Stored), ("direct", Storage::Direct)];
}

/// The two ways of multiplying by H.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
/// H200.
const SECONDS_AN_ELEMENT: f64 = 1.8e-7;
/// Seconds of one core to list one move.
const SECONDS_A_MOVE: f64 = 1.5e-7;
/// Bytes per second that a stored multiply reads on a card, and on a core.
const CARD_BYTES: f64 = 3.5e12;
const CORE_BYTES: f64 = 1.2e10;
/// Operations per second of a direct product on a card (one H200: water in 6-31G, all irreps and one irrep) and on a
/// core.
const CARD_FLOPS: f64 = 4.5e12;
const CORE_FLOPS: f64 = 1.5e10;
/// Elements per second of a product row by row, on a card (one H200: 0.8 to 2.0e11) and on a core (water in 6-31G up to
/// triples, 1.8e6 elements: 54 products in 0.45 s on two).
const CARD_ROW_ELEMENTS: f64 = 1e11;
const CORE_ROW_ELEMENTS: f64 = 1e8;
/// Seconds of any product on a card: launches, and barriers of blocks with little work.
const CARD_LATENCY: f64 = 2e-5;

/// The cost of one way.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// The way.
    pub way: ProductKind,
    /// What it stores on the device, in words.
    pub what: String,
    /// Bytes on the device.
    pub bytes: u64,
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
        "storage = \"direct\" with a list of {rows} determinants on {device}: there the rows of full CI and of spaces up to \
         a level of excitation are made, not a list's; take storage = \"stored\" or --device cpu"
    )]
    NotDirect {
        /// Determinants of the list.
        rows: u64,
        /// The device.
        device: String,
    },
    /// Too little memory.
    #[error("{plan}\nnone of it fits {device} with {free:.2} GiB free: {nearest}")]
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
}

/// The properties of the device that matter here.
#[derive(Clone, Copy)]
pub(super) struct StorageTarget {
    /// Whether generated kernels run there.
    pub kernels: bool,
    pub target: Target,
    pub free: u64,
    pub host_free: u64,
}

impl StorageTarget {
    pub fn of(device: &Device) -> StorageTarget {
        let (Memory { free, .. }, host) = (device.memory(), Device::cpu().memory());
        StorageTarget { kernels: device.runs_kernels(), target: Target::of(device), free, host_free: host.free }
    }

    /// An H200 that is not present, for `inspect`.
    pub fn h200() -> StorageTarget {
        StorageTarget { kernels: true, target: Target::H200, free: 140 << 30, host_free: u64::MAX }
    }
}

impl StorageRequest<'_> {
    /// The plan for a device of this name.
    ///
    /// # Errors
    /// `storage = "direct"` where it does not exist; nothing fits.
    pub fn plan(&self, place: StorageTarget, device: &str) -> Result<StoragePlan, StorageError> {
        let ways = self.ways(self.space, place);
        let direct = ways.iter().find(|way| way.way == ProductKind::Direct);
        if self.storage == Storage::Direct && direct.is_none() {
            return Err(StorageError::NotDirect { rows: self.space.len(), device: device.into() });
        }
        let vectors = (self.solver)(self.space.len()).1;
        let fits =
            |way: &&Estimate| way.bytes.saturating_add(vectors) <= place.free && way.host_bytes <= place.host_free;
        let wished = |way: &&Estimate| match self.storage {
            // A format implies a stored matrix.
            Storage::Auto => self.format.is_none() || way.way == ProductKind::Stored,
            Storage::Stored => way.way == ProductKind::Stored,
            Storage::Direct => way.way == ProductKind::Direct,
        };
        // On the CPU the direct product of full CI is faster at every measured size.
        let by_model = |way: &Estimate| place.kernels || way.way == ProductKind::Stored || !self.space.is_complete();
        let preferred = |way: &&Estimate| if by_model(way) { way.seconds() } else { 0.0 };
        let candidates = ways.iter().filter(wished).filter(fits);
        let Some(chosen) = candidates.min_by(|a, b| preferred(a).total_cmp(&preferred(b))) else {
            return Err(self.refusal(&ways, place, device));
        };
        let (way, reason) = (chosen.way, self.reason(&ways, chosen.way, fits));
        Ok(StoragePlan { ways, way, reason })
    }

    fn reason(&self, ways: &[Estimate], way: ProductKind, fits: impl Fn(&&Estimate) -> bool) -> String {
        let seconds =
            |way: &Estimate| format!("{} {:.2} s + {:.3} ms a product", way.way, way.set_up, 1e3 * way.product);
        match (self.storage, ways) {
            (Storage::Auto, _) if self.format.is_some() => format!("{way}, for a format was asked for"),
            (Storage::Auto, [only]) => format!("{}, the only way for a list of determinants here", only.way),
            (Storage::Auto, ways) if ways.iter().all(|way| fits(&way)) => {
                format!("{way}, by model: {}", ways.iter().map(seconds).collect::<Vec<_>>().join(", "))
            }
            (Storage::Auto, _) => format!("{way}, for the other does not fit"),
            _ => format!("{way}, as asked for"),
        }
    }

    fn refusal(&self, ways: &[Estimate], place: StorageTarget, device: &str) -> StorageError {
        let (solver, vectors) = (self.solver)(self.space.len());
        let mut plan = format!("{} determinants take {solver}: {:.2} GiB", self.space.len(), gib(vectors));
        for way in ways {
            plan += &format!("\n  {}: {}, {:.2} GiB", way.way, way.what, gib(way.bytes));
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
            let fits =
                |way: &Estimate| way.bytes.saturating_add(vectors) <= place.free && way.host_bytes <= place.host_free;
            if let Some(way) = self.ways(&space, place).iter().find(|way| fits(way)) {
                let total = gib(way.bytes + vectors);
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
        let census = Census::of(space, &irreps);
        let mut ways = vec![self.stored(&census, space.len(), place)];
        let different = u64::from(irreps.iter().fold(0u8, |all, irrep| all | irrep) + 1).next_power_of_two();
        if space.is_complete() {
            ways.push(direct(&census, space, different, place));
        } else if !(space.is_list() && place.kernels) {
            ways.push(row_by_row(&census, space, different, place));
        }
        ways
    }

    /// A matrix on the host, and on a card again in its format: whole, or half of it if requested or if the whole does
    /// not fit.
    fn stored(&self, census: &Census, rows: u64, place: StorageTarget) -> Estimate {
        let whole = stored(census, rows, place);
        let room = place.free.saturating_sub((self.solver)(rows).1);
        match self.format {
            Some(FormatName::Symmetric) => half_of(whole, census, rows, place),
            None if place.kernels && whole.bytes > room => half_of(whole, census, rows, place),
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

fn cores() -> f64 {
    rayon::current_num_threads() as f64
}

/// The upper triangle instead of the whole matrix.
fn half_of(whole: Estimate, census: &Census, rows: u64, place: StorageTarget) -> Estimate {
    let upper = (census.non_zeros + u128::from(rows)) / 2;
    // Starts, diagonal, and the integer sums.
    let total = ELEMENT.saturating_mul(upper).saturating_add(24 * u128::from(rows));
    let atomics = if place.kernels { upper as f64 / ATOMICS } else { 0.0 };
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
    let host = if place.kernels { total.saturating_mul(2) } else { total };
    let rate = if place.kernels { CARD_BYTES } else { CORE_BYTES * cores() };
    let latency = if place.kernels { CARD_LATENCY } else { 0.0 };
    Estimate {
        way: ProductKind::Stored,
        what: format!("a matrix of at most {non_zeros} non-zeros"),
        bytes: bytes(total),
        host_bytes: bytes(host),
        set_up: SECONDS_AN_ELEMENT * non_zeros as f64 / cores(),
        product: latency + total as f64 / rate,
    }
}

/// Tables of strings and integrals, the diagonal, and on a card the fields that exceed shared memory.
fn direct(census: &Census, space: &Space, irreps: u64, place: StorageTarget) -> Estimate {
    let orbitals = space.orbitals() as u64;
    let pairs = orbitals * (orbitals + 1) / 2;
    let strings = [space.alpha(), space.beta()].map(|strings| strings.words().len() as u64);
    let electrons = [space.alpha(), space.beta()].map(|strings| strings.electrons() as u64);
    let rows = space.len();
    let moves = [0, 1].map(|spin| census.singles[spin] + strings[spin] * electrons[spin]);
    let widest = if space.irreps().is_some() { strings[1].div_ceil(irreps) } else { strings[1] };
    // A tile of fields of the widest class, once per block.
    let tile = 8 * 12 * widest;
    let fields = if place.kernels && tile > u64::from(place.target.shared_bytes) {
        8 * pairs.div_ceil(irreps) * widest * strings[0].min(2 * u64::from(place.target.multiprocessors))
    } else {
        0
    };
    // Links and elements of slices are padded to the longest string's.
    let tables = match place.kernels {
        true => 6 * moves[0] + 12 * census.same[0] + 6 * moves[1] + 14 * census.same[1] + 8 * rows,
        false => 48 * moves[0] + 16 * census.same[0] + 8 * moves[1] + 16 * census.same[1] + 8 * pairs * strings[1],
    };
    let total = tables + 40 * (strings[0] + strings[1]) + 9 * pairs * pairs + fields;
    let listed = moves[0] + moves[1] + census.same[0] + census.same[1];
    let a_row = |table: u64, strings: u64| table as f64 / strings.max(1) as f64;
    let (up, down) = (a_row(moves[0], strings[0]), a_row(moves[1], strings[1]));
    let alone = a_row(census.same[0], strings[0]) + a_row(census.same[1], strings[1]) + 2.0;
    // The card multiplies moves by pairs, the CPU moves by moves.
    let both = if place.kernels { up * (pairs as f64 / irreps as f64) + down } else { up * down / irreps as f64 };
    let flops = 2.0 * rows as f64 * (alone + both);
    let product = match place.kernels {
        true => {
            let busy = (strings[0] as f64 / f64::from(place.target.multiprocessors.max(1))).min(1.0);
            CARD_LATENCY + flops / (CARD_FLOPS * busy)
        }
        false => flops / (CORE_FLOPS * cores()),
    };
    Estimate {
        way: ProductKind::Direct,
        what: "tables of strings and integrals".into(),
        bytes: total,
        host_bytes: if place.kernels { total + 40 * listed } else { total },
        set_up: SECONDS_A_MOVE * listed as f64 / cores(),
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
    let rows = if place.kernels { 16 * space.len() } else { 8 * space.len() };
    let elements = census.non_zeros as f64;
    let product = match place.kernels {
        true => CARD_LATENCY + elements / CARD_ROW_ELEMENTS,
        false => elements / (CORE_ROW_ELEMENTS * cores()),
    };
    let total = tables.saturating_add(rows).saturating_add(8 * pairs * (pairs + orbitals));
    Estimate {
        way: ProductKind::Direct,
        what: "moves of the strings, integrals, the diagonal".into(),
        bytes: total,
        // The tables as listed, and again as uploaded.
        host_bytes: if place.kernels { total.saturating_mul(2) } else { total },
        set_up: SECONDS_A_MOVE * (singles + same) as f64 / cores() + product,
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
        StorageRequest { integrals: &integrals, space, solver: &solver, storage, format }.plan(place, "a card")
    }

    #[test]
    fn on_a_card_spaces_of_strings_go_direct_and_on_the_cpu_full_ci_alone() {
        let full = Space::full(10, 5, 5).unwrap();
        let part = Space::excitations(10, 5, 5, 2).unwrap();
        let list: Vec<_> = (0..part.len()).map(|row| part.determinant(row)).collect();
        let list = Space::from_determinants(10, &list).unwrap();
        for place in [StorageTarget::h200(), StorageTarget { kernels: false, ..StorageTarget::h200() }] {
            for (space, way) in [
                (&full, ProductKind::Direct),
                (&part, if place.kernels { ProductKind::Direct } else { ProductKind::Stored }),
            ] {
                assert_eq!(plan(Storage::Auto, space, place).unwrap().way, way);
                assert_eq!(plan(Storage::Stored, space, place).unwrap().way, ProductKind::Stored);
                assert_eq!(plan(Storage::Direct, space, place).unwrap().way, ProductKind::Direct);
            }
            assert_eq!(plan(Storage::Auto, &list, place).unwrap().way, ProductKind::Stored);
        }
        let error = plan(Storage::Direct, &list, StorageTarget::h200()).unwrap_err().to_string();
        assert!(error.contains("storage = \"direct\" with a list of 876 determinants on a card"), "{error}");
        // If a matrix does not fit on a CPU, its rows are recomputed.
        let host = StorageTarget { kernels: false, ..StorageTarget::h200() };
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
        let all = plan(Storage::Stored, &full, StorageTarget::h200()).unwrap();
        let (stored, vectors) = (all.ways[0].bytes, 160 * full.len());
        // Half of the matrix, if only that fits; no other format may be requested then.
        let tight = StorageTarget { free: vectors + stored - 1, ..StorageTarget::h200() };
        let half = plan(Storage::Stored, &full, tight).unwrap();
        assert_eq!(half.way, ProductKind::Stored);
        assert!(half.ways[0].what.contains("half of a matrix of at most"), "{}", half.ways[0].what);
        assert!(plan_of(Storage::Stored, Some(FormatName::Csr), &full, tight).is_err());
        let wished = plan_of(Storage::Stored, Some(FormatName::Symmetric), &full, StorageTarget::h200()).unwrap();
        assert_eq!(wished.ways[0].bytes, half.ways[0].bytes);
        assert!((0.5..0.52).contains(&(wished.ways[0].bytes as f64 / stored as f64)));
        let stored = wished.ways[0].bytes;
        let small = StorageTarget { free: vectors + stored - 1, ..StorageTarget::h200() };
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
        let host = StorageTarget { host_free: stored, ..StorageTarget::h200() };
        assert!(plan(Storage::Stored, &full, host).unwrap_err().to_string().contains("on the host, which has"));
        // Nothing at all.
        let none =
            plan(Storage::Auto, &full, StorageTarget { free: 1000, ..StorageTarget::h200() }).unwrap_err().to_string();
        assert!(none.contains("direct: tables of strings") && none.contains("fewer orbitals"), "{none}");
    }
}
