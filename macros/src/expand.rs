//! The whole way of one definition: parse → multiply out → translate and check → generate. All errors of a stage are
//! reported together; a later stage runs only on what an earlier one accepted.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, Result};

use crate::check::{self, product};
use crate::generate;
use crate::parse;

/// `#[gpu_operator(attribute)] item`.
pub fn gpu_operator(attribute: TokenStream, item: TokenStream) -> TokenStream {
    match definition(attribute, item.clone()) {
        Ok(expanded) => expanded,
        Err(errors) => {
            let errors = errors.to_compile_error();
            // With the signature kept, callers of the function are not reported as well.
            let rest = match syn::parse2::<syn::ItemFn>(item.clone()) {
                Ok(function) => generate::function::signature_only(function),
                Err(_) if syn::parse2::<syn::Item>(item.clone()).is_ok() => item,
                Err(_) => TokenStream::new(),
            };
            quote!(#errors #rest)
        }
    }
}

fn definition(attribute: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let promises = parse::parse_promises(attribute)?;
    let definition = parse::parse_definition(item)?;
    // Too many products: no coefficient texts, no symbolic checks; the numbers are checked when it runs.
    let products: Vec<_> =
        definition.sums.iter().map(|sum| product::expand(&sum.expression).unwrap_or_default()).collect();
    let mut errors: Option<Error> = None;
    let mut translations = Vec::new();
    for (sum, products) in definition.sums.iter().zip(&products) {
        match generate::sum::translate(sum, products) {
            Ok(translation) => translations.push(translation),
            Err(error) => parse::combine(&mut errors, error),
        }
    }
    if let Err(error) = check::check(&definition, &promises, &products) {
        parse::combine(&mut errors, error);
    }
    if let Some(errors) = errors {
        return Err(errors);
    }
    let content = check::content(&definition.sums);
    let sums = definition.sums.iter().zip(&translations);
    let sums = sums.map(|(sum, translation)| generate::sum::expand(sum, translation, content)).collect();
    Ok(generate::function::replace(definition.function, sums))
}
