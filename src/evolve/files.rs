//! The files of an evolution: report.json, evolution.npz, evolution.csv, evolution.svg; mps.npz of a chain with `--vectors`.
//!
//! In: an [`EvolutionRecord`], a folder. Out: the files. evolution.npz (NumPy: `numpy.load("evolution.npz")`) has
//!
//! * `times`, `energy`, `echo`, `bounds`, f64 \[times\]; `overlap`, complex128 \[times\]; in imaginary time `log_norm`, f64 \[times\];
//! * for each observable an array of its name: f64 \[times\], \[times, sites\] or \[times, sites, sites\];
//! * for each set of sites an array such as `S_0_1_2`, f64 \[times\];
//! * of a matrix-product state `discarded`, f64 \[times\], and `cut_entropies`, f64 \[times, cuts\].
//!
//! evolution.csv has a column `t` and one for each of these numbers. evolution.svg has a chart for each quantity that is recorded.

use super::measures::OF_STATES;
use super::record::EvolutionRecord;
use crate::files::publish;
use crate::input::Family;
use crate::observable::Average;
use crate::report::plot::{Axis, Series, Style, chart, picture};
use crate::report::{CurveReport, ReportError, write_matrix_products};
use ndarray::{Array1, Array2, Array3};
use ndarray_npy::NpzWriter;
use num_complex::Complex64;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// Charts of a picture, and curves of a chart, at most.
const MOST_CHARTS: usize = 8;
const MOST_CURVES: usize = 12;
const WIDTH: u32 = 800;
const HEIGHT: u32 = 280;

impl CurveReport for EvolutionRecord {
    const VERB: &'static str = "evolve";
    const FAMILIES: (&'static [Family], &'static str) =
        (&[Family::Lattice, Family::Dmrg], "it is of lattice models, diagonalised or with [dmrg]");
    const FILES: [&'static str; 4] = ["report.json", "evolution.npz", "evolution.csv", "evolution.svg"];

    fn summary(&self) -> String {
        self.text()
    }

    fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn converged(&self) -> bool {
        self.converged
    }

    fn write_arrays(&self, path: &Path) -> Result<PathBuf, ReportError> {
        let list = |values: &[f64]| Array1::from(values.to_vec());
        let overlap: Array1<Complex64> = self.overlap.iter().map(|[re, im]| Complex64::new(*re, *im)).collect();
        publish(path, |file| {
            let mut npz = NpzWriter::new(BufWriter::new(file));
            let mut write = || {
                let own =
                    [("times", &self.times), ("energy", &self.energy), ("echo", &self.echo), ("bounds", &self.bounds)];
                for (name, values) in own {
                    npz.add_array(name, &list(values))?;
                }
                npz.add_array("overlap", &overlap)?;
                if let Some(log_norm) = &self.log_norm {
                    npz.add_array("log_norm", &list(log_norm))?;
                }
                if let Some(chain) = &self.chain {
                    npz.add_array("discarded", &list(&chain.discarded))?;
                    let cuts = chain.cut_entropies.first().map_or(0, Vec::len);
                    let of = |(t, cut): (usize, usize)| chain.cut_entropies[t][cut];
                    npz.add_array("cut_entropies", &Array2::from_shape_fn((chain.cut_entropies.len(), cuts), of))?;
                }
                for averages in &self.averages {
                    let values: Vec<Vec<f64>> = averages.values.iter().map(Average::values).collect();
                    let (name, count) = (&averages.name, values.len());
                    match averages.values.first() {
                        Some(Average::Whole(_)) => npz.add_array(name, &list(&values.concat()))?,
                        Some(Average::Sites(sites)) => {
                            npz.add_array(name, &Array2::from_shape_fn((count, sites.len()), |(t, i)| values[t][i]))?;
                        }
                        Some(Average::Pairs(pairs)) => {
                            let n = pairs.nrows();
                            let of_pair = |(t, i, j): (usize, usize, usize)| values[t][i * n + j];
                            npz.add_array(name, &Array3::from_shape_fn((count, n, n), of_pair))?;
                        }
                        None => {}
                    }
                }
                for entropy in &self.entropies {
                    npz.add_array(entropy.name(), &list(&entropy.values))?;
                }
                Ok(())
            };
            write()
                .and_then(|()| npz.finish().map(drop))
                .map_err(|source| ReportError::Arrays { file: path.into(), source })
        })
    }

    fn write_states(&self, folder: &Path) -> Result<Option<PathBuf>, ReportError> {
        let energy = self.energy.last().copied().into_iter().collect::<Vec<f64>>();
        self.state.as_ref().map(|state| write_matrix_products(folder, &energy, std::slice::from_ref(state))).transpose()
    }

    fn table(&self) -> Vec<(String, Vec<f64>)> {
        std::iter::once(("t".to_string(), self.times.clone())).chain(self.columns()).collect()
    }

    /// What charts show as one line.
    fn drawn(&self) -> Vec<(String, Vec<f64>)> {
        let lines = self.charts().into_iter().filter_map(|(name, series)| match &series[..] {
            [one] => Some((name, one.points.iter().map(|(_, y)| *y).collect())),
            _ => None,
        });
        let mut lines: Vec<(String, Vec<f64>)> = lines.collect();
        if lines.is_empty() {
            lines.push((OF_STATES[1].into(), self.echo.clone()));
        }
        lines
    }

    fn headline(&self) -> Vec<(&'static str, f64)> {
        let last = |values: &[f64]| values.last().copied().unwrap_or(f64::NAN);
        let [energy, echo] = [&self.energy, &self.echo].map(|values| last(values));
        vec![("energy", energy), ("echo", echo), ("bound", self.bound)]
    }

    fn svg(&self) -> Result<String, ReportError> {
        let charts = self.charts();
        let title =
            format!("{}: {}", self.model.name, if self.imaginary { "imaginary time" } else { "time evolution" });
        picture((WIDTH, HEIGHT * charts.len() as u32), |area| {
            let areas = area.split_evenly((charts.len(), 1));
            for (number, (area, (name, series))) in areas.iter().zip(&charts).enumerate() {
                let title = if number == 0 { title.as_str() } else { "" };
                let axes = [Axis::new("t"), Axis::new(name.as_str())];
                chart(area, title, [&axes[0], &axes[1]], series).map_err(|error| error.to_string())?;
            }
            Ok(())
        })
    }
}

impl EvolutionRecord {
    /// The curves of each quantity that is recorded and is one number or one a site.
    fn charts(&self) -> Vec<(String, Vec<Series>)> {
        let curve = |name: String, values: &[f64]| Series {
            name,
            points: self.times.iter().copied().zip(values.iter().copied()).collect(),
            style: Style::Line,
        };
        let one = |name: &str, values: &[f64]| (name.to_string(), vec![curve(String::new(), values)]);
        let mut charts = Vec::new();
        for name in &self.record {
            match name.as_str() {
                // Constant, as H is.
                "energy" if self.energy_drift.is_some() => {}
                "energy" => charts.push(one("energy", &self.energy)),
                "echo" => charts.push(one("echo", &self.echo)),
                _ => {
                    let Some(averages) = self.averages.iter().find(|averages| averages.name == *name) else { continue };
                    let at = |place: usize| averages.values.iter().map(|v| v.values()[place]).collect::<Vec<f64>>();
                    match averages.values.first() {
                        Some(Average::Whole(_)) => charts.push(one(name, &at(0))),
                        Some(Average::Sites(sites)) => {
                            let sites = 0..sites.len().min(MOST_CURVES);
                            charts.push((name.clone(), sites.map(|i| curve(format!("site {i}"), &at(i))).collect()));
                        }
                        Some(Average::Pairs(_)) | None => {}
                    }
                }
            }
        }
        if !self.entropies.is_empty() {
            let of_set = |entropy: &super::RecordedEntropy| {
                let sites: Vec<String> = entropy.sites.iter().map(usize::to_string).collect();
                curve(format!("sites {}", sites.join(" ")), &entropy.values)
            };
            charts.push(("entropy".into(), self.entropies.iter().take(MOST_CURVES).map(of_set).collect()));
        }
        if charts.is_empty() {
            charts.push(one(OF_STATES[1], &self.echo));
        }
        charts.truncate(MOST_CHARTS);
        charts
    }
}
