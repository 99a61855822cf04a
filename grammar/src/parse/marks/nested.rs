//! `sum(…)` and `prod(…)` with a `;` inside as macros, which Rust's grammar accepts as expressions.

use proc_macro2::{Punct, Spacing, TokenTree};
use syn::Macro;

/// Whether a token ends the domains of a sum.
pub(super) fn is_semicolon(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(point) if point.as_char() == ';')
}

/// Marks every sum and product of this level.
pub(super) fn mark(tokens: Vec<TokenTree>) -> Vec<TokenTree> {
    let mut marked: Vec<TokenTree> = Vec::with_capacity(tokens.len());
    for token in tokens {
        if let (TokenTree::Group(group), Some(TokenTree::Ident(name))) = (&token, marked.last())
            && (name == "sum" || name == "prod")
            && group.stream().into_iter().any(|token| is_semicolon(&token))
        {
            let mut bang = Punct::new('!', Spacing::Alone);
            bang.set_span(name.span());
            marked.push(TokenTree::Punct(bang));
        }
        marked.push(token);
    }
    marked
}

/// True for `prod(…)`.
pub(in crate::parse) fn is_product(mac: &Macro) -> bool {
    mac.path.segments.last().is_some_and(|segment| segment.ident == "prod")
}
