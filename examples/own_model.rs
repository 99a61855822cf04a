//! A model of one's own, from definition to certified ground state and generated CUDA.
//!
//!     cargo run --release --example own_model
//!
//! A 3 × 3 Hubbard cluster whose repulsion grows from site to site. On a machine with a GPU it runs there.

use eigenforge::prelude::*;

/// Hubbard model with a repulsion of its own on each site.
#[gpu_operator]
fn hubbard(lattice: &Lattice, t: f64, u: &[f64]) -> Operator {
    sum!(<i, j> in lattice.bonds(), s in [Up, Down]; -t * (cdag(i, s) * c(j, s) + h.c.))
        + sum!(i in lattice.sites(); u[i] * n(i, Up) * n(i, Down))
}

fn main() -> Result<()> {
    let u: Vec<f64> = (0..9).map(|site| 4.0 + 0.5 * f64::from(site)).collect();
    let model = hubbard(&Lattice::square([3, 3]).open(), 1.0, &u).sector(Up(4), Down(4))?.named("graded_hubbard");

    let device = Device::best()?;
    let ground = Lobpcg::new(&model).tolerance(1e-10).run(&device)?;
    println!("{} states on {}", model.dimension(), device.name());
    println!("E0 = {:.10}, residual {:.1e}", ground.energy(), ground.residuals()[0]);
    let level = &ground.levels()[0];
    println!("multiplicity {} ({})", level.multiplicity, if level.complete { "certified" } else { "not certified" });
    let averages = ground.observables()?;
    let doubles = averages.sites("double_occupancy").into_iter().flatten();
    println!("<n_up n_dn> by site: {}", doubles.map(|d| format!("{d:.4}")).collect::<Vec<_>>().join(" "));

    // Every stage can be read, on any machine; here the user's own expression as the kernel has it.
    let cuda = model.inspect(Stage::Cuda, "sm_90")?;
    let line = cuda.lines().find(|line| line.contains("sum += u[i]")).unwrap_or("(a uniform model is one popcount)");
    println!("the diagonal in CUDA: {}", line.trim());
    Ok(())
}
