//! `sum!(DOMAINS; EXPR)` → domains, expression, and the text as the user wrote it.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Error, Macro, Result, Token};

use super::domain::{self, Domain};
use super::expression::{self, Node};
use super::marks;
use super::number::value;
use super::scope::Scope;

/// One sum of a definition.
#[derive(Clone, Debug)]
pub struct Sum {
    /// What it runs over, outermost first.
    pub domains: Vec<Domain>,
    /// What is summed.
    pub expression: Node,
    /// The names it sees.
    pub scope: Scope,
    /// The user's text on one line.
    pub text: String,
    /// Line of the user's file, from 1.
    pub line: usize,
}

/// True for the macro `sum!`, however qualified.
pub fn is_sum(mac: &Macro) -> bool {
    mac.path.segments.last().is_some_and(|segment| segment.ident == "sum")
}

/// Reads one `sum!`.
pub fn parse_sum(mac: &Macro, function: &Scope) -> Result<Sum> {
    let span = mac.path.segments.last().map_or_else(Span::call_site, |segment| segment.ident.span());
    let tokens: Vec<TokenTree> = marks::marked(mac.tokens.clone())?.into_iter().collect();
    let separators: Vec<usize> = tokens
        .iter()
        .enumerate()
        .filter(|(_, token)| matches!(token, TokenTree::Punct(point) if point.as_char() == ';'))
        .map(|(at, _)| at)
        .collect();
    let at = match separators.as_slice() {
        [] => {
            return Err(Error::new_spanned(
                mac,
                "expected `;` between the domains and the expression, found none: write `sum!(i in lattice.sites(); u * n(i, Up) * n(i, Down))`",
            ));
        }
        [at] => *at,
        [_, second, ..] => {
            return Err(Error::new(
                tokens[*second].span(),
                "expected one `;` in a sum, found another: domains are separated by commas, terms are added with `+`",
            ));
        }
    };
    let before: TokenStream = tokens[..at].iter().cloned().collect();
    let after: TokenStream = tokens[at + 1..].iter().cloned().collect();
    if before.is_empty() {
        return Err(Error::new_spanned(
            mac,
            "expected what the sum runs over before `;`, found nothing: write `i in lattice.sites()`, `<i, j> in lattice.bonds()` or `s in [Up, Down]`",
        ));
    }
    if after.is_empty() {
        return Err(Error::new_spanned(
            mac,
            "expected a sum of products of operators after `;`, found nothing: write for example `u * n(i, Up) * n(i, Down)`",
        ));
    }
    let domains = Punctuated::<Domain, Token![,]>::parse_terminated.parse2(before)?;
    let mut domains: Vec<Domain> = domains.into_iter().collect();
    domain::mark_weights(&mut domains, &mac.tokens);
    let mut scope = function.clone();
    domain::bind(&domains, &mut scope)?;
    for domain in &mut domains {
        domain.source = value(&domain.source, &scope)?;
        domain.filter = domain.filter.as_ref().map(|filter| value(filter, &scope)).transpose()?;
    }
    let expression = expression::parse_expression(after, &scope)?;
    Ok(Sum { domains, expression, scope, text: text_of(mac), line: span.start().line })
}

/// The user's text on one line, comments left out; from the tokens where the source cannot be read.
fn text_of(mac: &Macro) -> String {
    let source = mac.delimiter.span().join().source_text().filter(|text| text.starts_with(['(', '[', '{']));
    match source {
        Some(source) => format!("sum!{}", one_line(&source)),
        None => format!("sum!({})", one_line(&mac.tokens.to_string())),
    }
}

fn one_line(source: &str) -> String {
    let without_comments: Vec<&str> =
        source.lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code)).collect();
    let words: Vec<&str> = without_comments.iter().flat_map(|line| line.split_whitespace()).collect();
    let text = words.join(" ");
    text.replace("( ", "(").replace(" )", ")").replace(" ;", ";").replace(",)", ")").replace(" ,", ",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(source: &str) -> Result<Sum> {
        parse_sum(&syn::parse_str::<Macro>(source).unwrap(), &Scope::default())
    }

    fn message(source: &str) -> String {
        read(source).unwrap_err().to_string()
    }

    #[test]
    fn a_sum_is_read_with_its_text_on_one_line() {
        let sum = read(
            "sum!(\n  <i, j, w> in lattice.bonds(), s in [Up, Down] if w > 0.0; // hopping\n  -t * w * (cdag(i, s) * c(j, s)\n + h.c.)\n)",
        )
        .unwrap();
        assert_eq!(
            sum.text,
            "sum!(<i, j, w> in lattice.bonds(), s in [Up, Down] if w > 0.0; -t * w * (cdag(i, s) * c(j, s) + h.c.))"
        );
        assert_eq!(sum.scope.variables.len(), 4);
        assert!(sum.domains[1].filter.is_some());
    }

    #[test]
    fn grammar_errors_say_what_to_write() {
        let cases = [
            ("sum!(i in l.sites())", "expected `;`"),
            ("sum!(i in l.sites(); n(i); n(i))", "found another"),
            ("sum!(; n(i))", "what the sum runs over"),
            ("sum!(i in l.sites();)", "found nothing"),
            ("sum!(i in a, i in b; n(i))", "already an index"),
            ("sum!(<i> in a; n(i))", "found 1"),
            ("sum!(s in [Up, Dwn]; n(0, s))", "did you mean `Down`"),
            ("sum!(s in [Up, Up]; n(0, s))", "listed twice"),
            ("sum!(i of a; n(i))", "expected `in`"),
            ("sum!(i in a; cdga(i, Up) * c(i, Up))", "did you mean `cdag`"),
            ("sum!(i in a; bdag(i, Up))", "expected `bdag(site)`, found 2 arguments"),
            ("sum!(i in a; c(i))", "expected `c(site, spin)`, found 1 argument"),
            ("sum!(i in a; sz(i, Up))", "expected `sz(site)`, found 2 arguments"),
            ("sum!(<i, j> in a; cdag(i, j) * c(j, Up))", "found the index `j`"),
            ("sum!(i in a; n(i, Upp))", "did you mean `Up`"),
            ("sum!(i in a; n(i, 1))", "found `1`"),
            ("sum!(i in a, s in [Up, Down]; n(s, i))", "found the spin `s`"),
            ("sum!(<i, j, w> in a; n(w, Up))", "the bond weight `w`"),
            ("sum!(i in a; n(i) * h.c.)", "`h.c.` outside a sum"),
            ("sum!(i in a; h.c. + h.c.)", "nothing to conjugate"),
            ("sum!(i in a; cdag(i, Up) + h.c)", "both dots"),
            ("sum!(i in a; 1 / 2 * n(i))", "write `1.0 / 2.0`"),
            ("sum!(i in a; -(t * (3 / 4)) * n(i))", "`3 / 4` divides integers"),
            ("sum!(i in a; 1.0 / n(i))", "expected a number to divide by"),
            ("sum!(i in a; if i == 0 { n(i) } else { sz(i) })", "operator inside other Rust"),
            ("sum!(i in a; n(i).sqrt())", "operator inside other Rust"),
            ("sum!(<i, j> in a; exp(sz(i)) * sz(j))", "expected a number in `exp`"),
            ("sum!(i in a; cos(I * x) * sz(i))", "only `exp(I * x)` and whole powers"),
            ("sum!(i in a; 2 n(i))", "between `2` and `n`"),
            ("sum!(i in a; 2n(i))", "write `2 * n`"),
            ("sum!(i in a; t n(i))", "between `t` and `n`"),
            ("sum!(i in a; (1.0 + t) (2.0 + t) * n(i))", "found none: write"),
            ("sum!(i in a; t(n(i) - 1))", "write `t * (…)`"),
            ("sum!(i in a; sz(i) ^ 0.5)", "a whole number from 0 to 64"),
            ("sum!(i in a; sz(i) ^ -1)", "a whole number from 0 to 64"),
            ("sum!(i in a; 2.0 ^ sz(i))", "found an operator"),
            ("sum!(i in a; (i ^ 2) * n(i))", "bitwise XOR"),
            ("sum!(i in a; i as f64 ^ 2 * n(i))", "put it into parentheses"),
            ("sum!(i in a; sqrt(1 / 2) * n(i))", "divides integers"),
            ("sum!(i in a; sqrt(x, y) * n(i))", "expected 1 number in `sqrt`, found 2"),
            ("sum!(i in a; prod(i in b; n(i)))", "already an index"),
            ("sum!(i in a; chirality(i, 1))", "chirality(site, site, site)"),
            ("sum!(<i, j, w, k, b, x> in a; n(i))", "found 6"),
        ];
        for (source, expected) in cases {
            let found = message(source);
            assert!(found.contains(expected), "{source}\n found: {found}\n expected: {expected}");
        }
    }

    #[test]
    fn what_cannot_be_seen_is_not_refused() {
        read("sum!(i in a; n(i, MAJORITY))").unwrap();
        read("sum!(i in a; n(i, spins[i]))").unwrap();
        read("sum!(i in [A, B]; n(i))").unwrap();
        read("sum!(i in a; 2 * n(i))").unwrap();
        read("sum!(s in [Spin::Up, Spin::Down]; n(0, s))").unwrap();
        read("sum!(i in a, j in a; n(i) * prod(k in i + 1..j if k != 3; 1 - 2 * n(k)) * sum(l in a; n(l))^2)").unwrap();
        read("sum!(<i, j, _, _, b> in a; exp(I * phi[b] / 2) * cdag(i, Up) * c(j, Up) + h.c.)").unwrap();
        read("sum!(i in a; t ** 2 * n(i) + min(i, 3) * (x + 1)^y)").unwrap();
    }
}
