//! A Kronecker sum that is the same for both spins, in a sector of their exchange: the plan of a multiply on pairs of strings.
//!
//! X[a][b] is the amplitude of the up string a with the down string b, N of each. With Xᵀ = P X, P = ±1, and the same A for both spins,
//!
//! H X = W + P Wᵀ + D ∘ X,   W = X A,
//!
//! half the vector and half the hops of X alone. States are pairs {a, b}: (|a b⟩ + P |b a⟩)/√2 for a ≠ b, and |a a⟩ where P = 1.
//!
//! **Order** ([`PairOrder`]). Row a holds the pairs with b = a, a + 1, … up to half way around the N strings, b counted modulo N. All rows
//! are equally long (to one element, of an even N), so that cards with as many elements have as many rows and as much work, and the row
//! of an element is found by a division. (Rows of a triangle are not: of four cards that with the last rows would have half of them.)
//!
//! **Panels.** Cards have runs of rows, and each works on a panel of its own at a time: whole rows S of X are made from pairs, in memory
//! beside the vectors; W = S A; y of the panel's rows gets W, and P Wᵀ goes to the rows that have the pairs, on whichever card, read there.
//! Of the two sums of a pair, the panel that is first writes and the other adds, so that y needs no zeros, and each element is
//! written by one thread of a launch.
//!
//! Each launch of `multiply_panels` has three panels at work, so that what waits for memory and for links goes beside what L2 limits:
//!
//! | panel | blocks | do |
//! |---|---|---|
//! | the next | servers | S from the pairs |
//! | this one | all but the servers | W, by runs ([`super::DownShape::Runs`]) or by a list |
//! | the last one | servers | W and D x to y of the panel's rows, P Wᵀ of all cards' panels to the others |
//!
//! **What it costs.** Of n = N(N + 1)/2 elements: x four times (twice for panels, twice for x·y and D), y three times, and what of S and W
//! (2 n each, written and read) does not stay in L2. A card receives 3/8 N²/cards elements of x (4 cards) and as many of W: what one
//! transpose of the whole X would move. Two operations per element of A and row.

use super::coefficients::CoefficientWriter;
use super::diagonal::Words;
use super::launches::AT_ONCE;
use super::runs::{RunTables, Runs};
use super::runs_text::{RunsOf, RunsText, resident};
use super::shape::hops_by_runs;
use super::{DiagonalPlan, DownShape, SpeciesPlan};
use crate::files;
use crate::launch::{Access, Element, FINISH_THREADS, Launch, LaunchError, Number, Parameter, multiply_finish};
use crate::prototype::{Declarations, Prototype, entries};
use crate::text::{Cost, ElementFunctionText, KernelText, TextError, part, render};
use crate::{ScalarType, Warp};
use serde::{Deserialize, Serialize};

/// Warps of a block where hops go by a list.
const WARPS: u32 = 8;
/// Blocks that make the next panel and add the last one: six on each multiprocessor of an H200.
const SERVERS: u64 = 792;
/// Bytes of a panel on one card, about: half of the L2 of an H200.
const PANEL_BYTES: u64 = 24 << 20;
/// Most rows of a panel, and those where cards work together: a launch on all of them waits for all before it.
const MOST_ROWS: u64 = 256;
/// Bytes that a card's part of memory shared by cards is a multiple of: pages of several architectures.
const PAGE: u64 = 2 << 20;

/// How pairs of strings are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairOrder {
    /// Strings.
    pub strings: u64,
    /// The least distance of a pair: 0, or 1 where a string has no pair with itself.
    pub first: u64,
}

impl PairOrder {
    /// One past the largest distance from string a of a pair in its row.
    pub fn distances(self, a: u64) -> u64 {
        let half = self.strings / 2;
        if self.strings % 2 == 1 || a < half { half + 1 } else { half }
    }

    /// Pairs.
    pub fn pairs(self) -> u64 {
        self.start(self.strings)
    }

    /// The first place of a row.
    pub fn start(self, a: u64) -> u64 {
        let half = self.strings / 2;
        let short = if self.strings.is_multiple_of(2) { a.saturating_sub(half) } else { 0 };
        a * (half + 1 - self.first) - short
    }

    /// The place of the pair {a, b}, and whether it is in the row of b; `None` of a string with itself that has none.
    pub fn place(self, a: u64, b: u64) -> Option<(u64, bool)> {
        let ahead = |a: u64, b: u64| if b >= a { b - a } else { b + self.strings - a };
        let inside = |a: u64, d: u64| (self.first..self.distances(a)).contains(&d);
        let (d, back) = (ahead(a, b), ahead(b, a));
        match (inside(a, d), inside(b, back)) {
            (true, _) => Some((self.start(a) + d - self.first, false)),
            (false, true) => Some((self.start(b) + back - self.first, true)),
            (false, false) => None,
        }
    }

    /// The first row that begins at a place or behind it.
    pub fn row_from(self, place: u64) -> u64 {
        if place >= self.pairs() {
            return self.strings;
        }
        let (row, _) = self.pair(place);
        row + u64::from(self.start(row) < place)
    }

    /// The strings (a, b) of a place, which is in the row of a.
    pub fn pair(self, place: u64) -> (u64, u64) {
        let long = self.strings / 2 + 1 - self.first;
        let cut = if self.strings.is_multiple_of(2) { self.strings / 2 * long } else { u64::MAX };
        let a = if place < cut { place / long } else { self.strings / 2 + (place - cut) / (long - 1).max(1) };
        (a, (a + place - self.start(a) + self.first) % self.strings)
    }
}

/// The possible differences between two plans of one problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairsShape {
    /// Rows of a panel, whole warps.
    pub rows: u32,
    /// How the hops go: [`DownShape::Runs`], or `None` by a list.
    pub runs: Option<DownShape>,
}

/// Every number of the multiply on pairs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairsPlan {
    /// Name of the model and sector, for display.
    pub name: String,
    /// Number type of the vectors.
    pub scalar: ScalarType,
    /// The width of a warp.
    pub warp: Warp,
    /// Lattice sites.
    pub sites: u32,
    /// Electrons of each spin.
    pub species: SpeciesPlan,
    /// The states.
    pub order: PairOrder,
    /// P: 1 or −1.
    pub sign: i32,
    /// The diagonal, of words with the up string above the down string.
    pub diagonal: DiagonalPlan,
    /// Origin of the model: one line per `sum!`.
    pub sources: Vec<String>,
    /// Rows of a panel, and how the hops go.
    pub shape: PairsShape,
    /// Cards that share the vectors.
    pub(super) cards: u32,
}

impl PairsPlan {
    /// The plan in the shape that the rule chooses, for one card.
    pub fn new(
        name: String,
        scalar: ScalarType,
        sites: u32,
        species: SpeciesPlan,
        sign: i32,
        diagonal: DiagonalPlan,
        sources: Vec<String>,
    ) -> PairsPlan {
        let order = PairOrder { strings: species.states, first: u64::from(sign < 0) };
        let shape = PairsShape { rows: 1, runs: hops_by_runs(sites, species.states, &species) };
        let (warp, cards) = (Warp::default(), 1);
        let plan = PairsPlan { name, scalar, warp, sites, species, order, sign, diagonal, sources, shape, cards };
        let rows = plan.rows_by_rule();
        plan.with_shape(PairsShape { rows, ..shape })
    }

    /// The same in another shape; rows are rounded up to whole warps, and hops that do not go by runs go by a list.
    #[must_use]
    pub fn with_shape(mut self, shape: PairsShape) -> PairsPlan {
        let rows = shape.rows.max(1).next_multiple_of(self.warp.lanes());
        let runs = shape.runs.filter(|runs| Runs::new(self.sites, &self.species, *runs).is_some());
        self.shape = PairsShape { rows, runs: runs.filter(|_| self.species.elements > 0) };
        self
    }

    /// Whole warps of rows that fit the panel's bytes; of several cards the most, but at most what a card has.
    fn rows_by_rule(&self) -> u32 {
        let lanes = u64::from(self.warp.lanes());
        let of_row = self.order.strings * self.scalar.bytes() as u64;
        let least = if self.cards > 1 { MOST_ROWS } else { lanes };
        let fitting = (PANEL_BYTES / of_row.max(1)).clamp(least, MOST_ROWS);
        fitting.min(self.order.strings.div_ceil(self.cards.into())).max(1).next_multiple_of(lanes) as u32
    }

    /// The same for warps of another width.
    pub fn set_warp(&mut self, warp: Warp) {
        self.warp = warp;
        *self = self.clone().with_shape(self.shape);
    }

    /// Vectors are shared by so many cards; the rows of a panel, if they are those of the rule, are those of the rule for them.
    pub fn share_among(&mut self, cards: u32) {
        let by_rule = self.shape.rows == self.rows_by_rule();
        self.cards = cards;
        if by_rule {
            self.shape.rows = self.rows_by_rule();
        }
    }

    /// Shapes worth timing, this plan's own first.
    pub fn candidates(&self) -> Vec<PairsShape> {
        let mut shapes = vec![self.shape];
        for rows in [32, 64, 96, 128, 256] {
            let rows = self.clone().with_shape(PairsShape { rows, ..self.shape }).shape;
            if !shapes.contains(&rows) && u64::from(rows.rows) < self.order.strings.next_multiple_of(64) {
                shapes.push(rows);
            }
        }
        shapes
    }

    /// Elements of a vector.
    pub fn dimension(&self) -> u64 {
        self.order.pairs()
    }

    /// Panels of a card, one after the other.
    pub fn panels(&self) -> u64 {
        self.order.strings.div_ceil(self.cards.into()).div_ceil(self.shape.rows.into())
    }

    /// Elements of two panels: of a card's part of `staged` and of `across`.
    fn panel_part(&self) -> u64 {
        let elements = 2 * u64::from(self.shape.rows) * self.order.strings;
        if self.cards > 1 { elements.next_multiple_of(PAGE / self.scalar.bytes() as u64) } else { elements }
    }

    /// Elements of `staged` on all cards, which has S of two panels of each, and as many of `across`, which has W.
    pub fn panel_memory(&self) -> u64 {
        u64::from(self.cards) * self.panel_part()
    }

    /// Their bytes.
    pub fn panel_bytes(&self) -> u64 {
        2 * self.panel_memory() * self.scalar.bytes() as u64
    }

    fn runs(&self) -> Option<Runs> {
        Runs::new(self.sites, &self.species, self.shape.runs?)
    }

    /// The tables of hops by runs; `None` where they go by a list.
    pub fn run_tables(&self) -> Option<RunTables> {
        self.runs().map(|runs| runs.tables())
    }

    fn warps(&self) -> u32 {
        match self.shape.runs {
            Some(DownShape::Runs { warps, .. }) => warps,
            _ => WARPS,
        }
    }

    fn tasks(&self) -> u64 {
        self.runs().map_or(self.order.strings, |runs| runs.task_count())
    }

    fn hop_blocks(&self) -> u64 {
        (u64::from(self.shape.rows / self.warp.lanes()) * self.tasks()).div_ceil(self.warps().into())
    }

    fn servers(&self) -> u64 {
        let lanes = u64::from(self.warp.lanes());
        let tiles = u64::from(self.shape.rows) / lanes * self.order.strings.div_ceil(lanes);
        SERVERS.min(tiles).max(self.cards.into())
    }

    /// Partial sums of x·y: one per server and card.
    pub fn partials(&self) -> u64 {
        u64::from(self.cards) * self.servers()
    }

    /// Bytes of the tables on a device.
    pub fn device_bytes(&self) -> u64 {
        let hops = match self.runs() {
            Some(runs) => 12 * runs.step_count() + 8 * (runs.task_count() + runs.run_count()),
            None => 4 * (self.order.strings + 1) + 12 * self.species.elements,
        };
        hops + 4 * self.order.strings + 8 * self.partials()
    }

    /// The least work: every element of A once for each row of X; x twice for the panels, and y three times.
    pub fn cost(&self) -> Cost {
        let n = self.dimension() as f64;
        let hops = 2.0 * self.species.elements as f64 * self.order.strings as f64;
        Cost {
            flops: hops + n * (3.0 + self.diagonal.flops()),
            bytes: 5.0 * n * self.scalar.bytes() as f64 + self.device_bytes() as f64,
        }
    }

    fn string_words(&self) -> Parameter {
        Parameter::table("string_word", Element::U32, self.order.strings)
    }

    fn kernels(&self) -> [Prototype; 2] {
        let panels = |name| Parameter::values(name, self.scalar, Access::InOut, self.panel_memory());
        let vector = |name, access| Parameter::values(name, self.scalar, access, self.dimension());
        let mut parameters = vec![
            vector("x", Access::In),
            vector("y", Access::InOut),
            Parameter::memory("partials", Element::F64, Access::InOut, self.partials()),
            panels("staged"),
            panels("across"),
            self.string_words(),
        ];
        parameters.extend(self.hop_tables());
        parameters.push(Parameter::number("panel", Number::I32));
        let finish = multiply_finish(1, self.partials(), AT_ONCE as u64);
        [Prototype::new("multiply_panels", parameters), finish]
    }

    fn hop_tables(&self) -> Vec<Parameter> {
        match self.runs() {
            Some(runs) => runs.parameters(),
            None => vec![
                Parameter::table("hop_start", Element::U32, self.order.strings + 1),
                Parameter::table("hop_column", Element::U32, self.species.elements),
                Parameter::table("hop_value", Element::F64, self.species.elements),
            ],
        }
    }

    /// The kernels of one multiply: `multiply_panels` with each panel from −1 to one past the last; then the sum of x·y.
    pub fn launches(&self) -> Result<Vec<Launch>, LaunchError> {
        let [panels, finish] = self.kernels();
        Ok(vec![
            panels.launch(self.hop_blocks() + self.servers(), self.warp.lanes() * self.warps(), 0)?,
            finish.launch(1, FINISH_THREADS, 0)?,
        ])
    }

    /// In words.
    pub fn shape(&self) -> String {
        let hops = match self.shape.runs {
            Some(DownShape::Runs { low_sites, outputs, warps }) => {
                format!("runs of {low_sites} low sites, {outputs} outputs, {warps} warps")
            }
            _ => "a list".into(),
        };
        let PairOrder { strings, .. } = self.order;
        format!(
            "by pairs of {strings} strings, P = {:+}: panels of {} rows, hops by {hops}",
            self.sign, self.shape.rows
        )
    }

    /// The CUDA text.
    pub fn text(&self) -> Result<KernelText, TextError> {
        #[derive(Serialize)]
        struct View<'a> {
            plan: &'a PairsPlan,
            prelude: String,
            value_type: &'a str,
            kernels: &'a Declarations,
            diagonal: String,
            by_runs: bool,
            hops_of_task: String,
            table_arguments: String,
            tasks: u64,
            part: u64,
            warps: u32,
            hop_blocks: u64,
            servers: u64,
            resident: u32,
            cost: Cost,
        }
        let kernels = self.kernels();
        let declarations: Declarations = kernels.iter().collect();
        let numbers = CoefficientWriter::first(None);
        let hops_of_task = match (self.runs(), self.shape.runs) {
            (Some(runs), Some(shape)) => {
                let (scalar, warp, columns) = (self.scalar, self.warp, self.order.strings);
                let text = RunsText { runs: &runs, shape, scalar, warp, columns, of: RunsOf::Panels };
                text.kernel(&declarations, &numbers)?
            }
            _ => String::new(),
        };
        let view = View {
            plan: self,
            prelude: self.warp.prelude(),
            value_type: self.scalar.cuda(),
            kernels: &declarations,
            diagonal: self.diagonal.function(Words::Whole, &numbers),
            by_runs: !hops_of_task.is_empty(),
            hops_of_task,
            table_arguments: self.hop_tables().into_iter().map(|table| table.name).collect::<Vec<_>>().join(", "),
            tasks: self.tasks(),
            part: self.panel_part(),
            warps: self.warps(),
            hop_blocks: self.hop_blocks(),
            servers: self.servers(),
            resident: self.shape.runs.map_or(0, |shape| resident(self.scalar, self.warp, shape, true)),
            cost: self.cost(),
        };
        let text = render(files::PAIRS, &view)?;
        let plan = crate::text::ron_of_depth(self, 3);
        Ok(KernelText { name: format!("{}_multiply", self.name), text, plan, entries: entries(&kernels) })
    }

    /// The diagonal as an element function of vector programs: `diagonal(i, string_word)`.
    pub fn diagonal_element(&self) -> ElementFunctionText {
        #[derive(Serialize)]
        struct View<'a> {
            plan: &'a PairsPlan,
        }
        let head = self.diagonal.function(Words::Whole, &CoefficientWriter::first(None))
            + &part(files::PAIRS_WORD, &View { plan: self });
        let value = "diagonal_of(word_of_pair((i64)i, string_word))";
        ElementFunctionText::new(&head, "double", "diagonal", vec![self.string_words()], value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every pair has one place, rows are as long as they say, and places lead back.
    #[test]
    fn pairs_are_numbered_once() {
        for (strings, first) in (1..24).flat_map(|strings| [(strings, 0), (strings, 1)]) {
            let order = PairOrder { strings, first };
            let mut seen = vec![0; order.pairs() as usize];
            assert_eq!(order.pairs(), strings * (strings + 1) / 2 - first * strings);
            for (a, b) in (0..strings).flat_map(|a| (0..strings).map(move |b| (a, b))) {
                let Some((place, of_b)) = order.place(a, b) else {
                    assert!(first == 1 && a == b);
                    continue;
                };
                let (row, other) = if of_b { (b, a) } else { (a, b) };
                assert_eq!(order.pair(place), (row, other), "{strings} strings, {a} and {b}");
                assert!((order.start(row)..order.start(row + 1)).contains(&place));
                assert_eq!(order.place(b, a).map(|(place, _)| place), Some(place));
                seen[place as usize] += 1;
            }
            assert!((0..order.pairs()).all(|place| {
                let (a, b) = order.pair(place);
                seen[place as usize] == if a == b { 1 } else { 2 }
            }));
        }
        // 20 sites half filled: more than 2³² places.
        let order = PairOrder { strings: 184_756, first: 0 };
        assert_eq!(order.pairs(), 17_067_482_146);
        for place in [0, 1 << 32, order.pairs() / 2, order.pairs() - 1] {
            let (a, b) = order.pair(place);
            assert_eq!(order.place(a, b), Some((place, false)));
        }
    }
}
