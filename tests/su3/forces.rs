//! Forces computed here: what rank of spin their tensors have, and what they bind.

use super::random::random;
use eigenforge::su3::{Force, OscillatorSpace, Plan, Tables, forward};
use faer::{Mat, Side};

fn force(text: &str) -> Force {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("force.toml");
    std::fs::write(&path, text).unwrap();
    Force::read(&path).unwrap()
}

/// `kind = [{ … }, { … }]` with numbers of a seed.
fn gaussians(kind: &str, seed: u64) -> String {
    let numbers = random(seed, 10);
    let spins = |x: &[f64]| {
        if kind == "central" { format!(", bartlett = {}, heisenberg = {}", x[3], x[4]) } else { String::new() }
    };
    let one = |x: &[f64]| {
        let range = 1.6 + x[1];
        format!(
            "{{ strength = {}, range = {range}, wigner = {}, majorana = {}{} }}",
            90.0 * x[0],
            x[2],
            x[3] + 0.1,
            spins(x)
        )
    };
    format!("{kind} = [{}, {}]\n", one(&numbers[..5]), one(&numbers[5..]))
}

/// V = Σ_k (spin tensor of rank k)·(space tensor of rank k): a central force is a scalar in spin, L·S a vector, S12 of rank 2.
/// All channels of random Gaussians with exchange.
#[test]
fn central_spin_orbit_and_tensor_forces_have_spin_rank_zero_one_and_two() {
    let plan = Plan::new(OscillatorSpace { n_max: 3 });
    let tables = Tables::new(&plan).unwrap();
    for (rank, kind) in ["central", "spin_orbit", "tensor"].into_iter().enumerate() {
        let text = format!("[force]\nhw = 17.5\n{}", gaussians(kind, 40 + rank as u64));
        let elements = force(&text).relative(&plan).elements(&plan).unwrap();
        assert_eq!(elements.vectors.len(), 3);
        for (channel, u) in &elements.vectors {
            let c = forward(&plan, &tables, u);
            let mut norms = [0.0; 3];
            plan.for_each_strength(|place, label| norms[label.spins[2] as usize] += c[place] * c[place]);
            let outside: f64 = (0..3).filter(|s0| *s0 != rank).map(|s0| norms[s0]).sum();
            assert!(norms[rank] > 1e-2 && outside < 1e-24 * norms[rank], "{kind}, {}: {norms:?}", channel.word());
        }
    }
}

/// With u = 2 Minnesota's central force has no exchange, and P_σ aside it does nothing to the orbits: pn has S = 1, T = 0 and
/// S = 1, T = 1 alike.
#[test]
fn minnesota_is_the_sum_of_its_gaussians() {
    let plan = Plan::new(OscillatorSpace { n_max: 2 });
    let short = force("[force]\nhw = 20.0\nminnesota = { u = 0.93 }\n").relative(&plan).elements(&plan).unwrap();
    let range = |kappa: f64| 1.0 / kappa.sqrt();
    let (u, v) = (0.93 / 2.0, (2.0 - 0.93) / 2.0);
    let spelled = format!(
        "[force]\nhw = 20.0\ncentral = [\n\
         {{ strength = 200.0, range = {}, wigner = {u}, majorana = {v} }},\n\
         {{ strength = -89.0, range = {}, wigner = {u}, majorana = {v}, bartlett = {u}, heisenberg = {v} }},\n\
         {{ strength = -45.925, range = {}, wigner = {u}, majorana = {v}, bartlett = -{u}, heisenberg = -{v} }}]\n",
        range(1.487),
        range(0.639),
        range(0.465)
    );
    let spelled = force(&spelled).relative(&plan).elements(&plan).unwrap();
    for ((_, a), (_, b)) in short.vectors.iter().zip(&spelled.vectors) {
        let largest = a.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
        assert!(largest > 1.0 && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12 * largest));
    }
}

/// The deuteron of Thompson, LeMere and Tang (1977), 2.202 MeV, in S waves of up to 60 quanta: T + V in the oscillator basis of
/// relative motion, T = ħω/2 [(N + 3/2) δ ∓ √(n (n + L + 1/2))] between neighbours, − for functions positive at infinity.
#[test]
fn minnesota_binds_the_deuteron() {
    let (hw, quanta) = (20.0, 60u32);
    let relative = force("[force]\nhw = 20.0\nminnesota = {}\n").relative_to(quanta);
    let size = (quanta / 2 + 1) as usize;
    let matrix = Mat::from_fn(size, size, |i, k| {
        let v = relative.element([2 * i as u32, 0], [2 * k as u32, 0], 1, 1).unwrap();
        let t = match i.abs_diff(k) {
            0 => 2.0 * i as f64 + 1.5,
            1 => -(i.max(k) as f64 * (i.max(k) as f64 + 0.5)).sqrt(),
            _ => 0.0,
        };
        hw / 2.0 * t + v
    });
    let values = matrix.self_adjoint_eigenvalues(Side::Lower).unwrap();
    assert!((values[0] + 2.202).abs() < 2e-3 && values[1] > 0.0, "{:?}", &values[..2]);
}

#[test]
fn faults_of_a_force_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("force.toml");
    for (text, said) in [
        ("[force]\nminnesota = {}\n", "missing field `hw`"),
        ("[force]\nhw = -3.0\nminnesota = {}\n", "hw: expected a positive number, found -3"),
        ("[force]\nhw = 20.0\n", "at least one of minnesota, central, spin_orbit, tensor"),
        (
            "[force]\nhw = 20.0\ncentral = [{ strength = 1.0, range = 0.0 }]\n",
            "range of central, entry 1: expected a positive",
        ),
        ("[force]\nhw = 20.0\ntensor = [{ strength = nan, range = 1.0 }]\n", "entry 1: expected a finite number"),
        (
            "[force]\nhw = 20.0\nspin_orbit = [{ strength = 1.0, range = 1.0, bartlett = 1.0 }]\n",
            "bartlett or heisenberg of spin_orbit, entry 1: expected 0",
        ),
        ("[force]\nhw = 20.0\nyukawa = 1\n", "unknown field `yukawa`"),
    ] {
        std::fs::write(&path, text).unwrap();
        let error = Force::read(&path).unwrap_err().to_string();
        assert!(error.contains(said), "{said} is not in {error}");
    }
}
