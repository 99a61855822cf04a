//! A complex symmetry sector of a real H in states that are their own conjugates.
//!
//! Solvers then work on vectors of half the length, and every level is there once, not twice; energies are the same, and vectors are
//! given in the user's sector.
//!
//! In: a model in a sector of complex characters. Out: the same sector by the group with its antiunitary elements
//! ([`SymmetryGroup::with_conjugation`](eigenforge_core::operator::SymmetryGroup::with_conjugation)), and the way back for vectors; none if
//! H is complex, or no inversion or mirror of the lattice takes all characters to their conjugates.

use crate::model::Model;
use eigenforge_runtime::Scalar;
use num_complex::Complex64;
use rayon::prelude::*;

/// A sector in states that are their own conjugates.
#[derive(Debug)]
pub(crate) struct Conjugated {
    /// The real model.
    pub(crate) model: Model,
}

impl Conjugated {
    pub(crate) fn new(user: &Model) -> Option<Conjugated> {
        let sector = user.symmetric().filter(|sector| !sector.is_by_species())?;
        let charges = user.sector().charge_values();
        let group = sector.group().with_conjugation(user.operator(), &charges)?;
        let model = user.in_sector(group, sector.layout().clone(), sector.storage, false).ok()?;
        Some(Conjugated { model })
    }

    /// A vector of the real model as one of the user's: all real parts, then all imaginary parts.
    ///
    /// A state that is its own conjugate has the amplitude ψ(r)/√|orbit of r| at every word of the orbit of the whole group, up to σ and χ,
    /// and the user's amplitude of a representative is that at its word times the root of the size of its own orbit.
    pub(crate) fn vector<T: Scalar>(&self, user: &Model, vector: &[T]) -> Vec<T> {
        let found = self.amplitudes(user, vector);
        let (re, im) = (found.iter().map(|value| value.re), found.iter().map(|value| value.im));
        re.chain(im).map(T::from_f64).collect()
    }

    /// The same as complex amplitudes.
    pub(crate) fn amplitudes<T: Scalar>(&self, user: &Model, vector: &[T]) -> Vec<Complex64> {
        let (Some(own), Some(users)) = (self.model.symmetric(), user.symmetric()) else {
            unreachable!("both are sectors of a group")
        };
        let (own, users) = (own.orbits(), users.orbits());
        own.prepare();
        users.prepare();
        let element = |(word, stabiliser): (&u128, &u32)| -> Complex64 {
            let reached = own.actions().reached(*word);
            let Some(place) = own.index(reached.word) else { return Complex64::ZERO };
            let amplitude = own.amplitude(vector, place as usize);
            let amplitude = if reached.conjugates { amplitude.conj() } else { amplitude };
            // Orbits have |G| / |S| words.
            let (elements, all) = (users.actions().elements() as f64, own.actions().elements() as f64);
            let share = (elements / f64::from(*stabiliser)) / (all / f64::from(own.stabilisers()[place as usize]));
            reached.factor.conj() * amplitude * share.sqrt()
        };
        users.words().par_iter().zip(users.stabilisers()).map(element).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InSector;
    use eigenforge_core::lattice::{Lattice, LatticeKind};
    use eigenforge_core::operator::{Charge, Operator, SiteKind, Spin, Symmetry, build};
    use eigenforge_runtime::solvers::symmetric_eigen;
    use ndarray::Array1;

    fn bond_sum(lattice: &Lattice, of_bond: impl Fn(usize, usize) -> Operator) -> Operator {
        lattice.bonds().iter().map(|bond| of_bond(bond.i, bond.j)).sum::<Operator>().on_lattice(lattice)
    }

    /// Levels of the complex sector, each once, are those of the real one, and its vectors are eigenvectors there.
    fn check(model: &Model, symmetry: &Symmetry) -> (usize, usize) {
        let user = model.symmetry(symmetry).unwrap();
        let own = Conjugated::new(&user).unwrap_or_else(|| panic!("{}: {symmetry:?}", model.name()));
        let (whole, real) = (user.dense().unwrap(), own.model.dense().unwrap());
        let n = real.nrows();
        assert_eq!((user.states(), whole.nrows()), (n as u64, 2 * n));
        let scale = real.iter().fold(1.0f64, |scale, value| scale.max(value.abs()));
        for ((i, j), value) in real.indexed_iter() {
            assert!((value - real[[j, i]]).abs() < 1e-13 * scale, "symmetric");
        }
        let levels =
            |matrix: &ndarray::Array2<f64>| symmetric_eigen(matrix.nrows(), matrix.as_slice().unwrap()).unwrap();
        let ((values, vectors), (twice, _)) = (levels(&real), levels(&whole));
        for (k, value) in values.iter().enumerate() {
            for other in [twice[2 * k], twice[2 * k + 1]] {
                assert!((value - other).abs() < 1e-11 * scale * n as f64, "level {k}: {value}, {other}");
            }
            let users = Array1::from(own.vector(&user, &vectors[k]));
            assert!((users.dot(&users) - 1.0).abs() < 1e-12, "norm of {k}");
            let rest = whole.dot(&users) - *value * &users;
            assert!(rest.dot(&rest).sqrt() < 1e-11 * scale * n as f64, "residual of {k}");
        }
        let lines = own.model.symmetric().unwrap().orbits().lines().unwrap().len();
        assert_eq!(own.model.symmetric().unwrap().states() * 2 - lines, n);
        (n, lines)
    }

    #[test]
    fn levels_and_vectors_are_those_of_the_complex_sector() {
        use build::{b, bdag, c, cdag, n, sdots, sx, sz};
        let k = |momenta: &[i64]| Symmetry::new().k(momenta);
        let ring = |sites| Lattice::chain(sites).periodic();
        let mut lines = 0;
        for momentum in [1, 2, 3, 4] {
            lines += check(&bond_sum(&ring(10), sdots).two_sz(0).unwrap(), &k(&[momentum])).1;
            lines += check(&bond_sum(&ring(9), sdots).two_sz(1).unwrap(), &k(&[momentum])).1;
        }
        assert!(lines > 0);
        check(&bond_sum(&ring(12), sdots).two_sz(0).unwrap(), &k(&[2]).spin_inversion(-1));
        check(&bond_sum(&ring(6), sdots).spin(2).two_sz(0).unwrap(), &k(&[1]).spin_inversion(1));
        check(&bond_sum(&ring(6), sdots).spin(3).two_sz(0).unwrap(), &k(&[2]));
        let torus = Lattice::square([4, 3]).periodic();
        for momenta in [[1, 0], [0, 1], [1, 1], [2, 1]] {
            check(&bond_sum(&torus, sdots).two_sz(0).unwrap(), &k(&momenta));
        }
        let square = bond_sum(&Lattice::square([4, 4]).periodic(), sdots).two_sz(4).unwrap();
        for (momenta, irrep) in [([1, 0], "A1"), ([1, 1], "A2"), ([1, 2], "A2")] {
            check(&square, &k(&momenta).irrep(irrep));
        }
        check(&square, &k(&[1, 3]));
        let triangular = bond_sum(&Lattice::triangular([3, 3]).periodic(), sdots).two_sz(1).unwrap();
        for momenta in [[1, 0], [1, 1], [1, 2]] {
            check(&triangular, &k(&momenta));
        }
        let honeycomb = bond_sum(&Lattice::honeycomb([3, 2]).periodic(), sdots).two_sz(0).unwrap();
        check(&honeycomb, &k(&[1, 0]));
        let tilted = Lattice::tilted(LatticeKind::Square, [[3, 1], [-1, 3]]);
        check(&bond_sum(&tilted, sdots).two_sz(0).unwrap(), &k(&[1]));
        let kagome = bond_sum(&Lattice::kagome([2, 2]).periodic(), sdots).two_sz(4).unwrap();
        check(&kagome, &k(&[0, 0]).point_group("C3").irrep("E+"));
        let boson = |i: usize, j: usize| {
            let hop = bdag(i) * b(j);
            -1.0 * (hop.clone() + hop.adjoint()) + 0.2 * (bdag(i) * b(i) * bdag(j) * b(j))
        };
        let bosons = bond_sum(&ring(5), boson).on_kinds(&[SiteKind::Bosons { most: 3 }; 5]);
        check(&bosons.charges(&[(Charge::Bosons, 5)]).unwrap(), &k(&[2]));
        let f = Spin::Flavour(0);
        let bond = |i: usize, j: usize| {
            let hop = cdag(i, f) * c(j, f);
            -1.0 * (hop.clone() + hop.adjoint()) + 1.7 * (n(i, f) * n(j, f))
        };
        for (sites, particles) in [(8, 4), (8, 3), (9, 4), (7, 2)] {
            let spinless = bond_sum(&ring(sites), bond).on_kinds(&vec![SiteKind::Flavours(1); sites]);
            check(&spinless.charges(&[(Charge::Particles, particles)]).unwrap(), &k(&[1]));
        }
        // Words of more than 64 bits, and states that do not occur.
        check(&bond_sum(&ring(66), sdots).two_sz(62).unwrap(), &k(&[5]));
        let field = (0..10).map(|i| sx(i) + 0.3 * sz(i)).sum::<Operator>().on_lattice(&ring(10));
        let blocked = (0..10).fold(field.on_kinds(&[SiteKind::Moments { two_s: 1 }; 10]), |operator, site| {
            operator.forbid(&[(site, 1), ((site + 1) % 10, 1)])
        });
        check(&blocked.charges(&[]).unwrap(), &k(&[3]));
        let electrons = |lattice: &Lattice, up, down| {
            let hop = |i: usize, j: usize| {
                let hop = |s| cdag(i, s) * c(j, s);
                let both = hop(Spin::Up) + hop(Spin::Down);
                -1.0 * (both.clone() + both.adjoint())
            };
            let on_site = |i: usize| 3.3 * (n(i, Spin::Up) * n(i, Spin::Down));
            let operator = bond_sum(lattice, hop) + lattice.sites().map(on_site).sum::<Operator>();
            let kinds = vec![SiteKind::Electrons; lattice.sites().len()];
            operator.on_kinds(&kinds).charges(&[(Charge::Up, up), (Charge::Down, down)]).unwrap()
        };
        check(&electrons(&ring(6), 3, 3), &k(&[1]).exchange(-1));
        check(&electrons(&ring(5), 2, 3), &k(&[2]));
        check(&electrons(&Lattice::square([3, 2]).periodic(), 2, 2), &k(&[1, 1]));
    }

    /// A term that breaks every mirror counts beside one that is 10¹³ times as large.
    #[test]
    fn small_terms_that_break_the_symmetry_keep_the_sector_complex() {
        use build::{sdots, sz};
        let ring = Lattice::chain(8).periodic();
        let breaking = |third: usize| {
            let bond = |i: usize| 1e-5 * sdots(i, (i + 1) % 8) + 1.5e-5 * (sdots(i, (i + 1) % 8) * sz((i + third) % 8));
            let field = |i: usize| 1e8 * sz(i);
            let all = (0..8).map(|i| bond(i) + field(i)).sum::<Operator>().on_lattice(&ring);
            all.two_sz(2).unwrap().symmetry(&Symmetry::new().k(&[1])).unwrap()
        };
        assert!(Conjugated::new(&breaking(3)).is_none());
        let plain = (0..8).map(|i| 1e-5 * sdots(i, (i + 1) % 8) + 1e8 * sz(i)).sum::<Operator>().on_lattice(&ring);
        let plain = plain.two_sz(2).unwrap().symmetry(&Symmetry::new().k(&[1])).unwrap();
        assert!(Conjugated::new(&plain).is_some());
    }

    /// Also where a plan of memory is made before.
    #[test]
    fn more_states_than_a_sector_has_are_refused() {
        let ring = bond_sum(&Lattice::chain(6).periodic(), build::sdots).two_sz(2).unwrap();
        for (momentum, states) in [(0, 5), (1, 3)] {
            let sector = ring.symmetry(&Symmetry::new().k(&[momentum])).unwrap();
            let device = eigenforge_runtime::Device::cpu();
            let (solve, _) = crate::Lanczos::new(&sector).states(states).choose(&device);
            let error = solve.run(&device).err().unwrap().to_string();
            assert!(error.starts_with(&format!("{states} states were requested, but")), "{error}");
        }
    }
}
