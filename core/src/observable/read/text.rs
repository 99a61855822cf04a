//! Text → its tree, and the filter on free sites behind it.

use super::{foreign, nesting};
use eigenforge_grammar::parse::{Node, Scope, SpinArgument, parse_condition, parse_expression};
use proc_macro2::{Span, TokenStream, TokenTree};
use std::collections::BTreeSet;
use std::str::FromStr;
use syn::visit::Visit;
use syn::{Error, Expr, Result};

/// What a text says.
#[derive(Debug)]
pub(super) struct Text {
    /// The operator.
    pub node: Node,
    /// The condition behind `if`: places where it fails are left out.
    pub filter: Option<Expr>,
}

/// Reads a text.
pub(super) fn parse(text: &str) -> Result<Text> {
    check_size(text)?;
    foreign::check_letters(text)?;
    let unread = |error: proc_macro2::LexError| {
        Error::new(error.span(), "expected brackets and quotes in pairs, found one without its other half")
    };
    let tokens: Vec<TokenTree> = TokenStream::from_str(text).map_err(unread)?.into_iter().collect();
    nesting::check(&tokens)?;
    foreign::check(&tokens)?;
    let filter = filter(&tokens);
    let (operator, condition) = tokens.split_at(filter.unwrap_or(tokens.len()));
    if operator.is_empty() {
        let message = "expected an operator, found nothing: write for example \"n(i, Up) * n(i, Down)\"";
        return Err(Error::new(Span::call_site(), message));
    }
    // c† and c of spinless fermions stand alone, because the sites are known.
    let scope = Scope { spinless: true, ..Scope::default() };
    let node = parse_expression(operator.iter().cloned().collect(), &scope)?;
    let condition = condition.split_first().map(|(_, condition)| condition.iter().cloned().collect());
    Ok(Text { node, filter: condition.map(|condition| parse_condition(condition, &scope)).transpose()? })
}

/// Where the `if` behind an operator stands: after an operand, where `if` of a number stands in front of one.
fn filter(tokens: &[TokenTree]) -> Option<usize> {
    let is_if = |token: &TokenTree| matches!(token, TokenTree::Ident(name) if name == "if");
    let behind_operand = |at: usize| match &tokens[..at] {
        [.., TokenTree::Ident(name)] => name != "else" && name != "in",
        [.., TokenTree::Group(_) | TokenTree::Literal(_)] => true,
        // `h.c.`
        [.., TokenTree::Ident(name), TokenTree::Punct(dot)] => name == "c" && dot.as_char() == '.',
        _ => false,
    };
    (1..tokens.len()).find(|at| is_if(&tokens[*at]) && behind_operand(*at))
}

/// Refuses what no one writes by hand.
fn check_size(text: &str) -> Result<()> {
    if text.len() <= MOST_BYTES {
        return Ok(());
    }
    let message =
        format!("expected a text of at most {MOST_BYTES} bytes, found {}: write it as a `sum(…)`", text.len());
    Err(Error::new(Span::call_site(), message))
}

/// Bytes of a text.
const MOST_BYTES: usize = 1 << 14;

/// The names that nothing in an expression binds.
pub(super) fn free_names(node: &Node) -> BTreeSet<String> {
    match node {
        Node::Coefficient(expr) => names_of(expr),
        Node::Factor(factor) => {
            let spin = match &factor.spin {
                Some(SpinArgument::Captured(expr) | SpinArgument::Flavour(expr)) => names_of(expr),
                _ => BTreeSet::new(),
            };
            factor.sites.iter().flat_map(names_of).chain(spin).collect()
        }
        Node::Sum { terms, .. } => terms.iter().flat_map(|term| free_names(&term.node)).collect(),
        Node::Product(nodes) => nodes.iter().flat_map(free_names).collect(),
        Node::Quotient(node, divisor) => free_names(node).into_iter().chain(names_of(divisor)).collect(),
        Node::Negative(node) => free_names(node),
        Node::Nested(_, sum) => {
            let (mut bound, mut free) = (BTreeSet::new(), BTreeSet::new());
            for domain in &sum.domains {
                free.extend(names_of(&domain.source).difference(&bound).cloned());
                bound.extend(domain.roles().into_iter().map(|(name, _)| name.to_string()));
                let filter = domain.filter.as_ref().map_or(BTreeSet::new(), names_of);
                free.extend(filter.difference(&bound).cloned());
            }
            free.extend(free_names(&sum.expression).difference(&bound).cloned());
            free
        }
    }
}

/// All names of an expression of numbers.
pub(super) fn names_of(expr: &Expr) -> BTreeSet<String> {
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
