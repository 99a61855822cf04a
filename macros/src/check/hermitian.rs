//! Hermitian conjugates, symbolically: the conjugate of each product is among the products, up to the order of its
//! factors, up to a permutation of loop variables over the same domain, and up to a shift of an index.
//!
//! A `<i, j>` domain lists each bond once, so its ends are not exchanged. Refused only when certain. Left to run time:
//! coefficients, sites that are more than an index plus a number, sums inside loops over hand-made lists, dependent
//! domains and filters whose symmetry cannot be seen, products that occur twice, and a product whose conjugate may be
//! an unmatched product of another sum.

use proc_macro2::Ident;
use quote::ToTokens;
use syn::{BinOp, Error, Expr, Lit, Result};

use super::product::Product;
use super::symbol::{self, SpinValue, Symbol};
use crate::parse::{Domain, Loop, Role, Scope, Sum, combine, unwrap_parens};

/// More domains than this are not permuted.
const MOST_DOMAINS: usize = 5;

/// What is known of the conjugate of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Missing,
    Undecided,
    Found,
}

/// A product without a conjugate in its own sum.
struct Unmatched {
    sum: usize,
    product: usize,
    /// Operators and spins of the product and of its conjugate.
    shape: Vec<String>,
    conjugate_shape: Vec<String>,
}

/// Refuses products without a conjugate.
pub fn check(sums: &[Sum], products: &[Vec<Product>], electrons: bool) -> Result<()> {
    let mut unmatched = Vec::new();
    for (number, (sum, products)) in sums.iter().zip(products).enumerate() {
        unmatched.extend(in_sum(number, sum, products, electrons));
    }
    let mut errors: Option<Error> = None;
    let mut reported: Vec<(usize, usize)> = Vec::new();
    for missing in &unmatched {
        let elsewhere =
            unmatched.iter().any(|other| other.sum != missing.sum && other.shape == missing.conjugate_shape);
        if elsewhere || reported.contains(&(missing.sum, missing.product)) {
            continue;
        }
        reported.push((missing.sum, missing.product));
        let product = &products[missing.sum][missing.product];
        combine(
            &mut errors,
            product.error(format!(
                "missing Hermitian conjugate: expected `{}` beside `{}`, found it nowhere in the definition; write `({} + h.c.)`, or `#[gpu_operator(non_hermitian)]` if that is meant",
                product.conjugate_text(),
                product.text(),
                product.text()
            )),
        );
    }
    errors.map_or(Ok(()), Err)
}

/// The products of one sum that certainly have no conjugate in it.
fn in_sum(number: usize, sum: &Sum, products: &[Product], electrons: bool) -> Vec<Unmatched> {
    let repeated = |name: &Ident| sum.scope.repeated.contains(&name.to_string());
    let variable_list = sum.domains.iter().any(|domain| symbol::mentions(&domain.source, &repeated));
    let movable = sum.domains.iter().filter(|domain| !matches!(domain.variables, Loop::Spin(..))).count();
    if variable_list || movable > MOST_DOMAINS {
        return Vec::new();
    }
    let (mut rows, mut uncertain) = (Vec::new(), false);
    for assignment in symbol::assignments(&sum.scope) {
        let admitted = symbol::admitted(sum, &assignment);
        uncertain |= admitted.is_none();
        if admitted == Some(false) {
            continue;
        }
        for (product, written) in products.iter().enumerate() {
            for symbols in symbol::symbols(written, &assignment, &sum.scope, electrons) {
                rows.push((product, symbols));
            }
        }
    }
    if uncertain {
        return Vec::new();
    }
    let identity: Renaming = Vec::new();
    let keys: Vec<(usize, String)> =
        rows.iter().map(|(product, symbols)| (*product, canonical(symbols, &sum.scope, &identity).0)).collect();
    let renamings = renamings(sum);
    let mut missing = Vec::new();
    for (row, (product, symbols)) in rows.iter().enumerate() {
        let adjoint: Vec<Symbol> = symbols.iter().rev().map(Symbol::adjoint).collect();
        let (own, decidable) = canonical(symbols, &sum.scope, &identity);
        let mut verdict = if decidable { Verdict::Missing } else { Verdict::Undecided };
        for (renaming, validity) in &renamings {
            let (wanted, _) = canonical(&adjoint, &sum.scope, renaming);
            if keys.iter().any(|(_, key)| *key == wanted) {
                verdict = verdict.max(*validity);
            }
        }
        // The same product twice in one sum (for one assignment): its coefficients may cancel.
        let twice = keys.iter().enumerate().any(|(other, (from, key))| other != row && from != product && *key == own);
        if verdict == Verdict::Missing && !twice {
            missing.push(Unmatched {
                sum: number,
                product: *product,
                shape: shape(symbols),
                conjugate_shape: shape(&adjoint),
            });
        }
    }
    // A coefficient of the spin may vanish for some spins: certain only when every spin lacks its conjugate.
    missing.retain(|unmatched| {
        let product = unmatched.product;
        !symbol::coefficient_mentions_spin(&products[product], &sum.scope)
    });
    missing
}

/// Variables and what they are renamed to.
type Renaming = Vec<(Ident, Ident)>;

/// Every permutation of domains, with what is known of the sum's symmetry under it.
fn renamings(sum: &Sum) -> Vec<(Renaming, Verdict)> {
    let movable: Vec<&Domain> = sum.domains.iter().filter(|d| !matches!(d.variables, Loop::Spin(..))).collect();
    let mut orders = vec![Vec::new()];
    for _ in &movable {
        orders = orders
            .iter()
            .flat_map(|order: &Vec<usize>| {
                let free = (0..movable.len()).filter(|next| !order.contains(next));
                free.map(|next| [order.as_slice(), &[next]].concat()).collect::<Vec<_>>()
            })
            .collect();
    }
    orders.iter().filter_map(|order| renaming(sum, &movable, order)).collect()
}

fn renaming(sum: &Sum, movable: &[&Domain], order: &[usize]) -> Option<(Renaming, Verdict)> {
    let (mut renaming, mut verdict) = (Renaming::new(), Verdict::Found);
    let indices = |domain: &Domain| -> Vec<Ident> {
        domain.roles().into_iter().filter(|(_, role)| *role == Role::Index).map(|(name, _)| name).collect()
    };
    for (from, to) in order.iter().enumerate().filter(|(from, to)| from != *to) {
        let (from, to) = (movable[from], movable[*to]);
        let (left, right) = (indices(from), indices(to));
        if left.len() != right.len() {
            return None;
        }
        renaming.extend(left.into_iter().zip(right));
        let is_variable = |name: &Ident| sum.scope.role(name).is_some();
        let depends = |source: &Expr| symbol::mentions(source, &is_variable);
        let (a, b) = (&from.source, &to.source);
        if a.to_token_stream().to_string() == b.to_token_stream().to_string() {
            continue;
        }
        let one_sided = |source: &Expr| matches!(unwrap_parens(source), Expr::Range(_)) && depends(source);
        if one_sided(a) || one_sided(b) || !(depends(a) || depends(b)) {
            return None;
        }
        verdict = verdict.min(Verdict::Undecided);
    }
    if !renaming.is_empty() {
        for filter in sum.domains.iter().filter_map(|domain| domain.filter.as_ref()) {
            verdict = verdict.min(symmetry(filter, &renaming));
        }
    }
    (verdict != Verdict::Missing).then_some((renaming, verdict))
}

fn rename<'r>(renaming: &'r Renaming) -> impl Fn(&Ident) -> Option<Ident> + 'r {
    |name| renaming.iter().find(|(from, _)| from == name).map(|(_, to)| to.clone())
}

/// Whether a filter keeps its meaning under a renaming.
fn symmetry(filter: &Expr, renaming: &Renaming) -> Verdict {
    let filter = unwrap_parens(filter);
    let rename = rename(renaming);
    let moved = |name: &Ident| renaming.iter().any(|(from, _)| from == name);
    if !symbol::mentions(filter, &moved) || symbol::renamed(filter, &rename) == filter.to_token_stream().to_string() {
        return Verdict::Found;
    }
    let Expr::Binary(binary) = filter else { return Verdict::Undecided };
    let swapped = symbol::renamed(&binary.left, &rename) == binary.right.to_token_stream().to_string()
        && symbol::renamed(&binary.right, &rename) == binary.left.to_token_stream().to_string();
    match binary.op {
        BinOp::And(_) => symmetry(&binary.left, renaming).min(symmetry(&binary.right, renaming)),
        BinOp::Eq(_) | BinOp::Ne(_) if swapped => Verdict::Found,
        BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_) if swapped => Verdict::Missing,
        _ => Verdict::Undecided,
    }
}

/// A site: a name plus a number, or something that only its text tells.
enum Place {
    Shifted(Option<Ident>, i64),
    Opaque(String),
}

fn place(site: &Expr, scope: &Scope, rename: &dyn Fn(&Ident) -> Option<Ident>) -> Place {
    let site = unwrap_parens(site);
    let opaque = || Place::Opaque(symbol::renamed(site, rename));
    match site {
        Expr::Path(path) => match path.path.get_ident() {
            Some(name) if scope.role(name).is_some() => Place::Shifted(Some(rename(name).unwrap_or(name.clone())), 0),
            Some(name) if fixed_parameter(name, scope) => Place::Shifted(Some(name.clone()), 0),
            _ => opaque(),
        },
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(number) => number.base10_parse().map_or_else(|_| opaque(), |number| Place::Shifted(None, number)),
            _ => opaque(),
        },
        Expr::Binary(binary) => {
            let (left, right) = (place(&binary.left, scope, rename), place(&binary.right, scope, rename));
            match (&binary.op, left, right) {
                (BinOp::Add(_), Place::Shifted(name, a), Place::Shifted(None, b))
                | (BinOp::Add(_), Place::Shifted(None, a), Place::Shifted(name, b)) => Place::Shifted(name, a + b),
                (BinOp::Sub(_), Place::Shifted(name, a), Place::Shifted(None, b)) => Place::Shifted(name, a - b),
                _ => opaque(),
            }
        }
        _ => opaque(),
    }
}

fn fixed_parameter(name: &Ident, scope: &Scope) -> bool {
    let text = name.to_string();
    scope.parameters.contains_key(&text) && !scope.locals.contains_key(&text)
}

/// The product as a sorted text, indices shifted to start at zero, and whether every part of it is understood.
fn canonical(symbols: &[Symbol], scope: &Scope, renaming: &Renaming) -> (String, bool) {
    let rename = rename(renaming);
    let places: Vec<Vec<Place>> =
        symbols.iter().map(|symbol| symbol.sites.iter().map(|site| place(site, scope, &rename)).collect()).collect();
    let all = || places.iter().flatten();
    let opaque = all().any(|place| matches!(place, Place::Opaque(_)));
    let hidden = symbols.iter().any(|symbol| matches!(&symbol.spin, SpinValue::Captured(_, false)));
    let lowest = |name: &Ident| {
        let offsets = all().filter_map(|place| match place {
            Place::Shifted(Some(other), offset) if other == name => Some(*offset),
            _ => None,
        });
        offsets.min().unwrap_or(0)
    };
    let text = |place: &Place| match place {
        Place::Opaque(text) => text.clone(),
        Place::Shifted(None, number) => number.to_string(),
        Place::Shifted(Some(name), offset) => {
            // An index may be shifted when nothing but sums of it with numbers occur.
            let start = if opaque || scope.role(name).is_none() { 0 } else { lowest(name) };
            format!("{name}{:+}", offset - start)
        }
    };
    let mut parts: Vec<String> = symbols
        .iter()
        .zip(&places)
        .map(|(symbol, places)| {
            let mut sites: Vec<String> = places.iter().map(text).collect();
            sites.sort();
            format!("{} {sites:?} {:?}", symbol.operator.name(), symbol.spin)
        })
        .collect();
    parts.sort();
    (parts.join(" "), !opaque && !hidden)
}

/// The product without its sites.
fn shape(symbols: &[Symbol]) -> Vec<String> {
    let mut shape: Vec<String> =
        symbols.iter().map(|symbol| format!("{} {:?}", symbol.operator.name(), symbol.spin)).collect();
    shape.sort();
    shape
}
