//! The operator IR as data: everything that determines the generated text, in a form that can be stored, compared and
//! read back.
//!
//! In: an operator in a sector. Out: [`OperatorIr`], and from it RON for programs ([`OperatorIr::to_ron`]) or lines for
//! people (its `Display`). `Model::from_ir` is the reverse: the same terms in the same
//! sector give exactly the same plan and kernels.

use crate::basis::Sector;
use crate::operator::{Content, Factor, Operator, RecordedSum, SiteKind, Spin};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Version of the format; increases when the meaning of a field changes.
const SCHEMA: u32 = 1;

/// An operator in a sector, normal-ordered, with what is known of its origin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperatorIr {
    /// Schema version, 1.
    pub schema: u32,
    /// Name of the model, lattice and sector: letters, digits and underscores.
    pub name: String,
    /// Lattice sites, numbered from 0.
    pub sites: usize,
    /// Twice the spin of local moments; 1 for fermions, where it is unused.
    pub two_s: u32,
    /// What each site carries, if that was declared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<SiteKind>,
    /// Local states, (site, state), that no state has together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forbidden: Vec<Vec<(usize, u64)>>,
    /// The conserved numbers.
    pub sector: Sector,
    /// States of the sector; `u64::MAX` if there are more.
    pub dimension: u64,
    /// What the operator is made of.
    pub structure: StructureKind,
    /// The sums as written, each with file and line, the values of its indices and its parameters.
    pub sums: Vec<RecordedSum>,
    /// H = Σ coefficient · product, in a fixed order. Factors are ordered as in the formula, the leftmost first; no
    /// factor is the identity.
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

impl StructureKind {
    /// For a normal-ordered operator: a Kronecker sum if every term that moves a fermion has factors of one spin only.
    pub fn classify(operator: &Operator) -> StructureKind {
        let within_a_spin = |product: &[Factor]| {
            let moves = |factor: &Factor| match factor {
                Factor::Create(..) | Factor::Annihilate(..) => !product.contains(&factor.adjoint()),
                _ => true,
            };
            let has = |spin: Spin| {
                let of_it =
                    |factor: &Factor| matches!(factor, Factor::Create(s, _) | Factor::Annihilate(s, _) if *s == spin);
                product.iter().any(of_it)
            };
            !product.iter().any(moves) || has(Spin::Up) != has(Spin::Down)
        };
        match operator.content() {
            Content::Fermions if operator.terms().all(|(product, _)| within_a_spin(product)) => {
                StructureKind::KroneckerSum
            }
            _ => StructureKind::General,
        }
    }
}

/// Why a text is not an operator IR.
#[derive(Debug, thiserror::Error)]
pub enum IrError {
    /// Not RON, or not these fields.
    #[error("this is not an operator IR as written by `eigenforge inspect --stage ir-ron`: {0}")]
    Syntax(#[from] ron::error::SpannedError),
    /// An unsupported version.
    #[error(
        "an operator IR of schema {SCHEMA} was expected, but this one has schema {found}: write it again with `eigenforge inspect MODEL.toml --stage ir-ron`"
    )]
    Schema {
        /// The version in the text.
        found: u32,
    },
}

impl OperatorIr {
    /// An operator, normal-ordered already, in a sector of `dimension` states.
    pub fn new(
        name: &str,
        sites: usize,
        sector: Sector,
        dimension: u64,
        structure: StructureKind,
        operator: &Operator,
    ) -> OperatorIr {
        OperatorIr {
            schema: SCHEMA,
            name: name.into(),
            sites,
            two_s: operator.two_s(),
            kinds: operator.kinds().map_or_else(Vec::new, <[SiteKind]>::to_vec),
            forbidden: operator.forbidden().to_vec(),
            sector,
            dimension,
            structure,
            sums: operator.sums().to_vec(),
            terms: operator.terms().map(|(product, coefficient)| (coefficient, product.to_vec())).collect(),
        }
    }

    /// As RON, one term per line; numbers with enough digits to restore every bit.
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
    /// The text is not an IR, or has another schema.
    pub fn parse(text: &str) -> Result<OperatorIr, IrError> {
        let ir: OperatorIr = ron::from_str(text)?;
        if ir.schema != SCHEMA {
            return Err(IrError::Schema { found: ir.schema });
        }
        Ok(ir)
    }
}

impl fmt::Display for OperatorIr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OperatorIr { name, sites, sector, .. } = self;
        let dimension = match self.dimension {
            u64::MAX => "more than 2^64".into(),
            dimension => dimension.to_string(),
        };
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
