//! The kernels of a full-CI product: the parameters of each, how many elements it may access, and its launch.
//!
//! `multiply`, then `multiply_finish`, which adds the partial sums of x·y.

use super::FullCiPlan;
use crate::exact::AT_ONCE;
use crate::launch::{Access, Element, FINISH_THREADS, Launch, LaunchError, Parameter, multiply_finish};
use crate::prototype::Prototype;

impl FullCiPlan {
    /// `multiply` and `multiply_finish`, as in the text.
    pub(super) fn kernels(&self) -> [Prototype; 2] {
        let partials = u64::from(self.alpha_strings);
        let mut parameters = vec![
            Parameter::values("x", self.scalar, Access::In, self.rows),
            Parameter::values("y", self.scalar, Access::Out, self.rows),
            Parameter::memory("partials", Element::F64, Access::Out, partials),
        ];
        parameters.extend(self.tables());
        [Prototype::new("multiply", parameters), multiply_finish(1, partials, AT_ONCE as u64)]
    }

    /// The launches of one product, in order.
    pub fn launches(&self) -> Result<Vec<Launch>, LaunchError> {
        let [multiply, finish] = self.kernels();
        let multiply = multiply.launch(u64::from(self.alpha_strings), self.threads, self.shared_bytes())?;
        Ok(vec![multiply, finish.launch(1, FINISH_THREADS, 0)?])
    }

    /// The tables of the product as parameters, in order.
    pub fn tables(&self) -> Vec<Parameter> {
        let (strings, slices, counts) = (u64::from(self.alpha_strings), self.slices(), &self.counts);
        let warp = u64::from(self.warp.lanes());
        let table = Parameter::table;
        vec![
            table("row_start", Element::U64, strings),
            table("alpha_class", Element::U16, strings),
            table("move_start", Element::U64, strings * u64::from(self.irreps) + 1),
            table("move_target", Element::U32, counts.moves),
            table("move_pair", Element::U16, counts.moves),
            table("alpha_same_start", Element::U64, strings + 1),
            table("alpha_same_target", Element::U32, counts.alpha_same),
            table("alpha_same_value", Element::F64, counts.alpha_same),
            table("integrals", Element::F64, self.pairs() * self.pair_columns()),
            table("link_start", Element::U32, self.groups.len() as u64 * slices + 1),
            table("links", self.link.element(), warp * counts.link_steps),
            table("beta_same_start", Element::U32, slices + 1),
            table("beta_same_place", self.place.element(), warp * counts.beta_same_steps),
            table("beta_same_value", Element::F64, warp * counts.beta_same_steps),
        ]
    }
}
