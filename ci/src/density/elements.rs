//! The distinct elements of Γ, for families that measure one average after the other.
//!
//! In: a number of orbitals. Out: one of each set of elements that are equal in a real state, Γ_pqrs = Γ_rspq = Γ_qpsr = Γ_srqp, as
//! operators; and Γ from their averages.

use super::TwoBody;
use eigenforge_core::observable::{Observable, Shape};
use eigenforge_core::operator::{Factor, Operator, Spin};
use ndarray::Array4;

/// The distinct elements of Γ of so many orbitals.
pub struct TwoBodyElements {
    orbitals: usize,
    list: Vec<[usize; 4]>,
}

impl TwoBodyElements {
    /// Lists them.
    pub fn new(orbitals: usize) -> TwoBodyElements {
        let n = orbitals;
        let all = (0..n.pow(4)).map(|k| [k / (n * n * n), k / (n * n) % n, k / n % n, k % n]);
        TwoBodyElements { orbitals, list: all.filter(|element| equal(*element)[0] >= *element).collect() }
    }

    /// Σ_στ c†_pσ c†_rτ c_sτ c_qσ of each, in the order of the list.
    pub fn observable(&self, name: &str) -> Observable {
        let spins = [Spin::Up, Spin::Down];
        let element = |[p, q, r, s]: &[usize; 4]| -> Operator {
            let pairs = spins.iter().flat_map(|one| spins.iter().map(move |other| (*one, *other)));
            let product = |(one, other)| {
                let creators = [Factor::Create(one, *p), Factor::Create(other, *r)];
                Operator::product(&[
                    creators[0],
                    creators[1],
                    Factor::Annihilate(other, *s),
                    Factor::Annihilate(one, *q),
                ])
            };
            pairs.map(product).sum()
        };
        let operators = self.list.iter().map(element).collect();
        Observable { name: name.into(), shape: Shape::Sites, operators, left_out: Vec::new() }
    }

    /// Γ from the averages of the list; `None` if there are not as many.
    pub fn matrix(&self, averages: &[f64]) -> Option<TwoBody> {
        let mut values = Array4::zeros([self.orbitals; 4]);
        if averages.len() != self.list.len() {
            return None;
        }
        for (element, average) in self.list.iter().zip(averages) {
            equal(*element).iter().for_each(|place| values[*place] = *average);
        }
        Some(TwoBody { values })
    }
}

/// The elements that are equal to one in a real state, ascending.
fn equal([p, q, r, s]: [usize; 4]) -> [[usize; 4]; 4] {
    let mut all = [[p, q, r, s], [r, s, p, q], [q, p, s, r], [s, r, q, p]];
    all.sort_unstable();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_is_on_the_list_once() {
        let elements = TwoBodyElements::new(3);
        let all: usize = elements
            .list
            .iter()
            .map(|element| {
                let mut equal = equal(*element).to_vec();
                equal.dedup();
                equal.len()
            })
            .sum();
        assert_eq!(all, 81);
        let averages: Vec<f64> = (0..elements.list.len()).map(|k| k as f64).collect();
        let matrix = elements.matrix(&averages).unwrap().values;
        assert_eq!(matrix[[0, 1, 2, 2]], matrix[[2, 2, 1, 0]]);
        assert!(elements.matrix(&averages[1..]).is_none());
    }
}
