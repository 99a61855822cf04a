//! A running simulation program: launch requests in, the bytes of the written buffers out.
//!
//! The program (`main.cpp`) runs launches in a process forked from it, and in a new one after a fault; it ends when its input is
//! closed, which dropping a [`Server`] does.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use tempfile::TempDir;

pub(super) struct Server {
    child: Child,
    requests: Option<ChildStdin>,
    answers: ChildStdout,
    report: PathBuf,
    /// What the sanitizers print.
    output: File,
    _folder: TempDir,
}

/// How a launch ended.
pub(super) enum Answer {
    /// The bytes of the written buffers.
    Done(Vec<u8>),
    /// The launch's process failed: its status, the engine's report, what it printed.
    Failed { status: ExitStatus, report: String, output: String },
}

impl Server {
    /// Starts the program; a launch may take `seconds`.
    pub(super) fn start(program: &Path, seconds: u32) -> io::Result<Server> {
        let folder = tempfile::tempdir()?;
        let (report, output) = (folder.path().join("report"), folder.path().join("output"));
        // Opened for appending, so that emptying the file between launches leaves no gap.
        let written = OpenOptions::new().create(true).append(true).open(&output)?;
        let mut child = Command::new(program)
            .arg(&report)
            .arg(seconds.to_string())
            // Reports name the access alone, so no allocation needs its stack.
            .env("ASAN_OPTIONS", "detect_leaks=0:exitcode=4:detect_stack_use_after_return=0:malloc_context_size=0")
            // AddressSanitizer must be the first library, whatever preloads this program has.
            .env_remove("LD_PRELOAD")
            .env("UBSAN_OPTIONS", "exitcode=4:print_stacktrace=0")
            // A terminal's SIGINT is meant for this process, which may still need the program to save its state.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(written)
            .spawn()?;
        let missing = || io::Error::other("the program has no pipes");
        let (requests, answers) = (child.stdin.take().ok_or_else(missing)?, child.stdout.take().ok_or_else(missing)?);
        let output = OpenOptions::new().read(true).write(true).open(&output)?;
        Ok(Server { child, requests: Some(requests), answers, report, output, _folder: folder })
    }

    /// Runs one launch; the result has `bytes` bytes. An error means that the program itself has ended.
    pub(super) fn launch(&mut self, request: &[u8], bytes: usize) -> io::Result<Answer> {
        let requests = self.requests.as_mut().ok_or_else(|| io::Error::other("the program was told to end"))?;
        requests.write_all(request)?;
        requests.flush()?;
        let mut status = [0; 8];
        self.answers.read_exact(&mut status)?;
        let status = ExitStatus::from_raw(i64::from_ne_bytes(status) as i32);
        if status.success() {
            let mut result = vec![0; bytes];
            self.answers.read_exact(&mut result)?;
            return Ok(Answer::Done(result));
        }
        let report = std::fs::read_to_string(&self.report).unwrap_or_default();
        let mut output = Vec::new();
        self.output.rewind()?;
        self.output.read_to_end(&mut output)?;
        self.output.set_len(0)?;
        Ok(Answer::Failed { status, report, output: String::from_utf8_lossy(&output).into_owned() })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.requests = None;
        // It ends because its input is closed; waiting avoids a zombie.
        let _ = self.child.wait();
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Server(process {})", self.child.id())
    }
}
