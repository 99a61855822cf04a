//! The attribute's own arguments: `#[gpu_operator]`, `#[gpu_operator(conserves(Up, Down))]`, `conserves(N)`,
//! `conserves(Sz)`, and `non_hermitian` for a definition that is not meant to be Hermitian by itself.

use proc_macro2::TokenStream;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Error, Ident, Result, Token, parenthesized};

use crate::vocabulary;

/// A charge that every term must leave as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charge {
    /// Number of up electrons.
    Up,
    /// Number of down electrons.
    Down,
    /// Number of electrons.
    N,
    /// 2Sz.
    Sz,
}

impl Charge {
    /// Its name in the attribute.
    pub fn name(self) -> &'static str {
        match self {
            Charge::Up => "Up",
            Charge::Down => "Down",
            Charge::N => "N",
            Charge::Sz => "Sz",
        }
    }
}

/// What the attribute declares of the operator.
#[derive(Clone, Debug, Default)]
pub struct Promises {
    /// Charges kept by every term, each with the place where it was declared.
    pub conserves: Vec<(Charge, Ident)>,
    /// The definition is not meant to be Hermitian by itself.
    pub non_hermitian: bool,
}

enum Argument {
    Conserves(Vec<(Charge, Ident)>),
    NonHermitian,
}

impl Parse for Argument {
    fn parse(input: ParseStream) -> Result<Argument> {
        let name: Ident = input.parse()?;
        match name.to_string().as_str() {
            "conserves" => {
                if !input.peek(syn::token::Paren) {
                    return Err(Error::new_spanned(
                        &name,
                        "expected the conserved charges in parentheses, found none: write `conserves(Up, Down)`, `conserves(N)` or `conserves(Sz)`",
                    ));
                }
                let content;
                parenthesized!(content in input);
                let names = Punctuated::<Ident, Token![,]>::parse_terminated(&content)?;
                if names.is_empty() {
                    return Err(Error::new_spanned(
                        &name,
                        "expected at least one conserved charge, found none: write `conserves(Up, Down)`, `conserves(N)` or `conserves(Sz)`",
                    ));
                }
                names.into_iter().map(charge).collect::<Result<_>>().map(Argument::Conserves)
            }
            "non_hermitian" => Ok(Argument::NonHermitian),
            other => {
                let meant = vocabulary::nearest(other, &["conserves", "non_hermitian"]);
                Err(Error::new_spanned(
                    &name,
                    format!(
                        "unknown argument `{other}` of #[gpu_operator]: expected `conserves(..)` or `non_hermitian`; did you mean `{meant}`?"
                    ),
                ))
            }
        }
    }
}

fn charge(name: Ident) -> Result<(Charge, Ident)> {
    let all = [Charge::Up, Charge::Down, Charge::N, Charge::Sz];
    match all.iter().find(|charge| name == charge.name()) {
        Some(charge) => Ok((*charge, name)),
        None => {
            let meant = vocabulary::nearest(&name.to_string(), &all.map(Charge::name));
            Err(Error::new_spanned(
                &name,
                format!("unknown charge `{name}`: expected Up, Down, N or Sz; did you mean `{meant}`?"),
            ))
        }
    }
}

/// Reads the attribute's arguments.
pub fn parse_promises(tokens: TokenStream) -> Result<Promises> {
    let mut promises = Promises::default();
    for argument in Punctuated::<Argument, Token![,]>::parse_terminated.parse2(tokens)? {
        match argument {
            Argument::Conserves(charges) => promises.conserves.extend(charges),
            Argument::NonHermitian => promises.non_hermitian = true,
        }
    }
    Ok(promises)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::quote;

    #[test]
    fn promises_are_read() {
        let promises = parse_promises(quote!(conserves(Up, Down), non_hermitian)).unwrap();
        assert_eq!(promises.conserves.iter().map(|c| c.0).collect::<Vec<_>>(), [Charge::Up, Charge::Down]);
        assert!(promises.non_hermitian);
        assert!(parse_promises(quote!()).unwrap().conserves.is_empty());
    }

    #[test]
    fn a_wrong_promise_names_the_nearest_one() {
        assert!(parse_promises(quote!(conserve(Up))).unwrap_err().to_string().contains("did you mean `conserves`"));
        assert!(parse_promises(quote!(conserves(up))).unwrap_err().to_string().contains("did you mean `Up`"));
        assert!(parse_promises(quote!(conserves)).unwrap_err().to_string().contains("in parentheses"));
        assert!(parse_promises(quote!(conserves())).unwrap_err().to_string().contains("at least one"));
    }
}
