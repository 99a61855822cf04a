use eigenforge::lattice::Lattice;
use eigenforge::operator::Operator;
use eigenforge_macros::gpu_operator;

#[gpu_operator]
fn model(lattice: &Lattice, t: f64) -> Operator {
    sum!(i in lattice.sites(); (match i { 0 => t, _ => 0.0 }) * n(i))
}

fn main() {}
