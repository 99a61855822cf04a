//! The runtime's tests: one binary, one module a subject. EIGENFORGE_TEST_DEVICE=cuda runs them on the GPU as well.

#[path = "runtime/checkpoints.rs"]
mod checkpoints;
#[path = "runtime/davidson.rs"]
mod davidson;
#[path = "runtime/devices.rs"]
mod devices;
#[path = "runtime/launches.rs"]
mod launches;
#[path = "runtime/olsen.rs"]
mod olsen;
#[path = "runtime/operators.rs"]
mod operators;
#[path = "runtime/overrides.rs"]
mod overrides;
#[path = "runtime/parts.rs"]
mod parts;
#[path = "runtime/products.rs"]
mod products;
#[path = "runtime/programs.rs"]
mod programs;
#[path = "runtime/several_cards.rs"]
mod several_cards;
#[path = "runtime/solvers.rs"]
mod solvers;

use eigenforge_runtime::testing::host_and_card as test_devices;
