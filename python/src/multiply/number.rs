//! Numbers of arrays, and their parts, which vectors of a device hold.

use super::{Layout, Multiply, Vectors};
use eigenforge::runtime::Scalar;
use num_complex::Complex;
use numpy::Element;
use numpy::ndarray::{ArrayView1, ArrayViewMut1};
use std::sync::Mutex;

/// An element of vectors of the device.
pub(super) trait Part: Scalar {
    /// The vectors of this type that a multiply keeps.
    fn vectors(multiply: &Multiply) -> &Mutex<Vectors<Self>>;
}

impl Part for f64 {
    fn vectors(multiply: &Multiply) -> &Mutex<Vectors<f64>> {
        &multiply.double
    }
}

impl Part for f32 {
    fn vectors(multiply: &Multiply) -> &Mutex<Vectors<f32>> {
        &multiply.single
    }
}

/// A number of an array, and how a column of them stands in vectors of the device.
pub(super) trait Number: Element + Copy + Send + Sync {
    /// Its parts.
    type Part: Part;
    /// Parts of a number.
    const PARTS: usize;
    /// Fills the place of one of the vectors of a column.
    fn split(column: ArrayView1<'_, Self>, part: usize, layout: Layout, place: &mut Vec<Self::Part>);
    /// The contiguous numbers of a column that are such a vector already.
    fn contiguous<'a>(column: &'a ArrayView1<'_, Self>) -> Option<&'a [Self::Part]>;
    /// Takes y from them.
    fn join(y: &[Vec<Self::Part>], layout: Layout, out: ArrayViewMut1<'_, Self>);
}

macro_rules! numbers {
    ($($part:ty),*) => {$(
        impl Number for $part {
            type Part = $part;

            const PARTS: usize = 1;

            fn split(column: ArrayView1<'_, $part>, _part: usize, _layout: Layout, place: &mut Vec<$part>) {
                place.extend(column);
            }

            fn contiguous<'a>(column: &'a ArrayView1<'_, $part>) -> Option<&'a [$part]> {
                column.as_slice()
            }

            fn join(y: &[Vec<$part>], _layout: Layout, mut out: ArrayViewMut1<'_, $part>) {
                out.iter_mut().zip(&y[0]).for_each(|(out, y)| *out = *y);
            }
        }

        impl Number for Complex<$part> {
            type Part = $part;

            const PARTS: usize = 2;

            fn split(column: ArrayView1<'_, Self>, part: usize, layout: Layout, place: &mut Vec<$part>) {
                let (re, im) = (column.iter().map(|number| number.re), column.iter().map(|number| number.im));
                match (layout, part) {
                    (Layout::Numbers, _) => place.extend(column.iter().flat_map(|number| [number.re, number.im])),
                    (Layout::Halves, _) => place.extend(re.chain(im)),
                    (Layout::Real, 0) => place.extend(re),
                    (Layout::Real, _) => place.extend(im),
                }
            }

            fn contiguous<'a>(_column: &'a ArrayView1<'_, Self>) -> Option<&'a [$part]> {
                None
            }

            fn join(y: &[Vec<$part>], layout: Layout, mut out: ArrayViewMut1<'_, Self>) {
                let n = out.len();
                let (re, im, step) = match layout {
                    Layout::Real => (&y[0][..], &y[1][..], 1),
                    Layout::Halves => (&y[0][..n], &y[0][n..], 1),
                    Layout::Numbers => (&y[0][..], &y[0][n.min(1)..], 2),
                };
                let parts = re.iter().step_by(step).zip(im.iter().step_by(step));
                out.iter_mut().zip(parts).for_each(|(out, (re, im))| *out = Complex::new(*re, *im));
            }
        }
    )*};
}
numbers!(f64, f32);
