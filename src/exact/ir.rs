//! The operator IR as data: everything that decides the generated text, in a form that is kept, compared and read back.
//!
//! In: a [`Model`]. Out: [`OperatorIr`], and from it RON for programs ([`OperatorIr::to_ron`]) or lines for people (its
//! `Display`). [`OperatorIr::to_model`] goes the other way: the same terms in the same sector give the same plan and the
//! same kernels, to the letter.

use super::Model;
use crate::basis::Sector;
use crate::operator::{Factor, Operator, OperatorError, RecordedSum};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Grows when the meaning of a field changes.
const SCHEMA: u32 = 1;

/// An operator in a sector, normal-ordered, with what is known of where it came from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperatorIr {
    /// 1.
    pub schema: u32,
    /// Name of the model, lattice and sector: letters, digits and underscores.
    pub name: String,
    /// Lattice sites, numbered from 0.
    pub sites: usize,
    /// Twice the spin of local moments; 1 for fermions, where it means nothing.
    pub two_s: u32,
    /// The conserved numbers.
    pub sector: Sector,
    /// States of the sector.
    pub dimension: u64,
    /// What the operator is made of.
    pub structure: StructureKind,
    /// The sums as written, each with file and line, the values of its indices and its parameters.
    pub sums: Vec<RecordedSum>,
    /// H = Σ coefficient · product, in a fixed order. Factors stand as in the formula, the leftmost first; no factor is
    /// the identity.
    pub terms: Vec<(f64, Vec<Factor>)>,
}

/// How the off-diagonal terms split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StructureKind {
    /// H = D + I ⊗ A↑ + A↓ ⊗ I: every hop stays within one spin species.
    KroneckerSum,
    /// Terms by the bits that they flip.
    General,
}

/// Why a text is no operator IR.
#[derive(Debug, thiserror::Error)]
pub enum IrError {
    /// Not RON, or not these fields.
    #[error("not an operator IR as `eigenforge inspect --stage ir-ron` writes it: {0}")]
    Syntax(#[from] ron::error::SpannedError),
    /// Of another version.
    #[error(
        "an operator IR of schema {SCHEMA} was expected and one of schema {found} found: write it anew with `eigenforge inspect MODEL.toml --stage ir-ron`"
    )]
    Schema {
        /// The schema it states.
        found: u32,
    },
}

impl OperatorIr {
    /// Of a model.
    pub fn of(model: &Model) -> OperatorIr {
        let operator = model.operator();
        OperatorIr {
            schema: SCHEMA,
            name: model.name().into(),
            sites: model.sites(),
            two_s: operator.two_s(),
            sector: model.sector(),
            dimension: model.dimension(),
            structure: if model.is_kronecker() { StructureKind::KroneckerSum } else { StructureKind::General },
            sums: operator.sums().to_vec(),
            terms: operator.terms().map(|(product, coefficient)| (coefficient, product.to_vec())).collect(),
        }
    }

    /// As RON, one term a line; numbers in as many digits as bring back every bit.
    pub fn to_ron(&self) -> String {
        let pretty = |depth: usize| ron::ser::PrettyConfig::default().depth_limit(depth);
        let whole = "an operator is plain data";
        let empty = OperatorIr { terms: Vec::new(), ..self.clone() };
        let head = ron::ser::to_string_pretty(&empty, pretty(3)).expect(whole);
        let line = |term| format!("        {},\n", ron::ser::to_string_pretty(term, pretty(0)).expect(whole));
        let terms: String = self.terms.iter().map(line).collect();
        format!("{}terms: [\n{terms}    ],\n)\n", head.trim_end_matches("terms: [],\n)"))
    }

    /// Reads RON.
    ///
    /// # Errors
    /// Where the text is no IR, or one of another schema.
    pub fn parse(text: &str) -> Result<OperatorIr, IrError> {
        let ir: OperatorIr = ron::from_str(text)?;
        if ir.schema != SCHEMA {
            return Err(IrError::Schema { found: ir.schema });
        }
        Ok(ir)
    }

    /// The model again. Name, terms and sums are the IR's; dimension and structure are found anew.
    ///
    /// # Errors
    /// As for any operator: not Hermitian, not conserving, an empty sector.
    pub fn to_model(&self) -> Result<Model, OperatorError> {
        let operator = Operator::recorded(&self.terms, self.two_s, self.sites, self.sums.clone());
        Ok(Model::new(operator, self.sector)?.named(&self.name))
    }
}

impl fmt::Display for OperatorIr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OperatorIr { name, sites, sector, dimension, .. } = self;
        writeln!(f, "{name}: {sites} sites, {sector}, {dimension} states")?;
        for sum in &self.sums {
            writeln!(f, "{}:{}  {}", sum.file, sum.line, sum.text)?;
            if !sum.coefficients.is_empty() {
                writeln!(f, "    coefficients in CUDA: {}", sum.coefficients.join("; "))?;
            }
            if let Some(cuda) = &sum.cuda {
                writeln!(f, "    diagonal in CUDA: {cuda}")?;
            }
        }
        let structure = match self.structure {
            StructureKind::KroneckerSum => "Kronecker sum: H = D + 1 (x) A_up + A_dn (x) 1",
            StructureKind::General => "general: terms by flip mask, ranks by Lin's tables",
        };
        writeln!(f, "structure: {structure}")?;
        writeln!(f, "{} normal-ordered terms, up left of down, sites ascending:", self.terms.len())?;
        let operator = Operator::recorded(&self.terms, self.two_s, self.sites, Vec::new());
        write!(f, "{operator}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::basis::{Down, Up};
    use crate::input::ModelFile;
    use crate::lattice::Lattice;
    use crate::models;

    fn there_and_back(model: &Model) {
        let ir = OperatorIr::of(model);
        let read = OperatorIr::parse(&ir.to_ron()).unwrap();
        assert_eq!(read, ir, "{}", model.name());
        let again = read.to_model().unwrap();
        assert_eq!(again.operator(), model.operator());
        assert_eq!(OperatorIr::of(&again), ir);
        let text = |model: &Model| model.generated().unwrap().remove(0).text;
        assert_eq!(text(&again), text(model), "{}: not the same kernel", model.name());
    }

    #[test]
    fn an_operator_comes_back_with_its_kernel() {
        // Coefficients without a short decimal form, negative zero left out by the sums, expressions in the user's words.
        let ring = Lattice::chain(5).periodic();
        let (t, u, e) = ([1.0 / 3.0; 5], [std::f64::consts::PI; 5], [0.1, -0.2, 1e-17, 1e300, 0.0]);
        let hubbard = models::hubbard(&ring, &t, &u, &e, 0.7, &[0.25; 5]).sector(Up(2), Down(3)).unwrap();
        there_and_back(&hubbard.named("ring"));
        let spins = models::xxz(&ring, &[1.0; 5], &[0.3; 5], &[0.1; 5], &[0.9; 5]).spin(2).two_sz(0).unwrap();
        there_and_back(&spins);
        let file = "[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\n[lattice]\nkind = \"chain\"\nsize = 4\nboundary = \"open\"\n\
                    [sector]\ntwo_sz = 0\n";
        there_and_back(&ModelFile::parse("chain.toml", file).unwrap().to_model().unwrap());
    }

    #[test]
    fn what_is_no_ir_is_refused_with_what_was_expected() {
        let ring = Lattice::chain(4).periodic();
        let model = models::xxz(&ring, &[1.0; 4], &[1.0; 4], &[0.0; 4], &[0.0; 4]).two_sz(0).unwrap();
        let ron = OperatorIr::of(&model).to_ron();
        let message = |text: &str| OperatorIr::parse(text).unwrap_err().to_string();
        assert!(message("").contains("--stage ir-ron"));
        assert!(
            message(&ron.replace("schema: 1", "schema: 2")).contains("schema 1 was expected and one of schema 2 found")
        );
        assert!(message(&ron.replace("two_s:", "three_s:")).contains("three_s"));
    }
}
