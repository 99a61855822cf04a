use eigenforge::lattice::Lattice;
use eigenforge::operator::Operator;
use eigenforge_macros::gpu_operator;

#[gpu_operator(conserves(Up, Down))]
fn model(lattice: &Lattice, t: f64) -> Operator {
    sum!(<i, j> in lattice.bonds(), s in [Up, Down], p in [Up, Down]; -t * (cdag(i, s) * c(j, p) + h.c.))
}

fn main() {}
