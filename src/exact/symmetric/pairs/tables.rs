//! The tables of the multiply on pairs of strings on a device.

use super::super::tables::{Named, table, with};
use super::PairRows;
use eigenforge_runtime::{Arguments, Device, DeviceError, ElementArgument};
use std::sync::Arc;

/// What `multiply_panels` reads beside vectors and panels, in the order of its parameters: the strings first, then the hops.
pub(in crate::exact) struct PairTables(Vec<Named>);

impl PairTables {
    /// Uploads them.
    ///
    /// # Errors
    /// Memory of the device.
    pub(in crate::exact) fn new(rows: &PairRows, device: &Device) -> Result<PairTables, DeviceError> {
        let pairs = rows.pairs();
        // At least one entry, as memory has.
        let numbers = |name: &'static str, values: &[u32]| {
            let values = if values.is_empty() { &[0] } else { values };
            Ok::<_, DeviceError>(table(name, Arc::new(device.buffer(values)?)))
        };
        let factors = |name: &'static str, values: &[f64]| {
            let values = if values.is_empty() { &[0.0] } else { values };
            Ok::<_, DeviceError>(table(name, Arc::new(device.buffer(values)?)))
        };
        let words: Vec<u32> = pairs.hops.states.iter().map(|word| *word as u32).collect();
        let mut tables = vec![numbers("string_word", &words)?];
        tables.extend(match rows.plan().run_tables() {
            Some(tables) => vec![
                numbers("task_part", &tables.task_part)?,
                numbers("task_run", &tables.task_run)?,
                numbers("run_column", &tables.run_column)?,
                numbers("run_steps", &tables.run_steps)?,
                numbers("step_column", &tables.step_column)?,
                numbers("step_case", &tables.step_case)?,
                factors("step_coefficient", &tables.step_coefficient)?,
            ],
            None => {
                let starts: Vec<u32> = pairs.hops.row_start.iter().map(|start| *start as u32).collect();
                vec![
                    numbers("hop_start", &starts)?,
                    numbers("hop_column", &pairs.hops.columns)?,
                    factors("hop_value", &pairs.amplitudes)?,
                ]
            }
        });
        Ok(PairTables(tables))
    }

    /// Adds the arguments after the vectors.
    pub(in crate::exact) fn pass<'a>(&'a self, vectors: Arguments<'a>) -> Arguments<'a> {
        with(vectors, &self.0)
    }

    /// The arguments of the diagonal as an element function.
    pub(in crate::exact) fn of_diagonal(&self) -> Vec<ElementArgument> {
        self.0[..1].iter().map(|(_, argument)| argument.clone()).collect()
    }
}
