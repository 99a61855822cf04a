//! The generated multiply and update, unmodified, on a CPU: every shape against the dense matrix.

#[path = "simulate/averages.rs"]
mod averages;
#[path = "simulate/bits.rs"]
mod bits;
#[path = "simulate/gallery.rs"]
mod gallery;
#[path = "simulate/launch_site.rs"]
mod launch_site;
#[path = "simulate/listed.rs"]
mod listed;
#[path = "simulate/multiply.rs"]
mod multiply;
#[path = "simulate/mutations.rs"]
mod mutations;
#[path = "simulate/pairs.rs"]
mod pairs;
#[path = "simulate/sectors.rs"]
mod sectors;
#[path = "simulate/several.rs"]
mod several;
#[path = "simulate/shapes.rs"]
mod shapes;
#[path = "simulate/strings.rs"]
mod strings;
#[path = "simulate/update.rs"]
mod update;
#[path = "simulate/warps.rs"]
mod warps;

use eigenforge::runtime::simulate::Schedule;
use eigenforge::runtime::{Checks, Device, testing};

/// A simulated device per schedule, every launch under both checks.
fn devices() -> Vec<Device> {
    SCHEDULES.iter().filter_map(|order| testing::simulated(*order, Checks::Every)).collect()
}

const SCHEDULES: [Schedule; 3] = [Schedule::Forward, Schedule::Reverse, Schedule::Random { seed: 4 }];
