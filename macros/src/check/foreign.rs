//! Whether operators from elsewhere may complete the sums of a definition: `.adjoint()` of a sum, another function's
//! operator added to one. Then a conjugate missing here may be there, and only the numbers can tell.

use std::collections::HashSet;

use syn::visit_mut::{self, VisitMut};
use syn::{BinOp, Expr, ExprMethodCall, ItemFn, Local, Macro, Pat};

use crate::parse::{Kind, Scope, is_sum};

/// True when the body uses `.adjoint()`, or adds to its sums something that may be an operator from elsewhere.
pub fn may_add_conjugates(function: &ItemFn) -> bool {
    let scope = Scope::of_function(function);
    let mut own = OwnNames::default();
    own.visit_block_mut(&mut function.block.clone());
    let mut search = Search { own: own.names, scope, found: false };
    search.visit_block_mut(&mut function.block.clone());
    search.found
}

/// Locals that hold sums of this definition.
#[derive(Default)]
struct OwnNames {
    names: HashSet<String>,
}

impl VisitMut for OwnNames {
    fn visit_local_mut(&mut self, local: &mut Local) {
        let pattern = match &local.pat {
            Pat::Type(typed) => &typed.pat,
            other => other,
        };
        if let (Pat::Ident(name), Some(init)) = (pattern, &local.init) {
            let empty = matches!(&*init.expr, Expr::Call(call) if starts_empty(&call.func));
            if empty || holds_sum(&init.expr) {
                self.names.insert(name.ident.to_string());
            }
        }
        visit_mut::visit_local_mut(self, local);
    }
}

/// `Operator::zero()`, `Vec::new()` and the like: an accumulator.
fn starts_empty(function: &Expr) -> bool {
    let Expr::Path(path) = function else { return false };
    let last = path.path.segments.last().map(|segment| segment.ident.to_string());
    last.is_some_and(|last| matches!(last.as_str(), "zero" | "new" | "default" | "with_capacity"))
}

fn holds_sum(expr: &Expr) -> bool {
    struct Finder(bool);
    impl VisitMut for Finder {
        fn visit_macro_mut(&mut self, mac: &mut Macro) {
            self.0 |= is_sum(mac);
        }
    }
    let mut finder = Finder(false);
    finder.visit_expr_mut(&mut expr.clone());
    finder.0
}

struct Search {
    own: HashSet<String>,
    scope: Scope,
    found: bool,
}

impl Search {
    fn is_own(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Path(path) => path.path.get_ident().is_some_and(|name| self.own.contains(&name.to_string())),
            Expr::Paren(paren) => self.is_own(&paren.expr),
            Expr::Unary(unary) => self.is_own(&unary.expr),
            Expr::Binary(binary) => self.is_own(&binary.left) || self.is_own(&binary.right),
            Expr::MethodCall(call) => self.is_own(&call.receiver),
            other => holds_sum(other),
        }
    }

    /// May be an operator that no sum of this definition made.
    fn is_foreign(&self, expr: &Expr) -> bool {
        match expr {
            _ if self.is_own(expr) => false,
            Expr::Paren(paren) => self.is_foreign(&paren.expr),
            Expr::Unary(unary) => self.is_foreign(&unary.expr),
            Expr::Reference(reference) => self.is_foreign(&reference.expr),
            Expr::Binary(binary) => self.is_foreign(&binary.left) || self.is_foreign(&binary.right),
            Expr::Path(path) => path.path.get_ident().is_none_or(|name| {
                let text = name.to_string();
                let kind = self.scope.kind(name);
                let unknown = !self.scope.parameters.contains_key(&text) && kind == Kind::Unknown;
                kind == Kind::Operator || unknown
            }),
            // The core energy, a number.
            Expr::Field(field) => !matches!(&*field.base, Expr::Path(base)
                if base.path.get_ident().is_some_and(|name| self.scope.kind(name) == Kind::Integrals)),
            Expr::Call(call) => !starts_empty(&call.func),
            Expr::Lit(_) => false,
            _ => true,
        }
    }
}

impl VisitMut for Search {
    fn visit_expr_method_call_mut(&mut self, call: &mut ExprMethodCall) {
        self.found |= call.method == "adjoint";
        visit_mut::visit_expr_method_call_mut(self, call);
    }

    fn visit_expr_binary_mut(&mut self, binary: &mut syn::ExprBinary) {
        let adds = matches!(
            binary.op,
            BinOp::Add(_) | BinOp::Sub(_) | BinOp::Mul(_) | BinOp::AddAssign(_) | BinOp::SubAssign(_)
        );
        if adds {
            let sides = [(&binary.left, &binary.right), (&binary.right, &binary.left)];
            self.found |= sides.into_iter().any(|(own, other)| self.is_own(own) && self.is_foreign(other));
        }
        visit_mut::visit_expr_binary_mut(self, binary);
    }

    fn visit_macro_mut(&mut self, _: &mut Macro) {}
}
