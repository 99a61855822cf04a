//! The threads of a process that shares its machine with others.

/// Takes this process's share of the cores, unless RAYON_NUM_THREADS is set; before anything is computed. A launcher that binds
/// processes to cores has given them out already: then no more than those.
pub fn share_cores(processes_here: usize) {
    if std::env::var_os("RAYON_NUM_THREADS").is_some() {
        return;
    }
    let bound = std::thread::available_parallelism().map_or(1, usize::from);
    let all = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let all = all.lines().filter(|line| line.starts_with("processor")).count().max(bound);
    let threads = bound.min((all / processes_here.max(1)).max(1));
    // Fails where threads were started before: then those are used.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
}
