//! `eigenforge doctor`: what this machine has, what is missing, and how to get it; with `--measure` also the rates
//! of its processor and its cards, which are kept for later runs.

use super::VerbEnd;
use super::arguments::DoctorArguments;
use super::error::CommandError;
use super::output::{bytes, print, print_json};
use eigenforge_runtime::jit::{Doctor, Settings};
use eigenforge_runtime::machine::{Card, Known, Machine, Processor, RateSource};
use eigenforge_runtime::{Device, DeviceError};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

/// What is on this machine, and its rates.
#[derive(Serialize)]
struct Findings {
    #[serde(flatten)]
    found: Doctor,
    rates: Rates,
}

/// The rates that later runs choose by.
#[derive(Serialize)]
struct Rates {
    processor: Known<Processor>,
    /// Of each card of the driver, or why they are not known.
    cards: Vec<Result<Known<Card>, String>>,
    /// The files that keep what was measured now.
    kept: Vec<PathBuf>,
    /// Why nothing is kept.
    warning: Option<String>,
}

impl Rates {
    /// The rates that later runs will use; with `--measure`, measured and kept first.
    fn new(cards: usize, measure: bool) -> Result<Rates, CommandError> {
        let (mut kept, mut warning) = (Vec::new(), None);
        // Cards of one name share a file: the fastest of them speaks, since the others were busy.
        let mut fastest: BTreeMap<String, f64> = BTreeMap::new();
        let mut machine = |device: &Device| -> Result<Machine, DeviceError> {
            if !measure {
                return Ok(Machine::new(device));
            }
            let machine = Machine::measure(device)?;
            let rate = machine.card.as_ref().map_or(0.0, |card| card.values.memory_rate);
            if fastest.get(machine.name()).is_none_or(|known| *known < rate) {
                fastest.insert(machine.name().into(), rate);
                match machine.keep() {
                    Ok(files) => kept.extend(files),
                    Err(why) => warning = Some(why),
                }
            }
            Ok(machine)
        };
        let processor = machine(&Device::cpu())?.processor;
        let mut of_card = |number: usize| -> Result<Known<Card>, String> {
            let found = Device::cuda(number).and_then(|device| Ok((machine(&device)?.card, device.name())));
            let (card, name) = found.map_err(|error| without_search(&error.to_string()).to_string())?;
            card.ok_or_else(|| format!("{name} is not a GPU"))
        };
        let found: Vec<_> = (0..cards).map(&mut of_card).collect();
        kept.sort();
        kept.dedup();
        Ok(Rates { processor, cards: found, kept, warning })
    }
}

/// Runs the verb. A machine without a GPU is well; what conflicts is a fault, and so is a measurement that failed or is not kept.
pub(super) fn run(arguments: &DoctorArguments) -> Result<VerbEnd, CommandError> {
    let found = Doctor::examine(&Settings::from_env()?);
    let cards = found.driver.as_ref().map_or(0, |driver| driver.devices.len());
    let findings = Findings { rates: Rates::new(cards, arguments.measure)?, found };
    match arguments.json {
        true => print_json(&findings)?,
        false => print(&table(&findings)),
    }
    let rates = &findings.rates;
    let unmeasured = arguments.measure && (rates.warning.is_some() || rates.cards.iter().any(Result::is_err));
    Ok(if findings.found.conflicts.is_empty() && !unmeasured { VerbEnd::Done } else { VerbEnd::Fault })
}

/// Where rates come from, and how to get better ones.
fn source(source: RateSource) -> &'static str {
    match source {
        RateSource::Measured => "measured",
        RateSource::Table => "from the built-in table; --measure measures them",
        RateSource::Estimated => "estimated; --measure measures them",
    }
}

fn of_processor(known: &Known<Processor>) -> String {
    let Processor { core_rate, core_memory_rate, memory_rate: _, cores: _ } = known.values;
    format!(
        "a core {:.1} GFLOP/s, {:.1} GB/s; all {:.1} GB/s ({})",
        1e-9 * core_rate,
        1e-9 * core_memory_rate,
        1e-9 * known.values.stream_rate(),
        source(known.source)
    )
}

fn of_card(known: &Known<Card>) -> String {
    let card = &known.values;
    format!(
        "memory {:.2} TB/s, L2 {:.2} TB/s, {:.2} TFLOP/s, {:.1e} atomic additions/s\na launch {:.1} us, a wait {:.1} us ({})",
        1e-12 * card.memory_rate,
        1e-12 * card.l2_rate,
        1e-12 * card.fp64_rate,
        card.atomic_rate,
        1e6 * card.launch_seconds,
        1e6 * card.round_trip_seconds,
        source(known.source)
    )
}

/// The sentence without the list of places that were searched; `--json` has them.
fn without_search(reason: &str) -> &str {
    reason.lines().next().unwrap_or(reason)
}

fn table(Findings { found, rates }: &Findings) -> String {
    let mut out = String::new();
    let mut row = |name: &str, text: String| {
        // Writing to a String cannot fail. Later lines of a long text stay in their column.
        let _ = writeln!(out, "{name:<12} {}", text.replace('\n', "\n             "));
    };
    row("eigenforge", env!("CARGO_PKG_VERSION").into());
    let cpu = Device::cpu();
    row("cpu", format!("{}, {} free of {}", cpu.name(), bytes(cpu.memory().free), bytes(cpu.memory().total)));
    row("", of_processor(&rates.processor));
    match &found.nvrtc {
        Ok(nvrtc) => {
            let archs: Vec<String> = nvrtc.archs.iter().map(ToString::to_string).collect();
            let (major, minor) = nvrtc.version;
            row("nvrtc", format!("{major}.{minor} ({}), {}\n{}", nvrtc.origin, nvrtc.path.display(), archs.join(" ")));
        }
        Err(reason) => row("nvrtc", format!("MISSING: {}", without_search(reason))),
    }
    for (name, tool) in [("nvdisasm", &found.nvdisasm), ("cuobjdump", &found.cuobjdump)] {
        let text = tool
            .as_ref()
            .map_or_else(|reason| format!("missing: {}", without_search(reason)), |path| path.display().to_string());
        row(name, text);
    }
    let cache = &found.cache;
    let folder = cache.folder.as_ref().map_or("off".into(), |folder| folder.display().to_string());
    row("cache", format!("{folder}: {} entries, {} of {}", cache.entries, bytes(cache.bytes), bytes(cache.limit)));
    for second in &cache.readonly {
        row("", format!("behind it, read only: {}", second.display()));
    }
    if let Some(fault) = &cache.fault {
        row("", format!("NOT USED: {fault}; kernels are compiled again in each run"));
    }
    match &found.driver {
        Ok(driver) => {
            row("driver", format!("CUDA {}.{}", driver.cuda.0, driver.cuda.1));
            for (number, card) in driver.devices.iter().enumerate() {
                row(&format!("cuda:{number}"), format!("{}, {}, {}", card.name, card.arch, bytes(card.memory)));
                match rates.cards.get(number) {
                    Some(Ok(known)) => row("", of_card(known)),
                    Some(Err(why)) => row("", format!("its rates are not known: {why}")),
                    None => {}
                }
            }
            if let Some(fault) = &driver.fault {
                row("", fault.clone());
            }
            let none = "missing: messages between the cards of several processes go by way of the host";
            row("nccl", driver.nccl.clone().unwrap_or_else(|| none.into()));
        }
        Err(reason) => row("driver", format!("{reason}\nwithout one, `--device cpu` is used")),
    }
    for file in &rates.kept {
        row("rates kept", file.display().to_string());
    }
    if let Some(why) = &rates.warning {
        row("rates", format!("NOT KEPT: {why}"));
    }
    for conflict in &found.conflicts {
        row("CONFLICT", conflict.clone());
    }
    out
}
