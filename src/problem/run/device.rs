//! The device that a run asks for, or the one that is predicted to be sooner.

use super::{RunContext, over_ranks};
use crate::Error;
use eigenforge_product::SolveForecast;
use eigenforge_runtime::jit::{JitError, Overrides};
use eigenforge_runtime::machine::Machine;
use eigenforge_runtime::ranks::Ranks;
use eigenforge_runtime::{Device, DeviceError, trace};
use std::sync::Arc;

/// Where a solve takes place.
pub(crate) struct ChosenDevice {
    pub device: Device,
    /// Why it is the CPU, if that needs saying.
    pub on_cpu: Option<String>,
    /// A line that says why, where the choice was ours; else empty.
    pub line: String,
}

/// The device that was asked for, or where that is left open and there is a card, the one that is predicted to be sooner: `forecast` is asked
/// for a machine, and for a card that is open. Where the cores are done before a card has started, none is started.
///
/// # Errors
/// As of [`open_device`]; a plan that cannot be made.
pub(crate) fn choose_device<E: Into<Error>>(
    context: &RunContext,
    forecast: impl Fn(&Machine, Option<&Device>) -> Result<SolveForecast, E>,
) -> Result<ChosenDevice, Error> {
    let on_cores = |forecast: &SolveForecast| {
        let line = format!("device   the CPU: {}\n", forecast.describe());
        ChosenDevice { device: Device::cpu(), on_cpu: None, line }
    };
    let is_open = is_left_open(context);
    if is_open && Device::card_is_asleep() {
        let found = forecast(&Machine::new(&Device::cpu()), None).map_err(E::into)?;
        if found.ends_before_a_card_starts() {
            return Ok(on_cores(&found));
        }
    }
    let (device, on_cpu) = open_device(context)?;
    if !is_open || !device.is_cuda() {
        return Ok(ChosenDevice { device, on_cpu, line: String::new() });
    }
    let found = forecast(&Machine::new(&device), Some(&device)).map_err(E::into)?;
    if !found.prefers_the_card() {
        return Ok(on_cores(&found));
    }
    Ok(ChosenDevice { device, on_cpu, line: format!("device   the card: {}\n", found.describe()) })
}

/// Whether a run leaves the choice to us: not where ranks go one way, nor with edited kernels, which run on a card.
fn is_left_open(context: &RunContext) -> bool {
    let edited = || context.overrides.is_some() || Overrides::from_env().map_or(true, |edited| !edited.is_empty());
    context.device == "auto" && context.ranks.is_none() && !edited()
}

/// The device that was asked for, with the run's edited kernels, and why it is the CPU if that needs saying.
///
/// # Errors
/// A device that is not there; edited kernels for one that runs none.
pub fn open_device(context: &RunContext) -> Result<(Device, Option<String>), Error> {
    let opening = trace::span("set up", "open the device");
    if let Some(ranks) = &context.ranks {
        let (device, on_cpu) = of_rank(ranks, context)?;
        drop(opening);
        return Ok((device, on_cpu));
    }
    let (device, reason) = match context.device.as_str() {
        "auto" => Device::best_with_reason(),
        name => (Device::parse(name)?, None),
    };
    drop(opening);
    let on_cpu = reason.map(|reason| format!("using the CPU: {reason}"));
    on_cpu.iter().for_each(|line| context.observer.remark(line));
    override_kernels(&device, context)?;
    Ok((device, on_cpu))
}

/// The device of one of several ranks: a card of its machine, or the cores that are its share. Ranks go one way: with `auto` all on cards, or
/// all on cores.
fn of_rank(ranks: &Arc<Ranks>, context: &RunContext) -> Result<(Device, Option<String>), Error> {
    let by_itself = context.device == "auto";
    let (own, reason) = match own_device(ranks, &context.device) {
        Ok((device, sharing, reason)) => (Some((device, sharing)), reason),
        Err(error) if by_itself => (None, Some(error.to_string())),
        Err(error) => return Err(error),
    };
    let has_kernels = own.as_ref().is_some_and(|(device, _)| device.runs_kernels());
    let kinds = ranks.all_of("the kind of device", f64::from(u8::from(has_kernels)))?;
    let (everywhere, anywhere) = (kinds.iter().all(|kind| *kind > 0.0), kinds.iter().any(|kind| *kind > 0.0));
    let (device, sharing, reason) = match own {
        Some((device, sharing)) if everywhere || !anywhere => (device, sharing, reason),
        _ if by_itself => {
            let why = reason.unwrap_or_else(|| "not every process has a card".into());
            (Device::cpu(), ranks.on_this_machine(), Some(why))
        }
        _ => {
            let what = format!("--device {}", context.device);
            let instead = "some ranks have a card and others none: take --device cpu".into();
            return Err(DeviceError::NotOverRanks { what, instead }.into());
        }
    };
    let (device, by_host) = device.over_ranks(ranks, sharing)?.linked()?;
    if let Some(why) = by_host {
        context.observer.remark(&format!("messages between cards go by way of the host: {why}"));
    }
    override_kernels(&device, context)?;
    let on_cpu = reason.map(|reason| format!("using the CPU: {reason}"));
    on_cpu.iter().for_each(|line| context.observer.remark(line));
    Ok((device, on_cpu))
}

/// The device of one rank for a model that all of them solve together, how many ranks share it, and why it is the CPU if that needs saying.
/// Ranks of a machine take a card each, or its cores and its simulated card together.
///
/// # Errors
/// More ranks on a machine than cards; several simulated cards; no name of a device, or one that is not there.
fn own_device(ranks: &Ranks, device: &str) -> Result<(Device, usize, Option<String>), Error> {
    let here = ranks.on_this_machine();
    let cards = over_ranks::cards_of(device)?;
    let own = over_ranks::dealt(&cards, ranks.number_here(), here)
        .map_err(|cards| over_ranks::too_few(device, cards, here))?
        .swap_remove(0);
    let is_card = own.starts_with("cuda");
    if cards.len() > 1 && !is_card {
        let instead = "each rank has one simulated card: take --device sim".into();
        return Err(DeviceError::NotOverRanks { what: format!("--device {device}"), instead }.into());
    }
    let (device, reason) = match own.as_str() {
        "auto" => Device::best_with_reason(),
        name => (Device::parse(name)?, None),
    };
    Ok((device, if is_card { 1 } else { here }, reason))
}

/// Hands the run's edited kernels to its device, which refuses them if it runs no generated text.
pub(super) fn override_kernels(device: &Device, context: &RunContext) -> Result<(), DeviceError> {
    let read = context.overrides.as_deref().map_or_else(Overrides::from_env, Overrides::read);
    device.set_overrides(read.map_err(JitError::from)?)
}

#[cfg(test)]
mod tests {
    use super::super::Silent;
    use super::*;
    use eigenforge_product::SolveCourse;
    use eigenforge_runtime::solvers::{SolveOptions, Solver};
    use eigenforge_templates::ScalarType;
    use std::time::Instant;

    fn context(device: &str) -> RunContext {
        RunContext::new(Instant::now(), device, Arc::new(Silent))
    }

    /// A solve of a thousand states.
    fn forecast(machine: &Machine, _: Option<&Device>) -> Result<SolveForecast, Error> {
        let course = SolveCourse::new(Solver::Lanczos, &SolveOptions::default(), 1000, ScalarType::F64);
        Ok(SolveForecast::new(course, machine, |_| Some([0.0, 1e-5]), &[]))
    }

    #[test]
    fn a_named_device_is_taken_without_a_forecast() {
        let none = |_: &Machine, _: Option<&Device>| -> Result<SolveForecast, Error> { panic!("a device was named") };
        let chosen = choose_device(&context("cpu"), none).unwrap();
        assert!(!chosen.device.runs_kernels() && chosen.line.is_empty());
    }

    /// A small solve takes the cores, which is said where there is a driver.
    #[test]
    fn the_choice_is_said_where_there_is_one() {
        let has_choice = eigenforge_runtime::jit::driver_version().is_ok();
        let chosen = choose_device(&context("auto"), forecast).unwrap();
        assert!(!chosen.device.runs_kernels());
        assert_eq!(chosen.line.starts_with("device   the CPU: predicted for 200 products with H: "), has_choice);
    }
}
