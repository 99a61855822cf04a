//! What a kernel takes on the card and what its machine code consists of, without a card: for `inspect --stage resources`
//! and for the budgets of the gallery.
//!
//! In: a generated file, a compiler, a disassembler. Out: one [`KernelFootprint`] a kernel. Registers, spills, stack and
//! static shared memory are the cubin's; threads and dynamic shared memory are the plan's; instructions are nvdisasm's.

use super::{InspectError, Prepared};
use eigenforge_runtime::jit::{Arch, Disassembler, InstructionMix, Jit, Occupancy, disassembly};
use eigenforge_templates::KernelText;
use eigenforge_templates::vector_program::THREADS;
use std::fmt;

/// The block that a kernel is launched with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockShape {
    /// Name of the kernel.
    pub entry: String,
    /// Threads a block.
    pub threads: u32,
    /// Dynamic shared memory of a block, bytes.
    pub dynamic_shared: u32,
}

/// Threads of the kernel that adds up the partial sums of x·y.
const FINISH_THREADS: u32 = 1024;

impl Prepared {
    /// The blocks of the multiply's kernels, in the order of the text's entries.
    pub fn block_shapes(&self) -> Vec<BlockShape> {
        let shape = |entry: &str, threads, dynamic_shared| BlockShape { entry: entry.into(), threads, dynamic_shared };
        let mut shapes = match self {
            Prepared::Kronecker { plan, .. } => {
                let mut shapes = vec![shape("multiply_up", plan.up_threads, plan.up_shared() as u32)];
                if plan.has_down() {
                    let threads = plan.down_rows * plan.down_lanes;
                    shapes.push(shape("multiply_down", threads, plan.down_shared() as u32));
                }
                shapes
            }
            Prepared::General { plan, .. } => vec![shape("multiply", plan.threads, 0)],
        };
        shapes.push(shape("multiply_finish", FINISH_THREADS, 0));
        shapes
    }
}

/// The blocks of a vector program's kernels.
pub(super) fn program_shapes(text: &KernelText) -> Vec<BlockShape> {
    let shape = |entry: &String| BlockShape { entry: entry.clone(), threads: THREADS, dynamic_shared: 0 };
    text.entries.iter().map(shape).collect()
}

/// One kernel as compiled for one architecture.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelFootprint {
    /// Its name.
    pub name: String,
    /// 32-bit registers a thread.
    pub registers: u32,
    /// Bytes spilled, stored and loaded; `None` when nobody told.
    pub spilled: Option<u64>,
    /// Bytes of stack a thread.
    pub stack: u32,
    /// Bytes of static shared memory a block.
    pub static_shared: u32,
    /// Bytes of dynamic shared memory a block.
    pub dynamic_shared: u32,
    /// Threads a block.
    pub threads: u32,
    /// Blocks a multiprocessor; `None` for an architecture that is not known well enough.
    pub occupancy: Option<Occupancy>,
    /// Instructions by class; `None` without nvdisasm.
    pub mix: Option<InstructionMix>,
}

/// Compiles a generated text and measures its kernels, in the order in which they are launched. `shapes` has one block a
/// kernel; a kernel without one is left out, as are device functions.
///
/// # Errors
/// Those of compiler and disassembler.
pub fn footprints(
    jit: &Jit,
    disassembler: Option<&Disassembler>,
    text: &KernelText,
    shapes: &[BlockShape],
    arch: Arch,
) -> Result<Vec<KernelFootprint>, InspectError> {
    let cubin = jit.compile(text, arch)?;
    let sass = disassembler.map(|disassembler| disassembler.sass(&cubin.image, None)).transpose()?;
    let mixes = sass.as_deref().map(disassembly::mixes).unwrap_or_default();
    let measured = shapes.iter().filter_map(|shape| {
        let compiled = cubin.resources.iter().find(|kernel| kernel.entry && kernel.name == shape.entry)?;
        let shared = compiled.shared + shape.dynamic_shared;
        Some(KernelFootprint {
            name: shape.entry.clone(),
            registers: compiled.registers,
            spilled: compiled.spilled(),
            stack: compiled.stack,
            static_shared: compiled.shared,
            dynamic_shared: shape.dynamic_shared,
            threads: shape.threads,
            occupancy: Occupancy::of(arch, compiled.registers, shape.threads, shared),
            mix: mixes.iter().find(|(name, _)| *name == shape.entry).map(|(_, mix)| *mix),
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
