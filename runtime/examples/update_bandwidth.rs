//! Times the fused LOBPCG update (11 passes) against a copy on a device: `update_bandwidth [auto|cpu|cuda] [elements]`.

use eigenforge_runtime::solvers::vector_programs;
use eigenforge_runtime::{Bind, Device, Vector};
use eigenforge_templates::ScalarType;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let device = Device::parse(&arguments.next().unwrap_or("auto".into()))?;
    let n: usize = arguments.next().unwrap_or("20000000".into()).parse()?;
    let program = device.program(&vector_programs()[0], ScalarType::F64, &[])?;
    let mut v: Vec<Vector<f64>> = (0..6).map(|s| device.random(n, s)).collect::<Result<_, _>>()?;
    let mut best = [f64::INFINITY; 2];
    for _ in 0..12 {
        let (head, tail) = v.split_at_mut(1);
        best[0] = best[0].min(device.time(|| head[0].copy_from(&tail[0]))?.1);
        let [x, ax, p, ap, w, aw] = &mut v[..] else { unreachable!("six vectors were made") };
        let mut binds = [Bind::Out(x), Bind::Out(ax), Bind::Out(p), Bind::Out(ap), Bind::Out(w), Bind::In(aw)];
        let (sums, milliseconds) = device.time(|| program.run(&mut binds, &[0.1, 0.9, 0.2, 0.5]))?;
        sums?;
        best[1] = best[1].min(milliseconds);
    }
    let rate = |passes: f64, ms: f64| passes * 8.0 * n as f64 / ms / 1e6;
    println!("{}, {n} elements", device.name());
    println!("copy            {:9.3} ms  {:8.1} GB/s", best[0], rate(2.0, best[0]));
    println!("lobpcg update   {:9.3} ms  {:8.1} GB/s (11 passes)", best[1], rate(11.0, best[1]));
    Ok(())
}
