//! Copies of matrices for the tensor memory accelerator: with even strides, transposed where records need the transpose.

use super::StageSizes;
use crate::files;
use crate::launch::{Access, Element, Launch, LaunchError, Parameter};
use crate::prototype::{Declarations, Prototype, entries};
use crate::text::{KernelText, TextError, render};
use crate::{ScalarType, Warp};
use serde::{Deserialize, Serialize};

/// The plan of the copying kernel, the same for all matrices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatrixCopiesPlan {
    /// Name of the file, for display.
    pub name: String,
    /// Number type of the matrices.
    pub scalar: ScalarType,
}

/// A part of a matrix that one block of threads copies; its logical rows and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopiedPart {
    /// Number of its buffer.
    pub space: u32,
    /// Whether it is stored transposed.
    pub transposed: bool,
    /// Rows and columns; at most [`CopiedPart::TURNED`] columns if it is stored transposed.
    pub size: [u32; 2],
    /// Elements from one stored column to the next, in the source and in the copy.
    pub strides: [u32; 2],
    /// Rows of zeros before it.
    pub before: u32,
    /// First elements, in the source and in the copy.
    pub firsts: [u64; 2],
}

impl CopiedPart {
    /// Words of a part.
    pub const WORDS: usize = 5;
    /// Most columns of a part that is stored transposed.
    pub const TURNED: usize = 32;

    /// Its words.
    pub fn words(&self) -> [u64; CopiedPart::WORDS] {
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let flags = self.space | u32::from(self.transposed) << 4;
        [
            pair(flags, self.size[0]),
            pair(self.size[1], self.strides[0]),
            pair(self.strides[1], self.before),
            self.firsts[0],
            self.firsts[1],
        ]
    }
}

#[derive(Serialize)]
struct View<'a> {
    plan: &'a MatrixCopiesPlan,
    prelude: String,
    kernels: Declarations,
    threads: u32,
    side: u32,
}

impl MatrixCopiesPlan {
    /// Threads of a block.
    pub const THREADS: u32 = 256;

    /// A plan.
    pub fn new(name: impl Into<String>) -> MatrixCopiesPlan {
        MatrixCopiesPlan { name: name.into(), scalar: ScalarType::F64 }
    }

    /// The launch that copies `parts` parts; `sizes` gives the lengths of inputs and output.
    pub fn launch(&self, sizes: &StageSizes, parts: usize) -> Result<Launch, LaunchError> {
        self.kernel(sizes, parts).launch(parts as u64, Self::THREADS, 0)
    }

    fn kernel(&self, sizes: &StageSizes, parts: usize) -> Prototype {
        let mut parameters = sizes.spaces_read(self.scalar);
        parameters.push(Parameter::values("output", self.scalar, Access::InOut, sizes.output));
        parameters.push(Parameter::table("table", Element::U64, (CopiedPart::WORDS * parts) as u64));
        Prototype::new("matrix_copies", parameters)
    }

    /// The CUDA text.
    ///
    /// # Errors
    /// The template cannot be rendered.
    pub fn text(&self) -> Result<KernelText, TextError> {
        let kernels = [self.kernel(&StageSizes::default(), 0)];
        let side = CopiedPart::TURNED as u32;
        let declarations = kernels.iter().collect();
        let view =
            View { plan: self, prelude: Warp::NVIDIA.prelude(), kernels: declarations, threads: Self::THREADS, side };
        Ok(KernelText {
            name: format!("{}_matrix_copies", self.name),
            text: render(files::MATRIX_COPIES, &view)?,
            plan: crate::text::ron_of_depth(self, 2),
            entries: entries(&kernels),
        })
    }
}
