//! A way to multiply by H, as a value.
//!
//! Each way is a folder of its family, which lists it once (`exact/ways.rs`). Whoever plans, runs, tunes, shows or counts a multiply asks
//! these questions and does not know which way answers.

use super::choice::{PlannedChoice, PlannedWay};
use super::engine::ProductEngine;
use super::error::PrepareError;
use super::host::HostProduct;
use super::rank::RankRows;
use super::received::Received;
use super::several::SeveralPlans;
use super::traffic::Traffic;
use crate::sparse::{Candidate, Format, FormatRanking};
use eigenforge_core::operator::OperatorError;
use eigenforge_runtime::ranks::Ranks;
use eigenforge_runtime::{Device, DeviceError, ElementFunction, Kernel, NamedTables};
use eigenforge_templates::exact::CollectedCoefficients;
use eigenforge_templates::{Cost, ElementFunctionText, KernelText, Launch, LaunchError, ScalarType, TextError, Warp};
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

/// Upper bounds of spectral norms.
#[derive(Clone, Copy, Debug)]
pub struct NormBounds {
    /// Of H as it is multiplied.
    pub whole: f64,
    /// Of H without its diagonal.
    pub moving: f64,
}

/// When texts of several vectors at once are launched.
pub(crate) const BLOCKS: &str = "for blocks of vectors";

/// A generated text with its launches and the work of one multiply.
pub struct ShownText {
    /// The text.
    pub text: KernelText,
    /// Every launch that a run of this device can make of it.
    pub launches: Vec<Launch>,
    /// The least work of one multiply; `None` where it depends on data.
    pub cost: Option<Cost>,
    /// When it is launched, if not as the multiply of one vector.
    pub when: &'static str,
}

/// The format of a stored matrix.
pub struct StoredFormat<'a> {
    /// Elements of the matrix, of all ranks.
    pub non_zeros: u64,
    /// The format.
    pub format: Format,
    /// All formats with the reason of the choice, where kernels or a request choose.
    pub ranking: Option<&'a FormatRanking>,
}

impl StoredFormat<'_> {
    /// The formats with their bytes and modelled times; `None` where none were compared.
    pub fn choice(&self) -> Option<PlannedChoice> {
        let ranking = self.ranking?;
        let way = |candidate: &Candidate| {
            PlannedWay::new(candidate.format.to_string(), Some(candidate.bytes), 1e-3 * candidate.milliseconds)
        };
        Some(PlannedChoice {
            of: "format of the matrix: bytes, seconds of a product".into(),
            ways: ranking.candidates.iter().map(way).collect(),
            chosen: Some(self.format.to_string()),
            why: ranking.reason.clone(),
        })
    }
}

/// A way to multiply by one H: its plan with the tables that go with it.
pub trait Multiply: Send + Sync {
    /// This way, for who looks at its plan.
    fn as_any(&self) -> &dyn Any;

    /// Its name in plans and reports.
    fn way_name(&self) -> &'static str;

    /// The type of the elements of vectors.
    fn scalar(&self) -> ScalarType;

    /// Rows of the matrix.
    fn dimension(&self) -> usize;

    /// The launch shape in words.
    fn shape(&self) -> String;

    /// The plan as RON.
    fn plan_text(&self) -> String;

    /// The least work of one multiply.
    fn cost(&self) -> Cost;

    /// Operations of one multiply, those on words included.
    fn work(&self) -> f64 {
        self.cost().flops
    }

    /// The generated kernels; `None` of a way that brings its own [engine](Multiply::own_engine).
    fn kernels(&self) -> Option<&dyn GeneratedKernels>;

    /// The diagonal as an element function of vector programs: its CUDA text and parameters.
    fn diagonal_text(&self) -> ElementFunctionText;

    /// The multiply on the cores of the host.
    ///
    /// # Errors
    /// No room for tables that only the cores need.
    fn host(&self) -> Result<Box<dyn HostProduct>, PrepareError>;

    /// Bounds of the norm; asked for after [`GeneratedKernels::tables`], whose kernels may have found them.
    fn norm_bounds(&self) -> NormBounds;

    /// What a card keeps beside vectors, in words, with its bytes; `None` where that is not shown.
    fn table_bytes(&self) -> Option<(&'static str, u64)> {
        None
    }

    /// Lines for people about its tables and elements.
    fn cost_text(&self) -> String {
        String::new()
    }

    /// The format of a stored matrix where it is planned for; `None` of what stores none.
    fn format(&self) -> Option<StoredFormat<'_>> {
        None
    }

    /// All texts of a multiply, those of several vectors at once included, for a device that need not be present.
    ///
    /// # Errors
    /// A plan that has no text or no launches.
    fn shown_texts(&self) -> Result<Vec<ShownText>, PrepareError> {
        let shown = |(kernels, cost, when): (&dyn GeneratedKernels, Cost, _)| -> Result<ShownText, PrepareError> {
            let launches = [kernels.launches(&NamedTables::new())?, kernels.set_up_launches()?].concat();
            Ok(ShownText { text: kernels.text()?, launches, cost: Some(cost), when })
        };
        let several = self.several();
        let others = several.plans().filter_map(|other| Some((other.kernels()?, other.cost(), BLOCKS)));
        let own = self.kernels().map(|kernels| (kernels, self.cost(), ""));
        own.into_iter().chain(others).map(shown).collect()
    }

    /// Other launch shapes that are worth timing, this one first; none where there is nothing to choose.
    fn candidates(&self) -> Vec<Arc<dyn Multiply>> {
        Vec::new()
    }

    /// The same for a device with warps of this width; `None` where that changes nothing.
    fn with_warp(&self, _warp: Warp) -> Option<Arc<dyn Multiply>> {
        None
    }

    /// The same for cards that share its vectors; `None` where that changes nothing.
    fn shared_among(&self, _cards: u32) -> Option<Arc<dyn Multiply>> {
        None
    }

    /// What each of several cards receives from the others in one multiply; `None` where only the cards know.
    fn received(&self, cards: u32) -> Option<Received> {
        let shared = self.shared_among(cards);
        let kernels = shared.as_ref().map_or_else(|| self.kernels(), |shared| shared.kernels())?;
        Received::planned(kernels.traffic(), self.dimension() as u64 * self.scalar().bytes() as u64, cards)
    }

    /// The coefficients of its texts, to find out whether other models have the same.
    ///
    /// # Errors
    /// A plan that has no text.
    fn coefficients(&self) -> Result<CollectedCoefficients, TextError> {
        Ok(CollectedCoefficients::default())
    }

    /// Multiplies of two and more vectors at once.
    fn several(&self) -> SeveralPlans {
        SeveralPlans::default()
    }

    /// The same multiplies up to `most` vectors, quicker or not.
    fn forced_several(&self, _most: u32) -> SeveralPlans {
        SeveralPlans::default()
    }

    /// A stored matrix in its place on a device where that is quicker or the only way; `None` where it stays.
    ///
    /// # Errors
    /// No room for the matrix.
    fn replacement(&self, _device: &Device) -> Result<Option<Arc<dyn Multiply>>, OperatorError> {
        Ok(None)
    }

    /// The same H as a stored matrix with states in the same order; `None` where there is none.
    ///
    /// # Errors
    /// No room for the matrix.
    fn stored(&self) -> Result<Option<Arc<dyn Multiply>>, OperatorError> {
        Ok(None)
    }

    /// An engine that is not made of [`Multiply::kernels`] and [`Multiply::host`].
    ///
    /// # Errors
    /// The device's.
    fn own_engine(&self, _device: &Device) -> Result<Option<Box<dyn ProductEngine>>, PrepareError> {
        Ok(None)
    }

    /// One rank's part that is not rows of a whole x by kernels or by [`Multiply::host`].
    ///
    /// # Errors
    /// The device's; a rank that failed.
    fn own_rank(&self, _ranks: &Arc<Ranks>, _device: &Device) -> Result<Option<Box<dyn RankRows>>, PrepareError> {
        Ok(None)
    }

    /// The text of [`Multiply::guess`]; `None` where it gives none.
    fn guess_text(&self) -> Option<ElementFunctionText> {
        None
    }

    /// A first guess of the lowest state, of length close to 1.
    ///
    /// # Errors
    /// Memory of the device.
    fn guess(&self, _device: &Device) -> Result<Option<ElementFunction>, DeviceError> {
        Ok(None)
    }
}

/// What makes the kernel that a text is compiled to.
pub type CompileText<'a> = &'a dyn Fn() -> Result<Kernel, DeviceError>;

/// The generated kernels of a way to multiply.
pub trait GeneratedKernels {
    /// The generated CUDA.
    ///
    /// # Errors
    /// A plan that has no text.
    fn text(&self) -> Result<KernelText, TextError>;

    /// The launches of one multiply, in order, with the lengths of these tables.
    ///
    /// # Errors
    /// A shape that no device runs.
    fn launches(&self, tables: &NamedTables) -> Result<Vec<Launch>, LaunchError>;

    /// Launches of the same text that make its tables, or averages.
    ///
    /// # Errors
    /// A shape that no device runs.
    fn set_up_launches(&self) -> Result<Vec<Launch>, LaunchError> {
        Ok(Vec::new())
    }

    /// Partial sums of x·y of each vector.
    fn partials(&self) -> u64;

    /// Vectors that one launch multiplies.
    fn vectors(&self) -> u32 {
        1
    }

    /// What kernels and the diagonal read beside vectors, uploaded, or made by the kernels of the whole text, which `compile` gives.
    ///
    /// # Errors
    /// The device's.
    fn tables(&self, compile: CompileText<'_>, device: &Device) -> Result<NamedTables, PrepareError>;

    /// What a card needs of the others.
    fn traffic(&self) -> Traffic;

    /// The elements of y that the kernel `multiply` of card `card` of so many makes; `None` where it does not make rows of a whole x.
    fn rows_of_card(&self, _multiply: &Launch, _card: usize, _cards: usize) -> Option<Vec<Range<usize>>> {
        None
    }
}

/// The answers of [`Multiply`] that are those of a plan of generated kernels, in the field `plan`.
#[macro_export]
macro_rules! answers_of_plan {
    ($plan:ty) => {
        fn as_any(&self) -> &dyn std::any::Any {
            self
        }

        fn scalar(&self) -> eigenforge_templates::ScalarType {
            self.plan.scalar
        }

        fn plan_text(&self) -> String {
            let plan: &$plan = &self.plan;
            eigenforge_templates::ron(plan)
        }

        fn cost(&self) -> eigenforge_templates::Cost {
            self.plan.cost()
        }

        fn kernels(&self) -> Option<&dyn $crate::GeneratedKernels> {
            Some(self)
        }

        fn diagonal_text(&self) -> eigenforge_templates::ElementFunctionText {
            self.plan.diagonal_element()
        }
    };
}

/// The answers of [`GeneratedKernels`] that are those of its plan.
#[macro_export]
macro_rules! launches_of_plan {
    () => {
        fn text(&self) -> Result<eigenforge_templates::KernelText, eigenforge_templates::TextError> {
            self.plan.text()
        }

        fn launches(
            &self,
            _: &eigenforge_runtime::NamedTables,
        ) -> Result<Vec<eigenforge_templates::Launch>, eigenforge_templates::LaunchError> {
            self.plan.launches()
        }
    };
}
