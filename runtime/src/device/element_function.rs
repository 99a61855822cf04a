//! Functions of the element index that vector programs may call, such as an operator's diagonal or a random start.
//!
//! The CUDA text and the host closure are the same function; the parameters of the text are bound here.

use super::Buffer;
use super::named_tables::{ElementArgument, NamedTables};
use eigenforge_templates::ElementFunctionText;
use eigenforge_templates::launch::{Number, Parameter};
use eigenforge_templates::vector_program::{RANDOM_START, VectorProgram};
use std::sync::Arc;

/// Writes the values at start, start + 1, … into the slice.
pub(super) type HostFunction = Arc<dyn Fn(usize, &mut [f64]) + Send + Sync>;

/// A function of the element index, as CUDA text with its arguments and as a host closure.
#[derive(Clone)]
pub struct ElementFunction {
    /// Name, CUDA text and parameters.
    pub text: ElementFunctionText,
    /// One argument per parameter; may be empty on the CPU.
    pub arguments: Vec<ElementArgument>,
    /// Writes the values at start, start + 1, … into the slice.
    pub host: HostFunction,
}

impl ElementFunction {
    /// A function of devices that run kernels, by its text and the arguments of its parameters; on the CPU it has no values.
    pub fn of_text(text: ElementFunctionText, arguments: Vec<ElementArgument>) -> ElementFunction {
        ElementFunction { text, arguments, host: Arc::new(|_, out| out.fill(f64::NAN)) }
    }

    /// The same with the arguments that have the names of its parameters.
    pub fn of_tables(text: ElementFunctionText, tables: &NamedTables) -> ElementFunction {
        let arguments = tables.arguments_of(&text.parameters);
        ElementFunction::of_text(text, arguments)
    }

    /// A diagonal stored on a device that runs kernels. Its programs read the memory; the host function, not used there,
    /// copies it.
    pub fn stored_diagonal(diagonal: Arc<Buffer<f64>>) -> ElementFunction {
        let memory = diagonal.clone();
        let fill = move |start: usize, out: &mut [f64]| match memory.download() {
            Ok(all) => out.copy_from_slice(&all[start..start + out.len()]),
            Err(_) => out.fill(f64::NAN),
        };
        let text = ElementFunctionText::stored_diagonal(diagonal.len() as u64);
        ElementFunction { text, arguments: vec![ElementArgument::Memory(diagonal)], host: Arc::new(fill) }
    }

    /// A diagonal on the CPU, which needs no text.
    pub fn host_diagonal(fill: impl Fn(usize, &mut [f64]) + Send + Sync + 'static) -> ElementFunction {
        let text = ElementFunctionText { name: "diagonal".into(), source: String::new(), parameters: vec![] };
        ElementFunction { text, arguments: vec![], host: Arc::new(fill) }
    }

    /// The same function under another name, as a program declares it. The CUDA text is wrapped, not edited.
    pub fn named(mut self, name: &str) -> ElementFunction {
        self.text = self.text.named(name);
        self
    }
}

/// Uniform in [-1, 1): splitmix64 of the index, its start moved by the seed; the top 53 bits make the number.
pub fn random_start(seed: u64) -> ElementFunction {
    ElementFunction {
        text: ElementFunctionText {
            name: "random_start".into(),
            source: RANDOM_START.into(),
            parameters: vec![Parameter::number("seed", Number::U64)],
        },
        arguments: vec![ElementArgument::U64(seed)],
        host: Arc::new(move |start, out| {
            for (i, value) in out.iter_mut().enumerate() {
                *value = uniform(seed, (start + i) as u64);
            }
        }),
    }
}

/// The host's copy of `random_start`; every operation is exact, so the GPU produces the same bits.
fn uniform(seed: u64, index: u64) -> f64 {
    let mut z = (seed ^ 0x5851_f42d_4c95_7f2d)
        .wrapping_mul(0x2545_f491_4f6c_dd1d)
        .wrapping_add((index.wrapping_add(1)).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^= z >> 31;
    (z >> 11) as f64 * (1.0 / (1u64 << 52) as f64) - 1.0
}

/// x = random_start.
pub(crate) fn random_program() -> VectorProgram {
    VectorProgram::parse("program random\nvectors x : out\nfunctions random_start\nx = random_start\n")
        .unwrap_or_else(|error| unreachable!("the built-in random program parses: {error}"))
}
