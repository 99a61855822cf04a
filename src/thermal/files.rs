//! The files of thermal averages: report.json, thermal.npz, thermal.csv, thermal.svg.
//!
//! In: a [`ThermalRecord`], a folder. Out: the files. thermal.npz (NumPy: `numpy.load("thermal.npz")`) has `temperature`, f64 \[temperatures\], and for
//! each quantity its name and the same with `_error` behind it; averages by place are f64 \[temperatures, sites\] or \[temperatures, sites,
//! sites\]. thermal.csv has a line for each temperature and a column for each quantity, of places that are joined one. thermal.svg has
//! charts of heat capacity, entropy, susceptibility and energy.

use super::record::{ThermalCurve, ThermalRecord};
use crate::files::publish;
use crate::input::Family;
use crate::report::plot::{Area, Axis, Series, Style, chart, picture};
use crate::report::{CurveReport, ReportError};
use ndarray::{Array1, ArrayD};
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
                for own in &self.places {
                    let array = |values: Vec<f64>| ArrayD::from_shape_vec(own.dimensions(), values);
                    let parts =
                        [array(own.expanded(|curve| &curve.values)), array(own.expanded(|curve| &curve.errors))];
                    for (part, ending) in parts.into_iter().zip(["", "_error"]) {
                        let part = part.unwrap_or_else(|fault| unreachable!("one number for each place: {fault}"));
                        npz.add_array(format!("{}{ending}", own.name), &part)?;
                    }
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
        for ThermalCurve { name, values, errors, .. } in self.curves() {
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

    fn drawn(&self) -> Vec<(String, Vec<f64>)> {
        let curve = |(name, label): (&str, &str)| Some((label.to_string(), self.quantity(name)?.values.clone()));
        self.charts().into_iter().filter_map(curve).collect()
    }

    fn svg(&self) -> Result<String, ReportError> {
        let charts = self.charts();
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
    /// The quantities of pictures with their labels.
    fn charts(&self) -> [(&'static str, &'static str); 4] {
        let third = if self.quantity("susceptibility").is_some() { ("susceptibility", "χ") } else { ("ln_z", "ln Z") };
        [("heat_capacity", "C"), ("entropy", "S"), third, ("energy", "E")]
    }

    /// A quantity over T, on an axis of powers of ten where the temperatures span more than one.
    fn draw<'a>(
        &self,
        area: &Area<'a>,
        curve: &ThermalCurve,
        label: &str,
    ) -> Result<(), Box<dyn std::error::Error + 'a>> {
        let (first, last) = (self.temperatures[0], self.temperatures[self.temperatures.len() - 1]);
        let powers = Axis::powers("T", first, last);
        let place = |temperature: f64| if powers.is_some() { temperature.log10() } else { temperature };
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
        let axis = powers.unwrap_or_else(|| Axis::new("T"));
        chart(area, &format!("{}: {label}", self.model.name), [&axis, &Axis::new(label)], &series)
    }
}
