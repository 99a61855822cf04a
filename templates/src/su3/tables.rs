//! The tables of a transformation: names, types, lengths.
//!
//! A *layout* table holds ranges and offsets of labels; up to [`MOST_IN_TEXT`] numbers in all they are constants of the
//! text. Compile time grows with them (a thousand take a millisecond or two), but reads cost the same: the caches hold
//! either. All others are coefficients, or as many as there are quadruples, and are passed at the launch.

use super::plan::TransformPlan;
use crate::launch::{Element, Parameter, ParameterKind};
use serde::{Deserialize, Serialize};

/// Most numbers of layout tables in a text.
pub const MOST_IN_TEXT: usize = 16_384;

/// Names, types and meanings of the layout tables. A pair is an ordered pair of shells (na, nb).
pub const LAYOUT: [(&str, Element, &str); 11] = [
    ("order", Element::U16, "(la, lb) that couple to L, at [pair L_COUNT + L]"),
    ("first_state", Element::U32, "the first of them among all, at [pair L_COUNT + L]"),
    ("matrix", Element::U32, "first number of W^f and of W^i, at [pair L_COUNT + L]"),
    ("shell", Element::U16, "na of each pair"),
    ("quanta", Element::U16, "na + nb of each pair"),
    ("jj_count", Element::U16, "jj states, at [pair J_COUNT + J]"),
    ("bra_label", Element::U16, "256 k + kappa - 1 of each row of W^f, (lf mf) = (na + nb - 2k, k)"),
    ("ket_label", Element::U16, "256 k + kappa - 1 of each row of W^i, (li mi) = (k, nc + nd - 2k)"),
    ("states_below", Element::U16, "(kappa, L') with L' < L of an irrep, at [irrep (L_COUNT + 1) + L]"),
    ("irrep_first", Element::U16, "first irrep of each na + nb"),
    ("group_first", Element::U32, "first product of (na + nb, nc + nd)"),
];

/// One layout table with its numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutTable {
    /// Name in the text, one of [`LAYOUT`].
    pub name: String,
    /// Its numbers.
    pub values: Vec<u32>,
}

impl Parameter {
    /// Bytes behind a table.
    pub(crate) fn bytes(&self) -> u64 {
        match self.kind {
            ParameterKind::Memory { element, len, .. } => element.bytes() as u64 * len,
            ParameterKind::Number(_) => 0,
        }
    }
}

impl TransformPlan {
    /// Length of a layout table.
    pub(super) fn layout_length(&self, name: &str) -> u64 {
        let (counts, quanta) = (&self.counts, u64::from(self.quanta_max()) + 1);
        match name {
            "order" | "first_state" | "matrix" => counts.pairs * self.l_count(),
            "shell" | "quanta" => counts.pairs,
            "jj_count" => counts.pairs * self.j_count(),
            "bra_label" | "ket_label" => counts.states,
            "states_below" => counts.irreps * (self.l_count() + 1),
            "irrep_first" => quanta,
            _ => quanta * quanta,
        }
    }

    /// The layout tables passed at the launch.
    pub fn layout_tables(&self) -> Vec<Parameter> {
        let given = LAYOUT.iter().filter(|_| self.layout.is_empty());
        given.map(|(name, element, _)| Parameter::table(*name, *element, self.layout_length(name))).collect()
    }

    /// A table passed at the launch, by name.
    fn table(&self, name: &'static str) -> Parameter {
        let counts = &self.counts;
        let (pairs, quadruples, blocks) = (counts.pairs, counts.quadruples, 3 * counts.products);
        let (element, len) = match name {
            "slab_quadruple" => (Element::U32, counts.slabs),
            "slab_l" => (Element::U16, counts.slabs),
            "quadruple_bra" | "quadruple_ket" => (Element::U16, quadruples),
            "quadruple_start" => (Element::U64, quadruples),
            "j_offset" => (Element::U32, quadruples * self.j_count()),
            "y_offset" => (Element::U32, quadruples * self.l_count()),
            "column_of" => (Element::U16, pairs * self.l_count() * 30),
            "width_of" => (Element::U16, pairs * self.l_count()),
            "term_jj" => (Element::U16, counts.states * 16),
            "term_a" => (Element::F64, counts.states * 16),
            "back_o" => (Element::U16, counts.jj_states * 4),
            "back_a" => (Element::F64, counts.jj_states * 4),
            "jj_first" => (Element::U32, pairs * self.j_count()),
            "w_f" | "w_i" | "w_i_transposed" => (Element::F64, counts.matrices),
            "block_start" | "w0_start" => (Element::U64, blocks),
            "block_rows" | "block_columns" => (Element::U32, blocks),
            "row_start" => (Element::U32, blocks * self.l_count()),
            "tile_block" => (Element::U32, counts.tiles),
            "tile_row" | "tile_column" => (Element::U16, counts.tiles),
            _ => (Element::F64, counts.w0),
        };
        Parameter::table(name, element, len)
    }

    fn with_layout(&self, names: &[&'static str]) -> Vec<Parameter> {
        self.layout_tables().into_iter().chain(names.iter().map(|name| self.table(name))).collect()
    }

    /// The tables of `jj_to_irreps`.
    pub(super) fn forward_tables(&self) -> Vec<Parameter> {
        self.with_layout(&[
            "slab_quadruple",
            "slab_l",
            "quadruple_bra",
            "quadruple_ket",
            "quadruple_start",
            "j_offset",
            "column_of",
            "width_of",
            "term_jj",
            "term_a",
            "w_f",
            "w_i_transposed",
            "block_start",
            "row_start",
        ])
    }

    /// The tables of `irreps_to_ls`.
    pub(super) fn back_tables(&self) -> Vec<Parameter> {
        self.with_layout(&[
            "slab_quadruple",
            "slab_l",
            "quadruple_bra",
            "quadruple_ket",
            "quadruple_start",
            "y_offset",
            "column_of",
            "width_of",
            "w_f",
            "w_i",
            "block_start",
            "row_start",
        ])
    }

    /// The tables of `ls_to_jj`.
    pub(super) fn jj_tables(&self) -> Vec<Parameter> {
        self.with_layout(&[
            "quadruple_bra",
            "quadruple_ket",
            "quadruple_start",
            "j_offset",
            "y_offset",
            "column_of",
            "width_of",
            "back_o",
            "back_a",
            "jj_first",
        ])
    }

    /// The tables of `couple` and `couple_back`.
    pub(super) fn tile_tables(&self) -> Vec<Parameter> {
        ["tile_block", "tile_row", "tile_column", "w0", "w0_start", "block_start", "block_rows", "block_columns"]
            .map(|name| self.table(name))
            .to_vec()
    }

    /// Every table passed to some kernel, once.
    pub fn all_tables(&self) -> Vec<Parameter> {
        let mut tables: Vec<Parameter> = Vec::new();
        let of_kernels = [self.forward_tables(), self.back_tables(), self.jj_tables(), self.tile_tables()];
        for table in of_kernels.into_iter().flatten() {
            if tables.iter().all(|known| known.name != table.name) {
                tables.push(table);
            }
        }
        tables
    }
}
