//! Why a symmetry was refused.

use super::super::Factor;
use super::super::product_text;
use crate::words::{grouped, size};

/// Why a symmetry was refused: what was expected, what was found, and what would fit.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "the message of each variant names its fields")]
pub enum SymmetryError {
    /// No generator.
    #[error(
        "no symmetry is named: give `k`, `irrep`, `reflection`, `spin_inversion`, `exchange`, `particle_hole` or `generators`, or leave [symmetry] out"
    )]
    Nothing,
    /// Momenta on a lattice without periodic directions.
    #[error(
        "k = {found:?} needs periodic directions, and there is none; make the lattice periodic, or give `generators` ({lattice})"
    )]
    NotPeriodic { found: Vec<i64>, lattice: String },
    /// Another number of momenta than periodic directions.
    #[error(
        "k = {found:?} has {} momenta, but the lattice has translations of orders {lengths:?}: give one whole number for each, from 0 to the order − 1",
        found.len()
    )]
    MomentumCount { found: Vec<i64>, lengths: Vec<usize> },
    /// A momentum that the lattice does not have.
    #[error(
        "k = {found} is no momentum of a translation of order {length}, which has 0 to {}; {found} is k = {} (all are modulo {length})",
        length - 1, found.rem_euclid(*length as i64)
    )]
    NoSuchMomentum { found: i64, length: usize },
    /// A lattice without a reflection by name.
    #[error(
        "`reflection` is x → L − 1 − x of a chain, ladder or square lattice, and this is {lattice}: give its mirror as a permutation in `generators`"
    )]
    NoReflection { lattice: String },
    /// A point group that is not there.
    #[error(
        "{}: {}{}",
        asked.as_ref().map_or("an irrep is one of rotations and mirrors".into(), |name| format!("point_group = {name:?}")),
        if names.is_empty() { format!("{whose} has no rotation or mirror that is known here ({lattice})") }
        else { format!("{whose} has {} ({lattice})", names.join(", ")) },
        if *edges { "; give permutations with characters in `generators`" } else { "" }
    )]
    NoPointGroup { asked: Option<String>, whose: &'static str, names: Vec<String>, edges: bool, lattice: String },
    /// A mirror twice.
    #[error(
        "reflection beside irrep = {irrep:?}: a reflection is one of the mirrors that an irrep is of; leave `reflection` out, and give the irrep in which it has its sign"
    )]
    ReflectionBesideIrrep { irrep: String },
    /// Permutations beside a representation of several states.
    #[error(
        "irrep = {irrep:?} has {states} states, of which one is solved for, and `generators` may tell them apart: give an irrep of one state, or all symmetries as `generators`"
    )]
    GeneratorsBesideIrrep { irrep: String, states: usize },
    /// A point group without an irrep.
    #[error("a point group needs its irrep: give irrep = {}, one of those of {group}, or \"all\"", quoted(labels))]
    IrrepMissing { group: String, labels: Vec<String> },
    /// An irrep that the group has not.
    #[error(
        "irrep = {asked:?} is none of {group}{}, which has {}",
        k.as_ref().map_or(String::new(), |k| format!(", the rotations and mirrors that leave k = {k:?} and H as they are")),
        quoted(labels)
    )]
    NoIrrep { asked: String, group: String, k: Option<Vec<i64>>, labels: Vec<String> },
    /// A point that is no momentum of the cluster.
    #[error(
        "irrep = {irrep:?}: {point:?} is {} ({lattice})",
        if names.is_empty() { "the name of a momentum, and none has a name here; give k, or leave the name out".into() }
        else { format!("none of the points of high symmetry that the cluster has, which are {}", quoted(names)) }
    )]
    NoPoint { irrep: String, point: String, names: Vec<String>, lattice: String },
    /// A point beside another momentum.
    #[error(
        "irrep = {irrep:?} is at k = {}, and k = {found:?} is given: leave k out, or the name of the point",
        momenta.iter().map(|k| format!("{k:?}")).collect::<Vec<_>>().join(" or ")
    )]
    OtherPoint { irrep: String, momenta: Vec<Vec<i64>>, found: Vec<i64> },
    /// An eigenvalue of something that is its own inverse.
    #[error("{generator} = {found}: it is its own inverse, so its eigenvalue is 1 or -1")]
    NotASign { generator: String, found: i64 },
    /// A list that is no permutation.
    #[error("{generator}: {why}; a permutation of {sites} sites has each of 0 to {} once", sites.saturating_sub(1))]
    NotAPermutation { generator: String, sites: usize, why: String },
    /// A character that is no root of unity of the generator's order.
    #[error(
        "{generator} has order {order}: applied {order} times it is the identity, so its character is one of e^(2πi j/{order}): {}; found {found}",
        roots(*order)
    )]
    NotARoot { generator: String, order: u64, found: String },
    /// Too many elements.
    #[error(
        "the group of {generators} has more than {most} elements; groups of up to {most} are closed: check the permutations (the group of all permutations of n sites has n! elements), or leave a generator out"
    )]
    TooManyElements { generators: String, most: usize },
    /// Characters that contradict each other.
    #[error(
        "the characters are no representation: {first} and {second} are the same element, but their characters are {first_character} and {second_character}; {advice}"
    )]
    NoRepresentation {
        first: String,
        second: String,
        first_character: String,
        second_character: String,
        advice: &'static str,
    },
    /// A site on another kind of site.
    #[error("{generator} takes site {from} of kind \"{from_kind}\" to site {to} of kind \"{to_kind}\"")]
    OtherKind { generator: String, from: usize, from_kind: String, to: usize, to_kind: String },
    /// Nothing to invert.
    #[error("{generator} acts on {acts_on}, and the sites are of kind {kinds}{advice}")]
    NothingToInvert { generator: String, acts_on: &'static str, kinds: String, advice: &'static str },
    /// A Hamiltonian that is not invariant.
    #[error(
        "H is not invariant under {generator}: it takes {} to {}, whose coefficient in H is {found}; {advice}",
        term(*source_coefficient, source_term), term(*image_coefficient, image)
    )]
    NotInvariant {
        generator: String,
        source_term: Vec<Factor>,
        source_coefficient: f64,
        image: Vec<Factor>,
        image_coefficient: f64,
        found: f64,
        advice: &'static str,
    },
    /// A Hamiltonian that becomes another one in the sector.
    #[error(
        "H is not invariant under {generator}: it adds {} to H, beyond multiples of the charges that the sector fixes; {advice}",
        term(*rest, image)
    )]
    AddsTerm { generator: String, image: Vec<Factor>, rest: f64, advice: &'static str },
    /// Hops for which the sites have no two colours.
    #[error(
        "particle_hole: {} at sites {} and {} stays as it is only if these have {} in c → ±c†, and the hops that join them otherwise give them {}: the lattice of hops is not bipartite; leave particle_hole out",
        product_text(term), sites[0], sites[1],
        if *imaginary { "equal signs" } else { "different signs" },
        if *imaginary { "different ones" } else { "equal ones" }
    )]
    Frustrated { term: Vec<Factor>, imaginary: bool, sites: [usize; 2] },
    /// Particle–hole twice is −1.
    #[error(
        "particle_hole applied twice is -1 on these {sites} sites ({modes} fermion modes, c → -c† on {negative} of the sites), so its eigenvalues are i and -i: every level is there twice, and real vectors have neither; leave it out"
    )]
    SquareIsMinusOne { sites: usize, negative: usize, modes: usize },
    /// Particle–hole beside what it does not commute with.
    #[error("particle_hole beside {other}: {why}; leave one of them out")]
    NotBesideHoles { other: String, why: &'static str },
    /// Forbidden states that move to others.
    #[error("the states that [[forbid]] leaves out are not invariant under {generator}: it takes {from} to {to}")]
    ForbiddenNotInvariant { generator: String, from: String, to: String },
    /// A sector that is not its own image.
    #[error("{generator} does not map the sector to itself: it takes {value} to {image}; {advice}")]
    OtherSector { generator: String, value: String, image: String, advice: String },
    /// A sector of dimension 0.
    #[error(
        "the symmetry sector has dimension 0: none of the {} states of the sector {sector} can be combined to states with {symmetry}. This is the answer for these characters, not a fault: other momenta or signs have states",
        grouped((*plain).into())
    )]
    NoStates { plain: u64, sector: String, symmetry: String },
    /// No room for the list of states.
    #[error(
        "the symmetry sector has about {} states ({} of the sector, a group of {elements} elements): {} about {}, and {} are free; add symmetries, fix more in [sector], or take fewer sites",
        grouped((*states).into()), grouped((*plain).into()),
        if *matrix { "their list and the matrix of H take" } else { "their list takes" },
        size(*needed), size(*free)
    )]
    NoRoom { states: u64, plain: u64, elements: usize, matrix: bool, needed: u64, free: u64 },
    /// More elements than columns are numbered.
    #[error(
        "the symmetry sector has {} states{}; {} is at most {}; add symmetries, fix more in [sector], or take fewer sites",
        grouped((*states).into()),
        if *complex { ", twice as many real numbers" } else { "" },
        if *complex { "the number of columns of a stored matrix" } else { "their number" },
        grouped(u32::MAX.into())
    )]
    TooManyStates { states: u64, complex: bool },
    /// Rows that no kernel makes.
    #[error(
        "storage = \"direct\" needs state words of 64 bits at most (here {bits}), no [[forbid]], a group that is solvable and up to 1,024 elementary terms; there are \"auto\", \"stored\" and \"table\""
    )]
    NotDirect { bits: u32 },
    /// Two words for one sector.
    #[error(
        "storage = \"{other}\" and storage = \"{own}\" of the symmetry sector contradict each other; give one of them"
    )]
    OtherStorage { own: &'static str, other: &'static str },
    /// A symmetry of a symmetry sector.
    #[error("the model is in a symmetry sector already ({symmetry}); give all generators at once")]
    Twice { symmetry: String },
}

impl SymmetryError {
    /// The key of `[symmetry]` that is at fault; "symmetry" if it is none by itself.
    pub fn key(&self) -> &'static str {
        let named = match self {
            SymmetryError::NotPeriodic { .. }
            | SymmetryError::MomentumCount { .. }
            | SymmetryError::NoSuchMomentum { .. } => return "k",
            SymmetryError::NoReflection { .. } => return "reflection",
            SymmetryError::NotASign { generator, .. }
            | SymmetryError::NotAPermutation { generator, .. }
            | SymmetryError::NotARoot { generator, .. }
            | SymmetryError::OtherKind { generator, .. }
            | SymmetryError::NothingToInvert { generator, .. }
            | SymmetryError::NotInvariant { generator, .. }
            | SymmetryError::AddsTerm { generator, .. }
            | SymmetryError::ForbiddenNotInvariant { generator, .. }
            | SymmetryError::OtherSector { generator, .. } => generator,
            SymmetryError::NotDirect { .. } | SymmetryError::OtherStorage { .. } => return "storage",
            SymmetryError::Frustrated { .. }
            | SymmetryError::SquareIsMinusOne { .. }
            | SymmetryError::NotBesideHoles { .. } => return "particle_hole",
            SymmetryError::NoPointGroup { asked: Some(_), .. } | SymmetryError::IrrepMissing { .. } => {
                return "point_group";
            }
            SymmetryError::NoPointGroup { .. }
            | SymmetryError::NoIrrep { .. }
            | SymmetryError::NoPoint { .. }
            | SymmetryError::OtherPoint { .. }
            | SymmetryError::GeneratorsBesideIrrep { .. } => return "irrep",
            SymmetryError::ReflectionBesideIrrep { .. } => return "reflection",
            _ => return "symmetry",
        };
        let keys = [
            ("translation", "k"),
            ("reflection", "reflection"),
            ("rotation", "point_group"),
            ("mirror", "point_group"),
            ("spin_inversion", "spin_inversion"),
            ("exchange", "exchange"),
            ("particle_hole", "particle_hole"),
            ("generators", "generators"),
        ];
        keys.iter().find(|(start, _)| named.starts_with(start)).map_or("symmetry", |(_, key)| key)
    }
}

/// The first roots of unity of an order, as numbers.
fn roots(order: u64) -> String {
    let number = |j: u64| match j {
        0 => "1".to_string(),
        _ if 2 * j == order => "-1".into(),
        _ if 4 * j == order => "i".into(),
        _ if 4 * j == 3 * order => "-i".into(),
        _ => {
            let angle = std::f64::consts::TAU * j as f64 / order as f64;
            format!("{:.6}{:+.6}i", angle.cos(), angle.sin())
        }
    };
    let shown: Vec<String> = (0..order.min(6)).map(number).collect();
    shown.join(", ") + if order > 6 { ", …" } else { "" }
}

/// `"A1", "B2"`.
fn quoted(labels: &[String]) -> String {
    labels.iter().map(|label| format!("{label:?}")).collect::<Vec<_>>().join(", ")
}

/// A term with its coefficient.
fn term(coefficient: f64, product: &[Factor]) -> String {
    format!("{coefficient} {}", product_text(product))
}
