//! All coupling coefficients W⁰ of a transformation: plan, text, launches.
//!
//! A block computes one triple of irreps. Triples are sorted by the shared memory of their canonical coefficients.

use crate::files;
use crate::launch::{Access, Element, Launch, LaunchError, Number, Parameter};
use crate::prototype::{Declarations, Prototype, entries};
use crate::text::{KernelText, TextError, render, ron_of_depth};
use crate::{ScalarType, Warp};
use serde::{Deserialize, Serialize};

/// Triples of one launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TripleClass {
    /// First triple.
    pub first: u64,
    /// Triples.
    pub triples: u64,
    /// Canonical coefficients of the largest triple.
    pub values: u64,
    /// Numbers of the ladder's rows, or of u2 W.
    pub rows: u64,
}

/// Every number of the coefficients' kernels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoefficientsPlan {
    /// Name of the problem, for display.
    pub name: String,
    /// Number type of the coefficients.
    pub scalar: ScalarType,
    /// The width of a warp.
    pub warp: Warp,
    /// N_max.
    pub n_max: u32,
    /// Numbers W⁰.
    pub w0: u64,
    /// Triples of irreps.
    pub triples: u64,
    /// Irreps of bras; as many of kets.
    pub irreps: u64,
    /// Products of irreps.
    pub products: u64,
    /// Threads of a block.
    pub threads: u32,
    /// (κ1 L1, κ2 L2) that a thread sums.
    pub pairs_a_thread: u32,
    /// (λ3 μ3).
    pub thirds: u64,
    /// Seeds, one per ρ of each triple, and their numbers.
    pub seeds: [u64; 2],
    /// Rows and numbers of all u.
    pub branchings: [u64; 2],
    /// Clebsch–Gordan tables (2Λ3, K3), and entries of their directory.
    pub spins: [u64; 2],
    /// Rows of the largest product.
    pub most_rows: u64,
    /// Launches.
    pub classes: Vec<TripleClass>,
}

#[derive(Serialize)]
struct View<'a> {
    plan: &'a CoefficientsPlan,
    prelude: String,
    l_count: u64,
    kernels: Declarations,
}

impl CoefficientsPlan {
    /// Number of values L = 0 … na + nb, and of the labels of Clebsch–Gordan tables.
    pub fn l_count(&self) -> u64 {
        u64::from(self.n_max) + 3
    }

    /// The tables, in the order of the kernel's parameters.
    pub fn tables(&self) -> Vec<Parameter> {
        let (triples, blocks, l) = (self.triples, 3 * self.products, self.l_count());
        [
            ("triple_product", Element::U32, triples),
            ("triple_third", Element::U16, triples),
            ("triple_rho", Element::U16, triples),
            ("triple_first", Element::U16, 3 * triples),
            ("triple_rows", Element::U16, 3 * triples),
            ("triple_seed", Element::U32, triples),
            ("product_bra", Element::U16, self.products),
            ("product_ket", Element::U16, self.products),
            ("label", Element::U16, 4 * self.irreps),
            ("third_label", Element::U16, 2 * self.thirds),
            ("third_k", Element::U16, 3 * self.thirds),
            ("third_turn", Element::F64, 9 * self.thirds),
            ("seed_eta", Element::U16, self.seeds[0]),
            ("seed_first", Element::U16, self.seeds[0]),
            ("seed_count", Element::U16, self.seeds[0]),
            ("seed_start", Element::U32, self.seeds[0]),
            ("seed_value", Element::F64, self.seeds[1]),
            ("branch_row_start", Element::U32, 2 * self.irreps),
            ("branch_row", Element::U16, self.branchings[0]),
            ("branch_start", Element::U32, 2 * self.irreps * l),
            ("branch_value", Element::F64, self.branchings[1]),
            ("states_below", Element::U16, self.irreps * (l + 1)),
            ("spin_number", Element::U16, self.spins[1]),
            ("spin_table", Element::F64, self.spins[0] * l * l * l),
            ("orbital_table", Element::F64, 12 * l * l * l),
            ("w0_start", Element::U64, blocks),
            ("block_rows", Element::U32, blocks),
            ("row_start", Element::U32, blocks * l),
        ]
        .map(|(name, element, len)| Parameter::table(name, element, len))
        .to_vec()
    }

    /// The coefficients of one class.
    ///
    /// # Errors
    /// A grid or a block's shared memory exceeds every card.
    pub fn launch(&self, class: &TripleClass) -> Result<Launch, LaunchError> {
        let [coefficients, _] = self.kernels();
        coefficients.launch(class.triples, self.threads, 8 * (class.values + class.rows))
    }

    /// Measures the deviation of the matrices from orthogonality.
    ///
    /// # Errors
    /// See [`CoefficientsPlan::launch`].
    pub fn defect_launch(&self) -> Result<Launch, LaunchError> {
        let [_, defects] = self.kernels();
        defects.launch(3 * self.products, self.threads, 16 * self.most_rows)
    }

    fn kernels(&self) -> [Prototype; 2] {
        let mut coefficients = vec![
            Parameter::values("w0", self.scalar, Access::InOut, self.w0),
            Parameter::number("first_triple", Number::U32),
            Parameter::number("most_values", Number::U32),
        ];
        coefficients.extend(self.tables());
        let blocks = 3 * self.products;
        let defects = vec![
            Parameter::values("w0", self.scalar, Access::In, self.w0),
            Parameter::memory("defect", Element::F64, Access::Out, blocks),
            Parameter::table("w0_start", Element::U64, blocks),
            Parameter::table("block_rows", Element::U32, blocks),
        ];
        [Prototype::new("coefficients", coefficients), Prototype::new("defects", defects)]
    }

    /// The CUDA text.
    ///
    /// # Errors
    /// The template cannot be rendered.
    pub fn text(&self) -> Result<KernelText, TextError> {
        let kernels = self.kernels();
        let declarations = kernels.iter().collect();
        let view = View { plan: self, prelude: self.warp.prelude(), l_count: self.l_count(), kernels: declarations };
        let text = render(files::SU3_COEFFICIENTS, &view)?;
        Ok(KernelText { name: self.name.clone(), text, plan: ron_of_depth(self, 2), entries: entries(&kernels) })
    }
}
