//! The plan of Davidson's kernels, their text and launches.

use crate::files;
use crate::launch::{Access, Element, Launch, LaunchError, Number, Parameter};
use crate::prototype::{Declarations, Prototype, entries};
use crate::sums::SUM_BLOCKS;
use crate::text::{KernelText, TextError, render};
use crate::{ScalarType, Warp};
use serde::{Deserialize, Serialize};

/// What an iteration leaves for the host.
#[derive(Clone, Debug, PartialEq)]
pub struct DavidsonNumbers {
    /// ‖r‖² of the pair that was corrected.
    pub residual_squared: f64,
    /// Whether no correction remained.
    pub is_exhausted: bool,
    /// ‖t‖² of the correction before and after the basis was taken out.
    pub squares: (f64, f64),
    /// Eigenvalues of VᵀW, ascending; as many as V has vectors are meant.
    pub values: Vec<f64>,
}

/// Numbers before the eigenvalues.
const NUMBERS_BESIDE: usize = 4;

/// Additional sums of the widest kernel, besides Vᵀt: ‖r‖², ‖t‖².
const SUMS_BESIDE: usize = 2;

/// Every number in the text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DavidsonPlan {
    /// Name of the file, for display.
    pub name: String,
    /// Number type of the vectors.
    pub scalar: ScalarType,
    /// The width of a warp.
    pub warp: Warp,
    /// Basis vectors before a restart, even.
    pub width: usize,
    /// Threads of a block.
    pub threads: u32,
    /// Differences between the diagonal and the eigenvalue are bounded below by this.
    pub held: f64,
}

/// The dimensions of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Elements of a vector.
    pub n: usize,
    /// Elements from one basis vector to the next.
    pub stride: usize,
    /// Basis vectors of the search; for `orthogonalised` and `appended` all vectors to be orthogonal to.
    pub width: usize,
    /// Preceding basis vectors to which the search stays orthogonal.
    pub below: usize,
}

#[derive(Serialize)]
struct View<'a> {
    plan: &'a DavidsonPlan,
    prelude: String,
    kernels: Declarations,
}

impl DavidsonPlan {
    /// The plan for DMRG's solves.
    pub fn new(name: impl Into<String>) -> DavidsonPlan {
        DavidsonPlan {
            name: name.into(),
            scalar: ScalarType::F64,
            warp: Warp::default(),
            width: 20,
            threads: 256,
            held: 0.1,
        }
    }

    /// Elements of the small matrices.
    pub fn small(&self) -> usize {
        2 * self.width * self.width + self.width
    }

    /// Elements of the [numbers](DavidsonNumbers).
    pub fn numbers(&self) -> usize {
        NUMBERS_BESIDE + self.width
    }

    /// What the kernels' `numbers` mean.
    pub fn read_numbers(&self, numbers: &[f64]) -> DavidsonNumbers {
        let (&[residual_squared, exhausted, before, after], values) =
            numbers.split_first_chunk().expect("`numbers` has its elements");
        let (is_exhausted, squares) = (exhausted != 0.0, (before, after));
        DavidsonNumbers { residual_squared, is_exhausted, squares, values: values.to_vec() }
    }

    /// The place in the small matrices of VᵀW, counted with the vectors to which the search stays orthogonal: a row of it per column of W.
    pub fn matrix_at(&self, row: usize, column: usize) -> usize {
        row + self.width * column
    }

    /// The place in the small matrices of the overlaps of the correction with the vectors.
    pub fn overlaps(&self) -> std::ops::Range<usize> {
        self.width * self.width..self.width * (self.width + 1)
    }

    /// The place in the small matrices of an eigenvector of VᵀW, by the order of its eigenvalue.
    pub fn vector_at(&self, pair: usize) -> usize {
        self.width * (self.width + 1 + pair)
    }

    /// [`DavidsonNumbers`] as kernels read them.
    pub fn write_numbers(&self, numbers: &DavidsonNumbers) -> Vec<f64> {
        let (exhausted, (before, after)) = (f64::from(u8::from(numbers.is_exhausted)), numbers.squares);
        let mut list = vec![numbers.residual_squared, exhausted, before, after];
        list.extend(&numbers.values);
        list.resize(self.numbers(), 0.0);
        list
    }

    /// Elements of the blocks' partial sums.
    pub fn partials(&self) -> usize {
        self.blocks(usize::MAX) as usize * (self.width + SUMS_BESIDE)
    }

    /// Blocks for vectors of length `n`: two per multiprocessor of an H200, on every card, so that the bits are the same.
    pub(super) fn blocks(&self, n: usize) -> u64 {
        (n as u64).div_ceil(u64::from(self.threads)).clamp(1, 2 * u64::from(SUM_BLOCKS))
    }

    /// The names of the kernels.
    pub const ENTRIES: [&str; 7] =
        ["projected", "corrected", "restarted", "orthogonalised", "appended", "combined", "inner"];

    /// A kernel; one of a chain's own text has no parameter that is a constant there.
    pub(super) fn kernel(&self, entry: &str, extent: Extent, is_chains: bool) -> Prototype {
        let Extent { n, stride, width, below } = extent;
        let memory = |name: &str, access, len: usize| Parameter::memory(name, Element::F64, access, len as u64);
        let values = |name: &str, access, len: usize| Parameter::values(name, self.scalar, access, len as u64);
        let columns = |count: usize| if count == 0 { 0 } else { (count - 1) * stride + n };
        let (read, change, write) = (Access::In, Access::InOut, Access::Out);
        let small = |access| memory("small", access, self.small());
        let numbers = |access| memory("numbers", access, self.numbers());
        let shares = memory("partials", write, self.partials());
        let arrived = Parameter::memory("arrived", Element::U32, change, 1);
        let length = Parameter::number("n", Number::I64);
        let constant = [Parameter::number("stride", Number::I64), Parameter::number("width", Number::I32)];
        let mut ends = vec![length.clone()];
        ends.extend(constant.into_iter().filter(|_| !is_chains));
        let also_below: Vec<Parameter> =
            ends.iter().cloned().chain([Parameter::number("below", Number::I32)]).collect();
        let basis = |access, count| values("basis", access, columns(count));
        let products = |access| values("products", access, columns(width));
        let vector = |name: &str, access| values(name, access, n);
        let list = match entry {
            "projected" => {
                vec![basis(read, below + width), products(read), small(change), numbers(change), shares, arrived]
            }
            "corrected" => vec![
                basis(read, below + width),
                products(read),
                vector("diagonal", read),
                vector("correction", write),
                small(change),
                numbers(change),
                shares,
                arrived,
            ],
            "restarted" => vec![basis(change, below + width), products(change), small(change), numbers(read), arrived],
            "orthogonalised" => {
                vec![basis(read, width), vector("correction", change), small(change), numbers(change), shares, arrived]
            }
            "appended" => {
                vec![basis(change, width + 1), vector("correction", read), small(read), numbers(change)]
            }
            "combined" => vec![basis(read, below + width), vector("vector", write), small(read)],
            _ => {
                let vectors = [vector("x", read), vector("y", read), numbers(change), shares, arrived, length];
                return Prototype::new(entry, vectors.into());
            }
        };
        let ends = if matches!(entry, "orthogonalised" | "appended") { ends } else { also_below };
        let last = match entry {
            "corrected" | "combined" => Some("target"),
            "restarted" => Some("kept"),
            _ => None,
        };
        let last = last.map(|name| Parameter::number(name, Number::I32));
        Prototype::new(entry, list.into_iter().chain(ends).chain(last).collect())
    }

    /// The CUDA text.
    ///
    /// # Errors
    /// The template cannot be rendered.
    pub fn text(&self) -> Result<KernelText, TextError> {
        // Lengths do not show in a text.
        let extent = Extent { n: 1, stride: 1, width: 1, below: 0 };
        let kernels = DavidsonPlan::ENTRIES.map(|entry| self.kernel(entry, extent, false));
        let view = View { plan: self, prelude: self.warp.prelude(), kernels: kernels.iter().collect() };
        let text = render(files::DAVIDSON, &view)?;
        let (name, entries) = (format!("{}_davidson", self.name), entries(&kernels));
        Ok(KernelText { name, text, plan: crate::text::ron(self), entries })
    }

    /// The launch of a kernel; `entry` is one of [`DavidsonPlan::ENTRIES`].
    ///
    /// # Errors
    /// Never fails for lengths below 2⁶³.
    pub fn launch(&self, entry: &str, extent: Extent) -> Result<Launch, LaunchError> {
        self.kernel(entry, extent, false).launch(self.blocks(extent.n), self.threads, 0)
    }
}
