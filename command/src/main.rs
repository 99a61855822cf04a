//! The `eigenforge` command.

fn main() -> std::process::ExitCode {
    eigenforge_command::main()
}
