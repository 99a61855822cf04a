//! Evolutions against exponentials of dense matrices.

use super::*;
use crate::device::Device;
use crate::solvers::{OperatorCombination, TimeCoefficients, evolve_driven, symmetric_eigen};
use eigenforge_templates::Cost;
use std::sync::OnceLock;

/// A dense matrix; `complex` says that it stands for one of half the rows.
struct Matrix {
    n: usize,
    values: Vec<f64>,
    complex: bool,
    device: Device,
    /// Its values and vectors, found when they are first wanted.
    levels: OnceLock<(Vec<f64>, Vec<Vec<f64>>)>,
}

impl Matrix {
    fn new(n: usize, values: Vec<f64>, complex: bool) -> Matrix {
        Matrix { n, values, complex, device: Device::cpu(), levels: OnceLock::new() }
    }

    fn levels(&self) -> &(Vec<f64>, Vec<Vec<f64>>) {
        self.levels.get_or_init(|| symmetric_eigen(self.n, &self.values).unwrap())
    }
}

impl LinearOperator<f64> for Matrix {
    fn dimension(&self) -> usize {
        self.n
    }
    fn device(&self) -> &Device {
        &self.device
    }
    fn apply(&self, x: &Vector<f64>, y: &mut Vector<f64>) -> crate::error::Result<f64> {
        let x = x.download()?;
        let image: Vec<f64> =
            self.values.chunks(self.n).map(|row| row.iter().zip(&x).map(|(a, x)| a * x).sum()).collect();
        y.write(&image)?;
        Ok(x.iter().zip(&image).map(|(x, y)| x * y).sum())
    }
    fn is_complex(&self) -> bool {
        self.complex
    }
    fn norm_bound(&self) -> f64 {
        self.values.chunks(self.n).map(|row| row.iter().map(|v| v.abs()).sum::<f64>()).fold(0.0, f64::max)
    }
    fn cost(&self) -> Cost {
        Cost { flops: 1.0, bytes: 1.0 }
    }
}

/// Numbers between −1 and 1 that repeat.
fn numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// A random symmetric matrix, with every value twice if `complex`: (A, −B; B, A).
fn random(n: usize, scale: f64, complex: bool, seed: u64) -> Matrix {
    let mut next = numbers(seed);
    let states = if complex { n / 2 } else { n };
    let mut values = vec![0.0; n * n];
    for i in 0..states {
        for j in 0..=i {
            let (re, im) = (scale * next(), if complex && i != j { scale * next() } else { 0.0 });
            for (row, column, im) in [(i, j, im), (j, i, -im)] {
                values[row * n + column] = re;
                if complex {
                    values[(states + row) * n + states + column] = re;
                    values[row * n + states + column] = -im;
                    values[(states + row) * n + column] = im;
                }
            }
        }
    }
    Matrix::new(n, values, complex)
}

/// exp(−iHt) ψ, or exp(−Ht) ψ / ‖·‖ with ln ‖·‖, by all eigenvectors. Of a complex matrix its real form acts on (Re, Im).
fn exact(matrix: &Matrix, [re, im]: [&[f64]; 2], time: f64, imaginary: bool) -> (Vec<[f64; 2]>, f64) {
    let n = matrix.n;
    let (values, vectors) = matrix.levels();
    let lowest = values[0];
    let applied = |x: &[f64], f: &dyn Fn(f64) -> f64| {
        let mut sum = vec![0.0; n];
        for (value, vector) in values.iter().zip(vectors) {
            let weight: f64 = f(*value) * vector.iter().zip(x).map(|(v, x)| v * x).sum::<f64>();
            sum.iter_mut().zip(vector).for_each(|(sum, v)| *sum += weight * v);
        }
        sum
    };
    let (cos, sin) = (|value: f64| (value * time).cos(), |value: f64| (value * time).sin());
    let decay = |value: f64| (-(value - lowest) * time).exp();
    let mut out: Vec<[f64; 2]> = if matrix.complex {
        let whole = [re, im].concat();
        let half = n / 2;
        if imaginary {
            let made = applied(&whole, &decay);
            (0..half).map(|i| [made[i], made[half + i]]).collect()
        } else {
            let (c, s) = (applied(&whole, &cos), applied(&whole, &sin));
            (0..half).map(|i| [c[i] + s[half + i], c[half + i] - s[i]]).collect()
        }
    } else if imaginary {
        applied(re, &decay).into_iter().zip(applied(im, &decay)).map(|(a, b)| [a, b]).collect()
    } else {
        let (ca, sa, cb, sb) = (applied(re, &cos), applied(re, &sin), applied(im, &cos), applied(im, &sin));
        (0..n).map(|i| [ca[i] + sb[i], cb[i] - sa[i]]).collect()
    };
    let norm = out.iter().flatten().map(|x| x * x).sum::<f64>().sqrt();
    if imaginary {
        out.iter_mut().flatten().for_each(|x| *x /= norm);
    }
    (out, norm.ln() - lowest * time)
}

fn amplitudes(state: &EvolvedState<'_, f64>) -> Vec<[f64; 2]> {
    let parts: Vec<Vec<f64>> = state.parts.iter().map(|part| part.download().unwrap()).collect();
    match &parts[..] {
        [whole] => {
            let (re, im) = whole.split_at(whole.len() / 2);
            re.iter().zip(im).map(|(a, b)| [*a, *b]).collect()
        }
        [re, im] => re.iter().zip(im).map(|(a, b)| [*a, *b]).collect(),
        _ => unreachable!("one or two"),
    }
}

fn distance(a: &[[f64; 2]], b: &[[f64; 2]]) -> f64 {
    a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

/// A unit vector; `kind` 0 is real, 1 imaginary, 2 complex.
fn start(states: usize, kind: usize, seed: u64) -> [Vec<f64>; 2] {
    let mut next = numbers(seed);
    let mut parts = [(0..states).map(|_| next()).collect::<Vec<f64>>(), (0..states).map(|_| next()).collect()];
    if kind < 2 {
        parts[1 - kind].fill(0.0);
    }
    let norm = parts.iter().flatten().map(|x| x * x).sum::<f64>().sqrt();
    parts.map(|part| part.into_iter().map(|x| x / norm).collect())
}

/// Checks every time against the dense exponential, and the bound against the error.
fn check(matrix: &Matrix, start: &[Vec<f64>; 2], options: &EvolutionOptions) -> EvolutionSteps {
    let mut seen = 0;
    let views = [&start[0][..], &start[1][..]];
    let course = evolve(matrix, views, options, |state: &EvolvedState<'_, f64>| -> Result<(), SolveError> {
        let (wanted, log_norm) = exact(matrix, views, state.time, options.imaginary);
        let apart = distance(&amplitudes(state), &wanted);
        let rounding = 1e-12 * (1.0 + state.time * matrix.norm_bound().min(1e6));
        assert!(
            apart <= state.bound + rounding,
            "n = {}, t = {}: {apart:e}, bound {:e}",
            matrix.n,
            state.time,
            state.bound
        );
        let overlap = wanted
            .iter()
            .zip(start[0].iter().zip(&start[1]))
            .fold([0.0; 2], |sum, ([re, im], (a, b))| [sum[0] + a * re + b * im, sum[1] + a * im - b * re]);
        assert!(distance(&[state.overlap], &[overlap]) <= state.bound + rounding);
        if options.imaginary {
            assert!((state.log_norm - log_norm).abs() <= 1e-9 * log_norm.abs().max(1.0) + state.bound, "{log_norm}");
        }
        seen += 1;
        Ok(())
    });
    let course = course.unwrap();
    assert_eq!(seen, options.times.len());
    course
}

#[test]
fn states_are_those_of_dense_exponentials_within_their_bounds() {
    let mut seed = 1;
    for n in [1, 2, 3, 8, 50] {
        for complex in [false, true] {
            for kind in 0..3 {
                for (scale, until) in [(1.0, 3.0), (1e-6, 1.0), (20.0, 0.4)] {
                    seed += 1;
                    let n = if complex { 2 * n } else { n };
                    let matrix = random(n, scale, complex, seed);
                    let start = start(if complex { n / 2 } else { n }, kind, seed + 7);
                    let times = vec![0.0, 0.01 * until, 0.3 * until, 0.31 * until, until];
                    let tolerance = if seed.is_multiple_of(2) { 1e-9 } else { 1e-4 };
                    for imaginary in [false, true] {
                        let options = EvolutionOptions { imaginary, ..EvolutionOptions::new(times.clone(), tolerance) };
                        let course = check(&matrix, &start, &options);
                        assert!(imaginary || course.bound <= tolerance, "{:e} of {tolerance:e}", course.bound);
                    }
                }
            }
        }
    }
}

/// Short bases, as where memory is little.
#[test]
fn short_bases_take_more_steps_and_keep_the_bound() {
    let (matrix, start) = (random(60, 1.0, false, 5), start(60, 2, 6));
    let mut multiplies = 0;
    for vectors in [36, 12, 6] {
        let options = EvolutionOptions { vectors: Some(vectors), ..EvolutionOptions::new(vec![2.0], 1e-8) };
        let course = check(&matrix, &start, &options);
        assert!(course.bound <= 1e-8 && course.multiplies > multiplies, "{course:?}");
        multiplies = course.multiplies;
    }
}

/// The tolerance is what steps follow, and a tighter one gives a smaller error.
#[test]
fn halving_the_tolerance_lessens_the_error() {
    let (matrix, start) = (random(80, 3.0, true, 11), start(40, 2, 12));
    let views = [&start[0][..], &start[1][..]];
    let (wanted, _) = exact(&matrix, views, 2.0, false);
    let mut last = f64::INFINITY;
    for tolerance in [1e-3, 1e-5, 1e-7, 1e-9, 1e-11] {
        let mut error = f64::NAN;
        let options = EvolutionOptions::new(vec![2.0], tolerance);
        let course = evolve(&matrix, views, &options, |state: &EvolvedState<'_, f64>| -> Result<(), SolveError> {
            error = distance(&amplitudes(state), &wanted);
            Ok(())
        });
        assert!(course.unwrap().bound <= tolerance && error <= tolerance && error < last, "{tolerance:e}: {error:e}");
        last = error;
    }
}

/// Degenerate values close the chain: two multiplies of each part are enough for any time.
#[test]
fn closed_chains_reach_any_time() {
    let n = 50;
    let values = (0..n * n).map(|k| if k / n == k % n { if k / n < 20 { 1.0 } else { -2.0 } } else { 0.0 }).collect();
    let matrix = Matrix::new(n, values, false);
    let course = check(&matrix, &start(n, 2, 3), &EvolutionOptions::new(vec![0.5, 1e3], 1e-8));
    assert_eq!((course.steps, course.multiplies), (1, 4));
    let zero = Matrix::new(n, vec![0.0; n * n], false);
    let course = check(&zero, &start(n, 0, 3), &EvolutionOptions::new(vec![1.0], 1e-12));
    assert_eq!((course.steps, course.multiplies), (1, 1));
    let shifted = Matrix::new(n, (0..n * n).map(|k| if k / n == k % n { 7.5 } else { 0.0 }).collect(), false);
    check(&shifted, &start(n, 1, 3), &EvolutionOptions::new(vec![1.0, 2.0], 1e-10));
}

/// A level without any part of the start: errors are not asked to be less than rounding for it.
#[test]
fn imaginary_time_ends_in_the_lowest_state() {
    let (matrix, start) = (random(70, 1.0, false, 21), start(70, 2, 22));
    let (values, _) = matrix.levels();
    let options =
        EvolutionOptions { imaginary: true, ..EvolutionOptions::new(vec![40.0 / (values[1] - values[0])], 1e-9) };
    let course =
        evolve(&matrix, [&start[0], &start[1]], &options, |state: &EvolvedState<'_, f64>| -> Result<(), SolveError> {
            let mut y = matrix.device.zeros(70)?;
            let mut energy = 0.0;
            for part in &state.parts {
                energy += matrix.apply(part, &mut y)?;
            }
            assert!((energy - values[0]).abs() < 1e-11, "{energy} {}", values[0]);
            Ok(())
        });
    assert!(course.unwrap().bound < 1e-9);
}

#[test]
fn lengths_of_the_start_do_not_matter() {
    let matrix = random(30, 1.0, false, 31);
    let unit = start(30, 2, 32);
    let final_state = |start: &[Vec<f64>; 2]| {
        let mut found = Vec::new();
        evolve(
            &matrix,
            [&start[0], &start[1]],
            &EvolutionOptions::new(vec![1.0], 1e-10),
            |state: &EvolvedState<'_, f64>| -> Result<(), SolveError> {
                found = amplitudes(state);
                Ok(())
            },
        )
        .unwrap();
        found
    };
    let wanted = final_state(&unit);
    for length in [1e-200, 1e200, 3.0] {
        let scaled = unit.clone().map(|part| part.iter().map(|x| length * x).collect::<Vec<f64>>());
        assert!(distance(&final_state(&scaled), &wanted) < 1e-13, "{length:e}");
    }
}

#[test]
fn what_means_nothing_is_refused() {
    let matrix = random(4, 1.0, false, 41);
    let unit = start(4, 0, 42);
    let refused = |start: [&[f64]; 2], options: EvolutionOptions| {
        evolve(&matrix, start, &options, |_: &EvolvedState<'_, f64>| -> Result<(), SolveError> { Ok(()) })
            .unwrap_err()
            .to_string()
    };
    let views = [&unit[0][..], &unit[1][..]];
    let zeros = [0.0; 4];
    assert!(refused([&zeros, &zeros], EvolutionOptions::new(vec![1.0], 1e-8)).contains("a vector of zeros"));
    assert!(refused([&[f64::NAN; 4], &zeros], EvolutionOptions::new(vec![1.0], 1e-8)).contains("not finite"));
    for times in [vec![], vec![1.0, 1.0], vec![-1.0], vec![f64::INFINITY], vec![2.0, 1.0]] {
        assert!(refused(views, EvolutionOptions::new(times, 1e-8)).contains("times"));
    }
    for tolerance in [0.0, -1.0, f64::NAN] {
        assert!(refused(views, EvolutionOptions::new(vec![1.0], tolerance)).contains("tolerance"));
    }
    let options = EvolutionOptions { memory_limit: Some(100), ..EvolutionOptions::new(vec![1.0], 1e-8) };
    let text = refused(views, options);
    assert!(text.contains("an evolution") && text.contains("vectors of 4 elements"), "{text}");
}

/// H(t) = A + cos(2t) B + e^(−t) C against a product of many short steps by the midpoint, extrapolated.
#[test]
fn driven_states_are_those_of_many_short_steps() {
    for complex in [false, true] {
        let n = if complex { 24 } else { 12 };
        let list = |seed| random(n, 0.7, complex, seed);
        let functions = |t: f64| vec![1.0, (2.0 * t).cos(), (-t).exp()];
        let start = start(12, 2, 52);
        let until = 1.5;
        let by_steps = |steps: usize| {
            let mut state = start.clone();
            let h = until / steps as f64;
            for step in 0..steps {
                let weights = functions((step as f64 + 0.5) * h);
                let mut sum = list(61);
                for (seed, weight) in [(62, weights[1]), (63, weights[2])] {
                    sum.values.iter_mut().zip(list(seed).values).for_each(|(sum, own)| *sum += weight * own);
                }
                let (made, _) = exact(&sum, [&state[0], &state[1]], h, false);
                state = [made.iter().map(|v| v[0]).collect(), made.iter().map(|v| v[1]).collect()];
            }
            state[0].iter().zip(&state[1]).map(|(a, b)| [*a, *b]).collect::<Vec<_>>()
        };
        // Romberg: errors of h², h⁴.
        let rows: Vec<Vec<[f64; 2]>> = [60, 120, 240].map(by_steps).to_vec();
        let joined = |a: &[[f64; 2]], b: &[[f64; 2]], power: f64| {
            let part = |a: f64, b: f64| b + (b - a) / (power - 1.0);
            a.iter().zip(b).map(|(a, b)| [part(a[0], b[0]), part(a[1], b[1])]).collect::<Vec<_>>()
        };
        let wanted = joined(&joined(&rows[0], &rows[1], 4.0), &joined(&rows[1], &rows[2], 4.0), 16.0);
        let mut errors = Vec::new();
        for tolerance in [1e-4, 1e-6, 1e-8] {
            let terms: Vec<(Box<dyn LinearOperator<f64>>, f64)> =
                [61, 62, 63].map(|seed| (Box::new(list(seed)) as Box<dyn LinearOperator<f64>>, 0.0)).into();
            let sum = OperatorCombination::new(terms).unwrap();
            let mut error = f64::NAN;
            let options = EvolutionOptions::new(vec![0.0, 0.7, until], tolerance);
            let course = evolve_driven(
                &sum,
                &functions,
                [&start[0], &start[1]],
                &options,
                |state: &EvolvedState<'_, f64>| -> Result<(), SolveError> {
                    error = distance(&amplitudes(state), &wanted);
                    Ok(())
                },
            );
            let course = course.unwrap();
            assert!(course.bound <= tolerance && error <= tolerance, "{course:?} {error:e}");
            errors.push(error);
        }
        assert!(errors[2] < errors[1] && errors[1] < errors[0], "{errors:?}");
    }
}

/// g(t) of a Gaussian pulse of area 1.
struct GaussianPulse {
    middle: f64,
    width: f64,
}

impl TimeCoefficients for GaussianPulse {
    fn values(&self, time: f64) -> Vec<f64> {
        let area = self.width * std::f64::consts::PI.sqrt();
        vec![(-((time - self.middle) / self.width).powi(2)).exp() / area]
    }

    fn bounds(&self, from: f64, to: f64) -> Vec<[f64; 2]> {
        let [a, b, top] = [from, to, self.middle].map(|time| self.values(time)[0]);
        vec![[a.min(b), if (from..=to).contains(&self.middle) { top } else { a.max(b) }]]
    }
}

/// H(t) = g(t) A with ∫ g dt = 1 makes exp(−iA) ψ, however short the pulse is and wherever it is between two times.
#[test]
fn pulses_between_two_times_are_not_missed() {
    let start = start(6, 2, 54);
    let (wanted, _) = exact(&random(6, 0.7, false, 64), [&start[0], &start[1]], 1.0, false);
    for (middle, width) in [(7.3, 0.3), (2.0, 1e-2), (8.123_456, 1e-5)] {
        let sum =
            OperatorCombination::new(vec![(Box::new(random(6, 0.7, false, 64)) as Box<dyn LinearOperator<f64>>, 0.0)]);
        let (options, pulse) = (EvolutionOptions::new(vec![0.0, 10.0], 1e-6), GaussianPulse { middle, width });
        let mut error = f64::NAN;
        let see = |state: &EvolvedState<'_, f64>| -> Result<(), SolveError> {
            error = distance(&amplitudes(state), &wanted);
            Ok(())
        };
        let course = evolve_driven(&sum.unwrap(), &pulse, [&start[0], &start[1]], &options, see).unwrap();
        assert!(course.bound <= 1e-6 && error <= 1e-6, "{middle} {width}: {course:?} {error:e}");
    }
}

/// Σ c (H + e) of a sum is that of its parts.
#[test]
fn sums_of_operators_have_their_constants() {
    let [a, b] = [71, 72].map(|seed| random(5, 1.0, false, seed));
    let wanted: Vec<f64> = (0..5)
        .map(|i| {
            (0..5).map(|j| 2.0 * a.values[5 * i + j] - 0.5 * b.values[5 * i + j]).sum::<f64>() + 2.0 * 0.25 - 0.5 * 3.0
        })
        .collect();
    let sum = OperatorCombination::new(vec![(Box::new(a) as Box<dyn LinearOperator<f64>>, 0.25), (Box::new(b), 3.0)])
        .unwrap();
    sum.set_coefficients(&[2.0, -0.5]);
    let device = Device::cpu();
    let mut y = device.upload(&[f64::NAN; 5]).unwrap();
    sum.apply(&device.upload(&[1.0; 5]).unwrap(), &mut y).unwrap();
    assert!(y.download().unwrap().iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-13));
    assert!(OperatorCombination::<f64>::new(Vec::new()).is_err());
}

/// Rounding is counted, and a tolerance below it ends with a sum above it, not with steps without end.
#[test]
fn tolerances_below_rounding_end_with_a_larger_bound() {
    let (matrix, start) = (random(40, 1.0, false, 81), start(40, 2, 82));
    for imaginary in [false, true] {
        let options = EvolutionOptions { imaginary, ..EvolutionOptions::new(vec![4.0], 1e-18) };
        let course = check(&matrix, &start, &options);
        assert!(course.bound > 1e-18 && course.bound < 1e-11 && course.steps < 200, "{course:?}");
    }
}

/// P D P with reflections P = 1 − 2 u uᵀ: a long operator whose exponential is known; `complex` has it on both halves.
struct Reflected {
    values: Vec<f64>,
    unit: Vec<f64>,
    complex: bool,
    device: Device,
}

impl Reflected {
    fn new(values: Vec<f64>, complex: bool, seed: u64) -> Reflected {
        let mut next = numbers(seed);
        let plain: Vec<f64> = values.iter().map(|_| next()).collect();
        let norm = plain.iter().map(|x| x * x).sum::<f64>().sqrt();
        Reflected { values, unit: plain.iter().map(|x| x / norm).collect(), complex, device: Device::cpu() }
    }

    fn reflected(&self, x: &[f64]) -> Vec<f64> {
        let along: f64 = x.iter().zip(&self.unit).map(|(x, u)| x * u).sum();
        x.iter().zip(&self.unit).map(|(x, u)| x - 2.0 * along * u).collect()
    }

    /// exp(−iHt) ψ.
    fn evolved(&self, [re, im]: [&[f64]; 2], time: f64) -> Vec<[f64; 2]> {
        let (mut re, mut im) = (self.reflected(re), self.reflected(im));
        for ((a, b), value) in re.iter_mut().zip(&mut im).zip(&self.values) {
            let (sin, cos) = (value * time).sin_cos();
            (*a, *b) = (*a * cos + *b * sin, *b * cos - *a * sin);
        }
        self.reflected(&re).into_iter().zip(self.reflected(&im)).map(|(a, b)| [a, b]).collect()
    }
}

impl LinearOperator<f64> for Reflected {
    fn dimension(&self) -> usize {
        self.values.len() * if self.complex { 2 } else { 1 }
    }
    fn device(&self) -> &Device {
        &self.device
    }
    fn apply(&self, x: &Vector<f64>, y: &mut Vector<f64>) -> crate::error::Result<f64> {
        let x = x.download()?;
        let of_part = |part: &[f64]| {
            let scaled: Vec<f64> = self.reflected(part).iter().zip(&self.values).map(|(x, d)| x * d).collect();
            self.reflected(&scaled)
        };
        let image: Vec<f64> = x.chunks(self.values.len()).flat_map(of_part).collect();
        y.write(&image)?;
        Ok(x.iter().zip(&image).map(|(x, y)| x * y).sum())
    }
    fn is_complex(&self) -> bool {
        self.complex
    }
    fn norm_bound(&self) -> f64 {
        self.values.iter().fold(0.0, |largest, value| value.abs().max(largest))
    }
    fn cost(&self) -> Cost {
        Cost { flops: 1.0, bytes: 1.0 }
    }
}

/// Bases of long vectors lose their orthogonality, here to values far away that converge at once; the bound holds all the same.
#[test]
fn bounds_hold_for_long_vectors_that_are_not_orthogonal() {
    let n = crate::solvers::lanczos::SHORT + 3;
    let mut next = numbers(91);
    let band: Vec<f64> = (0..n).map(|_| next()).collect();
    let far = |place: usize, value: f64| {
        band.iter().enumerate().map(|(i, b)| if i % 5000 == place { value } else { *b }).collect::<Vec<f64>>()
    };
    let few = band.iter().map(|value| (3.0 * value).round()).collect();
    let cases: [(Vec<f64>, f64, f64); 5] = [
        (band.clone(), 40.0, 1e-10),
        (far(0, 300.0), 0.7, 1e-9),
        (far(7, -40.0), 3.0, 1e-6),
        (band.iter().map(|value| 1e-6 * value).collect(), 3e7, 1e-8),
        (few, 1e4, 1e-8),
    ];
    let mut most_steps = 0;
    for (case, (values, until, tolerance)) in cases.into_iter().enumerate() {
        let complex = case % 2 == 1;
        let start = start(n, 2, 92 + case as u64);
        let views = [&start[0][..], &start[1][..]];
        let operator = Reflected::new(values, complex, 93 + case as u64);
        let options = EvolutionOptions::new(vec![0.3 * until, until], tolerance);
        let mut seen = 0;
        let course = evolve(&operator, views, &options, |state: &EvolvedState<'_, f64>| -> Result<(), SolveError> {
            let apart = distance(&amplitudes(state), &operator.evolved(views, state.time));
            // What sines of the phases in `evolved` are off by.
            let rounding = f64::EPSILON * (2.0 + operator.norm_bound() * state.time);
            assert!(apart <= state.bound + rounding, "{case}: {apart:e}, bound {:e}", state.bound);
            seen += 1;
            Ok(())
        });
        let course = course.unwrap();
        assert!(seen == 2 && course.bound <= tolerance, "{case}: {course:?}");
        most_steps = most_steps.max(course.steps);
    }
    assert!(most_steps > 1, "{most_steps}");
}

/// Many times need short bases; one at the end, long ones where multiplies are dear.
#[test]
fn bases_are_as_long_as_pays() {
    use super::super::propagator::useful_vectors;
    assert_eq!(useful_vectors(9.0, 50.0, 10.0), 40);
    assert_eq!(useful_vectors(9.0, 50.0, 100.0), 36);
    assert_eq!(useful_vectors(50.0, 100.0, 1.0), 72);
    assert_eq!(useful_vectors(0.0, 0.0, 0.0), 36);
}
