//! Evolutions beside those of dense diagonalisation and of a Runge–Kutta integrator of the eighth order (tests/data/evolution).
//!
//! Each case is a model file: starts that are products of local states or ground states of another file, constant H, a field that is a function of
//! time, a vector potential. Observables, energy, overlap and entropies to 1e-8, with a tolerance of 1e-9; under H(t) to 1e-7 up to t = 2, since
//! many short steps take long.

use super::cases::read;
use eigenforge::evolve::{EvolutionRecord, evolution};
use eigenforge::input::InputFile;
use eigenforge::problem::run::{RunContext, Silent};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

#[derive(Deserialize)]
struct File {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    id: String,
    #[serde(rename = "N")]
    sites: usize,
    #[serde(default = "one", rename = "twoS")]
    two_s: u32,
    edges: Vec<Vec<f64>>,
    #[serde(default)]
    start_edges: Vec<Vec<f64>>,
    #[serde(default)]
    start_hx: Vec<f64>,
    #[serde(default)]
    ramp: Option<[f64; 2]>,
    #[serde(default)]
    product: Vec<u64>,
    #[serde(default, rename = "U")]
    u: f64,
    #[serde(default, rename = "start_U")]
    start_u: f64,
    #[serde(default)]
    up: usize,
    #[serde(default)]
    dn: usize,
    #[serde(default, rename = "A0")]
    a0: Option<f64>,
    #[serde(default)]
    t0: f64,
    #[serde(default)]
    sigma: f64,
    #[serde(default, rename = "Omega")]
    omega: f64,
    times: Vec<f64>,
    rows: Vec<BTreeMap<String, serde_json::Value>>,
}

fn one() -> u32 {
    1
}

impl Case {
    /// Of a product of spins 2Sz, of the other cases none: [`Case::spins`] is in all states there.
    fn two_sz(&self) -> Option<i64> {
        if self.ramp.is_some() {
            return None;
        }
        Some(self.product.iter().map(|level| 2 * *level as i64 - i64::from(self.two_s)).sum())
    }

    /// Σ Jxy/2 (e^(iφ) S⁺_i S⁻_j + h.c.) + Jz Sz_i Sz_j, plus `field` Σ Sx.
    fn spins(&self, edges: &[Vec<f64>], field: Option<String>) -> String {
        let bond = |edge: &Vec<f64>| {
            let (i, j) = (edge[0], edge[1]);
            let phase = edge.get(4).copied().unwrap_or(0.0);
            let (re, im) = (0.5 * edge[2] * phase.cos(), 0.5 * edge[2] * phase.sin());
            let turned = if im == 0.0 {
                format!("({re:?}) * (sp({i}) * sm({j}) + sm({i}) * sp({j}))")
            } else {
                format!("({re:?} + I * ({im:?})) * sp({i}) * sm({j}) + ({re:?} - I * ({im:?})) * sm({i}) * sp({j})")
            };
            format!("({:?}) * sz({i}) * sz({j}) + {turned}", edge[3])
        };
        let mut terms: Vec<String> = edges.iter().map(bond).collect();
        terms.extend(field.as_ref().map(|_| "sum(i in sites; g * sx(i))".to_string()));
        let parameters = field.map_or(String::new(), |field| format!("[parameters]\ng = {field}\n"));
        let sector = self.two_sz().map_or(String::new(), |two_sz| format!("[sector]\ntwo_sz = {two_sz}\n"));
        let site = if self.two_s == 1 { "spin 1/2" } else { "spin 1" };
        format!(
            "[model]\nname = \"terms\"\nsite = \"{site}\"\nH = \"{}\"\n{parameters}[lattice]\nsites = {}\nedges = [[0, 1]]\n{sector}",
            terms.join(" + "),
            self.sites
        )
    }

    fn electrons(&self, u: f64) -> String {
        let lattice = match self.a0 {
            Some(_) => format!("kind = \"chain\"\nsize = {}\nboundary = \"open\"", self.sites),
            None => {
                let edges: Vec<String> = self.edges.iter().map(|edge| format!("[{}, {}]", edge[0], edge[1])).collect();
                format!("sites = {}\nedges = [{}]", self.sites, edges.join(", "))
            }
        };
        format!(
            "[model]\nname = \"hubbard\"\nt = 1.0\nu = {u:?}\n[lattice]\n{lattice}\n[sector]\nup = {}\ndown = {}\n",
            self.up, self.dn
        )
    }

    /// The model file, and that of its start if it has one.
    fn files(&self) -> (String, Option<String>) {
        let precise = "[solve]\ntolerance = 1e-13\n";
        let (model, before) = match self.up {
            0 => {
                let ramp = self.ramp.map(|[from, rate]| format!("\"{from:?} + {rate:?} * time\""));
                let start = (!self.start_edges.is_empty())
                    .then(|| self.spins(&self.start_edges, self.start_hx.first().map(|field| format!("{field:?}"))));
                (self.spins(&self.edges, ramp), start)
            }
            _ => (self.electrons(self.u), Some(self.electrons(self.start_u))),
        };
        let observables = match self.up {
            0 => "[observables]\nSz_0 = \"sz(0)\"\nSz_2 = \"sz(2)\"\nSz_4 = \"sz(4)\"\nSz_5 = \"sz(SITE)\"\nSx_0 = \"sx(0)\"\nSzSz_0_1 = \"sz(0) * sz(1)\"\n"
                .replace("SITE", &5.min(self.sites - 1).to_string()),
            _ => {
                let hops: Vec<String> = self
                    .edges
                    .iter()
                    .flat_map(|edge| ["Up", "Down"].map(|s| format!("cdag({1}, {s}) * c({0}, {s})", edge[0], edge[1])))
                    .collect();
                let forth = hops.join(" + ");
                format!(
                    "[observables]\ndoublons = \"sum(i in sites; n(i, Up) * n(i, Down))\"\ndensity = \"n(0)\"\n\
                     flow = \"I * ({forth}) + h.c.\"\nkinetic = \"{forth} + h.c.\"\n"
                )
            }
        };
        let names = if self.up == 0 {
            "[\"energy\", \"Sz_0\", \"Sz_2\", \"Sz_4\", \"Sz_5\", \"Sx_0\", \"SzSz_0_1\"]"
        } else {
            "[\"energy\", \"doublons\", \"density\", \"flow\", \"kinetic\"]"
        };
        let start = match before {
            Some(_) => "{ model = \"before.toml\" }".to_string(),
            None => format!("{{ levels = {:?} }}", self.product),
        };
        let potential = self.a0.map_or(String::new(), |a0| {
            let Case { omega, t0, sigma, .. } = self;
            format!("vector_potential = {{ form = \"pulse\", a0 = {a0:?}, omega = {omega:?}, t0 = {t0:?}, width = {sigma:?} }}\n")
        });
        let text = format!(
            "{model}{observables}[evolve]\nstart = {start}\nuntil = {:?}\ntimes = {:?}\ntolerance = {:?}\nrecord = {names}\nentropy = {:?}\n{potential}",
            self.times.last().unwrap(),
            self.times,
            self.tolerance(),
            self.subsets()
        );
        (text, before.map(|before| before + precise))
    }

    fn depends_on_time(&self) -> bool {
        self.ramp.is_some() || self.a0.is_some()
    }

    fn tolerance(&self) -> f64 {
        if self.depends_on_time() { 1e-7 } else { 1e-9 }
    }

    /// The sets of sites whose entropies are in the table.
    fn subsets(&self) -> Vec<Vec<usize>> {
        let names = self.rows[0].keys().filter_map(|name| name.strip_prefix("S_"));
        names.map(|name| name.split('_').map(|site| site.parse().unwrap()).collect()).collect()
    }

    fn run(&self) -> EvolutionRecord {
        let folder = tempfile::tempdir().unwrap();
        let (text, before) = self.files();
        if let Some(before) = before {
            std::fs::write(folder.path().join("before.toml"), before).unwrap();
        }
        let path = folder.path().join("model.toml");
        std::fs::write(&path, &text).unwrap();
        evolved(&path).unwrap_or_else(|error| panic!("{}: {error:?}\n{text}", self.id))
    }
}

fn evolved(path: &Path) -> Result<EvolutionRecord, eigenforge::Error> {
    let InputFile::Lattice(file) = InputFile::read_evolving(path)? else { panic!("a lattice model") };
    evolution(*file, &RunContext::new(Instant::now(), "cpu", Arc::new(Silent)))
}

fn check(name: &str) {
    for mut case in read::<File>(name).cases {
        if case.depends_on_time() {
            case.times.retain(|time| *time <= 2.0);
            case.rows.truncate(case.times.len());
        }
        let found = case.run();
        assert!(
            found.converged && found.bound <= case.tolerance(),
            "{}: {:e} {:?}",
            case.id,
            found.bound,
            found.warnings
        );
        assert_eq!(found.times, case.times, "{}", case.id);
        let value = |name: &str, place: usize| {
            let averages = found.averages.iter().find(|averages| averages.name == name).unwrap();
            averages.values[place].values()[0]
        };
        let most = if case.depends_on_time() { 1e-7 } else { 1e-8 };
        let mut compared = 0;
        for (place, row) in case.rows.iter().enumerate() {
            let a = row.get("A").and_then(serde_json::Value::as_f64).unwrap_or(0.0);
            for (key, wanted) in row {
                let got = match key.as_str() {
                    "t" | "A" => continue,
                    "energy" => found.energy[place],
                    "loschmidt_echo" => found.echo[place],
                    "overlap_re_im" => {
                        let [re, im] = [0, 1].map(|part| wanted[part].as_f64().unwrap());
                        let [own_re, own_im] = found.overlap[place];
                        assert!((re - own_re).abs() < most && (im - own_im).abs() < most, "{}: {key} {row:?}", case.id);
                        continue;
                    }
                    "double_occupancy_per_site" => value("doublons", place) / case.sites as f64,
                    "n_0" => value("density", place),
                    // −∂H/∂A of −Σ (e^(iA) c†_j c_i + h.c.).
                    "current" => a.cos() * value("flow", place) - a.sin() * value("kinetic", place),
                    entropy if entropy.starts_with("S_") => {
                        found.entropies.iter().find(|own| own.name() == entropy).unwrap().values[place]
                    }
                    name => value(name, place),
                };
                let wanted = wanted.as_f64().unwrap();
                let most = if key.starts_with("S_") { 3.0 * most } else { most };
                assert!((got - wanted).abs() < most, "{}, t = {}: {key} = {got}, {wanted}", case.id, case.times[place]);
                compared += 1;
            }
        }
        assert!(compared >= 30, "{}: {compared} numbers", case.id);
    }
}

#[test]
fn spins_evolve_as_by_dense_diagonalisation() {
    check("evolution/spins.json");
}

#[test]
fn electrons_evolve_as_by_dense_diagonalisation() {
    check("evolution/electrons.json");
}
