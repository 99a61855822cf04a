//! A kernel file compiled for the CPU, and its launches under one check or both.

use super::compile::system;
use super::report::{self, Lines};
use super::request::{Launch, result_bytes, written};
use super::server::{Answer, Server};
use super::{Argument, Check, Schedule, SimulateError};
use eigenforge_templates::KernelText;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tempfile::TempDir;

/// A kernel file, compiled for the CPU. Its two programs start at the first launch and end with the last clone.
#[derive(Clone, Debug)]
pub struct Simulated {
    text: KernelText,
    folder: PathBuf,
    kept: bool,
    seconds: u32,
    /// One per check, in the order of [`Check`].
    servers: Arc<[Mutex<Option<Server>>; 2]>,
    _temporary: Option<Arc<TempDir>>,
}

impl Simulated {
    pub(super) fn new(
        text: KernelText,
        folder: PathBuf,
        kept: bool,
        seconds: u32,
        _temporary: Option<Arc<TempDir>>,
    ) -> Simulated {
        Simulated { text, folder, kept, seconds, servers: Arc::default(), _temporary }
    }

    /// The folder with the text and the two programs.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Hash of text, engine, compiler and options, hexadecimal: the end of the folder's name.
    pub fn key(&self) -> &str {
        let name = self.folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.rsplit('-').next().unwrap_or_default()
    }

    /// Whether the programs came from the cache.
    pub fn was_kept(&self) -> bool {
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
        let program = self.folder.join(check.file());
        let mut server = self.servers[check as usize].lock().unwrap_or_else(PoisonError::into_inner);
        let failed = || system(format!("running {}", program.display()));
        let running = match server.as_mut() {
            Some(running) => running,
            None => server.insert(Server::start(&program, self.seconds).map_err(failed())?),
        };
        match running.launch(&launch.request(arguments), result_bytes(arguments)) {
            Ok(Answer::Done(result)) => Ok(result),
            Ok(Answer::Failed { status, report, output }) => {
                let lines = Lines { program: &program, text: &self.text.text };
                let crashed = || SimulateError::Crashed {
                    entry: launch.entry.into(),
                    status: status.to_string(),
                    output: output.clone(),
                };
                let fault = report::fault(launch.entry, &report, &output, &lines).ok_or_else(crashed)?;
                Err(SimulateError::Fault(Box::new(fault)))
            }
            Err(gone) => {
                // The next launch starts another one.
                *server = None;
                Err(failed()(gone))
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
