//! One `sum!` → a block that enumerates its terms and hands over the user's text with its CUDA translation.
//!
//! ```text
//! { let mut sum = Sum::new(SumSource { file, line, text, indices, cuda, coefficients });
//!   sum.parameter("t", &t);                         // each value that the CUDA text names
//!   for bond in lattice.bonds() { let i = bond.i; … sum.push(&[i as f64, …], <the operator>); }
//!   sum.finish() }
//! ```

use std::collections::HashSet;

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::{Error, Expr, Result, parse_quote};

use super::cuda::{Capture, Translator};
use super::text::{Precedence, Text, name};
use super::{domain, expression};
use crate::check::Content;
use crate::check::product::{Part, Product};
use crate::parse::{Kind, Role, Sum, combine, each_factor};

/// The translation of one sum to CUDA.
#[derive(Debug)]
pub struct Translation {
    /// The whole expression, when it is diagonal.
    pub cuda: Option<String>,
    /// The coefficient of each product.
    pub coefficients: Vec<String>,
    /// What these texts name.
    pub captures: Vec<Capture>,
    /// Values that each summand carries beside its indices.
    pub columns: Vec<Capture>,
}

/// Translates the coefficients of the products, and the whole expression when it is diagonal.
pub fn translate(sum: &Sum, products: &[Product]) -> Result<Translation> {
    let mut translator = Translator::new(&sum.scope);
    let (mut coefficients, mut errors) = (Vec::new(), None);
    for product in products {
        match coefficient(product, &mut translator) {
            Ok(text) => coefficients.push(text.text),
            Err(error) => combine(&mut errors, error),
        }
    }
    if let Some(error) = errors {
        return Err(first_of_each(error));
    }
    let cuda = match expression::is_diagonal(&sum.expression) {
        true => Some(expression::diagonal(&sum.expression, &mut translator)?.text),
        false => None,
    };
    Ok(Translation { cuda, coefficients, captures: translator.captures, columns: translator.columns })
}

/// Products share coefficients: each error once.
fn first_of_each(errors: Error) -> Error {
    let (mut kept, mut seen) = (None, Vec::new());
    for error in errors {
        let place = (format!("{:?}", error.span().start()), error.to_string());
        if !seen.contains(&place) {
            seen.push(place);
            combine(&mut kept, error);
        }
    }
    kept.unwrap_or_else(|| Error::new(Span::call_site(), "no CUDA translation"))
}

fn coefficient(product: &Product, translator: &mut Translator) -> Result<Text> {
    // The sign belongs to the first part: -v * w, as one writes it.
    let signed = |text: Text| if product.negative { Text::negative(&text) } else { text };
    let mut text: Option<Text> = None;
    for part in &product.parts {
        text = Some(match (text, part) {
            (None, Part::Times(value)) => signed(translator.expression(value)?),
            (Some(text), Part::Times(value)) => {
                Text::binary(&text, "*", &translator.expression(value)?, Precedence::Product, Kind::Float)
            }
            (text, Part::Over(value)) => {
                let text = text.unwrap_or_else(|| signed(Text::atom("1.0", Kind::Float)));
                Text::binary(&text, "/", &translator.expression(value)?, Precedence::Product, Kind::Float)
            }
        });
    }
    Ok(text.unwrap_or_else(|| signed(Text::atom("1.0", Kind::Float))))
}

/// Tells the sum at which sites its electrons and their spins are, where the definition has both.
fn notes(sum: &Sum, content: Content, result: &Ident) -> TokenStream {
    let (mut notes, mut seen) = (TokenStream::new(), HashSet::new());
    // The indices of a nested sum are not known where the notes stand.
    if !(content.electrons && content.spins) || expression::has_nested(&sum.expression) {
        return notes;
    }
    each_factor(&sum.expression, &mut |factor| {
        let sites: Vec<Expr> = factor.sites.iter().map(expression::rust).collect();
        let note = match (factor.operator.is_fermion(), sites.len()) {
            (true, _) => quote!(#(#result.electron_at(#sites);)*),
            (false, _) if !factor.operator.is_spin() => return,
            (false, 2) => quote!(#result.electron_sdots_at(#(#sites),*);),
            (false, _) => quote!(#(#result.electron_spin_at(#sites);)*),
        };
        if seen.insert(note.to_string()) {
            notes.extend(note);
        }
    });
    notes
}

/// The block that stands in for the `sum!`.
pub fn expand(sum: &Sum, translation: &Translation, content: Content) -> Expr {
    let result = Ident::new("sum", Span::mixed_site());
    let (text, line) = (&sum.text, u32::try_from(sum.line).unwrap_or(0));
    // `w: f64` for a bond's weight, the name alone for an integer.
    let indices = sum.scope.variables.iter().map(|(variable, role)| match role {
        Role::Weight => format!("{}: f64", name(&variable.to_string())),
        _ => name(&variable.to_string()),
    });
    let indices = indices.chain(translation.columns.iter().map(|column| format!("{}: f64", column.name)));
    let cuda = match &translation.cuda {
        Some(cuda) => quote!(::core::option::Option::Some(#cuda)),
        None => quote!(::core::option::Option::None),
    };
    let coefficients = &translation.coefficients;
    let parameters =
        translation.captures.iter().map(|Capture { name, value }| quote!(#result.parameter(#name, &#value);));
    let columns = translation.columns.iter().map(|column| column.value.clone());
    let values = domain::values(&sum.domains).into_iter().chain(columns);
    let operator = expression::operator(&sum.expression, content.electrons);
    let notes = notes(sum, content, &result);
    let summand = Ident::new("summand", Span::mixed_site());
    let body = quote!(#notes let #summand = #operator; #result.push(&[#(#values),*], #summand););
    let loops: TokenStream = domain::loops(&sum.domains, &result, body);
    let square = match expression::square(&sum.expression).filter(|_| !content.electrons) {
        Some(square) => quote!(::core::option::Option::Some(#square)),
        None => quote!(::core::option::Option::None),
    };
    parse_quote!(({
        let mut #result = ::eigenforge::operator::Sum::new(::eigenforge::operator::SumSource {
            file: ::core::file!(),
            line: #line,
            text: #text,
            indices: &[#(#indices),*],
            cuda: #cuda,
            coefficients: &[#(#coefficients),*],
            square: #square,
        });
        #(#parameters)*
        #loops
        #result.finish()
    }))
}
