//! Operators of a block and a site from those of the block: many matrices of one shape side by side, each a sum of others.

use crate::files;
use crate::launch::{Access, Element, Launch, LaunchError, Parameter};
use crate::prototype::{Declarations, Prototype, entries};
use crate::text::{KernelText, TextError, render};
use crate::{ScalarType, Warp};
use serde::{Deserialize, Serialize};

/// The plan of the kernel that assembles, the same for all chains.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorAssemblyPlan {
    /// Name of the file, for display.
    pub name: String,
    /// Number type of the matrices.
    pub scalar: ScalarType,
}

/// Lengths of the memory of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AssemblySizes {
    /// Elements of the source.
    pub source: u64,
    /// Elements of the output.
    pub output: u64,
    /// Words of the table.
    pub words: u64,
    /// Parts, a block of threads for each.
    pub parts: u64,
}

/// A rectangle of rows and columns of all matrices of a block, which one block of threads fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartWords {
    /// Its first element in the output.
    pub to: u64,
    /// Rows and columns.
    pub size: [u32; 2],
    /// Rows of the whole matrices, and how many stand side by side.
    pub matrices: [u32; 2],
    /// Its first term, and how many it has.
    pub terms: [u32; 2],
}

impl PartWords {
    /// Words of a part.
    pub const WORDS: usize = 4;

    /// Its words.
    pub fn words(&self) -> [u64; PartWords::WORDS] {
        [self.to, pair(self.size), pair(self.matrices), pair(self.terms)]
    }
}

/// Source matrices that a part adds up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TermWords {
    /// The first element of the source's matrices.
    pub from: u64,
    /// How many stand side by side there, and the first number of its list.
    pub list: [u32; 2],
}

impl TermWords {
    /// Words of a term.
    pub const WORDS: usize = 2;

    /// Its words.
    pub fn words(&self) -> [u64; TermWords::WORDS] {
        [self.from, pair(self.list)]
    }
}

fn pair([low, high]: [u32; 2]) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

#[derive(Serialize)]
struct View<'a> {
    plan: &'a OperatorAssemblyPlan,
    prelude: String,
    kernels: Declarations,
    threads: u32,
}

impl OperatorAssemblyPlan {
    /// Threads of a block.
    pub const THREADS: u32 = 128;

    /// A plan.
    pub fn new(name: impl Into<String>) -> OperatorAssemblyPlan {
        OperatorAssemblyPlan { name: name.into(), scalar: ScalarType::F64 }
    }

    /// The launch that fills all parts.
    ///
    /// # Errors
    /// More parts than CUDA's limits allow.
    pub fn launch(&self, sizes: &AssemblySizes) -> Result<Launch, LaunchError> {
        self.kernel(sizes).launch(sizes.parts, Self::THREADS, 0)
    }

    fn kernel(&self, sizes: &AssemblySizes) -> Prototype {
        let mut parameters = vec![
            Parameter::values("source", self.scalar, Access::In, sizes.source),
            Parameter::values("output", self.scalar, Access::InOut, sizes.output),
            Parameter::table("table", Element::U64, sizes.words),
        ];
        let firsts = ["terms_first", "starts_first", "entries_first"];
        parameters.extend(firsts.map(|name| Parameter::number(name, crate::launch::Number::I64)));
        Prototype::new("operator_assembly", parameters)
    }

    /// The CUDA text.
    ///
    /// # Errors
    /// The template cannot be rendered.
    pub fn text(&self) -> Result<KernelText, TextError> {
        let kernels = [self.kernel(&AssemblySizes::default())];
        let declarations = kernels.iter().collect();
        let view = View { plan: self, prelude: Warp::NVIDIA.prelude(), kernels: declarations, threads: Self::THREADS };
        Ok(KernelText {
            name: format!("{}_operator_assembly", self.name),
            text: render(files::OPERATOR_ASSEMBLY, &view)?,
            plan: crate::text::ron_of_depth(self, 2),
            entries: entries(&kernels),
        })
    }
}
