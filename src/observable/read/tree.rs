//! Text → a tree of sums, products and quotients of `sum(…)`s and expressions of the grammar.

use eigenforge_grammar::parse::expression::{self, flatten, is_conjugate, mark_conjugates};
use eigenforge_grammar::parse::sum::{self, is_sum};
use eigenforge_grammar::parse::{Node, Scope, Sum};
use proc_macro2::{Delimiter, Group, Punct, Spacing, TokenStream, TokenTree};
use quote::ToTokens;
use std::str::FromStr;
use syn::visit::{self, Visit};
use syn::{BinOp, Error, Expr, ExprMacro, Result, UnOp};

/// A part of the text.
#[derive(Debug)]
pub(super) enum Tree {
    /// `sum(DOMAINS; EXPR)`.
    Sum(Box<Sum>),
    /// An expression without `sum(…)`.
    Expression(Node),
    /// Addends, true where subtracted; and the signs of `h.c.` among them.
    Added(Vec<(bool, Tree)>, Vec<bool>),
    /// Factors.
    Product(Vec<Tree>),
    /// Something divided by a number.
    Quotient(Box<Tree>, Expr),
}

/// Reads a text.
pub(super) fn parse(text: &str) -> Result<Tree> {
    let tokens = TokenStream::from_str(text).map_err(|error| {
        Error::new(
            error.span(),
            "the text has a bracket or quote without its other half, or a character that no operator has",
        )
    })?;
    if tokens.is_empty() {
        let message = "expected an operator, found nothing: write for example \"n(i, Up) * n(i, Down)\"";
        return Err(Error::new(proc_macro2::Span::call_site(), message));
    }
    let expr: Expr = syn::parse2(mark_conjugates(marked_sums(tokens)))?;
    tree(&expr)
}

/// `sum(…)` with a `;` inside as the macro `sum!(…)`, which Rust's grammar accepts as an expression.
fn marked_sums(tokens: TokenStream) -> TokenStream {
    let mut marked: Vec<TokenTree> = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Group(group) if group.delimiter() != Delimiter::None => {
                let has_semicolon =
                    |token: TokenTree| matches!(token, TokenTree::Punct(point) if point.as_char() == ';');
                if group.stream().into_iter().any(has_semicolon)
                    && let Some(TokenTree::Ident(name)) = marked.last()
                    && *name == "sum"
                {
                    let mut bang = Punct::new('!', Spacing::Alone);
                    bang.set_span(name.span());
                    marked.push(TokenTree::Punct(bang));
                }
                let mut inner = Group::new(group.delimiter(), marked_sums(group.stream()));
                inner.set_span(group.span());
                marked.push(TokenTree::Group(inner));
            }
            token => marked.push(token),
        }
    }
    marked.into_iter().collect()
}

/// Whether a sum stands anywhere inside.
fn has_sum(expr: &Expr) -> bool {
    struct Finder(bool);
    impl<'a> Visit<'a> for Finder {
        fn visit_expr_macro(&mut self, found: &'a ExprMacro) {
            self.0 |= is_sum(&found.mac);
            visit::visit_expr_macro(self, found);
        }
    }
    let mut finder = Finder(false);
    finder.visit_expr(expr);
    finder.0
}

fn tree(expr: &Expr) -> Result<Tree> {
    if !has_sum(expr) {
        return expression::parse(expr.to_token_stream(), &Scope::default()).map(Tree::Expression);
    }
    match expr {
        Expr::Macro(found) => sum::parse(&found.mac, &Scope::default()).map(|sum| Tree::Sum(Box::new(sum))),
        Expr::Paren(paren) => tree(&paren.expr),
        Expr::Group(group) => tree(&group.expr),
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => {
            Ok(Tree::Added(vec![(true, tree(&unary.expr)?)], vec![]))
        }
        Expr::Binary(binary) => match binary.op {
            BinOp::Add(_) | BinOp::Sub(_) => {
                let (mut addends, mut terms, mut conjugates) = (Vec::new(), Vec::new(), Vec::new());
                flatten(expr, false, &mut addends);
                for (negative, addend) in addends {
                    match is_conjugate(addend) {
                        true => conjugates.push(negative),
                        false => terms.push((negative, tree(addend)?)),
                    }
                }
                Ok(Tree::Added(terms, conjugates))
            }
            BinOp::Mul(_) => Ok(Tree::Product(vec![tree(&binary.left)?, tree(&binary.right)?])),
            BinOp::Div(_) if !has_sum(&binary.right) => {
                Ok(Tree::Quotient(Box::new(tree(&binary.left)?), (*binary.right).clone()))
            }
            _ => Err(unsupported(expr)),
        },
        _ => Err(unsupported(expr)),
    }
}

fn unsupported(expr: &Expr) -> Error {
    Error::new_spanned(
        expr,
        "expected sums and products of operators (`+`, `-`, `*`, `/ number`, parentheses, `h.c.`, `sum(DOMAINS; EXPR)`), found \
         something else around a sum",
    )
}
