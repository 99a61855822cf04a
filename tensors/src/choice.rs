//! Where a transformation runs: on the device that was asked for, or on the one that is faster by the rates of the machine.

use super::OscillatorSpace;
use super::error::TransformError;
use eigenforge_runtime::machine::Machine;
use eigenforge_runtime::{Device, DeviceError};
use rayon::prelude::*;

/// Makes an opened device ready.
pub(crate) type PrepareDevice<'r> = dyn Fn(&Device, Option<&str>) -> Result<(), DeviceError> + Sync + 'r;

/// Seconds until a card's driver has started and its kernels are compiled and have their tables: 1.5 to 2.2 s for N_max = 8 to 14 on an
/// H200 (benches/results/su3.toml), most of it on the host and so much the same for any card. Its own work is a hundredth of that of 16 cores
/// and does not count.
const CARD_START: f64 = 2.0;
/// Operations of the cores per number, at the rate of a product of large matrices: 14 to 20 ns on 16 Xeon cores, N_max = 8 to 20 (the
/// same table).
const OPERATIONS: f64 = 1.8e4;

/// Seconds in which these cores transform three channels of a space.
fn seconds_on_cores(space: OscillatorSpace, machine: &Machine) -> f64 {
    let numbers = 3.0 * space.counts().elements as f64;
    machine.seconds_by_rates(OPERATIONS * numbers, 16.0 * numbers)
}

/// The device that was asked for.
pub(crate) struct DeviceChoice<'c> {
    /// "auto", "cpu", "cuda", "cuda:1", "cuda:0-1", "sim".
    pub device: &'c str,
    pub n_max: u32,
    /// Which worker of a team of processes this is.
    pub worker: Option<usize>,
}

impl DeviceChoice<'_> {
    /// Whether a card can be faster than the cores of this machine, by their rates.
    fn pays_on_a_card(&self) -> bool {
        seconds_on_cores(OscillatorSpace { n_max: self.n_max }, &Machine::new(&Device::cpu())) > CARD_START
    }

    /// Whether kernels may run, before there is a device.
    pub(crate) fn may_be_a_card(&self) -> bool {
        match self.device {
            "cpu" => false,
            "auto" => self.pays_on_a_card() && Device::cards() > 0,
            _ => true,
        }
    }

    /// The cards of this process by name. Workers of a team take those of a set in turn.
    pub(crate) fn names(&self) -> Result<Vec<String>, DeviceError> {
        let names = Device::cards_of(self.device)?;
        Ok(match self.worker {
            Some(worker) => vec![names[worker % names.len()].clone()],
            None => names,
        })
    }

    /// How many cards the workers of a team take in turn.
    pub(crate) fn cards_of_workers(&self) -> Result<usize, DeviceError> {
        Ok(match self.device {
            "auto" | "cuda" => Device::cards().max(1),
            name => Device::cards_of(name)?.len(),
        })
    }

    /// Where it runs, and why on the CPU if that needs saying. Workers of a team take the cards of their machine, or of the set that is
    /// named, in turn: with fewer cards than workers each has its share of one.
    pub(crate) fn open(&self, prepare: &PrepareDevice<'_>) -> Result<(Vec<Device>, Option<String>), TransformError> {
        let (devices, on_cpu) = match (self.device, self.worker) {
            ("auto", _) if !self.pays_on_a_card() => (vec![Device::cpu()], None),
            ("auto", Some(_)) if Device::cards() == 0 => (vec![Device::cpu()], None),
            ("auto" | "cuda", Some(worker)) => (vec![Device::cuda(worker % Device::cards().max(1))?], None),
            ("auto", None) => {
                let (device, reason) = Device::best_with_reason();
                (vec![device], reason.map(|reason| format!("using the CPU: {reason}")))
            }
            _ => {
                let opened = self.names()?.into_par_iter().map(|name| Device::parse(&name));
                (opened.collect::<Result<Vec<Device>, DeviceError>>()?, None)
            }
        };
        devices.iter().try_for_each(|device| prepare(device, on_cpu.as_deref()))?;
        Ok((devices, on_cpu))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eigenforge_runtime::machine::{Known, Processor, RateSource};

    /// The measured crossings: 16 cores take 1.1 s for N_max = 14 and 10.5 s for 20 (docs/performance.md).
    #[test]
    fn the_rates_of_the_cores_decide_from_which_space_a_card_pays() {
        let first = |cores: usize| {
            let values = Processor::of_cores(cores);
            let processor = Known { name: "cores".into(), source: RateSource::Table, values };
            let machine = Machine { processor, card: None };
            let seconds = |n_max| seconds_on_cores(OscillatorSpace { n_max }, &machine);
            (0..).step_by(2).find(|n_max| seconds(*n_max) > CARD_START).unwrap()
        };
        assert_eq!([2, 16, 128].map(first), [12, 16, 22]);
        let processor = Known { name: "cores".into(), source: RateSource::Table, values: Processor::XEON };
        let machine = Machine { processor, card: None };
        for (n_max, measured) in [(8, 0.046), (12, 0.38), (14, 1.125), (20, 10.478)] {
            let predicted = seconds_on_cores(OscillatorSpace { n_max }, &machine);
            assert!(
                (0.6..1.4).contains(&(predicted / measured)),
                "N_max = {n_max}: {predicted} s, {measured} measured"
            );
        }
    }
}
