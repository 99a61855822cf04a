use eigenforge::lattice::Lattice;
use eigenforge::operator::Operator;
use eigenforge_macros::gpu_operator;

#[gpu_operator]
fn model(lattice: &Lattice, f: f64) -> Operator {
    sum!(i in lattice.sites(); f * (cdag(i, Up) + h.c.))
}

fn main() {}
