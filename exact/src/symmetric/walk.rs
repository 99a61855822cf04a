//! A group as a walk: elements whose powers, multiplied, are all elements, each once.
//!
//! In: the elements on state words. Out: steps h₀, h₁, … with their numbers of powers, so that h₀^a₀ h₁^a₁ … are the elements, and the
//! place of each in the group's list. Every step normalises what the steps before it generate, so that its cosets are distinct; a
//! solvable group has such steps, and groups of lattices are solvable. Steps that cost few operations come first, since the first is
//! applied most often. Where the cheapest steps lead nowhere, steps are taken from one normal subgroup after another: the translations,
//! then the derived groups times the translations, whose quotients are abelian, so that any order of steps within one does.

use super::torus::{Elements, Rows, Torus};
use eigenforge_core::operator::{GroupElement, SiteLayout, SymmetryGroup};
use eigenforge_templates::exact::{GroupStep, MaskedShift, WordAction};
use std::collections::HashMap;

/// The steps, and the number of each element in their order: a₀ counts fastest.
#[derive(Debug)]
pub(super) struct Walk {
    pub steps: Vec<GroupStep>,
    pub order: Vec<usize>,
    /// Whether elements that invert nothing take every bit to the highest.
    pub mixes: bool,
    /// The rows of a torus, if the first two steps are theirs.
    pub torus: Option<Torus>,
}

/// Bits of the machine's word that holds words of a layout.
pub(super) fn machine_bits(layout: &SiteLayout) -> u32 {
    if layout.bits() > u32::BITS { u64::BITS } else { u32::BITS }
}

/// What an element does to words of a layout of real vectors of at most 64 bits; `machine` bits in the machine's word.
fn action(layout: &SiteLayout, element: &GroupElement, machine: u32) -> WordAction {
    let (mut moves, mut inverted, mut tops) = (Vec::new(), 0, 0);
    for digit in layout.digits() {
        let (kind, there) = (layout.kinds()[digit.site], element.place[digit.site] as usize);
        let to = match digit.mode {
            Some(mode) => layout.mode_shift(element.mode(kind, mode), there),
            None => layout.shift(there),
        };
        moves.extend((0..digit.width).map(|bit| (digit.shift + bit, to + bit)));
        if element.inverts_level(kind) || digit.mode.is_some() && element.empties(kind) {
            inverted |= ((1u64 << digit.width) - 1) << to;
            tops |= u64::from(digit.top) << to;
        }
    }
    let shifts = |from: &dyn Fn(u32) -> u32| {
        let mut shifts = Vec::<MaskedShift>::new();
        for (bit, to) in &moves {
            let (bit, by) = (from(*bit), *to as i32 - from(*bit) as i32);
            match shifts.iter_mut().find(|shift| shift.by == by) {
                Some(shift) => shift.mask |= 1 << bit,
                None => shifts.push(MaskedShift { mask: 1 << bit, by }),
            }
        }
        shifts
    };
    let (direct, reversed) = (shifts(&|bit| bit), shifts(&|bit| machine - 1 - bit));
    let inverts = (inverted != 0).then_some((inverted, tops));
    match (&direct[..], reversed.len() + 1 < direct.len()) {
        ([MaskedShift { by: 0, .. }], _) => WordAction { reversed: false, shifts: Vec::new(), inverts },
        (_, true) => WordAction { reversed: true, shifts: reversed, inverts },
        (_, false) => WordAction { reversed: false, shifts: direct, inverts },
    }
}

/// Steps for all elements on words of at most 64 bits; `None` for a group that has none, such as all permutations of five sites.
pub(super) fn walk(group: &SymmetryGroup, layout: &SiteLayout) -> Option<Walk> {
    let (bits, machine) = (layout.bits(), machine_bits(layout));
    let elements = &group.elements;
    let numbers: HashMap<&GroupElement, usize> =
        elements.iter().enumerate().map(|(number, element)| (element, number)).collect();
    let actions: Vec<WordAction> = elements.iter().map(|element| action(layout, element, machine)).collect();
    let rotates = |number: usize| {
        let one = MaskedShift { mask: u64::MAX >> (u64::BITS - bits) >> 1, by: 1 };
        actions[number].inverts.is_none() && actions[number].shifts.contains(&one)
    };
    // A rotation of the whole word by one bit first: its powers are looked at together.
    let mut candidates: Vec<usize> = (1..elements.len()).collect();
    candidates.sort_by_key(|number| (!rotates(*number), actions[*number].cost(), *number));
    let is_ring = candidates.first().is_some_and(|number| rotates(*number));
    let within = |candidates: &[usize], first: &[usize], last: Option<usize>| {
        let whole = Some(vec![vec![true; elements.len()]]);
        let normal = [true, false].into_iter().map(|translations| normal_series(group, &numbers, translations));
        let mut series = std::iter::once(whole).chain(normal).flatten();
        series.find_map(|series| steps_within(group, &numbers, candidates, &series, first, last))
    };
    let made = |chosen: &[Powers]| -> Vec<GroupStep> {
        let step = |(number, times): &Powers| GroupStep { action: actions[*number].clone(), times: *times };
        chosen.iter().map(step).collect()
    };
    // Of a torus turns and raises of rows first, and an inversion of all bits last.
    let by_rows = (!is_ring).then(|| Rows::new(&actions, bits, machine)).flatten().and_then(|rows| {
        let last = rows.inversion;
        let plain = |number: &usize| last.is_none() || actions[*number].inverts.is_none();
        let candidates: Vec<usize> = candidates.iter().copied().filter(plain).collect();
        let (chosen, order) = within(&candidates, &[rows.turn, rows.raise], last)?;
        let steps = made(&chosen);
        let walk = Elements { group, numbers: &numbers, actions: &actions, steps: &steps, order: &order, machine };
        let torus = rows.torus(&walk)?;
        Some((steps, order, torus))
    });
    let (mut steps, order, torus) = match by_rows {
        Some((steps, order, torus)) => (steps, order, Some(torus)),
        None => {
            let (chosen, order) = within(&candidates, &[], None)?;
            (made(&chosen), order, None)
        }
    };
    if steps.is_empty() {
        steps.push(GroupStep { action: WordAction::default(), times: 1 });
    }
    let top = 1u64 << (bits - 1);
    let moves = actions.iter().filter(|action| action.inverts.is_none()).collect::<Vec<_>>();
    let mixes = (0..bits).all(|bit| moves.iter().any(|action| action.image(1 << bit, machine) == top));
    Some(Walk { steps, order, mixes, torus })
}

/// A step by the number of its element, and how many powers it has.
type Powers = (usize, u32);

/// Steps with their numbers of powers: those that are to be `first`, and one that is to be `last`; each of the others from the first
/// normal subgroup that is not whole yet, the first candidate that normalises what is there; and the elements in their order. `None` where
/// no candidate is left.
fn steps_within(
    group: &SymmetryGroup,
    numbers: &HashMap<&GroupElement, usize>,
    candidates: &[usize],
    series: &[Vec<bool>],
    first: &[usize],
    last: Option<usize>,
) -> Option<(Vec<Powers>, Vec<usize>)> {
    let elements = &group.elements;
    let product = |a: usize, b: usize| numbers.get(&elements[a].after(&elements[b])).copied();
    let (mut order, mut chosen) = (vec![0], Vec::<Powers>::new());
    let mut inside = vec![false; elements.len()];
    inside[0] = true;
    while order.len() < elements.len() {
        let missing = |subgroup: &&Vec<bool>| subgroup.iter().zip(&inside).any(|(wanted, there)| *wanted && !there);
        let within = series.iter().find(missing)?;
        let normalises = |number: &usize| {
            let inverse = elements[*number].inverse();
            chosen.iter().all(|(before, _)| {
                let conjugate = elements[*number].after(&elements[*before]).after(&inverse);
                numbers.get(&conjugate).is_some_and(|number| inside[*number])
            })
        };
        let allowed = |number: &usize| within[*number] && !inside[*number] && normalises(number);
        let next = match (first.get(chosen.len()), last) {
            (Some(first), _) => Some(*first).filter(|number| !inside[*number] && normalises(number)),
            (None, Some(last)) if 2 * order.len() == elements.len() => Some(last),
            _ => candidates.iter().copied().find(allowed),
        }?;
        // Its powers until one is inside.
        let mut powers = vec![0, next];
        loop {
            let power = product(next, *powers.last()?)?;
            if inside[power] {
                break;
            }
            powers.push(power);
        }
        let cosets = powers.iter().flat_map(|power| order.iter().map(|before| product(*before, *power)));
        order = cosets.collect::<Option<Vec<usize>>>()?;
        order.iter().for_each(|number| inside[*number] = true);
        chosen.push((next, powers.len() as u32));
    }
    Some((chosen, order))
}

/// Normal subgroups, each in the next, with abelian quotients: of each which elements it has. The derived groups of a group, times its
/// translations if these are wanted; `None` if the group is not solvable.
fn normal_series(
    group: &SymmetryGroup,
    numbers: &HashMap<&GroupElement, usize>,
    with_translations: bool,
) -> Option<Vec<Vec<bool>>> {
    let number = |element: &GroupElement| numbers.get(element).copied();
    let all: Option<Vec<(usize, bool)>> = (group.generators.iter())
        .map(|generator| Some((number(&generator.element)?, generator.name.starts_with("translation"))))
        .collect();
    let all = all?;
    let base: Vec<usize> =
        all.iter().filter(|(_, translates)| with_translations && *translates).map(|(own, _)| *own).collect();
    let own: Vec<usize> = all.iter().map(|(own, _)| *own).collect();
    let after = |a: usize, b: usize| number(&group.elements[a].after(&group.elements[b]));
    let inverse = |a: usize| number(&group.elements[a].inverse());
    let subgroup = |generators: &[usize]| {
        let (mut inside, mut list) = (vec![false; group.elements.len()], vec![0]);
        inside[0] = true;
        let mut next = 0;
        while next < list.len() {
            for generator in generators {
                let found = after(*generator, list[next])?;
                if !std::mem::replace(&mut inside[found], true) {
                    list.push(found);
                }
            }
            next += 1;
        }
        Some(inside)
    };
    // The smallest normal subgroup with these elements, by generators.
    let normal = |mut generators: Vec<usize>| {
        let mut next = 0;
        let mut inside = subgroup(&generators)?;
        while next < generators.len() {
            for by in &own {
                let conjugate = after(after(*by, generators[next])?, inverse(*by)?)?;
                if !inside[conjugate] {
                    generators.push(conjugate);
                    inside = subgroup(&generators)?;
                }
            }
            next += 1;
        }
        Some(generators)
    };
    let (mut series, mut generators) = (Vec::new(), own.clone());
    loop {
        let inside = subgroup(&[&generators[..], &base].concat())?;
        let plain = subgroup(&generators)?;
        series.push(inside);
        if plain.iter().filter(|there| **there).count() == 1 {
            break;
        }
        let mut commutators = Vec::new();
        for a in &generators {
            for b in &generators {
                let commutator = after(after(*a, *b)?, after(inverse(*a)?, inverse(*b)?)?)?;
                if commutator != 0 && !commutators.contains(&commutator) {
                    commutators.push(commutator);
                }
            }
        }
        generators = normal(commutators)?;
        if subgroup(&generators)? == plain {
            return None;
        }
    }
    series.reverse();
    Some(series)
}

#[cfg(test)]
mod tests {
    use super::*;
    use eigenforge_core::lattice::{Lattice, LatticeKind};
    use eigenforge_core::operator::{Operator, SiteKind, Symmetry};
    use std::collections::HashSet;

    fn check(layout: &SiteLayout, group: &SymmetryGroup) -> Walk {
        let (walk, machine) = (walk(group, layout).unwrap(), machine_bits(layout));
        let all: HashSet<usize> = walk.order.iter().copied().collect();
        assert_eq!((walk.order.len(), all.len()), (group.elements.len(), group.elements.len()));
        let actions = eigenforge_core::basis::WordActions::new(group, layout);
        let alone = |number: &usize| {
            let alone = SymmetryGroup::of_elements(vec![group.elements[*number].clone()]);
            eigenforge_core::basis::WordActions::new(&alone, layout)
        };
        let each: Vec<eigenforge_core::basis::WordActions> = walk.order.iter().map(alone).collect();
        for seed in 1..=(6000 / walk.order.len() as u64).clamp(12, 200) {
            let digits = layout.digits().iter().map(|digit| {
                let value =
                    seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(7 * digit.shift) % u64::from(digit.top + 1);
                value << digit.shift
            });
            let word: u64 = digits.sum();
            // The images in the order of the walk, a₀ fastest, are those of the elements in its list.
            let mut images = vec![word];
            for step in walk.steps.iter().rev() {
                let powers = |word: &u64| {
                    let next = |word: &u64| Some(step.action.image(*word, machine));
                    std::iter::successors(Some(*word), next).take(step.times as usize).collect::<Vec<u64>>()
                };
                images = images.iter().flat_map(powers).collect();
            }
            let least = actions.reached(word.into()).word;
            assert_eq!(images.iter().min().map(|image| u128::from(*image)), Some(least));
            if let Some(torus) = &walk.torus {
                let (found, at) = super::super::torus::least_of(torus, &walk.steps, layout.bits(), machine, word);
                assert_eq!((u128::from(found), images[at]), (least, found));
            }
            for (image, one) in images.iter().zip(&each) {
                assert_eq!(u128::from(*image), one.reached(word.into()).word);
            }
        }
        walk
    }

    #[test]
    fn walks_are_all_elements() {
        let group = |lattice: &Lattice, kind: SiteKind, symmetry: Symmetry| {
            let kinds = vec![kind; lattice.sites().len()];
            let operator = Operator::recorded(&[], 1, kinds.len(), Vec::new()).on_kinds(&kinds);
            let moves = (0..2).filter_map(|direction| lattice.translation(direction)).chain(lattice.reflection());
            let symmetry = moves.fold(symmetry, |all, place| all.generator(&place, 1.0.into()));
            (SiteLayout::new(&kinds), symmetry.group(&operator, &[]).unwrap())
        };
        let (half, one) = (SiteKind::Moments { two_s: 1 }, SiteKind::Moments { two_s: 2 });
        let ring = |sites| Lattice::chain(sites).periodic();
        let (layout, elements) = group(&ring(12), half, Symmetry::new().spin_inversion(1));
        let walk = check(&layout, &elements);
        assert_eq!((walk.steps[0].times, walk.steps.len(), walk.order.len()), (12, 3, 48));
        for kind in [one, SiteKind::Electrons, SiteKind::Bosons { most: 3 }] {
            let (layout, elements) = group(&ring(6), kind, Symmetry::new());
            check(&layout, &elements);
        }
        let (layout, elements) = group(&ring(5), one, Symmetry::new().spin_inversion(1));
        check(&layout, &elements);
        let torus = Lattice::square([4, 3]).periodic();
        let (layout, elements) = group(&torus, SiteKind::Electrons, Symmetry::new().exchange(1));
        check(&layout, &elements);
        let (layout, elements) = group(&Lattice::square([6, 6]).periodic(), half, Symmetry::new());
        check(&layout, &elements);
        // Space groups, of which the cheapest steps lead nowhere.
        let tilted = |kind, rows| Lattice::tilted(kind, rows);
        for (lattice, kind, inverts, elements, lines) in [
            (Lattice::square([3, 3]).periodic(), half, false, 72, Some(6)),
            (Lattice::square([4, 4]).periodic(), half, true, 256, Some(8)),
            (Lattice::square([4, 3]).periodic(), one, true, 96, Some(3)),
            (Lattice::triangular([3, 3]).periodic(), half, true, 216, Some(9)),
            (Lattice::triangular([4, 4]).periodic(), SiteKind::Electrons, false, 192, Some(12)),
            (Lattice::honeycomb([3, 3]).periodic(), half, false, 108, Some(9)),
            (Lattice::kagome([3, 3]).periodic(), half, true, 216, Some(18)),
            (tilted(LatticeKind::Square, [[4, 4], [4, -4]]), half, true, 512, None),
            (tilted(LatticeKind::Kagome, [[4, -2], [2, 2]]), half, true, 288, None),
            (tilted(LatticeKind::Square, [[3, 1], [-1, 3]]), half, false, 40, None),
        ] {
            let kinds = vec![kind; lattice.sites().len()];
            let operator = Operator::recorded(&[], 1, kinds.len(), Vec::new()).on_kinds(&kinds).on_lattice(&lattice);
            let momentum = vec![0; lattice.translations().len()];
            let symmetry = Symmetry::new().k(&momentum).irrep("trivial");
            let symmetry = if inverts { symmetry.spin_inversion(1) } else { symmetry };
            let group = symmetry.group(&operator, &[]).unwrap();
            let walk = check(&SiteLayout::new(&kinds), &group);
            assert_eq!(walk.order.len(), elements, "{lattice}");
            let found = walk.torus.map(|torus| torus.rows.lines.len());
            assert!(lines.is_none() || found == lines, "{lattice}: {found:?}");
        }
    }
}
