//! The kernels of a full-CI product: the parameters of each, how many elements it may access, and its launch.
//!
//! `multiply`, then `multiply_finish`, which adds the partial sums of x·y; and once, after the tables are made,
//! `diagonal_of_all`.

use super::FullCiPlan;
use crate::launch::{Access, Element, FINISH_THREADS, Launch, LaunchError, Parameter, multiply_finish};
use crate::prototype::Prototype;

/// Threads of a block of the diagonal.
pub(super) const DIAGONAL_THREADS: u32 = 128;

/// The kernel that writes all ⟨I K|H|I K⟩, with β strings in so many lanes of slices.
pub(super) fn diagonal_kernel(rows: u64, alpha_strings: u32, up: u32, orbitals: u32, slots: u64) -> Prototype {
    let (table, strings) = (Parameter::table, u64::from(alpha_strings));
    let parameters = vec![
        Parameter::memory("diagonal_out", Element::F64, Access::Out, rows),
        table("row_start", Element::U64, strings),
        table("alpha_class", Element::U16, strings),
        table("alpha_energy", Element::F64, strings),
        table("alpha_orbital", Element::U16, strings * u64::from(up)),
        table("beta_energy", Element::F64, slots),
        table("felt", Element::F64, u64::from(orbitals) * slots),
    ];
    Prototype::new("diagonal_of_all", parameters)
}

impl FullCiPlan {
    /// `multiply`, `multiply_finish` and `diagonal_of_all`, as in the text.
    pub(super) fn kernels(&self) -> [Prototype; 3] {
        let partials = u64::from(self.alpha_strings);
        let mut parameters = vec![
            Parameter::values("x", self.scalar, Access::In, self.rows),
            Parameter::values("y", self.scalar, Access::Out, self.rows),
            Parameter::memory("partials", Element::F64, Access::Out, partials),
        ];
        parameters.extend(self.tables());
        let slots = u64::from(self.warp.lanes()) * self.slices();
        [
            Prototype::new("multiply", parameters),
            multiply_finish(1, partials, 1),
            diagonal_kernel(self.rows, self.alpha_strings, self.up, self.orbitals, slots),
        ]
    }

    /// The launches of one product, in order.
    pub fn launches(&self) -> Result<Vec<Launch>, LaunchError> {
        let [multiply, finish, _] = self.kernels();
        let multiply = multiply.launch(u64::from(self.alpha_strings), self.threads, self.shared_bytes())?;
        Ok(vec![multiply, finish.launch(1, FINISH_THREADS, 0)?])
    }

    /// The launch that writes all ⟨I K|H|I K⟩.
    pub fn diagonal_launch(&self) -> Result<Launch, LaunchError> {
        let [.., diagonal] = self.kernels();
        diagonal.launch(u64::from(self.alpha_strings), DIAGONAL_THREADS, 0)
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
