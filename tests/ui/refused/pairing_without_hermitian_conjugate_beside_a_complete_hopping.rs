use eigenforge::lattice::Lattice;
use eigenforge::operator::Operator;
use eigenforge_macros::gpu_operator;

#[gpu_operator]
fn model(lattice: &Lattice, t: f64, d: f64) -> Operator {
    sum!(<i, j> in lattice.bonds(), s in [Up, Down]; -t * (cdag(i, s) * c(j, s) + h.c.))
        + sum!(<i, j> in lattice.bonds(); d * cdag(i, Up) * cdag(j, Down))
}

fn main() {}
