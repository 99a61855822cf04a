//! Plan → CUDA text of a full-CI product by slabs.

use super::launches::{DOT_THREADS, TURN_THREADS};
use super::{CHUNK, SIDE, SlabPlan};
use crate::files;
use crate::prototype::{Declarations, entries};
use crate::text::{Cost, KernelText, TextError, list, render};
use serde::Serialize;

/// Terms of the sum of one tensor-core operation.
const STEP: u32 = 8;

#[derive(Serialize)]
struct View<'a> {
    plan: &'a SlabPlan,
    prelude: String,
    kernels: Declarations,
    step: u32,
    /// Numbers that a lane holds of both operands in one operation.
    a: Vec<u32>,
    b: Vec<u32>,
    side: u32,
    chunk: u32,
    parents: [u64; 2],
    v_room: u64,
    beta_first: String,
    groups: usize,
    field: u64,
    largest_group: u64,
    both_a: u64,
    both_b: u64,
    alone_rows: u32,
    alone_columns: u32,
    pairs: u64,
    pair_columns: u64,
    two_orbitals: u64,
    beta_exchanged: &'static str,
    turned: u64,
    pieces: bool,
    apart: bool,
    piece_room: u64,
    dot_threads: u32,
    turn_threads: u32,
    class_width: String,
    member_first: String,
    group_irrep: String,
    group_first: String,
    group_rows: String,
    group_width: String,
    alpha_cores: u64,
    beta_cores: u64,
    cost: Cost,
}

impl SlabPlan {
    /// The CUDA text.
    ///
    /// # Errors
    /// The template cannot be rendered. A plan refused by [`SlabPlan::check`] gives a text that does not compile.
    pub fn text(&self) -> Result<KernelText, TextError> {
        let (kernels, [both_a, both_b]) = (self.kernels(), self.both_staged());
        let members = self.members.iter().scan(0, |sum, members| {
            *sum += members;
            Some(*sum)
        });
        let firsts = self.classes.iter().scan(0, |sum, width| Some(std::mem::replace(sum, *sum + width)));
        let [alpha_cores, beta_cores] = self.counts.cores;
        let view = View {
            plan: self,
            prelude: self.warp.prelude(),
            kernels: kernels.iter().collect(),
            step: STEP,
            a: (0..STEP / 2).collect(),
            b: (0..STEP / 4).collect(),
            side: SIDE,
            chunk: CHUNK,
            parents: self.parents(),
            v_room: self.v_room(),
            beta_first: list(firsts),
            groups: self.groups.len(),
            field: self.field(),
            largest_group: self.largest_group(),
            both_a,
            both_b,
            alone_rows: self.alone_rows(),
            alone_columns: self.alone_columns(),
            pairs: self.pairs(),
            pair_columns: self.pair_columns(),
            two_orbitals: self.two_orbitals(),
            beta_exchanged: self.exchanged(1),
            turned: self.turned(),
            pieces: self.cards > 1,
            apart: self.apart,
            piece_room: self.piece_room(),
            dot_threads: DOT_THREADS,
            turn_threads: TURN_THREADS,
            class_width: list(&self.classes),
            member_first: list(std::iter::once(0).chain(members)),
            group_irrep: list(self.groups.iter().map(|group| group.irrep)),
            group_first: list(&self.group_starts()[..self.groups.len()]),
            group_rows: list(self.groups.iter().map(|group| self.group_rows(group))),
            group_width: list(self.groups.iter().map(|group| self.slab_width(group))),
            alpha_cores,
            beta_cores,
            cost: self.cost(),
        };
        let text = render(files::FULL_CI_SLABS, &view)?;
        Ok(KernelText {
            name: format!("{}_full_ci", self.name),
            text,
            plan: crate::text::ron_of_depth(self, 2),
            entries: entries(&kernels),
        })
    }
}
