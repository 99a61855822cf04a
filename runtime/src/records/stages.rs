//! y = H x as two stages of records.

use super::{Buffers, OperandSpace, RecordStage, run};

/// Two stages, of which the second reads what the first writes.
#[derive(Clone, Debug, PartialEq)]
pub struct TwoStages {
    /// Intermediates.
    pub first: RecordStage,
    /// The product.
    pub second: RecordStage,
}

impl TwoStages {
    /// y = H x on the CPU; `between` is scratch.
    pub fn multiply(&self, buffers: Buffers<'_>, x: &[f64], between: &mut Vec<f64>, y: &mut [f64]) {
        let buffers = buffers.set(OperandSpace::Input, x);
        between.resize(self.first.length, 0.0);
        run(&self.first, buffers, between);
        run(&self.second, buffers.set(OperandSpace::Between, between), y);
    }

    /// Floating-point operations of a product.
    pub fn flops(&self) -> f64 {
        self.first.flops() + self.second.flops()
    }
}
