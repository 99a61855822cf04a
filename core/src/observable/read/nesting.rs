//! How deep a text is nested: brackets inside each other, and operations one after the other, which make a tree as deep.
//!
//! In: tokens. Out: an error where the parser and all that follows it would take more stack than threads have.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::{Error, Result};

/// Brackets inside each other.
const MOST_BRACKETS: usize = 64;
/// Operations on each other.
const MOST_OPERATIONS: usize = 400;

/// Refuses a text that is nested too deep.
pub(super) fn check(tokens: &[TokenTree]) -> Result<()> {
    let depth = depth(tokens.iter().cloned().collect(), 0)?;
    if depth > MOST_OPERATIONS {
        let message = format!(
            "expected at most {MOST_OPERATIONS} operations one after the other, found some {depth}: write a `sum(…)`, or put parts into brackets"
        );
        return Err(Error::new(Span::call_site(), message));
    }
    Ok(())
}

/// Operations on each other: signs of a chain of additions, and the most of one of its terms.
fn depth(tokens: TokenStream, brackets: usize) -> Result<usize> {
    if brackets > MOST_BRACKETS {
        let message = format!("expected at most {MOST_BRACKETS} brackets inside each other, found more");
        return Err(Error::new(Span::call_site(), message));
    }
    // Signs of a chain of additions; operations of its present term and the depth of brackets there; the deepest term.
    let (mut deepest, mut signs, mut term, mut inner, mut of_terms) = (0, 0, 0usize, 0usize, 0usize);
    let mut after_group = false;
    for token in tokens {
        let mut is_group = false;
        match token {
            TokenTree::Group(group) => {
                // One behind the other, `u[0][1]`, is an operation too.
                term += usize::from(after_group);
                inner = inner.max(depth(group.stream(), brackets + 1)?);
                is_group = true;
            }
            TokenTree::Punct(point) => match point.as_char() {
                ',' | ';' => {
                    deepest = deepest.max(signs + of_terms.max(term + inner));
                    (signs, term, inner, of_terms) = (0, 0, 0, 0);
                }
                '+' | '-' => {
                    of_terms = of_terms.max(term + inner);
                    (signs, term, inner) = (signs + 1, 0, 0);
                }
                _ => term += 1,
            },
            TokenTree::Ident(_) | TokenTree::Literal(_) => {}
        }
        after_group = is_group;
    }
    Ok(deepest.max(signs + of_terms.max(term + inner)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::str::FromStr;

    fn depth_of(text: &str) -> Option<usize> {
        depth(TokenStream::from_str(text).unwrap(), 0).ok()
    }

    #[test]
    fn chains_and_brackets_are_counted() {
        for (text, expected) in [
            ("sz(0)", 0),
            ("sz(0) * sz(1) + sz(1) * sz(2) - sz(2)", 3),
            ("2 * (a + b + c) * d", 4),
            ("f(a, b + c, d * e * f)", 2),
            ("u[0][1]", 1),
        ] {
            assert_eq!(depth_of(text), Some(expected), "{text}");
        }
        assert_eq!(depth_of(&("(".repeat(65) + "1" + &")".repeat(65))), None);
        for chain in ["-", "1 + ", "2 / ", "!", "&", "x ^ ", "| x | ", "v < "] {
            assert!(depth_of(&(chain.repeat(500) + "1")).unwrap() >= 500, "{chain}");
        }
        assert!(depth_of(&("u".to_string() + &"[0]".repeat(500))).unwrap() >= 499);
        assert!(depth_of(&("1.0".to_string() + &".abs()".repeat(500))).unwrap() >= 499);
    }
}
