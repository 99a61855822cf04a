//! Copies between the memories of cards that work on one problem, each as a device of its own.
//!
//! [`Device::members`] opens the cards of a device of several as devices of their own, each with its stream, kernels and libraries.
//! Work of one card is ordered by its stream; a copy is ordered with the work of both cards: it begins when all that was queued on both
//! before is done, and what is queued on either afterwards waits for it. Nothing waits on the host. Each pair of cards has a stream for
//! each direction, so that all links work at once.
//!
//! The cards of a device see each other's memory: what the driver allocates, and what is mapped for an [`Arena`](super::Arena) from then
//! on. Parts of an arena are best copied by their own card, which is then the [mover](Mover).

use super::context::driver;
use super::cuda::Cuda;
use super::streams::{Event, Stream};
use super::{Device, Sim, Vector};
use crate::error::{DeviceError, Result};
use cudarc::driver::{result, sys};
use std::sync::Arc;

/// A run of elements that is copied: its first element in the source, in the target, and how many.
pub(crate) type CopiedRun = [usize; 3];

/// The card whose copy engine moves the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mover {
    /// The card of the source.
    Source,
    /// The card of the target.
    Target,
}

/// What arrives in one vector.
pub(crate) struct Arrival<'a> {
    /// Number of the vector's card.
    pub card: usize,
    /// The vector.
    pub target: &'a mut Vector<f64>,
    /// Number of the card, the vector there, and the runs that are copied from it.
    pub sources: Vec<(usize, &'a Vector<f64>, Vec<CopiedRun>)>,
    /// Who copies.
    pub mover: Mover,
}

/// The links between cards.
pub(crate) struct Links {
    cards: Vec<Device>,
    on_cards: Option<OnCards>,
}

struct OnCards {
    cudas: Vec<Arc<Cuda>>,
    /// By card: what was queued on it before the copies.
    ready: Vec<Event>,
    /// By the card that copies and the other one; none from a card to itself.
    lanes: Vec<Vec<Option<Lane>>>,
}

/// The stream of a pair, and the end of the copies queued there.
struct Lane {
    stream: Stream,
    done: Event,
}

impl Device {
    /// The cards of this device, each as a device of its own with the same edited texts; a device of one card, or the CPU, is its only one. What they see of each
    /// other's memory lasts as long as this device is open.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn members(&self) -> Result<Vec<Device>> {
        let members: Vec<Device> = match self {
            Device::Cuda(cuda) if cuda.ordinals().len() > 1 => {
                let cards = cuda.ordinals().iter().map(|card| Cuda::open(&[*card])).collect::<Result<Vec<_>>>()?;
                let all = || cards.iter().map(|card| card.context().device());
                cards.iter().for_each(|card| card.context().open_to(all()));
                cards.into_iter().map(Device::Cuda).collect()
            }
            Device::Sim(sim) if sim.cards_at_work() > 1 => {
                let card = |_| Device::Sim(Arc::new(Sim::one_card(sim)));
                (0..sim.cards_at_work()).map(card).collect()
            }
            _ => return Ok(vec![self.clone()]),
        };
        if let Some(whole) = self.library() {
            members.iter().filter_map(Device::library).for_each(|own| own.share_overrides(whole.overrides()));
        }
        Ok(members)
    }
}

impl Links {
    /// Between these cards, which have the numbers of this order.
    ///
    /// # Errors
    /// The driver refuses.
    pub(crate) fn new(cards: &[Device]) -> Result<Links> {
        let cudas = cards.iter().map(|card| if let Device::Cuda(cuda) = card { Some(cuda.clone()) } else { None });
        let on_cards = cudas.collect::<Option<Vec<_>>>().map(OnCards::new).transpose()?;
        Ok(Links { cards: cards.to_vec(), on_cards })
    }

    /// The card of a number.
    pub(crate) fn card(&self, number: usize) -> &Device {
        &self.cards[number]
    }

    /// Queues copies, each behind all that was queued on both its cards so far; what is queued on them later waits for it. Vectors
    /// on one card are copied there.
    ///
    /// # Errors
    /// A run beyond a vector, a vector of another card; the driver refuses.
    pub(crate) fn run(&self, arrivals: &mut [Arrival<'_>]) -> Result<()> {
        arrivals.iter().try_for_each(|arrival| self.check(arrival))?;
        match &self.on_cards {
            Some(on_cards) => on_cards.run(arrivals),
            None => arrivals.iter_mut().try_for_each(on_host),
        }
    }

    fn check(&self, Arrival { card, target, sources, .. }: &Arrival<'_>) -> Result<()> {
        let own = |card: usize, vector: &Vector<f64>| match self.cards.get(card) {
            Some(device) if vector.device().is_same(device) => Ok(()),
            device => Err(DeviceError::WrongDevice {
                what: "a copy between cards".into(),
                expected: device.map_or_else(|| format!("one of {} cards", self.cards.len()), Device::name),
                found: vector.device().name(),
            }),
        };
        own(*card, target)?;
        for (card, source, runs) in sources {
            own(*card, source)?;
            let outside = |[from, to, count]: &&CopiedRun| from + count > source.len() || to + count > target.len();
            if let Some([from, to, count]) = runs.iter().find(outside) {
                return Err(DeviceError::Arguments {
                    what: "a copy between cards".into(),
                    expected: format!("runs within {} elements there and {} here", source.len(), target.len()),
                    found: format!("{count} elements from {from} to {to}"),
                });
            }
        }
        Ok(())
    }
}

fn on_host(Arrival { target, sources, .. }: &mut Arrival<'_>) -> Result<()> {
    for (_, source, runs) in sources {
        for [from, to, count] in runs {
            let mut values = vec![0.0; *count];
            source.read_part(*from, &mut values)?;
            target.write_part(*to, &values)?;
        }
    }
    Ok(())
}

impl OnCards {
    fn new(cudas: Vec<Arc<Cuda>>) -> Result<OnCards> {
        let ready = cudas.iter().map(Event::new).collect::<Result<Vec<_>>>()?;
        let lane = |mover: &Arc<Cuda>| Ok(Lane { stream: Stream::new(mover)?, done: Event::new(mover)? });
        let of = |mover: usize, other: usize| (mover != other).then(|| lane(&cudas[mover])).transpose();
        let row = |mover: usize| (0..cudas.len()).map(|other| of(mover, other)).collect::<Result<Vec<_>>>();
        let lanes = (0..cudas.len()).map(row).collect::<Result<Vec<_>>>()?;
        Ok(OnCards { cudas, ready, lanes })
    }

    fn stream(&self, card: usize) -> sys::CUstream {
        self.cudas[card].context().stream()
    }

    fn run(&self, arrivals: &mut [Arrival<'_>]) -> Result<()> {
        let mut involved: Vec<usize> =
            arrivals.iter().flat_map(|a| a.sources.iter().map(|(from, ..)| *from).chain([a.card])).collect();
        involved.sort_unstable();
        involved.dedup();
        involved.iter().try_for_each(|card| self.ready[*card].record(self.stream(*card)))?;
        let mut used = Vec::new();
        let queued = arrivals.iter_mut().try_for_each(|arrival| self.queue(arrival, &mut used));
        // After an error too: what was queued must be done before its memory has another use.
        let held = used.iter().try_for_each(|(mover, other)| {
            let Some(lane) = &self.lanes[*mover][*other] else { return Ok(()) };
            lane.done.record(lane.stream.raw())?;
            [*mover, *other].into_iter().try_for_each(|card| lane.done.hold(&self.cudas[card], self.stream(card)))
        });
        queued.and(held)
    }

    fn queue(&self, arrival: &mut Arrival<'_>, used: &mut Vec<(usize, usize)>) -> Result<()> {
        let Arrival { card, target, sources, mover } = arrival;
        let to_address = target.address().unwrap_or(0);
        for (from, source, runs) in sources {
            let (mover, other) = if *mover == Mover::Source { (*from, *card) } else { (*card, *from) };
            let stream = match &self.lanes[mover][other] {
                None => self.stream(mover),
                Some(lane) => {
                    if !used.contains(&(mover, other)) {
                        let both = [*from, *card].into_iter();
                        both.map(|card| &self.ready[card])
                            .try_for_each(|ready| ready.hold(&self.cudas[mover], lane.stream.raw()))?;
                        used.push((mover, other));
                    }
                    lane.stream.raw()
                }
            };
            self.cudas[mover].context().enter()?;
            let from_address = source.address().unwrap_or(0);
            for [first, to, count] in runs.iter().filter(|[.., count]| *count > 0) {
                let [to, from] = [to_address + 8 * *to as u64, from_address + 8 * *first as u64];
                // SAFETY: both ranges lie inside their vectors, as was compared, whose memory is given back in the order of
                // their cards' streams, which wait for the copy; the target is borrowed to be written.
                unsafe { result::memcpy_dtod_async(to, from, 8 * count, stream) }
                    .map_err(driver("cuMemcpyDtoDAsync"))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::teams;

    /// Each card collects what all have, in other orders, and nothing else changes. The name has a card run it.
    #[test]
    fn memcheck_every_card_collects_the_runs_of_all() {
        for team in teams(&[2, 3]) {
            let cards = team.members().unwrap();
            let links = Links::new(&cards).unwrap();
            let values = |card: usize| (0..5000).map(|k| (10_000 * card + k) as f64).collect::<Vec<f64>>();
            let own: Vec<Vector<f64>> =
                cards.iter().enumerate().map(|(k, card)| card.upload(&values(k)).unwrap()).collect();
            for mover in [Mover::Source, Mover::Target] {
                let mut all: Vec<Vector<f64>> =
                    cards.iter().map(|card| card.upload(&vec![-1.0; 1200 * cards.len()]).unwrap()).collect();
                let runs = |from: usize| {
                    vec![[7 * from, 1200 * from, 1000], [4000, 1200 * from + 1010, 0], [4100, 1200 * from + 1100, 33]]
                };
                let mut arrivals: Vec<Arrival<'_>> = all
                    .iter_mut()
                    .enumerate()
                    .map(|(card, target)| Arrival {
                        card,
                        target,
                        sources: own.iter().enumerate().map(|(from, vector)| (from, vector, runs(from))).collect(),
                        mover,
                    })
                    .collect();
                links.run(&mut arrivals).unwrap();
                let mut expected = vec![-1.0; 1200 * cards.len()];
                for from in 0..cards.len() {
                    for [first, to, count] in runs(from) {
                        expected[to..to + count].copy_from_slice(&values(from)[first..first + count]);
                    }
                }
                assert!(all.iter().all(|found| found.download().unwrap() == expected));
                let outside =
                    Arrival { card: 0, target: &mut all[0], sources: vec![(1, &own[1], vec![[4990, 0, 11]])], mover };
                let said = links.run(&mut [outside]).unwrap_err().to_string();
                assert!(said.contains("11 elements from 4990"), "{said}");
                let elsewhere = Arrival { card: 1, target: &mut all[0], sources: Vec::new(), mover };
                assert!(links.run(&mut [elsewhere]).is_err(), "a vector of another card");
            }
        }
    }

    #[test]
    fn a_device_of_one_card_is_its_only_one() {
        let device = Device::cpu();
        let members = device.members().unwrap();
        assert!(members.len() == 1 && members[0].is_same(&device));
    }
}
