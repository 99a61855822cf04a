//! Operators as text, the way they are written on paper: `-1 c†_0↑ c_1↑`.

use super::{Factor, Operator, Spin};
use std::fmt;

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arrow = |spin: &Spin| match spin {
            Spin::Up => "↑".to_string(),
            Spin::Down => "↓".to_string(),
            Spin::Flavour(number) => format!("[{number}]"),
        };
        match self {
            Factor::Create(spin, site) => write!(f, "c†_{site}{}", arrow(spin)),
            Factor::Annihilate(spin, site) => write!(f, "c_{site}{}", arrow(spin)),
            Factor::Raise(site) => write!(f, "S⁺_{site}"),
            Factor::Sz(site) => write!(f, "Sᶻ_{site}"),
            Factor::Lower(site) => write!(f, "S⁻_{site}"),
            Factor::CreateBoson(site) => write!(f, "b†_{site}"),
            Factor::AnnihilateBoson(site) => write!(f, "b_{site}"),
            Factor::ImaginaryUnit => f.write_str("i"),
        }
    }
}

/// A product in words; "1" for the identity.
pub fn product_text(product: &[Factor]) -> String {
    match product {
        [] => "1".into(),
        [factors @ .., Factor::ImaginaryUnit] if !factors.is_empty() => format!("i {}", product_text(factors)),
        factors => factors.iter().map(|factor| factor.to_string()).collect::<Vec<_>>().join(" "),
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (product, coefficient) in self.terms() {
            writeln!(f, "{coefficient:>+22.15}  {}", product_text(product))?;
        }
        Ok(())
    }
}
