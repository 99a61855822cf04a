//! The diagonal of a full-CI product on a device that runs kernels, made when it is first asked for.

use super::super::device_table::{Tables, read_all};
use eigenforge_runtime::{Arguments, Buffer, Device, DeviceError, ElementFunction, Kernel};
use eigenforge_templates::Launch;
use std::sync::{Arc, Mutex, PoisonError};

/// All ⟨I K|H|I K⟩, which take as much memory as a vector.
pub(super) struct Diagonal {
    launch: Launch,
    /// Its own tables, beside `row_start` and `alpha_class` of the product.
    tables: Tables,
    rows: u64,
    made: Mutex<Option<Arc<Buffer<f64>>>>,
}

impl Diagonal {
    pub(super) fn new(launch: Launch, tables: Tables, rows: u64) -> Diagonal {
        Diagonal { launch, tables, rows, made: Mutex::default() }
    }

    /// As a function of the index; `None` where it does not fit beside what is there.
    pub(super) fn function(&self, kernel: &Kernel, device: &Device, product: &Tables) -> Option<ElementFunction> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if made.is_none() {
            *made = self.make(kernel, device, product).ok().map(Arc::new);
        }
        made.clone().map(ElementFunction::stored_diagonal)
    }

    fn make(&self, kernel: &Kernel, device: &Device, product: &Tables) -> Result<Buffer<f64>, DeviceError> {
        device.check_memory("the diagonal", 8 * self.rows)?;
        kernel.check(&self.launch)?;
        let mut diagonal = device.spread_buffer(self.rows as usize)?;
        let shared = product.iter().filter(|(name, _)| ["row_start", "alpha_class"].contains(name));
        let arguments = shared
            .fold(Arguments::new().write("diagonal_out", &mut diagonal), |arguments, (name, memory)| {
                arguments.read(name, &**memory)
            });
        kernel.launch(&self.launch, read_all(arguments, &self.tables))?;
        Ok(diagonal)
    }
}
