use eigenforge::lattice::Lattice;
use eigenforge::operator::Operator;
use eigenforge_macros::gpu_operator;

#[gpu_operator]
fn model(lattice: &Lattice, t: f64) -> Operator {
    sum!(<i, j> in lattice.bonds(), s in [Up, Down]; -t * (cdag(i, j) * c(j, s) + h.c.))
}

fn main() {}
