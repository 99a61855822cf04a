//! All coefficients of one triple of irreps, printed as a table.
//!
//! ```text
//! cargo run --release -p eigenforge-su3 --example coefficient -- 2 0  2 0  0 2
//! ```

use eigenforge_su3::{Coupler, Irrep};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let labels: Vec<u32> = std::env::args().skip(1).map(|word| word.parse()).collect::<Result<_, _>>()?;
    let [l1, m1, l2, m2, l3, m3] = labels[..] else {
        return Err("expected six labels: lambda1 mu1 lambda2 mu2 lambda3 mu3".into());
    };
    let [first, second, third] = [Irrep::new(l1, m1), Irrep::new(l2, m2), Irrep::new(l3, m3)];
    let block = Coupler::new().block(first, second, third, 0..=third.l_max())?;
    println!("{first} x {second} -> {third}: rho_max = {}, defect {:.1e}\n", block.rho_max, block.defect);
    println!("k1 L1  k2 L2  k3 L3  rho  coefficient");
    for of_l3 in &block.by_l3 {
        for row in &of_l3.rows {
            for kappa3 in 1..=of_l3.kappa_max {
                for rho in 1..=block.rho_max {
                    let value = block.value([row.kappa1, row.l1], [row.kappa2, row.l2], [kappa3, of_l3.l3], rho)?;
                    let [k1, l1, k2, l2, l3] = [row.kappa1, row.l1, row.kappa2, row.l2, of_l3.l3];
                    println!("{k1:>2} {l1:>2}  {k2:>2} {l2:>2}  {kappa3:>2} {l3:>2}  {rho:>3}  {value:>20.16}");
                }
            }
        }
    }
    Ok(())
}
