//! The command line, as clap parses it. The doc comments are the help texts.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use eigenforge::input::{MOST_N_MAX, SOLVERS};
use eigenforge::path::Stage;
use eigenforge::sparse::FormatChoice;
use eigenforge::su3::work::Algorithm;
use eigenforge_runtime::jit::Arch;
use eigenforge_runtime::machine::Machine;
use eigenforge_runtime::solvers::Solver;
use std::path::PathBuf;

/// Quantum many-body eigenproblems on CUDA kernels generated for exactly one problem; runs without a GPU too.
#[derive(Debug, Parser)]
#[command(name = "eigenforge", version, after_help = AFTER)]
pub(super) struct CommandLine {
    #[command(subcommand)]
    pub command: Command,
}

const AFTER: &str = "Start with: eigenforge solve examples/hubbard_4x4.toml\n\n\
    Exit codes: 0 done, 1 fault while running, 2 bad command line or model file, 3 not converged";

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Find the lowest eigenstates of a model
    Solve(SolveArguments),
    /// Print a stage between model and machine code; no GPU needed
    Inspect(InspectArguments),
    /// Compile the kernels of a model into the cache ahead of time; no GPU needed
    Build(BuildArguments),
    /// Say what is on this machine: compiler, tools, cache, driver, cards and their rates; --measure measures these
    Doctor(DoctorArguments),
    /// Time the shapes that a model's kernels may have on this card, and keep the quickest for later runs
    Tune(TuneArguments),
    /// Count determinants and configuration state functions by excitation level
    Count(CountArguments),
    /// The cache of compiled kernels and of SU(3) coefficients
    Cache(CacheArguments),
    /// Time eigenforge beside the vendor's libraries
    Bench(BenchArguments),
    /// Multiply a sparse matrix: its rows, what each format would take, the format chosen, time and bandwidth
    Spmv(SpmvArguments),
    /// SU(3) coefficients, and nucleon-nucleon interactions as SU(3) x SU(2) tensors
    Su3(Su3Arguments),
}

/// `solve`: what is given here takes the place of the model file's [solve] and [output].
#[derive(Debug, Args)]
pub(super) struct SolveArguments {
    /// The model file, such as examples/hubbard_4x4.toml
    pub model: PathBuf,
    /// auto (a GPU if there is one), cpu, cuda, cuda:N, or sim: the generated CUDA run on the CPU under checks, slow
    /// (sim:reverse and sim:random:SEED let threads take turns in another order)
    #[arg(long, default_value = "auto")]
    pub device: String,
    /// auto, lobpcg, lanczos, davidson or dense
    #[arg(long, value_parser = solver)]
    pub solver: Option<SolverWish>,
    /// How many of the lowest eigenstates
    #[arg(long, value_name = "K", value_parser = at_least_one)]
    pub states: Option<usize>,
    /// On the residual norm |Hx - λx|, in parts of the norm of H [default: 1e-10]; of DMRG on the energy
    #[arg(long, value_name = "T", value_parser = tolerance, allow_hyphen_values = true)]
    pub tolerance: Option<f64>,
    /// Iterations of one search
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub max_iterations: Option<usize>,
    /// Of the random start vectors
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
    /// Write report.json and convergence.svg to this folder
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Write the eigenvectors too, as vectors.npz
    #[arg(long)]
    pub vectors: bool,
    /// Save the state of the solver to this folder
    #[arg(long, value_name = "DIR")]
    pub checkpoint: Option<PathBuf>,
    /// Seconds between two saves [default: 30]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, requires = "checkpoint")]
    pub checkpoint_every: Option<f64>,
    /// Go on from the last state in the --checkpoint folder
    #[arg(long, requires = "checkpoint")]
    pub resume: bool,
    /// Leave aside what `eigenforge tune` chose and take the kernels' shapes by rule
    #[arg(long)]
    pub no_tune: bool,
    /// Run the edited kernel files of this folder (see `inspect --dump`) in place of the generated ones
    #[arg(long = "override", value_name = "DIR")]
    pub overrides: Option<PathBuf>,
    /// Write where the time went to this file, for ui.perfetto.dev or chrome://tracing
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Print one JSON object on standard output and nothing else there
    #[arg(long)]
    pub json: bool,
}

impl SolveArguments {
    /// Between two saves of an eigensolver.
    pub fn seconds_between_saves(&self) -> f64 {
        self.checkpoint_every.unwrap_or(30.0)
    }
}

#[derive(Debug, Args)]
pub(super) struct InspectArguments {
    /// The model file
    pub model: PathBuf,
    /// Which stage
    #[arg(long, default_value = "cuda", value_parser = stages())]
    pub stage: Stage,
    /// One kernel or generated file only
    #[arg(long, value_name = "NAME")]
    pub kernel: Option<String>,
    /// The architecture of ptx, sass and resources [default: sm_90]
    #[arg(long, value_name = "sm_90", value_parser = arch)]
    pub arch: Option<String>,
    /// The machine of --stage cost: h200, h100, a100, rtx4090 (built-in tables), or cpu, this one's processor alone [default: h200]
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(Machine::WORDS), hide_possible_values = true)]
    pub machine: Option<String>,
    /// Write the generated files to this folder, as NAME.cu and NAME.ron (the plan), to be edited
    #[arg(long, value_name = "DIR", conflicts_with_all = ["stage", "overrides"])]
    pub dump: Option<PathBuf>,
    /// Let --dump overwrite files that differ
    #[arg(long, requires = "dump", conflicts_with_all = ["stage", "overrides"])]
    pub force: bool,
    /// Show the edited kernel files of this folder in place of the generated ones: cuda, ptx, sass, resources
    #[arg(long = "override", value_name = "DIR")]
    pub overrides: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct BuildArguments {
    /// The model file
    pub model: PathBuf,
    /// Architectures, separated by commas
    #[arg(long, value_delimiter = ',', required = true, value_name = "sm_80,sm_90,…", value_parser = arch)]
    pub arch: Vec<String>,
    /// Compile the edited kernel files of this folder in place of the generated ones
    #[arg(long = "override", value_name = "DIR")]
    pub overrides: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct TuneArguments {
    /// The model file
    pub model: PathBuf,
    /// cuda or cuda:N
    #[arg(long, default_value = "cuda")]
    pub device: String,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(super) struct CountArguments {
    /// Take orbitals, electrons and irreps from an FCIDUMP file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["orbitals", "electrons"])]
    pub fcidump: Option<PathBuf>,
    /// Spatial orbitals
    #[arg(long, value_name = "N", required_unless_present = "fcidump", value_parser = at_least_one)]
    pub orbitals: Option<usize>,
    /// Electrons
    #[arg(long, value_name = "N", required_unless_present = "fcidump", value_parser = at_least_one)]
    pub electrons: Option<usize>,
    /// Twice the total spin [default: 0, or 1 for an odd number of electrons]
    #[arg(long, value_name = "2S")]
    pub two_s: Option<usize>,
    /// Only this irreducible representation, in Molpro's numbering from 1
    #[arg(long, requires = "fcidump", conflicts_with_all = ["orbitals", "electrons"], value_parser = clap::value_parser!(u8).range(1..=8))]
    pub irrep: Option<u8>,
}

#[derive(Debug, Args)]
pub(super) struct DoctorArguments {
    /// Measure the processor and every card in a few seconds, and keep their rates: later runs choose formats and devices by
    /// them
    #[arg(long)]
    pub measure: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(super) struct CacheArguments {
    #[command(subcommand)]
    pub verb: CacheVerb,
}

#[derive(Debug, Subcommand)]
pub(super) enum CacheVerb {
    /// Every kept kernel, the most recently used first
    List {
        /// Print one JSON array
        #[arg(long)]
        json: bool,
    },
    /// Check every byte of every entry
    Verify,
    /// Remove every entry
    Clear,
}

#[derive(Debug, Args)]
pub(super) struct BenchArguments {
    #[command(subcommand)]
    pub subject: BenchSubject,
}

#[derive(Debug, Subcommand)]
pub(super) enum BenchSubject {
    /// The Hubbard multiply and LOBPCG beside cuSPARSE and cuBLAS
    Hubbard(eigenforge_benches::hubbard::HubbardArguments),
    /// Sparse matrices of configuration interaction beside cuSPARSE
    Ci(eigenforge_benches::ci::CiArguments),
    /// Inner products of Davidson's vectors beside cuBLAS
    Dmrg(eigenforge_benches::dmrg::DmrgArguments),
    /// Interactions into SU(3) x SU(2) tensors: the chain of products, the published sum, the CPU
    Su3(eigenforge_benches::su3::Su3Arguments),
}

#[derive(Debug, Args)]
pub(super) struct SpmvArguments {
    /// A Matrix Market file (.mtx), a SciPy archive (.npz), a molecule (.toml with [ci]), synthetic:32768:SEED or synthetic:1048576:SEED
    pub matrix: eigenforge::input::MatrixSource,
    /// The .npz holds the upper triangle of a symmetric matrix (other files say so themselves)
    #[arg(long)]
    pub upper: bool,
    /// auto, cpu, cuda, cuda:N or sim
    #[arg(long, default_value = "auto")]
    pub device: String,
    /// auto, hybrid, csr, sliced-ell, panels or symmetric (the upper triangle only: half of the memory)
    #[arg(long, default_value = "auto", value_parser = format)]
    pub format: FormatChoice,
    /// Non-zeros of a row in the ELLPACK part of a hybrid; on a card or sim, as are all formats but symmetric
    #[arg(long, value_name = "B")]
    pub boundary: Option<u32>,
    /// Vectors multiplied at once
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=8))]
    pub vectors: u32,
    /// Store the values in single precision; vectors and sums stay in double
    #[arg(long)]
    pub single: bool,
    /// Time cuSPARSE beside it, or without a card a plain loop over compressed rows
    #[arg(long)]
    pub compare: bool,
    /// Take the model's choice; else a card times the model's best candidates and takes the quickest
    #[arg(long)]
    pub no_race: bool,
    /// Timed samples [default: 21 on a card, 11 on the CPU, 1 with sim]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub repeats: Option<u32>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(super) struct Su3Arguments {
    #[command(subcommand)]
    pub verb: Su3Verb,
}

#[derive(Debug, Subcommand)]
pub(super) enum Su3Verb {
    /// Turn two-body matrix elements into strengths of SU(3) x SU(2) tensors, or back
    Transform(Su3TransformArguments),
    /// Write an interaction of any format, or a force, as two-body matrix elements in another format
    Elements(Su3ElementsArguments),
    /// Add a column `computed` to a table of SU(3) > SO(3) coupling coefficients (phases of Draayer and Akiyama)
    Coefficients(Su3TableArguments),
    /// Add a column `computed` to a table of 3j, 6j and 9j symbols
    Wigner(Su3TableArguments),
    /// Count orbits, pairs, elements in and strengths out
    Count(Su3CountArguments),
}

#[derive(Debug, Args)]
pub(super) struct Su3TransformArguments {
    /// Two-body matrix elements as CSV (channel,na,nb,nc,nd,la,twoja,lb,twojb,lc,twojc,ld,twojd,J,value), a `# RELATIVE LSJT`
    /// file, an H2 file (version 0, 15099 or 15200, text or binary), a force computed here ([force] in a .toml file), or what
    /// this command wrote as .bin; with --inverse strengths
    #[arg(long, value_name = "FILE")]
    pub interaction: PathBuf,
    /// The space: shells n <= N + 1, pairs na + nb <= N + 2; rows beyond it are left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=i64::from(MOST_N_MAX)))]
    pub n_max: u32,
    /// Strengths as CSV (channel,na,nb,nc,nd,lf,mf,li,mi,l0,m0,Sf,Si,S0,kappa0,rho0,value), or in another --format; a summary
    /// goes beside it as .json, a picture as .svg
    #[arg(long, value_name = "OUT")]
    pub output: PathBuf,
    /// labels (CSV), binary (8-byte numbers; names that end in .bin), recoupler (LSU3shell's layout; .recoupler), or for
    /// elements h2-0, h2-15099, h2-15200 (MFDn's)
    #[arg(long, value_parser = su3_format)]
    pub format: Option<Su3Format>,
    /// factorised (a chain of matrix products), or paper: the published sum over all labels at once, to compare
    #[arg(long, default_value = "factorised", value_parser = su3_algorithm)]
    pub algorithm: Algorithm,
    /// From strengths back to matrix elements
    #[arg(long)]
    pub inverse: bool,
    /// Memory to stay within, such as 4GiB; what does not fit is done piece by piece [default: four fifths of what is free]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory: Option<u64>,
    /// auto (a GPU if there is one and N_max is 16 or more), cpu, cuda, cuda:N, or sim: the generated CUDA run on the CPU under
    /// checks, slow
    #[arg(long, default_value = "auto")]
    pub device: String,
    /// Print the summary as one JSON object
    #[arg(long)]
    pub json: bool,
}

/// `su3 elements`.
#[derive(Debug, Args)]
pub(super) struct Su3ElementsArguments {
    /// As of transform: a table of labels, a `# RELATIVE LSJT` file, an H2 file, a force (.toml), or binary
    #[arg(long, value_name = "FILE")]
    pub interaction: PathBuf,
    /// The space: shells n <= N + 1, pairs na + nb <= N + 2
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=i64::from(MOST_N_MAX)))]
    pub n_max: u32,
    /// The two-body matrix elements
    #[arg(long, value_name = "OUT")]
    pub output: PathBuf,
    /// labels (CSV), binary (names that end in .bin), h2-0, h2-15099 (.dat), h2-15200; H2 as Fortran records if the name ends in
    /// .bin
    #[arg(long, value_parser = su3_format)]
    pub format: Option<Su3Format>,
}

/// A format of `su3`.
pub(super) type Su3Format = eigenforge::su3::output::Format;

fn su3_format(word: &str) -> Result<Su3Format, String> {
    let known = Su3Format::WORDS;
    let found = known.iter().find(|(name, _)| *name == word).map(|(_, format)| *format);
    found.ok_or_else(|| format!("expected {}", known.map(|(name, _)| name).join(", ")))
}

fn su3_algorithm(word: &str) -> Result<Algorithm, String> {
    let found = Algorithm::WORDS.iter().find(|(name, _)| *name == word).map(|(_, algorithm)| *algorithm);
    found.ok_or_else(|| format!("expected {}", Algorithm::WORDS.map(|(name, _)| name).join(", ")))
}

#[derive(Debug, Args)]
pub(super) struct Su3TableArguments {
    /// A CSV file with the labels' columns; other columns are kept, `value` is compared
    #[arg(long, value_name = "FILE")]
    pub table: PathBuf,
    /// Where to write the table with its new column [default: FILE_computed.csv beside it]
    #[arg(long, value_name = "OUT")]
    pub output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct Su3CountArguments {
    /// N_max
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100))]
    pub n_max: u32,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

fn format(word: &str) -> Result<FormatChoice, String> {
    let known = FormatChoice::WORDS;
    let found = known.iter().find(|(name, _)| *name == word).map(|(_, format)| *format);
    found.ok_or_else(|| format!("expected {}", known.map(|(name, _)| name).join(", ")))
}

/// The stages by their words, each with its line of help.
fn stages() -> impl TypedValueParser<Value = Stage> {
    let words = Stage::WORDS.map(|(word, stage)| PossibleValue::new(word).help(stage.describe()));
    PossibleValuesParser::new(words).map(|word| {
        let known = Stage::WORDS.iter().find(|(name, _)| *name == word);
        known.map_or(Stage::Cuda, |(_, stage)| *stage) // clap lets no other word pass
    })
}

/// `auto` is no solver.
pub(super) type SolverWish = Option<Solver>;

fn solver(word: &str) -> Result<SolverWish, String> {
    let known = SOLVERS;
    let choice = known.iter().find(|(name, _)| *name == word).map(|(_, choice)| *choice);
    choice.ok_or_else(|| format!("expected {}", known.map(|(name, _)| name).join(", ")))
}

/// The name of an architecture.
fn arch(word: &str) -> Result<String, String> {
    word.parse::<Arch>().map(|arch| arch.to_string()).map_err(|error| error.to_string())
}

fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|number| *number >= 1).ok_or_else(|| "expected a whole number, 1 or more".into())
}

fn tolerance(text: &str) -> Result<f64, String> {
    let inside = |number: &f64| *number > 0.0 && *number < 1.0;
    text.parse()
        .ok()
        .filter(inside)
        .ok_or_else(|| "expected a number between 0 and 1, a share of the norm of H, such as 1e-10".into())
}

fn size(text: &str) -> Result<u64, String> {
    let expected = || "expected a size such as 2GiB, 500M or a number of bytes".to_string();
    eigenforge_runtime::jit::parse_bytes(text).filter(|bytes| *bytes > 0).ok_or_else(expected)
}

fn seconds(text: &str) -> Result<f64, String> {
    let inside = |number: &f64| *number >= 0.0 && number.is_finite();
    text.parse().ok().filter(inside).ok_or_else(|| "expected seconds, 0 or more".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn impossible_values_are_refused_by_name() {
        for (wrong, said) in [
            (vec!["solve", "m.toml", "--states", "0"], "1 or more"),
            (vec!["solve", "m.toml", "--tolerance", "nan"], "between 0 and 1"),
            (vec!["solve", "m.toml", "--tolerance", "-1e-8"], "tolerance"),
            (vec!["solve", "m.toml", "--solver", "arnoldi"], "expected auto, lobpcg, lanczos, davidson, dense"),
            (vec!["solve", "m.toml", "--resume"], "--checkpoint"),
            (vec!["inspect", "m.toml", "--stage", "binary"], "possible values"),
            (vec!["inspect", "m.toml", "--dump", "d", "--stage", "ptx"], "cannot be used with"),
            (vec!["inspect", "m.toml", "--force"], "--dump"),
            (vec!["inspect", "m.toml", "--machine", "k20"], "possible values: h200, h100, a100, rtx4090, cpu"),
            (vec!["inspect", "m.toml", "--arch", "sm_1"], "expected a name like sm_90"),
            (vec!["inspect", "m.toml", "--stage", "ptx", "--arch", "sm_999999999999"], "expected a name like sm_90"),
            (vec!["build", "m.toml", "--arch", "sm_90,foo"], "expected a name like sm_90"),
            (vec!["solve"], "<MODEL>"),
        ] {
            let arguments = std::iter::once("eigenforge").chain(wrong.iter().copied());
            let error = CommandLine::try_parse_from(arguments).unwrap_err().to_string();
            assert!(error.contains(said), "{wrong:?}: {error}");
        }
    }
}
