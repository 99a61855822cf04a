//! Vectors of configuration state functions as vectors of determinants, X = C x, and back, y = Cᵀ Y.
//!
//! In: a space of functions, and determinants that include those of each configuration. Out: the tables of both changes, which cores and
//! cards share, and the changes on cores. C is one dense panel for all configurations of k open shells
//! (`SpinFunctions`), and the sign of each determinant's row. Its columns are orthonormal, so with
//! the product H of determinants Cᵀ H C is the matrix of the functions, and x·y = X·Y.
//!
//! Determinants stand twice: by configuration, as the panels make them, and by row, as the product takes them. No two tasks write one element.

use super::super::CsfSpace;
use super::super::determinants::determinant_row;
use super::super::spin_functions::SpinFunctions;
use crate::space::Space;
use crate::way::NAME;
use eigenforge_runtime::{Device, DeviceError, TableList};
use eigenforge_templates::ci::{SpinPanelPlan, SpinTransformPlan};
use eigenforge_templates::{ScalarType, Warp};
use multiversion::multiversion;
use rayon::prelude::*;

/// Rows that 31 bits number, but one; the highest bit is a sign.
pub(super) const MOST_ROWS: u64 = (1 << 31) - 1;

/// Determinants per task, and configurations whose functions stand one after another.
const TASK: usize = 1 << 14;
const RUN: usize = 256;

/// Threads of a block of the generated kernels.
const THREADS: u32 = 128;

/// Sums side by side in a loop over numbers.
const LANES: usize = 8;

/// The sign of a row, and a row that no configuration has.
const SIGN: u32 = 1 << 31;
const NOWHERE: u32 = u32::MAX;

/// The configurations of one count of open shells.
struct Panel {
    open: usize,
    /// Determinants and functions of each.
    determinants: usize,
    functions: usize,
    /// C by function, then determinant.
    coefficients: Vec<f64>,
    /// The first function of each configuration.
    first: Vec<u32>,
    /// The first determinant of the panel.
    start: usize,
}

/// Both changes between a space of functions and determinants.
pub(super) struct Transform {
    two_s: usize,
    panels: Vec<Panel>,
    /// Row and sign of each determinant of the panels.
    rows: Vec<u32>,
    /// Panel, and place in it, of each configuration of the space.
    configurations: Vec<(u8, u32)>,
    /// Of each row of the determinants its place in the panels, and its sign.
    places: Vec<u32>,
    functions: usize,
}

/// Determinants by configuration and by row, and H of the latter.
pub(super) struct Scratch {
    of_panels: Vec<f64>,
    expanded: Vec<f64>,
    product: Vec<f64>,
}

impl Transform {
    /// Bytes on cores of so many determinants: rows, places, and the vectors of [`Scratch`].
    pub(super) fn host_bytes(determinants: u64) -> u64 {
        32 * determinants
    }

    /// The tables for the determinants of a space, fewer than [`MOST_ROWS`].
    ///
    /// # Errors
    /// Too little memory.
    pub(super) fn new(csfs: &CsfSpace, space: &Space) -> Result<Transform, DeviceError> {
        let all = space.len();
        let what = format!("rows of the determinants of {} configuration state functions", csfs.len());
        Device::cpu().check_memory(&what, Transform::host_bytes(all))?;
        let (configurations, two_sz) = (&csfs.configurations, space.two_sz());
        let most = configurations.words.iter().map(|word| word.open()).max().unwrap_or(0);
        let (mut panels, mut rows) = (Vec::new(), Vec::new());
        let mut of_space = vec![(0, 0); configurations.words.len()];
        for open in (csfs.two_s..=most).step_by(2) {
            let own: Vec<usize> =
                (0..configurations.words.len()).filter(|at| configurations.words[*at].open() == open).collect();
            if own.is_empty() {
                continue;
            }
            own.iter().zip(0..).for_each(|(at, place)| of_space[*at] = (panels.len() as u8, place));
            let spins = SpinFunctions::new(open, csfs.two_s, two_sz);
            let (determinants, functions) = (spins.patterns.len(), spins.count);
            let mut coefficients = vec![0.0; determinants * functions];
            for place in 0..determinants {
                spins.row(place).iter().for_each(|(f, c)| coefficients[usize::from(*f) * determinants + place] = *c);
            }
            let start = rows.len();
            let of_configuration = |at: &usize| {
                let word = configurations.words[*at];
                let row = move |pattern: &u32| {
                    let (row, is_odd) = determinant_row(space, word, *pattern)?;
                    Some(row as u32 | if is_odd { SIGN } else { 0 })
                };
                spins.patterns.iter().map(|pattern| row(pattern).unwrap_or(NOWHERE)).collect::<Vec<_>>()
            };
            rows.par_extend(own.par_iter().flat_map_iter(of_configuration));
            let first = own.iter().map(|at| configurations.first[*at] as u32).collect();
            panels.push(Panel { open, determinants, functions, coefficients, first, start });
        }
        let mut places = vec![NOWHERE; all as usize];
        for (place, row) in rows.iter().enumerate() {
            debug_assert_ne!(*row, NOWHERE, "a determinant of a configuration is missing");
            places[(row & !SIGN) as usize] = place as u32 | row & SIGN;
        }
        let (two_s, functions) = (csfs.two_s, csfs.len() as usize);
        Ok(Transform { two_s, panels, rows, configurations: of_space, places, functions })
    }

    /// Vectors of this many determinants.
    pub(super) fn scratch(&self) -> Scratch {
        let of = |length: usize| vec![0.0; length];
        Scratch { of_panels: of(self.rows.len()), expanded: of(self.places.len()), product: of(self.places.len()) }
    }

    /// Functions.
    pub(super) fn functions(&self) -> usize {
        self.functions
    }

    /// Determinants.
    pub(super) fn determinants(&self) -> usize {
        self.places.len()
    }

    /// What the generated kernels are told, for warps of a width.
    pub(super) fn plan(&self, warp: Warp) -> SpinTransformPlan {
        let panel = |panel: &Panel| SpinPanelPlan {
            open: panel.open as u32,
            determinants: panel.determinants as u32,
            functions: panel.functions as u32,
            configurations: panel.first.len() as u64,
        };
        SpinTransformPlan {
            name: NAME.into(),
            scalar: ScalarType::F64,
            warp,
            two_s: self.two_s as u32,
            threads: THREADS,
            rows: self.places.len() as u64,
            panels: self.panels.iter().map(panel).collect(),
        }
    }

    /// What the generated kernels read.
    pub(super) fn tables(&self) -> TableList<'static> {
        let by_function: Vec<f64> = self.panels.iter().flat_map(|panel| &panel.coefficients).copied().collect();
        let turned = |panel: &Panel| {
            let Panel { determinants, functions, coefficients, .. } = panel;
            let element = |at: usize| coefficients[at % functions * determinants + at / functions];
            (0..determinants * functions).map(element).collect::<Vec<_>>()
        };
        let by_determinant: Vec<f64> = self.panels.iter().flat_map(turned).collect();
        let first: Vec<u32> = self.panels.iter().flat_map(|panel| &panel.first).copied().collect();
        vec![
            ("by_function", by_function.into()),
            ("by_determinant", by_determinant.into()),
            ("first_function", first.into()),
            ("determinant_row", self.rows.clone().into()),
        ]
    }

    /// y = Cᵀ H C x with what multiplies determinants; returns what that does.
    pub(super) fn multiply(
        &self,
        (x, y): (&[f64], &mut [f64]),
        scratch: &mut Scratch,
        product: impl FnOnce(&[f64], &mut [f64]) -> f64,
    ) -> f64 {
        self.expand(x, scratch);
        let dot = product(&scratch.expanded, &mut scratch.product);
        self.contract(&scratch.product, y);
        dot
    }

    /// X = C x.
    fn expand(&self, x: &[f64], scratch: &mut Scratch) {
        for panel in &self.panels {
            let (batch, length) = (panel.batch(), panel.first.len() * panel.determinants);
            let own = &mut scratch.of_panels[panel.start..panel.start + length];
            let tasks = own.par_chunks_mut(batch * panel.determinants).zip(panel.first.par_chunks(batch));
            tasks.for_each(|(out, first)| expand(panel, first, x, out));
        }
        let from = &scratch.of_panels;
        let row = |place: &u32| match *place {
            NOWHERE => 0.0,
            place => with_sign(from[(place & !SIGN) as usize], place),
        };
        let tasks = scratch.expanded.par_chunks_mut(TASK).zip(self.places.par_chunks(TASK));
        tasks.for_each(|(out, places)| out.iter_mut().zip(places).for_each(|(out, place)| *out = row(place)));
    }

    /// y = Cᵀ Y.
    fn contract(&self, product: &[f64], y: &mut [f64]) {
        let mut tasks = Vec::with_capacity(self.configurations.len().div_ceil(RUN));
        let mut rest = y;
        for run in self.configurations.chunks(RUN) {
            let length = run.iter().map(|(panel, _)| self.panels[usize::from(*panel)].functions).sum();
            let (own, others) = rest.split_at_mut(length);
            rest = others;
            tasks.push((run, own));
        }
        tasks.into_par_iter().for_each_init(Vec::new, |values, (run, mut out)| {
            for (panel, index) in run {
                let panel = &self.panels[usize::from(*panel)];
                let start = panel.start + *index as usize * panel.determinants;
                let value = |row: &u32| with_sign(product[(row & !SIGN) as usize], *row);
                values.clear();
                values.extend(self.rows[start..start + panel.determinants].iter().map(value));
                let (own, others) = out.split_at_mut(panel.functions);
                contract(&panel.coefficients, values, own);
                out = others;
            }
        });
    }
}

impl Panel {
    /// Configurations of a task.
    fn batch(&self) -> usize {
        (TASK / self.determinants).max(1)
    }
}

fn with_sign(value: f64, word: u32) -> f64 {
    if word & SIGN != 0 { -value } else { value }
}

/// The determinants of configurations whose functions begin at `first`, in the order of the panel.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
fn expand(panel: &Panel, first: &[u32], x: &[f64], out: &mut [f64]) {
    let Panel { determinants, functions, coefficients, .. } = panel;
    for (first, out) in first.iter().zip(out.chunks_exact_mut(*determinants)) {
        let x = &x[*first as usize..][..*functions];
        out.fill(0.0);
        let (fours, rest) = x.as_chunks::<4>();
        let mut columns = coefficients.chunks_exact(*determinants);
        for x in fours {
            let [Some(a), Some(b), Some(c), Some(d)] = [0; 4].map(|_| columns.next()) else { break };
            let sums = out.iter_mut().zip(a).zip(b).zip(c).zip(d);
            for ((((out, a), b), c), d) in sums {
                *out = *out + x[0] * a + x[1] * b + x[2] * c + x[3] * d;
            }
        }
        for (x, column) in rest.iter().zip(columns) {
            out.iter_mut().zip(column).for_each(|(out, c)| *out += x * c);
        }
    }
}

/// The functions of a configuration from its determinants.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
fn contract(coefficients: &[f64], values: &[f64], out: &mut [f64]) {
    let (values_of_lanes, values_rest) = values.as_chunks::<LANES>();
    for (out, column) in out.iter_mut().zip(coefficients.chunks_exact(values.len())) {
        let (of_lanes, rest) = column.as_chunks::<LANES>();
        let mut sums = [0.0; LANES];
        for (c, v) in of_lanes.iter().zip(values_of_lanes) {
            for lane in 0..LANES {
                sums[lane] += c[lane] * v[lane];
            }
        }
        let tail: f64 = rest.iter().zip(values_rest).map(|(c, v)| c * v).sum();
        *out = sums.iter().sum::<f64>() + tail;
    }
}
