//! The command and its input: one test binary, one module per subject.

#[path = "cli_and_input/bench_paper.rs"]
mod bench_paper;
#[path = "cli_and_input/bench_symmetries.rs"]
mod bench_symmetries;
#[path = "cli_and_input/budget.rs"]
mod budget;
#[path = "cli_and_input/cards.rs"]
mod cards;
#[path = "cli_and_input/chain_evolution.rs"]
mod chain_evolution;
#[path = "cli_and_input/charges.rs"]
mod charges;
#[path = "cli_and_input/ci.rs"]
mod ci;
#[path = "cli_and_input/command.rs"]
mod command;
#[path = "cli_and_input/curve_sweep.rs"]
mod curve_sweep;
#[path = "cli_and_input/dependencies.rs"]
mod dependencies;
#[path = "cli_and_input/dmrg.rs"]
mod dmrg;
#[path = "cli_and_input/evolve.rs"]
mod evolve;
#[path = "cli_and_input/fuzz/mod.rs"]
mod fuzz;
#[path = "cli_and_input/gallery.rs"]
mod gallery;
#[path = "cli_and_input/input_files.rs"]
mod input_files;
#[path = "cli_and_input/interrupted.rs"]
mod interrupted;
#[path = "cli_and_input/kernels.rs"]
mod kernels;
#[path = "cli_and_input/launched.rs"]
mod launched;
#[path = "cli_and_input/layers.rs"]
mod layers;
#[path = "cli_and_input/levels.rs"]
mod levels;
#[path = "cli_and_input/limits.rs"]
mod limits;
#[path = "cli_and_input/matrix_products.rs"]
mod matrix_products;
#[path = "cli_and_input/molecule_spectrum.rs"]
mod molecule_spectrum;
#[path = "cli_and_input/network.rs"]
mod network;
#[path = "cli_and_input/observables.rs"]
mod observables;
#[path = "cli_and_input/options.rs"]
mod options;
#[path = "cli_and_input/outputs.rs"]
mod outputs;
#[path = "cli_and_input/overrides.rs"]
mod overrides;
#[path = "cli_and_input/parts.rs"]
mod parts;
#[path = "cli_and_input/quoted.rs"]
mod quoted;
#[path = "cli_and_input/ranks.rs"]
mod ranks;
#[path = "cli_and_input/reading.rs"]
mod reading;
#[path = "cli_and_input/record.rs"]
mod record;
#[path = "cli_and_input/reference.rs"]
mod reference;
#[path = "cli_and_input/sectors.rs"]
mod sectors;
#[path = "cli_and_input/shared_folders.rs"]
mod shared_folders;
#[path = "cli_and_input/sizes.rs"]
mod sizes;
#[path = "cli_and_input/spectrum.rs"]
mod spectrum;
#[path = "cli_and_input/standard_error.rs"]
mod standard_error;
#[path = "cli_and_input/sweep.rs"]
mod sweep;
#[path = "cli_and_input/symmetries.rs"]
mod symmetries;
#[path = "cli_and_input/thermal.rs"]
mod thermal;
#[path = "cli_and_input/trace.rs"]
mod trace;
#[path = "cli_and_input/tune.rs"]
mod tune;
