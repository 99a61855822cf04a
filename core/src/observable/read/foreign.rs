//! Words and signs of other languages, told with what to write here.

use proc_macro2::TokenTree;
use syn::{Error, Result};

/// Signs that look like ones of the language, and these.
const LETTERS: [(char, &str); 7] = [
    ('\u{2212}', "-"),
    ('\u{2013}', "-"),
    ('\u{b7}', "*"),
    ('\u{d7}', "*"),
    ('\u{22c5}', "*"),
    ('\u{b2}', "^2"),
    ('\u{b3}', "^3"),
];

/// Refuses signs outside ASCII; letters of other alphabets may stand in names.
pub(super) fn check_letters(text: &str) -> Result<()> {
    let instead = |letter: char| LETTERS.iter().find(|(known, _)| *known == letter).map(|(_, instead)| *instead);
    let foreign = |letter: &char| !letter.is_ascii() && (!letter.is_alphanumeric() || instead(*letter).is_some());
    let Some(letter) = text.chars().find(foreign) else { return Ok(()) };
    let instead = instead(letter);
    let found = if instead.is_some() { format!("`{letter}`, ") } else { String::new() };
    let instead =
        instead.map_or("expected letters, digits and signs of ASCII".into(), |instead| format!("write `{instead}`"));
    let message = format!("the character {found}U+{:04X} has no meaning here: {instead}", u32::from(letter));
    Err(Error::new(proc_macro2::Span::call_site(), message))
}

/// Refuses words and signs that mean something in other languages only.
pub(super) fn check(tokens: &[TokenTree]) -> Result<()> {
    for (at, token) in tokens.iter().enumerate() {
        let behind = at.checked_sub(1).map(|before| &tokens[before]);
        let operand = matches!(behind, Some(TokenTree::Ident(_) | TokenTree::Literal(_) | TokenTree::Group(_)));
        let message = match token {
            TokenTree::Group(group) => {
                check(&group.stream().into_iter().collect::<Vec<_>>())?;
                None
            }
            TokenTree::Ident(word) if operand && word == "and" => Some("expected `&&`, found `and`"),
            TokenTree::Ident(word) if operand && word == "or" => Some("expected `||`, found `or`"),
            TokenTree::Ident(word) if word == "not" => Some("expected `!` in front of a condition, found `not`"),
            TokenTree::Ident(word) if word == "mod" => Some("expected `a % b`, found `mod`"),
            TokenTree::Punct(sign) if sign.as_char() == '?' => {
                Some("expected `if condition { a } else { b }`, found `?`")
            }
            TokenTree::Punct(sign) if sign.as_char() == '#' => {
                Some("expected no `#`: a comment stands outside the text")
            }
            _ => None,
        };
        if let Some(message) = message {
            return Err(Error::new(token.span(), message));
        }
    }
    Ok(())
}
