//! The files of a spectrum: report.json, spectrum.npz, spectrum.csv, spectrum.svg.
//!
//! In: a [`SpectrumRecord`], a folder. Out: the files. spectrum.npz (NumPy: `numpy.load("spectrum.npz")`) has
//!
//! * `omega`, f64 \[points\]; `q`, f64 \[momenta, 2\], in one over the nearest-neighbour distance; `k`, i64 \[momenta, numbers\];
//! * `curve`, f64 \[momenta, points\]: S(q, ω);
//! * `moments`, f64 \[momenta, 3\];
//! * `conductivity`, f64 \[points\]: Re σ(ω) without the part at ω = 0, of a current;
//! * of an ensemble `temperature`, f64 \[momenta\], and `errors`, f64 \[momenta, points\]: a row for each momentum and temperature;
//! * `poles` and `weights`, f64 \[all\], those of one momentum after those of another; `first`, u64 \[momenta + 1\]: where each begins.
//!
//! Of a molecule `q` and `k` have no meaning, the first row is the sum, and those of orbitals or directions follow; of its dipole there are
//! `oscillator_strengths`, f64 \[all\].
//!
//! spectrum.csv has a column `omega`, one for each momentum and that of the conductivity. spectrum.svg is a map of the momenta, of up to four a chart of curves.

use super::record::SpectrumRecord;
use crate::files::publish;
use crate::input::Family;
use crate::report::plot::{Axis, MapColumn, SIZE, Series, Style, chart, map, picture};
use crate::report::{CurveReport, ReportError};
use ndarray::{Array1, Array2};
use ndarray_npy::NpzWriter;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// Curves of a chart at most; more are drawn as a map.
const MOST_CURVES: usize = 4;

impl CurveReport for SpectrumRecord {
    const VERB: &'static str = "spectrum";
    const FAMILIES: (&'static [Family], &'static str) =
        (&[Family::Lattice, Family::Ci], "it is of lattice models that are diagonalised, and of molecules by full CI");
    const FILES: [&'static str; 4] = ["report.json", "spectrum.npz", "spectrum.csv", "spectrum.svg"];

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
        let numbers = self.curves.iter().filter_map(|curve| curve.q.as_ref()).map(|q| q.k.len()).max().unwrap_or(0);
        let of_q = |curve: usize, axis: usize| self.curves[curve].q.as_ref().map_or(0.0, |q| q.cartesian[axis]);
        let of_k = |curve: usize, number: usize| {
            self.curves[curve].q.as_ref().and_then(|q| q.k.get(number).copied()).unwrap_or(0)
        };
        let count = self.curves.len();
        let curve = |(curve, point): (usize, usize)| self.curves[curve].curve[point];
        let column = |part: usize| -> Array1<f64> {
            self.curves.iter().flat_map(|curve| curve.poles.iter().map(move |pole| pole[part])).collect()
        };
        let first = self.curves.iter().scan(0, |end, curve| {
            *end += curve.poles.len() as u64;
            Some(*end)
        });
        let first: Array1<u64> = std::iter::once(0).chain(first).collect();
        publish(path, |file| {
            let mut npz = NpzWriter::new(BufWriter::new(file));
            let mut write = || {
                npz.add_array("omega", &Array1::from(self.omega.clone()))?;
                npz.add_array("q", &Array2::from_shape_fn((count, 2), |(c, axis)| of_q(c, axis)))?;
                npz.add_array("k", &Array2::from_shape_fn((count, numbers), |(c, number)| of_k(c, number)))?;
                npz.add_array("curve", &Array2::from_shape_fn((count, self.omega.len()), curve))?;
                npz.add_array(
                    "moments",
                    &Array2::from_shape_fn((count, 3), |(c, power)| self.curves[c].moments[power]),
                )?;
                npz.add_array("poles", &column(0))?;
                npz.add_array("weights", &column(1))?;
                if self.curves.iter().any(|curve| curve.oscillator_strengths.is_some()) {
                    let strengths = self.curves.iter().flat_map(|curve| curve.oscillator_strengths.iter().flatten());
                    npz.add_array("oscillator_strengths", &strengths.copied().collect::<Array1<f64>>())?;
                }
                if !self.temperatures.is_empty() {
                    let temperature = self.curves.iter().map(|curve| curve.temperature.unwrap_or(0.0));
                    let error = |(curve, point): (usize, usize)| {
                        self.curves[curve].errors.as_ref().map_or(0.0, |errors| errors[point])
                    };
                    npz.add_array("temperature", &Array1::from_iter(temperature))?;
                    npz.add_array("errors", &Array2::from_shape_fn((count, self.omega.len()), error))?;
                }
                if let Some(conductivity) = &self.conductivity {
                    npz.add_array("conductivity", &Array1::from(conductivity.curve.clone()))?;
                }
                npz.add_array("first", &first)
            };
            write()
                .and_then(|()| npz.finish().map(drop))
                .map_err(|source| ReportError::Arrays { file: path.into(), source })
        })
    }

    fn table(&self) -> Vec<(String, Vec<f64>)> {
        let heading = |curve: &super::SpectrumCurve| {
            let name = match &curve.q {
                None if curve.label.is_some() => curve.name().replace(' ', "_"),
                Some(q) => format!("q_{}", q.k.iter().map(i64::to_string).collect::<Vec<_>>().join("_")),
                None => "spectrum".into(),
            };
            name + &curve.temperature.map_or_else(String::new, |temperature| format!("_T_{temperature}"))
        };
        // Γ begins and ends a path.
        let mut headings: Vec<String> = Vec::new();
        for curve in &self.curves {
            let mut own = heading(curve);
            while headings.contains(&own) {
                own.push('_');
            }
            headings.push(own);
        }
        let mut columns = vec![("omega".to_string(), self.omega.clone())];
        columns.extend(headings.into_iter().zip(self.curves.iter().map(|curve| curve.curve.clone())));
        columns.extend(self.conductivity.iter().map(|sigma| ("conductivity".into(), sigma.curve.clone())));
        columns
    }

    /// The curve, or the sum of those of all q: what one place has. Of an ensemble that of the lowest temperature; of a molecule the first
    /// curve is the sum.
    fn drawn(&self) -> Vec<(String, Vec<f64>)> {
        if let Some(conductivity) = &self.conductivity {
            return vec![("Re σ(ω)".into(), conductivity.curve.clone())];
        }
        let of_first = self.curves.iter().filter(|curve| curve.temperature == self.temperatures.first().copied());
        let mut curves: Vec<&super::SpectrumCurve> = of_first.collect();
        if self.lattice.is_none() {
            curves.truncate(1);
        }
        // Γ begins and ends a path.
        let mut seen: Vec<&[i64]> = Vec::new();
        curves.retain(|curve| {
            let is_new = curve.q.as_ref().is_none_or(|q| !seen.contains(&&q.k[..]));
            seen.extend(curve.q.as_ref().map(|q| &q.k[..]));
            is_new
        });
        let sum = |point: usize| curves.iter().map(|curve| curve.curve[point]).sum();
        let name = match &curves[..] {
            [] => return Vec::new(),
            [one] if one.q.is_some() => format!("S(q, ω), q = {}", one.name()),
            [_] => "S(ω)".into(),
            _ => "Σ S(q, ω) over q".into(),
        };
        vec![(name, (0..self.omega.len()).map(sum).collect())]
    }

    fn headline(&self) -> Vec<(&'static str, f64)> {
        let drude = self.conductivity.iter().map(|sigma| ("drude_weight", sigma.drude_weight));
        [("energy", self.energy), ("weight", self.total_weight)].into_iter().chain(drude).collect()
    }

    fn svg(&self) -> Result<String, ReportError> {
        let title = format!("{}: spectrum of {}", self.model.name, self.of);
        let energy = Axis::new("ω");
        // Of an ensemble a map is that of the lowest temperature.
        let of_first = |curve: &&super::SpectrumCurve| curve.temperature == self.temperatures.first().copied();
        let is_molecule = self.lattice.is_none();
        if is_molecule || self.curves.len() <= MOST_CURVES || self.curves.iter().filter(of_first).count() == 1 {
            let series = |curve: &super::SpectrumCurve| Series {
                name: match (&curve.q, curve.temperature) {
                    (Some(_), Some(temperature)) => format!("q = {}, T = {temperature}", curve.name()),
                    (Some(_), None) => format!("q = {}", curve.name()),
                    (None, Some(temperature)) => format!("T = {temperature}"),
                    (None, None) => String::new(),
                },
                points: self.omega.iter().copied().zip(curve.curve.iter().copied()).collect(),
                style: Style::Line,
            };
            let (series, height): (Vec<Series>, _) = match &self.conductivity {
                Some(conductivity) => {
                    let points = self.omega.iter().copied().zip(conductivity.curve.iter().copied()).collect();
                    (vec![Series { name: String::new(), points, style: Style::Line }], "Re σ(ω)")
                }
                None if is_molecule => (self.curves.iter().take(1).map(series).collect(), "S(ω)"),
                None => (self.curves.iter().map(series).collect(), "S(q, ω)"),
            };
            let height = Axis { least: Some(0.0), ..Axis::new(height) };
            return picture(SIZE, |area| {
                Ok(chart(area, &title, [&energy, &height], &series).map_err(|error| error.to_string())?)
            });
        }
        let drawn: Vec<&super::SpectrumCurve> = self.curves.iter().filter(of_first).collect();
        let at: Vec<f64> = drawn.iter().map(|curve| curve.along).collect();
        let columns: Vec<MapColumn<'_>> = drawn
            .iter()
            .enumerate()
            .map(|(place, curve)| {
                let step = at[1] - at[0];
                let before = if place > 0 { 0.5 * (at[place - 1] + at[place]) } else { at[0] - 0.5 * step };
                let after = at.get(place + 1).map_or(at[place] + 0.5 * step, |next| 0.5 * (at[place] + next));
                ([before, after], &curve.curve[..])
            })
            .collect();
        let mut axis = Axis::new("q");
        // Names of every momentum where there is room for them, and of the points in any case.
        let every = drawn.len().div_ceil(9).max(1);
        let points = drawn.iter().filter(|curve| curve.q.as_ref().is_some_and(|q| q.point.is_some())).count();
        for (place, curve) in drawn.iter().enumerate() {
            let point = curve.q.as_ref().and_then(|q| q.point.clone());
            let name = match point.as_deref() {
                Some("Gamma") => "Γ".into(),
                Some("Pi") => "π".into(),
                Some(name) => name.to_string(),
                None if points > 1 || place % every != 0 => continue,
                None => curve.name(),
            };
            axis.ticks.push((curve.along, name));
        }
        // A point is in the middle of its row.
        let half = 0.5 * (self.omega[1] - self.omega[0]);
        let rows = [self.omega[0] - half, self.omega[self.omega.len() - 1] + half];
        let largest = drawn.iter().flat_map(|curve| curve.curve.iter().copied()).fold(0.0, f64::max);
        let at_temperature = self.temperatures.first().map_or_else(String::new, |t| format!(" at T = {t}"));
        let title = format!("{title}{at_temperature}; darkest S = {largest:.3}");
        picture(
            SIZE,
            |area| Ok(map(area, &title, [&axis, &energy], rows, &columns).map_err(|error| error.to_string())?),
        )
    }
}
