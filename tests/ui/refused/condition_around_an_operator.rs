use eigenforge::lattice::Lattice;
use eigenforge::operator::Operator;
use eigenforge_macros::gpu_operator;

#[gpu_operator]
fn model(lattice: &Lattice, u: f64) -> Operator {
    sum!(i in lattice.sites(); u * if i == 0 { n(i, Up) } else { n(i, Down) })
}

fn main() {}
