//! The resources of a kernel on the card, from the cubin and from ptxas's lines in the compile log
//! (`--ptxas-options=-v`).
//!
//! In: the cubin and the log. Out: registers per thread, spills, stack, shared and constant memory in bytes, for each
//! kernel and, if there is a log, for each device function that was not inlined. A log may lack ptxas's lines: NVRTC
//! omits them when it finds the text in its own cache.

use super::elf;
use serde::{Deserialize, Serialize};

/// Resources of one kernel, or of one device function that was not inlined.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelResources {
    /// The kernel's name, or the mangled name of a device function.
    pub name: String,
    /// Whether it is a kernel. For a device function ptxas reports only stack and spills.
    pub entry: bool,
    /// 32-bit registers per thread.
    pub registers: u32,
    /// Bytes of registers stored to local memory for lack of registers; `None` if unknown.
    pub spill_stores: Option<u32>,
    /// Bytes of registers loaded back; `None` if unknown.
    pub spill_loads: Option<u32>,
    /// Bytes of stack per thread, callees included for a kernel.
    pub stack: u32,
    /// Bytes of static shared memory per block.
    pub shared: u32,
    /// Bytes of constant memory in all banks, known from the log for sm_8x only; otherwise `None`.
    pub constant: Option<u32>,
}

impl KernelResources {
    /// Whether any register was spilled; `None` if unknown, which requires a stack.
    pub fn spills(&self) -> Option<bool> {
        Some(self.spilled()? > 0)
    }

    /// Bytes spilled, stored and loaded; `None` if unknown.
    pub fn spilled(&self) -> Option<u64> {
        Some(u64::from(self.spill_stores?) + u64::from(self.spill_loads?))
    }
}

/// Resources from the cubin, with spills, constant memory and device functions from the log. Without log lines, a kernel
/// without a stack has no spills, and for any other they are unknown. Kernels first, then device functions, each by name.
/// If the cubin cannot be read, everything comes from the log.
pub(crate) fn kernel_resources(image: &[u8], log: &str) -> Vec<KernelResources> {
    let mut found = parse(log);
    let Some(kernels) = elf::kernels(image) else { return found };
    for kernel in kernels {
        let at = index_of(&mut found, &kernel.name);
        let it = &mut found[at];
        it.entry = true;
        it.registers = kernel.registers.unwrap_or(it.registers);
        it.shared = kernel.shared;
        it.stack = kernel.stack.unwrap_or(it.stack);
        if it.spill_stores.is_none() && kernel.stack == Some(0) {
            (it.spill_stores, it.spill_loads) = (Some(0), Some(0));
        }
    }
    sort(&mut found);
    found
}

/// Reads ptxas's lines. Kernels first, then device functions, each by name.
pub(crate) fn parse(log: &str) -> Vec<KernelResources> {
    let mut found: Vec<KernelResources> = Vec::new();
    let mut entry: Option<usize> = None;
    let mut function: Option<usize> = None;
    for line in log.lines() {
        if let Some(name) = between(line, "Compiling entry function '", "'") {
            let at = index_of(&mut found, name);
            found[at].entry = true;
            entry = Some(at);
        } else if let Some(name) = line.split("Function properties for ").nth(1) {
            function = Some(index_of(&mut found, name.trim()));
        } else if line.contains("bytes stack frame") {
            let Some(at) = function else { continue };
            found[at].stack = number_before(line, " bytes stack frame").max(found[at].stack);
            found[at].spill_stores = Some(number_before(line, " bytes spill stores"));
            found[at].spill_loads = Some(number_before(line, " bytes spill loads"));
        } else if line.contains(": Used ") && line.contains(" registers") {
            let Some(at) = entry else { continue };
            found[at].registers = number_before(line, " registers");
            found[at].shared = number_before(line, " bytes smem");
            found[at].stack = number_before(line, " bytes cumulative stack size").max(found[at].stack);
            let constant = line.split(", ").filter(|part| part.contains("bytes cmem[")).map(leading_number);
            found[at].constant = constant.reduce(u32::saturating_add);
        }
    }
    sort(&mut found);
    found
}

fn sort(found: &mut [KernelResources]) {
    found.sort_by(|a, b| b.entry.cmp(&a.entry).then_with(|| a.name.cmp(&b.name)));
}

fn index_of(found: &mut Vec<KernelResources>, name: &str) -> usize {
    found.iter().position(|kernel| kernel.name == name).unwrap_or_else(|| {
        found.push(KernelResources { name: name.to_string(), ..Default::default() });
        found.len() - 1
    })
}

fn between<'a>(line: &'a str, before: &str, after: &str) -> Option<&'a str> {
    line.split_once(before)?.1.split_once(after).map(|(name, _)| name)
}

fn leading_number(part: &str) -> u32 {
    let digits = part.trim().split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    digits.parse().unwrap_or(0)
}

/// The number right before `words`, 0 if they are absent.
fn number_before(line: &str, words: &str) -> u32 {
    let Some(end) = line.find(words) else { return 0 };
    let digits = line[..end].rsplit(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    digits.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    // NVRTC 13.5's log for sm_80, and the layout of CUDA 11 and 12, where the properties have no "ptxas ." in front.
    const LOG: &str = "\
kernel.cu(9): warning #177-D: variable \"unused\" was declared but never referenced

ptxas info    : 0 bytes gmem, 512 bytes cmem[3]
ptxas info    : Compiling entry function 'spilly' for 'sm_80'
ptxas info    : Function properties for spilly
ptxas         .     656 bytes stack frame, 144 bytes spill stores, 148 bytes spill loads
ptxas info    : Used 32 registers, used 0 barriers, 656 bytes cumulative stack size, 368 bytes cmem[0]
ptxas info    : Compile time = 17.326 ms
ptxas info    : Compiling entry function 'axpy' for 'sm_80'
ptxas info    : Function properties for axpy
    320 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Function properties for _Z1hPdi
    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 39 registers, used 1 barriers, 64 bytes smem, 384 bytes cmem[0], 8 bytes cmem[2]
";

    #[test]
    fn a_log_is_read() {
        let found = parse(LOG);
        let names: Vec<_> = found.iter().map(|kernel| (kernel.name.as_str(), kernel.entry)).collect();
        assert_eq!(names, [("axpy", true), ("spilly", true), ("_Z1hPdi", false)]);
        let axpy = KernelResources {
            name: "axpy".into(),
            entry: true,
            registers: 39,
            stack: 320,
            shared: 64,
            spill_stores: Some(0),
            spill_loads: Some(0),
            constant: Some(392),
        };
        assert_eq!(found[0], axpy);
        assert_eq!((found[1].registers, found[1].stack), (32, 656));
        assert_eq!((found[1].spill_stores, found[1].spill_loads), (Some(144), Some(148)));
        assert_eq!((found[0].spills(), found[1].spills(), found[1].spilled()), (Some(false), Some(true), Some(292)));
        assert_eq!((found[2].stack, found[2].spill_stores, found[2].registers), (8, Some(4), 0));
    }

    #[test]
    fn anything_else_is_no_kernel() {
        for log in ["", "ptxas info    : 0 bytes gmem", ": Used 3 registers", "12 bytes stack frame", "Used registers"]
        {
            assert_eq!(parse(log), [], "{log}");
            assert_eq!(kernel_resources(b"no cubin", log), [], "{log}");
        }
    }
}
