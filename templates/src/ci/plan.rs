//! The parameters of a full-CI product: every number in its text.
//!
//! σ = H C with rows α string and columns β string (Olsen, Roos, Jørgensen and Jensen 1988). With ⟨I|E_pq + E_qp|J⟩ the
//! signed *moves* of α strings and ⟨K|E_kl + E_lk|L⟩ the signed *links* of β strings, both including a string's densities
//! E_pp, a block of threads processes one α string I:
//!
//! | phase | work per determinant |
//! |---|---|
//! | 1. σ(I, K) = Σ_J H_αα(I, J) C(J, K): contiguous rows | α elements |
//! | 2. σ(I, K) += Σ_L H_ββ(K, L) C(I, L): row I gathered from the field | β elements |
//! | 3. field F_kl(L) = Σ_J Σ_pq (kl\|pq) ⟨I\|E_pq\|J⟩ C(J, L), a dense product | pairs × moves |
//! | 4. σ(I, K) += Σ_kl ⟨K\|E_kl\|L⟩ F_kl(L): gathered from the field | links |
//!
//! Phases 3 and 4 process the pairs kl group by group; pairs of a group have one irrep, so only moves of the same irrep
//! contribute. Multiplying by the moves first costs pairs × moves coalesced operations instead of moves × links gathered
//! ones: only links are gathered. The field is in shared memory, so the β strings of a class must fit ([`super::SlabPlan`]
//! where they do not). Every sum has a fixed order and nothing is atomic.

use crate::exact::IndexWord;
use crate::text::Cost;
use crate::{ScalarType, Warp};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Pairs of orbitals whose fields are stored at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupPlan {
    /// Product of the irreps of each pair, from 0.
    pub irrep: u32,
    /// Pairs.
    pub pairs: u32,
}

/// Table lengths that depend on the strings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StringTableCounts {
    /// Moves of all α strings, including densities.
    pub moves: u64,
    /// Elements of H_αα, including the diagonal.
    pub alpha_same: u64,
    /// Steps of a warp of links, including padding.
    pub link_steps: u64,
    /// Steps of a warp of elements of H_ββ, including diagonal and padding.
    pub beta_same_steps: u64,
}

/// Every number of a full-CI product.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FullCiPlan {
    /// Name of the problem, for display.
    pub name: String,
    /// Number type of the vectors.
    pub scalar: ScalarType,
    /// The width of a warp.
    pub warp: Warp,
    /// Orbitals.
    pub orbitals: u32,
    /// α electrons.
    pub up: u32,
    /// α strings.
    pub alpha_strings: u32,
    /// β strings of each class: one class, or one per irrep.
    pub classes: Vec<u32>,
    /// Determinants.
    pub rows: u64,
    /// Number of irreps of products of two orbitals: 1, 2, 4 or 8.
    pub irreps: u32,
    /// The pairs of orbitals in the order of the integrals' columns.
    pub groups: Vec<GroupPlan>,
    /// Pairs whose fields a thread sums at once; groups are padded to whole tiles.
    pub pair_tile: u32,
    /// β strings whose fields a thread sums at once.
    pub columns: u32,
    /// α moves staged at once.
    pub chunk: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Target number of blocks per multiprocessor.
    pub resident: u32,
    /// Width of a link: index in the field, with the sign in its highest bit.
    pub link: IndexWord,
    /// Width of an index within a class of β strings.
    pub place: IndexWord,
    /// Lengths of tables.
    pub counts: StringTableCounts,
}

impl FullCiPlan {
    /// Pairs of orbitals.
    pub fn pairs(&self) -> u64 {
        let orbitals = u64::from(self.orbitals);
        orbitals * (orbitals + 1) / 2
    }

    /// First column of each group among the integrals, followed by the number of columns.
    pub fn group_starts(&self) -> Vec<u64> {
        let mut starts = vec![0];
        for group in &self.groups {
            let filled = u64::from(group.pairs).next_multiple_of(u64::from(self.pair_tile.max(1)));
            starts.push(starts[starts.len() - 1] + filled);
        }
        starts
    }

    /// Columns of the table of integrals: pairs in the order of groups, each padded with zeros.
    pub fn pair_columns(&self) -> u64 {
        self.group_starts().last().copied().unwrap_or(0)
    }

    /// First slice, a warp of β strings, of each class, followed by the number of slices.
    pub fn slice_starts(&self) -> Vec<u64> {
        let sums = self.classes.iter().scan(0, |sum, strings| {
            *sum += u64::from(strings.div_ceil(self.warp.lanes()));
            Some(*sum)
        });
        std::iter::once(0).chain(sums).collect()
    }

    /// Slices of β strings.
    pub fn slices(&self) -> u64 {
        self.slice_starts().last().copied().unwrap_or(0)
    }

    /// β strings of the largest class.
    pub fn widest(&self) -> u64 {
        u64::from(self.classes.iter().copied().max().unwrap_or(0))
    }

    /// Pairs of the largest group, padded to whole tiles.
    pub fn largest_group(&self) -> u64 {
        let starts = self.group_starts();
        starts.windows(2).map(|ends| ends[1] - ends[0]).max().unwrap_or(0).max(1)
    }

    /// Elements of the field without the zero at its end: the largest group, or a row of C.
    pub fn field(&self) -> u64 {
        self.largest_group() * self.widest()
    }

    /// Dynamic shared memory of a block: coefficients and rows of a chunk of moves, and the field.
    pub fn shared_bytes(&self) -> u64 {
        8 * (u64::from(self.chunk) * (self.largest_group() + 1) + self.field() + 1)
    }

    /// Bytes of all tables and partial sums.
    pub fn table_bytes(&self) -> u64 {
        let (counts, strings) = (&self.counts, u64::from(self.alpha_strings));
        let alpha = strings * (8 + 2 + 8 * u64::from(self.irreps) + 8) + 6 * counts.moves + 12 * counts.alpha_same;
        let (slices, warp) = (self.slices(), u64::from(self.warp.lanes()));
        let beta = 4 * slices * (self.groups.len() as u64 + 1)
            + warp * counts.link_steps * self.link.bytes() as u64
            + warp * counts.beta_same_steps * (8 + self.place.bytes() as u64);
        alpha + beta + 8 * self.pairs() * self.pair_columns() + 8 * strings
    }

    /// Multiplications and additions of the phases; C read once and σ written once.
    pub fn cost(&self) -> Cost {
        let strings = f64::from(self.alpha_strings.max(1));
        let beta: f64 = self.classes.iter().map(|strings| f64::from(*strings)).sum::<f64>().max(1.0);
        let rows = self.rows as f64;
        // A row uses the moves of its own α string, and of each only the pairs of the move's irrep; densities have one
        // irrep.
        let up = f64::from(self.up);
        let moves = self.counts.moves as f64 / strings - up + up.min(1.0);
        let pairs = self.pairs() as f64 / f64::from(self.irreps);
        let gathered = f64::from(self.warp.lanes())
            * (2.0 * self.counts.beta_same_steps as f64 + self.counts.link_steps as f64)
            / beta;
        let alone = 2.0 * self.counts.alpha_same as f64 / strings;
        Cost { flops: rows * (2.0 * moves * pairs + gathered + alone), bytes: 16.0 * rows }
    }
}

impl fmt::Display for FullCiPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} groups of orbital pairs, tiles of {} pairs x {} columns, fields in shared memory; {} blocks of {} threads",
            self.groups.len(),
            self.pair_tile,
            self.columns,
            self.alpha_strings,
            self.threads
        )
    }
}
