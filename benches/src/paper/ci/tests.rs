//! Every format against a plain sum: on the CPU from its arrays, its kernels in the simulator and, where there is one, on a card; every
//! text through NVRTC.

use super::super::baseline::Baseline;
use super::super::published::{Paper, tables};
use super::{Setup, csr5, measure, merge, rows};
use eigenforge::sparse::Csr;
use eigenforge_runtime::jit::{Arch, CacheFolder, Jit, Settings};
use eigenforge_runtime::simulate::Schedule;
use eigenforge_runtime::{Device, seeded, testing};
use eigenforge_templates::signature::Signature;

/// A matrix whose row `r` has the elements that `of_row(r)` says, at columns spread over all.
fn matrix(rows: usize, of_row: impl Fn(usize) -> usize) -> Csr {
    let (mut start, mut columns) = (vec![0u64], vec![]);
    for row in 0..rows {
        let count = of_row(row).min(rows);
        let mut found: Vec<u32> = (0..count).map(|k| ((row * 7 + k * rows / count.max(1)) % rows) as u32).collect();
        found.sort_unstable();
        found.dedup();
        columns.extend(found);
        start.push(columns.len() as u64);
    }
    let values = seeded::vector(columns.len(), 3);
    Csr::new(start, columns, values).unwrap()
}

/// Empty rows first, between and last; one row of everything; a row that spans tiles; as many non-zeros as whole tiles; none.
fn matrices() -> Vec<(&'static str, Csr)> {
    let of_length = |k: usize| (k * 2_654_435_761) % 23;
    vec![
        ("random rows", matrix(300, of_length)),
        ("empty rows", matrix(200, |row| if row % 5 < 3 || row > 180 { 0 } else { of_length(row) })),
        ("one long row", matrix(1_500, |row| if row == 700 { 1_500 } else { of_length(row) % 4 })),
        ("long rows beside each other", matrix(520, |row| if (100..104).contains(&row) { 520 } else { 1 })),
        ("equal rows that fill tiles", matrix(128, |_| 8)),
        ("the first row alone", matrix(70, |row| if row == 0 { 70 } else { 0 })),
        ("the last row alone", matrix(70, |row| if row == 69 { 70 } else { 0 })),
        ("one element", matrix(1, |_| 1)),
        ("nothing", matrix(40, |_| 0)),
    ]
}

fn baselines(matrix: &Csr) -> Vec<Baseline> {
    formats(matrix).into_iter().chain(variants(matrix)).collect()
}

/// Each format as it is taken for a matrix.
fn formats(matrix: &Csr) -> Vec<Baseline> {
    vec![
        rows::csr(matrix, false),
        rows::csr(matrix, true),
        rows::ellpack(matrix, false),
        rows::ellpack(matrix, true),
        rows::sliced_ellpack(matrix, 32, false),
        rows::sliced_ellpack(matrix, 32, true),
        rows::sliced_ellpack(matrix, 7, true),
        merge::merge(matrix),
        csr5::csr5(matrix),
    ]
}

/// Tiles and boundaries of other sizes.
fn variants(matrix: &Csr) -> Vec<Baseline> {
    let mean = matrix.columns().len() / matrix.rows();
    let cuts = [(mean, 16), (mean, 32), (mean, 64), (0, 32), (mean + 40, 32)];
    let tiles = [1, 6, 16, 32].map(|sigma| csr5::csr5_of(matrix, sigma)).into_iter();
    tiles.chain(cuts.map(|(boundary, threads)| rows::hybrid(matrix, boundary, threads))).collect()
}

/// A x by the definition, and the largest Σ |A x| of a row.
fn plain(matrix: &Csr, x: &[f64]) -> (Vec<f64>, f64) {
    let term = |row: usize| matrix.row(row).0.iter().zip(matrix.row(row).1).map(|(c, a)| a * x[*c as usize]);
    let size = (0..matrix.rows()).map(|row| term(row).map(f64::abs).sum::<f64>()).fold(0.0, f64::max);
    ((0..matrix.rows()).map(|row| term(row).sum()).collect(), size)
}

fn compare(what: &str, y: &[f64], exact: &[f64], size: f64) {
    for (row, (y, exact)) in y.iter().zip(exact).enumerate() {
        assert!((y - exact).abs() <= 1e-13 * size, "{what}: row {row} is {y:e} instead of {exact:e}");
    }
}

#[test]
fn the_arrays_of_every_format_hold_the_matrix() {
    for (name, matrix) in matrices() {
        let x = seeded::vector(matrix.rows(), seeded::SEED_X);
        let (exact, size) = plain(&matrix, &x);
        for baseline in baselines(&matrix) {
            let mut y = vec![f64::NAN; matrix.rows()];
            baseline.multiply_on_host(&x, &mut y);
            compare(&format!("{name}, {}, host", baseline.name), &y, &exact, size);
        }
    }
}

/// In simulation, which compiles a text for each matrix, a third of the other sizes with each matrix: every one with three.
#[test]
fn the_kernels_of_every_format_multiply() {
    for device in testing::kernel_devices(Schedule::Reverse) {
        let every = if device.is_cuda() { 1 } else { 3 };
        for (at, (name, matrix)) in matrices().into_iter().enumerate() {
            let x = seeded::vector(matrix.rows(), seeded::SEED_X);
            let (exact, size) = plain(&matrix, &x);
            let on_device = device.upload(&x).unwrap();
            let others = variants(&matrix).into_iter().enumerate().filter(|(k, _)| (at + k).is_multiple_of(every));
            for baseline in formats(&matrix).into_iter().chain(others.map(|(_, other)| other)) {
                let what = format!("{name}, {}, {}", baseline.name, device.name());
                let mut loaded = baseline.load(&device).unwrap_or_else(|error| panic!("{what}: {error}"));
                let mut y = device.upload(&vec![f64::NAN; matrix.rows()]).unwrap();
                // Twice: nothing of the first multiply is left in the work space.
                for _ in 0..2 {
                    loaded.multiply(&on_device, &mut y).unwrap_or_else(|error| panic!("{what}: {error}"));
                    compare(&what, &y.download().unwrap(), &exact, size);
                }
            }
        }
    }
}

#[test]
fn every_text_compiles_and_declares_what_is_launched() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut settings = Settings::from_env().expect("settings");
    settings.cache = CacheFolder::At(folder.path().into());
    let jit = Jit::for_tests(&settings);
    for baseline in baselines(&matrix(300, |row| row % 40)) {
        let (text, launches) = baseline.launches().unwrap();
        for launch in &launches {
            let signature = Signature::read(&text.text, &launch.entry).expect("the kernel");
            signature.check(launch).unwrap_or_else(|error| panic!("{}: {error}", baseline.name));
            assert_eq!(signature.threads, Some(launch.block), "{}", launch.entry);
        }
        for arch in [80, 90, 100] {
            let Some(jit) = &jit else { continue };
            let compiled = jit.compile(&text, Arch(arch));
            assert!(!compiled.unwrap_or_else(|error| panic!("{}: {error}", baseline.name)).image.is_empty());
        }
    }
}

/// Every table on the CPU at a small scale: rows of ours for every row of the paper's, and the counts that follow from the scale.
#[test]
fn the_tables_are_redrawn_on_the_cpu() {
    let setup = Setup { device: Device::cpu(), ordinal: 0, scale: Some(64), repeats: 2 };
    for table in tables(Paper::Ci) {
        if table.number == 2 {
            assert!(measure(table, &setup).unwrap_err().to_string().contains("doctor"));
            continue;
        }
        let redrawn = measure(table, &setup).unwrap_or_else(|error| panic!("Table {}: {error}", table.number));
        for column in redrawn.measured.iter().filter(|column| !column.name.starts_with("cuSPARSE")) {
            // Tables 6 to 8 have an average of averages alone.
            let rows = table.rows().len() - usize::from((6..=8).contains(&table.number) && column.name != "avg");
            assert!(column.cells.len() == rows && column.cells.iter().all(Option::is_some), "{redrawn}");
        }
        match table.number {
            1 => assert_eq!(redrawn.measured[0].cells[9], Some(30_046_752.0)),
            3 => assert_eq!(redrawn.measured[0].cells[0], Some(5_240.0), "21,463,040 / 64^2"),
            4 => assert!((redrawn.measured[2].cells[4].unwrap() - 0.971).abs() < 2e-3, "{redrawn}"),
            _ => {}
        }
    }
}
