//! Coefficients, indices and what sums run over: Rust expressions without operators, evaluated.

use super::Names;
use crate::lattice::Bond;
use crate::operator::{SiteKind, Spin};
use eigenforge_grammar::parse::last_name;
use quote::ToTokens;
use syn::{BinOp, Block, Error, Expr, ExprMethodCall, Ident, Lit, RangeLimits, Result, Stmt, Type, UnOp};

/// What an expression is.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Number(f64),
    Integer(i64),
    Bool(bool),
    Spin(Spin),
    List(Vec<f64>),
    Indices(Vec<i64>),
    Bonds(Vec<Bond>),
}

impl Value {
    fn kind(&self) -> &'static str {
        match self {
            Value::Number(_) => "a real number",
            Value::Integer(_) => "an integer",
            Value::Bool(_) => "true or false",
            Value::Spin(_) => "a spin",
            Value::List(_) => "a list of numbers",
            Value::Indices(_) => "a list of indices",
            Value::Bonds(_) => "a list of bonds",
        }
    }
}

/// The names that are bound at a place of the text.
pub(super) struct Scope<'a> {
    pub names: &'a Names<'a>,
    bound: Vec<(String, Value)>,
}

/// The names of sites that no sum has to bind.
pub(super) const FREE: [&str; 2] = ["i", "j"];

impl<'a> Scope<'a> {
    /// With `i`, or `i` and `j`, standing for these sites.
    pub(super) fn new(names: &'a Names<'a>, free: &[usize]) -> Scope<'a> {
        let bound = FREE.iter().zip(free).map(|(name, site)| ((*name).to_string(), Value::Integer(*site as i64)));
        Scope { names, bound: bound.collect() }
    }

    pub(super) fn bind(&mut self, name: &Ident, value: Value) {
        self.bound.push((name.to_string(), value));
    }

    pub(super) fn bound(&self) -> usize {
        self.bound.len()
    }

    pub(super) fn forget(&mut self, down_to: usize) {
        self.bound.truncate(down_to);
    }

    /// What a name stands for.
    fn lookup(&self, name: &Ident) -> Result<Value> {
        let text = name.to_string();
        if let Some((_, value)) = self.bound.iter().rev().find(|(bound, _)| *bound == text) {
            return Ok(value.clone());
        }
        if let Some((_, values)) = self.names.parameters.iter().find(|(known, _)| *known == text) {
            return Ok(match values.as_slice() {
                [value] => Value::Number(*value),
                values => Value::List(values.to_vec()),
            });
        }
        match text.as_str() {
            "Up" => return Ok(Value::Spin(Spin::Up)),
            "Down" => return Ok(Value::Spin(Spin::Down)),
            "PI" => return Ok(Value::Number(std::f64::consts::PI)),
            "sites" => return Ok(Value::Indices((0..self.names.kinds.len() as i64).collect())),
            "bonds" => return self.bonds(name).map(Value::Bonds),
            _ => {}
        }
        let parameters: Vec<&str> = self.names.parameters.iter().map(|(name, _)| name.as_str()).collect();
        let parameters = match parameters.is_empty() {
            true => String::new(),
            false => format!("; the model's parameters are {}", parameters.join(", ")),
        };
        let hint = if text == "j" { "; the first free index of a site is `i`, the second `j`" } else { "" };
        Err(Error::new(
            name.span(),
            format!(
                "unknown name `{text}`: expected an index of a sum, a free site `i` or `j`, `PI`, `sites` or `bonds`{parameters}{hint}"
            ),
        ))
    }

    fn bonds(&self, place: impl ToTokens) -> Result<Vec<Bond>> {
        let none = || {
            Error::new_spanned(place, "there is no lattice here: a molecule has `sites`, its orbitals, and no bonds")
        };
        self.names.lattice.map(|lattice| lattice.bonds().to_vec()).ok_or_else(none)
    }

    /// The bonds of a domain.
    pub(super) fn bond_list(&self, source: &Expr) -> Result<Vec<Bond>> {
        match self.value(source)? {
            Value::Bonds(bonds) => Ok(bonds),
            other => Err(expected("bonds: `bonds` or `lattice.bonds_at(2)`", source, &other)),
        }
    }

    /// The indices of a domain.
    pub(super) fn index_list(&self, source: &Expr) -> Result<Vec<i64>> {
        match self.value(source)? {
            Value::Indices(indices) => Ok(indices),
            Value::List(values) if values.iter().all(|value| value.fract() == 0.0) => {
                Ok(values.iter().map(|value| *value as i64).collect())
            }
            other => Err(expected("indices: `sites`, a range such as `0..4`, or a list", source, &other)),
        }
    }

    /// A real number.
    pub(super) fn number(&self, expr: &Expr) -> Result<f64> {
        real(self.value(expr)?, expr)
    }

    /// A site that is there.
    pub(super) fn site(&self, expr: &Expr) -> Result<usize> {
        let sites = self.names.kinds.len();
        match self.value(expr)? {
            Value::Integer(site) if site >= 0 && (site as u64) < sites as u64 => Ok(site as usize),
            Value::Integer(site) => Err(Error::new_spanned(
                expr,
                format!("expected a site from 0 to {}, found {site}", sites.saturating_sub(1)),
            )),
            other => Err(expected("a site", expr, &other)),
        }
    }

    /// A spin.
    pub(super) fn spin(&self, expr: &Expr) -> Result<Spin> {
        match self.value(expr)? {
            Value::Spin(spin) => Ok(spin),
            other => Err(expected("a spin, `Up` or `Down`", expr, &other)),
        }
    }

    /// A flavour of the sites, by its number.
    pub(super) fn flavour(&self, expr: &Expr) -> Result<Spin> {
        let flavours = |kind: &SiteKind| if let SiteKind::Flavours(flavours) = kind { *flavours } else { 0 };
        let flavours = self.names.kinds.iter().map(flavours).max().unwrap_or(0);
        if flavours == 0 {
            return Err(Error::new_spanned(
                expr,
                "expected `Up` or `Down`, found a flavour: these sites carry electrons",
            ));
        }
        match self.value(expr)? {
            Value::Integer(number) if (0..flavours as i64).contains(&number) => Ok(Spin::flavour(number as usize)),
            Value::Integer(number) => {
                Err(Error::new_spanned(expr, format!("expected a flavour from 0 to {}, found {number}", flavours - 1)))
            }
            other => Err(expected("the number of a flavour", expr, &other)),
        }
    }

    /// A condition.
    pub(super) fn condition(&self, expr: &Expr) -> Result<bool> {
        match self.value(expr)? {
            Value::Bool(value) => Ok(value),
            other => Err(expected("a condition, such as `i < j`", expr, &other)),
        }
    }

    fn value(&self, expr: &Expr) -> Result<Value> {
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
                Some(name) => self.lookup(name),
                None => Err(unknown(expr)),
            },
            Expr::Unary(unary) => match (&unary.op, self.value(&unary.expr)?) {
                (UnOp::Neg(_), Value::Integer(value)) => integer(value.checked_neg(), expr),
                (UnOp::Neg(_), value) => Ok(Value::Number(-real(value, &unary.expr)?)),
                (UnOp::Not(_), Value::Bool(value)) => Ok(Value::Bool(!value)),
                (_, value) => Err(expected("true or false", &unary.expr, &value)),
            },
            Expr::Binary(binary) => self.binary(&binary.left, &binary.op, &binary.right),
            Expr::Cast(cast) => {
                let float = matches!(&*cast.ty, Type::Path(path) if path.path.is_ident("f64"));
                match (float, self.value(&cast.expr)?) {
                    (true, Value::Integer(value)) => Ok(Value::Number(value as f64)),
                    (false, Value::Number(value)) => Ok(Value::Integer(value as i64)),
                    (false, Value::Bool(value)) => Ok(Value::Integer(value.into())),
                    (_, value) => Ok(value),
                }
            }
            Expr::If(choice) => match (self.condition(&choice.cond)?, &choice.else_branch) {
                (true, _) => self.block(&choice.then_branch, expr),
                (false, Some((_, other))) => self.value(other),
                (false, None) => Err(Error::new_spanned(expr, "expected `else` with the value for the other case")),
            },
            Expr::Block(block) => self.block(&block.block, expr),
            Expr::Index(index) => match (self.value(&index.expr)?, self.value(&index.index)?) {
                (Value::List(values), Value::Integer(at)) => {
                    let value = usize::try_from(at).ok().and_then(|at| values.get(at));
                    let outside = || match values.len() {
                        0 => format!("expected an element of a list, found index {at} of an empty one"),
                        length => format!("expected an index from 0 to {}, found {at}", length - 1),
                    };
                    value.map(|value| Value::Number(*value)).ok_or_else(|| Error::new_spanned(&index.index, outside()))
                }
                // A parameter that is one number for all sites or bonds.
                (Value::Number(value), Value::Integer(_)) => Ok(Value::Number(value)),
                (Value::List(_), other) => Err(expected("an integer index", &index.index, &other)),
                (other, _) => Err(expected("a list", &index.expr, &other)),
            },
            Expr::Array(array) => {
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
                if last.saturating_sub(first) > MOST_INDICES {
                    let found = last.saturating_sub(first);
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
                BinOp::Rem(_) => return integer(a.checked_rem_euclid(*b), right),
                BinOp::Div(_) => {
                    let message =
                        format!("`{a} / {b}` would divide integers: write `{a}.0 / {b}.0`, or a decimal number");
                    return Err(Error::new_spanned(right, message));
                }
                _ => {}
            }
        }
        let (x, y) = (real(a, left)?, real(b, right)?);
        Ok(match operator {
            BinOp::Add(_) => Value::Number(x + y),
            BinOp::Sub(_) => Value::Number(x - y),
            BinOp::Mul(_) => Value::Number(x * y),
            BinOp::Div(_) => Value::Number(x / y),
            BinOp::Rem(_) => Value::Number(x.rem_euclid(y)),
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
        let x = self.number(&call.receiver)?;
        let one = |name: &str| match arguments[..] {
            [argument] => self.number(argument),
            _ => Err(Error::new_spanned(call, format!("expected one number, as in `x.{name}(2.0)`"))),
        };
        let value = match method.as_str() {
            "powi" => x.powi(one("powi")? as i32),
            "powf" => x.powf(one("powf")?),
            "min" => x.min(one("min")?),
            "max" => x.max(one("max")?),
            _ if !arguments.is_empty() => return Err(unknown_method(call)),
            "abs" => x.abs(),
            "sqrt" => x.sqrt(),
            "exp" => x.exp(),
            "ln" => x.ln(),
            "sin" => x.sin(),
            "cos" => x.cos(),
            "tan" => x.tan(),
            "floor" => x.floor(),
            _ => return Err(unknown_method(call)),
        };
        Ok(Value::Number(value))
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
                Value::Integer(shell) if (1..=self.names.kinds.len() as i64).contains(&shell) => {
                    Ok(Value::Bonds(lattice.bonds_at(shell as usize)))
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

/// A value as a real number; a list stands for one if all its numbers are equal.
fn real(value: Value, place: &Expr) -> Result<f64> {
    match value {
        Value::Number(value) => Ok(value),
        Value::Integer(value) => Ok(value as f64),
        Value::List(values) if values.windows(2).all(|pair| pair[0] == pair[1]) && !values.is_empty() => Ok(values[0]),
        Value::List(values) => Err(Error::new_spanned(
            place,
            format!(
                "expected a number, found a list of {} that differ: write which one, as in `{}[i]`",
                values.len(),
                place.to_token_stream()
            ),
        )),
        other => Err(expected("a real number", place, &other)),
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

fn expected(what: &str, place: &Expr, found: &Value) -> Error {
    Error::new_spanned(place, format!("expected {what}, found {}", found.kind()))
}

fn unknown(expr: &Expr) -> Error {
    Error::new_spanned(
        expr,
        "expected a number: a literal, a name, arithmetic, a comparison, `if … { a } else { b }`, `u[i]`, or a method such as `.cos()`",
    )
}

fn unknown_method(call: &ExprMethodCall) -> Error {
    Error::new_spanned(
        &call.method,
        "expected one of the methods abs, sqrt, exp, ln, sin, cos, tan, floor, powi, powf, min, max of a number",
    )
}
