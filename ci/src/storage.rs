//! Chooses between a stored matrix and products straight from the integrals, by cost.
//!
//! In: integrals, a space, the solver's own memory, a device, and the requested [`Storage`]. Out: a [`StoragePlan`], made
//! from counts alone ([`Census`]), before anything large is built. The seconds are a model: bytes and operations over
//! the rates of a machine, for a solve of [`PRODUCTS`] products; the fraction of a rate that a product reaches was
//! fitted on an H200 and the Xeon cores beside it. On a card, building a stored matrix on the host is nearly all of that,
//! so products are direct there unless the tables do not fit or too few α strings keep the card busy. On the CPU only
//! full CI is direct by default: rows of other spaces take long to compute, and are recomputed in each product only
//! where a matrix does not fit.

use super::estimate::{Estimate, PRODUCTS, ProductKind, StorageError, StorageTarget, gib};
use super::orbital_number::OrbitalNumber;
use super::way::{Counted, Request, Way};
use super::{Census, CsfSpace, Integrals, Space, csf, ways};
pub use eigenforge_core::operator::MatrixStorage as Storage;
use eigenforge_product::sparse::FormatName;
use eigenforge_product::{PlannedChoice, PlannedWay};
use num_complex::Complex64;
use std::ptr;
use std::sync::OnceLock;

/// The cost of both ways, and the choice.
#[derive(Clone, Debug)]
pub struct StoragePlan {
    /// Each possible way; the stored matrix first.
    pub ways: Vec<Estimate>,
    /// The same by name, in their order, and after them those that are not possible, with the reason.
    pub lines: Vec<PlannedWay>,
    /// The chosen way.
    pub way: ProductKind,
    /// The reason for the choice.
    pub reason: String,
}

impl From<&StoragePlan> for PlannedChoice {
    fn from(plan: &StoragePlan) -> PlannedChoice {
        let chosen = plan.ways.iter().position(|way| way.way == plan.way);
        let (mut ways, name) = (plan.lines.clone(), chosen.map(|place| plan.lines[place].name.clone()));
        for (way, line) in plan.ways.iter().zip(&mut ways) {
            let ratio = chosen.map_or(1.0, |place| way.seconds() / plan.ways[place].seconds());
            line.refused = (way.way != plan.way).then(|| match &name {
                Some(name) if ratio > 1.0 => format!("takes {ratio:.1} times as long as {name}"),
                _ => plan.reason.clone(),
            });
        }
        PlannedChoice {
            of: format!("how H is multiplied: bytes, seconds of a solve of {PRODUCTS} products"),
            ways,
            chosen: name,
            why: plan.reason.clone(),
        }
    }
}

/// The problem whose storage is planned.
pub(super) struct StorageRequest<'a> {
    pub integrals: &'a Integrals,
    pub space: &'a Space,
    /// Of a problem in configuration state functions these.
    pub csfs: Option<&'a CsfSpace>,
    /// Over complex orbitals their integrals.
    pub complex: Option<&'a Integrals<Complex64>>,
    /// Minimum bytes of the solver with a description, for a given number of rows.
    pub solver: &'a dyn Fn(u64) -> (String, u64),
    pub storage: Storage,
    /// Format of a stored matrix, if one is requested.
    pub format: Option<FormatName>,
    /// Of this space, once it is counted.
    pub(super) census: &'a OnceLock<BasisCensus>,
}

/// What is counted in the determinants, and in the matrix of the functions made of them.
#[derive(Clone, Debug)]
pub(crate) struct BasisCensus {
    determinants: Census,
    functions: Option<Census>,
}

/// Determinants, and the configuration state functions made of them, if the vectors are over these.
type Basis<'a> = (&'a Space, Option<&'a CsfSpace>);

/// Elements of a vector.
fn rows((space, csfs): Basis<'_>) -> u64 {
    csfs.map_or_else(|| space.len(), CsfSpace::len)
}

impl StorageRequest<'_> {
    /// The plan for a device of this name.
    ///
    /// # Errors
    /// `storage = "direct"` where it does not exist; nothing fits.
    pub(super) fn plan(&self, place: StorageTarget, device: &str) -> Result<StoragePlan, StorageError> {
        self.choice(place).map_err(|ways| {
            let (word, kind) = match self.storage {
                Storage::Direct => ("direct", ProductKind::Direct),
                Storage::Table => ("table", ProductKind::Table),
                Storage::Auto | Storage::Stored => return self.refusal(&ways, place, device),
            };
            match (self.csfs, kind) {
                _ if ways.iter().any(|way| way.way == kind) => self.refusal(&ways, place, device),
                (Some(_), kind) => {
                    StorageError::StoredOnly { word, device: device.into(), why: self.why_not(kind, place) }
                }
                (None, ProductKind::Table) => {
                    StorageError::NoTable { device: device.into(), why: self.why_not(kind, place) }
                }
                (None, _) => StorageError::NotDirect { rows: self.space.len(), device: device.into() },
            }
        })
    }

    /// The same; of what does not exist or fit the ways.
    pub(super) fn choice(&self, place: StorageTarget) -> Result<StoragePlan, Vec<Estimate>> {
        let (ways, lines) = self.ways((self.space, self.csfs), place);
        let direct = ways.iter().find(|way| way.way == ProductKind::Direct);
        let vectors = (self.solver)(self.rows()).1;
        let fits = |way: &&Estimate| place.holds(way, vectors);
        let by_cores = place.ranks.is_some() && place.card.is_some() && direct.is_some();
        let wished = |way: &&Estimate| match self.storage {
            // Of several ranks the cores multiply a stored matrix.
            Storage::Auto if by_cores => (way.way == ProductKind::Stored) == self.format.is_some(),
            // A format implies a stored matrix.
            Storage::Auto => self.format.is_none() || way.way == ProductKind::Stored,
            Storage::Stored => way.way == ProductKind::Stored,
            Storage::Direct => way.way == ProductKind::Direct,
            Storage::Table => way.way == ProductKind::Table,
        };
        // On the CPU the direct product of full CI is faster at every measured size.
        let is_full = self.space.is_complete() && self.csfs.is_none();
        let by_model = |way: &Estimate| place.card.is_some() || way.way == ProductKind::Stored || !is_full;
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
        Ok(StoragePlan { ways, lines, way, reason })
    }

    fn reason(&self, ways: &[Estimate], way: ProductKind, fits: impl Fn(&&Estimate) -> bool) -> String {
        let seconds =
            |way: &Estimate| format!("{} {:.2} s + {:.3} ms a product", way.way, way.set_up, 1e3 * way.product);
        match (self.storage, ways) {
            (Storage::Auto, _) if self.format.is_some() => format!("{way}, because a format was requested"),
            (Storage::Auto, [only]) if self.csfs.is_some() => {
                format!("{}, the only way for these configuration state functions here", only.way)
            }
            (Storage::Auto, [only]) => format!("{}, the only way for a list of determinants here", only.way),
            (Storage::Auto, ways) if ways.iter().all(|way| fits(&way)) => {
                format!("{way}, by model: {}", ways.iter().map(seconds).collect::<Vec<_>>().join(", "))
            }
            (Storage::Auto, _) => format!("{way}, because the other does not fit"),
            _ => format!("{way}, as requested"),
        }
    }

    fn refusal(&self, ways: &[Estimate], place: StorageTarget, device: &str) -> StorageError {
        let (solver, vectors) = (self.solver)(self.rows());
        let functions = self.functions();
        let mut plan = format!("{} {functions} take {solver}: {:.2} GiB", self.rows(), gib(vectors));
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
        let functions = self.functions();
        let most = self.space.level().unwrap_or((up + down).min(8)).min(up + down);
        let holds = |basis: Basis<'_>| {
            let vectors = (self.solver)(rows(basis)).1;
            let ways = self.ways(basis, place).0;
            let way = ways.iter().find(|way| place.holds(way, vectors))?;
            Some(gib(way.bytes + way.exchanged + vectors))
        };
        let advice = |level, rows: u64, total: f64| {
            format!("space = {{ excitations = {level} }} would ({rows} {functions}, {total:.2} GiB), or {nothing}")
        };
        for level in (1..most).rev() {
            if let Some(csfs) = self.csfs {
                let Ok(fewer) = csfs.up_to(level) else { continue };
                if let Some(total) = holds((self.space, Some(&fewer))) {
                    return advice(level, fewer.len(), total);
                }
                continue;
            }
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
            if let Some(total) = holds((&space, None)) {
                return advice(level, space.len(), total);
            }
        }
        nothing.into()
    }

    /// Why there is no way of a kind.
    fn why_not(&self, kind: ProductKind, place: StorageTarget) -> String {
        let own = Request::new(self.integrals, self.space, place);
        let request = Request { csfs: self.csfs, complex: self.complex, ..own };
        if kind == ProductKind::Table && request.is_by_strings() {
            return "full CI is multiplied by its strings, without rows".into();
        }
        ways::refusal(kind, &request).unwrap_or_else(|| "there is no such way".into())
    }

    /// Elements of a vector.
    fn rows(&self) -> u64 {
        rows((self.space, self.csfs))
    }

    /// What they are of, in words.
    fn functions(&self) -> &'static str {
        self.csfs.map_or("determinants", |_| "configuration state functions")
    }

    /// Whether moves are separated by irrep in a space of all irreps.
    fn keep_irreps(&self, space: &Space) -> bool {
        fn obey<T: OrbitalNumber>(integrals: &Integrals<T>, space: &Space) -> bool {
            integrals.is_whole() && integrals.orbitals == space.orbitals() && integrals.obey_irreps()
        }
        self.complex.map_or_else(|| obey(self.integrals, space), |complex| obey(complex, space))
    }

    /// The estimates of both ways, the direct one if it is possible; and all ways by name.
    fn ways(&self, (space, csfs): Basis<'_>, place: StorageTarget) -> (Vec<Estimate>, Vec<PlannedWay>) {
        let irreps = self.irreps(space);
        let census = || BasisCensus {
            determinants: Census::new(space, &irreps),
            functions: csfs.map(|csfs| csf::census(self.integrals, csfs, self.storage != Storage::Direct)),
        };
        let same = csfs.map(ptr::from_ref) == self.csfs.map(ptr::from_ref);
        let census = if same && ptr::eq(space, self.space) { self.census.get_or_init(census) } else { &census() };
        let rows = rows((space, csfs));
        let different = u64::from(irreps.iter().fold(0u8, |all, irrep| all | irrep) + 1).next_power_of_two();
        let room = place.free.saturating_sub((self.solver)(rows).1);
        let BasisCensus { determinants, functions } = census;
        let census = functions.as_ref().unwrap_or(determinants);
        let (complex, format) = (self.complex.is_some(), self.format);
        let counted = Counted { census, determinants, space, csfs, rows, irreps: different, room, format, complex };
        let request = Request { csfs, complex: self.complex, ..Request::new(self.integrals, space, place) };
        let (possible, others) = ways::ways(&request);
        let estimate = |way: &&'static dyn Way| place.shared(way.estimate(&counted, place), rows * counted.parts());
        let estimates: Vec<Estimate> = possible.iter().map(estimate).collect();
        let line =
            |(way, cost): (&&'static dyn Way, &Estimate)| PlannedWay::new(way.name(), Some(cost.bytes), cost.seconds());
        let lines = possible.iter().zip(&estimates).map(line).chain(others).collect();
        (estimates, lines)
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

#[cfg(test)]
mod tests {
    use super::super::direct::estimate::by_strings;
    use super::super::on_the_fly::estimate as row_by_row;
    use super::super::stored::{half, whole_matrix};
    use super::*;
    use eigenforge_runtime::machine::{Card, Machine, Processor};

    fn counted<'a>(census: &'a Census, space: &'a Space) -> Counted<'a> {
        Counted {
            census,
            determinants: census,
            space,
            csfs: None,
            rows: space.len(),
            irreps: 1,
            room: u64::MAX,
            format: None,
            complex: false,
        }
    }

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
        StorageRequest {
            integrals: &integrals,
            space,
            csfs: None,
            complex: None,
            solver: &solver,
            storage,
            format,
            census,
        }
        .plan(place, "a card")
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
            let all = whole_matrix(&census, rows, place);
            close(all.set_up, 1.8e-7 * elements / 16.0);
            close(all.product, 2e-5 + (12.0 * elements + 16.0 * rows as f64) / 3.5e12);
            let counted = counted(&census, space);
            close(row_by_row(&counted, place).product, 2e-5 + elements / 1e11);
            let upper = (census.non_zeros + u128::from(rows)) / 2;
            close(half(all.clone(), &census, rows, place).product, all.product + upper as f64 / 8e10);
            let cpu = StorageTarget { card: None, ..place };
            close(row_by_row(&counted, cpu).product, elements / 1.6e9);
        }
        let census = Census::new(&full, &[0; 12]);
        let counted = counted(&census, &full);
        let (card, cpu) = (by_strings(&counted, place), by_strings(&counted, StorageTarget { card: None, ..place }));
        // The CPU multiplies moves by moves, the card moves by pairs: operations of either from its own seconds.
        assert!(card.product > 2e-5 && cpu.product > 0.0);
        let twice = Card { l2_rate: 2.0 * Card::H200.l2_rate, ..Card::H200 };
        let sooner = by_strings(&counted, StorageTarget { card: Some(twice), ..place });
        close(sooner.product - 2e-5, (card.product - 2e-5) / 2.0);
    }

    /// Configuration state functions have a matrix and a way without; what does not fit is refused with numbers and a lower level.
    #[test]
    fn configuration_state_functions_are_stored_or_refused() {
        let csfs = CsfSpace::excitations(8, 8, 0, 3).unwrap();
        let (space, census) = (csfs.determinants(0).unwrap(), OnceLock::new());
        let mut integrals = Integrals::zero(8);
        integrals.two.iter_mut().zip(0..).for_each(|(two, k)| *two = 1.0 + f64::from(k).sin());
        let solver = |rows: u64| ("20 vectors".to_string(), 160 * rows);
        let host = StorageTarget { card: None, ..h200() };
        let asked = |storage, free| {
            let csfs = Some(&csfs);
            let request = StorageRequest {
                integrals: &integrals,
                space: &space,
                csfs,
                complex: None,
                solver: &solver,
                storage,
                format: None,
                census: &census,
            };
            request.plan(StorageTarget { free, ..host }, "a computer")
        };
        let plan = asked(Storage::Auto, host.free).unwrap();
        let count = plan.ways[0].what.clone();
        let kinds: Vec<ProductKind> = plan.ways.iter().map(|way| way.way).collect();
        assert_eq!((plan.way, kinds), (ProductKind::Stored, vec![ProductKind::Stored, ProductKind::Direct]));
        assert!(plan.reason.contains("stored, by model: "), "{}", plan.reason);
        assert!(count.starts_with("a matrix of at most"), "{count}");
        assert_eq!(asked(Storage::Direct, host.free).unwrap().way, ProductKind::Direct);
        let none = asked(Storage::Table, host.free).unwrap_err();
        assert!(matches!(&none, StorageError::StoredOnly { word: "table", why, .. } if why == "for a card"), "{none}");
        let bytes = 160 * csfs.len() + plan.ways[0].bytes;
        assert!(asked(Storage::Stored, bytes).is_ok());
        let refused = asked(Storage::Stored, bytes - 1).unwrap_err().to_string();
        let rows = format!("{} configuration state functions take 20 vectors", csfs.len());
        assert!(refused.contains(&rows) && refused.contains(&count), "{refused}");
        let fewer = csfs.up_to(2).unwrap().len();
        let advice = format!("space = {{ excitations = 2 }} would ({fewer} configuration state functions");
        assert!(refused.contains(&advice), "{refused}");
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
        // Where products take longer than launches, in a table as far as there is room.
        let large = Space::excitations(16, 5, 5, 4).unwrap();
        let table = plan(Storage::Auto, &large, h200()).unwrap();
        let estimate = |kind| table.ways.iter().find(|way| way.way == kind).unwrap();
        let [made, kept] = [ProductKind::Direct, ProductKind::Table].map(estimate);
        assert!(table.way == ProductKind::Table && 1.5 * kept.product < made.product, "{table:?}");
        let vectors = 160 * large.len();
        let tight = StorageTarget { free: vectors + (made.bytes + kept.bytes) / 2, ..h200() };
        let tight = plan(Storage::Table, &large, tight).unwrap();
        let some = tight.ways.iter().find(|way| way.way == ProductKind::Table).unwrap();
        assert!(kept.product < some.product && some.product < made.product && some.bytes < kept.bytes, "{some:?}");
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
