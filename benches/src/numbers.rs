//! `eigenforge bench spmv`: y = A x of large complex and quaternion matrices, ours beside cuSPARSE and beside our multiply of the complex image.
//!
//! In: a number of rows, a device. Out: for each matrix the time of a multiply, the speed and the bytes that an element takes, and the same of
//! what stands beside it. Products are compared before a time is printed.
//!
//! | matrix | numbers | beside it |
//! |---|---|---|
//! | random columns, 16 and 50 elements a row | quaternions | our multiply of the complex image, of twice the rows and four times the elements |
//! | Hofstadter torus, flux 1/4 a plaquette: H = −Σ e^{iθ} c†_i c_j + h.c. | complex, four distinct values | cuSPARSE, the fastest of its algorithms |
//! | stencils of 5 points in the plane and of 27 in space, random values | complex | the same |

use super::ci::CiBenchError;
use super::peers::device_peers;
use eigenforge::sparse::{Csr, CsrError, FormatRequest, NumberKind};
use eigenforge::spmv::{self, FormatRace, SpmvError, SpmvOptions, SpmvReport};
use eigenforge_runtime::{Device, seeded};
use rayon::prelude::*;
use std::io::Write;

/// Elements of a row of quaternions.
const QUATERNIONS: [usize; 2] = [16, 50];
/// Rows on a card and elsewhere.
const ROWS: [u32; 2] = [1 << 20, 1 << 12];

/// Arguments of `bench spmv`.
#[derive(Clone, Debug, clap::Args)]
pub struct NumbersArguments {
    /// auto, cpu, cuda, cuda:N or sim
    #[arg(long, default_value = "auto")]
    pub device: String,
    /// Rows of each matrix, about [default: 1048576 on a card, else 4096]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(64..=1 << 26))]
    pub rows: Option<u32>,
    /// Print what each matrix is stored as, and why
    #[arg(long)]
    pub details: bool,
    /// Timed samples [default: 21 on a card, 11 on the CPU, 1 with sim]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub repeats: Option<u32>,
}

/// A row by its elements, columns ascending.
type NumberRow<const PARTS: usize> = Vec<(u32, [f64; PARTS])>;

/// A matrix by its rows.
fn of_rows<const PARTS: usize>(
    kind: NumberKind,
    rows: u32,
    row: impl Fn(u32) -> NumberRow<PARTS> + Sync,
) -> Result<Csr, CsrError> {
    let made: Vec<NumberRow<PARTS>> = (0..rows).into_par_iter().map(&row).collect();
    let mut row_start = vec![0u64];
    row_start.extend(made.iter().scan(0, |end, row| {
        *end += row.len() as u64;
        Some(*end)
    }));
    let columns = made.iter().flatten().map(|(column, _)| *column).collect();
    let values = made.iter().flatten().flat_map(|(_, value)| value).copied().collect();
    Csr::of_numbers(kind, row_start, columns, values)
}

/// Random numbers of an element.
fn random_number<const PARTS: usize>(row: u32, element: usize) -> [f64; PARTS] {
    std::array::from_fn(|part| seeded::element(7, (u64::from(row) << 16) + (element * PARTS + part) as u64))
}

/// Quaternions at random columns.
fn random_quaternions(rows: u32, elements: usize) -> Result<Csr, CsrError> {
    of_rows(NumberKind::Quaternion, rows, |row| {
        let mut columns = std::collections::BTreeSet::new();
        let mut draws = 0;
        while columns.len() < elements.min(rows as usize) {
            let draw = seeded::element(11, (u64::from(row) << 16) + draws);
            columns.insert((((draw + 1.0) / 2.0 * f64::from(rows)) as u32).min(rows - 1));
            draws += 1;
        }
        columns.into_iter().enumerate().map(|(k, column)| (column, random_number::<4>(row, k))).collect()
    })
}

/// A charge on a torus of side × side sites, a quarter of a flux quantum in each plaquette; side is a multiple of 4. Site x + side y; a hop
/// to y + 1 has the phase e^{2πi x / 4} (Hofstadter 1976).
fn hofstadter(side: u32) -> Result<Csr, CsrError> {
    of_rows(NumberKind::Complex, side * side, |site| {
        let (x, y) = (site % side, site / side);
        let at = |x: u32, y: u32| x % side + side * (y % side);
        // Exact: the four powers of i.
        let phase = |turns: u32| [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]][turns as usize % 4];
        let minus = |[re, im]: [f64; 2]| [0.0 - re, 0.0 - im];
        let mut row = vec![
            (at(x + 1, y), minus(phase(0))),
            (at(x + side - 1, y), minus(phase(0))),
            // A(site, site below) = -e^{iθ}: c†_{y + 1} c_y.
            (at(x, y + side - 1), minus(phase(x))),
            (at(x, y + 1), minus(phase(4 - x % 4))),
        ];
        row.sort_by_key(|(column, _)| *column);
        row
    })
}

/// Random complex numbers at the neighbours of each site within a cube of so many sites a side, its corners included or not.
fn stencil(sides: &[u32], corners: bool) -> Result<Csr, CsrError> {
    of_rows(NumberKind::Complex, sides.iter().product(), |site| {
        let mut neighbours = vec![(0i64, 0usize, 1i64)];
        let mut left = site;
        for side in sides {
            let place = i64::from(left % side);
            left /= side;
            let steps = |(column, moved, stride): &(i64, usize, i64)| {
                let (column, moved, stride) = (*column, *moved, *stride);
                let near = (place - 1).max(0)..(place + 2).min(i64::from(*side));
                let next =
                    move |to: i64| (column + to * stride, moved + usize::from(to != place), stride * i64::from(*side));
                near.map(next).collect::<Vec<_>>()
            };
            neighbours = neighbours.iter().flat_map(steps).collect();
        }
        let mut columns: Vec<u32> = neighbours
            .iter()
            .filter(|(_, moved, _)| corners || *moved <= 1)
            .map(|(column, ..)| *column as u32)
            .collect();
        columns.sort_unstable();
        columns.into_iter().enumerate().map(|(k, column)| (column, random_number::<2>(site, k))).collect()
    })
}

/// The complex matrix of twice the rows that has (a + b i, c + d i; −c + d i, a − b i) in place of each a + b i + c j + d k.
///
/// # Errors
/// More rows than columns have bits.
pub fn complex_image(matrix: &Csr) -> Result<Csr, CsrError> {
    of_rows(NumberKind::Complex, 2 * matrix.rows() as u32, |row| {
        let (columns, values) = matrix.row(row as usize / 2);
        let pair = |(column, [a, b, c, d]): (&u32, &[f64; 4])| match row % 2 {
            0 => [(2 * column, [*a, *b]), (2 * column + 1, [*c, *d])],
            _ => [(2 * column, [-c, *d]), (2 * column + 1, [*a, -b])],
        };
        columns.iter().zip(values.as_chunks::<4>().0).flat_map(pair).collect()
    })
}

/// What stands beside a multiply.
struct Beside {
    name: String,
    milliseconds: f64,
    /// Bytes that an element of our matrix takes there; `None` where nobody says.
    element_bytes: Option<f64>,
}

fn bytes_of_an_element(stored: u64, elements: u64) -> f64 {
    stored as f64 / elements.max(1) as f64
}

/// The quickest of others.
fn quickest(report: &SpmvReport) -> Option<Beside> {
    let timed = report.others.iter().filter_map(|other| Some((other.milliseconds?, &other.name)));
    let (milliseconds, name) = timed.min_by(|a, b| a.0.total_cmp(&b.0))?;
    let element_bytes = name.contains("CSR").then_some(report.element_bytes as f64);
    Some(Beside { name: name.clone(), milliseconds, element_bytes })
}

/// Runs it and writes the table.
///
/// # Errors
/// A wrong product, a device that fails.
pub fn command(arguments: &NumbersArguments, out: &mut dyn Write) -> Result<(), CiBenchError> {
    let device = Device::parse(&arguments.device).map_err(SpmvError::from)?;
    device.check_alone("a bench").map_err(SpmvError::from)?;
    let rows = arguments.rows.unwrap_or(if device.is_cuda() { ROWS[0] } else { ROWS[1] });
    let side = |dimension: f64| f64::from(rows).powf(1.0 / dimension).round() as u32;
    let (plane, cube) = (side(2.0).next_multiple_of(4), side(3.0));
    let ordinal = arguments.device.strip_prefix("cuda:").and_then(|ordinal| ordinal.parse().ok()).unwrap_or(0);
    let repeats = arguments.repeats.map_or_else(|| spmv::samples(&device), |repeats| repeats as usize);
    let options = SpmvOptions { wish: FormatRequest::default(), race: FormatRace::Anew, repeats };
    let peers = device_peers(&device, ordinal, repeats);
    writeln!(out, "{}", device.name())?;
    writeln!(
        out,
        "| matrix | rows | non-zeros | ms | GB/s | bytes an element | beside it | ms | bytes an element | times faster |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|---|---|---|")?;
    let mut line = |report: &SpmvReport, beside: Option<Beside>| -> Result<(), CiBenchError> {
        let (rows, elements) = (report.statistics.rows, report.statistics.non_zeros);
        let own = bytes_of_an_element(report.stored_bytes, elements);
        if arguments.details {
            writeln!(out, "{report}")?;
        }
        write!(
            out,
            "| {} | {rows} | {elements} | {:.4} | {:.0} | {own:.1} |",
            report.matrix, report.milliseconds, report.gb_per_second
        )?;
        match beside {
            Some(Beside { name, milliseconds, element_bytes }) => {
                let bytes = element_bytes.map_or(String::new(), |bytes| format!("{bytes:.1}"));
                let times = milliseconds / report.milliseconds;
                writeln!(out, " {name} | {milliseconds:.4} | {bytes} | {times:.2} |")?;
            }
            None => writeln!(out, " | | | |")?,
        }
        Ok(())
    };
    for elements in QUATERNIONS {
        let matrix = random_quaternions(rows, elements)?;
        let image = complex_image(&matrix)?;
        let report = spmv::run(&format!("random quaternions, {elements} a row"), matrix, &options, &device, None)?;
        let of_image = spmv::run("its complex image", image, &options, &device, None)?;
        let bytes = bytes_of_an_element(of_image.stored_bytes, report.statistics.non_zeros);
        let (name, milliseconds) = (of_image.matrix, of_image.milliseconds);
        line(&report, Some(Beside { name, milliseconds, element_bytes: Some(bytes) }))?;
    }
    for (name, matrix) in [
        (format!("Hofstadter torus {plane} x {plane}, flux 1/4"), hofstadter(plane)?),
        (format!("complex stencil of 5 points, {plane} x {plane}"), stencil(&[plane, plane], false)?),
        (format!("complex stencil of 27 points, {cube} x {cube} x {cube}"), stencil(&[cube, cube, cube], true)?),
    ] {
        let report = spmv::run(&name, matrix, &options, &device, Some(&peers))?;
        let beside = quickest(&report);
        line(&report, beside)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::FRAC_PI_2;

    #[test]
    fn the_torus_is_hermitian_and_has_four_values() {
        let torus = hofstadter(8).unwrap();
        torus.check_hermitian(0.0).unwrap();
        assert_eq!((torus.rows(), torus.non_zeros(), torus.kind()), (64, 256, NumberKind::Complex));
        let mut values: Vec<[u64; 2]> =
            torus.values().as_chunks::<2>().0.iter().map(|value| value.map(f64::to_bits)).collect();
        values.sort_unstable();
        values.dedup();
        assert_eq!(values.len(), 4);
        // Around a plaquette the phases add up to a quarter turn, at every one of them.
        for (x, y) in (0..8u32).flat_map(|x| (0..8u32).map(move |y| (x, y))) {
            let site = |x: u32, y: u32| x % 8 + 8 * (y % 8);
            let corners = [site(x, y), site(x + 1, y), site(x + 1, y + 1), site(x, y + 1), site(x, y)];
            let angle: f64 = corners
                .windows(2)
                .map(|hop| {
                    let [re, im, ..] = torus.number(hop[1] as usize, hop[0]);
                    (-im).atan2(-re)
                })
                .sum();
            assert!((angle - FRAC_PI_2).sin().abs() < 1e-12 && (angle - FRAC_PI_2).cos() > 0.0, "{x} {y}: {angle}");
        }
    }

    #[test]
    fn stencils_have_their_points() {
        let plane = stencil(&[5, 5], false).unwrap();
        assert_eq!(plane.row(12).0, [7, 11, 12, 13, 17]);
        assert_eq!(plane.row(0).0, [0, 1, 5]);
        let cube = stencil(&[4, 4, 4], true).unwrap();
        assert_eq!((cube.row(21).0.len(), cube.row(0).0.len(), cube.rows()), (27, 8, 64));
        let random = random_quaternions(300, 16).unwrap();
        assert!((0..300).all(|row| random.row(row).0.len() == 16));
    }

    #[test]
    fn a_small_run_has_a_line_for_each_matrix() {
        let arguments = NumbersArguments { device: "cpu".into(), rows: Some(64), details: false, repeats: Some(1) };
        let mut text = Vec::new();
        command(&arguments, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert_eq!(text.lines().count(), 3 + QUATERNIONS.len() + 3, "{text}");
        assert!(text.contains("its complex image") && text.contains("| 36."), "{text}");
    }
}
