//! Records with streamed operands: the plan and text of the kernel whose operands the tensor memory accelerator loads.
//!
//! In: the same table as [`GroupedProductsPlan`](super::GroupedProductsPlan), and a tensor map of 16 words for each
//! operand, whose matrix must begin at an even element, have an even column stride, and not be transposed; it is read
//! from even rows on. The accelerator needs one thread per request and no registers, so eight warps do nothing but
//! multiply.

use super::table::Fragments;
use super::text::{Shape, records};
use super::{GroupedProductsPlan, StageSizes};
use crate::files;
use crate::launch::{Element, Launch, LaunchError, Parameter};
use crate::prototype::{Declarations, Prototype, entries};
use crate::text::{KernelText, TextError, render};
use crate::{ScalarType, Warp};
use serde::{Deserialize, Serialize};

/// Every number in the text of streamed products.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamedProductsPlan {
    /// Name of the file, for display.
    pub name: String,
    /// Number type of the matrices.
    pub scalar: ScalarType,
    /// Slabs in shared memory: 2 or 3.
    pub stages: u32,
    /// Terms of the sum of one tensor-core operation of 16 × 8 elements: 8, as one lane reads them.
    pub step: u32,
}

#[derive(Serialize)]
struct View<'a> {
    plan: &'a StreamedProductsPlan,
    prelude: String,
    kernels: Declarations,
    records: String,
    threads: u32,
    side: u32,
    slab: u32,
    lines: u32,
    shapes: Vec<Shape>,
}

impl StreamedProductsPlan {
    /// Threads of a block: eight warps that multiply, and four more, the minimum that can pass on registers, of which one
    /// loads.
    pub const THREADS: u32 = 384;
    /// Terms of the sum staged at once.
    pub const SLAB: u32 = 32;
    /// Lines of 16 elements in a panel that the accelerator brings.
    const LINES: u32 = 32;
    /// Words of a tensor map.
    pub const MAP_WORDS: usize = 16;

    /// The plan for an H200.
    pub fn new(name: impl Into<String>) -> StreamedProductsPlan {
        StreamedProductsPlan { name: name.into(), scalar: ScalarType::F64, stages: 3, step: 8 }
    }

    /// Dynamic shared memory of a block, in bytes: A and B of every slab.
    pub fn shared_bytes(&self) -> u64 {
        8 * 2 * u64::from(self.stages * Self::SLAB * GroupedProductsPlan::SIDE)
    }

    /// The launch of one stage with `maps` tensor maps.
    pub fn launch(&self, sizes: &StageSizes, maps: usize) -> Result<Launch, LaunchError> {
        self.kernel(sizes, maps).launch(u64::from(sizes.blocks), Self::THREADS, self.shared_bytes())
    }

    fn kernel(&self, sizes: &StageSizes, maps: usize) -> Prototype {
        let mut parameters = sizes.parameters(self.scalar);
        parameters.push(Parameter::table("maps", Element::U64, (Self::MAP_WORDS * maps) as u64));
        Prototype::new("streamed_products", parameters)
    }

    /// The CUDA text.
    ///
    /// # Errors
    /// The template cannot be rendered.
    pub fn text(&self) -> Result<KernelText, TextError> {
        let shapes = Fragments::all().into_iter().filter(|fragments| fragments.across % 2 == 0).map(Shape::new);
        let kernels = [self.kernel(&StageSizes::default(), 0)];
        let view = View {
            plan: self,
            prelude: Warp::NVIDIA.prelude(),
            kernels: kernels.iter().collect(),
            records: records(self.step)?,
            threads: Self::THREADS,
            side: GroupedProductsPlan::SIDE,
            slab: Self::SLAB,
            lines: Self::LINES,
            shapes: shapes.collect(),
        };
        Ok(KernelText {
            name: format!("{}_streamed_products", self.name),
            text: render(files::STREAMED_PRODUCTS, &view)?,
            plan: crate::text::ron_of_depth(self, 2),
            entries: entries(&kernels),
        })
    }
}
