//! Averages state by state, for states that are listed: those of more than 64 bits.
//!
//! In: the list, orthonormal vectors, products. Out: one average per product. A product is a sum of transitions, and a transition acts
//! on the states in which some bits have given values. With few particles most bits are nearly always equal: [`RareBits`] has, of each
//! such bit, the states in which it is not. A transition that asks for one of them visits those states alone; a diagonal one that asks
//! for the usual value is the same without the bit, less the one with the rare value.

use eigenforge_core::basis::Basis;
use eigenforge_core::operator::{Product, SiteLayout, Transition};
use eigenforge_runtime::Scalar;
use rayon::prelude::*;
use std::ops::Range;

/// States a task works on, so that the number of threads changes no bit.
const STATES: u64 = 1 << 14;
/// A bit is rarely other than usual if it is so in one of so many states.
const RARE: u64 = 4;
/// Products from which the lists of rare bits pay.
const MANY: usize = 8;

/// The value of a bit that is rare, and the states that have it, ascending; `None` if neither is.
type Rare = Option<(bool, Vec<u32>)>;

/// All bits.
struct RareBits(Vec<Rare>);

impl RareBits {
    fn new(basis: &Basis) -> RareBits {
        let (bits, states) = (basis.word().bits(), basis.dimension());
        let of_bit = |bit: u32| {
            let is_set = |index: &u64| basis.state(*index) >> bit & 1 == 1;
            let set = (0..states).filter(is_set).count() as u64;
            let rare = set * RARE <= states;
            if !rare && (states - set) * RARE > states {
                return None;
            }
            Some((rare, (0..states).filter(|index| is_set(index) == rare).map(|index| index as u32).collect()))
        };
        RareBits((0..bits).into_par_iter().map(of_bit).collect())
    }

    /// The shortest list of states among which are all on which a transition acts.
    fn list(&self, transition: &Transition<u128>) -> Option<&[u32]> {
        let asks = |(bit, rare): &(usize, &Rare)| {
            let value = transition.pattern >> bit & 1 == 1;
            transition.care >> bit & 1 == 1 && rare.as_ref().is_some_and(|(rare, _)| *rare == value)
        };
        let lists = self.bits().filter(asks).filter_map(|(_, rare)| rare.as_ref().map(|(_, list)| &list[..]));
        lists.min_by_key(|list| list.len())
    }

    /// A bit of which a transition asks for the usual value.
    fn usual(&self, transition: &Transition<u128>) -> Option<u128> {
        let cared = |(bit, rare): &(usize, &Rare)| rare.is_some() && transition.care >> bit & 1 == 1;
        self.bits().find(cared).map(|(bit, _)| 1 << bit)
    }

    fn bits(&self) -> impl Iterator<Item = (usize, &Rare)> {
        self.0.iter().enumerate()
    }
}

/// The sums over the states of a multiplet.
struct Sums<'a, T> {
    basis: &'a Basis,
    multiplet: &'a [&'a [T]],
    rare: RareBits,
    /// Σ v_s², of all states.
    norm: f64,
}

impl<T: Scalar> Sums<'_, T> {
    /// Σ v_s v_s′ over what states s reach.
    fn transition_sum(&self, transition: Transition<u128>) -> f64 {
        if let Some(list) = self.rare.list(&transition) {
            return list.iter().map(|index| self.of_state(&transition, (*index).into())).sum();
        }
        if let (0, 0, Some(bit)) = (transition.flip, transition.sign, self.rare.usual(&transition)) {
            let without = Transition { care: transition.care & !bit, pattern: transition.pattern & !bit, ..transition };
            return self.transition_sum(without)
                - self.transition_sum(Transition { pattern: transition.pattern ^ bit, ..transition });
        }
        if (transition.flip, transition.sign, transition.care) == (0, 0, 0) {
            return transition.amplitude * self.norm;
        }
        let states = self.basis.dimension();
        let of_task = |task: u64| {
            let range: Range<u64> = task * STATES..states.min((task + 1) * STATES);
            range.map(|index| self.of_state(&transition, index)).sum::<f64>()
        };
        let sums: Vec<f64> = (0..states.div_ceil(STATES)).into_par_iter().map(of_task).collect();
        sums.iter().sum()
    }

    fn of_state(&self, transition: &Transition<u128>, index: u64) -> f64 {
        let state = self.basis.state(index);
        let Some(amplitude) = transition.amplitude_in(state) else { return 0.0 };
        let reached = if transition.flip == 0 { Some(index) } else { self.basis.index(state ^ transition.flip) };
        let Some(reached) = reached else { return 0.0 };
        let products = self.multiplet.iter().map(|v| v[index as usize].to_f64() * v[reached as usize].to_f64());
        amplitude * products.sum::<f64>()
    }
}

/// The averages over orthonormal vectors on the host.
pub(super) fn averages<T: Scalar>(
    layout: &SiteLayout,
    basis: &Basis,
    multiplet: &[&[T]],
    products: &[Product],
) -> Vec<f64> {
    let share = 1.0 / multiplet.len().max(1) as f64;
    let rare = if products.len() < MANY { RareBits(Vec::new()) } else { RareBits::new(basis) };
    let norm = multiplet.iter().map(|v| v.iter().map(|x| x.to_f64() * x.to_f64()).sum::<f64>()).sum();
    let sums = Sums { basis, multiplet, rare, norm };
    let of_product = |product: &Product| -> f64 {
        layout.transitions(product, 1.0).into_iter().map(|transition| sums.transition_sum(transition)).sum::<f64>()
            * share
    };
    products.par_iter().map(of_product).collect()
}
