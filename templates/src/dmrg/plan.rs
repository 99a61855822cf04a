//! The shape of a block of threads, its resources, and its launch.

use crate::ScalarType;
use crate::launch::{Access, Element, Launch, LaunchError, Number, Parameter};
use crate::prototype::Prototype;
use serde::{Deserialize, Serialize};

/// Names of the buffers that records read, in the order of their numbers.
const SPACES: [&str; 6] = ["left", "left_sum", "right", "right_sum", "input", "between"];

/// Every number in the text of grouped products.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupedProductsPlan {
    /// Name of the file, for display.
    pub name: String,
    /// Number type of the matrices.
    pub scalar: ScalarType,
    /// Terms of the sum staged at once: columns of A and rows of B.
    pub slab: u32,
    /// Terms of the sum of one tensor-core operation of 16 × 8 elements.
    pub step: u32,
}

/// Lengths that depend on the stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageSizes {
    /// Blocks of the grid.
    pub blocks: u32,
    /// Elements read from each buffer.
    pub spaces: [u64; 6],
    /// Elements of the output.
    pub output: u64,
    /// Words of the table.
    pub words: u64,
}

/// A plan for which the text cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the plan of {name} has {what} = {found}; it must be {expected}")]
pub struct GroupedProductsPlanError {
    /// The file.
    pub name: String,
    /// Name of the number.
    pub what: &'static str,
    /// Its value.
    pub found: u32,
    /// The allowed values.
    pub expected: &'static str,
}

impl GroupedProductsPlan {
    /// Threads of a block: eight warps.
    pub const THREADS: u32 = 256;
    /// Most rows and columns of a tile.
    pub const SIDE: u32 = 128;

    /// The plan for an H200.
    pub fn new(name: impl Into<String>) -> GroupedProductsPlan {
        GroupedProductsPlan { name: name.into(), scalar: ScalarType::F64, slab: 16, step: 8 }
    }

    /// Returns an error that names the first invalid number.
    pub fn check(&self) -> Result<(), GroupedProductsPlanError> {
        let refuse =
            |what, found, expected| Err(GroupedProductsPlanError { name: self.name.clone(), what, found, expected });
        if ![16, 32].contains(&self.slab) {
            return refuse("slab", self.slab, "16 or 32");
        }
        if ![4, 8, 16].contains(&self.step) || 2 * self.step > self.slab {
            return refuse("step", self.step, "4, 8 or 16, and at most half a slab");
        }
        Ok(())
    }

    /// Dynamic shared memory of a block, in bytes: A and B of the current slab and of the next.
    pub fn shared_bytes(&self) -> u64 {
        8 * 2 * 2 * u64::from(self.slab * Self::SIDE)
    }

    /// The launch of one stage.
    pub fn launch(&self, sizes: &StageSizes) -> Result<Launch, LaunchError> {
        self.kernel(sizes).launch(u64::from(sizes.blocks), Self::THREADS, self.shared_bytes())
    }

    pub(super) fn kernel(&self, sizes: &StageSizes) -> Prototype {
        Prototype::new("grouped_products", sizes.parameters(self.scalar))
    }
}

impl StageSizes {
    /// The buffers that are read, and their first elements.
    pub(super) fn spaces_read(&self, scalar: ScalarType) -> Vec<Parameter> {
        let read = |(name, len): (&&str, &u64)| Parameter::values(*name, scalar, Access::In, *len);
        let mut parameters: Vec<Parameter> = SPACES.iter().zip(&self.spaces).map(read).collect();
        parameters.extend(SPACES.iter().map(|name| Parameter::number(format!("{name}_first"), Number::I64)));
        parameters
    }

    /// The common parameters of both kernels of records.
    pub(super) fn parameters(&self, scalar: ScalarType) -> Vec<Parameter> {
        let mut parameters = self.spaces_read(scalar);
        parameters.push(Parameter::values("output", scalar, Access::Out, self.output));
        parameters.push(Parameter::number("output_first", Number::I64));
        parameters.push(Parameter::table("table", Element::U64, self.words));
        for name in ["records_first", "touching_first", "starts_first"] {
            parameters.push(Parameter::number(name, Number::I64));
        }
        parameters
    }
}
