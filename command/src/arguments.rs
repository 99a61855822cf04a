//! The command line, as clap parses it. The doc comments are the help texts.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use eigenforge::export::ExportFormat;
use eigenforge::input::{ALL_STATES, SOLVERS};
use eigenforge::path::Stage;
use eigenforge::problem::run::CheckpointRequest;
use eigenforge::sparse::{FormatChoice, FormatName};
use eigenforge::su3::MOST_N_MAX;
use eigenforge_runtime::jit::Arch;
use eigenforge_runtime::machine::Machine;
use eigenforge_runtime::solvers::Solver;
use std::path::PathBuf;

/// Quantum many-body eigenproblems on generated CUDA kernels; runs without a GPU too.
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
    /// Find eigenstates of a model or a matrix: the lowest, the highest, or those nearest to an energy
    Solve(SolveArguments),
    /// Spectral functions of a lattice model, at every momentum: what [spectrum] of the file asks for
    Spectrum(CurveArguments),
    /// Thermal averages of a lattice model over all sectors of its ensemble: what [thermal] of the file asks for
    Thermal(CurveArguments),
    /// A state of a lattice model as a function of time: what [evolve] of the file asks for
    Evolve(EvolveArguments),
    /// Print a stage between model and machine code; no GPU needed
    Inspect(InspectArguments),
    /// Compile the kernels of a model into the cache ahead of time; no GPU needed
    Build(BuildArguments),
    /// Show what this machine has: compiler, tools, cache, driver, GPUs and their rates; --measure measures the rates
    Doctor(DoctorArguments),
    /// Time the possible launch shapes of a model's kernels on this GPU, and keep the quickest for later runs
    Tune(TuneArguments),
    /// Count determinants and configuration state functions by excitation level
    Count(CountArguments),
    /// The cache of compiled kernels and of SU(3) coefficients
    Cache(CacheArguments),
    /// Time eigenforge against the vendor's libraries
    Bench(BenchArguments),
    /// Multiply a sparse matrix: row statistics, size in each format, the format chosen, time and bandwidth
    Spmv(SpmvArguments),
    /// Overlaps of the eigenvectors of two runs, and the fidelity of their levels
    Overlap(OverlapArguments),
    /// Write H of a lattice model for other programs: sparse matrix or Pauli strings
    Export(ExportArguments),
    /// SU(3) coefficients, and nucleon-nucleon interactions as SU(3) x SU(2) tensors
    Su3(Su3Arguments),
}

/// Seconds between saves where they are left out.
const SECONDS_BETWEEN_SAVES: f64 = 30.0;

/// `solve`: options given here override the model file's [solve] and [output].
#[derive(Clone, Debug, Default, Args)]
pub(super) struct SolveArguments {
    /// The model file, such as examples/hubbard_4x4.toml, or a Hermitian matrix: a SciPy archive (.npz) or a Matrix Market file (.mtx)
    pub model: PathBuf,
    /// auto (a GPU if there is one; for [su3] if it pays), cpu, cuda, cuda:N, several cards as cuda:0-3 or cuda:all, or sim,
    /// which runs the generated CUDA on the CPU under checks, slowly (sim:reverse and sim:random:SEED change the order in which
    /// threads run, sim:N is N cards)
    #[arg(long, default_value = "auto")]
    pub device: String,
    /// The eigensolver: auto, lobpcg, lanczos, davidson, olsen or dense
    #[arg(long, value_parser = solver)]
    pub solver: Option<SolverWish>,
    /// Number of eigenstates: the lowest, unless the file has `which` or `near`; or all, by dense diagonalisation
    #[arg(long, value_name = "K", value_parser = states)]
    pub states: Option<StatesWish>,
    /// all: solve every symmetry sector of a lattice model, and put their levels together; as if [symmetry] had "all" for k,
    /// irrep or reflection, spin_inversion, exchange and particle_hole where H has them; charges run if [sector] has "all" for them
    #[arg(long, value_name = "SECTORS", value_parser = ["all"])]
    pub sectors: Option<String>,
    /// Largest residual norm |Hx - λx| relative to the norm of H [default: 1e-10]; for DMRG, change of the energy by a sweep
    #[arg(long, value_name = "T", value_parser = tolerance, allow_hyphen_values = true)]
    pub tolerance: Option<f64>,
    /// Largest number of iterations of one search
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub max_iterations: Option<usize>,
    /// Seed of the random start vectors
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
    /// Write report.json and convergence.svg to this folder
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Also write the eigenvectors, as vectors.npz (of DMRG as matrix-product states, mps.npz)
    #[arg(long)]
    pub vectors: bool,
    /// Where it is saved.
    #[command(flatten)]
    pub saved: CheckpointArguments,
    /// Ignore what `eigenforge tune` chose and use the default launch shapes
    #[arg(long)]
    pub no_tune: bool,
    /// Run the edited kernel files in this folder (see `inspect --dump`) instead of the generated ones
    #[arg(long = "override", value_name = "DIR")]
    pub overrides: Option<PathBuf>,
    /// Write a timeline of the run to this file, for ui.perfetto.dev or chrome://tracing
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Print one JSON object, and nothing else, on standard output
    #[arg(long)]
    pub json: bool,
}

/// Where a run is saved, and whether it goes on.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct CheckpointArguments {
    /// Save the state of the run to this folder; of `spectrum` and `thermal` what is finished
    #[arg(long, value_name = "DIR")]
    pub checkpoint: Option<PathBuf>,
    /// Seconds between saves [default: 30]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, requires = "checkpoint")]
    pub checkpoint_every: Option<f64>,
    /// Continue from the last state in the --checkpoint folder
    #[arg(long, requires = "checkpoint")]
    pub resume: bool,
}

impl CheckpointArguments {
    /// As runs take it; `None` where nothing is saved.
    pub fn request(&self) -> Option<CheckpointRequest> {
        let (folder, resume) = (self.checkpoint.clone()?, self.resume);
        let seconds = self.checkpoint_every.unwrap_or(SECONDS_BETWEEN_SAVES);
        Some(CheckpointRequest { folder, seconds, resume })
    }
}

/// `overlap`.
#[derive(Debug, Args)]
pub(super) struct OverlapArguments {
    /// The vectors of a run: its vectors.npz (`solve --vectors`), or the folder with it
    pub first: PathBuf,
    /// Those of another run in the same basis
    pub second: PathBuf,
    /// Print one JSON object, and nothing else, on standard output
    #[arg(long)]
    pub json: bool,
}

/// Of `spectrum`, `thermal` and `evolve`.
#[derive(Debug, Args)]
pub(super) struct CurveArguments {
    /// The model file with the section of the verb, such as examples/spectrum_square.toml
    pub model: PathBuf,
    /// auto (a GPU if there is one and it is sooner), cpu, cuda, cuda:N or sim
    #[arg(long, default_value = "auto")]
    pub device: String,
    /// Write report.json, arrays (.npz), a table (.csv) and a picture (.svg) to this folder
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Where it is saved.
    #[command(flatten)]
    pub saved: CheckpointArguments,
    /// Write a timeline of the run to this file, for ui.perfetto.dev or chrome://tracing
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Print one JSON object, and nothing else, on standard output
    #[arg(long)]
    pub json: bool,
}

/// Of `evolve`.
#[derive(Debug, Args)]
pub(super) struct EvolveArguments {
    /// What curves have.
    #[command(flatten)]
    pub curve: CurveArguments,
    /// Also write the matrix-product state at the end, as mps.npz (of files with [dmrg])
    #[arg(long)]
    pub vectors: bool,
}

#[derive(Debug, Args)]
pub(super) struct InspectArguments {
    /// The model file
    pub model: PathBuf,
    /// The stage to print
    #[arg(long, default_value = "cuda", value_parser = stages())]
    pub stage: Stage,
    /// Show only this kernel or generated file
    #[arg(long, value_name = "NAME")]
    pub kernel: Option<String>,
    /// Architecture for ptx, sass and resources [default: sm_90]
    #[arg(long, value_name = "sm_90", value_parser = arch)]
    pub arch: Option<String>,
    /// Machine for --stage cost: h200, h100, a100, rtx4090 (built-in tables), or cpu, the processor of this machine [default: h200]
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(Machine::WORDS), hide_possible_values = true)]
    pub machine: Option<String>,
    /// For --stage plan: what each of so many cards does of the points of a sweep, of the sectors, of [su3] or of [dmrg], and
    /// what it receives in a multiply of one model
    #[arg(long, value_name = "N", value_parser = sharers)]
    pub cards: Option<usize>,
    /// For --stage plan: what each of so many processes of an mpirun holds and sends of a lattice model or a molecule, or solves of a sweep
    #[arg(long, value_name = "N", value_parser = sharers)]
    pub ranks: Option<usize>,
    /// Print the plan as one JSON object, for --stage cost: identity, memory, work with its floor, choices, kernels with launches
    #[arg(long, conflicts_with_all = ["dump", "kernel"])]
    pub json: bool,
    /// Write the generated files to this folder, as NAME.cu and NAME.ron (the plan), for editing
    #[arg(long, value_name = "DIR", conflicts_with_all = ["stage", "overrides"])]
    pub dump: Option<PathBuf>,
    /// Let --dump overwrite files that differ
    #[arg(long, requires = "dump", conflicts_with_all = ["stage", "overrides"])]
    pub force: bool,
    /// Show the edited kernel files in this folder instead of the generated ones (cuda, ptx, sass, resources)
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
    /// Compile the edited kernel files in this folder instead of the generated ones
    #[arg(long = "override", value_name = "DIR")]
    pub overrides: Option<PathBuf>,
    /// Print one JSON object, and nothing else, on standard output
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(super) struct TuneArguments {
    /// The model file
    pub model: PathBuf,
    /// The GPU: cuda or cuda:N
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
    /// Twice the total spin [default: MS2 of the file, or 0, or 1 for an odd number of electrons]
    #[arg(long, value_name = "2S")]
    pub two_s: Option<usize>,
    /// Count only this irreducible representation, in Molpro's numbering from 1
    #[arg(long, requires = "fcidump", conflicts_with_all = ["orbitals", "electrons"], value_parser = clap::value_parser!(u8).range(1..=8))]
    pub irrep: Option<u8>,
    /// Print one JSON object, and nothing else, on standard output
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(super) struct DoctorArguments {
    /// Measure the processor and every GPU in a few seconds and keep the rates; later runs use them to choose formats and
    /// devices
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
    /// List the kept kernels, the most recently used first
    List {
        /// Print one JSON array
        #[arg(long)]
        json: bool,
    },
    /// Check every byte of every entry
    Verify {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Remove every entry
    Clear {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub(super) struct BenchArguments {
    #[command(subcommand)]
    pub subject: BenchSubject,
}

#[derive(Debug, Subcommand)]
pub(super) enum BenchSubject {
    /// The Hubbard multiply and LOBPCG, compared with cuSPARSE and cuBLAS
    Hubbard(eigenforge_benches::hubbard::HubbardArguments),
    /// Sparse matrices of configuration interaction, compared with cuSPARSE
    Ci(eigenforge_benches::ci::CiArguments),
    /// Large matrices of complex numbers and of quaternions, compared with cuSPARSE and with their complex images
    Spmv(eigenforge_benches::numbers::NumbersArguments),
    /// Inner products of Davidson's vectors, compared with cuBLAS
    Dmrg(eigenforge_benches::dmrg::DmrgArguments),
    /// Spins, t-J, bosons, qubits and other Hamiltonians, compared with their stored matrices by cuSPARSE
    Spins(eigenforge_benches::spins::SpinsArguments),
    /// Symmetry sectors without a matrix, compared with their stored matrices
    Symmetries(eigenforge_benches::symmetries::SymmetriesArguments),
    /// Levels of random models: by symmetry sectors, by iterative solvers and by the whole spectrum they must be the same
    Levels(eigenforge_benches::levels::LevelsArguments),
    /// Models on several cards as one device, compared with one of them: times, kernels, links
    Devices(eigenforge_benches::devices::DevicesArguments),
    /// Levels with members in several symmetry sectors: whether any solver misses one
    Certification(eigenforge_benches::certification::CertificationArguments),
    /// Interactions into SU(3) x SU(2) tensors: the chain of products, the published sum, the CPU
    Su3(eigenforge_benches::su3::Su3Arguments),
    /// Runs of every family, killed at random moments and resumed, beside undisturbed ones
    Resume(eigenforge_benches::resume::ResumeArguments),
    /// The tables of the four papers: the printed numbers beside ours of the same run
    Paper(eigenforge_benches::paper::PaperArguments),
    /// Recorded figures as Markdown tables, without measuring
    Results(eigenforge_benches::results::ResultsArguments),
}

#[derive(Debug, Args)]
pub(super) struct SpmvArguments {
    /// A Matrix Market file (.mtx), a SciPy archive (.npz), a molecule (.toml with [ci]), or - for standard input
    pub matrix: eigenforge::input::MatrixSource,
    /// The .npz holds the upper triangle of a Hermitian matrix (other formats state this in the file)
    #[arg(long)]
    pub upper: bool,
    /// Device: auto, cpu, cuda, cuda:N, several cards as cuda:0-1, or sim
    #[arg(long, default_value = "auto")]
    pub device: String,
    /// Format: auto, hybrid, csr, sliced-ell, panels or symmetric (only the upper triangle: half the memory)
    #[arg(long, default_value = "auto", value_parser = format)]
    pub format: FormatChoice,
    /// Non-zeros of a row in the ELLPACK part of a hybrid (on a GPU or sim, like all formats but symmetric)
    #[arg(long, value_name = "B")]
    pub boundary: Option<u32>,
    /// Number of vectors multiplied at once
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=8))]
    pub vectors: u32,
    /// Multiply the array `x` of this .npz file in place of random numbers
    #[arg(long, value_name = "FILE", conflicts_with = "vectors")]
    pub x: Option<PathBuf>,
    /// Write y = A x to this .npz file, as the array `y`
    #[arg(long, value_name = "FILE")]
    pub y: Option<PathBuf>,
    /// Store the values in single precision; vectors and sums stay in double
    #[arg(long)]
    pub single: bool,
    /// Also time cuSPARSE, or without a GPU a plain loop over compressed rows
    #[arg(long)]
    pub compare: bool,
    /// Use the format that the cost model chooses, without timing its best candidates on the GPU
    #[arg(long)]
    pub no_race: bool,
    /// Time the candidates on the GPU again, although an earlier run kept the fastest
    #[arg(long, conflicts_with = "no_race")]
    pub race: bool,
    /// Number of timed samples [default: 21 on a GPU, 11 on the CPU, 1 with sim]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub repeats: Option<u32>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(super) struct ExportArguments {
    /// The model file
    pub model: PathBuf,
    /// matrix-market (.mtx) or npz (SciPy's; .npz): the sparse matrix in the sector, with its basis; pauli (OpenFermion's text) or
    /// qiskit (labels): H of qubits, spins 1/2 or fermions on all states; terms (.toml): a model file of products at sites
    /// [default: by the ending of FILE]
    #[arg(long, value_parser = export_format)]
    pub format: Option<ExportFormat>,
    /// The file to write; a pipe or device is written to as it is
    #[arg(long, value_name = "FILE")]
    pub output: PathBuf,
    /// Overwrite a file that is there
    #[arg(long)]
    pub force: bool,
    /// Print one JSON object, and nothing else, on standard output
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
    /// Turn two-body matrix elements into strengths of SU(3) x SU(2) tensors, or back: `solve` with flags in place of [su3]
    Transform(Su3TransformArguments),
    /// Find the levels of two nucleons from the tensors of their Hamiltonian
    Solve(Su3SolveArguments),
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
    /// A model file with [su3], whose keys the flags replace; without one --interaction, --n-max and --output are needed
    pub model: Option<PathBuf>,
    /// Two-body matrix elements as CSV (channel,na,nb,nc,nd,la,twoja,lb,twojb,lc,twojc,ld,twojd,J,value), a `# RELATIVE LSJT`
    /// file, an H2 file (version 0, 15099 or 15200, text or binary), an me2j file (.me2j, .me2j.gz, .me2j.bin), a force computed
    /// here ([force] in a .toml file), or what this command wrote as .bin; with --inverse strengths. Reduced elements of an operator of
    /// rank J0: a CSV with J0,Jbra,Jket in place of J
    #[arg(long, value_name = "FILE", required_unless_present = "model")]
    pub interaction: Option<PathBuf>,
    /// The space: shells n <= N + 1, pairs na + nb <= N + 2; rows beyond it are left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=i64::from(MOST_N_MAX)), required_unless_present = "model")]
    pub n_max: Option<u32>,
    /// Strengths as CSV (channel,na,nb,nc,nd,lf,mf,li,mi,l0,m0,Sf,Si,S0,kappa0,rho0,value; of rank J0 with L0,J0 before rho0), or in
    /// another --format; a summary goes beside it as .json, a picture as .svg
    #[arg(long, value_name = "OUT", required_unless_present = "model")]
    pub output: Option<PathBuf>,
    /// labels (CSV), labels-half (CSV of na + nb >= nc + nd, of a Hermitian operator), binary (8-byte numbers; names that end in
    /// .bin), recoupler (LSU3shell's layout; .recoupler), or for elements h2-0, h2-15099, h2-15200 (MFDn's), me2j
    #[arg(long, value_parser = su3_format)]
    pub format: Option<Su3Format>,
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
    /// Leave aside what `eigenforge tune` chose and take the kernels' shapes by rule
    #[arg(long)]
    pub no_tune: bool,
    /// Save finished groups to this folder [default: OUT.partial, where the same command goes on]
    #[arg(long, value_name = "DIR")]
    pub checkpoint: Option<PathBuf>,
    /// Go on from the groups in the --checkpoint folder
    #[arg(long, requires = "checkpoint")]
    pub resume: bool,
    /// Run the edited kernel files of this folder (see `inspect --dump`) in place of the generated ones
    #[arg(long = "override", value_name = "DIR")]
    pub overrides: Option<PathBuf>,
    /// Write where the time went to this file, for ui.perfetto.dev or chrome://tracing
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Print the report as one JSON object
    #[arg(long)]
    pub json: bool,
}

/// `su3 solve`.
#[derive(Debug, Args)]
pub(super) struct Su3SolveArguments {
    /// A model file with [su3] and [hamiltonian], whose keys the flags replace; without one --n-max and one of --interaction and
    /// --strengths are needed
    pub model: Option<PathBuf>,
    /// An interaction as of transform; with --hw
    #[arg(long, value_name = "FILE", required_unless_present_any = ["model", "strengths"])]
    pub interaction: Option<PathBuf>,
    /// Strengths of the whole Hamiltonian that transform wrote as .csv or .bin; with --hw T_rel is added to them
    #[arg(long, value_name = "FILE", conflicts_with = "interaction")]
    pub strengths: Option<PathBuf>,
    /// The space: pairs na + nb <= N + 1 of the tensors of N_max = N
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=i64::from(MOST_N_MAX)), required_unless_present = "model")]
    pub n_max: Option<u32>,
    /// Add T_rel in oscillator functions of this hw in MeV, that of the interaction
    #[arg(long, value_name = "MEV")]
    pub hw: Option<f64>,
    /// Two nucleons: pn, pp or nn
    #[arg(long, default_value = "pn", value_parser = su3_channel)]
    pub channel: Su3Channel,
    /// How many levels, lowest first
    #[arg(long, value_name = "K", default_value_t = 10, value_parser = at_least_one)]
    pub levels: usize,
    /// Levels with up to so many quanta of the centre of mass
    #[arg(long, value_name = "QUANTA", default_value_t = 0)]
    pub centre: u32,
    /// Memory to stay within, such as 4GiB [default: four fifths of what is free]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory: Option<u64>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Nucleons of `su3 solve`.
pub(super) type Su3Channel = eigenforge::su3::Channel;

fn su3_channel(word: &str) -> Result<Su3Channel, String> {
    let found = Su3Channel::ALL.into_iter().find(|channel| channel.word() == word);
    found.ok_or_else(|| format!("expected {}", Su3Channel::ALL.map(Su3Channel::word).join(", ")))
}

/// `su3 elements`.
#[derive(Debug, Args)]
pub(super) struct Su3ElementsArguments {
    /// As of transform: a table of labels, a `# RELATIVE LSJT` file, an H2 file, an me2j file, a force (.toml), or binary
    #[arg(long, value_name = "FILE")]
    pub interaction: PathBuf,
    /// The space: shells n <= N + 1, pairs na + nb <= N + 2
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=i64::from(MOST_N_MAX)))]
    pub n_max: u32,
    /// The two-body matrix elements
    #[arg(long, value_name = "OUT")]
    pub output: PathBuf,
    /// labels (CSV), binary (names that end in .bin), h2-0, h2-15099 (.dat), h2-15200; H2 as Fortran records if the name ends in
    /// .bin; me2j (.me2j, .me2j.gz, .me2j.bin)
    #[arg(long, value_parser = su3_format)]
    pub format: Option<Su3Format>,
    /// Print one JSON object, and nothing else, on standard output
    #[arg(long)]
    pub json: bool,
}

/// A format of `su3`.
pub(super) type Su3Format = eigenforge::su3::TensorFormat;

fn su3_format(word: &str) -> Result<Su3Format, String> {
    let known = Su3Format::WORDS;
    let found = known.iter().find(|(name, _)| *name == word).map(|(_, format)| *format);
    found.ok_or_else(|| format!("expected {}", known.map(|(name, _)| name).join(", ")))
}

#[derive(Debug, Args)]
pub(super) struct Su3TableArguments {
    /// A CSV file with the labels' columns; other columns are kept, `value` is compared
    #[arg(long, value_name = "FILE")]
    pub table: PathBuf,
    /// Where to write the table with its new column [default: FILE_computed.csv beside it]
    #[arg(long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Print one JSON object, and nothing else, on standard output
    #[arg(long)]
    pub json: bool,
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

fn export_format(word: &str) -> Result<ExportFormat, String> {
    let known = ExportFormat::WORDS;
    let found = known.iter().find(|(name, _)| *name == word).map(|(_, format)| *format);
    found.ok_or_else(|| format!("expected {}", known.map(|(name, _)| name).join(", ")))
}

fn format(word: &str) -> Result<FormatChoice, String> {
    let known = FormatName::WORDS;
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

/// A solver, or `None` for `auto`.
pub(super) type SolverWish = Option<Solver>;

fn solver(word: &str) -> Result<SolverWish, String> {
    let known = SOLVERS;
    let choice = known.iter().find(|(name, _)| *name == word).map(|(_, choice)| *choice);
    choice.ok_or_else(|| format!("expected {}", known.map(|(name, _)| name).join(", ")))
}

/// A number of states, or `None` for all.
pub(super) type StatesWish = Option<usize>;

fn states(text: &str) -> Result<StatesWish, String> {
    match text {
        ALL_STATES => Ok(None),
        number => at_least_one(number).map(Some).map_err(|expected| format!("{expected}, or all")),
    }
}

/// The name of an architecture.
fn arch(word: &str) -> Result<String, String> {
    word.parse::<Arch>().map(|arch| arch.to_string()).map_err(|error| error.to_string())
}

fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|number| *number >= 1).ok_or_else(|| "expected a whole number, 1 or more".into())
}

/// Cards or processes that share a work: each gets a line.
fn sharers(text: &str) -> Result<usize, String> {
    const MOST: usize = 4096;
    text.parse()
        .ok()
        .filter(|number| (1..=MOST).contains(number))
        .ok_or_else(|| format!("expected a whole number from 1 to {MOST}"))
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
            (vec!["solve", "m.toml", "--solver", "arnoldi"], "expected auto, lobpcg, lanczos, davidson, olsen, dense"),
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
