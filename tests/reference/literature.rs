//! Models with exact solutions in the literature; each solution is worked out here, from one-particle matrices or closed formulas.
//!
//! | model | solution |
//! |---|---|
//! | honeycomb | Kitaev, Ann. Phys. 321, 2 (2006): free Majoranas in every flux; those of the right parity are states of the spins |
//! | XY and transverse Ising rings | Lieb, Schultz, Mattis, Ann. Phys. 16, 407 (1961); Pfeuty, Ann. Phys. 57, 79 (1970) |
//! | AKLT ring | Affleck, Kennedy, Lieb, Tasaki, PRL 59, 799 (1987); a state inside: Moudgalya et al., PRB 98, 235155 (2018) |
//! | Haldane–Shastry ring | Haldane, PRL 60, 635 (1988); Shastry, PRL 60, 639 (1988); Haldane et al., PRL 69, 2021 (1992) |
//! | bosons | two sites in the basis of one number; hard cores as fermions: Girardeau, J. Math. Phys. 1, 516 (1960) |
//! | Hofstadter torus | Harper, Proc. Phys. Soc. A 68, 874 (1955); Hofstadter, PRB 14, 2239 (1976) |
//! | PXP chain | Lin, Motrunich, PRL 122, 173401 (2019) |

use super::majorana::majoranas;
use super::{free, ours};
use eigenforge::exact::{Dense, InSector, Lanczos, Model};
use eigenforge::lattice::Lattice;
use eigenforge::observable::Observable;
use eigenforge::operator::build::{b, bdag, c, cdag, imaginary_unit, pauli_x, pauli_y, pauli_z, scalar, sdots, sz};
use eigenforge::operator::{Charge, Operator, SiteKind, Spin};
use eigenforge::runtime::seeded;
use std::f64::consts::PI;

fn with_conjugate(term: Operator) -> Operator {
    let adjoint = term.adjoint();
    term + adjoint
}

fn spectrum(model: &Model) -> Vec<f64> {
    free::eigenvalues(ours::dense(model))
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

fn agree(what: &str, found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (k, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() < 1e-9, "{what}, level {k}: {found}, expected {expected}");
    }
}

/// σ = i b c at each site, u = i b b on each bond, and c to couple. Product D of all bˣ bʸ bᶻ c must be 1: sorted into pairs, it is a
/// sign, times all u, times the parity of the c.
fn kitaev_levels(sites: usize, bonds: &[(usize, usize, usize, f64)]) -> Vec<f64> {
    let mut order: Vec<usize> = bonds.iter().flat_map(|(a, b, kind, _)| [4 * a + kind, 4 * b + kind]).collect();
    order.extend((0..sites).map(|site| 4 * site + 3));
    let inversions = (0..order.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
    let odd = inversions.filter(|(i, j)| order[*j] > order[*i]).count() % 2 == 1;
    // A gauge has u = 1 on a tree.
    let (mut reached, mut open) = (vec![false; sites], Vec::new());
    reached[0] = true;
    let mut in_tree = vec![false; bonds.len()];
    while let Some(k) = (0..bonds.len()).find(|k| reached[bonds[*k].0] != reached[bonds[*k].1]) {
        (reached[bonds[k].0], reached[bonds[k].1], in_tree[k]) = (true, true, true);
    }
    open.extend((0..bonds.len()).filter(|k| !in_tree[*k]));
    let mut levels = Vec::new();
    for flux in 0..1usize << open.len() {
        let mut matrix = vec![vec![0.0; sites / 2]; sites / 2];
        let mut parity = if odd { -1.0 } else { 1.0 };
        for (k, (a, b, _, coupling)) in bonds.iter().enumerate() {
            let u = match open.iter().position(|other| *other == k) {
                Some(bit) if flux >> bit & 1 == 1 => -1.0,
                _ => 1.0,
            };
            parity *= u;
            // J σσ = −i J u c_a c_b
            matrix[a / 2][b / 2] += coupling * u;
        }
        levels.extend(majoranas(&matrix, parity));
    }
    sorted(levels)
}

#[test]
fn kitaevs_honeycomb_is_free_majoranas_of_the_right_parity() {
    for (size, couplings) in [([2, 2], [0.7, -1.1, 1.3]), ([3, 2], [-0.8, -1.2, -1.0]), ([3, 2], [0.3, 0.35, 1.4])] {
        let lattice = Lattice::honeycomb(size).periodic();
        let sites = lattice.sites().len();
        // From the sublattice of even sites to that of odd ones.
        let direct = |i: usize, j: usize| if i.is_multiple_of(2) { (i, j) } else { (j, i) };
        let bonds: Vec<(usize, usize, usize, f64)> = lattice
            .bonds()
            .iter()
            .map(|bond| {
                let (a, b) = direct(bond.i, bond.j);
                (a, b, bond.kind, couplings[bond.kind])
            })
            .collect();
        let pauli = [pauli_x, pauli_y, pauli_z];
        let term =
            |(a, b, kind, coupling): &(usize, usize, usize, f64)| *coupling * pauli[*kind](*a) * pauli[*kind](*b);
        let h: Operator = bonds.iter().map(term).sum();
        let model = h.on_kinds(&vec![SiteKind::Qubits; sites]).charges(&[]).unwrap();
        let expected = kitaev_levels(sites, &bonds);
        assert_eq!(expected.len(), 1 << sites, "every state once");
        if sites <= 8 {
            agree("2 x 2", &spectrum(&model), &expected);
        }
        let solved = Lanczos::new(&model).states(6).tolerance(1e-11).run(&ours::Device::cpu()).unwrap();
        agree(&format!("{size:?}"), solved.energies(), &expected[..6]);
        let ground = expected.iter().filter(|energy| **energy < expected[0] + 1e-9).count();
        assert_eq!(solved.levels()[0].multiplicity, ground);
    }
}

/// Σ J (1 + γ)/2 X X + J (1 − γ)/2 Y Y on bonds and Σ h Z; the closing bond has −P, with P the product of all Z.
fn xy_levels(couplings: &[(f64, f64)], fields: &[f64], parity: f64) -> Vec<f64> {
    let sites = fields.len();
    // Z = −i a b, X X = i a' b, Y Y = i a b', and H = i Σ M a b.
    let mut matrix = vec![vec![0.0; sites]; sites];
    for (i, field) in fields.iter().enumerate() {
        matrix[i][i] -= field;
    }
    for (i, (j, gamma)) in couplings.iter().enumerate() {
        let next = (i + 1) % sites;
        let sign = if next == 0 { -parity } else { 1.0 };
        matrix[next][i] += sign * j * (1.0 + gamma) / 2.0;
        matrix[i][next] += sign * j * (1.0 - gamma) / 2.0;
    }
    sorted(majoranas(&matrix, parity))
}

fn xy_ring(couplings: &[(f64, f64)], fields: &[f64], parity: i64) -> Model {
    let sites = fields.len();
    let bond = |(i, (j, gamma)): (usize, &(f64, f64))| {
        let next = (i + 1) % sites;
        0.5 * j * (1.0 + gamma) * pauli_x(i) * pauli_x(next) + 0.5 * j * (1.0 - gamma) * pauli_y(i) * pauli_y(next)
    };
    let bonds: Operator = couplings.iter().enumerate().map(bond).sum();
    let h = bonds + fields.iter().enumerate().map(|(i, field)| *field * pauli_z(i)).sum::<Operator>();
    h.on_kinds(&vec![SiteKind::Qubits; sites]).charges(&[(Charge::Parity, parity)]).unwrap()
}

#[test]
fn rings_of_ising_and_xy_spins_are_free_fermions() {
    let number = |k: usize| seeded::element(71, k as u64);
    let uniform = |sites: usize, j: f64, gamma: f64, h: f64| (vec![(j, gamma); sites], vec![h; sites]);
    let random = |sites: usize| {
        let couplings: Vec<(f64, f64)> = (0..sites).map(|i| (1.0 + number(i), 2.0 * number(100 + i))).collect();
        (couplings, (0..sites).map(|i| number(200 + i)).collect::<Vec<f64>>())
    };
    for (couplings, fields) in [uniform(8, -1.0, 1.0, -0.6), uniform(7, 1.0, 1.0, 1.3), random(8)] {
        for (parity, sign) in [(0, 1.0), (1, -1.0)] {
            let found = spectrum(&xy_ring(&couplings, &fields, parity));
            agree(&format!("parity {sign}"), &found, &xy_levels(&couplings, &fields, sign));
        }
    }
    let (couplings, fields) = random(14);
    for (parity, sign) in [(0, 1.0), (1, -1.0)] {
        let model = xy_ring(&couplings, &fields, parity);
        let solved = Lanczos::new(&model).states(3).run(&ours::Device::cpu()).unwrap();
        agree("14 sites", solved.energies(), &xy_levels(&couplings, &fields, sign)[..3]);
    }
    // Pfeuty's sum for the ground state of the ferromagnet: −Σ sqrt(1 + h² − 2 h cos k), k odd multiples of π/N.
    let (sites, h) = (12, 0.75f64);
    let (couplings, fields) = uniform(sites, -1.0, 1.0, -h);
    let model = xy_ring(&couplings, &fields, 0);
    let ground = Lanczos::new(&model).run(&ours::Device::cpu()).unwrap();
    let momenta = (0..sites).map(|n| (2 * n + 1) as f64 * PI / sites as f64);
    let expected: f64 = momenta.map(|k| -(1.0 + h * h - 2.0 * h * k.cos()).sqrt()).sum();
    agree("Pfeuty", &[ground.energy()], &[expected]);
}

/// ⟨Sᶻ_0 Sᶻ_r⟩ of the AKLT ring from its matrices √⅔ σ⁺, −√⅓ σᶻ, −√⅔ σ⁻.
fn aklt_correlation(sites: usize, distance: usize) -> f64 {
    let (plus, zero) = ((2.0f64 / 3.0).sqrt(), (1.0f64 / 3.0).sqrt());
    let matrices = [[[0.0, plus], [0.0, 0.0]], [[-zero, 0.0], [0.0, zero]], [[0.0, 0.0], [-plus, 0.0]]];
    let transfer = |weights: [f64; 3]| -> Vec<Vec<f64>> {
        let element = |i: usize, j: usize| {
            let of = |m: &[[f64; 2]; 2]| m[i / 2][j / 2] * m[i % 2][j % 2];
            matrices.iter().zip(weights).map(|(matrix, weight)| weight * of(matrix)).sum()
        };
        (0..4).map(|i| (0..4).map(|j| element(i, j)).collect()).collect()
    };
    let times = |a: &Vec<Vec<f64>>, b: &Vec<Vec<f64>>| -> Vec<Vec<f64>> {
        (0..4).map(|i| (0..4).map(|j| (0..4).map(|k| a[i][k] * b[k][j]).sum()).collect()).collect()
    };
    let (one, spin) = (transfer([1.0; 3]), transfer([1.0, 0.0, -1.0]));
    let trace = |at: &dyn Fn(usize) -> bool| -> f64 {
        let all = (0..sites).map(|site| if at(site) { &spin } else { &one });
        let product = all.fold(None, |product: Option<Vec<Vec<f64>>>, next| {
            Some(product.map_or_else(|| next.clone(), |product| times(&product, next)))
        });
        product.iter().map(|product| (0..4).map(|k| product[k][k]).sum::<f64>()).sum()
    };
    trace(&|site| site == 0 || site == distance) / trace(&|_| false)
}

#[test]
fn the_aklt_ring_has_minus_two_thirds_a_bond_and_states_inside() {
    for sites in [6, 8] {
        let bond = |i: usize| {
            let exchange = sdots(i, (i + 1) % sites);
            exchange.clone() + exchange.clone() * exchange / 3.0
        };
        let h = (0..sites).map(bond).sum::<Operator>().spin(2).on_sites(sites);
        let model = h.clone().two_sz(0).unwrap();
        let solved = Lanczos::new(&model).run(&ours::Device::cpu()).unwrap();
        let bonds = sites as f64;
        agree("AKLT", &[solved.energy()], &[-2.0 / 3.0 * bonds]);
        assert_eq!(solved.levels()[0].multiplicity, 1, "no free spins on a ring");
        let pairs = Observable::by_pair("szsz", sites, |i, j| sz(i) * sz(j));
        let found = solved.level_averages(&[pairs]).unwrap();
        for distance in 1..sites {
            let (found, expected) = (found.pairs("szsz").unwrap()[[0, distance]], aklt_correlation(sites, distance));
            assert!((found - expected).abs() < 1e-8, "{sites} sites, {distance} apart: {found}, expected {expected}");
        }
        if sites == 6 {
            // Each of the bimagnons adds 2 in units of the projector onto spin 2 of a bond, 4 here, and 2 to Sᶻ.
            for bimagnons in 1..=3 {
                let inside = spectrum(&h.clone().two_sz(4 * bimagnons).unwrap());
                let expected = 4.0 * bimagnons as f64 - 2.0 / 3.0 * bonds;
                let nearest = inside.iter().map(|energy| (energy - expected).abs()).fold(f64::INFINITY, f64::min);
                assert!(nearest < 1e-9, "{bimagnons} bimagnons at {expected}: nearest {nearest} off");
            }
        }
    }
}

/// Every set of rapidities 0 < m < N without neighbours is a level E_F − (π/N)² Σ m (N − m); runs of ℓ zeros between and around
/// them are spins of ℓ states.
#[test]
fn the_whole_spectrum_of_haldane_and_shastry() {
    for sites in [6usize, 8] {
        let unit = (PI / sites as f64).powi(2);
        let pair = |i: usize, j: usize| (unit / (PI * (j - i) as f64 / sites as f64).sin().powi(2)) * sdots(i, j);
        let h: Operator = (0..sites).flat_map(|j| (0..j).map(move |i| (i, j))).map(|(i, j)| pair(i, j)).sum();
        let n = sites as f64;
        let polarised = unit / 4.0 * n * (n * n - 1.0) / 6.0;
        let mut expected = Vec::new();
        for motif in (0..1usize << (sites - 1)).filter(|motif| motif & motif >> 1 == 0) {
            let set: Vec<usize> = (1..sites).filter(|m| motif >> (m - 1) & 1 == 1).collect();
            let energy = polarised - unit * set.iter().map(|m| (m * (sites - m)) as f64).sum::<f64>();
            let ends: Vec<usize> = set.iter().copied().chain([sites + 1]).collect();
            let starts = std::iter::once(0).chain(set.iter().map(|m| m + 1));
            let states: usize = starts.zip(ends).map(|(start, end)| end - start).product();
            expected.extend(vec![energy; states]);
        }
        let expected = sorted(expected);
        assert_eq!(expected.len(), 1 << sites);
        agree("ground state", &expected[..1], &[-PI * PI * (n + 5.0 / n) / 24.0]);
        agree("spectrum", &spectrum(&h.charges(&[]).unwrap()), &expected);
    }
}

#[test]
fn bosons_on_two_sites_and_with_hard_cores() {
    let (t, u) = (0.7, 2.6);
    for bosons in [2usize, 3, 6] {
        let on_site = |i: usize| 0.5 * u * (bdag(i) * b(i) * bdag(i) * b(i) - bdag(i) * b(i));
        let h = with_conjugate(-t * (bdag(0) * b(1))) + on_site(0) + on_site(1) + 0.4 * (bdag(0) * b(0));
        let kinds = [SiteKind::Bosons { most: bosons as u32 }; 2];
        let model = h.on_kinds(&kinds).charges(&[(Charge::Bosons, bosons as i64)]).unwrap();
        let mut matrix = vec![vec![0.0; bosons + 1]; bosons + 1];
        for n in 0..=bosons {
            let (left, right) = (n as f64, (bosons - n) as f64);
            matrix[n][n] = 0.5 * u * (left * (left - 1.0) + right * (right - 1.0)) + 0.4 * left;
            if n < bosons {
                let hop = -t * ((left + 1.0) * right).sqrt();
                (matrix[n][n + 1], matrix[n + 1][n]) = (hop, hop);
            }
        }
        agree(&format!("{bosons} bosons"), &spectrum(&model), &free::eigenvalues(matrix));
    }
    // Without the potential two bosons have (U − sqrt(U² + 16 t²)) / 2.
    let h = with_conjugate(-t * (bdag(0) * b(1)))
        + (0..2).map(|i| 0.5 * u * (bdag(i) * bdag(i) * b(i) * b(i))).sum::<Operator>();
    let pair = h.on_kinds(&[SiteKind::Bosons { most: 2 }; 2]).charges(&[(Charge::Bosons, 2)]).unwrap();
    agree("a pair", &spectrum(&pair)[..1], &[(u - (u * u + 16.0 * t * t).sqrt()) / 2.0]);
    // Hard cores on a ring: fermions whose closing bond has the sign (−1)^(N − 1); without a wall, any potential.
    let sites = 9;
    let potential: Vec<f64> = (0..sites).map(|i| seeded::element(5, i as u64)).collect();
    for bosons in [3usize, 4] {
        let hops: Operator = (0..sites).map(|i| with_conjugate(-1.0 * (bdag(i) * b((i + 1) % sites)))).sum();
        let h = hops + potential.iter().enumerate().map(|(i, e)| *e * (bdag(i) * b(i))).sum::<Operator>();
        let kinds = vec![SiteKind::Bosons { most: 1 }; sites];
        let model = h.on_kinds(&kinds).charges(&[(Charge::Bosons, bosons as i64)]).unwrap();
        let closing = if bosons % 2 == 1 { 1.0 } else { -1.0 };
        let edges: Vec<_> =
            (0..sites).map(|i| (i, (i + 1) % sites, if i + 1 == sites { closing } else { 1.0 })).collect();
        let exact = free::free_fermions(sites, &edges, &potential, bosons, 0);
        agree("hard cores", &[Lanczos::new(&model).run(&ours::Device::cpu()).unwrap().energy()], &[exact]);
    }
    // Without repulsion all bosons of a ring are in the state of momentum 0.
    let hops: Operator = (0..5).map(|i| with_conjugate(-1.0 * (bdag(i) * b((i + 1) % 5)))).sum();
    let model = hops.on_kinds(&[SiteKind::Bosons { most: 4 }; 5]).charges(&[(Charge::Bosons, 4)]).unwrap();
    agree("condensate", &[Lanczos::new(&model).run(&ours::Device::cpu()).unwrap().energy()], &[-8.0]);
}

/// All sums of `particles` different levels, ascending.
fn fillings(levels: &[f64], particles: u32) -> Vec<f64> {
    let sets = (0..1usize << levels.len()).filter(|set| set.count_ones() == particles);
    let energy = |set: usize| (0..levels.len()).filter(|k| set >> k & 1 == 1).map(|k| levels[k]).sum();
    sorted(sets.map(energy).collect())
}

/// A quarter of a flux quantum a plaquette on a torus of 4 x 3 sites. Harper: momentum along y, a chain of four sites along x.
#[test]
fn hofstadters_torus_fills_harpers_levels() {
    let (lx, ly) = (4usize, 3usize);
    let flux = 2.0 * PI / 4.0;
    let site = |x: usize, y: usize| x % lx + lx * (y % ly);
    let lattice = Lattice::square([lx, ly]).periodic();
    let hop = |spin: Spin| -> Operator {
        let bond = |bond: &eigenforge::lattice::Bond| {
            let turn = if bond.kind == 1 { flux * (bond.i % lx) as f64 } else { 0.0 };
            let phase = scalar(turn.cos()) + turn.sin() * imaginary_unit();
            let ends = (bond.i % lx, bond.i / lx);
            let next = if bond.kind == 1 { site(ends.0, ends.1 + 1) } else { site(ends.0 + 1, ends.1) };
            assert_eq!(bond.j, next, "bonds point along +x and +y, across the boundary too");
            with_conjugate(-1.0 * phase * (cdag(bond.i, spin) * c(bond.j, spin)))
        };
        lattice.bonds().iter().map(bond).sum()
    };
    let mut levels = Vec::new();
    for k in 0..ly {
        let mut harper = vec![vec![0.0; lx]; lx];
        for x in 0..lx {
            harper[x][x] -= 2.0 * (2.0 * PI * k as f64 / ly as f64 + flux * x as f64).cos();
            harper[x][(x + 1) % lx] -= 1.0;
            harper[(x + 1) % lx][x] -= 1.0;
        }
        levels.extend(free::eigenvalues(harper));
    }
    for particles in [1u32, 3, 4] {
        let h = hop(Spin::Flavour(0)).on_kinds(&[SiteKind::Flavours(1); 12]);
        let model = h.charges(&[(Charge::Particles, particles.into())]).unwrap();
        assert!(model.working().is_complex(), "no gauge removes a quarter of a flux quantum");
        let expected = fillings(&levels, particles);
        let solved = Dense::new(&model).states(expected.len()).run(&ours::Device::cpu()).unwrap();
        agree(&format!("{particles} particles"), solved.energies(), &expected);
    }
    let electrons = (hop(Spin::Up) + hop(Spin::Down)).charges(&[(Charge::Up, 2), (Charge::Down, 1)]).unwrap();
    let (two, one) = (fillings(&levels, 2), fillings(&levels, 1));
    let expected = sorted(two.iter().flat_map(|two| one.iter().map(move |one| two + one)).collect());
    let solved = Lanczos::new(&electrons).states(4).run(&ours::Device::cpu()).unwrap();
    agree("electrons", solved.energies(), &expected[..4]);
}

/// The open chain has exact states at ±√2, far inside its spectrum, for any even number of atoms.
#[test]
fn the_pxp_chain_has_scars_at_root_two() {
    let fibonacci = |n: usize| (0..n).fold((0usize, 1usize), |(a, b), _| (b, a + b)).0;
    for sites in [4usize, 6, 8, 10] {
        let mut h: Operator = (0..sites).map(pauli_x).sum();
        for i in 0..sites - 1 {
            h = h.forbid(&[(i, 1), (i + 1, 1)]);
        }
        let model = h.on_kinds(&vec![SiteKind::Qubits; sites]).charges(&[]).unwrap();
        assert_eq!(model.dimension() as usize, fibonacci(sites + 2));
        let energies = spectrum(&model);
        for scar in [2.0f64.sqrt(), -(2.0f64.sqrt())] {
            let nearest = energies.iter().map(|energy| (energy - scar).abs()).fold(f64::INFINITY, f64::min);
            assert!(nearest < 1e-10, "{sites} sites: {nearest} from {scar}");
        }
        // The spectrum is symmetric, and reflection leaves an exponential number of states at 0 (Turner et al., PRB 98, 155134).
        agree("chiral", &energies, &sorted(energies.iter().map(|energy| -energy).collect()));
        let zeros = energies.iter().filter(|energy| energy.abs() < 1e-9).count();
        assert!(zeros >= fibonacci(sites / 2 + 1), "{sites} sites: {zeros} states at 0");
    }
}
