use eigenforge::lattice::Lattice;
use eigenforge::operator::Operator;
use eigenforge_macros::gpu_operator;

#[gpu_operator]
fn model(lattice: &Lattice) -> Operator {
    sum!(i in lattice.sites();)
}

fn main() {}
