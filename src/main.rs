//! The `eigenforge` command: [`eigenforge::cli`] does the work.

fn main() -> std::process::ExitCode {
    eigenforge::cli::main()
}
