use eigenforge::lattice::Lattice;
use eigenforge::operator::Operator;
use eigenforge_macros::gpu_operator;

#[gpu_operator]
fn model(lattice: &Lattice, j1: f64) -> Operator {
    sum!(<i, j> in lattice.bonds(); 0.5 * j1 * sp(i) * sm(j) + j1 * sz(i) * sz(j))
}

fn main() {}
