use eigenforge::lattice::Lattice;
use eigenforge::operator::Operator;
use eigenforge_macros::gpu_operator;

#[gpu_operator(conserves(N))]
fn model(lattice: &Lattice, d: f64) -> Operator {
    sum!(<i, j> in lattice.bonds(); d * (cdag(i, Up) * cdag(j, Down) + h.c.))
}

fn main() {}
