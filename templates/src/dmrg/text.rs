//! Plan → CUDA text of grouped products.

use super::{Fragments, GroupedProductsPlan};
use crate::text::{KernelText, PRELUDE, TextError, render};
use serde::Serialize;

#[derive(Serialize)]
struct View<'a> {
    plan: &'a GroupedProductsPlan,
    prelude: &'a str,
    threads: u32,
    side: u32,
    /// Numbers of an operand's slab that a thread carries.
    carried: u32,
    /// Numbers a lane holds of A and of B in one operation.
    a: Vec<u32>,
    b: Vec<u32>,
    shapes: Vec<Shape>,
}

#[derive(Serialize)]
struct Shape {
    number: u32,
    warps: u32,
    down: u32,
    across: u32,
    rows: u32,
    columns: u32,
}

impl GroupedProductsPlan {
    /// The CUDA text.
    ///
    /// # Errors
    /// A fault of the template. A plan that [`GroupedProductsPlan::check`] refuses gives a text that does not compile.
    pub fn text(&self) -> Result<KernelText, TextError> {
        let shape = |f: Fragments| Shape {
            number: f.number(),
            warps: f.warps,
            down: f.down,
            across: f.across,
            rows: f.rows(),
            columns: f.columns(),
        };
        let view = View {
            plan: self,
            prelude: PRELUDE,
            threads: Self::THREADS,
            side: Self::SIDE,
            carried: self.slab * Self::SIDE / Self::THREADS,
            a: (0..self.step / 2).collect(),
            b: (0..self.step / 4).collect(),
            shapes: Fragments::all().into_iter().map(shape).collect(),
        };
        let text = render("grouped_products.cu.jinja", include_str!("../../cuda/grouped_products.cu.jinja"), &view)?;
        Ok(KernelText {
            name: format!("{}_grouped_products", self.name),
            text,
            plan: crate::text::ron_of_depth(self, 2),
            entries: vec!["grouped_products".into()],
        })
    }
}
