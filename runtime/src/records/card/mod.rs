//! Records on a device that runs kernels: one launch per stage, or cuBLAS on a card.
//!
//! ```text
//! RecordStage → tiles (cutting.rs) → shares of blocks, table (table.rs) → one launch (products.rs)
//!                                        operands that stream (streams.rs, copies.rs) ↗
//!             → calls on streams (library.rs), in a planned run of blocks of large matrices (vendor.rs)
//! Assembly    → one launch (assembly.rs)
//! TwoStages   → y = H x, with the CPU's part beside it (multiply.rs, cpu_part.rs, balance.rs)
//! ```

mod assembly;
mod balance;
mod copies;
mod cpu_part;
mod cutting;
mod library;
mod multiply;
mod products;
mod streams;
mod table;
mod tables;
mod vendor;

pub(crate) use assembly::Assembling;
pub use cutting::Loads;
pub use library::{LibraryProducts, LibraryStage, calls};
pub use multiply::{Multiplier, RecordsMultiply};
pub use products::{DeviceBuffers, PreparedStage, Products};
pub(crate) use tables::Tables;

use super::SPACES;
use crate::device::{Arguments, Vector};

/// The family of the templates, with which the names of generated files begin.
pub(crate) const FAMILY: &str = "dmrg";

/// The operands of a kernel by the names of their spaces: the vectors, then where each begins.
fn arguments_of_spaces<'v>(given: &[(&'v Vector<f64>, usize); SPACES]) -> Arguments<'v> {
    let names: [&str; SPACES] = ["left", "left_sum", "right", "right_sum", "input", "between"];
    let firsts = ["left_first", "left_sum_first", "right_first", "right_sum_first", "input_first", "between_first"];
    let mut arguments = Arguments::new();
    for (name, (vector, _)) in names.into_iter().zip(*given) {
        arguments = arguments.read(name, vector);
    }
    for (name, (_, first)) in firsts.into_iter().zip(*given) {
        arguments = arguments.i64(name, first as i64);
    }
    arguments
}
