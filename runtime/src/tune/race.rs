//! Timing candidates side by side: CUDA events, round after round, over buffers that rotate through more than the L2 cache.

use crate::device::Device;
use crate::error::Result;

/// One candidate: its name and one run of it on pair `k` of the rotating buffers.
pub struct Racer<'a> {
    /// Its name in the report.
    pub name: String,
    /// Runs it once.
    pub run: Box<dyn FnMut(usize) -> Result<()> + 'a>,
}

/// How long one run of a candidate took.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// The candidate.
    pub name: String,
    /// Median over the rounds, in milliseconds.
    pub milliseconds: f64,
}

/// Rounds; every candidate runs in each, so that clock drift affects all equally.
const ROUNDS: usize = 7;
/// Minimum length of a sample in milliseconds, so that the events' resolution does not matter.
const SAMPLE: f64 = 2.0;
/// Runs of one sample, at most.
const MOST_RUNS: f64 = 256.0;

/// Times every candidate over `buffers` rotating pairs. The first run of each, which may build tables, is not counted.
pub fn race(device: &Device, racers: &mut [Racer<'_>], buffers: usize) -> Result<Vec<Timing>> {
    let mut runs = Vec::new();
    for racer in racers.iter_mut() {
        (racer.run)(0)?;
        let (done, once) = device.time(|| (racer.run)(1 % buffers))?;
        done?;
        runs.push((SAMPLE / once.max(1e-3)).ceil().clamp(1.0, MOST_RUNS) as usize);
    }
    let mut samples = vec![Vec::with_capacity(ROUNDS); racers.len()];
    for round in 0..ROUNDS {
        for ((racer, runs), samples) in racers.iter_mut().zip(&runs).zip(&mut samples) {
            let mut rotating = (round * runs..(round + 1) * runs).map(|run| run % buffers);
            let (done, milliseconds) = device.time(|| rotating.try_for_each(|pair| (racer.run)(pair)))?;
            done?;
            samples.push(milliseconds / *runs as f64);
        }
    }
    let timing = |(racer, mut samples): (&Racer<'_>, Vec<f64>)| {
        samples.sort_by(f64::total_cmp);
        Timing { name: racer.name.clone(), milliseconds: samples[ROUNDS / 2] }
    };
    Ok(racers.iter().zip(samples).map(timing).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::time::Duration;

    #[test]
    fn the_slower_one_is_told_from_the_faster_and_all_buffers_are_used() {
        let seen = RefCell::new([0usize; 3]);
        let racer = |name: &str, milliseconds: u64| Racer {
            name: name.into(),
            run: Box::new({
                let seen = &seen;
                move |buffer| {
                    seen.borrow_mut()[buffer] += 1;
                    std::thread::sleep(Duration::from_millis(milliseconds));
                    Ok(())
                }
            }),
        };
        let mut racers = [racer("slow", 4), racer("fast", 1)];
        let timings = race(&Device::cpu(), &mut racers, 3).unwrap();
        assert_eq!((timings[0].name.as_str(), timings[1].name.as_str()), ("slow", "fast"));
        assert!(timings[0].milliseconds >= 4.0 && timings[1].milliseconds >= 1.0, "{timings:?}");
        assert!(timings[0].milliseconds > timings[1].milliseconds, "{timings:?}");
        drop(racers);
        assert!(seen.into_inner().iter().all(|count| *count > 0));
    }

    #[test]
    fn a_candidate_that_fails_stops_the_race() {
        let fail = || Device::parse("moon").map(drop);
        let mut racers = [Racer { name: "broken".into(), run: Box::new(move |_| fail()) }];
        assert!(race(&Device::cpu(), &mut racers, 1).is_err());
    }
}
