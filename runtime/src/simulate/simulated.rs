//! A kernel file compiled for the CPU, and its launches under one check or both.

use super::compile::{Simulator, system};
use super::report::{self, Lines};
use super::request::{Launch, result_bytes, written};
use super::server::{Answer, Server};
use super::{Argument, Check, Schedule, SimulateError};
use eigenforge_templates::KernelText;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A program that runs, and its file.
type Running = Mutex<Option<(Server, PathBuf)>>;

/// A kernel file for the CPU. Its programs are compiled where they are not, and start, at the first launch under their check; they end
/// with the last clone.
#[derive(Clone, Debug)]
pub struct Simulated {
    text: KernelText,
    folder: PathBuf,
    kept: bool,
    simulator: Simulator,
    /// One per check, in the order of [`Check`], with its program.
    servers: Arc<[Running; 2]>,
}

impl Simulated {
    pub(super) fn new(text: KernelText, folder: PathBuf, kept: bool, simulator: Simulator) -> Simulated {
        Simulated { text, folder, kept, simulator, servers: Arc::default() }
    }

    /// The folder of the text and the program that has its accesses watched.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Compiles the program that has its accesses watched, unless it is there.
    pub(crate) fn compile(&self) -> Result<(), SimulateError> {
        self.simulator.compiled(&self.text, Check::Accesses).map(drop)
    }

    /// Hash of text, engine, compiler and options, hexadecimal: the end of the folder's name.
    pub fn key(&self) -> &str {
        let name = self.folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.rsplit('-').next().unwrap_or_default()
    }

    /// Whether that program was there before.
    pub(crate) fn was_kept(&self) -> bool {
        self.kept
    }

    /// Runs `entry` under both checks. The written buffers get the result; on an error they are unchanged.
    pub fn launch(
        &self,
        entry: &str,
        grid: [u32; 3],
        block: [u32; 3],
        shared_bytes: u32,
        arguments: &mut [Argument<'_>],
        schedule: Schedule,
    ) -> Result<(), SimulateError> {
        let launch = Launch { entry, grid, block, shared_bytes, schedule };
        let first = self.run(Check::Accesses, &launch, arguments)?;
        let second = self.run(Check::Addresses, &launch, arguments)?;
        let pairs = written(&first, arguments).into_iter().zip(written(&second, arguments));
        if let Some(argument) = pairs.into_iter().position(|(a, b)| a != b) {
            return Err(SimulateError::Unsteady { entry: entry.into(), argument });
        }
        store(&first, arguments);
        Ok(())
    }

    /// Runs `entry` under one check.
    #[expect(clippy::too_many_arguments, reason = "a launch, and the check")]
    pub fn launch_under(
        &self,
        check: Check,
        entry: &str,
        grid: [u32; 3],
        block: [u32; 3],
        shared_bytes: u32,
        arguments: &mut [Argument<'_>],
        schedule: Schedule,
    ) -> Result<(), SimulateError> {
        let result = self.run(check, &Launch { entry, grid, block, shared_bytes, schedule }, arguments)?;
        store(&result, arguments);
        Ok(())
    }

    /// The bytes of the written arguments, one after the other.
    fn run(&self, check: Check, launch: &Launch<'_>, arguments: &[Argument<'_>]) -> Result<Vec<u8>, SimulateError> {
        launch.check()?;
        let mut server = self.servers[check as usize].lock().unwrap_or_else(PoisonError::into_inner);
        let failed = |program: &Path| system(format!("running {}", program.display()));
        let (running, program) = match server.as_mut() {
            Some(running) => running,
            None => {
                let program = self.simulator.compiled(&self.text, check)?;
                let started = Server::start(&program, self.simulator.seconds()).map_err(failed(&program))?;
                server.insert((started, program))
            }
        };
        match running.launch(&launch.request(arguments), result_bytes(arguments)) {
            Ok(Answer::Done(result)) => Ok(result),
            Ok(Answer::Failed { status, report, output }) => {
                let lines = Lines { program, text: &self.text.text };
                let crashed = || SimulateError::Crashed {
                    entry: launch.entry.into(),
                    status: status.to_string(),
                    output: output.clone(),
                };
                let fault = report::fault(launch.entry, &report, &output, &lines).ok_or_else(crashed)?;
                Err(SimulateError::Fault(Box::new(fault)))
            }
            Err(gone) => {
                let gone = failed(program)(gone);
                // The next launch starts another one.
                *server = None;
                Err(gone)
            }
        }
    }
}

fn store(result: &[u8], arguments: &mut [Argument<'_>]) {
    let offsets: Vec<Option<Vec<u8>>> =
        written(result, arguments).into_iter().map(|bytes| bytes.map(<[u8]>::to_vec)).collect();
    for (bytes, argument) in offsets.into_iter().zip(arguments) {
        if let (Some(bytes), Argument::InOut(target) | Argument::Out(target)) = (bytes, argument) {
            target.copy_from_slice(&bytes);
        }
    }
}
