//! Text → a tree of sums, products and quotients of `sum(…)`s and expressions of the grammar.

use eigenforge_grammar::parse::{
    Node, Scope, SpinArgument, Sum, flatten, is_conjugate, is_sum, mark_conjugates, parse_expression, parse_sum,
};
use proc_macro2::{Delimiter, Group, Punct, Spacing, TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::BTreeSet;
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
    check_size(text)?;
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
    let expr: Expr = syn::parse2(mark_conjugates(marked_sums(tokens, false)?))?;
    tree(&expr)
}

/// Refuses what no one writes by hand and what would take more stack than there is.
fn check_size(text: &str) -> Result<()> {
    let (mut depth, mut deepest) = (0usize, 0);
    for letter in text.chars() {
        match letter {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    let wrong = |message: String| Err(Error::new(proc_macro2::Span::call_site(), message));
    if text.len() > MOST_BYTES {
        return wrong(format!(
            "expected a text of at most {MOST_BYTES} bytes, found {}: write it as a `sum(…)`",
            text.len()
        ));
    }
    if deepest > MOST_BRACKETS {
        return wrong(format!("expected at most {MOST_BRACKETS} brackets inside each other, found {deepest}"));
    }
    Ok(())
}

/// Bytes of a text, and brackets inside each other.
const MOST_BYTES: usize = 1 << 14;
const MOST_BRACKETS: usize = 64;

/// `sum(…)` with a `;` inside as the macro `sum!(…)`, which Rust's grammar accepts as an expression.
fn marked_sums(tokens: TokenStream, in_sum: bool) -> Result<TokenStream> {
    let mut marked: Vec<TokenTree> = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Group(group) if group.delimiter() != Delimiter::None => {
                let has_semicolon =
                    |token: TokenTree| matches!(token, TokenTree::Punct(point) if point.as_char() == ';');
                let name = match &marked[..] {
                    [.., TokenTree::Ident(name), TokenTree::Punct(bang)] if bang.as_char() == '!' => Some(name),
                    [.., TokenTree::Ident(name)] => Some(name),
                    _ => None,
                };
                let sum = name.filter(|name| **name == "sum").map(|name| name.span());
                let sum = sum.filter(|_| group.stream().into_iter().any(has_semicolon));
                if let Some(span) = sum {
                    if in_sum {
                        let message = "a sum inside a sum: write all domains in one, as in `sum(i in sites, j in sites; sz(i) * sz(j))`";
                        return Err(Error::new(span, message));
                    }
                    if matches!(marked.last(), Some(TokenTree::Ident(_))) {
                        let mut bang = Punct::new('!', Spacing::Alone);
                        bang.set_span(span);
                        marked.push(TokenTree::Punct(bang));
                    }
                }
                let mut inner = Group::new(group.delimiter(), marked_sums(group.stream(), in_sum || sum.is_some())?);
                inner.set_span(group.span());
                marked.push(TokenTree::Group(inner));
            }
            token => marked.push(token),
        }
    }
    Ok(marked.into_iter().collect())
}

/// The names that nothing in the text binds.
pub(super) fn free_names(tree: &Tree) -> BTreeSet<String> {
    match tree {
        Tree::Expression(node) => names_of_node(node),
        Tree::Added(terms, _) => terms.iter().flat_map(|(_, tree)| free_names(tree)).collect(),
        Tree::Product(trees) => trees.iter().flat_map(free_names).collect(),
        Tree::Quotient(tree, divisor) => free_names(tree).into_iter().chain(names_of(divisor)).collect(),
        Tree::Sum(sum) => {
            let (mut bound, mut free) = (BTreeSet::new(), BTreeSet::new());
            for domain in &sum.domains {
                free.extend(names_of(&domain.source).difference(&bound).cloned());
                bound.extend(domain.roles().into_iter().map(|(name, _)| name.to_string()));
                let filter = domain.filter.as_ref().map_or(BTreeSet::new(), names_of);
                free.extend(filter.difference(&bound).cloned());
            }
            free.extend(names_of_node(&sum.expression).difference(&bound).cloned());
            free
        }
    }
}

fn names_of_node(node: &Node) -> BTreeSet<String> {
    match node {
        Node::Coefficient(expr) => names_of(expr),
        Node::Factor(factor) => {
            let spin = match &factor.spin {
                Some(SpinArgument::Captured(expr) | SpinArgument::Flavour(expr)) => names_of(expr),
                _ => BTreeSet::new(),
            };
            factor.sites.iter().flat_map(names_of).chain(spin).collect()
        }
        Node::Sum { terms, .. } => terms.iter().flat_map(|term| names_of_node(&term.node)).collect(),
        Node::Product(nodes) => nodes.iter().flat_map(names_of_node).collect(),
        Node::Quotient(node, divisor) => names_of_node(node).into_iter().chain(names_of(divisor)).collect(),
        Node::Negative(node) => names_of_node(node),
    }
}

/// All names of an expression of numbers.
fn names_of(expr: &Expr) -> BTreeSet<String> {
    #[derive(Default)]
    struct Names(BTreeSet<String>);
    impl<'a> Visit<'a> for Names {
        fn visit_expr_path(&mut self, path: &'a syn::ExprPath) {
            self.0.extend(path.path.get_ident().map(ToString::to_string));
        }
    }
    let mut names = Names::default();
    names.visit_expr(expr);
    names.0
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

/// What a text may say beyond a macro: c† and c of spinless fermions, because the sites are known.
fn scope() -> Scope {
    Scope { spinless: true, ..Scope::default() }
}

fn tree(expr: &Expr) -> Result<Tree> {
    if !has_sum(expr) {
        return parse_expression(expr.to_token_stream(), &scope()).map(Tree::Expression);
    }
    match expr {
        Expr::Macro(found) => parse_sum(&found.mac, &scope()).map(|sum| Tree::Sum(Box::new(sum))),
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
