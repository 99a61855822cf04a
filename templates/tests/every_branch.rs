//! Every plan has what its template names, on every branch. Rendering checks the fields of the plan on all branches by
//! itself; here the lists are filled in every way too, so that the fields of their elements are looked at, and each text is
//! free of what an engine leaves behind when it goes wrong.

use eigenforge_templates::ci::{
    FullCiPlan, GroupPlan, RowsCounts, RowsPlan, SlabCounts, SlabPlan, SpinPanelPlan, SpinTransformPlan,
    StringTableCounts, grouped, slab_groups,
};
use eigenforge_templates::column_copies::{ColumnCopiesPlan, CopiedColumns, CopyDirection};
use eigenforge_templates::dmrg::{GroupedProductsPlan, MatrixCopiesPlan, OperatorAssemblyPlan, StreamedProductsPlan};
use eigenforge_templates::exact::*;
use eigenforge_templates::launch::{Number, Parameter};
use eigenforge_templates::signature::Signature;
use eigenforge_templates::vector_program::VectorProgram;
use eigenforge_templates::{ElementFunctionText, KernelText, ScalarType, TextError, Warp};

fn complete_text(text: Result<KernelText, TextError>) -> KernelText {
    let text = text.unwrap_or_else(|error| panic!("{error}"));
    for mark in ["<%", "${", "undefined", "#error", "RESUME"] {
        assert!(!text.text.contains(mark), "{mark} is left in {}:\n{}", text.name, text.text);
    }
    for entry in &text.entries {
        assert!(
            eigenforge_templates::signature::declared(&text.text, entry).is_some(),
            "{entry} is not in {}",
            text.name
        );
    }
    assert_eq!(eigenforge_templates::signature::kernels(&text.text), text.entries);
    text
}

fn diagonals() -> Vec<DiagonalPlan> {
    let count = CountGroup { coefficient: 4.0, left: StateWord::State, right: None, mask: 3, differs: false };
    let product = |parity| ProductTerm { coefficient: 1.5, mask: 7, down_mask: 1, parity };
    let level = LevelTerm { coefficient: 0.5, factors: vec![(0, 1), (1, 2)] };
    let parameter = |indexed| ExpressionParameter { name: "u".into(), values: vec![1.0, 2.0], indexed, integer: false };
    let expression = |sum: &str, indexed| ExpressionPlan {
        file: "model.rs".into(),
        line: 7,
        text: sum.into(),
        cuda: if indexed { "u[i]" } else { "u" }.into(),
        indices: vec![("i".into(), true, vec![0.0, 1.0]), ("w".into(), false, vec![0.5, 1.0])],
        parameters: vec![parameter(indexed)],
    };
    vec![
        DiagonalPlan::default(),
        DiagonalPlan { counts: vec![count], products: vec![product(true), product(false)], ..DiagonalPlan::default() },
        DiagonalPlan { levels: vec![level], level_width: 2, two_s: 2, ..DiagonalPlan::default() },
        DiagonalPlan { expressions: vec![expression("a", true), expression("b", false)], ..DiagonalPlan::default() },
    ]
}

#[test]
fn averages_of_one_bit_and_of_several() {
    for (sites, width) in [([0, 1], 1), ([3, 4], 1), ([2, 3], 2), ([32, 32], 1)] {
        for (scalar, rows) in [(ScalarType::F64, 50), (ScalarType::F32, 50), (ScalarType::F64, 7000)] {
            let plan = AveragesPlan::new(scalar, sites, width, [100, rows], 1e4);
            assert_eq!(plan.staged, rows == 50);
            let text = complete_text(plan.text());
            let sizes = AveragesSizes { tasks: 3, columns: 10, terms: 6, sum_tasks: 2, ..AveragesSizes::default() };
            let launches = plan.launches(&sizes).unwrap();
            for launch in &launches {
                let signature = eigenforge_templates::signature::Signature::read(&text.text, &launch.entry).unwrap();
                signature.check(launch).unwrap();
                assert_eq!(signature.threads, Some(launch.block), "{}", launch.entry);
            }
            assert_eq!(launches.map(|launch| launch.grid[0]), [3, 3, 2]);
            assert!(plan.cost().flops >= 2e4 && plan.cost().bytes == 100.0 * scalar.bytes() as f64);
        }
    }
}

/// Real amplitudes of every kind.
fn kinds_of_amplitudes() -> [Amplitudes; 3] {
    [Amplitudes::One(-1.0), Amplitudes::Signed(1.0), Amplitudes::Table(vec![-1.0, 0.5, 2.0])]
}

/// Lists of elements of every kind, present and not.
fn staged_lists() -> Vec<ColumnLists> {
    let list = |words, amplitudes: &Amplitudes, word| ElementList {
        words,
        index_bits: 10,
        word,
        amplitudes: amplitudes.clone(),
    };
    let mut found = Vec::new();
    let (real, turned) = (kinds_of_amplitudes(), |signs| Amplitudes::Phase { amplitude: [0.6, 0.8], signs });
    let complex = [turned(false), turned(true), Amplitudes::Complex(vec![[-1.0, 0.5], [0.5, 0.0], [2.0, -1.0]])];
    for amplitudes in real.into_iter().chain(complex) {
        for (words, factor_signs, complex) in [(0, false, false), (8, true, false), (8, false, true)] {
            let [low, whole, cross] =
                [IndexWord::U16, IndexWord::U32, IndexWord::U64].map(|w| list(words, &amplitudes, w));
            if !complex && matches!(amplitudes, Amplitudes::Phase { .. } | Amplitudes::Complex(_)) {
                continue;
            }
            let (classes, factor_word) = (vec![2, 1], if complex { IndexWord::U32 } else { IndexWord::U16 });
            let (longest, slices, factors) = (2, 2, 1);
            found.push(ColumnLists {
                classes,
                complex,
                longest,
                slices,
                low,
                whole,
                cross,
                factors,
                factor_word,
                factor_signs,
            });
        }
    }
    found
}

#[test]
fn the_general_multiply() {
    let term = |sign| MaskedTerm { care: 3, pattern: 1, sign, amplitude: 0.5 };
    let group = |flip| FlipGroup { flip, terms: vec![term(0), term(4)] };
    for groups in [vec![], vec![group(3)], (1..200).map(group).collect::<Vec<_>>()] {
        for diagonal in diagonals() {
            for (sites, high_parts) in [(0, 4), (4, 4), (0, 0), (4, 0)] {
                let (diagonal, sources) = (DiagonalPlan { sites, ..diagonal.clone() }, vec!["m.rs:7  sum!(…)".into()]);
                let scalar = ScalarType::F64;
                let plan = {
                    let sizes = TableSizes { low_bits: 2, parts: 3, low_states: 4, high_parts };
                    GeneralPlan::new("pair".into(), scalar, sizes, 6, diagonal, groups.clone(), sources)
                };
                let expected = if groups.len() < 100 { GeneralStrategy::States } else { GeneralStrategy::Table };
                assert_eq!(plan.shape.strategy, expected);
                let text = complete_text(plan.text());
                assert_eq!(text.text.contains("group_flip"), expected == GeneralStrategy::Table);
                assert_eq!(text.text.contains("high_offset"), high_parts > 0);
                assert!(!plan.diagonal_element().source.contains("#error"));
                for staged in staged_lists() {
                    let plan = plan.clone().with_lists(Some(staged));
                    let plan = plan.with_strategy(GeneralStrategy::Staged { columns: 2 });
                    let text = complete_text(plan.text()).text;
                    let lists = plan.lists.as_ref().unwrap();
                    assert_eq!(text.contains("factor_row"), lists.cross.words > 0);
                    assert_eq!(text.contains("+ HALF]"), lists.complex);
                    for vectors in 2..=MOST_VECTORS {
                        let several = plan.for_vectors(vectors, plan.sizes(), lists).unwrap();
                        let text = complete_text(several.text()).text;
                        assert!(text.contains(&format!("VECTORS = {vectors};")));
                        assert_eq!(text.contains("x[v]["), lists.whole.words > 0);
                        assert!(several.predicted.unwrap().together > 0.0);
                    }
                }
            }
        }
    }
}

/// Groups with and without rotations of the whole word, characters, signs, complex numbers, many and no terms, long and short words.
#[test]
fn the_multiply_of_a_symmetry_sector() {
    let shift = |mask, by| MaskedShift { mask, by };
    let rotation = |bits: u32| WordAction {
        shifts: vec![shift((1 << (bits - 1)) - 1, 1), shift(1 << (bits - 1), 1 - bits as i32)],
        ..WordAction::default()
    };
    let mirror = |bits: u32, machine: u32| WordAction {
        reversed: true,
        shifts: vec![shift(u64::MAX >> (64 - machine) << (machine - bits), (bits as i32) - machine as i32)],
        inverts: None,
    };
    let all = |bits: u32| WordAction { inverts: Some(((1 << bits) - 1, (1 << bits) - 1)), ..WordAction::default() };
    let some = WordAction { inverts: Some((12, 8)), ..rotation(4) };
    let step = |action, times| GroupStep { action, times };
    let turn = WordAction { shifts: vec![shift(0o3333, 1), shift(0o4444, -2)], ..WordAction::default() };
    let raise = |bits: u32| WordAction {
        shifts: vec![shift((1 << (bits - 3)) - 1, 3), shift(7 << (bits - 3), 3 - bits as i32)],
        ..WordAction::default()
    };
    let walks = [
        (4, vec![step(WordAction::default(), 1)]),
        (4, vec![step(rotation(4), 4)]),
        (6, vec![step(rotation(6), 6), step(mirror(6, 32), 2), step(all(6), 2)]),
        (4, vec![step(some, 4), step(all(4), 2)]),
        (40, vec![step(rotation(40), 40), step(mirror(40, 64), 2)]),
        (40, vec![step(mirror(40, 64), 2), step(rotation(40), 40)]),
        (64, vec![step(mirror(64, 64), 2)]),
        (12, vec![step(turn, 3), step(raise(12), 4), step(mirror(12, 32), 2), step(all(12), 2)]),
        (36, vec![step(rotation(36), 3), step(raise(36), 12), step(mirror(36, 64), 2)]),
    ];
    // What the text takes for the rows of a torus; the steps need not be one's.
    let torus = |bits: u32, steps: &[GroupStep]| {
        let (row_bits, twist) = if bits == 36 { (3, 1) } else { (3, 0) };
        let is_torus = steps.len() > 2 && steps[0].times == 3;
        let action = steps.get(2).map(|step| step.action.clone()).unwrap_or_default();
        let (image, window) = (ImageStep { number: 1, from: 0, action }, 2 * row_bits);
        let lines = vec![[0, 3], [1, 2], [1, bits / row_bits - 1]];
        is_torus.then(|| TorusRows { row_bits, step: 1, twist, window, images: vec![image], lines, members: 2 })
    };
    let term = |sign, amplitude| MaskedTerm { care: 3, pattern: 1, sign, amplitude };
    let group = |flip| FlipGroup { flip, terms: vec![term(0, 0.5)] };
    let signed = |flip| FlipGroup { flip, terms: vec![term(4, 0.5), term(0, 0.25)] };
    let operators = [vec![], vec![group(3)], (1..70).map(group).collect::<Vec<_>>(), vec![signed(3), signed(6)]];
    for (walk, (bits, steps)) in walks.into_iter().enumerate() {
        for (number, groups) in operators.iter().enumerate() {
            let lines = Some(LineCounts { lines: 5, directions: 2 });
            let kinds = [
                (false, false, false, 4, None),
                (true, false, false, 0, None),
                (true, true, false, 4, None),
                (false, true, true, 4, None),
                (true, false, true, 0, None),
                (false, false, true, 4, None),
                (true, false, true, 4, lines),
                (true, true, true, 0, lines),
            ];
            // Half of them for each walk and operator: all for each walk, and for each operator.
            let chosen = kinds.into_iter().skip((walk + number) % 2).step_by(2);
            for (characters, fermions, complex, high_parts, lines) in chosen {
                let imaginary = if complex && lines.is_none() { groups.clone() } else { Vec::new() };
                assert!(SymmetryPlan::is_short(&steps, groups, &imaginary));
                let plan = SymmetryPlan {
                    name: "sector".into(),
                    scalar: ScalarType::F64,
                    warp: Warp::default(),
                    bits,
                    low_bits: 2,
                    parts: 3,
                    low_states: 4,
                    high_parts,
                    words: 300,
                    ranks: if bits == 64 { 1 << 40 } else { 150 },
                    states: 31,
                    complex,
                    lines,
                    extremes: number == 1,
                    steps: steps.clone(),
                    torus: torus(bits, &steps),
                    characters,
                    fermions,
                    diagonal: diagonals()[number].clone(),
                    groups: groups.clone(),
                    imaginary,
                    sources: vec!["m.rs:7  sum!(…)".into()],
                };
                let text = complete_text(plan.text());
                let ring = steps[0].action == rotation(bits.min(40)) && steps[0].times == bits;
                assert_eq!(text.text.contains("consider_runs"), ring);
                assert_eq!(text.text.contains("look_at_line"), plan.torus.is_some());
                assert_eq!(text.text.contains("is_odd"), fermions);
                assert_eq!(text.text.contains("has_state"), characters || fermions);
                assert_eq!(text.text.contains("high_offset"), high_parts > 0);
                let multiply = &plan.launches().unwrap()[0];
                let has_terms = multiply.parameters.iter().any(|parameter| parameter.name == "term_sign");
                assert_eq!(has_terms, number == 3);
                let [listing, average] = [plan.listing().unwrap(), plan.average([4, 6, 2]).unwrap()];
                let parts = plan.parts_launch().unwrap();
                for launch in listing.iter().chain(&parts).chain(&average).chain(&plan.launches().unwrap()) {
                    eigenforge_templates::signature::Signature::read(&text.text, &launch.entry)
                        .unwrap()
                        .check(launch)
                        .unwrap();
                }
                assert_eq!(text.text.contains("number_parts"), lines.is_some());
                assert_eq!(plan.dimension(), if complex { 62 } else { 31 } - lines.map_or(0, |own| own.lines));
                assert!(!plan.diagonal_element().source.contains("#error"));
                assert!(plan.shape().contains(&format!("a group of {} elements", plan.elements())));
                let coded = number > 0 && (characters || fermions || complex || number == 3);
                let codes = if coded { &[SlotCodes::Within, SlotCodes::Beside][..] } else { &[SlotCodes::None] };
                codes.iter().for_each(|codes| a_table_of_partners(&plan, *codes));
            }
        }
    }
}

/// The same sector from a table of partners, of all rows and of some.
fn a_table_of_partners(rows: &SymmetryPlan, codes: SlotCodes) {
    for (kept, cards) in [(31, 1), (16, 1), (31, 3), (16, 2)] {
        let plan = PartnersPlan {
            rows: rows.clone(),
            codes,
            index_bits: 6,
            values: 3,
            amplitudes: 2,
            character_classes: 2,
            kinds: 16,
            orders: 4,
            row_slots: 2.5,
            kept,
            cards,
        };
        let text = complete_text(plan.text());
        assert_eq!(text.text.contains("card_blocks"), cards > 1);
        assert_eq!(text.text.contains("multiply_others"), plan.is_part());
        assert_eq!(text.text.contains("codes[place]"), codes == SlotCodes::Beside && !rows.groups.is_empty());
        assert_eq!(text.text.contains("value_re"), codes != SlotCodes::None);
        let kept = plan.predicted_rows();
        let others = [plan.count_launch().unwrap(), plan.fill_launch(kept).unwrap()];
        for launch in rows.set_up().unwrap().iter().chain(&others).chain(&plan.launches(kept).unwrap()) {
            Signature::read(&text.text, &launch.entry).unwrap().check(launch).unwrap();
        }
        let [first, second] = plan.predicted_milliseconds();
        assert!(first > 0.0 && (second > 0.0) == plan.is_part());
        assert!(plan.cost().bytes > rows.states as f64 * 8.0 && plan.partials() >= 1);
        assert_eq!(plan.rows_within(u64::MAX), 31);
        assert_eq!(plan.rows_within(0), 0);
    }
}

/// Both parities, hops by runs and by a list, one card and several.
#[test]
fn the_multiply_on_pairs() {
    for (diagonal, sign) in diagonals().into_iter().zip([1, -1].into_iter().cycle()) {
        for runs in [None, Some(DownShape::Runs { low_sites: 2, outputs: 1, warps: 2 })] {
            let hop = |flip| Hop { flip, care: flip, pattern: flip & 5, sign: 0, amplitude: -0.5 };
            let (hops, amplitudes, strings) = (vec![hop(3), hop(6)], Amplitudes::One(-0.5), 600);
            let (particles, elements, widest_row, index_bits, word) = (2, 1600, 4, 10, IndexWord::U16);
            let hops =
                SpeciesPlan { particles, states: strings, elements, widest_row, index_bits, word, amplitudes, hops };
            let plan =
                PairsPlan::new("ring".into(), ScalarType::F64, 4, hops, sign, diagonal.clone(), vec!["m.rs:7".into()]);
            let mut plan = plan.with_shape(PairsShape { rows: 33, runs });
            assert_eq!((plan.shape.rows, plan.panels()), (64, 10));
            for cards in [1, 3] {
                plan.share_among(cards);
                let text = complete_text(plan.text());
                assert_eq!(text.text.contains("hop_column"), runs.is_none());
                for launch in plan.launches().unwrap() {
                    Signature::read(&text.text, &launch.entry).unwrap().check(&launch).unwrap();
                }
                assert!(plan.panels() * u64::from(plan.shape.rows) * u64::from(cards) >= strings);
                assert!(plan.panel_bytes() >= u64::from(cards) * 3 * 8 * strings * u64::from(plan.shape.rows));
            }
            assert_eq!(
                plan.dimension(),
                if sign == 1 { strings * (strings + 1) / 2 } else { strings * (strings - 1) / 2 }
            );
            assert!(plan.diagonal_element().source.contains("word_of_pair("));
        }
    }
}

/// Real and complex vectors, with rows that are cut and without.
#[test]
fn the_multiply_by_strings() {
    for complex in [false, true] {
        for (classes, diagonal) in (0..3).zip(diagonals()) {
            let plan = StringsPlan {
                name: "sector".into(),
                scalar: ScalarType::F64,
                warp: Warp::default(),
                sites: 12,
                outer: "up".into(),
                elements: 12,
                rows: 70,
                strings: 792,
                index_bits: 10,
                hops: 400,
                inner_words: 9000,
                inner_factors: 2,
                classes,
                class_strings: 500 * classes,
                class_factors: 3 * classes,
                states: 54_000,
                words: 640_000,
                moves: 600_000,
                complex,
                diagonal,
                sources: vec!["m.rs:7  sum!(…)".into()],
            };
            let text = complete_text(plan.text());
            assert_eq!(text.text.contains("i64 states"), complex);
            for launch in plan.launches().unwrap() {
                Signature::read(&text.text, &launch.entry).unwrap().check(&launch).unwrap();
            }
            assert_eq!(plan.dimension(), if complex { 108_000 } else { 54_000 });
            assert_eq!(plan.partials(), 70 * 4);
            // Images and classes are the largest of the tables.
            assert!(plan.device_bytes() > 4 * 792 * (12 + classes));
            assert!(plan.cost().bytes > 2.0 * 8.0 * plan.dimension() as f64);
            let element = plan.diagonal_element();
            assert!(element.source.contains("word_of(") && !element.source.contains("#error"));
            assert_eq!(plan.shape().contains("cut by a stabiliser"), classes > 0);
        }
    }
}

#[test]
fn the_kronecker_multiply() {
    let amplitudes = kinds_of_amplitudes();
    for word in [IndexWord::U16, IndexWord::U32, IndexWord::U64] {
        for amplitudes in &amplitudes {
            for (states, elements) in [(6, 12), (1 << 11, 1 << 12), (1 << 20, 0)] {
                let index_bits = if word == IndexWord::U64 { 40 } else { 12 };
                let amplitudes = amplitudes.clone();
                // From the first site to the second, and across the cut.
                let hop = |flip| Hop { flip, care: flip, pattern: flip & 5, sign: 0, amplitude: -0.5 };
                let hops = vec![hop(3), hop(6)];
                let species =
                    SpeciesPlan { particles: 2, states, elements, widest_row: 4, index_bits, word, amplitudes, hops };
                for diagonal in diagonals() {
                    let diagonal = DiagonalPlan { sites: 4, ..diagonal };
                    let (up, down, sources) = (species.clone(), species.clone(), vec!["m.rs:7  sum!(…)".into()]);
                    let mut plan = KroneckerPlan::new("ring".into(), ScalarType::F64, 4, up, down, diagonal, sources);
                    assert_eq!(plan.shape.staging == Staging::Global, states == 1 << 20);
                    let runs = DownShape::Runs { low_sites: 2, outputs: 1, warps: 2 };
                    for down in [DownShape::Tile { rows: 4, lanes: 8, columns: 3 }, runs] {
                        plan.shape.down = down;
                        let text = complete_text(plan.text());
                        assert_eq!(text.entries.contains(&"multiply_down".to_string()), elements > 0);
                        assert_eq!(text.text.contains("run_1_1("), elements > 0 && down == runs);
                        assert!(text.text.contains("const u32* __restrict__ up_states"));
                        let mut shared = plan.clone();
                        shared.share_among(3);
                        let of_cards = complete_text(shared.text());
                        assert_eq!(of_cards.text.contains("FETCHING"), elements > 0 && down == runs);
                        let words = NeighbourWords { up: 32, down: 32 };
                        for launch in shared.launches(words).unwrap() {
                            let signature = Signature::read(&of_cards.text, &launch.entry).unwrap();
                            signature.check(&launch).unwrap();
                        }
                        if down != runs {
                            let mut wide = plan.clone();
                            wide.sites = 40;
                            wide.diagonal.sites = 40;
                            assert!(complete_text(wide.text()).text.contains("const u64* __restrict__ up_states"));
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn the_product_of_full_ci() {
    let counts = StringTableCounts { moves: 9, alpha_same: 9, link_steps: 2, beta_same_steps: 2 };
    for (classes, irreps) in [(vec![6], 1), (vec![6], 4), (vec![1, 2, 0, 3, 0, 0, 0, 0], 4)] {
        for (link, columns) in [(IndexWord::U16, 1), (IndexWord::U32, 4)] {
            let pairs: &[u32] = if irreps == 1 { &[10] } else { &[4, 3, 2, 1] };
            let plan = FullCiPlan {
                warp: Warp::default(),
                name: "water".into(),
                scalar: ScalarType::F64,
                orbitals: 4,
                up: 2,
                alpha_strings: 6,
                classes: classes.clone(),
                rows: 36,
                irreps,
                groups: grouped(pairs, 4),
                pair_tile: 4,
                columns,
                chunk: 8,
                threads: 64,
                resident: 2,
                link,
                place: IndexWord::U16,
                counts,
            };
            assert_eq!(plan.check(), Ok(()));
            let text = complete_text(plan.text());
            assert_eq!(text.text.contains("own_class ^ irrep"), classes.len() > 1);
            for launch in plan.launches().unwrap() {
                let declared = eigenforge_templates::signature::Signature::read(&text.text, &launch.entry);
                assert_eq!(declared.unwrap().check(&launch), Ok(()));
            }
            // A group of pairs that the irreps do not have, pairs that are missing.
            let wrong = FullCiPlan { groups: grouped(&pairs[..pairs.len() - 1], 4), ..plan };
            assert!(wrong.check().unwrap_err().to_string().contains("pairs of all groups"));
        }
    }
}

#[test]
fn the_product_of_full_ci_by_slabs() {
    for (classes, irreps) in [(vec![6], 1), (vec![6], 4), (vec![1, 2, 0, 3, 0, 0, 0, 0], 4)] {
        // With pairs of electrons of both spins, of one, and of none.
        for cores in [[1, 1], [1, 0], [0, 0]] {
            let pairs: &[u32] = if irreps == 1 { &[10] } else { &[4, 3, 2, 1] };
            let counts = SlabCounts {
                moves: 9,
                largest_moves: 5,
                slabs: 2,
                slices: 2,
                link_steps: 2,
                largest_links: 60,
                cores,
                additions: cores.map(|cores| 6 * cores),
                products: cores.map(|cores| 36 * cores),
                most_additions: 6,
            };
            let plan = SlabPlan {
                name: "water".into(),
                scalar: ScalarType::F64,
                warp: Warp::default(),
                orbitals: 4,
                unrestricted: irreps > 1,
                up: 2,
                down: 2,
                alpha_strings: 6,
                classes: classes.clone(),
                members: classes.clone(),
                rows: 36,
                irreps,
                groups: slab_groups(pairs, 2),
                both_warps: 2,
                stages: 3,
                alone_warps: 1,
                alone_across: 1,
                panel: 32,
                panels: vec![1; classes.len()],
                cards: 1,
                apart: false,
                piece: 1536,
                link_room: 64,
                counts,
            };
            // One card, cards that share memory, and cards apart, as those of ranks.
            for (cards, apart) in [(1, false), (3, false), (3, true)] {
                let plan = SlabPlan { cards, apart, ..plan.clone() };
                assert_eq!(plan.check(), Ok(()));
                let text = complete_text(plan.text());
                for launch in plan.launches().unwrap().all() {
                    let declared = eigenforge_templates::signature::Signature::read(&text.text, &launch.entry);
                    assert_eq!(declared.unwrap().check(&launch), Ok(()));
                }
            }
            let of = |wrong: SlabPlan| wrong.check().unwrap_err().to_string();
            assert!(of(SlabPlan { groups: grouped(pairs, 64), ..plan.clone() }).contains("pairs of all groups"));
            assert!(
                of(SlabPlan { groups: vec![GroupPlan { irrep: 0, pairs: 65 }], ..plan.clone() })
                    .contains("pairs of a group")
            );
            assert!(of(SlabPlan { stages: 1, ..plan.clone() }).contains("stages = 1; it must be 2 to 8"));
            assert!(
                of(SlabPlan { panel: 48, ..plan }).contains("panel = 48; it must be a multiple of a block's columns")
            );
        }
    }
}

#[test]
fn the_product_of_configuration_interaction_row_by_row() {
    let counts = RowsCounts { singles: [9, 8], doubles: [7, 6], runs: 5 };
    for irreps in [1, 4] {
        for lanes in [1, 8, 32] {
            let plan = RowsPlan {
                warp: Warp::default(),
                name: "water".into(),
                scalar: ScalarType::F64,
                orbitals: 4,
                up: 2,
                down: 1,
                alpha_strings: 6,
                beta_strings: 4,
                slots: 3,
                irreps,
                rows: 20,
                elements: 99,
                lanes,
                threads: 64,
                blocks: 6,
                counts,
                table: false,
                unrestricted: false,
                complex: false,
            };
            let complex = RowsPlan { table: lanes == 8, complex: true, ..plan.clone() };
            let unrestricted = RowsPlan { table: lanes == 8, unrestricted: true, ..plan.clone() };
            for plan in [plan.clone(), RowsPlan { table: true, ..plan.clone() }, unrestricted, complex] {
                assert_eq!(plan.check(), Ok(()));
                let text = complete_text(plan.text());
                assert_eq!(text.text.contains("pair_irrep[pair]"), irreps > 1);
                assert_eq!(text.text.contains("felt_by<UP>(beta_repulsion"), plan.unrestricted);
                assert_eq!(text.text.contains("c64"), plan.complex);
                let kept = plan.predicted_kept();
                let launches = plan.launches(kept).unwrap().into_iter().chain(plan.set_up_launches().unwrap());
                let table = plan.table_launches(kept).unwrap().into_iter().filter(|_| plan.table);
                for launch in launches.chain(table) {
                    let declared = eigenforge_templates::signature::Signature::read(&text.text, &launch.entry);
                    assert_eq!(declared.unwrap().check(&launch), Ok(()));
                }
            }
            for (wrong, part) in [
                (RowsPlan { lanes: 6, ..plan.clone() }, "lanes = 6"),
                (RowsPlan { threads: 48, ..plan.clone() }, "threads = 48"),
                (RowsPlan { irreps: 3, ..plan.clone() }, "irreps = 3"),
                (RowsPlan { blocks: 0, ..plan.clone() }, "blocks = 0"),
                (RowsPlan { complex: true, scalar: ScalarType::F32, ..plan.clone() }, "bytes of a real part = 4"),
                (RowsPlan { orbitals: 181, ..plan }, "orbitals = 181"),
            ] {
                assert!(wrong.check().unwrap_err().to_string().contains(part), "{part}");
            }
        }
    }
}

#[test]
fn functions_and_determinants() {
    let panel = |open, determinants, functions| SpinPanelPlan { open, determinants, functions, configurations: 700 };
    for rows in [700 * 9, 700 * 9 + 5] {
        let plan = SpinTransformPlan {
            name: "water".into(),
            scalar: ScalarType::F64,
            warp: Warp::default(),
            two_s: 0,
            threads: 64,
            rows,
            panels: vec![panel(0, 1, 1), panel(2, 2, 1), panel(4, 6, 2)],
        };
        assert_eq!((plan.functions(), plan.determinants()), (700 * 4, 700 * 9));
        let text = complete_text(plan.text());
        assert!(text.text.contains("expand_panel<6, 2, 85>("));
        for launch in plan.launches().unwrap() {
            assert_eq!(launch.grid[0], 700u32.div_ceil(512) + 700u32.div_ceil(256) + 700u32.div_ceil(85));
            let declared = eigenforge_templates::signature::Signature::read(&text.text, &launch.entry);
            assert_eq!(declared.unwrap().check(&launch), Ok(()));
        }
    }
}

#[test]
fn vector_programs() {
    let diagonal = ElementFunctionText {
        name: "diagonal".into(),
        source: "__device__ __forceinline__ value_t diagonal(i64 i, double u) { return u; }".into(),
        parameters: vec![Parameter::number("u", Number::F64)],
    };
    for scalar in [ScalarType::F32, ScalarType::F64] {
        for (program, functions) in [
            ("program scale\nvectors x : inout\nscalars a\nx = a * x", vec![]),
            ("program two_sums\nvectors x : in\nvectors y : out\ny = 2 * x\nsum s = x * x\nsum r = x * y", vec![]),
            (
                "program scaled\nvectors x : inout\nfunctions diagonal\nx = x / diagonal\nsum s = x",
                vec![diagonal.clone()],
            ),
        ] {
            complete_text(VectorProgram::parse(program).unwrap().text(scalar, &functions));
        }
    }
}

#[test]
fn grouped_products() {
    for (slab, step) in [(16, 4), (16, 8), (32, 16)] {
        let plan = GroupedProductsPlan { slab, step, ..GroupedProductsPlan::new("dmrg") };
        plan.check().unwrap();
        let text = complete_text(plan.text());
        assert!(text.text.contains(&format!("m16n8k{step}.")) && text.text.contains(&format!("SLAB = {slab};")));
    }
    let refused = GroupedProductsPlan { step: 5, ..GroupedProductsPlan::new("dmrg") }.check().unwrap_err().to_string();
    assert!(refused.contains("step = 5"), "{refused}");
}

#[test]
fn operator_assembly() {
    let text = complete_text(OperatorAssemblyPlan::new("dmrg").text());
    assert!(text.text.contains("THREADS = 128;"), "{}", text.text);
}

#[test]
fn streamed_products() {
    complete_text(MatrixCopiesPlan::new("dmrg").text());
    let text = complete_text(StreamedProductsPlan::new("dmrg").text());
    assert!(text.text.contains("STAGES = 3;") && text.text.contains("cp.async.bulk.tensor.2d"), "{}", text.text);
}

#[test]
fn column_copies() {
    for scalar in [ScalarType::F32, ScalarType::F64] {
        let plan = ColumnCopiesPlan { name: "column_copies".into(), scalar, warp: Warp::default() };
        let text = complete_text(plan.text());
        for (vectors, held) in [(1, 1), (2, 1), (3, 2), (4, 2)] {
            let columns = CopiedColumns {
                rows: 1000,
                row_stride: 8,
                column_stride: 2,
                split: 3 - held,
                held,
                vector_step: 1,
                vector_shift: 1000,
                vectors,
            };
            assert_eq!(ColumnCopiesPlan::THREADS % (vectors * held), 0);
            for direction in [CopyDirection::Gather, CopyDirection::Scatter] {
                let launch = plan.launch(direction, &columns).unwrap();
                assert_eq!(Signature::read(&text.text, &launch.entry).unwrap().check(&launch), Ok(()));
            }
        }
    }
}
