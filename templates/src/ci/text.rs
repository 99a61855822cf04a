//! Plan → CUDA text of a full-CI product.

use super::FullCiPlan;
use crate::files;
use crate::prototype::{Declarations, entries};
use crate::text::{Cost, KernelText, TextError, list, render};
use serde::Serialize;

#[derive(Serialize)]
struct View<'a> {
    plan: &'a FullCiPlan,
    prelude: String,
    kernels: Declarations,
    /// Width and first slice of each class, irrep and first column of each group, as initialisers.
    class_width: String,
    class_slice: String,
    group_irrep: String,
    group_first: String,
    groups: usize,
    one_class: bool,
    slices: u64,
    field: u64,
    largest_group: u64,
    pair_columns: u64,
    /// Shift of a link's sign to the highest bit of 32, and the bits of its index.
    sign_shift: u32,
    place_mask: String,
    link_type: &'static str,
    /// Numbers of the columns and of the pairs that a thread sums at once.
    lanes: Vec<u32>,
    pairs: Vec<u32>,
    cost: Cost,
}

impl FullCiPlan {
    /// The CUDA text.
    ///
    /// # Errors
    /// The template cannot be rendered. A plan refused by [`FullCiPlan::check`] gives a text that does not compile.
    pub fn text(&self) -> Result<KernelText, TextError> {
        let narrow = self.link.bytes() == 2;
        let (starts, kernels) = (self.slice_starts(), self.kernels());
        let view = View {
            plan: self,
            prelude: self.warp.prelude(),
            kernels: kernels.iter().collect(),
            class_width: list(&self.classes),
            class_slice: list(&starts[..self.classes.len()]),
            group_irrep: list(self.groups.iter().map(|group| group.irrep)),
            group_first: list(self.group_starts()),
            groups: self.groups.len(),
            one_class: self.classes.len() == 1,
            slices: self.slices(),
            field: self.field(),
            largest_group: self.largest_group(),
            pair_columns: self.pair_columns(),
            sign_shift: if narrow { 16 } else { 0 },
            place_mask: if narrow { "0x7fffu" } else { "0x7fffffffu" }.into(),
            link_type: self.link.element().cuda(),
            lanes: (0..self.columns).collect(),
            pairs: (0..self.pair_tile).collect(),
            cost: self.cost(),
        };
        let text = render(files::FULL_CI, &view)?;
        Ok(KernelText {
            name: format!("{}_full_ci", self.name),
            text,
            plan: crate::text::ron_of_depth(self, 2),
            entries: entries(&kernels),
        })
    }
}
