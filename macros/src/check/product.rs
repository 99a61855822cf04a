//! A tree multiplied out: the products of operators it stands for, each with its coefficient's parts.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Error, Expr};

use crate::parse::{Factor, Node, SpinArgument};

/// More products than this are not multiplied out: such a sum has no coefficient texts and is checked at run time only.
pub const MOST_PRODUCTS: usize = 1024;

/// A part of a coefficient.
#[derive(Clone, Copy, Debug)]
pub enum Part<'n> {
    /// Multiplied.
    Times(&'n Expr),
    /// Divided by.
    Over(&'n Expr),
}

/// One product of operators.
#[derive(Clone, Debug, Default)]
pub struct Product<'n> {
    /// Whether it is subtracted.
    pub negative: bool,
    /// Its coefficient, left to right.
    pub parts: Vec<Part<'n>>,
    /// Its operators, left to right; true for the adjoint of what is written.
    pub factors: Vec<(&'n Factor, bool)>,
}

impl<'n> Product<'n> {
    fn times(&self, other: &Product<'n>) -> Product<'n> {
        Product {
            negative: self.negative != other.negative,
            parts: self.parts.iter().chain(&other.parts).copied().collect(),
            factors: self.factors.iter().chain(&other.factors).copied().collect(),
        }
    }

    fn adjoint(&self) -> Product<'n> {
        Product { factors: self.factors.iter().rev().map(|(factor, bar)| (*factor, !bar)).collect(), ..self.clone() }
    }

    fn signed(mut self, negative: bool) -> Product<'n> {
        self.negative ^= negative;
        self
    }

    /// Whether an `h.c.` made it.
    pub fn is_adjoint(&self) -> bool {
        self.factors.iter().any(|(_, bar)| *bar)
    }

    /// An error at the product, from its first to its last operator in the text.
    pub fn error(&self, message: String) -> Error {
        let place = |factor: &&Factor| {
            let start = factor.call.func.to_token_stream().into_iter().next().map(|token| token.span().start());
            start.map(|start| (start.line, start.column))
        };
        let mut calls: Vec<&Factor> = self.factors.iter().map(|(factor, _)| *factor).collect();
        calls.sort_by_key(place);
        let mut tokens = TokenStream::new();
        if let (Some(first), Some(last)) = (calls.first(), calls.last()) {
            first.call.to_tokens(&mut tokens);
            last.call.to_tokens(&mut tokens);
        }
        Error::new_spanned(tokens, message)
    }

    /// The operators as text, `cdag(i, s) * c(j, s)`.
    pub fn text(&self) -> String {
        self.factors.iter().map(|(factor, bar)| factor_text(factor, *bar)).collect::<Vec<_>>().join(" * ")
    }

    /// The operators of its Hermitian conjugate as text.
    pub fn conjugate_text(&self) -> String {
        self.adjoint().text()
    }
}

fn factor_text(factor: &Factor, bar: bool) -> String {
    let operator = if bar { factor.operator.adjoint() } else { factor.operator };
    let mut arguments: Vec<String> = factor.sites.iter().map(|site| neat(&site.to_token_stream())).collect();
    arguments.extend(factor.spin.as_ref().map(|spin| match spin {
        SpinArgument::Literal(spin) => spin.name().to_string(),
        SpinArgument::Variable(name) => name.to_string(),
        SpinArgument::Captured(expr) => neat(&expr.to_token_stream()),
        SpinArgument::Flavour(number) => format!("Flavour({})", neat(&number.to_token_stream())),
    }));
    match arguments.is_empty() {
        true => operator.name().to_string(),
        false => format!("{}({})", operator.name(), arguments.join(", ")),
    }
}

/// Tokens as text without the spaces that tokens print around punctuation.
pub fn neat(tokens: &TokenStream) -> String {
    let text = tokens.to_string();
    let pairs =
        [(" (", "("), ("( ", "("), (" )", ")"), (" [", "["), ("[ ", "["), (" ]", "]"), (" . ", "."), (" ,", ",")];
    pairs.iter().fold(text, |text, (from, to)| text.replace(from, to))
}

/// Multiplies out; `None` when there would be more than [`MOST_PRODUCTS`], or as many as a nested sum says when it runs.
pub fn expand(node: &Node) -> Option<Vec<Product<'_>>> {
    let products = match node {
        Node::Coefficient(value) => vec![Product { parts: vec![Part::Times(value)], ..Product::default() }],
        Node::Factor(factor) => vec![Product { factors: vec![(factor, false)], ..Product::default() }],
        Node::Negative(inner) => expand(inner)?.into_iter().map(|product| product.signed(true)).collect(),
        Node::Nested(..) => return None,
        Node::Quotient(inner, divisor) => {
            let mut products = expand(inner)?;
            products.iter_mut().for_each(|product| product.parts.push(Part::Over(divisor)));
            products
        }
        Node::Product(nodes) => {
            let mut products = vec![Product::default()];
            for node in nodes {
                let factors = expand(node)?;
                if products.len() * factors.len() > MOST_PRODUCTS {
                    return None;
                }
                products = products.iter().flat_map(|left| factors.iter().map(|right| left.times(right))).collect();
            }
            products
        }
        Node::Sum { terms, conjugates } => {
            let mut products = Vec::new();
            for term in terms {
                products.extend(expand(&term.node)?.into_iter().map(|product| product.signed(term.negative)));
            }
            let rest = products.clone();
            for negative in conjugates {
                products.extend(rest.iter().map(|product| product.adjoint().signed(*negative)));
            }
            products
        }
    };
    (products.len() <= MOST_PRODUCTS).then_some(products)
}
