//! Coefficients, indices and what sums run over: Rust expressions without operators, evaluated.

use super::names::ParameterValue;
use super::scope::{Scope, Value, expected, real};
use eigenforge_grammar::parse::last_name;
use eigenforge_grammar::vocabulary;
use quote::ToTokens;
use syn::{
    BinOp, Block, Error, Expr, ExprCall, ExprCast, ExprIndex, ExprMethodCall, Lit, RangeLimits, Result, Stmt, UnOp,
};

impl Scope<'_> {
    pub(super) fn value(&self, expr: &Expr) -> Result<Value> {
        match expr {
            Expr::Paren(paren) => self.value(&paren.expr),
            Expr::Group(group) => self.value(&group.expr),
            Expr::Lit(literal) => match &literal.lit {
                Lit::Int(number) => Ok(Value::Integer(number.base10_parse()?)),
                Lit::Float(number) => Ok(Value::Number(number.base10_parse()?)),
                Lit::Bool(value) => Ok(Value::Bool(value.value)),
                other => Err(Error::new_spanned(other, "expected a number")),
            },
            Expr::Path(_) => match last_name(expr) {
                Some(name) => {
                    self.names.note(&name.to_string());
                    self.lookup(name)
                }
                None => Err(unknown(expr)),
            },
            Expr::Unary(unary) => match (&unary.op, self.value(&unary.expr)?) {
                (UnOp::Neg(_), Value::Integer(value)) => integer(value.checked_neg(), expr),
                (UnOp::Neg(_), value) => Ok(Value::Number(-real(value, &unary.expr)?)),
                (UnOp::Not(_), Value::Bool(value)) => Ok(Value::Bool(!value)),
                (_, value) => Err(expected("true or false", &unary.expr, &value)),
            },
            Expr::Binary(binary) => self.binary(&binary.left, &binary.op, &binary.right),
            Expr::Cast(cast) => self.cast(cast),
            Expr::Call(call) => self.call(call),
            Expr::If(choice) => match (self.condition(&choice.cond)?, &choice.else_branch) {
                (true, _) => self.block(&choice.then_branch, expr),
                (false, Some((_, other))) => self.value(other),
                (false, None) => Err(Error::new_spanned(expr, "expected `else` with the value for the other case")),
            },
            Expr::Block(block) => self.block(&block.block, expr),
            Expr::Index(index) => self.element(index),
            Expr::Array(array) => {
                let rows = |element: &Expr| match element {
                    Expr::Array(row) => {
                        row.elems.iter().map(|element| self.number(element)).collect::<Result<Vec<f64>>>()
                    }
                    Expr::Tuple(row) => {
                        row.elems.iter().map(|element| self.number(element)).collect::<Result<Vec<f64>>>()
                    }
                    other => Err(Error::new_spanned(other, "expected a list like the others, such as `[0, 1]`")),
                };
                if matches!(array.elems.first(), Some(Expr::Array(_) | Expr::Tuple(_))) {
                    return Ok(Value::Rows(array.elems.iter().map(rows).collect::<Result<_>>()?));
                }
                let values = array.elems.iter().map(|element| self.number(element)).collect::<Result<_>>()?;
                Ok(Value::List(values))
            }
            Expr::Range(range) => {
                let end = |side: &Option<Box<Expr>>| match side {
                    Some(side) => match self.value(side)? {
                        Value::Integer(value) => Ok(value),
                        other => Err(expected("an integer", side, &other)),
                    },
                    None => Err(Error::new_spanned(range, "expected both ends of the range, as in `0..4`")),
                };
                let (first, last) = (end(&range.start)?, end(&range.end)?);
                let closed = matches!(range.limits, RangeLimits::Closed(_));
                let last = last.saturating_add(i64::from(closed));
                let found = i128::from(last) - i128::from(first);
                if found > i128::from(MOST_INDICES) {
                    return Err(Error::new_spanned(
                        range,
                        format!("expected at most {MOST_INDICES} indices, found {found}"),
                    ));
                }
                Ok(Value::Indices((first..last).collect()))
            }
            Expr::MethodCall(call) => self.method(call),
            _ => Err(unknown(expr)),
        }
    }

    fn block(&self, block: &Block, whole: &Expr) -> Result<Value> {
        match block.stmts.as_slice() {
            [Stmt::Expr(value, None)] => self.value(value),
            _ => Err(Error::new_spanned(
                whole,
                "expected one value between braces, as in `if i == 0 { 1.0 } else { 0.5 }`",
            )),
        }
    }

    fn binary(&self, left: &Expr, operator: &BinOp, right: &Expr) -> Result<Value> {
        let (a, b) = (self.value(left)?, self.value(right)?);
        if let (Value::Bool(a), Value::Bool(b)) = (&a, &b) {
            return match operator {
                BinOp::And(_) => Ok(Value::Bool(*a && *b)),
                BinOp::Or(_) => Ok(Value::Bool(*a || *b)),
                BinOp::Eq(_) => Ok(Value::Bool(a == b)),
                BinOp::Ne(_) => Ok(Value::Bool(a != b)),
                _ => Err(Error::new_spanned(operator, "expected `&&`, `||`, `==` or `!=` between conditions")),
            };
        }
        if let (Value::Spin(a), Value::Spin(b)) = (&a, &b) {
            return match operator {
                BinOp::Eq(_) => Ok(Value::Bool(a == b)),
                BinOp::Ne(_) => Ok(Value::Bool(a != b)),
                _ => Err(Error::new_spanned(operator, "expected `==` or `!=` between spins")),
            };
        }
        if let (Value::Integer(a), Value::Integer(b)) = (&a, &b) {
            match operator {
                BinOp::Add(_) => return integer(a.checked_add(*b), right),
                BinOp::Sub(_) => return integer(a.checked_sub(*b), right),
                BinOp::Mul(_) => return integer(a.checked_mul(*b), right),
                BinOp::Rem(_) if *b == 0 => {
                    return Err(Error::new_spanned(right, "expected a number other than 0 behind `%`"));
                }
                BinOp::Rem(_) if *a < 0 || *b < 0 => {
                    let message = format!(
                        "`{a} % {b}` has another sign in other languages: add a multiple first, as in `(i + length - 1) % length`"
                    );
                    return Err(Error::new_spanned(left, message));
                }
                BinOp::Rem(_) => return Ok(Value::Integer(a % b)),
                BinOp::Lt(_) => return Ok(Value::Bool(a < b)),
                BinOp::Le(_) => return Ok(Value::Bool(a <= b)),
                BinOp::Gt(_) => return Ok(Value::Bool(a > b)),
                BinOp::Ge(_) => return Ok(Value::Bool(a >= b)),
                BinOp::Eq(_) => return Ok(Value::Bool(a == b)),
                BinOp::Ne(_) => return Ok(Value::Bool(a != b)),
                BinOp::Div(_) => {
                    let message =
                        format!("`{a} / {b}` would divide integers: write `{a}.0 / {b}.0`, or a decimal number");
                    return Err(Error::new_spanned(right, message));
                }
                _ => {}
            }
        }
        let (x, y) = (real(a, left)?, real(b, right)?);
        let finite = |value: f64| finite(value, right, || format!("{x} {} {y}", operator.to_token_stream()));
        Ok(match operator {
            BinOp::Add(_) => finite(x + y)?,
            BinOp::Sub(_) => finite(x - y)?,
            BinOp::Mul(_) => finite(x * y)?,
            BinOp::Div(_) if y == 0.0 => {
                return Err(Error::new_spanned(right, "expected a number other than 0 to divide by"));
            }
            BinOp::Div(_) => finite(x / y)?,
            BinOp::Rem(_) if x < 0.0 || y <= 0.0 => {
                let message = format!(
                    "expected positive numbers around `%`, found `{x} % {y}`, which has another sign in other languages"
                );
                return Err(Error::new_spanned(left, message));
            }
            BinOp::Rem(_) => Value::Number(x % y),
            BinOp::Lt(_) => Value::Bool(x < y),
            BinOp::Le(_) => Value::Bool(x <= y),
            BinOp::Gt(_) => Value::Bool(x > y),
            BinOp::Ge(_) => Value::Bool(x >= y),
            BinOp::Eq(_) => Value::Bool(x == y),
            BinOp::Ne(_) => Value::Bool(x != y),
            _ => return Err(Error::new_spanned(operator, "expected arithmetic or a comparison")),
        })
    }

    fn method(&self, call: &ExprMethodCall) -> Result<Value> {
        let (method, arguments) = (call.method.to_string(), call.args.iter().collect::<Vec<_>>());
        if last_name(&call.receiver).is_some_and(|name| name == "lattice") {
            return self.of_lattice(call, &method, &arguments);
        }
        let Some(expected) = vocabulary::function(&method) else {
            // What is no number is said before what is no method.
            self.value(&call.receiver)?;
            return Err(unknown_method(call));
        };
        if arguments.len() + 1 != expected {
            let message = format!("expected {} in `x.{method}(…)`, found {}", expected - 1, arguments.len());
            return Err(Error::new_spanned(call, message));
        }
        let all: Vec<&Expr> = std::iter::once(&*call.receiver).chain(arguments).collect();
        self.function(&method, &all)
    }

    /// `cos(x)`.
    fn call(&self, call: &ExprCall) -> Result<Value> {
        let name = last_name(&call.func).filter(|_| matches!(&*call.func, Expr::Path(_))).map(ToString::to_string);
        let Some(name) = name else { return Err(unknown(&Expr::Call(call.clone()))) };
        let arguments: Vec<&Expr> = call.args.iter().collect();
        match vocabulary::function(&name) {
            Some(expected) if expected == arguments.len() => self.function(&name, &arguments),
            Some(expected) => {
                let message = format!("expected {expected} numbers in `{name}`, found {}", arguments.len());
                Err(Error::new_spanned(call, message))
            }
            None => Err(Error::new_spanned(call, no_function(&name))),
        }
    }

    /// A function of numbers; of integers where its value is one.
    fn function(&self, name: &str, arguments: &[&Expr]) -> Result<Value> {
        let values = arguments.iter().map(|argument| self.value(argument)).collect::<Result<Vec<_>>>()?;
        let place = arguments[0];
        let whole = |value: Option<i64>| integer(value, place);
        match (name, &values[..]) {
            ("abs", [Value::Integer(x)]) => return whole(x.checked_abs()),
            ("min", [Value::Integer(x), Value::Integer(y)]) => return Ok(Value::Integer(*x.min(y))),
            ("max", [Value::Integer(x), Value::Integer(y)]) => return Ok(Value::Integer(*x.max(y))),
            ("powi", [Value::Integer(x), Value::Integer(n)]) if *n >= 0 => {
                return whole(u32::try_from(*n).ok().and_then(|n| x.checked_pow(n)));
            }
            ("powi", [x, Value::Integer(n)]) => {
                let x = real(x.clone(), place)?;
                let n =
                    i32::try_from(*n).map_err(|_| Error::new_spanned(arguments[1], "expected a smaller exponent"))?;
                return finite(x.powi(n), place, || format!("powi({x}, {n})"));
            }
            ("powi", [_, other]) => {
                let message =
                    format!("expected an integer exponent of `powi`, found {}: write `powf`, or `x ^ y`", other.kind());
                return Err(Error::new_spanned(arguments[1], message));
            }
            _ => {}
        }
        let numbers =
            values.into_iter().zip(arguments).map(|(value, place)| real(value, place)).collect::<Result<Vec<f64>>>()?;
        let value = match (name, &numbers[..]) {
            ("powf", [x, y]) => x.powf(*y),
            ("min", [x, y]) => x.min(*y),
            ("max", [x, y]) => x.max(*y),
            ("atan2", [x, y]) => x.atan2(*y),
            ("hypot", [x, y]) => x.hypot(*y),
            ("abs", [x]) => x.abs(),
            ("sqrt", [x]) => x.sqrt(),
            ("cbrt", [x]) => x.cbrt(),
            ("exp", [x]) => x.exp(),
            ("ln", [x]) => x.ln(),
            ("log2", [x]) => x.log2(),
            ("log10", [x]) => x.log10(),
            ("sin", [x]) => x.sin(),
            ("cos", [x]) => x.cos(),
            ("tan", [x]) => x.tan(),
            ("asin", [x]) => x.asin(),
            ("acos", [x]) => x.acos(),
            ("atan", [x]) => x.atan(),
            ("sinh", [x]) => x.sinh(),
            ("cosh", [x]) => x.cosh(),
            ("tanh", [x]) => x.tanh(),
            ("floor", [x]) => x.floor(),
            ("ceil", [x]) => x.ceil(),
            ("round", [x]) => x.round(),
            ("trunc", [x]) => x.trunc(),
            ("recip", [x]) => x.recip(),
            _ => return Err(Error::new_spanned(place, no_function(name))),
        };
        finite(value, place, || {
            let numbers: Vec<String> = numbers.iter().map(f64::to_string).collect();
            format!("{name}({})", numbers.join(", "))
        })
    }

    /// `x as f64`, and the integers that Rust and CUDA agree on.
    fn cast(&self, cast: &ExprCast) -> Result<Value> {
        let (target, value) = (cast.ty.to_token_stream().to_string(), self.value(&cast.expr)?);
        let whole = match (target.as_str(), value) {
            ("f64", value @ (Value::Number(_) | Value::Integer(_))) => {
                return real(value, &cast.expr).map(Value::Number);
            }
            ("i32" | "i64" | "isize" | "usize", Value::Number(value)) if value.is_finite() => value.trunc(),
            ("i32" | "i64" | "isize" | "usize", Value::Integer(value)) => value as f64,
            ("i32" | "i64" | "isize" | "usize", Value::Bool(value)) => f64::from(u8::from(value)),
            (_, value) => {
                let message = format!(
                    "expected a number and `as f64`, `i64`, `i32`, `isize` or `usize`, found {} `as {target}`",
                    value.kind()
                );
                return Err(Error::new_spanned(cast, message));
            }
        };
        let (least, most) = match target.as_str() {
            "i32" => (f64::from(i32::MIN), f64::from(i32::MAX)),
            "usize" => (0.0, i64::MAX as f64),
            _ => (i64::MIN as f64, i64::MAX as f64),
        };
        match (least..=most).contains(&whole) {
            true => Ok(Value::Integer(whole as i64)),
            false => Err(Error::new_spanned(cast, format!("expected a number that {target} has, found {whole}"))),
        }
    }

    /// `u[i]`, `j[p][q]`.
    fn element(&self, index: &ExprIndex) -> Result<Value> {
        self.indexed(index, true)
    }

    /// The same; `whole` where all columns of a list of lists are read.
    fn indexed(&self, index: &ExprIndex, whole: bool) -> Result<Value> {
        let place = &*index.index;
        let at = match self.value(place)? {
            Value::Integer(at) => at,
            other => return Err(expected("an integer index", place, &other)),
        };
        let number = |values: &[f64]| {
            let value = usize::try_from(at).ok().and_then(|at| values.get(at)).copied();
            value.map(Value::Number).ok_or_else(|| outside(at, values.len(), place))
        };
        let row = |rows: &[Vec<f64>]| {
            let row = usize::try_from(at).ok().and_then(|at| rows.get(at)).cloned();
            row.map(Value::List).ok_or_else(|| outside(at, rows.len(), place))
        };
        let read = usize::try_from(at).unwrap_or(0).saturating_add(1);
        if let Some((name, parameter)) = self.parameter_of(&index.expr) {
            return match parameter {
                ParameterValue::One(value) => {
                    self.names.read(name, usize::MAX);
                    Ok(Value::Number(*value))
                }
                ParameterValue::List(values) => {
                    self.names.read(name, read);
                    number(values)
                }
                ParameterValue::Rows(rows) => {
                    self.names.read(name, read);
                    self.names.read_columns(name, if whole { usize::MAX } else { 0 });
                    row(rows)
                }
            };
        }
        // `j[p][q]`: the second index.
        if let Expr::Index(first) = &*index.expr
            && let Some((name, parameter)) = self.parameter_of(&first.expr)
        {
            match parameter {
                // One number for all pairs.
                ParameterValue::One(_) => return self.indexed(first, false),
                ParameterValue::Rows(_) => {
                    self.names.read_columns(name, read);
                    return match self.indexed(first, false)? {
                        Value::List(values) => number(&values),
                        other => Err(expected("a list in front of an index", &index.expr, &other)),
                    };
                }
                ParameterValue::List(values) => {
                    let message = format!(
                        "expected one index, `{name}[i]`, because `{name}` is a list of {} numbers, found a second: pairs need a list of lists",
                        values.len()
                    );
                    return Err(Error::new_spanned(place, message));
                }
            }
        }
        match self.value(&index.expr)? {
            Value::List(values) => number(&values),
            Value::Rows(rows) => row(&rows),
            other => Err(expected("a list in front of an index", &index.expr, &other)),
        }
    }

    /// The parameter that an expression names, unless a sum binds the name.
    fn parameter_of(&self, expr: &Expr) -> Option<(&str, &ParameterValue)> {
        let Expr::Path(_) = expr else { return None };
        let name = last_name(expr)?.to_string();
        if self.is_bound(&name) {
            return None;
        }
        self.names.parameters().find(|(known, _)| *known == name)
    }

    fn of_lattice(&self, call: &ExprMethodCall, method: &str, arguments: &[&Expr]) -> Result<Value> {
        let Some(lattice) = self.names.lattice else {
            return Err(Error::new_spanned(
                call,
                "there is no lattice here: a molecule has `sites`, its orbitals, and no bonds",
            ));
        };
        match (method, arguments) {
            ("sites", []) => Ok(Value::Indices((0..self.names.kinds.len() as i64).collect())),
            ("bonds", []) => Ok(Value::Bonds(lattice.bonds().to_vec())),
            ("bonds_at", [shell]) => match self.value(shell)? {
                Value::Integer(number) => {
                    let sites = self.names.kinds.len();
                    let known = usize::try_from(number).ok().filter(|number| (1..=sites).contains(number));
                    let bonds = known.map(|number| lattice.bonds_at(number)).filter(|bonds| !bonds.is_empty());
                    bonds.map(Value::Bonds).ok_or_else(|| {
                        let message = format!(
                            "expected the number of a shell that these {sites} sites have, from 1 for nearest neighbours, found {number}"
                        );
                        Error::new_spanned(shell, message)
                    })
                }
                other => Err(expected("the number of a shell, from 1 for nearest neighbours", shell, &other)),
            },
            ("neighbors", [site]) => {
                Ok(Value::Indices(lattice.neighbors(self.site(site)?).into_iter().map(|site| site as i64).collect()))
            }
            ("x", [site]) => Ok(Value::Number(lattice.x(self.site(site)?))),
            ("y", [site]) => Ok(Value::Number(lattice.y(self.site(site)?))),
            ("distance", [i, j]) => Ok(Value::Number(lattice.distance(self.site(i)?, self.site(j)?))),
            _ => Err(Error::new_spanned(
                call,
                "expected `lattice.sites()`, `bonds()`, `bonds_at(shell)`, `neighbors(i)`, `x(i)`, `y(i)` or `distance(i, j)`",
            )),
        }
    }
}

/// The result of arithmetic, if it is a number and not too large for one.
fn finite(value: f64, place: &Expr, written: impl FnOnce() -> String) -> Result<Value> {
    match value.is_finite() {
        true => Ok(Value::Number(value)),
        false => {
            Err(Error::new_spanned(place, format!("expected a real number, found `{}`, which is {value}", written())))
        }
    }
}

/// The result of integer arithmetic, if there is one.
fn integer(value: Option<i64>, place: &Expr) -> Result<Value> {
    value
        .map(Value::Integer)
        .ok_or_else(|| Error::new_spanned(place, "these integers have no integer result of 64 bits"))
}

/// Indices of one domain.
const MOST_INDICES: i64 = 1 << 20;

fn unknown(expr: &Expr) -> Error {
    Error::new_spanned(
        expr,
        "expected a number: a literal, a name, arithmetic, a comparison, `if … { a } else { b }`, `u[i]`, or a function such as `cos(x)`",
    )
}

fn unknown_method(call: &ExprMethodCall) -> Error {
    Error::new_spanned(&call.method, format!("expected one of the methods {} of a number", function_names()))
}

fn function_names() -> String {
    vocabulary::FUNCTIONS.map(|(name, _)| name).join(", ")
}

/// What to say of a call that is no function.
fn no_function(name: &str) -> String {
    match name {
        "log" => "expected `ln(x)`, or `log10(x)`, found `log`, which is either of them in other languages".into(),
        "pow" => "expected `x ^ y`, found `pow`".into(),
        _ => format!(
            "there is no function `{name}`: expected one of {}; a product is written `{name} * (…)`",
            function_names()
        ),
    }
}

fn outside(at: i64, length: usize, place: &Expr) -> Error {
    let message = match length {
        0 => format!("expected an element of a list, found index {at} of an empty one"),
        length => format!("expected an index from 0 to {}, found {at}", length - 1),
    };
    Error::new_spanned(place, message)
}
