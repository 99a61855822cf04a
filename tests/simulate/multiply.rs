//! `Hamiltonian` on simulated devices against the dense matrix: y and x·y, outputs NaN before, bit for bit the same
//! under all schedules. Before that, and without a compiler, the plan's launches against the text's declarations.

use eigenforge::exact::{Hamiltonian, Model, MultiplyPlan, PartnerRows, SectorRows};
use eigenforge::runtime::{Device, DeviceError, LinearOperator, Scalar, Vector};
use eigenforge_templates::signature::Signature;
use ndarray::Array2;

/// Element i of a vector that any program can make: multiples of 2/2003 in [-1, 1).
pub fn start<T: Scalar>(n: usize, salt: usize) -> Vec<T> {
    let value = |i: usize| ((i * 7919 + salt * 104729 + 13) % 2003) as f64 / 1001.5 - 1.0;
    (0..n).map(|i| T::from_f64(value(i))).collect()
}

/// y = H x, over NaN, and x·y; without x·y it must be the same y.
pub fn multiply<T: Scalar>(hamiltonian: &Hamiltonian, x: &[T]) -> Result<(Vec<T>, f64), DeviceError> {
    let device = LinearOperator::<T>::device(hamiltonian);
    let nan = vec![T::from_f64(f64::NAN); x.len()];
    let (mut y, mut alone): (Vector<T>, Vector<T>) = (device.upload(&nan)?, device.upload(&nan)?);
    let x = device.upload(x)?;
    let dot = hamiltonian.apply(&x, &mut y)?;
    hamiltonian.multiply(&x, &mut alone)?;
    let (y, alone) = (y.download()?, alone.download()?);
    assert!(y.iter().zip(&alone).all(|(a, b)| a.to_f64().to_bits() == b.to_f64().to_bits()), "y depends on x·y");
    Ok((y, dot))
}

/// The plan's launches are the kernels of its text, in order, each as the text declares it; blocks have as many threads
/// as the text is written for.
pub fn check_declarations(prepared: &MultiplyPlan) {
    let text = prepared.text().unwrap();
    let launches = prepared.launches().unwrap();
    let entries: Vec<&str> = launches.iter().map(|launch| launch.entry.as_str()).collect();
    // A symmetry sector has kernels beside those of the multiply.
    let own = text.entries.iter().filter(|entry| entries.contains(&entry.as_str()));
    assert_eq!(entries, own.collect::<Vec<_>>());
    let of_a_sector = prepared.way::<SectorRows>().is_some() || prepared.way::<PartnerRows>().is_some();
    assert!(entries.len() == text.entries.len() || of_a_sector);
    for launch in &launches {
        let signature = Signature::read(&text.text, &launch.entry).unwrap();
        signature.check(launch).unwrap_or_else(|error| panic!("{error}\n{}", prepared.plan_text()));
        assert_eq!(signature.threads, Some(launch.block), "{}", launch.entry);
    }
}

/// Compares the multiply with the dense matrix on every device.
pub fn check<T: Scalar>(devices: &[Device], model: &Model, prepared: &MultiplyPlan, dense: &Array2<f64>) {
    check_declarations(prepared);
    let n = dense.nrows();
    let x: Vec<T> = start(n, 0);
    let run = |device: &Device| {
        let plan = || format!("{}\n{}", device.name(), prepared.plan_text());
        let hamiltonian = model.hamiltonian(prepared.clone(), device);
        let hamiltonian = hamiltonian.unwrap_or_else(|error| panic!("{error}\n{}", plan()));
        multiply(&hamiltonian, &x).unwrap_or_else(|error| panic!("{error}\n{}", plan()))
    };
    let runs: Vec<(Vec<T>, f64)> = devices.iter().map(run).collect();
    let Some((y, dot)) = runs.first() else { return };
    for run in &runs {
        assert!(
            run.0.iter().map(|y| y.to_f64().to_bits()).eq(y.iter().map(|y| y.to_f64().to_bits())),
            "{}: y",
            model.name()
        );
        assert_eq!(run.1.to_bits(), dot.to_bits(), "{}: x.y differs between schedules", model.name());
    }
    let x: Vec<f64> = x.iter().map(|x| x.to_f64()).collect();
    let exact: Vec<f64> = dense.rows().into_iter().map(|row| row.iter().zip(&x).map(|(h, x)| h * x).sum()).collect();
    let scale = exact.iter().fold(1e-3f64, |scale, value| scale.max(value.abs()));
    // One rounding of y in its type (two where a second launch adds to it), and sums of some tens of terms in double.
    let tolerance = 4.0 * T::EPSILON * scale + 1e-14 * scale;
    for (row, (y, exact)) in y.iter().zip(&exact).enumerate() {
        let y = y.to_f64();
        assert!((y - exact).abs() <= tolerance, "{} row {row}: {y}, expected {exact}", model.name());
    }
    let expected: f64 = exact.iter().zip(&x).map(|(a, b)| a * b).sum();
    assert!((dot - expected).abs() <= tolerance * n as f64, "{}: x.y = {dot}, expected {expected}", model.name());
}
