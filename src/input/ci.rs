//! `[ci]`: which integrals, which determinants, and how their matrix is kept.
//!
//! docs/molecules.md, "The model file", has the table of its keys, with meanings and defaults.

use super::problem::Wrong;
use super::section::{NumberOrWord, Section};
use crate::ci::{
    AbelianGroup, CiBasis, CiSpec, IrrepLabel, Orbsym, RestrictedActiveSpace, SpaceSpec, Storage, SymmetryKeys,
};
use crate::sparse::FormatName;

/// What `active` is.
const ACTIVE: &str = "a list of orbitals of the file, from 1, as [4, 5, 8, 9]; for the lowest of them `orbitals` and `frozen` take numbers";
const SPACES: [(&str, Option<usize>); 5] =
    [("fci", None), ("cis", Some(1)), ("cisd", Some(2)), ("cisdt", Some(3)), ("cisdtq", Some(4))];

/// Keys that speak of determinants or their matrix, which a chain of orbitals has not.
const NOT_OF_CHAINS: [(&str, &str); 7] = [
    ("transitions", "DMRG has no vectors between which they would be taken: leave it out"),
    ("space", "DMRG searches all determinants, and keeps `states` of [dmrg]: leave it out"),
    ("basis", "DMRG has no basis of determinants: leave it out"),
    ("two_s", "DMRG fixes n_α − n_β: write two_sz, and compare <S^2> in the report"),
    ("storage", "DMRG has no matrix: leave it out"),
    ("format", "DMRG has no matrix: leave it out"),
    ("states", "the lowest states that are wanted are `targets` of [dmrg]"),
];

/// Why a format has no place beside some words of `storage`.
pub(super) const NEEDLESS_FORMAT: &str =
    "a format is of a stored matrix, which these products have not: leave one of both out";

/// Whether there is a format of a matrix that is not stored.
pub(super) fn has_needless_format(spec: &CiSpec) -> bool {
    spec.format.is_some() && matches!(spec.storage, Storage::Direct | Storage::Table)
}

/// Reads `[ci]`; also its `states`, if they are given. Beside [dmrg] it is about a chain of orbitals.
pub(super) fn read(section: Section<'_>, is_chain: bool) -> Option<(CiSpec, Option<usize>)> {
    for (key, why) in NOT_OF_CHAINS.into_iter().filter(|(key, _)| is_chain && section.has(key)) {
        section.problem(key, Wrong::Conflict { key, other: "dmrg", why });
    }
    section.require("fcidump", "the path of an FCIDUMP file, such as fcidump = \"h2o.FCIDUMP\"");
    let fcidump = section.word("fcidump", "the path of an FCIDUMP file, in quotes").map(|word| word.value.into());
    let space = space(&section);
    let spec = CiSpec {
        fcidump: fcidump.unwrap_or_default(),
        space: space.unwrap_or(SpaceSpec::Full),
        basis: section.choice("basis", &CiBasis::WORDS).map_or(CiBasis::Determinants, |word| word.value),
        two_s: section.integer("two_s").map(|two_s| two_s.value),
        frozen: section.count("frozen", 0).map_or(0, |frozen| frozen.value),
        orbitals: section.count("orbitals", 1).map(|orbitals| orbitals.value),
        active: section.listed_counts("active", 1, ACTIVE).map(|active| active.value),
        two_sz: section.integer("two_sz").map(|two_sz| two_sz.value),
        irrep: irrep(&section),
        symmetry: symmetry_keys(&section),
        storage: section.choice("storage", &Storage::WORDS).map_or(Storage::Auto, |word| word.value),
        format: section.choice("format", &FormatName::WORDS).and_then(|word| word.value),
        dipole: section.word("dipole", "the path of a file of dipole integrals").map(|word| word.value.into()),
        density: section.flag("density").unwrap_or(false),
        transitions: section.flag("transitions").unwrap_or(false),
        averages: section.flag("averages").unwrap_or(true),
    };
    for key in ["frozen", "orbitals"].into_iter().filter(|key| section.has("active") && section.has(key)) {
        let why = "the list says which orbitals are active, and so which are frozen";
        section.problem(key, Wrong::Conflict { key, other: "active", why });
    }
    if has_needless_format(&spec) {
        section.problem("format", Wrong::Conflict { key: "format", other: "storage", why: NEEDLESS_FORMAT });
    }
    if spec.density && !spec.averages {
        let why = "density matrices are averages";
        section.problem("averages", Wrong::Conflict { key: "averages", other: "density", why });
    }
    if spec.transitions && !spec.averages {
        let why = "transitions are taken with averages";
        section.problem("averages", Wrong::Conflict { key: "averages", other: "transitions", why });
    }
    if spec.transitions && !spec.density && spec.dipole.is_none() {
        let meaning = "the integrals of the dipole for the moments, or density = true for the matrices in density.npz";
        section.problem("transitions", Wrong::MissingKey { table: "ci".into(), key: "dipole", meaning });
    }
    let states = section.count("states", 1).map(|states| states.value);
    section.finish("key", |_| None);
    Some((spec, states))
}

/// `orbsym` and `point_group`, wherever `fcidump` stands.
pub(super) fn symmetry_keys(section: &Section<'_>) -> SymmetryKeys {
    let orbsym = section.choice("orbsym", &Orbsym::WORDS).map_or(Orbsym::Auto, |word| word.value);
    let group = section.word("point_group", "the name of a group, such as \"C2v\"").and_then(|word| {
        let known = word.value.parse().ok();
        // For the message.
        known.or_else(|| section.chosen("point_group", word, &AbelianGroup::WORDS).map(|word| word.value))
    });
    SymmetryKeys { orbsym, point_group: group }
}

/// Molpro's number, or a name.
fn irrep(section: &Section<'_>) -> Option<IrrepLabel> {
    let expected = "a number from 1 to 8, in Molpro's order, or a name such as \"B1u\"";
    match section.number_or_word("irrep", expected)?.value {
        NumberOrWord::Word(name) => Some(IrrepLabel::Name(name.into())),
        NumberOrWord::Number(number) if (1.0..=8.0).contains(&number) && number.fract() == 0.0 => {
            Some(IrrepLabel::Number(number as u8))
        }
        NumberOrWord::Number(number) => {
            let (key, found) = ("irrep".into(), number.to_string());
            section.problem("irrep", Wrong::OutOfRange { key, expected: expected.into(), found });
            None
        }
    }
}

/// A word, or a table.
fn space(section: &Section<'_>) -> Option<SpaceSpec> {
    if !section.is_table("space") {
        let words = SPACES;
        let level = section.choice("space", &words)?.value;
        return Some(level.map_or(SpaceSpec::Full, SpaceSpec::Excitations));
    }
    let table = section.open("space")?;
    let level = table.count("excitations", 0).map(|level| SpaceSpec::Excitations(level.value));
    let file = table.word("file", "the path of a file of determinants").map(|file| SpaceSpec::File(file.value.into()));
    let ras = ras(&table);
    let kind = ["excitations", "file"].into_iter().find(|key| table.has(key));
    for key in ["file"].into_iter().chain(RAS_KEYS).filter(|key| table.has(key)) {
        if let Some(other) = kind.filter(|kind| *kind != key) {
            let why = "a space is made by excitation level, from a list, or of restricted orbitals";
            table.problem(key, Wrong::Conflict { key, other, why });
        }
    }
    if kind.is_none() && !RAS_KEYS.into_iter().any(|key| table.has(key)) {
        table.require(
            "excitations",
            "excitations = 2, file = \"determinants.txt\", or ras1 and holes, ras3 and electrons",
        );
    }
    table.finish("key", |_| None);
    level.or(file).or(ras)
}

/// Keys of restricted active spaces.
const RAS_KEYS: [&str; 4] = ["ras1", "holes", "ras3", "electrons"];

/// The lowest orbitals with at most so many holes, the highest with at most so many electrons; either may be left out.
fn ras(table: &Section<'_>) -> Option<SpaceSpec> {
    let pair = |[orbitals, most]: [&'static str; 2], meaning: [&'static str; 2]| {
        if table.has(orbitals) || table.has(most) {
            table.require(orbitals, meaning[0]);
            table.require(most, meaning[1]);
        }
        let number = |key| table.count(key, 0).map(|number| number.value);
        number(orbitals).zip(number(most))
    };
    let first =
        pair(["ras1", "holes"], ["how many of the lowest orbitals", "how many electrons may be missing from ras1"]);
    let third = pair(["ras3", "electrons"], ["how many of the highest orbitals", "how many electrons may be in ras3"]);
    if first.is_none() && third.is_none() {
        return None;
    }
    let ((ras1, holes), (ras3, electrons)) = (first.unwrap_or_default(), third.unwrap_or_default());
    Some(SpaceSpec::Ras(RestrictedActiveSpace { ras1, holes, ras3, electrons }))
}
