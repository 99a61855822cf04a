//! The generated multiply and update, unmodified, on a CPU: every shape against the dense matrix.

#[path = "simulate/gallery.rs"]
mod gallery;
#[path = "simulate/launch.rs"]
mod launch;
#[path = "simulate/mutations.rs"]
mod mutations;
#[path = "simulate/shapes.rs"]
mod shapes;

use eigenforge::runtime::simulate::{Schedule, SimulateError, Simulator};

/// The host compiler, or a printed line that says why the test is skipped.
fn simulator() -> Option<Simulator> {
    match Simulator::find() {
        Ok(simulator) => Some(simulator),
        Err(error @ SimulateError::NoCompiler { .. }) => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

const SCHEDULES: [Schedule; 3] = [Schedule::Forward, Schedule::Reverse, Schedule::Random { seed: 4 }];
