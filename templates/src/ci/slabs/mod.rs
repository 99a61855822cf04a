//! The parameters of a full-CI product by slabs of β strings: every number in its text.
//!
//! For spaces whose fields do not fit in shared memory as a whole ([`super::FullCiPlan`] has the others). With the moves
//! ⟨I|E_pq + E_qp|J⟩ of α strings and the links ⟨K|E_kl + E_lk|L⟩ of β strings (Olsen, Roos, Jørgensen and Jensen 1988):
//!
//! | kernel | work per determinant |
//! |---|---|
//! | `multiply_both`: F_kl(I, L) = Σ (kl\|pq) ⟨I\|E_pq\|J⟩ C(J, L), a dense product on tensor cores | pairs × moves |
//! | … σ(I, K) += Σ_kl ⟨K\|E_kl\|L⟩ F_kl(I, L), gathered from shared memory | links |
//! | `multiply_alpha`: all pairs of α electrons by strings M of two electrons fewer, V = dense products of the strings above M | additions² × M / strings |
//! | `add_alpha`: σ(I, K) += Σ ± V, of the M below each string | electrons² / 2 |
//! | `multiply_beta`, `add_beta`: the same of β strings, on rows that `turn` made columns | the same |
//!
//! A block of `multiply_both` has an α string and goes through its β strings slab by slab: the field of a slab is in shared memory, and the
//! tables of links say for each slab which strings K it reaches. One-electron terms are one more pair, whose integrals are h_pq and whose
//! link leads to the string itself. Pairs of electrons of one spin by strings of two fewer cost 120² / 5 operations a determinant where
//! lists of double moves cost thousands of reads (7 electrons in 21 orbitals). V is kept for a panel of columns at a time. Every sum has a
//! fixed order and nothing is atomic.
//!
//! On several cards each makes the rows that it has. `fetch` brings it a piece of C at a time, some columns of all rows, which `multiply_both` and
//! `multiply_alpha` read from its own memory: every card gets all of C once in a product, and never has it as a whole.

mod launches;
mod text;

pub use launches::SlabLaunches;

use super::{FullCiPlanError, GroupPlan, StringCounts, grouped};
use crate::text::Cost;
use crate::{ScalarType, Warp};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Rows and columns of a product that a warp sums.
pub const SIDE: u32 = 32;
/// Lanes of the warps of a tensor-core operation.
const LANES: u32 = 32;
/// Shared memory that the driver reserves for each block, and some room.
const RESERVED: u64 = 2048;
/// Bytes of a piece of C that a card is brought, about.
const PIECE_BYTES: u64 = 4 << 30;
/// Bytes of V of a panel, about, and its columns: a multiple of what a block takes.
const V_BYTES: u64 = 2 << 30;
const PANEL_STEP: u64 = 4 * SIDE as u64;
/// Terms of a product staged at once, and the most chunks in flight.
const CHUNK: u32 = 8;
const STAGES: u32 = 4;
/// Columns of a piece are a multiple of those of every slab.
const PIECE_STEP: u64 = 48 * SIDE as u64;
/// Elements of a card's part of memory that lies on several cards: not less than a page.
const PART: u64 = 1 << 18;
/// Numbers that say where the links of two slabs are.
const BOUNDS: u64 = 8;
/// Blocks of the sum x·y.
const DOT_BLOCKS: u32 = 1024;

/// The numbers of a plan that affect its speed but not the terms of its sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlabShape {
    /// Warps of a block of `multiply_both`; each sums [`SIDE`] pairs × [`SIDE`] columns.
    pub both_warps: u32,
    /// Chunks of terms in flight.
    pub stages: u32,
    /// Warps of a block of one spin's kernel side by side; as many below each other as strings above one M ask for.
    pub alone_across: u32,
    /// Columns of one spin's kernels at once.
    pub panel: u32,
    /// On several cards: columns of each row of C that a card is brought at once.
    pub piece: u32,
}

impl SlabShape {
    /// The model's choice: as many warps as the shared memory of a block feeds, and panels whose V is not larger than other scratch.
    pub fn choose(strings: &StringCounts) -> SlabShape {
        let row = 8 * u64::from(strings.alpha.max(1));
        let piece = (PIECE_BYTES / row / PIECE_STEP * PIECE_STEP).max(PIECE_STEP);
        let piece = piece.min(u64::from(strings.widest()).next_multiple_of(PIECE_STEP).max(PIECE_STEP)) as u32;
        let additions = additions(strings).max(1);
        let longest = u64::from(strings.alpha.max(strings.widest())).next_multiple_of(PANEL_STEP);
        let panel =
            (V_BYTES / (8 * additions) / PANEL_STEP * PANEL_STEP).clamp(PANEL_STEP, longest.max(PANEL_STEP)) as u32;
        let of = |both_warps| SlabShape { both_warps, stages: STAGES, alone_across: 4, panel, piece };
        let fits = |shape: &SlabShape| shape.least_shared_bytes(strings) + RESERVED <= strings.shared_bytes;
        [16, 8, 4].map(of).into_iter().find(fits).unwrap_or(of(2))
    }

    /// Bytes of a panel of turned rows and of V on one card.
    pub fn panel_bytes(&self, strings: &StringCounts) -> u64 {
        8 * u64::from(self.panel) * (u64::from(strings.widest()) + additions(strings))
    }

    /// Shapes worth timing on a card, this one first.
    pub fn candidates(&self) -> Vec<SlabShape> {
        let SlabShape { stages, both_warps, alone_across, .. } = *self;
        vec![
            *self,
            SlabShape { stages: stages - 1, ..*self },
            SlabShape { both_warps: both_warps / 2, ..*self },
            SlabShape { alone_across: alone_across / 2, ..*self },
        ]
    }

    /// Shared memory of a block of `multiply_both` with two chunks in flight; a string has at most a move for each pair.
    fn least_shared_bytes(&self, strings: &StringCounts) -> u64 {
        let of = |group: &GroupPlan| {
            let rows = u64::from(group.pairs.next_multiple_of(16));
            let width = u64::from(slab_width(group, self.both_warps));
            8 * (rows * width + 2 * u64::from(CHUNK) * (rows + width + 8) + 3 * rows) + 4 * 2 * rows
        };
        slab_groups(&strings.pairs, self.both_warps).iter().map(of).max().unwrap_or(0)
    }
}

/// Strings above all M, of the spin that has more: each string lies above as many M as it has pairs of electrons.
fn additions(strings: &StringCounts) -> u64 {
    let above = strings.electrons.map(|electrons| u64::from(electrons) * u64::from(electrons.saturating_sub(1)) / 2);
    let beta: u64 = strings.classes.iter().map(|class| u64::from(*class)).sum();
    (above[0] * u64::from(strings.alpha)).max(above[1] * beta)
}

/// β strings of a slab of a group: as many as the warps take side by side, in numbers that divide a piece.
fn slab_width(group: &GroupPlan, warps: u32) -> u32 {
    let across = warps / group.pairs.next_multiple_of(16).div_ceil(SIDE).max(1);
    SIDE * [16, 12, 8, 6, 4, 3, 2].into_iter().find(|most| *most <= across).unwrap_or(1)
}

impl fmt::Display for SlabShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SlabShape { both_warps, stages, alone_across, panel, .. } = self;
        write!(
            f,
            "slabs of beta strings, {both_warps} warps, {stages} chunks in flight; {alone_across} x {SIDE} columns of one spin, panels of {panel}"
        )
    }
}

/// Table lengths that depend on the strings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlabCounts {
    /// Moves of all α strings, including densities.
    pub moves: u64,
    /// Most moves of a string and an irrep, the densities as one.
    pub largest_moves: u32,
    /// Slabs of all groups and classes.
    pub slabs: u64,
    /// Slices of a warp of β strings that they reach.
    pub slices: u64,
    /// Steps of a warp of links, two at a time, including padding.
    pub link_steps: u64,
    /// Words of targets and links of the slab that has most.
    pub largest_links: u64,
    /// Strings of two electrons fewer, of α and of β.
    pub cores: [u64; 2],
    /// Ways of adding two electrons to them.
    pub additions: [u64; 2],
    /// Sum of their squares by string of two fewer and irrep: products of one column.
    pub products: [u64; 2],
    /// Most ways of one string and irrep, of both spins.
    pub most_additions: u32,
}

/// Every number of a full-CI product by slabs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlabPlan {
    /// Name of the problem, for display.
    pub name: String,
    /// Number type of the vectors.
    pub scalar: ScalarType,
    /// The width of a warp.
    pub warp: Warp,
    /// Orbitals.
    pub orbitals: u32,
    /// Whether each spin has its own orbitals.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unrestricted: bool,
    /// α electrons.
    pub up: u32,
    /// β electrons.
    pub down: u32,
    /// α strings.
    pub alpha_strings: u32,
    /// β strings of each class: one class, or one per irrep.
    pub classes: Vec<u32>,
    /// α strings beside the β strings of each class.
    pub members: Vec<u32>,
    /// Determinants.
    pub rows: u64,
    /// Number of irreps of products of two orbitals: 1, 2, 4 or 8.
    pub irreps: u32,
    /// The pairs of orbitals in the order of the integrals' columns, one more in the first of irrep 0: one-electron terms.
    pub groups: Vec<GroupPlan>,
    /// Warps of a block of `multiply_both`.
    pub both_warps: u32,
    /// Chunks of terms in flight.
    pub stages: u32,
    /// Warps of a block of one spin's kernel.
    pub alone_warps: u32,
    /// Those side by side.
    pub alone_across: u32,
    /// Columns of one spin's kernels at once: β strings, or α strings whose rows are turned.
    pub panel: u32,
    /// Panels of α strings beside each class on the card that has most.
    pub panels: Vec<u32>,
    /// Cards that work as one device, or one for each of several ranks.
    pub cards: u32,
    /// Whether they do not see each other's memory, as those of ranks: a card has its own rows of vectors and memory for itself, and is brought
    /// what other cards have of a piece. Determinants are then those of its rows.
    pub apart: bool,
    /// Columns of each row of C that a card is brought at once, of several.
    pub piece: u32,
    /// Words of shared memory for the links of a slab.
    pub link_room: u32,
    /// Lengths of tables.
    pub counts: SlabCounts,
}

/// The groups of pairs: those of each irrep, with the one-electron terms as one more of irrep 0, as many as the warps of a block take.
pub fn slab_groups(pairs: &[u32], warps: u32) -> Vec<GroupPlan> {
    let with_one: Vec<u32> = pairs.iter().enumerate().map(|(irrep, pairs)| pairs + u32::from(irrep == 0)).collect();
    grouped(&with_one, SIDE * warps)
}

impl SlabPlan {
    /// Pairs of orbitals.
    pub fn pairs(&self) -> u64 {
        let orbitals = u64::from(self.orbitals);
        orbitals * (orbitals + 1) / 2
    }

    /// Pairs of different orbitals.
    pub fn two_orbitals(&self) -> u64 {
        self.pairs() - u64::from(self.orbitals)
    }

    /// Pairs of a group, filled up to the rows of a tensor-core operation.
    pub fn group_rows(&self, group: &GroupPlan) -> u32 {
        group.pairs.next_multiple_of(16)
    }

    /// First column of each group among the integrals, followed by the number of columns.
    pub fn group_starts(&self) -> Vec<u64> {
        let mut starts = vec![0];
        starts.extend(self.groups.iter().scan(0, |sum, group| {
            *sum += u64::from(self.group_rows(group));
            Some(*sum)
        }));
        starts
    }

    /// Columns of the table of integrals.
    pub fn pair_columns(&self) -> u64 {
        self.group_starts().last().copied().unwrap_or(0)
    }

    /// Where in the field of a slab of this width a pair and a string are: eight columns change places in odd rows, for the banks of shared memory.
    pub fn field_place(width: u32, row: u32, column: u32) -> u32 {
        row * width + (column ^ (row % 2 * 8))
    }

    /// β strings of a slab of a group.
    pub fn slab_width(&self, group: &GroupPlan) -> u32 {
        slab_width(group, self.both_warps)
    }

    /// Elements of the field of a slab, without the zero after them.
    pub fn field(&self) -> u64 {
        let of = |group: &GroupPlan| u64::from(self.group_rows(group)) * u64::from(self.slab_width(group));
        self.groups.iter().map(of).max().unwrap_or(0)
    }

    /// Pairs of the largest group, filled up.
    pub fn largest_group(&self) -> u64 {
        self.groups.iter().map(|group| u64::from(self.group_rows(group))).max().unwrap_or(0)
    }

    /// Rows of a block's product of one spin, as many as the strings above one M need or four warps' at most.
    pub fn alone_rows(&self) -> u32 {
        self.alone_warps / self.alone_across.max(1) * SIDE
    }

    /// Columns of a block's product of one spin.
    pub fn alone_columns(&self) -> u32 {
        self.alone_across * SIDE
    }

    /// Warps of a block of one spin's kernel: `across` side by side, and below each other as many as `most` strings above one M need, up to 4.
    pub fn warps_alone(most: u32, across: u32) -> u32 {
        across * most.div_ceil(SIDE).clamp(1, 4)
    }

    /// β strings of the largest class.
    pub fn widest(&self) -> u64 {
        u64::from(self.classes.iter().copied().max().unwrap_or(0))
    }

    /// Room for a turned panel on a card.
    pub fn turned(&self) -> u64 {
        self.part(self.widest() * u64::from(self.panel))
    }

    /// Room for V of a panel on a card.
    pub fn v_room(&self) -> u64 {
        self.part(self.counts.additions.into_iter().max().unwrap_or(0) * u64::from(self.panel))
    }

    /// β strings.
    pub fn beta_strings(&self) -> u64 {
        self.classes.iter().map(|strings| u64::from(*strings)).sum()
    }

    /// Strings of two electrons fewer below each string, of α and of β.
    pub fn parents(&self) -> [u64; 2] {
        [self.up, self.down].map(|electrons| u64::from(electrons) * u64::from(electrons.saturating_sub(1)) / 2)
    }

    /// Room for a piece of C on a card.
    pub fn piece_room(&self) -> u64 {
        self.part(u64::from(self.alpha_strings) * u64::from(self.piece))
    }

    /// Pieces of C: one where a card has all of it.
    pub fn pieces(&self) -> u64 {
        if self.cards > 1 { self.widest().div_ceil(u64::from(self.piece)).max(1) } else { 1 }
    }

    /// So many elements of each card.
    fn part(&self, elements: u64) -> u64 {
        if self.cards > 1 { elements.max(PART) } else { elements }
    }

    /// Cards whose memory a kernel's argument covers.
    pub fn together(&self) -> u64 {
        if self.apart { 1 } else { u64::from(self.cards) }
    }

    /// Bytes of C that a card gets from others in a product, of that which gets most.
    pub fn received(&self) -> u64 {
        8 * self.rows - 8 * self.rows / u64::from(self.cards.max(1))
    }

    /// Numbers of a staged chunk of integrals, and of C, in `multiply_both`.
    fn both_staged(&self) -> [u64; 2] {
        let chunk = u64::from(CHUNK);
        let widest = self.groups.iter().map(|group| u64::from(self.slab_width(group))).max().unwrap_or(0);
        [chunk * (self.largest_group() + 4), chunk * (widest + 4)]
    }

    /// Dynamic shared memory of a block of `multiply_both`.
    pub fn both_shared_bytes(&self) -> u64 {
        let [a, b] = self.both_staged();
        let moves = u64::from(self.counts.largest_moves);
        let staged = u64::from(self.stages) * (a + b);
        let words = u64::from(self.link_room) + 2 * moves + u64::from(CHUNK) + BOUNDS;
        8 * (self.field() + 2 + staged + self.largest_group() + moves) + 4 * words
    }

    /// Dynamic shared memory of a block of one spin's kernel.
    pub fn alone_shared_bytes(&self) -> u64 {
        let (chunk, most) = (u64::from(CHUNK), u64::from(self.counts.most_additions));
        let staged = u64::from(self.stages) * chunk * (u64::from(self.alone_rows() + self.alone_columns()) + 8);
        8 * (staged + most) + 4 * (3 * most + chunk)
    }

    /// Most bytes of shared memory that a block takes.
    pub fn shared_bytes(&self) -> u64 {
        self.both_shared_bytes().max(self.alone_shared_bytes())
    }

    /// Bytes of all tables and of turned panels, those of all cards.
    pub fn table_bytes(&self) -> u64 {
        let (counts, strings) = (&self.counts, u64::from(self.alpha_strings));
        let alpha = strings * (8 + 2 + 8 * u64::from(self.irreps) + 4) + 6 * counts.moves;
        let warp = u64::from(self.warp.lanes());
        let beta = 8 * counts.slabs + counts.slices * (4 + 4 * warp) + 4 * warp * counts.link_steps;
        let cores: u64 = counts.cores.iter().map(|cores| cores * (2 + 4 * u64::from(self.irreps))).sum();
        let additions: u64 = counts.additions.iter().map(|additions| 6 * additions).sum();
        let spins = if self.unrestricted { 2 } else { 1 };
        let integrals = 8 * ((self.pairs() + 1) * self.pair_columns() + spins * self.two_orbitals().pow(2));
        let turned = 8 * (self.turned() + self.v_room()) * self.together();
        let parents = 4 * (strings * self.parents()[0] + self.beta_strings() * self.parents()[1]);
        let pieces = if self.cards > 1 { 8 * self.piece_room() * self.together() } else { 0 };
        alpha + beta + cores + additions + parents + integrals + turned + pieces
    }

    /// Multiplications and additions of the kernels; C read once and σ written once.
    pub fn cost(&self) -> Cost {
        let strings = f64::from(self.alpha_strings.max(1));
        let beta: f64 = self.classes.iter().map(|strings| f64::from(*strings)).sum::<f64>().max(1.0);
        let rows = self.rows as f64;
        let up = f64::from(self.up);
        let moves = self.counts.moves as f64 / strings - up + 1.0;
        let pairs = (self.pairs() as f64 + 1.0) / f64::from(self.irreps);
        let links = 2.0 * f64::from(self.warp.lanes()) * self.counts.link_steps as f64 / beta;
        let [alpha, of_beta] = self.counts.products.map(|products| 2.0 * products as f64);
        let alone = alpha / strings + of_beta / beta;
        Cost { flops: rows * (2.0 * moves * pairs + links + alone), bytes: 16.0 * rows }
    }

    /// Returns an error that names the first invalid number.
    pub fn check(&self) -> Result<(), FullCiPlanError> {
        let refuse =
            |what, found: u64, expected| Err(FullCiPlanError { name: self.name.clone(), what, found, expected });
        if self.warp.lanes() != LANES {
            return refuse("lanes of a warp", u64::from(self.warp.lanes()), "32, those of a tensor-core operation");
        }
        if !(1..=32).contains(&self.both_warps) {
            return refuse("both_warps", u64::from(self.both_warps), "1 to 32");
        }
        if !(2..=8).contains(&self.stages) {
            return refuse("stages", u64::from(self.stages), "2 to 8");
        }
        if ![1, 2, 3, 4].contains(&self.alone_across) || !self.alone_warps.is_multiple_of(self.alone_across) {
            return refuse("alone_across", u64::from(self.alone_across), "1 to 4, and a divisor of alone_warps");
        }
        if !(1..=32).contains(&self.alone_warps) {
            return refuse("alone_warps", u64::from(self.alone_warps), "1 to 32");
        }
        if self.panel == 0 || !self.panel.is_multiple_of(self.alone_columns()) {
            return refuse("panel", u64::from(self.panel), "a multiple of a block's columns");
        }
        if self.piece == 0 || !u64::from(self.piece).is_multiple_of(PIECE_STEP) {
            return refuse("piece", u64::from(self.piece), "a multiple of 1536 columns");
        }
        if ![1, 2, 4, 8].contains(&self.irreps) {
            return refuse("irreps", u64::from(self.irreps), "1, 2, 4 or 8");
        }
        let classes = self.classes.len();
        if (classes != 1 && classes != 8) || self.members.len() != classes || self.panels.len() != classes {
            return refuse("classes", classes as u64, "one class, or one for each of 8 irreps");
        }
        if self.orbitals > 180 {
            return refuse("orbitals", u64::from(self.orbitals), "at most 180, for pairs are 15-bit numbers");
        }
        if let Some(group) = self.groups.iter().find(|group| group.irrep >= self.irreps || group.pairs == 0) {
            return refuse("irrep of a group", u64::from(group.irrep), "below irreps, in a group that is not empty");
        }
        let most = SIDE * self.both_warps;
        if let Some(group) = self.groups.iter().find(|group| group.pairs > most) {
            return refuse("pairs of a group", u64::from(group.pairs), "at most 32 for each of both_warps");
        }
        let pairs: u64 = self.groups.iter().map(|group| u64::from(group.pairs)).sum();
        if pairs != self.pairs() + 1 {
            return refuse("pairs of all groups", pairs, "orbitals (orbitals + 1) / 2, and one");
        }
        if !self.link_room.is_multiple_of(4) {
            return refuse("link_room", u64::from(self.link_room), "a multiple of 4 words");
        }
        if self.field() >= 1 << 15 {
            return refuse("field", self.field(), "below 2^15");
        }
        if self.counts.link_steps.max(self.counts.slices) > u64::from(u32::MAX) {
            return refuse("steps", self.counts.link_steps.max(self.counts.slices), "below 2^32");
        }
        if self.counts.additions.iter().any(|additions| *additions >= 1 << 31) {
            return refuse("additions", self.counts.additions.into_iter().max().unwrap_or(0), "below 2^31");
        }
        Ok(())
    }

    /// The most chunks in flight, up to those of the shape, with which blocks and the links of every slab fit in so much shared memory; if
    /// none do, as much room for links as is left.
    #[must_use]
    pub fn fitting(mut self, shared_bytes: u64) -> SlabPlan {
        self.link_room = self.counts.largest_links.next_multiple_of(4) as u32;
        while self.stages > 2 && self.shared_bytes() + RESERVED > shared_bytes {
            self.stages -= 1;
        }
        let over = (self.both_shared_bytes() + RESERVED).saturating_sub(shared_bytes).div_ceil(4) as u32;
        self.link_room = self.link_room.saturating_sub(over.next_multiple_of(4));
        self
    }
}

impl fmt::Display for SlabPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths: Vec<String> = self.groups.iter().map(|group| self.slab_width(group).to_string()).collect();
        write!(
            f,
            "{} groups of orbital pairs, slabs of {} beta strings; pairs of one spin by {} and {} strings of two electrons fewer, {} x {} \
             at once",
            self.groups.len(),
            widths.join(", "),
            self.counts.cores[0],
            self.counts.cores[1],
            self.alone_rows(),
            self.alone_columns()
        )
    }
}
