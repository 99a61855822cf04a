//! XDiag's interaction files (A. Wietek et al., arXiv:2505.02901; `read_opsum` and "Operator types" of its documentation, version 0.5).
//!
//! In: TOML with `Interactions = [["J1", "SdotS", 0, 1], [0.5, "Sz", 2], …]` and, if need be, `[Params]`; or the older lattice files with
//! a header `[Interactions]=N` and lines `HB J1 0 1`. A coupling is a number, `[re, im]`, or a name that stands in `[parameters]` of the
//! model file or in `Params`; the type may stand before it, where only one of the two is a type. Out: the sum of couplings times operators. Sites count from 0. Everything else in the file (coordinates,
//! symmetries) is left aside.
//!
//! | type | meaning | sites |
//! |---|---|---|
//! | `SdotS`, `SzSz` | S_i · S_j, Sz_i Sz_j | spins, electrons, t-J |
//! | `Exchange`, `ExchangeAsym` | ½ (S+_i S−_j ± S−_i S+_j) | the same |
//! | `Sx Sy Sz S+ S-` | of one site | the same |
//! | `ScalarChirality` | S_i · (S_j × S_k) | spins |
//! | `Hop` | −Σ (c†_i c_j + c†_j c_i) of all species; of bosons −(a†_i a_j + a†_j a_i) | electrons, t-J, spinless, bosons |
//! | `Hopup`, `Hopdn` | the same of one species | electrons, t-J |
//! | `HopAsym`, `HopupAsym`, `HopdnAsym` | with the second term's sign reversed | as these |
//! | `N`, `NN` | n_i, n_i n_j | spinless; `N` also bosons |
//! | `Nup Ndn Ntot Nupdn` | n_i↑, n_i↓, n_i, n_i↑ n_i↓ | electrons, t-J |
//! | `NtotNtot NupNup NupNdn NdnNup NdnNdn NupdnNupdn` | their products on i and j | the same |
//! | `tJSdotS`, `tJSzSz` | S_i · S_j − n_i n_j / 4, Sz_i Sz_j − n_i n_j / 4 | the same |
//! | `HubbardU` | Σ_i n_i↑ n_i↓; of bosons ½ Σ_i n_i (n_i − 1) | electrons, bosons |
//! | `TotalSz TotalN TotalNup TotalNdn`, `Id` | sums over all sites; 1 | those with them |
//! | `HB`, `ISING` (older files) | `SdotS`, `SzSz` | |

use crate::observable::{Names, ParameterValue};
use crate::operator::{Carrier, Operator, SiteKind, build};
use std::collections::BTreeMap;
use toml::Value;

/// Numbers by their names.
type Couplings = BTreeMap<String, (f64, f64)>;

/// The operator of a text, and the number of its interactions.
///
/// # Errors
/// What was expected and what was found, with the entry.
pub(super) fn read(text: &str, kinds: &[SiteKind], names: &Names<'_>) -> Result<(Operator, usize), String> {
    let (entries, mut couplings) = match text.lines().any(|line| line.trim_start().starts_with("[Interactions]=")) {
        true => (older(text)?, Couplings::new()),
        false => newer(text)?,
    };
    for (name, parameter) in names.parameters() {
        if let ParameterValue::One(value) = parameter {
            couplings.insert(name.into(), (*value, 0.0));
        }
    }
    let named = entries.iter().flat_map(|entry| entry.iter().take(2)).filter_map(Value::as_str);
    named.for_each(|name| names.note(name));
    let mut sum = Operator::zero();
    for (number, entry) in entries.iter().enumerate() {
        let wrong = |why: String| format!("interaction {number}, {}: {why}", short(entry));
        let (coupling, name, sites) = match entry.as_slice() {
            // The order of lattice files, ["HB", "J1", 0, 5].
            [Value::String(name), coupling, sites @ ..] if is_type(name) && !coupling.as_str().is_some_and(is_type) => {
                (coupling, name, sites)
            }
            [coupling, Value::String(name), sites @ ..] => (coupling, name, sites),
            _ => {
                return Err(wrong(
                    "expected a coupling, a type of operator and sites, such as [\"J1\", \"SdotS\", 0, 1]".into(),
                ));
            }
        };
        let (re, im) = number_of(coupling, &couplings).map_err(&wrong)?;
        if sites.iter().any(Value::is_array) {
            return Err(wrong("operators given by a matrix are not read".into()));
        }
        let site = |value: &Value| {
            let site =
                value.as_integer().and_then(|site| usize::try_from(site).ok()).filter(|site| *site < kinds.len());
            site.ok_or_else(|| format!("expected a site from 0 to {}, found {value}", kinds.len() - 1))
        };
        let sites = sites.iter().map(site).collect::<Result<Vec<usize>, String>>().map_err(&wrong)?;
        let product = Sites(kinds).operator(name, &sites).map_err(&wrong)?;
        sum.add_terms(re * product.clone(), 1.0);
        sum.add_terms(im * product.times_i(), 1.0);
    }
    Ok((sum, entries.len()))
}

/// The interactions of a TOML file, and its `Params`.
fn newer(text: &str) -> Result<(Vec<Vec<Value>>, Couplings), String> {
    let mut table: toml::Table = toml::from_str(text).map_err(|error| format!("not TOML: {}", error.message()))?;
    let Some(Value::Array(list)) = table.remove("Interactions") else {
        return Err("expected a list `Interactions = [[\"J1\", \"SdotS\", 0, 1], …]`, found none".into());
    };
    let entry = |(number, value): (usize, Value)| match value {
        Value::Array(entry) => Ok(entry),
        other => Err(format!("interaction {number}: expected a list, found {other}")),
    };
    let entries = list.into_iter().enumerate().map(entry).collect::<Result<Vec<_>, String>>()?;
    let mut couplings = Couplings::new();
    if let Some(Value::Table(params)) = table.remove("Params") {
        for (name, value) in params {
            let number = number_of(&value, &Couplings::new()).map_err(|why| format!("`{name}` of Params: {why}"))?;
            couplings.insert(name, number);
        }
    }
    Ok((entries, couplings))
}

/// The lines of an older lattice file, in the order of the newer ones.
fn older(text: &str) -> Result<Vec<Vec<Value>>, String> {
    let mut lines = text.lines().map(str::trim).skip_while(|line| !line.starts_with("[Interactions]="));
    let header = lines.next().unwrap_or_default();
    let expected: usize = header["[Interactions]=".len()..]
        .trim()
        .parse()
        .map_err(|_| format!("expected [Interactions]=N, found `{header}`"))?;
    let mut entries = Vec::new();
    for line in
        lines.take_while(|line| !line.starts_with('[')).filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, coupling, sites @ ..] = words.as_slice() else {
            return Err(format!("expected a line such as `HB J1 0 1`, found `{line}`"));
        };
        let word = |word: &&str| word.parse::<i64>().map_or_else(|_| Value::String(word.to_string()), Value::Integer);
        let coupling = coupling.parse::<f64>().map_or_else(|_| Value::String(coupling.to_string()), Value::Float);
        let start = [coupling, Value::String((*name).into())];
        entries.push(start.into_iter().chain(sites.iter().map(word)).collect());
    }
    match entries.len() == expected {
        true => Ok(entries),
        false => Err(format!("expected {expected} lines after `{header}`, found {}", entries.len())),
    }
}

/// A number, [re, im], or the value of a name.
fn number_of(value: &Value, couplings: &Couplings) -> Result<(f64, f64), String> {
    let real =
        |value: &Value| value.as_float().or(value.as_integer().map(|whole| whole as f64)).filter(|v| v.is_finite());
    let found = match value {
        Value::String(name) => {
            return couplings.get(name).copied().ok_or_else(|| {
                format!(
                    "the coupling `{name}` has no value: write `{} = …` in [parameters], one real number",
                    key_of(name)
                )
            });
        }
        Value::Array(parts) => match parts.as_slice() {
            [re, im] => real(re).zip(real(im)),
            _ => None,
        },
        value => real(value).map(|number| (number, 0.0)),
    };
    found.ok_or_else(|| format!("expected a number, [re, im] or a name, found {value}"))
}

/// A name as a key of TOML.
fn key_of(name: &str) -> String {
    let is_bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
    if is_bare { name.into() } else { Value::String(name.into()).to_string() }
}

/// The type without its older name.
fn newer_name(name: &str) -> &str {
    match name {
        "HB" => "SdotS",
        "ISING" => "SzSz",
        other => other,
    }
}

/// Sites of a type of operator; `None` of an unknown type.
fn sites_of(name: &str) -> Option<usize> {
    Some(match newer_name(name) {
        "HubbardU" | "TotalSz" | "TotalN" | "TotalNup" | "TotalNdn" | "Id" => 0,
        "Sx" | "Sy" | "Sz" | "S+" | "S-" | "N" | "Nup" | "Ndn" | "Ntot" | "Nupdn" => 1,
        "ScalarChirality" => 3,
        "SdotS" | "SzSz" | "Exchange" | "ExchangeAsym" | "Hop" | "Hopup" | "Hopdn" | "HopAsym" | "HopupAsym"
        | "HopdnAsym" | "NN" | "NtotNtot" | "NupNup" | "NupNdn" | "NdnNup" | "NdnNdn" | "NupdnNupdn" | "tJSdotS"
        | "tJSzSz" => 2,
        _ => return None,
    })
}

fn is_type(name: &str) -> bool {
    sites_of(name).is_some()
}

/// What each site carries.
struct Sites<'a>(&'a [SiteKind]);

impl Sites<'_> {
    /// The operator of a type on some sites.
    fn operator(&self, name: &str, sites: &[usize]) -> Result<Operator, String> {
        let expected = sites_of(name).ok_or_else(|| {
            format!(
                "unknown type `{name}`; known are SdotS SzSz Exchange Sz Hop Hopup Hopdn HubbardU Nup Ndn NtotNtot tJSdotS tJSzSz \
                 ScalarChirality and those that docs/models.md lists"
            )
        })?;
        let name = newer_name(name);
        if sites.len() != expected {
            return Err(format!("`{name}` has {expected} sites, found {}", sites.len()));
        }
        let all = |word: &str| (0..self.0.len()).map(|site| self.word(word, site)).sum::<Result<Operator, String>>();
        match (name, sites) {
            ("Id", _) => Ok(build::scalar(1.0)),
            ("TotalSz", _) => all("Sz"),
            ("TotalN", _) => all("n"),
            ("TotalNup", _) => all("n_up"),
            ("TotalNdn", _) => all("n_dn"),
            ("HubbardU", _) => (0..self.0.len()).map(|site| self.repulsion(site)).sum(),
            ("Sx" | "Sy" | "Sz" | "S+" | "S-", [i]) => self.word(name, *i),
            ("N", [i]) => self.word("n", *i),
            ("Nup" | "Ndn" | "Ntot" | "Nupdn", [i]) => self.number(name, *i),
            ("SdotS", [i, j]) => self.dot(*i, *j),
            ("SzSz", [i, j]) => Ok(self.word("Sz", *i)? * self.word("Sz", *j)?),
            ("Exchange", [i, j]) => self.exchange(*i, *j, 1.0),
            ("ExchangeAsym", [i, j]) => self.exchange(*i, *j, -1.0),
            ("tJSdotS", [i, j]) => Ok(self.dot(*i, *j)? - 0.25 * self.pair("Ntot", "Ntot", *i, *j)?),
            ("tJSzSz", [i, j]) => {
                Ok(self.word("Sz", *i)? * self.word("Sz", *j)? - 0.25 * self.pair("Ntot", "Ntot", *i, *j)?)
            }
            ("NN", [i, j]) => Ok(self.word("n", *i)? * self.word("n", *j)?),
            ("NtotNtot", [i, j]) => self.pair("Ntot", "Ntot", *i, *j),
            ("NupNup", [i, j]) => self.pair("Nup", "Nup", *i, *j),
            ("NupNdn", [i, j]) => self.pair("Nup", "Ndn", *i, *j),
            ("NdnNup", [i, j]) => self.pair("Ndn", "Nup", *i, *j),
            ("NdnNdn", [i, j]) => self.pair("Ndn", "Ndn", *i, *j),
            ("NupdnNupdn", [i, j]) => self.pair("Nupdn", "Nupdn", *i, *j),
            ("ScalarChirality", [i, j, k]) => self.chirality([*i, *j, *k]),
            (hop, [i, j]) => {
                let sign = if hop.ends_with("Asym") { -1.0 } else { 1.0 };
                self.hop(hop.trim_end_matches("Asym"), *i, *j, sign)
            }
            _ => Err(format!("`{name}` has {expected} sites")),
        }
    }

    /// A word of a model file at a site.
    fn word(&self, word: &str, site: usize) -> Result<Operator, String> {
        let kind = self.0[site];
        let why = || format!("site {site} of kind \"{kind}\" has no `{word}`, but {}", kind.words());
        kind.operator(word, site).ok_or_else(why)
    }

    /// Nup, Ndn, Ntot or Nupdn.
    fn number(&self, name: &str, site: usize) -> Result<Operator, String> {
        let (up, down) = (self.word("n_up", site)?, self.word("n_dn", site)?);
        Ok(match name {
            "Nup" => up,
            "Ndn" => down,
            "Ntot" => up + down,
            _ => up * down,
        })
    }

    fn pair(&self, left: &str, right: &str, i: usize, j: usize) -> Result<Operator, String> {
        Ok(self.number(left, i)? * self.number(right, j)?)
    }

    fn dot(&self, i: usize, j: usize) -> Result<Operator, String> {
        Ok(self.exchange(i, j, 1.0)? + self.word("Sz", i)? * self.word("Sz", j)?)
    }

    /// ½ (S+ S− + sign · S− S+).
    fn exchange(&self, i: usize, j: usize, sign: f64) -> Result<Operator, String> {
        let forth = self.word("S+", i)? * self.word("S-", j)?;
        Ok(0.5 * (forth + sign * (self.word("S-", i)? * self.word("S+", j)?)))
    }

    /// S_i · (S_j × S_k): all six products with the signs of their orders.
    fn chirality(&self, [i, j, k]: [usize; 3]) -> Result<Operator, String> {
        let vector = |site| ["Sx", "Sy", "Sz"].map(|word| self.word(word, site));
        let [a, b, c] = [i, j, k].map(vector);
        let whole = |[x, y, z]: [Result<Operator, String>; 3]| Ok::<_, String>([x?, y?, z?]);
        Ok(build::triple([whole(a)?, whole(b)?, whole(c)?]))
    }

    /// −(c†_i c_j + sign · c†_j c_i), over the species of `name`.
    fn hop(&self, name: &str, i: usize, j: usize, sign: f64) -> Result<Operator, String> {
        let species: &[(&str, &str)] = match (name, self.0[i].carrier()) {
            ("Hopup", _) => &[("cdag_up", "c_up")],
            ("Hopdn", _) => &[("cdag_dn", "c_dn")],
            (_, Carrier::Flavours) => &[("cdag", "c")],
            (_, Carrier::Bosons) => &[("bdag", "b")],
            (_, Carrier::Electrons | Carrier::Spin) => &[("cdag_up", "c_up"), ("cdag_dn", "c_dn")],
        };
        let term = |(create, annihilate): &(&str, &str)| {
            let forth = self.word(create, i)? * self.word(annihilate, j)?;
            Ok(-1.0 * (forth + sign * (self.word(create, j)? * self.word(annihilate, i)?)))
        };
        species.iter().map(term).sum()
    }

    /// n↑ n↓, or ½ n (n − 1).
    fn repulsion(&self, site: usize) -> Result<Operator, String> {
        if self.0[site].carrier() == Carrier::Bosons {
            let n = self.word("n", site)?;
            return Ok(0.5 * (n.clone() * (n - 1.0)));
        }
        self.number("Nupdn", site)
    }
}

/// An entry for a message.
fn short(entry: &[Value]) -> String {
    let words: Vec<String> = entry.iter().map(Value::to_string).collect();
    let text = words.join(", ");
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("[{} …]", &text[..end]),
        None => format!("[{text}]"),
    }
}
