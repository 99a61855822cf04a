//! The multiply of a symmetry sector from a table of partners: what the rows of [`SymmetryPlan`] find anew in every multiply is found
//! once, by kernels of the same text, and kept on the card.
//!
//! y_r = D_r x_r + 1/√S(r) Σ over slots: v √S(r′) x[r′], with the partner r′ of a slot, the number S of elements that leave a word as it is,
//! and the value v, the amplitude of the flip times the character and the sign of the element that leads to r′.
//!
//! Bytes decide the layout. A slot has 32 bits and no value: the place of the partner in the lowest bits, above it the code of v in a
//! list of at most 256 where v varies, and in the top bit whether S(r′) is more than 1. So a character of ±1 takes no room, and the
//! square roots are looked up, a byte for each state, only by the few slots whose top bit is set: a scaled copy of x, the alternative,
//! takes a vector of memory and two more passes over vectors in every multiply. Where place and code have more than 31 bits, codes of
//! 8 bits stand beside.
//!
//! | kernel | does |
//! |---|---|
//! | `mark_representatives`, `number_representatives` | the list of states, as for [`SymmetryPlan`] |
//! | `count_partners` | how many slots the rows of each slice have; the class of each state's orbit |
//! | `fill_partners` | the slots of the rows that are kept |
//! | `pair_parts` | of complex vectors, the parts of each element beside each other, which a slot reads at once |
//! | `multiply` | those rows of y |
//! | `multiply_others` | the other rows of y, made anew, where not all are kept |
//!
//! Of several cards each has a run of the rows with as many slots as the others' (rows grow longer towards the end of the list). A partner
//! may be anywhere: each card has a copy of x, or of its paired parts.
//!
//! Numbers of states, and of values, are arguments: sectors of one group and one H share the text.

use super::SymmetryPlan;
use super::launches::AT_ONCE;
use super::symmetry::{THREADS, View};
use crate::files;
use crate::launch::{Access, Element, FINISH_THREADS, Launch, LaunchError, Number, Parameter, multiply_finish};
use crate::prototype::{Declarations, Prototype, entries};
use crate::text::{Cost, ElementFunctionText, KernelText, TextError, render};
use serde::{Deserialize, Serialize};

/// Most blocks of rows that a block of `multiply` takes.
const MOST_RUN: u64 = 4;
/// Most blocks of `pair_parts`.
const MOST_PAIRING: u64 = 1 << 16;
/// Slots of a row that are on their way at a time.
const AHEAD: u32 = 8;
/// Most values of slots.
pub const MOST_VALUES: usize = 256;
/// Bytes a nanosecond that an H200 reads.
const BYTES_A_NANOSECOND: f64 = 4000.0;
/// Bytes that a slot takes beside itself, of vectors in f64: sectors of x, of which neighbours have most in common
/// (docs/notes/symmetry-sectors.md).
const BYTES_OF_SECTORS: f64 = 12.0;

/// Predicted milliseconds on an H200 of rows of so many bytes beside so many slots each, a slot with its bytes and the reals of x that it reads,
/// in eights of bytes.
pub fn gathered_milliseconds(rows: u64, row_bytes: f64, slots: f64, (slot_bytes, numbers): (f64, f64)) -> f64 {
    let row = row_bytes + slots * (slot_bytes + BYTES_OF_SECTORS * numbers);
    1e-6 * rows as f64 * row / BYTES_A_NANOSECOND
}

/// How a slot says which value its element has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SlotCodes {
    /// All have the same.
    None,
    /// A code in the slot, above the place of the partner.
    Within,
    /// A code of 8 bits beside the slot.
    Beside,
}

/// Rows that a table holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptRows {
    /// How many, from the first on.
    pub rows: u64,
    /// Their slots, with padding.
    pub slots: u64,
    /// Blocks of rows of the card that has the most of them.
    pub blocks: u64,
}

/// Every number of the multiply of a symmetry sector from a table of partners.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartnersPlan {
    /// The rows that are made to fill the table, and the others.
    pub rows: SymmetryPlan,
    /// How slots say which values they have.
    pub codes: SlotCodes,
    /// Bits of the place of a partner.
    pub index_bits: u32,
    /// Values of slots.
    pub values: u64,
    /// Amplitudes of flips, where they vary.
    pub amplitudes: u64,
    /// Different characters.
    pub character_classes: u64,
    /// Combinations of amplitude, factor i, sign and character.
    pub kinds: u64,
    /// Numbers of elements that leave a word as it is.
    pub orders: u64,
    /// About how many slots a row has, with padding.
    pub row_slots: f64,
    /// Rows that are kept, about; all or fewer.
    pub kept: u64,
    /// Cards that share the rows.
    pub cards: u32,
}

impl PartnersPlan {
    /// Whether several cards share the rows.
    fn is_shared(&self) -> bool {
        self.cards > 1
    }

    /// Whether some rows are made anew.
    pub fn is_part(&self) -> bool {
        self.kept < self.rows.states
    }

    /// Whether flips have amplitudes of their own.
    fn by_amplitude(&self) -> bool {
        self.rows.flips().next().is_some() && self.rows.constant_amplitude().is_none()
    }

    fn has_factors(&self) -> bool {
        self.rows.characters || self.rows.fermions
    }

    fn is_coded(&self) -> bool {
        self.codes != SlotCodes::None
    }

    /// Slices: rows of a warp.
    pub fn slices(&self) -> u64 {
        self.rows.states.div_ceil(self.rows.warp.lanes().into())
    }

    /// Rows of a block of the kernels that count and fill, whose slots are kept together.
    pub fn block_rows(&self) -> u64 {
        THREADS.into()
    }

    /// Blocks of `count_partners`.
    pub fn count_blocks(&self) -> u64 {
        self.rows.states.div_ceil(self.block_rows())
    }

    /// Bytes of a slot.
    pub fn slot_bytes(&self) -> u64 {
        if self.codes == SlotCodes::Beside { 5 } else { 4 }
    }

    /// Bytes that stay of a table of so many slots: slots, starts of slices, classes of orbits, and an x whose parts are paired.
    pub fn table_bytes(&self, slots: u64) -> u64 {
        let paired = self.paired() * self.rows.scalar.bytes() as u64;
        let rest = 4 * (self.slices() + 1) + self.rows.states + paired;
        slots.saturating_mul(self.slot_bytes()).saturating_add(rest)
    }

    /// Numbers of the memory that a multiply writes and reads between its launches: of amplitudes with two parts these, paired.
    pub fn paired(&self) -> u64 {
        if self.rows.complex { 2 * self.rows.states } else { 0 }
    }

    /// About the bytes of a table of so many rows.
    pub fn predicted_bytes(&self, rows: u64) -> u64 {
        self.table_bytes((rows as f64 * self.row_slots) as u64)
    }

    /// About how many rows fit into so many bytes, whole blocks of them.
    pub fn rows_within(&self, bytes: u64) -> u64 {
        let room = bytes.saturating_sub(self.table_bytes(0)) as f64;
        let rows = (room / (self.row_slots * self.slot_bytes() as f64).max(1.0)) as u64;
        if rows >= self.rows.states { self.rows.states } else { rows / self.block_rows() * self.block_rows() }
    }

    /// Predicted milliseconds of one multiply on an H200: of the rows that are kept, and of those that are made anew.
    pub fn predicted_milliseconds(&self) -> [f64; 2] {
        let plan = &self.rows;
        let numbers = if plan.complex { 2.0 } else { 1.0 };
        let value = plan.scalar.bytes() as f64 / 8.0 * numbers;
        let slot = (self.slot_bytes() as f64, value);
        let made = plan.predicted_milliseconds(plan.states - self.kept, self.row_slots);
        [gathered_milliseconds(self.kept, plan.row_cost().bytes, self.row_slots, slot), made]
    }

    /// Blocks of rows that a block of `multiply` takes, one after the other. Blocks start in order: the rows that are at work at a time are
    /// neighbours, and their partners in L2, which they are not where a grid takes rows in turns.
    pub fn run(&self) -> u64 {
        (self.count_blocks() >> 16).clamp(1, MOST_RUN)
    }

    /// Blocks of `multiply` on so many cards, of which each has at most so many blocks of rows.
    pub fn multiply_blocks(&self, blocks: u64) -> u64 {
        blocks.div_ceil(self.run()) * u64::from(self.cards)
    }

    /// Partial sums of x·y: one per block, of rows that are kept and of others.
    pub fn partials(&self) -> u64 {
        let others = if self.is_part() { self.rows.partials() } else { 0 };
        self.multiply_blocks(self.count_blocks()).max(1) + others
    }

    /// Reads the list and the slots once and x once, writes y once; rows made anew as they are multiplied read the bitmap.
    pub fn cost(&self) -> Cost {
        let (row, whole) = (self.rows.row_cost(), self.rows.cost());
        let (kept, rows) = (self.kept as f64, self.rows.states as f64);
        let numbers = if self.rows.complex { 2.0 } else { 1.0 };
        let slots = self.predicted_bytes(self.kept) as f64;
        let bitmap = if self.is_part() { whole.bytes - rows * row.bytes } else { 0.0 };
        let others = (rows - kept) * row.flops;
        let flops = kept * (row.flops.min(2.0 * numbers * numbers * self.row_slots + 2.0)) + others;
        Cost { flops, bytes: rows * row.bytes + slots + bitmap }
    }

    /// Tables that tell the code of a slot.
    fn code_tables(&self) -> Vec<Parameter> {
        if !self.is_coded() {
            return Vec::new();
        }
        let factors = self.has_factors().then(|| {
            let classes = Parameter::table("character_class", Element::U8, self.rows.elements());
            [classes, Parameter::number("character_classes", Number::I64)]
        });
        let codes = Parameter::table("code_of", Element::U8, self.kinds);
        factors.into_iter().flatten().chain([codes]).collect()
    }

    fn list(&self) -> Parameter {
        Parameter::table("representatives", self.rows.word(), self.rows.states)
    }

    fn classes(&self, access: Access) -> Parameter {
        Parameter::memory("orbit_class", Element::U8, access, self.rows.states)
    }

    fn stabilisers(&self) -> Parameter {
        Parameter::table("has_stabiliser", Element::U32, self.rows.stabiliser_words())
    }

    fn count_kernel(&self) -> Prototype {
        let memory = |name, len| Parameter::memory(name, Element::U32, Access::Out, len);
        let parameters = vec![
            Parameter::number("states", Number::I64),
            self.list(),
            self.stabilisers(),
            Parameter::table("orbit_orders", Element::U32, self.orders),
            Parameter::number("orders", Number::I64),
            memory("slice_slots", self.slices()),
            memory("slot_totals", self.count_blocks()),
            self.classes(Access::Out),
        ];
        Prototype::new("count_partners", parameters)
    }

    /// The slots, with their codes where these stand beside.
    fn slots(&self, access: Access, slots: u64) -> Vec<Parameter> {
        let codes = || Parameter::memory("codes", Element::U8, access, slots);
        let partners = Parameter::memory("partners", Element::U32, access, slots);
        std::iter::once(partners).chain((self.codes == SlotCodes::Beside).then(codes)).collect()
    }

    fn fill_kernel(&self, kept: KeptRows) -> Prototype {
        let plan = &self.rows;
        let blocks = kept.rows.div_ceil(self.block_rows());
        let mut parameters = vec![
            Parameter::number("states", Number::I64),
            self.list(),
            self.stabilisers(),
            Parameter::table("bitmap", Element::U32, plan.bitmap_words()),
        ];
        parameters.extend(plan.rank_tables());
        parameters.extend(plan.factor_tables());
        parameters.extend(plan.line_tables());
        let flips = plan.flips().count() as u64;
        let terms = plan.flips().map(|group| group.terms.len() as u64).sum();
        let needed = if flips == 0 { 0 } else { [1, 6][usize::from(self.by_amplitude())] };
        parameters.extend(plan.flip_parameters(flips, terms).into_iter().take(needed));
        if self.by_amplitude() {
            parameters.push(Parameter::table("amplitudes", Element::F64, self.amplitudes));
            parameters.push(Parameter::number("amplitude_count", Number::I64));
        }
        parameters.extend(self.code_tables());
        parameters.push(Parameter::number("index_bits", Number::U32));
        parameters.push(Parameter::table("slice_slots", Element::U32, self.slices()));
        parameters.push(Parameter::table("slot_starts", Element::U32, blocks));
        let slices = kept.rows.div_ceil(plan.warp.lanes().into());
        parameters.push(Parameter::memory("slice_start", Element::U32, Access::Out, slices + 1));
        parameters.extend(self.slots(Access::Out, kept.slots));
        Prototype::new("fill_partners", parameters)
    }

    /// What kernels of some rows write: all of it by one kernel, or each a part.
    fn outputs(&self) -> [Parameter; 2] {
        let access = if self.is_part() { Access::InOut } else { Access::Out };
        [
            Parameter::values("y", self.rows.scalar, access, self.rows.dimension()),
            Parameter::memory("partials", Element::F64, access, self.partials()),
        ]
    }

    fn pairing_kernel(&self) -> Option<Prototype> {
        let values = |name, access, len| Parameter::values(name, self.rows.scalar, access, len);
        let x = values("x", Access::In, self.rows.dimension());
        let staged = values("staged", Access::Out, self.paired());
        let parameters = [x, staged].into_iter().chain(self.rows.vector_tables()).collect();
        self.rows.complex.then(|| Prototype::new("pair_parts", parameters))
    }

    fn multiply_kernel(&self, kept: KeptRows) -> Prototype {
        let plan = &self.rows;
        let x = |name, len| Parameter::values(name, plan.scalar, Access::In, len);
        let mut parameters = vec![x("x", plan.dimension())];
        parameters.extend(plan.complex.then(|| x("staged", self.paired())));
        parameters.extend(self.outputs());
        parameters.push(Parameter::number("kept", Number::I64));
        parameters.extend(plan.vector_tables());
        parameters.extend([
            self.list(),
            self.classes(Access::In),
            Parameter::table("orbit_roots", Element::F64, self.orders),
            Parameter::table("slice_start", Element::U32, kept.rows.div_ceil(plan.warp.lanes().into()) + 1),
            Parameter::number("index_bits", Number::U32),
            Parameter::number("run", Number::I64),
        ]);
        let shares = || Parameter::table("card_blocks", Element::U32, u64::from(self.cards) + 1);
        parameters.extend(self.is_shared().then(shares));
        parameters.extend(self.slots(Access::In, kept.slots));
        if self.is_coded() {
            let parts = 1 + u64::from(plan.complex) + u64::from(plan.lines.is_some());
            parameters.push(Parameter::table("slot_values", Element::F64, parts * self.values));
            parameters.push(Parameter::number("values", Number::I64));
        }
        Prototype::new("multiply", parameters)
    }

    fn others_kernel(&self) -> Prototype {
        let [_, _, made, ..] = self.rows.kernels();
        let outputs = self.outputs();
        let own = made.parameters().iter().map(|parameter| {
            let own = outputs.iter().find(|own| own.name == parameter.name);
            own.unwrap_or(parameter).clone()
        });
        let more = ["kept", "kept_partials"].map(|name| Parameter::number(name, Number::I64));
        Prototype::new("multiply_others", own.chain(more).collect())
    }

    fn finish_kernel(&self) -> Prototype {
        multiply_finish(1, self.partials(), AT_ONCE as u64)
    }

    /// About the rows that are kept.
    pub fn predicted_rows(&self) -> KeptRows {
        let blocks = self.kept.div_ceil(self.block_rows()).div_ceil(self.cards.into());
        KeptRows { rows: self.kept, slots: (self.kept as f64 * self.row_slots).ceil() as u64, blocks }
    }

    /// The launch of `count_partners`.
    pub fn count_launch(&self) -> Result<Launch, LaunchError> {
        self.count_kernel().launch(self.count_blocks(), THREADS, 0)
    }

    /// The launch of `fill_partners` for these rows.
    pub fn fill_launch(&self, kept: KeptRows) -> Result<Launch, LaunchError> {
        self.fill_kernel(kept).launch(kept.rows.div_ceil(self.block_rows()), THREADS, 0)
    }

    /// The launches of one multiply with a table of these rows, in order.
    pub fn launches(&self, kept: KeptRows) -> Result<Vec<Launch>, LaunchError> {
        let mut launches = Vec::new();
        if kept.rows > 0 {
            if let Some(pairing) = self.pairing_kernel() {
                launches.push(pairing.launch(self.count_blocks().min(MOST_PAIRING), THREADS, 0)?);
            }
            launches.push(self.multiply_kernel(kept).launch(self.multiply_blocks(kept.blocks), THREADS, 0)?);
        }
        if self.is_part() {
            launches.push(self.others_kernel().launch(self.rows.partials(), THREADS, 0)?);
        }
        launches.push(self.finish_kernel().launch(1, FINISH_THREADS, 0)?);
        Ok(launches)
    }

    /// In words.
    pub fn shape(&self) -> String {
        let codes = match self.codes {
            SlotCodes::None => "no value",
            SlotCodes::Within => "the code of its value",
            SlotCodes::Beside => "the code of its value beside it",
        };
        let share = match self.is_part() {
            false => "all rows".into(),
            true => format!("{:.0} % of the rows", 100.0 * self.kept as f64 / self.rows.states as f64),
        };
        format!(
            "a table of partners of {share}, {} bytes an element with {codes}, of a group of {} elements",
            self.slot_bytes(),
            self.rows.elements()
        )
    }

    /// The CUDA text.
    pub fn text(&self) -> Result<KernelText, TextError> {
        let [mark, number, ..] = self.rows.kernels();
        let kept = self.predicted_rows();
        let mut kernels = vec![mark, number];
        kernels.extend(self.rows.parts_kernel());
        kernels.extend([self.count_kernel(), self.fill_kernel(kept)]);
        let absent = SymmetryPlan::no_parts_kernel();
        let pairing = self.pairing_kernel().unwrap_or_else(|| Prototype::new("pair_parts", Vec::new()));
        kernels.extend(self.rows.complex.then(|| pairing.clone()));
        kernels.push(self.multiply_kernel(kept));
        let others = self.others_kernel();
        kernels.extend(self.is_part().then(|| others.clone()));
        kernels.push(self.finish_kernel());
        // A template's branches have all fields, also where they are not taken.
        let view = self.view([&absent, &others, &pairing].into_iter().chain(&kernels).collect());
        let text = render(files::SYMMETRY_PARTNERS, &view)?;
        let name = format!("symmetry_{}_elements_{}_bits_partners", self.rows.elements(), self.rows.bits);
        Ok(KernelText { name, text, plan: crate::text::ron(self), entries: entries(&kernels) })
    }

    /// The diagonal as an element function of vector programs.
    pub fn diagonal_element(&self) -> ElementFunctionText {
        self.rows.diagonal_element()
    }

    fn view(&self, kernels: Declarations) -> PartnersView<'_> {
        let (part, by_amplitude, tables) = (self.is_part(), self.by_amplitude(), self.code_tables());
        let mut rows = self.rows.view(kernels);
        (rows.first_row, rows.first_partial) = ("kept + ", "kept_partials + ");
        (rows.adds, rows.weighs) = (part, by_amplitude);
        let declared: Vec<String> = tables.iter().map(|p| format!("{} {}", p.cuda(), p.name)).collect();
        let names: Vec<&str> = tables.iter().map(|p| p.name.as_str()).collect();
        PartnersView {
            rows,
            part,
            cards: self.cards,
            by_amplitude,
            coded: self.is_coded(),
            within: self.codes == SlotCodes::Within,
            beside: self.codes == SlotCodes::Beside,
            code_parameters: declared.join(", "),
            code_arguments: names.join(", "),
            ahead: AHEAD,
            most_values: MOST_VALUES,
        }
    }
}

#[derive(Serialize)]
struct PartnersView<'a> {
    #[serde(flatten)]
    rows: View<'a>,
    part: bool,
    cards: u32,
    by_amplitude: bool,
    coded: bool,
    within: bool,
    beside: bool,
    code_parameters: String,
    code_arguments: String,
    ahead: u32,
    most_values: usize,
}
