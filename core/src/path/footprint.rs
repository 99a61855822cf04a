//! The resources and instructions of a kernel, without a card: for `inspect --stage resources` and for the budgets of the
//! gallery.
//!
//! In: a compiled file, its launches, a disassembler. Out: one [`KernelFootprint`] per kernel. Registers, spills, stack
//! and static shared memory come from the cubin; threads and dynamic shared memory from the plan; instructions from
//! nvdisasm.

use eigenforge_runtime::jit::{Cubin, Disassembler, InstructionMix, JitError, Occupancy};
use eigenforge_templates::Launch;
use std::fmt;

/// One kernel as compiled for one architecture.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelFootprint {
    /// Its name.
    pub name: String,
    /// 32-bit registers per thread.
    pub registers: u32,
    /// Bytes spilled, stored and loaded; `None` if unknown.
    pub spilled: Option<u64>,
    /// Bytes of stack per thread.
    pub stack: u32,
    /// Bytes of static shared memory per block.
    pub static_shared: u32,
    /// Bytes of dynamic shared memory per block.
    pub dynamic_shared: u32,
    /// Threads per block.
    pub threads: u32,
    /// Blocks per multiprocessor; `None` if the architecture is not in the table.
    pub occupancy: Option<Occupancy>,
    /// Instructions by class; `None` without nvdisasm.
    pub mix: Option<InstructionMix>,
}

/// Measures the kernels of a compiled file, in launch order. Kernels without a launch and device functions are left out.
///
/// # Errors
/// Errors of the disassembler.
pub fn footprints(
    cubin: &Cubin,
    disassembler: Option<&Disassembler>,
    launches: &[Launch],
) -> Result<Vec<KernelFootprint>, JitError> {
    let mixes = disassembler.map(|disassembler| disassembler.mixes(&cubin.image)).transpose()?.unwrap_or_default();
    let measured = launches.iter().filter_map(|launch| {
        let compiled = cubin.resources.iter().find(|kernel| kernel.entry && kernel.name == launch.entry)?;
        let shared = compiled.shared + launch.shared_bytes;
        Some(KernelFootprint {
            name: launch.entry.clone(),
            registers: compiled.registers,
            spilled: compiled.spilled(),
            stack: compiled.stack,
            static_shared: compiled.shared,
            dynamic_shared: launch.shared_bytes,
            threads: launch.block,
            occupancy: Occupancy::new(cubin.arch, compiled.registers, launch.block, shared),
            mix: mixes.iter().find(|(name, _)| *name == launch.entry).map(|(_, mix)| *mix),
        })
    });
    Ok(measured.collect())
}

impl fmt::Display for KernelFootprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let KernelFootprint { name, registers, stack, static_shared, dynamic_shared, threads, .. } = self;
        let spilled = self.spilled.map_or_else(|| "unknown".into(), |bytes| bytes.to_string());
        writeln!(
            f,
            "{name:<28} {registers:>3} registers, {spilled} bytes spilled, {stack} bytes stack, {static_shared} bytes \
             static shared"
        )?;
        let occupancy = self.occupancy.map_or_else(|| "occupancy unknown".into(), |known| known.to_string());
        writeln!(f, "    {threads} threads and {dynamic_shared} bytes dynamic shared a block: {occupancy}")?;
        match &self.mix {
            Some(mix) => writeln!(f, "    {mix}"),
            None => writeln!(f, "    instructions not counted: nvdisasm was not found, `eigenforge doctor` says where"),
        }
    }
}
