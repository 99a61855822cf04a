//! Program text → tokens, line by line, with the columns for errors.

/// An error in a program, and its position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("vector program, line {line}, column {column}: {message}\n    {excerpt}")]
pub struct ProgramError {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// What was expected, what was found, and advice.
    pub message: String,
    /// The line itself.
    pub excerpt: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Word(String),
    Number(f64),
    Symbol(&'static str),
}

impl Token {
    pub(super) fn text(&self) -> String {
        match self {
            Token::Word(word) => format!("'{word}'"),
            Token::Number(number) => format!("{number:?}"),
            Token::Symbol(symbol) => format!("'{symbol}'"),
        }
    }
}

/// One line, split into tokens with their columns.
pub(super) struct Line<'a> {
    pub(super) number: usize,
    pub(super) text: &'a str,
    pub(super) tokens: Vec<(Token, usize)>,
    pub(super) at: usize,
}

impl<'a> Line<'a> {
    pub(super) fn split(number: usize, text: &'a str) -> Result<Line<'a>, ProgramError> {
        let mut line = Line { number, text, tokens: Vec::new(), at: 0 };
        let code = text.split('#').next().unwrap_or("");
        let bytes = code.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let start = at;
            let c = bytes[at];
            let token = if c.is_ascii_whitespace() {
                at += 1;
                continue;
            } else if c.is_ascii_alphabetic() || c == b'_' {
                while at < bytes.len() && (bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_') {
                    at += 1;
                }
                Token::Word(code[start..at].to_owned())
            } else if c.is_ascii_digit() || c == b'.' {
                while at < bytes.len() && number_goes_on(bytes, at) {
                    at += 1;
                }
                let value = code[start..at].parse::<f64>().ok().filter(|v| v.is_finite());
                Token::Number(
                    value.ok_or_else(|| line.error_at(start, "a number was expected, like 0.5 or 1e-3".into()))?,
                )
            } else {
                let two = bytes.get(at..at + 2) == Some(b"<=");
                let symbols = ["<=", "+", "-", "*", "/", "(", ")", ",", "=", "<", ":"];
                let found =
                    symbols.iter().find(|s| if two { **s == "<=" } else { s.len() == 1 && s.as_bytes()[0] == c });
                let Some(symbol) = found else {
                    let wrong = code[start..].chars().next().unwrap_or(' ');
                    return Err(
                        line.error_at(start, format!("'{wrong}' has no meaning here; use + - * / ( ) , = < <= :"))
                    );
                };
                at += symbol.len();
                Token::Symbol(symbol)
            };
            line.tokens.push((token, start));
        }
        Ok(line)
    }

    pub(super) fn error_at(&self, byte: usize, message: String) -> ProgramError {
        let column = self.text[..byte.min(self.text.len())].chars().count() + 1;
        ProgramError { line: self.number, column, message, excerpt: self.text.trim().to_owned() }
    }

    /// An error at the next token, or at the end of the line.
    pub(super) fn error(&self, message: impl Into<String>) -> ProgramError {
        let end = self.text.split('#').next().unwrap_or("").trim_end().len();
        self.error_at(self.tokens.get(self.at).map_or(end, |t| t.1), message.into())
    }

    /// An error at the previous token.
    pub(super) fn error_before(&self, message: impl Into<String>) -> ProgramError {
        self.error_at(self.tokens[self.at - 1].1, message.into())
    }

    pub(super) fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|t| &t.0)
    }

    pub(super) fn accept(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Symbol(s)) if *s == symbol);
        self.at += usize::from(found);
        found
    }

    pub(super) fn found(&self) -> String {
        self.peek().map_or("the end of the line".into(), Token::text)
    }

    pub(super) fn expect(&mut self, symbol: &str, why: &str) -> Result<(), ProgramError> {
        if self.accept(symbol) {
            return Ok(());
        }
        Err(self.error(format!("expected '{symbol}' {why}, found {}", self.found())))
    }

    pub(super) fn word(&mut self, what: &str) -> Result<String, ProgramError> {
        match self.peek() {
            Some(Token::Word(word)) => {
                let word = word.clone();
                self.at += 1;
                Ok(word)
            }
            _ => Err(self.error(format!("expected {what}, found {}", self.found()))),
        }
    }

    pub(super) fn end(&self) -> Result<(), ProgramError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.error(format!("expected the end of the line, found {}", self.found()))),
        }
    }
}

fn number_goes_on(bytes: &[u8], at: usize) -> bool {
    let c = bytes[at];
    c.is_ascii_alphanumeric() || c == b'.' || ((c == b'+' || c == b'-') && matches!(bytes[at - 1], b'e' | b'E'))
}
