//! Plan → CUDA text of grouped products.

use super::{Fragments, GroupedProductsPlan, StageSizes};
use crate::Warp;
use crate::files;
use crate::prototype::{Declarations, entries};
use crate::text::{KernelText, TextError, render};
use serde::Serialize;

/// Declarations of records and tiles, and the tensor-core operation, of both kernels.
pub(super) fn records(step: u32) -> Result<String, TextError> {
    #[derive(Serialize)]
    struct View {
        step: u32,
        /// Numbers that a lane holds of A and of B in one operation.
        a: Vec<u32>,
        b: Vec<u32>,
    }
    let view = View { step, a: (0..step / 2).collect(), b: (0..step / 4).collect() };
    render(files::PRODUCT_RECORDS, &view)
}

#[derive(Serialize)]
struct View<'a> {
    plan: &'a GroupedProductsPlan,
    prelude: String,
    kernels: Declarations,
    records: String,
    threads: u32,
    side: u32,
    /// Numbers of an operand's slab that a thread loads.
    carried: u32,
    shapes: Vec<Shape>,
}

/// A shape of tiles, as named in the text.
#[derive(Serialize)]
pub(super) struct Shape {
    number: u32,
    warps: u32,
    down: u32,
    across: u32,
    /// Panels of 16 columns.
    pairs: u32,
    rows: u32,
    columns: u32,
}

impl Shape {
    pub(super) fn new(fragments: Fragments) -> Shape {
        let Fragments { warps, down, across } = fragments;
        let (rows, columns) = (fragments.rows(), fragments.columns());
        Shape { number: fragments.number(), warps, down, across, pairs: across / 2, rows, columns }
    }
}

impl GroupedProductsPlan {
    /// The CUDA text.
    ///
    /// # Errors
    /// The template cannot be rendered. A plan refused by [`GroupedProductsPlan::check`] gives a text that does not
    /// compile.
    pub fn text(&self) -> Result<KernelText, TextError> {
        let kernels = [self.kernel(&StageSizes::default())];
        let view = View {
            plan: self,
            prelude: Warp::NVIDIA.prelude(),
            kernels: kernels.iter().collect(),
            records: records(self.step)?,
            threads: Self::THREADS,
            side: Self::SIDE,
            carried: self.slab * Self::SIDE / Self::THREADS,
            shapes: Fragments::all().into_iter().map(Shape::new).collect(),
        };
        let text = render(files::GROUPED_PRODUCTS, &view)?;
        Ok(KernelText {
            name: format!("{}_grouped_products", self.name),
            text,
            plan: crate::text::ron_of_depth(self, 2),
            entries: entries(&kernels),
        })
    }
}
