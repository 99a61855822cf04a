//! The plan of small singular value decompositions, one a block: text and launch.

use crate::launch::{Access, Element, Launch, LaunchError, Parameter};
use crate::text::{KernelText, PRELUDE, TextError, render};
use serde::{Deserialize, Serialize};

/// Words of a job, as the text declares them.
pub const JOB_WORDS: usize = 7;

/// Every number that the text is written for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecompositionsPlan {
    /// Name of the file, for people.
    pub name: String,
    /// The shorter side of a matrix, at most.
    pub most: usize,
    /// Threads of a block.
    pub threads: u32,
}

/// Elements of the buffers of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecompositionSizes {
    /// Matrices.
    pub jobs: usize,
    /// Elements that hold them.
    pub matrices: usize,
    /// Work.
    pub work: usize,
    /// Vectors.
    pub vectors: usize,
    /// Values.
    pub values: usize,
}

#[derive(Serialize)]
struct View<'a> {
    plan: &'a DecompositionsPlan,
    prelude: &'a str,
    words: usize,
    parameters: Vec<String>,
}

impl DecompositionsPlan {
    /// The plan of DMRG's small sectors: a warp for each pair of columns of the largest.
    pub fn new(name: impl Into<String>) -> DecompositionsPlan {
        DecompositionsPlan { name: name.into(), most: 64, threads: 1024 }
    }

    fn parameters(&self, sizes: DecompositionSizes) -> Vec<Parameter> {
        let memory = |name, access, len: usize| Parameter::memory(name, Element::F64, access, len as u64);
        vec![
            memory("matrices", Access::In, sizes.matrices),
            Parameter::table("jobs", Element::U64, (JOB_WORDS * sizes.jobs) as u64),
            memory("work", Access::Out, sizes.work),
            memory("vectors", Access::Out, sizes.vectors),
            memory("values", Access::Out, sizes.values),
        ]
    }

    /// The CUDA text.
    ///
    /// # Errors
    /// A fault of the template.
    pub fn text(&self) -> Result<KernelText, TextError> {
        let sizes = DecompositionSizes { jobs: 1, matrices: 1, work: 1, vectors: 1, values: 1 };
        let parameters = self.parameters(sizes).iter().map(|p| format!("{} {}", p.cuda(), p.name)).collect();
        let view = View { plan: self, prelude: PRELUDE, words: JOB_WORDS, parameters };
        let text = render("decompositions.cu.jinja", include_str!("../../cuda/decompositions.cu.jinja"), &view)?;
        let entries = vec!["decomposed".to_owned()];
        Ok(KernelText { name: format!("{}_decompositions", self.name), text, plan: crate::text::ron(self), entries })
    }

    /// The launch: a block a matrix.
    ///
    /// # Errors
    /// More than 2³¹ matrices.
    pub fn launch(&self, sizes: DecompositionSizes) -> Result<Launch, LaunchError> {
        Launch::new("decomposed", sizes.jobs as u64, self.threads, 0, self.parameters(sizes))
    }
}
