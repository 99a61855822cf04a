//! `[dmrg]` beside `[ci]`: the orbitals of a molecule as a chain.
//!
//! In: both sections, and the FCIDUMP file. Out: a [`DmrgFile`] whose sites are the active orbitals, whose H is that of their integrals, core
//! energy included, and whose charges are N↑, N↓ and, if the file names one, the irrep. Without `order` the orbitals stand by the Fiedler
//! vector of their exchange integrals |(pq|qp)|. `fcidump` in `[model]` of `terms` comes to the same, with sites for orbitals.

use super::dmrg::SiteNumbers;
use super::problem::Wrong;
use super::section::{Problems, Section, Source};
use super::terms::ImportedIntegrals;
use super::{
    DmrgFile, ModelFile, ModelSpec, ObservablesSpec, OutputSpec, SolveSpec, TermsSpec, ci, dmrg, observables,
    resolve_path, solve,
};
use crate::basis::Sector;
use crate::ci::{
    CiBasis, CiSpec, FcidumpHeader, Integrals, OneElectron, OrbitalSymmetry, OrbitalWindow, SpaceSpec, Storage,
    TwoBodyElements, electrons, pair,
};
use crate::dmrg::{Chain, DmrgError, Mode, Options, SiteIrreps, fiedler_order, pair_densities};
use crate::lattice::Lattice;
use crate::observable::{Names, Observable, one_body};
use crate::operator::{Charge, Operator, SiteKind, build};
use std::collections::BTreeMap;

/// The most orbitals of a chain: H has some 1.5 N⁴ terms of 130 bytes, 0.2 GB.
const MOST_ORBITALS: usize = 30;
/// Integrals below this, in Hartree or in parts of the largest if that is less, are left out of H.
const SMALLEST: f64 = 1e-14;

/// Keys whose errors are found when the integrals are read.
const PLACED: [&str; 7] = ["fcidump", "two_sz", "frozen", "orbitals", "active", "irrep", "dipole"];

/// Noise of the first sweeps where the file has none: with that of lattices N2 in 26 orbitals stays 0.03 Hartree above (m = 150).
const NOISE: [f64; 5] = [1e-2, 1e-3, 1e-3, 1e-4, 1e-5];

/// The observable of the total spin.
pub(crate) const S_SQUARED: &str = "orbital_chain_s_squared";
/// The observable of the elements of the two-particle density matrix.
pub(crate) const TWO_BODY: &str = "orbital_chain_two_body";

/// What a chain of orbitals knows of its molecule.
#[derive(Debug, Clone)]
pub(crate) struct OrbitalChain {
    /// `[ci]`, its paths taken from the folder of the file.
    pub(crate) ci: CiSpec,
    /// The numbers of the active orbitals in `order`: those of the FCIDUMP file, or of sites.
    pub(crate) numbers: Vec<usize>,
    /// The integrals of the active orbitals, without those that were left out of H.
    pub(crate) integrals: Integrals,
    /// Which orbitals of the FCIDUMP file these are.
    pub(crate) window: OrbitalWindow,
    /// Irreps of the file's orbitals.
    pub(crate) symmetry: OrbitalSymmetry,
    /// The irrep of the states, from 1, if the file names one.
    pub(crate) irrep: Option<u8>,
    /// Components of the dipole over all orbitals, if their integrals are given.
    pub(crate) dipole: Option<Vec<OneElectron>>,
    /// Σ |h_pq| + Σ |(pq|rs)| of the integrals that were left out of H.
    pub(crate) dropped: f64,
}

impl OrbitalChain {
    /// Reads the integrals and freezes and deletes orbitals.
    ///
    /// # Errors
    /// The key that is wrong, and what is wrong with the file, the orbitals, the electrons or the irrep.
    fn read(ci: CiSpec) -> Result<OrbitalChain, (&'static str, String)> {
        fn wrong<E: std::fmt::Display>(key: &'static str) -> impl Fn(E) -> (&'static str, String) {
            move |error| (key, error.to_string())
        }
        let header = FcidumpHeader::read(&ci.fcidump).map_err(wrong("fcidump"))?;
        if header.unrestricted {
            let what = format!(
                "a chain of orbitals needs one set of orbitals for both spins, found unrestricted ones (IUHF=1) in {}: leave [dmrg] out to \
                 solve it by determinants",
                ci.fcidump.display()
            );
            return Err(("fcidump", what));
        }
        let rest = || ci.orbitals.unwrap_or(header.orbitals.saturating_sub(ci.frozen));
        let active = ci.active.as_ref().map_or_else(rest, Vec::len);
        if active > MOST_ORBITALS && active <= header.orbitals {
            return Err((
                "fcidump",
                format!(
                    "a chain has at most {MOST_ORBITALS} orbitals, found {active} of the {} in {}: freeze the lowest with `frozen`, and \
                 keep fewer with `orbitals`",
                    header.orbitals,
                    ci.fcidump.display()
                ),
            ));
        }
        let (mut integrals, symmetry) = Integrals::read_with(&ci.fcidump, ci.symmetry).map_err(wrong("fcidump"))?;
        let number = |irrep| symmetry.number(irrep).map_err(wrong("irrep"));
        let irrep = ci.irrep.as_ref().map(number).transpose()?;
        if let Some(two_sz) = ci.two_sz {
            integrals = integrals.with_two_sz(two_sz).map_err(wrong("two_sz"))?;
        }
        let key = match (&ci.active, ci.orbitals) {
            (Some(_), _) => "active",
            (None, Some(_)) if ci.frozen == 0 => "orbitals",
            _ => "frozen",
        };
        let window = ci.window(integrals.orbitals, integrals.spins()).map_err(wrong(key))?;
        integrals = integrals.in_window(&window);
        if irrep.is_some() && integrals.irreps.is_empty() {
            let path = ci.fcidump.display();
            let what = format!("an irrep needs those of the orbitals, found no ORBSYM in {path}: leave `irrep` out");
            return Err(("irrep", what));
        }
        if irrep.is_some() {
            integrals.check_irreps(&integrals.irreps).map_err(wrong("irrep"))?;
        }
        if integrals.orbitals < 3 {
            let what = format!(
                "a chain has at least 3 orbitals, found {}: leave [dmrg] out to diagonalise the molecule exactly",
                integrals.orbitals
            );
            return Err(("fcidump", what));
        }
        let read = |path| OneElectron::read_dipole(path, window.all, false).map_err(wrong("dipole"));
        let dipole = ci.dipole.as_ref().map(read).transpose()?;
        let dropped = drop_small(&mut integrals, irrep.is_some());
        let numbers = window.active.iter().map(|orbital| orbital + 1).collect();
        Ok(OrbitalChain { numbers, ci, integrals, window, symmetry, irrep, dipole, dropped })
    }

    /// The molecule of a model that is an FCIDUMP file alone, in a sector of N↑ and N↓.
    pub(super) fn from_terms(model: &ModelFile) -> Option<OrbitalChain> {
        let ModelSpec::Terms(terms) = &model.model else { return None };
        let ImportedIntegrals { path, keys, symmetry, integrals } = &**terms.integrals.as_ref()?;
        let numbers = model.sector.charge_values();
        let number = |wanted: Charge| numbers.iter().find(|(charge, _)| *charge == wanted).map(|(_, number)| *number);
        let (up, down) = (number(Charge::Up)?, number(Charge::Down)?);
        let electrons = usize::try_from(up + down).ok().filter(|_| integrals.orbitals >= 3)?;
        let ci = CiSpec {
            fcidump: path.clone(),
            space: SpaceSpec::Full,
            basis: CiBasis::Determinants,
            two_s: None,
            frozen: 0,
            orbitals: None,
            active: None,
            two_sz: Some(up - down),
            irrep: None,
            symmetry: *keys,
            storage: Storage::Auto,
            format: None,
            dipole: None,
            density: false,
            transitions: false,
            averages: true,
        };
        Some(OrbitalChain {
            numbers: (0..integrals.orbitals).collect(),
            ci,
            integrals: Integrals { electrons, two_sz: up - down, ..integrals.clone() },
            window: OrbitalWindow::lowest(integrals.orbitals, 0, None, (0, 0)).ok()?,
            symmetry: symmetry.clone(),
            irrep: None,
            dipole: None,
            dropped: 0.0,
        })
    }

    /// Number of active orbitals.
    pub(crate) fn orbitals(&self) -> usize {
        self.integrals.orbitals
    }

    /// Orbitals, electrons and irrep in words.
    pub(crate) fn describe(&self) -> String {
        let (up, down) = self.integrals.spins();
        let irrep = self.irrep.map_or(String::new(), |irrep| format!(", irrep {}", self.symmetry.label(irrep)));
        format!("{up} + {down} electrons in {} orbitals{irrep}{}", self.orbitals(), self.window.describe())
    }

    /// The section that names the molecule.
    pub(crate) fn section(&self) -> &'static str {
        if self.numbers.first() == Some(&0) { "terms" } else { "ci" }
    }

    /// The numbers of active orbitals as in `order`.
    pub(crate) fn numbers(&self, orbitals: &[usize]) -> Vec<usize> {
        orbitals.iter().map(|orbital| self.numbers[*orbital]).collect()
    }

    /// |(pq|qp)| of each pair.
    fn exchange(&self) -> Vec<Vec<f64>> {
        let n = self.orbitals();
        (0..n).map(|p| (0..n).map(|q| self.integrals.two(p, q, q, p).abs()).collect()).collect()
    }

    /// H along the chain; `order` is that of `[dmrg]`.
    pub(super) fn chain(
        &self,
        operator: &Operator,
        sector: Sector,
        order: Option<&[usize]>,
    ) -> Result<Chain, DmrgError> {
        let order = match order {
            Some(order) => {
                let place = |number: &usize| self.numbers.iter().position(|own| own == number);
                // What is none of them has been refused.
                order.iter().filter_map(place).collect()
            }
            None => fiedler_order(&self.exchange())?,
        };
        match self.irrep {
            None => Chain::new(operator, sector, Some(order)),
            Some(irrep) => {
                let sites = self.integrals.irreps.iter().map(|irrep| irrep - 1).collect();
                Chain::with_irreps(operator, sector, Some(order), SiteIrreps { sites, total: irrep - 1 })
            }
        }
    }

    /// The noise of a run where the file has none; the last two sweeps are clean.
    pub(super) fn usual_noise(sweeps: usize) -> Vec<f64> {
        NOISE.into_iter().take(sweeps.saturating_sub(2)).collect()
    }

    /// The observables from which the spin, entropies and density matrices follow.
    pub(super) fn observables(&self, options: &Options) -> Vec<Observable> {
        let n = self.orbitals();
        if !self.ci.averages {
            return Vec::new();
        }
        let spin = (0..n * n).map(|k| build::electron_sdots(k / n, k % n)).sum();
        let mut list = vec![Observable::scalar(S_SQUARED, spin)];
        list.extend(pair_densities(n));
        if !options.correlations {
            list.extend(one_body(&vec![SiteKind::Electrons; n]));
        }
        if self.ci.density {
            list.push(TwoBodyElements::new(n).observable(TWO_BODY));
        }
        list
    }
}

/// Sets integrals to 0 that are below [`SMALLEST`] or, if irreps are conserved, forbidden; returns the sum of their magnitudes.
fn drop_small(integrals: &mut Integrals, irreps: bool) -> f64 {
    let n = integrals.orbitals;
    let irrep = |p: usize| if irreps { integrals.irreps[p] - 1 } else { 0 };
    let pairs: Vec<(usize, u8)> =
        (0..n).flat_map(|p| (0..=p).map(move |q| (p, q))).map(|(p, q)| (pair(p, q), irrep(p) ^ irrep(q))).collect();
    let (mut dropped, smallest) = (0.0, SMALLEST * integrals.unit().min(1.0));
    let mut check = |value: &mut f64, allowed: bool| {
        if value.abs() < smallest || !allowed {
            dropped += value.abs();
            *value = 0.0;
        }
    };
    for (pq, own) in &pairs {
        check(&mut integrals.one[*pq], *own == 0);
        for (rs, other) in pairs.iter().take_while(|(rs, _)| rs <= pq) {
            check(&mut integrals.two[pair(*pq, *rs)], own == other);
        }
    }
    dropped
}

/// Reads a file with both sections.
pub(super) fn collect(
    file: Section<'_>,
    name: &str,
    Source { text, folder }: Source<'_>,
    problems: &Problems,
) -> Option<DmrgFile> {
    let why = "[ci] names the Hamiltonian and the electrons: leave it out";
    let others = ["model", "lattice", "sector", "symmetry", "parameters", "su3"];
    file.refuse_others("ci", &others, why);
    let why = "it is made of exact states: leave it out, or leave [dmrg] out to diagonalise exactly";
    file.refuse_others("dmrg", &["entanglement", "spectrum", "thermal", "evolve"], why);
    file.refuse_others("dmrg", &["solve"], "[dmrg] has its own keys for what [solve] sets for a diagonalisation");
    let section = file.open("ci")?;
    let place = section.place("fcidump");
    let places = PLACED.map(|key| (key, section.place(key)));
    let spec = ci::read(section, true);
    let observables = file
        .open("observables")
        .map_or_else(ObservablesSpec::default, |section| observables::collect(section, problems));
    let output = file.open("output").map_or_else(OutputSpec::default, solve::read_output);
    let section = file.open("dmrg");
    let orbitals = spec.filter(|_| problems.is_empty()).and_then(|(mut ci, _)| {
        ci.fcidump = resolve_path(folder, &ci.fcidump);
        if let Some(path) = &mut ci.dipole {
            *path = resolve_path(folder, path);
        }
        match OrbitalChain::read(ci) {
            Ok(orbitals) => Some(orbitals),
            Err((key, message)) => {
                let places = places.iter().find(|(known, _)| *known == key);
                let place = places.map_or_else(|| place.clone(), |(_, own)| own.clone());
                problems.add(place, Wrong::Value { key, message });
                None
            }
        }
    });
    let of = |found: &OrbitalChain| SiteNumbers { numbers: found.numbers.clone(), what: "orbital" };
    let numbers = orbitals.as_ref().map(of);
    let mode = section.as_ref().map_or(0..0, |section| section.place("mode"));
    let dmrg = section.map(|section| dmrg::read(section, numbers, folder));
    if dmrg.as_ref().is_some_and(|dmrg| dmrg.options.mode == Mode::Infinite) {
        let (expected, found) = ("\"finite\", since orbitals repeat nowhere".into(), "\"infinite\"".into());
        problems.add(mode, Wrong::OutOfRange { key: "mode".into(), expected, found });
    }
    file.finish("section", |_| None);
    let (orbitals, dmrg) = (orbitals?, dmrg?);
    let mut model = model(&orbitals, name, text, (observables, output))
        .map_err(|message| problems.add(place, Wrong::Hamiltonian(message)))
        .ok()?;
    let names = Names::new(vec![SiteKind::Electrons; orbitals.orbitals()], None, Vec::new());
    model.observed = model.observables.read(&names, text, problems);
    Some(DmrgFile { model, dmrg, orbitals: Some(orbitals) })
}

/// The operator of the integrals on sites without bonds.
fn model(
    orbitals: &OrbitalChain,
    name: &str,
    text: &str,
    (observables, output): (ObservablesSpec, OutputSpec),
) -> Result<ModelFile, String> {
    let n = orbitals.orbitals();
    let sites = vec![SiteKind::Electrons; n];
    let mut operator = Operator::zero().on_kinds(&sites);
    operator.add_terms(electrons(&orbitals.integrals), 1.0);
    let file = orbitals.ci.fcidump.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let line = format!("the integrals of {file}");
    let (up, down) = orbitals.integrals.spins();
    let terms = TermsSpec {
        sites,
        text: None,
        parameters: BTreeMap::new(),
        terms: vec![line],
        sector: Vec::new(),
        charges: Vec::new(),
        integrals: None,
        operator: operator + Operator::zero(),
    };
    Ok(ModelFile {
        name: name.into(),
        text: text.into(),
        model: ModelSpec::Terms(Box::new(terms)),
        lattice: Lattice::from_edges(n, &[]).map_err(|error| error.to_string())?,
        sector: Sector::Charges(vec![(Charge::Up, up as i64), (Charge::Down, down as i64)]),
        symmetry: None,
        solve: SolveSpec::default(),
        observables,
        observed: Vec::new(),
        entanglement: None,
        spectrum: None,
        thermal: None,
        evolve: None,
        driven: None,
        output,
    })
}
