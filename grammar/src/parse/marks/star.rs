//! Products without a star: `2 n(i)`, `2n(i)`, `t cdag(i, Up)`, `(a + b) (c + d)`. Rust's parser would speak of a missing `;`.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Error, Lit, Result};

/// Words of Rust that stand beside operands.
const KEYWORDS: [&str; 22] = [
    "as", "break", "const", "continue", "dyn", "else", "for", "if", "impl", "in", "let", "loop", "match", "move",
    "mut", "ref", "return", "static", "unsafe", "where", "while", "_",
];

/// Endings of Rust's numbers.
const SUFFIXES: [&str; 15] =
    ["", "f64", "f32", "usize", "isize", "i8", "i16", "i32", "i64", "i128", "u8", "u16", "u32", "u64", "u128"];

/// Whether a word is no operand.
pub(super) fn is_keyword(name: &Ident) -> bool {
    KEYWORDS.iter().any(|word| name == word)
}

/// Refuses two operands of one level with nothing between them.
pub(super) fn check(tokens: &[TokenTree]) -> Result<()> {
    for token in tokens {
        check_suffix(token)?;
    }
    for at in 1..tokens.len() {
        let (left, right) = (&tokens[at - 1], &tokens[at]);
        // A field by its number, `couplings.0[i]`.
        let field = at >= 2 && matches!(&tokens[at - 2], TokenTree::Punct(dot) if dot.as_char() == '.');
        let operand = match left {
            TokenTree::Literal(_) => true,
            TokenTree::Ident(name) => !is_keyword(name),
            TokenTree::Group(group) => group.delimiter() != Delimiter::None,
            TokenTree::Punct(_) => false,
        };
        let another = match right {
            TokenTree::Literal(_) => true,
            TokenTree::Ident(name) => !is_keyword(name),
            TokenTree::Group(group) => match group.delimiter() {
                Delimiter::Parenthesis => !matches!(left, TokenTree::Ident(_)),
                Delimiter::Bracket => matches!(left, TokenTree::Literal(_)) && !field,
                Delimiter::Brace | Delimiter::None => false,
            },
            TokenTree::Punct(_) => false,
        };
        if operand && another {
            let (a, b) = (short(left), short(right));
            let place: TokenStream = [left.clone(), right.clone()].into_iter().collect();
            return Err(Error::new_spanned(
                place,
                format!(
                    "expected an operation between `{a}` and `{b}`, found none: write `{a} * {b}` for their product"
                ),
            ));
        }
    }
    Ok(())
}

/// `2n` is a number and a name to a reader, and a number with an unknown ending to Rust.
fn check_suffix(token: &TokenTree) -> Result<()> {
    let TokenTree::Literal(literal) = token else { return Ok(()) };
    let suffix = match Lit::new(literal.clone()) {
        Lit::Int(number) => number.suffix().to_string(),
        Lit::Float(number) => number.suffix().to_string(),
        _ => return Ok(()),
    };
    if SUFFIXES.contains(&suffix.as_str()) {
        return Ok(());
    }
    let text = literal.to_string();
    let number = text.strip_suffix(&suffix).unwrap_or(&text).trim_end_matches('_');
    Err(Error::new_spanned(
        literal,
        format!(
            "expected an operation between `{number}` and `{suffix}`, found none: write `{number} * {suffix}` for their product"
        ),
    ))
}

/// A token as messages show it; a parenthesis without what is inside.
fn short(token: &TokenTree) -> String {
    match token {
        TokenTree::Group(group) if group.to_token_stream().to_string().len() > 20 => match group.delimiter() {
            Delimiter::Bracket => "[…]".into(),
            Delimiter::Brace => "{…}".into(),
            _ => "(…)".into(),
        },
        token => token.to_string(),
    }
}
