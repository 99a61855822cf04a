//! The generated multiply and update, unmodified, on a CPU: every shape against the dense matrix.

#[path = "simulate/averages.rs"]
mod averages;
#[path = "simulate/bits.rs"]
mod bits;
#[path = "simulate/gallery.rs"]
mod gallery;
#[path = "simulate/launch_site.rs"]
mod launch_site;
#[path = "simulate/multiply.rs"]
mod multiply;
#[path = "simulate/mutations.rs"]
mod mutations;
#[path = "simulate/sectors.rs"]
mod sectors;
#[path = "simulate/shapes.rs"]
mod shapes;
#[path = "simulate/update.rs"]
mod update;

use eigenforge::runtime::simulate::{Schedule, SimulateError, Simulator};
use eigenforge::runtime::{Checks, Device};

/// A simulated device a schedule, every launch under both checks; none, after a printed line that says why, where there
/// is no host compiler.
fn devices() -> Vec<Device> {
    match Simulator::find() {
        Ok(simulator) => SCHEDULES.map(|order| Device::simulated_by(simulator.clone(), order, Checks::Every)).into(),
        Err(error @ SimulateError::NoCompiler { .. }) => {
            eprintln!("skipped: {error}");
            Vec::new()
        }
        Err(error) => panic!("{error}"),
    }
}

const SCHEDULES: [Schedule; 3] = [Schedule::Forward, Schedule::Reverse, Schedule::Random { seed: 4 }];
