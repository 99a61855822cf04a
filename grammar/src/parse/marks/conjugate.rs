//! `h.c.` → `h.c.__adjoint`, a field access.

use proc_macro2::{Ident, Punct, Spacing, TokenTree};
use syn::{Expr, Member};

/// The name that carries `h.c.` through Rust's parser.
const MARK: &str = "__adjoint";

/// Marks every `h.c.` of this level.
pub(super) fn mark(tokens: Vec<TokenTree>) -> Vec<TokenTree> {
    let ident = |at: usize, name: &str| matches!(tokens.get(at), Some(TokenTree::Ident(found)) if found == name);
    let dot = |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(found)) if found.as_char() == '.');
    let mut marked = Vec::with_capacity(tokens.len());
    for (at, token) in tokens.iter().enumerate() {
        marked.push(token.clone());
        let ends_here = at >= 3 && ident(at - 3, "h") && dot(at - 2) && ident(at - 1, "c") && dot(at);
        let goes_on = match tokens.get(at + 1) {
            Some(TokenTree::Ident(next)) => next != "if",
            Some(TokenTree::Literal(_)) => true,
            _ => false,
        };
        if ends_here && !goes_on {
            // The last dot must not be glued to what follows.
            let mut point = Punct::new('.', Spacing::Alone);
            point.set_span(token.span());
            marked.pop();
            marked.push(TokenTree::Punct(point));
            marked.push(TokenTree::Ident(Ident::new(MARK, token.span())));
        }
    }
    marked
}

/// Whether an addend is `h.c.`, as it leaves here.
pub(in crate::parse) fn is_conjugate(expr: &Expr) -> bool {
    matches!(expr, Expr::Field(field) if matches!(&field.member, Member::Named(name) if name == MARK))
}
