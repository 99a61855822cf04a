//! The kernels of a full-CI product by slabs: the parameters of each, how many elements it may access, and its launches.
//!
//! For each piece of C, on several cards, `fetch`, and `multiply_both`, which writes y, and `multiply_alpha`; for each class and panel `turn`, `multiply_beta`, `turn_back`; `multiply_dot` and
//! `multiply_finish`. Once, after the tables are made, `diagonal_of_all`.

use super::{DOT_BLOCKS, SlabPlan};
use crate::launch::{Access, Element, FINISH_THREADS, Launch, LaunchError, Number, Parameter, multiply_finish};
use crate::prototype::Prototype;

/// Threads of a block of the sum x·y, of one that turns, and of one of the diagonal.
pub(super) const DOT_THREADS: u32 = 256;
pub(super) const TURN_THREADS: u32 = 256;
const DIAGONAL_THREADS: u32 = 128;

/// The launches of a product.
pub struct SlabLaunches {
    /// On several cards: brings each a piece of C.
    pub fetch: Option<Launch>,
    /// Electrons of both spins; writes y.
    pub both: Launch,
    /// Pairs of α electrons, if there are any.
    pub alpha: Option<Launch>,
    /// Pairs of β electrons: turn a panel, multiply, turn back.
    pub beta: Option<[Launch; 3]>,
    /// x·y in parts, and their sum.
    pub dot: [Launch; 2],
}

impl SlabLaunches {
    /// All of them in order.
    pub fn all(self) -> Vec<Launch> {
        let first = self.fetch.into_iter().chain([self.both]);
        first.chain(self.alpha).chain(self.beta.into_iter().flatten()).chain(self.dot).collect()
    }
}

impl SlabPlan {
    /// Partial sums of x·y.
    pub fn partials(&self) -> u64 {
        u64::from(DOT_BLOCKS)
    }

    /// Elements of the pieces of all cards.
    pub fn pieces_len(&self) -> u64 {
        self.piece_room() * u64::from(self.cards)
    }

    /// Blocks of `multiply_alpha` before each class, followed by all of them.
    pub(super) fn alone_firsts(&self) -> Vec<u64> {
        let sums = self.classes.iter().scan(0, |sum, width| {
            let width = if self.cards > 1 { (*width).min(self.piece) } else { *width };
            *sum += u64::from(width.div_ceil(self.alone_columns()));
            Some(*sum)
        });
        std::iter::once(0).chain(sums).collect()
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
        let slots = u64::from(self.warp.lanes()) * self.slices();
        let diagonal = vec![
            Parameter::memory("diagonal_out", Element::F64, Access::Out, self.rows),
            table("row_start", Element::U64, strings),
            table("alpha_class", Element::U16, strings),
            table("alpha_energy", Element::F64, strings),
            table("alpha_orbital", Element::U16, strings * u64::from(self.up)),
            table("beta_energy", Element::F64, slots),
            table("felt", Element::F64, u64::from(self.orbitals) * slots),
        ];
        let mut alpha = vec![of_many(), y(Access::InOut), table("row_start", Element::U64, strings)];
        alpha.extend(self.core_tables(0));
        alpha.push(piece());
        let memory = |name, access| {
            Parameter::memory(name, self.scalar.element(), access, self.turned() * u64::from(self.cards))
        };
        let panel = || ["own_class", "panel"].map(|name| Parameter::number(name, Number::I32));
        let members = || [table("row_start", Element::U64, strings), table("alpha_member", Element::U32, strings)];
        let turn = [x(), memory("turned", Access::Out), memory("added", Access::Out)];
        let mut beta = vec![memory("turned", Access::In), memory("added", Access::InOut)];
        beta.push(table("alpha_member", Element::U32, strings));
        beta.extend(self.core_tables(1));
        let back = [memory("added", Access::In), y(Access::InOut)];
        let dot = vec![x(), y(Access::In), Parameter::memory("partials", Element::F64, Access::Out, self.partials())];
        [
            Prototype::new("fetch", fetch.into()),
            Prototype::new("multiply_both", both),
            Prototype::new("multiply_alpha", alpha),
            Prototype::new("turn", turn.into_iter().chain(members()).chain(panel()).collect()),
            Prototype::new("multiply_beta", beta.into_iter().chain(panel()).collect()),
            Prototype::new("turn_back", back.into_iter().chain(members()).chain(panel()).collect()),
            Prototype::new("multiply_dot", dot),
            multiply_finish(1, self.partials(), 1),
            Prototype::new("diagonal_of_all", diagonal),
        ]
    }

    /// The launches of one product.
    ///
    /// # Errors
    /// CUDA allows no such launch.
    pub fn launches(&self) -> Result<SlabLaunches, LaunchError> {
        let lanes = self.warp.lanes();
        let [fetch, both, alpha, turn, beta, back, dot, finish, _] = self.kernels();
        let strings = u64::from(self.alpha_strings);
        let fetch = (self.cards > 1).then(|| fetch.launch(strings, TURN_THREADS, 0)).transpose()?;
        // A launch of fewer blocks than cards would be one card's.
        let blocks = |blocks: u64| blocks.max(u64::from(self.cards));
        let both = both.launch(strings, self.both_warps * lanes, self.both_shared_bytes())?;
        let (alone, shared) = (self.alone_warps * lanes, self.alone_shared_bytes());
        let of_alpha = blocks(self.alone_firsts().last().copied().unwrap_or(0));
        let alpha = (self.counts.cores[0] > 0).then(|| alpha.launch(of_alpha, alone, shared)).transpose()?;
        let tiles = self.widest().div_ceil(u64::from(lanes)) * u64::from(self.panel / lanes);
        let tiles = blocks(tiles);
        let of_panel = || {
            let multiply = beta.launch(blocks(u64::from(self.panel / self.alone_columns())), alone, shared)?;
            Ok::<_, LaunchError>([turn.launch(tiles, TURN_THREADS, 0)?, multiply, back.launch(tiles, TURN_THREADS, 0)?])
        };
        let beta = if self.counts.cores[1] > 0 { Some(of_panel()?) } else { None };
        let dot = [dot.launch(u64::from(DOT_BLOCKS), DOT_THREADS, 0)?, finish.launch(1, FINISH_THREADS, 0)?];
        Ok(SlabLaunches { fetch, both, alpha, beta, dot })
    }

    /// The launch that writes all ⟨I K|H|I K⟩.
    ///
    /// # Errors
    /// CUDA allows no such launch.
    pub fn diagonal_launch(&self) -> Result<Launch, LaunchError> {
        let [.., diagonal] = self.kernels();
        diagonal.launch(u64::from(self.alpha_strings), DIAGONAL_THREADS, 0)
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
            table("slice_start", Element::U32, counts.slabs + 1),
            table("link_start", Element::U32, counts.slices + 1),
            table("link_target", Element::U32, warp * counts.slices),
            table("links", Element::U16, warp * counts.link_steps),
        ]
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
            Parameter::table("exchanged", Element::F64, self.two_orbitals().pow(2)),
        ]
    }
}
