//! Electrons in a symmetry sector by strings, the places of the electrons of each spin: the tables of the multiply.
//!
//! In: a sector whose words have the strings U of one spin above the strings D of the other, a group that does not exchange the spins,
//! moving terms of one spin each. Out: rows (strings U that are least under the group) and their hops, images of all D, hops among the D,
//! classes of rows that are cut by a stabiliser; the equations are in `eigenforge_templates::exact::StringsPlan`. Vectors have a row for each
//! U, ascending, and in it the D in an order of their own with signs (`numbers.rs`); [`ByStrings`] takes them to the users' order.

mod host;
mod matrix;
mod numbers;
mod order;
mod rows;
mod tables;

pub(crate) use order::ByStrings;
pub use rows::StringRows;
pub(crate) use rows::StringsWay;

use numbers::Numbers;

use super::{Moving, SymmetricSector, Transition};
use eigenforge_core::basis::WordActions;
use eigenforge_core::operator::{SiteKind, SiteLayout, low_mask};
use eigenforge_templates::Warp;
use num_complex::Complex64;
use rayon::prelude::*;
use std::collections::{BTreeMap, HashMap};

/// A place without a state.
const NOTHING: u32 = u32::MAX;
/// The bit of an image that tells its sign; the number of the string is below.
const SIGN: u32 = 1 << 31;

/// The tables of a sector.
#[derive(Debug)]
pub(super) struct Strings {
    sites: u32,
    states: u64,
    /// The group on strings of either spin.
    actions: WordActions,
    /// Strings D.
    numbers: Numbers,
    /// Of each element and D the number of g D, and its sign.
    images: Vec<u32>,
    index_bits: u32,
    rows: Vec<Row>,
    hops: Vec<RowHop>,
    inner: Inner,
    /// Of rows that are cut.
    classes: Vec<Class>,
    class_factors: Vec<Complex64>,
}

/// A string U that is least under the group.
#[derive(Clone, Copy, Debug)]
struct Row {
    word: u64,
    /// Its first state.
    start: u32,
    /// 0: all strings D; else the number of the class from 1.
    class: u32,
    /// The first of its hops.
    first_hop: u32,
}

/// A hop of U: to the row with g U'', with all factors but σ_g(D).
#[derive(Clone, Copy, Debug)]
struct RowHop {
    row: u32,
    element: u32,
    factor: Complex64,
}

/// Hops among the strings D, by rows of a sparse matrix: the other string, and above it the number of the factor.
#[derive(Debug)]
struct Inner {
    start: Vec<usize>,
    words: Vec<u32>,
    factors: Vec<Complex64>,
    /// A hop with the factor 0.
    padding: u32,
}

/// Rows with the same stabiliser, and the same signs of U under it.
#[derive(Debug)]
struct Class {
    /// Strings D of representatives, ascending.
    strings: Vec<u32>,
    /// The strings of the same orbits that are their least words, in the order of the words.
    by_word: Vec<u32>,
    /// Of each D the place of its representative, and above it the number of the factor.
    words: Vec<u32>,
}

/// Numbers of different factors.
#[derive(Default)]
struct Factors {
    numbers: HashMap<[u64; 2], u32>,
    values: Vec<Complex64>,
}

impl Factors {
    fn number(&mut self, value: Complex64) -> u32 {
        // Zero has one sign.
        let value = value + Complex64::ZERO;
        let next = self.values.len() as u32;
        let number = *self.numbers.entry([value.re.to_bits(), value.im.to_bits()]).or_insert(next);
        if number == next {
            self.values.push(value);
        }
        number
    }
}

/// The moving terms of each spin, those of the upper half of a word first, on words of their own; `None` if a term is of both.
pub(super) fn by_halves(moves: &Moving, sites: u32) -> Option<[Moving; 2]> {
    let low = u128::from(low_mask(sites));
    let mut halves: [Moving; 2] = Default::default();
    for (transition, imaginary) in moves {
        let Transition { care, pattern, flip, sign, amplitude } = *transition;
        let all = care | flip | sign;
        let (half, shift) = if all & !low == 0 { (1, 0) } else { (0, sites) };
        if flip == 0 || (half == 0 && all & low != 0) {
            return None;
        }
        let own = |bits: u128| bits >> shift;
        let own = Transition { care: own(care), pattern: own(pattern), flip: own(flip), sign: own(sign), amplitude };
        halves[half].push((own, *imaginary));
    }
    Some(halves)
}

/// Where terms lead from a word, each with the conjugate of its amplitude, words ascending.
fn reached(word: u64, moves: &Moving) -> BTreeMap<u64, Complex64> {
    let mut found = BTreeMap::new();
    for (transition, imaginary) in moves {
        if let Some(amplitude) = transition.amplitude_in(word.into()) {
            let amplitude = if *imaginary { Complex64::new(0.0, -amplitude) } else { amplitude.into() };
            *found.entry(word ^ transition.flip as u64).or_insert(Complex64::ZERO) += amplitude;
        }
    }
    found.retain(|_, amplitude| *amplitude != Complex64::ZERO);
    found
}

impl Strings {
    /// The tables; `None` where words are not by species, terms are of both spins, or a table's word has no room for a factor.
    pub(super) fn new(sector: &SymmetricSector) -> Option<Strings> {
        let layout = sector.layout();
        layout.low_species()?;
        let sites = layout.kinds().len() as u32;
        let [outer, inner] = by_halves(&sector.moves, sites)?;
        let tables = sector.orbits.plain().own_tables()?;
        let actions = WordActions::new(&sector.group, &SiteLayout::new(&vec![SiteKind::Flavours(1); sites as usize]));
        let numbers = Numbers::new(&tables.low_states, sites as usize, &actions);
        let count = numbers.len();
        let index_bits = (usize::BITS - (count - 1).leading_zeros()).max(1);
        let most = (1u64 << (u32::BITS - index_bits)) - 1;
        let images = numbers.images(&actions);
        let inner = Inner::new(&numbers, &inner, index_bits);
        let characters = sector.group.characters();
        // Rows with the elements that leave their string as it is, and its sign under each.
        let of_word = |part: &eigenforge_core::basis::HighPart| {
            let fixing = actions.fixing(part.high.into())?;
            let signed = fixing.into_iter().map(|element| (element, actions.is_odd(element, part.high.into())));
            Some((part.high, signed.collect::<Vec<_>>()))
        };
        let found: Vec<(u64, Vec<(usize, bool)>)> = tables.parts.par_iter().filter_map(of_word).collect();
        let (mut classes, mut known, mut factors) = (Vec::new(), HashMap::new(), Factors::default());
        let (mut rows, mut states) = (Vec::with_capacity(found.len()), 0u64);
        for (word, stabiliser) in found {
            let class = match stabiliser.len() {
                1 => 0,
                _ => *known.entry(stabiliser).or_insert_with_key(|stabiliser| {
                    let images = |element: usize| &images[element * count..][..count];
                    let class = Class::new(stabiliser, &characters, images, index_bits, &mut factors);
                    classes.push(class.with_words(&numbers, index_bits));
                    classes.len() as u32
                }),
            };
            rows.push(Row { word, start: states as u32, class, first_hop: 0 });
            states += if class == 0 { count } else { classes[class as usize - 1].strings.len() } as u64;
        }
        let fits = |numbers: usize| (numbers as u64) < most;
        if !fits(inner.factors.len()) || !fits(factors.values.len()) || states != sector.orbits.states() {
            debug_assert!(states == sector.orbits.states(), "traces count the states");
            return None;
        }
        let hops_of = |row: &Row| {
            let hop = |(word, amplitude): (u64, Complex64)| {
                let (least, element) = actions.least(word.into());
                let row = rows.binary_search_by_key(&(least as u64), |row| row.word).ok()?;
                let odd = actions.is_odd(element, word.into());
                let factor = amplitude * characters[element] * if odd { -1.0 } else { 1.0 };
                Some(RowHop { row: row as u32, element: element as u32, factor })
            };
            let mut hops: Vec<RowHop> = reached(row.word, &outer).into_iter().filter_map(hop).collect();
            hops.sort_by_key(|hop| (rows[hop.row as usize].class > 0, hop.row, hop.element));
            hops
        };
        let of_rows: Vec<Vec<RowHop>> = rows.par_iter().map(hops_of).collect();
        let mut hops = Vec::new();
        for (row, own) in rows.iter_mut().zip(of_rows) {
            row.first_hop = hops.len() as u32;
            hops.extend(own);
        }
        let class_factors = factors.values;
        Some(Strings { sites, states, actions, numbers, images, index_bits, rows, hops, inner, classes, class_factors })
    }

    /// The images of all strings D by an element.
    fn images_by(&self, element: u32) -> &[u32] {
        &self.images[element as usize * self.numbers.len()..][..self.numbers.len()]
    }

    /// The hops of a row.
    fn hops_of(&self, row: usize) -> &[RowHop] {
        let end = self.rows.get(row + 1).map_or(self.hops.len(), |next| next.first_hop as usize);
        &self.hops[self.rows[row].first_hop as usize..end]
    }

    /// The first hop of a row to one that is cut: the others come before.
    fn first_cut(&self, row: usize) -> u32 {
        let whole = self.hops_of(row).partition_point(|hop| self.rows[hop.row as usize].class == 0);
        self.rows[row].first_hop + whole as u32
    }

    /// The class of a row that is cut.
    fn class_of(&self, row: &Row) -> Option<&Class> {
        Some(&self.classes[(row.class as usize).checked_sub(1)?])
    }

    /// States of a row.
    fn length(&self, row: &Row) -> usize {
        self.class_of(row).map_or(self.numbers.len(), |class| class.strings.len())
    }

    /// The number of the string D at a place of a row.
    fn string(&self, row: &Row, place: usize) -> usize {
        self.class_of(row).map_or(place, |class| class.strings[place] as usize)
    }

    /// Place and factor of the element that stands for string D in a row; `None` where its orbit has no state.
    #[inline]
    fn stands_for(&self, row: &Row, string: usize) -> Option<(usize, Complex64)> {
        let Some(class) = self.class_of(row) else { return Some((string, 1.0.into())) };
        let word = class.words[string];
        let place = (word & low_mask(self.index_bits) as u32) as usize;
        (word != NOTHING).then(|| (place, self.class_factors[(word >> self.index_bits) as usize]))
    }

    /// √S of a representative.
    fn root(&self, row: &Row, string: usize) -> f64 {
        self.stands_for(row, string).map_or(1.0, |(_, factor)| factor.re)
    }

    /// The number of a state's row.
    fn row_of(&self, index: usize) -> usize {
        self.rows.partition_point(|row| row.start as usize <= index) - 1
    }

    /// The word of a state.
    fn word_of(&self, index: usize) -> u64 {
        let row = &self.rows[self.row_of(index)];
        row.word << self.sites | self.numbers.words[self.string(row, index - row.start as usize)]
    }

    /// The state of a word's orbit, and σ_g χ(g) of an element g that leads to it; `None` if it has no state.
    fn state_of(&self, word: u64) -> Option<(usize, Complex64)> {
        let (outer, inner) = (word >> self.sites, word & low_mask(self.sites));
        let (least, element) = self.actions.least(outer.into());
        let row = &self.rows[self.rows.binary_search_by_key(&(least as u64), |row| row.word).ok()?];
        let string = self.numbers.number(inner);
        let image = self.images_by(element as u32)[string];
        let (place, factor) = self.stands_for(row, (image & !SIGN) as usize)?;
        let odd = self.actions.is_odd(element, outer.into()) != (image & SIGN != 0);
        let character = self.actions.character(element) * self.numbers.sign(string) * if odd { -1.0 } else { 1.0 };
        let root = self.root(row, self.string(row, place));
        Some((row.start as usize + place, character * factor / root))
    }

    /// Elements of H beside its diagonal, as they are added up.
    fn moves(&self) -> u64 {
        let of_class = |strings: &[u32]| -> u64 {
            strings.iter().map(|string| self.inner.row(*string as usize).len() as u64).sum::<u64>()
        };
        let of_classes: Vec<u64> = self.classes.iter().map(|class| of_class(&class.strings)).collect();
        let of_row = |(number, row): (usize, &Row)| {
            let inner = match row.class {
                0 => self.inner.words.len() as u64,
                class => of_classes[class as usize - 1],
            };
            inner + (self.hops_of(number).len() * self.length(row)) as u64
        };
        self.rows.iter().enumerate().map(of_row).sum()
    }

    /// The largest sum of magnitudes of moving elements in a row of H without symmetry: a bound of the norm.
    fn norm_bound(&self) -> f64 {
        let of_string = |string: usize| {
            let hops = self.inner.row(string).iter();
            hops.map(|word| self.inner.factors[(word >> self.index_bits) as usize].norm()).sum::<f64>()
        };
        let inner = (0..self.numbers.len()).into_par_iter().map(of_string).reduce(|| 0.0, f64::max);
        let of_row = |row: usize| self.hops_of(row).iter().map(|hop| hop.factor.norm()).sum::<f64>();
        inner + (0..self.rows.len()).map(of_row).fold(0.0, f64::max)
    }
}

impl Inner {
    fn new(numbers: &Numbers, moves: &Moving, index_bits: u32) -> Inner {
        let of_string = |string: usize| {
            let to = |(word, amplitude): (u64, Complex64)| {
                let to = numbers.number(word);
                (to, amplitude * numbers.sign(string) * numbers.sign(to))
            };
            let mut row: Vec<(usize, Complex64)> = reached(numbers.words[string], moves).into_iter().map(to).collect();
            row.sort_unstable_by_key(|(to, _)| *to);
            row
        };
        let rows: Vec<Vec<(usize, Complex64)>> = (0..numbers.len()).into_par_iter().map(of_string).collect();
        let (mut start, mut packed, mut factors) = (vec![0], Vec::new(), Factors::default());
        for row in rows {
            for (to, amplitude) in row {
                // Numbers beyond the room of a word are refused with their count.
                let number = u64::from(factors.number(amplitude)) << index_bits;
                packed.push((to as u64 | number) as u32);
            }
            start.push(packed.len());
        }
        let padding = factors.number(Complex64::ZERO) << index_bits;
        Inner { start, words: packed, factors: factors.values, padding }
    }

    /// The packed hops of a string.
    fn row(&self, string: usize) -> &[u32] {
        &self.words[self.start[string]..self.start[string + 1]]
    }

    /// In slices of as many strings as a warp has lanes, the first hops of all strings of a slice side by side: where slices begin, words.
    fn slices(&self, warp: Warp) -> (Vec<u32>, Vec<u32>) {
        let (lanes, strings) = (warp.lanes() as usize, self.start.len() - 1);
        let (mut starts, mut words) = (vec![0], Vec::with_capacity(self.words.len()));
        for first in (0..strings).step_by(lanes) {
            let longest = (first..strings.min(first + lanes)).map(|string| self.row(string).len()).max().unwrap_or(0);
            for k in 0..longest {
                let of_lane = |string: usize| (string < strings).then(|| self.row(string).get(k).copied()).flatten();
                words.extend((first..first + lanes).map(|string| of_lane(string).unwrap_or(self.padding)));
            }
            starts.push(words.len() as u32);
        }
        (starts, words)
    }

    /// How many words the slices have.
    fn sliced(&self, warp: Warp) -> u64 {
        let lanes = warp.lanes() as usize;
        let longest = |ends: &[usize]| ends.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
        let strings = self.start.len() - 1;
        let slices = (0..strings).step_by(lanes).map(|first| longest(&self.start[first..=strings.min(first + lanes)]));
        (slices.sum::<usize>() * lanes) as u64
    }
}

impl Class {
    /// The class of a stabiliser, of which each element is given with whether it makes U odd.
    fn new<'a>(
        stabiliser: &[(usize, bool)],
        characters: &[Complex64],
        images: impl Fn(usize) -> &'a [u32],
        index_bits: u32,
        factors: &mut Factors,
    ) -> Class {
        // χ(h) σ_h(U) and the images of all D.
        let elements: Vec<(Complex64, &[u32])> = stabiliser
            .iter()
            .map(|(element, odd)| (characters[*element] * if *odd { -1.0 } else { 1.0 }, images(*element)))
            .collect();
        let count = elements.first().map_or(0, |(_, images)| images.len());
        let (mut strings, mut words, mut roots) = (Vec::new(), vec![NOTHING; count], Vec::<f64>::new());
        for string in 0..count {
            let of_element = |(factor, images): &(Complex64, &[u32])| {
                let image = images[string];
                (image & !SIGN, factor * if image & SIGN != 0 { -1.0 } else { 1.0 })
            };
            let all = elements.iter().map(of_element);
            let Some((least, factor)) = all.clone().min_by_key(|(image, _)| *image) else { continue };
            if least as usize != string {
                let of_least = words[least as usize];
                if of_least != NOTHING {
                    let place = of_least & low_mask(index_bits) as u32;
                    words[string] = place | factors.number(factor * roots[place as usize]) << index_bits;
                }
                continue;
            }
            let own = all.filter(|(image, _)| *image as usize == string);
            // An orbit has a state if all elements that leave it as it is multiply it by 1.
            if own.clone().all(|(_, factor)| (factor - 1.0).norm() < 1e-6) {
                let root = (own.count() as f64).sqrt();
                words[string] = strings.len() as u32 | factors.number(root.into()) << index_bits;
                strings.push(string as u32);
                roots.push(root);
            }
        }
        Class { strings, by_word: Vec::new(), words }
    }

    /// The class with the least words of its orbits.
    fn with_words(self, numbers: &Numbers, index_bits: u32) -> Class {
        let (mut by_word, mut seen) = (Vec::new(), vec![false; self.strings.len()]);
        for string in &numbers.of_rank {
            let word = self.words[*string as usize];
            if word != NOTHING && !std::mem::replace(&mut seen[(word & low_mask(index_bits) as u32) as usize], true) {
                by_word.push(*string);
            }
        }
        Class { by_word, ..self }
    }
}
