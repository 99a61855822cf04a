use eigenforge::lattice::Lattice;
use eigenforge::operator::Operator;
use eigenforge_macros::gpu_operator;

#[gpu_operator]
fn model(lattice: &Lattice, t: f64) -> Operator {
    sum!(<i, j> in lattice.bonds(); -t * bdag(i) * b(j))
}

fn main() {}
