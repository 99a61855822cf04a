use eigenforge::lattice::Lattice;
use eigenforge::operator::Operator;
use eigenforge_macros::gpu_operator;

#[gpu_operator]
fn model(lattice: &Lattice, mu: f64) -> Operator {
    sum!(i in lattice.sites(), s in [UP, Down]; -mu * n(i, s))
}

fn main() {}
