//! What all line pictures have in common: two colours, and the key in a corner.

use plotters::coord::CoordTranslate;
use plotters::prelude::*;

/// With [`RED`] a pair that colour-blind readers can tell apart.
pub const BLUE: RGBColor = RGBColor(0, 90, 181);
/// The other.
pub const RED: RGBColor = RGBColor(220, 50, 32);

/// What an SVG picture fails with.
pub(super) type Fault<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;

/// A tick of what is counted: nothing between whole numbers.
pub(super) fn integer_label(value: f64) -> String {
    if (value - value.round()).abs() < 1e-9 { format!("{:.0}", value.round() + 0.0) } else { String::new() }
}

/// The stroke of a line in the key.
pub fn stroke(at: (i32, i32), style: impl Into<ShapeStyle>) -> PathElement<(i32, i32)> {
    PathElement::new([at, (at.0 + 20, at.1)], style)
}

/// Draws the key, in the upper right corner.
pub fn draw_key<'a, C: CoordTranslate>(chart: &mut ChartContext<'a, SVGBackend<'a>, C>) -> Result<(), Fault<'a>> {
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .label_font(("sans-serif", 14))
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()
}
