use eigenforge::lattice::Lattice;
use eigenforge::operator::Operator;
use eigenforge_macros::gpu_operator;

#[gpu_operator(conserves(Sz))]
fn model(lattice: &Lattice, h: f64) -> Operator {
    sum!(<i, j> in lattice.bonds(); sdots(i, j)) - sum!(i in lattice.sites(); h * sx(i))
}

fn main() {}
