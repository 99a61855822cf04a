//! The diagonal of full CI as a function of the index, for vector programs: it is never stored.

use super::{FullCiPlan, RowsPlan, SlabPlan};
use crate::files;
use crate::launch::{Element, Parameter};
use crate::prototype::declared;
use crate::text::{ElementFunctionText, part};
use serde::Serialize;

/// The strings whose ⟨I K|H|I K⟩ are wanted: rows of α strings one after the other, each with the β strings of its class.
#[derive(Serialize)]
struct FullCiDiagonal {
    alpha_strings: u32,
    /// β strings of all classes.
    beta_strings: u64,
    /// Classes of β strings.
    classes: u32,
    /// α electrons.
    up: u32,
    orbitals: u32,
}

impl FullCiDiagonal {
    /// `diagonal(i, row_start, alpha_class, class_first, alpha_energy, alpha_orbital, beta_energy, felt)`.
    fn text(&self) -> ElementFunctionText {
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

impl FullCiPlan {
    /// Its diagonal as a function of the index.
    pub fn diagonal_element(&self) -> ElementFunctionText {
        let FullCiPlan { alpha_strings, up, orbitals, .. } = *self;
        element(alpha_strings, &self.classes, up, orbitals)
    }
}

impl SlabPlan {
    /// Its diagonal as a function of the index.
    pub fn diagonal_element(&self) -> ElementFunctionText {
        let SlabPlan { alpha_strings, up, orbitals, .. } = *self;
        element(alpha_strings, &self.classes, up, orbitals)
    }
}

impl RowsPlan {
    /// Its diagonal, a table.
    pub fn diagonal_element(&self) -> ElementFunctionText {
        ElementFunctionText::stored_diagonal(self.vector())
    }
}

fn element(alpha_strings: u32, classes: &[u32], up: u32, orbitals: u32) -> ElementFunctionText {
    let beta_strings = classes.iter().map(|strings| u64::from(*strings)).sum();
    FullCiDiagonal { alpha_strings, beta_strings, classes: classes.len() as u32, up, orbitals }.text()
}
