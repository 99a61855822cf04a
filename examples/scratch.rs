//! scratch
use eigenforge::basis::*;
use eigenforge::exact::*;
use eigenforge::lattice::Lattice;
use eigenforge::operator::*;
use eigenforge_runtime::*;
fn main() {
    let n: usize = std::env::args().nth(1).unwrap().parse().unwrap();
    let l = Lattice::square([4, 4]).open();
    let mut h = Operator::zero();
    for b in l.bonds() {
        for s in [Spin::Up, Spin::Down] {
            let f = build::cdag(b.i, s) * build::c(b.j, s);
            h = h + -1.0 * (f.clone() + f.adjoint());
        }
    }
    for i in l.sites() {
        h = h + 4.0 * (build::n(i, Spin::Up) * build::n(i, Spin::Down));
    }
    let t = std::time::Instant::now();
    let m = h.on_lattice(&l).sector(Up(n), Down(n)).unwrap();
    println!("model {:?}", t.elapsed());
    let d = Device::cpu();
    let ham = Hamiltonian::new(&m, <f64 as Scalar>::TYPE, &d).unwrap();
    println!("ham {:?} {}", t.elapsed(), m.dimension());
    let x: Vector<f64> = d.random(m.dimension() as usize, 1).unwrap();
    let mut y: Vector<f64> = d.zeros(m.dimension() as usize).unwrap();
    for _ in 0..6 {
        let t = std::time::Instant::now();
        let dot = ham.apply(&x, &mut y).unwrap();
        println!("{:?} {dot}", t.elapsed());
    }
    std::fs::write("/tmp/ex/kron.cu", ham.prepared().text().unwrap().text).unwrap();
}
