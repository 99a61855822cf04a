//! The files of thermal averages: report.json, thermal.npz, thermal.csv, thermal.svg.
//!
//! In: a [`ThermalRecord`], a folder. Out: the files. thermal.npz (NumPy: `numpy.load("thermal.npz")`) has `temperature`, f64 \[temperatures\], and for
//! each quantity its name and the same with `_error` behind it. thermal.csv has a line for each temperature and these columns. thermal.svg has
//! charts of heat capacity, entropy, susceptibility and energy.

use super::record::{ThermalCurve, ThermalRecord};
use crate::files::publish;
use crate::input::Family;
use crate::report::plot::{Area, Axis, Series, Style, chart, picture};
use crate::report::{CurveReport, ReportError};
use ndarray::Array1;
use ndarray_npy::NpzWriter;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// Width and height of the picture.
const SIZE: (u32, u32) = (1100, 800);

/// Error bars smaller than this part of the range are not drawn.
const SEEN: f64 = 2e-3;

impl CurveReport for ThermalRecord {
    const VERB: &'static str = "thermal";
    const FAMILIES: (&'static [Family], &'static str) =
        (&[Family::Lattice], "it is of lattice models that are diagonalised");
    const FILES: [&'static str; 4] = ["report.json", "thermal.npz", "thermal.csv", "thermal.svg"];

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
        publish(path, |file| {
            let mut npz = NpzWriter::new(BufWriter::new(file));
            let mut write = || {
                npz.add_array("temperature", &Array1::from(self.temperatures.clone()))?;
                for ThermalCurve { name, values, errors, .. } in &self.quantities {
                    npz.add_array(name.as_str(), &Array1::from(values.clone()))?;
                    npz.add_array(format!("{name}_error"), &Array1::from(errors.clone()))?;
                }
                Ok(())
            };
            write()
                .and_then(|()| npz.finish().map(drop))
                .map_err(|source| ReportError::Arrays { file: path.into(), source })
        })
    }

    fn table(&self) -> Vec<(String, Vec<f64>)> {
        let mut columns = vec![("temperature".to_string(), self.temperatures.clone())];
        for ThermalCurve { name, values, errors, .. } in &self.quantities {
            columns.push((name.clone(), values.clone()));
            columns.push((format!("{name}_error"), errors.clone()));
        }
        columns
    }

    fn headline(&self) -> Vec<(&'static str, f64)> {
        let heat = self.quantity("heat_capacity").map_or(&[][..], |curve| &curve.values);
        let largest = heat.iter().zip(&self.temperatures).max_by(|a, b| a.0.total_cmp(b.0));
        let peak = largest.map(|(value, at)| [("largest_c", *value), ("at_t", *at)]);
        std::iter::once(("lowest", self.lowest)).chain(peak.into_iter().flatten()).collect()
    }

    fn svg(&self) -> Result<String, ReportError> {
        let charts = [
            ("heat_capacity", "C"),
            ("entropy", "S"),
            if self.quantity("susceptibility").is_some() { ("susceptibility", "χ") } else { ("ln_z", "ln Z") },
            ("energy", "E"),
        ];
        picture(SIZE, |area| {
            for (part, (name, label)) in area.split_evenly((2, 2)).iter().zip(charts) {
                if let Some(curve) = self.quantity(name) {
                    self.draw(part, curve, label).map_err(|error| error.to_string())?;
                }
            }
            Ok(())
        })
    }
}

impl ThermalRecord {
    /// A quantity over T, on an axis of powers of ten where the temperatures span more than one.
    fn draw<'a>(
        &self,
        area: &Area<'a>,
        curve: &ThermalCurve,
        label: &str,
    ) -> Result<(), Box<dyn std::error::Error + 'a>> {
        let (first, last) = (self.temperatures[0], self.temperatures[self.temperatures.len() - 1]);
        let is_log = last > 10.0 * first;
        let place = |temperature: f64| if is_log { temperature.log10() } else { temperature };
        let mut axis = Axis::new("T");
        if is_log {
            let powers = (first.log10().floor() as i32)..=(last.log10().ceil() as i32);
            let ticks = powers.flat_map(|power| [1, 2, 5].map(|digit| (digit, power)));
            let inside =
                ticks.map(|(digit, power)| f64::from(digit) * 10f64.powi(power)).filter(|t| (first..=last).contains(t));
            let inside: Vec<f64> = inside.collect();
            // Over many powers their beginnings alone.
            let sparse = inside.len() > 10;
            let kept = inside.into_iter().filter(|t| !sparse || (t.log10() - t.log10().round()).abs() < 1e-9);
            axis.ticks = kept.map(|t| (t.log10(), format!("{}", (t * 1e9).round() / 1e9))).collect();
        }
        let points: Vec<(f64, f64)> =
            self.temperatures.iter().map(|t| place(*t)).zip(curve.values.iter().copied()).collect();
        let range = |values: &mut dyn Iterator<Item = f64>| {
            let (low, high) = values
                .filter(|v| v.is_finite())
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
            high - low
        };
        let seen = SEEN * range(&mut curve.values.iter().copied());
        let bars = points.iter().zip(&curve.errors).filter(|(_, error)| error.is_finite() && **error > seen);
        let mut series: Vec<Series> = bars
            .map(|((x, y), error)| Series {
                name: String::new(),
                points: vec![(*x, y - error), (*x, y + error)],
                style: Style::Guide,
            })
            .collect();
        series.push(Series { name: String::new(), points, style: Style::Line });
        chart(area, &format!("{}: {label}", self.model.name), [&axis, &Axis::new(label)], &series)
    }
}
