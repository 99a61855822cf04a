//! scratch
use eigenforge::exact::*;
use eigenforge::input::ModelFile;
use eigenforge_runtime::*;
fn main() {
    let mut args = std::env::args().skip(1);
    let file = ModelFile::read(args.next().unwrap().as_ref()).unwrap();
    let device = Device::parse(&args.next().unwrap()).unwrap();
    let certify = args.next().unwrap() == "certify";
    let start = std::time::Instant::now();
    let m = file.to_model().unwrap();
    println!("{} model {:?}", m.name(), start.elapsed());
    let ham = Hamiltonian::new(&m, <f64 as Scalar>::TYPE, &device).unwrap_or_else(|e| panic!("{e}"));
    println!("ham {:?} {}", start.elapsed(), m.dimension());
    let n = m.dimension() as usize;
    let x: Vector<f64> = device.random(n, 1).unwrap();
    let mut y: Vector<f64> = device.zeros(n).unwrap();
    for _ in 0..6 {
        let (dot, t) = device.time(|| ham.apply(&x, &mut y).unwrap()).unwrap();
        println!("multiply {t:.3} ms {dot}");
    }
    drop((x, y, ham));
    let first = std::sync::Mutex::new(true);
    let s = Lobpcg::new(&m).certify(certify).progress(move |p| {
        if std::mem::take(&mut *first.lock().unwrap()) {
            println!("first iteration at {:?}", start.elapsed());
        }
        eprintln!("{} {} {:?} {:.2e} {:.2}s", p.phase, p.iteration, p.energies.first(), p.residual, p.elapsed)
    });
    let t = std::time::Instant::now();
    let sol = s.run(&device).unwrap_or_else(|e| panic!("{e}"));
    println!(
        "{:?} {:?} {:?} {:?} iterations {} in {:?}",
        sol.energies(),
        sol.residuals(),
        sol.levels(),
        sol.stop(),
        sol.eigenpairs().iterations,
        t.elapsed()
    );
    let t = std::time::Instant::now();
    let o = sol.observables().unwrap();
    println!("docc {:?} in {:?}", o.double_occupancy.map(|d| d.iter().sum::<f64>()), t.elapsed());
}
