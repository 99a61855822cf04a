//! `"all"` in `[symmetry]`: every momentum and both signs, each sector that has the same energies as another solved once.
//!
//! In: the file with its axes of values. Out: the values of a key that is `"all"`, and for each point of the sweep whether it is
//! solved, or has the energies of one that is.
//!
//! * At a momentum that `reflection` does not leave as it is, no state has a sign under it: there `reflection = "all"` is left out,
//!   `"none"`, and with a sign in the file the momentum is.
//! * If H is real, k and −k have the same energies, for complex conjugation takes one to the other. Rotations and mirrors of the
//!   lattice under which H is invariant join more momenta. Beside `generators` nothing is joined.

use super::problem::Wrong;
use super::section::{Problems, Section};
use super::{InputFile, ModelFile, SiteLimit, lattice};
use crate::basis::Sector;
use crate::lattice::Lattice;
use crate::operator::{Charge, Operator, Symmetry, SymmetryError};
use num_complex::Complex64;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The key of momenta.
const MOMENTUM: &str = "symmetry.k";

/// The key of the sign that not every momentum has.
const REFLECTION: &str = "symmetry.reflection";

/// No sign, as it is written in the file of a point.
pub(super) const NONE: &str = "\"none\"";

/// The keys that may be "all".
const KEYS: [&str; 4] = ["k", "reflection", "spin_inversion", "exchange"];

/// Whether a value stands for all sectors. Only files about a lattice have them.
pub(super) fn is_all(file: &DeTable<'_>, section: &str, key: &str, value: &Spanned<DeValue<'_>>) -> bool {
    section == "symmetry"
        && KEYS.contains(&key)
        && value.get_ref().as_str() == Some("all")
        && file.get("lattice").is_some_and(|lattice| lattice.get_ref().is_table())
}

/// All values of a key, as texts.
pub(super) fn values(file: &DeTable<'_>, key: &str, place: Range<usize>, problems: &Problems) -> Option<Vec<String>> {
    if key != "k" {
        return Some(vec!["1".into(), "-1".into()]);
    }
    let refuse = |expected: &str| {
        problems.add(
            place.clone(),
            Wrong::OutOfRange { key: key.into(), expected: expected.into(), found: "\"all\"".into() },
        );
    };
    let section = file.get("lattice")?;
    let table = section.get_ref().as_table()?;
    if table.iter().any(|(_, value)| super::sweep::is_sweep(value)) {
        refuse(
            "the momenta themselves, { sweep = [0, 1, 2] }, while a key of [lattice] is swept, since they are those of one lattice",
        );
        return None;
    }
    let section = Section::new("lattice", table, section.span(), problems);
    let lattice = lattice::read(section, SiteLimit::Chain, problems)?;
    let momenta = Momenta::of(&lattice);
    if momenta.lengths.is_empty() {
        refuse("left out: the lattice has no periodic direction");
        return None;
    }
    Some(momenta.all().iter().map(|k| written(k)).collect())
}

/// `3`, or `[0, 3]` of two directions.
fn written(k: &[i64]) -> String {
    let numbers: Vec<String> = k.iter().map(i64::to_string).collect();
    if k.len() == 1 { numbers.concat() } else { format!("[{}]", numbers.join(", ")) }
}

/// The momenta of a lattice.
struct Momenta {
    directions: Vec<usize>,
    lengths: Vec<i64>,
}

impl Momenta {
    fn of(lattice: &Lattice) -> Momenta {
        let directions = lattice.periodic_directions();
        let lengths = directions.iter().map(|direction| lattice.size()[*direction] as i64).collect();
        Momenta { directions, lengths }
    }

    /// All, the last direction fastest.
    fn all(&self) -> Vec<Vec<i64>> {
        let more = |all: Vec<Vec<i64>>, length: &i64| {
            all.iter().flat_map(|k| (0..*length).map(move |last| [&k[..], &[last]].concat())).collect()
        };
        self.lengths.iter().fold(vec![Vec::new()], more)
    }

    /// The momentum that a state of momentum k has after an operation: T of a turned step has there the eigenvalue of T of the step.
    fn turned(&self, k: &[i64], steps: [[i64; 2]; 2]) -> Option<Vec<i64>> {
        let whole: i64 = self.lengths.iter().product();
        let phase = |number: usize, k: &[i64]| k[number] * (whole / self.lengths[number]);
        let fits = |there: &Vec<i64>| {
            self.directions.iter().enumerate().all(|(number, direction)| {
                let along = self.directions.iter().enumerate();
                let turned: i64 = along.map(|(other, e)| steps[*direction][*e] * phase(other, there)).sum();
                (turned - phase(number, k)) % whole == 0
            })
        };
        self.all().into_iter().find(fits)
    }

    /// Whether the reflection of the first direction leaves it as it is.
    fn has_reflection(&self, k: &[i64]) -> bool {
        self.directions.first() != Some(&0) || 2 * k[0] % self.lengths[0] == 0
    }
}

/// Which momenta have the same energies: for each way to be joined, where each goes.
struct Joins {
    conjugation: Option<Vec<Vec<i64>>>,
    operations: Vec<Vec<Vec<i64>>>,
}

impl Joins {
    fn of(file: &ModelFile) -> Joins {
        let (momenta, mut joins) = (Momenta::of(&file.lattice), Joins { conjugation: None, operations: Vec::new() });
        let all = momenta.all();
        if file.symmetry.as_ref().is_none_or(Symmetry::has_generators) {
            return joins;
        }
        let operator = file.operator().reduced();
        if !operator.is_complex() {
            let negative = |k: &Vec<i64>| k.iter().zip(&momenta.lengths).map(|(k, l)| (-k).rem_euclid(*l)).collect();
            joins.conjugation = Some(all.iter().map(negative).collect());
        }
        let charges = charges(file);
        for operation in file.lattice.point_operations() {
            let symmetry = Symmetry::new().generator(&operation.place, Complex64::ONE);
            let images: Option<Vec<_>> = all.iter().map(|k| momenta.turned(k, operation.steps)).collect();
            if let (Some(images), true) = (images, symmetry.group(&operator, &charges).is_ok()) {
                joins.operations.push(images);
            }
        }
        joins
    }

    /// All momenta with the energies of one, by their numbers; `with_reflection` if the sector has a sign under it.
    fn star(&self, start: usize, all: &[Vec<i64>], with_reflection: bool) -> Vec<usize> {
        // A rotation would take the reflection to another one.
        let operations = if with_reflection { &[][..] } else { &self.operations[..] };
        let (mut star, mut next) = (vec![start], 0);
        while next < star.len() {
            for images in self.conjugation.iter().chain(operations) {
                let found = all.iter().position(|k| *k == images[star[next]]);
                star.extend(found.filter(|found| !star.contains(found)));
            }
            next += 1;
        }
        star
    }
}

/// The charges of the sector.
fn charges(file: &ModelFile) -> Vec<(Charge, i64)> {
    match file.sector.clone().into_sector().map(Sector::into_charges) {
        Some(Sector::Charges(charges)) => charges,
        _ => Vec::new(),
    }
}

/// The text of a file with `"all"` for every symmetry that has a name, that H has and that the text does not name; and for each that
/// H does not have, why.
pub(super) fn with_all(file: &ModelFile, text: &str) -> (String, Vec<String>) {
    let (operator, charges) = (file.operator().reduced(), charges(file));
    let parsed = DeTable::parse_recoverable(text).0;
    let own = parsed.get_ref().get("symmetry").and_then(|section| section.get_ref().as_table());
    let named = |key: &str| own.is_some_and(|table| table.get(key).is_some());
    // A key that contradicts those of the text, such as a reflection beside k = 1, is left out too.
    let given = file.symmetry.clone().unwrap_or_default();
    let (mut lines, mut notes) = (Vec::new(), Vec::new());
    for key in KEYS.into_iter().filter(|key| !named(key)) {
        match with_one(given.clone(), key, &file.lattice).group(&operator, &charges) {
            Ok(_) if key == "spin_inversion" && inverts_electrons_alone(&operator, &charges) => {}
            Ok(_) if key == "exchange" && named("spin_inversion") && inverts_electrons_alone(&operator, &charges) => {}
            Ok(_) => lines.push(format!("{key} = \"all\"\n")),
            // What the lattice or its sites do not know needs no word.
            Err(
                SymmetryError::NotPeriodic { .. }
                | SymmetryError::NoReflection { .. }
                | SymmetryError::NothingToInvert { .. },
            ) => {}
            Err(why) => notes.push(format!("`{key}` is left out: {why}")),
        }
    }
    if lines.is_empty() {
        return (text.into(), notes);
    }
    let lines = lines.concat();
    let mut at = 0;
    let header = text.split_inclusive('\n').find_map(|line| {
        at += line.len();
        line.trim_start().starts_with("[symmetry]").then_some(at)
    });
    let text = match header {
        Some(end) => {
            let gap = if text[..end].ends_with('\n') { "" } else { "\n" };
            format!("{}{gap}{lines}{}", &text[..end], &text[end..])
        }
        None => format!("{}\n\n[symmetry]\n{lines}", text.trim_end()),
    };
    (text, notes)
}

/// A sector with one more key, whose value every model with the symmetry has.
fn with_one(own: Symmetry, key: &str, lattice: &Lattice) -> Symmetry {
    match key {
        "k" => own.k(&vec![0; lattice.periodic_directions().len()]),
        "reflection" => own.reflection(1),
        "spin_inversion" => own.spin_inversion(1),
        _ => own.exchange(1),
    }
}

/// Whether the inversion of spins is the exchange of electrons, so that both cannot have signs of their own.
fn inverts_electrons_alone(operator: &Operator, charges: &[(Charge, i64)]) -> bool {
    let both = Symmetry::new().spin_inversion(1).exchange(-1).group(operator, charges);
    matches!(both, Err(SymmetryError::NoRepresentation { .. }))
}

/// What becomes of a point.
pub(super) enum Fate {
    /// It is solved, with these values.
    Solved(Vec<String>),
    /// It has the energies of an earlier point.
    Joined(usize),
    /// No state has these values.
    Impossible,
}

/// The axes that are "all", and what is known of the points so far.
pub(super) struct AllSectors {
    /// Numbers of the axes of momenta and reflections that are "all".
    momentum: Option<usize>,
    reflection: Option<usize>,
    /// Whether the file has a sign of the reflection.
    fixed_reflection: bool,
    /// Axes that are no symmetry.
    outer: Vec<usize>,
    /// Of each point that is solved, the number of its value of each axis.
    solved: Vec<Vec<usize>>,
    /// The joins for the values of the outer axes.
    joins: Vec<(Vec<usize>, Momenta, Joins)>,
}

impl AllSectors {
    /// `keys` of the axes, and which of them are "all"; `None` if none is.
    pub(super) fn new(file: &DeTable<'_>, keys: &[(&str, bool)]) -> Option<AllSectors> {
        let all = |key: &str| keys.iter().position(|own| *own == (key, true));
        let symmetry = file.get("symmetry")?.get_ref().as_table()?;
        let has_sign = |value: &Spanned<DeValue<'_>>| value.get_ref().as_str() != Some("none");
        keys.iter().any(|(_, all)| *all).then(|| AllSectors {
            momentum: all(MOMENTUM),
            reflection: all(REFLECTION),
            fixed_reflection: all(REFLECTION).is_none() && symmetry.get("reflection").is_some_and(has_sign),
            outer: (0..keys.len()).filter(|axis| !keys[*axis].0.starts_with("symmetry.")).collect(),
            solved: Vec::new(),
            joins: Vec::new(),
        })
    }

    /// What becomes of the point of these values, numbers of which are given.
    pub(super) fn fate(&mut self, numbers: &[usize], mut values: Vec<String>) -> Fate {
        let Some(axis) = self.momentum else {
            self.solved.push(numbers.to_vec());
            return Fate::Solved(values);
        };
        let outer = self.outer_values(numbers);
        let known = self.joins.iter().find(|(of, ..)| *of == outer);
        // The first point has k = 0, which has every symmetry.
        let Some((_, momenta, joins)) = known else {
            self.solved.push(numbers.to_vec());
            return Fate::Solved(values);
        };
        let all = momenta.all();
        let has_sign = momenta.has_reflection(&all[numbers[axis]]);
        if let (Some(reflection), false) = (self.reflection, has_sign) {
            if numbers[reflection] > 0 {
                return Fate::Impossible;
            }
            values[reflection] = NONE.into();
        } else if self.fixed_reflection && !has_sign {
            return Fate::Impossible;
        }
        let with_reflection = has_sign && (self.reflection.is_some() || self.fixed_reflection);
        let star = joins.star(numbers[axis], &all, with_reflection);
        let joined = self.solved.iter().position(|other| {
            let others = || (0..numbers.len()).filter(|number| *number != axis);
            let same_sign = momenta.has_reflection(&all[other[axis]]) == has_sign || !self.names_reflection();
            same_sign && star.contains(&other[axis]) && others().all(|number| other[number] == numbers[number])
        });
        match joined {
            Some(joined) => Fate::Joined(joined),
            None => {
                self.solved.push(numbers.to_vec());
                Fate::Solved(values)
            }
        }
    }

    fn names_reflection(&self) -> bool {
        self.reflection.is_some() || self.fixed_reflection
    }

    fn outer_values(&self, numbers: &[usize]) -> Vec<usize> {
        self.outer.iter().map(|axis| numbers[*axis]).collect()
    }

    /// Keeps what the file of a point that is solved tells of the others.
    pub(super) fn learn(&mut self, numbers: &[usize], file: &InputFile) {
        let outer = self.outer_values(numbers);
        if let (InputFile::Lattice(file), false) = (file, self.joins.iter().any(|(of, ..)| *of == outer)) {
            self.joins.push((outer, Momenta::of(&file.lattice), Joins::of(file)));
        }
    }

    /// The key whose values are joined.
    pub(super) fn momentum(&self) -> Option<usize> {
        self.momentum
    }

    /// Whether symmetries are all that changes.
    pub(super) fn alone(&self) -> bool {
        self.outer.is_empty()
    }
}
