//! `[symmetry]`: momentum, point group, reflection, inversion of spins, and permutations with characters.
//!
//! docs/symmetries.md, "The keys", has the table of its keys. `"none"` for a sign is as if it were left out; `"all"` is read by
//! [`super::sectors`].
//!
//! In: the section. Out: a [`Symmetry`]. Whether it is one of the model's Hamiltonian is checked when the whole file is known.

use super::problem::Wrong;
use super::section::{Problems, Section};
use crate::basis::Sector;
use crate::operator::{MatrixStorage, Operator, Symmetry};
use num_complex::Complex64;
use std::ops::Range;

/// The section as read.
pub(super) struct Draft {
    symmetry: Symmetry,
    /// How H is multiplied, if it is given.
    storage: Option<MatrixStorage>,
    /// Whether all keys are "none".
    none: bool,
    /// The place of the section and of its keys.
    places: Vec<(&'static str, Range<usize>)>,
}

/// Sets the eigenvalue of a key.
type SetSign = fn(Symmetry, i64) -> Symmetry;

const KEYS: [&str; 9] =
    ["storage", "k", "irrep", "point_group", "reflection", "spin_inversion", "exchange", "particle_hole", "generators"];

/// Reads the section.
pub(super) fn read(section: Section<'_>, problems: &Problems) -> Option<Draft> {
    let before = problems.len();
    let mut nones = 0;
    let mut symmetry = Symmetry::new();
    if let Some(k) = momenta(&section) {
        symmetry = symmetry.k(&k);
    }
    if let Some(label) = section.word("irrep", "the name of an irrep: irrep = \"A1\", or \"all\"") {
        symmetry = symmetry.irrep(label.value);
    }
    if let Some(name) = section.word("point_group", "the name of a point group: point_group = \"D4\"") {
        symmetry = symmetry.point_group(name.value);
    }
    let signs: [(&'static str, SetSign); 4] = [
        ("reflection", Symmetry::reflection),
        ("spin_inversion", Symmetry::spin_inversion),
        ("exchange", Symmetry::exchange),
        ("particle_hole", Symmetry::particle_hole),
    ];
    for (key, set) in signs {
        if section.word_is(key, "none") {
            section.raw(key);
            nones += 1;
        } else if let Some(sign) = section.integer(key) {
            symmetry = set(symmetry, sign.value);
        }
    }
    for generator in section.open_list("generators") {
        generator.require("permutation", "the new place of each site: permutation = [1, 2, 3, 0]");
        generator.require("character", "the eigenvalue: character = 1, -1 or { re = 0.0, im = 1.0 }");
        let (permutation, character) = (generator.counts("permutation", 0), character(&generator));
        generator.finish("key", |_| None);
        if let (Some(permutation), Some(character)) = (permutation, character) {
            symmetry = symmetry.generator(&permutation.value, character);
        }
    }
    let storage = section.choice("storage", &MatrixStorage::WORDS).map(|storage| storage.value);
    symmetry = symmetry.storage(storage.unwrap_or_default());
    let places = KEYS.into_iter().map(|key| (key, section.place(key)));
    let places = places.chain([("symmetry", section.span.clone())]).collect();
    section.finish("key", |_| None);
    (problems.len() == before).then_some(Draft {
        none: nones > 0 && !symmetry.has_generator(),
        symmetry,
        storage,
        places,
    })
}

/// Reads `exchange` of `[sector]`, which is that of `[symmetry]`: the symmetry with both, and the eigenvalue twice is refused.
pub(super) fn with_exchange_of(sector: &Section<'_>, symmetry: Option<Draft>, problems: &Problems) -> Option<Draft> {
    let Some(sign) = sector.integer("exchange") else { return symmetry };
    let Draft { symmetry, storage, mut places, .. } = match symmetry {
        Some(draft) if draft.symmetry.has_exchange() => {
            let why = "[symmetry] has it already: give it once";
            problems.add(sign.span, Wrong::Conflict { key: "exchange", other: "[symmetry]", why });
            return None;
        }
        Some(draft) => draft,
        None => {
            let places = vec![("symmetry", sector.place("exchange"))];
            Draft { symmetry: Symmetry::new(), storage: None, none: false, places }
        }
    };
    places.retain(|(key, _)| *key != "exchange");
    places.insert(0, ("exchange", sector.place("exchange")));
    Some(Draft { symmetry: symmetry.exchange(sign.value), storage, none: false, places })
}

/// One whole number, or a list of them.
fn momenta(section: &Section<'_>) -> Option<Vec<i64>> {
    if section.is_list("k") { section.integers("k") } else { Some(vec![section.integer("k")?.value]) }
}

fn character(generator: &Section<'_>) -> Option<Complex64> {
    if !generator.is_table("character") {
        return Some(generator.number("character")?.value.into());
    }
    let parts = generator.open("character")?;
    parts.require("re", "the real part: re = 0.0");
    parts.require("im", "the imaginary part: im = 1.0");
    let (re, im) = (parts.number("re"), parts.number("im"));
    parts.finish("key", |_| None);
    Some(Complex64::new(re?.value, im?.value))
}

impl Draft {
    /// How H is multiplied, if it is given.
    pub(super) fn storage(&self) -> Option<MatrixStorage> {
        self.storage
    }

    /// Whether there is no symmetry, which only "none" says.
    pub(super) fn is_none(&self) -> bool {
        self.none
    }

    /// The symmetry, if it is one of this Hamiltonian in this sector.
    pub(super) fn resolve(self, operator: &Operator, sector: &Sector, problems: &Problems) -> Option<Symmetry> {
        let operator = operator.reduced();
        // A term at a site that is not there has no image.
        let group =
            || self.symmetry.group(&operator, &sector.charge_values()).map_err(|error| (error.key(), error.into()));
        let Err((key, error)) =
            operator.check(&sector.charges()).map_err(|error| ("symmetry", error)).and_then(|()| group())
        else {
            return Some(self.symmetry);
        };
        let place = self.places.into_iter().find(|(own, _)| *own == key);
        problems.add(place.map_or(0..0, |(_, place)| place), Wrong::Operator(error));
        None
    }

    /// Refuses it beside a section that has no symmetries.
    pub(super) fn refuse(self, problems: &Problems, other: &'static str, why: &'static str) {
        let place = self.places.into_iter().last().map_or(0..0, |(_, place)| place);
        problems.add(place, Wrong::Conflict { key: "symmetry", other, why });
    }
}
