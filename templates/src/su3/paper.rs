//! The published sum over all labels at once: plan, text, launch.

use super::plan::TableCounts;
use crate::files;
use crate::launch::{Access, Element, Launch, LaunchError, Parameter};
use crate::prototype::{Declarations, Prototype, entries};
use crate::text::{KernelText, TextError, render, ron_of_depth};
use crate::{ScalarType, Warp};
use serde::{Deserialize, Serialize};

/// Every number of the sum.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PaperPlan {
    /// Name of the problem, for display.
    pub name: String,
    /// Number type of the interactions.
    pub scalar: ScalarType,
    /// The width of a warp.
    pub warp: Warp,
    /// N_max.
    pub n_max: u32,
    /// Vectors transformed at once.
    pub channels: u32,
    /// Numbers of one vector.
    pub numbers: u64,
    /// Most κ0 ρ0 of a tensor and S0.
    pub most_results: u32,
    /// Threads of a block.
    pub threads: u32,
    /// (λf μf) (λi μi) (λ0 μ0).
    pub tensors: u64,
    /// Tensors of all quadruples of shells: blocks.
    pub tasks: u64,
    /// Lengths of tables.
    pub counts: TableCounts,
    /// See [`super::TransformPlan`].
    pub spin_factors: Vec<f64>,
}

#[derive(Serialize)]
struct View<'a> {
    plan: &'a PaperPlan,
    prelude: String,
    l_count: u64,
    j_count: u64,
    k_count: u64,
    factors: Vec<String>,
    kernels: Declarations,
}

impl PaperPlan {
    /// Number of values L = 0 … na + nb.
    pub fn l_count(&self) -> u64 {
        u64::from(self.n_max) + 3
    }

    /// Number of values J = 0 … na + nb + 1.
    pub fn j_count(&self) -> u64 {
        u64::from(self.n_max) + 4
    }

    /// Number of values k of (na + nb − 2k, k).
    pub fn k_count(&self) -> u64 {
        u64::from(self.n_max) / 2 + 2
    }

    /// The tables, in the order of the kernel's parameters.
    pub fn tables(&self) -> Vec<Parameter> {
        let counts = &self.counts;
        let (pairs, quadruples, blocks) = (counts.pairs, counts.quadruples, 3 * counts.products);
        let (l, j) = (self.l_count(), self.j_count());
        [
            ("task_tensor", Element::U32, self.tasks),
            ("task_quadruple", Element::U32, self.tasks),
            ("task_pair", Element::U16, self.tasks),
            ("tensor_product", Element::U32, self.tensors),
            ("tensor_k", Element::U16, 2 * self.tensors),
            ("tensor_first", Element::U16, 3 * self.tensors),
            ("tensor_rows", Element::U16, 3 * self.tensors),
            ("quadruple_bra", Element::U16, quadruples),
            ("quadruple_ket", Element::U16, quadruples),
            ("quadruple_start", Element::U64, quadruples),
            ("quadruple_length", Element::U32, quadruples),
            ("j_offset", Element::U32, quadruples * j),
            ("order", Element::U16, pairs * l),
            ("matrix", Element::U32, pairs * l),
            ("quanta", Element::U16, pairs),
            ("jj_count", Element::U16, pairs * j),
            ("jj_first", Element::U32, pairs * j),
            ("back_o", Element::U16, 4 * counts.jj_states),
            ("back_a", Element::F64, 4 * counts.jj_states),
            ("bra_row", Element::U16, pairs * l * self.k_count()),
            ("ket_row", Element::U16, pairs * l * self.k_count()),
            ("states_below", Element::U16, counts.irreps * (l + 1)),
            ("irrep_first", Element::U16, u64::from(self.n_max) + 3),
            ("w_f", Element::F64, counts.matrices),
            ("w_i", Element::F64, counts.matrices),
            ("block_start", Element::U64, blocks),
            ("block_rows", Element::U32, blocks),
            ("block_columns", Element::U32, blocks),
            ("row_start", Element::U32, blocks * l),
            ("w0_start", Element::U64, blocks),
            ("w0", Element::F64, counts.w0),
        ]
        .map(|(name, element, len)| Parameter::table(name, element, len))
        .to_vec()
    }

    /// The launch.
    ///
    /// # Errors
    /// More tasks than a grid has blocks.
    pub fn launch(&self) -> Result<Launch, LaunchError> {
        let mut launch = self.kernel().launch(self.tasks, self.threads, 0)?;
        launch.grid[1] = self.channels;
        Ok(launch)
    }

    fn kernel(&self) -> Prototype {
        let numbers = self.numbers * u64::from(self.channels);
        let mut parameters = vec![
            Parameter::values("u", self.scalar, Access::In, numbers),
            Parameter::values("c", self.scalar, Access::Out, numbers),
        ];
        parameters.extend(self.tables());
        Prototype::new("tensor_strengths", parameters)
    }

    /// The CUDA text.
    ///
    /// # Errors
    /// The template cannot be rendered.
    pub fn text(&self) -> Result<KernelText, TextError> {
        let kernels = [self.kernel()];
        let view = View {
            plan: self,
            prelude: self.warp.prelude(),
            l_count: self.l_count(),
            j_count: self.j_count(),
            k_count: self.k_count(),
            factors: self.spin_factors.iter().map(|x| format!("{x:?}")).collect(),
            kernels: kernels.iter().collect(),
        };
        let text = render(files::SU3_PAPER, &view)?;
        Ok(KernelText { name: self.name.clone(), text, plan: ron_of_depth(self, 2), entries: entries(&kernels) })
    }
}
