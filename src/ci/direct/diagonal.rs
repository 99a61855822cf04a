//! The diagonal of a full-CI product on a device that runs kernels: computed where it is needed, never stored.

use super::super::device_table::{Table, Tables, upload};
use eigenforge_runtime::{Device, DeviceError, ElementArgument, ElementFunction};
use eigenforge_templates::ci::FullCiDiagonal;

/// What ⟨I K|H|I K⟩ are computed from.
pub(super) struct DiagonalTables {
    pub plan: FullCiDiagonal,
    /// Its tables except `row_start` and `alpha_class`, which the product has.
    pub tables: Vec<(&'static str, Table)>,
}

impl DiagonalTables {
    /// As a function of the index, with the tables of the product beside its own.
    pub(super) fn function(self, product: &Tables, device: &Device) -> Result<ElementFunction, DeviceError> {
        let (text, own) = (self.plan.text(), upload(device, self.tables)?);
        let find = |name: &str| own.iter().chain(product).find(|(table, _)| *table == name);
        let wanted = text.parameters.iter().filter_map(|parameter| find(&parameter.name));
        let arguments = wanted.map(|(_, memory)| ElementArgument::Memory(memory.clone())).collect();
        Ok(ElementFunction::of_text(text, arguments))
    }
}
