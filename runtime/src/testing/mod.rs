//! For tests: the devices and tools that they run on, and what happens where one is missing.
//!
//! A card is used if `EIGENFORGE_TEST_DEVICE` names one (`cuda`, `cuda:N`) or, if it is not set, if a driver has created
//! a card's device file; `cpu` disables it. A card that cannot be opened fails the test. So does a missing tool (host
//! compiler, NVRTC, MPI), unless `EIGENFORGE_TEST_WITHOUT` names it, as `cargo xtask test --without compiler,nvrtc,mpi`
//! does: then the test is skipped with a line on standard error, bypassing the harness, which hides the output of passing
//! tests.

mod devices;
mod ranks;
pub(crate) mod tools;

pub use devices::{
    card, card_name, card_or_simulated, card_or_skip, devices_of_many_launches, host_and_card, kernel_devices,
    simulated, simulated_with_warps_of, simulator, teams,
};
pub use ranks::on_ranks;
pub use tools::{Tool, missing, skipped};
