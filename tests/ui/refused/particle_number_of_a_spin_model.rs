use eigenforge::lattice::Lattice;
use eigenforge::operator::Operator;
use eigenforge_macros::gpu_operator;

#[gpu_operator(conserves(Up, Down))]
fn model(lattice: &Lattice, j1: f64) -> Operator {
    sum!(<i, j> in lattice.bonds(); j1 * sdots(i, j))
}

fn main() {}
