use eigenforge::lattice::Lattice;
use eigenforge::operator::Operator;
use eigenforge_macros::gpu_operator;

#[gpu_operator]
fn model(lattice: &Lattice, t: f32) -> Operator {
    sum!(i in lattice.sites(); (2.0 * t) as f64 * n(i))
}

fn main() {}
