//! Seeded random numbers and models.

use eigenforge::lattice::Lattice;
use eigenforge::operator::{Factor, Operator, Spin};
use eigenforge::runtime::seeded::element;

/// Numbers in [−1, 1), one after the other.
pub struct Random {
    seed: u64,
    next: u64,
}

impl Random {
    pub fn new(seed: u64) -> Random {
        Random { seed, next: 0 }
    }

    pub fn number(&mut self) -> f64 {
        self.next += 1;
        element(self.seed, self.next)
    }

    pub fn numbers(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.number()).collect()
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (((self.number() + 1.0) * 0.5 * bound as f64) as usize).min(bound - 1)
    }
}

/// All pairs of sites, each there with probability `density`, weight 1.
pub fn graph(random: &mut Random, sites: usize, density: f64) -> Lattice {
    let mut edges: Vec<(usize, usize, f64)> = Vec::new();
    for i in 0..sites {
        for j in i + 1..sites {
            if j == i + 1 || random.number() < 2.0 * density - 1.0 {
                edges.push((i, j, 1.0));
            }
        }
    }
    Lattice::from_edges(sites, &edges).unwrap()
}

/// Hermitian, of two- and four-fermion products that conserve N↑ and N↓.
pub fn fermion_operator(random: &mut Random, sites: usize, terms: usize) -> Operator {
    let mut sum = Operator::zero().on_sites(sites);
    for term in 0..terms {
        let spin = |random: &mut Random| if random.number() < 0.0 { Spin::Up } else { Spin::Down };
        let (s, t) = (spin(random), spin(random));
        let (i, j, k, l) = (random.below(sites), random.below(sites), random.below(sites), random.below(sites));
        let factors = if term % 2 == 0 {
            vec![Factor::Create(s, i), Factor::Annihilate(s, j)]
        } else {
            vec![Factor::Create(s, i), Factor::Annihilate(s, j), Factor::Create(t, k), Factor::Annihilate(t, l)]
        };
        let product = Operator::product(&factors) * random.number();
        let adjoint = product.adjoint();
        sum = sum + product + adjoint;
    }
    sum
}

/// Hermitian, of products of up to three spin operators that conserve Sᶻ.
pub fn spin_operator(random: &mut Random, sites: usize, two_s: u32, terms: usize) -> Operator {
    let mut sum = Operator::zero().on_sites(sites);
    for term in 0..terms {
        let (i, j, k) = (random.below(sites), random.below(sites), random.below(sites));
        let factors = match term % 3 {
            0 => vec![Factor::Raise(i), Factor::Lower(j)],
            1 => vec![Factor::Sz(i), Factor::Sz(j)],
            _ => vec![Factor::Raise(i), Factor::Sz(k), Factor::Lower(j)],
        };
        let product = Operator::product(&factors) * random.number();
        let adjoint = product.adjoint();
        sum = sum + product + adjoint;
    }
    sum.spin(two_s)
}
