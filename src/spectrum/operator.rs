//! The operator of a spectrum at a momentum.
//!
//! In: `of`, a name or a text, on the sites of a file. Out: A_q, and by how much it changes the momentum.

use super::current::{Current, current, dimers};
use crate::input::{InputProblem, ModelFile, SpectrumSpec, Wrong};
use crate::observable::{Names, ParameterValue, read_operator};
use crate::operator::{Operator, SiteKind, Spin, build};
use crate::report::MomentumRecord;
use eigenforge_core::lattice::Lattice;
use num_complex::Complex64;

/// What acts on the level.
pub(super) struct Excitation<'f> {
    file: &'f ModelFile,
    spec: &'f SpectrumSpec,
    hamiltonian: &'f Operator,
    kinds: Vec<SiteKind>,
    named: Option<Named>,
}

/// An operator with a name.
#[derive(Clone, Copy)]
enum Named {
    /// A sum over sites.
    AtSite(AtSite),
    /// "dimer": a sum over the bonds along a direction.
    Dimers,
    /// "current": that of H, at q = 0.
    Current,
}

/// A named operator of a site.
#[derive(Clone, Copy)]
struct AtSite {
    operator: fn(SiteKind, usize) -> Option<Operator>,
    /// The sign of q in the phases: −1, or 1 of an electron that is added.
    sign: f64,
    /// Whether its energies are drawn with the other sign.
    removes: bool,
}

fn of_electrons(kind: SiteKind, operator: Operator) -> Option<Operator> {
    matches!(kind, SiteKind::Electrons | SiteKind::Tj).then_some(operator)
}

/// Names with their operators.
const NAMES: [(&str, Named); 12] = [
    ("Sz", plain(|kind, site| kind.operator("Sz", site))),
    ("Sp", plain(|kind, site| kind.operator("S+", site))),
    ("Sm", plain(|kind, site| kind.operator("S-", site))),
    ("N", plain(|kind, site| kind.operator("n", site))),
    ("Nup", plain(|kind, site| of_electrons(kind, build::n(site, Spin::Up)))),
    ("Ndn", plain(|kind, site| of_electrons(kind, build::n(site, Spin::Down)))),
    ("add_up", adding(|kind, site| of_electrons(kind, build::cdag(site, Spin::Up)))),
    ("add_dn", adding(|kind, site| of_electrons(kind, build::cdag(site, Spin::Down)))),
    ("remove_up", removing(|kind, site| of_electrons(kind, build::c(site, Spin::Up)))),
    ("remove_dn", removing(|kind, site| of_electrons(kind, build::c(site, Spin::Down)))),
    ("dimer", Named::Dimers),
    ("current", Named::Current),
];

const fn plain(operator: fn(SiteKind, usize) -> Option<Operator>) -> Named {
    Named::AtSite(AtSite { operator, sign: -1.0, removes: false })
}

const fn adding(operator: fn(SiteKind, usize) -> Option<Operator>) -> Named {
    Named::AtSite(AtSite { operator, sign: 1.0, removes: false })
}

const fn removing(operator: fn(SiteKind, usize) -> Option<Operator>) -> Named {
    Named::AtSite(AtSite { operator, sign: -1.0, removes: true })
}

/// A function of a text: e^(−iq·r_i) / √N.
const PHASE: &str = "phase";

impl<'f> Excitation<'f> {
    /// The operator of a file's `[spectrum]`.
    ///
    /// # Errors
    /// A name or a text that is no operator of these sites, at its place; a direction that it does not have.
    pub(super) fn new(
        file: &'f ModelFile,
        hamiltonian: &'f Operator,
        spec: &'f SpectrumSpec,
    ) -> Result<Excitation<'f>, InputProblem> {
        let kinds = file.model.site_kinds(file.lattice.sites().len());
        let named = NAMES.iter().find(|(name, _)| *name == spec.of).map(|(_, named)| *named);
        let excitation = Excitation { file, spec, hamiltonian, kinds, named };
        if let (Some((_, span)), None | Some(Named::AtSite(_))) = (&spec.direction, named) {
            let (key, expected) = ("direction".into(), "left out: \"current\" and \"dimer\" have one".into());
            let what = Wrong::OutOfRange { key, expected, found: format!("one beside of = {:?}", spec.of) };
            return Err(InputProblem { what, span: span.clone() });
        }
        excitation.operator(None)?;
        Ok(excitation)
    }

    /// Whether there is a curve for each momentum.
    pub(super) fn has_momentum(&self) -> bool {
        match self.named {
            Some(Named::AtSite(_) | Named::Dimers) => true,
            Some(Named::Current) => false,
            None => with_phases(&self.spec.of, [""; 2]).1,
        }
    }

    /// J and K, of "current".
    ///
    /// # Errors
    /// No current of H along the direction.
    pub(super) fn current(&self) -> Result<Option<Current>, InputProblem> {
        if !matches!(self.named, Some(Named::Current)) {
            return Ok(None);
        }
        let found = current(self.hamiltonian, &self.file.lattice, self.spec.direction());
        found.map(Some).map_err(|message| self.refused(message))
    }

    fn refused(&self, message: String) -> InputProblem {
        InputProblem { what: Wrong::Observable { name: "of".into(), message }, span: self.spec.of_span.clone() }
    }

    fn at_site(&self) -> Option<AtSite> {
        match self.named {
            Some(Named::AtSite(at_site)) => Some(at_site),
            _ => None,
        }
    }

    /// The momentum by which it changes that of a state, in parts of q.
    pub(super) fn sign(&self) -> i64 {
        self.at_site().map_or(-1, |at_site| at_site.sign as i64)
    }

    /// Whether its energies are drawn with the other sign.
    pub(super) fn removes(&self) -> bool {
        self.at_site().is_some_and(|at_site| at_site.removes)
    }

    /// The operator at a momentum; without one at q = 0, or of a text without phases.
    ///
    /// # Errors
    /// No operator of these sites.
    pub(super) fn operator(&self, q: Option<&MomentumRecord>) -> Result<Operator, InputProblem> {
        let spec = self.spec;
        let phases = phases(&self.file.lattice, q);
        let Some(named) = self.named else {
            let mut parameters = self.file.model.parameters();
            // Names that no parameter of the file has.
            let mut name = PHASE.to_string();
            while parameters.iter().any(|(known, _)| known.starts_with(&name)) {
                name.push('_');
            }
            let [re, im] = [format!("{name}_re"), format!("{name}_im")];
            let text = with_phases(&spec.of, [&re, &im]).0;
            parameters.push((re.clone(), ParameterValue::List(phases.iter().map(|phase| phase.re).collect())));
            parameters.push((im.clone(), ParameterValue::List(phases.iter().map(|phase| phase.im).collect())));
            let names = Names::new(self.kinds.clone(), Some(&self.file.lattice), parameters);
            return read_operator(&text, &names).map_err(|error| {
                let own = error.message.replace(&format!("; the model's parameters are {re}, {im}"), "");
                let own = own.replace(&format!(", {re}, {im}"), "");
                let known: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
                let names = format!(
                    "; in a text `phase(i)` is e^(−iq·r_i)/√N, and the names of operators are {}",
                    known.join(", ")
                );
                self.refused(own + &names)
            });
        };
        let AtSite { operator, sign, .. } = match named {
            Named::AtSite(at_site) => at_site,
            Named::Dimers => {
                let found = dimers(&self.file.lattice, &self.kinds, &phases, spec.direction());
                return found.map_err(|message| self.refused(message));
            }
            Named::Current => return Ok(self.current()?.map_or_else(Operator::zero, |current| current.operator)),
        };
        let mut sum = Operator::zero();
        for (site, (kind, phase)) in self.kinds.iter().zip(phases).enumerate() {
            let Some(own) = operator(*kind, site) else {
                let message = format!("site {site} is of kind \"{kind}\", which has no {}", spec.of);
                return Err(self.refused(message));
            };
            sum = sum + phase.re * own.clone() - sign * phase.im * own.times_i();
        }
        Ok(sum)
    }

    /// Whether a translation takes the operator to a multiple of itself, as one of this momentum is.
    pub(super) fn is_of_momentum(&self, operator: &Operator, q: Option<&MomentumRecord>) -> bool {
        let kinds = &self.kinds;
        let own = parts(operator, kinds);
        let fraction = q.map_or([0.0; 2], |q| q.fraction);
        self.file.lattice.translations().iter().all(|translation| {
            let turn: f64 = [0, 1].map(|axis| translation.step[axis] as f64 * fraction[axis]).iter().sum();
            let factor = Complex64::from_polar(1.0, -self.sign() as f64 * std::f64::consts::TAU * turn);
            let moved = parts(&operator.with_sites_at(&translation.place), kinds);
            let size = own.values().map(|value| value.norm()).fold(0.0, f64::max);
            let all = own.keys().chain(moved.keys());
            let value = |of: &Parts, product| of.get(product).copied().unwrap_or_default();
            all.into_iter()
                .all(|product| (value(&moved, product) - factor * value(&own, product)).norm() <= 1e-9 * size)
        })
    }
}

/// Complex coefficients of real products.
type Parts = std::collections::BTreeMap<Vec<crate::operator::Factor>, Complex64>;

fn parts(operator: &Operator, kinds: &[SiteKind]) -> Parts {
    let mut parts = Parts::new();
    for (product, coefficient) in operator.clone().on_kinds(kinds).reduced().terms() {
        let (factors, times) = match product {
            [factors @ .., crate::operator::Factor::ImaginaryUnit] => (factors, Complex64::I),
            factors => (factors, Complex64::ONE),
        };
        *parts.entry(factors.to_vec()).or_default() += coefficient * times;
    }
    parts
}

/// e^(−iq·r_j) / √N of each site.
fn phases(lattice: &Lattice, q: Option<&MomentumRecord>) -> Vec<Complex64> {
    let sites = lattice.sites();
    let share = 1.0 / (sites.len() as f64).sqrt();
    let angle = |site: usize| {
        let [x, y] = lattice.position(site);
        q.map_or(0.0, |q| -(q.cartesian[0] * x + q.cartesian[1] * y))
    };
    sites.map(|site| Complex64::from_polar(share, angle(site))).collect()
}

/// A text with `phase(…)` in the language of observables, by the names of its real and imaginary parts, and whether it had any.
fn with_phases(text: &str, [re, im]: [&str; 2]) -> (String, bool) {
    let (mut out, mut rest, mut any) = (String::new(), text, false);
    while let Some(at) = rest.find(PHASE) {
        let (before, after) = rest.split_at(at);
        let after = &after[PHASE.len()..];
        let begins = !before.ends_with(|letter: char| letter.is_alphanumeric() || letter == '_');
        let inner = after.trim_start().strip_prefix('(').and_then(|inner| Some((inner, closing(inner)?)));
        out.push_str(before);
        rest = match inner.filter(|_| begins) {
            Some((inner, end)) => {
                let site = &inner[..end];
                out.push_str(&format!("({re}[{site}] + I * {im}[{site}])"));
                any = true;
                &inner[end + 1..]
            }
            None => {
                out.push_str(PHASE);
                after
            }
        };
    }
    out.push_str(rest);
    (out, any)
}

/// Where the bracket that is open at the beginning closes.
fn closing(text: &str) -> Option<usize> {
    let mut open = 1;
    text.char_indices().find_map(|(at, letter)| {
        open += match letter {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        (open == 0).then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_numbers_of_sites() {
        let (text, any) = with_phases("sum(i in sites; phase(i) * sz(i))", ["phase_re", "phase_im"]);
        assert!(any && text == "sum(i in sites; (phase_re[i] + I * phase_im[i]) * sz(i))");
        let (text, any) = with_phases("2.0 * phase ((i + 1) % 4) * sz(0)", ["phase_re", "phase_im"]);
        assert!(any && text == "2.0 * (phase_re[(i + 1) % 4] + I * phase_im[(i + 1) % 4]) * sz(0)");
        assert_eq!(with_phases("my_phase(i) * sz(i)", ["", ""]), ("my_phase(i) * sz(i)".into(), false));
    }
}
