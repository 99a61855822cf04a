//! One run on several cards of a machine: what each would do, hold and receive at the middle bond, and whether that is worth it.
//!
//! In: a chain, the largest number of states, the number of cards. Out: [`CardLoad`]s of the middle bond, planned over blocks that have
//! sizes but no numbers, with states shared by the sectors as before a run.

use crate::chain::Chain;
use crate::error::DmrgError;
use crate::memory::forecast::PlannedBond;
use eigenforge_core::words::size;
use eigenforge_runtime::backend::{CardLoad, LEAST_SHARED_FLOPS, card_loads};
use eigenforge_runtime::residency::MemoryLimits;
use eigenforge_runtime::solvers::lean::WIDTH;
use eigenforge_runtime::{Device, DeviceError};
use std::fmt;

/// The middle bond over several cards.
pub struct CardsPlan {
    /// Operations of a product with H.
    flops: f64,
    loads: Vec<CardLoad>,
    cards: usize,
}

impl CardsPlan {
    /// The plan for so many states and cards.
    ///
    /// # Errors
    /// Errors of the engine; the counting engine has none today.
    pub fn new(chain: &Chain, states: usize, cards: usize) -> Result<CardsPlan, DmrgError> {
        let product = PlannedBond::middle(chain, states)?.product;
        Ok(CardsPlan { flops: product.flops(), loads: card_loads(&product, cards), cards })
    }

    /// Refuses cards beside the first that have too little free memory for their part, with the numbers.
    ///
    /// # Errors
    /// The first such card.
    pub fn check(&self, cards: &[Device]) -> Result<(), DeviceError> {
        let others = cards.iter().zip(&self.loads).skip(1);
        others.into_iter().try_for_each(|(card, load)| {
            card.check_memory("a part of each vector, x, and copies of operators", self.bytes(load))
        })
    }

    /// Limits with room on the other cards for buffers that leave the first: what each has beside its own part, which may turn out a
    /// quarter larger than estimated.
    pub fn limits(&self, cards: &[Device], limits: MemoryLimits) -> MemoryLimits {
        let own: Vec<u64> = self.loads.iter().skip(1).map(|load| self.bytes(load) / 4 * 5).collect();
        limits.with_other_cards(cards, &own)
    }

    /// Bytes of V, W, x and three vectors, and of operators, once more where they stream.
    fn bytes(&self, load: &CardLoad) -> u64 {
        let own = (2 * WIDTH + 4) * load.elements;
        8 * own as u64 + load.x_bytes + 2 * load.operator_bytes
    }

    /// Whether real cards would share out anything.
    pub fn is_worth_it(&self) -> bool {
        self.loads.len() > 1 && self.flops >= LEAST_SHARED_FLOPS
    }
}

impl fmt::Display for CardsPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CardsPlan { flops, loads, cards } = self;
        let about = format!("a product with H at the middle bond takes {flops:.2e} operations");
        if !self.is_worth_it() {
            let why = match loads.len() {
                1 => ", all for one block of sectors".into(),
                _ => format!(", and several cards share out those of {LEAST_SHARED_FLOPS:.0e} or more"),
            };
            return writeln!(f, "cards    the first of {cards} alone: {about}{why}");
        }
        let most = loads.iter().map(|load| load.flops).fold(0.0, f64::max);
        writeln!(
            f,
            "cards    {} of {cards}: {about}, of which the largest share is {:.1} %; products of less than {LEAST_SHARED_FLOPS:.0e} are the first card's",
            loads.len(),
            100.0 * most / flops
        )?;
        for (card, CardLoad { flops: own, elements, operator_bytes, x_bytes }) in loads.iter().enumerate() {
            let vectors = 16 * (WIDTH * elements) as u64;
            let operators = match card {
                0 => "leads: blocks, kept states and the wave function".into(),
                _ => format!(
                    "operators {} once per bond; keeps blocks that card 0 has no room for",
                    size(*operator_bytes)
                ),
            };
            writeln!(
                f,
                "         card {card}: {:.1} % of the operations; holds {elements} elements of each vector, V and W {}; \
                 receives {} per product, {operators}",
                100.0 * own / flops,
                size(vectors),
                size(*x_bytes),
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eigenforge_core::basis::Sector;
    use eigenforge_core::lattice::{Boundary, Lattice};
    use eigenforge_core::models::hubbard;

    /// The 8 x 4 cylinder of benches/results/dmrg.toml: four cards are worth it at thousands of states, not at hundreds, and take even shares.
    #[test]
    fn cylinders_take_several_cards_and_short_chains_do_not() {
        let lattice = Lattice::square([8, 4]).boundary([Boundary::Open, Boundary::Periodic]);
        let (bonds, sites) = (lattice.bonds().len(), lattice.sites().len());
        let model: eigenforge_core::operator::Operator =
            hubbard(&lattice, &vec![1.0; bonds], &vec![8.0; sites], &vec![0.0; sites], 0.0, &vec![0.0; bonds]);
        let chain = Chain::new(&model, Sector::Fermions { up: 14, down: 14 }, None).unwrap();
        let plan = CardsPlan::new(&chain, 8192, 4).unwrap();
        assert!(plan.is_worth_it() && plan.loads.len() == 4, "{plan}");
        let most = plan.loads.iter().map(|load| load.flops).fold(0.0, f64::max);
        assert!(most < 0.27 * plan.flops, "{plan}");
        let sum: f64 = plan.loads.iter().map(|load| load.flops).sum();
        assert!((sum - plan.flops).abs() < 1e-9 * sum, "{plan}");
        // What a card holds beside the first: 44 vectors of its part, x, and its operators twice.
        let held = plan.bytes(&plan.loads[1]);
        assert!((6 << 30..24 << 30).contains(&held), "{held} bytes, {plan}");
        let few = CardsPlan::new(&chain, 256, 4).unwrap();
        assert!(!few.is_worth_it() && few.to_string().contains("the first of 4 alone"), "{few}");
    }
}
