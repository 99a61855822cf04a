//! The multiply of a symmetry sector without a stored matrix: rows are representatives, the least words of their orbits.
//!
//! y_r = D_r x_r + Σ over flip masks f: a_f(r)* σ χ(g) √(S(r′) / S(r)) · x[r′],   U_g |r ⊕ f⟩ = σ |r′⟩,
//!
//! with r′ the least word of the orbit and S the number of elements that leave a word as it is. The group is part of the text: it is
//! walked by [`GroupStep`]s, each a few masked shifts of the word. Where the group is that of a ring, rotations of the whole word with its
//! mirror image and its inversion, only the images that begin with a longest run of zeros are looked at, since no other is the least.
//! A row begins with its longest run, and most flips leave a run of this length, so that its places are found without a search. Where
//! the group is that of a torus, only the elements are applied that bring the least row to the top ([`super::torus`]).
//!
//! | kernel | does |
//! |---|---|
//! | `mark_representatives` | a bit of every word without symmetry, in their order, that tells whether it is a representative |
//! | `number_representatives` | beside every 96 of these bits the number of representatives before them, and the list of representatives |
//! | `number_parts` | of states that are their own conjugates, where the imaginary part of each stands in a vector |
//! | `multiply` | the product; the place of a word is a sum of its own bits and that number: one access, no search |
//! | `operator_average` | x·(O x) of any operator that the group leaves as it is |
//!
//! A unit of the bitmap is four words of 32 bits, the number first. How many words and representatives there are, and the characters, are
//! arguments: the text is that of the group and of H, and sectors that have them in common share it.

use super::coefficients::CoefficientWriter;
use super::diagonal::Words;
use super::launches::AT_ONCE;
use super::torus::{TorusRows, TorusView};
use super::{DiagonalPlan, FlipGroup, FlipTables, MaskedTerm, TableSizes};
use crate::files;
use crate::launch::{Access, Element, FINISH_THREADS, Launch, LaunchError, Number, Parameter, multiply_finish};
use crate::prototype::{Declarations, Prototype, declared, entries};
use crate::text::{Cost, ElementFunctionText, KernelText, TextError, render};
use crate::{ScalarType, Warp};
use serde::{Deserialize, Serialize};

/// Nanoseconds of a flip made anew: of a ring by runs, and of other groups for each element.
const FLIP_OF_A_RING: f64 = 0.018;
const FLIP_BY_ELEMENT: f64 = 0.00017;

/// Bits of a word of the bitmap, and such words of a unit that hold bits of words.
const BITMAP_BITS: u64 = u32::BITS as u64;
const BITMAP_WORDS: u64 = 3;
/// Threads of `mark_representatives`, each of which makes a word of the bitmap, and of `number_representatives`, each of which takes a unit.
const MARK_THREADS: u32 = 384;
const NUMBER_THREADS: u32 = 128;
/// Threads of `multiply`, and most of its blocks.
pub(super) const THREADS: u32 = 256;
const MOST_BLOCKS: u64 = 1 << 14;
/// Most elementary terms of one walk over the flips of a row.
const MOST_TERMS: usize = 1024;
/// Most masked shifts that a text has.
const MOST_SHIFTS: usize = 1024;
/// Flips whose conditions are bits of one number.
const CHUNK: usize = 32;
/// Most images that a loop nest of the walk makes without counting.
const UNROLLED: u32 = 16;

/// The bits of a mask, moved up by some places, or down if negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MaskedShift {
    /// The bits before they are moved.
    pub mask: u64,
    /// Places.
    pub by: i32,
}

/// What an element of a group does to a word: reverses it, moves its bits, inverts digits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WordAction {
    /// Whether the 32 or 64 bits of the machine's word are reversed before the shifts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reversed: bool,
    /// Where the bits go; empty if they stay.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shifts: Vec<MaskedShift>,
    /// Digits that are inverted after that, each subtracted from its largest value: their bits, and the largest values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inverts: Option<(u64, u64)>,
}

/// Some element h of a group and how often it is applied in a walk: h⁰, h¹, … .
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupStep {
    /// The element.
    pub action: WordAction,
    /// How many powers there are.
    pub times: u32,
}

impl WordAction {
    /// Bits by which it rotates words of `bits` bits upwards, if it does nothing else.
    fn rotation(&self, bits: u32) -> Option<u32> {
        let WordAction { reversed: false, shifts, inverts: None } = self else { return None };
        let all = u64::MAX >> (u64::BITS - bits);
        match shifts[..] {
            [a, b] if a.mask | b.mask == all && a.by > 0 && b.by == a.by - bits as i32 => Some(a.by as u32),
            [b, a] if a.mask | b.mask == all && a.by > 0 && b.by == a.by - bits as i32 => Some(a.by as u32),
            _ => None,
        }
    }

    /// The image of a word, as the text computes it; `bits` of the machine's word.
    pub fn image(&self, word: u64, machine: u32) -> u64 {
        let word = if self.reversed { word.reverse_bits() >> (u64::BITS - machine) } else { word };
        let moved = |shift: &MaskedShift| match shift.by {
            by @ 0.. => (word & shift.mask) << by,
            by => (word & shift.mask) >> -by,
        };
        let word = if self.shifts.is_empty() { word } else { self.shifts.iter().map(moved).fold(0, |a, b| a | b) };
        match self.inverts {
            // Of bits that are no digit any number.
            Some((mask, tops)) => (word & !mask) | tops.wrapping_sub(word & mask),
            None => word,
        }
    }

    /// Operations, about.
    pub fn cost(&self) -> usize {
        usize::from(self.reversed) + 3 * self.shifts.len() + 2 * usize::from(self.inverts.is_some())
    }
}

/// How many states an antiunitary element leaves as they are, and how many directions their amplitudes have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineCounts {
    /// States.
    pub lines: u64,
    /// Directions.
    pub directions: u64,
}

/// Every number of the multiply of a symmetry sector.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SymmetryPlan {
    /// Name of the model and sector, for display.
    pub name: String,
    /// Number type of the vectors.
    pub scalar: ScalarType,
    /// The width of a warp.
    pub warp: Warp,
    /// Bits of a state word.
    pub bits: u32,
    /// Bits of its low part.
    pub low_bits: u32,
    /// High parts with states.
    pub parts: u64,
    /// Low parts listed, by charge: entries of `low_states`.
    pub low_states: u64,
    /// Possible high parts: entries of `high_offset`; 0 if the lists are searched and there is no such table.
    pub high_parts: u64,
    /// Words of the sector without symmetry.
    pub words: u64,
    /// Words from this one on are no representatives.
    pub ranks: u64,
    /// Representatives.
    pub states: u64,
    /// Whether amplitudes have two parts: vectors hold all real parts and after them the imaginary parts.
    pub complex: bool,
    /// Where states are their own conjugates: those whose amplitudes have one direction and no imaginary part in vectors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<LineCounts>,
    /// The group, the innermost step of the walk first: its elements are h₀^a₀ h₁^a₁ ….
    pub steps: Vec<GroupStep>,
    /// The rows of a torus, where the first two steps turn and raise them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub torus: Option<TorusRows>,
    /// Whether a state changes by a factor when an element is applied: characters other than 1.
    pub characters: bool,
    /// Whether a word with equal bits is in the sector.
    pub extremes: bool,
    /// Whether words have fermion signs.
    pub fermions: bool,
    /// The diagonal.
    pub diagonal: DiagonalPlan,
    /// Off-diagonal terms by flip mask, and such terms times i.
    pub groups: Vec<FlipGroup>,
    /// Those times i.
    pub imaginary: Vec<FlipGroup>,
    /// Origin of the model: one line per `sum!`.
    pub sources: Vec<String>,
}

fn hex(bits: u64, wide: bool) -> String {
    format!("{bits:#x}{}", if wide { "ull" } else { "u" })
}

impl SymmetryPlan {
    /// Whether the text stays short enough.
    pub fn is_short(steps: &[GroupStep], groups: &[FlipGroup], imaginary: &[FlipGroup]) -> bool {
        let shifts: usize = steps.iter().map(|step| step.action.shifts.len()).sum();
        let terms: usize = groups.iter().chain(imaginary).map(|group| group.terms.len()).sum();
        shifts <= MOST_SHIFTS && terms <= MOST_TERMS
    }

    /// Whether words have 64 bits in the text, not 32.
    pub fn is_wide(&self) -> bool {
        self.bits > u32::BITS
    }

    /// Bits of the machine's word.
    pub fn machine_bits(&self) -> u32 {
        if self.is_wide() { u64::BITS } else { u32::BITS }
    }

    /// Type of a word as a table element.
    pub fn word(&self) -> Element {
        if self.is_wide() { Element::U64 } else { Element::U32 }
    }

    /// Sizes of the tables of words without symmetry.
    fn sizes(&self) -> TableSizes {
        let SymmetryPlan { low_bits, parts, low_states, high_parts, .. } = *self;
        TableSizes { low_bits, parts, low_states, high_parts }
    }

    /// Elements of a vector.
    pub fn dimension(&self) -> u64 {
        let all = if self.complex { 2 * self.states } else { self.states };
        all - self.lines.map_or(0, |counts| counts.lines)
    }

    /// Elements of the group.
    pub fn elements(&self) -> u64 {
        self.steps.iter().map(|step| u64::from(step.times)).product()
    }

    /// Units of the bitmap.
    pub fn units(&self) -> u64 {
        self.ranks.div_ceil(BITMAP_BITS * BITMAP_WORDS)
    }

    /// Words of 32 bits of the bitmap.
    pub fn bitmap_words(&self) -> u64 {
        (BITMAP_WORDS + 1) * self.units()
    }

    /// Words of 32 bits with a bit of each representative, set if more than the identity leaves it as it is.
    pub fn stabiliser_words(&self) -> u64 {
        self.states.div_ceil(BITMAP_BITS)
    }

    /// Blocks of `mark_representatives` and of `number_representatives`, each of which takes as many units.
    pub fn mark_blocks(&self) -> u64 {
        self.units().div_ceil(NUMBER_THREADS.into())
    }

    /// Partial sums of x·y: one per block.
    pub fn partials(&self) -> u64 {
        self.states.div_ceil(THREADS.into()).clamp(1, MOST_BLOCKS)
    }

    /// Bytes of what stays on the device beside vectors: the list, of which each of `cards` cards has a part, and bitmap and tables of
    /// ranks, which each has.
    pub fn device_bytes(&self, cards: u32) -> u64 {
        let of_each = 4 * (self.bitmap_words() + self.stabiliser_words())
            + 8 * (3 * self.parts + self.low_states + self.high_parts)
            + if self.high_parts > 0 { 4 << self.low_bits } else { 0 }
            + self.torus.as_ref().map_or(0, |torus| 8 << torus.window)
            + if self.lines.is_some() { 8 * self.states } else { 0 };
        self.word().bytes() as u64 * self.states + u64::from(cards) * of_each
    }

    /// Reads x at every flip, the list and the bitmap once, writes y once. Operations on words are not counted.
    pub fn cost(&self) -> Cost {
        let (row, rows) = (self.row_cost(), self.states as f64);
        Cost { flops: rows * row.flops, bytes: rows * row.bytes + 4.0 * self.bitmap_words() as f64 }
    }

    /// Predicted milliseconds on an H200 in which so many rows of so many flips each are made anew.
    pub fn predicted_milliseconds(&self, rows: u64, flips: f64) -> f64 {
        let flip = match self.ring() {
            Some(_) => FLIP_OF_A_RING,
            None => FLIP_BY_ELEMENT * self.elements() as f64,
        };
        1e-6 * rows as f64 * flips * flip
    }

    /// The same of one row, without the bitmap.
    pub(super) fn row_cost(&self) -> Cost {
        let numbers = if self.complex { 2.0 } else { 1.0 };
        let terms: usize = self.flips().map(|group| group.terms.len()).sum();
        Cost {
            flops: numbers * (terms as f64 + self.diagonal.flops() + 2.0),
            bytes: 2.0 * numbers * self.scalar.bytes() as f64 + self.word().bytes() as f64,
        }
    }

    /// The steps as those of a ring: rotations of the whole word bit by bit, then its mirror image and its inversion, or one, or none.
    pub(super) fn ring(&self) -> Option<Ring> {
        let (first, others) = self.steps.split_first()?;
        let bits = self.bits;
        if bits < 2 || first.action.rotation(bits) != Some(1) || first.times != bits {
            return None;
        }
        let (mut ring, mut stride) = (Ring::default(), u64::from(bits));
        for GroupStep { action, times } in others {
            let all = self.word_mask();
            let image = |bit: u32| action.image(1 << bit, self.machine_bits());
            // The reversed word turned by so many bits.
            let turn = (image(0).trailing_zeros() + 1) % bits;
            let mirrors = (0..bits).all(|bit| image(bit) == 1 << ((bits - 1 - bit + turn) % bits));
            match (action.inverts, *times) {
                (None, 2) if mirrors && !ring.mirrors => {
                    (ring.mirrors, ring.mirror_at, ring.mirror_turn) = (true, stride, turn);
                }
                (Some((mask, tops)), 2) if action.shifts.is_empty() && [mask, tops] == [all; 2] && !ring.inverts => {
                    (ring.inverts, ring.inversion_at) = (true, stride);
                }
                _ => return None,
            }
            stride *= 2;
        }
        Some(ring)
    }

    /// The amplitude of every flip wherever it acts, if all are the same.
    pub fn constant_amplitude(&self) -> Option<f64> {
        let first = self.flips().next()?.terms.first()?.amplitude;
        let same = |term: &MaskedTerm| term.sign == 0 && term.amplitude.to_bits() == first.to_bits();
        // Terms that compare the same bits with different values exclude each other.
        let exclude = |a: &MaskedTerm, b: &MaskedTerm| a.care == b.care && a.pattern != b.pattern;
        let one_acts =
            |terms: &[MaskedTerm]| (0..terms.len()).all(|k| terms[..k].iter().all(|other| exclude(other, &terms[k])));
        self.flips().all(|group| group.terms.iter().all(same) && one_acts(&group.terms)).then_some(first)
    }

    /// Flips and their terms, those times i last.
    pub(super) fn flips(&self) -> impl Iterator<Item = &FlipGroup> {
        self.groups.iter().chain(&self.imaginary)
    }

    /// The tables of flips, those times i last.
    pub fn flip_tables(&self) -> FlipTables {
        FlipTables::new(self.flips())
    }

    /// What gives the rank of a word: tables, and where lists are searched their numbers of parts and of words.
    pub(super) fn rank_tables(&self) -> Vec<Parameter> {
        let sizes = self.sizes();
        let searched = || {
            let numbers = ["parts", "words"].map(|name| Parameter::number(name, Number::I64));
            sizes.state_tables().into_iter().chain(numbers).collect()
        };
        sizes.direct_tables().map_or_else(searched, Into::into)
    }

    /// Where the parts of an amplitude stand in a vector: behind how many, and with lines the place of each or its direction.
    pub(super) fn vector_tables(&self) -> Vec<Parameter> {
        let Some(counts) = self.lines else {
            return self.complex.then(|| Parameter::number("states", Number::I64)).into_iter().collect();
        };
        vec![
            Parameter::number("states", Number::I64),
            Parameter::table("imaginary_place", Element::U32, self.states),
            Parameter::table("directions", Element::F64, 2 * counts.directions.max(1)),
        ]
    }

    /// `number_parts`, where there are lines.
    pub(super) fn parts_kernel(&self) -> Option<Prototype> {
        let LineCounts { lines, .. } = self.lines?;
        let memory = |name, len| Parameter::memory(name, Element::U32, Access::Out, len);
        let parameters = vec![
            Parameter::number("states", Number::I64),
            Parameter::table("representatives", self.word(), self.states),
            Parameter::table("line_words", self.word(), lines.max(1)),
            Parameter::table("line_directions", Element::U32, lines.max(1)),
            Parameter::number("lines", Number::I64),
            memory("imaginary_place", self.states),
            memory("paired_state", (self.states - lines).max(1)),
            memory("line_state", lines.max(1)),
        ];
        Some(Prototype::new("number_parts", parameters))
    }

    /// The launch of `number_parts`, where there are lines.
    pub fn parts_launch(&self) -> Result<Option<Launch>, LaunchError> {
        self.parts_kernel().map(|kernel| kernel.launch(self.partials(), THREADS, 0)).transpose()
    }

    /// Characters of all elements, of complex ones their imaginary parts behind them, and with antiunitary elements the sign of the imaginary
    /// part that each multiplies; of each bit of a word the bits that change the sign with it under each element.
    pub(super) fn factor_tables(&self) -> Vec<Parameter> {
        let numbers = 1 + u64::from(self.complex) + u64::from(self.lines.is_some());
        let characters = Parameter::table("characters", Element::F64, numbers * self.elements());
        let later = Parameter::table("later", self.word(), u64::from(self.bits) * self.elements());
        (self.characters || self.fermions)
            .then_some(characters)
            .into_iter()
            .chain(self.fermions.then_some(later))
            .collect()
    }

    /// Tables of the rows of a torus.
    pub(super) fn line_tables(&self) -> Vec<Parameter> {
        self.torus.as_ref().map_or_else(Vec::new, |torus| torus.tables().into())
    }

    /// Flips with their terms, of `multiply` or of `operator_average`.
    pub(super) fn flip_parameters(&self, flips: u64, terms: u64) -> [Parameter; 6] {
        [
            Parameter::table("flip_masks", self.word(), flips),
            Parameter::table("flip_start", Element::U32, flips + 1),
            Parameter::table("term_care", self.word(), terms),
            Parameter::table("term_pattern", self.word(), terms),
            Parameter::table("term_sign", self.word(), terms),
            Parameter::table("term_amplitude", Element::F64, terms),
        ]
    }

    /// `operator_average`, with tables of so many flips, terms and elements of the diagonal.
    fn average_kernel(&self, [flips, terms, diagonals]: [u64; 3]) -> Prototype {
        let mut parameters = vec![
            Parameter::values("x", self.scalar, Access::In, self.dimension()),
            Parameter::memory("partials", Element::F64, Access::Out, self.partials()),
            Parameter::number("states", Number::I64),
            Parameter::table("representatives", self.word(), self.states),
            Parameter::table("has_stabiliser", Element::U32, self.stabiliser_words()),
            Parameter::table("bitmap", Element::U32, self.bitmap_words()),
        ];
        parameters.extend(self.vector_tables().into_iter().skip(1));
        parameters.extend(self.rank_tables());
        parameters.extend(self.factor_tables());
        parameters.extend(self.line_tables());
        parameters.extend(self.flip_parameters(flips, terms));
        parameters.extend([
            Parameter::table("diagonal_mask", self.word(), diagonals),
            Parameter::table("diagonal_pattern", self.word(), diagonals),
            Parameter::table("diagonal_factor", Element::F64, diagonals),
        ]);
        let numbers = ["first_flip", "end_real", "end_flip", "first_diagonal", "end_signs", "end_diagonal"];
        parameters.extend(numbers.map(|name| Parameter::number(name, Number::I64)));
        Prototype::new("operator_average", parameters)
    }

    /// The launches of one average, in order; the tables have so many flips, terms and elements of the diagonal.
    pub fn average(&self, sizes: [u64; 3]) -> Result<[Launch; 2], LaunchError> {
        let [.., finish] = self.kernels();
        let average = self.average_kernel(sizes).launch(self.partials(), THREADS, 0)?;
        Ok([average, finish.launch(1, FINISH_THREADS, 0)?])
    }

    pub(super) fn kernels(&self) -> [Prototype; 5] {
        let bitmap = |access| Parameter::memory("bitmap", Element::U32, access, self.bitmap_words());
        let list = |access| Parameter::memory("representatives", self.word(), access, self.states);
        let stabiliser = |access| Parameter::memory("has_stabiliser", Element::U32, access, self.stabiliser_words());
        let number_of = |name| Parameter::number(name, Number::I64);
        let mut mark = vec![
            bitmap(Access::Out),
            Parameter::memory("totals", Element::U32, Access::Out, self.mark_blocks()),
            number_of("ranks"),
            number_of("units"),
            number_of("parts"),
        ];
        mark.extend(self.sizes().state_tables());
        mark.extend(self.factor_tables());
        mark.extend(self.line_tables());
        let mut number = vec![
            bitmap(Access::InOut),
            list(Access::Out),
            stabiliser(Access::InOut),
            Parameter::table("starts", Element::U32, self.mark_blocks()),
            number_of("units"),
            number_of("parts"),
        ];
        number.extend(self.sizes().state_tables());
        let dimension = self.dimension();
        let mut multiply = vec![
            Parameter::values("x", self.scalar, Access::In, dimension),
            Parameter::values("y", self.scalar, Access::Out, dimension),
            Parameter::memory("partials", Element::F64, Access::Out, self.partials()),
            number_of("states"),
            list(Access::In),
            stabiliser(Access::In),
            bitmap(Access::In),
        ];
        multiply.extend(self.vector_tables().into_iter().skip(1));
        multiply.extend(self.rank_tables());
        multiply.extend(self.factor_tables());
        multiply.extend(self.line_tables());
        let flips = self.flips().count() as u64;
        let terms = self.flips().map(|group| group.terms.len() as u64).sum();
        let needed = match self.constant_amplitude() {
            _ if flips == 0 => 0,
            Some(_) => 1,
            None => 6,
        };
        multiply.extend(self.flip_parameters(flips, terms).into_iter().take(needed));
        [
            Prototype::new("mark_representatives", mark),
            Prototype::new("number_representatives", number),
            Prototype::new("multiply", multiply),
            self.average_kernel([1; 3]),
            multiply_finish(1, self.partials(), AT_ONCE as u64),
        ]
    }

    /// The launches that set it up: those of [`SymmetryPlan::listing`], and of [`SymmetryPlan::parts_launch`].
    pub fn set_up(&self) -> Result<Vec<Launch>, LaunchError> {
        Ok(self.listing()?.into_iter().chain(self.parts_launch()?).collect())
    }

    /// The launches that make the bitmap and the list: `mark_representatives`, `number_representatives`.
    pub fn listing(&self) -> Result<[Launch; 2], LaunchError> {
        let [mark, number, ..] = self.kernels();
        let blocks = self.mark_blocks();
        Ok([mark.launch(blocks, MARK_THREADS, 0)?, number.launch(blocks, NUMBER_THREADS, 0)?])
    }

    /// The launches of one multiply, in order.
    pub fn launches(&self) -> Result<Vec<Launch>, LaunchError> {
        let [.., multiply, _, finish] = self.kernels();
        Ok(vec![multiply.launch(self.partials(), THREADS, 0)?, finish.launch(1, FINISH_THREADS, 0)?])
    }

    /// In words.
    pub fn shape(&self) -> String {
        let walk = match (self.ring(), &self.torus) {
            (Some(_), _) => ", rotations by longest runs",
            (None, Some(_)) => ", by the least rows of a torus",
            (None, None) => "",
        };
        format!("rows made as they are multiplied, by a group of {} elements{walk}", self.elements())
    }

    /// The CUDA text.
    pub fn text(&self) -> Result<KernelText, TextError> {
        let [mark, number, rest @ ..] = self.kernels();
        let kernels: Vec<Prototype> = [mark, number].into_iter().chain(self.parts_kernel()).chain(rest).collect();
        let absent = SymmetryPlan::no_parts_kernel();
        // A template's branches have all fields, also where they are not taken.
        let view = self.view([&absent].into_iter().chain(&kernels).collect());
        let text = render(files::SYMMETRY_SECTOR, &view)?;
        // Of other sectors, too.
        let name = format!("symmetry_{}_elements_{}_bits_multiply", self.elements(), self.bits);
        Ok(KernelText { name, text, plan: crate::text::ron(self), entries: entries(&kernels) })
    }

    /// The diagonal as an element function of vector programs: `diagonal(i, representatives)`.
    pub fn diagonal_element(&self) -> ElementFunctionText {
        let function = self.diagonal.function(Words::Whole, &CoefficientWriter::first(None));
        let row = match (self.complex, self.lines) {
            (_, Some(_)) => "i < states ? i : (i64)paired_state[i - states]",
            (true, None) => "i % states",
            (false, None) => "i",
        };
        let value = format!("diagonal_of((u64)representatives[{row}])");
        let list = Parameter::table("representatives", self.word(), self.states);
        let states = self.complex.then(|| Parameter::number("states", Number::I64));
        let paired =
            |counts: LineCounts| Parameter::table("paired_state", Element::U32, (self.states - counts.lines).max(1));
        let parameters = std::iter::once(list).chain(states).chain(self.lines.map(paired)).collect();
        ElementFunctionText::new(&function, "double", "diagonal", parameters, &value)
    }

    /// What stands for `number_parts` where there is none.
    pub(super) fn no_parts_kernel() -> Prototype {
        Prototype::new("number_parts", Vec::new())
    }

    fn word_mask(&self) -> u64 {
        u64::MAX >> (u64::BITS - self.bits)
    }

    pub(super) fn view(&self, kernels: Declarations) -> View<'_> {
        let wide = self.is_wide();
        let names = |parameters: &[Parameter]| parameters.iter().map(|p| p.name.clone()).collect::<Vec<_>>().join(", ");
        let (rank_tables, factor_tables, vector_tables) =
            (self.rank_tables(), self.factor_tables(), self.vector_tables());
        let (torus, line_tables) = (self.torus.as_ref(), self.line_tables());
        let of_parameters =
            |all: &[Parameter]| all.iter().map(|p| format!(", {} {}", p.cuda(), p.name)).collect::<String>();
        let in_lines = |images: &str| match torus {
            Some(_) => format!(", {images}, {}", names(&line_tables)),
            None => String::new(),
        };
        let passed = |parameters: &[Parameter]| match parameters {
            [] => String::new(),
            some => format!(", {}", names(some)),
        };
        let of_images = torus.iter().flat_map(|torus| torus.images.iter().map(|image| &image.action));
        let action = |(number, action): (usize, &WordAction)| {
            let WordAction { reversed, shifts, inverts } = action;
            let shift = |shift: &MaskedShift| {
                let bits = format!("(w & {})", hex(shift.mask, wide));
                match shift.by {
                    0 => bits,
                    by @ 1.. => format!("{bits} << {by}"),
                    by => format!("{bits} >> {}", -by),
                }
            };
            let moved = shifts.iter().map(shift).collect::<Vec<_>>().join("\n      | ");
            Action {
                number,
                reversed: *reversed,
                moved,
                inverts: inverts
                    .map(|(mask, tops)| [hex(mask, wide), hex(!mask & self.word_mask(), wide), hex(tops, wide)]),
                inverts_all: inverts.is_some_and(|(mask, _)| mask == self.word_mask()),
            }
        };
        let index = self.steps.iter().enumerate().rev().fold(String::new(), |outer, (k, step)| match outer.as_str() {
            "" => format!("a{k}"),
            outer => format!("a{k} + {} * ({outer})", step.times),
        });
        let step = |(k, step): (usize, &GroupStep)| WalkStep {
            number: k,
            indent: "    ".repeat(self.steps.len() - k),
            unrolled: self.steps[..=k].iter().map(|step| step.times).product::<u32>() <= UNROLLED,
            from: if k + 1 == self.steps.len() { "word".into() } else { format!("w{}", k + 1) },
            open: format!("for (u32 a{k} = 0; a{k} < {}; ++a{k}, w{k} = act_{k}(w{k}))", step.times),
        };
        let walk = Walk {
            steps: self.steps.iter().enumerate().rev().map(step).collect(),
            indent: "    ".repeat(self.steps.len() + 1),
            innermost: "w0",
            index,
        };
        let flips: Vec<&FlipGroup> = self.flips().collect();
        let condition = |group: &FlipGroup| {
            let each = group
                .terms
                .iter()
                .map(|term| format!("(state & {}) == {}", hex(term.care, wide), hex(term.pattern, wide)));
            each.collect::<Vec<_>>().join(" || ")
        };
        let chunk = |(number, groups): (usize, &[&FlipGroup])| Chunk {
            first: number * CHUNK,
            conditions: groups.iter().map(|group| condition(group)).collect(),
        };
        View {
            plan: self,
            prelude: self.warp.prelude(),
            value_type: self.scalar.cuda(),
            word_type: self.word().cuda(),
            kernels,
            first_row: "",
            first_partial: "",
            adds: true,
            weighs: true,
            row_cost: self.row_cost(),
            elements: self.elements(),
            part_constant: "",
            part_count: "(int)parts",
            word_count: "words",
            word_mask: hex(self.word_mask(), wide),
            low_mask: hex((1 << self.low_bits) - 1, true),
            direct: self.high_parts > 0,
            diagonal: self.diagonal.function(Words::Whole, &CoefficientWriter::first(None)),
            state_tables: declared(&rank_tables, "__device__ i64 rank_of(".len()),
            part_tables: declared(&self.sizes().state_tables(), "__device__ __forceinline__ i64 part_of(".len()),
            part_arguments: names(&self.sizes().state_tables()),
            rank_parameters: declared(&rank_tables, "__device__ __forceinline__ i64 place_of(".len()),
            rank_arguments: names(&rank_tables),
            factor_parameters: of_parameters(&factor_tables),
            factor_arguments: passed(&factor_tables),
            vector_parameters: declared(&vector_tables, "__device__ __forceinline__ void put_amplitude(".len()),
            vector_arguments: passed(&vector_tables),
            conjugates: self.lines.is_some(),
            factors: self.characters || self.fermions,
            actions: self.steps.iter().map(|step| &step.action).chain(of_images).enumerate().map(action).collect(),
            is_ring: self.ring().is_some(),
            is_torus: self.torus.is_some(),
            torus: torus.map_or_else(TorusView::default, |torus| torus.view(&self.steps, self.bits, self.word_mask())),
            line_parameters: match torus {
                Some(_) => format!(", word_t* images, int stride{}", of_parameters(&line_tables)),
                None => String::new(),
            },
            line_arguments: in_lines("images, stride"),
            line_start: in_lines("images + threadIdx.x, THREADS"),
            line_start_of_mark: in_lines(&format!("images + threadIdx.x, {MARK_THREADS}")),
            ring: self.ring().unwrap_or_default(),
            extremes: self.extremes,
            walk,
            wide,
            flagged: self.bits < self.machine_bits(),
            flips: flips.len(),
            real_flips: self.groups.len(),
            constant: self.constant_amplitude().map(|value| format!("{value:?}")),
            chunks: flips.chunks(CHUNK).enumerate().map(chunk).collect(),
            threads: THREADS,
            mark_threads: MARK_THREADS,
            number_threads: NUMBER_THREADS,
            bitmap_words: BITMAP_WORDS,
            narrow_units: self.ranks / BITMAP_BITS < u64::from(u32::MAX),
        }
    }
}

#[derive(Serialize)]
struct Action {
    number: usize,
    reversed: bool,
    moved: String,
    /// Bits that are inverted, the others, and the largest values of the digits.
    inverts: Option<[String; 3]>,
    inverts_all: bool,
}

#[derive(Serialize)]
struct WalkStep {
    number: usize,
    indent: String,
    unrolled: bool,
    from: String,
    open: String,
}

/// A loop nest over elements of the group.
#[derive(Serialize)]
struct Walk {
    steps: Vec<WalkStep>,
    /// Of the body.
    indent: String,
    innermost: &'static str,
    index: String,
}

/// The group of a ring.
#[derive(Default, Serialize)]
pub(super) struct Ring {
    mirrors: bool,
    /// Where the elements with a mirror image begin, and the bits by which the mirror turns the reversed word.
    mirror_at: u64,
    mirror_turn: u32,
    inverts: bool,
    /// Where the elements with an inversion begin.
    inversion_at: u64,
}

#[derive(Serialize)]
struct Chunk {
    first: usize,
    conditions: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct View<'a> {
    plan: &'a SymmetryPlan,
    prelude: String,
    value_type: &'a str,
    word_type: &'a str,
    kernels: Declarations,
    /// Where the rows begin that are made anew, and their partial sums: as expressions with a plus behind them.
    pub(super) first_row: &'a str,
    pub(super) first_partial: &'a str,
    /// Whether rows are made as they are multiplied, and whether flips have amplitudes of their own.
    pub(super) adds: bool,
    pub(super) weighs: bool,
    row_cost: Cost,
    elements: u64,
    part_constant: &'static str,
    part_count: &'static str,
    word_count: &'static str,
    word_mask: String,
    low_mask: String,
    direct: bool,
    diagonal: String,
    state_tables: String,
    part_tables: String,
    part_arguments: String,
    rank_parameters: String,
    rank_arguments: String,
    factor_parameters: String,
    factor_arguments: String,
    /// Where parts of amplitudes stand.
    vector_parameters: String,
    vector_arguments: String,
    conjugates: bool,
    factors: bool,
    actions: Vec<Action>,
    is_ring: bool,
    is_torus: bool,
    ring: Ring,
    torus: TorusView,
    line_parameters: String,
    line_arguments: String,
    line_start: String,
    line_start_of_mark: String,
    extremes: bool,
    walk: Walk,
    wide: bool,
    flagged: bool,
    flips: usize,
    real_flips: usize,
    constant: Option<String>,
    chunks: Vec<Chunk>,
    threads: u32,
    mark_threads: u32,
    number_threads: u32,
    bitmap_words: u64,
    narrow_units: bool,
}
