//! The sectors of an ensemble.
//!
//! In: a model file, the operators that are averaged. Out: every sector of the charges that H conserves and of momentum, those that symmetries
//! join together. Such a symmetry leaves H and each of the operators as it is: the inversion of all spins, the same with the conjugation of
//! amplitudes, conjugation alone, which takes k to −k, the lattice's rotations and mirrors.

use crate::Error;
use crate::basis::Sector;
use crate::exact::Model;
use crate::input::{Family, ModelFile};
use crate::lattice::Momenta;
use crate::operator::{Charge, MatrixStorage, Operator, OperatorError, SiteKind, Symmetry};
use num_complex::Complex64;
use std::collections::{BTreeMap, BTreeSet};

/// Sectors of charges at most.
const MOST_SECTORS: usize = 1 << 20;

/// What the states of a sector have in common beside its charges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Member {
    /// 2Sz of all spins; 0 where it differs within sectors.
    pub two_sz: i64,
    /// The number of particles; 0 where there are none.
    pub number: i64,
}

/// A sector with those of the same levels.
#[derive(Clone, Debug)]
pub(crate) struct JoinedSectors {
    pub charges: Vec<(Charge, i64)>,
    pub momentum: Option<Vec<i64>>,
    /// All of them, this one first.
    pub members: Vec<Member>,
}

/// Charges, and the momentum if there is one.
type Place = (Vec<(Charge, i64)>, Option<Vec<i64>>);

/// All sectors.
#[derive(Debug)]
pub(crate) struct EnsembleSectors {
    operator: Operator,
    /// How H is multiplied.
    storage: MatrixStorage,
    /// Sectors of charges with their states.
    plain: BTreeMap<Vec<(Charge, i64)>, (Member, u128)>,
    joins: Joins,
    /// All momenta; none where H or an operator is of no momentum.
    momenta: Vec<Vec<i64>>,
    lattice: Momenta,
    /// Whether total Sz is a number in every sector, and there are spins.
    pub has_sz: bool,
    /// Whether some site has a spin.
    pub has_spins: bool,
    /// The states of all.
    pub states: u128,
}

/// Symmetries that leave H and every operator as they are.
#[derive(Debug, Default)]
struct Joins {
    inversion: bool,
    reversal: bool,
    conjugation: bool,
    turns: Vec<[[i64; 2]; 2]>,
}

impl Joins {
    fn new(operator: &Operator, observed: &[Operator], has_momenta: bool) -> Joins {
        let all = || std::iter::once(operator).chain(observed);
        let every = |joins: &dyn Fn(&Operator) -> bool| all().all(joins);
        let turns = match Symmetry::new().point_group_of(operator, &[]) {
            Ok(group) if has_momenta => {
                let kept = group.operations().filter(|turn| every(&|own| is_invariant(own, &turn.place)));
                kept.map(|turn| turn.steps).collect()
            }
            _ => Vec::new(),
        };
        Joins {
            inversion: every(&|own| Symmetry::inverted_charges(own, &[]).is_some()),
            reversal: every(&|own| Symmetry::time_reversed_charges(own, &[]).is_some()),
            conjugation: every(&|own| !own.is_complex()),
            turns,
        }
    }
}

/// Whether a permutation of sites leaves an operator as it is.
fn is_invariant(operator: &Operator, place: &[usize]) -> bool {
    Symmetry::new().generator(place, Complex64::ONE).group(operator, &[]).is_ok()
}

impl EnsembleSectors {
    /// The sectors of a file's ensemble.
    ///
    /// # Errors
    /// More sectors than are listed.
    pub(super) fn new(file: &ModelFile, observed: &[Operator]) -> Result<EnsembleSectors, Error> {
        let operator = file.declared_operator();
        let kinds = operator.kinds_or_implied();
        let observed: Vec<Operator> = observed.iter().map(|own| own.clone().on_kinds(&kinds).reduced()).collect();
        let conserved = operator.conserved_on(&kinds);
        let fixed = file.ensemble_charges();
        let has =
            |charge: Charge| kinds.iter().any(|kind| kind.states().any(|state| kind.charge(charge, 0, state) != 0));
        let counted = [Charge::Particles, Charge::Bosons].into_iter().find(|charge| has(*charge));
        let counted = counted.filter(|charge| conserved.contains(charge));
        let reached = reached(&kinds, &conserved, counted)?;
        let kept = independent(&conserved, &reached);
        let mut plain: BTreeMap<Vec<(Charge, i64)>, (Member, u128)> = BTreeMap::new();
        let mut has_sz = true;
        for (values, member) in &reached {
            let value = |charge: Charge| conserved.iter().position(|own| *own == charge).map(|place| values[place]);
            if fixed.iter().any(|(charge, wanted)| value(*charge) != Some(*wanted)) {
                continue;
            }
            let charges: Vec<(Charge, i64)> = kept.iter().map(|place| (conserved[*place], values[*place])).collect();
            match plain.get(&charges) {
                Some((known, _)) => has_sz &= known.two_sz == member.two_sz,
                None => {
                    let states = operator.dimension(&charges).unwrap_or(u128::MAX);
                    plain.insert(charges, (*member, states));
                }
            }
        }
        plain.retain(|_, (_, states)| *states > 0);
        let lattice = Momenta::new(&file.lattice);
        let translations = file.lattice.translations();
        let of_momentum = |own: &Operator| translations.iter().all(|step| is_invariant(own, &step.place));
        let is_of_momentum = !translations.is_empty() && of_momentum(&operator) && observed.iter().all(of_momentum);
        let momenta = if is_of_momentum { lattice.all() } else { Vec::new() };
        let joins = Joins::new(&operator, &observed, is_of_momentum);
        let has_spins = kinds.iter().any(|kind| kind.has_sz());
        let states = operator.dimension(&fixed).unwrap_or(u128::MAX);
        let (has_sz, storage) = (has_sz && has_spins, file.solve.storage());
        Ok(EnsembleSectors { operator, storage, plain, joins, momenta, lattice, has_sz, has_spins, states })
    }

    /// The same with each sector by itself: an operator leads from those that a symmetry joins to others.
    ///
    /// # Errors
    /// More sectors than are listed.
    pub(crate) fn unjoined(file: &ModelFile) -> Result<EnsembleSectors, Error> {
        Ok(EnsembleSectors { joins: Joins::default(), ..EnsembleSectors::new(file, &[])? })
    }

    /// The sectors of charges, how many.
    pub(super) fn count(&self) -> usize {
        self.plain.len()
    }

    /// About how many states a sector has.
    pub(super) fn size(&self, sector: &JoinedSectors) -> u128 {
        let (_, states) = self.plain[&sector.charges];
        if sector.momentum.is_some() { states / self.momenta.len() as u128 } else { states }
    }

    /// Every sector, with momenta where there are more states than so many.
    pub(crate) fn joined(&self, without_momenta: usize) -> Vec<JoinedSectors> {
        let mut open: BTreeSet<Place> = BTreeSet::new();
        for (charges, (_, states)) in &self.plain {
            match *states > without_momenta as u128 && !self.momenta.is_empty() {
                true => open.extend(self.momenta.iter().map(|k| (charges.clone(), Some(k.clone())))),
                false => drop(open.insert((charges.clone(), None))),
            }
        }
        let mut found = Vec::new();
        while let Some(first) = open.pop_first() {
            let mut group = vec![first];
            let mut next = 0;
            while next < group.len() {
                for image in self.images(&group[next]) {
                    if open.remove(&image) {
                        group.push(image);
                    }
                }
                next += 1;
            }
            let members = group.iter().map(|(charges, _)| self.plain[charges].0).collect();
            let (charges, momentum) = group.swap_remove(0);
            found.push(JoinedSectors { charges, momentum, members });
        }
        found
    }

    /// Where the symmetries take a sector.
    fn images(&self, (charges, k): &Place) -> Vec<Place> {
        let Joins { inversion, reversal, conjugation, turns } = &self.joins;
        let negative = || k.as_ref().map(|k| self.lattice.negative(k));
        let mut images: Vec<Place> = Vec::new();
        if *inversion {
            let there = Symmetry::inverted_charges(&self.operator, charges);
            images.extend(there.map(|there| (there, k.clone())));
        }
        if *reversal {
            let there = Symmetry::time_reversed_charges(&self.operator, charges);
            images.extend(there.map(|there| (there, negative())));
        }
        if *conjugation {
            images.push((charges.clone(), negative()));
        }
        let turned = k.iter().flat_map(|k| turns.iter().filter_map(|steps| self.lattice.turned(k, *steps)));
        images.extend(turned.map(|k| (charges.clone(), Some(k))));
        images
    }

    /// H in a sector; `None` if that has no state.
    ///
    /// # Errors
    /// A sector that is too large.
    pub(crate) fn model(&self, sector: &JoinedSectors) -> Result<Option<Model>, OperatorError> {
        let plain = Model::new(self.operator.clone(), Sector::Charges(sector.charges.clone()))?;
        let plain = plain.with_storage(self.storage)?;
        match &sector.momentum {
            Some(k) => plain.in_momentum(k),
            None => Ok(Some(plain)),
        }
    }
}

/// Values of charges that states have together, with 2Sz and the number of particles.
fn reached(
    kinds: &[SiteKind],
    charges: &[Charge],
    counted: Option<Charge>,
) -> Result<BTreeSet<(Vec<i64>, Member)>, Error> {
    let local = |kind: &SiteKind| -> BTreeSet<(Vec<i64>, Member)> {
        let of_state = |state| {
            let two_sz = if kind.has_sz() { kind.charge(Charge::TwoSz, 0, state) } else { 0 };
            let number = counted.map_or(0, |charge| kind.charge(charge, 0, state));
            (charges.iter().map(|charge| kind.charge(*charge, 0, state)).collect(), Member { two_sz, number })
        };
        kind.states().map(of_state).collect()
    };
    let mut reached = BTreeSet::from([(vec![0; charges.len()], Member { two_sz: 0, number: 0 })]);
    for kind in kinds {
        let local = local(kind);
        let mut next = BTreeSet::new();
        for (values, member) in &reached {
            for (own, change) in &local {
                let sum = charges.iter().zip(values.iter().zip(own)).map(|(charge, (a, b))| charge.folded(a + b));
                let member = Member { two_sz: member.two_sz + change.two_sz, number: member.number + change.number };
                next.insert((sum.collect(), member));
            }
        }
        if next.len() > MOST_SECTORS {
            let why = format!("its charges have more than {MOST_SECTORS} values together: take a smaller cluster");
            return Err(Error::not_of_family(Family::Lattice, "thermal", why));
        }
        reached = next;
    }
    Ok(reached)
}

/// The places of charges of which none follows from those before it.
fn independent(charges: &[Charge], reached: &BTreeSet<(Vec<i64>, Member)>) -> Vec<usize> {
    let mut kept: Vec<usize> = Vec::new();
    for place in 0..charges.len() {
        let mut known: BTreeMap<Vec<i64>, i64> = BTreeMap::new();
        let follows = reached.iter().all(|(values, _)| {
            let before: Vec<i64> = kept.iter().map(|place| values[*place]).collect();
            *known.entry(before).or_insert(values[place]) == values[place]
        });
        if !follows {
            kept.push(place);
        }
    }
    kept
}
