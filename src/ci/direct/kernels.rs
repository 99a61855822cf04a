//! σ = H C by the generated kernel: its text compiled, its tables uploaded.

use super::device_tables::DeviceTables;
use super::error::DirectError;
use crate::product::ProductKernels;
use eigenforge_runtime::{Device, DeviceError, NamedTables, trace};

/// The product on a device that runs kernels.
///
/// # Errors
/// A text that does not compile; memory of the device.
pub(super) fn kernels(tables: DeviceTables, device: &Device) -> Result<ProductKernels, DirectError> {
    let DeviceTables { plan, product, diagonal } = tables;
    device.check_work(&format!("one product of {}", plan.name), plan.cost().flops)?;
    device.check_memory("tables of the direct product", plan.table_bytes())?;
    let kernel = device.compile(&plan.text()?)?;
    let launches = plan.launches().map_err(DeviceError::from)?;
    launches.iter().try_for_each(|launch| kernel.check(launch))?;
    let _uploading = trace::span("set up", "tables to the device");
    let tables = NamedTables::uploaded(device, product)?;
    let diagonal = diagonal.function(&tables, device)?;
    let sizes = (plan.rows as usize, plan.alpha_strings as usize);
    Ok(ProductKernels::new((kernel, launches), tables, diagonal, sizes, device)?)
}
