//! The group that generators make, with a character for each element.
//!
//! In: generators with their eigenvalues, the reduced operator, the charges of the sector. Out: all elements, each with its character
//! e^(2πi phase / denominator). Phases are whole numbers, so that a representation is checked exactly.

use super::super::{Carrier, Charge, Operator, Product, SiteKind, kind_names};
use super::element::{GroupElement, least_common_multiple};
use super::error::SymmetryError;
use super::holes;
use super::vanishing::without_charges;
use crate::lattice::{PointGroup, PointIrrep};
use num_complex::Complex64;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::f64::consts::TAU;

/// Most elements of a group: twice those of a space group of 128 sites with 12 rotations and reflections and an inversion of spins.
pub(super) const MOST_ELEMENTS: usize = 8192;

/// A generator: what it does, and its character e^(2πi numerator / order).
#[derive(Clone, Debug, PartialEq)]
pub struct Generator {
    /// As errors and plans call it.
    pub name: String,
    /// Its value as it is printed, such as "k = 1" or "+1".
    pub value: String,
    /// What it does.
    pub element: GroupElement,
    /// Of the character.
    pub numerator: u64,
    /// Its order.
    pub order: u64,
}

/// A group of symmetries with a one-dimensional representation.
#[derive(Clone, Debug, PartialEq)]
pub struct SymmetryGroup {
    /// What it was made of.
    pub generators: Vec<Generator>,
    /// All elements, the identity first.
    pub elements: Vec<GroupElement>,
    /// The character of each is e^(2πi phase / denominator).
    pub(super) phases: Vec<u64>,
    pub(super) denominator: u64,
    /// The momentum that its translations have.
    momentum: Option<Vec<i64>>,
    /// The irrep that its generators are of, and the name of the point group.
    irrep: Option<(String, String)>,
    /// States of the whole irrep, of which the sector has one: so often is each of its levels there.
    degeneracy: usize,
}

/// e^(2πi numerator / denominator), exact for the fourth roots of unity.
pub(super) fn root_of_unity(numerator: u64, denominator: u64) -> Complex64 {
    let numerator = numerator % denominator;
    // Whole quarters first, so that i, −1 and −i have no rounding.
    let quarters = (4 * u128::from(numerator) / u128::from(denominator)) as u64;
    let rest = 4 * u128::from(numerator) % u128::from(denominator);
    let angle = TAU * 0.25 * (rest as f64 / denominator as f64);
    let (sin, cos) = if rest == 0 { (0.0, 1.0) } else { angle.sin_cos() };
    match quarters {
        0 => Complex64::new(cos, sin),
        1 => Complex64::new(-sin, cos),
        2 => Complex64::new(-cos, -sin),
        _ => Complex64::new(sin, -cos),
    }
}

/// A character as errors show it.
pub(super) fn shown(character: Complex64) -> String {
    match (character.re, character.im) {
        (re, im) if im.abs() < 1e-12 => format!("{re}"),
        (re, im) => format!("{re:.6}{im:+.6}i"),
    }
}

impl Generator {
    /// A generator with a character that must be a root of unity of its order; numbers of six digits are enough.
    pub fn new(
        name: String,
        value: String,
        element: GroupElement,
        character: Complex64,
    ) -> Result<Generator, SymmetryError> {
        const TOLERANCE: f64 = 1e-6;
        let most = MOST_ELEMENTS;
        let Some(order) = element.order().filter(|order| *order <= most as u64) else {
            return Err(SymmetryError::TooManyElements { generators: name, most });
        };
        let turns = (character.arg() / TAU * order as f64).round() as i64;
        let numerator = turns.rem_euclid(order as i64) as u64;
        // `<=` is false of NaN.
        if (root_of_unity(numerator, order) - character).norm() <= TOLERANCE {
            return Ok(Generator { name, value, element, numerator, order });
        }
        Err(SymmetryError::NotARoot { generator: name, order, found: shown(character) })
    }

    /// Its character.
    pub fn character(&self) -> Complex64 {
        root_of_unity(self.numerator, self.order)
    }

    /// Whether it maps every site to one of the same kind, inverts anything, and leaves H, what is forbidden and the sector as they are.
    pub fn check(&self, operator: &Operator, charges: &[(Charge, i64)]) -> Result<(), SymmetryError> {
        let kinds = operator.kinds_or_implied();
        for (from, to) in self.element.place.iter().enumerate() {
            let (own, there) = (kinds[from], kinds[*to as usize]);
            if own != there {
                return Err(SymmetryError::OtherKind {
                    generator: self.name.clone(),
                    from,
                    from_kind: own.to_string(),
                    to: (*to).into(),
                    to_kind: there.to_string(),
                });
            }
        }
        self.check_inversion(&kinds)?;
        self.check_sector(&kinds, charges)?;
        self.check_terms(operator, &kinds, charges)?;
        self.check_forbidden(operator, &kinds)
    }

    fn check_inversion(&self, kinds: &[SiteKind]) -> Result<(), SymmetryError> {
        if self.element.holes.is_some() {
            return self.check_holes(kinds);
        }
        let inverts = self.element.moments || self.element.electrons;
        if !inverts || kinds.iter().any(|kind| self.element.inverts(*kind)) {
            return Ok(());
        }
        let (acts_on, advice) = match (self.element.moments, kinds.first().map(|kind| kind.carrier())) {
            (_, Some(Carrier::Flavours)) => {
                ("↑ and ↓ electrons or on moments", "; an exchange of flavours is not available")
            }
            (false, Some(Carrier::Spin)) => ("↑ and ↓ electrons", ": give `spin_inversion`"),
            (_, Some(Carrier::Electrons | Carrier::Spin | Carrier::Bosons) | None) => ("spins", ""),
        };
        Err(SymmetryError::NothingToInvert { generator: self.name.clone(), acts_on, kinds: kind_names(kinds), advice })
    }

    fn check_holes(&self, kinds: &[SiteKind]) -> Result<(), SymmetryError> {
        let has = |of: fn(&SiteKind) -> bool| kinds.iter().any(of);
        let advice = match has(|kind| *kind == SiteKind::Tj) {
            true => ": it takes an empty site to one with two electrons, which \"tj\" leaves out",
            false if has(|kind| kind.has_holes()) => return Ok(()),
            false if has(|kind| kind.carrier() == Carrier::Spin) => ": for spins give `spin_inversion`",
            false => ", for a site with more bosons has no holes",
        };
        let (acts_on, kinds) =
            ("electrons, fermions of flavours and bosons of which a site has at most one", kind_names(kinds));
        Err(SymmetryError::NothingToInvert { generator: self.name.clone(), acts_on, kinds, advice })
    }

    /// Whether H stays as it is in the sector: up to multiples of its charges, less their values.
    fn check_terms(
        &self,
        operator: &Operator,
        kinds: &[SiteKind],
        charges: &[(Charge, i64)],
    ) -> Result<(), SymmetryError> {
        let (mut own, mut change, mut scale) = (BTreeMap::new(), BTreeMap::<Product, f64>::new(), 0.0f64);
        let nothing = GroupElement::identity(kinds.len());
        for (product, coefficient) in operator.terms() {
            scale = scale.max(coefficient.abs());
            for (image, factor) in self.element.image(kinds, product) {
                *change.entry(image).or_insert(0.0) += factor * coefficient;
            }
            // As images are reduced, which H need not be where it has hard-core bosons.
            for (same, factor) in nothing.image(kinds, product) {
                *change.entry(same.clone()).or_insert(0.0) -= factor * coefficient;
                *own.entry(same).or_insert(0.0) += factor * coefficient;
            }
        }
        // As in the check that H is Hermitian: rounding of sums of a few numbers is far below 1e-12 of the largest.
        let most = 1e-12 * scale;
        if change.values().all(|change| change.abs() <= most) {
            return Ok(());
        }
        let rest = without_charges(&change, kinds, charges);
        let mut failing: Vec<(Product, f64)> = rest.into_iter().filter(|(_, rest)| rest.abs() > most).collect();
        // What no charge has is named first, else what differs most from a charge.
        failing.sort_by(|a, b| {
            let of_charges = |(product, rest): &(Product, f64)| change.get(product) != Some(rest);
            of_charges(a).cmp(&of_charges(b)).then(if of_charges(a) {
                b.1.abs().total_cmp(&a.1.abs())
            } else {
                Ordering::Equal
            })
        });
        let Some((image, rest)) = failing.into_iter().next() else { return Ok(()) };
        let found = own.get(&image).copied().unwrap_or(0.0);
        let sources = self.element.inverse().image(kinds, &image);
        // Of a product with several sources the largest stands for all.
        let source =
            sources.iter().filter(|(term, _)| own.contains_key(*term)).max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
        let source_term = source.map(|(term, _)| term.clone());
        let advice = match self.name.as_str() {
            name if name.starts_with("translation") => {
                "couplings, fields and edges must be the same in every cell; leave this direction's k out by an open \
                 boundary, or use `generators` for a larger cell"
            }
            "particle_hole" => {
                "count particles from half filling in interactions, (n(i) - 1) * (n(j) - 1) of electrons or (n(i) - 0.5) \
                 * (n(j) - 0.5) of spinless fermions, leave out energies that differ from site to site, or leave this out"
            }
            _ => "leave it out, or make the couplings symmetric",
        };
        let generator = self.name.clone();
        match source_term {
            Some(source_term) if sources.len() == 1 => Err(SymmetryError::NotInvariant {
                generator,
                source_coefficient: own[&source_term],
                source_term,
                image_coefficient: found + change[&image],
                image,
                found,
                advice,
            }),
            _ => Err(SymmetryError::AddsTerm { generator, image, rest, advice }),
        }
    }

    fn check_forbidden(&self, operator: &Operator, kinds: &[SiteKind]) -> Result<(), SymmetryError> {
        let sorted = |states: &[(usize, u64)]| {
            let mut states = states.to_vec();
            states.sort_unstable();
            states
        };
        let all: Vec<Vec<(usize, u64)>> = operator.forbidden().iter().map(|states| sorted(states)).collect();
        for states in &all {
            let moved = |(site, state): &(usize, u64)| {
                (self.element.place[*site] as usize, self.element.local(kinds[*site], *state))
            };
            let image = sorted(&states.iter().map(moved).collect::<Vec<_>>());
            if !all.contains(&image) {
                let text = |states: &[(usize, u64)]| {
                    let each = states.iter().map(|(site, state)| format!("state {state} of site {site}"));
                    each.collect::<Vec<_>>().join(" with ")
                };
                let (from, to) = (text(states), text(&image));
                return Err(SymmetryError::ForbiddenNotInvariant { generator: self.name.clone(), from, to });
            }
        }
        Ok(())
    }

    /// The charges of the images of a sector's states. A charge goes to ± itself or another charge of the sector, up to a number that
    /// depends on the kinds of site; `None` where one goes to something else.
    fn images(&self, kinds: &[SiteKind], charges: &[(Charge, i64)]) -> Vec<Option<i64>> {
        let image = |(charge, _): &(Charge, i64)| {
            let shift = |other: Charge, sign: i64| {
                let of_kind = |kind: &SiteKind| {
                    let rest = |state: u64| {
                        kind.charge(*charge, 0, self.element.local(*kind, state)) - sign * kind.charge(other, 0, state)
                    };
                    let all: Vec<i64> = kind.states().map(rest).collect();
                    all.iter().all(|rest| *rest == all[0]).then(|| all[0])
                };
                kinds.iter().map(of_kind).sum::<Option<i64>>()
            };
            // The value after the element, from values before it.
            let candidates = [1, -1].into_iter().flat_map(|sign| charges.iter().map(move |other| (sign, other)));
            candidates
                .filter_map(|(sign, (other, before))| Some(sign * before + shift(*other, sign)?))
                .map(|image| charge.folded(image))
                .next()
        };
        charges.iter().map(image).collect()
    }

    /// The sector of the images of a sector's states.
    pub fn image_of(&self, operator: &Operator, charges: &[(Charge, i64)]) -> Option<Vec<(Charge, i64)>> {
        let images = self.images(&operator.kinds_or_implied(), charges);
        charges.iter().zip(images).map(|((charge, _), image)| Some((*charge, image?))).collect()
    }

    /// Whether the states of the sector go to states of the sector.
    fn check_sector(&self, kinds: &[SiteKind], charges: &[(Charge, i64)]) -> Result<(), SymmetryError> {
        for ((charge, value), image) in charges.iter().zip(self.images(kinds, charges)) {
            let is_of_sites = matches!(charge, Charge::OfSites(_));
            if image == Some(charge.folded(*value)) && !is_of_sites {
                continue;
            }
            let holes = self.element.holes.is_some() && *charge != Charge::Parity;
            let advice = match (charge, image) {
                // A number goes to what is missing of all: of the sum with its image.
                (charge, Some(image)) if holes && (value + image) % 2 == 0 => {
                    format!("the sector that it maps to itself is half filled: {}", charge.valued((value + image) / 2))
                }
                (_, Some(_)) if holes => "no sector of these sites is half filled: leave this out".into(),
                (Charge::TwoSz, _) => "set two_sz = 0, leave two_sz out of the sector, or leave this out".into(),
                (Charge::Up | Charge::Down, _) => "set up = down, or leave this out".into(),
                (Charge::OfSites(_), _) => {
                    "a sector of symmetry has no charges with a number for each site: leave one of both out".into()
                }
                _ => "leave the charge out of the sector, or leave this out".into(),
            };
            let image = image.filter(|_| !is_of_sites);
            let image = image.map_or("another number".into(), |image| charge.valued(image));
            let (generator, value) = (self.name.clone(), charge.valued(*value));
            return Err(SymmetryError::OtherSector { generator, value, image, advice });
        }
        Ok(())
    }
}

impl SymmetryGroup {
    /// The group of checked generators of a reduced operator in a sector.
    ///
    /// # Errors
    /// A generator that is no symmetry, too many elements, characters that are no representation.
    pub fn new(
        mut generators: Vec<Generator>,
        operator: &Operator,
        charges: &[(Charge, i64)],
    ) -> Result<SymmetryGroup, SymmetryError> {
        if generators.is_empty() {
            return Err(SymmetryError::Nothing);
        }
        generators.iter().try_for_each(|generator| generator.check(operator, charges))?;
        // Of electrons alone, the inversion of spins is their exchange: the same element, not two.
        let kinds = operator.kinds_or_implied();
        let carries = |carrier| kinds.iter().any(|kind| kind.carrier() == carrier);
        for Generator { element, .. } in &mut generators {
            element.moments &= carries(Carrier::Spin);
            element.electrons &= carries(Carrier::Electrons);
        }
        if let Some(colours) = generators.iter().find_map(|generator| generator.element.holes.clone()) {
            let others = generators.iter().filter(|generator| generator.element.holes.is_none());
            holes::check(&colours, others.map(|other| (&other.name[..], &other.element)), &kinds, charges)?;
        }
        SymmetryGroup::closed(generators, kinds.len())
    }

    /// All products of the generators.
    fn closed(generators: Vec<Generator>, sites: usize) -> Result<SymmetryGroup, SymmetryError> {
        let names = || generators.iter().map(|generator| generator.name.clone()).collect::<Vec<_>>().join(", ");
        let too_many = || SymmetryError::TooManyElements { generators: names(), most: MOST_ELEMENTS };
        let orders = generators.iter().map(|generator| generator.order);
        let denominator = orders
            .clone()
            .try_fold(1, least_common_multiple)
            .filter(|all| *all < u64::from(u32::MAX))
            .ok_or_else(too_many)?;
        let phase = |generator: &Generator| generator.numerator * (denominator / generator.order);
        let (mut elements, mut phases) = (vec![GroupElement::identity(sites)], vec![0]);
        // How each element was first made: the generator, and the element before it.
        let mut made = vec![(0, 0)];
        let mut numbers = HashMap::from([(elements[0].clone(), 0)]);
        let mut next = 0;
        while next < elements.len() {
            for (number, generator) in generators.iter().enumerate() {
                let element = generator.element.after(&elements[next]);
                let found = (phases[next] + phase(generator)) % denominator;
                match numbers.get(&element) {
                    Some(known) if phases[*known] == found => {}
                    Some(known) => {
                        let text = |mut at: usize, first: Option<usize>| {
                            let mut word: Vec<usize> = first.into_iter().collect();
                            while at != 0 {
                                word.push(made[at].0);
                                at = made[at].1;
                            }
                            written(&word, &generators)
                        };
                        let character = |phase: u64| shown(root_of_unity(phase, denominator));
                        return Err(SymmetryError::NoRepresentation {
                            first: text(*known, None),
                            second: text(next, Some(number)),
                            first_character: character(phases[*known]),
                            second_character: character(found),
                            advice: advice(&generators),
                        });
                    }
                    None if elements.len() == MOST_ELEMENTS => return Err(too_many()),
                    None => {
                        numbers.insert(element.clone(), elements.len());
                        elements.push(element);
                        phases.push(found);
                        made.push((number, next));
                    }
                }
            }
            next += 1;
        }
        Ok(SymmetryGroup { generators, elements, phases, denominator, momentum: None, irrep: None, degeneracy: 1 })
    }

    /// The group with the momentum that its translations have.
    pub fn with_momentum(self, momentum: Option<&[i64]>) -> SymmetryGroup {
        SymmetryGroup { momentum: momentum.map(<[i64]>::to_vec), ..self }
    }

    /// The momentum, if it has one.
    pub fn momentum(&self) -> Option<&[i64]> {
        self.momentum.as_deref()
    }

    /// The names of the irrep and of its point group, if it has one.
    pub fn irrep(&self) -> Option<(&str, &str)> {
        self.irrep.as_ref().map(|(irrep, group)| (&irrep[..], &group[..]))
    }

    /// The group with what its sector is of a point group's irrep.
    pub fn in_irrep(self, irrep: &PointIrrep, point: &PointGroup) -> SymmetryGroup {
        SymmetryGroup { irrep: Some((irrep.label.clone(), point.name())), degeneracy: irrep.degeneracy, ..self }
    }

    /// How often each level of the sector is there in the whole irrep.
    pub fn degeneracy(&self) -> usize {
        self.degeneracy
    }

    /// These elements alone, which form a group, with the character 1.
    pub fn of_elements(elements: Vec<GroupElement>) -> SymmetryGroup {
        let phases = vec![0; elements.len()];
        let (generators, denominator, degeneracy) = (Vec::new(), 1, 1);
        SymmetryGroup { generators, elements, phases, denominator, momentum: None, irrep: None, degeneracy }
    }

    /// The character of each element, as an operator on states: ψ(s) = σ_g(s) χ(g) ψ(g s), with the conjugate of ψ(g s) where g conjugates.
    pub fn characters(&self) -> Vec<Complex64> {
        self.phases.iter().map(|phase| root_of_unity(*phase, self.denominator)).collect()
    }

    /// Whether vectors of a real H are real: all characters are 1 or −1, or states are their own conjugates.
    pub fn is_real(&self) -> bool {
        self.conjugates() || self.phases.iter().all(|phase| 2 * phase % self.denominator == 0)
    }

    /// How many of its elements are unitary.
    pub fn order(&self) -> usize {
        self.elements.iter().filter(|element| !element.conjugates).count()
    }

    /// Whether half of its elements are antiunitary.
    pub fn conjugates(&self) -> bool {
        self.elements.iter().any(|element| element.conjugates)
    }

    /// The generators with their values: "translation along x: k = 0, spin inversion: +1", and the irrep that they are of.
    pub fn describe(&self) -> String {
        let named = self.generators.iter().filter(|generator| !generator.element.conjugates);
        let each = named.map(|generator| format!("{}: {}", generator.name, generator.value));
        let partners = match self.degeneracy {
            1 => String::new(),
            states => format!(", one of its {states} states: each level is there {states} times"),
        };
        let of = |(irrep, group): (&str, &str)| format!("; irrep {irrep} of {group}{partners}");
        let irrep = self.irrep().map_or(String::new(), of);
        each.collect::<Vec<_>>().join(", ") + &irrep
    }

    /// What determines the sector: every element with its character.
    pub fn identity(&self) -> String {
        let each = self.elements.iter().zip(&self.phases).map(|(element, phase)| {
            let GroupElement { place, moments, electrons, holes, conjugates } = element;
            let holes = holes.as_ref().map_or(String::new(), |colours| format!(" holes {colours:?}"));
            let conjugates = if *conjugates { " conjugates" } else { "" };
            format!("{place:?} {moments} {electrons}{holes}{conjugates} {phase}/{}\n", self.denominator)
        });
        // Generators may come in any order.
        let mut lines: Vec<String> = each.collect();
        lines.sort_unstable();
        lines.concat()
    }
}

/// A product of generators, the last applied first written: "reflection · (translation along x)^3".
fn written(word: &[usize], generators: &[Generator]) -> String {
    let runs: Vec<String> = word
        .chunk_by(|a, b| a == b)
        .map(|run| {
            let name = &generators[run[0]].name;
            match run.len() {
                1 => name.clone(),
                power => format!("({name})^{power}"),
            }
        })
        .collect();
    if runs.is_empty() { "the identity".into() } else { runs.join(" · ") }
}

/// What would fit.
fn advice(generators: &[Generator]) -> &'static str {
    let has = |start: &str| generators.iter().any(|generator| generator.name.starts_with(start));
    match has("translation") && (has("reflection") || has("generators")) {
        true => {
            "a reflection turns k into −k, so beside it the k of its direction is 0 or half the length, and translations by \
             permutations need the characters of their k"
        }
        false => {
            "characters multiply as the elements do: choose those of generators that are products of others accordingly"
        }
    }
}
