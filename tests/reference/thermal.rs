//! Thermal averages beside those of whole dense spectra (tests/data/thermal, by an independent code), of high-temperature series with its
//! traces, and of random models on every kind of site.

use super::cases::read;
use eigenforge::exact::InSector;
use eigenforge::input::ModelFile;
use eigenforge::operator::{Operator, SiteKind};
use eigenforge::problem::run::{RunContext, Silent};
use eigenforge::thermal::{ThermalRecord, thermal};
use eigenforge_runtime::solvers::symmetric_eigen;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;

#[derive(Deserialize)]
struct SpinFile {
    spins: Vec<SpinCase>,
}

#[derive(Deserialize)]
struct SpinCase {
    id: String,
    #[serde(rename = "N")]
    sites: usize,
    #[serde(rename = "twoS")]
    two_s: u32,
    edges: Vec<Vec<f64>>,
    #[serde(default)]
    h: Option<Vec<f64>>,
    dim: u64,
    ground_multiplicity: usize,
    #[serde(default, rename = "trace_H_over_dim")]
    first_moment: f64,
    #[serde(rename = "trace_H2_over_dim")]
    second_moment: f64,
    #[serde(rename = "trace_H3_over_dim")]
    third_moment: f64,
    #[serde(default, rename = "trace_H4_over_dim")]
    fourth_moment: Option<f64>,
    table: Vec<Row>,
}

/// Values by the names of the reference; T among them.
type Row = BTreeMap<String, f64>;

#[derive(Deserialize)]
struct HubbardFile {
    hubbard: Vec<HubbardCase>,
}

#[derive(Deserialize)]
struct HubbardCase {
    canonical_fixed_electrons: BTreeMap<String, Canonical>,
    grand_canonical_mu: BTreeMap<String, Vec<Row>>,
}

#[derive(Deserialize)]
struct Canonical {
    dim: u64,
    table: Vec<Row>,
}

fn of_file(text: &str) -> ThermalRecord {
    let file = ModelFile::parse("thermal.toml", text).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    thermal(file, &RunContext::new(Instant::now(), "cpu", Arc::new(Silent)))
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

impl SpinCase {
    /// The model as terms on a lattice with translations, or on its edges.
    fn text(&self, keys: &str, observables: &str, temperatures: &[f64]) -> String {
        let site = if self.two_s == 1 { "spin 1/2" } else { "spin 1" };
        let (jz, phase) = (self.edges[0][3], self.edges[0].get(4).copied().unwrap_or(0.0));
        // e^(iφ) S⁺_i S⁻_j + h.c. = 2 cos φ (SxSx + SySy) + 2 sin φ (SxSy − SySx)
        let bond = format!(
            "{:?} * (sx(i) * sx(j) + sy(i) * sy(j)) + {:?} * (sx(i) * sy(j) - sy(i) * sx(j)) + {jz:?} * sz(i) * sz(j)",
            self.edges[0][2] * phase.cos(),
            self.edges[0][2] * phase.sin()
        );
        let field = self.h.as_ref().map_or(String::new(), |h| format!(" + sum(i in sites; {:?} * sz(i))", h[0]));
        let lattice = match self.id.as_str() {
            "th_triangular3x3" => {
                "kind = \"triangular\"\nsize = [3, 3]\nboundary = [\"periodic\", \"periodic\"]".into()
            }
            _ => format!("kind = \"chain\"\nsize = {}\nboundary = \"periodic\"", self.sites),
        };
        format!(
            "[model]\nname = \"terms\"\nsite = \"{site}\"\nH = \"sum(<i, j, _> in bonds; {bond}){field}\"\n[lattice]\n{lattice}\n\
             [observables]\n{observables}\n[thermal]\ntemperatures = {temperatures:?}\n{keys}\n"
        )
    }
}

/// Names of the reference and ours.
const NAMES: [(&str, &str); 5] =
    [("lnZ", "ln_z"), ("E", "energy"), ("C", "heat_capacity"), ("S", "entropy"), ("chi", "susceptibility")];

fn agree(record: &ThermalRecord, table: &[Row], names: &[(&str, &str)], scale: f64, what: &str) {
    assert_eq!(record.temperatures, table.iter().map(|row| row["T"]).collect::<Vec<_>>(), "{what}");
    for (theirs, ours) in names {
        let curve = record.quantity(ours).unwrap_or_else(|| panic!("{what}: no {ours}"));
        let times = if ours.contains("bonds") || *ours == "double_occupancy" { scale } else { 1.0 };
        for (place, row) in table.iter().enumerate() {
            let (found, wanted) = (curve.values[place], times * row[*theirs]);
            assert!(
                (found - wanted).abs() <= 1e-10 * wanted.abs().max(1.0),
                "{what}, {ours} at T = {}: {found} for {wanted}",
                row["T"]
            );
            assert_eq!(curve.errors[place], 0.0, "{what}, {ours}");
        }
    }
}

fn temperatures(table: &[Row]) -> Vec<f64> {
    table.iter().map(|row| row["T"]).collect()
}

/// Every table, whole: by momentum sectors, and without momenta, for an operator has none.
#[test]
fn spins_of_every_table() {
    let file: SpinFile = read("thermal/spins.json");
    for case in file.spins.iter().filter(|case| case.sites < 16) {
        let bonds = case.edges.len() as f64;
        let names: Vec<_> = NAMES.into_iter().chain([("SzSz_first_edge", "bonds")]).collect();
        let texts = [
            ("exact_below = 20", "bonds = \"sum(<i, j, _> in bonds; sz(i) * sz(j))\"", bonds),
            ("exact_below = 1000", "bonds = \"sz(0) * sz(1)\"", 1.0),
        ];
        // Momenta of 12 sites are enough.
        let texts = if case.sites == 12 { &texts[..1] } else { &texts[..] };
        for (keys, observables, scale) in texts {
            let keys = format!("method = \"exact\"\n{keys}");
            let record = of_file(&case.text(&keys, observables, &temperatures(&case.table)));
            agree(&record, &case.table, &names, *scale, &format!("{} {keys}", case.id));
            assert!(record.converged && record.warnings.is_empty(), "{}: {:?}", case.id, record.warnings);
            assert_eq!((record.states, record.degeneracy), (case.dim, Some(case.ground_multiplicity)), "{}", case.id);
            // The flux is complex and the field tells up from down; nothing else has more than half of its sectors to solve.
            let joined: usize = record.sectors.iter().map(|sector| sector.joined).sum();
            let is_joined = record.sectors.len() < joined;
            assert_eq!(is_joined, case.h.is_none(), "{}: {} of {joined}", case.id, record.sectors.len());
        }
    }
}

/// ln Z = ln D − βm₁ + β²κ₂/2 − β³κ₃/6 + β⁴κ₄/24 with the cumulants of the traces.
#[test]
fn high_temperatures_are_those_of_the_series() {
    let file: SpinFile = read("thermal/spins.json");
    for case in &file.spins {
        let Some(m4) = case.fourth_moment else { continue };
        let (m1, m2, m3) = (case.first_moment, case.second_moment, case.third_moment);
        let k2 = m2 - m1 * m1;
        let k3 = m3 - 3.0 * m2 * m1 + 2.0 * m1.powi(3);
        let k4 = m4 - 4.0 * m3 * m1 - 3.0 * m2 * m2 + 12.0 * m2 * m1 * m1 - 6.0 * m1.powi(4);
        let t: f64 = 300.0;
        let series =
            (case.dim as f64).ln() - m1 / t + k2 / (2.0 * t * t) - k3 / (6.0 * t.powi(3)) + k4 / (24.0 * t.powi(4));
        let heat = k2 / (t * t) - k3 / t.powi(3) + k4 / (2.0 * t.powi(4));
        let record = of_file(&case.text("exact_below = 200", "standard = false", &[t]));
        let at = |name: &str| record.quantity(name).unwrap().values[0];
        assert!((at("ln_z") - series).abs() < 1e-9, "{}: {} for {series}", case.id, at("ln_z"));
        assert!((at("heat_capacity") - heat).abs() < 1e-9, "{}: {} for {heat}", case.id, at("heat_capacity"));
    }
}

/// Hubbard ring of 6: canonical with 4, 5 and 6 electrons, and grand canonical.
#[test]
fn electrons_of_every_table() {
    let file: HubbardFile = read("thermal/hubbard.json");
    let case = &file.hubbard[0];
    let text = |sector: &str, keys: &str, table: &[Row]| {
        format!(
            "[model]\nname = \"hubbard\"\nt = 1.0\nu = 4.0\n[lattice]\nkind = \"chain\"\nsize = 6\nboundary = \"periodic\"\n{sector}\
             [thermal]\ntemperatures = {:?}\nmethod = \"exact\"\nexact_below = 60\n{keys}",
            temperatures(table)
        )
    };
    for (electrons, wanted) in &case.canonical_fixed_electrons {
        let number: usize = electrons.parse().unwrap();
        let both = format!("[sector]\nup = {}\ndown = {}\n", number / 2, number - number / 2);
        for sector in [format!("[sector]\nparticles = {number}\n"), both] {
            let record = of_file(&text(&sector, "", &wanted.table));
            let names: Vec<_> = NAMES.into_iter().chain([("double_occupancy_per_site", "double_occupancy")]).collect();
            agree(&record, &wanted.table, &names, 6.0, &format!("{electrons} electrons"));
            assert_eq!(record.states, wanted.dim);
        }
    }
    for (mu, table) in &case.grand_canonical_mu {
        let record = of_file(&text("", &format!("ensemble = \"grand\"\nmu = {mu}\n"), table));
        // What the reference calls E there is ⟨H − µN⟩.
        let names: Vec<_> = NAMES.into_iter().filter(|(theirs, _)| *theirs != "E").collect();
        let own = [
            ("E", "grand_energy"),
            ("H", "energy"),
            ("electrons", "particles"),
            ("dN_dmu", "dn_dmu"),
            ("double_occupancy_per_site", "double_occupancy"),
        ];
        let names: Vec<_> = names.into_iter().chain(own).collect();
        agree(&record, table, &names, 6.0, &format!("mu = {mu}"));
        assert_eq!(record.states, 4096);
    }
}

/// Random vectors: within four standard errors at every temperature, errors that are not too large, ln g at the lowest and ln D at the highest.
#[test]
fn random_vectors_have_the_averages_within_their_errors() {
    let file: SpinFile = read("thermal/spins.json");
    let mut pulls = Vec::new();
    for case in
        file.spins.iter().filter(|case| ["th_heis_ring12", "th_spin1_ring6", "th_xxz_flux_ring8"].contains(&&*case.id))
    {
        let keys = "exact_below = 6\nsamples = 40\nsteps = 50\n[solve]\nseed = 3\n";
        let bonds = case.edges.len() as f64;
        let observables = "bonds = \"sum(<i, j, _> in bonds; sz(i) * sz(j))\"";
        let record = of_file(&case.text(keys, observables, &temperatures(&case.table)));
        assert!(
            record.sectors.iter().any(|sector| sector.steps > 0) && record.converged,
            "{}: {:?}",
            case.id,
            record.warnings
        );
        assert_eq!(record.degeneracy, Some(case.ground_multiplicity), "{}", case.id);
        for (theirs, ours) in NAMES.into_iter().chain([("SzSz_first_edge", "bonds")]) {
            let curve = record.quantity(ours).unwrap();
            for (place, row) in case.table.iter().enumerate() {
                let wanted = row[theirs] * if ours == "bonds" { bonds } else { 1.0 };
                let (found, error) = (curve.values[place], curve.errors[place]);
                let name = format!("{} {ours} at T = {}: {found} ± {error} for {wanted}", case.id, row["T"]);
                assert!((found - wanted).abs() <= 4.5 * error + 1e-9 * wanted.abs().max(1.0), "{name}");
                assert!(error <= 0.1 * wanted.abs().max(0.5), "{name}");
                if error > 1e-9 {
                    pulls.push((found - wanted) / error);
                }
            }
        }
        let entropy = record.quantity("entropy").unwrap();
        assert!(entropy.values.iter().all(|s| *s >= (case.ground_multiplicity as f64).ln() - 1e-12), "{}", case.id);
        // The number of all states is exact.
        assert!((entropy.values[7] - case.table[7]["S"]).abs() < 2e-3, "{}", case.id);
    }
    // Errors are neither far too small nor far too large.
    let mean_square = pulls.iter().map(|pull| pull * pull).sum::<f64>() / pulls.len() as f64;
    assert!(pulls.len() > 60 && (0.2..3.0).contains(&mean_square), "{mean_square} of {}", pulls.len());
}

/// An odd ring: four states of the lowest level, known exactly, in sectors that are sampled.
#[test]
fn entropy_ends_at_the_logarithm_of_the_lowest_level() {
    let file: SpinFile = read("thermal/spins.json");
    let case = file.spins.iter().find(|case| case.id == "th_heis_ring9").unwrap();
    for (observables, seed) in [("standard = false", 1), ("first = \"sz(0) * sz(1)\"", 2)] {
        let keys = format!("exact_below = 4\nsamples = 3\n[solve]\nseed = {seed}\n");
        let record = of_file(&case.text(&keys, observables, &[0.005, 0.02]));
        let entropy = record.quantity("entropy").unwrap();
        assert!((entropy.values[0] - 4f64.ln()).abs() < 1e-9, "{:?}", entropy.values);
        assert_eq!(record.degeneracy, Some(4));
        assert!(record.quantity("heat_capacity").unwrap().values[0].abs() < 1e-9);
    }
}

/// Chains to their end are exact where a sector has as many states as steps: with vectors for each direction the trace is a mean of them.
#[test]
fn both_methods_agree_where_chains_are_long() {
    let text = |method: &str| {
        format!(
            "[model]\nname = \"xxz\"\njxy = 1.0\njz = 0.6\nfield = [0.3, -0.1, 0.2, 0.0, 0.5, 0.1]\n[lattice]\nkind = \"chain\"\nsize = 6\n\
             [thermal]\ntemperatures = [0.1, 1.0, 10.0]\nmethod = \"{method}\"\nsamples = 200\nsteps = 40\n\
             [observables]\nend = \"sz(0) * sz(5)\"\n"
        )
    };
    let (whole, sampled) = (of_file(&text("exact")), of_file(&text("ftlm")));
    for curve in &sampled.quantities {
        for (place, (found, error)) in curve.values.iter().zip(&curve.errors).enumerate() {
            let wanted = whole.quantity(&curve.name).unwrap().values[place];
            let name = format!("{} {place}: {found} ± {error} for {wanted}", curve.name);
            assert!((found - wanted).abs() <= 4.5 * error + 1e-10 * wanted.abs(), "{name}");
            assert!(*error <= 0.3 * wanted.abs().max(0.3), "{name}");
        }
    }
}

/// A model of a text with all that its ensemble has.
struct Random {
    text: String,
    kinds: Vec<SiteKind>,
    number: Option<i64>,
    mu: Option<f64>,
}

/// Random numbers by a linear congruence.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
    }
}

/// Random bonds on a ring of sites of one kind.
fn random(number: u64) -> Random {
    let mut numbers = Numbers(number);
    let mut list = |count: usize| {
        let values: Vec<String> = (0..count).map(|_| format!("{:.4}", numbers.next())).collect();
        format!("[{}]", values.join(", "))
    };
    let (site, sites, bond, own, kind): (&str, usize, &str, &str, SiteKind) = match number % 8 {
        0 => ("spin 1/2", 6, "a[i] * sdots(i, j)", "b[i] * sz(i)", SiteKind::Moments { two_s: 1 }),
        1 => (
            "spin 1/2",
            6,
            "a[i] * sx(i) * sx(j) + c[i] * sy(i) * sy(j) + 0.3 * (sx(i) * sz(j) - sz(i) * sx(j))",
            "b[i] * sx(i)",
            SiteKind::Moments { two_s: 1 },
        ),
        2 => (
            "spin 1",
            4,
            "a[i] * sdots(i, j) + c[i] * (sx(i) * sy(j) - sy(i) * sx(j))",
            "b[i] * sz(i) * sz(i)",
            SiteKind::Moments { two_s: 2 },
        ),
        3 => (
            "electron",
            4,
            "a[i] * (cdag(i, Up) * c(j, Up) + h.c.) + c[i] * (cdag(i, Down) * c(j, Down) + h.c.)",
            "2.0 * n(i, Up) * n(i, Down) + b[i] * n(i, Up)",
            SiteKind::Electrons,
        ),
        4 => (
            "tj",
            4,
            "a[i] * (cdag(i, Up) * c(j, Up) + cdag(i, Down) * c(j, Down) + h.c.) + c[i] * sdots(i, j)",
            "b[i] * n(i)",
            SiteKind::Tj,
        ),
        5 => (
            "boson 2",
            4,
            "a[i] * (bdag(i) * b(j) + h.c.)",
            "b[i] * n(i) + 0.7 * n(i) * n(i)",
            SiteKind::Bosons { most: 2 },
        ),
        6 => {
            ("spinless", 6, "a[i] * (cdag(i) * c(j) + h.c.) + c[i] * n(i) * n(j)", "b[i] * n(i)", SiteKind::Flavours(1))
        }
        _ => (
            "flavours 3",
            3,
            "a[i] * (cdag(i, Flavour(0)) * c(j, Flavour(0)) + cdag(i, Flavour(2)) * c(j, Flavour(2)) + h.c.) + c[i] * n(i) * n(j)",
            "b[i] * n(i, Flavour(1))",
            SiteKind::Flavours(3),
        ),
    };
    let has_particles = !matches!(kind, SiteKind::Moments { .. });
    let is_grand = has_particles && number % 16 >= 8;
    let particles = if is_grand || !has_particles { None } else { Some(3) };
    let key = if matches!(kind, SiteKind::Bosons { .. }) { "bosons" } else { "particles" };
    let mu = is_grand.then_some(0.4);
    let mut text = format!(
        "[model]\nname = \"terms\"\nsite = \"{site}\"\nH = \"sum(<i, j, _> in bonds; {bond}) + sum(i in sites; {own})\"\n[parameters]\n"
    );
    for name in ["a", "b", "c"] {
        let values = list(sites);
        if text.contains(&format!("{name}[i]")) {
            let _ = writeln!(text, "{name} = {values}");
        }
    }
    let _ = write!(text, "[lattice]\nkind = \"chain\"\nsize = {sites}\n");
    if let Some(particles) = particles {
        let _ = writeln!(text, "[sector]\n{key} = {particles}");
    }
    let observable = if has_particles { "nn = \"n(0) * n(1)\"" } else { "nn = \"sz(0) * sz(1) + 0.2 * sz(2)\"" };
    let observable = observable.replace("nn", "own");
    let ensemble = mu.map_or(String::new(), |mu| format!("ensemble = \"grand\"\nmu = {mu}\n"));
    let _ = write!(
        text,
        "[observables]\n{observable}\n[thermal]\ntemperatures = [0.2, 1.0, 5.0]\nexact_below = 5\n{ensemble}"
    );
    Random { text, kinds: vec![kind; sites], number: particles, mu }
}

/// Averages over all states at once, with M, N and the observable of each by its configuration.
fn oracle(random: &Random, temperatures: &[f64]) -> Vec<BTreeMap<&'static str, f64>> {
    use eigenforge::operator::Charge;
    let file = ModelFile::parse("oracle.toml", &random.text).unwrap();
    let operator: Operator = file.operator().on_kinds(&random.kinds);
    let model = operator.charges(&[]).unwrap();
    let n = model.dimension() as usize;
    let share = model.states() as f64 / n as f64;
    let dense = model.dense().unwrap();
    let counted = if matches!(random.kinds[0], SiteKind::Bosons { .. }) { Charge::Bosons } else { Charge::Particles };
    let of_state = |index: usize, charge: Charge| -> i64 {
        let configuration = model.basis().configuration(index as u64 % model.states());
        random
            .kinds
            .iter()
            .zip(local_states(&random.kinds, &configuration))
            .map(|(kind, state)| kind.charge(charge, 0, state))
            .sum()
    };
    // States of other numbers of particles have no part in the canonical ensemble.
    let kept: Vec<usize> =
        (0..n).filter(|index| random.number.is_none_or(|number| of_state(*index, counted) == number)).collect();
    let mu = random.mu.unwrap_or(0.0);
    let size = kept.len();
    let mut matrix = vec![0.0; size * size];
    for (row, from) in kept.iter().enumerate() {
        for (column, to) in kept.iter().enumerate() {
            matrix[row * size + column] = dense[[*from, *to]];
        }
        matrix[row * size + row] -= mu * of_state(*from, counted) as f64;
    }
    let (values, vectors) = symmetric_eigen(size, &matrix).unwrap();
    let own: Vec<f64> = kept
        .iter()
        .map(|index| {
            let configuration = model.basis().configuration(*index as u64 % model.states());
            let local = local_states(&random.kinds, &configuration);
            let charge = |site: usize, charge: Charge| random.kinds[site].charge(charge, site, local[site]) as f64;
            match random.kinds[0] {
                SiteKind::Moments { .. } => {
                    let sz = |site| 0.5 * charge(site, Charge::TwoSz);
                    sz(0) * sz(1) + 0.2 * sz(2)
                }
                _ => charge(0, counted) * charge(1, counted),
            }
        })
        .collect();
    let m = |place: usize| 0.5 * of_state(kept[place], Charge::TwoSz) as f64;
    let number = |place: usize| of_state(kept[place], counted) as f64;
    let means = |of: &dyn Fn(usize) -> f64| -> Vec<f64> {
        let table: Vec<f64> = (0..size).map(of).collect();
        vectors.iter().map(|vector| vector.iter().zip(&table).map(|(v, own)| v * v * own).sum()).collect()
    };
    let (m1, m2) = (means(&m), means(&|place| m(place).powi(2)));
    let (n1, n2) = (means(&number), means(&|place| number(place).powi(2)));
    let own = means(&|place| own[place]);
    let of_temperature = |temperature: &f64| {
        let factors: Vec<f64> = values.iter().map(|k| (-(k - values[0]) / temperature).exp()).collect();
        let z: f64 = factors.iter().sum();
        let mean = |each: &[f64]| factors.iter().zip(each).map(|(factor, own)| factor * own).sum::<f64>() / z;
        let squares: Vec<f64> = values.iter().map(|k| k * k).collect();
        let (k1, k2) = (mean(&values), mean(&squares));
        let ln_z = (share * z).ln() - values[0] / temperature;
        BTreeMap::from([
            ("ln_z", ln_z),
            ("energy", k1 + mu * mean(&n1)),
            ("grand_energy", k1),
            ("heat_capacity", (k2 - k1 * k1) / (temperature * temperature)),
            ("entropy", k1 / temperature + ln_z),
            ("susceptibility", (mean(&m2) - mean(&m1).powi(2)) / temperature),
            ("particles", mean(&n1)),
            ("dn_dmu", (mean(&n2) - mean(&n1).powi(2)) / temperature),
            ("own", mean(&own)),
        ])
    };
    temperatures.iter().map(of_temperature).collect()
}

/// Local states of sites from the digits of a configuration: of fermions a digit for each mode.
fn local_states(kinds: &[SiteKind], configuration: &[u32]) -> Vec<u64> {
    let mut digits = configuration.iter();
    let mut local = |kind: &SiteKind| match kind.modes().len() {
        0 => u64::from(*digits.next().unwrap()),
        modes => (0..modes).map(|bit| u64::from(*digits.next().unwrap()) << bit).sum(),
    };
    kinds.iter().map(&mut local).collect()
}

#[test]
fn random_models_have_the_averages_of_all_their_states() {
    for number in 0..16 {
        let random = random(number);
        let record = of_file(&format!("{}method = \"exact\"\n", random.text));
        let temperatures = [0.2, 1.0, 5.0];
        let wanted = oracle(&random, &temperatures);
        for (place, (temperature, wanted)) in temperatures.iter().zip(&wanted).enumerate() {
            for curve in record.quantities.iter().filter(|curve| curve.name != "double_occupancy") {
                let (found, wanted) = (curve.values[place], wanted[&*curve.name]);
                assert!(
                    (found - wanted).abs() <= 1e-9 * wanted.abs().max(1.0),
                    "model {number}, {} at {temperature}: {found} for {wanted}\n{}",
                    curve.name,
                    random.text
                );
            }
        }
        let chi = record.quantity("susceptibility").is_some();
        let has_chi = !matches!(number % 8, 1 | 5 | 6);
        assert_eq!(chi, has_chi, "model {number}");
    }
}
