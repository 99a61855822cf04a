//! The device that a run asks for.

use super::{RunContext, over_ranks};
use crate::Error;
use eigenforge_runtime::jit::{JitError, Overrides};
use eigenforge_runtime::ranks::Ranks;
use eigenforge_runtime::{Device, DeviceError, trace};
use std::sync::Arc;

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
