//! multiply_sizes.svg: multiple of the memory floor against the dimension, both logarithmic, ours and cuSPARSE's.
//!
//! In: [`SizesBench`]. Out: SVG text; its fonts are the viewer's, so nothing is needed to draw it.

use super::{SizeTime, SizesBench};
use eigenforge::report::{BLUE, RED, ReportError, draw_key, stroke};
use plotters::prelude::*;

const SIZE: (u32, u32) = (800, 480);

impl SizesBench {
    /// The picture.
    ///
    /// # Errors
    /// An error of the drawing library.
    pub fn picture(&self) -> Result<String, ReportError> {
        let points = |value: fn(&SizeTime) -> Option<f64>| -> Vec<(f64, f64)> {
            let point = |size: &SizeTime| Some((size.dimension as f64, value(size)?));
            self.sizes.iter().filter_map(point).filter(|(_, value)| value.is_finite() && *value > 0.0).collect()
        };
        let (ours, vendor) = (points(|size| Some(size.of_floor)), points(|size| size.vendor_of_floor));
        let mut text = String::new();
        draw(&mut text, self, &ours, &vendor).map_err(|error| ReportError::Picture(error.to_string()))?;
        Ok(text)
    }
}

fn draw(
    text: &mut String,
    bench: &SizesBench,
    ours: &[(f64, f64)],
    vendor: &[(f64, f64)],
) -> Result<(), Box<dyn std::error::Error>> {
    // Whole decades, so that the axis labels are powers of ten.
    let decades = |values: &mut dyn Iterator<Item = f64>, low: f64, high: f64| {
        let (low, high) = values.fold((low, high), |(low, high), value| (low.min(value), high.max(value)));
        10f64.powf(low.log10().floor())..10f64.powf(high.log10().ceil())
    };
    let both = || ours.iter().chain(vendor);
    let across = decades(&mut both().map(|point| point.0), 1e2, 1e3);
    let upward = decades(&mut both().map(|point| point.1), 1.0, 10.0);

    let root = SVGBackend::with_string(text, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .margin(16)
        .caption(format!("multiply y = Hx of the Hubbard model, {}", bench.device), ("sans-serif", 20))
        .x_label_area_size(44)
        .y_label_area_size(72)
        .build_cartesian_2d(across.clone().log_scale(), upward.log_scale())?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .x_desc("dimension")
        .y_desc("time over the floor")
        .x_label_formatter(&|x| format!("{x:.0e}"))
        .y_label_formatter(&|y| format!("{y}"))
        .label_style(("sans-serif", 14))
        .draw()?;
    for (points, colour, name) in [(ours, BLUE, "eigenforge"), (vendor, RED, "cuSPARSE + cuBLAS")] {
        if points.is_empty() {
            continue;
        }
        chart
            .draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2)))?
            .label(name)
            .legend(move |(x, y)| stroke((x, y), colour.stroke_width(2)));
        chart.draw_series(points.iter().map(|point| Circle::new(*point, 3, colour.filled())))?;
    }
    let floor = [(across.start, 1.0), (across.end, 1.0)];
    chart
        .draw_series(LineSeries::new(floor, BLACK.mix(0.5).stroke_width(1)))?
        .label("the floor")
        .legend(|(x, y)| stroke((x, y), BLACK.mix(0.5).stroke_width(1)));
    draw_key(&mut chart)?;
    root.present()?;
    drop(chart);
    drop(root);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::size;
    use super::*;

    /// A circle for every number, a line and a name for each program that has any.
    #[test]
    fn the_picture_has_every_point() {
        let sizes =
            vec![size("a", 100, 30.0, Some(60.0)), size("b", 10_000, 4.0, Some(9.0)), size("c", 1 << 30, 2.0, None)];
        let mut bench = SizesBench {
            device: "a card".into(),
            threads: 1,
            copy_gb_per_second: 1.0,
            least_milliseconds: 1.0,
            sizes,
            left_out: Vec::new(),
            cliffs: Vec::new(),
            notes: Vec::new(),
        };
        let svg = bench.picture().unwrap();
        assert_eq!(svg.matches("<circle").count(), 5, "{svg}");
        assert!(svg.contains("cuSPARSE") && svg.contains("eigenforge") && svg.contains("1e9"), "{svg}");
        bench.sizes.iter_mut().for_each(|size| size.vendor_of_floor = None);
        let svg = bench.picture().unwrap();
        assert!(svg.matches("<circle").count() == 3 && !svg.contains("cuSPARSE"), "{svg}");
        bench.sizes.clear();
        assert!(bench.picture().unwrap().contains("dimension"), "nothing to draw is no error");
    }
}
