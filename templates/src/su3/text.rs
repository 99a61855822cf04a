//! Plan → CUDA text of a transformation.

use super::plan::{JJ_THREADS, SLAB_THREADS, TransformPlan};
use super::tables::LAYOUT;
use crate::files;
use crate::prototype::{Declarations, declared, entries};
use crate::text::{Cost, KernelText, TextError, render, ron_of_depth};
use serde::Serialize;

/// Rows of Z that a tile loads at once.
const STEP: u32 = 16;

/// Indentation of the parameters of device functions.
const ALIGNED: usize = 40;

/// The kernels of a text: a run goes one way, and the other half would be compiled for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ways {
    /// Elements into strengths.
    Forward,
    /// Strengths into elements.
    Back,
    /// Either.
    Both,
}

#[derive(Serialize)]
struct View<'a> {
    plan: &'a TransformPlan,
    forward: bool,
    back: bool,
    /// Endings of the names of the tiles' kernels.
    directions: Vec<&'static str>,
    prelude: String,
    l_count: u64,
    j_count: u64,
    quanta_max: u32,
    slab_threads: u32,
    jj_threads: u32,
    step: u32,
    factors: Vec<String>,
    in_text: bool,
    layout: Vec<Table<'a>>,
    /// Parameters of device functions, and their arguments.
    layout_parameters: String,
    layout_names: Vec<String>,
    kernels: Declarations,
    cost: Cost,
}

/// A layout table as constants.
#[derive(Serialize)]
struct Table<'a> {
    kind: &'static str,
    name: &'static str,
    meaning: &'static str,
    values: &'a [u32],
}

impl TransformPlan {
    /// The layout tables written into the text.
    fn constants(&self) -> Vec<Table<'_>> {
        let of = |(name, element, meaning): &(&'static str, crate::launch::Element, &'static str)| {
            let table = self.layout.iter().find(|table| table.name == *name)?;
            Some(Table { kind: element.cuda(), name, meaning, values: &table.values })
        };
        LAYOUT.iter().filter_map(of).collect()
    }

    /// The CUDA text.
    ///
    /// # Errors
    /// The template cannot be rendered.
    pub fn text(&self) -> Result<KernelText, TextError> {
        self.text_of(Ways::Both)
    }

    /// The text of the kernels for these directions.
    ///
    /// # Errors
    /// The template cannot be rendered.
    pub fn text_of(&self, ways: Ways) -> Result<KernelText, TextError> {
        let layout = self.layout_tables();
        let (forward, back) = (ways != Ways::Back, ways != Ways::Forward);
        let directions: Vec<&str> =
            [(forward, ""), (back, "_back")].into_iter().filter(|way| way.0).map(|way| way.1).collect();
        let kernels = self.kernels(ways);
        let view = View {
            plan: self,
            forward,
            back,
            directions,
            prelude: self.warp.prelude(),
            l_count: self.l_count(),
            j_count: self.j_count(),
            quanta_max: self.quanta_max(),
            slab_threads: SLAB_THREADS,
            jj_threads: JJ_THREADS,
            step: STEP,
            factors: self.spin_factors.iter().map(|x| format!("{x:?}")).collect(),
            in_text: !self.layout.is_empty(),
            layout: self.constants(),
            layout_parameters: if layout.is_empty() { String::new() } else { declared(&layout, ALIGNED) + "," },
            layout_names: layout.iter().map(|table| format!("{},", table.name)).collect(),
            kernels: kernels.iter().collect(),
            cost: self.cost(),
        };
        let text = render(files::SU3_TRANSFORM, &view)?;
        let ending = ["", "_forward", "_back"][usize::from(!back) + 2 * usize::from(!forward)];
        let name = format!("{}{ending}", self.name);
        Ok(KernelText { name, text, plan: ron_of_depth(self, 2), entries: entries(&kernels) })
    }
}
