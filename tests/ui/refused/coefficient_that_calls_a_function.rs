use eigenforge::lattice::Lattice;
use eigenforge::operator::Operator;
use eigenforge_macros::gpu_operator;

#[gpu_operator]
fn model(lattice: &Lattice, f: fn(usize) -> f64) -> Operator {
    sum!(i in lattice.sites(); f(i) * n(i))
}

fn main() {}
