//! Spectra beside those of all eigenvectors (tests/data/spectra, by an independent dense code that QuSpin agrees with).
//!
//! spin.json and electron.json: poles and weights of every sector that is reached, averaged over whole ground levels; moments; G at a few
//! points. large.json: moments and G by chains with full reorthogonalisation from ARPACK's states.

use super::cases::read;
use super::ours;
use eigenforge::basis::{Down, Up};
use eigenforge::exact::{ChainOptions, InSector, Lanczos, LevelStates, Model, Response};
use eigenforge::input::ModelFile;
use eigenforge::operator::{Operator, Spin, build};
use eigenforge::problem::run::{RunContext, Silent};
use eigenforge::spectrum::{SpectrumRecord, spectrum};
use eigenforge_runtime::Device;
use serde::Deserialize;
use std::f64::consts::TAU;
use std::sync::Arc;
use std::time::Instant;

#[derive(Deserialize)]
struct File {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct LargeFile {
    spins: Vec<Case>,
    electrons: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    id: String,
    #[serde(rename = "N")]
    sites: usize,
    edges: Vec<Vec<f64>>,
    #[serde(default, rename = "twoS")]
    two_s: u32,
    #[serde(default)]
    h: Option<Vec<f64>>,
    #[serde(default, rename = "U")]
    u: f64,
    #[serde(default)]
    up: usize,
    #[serde(default)]
    dn: usize,
    positions: Vec<Vec<f64>>,
    #[serde(rename = "E0")]
    energy: f64,
    #[serde(default)]
    ground_two_sz: Vec<i64>,
    spectra: Vec<Spectrum>,
}

#[derive(Deserialize)]
struct Spectrum {
    component: String,
    q: Vec<String>,
    #[serde(default)]
    poles: Vec<[f64; 2]>,
    moments: [f64; 3],
    #[serde(rename = "G_at")]
    resolvent: Vec<Vec<f64>>,
}

impl Case {
    /// Σ Jxy/2 (e^(iφ) S⁺_i S⁻_j + h.c.) + Jz Sz_i Sz_j + Σ h Sz.
    fn spins(&self) -> Operator {
        let bond = |edge: &Vec<f64>| {
            let (i, j) = (edge[0] as usize, edge[1] as usize);
            let phase = edge.get(4).copied().unwrap_or(0.0);
            let hop = build::sp(i) * build::sm(j);
            let turned = phase.cos() * hop.clone() + phase.sin() * hop.times_i();
            0.5 * edge[2] * (turned.clone() + turned.adjoint()) + edge[3] * (build::sz(i) * build::sz(j))
        };
        let fields = self.h.iter().flatten().enumerate().map(|(site, h)| *h * build::sz(site));
        let sum: Operator = self.edges.iter().map(bond).chain(fields).fold(Operator::zero(), |a, b| a + b);
        sum.spin(self.two_s).on_sites(self.sites)
    }

    /// −Σ t (e^(iφ) c†_i c_j + h.c.) + U Σ n↑ n↓.
    fn electrons(&self) -> Operator {
        let bond = |edge: &Vec<f64>| {
            let (i, j) = (edge[0] as usize, edge[1] as usize);
            let phase = edge.get(3).copied().unwrap_or(0.0);
            let hop = |spin| build::cdag(i, spin) * build::c(j, spin);
            let hops = hop(Spin::Up) + hop(Spin::Down);
            let turned = phase.cos() * hops.clone() + phase.sin() * hops.times_i();
            -edge[2] * (turned.clone() + turned.adjoint())
        };
        let pairs = (0..self.sites).map(|i| self.u * (build::n(i, Spin::Up) * build::n(i, Spin::Down)));
        let sum = self.edges.iter().map(bond).chain(pairs).fold(Operator::zero(), |a, b| a + b);
        sum.on_sites(self.sites)
    }

    /// The sectors of the ground level.
    fn models(&self) -> Vec<Model> {
        match self.two_s {
            0 => vec![self.electrons().sector(Up(self.up), Down(self.dn)).unwrap()],
            _ => self.ground_two_sz.iter().map(|two_sz| self.spins().two_sz(*two_sz).unwrap()).collect(),
        }
    }

    /// A_q of a component.
    fn operator(&self, spectrum: &Spectrum) -> Operator {
        let parts = |fraction: &String| {
            let (part, whole) = fraction.split_once('/').unwrap();
            part.parse::<f64>().unwrap() / whole.parse::<f64>().unwrap()
        };
        let q: Vec<f64> = spectrum.q.iter().map(|fraction| TAU * parts(fraction)).collect();
        let (at, sign): (fn(usize, usize) -> Operator, f64) = match spectrum.component.as_str() {
            "zz" => (|site, _| build::sz(site), -1.0),
            "+-" => (|site, _| build::sm(site), -1.0),
            "-+" => (|site, _| build::sp(site), -1.0),
            "dimer" => (|site, sites| build::sdots(site, (site + 1) % sites), -1.0),
            "Sz" => (|site, _| build::electron_sz(site), -1.0),
            "n" => (|site, _| build::n(site, Spin::Up) + build::n(site, Spin::Down), -1.0),
            "double" => (|site, _| build::n(site, Spin::Up) * build::n(site, Spin::Down), -1.0),
            "add_up" => (|site, _| build::cdag(site, Spin::Up), 1.0),
            "add_dn" => (|site, _| build::cdag(site, Spin::Down), 1.0),
            "remove_up" => (|site, _| build::c(site, Spin::Up), -1.0),
            "remove_dn" => (|site, _| build::c(site, Spin::Down), -1.0),
            other => panic!("no component {other}"),
        };
        let share = 1.0 / (self.sites as f64).sqrt();
        let of_site = |site: usize| {
            let angle: f64 = sign * q.iter().zip(&self.positions[site]).map(|(q, r)| q * r).sum::<f64>();
            let own = at(site, self.sites);
            share * (angle.cos() * own.clone() + angle.sin() * own.times_i())
        };
        (0..self.sites).map(of_site).fold(Operator::zero(), |a, b| a + b).spin(self.two_s.max(1))
    }

    fn agrees(&self, steps: usize, device: &Device) {
        let models = self.models();
        let levels: Vec<LevelStates> = models
            .iter()
            .map(|model| Lanczos::new(model).tolerance(1e-12).run(device).unwrap().level_states(0).unwrap())
            .collect();
        let all: usize = levels.iter().map(|level| level.states.len()).sum();
        levels.iter().for_each(|level| assert!((level.energy - self.energy).abs() < 1e-9, "{}", self.id));
        let options = ChainOptions { steps, omega: Vec::new(), eta: 0.1, damping: None };
        // Of the larger clusters a third of the momenta.
        let step = if self.sites > 10 { 3 } else { 1 };
        for spectrum in self.spectra.iter().skip(step / 2).step_by(step) {
            let (operator, name) =
                (self.operator(spectrum), format!("{} {} {:?}", self.id, spectrum.component, spectrum.q));
            let mut found = Response::default();
            for level in &levels {
                let part = level.states.len() as f64 / all as f64;
                found.add(level.response(&operator, None, &[], &options, device).unwrap(), part);
            }
            let moments = found.moments();
            for (power, (got, wanted)) in moments.into_iter().zip(spectrum.moments).enumerate() {
                assert!(
                    (got - wanted).abs() < 1e-8 * (1.0 + wanted.abs()),
                    "{name}, moment {power}: {got} for {wanted}"
                );
            }
            for at in &spectrum.resolvent {
                let got = found.resolvent(at[0], at[1]);
                let apart = (got.re - at[2]).hypot(got.im - at[3]);
                assert!(
                    apart < 1e-8 * (1.0 + at[2].hypot(at[3])),
                    "{name} at {}: {got} for {} {}",
                    at[0],
                    at[2],
                    at[3]
                );
            }
            if !found.is_closed() {
                continue;
            }
            let poles = found.poles().unwrap();
            for [omega, weight] in spectrum.poles.iter().filter(|pole| pole[1] > 1e-8) {
                let own: f64 = poles.iter().filter(|pole| (pole[0] - omega).abs() < 1e-7).map(|pole| pole[1]).sum();
                assert!((own - weight).abs() < 1e-8, "{name}, pole {omega}: {own} for {weight}");
            }
            let (got, wanted) = (
                poles.iter().filter(|pole| pole[1] > 1e-8).count(),
                spectrum.poles.iter().filter(|pole| pole[1] > 1e-8).count(),
            );
            assert_eq!(got, wanted, "{name}");
        }
    }
}

#[test]
fn every_spin_spectrum() {
    let file: File = read("spectra/spin.json");
    for device in ours::devices() {
        file.cases.iter().for_each(|case| case.agrees(if case.sites > 10 { 120 } else { 250 }, &device));
    }
}

#[test]
fn every_electron_spectrum() {
    let file: File = read("spectra/electron.json");
    for device in ours::devices() {
        file.cases.iter().for_each(|case| case.agrees(250, &device));
    }
}

#[test]
fn spectra_beyond_all_eigenvectors() {
    let file: LargeFile = read("spectra/large.json");
    for device in ours::devices() {
        file.spins.iter().chain(&file.electrons).for_each(|case| case.agrees(180, &device));
    }
}

/// The spectrum of a file on the CPU.
fn of_file(text: &str) -> SpectrumRecord {
    let context = RunContext::new(Instant::now(), "cpu", Arc::new(Silent));
    spectrum(ModelFile::parse("spectrum.toml", text).unwrap_or_else(|error| panic!("{error:?}")), &context).unwrap()
}

/// Files with their sectors, by the numbers of their reference: whole levels, also where their states are in several sectors of 2Sz and of
/// momentum, and only one is in the file.
#[test]
fn files_have_the_spectra_of_their_levels() {
    let file: File = read("spectra/spin.json");
    let spins = |kind: &str, size: &str, two_sz: i64, more: &str| {
        format!(
            "[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\n{more}[lattice]\nkind = \"{kind}\"\nsize = {size}\n\
             boundary = {}\n[sector]\ntwo_sz = {two_sz}\n",
            if kind == "chain" {
                "\"periodic\""
            } else if kind == "ladder" {
                "[\"periodic\", \"open\"]"
            } else {
                "[\"periodic\", \"periodic\"]"
            }
        )
    };
    let with = |of: &str| {
        format!("[spectrum]\nof = \"{of}\"\nomega = {{ from = 0.5, to = 2.0, points = 2 }}\neta = 0.1\nsteps = 120\n")
    };
    for (id, head, symmetries) in [
        (
            "heis_ring8",
            spins("chain", "8", 0, ""),
            vec![
                "",
                "[symmetry]\nk = 0\n",
                "[symmetry]\nk = 0\nspin_inversion = 1\n",
                "[symmetry]\nk = 0\nreflection = 1\n",
            ],
        ),
        ("heis_ring10_field1", spins("chain", "10", -2, "field = 1.0\n"), vec!["", "[symmetry]\nk = 0\n"]),
        ("heis_ring9", spins("chain", "9", 1, ""), vec!["", "[symmetry]\nk = 2\n", "[symmetry]\nk = 7\n"]),
        ("triangular3x3", spins("triangular", "[3, 3]", -1, ""), vec![""]),
        ("ladder4x2", spins("ladder", "[4, 2]", 0, ""), vec![""]),
        ("heis_square4x4", spins("square", "[4, 4]", 0, ""), vec!["[symmetry]\nk = [0, 0]\n"]),
    ] {
        let case = file.cases.iter().find(|case| case.id == id).unwrap();
        for symmetry in symmetries {
            for (of, component) in [("Sz", "zz"), ("Sm", "+-"), ("sum(i in sites; phase(i) * sz(i))", "zz")] {
                let of_component: Vec<_> = case.spectra.iter().filter(|own| own.component == component).collect();
                // Levels of several sectors need no operator in words as well.
                if of_component.is_empty() || of.starts_with("sum") && symmetry.is_empty() {
                    continue;
                }
                let found = of_file(&format!("{head}{symmetry}{}", with(of)));
                let name = format!("{id} {of} {symmetry:?}: {:?}", found.warnings);
                assert!((found.energy - case.energy).abs() < 1e-9 && found.warnings.is_empty(), "{name}");
                for wanted in of_component {
                    let part = |fraction: &String| {
                        let (part, whole) = fraction.split_once('/').unwrap();
                        part.parse::<f64>().unwrap() / whole.parse::<f64>().unwrap()
                    };
                    let fraction: Vec<f64> = wanted.q.iter().map(part).collect();
                    let curve = found.curves.iter().find(|curve| {
                        let own = curve.q.as_ref().unwrap().fraction;
                        fraction.iter().zip(own).all(|(a, b)| (a - b).abs() < 1e-9)
                    });
                    let curve = curve.unwrap_or_else(|| panic!("{name}: no {:?}", wanted.q));
                    for power in 0..3 {
                        let apart = (curve.moments[power] - wanted.moments[power]).abs();
                        assert!(
                            apart < 1e-8 * (1.0 + wanted.moments[power].abs()),
                            "{name} {:?} moment {power}",
                            wanted.q
                        );
                    }
                    let at = wanted.resolvent.iter().find(|at| at[0] == 0.5 && at[1] == 0.1).unwrap();
                    let got = curve.curve[0];
                    assert!(
                        (got + at[3] / std::f64::consts::PI).abs() < 1e-8,
                        "{name} {:?}: {got} for {}",
                        wanted.q,
                        at[3]
                    );
                }
            }
        }
    }
}

/// Levels with states in several sectors, of which the file has one: numbers of states and weights by an independent dense code on the whole
/// space.
#[test]
fn levels_are_averaged_whole_from_any_of_their_sectors() {
    let ring = |model: &str, sites: usize, sector: &str| {
        format!(
            "[model]\n{model}\n[lattice]\nkind = \"chain\"\nsize = {sites}\nboundary = \"periodic\"\n[sector]\n{sector}\n"
        )
    };
    let with = |head: String, of: &str, window: &str| format!("{head}[spectrum]\nof = \"{of}\"\n{window}\n");
    let window = "omega = { from = 0.0, to = 5.0, points = 3 }";
    let heisenberg = "name = \"heisenberg\"\nj = 1.0";
    let hubbard = |u: f64, mu: f64| format!("name = \"hubbard\"\nt = 1.0\nu = {u:?}\nmu = {mu:?}");
    let twisted = "name = \"terms\"\nsite = \"spin 1/2\"\n\
                   H = \"sum(<i, j, _> in bonds; sdots(i, j) + 0.3 * (sx(i) * sy(j) - sy(i) * sx(j)))\"";
    let half_filled = "name = \"terms\"\nsite = \"electron\"\n\
                       H = \"sum(<i, j, _> in bonds, s in [Up, Down]; -1.0 * (cdag(i, s) * c(j, s) + h.c.)) \
                       + sum(i in sites; -2.0 * n(i) + 4.0 * n(i, Up) * n(i, Down))\"";
    let weight = |record: &SpectrumRecord, k: i64| {
        record.curves.iter().find(|curve| curve.q.as_ref().unwrap().k == [k]).unwrap().moments[0]
    };
    // Momenta and 2Sz; the elastic part of all of them.
    let text = with(ring(heisenberg, 5, "two_sz = 1\n[symmetry]\nk = 1"), "Sz", &format!("{window}\nconnected = true"));
    let found = of_file(&text);
    let states = |record: &SpectrumRecord| record.level.iter().map(|sector| sector.states).sum::<usize>();
    assert_eq!((states(&found), found.level.len()), (4, 4));
    assert!((weight(&found, 2) - 0.288_888_888_889).abs() < 1e-9);
    // Time reversal alone joins ±Sz.
    let found = of_file(&with(ring(twisted, 5, "two_sz = 1"), "Sp", window));
    assert_eq!(states(&found), 2);
    assert!((found.total_weight - 2.5).abs() < 1e-9);
    // Spins 0 and 1 in one level.
    for sector in ["up = 2\ndown = 2", "up = 3\ndown = 1"] {
        let found = of_file(&with(ring(&hubbard(0.0, 0.0), 4, sector), "Sz", window));
        assert_eq!(states(&found), 6, "{sector}");
        assert!((found.total_weight - 13.0 / 24.0).abs() < 1e-9, "{sector}");
    }
    // Charges that say 2Sz together.
    let found = of_file(&with(ring(half_filled, 4, "up = 2\ntwo_sz = 1"), "add_up", window));
    assert_eq!(states(&found), 4);
    assert!((found.total_weight - 2.5).abs() < 1e-9);
    // Neither a large constant nor small couplings take another level for this one.
    let found = of_file(&with(ring(&hubbard(8.0, 1e7), 4, "up = 3\ndown = 1"), "Sz", window));
    assert!((weight(&found, 1) - 0.1613).abs() < 1e-4 && (weight(&found, 2) - 0.4516).abs() < 1e-4);
    let small = with(
        ring("name = \"heisenberg\"\nj = 1e-9", 6, "two_sz = 2"),
        "Sz",
        "omega = { from = 0.0, to = 5e-9, points = 3 }\neta = 1e-10",
    );
    let found = of_file(&small);
    assert!((weight(&found, 3) - 0.6373).abs() < 1e-4);
    // The elastic part also behind a mirror.
    let of = "sum(i in sites; phase(i) * (sz(i) + 1))";
    let mirrored = ring("name = \"xxz\"\njxy = 1.0\njz = 0.7", 4, "two_sz = 0").replace("periodic", "open");
    let text =
        with(format!("{mirrored}[symmetry]\nreflection = 1\n"), of, &format!("{window}\nq = [0]\nconnected = true"));
    let found = of_file(&text);
    assert!(found.total_weight.abs() < 1e-12 && found.warnings.is_empty(), "{:?}", found.warnings);
}

#[derive(Deserialize)]
struct Conductor {
    id: String,
    sites: usize,
    u: f64,
    up: usize,
    down: usize,
    periodic: bool,
    phase: f64,
    energy: f64,
    kinetic: f64,
    current: f64,
    drude: f64,
    regular: f64,
    poles: Vec<[f64; 2]>,
}

/// Drude weights and poles of the current (tests/data/spectra/conductivity.json, dense; D also as second difference of the energy): rings of
/// 4n sites have a negative D, open chains none, a flux makes a persistent current. In a sector of momentum they are the same.
#[test]
fn conductivities_are_those_of_all_eigenvectors() {
    for case in read::<Vec<Conductor>>("spectra/conductivity.json") {
        let Conductor { id, sites, u, up, down, phase, .. } = &case;
        let boundary = if case.periodic { "periodic" } else { "open" };
        let head = format!(
            "[model]\nname = \"terms\"\nsite = \"electron\"\n\
             H = \"sum(<i, j> in bonds, s in [Up, Down]; -(exp(I * phi) * cdag(j, s) * c(i, s) + h.c.)) \
             + sum(i in sites; u * n(i, Up) * n(i, Down))\"\n\
             [lattice]\nkind = \"chain\"\nsize = {sites}\nboundary = \"{boundary}\"\n[sector]\nup = {up}\ndown = {down}\n\
             [parameters]\nphi = {phase:?}\nu = {u:?}\n[solve]\ntolerance = 1e-12\n"
        );
        let wanted =
            "[spectrum]\nof = \"current\"\naverage = \"sector\"\nomega = { from = 0.0, to = 20.0, points = 2001 }\n";
        let momenta: &[i64] = if case.periodic { &[0, 2] } else { &[] };
        let sectors = momenta.iter().map(|k| format!("[symmetry]\nk = {k}\n")).chain([String::new()]);
        let mut found = sectors.map(|sector| of_file(&format!("{head}{sector}{wanted}")));
        let is_level = |record: &SpectrumRecord| (record.energy - case.energy).abs() < 1e-9;
        let mut any = 0;
        for record in found.by_ref().filter(is_level) {
            any += 1;
            let conductivity = record.conductivity.as_ref().unwrap();
            for (name, got, expected) in [
                ("D", conductivity.drude_weight, case.drude),
                ("K", conductivity.kinetic_energy, case.kinetic),
                ("J", conductivity.current, case.current),
                ("regular", conductivity.regular_weight, case.regular),
            ] {
                assert!((got - expected).abs() < 1e-8, "{id}: {name} {got} for {expected}");
            }
            let poles: Vec<[f64; 2]> =
                record.curves[0].poles.iter().copied().filter(|[_, weight]| *weight > 1e-9).collect();
            assert_eq!(poles.len(), case.poles.len(), "{id}: {poles:?}");
            for ([at, weight], [expected_at, expected_weight]) in poles.iter().zip(&case.poles) {
                assert!((at - expected_at).abs() < 1e-8 && (weight - expected_weight).abs() < 1e-8, "{id} at {at}");
            }
            // ∫ Re σ dω from 0 is half of the regular part's, but for the tails of the poles.
            let area: f64 = conductivity.curve.iter().sum::<f64>() * 0.01;
            let regular = std::f64::consts::PI / *sites as f64 * case.regular;
            assert!((area - regular).abs() < 0.02 * regular.max(1e-9), "{id}: {area} for {regular}");
            assert!(record.converged, "{id}: {:?}", record.warnings);
        }
        assert_eq!(any, if case.periodic { 2 } else { 1 }, "{id}: the level was in no sector of momentum");
    }
}

/// Open clusters have no D, whatever carries the charge; here a chain finds the level again by rounding.
#[test]
fn open_chains_conduct_nothing_at_rest() {
    for model in [
        "name = \"xxz\"\njxy = 1.25\njz = 0.6\n[lattice]\nkind = \"chain\"\nsize = 6\n[sector]\ntwo_sz = 0\n",
        "name = \"terms\"\nsite = \"boson 2\"\nH = \"sum(<i, j> in bonds; -(bdag(i) * b(j) + h.c.)) + sum(i in sites; n(i) * n(i))\"\n\
         [lattice]\nkind = \"chain\"\nsize = 4\n[sector]\nbosons = 3\n",
        "name = \"terms\"\nsite = \"spinless\"\nH = \"sum(<i, j> in bonds; -1.2 * (cdag(i) * c(j) + h.c.) + 0.5 * n(i) * n(j))\"\n\
         [lattice]\nkind = \"chain\"\nsize = 5\n[sector]\nparticles = 2\n",
    ] {
        let found = of_file(&format!(
            "[model]\n{model}[spectrum]\nof = \"current\"\nomega = {{ from = 0.0, to = 5.0, points = 5 }}\n"
        ));
        let conductivity = found.conductivity.unwrap();
        assert!(conductivity.kinetic_energy < -0.5 && conductivity.drude_weight.abs() < 1e-9, "{conductivity:?}");
    }
}

/// "dimer" is the text that says the same, along either direction.
#[test]
fn dimers_are_products_along_bonds() {
    let head = "[model]\nname = \"heisenberg\"\nj = 1.0\n[lattice]\nkind = \"square\"\nsize = [4, 2]\n\
                boundary = [\"periodic\", \"open\"]\n[sector]\ntwo_sz = 0\n[spectrum]\n\
                omega = { from = 0.0, to = 6.0, points = 7 }\nq = [[1, 0], [2, 0]]\n";
    for (keys, text) in [
        ("", "sum(y in 0..2, x in 0..4; phase(x + 4 * y) * sdots(x + 4 * y, (x + 1) % 4 + 4 * y))"),
        ("direction = [0.0, 2.0]\n", "sum(i in 0..4; phase(i) * sdots(i, i + 4))"),
    ] {
        let [named, written] = [format!("of = \"dimer\"\n{keys}"), format!("of = \"{text}\"\n")]
            .map(|keys| of_file(&format!("{head}{keys}")));
        for (a, b) in named.curves.iter().zip(&written.curves) {
            assert!(a.moments[0] > 0.01 && (a.moments[0] - b.moments[0]).abs() < 1e-10);
            assert!(a.curve.iter().zip(&b.curve).all(|(a, b)| (a - b).abs() < 1e-8));
        }
    }
}
