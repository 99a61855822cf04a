//! Predicted seconds of a solve on the cores and on a card, before either has run: the basis of `--device auto`.
//!
//! In: the solver with the number of its states, the length of its vectors, seconds of a product with H, and the texts that a card would have
//! to compile. Out: seconds from here to the last state, by the rates of a [`Machine`]. Of a solve only products and passes over vectors
//! count: tables, averages and files take about as long beside both. How many products a solve takes is known within a factor of two or
//! three (benches/results/solvers.toml), which is enough: close to where both are equally quick either choice is right.

use eigenforge_runtime::machine::{Card, Machine};
use eigenforge_runtime::solvers::{SolveOptions, Solver};
use eigenforge_templates::{Cost, KernelText, ScalarType};

/// Seconds until a card's driver and the compiler have started: an H200, spin_one_chain with all kernels cached 0.4 s from start to report,
/// of which the solve takes 0.1 s. It is nearly all on the host, and so much the same for any card.
const START: f64 = 0.3;
/// Least work by rates, as a part of what a product takes on a card: an H200 takes 1.9 to 4.9 times its floor, mostly 2 to 3
/// (benches/results/spins.toml, hubbard.toml).
const OF_CARD: f64 = 0.4;
/// The same on cores: 5 to 8 times the floor for spins and electrons, on one core or two (benches/results/cpu.toml).
const OF_CORES: f64 = 1.0 / 6.0;
/// Part of the rate of copies that vector kernels reach: 3 of an H200's 4.3 TB/s.
const OF_MEMORY: f64 = 3e12 / Card::H200.memory_rate;
/// Launches of a product and of the passes that go with it, and how often the host waits for their sums.
const LAUNCHES: f64 = 6.0;
const WAITS: f64 = 2.0;
/// Seconds in which the threads of the cores begin and end a product with its passes.
const THREADS: f64 = 2e-5;
/// Seconds of the compiler on a text: a part for each, and one by its length in bytes. Beside an H200, one after the other, the 35 texts of
/// spin_one_chain took 4 s, mostly of 3 to 6 kB each, and those before the first iteration of hubbard_4x4_paper 2.3 s, with one of 131 kB.
const COMPILE: f64 = 0.1;
const COMPILE_BYTE: f64 = 9e-6;

/// What a solver does, before it has begun.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SolveCourse {
    /// Products with H.
    products: f64,
    /// Passes over a vector with each of them.
    passes: f64,
    /// Bytes of a vector.
    vector: f64,
}

impl SolveCourse {
    /// The course of a solver for vectors of so many elements.
    pub fn new(solver: Solver, options: &SolveOptions, dimension: u64, scalar: ScalarType) -> SolveCourse {
        let states = options.states as f64;
        // Certified solves to 1e-10. Products: benches/results/solvers.toml, and 368 and 200 for the 1.3e8 states of
        // examples/hubbard_4x4_paper.toml by LOBPCG and Lanczos. Passes: the solvers' own descriptions; with all of a basis, its mean length.
        let (products, passes) = match solver {
            Solver::Dense => (dimension as f64, 0.0),
            Solver::Lanczos if options.states == 1 => (200.0, 6.0),
            Solver::Lanczos => (150.0 + 50.0 * states, 80.0),
            Solver::Lobpcg if options.states == 1 => (350.0, 11.0),
            Solver::Lobpcg => (300.0 + 100.0 * states, 40.0),
            Solver::Davidson => (70.0 + 30.0 * states, 30.0),
            Solver::Olsen => (150.0, 8.0),
        };
        SolveCourse { products, passes, vector: dimension as f64 * scalar.bytes() as f64 }
    }

    /// Seconds of the products and passes, if a product takes so many.
    fn seconds(&self, product: f64, machine: &Machine) -> f64 {
        let (rate, overhead) = match &machine.card {
            Some(card) => {
                let Card { memory_rate, launch_seconds, round_trip_seconds, .. } = card.values;
                (OF_MEMORY * memory_rate, LAUNCHES * launch_seconds + WAITS * round_trip_seconds)
            }
            None => (machine.processor.values.stream_rate(), THREADS),
        };
        self.products * (product + self.passes * self.vector / rate + overhead)
    }
}

/// Seconds of a product with H on the device of a machine, from its least work.
pub fn product_seconds(Cost { flops, bytes }: Cost, machine: &Machine) -> f64 {
    machine.seconds_by_rates(flops, bytes) / if machine.card.is_some() { OF_CARD } else { OF_CORES }
}

/// Predicted seconds of a solve.
#[derive(Clone, Debug, PartialEq)]
pub struct SolveForecast {
    course: SolveCourse,
    /// On the cores.
    cores: f64,
    /// On a card that has started: until its texts are compiled, and then; `None` without one.
    card: Option<[f64; 2]>,
    /// Texts to compile.
    texts: usize,
    machine: Machine,
}

impl SolveForecast {
    /// A forecast for a machine, with seconds of set-up and of a product on its cores and on its card; `None` where the solve does not fit.
    /// The texts are those that a card must compile.
    pub fn new(
        course: SolveCourse,
        machine: &Machine,
        seconds: impl Fn(&Machine) -> Option<[f64; 2]>,
        texts: &[&KernelText],
    ) -> SolveForecast {
        let of = |machine: &Machine| {
            let [set_up, product] = seconds(machine).unwrap_or([f64::INFINITY; 2]);
            set_up + course.seconds(product, machine)
        };
        let compile = compile_seconds(texts, machine.processor.values.cores);
        let card = machine.card.is_some().then(|| [compile, of(machine)]);
        SolveForecast { course, cores: of(&machine.without_card()), card, texts: texts.len(), machine: machine.clone() }
    }

    /// Whether there is a card that is predicted to be sooner.
    pub fn prefers_the_card(&self) -> bool {
        self.card.is_some_and(|parts| parts.iter().sum::<f64>() < self.cores)
    }

    /// Whether the cores are done before any card has started.
    pub fn ends_before_a_card_starts(&self) -> bool {
        self.cores < START
    }

    /// A line for the report.
    pub fn describe(&self) -> String {
        let on_card = match (self.machine.card_words(), self.card) {
            (Some(words), Some([compile, solve])) => {
                let compiling = match self.texts {
                    0 => String::new(),
                    1 => format!(", with {compile:.1} s to compile a text that is not in the kernel cache"),
                    texts => format!(", with {compile:.1} s to compile {texts} texts that are not in the kernel cache"),
                };
                format!("{:.3} s on {words}{compiling}", compile + solve)
            }
            _ => format!("a card takes {START} s to start"),
        };
        let (products, cores, words) = (self.course.products, self.cores, self.machine.processor_words());
        format!("predicted for {products} products with H: {cores:.3} s on {words}, {on_card}")
    }
}

/// Seconds until the compiler is done with texts that this many threads compile at once.
fn compile_seconds(texts: &[&KernelText], threads: usize) -> f64 {
    let each = texts.iter().map(|text| COMPILE + COMPILE_BYTE * text.text.len() as f64);
    each.clone().fold(each.sum::<f64>() / threads.max(1) as f64, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use eigenforge_runtime::machine::Processor;

    /// An H200 beside 16 Xeon cores.
    fn machine() -> Machine {
        let mut machine = Machine::h200();
        machine.processor.values = Processor::XEON;
        machine
    }

    /// A vector of so many elements, and a product that moves it twice with ten operations per element.
    fn forecast(dimension: u64, cold: &[&KernelText]) -> SolveForecast {
        let course = SolveCourse::new(Solver::Lanczos, &SolveOptions::default(), dimension, ScalarType::F64);
        let cost = Cost { flops: 10.0 * dimension as f64, bytes: 16.0 * dimension as f64 };
        let seconds = |machine: &Machine| Some([0.0, product_seconds(cost, machine)]);
        SolveForecast::new(course, &machine(), seconds, cold)
    }

    fn text(bytes: usize) -> KernelText {
        KernelText { name: "t".into(), text: " ".repeat(bytes), plan: String::new(), entries: Vec::new() }
    }

    #[test]
    fn a_thousand_states_are_for_the_cores_and_a_hundred_million_for_a_card() {
        let (long, short) = (text(40_000), text(6_000));
        let cold = [&long, &short, &short];
        let small = forecast(1000, &cold);
        assert!(!small.prefers_the_card() && small.ends_before_a_card_starts(), "{small:?}");
        let large = forecast(100_000_000, &cold);
        assert!(large.prefers_the_card() && !large.ends_before_a_card_starts(), "{large:?}");
        assert!(
            large.describe().contains("to compile 3 texts that are not in the kernel cache"),
            "{}",
            large.describe()
        );
    }

    /// What takes the cores a second is for a card that has its kernels, and not for one that must compile many.
    #[test]
    fn texts_to_compile_count_against_a_card() {
        let longest = text(200_000);
        let warm = forecast(3_000_000, &[]);
        assert!(warm.prefers_the_card(), "{warm:?}");
        assert!(warm.describe().ends_with("on one NVIDIA H200 (built-in rates)"), "{}", warm.describe());
        let cold = forecast(3_000_000, &[&longest]);
        assert!(!cold.prefers_the_card(), "{cold:?}");
        // Several at once take no longer than the longest, as far as there are threads.
        let short = text(1000);
        assert_eq!(compile_seconds(&[&longest, &short, &short], 16), compile_seconds(&[&longest], 16));
        assert!(compile_seconds(&[&short; 64], 16) > 3.9 * compile_seconds(&[&short], 16));
        assert_eq!(compile_seconds(&[], 16), 0.0);
    }

    #[test]
    fn without_a_card_none_is_preferred() {
        let course = SolveCourse::new(Solver::Lobpcg, &SolveOptions::default(), 1 << 30, ScalarType::F64);
        let alone = SolveForecast::new(course, &machine().without_card(), |_| Some([0.0, 1.0]), &[]);
        assert!(!alone.prefers_the_card());
        assert!(alone.describe().ends_with("a card takes 0.3 s to start"), "{}", alone.describe());
        // A solve that has no room on the cores is for the card, and the other way round.
        let on = |has_card: bool| {
            let seconds = move |machine: &Machine| (machine.card.is_some() == has_card).then_some([0.0, 1.0]);
            SolveForecast::new(course, &machine(), seconds, &[]).prefers_the_card()
        };
        assert!(on(true) && !on(false));
    }
}
