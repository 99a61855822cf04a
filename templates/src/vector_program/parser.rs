//! Text → [`VectorProgram`]: a recursive-descent parser that also checks every rule of the language.

use super::language::*;
use super::tokens::{Line, ProgramError, Token};
use crate::Warp;
use crate::launch::Access;

/// Words with a meaning in the language or in the generated CUDA text, which cannot be names.
const RESERVED: &[&str] = &[
    "program",
    "vectors",
    "scalars",
    "functions",
    "let",
    "sum",
    "in",
    "out",
    "inout",
    "sqrt",
    "abs",
    "min",
    "max",
    "fma",
    "select",
    "i",
    "n",
    "value_t",
    "sum_t",
    "Pack",
    "partials",
    "sums",
    "blocks",
    "scratch",
    "element",
    "double",
    "float",
    "int",
    "long",
    "unsigned",
    "signed",
    "char",
    "short",
    "bool",
    "void",
    "const",
    "if",
    "else",
    "for",
    "while",
    "do",
    "return",
    "auto",
    "static",
    "struct",
    "class",
    "template",
    "new",
    "delete",
    "this",
    "true",
    "false",
    "switch",
    "case",
    "default",
    "break",
    "continue",
    "goto",
    "sizeof",
    "union",
    "enum",
    "extern",
    "register",
    "volatile",
    "typedef",
    "inline",
    "operator",
    "namespace",
    "using",
    "private",
    "public",
    "protected",
    "friend",
    "virtual",
    "i64",
    "u64",
    "u32",
    "u16",
    "u8",
    "fmin",
    "fmax",
    "fabs",
    "warp_sum",
    "block_sum",
    "lane_share",
    "WARP",
    "ALL_LANES",
    "MOST_WARPS",
    "parity",
    "packs",
    "lane",
    "first",
    "and",
    "or",
    "not",
    "xor",
    "stride",
    "pack",
    "total",
];

impl VectorProgram {
    /// Parses and checks a program.
    pub fn parse(source: &str) -> Result<VectorProgram, ProgramError> {
        let mut parser = Parser {
            program: VectorProgram {
                name: String::new(),
                vectors: Vec::new(),
                scalars: Vec::new(),
                functions: Vec::new(),
                statements: Vec::new(),
                sums: Vec::new(),
                warp: Warp::default(),
                source: source.trim().to_owned(),
            },
            lets: Vec::new(),
            assigned: Vec::new(),
        };
        for (index, text) in source.lines().enumerate() {
            let mut line = Line::split(index + 1, text)?;
            if !line.tokens.is_empty() {
                parser.line(&mut line)?;
            }
        }
        parser.finish()
    }
}

struct Parser {
    program: VectorProgram,
    lets: Vec<String>,
    assigned: Vec<String>,
}

impl Parser {
    fn line(&mut self, line: &mut Line<'_>) -> Result<(), ProgramError> {
        let first = line.word("a statement or a declaration")?;
        if self.program.name.is_empty() && first != "program" {
            return Err(line.error_before("expected 'program NAME' first"));
        }
        match first.as_str() {
            "program" => {
                if !self.program.name.is_empty() {
                    return Err(line.error_before("a second 'program'; one text is one program"));
                }
                self.program.name = line.word("the program's name")?;
                if RESERVED.contains(&self.program.name.as_str()) {
                    return Err(line.error_before(format!("'{}' is reserved; choose another name", self.program.name)));
                }
                line.end()
            }
            "vectors" => self.vectors(line),
            "scalars" | "functions" => {
                self.before_statements(line)?;
                while line.peek().is_some() {
                    let name = self.new_name(line)?;
                    let list = if first == "scalars" { &mut self.program.scalars } else { &mut self.program.functions };
                    list.push(name);
                }
                Ok(())
            }
            "let" => {
                let name = self.new_name(line)?;
                line.expect("=", "after the name")?;
                let value = self.complete_expression(line)?;
                self.lets.push(name.clone());
                self.program.statements.push(Statement::Let { name, value });
                Ok(())
            }
            "sum" => {
                let name = self.new_name(line)?;
                line.expect("=", "after the name")?;
                let value = self.complete_expression(line)?;
                self.program.sums.push(name.clone());
                self.program.statements.push(Statement::Sum { name, value });
                Ok(())
            }
            _ => self.assignment(line, first),
        }
    }

    fn vectors(&mut self, line: &mut Line<'_>) -> Result<(), ProgramError> {
        self.before_statements(line)?;
        let mut names = Vec::new();
        while !line.accept(":") {
            if line.peek().is_none() {
                return Err(line.error("expected ': in', ': out' or ': inout' at the end of the vectors"));
            }
            let name = self.new_name(line)?;
            if names.contains(&name) {
                return Err(line.error_before(format!("'{name}' is declared twice")));
            }
            names.push(name);
        }
        let access = match line.word("in, out or inout")?.as_str() {
            "in" => Access::In,
            "out" => Access::Out,
            "inout" => Access::InOut,
            other => return Err(line.error_before(format!("expected in, out or inout, found '{other}'"))),
        };
        self.program.vectors.extend(names.into_iter().map(|name| VectorDeclaration { name, access }));
        line.end()
    }

    fn before_statements(&self, line: &Line<'_>) -> Result<(), ProgramError> {
        if self.program.statements.is_empty() {
            return Ok(());
        }
        Err(line.error_before("declarations come before the first statement"))
    }

    fn assignment(&mut self, line: &mut Line<'_>, name: String) -> Result<(), ProgramError> {
        let Some(access) = self.program.vectors.iter().find(|v| v.name == name).map(|v| v.access) else {
            let words: Vec<&str> = self.program.vectors.iter().map(|v| v.name.as_str()).chain(["let", "sum"]).collect();
            return Err(
                line.error_before(format!("'{name}' is not a vector of this program{}", nearest(&name, &words)))
            );
        };
        if access == Access::In {
            return Err(line.error_before(format!("'{name}' is declared in and cannot be assigned; declare it inout")));
        }
        line.expect("=", "after the vector")?;
        let value = self.complete_expression(line)?;
        if !self.assigned.contains(&name) {
            self.assigned.push(name.clone());
        }
        self.program.statements.push(Statement::Assign { vector: name, value });
        Ok(())
    }

    /// A name that is not yet used.
    fn new_name(&self, line: &mut Line<'_>) -> Result<String, ProgramError> {
        let name = line.word("a name")?;
        if RESERVED.contains(&name.as_str()) || name.starts_with("__") {
            return Err(line.error_before(format!("'{name}' is reserved; choose another name")));
        }
        if self.known().contains(&name.as_str()) || self.program.sums.contains(&name) || name == self.program.name {
            return Err(line.error_before(format!("'{name}' is declared already")));
        }
        Ok(name)
    }

    /// Names an expression may use.
    fn known(&self) -> Vec<&str> {
        let program = &self.program;
        let vectors = program.vectors.iter().map(|v| &v.name);
        let all = vectors.chain(&program.scalars).chain(&program.functions).chain(&self.lets);
        all.map(String::as_str).collect()
    }

    fn complete_expression(&self, line: &mut Line<'_>) -> Result<Expression, ProgramError> {
        let value = self.expression(line)?;
        line.end()?;
        Ok(value)
    }

    fn expression(&self, line: &mut Line<'_>) -> Result<Expression, ProgramError> {
        let mut left = self.term(line)?;
        loop {
            let operation = if line.accept("+") {
                Binary::Add
            } else if line.accept("-") {
                Binary::Subtract
            } else {
                return Ok(left);
            };
            left = Expression::Binary(operation, Box::new(left), Box::new(self.term(line)?));
        }
    }

    fn term(&self, line: &mut Line<'_>) -> Result<Expression, ProgramError> {
        let mut left = self.factor(line)?;
        loop {
            let operation = if line.accept("*") {
                Binary::Multiply
            } else if line.accept("/") {
                Binary::Divide
            } else {
                return Ok(left);
            };
            left = Expression::Binary(operation, Box::new(left), Box::new(self.factor(line)?));
        }
    }

    fn factor(&self, line: &mut Line<'_>) -> Result<Expression, ProgramError> {
        if line.accept("-") {
            return Ok(Expression::Negate(Box::new(self.factor(line)?)));
        }
        if line.accept("(") {
            let inner = self.expression(line)?;
            line.expect(")", "to close the parenthesis")?;
            return Ok(inner);
        }
        if let Some(Token::Number(value)) = line.peek() {
            let value = *value;
            line.at += 1;
            return Ok(Expression::Number(value));
        }
        let name = line.word("a number, a name or '('")?;
        if name == "select" {
            return self.select(line);
        }
        if let Some((function, _, count)) = Function::ALL.iter().find(|f| f.1 == name) {
            line.expect("(", &format!("after {name}"))?;
            let mut arguments = vec![self.expression(line)?];
            while arguments.len() < *count {
                line.expect(",", &format!("({name} takes {count} arguments)"))?;
                arguments.push(self.expression(line)?);
            }
            line.expect(")", &format!("({name} takes {count} arguments)"))?;
            return Ok(Expression::Call(*function, arguments));
        }
        self.readable(line, &name)?;
        Ok(Expression::Name(name))
    }

    fn select(&self, line: &mut Line<'_>) -> Result<Expression, ProgramError> {
        line.expect("(", "after select")?;
        let left = Box::new(self.expression(line)?);
        let comparison = if line.accept("<=") {
            Comparison::LessEqual
        } else {
            line.expect("<", "or '<=' in select(a < b, then, otherwise)")?;
            Comparison::Less
        };
        let right = Box::new(self.expression(line)?);
        line.expect(",", "in select(a < b, then, otherwise)")?;
        let then = Box::new(self.expression(line)?);
        line.expect(",", "in select(a < b, then, otherwise)")?;
        let otherwise = Box::new(self.expression(line)?);
        line.expect(")", "to close select")?;
        Ok(Expression::Select { comparison, left, right, then, otherwise })
    }

    fn readable(&self, line: &Line<'_>, name: &str) -> Result<(), ProgramError> {
        let known = self.known();
        if !known.contains(&name) {
            let hint = if self.program.sums.iter().any(|s| s == name) {
                "; a sum is known only after the run".into()
            } else {
                nearest(name, &known)
            };
            return Err(line.error_before(format!("unknown name '{name}'{hint}")));
        }
        let out = self.program.vectors.iter().any(|v| v.name == name && v.access == Access::Out);
        if out && !self.assigned.iter().any(|a| a == name) {
            return Err(
                line.error_before(format!("'{name}' is declared out and read before it is assigned; declare it inout"))
            );
        }
        Ok(())
    }

    fn finish(self) -> Result<VectorProgram, ProgramError> {
        let fail = |message: String| ProgramError {
            line: 1,
            column: 1,
            message,
            excerpt: self.program.source.lines().next().unwrap_or("").to_owned(),
        };
        if self.program.name.is_empty() {
            return Err(fail("the text is empty; expected 'program NAME' first".into()));
        }
        if self.program.vectors.is_empty() {
            return Err(fail("a program needs at least one vector".into()));
        }
        if self.program.statements.is_empty() {
            return Err(fail("a program needs at least one statement".into()));
        }
        for vector in &self.program.vectors {
            if vector.access != Access::In && !self.assigned.contains(&vector.name) {
                return Err(fail(format!("vector '{}' is never assigned; declare it in, or assign it", vector.name)));
            }
        }
        Ok(self.program)
    }
}

/// `; did you mean 'alpha'?`, if some name is close.
fn nearest(name: &str, known: &[&str]) -> String {
    let best = known.iter().map(|k| (distance(name, k), k)).min();
    match best {
        Some((d, k)) if d <= 1 + name.len() / 3 => format!("; did you mean '{k}'?"),
        _ if known.is_empty() => String::new(),
        _ => format!("; known are {}", known.join(", ")),
    }
}

/// Levenshtein distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let replaced = corner + usize::from(ca != *cb);
            corner = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}
