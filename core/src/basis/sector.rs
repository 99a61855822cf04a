//! The conserved numbers that fix a basis.

use crate::operator::Charge;
use serde::{Deserialize, Serialize};

/// The conserved numbers that fix a basis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sector {
    /// Numbers of up and down electrons.
    Fermions {
        /// n↑
        up: usize,
        /// n↓
        down: usize,
    },
    /// Numbers of fermions of each flavour.
    Flavours(Vec<usize>),
    /// Twice the total Sᶻ of local moments.
    Spins {
        /// 2 Σ Sᶻ
        two_sz: i64,
    },
    /// Any charges that the model conserves, of sites of any kind; none for all states.
    Charges(Vec<(Charge, i64)>),
}

impl Sector {
    /// The charges that it fixes, each with its value.
    pub fn charge_values(&self) -> Vec<(Charge, i64)> {
        match self {
            Sector::Fermions { up, down } => vec![(Charge::Up, *up as i64), (Charge::Down, *down as i64)],
            Sector::Flavours(numbers) => {
                (0..=u8::MAX).zip(numbers).map(|(flavour, n)| (Charge::Flavour(flavour), *n as i64)).collect()
            }
            Sector::Spins { two_sz } => vec![(Charge::TwoSz, *two_sz)],
            Sector::Charges(charges) => charges.clone(),
        }
    }

    /// The charges that it fixes.
    pub fn charges(&self) -> Vec<Charge> {
        self.charge_values().into_iter().map(|(charge, _)| charge).collect()
    }
}

impl std::fmt::Display for Sector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let all: Vec<String> = self.charge_values().into_iter().map(|(charge, value)| charge.valued(value)).collect();
        if all.is_empty() { f.write_str("all states") } else { f.write_str(&all.join(", ")) }
    }
}
