//! Configuration state functions to determinants and back on a card: X = C x and y = Cᵀ Y, with C of one dense panel per count of open shells.
//!
//! A configuration of k open shells has C(k, k/2 − M) determinants and C(k, k/2 − S) − C(k, k/2 − S − 1) functions (Paldus 1974), and all
//! configurations of k open shells share the coefficients. A block takes some configurations of one panel:
//!
//! | kernel | a thread |
//! |---|---|
//! | `expand` | one determinant: Σ over the functions of its configuration, written to the determinant's row with its sign |
//! | `contract` | one function: Σ over the determinants of its configuration, whose rows the block has gathered |
//!
//! Every sum has a fixed order, and no two threads write one element.

use crate::files;
use crate::launch::{Access, Element, Launch, LaunchError, Parameter};
use crate::prototype::{Declarations, Prototype, entries};
use crate::text::{Cost, KernelText, TextError, render};
use crate::{ScalarType, Warp};
use serde::{Deserialize, Serialize};

/// Determinants of the configurations that a block takes at once, where one configuration has not more.
const OF_BLOCK: u32 = 512;

/// The configurations of one count of open shells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpinPanelPlan {
    /// Singly occupied orbitals.
    pub open: u32,
    /// Determinants of a configuration.
    pub determinants: u32,
    /// Configuration state functions of a configuration.
    pub functions: u32,
    /// Configurations.
    pub configurations: u64,
}

impl SpinPanelPlan {
    /// Configurations of a block.
    pub fn batch(&self) -> u32 {
        (OF_BLOCK / self.determinants.max(1)).max(1)
    }

    fn blocks(&self) -> u64 {
        self.configurations.div_ceil(u64::from(self.batch()))
    }
}

/// Every number of the change between configuration state functions and determinants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpinTransformPlan {
    /// Name of the problem, for display.
    pub name: String,
    /// Number type of the vectors.
    pub scalar: ScalarType,
    /// The width of a warp.
    pub warp: Warp,
    /// 2S.
    pub two_s: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Rows of the determinants, also of those that have no function of this spin.
    pub rows: u64,
    /// By the count of open shells; none is empty.
    pub panels: Vec<SpinPanelPlan>,
}

/// A panel as the text has it.
#[derive(Serialize)]
struct PanelView {
    open: u32,
    determinants: u32,
    functions: u32,
    configurations: u64,
    batch: u32,
    /// The first block of the next panel, and this one's first block, configuration, determinant and coefficient.
    end: u64,
    block: u64,
    configuration: u64,
    determinant: u64,
    coefficient: u64,
}

#[derive(Serialize)]
struct View<'a> {
    plan: &'a SpinTransformPlan,
    prelude: String,
    kernels: Declarations,
    panels: Vec<PanelView>,
    room: u32,
    functions: u64,
    determinants: u64,
    cost: Cost,
}

impl SpinTransformPlan {
    /// Configuration state functions of all panels.
    pub fn functions(&self) -> u64 {
        self.panels.iter().map(|panel| panel.configurations * u64::from(panel.functions)).sum()
    }

    /// Determinants of all panels.
    pub fn determinants(&self) -> u64 {
        self.panels.iter().map(|panel| panel.configurations * u64::from(panel.determinants)).sum()
    }

    fn configurations(&self) -> u64 {
        self.panels.iter().map(|panel| panel.configurations).sum()
    }

    fn coefficients(&self) -> u64 {
        self.panels.iter().map(|panel| u64::from(panel.determinants) * u64::from(panel.functions)).sum()
    }

    /// Bytes of the tables.
    pub fn table_bytes(&self) -> u64 {
        16 * self.coefficients() + 4 * (self.configurations() + self.determinants())
    }

    /// Both changes: a multiplication and an addition per coefficient of each configuration; vectors and rows read and written once.
    pub fn cost(&self) -> Cost {
        let of_panel = |panel: &SpinPanelPlan| {
            panel.configurations as f64 * f64::from(panel.determinants) * f64::from(panel.functions)
        };
        let flops = 4.0 * self.panels.iter().map(of_panel).sum::<f64>();
        Cost { flops, bytes: (24 * self.determinants() + 16 * self.functions() + 8 * self.configurations()) as f64 }
    }

    /// `expand` and `contract`, as in the text.
    fn kernels(&self) -> [Prototype; 2] {
        let (functions, determinants) = (self.functions(), self.determinants());
        let tables = |coefficients: &str| {
            [
                Parameter::table(coefficients, Element::F64, self.coefficients()),
                Parameter::table("first_function", Element::U32, self.configurations()),
                Parameter::table("determinant_row", Element::U32, determinants),
            ]
        };
        let vector = |name: &str, access, length| Parameter::values(name, self.scalar, access, length);
        // Determinants without a function of this spin keep the 0 that they have.
        let written = if self.rows > determinants { Access::InOut } else { Access::Out };
        let expand = [vector("x", Access::In, functions), vector("expanded", written, self.rows)];
        let contract = [vector("product", Access::In, self.rows), vector("y", Access::Out, functions)];
        [
            Prototype::new("expand", expand.into_iter().chain(tables("by_function")).collect()),
            Prototype::new("contract", contract.into_iter().chain(tables("by_determinant")).collect()),
        ]
    }

    /// The launches of `expand` and `contract`.
    ///
    /// # Errors
    /// A shape that no device runs.
    pub fn launches(&self) -> Result<[Launch; 2], LaunchError> {
        let blocks = self.panels.iter().map(SpinPanelPlan::blocks).sum::<u64>();
        let [expand, contract] = self.kernels();
        Ok([expand.launch(blocks, self.threads, 0)?, contract.launch(blocks, self.threads, 0)?])
    }

    fn views(&self) -> Vec<PanelView> {
        let (mut block, mut configuration, mut determinant, mut coefficient) = (0, 0, 0, 0);
        let view = |panel: &SpinPanelPlan| {
            let SpinPanelPlan { open, determinants, functions, configurations } = *panel;
            let (batch, end) = (panel.batch(), block + panel.blocks());
            let view = PanelView {
                open,
                determinants,
                functions,
                configurations,
                batch,
                end,
                block,
                configuration,
                determinant,
                coefficient,
            };
            block = end;
            configuration += configurations;
            determinant += configurations * u64::from(determinants);
            coefficient += u64::from(determinants) * u64::from(functions);
            view
        };
        self.panels.iter().map(view).collect()
    }

    /// The CUDA text.
    ///
    /// # Errors
    /// The template cannot be rendered.
    pub fn text(&self) -> Result<KernelText, TextError> {
        let kernels = self.kernels();
        let room = |panel: &SpinPanelPlan| panel.batch() * panel.determinants.max(panel.functions);
        let view = View {
            plan: self,
            prelude: self.warp.prelude(),
            kernels: kernels.iter().collect(),
            panels: self.views(),
            room: self.panels.iter().map(room).max().unwrap_or(1),
            functions: self.functions(),
            determinants: self.determinants(),
            cost: self.cost(),
        };
        let (text, entries) = (render(files::SPIN_TRANSFORM, &view)?, entries(&kernels));
        let plan = crate::text::ron_of_depth(self, 2);
        Ok(KernelText { name: format!("{}_spin_transform", self.name), text, plan, entries })
    }
}
