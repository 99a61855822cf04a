//! The machine: one model of a GPU and of its host processor, used for all choices of format, method and device.
//!
//! ```text
//! doctor --measure → file beside the kernel cache ┐
//! table of a known card                           ├→ Machine → format of a matrix, stored or direct, CPU or card
//! attributes that the driver reports              ┘
//! ```
//!
//! | file | question it answers |
//! |---|---|
//! | `card` | which numbers of a card do cost models use, and what are they? |
//! | `processor` | the same for a processor |
//! | `measure_card`, `measure_processor` | what are they on this machine? |
//! | `store` | where are measured numbers kept? |
//!
//! In: a [`Device`], or the name of a known card. Out: a [`Machine`]. Measured numbers of a device are preferred, then the
//! table entry of its name, then an estimate. All cost models of the library use these numbers; each model adds the fraction of a
//! rate that its kernels reach, fitted on an NVIDIA H200 and its Xeon host (docs/performance.md).

mod card;
mod measure_card;
mod measure_processor;
mod processor;
mod store;

pub use card::Card;
pub use processor::Processor;
pub use store::Store;

use crate::device::Device;
use crate::error::Result;
use crate::jit::{self, Settings};
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;

/// Where the numbers of a machine come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RateSource {
    /// `eigenforge doctor --measure` on this device.
    Measured,
    /// The built-in table.
    Table,
    /// Scaled from an H200 by what the driver reports, or from a Xeon by the number of cores.
    Estimated,
}

impl fmt::Display for RateSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RateSource::Measured => "measured",
            RateSource::Table => "from the built-in table",
            RateSource::Estimated => "estimated",
        })
    }
}

/// The numbers of a device, its name, and where the numbers come from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Known<T> {
    /// The device's name as its driver or the system reports it.
    pub name: String,
    /// Where the numbers come from.
    pub source: RateSource,
    /// The numbers.
    pub values: T,
}

/// A processor and, if a run uses one, a GPU.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Machine {
    /// The processor.
    pub processor: Known<Processor>,
    /// The card on which kernels run; `None` on the CPU.
    pub card: Option<Known<Card>>,
}

impl Machine {
    /// The words of [`Machine::named`].
    pub const WORDS: [&str; 5] = ["h200", "h100", "a100", "rtx4090", "cpu"];

    /// A known card with the processor of this machine, or with "cpu" the processor alone; `None` for any other word.
    pub fn named(word: &str) -> Option<Machine> {
        let card = match word {
            "cpu" => None,
            word => {
                let (_, name, values) = Card::TABLES.into_iter().find(|(known, ..)| *known == word)?;
                Some(Known { name: name.into(), source: RateSource::Table, values })
            }
        };
        Some(Machine { processor: processor(), card })
    }

    /// An NVIDIA H200 with the processor of this machine: the machine that plans are made for unless another is named.
    pub fn h200() -> Machine {
        let card = Known { name: Card::TABLES[0].1.into(), source: RateSource::Table, values: Card::H200 };
        Machine { processor: processor(), card: Some(card) }
    }

    /// The machine of a device: measured numbers if there are any, otherwise the card's table, otherwise an estimate. A
    /// simulated card counts as an H200.
    pub fn new(device: &Device) -> Machine {
        let card = match device {
            Device::Cpu(_) => return Machine { processor: processor(), card: None },
            Device::Sim(_) => return Machine::h200(),
            Device::Cuda(card) => card,
        };
        let name = card.model().to_string();
        let measured = Store::from_env().and_then(|store| store.find::<Card>(&name, &driver()));
        let table = || Card::TABLES.into_iter().find(|(_, known, _)| *known == name).map(|(.., values)| values);
        let (source, values) = match (measured, table()) {
            // Cards of one name may differ in size, which the driver reports.
            (Some(rates), _) => {
                let Card { multiprocessors, shared_bytes, l1_bytes, memory_bytes, .. } =
                    Card::estimated(&card.attributes());
                (RateSource::Measured, Card { multiprocessors, shared_bytes, l1_bytes, memory_bytes, ..rates })
            }
            (None, Some(values)) => (RateSource::Table, values),
            (None, None) => (RateSource::Estimated, Card::estimated(&card.attributes())),
        };
        Machine { processor: processor(), card: Some(Known { name, source, values }) }
    }

    /// The name of the card, or of the processor if there is no card.
    pub fn name(&self) -> &str {
        self.card.as_ref().map_or(&self.processor.name, |card| &card.name)
    }

    /// Seconds for an amount of work: the larger of the time of its double-precision operations (without tensor cores) and the time of
    /// its memory traffic. Work that stays in a cache takes less; work that does not fill the machine takes more.
    pub fn seconds_by_rates(&self, flops: f64, bytes: f64) -> f64 {
        let Processor { cores, core_rate, .. } = self.processor.values;
        let (rate, memory_rate) = match &self.card {
            Some(card) => (card.values.fp64_rate, card.values.memory_rate),
            None => (core_rate * cores as f64, self.processor.values.stream_rate()),
        };
        (flops / rate).max(bytes / memory_rate)
    }

    /// The processor as forecasts name it, with where its rates come from.
    pub fn processor_words(&self) -> &'static str {
        match self.processor.source {
            RateSource::Measured => "this CPU (measured rates)",
            RateSource::Table | RateSource::Estimated => "this CPU (rates of a Xeon)",
        }
    }

    /// The card as forecasts name it, with where its rates come from; `None` on the CPU.
    pub fn card_words(&self) -> Option<String> {
        self.card.as_ref().map(|known| match known.source {
            RateSource::Measured => format!("{} (measured rates)", known.name),
            RateSource::Table => format!("one {} (built-in rates)", known.name),
            RateSource::Estimated => format!("{} (rates estimated from its attributes)", known.name),
        })
    }

    /// The same machine without its card.
    #[must_use]
    pub fn without_card(&self) -> Machine {
        Machine { card: None, ..self.clone() }
    }

    /// Measures a device in a few seconds: of a GPU only the card is measured, its host processor keeps its known numbers.
    ///
    /// # Errors
    /// The card fails or has no room; a simulated device has no rates.
    pub fn measure(device: &Device) -> Result<Machine> {
        let Device::Cuda(card) = device else {
            let known = processor();
            let values = measure_processor::measure(known.values.cores);
            let processor = Known { source: RateSource::Measured, values, ..known };
            return Ok(Machine { processor, card: None });
        };
        let values = measure_card::measure(device, &card.attributes())?;
        let card = Known { name: card.model().into(), source: RateSource::Measured, values };
        Ok(Machine { processor: processor(), card: Some(card) })
    }

    /// Keeps the measured numbers for later runs and returns the files.
    ///
    /// # Errors
    /// The reason why nothing is kept, and what to do.
    pub fn keep(&self) -> std::result::Result<Vec<PathBuf>, String> {
        let advice = "name a writable folder in EIGENFORGE_CACHE";
        let store = Store::from_env()
            .ok_or_else(|| format!("there is no folder for them (they are kept beside the kernel cache, which is off, has no home, or is refused): {advice}"))?;
        let mut files = Vec::new();
        if self.processor.source == RateSource::Measured && self.card.is_none() {
            files.push(store.keep(&self.processor.name, NO_DRIVER, &self.processor.values));
        }
        if let Some(card) = self.card.as_ref().filter(|card| card.source == RateSource::Measured) {
            files.push(store.keep(&card.name, &driver(), &card.values));
        }
        files.into_iter().collect::<std::io::Result<_>>().map_err(|error| format!("{error}; {advice}"))
    }
}

/// The driver's name in the records of a processor.
const NO_DRIVER: &str = "none";

/// The CUDA version of the driver, such as "13.0".
fn driver() -> String {
    let version = jit::driver_version().unwrap_or(0);
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

/// The processor of this machine, with the number of cores that threads run on.
fn processor() -> Known<Processor> {
    let (name, cores) = (Device::cpu().name(), rayon::current_num_threads());
    let measured = Store::from_env().and_then(|store| store.find::<Processor>(&name, NO_DRIVER));
    match measured {
        Some(values) => Known { name, source: RateSource::Measured, values: Processor { cores, ..values } },
        None => Known { name, source: RateSource::Estimated, values: Processor::of_cores(cores) },
    }
}

impl Store {
    /// The store beside the kernel cache named by the environment.
    fn from_env() -> Option<Store> {
        Store::open(&Settings::from_env().ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_a_machine_and_no_other() {
        for word in Machine::WORDS {
            let machine = Machine::named(word).unwrap();
            assert_eq!(machine.card.is_none(), word == "cpu", "{word}");
            assert!(machine.processor.values.cores > 0);
        }
        assert_eq!(Machine::named("h200"), Some(Machine::h200()));
        assert_eq!(Machine::named("k20"), None);
        assert_eq!(Machine::named("NVIDIA H200"), None);
    }

    #[test]
    fn the_longer_of_operations_and_bytes_counts() {
        let h200 = Machine::h200();
        assert_eq!(h200.seconds_by_rates(33.5e12, 1.0), 1.0);
        assert_eq!(h200.seconds_by_rates(1.0, 4.3e12), 1.0);
        let cpu = Machine::named("cpu").unwrap();
        assert!(cpu.seconds_by_rates(1e12, 1.0) > h200.seconds_by_rates(1e12, 1.0));
    }

    #[test]
    fn the_cpu_has_no_card_and_measuring_it_gives_rates() {
        let cpu = Device::cpu();
        assert_eq!(Machine::new(&cpu).card, None);
        let measured = Machine::measure(&cpu).unwrap();
        let Processor { cores, core_rate, core_memory_rate, memory_rate } = measured.processor.values;
        assert_eq!((cores, measured.processor.source), (rayon::current_num_threads(), RateSource::Measured));
        // From a slow virtual core to more than any processor reaches.
        assert!((1e8..1e12).contains(&core_rate), "{core_rate:e} operations a second");
        assert!((1e8..1e12).contains(&core_memory_rate), "{core_memory_rate:e} bytes a second");
        assert!((1e8..1e14).contains(&memory_rate), "{memory_rate:e} bytes a second");
    }
}
