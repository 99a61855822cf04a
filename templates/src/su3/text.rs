//! Plan → CUDA text of a transformation.

use super::plan::{JJ_THREADS, SLAB_THREADS, TransformPlan};
use super::tables::LAYOUT;
use crate::files;
use crate::launch::Parameter;
use crate::text::{Cost, KernelText, PRELUDE, TextError, render, ron_of_depth};
use serde::Serialize;

/// Rows of Z that a tile loads at once.
const STEP: u32 = 16;

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
    prelude: &'a str,
    l_count: u64,
    j_count: u64,
    quanta_max: u32,
    slab_threads: u32,
    jj_threads: u32,
    step: u32,
    factors: String,
    factor_count: usize,
    in_text: bool,
    layout: Vec<Table>,
    layout_parameters: Vec<String>,
    layout_names: Vec<String>,
    forward_tables: Vec<String>,
    back_tables: Vec<String>,
    jj_tables: Vec<String>,
    tile_tables: Vec<String>,
    cost: Cost,
}

/// A layout table as constants.
#[derive(Serialize)]
struct Table {
    kind: &'static str,
    name: &'static str,
    meaning: &'static str,
    length: usize,
    values: String,
}

pub(super) fn declared(tables: &[Parameter]) -> Vec<String> {
    tables.iter().map(|table| format!("{} {}", table.cuda(), table.name)).collect()
}

impl TransformPlan {
    /// The layout tables written into the text.
    fn constants(&self) -> Vec<Table> {
        let of = |(name, element, meaning): &(&'static str, crate::launch::Element, &'static str)| {
            let table = self.layout.iter().find(|table| table.name == *name)?;
            let values = table.values.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            Some(Table { kind: element.cuda(), name, meaning, length: table.values.len(), values })
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
        let view = View {
            plan: self,
            forward,
            back,
            directions: directions.clone(),
            prelude: PRELUDE,
            l_count: self.l_count(),
            j_count: self.j_count(),
            quanta_max: self.quanta_max(),
            slab_threads: SLAB_THREADS,
            jj_threads: JJ_THREADS,
            step: STEP,
            factors: self.spin_factors.iter().map(|x| format!("{x:?}")).collect::<Vec<_>>().join(", "),
            factor_count: self.spin_factors.len(),
            in_text: !self.layout.is_empty(),
            layout: self.constants(),
            layout_parameters: declared(&layout),
            layout_names: layout.iter().map(|table| table.name.clone()).collect(),
            forward_tables: declared(&self.forward_tables()),
            back_tables: declared(&self.back_tables()),
            jj_tables: declared(&self.jj_tables()),
            tile_tables: declared(&self.tile_tables()),
            cost: self.cost(),
        };
        let text = render(files::SU3_TRANSFORM, &view)?;
        let slabs = [(forward, "jj_to_irreps"), (back, "irreps_to_ls"), (back, "ls_to_jj")];
        let mut entries: Vec<String> = slabs.into_iter().filter(|slab| slab.0).map(|slab| slab.1.to_string()).collect();
        for class in &self.tiles {
            entries.extend(directions.iter().map(|direction| format!("couple{direction}_{}", class.rows)));
        }
        let ending = ["", "_forward", "_back"][usize::from(!back) + 2 * usize::from(!forward)];
        let name = format!("{}{ending}", self.name);
        Ok(KernelText { name, text, plan: ron_of_depth(self, 2), entries })
    }
}
