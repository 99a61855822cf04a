//! The CPU as a device: rayon's global pool. Results do not depend on the number of threads.

/// All cores of this machine.
#[derive(Debug, Default)]
pub struct Cpu;

impl Cpu {
    /// The machine this runs on.
    pub fn new() -> Cpu {
        Cpu
    }

    /// The processor's name and the number of threads in use.
    pub fn name(&self) -> String {
        let threads = rayon::current_num_threads();
        let model = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
            let line = text.lines().find(|l| l.starts_with("model name"))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        });
        format!("{} ({threads} threads)", model.unwrap_or_else(|| std::env::consts::ARCH.into()))
    }
}
