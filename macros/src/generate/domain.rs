//! Domains → nested `for` loops, outermost first, each with its filter.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::Ident;
use syn::spanned::Spanned;

use super::expression::{rust, spin_path};
use crate::parse::{Domain, Loop, Role};

/// `body` once for each member of the domains. `sum`, the `Sum` that is being built, is told of weights left out.
pub fn loops(domains: &[Domain], sum: &Ident, body: TokenStream) -> TokenStream {
    let bond = Ident::new("bond", proc_macro2::Span::mixed_site());
    domains.iter().rev().fold(body, |body, domain| {
        let body = match domain.leaves_out_weight {
            true => quote!(#sum.weight_left_out(#bond.i, #bond.j, #bond.weight); #body),
            false => body,
        };
        let body = match &domain.filter {
            Some(filter) => {
                let filter = rust(filter);
                quote!(if #filter { #body })
            }
            None => body,
        };
        let source = rust(&domain.source);
        match &domain.variables {
            Loop::Index(name) => {
                // The type is stated so that a wrong iterator is reported where the user wrote it.
                let typed = quote_spanned!(source.span()=> let #name: usize = #name;);
                quote!(for #name in #source { #typed #body })
            }
            Loop::Spin(name, values) => {
                let values = values.iter().map(|spin| spin_path(*spin));
                quote!(for #name in [#(#values),*] { #body })
            }
            Loop::Bond(names) => {
                let number = Ident::new("number", proc_macro2::Span::mixed_site());
                let fields =
                    [quote!(#bond.i), quote!(#bond.j), quote!(#bond.weight), quote!(#bond.kind), quote!(#number)];
                let types = [quote!(usize), quote!(usize), quote!(f64), quote!(usize), quote!(usize)];
                let bound = names.iter().zip(fields).zip(types).filter_map(|((name, field), ty)| {
                    let name = name.as_ref()?;
                    Some(quote_spanned!(source.span()=> let #name: #ty = #field;))
                });
                let bound: TokenStream = bound.collect();
                let pair = quote_spanned!(source.span()=> ::eigenforge::lattice::Pair::bond(&#bond));
                let (numbers, counted) = match names.get(4) {
                    Some(Some(_)) => {
                        (quote!((#number, #bond)), quote!(::core::iter::IntoIterator::into_iter(#source).enumerate()))
                    }
                    _ => (quote!(#bond), quote!(#source)),
                };
                quote!(for #numbers in #counted { let #bond: ::eigenforge::lattice::Bond = #pair; #bound #body })
            }
        }
    })
}

/// The values of the loop variables as numbers, in order: what `Sum::push` takes.
pub fn values(domains: &[Domain]) -> Vec<TokenStream> {
    let value = |(name, role): (Ident, Role)| match role {
        Role::Weight => quote!(#name),
        Role::Spin(_) => quote!(#name.index() as f64),
        Role::Index | Role::BondKind => quote!(#name as f64),
    };
    domains.iter().flat_map(Domain::roles).map(value).collect()
}
