//! `eigenforge bench SUBJECT`: hands over to [`eigenforge_benches`].

use super::VerbEnd;
use super::arguments::{BenchArguments, BenchSubject};
use super::error::CommandError;
use eigenforge::input::MatrixSource;
use eigenforge_benches::ci::CiBenchError;
use eigenforge_benches::ci_direct::DirectBenchError;
use eigenforge_benches::dmrg::DmrgBenchError;
use eigenforge_benches::su3::Su3BenchError;
use eigenforge_runtime::Device;

/// Refuses options that would do nothing here.
fn check(subject: &BenchSubject) -> Result<(), CommandError> {
    match subject {
        BenchSubject::Hubbard(arguments) if arguments.no_vendor && !Device::parse(&arguments.device)?.is_cuda() => {
            let (place, why) = ("without a card".into(), "cuSPARSE and cuBLAS run beside a card only".into());
            Err(CommandError::NoEffect { option: "--no-vendor", place, why })
        }
        BenchSubject::Ci(arguments) if arguments.upper => {
            let archive = |source: &MatrixSource| matches!(source, MatrixSource::Npz(_) | MatrixSource::StandardInput);
            if arguments.matrices.iter().any(archive) {
                return Ok(());
            }
            let (place, why) = ("for these matrices".into(), "it is for a .npz, and none is named".into());
            Err(CommandError::NoEffect { option: "--upper", place, why })
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
    match &arguments.subject {
        BenchSubject::Hubbard(arguments) => {
            eigenforge_benches::hubbard::command(arguments, &mut std::io::stdout().lock())?
        }
        BenchSubject::Ci(arguments) => {
            eigenforge_benches::ci::command(arguments, &mut std::io::stdout().lock()).map_err(|error| match error {
                CiBenchError::Spmv(error) => CommandError::from(error),
                CiBenchError::Write(error) | CiBenchError::Direct(DirectBenchError::Write(error)) => {
                    CommandError::Output(error)
                }
                CiBenchError::Direct(DirectBenchError::Device(error)) => CommandError::from(error),
                CiBenchError::Direct(other) => CommandError::DirectBench(Box::new(other)),
            })?;
        }
        BenchSubject::Dmrg(arguments) => {
            eigenforge_benches::dmrg::command(arguments, &mut std::io::stdout().lock()).map_err(
                |error| match error {
                    DmrgBenchError::Device(error) => CommandError::from(error),
                    DmrgBenchError::Write(error) => CommandError::Output(error),
                    other => CommandError::DmrgBench(Box::new(other)),
                },
            )?;
        }
        BenchSubject::Su3(arguments) => {
            eigenforge_benches::su3::command(arguments, &mut std::io::stdout().lock()).map_err(
                |error| match error {
                    Su3BenchError::Device(error) => CommandError::from(error),
                    Su3BenchError::Write(error) => CommandError::Output(error),
                    other => CommandError::Su3Bench(Box::new(other)),
                },
            )?;
        }
    }
    Ok(VerbEnd::Done)
}
