//! The `eigenforge` command.

fn main() -> std::process::ExitCode {
    eigenforge_command::main(std::env::args_os().collect())
}
