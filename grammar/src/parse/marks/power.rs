//! `x ** 2` → `__power(x, 2)` and `x ^ 2` → `__caret(x, 2)`, with the precedence of mathematics.
//!
//! The base is the operand before the sign: a literal or a name with its calls, indices, methods and fields, or a parenthesis. The
//! exponent is one as well, with a sign in front if there is one, and to the right: `x ^ y ^ z` is x^(y^z).

use proc_macro2::{Delimiter, Group, Ident, Punct, Spacing, Span, TokenStream, TokenTree};
use syn::{Error, Result};

use super::star::is_keyword;

/// The name that carries `**` through Rust's parser.
pub(in crate::parse) const POWER: &str = "__power";

/// The same of `^`, which Rust has for another thing.
pub(in crate::parse) const CARET: &str = "__caret";

/// Marks every power of this level.
pub(super) fn mark(tokens: Vec<TokenTree>) -> Result<Vec<TokenTree>> {
    let mut marked: Vec<TokenTree> = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        let Some((name, length)) = sign(&tokens[at..]) else {
            marked.push(tokens[at].clone());
            at += 1;
            continue;
        };
        let span = tokens[at].span();
        let Some(start) = base(&marked) else {
            // `a * **b` dereferences twice; anything else is no expression.
            if name == POWER {
                marked.push(tokens[at].clone());
                at += 1;
                continue;
            }
            return Err(unseen(span, "in front of", "(…)^2"));
        };
        let taken = marked.split_off(start);
        let (exponent, end) = exponent(&tokens, at + length, span)?;
        marked.extend(call(name, taken, exponent));
        at = end;
    }
    Ok(marked)
}

/// `**` or `^` at the front, and its tokens.
fn sign(tokens: &[TokenTree]) -> Option<(&'static str, usize)> {
    match tokens {
        [TokenTree::Punct(first), TokenTree::Punct(second), ..]
            if first.as_char() == '*' && first.spacing() == Spacing::Joint && second.as_char() == '*' =>
        {
            Some((POWER, 2))
        }
        // `^=` assigns.
        [TokenTree::Punct(first), TokenTree::Punct(second), ..]
            if first.as_char() == '^' && first.spacing() == Spacing::Joint && second.as_char() == '=' =>
        {
            None
        }
        [TokenTree::Punct(first), ..] if first.as_char() == '^' => Some((CARET, 1)),
        _ => None,
    }
}

fn unseen(span: Span, side: &str, example: &str) -> Error {
    Error::new(
        span,
        format!(
            "expected a number or an operator {side} the power, found none that ends there: put it into parentheses, as in `{example}`"
        ),
    )
}

fn point(token: Option<&TokenTree>, letter: char) -> bool {
    matches!(token, Some(TokenTree::Punct(found)) if found.as_char() == letter)
}

/// Where the operand at the end of `tokens` begins.
fn base(tokens: &[TokenTree]) -> Option<usize> {
    let mut start = tokens.len();
    loop {
        match tokens[..start].last()? {
            TokenTree::Group(group) if group.delimiter() != Delimiter::Brace => {
                start -= 1;
                let behind = &tokens[..start];
                match behind.last() {
                    Some(TokenTree::Ident(name)) if !is_keyword(name) => continue,
                    Some(TokenTree::Group(group)) if group.delimiter() != Delimiter::Brace => continue,
                    // A macro.
                    Some(TokenTree::Punct(bang)) if bang.as_char() == '!' => {
                        if let Some(TokenTree::Ident(_)) = start.checked_sub(2).map(|at| &tokens[at]) {
                            start -= 1;
                            continue;
                        }
                    }
                    _ => {}
                }
            }
            TokenTree::Ident(name) if !is_keyword(name) => start -= 1,
            TokenTree::Literal(_) => start -= 1,
            _ => return None,
        }
        let before = |back: usize| start.checked_sub(back).map(|at| &tokens[at]);
        if point(before(1), '.') && !point(before(2), '.') {
            start -= 1;
        } else if point(before(1), ':') && point(before(2), ':') {
            start -= 2;
        } else {
            // A cast binds tighter than a power in Rust and has no meaning of its own elsewhere.
            let cast = matches!(before(1), Some(TokenTree::Ident(name)) if name == "as");
            return (!cast).then_some(start);
        }
    }
}

/// The exponent that begins at `at`, and where it ends.
fn exponent(tokens: &[TokenTree], mut at: usize, span: Span) -> Result<(Vec<TokenTree>, usize)> {
    let mut taken = Vec::new();
    while point(tokens.get(at), '-') {
        taken.push(tokens[at].clone());
        at += 1;
    }
    let begin = at;
    match tokens.get(at) {
        Some(TokenTree::Ident(name)) if !is_keyword(name) => at += 1,
        Some(TokenTree::Literal(_)) => at += 1,
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => at += 1,
        _ => return Err(unseen(span, "behind", "x^(…)")),
    }
    loop {
        match tokens.get(at) {
            Some(TokenTree::Group(group)) if group.delimiter() != Delimiter::Brace => at += 1,
            Some(TokenTree::Punct(_)) if point(tokens.get(at), '.') && !point(tokens.get(at + 1), '.') => at += 2,
            Some(TokenTree::Punct(_)) if point(tokens.get(at), ':') && point(tokens.get(at + 1), ':') => at += 3,
            _ => break,
        }
    }
    let operand = tokens[begin..at.min(tokens.len())].to_vec();
    if let Some((name, length)) = sign(tokens.get(at..).unwrap_or_default()) {
        let (inner, end) = exponent(tokens, at + length, span)?;
        taken.extend(call(name, operand, inner));
        return Ok((taken, end));
    }
    taken.extend(operand);
    Ok((taken, at))
}

/// `name(base, exponent)`, in the place of what it stands for.
fn call(name: &str, base: Vec<TokenTree>, exponent: Vec<TokenTree>) -> [TokenTree; 2] {
    let span = |token: Option<&TokenTree>| token.map_or_else(Span::call_site, TokenTree::span);
    let (first, last) = (span(base.first()), span(exponent.last()));
    let mut comma = Punct::new(',', Spacing::Alone);
    comma.set_span(last);
    let arguments: TokenStream = base.into_iter().chain([TokenTree::Punct(comma)]).chain(exponent).collect();
    let mut group = Group::new(Delimiter::Parenthesis, arguments);
    group.set_span(last);
    [TokenTree::Ident(Ident::new(name, first)), TokenTree::Group(group)]
}
