//! The kernels of a full-CI product by slabs: the parameters of each, how many elements it may access, and its launches.
//!
//! For each piece of C, on several cards, `fetch`, and `multiply_both`, which writes y, and for each class and panel of its columns
//! `multiply_alpha` and `add_alpha`; for each class and panel of α strings `turn`, `multiply_beta` and `add_beta`; `multiply_dot` and
//! `multiply_finish`.

use super::{DOT_BLOCKS, SlabPlan};
use crate::launch::{Access, Element, FINISH_THREADS, Launch, LaunchError, Number, Parameter, multiply_finish};
use crate::prototype::Prototype;

/// Threads of a block of the sum x·y, and of one that turns.
pub(super) const DOT_THREADS: u32 = 256;
pub(super) const TURN_THREADS: u32 = 128;

/// The launches of a product.
#[derive(Clone)]
pub struct SlabLaunches {
    /// On several cards: brings each a piece of C.
    pub fetch: Option<Launch>,
    /// Electrons of both spins; writes y.
    pub both: Launch,
    /// Pairs of α electrons, if there are any: multiply, add.
    pub alpha: Option<[Launch; 2]>,
    /// Pairs of β electrons: turn a panel, multiply, add.
    pub beta: Option<[Launch; 3]>,
    /// x·y in parts, and their sum.
    pub dot: [Launch; 2],
}

impl SlabLaunches {
    /// All of them in order.
    pub fn all(self) -> Vec<Launch> {
        let first = self.fetch.into_iter().chain([self.both]);
        first.chain(self.alpha.into_iter().flatten()).chain(self.beta.into_iter().flatten()).chain(self.dot).collect()
    }
}

impl SlabPlan {
    /// Partial sums of x·y.
    pub fn partials(&self) -> u64 {
        u64::from(DOT_BLOCKS)
    }

    /// Elements of the pieces of all cards.
    pub fn pieces_len(&self) -> u64 {
        self.piece_room() * self.together()
    }

    /// All kernels, as in the text.
    pub(super) fn kernels(&self) -> [Prototype; 9] {
        let (table, strings) = (Parameter::table, u64::from(self.alpha_strings));
        let x = || Parameter::values("x", self.scalar, Access::In, self.rows);
        let y = |access| Parameter::values("y", self.scalar, access, self.rows);
        let several = self.cards > 1;
        // What reads many rows has all of C, or a piece of each.
        let of_many = || match several {
            true => Parameter::memory("of_many", self.scalar.element(), Access::In, self.pieces_len()),
            false => Parameter::values("of_many", self.scalar, Access::In, self.rows),
        };
        let piece = || Parameter::number("piece", Number::I32);
        let fetched = Parameter::memory("fetched", self.scalar.element(), Access::Out, self.pieces_len());
        let fetch = [
            x(),
            fetched,
            table("row_start", Element::U64, strings),
            table("alpha_class", Element::U16, strings),
            piece(),
        ];
        // The first piece writes y, the others add to it.
        let mut both = vec![of_many(), y(if several { Access::InOut } else { Access::Out })];
        both.extend(self.both_tables());
        both.push(piece());
        let cards = self.together();
        let v = |access| Parameter::memory("v", Element::F64, access, self.v_room() * cards);
        let turned = |access| Parameter::memory("turned", self.scalar.element(), access, self.turned() * cards);
        let numbers = |names: &[&str]| -> Vec<Parameter> {
            names.iter().map(|name| Parameter::number(*name, Number::I32)).collect()
        };
        let columns = || numbers(&["own_class", "first_column", "columns"]);
        let panel = || numbers(&["own_class", "panel"]);
        let [of_alpha, of_beta] = self.parents();
        let mut alpha = vec![of_many(), v(Access::Out), table("row_start", Element::U64, strings)];
        alpha.extend(self.core_tables(0));
        alpha.extend(columns());
        alpha.push(piece());
        let mut add_alpha = vec![v(Access::In), y(Access::InOut), table("row_start", Element::U64, strings)];
        add_alpha.push(table("alpha_class", Element::U16, strings));
        add_alpha.push(table("alpha_parent", Element::U32, strings * of_alpha));
        add_alpha.extend(columns());
        let members = || [table("row_start", Element::U64, strings), table("alpha_member", Element::U32, strings)];
        let turn = [x(), turned(Access::Out)];
        let mut beta = vec![turned(Access::In), v(Access::Out), table("alpha_member", Element::U32, strings)];
        beta.extend(self.core_tables(1));
        let add_beta = [v(Access::In), y(Access::InOut)];
        let of_parents = [table("beta_parent", Element::U32, self.beta_strings() * of_beta)];
        let dot = vec![x(), y(Access::In), Parameter::memory("partials", Element::F64, Access::Out, self.partials())];
        [
            Prototype::new("fetch", fetch.into()),
            Prototype::new("multiply_both", both),
            Prototype::new("multiply_alpha", alpha),
            Prototype::new("add_alpha", add_alpha),
            Prototype::new("turn", turn.into_iter().chain(members()).chain(panel()).collect()),
            Prototype::new("multiply_beta", beta.into_iter().chain(panel()).collect()),
            Prototype::new(
                "add_beta",
                add_beta.into_iter().chain(members()).chain(of_parents).chain(panel()).collect(),
            ),
            Prototype::new("multiply_dot", dot),
            multiply_finish(1, self.partials(), 1),
        ]
    }

    /// The launches of one product.
    ///
    /// # Errors
    /// CUDA allows no such launch.
    pub fn launches(&self) -> Result<SlabLaunches, LaunchError> {
        let lanes = self.warp.lanes();
        let [fetch, both, alpha, add_alpha, turn, beta, add_beta, dot, finish] = self.kernels();
        // A launch of fewer blocks than cards would be one card's.
        let blocks = |blocks: u64| blocks.max(u64::from(self.cards));
        let strings = blocks(u64::from(self.alpha_strings));
        let fetch = (self.cards > 1).then(|| fetch.launch(strings, TURN_THREADS, 0)).transpose()?;
        let both = both.launch(strings, self.both_warps * lanes, self.both_shared_bytes())?;
        let (alone, shared) = (self.alone_warps * lanes, self.alone_shared_bytes());
        let tiles = u64::from(self.panel / self.alone_columns());
        let multiply = |kernel: Prototype, cores: u64| kernel.launch(blocks(cores * tiles), alone, shared);
        let of_alpha = || {
            Ok::<_, LaunchError>([multiply(alpha, self.counts.cores[0])?, add_alpha.launch(strings, TURN_THREADS, 0)?])
        };
        let alpha = if self.counts.cores[0] > 0 { Some(of_alpha()?) } else { None };
        let turns = blocks(self.widest().div_ceil(u64::from(lanes)) * u64::from(self.panel / lanes));
        let of_beta = || {
            let turn = turn.launch(turns, TURN_THREADS, 0)?;
            Ok::<_, LaunchError>([
                turn,
                multiply(beta, self.counts.cores[1])?,
                add_beta.launch(turns, TURN_THREADS, 0)?,
            ])
        };
        let beta = if self.counts.cores[1] > 0 { Some(of_beta()?) } else { None };
        let dot = [dot.launch(u64::from(DOT_BLOCKS), DOT_THREADS, 0)?, finish.launch(1, FINISH_THREADS, 0)?];
        Ok(SlabLaunches { fetch, both, alpha, beta, dot })
    }

    /// The tables of `multiply_both`, in order.
    fn both_tables(&self) -> Vec<Parameter> {
        let (strings, counts) = (u64::from(self.alpha_strings), &self.counts);
        let (warp, table) = (u64::from(self.warp.lanes()), Parameter::table);
        let firsts = (self.groups.len() * self.classes.len()) as u64;
        vec![
            table("row_start", Element::U64, strings),
            table("alpha_class", Element::U16, strings),
            table("move_start", Element::U64, strings * u64::from(self.irreps) + 1),
            table("move_target", Element::U32, counts.moves),
            table("move_pair", Element::U16, counts.moves),
            table("integrals", Element::F64, (self.pairs() + 1) * self.pair_columns()),
            table("slab_first", Element::U32, firsts),
            table("slab_start", Element::U32, 2 * (counts.slabs + 1)),
            table("link_start", Element::U32, counts.slices + 1),
            table("link_target", Element::U32, warp * counts.slices),
            table("links", Element::U32, warp * counts.link_steps),
        ]
    }

    /// The table of (pr|qs) − (ps|qr) of a spin.
    pub(super) fn exchanged(&self, spin: usize) -> &'static str {
        if self.unrestricted && spin == 1 { "beta_exchanged" } else { "exchanged" }
    }

    /// The tables of pairs of electrons of one spin, in order.
    fn core_tables(&self, spin: usize) -> Vec<Parameter> {
        let name = |what: &str| format!("{}_core_{what}", ["alpha", "beta"][spin]);
        let (cores, additions) = (self.counts.cores[spin], self.counts.additions[spin]);
        vec![
            Parameter::table(name("start"), Element::U32, cores * u64::from(self.irreps) + 1),
            Parameter::table(name("class"), Element::U16, cores),
            Parameter::table(name("target"), Element::U32, additions),
            Parameter::table(name("word"), Element::U16, additions),
            Parameter::table(self.exchanged(spin), Element::F64, self.two_orbitals().pow(2)),
        ]
    }
}
