//! Real and complex numbers of generated texts: each operation of `c64` against its definition, to the bit; one text that serves
//! double, float, c64 and c32; and NVRTC's word that it compiles.

use super::{SCHEDULES, bytes, simulator};
use eigenforge_runtime::jit::{Arch, Jit, Settings};
use eigenforge_runtime::simulate::Argument;
use eigenforge_templates::{KernelText, Warp, prelude_of_numbers};

const THREADS: usize = 64;
/// Results of `operations` for each pair of numbers.
const RESULTS: usize = 17;

const OPERATIONS: &str = "
extern \"C\" __global__ void __launch_bounds__(64) operations(const c64* x, const double* factor, c64* y, c64* total)
{
    __shared__ c64 scratch[2];
    const int t = threadIdx.x;
    const c64 a = x[t], b = x[(t + 1) % 64];
    const double r = factor[t];
    c64* const out = y + 17 * t;
    out[0] = a + b;
    out[1] = a - b;
    out[2] = -a;
    out[3] = a * b;
    out[4] = a * r;
    out[5] = r * a;
    out[6] = a / r;
    out[7] = conj_of(a);
    out[8] = c64{real_of(a), imag_of(a)};
    out[9] = c64{square_of(a), 0.0};
    out[10] = conj_product(a, b);
    for (int k = 11; k < 14; ++k) out[k] = b;
    add_product(out[11], a, b);
    add_conj_product(out[12], a, b);
    add_product(out[13], r, a);
    out[14] = negated_by_top_bit(a, (u32)t << 31);
    out[15] = (c64)(c32)a;
    c64 last = a == b || a != a ? c64{} : a;
    last += b;
    last -= c64{r, 0.0};
    last *= r;
    out[16] = last;
    const c64 sum = block_sum<64>(a, scratch);
    if (t == 0) *total = sum;
}
";

/// One text for every number type.
const BOTH: &str = "
extern \"C\" __global__ void __launch_bounds__(64) both(const value_t* x, value_t* y, double* numbers)
{
    __shared__ sum_t scratch[2];
    __shared__ double real_scratch[2];
    const int t = threadIdx.x;
    const sum_t a = (sum_t)x[t], b = (sum_t)x[(t + 1) % 64];
    sum_t sum = {};
    add_product(sum, 2.0, a);
    add_product(sum, a, b);
    add_conj_product(sum, a, b);
    y[t] = (value_t)sum;
    const sum_t dot = block_sum<64>(conj_product(a, sum), scratch);
    const double square = block_sum<64>(square_of(conj_of(sum)), real_scratch);
    if (t == 0) {
        numbers[0] = real_of(dot);
        numbers[1] = imag_of(dot);
        numbers[2] = square;
    }
}
";

#[derive(Clone, Copy, Debug, PartialEq)]
struct Complex(f64, f64);

impl Complex {
    fn conj(self) -> Complex {
        Complex(self.0, -self.1)
    }
    fn plus(self, b: Complex) -> Complex {
        Complex(self.0 + b.0, self.1 + b.1)
    }
    fn minus(self, b: Complex) -> Complex {
        Complex(self.0 - b.0, self.1 - b.1)
    }
    fn times(self, b: Complex) -> Complex {
        Complex(self.0 * b.0 - self.1 * b.1, self.0 * b.1 + self.1 * b.0)
    }
    fn scaled(self, r: f64) -> Complex {
        Complex(self.0 * r, self.1 * r)
    }
    fn square(self) -> f64 {
        self.0 * self.0 + self.1 * self.1
    }
    /// self + a b, one part after the other.
    fn plus_product(self, a: Complex, b: Complex) -> Complex {
        Complex(self.0 + a.0 * b.0 - a.1 * b.1, self.1 + a.0 * b.1 + a.1 * b.0)
    }
    fn single(self) -> Complex {
        Complex(f64::from(self.0 as f32), f64::from(self.1 as f32))
    }
}

/// The order in which a block of two warps adds up.
fn block_sum(values: &[f64]) -> f64 {
    let warp = |lanes: &[f64]| {
        let mut lanes = lanes.to_vec();
        for offset in [16, 8, 4, 2, 1] {
            lanes = (0..32).map(|lane| lanes[lane] + lanes[lane ^ offset]).collect();
        }
        lanes[0]
    };
    let mut of_warps: Vec<f64> = values.chunks(32).map(warp).collect();
    of_warps.resize(32, 0.0);
    warp(&of_warps)
}

fn block_sum_of(values: &[Complex]) -> Complex {
    let parts = |part: fn(&Complex) -> f64| block_sum(&values.iter().map(part).collect::<Vec<f64>>());
    Complex(parts(|value| value.0), parts(|value| value.1))
}

fn doubles(bytes: &[u8]) -> Vec<f64> {
    bytes.as_chunks::<8>().0.iter().map(|value| f64::from_ne_bytes(*value)).collect()
}

fn complex(values: &[f64]) -> Vec<Complex> {
    values.as_chunks::<2>().0.iter().map(|[re, im]| Complex(*re, *im)).collect()
}

fn given() -> Vec<Complex> {
    (0..THREADS).map(|t| Complex((1.3 * t as f64).sin(), (0.7 * t as f64 + 0.1).cos())).collect()
}

fn flat(values: &[Complex]) -> Vec<f64> {
    values.iter().flat_map(|value| [value.0, value.1]).collect()
}

fn text(name: &str, complex: bool, types: &str, code: &str) -> KernelText {
    let text = format!("{}{types}{code}", prelude_of_numbers(Warp::NVIDIA, complex));
    KernelText { name: name.into(), text, plan: String::new(), entries: vec![name.into()] }
}

fn operations() -> KernelText {
    text("operations", true, "", OPERATIONS)
}

/// The text of `both` for one number type.
fn both(value: &str, sum: &str) -> KernelText {
    let types = format!("typedef {value} value_t;\ntypedef {sum} sum_t;\n");
    text("both", sum == "c64", &types, BOTH)
}

const TYPES: [(&str, &str); 4] = [("double", "double"), ("float", "double"), ("c64", "c64"), ("c32", "c64")];

#[test]
fn complex_numbers_follow_their_definition() {
    let Some(simulator) = simulator() else { return };
    let simulated = simulator.build(&operations()).unwrap_or_else(|error| panic!("{error}"));
    let x = given();
    let factors: Vec<f64> = (0..THREADS).map(|t| 0.3 + t as f64).collect();
    let mut expected = Vec::new();
    for (t, r) in factors.iter().copied().enumerate() {
        let (a, b, zero) = (x[t], x[(t + 1) % THREADS], Complex(0.0, 0.0));
        let opposite = Complex(-a.0, -a.1);
        expected.extend([
            a.plus(b),
            a.minus(b),
            opposite,
            a.times(b),
            a.scaled(r),
            a.scaled(r),
            Complex(a.0 / r, a.1 / r),
        ]);
        expected.extend([a.conj(), a, Complex(a.square(), 0.0), zero.plus_product(a.conj(), b)]);
        let scaled = a.scaled(r);
        expected.extend([b.plus_product(a, b), b.plus_product(a.conj(), b), b.plus(scaled)]);
        let last = a.plus(b).minus(Complex(r, 0.0)).scaled(r);
        expected.extend([if t % 2 == 1 { opposite } else { a }, a.single(), last]);
    }
    assert_eq!(expected.len(), RESULTS * THREADS);
    let (given, factors) = (bytes(&flat(&x)), bytes(&factors));
    for schedule in SCHEDULES {
        let (mut y, mut total) = (vec![0; 16 * RESULTS * THREADS], vec![0; 16]);
        let mut arguments =
            [Argument::In(&given), Argument::In(&factors), Argument::Out(&mut y), Argument::Out(&mut total)];
        let launched = simulated.launch("operations", [1; 3], [THREADS as u32, 1, 1], 0, &mut arguments, schedule);
        launched.unwrap_or_else(|error| panic!("{error}"));
        for (k, (found, expected)) in complex(&doubles(&y)).iter().zip(&expected).enumerate() {
            assert_eq!(found, expected, "result {} of pair {}", k % RESULTS, k / RESULTS);
        }
        assert_eq!(complex(&doubles(&total)), [block_sum_of(&x)]);
    }
}

#[test]
fn one_text_serves_every_number_type() {
    let Some(simulator) = simulator() else { return };
    for (value, sum) in TYPES {
        let (single, real) = (matches!(value, "float" | "c32"), sum == "double");
        let stored = |values: &[Complex]| -> Vec<f64> {
            let of = |value: &Complex| if single { value.single() } else { *value };
            let all: Vec<Complex> = values.iter().map(of).collect();
            if real { all.iter().map(|value| value.0).collect() } else { flat(&all) }
        };
        let as_bytes = |values: &[f64]| match single {
            true => bytes(&values.iter().map(|value| *value as f32).collect::<Vec<f32>>()),
            false => bytes(values),
        };
        let given = stored(&given());
        let x: Vec<Complex> = match real {
            true => given.iter().map(|value| Complex(*value, 0.0)).collect(),
            false => complex(&given),
        };
        let of = |t: usize| {
            let (a, b) = (x[t], x[(t + 1) % THREADS]);
            a.scaled(2.0).plus_product(a, b).plus_product(a.conj(), b)
        };
        let y: Vec<Complex> = (0..THREADS).map(of).collect();
        let products: Vec<Complex> =
            x.iter().zip(&y).map(|(a, sum)| Complex(0.0, 0.0).plus_product(a.conj(), *sum)).collect();
        let dot = block_sum_of(&products);
        let square = block_sum(&y.iter().map(|sum| sum.square()).collect::<Vec<f64>>());
        let simulated = simulator.build(&both(value, sum)).unwrap_or_else(|error| panic!("{error}"));
        for schedule in SCHEDULES {
            let given = as_bytes(&given);
            let (mut found, mut numbers) = (vec![0; given.len()], vec![0; 24]);
            let mut arguments = [Argument::In(&given), Argument::Out(&mut found), Argument::Out(&mut numbers)];
            let launched = simulated.launch("both", [1; 3], [THREADS as u32, 1, 1], 0, &mut arguments, schedule);
            launched.unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(found, as_bytes(&stored(&y)), "{value}");
            assert_eq!(doubles(&numbers), [dot.0, dot.1, square], "{value}");
        }
    }
}

#[test]
fn nvrtc_compiles_them_and_real_texts_have_no_complex_numbers() {
    assert!(prelude_of_numbers(Warp::NVIDIA, false).starts_with(&Warp::NVIDIA.prelude()));
    assert!(
        !both("double", "double").text.contains("c64 operator") && both("c32", "c64").text.contains("c64 operator")
    );
    let Some(jit) = Jit::for_tests(&Settings::from_env().unwrap()) else { return };
    let texts = TYPES.map(|(value, sum)| both(value, sum));
    for text in texts.iter().chain([&operations()]) {
        for arch in [80, 90] {
            let cubin = jit.compile(text, Arch(arch)).unwrap_or_else(|error| panic!("{error}\n{}", text.text));
            assert!(cubin.resources.iter().all(|of_kernel| of_kernel.spills() == Some(false)), "sm_{arch}");
        }
    }
}
