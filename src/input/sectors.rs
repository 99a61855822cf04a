//! `"all"` in `[symmetry]` and `[sector]`: every momentum, every irrep of its little group and both signs, each sector that has the same energies as
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
//! * Where charges are "all" ([`super::charges`]), a sign that a sector has not, such as that of spin inversion at 2Sz = 2, is `"none"`
//!   there, and with a sign in the file the sector is left out. Charges that the inversion of all spins takes to each other have the
//!   same energies where H is invariant under it.
//! * An irrep without a state, since a rotation of a small torus is one of its translations, is left out.

use super::problem::Wrong;
use super::section::{Problems, Section};
use super::{InputFile, ModelFile, SiteLimit, charges, lattice};
use crate::basis::Sector;
use crate::lattice::{Lattice, LatticeKind, Momenta, PointGroup, PointIrrep};
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
    let may_be_all = match section {
        "symmetry" => KEYS.contains(&key),
        "sector" => charges::may_be_all(file, key),
        _ => false,
    };
    may_be_all
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
    let momenta = Momenta::new(&lattice);
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
    little: Vec<(PointGroup, Vec<PointIrrep>)>,
    /// Of each whether the reflection of the first direction leaves it as it is.
    reflected: Vec<bool>,
    /// The identity, and the rotations and mirrors that leave H as it is; the number of the momentum to which each takes each.
    operations: Vec<(Steps, Vec<Option<usize>>)>,
    /// The number of −k of each; none where H is complex.
    negative: Option<Vec<Option<usize>>>,
    /// The signs that the sector has, of those that were asked for.
    signs: Vec<&'static str>,
    /// The charges of the sector, and those of the sector to which an inversion of all spins takes it.
    charges: Vec<(Charge, i64)>,
    inverted: Option<Vec<(Charge, i64)>>,
    /// States of the sector without symmetry.
    states: Option<u128>,
}

/// Where a step along each direction goes.
type Steps = [[i64; 2]; 2];

/// A momentum by its number and an irrep of its little group by its number; 0 where irreps are not asked for.
type Place = (usize, usize);

impl Known {
    /// `signs` are asked for beside the symmetries of the file.
    fn new(file: &ModelFile, axis: bool, signs: &[&'static str]) -> Known {
        let known = Momenta::new(&file.lattice);
        let (operator, charges) = (file.operator().reduced(), file.exact_charges());
        let mut symmetry = file.symmetry.clone().unwrap_or_default();
        let mut had = Vec::new();
        for sign in signs {
            let with = with_one(symmetry.clone(), sign, &file.lattice);
            if with.group(&operator, &charges).is_ok() {
                symmetry = with;
                had.push(*sign);
            }
        }
        // None where no rotation or mirror is a symmetry.
        let group = symmetry.point_group_of(&operator, &charges).unwrap_or_else(|_| PointGroup::largest(&[]));
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
            let little = group.subgroup(|operation| turned(k, operation.steps) == *k);
            let irreps = little.irreps();
            (little, irreps)
        };
        Known {
            little: momenta.iter().map(little).collect(),
            reflected: momenta.iter().map(|k| turned(k, [[-1, 0], [0, 1]]) == *k).collect(),
            operations: std::iter::once(one).chain(others).map(images).collect(),
            negative: (joins && !operator.is_complex()).then(negative),
            signs: had,
            inverted: Symmetry::inverted_charges(&operator, &charges),
            charges,
            states: file.dimension(),
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

impl ModelFile {
    /// The charges of a sector that is diagonalised; none of flavours, which are not.
    pub(super) fn exact_charges(&self) -> Vec<(Charge, i64)> {
        match &self.sector {
            Sector::Flavours(_) => Vec::new(),
            sector => sector.charge_values(),
        }
    }
}

/// The reduced operator, the charges and the symmetries of a file.
type GivenSector = (Operator, Vec<(Charge, i64)>, Symmetry);

/// Every symmetry that has a name, that H has and that the text does not name; and for each that H does not have, why. Where the charges run,
/// `files` are those of all sectors, and a symmetry is one that any of them has.
pub(super) fn unused(files: &[&ModelFile], text: &str) -> (Vec<&'static str>, Vec<String>) {
    let parsed = DeTable::parse_recoverable(text).0;
    let sector = parsed.get_ref().get("sector").and_then(|section| section.get_ref().as_table());
    if sector.is_some_and(|table| table.get("exchange").is_some()) {
        let note = "the file is solved as it is: `exchange` in [sector] stands alone; write it in [symmetry] for other symmetries beside it";
        return (Vec::new(), vec![note.into()]);
    }
    let own = parsed.get_ref().get("symmetry").and_then(|section| section.get_ref().as_table());
    let named = |key: &str| own.is_some_and(|table| table.get(key).is_some());
    let sectors: Vec<GivenSector> = files
        .iter()
        .map(|file| (file.operator().reduced(), file.exact_charges(), file.symmetry.clone().unwrap_or_default()))
        .collect();
    let (first, lattice) = (files[0], &files[0].lattice);
    // A mirror of a chain is its reflection; where there are two directions irreps say more than one reflection does.
    let trivial = || Symmetry::new().irrep("trivial").group(&sectors[0].0, &sectors[0].1).is_ok();
    let by_irreps = named("irrep") || (!named("reflection") && has_irreps(first) && trivial());
    let left_out = if by_irreps { "reflection" } else { "irrep" };
    let (mut found, mut notes) = (Vec::new(), Vec::new());
    for key in KEYS.into_iter().filter(|key| !named(key) && *key != left_out) {
        let mut refused = None;
        let has = |(operator, charges, given): &GivenSector| {
            // A key that contradicts those of the text, such as a reflection beside k = 1, is left out too; particle–hole symmetry
            // where it does not go together with the others.
            let beside = match key {
                "particle_hole" => joint(given, &found, lattice, operator, charges),
                _ => given.clone(),
            };
            match with_one(beside, key, lattice).group(operator, charges) {
                Ok(_) => Some(inverts_electrons_alone(operator, charges)),
                Err(why) => {
                    if !matches!((&refused, &why), (Some(_), SymmetryError::OtherSector { .. })) {
                        refused = Some(why);
                    }
                    None
                }
            }
        };
        match (sectors.iter().find_map(has), refused) {
            (Some(true), _) if key == "spin_inversion" => {}
            (Some(true), _) if key == "exchange" && named("spin_inversion") => {}
            (Some(_), _) if key == "reflection" && sectors.iter().all(|sector| is_product(sector, &found, lattice)) => {
            }
            (Some(_), _) => found.push(key),
            // What the lattice or its sites do not know needs no word.
            (
                None,
                None
                | Some(
                    SymmetryError::NotPeriodic { .. }
                    | SymmetryError::NoReflection { .. }
                    | SymmetryError::NoPointGroup { .. }
                    | SymmetryError::NothingToInvert { .. },
                ),
            ) => {}
            (None, Some(why)) => notes.push(format!("`{key}` is left out: {why}")),
        }
    }
    (found, notes)
}

/// The text of a file with `"all"` for its [`unused`] symmetries; and for each that H does not have, why.
pub(super) fn with_all(files: &[&ModelFile], text: &str) -> (String, Vec<String>) {
    let (found, notes) = unused(files, text);
    let lines: Vec<String> = found.iter().map(|key| format!("{key} = \"all\"\n")).collect();
    if lines.is_empty() {
        return (text.into(), notes);
    }
    let lines = lines.concat();
    let mut at = 0;
    let header = text.split_inclusive('\n').find_map(|line| {
        at += line.len();
        line.trim_start().starts_with("[symmetry]").then_some(at)
    });
    if let Some(open) = inline_symmetry(text) {
        let keys: String = found.iter().map(|key| format!(" {key} = \"all\",")).collect();
        return (format!("{}{keys}{}", &text[..open], &text[open..]), notes);
    }
    let text = match header {
        Some(end) => {
            let gap = if text[..end].ends_with('\n') { "" } else { "\n" };
            format!("{}{gap}{lines}{}", &text[..end], &text[end..])
        }
        None => format!("{}\n\n[symmetry]\n{lines}", text.trim_end()),
    };
    (text, notes)
}

/// The place behind the brace of `symmetry = { … }`.
fn inline_symmetry(text: &str) -> Option<usize> {
    let place = DeTable::parse_recoverable(text).0.get_ref().get("symmetry")?.span();
    text.get(place.clone())?.starts_with('{').then_some(place.start + 1)
}

/// The text without what is of all sectors together alone: a `storage` beside no symmetry gets a sign that is none.
pub(super) fn with_some(text: &str) -> String {
    let parsed = DeTable::parse_recoverable(text).0;
    let symmetry = parsed.get_ref().get("symmetry").and_then(|section| section.get_ref().as_table());
    match symmetry.and_then(|table| Some((table.get("storage")?, table.len()))) {
        Some((storage, 1)) => {
            let (end, inline) = (storage.span().end, inline_symmetry(text).is_some());
            let more = if inline { ", exchange = \"none\"" } else { "\nexchange = \"none\"" };
            format!("{}{more}{}", &text[..end], &text[end..])
        }
        _ => text.into(),
    }
}

/// Whether the lattice is one whose rotations and mirrors are taken in place of a reflection.
fn has_irreps(file: &ModelFile) -> bool {
    !matches!(file.lattice.kind(), LatticeKind::Chain | LatticeKind::Ladder | LatticeKind::Edges)
}

/// Whether the reflection is a product of the other symmetries, such as a translation by half of a ring of two, so that its sign is theirs.
fn is_product((operator, charges, given): &GivenSector, others: &[&'static str], lattice: &Lattice) -> bool {
    let others = joint(given, others, lattice, operator, charges);
    let of = |sign: i64| others.clone().reflection(sign).group(operator, charges);
    of(1).is_ok() && matches!(of(-1), Err(SymmetryError::NoRepresentation { .. }))
        || matches!(Symmetry::new().reflection(-1).group(operator, charges), Err(SymmetryError::NotARoot { .. }))
}

/// Symmetries with all of these keys that go together.
fn joint(
    given: &Symmetry,
    keys: &[&'static str],
    lattice: &Lattice,
    operator: &Operator,
    charges: &[(Charge, i64)],
) -> Symmetry {
    keys.iter().fold(given.clone(), |own, key| {
        let with = with_one(own.clone(), key, lattice);
        if with.group(operator, charges).is_ok() { with } else { own }
    })
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

/// A place of the file with the text that is there instead.
pub(super) type Splice = (Range<usize>, &'static str);

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
    /// The place of a sign of the reflection that the file has.
    fixed_reflection: Option<Range<usize>>,
    /// Axes of charges that are "all".
    charges: Vec<usize>,
    /// Where these are, the axes of signs that not every sector has, and the places of those that the file has.
    signs: Vec<(&'static str, usize)>,
    fixed_signs: Vec<(&'static str, Range<usize>)>,
    /// Axes that are not "all", and those of charges.
    outer: Vec<usize>,
    /// The names of all axes, without their sections.
    names: Vec<String>,
    /// Whether all axes are symmetries or charges.
    alone: bool,
    /// Of each point that is solved, the number of its value of each axis, and its sector.
    solved: Vec<(Vec<usize>, Place)>,
    /// What is known for the values of the outer axes.
    known: Vec<(Vec<usize>, Known)>,
    /// The values of the outer axes that no state has.
    empty: Vec<Vec<usize>>,
}

/// The keys of signs that depend on the charges.
const SIGNS: [&str; 3] = ["spin_inversion", "exchange", "particle_hole"];

impl AllSectors {
    /// `keys` of the axes, and which of them are "all"; `None` if none is.
    pub(super) fn new(file: &DeTable<'_>, keys: &[(&str, bool)]) -> Option<AllSectors> {
        let all = |key: &str| keys.iter().position(|own| *own == (key, true));
        let symmetry = file.get("symmetry").and_then(|section| section.get_ref().as_table());
        let key = |key: &str| symmetry?.get(key);
        let has_sign = |value: &Spanned<DeValue<'_>>| value.get_ref().as_str() != Some("none");
        let irrep = key("irrep").and_then(|value| Some((value.get_ref().as_str()?, value.span())));
        let is_charge = |axis: &usize| keys[*axis].1 && keys[*axis].0.starts_with(charges::SECTION);
        let charges: Vec<usize> = (0..keys.len()).filter(is_charge).collect();
        let runs = !charges.is_empty();
        let depends = |sign: &&'static str| runs && key(sign).is_some_and(has_sign);
        let axis = |sign: &'static str| Some((sign, all(&format!("symmetry.{sign}"))?));
        let fixed = |sign: &'static str| Some((sign, key(sign).filter(|value| value.get_ref().is_integer())?.span()));
        keys.iter().any(|(_, all)| *all).then(|| AllSectors {
            momentum: all(MOMENTUM),
            irrep: all(IRREP),
            reflection: all(REFLECTION),
            named_irreps: keys.iter().position(|own| *own == (IRREP, false)),
            fixed_irrep: irrep.filter(|(label, _)| *label != "all").map(|(label, place)| (label.into(), place)),
            fixed_reflection: key("reflection")
                .filter(|value| all(REFLECTION).is_none() && has_sign(value))
                .map(Spanned::span),
            signs: SIGNS.into_iter().filter(depends).filter_map(axis).collect(),
            fixed_signs: SIGNS.into_iter().filter(depends).filter_map(fixed).collect(),
            outer: (0..keys.len()).filter(|axis| !keys[*axis].1 || charges.contains(axis)).collect(),
            alone: keys.iter().enumerate().all(|(k, (key, _))| key.starts_with("symmetry.") || charges.contains(&k)),
            charges,
            names: keys.iter().map(|(key, _)| super::sweep::short(key).to_string()).collect(),
            solved: Vec::new(),
            known: Vec::new(),
            empty: Vec::new(),
        })
    }

    /// The values of the first point with this one's other values, where nothing is known of its sectors: it has every symmetry, but for
    /// signs that depend on the charges. With it come places of the file with other texts: of an irrep that the file fixes, for the
    /// first momentum may not have it, and of such signs.
    pub(super) fn unknown(&self, numbers: &[usize], values: &[String]) -> Option<(Vec<String>, Vec<Splice>)> {
        let outer = self.outer_values(numbers);
        let of_momenta = self.momentum.is_some() || self.irrep.is_some();
        let asks = of_momenta || !self.charges.is_empty();
        if !asks || self.known.iter().any(|(of, ..)| *of == outer) || self.empty.contains(&outer) {
            return None;
        }
        let mut values = values.to_vec();
        if let Some(axis) = self.irrep.or(self.named_irreps) {
            values[axis] = TRIVIAL.into();
        }
        self.signs.iter().for_each(|(_, axis)| values[*axis] = NONE.into());
        let irrep = self.fixed_irrep.iter().filter(|_| of_momenta).map(|(_, place)| (place.clone(), TRIVIAL));
        let signs = self.fixed_signs.iter().map(|(_, place)| (place.clone(), NONE));
        Some((values, irrep.chain(signs).collect()))
    }

    /// The text without the sign of the reflection that the file has, which the first momentum of a small cluster may contradict.
    pub(super) fn without_reflection(&self) -> Option<Splice> {
        self.fixed_reflection.clone().map(|place| (place, NONE))
    }

    /// What becomes of the point of these values, numbers of which are given.
    pub(super) fn fate(&mut self, numbers: &[usize], mut values: Vec<String>) -> Fate {
        let outer = self.outer_values(numbers);
        if self.empty.contains(&outer) {
            return Fate::Impossible;
        }
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
        } else if self.fixed_reflection.is_some() && !has_sign {
            return Fate::Impossible;
        }
        for (_, axis) in self.signs.iter().filter(|(sign, _)| !known.signs.contains(sign)) {
            if numbers[*axis] > 0 {
                return Fate::Impossible;
            }
            values[*axis] = NONE.into();
        }
        if self.fixed_signs.iter().any(|(sign, _)| !known.signs.contains(sign)) {
            return Fate::Impossible;
        }
        let names_reflection = self.reflection.is_some() || self.fixed_reflection.is_some();
        let place = (momentum, irrep);
        let star = known.star(place, has_sign && names_reflection, with_irreps);
        let axes = [self.momentum, self.irrep];
        let joined = self.solved.iter().position(|(other, there)| {
            let is_other = |number: &usize| !axes.contains(&Some(*number)) && !self.charges.contains(number);
            let others = || (0..numbers.len()).filter(is_other);
            let same_charges = |other: &[usize]| {
                let of_other = || self.known.iter().find(|(of, _)| *of == self.outer_values(other));
                self.charges.iter().all(|axis| other[*axis] == numbers[*axis])
                    || of_other().is_some_and(|(_, other)| known.inverted.as_ref() == Some(&other.charges))
            };
            let same_sign = !names_reflection || known.reflected[there.0] == has_sign;
            same_sign
                && star.contains(there)
                && others().all(|number| other[number] == numbers[number])
                && same_charges(other)
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
            let own = self.signs.iter().map(|(sign, _)| *sign);
            let signs: Vec<&'static str> = own.chain(self.fixed_signs.iter().map(|(sign, _)| *sign)).collect();
            self.known.push((self.outer_values(numbers), Known::new(file, self.momentum.is_some(), &signs)));
        }
    }

    /// Keeps that no state has the charges of a point.
    pub(super) fn learn_empty(&mut self, numbers: &[usize]) {
        self.empty.push(self.outer_values(numbers));
    }

    /// A point that has the energies of another, by what is different: "9" of k = 9, "[0, 2] as B2", "E-"; "two_sz = -2",
    /// "up = 3, down = 1, k = 9".
    pub(super) fn joined_text(&self, own: &[String], other: &[String]) -> String {
        let differ = |axis: &&usize| own[**axis] != other[**axis];
        let charges: Vec<String> =
            self.charges.iter().filter(differ).map(|axis| format!("{} = {}", self.names[*axis], own[*axis])).collect();
        if charges.is_empty() {
            return self.joined_place(own, other);
        }
        let moved = [self.momentum, self.irrep]
            .into_iter()
            .flatten()
            .any(|axis| own[axis].trim_matches('"') != other[axis].trim_matches('"'));
        let place = if !moved {
            String::new()
        } else {
            let name = if self.momentum.is_some() { "k" } else { "irrep" };
            format!(", {name} = {}", self.joined_place(own, other))
        };
        charges.join(", ") + &place
    }

    /// The same by momentum and irrep.
    fn joined_place(&self, own: &[String], other: &[String]) -> String {
        let irrep = self.irrep.map(|axis| (own[axis].trim_matches('"'), other[axis].trim_matches('"')));
        match (self.momentum, irrep) {
            (Some(k), Some((own_label, other_label))) if own_label != other_label => {
                format!("{} as {own_label}", own[k])
            }
            (Some(k), _) => own[k].clone(),
            (None, irrep) => irrep.map_or_else(String::new, |(label, _)| label.to_string()),
        }
    }

    /// States of all sectors of the charges together, with the file of one of them; `None` if anything but symmetries and charges changes.
    pub(super) fn total_states(&self, file: &ModelFile) -> Option<u128> {
        match (self.alone, self.charges.is_empty()) {
            (false, _) => None,
            (true, true) => file.dimension(),
            (true, false) => self.known.iter().try_fold(0u128, |sum, (_, known)| sum.checked_add(known.states?)),
        }
    }
}
