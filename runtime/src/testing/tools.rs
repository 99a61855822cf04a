//! Tools that a machine may lack, and what a test does without one.

use std::fmt::Display;
use std::io::Write;

/// A tool that a machine may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// A C++ compiler, for the simulated device.
    Compiler,
    /// NVRTC and the disassemblers.
    Nvrtc,
    /// `mpirun`, and a build with the feature `mpi`.
    Mpi,
}

impl Tool {
    /// Its name in `EIGENFORGE_TEST_WITHOUT`.
    pub fn name(self) -> &'static str {
        match self {
            Tool::Compiler => "compiler",
            Tool::Nvrtc => "nvrtc",
            Tool::Mpi => "mpi",
        }
    }

    /// Whether this machine is allowed to lack it.
    pub fn may_be_missing(self) -> bool {
        std::env::var("EIGENFORGE_TEST_WITHOUT").is_ok_and(|all| all.split(',').any(|name| name.trim() == self.name()))
    }
}

/// Reports a missing tool and why: the test is skipped if that is allowed.
///
/// # Panics
/// It is not allowed to be missing.
#[track_caller]
pub fn missing(tool: Tool, reason: &dyn Display) {
    let name = tool.name();
    assert!(
        tool.may_be_missing(),
        "{reason}\nThis test needs it. `cargo xtask test --without {name}`, or EIGENFORGE_TEST_WITHOUT={name}, leaves such tests out."
    );
    skipped(&reason.to_string());
}

/// Reports in one line that this thread's test is skipped.
pub fn skipped(reason: &str) {
    let (thread, reason) = (std::thread::current(), reason.lines().next().unwrap_or_default());
    let _ = writeln!(std::io::stderr(), "skipped: {reason} ({})", thread.name().unwrap_or("a test"));
}
