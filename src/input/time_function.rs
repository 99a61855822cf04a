//! A number of a model file as a function of time: "4.0 + 2.0 * sin(3.0 * time)".
//!
//! In: a text of numbers, `time`, `pi`, `+ - * / ^`, parentheses and sin, cos, tan, exp, ln, sqrt, abs, tanh. Out: its value at a time, or what was
//! expected where; bounds of it over a span of time.

use super::interval::{Interval, Shape, TimeNumber};
use std::fmt;

/// A function of time.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeFunction {
    text: String,
    value: Expression,
}

#[derive(Debug, Clone, PartialEq)]
enum Expression {
    Number(f64),
    Time,
    Negative(Box<Expression>),
    Two(char, Box<[Expression; 2]>),
    /// The number of a function, and what it is of.
    Applied(usize, Box<Expression>),
}

/// A function with its name and shape.
type Named = (&'static str, fn(f64) -> f64, Shape);

const FUNCTIONS: [Named; 8] = [
    ("sin", f64::sin, Shape::SIN),
    ("cos", f64::cos, Shape::COS),
    ("tan", f64::tan, Shape::Poles),
    ("exp", f64::exp, Shape::EXP),
    ("ln", f64::ln, Shape::Rising { low: 0.0, least: f64::NEG_INFINITY }),
    ("sqrt", f64::sqrt, Shape::Rising { low: 0.0, least: 0.0 }),
    ("abs", f64::abs, Shape::Even),
    ("tanh", f64::tanh, Shape::Rising { low: f64::NEG_INFINITY, least: -1.0 }),
];

/// Nested parentheses at most.
const DEEPEST: usize = 64;

impl TimeFunction {
    /// Reads a text.
    ///
    /// # Errors
    /// What was expected, and what was found.
    pub fn new(text: &str) -> Result<TimeFunction, String> {
        let mut reader = Reader { rest: text, depth: 0 };
        let value = reader.sum()?;
        match reader.peek() {
            None => Ok(TimeFunction { text: text.into(), value }),
            Some(_) => Err(format!("expected an operator or the end, found `{}`", reader.rest.trim())),
        }
    }

    /// Its value at a time, which need not be finite.
    pub fn value(&self, time: f64) -> f64 {
        self.value.at_time(time)
    }

    /// A lower and an upper bound of its values from one time to another.
    pub fn bounds(&self, from: f64, to: f64) -> [f64; 2] {
        let Interval { low, high } = self.at_time(Interval::between(from, to));
        [low, high]
    }

    /// Its value at a time, or an interval of all in an interval of times.
    pub(crate) fn at_time<N: TimeNumber>(&self, time: N) -> N {
        self.value.at_time(time)
    }
}

impl fmt::Display for TimeFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Expression {
    fn at_time<N: TimeNumber>(&self, time: N) -> N {
        match self {
            Expression::Number(value) => N::from(*value),
            Expression::Time => time,
            Expression::Negative(value) => -value.at_time(time),
            Expression::Applied(function, value) => {
                let (_, function, shape) = FUNCTIONS[*function];
                value.at_time(time).apply(function, shape)
            }
            Expression::Two(sign, both) => {
                let [a, b] = [&both[0], &both[1]].map(|value| value.at_time(time));
                match sign {
                    '+' => a + b,
                    '-' => a - b,
                    '*' => a * b,
                    '/' => a / b,
                    _ => a.power(b),
                }
            }
        }
    }
}

struct Reader<'a> {
    rest: &'a str,
    depth: usize,
}

impl Reader<'_> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn take(&mut self, wanted: &[char]) -> Option<char> {
        let next = self.peek().filter(|next| wanted.contains(next))?;
        self.rest = &self.rest[next.len_utf8()..];
        Some(next)
    }

    fn sum(&mut self) -> Result<Expression, String> {
        let mut value = self.product()?;
        while let Some(sign) = self.take(&['+', '-']) {
            value = Expression::Two(sign, Box::new([value, self.product()?]));
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<Expression, String> {
        let mut value = self.signed()?;
        while let Some(sign) = self.take(&['*', '/']) {
            value = Expression::Two(sign, Box::new([value, self.signed()?]));
        }
        Ok(value)
    }

    /// −x^y is −(x^y).
    fn signed(&mut self) -> Result<Expression, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("expected at most {DEEPEST} parentheses and signs within each other"));
        }
        let value = match self.take(&['-', '+']) {
            Some('-') => Expression::Negative(Box::new(self.signed()?)),
            Some(_) => self.signed()?,
            None => {
                let value = self.atom()?;
                match self.take(&['^']) {
                    Some(sign) => Expression::Two(sign, Box::new([value, self.signed()?])),
                    None => value,
                }
            }
        };
        self.depth -= 1;
        Ok(value)
    }

    fn atom(&mut self) -> Result<Expression, String> {
        match self.peek() {
            Some('(') => self.parenthesis(),
            Some(next) if next.is_ascii_digit() || next == '.' => self.number(),
            Some(next) if next.is_ascii_alphabetic() => {
                let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
                let end = self.rest.find(|letter| !is_word(letter)).unwrap_or(self.rest.len());
                let (word, rest) = self.rest.split_at(end);
                self.rest = rest;
                match word {
                    "time" => return Ok(Expression::Time),
                    "pi" | "PI" => return Ok(Expression::Number(std::f64::consts::PI)),
                    _ => {}
                }
                let Some(function) = FUNCTIONS.iter().position(|(name, ..)| *name == word) else {
                    let names: Vec<&str> = FUNCTIONS.iter().map(|(name, ..)| *name).collect();
                    let note = if word == "t" { "; `t` is the hopping, and the time is `time`" } else { "" };
                    return Err(format!("expected `time`, `pi` or one of {}, found `{word}`{note}", names.join(", ")));
                };
                match self.peek() {
                    Some('(') => Ok(Expression::Applied(function, Box::new(self.parenthesis()?))),
                    _ => Err(format!("expected `(` after `{word}`")),
                }
            }
            Some(next) => Err(format!("expected a number, `time` or `(`, found `{next}`")),
            None => Err("expected a number, `time` or `(`, found the end".into()),
        }
    }

    fn parenthesis(&mut self) -> Result<Expression, String> {
        self.take(&['(']);
        let value = self.sum()?;
        match self.take(&[')']) {
            Some(_) => Ok(value),
            None => Err("expected `)`".into()),
        }
    }

    fn number(&mut self) -> Result<Expression, String> {
        let bytes = self.rest.as_bytes();
        let digits = |from: usize| from + bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let mut end = digits(0);
        if bytes.get(end) == Some(&b'.') {
            end = digits(end + 1);
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'-' | b'+')));
            let after = digits(end + 1 + sign);
            if after > end + 1 + sign {
                end = after;
            }
        }
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        text.parse().map(Expression::Number).map_err(|_| format!("expected a number, found `{text}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::TimeFunction;

    #[test]
    fn texts_have_the_values_that_they_say() {
        for (text, time, wanted) in [
            ("4.0 + 2.0 * sin(3.0 * time)", 0.7, 4.0 + 2.0 * (2.1f64).sin()),
            ("-time^2", 3.0, -9.0),
            ("2^-1", 0.0, 0.5),
            ("2^3^2", 0.0, 512.0),
            ("1 - 2 - 3", 0.0, -4.0),
            ("8 / 4 / 2", 0.0, 1.0),
            ("exp(-(time - 1)^2 / (2 * 0.5^2))", 2.0, (-2.0f64).exp()),
            ("1e-3 * time + .5", 2.0, 0.502),
            (" + time ", 2.5, 2.5),
            ("abs(tanh(-time)) * sqrt(4) + ln(1) + tan(0) + cos(pi)", 1.0, 2.0 * (1.0f64).tanh() - 1.0),
        ] {
            let found = TimeFunction::new(text).unwrap().value(time);
            assert!((found - wanted).abs() < 1e-14, "{text}: {found}");
        }
    }

    #[test]
    fn what_is_no_function_is_refused() {
        for (text, part) in [
            ("", "found the end"),
            ("2 *", "found the end"),
            ("sin 3", "expected `(`"),
            ("sin(3", "expected `)`"),
            ("t + 1", "the time is `time`"),
            ("time time", "found `time`"),
            ("$", "found `$`"),
            ("u * 2", "found `u`"),
            (".", "found `.`"),
        ] {
            let error = TimeFunction::new(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
        let deep = "(".repeat(100_000) + "1";
        assert!(TimeFunction::new(&deep).unwrap_err().contains("parentheses"));
    }
}
