//! Groups, characters and images of terms.

use super::group::root_of_unity;
use super::*;
use crate::models;
use crate::operator::{Factor, SiteKind, Spin, build};

fn ring(sites: usize) -> Operator {
    let lattice = Lattice::chain(sites).periodic();
    models::xxz(&lattice, &vec![1.0; sites], &vec![0.7; sites], &vec![0.0; sites], &vec![0.0; sites])
}

fn refused(symmetry: Symmetry, operator: &Operator, two_sz: i64) -> String {
    symmetry.group(&operator.reduced(), &[(Charge::TwoSz, two_sz)]).unwrap_err().to_string()
}

#[test]
fn roots_of_unity_have_exact_quarters() {
    for (numerator, re, im) in [(0, 1.0, 0.0), (3, 0.0, 1.0), (6, -1.0, 0.0), (9, 0.0, -1.0), (12, 1.0, 0.0)] {
        assert_eq!(root_of_unity(numerator, 12), Complex64::new(re, im));
    }
    for numerator in 0..7 {
        let expected = Complex64::from_polar(1.0, TAU * numerator as f64 / 7.0);
        assert!((root_of_unity(numerator, 7) - expected).norm() < 1e-15);
    }
}

#[test]
fn generators_are_closed_with_their_characters() {
    let operator = ring(6).reduced();
    let sector = [(Charge::TwoSz, 0)];
    let group = Symmetry::new().k(&[3]).reflection(-1).spin_inversion(1).group(&operator, &sector).unwrap();
    assert_eq!(group.elements.len(), 24);
    assert!(group.is_real());
    let characters = group.characters();
    for (a, first) in group.elements.iter().enumerate() {
        assert!(first.after(&first.inverse()) == group.elements[0]);
        for (b, second) in group.elements.iter().enumerate() {
            let product = group.elements.iter().position(|element| *element == first.after(second)).unwrap();
            assert!((characters[product] - characters[a] * characters[b]).norm() < 1e-14);
        }
    }
    // The same by permutations, whose characters are written with six digits.
    let turn = Complex64::new(0.5, -0.866025);
    let by_hand = Symmetry::new().generator(&[1, 2, 3, 4, 5, 0], turn).group(&operator, &sector).unwrap();
    let by_name = Symmetry::new().k(&[1]).group(&operator, &sector).unwrap();
    assert_eq!(by_hand.identity(), by_name.identity());
    assert!(!by_name.is_real());
}

#[test]
fn what_is_no_symmetry_is_refused_with_what_would_fit() {
    let six = ring(6);
    let has =
        |text: String, parts: &[&str]| parts.iter().for_each(|part| assert!(text.contains(part), "{text}\n{part}"));
    let new = Symmetry::new;
    has(refused(new(), &six, 0), &["no symmetry is named"]);
    has(refused(new().k(&[6]), &six, 0), &["k = 6", "order 6", "0 to 5", "k = 0"]);
    has(refused(new().k(&[-1]), &six, 0), &["k = -1", "k = 5"]);
    has(refused(new().k(&[0, 0]), &six, 0), &["2 momenta", "orders [6]"]);
    has(refused(new().reflection(2), &six, 0), &["reflection = 2", "1 or -1"]);
    has(refused(new().k(&[1]).reflection(1), &six, 0), &["no representation", "half the length"]);
    has(refused(new().spin_inversion(1), &six, 2), &["2Sz = 2 to 2Sz = -2", "two_sz = 0"]);
    has(refused(new().exchange(1), &six, 0), &["exchange", "electrons", "`spin_inversion`"]);
    let one = Complex64::new(1.0, 0.0);
    has(refused(new().generator(&[1, 2, 3, 4, 5], one), &six, 0), &["generators[0]", "5 numbers", "6 sites"]);
    has(refused(new().generator(&[1, 2, 3, 4, 5, 5], one), &six, 0), &["sites 4 and 5 both go to 5"]);
    has(refused(new().generator(&[1, 2, 3, 4, 5, 6], one), &six, 0), &["site 5 goes to 6"]);
    has(refused(new().generator(&[1, 2, 3, 4, 5, 0], one * 0.9), &six, 0), &["order 6", "found 0.9"]);
    has(
        refused(new().generator(&[1, 0, 2, 3, 4, 5], one), &six, 0),
        &["not invariant", "S⁺_1 S⁻_2", "S⁺_0 S⁻_2", "is 0", "generators[0]"],
    );
    let mut open = Lattice::chain(4);
    has(
        refused(new().k(&[0]), &models::xxz(&open, &[1.0; 3], &[1.0; 3], &[0.0; 4], &[0.0; 4]), 0),
        &["open", "there is none"],
    );
    open = open.periodic();
    let bent = models::xxz(&open, &[1.0, 1.0, 1.1, 1.0], &[1.0; 4], &[0.0; 4], &[0.0; 4]);
    has(refused(new().k(&[0]), &bent, 0), &["S⁺", "0.55", "0.5", "every cell"]);
    let field = models::xxz(&open, &[1.0; 4], &[1.0; 4], &[0.3, 0.0, 0.0, 0.0], &[0.0; 4]);
    has(refused(new().spin_inversion(1), &field, 0), &["0.3 Sᶻ_0", "-0.3 Sᶻ_0", "0.3"]);
    // The same field everywhere vanishes where 2Sz = 0.
    let field = models::xxz(&open, &[1.0; 4], &[1.0; 4], &[0.3; 4], &[0.0; 4]);
    assert!(new().spin_inversion(1).group(&field.reduced(), &[(Charge::TwoSz, 0)]).is_ok());
    assert!(new().spin_inversion(1).group(&field.reduced(), &[]).is_err());
    // All permutations of eight spins are symmetries, 40,320 of them.
    let all: Operator = (0..8).flat_map(|i| (0..i).map(move |j| build::sdots(i, j))).sum();
    let (cycle, swap) = ([1, 2, 3, 4, 5, 6, 7, 0], [1, 0, 2, 3, 4, 5, 6, 7]);
    has(refused(new().generator(&cycle, one).generator(&swap, one), &all, 0), &["8192", "n!"]);
}

#[test]
fn images_of_fermions_have_the_signs_of_their_order() {
    let kinds = [crate::operator::SiteKind::Electrons; 3];
    let place = GroupElement::permutation(&[2, 0, 1]);
    // n_0↑ n_1↑ goes to n_2↑ n_0↑ without a sign, c†_0 c†_1 … to −c†_0 c†_2 ….
    let pair = [
        Factor::Create(Spin::Up, 0),
        Factor::Create(Spin::Up, 1),
        Factor::Annihilate(Spin::Up, 1),
        Factor::Annihilate(Spin::Up, 0),
    ];
    let image = place.image(&kinds, &pair);
    let (product, sign) = image.first_key_value().unwrap();
    assert_eq!((product.len(), *sign), (4, 1.0));
    let hop = [
        Factor::Create(Spin::Up, 0),
        Factor::Create(Spin::Up, 1),
        Factor::Annihilate(Spin::Up, 2),
        Factor::Annihilate(Spin::Up, 1),
    ];
    let image = place.image(&kinds, &hop);
    let (expected_product, expected) = {
        let moved = Operator::product(&[
            Factor::Create(Spin::Up, 2),
            Factor::Create(Spin::Up, 0),
            Factor::Annihilate(Spin::Up, 1),
            Factor::Annihilate(Spin::Up, 0),
        ]);
        let (product, coefficient) = moved.terms().next().map(|(product, value)| (product.to_vec(), value)).unwrap();
        (product, coefficient)
    };
    assert_eq!(image, [(expected_product, expected)].into());
    let swapped = GroupElement { electrons: true, ..GroupElement::identity(3) };
    let image = swapped.image(
        &kinds,
        &[
            Factor::Create(Spin::Up, 0),
            Factor::Create(Spin::Down, 1),
            Factor::Annihilate(Spin::Down, 0),
            Factor::Annihilate(Spin::Up, 1),
        ],
    );
    assert_eq!(image.values().copied().collect::<Vec<_>>(), [1.0]);
}

/// Words and signs against U c†_a c†_b … |0⟩ = (U c†_a U⁻¹) (U c†_b U⁻¹) … U|0⟩, one factor after the other, with U|0⟩ the full state; and the number of states of a sector against the list.
#[test]
fn particles_become_holes_with_their_signs() {
    use crate::basis::{Basis, WordActions};
    use crate::operator::{Configuration, SiteLayout};
    let spinless = SiteKind::Flavours(1);
    for (kinds, colours, place, exchanged) in [
        (vec![spinless; 5], vec![false, true, false, true, true], vec![0, 1, 2, 3, 4], false),
        (vec![spinless; 6], vec![false, true, false, true, false, true], vec![1, 2, 3, 4, 5, 0], false),
        (vec![SiteKind::Electrons; 4], vec![false, true, false, true], vec![1, 2, 3, 0], false),
        (vec![SiteKind::Electrons; 4], vec![false, true, true, true], vec![2, 1, 0, 3], true),
        (vec![SiteKind::Flavours(3); 2], vec![false, true], vec![1, 0], false),
    ] {
        let layout = SiteLayout::new(&kinds);
        let element =
            GroupElement { electrons: exchanged, holes: Some(colours.into()), ..GroupElement::permutation(&place) };
        let actions = WordActions::new(&SymmetryGroup::of_elements(vec![element.clone()]), &layout);
        let modes = holes::modes(&kinds);
        for word in 0..1u128 << layout.bits() {
            let occupied = modes.iter().filter(|(mode, site)| word >> layout.mode_shift(*mode, *site) & 1 == 1);
            // P U|0⟩ is the full state.
            let mut state: Configuration = vec![1; layout.digits().len()];
            let mut sign = 1.0;
            for (mode, site) in occupied.collect::<Vec<_>>().into_iter().rev() {
                let image = element.image(&kinds, &[Factor::Create(*mode, *site)]);
                let (product, factor) = image.first_key_value().unwrap();
                sign *= factor * layout.apply_factor(product[0], &mut state);
            }
            let reached = actions.reached(word);
            assert_eq!(reached.word, layout.word(&state), "{word:b}");
            assert_eq!(reached.factor.re, sign, "{word:b}");
        }
        // The trace, by the sum over the words that stay.
        for number in 0..=modes.len() as i64 {
            let charges = [(Charge::Particles, number)];
            let basis = Basis::on_sites(layout.clone().into(), charges.to_vec()).unwrap();
            let words = (0..basis.dimension()).map(|index| basis.state(index));
            let stay =
                words.map(|word| actions.reached(word)).zip(0..).filter(|(at, index)| at.word == basis.state(*index));
            let sum: f64 = stay.map(|(at, _)| at.factor.re).sum();
            let both = SymmetryGroup::of_elements(vec![GroupElement::identity(kinds.len()), element.clone()]);
            let counted = both.states(&kinds, &charges) as f64;
            assert_eq!(((basis.dimension() as f64 + sum) / 2.0).round(), counted, "{number} of {kinds:?}");
        }
    }
}
