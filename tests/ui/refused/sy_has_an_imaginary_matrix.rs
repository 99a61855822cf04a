use eigenforge::lattice::Lattice;
use eigenforge::operator::Operator;
use eigenforge_macros::gpu_operator;

#[gpu_operator]
fn model(lattice: &Lattice, h: f64) -> Operator {
    sum!(i in lattice.sites(); h * sy(i))
}

fn main() {}
