//! Free and total memory of a device, and of this machine.

use crate::error::{DeviceError, Result};

/// Free and total bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Bytes available now.
    pub free: u64,
    /// Total bytes.
    pub total: u64,
}

impl Memory {
    /// Returns an error, with the numbers, if `needed` bytes do not fit.
    pub(super) fn check(self, what: &str, device: &str, needed: u64) -> Result<()> {
        let Memory { free, total } = self;
        if needed <= free {
            return Ok(());
        }
        let fits = format!("{:.1} % of it would fit", 100.0 * free as f64 / needed as f64);
        Err(DeviceError::Memory { what: what.into(), device: device.into(), needed, free, total, fits })
    }
}

/// What `ulimit -v` leaves of the address space; `None` without a limit.
fn address_space_left(read: impl Fn(&str) -> Option<String>) -> Option<u64> {
    let limits = read("/proc/self/limits")?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let limit = line.split_whitespace().next()?.parse::<u64>().ok()?;
    let pages = read("/proc/self/statm")?.split_whitespace().next()?.parse::<u64>().ok()?;
    // 4 KiB is the page size except on a few AArch64 kernels, where this overestimates the free memory.
    Some(limit.saturating_sub(4096 * pages))
}

/// The memory that the operating system reports as available, or the control group's limit if that is lower.
pub(super) fn host_memory() -> Memory {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let field = |text: &str, name: &str| -> Option<u64> {
        let line = text.lines().find(|l| l.starts_with(name))?;
        Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
    };
    let meminfo = read("/proc/meminfo").unwrap_or_default();
    let mut total = field(&meminfo, "MemTotal:").unwrap_or(u64::MAX);
    let mut free = field(&meminfo, "MemAvailable:").unwrap_or(total);
    let number = |path: &str| read(path)?.trim().parse::<u64>().ok();
    if let (Some(limit), Some(used)) = (number("/sys/fs/cgroup/memory.max"), number("/sys/fs/cgroup/memory.current")) {
        let cached = read("/sys/fs/cgroup/memory.stat")
            .and_then(|t| t.lines().find_map(|l| l.strip_prefix("inactive_file ")?.trim().parse::<u64>().ok()))
            .unwrap_or(0);
        total = total.min(limit);
        free = free.min(limit.saturating_sub(used.saturating_sub(cached)));
    }
    if let Some(left) = address_space_left(read) {
        free = free.min(left);
    }
    Memory { free, total }
}
