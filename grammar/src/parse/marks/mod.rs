//! What Rust's grammar lacks, put into words that it has before Rust's parser sees the tokens.
//!
//! | written | handed on | file |
//! |---|---|---|
//! | `h.c.` | `h.c.__adjoint` | `conjugate` |
//! | `sum(DOMAINS; EXPR)`, `prod(DOMAINS; EXPR)` inside an expression | `sum!(…)`, `prod!(…)` | `nested` |
//! | `x ** 2`, `x ^ 2` | `__power(x, 2)`, `__caret(x, 2)`: a power binds tighter than a product and a sign, to the right | `power` |
//! | `2 n(i)` | refused: a product has a star | `star` |
//!
//! Rust binds `^` looser than `+` and reads `a * x ** 2` as `(a * x) * (*2)`. Here both are powers as mathematics writes them:
//! −2 x² of `-2.0 * x^2`, y + Sz² of `y + sz(i)^2`.

mod conjugate;
mod nested;
mod power;
mod star;
#[cfg(test)]
mod tests;

pub(super) use conjugate::is_conjugate;
pub(super) use nested::is_product;
pub(super) use power::{CARET, POWER};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use syn::Result;

/// The tokens of a whole text, or of a `sum!` from its first domain on.
///
/// # Errors
/// Two factors without a star between them; a power whose base or exponent is not seen.
pub(super) fn marked(tokens: TokenStream) -> Result<TokenStream> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    // Domains are words such as `i in sites`: stars are looked for behind them.
    let start = tokens.iter().position(nested::is_semicolon).map_or(0, |semicolon| semicolon + 1);
    star::check(&tokens[start..])?;
    let mut inner = Vec::with_capacity(tokens.len());
    for token in tokens {
        inner.push(match token {
            TokenTree::Group(group) if group.delimiter() != Delimiter::None => {
                let mut marked = Group::new(group.delimiter(), marked(group.stream())?);
                marked.set_span(group.span());
                TokenTree::Group(marked)
            }
            token => token,
        });
    }
    let marked = power::mark(conjugate::mark(nested::mark(inner)))?;
    Ok(marked.into_iter().collect())
}
