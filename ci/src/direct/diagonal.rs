//! The diagonal of a full-CI product on a device that runs kernels: computed where it is needed, never stored.

use eigenforge_runtime::{Device, DeviceError, ElementFunction, NamedTables, TableList};
use eigenforge_templates::ci::FullCiDiagonal;

/// What ⟨I K|H|I K⟩ are computed from.
pub(super) struct DiagonalTables {
    pub plan: FullCiDiagonal,
    /// Its tables except `row_start` and `alpha_class`, which the product has.
    pub tables: TableList<'static>,
}

impl DiagonalTables {
    /// As a function of the index, with the tables of the product beside its own.
    pub(super) fn function(self, product: &NamedTables, device: &Device) -> Result<ElementFunction, DeviceError> {
        let mut tables = product.clone();
        tables.extend(NamedTables::uploaded(device, self.tables)?);
        Ok(ElementFunction::of_tables(self.plan.text(), &tables))
    }
}
