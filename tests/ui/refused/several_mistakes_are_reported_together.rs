use eigenforge::lattice::Lattice;
use eigenforge::operator::Operator;
use eigenforge_macros::gpu_operator;

#[gpu_operator]
fn model(lattice: &Lattice, t: f64, u: f64) -> Operator {
    sum!(<i, j> in lattice.bonds(), s in [Up, Down]; -t * (cdag(i, s) * d(j, s) + h.c.))
        + sum!(i in lattice.sites(); u * n(i, Up) * n(i, Sideways))
}

fn main() {
    // The caller of a faulty definition is not reported as well.
    let _ = model(&Lattice::chain(4), 1.0, 4.0);
}
