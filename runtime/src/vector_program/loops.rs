//! The inner loops of vector programs on the CPU, compiled for several instruction sets and chosen at run time.
//!
//! The variants differ only in vector width: no contraction to fused multiply-add, and sums have sixteen fixed lanes, so
//! every processor gives the same bits.

use multiversion::multiversion;

/// Lanes of a sum.
const LANES: usize = 16;

macro_rules! vectorised {
    ($(#[$doc:meta])* fn $name:ident($($arg:ident : $ty:ty),*) $(-> $ret:ty)? $body:block) => {
        $(#[$doc])*
        #[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq", "x86_64+avx2"))]
        pub(super) fn $name($($arg: $ty),*) $(-> $ret)? $body
    };
}

macro_rules! two {
    ($chunks:ident, $left:ident, $right:ident, |$a:ident, $b:ident| $value:expr) => {
        vectorised! {
            fn $chunks(to: &mut [f64], a: &[f64], b: &[f64]) {
                for ((to, $a), $b) in to.iter_mut().zip(a).zip(b) {
                    let ($a, $b) = (*$a, *$b);
                    *to = $value;
                }
            }
        }
        vectorised! {
            fn $left(to: &mut [f64], uniform: f64, b: &[f64]) {
                let $a = uniform;
                for (to, $b) in to.iter_mut().zip(b) {
                    let $b = *$b;
                    *to = $value;
                }
            }
        }
        vectorised! {
            fn $right(to: &mut [f64], a: &[f64], uniform: f64) {
                let $b = uniform;
                for (to, $a) in to.iter_mut().zip(a) {
                    let $a = *$a;
                    *to = $value;
                }
            }
        }
    };
}

two!(add, add_left, add_right, |a, b| a + b);
two!(subtract, subtract_left, subtract_right, |a, b| a - b);
two!(multiply, multiply_left, multiply_right, |a, b| a * b);
two!(divide, divide_left, divide_right, |a, b| a / b);
two!(min, min_left, min_right, |a, b| a.min(b));
two!(max, max_left, max_right, |a, b| a.max(b));

vectorised! {
    /// to = u·x + v·y
    fn linear(to: &mut [f64], u: f64, x: &[f64], v: f64, y: &[f64]) {
        for ((to, x), y) in to.iter_mut().zip(x).zip(y) {
            *to = u * x + v * y;
        }
    }
}

vectorised! {
    /// to = u·x + y
    fn axpy(to: &mut [f64], u: f64, x: &[f64], y: &[f64]) {
        for ((to, x), y) in to.iter_mut().zip(x).zip(y) {
            *to = u * x + y;
        }
    }
}

vectorised! {
    /// to = -a
    fn negate(to: &mut [f64], a: &[f64]) {
        for (to, a) in to.iter_mut().zip(a) {
            *to = -a;
        }
    }
}

vectorised! {
    /// to = √a
    fn sqrt(to: &mut [f64], a: &[f64]) {
        for (to, a) in to.iter_mut().zip(a) {
            *to = a.sqrt();
        }
    }
}

vectorised! {
    /// to = |a|
    fn abs(to: &mut [f64], a: &[f64]) {
        for (to, a) in to.iter_mut().zip(a) {
            *to = a.abs();
        }
    }
}

vectorised! {
    /// To single precision and back.
    fn round(to: &mut [f64], a: &[f64]) {
        for (to, a) in to.iter_mut().zip(a) {
            *to = f64::from(*a as f32);
        }
    }
}

vectorised! {
    /// Σ a·b over the chunk.
    fn dot(a: &[f64], b: &[f64]) -> f64 {
        let mut lanes = [0.0; LANES];
        let (a, a_rest) = a.as_chunks::<LANES>();
        let (b, b_rest) = b.as_chunks::<LANES>();
        for (a, b) in a.iter().zip(b) {
            for lane in 0..LANES {
                lanes[lane] += a[lane] * b[lane];
            }
        }
        for (lane, (a, b)) in lanes.iter_mut().zip(a_rest.iter().zip(b_rest)) {
            *lane += a * b;
        }
        pairwise(lanes)
    }
}

vectorised! {
    /// Σ a over the chunk.
    fn total(a: &[f64]) -> f64 {
        let mut lanes = [0.0; LANES];
        let (a, rest) = a.as_chunks::<LANES>();
        for a in a {
            for lane in 0..LANES {
                lanes[lane] += a[lane];
            }
        }
        for (lane, a) in lanes.iter_mut().zip(rest) {
            *lane += a;
        }
        pairwise(lanes)
    }
}

fn pairwise(mut lanes: [f64; LANES]) -> f64 {
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            lanes[lane] += lanes[lane + width];
        }
        width /= 2;
    }
    lanes[0]
}
