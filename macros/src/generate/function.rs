//! The function with every `sum!` replaced; on errors, the errors and a function of the same signature, so that its
//! callers are not blamed as well.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::visit_mut::{self, VisitMut};
use syn::{Block, Expr, FnArg, Ident, ItemFn, Macro, Pat, ReturnType, Stmt, Type, parse_quote};

use crate::parse::{each_nested, is_sum};

/// Replaces the sums, in the order of the text.
pub fn replace(mut function: ItemFn, sums: Vec<Expr>) -> TokenStream {
    let mut replacement = Replacement { sums: sums.into_iter() };
    replacement.visit_block_mut(&mut function.block);
    // The operator learns how many sites there are, also where its last ones carry no term.
    let sites = match (parameter(&function, "Lattice"), parameter(&function, "Integrals")) {
        (Some(lattice), _) => Some(quote!(on_lattice(#lattice))),
        (None, Some(integrals)) => Some(quote!(on_sites(#integrals.orbitals))),
        (None, None) => None,
    };
    if let Some(sites) = sites {
        let (block, output) = (&function.block, &function.sig.output);
        *function.block = match output {
            ReturnType::Type(_, ty) if returns_result(ty) => parse_quote!({
                let operator: #ty = #block;
                operator.map(|operator| operator.#sites)
            }),
            _ => parse_quote!({
                let operator: ::eigenforge::operator::Operator = #block;
                operator.#sites
            }),
        };
    }
    function.into_token_stream()
}

/// Whether an `Operator` is returned in a `Result`.
fn returns_result(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|segment| segment.ident == "Result"))
}

/// The name of the first parameter that refers to a value of this type.
fn parameter(function: &ItemFn, wanted: &str) -> Option<Ident> {
    function.sig.inputs.iter().find_map(|input| {
        let FnArg::Typed(typed) = input else { return None };
        let (Pat::Ident(pattern), Type::Reference(reference)) = (&*typed.pat, &*typed.ty) else { return None };
        let Type::Path(path) = &*reference.elem else { return None };
        let found = path.path.segments.last().is_some_and(|segment| segment.ident == wanted);
        found.then(|| pattern.ident.clone())
    })
}

struct Replacement {
    sums: std::vec::IntoIter<Expr>,
}

impl VisitMut for Replacement {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        if let Expr::Macro(found) = expr
            && is_sum(&found.mac)
            && let Some(sum) = self.sums.next()
        {
            *expr = sum;
            return;
        }
        visit_mut::visit_expr_mut(self, expr);
    }

    fn visit_block_mut(&mut self, block: &mut Block) {
        for statement in &mut block.stmts {
            if let Stmt::Macro(found) = statement
                && is_sum(&found.mac)
                && let Some(sum) = self.sums.next()
            {
                *statement = Stmt::Expr(sum, found.semi_token);
                continue;
            }
            self.visit_stmt_mut(statement);
        }
    }

    fn visit_macro_mut(&mut self, mac: &mut Macro) {
        let tokens = std::mem::take(&mut mac.tokens);
        mac.tokens = each_nested(tokens, &mut |_| self.sums.next().into_token_stream());
    }
}

/// The same signature with a body that is never reached.
pub fn signature_only(mut function: ItemFn) -> TokenStream {
    function.attrs.retain(|attribute| attribute.path().is_ident("doc") || attribute.path().is_ident("cfg"));
    *function.block = parse_quote!({ ::core::unimplemented!() });
    quote!(#[allow(unused, dead_code)] #function)
}
