use eigenforge::lattice::Lattice;
use eigenforge::operator::Operator;
use eigenforge_macros::gpu_operator;

#[gpu_operator]
fn model(lattice: &Lattice, t: f64) -> Operator {
    sum!(i in lattice.sites(); n(i) + t * (h.c. + h.c.))
}

fn main() {}
