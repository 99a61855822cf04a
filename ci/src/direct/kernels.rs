//! σ = H C by the generated kernel: its text compiled, its tables uploaded.

use super::device_tables::DeviceTables;
use super::error::DirectError;
use eigenforge_product::{ProductKernels, Traffic};
use eigenforge_runtime::{Device, DeviceError, ElementFunction, NamedTables, trace};
use eigenforge_templates::ScalarType;

/// The product on a device that runs kernels, and the diagonal.
///
/// # Errors
/// A text that does not compile; memory of the device.
pub(super) fn kernels(tables: DeviceTables, device: &Device) -> Result<(ProductKernels, ElementFunction), DirectError> {
    let DeviceTables { plan, product, diagonal } = tables;
    device.check_work(&format!("one product of {}", plan.name), plan.cost().flops)?;
    device.check_memory("tables of the direct product", plan.table_bytes())?;
    let kernel = device.compile(&plan.text()?)?;
    let launches = plan.launches().map_err(DeviceError::from)?;
    launches.iter().try_for_each(|launch| kernel.check(launch))?;
    let _uploading = trace::span("set up", "tables to the device");
    let tables = NamedTables::uploaded(device, product)?;
    let diagonal = diagonal.function(&tables, device)?;
    let copies = Traffic::Copies(plan.rows as usize, ScalarType::F64, "multiply");
    let kernels = ProductKernels::new((kernel, launches), tables, (copies, plan.alpha_strings as usize), device)?;
    Ok((kernels, diagonal))
}
