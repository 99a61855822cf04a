//! Which irreps the numbers of ORBSYM mean.
//!
//! In: ORBSYM and PNTGRP of a file, the keys `orbsym` and `point_group`, how large the integrals are that irreps forbid. Out: an irrep of
//! each orbital from 1, so that products are XORs of (number − 1), and what is known of the names.
//!
//! | word | numbers of ORBSYM |
//! |---|---|
//! | `molpro` | Molpro's, from 1 |
//! | `psi4` | those that Psi4 writes: Molpro's |
//! | `pyscf` | PySCF's, from 0; of linear molecules modulo 10 (older versions write 10 for E2gx); all 1 if there is no symmetry |
//! | `auto` | a 0 or a number above 8: PySCF's; PNTGRP: Psi4's; else those under which the integrals that symmetry forbids vanish; if both do, Molpro's, and a line says so |

use super::group::AbelianGroup;
use serde::{Deserialize, Serialize};

/// Forbidden integrals above this share of the largest show that a numbering is not that of the file.
const BROKEN: f64 = 1e-6;
/// How much smaller those of the other numbering must be.
const CLEARLY: f64 = 1e-3;
/// Largest number in ORBSYM: PySCF's of an atom are below 1000.
pub(super) const LARGEST: u32 = 9_999;

/// The largest integral that irreps forbid, as a share of the largest of all.
pub(super) type Forbidden<'a> = &'a dyn Fn(&[u8]) -> f64;

/// `orbsym`: who numbered the irreps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Orbsym {
    /// Decided by the file.
    #[default]
    Auto,
    /// PySCF.
    Pyscf,
    /// Psi4.
    Psi4,
    /// Molpro.
    Molpro,
}

impl Orbsym {
    /// All, by word.
    pub const WORDS: [(&'static str, Orbsym); 4] =
        [("auto", Orbsym::Auto), ("pyscf", Orbsym::Pyscf), ("psi4", Orbsym::Psi4), ("molpro", Orbsym::Molpro)];
}

/// What a model file says of ORBSYM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SymmetryKeys {
    /// `orbsym`.
    #[serde(default)]
    pub orbsym: Orbsym,
    /// `point_group`.
    #[serde(default)]
    pub point_group: Option<AbelianGroup>,
}

/// An irrep by its number or its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum IrrepLabel {
    /// Molpro's number, from 1.
    Number(u8),
    /// Its name, such as B1u.
    Name(String),
}

/// Why ORBSYM cannot be read, or an irrep not be found.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OrbsymError {
    /// The file names another group than the model.
    #[error("point_group = \"{key}\", but PNTGRP of the integrals is {file}: leave one of them out")]
    Groups {
        /// `point_group`.
        key: AbelianGroup,
        /// PNTGRP.
        file: AbelianGroup,
    },
    /// A number that the numbering has not got.
    #[error(
        "ORBSYM has the irrep {found}: {numbering} numbers go from {first} to {last}{}; {}",
        group.map_or(String::new(), |group| format!(" in {group}")),
        if *found == 0 { "PySCF's begin at 0: write orbsym = \"pyscf\"" } else { "change orbsym or point_group" }
    )]
    Number {
        /// What was found.
        found: u32,
        /// Whose numbers.
        numbering: &'static str,
        /// The first number.
        first: u32,
        /// The last number.
        last: u32,
        /// The group.
        group: Option<AbelianGroup>,
    },
    /// Numbers that neither numbering has.
    #[error(
        "ORBSYM = {numbers} is neither in Molpro's numbering (1 to {order}) nor in PySCF's (0 to {}): {}",
        order - 1, if group.is_some() { "point_group is another one" } else { "renumber it, or leave it out" }
    )]
    Neither {
        /// ORBSYM.
        numbers: String,
        /// Irreps of the group.
        order: usize,
        /// The group.
        group: Option<AbelianGroup>,
    },
    /// A name without a group.
    #[error(
        "irrep = \"{name}\" needs the point group, which the integrals do not name: write point_group = \"D2h\" or a subgroup of it, or give \
         the number of the irrep in Molpro's order"
    )]
    NoGroup {
        /// The name.
        name: String,
    },
    /// A name that the group has not got.
    #[error("{group} has no irrep \"{name}\": {}", group.irreps().join(", "))]
    Name {
        /// The name.
        name: String,
        /// The group.
        group: AbelianGroup,
    },
    /// A number beyond the group.
    #[error("{group} has no irrep {number}: they go from 1 to {} in Molpro's order, {}", group.order(), group.irreps().join(", "))]
    Beyond {
        /// The number.
        number: u8,
        /// The group.
        group: AbelianGroup,
    },
    /// A number of Molpro's where ORBSYM has PySCF's.
    #[error(
        "irrep = {number} is Molpro's number, and ORBSYM has PySCF's, which mean other irreps in each group (four may be those of C2v, C2h or D2): \
         write point_group = \"C2v\", with which irrep may also be a name, or write the integrals with molpro_orbsym=True"
    )]
    Foreign {
        /// The number.
        number: u8,
    },
}

/// What is known of the orbitals' irreps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OrbitalSymmetry {
    /// An irrep of each orbital, from 1; empty if the file has none.
    pub irreps: Vec<u8>,
    /// The point group, if it is known.
    pub group: Option<AbelianGroup>,
    /// Whether the irreps have PySCF's numbers + 1, because no group says which of Molpro's they are.
    foreign: bool,
    /// Why these numbers, if not simply Molpro's.
    words: Option<String>,
    /// Whether the file leaves it open whose numbers they are.
    undecided: Option<String>,
}

impl OrbitalSymmetry {
    /// Of ORBSYM as written; without `forbidden` the integrals do not decide.
    ///
    /// # Errors
    /// Groups that differ; numbers that do not exist.
    pub(super) fn new(
        numbers: &[u32],
        file: Option<AbelianGroup>,
        keys: SymmetryKeys,
        forbidden: Option<Forbidden<'_>>,
    ) -> Result<OrbitalSymmetry, OrbsymError> {
        if let (Some(key), Some(file)) = (keys.point_group, file)
            && key != file
        {
            return Err(OrbsymError::Groups { key, file });
        }
        let group = keys.point_group.or(file);
        if numbers.is_empty() {
            return Ok(OrbitalSymmetry { group, ..OrbitalSymmetry::default() });
        }
        let choose = |orbsym, why: &str| match orbsym {
            Orbsym::Pyscf => from_pyscf(numbers, group, why),
            _ => from_molpro(numbers, group),
        };
        if keys.orbsym != Orbsym::Auto {
            return choose(keys.orbsym, "by the key orbsym");
        }
        let pyscf = choose(Orbsym::Pyscf, "by its numbers");
        let molpro = choose(Orbsym::Molpro, "");
        match (pyscf, molpro) {
            (Ok(pyscf), Err(_)) => Ok(pyscf),
            (Err(_), Ok(molpro)) => Ok(molpro),
            (Err(_), Err(_)) => {
                let order = group.map_or(8, AbelianGroup::order);
                Err(OrbsymError::Neither { numbers: listed(numbers), order, group })
            }
            (Ok(_), Ok(molpro)) if file.is_some() || numbers.iter().all(|number| *number == 1) => Ok(molpro),
            (Ok(pyscf), Ok(molpro)) => Ok(by_integrals(numbers, [molpro, pyscf], keys.point_group, forbidden)),
        }
    }

    /// The number, in that of `irreps`, of an irrep that a model file names.
    ///
    /// # Errors
    /// A name or number that needs a group or that the group has not got.
    pub fn number(&self, irrep: &IrrepLabel) -> Result<u8, OrbsymError> {
        match (irrep, self.group) {
            (IrrepLabel::Name(name), Some(group)) => {
                group.number(name).ok_or_else(|| OrbsymError::Name { name: name.clone(), group })
            }
            (IrrepLabel::Name(name), None) => Err(OrbsymError::NoGroup { name: name.clone() }),
            (IrrepLabel::Number(number), Some(group)) if usize::from(*number) > group.order() => {
                Err(OrbsymError::Beyond { number: *number, group })
            }
            (IrrepLabel::Number(number), None) if self.foreign && *number != 1 => {
                Err(OrbsymError::Foreign { number: *number })
            }
            (IrrepLabel::Number(number), _) => Ok(*number),
        }
    }

    /// An irrep for people: its number, with its name where the group is known.
    pub fn label(&self, irrep: u8) -> String {
        let name = self.group.and_then(|group| Some((group, *group.irreps().get(usize::from(irrep) - 1)?)));
        match name {
            Some((group, name)) => format!("{irrep} ({name} of {group})"),
            None => irrep.to_string(),
        }
    }

    /// Whose numbers ORBSYM has, if it is not simply Molpro's without a group.
    pub fn describe(&self) -> Option<String> {
        let group = self.group.map(|group| format!("group {group}"));
        let words = [self.words.clone(), group.filter(|_| !self.irreps.is_empty())];
        let words: Vec<String> = words.into_iter().flatten().collect();
        (!words.is_empty()).then(|| words.join(", "))
    }

    /// A warning that Molpro's numbers were assumed, for what depends on them.
    pub fn note(&self) -> Option<&str> {
        self.undecided.as_deref()
    }
}

fn listed(numbers: &[u32]) -> String {
    let first: Vec<String> = numbers.iter().take(12).map(u32::to_string).collect();
    first.join(",") + if numbers.len() > 12 { ",…" } else { "" }
}

fn from_molpro(numbers: &[u32], group: Option<AbelianGroup>) -> Result<OrbitalSymmetry, OrbsymError> {
    let last = group.map_or(8, AbelianGroup::order) as u32;
    if let Some(found) = numbers.iter().copied().find(|number| !(1..=last).contains(number)) {
        return Err(OrbsymError::Number { found, numbering: "Molpro's", first: 1, last, group });
    }
    // Only D2h has more than four irreps.
    let group = group.or(numbers.iter().any(|number| *number > 4).then_some(AbelianGroup::D2h));
    Ok(OrbitalSymmetry { irreps: numbers.iter().map(|number| *number as u8).collect(), group, ..Default::default() })
}

fn from_pyscf(numbers: &[u32], group: Option<AbelianGroup>, why: &str) -> Result<OrbitalSymmetry, OrbsymError> {
    let words = Some(format!("ORBSYM in PySCF's numbering, {why}"));
    // What PySCF writes of a molecule without symmetry.
    if numbers.iter().all(|number| *number == 1) {
        return Ok(OrbitalSymmetry { irreps: vec![1; numbers.len()], group, words, ..Default::default() });
    }
    let order = group.map_or(8, AbelianGroup::order) as u32;
    let of_linear = |number: u32| if number >= 10 { number % 10 } else { number };
    if let Some(found) = numbers.iter().copied().find(|number| of_linear(*number) >= order) {
        return Err(OrbsymError::Number { found, numbering: "PySCF's", first: 0, last: order - 1, group });
    }
    let own = numbers.iter().map(|number| of_linear(*number) as u8);
    let group = group.or(own.clone().any(|number| number > 3).then_some(AbelianGroup::D2h));
    let irreps = own.map(|number| group.map_or(number + 1, |group| group.molpro_number(number))).collect();
    Ok(OrbitalSymmetry { irreps, group, foreign: group.is_none(), words, undecided: None })
}

/// The numbering under which forbidden integrals vanish; Molpro's, with a note, if they cannot tell.
fn by_integrals(
    numbers: &[u32],
    [molpro, pyscf]: [OrbitalSymmetry; 2],
    group: Option<AbelianGroup>,
    forbidden: Option<Forbidden<'_>>,
) -> OrbitalSymmetry {
    if let Some(forbidden) = forbidden {
        let [in_molpro, in_pyscf] = [&molpro, &pyscf].map(|found| forbidden(&found.irreps));
        if in_pyscf > BROKEN && in_molpro < CLEARLY * in_pyscf {
            return molpro;
        }
        if in_molpro > BROKEN && in_pyscf < CLEARLY * in_molpro {
            let words = Some("ORBSYM in PySCF's numbering, by the integrals that it forbids".into());
            return OrbitalSymmetry { words, ..pyscf };
        }
    }
    let note = format!(
        "ORBSYM = {} is read in Molpro's numbering, though it fits PySCF's too: orbsym = \"pyscf\" or \"molpro\" decides",
        listed(numbers)
    );
    let words = Some("ORBSYM in Molpro's numbering, though it fits PySCF's too: the key orbsym decides".into());
    // No names by a group that rests on a guess.
    OrbitalSymmetry { undecided: Some(note), words, group, ..molpro }
}
