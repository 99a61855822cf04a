//! The diagonal of full CI as a function of the index, for vector programs: it is never stored.

use crate::files;
use crate::launch::{Element, Parameter};
use crate::prototype::declared;
use crate::text::{ElementFunctionText, part};
use serde::Serialize;

/// The strings whose ⟨I K|H|I K⟩ are wanted: rows of α strings one after the other, each with the β strings of its class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FullCiDiagonal {
    /// α strings.
    pub alpha_strings: u32,
    /// β strings of all classes.
    pub beta_strings: u64,
    /// Classes of β strings.
    pub classes: u32,
    /// α electrons.
    pub up: u32,
    /// Orbitals.
    pub orbitals: u32,
}

impl FullCiDiagonal {
    /// `diagonal(i, row_start, alpha_class, class_first, alpha_energy, alpha_orbital, beta_energy, felt)`.
    pub fn text(&self) -> ElementFunctionText {
        #[derive(Serialize)]
        struct View<'a> {
            plan: &'a FullCiDiagonal,
            parameters: String,
        }
        let (table, strings) = (Parameter::table, u64::from(self.alpha_strings));
        let parameters = vec![
            table("row_start", Element::U64, strings),
            table("alpha_class", Element::U16, strings),
            table("class_first", Element::U32, u64::from(self.classes)),
            table("alpha_energy", Element::F64, strings),
            table("alpha_orbital", Element::U16, strings * u64::from(self.up)),
            table("beta_energy", Element::F64, self.beta_strings),
            table("felt", Element::F64, u64::from(self.orbitals) * self.beta_strings),
        ];
        let indent = "__device__ __forceinline__ double determinant_energy(".len();
        let declared = format!("i64 i, {}", declared(&parameters, indent));
        let head = part(files::FULL_CI_DIAGONAL, &View { plan: self, parameters: declared });
        let names: Vec<&str> = parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        let value = format!("determinant_energy(i, {})", names.join(", "));
        ElementFunctionText::new(&head, "double", "diagonal", parameters, &value)
    }
}
