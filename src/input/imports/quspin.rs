//! QuSpin's site-coupling lists (Weinberg, Bukov, SciPost Phys. 2, 003 (2017); documentation of `hamiltonian` and of the classes
//! `*_basis_general`), as JSON.
//!
//! In: `[["+-", [[0.5, 0, 1], [0.5, 1, 2]]], ["z", [[0.3, 0]]]]`, or an object with that list as `static_list` (or `static`) and, for spins
//! ½, `pauli`. Out: the sum of all couplings times the product of their letters, the first letter on the left. Letters by kind of site:
//!
//! | sites | letters |
//! |---|---|
//! | spin ½ | `I + - x y z`: Pauli matrices with σ± = 2S± for `pauli` 1 (QuSpin's default), with σ± = S± for −1, S = σ/2 for 0 |
//! | larger spins | `I + - z` of S |
//! | bosons | `I + - n`, and `z` = n − (sps − 1)/2, where sps − 1 is the cut |
//! | spinless fermions | `I + - n`, `z` = n − ½, `x` = c + c†, `y` = −i (c − c†) |
//! | electrons, t-J | the same of ↑ left of `\|` and of ↓ right of it |
//!
//! A coupling is a number, `[re, im]` or `{"re": …, "im": …}`. Site i is site i here: QuSpin prints site 0 as the leftmost bit of a state.

use super::json;
use crate::operator::{Carrier, Operator, SiteKind, Spin, build};
use serde_json::Value;

/// The keys of an object.
const KEYS: &str = "`static_list` (or `static`) and `pauli`";

/// The operator of a text, and the number of its couplings.
///
/// # Errors
/// What was expected and what was found, with the entry.
pub(super) fn read(text: &str, kinds: &[SiteKind]) -> Result<(Operator, usize), String> {
    let value = json::read(text).map_err(|error| format!("the lists are not JSON: {error}"))?;
    let (lists, pauli) = parts(&value)?;
    let letters = Letters { kinds, pauli: convention(pauli, kinds)? };
    let (mut sum, mut count) = (Operator::zero(), 0);
    for (number, entry) in lists.iter().enumerate() {
        let wrong = |found: &Value| {
            let expected = "[\"+-\", [[0.5, 0, 1], …]]: letters, then a list of couplings with their sites";
            format!("entry {number} of the list: expected {expected}, found {}", short(found))
        };
        let [Value::String(string), Value::Array(couplings)] = entry.as_array().map_or(&[][..], Vec::as_slice) else {
            return Err(wrong(entry));
        };
        for coupling in couplings {
            let term = letters.term(string, coupling);
            sum.add_terms(term.map_err(|why| format!("entry {number}, \"{string}\": {why}"))?, 1.0);
            count += 1;
        }
    }
    Ok((sum, count))
}

/// The list, and the value of `pauli`.
fn parts(value: &Value) -> Result<(&[Value], Option<&Value>), String> {
    if let Value::Array(list) = value {
        return Ok((list, None));
    }
    let Value::Object(object) = value else {
        return Err(format!("expected a list of couplings, or an object with {KEYS}, found {}", short(value)));
    };
    let mut list = None;
    for (key, value) in object {
        match (key.as_str(), value) {
            ("pauli", _) => {}
            ("static_list" | "static", Value::Array(found)) if list.is_none() => list = Some(found.as_slice()),
            ("static_list" | "static", _) => return Err(format!("expected one list `{key}`, found {}", short(value))),
            ("dynamic_list" | "dynamic", Value::Array(found)) if found.is_empty() => {}
            ("dynamic_list" | "dynamic", _) => {
                return Err(format!("`{key}` depends on time; H has the static list only: leave it out"));
            }
            _ => return Err(format!("unknown key `{key}`; an object has {KEYS}")),
        }
    }
    let list = list.ok_or_else(|| format!("expected {KEYS}, found no list"))?;
    Ok((list, object.get("pauli")))
}

/// QuSpin's `pauli`, which spins ½ must name; 0 without them.
fn convention(pauli: Option<&Value>, kinds: &[SiteKind]) -> Result<i64, String> {
    if !kinds.contains(&SiteKind::Moments { two_s: 1 }) {
        return match pauli {
            None => Ok(0),
            Some(_) => Err("`pauli` is for sites of kind \"spin 1/2\"; leave it out".into()),
        };
    }
    match pauli.and_then(Value::as_i64).filter(|number| (-1..=1).contains(number)) {
        Some(number) => Ok(number),
        None => Err(format!(
            "spins 1/2 need {{\"pauli\": …, \"static_list\": …}}: 1 for Pauli matrices (QuSpin's default; +, - are 2 S+, 2 S-), -1 for \
             Pauli matrices with S+, S-, 0 for spin operators, of which two are a factor 4 smaller; found {}",
            pauli.map_or("none".into(), short)
        )),
    }
}

/// What letters mean on these sites.
struct Letters<'a> {
    kinds: &'a [SiteKind],
    pauli: i64,
}

impl Letters<'_> {
    /// A coupling, `[0.5, 0, 1]`, with its letters.
    fn term(&self, string: &str, coupling: &Value) -> Result<Operator, String> {
        let items = coupling.as_array().map_or(&[][..], Vec::as_slice);
        let letters = string.chars().filter(|letter| *letter != '|').count();
        let [value, sites @ ..] = items else {
            return Err(format!("expected a coupling and {letters} sites, found {}", short(coupling)));
        };
        if sites.len() != letters {
            return Err(format!("expected a coupling and {letters} sites, found {}", short(coupling)));
        }
        let (re, im) = complex(value)?;
        let mut product = build::scalar(1.0);
        let (mut spin, mut bars) = (Spin::Up, 0);
        let mut sites = sites.iter();
        for letter in string.chars() {
            if letter == '|' {
                (spin, bars) = (Spin::Down, bars + 1);
                continue;
            }
            let place = sites.next().unwrap_or(&Value::Null);
            let site = place.as_u64().map(|site| site as usize).filter(|site| *site < self.kinds.len());
            let site = site
                .ok_or_else(|| format!("expected a site from 0 to {}, found {}", self.kinds.len() - 1, short(place)))?;
            let of_electrons = self.kinds[site].carrier() == Carrier::Electrons;
            if of_electrons != string.contains('|') {
                return Err(match of_electrons {
                    true => {
                        format!("electrons need one '|' between the letters of up and of down electrons: \"{string}|\"")
                    }
                    false => format!("'|' is for electrons, found site {site} of kind \"{}\"", self.kinds[site]),
                });
            }
            let factor = self.letter(letter, site, spin)?;
            product = product.checked_product(factor, self.kinds).map_err(|error| error.to_string())?;
        }
        if bars > 1 {
            return Err("expected one '|', found more".into());
        }
        let mut term = re * product.clone();
        term.add_terms(im * product.times_i(), 1.0);
        Ok(term)
    }

    fn letter(&self, letter: char, site: usize, spin: Spin) -> Result<Operator, String> {
        let kind = self.kinds[site];
        let (found, letters) = match kind {
            SiteKind::Moments { two_s: 1 } => (self.half(letter, site), "I + - x y z"),
            SiteKind::Moments { .. } => (spin_letter(letter, site).filter(|_| !"xy".contains(letter)), "I + - z"),
            SiteKind::Bosons { most } => (boson(letter, site, most), "I + - n z"),
            SiteKind::Flavours(1) => (fermion(letter, site, Spin::Flavour(0)), "I + - n z x y"),
            SiteKind::Electrons | SiteKind::Tj => (fermion(letter, site, spin), "I + - n z x y"),
            SiteKind::Qubits | SiteKind::Flavours(_) => {
                return Err(format!(
                    "QuSpin has spins, bosons, spinless fermions and electrons, found site {site} of kind \"{kind}\"{}",
                    if kind == SiteKind::Qubits { ": write site = \"spin 1/2\"" } else { "" }
                ));
            }
        };
        found.ok_or_else(|| format!("site {site} of kind \"{kind}\" has the letters {letters}, found '{letter}'"))
    }

    /// A letter of a spin ½ in the convention of the list.
    fn half(&self, letter: char, site: usize) -> Option<Operator> {
        let scale = match (self.pauli, letter) {
            (_, 'I') | (0, _) | (-1, '+' | '-') => 1.0,
            _ => 2.0,
        };
        Some(scale * spin_letter(letter, site)?)
    }
}

fn spin_letter(letter: char, site: usize) -> Option<Operator> {
    Some(match letter {
        'I' => build::scalar(1.0),
        '+' => build::sp(site),
        '-' => build::sm(site),
        'x' => build::sx(site),
        'y' => build::sy(site),
        'z' => build::sz(site),
        _ => return None,
    })
}

fn boson(letter: char, site: usize, most: u32) -> Option<Operator> {
    let number = || build::bdag(site) * build::b(site);
    Some(match letter {
        'I' => build::scalar(1.0),
        '+' => build::bdag(site),
        '-' => build::b(site),
        'n' => number(),
        'z' => number() - 0.5 * f64::from(most),
        _ => return None,
    })
}

fn fermion(letter: char, site: usize, spin: Spin) -> Option<Operator> {
    Some(match letter {
        'I' => build::scalar(1.0),
        '+' => build::cdag(site, spin),
        '-' => build::c(site, spin),
        'n' => build::n(site, spin),
        'z' => build::n(site, spin) - 0.5,
        'x' => build::c(site, spin) + build::cdag(site, spin),
        'y' => (build::cdag(site, spin) - build::c(site, spin)).times_i(),
        _ => return None,
    })
}

/// A coupling.
fn complex(value: &Value) -> Result<(f64, f64), String> {
    let part = |value: &Value| value.as_f64().filter(|number| number.is_finite());
    let found = match value {
        Value::Array(parts) => match &parts[..] {
            [re, im] => part(re).zip(part(im)),
            _ => None,
        },
        Value::Object(parts) => {
            let of = |key: &str| parts.get(key).map_or(Some(0.0), part);
            let known = !parts.is_empty() && parts.keys().all(|key| key == "re" || key == "im");
            of("re").zip(of("im")).filter(|_| known)
        }
        value => part(value).map(|number| (number, 0.0)),
    };
    found.ok_or_else(|| {
        format!("expected a coupling such as 0.5, [0.5, 1.0] or {{\"re\": 0.5, \"im\": 1.0}}, found {}", short(value))
    })
}

/// A value for a message.
fn short(value: &Value) -> String {
    const MOST: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("`{} …`", &text[..end]),
        None => format!("`{text}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPIN: SiteKind = SiteKind::Moments { two_s: 1 };

    fn parsed(text: &str, kinds: &[SiteKind]) -> Operator {
        read(text, kinds).unwrap_or_else(|why| panic!("{text}: {why}")).0
    }

    /// The three conventions of two spins ½ at a bond, as QuSpin 1.0.1 gives their matrix elements: σ⁺σ⁻ is 4, 1 and 1 times |↑↓⟩⟨↓↑|.
    #[test]
    fn the_conventions_of_spins_differ_by_their_factors() {
        let list = |pauli: i64| {
            parsed(
                &format!("{{\"pauli\": {pauli}, \"static_list\": [[\"+-\", [[1.0, 0, 1]]], [\"zz\", [[1.0, 0, 1]]]]}}"),
                &[SPIN; 2],
            )
        };
        let (flip, ising) = (build::sp(0) * build::sm(1), build::sz(0) * build::sz(1));
        assert_eq!(list(0), flip.clone() + ising.clone());
        assert_eq!(list(1), 4.0 * flip.clone() + 4.0 * ising.clone());
        assert_eq!(list(-1), flip + 4.0 * ising);
        let one = "{\"pauli\": 1, \"static\": [[\"IzI\", [[0.5, 0, 1, 0]]], [\"\", [[0.25]]]], \"dynamic\": []}";
        assert_eq!(parsed(one, &[SPIN; 2]), build::sz(1) + 0.25);
        let one = "[[\"z+\", [[2, 0, 1]]]]";
        assert_eq!(parsed(one, &[SiteKind::Moments { two_s: 2 }; 2]), 2.0 * (build::sz(0) * build::sp(1)));
    }

    #[test]
    fn fermions_keep_their_order_and_couplings_may_be_complex() {
        let (up, down) = (Spin::Up, Spin::Down);
        let hop =
            parsed("[[\"+-|\", [[[0.5, -1], 0, 1]]], [\"+|-\", [[{\"im\": 2}, 1, 0]]]]", &[SiteKind::Electrons; 2]);
        let expected = 0.5 * (build::cdag(0, up) * build::c(1, up))
            + -1.0 * (build::cdag(0, up) * build::c(1, up)).times_i()
            + 2.0 * (build::cdag(1, up) * build::c(0, down)).times_i();
        assert_eq!(hop, expected);
        let swapped = parsed("[[\"-+\", [[1, 0, 1]]]]", &[SiteKind::Flavours(1); 2]);
        assert_eq!(swapped, parsed("[[\"+-\", [[-1, 1, 0]]]]", &[SiteKind::Flavours(1); 2]));
        // i x y = (c + c†)(c − c†) = 1 − 2n … with y = −i (c − c†).
        let majorana = parsed("[[\"xy\", [[[0, 1], 0, 0]]]]", &[SiteKind::Flavours(1)]);
        assert_eq!(majorana, 2.0 * build::n(0, Spin::Flavour(0)) - 1.0);
        let bosons = parsed("[[\"z\", [[1, 0]]], [\"nn\", [[0.5, 0, 0]]]]", &[SiteKind::Bosons { most: 3 }]);
        let n = build::bdag(0) * build::b(0);
        assert_eq!(bosons, n.clone() - 1.5 + 0.5 * (n.clone() * n));
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let electron = [SiteKind::Electrons; 2];
        for (text, kinds, part) in [
            ("[[\"zz\", [[1, 0, 1]]]]", &[SPIN; 2][..], "factor 4"),
            ("{\"pauli\": 2, \"static_list\": []}", &[SPIN; 2], "found `2`"),
            ("{\"pauli\": 0, \"static_list\": [[\"n\", [[1, 0]]]]}", &[SPIN; 2], "I + - x y z, found 'n'"),
            ("[[\"x\", [[1, 0]]]]", &[SiteKind::Moments { two_s: 2 }], "I + - z, found 'x'"),
            ("[[\"+-\", [[1, 0]]]]", &[SiteKind::Flavours(1); 2], "2 sites, found `[1,0]`"),
            ("[[\"n\", [[1, 2]]]]", &[SiteKind::Flavours(1); 2], "from 0 to 1, found `2`"),
            ("[[\"+-\", [[1, 0, 1]]]]", &electron, "need one '|'"),
            ("[[\"n|n|\", [[1, 0, 1]]]]", &electron, "found more"),
            ("[[\"n|n\", [[1, 0, 1]]]]", &[SiteKind::Bosons { most: 2 }; 2], "'|' is for electrons"),
            ("[[\"n\", [[\"J\", 0]]]]", &[SiteKind::Flavours(1)], "a coupling such as"),
            ("[[\"n\", 0.5]]", &[SiteKind::Flavours(1)], "entry 0 of the list"),
            ("[[\"z\", [[1, 0]]]]", &[SiteKind::Qubits], "site = \"spin 1/2\""),
            ("{\"static_list\": [], \"dynamic_list\": [[]]}", &electron, "depends on time"),
            ("{\"static_list\": [], \"basis\": 1}", &electron, "unknown key `basis`"),
            ("{\"pauli\": 0, \"static_list\": []}", &electron, "leave it out"),
            ("[[\"n\", [[1, 0]", &electron, "not JSON"),
        ] {
            let error = read(text, kinds).err().unwrap_or_default();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
