//! Plan → CUDA text of a transformation.

use super::plan::{JJ_THREADS, SLAB_THREADS, TransformPlan};
use super::tables::LAYOUT;
use crate::launch::Parameter;
use crate::text::{Cost, KernelText, PRELUDE, TextError, render, ron_of_depth};
use serde::Serialize;

/// Rows of Z that a tile takes at once.
const STEP: u32 = 16;

#[derive(Serialize)]
struct View<'a> {
    plan: &'a TransformPlan,
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
    /// The layout tables that stand in the text.
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
    /// A fault of the template.
    pub fn text(&self) -> Result<KernelText, TextError> {
        let layout = self.layout_tables();
        let view = View {
            plan: self,
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
        let text = render("su3_transform.cu.jinja", include_str!("../../cuda/su3_transform.cu.jinja"), &view)?;
        let mut entries = vec!["jj_to_irreps".to_string(), "irreps_to_ls".into(), "ls_to_jj".into()];
        for class in &self.tiles {
            entries.extend(["couple", "couple_back"].map(|name| format!("{name}_{}", class.rows)));
        }
        Ok(KernelText { name: self.name.clone(), text, plan: ron_of_depth(self, 2), entries })
    }
}
