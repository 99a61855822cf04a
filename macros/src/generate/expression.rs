//! The tree → Rust that builds the operator with `eigenforge::operator::build`, and the CUDA text of a diagonal tree.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{Expr, Result, parse_quote};

use super::cuda::Translator;
use super::text::{Precedence, Text};
use crate::parse::{Factor, Kind, Node, Reduction, SpinArgument};
use crate::vocabulary::{Operator, Spin};

/// `::eigenforge::operator::Spin::Up` or `Down`.
pub fn spin_path(spin: Spin) -> TokenStream {
    let name = format_ident!("{}", spin.name());
    quote!(::eigenforge::operator::Spin::#name)
}

/// The expression as Rust outside the model language: bare `Up`, `Down` and `PI` mean what they say whatever the user imported, and
/// a function of real numbers is f64's.
pub fn rust(expr: &Expr) -> Expr {
    struct Words;
    impl VisitMut for Words {
        fn visit_expr_mut(&mut self, expr: &mut Expr) {
            visit_mut::visit_expr_mut(self, expr);
            if let Expr::Path(path) = expr
                && let Some(name) = path.path.get_ident()
            {
                if let Some(spin) = Spin::named(&name.to_string()) {
                    let path = spin_path(spin);
                    *expr = parse_quote!(#path);
                } else if name == "PI" {
                    *expr = parse_quote!(::core::f64::consts::PI);
                }
            } else if let Expr::Call(call) = expr
                && let Expr::Path(path) = &*call.func
                && let Some(name) = path.path.get_ident()
                && crate::vocabulary::function(&name.to_string()).is_some()
            {
                let arguments = &call.args;
                *expr = parse_quote!(f64::#name(#arguments));
            }
        }
    }
    let mut expr = expr.clone();
    Words.visit_expr_mut(&mut expr);
    expr
}

/// Rust that gives the operator. `electrons` says that spin operators mean the spin of electrons.
pub fn operator(node: &Node, electrons: bool) -> TokenStream {
    match node {
        Node::Coefficient(value) => {
            let value = rust(value);
            quote_spanned!(value.span()=> ::eigenforge::operator::build::scalar(#value))
        }
        Node::Factor(factor) => builder(factor, electrons),
        Node::Negative(inner) => {
            let inner = operator(inner, electrons);
            quote!((-#inner))
        }
        Node::Quotient(inner, divisor) => {
            let (inner, divisor) = (operator(inner, electrons), real(divisor));
            quote!((#inner / #divisor))
        }
        Node::Product(nodes) => {
            let mut product = TokenStream::new();
            for (position, node) in nodes.iter().enumerate() {
                let factor = match node {
                    Node::Coefficient(value) => real(value),
                    other => operator(other, electrons),
                };
                product.extend(if position == 0 { factor } else { quote!(* #factor) });
            }
            quote!((#product))
        }
        Node::Nested(reduction, nested) => {
            let [total, sum] = ["total", "sum"].map(|name| Ident::new(name, Span::mixed_site()));
            let member = operator(&nested.expression, electrons);
            let (start, body) = match reduction {
                Reduction::Sum => {
                    (quote!(::eigenforge::operator::Operator::zero()), quote!(#total = #total + #member;))
                }
                Reduction::Product => {
                    (quote!(::eigenforge::operator::build::scalar(1.0)), quote!(#total = #total * #member;))
                }
            };
            let loops = super::domain::loops(&nested.domains, &sum, body);
            quote!({
                let mut #total = #start;
                #loops
                #total
            })
        }
        Node::Sum { terms, conjugates } => {
            let mut sum = TokenStream::new();
            for (position, term) in terms.iter().enumerate() {
                let addend = operator(&term.node, electrons);
                sum.extend(match (position, term.negative) {
                    (0, false) => addend,
                    (_, true) => quote!(- #addend),
                    (_, false) => quote!(+ #addend),
                });
            }
            if conjugates.is_empty() {
                return quote!((#sum));
            }
            let [terms, adjoint] = ["terms", "adjoint"].map(|name| Ident::new(name, Span::mixed_site()));
            let signs = conjugates.iter().map(|negative| if *negative { quote!(-) } else { quote!(+) });
            quote!({
                let #terms = #sum;
                let #adjoint = #terms.adjoint();
                #terms #(#signs #adjoint.clone())*
            })
        }
    }
}

/// A real number, its type stated so that an integer is reported where it stands.
fn real(value: &Expr) -> TokenStream {
    let value = rust(value);
    quote_spanned!(value.span()=> ::core::convert::identity::<f64>(#value))
}

fn builder(factor: &Factor, electrons: bool) -> TokenStream {
    let name = match (&factor.operator, &factor.spin) {
        (Operator::Number, None) => "n_total".to_string(),
        (Operator::ImaginaryUnit, _) => "imaginary_unit".to_string(),
        (Operator::PauliX, _) => "pauli_x".to_string(),
        (Operator::PauliY, _) => "pauli_y".to_string(),
        (Operator::PauliZ, _) => "pauli_z".to_string(),
        (operator, _) if electrons && operator.is_spin() => format!("electron_{}", operator.name()),
        (operator, _) => operator.name().to_string(),
    };
    let name = Ident::new(&name, factor.call.func.span());
    let sites: Vec<Expr> = factor.sites.iter().map(rust).collect();
    let spin = factor.spin.as_ref().map(|spin| match spin {
        SpinArgument::Literal(spin) => spin_path(*spin),
        SpinArgument::Variable(name) => quote!(#name),
        SpinArgument::Captured(expr) => quote!(#expr),
        SpinArgument::Flavour(number) => quote!(::eigenforge::operator::Spin::flavour(#number)),
    });
    let arguments = sites.iter().map(|site| quote!(#site)).chain(spin);
    quote!(::eigenforge::operator::build::#name(#(#arguments),*))
}

/// Whether the tree holds operators only that CUDA text has: diagonal ones, and none of a flavour, which DMRG takes and no
/// generated diagonal.
pub fn is_diagonal(node: &Node) -> bool {
    let mut diagonal = !has_nested(node);
    crate::parse::each_factor(node, &mut |factor| {
        diagonal &= factor.operator.is_diagonal() && !matches!(factor.spin, Some(SpinArgument::Flavour(_)));
    });
    diagonal
}

/// Whether a sum or a product stands inside.
pub fn has_nested(node: &Node) -> bool {
    match node {
        Node::Coefficient(_) | Node::Factor(_) => false,
        Node::Nested(..) => true,
        Node::Sum { terms, .. } => terms.iter().any(|term| has_nested(&term.node)),
        Node::Product(nodes) => nodes.iter().any(has_nested),
        Node::Negative(inner) | Node::Quotient(inner, _) => has_nested(inner),
    }
}

/// A spin operator that stands twice in one product as written, such as `sz(i) * sz(i)`.
pub fn square(node: &Node) -> Option<String> {
    match node {
        Node::Coefficient(_) | Node::Factor(_) => None,
        Node::Sum { terms, .. } => terms.iter().find_map(|term| square(&term.node)),
        Node::Negative(inner) | Node::Quotient(inner, _) => square(inner),
        Node::Nested(_, nested) => square(&nested.expression),
        Node::Product(nodes) => {
            let text = |node: &Node| match node {
                Node::Factor(factor) if !factor.operator.is_fermion() => {
                    let sites: Vec<String> =
                        factor.sites.iter().map(|site| site.to_token_stream().to_string()).collect();
                    Some(format!("{}({})", factor.operator.name(), sites.join(", ")))
                }
                _ => None,
            };
            let factors: Vec<String> = nodes.iter().filter_map(text).collect();
            let twice = factors.iter().enumerate().find(|(place, factor)| factors[..*place].contains(factor));
            twice.map(|(_, factor)| factor.clone()).or_else(|| nodes.iter().find_map(square))
        }
    }
}

/// CUDA text of a diagonal tree.
pub fn diagonal(node: &Node, translator: &mut Translator) -> Result<Text> {
    match node {
        Node::Coefficient(value) => translator.expression(value),
        Node::Factor(factor) => occupation(factor, translator),
        Node::Negative(inner) => Ok(Text::negative(&diagonal(inner, translator)?)),
        Node::Nested(..) => Err(super::cuda::untranslatable(&quote!(), "a sum inside a sum stays in Rust")),
        Node::Quotient(inner, divisor) => {
            let (inner, divisor) = (diagonal(inner, translator)?, translator.expression(divisor)?);
            Ok(Text::binary(&inner, "/", &divisor, Precedence::Product, Kind::Float))
        }
        Node::Product(nodes) => {
            let mut product: Option<Text> = None;
            for node in nodes {
                let factor = diagonal(node, translator)?;
                product = Some(match product {
                    Some(product) => Text::binary(&product, "*", &factor, Precedence::Product, Kind::Float),
                    None => factor,
                });
            }
            Ok(product.unwrap_or_else(|| Text::atom("1.0", Kind::Float)))
        }
        Node::Sum { terms, conjugates } => {
            let mut sum: Option<Text> = None;
            for term in terms {
                let addend = diagonal(&term.node, translator)?;
                sum = Some(match sum {
                    Some(sum) if term.negative => Text::binary(&sum, "-", &addend, Precedence::Sum, Kind::Float),
                    Some(sum) => Text::binary(&sum, "+", &addend, Precedence::Sum, Kind::Float),
                    None if term.negative => Text::negative(&addend),
                    None => addend,
                });
            }
            let sum = sum.unwrap_or_else(|| Text::atom("0.0", Kind::Float));
            // A diagonal real expression is its own adjoint: each h.c. adds it once more.
            let times = conjugates.iter().fold(1, |times, negative| if *negative { times - 1 } else { times + 1 });
            if conjugates.is_empty() {
                return Ok(sum);
            }
            let times = Text::atom(format!("{:?}", f64::from(times)), Kind::Float);
            Ok(Text::binary(&times, "*", &sum, Precedence::Product, Kind::Float))
        }
    }
}

/// `n(i, Up)` → `n_up(i)`, `n(i, s)` → `n(i, s)`, `n(i)` → `n_total(i)`, `sz(i)` → `sz(i)`.
fn occupation(factor: &Factor, translator: &mut Translator) -> Result<Text> {
    let mut arguments = Vec::new();
    for site in &factor.sites {
        arguments.push(translator.expression(site)?);
    }
    let name = match &factor.spin {
        None if factor.operator == Operator::Sz => "sz",
        None => "n_total",
        Some(SpinArgument::Literal(Spin::Up)) => "n_up",
        Some(SpinArgument::Literal(Spin::Down)) => "n_dn",
        Some(SpinArgument::Variable(name)) => {
            arguments.push(Text::atom(super::text::name(&name.to_string()), Kind::Spin));
            "n"
        }
        Some(SpinArgument::Captured(expr)) => {
            arguments.push(translator.expression(expr)?);
            "n"
        }
        Some(SpinArgument::Flavour(number)) => {
            return Err(super::cuda::untranslatable(number, "generated diagonals have electrons, and no flavours"));
        }
    };
    Ok(Text::call(name, &arguments.iter().collect::<Vec<_>>(), Kind::Float))
}
