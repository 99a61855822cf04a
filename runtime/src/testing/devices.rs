//! The devices that tests run on: the CPU, simulated ones, the card.

use super::tools::{Tool, missing, skipped};
use crate::device::{Checks, Device};
use crate::simulate::{Schedule, SimulateError, Simulator};
use eigenforge_templates::Warp;

/// The host compiler; `None` if it is missing and that is allowed.
#[track_caller]
pub fn simulator() -> Option<Simulator> {
    match Simulator::find() {
        Ok(simulator) => Some(simulator),
        Err(error @ SimulateError::NoCompiler { .. }) => {
            missing(Tool::Compiler, &error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// A simulated device; `None` if the host compiler is missing and that is allowed.
#[track_caller]
pub fn simulated(schedule: Schedule, checks: Checks) -> Option<Device> {
    Some(Device::simulated_by(simulator()?, schedule, checks))
}

/// A simulated device with warps of another width than any card has, every launch under both checks.
#[track_caller]
pub fn simulated_with_warps_of(lanes: u32, schedule: Schedule) -> Option<Device> {
    let warp = Warp::try_from(lanes).unwrap_or_else(|error| panic!("{error}"));
    Some(Device::simulated_by(simulator()?.warps_of(warp), schedule, Checks::Every))
}

/// The card's name for `--device`; `None` without a usable card.
#[track_caller]
pub fn card_name() -> Option<String> {
    match std::env::var("EIGENFORGE_TEST_DEVICE") {
        Ok(name) if name == "cpu" => None,
        Ok(name) if name == "cuda" || name.starts_with("cuda:") => Some(name),
        Ok(other) => panic!("EIGENFORGE_TEST_DEVICE={other}: expected cpu, cuda or cuda:N"),
        Err(_) => driver_has_a_card().then(|| "cuda".into()),
    }
}

/// The card; `None` without a usable one.
#[track_caller]
pub fn card() -> Option<Device> {
    let name = card_name()?;
    Some(Device::parse(&name).unwrap_or_else(|fault| {
        panic!("the card {name} cannot be opened (EIGENFORGE_TEST_DEVICE=cpu leaves it out): {fault}")
    }))
}

/// The card, or a line that the test is skipped.
#[track_caller]
pub fn card_or_skip() -> Option<Device> {
    let card = card();
    if card.is_none() {
        skipped("no card");
    }
    card
}

/// The card, or else a simulated device.
#[track_caller]
pub fn card_or_simulated(schedule: Schedule) -> Option<Device> {
    card().or_else(|| simulated(schedule, Checks::Watched))
}

/// A simulated device, every launch under both checks, and the card.
#[track_caller]
pub fn kernel_devices(schedule: Schedule) -> Vec<Device> {
    simulated(schedule, Checks::Every).into_iter().chain(card()).collect()
}

/// As [`kernel_devices`] for runs of many equal launches, such as solves and races: with watched accesses.
#[track_caller]
pub fn devices_of_many_launches(schedule: Schedule) -> Vec<Device> {
    simulated(schedule, Checks::Watched).into_iter().chain(card()).collect()
}

/// Several cards as one device: all cards of this machine if there are two, otherwise simulated ones, for each of these numbers.
#[track_caller]
pub fn teams(simulated: &[u32]) -> Vec<Device> {
    let opened = if card().is_some() && Device::cards() > 1 {
        vec![Device::parse("cuda:all")]
    } else {
        let simulators = simulator().map_or(&[][..], |_| simulated);
        simulators.iter().map(|cards| Device::simulated_team(*cards, Schedule::Forward)).collect()
    };
    let fail = |fault| panic!("several cards as one: {fault}");
    opened.into_iter().map(|device| device.unwrap_or_else(fail)).collect()
}

/// The CPU and the card.
#[track_caller]
pub fn host_and_card() -> Vec<Device> {
    std::iter::once(Device::cpu()).chain(card()).collect()
}

/// Whether the system has a file of an NVIDIA card.
fn driver_has_a_card() -> bool {
    (0..16).any(|card| std::path::Path::new(&format!("/dev/nvidia{card}")).exists())
}
