//! The generated files that every run on a device uses, for inspection and measurement.
//!
//! In: nothing, because they are the same for every run. Out: each text with one launch of each of its kernels. Threads
//! and shared memory of a launch are those of a run on an H200; lengths are those of a small one.

use crate::device::Device;
use crate::error::DeviceError;
use crate::machine;
use crate::records::card::FAMILY;
use eigenforge_templates::dmrg::{
    AssemblySizes, GroupedProductsPlan, MatrixCopiesPlan, OperatorAssemblyPlan, StageSizes, StreamedProductsPlan,
};
use eigenforge_templates::eigen::{
    CardLimits, DavidsonChainPlan, DavidsonPlan, EigenpairsPlan, Extent, PivotedCholeskyPlan, PositiveMatrix,
    SymmetricRows,
};
use eigenforge_templates::{KernelText, Launch, LaunchError};

/// The attributes of an H200 that the eigenvector launches depend on.
const CARD: CardLimits = CardLimits {
    resident: 90,
    shared_bytes: machine::Card::H200.shared_bytes as usize,
    multiprocessors: machine::Card::H200.multiprocessors as usize,
};
const SIZES: StageSizes =
    StageSizes { blocks: machine::Card::H200.multiprocessors, spaces: [1000; 6], output: 1000, words: 1000 };
const ASSEMBLED: AssemblySizes = AssemblySizes { source: 1000, output: 1000, words: 1000, parts: 7 };
/// Number of matrices that an operand streams from.
const MAPS: usize = 7;

/// A matrix of a sector of a long chain.
const SHOWN_MATRIX: PositiveMatrix = PositiveMatrix { first: 0, rows: 2000, factor: 0, stride: 1408 };

/// The texts and their launches.
///
/// # Errors
/// A template or a plan is faulty.
pub fn generated() -> Result<[(KernelText, Vec<Launch>); 7], DeviceError> {
    let (carried, streamed) = (GroupedProductsPlan::new(FAMILY), StreamedProductsPlan::new(FAMILY));
    let (copies, davidson) = (MatrixCopiesPlan::new(FAMILY), DavidsonPlan::new(FAMILY));
    let (eigenpairs, cholesky) = (EigenpairsPlan::new(FAMILY), PivotedCholeskyPlan::new(FAMILY));
    let assembly = OperatorAssemblyPlan::new(FAMILY);
    let extent = Extent { n: 1000, stride: 1024, width: 3, below: 1 };
    let of_davidson = DavidsonPlan::ENTRIES.iter().map(|entry| davidson.launch(entry, extent));
    Ok([
        (carried.text()?, vec![carried.launch(&SIZES)?]),
        (streamed.text()?, vec![streamed.launch(&SIZES, MAPS)?]),
        (copies.text()?, vec![copies.launch(&SIZES, MAPS)?]),
        (assembly.text()?, vec![assembly.launch(&ASSEMBLED)?]),
        (davidson.text()?, of_davidson.collect::<Result<_, _>>()?),
        (eigenpairs.text()?, of_eigenpairs(&eigenpairs)?),
        (cholesky.text()?, vec![cholesky.launch(&[SHOWN_MATRIX], CARD.multiprocessors, 4_000_000, 2_800_000)?.launch]),
    ])
}

/// The columns of the text of a chain that is shown for all.
const SHOWN: usize = 4;

/// One of the texts that a chain whose settled bonds have up to `elements` elements may get: that for four columns. The others differ in
/// that number.
///
/// # Errors
/// A template or a plan is faulty.
pub fn generated_for_chain(elements: usize) -> Result<(KernelText, Vec<Launch>), DeviceError> {
    let general = DavidsonPlan::new(FAMILY);
    let plan = DavidsonChainPlan { columns: SHOWN, stride: elements.next_multiple_of(32).max(32), general };
    let launch = |entry: &'static str| {
        let width = if matches!(entry, "projected" | "corrected") { SHOWN - 1 } else { SHOWN };
        plan.launch(entry, Extent { n: elements.max(1), stride: plan.stride, width, below: SHOWN - width })
    };
    let launches = DavidsonChainPlan::ENTRIES.into_iter().map(launch).collect::<Result<_, _>>()?;
    Ok((plan.text()?, launches))
}

/// Compiles the files that a run needs from its first solve on, in parallel.
///
/// # Errors
/// A template is faulty, the compiler is missing, a text does not compile.
pub(super) fn compile_together(device: &Device) -> Result<(), DeviceError> {
    let mut texts = vec![
        GroupedProductsPlan::new(FAMILY).text()?,
        DavidsonPlan::new(FAMILY).text()?,
        EigenpairsPlan::new(FAMILY).text()?,
        OperatorAssemblyPlan::new(FAMILY).text()?,
    ];
    if !device.runs_kernels() {
        return Ok(());
    }
    if let Device::Cuda(cuda) = device {
        // Sectors of a run with many states are long.
        texts.extend([EigenpairsPlan::long(FAMILY).text()?, PivotedCholeskyPlan::new(FAMILY).text()?]);
        if cuda.has_tensor_memory_accelerator() {
            texts.extend([StreamedProductsPlan::new(FAMILY).text()?, MatrixCopiesPlan::new(FAMILY).text()?]);
        }
    }
    device.compile_all(&texts)?;
    Ok(())
}

/// Each kernel once, in the order of the text.
fn of_eigenpairs(plan: &EigenpairsPlan) -> Result<Vec<Launch>, LaunchError> {
    // One matrix for a block's shared memory, one for all blocks.
    let list = [(0, 400), (160_000, 100)].map(|(first, rows)| SymmetricRows { first, rows, values: 0 });
    let steps = plan.launches(&list, CARD, 170_000, 500)?.steps;
    let mut launches: Vec<Launch> = steps.into_iter().map(|step| step.launch).collect();
    launches.sort_by_key(|launch| EigenpairsPlan::ENTRIES.iter().position(|entry| *entry == launch.entry));
    launches.dedup_by(|a, b| a.entry == b.entry);
    Ok(launches)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_has_a_launch() {
        for (text, launches) in generated().unwrap().into_iter().chain([generated_for_chain(1000).unwrap()]) {
            let launched: Vec<&String> = launches.iter().map(|launch| &launch.entry).collect();
            assert_eq!(launched, text.entries.iter().collect::<Vec<_>>(), "{}", text.name);
        }
    }
}
