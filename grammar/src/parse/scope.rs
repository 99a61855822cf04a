//! The names a `sum!` can see and what is known of them: its loop variables, the function's parameters with their
//! declared types, the locals of the body. Only what is written is known; everything else is `Kind::Unknown`, and
//! whoever asks must not reject on it.

use std::collections::{HashMap, HashSet};

use syn::visit_mut::{self, VisitMut};
use syn::{
    Expr, ExprClosure, ExprForLoop, FnArg, GenericArgument, Ident, ItemFn, Lit, Local, Pat, PathArguments, Type,
};

use crate::vocabulary::Spin;

/// The type of a value, as far as the translation to CUDA must know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// f64.
    Float,
    /// f32: may be cast to f64, nothing else (CUDA holds parameters in f64 and would round differently).
    Single,
    /// Any integer.
    Integer,
    /// bool.
    Bool,
    /// A spin direction: 0 up, 1 down.
    Spin,
    /// A slice, array or Vec of numbers.
    Array(Box<Kind>),
    /// A whole operator.
    Operator,
    /// Integrals over orbitals.
    Integrals,
    /// Not written down where the macro could see it.
    Unknown,
}

impl Kind {
    /// What a written type is.
    pub fn of_type(ty: &Type) -> Kind {
        match ty {
            Type::Reference(reference) => Kind::of_type(&reference.elem),
            Type::Paren(paren) => Kind::of_type(&paren.elem),
            Type::Group(group) => Kind::of_type(&group.elem),
            Type::Slice(slice) => Kind::Array(Box::new(Kind::of_type(&slice.elem))),
            Type::Array(array) => Kind::Array(Box::new(Kind::of_type(&array.elem))),
            Type::Path(path) => {
                let Some(last) = path.path.segments.last() else { return Kind::Unknown };
                match last.ident.to_string().as_str() {
                    "f64" => Kind::Float,
                    "f32" => Kind::Single,
                    "usize" | "u8" | "u16" | "u32" | "u64" | "isize" | "i8" | "i16" | "i32" | "i64" => Kind::Integer,
                    "bool" => Kind::Bool,
                    "Spin" => Kind::Spin,
                    "Operator" => Kind::Operator,
                    "Integrals" => Kind::Integrals,
                    "Vec" => match &last.arguments {
                        PathArguments::AngleBracketed(arguments) => match arguments.args.first() {
                            Some(GenericArgument::Type(element)) => Kind::Array(Box::new(Kind::of_type(element))),
                            _ => Kind::Unknown,
                        },
                        _ => Kind::Unknown,
                    },
                    _ => Kind::Unknown,
                }
            }
            _ => Kind::Unknown,
        }
    }
}

/// What a loop variable of a sum stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// A site, or any other index.
    Index,
    /// The weight of a bond.
    Weight,
    /// The type of a bond.
    BondKind,
    /// A spin that takes these values.
    Spin(Vec<Spin>),
}

impl Role {
    /// The type of the variable.
    pub fn kind(&self) -> Kind {
        match self {
            Role::Index | Role::BondKind => Kind::Integer,
            Role::Weight => Kind::Float,
            Role::Spin(_) => Kind::Spin,
        }
    }
}

/// What is known of the names in one sum.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Loop variables in order.
    pub variables: Vec<(Ident, Role)>,
    /// Parameters of the function.
    pub parameters: HashMap<String, Kind>,
    /// Names bound in the body by `let`, `for`, closures and patterns.
    pub locals: HashMap<String, Kind>,
    /// Of these, names that take several values while the body runs (loops and closures).
    pub repeated: HashSet<String>,
    /// Whether c† and c may stand without a spin, where the kind of a site is known.
    pub spinless: bool,
}

impl Scope {
    /// The names of a function, before any sum adds its loop variables.
    pub fn of_function(function: &ItemFn) -> Scope {
        let mut scope = Scope::default();
        for argument in &function.sig.inputs {
            if let FnArg::Typed(argument) = argument {
                let mut names = Names::default();
                names.visit_pat_mut(&mut argument.pat.clone());
                let kind =
                    if matches!(*argument.pat, Pat::Ident(_)) { Kind::of_type(&argument.ty) } else { Kind::Unknown };
                scope.parameters.extend(names.found.into_iter().map(|name| (name, kind.clone())));
            }
        }
        let mut bindings = Bindings { scope: &mut scope };
        bindings.visit_block_mut(&mut function.block.clone());
        scope
    }

    /// The role of a loop variable of the sum.
    pub fn role(&self, name: &Ident) -> Option<&Role> {
        self.variables.iter().rev().find(|(variable, _)| variable == name).map(|(_, role)| role)
    }

    /// The type of a name: innermost binding first.
    pub fn kind(&self, name: &Ident) -> Kind {
        if let Some(role) = self.role(name) {
            return role.kind();
        }
        let name = name.to_string();
        self.locals.get(&name).or_else(|| self.parameters.get(&name)).cloned().unwrap_or(Kind::Unknown)
    }

    /// True when the function binds the name anywhere.
    pub fn binds(&self, name: &Ident) -> bool {
        self.binds_text(&name.to_string())
    }

    /// The same of a name as text.
    pub fn binds_text(&self, text: &str) -> bool {
        let variable = self.variables.iter().any(|(variable, _)| variable == text);
        variable || self.locals.contains_key(text) || self.parameters.contains_key(text)
    }
}

/// Collects the names a pattern binds.
#[derive(Default)]
struct Names {
    found: Vec<String>,
}

impl VisitMut for Names {
    fn visit_pat_ident_mut(&mut self, pattern: &mut syn::PatIdent) {
        self.found.push(pattern.ident.to_string());
        visit_mut::visit_pat_ident_mut(self, pattern);
    }
}

fn names_of(pattern: &Pat) -> Vec<String> {
    let mut names = Names::default();
    names.visit_pat_mut(&mut pattern.clone());
    names.found
}

/// Collects every binding of a body.
struct Bindings<'s> {
    scope: &'s mut Scope,
}

impl Bindings<'_> {
    fn repeated(&mut self, pattern: &Pat) {
        for name in names_of(pattern) {
            self.scope.locals.entry(name.clone()).or_insert(Kind::Unknown);
            self.scope.repeated.insert(name);
        }
    }
}

impl VisitMut for Bindings<'_> {
    fn visit_local_mut(&mut self, local: &mut Local) {
        let kind = match (&local.pat, &local.init) {
            (Pat::Type(typed), _) => Kind::of_type(&typed.ty),
            (Pat::Ident(_), Some(init)) => kind_of_value(&init.expr),
            _ => Kind::Unknown,
        };
        for name in names_of(&local.pat) {
            // A name bound twice with different types: which one a sum sees is not decided here.
            let known = self.scope.locals.entry(name).or_insert_with(|| kind.clone());
            if *known != kind {
                *known = Kind::Unknown;
            }
        }
        visit_mut::visit_local_mut(self, local);
    }

    fn visit_expr_for_loop_mut(&mut self, each: &mut ExprForLoop) {
        self.repeated(&each.pat);
        visit_mut::visit_expr_for_loop_mut(self, each);
    }

    fn visit_expr_closure_mut(&mut self, closure: &mut ExprClosure) {
        closure.inputs.iter().for_each(|input| self.repeated(input));
        visit_mut::visit_expr_closure_mut(self, closure);
    }

    fn visit_pat_ident_mut(&mut self, pattern: &mut syn::PatIdent) {
        self.scope.locals.entry(pattern.ident.to_string()).or_insert(Kind::Unknown);
        visit_mut::visit_pat_ident_mut(self, pattern);
    }
}

/// The type of a bound value where it can be read off.
fn kind_of_value(value: &Expr) -> Kind {
    match value {
        Expr::Cast(cast) => Kind::of_type(&cast.ty),
        Expr::Lit(literal) => match &literal.lit {
            Lit::Float(number) if number.suffix() != "f32" => Kind::Float,
            Lit::Bool(_) => Kind::Bool,
            _ => Kind::Unknown,
        },
        Expr::Unary(unary) => kind_of_value(&unary.expr),
        Expr::Paren(paren) => kind_of_value(&paren.expr),
        _ => Kind::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::format_ident;
    use syn::parse_quote;

    #[test]
    fn types_that_are_written_are_known() {
        let function: ItemFn = parse_quote! {
            fn f(lattice: &Lattice, t: f64, u: &[f64], v: Vec<f32>, l: usize, w: [f64; 3]) -> Operator {
                let a = 1.0;
                let b: i64 = 2;
                let c = compute(a);
                for k in 0..3 { let d = k as f64; }
                sum!(i in lattice.sites(); a * n(i))
            }
        };
        let scope = Scope::of_function(&function);
        let kind = |name: &str| scope.kind(&format_ident!("{name}"));
        assert_eq!(kind("t"), Kind::Float);
        assert_eq!(kind("u"), Kind::Array(Box::new(Kind::Float)));
        assert_eq!(kind("v"), Kind::Array(Box::new(Kind::Single)));
        assert_eq!(kind("l"), Kind::Integer);
        assert_eq!(kind("w"), Kind::Array(Box::new(Kind::Float)));
        assert_eq!(kind("a"), Kind::Float);
        assert_eq!(kind("b"), Kind::Integer);
        assert_eq!(kind("c"), Kind::Unknown);
        assert_eq!(kind("d"), Kind::Float);
        assert!(scope.repeated.contains("k"));
        assert!(!scope.binds(&format_ident!("nowhere")));
    }
}
