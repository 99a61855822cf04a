//! A real Rust expression → CUDA text with the same value, and the list of what it needs from outside.
//!
//! Integers stay integers (division truncates in both languages), f64 stays double, the order of operations is the one
//! written. Refused, because the two languages would differ or CUDA has no such thing: f32 arithmetic, casts other
//! than to f64, i32, i64, isize and usize, unsigned casts of floats, integer `!` and `pow`, calls of functions, blocks
//! with statements, `match`, closures, ranges, strings. Loop variables are `int` in CUDA and usize in Rust: a
//! difference of indices must not become negative, as everywhere in Rust (`abs_diff`, or cast first).

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{BinOp, Block, Error, Expr, ExprIf, ExprPath, Lit, Member, Result, Stmt, UnOp};

use super::functions;
use super::text::{self, Precedence, Text};
use crate::parse::{Kind, Scope, unwrap_parens};
use crate::vocabulary::Spin;

/// A value that the CUDA text refers to by name.
#[derive(Clone, Debug)]
pub struct Capture {
    /// Its name in the CUDA text.
    pub name: String,
    /// The Rust expression that gives it.
    pub value: TokenStream,
}

/// Translates the expressions of one sum and remembers what they capture.
pub struct Translator<'s> {
    /// The names in sight.
    pub scope: &'s Scope,
    /// Captured values in order of first use.
    pub captures: Vec<Capture>,
    /// Values that differ from summand to summand and are computed in Rust: elements of integral tables.
    pub columns: Vec<Capture>,
}

/// The error of an expression without CUDA translation.
pub fn untranslatable(tokens: &impl ToTokens, why: &str) -> Error {
    Error::new_spanned(tokens, format!("no CUDA translation of this expression: {why}"))
}

const BEFOREHAND: &str = "compute it before the sum, with `let` or into a slice of one value a site, and use that here";

impl<'s> Translator<'s> {
    /// A translator for the expressions of one sum.
    pub fn new(scope: &'s Scope) -> Translator<'s> {
        Translator { scope, captures: Vec::new(), columns: Vec::new() }
    }

    /// The CUDA text of `expr`.
    pub fn expression(&mut self, expr: &Expr) -> Result<Text> {
        match expr {
            Expr::Paren(paren) => self.expression(&paren.expr),
            Expr::Group(group) => self.expression(&group.expr),
            Expr::Reference(reference) if reference.mutability.is_none() => self.expression(&reference.expr),
            Expr::Lit(literal) => number(&literal.lit),
            Expr::Path(path) => self.path(path),
            Expr::Field(_) => self.captured(expr),
            Expr::Index(index) => {
                // A matrix stays in Rust: each summand carries its own element.
                if let Expr::Index(row) = unwrap_parens(&index.expr) {
                    return self.element(&row.expr, "", [&*row.index, &*index.index], expr);
                }
                if let Expr::Array(pair) = unwrap_parens(&index.index) {
                    return self.element(&index.expr, "", &pair.elems, expr);
                }
                let array = self.captured(unwrap_parens(&index.expr))?;
                let position = self.expression(&index.index)?;
                if !matches!(position.kind, Kind::Integer | Kind::Unknown) {
                    return Err(untranslatable(
                        &index.index,
                        "an element is chosen by one integer, as in `u[i]` or `v[i * columns + j]`",
                    ));
                }
                let kind = match array.kind {
                    Kind::Array(element) => *element,
                    _ => Kind::Unknown,
                };
                if matches!(kind, Kind::Array(_)) {
                    return Err(untranslatable(
                        expr,
                        "a row is no number: an element has two indices, as in `j[p][q]`",
                    ));
                }
                Ok(Text::atom(format!("{}[{}]", array.text, position.text), kind))
            }
            Expr::Unary(unary) => {
                let operand = self.expression(&unary.expr)?;
                match unary.op {
                    UnOp::Neg(_) => {
                        refuse_single(&operand, expr)?;
                        Ok(Text::negative(&operand))
                    }
                    UnOp::Deref(_) => Ok(operand),
                    UnOp::Not(_) if operand.kind == Kind::Bool => Ok(Text {
                        text: format!("!{}", operand.parenthesised(Precedence::Unary)),
                        precedence: Precedence::Unary,
                        kind: Kind::Bool,
                    }),
                    _ => Err(untranslatable(
                        expr,
                        "`!` stands for conditions only, and this is not known to be one: write a comparison",
                    )),
                }
            }
            Expr::Binary(binary) => {
                let (left, right) = (self.expression(&binary.left)?, self.expression(&binary.right)?);
                operation(&binary.op, &left, &right, expr)
            }
            Expr::Cast(cast) => {
                let operand = self.expression(&cast.expr)?;
                let target = cast.ty.to_token_stream().to_string();
                let (cuda, kind) = match target.as_str() {
                    "f64" => ("double", Kind::Float),
                    "i32" => ("int", Kind::Integer),
                    "i64" | "isize" => ("long long", Kind::Integer),
                    "usize" if operand.kind != Kind::Float => ("long long", Kind::Integer),
                    "usize" => {
                        return Err(untranslatable(
                            expr,
                            "a negative number becomes 0 in Rust and stays negative in CUDA: cast to i64",
                        ));
                    }
                    _ => {
                        return Err(untranslatable(
                            expr,
                            &format!("expected a cast to f64, i32, i64, isize or usize, found `as {target}`"),
                        ));
                    }
                };
                Ok(Text {
                    text: format!("({cuda}){}", operand.parenthesised(Precedence::Unary)),
                    precedence: Precedence::Unary,
                    kind,
                })
            }
            Expr::If(branch) => self.branch(branch),
            Expr::Block(block) if block.label.is_none() => self.block(&block.block),
            Expr::MethodCall(call) => functions::method(self, call),
            Expr::Call(call) => functions::call(self, call),
            Expr::Macro(_) => Err(untranslatable(
                expr,
                "macros are not expanded here: a sum or product of operators stands outside of functions and conditions",
            )),
            Expr::Match(_) => Err(untranslatable(expr, "expected `if .. { } else { }`, found `match`")),
            _ => Err(untranslatable(expr, BEFOREHAND)),
        }
    }

    fn path(&mut self, path: &ExprPath) -> Result<Text> {
        let names: Vec<String> = path.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let last = names.last().map_or("", String::as_str);
        if let Some(spin) = Spin::named(last) {
            return Ok(Text::atom(if spin == Spin::Up { "0" } else { "1" }, Kind::Spin));
        }
        if path.path.is_ident("PI") {
            return Ok(Text::atom(format!("{:?}", std::f64::consts::PI), Kind::Float));
        }
        if let Some(name) = path.path.get_ident()
            && let Some(role) = self.scope.role(name)
        {
            return Ok(Text::atom(text::name(last), role.kind()));
        }
        if names.len() > 1 && names[names.len() - 2] == "consts" {
            return match functions::constant(last) {
                Some(value) => Ok(Text::atom(format!("{value:?}"), Kind::Float)),
                None => Err(untranslatable(path, "this constant is not known here: bind it with `let` before the sum")),
            };
        }
        self.captured(&Expr::Path(path.clone()))
    }

    /// A value from outside: a name, or fields of one.
    fn captured(&mut self, expr: &Expr) -> Result<Text> {
        let expr = unwrap_parens(expr);
        let name = self.captured_name(expr)?;
        let kind = match expr {
            Expr::Path(path) => path.path.get_ident().map_or(Kind::Unknown, |name| self.scope.kind(name)),
            Expr::Field(field) => self.field_kind(field),
            _ => Kind::Unknown,
        };
        if kind == Kind::Operator {
            return Err(untranslatable(
                expr,
                "an operator cannot be part of a coefficient: add or multiply it outside `sum!`",
            ));
        }
        self.capture(expr, name, quote!(#expr), kind)
    }

    fn captured_name(&self, expr: &Expr) -> Result<String> {
        match expr {
            Expr::Path(path) if path.qself.is_none() => {
                if let Some(name) = path.path.get_ident()
                    && self.scope.role(name).is_some()
                {
                    return Err(untranslatable(
                        expr,
                        "an index of the sum is a number: it has no elements and no fields",
                    ));
                }
                let segments: Vec<String> = path.path.segments.iter().map(|s| s.ident.to_string()).collect();
                Ok(text::name(&segments.join("_")))
            }
            Expr::Field(field) => {
                let base = self.captured_name(unwrap_parens(&field.base))?;
                let member = match &field.member {
                    Member::Named(name) => name.to_string(),
                    Member::Unnamed(index) => index.index.to_string(),
                };
                Ok(format!("{base}_{}", member.strip_prefix("r#").unwrap_or(&member)))
            }
            Expr::Unary(unary) if matches!(unary.op, UnOp::Deref(_)) => self.captured_name(unwrap_parens(&unary.expr)),
            Expr::Reference(reference) => self.captured_name(unwrap_parens(&reference.expr)),
            _ => Err(untranslatable(expr, BEFOREHAND)),
        }
    }

    /// What is known of the fields of integrals.
    fn field_kind(&self, field: &syn::ExprField) -> Kind {
        let Expr::Path(base) = unwrap_parens(&field.base) else { return Kind::Unknown };
        let of_integrals = base.path.get_ident().is_some_and(|name| self.scope.kind(name) == Kind::Integrals);
        match &field.member {
            Member::Named(name) if of_integrals && name == "core" => Kind::Float,
            Member::Named(name) if of_integrals && name == "orbitals" => Kind::Integer,
            _ => Kind::Unknown,
        }
    }

    /// An element of a table that stays in Rust: each summand carries its own value, under the name of the call,
    /// `integrals.two(p, q, r, t)` → `integrals_two_p_q_r_t`, `j[p][q]` → `j_p_q`. A table of (pq|rs) would not fit constant memory.
    pub fn element<'e>(
        &mut self,
        table: &Expr,
        method: &str,
        indices: impl IntoIterator<Item = &'e Expr>,
        value: &Expr,
    ) -> Result<Text> {
        let indices = indices.into_iter().map(|index| index.to_token_stream().to_string());
        let words = identifier(&text::name(&indices.collect::<Vec<_>>().join("_")));
        let parts = [self.captured_name(unwrap_parens(table))?, method.into(), words];
        let name = parts.iter().filter(|part| !part.is_empty()).map(String::as_str).collect::<Vec<_>>().join("_");
        let value = super::expression::rust(value).to_token_stream();
        match self.columns.iter().chain(&self.captures).find(|known| known.name == name) {
            Some(known) if known.value.to_string() != value.to_string() => {
                return Err(same_name(&value, known, &value));
            }
            Some(_) => {}
            None => self.columns.push(Capture { name: name.clone(), value: value.clone() }),
        }
        Ok(Text::atom(name, Kind::Float))
    }

    /// Remembers a captured value under its name.
    fn capture(&mut self, at: &impl ToTokens, name: String, value: TokenStream, kind: Kind) -> Result<Text> {
        let taken = self.scope.variables.iter().any(|(variable, _)| text::name(&variable.to_string()) == name);
        match self.captures.iter().chain(&self.columns).find(|known| known.name == name) {
            Some(known) if known.value.to_string() != value.to_string() => {
                return Err(same_name(at, known, &value));
            }
            _ if taken => {
                return Err(untranslatable(
                    at,
                    &format!(
                        "`{value}` would be called `{name}`, like an index of this sum: bind it to another name with `let`"
                    ),
                ));
            }
            Some(_) => {}
            None => self.captures.push(Capture { name: name.clone(), value }),
        }
        Ok(Text::atom(name, kind))
    }

    /// A value of `object` that is handed over under the object's name and a suffix, such as `lattice_x`.
    pub fn property(&mut self, object: &Expr, suffix: &str, value: TokenStream, kind: Kind) -> Result<Text> {
        let object = unwrap_parens(object);
        let name = format!("{}_{suffix}", self.captured_name(object)?);
        self.capture(object, name, value, kind)
    }

    fn branch(&mut self, branch: &ExprIf) -> Result<Text> {
        if matches!(&*branch.cond, Expr::Let(_)) {
            return Err(untranslatable(&branch.cond, "expected a condition, found a pattern"));
        }
        let Some((_, otherwise)) = &branch.else_branch else {
            return Err(untranslatable(branch, "expected `if .. { } else { }`, found no `else`"));
        };
        let condition = self.expression(&branch.cond)?;
        let (yes, no) = (self.block(&branch.then_branch)?, self.expression(otherwise)?);
        let kind = if yes.kind == Kind::Unknown { no.kind.clone() } else { yes.kind.clone() };
        let condition = condition.parenthesised(Precedence::Or);
        Ok(Text::atom(format!("({condition} ? {} : {})", yes.text, no.text), kind))
    }

    fn block(&mut self, block: &Block) -> Result<Text> {
        match block.stmts.as_slice() {
            [Stmt::Expr(expr, None)] => self.expression(expr),
            _ => Err(untranslatable(
                block,
                "expected one expression between the braces: move the statements before the sum",
            )),
        }
    }
}

/// Two values that CUDA text would not tell apart.
fn same_name(at: &impl ToTokens, known: &Capture, value: &TokenStream) -> Error {
    let Capture { name, value: first } = known;
    let why = format!("`{first}` and `{value}` would both be called `{name}`: bind one to another name with `let`");
    untranslatable(at, &why)
}

/// A piece of CUDA text as part of a name: `i + 1` → `i_1`.
fn identifier(text: &str) -> String {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_")
}

/// A literal: floats as Rust prints them (bit-exact), integers as they are.
pub fn number(literal: &Lit) -> Result<Text> {
    match literal {
        Lit::Float(value) if value.suffix() != "f32" => {
            Ok(Text::atom(format!("{:?}", value.base10_parse::<f64>()?), Kind::Float))
        }
        Lit::Int(value) if value.suffix() == "f64" => Ok(Text::atom(
            format!("{:?}", value.base10_digits().parse::<f64>().map_err(|_| untranslatable(literal, "not a number"))?),
            Kind::Float,
        )),
        Lit::Int(value) if value.suffix() != "f32" => {
            let Ok(parsed) = value.base10_parse::<i64>() else {
                return Err(untranslatable(literal, "integers are 64-bit and signed"));
            };
            let suffix = if parsed > i64::from(i32::MAX) { "LL" } else { "" };
            Ok(Text::atom(format!("{parsed}{suffix}"), Kind::Integer))
        }
        Lit::Bool(value) => Ok(Text::atom(if value.value { "true" } else { "false" }, Kind::Bool)),
        Lit::Float(_) | Lit::Int(_) => Err(untranslatable(literal, "f32 arithmetic rounds differently: use f64")),
        _ => Err(untranslatable(literal, "expected a number")),
    }
}

/// f32 values may only be cast to f64: CUDA holds parameters in f64 and would round differently.
pub fn refuse_single(operand: &Text, at: &impl ToTokens) -> Result<()> {
    if operand.kind == Kind::Single {
        return Err(untranslatable(at, "f32 arithmetic rounds differently: cast to f64 first"));
    }
    Ok(())
}

fn operation(op: &BinOp, left: &Text, right: &Text, at: &Expr) -> Result<Text> {
    refuse_single(left, at)?;
    refuse_single(right, at)?;
    // Rust wants both sides of one type, so one known side is enough.
    let kind = if left.kind == Kind::Unknown { right.kind.clone() } else { left.kind.clone() };
    let (symbol, precedence, kind) = match op {
        BinOp::Add(_) => ("+", Precedence::Sum, kind),
        BinOp::Sub(_) => ("-", Precedence::Sum, kind),
        BinOp::Mul(_) => ("*", Precedence::Product, kind),
        BinOp::Div(_) => ("/", Precedence::Product, kind),
        BinOp::Rem(_) => match kind {
            Kind::Float => return Ok(Text::call("fmod", &[left, right], Kind::Float)),
            Kind::Integer => ("%", Precedence::Product, kind),
            _ => {
                return Err(untranslatable(
                    at,
                    "`%` differs between integers and floats in CUDA, and neither side's type is known: write one with `as`",
                ));
            }
        },
        BinOp::And(_) => ("&&", Precedence::And, Kind::Bool),
        BinOp::Or(_) => ("||", Precedence::Or, Kind::Bool),
        BinOp::BitAnd(_) => ("&", Precedence::BitAnd, kind),
        BinOp::BitOr(_) => ("|", Precedence::BitOr, kind),
        BinOp::BitXor(_) => ("^", Precedence::BitXor, kind),
        // A shift takes its type from the left.
        BinOp::Shl(_) => ("<<", Precedence::Shift, left.kind.clone()),
        BinOp::Shr(_) => (">>", Precedence::Shift, left.kind.clone()),
        BinOp::Eq(_) => ("==", Precedence::Equality, Kind::Bool),
        BinOp::Ne(_) => ("!=", Precedence::Equality, Kind::Bool),
        BinOp::Lt(_) => ("<", Precedence::Relation, Kind::Bool),
        BinOp::Le(_) => ("<=", Precedence::Relation, Kind::Bool),
        BinOp::Gt(_) => (">", Precedence::Relation, Kind::Bool),
        BinOp::Ge(_) => (">=", Precedence::Relation, Kind::Bool),
        _ => return Err(untranslatable(at, "assignments have no place in a coefficient")),
    };
    Ok(Text::binary(left, symbol, right, precedence, kind))
}
