//! The diagonal of H as a function of the state words.
//!
//! Terms of equal coefficient are counted at once: Σ nᵢ over a set of sites is popcount(word & mask); Σ nᵢnⱼ over pairs
//! whose bits are k apart is popcount(word & (word' >> k) & mask); for spins ½ Σ SᶻᵢSᶻⱼ counts the pairs that differ, by
//! exclusive or. The repulsion of a uniform Hubbard model thus becomes `4.0 * __popc(up & dn)`. A model whose couplings
//! all differ keeps the user's own expression instead ([`ExpressionPlan`]), translated by `#[gpu_operator]`.

use super::ExpressionPlan;
use super::coefficients::CoefficientWriter;
use super::expression::ExpressionView;
use crate::files;
use crate::text::{RESUME_LINES, part};
use serde::{Deserialize, Serialize};

/// The words that the diagonal function takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Words {
    /// The whole state in 64 bits, also of electrons.
    Whole,
    /// A word per species of this many bits: 32 or 64.
    Pair(u32),
}

impl Words {
    fn wide(self) -> bool {
        self != Words::Pair(u32::BITS)
    }

    fn cuda(self) -> &'static str {
        if self.wide() { "u64" } else { "u32" }
    }
}

/// The word that a set of bits belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum StateWord {
    /// The whole state.
    State,
    /// The word of the up electrons.
    Up,
    /// The word of the down electrons.
    Down,
}

impl StateWord {
    fn name(self) -> &'static str {
        match self {
            StateWord::State => "state",
            StateWord::Up => "up",
            StateWord::Down => "dn",
        }
    }
}

/// coefficient · popcount(left & mask), or with a partner: coefficient · popcount(left ∘ (right >> shift) & mask).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CountGroup {
    /// Weight of each counted bit.
    pub coefficient: f64,
    /// Word of the first bits.
    pub left: StateWord,
    /// Word of the partner bits and how far they are shifted down (up when negative).
    pub right: Option<(StateWord, i32)>,
    /// The counted positions in `left`.
    pub mask: u64,
    /// Count pairs that differ (exclusive or) instead of pairs both set (and).
    pub differs: bool,
}

/// coefficient · [all bits set], or coefficient · (−1)^(number of clear bits): products of three and more factors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProductTerm {
    /// Weight.
    pub coefficient: f64,
    /// Bits of the state, or of the up word if there are two words.
    pub mask: u64,
    /// Bits of the down word.
    pub down_mask: u64,
    /// Sign form instead of the all-set form.
    pub parity: bool,
}

/// coefficient · Π (Sᶻ)^power for spins above ½.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelTerm {
    /// Weight.
    pub coefficient: f64,
    /// (site, power).
    pub factors: Vec<(u32, u32)>,
}

/// A function of a digit of the state word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum DigitFunction {
    /// (value − centre)^power.
    Power {
        /// Twice the centre: 2S of a moment, 0 of a number.
        twice_centre: u32,
        /// 1 or more.
        power: u32,
    },
    /// 1 where the digit has this value, else 0.
    Equals(u32),
}

/// A digit of the state word, and a function of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DigitFactor {
    /// Its lowest bit.
    pub shift: u32,
    /// Its bits.
    pub width: u32,
    /// The function.
    pub function: DigitFunction,
}

impl DigitFactor {
    /// The function's value in a word.
    #[inline]
    pub fn value(&self, word: u64) -> f64 {
        let digit = word >> self.shift & ((1 << self.width) - 1);
        match self.function {
            DigitFunction::Power { twice_centre, power } => {
                (digit as f64 - 0.5 * f64::from(twice_centre)).powi(power as i32)
            }
            DigitFunction::Equals(value) => f64::from(u8::from(digit == u64::from(value))),
        }
    }

    /// The least and the largest value.
    fn range(&self) -> (f64, f64) {
        let most = ((1u64 << self.width) - 1) as f64;
        match self.function {
            DigitFunction::Power { twice_centre, power } => {
                let centre = 0.5 * f64::from(twice_centre);
                let ends = [-centre, most - centre].map(|end| end.powi(power as i32));
                let even = power % 2 == 0 && centre > 0.0;
                (if even { 0.0 } else { ends[0].min(ends[1]) }, ends[0].max(ends[1]))
            }
            DigitFunction::Equals(_) => (0.0, 1.0),
        }
    }

    /// The digit's bits, and each of its values in their place with that of the function, but for those where it is 0.
    pub fn values(&self) -> (u64, Vec<(u64, f64)>) {
        let values = (0..1u64 << self.width).map(|digit| (digit << self.shift, self.value(digit << self.shift)));
        (((1 << self.width) - 1) << self.shift, values.filter(|(_, value)| *value != 0.0).collect())
    }

    fn text(&self) -> Vec<String> {
        let digit = format!("(state >> {} & {:#x}ull)", self.shift, (1u64 << self.width) - 1);
        match self.function {
            DigitFunction::Power { twice_centre: 0, power } => vec![format!("(double){digit}"); power as usize],
            DigitFunction::Power { twice_centre, power } => {
                vec![format!("((double){digit} - {:?})", 0.5 * f64::from(twice_centre)); power as usize]
            }
            DigitFunction::Equals(value) => vec![format!("(double)({digit} == {value}u)")],
        }
    }
}

/// coefficient · Π of functions of digits, on sites of any kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DigitTerm {
    /// Weight.
    pub coefficient: f64,
    /// The functions.
    pub factors: Vec<DigitFactor>,
}

/// The diagonal in all its forms; empty lists add no work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DiagonalPlan {
    /// Added to every element.
    pub constant: f64,
    /// The constant removed from the operator beforehand, the same for all states: it is subtracted from the expressions,
    /// which contain the whole operator.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub taken_out: f64,
    /// Counted terms.
    pub counts: Vec<CountGroup>,
    /// Products of many factors.
    pub products: Vec<ProductTerm>,
    /// Products of Sᶻ above spin ½.
    pub levels: Vec<LevelTerm>,
    /// Products of functions of digits, on sites of any kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub digits: Vec<DigitTerm>,
    /// Bits per site of a spin word.
    pub level_width: u32,
    /// 2S of the levels.
    pub two_s: u32,
    /// Sites of the up word, if a Kronecker split has two words.
    pub sites: u32,
    /// The user's expressions; if present the CUDA text uses these and not the lists above.
    pub expressions: Vec<ExpressionPlan>,
}

/// With more counted groups than this, a diagonal with translated expressions uses the expressions.
const MOST_GROUPS_BEFORE_EXPRESSIONS: usize = 8;

/// If the removed constant exceeds this many times the rest of the diagonal, the expressions, which contain it, lose
/// digits.
const LARGEST_BESIDE_EXPRESSIONS: f64 = 100.0;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

impl DiagonalPlan {
    /// Keeps the expressions only if they give the better text: many groups and nothing else, and no large removed
    /// constant.
    pub fn choose_strategy(&mut self) {
        let few = self.counts.len() + self.products.len() + self.levels.len() <= MOST_GROUPS_BEFORE_EXPRESSIONS;
        let (low, high) = self.range([u32::MAX; 2]);
        if few || self.taken_out.abs() > LARGEST_BESIDE_EXPRESSIONS * (high - low) {
            self.expressions.clear();
        }
    }

    /// Bounds of the elements: term by term, with this many bits set in the up and the down word.
    pub fn range(&self, particles: [u32; 2]) -> (f64, f64) {
        let set = |word: StateWord| match word {
            StateWord::Up => particles[0],
            StateWord::Down => particles[1],
            StateWord::State => u32::MAX,
        };
        let spin = 0.5 * f64::from(self.two_s);
        let counts = self.counts.iter().map(|group| {
            let words = [Some(group.left), group.right.map(|(word, _)| word)];
            let most = words.into_iter().flatten().map(set).fold(group.mask.count_ones(), u32::min);
            let most = if group.differs { group.mask.count_ones() } else { most };
            (0.0, group.coefficient * f64::from(most))
        });
        let products = self.products.iter().map(|term| match term.parity {
            true => (-term.coefficient, term.coefficient),
            false => (0.0, term.coefficient),
        });
        let levels = self.levels.iter().map(|term| {
            let largest = term.coefficient * spin.powi(term.factors.iter().map(|(_, power)| *power as i32).sum());
            let even = term.factors.iter().all(|(_, power)| power % 2 == 0);
            (if even { 0.0 } else { -largest }, largest)
        });
        let digits = self.digits.iter().map(|term| {
            let with = |(low, high): (f64, f64), factor: &DigitFactor| {
                let (least, most) = factor.range();
                let ends = [low * least, low * most, high * least, high * most];
                (ends.into_iter().fold(f64::INFINITY, f64::min), ends.into_iter().fold(f64::NEG_INFINITY, f64::max))
            };
            term.factors.iter().fold((term.coefficient, term.coefficient), with)
        });
        counts
            .chain(products)
            .chain(levels)
            .chain(digits)
            .fold((self.constant, self.constant), |(low, high), (a, b)| (low + a.min(b), high + a.max(b)))
    }

    /// Terms written out in the text, but for expressions.
    pub(super) fn terms(&self) -> usize {
        self.counts.len() + self.products.len() + self.levels.len() + self.digits.len()
    }

    /// Whether all elements are equal.
    pub fn is_constant(&self) -> bool {
        self.counts.is_empty() && self.products.is_empty() && self.levels.is_empty() && self.digits.is_empty()
    }

    /// The diagonal element of a whole state word, split into an (up, down) pair if the counts need it.
    #[inline]
    pub fn of_state(&self, state: u64) -> f64 {
        if self.sites == 0 {
            return self.of_pair(state, 0);
        }
        let low = if self.sites >= 64 { u64::MAX } else { (1 << self.sites) - 1 };
        self.of_pair(state & low, state.checked_shr(self.sites).unwrap_or(0))
    }

    /// The diagonal element of an (up, down) pair, or of a state without a partner.
    #[inline]
    pub fn of_pair(&self, first: u64, down: u64) -> f64 {
        let word = |which| if which == StateWord::Down { down } else { first };
        let mut sum = self.constant;
        for group in &self.counts {
            sum += group.coefficient * f64::from(group.bits(word).count_ones());
        }
        for term in &self.products {
            let clear = (!first & term.mask).count_ones() + (!down & term.down_mask).count_ones();
            let value = match term.parity {
                true => 1.0 - 2.0 * f64::from(clear & 1),
                false => f64::from(u8::from(clear == 0)),
            };
            sum += term.coefficient * value;
        }
        for term in &self.levels {
            let z = |site: u32| {
                let level = first >> (site * self.level_width) & ((1 << self.level_width) - 1);
                level as f64 - 0.5 * f64::from(self.two_s)
            };
            let product = |product: f64, factor: &(u32, u32)| product * z(factor.0).powi(factor.1 as i32);
            sum += term.factors.iter().fold(term.coefficient, product);
        }
        for term in &self.digits {
            sum += term.factors.iter().fold(term.coefficient, |product, factor| product * factor.value(first));
        }
        sum
    }

    /// The part that depends on both words, for splitting D(up, dn) = a(up) + b(dn) + cross(up, dn).
    pub fn cross(&self) -> DiagonalPlan {
        let crosses = |group: &&CountGroup| group.right.is_some_and(|(right, _)| right != group.left);
        let both = |term: &&ProductTerm| term.mask != 0 && term.down_mask != 0;
        DiagonalPlan {
            counts: self.counts.iter().filter(crosses).cloned().collect(),
            products: self.products.iter().filter(both).cloned().collect(),
            sites: self.sites,
            ..DiagonalPlan::default()
        }
    }

    /// The parts that depend on the low `low_bits` bits of the state, on the others, and on both. The constant is in the first.
    pub fn split(&self, low_bits: u32) -> [DiagonalPlan; 3] {
        let (level_width, two_s, sites) = (self.level_width, self.two_s, self.sites);
        let mut parts: [DiagonalPlan; 3] =
            std::array::from_fn(|_| DiagonalPlan { level_width, two_s, sites, ..DiagonalPlan::default() });
        parts[0].constant = self.constant;
        // Which part bits at these places of the state belong to.
        let of = |bits: u64| match (bits & ((1 << low_bits) - 1), bits >> low_bits) {
            (_, 0) => 0,
            (0, _) => 1,
            _ => 2,
        };
        let place = |word: StateWord, bit: u32| if word == StateWord::Down { bit + self.sites } else { bit };
        for group in &self.counts {
            let mut masks = [0u64; 3];
            for bit in (0..u64::BITS).filter(|bit| group.mask >> bit & 1 == 1) {
                let partner = group.right.map_or(0, |(word, shift)| 1 << place(word, bit.wrapping_add_signed(shift)));
                masks[of(1 << place(group.left, bit) | partner)] |= 1 << bit;
            }
            for (part, mask) in parts.iter_mut().zip(masks).filter(|(_, mask)| *mask != 0) {
                part.counts.push(CountGroup { mask, ..group.clone() });
            }
        }
        for term in &self.products {
            let down = term.down_mask.checked_shl(self.sites).unwrap_or(0);
            parts[of(term.mask | down)].products.push(term.clone());
        }
        for term in &self.levels {
            let digit = (1u64 << self.level_width) - 1;
            let bits = term.factors.iter().fold(0, |bits, (site, _)| bits | digit << (site * self.level_width));
            parts[of(bits)].levels.push(term.clone());
        }
        for term in &self.digits {
            let digit = |factor: &DigitFactor| ((1u64 << factor.width) - 1) << factor.shift;
            parts[of(term.factors.iter().fold(0, |bits, factor| bits | digit(factor)))].digits.push(term.clone());
        }
        parts
    }

    /// The CUDA function `double diagonal_of(…)` and what it depends on.
    pub(super) fn function(&self, words: Words, coefficients: &CoefficientWriter<'_>) -> String {
        #[derive(Serialize)]
        struct Count {
            coefficient: String,
            bits: String,
        }
        #[derive(Serialize)]
        struct Product {
            coefficient: String,
            minus: String,
            condition: String,
            parity: bool,
        }
        #[derive(Serialize)]
        struct Level {
            coefficient: String,
            factors: Vec<String>,
        }
        /// `sz(i)` from the level of a site.
        #[derive(Serialize)]
        struct Sz {
            shift: String,
            mask: u64,
            half: String,
        }
        #[derive(Serialize)]
        struct View {
            expressions: Vec<ExpressionView>,
            sz: Option<Sz>,
            /// Parameters of the function and, if it takes whole states, the sites of the up word to split them at.
            parameters: String,
            split: u32,
            up_mask: String,
            /// Parameters of the expressions, and the arguments for them.
            declared_words: String,
            words: String,
            constant: String,
            count_bits: &'static str,
            counts: Vec<Count>,
            products: Vec<Product>,
            levels: Vec<Level>,
            digits: Vec<Level>,
            resume: &'static str,
        }
        let number = |value: f64| coefficients.number(value);
        // The expressions are the whole diagonal; the constant is included.
        let written = !self.expressions.is_empty();
        let constant = if written { 0.0 - self.taken_out } else { self.constant };
        let (count_bits, suffix) = if words.wide() { ("__popcll", "ull") } else { ("__popc", "u") };
        let count = |group: &CountGroup| Count { coefficient: number(group.coefficient), bits: group.text(suffix) };
        let product = |term: &ProductTerm| Product {
            coefficient: number(term.coefficient),
            minus: number(-term.coefficient),
            condition: self.condition(term),
            parity: term.parity,
        };
        let level = |term: &LevelTerm| Level {
            coefficient: number(term.coefficient),
            factors: term.factors.iter().flat_map(|(s, p)| vec![format!("sz({s})"); *p as usize]).collect(),
        };
        let digit = |term: &DigitTerm| Level {
            coefficient: number(term.coefficient),
            factors: term.factors.iter().flat_map(DigitFactor::text).collect(),
        };
        let array = coefficients.declared();
        let (one, pair) = (format!("{} state{array}", words.cuda()), format!("{0} up, {0} dn{array}", words.cuda()));
        let two_words = self.sites > 0;
        let split = if words == Words::Whole { self.sites } else { 0 };
        let shift = if self.level_width == 1 { "(i)".into() } else { format!("((i) * {})", self.level_width) };
        let view = View {
            expressions: self.expressions.iter().map(|expression| expression.view(coefficients)).collect(),
            sz: (self.two_s > 0).then(|| Sz {
                shift,
                mask: (1u64 << self.level_width) - 1,
                half: format!("{:?}", 0.5 * f64::from(self.two_s)),
            }),
            parameters: if two_words && split == 0 { pair.clone() } else { one.clone() },
            split,
            up_mask: format!("{:#x}ull", 1u64.checked_shl(self.sites).unwrap_or(0).wrapping_sub(1)),
            declared_words: if two_words { pair } else { one },
            words: if two_words { "up, dn" } else { "state" }.to_string() + &coefficients.passed(),
            constant: number(constant),
            count_bits,
            counts: self.counts.iter().filter(|_| !written).map(count).collect(),
            products: self.products.iter().filter(|_| !written).map(product).collect(),
            levels: self.levels.iter().filter(|_| !written).map(level).collect(),
            digits: self.digits.iter().map(digit).collect(),
            resume: RESUME_LINES,
        };
        part(files::DIAGONAL, &view)
    }

    /// The condition of a product as an expression; the two words of a pair are combined if they fit.
    fn condition(&self, term: &ProductTerm) -> String {
        let ProductTerm { mask, down_mask, parity, .. } = *term;
        let words: Vec<(String, u64)> = match self.sites {
            0 => vec![("(u64)state".into(), mask)],
            1..=32 => vec![(format!("((u64)up | (u64)dn << {})", self.sites), mask | down_mask << self.sites)],
            _ => vec![("up".into(), mask), ("dn".into(), down_mask)],
        };
        let each = |of: &dyn Fn(&str, u64) -> String, by: &str| -> String {
            words.iter().map(|(word, mask)| of(word, *mask)).collect::<Vec<_>>().join(by)
        };
        if parity {
            return each(&|word, mask| format!("parity(~{word} & {mask:#x}ull)"), " != ");
        }
        each(&|word, mask| format!("({word} & {mask:#x}ull) == {mask:#x}ull"), " && ")
    }

    /// Operations of one evaluation, for the cost model.
    pub fn flops(&self) -> f64 {
        (2 * self.counts.len() + self.products.len() + 3 * (self.levels.len() + self.digits.len())) as f64
    }
}

impl CountGroup {
    #[inline]
    fn bits(&self, word: impl Fn(StateWord) -> u64) -> u64 {
        let left = word(self.left);
        let Some((right, shift)) = self.right else { return left & self.mask };
        let partner = if shift >= 0 { word(right) >> shift } else { word(right) << -shift };
        (if self.differs { left ^ partner } else { left & partner }) & self.mask
    }

    fn text(&self, suffix: &str) -> String {
        let mask = format!("{:#x}{suffix}", self.mask);
        let left = self.left.name();
        let Some((right, shift)) = self.right else { return format!("{left} & {mask}") };
        let partner = match shift {
            0 => right.name().to_string(),
            shift if shift > 0 => format!("({} >> {shift})", right.name()),
            shift => format!("({} << {})", right.name(), -shift),
        };
        if self.differs { format!("({left} ^ {partner}) & {mask}") } else { format!("{left} & {partner} & {mask}") }
    }
}
