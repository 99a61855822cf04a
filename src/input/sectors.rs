//! `"all"` in `[symmetry]`: every momentum, every irrep of its little group and both signs, each sector that has the same energies as
//! another solved once.
//!
//! In: the file with its axes of values. Out: the values of a key that is `"all"`, and for each point of the sweep whether it is
//! solved, or has the energies of one that is.
//!
//! * At a momentum that `reflection` does not leave as it is, no state has a sign under it: there `reflection = "all"` is left out,
//!   `"none"`, and with a sign in the file the momentum is.
//! * If H is real, k and −k have the same energies, for complex conjugation takes one to the other, and an irrep to its conjugate.
//!   Rotations and mirrors of the lattice under which H is invariant join more momenta; an irrep goes to the one of the other little
//!   group that has the same characters there. Beside `generators` nothing is joined.
//! * Particle–hole symmetry is left out beside symmetries with which it anticommutes.
//! * An irrep that is named is left out at momenta whose little group has not got it.
//! * An irrep without a state, since a rotation of a small torus is one of its translations, is left out.

use super::problem::Wrong;
use super::section::{Problems, Section};
use super::{InputFile, ModelFile, SiteLimit, lattice};
use crate::basis::Sector;
use crate::lattice::{Irrep, Lattice, LatticeKind, Momenta, PointGroup};
use crate::operator::{Charge, Operator, Symmetry, SymmetryError};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The key of momenta.
const MOMENTUM: &str = "symmetry.k";

/// The key of irreps.
const IRREP: &str = "symmetry.irrep";

/// The key of the sign that not every momentum has.
const REFLECTION: &str = "symmetry.reflection";

/// No sign, as it is written in the file of a point.
pub(super) const NONE: &str = "\"none\"";

/// The irrep of which all characters are 1, in the same way.
pub(super) const TRIVIAL: &str = "\"trivial\"";

/// The keys that may be "all".
const KEYS: [&str; 6] = ["k", "irrep", "reflection", "spin_inversion", "exchange", "particle_hole"];

/// The most irreps of a little group.
const MOST_IRREPS: usize = 6;

/// Whether a value stands for all sectors. Only files about a lattice have them.
pub(super) fn is_all(file: &DeTable<'_>, section: &str, key: &str, value: &Spanned<DeValue<'_>>) -> bool {
    section == "symmetry"
        && KEYS.contains(&key)
        && value.get_ref().as_str() == Some("all")
        && file.get("lattice").is_some_and(|lattice| lattice.get_ref().is_table())
}

/// All values of a key, as texts.
pub(super) fn values(file: &DeTable<'_>, key: &str, place: Range<usize>, problems: &Problems) -> Option<Vec<String>> {
    match key {
        "k" => {}
        // Their number until the little group of a point is known.
        "irrep" => return Some((0..MOST_IRREPS).map(|number| number.to_string()).collect()),
        _ => return Some(vec!["1".into(), "-1".into()]),
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
    if momenta.orders().is_empty() {
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

/// Which sectors there are for values of the other keys, and which of them have the same energies.
struct Known {
    /// Of each momentum of the axis, or of the file's where there is no axis: its little group, of the point group that is named or of
    /// the largest that H has, with its irreps.
    little: Vec<(PointGroup, Vec<Irrep>)>,
    /// Of each whether the reflection of the first direction leaves it as it is.
    reflected: Vec<bool>,
    /// The identity, and the rotations and mirrors that leave H as it is; the number of the momentum to which each takes each.
    operations: Vec<(Steps, Vec<Option<usize>>)>,
    /// The number of −k of each; none where H is complex.
    negative: Option<Vec<Option<usize>>>,
}

/// Where a step along each direction goes.
type Steps = [[i64; 2]; 2];

/// A momentum by its number and an irrep of its little group by its number; 0 where irreps are not asked for.
type Place = (usize, usize);

impl Known {
    fn of(file: &ModelFile, axis: bool) -> Known {
        let known = Momenta::of(&file.lattice);
        let (operator, charges) = (file.operator().reduced(), charges(file));
        let symmetry = file.symmetry.clone().unwrap_or_default();
        // None where no rotation or mirror is a symmetry.
        let group = symmetry.point_group_of(&operator, &charges).unwrap_or_else(|_| PointGroup::of(&[]));
        let momenta: Vec<Option<Vec<i64>>> = match axis {
            true => known.all().into_iter().map(Some).collect(),
            false => vec![symmetry.momentum().map(<[i64]>::to_vec)],
        };
        let turned = |k: &Option<Vec<i64>>, steps| k.as_ref().and_then(|k| known.turned(k, steps));
        let number = |k: &Option<Vec<i64>>| momenta.iter().position(|own| own == k);
        let joins = file.symmetry.as_ref().is_some_and(|symmetry| !symmetry.has_generators());
        let one = [[1, 0], [0, 1]];
        // One that changes the sign under particle–hole symmetry joins sectors of different signs.
        let holes = symmetry.particle_hole_alone();
        let keeps_holes = |place: &[usize]| match &holes {
            Some(holes) => holes.clone().generator(place, 1.0.into()).group(&operator, &charges).is_ok(),
            None => true,
        };
        let others =
            group.operations().filter(|operation| joins && operation.steps != one && keeps_holes(&operation.place));
        let others = others.map(|operation| operation.steps);
        let images = |steps| (steps, momenta.iter().map(|k| number(&turned(k, steps))).collect());
        let negative = || momenta.iter().map(|k| number(&k.as_ref().map(|k| known.negative(k)))).collect();
        let little = |k: &Option<Vec<i64>>| {
            let little = group.kept(|operation| turned(k, operation.steps) == *k);
            let irreps = little.irreps();
            (little, irreps)
        };
        Known {
            little: momenta.iter().map(little).collect(),
            reflected: momenta.iter().map(|k| turned(k, [[-1, 0], [0, 1]]) == *k).collect(),
            operations: std::iter::once(one).chain(others).map(images).collect(),
            negative: (joins && !operator.is_complex()).then(negative),
        }
    }

    /// All sectors with the energies of one. With a sign under a reflection a rotation would take that to another one.
    fn star(&self, start: Place, with_reflection: bool, with_irreps: bool) -> Vec<Place> {
        let (mut star, mut next) = (vec![start], 0);
        let operations = if with_reflection { &self.operations[..1] } else { &self.operations[..] };
        while next < star.len() {
            let (k, irrep) = star[next];
            next += 1;
            for (steps, images) in operations {
                let conjugate =
                    self.negative.as_ref().map(|negative| (images[k].and_then(|there| negative[there]), true));
                for (there, conjugate) in [Some((images[k], false)), conjugate].into_iter().flatten() {
                    let Some(there) = there else { continue };
                    let ((group, irreps), (other, others)) = (&self.little[k], &self.little[there]);
                    let irrep = match with_irreps {
                        true => group.taken(&irreps[irrep], *steps, (other, others), conjugate),
                        false => Some(0),
                    };
                    star.extend(irrep.map(|irrep| (there, irrep)).filter(|place| !star.contains(place)));
                }
            }
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
    // A mirror of a chain is its reflection; where there are two directions irreps say more than one reflection does.
    let has_irreps = || has_irreps(file) && Symmetry::new().irrep("trivial").group(&operator, &charges).is_ok();
    let by_irreps = named("irrep") || (!named("reflection") && has_irreps());
    // A key that contradicts those of the text, such as a reflection beside k = 1, is left out too.
    let given = file.symmetry.clone().unwrap_or_default();
    let (mut all, mut lines, mut notes) = (given.clone(), Vec::new(), Vec::new());
    let left_out = if by_irreps { "reflection" } else { "irrep" };
    for key in KEYS.into_iter().filter(|key| !named(key) && *key != left_out) {
        // Particle–hole symmetry need not go together with the others.
        let beside = if key == "particle_hole" { &all } else { &given };
        match with_one(beside.clone(), key, &file.lattice).group(&operator, &charges) {
            Ok(_) if key == "spin_inversion" && inverts_electrons_alone(&operator, &charges) => {}
            Ok(_) if key == "exchange" && named("spin_inversion") && inverts_electrons_alone(&operator, &charges) => {}
            Ok(_) => {
                all = with_one(all, key, &file.lattice);
                lines.push(format!("{key} = \"all\"\n"));
            }
            // What the lattice or its sites do not know needs no word.
            Err(
                SymmetryError::NotPeriodic { .. }
                | SymmetryError::NoReflection { .. }
                | SymmetryError::NoPointGroup { .. }
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

/// Whether the lattice is one whose rotations and mirrors are taken in place of a reflection.
fn has_irreps(file: &ModelFile) -> bool {
    !matches!(file.lattice.kind(), LatticeKind::Chain | LatticeKind::Ladder | LatticeKind::Edges)
}

/// A sector with one more key, whose value every model with the symmetry has.
fn with_one(own: Symmetry, key: &str, lattice: &Lattice) -> Symmetry {
    match key {
        "k" => own.k(&vec![0; lattice.translations().len()]),
        "irrep" => own.irrep("trivial"),
        "reflection" => own.reflection(1),
        "spin_inversion" => own.spin_inversion(1),
        "exchange" => own.exchange(1),
        _ => own.particle_hole(1),
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
    /// It has the energies of an earlier point; its own values.
    Joined(usize, Vec<String>),
    /// No state has these values.
    Impossible,
}

/// The axes that are "all", and what is known of the points so far.
pub(super) struct AllSectors {
    /// Numbers of the axes of momenta, irreps and reflections that are "all".
    momentum: Option<usize>,
    irrep: Option<usize>,
    reflection: Option<usize>,
    /// The axis of irreps that are named one by one.
    named_irreps: Option<usize>,
    /// The irrep of the file, where it has one, and its place in the text.
    fixed_irrep: Option<(String, Range<usize>)>,
    /// Whether the file has a sign of the reflection.
    fixed_reflection: bool,
    /// Axes that are not "all".
    outer: Vec<usize>,
    /// Whether all axes are symmetries.
    alone: bool,
    /// Of each point that is solved, the number of its value of each axis, and its sector.
    solved: Vec<(Vec<usize>, Place)>,
    /// What is known for the values of the outer axes.
    known: Vec<(Vec<usize>, Known)>,
}

impl AllSectors {
    /// `keys` of the axes, and which of them are "all"; `None` if none is.
    pub(super) fn new(file: &DeTable<'_>, keys: &[(&str, bool)]) -> Option<AllSectors> {
        let all = |key: &str| keys.iter().position(|own| *own == (key, true));
        let symmetry = file.get("symmetry")?.get_ref().as_table()?;
        let has_sign = |value: &Spanned<DeValue<'_>>| value.get_ref().as_str() != Some("none");
        let irrep = symmetry.get("irrep").and_then(|value| Some((value.get_ref().as_str()?, value.span())));
        keys.iter().any(|(_, all)| *all).then(|| AllSectors {
            momentum: all(MOMENTUM),
            irrep: all(IRREP),
            reflection: all(REFLECTION),
            named_irreps: keys.iter().position(|own| *own == (IRREP, false)),
            fixed_irrep: irrep.filter(|(label, _)| *label != "all").map(|(label, place)| (label.into(), place)),
            fixed_reflection: all(REFLECTION).is_none() && symmetry.get("reflection").is_some_and(has_sign),
            outer: (0..keys.len()).filter(|axis| !keys[*axis].1).collect(),
            alone: keys.iter().all(|(key, _)| key.starts_with("symmetry.")),
            solved: Vec::new(),
            known: Vec::new(),
        })
    }

    /// The values of the first point with this one's other values, where nothing is known of its sectors: it has every symmetry. Of an
    /// irrep that the file fixes, its place, for the first momentum may not have it.
    pub(super) fn unknown(&self, numbers: &[usize], values: &[String]) -> Option<(Vec<String>, Option<Range<usize>>)> {
        let outer = self.outer_values(numbers);
        if (self.momentum.is_none() && self.irrep.is_none()) || self.known.iter().any(|(of, ..)| *of == outer) {
            return None;
        }
        let mut values = values.to_vec();
        if let Some(axis) = self.irrep.or(self.named_irreps) {
            values[axis] = TRIVIAL.into();
        }
        Some((values, self.fixed_irrep.as_ref().map(|(_, place)| place.clone())))
    }

    /// What becomes of the point of these values, numbers of which are given.
    pub(super) fn fate(&mut self, numbers: &[usize], mut values: Vec<String>) -> Fate {
        let outer = self.outer_values(numbers);
        let Some((_, known)) = self.known.iter().find(|(of, ..)| *of == outer) else {
            self.solved.push((numbers.to_vec(), (0, 0)));
            return Fate::Solved(values);
        };
        let momentum = self.momentum.map_or(0, |axis| numbers[axis]);
        let named = match (self.named_irreps, &self.fixed_irrep) {
            (Some(axis), _) => Some(values[axis].trim_matches('"').to_string()),
            (None, fixed) => fixed.as_ref().map(|(label, _)| label.clone()),
        };
        // The trivial irrep is that of every momentum of a star.
        let named = named.filter(|label| label != "trivial");
        let with_irreps = self.irrep.is_some() || named.is_some();
        let mut irrep = 0;
        if with_irreps {
            let irreps = &known.little[momentum].1;
            let number = match self.irrep {
                Some(axis) => Some(numbers[axis]).filter(|number| *number < irreps.len()),
                None => irreps.iter().position(|irrep| Some(&irrep.label) == named.as_ref()),
            };
            let Some(number) = number else { return Fate::Impossible };
            irrep = number;
            if let Some(axis) = self.irrep {
                values[axis] = format!("{:?}", irreps[number].label);
            }
        }
        let has_sign = known.reflected[momentum];
        if let (Some(reflection), false) = (self.reflection, has_sign) {
            if numbers[reflection] > 0 {
                return Fate::Impossible;
            }
            values[reflection] = NONE.into();
        } else if self.fixed_reflection && !has_sign {
            return Fate::Impossible;
        }
        let names_reflection = self.reflection.is_some() || self.fixed_reflection;
        let place = (momentum, irrep);
        let star = known.star(place, has_sign && names_reflection, with_irreps);
        let axes = [self.momentum, self.irrep];
        let joined = self.solved.iter().position(|(other, there)| {
            let others = || (0..numbers.len()).filter(|number| !axes.contains(&Some(*number)));
            let same_sign = !names_reflection || known.reflected[there.0] == has_sign;
            same_sign && star.contains(there) && others().all(|number| other[number] == numbers[number])
        });
        match joined {
            Some(joined) => Fate::Joined(joined, values),
            None => {
                self.solved.push((numbers.to_vec(), place));
                Fate::Solved(values)
            }
        }
    }

    /// The last point that was to be solved has no states.
    pub(super) fn withdraw(&mut self) {
        self.solved.pop();
    }

    fn outer_values(&self, numbers: &[usize]) -> Vec<usize> {
        self.outer.iter().map(|axis| numbers[*axis]).collect()
    }

    /// Keeps what the file of a point tells of the others.
    pub(super) fn learn(&mut self, numbers: &[usize], file: &InputFile) {
        if let InputFile::Lattice(file) = file {
            self.known.push((self.outer_values(numbers), Known::of(file, self.momentum.is_some())));
        }
    }

    /// A point that has the energies of another, by what is different: "9" of k = 9, "[0, 2] as B2", "E-".
    pub(super) fn joined_text(&self, own: &[String], other: &[String]) -> String {
        let irrep = self.irrep.map(|axis| (own[axis].trim_matches('"'), other[axis].trim_matches('"')));
        match (self.momentum, irrep) {
            (Some(k), Some((own_label, other_label))) if own_label != other_label => {
                format!("{} as {own_label}", own[k])
            }
            (Some(k), _) => own[k].clone(),
            (None, irrep) => irrep.map_or_else(String::new, |(label, _)| label.to_string()),
        }
    }

    /// Whether irreps are among the values.
    pub(super) fn has_irreps(&self) -> bool {
        self.irrep.is_some()
    }

    /// Whether symmetries are all that changes.
    pub(super) fn alone(&self) -> bool {
        self.alone
    }
}
