//! A molecule with a term of one's own, from definition to configuration interaction.
//!
//!     cargo run --release --example own_molecule
//!
//! Water in STO-3G, its highest occupied orbital raised by λ. The slope of the energy at λ = 0 is the orbital's
//! occupation (Hellmann and Feynman), which the density matrix gives as well. The same operator is diagonalised exactly
//! in the end, as a lattice model would be. On a machine with a GPU all of it runs there.

use eigenforge::ci::{CiSolve, Integrals, OneBody, Space};
use eigenforge::prelude::*;

/// H = Σ h_pq c†_pσ c_qσ + ½ Σ (pq|rt) c†_pσ c†_rυ c_tυ c_qσ + λ n_orbital + E_core
#[gpu_operator(conserves(Up, Down))]
fn shifted(integrals: &Integrals, orbital: usize, shift: f64) -> Operator {
    let m = integrals.orbitals;
    sum!(p in 0..m, q in 0..m, s in [Up, Down]; integrals.one(p, q) * cdag(p, s) * c(q, s))
        + sum!(p in 0..m, q in 0..m, r in 0..m, t in 0..m, s in [Up, Down], u in [Up, Down];
            0.5 * integrals.two(p, q, r, t) * cdag(p, s) * cdag(r, u) * c(t, u) * c(q, s))
        + sum!(s in [Up, Down]; shift * n(orbital, s))
        + integrals.core
}

fn main() -> Result<()> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/ci/H2O_sto3g_0.96.FCIDUMP");
    let water = Integrals::read(file)?;
    let (up, down) = water.spins();
    let space = Space::full(water.orbitals, up, down)?;
    let device = Device::best()?;
    let orbital = up - 1;

    let mut energies = Vec::new();
    let mut occupation = 0.0;
    for shift in [-0.001, 0.0, 0.001] {
        let integrals = Integrals::from_operator(&shifted(&water, orbital, shift), Up(up), Down(down))?;
        let solution = CiSolve::new(&integrals, &space).tolerance(1e-10).run(&device)?;
        println!("shift {shift:>6}: E0 = {:.10}, residual {:.1e}", solution.energies()[0], solution.residuals()[0]);
        energies.push(solution.energies()[0]);
        if shift == 0.0 {
            let one = OneBody::new(&space, &solution.ground_multiplet()?)?;
            occupation = one.total()[[orbital, orbital]];
        }
    }
    println!("slope {:.6}, occupation of the orbital {occupation:.6}", (energies[2] - energies[0]) / 0.002);

    let model = shifted(&water, orbital, 0.0).sector(Up(up), Down(down))?;
    let exact = Lobpcg::new(&model).run(&device)?;
    println!("{} states, exact diagonalisation: E0 = {:.10}", model.dimension(), exact.energy());
    Ok(())
}
