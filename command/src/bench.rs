//! `eigenforge bench SUBJECT`: hands over to [`eigenforge_benches`].

use super::VerbEnd;
use super::arguments::{BenchArguments, BenchSubject};
use super::error::CommandError;
use super::output::{self, Printer};
use eigenforge::input::MatrixSource;
use eigenforge_benches::synthetic::BenchMatrix;
use eigenforge_runtime::Device;

/// Refuses options that would do nothing here.
fn check(subject: &BenchSubject) -> Result<(), CommandError> {
    match subject {
        BenchSubject::Hubbard(arguments) if arguments.no_vendor && !Device::parse(&arguments.device)?.is_cuda() => {
            let (place, why) = ("without a card".into(), "cuSPARSE and cuBLAS run beside a card only".into());
            Err(CommandError::NoEffect { option: "--no-vendor", place, why })
        }
        BenchSubject::Ci(arguments) if arguments.upper => {
            let archive = |matrix: &BenchMatrix| {
                matches!(matrix, BenchMatrix::Source(MatrixSource::Npz(_) | MatrixSource::StandardInput))
            };
            if arguments.matrices.iter().any(archive) {
                return Ok(());
            }
            let (place, why) = ("for these matrices".into(), "it is for a .npz, and none is named".into());
            Err(CommandError::NoEffect { option: "--upper", place, why })
        }
        BenchSubject::Spins(arguments) if arguments.shapes || arguments.small => {
            let device = Device::parse(&arguments.device)?;
            let (option, why) = match arguments.shapes {
                true if !device.runs_kernels() => ("--shapes", "shapes are of generated kernels"),
                false if !device.is_cuda() => ("--small", "the smaller sizes are taken anyway"),
                _ => return Ok(()),
            };
            Err(CommandError::NoEffect { option, place: "without a card".into(), why: why.into() })
        }
        BenchSubject::Symmetries(arguments) if arguments.small && !Device::parse(&arguments.device)?.is_cuda() => {
            let (place, why) = ("without a card".into(), "the smaller sectors are taken anyway".into());
            Err(CommandError::NoEffect { option: "--small", place, why })
        }
        BenchSubject::Dmrg(arguments) if arguments.growth || arguments.projection => {
            let device = Device::parse(&arguments.device)?;
            if device.runs_kernels() {
                return Ok(());
            }
            let option = if arguments.growth { "--growth" } else { "--projection" };
            Err(CommandError::NeedsCard { option, device: device.name() })
        }
        _ => Ok(()),
    }
}

/// Runs the verb.
pub(super) fn run(arguments: &BenchArguments) -> Result<VerbEnd, CommandError> {
    check(&arguments.subject)?;
    let done = bench(arguments);
    // A bench ends with its table, which is all that it has.
    if output::has_failed() { Ok(VerbEnd::Done) } else { done }
}

fn bench(arguments: &BenchArguments) -> Result<VerbEnd, CommandError> {
    let out = &mut Printer;
    match &arguments.subject {
        BenchSubject::Hubbard(arguments) => eigenforge_benches::hubbard::command(arguments, out)?,
        BenchSubject::Ci(arguments) => eigenforge_benches::ci::command(arguments, out)?,
        BenchSubject::Spmv(arguments) => eigenforge_benches::numbers::command(arguments, out)?,
        BenchSubject::Dmrg(arguments) => eigenforge_benches::dmrg::command(arguments, out)?,
        BenchSubject::Spins(arguments) => eigenforge_benches::spins::command(arguments, out)?,
        BenchSubject::Symmetries(arguments) => eigenforge_benches::symmetries::command(arguments, out)?,
        BenchSubject::Levels(arguments) => eigenforge_benches::levels::command(arguments, out)?,
        BenchSubject::Devices(arguments) => eigenforge_benches::devices::command(arguments, out)?,
        BenchSubject::Certification(arguments) => eigenforge_benches::certification::command(arguments, out)?,
        BenchSubject::Su3(arguments) => eigenforge_benches::su3::command(arguments, out)?,
        BenchSubject::Resume(arguments) => {
            eigenforge_benches::resume::command(arguments, &std::env::current_exe()?, out)?;
        }
        BenchSubject::Paper(arguments) => eigenforge_benches::paper::command(arguments, out)?,
        BenchSubject::Results(arguments) => eigenforge_benches::results::command(arguments, out)?,
    }
    Ok(VerbEnd::Done)
}
